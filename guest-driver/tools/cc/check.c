// SPDX-License-Identifier: BSD-3-Clause
/*
 * check.c - what no device can do, by name and with its line, before anything is changed.
 *
 * LLVM's BPF back end would refuse most of it as well, but later, in words about registers and built-in functions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cc.h"

static bool is_body(LLVMValueRef fn)
{
	return LLVMCountBasicBlocks(fn) > 0;
}

/* A name of a type that devices do not have, or NULL. */
static const char *strange_type(LLVMTypeRef type)
{
	switch (LLVMGetTypeKind(type)) {
	case LLVMFP128TypeKind:
	case LLVMX86_FP80TypeKind:
	case LLVMPPC_FP128TypeKind:
		return "'long double' is not there on devices; use double";
	case LLVMHalfTypeKind:
	case LLVMBFloatTypeKind:
		return "arithmetic of this type is not there on devices; keep __fp16 in memory and compute in float";
	case LLVMIntegerTypeKind:
		return LLVMGetIntTypeWidth(type) > 64
			       ? "integers of more than 64 bits are not there on devices"
			       : NULL;
	case LLVMVectorTypeKind:
	case LLVMArrayTypeKind:
		return strange_type(LLVMGetElementType(type));
	default:
		return NULL;
	}
}

static void check_types(LLVMValueRef insn)
{
	const char *why = strange_type(LLVMTypeOf(insn));

	for (int i = 0; !why && i < LLVMGetNumOperands(insn); i++)
		why = strange_type(LLVMTypeOf(LLVMGetOperand(insn, (unsigned int)i)));
	if (why)
		report(insn, "%s", why);
}

static const char *callee_name(LLVMValueRef call)
{
	LLVMValueRef callee = LLVMGetCalledValue(call);
	size_t length;

	return LLVMIsAFunction(callee) ? LLVMGetValueName2(callee, &length) : NULL;
}

/* Helpers of work groups are declared so in gpgpu_bpf.h; the library that loads the object knows which there are. */
static bool is_resolved_later(LLVMValueRef fn)
{
	const char *section = LLVMGetSection(fn);

	return section && !strcmp(section, ".ksyms");
}

/* print.c has the last word. */
static bool is_printf(const char *name)
{
	return !strcmp(name, "printf");
}

static void check_call(LLVMValueRef call)
{
	LLVMValueRef callee = LLVMGetCalledValue(call);
	const char *name = callee_name(call);
	unsigned int width;

	if (LLVMIsAInlineAsm(callee))
		report(call, "inline assembly: a device's instructions are not known when this is compiled");
	else if (!name && !LLVMIsConstant(callee))
		report(call, "a call through a pointer: devices call functions that they know");
	else if (name && !is_body(callee) && strncmp(name, "llvm.", 5) && !math_function(name, &width) &&
		 !is_printf(name) && !is_resolved_later(callee))
		report(call, "'%s' is neither in this file nor a function that devices have", name);
	else if (name && !strncmp(name, "llvm.va_", 8))
		report(call, "a variable number of arguments: functions on devices have at most five");
}

static void check_instruction(LLVMValueRef insn)
{
	check_types(insn);
	switch (LLVMGetInstructionOpcode(insn)) {
	case LLVMCall:
		check_call(insn);
		break;
	case LLVMVAArg:
		report(insn, "a variable number of arguments: functions on devices have at most five");
		break;
	case LLVMIndirectBr:
		report(insn, "a jump to the address of a label");
		break;
	default:
		break;
	}
}

/* --------------------------------------------------------------- recursion
 * Depth first, with the path that is being walked marked; every function is walked once.
 */
enum { NEW = 0, ON_PATH, DONE };

struct walk {
	LLVMValueRef *functions;
	char *state;
	size_t count;
};

static size_t number_of(const struct walk *w, LLVMValueRef fn)
{
	size_t i = 0;

	while (i < w->count && w->functions[i] != fn)
		i++;
	return i;
}

static void walk(struct walk *w, size_t fn)
{
	size_t length;

	w->state[fn] = ON_PATH;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(w->functions[fn]); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
			size_t to;

			if (LLVMGetInstructionOpcode(i) != LLVMCall)
				continue;
			to = number_of(w, LLVMGetCalledValue(i));
			if (to == w->count)
				continue;
			if (w->state[to] == ON_PATH)
				report(i,
				       "recursion: '%s' is called while it runs; devices have no stack for "
				       "that, make it a loop",
				       LLVMGetValueName2(w->functions[to], &length));
			else if (w->state[to] == NEW)
				walk(w, to);
		}
	w->state[fn] = DONE;
}

static void check_recursion(LLVMModuleRef module)
{
	struct walk w = { 0 };

	for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn))
		w.count++;
	w.functions = calloc(w.count + 1, sizeof(*w.functions));
	w.state = calloc(w.count + 1, 1);
	if (!w.functions || !w.state)
		die("out of memory");
	w.count = 0;
	for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn))
		if (is_body(fn))
			w.functions[w.count++] = fn;
	for (size_t i = 0; i < w.count; i++)
		if (w.state[i] == NEW)
			walk(&w, i);
	free(w.functions);
	free(w.state);
}

void check_module(LLVMModuleRef module)
{
	size_t length;

	for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn)) {
		if (!is_body(fn))
			continue;
		if (LLVMIsFunctionVarArg(LLVMGlobalGetValueType(fn)))
			report(fn,
			       "'%s' takes a variable number of arguments: functions on devices have at most five",
			       LLVMGetValueName2(fn, &length));
		for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
			for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
				check_instruction(i);
	}
	check_recursion(module);
}
