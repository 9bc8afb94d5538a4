/* SPDX-License-Identifier: BSD-3-Clause */
/* wide.c - vector instructions on 64-bit integers, and those that give or take a carry. */
#include "lanes.h"

static uint64_t four_sads(uint64_t a, uint32_t b, uint64_t c, bool masked)
{
	uint64_t r = 0;

	for (int k = 0; k < 4; k++) {
		uint32_t sum = (uint32_t)(c >> 16 * k) & 0xffff;

		for (int j = 0; j < 4; j++) {
			uint32_t x = (uint32_t)(a >> 8 * (k + j)) & 255, y = b >> 8 * j & 255;

			if (!masked || y)
				sum += x > y ? x - y : y - x;
		}
		r |= (uint64_t)(sum & 0xffff) << 16 * k;
	}
	return r;
}

#define Q  T_B64
#define W  T_B32
#define NO T_NONE
/* clang-format off */
#define LIST(X) \
	X(v_lshlrev_b64, U_SHIFT, 0, 1, Q, W, Q, NO, BQ << (A & 63)) \
	X(v_lshrrev_b64, U_SHIFT, 0, 1, Q, W, Q, NO, BQ >> (A & 63)) \
	X(v_ashrrev_i64, U_SHIFT, 0, 1, Q, W, Q, NO, (uint64_t)((int64_t)BQ >> (A & 63))) \
	X(v_qsad_pk_u16_u8, U_ALL, 0, 0, Q, Q, W, Q, four_sads(AQ, B, CQ, false)) \
	X(v_mqsad_pk_u16_u8, U_ALL, 0, 0, Q, Q, W, Q, four_sads(AQ, B, CQ, true)) \
	X(v_pk_mov_b32, U_ALL, 0, 0, Q, Q, Q, NO, \
	  (uint32_t)(u->op_sel & 1 ? AQ >> 32 : AQ) | (u->op_sel & 2 ? BQ >> 32 : BQ) << 32)
/* clang-format on */
LIST(FUNCTION_Q)

enum { ADD, SUB, SUBREV };

/* Sums with a carry out in sdst, and one in (source 2) where there is one. */
void isa_run_carry(struct wave *w, const struct uop *u)
{
	union val room[2], r;
	const union val *a = isa_source(w, u, 0, &room[0]), *b = isa_source(w, u, 1, &room[1]);
	uint64_t in = u->src[2].kind ? isa_mask(w, &u->src[2]) : 0, out = 0;
	uint64_t exec = isa_exec(w), lanes = u->dpp ? exec & isa_dpp_lanes(w, u) : exec;

	if (u->sem->kind == SUBREV) {
		const union val *other = a;

		a = b;
		b = other;
	}
	for (uint32_t i = 0; i < w->size; i++) {
		uint64_t carry = in >> i & 1, x = a->w[i], y = b->w[i];
		uint64_t sum = u->sem->kind == ADD ? x + y + carry : x - y - carry;

		r.w[i] = (uint32_t)sum;
		if (sum >> 32) {
			out |= 1ull << i;
			if (u->clamp)
				r.w[i] = u->sem->kind == ADD ? ~0u : 0;
		}
	}
	isa_write(w, u, lanes, &r);
	isa_set_scalar(w, &u->sdst, out & exec);
}

/* v_mad_u64_u32, v_mad_i64_i32 */
static void mad64(struct wave *w, const struct uop *u)
{
	union val room[3], r;
	const union val *a = isa_source(w, u, 0, &room[0]), *b = isa_source(w, u, 1, &room[1]);
	const union val *c = isa_source(w, u, 2, &room[2]);
	uint64_t exec = isa_exec(w), out = 0;

	for (uint32_t i = 0; i < w->size; i++) {
		uint64_t product = u->sem->kind ? (uint64_t)((int64_t)a->i[i] * b->i[i])
						: (uint64_t)a->w[i] * b->w[i];

		r.q[i] = product + c->q[i];
		if (u->sem->kind ? ((~(product ^ c->q[i]) & (product ^ r.q[i])) >> 63) : r.q[i] < product)
			out |= 1ull << i;
	}
	isa_write(w, u, exec, &r);
	isa_set_scalar(w, &u->sdst, out & exec);
}

#define CARRY(name, kind) \
	{ #name, isa_run_carry, NULL, NULL, NULL, W, { W, W, T_MASK }, U_ALL, C_VALU, 0, kind, 0, 0 }

const struct sem isa_sem_wide[] = {
	LIST(VALU_ROW) CARRY(v_add_co_u32, ADD),
	CARRY(v_sub_co_u32, SUB),
	CARRY(v_subrev_co_u32, SUBREV),
	CARRY(v_addc_co_u32, ADD),
	CARRY(v_subb_co_u32, SUB),
	CARRY(v_subbrev_co_u32, SUBREV),
	CARRY(v_add_co_ci_u32, ADD),
	CARRY(v_sub_co_ci_u32, SUB),
	CARRY(v_subrev_co_ci_u32, SUBREV),
	{ "v_mad_u64_u32", mad64, NULL, NULL, NULL, Q, { W, W, Q }, U_ADD, C_VALU, 0, 0, 0, 0 },
	{ "v_mad_i64_i32", mad64, NULL, NULL, NULL, Q, { W, W, Q }, U_ADD, C_VALU, 0, 1, 0, 0 },
};
SEM_END(wide);
