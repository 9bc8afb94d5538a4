/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rules.h - programs that break the validator's rules, and that do not.
 *
 * A rule is known by its `id`, as in docs/validator.md. `words` must all be in the message, with '|' between them.
 */
#ifndef TESTS_UNIT_RULES_H
#define TESTS_UNIT_RULES_H

#include "bpf/prog.h"
#include "virtio_gpgpu.h"

/* Maps that every program has. */
enum { MAP_ARRAY, MAP_HASH, MAP_RODATA, MAP_QUEUE, MAP_RING, MAP_PROGS, NUM_MAPS };

#define ANY_INSN (UINT32_MAX - 1)

struct rule_program {
	const struct bpf_insn *insns;
	uint32_t count;
};

struct rule {
	const char *id, *name;
	uint32_t kind, reason, at;
	const char *words;
	struct rule_program bad, good;
};

struct special {
	const char *id, *name;
	uint32_t reason, at;
	const char *words;
	void (*bend)(struct gp_prog *prog); /* makes a good program, of one instruction, a bad one; or */
	/* writes up to GP_MAX_INSNS + 1 instructions of an XDP program. Return: how many. */
	uint32_t (*make)(struct bpf_insn *insns, bool bad);
};

extern const struct rule rules[];
extern const uint32_t num_rules;
extern const struct special specials[];
extern const uint32_t num_specials;

#endif
