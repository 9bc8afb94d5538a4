/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fixture.h - a card, memory on it and streams for it, for tests of the simulator through libdrm_amdgpu.
 *
 * Check runs each test in a child, so each has a card of its own. What cannot fail without the simulator being at fault
 * is asserted here; what is tested returns its error.
 */
#ifndef AMDGPU_SIM_FIXTURE_H
#define AMDGPU_SIM_FIXTURE_H

#include <amdgpu.h>
#include <amdgpu_drm.h>
#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <xf86drm.h>

#define PAGE		  4096ull
#define MAX_MEM		  32
#define RW		  (AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE)
#define RX		  (AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_EXECUTABLE)
#define RWX		  (RW | AMDGPU_VM_PAGE_EXECUTABLE)
#define SECOND		  1000000000ll
#define PACKET(op, count) (0xc0000000u | ((count) - 1) << 16 | (op) << 8)

void amdgpu_sim_control(const char *command);

struct mem {
	amdgpu_bo_handle bo;
	uint32_t handle;
	uint64_t va, size;
	uint32_t *cpu;
};

struct card {
	int fd;
	bool gfx10, gfx90a;
	bool engines8; /* masks of compute units for eight shader engines */
	amdgpu_device_handle dev;
	amdgpu_context_handle ctx;
	struct mem mem[MAX_MEM];
	uint32_t count; /* of mem; all are named in each submission */
	uint64_t next_va;
};

/* A stream that is being written, in a page of memory of its own. */
struct stream {
	struct mem *mem;
	uint32_t n;
};

/* Registers of a dispatch; what is in @skip is left out. */
struct launch {
	uint64_t code;
	uint32_t groups, size, user, data[16];
	uint32_t rsrc1, rsrc2; /* beside what @user and the generation ask for */
	uint32_t initiator; /* likewise */
	uint32_t skip;
};

/* card_open() - @generation, @commands (may be NULL): see README.md. For the first card of a test only. */
void card_open(struct card *card, const char *generation, const char *commands);
/* card_again() - another open node. */
void card_again(struct card *card, bool gfx10);
void card_close(struct card *card);

struct mem *mem_new(struct card *card, uint64_t size, uint32_t domain, uint64_t flags, uint64_t va_flags);

void put(struct stream *s, uint32_t word);
/* put_address() - low half, high half. */
void put_address(struct stream *s, uint64_t va);
struct stream stream_new(struct card *card);
void put_write(struct stream *s, uint64_t va, uint32_t value);
void put_acquire(struct stream *s, bool gfx10);
void put_launch(struct stream *s, const struct card *card, const struct launch *l);

/* submit() - Return: 0 or -errno. @sequence: out; may be NULL. */
int submit(struct card *card, struct stream *s, uint32_t ip, uint32_t flags, uint64_t *sequence);
/* wait_for() - Return: 0, -errno of the job, or 1: not ended after @ns. */
int wait_for(struct card *card, uint32_t ip, uint64_t sequence, int64_t ns);
/* run() - both, on the compute ring. */
int run(struct card *card, struct stream *s);

/* Programs, at multiples of 256 bytes in one buffer of code (fixture.c says what they do). */
enum program { P_IDS, P_VLOAD, P_SLOAD, P_LOOP, P_VLOAD_GLC, P_TIME };
struct mem *programs(struct card *card);
uint64_t program(const struct mem *code, enum program which);
/* launch_new() - one wave of @which, whose four user registers hold @from and @to. launch_ids() - P_IDS into @out, new. */
struct launch launch_new(const struct card *card, const struct mem *code, enum program which, uint64_t from,
			 uint64_t to);
struct launch launch_ids(struct card *card, struct mem **out);

/* sim_main() - runs @suite; with LIBDRM_DIR in the environment on the libraries there. */
int sim_main(Suite *suite, char **argv);

#endif
