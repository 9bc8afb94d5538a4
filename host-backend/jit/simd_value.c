/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simd_value.c - registers as vectors, lanes that fault, and helpers.
 *
 * A register is kept twice, in 64 bits and as its low half, since BPF's 32-bit operations leave zeros above: LLVM drops the
 * one that nothing reads, and would not find by itself that half a vector is zeros all the way round a loop. In a split block
 * what it writes is put together with what other lanes have only at its end.
 */
#include <stdio.h>
#include <string.h>
#include <gpgpu_bpf.h>
#include <virtio_gpgpu.h>
#include "bpf/groups.h"
#include "jit/simd.h"

LLVMValueRef gp_simd_splat(struct gp_tr *tr, LLVMValueRef scalar)
{
	LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), GP_SIMD);
	LLVMValueRef one =
		LLVMBuildInsertElement(tr->b, LLVMGetPoison(type), scalar, LLVMConstInt(tr->i32, 0, 0), "");

	return LLVMBuildShuffleVector(tr->b, one, LLVMGetPoison(type), LLVMConstNull(tr->simd->v32), "");
}

LLVMValueRef gp_simd_iota(struct gp_tr *tr, int64_t step)
{
	LLVMValueRef values[GP_SIMD];

	for (unsigned int i = 0; i < GP_SIMD; i++)
		values[i] = LLVMConstInt(tr->i64, (uint64_t)i * (uint64_t)step, 0);
	return LLVMConstVector(values, GP_SIMD);
}

int32_t gp_simd_step(const struct gp_simd *simd, int reg)
{
	const struct gp_causes *now = &simd->now;

	if (simd->new_wide[reg])
		return GP_NO_STEP;
	if (reg < GP_SIMD_SLOT)
		return now->reg[reg] ? now->step[reg] : 0;
	return now->slot[reg - GP_SIMD_SLOT] ? now->slot_step[reg - GP_SIMD_SLOT] : 0;
}

static LLVMValueRef with_steps(struct gp_tr *tr, LLVMValueRef first, int64_t step)
{
	LLVMValueRef value = gp_simd_splat(tr, first);

	return step ? LLVMBuildAdd(tr->b, value, gp_simd_iota(tr, step), "") : value;
}

LLVMValueRef gp_simd_get(struct gp_tr *tr, int reg)
{
	struct gp_simd *simd = tr->simd;
	int32_t step = gp_simd_step(simd, reg);

	if (!tr->lanes)
		return LLVMBuildLoad2(tr->b, tr->i64, simd->scalar[reg], "");
	if (simd->new_wide[reg])
		return simd->new_wide[reg];
	if (step != GP_NO_STEP)
		return with_steps(tr, LLVMBuildLoad2(tr->b, tr->i64, simd->scalar[reg], ""), step);
	return LLVMBuildLoad2(tr->b, simd->v64, simd->wide[reg], "");
}

LLVMValueRef gp_simd_get_low(struct gp_tr *tr, int reg)
{
	struct gp_simd *simd = tr->simd;

	if (simd->new_low[reg])
		return simd->new_low[reg];
	if (gp_simd_step(simd, reg) == GP_NO_STEP)
		return LLVMBuildLoad2(tr->b, simd->v32, simd->low[reg], "");
	return LLVMBuildTrunc(tr->b, gp_simd_get(tr, reg), simd->v32, "");
}

static void set_both(struct gp_tr *tr, int reg, LLVMValueRef wide, LLVMValueRef low)
{
	struct gp_simd *simd = tr->simd;

	if (simd->split) {
		simd->new_wide[reg] = wide;
		simd->new_low[reg] = low;
		return;
	}
	LLVMBuildStore(tr->b, wide, simd->wide[reg]);
	LLVMBuildStore(tr->b, low, simd->low[reg]);
}

void gp_simd_set(struct gp_tr *tr, int reg, LLVMValueRef value)
{
	if (!tr->lanes) {
		if (!tr->simd->split)
			LLVMBuildStore(tr->b, value, tr->simd->scalar[reg]);
		value = with_steps(tr, value, tr->simd->step);
	}
	set_both(tr, reg, value, LLVMBuildTrunc(tr->b, value, tr->simd->v32, ""));
}

void gp_simd_set_low(struct gp_tr *tr, int reg, LLVMValueRef value)
{
	set_both(tr, reg, LLVMBuildZExt(tr->b, value, tr->simd->v64, ""), value);
}

/* ------------------------------------------------------------------------- lanes */

LLVMValueRef gp_simd_bits(struct gp_tr *tr, LLVMValueRef cond)
{
	return LLVMBuildZExt(tr->b, LLVMBuildBitCast(tr->b, cond, tr->i8, ""), tr->i32, "");
}

LLVMValueRef gp_simd_live(struct gp_tr *tr)
{
	struct gp_simd *simd = tr->simd;
	LLVMValueRef bits = simd->split ? simd->cur_bits : LLVMConstInt(tr->i32, (1u << GP_SIMD) - 1, 0);

	if (!simd->may_store)
		return bits;
	return LLVMBuildAnd(tr->b, bits,
			    LLVMBuildNot(tr->b, LLVMBuildLoad2(tr->b, tr->i32, simd->dead, ""), ""), "");
}

static void unlikely(struct gp_tr *tr, LLVMValueRef branch)
{
	LLVMSetMetadata(branch, tr->md_prof, LLVMMetadataAsValue(tr->ctx, tr->unlikely));
}

/* Notes a fault in the lanes @bits. */
static void note(struct gp_tr *tr, LLVMValueRef bits, uint32_t reason)
{
	struct gp_simd *simd = tr->simd;
	LLVMValueRef args[5] = { simd->faults, simd->item, bits, LLVMConstInt(tr->i32, reason, 0),
				 LLVMConstInt(tr->i32, tr->insn, 0) },
		     dead;

	if (tr->grouped)
		args[0] = gp_tr_rt(tr, "gp_rt_group", &tr->lane, 1);
	gp_tr_rt(tr, tr->grouped ? "gp_simd_group_fault" : "gp_simd_fault", args, 5);
	dead = LLVMBuildLoad2(tr->b, tr->i32, simd->dead, "");
	LLVMBuildStore(tr->b, LLVMBuildOr(tr->b, dead, bits, ""), simd->dead);
}

void gp_simd_leave_if(struct gp_tr *tr, LLVMValueRef cond, uint32_t reason)
{
	struct gp_simd *simd = tr->simd;
	LLVMBasicBlockRef next, out;

	if (LLVMIsAConstantInt(cond) && !LLVMConstIntGetZExtValue(cond))
		return;
	next = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
	if (!simd->may_store) {
		unlikely(tr, LLVMBuildCondBr(tr->b, cond, simd->bail, next));
		LLVMPositionBuilderAtEnd(tr->b, next);
		return;
	}
	out = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
	unlikely(tr, LLVMBuildCondBr(tr->b, cond, out, next));
	LLVMPositionBuilderAtEnd(tr->b, out);
	note(tr, gp_simd_live(tr), reason);
	LLVMBuildBr(tr->b, simd->split ? simd->after : simd->done);
	LLVMPositionBuilderAtEnd(tr->b, next);
}

void gp_simd_lose(struct gp_tr *tr, LLVMValueRef bits, uint32_t reason)
{
	struct gp_simd *simd = tr->simd;
	LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, ""), out = simd->bail;
	LLVMValueRef any = LLVMBuildICmp(tr->b, LLVMIntNE, bits, LLVMConstInt(tr->i32, 0, 0), "");

	if (simd->may_store)
		out = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
	unlikely(tr, LLVMBuildCondBr(tr->b, any, out, next));
	if (simd->may_store) {
		LLVMPositionBuilderAtEnd(tr->b, out);
		note(tr, bits, reason);
		LLVMBuildBr(tr->b, next);
	}
	LLVMPositionBuilderAtEnd(tr->b, next);
}

/* ----------------------------------------------------------------------- helpers */

enum form {
	FORM_NONE,
	FORM_BINARY, /* an instruction of LLVM's on two floats */
	FORM_INTRINSIC, /* a function of LLVM's */
	FORM_COMPARE,
	FORM_ABS,
	FORM_FROM_S, /* conversions from 64-bit numbers, and between floats */
	FORM_FROM_U,
	FORM_EXTEND,
	FORM_SHORTEN,
	FORM_LANES, /* gp_simd_<name>() of rt/simd.c */
};

struct op {
	int32_t number;
	enum form form;
	unsigned int bits; /* of the arguments; FROM_*: of the result */
	union {
		LLVMOpcode opcode;
		LLVMRealPredicate predicate;
		const char *intrinsic;
	};
};

#define BOTH(name, ...)                                          \
	{ GPGPU_HELPER_##name##32, .bits = 32, __VA_ARGS__ },    \
	{                                                        \
		GPGPU_HELPER_##name##64, .bits = 64, __VA_ARGS__ \
	}

/* Those that are one operation; all other floating point is FORM_LANES. */
static const struct op ops[] = {
	BOTH(fadd, .form = FORM_BINARY, .opcode = LLVMFAdd),
	BOTH(fsub, .form = FORM_BINARY, .opcode = LLVMFSub),
	BOTH(fmul, .form = FORM_BINARY, .opcode = LLVMFMul),
	BOTH(fdiv, .form = FORM_BINARY, .opcode = LLVMFDiv),
	BOTH(fma, .form = FORM_INTRINSIC, .intrinsic = "llvm.fma"),
	BOTH(sqrt, .form = FORM_INTRINSIC, .intrinsic = "llvm.sqrt"),
	BOTH(flt, .form = FORM_COMPARE, .predicate = LLVMRealOLT),
	BOTH(fle, .form = FORM_COMPARE, .predicate = LLVMRealOLE),
	BOTH(feq, .form = FORM_COMPARE, .predicate = LLVMRealOEQ),
	BOTH(fabs, .form = FORM_ABS),
	{ GPGPU_HELPER_f32_from_s, FORM_FROM_S, 32, { 0 } },
	{ GPGPU_HELPER_f32_from_u, FORM_FROM_U, 32, { 0 } },
	{ GPGPU_HELPER_f64_from_s, FORM_FROM_S, 64, { 0 } },
	{ GPGPU_HELPER_f64_from_u, FORM_FROM_U, 64, { 0 } },
	{ GPGPU_HELPER_f64_from_f32, FORM_EXTEND, 32, { 0 } },
	{ GPGPU_HELPER_f32_from_f64, FORM_SHORTEN, 64, { 0 } },
};

static struct op find_op(const struct gp_helper *helper)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (ops[i].number == helper->number)
			return ops[i];
	return (struct op){ .form = FORM_LANES };
}

static void lanes_name(const struct gp_helper *helper, char name[64])
{
	/* Behind "gp_helper_". */
	snprintf(name, 64, "gp_simd_%s", helper->function + 10);
}

static bool is_id(int32_t number)
{
	return number >= GPGPU_HELPER_global_id && number <= GPGPU_HELPER_num_groups;
}

bool gp_simd_knows(struct gp_tr *tr, const struct gp_state *state, const struct bpf_insn *insn)
{
	const struct gp_helper *helper = gp_helper_find(insn->imm);
	char name[64];

	if (gp_group_is_wait(insn))
		return true;
	if (is_id(helper->number))
		return state->reg[1].kind == GP_KIND_SCALAR && state->reg[1].known;
	if (find_op(helper).form != FORM_LANES)
		return true;
	lanes_name(helper, name);
	return strlen(helper->function) > 10 && LLVMGetNamedFunction(tr->mod, name);
}

static LLVMTypeRef float_type(struct gp_tr *tr, unsigned int bits)
{
	return LLVMVectorType(bits == 32 ? LLVMFloatTypeInContext(tr->ctx) : LLVMDoubleTypeInContext(tr->ctx),
			      GP_SIMD);
}

static LLVMValueRef get_float(struct gp_tr *tr, int reg, unsigned int bits)
{
	LLVMValueRef value = bits == 32 ? gp_tr_get_low(tr, reg) : gp_tr_get(tr, reg);

	return LLVMBuildBitCast(tr->b, value, float_type(tr, bits), "");
}

static void set_float(struct gp_tr *tr, LLVMValueRef value, unsigned int bits)
{
	if (bits == 32)
		gp_simd_set_low(tr, 0, LLVMBuildBitCast(tr->b, value, tr->simd->v32, ""));
	else
		gp_simd_set(tr, 0, LLVMBuildBitCast(tr->b, value, tr->simd->v64, ""));
}

static LLVMValueRef intrinsic(struct gp_tr *tr, const struct gp_helper *helper, const struct op *op)
{
	unsigned int id = LLVMLookupIntrinsicID(op->intrinsic, strlen(op->intrinsic)), count = 0;
	LLVMTypeRef type = float_type(tr, op->bits);
	LLVMValueRef args[3], fn = LLVMGetIntrinsicDeclaration(tr->mod, id, &type, 1);

	while (count < 3 && helper->args[count] != GP_ARG_NONE) {
		args[count] = get_float(tr, (int)count + 1, op->bits);
		count++;
	}
	return LLVMBuildCall2(tr->b, LLVMIntrinsicGetType(tr->ctx, id, &type, 1), fn, args, count, "");
}

/* Arguments and results go through memory. */
static void by_lanes(struct gp_tr *tr, const struct gp_helper *helper)
{
	LLVMValueRef args[4] = { tr->simd->room[0] };
	unsigned int count = 1;
	char name[64];

	for (; count < 4 && helper->args[count - 1] != GP_ARG_NONE; count++) {
		args[count] = tr->simd->room[count];
		LLVMBuildStore(tr->b, gp_tr_get(tr, (int)count), args[count]);
	}
	lanes_name(helper, name);
	gp_tr_rt(tr, name, args, count);
	gp_simd_set(tr, 0, LLVMBuildLoad2(tr->b, tr->simd->v64, args[0], ""));
}

static void on_vectors(struct gp_tr *tr, const struct gp_helper *helper)
{
	struct op op = find_op(helper);
	LLVMTypeRef type = float_type(tr, op.bits);
	LLVMValueRef value;

	switch (op.form) {
	case FORM_BINARY:
		value = get_float(tr, 1, op.bits);
		set_float(tr, LLVMBuildBinOp(tr->b, op.opcode, value, get_float(tr, 2, op.bits), ""),
			  op.bits);
		return;
	case FORM_INTRINSIC:
		set_float(tr, intrinsic(tr, helper, &op), op.bits);
		return;
	case FORM_COMPARE:
		value = get_float(tr, 1, op.bits);
		value = LLVMBuildFCmp(tr->b, op.predicate, value, get_float(tr, 2, op.bits), "");
		gp_simd_set_low(tr, 0, LLVMBuildZExt(tr->b, value, tr->simd->v32, ""));
		return;
	case FORM_ABS:
		if (op.bits == 32) {
			value = gp_simd_splat(tr, LLVMConstInt(tr->i32, INT32_MAX, 0));
			gp_simd_set_low(tr, 0, LLVMBuildAnd(tr->b, gp_tr_get_low(tr, 1), value, ""));
		} else {
			gp_simd_set(tr, 0,
				    LLVMBuildAnd(tr->b, gp_tr_get(tr, 1), gp_tr_const(tr, INT64_MAX), ""));
		}
		return;
	case FORM_FROM_S:
		set_float(tr, LLVMBuildSIToFP(tr->b, gp_tr_get(tr, 1), type, ""), op.bits);
		return;
	case FORM_FROM_U:
		set_float(tr, LLVMBuildUIToFP(tr->b, gp_tr_get(tr, 1), type, ""), op.bits);
		return;
	case FORM_EXTEND:
		set_float(tr, LLVMBuildFPExt(tr->b, get_float(tr, 1, 32), float_type(tr, 64), ""), 64);
		return;
	case FORM_SHORTEN:
		set_float(tr, LLVMBuildFPTrunc(tr->b, get_float(tr, 1, 64), float_type(tr, 32), ""), 32);
		return;
	default:
		by_lanes(tr, helper);
	}
}

void gp_simd_helper(struct gp_tr *tr, const struct bpf_insn *insn)
{
	const struct gp_helper *helper = gp_helper_find(insn->imm);
	bool differs = false;

	for (int a = 0; a < GP_HELPER_ARGS && helper->args[a] != GP_ARG_NONE; a++)
		differs |= tr->simd->now.reg[a + 1] != 0;
	if (!is_id(helper->number) && differs) {
		tr->lanes = GP_SIMD;
		on_vectors(tr, helper);
		tr->lanes = 0;
		return;
	}
	if ((helper->number == GPGPU_HELPER_global_id || helper->number == GPGPU_HELPER_local_id) &&
	    !(uint32_t)tr->state.reg[1].off) {
		LLVMValueRef args[2] = { tr->lane, gp_tr_const(tr, 0) };
		LLVMValueRef first = gp_tr_rt(tr, helper->function, args, 2);

		tr->simd->step = 1;
		gp_simd_set(tr, 0, first);
		tr->simd->step = 0;
		return;
	}
	gp_tr_helper(tr, insn);
}
