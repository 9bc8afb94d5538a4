/* SPDX-License-Identifier: BSD-3-Clause */
/* kernels.gpu.c - the functions of kernels.h as kernels, and kernels about memory, lanes and groups. */
#include "kernels.h"

#define GLOBAL __attribute__((address_space(1)))
#define LOCAL  __attribute__((address_space(3)))
#define KERNEL __attribute__((amdgpu_kernel)) void

#pragma clang fp contract(off)
/* The size of a group comes as an argument: implicit arguments are not set up. */
#define INDEX(size) (__builtin_amdgcn_workgroup_id_x() * (size) + __builtin_amdgcn_workitem_id_x())

#define X(name, type, expression)                                        \
	KERNEL k_##name(GLOBAL u64 *out, const GLOBAL u64 *in, u32 size) \
	{                                                                \
		u32 i = INDEX(size);                                     \
		u64 a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2]; \
                                                                         \
		(void)b, (void)c;                                        \
		out[i] = (u64)(expression);                              \
	}
#include "kernels.inc"
#undef X

#define RELAXED __ATOMIC_RELAXED

/* Every atomic, on words that all lanes share; what each lane saw goes out for those where order can't matter. */
KERNEL k_atomics(GLOBAL u64 *out, GLOBAL u64 *words, u32 size)
{
	u32 i = INDEX(size);
	GLOBAL u32 *w = (GLOBAL u32 *)words;

	__atomic_fetch_add(&w[0], i, RELAXED);
	__atomic_fetch_sub(&w[1], i + 1, RELAXED);
	__atomic_fetch_and(&w[2], ~(1u << (i & 31)), RELAXED);
	__atomic_fetch_or(&w[3], 1u << (i & 31), RELAXED);
	__atomic_fetch_xor(&w[4], i * 3, RELAXED);
	__atomic_fetch_min(&w[5], i + 5, RELAXED);
	__atomic_fetch_max(&w[6], i, RELAXED);
	__atomic_fetch_min((GLOBAL s32 *)&w[7], 3 - (s32)i, RELAXED);
	__atomic_fetch_max((GLOBAL s32 *)&w[8], (s32)i - 7, RELAXED);
	__atomic_fetch_add(&words[8], (u64)i << 20, RELAXED);
	__atomic_fetch_or(&words[9], 1ull << (i & 63), RELAXED);
	__atomic_fetch_xor(&words[10], (u64)i * 0x100000001ull, RELAXED);
	__atomic_fetch_max(&words[11], (u64)i << 33, RELAXED);
	__atomic_fetch_and(&words[12], ~(1ull << (i & 63)), RELAXED);
	out[i] = __atomic_fetch_add(&w[26], 1, RELAXED);
	out[size * 4 + i] = __atomic_exchange_n(&w[27], i + 1, RELAXED);
	for (;;) {
		u32 old = __atomic_load_n(&w[28], RELAXED), expected = old;

		if (__atomic_compare_exchange_n(&w[28], &expected, old + 2, 0, RELAXED, RELAXED))
			break;
	}
	for (;;) {
		u64 old = __atomic_load_n(&words[15], RELAXED), expected = old;

		if (__atomic_compare_exchange_n(&words[15], &expected, old + ((u64)i << 8), 0, RELAXED,
						RELAXED))
			break;
	}
}

/* A reversal through LDS by a group of several waves, and a sum by halving. */
static LOCAL u32 shared[1024] __attribute__((loader_uninitialized));
static LOCAL u32 counter __attribute__((loader_uninitialized));

KERNEL k_groups(GLOBAL u64 *out, const GLOBAL u64 *in, u32 size)
{
	u32 lane = __builtin_amdgcn_workitem_id_x(), i = INDEX(size);
	u32 reversed;

	if (!lane)
		counter = 0;
	shared[lane] = (u32)in[i];
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
	reversed = shared[size - 1 - lane];
	__atomic_fetch_add(&counter, lane, RELAXED);
	for (u32 half = size / 2; half; half /= 2) {
		__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
		__builtin_amdgcn_s_barrier();
		__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
		if (lane < half)
			shared[lane] += shared[lane + half];
	}
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
	out[i] = (u64)(shared[0] + counter) << 32 | reversed;
}

/* A spin lock in global memory; by one lane of a wave, since lanes that wait for each other never get through. */
KERNEL k_lock(GLOBAL u64 *out, GLOBAL u64 *words, u32 size)
{
	GLOBAL u32 *lock = (GLOBAL u32 *)words;

	out[INDEX(size)] = 1;
	for (u32 done = (__builtin_amdgcn_workitem_id_x() & 63) != 0; !done;) {
		if (!__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {
			u64 n = words[1];

			words[1] = n + 1;
			words[2 + n] = INDEX(size);
			__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
			done = 1;
		}
	}
}

/* Lanes reading each other. */
KERNEL k_cross(GLOBAL u64 *out, const GLOBAL u64 *in, u32 size)
{
	u32 i = INDEX(size), x = (u32)in[i], lane = __builtin_amdgcn_mbcnt_lo(~0u, 0);
	u64 r;

#if __AMDGCN_WAVEFRONT_SIZE == 64
	lane = __builtin_amdgcn_mbcnt_hi(~0u, lane);
#endif
	r = (u32)__builtin_amdgcn_ds_bpermute((int)((lane ^ 5) << 2), (int)x);
	r = r * 3 + (u32)__builtin_amdgcn_readfirstlane((int)x);
	r = r * 3 + (u32)__builtin_amdgcn_readlane((int)x, 7);
	r = r * 3 + (u32)__builtin_amdgcn_ds_swizzle((int)x, 0x041f);
	r = r * 3 + (u32)__builtin_amdgcn_mov_dpp((int)x, 0x1b, 0xf, 0xf, 1);
	r = r * 3 + (u32)__builtin_amdgcn_ds_permute((int)((lane ^ 3) << 2), (int)x);
	out[i] = r * 64 + lane;
}

/* Arrays with an index that is not known: scratch. */
KERNEL k_scratch(GLOBAL u64 *out, const GLOBAL u64 *in, u32 size)
{
	u32 i = INDEX(size);
	volatile u32 words[96];
	volatile u8 bytes[33];
	volatile u16 halves[9];
	u64 x = in[i], r = 0;

	for (u32 k = 0; k < 96; k++)
		words[k] = (u32)x * k + k;
	for (u32 k = 0; k < 33; k++)
		bytes[k] = (u8)(x >> (k & 31));
	for (u32 k = 0; k < 9; k++)
		halves[k] = (u16)(x + k);
	for (u32 k = 0; k < 8; k++)
		r = r * 31 + words[(x >> 4 * k) % 96] + bytes[(x >> 3 * k) % 33] + halves[(x >> k) % 9];
	out[i] = r;
}

/* All widths of loads and stores, at odd addresses too. */
struct __attribute__((packed)) odd {
	u8 a;
	u16 b;
	u32 c;
	u64 d;
	u32 e[4];
	s8 f;
	s16 g;
};

KERNEL k_memory(GLOBAL struct odd *out, const GLOBAL struct odd *in, u32 size)
{
	u32 i = INDEX(size);

	out[i].a = in[i].a + 1;
	out[i].b = in[i].b + 2;
	out[i].c = in[i].c + 3;
	out[i].d = in[i].d + 4;
	for (int k = 0; k < 4; k++)
		out[i].e[k] = in[i].e[3 - k];
	out[i].f = (s8)(in[i].f / 2);
	out[i].g = (s16)(in[i].g - in[i].f);
}

/* Calls through a pointer. */
static __attribute__((noinline)) u64 twice(u64 x)
{
	return x * 2 + 1;
}

static __attribute__((noinline)) u64 mixed(u64 x)
{
	return x ^ twice(x >> 3);
}

KERNEL k_calls(GLOBAL u64 *out, const GLOBAL u64 *in, u32 size)
{
	u32 i = INDEX(size);
	u64 x = in[i];

	if (x & 1)
		x = mixed(x);
	out[i] = twice(x) + mixed(x + 1);
}
