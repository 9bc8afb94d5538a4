/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fixture.h - what the tests of the engine start from: an engine, a session, some objects of each kind.
 *
 * GPGPU_JIT in the environment is the path of the compiler.
 */
#ifndef WIRE_FIXTURE_H
#define WIRE_FIXTURE_H

#include <check.h>
#include <linux/bpf.h>
#include "wire_client.h"

#define SHM_SIZE    (8ull << 20)
#define CODE_OFFSET (7ull << 20) /* of the shared memory: instructions on their way */

/* Objects that setup_objects() makes. All belong to context 1, but for those that say otherwise. */
enum {
	CTX = 1,
	OTHER_CTX = 2,
	BUF_SHM = 1,  /* all of the shared memory, also of OTHER_CTX and context 0 */
	BUF_DEV = 2,  /* 1 MiB of device memory */
	BUF_OTHER = 3,  /* 4,096 bytes at 4 MiB, of OTHER_CTX only */
	MAP_HASH = 1,  /* 4 to 8 bytes, 16 elements */
	MAP_ARRAY = 2,  /* 8 bytes, 4 elements */
	MAP_OTHER = 3,  /* of OTHER_CTX only */
	MAP_PERCPU = 4, /* 8 bytes, 4 elements */
	MAP_LPM = 5,  /* 4 + 4 to 8 bytes, 16 elements */
	MAP_RING = 6,  /* ring buffer of 4,096 bytes */
	MAP_OUTER = 7, /* array of 4 maps like MAP_ARRAY */
	MAP_PROGS = 8, /* program array, 4 elements */
	PROG_ADD = 1,  /* kernel: out[i] = i + value; arguments: buffer, value */
	PROG_PASS = 2,  /* XDP_PASS */
	PROG_COUNT =
		3, /* XDP_DROP; writes the count of packets before it into the packet's last word, see below */
	PROG_SPIN = 4, /* kernel without an end */
	PROG_WORK = 5, /* kernel: `value` turns of a loop per work item; arguments: buffer, value */
	PROG_XDP_SPIN = 6,
};

/*
 * PROG_COUNT: packet[14] is the index of an element of MAP_ARRAY; n = element; packet[20..28] = n; element = n + 1,
 * with plain loads and stores, so that only packets that run in order count right.
 */

extern struct gpgpu_engine *engine;
extern struct wire_client *client;
extern gpgpu_lost_fn *engine_lost; /* of the engine that is made next; NULL: none */

void setup_engine(uint32_t threads);
void setup(void); /* engine with 2 threads, and client */
void setup_objects(void); /* setup(), and the objects but for programs */
void setup_programs(void); /* setup_objects(), and the programs */
void teardown(void);

struct wire_client *new_client(uint32_t cap, uint32_t weight);
void make_objects(struct wire_client *c);
void make_programs(struct wire_client *c);

/* ---- instructions ---- */

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define MOV(d, i)	  INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOVR(d, s)	  INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ALU(op, d, i)	  INSN(BPF_ALU64 | (op) | BPF_K, d, 0, 0, i)
#define ALUR(op, d, s)	  INSN(BPF_ALU64 | (op) | BPF_X, d, s, 0, 0)
#define LDX(sz, d, s, o)  INSN(BPF_LDX | BPF_MEM | (sz), d, s, o, 0)
#define STX(sz, d, s, o)  INSN(BPF_STX | BPF_MEM | (sz), d, s, o, 0)
#define ST(sz, d, o, i)	  INSN(BPF_ST | BPF_MEM | (sz), d, 0, o, i)
#define JMP(op, d, i, o)  INSN(BPF_JMP | (op) | BPF_K, d, 0, o, i)
#define JMPR(op, d, s, o) INSN(BPF_JMP | (op) | BPF_X, d, s, o, 0)
#define JA(o)		  INSN(BPF_JMP | BPF_JA, 0, 0, o, 0)
#define CALL(n)		  INSN(BPF_JMP | BPF_CALL, 0, 0, 0, n)
#define EXIT()		  INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define LD_MAP(d, id)	  INSN(BPF_LD | BPF_IMM | BPF_DW, d, BPF_PSEUDO_MAP_FD, 0, id), INSN(0, 0, 0, 0, 0)

/* load_prog() - PROG_CREATE of @insns in CTX. Return: the status. */
uint32_t load_prog(struct wire_client *c, uint32_t id, uint32_t kind, const struct bpf_insn *insns,
		   uint32_t count, const uint8_t *arg_kind, uint32_t num_args, struct wire_answer **a);

/* ---- the checks that nearly every test makes ---- */

#define check_ok(status)	   ck_assert_uint_eq((status), VIRTIO_GPGPU_S_OK)
#define check_status(status, name) ck_assert_uint_eq((status), VIRTIO_GPGPU_S_##name)

/* A point of CTX that is used nowhere else. */
struct wire_point next_point(void);
struct wire_point next_point_on(uint32_t timeline);

/* packet_slots() - lay out @count packets of 64 bytes in slots of 128 from offset 0 of BUF_SHM. */
#define SLOT	   128u
#define HEADROOM   48u
#define PACKET_LEN 64u
void packet_slots(struct wire_client *c, struct virtio_gpgpu_packet_desc *descs, uint32_t count);

/* dispatch_add() - PROG_ADD over @items into BUF_SHM at @offset. Return: the ticket. */
uint64_t dispatch_add(uint32_t ctx, struct wire_point at, uint32_t items, uint64_t offset, uint64_t value);
/* first_wrong() - where out[i] is not i + value, or @count. */
uint32_t first_wrong(const uint64_t *out, uint32_t count, uint64_t value);
/* spin() - a job that keeps a thread busy until it is cancelled. */
uint64_t spin(struct wire_client *c, struct wire_point at, uint32_t items);
/* still_waits() - of a ticket that must not have been answered yet. */
bool still_waits(uint64_t ticket);
uint64_t now_ns(void);
void sleep_ms(unsigned int ms);

int run_suite(Suite *suite);
/* on_a_card() - the engine is on a real one, or a simulated one, which is what it is and not what tests ask for. */
bool on_a_card(void);

#endif
