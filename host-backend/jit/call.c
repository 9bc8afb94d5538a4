/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call.c - helpers and bpf-to-bpf functions.
 *
 * A helper is a call of the run-time library that inlines. Arguments that point are checked and turned into
 * addresses here, by the helper's row in the table; a map that is known passes its constants along, so that
 * look-ups are specialised. Beyond a few sites per map, they share one function (code size).
 *
 * A local function takes the lane, the stack, its frame pointer and r1 to r5 in the form that the analysis found for
 * all its callers. A fault in it is seen by the caller through the lane.
 */
#include <stdio.h>
#include <string.h>
#include <virtio_gpgpu.h>
#include "bpf/helpers.h"
#include "bpf/opcodes.h"
#include "jit/translate.h"

void gp_tr_burn(struct gp_tr *tr, uint64_t cost)
{
	LLVMValueRef args[2] = { tr->lane, gp_tr_const(tr, (int64_t)cost) },
		     out = gp_tr_rt(tr, "gp_rt_burn", args, 2);

	gp_tr_fault_if(tr, LLVMBuildICmp(tr->b, LLVMIntNE, out, LLVMConstInt(LLVMTypeOf(out), 0, 0), ""),
		       VIRTIO_GPGPU_R_OUT_OF_FUEL);
}

/* ------------------------------------------------------------------ helpers */

/* Memory that may be NULL where its size is 0. */
static LLVMValueRef nullable(struct gp_tr *tr, int reg, LLVMValueRef size)
{
	LLVMValueRef null = LLVMConstNull(tr->ptr), empty, at, phi, values[2];
	LLVMBasicBlockRef from, use, next, blocks[2];

	empty = LLVMBuildICmp(tr->b, LLVMIntEQ, size, gp_tr_const(tr, 0), "");
	if (tr->state.reg[reg].kind == GP_KIND_SCALAR) { /* the constant NULL */
		gp_tr_fault_if(tr, LLVMBuildNot(tr->b, empty, ""), VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
		return null;
	}
	if (LLVMIsAConstantInt(size))
		return LLVMConstIntGetZExtValue(size) ? gp_tr_address(tr, reg, 0, size, false) : null;
	use = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
	next = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
	from = LLVMGetInsertBlock(tr->b);
	LLVMBuildCondBr(tr->b, empty, next, use);
	LLVMPositionBuilderAtEnd(tr->b, use);
	at = gp_tr_address(tr, reg, 0, size, false);
	use = LLVMGetInsertBlock(tr->b);
	LLVMBuildBr(tr->b, next);
	LLVMPositionBuilderAtEnd(tr->b, next);
	phi = LLVMBuildPhi(tr->b, tr->ptr, "");
	values[0] = null;
	values[1] = at;
	blocks[0] = from;
	blocks[1] = use;
	LLVMAddIncoming(phi, values, blocks, 2);
	return phi;
}

/* The context says nothing to the run-time library, but it must be the context. */
static void context_argument(struct gp_tr *tr, int reg)
{
	const struct gp_val *val = &tr->state.reg[reg];
	LLVMValueRef want = gp_tr_const(tr, (int64_t)GP_REGION_CTX << GP_REGION_SHIFT);

	if (val->kind == GP_KIND_CTX && val->known)
		return; /* at offset 0, see check.c */
	gp_tr_fault_if(tr, LLVMBuildICmp(tr->b, LLVMIntNE, gp_tr_handle(tr, reg), want, ""),
		       VIRTIO_GPGPU_R_CTX_ACCESS);
}

/* Arguments by the table, but those that say nothing to the run-time library. Return: how many. */
static unsigned int arguments(struct gp_tr *tr, const struct gp_helper *helper, LLVMValueRef *args)
{
	unsigned int count = 0;

	args[count++] = tr->lane;
	for (int i = 0; i < GP_HELPER_ARGS && helper->args[i] != GP_ARG_NONE; i++) {
		LLVMValueRef size = i + 2 <= 5 && tr->state.reg[i + 2].kind != GP_KIND_UNINIT
					    ? gp_tr_get(tr, i + 2)
					    : gp_tr_const(tr, 0);

		switch (helper->args[i]) {
		case GP_ARG_CTX:
			context_argument(tr, i + 1);
			break;
		case GP_ARG_ANYTHING:
			args[count++] = gp_tr_handle(tr, i + 1);
			break;
		case GP_ARG_MEM_READ:
			args[count++] = gp_tr_address(tr, i + 1, 0, size, false);
			break;
		case GP_ARG_MEM_READ_NULL:
			args[count++] = nullable(tr, i + 1, size);
			break;
		case GP_ARG_MEM_WRITE:
			args[count++] = gp_tr_address(tr, i + 1, 0, size, true);
			break;
		default:
			args[count++] = gp_tr_get(tr, i + 1);
		}
	}
	return count;
}

static unsigned int map_constants(struct gp_tr *tr, int m, LLVMValueRef *args)
{
	const struct gp_map_desc *map = &tr->prog->maps[m];
	uint32_t values[] = { map->type,	map->key_size, map->value_size,
			      map->max_entries, map->num_cpus, map->num_buckets };
	unsigned int count = 0;

	for (; count < sizeof(values) / sizeof(*values); count++)
		args[count] = LLVMConstInt(tr->i32, values[count], 0);
	return count;
}

/* A function that looks up in one map: (lane, map, key). */
static LLVMValueRef shared_lookup(struct gp_tr *tr, int m)
{
	LLVMTypeRef params[3] = { tr->ptr, tr->ptr, tr->ptr };
	LLVMBasicBlockRef back = LLVMGetInsertBlock(tr->b);
	LLVMValueRef args[9], ret;
	char name[32];
	unsigned int kind;

	if (tr->shared_lookup[m])
		return tr->shared_lookup[m];
	snprintf(name, sizeof(name), "gp_lookup_%d", m);
	tr->shared_lookup[m] = LLVMAddFunction(tr->mod, name, LLVMFunctionType(tr->i64, params, 3, 0));
	LLVMSetLinkage(tr->shared_lookup[m], LLVMInternalLinkage);
	kind = LLVMGetEnumAttributeKindForName("noinline", 8);
	LLVMAddAttributeAtIndex(tr->shared_lookup[m], (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				LLVMCreateEnumAttribute(tr->ctx, kind, 0));
	LLVMPositionBuilderAtEnd(tr->b, LLVMAppendBasicBlockInContext(tr->ctx, tr->shared_lookup[m], ""));
	for (unsigned int i = 0; i < 3; i++)
		args[i] = LLVMGetParam(tr->shared_lookup[m], i);
	map_constants(tr, m, args + 3);
	ret = gp_tr_rt(tr, "gp_helper_map_lookup", args, 9);
	LLVMBuildRet(tr->b, ret);
	LLVMPositionBuilderAtEnd(tr->b, back);
	return tr->shared_lookup[m];
}

/* Offset + 1 or 0, to a handle or 0. @bias is the region of the map's values. */
static LLVMValueRef value_handle(struct gp_tr *tr, LLVMValueRef found, LLVMValueRef bias)
{
	LLVMValueRef zero = gp_tr_const(tr, 0), handle;

	handle = LLVMBuildAdd(tr->b, LLVMBuildSub(tr->b, found, gp_tr_const(tr, 1), ""), bias, "");
	return LLVMBuildSelect(tr->b, LLVMBuildICmp(tr->b, LLVMIntEQ, found, zero, ""), zero, handle, "");
}

/* map_lookup_elem, map_update_elem, map_delete_elem in a map that is known. */
static LLVMValueRef known_map(struct gp_tr *tr, const struct gp_helper *helper, int m)
{
	LLVMValueRef index[2] = { tr->lane, LLVMConstInt(tr->i32, (unsigned int)m, 0) }, args[12], ret;
	unsigned int count = 0;

	args[count++] = tr->lane;
	args[count++] = gp_tr_rt(tr, "gp_rt_map", index, 2);
	args[count++] = gp_tr_address(tr, 2, 0, gp_tr_const(tr, tr->prog->maps[m].key_size), false);
	if (helper->ret == GP_RET_VALUE &&
	    tr->lookups[m] > (tr->prog->flags & GP_PROG_QUICK ? 0 : GP_INLINE_LOOKUPS) &&
	    tr->prog->maps[m].type != VIRTIO_GPGPU_MAP_ARRAY) {
		LLVMValueRef fn = shared_lookup(tr, m);

		ret = LLVMBuildCall2(tr->b, LLVMGlobalGetValueType(fn), fn, args, count, "");
	} else {
		if (helper->args[2] == GP_ARG_VALUE) {
			args[count++] =
				gp_tr_address(tr, 3, 0, gp_tr_const(tr, tr->prog->maps[m].value_size), false);
			args[count++] = gp_tr_get(tr, 4);
		}
		count += map_constants(tr, m, args + count);
		ret = gp_tr_rt(tr, helper->function, args, count);
	}
	if (helper->ret != GP_RET_VALUE)
		return ret;
	return value_handle(tr, ret,
			    gp_tr_const(tr, (int64_t)((uint64_t)(GP_REGION_MAP0 + (unsigned int)m)
						      << GP_REGION_SHIFT)));
}

/* The same where the map is one of several, or a handle from memory: its sizes come from the map itself. */
static LLVMValueRef chosen_map(struct gp_tr *tr, const struct gp_helper *helper)
{
	LLVMValueRef handle = gp_tr_get(tr, 1), n, map, args[5], region[4], size, ret;
	LLVMValueRef first = gp_tr_const(tr, (int64_t)GP_REGION_MAPPTR0 << GP_REGION_SHIFT);
	unsigned int count = 0;
	char name[64];

	/* The number of the map, with whatever bits do not belong there on top. */
	n = LLVMBuildSub(tr->b, handle, first, "");
	n = LLVMBuildOr(tr->b, LLVMBuildLShr(tr->b, n, gp_tr_const(tr, GP_REGION_SHIFT), ""),
			LLVMBuildShl(tr->b, n, gp_tr_const(tr, 64 - GP_REGION_SHIFT), ""), "");
	gp_tr_fault_if(tr, LLVMBuildICmp(tr->b, LLVMIntUGE, n, gp_tr_const(tr, tr->prog->num_maps), ""),
		       VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
	/* A wrong guess of that branch stays in the table of the engine's maps: GP_MAX_PROG_MAPS is a power of two. */
	n = gp_tr_opaque(tr, LLVMBuildTrunc(tr->b, n, tr->i32, ""), GP_MAX_PROG_MAPS - 1);
	args[0] = tr->lane;
	args[1] = n;
	map = gp_tr_rt(tr, "gp_rt_map", args, 2);

	args[count++] = tr->lane;
	args[count++] = map;
	for (int i = 1; helper->args[i] == GP_ARG_KEY || helper->args[i] == GP_ARG_VALUE; i++) {
		bool key = helper->args[i] == GP_ARG_KEY;

		size = gp_tr_rt(tr, key ? "gp_rt_map_key_size" : "gp_rt_map_value_size", &map, 1);
		region[0] = tr->lane;
		region[1] = gp_tr_handle(tr, i + 1);
		region[2] = size;
		region[3] = gp_tr_const(tr, 0);
		ret = gp_tr_rt(tr, "gp_rt_region", region, 4);
		gp_tr_fault_if(tr, LLVMBuildICmp(tr->b, LLVMIntEQ, ret, LLVMConstNull(LLVMTypeOf(ret)), ""),
			       VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
		args[count++] = ret;
	}
	if (helper->args[2] == GP_ARG_VALUE)
		args[count++] = gp_tr_get(tr, 4);
	snprintf(name, sizeof(name), "%s_any", helper->function);
	ret = gp_tr_rt(tr, name, args, count);
	if (helper->ret != GP_RET_VALUE)
		return ret;
	n = LLVMBuildAdd(tr->b, LLVMBuildZExt(tr->b, n, tr->i64, ""), gp_tr_const(tr, GP_REGION_MAP0), "");
	return value_handle(tr, ret, LLVMBuildShl(tr->b, n, gp_tr_const(tr, GP_REGION_SHIFT), ""));
}

void gp_tr_helper(struct gp_tr *tr, const struct bpf_insn *insn)
{
	const struct gp_helper *helper = gp_helper_find(insn->imm);
	const struct gp_val *map = &tr->state.reg[1];
	LLVMValueRef args[GP_HELPER_ARGS + 1], ret;
	int m = map->kind == GP_KIND_MAPPTR ? gp_val_one_map(map) : -1;

	if (insn->imm == BPF_FUNC_loop) {
		gp_tr_callback_loop(tr);
		return;
	}
	if (helper->args[0] == GP_ARG_MAP)
		ret = m >= 0 ? known_map(tr, helper, m) : chosen_map(tr, helper);
	else
		ret = gp_tr_rt(tr, helper->function, args, arguments(tr, helper, args));
	gp_tr_set(tr, 0, ret);
	if (gp_tr_slow_helper(tr, helper, map))
		gp_tr_burn(tr, 1);
}

/* ---------------------------------------------------------- local functions */

LLVMValueRef gp_tr_call_func(struct gp_tr *tr, uint32_t callee, LLVMValueRef *args,
			     const struct gp_val *kinds)
{
	const struct gp_func_kinds *func = &tr->kinds->funcs[callee];
	LLVMValueRef params[8], ret, faulted;

	gp_tr_burn(tr, tr->func_cost[callee]);
	params[0] = tr->lane;
	params[1] = tr->stack ? tr->stack : LLVMConstNull(tr->ptr);
	params[2] = LLVMBuildAdd(tr->b, tr->fp, gp_tr_const(tr, func->memory), "");
	for (int r = 1; r <= 5; r++) {
		params[r + 2] = gp_tr_const(tr, 0);
		if (func->args[r].kind != GP_KIND_UNINIT)
			params[r + 2] = gp_tr_convert(tr, args[r], &kinds[r], &func->args[r]);
	}
	ret = LLVMBuildCall2(tr->b, tr->local_type, tr->funcs[callee], params, 8, "");
	faulted = gp_tr_rt(tr, "gp_rt_faulted", params, 1);
	gp_tr_leave_if(tr,
		       LLVMBuildICmp(tr->b, LLVMIntNE, faulted, LLVMConstInt(LLVMTypeOf(faulted), 0, 0), ""));
	return ret;
}

void gp_tr_local_call(struct gp_tr *tr)
{
	uint32_t callee = gp_cfg_callee(tr->cfg, tr->prog, tr->insn);
	LLVMValueRef args[6] = { NULL };

	for (int r = 1; r <= 5; r++)
		if (tr->kinds->funcs[callee].args[r].kind != GP_KIND_UNINIT)
			args[r] = gp_tr_get(tr, r);
	gp_tr_set(tr, 0, gp_tr_call_func(tr, callee, args, tr->state.reg));
}
