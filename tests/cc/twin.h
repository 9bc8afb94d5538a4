/* SPDX-License-Identifier: BSD-3-Clause */
/* twin.h - kernels.c compiled for this machine, as test_cc.c calls it. */
#ifndef TESTS_CC_TWIN_H
#define TESTS_CC_TWIN_H

struct arguments;

struct twin {
	const char *name;
	int (*run)(struct arguments *arg);
};

extern const struct twin twins[];
extern const int num_twins;
extern __thread int twin_item; /* the work item that runs */

#endif
