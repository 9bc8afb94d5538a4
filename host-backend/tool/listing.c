// SPDX-License-Identifier: BSD-3-Clause
/*
 * listing.c - instructions and where they come from, for people.
 */
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "bpf/helpers.h"
#include "bpf/opcodes.h"
#include "listing.h"
#include "load.h"

static void print_map(char *buf, size_t size, const struct loaded *l, const struct bpf_insn *insn)
{
	const char *name = (uint32_t)insn->imm < l->num_maps ? l->maps[insn->imm].name : "?";

	if (insn->src_reg == BPF_PSEUDO_MAP_FD)
		snprintf(buf, size, "r%d = map %s", insn->dst_reg, name);
	else
		snprintf(buf, size, "r%d = %s + %u", insn->dst_reg, name, (uint32_t)insn[1].imm);
}

static void print_call(char *buf, size_t size, const struct bpf_insn *insn)
{
	const struct gp_helper *helper = gp_helper_find(insn->imm);
	const char *kernel = gp_helper_kernel_name(insn->imm);

	if (helper)
		snprintf(buf, size, "call %s#%d", helper->name, insn->imm);
	else
		snprintf(buf, size, "call %s%s#%d", kernel ? "bpf_" : "", kernel ? kernel : "", insn->imm);
}

/* Appends where a jump goes: "goto +4" says it to machines. */
static void add_target(char *buf, size_t size, const struct bpf_insn *insn, size_t i)
{
	size_t used = strlen(buf);

	snprintf(buf + used, size - used, " <%lld>", (long long)i + 1 + gp_insn_jump_distance(insn));
}

char *insn_text(char *buf, size_t size, const struct loaded *l, const struct gpgpu_program *prog,
		const struct bpf_insn *insns, size_t count, size_t i)
{
	const struct bpf_insn *insn = &insns[i];
	struct gpgpu_source source;

	if (i >= count || (gp_insn_is_ld_imm64(insn) && i + 1 >= count)) {
		snprintf(buf, size, "the end of the program");
	} else if (l && insn_names_map(insn)) {
		print_map(buf, size, l, insn);
	} else if (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == GP_CALL_HELPER) {
		print_call(buf, size, insn);
	} else if (gp_insn_is_local_call(insn) && prog) {
		size_t target = i + 1 + (size_t)(int64_t)insn->imm;

		gpgpu_program_source(prog, target, &source);
		snprintf(buf, size, "call %s <%zu>", source.function ? source.function : "?", target);
	} else {
		gp_insn_print(buf, size, insn);
		if (gp_insn_is_ja(insn) || gp_insn_is_cond_jump(insn))
			add_target(buf, size, insn, i);
	}
	return buf;
}

char *source_text(char *buf, size_t size, const struct gpgpu_program *prog, size_t i)
{
	struct gpgpu_source source;
	const char *text;

	buf[0] = '\0';
	if (!prog || gpgpu_program_source(prog, i, &source))
		return buf;
	text = source.text + strspn(source.text, " \t");
	snprintf(buf, size, "%s:%u%s%s", source.file, source.line, *text ? ": " : "", text);
	return buf;
}

const char *refusal_text(const struct refusal *refusal)
{
	static char text[VIRTIO_GPGPU_MESSAGE + 128];

	if (refusal->message[0])
		snprintf(text, sizeof(text), "%s", refusal->message);
	else if (refusal->reason)
		snprintf(text, sizeof(text), "%s: %s (%llu)", gpgpu_status_name(refusal->status),
			 gpgpu_reason_name(refusal->reason), (unsigned long long)refusal->detail);
	else
		snprintf(text, sizeof(text), "%s", gpgpu_status_name(refusal->status));
	return text;
}
