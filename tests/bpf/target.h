/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * target.h - one program with its input, and what came of running it, on whatever can run BPF.
 *
 * Three targets: the interpreter (always there), our CPU compiler (when the engine is built) and the kernel's
 * BPF_PROG_TEST_RUN (where the machine lets us; XDP only). A run starts from the same packet, maps and
 * buffers each time; its outcome is a flat record that two targets can be compared by.
 *
 * Ownership: an outcome belongs to the caller, who frees it with outcome_free(). Threads: one.
 */
#ifndef TESTS_BPF_TARGET_H
#define TESTS_BPF_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/bpf.h>
#include "virtio_gpgpu.h"

#define OUTCOME_UNKNOWN 0x7fffffff /* the target does not say */
#define RUN_PACKETS	3
#define RUN_MAX_MAPS	8
#define RUN_MAX_PACKET	4096 /* bytes of a slot */
#define RUN_CPU		0  /* what get_smp_processor_id answers where we can choose */
#define RUN_CPUS	2  /* copies of per-CPU maps where we can choose */
/*
 * The kernel keeps the first 40 of its 256 bytes of headroom for itself; with this offset of a packet in its
 * slot, and this much behind it, adjust_head and adjust_tail have the same limits everywhere.
 */
#define RUN_DATA_OFF 216
#define RUN_STRIDE   3712
#define RUN_MAX_LEN  1024 /* bytes of a packet; far from the slot's end */

struct run_map {
	uint32_t type, key_size, value_size, max_entries;
	bool rdonly;
	const uint8_t *init; /* num_init times key, then value */
	uint32_t num_init;
};

struct run_arg {
	uint32_t kind;  /* VIRTIO_GPGPU_ARG_* */
	uint64_t value;
	const uint8_t *init; /* buffer: first contents */
	uint64_t size;
};

struct run_packet {
	const uint8_t *bytes; /* meta_len bytes of metadata, then len bytes */
	uint32_t len;
	uint16_t meta_len, rx_queue;
	uint32_t ingress_port;
};

struct run {
	const char *name;
	uint32_t kind;   /* VIRTIO_GPGPU_PROG_* */
	const struct bpf_insn *insns;
	uint32_t num_insns;
	const struct run_map *maps;
	uint32_t num_maps;
	uint64_t fuel;
	/* XDP: run one after the other, on the same maps */
	struct run_packet packets[RUN_PACKETS];
	uint32_t num_packets;
	/* compute */
	struct run_arg args[VIRTIO_GPGPU_MAX_ARGS];
	uint32_t num_args;
	uint32_t grid[3], group[3];
};

struct outcome_packet {
	uint32_t verdict, egress_port;
	int32_t data_moved; /* bytes that the packet's start moved back */
	uint32_t len;
	uint16_t meta_len;
	uint16_t fault;
};

struct outcome {
	bool refused;   /* the target did not take the program: message says why */
	uint32_t status, reason, insn; /* VIRTIO_GPGPU_S_*, _R_*; 0 if it does not say */
	char message[512];
	/* ran */
	uint64_t faults;	 /* items that faulted */
	uint32_t fault, fault_insn; /* of the first */
	struct outcome_packet packets[RUN_PACKETS];
	uint8_t *bytes; /* metadata and packets, or buffers; then maps */
	size_t num_bytes;
};

struct target {
	const char *name;
	/* Return: NULL, or why this machine cannot. */
	const char *(*open)(void);
	void (*run)(const struct run *run, struct outcome *outcome);
	void (*close)(void);
	bool kernel;   /* subject to the kernel's verifier */
};

extern const struct target target_interp;
extern const struct target target_jit;
extern const struct target target_kernel;

void outcome_free(struct outcome *outcome);
/* outcome_add() - append to an outcome's bytes. */
void outcome_add(struct outcome *outcome, const void *bytes, size_t size);
/* outcome_add_key() - append a map's key; bits behind an LPM prefix, which do not count, as zeros. */
void outcome_add_key(struct outcome *outcome, const struct run_map *map, const void *key);
/* outcome_sort() - order the records that were added from @from on; keyed maps have no order. */
void outcome_sort(struct outcome *outcome, size_t from, size_t record);

/*
 * outcome_diff() - compare two outcomes of one run.
 * @why: out: the first difference, for a person
 *
 * What an item did before it faulted counts too. Return: true if they differ.
 */
bool outcome_diff(const struct run *run, const struct outcome *a, const struct outcome *b, char why[256]);

#endif
