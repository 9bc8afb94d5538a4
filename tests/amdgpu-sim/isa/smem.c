/* SPDX-License-Identifier: BSD-3-Clause */
/* smem.c - scalar memory: loads through the scalar cache, its invalidation, and the clocks. */
#include <string.h>
#include "internal.h"

static bool address(struct wave *w, const struct uop *u, uint64_t *va)
{
	const uint32_t *base = &w->s[u->src[3].code];
	uint64_t offset = (uint64_t)(int64_t)u->offset;

	if (u->src[4].kind)
		offset += (uint32_t)isa_scalar(w, &u->src[4]);
	if (u->src[3].size == 2) {
		*va = ((base[0] | (uint64_t)base[1] << 32) + offset) & ~3ull;
		return true;
	}
	/* a buffer: stride 0 counts bytes */
	*va = ((base[0] | (uint64_t)(base[1] & 0xffff) << 32) + offset) & ~3ull;
	if (offset + u->sem->bytes >
	    (uint64_t)base[2] * (base[1] >> 16 & 0x3fff ? base[1] >> 16 & 0x3fff : 1)) {
		isa_fault(w, SIM_FAULT_MEMORY, *va, -1, "outside of the buffer");
		return false;
	}
	return true;
}

static void load(struct wave *w, const struct uop *u)
{
	const struct sim_memory *m = &w->m->memory;
	uint32_t flags = SIM_READ | SIM_SCALAR | (u->glc ? SIM_GLC : 0) | (u->dlc ? SIM_DLC : 0), data[16];
	uint64_t va;

	if (!address(w, u, &va))
		return;
	if (u->dst.code + u->dst.size > 108) {
		isa_fault(w, SIM_FAULT_REGISTER, 0, -1, "a load into registers beyond vcc");
		return;
	}
	if (m->read(m->opaque, w->group->cu, va, data, 4u * u->dst.size, flags)) {
		isa_fault(w, SIM_FAULT_MEMORY, va, -1, "scalar read of %u bytes at 0x%llx", 4u * u->dst.size,
			  (unsigned long long)va);
		w->m->fault->flags = flags;
		return;
	}
	memcpy(&w->s[u->dst.code], data, 4u * u->dst.size);
	isa_issue(w, CNT_LGKM, BY_SMEM, false, u->dst.code, u->dst.size);
}

static void clock(struct wave *w, const struct uop *u)
{
	/* s_memrealtime counts 100 MHz, s_memtime the shader's cycles. */
	isa_set_scalar(w, &u->dst, u->sem->kind ? isa_clock(w->m) / 10 : isa_clock(w->m));
	isa_issue(w, CNT_LGKM, BY_SMEM, false, u->dst.code, 2);
}

static void cache(struct wave *w, const struct uop *u)
{
	const struct sim_memory *m = &w->m->memory;

	if (m->cache && u->sem->kind != 255)
		m->cache(m->opaque, w->group->cu, u->sem->kind);
	isa_issue(w, CNT_LGKM, BY_SMEM, false, 0, 0);
}

#define LOAD(name, dwords)                                                                           \
	{ "s_load_" name, load, NULL, NULL, NULL, 0, { 0 }, U_MEMORY, C_SMEM, 0, 0, 4 * dwords, 0 }, \
		{ "s_buffer_load_" name,                                                             \
		  load,                                                                              \
		  NULL,                                                                              \
		  NULL,                                                                              \
		  NULL,                                                                              \
		  0,                                                                                 \
		  { 0 },                                                                             \
		  U_MEMORY,                                                                          \
		  C_SMEM,                                                                            \
		  0,                                                                                 \
		  0,                                                                                 \
		  4 * dwords,                                                                        \
		  0 }
#define OTHER(name, run, kind) { name, run, NULL, NULL, NULL, 0, { 0 }, U_NONE, C_SMEM, 0, kind, 0, 0 }

const struct sem isa_sem_smem[] = {
	LOAD("dword", 1),
	LOAD("dwordx2", 2),
	LOAD("dwordx4", 4),
	LOAD("dwordx8", 8),
	LOAD("dwordx16", 16),
	OTHER("s_memtime", clock, 0),
	OTHER("s_memrealtime", clock, 1),
	OTHER("s_dcache_inv", cache, SIM_CACHE_SCALAR_INV),
	OTHER("s_dcache_inv_vol", cache, SIM_CACHE_SCALAR_INV),
	OTHER("s_dcache_wb", cache, 255),
	OTHER("s_dcache_wb_vol", cache, 255),
	OTHER("s_gl1_inv", cache, SIM_CACHE_GL1_INV),
};
SEM_END(smem);
