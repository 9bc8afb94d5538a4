/* SPDX-License-Identifier: BSD-3-Clause */
/* kernels.c - finds a kernel among those that were compiled ahead (kernels.h). */
#include <string.h>
#include "jit/kernels.h"

extern const uint8_t gp_made_kernels[], gp_made_kernels_end[];

bool gp_kernel_made(const char *target, enum gp_kernel kernel, struct gp_code *code)
{
	const uint8_t *at = gp_made_kernels;
	struct gp_made_kernel head;

	/* What the build has written needs no doubts; the end is where it says. */
	while ((size_t)(gp_made_kernels_end - at) >= sizeof(head)) {
		memcpy(&head, at, sizeof(head));
		at += sizeof(head);
		if (head.kernel == kernel && !strncmp(head.target, target, sizeof(head.target))) {
			*code = (struct gp_code){
				.bytes = (uint8_t *)(uintptr_t)at,
				.size = head.size,
				.entry = head.entry,
				.vgprs = head.vgprs,
				.sgprs = head.sgprs,
				.vgpr_spills = head.vgpr_spills,
				.sgpr_spills = head.sgpr_spills,
				.scratch_bytes = head.scratch_bytes,
				.lds_bytes = head.lds_bytes,
			};
			return true;
		}
		at += (head.size + 7u) & ~7u;
	}
	return false;
}
