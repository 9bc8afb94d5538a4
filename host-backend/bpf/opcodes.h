/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opcodes.h - which instructions exist: a table with one row per opcode (opcodes.c).
 *
 * The row says which fields of struct bpf_insn carry meaning; every other field must be zero. What an
 * instruction does is decided by its bits (BPF_CLASS, BPF_OP, ...), which the validator and the
 * translator take apart the same way.
 */
#ifndef GPGPU_BPF_OPCODES_H
#define GPGPU_BPF_OPCODES_H

#include <stddef.h>
#include <stdint.h>
#include <linux/bpf.h>

/* RFC 9669 names that older kernel headers lack. */
#ifndef BPF_MEMSX
#define BPF_MEMSX 0x80
#endif
#define GP_BPF_JCOND (BPF_JMP | 0xe0) /* may_goto */
#define GP_BPF_CALLX (BPF_JMP | BPF_CALL | BPF_X)

/* Values of src_reg in ld_imm64 and in calls. */
enum {
	GP_LD_CONST = 0,
	GP_LD_MAP = 1,
	GP_LD_MAP_VALUE = 2,
	GP_LD_FUNC = 4, /* address of a function of the program, imm as in a local call */
	GP_LD_LOCAL = 15, /* VIRTIO_GPGPU_LD_LOCAL */
	GP_CALL_HELPER = 0,
	GP_CALL_LOCAL = 1,
	GP_CALL_KFUNC = 2,
};

enum gp_opcode_flags {
	GP_OP_READ_DST = 1 << 0,
	GP_OP_WRITE_DST = 1 << 1,
	GP_OP_READ_SRC = 1 << 2,
	GP_OP_IMM = 1 << 3, /* imm is free */
	GP_OP_OFF = 1 << 4, /* off is free: a displacement or a jump */
	/* fields with a few legal values */
	GP_OP_SIGNED = 1 << 5, /* div, mod: off 0 or 1 (signed) */
	GP_OP_MOVSX = 1 << 6, /* mov reg: off 0, 8, 16 or (64-bit) 32 */
	GP_OP_END = 1 << 7, /* imm 16, 32 or 64 */
	GP_OP_ATOMIC = 1 << 8, /* imm names the operation */
	GP_OP_CALL = 1 << 9, /* src_reg: GP_CALL_* */
	GP_OP_LDIMM64 = 1 << 10, /* two slots; src_reg: GP_LD_* */
};

struct gp_opcode {
	const char *name; /* NULL: no such instruction, or one that is not supported */
	uint16_t flags;
};

extern const struct gp_opcode gp_opcodes[256];

/* gp_opcode_unsupported() - the name of an instruction that exists but is not supported here, or NULL. */
const char *gp_opcode_unsupported(uint8_t code);

/* Bytes that a load, store or atomic moves. */
static inline uint32_t gp_insn_size(const struct bpf_insn *insn)
{
	switch (BPF_SIZE(insn->code)) {
	case BPF_B:
		return 1;
	case BPF_H:
		return 2;
	case BPF_W:
		return 4;
	default:
		return 8;
	}
}

static inline int gp_insn_is_ld_imm64(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}

static inline int gp_insn_is_local_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == GP_CALL_LOCAL;
}

/* The address of a function, which helpers call back. */
static inline int gp_insn_is_func_address(const struct bpf_insn *insn)
{
	return gp_insn_is_ld_imm64(insn) && insn->src_reg == GP_LD_FUNC;
}

static inline int gp_insn_is_exit(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_EXIT);
}

/* An unconditional jump; gotol has its distance in imm. */
static inline int gp_insn_is_ja(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_JA) || insn->code == (BPF_JMP32 | BPF_JA);
}

static inline int gp_insn_is_cond_jump(const struct bpf_insn *insn)
{
	int class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	return (class == BPF_JMP || class == BPF_JMP32) && op != BPF_JA && op != BPF_CALL && op != BPF_EXIT;
}

static inline int64_t gp_insn_jump_distance(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP32 | BPF_JA) ? insn->imm : insn->off;
}

/*
 * gp_insn_print() - disassemble one instruction in the kernel verifier's manner.
 * @insn: the instruction; an ld_imm64 must be followed by its second slot.
 *
 * Return: @buf.
 */
char *gp_insn_print(char *buf, size_t size, const struct bpf_insn *insn);

#endif
