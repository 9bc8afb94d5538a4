// SPDX-License-Identifier: BSD-3-Clause
/*
 * groups.c - work groups: the items of one as machines of their own that stop at a barrier or at what they exchange there.
 *
 * Written from docs/kernels.md. Each machine runs until it waits, ends or faults; when all have, those that wait must
 * wait at the same instruction, what they asked for is worked out, and they go on. Floats are combined in the order that the
 * page gives.
 */
#include <math.h>
#include <stdlib.h>
#include "gpgpu_bpf.h"
#include "priv.h"

bool interp_groups(const struct bpf_insn *insns, uint32_t num_insns)
{
	for (uint32_t i = 0; i < num_insns; i++) {
		bool two = insns[i].code == (BPF_LD | BPF_IMM | BPF_DW);

		if (two && insns[i].src_reg == VIRTIO_GPGPU_LD_LOCAL)
			return true;
		if (insns[i].code == (BPF_JMP | BPF_CALL) && !insns[i].src_reg &&
		    insns[i].imm >= GPGPU_HELPER_barrier && insns[i].imm <= GPGPU_HELPER_scan_before)
			return true;
		i += two;
	}
	return false;
}

static uint64_t local_size(const struct interp_env *env)
{
	for (uint32_t i = 0; i + 1 < env->num_insns; i++) {
		if (env->insns[i].code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		if (env->insns[i].src_reg == VIRTIO_GPGPU_LD_LOCAL)
			return (uint32_t)env->insns[i + 1].imm;
		i++;
	}
	return 0;
}

/* A helper of two numbers that combines them; the sums of floats are one, too. */
static uint64_t with_helper(uint32_t helper, uint64_t a, uint64_t b)
{
	uint64_t args[5] = { a, b }, result = 0;

	interp_float(helper, args, &result);
	return result;
}

static uint64_t combine(uint64_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case GP_ADD:
		return a + b;
	case GP_MIN_U:
		return b < a ? b : a;
	case GP_MAX_U:
		return b > a ? b : a;
	case GP_MIN_S:
		return (int64_t)b < (int64_t)a ? b : a;
	case GP_MAX_S:
		return (int64_t)b > (int64_t)a ? b : a;
	case GP_AND:
		return a & b;
	case GP_OR:
		return a | b;
	case GP_XOR:
		return a ^ b;
	case GP_FADD32:
		return with_helper(GPGPU_HELPER_fadd32, a, b);
	case GP_FMIN32:
		return with_helper(GPGPU_HELPER_fmin32, a, b);
	case GP_FMAX32:
		return with_helper(GPGPU_HELPER_fmax32, a, b);
	case GP_FADD64:
		return with_helper(GPGPU_HELPER_fadd64, a, b);
	case GP_FMIN64:
		return with_helper(GPGPU_HELPER_fmin64, a, b);
	case GP_FMAX64:
		return with_helper(GPGPU_HELPER_fmax64, a, b);
	}
	abort();
}

static uint64_t bits32(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

static uint64_t bits64(double f)
{
	uint64_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

/* What changes nothing; @begins: what scan_before gives to the first item, where that is not the same. */
static uint64_t neutral(uint64_t op, bool begins)
{
	switch (op) {
	case GP_MIN_U:
	case GP_AND:
		return UINT64_MAX;
	case GP_MIN_S:
		return INT64_MAX;
	case GP_MAX_S:
		return (uint64_t)INT64_MIN;
	case GP_FADD32:
		return begins ? 0 : bits32(-0.0f);
	case GP_FADD64:
		return begins ? 0 : bits64(-0.0);
	case GP_FMIN32:
		return begins ? bits32(INFINITY) : bits32(NAN);
	case GP_FMAX32:
		return begins ? bits32(-INFINITY) : bits32(NAN);
	case GP_FMIN64:
		return begins ? bits64((double)INFINITY) : bits64((double)NAN);
	case GP_FMAX64:
		return begins ? bits64(-(double)INFINITY) : bits64((double)NAN);
	default:
		return 0;
	}
}

/* v[i] with v[i + s], s halved each time: a tree, written from its root down. */
static uint64_t tree(uint64_t op, const uint64_t *v, uint32_t items, uint32_t at, uint32_t step,
		     uint32_t width)
{
	if (step == width)
		return at < items ? v[at] : neutral(op, false);
	return combine(op, tree(op, v, items, at, step * 2, width),
		       tree(op, v, items, at + step, step * 2, width));
}

/* Up to item @i: the two halves of the last 2^k items, as far as there are any. */
static uint64_t scan(uint64_t op, const uint64_t *v, uint32_t i, uint32_t span)
{
	uint64_t right;

	if (span == 1)
		return v[i];
	right = scan(op, v, i, span / 2);
	return i >= span / 2 ? combine(op, scan(op, v, i - span / 2, span / 2), right) : right;
}

static void answer(struct machine *m, uint32_t items, uint32_t asks)
{
	uint64_t *v = calloc(items, sizeof(*v)), op = m[asks].second;
	uint32_t what = m[asks].wait, width = 1;

	if (!v)
		abort();
	while (width < items)
		width *= 2;
	for (uint32_t i = 0; i < items; i++)
		v[i] = m[i].fault ? neutral(op < GP_NUM_OPS ? op : 0, false) : m[i].give;
	for (uint32_t i = 0; i < items; i++) {
		uint64_t from = m[i].second;

		switch (what) {
		case GPGPU_HELPER_barrier:
			m[i].reg[0] = 0;
			break;
		case GPGPU_HELPER_broadcast:
		case GPGPU_HELPER_shuffle:
			m[i].reg[0] = from < items && !m[from].fault ? m[from].give : 0;
			break;
		case GPGPU_HELPER_reduce:
			m[i].reg[0] = tree(op, v, items, 0, 1, width);
			break;
		case GPGPU_HELPER_scan:
			m[i].reg[0] = scan(op, v, i, width);
			break;
		default:
			m[i].reg[0] = i ? scan(op, v, i - 1, width) : neutral(op, true);
		}
	}
	free(v);
}

/* The first item that waits; others must wait at the same place. Return: its number, or @items. */
static uint32_t meet(struct machine *m, uint32_t items)
{
	uint32_t first = 0;

	while (first < items && m[first].fault)
		first++;
	for (uint32_t i = first; i < items; i++)
		if (!m[i].fault && (m[i].wait != m[first].wait || (m[i].wait && m[i].pc != m[first].pc)))
			m[i].fault = VIRTIO_GPGPU_R_DIVERGENT;
	return first < items && m[first].wait ? first : items;
}

void interp_group(struct interp_env *env, const struct interp_arg *args, uint32_t num_args,
		  const struct interp_grid *grid, uint64_t number, struct interp_result *results)
{
	uint32_t items = grid->group[0] * grid->group[1] * grid->group[2], first = 0;
	uint32_t nx = grid->size[0] / grid->group[0], ny = grid->size[1] / grid->group[1];
	uint64_t size = local_size(env);
	uint8_t *local = size ? calloc(1, size) : NULL;
	struct machine *m = calloc(items, sizeof(*m));

	if (!m || (size && !local))
		abort();
	for (uint32_t i = 0; i < items; i++) {
		uint64_t x = number % nx * grid->group[0] + i % grid->group[0];
		uint64_t y = number / nx % ny * grid->group[1] + i / grid->group[0] % grid->group[1];
		uint64_t z = number / nx / ny * grid->group[2] + i / grid->group[0] / grid->group[1];

		interp_begin(&m[i], env, args, num_args, grid, x + grid->size[0] * (y + grid->size[1] * z));
		m[i].local = local;
		m[i].local_size = size;
	}
	while (first < items) {
		for (uint32_t i = 0; i < items; i++) {
			m[i].wait = 0;
			if (!m[i].fault && !m[i].ended)
				interp_go_on(&m[i]);
		}
		first = meet(m, items);
		if (first < items)
			answer(m, items, first);
	}
	for (uint32_t i = 0; i < items; i++)
		results[i] = (struct interp_result){
			.r0 = m[i].reg[0],
			.fault = (uint16_t)m[i].fault,
			.fault_insn = m[i].fault ? m[i].pc : 0,
		};
	free(m);
	free(local);
}
