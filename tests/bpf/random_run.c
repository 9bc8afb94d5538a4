// SPDX-License-Identifier: BSD-3-Clause
/*
 * random_run.c - random programs on every target that this machine has, compared with the interpreter.
 *
 *	random [COUNT [SEED [TARGET]]]	COUNT programs (2000), from SEED on (1); COUNT 0: for ever.
 *					SEED "fresh": from the clock.
 *
 * A mismatch prints the seed and the program, and `random 1 SEED` shows it again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "random.h"

static const struct target *const others[] = { &target_jit, &target_kernel };
#define OTHERS (sizeof(others) / sizeof(others[0]))

static void show(const struct random_case *made)
{
	for (uint32_t i = 0; i < made->run.num_insns; i++) {
		const struct bpf_insn *insn = &made->insns[i];

		printf("#   %4u: %02x r%u r%u off %d imm %#x\n", i, insn->code, insn->dst_reg, insn->src_reg,
		       insn->off, (uint32_t)insn->imm);
	}
}

struct tally {
	const char *why_not;
	uint64_t ran, refused, wrong;
};

static void compare(const struct target *target, const struct random_case *made,
		    const struct outcome *expected, struct tally *tally)
{
	struct outcome outcome;
	char why[256];

	target->run(&made->run, &outcome);
	if (outcome.refused && target->kernel) {
		/* The verifier is stricter than the programs are wrong; the count is told at the end. */
		tally->refused++;
		if (getenv("RANDOM_VERBOSE"))
			printf("# %s: %s: %s\n", target->name, made->name, outcome.message);
	} else if (outcome_diff(&made->run, expected, &outcome, why)) {
		if (tally->wrong++ < 5) {
			printf("# FAIL %s: interpreter and %s differ: %s\n", made->name, target->name, why);
			if (outcome.refused)
				printf("#   refused: status %u, reason %u, instruction %u: %s\n",
				       outcome.status, outcome.reason, outcome.insn, outcome.message);
			show(made);
			fflush(stdout);
		}
	} else {
		tally->ran++;
	}
	outcome_free(&outcome);
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 2000, seed = 1, faults = 0, kernels = 0;
	static struct random_case made;
	struct tally tally[OTHERS] = { 0 };
	bool failed = false;

	if (argc > 2)
		seed = strcmp(argv[2], "fresh") ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) * 1000003;
	printf("# from seed %" PRIu64 " on\n", seed);
	for (size_t t = 0; t < OTHERS; t++)
		tally[t].why_not = argc > 3 && strcmp(argv[3], others[t]->name) ? "not asked for"
										: others[t]->open();
	for (uint64_t i = 0; count == 0 || i < count; i++) {
		struct outcome expected;

		random_make(seed + i, &made);
		target_interp.run(&made.run, &expected);
		if (expected.faults && !made.may_fault) {
			printf("# FAIL %s: the interpreter faults: %u at instruction %u\n", made.name,
			       expected.fault, expected.fault_insn);
			show(&made);
			failed = true;
		}
		faults += expected.faults != 0;
		kernels += made.run.kind == VIRTIO_GPGPU_PROG_GPGPU;
		for (size_t t = 0; t < OTHERS; t++)
			if (!tally[t].why_not && !(others[t]->kernel && made.no_kernel))
				compare(others[t], &made, &expected, &tally[t]);
		outcome_free(&expected);
	}
	printf("# %" PRIu64 " programs, %" PRIu64 " of them kernels, %" PRIu64 " with faults\n", count,
	       kernels, faults);
	printf("%s 1 - the generator's programs do not fault in the interpreter unless they may\n",
	       failed ? "not ok" : "ok");
	for (size_t t = 0; t < OTHERS; t++) {
		bool good = tally[t].wrong == 0 && tally[t].ran > 0;

		if (tally[t].why_not) {
			printf("ok %zu - %s # SKIP %s\n", t + 2, others[t]->name, tally[t].why_not);
			continue;
		}
		others[t]->close();
		printf("%s %zu - %s: %" PRIu64 " programs agree, %" PRIu64 " differ, %" PRIu64
		       " refused by it\n",
		       good ? "ok" : "not ok", t + 2, others[t]->name, tally[t].ran, tally[t].wrong,
		       tally[t].refused);
		failed |= !good;
	}
	printf("1..%zu\n", OTHERS + 1);
	return failed;
}
