/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * access.c - how a program reaches memory: stack frames, checks, loads, stores, atomics.
 *
 * The check. With o the offset, n the bytes and len the region's size: o <= len && o + n <= len, in 64 bits,
 * n a small constant; neither half alone is enough, since o + n may wrap. LLVM proves most of it from the
 * program's own comparison. Where the size is a constant, both become o <= len - n. Where n is not
 * constant: o <= len && n <= len - o.
 *
 * Speculation. The processor may run ahead of a check that fails. So a pointer with a variable part is masked
 * (nospec.c) before the base is added: without the instruction's displacement, so that LLVM keeps one result per pointer
 * value; what the displacement adds stays within the guards around each region (GP_GUARD). Offsets that are
 * constants from a trusted base (the packet's start, an argument's) need none. Sizes that are not constant, which only
 * a few helpers have, wait for the check.
 *
 * Frames. What of a function's frame is reached at constant offsets only (bpf/frames.c) is split into the byte ranges
 * that are accessed together, and LLVM keeps them in registers. The rest lies in one array with that of all
 * other frames, which is also what a stack handle resolves to. Either is zeroed.
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <virtio_gpgpu.h>
#include "bpf/helpers.h"
#include "bpf/opcodes.h"
#include "jit/translate.h"

/* ------------------------------------------------------------------- frames */

/* An alloca as a pointer like any other: on a GPU it is to scratch, at first. */
static LLVMValueRef generic(struct gp_tr *tr, LLVMValueRef alloca)
{
	return tr->gpu ? LLVMBuildAddrSpaceCast(tr->b, alloca, tr->ptr, "") : alloca;
}

/* What of the frame is not in memory: the byte ranges that are accessed together. */
static void split_frame(struct gp_tr *tr, int size_split)
{
	struct gp_frame_bytes bytes;

	gp_frame_bytes(tr->kinds, tr->func, &bytes);
	for (int i = 0, end; i < size_split; i = end) {
		LLVMValueRef part, size;
		int start = i & ~7;

		for (end = i + 1; end < size_split && bytes.joined[end - 1]; end++)
			;
		if (!bytes.touched[i])
			continue;
		/* From a multiple of 8, so that what is aligned in the frame is aligned in the part. */
		size = LLVMConstInt(tr->i64, (unsigned int)(end - start), 0);
		part = LLVMBuildAlloca(tr->b, LLVMArrayType2(tr->i8, (unsigned int)(end - start)), "");
		LLVMSetAlignment(part, 8);
		part = generic(tr, part);
		LLVMBuildMemSet(tr->b, part, LLVMConstInt(tr->i8, 0, 0), size, 8);
		for (int k = i; k < end; k++) {
			tr->part[k] = part;
			tr->part_start[k] = (int16_t)start;
		}
	}
}

static LLVMValueRef offset_pointer(struct gp_tr *tr, LLVMValueRef base, LLVMValueRef off)
{
	return LLVMBuildGEP2(tr->b, tr->i8, base, &off, 1, "");
}

void gp_tr_stack(struct gp_tr *tr, LLVMValueRef caller_stack)
{
	uint32_t bytes = tr->kinds->stack_bytes, own = tr->kinds->funcs[tr->func].memory;

	memset(tr->part, 0, sizeof(tr->part));
	tr->stack = caller_stack;
	if (tr->func == 0 && bytes && tr->grouped) {
		LLVMValueRef args[3] = { tr->lane, gp_tr_const(tr, bytes) };

		/* It outlives a phase (phases.c). */
		args[1] = tr->stack = gp_tr_rt(tr, "gp_rt_group_stack", args, 2);
		args[2] = gp_tr_const(tr, bytes);
		gp_tr_rt(tr, "gp_rt_set_stack", args, 3);
	} else if (tr->func == 0 && bytes) {
		LLVMValueRef args[3];

		tr->stack = LLVMBuildAlloca(tr->b, LLVMArrayType2(tr->i8, bytes), "stack");
		LLVMSetAlignment(tr->stack, 16);
		tr->stack = generic(tr, tr->stack);
		args[0] = tr->lane;
		args[1] = tr->stack;
		args[2] = gp_tr_const(tr, bytes);
		gp_tr_rt(tr, "gp_rt_set_stack", args, 3);
		/* All of it: a handle reaches frames that are not in use, and what the thread left there. */
		LLVMBuildMemSet(tr->b, tr->stack, LLVMConstInt(tr->i8, 0, 0), args[2], 16);
	} else if (own) {
		LLVMValueRef start = LLVMBuildSub(tr->b, tr->fp, gp_tr_const(tr, own), "");

		LLVMBuildMemSet(tr->b, offset_pointer(tr, tr->stack, start), LLVMConstInt(tr->i8, 0, 0),
				gp_tr_const(tr, own), 8);
	}
	split_frame(tr, GP_STACK_FRAME - (int)own);
}

/* ------------------------------------------------------------------- checks */

/* Largest displacement that the guards make room for, beside the slack of masks (nospec.c). */
#define MAX_DISPLACEMENT 32000

static LLVMValueRef bad_range(struct gp_tr *tr, LLVMValueRef off, LLVMValueRef size, LLVMValueRef len)
{
	LLVMValueRef past, end;

	if (LLVMIsAConstantInt(size) && LLVMIsAConstantInt(len)) {
		uint64_t n = LLVMConstIntGetZExtValue(size), l = LLVMConstIntGetZExtValue(len);

		if (n > l)
			return LLVMConstInt(tr->i1, 1, 0);
		return LLVMBuildICmp(tr->b, LLVMIntUGT, off, gp_tr_const(tr, (int64_t)(l - n)), "");
	}
	past = LLVMBuildICmp(tr->b, LLVMIntUGT, off, len, "");
	if (LLVMIsAConstantInt(size)) {
		end = LLVMBuildAdd(tr->b, off, size, "");
		end = LLVMBuildICmp(tr->b, LLVMIntUGT, end, len, "");
	} else {
		end = LLVMBuildICmp(tr->b, LLVMIntUGT, size, LLVMBuildSub(tr->b, len, off, ""), "");
	}
	return LLVMBuildOr(tr->b, past, end, "");
}

/*
 * Lets nothing run ahead of the checks before it. Where the size is not constant, an offset within the region is
 * not enough: the helper moves as many bytes as it is told.
 */
static void wait_for_checks(struct gp_tr *tr)
{
	static const char code[] = "lfence", clobbers[] = "~{memory}";
	LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(tr->ctx), NULL, 0, 0);
	LLVMValueRef as = LLVMGetInlineAsm(type, code, strlen(code), clobbers, strlen(clobbers), 1, 0,
					   LLVMInlineAsmDialectATT, 0);

#ifdef GPGPU_UNCHECKED
	return;
#endif
	if (tr->gpu)
		return;
	LLVMBuildCall2(tr->b, type, as, NULL, 0, "");
}

/*
 * Check and address in a region whose base and size are known here; @reg_off without the displacement. @start: an
 * offset within the region that pointers may be made from, or NULL.
 */
static LLVMValueRef checked(struct gp_tr *tr, LLVMValueRef base, LLVMValueRef len, LLVMValueRef reg_off,
			    int64_t off, LLVMValueRef size, LLVMValueRef start, bool trusted)
{
	LLVMValueRef at = off ? LLVMBuildAdd(tr->b, reg_off, gp_tr_const(tr, off), "") : reg_off;

	gp_tr_fault_if(tr, bad_range(tr, at, size, len), VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
	if (off < -MAX_DISPLACEMENT || off > MAX_DISPLACEMENT) {
		reg_off = at;
		off = 0;
	}
	if (!trusted) {
		at = gp_tr_nospec(tr, reg_off, len, start);
		base = offset_pointer(tr, base, at);
		return off ? offset_pointer(tr, base, gp_tr_const(tr, off)) : base;
	}
	return offset_pointer(tr, base, at);
}

static LLVMValueRef numbered(struct gp_tr *tr, const char *name, uint32_t n)
{
	LLVMValueRef args[2] = { tr->lane, LLVMConstInt(tr->i32, n, 0) };

	return gp_tr_rt(tr, name, args, 2);
}

static LLVMValueRef argument_address(struct gp_tr *tr, const struct gp_val *val, LLVMValueRef reg_off,
				     int64_t off, LLVMValueRef size, bool write)
{
	LLVMValueRef base = numbered(tr, "gp_rt_arg_base", val->arg);
	LLVMValueRef len = numbered(tr, "gp_rt_arg_size", val->arg);
	LLVMValueRef writable;

	if (write) {
		writable = numbered(tr, "gp_rt_arg_writable", val->arg);
		if (tr->prog->arg_kind[val->arg] == VIRTIO_GPGPU_ARG_BUFFER_RO)
			writable = gp_tr_const(tr, 0);
		gp_tr_fault_if(tr, LLVMBuildICmp(tr->b, LLVMIntEQ, writable, gp_tr_const(tr, 0), ""),
			       VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
	}
	return checked(tr, base, len, reg_off, off, size, NULL, val->known);
}

static LLVMValueRef map_address(struct gp_tr *tr, int m, LLVMValueRef handle, int64_t off, LLVMValueRef size,
				bool write)
{
	int64_t bias = (int64_t)((uint64_t)(GP_REGION_MAP0 + (unsigned int)m) << GP_REGION_SHIFT);
	LLVMValueRef reg_off = LLVMBuildSub(tr->b, handle, gp_tr_const(tr, bias), "");
	LLVMValueRef len = gp_tr_const(tr, (int64_t)tr->prog->maps[m].values_size);

	if (write && gp_map_frozen(&tr->prog->maps[m]))
		gp_tr_fault_if(tr, LLVMConstInt(tr->i1, 1, 0), VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
	return checked(tr, numbered(tr, "gp_rt_map_values", (uint32_t)m), len, reg_off, off, size, NULL,
		       false);
}

/* Any region: resolved at run time, which checks, masks and knows what may be written. */
static LLVMValueRef any_address(struct gp_tr *tr, LLVMValueRef handle, int64_t off, LLVMValueRef size,
				bool write)
{
	LLVMValueRef args[4], ptr;

	if (!LLVMIsAConstantInt(size)) /* the function takes 32 bits */
		gp_tr_fault_if(tr, LLVMBuildICmp(tr->b, LLVMIntUGT, size, gp_tr_const(tr, INT32_MAX), ""),
			       VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
	args[0] = tr->lane;
	args[1] = off ? LLVMBuildAdd(tr->b, handle, gp_tr_const(tr, off), "") : handle;
	args[2] = size;
	args[3] = gp_tr_const(tr, write);
	ptr = gp_tr_rt(tr, "gp_rt_region", args, 4);
	gp_tr_fault_if(tr, LLVMBuildICmp(tr->b, LLVMIntEQ, ptr, LLVMConstNull(LLVMTypeOf(ptr)), ""),
		       VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
	return ptr;
}

/* Whether this offset of the running function's frame lies in memory. */
static bool in_memory(const struct gp_tr *tr, int64_t off)
{
	return off >= -(int64_t)tr->kinds->funcs[tr->func].memory;
}

static LLVMValueRef own_frame(struct gp_tr *tr, int64_t off)
{
	int64_t byte = off + GP_STACK_FRAME;

	if (!in_memory(tr, off))
		return offset_pointer(tr, tr->part[byte], gp_tr_const(tr, byte - tr->part_start[byte]));
	return offset_pointer(tr, tr->stack, LLVMBuildAdd(tr->b, tr->fp, gp_tr_const(tr, off), ""));
}

/* Where packets are moved to the program and back, whether they have to go back. */
static void note_write(struct gp_tr *tr)
{
	if (tr->gpu && LLVMGetNamedFunction(tr->mod, "gp_rt_packet_written"))
		gp_tr_rt(tr, "gp_rt_packet_written", &tr->lane, 1);
}

static LLVMValueRef checked_address(struct gp_tr *tr, int reg, int64_t off, LLVMValueRef size, bool write)
{
	const struct gp_val *val = &tr->state.reg[reg];
	LLVMValueRef value = gp_tr_get(tr, reg), args[1] = { tr->lane }, start = NULL;

	switch (val->kind) {
	case GP_KIND_STACK:
		if (val->known && LLVMIsAConstantInt(size)) /* the range has been validated */
			return LLVMConstIntGetZExtValue(size) ? own_frame(tr, val->off + off)
							      : LLVMConstNull(tr->ptr);
		return checked(tr, tr->stack ? tr->stack : LLVMConstNull(tr->ptr),
			       gp_tr_const(tr, tr->kinds->stack_bytes), value, off, size, NULL, false);
	case GP_KIND_PACKET:
		if (write)
			note_write(tr);
		/* Where LLVM does little, it would not find that this is what the pointer was made from. */
		if (!val->known && !(tr->prog->flags & GP_PROG_QUICK))
			start = LLVMBuildZExt(tr->b, gp_tr_rt(tr, "gp_rt_data", args, 1), tr->i64, "");
		return checked(tr, gp_tr_rt(tr, "gp_rt_pkt_base", args, 1),
			       gp_tr_rt(tr, "gp_rt_pkt_end", args, 1), value, off, size, start, val->known);
	case GP_KIND_LOCAL:
		return checked(tr, gp_tr_rt(tr, "gp_rt_pkt_base", args, 1),
			       gp_tr_const(tr, tr->kinds->local_bytes), value, off, size, NULL, val->known);
	case GP_KIND_ARG:
		return argument_address(tr, val, value, off, size, write);
	case GP_KIND_MAPVAL:
		if (gp_val_one_map(val) >= 0)
			return map_address(tr, gp_val_one_map(val), value, off, size, write);
		return any_address(tr, value, off, size, write);
	default:
		return any_address(tr, value, off, size, write);
	}
}

LLVMValueRef gp_tr_address(struct gp_tr *tr, int reg, int64_t off, LLVMValueRef size, bool write)
{
	LLVMValueRef at = checked_address(tr, reg, off, size, write);

	if (!LLVMIsAConstantInt(size))
		wait_for_checks(tr);
	return at;
}

/* ----------------------------------------------------------------- accesses */

static void load_context(struct gp_tr *tr, const struct bpf_insn *insn, const struct gp_ctx_field *field)
{
	static const char *const xdp_md[] = { "gp_rt_data",    "gp_rt_data_end", "gp_rt_data_meta",
					      "gp_rt_ingress", "gp_rt_rx_queue", "gp_rt_egress" };
	unsigned int bits = gp_insn_size(insn) * 8;
	LLVMValueRef args[1] = { tr->lane }, value;

	if (tr->prog->kind == VIRTIO_GPGPU_PROG_XDP) {
		value = gp_tr_rt(tr, xdp_md[field->field / 4], args, 1);
		value = LLVMBuildZExt(tr->b, value, tr->i64, "");
	} else if (field->val.kind == GP_KIND_ARG) {
		value = gp_tr_const(tr, 0);
	} else {
		LLVMTypeRef type = LLVMIntTypeInContext(tr->ctx, bits);

		value = numbered(tr, "gp_rt_arg_value", field->field);
		value = LLVMBuildLShr(tr->b, value, gp_tr_const(tr, field->shift), "");
		value = LLVMBuildTrunc(tr->b, value, type, "");
		value = LLVMBuildIntCast2(tr->b, value, tr->i64, BPF_MODE(insn->code) == BPF_MEMSX, "");
	}
	gp_tr_set(tr, insn->dst_reg, value);
}

/*
 * A load through a pointer that may be to the context: where it is to no memory, the run-time library looks for a
 * field. Pointers come as handles.
 */
static LLVMValueRef load_unknown(struct gp_tr *tr, const struct bpf_insn *insn)
{
	uint32_t size = gp_insn_size(insn), buffers = 0;
	bool sign = BPF_MODE(insn->code) == BPF_MEMSX;
	LLVMBasicBlockRef memory, context, next, from[2];
	LLVMValueRef args[5], at, handle, found, values[2], phi;

	for (uint32_t n = 0; n < tr->prog->num_args; n++)
		if (tr->prog->arg_kind[n] != VIRTIO_GPGPU_ARG_VALUE)
			buffers |= 1u << n;
	handle = gp_tr_handle(tr, insn->src_reg);
	if (insn->off)
		handle = LLVMBuildAdd(tr->b, handle, gp_tr_const(tr, insn->off), "");
	args[0] = tr->lane;
	args[1] = handle;
	args[2] = gp_tr_const(tr, size);
	args[3] = gp_tr_const(tr, 0);
	at = gp_tr_rt(tr, "gp_rt_region", args, 4);
	memory = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
	context = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
	next = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
	LLVMBuildCondBr(tr->b, LLVMBuildICmp(tr->b, LLVMIntEQ, at, LLVMConstNull(LLVMTypeOf(at)), ""),
			context, memory);

	LLVMPositionBuilderAtEnd(tr->b, memory);
	values[0] = LLVMBuildLoad2(tr->b, LLVMIntTypeInContext(tr->ctx, size * 8), at, "");
	LLVMSetAlignment(values[0], 1);
	values[0] = LLVMBuildFreeze(tr->b, values[0], "");
	values[0] = sign ? LLVMBuildSExt(tr->b, values[0], tr->i64, "")
			 : LLVMBuildZExt(tr->b, values[0], tr->i64, "");
	from[0] = LLVMGetInsertBlock(tr->b);
	LLVMBuildBr(tr->b, next);

	LLVMPositionBuilderAtEnd(tr->b, context);
	found = LLVMBuildLShr(tr->b, handle, gp_tr_const(tr, GP_REGION_SHIFT), "");
	gp_tr_fault_if(tr, LLVMBuildICmp(tr->b, LLVMIntNE, found, gp_tr_const(tr, GP_REGION_CTX), ""),
		       VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
	args[2] = gp_tr_const(tr, size | (sign ? GP_CTX_SIGN : 0));
	args[3] = gp_tr_const(tr, tr->prog->kind == VIRTIO_GPGPU_PROG_XDP ? GP_CTX_XDP : buffers);
	found = gp_tr_rt(tr, "gp_rt_ctx_holds", args, 4);
	gp_tr_fault_if(tr, LLVMBuildICmp(tr->b, LLVMIntEQ, found, LLVMConstNull(LLVMTypeOf(found)), ""),
		       VIRTIO_GPGPU_R_CTX_ACCESS);
	values[1] = gp_tr_rt(tr, "gp_rt_ctx_load", args, 4);
	from[1] = LLVMGetInsertBlock(tr->b);
	LLVMBuildBr(tr->b, next);

	LLVMPositionBuilderAtEnd(tr->b, next);
	phi = LLVMBuildPhi(tr->b, tr->i64, "");
	LLVMAddIncoming(phi, values, from, 2);
	return phi;
}

void gp_tr_load(struct gp_tr *tr, const struct bpf_insn *insn)
{
	const struct gp_val ptr = tr->state.reg[insn->src_reg];
	uint32_t size = gp_insn_size(insn);
	bool sign = BPF_MODE(insn->code) == BPF_MEMSX;
	struct gp_state after = tr->state;
	struct gp_ctx_field field;
	LLVMValueRef at, value;

	if (gp_may_be_ctx(tr->kinds, &ptr)) {
		gp_tr_set(tr, insn->dst_reg, load_unknown(tr, insn));
		return;
	}
	if (ptr.kind == GP_KIND_CTX) {
		gp_ctx_field(tr->prog, ptr.off + insn->off, size, sign, &field);
		load_context(tr, insn, &field);
		return;
	}
	at = gp_tr_address(tr, insn->src_reg, insn->off, gp_tr_const(tr, size), false);
	value = LLVMBuildLoad2(tr->b, LLVMIntTypeInContext(tr->ctx, size * 8), at, "");
	LLVMSetAlignment(value, 1);
	/* A split frame is zeroed and is this function's alone; anything else others may write meanwhile. */
	if (ptr.kind != GP_KIND_STACK || !ptr.known || in_memory(tr, ptr.off + insn->off))
		value = LLVMBuildFreeze(tr->b, value, "");
	value = sign ? LLVMBuildSExt(tr->b, value, tr->i64, "") : LLVMBuildZExt(tr->b, value, tr->i64, "");
	/* A spilled pointer comes back: from the handle to what its kind says. */
	gp_kinds_step(tr->kinds, &after, tr->insn);
	if (size == 8) {
		struct gp_val handle = { .kind = GP_KIND_ANY };

		value = gp_tr_convert(tr, value, &handle, &after.reg[insn->dst_reg]);
	}
	gp_tr_set(tr, insn->dst_reg, value);
}

void gp_tr_store(struct gp_tr *tr, const struct bpf_insn *insn)
{
	uint32_t size = gp_insn_size(insn);
	LLVMValueRef value, at, store;

	at = gp_tr_address(tr, insn->dst_reg, insn->off, gp_tr_const(tr, size), true);
	value = BPF_CLASS(insn->code) == BPF_STX ? gp_tr_handle(tr, insn->src_reg)
						 : gp_tr_const(tr, insn->imm);
	value = LLVMBuildTrunc(tr->b, value, LLVMIntTypeInContext(tr->ctx, size * 8), "");
	store = LLVMBuildStore(tr->b, value, at);
	LLVMSetAlignment(store, 1);
}

LLVMValueRef gp_tr_misaligned(struct gp_tr *tr, const struct bpf_insn *insn, LLVMValueRef at)
{
	const struct gp_val *val = &tr->state.reg[insn->dst_reg];
	bool one_map = val->kind == GP_KIND_MAPVAL && gp_val_one_map(val) >= 0;
	LLVMValueRef where;

	if (gp_val_region(val) != GP_REGION_NONE || one_map)
		where = LLVMBuildAdd(tr->b, gp_tr_get(tr, insn->dst_reg), gp_tr_const(tr, insn->off), "");
	else
		where = LLVMBuildPtrToInt(tr->b, at, tr->i64, "");
	where = LLVMBuildAnd(tr->b, where, gp_tr_const(tr, gp_insn_size(insn) - 1), "");
	return LLVMBuildICmp(tr->b, LLVMIntNE, where, gp_tr_const(tr, 0), "");
}

static LLVMValueRef apply(struct gp_tr *tr, uint8_t op, LLVMValueRef old, LLVMValueRef value)
{
	switch (op) {
	case BPF_ADD:
		return LLVMBuildAdd(tr->b, old, value, "");
	case BPF_OR:
		return LLVMBuildOr(tr->b, old, value, "");
	case BPF_AND:
		return LLVMBuildAnd(tr->b, old, value, "");
	case BPF_XOR:
		return LLVMBuildXor(tr->b, old, value, "");
	default:
		return value;
	}
}

/* Whether the instruction goes to the lane's own stack, where nobody else is: GPUs need no atomic operation for that. */
static bool is_own(const struct gp_tr *tr)
{
	return tr->state.reg[tr->prog->insns[tr->insn].dst_reg].kind == GP_KIND_STACK;
}

static bool may_be_own(const struct gp_tr *tr)
{
	const struct gp_val *val = &tr->state.reg[tr->prog->insns[tr->insn].dst_reg];

	return val->kind != GP_KIND_MAPVAL && gp_val_region(val) == GP_REGION_NONE;
}

static LLVMValueRef own_load(struct gp_tr *tr, LLVMValueRef at, LLVMTypeRef type)
{
	LLVMValueRef old = LLVMBuildLoad2(tr->b, type, at, "");

	LLVMSetAlignment(old, 1);
	return LLVMBuildFreeze(tr->b, old, "");
}

/* On a GPU by way of the run-time library, since the scope is not for LLVM's C interface to say. */
static LLVMValueRef rmw_on_gpu(struct gp_tr *tr, uint8_t op, LLVMValueRef at, LLVMValueRef value,
			       uint32_t size, bool relaxed)
{
	LLVMValueRef args[5] = { at, LLVMBuildZExt(tr->b, value, tr->i64, ""), gp_tr_const(tr, op),
				 gp_tr_const(tr, size), gp_tr_const(tr, relaxed) };
	LLVMValueRef old;

	if (is_own(tr)) {
		old = own_load(tr, at, LLVMTypeOf(value));
		LLVMSetAlignment(LLVMBuildStore(tr->b, apply(tr, op, old, value), at), 1);
		return old;
	}
	old = gp_tr_rt(tr, may_be_own(tr) ? "gp_rt_atomic_any" : "gp_rt_atomic", args, 5);
	return LLVMBuildTrunc(tr->b, old, LLVMTypeOf(value), "");
}

LLVMValueRef gp_tr_rmw(struct gp_tr *tr, uint8_t op, LLVMValueRef at, LLVMValueRef value, uint32_t size,
		       bool relaxed)
{
	static const LLVMAtomicRMWBinOp ops[16] = {
		[BPF_ADD >> 4] = LLVMAtomicRMWBinOpAdd,	  [BPF_OR >> 4] = LLVMAtomicRMWBinOpOr,
		[BPF_AND >> 4] = LLVMAtomicRMWBinOpAnd,	  [BPF_XOR >> 4] = LLVMAtomicRMWBinOpXor,
		[BPF_XCHG >> 4] = LLVMAtomicRMWBinOpXchg,
	};
	LLVMValueRef old;

	if (tr->gpu)
		return rmw_on_gpu(tr, op, at, value, size, relaxed);
	old = LLVMBuildAtomicRMW(tr->b, ops[op >> 4 & 15], at, value,
				 relaxed ? LLVMAtomicOrderingMonotonic
					 : LLVMAtomicOrderingSequentiallyConsistent,
				 0);
	LLVMSetAlignment(old, size);
	return old;
}

static LLVMValueRef compare_exchange(struct gp_tr *tr, LLVMValueRef at, LLVMValueRef expected,
				     LLVMValueRef value, uint32_t size)
{
	LLVMValueRef old, args[4] = { at, expected, value, gp_tr_const(tr, size) };

	if (tr->gpu && is_own(tr)) {
		old = own_load(tr, at, LLVMTypeOf(value));
		value = LLVMBuildSelect(tr->b, LLVMBuildICmp(tr->b, LLVMIntEQ, old, expected, ""), value, old,
					"");
		LLVMSetAlignment(LLVMBuildStore(tr->b, value, at), 1);
		return old;
	}
	if (tr->gpu) {
		args[1] = LLVMBuildZExt(tr->b, expected, tr->i64, "");
		args[2] = LLVMBuildZExt(tr->b, value, tr->i64, "");
		old = gp_tr_rt(tr, may_be_own(tr) ? "gp_rt_compare_exchange_any" : "gp_rt_compare_exchange",
			       args, 4);
		return LLVMBuildTrunc(tr->b, old, LLVMTypeOf(value), "");
	}
	old = LLVMBuildAtomicCmpXchg(tr->b, at, expected, value, LLVMAtomicOrderingSequentiallyConsistent,
				     LLVMAtomicOrderingSequentiallyConsistent, 0);
	LLVMSetAlignment(old, size);
	return LLVMBuildExtractValue(tr->b, old, 0, "");
}

void gp_tr_atomic(struct gp_tr *tr, const struct bpf_insn *insn)
{
	uint32_t size = gp_insn_size(insn);
	LLVMTypeRef type = size == 8 ? tr->i64 : tr->i32;
	bool fetch = insn->imm & BPF_FETCH;
	LLVMValueRef at = gp_tr_address(tr, insn->dst_reg, insn->off, gp_tr_const(tr, size), true);
	LLVMValueRef value, old;

	gp_tr_fault_if(tr, gp_tr_misaligned(tr, insn, at), VIRTIO_GPGPU_R_MISALIGNED);
	value = LLVMBuildTrunc(tr->b, gp_tr_handle(tr, insn->src_reg), type, "");
	if (insn->imm == BPF_CMPXCHG)
		old = compare_exchange(tr, at, LLVMBuildTrunc(tr->b, gp_tr_handle(tr, 0), type, ""), value,
				       size);
	else
		old = gp_tr_rmw(tr, insn->imm & 0xf0, at, value, size, !fetch);
	if (fetch)
		gp_tr_set(tr, insn->imm == BPF_CMPXCHG ? 0 : insn->src_reg,
			  LLVMBuildZExt(tr->b, old, tr->i64, ""));
}
