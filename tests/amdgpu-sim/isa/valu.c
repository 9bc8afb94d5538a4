/* SPDX-License-Identifier: BSD-3-Clause */
/* valu.c - the frame around vector arithmetic: sources in, rounding mode, output modifiers, result out. */
#include "internal.h"
#include "float.h"

/*
 * Which NaN comes out: the first source that is one, made quiet; else what an invalid operation gives. The host
 * may have swapped operands, so that it is put right here, where it happens.
 */
static void settle_nans(const struct uop *u, union val *r, const union val *const s[3], uint32_t n)
{
	unsigned int type = u->sem->d;

	for (uint32_t i = 0; i < n; i++) {
		bool nan = type == T_F32 ? nan32(r->w[i]) : type == T_F64 ? nan64(r->q[i]) : nan16(r->w[i]);

		for (int k = 0; nan && k < 3; k++) {
			if (u->sem->s[k] != type || !u->src[k].kind)
				continue;
			if (type == T_F32 && nan32(s[k]->w[i])) {
				r->w[i] = s[k]->w[i] | 0x400000;
				break;
			}
			if (type == T_F64 && nan64(s[k]->q[i])) {
				r->q[i] = s[k]->q[i] | 0x8000000000000;
				break;
			}
			if (type == T_F16 && nan16(s[k]->w[i])) {
				r->w[i] = s[k]->w[i] | 0x200;
				break;
			}
		}
	}
}

static bool any_nan(unsigned int type, const union val *r, uint32_t n)
{
	uint32_t found = 0;

	if (type == T_F32)
		for (uint32_t i = 0; i < n; i++)
			found |= (r->w[i] & 0x7fffffff) > 0x7f800000;
	else if (type == T_F64)
		for (uint32_t i = 0; i < n; i++)
			found |= (r->q[i] & INT64_MAX) > 0x7ff0000000000000;
	else
		for (uint32_t i = 0; i < n; i++)
			found |= (r->w[i] & 0x7fff) > 0x7c00;
	return found;
}

static uint64_t modify(unsigned int type, uint64_t bits, const struct uop *u, unsigned int mode, bool flush)
{
	double factor = u->omod == 1 ? 2 : u->omod == 2 ? 4 : u->omod == 3 ? 0.5 : 1, x;

	x = type == T_F32 ? (double)f32((uint32_t)bits) : type == T_F64 ? f64(bits) : from16((uint32_t)bits);
	if (!isnan(x))
		x *= factor;
	if (u->clamp) {
		if (isnan(x)) {
			if (!(mode & MODE_DX10_CLAMP))
				return bits;
			x = 0;
		}
		x = x > 1 ? 1 : x > 0 ? x : 0;
	} else if (isnan(x)) {
		return bits;
	}
	if (type == T_F32) {
		bits = b32((float)x);
		return flush && !(bits & 0x7f800000) ? bits & 0x80000000 : bits;
	}
	if (type == T_F16) {
		bits = to16(x, mode >> 2 & 3);
		return flush && !(bits & 0x7c00) ? bits & 0x8000 : bits;
	}
	bits = b64(x);
	return flush && !(bits & 0x7ff0000000000000) ? bits & 1ull << 63 : bits;
}

/* Output modifiers and denormals of a floating point result. */
static void finish(const struct wave *w, const struct uop *u, union val *r)
{
	unsigned int type = u->sem->d;
	bool flush = !(w->mode & (type == T_F32 ? 0x20 : 0x80)) || u->sem->flags & F_FLUSH;

	flush = flush && !(u->sem->flags & F_NO_DENORM);
	if (!u->omod && !u->clamp) {
		if (!flush)
			return;
		for (uint32_t i = 0; i < w->size; i++) {
			if (type == T_F32)
				r->w[i] = r->w[i] & 0x7f800000 ? r->w[i] : r->w[i] & 0x80000000;
			else if (type == T_F64)
				r->q[i] = r->q[i] & 0x7ff0000000000000 ? r->q[i] : r->q[i] & 1ull << 63;
			else
				r->w[i] = r->w[i] & 0x7c00 ? r->w[i] : r->w[i] & 0x8000;
		}
		return;
	}
	for (uint32_t i = 0; i < w->size; i++) {
		if (type == T_F64)
			r->q[i] = modify(type, r->q[i], u, w->mode, flush);
		else
			r->w[i] = (uint32_t)modify(type, r->w[i], u, w->mode, flush);
	}
}

void isa_run_valu(struct wave *w, const struct uop *u)
{
	union val room[3], r;
	const union val *s[3] = { &room[0], &room[1], &room[2] };
	unsigned int type = u->sem->d, round;
	uint64_t exec = isa_exec(w), lanes = exec;
	bool real = type == T_F32 || type == T_F64 || type == T_F16;

	for (int i = 0; i < 3; i++)
		if (u->src[i].kind)
			s[i] = isa_source(w, u, i, &room[i]);
	if (u->dpp)
		lanes &= isa_dpp_lanes(w, u);
	round = type == T_F32 ? w->mode & 3 : w->mode >> 2 & 3;
	if (real && round)
		fesetround(host_round(round));
	u->sem->lanes(w, u, &r, s, w->size, exec);
	if (real && round)
		fesetround(FE_TONEAREST);
	if (real && u->enc != VOP3P) { /* F_TRANS: its NaNs are as it says */
		if (!(u->sem->flags & F_TRANS) && any_nan(type, &r, w->size))
			settle_nans(u, &r, s, w->size);
		finish(w, u, &r);
	}
	isa_write(w, u, lanes, &r);
}
