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
#include "bpf/groups.h"
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

/* The map argument of a call. */
struct map_ref {
	int reg; /* that holds it; 0: the helper takes none */
	int number; /* of the program's map, where it is one that is known; else -1 */
	const struct gp_map_desc
		*desc; /* of that map, or of the map of maps that it is an element of; or NULL */
	bool inner; /* it is an element of one */
	LLVMValueRef map; /* struct gp_map * */
	LLVMValueRef n; /* number in the program, where it has one */
	LLVMValueRef bias; /* handle of offset 0 of its values */
};

static LLVMValueRef map_pointer(struct gp_tr *tr, LLVMValueRef n)
{
	LLVMValueRef args[2] = { tr->lane, n };

	return gp_tr_rt(tr, "gp_rt_map", args, 2);
}

/*
 * On a GPU a map that is known as a local variable with its constants, so that helpers which are not given them are
 * specialised all the same, and keys stay in registers.
 */
static LLVMValueRef shaped_map(struct gp_tr *tr, uint32_t m)
{
	const struct gp_map_desc *map = &tr->prog->maps[m];
	LLVMBasicBlockRef back = LLVMGetInsertBlock(tr->b), first = LLVMGetEntryBasicBlock(tr->fn);
	uint32_t values[] = { m,
			      map->type,
			      map->key_size,
			      map->value_size,
			      map->max_entries,
			      map->num_cpus,
			      map->num_buckets,
			      gp_map_frozen(map) };
	LLVMValueRef args[2 + sizeof(values) / sizeof(*values)];
	unsigned int count = 2;

	LLVMPositionBuilderBefore(tr->b, LLVMGetFirstInstruction(first));
	args[0] = LLVMBuildAlloca(tr->b, LLVMArrayType2(tr->i64, GP_MAP_BYTES / 8), "");
	LLVMSetAlignment(args[0], 8);
	LLVMPositionBuilderAtEnd(tr->b, back);
	args[0] = LLVMBuildAddrSpaceCast(tr->b, args[0], tr->ptr, "");
	args[1] = tr->lane;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		args[count++] = LLVMConstInt(tr->i32, values[i], 0);
	return gp_tr_rt(tr, "gp_rt_map_shaped", args, count);
}

static void fault_if_null(struct gp_tr *tr, LLVMValueRef ptr)
{
	gp_tr_fault_if(tr, LLVMBuildICmp(tr->b, LLVMIntEQ, ptr, LLVMConstNull(LLVMTypeOf(ptr)), ""),
		       VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
}

/* Whether this look-up goes through shared_lookup(). */
static bool shares_lookup(const struct gp_tr *tr, const struct gp_helper *helper, int m)
{
	uint32_t inlined = tr->gpu			     ? tr->inlined_lookups
			   : tr->prog->flags & GP_PROG_QUICK ? 0
							     : GP_INLINE_LOOKUPS;

	if (helper->number != BPF_FUNC_map_lookup_elem || m < 0 || tr->lookups[m] <= inlined)
		return false;
	/* These are no longer than a call. */
	return tr->prog->maps[m].type != VIRTIO_GPGPU_MAP_ARRAY &&
	       tr->prog->maps[m].type != VIRTIO_GPGPU_MAP_PERCPU_ARRAY;
}

/* One of several of the program's maps. */
static void chosen_map(struct gp_tr *tr, struct map_ref *ref)
{
	LLVMValueRef handle = gp_tr_get(tr, ref->reg), n;
	LLVMValueRef first = gp_tr_const(tr, (int64_t)GP_REGION_MAPPTR0 << GP_REGION_SHIFT);

	/* The number of the map, with whatever bits do not belong there on top. */
	n = LLVMBuildSub(tr->b, handle, first, "");
	n = LLVMBuildOr(tr->b, LLVMBuildLShr(tr->b, n, gp_tr_const(tr, GP_REGION_SHIFT), ""),
			LLVMBuildShl(tr->b, n, gp_tr_const(tr, 64 - GP_REGION_SHIFT), ""), "");
	gp_tr_fault_if(tr, LLVMBuildICmp(tr->b, LLVMIntUGE, n, gp_tr_const(tr, tr->prog->num_maps), ""),
		       VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
	/* A wrong guess of that branch stays in the table of the engine's maps: GP_MAX_PROG_MAPS is a power of two. */
	ref->n = gp_tr_opaque(tr, LLVMBuildTrunc(tr->b, n, tr->i32, ""), GP_MAX_PROG_MAPS - 1);
	ref->map = map_pointer(tr, ref->n);
	n = LLVMBuildAdd(tr->b, LLVMBuildZExt(tr->b, ref->n, tr->i64, ""), gp_tr_const(tr, GP_REGION_MAP0),
			 "");
	ref->bias = LLVMBuildShl(tr->b, n, gp_tr_const(tr, GP_REGION_SHIFT), "");
}

/* An element of a map of maps, or a handle from anywhere: the run-time library knows what it may be. */
static void found_map(struct gp_tr *tr, struct map_ref *ref)
{
	LLVMValueRef handle = gp_tr_handle(tr, ref->reg), args[3] = { tr->lane, handle, handle };

	if (ref->inner) {
		args[1] = ref->map;
		ref->map = gp_tr_rt(tr, "gp_rt_inner", args, 3);
	} else {
		ref->map = gp_tr_rt(tr, "gp_rt_map_any", args, 2);
	}
	fault_if_null(tr, ref->map);
	ref->bias = gp_tr_rt(tr, "gp_rt_map_bias", &handle, 1);
	/* Only of use where it is one of the program's; anything else is refused by its type. */
	ref->n = LLVMBuildLShr(tr->b, handle, gp_tr_const(tr, GP_REGION_SHIFT), "");
	ref->n = LLVMBuildSub(tr->b, ref->n, gp_tr_const(tr, GP_REGION_MAPPTR0), "");
}

static void find_map(struct gp_tr *tr, const struct gp_helper *helper, struct map_ref *ref)
{
	const struct gp_val *val;
	int m;

	*ref = (struct map_ref){ .reg = gp_helper_map_reg(helper), .number = -1 };
	if (!ref->reg)
		return;
	val = &tr->state.reg[ref->reg];
	m = gp_val_is_map(val) ? gp_val_one_map(val) : -1;
	if (m >= 0) {
		ref->desc = &tr->prog->maps[m];
		ref->inner = val->kind == GP_KIND_INNER;
		/* A lane remembers the map of a record; what is shared by several look-ups takes the map itself. */
		if (tr->gpu && !ref->inner && helper->ret != GP_RET_RECORD && !shares_lookup(tr, helper, m))
			ref->map = shaped_map(tr, (uint32_t)m);
		else
			ref->map = map_pointer(tr, LLVMConstInt(tr->i32, (unsigned int)m, 0));
	}
	if (m >= 0 && !ref->inner) {
		ref->number = m;
		ref->n = LLVMConstInt(tr->i32, (unsigned int)m, 0);
		ref->bias = gp_tr_const(tr, (int64_t)((uint64_t)(GP_REGION_MAP0 + (unsigned int)m)
						      << GP_REGION_SHIFT));
	} else if (val->kind == GP_KIND_MAPPTR) {
		chosen_map(tr, ref);
	} else {
		found_map(tr, ref);
	}
}

/* Memory whose size the map says: a key, a value. */
static LLVMValueRef map_memory(struct gp_tr *tr, const struct map_ref *ref, int reg, bool key, bool write)
{
	LLVMValueRef args[4], at, map = ref->map;

	if (ref->desc) {
		uint32_t key_size = ref->inner ? ref->desc->inner.key_size : ref->desc->key_size;
		uint32_t value_size = ref->inner ? ref->desc->inner.value_size : ref->desc->value_size;

		return gp_tr_address(tr, reg, 0, gp_tr_const(tr, key ? key_size : value_size), write);
	}
	args[0] = tr->lane;
	args[1] = gp_tr_handle(tr, reg);
	args[2] = gp_tr_rt(tr, key ? "gp_rt_map_key_size" : "gp_rt_map_value_size", &map, 1);
	args[3] = gp_tr_const(tr, write);
	at = gp_tr_rt(tr, "gp_rt_region", args, 4);
	fault_if_null(tr, at);
	return at;
}

/* A Bloom filter only reads what it is asked for. */
static bool writes_value(const struct map_ref *ref)
{
	return !ref->desc ||
	       (ref->inner ? ref->desc->inner.type : ref->desc->type) != VIRTIO_GPGPU_MAP_BLOOM_FILTER;
}

/* Where an atomic operation is to happen: aligned to its size. */
static LLVMValueRef place(struct gp_tr *tr, int reg, bool wide)
{
	struct bpf_insn insn = { .code = BPF_STX | BPF_ATOMIC | (wide ? BPF_DW : BPF_W),
				 .dst_reg = (uint8_t)(reg & 15) };
	LLVMValueRef at = gp_tr_address(tr, reg, 0, gp_tr_const(tr, wide ? 8 : 4), true);

	gp_tr_fault_if(tr, gp_tr_misaligned(tr, &insn, at), VIRTIO_GPGPU_R_MISALIGNED);
	return at;
}

/* Arguments by the table, but those that say nothing to the run-time library. Return: how many. */
static unsigned int arguments(struct gp_tr *tr, const struct gp_helper *helper, const struct map_ref *ref,
			      LLVMValueRef *args)
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
		case GP_ARG_MAP:
			args[count++] = ref->map;
			if (helper->number == BPF_FUNC_tail_call)
				args[count++] = ref->n;
			break;
		case GP_ARG_KEY:
		case GP_ARG_VALUE:
			args[count++] = map_memory(tr, ref, i + 1, helper->args[i] == GP_ARG_KEY, false);
			break;
		case GP_ARG_VALUE_OUT:
			args[count++] = map_memory(tr, ref, i + 1, false, writes_value(ref));
			break;
		case GP_ARG_OPTIONAL:
			args[count++] = tr->state.reg[i + 1].kind == GP_KIND_UNINIT ? gp_tr_const(tr, 0)
										    : gp_tr_handle(tr, i + 1);
			break;
		case GP_ARG_ANYTHING:
		case GP_ARG_RECORD:
		case GP_ARG_STRING:
			args[count++] = gp_tr_handle(tr, i + 1);
			break;
		case GP_ARG_PLACE32:
		case GP_ARG_PLACE64:
			args[count++] = place(tr, i + 1, helper->args[i] == GP_ARG_PLACE64);
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

/* What the run-time library specialises a function for. Of an element only the shape is known. */
static unsigned int map_constants(struct gp_tr *tr, const struct gp_map_desc *map, bool inner,
				  LLVMValueRef element, LLVMValueRef *args)
{
	uint32_t values[] = { inner ? map->inner.type : map->type,
			      inner ? map->inner.key_size : map->key_size,
			      inner ? map->inner.value_size : map->value_size,
			      map->max_entries,
			      map->num_cpus,
			      map->num_buckets };
	static const char *const own[] = {
		NULL, NULL, NULL, "gp_rt_map_max_entries", "gp_rt_map_num_cpus", "gp_rt_map_num_buckets"
	};
	unsigned int count = 0;

	for (; count < sizeof(values) / sizeof(*values); count++)
		args[count] = inner && own[count] ? gp_tr_rt(tr, own[count], &element, 1)
						  : LLVMConstInt(tr->i32, values[count], 0);
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
	snprintf(name, sizeof(name), "gp_shared_%d", m);
	tr->shared_lookup[m] = LLVMAddFunction(tr->mod, name, LLVMFunctionType(tr->i64, params, 3, 0));
	LLVMSetLinkage(tr->shared_lookup[m], LLVMInternalLinkage);
	kind = LLVMGetEnumAttributeKindForName("noinline", 8);
	LLVMAddAttributeAtIndex(tr->shared_lookup[m], (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				LLVMCreateEnumAttribute(tr->ctx, kind, 0));
	LLVMPositionBuilderAtEnd(tr->b, LLVMAppendBasicBlockInContext(tr->ctx, tr->shared_lookup[m], ""));
	for (unsigned int i = 0; i < 3; i++)
		args[i] = LLVMGetParam(tr->shared_lookup[m], i);
	map_constants(tr, &tr->prog->maps[m], false, NULL, args + 3);
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

static LLVMValueRef call_helper(struct gp_tr *tr, const struct gp_helper *helper, const struct map_ref *ref)
{
	uint32_t type = !ref->desc ? 0 : ref->inner ? ref->desc->inner.type : ref->desc->type;
	enum gp_helper_ret returns = gp_helper_returns(helper, type);
	LLVMValueRef args[12], ret;
	unsigned int count = arguments(tr, helper, ref, args);
	char name[64];

	if (!ref->reg || !helper->by_map) {
		ret = gp_tr_rt(tr, helper->function, args, count);
	} else if (!ref->desc && helper->number == BPF_FUNC_map_lookup_elem) {
		args[count++] = ref->bias;
		return gp_tr_rt(tr, "gp_helper_map_lookup_handle", args, count);
	} else if (!ref->desc) {
		snprintf(name, sizeof(name), "%s_any", helper->function);
		ret = gp_tr_rt(tr, name, args, count);
	} else if (returns == GP_RET_VALUE && shares_lookup(tr, helper, ref->number)) {
		LLVMValueRef fn = shared_lookup(tr, ref->number);

		ret = LLVMBuildCall2(tr->b, LLVMGlobalGetValueType(fn), fn, args, count, "");
	} else {
		count += map_constants(tr, ref->desc, ref->inner, ref->map, args + count);
		ret = gp_tr_rt(tr, returns == GP_RET_INNER ? "gp_helper_map_lookup_inner" : helper->function,
			       args, count);
	}
	return returns == GP_RET_VALUE || returns == GP_RET_RECORD ? value_handle(tr, ret, ref->bias) : ret;
}

/* What a helper says beside its result. */
static void after_helper(struct gp_tr *tr, const struct gp_helper *helper, LLVMValueRef ret)
{
	LLVMValueRef faulted;

	for (int i = 0; i < GP_HELPER_ARGS; i++)
		if (helper->args[i] == GP_ARG_RECORD)
			gp_tr_fault_if(tr, LLVMBuildICmp(tr->b, LLVMIntNE, ret, gp_tr_const(tr, 0), ""),
				       VIRTIO_GPGPU_R_HELPER_ARG);
	if (helper->number == BPF_FUNC_tail_call) {
		faulted = gp_tr_rt(tr, "gp_rt_faulted", &tr->lane, 1);
		gp_tr_leave_if(tr, LLVMBuildICmp(tr->b, LLVMIntNE, faulted,
						 LLVMConstInt(LLVMTypeOf(faulted), 0, 0), ""));
	}
}

void gp_tr_helper(struct gp_tr *tr, const struct bpf_insn *insn)
{
	const struct gp_helper *helper = gp_helper_find(insn->imm);
	struct map_ref ref;
	LLVMValueRef ret;

	if (gp_group_is_wait(insn)) {
		gp_tr_wait(tr, insn);
		return;
	}
	if (insn->imm == BPF_FUNC_loop) {
		gp_tr_callback_loop(tr);
		return;
	}
	find_map(tr, helper, &ref);
	ret = call_helper(tr, helper, &ref);
	after_helper(tr, helper, ret);
	gp_tr_set(tr, 0, ret);
	if (gp_tr_slow_helper(tr, helper, &tr->state.reg[ref.reg]))
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
