/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory.c - vector memory: FLAT, GLOBAL, SCRATCH and MUBUF.
 *
 * An instruction's lanes become addresses first. Lanes that lie behind each other are read or written in one
 * call; if that fails, lane by lane, to name the one at fault. Scratch is swizzled: the dwords that the lanes of
 * a wave have at the same private address lie side by side.
 *
 * Accesses outside of a buffer descriptor's range are faults here, though hardware reads zero: nothing that the
 * compiler writes relies on it.
 */
#include <string.h>
#include "lds.h"

#define SHARED_HIGH  0x20000000u
#define PRIVATE_HIGH 0x10000000u

enum { X_SIGN = 1, X_D16 = 2, X_D16_HI = 4 };

enum where { NOWHERE, MEMORY, LOCAL, PRIVATE };

struct access {
	uint64_t va[LANES];
	uint64_t lanes[4]; /* by enum where */
	uint32_t flags;
	uint32_t words[LANES * 4]; /* data, four words a lane */
	bool split; /* each dword on its own: va is of the first, the rest are a row of dwords apart */
	uint32_t row;
};

static uint32_t cache_bits(const struct uop *u)
{
	return (u->glc ? SIM_GLC : 0) | (u->slc ? SIM_SLC : 0) | (u->dlc ? SIM_DLC : 0);
}

static bool scratch_address(struct wave *w, uint64_t base, uint32_t offset, unsigned int lane, uint32_t bytes,
			    uint64_t *va)
{
	uint32_t each = w->dispatch->scratch_wave_bytes / w->size;

	if (!w->dispatch->scratch || offset >= each || each - offset < bytes) {
		isa_fault(w, SIM_FAULT_MEMORY, offset, (int)lane, "private address 0x%x of 0x%x", offset,
			  each);
		return false;
	}
	*va = base + ((uint64_t)(offset / 4) * w->size + lane) * 4 + offset % 4;
	return true;
}

static bool flat_scratch(struct wave *w, uint64_t *base)
{
	if (w->dispatch->gfx == SIM_GFX1030) {
		*base = w->flat[0] | (uint64_t)w->flat[1] << 32;
		return true;
	}
	if (w->su[102] | w->su[103]) {
		isa_fault(w, SIM_FAULT_REGISTER, 0, -1, "flat_scratch is undefined");
		return false;
	}
	*base = w->s[102] | (uint64_t)w->s[103] << 32;
	return true;
}

static bool flat_addresses(struct wave *w, const struct uop *u, struct access *a)
{
	const struct opd *o = &u->src[0], *s = &u->src[3];
	uint64_t exec = isa_exec(w), base = 0;
	const uint32_t *low = w->v[o->code], *high = w->v[o->code + 1];
	uint32_t bytes = u->sem->bytes;
	bool wide = o->size == 2;

	if (s->kind)
		base = isa_scalar(w, s);
	if (u->enc == SCRATCH) {
		uint64_t scratch;

		if (!flat_scratch(w, &scratch))
			return false;
		for (unsigned int i = 0; i < w->size; i++) {
			uint32_t offset = (uint32_t)base + (o->kind ? low[i] : 0) + (uint32_t)u->offset;

			if (exec >> i & 1 && !scratch_address(w, scratch, offset, i, bytes, &a->va[i]))
				return false;
		}
		a->lanes[PRIVATE] = exec;
		a->split = true;
		a->row = w->size * 4;
		return true;
	}
	for (unsigned int i = 0; i < w->size; i++)
		a->va[i] =
			base + low[i] + (wide ? (uint64_t)high[i] << 32 : 0) + (uint64_t)(int64_t)u->offset;
	a->lanes[MEMORY] = exec;
	if (u->enc != FLAT && u->enc != FLAT_RTN)
		return true;
	for (unsigned int i = 0; i < w->size; i++) {
		uint32_t top = (uint32_t)(a->va[i] >> 32);

		if (!(exec >> i & 1) || (top != SHARED_HIGH && top != PRIVATE_HIGH))
			continue;
		a->lanes[MEMORY] &= ~(1ull << i);
		a->lanes[top == SHARED_HIGH ? LOCAL : PRIVATE] |= 1ull << i;
	}
	if (!a->lanes[PRIVATE])
		return true;
	if (!flat_scratch(w, &base))
		return false;
	a->row = w->size * 4;
	for (unsigned int i = 0; i < w->size; i++)
		if (a->lanes[PRIVATE] >> i & 1 &&
		    !scratch_address(w, base, (uint32_t)a->va[i], i, bytes, &a->va[i]))
			return false;
	return true;
}

/* A buffer descriptor; field positions from the Vega and RDNA 2 documents, "Buffer Resource Descriptor". */
static bool buffer_addresses(struct wave *w, const struct uop *u, struct access *a)
{
	const uint32_t *r = &w->s[u->src[3].code];
	uint64_t base = r[0] | (uint64_t)(r[1] & 0xffff) << 32, exec = isa_exec(w);
	uint32_t stride = r[1] >> 16 & 0x3fff, records = r[2], index_stride = 8u << (r[3] >> 21 & 3);
	bool swizzle = r[1] >> 31, tid = r[3] >> 23 & 1;
	uint32_t soffset = (uint32_t)isa_scalar(w, &u->src[4]);
	uint64_t mine = w->dispatch->scratch + (uint64_t)w->slot * w->dispatch->scratch_wave_bytes;
	const struct opd *o = &u->src[0];

	if (tid && u->gfx != SIM_GFX1030)
		stride |= (r[3] >> 15 & 15) << 14;
	for (unsigned int i = 0; i < w->size; i++) {
		uint32_t index = (tid ? i : 0) + (u->idxen ? w->v[o->code][i] : 0);
		uint32_t offset =
			(uint32_t)u->offset + (u->offen ? w->v[o->code + (u->idxen ? 1 : 0)][i] : 0);
		uint64_t at;

		if (!(exec >> i & 1))
			continue;
		if (swizzle)
			at = ((uint64_t)(index / index_stride) * stride + offset / 4 * 4) * index_stride +
			     (uint64_t)(index % index_stride) * 4 + offset % 4;
		else
			at = (uint64_t)index * stride + offset;
		if (swizzle && stride ? index >= records : at + soffset + u->sem->bytes > records) {
			isa_fault(w, SIM_FAULT_MEMORY, base + soffset + at, (int)i, "outside of the buffer");
			return false;
		}
		a->va[i] = base + soffset + at;
		if (swizzle && tid &&
		    (a->va[i] < mine || a->va[i] + u->sem->bytes > mine + w->dispatch->scratch_wave_bytes)) {
			isa_fault(w, SIM_FAULT_MEMORY, a->va[i], (int)i, "scratch of another wave");
			return false;
		}
	}
	a->lanes[swizzle && tid ? PRIVATE : MEMORY] = exec;
	a->row = index_stride * 4;
	return true;
}

static int touch(struct wave *w, const struct access *a, uint64_t va, void *bytes, uint32_t size, bool write,
		 uint32_t extra)
{
	const struct sim_memory *m = &w->m->memory;

	if (write)
		return m->write(m->opaque, w->group->cu, va, bytes, size, a->flags | extra);
	return m->read(m->opaque, w->group->cu, va, bytes, size, a->flags | extra);
}

/* @size bytes of each of @lanes, at @skip from its address and in its data at word @word. */
static bool move_lanes(struct wave *w, struct access *a, uint64_t lanes, uint64_t skip, uint32_t word,
		       uint32_t size, bool write, uint32_t extra)
{
	uint8_t run[LANES * 16];

	for (unsigned int i = 0; i < w->size;) {
		unsigned int n = 1;

		if (!(lanes >> i & 1)) {
			i++;
			continue;
		}
		while (i + n < w->size && lanes >> (i + n) & 1 &&
		       a->va[i + n] == a->va[i] + (uint64_t)n * size)
			n++;
		for (unsigned int k = 0; k < n && write; k++)
			memcpy(run + k * size, &a->words[(i + k) * 4 + word], size);
		if (touch(w, a, a->va[i] + skip, run, n * size, write, extra)) {
			unsigned int k = 0;

			while (k + 1 < n &&
			       !touch(w, a, a->va[i + k] + skip, run + k * size, size, write, extra))
				k++;
			isa_fault(w, SIM_FAULT_MEMORY, a->va[i + k] + skip, (int)(i + k),
				  "%s of %u bytes at 0x%llx", write ? "write" : "read", size,
				  (unsigned long long)(a->va[i + k] + skip));
			w->m->fault->flags = a->flags | extra;
			return false;
		}
		for (unsigned int k = 0; k < n && !write; k++)
			memcpy(&a->words[(i + k) * 4 + word], run + k * size, size);
		i += n;
	}
	return true;
}

static bool aligned(struct wave *w, const struct access *a, uint64_t lanes, uint32_t size)
{
	uint32_t mask = size >= 4 ? 3 : size - 1;

	for (unsigned int i = 0; i < w->size; i++)
		if (lanes >> i & 1 && a->va[i] & mask) {
			isa_fault(w, SIM_FAULT_MEMORY, a->va[i], (int)i, "address 0x%llx is not aligned",
				  (unsigned long long)a->va[i]);
			return false;
		}
	return true;
}

static bool move_all(struct wave *w, const struct uop *u, struct access *a, bool write)
{
	uint32_t bytes = u->sem->bytes;

	if (a->lanes[MEMORY] && !move_lanes(w, a, a->lanes[MEMORY], 0, 0, bytes, write, 0))
		return false;
	for (uint32_t k = 0; a->lanes[PRIVATE] && k * 4 < bytes; k++) {
		uint32_t part = bytes - k * 4 < 4 ? bytes - k * 4 : 4;

		if (!aligned(w, a, a->lanes[PRIVATE], part) ||
		    !move_lanes(w, a, a->lanes[PRIVATE], (uint64_t)k * a->row, k, part, write, SIM_SCRATCH))
			return false;
	}
	for (unsigned int i = 0; i < w->size && a->lanes[LOCAL]; i++) {
		if (!(a->lanes[LOCAL] >> i & 1))
			continue;
		if (write ? !isa_lds_write(w, (uint32_t)a->va[i], &a->words[i * 4], bytes, (int)i)
			  : !isa_lds_read(w, (uint32_t)a->va[i], &a->words[i * 4], bytes, (int)i))
			return false;
	}
	return true;
}

static bool atomic_lane(struct wave *w, const struct uop *u, struct access *a, unsigned int lane,
			uint32_t size)
{
	const struct sim_memory *m = &w->m->memory;
	uint32_t *data = &a->words[lane * 4];
	uint64_t operand, compare = 0, old = 0;
	enum sim_atomic op = u->sem->kind - 1;

	operand = size == 8 ? data[0] | (uint64_t)data[1] << 32 : data[0];
	if (op == SIM_ATOMIC_CMPSWAP)
		compare = size == 8 ? data[2] | (uint64_t)data[3] << 32 : data[1];
	if (a->va[lane] & (size - 1)) {
		isa_fault(w, SIM_FAULT_MEMORY, a->va[lane], (int)lane, "atomic at 0x%llx is not aligned",
			  (unsigned long long)a->va[lane]);
		return false;
	}
	if (a->lanes[LOCAL] >> lane & 1) {
		uint64_t result;

		if (!isa_lds_read(w, (uint32_t)a->va[lane], &old, size, (int)lane))
			return false;
		result = sim_atomic_result(op, size, old, operand, compare);
		if (!isa_lds_write(w, (uint32_t)a->va[lane], &result, size, (int)lane))
			return false;
	} else if (m->atomic(m->opaque, w->group->cu, a->va[lane], op, size, operand, compare, &old,
			     a->flags)) {
		isa_fault(w, SIM_FAULT_MEMORY, a->va[lane], (int)lane, "atomic at 0x%llx",
			  (unsigned long long)a->va[lane]);
		w->m->fault->flags = a->flags;
		return false;
	}
	data[0] = (uint32_t)old;
	data[1] = (uint32_t)(old >> 32);
	return true;
}

static void gather(struct wave *w, const struct opd *o, struct access *a, unsigned int shift)
{
	for (unsigned int k = 0; k < o->size && k < 4; k++)
		for (unsigned int i = 0; i < w->size; i++)
			a->words[i * 4 + k] = w->v[o->code + k][i] >> shift;
}

static uint32_t loaded(const struct uop *u, uint32_t x)
{
	uint32_t bytes = u->sem->bytes;

	if (bytes == 1)
		return u->sem->extra & X_SIGN ? (uint32_t)(int8_t)x : (uint8_t)x;
	if (bytes == 2)
		return u->sem->extra & X_SIGN ? (uint32_t)(int16_t)x : (uint16_t)x;
	return x;
}

static void scatter(struct wave *w, const struct uop *u, const struct access *a, uint64_t exec)
{
	uint32_t part = isa_memory_part(u);
	unsigned int shift = part == 0xffff0000 ? 16 : 0;

	for (unsigned int k = 0; k < u->dst.size; k++) {
		uint32_t *to = w->v[u->dst.code + k];

		for (unsigned int i = 0; i < w->size; i++)
			if (exec >> i & 1)
				to[i] = (to[i] & ~part) | ((loaded(u, a->words[i * 4 + k]) << shift) & part);
	}
}

static void issue(struct wave *w, const struct uop *u)
{
	bool flat = u->enc == FLAT || u->enc == FLAT_RTN, load = u->dst.kind == OPD_VGPR;
	enum counter counter = u->gfx == SIM_GFX1030 && !load ? CNT_VS : CNT_VM;
	uint32_t count = load ? u->dst.size : 0;

	isa_issue(w, counter, flat ? BY_FLAT : BY_VMEM, true, u->dst.code, count);
	if (flat)
		isa_issue(w, CNT_LGKM, BY_FLAT, true, u->dst.code, count);
}

static void access_memory(struct wave *w, const struct uop *u)
{
	bool store = u->sem->flags & F_STORE, atomic = u->sem->kind;
	uint64_t exec = isa_exec(w), lanes;
	struct access a;

	memset(a.lanes, 0, sizeof(a.lanes));
	a.split = false;
	a.row = 0;
	a.flags = cache_bits(u) | (store ? SIM_WRITE : SIM_READ) | (atomic ? SIM_READ : 0);
	if (!(u->enc == MUBUF ? buffer_addresses(w, u, &a) : flat_addresses(w, u, &a)))
		return;
	if (store)
		gather(w, &u->src[1], &a, u->sem->extra & X_D16_HI ? 16 : 0);
	if (atomic) {
		lanes = exec;
		for (unsigned int i = 0; i < w->size; i++) {
			if (!(lanes >> i & 1))
				continue;
			if (a.lanes[PRIVATE] >> i & 1) {
				isa_fault(w, SIM_FAULT_MEMORY, a.va[i], (int)i, "atomic on scratch");
				return;
			}
			if (!atomic_lane(w, u, &a, i, u->sem->bytes))
				return;
		}
	} else if (!move_all(w, u, &a, store)) {
		return;
	}
	if (store)
		w->m->counts.bytes_stored += (uint64_t)__builtin_popcountll(exec) * u->sem->bytes;
	else
		w->m->counts.bytes_loaded += (uint64_t)__builtin_popcountll(exec) * u->sem->bytes;
	if (u->dst.kind == OPD_VGPR)
		scatter(w, u, &a, exec);
	issue(w, u);
}

/* Which bits of a register a load writes. */
uint32_t isa_memory_part(const struct uop *u)
{
	if (u->enc < FLAT || u->sem->flags & F_STORE)
		return ~0u;
	return u->sem->extra & X_D16 ? 0xffff : u->sem->extra & X_D16_HI ? 0xffff0000 : ~0u;
}

static bool defined(struct wave *w, const struct opd *o, const char *what, uint32_t bits)
{
	uint64_t exec = isa_exec(w);

	if (o->kind == OPD_SGPR)
		for (unsigned int k = 0; k < o->size; k++)
			if (w->su[o->code + k]) {
				isa_fault(w, SIM_FAULT_REGISTER, 0, -1, "%s: s%u is undefined", what,
					  o->code + k);
				return false;
			}
	for (unsigned int k = 0; o->kind == OPD_VGPR && k < o->size; k++) {
		unsigned int flag = w->vflag[o->code + k];

		for (unsigned int i = 0; i < w->size && flag & (FLAG_UNDEF | FLAG_UNWRITTEN); i++)
			if (exec >> i & 1 && (flag & FLAG_UNWRITTEN || w->vu[o->code + k][i] & bits)) {
				isa_fault(w, SIM_FAULT_REGISTER, 0, (int)i, "%s: v%u is undefined", what,
					  o->code + k);
				return false;
			}
	}
	return true;
}

/* isa_shadow_memory() - addresses and stored data have to be defined; registers may be spilled as they are. */
bool isa_shadow_memory(struct wave *w, const struct uop *u)
{
	uint32_t bits = u->sem->bytes == 1 ? 0xff : u->sem->bytes == 2 ? 0xffff : ~0u;
	bool spill;

	if (!defined(w, &u->src[0], "address", ~0u) || !defined(w, &u->src[3], "address", ~0u) ||
	    !defined(w, &u->src[4], "address", ~0u))
		return false;
	spill = u->enc == SCRATCH || (u->enc == MUBUF && w->s[u->src[3].code + 3] >> 23 & 1);
	if (u->enc >= FLAT && u->sem->extra & X_D16_HI)
		bits <<= 16;
	return spill || (defined(w, &u->src[1], "data", bits) && defined(w, &u->src[2], "data", bits));
}

static void cache(struct wave *w, const struct uop *u)
{
	const struct sim_memory *m = &w->m->memory;

	if (m->cache)
		m->cache(m->opaque, w->group->cu, u->sem->kind);
	if (u->gfx != SIM_GFX1030)
		isa_issue(w, CNT_VM, BY_VMEM, true, 0, 0);
}

#define MEMORY_ROW(name, flags, kind, bytes, extra)                                    \
	{ name,	    access_memory, NULL,  NULL, NULL,  T_B32, { T_B32, T_B32, T_B32 }, \
	  U_MEMORY, C_VMEM,	   flags, kind, bytes, extra }
#define LOAD(name, bytes, extra)  MEMORY_ROW("load_" name, 0, 0, bytes, extra)
#define STORE(name, bytes, extra) MEMORY_ROW("store_" name, F_STORE, 0, bytes, extra)
#define ATOMIC(name, op)                                   \
	MEMORY_ROW("atomic_" name, F_STORE, op + 1, 4, 0), \
		MEMORY_ROW("atomic_" name "_x2", F_STORE, op + 1, 8, 0)
#define CACHE(name, what) { name, cache, NULL, NULL, NULL, 0, { 0 }, U_NONE, C_OTHER, 0, what, 0, 0 }

const struct sem isa_sem_vector_memory[] = {
	LOAD("ubyte", 1, 0),
	LOAD("sbyte", 1, X_SIGN),
	LOAD("ushort", 2, 0),
	LOAD("sshort", 2, X_SIGN),
	LOAD("dword", 4, 0),
	LOAD("dwordx2", 8, 0),
	LOAD("dwordx3", 12, 0),
	LOAD("dwordx4", 16, 0),
	LOAD("ubyte_d16", 1, X_D16),
	LOAD("ubyte_d16_hi", 1, X_D16_HI),
	LOAD("sbyte_d16", 1, X_SIGN | X_D16),
	LOAD("sbyte_d16_hi", 1, X_SIGN | X_D16_HI),
	LOAD("short_d16", 2, X_D16),
	LOAD("short_d16_hi", 2, X_D16_HI),
	STORE("byte", 1, 0),
	STORE("byte_d16_hi", 1, X_D16_HI),
	STORE("short", 2, 0),
	STORE("short_d16_hi", 2, X_D16_HI),
	STORE("dword", 4, 0),
	STORE("dwordx2", 8, 0),
	STORE("dwordx3", 12, 0),
	STORE("dwordx4", 16, 0),
	ATOMIC("swap", SIM_ATOMIC_SWAP),
	ATOMIC("cmpswap", SIM_ATOMIC_CMPSWAP),
	ATOMIC("add", SIM_ATOMIC_ADD),
	ATOMIC("sub", SIM_ATOMIC_SUB),
	ATOMIC("smin", SIM_ATOMIC_SMIN),
	ATOMIC("umin", SIM_ATOMIC_UMIN),
	ATOMIC("smax", SIM_ATOMIC_SMAX),
	ATOMIC("umax", SIM_ATOMIC_UMAX),
	ATOMIC("and", SIM_ATOMIC_AND),
	ATOMIC("or", SIM_ATOMIC_OR),
	ATOMIC("xor", SIM_ATOMIC_XOR),
	ATOMIC("inc", SIM_ATOMIC_INC),
	ATOMIC("dec", SIM_ATOMIC_DEC),
	MEMORY_ROW("atomic_add_f32", F_STORE, SIM_ATOMIC_ADD_F32 + 1, 4, 0),
	MEMORY_ROW("atomic_add_f64", F_STORE, SIM_ATOMIC_ADD_F64 + 1, 8, 0),
	CACHE("buffer_wbinvl1", SIM_CACHE_VECTOR_INV),
	CACHE("buffer_wbinvl1_vol", SIM_CACHE_VECTOR_INV),
	CACHE("buffer_invl2", SIM_CACHE_L2_INV),
	CACHE("buffer_wbl2", SIM_CACHE_L2_WB),
	CACHE("buffer_gl0_inv", SIM_CACHE_VECTOR_INV),
	CACHE("buffer_gl1_inv", SIM_CACHE_GL1_INV),
};
SEM_END(vector_memory);
