/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * target.h - one program with its input, and what came of running it, on whatever can run BPF.
 *
 * Targets: the interpreter (always there), each device of the engine (when the engine is built; a row of targets.c
 * and a DEVICE() in target_engine.c make one more), the kernel's BPF_PROG_TEST_RUN (where the machine lets us;
 * XDP only), and interpreters that are broken on purpose, which the tests must find out. A run starts from the
 * same packet, maps and buffers each time; its outcome is a flat record that two targets can be compared by.
 *
 * What of a map is compared: README.md says it for each type. Records (ring buffers, perf events) are kept
 * apart, since not every target can read them back.
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
#define RUN_MAX_MAPS	24
#define RUN_MAX_TAILS	4
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

struct interp_step;

struct run_map {
	uint32_t type, key_size, value_size, max_entries;
	bool rdonly;
	/*
	 * num_init times key, then value. QUEUE, STACK, BLOOM_FILTER: in the order of pushing. PROG_ARRAY: a value is
	 * an index into the run's `tails`; maps of maps: into its maps, to one in front of this.
	 */
	const uint8_t *init;
	uint32_t num_init;
	uint32_t inner; /* maps of maps: index of the map in front of this that is the template */
};

struct run_tail { /* a program that a PROG_ARRAY may name; uses the run's maps */
	const struct bpf_insn *insns;
	uint32_t num_insns;
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
	const struct run_tail *tails;
	uint32_t num_tails;
	void (*trace)(void *opaque, const struct interp_step *step); /* of the interpreter; NULL: none */
	bool backwards; /* the interpreter is to run the last work item first */
	bool strict; /* the interpreter is to fault where a register is read that was not written */
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
	bool no_records; /* the target cannot read records back */
	uint8_t *records; /* size and bytes of each, by map */
	size_t num_records_bytes;
};

struct target {
	const char *name;
	/* Return: NULL, or why this machine cannot. */
	const char *(*open)(void);
	void (*run)(const struct run *run, struct outcome *outcome);
	void (*close)(void);
	bool kernel;   /* subject to the kernel's verifier */
	bool validates; /* refuses programs, and says why */
	uint32_t once_in; /* of so many random programs it gets one; 0 is 1 */
	bool broken;   /* on purpose */
	bool optional;   /* taken only when it is asked for by name */
	bool at_once;   /* runs work items at once, in no order */
};

extern const struct target target_interp;
extern const struct target target_cpu; /* the engine's device of that name */
extern const struct target target_cpu_quick; /* the same, with the code that programs start with */
extern const struct target target_mock; /* the engine's device for GPUs, over one that is none */
extern const struct target target_amdgpu, target_cuda; /* only by name, since a machine has to have one */
extern const struct target target_jit; /* the compiler without an engine; simple maps only */
extern const struct target target_kernel;

/* The interpreter first; targets.c. */
extern const struct target *const targets[];
extern const uint32_t num_targets;
/* target_find() - a target or device by name. Return: NULL if there is none. */
const struct target *target_find(const char *name);

void outcome_free(struct outcome *outcome);
/* outcome_add() - append to an outcome's bytes. */
void outcome_add(struct outcome *outcome, const void *bytes, size_t size);
/* outcome_add_record() - append one record. Zeros at its end, up to a multiple of 8, do not count. */
void outcome_add_record(struct outcome *outcome, const void *bytes, uint32_t size);
/* run_map_*() - what of a map of this type an outcome has. */
enum run_map_form {
	RUN_MAP_NONE, /* nothing */
	RUN_MAP_VALUES, /* the values, by index */
	RUN_MAP_KEYED, /* keys and values, sorted */
	RUN_MAP_POPPED, /* the values, as they are popped */
	RUN_MAP_RECORDS,
};
enum run_map_form run_map_form(uint32_t type);
bool run_map_percpu(uint32_t type);
bool run_map_of_maps(uint32_t type);
/* outcome_add_key() - append a map's key; bits behind an LPM prefix, which do not count, as zeros. */
void outcome_add_key(struct outcome *outcome, const struct run_map *map, const void *key);
/* outcome_sort() - order the records that were added from @from on; keyed maps have no order. */
void outcome_sort(struct outcome *outcome, size_t from, size_t record);

/* In what two outcomes differ first. */
enum outcome_difference {
	OUTCOME_SAME = 0,
	OUTCOME_REFUSED,
	OUTCOME_FAULT,
	OUTCOME_VERDICT,
	OUTCOME_PLACE, /* of the packet: port, start, lengths */
	OUTCOME_PACKET_BYTES, /* of packets or buffers */
	OUTCOME_MAP_BYTES,
	OUTCOME_RECORDS,
};

/*
 * outcome_diff() - compare two outcomes of one run.
 * @why: out: the first difference, for a person
 *
 * What an item did before it faulted counts too. Return: OUTCOME_SAME (0), or in what they differ.
 */
enum outcome_difference outcome_diff(const struct run *run, const struct outcome *a, const struct outcome *b,
				     char why[256]);

#endif
