/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * internal.h - what the files of the instruction side share.
 *
 * Bytes become a struct uop once per code address (decode.c, by the rows of opcodes.inc), bound to what it does
 * (struct sem, by mnemonic). Executing is one indirect call per instruction; vector instructions work on arrays
 * of 64 lanes and merge by the exec mask afterwards.
 *
 * Every register has flags. Only where one of an instruction's registers has a flag set, is anything spent on
 * what may be wrong with it: a result that has not arrived (hazard.c) or undefined bits (shadow.c, exact to the
 * bit). What no flag guards is checked when the instruction is decoded.
 */
#ifndef AMDGPU_SIM_INTERNAL_H
#define AMDGPU_SIM_INTERNAL_H

#include "isa.h"

#define LANES 64

enum { CPU_GFX900 = 1, CPU_GFX906 = 2, CPU_GFX908 = 4, CPU_GFX90A = 8, CPU_GFX1030 = 16 };
enum { CPU_GFX9 = 15, CPU_GFX10 = 16 };

enum enc {
	SOP1,
	SOP2,
	SOPK,
	SOPC,
	SOPP,
	VOP1,
	VOP2,
	VOPC,
	VOP3,
	VOP3P,
	VOP1_SDWA,
	VOP2_SDWA,
	VOPC_SDWA,
	VOP1_DPP,
	VOP2_DPP,
	SMEM,
	DS,
	FLAT,
	FLAT_RTN,
	SCRATCH,
	GLOBAL,
	GLOBAL_RTN,
	MUBUF,
	ENCODINGS
};

/*
 * One instruction of opcodes.inc. @shape: its operands in the order they are written, each a letter and the
 * number of dwords (m: a lane mask, one or two dwords by the wave's size; a behind it: an accumulation register):
 *   d vdst or sdst      q an SGPR in the field of vdst    p sdst of VOP3B     a b c sources 0 to 2
 *   L the literal       vcc, spelt out                    A address or vaddr  e f data 0 and 1
 *   S sbase             R resource                        O soffset
 *   i the immediate of SOPP
 * @mods: the modifiers that it takes: n0-n2 negate, a0-a2 absolute, x0 x1 sign extension, s0-s2 sd op_sel,
 * clamp, omod.
 */
struct row {
	uint8_t cpus, enc;
	uint16_t op;
	const char *name, *shape, *mods;
};

extern const struct row isa_rows[];
extern const size_t isa_row_count;

/* What a source's or a destination's bits are. */
enum type { T_NONE, T_B32, T_B64, T_F32, T_F64, T_F16, T_B16, T_I16, T_MASK };

/* How undefined bits of the sources get into the result (shadow.c). */
enum undef {
	U_ALL, /* any makes the whole result undefined */
	U_STRICT, /* none may be: the instruction decides something by them */
	U_MOVE,
	U_AND,
	U_OR,
	U_XOR, /* bit by bit */
	U_ADD, /* from the lowest one upwards */
	U_SHIFT, /* run the shadows through the instruction; what is shifted by must be defined */
	U_RUN, /* run the shadows of all sources through the instruction */
	U_SELECT, /* v_cndmask */
	U_PACKED, /* halves apart */
	U_MEMORY,
	U_LANE, /* moves between lanes and scalars */
	U_SAVEEXEC, /* only bits that reach the exec mask */
	U_NONE, /* reads nothing that could be */
};

enum class { C_OTHER, C_VALU, C_SALU, C_VMEM, C_FLAT, C_SMEM, C_LDS, C_SCRATCH, C_BRANCH, C_MESSAGE };

struct wave;
struct uop;

union val {
	uint32_t w[LANES];
	int32_t i[LANES];
	float f[LANES];
	uint64_t q[LANES];
	int64_t l[LANES];
	double d[LANES];
};

/* Computes @d from @s for @n lanes (all of them where that is cheap; else those in @exec). */
typedef void lanes_fn(struct wave *w, const struct uop *u, union val *d, const union val *const s[3],
		      uint32_t n, uint64_t exec);
/* Lanes of a comparison. */
typedef uint64_t compare_fn(struct wave *w, const union val *const s[3], uint32_t n);
/* @scc: in and out. */
typedef uint64_t scalar_fn(struct wave *w, uint64_t a, uint64_t b, uint32_t *scc);

struct sem {
	const char *name;
	void (*run)(struct wave *w, const struct uop *u);
	lanes_fn *lanes;
	compare_fn *compare;
	scalar_fn *scalar;
	uint8_t d, s[3]; /* enum type */
	uint8_t undef, class;
	uint16_t flags;
	uint8_t kind, bytes, extra; /* memory instructions */
};

enum {
	F_ACC = 1, /* the destination is source 2 as well */
	F_SCC_IN = 2,
	F_SCC_OUT = 4,
	F_KEEP_HIGH = 8, /* 16 bit: the other half stays on gfx9 too */
	F_EXEC = 16, /* v_cmpx; s_*_saveexec: writes exec */
	F_NO_DENORM = 32, /* takes and gives denormals whatever the mode says */
	F_BRANCH = 64,
	F_VCC = 128, /* reads vcc though it is not written out */
	F_TRANS = 256,
	F_STORE = 512,
	F_D_ANYWAY = 1024, /* writes all lanes of the destination, exec or not */
	F_FLUSH = 2048, /* flushes denormals whatever the mode says */
	F_RELATIVE = 4096,
	F_SWAP = 8192, /* both operands are written */
};

enum opd_kind { OPD_NONE, OPD_VGPR, OPD_SGPR, OPD_CONST, OPD_SPECIAL, OPD_NULL };

struct opd {
	uint8_t kind, size; /* dwords */
	uint16_t code; /* of the field; register number where it is a register */
	uint8_t mask, literal, acc;
	uint64_t value; /* OPD_CONST, as the operand's type wants it */
};

struct span {
	uint16_t first;
	uint8_t count, pad;
};

#define USED 14

struct uop {
	void (*run)(struct wave *w, const struct uop *u);
	const struct sem *sem;
	const struct row *row;
	uint64_t pc;
	struct uop *next, *target;
	uint32_t word[3];
	uint8_t size, enc, gfx, wave;
	struct opd dst, sdst, src[6];
	uint8_t sources;
	uint8_t neg, abs, sext, omod, clamp, op_sel,
		op_sel_hi; /* bit per source; op_sel bit 3: destination */
	uint8_t sdwa, sel[3], unused; /* sel: destination, source 0, 1 */
	uint8_t dpp, row_mask, bank_mask, bound_ctrl, fi;
	uint16_t dpp_ctrl;
	uint32_t dpp8;
	int32_t offset;
	uint8_t glc, slc, dlc, lds, offen, idxen, tfe, seg, gds;
	uint16_t imm;
	/* what it touches, for flags and hazards */
	struct span vread[5], vwrite[2], sread[6], swrite[3];
	uint8_t vreads, vwrites, sreads, swrites;
	uint16_t vtop, stop; /* registers that it needs the wave to have */
	/* all of those once more, as places in struct wave.flag; regs > USED: there are more than have room here */
	uint16_t reg[USED];
	uint8_t regs;
	uint8_t counter; /* in struct sim_counts, as a place in an array of uint64_t */
};

enum {
	FLAG_PENDING = 1,
	FLAG_UNDEF = 2,
	FLAG_UNWRITTEN = 4 /* all of it undefined, the shadow not made yet */
};

enum counter { CNT_VM, CNT_LGKM, CNT_VS, COUNTERS };
enum source { BY_VMEM, BY_SMEM, BY_LDS, BY_FLAT, BY_MESSAGE };

struct outstanding {
	uint8_t by, vgpr, count;
	uint16_t first;
};

struct queue {
	uint32_t head, tail;
	struct outstanding of[64];
};

#define VGPRS 512

struct group;

struct wave {
	struct sim_machine *m;
	const struct sim_dispatch *dispatch;
	struct group *group;
	const struct uop *at;
	struct uop *last; /* that was executed, or NULL */
	uint64_t pc;
	uint32_t size, number;
	uint32_t s[128], su[128];
	uint32_t scc, scc_undef;
	uint32_t mode;
	uint32_t vgprs, sgprs, agprs;
	uint32_t slot;
	bool ended, at_barrier, gpr_idx;
	union {
		uint8_t flag[128 + VGPRS];
		struct {
			uint8_t sflag[128], vflag[VGPRS];
		};
	};
	uint8_t spend[128], vpend[VGPRS];
	struct queue queue[COUNTERS];
	/* hazards: instructions and wait states so far, and when each last happened */
	uint64_t states, sgpr_by_valu[128], exec_by_valu, vgpr_by_valu[2], setreg_at, m0_by_salu, setreg_what;
	uint16_t vgpr_written[2];
	uint64_t store_at;
	struct span store_data;
	uint32_t flat[2]; /* FLAT_SCR of gfx10 */
	uint32_t (*v)[LANES], (*vu)[LANES];
	union val shadow_result;
	uint64_t shadow_scalar, shadow_exec;
	unsigned int shadow_lane;
	bool shadow_any, shadow_scc;
};

struct group {
	uint32_t id[3], waves, ended, waiting;
	unsigned int cu;
	uint8_t *lds, *lds_shadow;
	uint32_t lds_size;
	struct wave *wave;
};

/* machine.c */
struct sim_machine {
	struct sim_memory memory;
	struct sim_options options;
	uint8_t cpu, gfx, wave;
	struct uop **table; /* by pc */
	size_t table_size, table_used;
	struct sim_fault *fault;
	bool faulted;
	struct sim_counts counts;
	uint64_t instructions, random;
	struct uop *chunk;
	size_t chunk_used;
	void **chunks;
	size_t chunk_count;
};

void isa_fault(struct wave *w, enum sim_fault_kind kind, uint64_t va, int lane, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* decode.c; return: bytes, or 0 and why not. */
uint32_t isa_decode(enum sim_gfx gfx, uint32_t wave, const uint32_t *words, size_t count, struct uop *u,
		    const char **why);
const struct sem *isa_sem(const struct row *row);
uint8_t isa_cpu(enum sim_gfx gfx);
/* bind.c: the spans and constants; return: NULL or what is wrong with it. */
const char *isa_bind(struct uop *u);
void isa_spans(struct uop *u);
const char *isa_memory_operands(struct uop *u);

/* print.c */
void isa_print(const struct uop *u, char *text, size_t room);

/* hazard.c, shadow.c */
bool isa_pending_check(struct wave *w, const struct uop *u);
void isa_jump(struct wave *w, uint64_t pc);
uint64_t isa_clock(const struct sim_machine *m);
bool isa_hazard_check(struct wave *w, const struct uop *u);
void isa_hazard_note(struct wave *w, const struct uop *u);
void isa_issue(struct wave *w, enum counter counter, enum source by, bool vgpr, uint32_t first,
	       uint32_t count);
void isa_wait(struct wave *w, enum counter counter, uint32_t left);
bool isa_shadow_before(struct wave *w, const struct uop *u);
bool isa_shadow_memory(struct wave *w, const struct uop *u); /* memory.c */
uint32_t isa_memory_part(const struct uop *u);
void isa_shadow_set(struct wave *w, unsigned int reg, uint64_t lanes, const uint32_t *bits, uint32_t part);
void isa_shadow_set_scalar(struct wave *w, const struct opd *o, uint64_t bits);
void isa_shadow_after(struct wave *w, const struct uop *u);

/* operand.c */
uint64_t isa_scalar(struct wave *w, const struct opd *o);
void isa_set_scalar(struct wave *w, const struct opd *o, uint64_t value);
uint64_t isa_mask(struct wave *w, const struct opd *o);
const union val *isa_source(struct wave *w, const struct uop *u, int i, union val *room);
void isa_write(struct wave *w, const struct uop *u, uint64_t lanes, const union val *r);
uint32_t isa_part(const struct uop *u, unsigned int *shift);
uint64_t isa_constant(const struct uop *u, const struct opd *o, unsigned int type);
uint64_t isa_dpp_lanes(struct wave *w, const struct uop *u);

static inline uint64_t isa_exec(const struct wave *w)
{
	return w->size == 64 ? w->s[126] | (uint64_t)w->s[127] << 32 : w->s[126];
}

static inline uint64_t isa_all(const struct wave *w)
{
	return w->size == 64 ? ~0ull : 0xffffffffull;
}

/* The tables of what instructions do, one per file, and their length. */
#define SEM_TABLES(X) \
	X(scalar)     \
	X(control)    \
	X(smem)       \
	X(integer) X(wide) X(convert) X(real) X(half) X(packed) X(compare) X(cross) X(lds) X(vector_memory)
#define SEM_DECLARE(name)                         \
	extern const struct sem isa_sem_##name[]; \
	extern const size_t isa_sem_##name##_count;
SEM_TABLES(SEM_DECLARE)
#define SEM_END(name) const size_t isa_sem_##name##_count = sizeof(isa_sem_##name) / sizeof(isa_sem_##name[0])

/* Runners that tables name. */
void isa_run_valu(struct wave *w, const struct uop *u);
void isa_run_carry(struct wave *w, const struct uop *u);
void isa_run_compare(struct wave *w, const struct uop *u);
void isa_run_salu(struct wave *w, const struct uop *u);

enum {
	MODE_ROUND32 = 3,
	MODE_ROUND64 = 12,
	MODE_DENORM32 = 48,
	MODE_DENORM64 = 192,
	MODE_DX10_CLAMP = 256,
	MODE_IEEE = 512
};

#endif
