/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lower.h - between lower.c, which walks instructions, and those who know helpers: lower_math.c, lower_atomic.c.
 *
 * Values are integers here: i32 or i64 with the bits of a float or a double. All of it builds at the builder's place.
 */
#ifndef TOOLS_CC_LOWER_H
#define TOOLS_CC_LOWER_H

#include "cc.h"

struct lower_phi {
	LLVMValueRef old, new;
};

struct lower {
	LLVMContextRef ctx;
	LLVMBuilderRef b;
	LLVMTypeRef i32, i64;
	unsigned int tbaa; /* kind of metadata */
	struct lower_phi *phis; /* of the function at hand */
	size_t num_phis, room_phis;
};

/* lower_as_int() - the bits of a float; integers as they are. */
LLVMValueRef lower_as_int(struct lower *l, LLVMValueRef v);

/*
 * lower_helper() - a call of a helper.
 * @args: integers of up to 64 bits
 * @type: integer type of the result
 */
LLVMValueRef lower_helper(struct lower *l, int32_t number, const LLVMValueRef *args, unsigned int count,
			  LLVMTypeRef type);

/* lower_to_int() - to an integer type of up to 64 bits; what does not fit becomes the nearest that does, a NaN 0. */
LLVMValueRef lower_to_int(struct lower *l, LLVMValueRef v, LLVMTypeRef to, bool is_signed);
LLVMValueRef lower_from_int(struct lower *l, LLVMValueRef v, bool wide, bool is_signed);

/* lower_math() - replaces a call of a math function or an intrinsic; @width: of a C function, else 0. */
void lower_math(struct lower *l, LLVMValueRef call, const struct math *math, unsigned int width);

/* lower_atomic() - replaces an atomicrmw of floats (lower_atomic.c). */
void lower_atomic(struct lower *l, LLVMValueRef insn);

#endif
