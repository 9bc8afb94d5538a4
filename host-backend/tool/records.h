/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * records.h - what a program left in ring buffers and perf event arrays, as lines of a file.
 */
#ifndef GPGPU_BPF_RECORDS_H
#define GPGPU_BPF_RECORDS_H

#include <stdio.h>

#include "load.h"

struct records {
	FILE *to;
	uint64_t count, dropped;
};

/* records_read() - take all records out of a loaded object's maps and write a line "MAP CPU BYTES" for each, or die. */
void records_read(struct records *r, const struct loaded *l);

#endif
