// SPDX-License-Identifier: BSD-3-Clause
/*
 * print.c - printf().
 *
 * How it works: a call becomes a record on the stack, with where its format begins in a section of the object, the number of the
 * work item and the arguments as 64-bit words, and a call of bpf_ringbuf_output() on the map that our <stdio.h> declares.
 * Formats and the strings that %s takes go into that section, which no device sees; libgpgpu makes the text
 * (guest-driver/lib/print.c). So everything about a format is known and checked here, and refused with its line.
 *
 * Runs in front of lower.c, which makes integers of the doubles that are stored here.
 */
#include <stdlib.h>
#include <string.h>
#include <linux/bpf.h>
#include "gpgpu_bpf.h"
#include "cc.h"
#include "print_format.h"

#define HEAD_WORDS  3
#define MAX_CHOICES 8 /* strings one in the other that a %s chooses from */

struct printer {
	LLVMContextRef ctx;
	LLVMBuilderRef b;
	LLVMTypeRef i64;
	LLVMValueRef map;
	char *section;
	size_t size;
	LLVMValueRef *calls;
	size_t num_calls;
};

static LLVMValueRef number(struct printer *p, uint64_t n)
{
	return LLVMConstInt(p->i64, n, 0);
}

/* Return: the offset of a text in the section, the same for equal ones. */
static uint64_t add_text(struct printer *p, char kind, const char *text)
{
	size_t length = strlen(text) + 2, at;

	for (at = sizeof(PRINT_MAGIC); at < p->size; at += strlen(p->section + at) + 1)
		if (p->section[at] == kind && !strcmp(p->section + at + 1, text))
			return at + 1;
	p->section = realloc(p->section, p->size + length);
	if (!p->section)
		die("out of memory");
	p->section[p->size] = kind;
	memcpy(p->section + p->size + 1, text, length - 1);
	p->size += length;
	return at + 1;
}

/* Return: the text of a string constant, to be freed; NULL: it is none. */
static char *constant_string(LLVMValueRef v)
{
	LLVMValueRef init;
	const char *text;
	char *copy;
	size_t length;

	if (!LLVMIsAGlobalVariable(v) || !LLVMIsGlobalConstant(v))
		return NULL;
	init = LLVMGetInitializer(v);
	if (!init)
		return NULL;
	if (LLVMIsAConstantAggregateZero(init))
		return strdup("");
	if (!LLVMIsConstantString(init))
		return NULL;
	text = LLVMGetAsString(init, &length);
	if (!memchr(text, 0, length))
		return NULL;
	copy = strdup(text);
	if (!copy)
		die("out of memory");
	return copy;
}

static LLVMValueRef string_word(struct printer *p, LLVMValueRef v, unsigned int depth);

/* Strings that come from several ways: their numbers do, too. */
static LLVMValueRef phi_word(struct printer *p, LLVMValueRef phi, unsigned int depth)
{
	LLVMValueRef first = LLVMGetFirstInstruction(LLVMGetInstructionParent(phi));
	LLVMValueRef words[64], new;
	LLVMBasicBlockRef blocks[64];
	unsigned int count = LLVMCountIncoming(phi);

	if (count > 64)
		return NULL;
	for (unsigned int i = 0; i < count; i++) {
		blocks[i] = LLVMGetIncomingBlock(phi, i);
		LLVMPositionBuilderBefore(p->b, LLVMGetBasicBlockTerminator(blocks[i]));
		words[i] = string_word(p, LLVMGetIncomingValue(phi, i), depth + 1);
		for (unsigned int j = 0; j < i; j++)
			if (blocks[j] == blocks[i])
				words[i] = words[j];
		if (!words[i])
			return NULL;
	}
	LLVMPositionBuilderBefore(p->b, first);
	new = LLVMBuildPhi(p->b, p->i64, "");
	LLVMAddIncoming(new, words, blocks, count);
	return new;
}

/* Return: where the string begins in the section; NULL: it is no constant. The builder's place may have moved. */
static LLVMValueRef string_word(struct printer *p, LLVMValueRef v, unsigned int depth)
{
	char *text = constant_string(v);
	LLVMValueRef word, a, b;

	if (text) {
		word = number(p, add_text(p, PRINT_STRING, text));
		free(text);
		return word;
	}
	if (depth >= MAX_CHOICES)
		return NULL;
	if (LLVMIsAPHINode(v))
		return phi_word(p, v, depth);
	if (!LLVMIsASelectInst(v))
		return NULL;
	a = string_word(p, LLVMGetOperand(v, 1), depth + 1);
	b = string_word(p, LLVMGetOperand(v, 2), depth + 1);
	if (!a || !b)
		return NULL;
	LLVMPositionBuilderBefore(p->b, v);
	return LLVMBuildSelect(p->b, LLVMGetOperand(v, 0), a, b, "");
}

/* ------------------------------------------------------------------ one call */

static bool is_integer(LLVMValueRef v)
{
	LLVMTypeRef type = LLVMTypeOf(v);

	return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) <= 64;
}

/* The argument as a word: i64, or double; NULL: it was reported. */
static LLVMValueRef word_of(struct printer *p, LLVMValueRef call, unsigned int n,
			    const struct print_conversion *c)
{
	LLVMValueRef v = LLVMGetOperand(call, n), word = NULL;
	LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(v));
	const char *wanted = "an integer";

	LLVMPositionBuilderBefore(p->b, call);
	switch (c->kind) {
	case PRINT_DOUBLE:
		wanted = "a double";
		if (kind == LLVMDoubleTypeKind)
			return v;
		break;
	case PRINT_TEXT:
		wanted = "a string constant";
		if (kind == LLVMPointerTypeKind)
			word = string_word(p, v, 0);
		break;
	case PRINT_POINTER:
		wanted = "a pointer";
		if (kind == LLVMPointerTypeKind)
			word = LLVMBuildPtrToInt(p->b, v, p->i64, "");
		break;
	default:
		if (is_integer(v))
			word = LLVMBuildZExt(p->b, v, p->i64, "");
	}
	if (!word)
		report(call, "printf: %%%c takes %s, which argument %u is not", c->letter, wanted, n + 1);
	return word;
}

/* Room for a record; at the start of the function, where a stack can have it. */
static LLVMValueRef room(struct printer *p, LLVMValueRef call, unsigned int words)
{
	LLVMValueRef fn = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)), at;

	LLVMPositionBuilderBefore(p->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)));
	at = LLVMBuildAlloca(p->b, LLVMArrayType2(p->i64, words), "");
	LLVMSetAlignment(at, 8);
	return at;
}

static void put_word(struct printer *p, LLVMValueRef record, unsigned int n, LLVMValueRef word)
{
	LLVMValueRef index = number(p, n), at = LLVMBuildGEP2(p->b, p->i64, record, &index, 1, "");

	LLVMSetAlignment(LLVMBuildStore(p->b, word, at), 8);
}

static void put_head(struct printer *p, LLVMValueRef record, uint64_t format, unsigned int count)
{
	LLVMValueRef id[3], low;

	for (unsigned int i = 0; i < 3; i++) {
		LLVMValueRef dimension = number(p, i);

		id[i] = helper_call(p->b, GPGPU_HELPER_global_id, &dimension, 1);
	}
	low = LLVMBuildAnd(p->b, id[0], number(p, UINT32_MAX), "");
	put_word(p, record, 0, number(p, format | (uint64_t)count << 32));
	put_word(p, record, 1, LLVMBuildOr(p->b, low, LLVMBuildShl(p->b, id[1], number(p, 32), ""), ""));
	put_word(p, record, 2, LLVMBuildAnd(p->b, id[2], number(p, UINT32_MAX), ""));
}

static void lower_print(struct printer *p, LLVMValueRef call)
{
	char *format = constant_string(LLVMGetOperand(call, 0));
	unsigned int given = LLVMGetNumArgOperands(call) - 1, n = 0;
	const char *at = format, *why = "the format is no string constant";
	LLVMValueRef words[PRINT_MAX_ARGS], record, args[4];
	struct print_conversion c;
	int count = format ? print_count(format, &why) : -1;

	if (count >= 0 && (unsigned int)count != given) {
		why = "the format takes another number of arguments";
		count = -1;
	}
	if (count < 0)
		report(call, "printf: %s", why);
	while (count > 0 && print_next(&at, &c, &why) > 0) {
		words[n] = word_of(p, call, n + 1, &c);
		if (!words[n++])
			count = -1;
	}
	if (count >= 0) {
		record = room(p, call, HEAD_WORDS + given);
		LLVMPositionBuilderBefore(p->b, call);
		put_head(p, record, add_text(p, PRINT_FORMAT, format), given);
		for (n = 0; n < given; n++)
			put_word(p, record, HEAD_WORDS + n, words[n]);
		args[0] = p->map;
		args[1] = record;
		args[2] = number(p, 8 * (HEAD_WORDS + given));
		args[3] = number(p, 0);
		LLVMReplaceAllUsesWith(call,
				       LLVMBuildTrunc(p->b,
						      helper_call(p->b, BPF_FUNC_ringbuf_output, args, 4),
						      LLVMTypeOf(call), ""));
		LLVMInstructionEraseFromParent(call);
	}
	free(format);
}

/* ---------------------------------------------------------------- the module */

static void find_calls(struct printer *p, LLVMValueRef fn)
{
	for (LLVMUseRef use = LLVMGetFirstUse(fn); use; use = LLVMGetNextUse(use)) {
		LLVMValueRef user = LLVMGetUser(use);

		if (!LLVMIsACallInst(user) || LLVMGetCalledValue(user) != fn) {
			report(LLVMIsAInstruction(user) ? user : NULL,
			       "the address of printf: it can only be called");
			continue;
		}
		p->calls = realloc(p->calls, (p->num_calls + 1) * sizeof(*p->calls));
		if (!p->calls)
			die("out of memory");
		p->calls[p->num_calls++] = user;
	}
}

static void add_section(struct printer *p, LLVMModuleRef module)
{
	LLVMValueRef init = LLVMConstStringInContext2(p->ctx, p->section, p->size, 1), global;

	global = LLVMAddGlobal(module, LLVMTypeOf(init), PRINT_MAP "_formats");
	LLVMSetInitializer(global, init);
	LLVMSetGlobalConstant(global, 1);
	LLVMSetSection(global, PRINT_SECTION);
	LLVMSetAlignment(global, 1);
}

void print_module(LLVMModuleRef module)
{
	LLVMValueRef fn = LLVMGetNamedFunction(module, "printf");
	struct printer p = { .ctx = LLVMGetModuleContext(module),
			     .map = LLVMGetNamedGlobal(module, PRINT_MAP) };

	if (fn && !LLVMCountBasicBlocks(fn))
		find_calls(&p, fn);
	if (p.num_calls && !p.map)
		report(p.calls[0], "printf that is not from <stdio.h>");
	if (p.num_calls && p.map) {
		p.b = LLVMCreateBuilderInContext(p.ctx);
		p.i64 = LLVMInt64TypeInContext(p.ctx);
		p.section = strdup(PRINT_MAGIC);
		p.size = sizeof(PRINT_MAGIC);
		if (!p.section)
			die("out of memory");
		for (size_t i = 0; i < p.num_calls; i++)
			lower_print(&p, p.calls[i]);
		add_section(&p, module);
		LLVMDisposeBuilder(p.b);
	}
	if (p.map && !LLVMGetFirstUse(p.map))
		LLVMDeleteGlobal(p.map);
	free(p.calls);
	free(p.section);
}
