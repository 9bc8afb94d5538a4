/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lds.c - local memory of a group, and the DS instructions.
 *
 * Each byte has one beside it that says whether it was written since the group began: hardware does not clear
 * LDS, so that reading what nobody wrote is a fault. The driver's alignment mode allows any alignment,
 * but of atomics.
 */
#include <string.h>
#include "lds.h"
#include "float.h"

static bool inside(struct wave *w, uint64_t at, uint32_t size, int lane)
{
	if (at + size <= w->group->lds_size)
		return true;
	isa_fault(w, SIM_FAULT_LDS, at, lane, "%u bytes at 0x%llx of 0x%x", size, (unsigned long long)at,
		  w->group->lds_size);
	return false;
}

bool isa_lds_read(struct wave *w, uint64_t at, void *to, uint32_t size, int lane)
{
	if (!inside(w, at, size, lane))
		return false;
	for (uint32_t i = 0; i < size; i++)
		if (w->group->lds_shadow[at + i]) {
			isa_fault(w, SIM_FAULT_LDS, at, lane, "0x%llx was never written",
				  (unsigned long long)at + i);
			return false;
		}
	memcpy(to, w->group->lds + at, size);
	return true;
}

bool isa_lds_write(struct wave *w, uint64_t at, const void *from, uint32_t size, int lane)
{
	if (!inside(w, at, size, lane))
		return false;
	memcpy(w->group->lds + at, from, size);
	memset(w->group->lds_shadow + at, 0, size);
	return true;
}

enum { X_SIGN = 1, X_D16 = 2, X_D16_HI = 4, X_ST64 = 8 };
enum { L_READ, L_WRITE, L_READ2, L_WRITE2, L_XCHG2, L_RSUB, L_MSKOR, L_MIN_F, L_MAX_F, L_CMPST_F, L_ATOMIC };

static void get(const struct wave *w, const struct opd *o, unsigned int lane, uint32_t words[4])
{
	for (unsigned int k = 0; k < o->size && k < 4; k++)
		words[k] = w->v[o->code + k][lane];
}

/* A value read: narrow ones extended or put into a half. */
static void put(struct wave *w, const struct uop *u, unsigned int first, unsigned int count,
		unsigned int lane, const uint32_t *words)
{
	unsigned int bytes = u->sem->bytes, extra = u->sem->extra;

	for (unsigned int k = 0; k < count; k++) {
		uint32_t *to = &w->v[u->dst.code + first + k][lane], x = words[k];

		if (bytes == 1)
			x = extra & X_SIGN ? (uint32_t)(int8_t)x : (uint8_t)x;
		else if (bytes == 2)
			x = extra & X_SIGN ? (uint32_t)(int16_t)x : (uint16_t)x;
		if (extra & X_D16)
			x = (*to & 0xffff0000) | (x & 0xffff);
		else if (extra & X_D16_HI)
			x = (*to & 0xffff) | x << 16;
		*to = x;
	}
}

static bool two(struct wave *w, const struct uop *u, unsigned int lane, uint32_t base)
{
	uint32_t bytes = u->sem->bytes, each = u->sem->extra & X_ST64 ? 64 * bytes : bytes, words = bytes / 4;
	uint32_t at[2] = { base + (u->imm & 255) * each, base + (u->imm >> 8) * each }, data[4], old[2][2];

	for (unsigned int k = 0; k < 2; k++) {
		if (u->sem->kind != L_WRITE2 && !isa_lds_read(w, at[k], old[k], bytes, (int)lane))
			return false;
		if (u->sem->kind == L_READ2)
			continue;
		get(w, &u->src[1 + k], lane, data);
		if (!isa_lds_write(w, at[k], data, bytes, (int)lane))
			return false;
	}
	for (unsigned int k = 0; k < 2 && u->sem->kind != L_WRITE2; k++)
		put(w, u, k * words, words, lane, old[k]);
	return true;
}

static uint64_t real_minmax(uint32_t size, uint64_t old, uint64_t operand, bool max)
{
	double a = size == 8 ? f64(old) : f32((uint32_t)old),
	       b = size == 8 ? f64(operand) : f32((uint32_t)operand);

	if (isnan(a) || isnan(b))
		return isnan(a) ? operand : old;
	return (max ? b > a : b < a) ? operand : old;
}

static bool update(struct wave *w, const struct uop *u, unsigned int lane, uint32_t at)
{
	uint32_t size = u->sem->bytes, words[4] = { 0 }, other[4] = { 0 }, out[2];
	uint64_t old = 0, a, b, r;

	get(w, &u->src[1], lane, words);
	get(w, &u->src[2], lane, other);
	a = size == 8 ? words[0] | (uint64_t)words[1] << 32 : words[0];
	b = size == 8 ? other[0] | (uint64_t)other[1] << 32 : other[0];
	if (at % size) {
		isa_fault(w, SIM_FAULT_LDS, at, (int)lane, "atomic at 0x%x is not aligned", at);
		return false;
	}
	if (!isa_lds_read(w, at, &old, size, (int)lane))
		return false;
	switch (u->sem->kind) {
	case L_RSUB:
		r = a - old;
		break;
	case L_MSKOR:
		r = (old & ~a) | b;
		break;
	case L_MIN_F:
	case L_MAX_F:
		r = real_minmax(size, old, a, u->sem->kind == L_MAX_F);
		break;
	case L_CMPST_F:
		r = (size == 8 ? f64(old) == f64(a) : f32((uint32_t)old) == f32((uint32_t)a)) ? b : old;
		break;
	case L_ATOMIC + SIM_ATOMIC_CMPSWAP: /* data 0 is what it is compared with */
		r = sim_atomic_result(SIM_ATOMIC_CMPSWAP, size, old, b, a);
		break;
	default:
		r = sim_atomic_result(u->sem->kind - L_ATOMIC, size, old, a, b);
	}
	if (!isa_lds_write(w, at, &r, size, (int)lane))
		return false;
	out[0] = (uint32_t)old;
	out[1] = (uint32_t)(old >> 32);
	if (u->dst.kind)
		put(w, u, 0, size / 4, lane, out);
	return true;
}

static bool one(struct wave *w, const struct uop *u, unsigned int lane, uint32_t at)
{
	uint32_t words[4] = { 0 };

	if (u->sem->kind == L_READ) {
		if (!isa_lds_read(w, at, words, u->sem->bytes, (int)lane))
			return false;
		put(w, u, 0, u->dst.size, lane, words);
		return true;
	}
	get(w, &u->src[1], lane, words);
	if (u->sem->extra & X_D16_HI)
		words[0] >>= 16;
	return isa_lds_write(w, at, words, u->sem->bytes, (int)lane);
}

static void access_lds(struct wave *w, const struct uop *u)
{
	uint64_t exec = isa_exec(w);

	if (u->gds) {
		isa_fault(w, SIM_FAULT_OPCODE, 0, -1, "global data share");
		return;
	}
	for (unsigned int i = 0; i < w->size; i++) {
		uint32_t base = w->v[u->src[0].code][i];
		bool good;

		if (!(exec >> i & 1))
			continue;
		switch (u->sem->kind) {
		case L_READ:
		case L_WRITE:
			good = one(w, u, i, base + u->imm);
			break;
		case L_READ2:
		case L_WRITE2:
		case L_XCHG2:
			good = two(w, u, i, base);
			break;
		default:
			good = update(w, u, i, base + u->imm);
		}
		if (!good)
			return;
	}
	isa_issue(w, CNT_LGKM, BY_LDS, true, u->dst.code, u->dst.kind ? u->dst.size : 0);
}

/* ds_permute_b32, ds_bpermute_b32: through the crossbar of LDS, no memory. */
static void permute(struct wave *w, const struct uop *u)
{
	uint64_t exec = isa_exec(w);
	const uint32_t *at = w->v[u->src[0].code], *from = w->v[u->src[1].code];
	uint32_t r[LANES] = { 0 };

	for (unsigned int i = 0; i < w->size; i++) {
		unsigned int lane = ((at[i] + u->imm) >> 2) & (w->size - 1);

		/* wave64 of gfx10 is two halves that do not see each other */
		if (w->dispatch->gfx == SIM_GFX1030 && w->size == 64)
			lane = (lane & 31) | (i & 32);
		if (u->sem->kind) { /* pull; of an inactive lane: zero */
			r[i] = exec >> lane & 1 ? from[lane] : 0;
		} else if (exec >> i & 1) {
			r[lane] = from[i];
		}
	}
	for (unsigned int i = 0; i < w->size; i++)
		if (exec >> i & 1)
			w->v[u->dst.code][i] = r[i];
	isa_issue(w, CNT_LGKM, BY_LDS, true, u->dst.code, 1);
}

/* ds_swizzle_b32: four lanes by a table each, or a bit operation on the lane number in groups of 32. */
static void swizzle(struct wave *w, const struct uop *u)
{
	uint64_t exec = isa_exec(w);
	const uint32_t *from = w->v[u->src[0].code];
	uint32_t r[LANES];

	for (unsigned int i = 0; i < w->size; i++) {
		unsigned int lane;

		if ((u->imm & 0xff00) == 0x8000) {
			lane = (i & ~3u) | (u->imm >> 2 * (i & 3) & 3);
		} else if (u->imm >= 0xc000) { /* rotate */
			unsigned int keep = u->imm & 31, by = u->imm >> 5 & 31;
			unsigned int to = u->imm >> 10 & 1 ? (i & 31) - by : (i & 31) + by;

			lane = (i & 32) | (i & keep) | (to & 31 & ~keep);
		} else {
			lane = (((i & (u->imm & 31)) | (u->imm >> 5 & 31)) ^ (u->imm >> 10 & 31)) & 31;
			lane |= i & 32;
		}
		r[i] = exec >> lane & 1 ? from[lane] : 0;
	}
	for (unsigned int i = 0; i < w->size; i++)
		if (exec >> i & 1)
			w->v[u->dst.code][i] = r[i];
	isa_issue(w, CNT_LGKM, BY_LDS, true, u->dst.code, 1);
}

#define LDS(name, run, kind, bytes, extra)                                      \
	{ "ds_" name, run,   NULL, NULL, NULL,	T_B32, { T_B32, T_B32, T_B32 }, \
	  U_MEMORY,   C_LDS, 0,	   kind, bytes, extra }
#define READ(name, bytes, extra)  LDS("read_" name, access_lds, L_READ, bytes, extra)
#define WRITE(name, bytes, extra) LDS("write_" name, access_lds, L_WRITE, bytes, extra)
#define TWO(bits, bytes)                                                      \
	LDS("read2_" bits, access_lds, L_READ2, bytes, 0),                    \
		LDS("read2st64_" bits, access_lds, L_READ2, bytes, X_ST64),   \
		LDS("write2_" bits, access_lds, L_WRITE2, bytes, 0),          \
		LDS("write2st64_" bits, access_lds, L_WRITE2, bytes, X_ST64), \
		LDS("wrxchg2_rtn_" bits, access_lds, L_XCHG2, bytes, 0),      \
		LDS("wrxchg2st64_rtn_" bits, access_lds, L_XCHG2, bytes, X_ST64)
#define EITHER(name, type, kind, bytes) \
	LDS(name "_" type, access_lds, kind, bytes, 0), LDS(name "_rtn_" type, access_lds, kind, bytes, 0)
#define BOTH(name, type, kind) EITHER(name, type "32", kind, 4), EITHER(name, type "64", kind, 8)

const struct sem isa_sem_lds[] = {
	READ("b32", 4, 0),
	READ("b64", 8, 0),
	READ("b96", 12, 0),
	READ("b128", 16, 0),
	READ("u8", 1, 0),
	READ("i8", 1, X_SIGN),
	READ("u16", 2, 0),
	READ("i16", 2, X_SIGN),
	READ("u8_d16", 1, X_D16),
	READ("u8_d16_hi", 1, X_D16_HI),
	READ("i8_d16", 1, X_SIGN | X_D16),
	READ("i8_d16_hi", 1, X_SIGN | X_D16_HI),
	READ("u16_d16", 2, X_D16),
	READ("u16_d16_hi", 2, X_D16_HI),
	WRITE("b32", 4, 0),
	WRITE("b64", 8, 0),
	WRITE("b96", 12, 0),
	WRITE("b128", 16, 0),
	WRITE("b8", 1, 0),
	WRITE("b16", 2, 0),
	WRITE("b8_d16_hi", 1, X_D16_HI),
	WRITE("b16_d16_hi", 2, X_D16_HI),
	TWO("b32", 4),
	TWO("b64", 8),
	LDS("wrxchg_rtn_b32", access_lds, L_ATOMIC + SIM_ATOMIC_SWAP, 4, 0),
	LDS("wrxchg_rtn_b64", access_lds, L_ATOMIC + SIM_ATOMIC_SWAP, 8, 0),
	BOTH("add", "u", L_ATOMIC + SIM_ATOMIC_ADD),
	BOTH("sub", "u", L_ATOMIC + SIM_ATOMIC_SUB),
	BOTH("rsub", "u", L_RSUB),
	BOTH("inc", "u", L_ATOMIC + SIM_ATOMIC_INC),
	BOTH("dec", "u", L_ATOMIC + SIM_ATOMIC_DEC),
	BOTH("min", "i", L_ATOMIC + SIM_ATOMIC_SMIN),
	BOTH("max", "i", L_ATOMIC + SIM_ATOMIC_SMAX),
	BOTH("min", "u", L_ATOMIC + SIM_ATOMIC_UMIN),
	BOTH("max", "u", L_ATOMIC + SIM_ATOMIC_UMAX),
	BOTH("and", "b", L_ATOMIC + SIM_ATOMIC_AND),
	BOTH("or", "b", L_ATOMIC + SIM_ATOMIC_OR),
	BOTH("xor", "b", L_ATOMIC + SIM_ATOMIC_XOR),
	BOTH("mskor", "b", L_MSKOR),
	BOTH("cmpst", "b", L_ATOMIC + SIM_ATOMIC_CMPSWAP),
	BOTH("cmpst", "f", L_CMPST_F),
	BOTH("min", "f", L_MIN_F),
	BOTH("max", "f", L_MAX_F),
	EITHER("add", "f32", L_ATOMIC + SIM_ATOMIC_ADD_F32, 4),
	EITHER("add", "f64", L_ATOMIC + SIM_ATOMIC_ADD_F64, 8),
	LDS("permute_b32", permute, 0, 4, 0),
	LDS("bpermute_b32", permute, 1, 4, 0),
	LDS("swizzle_b32", swizzle, 0, 4, 0),
};
SEM_END(lds);
