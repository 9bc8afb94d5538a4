/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * random.h - random BPF programs that are valid, with random input, from a seed.
 *
 * The same seed gives the same program for ever on every machine, so that a mismatch can be seen again.
 */
#ifndef TESTS_BPF_RANDOM_H
#define TESTS_BPF_RANDOM_H

#include "target.h"

#define RANDOM_MAX_INSNS 4096
#define RANDOM_MAX_TAIL	 512
#define RANDOM_MAPS	 RUN_MAX_MAPS

/* What a device does not have yet. Seeds make other programs without them. */
#define RANDOM_WITHOUT_MAPS  1u /* all but hash, array, per-CPU array, LPM trie */
#define RANDOM_WITHOUT_LOOP  2u /* bpf_loop */
#define RANDOM_WITHOUT_TAILS 4u
#define RANDOM_FEATURES	     4
#define RANDOM_WITHOUT_MORE  8u /* other helpers: strncmp, xdp_get_buff_len, ... */

struct random_case {
	struct run run; /* points into the members below */
	uint64_t seed;
	uint32_t without;
	bool no_kernel; /* uses what the kernel's verifier refuses */
	bool may_fault;
	struct bpf_insn insns[RANDOM_MAX_INSNS];
	struct bpf_insn tail_insns[RUN_MAX_TAILS][RANDOM_MAX_TAIL];
	struct run_tail tails[RUN_MAX_TAILS];
	struct run_map maps[RANDOM_MAPS];
	uint8_t map_init[RANDOM_MAPS][1024];
	uint8_t packet[RUN_PACKETS][RUN_MAX_LEN];
	uint8_t buffer[2][4096];
	char name[32];
};

extern const char *const random_features[RANDOM_FEATURES]; /* names of the bits */

void random_make(uint64_t seed, uint32_t without, struct random_case *made);
/* random_show() - print it behind "# ", as assembly. */
void random_show(const struct random_case *made);

#endif
