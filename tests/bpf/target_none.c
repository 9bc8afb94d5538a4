// SPDX-License-Identifier: BSD-3-Clause
/* target_none.c - stands in for target_engine.c where the engine is not built. */
#include "target.h"

static const char *none_open(void)
{
	return "the engine is not part of this build";
}

const struct target target_cpu = { .name = "cpu", .open = none_open };
const struct target target_cpu_quick = { .name = "cpu-quick", .open = none_open };
const struct target target_mock = { .name = "mock", .open = none_open };
const struct target target_amdgpu = { .name = "amdgpu", .open = none_open, .optional = true };
const struct target target_jit = { .name = "jit", .open = none_open, .optional = true };
