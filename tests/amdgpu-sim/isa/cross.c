/* SPDX-License-Identifier: BSD-3-Clause */
/* cross.c - between lanes, and between vector and scalar registers. */
#include <string.h>
#include "lanes.h"

#define W  T_B32
#define NO T_NONE

static uint32_t mask_low(uint32_t lane)
{
	return lane >= 32 ? ~0u : (1u << lane) - 1;
}

static uint32_t mask_high(uint32_t lane)
{
	return lane <= 32 ? 0 : (uint32_t)((1ull << (lane - 32)) - 1);
}

/* clang-format off */
#define LIST(X) \
	X(v_mbcnt_lo_u32_b32, U_ALL, 0, 0, W, W, W, NO, (uint32_t)__builtin_popcount(A & mask_low(i)) + B) \
	X(v_mbcnt_hi_u32_b32, U_ALL, 0, 0, W, W, W, NO, (uint32_t)__builtin_popcount(A & mask_high(i)) + B)
/* clang-format on */
LIST(FUNCTION_W)

static void cndmask(struct wave *w, const struct uop *u)
{
	union val room[2], r;
	const union val *a = isa_source(w, u, 0, &room[0]), *b = isa_source(w, u, 1, &room[1]);
	uint64_t mask = isa_mask(w, &u->src[2]), exec = isa_exec(w);

	if (u->dpp)
		exec &= isa_dpp_lanes(w, u);
	for (uint32_t k = 0; k < w->size; k += 32) {
		uint32_t part = (uint32_t)(mask >> k);

		for (uint32_t i = 0; i < 32; i++) {
			uint32_t keep = (part >> i & 1) - 1;

			r.w[k + i] = (a->w[k + i] & keep) | (b->w[k + i] & ~keep);
		}
	}
	isa_write(w, u, exec, &r);
}

static void readlane(struct wave *w, const struct uop *u)
{
	uint64_t exec = isa_exec(w);
	uint32_t lane = exec ? (uint32_t)__builtin_ctzll(exec) : 0;
	const struct opd *from = &u->src[0];

	if (u->sem->kind)
		lane = (uint32_t)isa_scalar(w, &u->src[1]) & (w->size - 1);
	isa_set_scalar(w, &u->dst, from->kind == OPD_VGPR ? w->v[from->code][lane] : isa_scalar(w, from));
}

static void writelane(struct wave *w, const struct uop *u)
{
	uint32_t lane = (uint32_t)isa_scalar(w, &u->src[1]) & (w->size - 1);

	w->v[u->dst.code][lane] = (uint32_t)isa_scalar(w, &u->src[0]);
}

static void swap(struct wave *w, const struct uop *u)
{
	uint32_t *a = w->v[u->dst.code], *b = w->v[u->src[0].code];
	uint64_t exec = isa_exec(w);

	for (uint32_t i = 0; i < w->size; i++) {
		uint32_t x = a[i];

		if (!(exec >> i & 1))
			continue;
		a[i] = b[i];
		b[i] = x;
	}
}

/* v_permlane16, v_permlanex16: any lane of the same, or of the other, row of 16; selectors in two scalars. */
static void permlane(struct wave *w, const struct uop *u)
{
	uint64_t select = (uint32_t)isa_scalar(w, &u->src[1]) | isa_scalar(w, &u->src[2]) << 32;
	uint64_t exec = isa_exec(w), lanes = exec;
	uint32_t *from = w->v[u->src[0].code];
	union val r;

	for (uint32_t i = 0; i < w->size; i++) {
		uint32_t at = (i & ~15u) ^ (u->sem->kind ? 16 : 0);

		at |= select >> 4 * (i & 15) & 15;
		r.w[i] = from[at];
		if (exec >> at & 1 || u->op_sel & 1) /* fetch inactive */
			continue;
		r.w[i] = 0;
		if (!(u->op_sel & 2)) /* bound control */
			lanes &= ~(1ull << i);
	}
	isa_write(w, u, lanes, &r);
}

/* Vector registers by an index in m0. */
static void movrel(struct wave *w, const struct uop *u)
{
	struct uop at = *u;
	bool source = u->sem->kind & 1, destination = u->sem->kind & 2;
	uint32_t index = w->s[124];
	union val room;

	if (w->su[124]) {
		isa_fault(w, SIM_FAULT_REGISTER, 0, -1, "m0 is undefined");
		return;
	}
	if (source)
		at.src[0].code = (uint16_t)(at.src[0].code + index);
	if (destination)
		at.dst.code = (uint16_t)(at.dst.code + index);
	if (index > 255 || (source && at.src[0].code >= w->vgprs) ||
	    (destination && at.dst.code >= w->vgprs)) {
		isa_fault(w, SIM_FAULT_REGISTER, 0, -1, "relative index %u", index);
		return;
	}
	if ((source && w->vflag[at.src[0].code] & FLAG_PENDING) ||
	    (destination && w->vflag[at.dst.code] & FLAG_PENDING)) {
		isa_fault(w, SIM_FAULT_HAZARD, 0, -1, "the indexed register has not arrived");
		return;
	}
	at.vread[0].first = at.src[0].code;
	at.vwrite[0].first = at.dst.code;
	w->shadow_exec = isa_exec(w);
	if (!isa_shadow_before(w, &at))
		return;
	isa_write(w, &at, isa_exec(w), isa_source(w, &at, 0, &room));
	isa_shadow_after(w, &at);
}

/* Scalar registers likewise. The one that is named need not hold anything. */
static void s_movrel(struct wave *w, const struct uop *u)
{
	struct uop at = *u;
	struct opd *moved = u->sem->kind & 1 ? &at.src[0] : &at.dst;
	uint32_t index = w->s[124];

	if (w->su[124]) {
		isa_fault(w, SIM_FAULT_REGISTER, 0, -1, "m0 is undefined");
		return;
	}
	if (index >= w->sgprs || moved->code + index + moved->size > w->sgprs ||
	    (index & (moved->size - 1u))) {
		isa_fault(w, SIM_FAULT_REGISTER, 0, -1, "relative index %u", index);
		return;
	}
	moved->code = (uint16_t)(moved->code + index);
	at.sreads = at.src[0].kind == OPD_SGPR; /* not a constant */
	at.swrites = 1;
	at.sread[0] = (struct span){ .first = at.src[0].code, .count = at.src[0].size };
	at.swrite[0] = (struct span){ .first = at.dst.code, .count = at.dst.size };
	if (!isa_pending_check(w, &at))
		return;
	for (unsigned int i = 0; i < at.src[0].size; i++)
		if (at.src[0].kind == OPD_SGPR && w->su[at.src[0].code + i]) {
			isa_fault(w, SIM_FAULT_REGISTER, 0, -1, "s%u is undefined", at.src[0].code + i);
			return;
		}
	isa_set_scalar(w, &at.dst, isa_scalar(w, &at.src[0]));
	isa_shadow_set_scalar(w, &at.dst, 0);
}

const struct sem isa_sem_cross[] = {
	LIST(VALU_ROW){ "v_cndmask_b32",
			cndmask,
			NULL,
			NULL,
			NULL,
			W,
			{ W, W, T_MASK },
			U_SELECT,
			C_VALU,
			0,
			0,
			0,
			0 },
	{ "v_readfirstlane_b32", readlane, NULL, NULL, NULL, W, { W, 0, 0 }, U_LANE, C_VALU, 0, 0, 0, 0 },
	{ "v_readlane_b32", readlane, NULL, NULL, NULL, W, { W, W, 0 }, U_LANE, C_VALU, 0, 1, 0, 0 },
	{ "v_writelane_b32", writelane, NULL, NULL, NULL, W, { W, W, 0 }, U_LANE, C_VALU, 0, 0, 0, 0 },
	{ "v_swap_b32", swap, NULL, NULL, NULL, W, { W, 0, 0 }, U_STRICT, C_VALU, F_SWAP, 0, 0, 0 },
	{ "v_permlane16_b32", permlane, NULL, NULL, NULL, W, { W, W, W }, U_STRICT, C_VALU, 0, 0, 0, 0 },
	{ "v_permlanex16_b32", permlane, NULL, NULL, NULL, W, { W, W, W }, U_STRICT, C_VALU, 0, 1, 0, 0 },
	{ "v_movrels_b32", movrel, NULL, NULL, NULL, W, { W, 0, 0 }, U_MOVE, C_VALU, F_RELATIVE, 1, 0, 0 },
	{ "v_movreld_b32", movrel, NULL, NULL, NULL, W, { W, 0, 0 }, U_MOVE, C_VALU, F_RELATIVE, 2, 0, 0 },
	{ "v_movrelsd_b32", movrel, NULL, NULL, NULL, W, { W, 0, 0 }, U_MOVE, C_VALU, F_RELATIVE, 3, 0, 0 },
	{ "s_movrels_b32", s_movrel, NULL, NULL, NULL, 0, { 0 }, U_NONE, C_SALU, F_RELATIVE, 1, 0, 0 },
	{ "s_movrels_b64", s_movrel, NULL, NULL, NULL, 0, { 0 }, U_NONE, C_SALU, F_RELATIVE, 1, 0, 0 },
	{ "s_movreld_b32", s_movrel, NULL, NULL, NULL, 0, { 0 }, U_NONE, C_SALU, F_RELATIVE, 2, 0, 0 },
	{ "s_movreld_b64", s_movrel, NULL, NULL, NULL, 0, { 0 }, U_NONE, C_SALU, F_RELATIVE, 2, 0, 0 },
};
SEM_END(cross);
