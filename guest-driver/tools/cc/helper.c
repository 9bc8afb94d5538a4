// SPDX-License-Identifier: BSD-3-Clause
/* helper.c - calls of helpers, which are calls of their numbers: LLVM's BPF back end makes the instruction of them. */
#include "cc.h"

LLVMValueRef helper_call(LLVMBuilderRef b, int32_t number, const LLVMValueRef *args, unsigned int count)
{
	LLVMContextRef ctx = LLVMGetTypeContext(LLVMTypeOf(args[0]));
	LLVMTypeRef i64 = LLVMInt64TypeInContext(ctx), types[5];
	LLVMValueRef callee =
		LLVMConstIntToPtr(LLVMConstInt(i64, (uint64_t)number, 0), LLVMPointerTypeInContext(ctx, 0));

	for (unsigned int i = 0; i < count; i++)
		types[i] = LLVMTypeOf(args[i]);
	return LLVMBuildCall2(b, LLVMFunctionType(i64, types, count, 0), callee, (LLVMValueRef *)args, count,
			      "");
}
