/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * machine.c - a dispatch from its first group to its last, and one instruction after the other.
 *
 * Decoded instructions are kept by their address until sim_machine_forget(); each knows the one behind it, so
 * that straight code needs no look-up. A few groups are resident at a time, as on a card. Without a seed a wave
 * runs until it ends or waits at a barrier (or for a long slice, for waves that spin on each other); with one, a
 * wave is drawn for every instruction.
 *
 * The first fault is kept and ends the run: functions below go on to their end after isa_fault(), and what they
 * compute then is not looked at.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"
#include "wave.h"

#define CHUNK	 512
#define SLICE	 100000
#define NO_GROUP 0xffffffffu

static const char *const kinds[] = { "none", "memory", "fetch",	  "opcode",   "register",
				     "LDS",  "hazard", "barrier", "dispatch", "watchdog" };

void isa_fault(struct wave *w, enum sim_fault_kind kind, uint64_t va, int lane, const char *format, ...)
{
	struct sim_machine *m = w->m;
	struct sim_fault *f = m->fault;
	char reason[120], text[96] = "";
	va_list ap;

	if (m->faulted)
		return;
	m->faulted = true;
	va_start(ap, format);
	vsnprintf(reason, sizeof(reason), format, ap);
	va_end(ap);
	if (w->at && kind != SIM_FAULT_FETCH && kind != SIM_FAULT_OPCODE)
		isa_print(w->at, text, sizeof(text));
	memset(f, 0, sizeof(*f));
	f->kind = kind;
	f->pc = w->at && kind != SIM_FAULT_FETCH && kind != SIM_FAULT_OPCODE ? w->at->pc : w->pc;
	f->va = va;
	f->wave = w->number;
	f->lane = lane < 0 ? 0 : (uint32_t)lane;
	if (w->group)
		memcpy(f->group, w->group->id, sizeof(f->group));
	snprintf(f->text, sizeof(f->text), "%s: %.60s%s%.90s", kinds[kind], text, *text ? ": " : "", reason);
}

struct sim_machine *sim_machine_new(const struct sim_memory *memory, const struct sim_options *options)
{
	struct sim_machine *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->memory = *memory;
	if (options)
		m->options = *options;
	if (!m->options.compute_units)
		m->options.compute_units = 4;
	return m;
}

void sim_machine_forget(struct sim_machine *m)
{
	for (size_t i = 0; i < m->chunk_count; i++)
		free(m->chunks[i]);
	free(m->chunks);
	free(m->table);
	m->chunks = NULL;
	m->table = NULL;
	m->chunk = NULL;
	m->chunk_count = m->chunk_used = m->table_size = m->table_used = 0;
}

void sim_machine_free(struct sim_machine *m)
{
	if (!m)
		return;
	sim_machine_forget(m);
	free(m);
}

static size_t slot_of(const struct sim_machine *m, uint64_t pc)
{
	return (size_t)((pc >> 2) * 0x9e3779b97f4a7c15ull >> 20) & (m->table_size - 1);
}

static bool grow(struct sim_machine *m)
{
	struct uop **old = m->table;
	size_t old_size = m->table_size;

	m->table_size = old_size ? old_size * 2 : 1024;
	m->table = calloc(m->table_size, sizeof(*m->table));
	if (!m->table) {
		m->table = old;
		m->table_size = old_size;
		return false;
	}
	for (size_t i = 0; i < old_size; i++) {
		size_t at;

		if (!old[i])
			continue;
		for (at = slot_of(m, old[i]->pc); m->table[at]; at = (at + 1) & (m->table_size - 1))
			;
		m->table[at] = old[i];
	}
	free(old);
	return true;
}

static struct uop *room_for_one(struct sim_machine *m)
{
	if (!m->chunk || m->chunk_used == CHUNK) {
		void **chunks = realloc(m->chunks, (m->chunk_count + 1) * sizeof(*chunks));

		if (!chunks)
			return NULL;
		m->chunks = chunks;
		m->chunk = malloc(CHUNK * sizeof(*m->chunk));
		if (!m->chunk)
			return NULL;
		m->chunks[m->chunk_count++] = m->chunk;
		m->chunk_used = 0;
	}
	return &m->chunk[m->chunk_used++];
}

/* The instruction at @pc, decoded now if it was not before; NULL after a fault. */
static struct uop *fetch(struct wave *w, uint64_t pc)
{
	struct sim_machine *m = w->m;
	uint32_t words[3];
	size_t have = 0, at;
	const char *why = "";
	struct uop *u;

	if (m->table_used * 2 >= m->table_size && !grow(m))
		return NULL;
	for (at = slot_of(m, pc); m->table[at]; at = (at + 1) & (m->table_size - 1))
		if (m->table[at]->pc == pc)
			return m->table[at];
	w->pc = pc;
	if (pc & 3) {
		isa_fault(w, SIM_FAULT_FETCH, pc, -1, "code at an odd address");
		return NULL;
	}
	while (have < 3 && !m->memory.read(m->memory.opaque, w->group->cu, pc + 4 * have, &words[have], 4,
					   SIM_READ | SIM_EXECUTE))
		have++;
	if (!have) {
		isa_fault(w, SIM_FAULT_FETCH, pc, -1, "no code at 0x%llx", (unsigned long long)pc);
		return NULL;
	}
	u = room_for_one(m);
	if (!u)
		return NULL;
	if (!isa_decode(w->dispatch->gfx, w->size, words, have, u, &why)) {
		m->chunk_used--;
		isa_fault(w, SIM_FAULT_OPCODE, pc, -1, "0x%08x 0x%08x: %s", words[0], have > 1 ? words[1] : 0,
			  why);
		return NULL;
	}
	why = isa_bind(u);
	if (why) {
		const char *name = u->row->name;

		m->chunk_used--;
		isa_fault(w, SIM_FAULT_OPCODE, pc, -1, "%s: %s", name, why);
		return NULL;
	}
	u->pc = pc;
	u->next = u->target = NULL;
	m->table[at] = u;
	m->table_used++;
	return u;
}

/* isa_jump() - the next instruction of @w is at @pc. */
void isa_jump(struct wave *w, uint64_t pc)
{
	w->pc = pc;
}

/* isa_clock() - nanoseconds of the card's clock; of a clock that the machine has itself, where nobody has one for it. */
uint64_t isa_clock(const struct sim_machine *m)
{
	return m->memory.clock ? m->memory.clock(m->memory.opaque, m->instructions) : m->instructions * 4;
}

static uint64_t draw(struct sim_machine *m)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return m->random;
}

static void count(struct sim_machine *m, const struct wave *w, const struct uop *u)
{
	((uint64_t *)&m->counts)[u->counter]++;
	if (u->enc >= VOP1 && u->enc != SMEM)
		m->counts.lanes += (uint64_t)__builtin_popcountll(isa_exec(w));
}

static void trace(struct sim_machine *m, struct wave *w, const struct uop *u)
{
	char text[512];
	size_t at;
	unsigned int lane = m->options.trace_lane % w->size;

	isa_print(u, text, 200);
	at = strlen(text);
	if (u->vreads || u->sreads)
		at += (size_t)snprintf(text + at, sizeof(text) - at, " ;");
	for (unsigned int i = 0; i < u->vreads; i++)
		for (unsigned int k = 0; k < u->vread[i].count && at < 400; k++)
			at += (size_t)snprintf(text + at, sizeof(text) - at, " v%u=%08x",
					       u->vread[i].first + k, w->v[u->vread[i].first + k][lane]);
	for (unsigned int i = 0; i < u->sreads; i++)
		for (unsigned int k = 0; k < u->sread[i].count && at < 400; k++)
			at += (size_t)snprintf(text + at, sizeof(text) - at, " s%u=%08x",
					       u->sread[i].first + k, w->s[u->sread[i].first + k]);
	m->options.trace(m->options.trace_opaque, w->number, u->pc, text, isa_exec(w));
}

static unsigned int flags_of_spans(const uint8_t *flag, const struct span *spans, unsigned int count)
{
	unsigned int flags = 0;

	for (unsigned int i = 0; i < count; i++)
		for (unsigned int k = 0; k < spans[i].count; k++)
			flags |= flag[spans[i].first + k];
	return flags;
}

/* Flags of all registers that @u touches. */
static unsigned int flags_of(const struct wave *w, const struct uop *u)
{
	unsigned int flags = w->scc_undef && u->sem->flags & F_SCC_IN ? FLAG_UNDEF : 0;

	if (u->regs > USED)
		return flags | flags_of_spans(w->vflag, u->vread, u->vreads) |
		       flags_of_spans(w->vflag, u->vwrite, u->vwrites) |
		       flags_of_spans(w->sflag, u->sread, u->sreads) |
		       flags_of_spans(w->sflag, u->swrite, u->swrites);
	for (unsigned int i = 0; i < u->regs; i++)
		flags |= w->flag[u->reg[i]];
	return flags;
}

/* @u with the vector registers that the index in m0 moves: sources 0 to 2 and the destination by its bits 12 to 15. */
static const struct uop *indexed(struct wave *w, const struct uop *u, struct uop *moved)
{
	uint32_t index = w->s[124] & 0xff, which = w->s[124] >> 12 & 15;

	if (w->su[124] & 0xf0ff) {
		isa_fault(w, SIM_FAULT_REGISTER, 0, -1, "the index is undefined");
		return u;
	}
	*moved = *u;
	for (unsigned int i = 0; i < 3; i++)
		if (which >> i & 1 && moved->src[i].kind == OPD_VGPR)
			moved->src[i].code = (uint16_t)(moved->src[i].code + index);
	if (which >> 3 & 1 && moved->dst.kind == OPD_VGPR)
		moved->dst.code = (uint16_t)(moved->dst.code + index);
	isa_spans(moved);
	return moved;
}

/* Checks, execution and what follows from it; false after a fault. */
static bool execute(struct wave *w, const struct uop *u)
{
	struct sim_machine *m = w->m;
	unsigned int flags;
	bool shadow = false;

	if (u->vtop > w->vgprs || u->stop > w->sgprs) {
		isa_fault(w, SIM_FAULT_REGISTER, 0, -1, "a register beyond the %u vector and %u scalar ones",
			  w->vgprs, w->sgprs);
		return false;
	}
	if (m->options.trace)
		trace(m, w, u);
	flags = flags_of(w, u);
	if (flags & FLAG_PENDING && !isa_pending_check(w, u))
		return false;
	if (!isa_hazard_check(w, u))
		return false;
	if (flags & (FLAG_UNDEF | FLAG_UNWRITTEN)) {
		shadow = true;
		w->shadow_exec = isa_exec(w);
		if (!isa_shadow_before(w, u))
			return false;
	}
	count(m, w, u);
	u->run(w, u);
	if (shadow)
		isa_shadow_after(w, u);
	isa_hazard_note(w, u);
	return !m->faulted;
}

/* One instruction of @w. @prev: the one that ran before it, to know what follows it. */
static struct uop *step(struct wave *w, struct uop *prev)
{
	struct sim_machine *m = w->m;
	uint64_t pc = w->pc;
	const struct uop *run;
	struct uop *u = NULL, moved;

	if (prev)
		u = prev->next && prev->next->pc == pc	     ? prev->next
		    : prev->target && prev->target->pc == pc ? prev->target
							     : NULL;
	if (!u) {
		u = fetch(w, pc);
		if (!u) {
			if (!m->faulted)
				isa_fault(w, SIM_FAULT_FETCH, pc, -1, "out of memory");
			return NULL;
		}
		if (prev && pc == prev->pc + prev->size)
			prev->next = u;
		else if (prev)
			prev->target = u;
	}
	w->at = u;
	w->pc = pc + u->size;
	m->instructions++;
	if (w->gpr_idx && u->enc >= VOP1 && u->enc <= VOP2_DPP) {
		run = indexed(w, u, &moved);
		if (m->faulted)
			return NULL;
	} else {
		run = u;
	}
	if (!execute(w, run))
		return NULL;
	return m->faulted ? NULL : u;
}

static bool over_limit(struct wave *w)
{
	struct sim_machine *m = w->m;

	if (m->options.max_instructions && m->instructions >= m->options.max_instructions) {
		isa_fault(w, SIM_FAULT_WATCHDOG, 0, -1, "more than %llu instructions",
			  (unsigned long long)m->options.max_instructions);
		return true;
	}
	if (m->instructions & 63)
		return false;
	isa_clock(m);
	if (!m->options.stop || !*m->options.stop)
		return false;
	isa_fault(w, SIM_FAULT_WATCHDOG, 0, -1, "stopped");
	return true;
}

/* Waves at a barrier go on once all are there; one that has ended never comes. */
static void release_barrier(struct group *g)
{
	struct wave *waiting = NULL;

	if (!g->waiting || g->waiting + g->ended < g->waves)
		return;
	for (uint32_t i = 0; i < g->waves; i++) {
		waiting = g->wave[i].at_barrier ? &g->wave[i] : waiting;
		g->wave[i].at_barrier = false;
	}
	if (g->ended)
		isa_fault(waiting, SIM_FAULT_BARRIER, 0, -1, "%u of %u waves ended without it", g->ended,
			  g->waves);
	g->waiting = 0;
}

static void run_slice(struct wave *w, unsigned int instructions)
{
	while (instructions-- && !w->ended && !w->at_barrier && !w->m->faulted && !over_limit(w))
		w->last = step(w, w->last);
	if (w->ended || w->at_barrier) {
		if (w->ended)
			w->group->ended++;
		else
			w->group->waiting++;
		release_barrier(w->group);
	}
}

static bool can_run(const struct wave *w)
{
	return !w->ended && !w->at_barrier;
}

/* Of @live places that are used, one at random; 0 where none is. */
static unsigned int one_that_lives(struct sim_machine *m, const struct residence *r, unsigned int live)
{
	unsigned int left = live ? (unsigned int)(draw(m) % live) : 0, i = 0;

	while (live && (!r->used[i] || left--))
		i++;
	return i;
}

static void run_groups(struct sim_machine *m, const struct sim_dispatch *d, struct residence *r)
{
	uint64_t total = (uint64_t)d->groups[0] * d->groups[1] * d->groups[2], next = 0;
	unsigned int live = 0;

	while (!m->faulted) {
		bool progress = false;

		for (unsigned int i = 0; i < r->places && next < total; i++) {
			if (r->used[i] || !isa_group_start(m, d, r, i, next))
				continue;
			r->used[i] = true;
			next++;
			live++;
			if (!m->options.seed)
				break;
		}
		if (!live)
			return;
		for (unsigned int i = 0; i < r->places && !m->faulted; i++) {
			struct group *g = &r->group[i];

			if (m->options.seed)
				g = &r->group[one_that_lives(m, r, live)];
			if (!live)
				break;
			if (!r->used[g - r->group])
				continue;
			for (uint32_t k = 0; k < g->waves && !m->faulted; k++) {
				struct wave *w = &g->wave[m->options.seed ? draw(m) % g->waves : k];

				if (!can_run(w))
					continue;
				run_slice(w, m->options.seed ? 1 + (draw(m) & 3) : SLICE);
				progress = true;
			}
			if (g->ended == g->waves) {
				isa_group_end(r, (unsigned int)(g - r->group));
				r->used[g - r->group] = false;
				live--;
				progress = true;
			}
		}
		/* with a seed, what was drawn may all have been waiting */
		if (!progress && !m->options.seed && live) {
			for (unsigned int i = 0; i < r->places; i++)
				if (r->used[i])
					isa_fault(&r->group[i].wave[0], SIM_FAULT_BARRIER, 0, -1,
						  "nothing can run");
		}
	}
}

bool sim_run(struct sim_machine *m, const struct sim_dispatch *d, struct sim_counts *counts,
	     struct sim_fault *fault)
{
	struct sim_fault none;
	struct residence r;

	m->fault = fault ? fault : &none;
	memset(m->fault, 0, sizeof(*m->fault));
	m->faulted = false;
	m->instructions = 0;
	m->random = m->options.seed * 0x9e3779b97f4a7c15ull | 1;
	memset(&m->counts, 0, sizeof(m->counts));
	if (m->table && (m->gfx != d->gfx || m->wave != d->wave))
		sim_machine_forget(m);
	m->gfx = (uint8_t)d->gfx;
	m->wave = (uint8_t)d->wave;
	if (isa_residence_open(m, d, &r)) {
		run_groups(m, d, &r);
		isa_residence_close(&r);
	}
	isa_clock(m);
	if (counts) {
		uint64_t *to = (uint64_t *)counts;
		const uint64_t *from = (const uint64_t *)&m->counts;

		for (size_t i = 0; i < sizeof(*counts) / sizeof(uint64_t); i++)
			to[i] += from[i];
	}
	return !m->faulted;
}
