// SPDX-License-Identifier: BSD-3-Clause
/*
 * prepare.c - before floating point is translated: functions that BPF cannot call, and vectors.
 *
 * A BPF function takes at most five numbers and returns one. A static function with more arguments, or with vectors or
 * structures of floats among them, becomes part of its callers; one that others may call is refused. Vectors are taken
 * apart by LLVM's scalariser, also where they are loaded and stored.
 */
#include <string.h>
#include <llvm-c/Support.h>
#include <llvm/Config/llvm-config.h>
#include "cc.h"

/* Vectors of floats in memory, too: an argument of the pass since LLVM 20, an option of the whole library before. */
#if LLVM_VERSION_MAJOR >= 20
#define SCALARIZER "scalarizer<load-store>"
#else
#define SCALARIZER "scalarizer"
#endif

#define MAX_ARGS 5

static bool is_number(LLVMTypeRef type)
{
	switch (LLVMGetTypeKind(type)) {
	case LLVMVoidTypeKind:
	case LLVMIntegerTypeKind:
	case LLVMPointerTypeKind:
	case LLVMFloatTypeKind:
	case LLVMDoubleTypeKind:
		return true;
	default:
		return false;
	}
}

static bool can_call(LLVMValueRef fn)
{
	LLVMTypeRef type = LLVMGlobalGetValueType(fn);

	if (LLVMCountParams(fn) > MAX_ARGS || !is_number(LLVMGetReturnType(type)))
		return false;
	for (unsigned int i = 0; i < LLVMCountParams(fn); i++)
		if (!is_number(LLVMTypeOf(LLVMGetParam(fn, i))))
			return false;
	return true;
}

static unsigned int kind(const char *name)
{
	return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

const char *prepare_module(LLVMModuleRef module)
{
	LLVMContextRef ctx = LLVMGetModuleContext(module);
	LLVMAttributeIndex at = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
	size_t length;

#if LLVM_VERSION_MAJOR < 20
	static const char *const words[] = { "gpgpu-cc", "-scalarize-load-store" };

	LLVMParseCommandLineOptions(2, words, NULL);
#endif
	for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn)) {
		LLVMLinkage linkage = LLVMGetLinkage(fn);

		if (!LLVMCountBasicBlocks(fn) || can_call(fn))
			continue;
		if (linkage != LLVMInternalLinkage && linkage != LLVMPrivateLinkage) {
			report(fn,
			       "'%s' takes more than five arguments, or a vector or a structure: make it static",
			       LLVMGetValueName2(fn, &length));
			continue;
		}
		LLVMRemoveEnumAttributeAtIndex(fn, at, kind("noinline"));
		LLVMRemoveEnumAttributeAtIndex(fn, at, kind("optnone"));
		LLVMAddAttributeAtIndex(fn, at, LLVMCreateEnumAttribute(ctx, kind("alwaysinline"), 0));
	}
	return "always-inline,function(sroa,early-cse<memssa>," SCALARIZER
	       ",sroa,instcombine<no-verify-fixpoint>," SCALARIZER ",early-cse,simplifycfg,adce)";
}
