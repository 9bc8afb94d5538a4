/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare.h - one program on the interpreter and on another target, and what to say when they differ.
 */
#ifndef TESTS_BPF_COMPARE_H
#define TESTS_BPF_COMPARE_H

#include "random.h"

enum compare_result {
	COMPARE_SAME,
	COMPARE_REFUSED, /* by the kernel's verifier */
	COMPARE_ORDER, /* it differs, but then it depends on the order of work items, and the target has none */
	COMPARE_DIFFERENT,
};

struct difference {
	enum outcome_difference kind;
	uint32_t reason; /* of a refusal by one that validates */
	char why[256];
	char message[512]; /* of a refusal */
};

/* @expected: the interpreter's. */
enum compare_result compare(const struct target *target, const struct run *run,
			    const struct outcome *expected, struct difference *difference);

/*
 * compare_minimise() - make a program that differs small; it goes on differing in the same way, and stays a program
 * that the interpreter runs without faults, unless it faulted before.
 *
 * Return: how many times it was run.
 */
uint32_t compare_minimise(const struct target *target, struct random_case *made,
			  const struct difference *difference);

/*
 * compare_report() - minimise and print, behind "# ", the difference, the program and the command to see it again.
 * Return: instructions that are left.
 */
uint32_t compare_report(const struct target *target, struct random_case *made,
			const struct difference *difference);

#endif
