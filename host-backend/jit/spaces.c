/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spaces.c - tells LLVM which memory the run-time library's pointers point at, on a GPU.
 *
 * The library is C, where a pointer may point anywhere, and an access to just anywhere is slow on a GPU: for each lane
 * the hardware finds out whether that is scratch. But what can be reached through a launch (rt/launch.h)
 * is global memory, and most of the structures there do not change while the launch runs, so that LLVM
 * may read them once, and for all lanes of a wave at once where they all read the same.
 *
 * Which structure a load reads says its type tag (!tbaa), which clang writes for other reasons. So a load
 * from one of the structures below reads constant memory (address space 4), and a pointer that is loaded from any
 * structure but the lane's own is one to global memory (1). LLVM's pass infer-address-spaces does the rest. This is for a
 * module in which the library has been inlined, and local variables are gone but for those that have to be in memory.
 * The tags are removed: nothing may rest on C's rules for them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "jit/gpu.h"
#include "rt/abi.h"

/* NVIDIA's constant memory (4) is another thing: there a load that nothing changes is enough. */
enum { SPACE_GLOBAL = 1, AMD_CONSTANT = 4 };
static unsigned int space_constant;

/* Not changed by anybody while a launch runs that reads them with a plain load. */
static const char *const constant[] = { "gp_launch",	"gp_env",	  "gp_map",
					"gp_region",	"gp_clock",	  "gp_grid",
					"gp_packet_in", "gp_launch_part", "gp_launch_copy" };

/* A lane's own, where pointers may be to its stack. */
static const char *const own[] = { "gp_lane", "gp_window", "gp_text" };

static bool among(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/*
 * What their pointers are multiples of, if not said otherwise: the wire format asks it of buffers and slots, and the rest
 * is the engine's. For NVIDIA, whose accesses have to be aligned.
 */
static const struct alignment {
	const char *name;
	uint64_t offset; /* of the member */
	unsigned int bytes;
} alignments[] = {
	{ "gp_map", offsetof(struct gp_map, values), 64 },
	{ "gp_map", offsetof(struct gp_map, keys), 8 },
	{ "gp_region", offsetof(struct gp_region, base), 8 },
	{ "gp_env", offsetof(struct gp_env, slots), 64 },
};

#define MAX_OPERANDS 128

/* The name of the structure that an access is to; of a scalar: the type's; "" where its tag says nothing. */
static void accessed(LLVMValueRef load, unsigned int kind, char name[64], uint64_t *offset)
{
	LLVMValueRef tag = LLVMGetMetadata(load, kind), node[MAX_OPERANDS];
	unsigned int length = 0;
	const char *text;

	name[0] = 0;
	*offset = UINT64_MAX;
	if (!tag || LLVMGetMDNodeNumOperands(tag) > MAX_OPERANDS || !LLVMGetMDNodeNumOperands(tag))
		return;
	LLVMGetMDNodeOperands(tag, node);
	if (LLVMGetMDNodeNumOperands(tag) > 2 && LLVMIsAConstantInt(node[2]))
		*offset = LLVMConstIntGetZExtValue(node[2]);
	tag = node[0]; /* the outermost type */
	if (!LLVMIsAMDNode(tag) || LLVMGetMDNodeNumOperands(tag) > MAX_OPERANDS ||
	    !LLVMGetMDNodeNumOperands(tag))
		return;
	LLVMGetMDNodeOperands(tag, node);
	text = LLVMGetMDString(node[0], &length);
	if (!text || length >= 64)
		return;
	memcpy(name, text, length);
	name[length] = 0;
}

/* A load through @at of what @load loads. */
static LLVMValueRef load_again(LLVMBuilderRef b, LLVMValueRef load, LLVMTypeRef type, LLVMValueRef at)
{
	LLVMValueRef again;

	again = LLVMBuildLoad2(b, type, at, "");
	LLVMSetAlignment(again, LLVMGetAlignment(load));
	return again;
}

/* What an address is made from, casts and constant offsets aside. */
static LLVMValueRef base_of(LLVMValueRef at)
{
	while (LLVMIsAGetElementPtrInst(at) || LLVMIsAAddrSpaceCastInst(at))
		at = LLVMGetOperand(at, 0);
	return at;
}

static void align(LLVMContextRef ctx, LLVMValueRef load, const char *name, uint64_t offset)
{
	LLVMTypeRef i64 = LLVMInt64TypeInContext(ctx);

	for (size_t i = 0; i < sizeof(alignments) / sizeof(*alignments); i++) {
		const struct alignment *a = &alignments[i];
		LLVMMetadataRef bytes = LLVMValueAsMetadata(LLVMConstInt(i64, a->bytes, 0));

		if (!strcmp(a->name, name) && a->offset == offset)
			LLVMSetMetadata(load, LLVMGetMDKindIDInContext(ctx, "align", 5),
					LLVMMetadataAsValue(ctx, LLVMMDNodeInContext2(ctx, &bytes, 1)));
	}
}

static void rewrite(LLVMBuilderRef b, LLVMContextRef ctx, LLVMValueRef load, const char *name,
		    uint64_t offset)
{
	bool pointer = LLVMGetTypeKind(LLVMTypeOf(load)) == LLVMPointerTypeKind;
	bool reads_constant = among(constant, sizeof(constant) / sizeof(*constant), name);
	LLVMTypeRef type = LLVMTypeOf(load);
	LLVMValueRef at = LLVMGetOperand(load, 0), base = base_of(at), again;

	/* A local variable that stayed one: a lane, a map with its constants. */
	if (LLVMIsAAllocaInst(base))
		return;
	/* An element of a table of pointers has no structure: env->maps[n], env->inner[n]. */
	if (pointer && !strcmp(name, "any pointer")) {
		if (!LLVMIsALoadInst(base))
			return;
		reads_constant = true;
	}
	if (!reads_constant && !pointer)
		return;
	LLVMPositionBuilderBefore(b, load);
	if (pointer)
		type = LLVMPointerTypeInContext(ctx, SPACE_GLOBAL);
	/* What NVIDIA's driver hands to a kernel has its own space, which code generation gives it. */
	if (reads_constant && (space_constant == AMD_CONSTANT || !LLVMIsAArgument(base)))
		at = LLVMBuildAddrSpaceCast(b, at, LLVMPointerTypeInContext(ctx, space_constant), "");
	again = load_again(b, load, type, at);
	if (reads_constant)
		LLVMSetMetadata(again, LLVMGetMDKindIDInContext(ctx, "invariant.load", 14),
				LLVMMetadataAsValue(ctx, LLVMMDNodeInContext2(ctx, NULL, 0)));
	if (pointer) {
		if (space_constant == SPACE_GLOBAL)
			align(ctx, again, name, offset);
		again = LLVMBuildAddrSpaceCast(b, again, LLVMTypeOf(load), "");
	}
	LLVMReplaceAllUsesWith(load, again);
	LLVMInstructionEraseFromParent(load);
}

/*
 * Where pointers meet, one that is NULL is as good a pointer to global memory as any other; as it stands LLVM would take it
 * for one to anywhere, and so what comes of them all.
 */
static void rewrite_nulls(LLVMContextRef ctx, LLVMValueRef v)
{
	LLVMTypeRef global = LLVMPointerTypeInContext(ctx, SPACE_GLOBAL), type = LLVMTypeOf(v);

	if ((!LLVMIsAPHINode(v) && !LLVMIsASelectInst(v)) || LLVMGetTypeKind(type) != LLVMPointerTypeKind ||
	    LLVMGetPointerAddressSpace(type))
		return;
	for (int i = 0; i < LLVMGetNumOperands(v); i++)
		if (LLVMIsAConstantPointerNull(LLVMGetOperand(v, (unsigned int)i)))
			LLVMSetOperand(v, (unsigned int)i,
				       LLVMConstAddrSpaceCast(LLVMConstNull(global), type));
}

/* A launch is global memory. AMD's code generation knows that of a kernel's arguments, NVIDIA's finds it out too late. */
static void rewrite_argument(LLVMBuilderRef b, LLVMContextRef ctx, LLVMValueRef fn)
{
	LLVMValueRef arg = LLVMGetFirstParam(fn), known, again;

	LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)));
	known = LLVMBuildAddrSpaceCast(b, arg, LLVMPointerTypeInContext(ctx, SPACE_GLOBAL), "");
	again = LLVMBuildAddrSpaceCast(b, known, LLVMTypeOf(arg), "");
	LLVMReplaceAllUsesWith(arg, again);
	LLVMSetOperand(known, 0, arg);
}

void gp_gpu_spaces(LLVMModuleRef mod)
{
	LLVMContextRef ctx = LLVMGetModuleContext(mod);
	LLVMBuilderRef b = LLVMCreateBuilderInContext(ctx);
	unsigned int kind = LLVMGetMDKindIDInContext(ctx, "tbaa", 4);
	unsigned int copies = LLVMGetMDKindIDInContext(ctx, "tbaa.struct", 11);
	uint64_t offset;
	char name[64];

	space_constant = strncmp(LLVMGetTarget(mod), "nvptx", 5) ? AMD_CONSTANT : SPACE_GLOBAL;
	for (LLVMValueRef fn = LLVMGetFirstFunction(mod); fn; fn = LLVMGetNextFunction(fn)) {
		if (space_constant == SPACE_GLOBAL && !LLVMIsDeclaration(fn) &&
		    !strncmp(LLVMGetValueName(fn), "gp_kernel_", 10))
			rewrite_argument(b, ctx, fn);
		for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb)) {
			LLVMValueRef next;

			for (LLVMValueRef v = LLVMGetFirstInstruction(bb); v; v = next) {
				next = LLVMGetNextInstruction(v);
				accessed(v, kind, name, &offset);
				LLVMSetMetadata(v, kind, NULL);
				LLVMSetMetadata(v, copies, NULL);
				rewrite_nulls(ctx, v);
				if (LLVMIsALoadInst(v) && !LLVMGetVolatile(v) &&
				    LLVMGetOrdering(v) == LLVMAtomicOrderingNotAtomic && name[0] &&
				    !among(own, sizeof(own) / sizeof(*own), name))
					rewrite(b, ctx, v, name, offset);
			}
		}
	}
	LLVMDisposeBuilder(b);
}
