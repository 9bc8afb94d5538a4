/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bind.c - from fields to something that runs: constants as each operand wants them, and which registers the
 * instruction touches.
 */
#include <string.h>
#include "internal.h"

/* Inline constants 240 to 248: 0.5 -0.5 1 -1 2 -2 4 -4 1/(2 pi). */
static const uint64_t reals64[] = { 0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
				    0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
				    0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882 };
static const uint32_t reals32[] = { 0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
				    0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983 };
static const uint16_t reals16[] = { 0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118 };

uint64_t isa_constant(const struct uop *u, const struct opd *o, unsigned int type)
{
	int64_t number = o->code <= 192 ? (int)o->code - 128 : 192 - (int)o->code;
	bool real = o->code >= 240 && o->code <= 248;
	bool half = type == T_F16 || type == T_B16 || type == T_I16;

	if (o->literal)
		return type == T_F64		 ? o->value << 32
		       : half && u->enc != VOP3P ? o->value & 0xffff
						 : o->value;
	if (type == T_F64 || type == T_B64 || (type == T_MASK && o->size == 2))
		return real ? reals64[o->code - 240] : (uint64_t)number;
	if (u->enc == VOP3P && type != T_F16)
		return real ? reals32[o->code - 240] : (uint32_t)number;
	if (half)
		return real ? reals16[o->code - 240] : u->enc == VOP3P ? (uint32_t)number : (uint16_t)number;
	return real ? reals32[o->code - 240] : (uint32_t)number;
}

static void touch(struct uop *u, const struct opd *o, unsigned int first, unsigned int count, bool write)
{
	struct span span = { .first = (uint16_t)(o->code + first), .count = (uint8_t)count };

	if (!count)
		return;
	if (o->kind == OPD_VGPR) {
		if (o->acc)
			span.first = (uint16_t)(span.first + 256);
		if (write)
			u->vwrite[u->vwrites++] = span;
		else
			u->vread[u->vreads++] = span;
		if (!o->acc && u->vtop < span.first + count)
			u->vtop = (uint16_t)(span.first + count);
	} else if (o->kind == OPD_SGPR) {
		if (write)
			u->swrite[u->swrites++] = span;
		else
			u->sread[u->sreads++] = span;
		if (span.first < (u->gfx == SIM_GFX1030 ? 106 : 102) && u->stop < span.first + count)
			u->stop = (uint16_t)(span.first + count);
	}
}

static void touch_vcc(struct uop *u, bool write)
{
	struct opd vcc = { .kind = OPD_SGPR, .code = 106 };

	touch(u, &vcc, 0, u->wave / 32, write);
}

/* Operands of memory instructions as the instruction really uses them. */
const char *isa_memory_operands(struct uop *u)
{
	bool store = u->sem && u->sem->flags & F_STORE;

	if (u->enc == MUBUF && u->dst.kind && store) {
		u->src[1] = u->dst;
		if (!(u->sem->kind && u->glc))
			u->dst.kind = OPD_NONE;
		else if (strstr(u->row->name, "cmpswap"))
			u->dst.size /= 2;
	}
	if (u->enc == SMEM && u->dst.kind && store) {
		u->src[1] = u->dst;
		u->dst.kind = OPD_NONE;
	}
	if (u->enc == SCRATCH && (u->src[3].kind || u->idxen))
		u->src[0].kind = OPD_NONE;
	if ((u->enc == GLOBAL || u->enc == GLOBAL_RTN) && u->src[3].kind)
		u->src[0].size = 1;
	if (u->gfx == SIM_GFX90A && u->enc >= DS)
		for (int i = 0; i < 3; i++)
			if (u->src[i].kind == OPD_VGPR && u->src[i].size > 1 && u->src[i].code & 1)
				return "vector registers that are not aligned";
	return NULL;
}

/* SOPK: the destination's field is a source for some, and the immediate is the other one. */
static void sopk_operands(struct uop *u)
{
	bool compare = !strncmp(u->row->name, "s_cmpk", 6), positive = compare && strstr(u->row->name, "u32");
	struct opd k = { .kind = OPD_CONST, .size = 1, .literal = 1 };

	if (!u->sem->scalar)
		return;
	k.value = positive ? u->imm : (uint32_t)(int16_t)u->imm;
	u->src[compare ? 1 : 0] = k;
	if (compare) {
		u->src[0] = u->dst;
		u->dst.kind = OPD_NONE;
	}
}

/* Looked at before every execution, so they lie in a row. */
static void list(struct uop *u, const struct span *spans, unsigned int count, unsigned int from)
{
	for (unsigned int i = 0; i < count; i++)
		for (unsigned int k = 0; k < spans[i].count && u->regs <= USED; k++) {
			if (u->regs < USED)
				u->reg[u->regs] = (uint16_t)(from + spans[i].first + k);
			u->regs++;
		}
}

static uint8_t counter_of(const struct uop *u)
{
	static const uint8_t by[] = {
		[C_OTHER] = offsetof(struct sim_counts, other) / 8,
		[C_VALU] = offsetof(struct sim_counts, valu) / 8,
		[C_SALU] = offsetof(struct sim_counts, salu) / 8,
		[C_VMEM] = offsetof(struct sim_counts, vmem_load) / 8,
		[C_FLAT] = offsetof(struct sim_counts, flat) / 8,
		[C_SMEM] = offsetof(struct sim_counts, smem) / 8,
		[C_LDS] = offsetof(struct sim_counts, lds) / 8,
		[C_SCRATCH] = offsetof(struct sim_counts, scratch) / 8,
		[C_BRANCH] = offsetof(struct sim_counts, branch) / 8,
		[C_MESSAGE] = offsetof(struct sim_counts, message) / 8,
	};

	if (u->enc == FLAT || u->enc == FLAT_RTN)
		return by[C_FLAT];
	if (u->enc == SCRATCH)
		return by[C_SCRATCH];
	if (u->sem->class == C_VMEM && u->sem->flags & F_STORE)
		return u->sem->kind ? offsetof(struct sim_counts, vmem_atomic) / 8
				    : offsetof(struct sim_counts, vmem_store) / 8;
	return by[u->sem->class];
}

/* isa_spans() - which registers @u touches, from its operands. */
void isa_spans(struct uop *u)
{
	u->vreads = u->vwrites = u->sreads = u->swrites = 0;
	u->vtop = u->stop = 0;
	for (unsigned int i = 0; i < 6; i++)
		touch(u, &u->src[i], 0, u->src[i].size, false);
	if (u->sem->flags & F_VCC)
		touch_vcc(u, false);
	touch(u, &u->dst, 0, u->dst.size, true);
	touch(u, &u->sdst, 0, u->sdst.size, true);
	if (u->sem->flags & F_SWAP) {
		touch(u, &u->dst, 0, 1, false);
		touch(u, &u->src[0], 0, 1, true);
	}
	u->regs = 0;
	list(u, u->sread, u->sreads, 0);
	list(u, u->swrite, u->swrites, 0);
	list(u, u->vread, u->vreads, 128);
	list(u, u->vwrite, u->vwrites, 128);
}

const char *isa_bind(struct uop *u)
{
	const struct sem *sem = u->sem;
	const char *why;

	if (!sem)
		return "not known to this simulator";
	why = u->enc >= SMEM ? isa_memory_operands(u) : NULL;
	if (why)
		return why;
	if (sem->flags & F_RELATIVE && sem->class == C_VALU && sem->kind & 1 && u->src[0].kind != OPD_VGPR)
		return "a relative source that is no vector register";
	u->run = sem->run;
	if (u->enc == SOPK)
		sopk_operands(u);
	if (u->enc == SOPK && sem->flags & F_STORE) { /* s_setreg_b32 */
		u->src[0] = u->dst;
		u->dst.kind = OPD_NONE;
	}
	if (sem->flags & F_ACC)
		u->src[2] = u->dst;
	for (unsigned int i = 0; i < 6; i++) {
		struct opd *o = &u->src[i];
		unsigned int type = i < 3 ? sem->s[i] : T_B32;

		if (o->kind == OPD_CONST) {
			if (u->enc <= SOPP)
				type = o->size == 2 ? T_B64 : T_B32;
			o->value = isa_constant(u, o, o->mask ? T_MASK : type);
		}
		if (u->gfx == SIM_GFX90A && u->enc >= VOP1 && u->enc <= VOP2_DPP && o->kind == OPD_VGPR &&
		    o->size > 1 && o->code & 1)
			return "vector registers that are not aligned";
	}
	isa_spans(u);
	u->counter = counter_of(u);
	return NULL;
}
