/* SPDX-License-Identifier: BSD-3-Clause */
/* pm4_ops.c - what packets do; pm4.c has checked their length and their reserved bits. */
#include <string.h>
#include <time.h>
#include "pm4.h"

/* CP_COHER_CNTL. */
#define COHER_TC_WB  (1u << 18)
#define COHER_TCL1   (1u << 22)
#define COHER_TC     (1u << 23)
#define COHER_KCACHE (1u << 27)
#define COHER_ICACHE (1u << 29)

/* GCR_CNTL. */
#define GCR_GLI	    0x3u
#define GCR_GLK	    (1u << 7)
#define GCR_GLV	    (1u << 8)
#define GCR_GL1	    (1u << 9)
#define GCR_DISCARD (1u << 13)
#define GCR_GL2_INV (1u << 14)
#define GCR_GL2_WB  (1u << 15)

static bool bad(struct sim_stream *s, const char *what, uint32_t value)
{
	return sim_trouble(s->exec, SIM_TROUBLE_RING, "%s (%#x), at %#llx", what, value,
			   (unsigned long long)(s->at - 4 - 4ull * s->count));
}

static bool page_fault(struct sim_stream *s)
{
	return sim_trouble(s->exec, SIM_TROUBLE_RING, "packet %#x: %s", s->header >> 8 & 0xff,
			   s->exec->page_fault);
}

static uint64_t pair(const uint32_t *low)
{
	return low[0] | (uint64_t)low[1] << 32;
}

/* In units of 256 bytes, both; everything where it would not fit. */
static void range(const uint32_t *size, const uint32_t *base, uint64_t *from, uint64_t *bytes)
{
	uint64_t n = pair(size);

	*from = pair(base) << 8;
	*bytes = n >= 1ull << 40 ? UINT64_MAX : n << 8;
}

static void coher(struct sim_exec *exec, uint32_t cntl, uint64_t from, uint64_t bytes)
{
	if (cntl & COHER_TC_WB)
		sim_l2_write_back(exec, from, bytes);
	if (cntl & COHER_TC)
		sim_l2_invalidate(exec, from, bytes);
	if (cntl & COHER_TCL1)
		sim_l1_invalidate(exec);
	if (cntl & COHER_KCACHE)
		sim_k_invalidate(exec);
	if (cntl & COHER_ICACHE)
		sim_code_forget(exec);
}

static void gcr(struct sim_exec *exec, uint32_t cntl, uint64_t from, uint64_t bytes)
{
	if (cntl & GCR_GL2_WB)
		sim_l2_write_back(exec, from, bytes);
	if (cntl & GCR_GL2_INV)
		sim_l2_invalidate(exec, from, bytes);
	/* A line that is dropped from the unit's cache alone comes back from the next one as it was. */
	if ((cntl & (GCR_GLV | GCR_GL1)) == (GCR_GLV | GCR_GL1))
		sim_l1_invalidate(exec);
	if (cntl & GCR_GLK)
		sim_k_invalidate(exec);
	if (cntl & GCR_GLI)
		sim_code_forget(exec);
}

void sim_mem_sync(struct sim_exec *exec)
{
	if (sim.chip->pm4 == SIM_PM4_GFX10)
		gcr(exec, GCR_GL2_INV | GCR_GL2_WB | GCR_GL1 | GCR_GLV | GCR_GLK | 1, 0, UINT64_MAX);
	else
		coher(exec, COHER_TC_WB | COHER_TC | COHER_TCL1 | COHER_KCACHE | COHER_ICACHE, 0, UINT64_MAX);
}

bool sim_pm4_acquire_9(struct sim_stream *s)
{
	uint64_t from, bytes;

	range(&s->body[1], &s->body[3], &from, &bytes);
	coher(s->exec, s->body[0], from, bytes);
	return true;
}

bool sim_pm4_acquire_10(struct sim_stream *s)
{
	uint64_t from, bytes;

	if (s->body[6] & GCR_DISCARD)
		return bad(s, "ACQUIRE_MEM: GL2_DISCARD loses what others wrote", s->body[6]);
	range(&s->body[1], &s->body[3], &from, &bytes);
	gcr(s->exec, s->body[6], from, bytes);
	return true;
}

bool sim_pm4_set_sh(struct sim_stream *s)
{
	if (s->body[0] >> 16)
		return bad(s, "SET_SH_REG: reserved bits", s->body[0]);
	for (uint32_t i = 1; i < s->count; i++)
		if (!sim_reg_set(s->exec, s->body[0] + i - 1, s->body[i]))
			return false;
	return true;
}

bool sim_pm4_set_sh_index(struct sim_stream *s)
{
	uint32_t number = s->body[0] & 0xffff;

	/* Index 3: the driver's own mask of compute units is applied as well. */
	if (s->body[0] >> 16 != 0x3000)
		return bad(s, "SET_SH_REG_INDEX: index", s->body[0]);
	if (number != 0x216 && number != 0x217 && number != 0x219 && number != 0x21a)
		return bad(s, "SET_SH_REG_INDEX: no register of static thread management", number);
	return sim_reg_set(s->exec, number, s->body[1]);
}

bool sim_pm4_dispatch(struct sim_stream *s)
{
	return sim_dispatch(s->exec, s->body, s->body[3]);
}

bool sim_pm4_event(struct sim_stream *s)
{
	/* CS_PARTIAL_FLUSH: waves have ended, as they always have here. Statistics: start and stop. */
	if (s->body[0] != 0x407 && s->body[0] != 0x19 && s->body[0] != 0x1a)
		return bad(s, "EVENT_WRITE: event", s->body[0]);
	return true;
}

static bool release(struct sim_stream *s)
{
	uint32_t type = s->body[0] & 0x3f, index = s->body[0] >> 8 & 0xf, data = s->body[1] >> 29;
	uint32_t interrupt = s->body[1] >> 24 & 7, to = s->body[1] >> 16 & 3;
	uint64_t va = pair(&s->body[2]), value = pair(&s->body[4]);
	uint32_t size = data == 1 ? 4 : 8;

	/* CACHE_FLUSH_TS, CACHE_FLUSH_AND_INV_TS, BOTTOM_OF_PIPE_TS */
	if (index != 5 || (type != 0x04 && type != 0x14 && type != 0x28))
		return bad(s, "RELEASE_MEM: event", s->body[0]);
	if (data > 4 || interrupt > 3 || to > 1)
		return bad(s, "RELEASE_MEM: DATA_SEL, INT_SEL or DST_SEL", s->body[1]);
	if (!data)
		return true;
	if (va & (size - 1))
		return bad(s, "RELEASE_MEM: address is not aligned", s->body[2]);
	if (data >= 3)
		value = sim_ticks();
	return sim_write(s->exec, va, &value, size) ? page_fault(s) : true;
}

bool sim_pm4_release_9(struct sim_stream *s)
{
	uint32_t actions = s->body[0];

	if (actions & (1u << 15))
		sim_l2_write_back(s->exec, 0, UINT64_MAX);
	if (actions & (1u << 17))
		sim_l2_invalidate(s->exec, 0, UINT64_MAX);
	if (actions & (1u << 16))
		sim_l1_invalidate(s->exec);
	return release(s);
}

bool sim_pm4_release_10(struct sim_stream *s)
{
	uint32_t actions = s->body[0];

	if (actions & (1u << 19))
		return bad(s, "RELEASE_MEM: GL2_DISCARD loses what others wrote", actions);
	if (actions & (1u << 21))
		sim_l2_write_back(s->exec, 0, UINT64_MAX);
	if (actions & (1u << 20))
		sim_l2_invalidate(s->exec, 0, UINT64_MAX);
	if ((actions & (3u << 14)) == 3u << 14)
		sim_l1_invalidate(s->exec);
	return release(s);
}

bool sim_pm4_write_data(struct sim_stream *s)
{
	uint32_t to = s->body[0] >> 8 & 0xf, count = s->count - 3, engine = s->body[0] >> 30;
	uint64_t va = pair(&s->body[1]);

	/* 2: by the L2, 5: memory. Registers are for the driver. */
	if ((to != 2 && to != 5) || engine)
		return bad(s, "WRITE_DATA: DST_SEL or ENGINE_SEL", s->body[0]);
	if (!(s->body[0] & (1u << 16)))
		return sim_write(s->exec, va, &s->body[3], count * 4) ? page_fault(s) : true;
	for (uint32_t i = 0; i < count; i++)
		if (sim_write(s->exec, va, &s->body[3 + i], 4))
			return page_fault(s);
	return true;
}

bool sim_pm4_copy_data(struct sim_stream *s)
{
	uint32_t from = s->body[0] & 0xf, to = s->body[0] >> 8 & 0xf, size = s->body[0] & (1u << 16) ? 8 : 4;
	uint64_t value = 0, source = pair(&s->body[1]), target = pair(&s->body[3]);

	if (s->body[0] >> 30)
		return bad(s, "COPY_DATA: ENGINE_SEL", s->body[0]);
	switch (from) {
	case 1: /* memory */
	case 2: /* by the L2 */
		if (source & (size - 1))
			return bad(s, "COPY_DATA: source is not aligned", s->body[1]);
		if (sim_read(s->exec, source, &value, size))
			return page_fault(s);
		break;
	case 5: /* immediate */
		value = source;
		break;
	case 9: /* clock */
		value = sim_ticks();
		break;
	default:
		return bad(s, "COPY_DATA: SRC_SEL", s->body[0]);
	}
	if (to != 2 && to != 5)
		return bad(s, "COPY_DATA: DST_SEL", s->body[0]);
	if (target & (size - 1))
		return bad(s, "COPY_DATA: target is not aligned", s->body[3]);
	return sim_write(s->exec, target, &value, size) ? page_fault(s) : true;
}

bool sim_pm4_dma_data(struct sim_stream *s)
{
	uint32_t from = s->body[0] >> 29 & 3, to = s->body[0] >> 20 & 3, left = s->body[5] & 0x03ffffff;
	uint64_t source = pair(&s->body[1]), target = pair(&s->body[3]);
	uint8_t piece[SIM_PAGE];

	/* source: memory, data, by the L2; target: memory, by the L2 */
	if (from == 1 || (to != 0 && to != 3) || (s->body[0] & 1))
		return bad(s, "DMA_DATA: SRC_SEL, DST_SEL or ENGINE_SEL", s->body[0]);
	if (s->body[5] & 0x3c000000)
		return bad(s, "DMA_DATA: spaces and increments other than memory's", s->body[5]);
	if (!left)
		return bad(s, "DMA_DATA: no bytes", s->body[5]);
	if (from == 2)
		for (uint32_t i = 0; i < sizeof(piece); i += 4)
			memcpy(piece + i, &s->body[1], 4);
	while (left) {
		uint32_t n = left < sizeof(piece) ? left : (uint32_t)sizeof(piece);

		if ((from != 2 && sim_read(s->exec, source, piece, n)) ||
		    sim_write(s->exec, target, piece, n))
			return page_fault(s);
		source += n;
		target += n;
		left -= n;
	}
	return true;
}

static bool holds(uint32_t function, uint32_t value, uint32_t reference)
{
	switch (function) {
	case 0:
		return true;
	case 1:
		return value < reference;
	case 2:
		return value <= reference;
	case 3:
		return value == reference;
	case 4:
		return value != reference;
	case 5:
		return value >= reference;
	default:
		return value > reference;
	}
}

bool sim_pm4_wait(struct sim_stream *s)
{
	uint32_t function = s->body[0] & 7, value;

	if (function == 7 || (s->body[0] >> 4 & 3) != 1 || s->body[0] >> 6)
		return bad(s, "WAIT_REG_MEM: FUNCTION, MEM_SPACE, OPERATION or ENGINE_SEL", s->body[0]);
	for (;;) {
		struct timespec ts = { 0, 20000 };

		if (sim_read(s->exec, pair(&s->body[1]), &value, 4))
			return page_fault(s);
		if (holds(function, value & s->body[4], s->body[3]))
			return true;
		if (__atomic_load_n(&s->exec->stop, __ATOMIC_RELAXED))
			return bad(s, "WAIT_REG_MEM: did not come true", value);
		nanosleep(&ts, NULL);
	}
}

bool sim_pm4_chain(struct sim_stream *s)
{
	uint32_t dwords = s->body[2] & 0xfffff;

	/* A compute queue has no second level: the stream goes on there, and does not come back. */
	if (!(s->body[2] & (1u << 20)))
		return bad(s, "INDIRECT_BUFFER: without CHAIN", s->body[2]);
	if (!(s->body[2] & (1u << 23)))
		return bad(s, "INDIRECT_BUFFER: without VALID", s->body[2]);
	if (!dwords)
		return bad(s, "INDIRECT_BUFFER: of no dwords", s->body[2]);
	if (s->at != s->end)
		return bad(s, "INDIRECT_BUFFER: a chain is a stream's last packet", s->body[2]);
	s->at = pair(&s->body[0]);
	s->end = s->at + 4ull * dwords;
	return true;
}

bool sim_pm4_cond_exec(struct sim_stream *s)
{
	uint32_t value;

	if (sim_read(s->exec, pair(&s->body[0]), &value, 4))
		return page_fault(s);
	if (value)
		return true;
	if ((s->end - s->at) / 4 < s->body[3])
		return bad(s, "COND_EXEC: skips beyond its stream", s->body[3]);
	s->at += 4ull * s->body[3];
	return true;
}
