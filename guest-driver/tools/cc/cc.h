/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cc.h - the parts of gpgpu-cc.
 *
 * One thread, one module, one run: LLVM's context is created in main.c and everything belongs to it.
 */
#ifndef TOOLS_CC_H
#define TOOLS_CC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <llvm-c/Core.h>

/* ---------------------------------------------------------------- report.c */

/*
 * report() - an error of a program, as clang words its own: FILE:LINE:COLUMN: error: ...
 * @at: an instruction or a function, whose place in the source is named; or NULL
 *
 * The same line of text is printed once. report_count() says how many there were.
 */
void report(LLVMValueRef at, const char *format, ...) __attribute__((format(printf, 2, 3)));
unsigned int report_count(void);

/* report_input() - the user's source, to be named as it is here. */
void report_input(const char *file);

/* die() - an error of the tool or its surroundings. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* ---------------------------------------------------------------- clang.c */

struct options {
	const char *clang; /* program to run */
	const char *input, *output;
	const char *cpu; /* BPF instruction set: v1 to v4 */
	const char *include; /* folder with our math.h */
	const char *depfile; /* with depend: where make's rule goes; NULL: beside the output */
	bool depend;
	bool verbose;
	char **args; /* passed on */
	int num_args;
};

/*
 * clang_to_bitcode() - have clang make LLVM IR of the input.
 * @file: out: name of a temporary file, which the caller removes
 *
 * Return: clang's status, after it has said itself what is wrong; 0: @file is there.
 */
int clang_to_bitcode(const struct options *options, char file[4096]);

/* ---------------------------------------------------------------- the steps */

/* check_module() - what no device can do: reports it. */
void check_module(LLVMModuleRef module);

/*
 * prepare_module() - mark functions that BPF cannot call for inlining.
 *
 * Return: the passes of LLVM's that do it, and take vectors apart.
 */
const char *prepare_module(LLVMModuleRef module);

/* print_module() - calls of printf() to records in a ring buffer (print.c); reports what has no translation. */
void print_module(LLVMModuleRef module);

/*
 * lower_module() - floating point to integers and calls of helpers; reports what has no translation.
 *
 * After it, and without errors, no instruction has an operand or result of a floating-point type.
 */
void lower_module(LLVMModuleRef module);

/* ---------------------------------------------------------------- helper.c */

/* helper_call() - of helper @number with 1 to 5 @args, pointers or i64, at the builder's place. Return: its result, an i64. */
LLVMValueRef helper_call(LLVMBuilderRef b, int32_t number, const LLVMValueRef *args, unsigned int count);

/* ---------------------------------------------------------------- math.c */

/* A function of math.h or an intrinsic of LLVM's, by what it becomes. */
enum math_kind {
	MATH_NONE = 0,
	MATH_HELPER, /* a helper of each width, arguments as they are */
	MATH_FABS, /* bits only */
	MATH_COPYSIGN,
	MATH_IS_CLASS, /* llvm.is.fpclass */
	MATH_TO_INT, /* llvm.fptosi.sat and its unsigned twin */
	MATH_TO_UINT,
	MATH_FROM_HALF, /* llvm.convert.from.fp16 */
	MATH_TO_HALF,
};

struct math {
	const char *name; /* in C for double; with an f behind it for float. NULL: none */
	const char *intrinsic; /* in LLVM, between "llvm." and the types. NULL: none */
	enum math_kind kind;
	uint8_t args;
	int32_t helper[2]; /* f32, f64 */
};

/* math_function() - by the name of a C function; @width: out: 32 or 64. Return: NULL: none of ours. */
const struct math *math_function(const char *name, unsigned int *width);

/* math_intrinsic() - by the name of an LLVM intrinsic. Return: NULL: none of ours. */
const struct math *math_intrinsic(const char *name);

/* math_name() - the names of C functions, one after the other, from 0 on. Return: NULL: there are no more. */
const char *math_name(size_t n);

#endif
