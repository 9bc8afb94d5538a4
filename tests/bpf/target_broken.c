// SPDX-License-Identifier: BSD-3-Clause
/*
 * target_broken.c - rewrites a program so that one kind of instruction means something else, then interprets it.
 *
 * A mistake is a function that alters one instruction; the rest is the interpreter's. So each is a compiler that
 * gets this one thing wrong, wherever it appears.
 */
#include <stdlib.h>
#include <string.h>
#include "asm.h"
#include "target_broken.h"

static const char *broken_open(void)
{
	return NULL;
}

static void broken_close(void)
{
}

static void run_altered(const struct run *run, struct outcome *outcome, void (*alter)(struct bpf_insn *insn))
{
	struct bpf_insn *insns = malloc(run->num_insns * sizeof(*insns));
	struct run copy = *run;

	if (!insns)
		abort();
	memcpy(insns, run->insns, run->num_insns * sizeof(*insns));
	for (uint32_t i = 0; i < run->num_insns; i++) {
		alter(&insns[i]);
		if (insns[i].code == (BPF_LD | BPF_IMM | BPF_DW))
			i++;
	}
	copy.insns = insns;
	target_interp.run(&copy, outcome);
	free(insns);
}

static bool is_conditional(const struct bpf_insn *insn, uint8_t class, uint8_t op)
{
	return BPF_CLASS(insn->code) == class && BPF_OP(insn->code) == op;
}

/* Equal instead of any bit in common. */
static void alter_jset(struct bpf_insn *insn)
{
	if (is_conditional(insn, BPF_JMP, BPF_JSET) || is_conditional(insn, BPF_JMP32, BPF_JSET))
		insn->code = (uint8_t)((insn->code & ~0xf0) | BPF_JEQ);
}

/* Add for every operation. */
static void alter_atomic32(struct bpf_insn *insn)
{
	if (insn->code == (BPF_STX | BPF_ATOMIC | BPF_W) && insn->imm != BPF_CMPXCHG && insn->imm != BPF_XCHG)
		insn->imm = BPF_ADD | (insn->imm & BPF_FETCH);
}

/* Or for exclusive or. */
static void alter_xor_imm(struct bpf_insn *insn)
{
	if (insn->code == (BPF_ALU64 | BPF_XOR | BPF_K) || insn->code == (BPF_ALU | BPF_XOR | BPF_K))
		insn->code = (uint8_t)((insn->code & ~0xf0) | BPF_OR);
}

/* Less for less or equal. */
static void alter_jle64(struct bpf_insn *insn)
{
	if (is_conditional(insn, BPF_JMP, BPF_JLE))
		insn->code = (uint8_t)((insn->code & ~0xf0) | BPF_JLT);
}

/* One too short, when it goes far enough forward. */
static void alter_jump(struct bpf_insn *insn)
{
	if (is_conditional(insn, BPF_JMP32, BPF_JSGT) && insn->off > 0)
		insn->off--;
	if (insn->code == (BPF_JMP32 | BPF_JA) && insn->imm > 0)
		insn->imm--;
}

/* Without the sign. */
static void alter_arsh32(struct bpf_insn *insn)
{
	if (insn->code == (BPF_ALU | BPF_ARSH | BPF_K) || insn->code == (BPF_ALU | BPF_ARSH | BPF_X))
		insn->code = (uint8_t)((insn->code & ~0xf0) | BPF_RSH);
}

/* A helper: deletes for updates. */
static void alter_lookup(struct bpf_insn *insn)
{
	if (insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg && insn->imm == BPF_FUNC_map_update_elem)
		insn->imm = BPF_FUNC_map_delete_elem;
}

#define BROKEN(what)                                                           \
	static void run_##what(const struct run *run, struct outcome *outcome) \
	{                                                                      \
		run_altered(run, outcome, alter_##what);                       \
	}                                                                      \
	const struct target target_broken_##what = { .name = "broken-" #what,  \
						     .open = broken_open,      \
						     .run = run_##what,        \
						     .close = broken_close,    \
						     .broken = true,           \
						     .optional = true }

BROKEN(jset);
BROKEN(atomic32);
BROKEN(xor_imm);
BROKEN(jle64);
BROKEN(jump);
BROKEN(arsh32);
BROKEN(lookup);
