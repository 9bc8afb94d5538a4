/* SPDX-License-Identifier: BSD-3-Clause */
/* groups.c - local memory and calls of the group, as the instructions show them. */
#include <gpgpu_bpf.h>
#include <virtio_gpgpu.h>
#include "bpf/cfg.h"
#include "bpf/groups.h"
#include "bpf/opcodes.h"

bool gp_group_is_wait(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == GP_CALL_HELPER &&
	       insn->imm >= GPGPU_HELPER_barrier && insn->imm <= GPGPU_HELPER_scan_before;
}

static bool is_local(const struct bpf_insn *insn)
{
	return gp_insn_is_ld_imm64(insn) && insn->src_reg == GP_LD_LOCAL;
}

void gp_group_find(const struct bpf_insn *insns, uint32_t num_insns, struct gp_group_needs *needs)
{
	*needs = (struct gp_group_needs){ 0 };
	for (uint32_t i = 0; i < num_insns; i++) {
		if (gp_group_is_wait(&insns[i])) {
			needs->waits++;
		} else if (i + 1 < num_insns && is_local(&insns[i]) && !needs->local_bytes) {
			needs->local_bytes = (uint32_t)insns[i + 1].imm;
			if (needs->local_bytes > VIRTIO_GPGPU_MAX_LOCAL)
				needs->local_bytes = VIRTIO_GPGPU_MAX_LOCAL; /* refused */
		}
		i += (uint32_t)gp_insn_is_ld_imm64(&insns[i]);
	}
	needs->any = needs->waits || needs->local_bytes;
}

bool gp_group_check_local(const struct gp_prog *prog, uint32_t i, struct gp_verdict *verdict)
{
	uint32_t offset = (uint32_t)prog->insns[i].imm, size = (uint32_t)prog->insns[i + 1].imm;
	uint32_t first = 0;

	if (prog->kind != VIRTIO_GPGPU_PROG_GPGPU)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_LOCAL_MEMORY, i,
				 "local memory is only for compute kernels");
	if (!size || size > VIRTIO_GPGPU_MAX_LOCAL)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_LOCAL_MEMORY, i,
				 "%u bytes of local memory; 1 to %u are possible", size,
				 VIRTIO_GPGPU_MAX_LOCAL);
	while (!is_local(&prog->insns[first]))
		first += 1 + (uint32_t)gp_insn_is_ld_imm64(&prog->insns[first]);
	if ((uint32_t)prog->insns[first + 1].imm != size)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_LOCAL_MEMORY, i,
				 "local memory of %u bytes here and of %u at instruction %u", size,
				 (uint32_t)prog->insns[first + 1].imm, first);
	if (offset >= size)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_LOCAL_MEMORY, i,
				 "offset %u is behind local memory, which has %u bytes", offset, size);
	return true;
}
