/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vector_maps.h - the maps of vectors.h, and which of them one vector has.
 */
#ifndef TESTS_BPF_VECTOR_MAPS_H
#define TESTS_BPF_VECTOR_MAPS_H

#include "target.h"
#include "vectors.h"

/* The maps of one run: those that its program names, and what those need. */
struct used_maps {
	struct run_map maps[VECTOR_MAPS];
	int index[VECTOR_MAPS]; /* in the run, or -1 */
	uint32_t num;
	uint8_t of_init[VECTOR_MAPS][32];
	struct bpf_insn tail_insns[VECTOR_TAILS][32];
	struct run_tail tails[VECTOR_TAILS];
};

/* vector_maps_init() - fill what is not written out; call once. */
void vector_maps_init(void);

/*
 * vector_use_maps() - give @run the maps that its program names and what those need.
 * @insns: run->num_insns of them; the numbers of maps are changed to what they are in the run.
 */
void vector_use_maps(struct run *run, struct used_maps *used, struct bpf_insn *insns);

#endif
