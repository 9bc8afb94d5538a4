/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packets.c - the indirect buffer of one launch, for the packet processor of a compute queue.
 *
 * How it works: the clock is written down, scratch memory cleared, caches are made to forget what the CPU may have
 * changed, every register that a dispatch depends on is set (the queue is shared with other processes, whose
 * values may still be there), the groups are started, and once they have ended the clock and the launch's
 * number are written. The driver adds cache invalidation in front (AMDGPU_IB_FLAG_EMIT_MEM_SYNC), and its own fence behind,
 * which writes caches back: nobody looks at results or at struct gp_stamps before that fence.
 *
 * Launches do not overlap on the GPU: each ends with a wait for its own waves. What comes later on the queue may
 * rest on what a launch did (operations on maps), and scratch memory is one launch's at a time.
 *
 * Layouts: Linux 6.12, amdgpu's soc15d.h and nvd.h (packets), gc_*_offset.h and gc_*_sh_mask.h (registers). What
 * differs between generations is in generations.c. Nothing here was seen on silicon.
 */
#include <stdbool.h>
#include "amdgpu/packets.h"
#include "amdgpu/stream.h"

/* Packet of type 3: opcode, and how many dwords follow the header. */
#define PACKET(op, dwords) (3u << 30 | ((dwords) - 1u) << 16 | (uint32_t)(op) << 8)
#define COMPUTE		   (1u << 1) /* of the header: registers are the compute pipe's */
#define PAD		   0xffff1000u /* NOP that is one dword long */

enum {
	OP_DISPATCH_DIRECT = 0x15,
	OP_EVENT_WRITE = 0x46,
	OP_RELEASE_MEM = 0x49,
	OP_DMA_DATA = 0x50,
	OP_ACQUIRE_MEM = 0x58,
	OP_SET_SH_REG = 0x76,
	OP_SET_SH_REG_INDEX = 0x9b,
};

/* COMPUTE_* registers: dwords behind 0x2c00, the same on every generation. */
enum {
	REG_START_X = 0x204, /* START_X, _Y, _Z, NUM_THREAD_X, _Y, _Z */
	REG_PGM_LO = 0x20c,
	REG_PGM_RSRC1 = 0x212,
	REG_RESOURCE_LIMITS = 0x215,
	REG_TMPRING_SIZE = 0x218,
	REG_USER_DATA_0 = 0x240,
};

#define EVENT_CS_PARTIAL_FLUSH (0x07u | 4u << 8)
#define EVENT_CACHE_FLUSH_TS   (0x14u | 5u << 8) /* CACHE_FLUSH_AND_INV_TS_EVENT, as an end-of-pipe event */
#define RELEASE_DATA_64	       (2u << 29)
#define RELEASE_DATA_CLOCK     (3u << 29)
#define SH_REG_INDEX_ALL_UNITS (3u << 28) /* masks are combined with the driver's reserved compute units */
#define DMA_SRC_DATA	       (2u << 29)
#define DMA_DST_L2	       (3u << 20)
#define DMA_SYNC	       (1u << 31)
#define DMA_MAX		       0x03ffffe0u /* bytes: 26 bits, in whole sectors */

/* set() - the header of @count registers from @reg; their values follow. */
static void set(struct out *out, uint32_t reg, uint32_t count)
{
	put(out, PACKET(OP_SET_SH_REG, 1 + count) | COMPUTE);
	put(out, reg);
}

/* set_all() - registers of a list that 0 ends, each to @value; neighbours in one packet. */
static void set_all(struct out *out, const uint16_t *regs, uint32_t max, uint32_t value, bool by_index)
{
	uint32_t run;

	for (uint32_t i = 0; i < max && regs[i]; i += run) {
		run = 1;
		if (by_index) {
			put(out, PACKET(OP_SET_SH_REG_INDEX, 2) | COMPUTE);
			put(out, regs[i] | SH_REG_INDEX_ALL_UNITS);
			put(out, value);
			continue;
		}
		while (i + run < max && regs[i + run] == regs[i] + run)
			run++;
		set(out, regs[i], run);
		for (uint32_t n = 0; n < run; n++)
			put(out, value);
	}
}

/* release() - write when all before has ended: @data, or the clock. As the driver writes user fences: no interrupt. */
static void release(struct out *out, uint64_t to, uint32_t select, uint64_t data)
{
	put(out, PACKET(OP_RELEASE_MEM, 7));
	put(out, EVENT_CACHE_FLUSH_TS);
	put(out, select);
	put64(out, to);
	put64(out, data);
	put(out, 0);
}

static void clear(struct out *out, uint64_t at, uint64_t bytes)
{
	uint32_t step;

	for (; bytes; at += step, bytes -= step) {
		step = bytes < DMA_MAX ? (uint32_t)bytes : DMA_MAX;
		put(out, PACKET(OP_DMA_DATA, 6));
		put(out, DMA_SRC_DATA | DMA_DST_L2 | (step == bytes ? DMA_SYNC : 0));
		put64(out, 0);
		put64(out, at);
		put(out, step);
	}
}

static void acquire(struct out *out, const struct gp_generation *gen)
{
	bool gfx9 = gen->acquire == GP_ACQUIRE_GFX9;

	put(out, PACKET(OP_ACQUIRE_MEM, gfx9 ? 6 : 7) | COMPUTE);
	put(out, gfx9 ? gen->acquire_cntl : 0);
	put64(out, 0xffffffffffull); /* size, in units of 256 bytes: everything */
	put64(out, 0);
	put(out, 10); /* poll interval, as the driver has it */
	if (!gfx9)
		put(out, gen->acquire_cntl);
}

static void registers(struct out *out, const struct gp_generation *gen, const struct gp_dispatch *dispatch)
{
	set(out, REG_START_X, 6);
	put(out, 0);
	put(out, 0);
	put(out, 0);
	put(out, dispatch->group);
	put(out, 1);
	put(out, 1);

	set(out, REG_PGM_LO, 2);
	put64(out, dispatch->code >> 8);

	set(out, REG_PGM_RSRC1, 2);
	put(out, dispatch->rsrc1);
	put(out, dispatch->rsrc2);
	if (gen->rsrc3_reg) {
		set(out, gen->rsrc3_reg, 1);
		put(out, dispatch->rsrc3);
	}

	set(out, REG_RESOURCE_LIMITS, 1);
	put(out, 0);
	set_all(out, gen->thread_mgmt, sizeof(gen->thread_mgmt) / sizeof(*gen->thread_mgmt), ~0u,
		gen->thread_mgmt_index);

	set(out, REG_TMPRING_SIZE, 1);
	put(out, dispatch->scratch ? dispatch->scratch_waves | dispatch->scratch_units << 12 : 0);
	if (gen->scratch_base) {
		set(out, gen->scratch_base, 2);
		put64(out, dispatch->scratch >> 8);
	}
	set_all(out, gen->zero, sizeof(gen->zero) / sizeof(*gen->zero), 0, false);
	if (gen->interleave_reg) {
		set(out, gen->interleave_reg, 1);
		put(out, gen->interleave);
	}

	if (dispatch->num_user) {
		set(out, REG_USER_DATA_0, dispatch->num_user);
		for (uint32_t i = 0; i < dispatch->num_user; i++)
			put(out, dispatch->user[i]);
	}
}

uint32_t gp_packets_build(const struct gp_generation *gen, const struct gp_dispatch *dispatch, uint32_t *ib)
{
	uint32_t align = dispatch->align < 8 ? 8 : dispatch->align;
	struct out out = { .ib = ib };

	release(&out, dispatch->stamps + offsetof(struct gp_stamps, begin), RELEASE_DATA_CLOCK, 0);
	if (dispatch->scratch)
		clear(&out, dispatch->scratch, dispatch->scratch_bytes);
	acquire(&out, gen);
	registers(&out, gen, dispatch);

	for (uint32_t i = 0; i < dispatch->times; i++) {
		if (i)
			acquire(&out, gen);
		put(&out, PACKET(OP_DISPATCH_DIRECT, 4) | COMPUTE);
		put(&out, dispatch->groups);
		put(&out, 1);
		put(&out, 1);
		put(&out, gen->initiator);
		put(&out, PACKET(OP_EVENT_WRITE, 1));
		put(&out, EVENT_CS_PARTIAL_FLUSH);
	}
	release(&out, dispatch->stamps + offsetof(struct gp_stamps, end), RELEASE_DATA_CLOCK, 0);
	release(&out, dispatch->stamps + offsetof(struct gp_stamps, ticket), RELEASE_DATA_64,
		dispatch->ticket);
	while (out.used % align && !out.full)
		put(&out, PAD);
	return out.full ? 0 : out.used;
}
