/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sums.h - which loads and stores of a program only accumulate.
 *
 * `c->packets++` is a load, an addition and a store. Where lanes run at once, two of them may load the same value
 * and one count is lost. A place where nothing else is done with what was loaded is a sum: the translator
 * makes one atomic operation of it, and the counter comes out right.
 */
#ifndef GPGPU_BPF_SUMS_H
#define GPGPU_BPF_SUMS_H

#include "bpf/kinds.h"

enum gp_sum_role {
	GP_SUM_NONE = 0,
	GP_SUM_LOAD = 1, /* yields the operation's neutral element instead of the value */
	GP_SUM_STORE = 2, /* the operation itself: with what has been gathered since */
};

/* How the registers hold the result behind the store. */
enum gp_sum_width {
	GP_SUM_32 = 1, /* summed in 32 bits, the rest zero */
	GP_SUM_64 = 2,
};

/* One for each instruction. */
struct gp_sum {
	uint8_t role;
	uint8_t op;   /* BPF_ADD, BPF_OR, BPF_AND or BPF_XOR */
	uint8_t width; /* STORE: enum gp_sum_width; both: nobody reads the register that was stored any more */
	uint16_t before; /* STORE: registers that hold the value before the operation, from then on */
};

struct gp_sums {
	struct gp_sum *at; /* by instruction */
	uint32_t found; /* stores */
};

/*
 * gp_sums_find() - find them all.
 * @kinds: of a program that has been accepted.
 * @flags: GP_PROG_*; with GP_PROG_ALONE there are none.
 *
 * gp_sums_free() frees what was found.
 */
void gp_sums_find(struct gp_sums *sums, struct gp_kinds *kinds, uint32_t flags);
void gp_sums_free(struct gp_sums *sums);

/* For authors: what lanes mean for a program. */
struct gp_sums_info {
	uint32_t sums; /* stores that are atomic */
	uint32_t others; /* stores to values that lanes share which are not, and no atomics of the program's own */
	uint32_t first_other; /* instruction */
};

/* gp_sums_of() - of a program that has not been looked at. Return: false if it is refused. */
bool gp_sums_of(const struct gp_prog *prog, struct gp_sums_info *info);

/* gp_map_is_percpu() - whether each device thread has values of its own in a map of that type. */
bool gp_map_is_percpu(uint32_t type);

#endif
