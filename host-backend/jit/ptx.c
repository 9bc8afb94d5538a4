/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ptx.c - functions and images for NVIDIA GPUs.
 *
 * An image is the text that LLVM writes, and a NUL. The driver's assembler is the only one who reads it, in a sandbox
 * (cuda/); what is looked at here is only what an image has to be (ptx_targets.h), so that a mistake of ours is known by
 * name and not by the driver's number for it. Numbers that the driver finds out, such as registers, stay 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "jit/ptx.h"

/* Set by clang for no target in particular, or for the wrong one. */
static const char *const drop[] = { "target-cpu", "target-features", "tune-cpu", "frame-pointer",
				    "stack-protector-buffer-size" };

static void set(LLVMValueRef fn, const char *name, const char *value)
{
	LLVMContextRef ctx = LLVMGetModuleContext(LLVMGetGlobalParent(fn));

	LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				LLVMCreateStringAttribute(ctx, name, (unsigned int)strlen(name), value,
							  (unsigned int)strlen(value)));
}

void gp_ptx_function(LLVMValueRef fn, const struct gp_ptx_target *target)
{
	LLVMContextRef ctx = LLVMGetModuleContext(LLVMGetGlobalParent(fn));
	unsigned int norecurse = LLVMGetEnumAttributeKindForName("norecurse", 9);

	for (size_t i = 0; i < sizeof(drop) / sizeof(*drop); i++)
		LLVMRemoveStringAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, drop[i],
						 (unsigned int)strlen(drop[i]));
	set(fn, "target-cpu", target->name);
	set(fn, "target-features", target->features);
	/* Neither the library's nor a program's (bpf/cfg.c): so the stack has a size. */
	LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				LLVMCreateEnumAttribute(ctx, norecurse, 0));
}

static void annotate(LLVMValueRef fn, const char *what, unsigned int value)
{
	LLVMModuleRef mod = LLVMGetGlobalParent(fn);
	LLVMContextRef ctx = LLVMGetModuleContext(mod);
	LLVMValueRef node[3] = { fn, LLVMMDStringInContext(ctx, what, (unsigned int)strlen(what)),
				 LLVMConstInt(LLVMInt32TypeInContext(ctx), value, 0) };

	LLVMAddNamedMetadataOperand(mod, "nvvm.annotations", LLVMMDNodeInContext(ctx, node, 3));
}

void gp_ptx_kernel(LLVMValueRef fn)
{
	LLVMSetValueName2(fn, GP_PTX_KERNEL, strlen(GP_PTX_KERNEL));
	LLVMSetVisibility(fn, LLVMDefaultVisibility);
	annotate(fn, "kernel", 1);
	/* So that the driver leaves enough registers for a whole group. */
	annotate(fn, "maxntidx", GP_PTX_MAX_GROUP);
}

/* ------------------------------------------------------------------ images */

static bool fail(char *error, const char *what, const char *where, size_t length)
{
	snprintf(error, GP_MESSAGE, "%s: %.*s", what, (int)(length < 80 ? length : 80), where);
	return false;
}

static bool starts(const char *line, size_t length, const char *with)
{
	return length >= strlen(with) && !memcmp(line, with, strlen(with));
}

/* Whether the line is "WORD VALUE", perhaps with more behind a comma. */
static bool says(const char *line, size_t length, const char *word, const char *value)
{
	size_t w = strlen(word), v = strlen(value);

	return length >= w + 1 + v && !memcmp(line, word, w) && line[w] == ' ' &&
	       !memcmp(line + w + 1, value, v) && (length == w + 1 + v || line[w + 1 + v] == ',');
}

/* What one line says of the image. */
static bool read_line(const char *line, size_t length, const struct gp_ptx_target *target,
		      struct gp_code *code, uint32_t *kernels, char *error)
{
	static const char entry[] = ".visible .entry ";
	const char *bytes;
	unsigned int n;

	if (starts(line, length, ".version") && !says(line, length, ".version", target->version))
		return fail(error, "another version", line, length);
	if (starts(line, length, ".target") && !says(line, length, ".target", target->name))
		return fail(error, "another target", line, length);
	if (starts(line, length, ".extern"))
		return fail(error, "undefined symbol", line, length);
	if (starts(line, length, entry)) {
		if (!starts(line + strlen(entry), length - strlen(entry), GP_PTX_KERNEL "("))
			return fail(error, "another kernel", line, length);
		++*kernels;
	}
	/* ".shared .align 4 .b8 name[64];" of the module, or of a function. */
	bytes = starts(line, length, ".shared ") || starts(line, length, "\t.shared ")
			? memchr(line, '[', length)
			: NULL;
	if (bytes && sscanf(bytes, "[%u]", &n) == 1)
		code->lds_bytes += n;
	/* "\t.local .align 16 .b8 \t__local_depot0[64];": the stack of one function. */
	bytes = starts(line, length, "\t.local ") ? memchr(line, '[', length) : NULL;
	if (bytes && sscanf(bytes, "[%u]", &n) == 1)
		code->scratch_bytes += n;
	return true;
}

bool gp_image_ptx(const char *text, size_t size, const struct gp_ptx_target *target, struct gp_code *code,
		  char error[GP_MESSAGE])
{
	uint32_t kernels = 0;

	*code = (struct gp_code){ 0 };
	if (size >= GP_PTX_MAX_BYTES || memchr(text, 0, size))
		return fail(error, "too long, or no text", "", 0);
	code->bytes = malloc(size + 1);
	if (!code->bytes)
		return fail(error, "out of memory", "", 0);
	memcpy(code->bytes, text, size);
	code->bytes[size] = 0;
	code->size = (uint32_t)size + 1;
	for (const char *line = (const char *)code->bytes, *end; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		if (!read_line(line, (size_t)(end - line), target, code, &kernels, error)) {
			free(code->bytes);
			*code = (struct gp_code){ 0 };
			return false;
		}
	}
	if (kernels == 1)
		return true;
	free(code->bytes);
	*code = (struct gp_code){ 0 };
	return fail(error, "no kernel", GP_PTX_KERNEL, strlen(GP_PTX_KERNEL));
}
