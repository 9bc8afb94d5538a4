/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * emit.c - validate, translate, optimise, generate code, flatten.
 *
 * How it works: gp_emit_init() parses the run-time library's bitcode once and sets it up for this machine;
 * every child of the zygote starts from that by fork. gp_emit() puts the program into the module, makes all but the
 * one loop that is wanted internal, so that LLVM drops the rest, and runs LLVM's pipeline with one addition: the
 * checks of accesses fold best when constraint elimination runs once more at the end. Large programs get a
 * cheaper pipeline, since LLVM's time grows faster than the program. With GP_PROG_QUICK every program does: that is
 * code to begin with, which the engine replaces by better code a moment later.
 *
 * The target. At most x86-64-v3: with AVX-512 a single pass of LLVM 19 takes most of the time. No jump
 * tables, so that there are no indirect branches.
 *
 * LLVM reports errors in three ways, all of which end as a verdict: return values, the diagnostic handler (after
 * which emission still claims success) and the fatal error handler.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <virtio_gpgpu.h>
#include "bpf/groups.h"
#include "jit/emit.h"
#include "jit/gpu.h"
#include "jit/lines.h"
#include "jit/ptx.h"
#include "jit/translate.h"

static const char *cpu;
static const struct gp_generation *gpu; /* AMD's, or NULL */
static const struct gp_ptx_target *ptx; /* NVIDIA's, or NULL; neither: code for this machine */

static bool is_gpu(void)
{
	return gpu || ptx;
}

#define COMBINE "instcombine<max-iterations=1;no-use-loop-info;no-verify-fixpoint>"

/*
 * How much LLVM does, by kind and size of the program.
 *
 * The list for packet programs is that of default<O2> without what did not make such programs faster. What it
 * rests on: the program and the helpers become one function with the loop around them; the helpers' loops over keys of a
 * size that is now known are unrolled, so that keys stay in registers; and only then do checks fold.
 */
static const struct tier {
	uint32_t kind; /* or 0: any */
	uint32_t flags; /* GP_PROG_* that the program has */
	uint32_t max_insns;
	const char *passes[3]; /* between them, what masks constants goes away (nospec.c) */
	bool fast_code; /* quick selection and register allocation: code twice as large */
} tiers[] = {
	{ 0,
	  GP_PROG_QUICK,
	  GP_MAX_INSNS,
	  { "globaldce,always-inline,globaldce,function(sroa,early-cse,simplifycfg)" },
	  true },
	{ VIRTIO_GPGPU_PROG_XDP,
	  0,
	  4000,
	  { "globaldce,always-inline,globaldce,cgscc(inline,function(sroa,early-cse<memssa>,simplifycfg)),"
	    "globaldce",
	    "function(" COMBINE ",loop(loop-idiom,indvars,loop-deletion,loop-unroll-full))",
	    "function(sroa,"
	    "early-cse<memssa>,jump-threading,correlated-propagation,simplifycfg,constraint-elimination,"
	    "early-cse<memssa>,dse,loop-mssa(licm),adce,"
	    "simplifycfg<hoist-common-insts;sink-common-insts;no-keep-loops>," COMBINE "),globaldce" },
	  false },
	{ 0,
	  0,
	  4000,
	  { "globaldce,default<O2>,function(constraint-elimination,instcombine<no-verify-fixpoint>,simplifycfg,"
	    "dse,adce)" },
	  false },
	{ 0,
	  0,
	  6000,
	  { "globaldce,always-inline,globaldce,function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
	    "simplifycfg,gvn,constraint-elimination,simplifycfg,dse,adce),globaldce" },
	  false },
	{ 0,
	  0,
	  GP_MAX_INSNS,
	  { "globaldce,always-inline,globaldce,function(sroa,early-cse,simplifycfg,adce),globaldce" },
	  true },
};

/*
 * For GPUs. Everything becomes the kernel, as far as that is bearable: the program's stack and the lane then live in
 * registers, and LLVM knows of each access whether it is to scratch.
 */
#define GPU_INLINE "always-inline,globaldce,function(sroa,early-cse,simplifycfg)"

static const struct tier gpu_tiers[] = {
	{ 0,
	  0,
	  4000,
	  { "function(lower-constant-intrinsics,infer-address-spaces,early-cse<memssa>,simplifycfg," COMBINE
	    ",loop(loop-idiom,indvars,loop-deletion,loop-unroll-full),sroa,infer-address-spaces,"
	    "early-cse<memssa>,correlated-propagation,simplifycfg,constraint-elimination,sroa,"
	    "early-cse<memssa>,dse,loop-mssa(licm),adce,simplifycfg<hoist-common-insts;sink-common-insts;"
	    "no-keep-loops>," COMBINE ",infer-address-spaces),globaldce" },
	  false },
	{ 0,
	  0,
	  8000,
	  { "function(lower-constant-intrinsics,infer-address-spaces,early-cse<memssa>," COMBINE
	    ",simplifycfg,loop(loop-unroll-full),sroa,infer-address-spaces,early-cse,"
	    "constraint-elimination,simplifycfg,dse,adce),globaldce" },
	  false },
	{ 0,
	  0,
	  GP_MAX_INSNS,
	  { "function(infer-address-spaces,early-cse,simplifycfg,adce),globaldce" },
	  true },
};

static const struct tier *pick_tier(const struct gp_prog *prog)
{
	const struct tier *tier = is_gpu() ? gpu_tiers : tiers;

	while ((tier->kind && tier->kind != prog->kind) || (tier->flags & ~prog->flags) ||
	       prog->num_insns > tier->max_insns)
		tier++;
	return tier;
}

extern const uint8_t gp_rt_bitcode[], gp_rt_bitcode_end[], gp_rt_amdgcn[], gp_rt_amdgcn_end[], gp_rt_nvptx[],
	gp_rt_nvptx_end[];

/* The run-time library as machine code, best first. */
extern const uint8_t gp_rt_x86_64[], gp_rt_x86_64_end[], gp_rt_x86_64_v2[], gp_rt_x86_64_v2_end[],
	gp_rt_x86_64_v3[], gp_rt_x86_64_v3_end[];

static const struct library {
	const char *cpu;
	const uint8_t *code, *end;
} libraries[] = {
	{ "x86-64-v3", gp_rt_x86_64_v3, gp_rt_x86_64_v3_end },
	{ "x86-64-v2", gp_rt_x86_64_v2, gp_rt_x86_64_v2_end },
	{ "x86-64", gp_rt_x86_64, gp_rt_x86_64_end },
};

static LLVMContextRef context;
static LLVMModuleRef module;
static LLVMTargetMachineRef machine, fast_machine;
static const struct library *library;

/* Errors that LLVM reported through the diagnostic handler; the first one's words. */
static unsigned int errors;
static char first_error[GP_MESSAGE];

/* Stack that the program's functions take, added up: none is on the stack twice. */
static uint32_t frame_bytes;

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *data)
{
	unsigned int bytes;
	char *text, *frame;

	/* Asked for by the attribute "warn-stack-size". */
	if (LLVMGetDiagInfoSeverity(info) == LLVMDSWarning) {
		text = LLVMGetDiagInfoDescription(info);
		frame = strstr(text, "stack frame size (");
		if (frame && sscanf(frame, "stack frame size (%u)", &bytes) == 1)
			frame_bytes += bytes;
		LLVMDisposeMessage(text);
		return;
	}
	if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || errors++)
		return;
	text = LLVMGetDiagInfoDescription(info);
	snprintf(first_error, sizeof(first_error), "%s", text);
	LLVMDisposeMessage(text);
}

void gp_emit_on_fatal(void (*fatal)(const char *message))
{
	LLVMInstallFatalErrorHandler(fatal);
}

const char *gp_emit_target(void)
{
	return cpu;
}

enum gp_image_kind gp_emit_kind(void)
{
	return ptx ? GP_IMAGE_PTX : GP_IMAGE_CODE;
}

static void set_string_attribute(LLVMValueRef fn, const char *name, const char *value)
{
	LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				LLVMCreateStringAttribute(context, name, (unsigned int)strlen(name), value,
							  (unsigned int)strlen(value)));
}

static void set_attribute(LLVMValueRef fn, const char *name)
{
	unsigned int kind = LLVMGetEnumAttributeKindForName(name, strlen(name));

	LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				LLVMCreateEnumAttribute(context, kind, 0));
}

/* The same target for every function, or none would inline into another. */
static void set_target(LLVMValueRef fn)
{
	static const char *const drop[] = { "target-features", "tune-cpu" };

	set_attribute(fn, "nounwind");
	if (gpu) {
		gp_gpu_function(fn, gpu);
		return;
	}
	if (ptx) {
		gp_ptx_function(fn, ptx);
		return;
	}
	for (size_t i = 0; i < sizeof(drop) / sizeof(*drop); i++)
		LLVMRemoveStringAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, drop[i],
						 (unsigned int)strlen(drop[i]));
	set_string_attribute(fn, "target-cpu", cpu);
	set_string_attribute(fn, "no-jump-tables", "true");
}

/* The lane's own fields change; everything behind them (the environment, map headers) does not during a call. */
static bool loads_from_lane(LLVMValueRef load)
{
	LLVMValueRef at = LLVMGetOperand(load, 0);

	while (LLVMIsAGetElementPtrInst(at))
		at = LLVMGetOperand(at, 0);
	return LLVMIsAAllocaInst(at) || (LLVMIsAArgument(at) && LLVMGetParamParent(at) &&
					 at == LLVMGetParam(LLVMGetParamParent(at), 0));
}

/*
 * So that a store of the program's, to anywhere, does not make LLVM load them again: no program can
 * reach them.
 */
static void mark_constants(void)
{
	static const char *const names[] = { "gp_rt_arg_base",	"gp_rt_arg_size", "gp_rt_arg_writable",
					     "gp_rt_arg_value", "gp_rt_map",	  "gp_rt_map_values",
					     "gp_rt_num_args" };
	unsigned int kind = LLVMGetMDKindIDInContext(context, "invariant.load", 14);
	LLVMMetadataRef empty = LLVMMDNodeInContext2(context, NULL, 0);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		LLVMValueRef fn = LLVMGetNamedFunction(module, names[i]);

		if (!fn)
			continue;
		for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
			for (LLVMValueRef v = LLVMGetFirstInstruction(bb); v; v = LLVMGetNextInstruction(v))
				if (LLVMIsALoadInst(v) && !loads_from_lane(v))
					LLVMSetMetadata(v, kind, LLVMMetadataAsValue(context, empty));
	}
}

static void pick_cpu(void)
{
	__builtin_cpu_init();
	library = libraries;
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2") ||
	    !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("lzcnt") ||
	    !__builtin_cpu_supports("movbe"))
		library++;
	if (library > libraries && (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt")))
		library++;
	cpu = library->cpu;
}

/* Once for the library, so that not every program pays for what it does not use. */
static void set_target_of_library(void)
{
	for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn))
		if (!LLVMIsDeclaration(fn))
			set_target(fn);
}

/* Only @entry can be reached from outside. */
static void make_internal(const char *entry, bool frames)
{
	for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn)) {
		if (LLVMIsDeclaration(fn))
			continue;
		if (!LLVMGetStringAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
						   "target-cpu", 10))
			set_target(fn);
		if (frames)
			set_string_attribute(fn, "warn-stack-size", "0");
		if (strcmp(LLVMGetValueName(fn), entry)) {
			LLVMSetLinkage(fn, LLVMInternalLinkage);
			LLVMSetVisibility(fn, LLVMDefaultVisibility);
		} else {
			LLVMSetVisibility(fn, LLVMHiddenVisibility);
		}
	}
}

static bool has_attribute(LLVMValueRef fn, const char *name)
{
	unsigned int kind = LLVMGetEnumAttributeKindForName(name, strlen(name));

	return LLVMGetEnumAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind);
}

/*
 * What does not inline becomes a declaration, since the library's machine code has it; what LLVM has found
 * out about it stays. That is most of the library, so that a program's module is small.
 */
static const char *outline(void)
{
	static char why[GP_MESSAGE];
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error = LLVMRunPasses(module, "cgscc(function-attrs)", machine, options);
	char *text;

	for (const char *const *name = (const char *const[]){ "llvm.used", "llvm.compiler.used", NULL };
	     *name; name++) {
		LLVMValueRef used = LLVMGetNamedGlobal(module, *name);

		if (used)
			LLVMDeleteGlobal(used);
	}
	for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn)) {
		if (LLVMIsDeclaration(fn) || LLVMGetLinkage(fn) != LLVMExternalLinkage ||
		    has_attribute(fn, "alwaysinline") || !strncmp(LLVMGetValueName(fn), "gp_entry_", 9))
			continue;
		LLVMSetLinkage(fn, LLVMAvailableExternallyLinkage);
		LLVMSetVisibility(fn, LLVMHiddenVisibility);
	}
	if (!error)
		error = LLVMRunPasses(module, "elim-avail-extern", machine, options);
	LLVMDisposePassBuilderOptions(options);
	if (!error)
		return NULL;
	text = LLVMGetErrorMessage(error);
	snprintf(why, sizeof(why), "%s", text);
	LLVMDisposeErrorMessage(text);
	return why;
}

static bool compiler_failed(struct gp_verdict *verdict, const char *stage, const char *what)
{
	verdict->status = VIRTIO_GPGPU_S_REJECTED;
	verdict->reason = VIRTIO_GPGPU_R_COMPILER;
	snprintf(verdict->message, sizeof(verdict->message), "compiler: %s: %.200s", stage, what);
	return false;
}

static bool run_passes(const char *passes, struct gp_verdict *verdict)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error;
	char *text;

	LLVMPassBuilderOptionsSetLoopVectorization(options, 0);
	LLVMPassBuilderOptionsSetSLPVectorization(options, 0);
	error = LLVMRunPasses(module, passes, machine, options);
	LLVMDisposePassBuilderOptions(options);
	if (error) {
		text = LLVMGetErrorMessage(error);
		compiler_failed(verdict, "passes", text);
		LLVMDisposeErrorMessage(text);
		return false;
	}
	return !errors || compiler_failed(verdict, "passes", first_error);
}

/* Behind all that the targets share: accesses as NVIDIA's hardware has them. */
static bool finish_ptx(struct gp_verdict *verdict)
{
	if (!run_passes("function(infer-alignment,load-store-vectorizer)", verdict))
		return false;
	gp_ptx_unaligned(module);
	if (!run_passes("function(early-cse<memssa>," COMBINE ")", verdict))
		return false;
	gp_ptx_atomics(module);
	return true;
}

static bool optimise(const struct tier *tier, struct gp_verdict *verdict)
{
	if (is_gpu()) {
		if (!run_passes(GPU_INLINE, verdict))
			return false;
		gp_gpu_spaces(module);
	}
	for (size_t i = 0; i < sizeof(tier->passes) / sizeof(*tier->passes) && tier->passes[i]; i++) {
		if (i)
			gp_nospec_constants(module);
		if (!run_passes(tier->passes[i], verdict))
			return false;
	}
	gp_nospec_finish(module);
	return !ptx || finish_ptx(verdict);
}

static bool generate(const char *entry, LLVMTargetMachineRef with, bool lines, struct gp_code *code,
		     struct gp_verdict *verdict)
{
	LLVMMemoryBufferRef object = NULL;
	char *text = NULL, why[GP_MESSAGE];
	bool ok;

	if (ptx)
		gp_ptx_kernel(LLVMGetNamedFunction(module, entry));
	if (LLVMTargetMachineEmitToMemoryBuffer(with, module, ptx ? LLVMAssemblyFile : LLVMObjectFile, &text,
						&object))
		return compiler_failed(verdict, "code", text ? text : "failed");
	if (errors)
		return compiler_failed(verdict, "code", first_error);
	if (ptx)
		ok = gp_image_ptx(LLVMGetBufferStart(object), LLVMGetBufferSize(object), ptx, code, why);
	else if (gpu)
		ok = gp_image_flatten_gpu((const uint8_t *)LLVMGetBufferStart(object),
					  LLVMGetBufferSize(object), entry, gpu, code, why);
	else
		ok = gp_image_flatten((const uint8_t *)LLVMGetBufferStart(object), LLVMGetBufferSize(object),
				      library->code, (size_t)(library->end - library->code), entry, code,
				      why);
	if (ok && lines)
		ok = gp_line_table((const uint8_t *)LLVMGetBufferStart(object), LLVMGetBufferSize(object),
				   code, why);
	LLVMDisposeMemoryBuffer(object);
	return ok || compiler_failed(verdict, "image", why);
}

/* What is new: the program, its functions, and shared look-ups. */
static bool is_well_formed(struct gp_verdict *verdict)
{
	for (LLVMValueRef fn = LLVMGetNamedFunction(module, "gp_prog"); fn; fn = LLVMGetNextFunction(fn)) {
		const char *name = LLVMGetValueName(fn);
		bool ours = !strcmp(name, "gp_prog") || !strcmp(name, "gp_simd") ||
			    !strncmp(name, "gp_func_", 8) || !strncmp(name, "gp_shared_", 10);

		if (ours && !LLVMIsDeclaration(fn) && LLVMVerifyFunction(fn, LLVMReturnStatusAction))
			return compiler_failed(verdict, "translation", "not well-formed");
	}
	return true;
}

static bool translate(const struct gp_prog *prog, struct gp_verdict *verdict)
{
	struct gp_kinds kinds = { 0 };
	struct gp_cfg cfg = { 0 };
	const char *missing = NULL;
	bool ok;

	/* Validated before, so this fails only if that was wrong. */
	ok = gp_cfg_build(&cfg, prog, verdict) && gp_kinds_analyse(&kinds, prog, &cfg, verdict);
	if (ok)
		missing = gp_translate(module, prog, &cfg, &kinds);
	gp_kinds_free(&kinds);
	gp_cfg_free(&cfg);
	if (!ok)
		return false;
	if (missing)
		return compiler_failed(verdict, "the run-time library lacks", missing);
	return is_well_formed(verdict);
}

/*
 * On a GPU all of the library becomes part of the program, but for what formats text: a call needs a stack, and takes
 * the lane out of its registers. What of the program itself is inlined the translator has said. What nobody calls
 * goes first, so that nothing is spent on it.
 */
static bool inline_library(const char *entry, struct gp_verdict *verdict)
{
	if (!run_passes("globaldce", verdict))
		return false;
	for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn)) {
		const char *name = LLVMGetValueName(fn);

		if (!LLVMIsDeclaration(fn) && strcmp(name, entry) && strcmp(name, "gp_log_put") &&
		    strcmp(name, "gp_prog") && strncmp(name, "gp_func_", 8) &&
		    strncmp(name, "gp_shared_", 10))
			gp_gpu_inline(fn);
	}
	return true;
}

/* What no GPU can do is refused by name. */
static bool may_run_on_gpu(const struct gp_prog *prog, struct gp_verdict *verdict)
{
	struct gp_group_needs groups;

	gp_group_find(prog->insns, prog->num_insns, &groups);
	if (groups.any) {
		verdict->status = VIRTIO_GPGPU_S_REJECTED;
		verdict->reason = VIRTIO_GPGPU_R_HELPER;
		snprintf(verdict->message, sizeof(verdict->message),
			 "%s: local memory, barriers and what items of a group exchange are not built for GPUs "
			 "yet; the CPU device has them",
			 cpu);
		return false;
	}
	if (!(prog->flags & GP_PROG_INTERLEAVE))
		return true;
	verdict->status = VIRTIO_GPGPU_S_REJECTED;
	verdict->reason = VIRTIO_GPGPU_R_FLAGS;
	snprintf(verdict->message, sizeof(verdict->message),
		 "%s cannot stop lanes between accesses: interleavings are for the CPU", cpu);
	return false;
}

/* The translator has made vectors of the kernel, too. */
static bool is_simd(void)
{
	LLVMValueRef fn = LLVMGetNamedFunction(module, "gp_simd");

	return fn && !LLVMIsDeclaration(fn);
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

bool gp_emit(const struct gp_prog *prog, uint64_t budget_ns, struct gp_code *code, struct gp_verdict *verdict)
{
	bool xdp = prog->kind == VIRTIO_GPGPU_PROG_XDP;
	const char *entry = xdp ? "gp_entry_xdp" : "gp_entry_grid";
	struct gp_group_needs groups;
	const struct tier *tier;
	uint64_t start = cpu_ns();
	bool fast, lines = prog->flags & GP_PROG_LINES;
	struct gp_prog without;

	if (!gp_validate(prog, verdict))
		return false;
	gp_group_find(prog->insns, prog->num_insns, &groups);
	if (groups.any)
		entry = "gp_entry_groups";
	if (is_gpu()) {
		if (!may_run_on_gpu(prog, verdict))
			return false;
		entry = xdp ? "gp_kernel_packets" : "gp_kernel_grid";
	}
	if (ptx && lines) {
		/* The driver makes slow code of text that says which line it is from: there is no table. */
		without = *prog;
		without.flags &= ~GP_PROG_LINES;
		prog = &without;
		lines = false;
	}
	tier = pick_tier(prog);
	errors = 0;
	frame_bytes = 0;
	if (!translate(prog, verdict))
		return false;
	if (!is_gpu() && is_simd())
		entry = groups.any ? "gp_entry_groups_simd" : "gp_entry_simd";
	make_internal(entry, lines);
	if (is_gpu() && !inline_library(entry, verdict))
		return false;
	if (!optimise(tier, verdict))
		return false;
	/* Good code takes about as long again as the passes did. */
	fast = tier->fast_code || cpu_ns() - start > budget_ns / 2;
	if (!generate(entry, fast ? fast_machine : machine, lines, code, verdict))
		return false;
	code->frame_bytes = frame_bytes;
	return true;
}

bool gp_emit_kernel(enum gp_kernel kernel, struct gp_code *code, struct gp_verdict *verdict)
{
	static const char *const names[] = {
		[GP_KERNEL_MAP_OPS] = "gp_kernel_map_ops", [GP_KERNEL_COPY] = "gp_kernel_copy"
	};

	if (!is_gpu() || (size_t)kernel >= sizeof(names) / sizeof(*names) || !names[kernel])
		return compiler_failed(verdict, "kernel", "there is none");
	errors = 0;
	make_internal(names[kernel], false);
	/* The many operations on maps stay functions: their arrays are in memory anyway. */
	return (kernel == GP_KERNEL_MAP_OPS || inline_library(names[kernel], verdict)) &&
	       optimise(gpu_tiers, verdict) && generate(names[kernel], machine, false, code, verdict);
}

#define HOST_TRIPLE "x86_64-unknown-linux-gnu"

static LLVMTargetMachineRef make_machine(LLVMTargetRef target, const char *triple, LLVMCodeGenOptLevel level)
{
	return LLVMCreateTargetMachine(target, triple, cpu,
				       gpu   ? gpu->features
				       : ptx ? ptx->features
					     : "",
				       level, LLVMRelocPIC, LLVMCodeModelSmall);
}

/*
 * Compiles a small program in each way, in a copy of the module, so that what LLVM sets up on first use is there
 * before the zygote forks. The program has a bit of everything: a packet, a stack, a look-up, a counter.
 */
static const char *warm_up(void)
{
	static const struct gp_map_desc map = { .type = VIRTIO_GPGPU_MAP_ARRAY,
						.key_size = 4,
						.value_size = 8,
						.max_entries = 16,
						.stride = 8,
						.num_cpus = 1,
						.values_size = 128 };
	static const struct bpf_insn insns[] = {
		{ .code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = 6, .src_reg = 1, .off = 0 },
		{ .code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = 7, .src_reg = 1, .off = 4 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 8, .src_reg = 6 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 8, .imm = 14 },
		{ .code = BPF_JMP | BPF_JGT | BPF_X, .dst_reg = 8, .src_reg = 7, .off = 12 },
		{ .code = BPF_LDX | BPF_MEM | BPF_H, .dst_reg = 1, .src_reg = 6, .off = 12 },
		{ .code = BPF_ALU | BPF_AND | BPF_K, .dst_reg = 1, .imm = 15 },
		{ .code = BPF_STX | BPF_MEM | BPF_W, .dst_reg = 10, .src_reg = 1, .off = -4 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -4 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD },
		{ 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem },
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 0, .off = 3 },
		{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 1, .src_reg = 0 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = 1 },
		{ .code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = 0, .src_reg = 1 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 2 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct gp_prog prog = { .kind = VIRTIO_GPGPU_PROG_XDP,
				.num_insns = sizeof(insns) / sizeof(*insns),
				.num_maps = 1,
				.insns = insns,
				.maps = &map };
	LLVMModuleRef pristine = module;
	struct gp_verdict verdict = { 0 };
	static char why[GP_MESSAGE];
	struct gp_code code = { 0 };
	bool ok = true;

	for (int quick = 0; ok && quick < 2; quick++) {
		prog.flags = quick ? GP_PROG_QUICK : 0;
		module = LLVMCloneModule(pristine);
		ok = gp_emit(&prog, UINT64_MAX, &code, &verdict);
		LLVMDisposeModule(module);
		module = pristine;
		if (ok) {
			free(code.bytes);
			free(code.place);
		}
	}
	memcpy(why, verdict.message, sizeof(why));
	return ok ? NULL : why;
}

static void init_llvm(void)
{
	/* Local memory is the program's, and finding a lane's part of it takes registers that nothing else needs. */
	static const char *const options[] = {
		"gpgpu-jit", "-disable-promote-alloca-to-lds",
		/* A program is one function, and its control flow all copies. */
		"-large-interval-freq-threshold=16"
	};
	/* Each operation is rounded, as IEEE 754 has it: so that neither LLVM nor the driver fuses or approximates any. */
	static const char *const ptx_options[] = { "gpgpu-jit", "-nvptx-fma-level=0", "-nvptx-prec-divf32=2",
						   "-nvptx-prec-sqrtf32=1" };

	if (gpu) {
		LLVMParseCommandLineOptions(sizeof(options) / sizeof(*options), options, NULL);
		LLVMInitializeAMDGPUTargetInfo();
		LLVMInitializeAMDGPUTarget();
		LLVMInitializeAMDGPUTargetMC();
		LLVMInitializeAMDGPUAsmPrinter();
		LLVMInitializeAMDGPUAsmParser(); /* for inline assembly */
		return;
	}
	if (ptx) {
		LLVMParseCommandLineOptions(sizeof(ptx_options) / sizeof(*ptx_options), ptx_options, NULL);
		LLVMInitializeNVPTXTargetInfo();
		LLVMInitializeNVPTXTarget();
		LLVMInitializeNVPTXTargetMC();
		LLVMInitializeNVPTXAsmPrinter();
		return;
	}
	LLVMInitializeX86TargetInfo();
	LLVMInitializeX86Target();
	LLVMInitializeX86TargetMC();
	LLVMInitializeX86AsmPrinter();
	LLVMInitializeX86AsmParser();
}

const char *gp_emit_init(const char *target_name)
{
	const uint8_t *bitcode = gp_rt_bitcode, *end = gp_rt_bitcode_end;
	const char *triple = HOST_TRIPLE;
	static char *message;
	LLVMMemoryBufferRef buffer;
	LLVMTargetDataRef data;
	LLVMTargetRef target;
	char *layout;

	if (!target_name || !target_name[0]) {
		pick_cpu();
	} else if ((gpu = gp_generation_find(target_name))) {
		cpu = gpu->name;
		triple = GP_GPU_TRIPLE;
		bitcode = gp_rt_amdgcn;
		end = gp_rt_amdgcn_end;
	} else if ((ptx = gp_ptx_target_find(target_name))) {
		cpu = ptx->name;
		triple = GP_PTX_TRIPLE;
		bitcode = gp_rt_nvptx;
		end = gp_rt_nvptx_end;
	} else {
		return "no such target";
	}
	init_llvm();
	context = LLVMContextCreate();
	LLVMContextSetDiagnosticHandler(context, on_diagnostic, NULL);
	LLVMContextSetDiscardValueNames(context, 0);

	buffer = LLVMCreateMemoryBufferWithMemoryRange((const char *)bitcode, (size_t)(end - bitcode), "rt",
						       0);
	if (LLVMParseBitcodeInContext2(context, buffer, &module))
		return errors ? first_error : "the run-time library's bitcode cannot be read";
	if (LLVMGetTargetFromTriple(triple, &target, &message))
		return message;
	machine = make_machine(target, triple, LLVMCodeGenLevelDefault);
	/* What the driver's assembler makes of PTX is not quicker where that is worse. */
	fast_machine = make_machine(target, triple, ptx ? LLVMCodeGenLevelDefault : LLVMCodeGenLevelNone);
	if (!machine || !fast_machine)
		return "no machine for the target";
	LLVMSetTarget(module, triple);
	data = LLVMCreateTargetDataLayout(machine);
	layout = LLVMCopyStringRepOfTargetData(data);
	LLVMSetDataLayout(module, layout);
	LLVMDisposeMessage(layout);
	LLVMDisposeTargetData(data);
	set_target_of_library();
	if (is_gpu())
		return warm_up();
	mark_constants();
	message = (char *)outline();
	return message ? message : warm_up();
}
