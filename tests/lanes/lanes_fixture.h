/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lanes_fixture.h - an engine with options of its own, the maps and programs of races.bpf.c, and batches for them.
 */
#ifndef TESTS_LANES_FIXTURE_H
#define TESTS_LANES_FIXTURE_H

#include <check.h>
#include <linux/bpf.h>
#include "races.h"
#include "wire_client.h"

enum { CTX = 1, BUF = 1 };
enum { MAP_counters = 1, MAP_percpu, MAP_flows, MAP_recent, MAP_wide };

#define SLOT	   128u
#define HEADROOM   48u
#define PACKET_LEN 64u
#define MAX_BATCH  8192u
#define SEEDS	   8

struct packet {
	uint8_t dst[6], src[6];
	uint16_t proto;
	struct body body;
} __attribute__((packed));

struct lanes {
	struct gpgpu_engine *engine; /* or: */
	int worker_socket; /* -1: none */
	pid_t worker;
	struct wire_client *client;
	uint32_t next_prog;
	uint64_t seq;
	struct virtio_gpgpu_packet_desc descs[MAX_BATCH];
	uint8_t verdicts[MAX_BATCH];
	uint16_t faults[MAX_BATCH];
	uint32_t fault_insns[MAX_BATCH];
	uint32_t fault_count;
	uint64_t counts[5]; /* verdicts */
};

/* lanes_start() - @threads device threads, or with a @seed that is not negative, interleaved. @fuel: 0: default */
void lanes_start(struct lanes *l, uint32_t threads, int64_t seed, bool plain_sums, uint64_t fuel);
/* lanes_start_worker() - the same in a worker, interleaved by @seed. */
void lanes_start_worker(struct lanes *l, const char *seed);
void lanes_stop(struct lanes *l);

/* lanes_prog() - load a program of races.bpf.c. Return: its id. */
uint32_t lanes_prog(struct lanes *l, const char *name);

/* lanes_load() - load a program of instructions whose map references are MAP_*. Return: its id. */
uint32_t lanes_load(struct lanes *l, const char *name, uint32_t kind, const struct bpf_insn *insns,
		    uint32_t count, const uint8_t *arg_kind, uint32_t num_args);

/* lanes_packet() - packet @i, to be filled in; zeros in the beginning. */
struct packet *lanes_packet(struct lanes *l, uint32_t i);

/* lanes_submit() - hand in a batch of @count packets. @order: VIRTIO_GPGPU_PACKETS_*. Return: the ticket. */
uint64_t lanes_submit(struct lanes *l, uint32_t prog, uint32_t count, uint32_t order);
/* lanes_wait() - for it, and fill in verdicts, faults and counts. Return: the status. */
uint32_t lanes_wait(struct lanes *l, uint64_t ticket, uint32_t count);
/* lanes_run() - both; the status must be OK. */
void lanes_run(struct lanes *l, uint32_t prog, uint32_t count, uint32_t order);

/* lanes_get() - the value of @key, @size bytes. Return: whether there is one. */
bool lanes_get(struct lanes *l, uint32_t map, uint32_t key, void *value, uint32_t size);
void lanes_set(struct lanes *l, uint32_t map, uint32_t key, const void *value, uint32_t size);
struct counters lanes_counters(struct lanes *l);
/* lanes_num_cpus() - copies of per-CPU values. */
uint32_t lanes_num_cpus(struct lanes *l);

/* ---- what most tests do, with one engine at a time ---- */

#define FLOW VIRTIO_GPGPU_PACKETS_ORDER_FLOW
#define ALL  VIRTIO_GPGPU_PACKETS_ORDER_ALL

enum { FEW = 1500, THREADS = 4, FLOWS = 16 };

extern struct lanes l;

/* fill() - packets over FLOWS flows, each with other values. */
void fill(uint32_t count);
/* start() - interleaved by @seed, or with THREADS threads where it is negative; with @count packets, and flows. */
void start(int64_t seed, uint32_t count);
/* run_one() - one batch of @name in a fresh engine. Return: the counters. */
struct counters run_one(int64_t seed, const char *name, uint32_t count, uint32_t order);
/* check_count() - did `count` see @count packets? */
void check_count(const struct counters *c, uint64_t count);

int lanes_main(Suite *suite);

#endif
