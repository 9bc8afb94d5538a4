// SPDX-License-Identifier: BSD-3-Clause
/* targets.c - all that a table of vectors or a random program can be run on. */
#include <string.h>
#include "target.h"
#include "target_broken.h"

const struct target *const targets[] = {
	&target_interp,		&target_cpu,
	&target_cpu_quick,	&target_mock,
	&target_amdgpu,		&target_cuda,
	&target_kernel,		&target_jit,
	&target_broken_jset,	&target_broken_atomic32,
	&target_broken_xor_imm, &target_broken_jle64,
	&target_broken_jump,	&target_broken_arsh32,
	&target_broken_lookup,
};
const uint32_t num_targets = sizeof(targets) / sizeof(targets[0]);

const struct target *target_find(const char *name)
{
	for (uint32_t i = 0; i < num_targets; i++)
		if (!strcmp(targets[i]->name, name))
			return targets[i];
	return NULL;
}
