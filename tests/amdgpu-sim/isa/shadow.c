/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shadow.c - undefined bits.
 *
 * Beside each register with FLAG_UNDEF stands a shadow of it whose bits say which of its own are undefined.
 * Moves and arithmetic carry the shadows on, as valgrind's memcheck does: compilers copy and combine what they
 * never look at. A fault is raised where an undefined bit decides something: an address, stored data, a branch,
 * the exec mask, a lane number. Of vector registers only the active lanes are looked at.
 *
 * isa_shadow_before() computes the shadow of the result, from sources that the instruction may overwrite;
 * isa_shadow_after() puts it beside the result. Neither is called for instructions whose registers are all
 * defined.
 */
#include <string.h>
#include "internal.h"

struct shadow {
	union val of[3];
	bool any[3];
};

static const uint32_t (*expand(struct wave *w, unsigned int reg))[LANES]
{
	if (w->vflag[reg] & FLAG_UNWRITTEN) {
		memset(w->vu[reg], 0xff, sizeof(w->vu[reg]));
		w->vflag[reg] = (uint8_t)((w->vflag[reg] & ~FLAG_UNWRITTEN) | FLAG_UNDEF);
	}
	return (const uint32_t(*)[LANES]) & w->vu[reg];
}

static uint64_t scalar_shadow(const struct wave *w, const struct opd *o)
{
	if (o->kind == OPD_SPECIAL && o->code == 253)
		return w->scc_undef ? ~0ull : 0;
	if (o->kind != OPD_SGPR)
		return 0;
	return o->size >= 2 ? w->su[o->code] | (uint64_t)w->su[o->code + 1] << 32 : w->su[o->code];
}

/* Shadow of a vector register for the lanes in @lanes; into the low or the high words of @to. */
static bool vector_shadow(struct wave *w, unsigned int reg, uint64_t lanes, uint32_t to[LANES])
{
	const uint32_t(*from)[LANES];
	uint32_t any = 0;

	memset(to, 0, LANES * sizeof(*to));
	if (!(w->vflag[reg] & (FLAG_UNDEF | FLAG_UNWRITTEN)))
		return false;
	from = expand(w, reg);
	for (unsigned int k = 0; k < w->size; k += 32) {
		uint32_t half = (uint32_t)(lanes >> k);

		for (unsigned int i = 0; i < 32; i++) {
			to[k + i] = (*from)[k + i] & (0 - (half >> i & 1));
			any |= to[k + i];
		}
	}
	return any != 0;
}

static bool source_shadow(struct wave *w, const struct uop *u, unsigned int i, uint64_t lanes, union val *to)
{
	const struct opd *o = &u->src[i];
	uint32_t low[LANES], high[LANES] = { 0 };
	bool any;

	if (o->kind == OPD_VGPR) {
		unsigned int reg = o->code + (o->acc ? 256u : 0);

		any = vector_shadow(w, reg, u->dpp && !i ? isa_all(w) : lanes, low);
		if (o->size == 2)
			any = vector_shadow(w, reg + 1, lanes, high) || any;
		for (unsigned int k = 0; k < LANES; k++) {
			if (o->size == 2)
				to->q[k] = low[k] | (uint64_t)high[k] << 32;
			else
				to->w[k] = low[k];
		}
		return any;
	}
	uint64_t value = scalar_shadow(w, o);

	for (unsigned int k = 0; k < LANES; k++) {
		if (o->mask)
			to->w[k] = value >> k & 1 && lanes >> k & 1 ? ~0u : 0;
		else if (o->size == 2)
			to->q[k] = value;
		else
			to->w[k] = (uint32_t)value;
	}
	return o->mask ? (value & lanes) != 0 : value != 0;
}

static bool strict(struct wave *w, const struct uop *u)
{
	uint64_t exec = isa_exec(w);

	for (unsigned int i = 0; i < u->vreads; i++)
		for (unsigned int k = 0; k < u->vread[i].count; k++) {
			uint32_t bits[LANES];

			if (!vector_shadow(w, u->vread[i].first + k, exec, bits))
				continue;
			for (int lane = 0; lane < LANES; lane++)
				if (bits[lane]) {
					isa_fault(w, SIM_FAULT_REGISTER, 0, lane, "v%u is undefined",
						  u->vread[i].first + k);
					return false;
				}
		}
	for (unsigned int i = 0; i < u->sreads; i++)
		for (unsigned int k = 0; k < u->sread[i].count; k++)
			if (w->su[u->sread[i].first + k]) {
				isa_fault(w, SIM_FAULT_REGISTER, 0, -1, "s%u is undefined",
					  u->sread[i].first + k);
				return false;
			}
	if (u->sem->flags & F_SCC_IN && w->scc_undef) {
		isa_fault(w, SIM_FAULT_REGISTER, 0, -1, "scc is undefined");
		return false;
	}
	return true;
}

static uint64_t upwards(uint64_t bits)
{
	return bits | -bits;
}

/* Bits of a scalar result. */
static void salu_before(struct wave *w, const struct uop *u)
{
	uint64_t a = scalar_shadow(w, &u->src[0]), b = scalar_shadow(w, &u->src[1]), r, scc;
	uint64_t va = isa_scalar(w, &u->src[0]), vb = isa_scalar(w, &u->src[1]);
	bool in = u->sem->flags & F_SCC_IN && w->scc_undef;

	if (u->sem->flags & F_ACC)
		b |= scalar_shadow(w, &u->dst);
	switch (u->sem->undef) {
	case U_MOVE:
		r = a;
		break;
	case U_AND: /* inverted operands only in the logic of saveexec and andn2: extra says so */
		if (u->sem->extra & 2)
			vb = ~vb;
		if (u->sem->extra & 1)
			va = ~va;
		if (u->sem->extra & 4) {
			vb = isa_exec(w);
			vb = u->sem->extra & 2 ? ~vb : vb;
		}
		r = (a & b) | (a & vb) | (b & va);
		break;
	case U_OR:
		if (u->sem->extra & 2)
			vb = ~vb;
		if (u->sem->extra & 1)
			va = ~va;
		if (u->sem->extra & 4) {
			vb = isa_exec(w);
			vb = u->sem->extra & 2 ? ~vb : vb;
		}
		r = (a & b) | (a & ~vb) | (b & ~va);
		break;
	case U_XOR:
		r = a | b;
		break;
	case U_ADD:
		r = upwards(a | b);
		break;
	case U_SHIFT: {
		uint32_t ignored = 0;

		r = b ? ~0ull : u->sem->scalar(w, a, vb, &ignored);
		break;
	}
	default:
		r = a | b ? ~0ull : 0;
	}
	if (in)
		r = ~0ull;
	scc = r;
	if (u->dst.size < 2)
		scc = (uint32_t)scc;
	if (u->enc == SOPC || !u->dst.kind)
		scc = a | b;
	w->shadow_scalar = r;
	w->shadow_scc = scc != 0;
}

static void all_or_none(union val *r, const struct uop *u, unsigned int sources, const struct shadow *s)
{
	for (unsigned int k = 0; k < LANES; k++) {
		bool any = false;

		for (unsigned int i = 0; i < sources; i++)
			any = any || (u->src[i].size == 2 && !u->src[i].mask ? s->of[i].q[k] : s->of[i].w[k]);
		if (u->dst.size == 2 && !u->dst.mask)
			r->q[k] = any ? ~0ull : 0;
		else
			r->w[k] = any ? ~0u : 0;
	}
}

/* A lane operation on shadows, with the sources in @keep as they are. */
static void run_on(struct wave *w, const struct uop *u, const struct shadow *s, unsigned int keep,
		   uint64_t exec, union val *r)
{
	union val room[3];
	const union val *in[3] = { &s->of[0], &s->of[1], &s->of[2] };

	for (int i = 0; i < 3; i++)
		if (keep >> i & 1)
			in[i] = isa_source(w, u, i, &room[i]);
	u->sem->lanes(w, u, r, in, w->size, exec);
}

static void bitwise(struct wave *w, const struct uop *u, const struct shadow *s, union val *r)
{
	union val room[2];
	const union val *a = isa_source(w, u, 0, &room[0]), *b = isa_source(w, u, 1, &room[1]);
	bool or = u->sem->undef == U_OR;

	for (unsigned int k = 0; k < w->size; k++) {
		uint32_t ua = s->of[0].w[k], ub = s->of[1].w[k];

		r->w[k] = (ua & ub) | (ua & (or ? ~b->w[k] : b->w[k])) | (ub & (or ? ~a->w[k] : a->w[k]));
	}
}

/* Sources that are parts of registers: their shadows are the same parts. */
static void part_of_source(const struct uop *u, unsigned int i, union val *s)
{
	unsigned int type = u->sem->s[i], sel = i < 2 ? u->sel[i + 1] : 6, shift = 0;
	uint32_t mask = ~0u;

	if (u->enc == VOP3P || u->src[i].size != 1)
		return;
	if (u->sdwa && sel != 6) {
		shift = sel < 4 ? 8 * sel : 16 * (sel - 4);
		mask = sel < 4 ? 0xff : 0xffff;
	} else if (type == T_F16 || type == T_B16 || type == T_I16) {
		shift = u->enc == VOP3 && u->op_sel >> i & 1 ? 16 : 0;
		mask = 0xffff;
	}
	if (mask != ~0u)
		for (unsigned int k = 0; k < LANES; k++)
			s->w[k] = s->w[k] >> shift & mask;
}

/* Whether source @o has an undefined bit in any lane. Mostly only the destination has. */
static bool has_undefined(const struct wave *w, const struct opd *o)
{
	unsigned int reg = o->code + (o->acc ? 256u : 0), flags = 0;

	if (o->kind != OPD_VGPR)
		return scalar_shadow(w, o) != 0;
	for (unsigned int i = 0; i < o->size; i++)
		flags |= w->vflag[reg + i];
	return flags & (FLAG_UNDEF | FLAG_UNWRITTEN);
}

/* Whether what is known of the parts that SDWA takes says of each bit of the result whether it is defined. */
static bool exact_by_parts(const struct uop *u)
{
	unsigned int undef = u->sem->undef;

	return !u->sext && (undef == U_MOVE || undef == U_AND || undef == U_OR || undef == U_XOR ||
			    undef == U_ADD || undef == U_SHIFT);
}

static bool valu_before(struct wave *w, const struct uop *u)
{
	uint64_t exec = isa_exec(w);
	union val *r = &w->shadow_result;
	struct shadow s;
	unsigned int n = 0;
	bool any = false;

	for (unsigned int i = 0; i < 3; i++)
		any = any || has_undefined(w, &u->src[i]);
	if (!any && !(u->sem->flags & F_VCC)) {
		w->shadow_any = false;
		return true;
	}
	any = false;
	memset(r, 0, sizeof(*r));
	for (unsigned int i = 0; i < 3; i++) {
		s.any[i] = false;
		memset(&s.of[i], 0, sizeof(s.of[i]));
		if (!u->src[i].kind)
			continue;
		n = i + 1;
		s.any[i] = source_shadow(w, u, i, exec, &s.of[i]);
		if (s.any[i])
			part_of_source(u, i, &s.of[i]);
		any = any || s.any[i];
	}
	if (u->sem->flags & F_VCC && (w->su[106] | (uint64_t)w->su[107] << 32) & exec)
		return strict(w, u);
	w->shadow_any = any;
	if (!any)
		return true;
	if (u->dpp || (u->sdwa && !exact_by_parts(u))) { /* all or nothing, but by the parts above */
		all_or_none(r, u, n, &s);
		return true;
	}
	switch (u->sem->undef) {
	case U_MOVE:
		*r = s.of[0];
		break;
	case U_AND:
	case U_OR:
		bitwise(w, u, &s, r);
		break;
	case U_XOR:
		for (unsigned int k = 0; k < LANES; k++)
			r->w[k] = s.of[0].w[k] | s.of[1].w[k] | s.of[2].w[k];
		break;
	case U_ADD:
		if (u->dst.size == 2) {
			for (unsigned int k = 0; k < LANES; k++)
				for (unsigned int i = 0; i < n; i++)
					r->q[k] |= upwards(u->src[i].size == 2 ? s.of[i].q[k] : s.of[i].w[k]);
			break;
		}
		for (unsigned int k = 0; k < LANES; k++)
			r->w[k] = (uint32_t)upwards(s.of[0].w[k] | s.of[1].w[k] | s.of[2].w[k]);
		break;
	case U_SHIFT: /* extra: the sources that have to be defined, and are used as they are */
		for (unsigned int i = 0; i < 3; i++)
			if (s.any[i] && u->sem->extra >> i & 1) {
				all_or_none(r, u, n, &s);
				return true;
			}
		run_on(w, u, &s, u->sem->extra, exec, r);
		break;
	case U_RUN:
		run_on(w, u, &s, 0, exec, r);
		break;
	case U_SELECT: {
		uint64_t condition = isa_mask(w, &u->src[2]);

		for (unsigned int k = 0; k < LANES; k++)
			r->w[k] = s.of[2].w[k] ? ~0u : condition >> k & 1 ? s.of[1].w[k] : s.of[0].w[k];
		break;
	}
	case U_PACKED:
		for (unsigned int k = 0; k < LANES; k++)
			for (unsigned int i = 0; i < 3; i++) {
				uint32_t x = s.of[i].w[k];
				bool lo = u->op_sel >> i & 1, hi = u->op_sel_hi >> i & 1;

				r->w[k] |= (lo ? x >> 16 : x & 0xffff) ? 0xffff : 0;
				r->w[k] |= (hi ? x >> 16 : x & 0xffff) ? 0xffff0000 : 0;
			}
		break;
	default:
		all_or_none(r, u, n, &s);
	}
	return true;
}

/* Between lanes and scalars: v_readlane, v_readfirstlane, v_writelane; the lane number must be defined. */
static bool lane_before(struct wave *w, const struct uop *u)
{
	const struct opd *from = &u->src[0];
	uint64_t exec = isa_exec(w);
	unsigned int lane = exec ? (unsigned int)__builtin_ctzll(exec) : 0;

	if (u->src[1].kind) {
		if (scalar_shadow(w, &u->src[1])) {
			isa_fault(w, SIM_FAULT_REGISTER, 0, -1, "the lane number is undefined");
			return false;
		}
		lane = (unsigned int)isa_scalar(w, &u->src[1]) & (w->size - 1);
	}
	w->shadow_lane = lane;
	if (from->kind == OPD_VGPR) {
		uint32_t bits[LANES];

		vector_shadow(w, from->code, isa_all(w), bits);
		w->shadow_scalar = bits[lane];
	} else {
		w->shadow_scalar = scalar_shadow(w, from);
	}
	return true;
}

/* isa_shadow_before() - false after a fault. */
bool isa_shadow_before(struct wave *w, const struct uop *u)
{
	if (u->dpp)
		w->shadow_exec &= isa_dpp_lanes(w, u);
	w->shadow_any = false;
	w->shadow_scalar = 0;
	w->shadow_scc = false;
	switch (u->sem->undef) {
	case U_STRICT:
	case U_MEMORY:
		return u->sem->undef == U_MEMORY && u->enc >= SMEM ? isa_shadow_memory(w, u) : strict(w, u);
	case U_SAVEEXEC: {
		uint64_t bits = scalar_shadow(w, &u->src[0]);
		bool and = strstr(u->row->name, "_and_") || strstr(u->row->name, "_andn1_");

		if (bits & (and? isa_exec(w) : isa_all(w))) {
			isa_fault(w, SIM_FAULT_REGISTER, 0, -1, "exec gets undefined bits");
			return false;
		}
		return true;
	}
	case U_NONE:
		return true;
	case U_LANE:
		return lane_before(w, u);
	default:
		if (u->enc > SOPP)
			return valu_before(w, u);
		salu_before(w, u);
		return true;
	}
}

static bool all_active(const struct wave *w, uint64_t lanes)
{
	return lanes == isa_all(w);
}

/* isa_shadow_set() - the shadow of register @reg in @lanes; NULL: defined. */
void isa_shadow_set(struct wave *w, unsigned int reg, uint64_t lanes, const uint32_t *bits, uint32_t part)
{
	static const uint32_t none[LANES];
	uint32_t any = 0;

	if (all_active(w, lanes) && part == ~0u && !bits) {
		w->vflag[reg] &= (uint8_t)~(FLAG_UNDEF | FLAG_UNWRITTEN);
		return;
	}
	if (!(w->vflag[reg] & (FLAG_UNDEF | FLAG_UNWRITTEN))) {
		if (!bits)
			return;
		memset(w->vu[reg], 0, sizeof(w->vu[reg]));
	}
	expand(w, reg);
	if (!bits)
		bits = none;
	for (unsigned int k = 0; k < w->size; k += 32) {
		uint32_t *to = &w->vu[reg][k], half = (uint32_t)(lanes >> k);

		for (unsigned int i = 0; i < 32; i++) {
			uint32_t take = part & (0 - (half >> i & 1));

			to[i] = (to[i] & ~take) | (bits[k + i] & take);
			any |= to[i];
		}
	}
	w->vflag[reg] = (uint8_t)(any ? w->vflag[reg] | FLAG_UNDEF : w->vflag[reg] & ~FLAG_UNDEF);
}

void isa_shadow_set_scalar(struct wave *w, const struct opd *o, uint64_t bits)
{
	if (o->kind != OPD_SGPR)
		return;
	for (unsigned int i = 0; i < o->size; i++) {
		uint32_t part = (uint32_t)(bits >> 32 * (i & 1));

		w->su[o->code + i] = part;
		w->sflag[o->code + i] = (uint8_t)(part ? w->sflag[o->code + i] | FLAG_UNDEF
						       : w->sflag[o->code + i] & ~FLAG_UNDEF);
	}
	if (o->code + o->size > 126 && o->code <= 127 && w->su[126] | (w->size == 64 ? w->su[127] : 0))
		isa_fault(w, SIM_FAULT_REGISTER, 0, -1, "exec gets undefined bits");
}

/* The result is defined: what of the registers it does not reach stays as it was. */
static void all_defined(struct wave *w, const struct uop *u, uint64_t exec)
{
	const struct opd *o = &u->dst;
	unsigned int reg = o->code + (o->acc ? 256u : 0), shift;
	uint32_t part = o->size == 1 ? isa_part(u, &shift) : ~0u;

	if (part != ~0u && u->sdwa && u->unused != 2)
		part = ~0u;
	for (unsigned int i = 0; o->kind == OPD_VGPR && i < o->size; i++)
		isa_shadow_set(w, reg + i, exec, NULL, part);
	isa_shadow_set_scalar(w, o, 0);
	isa_shadow_set_scalar(w, &u->sdst, 0);
}

static void valu_after(struct wave *w, const struct uop *u, uint64_t exec)
{
	const union val *r = &w->shadow_result;
	const struct opd *o = &u->dst;
	uint32_t low[LANES], high[LANES], part;
	unsigned int shift;
	uint64_t mask = 0;

	if (!w->shadow_any) {
		all_defined(w, u, exec);
		return;
	}
	for (unsigned int k = 0; k < LANES; k++) {
		bool wide = o->size == 2 && !o->mask;

		low[k] = wide ? (uint32_t)r->q[k] : r->w[k];
		high[k] = wide ? (uint32_t)(r->q[k] >> 32) : 0;
		if (wide ? r->q[k] : r->w[k])
			mask |= 1ull << k;
	}
	mask &= exec;
	if (o->kind == OPD_VGPR) {
		unsigned int reg = o->code + (o->acc ? 256u : 0);

		part = o->size == 1 ? isa_part(u, &shift) : ~0u;
		for (unsigned int k = 0; part != ~0u && k < LANES; k++)
			if (u->sdwa && u->unused != 1 && exact_by_parts(u)) /* 1: the sign is repeated */
				low[k] = low[k] << shift & part;
			else
				low[k] = low[k] ? ~0u : 0;
		if (part != ~0u && u->sdwa && u->unused != 2)
			part = ~0u;
		isa_shadow_set(w, reg, exec, low, part);
		for (unsigned int i = 1; i < o->size; i++)
			isa_shadow_set(w, reg + i, exec, high, ~0u);
	} else if (o->kind == OPD_SGPR) {
		isa_shadow_set_scalar(w, o, mask);
	}
	if (u->sdst.kind)
		isa_shadow_set_scalar(w, &u->sdst, mask);
	if (u->sem->flags & F_EXEC && mask)
		isa_fault(w, SIM_FAULT_REGISTER, 0, __builtin_ctzll(mask), "exec gets undefined bits");
}

/* isa_shadow_after() - the registers that @u wrote; @w->shadow_exec was its exec mask. */
void isa_shadow_after(struct wave *w, const struct uop *u)
{
	uint64_t exec = w->shadow_exec;

	switch (u->sem->undef) {
	case U_LANE:
		if (u->dst.kind == OPD_VGPR) {
			uint32_t bits[LANES];

			for (unsigned int k = 0; k < LANES; k++)
				bits[k] = (uint32_t)w->shadow_scalar;
			isa_shadow_set(w, u->dst.code, 1ull << w->shadow_lane, bits, ~0u);
		} else {
			isa_shadow_set_scalar(w, &u->dst, w->shadow_scalar);
		}
		return;
	case U_STRICT:
	case U_NONE:
	case U_SAVEEXEC:
	case U_MEMORY:
		if (u->sem->flags & F_D_ANYWAY)
			exec = isa_all(w);
		for (unsigned int i = 0; i < u->vwrites; i++)
			for (unsigned int k = 0; k < u->vwrite[i].count; k++)
				isa_shadow_set(w, u->vwrite[i].first + k, exec, NULL, isa_memory_part(u));
		isa_shadow_set_scalar(w, &u->dst, 0);
		isa_shadow_set_scalar(w, &u->sdst, 0);
		return;
	default:
		if (u->enc > SOPP) {
			valu_after(w, u, exec);
			return;
		}
		isa_shadow_set_scalar(w, &u->dst, w->shadow_scalar);
		if (u->sem->flags & F_SCC_OUT)
			w->scc_undef = w->shadow_scc;
	}
}
