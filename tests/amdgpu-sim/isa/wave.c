/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wave.c - what a wave finds in its registers when it begins, by the dispatch's RSRC words.
 *
 * Everything that hardware does not set is undefined, and filled with a pattern that is unlikely to be right.
 * Field positions: COMPUTE_PGM_RSRC1 to 3, as LLVM's AMDGPU usage document and the Linux headers have them.
 */
#include <stdlib.h>
#include <string.h>
#include "wave.h"

#define POISON	    0xdeadbeefu
#define POISON_BYTE 0xa5

struct limits {
	uint32_t vgprs, sgprs, agprs, lds, user, waves;
};

static uint32_t field(uint32_t word, unsigned int high, unsigned int low)
{
	return word >> low & ((2u << (high - low)) - 1);
}

/* A wave that only stands for the dispatch, to report by. */
static bool refuse(struct sim_machine *m, const struct sim_dispatch *d, const char *why)
{
	struct wave w = { .m = m, .dispatch = d, .pc = d->code };

	isa_fault(&w, SIM_FAULT_DISPATCH, 0, -1, "%s", why);
	return false;
}

static bool limits(struct sim_machine *m, const struct sim_dispatch *d, struct limits *l)
{
	bool new = d->gfx == SIM_GFX1030;
	uint64_t threads = (uint64_t)d->group_size[0] * d->group_size[1] * d->group_size[2];
	uint32_t vfield = field(d->rsrc1, 5, 0);

	memset(l, 0, sizeof(*l));
	if (d->gfx > SIM_GFX1030)
		return refuse(m, d, "no such generation");
	if (d->wave != 64 && !(new && d->wave == 32))
		return refuse(m, d, "no waves of that size");
	if (!threads || threads > 1024 || d->group_size[0] > 1024 || d->group_size[1] > 1024 ||
	    d->group_size[2] > 1024)
		return refuse(m, d, "group size");
	if (d->code & 255)
		return refuse(m, d, "code is not aligned to 256 bytes");
	if (d->rsrc1 & (3u << 10 | 1u << 20 | 1u << 22 | 1u << 24 | 1u << 25))
		return refuse(m, d, "RSRC1: priority, privileged, debug, bulky or cdbg");
	if (!new && d->rsrc1 >> 27)
		return refuse(m, d, "RSRC1: a reserved bit");
	l->user = field(d->rsrc2, 5, 1);
	if (l->user > 16)
		return refuse(m, d, "RSRC2: more than 16 user registers");
	if (field(d->rsrc2, 12, 11) == 3 || d->rsrc2 >> 31)
		return refuse(m, d, "RSRC2: a reserved field");
	l->lds = field(d->rsrc2, 23, 15) * 512;
	if (l->lds > 65536)
		return refuse(m, d, "RSRC2: more LDS than there is");
	l->waves = (uint32_t)((threads + d->wave - 1) / d->wave);
	l->vgprs = (vfield + 1) * (d->gfx == SIM_GFX90A || (new && d->wave == 32) ? 8 : 4);
	l->agprs = d->gfx == SIM_GFX908 ? l->vgprs : 0;
	if (d->gfx == SIM_GFX90A) {
		uint32_t offset = (field(d->rsrc3, 5, 0) + 1) * 4;

		l->agprs = l->vgprs > offset ? l->vgprs - offset : 0;
		l->vgprs = l->vgprs < offset ? l->vgprs : offset;
	}
	if (l->vgprs > 256 || l->agprs > 256)
		return refuse(m, d, "RSRC1: more vector registers than there are");
	l->sgprs = new ? 106 : (field(d->rsrc1, 9, 6) / 2 + 1) * 16;
	if (l->sgprs > (new ? 106 : 112))
		return refuse(m, d, "RSRC1: more scalar registers than there are");
	if (d->rsrc2 & 1 && (!d->scratch || !d->scratch_wave_bytes || d->scratch_waves < l->waves))
		return refuse(m, d, "scratch is enabled but there is none, or not for one group");
	return true;
}

bool isa_residence_open(struct sim_machine *m, const struct sim_dispatch *d, struct residence *r)
{
	struct limits l;
	uint32_t(*v)[LANES];
	unsigned int all;

	memset(r, 0, sizeof(*r));
	if (!limits(m, d, &l))
		return false;
	r->places = m->options.seed ? m->options.compute_units : 2;
	r->waves_per_group = l.waves;
	all = r->places * l.waves;
	r->group = calloc(r->places, sizeof(*r->group));
	r->used = calloc(r->places, sizeof(*r->used));
	r->slot_count = d->rsrc2 & 1 ? d->scratch_waves : 0;
	r->slots = calloc(r->slot_count + 1, 1);
	/* only the registers that waves may have are ever touched */
	r->registers = malloc((size_t)all * 2 * VGPRS * sizeof(*v));
	v = r->registers;
	if (!r->group || !r->used || !r->slots || !v) {
		isa_residence_close(r);
		return refuse(m, d, "out of memory");
	}
	for (unsigned int i = 0; i < r->places; i++) {
		struct group *g = &r->group[i];

		g->waves = l.waves;
		g->wave = calloc(l.waves, sizeof(*g->wave));
		g->lds_size = l.lds;
		g->lds = malloc(l.lds + 1);
		g->lds_shadow = malloc(l.lds + 1);
		if (!g->wave || !g->lds || !g->lds_shadow) {
			isa_residence_close(r);
			return refuse(m, d, "out of memory");
		}
		for (uint32_t k = 0; k < l.waves; k++, v += 2 * VGPRS) {
			g->wave[k].v = v;
			g->wave[k].vu = v + VGPRS;
		}
	}
	return true;
}

void isa_residence_close(struct residence *r)
{
	for (unsigned int i = 0; r->group && i < r->places; i++) {
		free(r->group[i].wave);
		free(r->group[i].lds);
		free(r->group[i].lds_shadow);
	}
	free(r->group);
	free(r->used);
	free(r->slots);
	free(r->registers);
}

static void set_sgpr(struct wave *w, uint32_t at, uint32_t value)
{
	w->s[at] = value;
	w->su[at] = 0;
	w->sflag[at] = 0;
}

static void set_vgpr(struct wave *w, uint32_t at, const uint32_t value[LANES])
{
	memcpy(w->v[at], value, sizeof(w->v[at]));
	w->vflag[at] = 0;
}

static void scalars(struct wave *w, const struct limits *l)
{
	const struct sim_dispatch *d = w->dispatch;
	uint32_t at = 0;

	for (uint32_t i = 0; i < 128; i++) {
		w->s[i] = POISON;
		w->su[i] = ~0u;
		w->sflag[i] = FLAG_UNDEF;
	}
	for (; at < l->user; at++)
		set_sgpr(w, at, d->user_data[at]);
	for (unsigned int i = 0; i < 3; i++)
		if (d->rsrc2 >> (7 + i) & 1)
			set_sgpr(w, at++, w->group->id[i]);
	if (d->rsrc2 >> 10 & 1) /* first wave, number in the group, waves of it */
		set_sgpr(w, at++,
			 (uint32_t)(w == w->group->wave) << 31 | (uint32_t)(w - w->group->wave) << 6 |
				 l->waves);
	if (d->rsrc2 & 1)
		set_sgpr(w, at++, w->slot * d->scratch_wave_bytes);
}

static void vectors(struct wave *w, const struct limits *l, uint32_t first)
{
	const struct sim_dispatch *d = w->dispatch;
	uint32_t x = d->group_size[0], y = d->group_size[1], id[4][LANES] = { 0 };
	uint64_t threads = (uint64_t)x * y * d->group_size[2], exec = 0;
	unsigned int ids = field(d->rsrc2, 12, 11) + 1;

	for (uint32_t i = 0; i < l->vgprs; i++)
		for (unsigned int k = 0; k < LANES; k++)
			w->v[i][k] = POISON + i * 0x10001u;
	for (uint32_t i = 0; i < VGPRS; i++)
		w->vflag[i] = FLAG_UNWRITTEN;
	for (uint32_t i = 0; i < w->size; i++) {
		uint32_t at = first + i;

		id[0][i] = at % x;
		id[1][i] = at / x % y;
		id[2][i] = at / x / y;
		id[3][i] = id[0][i] | id[1][i] << 10 | id[2][i] << 20;
		if (at < threads)
			exec |= 1ull << i;
	}
	for (unsigned int i = 0; i < ids && d->gfx != SIM_GFX90A; i++)
		set_vgpr(w, i, id[i]);
	if (d->gfx == SIM_GFX90A)
		set_vgpr(w, 0, id[3]);
	set_sgpr(w, 126, (uint32_t)exec);
	set_sgpr(w, 127, w->size == 64 ? (uint32_t)(exec >> 32) : 0);
}

static bool take_slot(struct residence *r, uint32_t *slot)
{
	for (uint32_t i = 0; i < r->slot_count; i++) {
		if (r->slots[i])
			continue;
		r->slots[i] = true;
		*slot = i;
		return true;
	}
	return false;
}

bool isa_group_start(struct sim_machine *m, const struct sim_dispatch *d, struct residence *r,
		     unsigned int place, uint64_t at)
{
	struct group *g = &r->group[place];
	struct limits l;
	uint32_t slots[32];

	if (!limits(m, d, &l))
		return false;
	for (uint32_t i = 0; i < l.waves && r->slot_count; i++) {
		if (!take_slot(r, &slots[i])) {
			while (i--)
				r->slots[slots[i]] = false;
			return false;
		}
	}
	g->id[0] = (uint32_t)(at % d->groups[0]);
	g->id[1] = (uint32_t)(at / d->groups[0] % d->groups[1]);
	g->id[2] = (uint32_t)(at / d->groups[0] / d->groups[1]);
	g->cu = (unsigned int)(at % m->options.compute_units);
	g->ended = g->waiting = 0;
	memset(g->lds, POISON_BYTE, l.lds);
	memset(g->lds_shadow, 0xff, l.lds);
	for (uint32_t i = 0; i < l.waves; i++) {
		struct wave *w = &g->wave[i];
		uint32_t(*v)[LANES] = w->v, (*vu)[LANES] = w->vu;

		memset(w, 0, sizeof(*w));
		w->v = v;
		w->vu = vu;
		w->m = m;
		w->dispatch = d;
		w->group = g;
		w->size = d->wave;
		w->number = (uint32_t)(at * l.waves + i);
		w->pc = d->code;
		w->vgprs = l.vgprs;
		w->agprs = l.agprs;
		w->sgprs = l.sgprs;
		w->slot = r->slot_count ? slots[i] : 0;
		w->mode = field(d->rsrc1, 19, 12) | (d->rsrc1 >> 21 & 1) << 8 | (d->rsrc1 >> 23 & 1) << 9;
		w->scc_undef = 1;
		w->states = 100;
		scalars(w, &l);
		vectors(w, &l, i * d->wave);
	}
	return true;
}

void isa_group_end(struct residence *r, unsigned int place)
{
	struct group *g = &r->group[place];

	for (uint32_t i = 0; i < g->waves && r->slot_count; i++)
		r->slots[g->wave[i].slot] = false;
}
