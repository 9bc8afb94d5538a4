/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * races.h - what races.bpf.c and test_lanes.c agree on.
 */
#ifndef TESTS_LANES_RACES_H
#define TESTS_LANES_RACES_H

#include <linux/types.h>

#define RACES_MANY   0x40000000 /* never reached */
#define RACES_FLOWS  64
#define RACES_RECENT 32
#define RACES_TRIES  20000
#define RACES_RATE   1 /* tokens for a unit of time */
#define RACES_COST   10
#define RACES_BURST  40

struct counters {
	__u64 packets, bytes;
	__u32 small, lock;
};

/* Every operation and size. */
struct wide {
	__u64 add, sub, or, and, xor;
	__u64 next, odd[2]; /* at odd + 1: not aligned */
	__u32 add32, next32;
	__u16 add16, or16;
	__u8 add8, xor8;
	__u8 pad[2];
};

struct flow {
	__u64 packets, tokens, time;
};

struct body {
	__u32 value, out;
	__u64 time;
};

#endif
