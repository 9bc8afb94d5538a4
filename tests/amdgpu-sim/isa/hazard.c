/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hazard.c - results that have not arrived, and instructions that need others between them.
 *
 * Memory is read when an instruction is issued, but its destination counts as pending until an s_waitcnt that
 * covers it; touching it before is a fault. Counters go down in order, but for scalar loads, which come back in
 * any order, and for FLAT on gfx9, which may come from two places: those are done only at zero.
 *
 * The second table is of the manual wait states of gfx9 ("Manually Inserted Wait States" in AMD's instruction set
 * documents); gfx10.3 has none of them.
 */
#include <string.h>
#include "internal.h"

static bool vector_memory(const struct uop *u)
{
	return u->enc >= FLAT && u->enc <= MUBUF;
}

static void mark(struct wave *w, const struct outstanding *o, int by)
{
	for (unsigned int i = 0; i < o->count; i++) {
		uint8_t *pend = o->vgpr ? &w->vpend[o->first + i] : &w->spend[o->first + i];
		uint8_t *flag = o->vgpr ? &w->vflag[o->first + i] : &w->sflag[o->first + i];

		*pend = (uint8_t)(*pend + by);
		*flag = (uint8_t)(*pend ? *flag | FLAG_PENDING : *flag & ~FLAG_PENDING);
	}
}

static void retire(struct wave *w, struct queue *q)
{
	mark(w, &q->of[q->tail++ & 63], -1);
}

/* isa_issue() - a memory instruction of @w counts in @counter until registers @first... have arrived. */
void isa_issue(struct wave *w, enum counter counter, enum source by, bool vgpr, uint32_t first,
	       uint32_t count)
{
	struct queue *q = &w->queue[counter];
	struct outstanding *o;

	if (q->head - q->tail == 63) /* hardware stops issuing at the counter's end */
		retire(w, q);
	o = &q->of[q->head++ & 63];
	*o = (struct outstanding){
		.by = (uint8_t)by, .vgpr = vgpr, .count = (uint8_t)count, .first = (uint16_t)first
	};
	mark(w, o, 1);
}

/* isa_wait() - s_waitcnt: at most @left are outstanding. */
void isa_wait(struct wave *w, enum counter counter, uint32_t left)
{
	struct queue *q = &w->queue[counter];
	bool ordered = true;

	for (uint32_t i = q->tail; i != q->head; i++) {
		unsigned int by = q->of[i & 63].by;

		if (by == BY_SMEM || by == BY_MESSAGE || (by == BY_FLAT && w->dispatch->gfx != SIM_GFX1030))
			ordered = false;
	}
	if (left && !ordered)
		return;
	while (q->head - q->tail > left)
		retire(w, q);
}

static bool covers(const struct outstanding *o, bool vgpr, unsigned int reg)
{
	return o->vgpr == vgpr && reg >= o->first && reg < o->first + o->count;
}

/* Loads come back in order, so that one may follow another into the same register. */
static bool in_order(const struct wave *w, const struct uop *u, unsigned int reg)
{
	for (unsigned int c = 0; c < COUNTERS; c++)
		for (uint32_t i = w->queue[c].tail; i != w->queue[c].head; i++)
			if (covers(&w->queue[c].of[i & 63], true, reg) &&
			    !(w->queue[c].of[i & 63].by == BY_VMEM && vector_memory(u) &&
			      u->enc > FLAT_RTN) &&
			    !(w->queue[c].of[i & 63].by == BY_LDS && u->enc == DS))
				return false;
	return true;
}

/* isa_pending_check() - false after a fault: @u touches a register whose value has not arrived. */
bool isa_pending_check(struct wave *w, const struct uop *u)
{
	for (unsigned int i = 0; i < u->vreads + u->vwrites; i++) {
		const struct span *s = i < u->vreads ? &u->vread[i] : &u->vwrite[i - u->vreads];

		for (unsigned int k = s->first; k < (unsigned int)s->first + s->count; k++)
			if (w->vpend[k] && !(i >= u->vreads && in_order(w, u, k))) {
				isa_fault(w, SIM_FAULT_HAZARD, 0, -1, "v%u has not arrived", k);
				return false;
			}
	}
	for (unsigned int i = 0; i < u->sreads + u->swrites; i++) {
		const struct span *s = i < u->sreads ? &u->sread[i] : &u->swrite[i - u->sreads];

		for (unsigned int k = s->first; k < (unsigned int)s->first + s->count; k++)
			if (w->spend[k]) {
				isa_fault(w, SIM_FAULT_HAZARD, 0, -1, "s%u has not arrived", k);
				return false;
			}
	}
	return true;
}

static bool too_early(struct wave *w, uint64_t since, unsigned int need, const char *what)
{
	uint64_t gap = w->states - since - 1;

	if (gap >= need)
		return false;
	isa_fault(w, SIM_FAULT_HAZARD, 0, -1, "%s: %u wait states, needs %u", what, (unsigned int)gap, need);
	return true;
}

static bool scalar_by_valu(struct wave *w, const struct opd *o, unsigned int need, const char *what)
{
	if (o->kind != OPD_SGPR)
		return false;
	for (unsigned int i = 0; i < o->size; i++)
		if (too_early(w, w->sgpr_by_valu[o->code + i], need, what))
			return true;
	return false;
}

static bool dpp_too_early(struct wave *w, const struct uop *u)
{
	if (too_early(w, w->exec_by_valu, 5, "VALU wrote exec, then DPP"))
		return true;
	for (unsigned int i = 0; i < 2; i++)
		if (u->src[0].kind == OPD_VGPR && w->vgpr_written[i] == u->src[0].code + 1 &&
		    too_early(w, w->vgpr_by_valu[i], 2, "VALU wrote what DPP reads"))
			return true;
	return false;
}

static bool overwrites_store_data(struct wave *w, const struct uop *u)
{
	const struct span *s = &w->store_data;

	for (unsigned int i = 0; i < u->vwrites && s->count; i++)
		if (u->vwrite[i].first < s->first + s->count &&
		    s->first < u->vwrite[i].first + u->vwrite[i].count &&
		    too_early(w, w->store_at, 1, "data of a wide store is overwritten"))
			return true;
	return false;
}

/* isa_hazard_check() - false after a fault: too few independent instructions before @u. */
bool isa_hazard_check(struct wave *w, const struct uop *u)
{
	if (w->dispatch->gfx == SIM_GFX1030)
		return true;
	if (vector_memory(u)) {
		for (unsigned int i = 3; i < 5; i++)
			if (scalar_by_valu(w, &u->src[i], 5, "VALU wrote a scalar register, then VMEM"))
				return false;
		return true;
	}
	if (u->sem->class == C_VALU) {
		if (u->dpp && dpp_too_early(w, u))
			return false;
		if (overwrites_store_data(w, u))
			return false;
		if (u->sem->undef == U_LANE && scalar_by_valu(w, &u->src[1], 4, "VALU wrote a lane select"))
			return false;
		if (u->sem->flags & F_VCC && w->states - w->sgpr_by_valu[106] <= 4) /* v_div_fmas */
			return !too_early(w, w->sgpr_by_valu[106], 4, "VALU wrote vcc, then v_div_fmas");
		return true;
	}
	if (u->enc == SOPK && strstr(u->row->name, "etreg") && w->setreg_what == (u->imm & 63u))
		return !too_early(w, w->setreg_at, 2, "s_setreg, then the same register");
	if (u->sem->class == C_MESSAGE || u->sem->flags & F_RELATIVE)
		return !too_early(w, w->m0_by_salu, 1, "SALU wrote m0");
	return true;
}

/* isa_hazard_note() - @u was issued. */
void isa_hazard_note(struct wave *w, const struct uop *u)
{
	uint64_t now = w->states++;

	if (w->dispatch->gfx == SIM_GFX1030)
		return;
	if (u->sem->class == C_VALU) {
		for (unsigned int i = 0; i < u->swrites; i++)
			for (unsigned int k = 0; k < u->swrite[i].count; k++)
				w->sgpr_by_valu[u->swrite[i].first + k] = now;
		if (u->sem->flags & F_EXEC)
			w->exec_by_valu = now;
		if (u->vwrites) {
			w->vgpr_by_valu[now & 1] = now;
			w->vgpr_written[now & 1] = (uint16_t)(u->vwrite[0].first + 1);
		}
	} else if (vector_memory(u)) {
		const struct opd *data = &u->src[1];

		if (u->sem->flags & F_STORE && data->kind == OPD_VGPR && data->size > 2 &&
		    !(u->enc == MUBUF && u->src[4].kind == OPD_SGPR)) {
			w->store_at = now;
			w->store_data = (struct span){ .first = data->code, .count = data->size };
		}
	} else if (u->enc == SOPP && u->row->op == 0) {
		w->states += u->imm & 15;
	} else if (u->enc == SOPK && strstr(u->row->name, "s_setreg")) {
		w->setreg_at = now;
		w->setreg_what = u->imm & 63;
	} else if (u->sem->class == C_SALU && u->dst.kind == OPD_SGPR && u->dst.code == 124) {
		w->m0_by_salu = now;
	}
}
