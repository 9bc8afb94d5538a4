/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * operand.c - reading sources and writing results of vector instructions: modifiers, parts of registers (SDWA,
 * op_sel), lanes of neighbours (DPP), denormals as MODE has them, the exec mask.
 */
#include <string.h>
#include "internal.h"
#include "float.h"

/* Aperture registers, as the kernel driver sets SH_MEM_BASES for graphics and compute queues alike. */
#define SHARED_BASE  0x2000000000000000ull
#define PRIVATE_BASE 0x1000000000000000ull

uint64_t isa_scalar(struct wave *w, const struct opd *o)
{
	switch (o->kind) {
	case OPD_SGPR:
		return o->size >= 2 ? w->s[o->code] | (uint64_t)w->s[o->code + 1] << 32 : w->s[o->code];
	case OPD_CONST:
		return o->value;
	case OPD_SPECIAL:
		switch (o->code) {
		case 235:
			return o->size == 2 ? SHARED_BASE : 0;
		case 236:
			return o->size == 2 ? SHARED_BASE | 0xffffffff : 0xffffffff;
		case 237:
			return o->size == 2 ? PRIVATE_BASE : 0;
		case 238:
			return o->size == 2 ? PRIVATE_BASE | 0xffffffff : 0xffffffff;
		case 251:
			return !(w->s[106] | (w->size == 64 ? w->s[107] : 0));
		case 252:
			return !isa_exec(w);
		case 253:
			return w->scc;
		default:
			return 0;
		}
	default:
		return 0;
	}
}

void isa_set_scalar(struct wave *w, const struct opd *o, uint64_t value)
{
	if (o->kind != OPD_SGPR)
		return;
	w->s[o->code] = (uint32_t)value;
	if (o->size >= 2)
		w->s[o->code + 1] = (uint32_t)(value >> 32);
}

uint64_t isa_mask(struct wave *w, const struct opd *o)
{
	uint64_t value = isa_scalar(w, o);

	return w->size == 64 ? value : (uint32_t)value;
}

/*
 * The lane that each lane reads in a DPP instruction, or -1.
 * From the DPP_CTRL tables of the Vega and RDNA 2 instruction set documents.
 */
static void dpp_sources(const struct wave *w, const struct uop *u, int8_t from[LANES])
{
	int size = (int)w->size;
	unsigned int c = u->dpp_ctrl;

	for (int i = 0; i < size; i++) {
		int row = i & ~15, in = i & 15, n = (int)(c & 15), at;

		if (u->dpp == 8)
			at = (i & ~7) + (int)(u->dpp8 >> 3 * (i & 7) & 7);
		else if (c < 0x100)
			at = (i & ~3) + (int)(c >> 2 * (i & 3) & 3);
		else if (c <= 0x10f) /* row_shl: from the lanes above */
			at = in + n < 16 ? i + n : -1;
		else if (c <= 0x11f)
			at = in - n >= 0 ? i - n : -1;
		else if (c <= 0x12f)
			at = row + ((in - n) & 15);
		else if (c == 0x130) /* wave_shl */
			at = i + 1 < size ? i + 1 : -1;
		else if (c == 0x134)
			at = (i + 1) % size;
		else if (c == 0x138)
			at = i - 1;
		else if (c == 0x13c)
			at = (i + size - 1) % size;
		else if (c == 0x140)
			at = row + 15 - in;
		else if (c == 0x141)
			at = (i & ~7) + 7 - (i & 7);
		else if (c == 0x142) /* lane 15 of each row to the next row */
			at = i >= 16 && u->gfx != SIM_GFX1030 ? row - 1 : -1;
		else if (c == 0x143)
			at = i >= 32 ? 31 : -1;
		else if (c >= 0x150 && c <= 0x15f) /* row_share; gfx90a: row_newbcast */
			at = row + n;
		else if (c >= 0x160 && c <= 0x16f) /* row_xmask */
			at = row + (in ^ n);
		else
			at = -1;
		from[i] = (int8_t)at;
	}
}

/* @exec_only: disabled lanes can't be read. Return: lanes that get a value; the rest of the active ones keep theirs. */
uint64_t isa_dpp_lanes(struct wave *w, const struct uop *u)
{
	uint64_t exec = isa_exec(w), lanes = 0;
	bool inactive = u->dpp == 8 ? (u->word[0] & 0x1ff) == 234 : u->fi;
	int8_t from[LANES];

	dpp_sources(w, u, from);
	for (unsigned int i = 0; i < w->size; i++) {
		bool row = u->row_mask >> (i / 16) & 1, bank = u->bank_mask >> (i / 4 & 3) & 1;
		bool valid = from[i] >= 0 && (inactive || exec >> from[i] & 1);

		if (row && bank && (valid || u->bound_ctrl || u->dpp == 8))
			lanes |= 1ull << i;
	}
	return lanes;
}

static void dpp_permute(struct wave *w, const struct uop *u, const uint32_t *from, uint32_t *to)
{
	uint64_t exec = isa_exec(w);
	bool inactive = u->dpp == 8 ? (u->word[0] & 0x1ff) == 234 : u->fi;
	int8_t lane[LANES];

	dpp_sources(w, u, lane);
	for (unsigned int i = 0; i < w->size; i++)
		to[i] = lane[i] >= 0 && (inactive || exec >> lane[i] & 1) ? from[lane[i]] : 0;
}

static void sdwa_select(const uint32_t *from, uint32_t *to, unsigned int sel, bool sext, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		if (sel < 4)
			to[i] = sext ? (uint32_t)(int8_t)(from[i] >> 8 * sel) : from[i] >> 8 * sel & 0xff;
		else if (sel < 6)
			to[i] = sext ? (uint32_t)(int16_t)(from[i] >> 16 * (sel - 4))
				     : from[i] >> 16 * (sel - 4) & 0xffff;
		else
			to[i] = from[i];
	}
}

static void fill(union val *room, uint64_t value, bool wide)
{
	if (wide)
		for (int i = 0; i < LANES; i++)
			room->q[i] = value;
	else
		for (int i = 0; i < LANES; i++)
			room->w[i] = (uint32_t)value;
}

static void modify32(union val *v, bool neg, bool abs, bool flush, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		uint32_t x = v->w[i];

		x = abs ? x & 0x7fffffff : x;
		x = neg ? x ^ 0x80000000 : x;
		v->w[i] = flush && !(x & 0x7f800000) ? x & 0x80000000 : x;
	}
}

static void modify64(union val *v, bool neg, bool abs, bool flush, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		uint64_t x = v->q[i];

		x = abs ? x & INT64_MAX : x;
		x = neg ? x ^ 1ull << 63 : x;
		v->q[i] = flush && !(x & 0x7ff0000000000000) ? x & 1ull << 63 : x;
	}
}

static void modify16(union val *v, bool neg, bool abs, bool flush, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		uint32_t x = v->w[i] & 0xffff;

		x = abs ? x & 0x7fff : x;
		x = neg ? x ^ 0x8000 : x;
		v->w[i] = flush && !(x & 0x7c00) ? x & 0x8000 : x;
	}
}

/*
 * isa_source() - source @i of @u for all lanes, modifiers applied.
 * @room: where it is put if it has to be changed or spread.
 */
const union val *isa_source(struct wave *w, const struct uop *u, int i, union val *room)
{
	const struct opd *o = &u->src[i];
	unsigned int type = u->sem->s[i], n = w->size;
	bool neg = u->neg >> i & 1, abs = u->abs >> i & 1, wide = o->size == 2 && !o->mask;
	bool packed = u->enc == VOP3P;
	bool in_place = false, flush = false;
	const uint32_t *lanes = NULL;

	if (o->kind == OPD_VGPR) {
		lanes = w->v[o->code + (o->acc ? 256 : 0)];
		if (wide) {
			const uint32_t *high = lanes + LANES;

			for (unsigned int k = 0; k < n; k++)
				room->q[k] = lanes[k] | (uint64_t)high[k] << 32;
		} else {
			in_place = true;
		}
	} else {
		fill(room, isa_scalar(w, o), wide);
		lanes = room->w;
	}
	if (i == 0 && u->dpp && !wide) {
		union val copy = *(const union val *)(const void *)lanes;

		dpp_permute(w, u, copy.w, room->w);
		in_place = false;
	} else if (u->sdwa && i < 2 && (u->sel[i + 1] != 6 || u->sext >> i & 1)) {
		union val copy;

		memcpy(copy.w, lanes, sizeof(copy.w));
		sdwa_select(copy.w, room->w, u->sel[i + 1], u->sext >> i & 1, n);
		in_place = false;
	}
	if (!packed) {
		if (type == T_F32)
			flush = !(w->mode & 0x10) || u->sem->flags & F_FLUSH;
		else if (type == T_F64 || type == T_F16)
			flush = !(w->mode & 0x40);
		flush = flush && !(u->sem->flags & F_NO_DENORM);
		if (type == T_F16 || type == T_B16 || type == T_I16) {
			unsigned int shift = u->enc == VOP3 && u->op_sel >> i & 1 && o->kind == OPD_VGPR ? 16
													 : 0;

			lanes = in_place ? lanes : room->w;
			if (type == T_I16 && !(u->sdwa && u->sel[i + 1] != 6))
				for (unsigned int k = 0; k < n; k++)
					room->w[k] = (uint32_t)(int16_t)(lanes[k] >> shift);
			else
				for (unsigned int k = 0; k < n; k++)
					room->w[k] = lanes[k] >> shift & 0xffff;
			in_place = false;
			if (type == T_F16 && (neg || abs || flush))
				modify16(room, neg, abs, flush, n);
			return room;
		}
		if ((neg || abs || flush) && !wide) {
			if (in_place)
				memcpy(room->w, lanes, sizeof(room->w));
			in_place = false;
			modify32(room, neg, abs, flush, n);
		} else if (neg || abs || flush) {
			modify64(room, neg, abs, flush, n);
		}
	}
	return in_place ? (const union val *)(const void *)lanes : room;
}

static void merge(uint32_t *to, const uint32_t *from, uint64_t lanes, unsigned int n)
{
	if (n == 64 ? lanes == ~0ull : (uint32_t)lanes == ~0u) {
		memcpy(to, from, n * sizeof(*to));
		return;
	}
	for (unsigned int k = 0; k < n; k += 32) {
		uint32_t part = (uint32_t)(lanes >> k);

		for (unsigned int i = 0; i < 32; i++) {
			uint32_t keep = (part >> i & 1) - 1;

			to[k + i] = (to[k + i] & keep) | (from[k + i] & ~keep);
		}
	}
}

/* Which bits of a 32-bit register a result occupies, and where it starts. */
uint32_t isa_part(const struct uop *u, unsigned int *shift)
{
	unsigned int type = u->sem->d;

	*shift = 0;
	if (u->sdwa && u->sel[0] != 6) {
		*shift = u->sel[0] < 4 ? 8 * u->sel[0] : 16 * (u->sel[0] - 4u);
		return (u->sel[0] < 4 ? 0xffu : 0xffffu) << *shift;
	}
	if ((type == T_F16 || type == T_B16 || type == T_I16) && u->enc != VOP3P && !u->sdwa) {
		*shift = u->enc == VOP3 && u->op_sel & 8 ? 16 : 0;
		if (*shift || u->gfx == SIM_GFX1030 || u->sem->flags & F_KEEP_HIGH)
			return 0xffffu << *shift;
	}
	return ~0u;
}

/* isa_write() - the result @r in those of @lanes that are given. */
void isa_write(struct wave *w, const struct uop *u, uint64_t lanes, const union val *r)
{
	const struct opd *o = &u->dst;
	unsigned int n = w->size, shift;
	uint32_t *to, part;

	if (o->kind != OPD_VGPR)
		return;
	to = w->v[o->code + (o->acc ? 256 : 0)];
	if (o->size == 2) {
		uint32_t low[LANES], high[LANES];

		for (unsigned int i = 0; i < n; i++) {
			low[i] = (uint32_t)r->q[i];
			high[i] = (uint32_t)(r->q[i] >> 32);
		}
		merge(to, low, lanes, n);
		merge(to + LANES, high, lanes, n);
		return;
	}
	part = isa_part(u, &shift);
	if (part != ~0u) {
		uint32_t whole[LANES];
		uint32_t sign = part >> shift & ~(part >> shift >> 1);

		for (unsigned int i = 0; i < n; i++) {
			uint32_t value = (r->w[i] << shift) & part, rest = to[i] & ~part;

			if (u->sdwa && u->unused != 2)
				rest = u->unused == 1 && r->w[i] & sign ? ~part & ~((1u << shift) - 1) : 0;
			whole[i] = value | rest;
		}
		merge(to, whole, lanes, n);
	} else {
		merge(to, r->w, lanes, n);
	}
}
