// SPDX-License-Identifier: BSD-3-Clause
/* asm.c - labels to distances. */
#include <stdio.h>
#include <stdlib.h>
#include "asm.h"

static void emit(struct bpf_insn *out, uint32_t *n, uint32_t max, struct bpf_insn insn)
{
	if (*n == max) {
		fprintf(stderr, "asm: program too long\n");
		exit(2);
	}
	out[(*n)++] = insn;
}

static int32_t distance(const int64_t *at, uint32_t label, uint32_t from)
{
	if (label >= ASM_LABELS || at[label] < 0) {
		fprintf(stderr, "asm: instruction %u: no label %u\n", from, label);
		exit(2);
	}
	return (int32_t)(at[label] - from - 1);
}

static bool is_func(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->src_reg == BPF_PSEUDO_FUNC;
}

static bool is_reference(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->src_reg == BPF_PSEUDO_FUNC;
}

static bool is_jump(const struct bpf_insn *insn)
{
	uint8_t class = BPF_CLASS(insn->code);

	if (is_reference(insn))
		return true;
	return (class == BPF_JMP || class == BPF_JMP32) && BPF_OP(insn->code) != BPF_EXIT;
}

uint32_t asm_resolve(const struct bpf_insn *in, uint32_t num, struct bpf_insn *out, uint32_t max,
		     const struct bpf_insn *done, uint32_t num_done)
{
	int64_t at[ASM_LABELS];
	uint32_t n = 0;
	bool had_done = false;

	for (uint32_t i = 0; i < ASM_LABELS; i++)
		at[i] = -1;
	for (uint32_t i = 0; i <= num; i++) {
		bool here = i == num ? !had_done : in[i].code == ASM_DONE;

		if (here) {
			had_done = true;
			for (uint32_t k = 0; done && k < num_done; k++)
				emit(out, &n, max, done[k]);
		} else if (i < num && in[i].code == ASM_LABEL && in[i].off < ASM_LABELS) {
			at[in[i].off] = n;
		} else if (i < num) {
			emit(out, &n, max, in[i]);
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		if (is_func(&out[i]) && out[i].imm >= ASM_IMM)
			out[i].imm = distance(at, (uint32_t)out[i].imm - ASM_IMM, i);
		if (!is_jump(&out[i]))
			continue;
		if ((uint16_t)out[i].off >= ASM_OFF && (uint16_t)out[i].off < ASM_OFF + ASM_LABELS)
			out[i].off = (int16_t)distance(at, (uint32_t)out[i].off - ASM_OFF, i);
		if (is_reference(&out[i]) ||
		    (out[i].code == (BPF_JMP | BPF_CALL) && out[i].src_reg == BPF_PSEUDO_CALL) ||
		    out[i].code == (BPF_JMP32 | BPF_JA))
			if (out[i].imm >= ASM_IMM)
				out[i].imm = distance(at, (uint32_t)out[i].imm - ASM_IMM, i);
	}
	return n;
}
