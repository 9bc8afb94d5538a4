/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * value.c - registers, representations, calls of the run-time library and faults.
 */
#include <string.h>
#include <virtio_gpgpu.h>
#include "jit/simd.h"

LLVMValueRef gp_tr_const(struct gp_tr *tr, int64_t value)
{
	return gp_tr_number(gp_tr_int(tr, 64), (uint64_t)value);
}

LLVMTypeRef gp_tr_int(struct gp_tr *tr, unsigned int bits)
{
	LLVMTypeRef type = LLVMIntTypeInContext(tr->ctx, bits);

	return tr->lanes ? LLVMVectorType(type, tr->lanes) : type;
}

LLVMValueRef gp_tr_number(LLVMTypeRef type, uint64_t value)
{
	LLVMValueRef one, all[GP_SIMD];

	if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
		return LLVMConstInt(type, value, 1);
	one = LLVMConstInt(LLVMGetElementType(type), value, 1);
	for (unsigned int i = 0; i < GP_SIMD; i++)
		all[i] = one;
	return LLVMConstVector(all, GP_SIMD);
}

LLVMValueRef gp_tr_get(struct gp_tr *tr, int reg)
{
	const struct gp_val *val = &tr->state.reg[reg];

	if (reg == 10)
		return tr->fp;
	if (val->kind == GP_KIND_SCALAR && val->known)
		return gp_tr_const(tr, val->off);
	if (val->kind == GP_KIND_STACK && val->known)
		return LLVMBuildAdd(tr->b, tr->fp, gp_tr_const(tr, val->off), "");
	if (tr->simd)
		return gp_simd_get(tr, reg);
	return LLVMBuildLoad2(tr->b, tr->i64, tr->reg[reg], "");
}

LLVMValueRef gp_tr_get_low(struct gp_tr *tr, int reg)
{
	const struct gp_val *val = &tr->state.reg[reg];

	if (tr->lanes && reg != 10 &&
	    !(val->known && (val->kind == GP_KIND_SCALAR || val->kind == GP_KIND_STACK)))
		return gp_simd_get_low(tr, reg);
	return LLVMBuildTrunc(tr->b, gp_tr_get(tr, reg), gp_tr_int(tr, 32), "");
}

void gp_tr_set(struct gp_tr *tr, int reg, LLVMValueRef value)
{
	if (tr->simd) {
		gp_simd_set(tr, reg, value);
		return;
	}
	LLVMBuildStore(tr->b, value, tr->reg[reg]);
}

static int64_t bias(const struct gp_val *val)
{
	return (int64_t)((uint64_t)gp_val_region(val) << GP_REGION_SHIFT);
}

LLVMValueRef gp_tr_convert(struct gp_tr *tr, LLVMValueRef value, const struct gp_val *from,
			   const struct gp_val *to)
{
	int64_t add = (int64_t)((uint64_t)bias(from) - (uint64_t)bias(to));

	return add ? LLVMBuildAdd(tr->b, value, gp_tr_const(tr, add), "") : value;
}

LLVMValueRef gp_tr_handle(struct gp_tr *tr, int reg)
{
	static const struct gp_val any = { .kind = GP_KIND_ANY };

	return gp_tr_convert(tr, gp_tr_get(tr, reg), &tr->state.reg[reg], &any);
}

LLVMValueRef gp_tr_rt(struct gp_tr *tr, const char *name, LLVMValueRef *args, unsigned int count)
{
	LLVMValueRef fn = LLVMGetNamedFunction(tr->mod, name), fitted[12];
	LLVMTypeRef type, params[12];

	if (!fn || LLVMCountParams(fn) != count || count > 12) {
		if (!tr->missing)
			tr->missing = name;
		return LLVMConstInt(tr->i64, 0, 0);
	}
	type = LLVMGlobalGetValueType(fn);
	LLVMGetParamTypes(type, params);
	for (unsigned int i = 0; i < count; i++) {
		fitted[i] = args[i];
		if (LLVMGetTypeKind(params[i]) == LLVMIntegerTypeKind)
			fitted[i] = LLVMBuildIntCast2(tr->b, args[i], params[i], 0, "");
	}
	return LLVMBuildCall2(tr->b, type, fn, fitted, count, "");
}

void gp_tr_fault_if(struct gp_tr *tr, LLVMValueRef cond, uint32_t reason)
{
	LLVMBasicBlockRef from = LLVMGetInsertBlock(tr->b), next;
	LLVMValueRef fault = LLVMConstInt(tr->i32, gp_fault(reason, tr->insn), 0), br;

#ifdef GPGPU_UNCHECKED /* a compiler for a benchmark, which nothing installs */
	return;
#endif
	if (LLVMIsAConstantInt(cond) && !LLVMConstIntGetZExtValue(cond))
		return;
	if (tr->simd) {
		gp_simd_leave_if(tr, cond, reason);
		return;
	}
	next = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
	LLVMMoveBasicBlockAfter(next, from);
	br = LLVMBuildCondBr(tr->b, cond, tr->fault, next);
	LLVMSetMetadata(br, tr->md_prof, LLVMMetadataAsValue(tr->ctx, tr->unlikely));
	LLVMAddIncoming(tr->faulted, &fault, &from, 1);
	LLVMPositionBuilderAtEnd(tr->b, next);
}

void gp_tr_leave_if(struct gp_tr *tr, LLVMValueRef cond)
{
	LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
	LLVMValueRef br = LLVMBuildCondBr(tr->b, cond, tr->leave, next);

	LLVMSetMetadata(br, tr->md_prof, LLVMMetadataAsValue(tr->ctx, tr->unlikely));
	LLVMPositionBuilderAtEnd(tr->b, next);
}

LLVMValueRef gp_tr_asm(struct gp_tr *tr, const char *code, const char *operands, LLVMTypeRef type,
		       LLVMValueRef *args, unsigned int count)
{
	static const char *const attributes[] = { "memory", "nounwind", "willreturn" };
	LLVMTypeRef params[4];
	LLVMValueRef as, call;

	for (unsigned int i = 0; i < count; i++)
		params[i] = LLVMTypeOf(args[i]);
	type = LLVMFunctionType(type, params, count, 0);
	as = LLVMGetInlineAsm(type, code, strlen(code), operands, strlen(operands), 0, 0,
			      LLVMInlineAsmDialectATT, 0);
	call = LLVMBuildCall2(tr->b, type, as, args, count, "");
	/* memory(none): so that equal ones become one. */
	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
		unsigned int kind = LLVMGetEnumAttributeKindForName(attributes[i], strlen(attributes[i]));

		LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
					 LLVMCreateEnumAttribute(tr->ctx, kind, 0));
	}
	return call;
}

LLVMValueRef gp_tr_opaque(struct gp_tr *tr, LLVMValueRef value, uint32_t mask)
{
	LLVMValueRef args[2] = { value, LLVMConstInt(tr->i32, mask, 0) };

	if (tr->gpu)
		return LLVMBuildAnd(tr->b, args[0], args[1], "");
	return gp_tr_asm(tr, "andl $2, $0", "=r,0,i,~{flags}", tr->i32, args, 2);
}
