/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu.c - attributes of functions for AMD GPUs.
 *
 * A kernel gets the address of its arguments and the number of its work group, and each lane its number there; the
 * attributes say that nothing else is asked for, so that the argument block has 8 bytes and no register is spent.
 */
#include <stdio.h>
#include <string.h>
#include "jit/gpu.h"

/* Set by clang for no target in particular. */
static const char *const drop[] = { "target-features", "tune-cpu", "amdgpu-waves-per-eu", "amdgpu-no-agpr" };

static const char *const not_needed[] = {
	"amdgpu-no-completion-action", "amdgpu-no-default-queue",  "amdgpu-no-dispatch-id",
	"amdgpu-no-dispatch-ptr",      "amdgpu-no-heap-ptr",	   "amdgpu-no-hostcall-ptr",
	"amdgpu-no-implicitarg-ptr",   "amdgpu-no-lds-kernel-id",  "amdgpu-no-multigrid-sync-arg",
	"amdgpu-no-queue-ptr",	       "amdgpu-no-workgroup-id-y", "amdgpu-no-workgroup-id-z",
	"amdgpu-no-workitem-id-y",     "amdgpu-no-workitem-id-z",
};

static void set(LLVMValueRef fn, const char *name, const char *value)
{
	LLVMContextRef ctx = LLVMGetModuleContext(LLVMGetGlobalParent(fn));

	LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				LLVMCreateStringAttribute(ctx, name, (unsigned int)strlen(name), value,
							  (unsigned int)strlen(value)));
}

static unsigned int kind_of(const char *name)
{
	return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

void gp_gpu_inline(LLVMValueRef fn)
{
	LLVMContextRef ctx = LLVMGetModuleContext(LLVMGetGlobalParent(fn));

	LLVMRemoveEnumAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				       kind_of("noinline"));
	LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				LLVMCreateEnumAttribute(ctx, kind_of("alwaysinline"), 0));
}

void gp_gpu_function(LLVMValueRef fn, const struct gp_generation *gen)
{
	char size[32];

	for (size_t i = 0; i < sizeof(drop) / sizeof(*drop); i++)
		LLVMRemoveStringAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, drop[i],
						 (unsigned int)strlen(drop[i]));
	for (size_t i = 0; i < sizeof(not_needed) / sizeof(*not_needed); i++)
		set(fn, not_needed[i], "");
	set(fn, "target-cpu", gen->name);
	set(fn, "target-features", gen->features);
	/* Neither the library's nor a program's (bpf/cfg.c): so the stack has a size. */
	LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				LLVMCreateEnumAttribute(LLVMGetModuleContext(LLVMGetGlobalParent(fn)),
							kind_of("norecurse"), 0));
	snprintf(size, sizeof(size), "%u,%u", gen->wave, gen->wave);
	set(fn, "amdgpu-flat-work-group-size", size);
	set(fn, "uniform-work-group-size", "true");
}
