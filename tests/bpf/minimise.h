/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * minimise.h - a failing program made small, by delta debugging.
 */
#ifndef TESTS_BPF_MINIMISE_H
#define TESTS_BPF_MINIMISE_H

#include "target.h"

/* Return: whether @run still fails in the way that is looked for. It may be any nonsense. */
typedef bool minimise_fn(const struct run *run, void *opaque);

/*
 * minimise() - remove and simplify instructions for as long as the program goes on failing.
 * @run: fails; its instructions are @insns, which have room for run->num_insns and are changed. So are
 *	 run->num_insns and run->num_packets.
 * @fails: called often; what is random in it makes the result worse, not wrong.
 *
 * Return: how often @fails was called.
 */
uint32_t minimise(struct run *run, struct bpf_insn *insns, minimise_fn *fails, void *opaque);

#endif
