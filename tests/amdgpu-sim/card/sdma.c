/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sdma.c - the copy engine: linear copies, writes, fills, fences, time stamps. SDMA 4 (gfx9) and 5.2 (gfx10.3).
 *
 * It reaches memory around the compute units' caches. As in pm4.c: one row per packet, reserved bits checked, what has
 * no row hangs the ring. From Linux' vega10_sdma_pkt_open.h, navi10_sdma_pkt_open.h.
 */
#include <string.h>
#include <time.h>
#include "card.h"

struct stream {
	struct sim_exec *exec;
	uint64_t at, end;
	uint32_t *d; /* of the packet, header first */
};

struct row {
	uint32_t op, sub;
	const char *name;
	uint32_t dwords; /* with the header; what WRITE has of data comes on top */
	uint32_t header; /* bits beside op and sub-op */
	bool (*run)(struct stream *s);
};

static bool bad(struct stream *s, const char *what, uint32_t value)
{
	return sim_trouble(s->exec, SIM_TROUBLE_RING, "SDMA: %s (%#x), at %#llx", what, value,
			   (unsigned long long)s->at);
}

static bool page_fault(struct stream *s)
{
	return sim_trouble(s->exec, SIM_TROUBLE_RING, "SDMA: %s", s->exec->page_fault);
}

static uint64_t pair(const uint32_t *low)
{
	return low[0] | (uint64_t)low[1] << 32;
}

static uint32_t count_bits(void)
{
	return sim.chip->pm4 == SIM_PM4_GFX10 ? 0x3fffffff : 0x003fffff;
}

static bool copy(struct stream *s)
{
	uint64_t from = pair(&s->d[3]), to = pair(&s->d[5]), left = (uint64_t)s->d[1] + 1;
	uint8_t piece[SIM_PAGE];

	if (s->d[1] & ~count_bits())
		return bad(s, "COPY: count", s->d[1]);
	if (s->d[2] & ~0x03030000u)
		return bad(s, "COPY: parameter", s->d[2]);
	while (left) {
		uint32_t n = left < sizeof(piece) ? (uint32_t)left : (uint32_t)sizeof(piece);

		if (__atomic_load_n(&s->exec->stop, __ATOMIC_RELAXED))
			return bad(s, "COPY: stopped", n);
		if (sim_read(s->exec, from, piece, n) || sim_write(s->exec, to, piece, n))
			return page_fault(s);
		from += n;
		to += n;
		left -= n;
	}
	return true;
}

static bool fill(struct stream *s)
{
	uint64_t to = pair(&s->d[1]), left = (uint64_t)s->d[4] + 1;
	uint32_t unit = 1u << (s->d[0] >> 30);
	uint8_t piece[SIM_PAGE];

	if (s->d[4] & ~count_bits())
		return bad(s, "CONST_FILL: count", s->d[4]);
	if (unit == 8 || to % unit || left % unit)
		return bad(s, "CONST_FILL: FILLSIZE, or what is no multiple of it", s->d[0]);
	for (uint32_t i = 0; i < sizeof(piece); i += unit)
		memcpy(piece + i, &s->d[3], unit);
	while (left) {
		uint32_t n = left < sizeof(piece) ? (uint32_t)left : (uint32_t)sizeof(piece);

		if (sim_write(s->exec, to, piece, n))
			return page_fault(s);
		to += n;
		left -= n;
	}
	return true;
}

static bool write_linear(struct stream *s)
{
	uint32_t count = (s->d[3] & 0xfffff) + 1;
	uint64_t to = pair(&s->d[1]);

	if (s->d[3] & ~0x030fffffu || to & 3)
		return bad(s, "WRITE: count or address", s->d[3]);
	if ((s->end - s->at) / 4 < 4 + (uint64_t)count || count > 0x3ff0)
		return bad(s, "WRITE: ends behind its stream", count);
	if (sim_read(s->exec, s->at + 16, s->d + 4, count * 4) || sim_write(s->exec, to, s->d + 4, count * 4))
		return page_fault(s);
	s->at += 4ull * count;
	return true;
}

static bool fence(struct stream *s)
{
	uint64_t to = pair(&s->d[1]);

	if (to & 3)
		return bad(s, "FENCE: address", s->d[1]);
	return sim_write(s->exec, to, &s->d[3], 4) ? page_fault(s) : true;
}

static bool timestamp(struct stream *s)
{
	uint64_t to = pair(&s->d[1]), value = sim_ticks();

	if (to & 7)
		return bad(s, "TIMESTAMP: address", s->d[1]);
	return sim_write(s->exec, to, &value, 8) ? page_fault(s) : true;
}

static bool poll_memory(struct stream *s)
{
	uint32_t function = s->d[0] >> 28 & 7, value;

	if (!(s->d[0] >> 31) || (function != 3 && function != 4 && function != 5))
		return bad(s, "POLL_REGMEM: what is polled, or how", s->d[0]);
	for (;;) {
		struct timespec ts = { 0, 20000 };

		if (sim_read(s->exec, pair(&s->d[1]), &value, 4))
			return page_fault(s);
		value &= s->d[4];
		if (function == 3 ? value == s->d[3] : function == 4 ? value != s->d[3] : value >= s->d[3])
			return true;
		if (__atomic_load_n(&s->exec->stop, __ATOMIC_RELAXED))
			return bad(s, "POLL_REGMEM: did not come true", value);
		nanosleep(&ts, NULL);
	}
}

static const struct row rows[] = {
	{ 1, 0, "COPY_LINEAR", 7, 0, copy },
	{ 2, 0, "WRITE_LINEAR", 4, 0, write_linear },
	{ 5, 0, "FENCE", 4, 0x00070000, fence },
	{ 8, 0, "POLL_REGMEM", 6, 0xf0000000, poll_memory },
	{ 11, 0, "CONST_FILL", 5, 0xc0030000, fill },
	{ 13, 1, "TIMESTAMP_GET", 3, 0, timestamp },
	{ 13, 2, "TIMESTAMP_GET_GLOBAL", 3, 0, timestamp },
};

static bool step(struct stream *s)
{
	const struct row *row = NULL;
	uint32_t header;
	uint64_t left = (s->end - s->at) / 4;

	if (sim_read(s->exec, s->at, &header, 4))
		return page_fault(s);
	s->d[0] = header;
	if (!(header & 0xffff)) {
		/* NOP: bits 29:16 count what it skips. */
		uint32_t skip = header >> 16 & 0x3fff;

		if (header >> 30 || skip >= left)
			return bad(s, "NOP", header);
		s->at += 4 + 4ull * skip;
		return true;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].op == (header & 0xff) && rows[i].sub == (header >> 8 & 0xff))
			row = &rows[i];
	if (!row)
		return bad(s, "packet is not known", header);
	if (header >> 16 & ~(row->header >> 16))
		return bad(s, "header has reserved bits", header);
	if (left < row->dwords)
		return bad(s, "packet ends behind its stream", header);
	if (sim_read(s->exec, s->at, s->d, row->dwords * 4))
		return page_fault(s);
	if (sim.options.trace_packets)
		sim_trace("%#llx %08x %s\n", (unsigned long long)s->at, header, row->name);
	if (!row->run(s))
		return false;
	s->at += 4ull * row->dwords;
	return true;
}

bool sim_sdma_run(struct sim_exec *exec, const struct sim_ib *ib)
{
	struct stream s = { exec, ib->va, ib->va + 4ull * ib->dwords, exec->body };

	while (s.at < s.end) {
		if (!step(&s))
			return false;
		if (__atomic_load_n(&exec->stop, __ATOMIC_RELAXED))
			return sim_trouble(exec, SIM_TROUBLE_RING,
					   "stopped between packets: too long, or a reset");
	}
	return true;
}
