/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache.c - memory as compute units see it: through caches that nobody keeps coherent.
 *
 *  - Vector caches, one per compute unit, by virtual address. Writes go through and update the own unit's line only;
 *    loads with GLC miss on purpose; atomics drop the line. Others' lines stay as they are until
 *    invalidated (ACQUIRE_MEM, buffer_wbinvl1, RELEASE_MEM's and the end fence's actions).
 *  - One scalar cache, by virtual address, likewise.
 *  - One L2, by memory, shared by the units: written bytes stay there, unseen by the CPU, until written back; what the
 *    CPU changes is not seen in a line that is there. Mappings with MTYPE UC or CC go around it. Atomics are
 *    done in it; on UC system memory they would have to be PCIe's, which nobody should count on, and fault.
 *
 * The packet processor reads its stream from memory, with what is dirty in the L2 seen; what it writes goes to both.
 * Each cache is a direct-mapped table, so lines also leave when others come, as they may on a card.
 */
#include <string.h>
#include "card.h"

static bool uncached(const struct sim_exec *exec, uint32_t flags)
{
	uint32_t mtype = flags & AMDGPU_VM_MTYPE_MASK;

	return !exec->l2_on || mtype == AMDGPU_VM_MTYPE_UC || mtype == AMDGPU_VM_MTYPE_CC;
}

static uint64_t bits(uint32_t offset, uint32_t size)
{
	return (size == 64 ? ~0ull : (1ull << size) - 1) << offset;
}

static void l2_clean(struct sim_exec *exec, struct sim_l2_line *line)
{
	uint64_t dirty = line->dirty;

	if (!dirty)
		return;
	if (dirty == ~0ull) {
		memcpy(line->at, line->data, SIM_LINE);
	} else {
		/* In runs as long as possible, so that a word that is dirty as a whole is written as a whole. */
		for (uint32_t i = 0; i < SIM_LINE;) {
			uint32_t n = 0;

			while (i + n < SIM_LINE && dirty >> (i + n) & 1)
				n++;
			if (n)
				memcpy(line->at + i, line->data + i, n);
			i += n ? n : 1;
		}
	}
	line->dirty = 0;
	exec->dirty--;
}

/* The line of memory at @at, made room for; its bytes may not be valid yet. */
static struct sim_l2_line *l2_line(struct sim_exec *exec, uint8_t *at)
{
	uintptr_t number = (uintptr_t)at / SIM_LINE;
	struct sim_l2_line *line = &exec->l2[(number ^ number >> 12) % SIM_L2_LINES];

	at = (uint8_t *)(number * SIM_LINE);
	if (line->at != at) {
		l2_clean(exec, line);
		if (!line->at)
			exec->l2_used[exec->l2_count++] = (uint16_t)(line - exec->l2);
		line->at = at;
		line->valid = 0;
	}
	return line;
}

static void l2_fill(struct sim_l2_line *line)
{
	if (!line->valid) {
		memcpy(line->data, line->at, SIM_LINE);
	} else {
		for (uint32_t i = 0; i < SIM_LINE; i++)
			if (!(line->valid >> i & 1))
				line->data[i] = line->at[i];
	}
	line->valid = ~0ull;
}

/* Both within one line. */
static void l2_read(struct sim_exec *exec, const struct sim_tlb *tlb, uint32_t offset, void *to,
		    uint32_t size)
{
	struct sim_l2_line *line;
	uint8_t *at = tlb->host + offset;
	uint64_t need;

	if (!tlb->host) {
		memset(to, 0, size);
		return;
	}
	if (uncached(exec, tlb->flags)) {
		memcpy(to, at, size);
		return;
	}
	line = l2_line(exec, at);
	need = bits((uintptr_t)at % SIM_LINE, size);
	if ((line->valid & need) != need)
		l2_fill(line);
	memcpy(to, line->data + (uintptr_t)at % SIM_LINE, size);
}

static void l2_write(struct sim_exec *exec, const struct sim_tlb *tlb, uint32_t offset, const void *from,
		     uint32_t size)
{
	struct sim_l2_line *line;
	uint8_t *at = tlb->host + offset;
	uint64_t mask;

	if (!tlb->host)
		return;
	if (uncached(exec, tlb->flags)) {
		memcpy(at, from, size);
		return;
	}
	line = l2_line(exec, at);
	mask = bits((uintptr_t)at % SIM_LINE, size);
	memcpy(line->data + (uintptr_t)at % SIM_LINE, from, size);
	exec->dirty += !line->dirty;
	line->dirty |= mask;
	line->valid |= mask;
}

static void l1_drop(struct sim_exec *exec, unsigned int unit)
{
	if (!exec->l1_used[unit])
		return;
	exec->l1_used[unit] = false;
	for (size_t i = 0; i < SIM_L1_LINES; i++)
		exec->l1[unit][i].tag = 0;
}

void sim_l1_invalidate(struct sim_exec *exec)
{
	for (unsigned int u = 0; u < SIM_UNITS; u++)
		l1_drop(exec, u);
}

void sim_k_invalidate(struct sim_exec *exec)
{
	if (!exec->k_used)
		return;
	exec->k_used = false;
	for (size_t i = 0; i < SIM_K_LINES; i++)
		exec->k[i].tag = 0;
}

/* Calls @what for the lines of a range of virtual addresses, or for all where that is less work. */
static void l2_range(struct sim_exec *exec, uint64_t va, uint64_t size,
		     void (*what)(struct sim_exec *exec, struct sim_l2_line *line))
{
	uint64_t end = size > UINT64_MAX - va ? UINT64_MAX : va + size;

	if (size >= SIM_L2_LINES * SIM_LINE) {
		/* From the end, since a line that is dropped gives its place to the last. */
		for (uint32_t i = exec->l2_count; i--;)
			what(exec, &exec->l2[exec->l2_used[i]]);
		return;
	}
	for (va &= ~(uint64_t)(SIM_LINE - 1); va < end; va += SIM_LINE) {
		struct sim_tlb *tlb = sim_translate(exec, va, 0);
		uint8_t *at = tlb && tlb->host ? tlb->host + va % SIM_PAGE : NULL;
		uintptr_t number = (uintptr_t)at / SIM_LINE;
		struct sim_l2_line *line = &exec->l2[(number ^ number >> 12) % SIM_L2_LINES];

		if (at && line->at == at)
			what(exec, line);
	}
	/* A hole in the range is nobody's fault. */
	exec->page_fault[0] = 0;
}

void sim_l2_write_back(struct sim_exec *exec, uint64_t va, uint64_t size)
{
	if (exec->dirty)
		l2_range(exec, va, size, l2_clean);
}

/* What is dirty is written back first: that is what "invalidate" does with dirty lines of coherent memory. */
static void l2_drop(struct sim_exec *exec, struct sim_l2_line *line)
{
	uint16_t number = (uint16_t)(line - exec->l2);

	l2_clean(exec, line);
	line->at = NULL;
	line->valid = 0;
	for (uint32_t i = exec->l2_count; i--;)
		if (exec->l2_used[i] == number) {
			exec->l2_used[i] = exec->l2_used[--exec->l2_count];
			break;
		}
}

void sim_l2_invalidate(struct sim_exec *exec, uint64_t va, uint64_t size)
{
	l2_range(exec, va, size, l2_drop);
}

/* One piece within a line, through @lines if they may have it. */
static void read_piece(struct sim_exec *exec, struct sim_line *lines, uint32_t count,
		       const struct sim_tlb *tlb, uint64_t va, void *to, uint32_t size, bool miss)
{
	uint64_t number = va / SIM_LINE;
	struct sim_line *line;

	if (!lines) {
		l2_read(exec, tlb, va % SIM_PAGE, to, size);
		return;
	}
	line = &lines[(number ^ number >> 9) % count];
	if (line->tag != (number * SIM_LINE | 1) || miss) {
		l2_read(exec, tlb, number * SIM_LINE % SIM_PAGE, line->data, SIM_LINE);
		line->tag = number * SIM_LINE | 1;
	}
	memcpy(to, line->data + va % SIM_LINE, size);
}

static int cached_read(struct sim_exec *exec, unsigned int cu, uint64_t va, void *to, uint32_t size,
		       uint32_t flags)
{
	struct sim_line *lines = NULL;
	uint32_t count = SIM_L1_LINES;
	uint8_t *out = to;

	if (exec->l1_on && (flags & SIM_SCALAR)) {
		lines = exec->k;
		count = SIM_K_LINES;
		exec->k_used = true;
	} else if (exec->l1_on && !(flags & SIM_EXECUTE)) {
		lines = exec->l1[cu % SIM_UNITS];
		exec->l1_used[cu % SIM_UNITS] = true;
	}
	while (size) {
		struct sim_tlb *tlb = sim_translate(exec, va, flags & SIM_EXECUTE ? SIM_EXECUTE : SIM_READ);
		uint32_t n = SIM_LINE - va % SIM_LINE;

		if (!tlb)
			return -1;
		n = n < size ? n : size;
		read_piece(exec, lines, count, tlb, va, out, n, flags & SIM_GLC);
		va += n;
		out += n;
		size -= n;
	}
	return 0;
}

/* The units' own copies of a line: updated, or dropped for an atomic (@from NULL). */
static void update(struct sim_line *lines, uint32_t count, uint64_t va, const void *from, uint32_t size)
{
	uint64_t number = va / SIM_LINE;
	struct sim_line *line = &lines[(number ^ number >> 9) % count];

	if (line->tag != (number * SIM_LINE | 1))
		return;
	if (from)
		memcpy(line->data + va % SIM_LINE, from, size);
	else
		line->tag = 0;
}

static int op_read(void *opaque, unsigned int cu, uint64_t va, void *to, uint32_t size, uint32_t flags)
{
	return cached_read(opaque, cu, va, to, size, flags);
}

static int op_write(void *opaque, unsigned int cu, uint64_t va, const void *from, uint32_t size,
		    uint32_t flags)
{
	struct sim_exec *exec = opaque;
	const uint8_t *in = from;

	while (size) {
		struct sim_tlb *tlb = sim_translate(exec, va, SIM_WRITE);
		uint32_t n = SIM_LINE - va % SIM_LINE;

		if (!tlb)
			return -1;
		n = n < size ? n : size;
		if (flags & SIM_SCALAR)
			update(exec->k, SIM_K_LINES, va, in, n);
		else
			update(exec->l1[cu % SIM_UNITS], SIM_L1_LINES, va, in, n);
		l2_write(exec, tlb, va % SIM_PAGE, in, n);
		va += n;
		in += n;
		size -= n;
	}
	return 0;
}

static int op_atomic(void *opaque, unsigned int cu, uint64_t va, enum sim_atomic op, uint32_t size,
		     uint64_t operand, uint64_t compare, uint64_t *old, uint32_t flags)
{
	struct sim_exec *exec = opaque;
	struct sim_tlb *tlb = sim_translate(exec, va, SIM_READ | SIM_WRITE);
	uint64_t was = 0, is;

	if (tlb && va % size)
		tlb = sim_page_fault(exec, va, SIM_WRITE, "an atomic that is not aligned");
	if (tlb && (tlb->flags & SIM_PAGE_SYSTEM) && exec->l2_on && uncached(exec, tlb->flags))
		tlb = sim_page_fault(exec, va, SIM_WRITE,
				     "an atomic on system memory that the L2 does not cache");
	if (!tlb)
		return -1;
	if (size == 4) {
		operand = (uint32_t)operand;
		compare = (uint32_t)compare;
	}
	update(exec->l1[cu % SIM_UNITS], SIM_L1_LINES, va, NULL, 0);
	l2_read(exec, tlb, va % SIM_PAGE, &was, size);
	is = sim_atomic_result(op, size, was, operand, compare);
	l2_write(exec, tlb, va % SIM_PAGE, &is, size);
	*old = was;
	return 0;
}

static void op_cache(void *opaque, unsigned int cu, enum sim_cache what)
{
	struct sim_exec *exec = opaque;

	switch (what) {
	case SIM_CACHE_VECTOR_INV:
		l1_drop(exec, cu % SIM_UNITS);
		break;
	case SIM_CACHE_SCALAR_INV:
		sim_k_invalidate(exec);
		break;
	case SIM_CACHE_L2_INV:
		sim_l2_invalidate(exec, 0, UINT64_MAX);
		break;
	case SIM_CACHE_L2_WB:
		sim_l2_write_back(exec, 0, UINT64_MAX);
		break;
	case SIM_CACHE_GL1_INV:
		break; /* its lines are the vector caches' here */
	}
}

static uint64_t op_clock(void *opaque, uint64_t instructions)
{
	(void)opaque;
	return sim_clock_at(instructions);
}

void sim_memory_ops(struct sim_exec *exec, struct sim_memory *ops)
{
	*ops = (struct sim_memory){ exec, op_read, op_write, op_atomic, op_cache, op_clock };
}

int sim_read(struct sim_exec *exec, uint64_t va, void *to, uint32_t size)
{
	uint8_t *out = to;

	while (size) {
		struct sim_tlb *tlb = sim_translate(exec, va, SIM_READ);
		uint32_t n = SIM_LINE - va % SIM_LINE;
		struct sim_l2_line *line;

		if (!tlb)
			return -1;
		n = n < size ? n : size;
		if (tlb->host) {
			uint8_t *at = tlb->host + va % SIM_PAGE;
			uintptr_t number = (uintptr_t)at / SIM_LINE;

			line = &exec->l2[(number ^ number >> 12) % SIM_L2_LINES];
			if (line->at == (uint8_t *)(number * SIM_LINE) && line->dirty)
				l2_clean(exec, line);
			memcpy(out, at, n);
		} else {
			memset(out, 0, n);
		}
		va += n;
		out += n;
		size -= n;
	}
	return 0;
}

int sim_write(struct sim_exec *exec, uint64_t va, const void *from, uint32_t size)
{
	const uint8_t *in = from;

	while (size) {
		struct sim_tlb *tlb = sim_translate(exec, va, SIM_WRITE);
		uint32_t n = SIM_LINE - va % SIM_LINE;

		if (!tlb)
			return -1;
		n = n < size ? n : size;
		if (tlb->host) {
			uint8_t *at = tlb->host + va % SIM_PAGE;
			uintptr_t number = (uintptr_t)at / SIM_LINE;
			struct sim_l2_line *line = &exec->l2[(number ^ number >> 12) % SIM_L2_LINES];

			if (line->at == (uint8_t *)(number * SIM_LINE)) {
				memcpy(line->data + (uintptr_t)at % SIM_LINE, in, n);
				line->valid |= bits((uintptr_t)at % SIM_LINE, n);
			}
			/* A fence of 8 bytes is to be seen whole. */
			if (n == 8 && !((uintptr_t)at & 7)) {
				uint64_t value;

				memcpy(&value, in, 8);
				__atomic_store_n((uint64_t *)(void *)at, value, __ATOMIC_RELEASE);
			} else {
				memcpy(at, in, n);
			}
		}
		va += n;
		in += n;
		size -= n;
	}
	return 0;
}
