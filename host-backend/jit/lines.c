// SPDX-License-Identifier: BSD-3-Clause
/*
 * lines.c - debug locations that say BPF instructions; lines.h says what for.
 *
 * Line n + 1 is instruction n; LINE_NONE is code of no instruction, since line 0 would be "as before". Functions of the
 * run-time library get no debug information of their own: what LLVM inlines of them then takes the
 * location of the call, which is the helper's instruction.
 */
#include <stdlib.h>
#include <string.h>
#include <llvm-c/DebugInfo.h>
#include "jit/lines.h"

#define LINE_NONE     (GP_MAX_INSNS + 1u)
#define DWARF_VERSION 4

struct gp_lines {
	LLVMContextRef ctx;
	LLVMDIBuilderRef di;
	LLVMMetadataRef file, type;
	LLVMMetadataRef scope; /* of the function that is being built */
};

static void module_flag(LLVMModuleRef mod, const char *name, unsigned int value)
{
	LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetModuleContext(mod));

	LLVMAddModuleFlag(mod, LLVMModuleFlagBehaviorWarning, name, strlen(name),
			  LLVMValueAsMetadata(LLVMConstInt(i32, value, 0)));
}

struct gp_lines *gp_lines_new(LLVMModuleRef mod)
{
	struct gp_lines *lines = calloc(1, sizeof(*lines));

	if (!lines)
		return NULL;
	lines->ctx = LLVMGetModuleContext(mod);
	module_flag(mod, "Debug Info Version", LLVMDebugMetadataVersion());
	module_flag(mod, "Dwarf Version", DWARF_VERSION);
	lines->di = LLVMCreateDIBuilder(mod);
	lines->file = LLVMDIBuilderCreateFile(lines->di, "bpf", 3, "", 0);
	LLVMDIBuilderCreateCompileUnit(lines->di, LLVMDWARFSourceLanguageC, lines->file, "", 0, 1, "", 0, 0,
				       "", 0, LLVMDWARFEmissionLineTablesOnly, 0, 0, 0, "", 0, "", 0);
	lines->type = LLVMDIBuilderCreateSubroutineType(lines->di, lines->file, NULL, 0, LLVMDIFlagZero);
	return lines;
}

void gp_lines_free(struct gp_lines *lines)
{
	if (!lines)
		return;
	LLVMDIBuilderFinalize(lines->di);
	LLVMDisposeDIBuilder(lines->di);
	free(lines);
}

static LLVMMetadataRef give_scope(struct gp_lines *lines, LLVMValueRef fn)
{
	LLVMMetadataRef scope = LLVMGetSubprogram(fn);
	size_t size;
	const char *name;

	if (scope)
		return scope;
	name = LLVMGetValueName2(fn, &size);
	scope = LLVMDIBuilderCreateFunction(lines->di, lines->file, name, size, name, size, lines->file,
					    LINE_NONE, lines->type, 1, 1, LINE_NONE, LLVMDIFlagZero, 1);
	LLVMSetSubprogram(fn, scope);
	return scope;
}

void gp_lines_function(struct gp_lines *lines, LLVMBuilderRef b, LLVMValueRef fn)
{
	if (!lines)
		return;
	lines->scope = give_scope(lines, fn);
	gp_lines_insn(lines, b, GP_LINE_NONE);
}

static LLVMMetadataRef location(struct gp_lines *lines, uint32_t insn)
{
	unsigned int line = insn == GP_LINE_NONE ? LINE_NONE : insn + 1;

	return LLVMDIBuilderCreateDebugLocation(lines->ctx, line, 0, lines->scope, NULL);
}

void gp_lines_insn(struct gp_lines *lines, LLVMBuilderRef b, uint32_t insn)
{
	if (lines)
		LLVMSetCurrentDebugLocation2(b, location(lines, insn));
}

void gp_lines_callers(struct gp_lines *lines, LLVMValueRef prog)
{
	if (!lines)
		return;
	for (LLVMUseRef use = LLVMGetFirstUse(prog); use; use = LLVMGetNextUse(use)) {
		LLVMValueRef call = LLVMGetUser(use), fn;

		if (!LLVMIsACallInst(call))
			continue;
		fn = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
		if (LLVMGetSubprogram(fn))
			continue;
		lines->scope = give_scope(lines, fn);
		for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
			for (LLVMValueRef v = LLVMGetFirstInstruction(bb); v; v = LLVMGetNextInstruction(v))
				LLVMInstructionSetDebugLoc(v, location(lines, GP_LINE_NONE));
		gp_lines_callers(lines, fn);
	}
}
