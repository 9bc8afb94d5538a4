/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pm4.c - the packet processor of a compute queue: walks a stream of packets of type 3.
 *
 * One row per packet: how long it may be, and which bits of each dword it has. What has no row, or a bit that has no
 * meaning, hangs the ring (a real one may hang, or do something else). Nothing is skipped but NOP. What a
 * packet does lies in pm4_ops.c.
 *
 * From Linux' soc15d.h, nvd.h, and Mesa's sid.h, pkt3.json.
 */
#include "card.h"
#include "pm4.h"

#define ANY 0xffffffffu

static const uint32_t acquire_9[] = { 0x7ec48038, ANY, 0x00ffffff, ANY, 0x00ffffff, 0xffff };
static const uint32_t acquire_10[] = { 0, ANY, 0x01ffffff, ANY, 0x00ffffff, 0xffff, 0x0007ffff };
static const uint32_t dispatch[] = { ANY, ANY, ANY, ANY };
static const uint32_t event[] = { 0x00000f3f };
/* addresses: bit 0..1 by the size of what is written */
static const uint32_t release_9[] = { 0x163bbf3f, 0xe7030000, ANY, 0xffff, ANY, ANY, 0x0fffffff };
static const uint32_t release_10[] = { 0x16ffff3f, 0xe7030000, ANY, 0xffff, ANY, ANY, 0x0fffffff };
static const uint32_t write_data[] = { 0xc6110f00, 0xfffffffc, 0xffff };
static const uint32_t copy_data[] = { 0xc6116f0f, ANY, ANY, ANY, ANY };
static const uint32_t dma_data[] = { 0xe6306001, ANY, ANY, ANY, ANY, 0xfc000000 | 0x03ffffff };
static const uint32_t wait_mem[] = { 0x000003f7, 0xfffffffc, 0xffff, ANY, ANY, 0xffff };
static const uint32_t chain[] = { 0xfffffffc, 0xffff, 0x30bfffff };
static const uint32_t cond_exec[] = { 0xfffffffc, 0xffff, 0, 0x3fff };

#define ROW(op, name, masks, run) { op, name, sizeof(masks) / 4, sizeof(masks) / 4, masks, run }

static const struct sim_packet common[] = {
	{ 0x10, "NOP", 1, 0x3fff, NULL, NULL },
	ROW(0x15, "DISPATCH_DIRECT", dispatch, sim_pm4_dispatch),
	ROW(0x22, "COND_EXEC", cond_exec, sim_pm4_cond_exec),
	{ 0x37, "WRITE_DATA", 4, 0x3fff, write_data, sim_pm4_write_data },
	ROW(0x3c, "WAIT_REG_MEM", wait_mem, sim_pm4_wait),
	ROW(0x3f, "INDIRECT_BUFFER", chain, sim_pm4_chain),
	ROW(0x40, "COPY_DATA", copy_data, sim_pm4_copy_data),
	ROW(0x46, "EVENT_WRITE", event, sim_pm4_event),
	ROW(0x50, "DMA_DATA", dma_data, sim_pm4_dma_data),
	{ 0x76, "SET_SH_REG", 2, 0x3ff, NULL, sim_pm4_set_sh },
};

static const struct sim_packet gfx9[] = {
	ROW(0x49, "RELEASE_MEM", release_9, sim_pm4_release_9),
	ROW(0x58, "ACQUIRE_MEM", acquire_9, sim_pm4_acquire_9),
};

static const struct sim_packet gfx10[] = {
	ROW(0x49, "RELEASE_MEM", release_10, sim_pm4_release_10),
	ROW(0x58, "ACQUIRE_MEM", acquire_10, sim_pm4_acquire_10),
	{ 0x9b, "SET_SH_REG_INDEX", 2, 2, NULL, sim_pm4_set_sh_index },
};

static const struct sim_packet *find_row(const struct sim_packet *rows, size_t count, uint32_t op)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].op == op)
			return &rows[i];
	return NULL;
}

static const struct sim_packet *find(uint32_t op)
{
	const struct sim_packet *row = find_row(common, sizeof(common) / sizeof(*common), op);

	if (row)
		return row;
	return sim.chip->pm4 == SIM_PM4_GFX10 ? find_row(gfx10, sizeof(gfx10) / sizeof(*gfx10), op)
					      : find_row(gfx9, sizeof(gfx9) / sizeof(*gfx9), op);
}

static bool reserved(struct sim_stream *s, const struct sim_packet *row)
{
	for (uint32_t i = 0; row->bits && i < s->count; i++) {
		/* The last row stands for what follows it where a packet's length is free. */
		uint32_t known = row->min == row->max || i < 3 ? row->bits[i] : ANY;

		if (s->body[i] & ~known) {
			sim_trouble(s->exec, SIM_TROUBLE_RING, "%s: dword %u, %#x, has reserved bits %#x",
				    row->name, i + 1, s->body[i], s->body[i] & ~known);
			return true;
		}
	}
	return false;
}

static void trace(const struct sim_stream *s, const struct sim_packet *row)
{
	if (!sim.options.trace_packets)
		return;
	sim_trace("%#llx %08x %s", (unsigned long long)s->at, s->header, row->name);
	for (uint32_t i = 0; row->run && i < s->count && i < 16; i++)
		sim_trace(" %08x", s->body[i]);
	sim_trace("%s\n", row->run && s->count > 16 ? " ..." : "");
}

/* One packet. */
static bool step(struct sim_stream *s)
{
	struct sim_exec *exec = s->exec;
	const struct sim_packet *row;

	if (sim_read(exec, s->at, &s->header, 4))
		return sim_trouble(exec, SIM_TROUBLE_RING, "stream: %s", exec->page_fault);
	/* NOP of one dword: its count is all ones. */
	if ((s->header & 0xffffff00) == 0xffff1000) {
		s->at += 4;
		return true;
	}
	if (s->header >> 30 != 3)
		return sim_trouble(exec, SIM_TROUBLE_RING, "stream at %#llx: %#x is no packet of type 3",
				   (unsigned long long)s->at, s->header);
	row = find(s->header >> 8 & 0xff);
	s->count = (s->header >> 16 & 0x3fff) + 1;
	if (!row)
		return sim_trouble(exec, SIM_TROUBLE_RING, "stream at %#llx: packet %#x is not known",
				   (unsigned long long)s->at, s->header >> 8 & 0xff);
	/* Bit 1 says compute; predication (bit 0) needs a predicate, which these queues have not. */
	if (s->header & 0xfd)
		return sim_trouble(exec, SIM_TROUBLE_RING, "%s: header %#x has reserved bits", row->name,
				   s->header);
	if (s->count < row->min || s->count > row->max)
		return sim_trouble(exec, SIM_TROUBLE_RING, "%s: %u dwords, where it has %u to %u", row->name,
				   s->count, row->min, row->max);
	if (s->end - s->at < 4 + 4ull * s->count)
		return sim_trouble(exec, SIM_TROUBLE_RING, "%s: ends behind its stream", row->name);
	if (row->run && sim_read(exec, s->at + 4, s->body, s->count * 4))
		return sim_trouble(exec, SIM_TROUBLE_RING, "stream: %s", exec->page_fault);
	trace(s, row);
	if (row->run && reserved(s, row))
		return false;
	s->at += 4 + 4ull * s->count;
	return row->run ? row->run(s) : true;
}

bool sim_pm4_run(struct sim_exec *exec, const struct sim_ib *ib)
{
	struct sim_stream s = {
		.exec = exec, .at = ib->va, .end = ib->va + 4ull * ib->dwords, .body = exec->body
	};

	if (ib->flags & (AMDGPU_IB_FLAG_CE | AMDGPU_IB_FLAG_PREAMBLE | AMDGPU_IB_FLAGS_SECURE))
		return sim_trouble(exec, SIM_TROUBLE_RING, "IB flags %#x are not for a compute ring",
				   ib->flags);
	if (ib->flags & AMDGPU_IB_FLAG_EMIT_MEM_SYNC)
		sim_mem_sync(exec);
	while (s.at < s.end) {
		if (!step(&s))
			return false;
		if (__atomic_load_n(&exec->stop, __ATOMIC_RELAXED))
			return sim_trouble(exec, SIM_TROUBLE_RING,
					   "stopped between packets: too long, or a reset");
	}
	return true;
}
