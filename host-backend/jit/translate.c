/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * translate.c - functions, blocks and edges of the translated program; translate.h says how it works.
 *
 * Joins. A register that is a packet offset on one edge and a map value on another is a handle behind the join: the
 * edge that loses the kind adds the bias, in a block of its own where needed. Back edges burn fuel there.
 *
 * Faults. All checks of a function branch to one block with the reason and the instruction, in one word, which notes
 * it in the lane and returns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/DebugInfo.h>
#include <virtio_gpgpu.h>
#include "bpf/opcodes.h"
#include "jit/simd.h"

static bool edge_needs_block(const struct gp_tr *tr, const struct gp_block *block, int e)
{
	const struct gp_state *to = &tr->kinds->entry[block->succ[e]];

	if (block->back & 1u << e)
		return true;
	for (int r = 0; r < 10; r++)
		if (to->reg[r].kind != GP_KIND_UNINIT &&
		    gp_val_region(&to->reg[r]) != gp_val_region(&tr->state.reg[r]))
			return true;
	return false;
}

/* What an edge does, at the builder's place; then goes there. */
static void take_edge(struct gp_tr *tr, const struct gp_block *block, int e)
{
	const struct gp_state *to = &tr->kinds->entry[block->succ[e]];
	LLVMValueRef br;

	if (block->back & 1u << e)
		gp_tr_burn(tr, tr->loop_cost[block->succ[e]]);
	for (int r = 0; r < 10; r++)
		if (to->reg[r].kind != GP_KIND_UNINIT &&
		    gp_val_region(&to->reg[r]) != gp_val_region(&tr->state.reg[r]))
			gp_tr_set(tr, r, gp_tr_convert(tr, gp_tr_get(tr, r), &tr->state.reg[r], &to->reg[r]));
	br = LLVMBuildBr(tr->b, tr->blocks[block->succ[e]]);
	if (tr->as_it_is && block->back & 1u << e)
		LLVMSetMetadata(br, tr->md_loop, LLVMMetadataAsValue(tr->ctx, tr->as_it_is));
}

/* Where a conditional jump goes for edge @e; a block that does the edge's work if there is some. */
static LLVMBasicBlockRef edge_target(struct gp_tr *tr, const struct gp_block *block, int e)
{
	LLVMBasicBlockRef from = LLVMGetInsertBlock(tr->b), edge;

	if (!edge_needs_block(tr, block, e))
		return tr->blocks[block->succ[e]];
	edge = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
	LLVMPositionBuilderAtEnd(tr->b, edge);
	take_edge(tr, block, e);
	LLVMPositionBuilderAtEnd(tr->b, from);
	return edge;
}

/* Whether it is the function that runs on a packet, on a GPU: it says in one word how it ended. */
static bool is_gpu_packet(const struct gp_tr *tr)
{
	return tr->gpu && !tr->func && tr->prog->kind == VIRTIO_GPGPU_PROG_XDP;
}

static void translate_exit(struct gp_tr *tr)
{
	const struct gp_val *ret = &tr->kinds->funcs[tr->func].ret;
	LLVMValueRef value = gp_tr_const(tr, 0);

	if (ret->kind != GP_KIND_UNINIT)
		value = gp_tr_convert(tr, gp_tr_get(tr, 0), &tr->state.reg[0], ret);
	if (is_gpu_packet(tr))
		value = gp_tr_rt(tr, "gp_rt_verdict", &value, 1);
	LLVMBuildRet(tr->b, value);
}

void gp_tr_ld_imm64(struct gp_tr *tr, const struct bpf_insn *insn)
{
	uint64_t n = (uint32_t)insn->imm, value;

	if (insn->src_reg == GP_LD_MAP)
		value = (GP_REGION_MAPPTR0 + n) << GP_REGION_SHIFT;
	else if (insn->src_reg == GP_LD_MAP_VALUE)
		value = ((GP_REGION_MAP0 + n) << GP_REGION_SHIFT) + (uint32_t)insn[1].imm;
	else if (insn->src_reg == GP_LD_LOCAL)
		value = n; /* GP_KIND_LOCAL: an offset */
	else if (insn->src_reg ==
		 GP_LD_FUNC) /* no region: a number that means nothing but to who knows its kind */
		value = GP_OFFSET_MASK;
	else
		value = (uint64_t)(uint32_t)insn[1].imm << 32 | n;
	gp_tr_set(tr, insn->dst_reg, gp_tr_const(tr, (int64_t)value));
}

bool gp_tr_returns(const struct gp_tr *tr, uint32_t i)
{
	return gp_kinds_goes_on(tr->kinds, i);
}

/* Everything that does not end a block. */
static void translate_insn(struct gp_tr *tr, const struct bpf_insn *insn)
{
	gp_tr_yield(tr, insn);
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		gp_tr_alu(tr, insn);
		break;
	case BPF_LD:
		gp_tr_ld_imm64(tr, insn);
		break;
	case BPF_LDX:
		if (!gp_tr_sum_load(tr, insn))
			gp_tr_load(tr, insn);
		break;
	case BPF_ST:
	case BPF_STX:
		if (BPF_MODE(insn->code) == BPF_ATOMIC)
			gp_tr_atomic(tr, insn);
		else if (!gp_tr_sum_store(tr, insn))
			gp_tr_store(tr, insn);
		break;
	default:
		if (insn->src_reg == GP_CALL_LOCAL)
			gp_tr_local_call(tr);
		else
			gp_tr_helper(tr, insn);
	}
}

static void end_block(struct gp_tr *tr, const struct gp_block *block, const struct bpf_insn *last)
{
	if (gp_insn_is_exit(last)) {
		translate_exit(tr);
	} else if (gp_insn_is_cond_jump(last)) {
		LLVMValueRef cond = gp_tr_compare(tr, last);
		LLVMBasicBlockRef taken = edge_target(tr, block, 1), next = edge_target(tr, block, 0);

		LLVMBuildCondBr(tr->b, cond, taken, next);
	} else {
		take_edge(tr, block, 0);
	}
}

static void translate_block(struct gp_tr *tr, uint32_t b)
{
	const struct gp_block *block = &tr->cfg->blocks[b];

	LLVMPositionBuilderAtEnd(tr->b, tr->blocks[b]);
	tr->insn = block->start;
	gp_lines_insn(tr->lines, tr->b, block->start);
	if (!tr->kinds->reached[b]) {
		LLVMBuildRet(tr->b, gp_tr_const(tr, 0)); /* behind a call that never returns */
		return;
	}
	tr->state = tr->kinds->entry[b];
	for (uint32_t i = block->start; i < block->end; i++) {
		const struct bpf_insn *insn = &tr->prog->insns[i];
		uint32_t slots = gp_insn_is_ld_imm64(insn) ? 2 : 1;

		tr->insn = i;
		gp_lines_insn(tr->lines, tr->b, i);
		if (gp_insn_is_exit(insn) || gp_insn_is_ja(insn) || gp_insn_is_cond_jump(insn)) {
			end_block(tr, block, insn);
			return;
		}
		translate_insn(tr, insn);
		if (!gp_tr_returns(tr, i)) {
			LLVMBuildRet(tr->b, gp_tr_const(tr, 0));
			return;
		}
		gp_kinds_step(tr->kinds, &tr->state, i);
		i += slots - 1;
	}
	take_edge(tr, block, 0); /* falls through */
}

/* Arguments arrive in the form of the entry state's kinds. */
static void translate_entry(struct gp_tr *tr)
{
	const struct gp_func *func = &tr->cfg->funcs[tr->func];
	const struct gp_state *entry = &tr->kinds->entry[func->first_block];
	LLVMBasicBlockRef block = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "entry");

	LLVMPositionBuilderAtEnd(tr->b, block);
	tr->lane = LLVMGetParam(tr->fn, 0);
	tr->fp = tr->func ? LLVMGetParam(tr->fn, 2) : gp_tr_const(tr, tr->kinds->funcs[0].memory);
	for (int r = 0; r < 10; r++) {
		tr->reg[r] = LLVMBuildAlloca(tr->b, tr->i64, "");
		/* Nothing reads it (bpf/check.c); if something did, it would be no undefined value. */
		gp_tr_set(tr, r, gp_tr_const(tr, 0));
	}
	if (!tr->kinds->reached[func->first_block]) {
		LLVMBuildRet(tr->b, gp_tr_const(tr, 0));
		return;
	}
	gp_tr_stack(tr, tr->func ? LLVMGetParam(tr->fn, 1) : NULL);
	tr->state = *entry;
	for (int r = 1; r <= 5; r++) {
		LLVMValueRef value = tr->func ? LLVMGetParam(tr->fn, (unsigned int)r + 2)
					      : gp_tr_const(tr, 0); /* the context */

		/* A loop that begins at the first instruction may know less of them than the callers do. */
		if (entry->reg[r].kind != GP_KIND_UNINIT)
			gp_tr_set(tr, r,
				  gp_tr_convert(tr, value, &tr->kinds->funcs[tr->func].args[r],
						&entry->reg[r]));
	}
	gp_tr_phases_begin(tr, tr->blocks[func->first_block]);
}

static void make_fault_blocks(struct gp_tr *tr)
{
	LLVMValueRef args[2];

	tr->fault = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "fault");
	tr->leave = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "leave");
	LLVMPositionBuilderAtEnd(tr->b, tr->fault);
	args[0] = LLVMGetParam(tr->fn, 0);
	args[1] = tr->faulted = LLVMBuildPhi(tr->b, tr->i32, "");
	gp_tr_rt(tr, "gp_rt_fault", args, 2);
	LLVMBuildBr(tr->b, tr->leave);
	LLVMPositionBuilderAtEnd(tr->b, tr->leave);
	if (is_gpu_packet(tr))
		LLVMBuildRet(tr->b,
			     LLVMBuildZExt(tr->b, gp_tr_rt(tr, "gp_rt_faulted", args, 1), tr->i64, ""));
	else
		LLVMBuildRet(tr->b, gp_tr_const(tr, 0));
}

static void translate_func(struct gp_tr *tr, uint32_t f)
{
	const struct gp_func *func = &tr->cfg->funcs[f];

	tr->func = f;
	tr->fn = tr->funcs[f];
	gp_lines_function(tr->lines, tr->b, tr->fn);
	for (uint32_t b = func->first_block; b < func->first_block + func->num_blocks; b++)
		tr->blocks[b] = NULL;
	/* Entry first: it must be the function's first block. */
	for (uint32_t i = 0; i < func->num_blocks; i++) {
		uint32_t b = func->first_block + i;

		if (!i) {
			LLVMBasicBlockRef entry;

			tr->blocks[b] = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
			make_fault_blocks(tr);
			entry = tr->blocks[b];
			translate_entry(tr);
			LLVMMoveBasicBlockBefore(LLVMGetInsertBlock(tr->b), entry);
		} else {
			tr->blocks[b] = LLVMInsertBasicBlockInContext(tr->ctx, tr->fault, "");
		}
	}
	for (uint32_t b = func->first_block; b < func->first_block + func->num_blocks; b++)
		translate_block(tr, b);
	/* Phis without edges are not allowed. */
	if (!LLVMCountIncoming(tr->faulted)) {
		LLVMReplaceAllUsesWith(tr->faulted, LLVMConstInt(tr->i32, 0, 0));
		LLVMInstructionEraseFromParent(tr->faulted);
	}
}

static void set_attribute(struct gp_tr *tr, LLVMValueRef fn, LLVMAttributeIndex at, const char *name)
{
	unsigned int kind = LLVMGetEnumAttributeKindForName(name, strlen(name));

	LLVMAddAttributeAtIndex(fn, at, LLVMCreateEnumAttribute(tr->ctx, kind, 0));
}

static void declare_funcs(struct gp_tr *tr)
{
	LLVMTypeRef params[8] = { tr->ptr, tr->ptr, tr->i64, tr->i64, tr->i64, tr->i64, tr->i64, tr->i64 };

	tr->local_type = LLVMFunctionType(tr->i64, params, 8, 0);
	tr->funcs[0] = LLVMGetNamedFunction(tr->mod, "gp_prog");
	/*
	 * The lane is the engine's, and nothing that a program's pointers resolve to overlaps it (rt/abi.h): no store
	 * makes LLVM load a packet's bounds again.
	 */
	if (tr->funcs[0])
		set_attribute(tr, tr->funcs[0], 1, "noalias");
	for (uint32_t f = 1; f < tr->cfg->num_funcs; f++) {
		char name[32];

		snprintf(name, sizeof(name), "gp_func_%u", f);
		tr->funcs[f] = LLVMAddFunction(tr->mod, name, tr->local_type);
		LLVMSetLinkage(tr->funcs[f], LLVMInternalLinkage);
		set_attribute(tr, tr->funcs[f], 1, "noalias");
	}
}

/* How often each map is looked up in, so that many sites can share a function. */
static void count_lookups(struct gp_tr *tr)
{
	for (uint32_t b = 0; b < tr->cfg->num_blocks; b++) {
		struct gp_state state = tr->kinds->entry[b];

		if (!tr->kinds->reached[b])
			continue;
		for (uint32_t i = tr->cfg->blocks[b].start; i < tr->cfg->blocks[b].end; i++) {
			const struct bpf_insn *insn = &tr->prog->insns[i];
			const struct gp_val *map = &state.reg[1];

			if (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == GP_CALL_HELPER &&
			    insn->imm == BPF_FUNC_map_lookup_elem && map->kind == GP_KIND_MAPPTR &&
			    gp_val_one_map(map) >= 0)
				tr->lookups[gp_val_one_map(map)]++;
			if (!gp_tr_returns(tr, i))
				break;
			gp_kinds_step(tr->kinds, &state, i);
			i += gp_insn_is_ld_imm64(insn);
		}
	}
}

/*
 * Instructions of a function with those that it calls, as often as it does, and, once, those whose address it takes; at
 * most UINT32_MAX.
 */
static uint32_t inlined_size(const struct gp_tr *tr, uint32_t f, const uint32_t *sizes)
{
	const struct gp_func *func = &tr->cfg->funcs[f];
	uint64_t size = func->end - func->start;

	for (uint32_t i = func->start; i < func->end; i++) {
		const struct bpf_insn *insn = &tr->prog->insns[i];

		if (gp_insn_is_local_call(insn) || gp_insn_is_func_address(insn))
			size += sizes[gp_cfg_callee(tr->cfg, tr->prog, i)];
		i += gp_insn_is_ld_imm64(insn);
	}
	return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

/* Of a function that helpers may call back, from any number of places. */
#define CALLED_BACK (1u << 31)

/* By function: instructions that call it. */
static void count_calls(const struct gp_tr *tr, uint32_t *calls)
{
	for (uint32_t i = 0; i < tr->prog->num_insns; i++) {
		const struct bpf_insn *insn = &tr->prog->insns[i];

		if (gp_insn_is_local_call(insn))
			calls[gp_cfg_callee(tr->cfg, tr->prog, i)]++;
		else if (gp_insn_is_func_address(insn))
			calls[gp_cfg_callee(tr->cfg, tr->prog, i)] |= CALLED_BACK;
		i += gp_insn_is_ld_imm64(insn);
	}
}

/* A loop's metadata begins with itself. */
static LLVMMetadataRef not_unrolled(const struct gp_tr *tr)
{
	static const char name[] = "llvm.loop.unroll.disable";
	LLVMMetadataRef parts[2], disable = LLVMMDStringInContext2(tr->ctx, name, strlen(name)), loop;

	parts[0] = LLVMTemporaryMDNode(tr->ctx, NULL, 0);
	parts[1] = LLVMMDNodeInContext2(tr->ctx, &disable, 1);
	loop = LLVMMDNodeInContext2(tr->ctx, parts, 2);
	LLVMMetadataReplaceAllUsesWith(parts[0], loop);
	return loop;
}

/*
 * A call takes the lane out of its registers, and hands over in memory what was put on the stack for it: functions are
 * inlined where that leaves the program bearable. On a GPU a call needs a stack as well. Elsewhere it is for packet
 * programs; if not all functions inline, those that are called once still do.
 */
static void inline_funcs(struct gp_tr *tr)
{
	bool packets = tr->prog->kind == VIRTIO_GPGPU_PROG_XDP && !(tr->prog->flags & GP_PROG_QUICK) &&
		       tr->prog->num_insns <= GP_INLINE_INSNS;
	uint32_t sizes[GP_MAX_FUNCS] = { 0 }, calls[GP_MAX_FUNCS] = { 0 };
	bool all;

	if (!tr->gpu && !packets)
		return;
	for (uint32_t i = 0; i < tr->cfg->num_funcs; i++)
		sizes[tr->cfg->callee_first[i]] = inlined_size(tr, tr->cfg->callee_first[i], sizes);
	all = sizes[0] <= (tr->gpu ? GP_GPU_INLINE_INSNS : GP_INLINE_INSNS);
	if (tr->gpu) {
		tr->inlined_lookups = all ? GP_GPU_INLINE_LOOKUPS : 0;
		if (sizes[0] > GP_GPU_UNROLL_INSNS)
			tr->as_it_is = not_unrolled(tr);
	}
	count_calls(tr, calls);
	for (uint32_t f = 0; f < tr->cfg->num_funcs; f++)
		if (!f || (tr->gpu ? all : calls[f] == 1 || (all && !(calls[f] & CALLED_BACK))))
			set_attribute(tr, tr->funcs[f], (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				      "alwaysinline");
}

static void init_types(struct gp_tr *tr)
{
	LLVMMetadataRef weights[3];

	tr->ctx = LLVMGetModuleContext(tr->mod);
	tr->b = LLVMCreateBuilderInContext(tr->ctx);
	tr->i1 = LLVMInt1TypeInContext(tr->ctx);
	tr->i8 = LLVMInt8TypeInContext(tr->ctx);
	tr->i16 = LLVMInt16TypeInContext(tr->ctx);
	tr->i32 = LLVMInt32TypeInContext(tr->ctx);
	tr->i64 = LLVMInt64TypeInContext(tr->ctx);
	tr->ptr = LLVMPointerTypeInContext(tr->ctx, 0);
	tr->md_prof = LLVMGetMDKindIDInContext(tr->ctx, "prof", 4);
	tr->md_loop = LLVMGetMDKindIDInContext(tr->ctx, "llvm.loop", 9);
	weights[0] = LLVMMDStringInContext2(tr->ctx, "branch_weights", 14);
	weights[1] = LLVMValueAsMetadata(LLVMConstInt(tr->i32, 1, 0));
	weights[2] = LLVMValueAsMetadata(LLVMConstInt(tr->i32, 100000, 0));
	tr->unlikely = LLVMMDNodeInContext2(tr->ctx, weights, 3);
}

/* What the kernel wants to know of a packet program (rt/slots.h): gp_prog_grows(). */
static void say_whether_it_grows(struct gp_tr *tr)
{
	LLVMValueRef fn = LLVMGetNamedFunction(tr->mod, "gp_prog_grows");
	uint32_t grows = 0;

	if (!fn)
		return;
	for (uint32_t i = 0; i < tr->prog->num_insns; i++) {
		const struct bpf_insn *insn = &tr->prog->insns[i];

		grows |= insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == GP_CALL_HELPER &&
			 insn->imm == BPF_FUNC_xdp_adjust_tail;
		i += gp_insn_is_ld_imm64(insn);
	}
	LLVMPositionBuilderAtEnd(tr->b, LLVMAppendBasicBlockInContext(tr->ctx, fn, ""));
	LLVMBuildRet(tr->b, LLVMConstInt(tr->i32, grows, 0));
}

const char *gp_translate(LLVMModuleRef mod, const struct gp_prog *prog, const struct gp_cfg *cfg,
			 struct gp_kinds *kinds)
{
	struct gp_tr *tr = calloc(1, sizeof(*tr));
	const char *missing;

	if (!tr)
		return "memory";
	tr->mod = mod;
	tr->gpu = !strncmp(LLVMGetTarget(mod), "amdgcn", 6) || !strncmp(LLVMGetTarget(mod), "nvptx", 5);
	tr->prog = prog;
	tr->cfg = cfg;
	tr->kinds = kinds;
	init_types(tr);
	declare_funcs(tr);
	count_lookups(tr);
	if (tr->funcs[0])
		inline_funcs(tr);
	gp_sums_find(&tr->sums, kinds, prog->flags);
	tr->blocks = calloc(cfg->num_blocks, sizeof(*tr->blocks));
	if (!tr->funcs[0])
		tr->missing = "gp_prog";
	if (!tr->blocks || !gp_tr_weigh(tr) || !gp_tr_phases_find(tr))
		tr->missing = "memory";
	if (prog->flags & GP_PROG_LINES)
		tr->lines = gp_lines_new(mod);
	for (uint32_t f = 0; f < cfg->num_funcs && !tr->missing; f++)
		translate_func(tr, f);
	say_whether_it_grows(tr);
	if (!tr->missing)
		gp_simd_translate(tr);
	if (!tr->missing)
		gp_lines_callers(tr->lines, tr->funcs[0]);
	gp_lines_free(tr->lines);
	missing = tr->missing;
	LLVMDisposeBuilder(tr->b);
	free(tr->blocks);
	free(tr->loop_cost);
	gp_sums_free(&tr->sums);
	gp_tr_phases_free(tr);
	free(tr);
	return missing;
}
