/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simd_access.c - loads and stores of vectors; simd.h says how.
 *
 * Where all lanes have the same pointer, a load is that of one item (access.c). Where they are a known step apart, all lie within
 * one check, with one mask (nospec.c) on the first lane's offset, behind which the rest is well within the guards. Otherwise lane i is
 * expected i elements behind the first, and only if it is not, or something is out of bounds, or not all lanes take part,
 * lanes come one by one.
 */
#include <virtio_gpgpu.h>
#include "bpf/opcodes.h"
#include "jit/simd.h"

/* ------------------------------------------------------------------------ stack */

static int slot_reg(const struct gp_val *ptr, const struct bpf_insn *insn)
{
	return GP_SIMD_SLOT + (int)(ptr->off + insn->off + GP_STACK_FRAME) / 8;
}

static const struct gp_val handle = { .kind = GP_KIND_ANY };

/* A word of the stack is a register that holds what was stored, with zeros above. */
static void load_slot(struct gp_tr *tr, const struct bpf_insn *insn, bool differs)
{
	int reg = slot_reg(&tr->state.reg[insn->src_reg], insn);
	uint32_t size = gp_insn_size(insn);
	struct gp_state after = tr->state;
	LLVMValueRef value;

	if (gp_simd_step(tr->simd, reg) != GP_NO_STEP && size == 8)
		tr->simd->step = gp_simd_step(tr->simd, reg);
	else
		tr->lanes = differs ? GP_SIMD : 0;
	if (tr->lanes && size == 4 && BPF_MODE(insn->code) != BPF_MEMSX) {
		gp_simd_set_low(tr, insn->dst_reg, gp_simd_get_low(tr, reg));
		tr->lanes = 0;
		return;
	}
	value = gp_simd_get(tr, reg);
	if (BPF_MODE(insn->code) == BPF_MEMSX)
		value = LLVMBuildSExt(tr->b, LLVMBuildTrunc(tr->b, value, gp_tr_int(tr, size * 8), ""),
				      gp_tr_int(tr, 64), "");
	gp_kinds_step(tr->kinds, &after, tr->insn);
	if (size == 8)
		value = gp_tr_convert(tr, value, &handle, &after.reg[insn->dst_reg]);
	gp_simd_set(tr, insn->dst_reg, value);
	tr->lanes = 0;
	tr->simd->step = 0;
}

static void store_slot(struct gp_tr *tr, const struct bpf_insn *insn, bool differs)
{
	int reg = slot_reg(&tr->state.reg[insn->dst_reg], insn);
	uint32_t size = gp_insn_size(insn);
	LLVMValueRef value;

	if (differs && size == 8 && BPF_CLASS(insn->code) == BPF_STX && !tr->simd->split &&
	    gp_simd_step(tr->simd, insn->src_reg) != GP_NO_STEP)
		tr->simd->step = gp_simd_step(tr->simd, insn->src_reg);
	else
		tr->lanes = differs ? GP_SIMD : 0;
	if (tr->lanes && size == 4 && BPF_CLASS(insn->code) == BPF_STX) {
		gp_simd_set_low(tr, reg, gp_tr_get_low(tr, insn->src_reg));
	} else {
		value = BPF_CLASS(insn->code) == BPF_STX ? gp_tr_handle(tr, insn->src_reg)
							 : gp_tr_const(tr, insn->imm);
		if (size < 8)
			value = LLVMBuildAnd(tr->b, value, gp_tr_const(tr, (int64_t)((1ull << size * 8) - 1)),
					     "");
		gp_simd_set(tr, reg, value);
	}
	tr->lanes = 0;
	tr->simd->step = 0;
}

/* ----------------------------------------------------------------------- regions */

#define MAX_EXTENT 4096 /* the guards have room for it (nospec.c) */

struct place {
	LLVMValueRef base, len; /* of the region; 0 where it may not be written */
	LLVMValueRef off,
		first; /* vector, and the first lane's, which is not made of it where steps are known */
	int32_t step;
	LLVMTypeRef type; /* of an element */
	uint32_t size;
};

static LLVMValueRef numbered(struct gp_tr *tr, const char *name, uint32_t n)
{
	LLVMValueRef args[2] = { tr->lane, LLVMConstInt(tr->i32, n, 0) };

	return gp_tr_rt(tr, name, args, 2);
}

static struct place find_place(struct gp_tr *tr, int reg, const struct bpf_insn *insn, bool write)
{
	const struct gp_val *val = &tr->state.reg[reg];
	struct place p = { .size = gp_insn_size(insn) };
	int64_t bias = 0;

	p.type = LLVMIntTypeInContext(tr->ctx, p.size * 8);
	if (val->kind == GP_KIND_ARG) {
		bool read_only = tr->prog->arg_kind[val->arg] == VIRTIO_GPGPU_ARG_BUFFER_RO;
		LLVMValueRef may;

		p.base = numbered(tr, "gp_rt_arg_base", val->arg);
		p.len = numbered(tr, "gp_rt_arg_size", val->arg);
		if (write) {
			may = read_only ? gp_tr_const(tr, 0) : numbered(tr, "gp_rt_arg_writable", val->arg);
			may = LLVMBuildICmp(tr->b, LLVMIntNE, may, gp_tr_const(tr, 0), "");
			p.len = LLVMBuildSelect(tr->b, may, p.len, gp_tr_const(tr, 0), "");
		}
	} else if (val->kind == GP_KIND_LOCAL) {
		p.base = gp_tr_rt(tr, "gp_rt_pkt_base", &tr->lane, 1);
		p.len = gp_tr_const(tr, tr->kinds->local_bytes);
	} else {
		uint32_t m = (uint32_t)gp_val_one_map(val);

		bias = (int64_t)((uint64_t)(GP_REGION_MAP0 + m) << GP_REGION_SHIFT);
		p.base = numbered(tr, "gp_rt_map_values", m);
		p.len = gp_tr_const(tr, (int64_t)tr->prog->maps[m].values_size);
		if (write && gp_map_frozen(&tr->prog->maps[m]))
			p.len = gp_tr_const(tr, 0);
	}
	bias = (int64_t)((uint64_t)(int64_t)insn->off - (uint64_t)bias);
	p.step = gp_simd_step(tr->simd, reg);
	if (p.step != GP_NO_STEP)
		p.first = LLVMBuildAdd(tr->b, gp_tr_get(tr, reg), gp_tr_const(tr, bias), "");
	if (p.step == GP_NO_STEP) {
		tr->lanes = GP_SIMD;
		p.off = LLVMBuildAdd(tr->b, gp_tr_get(tr, reg), gp_tr_const(tr, bias), "");
		tr->lanes = 0;
		p.first = LLVMBuildExtractElement(tr->b, p.off, LLVMConstInt(tr->i32, 0, 0), "");
	}
	return p;
}

/* All offsets. Where steps are known, only made where lanes come one by one. */
static LLVMValueRef offsets(struct gp_tr *tr, const struct place *p)
{
	return p->off ? p->off
		      : LLVMBuildAdd(tr->b, gp_simd_splat(tr, p->first), gp_simd_iota(tr, p->step), "");
}

/* Bytes from the first lane's element to the end of the last one's, of steps that are known. */
static int64_t extent(const struct place *p)
{
	return (int64_t)(p->step == GP_NO_STEP ? (int32_t)p->size : p->step) * (GP_SIMD - 1) + p->size;
}

/* Whether steps are known, and such that one mask is good for all lanes. */
static bool is_strided(const struct place *p)
{
	return p->step != GP_NO_STEP && p->step > 0 && extent(p) <= MAX_EXTENT;
}

/* Whether all of it may be accessed, with elements one after the other unless other steps are known. */
static LLVMValueRef is_run(struct gp_tr *tr, const struct place *p)
{
	struct gp_simd *simd = tr->simd;
	LLVMValueRef all = LLVMConstInt(tr->i32, (1u << GP_SIMD) - 1, 0), want, ok, fits;

	ok = LLVMBuildICmp(tr->b, LLVMIntULE, p->first, p->len, "");
	fits = LLVMBuildSub(tr->b, p->len, p->first, "");
	fits = LLVMBuildICmp(tr->b, LLVMIntUGE, fits, gp_tr_const(tr, extent(p)), "");
	ok = LLVMBuildAnd(tr->b, ok, fits, "");
	if (!is_strided(p)) {
		want = LLVMBuildAdd(tr->b, gp_simd_splat(tr, p->first), gp_simd_iota(tr, p->size), "");
		want = gp_simd_bits(tr, LLVMBuildICmp(tr->b, LLVMIntEQ, offsets(tr, p), want, ""));
		ok = LLVMBuildAnd(tr->b, LLVMBuildICmp(tr->b, LLVMIntEQ, want, all, ""), ok, "");
	}
	if (simd->split || simd->may_store)
		ok = LLVMBuildAnd(tr->b, ok, LLVMBuildICmp(tr->b, LLVMIntEQ, gp_simd_live(tr), all, ""), "");
	return ok;
}

static LLVMValueRef run_address(struct gp_tr *tr, const struct place *p)
{
	LLVMValueRef at = gp_tr_nospec(tr, p->first, p->len, NULL);

	return LLVMBuildGEP2(tr->b, tr->i8, p->base, &at, 1, "");
}

static LLVMValueRef element(struct gp_tr *tr, LLVMValueRef at, int64_t off)
{
	LLVMValueRef by = gp_tr_const(tr, off);

	return LLVMBuildGEP2(tr->b, tr->i8, at, &by, 1, "");
}

static LLVMValueRef load_run(struct gp_tr *tr, const struct place *p)
{
	LLVMTypeRef type = LLVMVectorType(p->type, GP_SIMD);
	LLVMValueRef at = run_address(tr, p), value, one;

	if (!is_strided(p) || p->step == (int32_t)p->size) {
		value = LLVMBuildLoad2(tr->b, type, at, "");
		LLVMSetAlignment(value, 1);
		return LLVMBuildFreeze(tr->b, value, "");
	}
	value = LLVMGetPoison(type);
	for (unsigned int i = 0; i < GP_SIMD; i++) {
		one = LLVMBuildLoad2(tr->b, p->type, element(tr, at, (int64_t)i * p->step), "");
		LLVMSetAlignment(one, 1);
		one = LLVMBuildFreeze(tr->b, one, "");
		value = LLVMBuildInsertElement(tr->b, value, one, LLVMConstInt(tr->i32, i, 0), "");
	}
	return value;
}

/* Lanes in their order, should they overlap. */
static void store_run(struct gp_tr *tr, const struct place *p, LLVMValueRef value)
{
	LLVMValueRef at = run_address(tr, p), one;

	if (!is_strided(p) || p->step == (int32_t)p->size) {
		LLVMSetAlignment(LLVMBuildStore(tr->b, value, at), 1);
		return;
	}
	for (unsigned int i = 0; i < GP_SIMD; i++) {
		one = LLVMBuildExtractElement(tr->b, value, LLVMConstInt(tr->i32, i, 0), "");
		LLVMSetAlignment(LLVMBuildStore(tr->b, one, element(tr, at, (int64_t)i * p->step)), 1);
	}
}

/* By rt/simd.c: @function with room[1] for offsets and room[0] for values. */
static void by_lanes(struct gp_tr *tr, const struct place *p, const char *function)
{
	LLVMValueRef args[6] = { p->base,	    p->len,
				 tr->simd->room[1], NULL,
				 tr->simd->room[0], LLVMConstInt(tr->i32, p->size, 0) };

	args[3] = gp_simd_live(tr);
	LLVMBuildStore(tr->b, offsets(tr, p), args[2]);
	gp_simd_lose(tr, gp_tr_rt(tr, function, args, 6), VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
}

struct fork {
	LLVMBasicBlockRef run, lanes, next;
};

static struct fork fork_on(struct gp_tr *tr, const struct place *p)
{
	LLVMValueRef branch;
	struct fork f = { LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, ""),
			  LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, ""),
			  LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "") };

	branch = LLVMBuildCondBr(tr->b, is_run(tr, p), f.run, f.lanes);
	if (is_strided(p))
		LLVMSetMetadata(branch, tr->md_prof, LLVMMetadataAsValue(tr->ctx, tr->simd->likely));
	return f;
}

static LLVMValueRef load_vector(struct gp_tr *tr, const struct place *p)
{
	LLVMTypeRef type = LLVMVectorType(p->type, GP_SIMD);
	LLVMValueRef values[2], phi;
	struct fork f = fork_on(tr, p);
	LLVMBasicBlockRef from[2];

	LLVMPositionBuilderAtEnd(tr->b, f.run);
	values[0] = load_run(tr, p);
	from[0] = LLVMGetInsertBlock(tr->b);
	LLVMBuildBr(tr->b, f.next);

	LLVMPositionBuilderAtEnd(tr->b, f.lanes);
	by_lanes(tr, p, "gp_simd_load");
	values[1] = LLVMBuildLoad2(tr->b, tr->simd->v64, tr->simd->room[0], "");
	values[1] = LLVMBuildTrunc(tr->b, values[1], type, "");
	from[1] = LLVMGetInsertBlock(tr->b);
	LLVMBuildBr(tr->b, f.next);

	LLVMPositionBuilderAtEnd(tr->b, f.next);
	phi = LLVMBuildPhi(tr->b, type, "");
	LLVMAddIncoming(phi, values, from, 2);
	return phi;
}

void gp_simd_load(struct gp_tr *tr, const struct bpf_insn *insn, const struct gp_causes *after)
{
	struct gp_simd *simd = tr->simd;
	const struct gp_val *ptr = &tr->state.reg[insn->src_reg];
	LLVMValueRef value;
	struct place p;

	if (ptr->kind == GP_KIND_STACK) {
		load_slot(tr, insn, after->reg[insn->dst_reg]);
		return;
	}
	if (ptr->kind == GP_KIND_CTX || !simd->now.reg[insn->src_reg]) {
		gp_tr_load(tr, insn);
		return;
	}
	p = find_place(tr, insn->src_reg, insn, false);
	value = load_vector(tr, &p);
	tr->lanes = GP_SIMD;
	if (BPF_MODE(insn->code) == BPF_MEMSX)
		gp_simd_set(tr, insn->dst_reg, LLVMBuildSExt(tr->b, value, simd->v64, ""));
	else if (p.size == 8)
		gp_simd_set(tr, insn->dst_reg, value);
	else
		gp_simd_set_low(tr, insn->dst_reg,
				p.size == 4 ? value : LLVMBuildZExt(tr->b, value, simd->v32, ""));
	tr->lanes = 0;
}

/* The value as a vector of its size. */
static LLVMValueRef stored_value(struct gp_tr *tr, const struct bpf_insn *insn, uint32_t size)
{
	LLVMValueRef value;

	tr->lanes = GP_SIMD;
	if (BPF_CLASS(insn->code) == BPF_ST)
		value = gp_tr_const(tr, insn->imm);
	else if (size == 8)
		value = gp_tr_get(tr, insn->src_reg);
	else
		value = gp_tr_get_low(tr, insn->src_reg);
	value = LLVMBuildIntCast2(tr->b, value, gp_tr_int(tr, size * 8), 0, "");
	tr->lanes = 0;
	return value;
}

void gp_simd_store(struct gp_tr *tr, const struct bpf_insn *insn)
{
	struct gp_simd *simd = tr->simd;
	bool differs = simd->split || (BPF_CLASS(insn->code) == BPF_STX && simd->now.reg[insn->src_reg]);
	LLVMValueRef value;
	struct place p;
	struct fork f;

	if (tr->state.reg[insn->dst_reg].kind == GP_KIND_STACK) {
		store_slot(tr, insn, differs);
		return;
	}
	p = find_place(tr, insn->dst_reg, insn, true);
	value = stored_value(tr, insn, p.size);
	f = fork_on(tr, &p);

	LLVMPositionBuilderAtEnd(tr->b, f.run);
	store_run(tr, &p, value);
	LLVMBuildBr(tr->b, f.next);

	LLVMPositionBuilderAtEnd(tr->b, f.lanes);
	LLVMBuildStore(tr->b, LLVMBuildZExt(tr->b, value, simd->v64, ""), simd->room[0]);
	by_lanes(tr, &p, simd->may_store ? "gp_simd_store" : "gp_simd_store_all");
	LLVMBuildBr(tr->b, f.next);

	LLVMPositionBuilderAtEnd(tr->b, f.next);
	simd->may_store = true;
}
