// SPDX-License-Identifier: BSD-3-Clause
/* compare.c - see compare.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "compare.h"
#include "disasm.h"
#include "minimise.h"

#define MAX_SHOWN 64 /* instructions of a program that goes into a command line */

/* Does the interpreter come to something else when the last item is the first? */
static bool needs_order(const struct run *run, const struct outcome *expected)
{
	struct run backwards = *run;
	struct outcome outcome;
	char why[sizeof(((struct difference *)0)->why)];
	bool differs;

	if ((uint64_t)run->grid[0] * run->grid[1] * run->grid[2] < 2)
		return false;
	backwards.backwards = true;
	target_interp.run(&backwards, &outcome);
	differs = outcome_diff(run, expected, &outcome, why);
	outcome_free(&outcome);
	return differs;
}

enum compare_result compare(const struct target *target, const struct run *run,
			    const struct outcome *expected, struct difference *difference)
{
	struct outcome outcome;
	enum compare_result result = COMPARE_SAME;

	target->run(run, &outcome);
	difference->reason = outcome.reason;
	snprintf(difference->message, sizeof(difference->message), "%s", outcome.message);
	if (outcome.refused && target->kernel) {
		/* The verifier is stricter than the programs are wrong. */
		result = COMPARE_REFUSED;
	} else {
		difference->kind = outcome_diff(run, expected, &outcome, difference->why);
		if (difference->kind)
			result = target->at_once && !outcome.refused && needs_order(run, expected)
					 ? COMPARE_ORDER
					 : COMPARE_DIFFERENT;
		if (outcome.refused)
			snprintf(difference->why, sizeof(difference->why),
				 "refused: status %u, reason %u, instruction %u", outcome.status,
				 outcome.reason, outcome.insn);
	}
	outcome_free(&outcome);
	return result;
}

struct looked_for {
	const struct target *target;
	const struct difference *difference;
	uint32_t fault; /* the interpreter's, of the whole program */
};

static bool still_fails(const struct run *run, void *opaque)
{
	const struct looked_for *wanted = opaque;
	struct run strict = *run;
	struct outcome expected;
	struct difference difference = { 0 };
	bool fails = false;

	strict.strict = true;
	target_interp.run(&strict, &expected);
	if (!expected.faults || (wanted->fault && expected.fault == wanted->fault))
		fails = compare(wanted->target, run, &expected, &difference) == COMPARE_DIFFERENT &&
			difference.kind == wanted->difference->kind &&
			(difference.kind != OUTCOME_REFUSED ||
			 difference.reason == wanted->difference->reason);
	outcome_free(&expected);
	return fails;
}

uint32_t compare_minimise(const struct target *target, struct random_case *made,
			  const struct difference *difference)
{
	struct looked_for wanted = { .target = target, .difference = difference };
	struct outcome expected;

	target_interp.run(&made->run, &expected);
	wanted.fault = expected.faults ? expected.fault : 0;
	outcome_free(&expected);
	return minimise(&made->run, made->insns, still_fails, &wanted);
}

static void print_without(uint32_t without)
{
	for (uint32_t i = 0; i < RANDOM_FEATURES; i++)
		if (without & 1u << i)
			printf(" --without %s", random_features[i]);
}

static void print_command(const struct target *target, const struct random_case *made, bool minimised)
{
	const struct run *run = &made->run;

	printf("# again: build/tests/bpf/random --device %s --seed %" PRIu64 " --count 1", target->name,
	       made->seed);
	print_without(made->without);
	if (minimised && run->num_insns <= MAX_SHOWN) {
		printf(" --packets %u --program ", run->num_packets);
		for (uint32_t i = 0; i < run->num_insns; i++)
			for (size_t k = 0; k < sizeof(run->insns[i]); k++)
				printf("%02x", ((const uint8_t *)&run->insns[i])[k]);
	}
	printf("\n");
}

uint32_t compare_report(const struct target *target, struct random_case *made,
			const struct difference *difference)
{
	uint32_t before = made->run.num_insns, tries;
	struct difference small = *difference;
	struct outcome expected;

	/* Of those that are broken on purpose it is no failure. */
	printf("# %s %s: interpreter and %s differ: %s\n", target->broken ? "found" : "FAIL", made->name,
	       target->name, difference->why);
	if (difference->kind == OUTCOME_REFUSED)
		printf("#   %s\n", difference->message);
	print_command(target, made, false);
	fflush(stdout);
	tries = compare_minimise(target, made, difference);
	target_interp.run(&made->run, &expected);
	compare(target, &made->run, &expected, &small);
	outcome_free(&expected);
	printf("# minimised in %u runs from %u to %u instructions, %u packets; they differ: %s\n", tries,
	       before, made->run.num_insns, made->run.num_packets, small.why);
	disasm_all(stdout, "#   ", made->run.insns, made->run.num_insns);
	for (uint32_t t = 0; t < made->run.num_tails; t++) {
		printf("#   tail %u\n", t);
		disasm_all(stdout, "#   ", made->run.tails[t].insns, made->run.tails[t].num_insns);
	}
	print_command(target, made, true);
	fflush(stdout);
	return made->run.num_insns;
}
