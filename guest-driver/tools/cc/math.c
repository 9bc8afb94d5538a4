// SPDX-License-Identifier: BSD-3-Clause
/*
 * math.c - the functions of math.h, and LLVM's intrinsics, by the helper that each becomes.
 */
#include <stdio.h>
#include <string.h>
#include "gpgpu_bpf.h"
#include "cc.h"

#define H(name) { GPGPU_HELPER_##name##32, GPGPU_HELPER_##name##64 }

/* Those that C has no name for come last. */
static const struct math functions[] = {
	{ "sqrt", "sqrt", MATH_HELPER, 1, H(sqrt) },
	{ "rsqrt", NULL, MATH_HELPER, 1, H(rsqrt) },
	{ "exp", "exp", MATH_HELPER, 1, H(exp) },
	{ "exp2", "exp2", MATH_HELPER, 1, { GPGPU_HELPER_exp232, GPGPU_HELPER_exp264 } },
	{ "log", "log", MATH_HELPER, 1, H(log) },
	{ "log2", "log2", MATH_HELPER, 1, H(log2) },
	{ "sin", "sin", MATH_HELPER, 1, H(sin) },
	{ "cos", "cos", MATH_HELPER, 1, H(cos) },
	{ "pow", "pow", MATH_HELPER, 2, H(pow) },
	{ "fma", "fma", MATH_HELPER, 3, H(fma) },
	{ "fmod", NULL, MATH_HELPER, 2, H(fmod) },
	{ "fmin", "minnum", MATH_HELPER, 2, H(fmin) },
	{ "fmax", "maxnum", MATH_HELPER, 2, H(fmax) },
	{ "floor", "floor", MATH_HELPER, 1, H(floor) },
	{ "ceil", "ceil", MATH_HELPER, 1, H(ceil) },
	{ "trunc", "trunc", MATH_HELPER, 1, H(trunc) },
	{ "rint", "rint", MATH_HELPER, 1, H(rint) },
	{ "nearbyint", "nearbyint", MATH_HELPER, 1, H(rint) },
	{ "round", "round", MATH_HELPER, 1, H(round) },
	{ "fabs", "fabs", MATH_FABS, 1, { 0, 0 } },
	{ "copysign", "copysign", MATH_COPYSIGN, 2, { 0, 0 } },
	{ NULL, "fmuladd", MATH_HELPER, 3, H(fma) }, /* clang only says so where contraction was asked for */
	{ NULL, "roundeven", MATH_HELPER, 1, H(rint) },
	{ NULL, "is.fpclass", MATH_IS_CLASS, 2, { 0, 0 } },
	{ NULL, "fptosi.sat", MATH_TO_INT, 1, { 0, 0 } },
	{ NULL, "fptoui.sat", MATH_TO_UINT, 1, { 0, 0 } },
	{ NULL, "convert.from.fp16", MATH_FROM_HALF, 1, { 0, 0 } },
	{ NULL, "convert.to.fp16", MATH_TO_HALF, 1, { 0, 0 } },
};

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

const struct math *math_function(const char *name, unsigned int *width)
{
	for (size_t i = 0; i < COUNT(functions) && functions[i].name; i++) {
		size_t n = strlen(functions[i].name);

		if (strncmp(name, functions[i].name, n) || (name[n] && strcmp(name + n, "f")))
			continue;
		*width = name[n] ? 32 : 64;
		return &functions[i];
	}
	return NULL;
}

const struct math *math_intrinsic(const char *name)
{
	if (strncmp(name, "llvm.", 5))
		return NULL;
	name += 5;
	for (size_t i = 0; i < COUNT(functions); i++) {
		const char *intrinsic = functions[i].intrinsic;
		size_t n = intrinsic ? strlen(intrinsic) : 0;

		/* What follows is types: .f32, .i32.f64 */
		if (intrinsic && !strncmp(name, intrinsic, n) && name[n] == '.' &&
		    (name[n + 1] == 'f' || name[n + 1] == 'i') && name[n + 2] >= '0' && name[n + 2] <= '9')
			return &functions[i];
	}
	return NULL;
}

const char *math_name(size_t n)
{
	return n < COUNT(functions) ? functions[n].name : NULL;
}
