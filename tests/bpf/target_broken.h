/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * target_broken.h - interpreters with one mistake each, mostly those that a JIT for a GPU once shipped with.
 *
 * They prove the tests: vectors and random programs must find every one of them.
 */
#ifndef TESTS_BPF_TARGET_BROKEN_H
#define TESTS_BPF_TARGET_BROKEN_H

#include "target.h"

extern const struct target target_broken_jset, target_broken_atomic32, target_broken_xor_imm,
	target_broken_jle64, target_broken_jump, target_broken_arsh32, target_broken_lookup;

#endif
