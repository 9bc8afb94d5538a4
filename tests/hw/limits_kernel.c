/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limits_kernel.c - the least that a load balancer's batch costs a card: two look-ups that depend on one another, in a table
 * of 64 MiB, for each packet, of which the first 64 bytes are read and, where that is asked for, written. For limits.c, compiled
 * to PTX when this is built.
 */
#include "limits.h"

#define SHARED	__attribute__((address_space(3)))
#define BARRIER __nvvm_bar_sync(0)

typedef uint32_t piece __attribute__((ext_vector_type(4))); /* 16 bytes */

static SHARED piece windows[LIMITS_GROUP * 4];

static inline uint32_t mix(uint32_t x)
{
	x = (x ^ x >> 16) * 0x7feb352du;
	return x ^ x >> 15;
}

/* What is done with a packet's window. Return: its verdict. */
static inline uint32_t look_up(const struct limits *l, piece *window)
{
	uint32_t hash = mix(window[1].x ^ window[1].z ^ window[2].y), first, second;

	first = l->table[hash & (LIMITS_TABLE - 1)];
	second = l->table[(first ^ hash) & (LIMITS_TABLE - 1)];
	window[0].x ^= second;
	window[3].w += first;
	return 1 + (second & 3);
}

/* Four lanes move a packet's window, 16 bytes each, so that a wave asks for what lies together. */
__attribute__((nvptx_kernel)) void limits_together(struct limits l)
{
	uint32_t lane = __nvvm_read_ptx_sreg_tid_x(), first = __nvvm_read_ptx_sreg_ctaid_x() * LIMITS_GROUP,
		 verdict;
	piece own[4];

	for (uint32_t i = 0; i < 4; i++) {
		uint32_t at = i * LIMITS_GROUP + lane;

		windows[at] =
			*(const piece *)(l.packets + (uint64_t)(first + at / 4) * l.stride + at % 4 * 16);
	}
	BARRIER;
	for (uint32_t i = 0; i < 4; i++)
		own[i] = windows[4 * lane + i];
	verdict = look_up(&l, own);
	l.verdicts[first + lane] = verdict;
	if (!l.rewrite)
		return;
	__scoped_atomic_fetch_add(&l.counters[verdict], 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
	BARRIER;
	for (uint32_t i = 0; i < 4; i++)
		windows[4 * lane + i] = own[i];
	BARRIER;
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t at = i * LIMITS_GROUP + lane;

		*(piece *)(l.packets + (uint64_t)(first + at / 4) * l.stride + at % 4 * 16) = windows[at];
	}
}

/* Each lane its own packet's. */
__attribute__((nvptx_kernel)) void limits_alone(struct limits l)
{
	uint32_t n = __nvvm_read_ptx_sreg_ctaid_x() * LIMITS_GROUP + __nvvm_read_ptx_sreg_tid_x(), verdict;
	piece *packet = (piece *)(l.packets + (uint64_t)n * l.stride), own[4];

	for (uint32_t i = 0; i < 4; i++)
		own[i] = packet[i];
	verdict = look_up(&l, own);
	l.verdicts[n] = verdict;
	if (!l.rewrite)
		return;
	__scoped_atomic_fetch_add(&l.counters[verdict], 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
	for (uint32_t i = 0; i < 4; i++)
		packet[i] = own[i];
}
