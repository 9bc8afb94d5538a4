// SPDX-License-Identifier: BSD-3-Clause
/*
 * minimise.c - delta debugging of BPF programs.
 *
 * How it works: a candidate is the program without a range of instructions. Jumps, calls and references to functions that
 * stay go to what followed their target, so that removing never changes what the rest means. A candidate that
 * still fails becomes the program. Ranges start at half of the program and are halved down to single
 * instructions, which are gone through until nothing can go. Then branches become plain jumps, immediates and
 * offsets of constants become 0 or 1, and what that made useless is removed.
 *
 * Two-slot instructions are one: a range that cuts one takes the whole of it.
 */
#include <stdlib.h>
#include <string.h>
#include "minimise.h"

#define MAX_TRIES 4000

struct state {
	struct run *run;
	struct bpf_insn *insns; /* the program so far: run->num_insns of them */
	struct bpf_insn *candidate;
	uint32_t *to; /* index in the candidate of what stays or follows */
	minimise_fn *fails;
	void *opaque;
	uint32_t tries;
};

static bool is_wide(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}

/* Where a distance of this instruction is kept: 0 nowhere, 1 off, 2 imm. */
static int distance_field(const struct bpf_insn *insn)
{
	uint8_t class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	if (is_wide(insn))
		return insn->src_reg == BPF_PSEUDO_FUNC ? 2 : 0;
	if (class != BPF_JMP && class != BPF_JMP32)
		return 0;
	if (op == BPF_EXIT)
		return 0;
	if (op == BPF_CALL)
		return insn->src_reg == BPF_PSEUDO_CALL ? 2 : 0;
	return class == BPF_JMP32 && op == BPF_JA ? 2 : 1;
}

/* Tries @candidate, @num instructions. Return: true, and it is the program now, if it fails. */
static bool try(struct state *s, uint32_t num)
{
	struct run *run = s->run;
	const struct bpf_insn *insns = run->insns;
	uint32_t before = run->num_insns;

	if (num == 0 || s->tries == MAX_TRIES)
		return false;
	s->tries++;
	run->insns = s->candidate;
	run->num_insns = num;
	if (s->fails(run, s->opaque)) {
		memcpy(s->insns, s->candidate, num * sizeof(*s->insns));
		run->insns = s->insns;
		return true;
	}
	run->insns = insns;
	run->num_insns = before;
	return false;
}

/* The program without [from, end). */
static bool try_without(struct state *s, uint32_t from, uint32_t end)
{
	uint32_t n = s->run->num_insns, kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		s->to[i] = kept;
		kept += i < from || i >= end;
	}
	s->to[n] = kept;
	for (uint32_t i = 0; i < n; i++) {
		struct bpf_insn insn = s->insns[i];
		bool second = i > 0 && is_wide(&s->insns[i - 1]);
		int field = second ? 0 : distance_field(&insn);
		int64_t target, distance;

		if (i >= from && i < end)
			continue;
		if (field) {
			target = (int64_t)i + 1 + (field == 1 ? insn.off : insn.imm);
			if (target < 0 || target >= n)
				return false;
			distance = (int64_t)s->to[target] - s->to[i] - 1;
			if (field == 1)
				insn.off = (int16_t)distance;
			else
				insn.imm = (int32_t)distance;
		}
		s->candidate[s->to[i]] = insn;
	}
	return try(s, kept);
}

static bool remove_ranges(struct state *s, uint32_t size)
{
	bool any = false;

	/* From the end: what comes last uses what is in front of it. */
	for (int64_t end = s->run->num_insns; end > 0;) {
		int64_t from = end > size ? end - size : 0;

		if (from > 0 && is_wide(&s->insns[from - 1]))
			from--;
		if (end < (int64_t)s->run->num_insns && end > 0 && is_wide(&s->insns[end - 1]))
			end++;
		any |= try_without(s, (uint32_t)from, (uint32_t)end);
		end = from;
	}
	return any;
}

/* Return: whether @insn is other now. @how: 0 to a plain jump, 1 its immediate to 0, 2 to 1, 3 without its source. */
static bool simpler(struct bpf_insn *insn, int how)
{
	uint8_t class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);
	bool jump = class == BPF_JMP || class == BPF_JMP32, alu = class == BPF_ALU || class == BPF_ALU64;

	switch (how) {
	case 0:
		if (!jump || op == BPF_JA || op == BPF_CALL || op == BPF_EXIT)
			return false;
		*insn = (struct bpf_insn){ .code = BPF_JMP | BPF_JA, .off = insn->off };
		return true;
	case 1:
	case 2:
		if (insn->imm == how - 1 || insn->imm == 0 || distance_field(insn) == 2 ||
		    (jump && (op == BPF_CALL || op == BPF_JA)) || (alu && op == BPF_END) || class == BPF_STX)
			return false;
		if (is_wide(insn) && insn->src_reg)
			return false;
		insn->imm = how - 1;
		return true;
	default:
		if (!alu || op != BPF_MOV || BPF_SRC(insn->code) != BPF_X)
			return false;
		*insn = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = insn->dst_reg };
		return true;
	}
}

static bool simplify(struct state *s)
{
	bool any = false;

	for (uint32_t i = 0; i < s->run->num_insns; i++) {
		for (int how = 0; how < 4; how++) {
			memcpy(s->candidate, s->insns, s->run->num_insns * sizeof(*s->insns));
			if (simpler(&s->candidate[i], how))
				any |= try(s, s->run->num_insns);
		}
		i += is_wide(&s->insns[i]);
	}
	return any;
}

static void fewer_packets(struct state *s)
{
	uint32_t before = s->run->num_packets;

	for (uint32_t n = 1; n < before; n++) {
		s->run->num_packets = n;
		s->tries++;
		if (s->fails(s->run, s->opaque))
			return;
	}
	s->run->num_packets = before;
}

uint32_t minimise(struct run *run, struct bpf_insn *insns, minimise_fn *fails, void *opaque)
{
	uint32_t n = run->num_insns;
	struct state s = { .run = run,
			   .insns = insns,
			   .candidate = calloc(n, sizeof(*insns)),
			   .to = calloc(n + 1, sizeof(*s.to)),
			   .fails = fails,
			   .opaque = opaque };
	bool again = true;

	if (!s.candidate || !s.to)
		abort();
	run->insns = insns;
	fewer_packets(&s);
	for (uint32_t size = n / 2; size > 1; size /= 2)
		remove_ranges(&s, size);
	while (again && s.tries < MAX_TRIES) {
		while (remove_ranges(&s, 1) && s.tries < MAX_TRIES)
			;
		again = simplify(&s);
		again |= remove_ranges(&s, 2);
	}
	free(s.candidate);
	free(s.to);
	return s.tries;
}
