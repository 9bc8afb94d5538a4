/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * callback.c - bpf_loop(): a helper that calls a function of the program back, which is a loop here.
 *
 * The function is known (bpf/check.c), so each turn is a call like any other: it burns the function's fuel and
 * ends the program where the function faults. What it gets is the turn's number and the argument, in the form
 * that the analysis found for all its callers. As in the kernel: flags other than 0 are -EINVAL, more than 2^23 turns
 * -E2BIG; a turn that returns other than 0 is the last; the result is the number of turns.
 */
#include <errno.h>
#include <virtio_gpgpu.h>
#include "bpf/opcodes.h"
#include "jit/translate.h"

#define MAX_TURNS (1 << 23)

void gp_tr_callback_loop(struct gp_tr *tr)
{
	uint32_t callee = (uint32_t)gp_callback(tr->prog, &tr->state, tr->insn);
	LLVMBasicBlockRef begin, check, head, body, end, blocks[3], from[2];
	LLVMValueRef count, flags, turn, next, ret, done, turns[2], values[3], args[6] = { NULL };
	struct gp_val kinds[6];

	count = LLVMBuildZExt(tr->b, LLVMBuildTrunc(tr->b, gp_tr_get(tr, 1), tr->i32, ""), tr->i64, "");
	flags = gp_tr_handle(tr, 4);
	gp_callback_args(&tr->state, kinds);
	args[2] = gp_tr_get(tr, 3);
	begin = LLVMGetInsertBlock(tr->b);
	check = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
	head = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
	body = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
	end = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");

	LLVMBuildCondBr(tr->b, LLVMBuildICmp(tr->b, LLVMIntNE, flags, gp_tr_const(tr, 0), ""), end, check);
	blocks[0] = begin;
	values[0] = gp_tr_const(tr, -EINVAL);
	LLVMPositionBuilderAtEnd(tr->b, check);
	LLVMBuildCondBr(tr->b, LLVMBuildICmp(tr->b, LLVMIntUGT, count, gp_tr_const(tr, MAX_TURNS), ""), end,
			head);
	blocks[1] = check;
	values[1] = gp_tr_const(tr, -E2BIG);

	LLVMPositionBuilderAtEnd(tr->b, head);
	turn = LLVMBuildPhi(tr->b, tr->i64, "");
	blocks[2] = head;
	values[2] = turn;
	LLVMBuildCondBr(tr->b, LLVMBuildICmp(tr->b, LLVMIntULT, turn, count, ""), body, end);

	LLVMPositionBuilderAtEnd(tr->b, body);
	args[1] = turn;
	ret = gp_tr_call_func(tr, callee, args, kinds);
	next = LLVMBuildAdd(tr->b, turn, gp_tr_const(tr, 1), "");
	/* The last turn: as if that were all there are. */
	done = LLVMBuildICmp(tr->b, LLVMIntNE, ret, gp_tr_const(tr, 0), "");
	turns[0] = gp_tr_const(tr, 0);
	from[0] = check;
	turns[1] = next;
	from[1] = LLVMGetInsertBlock(tr->b);
	LLVMBuildCondBr(tr->b, done, end, head);
	LLVMAddIncoming(turn, turns, from, 2);

	LLVMPositionBuilderAtEnd(tr->b, end);
	ret = LLVMBuildPhi(tr->b, tr->i64, "");
	LLVMAddIncoming(ret, values, blocks, 3);
	LLVMAddIncoming(ret, &next, &from[1], 1);
	gp_tr_set(tr, 0, ret);
}
