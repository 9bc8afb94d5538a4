/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_helpers.c - helpers as programs call them: compiled and run, with maps of every type.
 *
 * Each row is a program that leaves a number in the map OUT. The packet has 64 bytes, byte i is i; ingress port 2,
 * receive queue 3, CPU 1 of 2. What the helpers do in the corner cases is test_map_kinds.c's and test_records.c's;
 * here it is that the right one is called with the right arguments, and that a lane which misuses one ends.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#define ASM_TABLE
#include "asm.h"
#include "gpgpu_bpf.h"
#include "jit/jit.h"
#include "rt/clock.h"
#include "rt/log.h"
#include "rt/maps.h"
#include "rt/rt.h"
#include "virtio_gpgpu.h"

enum {
	OUT,
	LRU,
	PERCPU,
	LRUCPU,
	DEV,
	DEVHASH,
	CPUS,
	PROGS,
	OUTER,
	OUTERHASH,
	QUEUE,
	STACK,
	BLOOM,
	RING,
	PERF,
	HASH,
	TEXT, /* "abc\0", and nothing behind it */
	NUM_MAPS,
	INNER = NUM_MAPS, /* element 1 of OUTER: a hash; key 8, value 16 */
	ARRAY, /* of OUTERHASH, with key 9: an array of 4 numbers */
	STRANGER, /* in the table of elements, but not the program's */
	FIB,
	ALL_MAPS,
};

enum { INNER_SLOT = 5, ARRAY_SLOT = 70, STRANGER_SLOT = 71, NUM_SLOTS = 100 };

#define TYPE(name, key, value, count) \
	{ .type = VIRTIO_GPGPU_MAP_##name, .key_size = key, .value_size = value, .max_entries = count }

static const struct gp_map_desc shapes[ALL_MAPS] = {
	[OUT] = TYPE(ARRAY, 4, 32, 1),
	[LRU] = TYPE(LRU_HASH, 4, 8, 2),
	[PERCPU] = TYPE(PERCPU_HASH, 4, 8, 4),
	[LRUCPU] = TYPE(LRU_PERCPU_HASH, 4, 8, 2),
	[DEV] = TYPE(DEVMAP, 4, 4, 4),
	[DEVHASH] = TYPE(DEVMAP_HASH, 4, 8, 4),
	[CPUS] = TYPE(CPUMAP, 4, 4, 4),
	[PROGS] = TYPE(PROG_ARRAY, 4, 4, 4),
	[OUTER] = TYPE(ARRAY_OF_MAPS, 4, 4, 4),
	[OUTERHASH] = TYPE(HASH_OF_MAPS, 4, 4, 4),
	[QUEUE] = TYPE(QUEUE, 0, 8, 2),
	[STACK] = TYPE(STACK, 0, 8, 2),
	[BLOOM] = TYPE(BLOOM_FILTER, 0, 8, 100),
	[RING] = TYPE(RINGBUF, 0, 0, 4096),
	[PERF] = TYPE(PERF_EVENT_ARRAY, 4, 4, 2),
	[HASH] = TYPE(HASH, 4, 8, 4),
	[TEXT] = TYPE(ARRAY, 4, 4, 1),
	[INNER] = TYPE(HASH, 8, 16, 4),
	[ARRAY] = TYPE(ARRAY, 4, 8, 4),
	[STRANGER] = TYPE(ARRAY, 4, 8, 4),
	[FIB] = TYPE(FIB, sizeof(struct virtio_gpgpu_fib_key), sizeof(struct virtio_gpgpu_fib_entry), 4),
};

struct world {
	struct gp_map_desc descs[ALL_MAPS];
	struct gp_map maps[ALL_MAPS], *pointers[GP_MAX_PROG_MAPS], *inner[NUM_SLOTS];
	struct gp_env env;
	struct gp_clock clock;
	struct gp_log log;
	struct gp_packet_out out;
	struct gp_faults faults;
	uint8_t slot[4096];
};

struct row {
	const char *name;
	uint64_t result;
	uint32_t verdict, fault;
	const struct bpf_insn *insns;
	uint32_t count;
	void (*after)(struct world *w);
};

#define COUNT(...) (sizeof((const struct bpf_insn[]){ __VA_ARGS__ }) / sizeof(struct bpf_insn))
#define ROW(name, result, verdict, fault, after, ...) \
	{ name,                                       \
	  (uint64_t)(result),                         \
	  verdict,                                    \
	  fault,                                      \
	  (const struct bpf_insn[]){ __VA_ARGS__ },   \
	  COUNT(__VA_ARGS__),                         \
	  after }
#define IS(name, result, ...)	       ROW(name, result, XDP_PASS, 0, NULL, __VA_ARGS__, RESULT)
#define THEN(name, result, after, ...) ROW(name, result, XDP_PASS, 0, after, __VA_ARGS__, RESULT)
#define FAULTS(name, reason, after, ...) \
	ROW(name, 0, XDP_ABORTED, VIRTIO_GPGPU_R_##reason, after, __VA_ARGS__, RESULT)

/* The number in r0 is the result. */
#define RESULT LDVALUE(R3, OUT, 0), STX(DW, R3, 0, R0), MOV64K(R0, XDP_PASS), EXIT
#define BEGIN  MOV64X(R9, R1), LDX(W, R6, R1, 0)
/* r2 = address of a key of 4 bytes, or r3 of a value of 8, on the stack. */
#define KEY(key)	 ST(W, R10, -4, key), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -4)
#define VALUE(value)	 ST(DW, R10, -16, value), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -16)
#define AT(reg, offset)	 MOV64X(reg, R10), ALU64K(BPF_ADD, reg, offset)
#define LOOKUP(map, key) LDMAP(R1, map), KEY(key), CALL(BPF_FUNC_map_lookup_elem)
#define UPDATE(map, key, value) \
	LDMAP(R1, map), KEY(key), VALUE(value), MOV64K(R4, BPF_ANY), CALL(BPF_FUNC_map_update_elem)
/* r0 = the number that r0 points at, or -1. */
#define DEREF	JK(BPF_JNE, R0, 0, 2), MOV64K(R0, -1), JA(1), LDX(DW, R0, R0, 0)
#define DEREF32 JK(BPF_JNE, R0, 0, 2), MOV64K(R0, -1), JA(1), LDX(W, R0, R0, 0)
/* r8 = what r reads back from memory that anything may be in. */
#define THROUGH_MAP(r) LDVALUE(R8, OUT, 0), STX(DW, R8, 8, r), LDX(DW, R8, R8, 8)
#define PUSH(map, value)                                                           \
	LDMAP(R1, map), ST(DW, R10, -16, value), AT(R2, -16), MOV64K(R3, BPF_ANY), \
		CALL(BPF_FUNC_map_push_elem)
#define RESERVE(size) LDMAP(R1, RING), MOV64K(R2, size), MOV64K(R3, 0), CALL(BPF_FUNC_ringbuf_reserve)
#define REDIRECT(map, key, flags) \
	LDMAP(R1, map), MOV64K(R2, key), MOV64K(R3, flags), CALL(BPF_FUNC_redirect_map)
#define TAIL(index) MOV64X(R1, R9), LDMAP(R2, PROGS), MOV64K(R3, index), CALL(BPF_FUNC_tail_call)

/* What RING or PERF holds: one record of the number 7 by CPU 1, with @more bytes of the packet. */
static void one_record_of(struct world *w, int map, uint32_t more)
{
	uint8_t buf[4096];
	struct virtio_gpgpu_record record;
	uint64_t dropped, seven;
	uint32_t num;

	ck_assert_int_eq(gp_map_records_read(&w->maps[map], buf, sizeof(buf), &num, &dropped),
			 (int64_t)(sizeof(record) + 8 + (more + 7) / 8 * 8));
	ck_assert_uint_eq(num, 1);
	ck_assert_uint_eq(dropped, 0);
	memcpy(&record, buf, sizeof(record));
	ck_assert_uint_eq(record.size, 8 + more);
	ck_assert_uint_eq(record.cpu, 1);
	memcpy(&seven, buf + sizeof(record), 8);
	ck_assert_uint_eq(seven, 7);
	for (uint32_t i = 0; i < more; i++)
		ck_assert_uint_eq(buf[sizeof(record) + 8 + i], i);
}

static void one_record(struct world *w)
{
	one_record_of(w, RING, 0);
}

static void one_sample(struct world *w)
{
	one_record_of(w, PERF, 0);
}

static void one_sample_and_packet(struct world *w)
{
	one_record_of(w, PERF, 13);
}

/* No record, and none that the queue waits for: the next one is seen. */
static void no_record(struct world *w)
{
	struct gp_thread thread = { 0 };
	struct gp_lane lane = { .env = &w->env, .thread = &thread, .fuel = 1000 };
	uint8_t buf[64], byte = 9;
	uint64_t dropped;
	uint32_t num;

	ck_assert(!gp_map_records_pending(&w->maps[RING]));
	ck_assert_int_eq(gp_helper_ringbuf_output(&lane, &w->maps[RING], &byte, 1, 0), 0);
	ck_assert_int_eq(gp_map_records_read(&w->maps[RING], buf, sizeof(buf), &num, &dropped), 16);
	ck_assert_uint_eq(buf[8], 9);
}

static void redirected(struct world *w)
{
	ck_assert_uint_eq(w->out.egress_port, 7);
}

static void redirected_hash(struct world *w)
{
	ck_assert_uint_eq(w->out.egress_port, 9);
}

static void redirected_cpu(struct world *w)
{
	ck_assert_uint_eq(w->out.egress_port, VIRTIO_GPGPU_EGRESS_CPU | 2);
}

static void tail_called(struct world *w)
{
	ck_assert_uint_eq(w->out.egress_port, PROGS);
	ck_assert_uint_eq(w->out.fault_insn, 1);
	/* It is no fault, and the packet is as the program left it. */
	ck_assert_uint_eq(w->faults.count, 0);
	ck_assert_uint_eq(w->out.data_len, 64);
}

static void tail_called_and_no_record(struct world *w)
{
	tail_called(w);
	no_record(w);
}

static void said(struct world *w, const char *want)
{
	char text[GP_LOG_TEXT];

	ck_assert_int_eq(gp_log_take(&w->log, text), (int)strlen(want));
	ck_assert_str_eq(text, want);
	ck_assert_int_eq(gp_log_take(&w->log, text), -1);
}

static void said_numbers(struct world *w)
{
	said(w, "a=5 b=-2");
}

static void said_plain(struct world *w)
{
	said(w, "hello");
}

/* struct bpf_fib_lookup: family, ifindex, IPv4 destination, in network order 10.1.2.<last>. */
#define FIB_PARAMS(last)                                                                           \
	ST(DW, R10, -64, 2), ST(DW, R10, -56, 0), ST(DW, R10, -48, 0), ST(DW, R10, -40, 0),        \
		ST(DW, R10, -32, 0), ST(DW, R10, -24, 0), ST(DW, R10, -16, 0), ST(DW, R10, -8, 0), \
		ST(W, R10, -56, 2), ST(W, R10, -32, 0x0002010a | (last) << 24)
#define FIB_CALL(size, flags) \
	MOV64X(R1, R9), AT(R2, -64), MOV64K(R3, size), MOV64K(R4, flags), CALL(BPF_FUNC_fib_lookup)

/* clang-format off */
static const struct row rows[] = {
	/* LRU and per-CPU hashes */
	IS("lru: what was put", 5, UPDATE(LRU, 1, 5), LOOKUP(LRU, 1), DEREF),
	IS("lru: the third of two throws one out", 6, UPDATE(LRU, 1, 4), UPDATE(LRU, 2, 5), UPDATE(LRU, 3, 6),
	   LOOKUP(LRU, 3), DEREF),
	IS("lru: what was looked up stays", 4, UPDATE(LRU, 1, 4), UPDATE(LRU, 2, 5), LOOKUP(LRU, 1), UPDATE(LRU, 3, 6),
	   LOOKUP(LRU, 1), DEREF),
	IS("lru: what was not goes", -1, UPDATE(LRU, 1, 4), UPDATE(LRU, 2, 5), LOOKUP(LRU, 1), UPDATE(LRU, 3, 6),
	   LOOKUP(LRU, 2), DEREF),
	IS("percpu hash: this CPU's", 5, UPDATE(PERCPU, 1, 5), LOOKUP(PERCPU, 1), DEREF),
	IS("percpu hash: another CPU's", 0, UPDATE(PERCPU, 1, 5), LDMAP(R1, PERCPU), KEY(1), MOV64K(R3, 0),
	   CALL(BPF_FUNC_map_lookup_percpu_elem), DEREF),
	IS("percpu hash: this one by number", 5, UPDATE(PERCPU, 1, 5), LDMAP(R1, PERCPU), KEY(1), MOV64K(R3, 1),
	   CALL(BPF_FUNC_map_lookup_percpu_elem), DEREF),
	IS("percpu hash: no such CPU", -1, UPDATE(PERCPU, 1, 5), LDMAP(R1, PERCPU), KEY(1), MOV64K(R3, 2),
	   CALL(BPF_FUNC_map_lookup_percpu_elem), DEREF),
	IS("lru percpu hash", 7, UPDATE(LRUCPU, 1, 5), UPDATE(LRUCPU, 2, 6), UPDATE(LRUCPU, 3, 7), LOOKUP(LRUCPU, 3), DEREF),
	IS("lru or percpu hash, chosen at run time", 6, UPDATE(LRU, 1, 5), UPDATE(PERCPU, 1, 6),
	   CALL(BPF_FUNC_get_smp_processor_id), LDMAP(R1, LRU), JK(BPF_JEQ, R0, 0, 2), LDMAP(R1, PERCPU), KEY(1),
	   CALL(BPF_FUNC_map_lookup_elem), DEREF),
	/* ports and CPUs */
	ROW("redirect: devmap", 0, XDP_REDIRECT, 0, redirected, REDIRECT(DEV, 1, 0), EXIT),
	ROW("redirect: devmap, none there", 0, XDP_TX, 0, NULL, REDIRECT(DEV, 2, XDP_TX), EXIT),
	ROW("redirect: devmap, no such index", 0, XDP_PASS, 0, NULL, REDIRECT(DEV, 4, XDP_PASS), EXIT),
	ROW("redirect: devmap, broadcast", 0, XDP_ABORTED, 0, NULL, REDIRECT(DEV, 1, 8), EXIT),
	ROW("redirect: devmap_hash", 0, XDP_REDIRECT, 0, redirected_hash, REDIRECT(DEVHASH, 100, 0), EXIT),
	ROW("redirect: devmap_hash, none there", 0, XDP_DROP, 0, NULL, REDIRECT(DEVHASH, 101, XDP_DROP), EXIT),
	ROW("redirect: cpumap", 0, XDP_REDIRECT, 0, redirected_cpu, REDIRECT(CPUS, 2, 0), EXIT),
	ROW("redirect: devmap or cpumap, chosen at run time", 0, XDP_REDIRECT, 0, redirected_cpu,
	    CALL(BPF_FUNC_get_smp_processor_id), LDMAP(R1, DEV), JK(BPF_JEQ, R0, 0, 2), LDMAP(R1, CPUS), MOV64K(R2, 2),
	    MOV64K(R3, 0), CALL(BPF_FUNC_redirect_map), EXIT),
	IS("devmap: looked up", 7, LOOKUP(DEV, 1), DEREF32),
	IS("devmap: absent", -1, LOOKUP(DEV, 0), DEREF32),
	IS("devmap_hash: looked up", 9, LOOKUP(DEVHASH, 100), DEREF32),
	FAULTS("devmap: written", OUT_OF_BOUNDS, NULL, LOOKUP(DEV, 1), JK(BPF_JEQ, R0, 0, 1), ST(W, R0, 0, 3), MOV64K(R0, 0)),
	/* maps of maps */
	IS("inner: hash in an array", 33, LOOKUP(OUTER, 1), JK(BPF_JEQ, R0, 0, L(0)), MOV64X(R1, R0), ST(DW, R10, -16, 2),
	   AT(R2, -16), CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, L(0)), LDX(DW, R0, R0, 8), JA(1), LABEL(0),
	   MOV64K(R0, -1)),
	IS("inner: array in a hash", 44, LOOKUP(OUTERHASH, 9), JK(BPF_JEQ, R0, 0, L(0)), MOV64X(R1, R0), KEY(3),
	   CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, L(0)), LDX(DW, R0, R0, 0), JA(1), LABEL(0), MOV64K(R0, -1)),
	IS("inner: absent", -1, LOOKUP(OUTER, 0), JK(BPF_JEQ, R0, 0, L(0)), MOV64K(R0, 1), JA(1), LABEL(0), MOV64K(R0, -1)),
	IS("inner: index out of range", 0, LOOKUP(OUTER, 4), JK(BPF_JEQ, R0, 0, 1), MOV64K(R0, 1)),
	IS("inner: written", 8, LOOKUP(OUTERHASH, 9), JK(BPF_JEQ, R0, 0, L(0)), MOV64X(R7, R0), MOV64X(R1, R0), KEY(0),
	   VALUE(8), MOV64K(R4, 0), CALL(BPF_FUNC_map_update_elem), MOV64X(R1, R7), KEY(0),
	   CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, L(0)), LDX(DW, R0, R0, 0), LABEL(0), MOV64X(R0, R0)),
	IS("inner: deleted", 0, LOOKUP(OUTER, 1), JK(BPF_JEQ, R0, 0, L(0)), MOV64X(R1, R0), ST(DW, R10, -16, 2),
	   AT(R2, -16), CALL(BPF_FUNC_map_delete_elem), LABEL(0), MOV64X(R0, R0)),
	IS("inner: from memory", 44, LOOKUP(OUTERHASH, 9), THROUGH_MAP(R0), MOV64X(R1, R8), KEY(3),
	   CALL(BPF_FUNC_map_lookup_elem), DEREF),
	FAULTS("inner: NULL", OUT_OF_BOUNDS, NULL, LOOKUP(OUTER, 0), MOV64X(R1, R0), ST(DW, R10, -16, 2), AT(R2, -16),
	       CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 1)),
	FAULTS("inner: not of this program", OUT_OF_BOUNDS, NULL, LD64(R3, (32768ull + STRANGER_SLOT) << 48),
	       THROUGH_MAP(R3), MOV64X(R1, R8), KEY(0), CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 1)),
	FAULTS("inner: value not of this program", OUT_OF_BOUNDS, NULL, LD64(R3, (16384ull + STRANGER_SLOT) << 48),
	       THROUGH_MAP(R3), LDX(DW, R0, R8, 0)),
	IS("inner: value by a handle", 44, LD64(R3, ((16384ull + ARRAY_SLOT) << 48) + 24), THROUGH_MAP(R3), LDX(DW, R0, R8, 0)),
	FAULTS("inner: value behind the end", OUT_OF_BOUNDS, NULL, LD64(R3, ((16384ull + ARRAY_SLOT) << 48) + 32),
	       THROUGH_MAP(R3), LDX(DW, R0, R8, 0)),
	FAULTS("inner: slot that does not exist", OUT_OF_BOUNDS, NULL, LD64(R3, (32768ull + 16383) << 48), THROUGH_MAP(R3),
	       MOV64X(R1, R8), KEY(0), CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 1)),
	FAULTS("outer: its values are not memory", OUT_OF_BOUNDS, NULL, LD64(R3, (32ull + OUTER) << 48), THROUGH_MAP(R3),
	       LDX(W, R0, R8, 0)),
	FAULTS("programs: their values are not memory", OUT_OF_BOUNDS, NULL, LD64(R3, (32ull + PROGS) << 48), THROUGH_MAP(R3),
	       ST(W, R8, 0, 1), MOV64K(R0, 0)),
	/* queues, stacks, Bloom filters */
	IS("queue: first in, first out", 5, PUSH(QUEUE, 5), PUSH(QUEUE, 6), LDMAP(R1, QUEUE), AT(R2, -8),
	   CALL(BPF_FUNC_map_pop_elem), LDX(DW, R0, R10, -8)),
	IS("queue: full", -E2BIG, PUSH(QUEUE, 5), PUSH(QUEUE, 6), PUSH(QUEUE, 7)),
	IS("queue: empty", -ENOENT, LDMAP(R1, QUEUE), AT(R2, -8), CALL(BPF_FUNC_map_pop_elem)),
	IS("queue: peek leaves it", 5, PUSH(QUEUE, 5), LDMAP(R1, QUEUE), AT(R2, -8), CALL(BPF_FUNC_map_peek_elem),
	   LDMAP(R1, QUEUE), AT(R2, -8), CALL(BPF_FUNC_map_pop_elem), LDX(DW, R0, R10, -8)),
	IS("stack: last in, first out", 6, PUSH(STACK, 5), PUSH(STACK, 6), LDMAP(R1, STACK), AT(R2, -8),
	   CALL(BPF_FUNC_map_pop_elem), LDX(DW, R0, R10, -8)),
	IS("bloom: there", 0, PUSH(BLOOM, 5), LDMAP(R1, BLOOM), ST(DW, R10, -8, 5), AT(R2, -8), CALL(BPF_FUNC_map_peek_elem)),
	IS("bloom: not there", -ENOENT, LDMAP(R1, BLOOM), ST(DW, R10, -8, 6), AT(R2, -8), CALL(BPF_FUNC_map_peek_elem)),
	IS("bloom: peek does not write", 6, LDMAP(R1, BLOOM), ST(DW, R10, -8, 6), AT(R2, -8), CALL(BPF_FUNC_map_peek_elem),
	   LDX(DW, R0, R10, -8)),
	IS("queue or stack, chosen at run time", 6, PUSH(QUEUE, 5), PUSH(STACK, 6), CALL(BPF_FUNC_get_smp_processor_id),
	   LDMAP(R1, QUEUE), JK(BPF_JEQ, R0, 0, 2), LDMAP(R1, STACK), AT(R2, -8), CALL(BPF_FUNC_map_pop_elem),
	   LDX(DW, R0, R10, -8)),
	/* records */
	THEN("ring: output", 0, one_record, ST(DW, R10, -8, 7), LDMAP(R1, RING), AT(R2, -8), MOV64K(R3, 8), MOV64K(R4, 0),
	     CALL(BPF_FUNC_ringbuf_output)),
	THEN("ring: reserve and submit", 1, one_record, RESERVE(8), JK(BPF_JEQ, R0, 0, L(0)), ST(DW, R0, 0, 7),
	     MOV64X(R1, R0), MOV64K(R2, 0), CALL(BPF_FUNC_ringbuf_submit), MOV64K(R0, 1), LABEL(0), MOV64X(R0, R0)),
	THEN("ring: reserve and discard", 1, no_record, RESERVE(8), JK(BPF_JEQ, R0, 0, L(0)), ST(DW, R0, 0, 7),
	     MOV64X(R1, R0), MOV64K(R2, 0), CALL(BPF_FUNC_ringbuf_discard), MOV64K(R0, 1), LABEL(0), MOV64X(R0, R0)),
	THEN("ring: left reserved", 1, no_record, RESERVE(8), MOV64K(R0, 1)),
	ROW("ring: left reserved by a fault", 0, XDP_ABORTED, VIRTIO_GPGPU_R_OUT_OF_BOUNDS, no_record, BEGIN, RESERVE(8),
	    LDX(W, R0, R6, 4000), EXIT),
	FAULTS("ring: submitted twice", HELPER_ARG, one_record, RESERVE(8), JK(BPF_JEQ, R0, 0, L(0)), MOV64X(R7, R0),
	       ST(DW, R0, 0, 7), MOV64X(R1, R7), MOV64K(R2, 0), CALL(BPF_FUNC_ringbuf_submit), MOV64X(R1, R7),
	       MOV64K(R2, 0), CALL(BPF_FUNC_ringbuf_submit), LABEL(0), MOV64K(R0, 1)),
	FAULTS("ring: submitted with an offset", HELPER_ARG, no_record, RESERVE(8), JK(BPF_JEQ, R0, 0, L(0)), MOV64X(R1, R0),
	       ALU64K(BPF_ADD, R1, 8), MOV64K(R2, 0), CALL(BPF_FUNC_ringbuf_submit), LABEL(0), MOV64K(R0, 1)),
	FAULTS("ring: submitted NULL", HELPER_ARG, no_record, LOOKUP(HASH, 99), MOV64X(R1, R0), MOV64K(R2, 0),
	       CALL(BPF_FUNC_ringbuf_submit), MOV64K(R0, 1)),
	FAULTS("ring: submitted a map's value", HELPER_ARG, no_record, RESERVE(8), LDVALUE(R1, OUT, 8), MOV64K(R2, 0),
	       CALL(BPF_FUNC_ringbuf_submit), MOV64K(R0, 1)),
	THEN("ring: a record spilled and found again", 1, one_record, RESERVE(8), JK(BPF_JEQ, R0, 0, L(0)), ST(DW, R0, 0, 7),
	     THROUGH_MAP(R0), MOV64X(R1, R8), MOV64K(R2, 0), CALL(BPF_FUNC_ringbuf_submit), MOV64K(R0, 1), LABEL(0),
	     MOV64X(R0, R0)),
	IS("ring: five at once are one too many", 0, RESERVE(8), RESERVE(8), RESERVE(8), RESERVE(8), RESERVE(8)),
	IS("ring: larger than it is", 0, RESERVE(4096)),
	IS("ring: query", 4096, LDMAP(R1, RING), MOV64K(R2, BPF_RB_RING_SIZE), CALL(BPF_FUNC_ringbuf_query)),
	THEN("perf: output", 0, one_sample, BEGIN, ST(DW, R10, -8, 7), MOV64X(R1, R9), LDMAP(R2, PERF), LD64(R3, 0xffffffffull),
	     AT(R4, -8), MOV64K(R5, 8), CALL(BPF_FUNC_perf_event_output)),
	THEN("perf: output with a piece of the packet", 0, one_sample_and_packet, BEGIN, ST(DW, R10, -8, 7), MOV64X(R1, R9),
	     LDMAP(R2, PERF), LD64(R3, 0xffffffffull | 13ull << 32), AT(R4, -8), MOV64K(R5, 8),
	     CALL(BPF_FUNC_perf_event_output)),
	IS("perf: more than the packet has", -EFAULT, BEGIN, ST(DW, R10, -8, 7), MOV64X(R1, R9), LDMAP(R2, PERF),
	   LD64(R3, 0xffffffffull | 65ull << 32), AT(R4, -8), MOV64K(R5, 8), CALL(BPF_FUNC_perf_event_output)),
	/* tail calls */
	ROW("tail call", 0, XDP_ABORTED, GP_FAULT_TAIL, tail_called, BEGIN, TAIL(1), MOV64K(R0, 0), RESULT),
	ROW("tail call with a record reserved", 0, XDP_ABORTED, GP_FAULT_TAIL, tail_called_and_no_record, BEGIN, RESERVE(8),
	    TAIL(1), MOV64K(R0, 0), RESULT),
	ROW("tail call from a function", 0, XDP_ABORTED, GP_FAULT_TAIL, tail_called, BEGIN, CALL_LOCAL(LC(0)), EXIT, LABEL(0),
	    MOV64X(R9, R1), TAIL(1), MOV64K(R0, 0), EXIT),
	ROW("tail call of a map from memory", 0, XDP_ABORTED, GP_FAULT_TAIL, tail_called, BEGIN, LDMAP(R3, PROGS),
	    THROUGH_MAP(R3), MOV64X(R1, R9), MOV64X(R2, R8), MOV64K(R3, 1), CALL(BPF_FUNC_tail_call), MOV64K(R0, 0), RESULT),
	IS("tail call: none there", -ENOENT, BEGIN, TAIL(0)),
	IS("tail call: no such index", -E2BIG, BEGIN, TAIL(4)),
	IS("tail call: an element as the map", -EINVAL, BEGIN, LOOKUP(OUTERHASH, 9), THROUGH_MAP(R0), MOV64X(R1, R9),
	   MOV64X(R2, R8), MOV64K(R3, 1), CALL(BPF_FUNC_tail_call)),
	/* the rest */
	IS("strncmp: equal", 0, BEGIN, ST(W, R10, -4, 0x00636261), AT(R1, -4), MOV64K(R2, 4), LDVALUE(R3, TEXT, 0),
	   CALL(BPF_FUNC_strncmp)),
	IS("strncmp: less", -1, BEGIN, ST(W, R10, -4, 0x00626261), AT(R1, -4), MOV64K(R2, 4), LDVALUE(R3, TEXT, 0),
	   CALL(BPF_FUNC_strncmp)),
	IS("strncmp: more", 1, BEGIN, ST(W, R10, -4, 0x00646261), AT(R1, -4), MOV64K(R2, 4), LDVALUE(R3, TEXT, 0),
	   CALL(BPF_FUNC_strncmp)),
	IS("strncmp: the string ends with its map", 1, BEGIN, LDVALUE(R3, TEXT, 0), ST(W, R3, 0, 0x64636261),
	   ST(W, R10, -8, 0x64636261), ST(W, R10, -4, 0x65), AT(R1, -8), MOV64K(R2, 8), CALL(BPF_FUNC_strncmp)),
	FAULTS("strncmp: behind the end of the stack", OUT_OF_BOUNDS, NULL, BEGIN, LDX(B, R2, R6, 63), AT(R1, -8),
	       LDVALUE(R3, TEXT, 0), CALL(BPF_FUNC_strncmp)),
	IS("strncmp: a part", 0, BEGIN, ST(W, R10, -4, 0x00646261), AT(R1, -4), MOV64K(R2, 2), LDVALUE(R3, TEXT, 0),
	   CALL(BPF_FUNC_strncmp)),
	THEN("trace: two numbers", 8, said_numbers, BEGIN, LD64(R1, 0x253d622064253d61), STX(DW, R10, -16, R1),
	     ST(DW, R10, -8, 0x64), MOV64K(R3, 5), MOV64K(R4, -2), AT(R1, -16), MOV64K(R2, 10),
	     CALL(BPF_FUNC_trace_printk)),
	THEN("trace: nothing but text", 5, said_plain, BEGIN, LD64(R1, 0x6f6c6c6568), STX(DW, R10, -8, R1), AT(R1, -8),
	     MOV64K(R2, 6), CALL(BPF_FUNC_trace_printk)),
	IS("trace: a string", -EINVAL, BEGIN, ST(DW, R10, -8, 0x7325), AT(R1, -8), MOV64K(R2, 3), CALL(BPF_FUNC_trace_printk)),
	IS("fib: forwarded", 0, BEGIN, FIB_PARAMS(3), FIB_CALL(64, 0)),
	IS("fib: by that port", 4, BEGIN, FIB_PARAMS(3), FIB_CALL(64, 0), LDX(W, R0, R10, -56)),
	IS("fib: to that address", 0x0605, BEGIN, FIB_PARAMS(3), FIB_CALL(64, 0), LDX(H, R0, R10, -2)),
	IS("fib: no route", BPF_FIB_LKUP_RET_NOT_FWDED, BEGIN, FIB_PARAMS(3), ST(W, R10, -32, 0x01010101), FIB_CALL(64, 0)),
	IS("fib: too short", -EINVAL, BEGIN, FIB_PARAMS(3), FIB_CALL(63, 0)),
	IS("buffer length", 64, BEGIN, MOV64X(R1, R9), CALL(BPF_FUNC_xdp_get_buff_len)),
	IS("NUMA node", 0, CALL(BPF_FUNC_get_numa_node_id)),
	IS("boot time is behind no other", 1, CALL(BPF_FUNC_ktime_get_ns), MOV64X(R6, R0), CALL(BPF_FUNC_ktime_get_boot_ns),
	   MOV64X(R7, R0), MOV64K(R0, 1), JX(BPF_JGE, R7, R6, 1), MOV64K(R0, 0)),
	IS("coarse time", 1, CALL(BPF_FUNC_ktime_get_ns), MOV64X(R6, R0), CALL(BPF_FUNC_ktime_get_coarse_ns), MOV64X(R7, R0),
	   MOV64K(R0, 1), JX(BPF_JGE, R7, R6, 1), MOV64K(R0, 0)),
	IS("jiffies are 4 ms", 1, CALL(BPF_FUNC_jiffies64), MOV64X(R6, R0), CALL(BPF_FUNC_ktime_get_ns), ALU64K(BPF_DIV, R0, 4000000),
	   ALU64X(BPF_SUB, R0, R6), MOV64X(R7, R0), MOV64K(R0, 1), JK(BPF_JLE, R7, 1000, 1), MOV64K(R0, 0)),
};
/* clang-format on */

static struct gp_jit *jit;

static void open_jit(void)
{
	struct gp_jit_options options = { .program = getenv("GPGPU_JIT"), .fd = -1 };
	GError *error = NULL;

	ck_assert_msg(options.program, "GPGPU_JIT does not name the compiler");
	jit = gp_jit_new(&options, &error);
	ck_assert_msg(jit, "%s", error ? error->message : "no compiler");
}

static void close_jit(void)
{
	gp_jit_free(jit);
}

static void *zeroed(uint64_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(at, MAP_FAILED);
	return at;
}

static void put(struct world *w, int map, const void *key, const void *value)
{
	ck_assert_int_eq(gp_map_update(&w->maps[map], key, value, BPF_ANY), 0);
}

static void fill(struct world *w)
{
	const uint32_t one = 1, two = 2, three = 3, nine = 9, hundred = 100, port = 7, queue = 64;
	const uint32_t slot = INNER_SLOT + 1, array = ARRAY_SLOT + 1, bpf_port[2] = { 9, 0 };
	const uint64_t key = 2, number = 44, values[2] = { 32, 33 };
	struct virtio_gpgpu_fib_key fib = { .prefixlen = 32 + 24, .family = 2, .addr = { 10, 1, 2 } };
	struct virtio_gpgpu_fib_entry route = { .ifindex = 4, .mtu = 1500, .dmac = { 1, 2, 3, 4, 5, 6 } };

	put(w, DEV, &one, &port);
	put(w, DEVHASH, &hundred, bpf_port);
	put(w, CPUS, &two, &queue);
	put(w, PROGS, &one, &one);
	put(w, OUTER, &one, &slot);
	put(w, OUTERHASH, &nine, &array);
	put(w, INNER, &key, values);
	put(w, ARRAY, &three, &number);
	put(w, FIB, &fib, &route);
	memcpy(w->maps[TEXT].values, "abc", 4);
	w->inner[INNER_SLOT] = &w->maps[INNER];
	w->inner[ARRAY_SLOT] = &w->maps[ARRAY];
	w->inner[STRANGER_SLOT] = &w->maps[STRANGER];
}

static void make(struct world *w)
{
	static const uint32_t go_on;

	for (int m = 0; m < ALL_MAPS; m++) {
		struct gp_map_desc *desc = &w->descs[m];

		*desc = shapes[m];
		if (m == OUTER || m == OUTERHASH) {
			const struct gp_map_desc *inner = &shapes[m == OUTER ? INNER : ARRAY];

			desc->inner = (struct gp_map_shape){ .type = inner->type,
							     .key_size = inner->key_size,
							     .value_size = inner->value_size,
							     .max_entries = inner->max_entries };
		}
		ck_assert_uint_eq(gp_map_check(desc, 2), VIRTIO_GPGPU_R_NONE);
		gp_map_layout(&w->maps[m], desc, desc->values_size ? zeroed(desc->values_size) : NULL,
			      zeroed(gp_map_index_bytes(desc)), 1);
		if (m < NUM_MAPS)
			w->pointers[m] = &w->maps[m];
	}
	ck_assert(gp_map_inner_fits(&w->descs[OUTER], &w->descs[INNER]));
	fill(w);
	gp_clock_read(&w->clock);
	w->env = (struct gp_env){
		.maps = w->pointers,
		.num_maps = NUM_MAPS,
		.slots = w->slot,
		.stride = sizeof(w->slot),
		.fuel = 100000,
		.stop = &go_on,
		.clock = &w->clock,
		.inner = w->inner,
		.num_inner = NUM_SLOTS,
		.fib = &w->maps[FIB],
		.log = &w->log,
	};
}

GP_CALLS_AN_IMAGE static uint64_t call(const struct gp_image *image, struct world *w,
				       struct gp_thread *thread, const struct gp_packet_in *in)
{
	gp_xdp_entry *entry = (gp_xdp_entry *)((uintptr_t)image->code + image->entry);

	return entry(&w->env, thread, in, &w->out, 0, 1, &w->faults);
}

START_TEST(test_row)
{
	static struct world world;
	const struct row *row = &rows[_i];
	struct bpf_insn insns[512];
	struct gp_prog prog = {
		.kind = VIRTIO_GPGPU_PROG_XDP, .insns = insns, .maps = world.descs, .num_maps = NUM_MAPS
	};
	struct gp_packet_in in = { .data_off = 256, .data_len = 64, .ingress_port = 2, .rx_queue = 3 };
	struct gp_thread thread = { .cpu = 1, .random = 1 };
	struct gp_verdict verdict;
	struct gp_image *image;
	uint64_t result;

	make(&world);
	for (uint32_t i = 0; i < 64; i++)
		world.slot[256 + i] = (uint8_t)i;
	prog.num_insns = asm_resolve(row->insns, row->count, insns, 512, NULL, 0);
	ck_assert_msg(gp_validate(&prog, &verdict), "%s: %s", row->name, verdict.message);
	image = gp_jit_compile(jit, &prog, &verdict);
	ck_assert_msg(image, "%s: %s", row->name, verdict.message);
	ck_assert_uint_eq(call(image, &world, &thread, &in), 1);
	gp_image_unref(image);
	memcpy(&result, world.maps[OUT].values, 8);
	ck_assert_msg(world.out.fault == row->fault, "%s: fault %u at %u", row->name, world.out.fault,
		      world.out.fault_insn);
	ck_assert_msg(world.out.verdict == row->verdict, "%s: verdict %u", row->name, world.out.verdict);
	ck_assert_msg(result == row->result, "%s: %lld", row->name, (long long)result);
	if (row->after)
		row->after(&world);
}
END_TEST

/* A helper on a map that it does not work on, as a program that is refused. */
static const struct refusal {
	uint32_t map;
	int32_t helper;
} refusals[] = {
	{ QUEUE, BPF_FUNC_map_lookup_elem },	   { PROGS, BPF_FUNC_map_lookup_elem },
	{ CPUS, BPF_FUNC_map_lookup_elem },	   { RING, BPF_FUNC_map_lookup_elem },
	{ PERF, BPF_FUNC_map_lookup_elem },	   { BLOOM, BPF_FUNC_map_lookup_elem },
	{ DEV, BPF_FUNC_map_delete_elem },	   { OUTER, BPF_FUNC_map_delete_elem },
	{ HASH, BPF_FUNC_map_pop_elem },	   { BLOOM, BPF_FUNC_map_pop_elem },
	{ HASH, BPF_FUNC_redirect_map },	   { PROGS, BPF_FUNC_redirect_map },
	{ HASH, BPF_FUNC_ringbuf_reserve },	   { PERF, BPF_FUNC_ringbuf_reserve },
	{ HASH, BPF_FUNC_map_lookup_percpu_elem }, { LRU, BPF_FUNC_map_lookup_percpu_elem },
};

START_TEST(test_refusal)
{
	const struct refusal *row = &refusals[_i];
	const struct bpf_insn text[] = { LDMAP(R1, row->map), AT(R2, -8),    ST(DW, R10, -8, 0),
					 MOV64K(R3, 0),	      MOV64K(R4, 0), CALL(row->helper),
					 MOV64K(R0, 0),	      EXIT };
	bool scalar = row->helper == BPF_FUNC_redirect_map || row->helper == BPF_FUNC_ringbuf_reserve;
	struct bpf_insn insns[16];
	static struct world world;
	struct gp_prog prog = {
		.kind = VIRTIO_GPGPU_PROG_XDP, .insns = insns, .maps = world.descs, .num_maps = NUM_MAPS
	};
	struct gp_verdict verdict;

	make(&world);
	memcpy(insns, text, sizeof(text));
	prog.num_insns = sizeof(text) / sizeof(text[0]);
	if (scalar) /* r2 is a number */
		insns[2] = insns[3] = (struct bpf_insn)MOV64K(R2, 0);
	ck_assert(!gp_validate(&prog, &verdict));
	ck_assert_msg(verdict.reason == VIRTIO_GPGPU_R_MAP_REF, "%s", verdict.message);
	ck_assert_uint_eq(verdict.insn, 7);
	ck_assert_ptr_nonnull(strstr(verdict.message, "does not work on"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("helpers");
	TCase *t = tcase_create("helpers"), *refused = tcase_create("refused");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_unchecked_fixture(t, open_jit, close_jit);
	tcase_add_loop_test(t, test_row, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_loop_test(refused, test_refusal, 0, sizeof(refusals) / sizeof(refusals[0]));
	suite_add_tcase(s, t);
	suite_add_tcase(s, refused);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
