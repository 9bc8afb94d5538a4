/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ptx_targets.c - the table of ptx_targets.h.
 *
 * The version is the oldest that knows the processor (PTX ISA, release notes: "PTX ISA Version 8.5", table of targets)
 * and what we use (6.3: nanosleep, activemask), so that old drivers take it. LLVM 19 knows versions up to 8.5.
 */
#include <string.h>
#include "jit/ptx_targets.h"

static const struct gp_ptx_target targets[] = {
	{ "sm_70", 7, 0, "6.3", "+ptx63" }, { "sm_72", 7, 2, "6.3", "+ptx63" },
	{ "sm_75", 7, 5, "6.3", "+ptx63" }, { "sm_80", 8, 0, "7.0", "+ptx70" },
	{ "sm_86", 8, 6, "7.1", "+ptx71" }, { "sm_87", 8, 7, "7.4", "+ptx74" },
	{ "sm_89", 8, 9, "7.8", "+ptx78" }, { "sm_90", 9, 0, "7.8", "+ptx78" },
};

#define COUNT (sizeof(targets) / sizeof(*targets))

const struct gp_ptx_target *gp_ptx_targets(size_t *count)
{
	*count = COUNT;
	return targets;
}

const struct gp_ptx_target *gp_ptx_target_find(const char *name)
{
	for (size_t i = 0; i < COUNT; i++)
		if (!strcmp(targets[i].name, name))
			return &targets[i];
	return NULL;
}

const struct gp_ptx_target *gp_ptx_target_for(uint32_t major, uint32_t minor)
{
	const struct gp_ptx_target *best = NULL;

	for (size_t i = 0; i < COUNT; i++)
		if (targets[i].major < major || (targets[i].major == major && targets[i].minor <= minor))
			best = &targets[i];
	return best;
}
