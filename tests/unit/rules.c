/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rules.c - for each rule of docs/validator.md, programs that break it and the nearest ones that do not.
 *
 * test_rules.c refuses the former by reason, instruction and words of the message, and runs the latter.
 */
#include <stdlib.h>
#define ASM_TABLE
#include "asm.h"
#include "bpf/opcodes.h"
#include "gpgpu_bpf.h"
#include "rules.h"

#define COUNT(...)   (sizeof((const struct bpf_insn[]){ __VA_ARGS__ }) / sizeof(struct bpf_insn))
#define PROGRAM(...) { (const struct bpf_insn[]){ __VA_ARGS__ }, COUNT(__VA_ARGS__) }

#define LDLOCAL(dst, offset, size) \
	INSN(BPF_LD | BPF_IMM | BPF_DW, dst, VIRTIO_GPGPU_LD_LOCAL, 0, offset), INSN(0, 0, 0, 0, size)

/* clang-format off */
const struct rule rules[] = {
#define XDP(id, name, reason, at, words, bad, good) \
	{ id, name, VIRTIO_GPGPU_PROG_XDP, VIRTIO_GPGPU_R_##reason, at, words, PROGRAM bad, PROGRAM good }
#define GRID(id, name, reason, at, words, bad, good) \
	{ id, name, VIRTIO_GPGPU_PROG_GPGPU, VIRTIO_GPGPU_R_##reason, at, words, PROGRAM bad, PROGRAM good }

	/* form */
	XDP("opcode", "opcode that is none", OPCODE, 0, "no such instruction", (INSN(0xff, 0, 0, 0, 0), EXIT), (MOV64K(R0, 0), EXIT)),
	XDP("may-goto", "may_goto", OPCODE, 1, "may_goto|burns fuel", (MOV64K(R0, 0), INSN(GP_BPF_JCOND, 0, 0, 0, 0), EXIT),
	    (MOV64K(R0, 0), JA(0), EXIT)),
	XDP("call-register", "indirect call", OPCODE, 1, "through a register", (MOV64K(R0, 0), INSN(GP_BPF_CALLX, 0, 0, 0, 0), EXIT),
	    (CALL_LOCAL(1), EXIT, MOV64K(R0, 0), EXIT)),
	XDP("atomic-operation", "atomic nand", OPCODE, 2, "no atomic operation 0x70|xchg", (MOV64K(R0, 0), ST(DW, R10, -8, 0), ATOMIC(DW, 0x70, R10, -8, R0), EXIT),
	    (MOV64K(R0, 0), ST(DW, R10, -8, 0), ATOMIC(DW, BPF_XOR, R10, -8, R0), EXIT)),
	XDP("ld64-kind", "ld_imm64 of a BTF id", OPCODE, 0, "BTF id of a kernel variable", (INSN(BPF_LD | BPF_IMM | BPF_DW, R0, 3, 0, 1), INSN(0, 0, 0, 0, 0), EXIT),
	    (LD64(R0, 1), EXIT)),
	XDP("register-number", "register 11", REGISTER, 0, "no r11|r0 to r10", (MOV64X(R0, 11), EXIT), (MOV64X(R0, R10), MOV64K(R0, 0), EXIT)),
	XDP("r10-read-only", "r10 written", REGISTER, 0, "r10|read only", (MOV64K(R10, 0), EXIT), (MOV64K(R9, 0), MOV64K(R0, 0), EXIT)),
	XDP("r10-read-only", "r10 fetched into", REGISTER, 1, "r10|read only", (ST(DW, R10, -8, 0), ATOMIC(DW, BPF_XCHG, R10, -8, R10), EXIT),
	    (ST(DW, R10, -8, 0), MOV64X(R0, R10), ATOMIC(DW, BPF_XCHG, R10, -8, R0), MOV64K(R0, 0), EXIT)),
	XDP("unused-fields", "source register of a move of a constant", INSN_FIELD, 0, "does not use",
	    (INSN(BPF_ALU64 | BPF_MOV | BPF_K, R0, R1, 0, 0), EXIT), (MOV64K(R0, 0), EXIT)),
	XDP("unused-fields", "offset of an addition", INSN_FIELD, 1, "does not use", (MOV64K(R0, 0), INSN(BPF_ALU64 | BPF_ADD | BPF_K, R0, 0, 1, 1), EXIT),
	    (MOV64K(R0, 0), ALU64K(BPF_ADD, R0, 1), EXIT)),
	XDP("signed-division", "division of a third kind", INSN_FIELD, 1, "off is 2|signed",
	    (MOV64K(R0, 0), INSN(BPF_ALU64 | BPF_DIV | BPF_K, R0, 0, 2, 1), EXIT),
	    (MOV64K(R0, 0), INSN(BPF_ALU64 | BPF_DIV | BPF_K, R0, 0, 1, 1), EXIT)),
	XDP("swap-width", "swap of 8 bits", INSN_FIELD, 1, "imm is 8|16, 32 or 64", (MOV64K(R0, 0), BSWAP(8, R0), EXIT), (MOV64K(R0, 0), BSWAP(16, R0), EXIT)),
	XDP("call-kind", "call with a source register", INSN_FIELD, 0, "src_reg of a call is 3", (INSN(BPF_JMP | BPF_CALL, 0, 3, 0, 5), EXIT),
	    (CALL(BPF_FUNC_ktime_get_ns), EXIT)),
	XDP("ld64-two-slots", "ld_imm64 without its second half", FALL_OFF, 1, "two slots", (MOV64K(R0, 0), INSN(BPF_LD | BPF_IMM | BPF_DW, R0, 0, 0, 0)),
	    (MOV64K(R0, 0), LD64(R0, 0), EXIT)),
	/* helpers and maps by number */
	XDP("helper-unknown", "helper not offered", HELPER, 0, "bpf_get_current_task|not offered", (CALL(BPF_FUNC_get_current_task), EXIT), (CALL(BPF_FUNC_ktime_get_ns), EXIT)),
	XDP("helper-kind", "helper of compute kernels", HELPER, 1, "only for compute kernels", (MOV64K(R1, 0), CALL(GPGPU_HELPER_global_id), EXIT),
	    (MOV64K(R1, 0), CALL(BPF_FUNC_get_prandom_u32), EXIT)),
	GRID("helper-kind", "helper of XDP programs", HELPER, 2, "only for XDP programs", (MOV64K(R1, 0), MOV64K(R2, 0), CALL(BPF_FUNC_redirect), EXIT),
	     (MOV64K(R1, 0), CALL(GPGPU_HELPER_global_id), EXIT)),
	XDP("kernel-functions", "kernel function", HELPER, 0, "kfuncs|BTF id 5|bpf_loop", (INSN(BPF_JMP | BPF_CALL, 0, GP_CALL_KFUNC, 0, 5), EXIT),
	    (CALL(BPF_FUNC_ktime_get_ns), EXIT)),
	XDP("map-number", "map that is none", MAP_REF, 0, "no map|the program has", (LDMAP(R1, NUM_MAPS), MOV64K(R0, 0), EXIT),
	    (LDMAP(R1, NUM_MAPS - 1), MOV64K(R0, 0), EXIT)),
	XDP("value-address", "value of a hash", MAP_REF, 0, "not an array", (LDVALUE(R1, MAP_HASH, 0), MOV64K(R0, 0), EXIT),
	    (LDVALUE(R1, MAP_ARRAY, 0), MOV64K(R0, 0), EXIT)),
	XDP("value-offset", "offset behind a value", MAP_REF, 0, "offset 16|16 bytes", (LDVALUE(R1, MAP_ARRAY, 16), MOV64K(R0, 0), EXIT),
	    (LDVALUE(R1, MAP_ARRAY, 15), MOV64K(R0, 0), EXIT)),
	XDP("map-read-only", "update of read-only data", MAP_REF, 7, "map 2|read only",
	    (ST(DW, R10, -8, 0), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -8), MOV64X(R3, R2), MOV64K(R4, 0),
	     LDMAP(R1, MAP_RODATA), CALL(BPF_FUNC_map_update_elem), EXIT),
	    (ST(DW, R10, -8, 0), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -8), MOV64X(R3, R2), MOV64K(R4, 0),
	     LDMAP(R1, MAP_HASH), CALL(BPF_FUNC_map_update_elem), EXIT)),
	/* control flow */
	XDP("jump-in-function", "jump past the end", JUMP, 1, "jumps to instruction 3|0 to 2", (MOV64K(R0, 0), JA(1), EXIT), (MOV64K(R0, 0), JA(0), EXIT)),
	XDP("jump-to-instruction", "jump into an ld_imm64", JUMP, 1, "second half", (MOV64K(R0, 0), JK(BPF_JEQ, R0, 0, 1), LD64(R0, 1), EXIT),
	    (MOV64K(R0, 0), JK(BPF_JEQ, R0, 0, 2), LD64(R0, 1), EXIT)),
	XDP("jump-in-function", "jump into another function", JUMP, 1, "outside of its function", (CALL_LOCAL(2), JA(1), EXIT, MOV64K(R0, 0), EXIT),
	    (CALL_LOCAL(2), JA(0), EXIT, MOV64K(R0, 0), EXIT)),
	XDP("function-end", "function without an end", FALL_OFF, 1, "runs off the end|exit", (CALL_LOCAL(1), MOV64K(R0, 0), MOV64K(R0, 0), EXIT),
	    (CALL_LOCAL(1), EXIT, MOV64K(R0, 0), EXIT)),
	XDP("no-recursion", "recursion", CALL_DEPTH, 2, "recursion|instruction 2", (CALL_LOCAL(1), EXIT, CALL_LOCAL(-1), EXIT),
	    (CALL_LOCAL(1), EXIT, MOV64K(R0, 0), EXIT)),
	XDP("reachable", "instructions that nothing reaches", UNREACHABLE, 2, "no path leads here", (MOV64K(R0, 0), EXIT, MOV64K(R0, 1), EXIT),
	    (MOV64K(R0, 0), JK(BPF_JEQ, R0, 0, 1), EXIT, MOV64K(R0, 1), EXIT)),
	XDP("reachable", "function that nothing calls", UNREACHABLE, 2, "remove it", (MOV64K(R0, 0), EXIT, CALL_LOCAL(1), EXIT, MOV64K(R0, 0), EXIT),
	    (CALL_LOCAL(1), EXIT, CALL_LOCAL(1), EXIT, MOV64K(R0, 0), EXIT)),
	/* A loop of two blocks that is entered at either. */
	XDP("one-loop-entry", "loop with two entries", IRREDUCIBLE, 5, "instruction 3|one entry",
	    (CALL(BPF_FUNC_get_prandom_u32), JK(BPF_JEQ, R0, 0, 1), JK(BPF_JEQ, R0, 1, 1), ALU64K(BPF_ADD, R0, 1),
	     ALU64K(BPF_ADD, R0, 2), JK(BPF_JLT, R0, 9, -3), EXIT),
	    (CALL(BPF_FUNC_get_prandom_u32), JK(BPF_JEQ, R0, 0, 1), JK(BPF_JEQ, R0, 1, 0), ALU64K(BPF_ADD, R0, 1),
	     ALU64K(BPF_ADD, R0, 2), JK(BPF_JLT, R0, 9, -3), EXIT)),
	/* registers */
	XDP("initialised", "register never written", UNINITIALISED, 0, "r2 is uninitialised", (MOV64X(R0, R2), EXIT), (MOV64X(R2, R1), MOV64K(R0, 0), EXIT)),
	XDP("initialised", "register written on one path", UNINITIALISED, 3, "r3 is uninitialised|every path",
	    (MOV64K(R0, 0), JK(BPF_JEQ, R0, 0, 1), MOV64K(R3, 1), MOV64X(R0, R3), EXIT),
	    (MOV64K(R0, 0), MOV64K(R3, 0), JK(BPF_JEQ, R0, 0, 1), MOV64K(R3, 1), MOV64X(R0, R3), EXIT)),
	XDP("initialised", "argument read after a call", UNINITIALISED, 2, "r1 is uninitialised|calls leave", (MOV64K(R1, 0), CALL(BPF_FUNC_ktime_get_ns), MOV64X(R0, R1), EXIT),
	    (MOV64K(R6, 0), CALL(BPF_FUNC_ktime_get_ns), MOV64X(R0, R6), EXIT)),
	XDP("initialised", "exit without a result", UNINITIALISED, 0, "r0 is uninitialised", (EXIT), (MOV64K(R0, 0), EXIT)),
	XDP("initialised", "result of a function that has none", UNINITIALISED, 1, "r0 is uninitialised", (CALL_LOCAL(1), EXIT, MOV64K(R1, 0), EXIT),
	    (CALL_LOCAL(2), MOV64K(R0, 0), EXIT, MOV64K(R1, 0), EXIT)),
	XDP("initialised", "callee reads its caller's r6", UNINITIALISED, 4, "r6 is uninitialised",
	    (MOV64K(R6, 1), CALL_LOCAL(2), MOV64K(R0, 0), EXIT, MOV64X(R0, R6), EXIT),
	    (MOV64K(R1, 1), CALL_LOCAL(2), MOV64K(R0, 0), EXIT, MOV64X(R0, R1), EXIT)),
	/* context */
	XDP("context-field", "field behind xdp_md", CTX_ACCESS, 0, "struct xdp_md|4 bytes at 24|0, 4, .. 20", (LDX(W, R0, R1, 24), EXIT), (LDX(W, R0, R1, 16), EXIT)),
	XDP("context-field", "eight bytes of xdp_md", CTX_ACCESS, 0, "8 bytes at 0", (LDX(DW, R0, R1, 0), MOV64K(R0, 0), EXIT),
	    (LDX(W, R0, R1, 0), MOV64K(R0, 0), EXIT)),
	XDP("context-read-only", "store to the context", CTX_ACCESS, 0, "the context|read only", (ST(W, R1, 0, 0), MOV64K(R0, 0), EXIT),
	    (ST(W, R10, -4, 0), MOV64K(R0, 0), EXIT)),
	GRID("argument-field", "argument that is none", CTX_ACCESS, 0, "3 arguments", (LDX(DW, R0, R1, 24), EXIT), (LDX(DW, R0, R1, 16), EXIT)),
	GRID("argument-field", "half a pointer", CTX_ACCESS, 0, "read as a whole", (LDX(W, R2, R1, 0), MOV64K(R0, 0), EXIT),
	     (LDX(W, R2, R1, 20), MOV64K(R0, 0), EXIT)),
	/* pointers */
	XDP("memory-pointer", "number as a pointer", POINTER, 1, "r2 is a number", (LDX(W, R2, R1, 12), LDX(DW, R0, R2, 0), EXIT),
	    (LDX(W, R2, R1, 0), LDX(DW, R0, R2, 0), EXIT)),
	XDP("memory-pointer", "map as memory", POINTER, 2, "map 0|bpf_map_lookup_elem", (LDMAP(R1, MAP_ARRAY), LDX(DW, R0, R1, 0), EXIT),
	    (LDVALUE(R1, MAP_ARRAY, 0), LDX(DW, R0, R1, 0), EXIT)),
	XDP("pointer-arithmetic", "product of a pointer", POINTER, 1, "a packet pointer|differences", (LDX(W, R2, R1, 0), ALU64K(BPF_MUL, R2, 2), MOV64K(R0, 0), EXIT),
	    (LDX(W, R2, R1, 0), ALU32K(BPF_MUL, R2, 2), MOV64K(R0, 0), EXIT)),
	XDP("pointer-arithmetic", "sum of two pointers", POINTER, 2, "r2 is a packet pointer|subtracted, not added",
	    (LDX(W, R2, R1, 0), LDX(W, R3, R1, 4), ALU64X(BPF_ADD, R3, R2), MOV64K(R0, 0), EXIT),
	    (LDX(W, R2, R1, 0), LDX(W, R3, R1, 4), ALU64X(BPF_SUB, R3, R2), MOV64K(R0, 0), EXIT)),
	XDP("pointer-arithmetic", "number minus a pointer", POINTER, 2, "from a number", (LDX(W, R2, R1, 0), MOV64K(R0, 0), ALU64X(BPF_SUB, R0, R2), EXIT),
	    (LDX(W, R2, R1, 0), MOV64K(R0, 0), ALU64X(BPF_SUB, R2, R0), EXIT)),
	XDP("map-arithmetic", "offset added to a map", POINTER, 2, "map 0|nothing may be added", (LDMAP(R1, MAP_ARRAY), ALU64K(BPF_ADD, R1, 8), MOV64K(R0, 0), EXIT),
	    (LDVALUE(R1, MAP_ARRAY, 0), ALU64K(BPF_ADD, R1, 8), MOV64K(R0, 0), EXIT)),
	XDP("number-returned", "pointer returned", POINTER, 1, "a packet pointer|returns a number", (LDX(W, R0, R1, 0), EXIT), (LDX(W, R0, R1, 0), ALU32K(BPF_ADD, R0, 0), EXIT)),
	XDP("stack-range", "stack below its frame", STACK, 0, "r10-512|r10-520 to r10-512", (ST(DW, R10, -520, 0), MOV64K(R0, 0), EXIT),
	    (ST(DW, R10, -512, 0), MOV64K(R0, 0), EXIT)),
	XDP("stack-range", "stack above its frame", STACK, 0, "r10-7 to r10+1", (ST(DW, R10, -7, 0), MOV64K(R0, 0), EXIT),
	    (ST(DW, R10, -8, 0), MOV64K(R0, 0), EXIT)),
	/* arguments of helpers */
	XDP("helper-memory", "key that is a number", HELPER_ARG, 3, "r2 is the number 0|takes memory", (LDMAP(R1, MAP_ARRAY), MOV64K(R2, 0), CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 0), EXIT),
	    (LDMAP(R1, MAP_ARRAY), LDVALUE(R2, MAP_ARRAY, 0), CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 0), EXIT)),
	XDP("stack-range", "key over the stack's top", STACK, 4, "r10-4 to r10+4",
	    (LDMAP(R1, MAP_HASH), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -4), CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 0), EXIT),
	    (LDMAP(R1, MAP_HASH), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -8), CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 0), EXIT)),
	XDP("helper-map", "map that is a number", HELPER_ARG, 3, "r1 is the number 5|takes a map",
	    (MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -8), MOV64K(R1, 5), CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 0), EXIT),
	    (MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -8), LDMAP(R1, MAP_HASH), CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 0), EXIT)),
	XDP("helper-context", "context that was moved", HELPER_ARG, 2, "the context+4|as the program got it", (ALU64K(BPF_ADD, R1, 4), MOV64K(R2, 0), CALL(BPF_FUNC_xdp_adjust_head), EXIT),
	    (MOV64X(R3, R1), MOV64K(R2, 0), CALL(BPF_FUNC_xdp_adjust_head), EXIT)),
	GRID("helper-place", "atomic sum of floats on the stack", HELPER_ARG, 4, "r1 is r10-8|gp_atomic_fadd32 takes memory that other items reach",
	     (ST(DW, R10, -8, 0), MOV64X(R1, R10), ALU64K(BPF_ADD, R1, -8), MOV64K(R2, 0), CALL(GPGPU_HELPER_atomic_fadd32), EXIT),
	     (LDX(DW, R1, R1, 0), MOV64K(R2, 0), CALL(GPGPU_HELPER_atomic_fadd32), EXIT)),
	GRID("helper-place", "atomic minimum of floats at a number", HELPER_ARG, 2, "r1 is the number 64|gp_atomic_fmin32 takes memory",
	     (MOV64K(R1, 64), MOV64K(R2, 0), CALL(GPGPU_HELPER_atomic_fmin32), EXIT),
	     (LDX(DW, R1, R1, 0), MOV64K(R2, 0), CALL(GPGPU_HELPER_atomic_fmin32), EXIT)),
	GRID("helper-place", "atomic maximum of floats in the context", HELPER_ARG, 1, "r1 is the context|gp_atomic_fmax32 takes memory",
	     (MOV64K(R2, 0), CALL(GPGPU_HELPER_atomic_fmax32), EXIT),
	     (LDX(DW, R1, R1, 0), MOV64K(R2, 0), CALL(GPGPU_HELPER_atomic_fmax32), EXIT)),
	GRID("helper-place", "atomic sum of doubles on a map", HELPER_ARG, 3, "map 0|gp_atomic_fadd64 takes memory",
	     (LDMAP(R1, MAP_ARRAY), MOV64K(R2, 0), CALL(GPGPU_HELPER_atomic_fadd64), EXIT),
	     (LDX(DW, R1, R1, 0), MOV64K(R2, 0), CALL(GPGPU_HELPER_atomic_fadd64), EXIT)),
	GRID("helper-number", "atomic minimum of a pointer", HELPER_ARG, 2, "takes a number",
	     (LDX(DW, R1, R1, 0), MOV64X(R2, R1), CALL(GPGPU_HELPER_atomic_fmin64), EXIT),
	     (LDX(DW, R1, R1, 0), MOV64K(R2, 0), CALL(GPGPU_HELPER_atomic_fmin64), EXIT)),
	GRID("initialised", "atomic maximum of nothing", UNINITIALISED, 1, "r2",
	     (LDX(DW, R1, R1, 0), CALL(GPGPU_HELPER_atomic_fmax64), EXIT),
	     (LDX(DW, R1, R1, 0), MOV64K(R2, 0), CALL(GPGPU_HELPER_atomic_fmax64), EXIT)),
	XDP("helper-size", "size that is a pointer", HELPER_ARG, 4, "r4 is r10+0|a size",
	    (MOV64K(R2, 0), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -8), MOV64X(R4, R10), CALL(BPF_FUNC_xdp_load_bytes), EXIT),
	    (MOV64K(R2, 0), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -8), MOV64K(R4, 8), CALL(BPF_FUNC_xdp_load_bytes), EXIT)),
	XDP("helper-size", "size that is negative", HELPER_ARG, 4, "the number -8|a size",
	    (MOV64K(R2, 0), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -8), MOV64K(R4, -8), CALL(BPF_FUNC_xdp_load_bytes), EXIT),
	    (MOV64K(R2, 0), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -8), MOV64K(R4, 0), CALL(BPF_FUNC_xdp_load_bytes), EXIT)),
	XDP("stack-range", "buffer of a helper over the stack's top", STACK, 4, "r10-8 to r10+1",
	    (MOV64K(R2, 0), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -8), MOV64K(R4, 9), CALL(BPF_FUNC_xdp_load_bytes), EXIT),
	    (MOV64K(R2, 0), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -9), MOV64K(R4, 9), CALL(BPF_FUNC_xdp_load_bytes), EXIT)),
	/* what kernels have beside */
	XDP("classic-loads", "load of the classic packet filter", OPCODE, 1, "classic packet filter|xdp_md.data",
	    (MOV64K(R0, 0), INSN(BPF_LD | BPF_ABS | BPF_W, 0, 0, 0, 0), EXIT), (MOV64K(R0, 0), LDX(W, R2, R1, 0), EXIT)),
	XDP("refused-helpers", "bpf_spin_lock", HELPER, 2, "bpf_spin_lock|use atomics",
	    (LDVALUE(R1, MAP_ARRAY, 0), CALL(BPF_FUNC_spin_lock), MOV64K(R0, 0), EXIT),
	    (LDVALUE(R1, MAP_ARRAY, 0), MOV64K(R0, 1), ATOMIC(DW, BPF_ADD, R1, 0, R0), MOV64K(R0, 0), EXIT)),
	XDP("refused-helpers", "bpf_for_each_map_elem", HELPER, 0, "bpf_for_each_map_elem|keep what is to be walked",
	    (CALL(BPF_FUNC_for_each_map_elem), EXIT), (CALL(BPF_FUNC_ktime_get_ns), EXIT)),
	XDP("refused-helpers", "bpf_timer_init", HELPER, 0, "bpf_timer_init",
	    (CALL(BPF_FUNC_timer_init), EXIT), (CALL(BPF_FUNC_ktime_get_ns), EXIT)),
	XDP("refused-helpers", "bpf_kptr_xchg", HELPER, 0, "bpf_kptr_xchg|kernel objects",
	    (CALL(BPF_FUNC_kptr_xchg), EXIT), (CALL(BPF_FUNC_ktime_get_ns), EXIT)),
	XDP("refused-helpers", "bpf_dynptr_from_mem", HELPER, 0, "bpf_dynptr_from_mem|dynptrs",
	    (CALL(BPF_FUNC_dynptr_from_mem), EXIT), (CALL(BPF_FUNC_ktime_get_ns), EXIT)),
	/* work groups */
	XDP("local-kind", "local memory of an XDP program", LOCAL_MEMORY, 0, "only for compute kernels", (LDLOCAL(R1, 0, 8), MOV64K(R0, 0), EXIT),
	    (LD64(R1, 0), MOV64K(R0, 0), EXIT)),
	GRID("local-size", "no local memory", LOCAL_MEMORY, 0, "0 bytes|1 to 65536", (LDLOCAL(R1, 0, 0), MOV64K(R0, 0), EXIT),
	     (LDLOCAL(R1, 0, 1), MOV64K(R0, 0), EXIT)),
	GRID("local-size", "too much local memory", LOCAL_MEMORY, 0, "65537 bytes|1 to 65536", (LDLOCAL(R1, 0, 65537), MOV64K(R0, 0), EXIT),
	     (LDLOCAL(R1, 0, 65536), ST(DW, R1, 0, 1), MOV64K(R0, 0), EXIT)),
	GRID("local-size", "local memory of two sizes", LOCAL_MEMORY, 2, "16 bytes here|8 at instruction 0", (LDLOCAL(R1, 0, 8), LDLOCAL(R2, 0, 16), MOV64K(R0, 0), EXIT),
	     (LDLOCAL(R1, 0, 8), LDLOCAL(R2, 7, 8), MOV64K(R0, 0), EXIT)),
	GRID("local-range", "address behind local memory", LOCAL_MEMORY, 0, "offset 8|8 bytes", (LDLOCAL(R1, 8, 8), MOV64K(R0, 0), EXIT),
	     (LDLOCAL(R1, 7, 8), MOV64K(R0, 0), EXIT)),
	GRID("local-range", "store behind local memory in front of a barrier", LOCAL_MEMORY, 2, "bytes 1 to 9|8 of it",
	     (LDLOCAL(R1, 1, 8), ST(DW, R1, 0, 1), CALL(GPGPU_HELPER_barrier), MOV64K(R0, 0), EXIT),
	     (LDLOCAL(R1, 0, 8), ST(DW, R1, 0, 1), CALL(GPGPU_HELPER_barrier), MOV64K(R0, 0), EXIT)),
	GRID("group-uniform", "barrier in a branch on an item's number", DIVERGENT, 4, "gp_barrier|instruction 2|gp_local_id (instruction 1)",
	     (MOV64K(R1, 0), CALL(GPGPU_HELPER_local_id), JK(BPF_JEQ, R0, 0, 2), MOV64K(R0, 0), CALL(GPGPU_HELPER_barrier), MOV64K(R0, 0), EXIT),
	     (MOV64K(R1, 0), CALL(GPGPU_HELPER_group_id), JK(BPF_JEQ, R0, 0, 2), MOV64K(R0, 0), CALL(GPGPU_HELPER_barrier), MOV64K(R0, 0), EXIT)),
	GRID("group-uniform", "barrier in a loop as long as an item's number says", DIVERGENT, 3, "gp_barrier|gp_global_id",
	     (MOV64K(R1, 0), CALL(GPGPU_HELPER_global_id), MOV64X(R6, R0), CALL(GPGPU_HELPER_barrier), ALU64K(BPF_SUB, R6, 1),
	      JK(BPF_JSGT, R6, 0, -3), MOV64K(R0, 0), EXIT),
	     (MOV64K(R1, 0), CALL(GPGPU_HELPER_global_size), MOV64X(R6, R0), CALL(GPGPU_HELPER_barrier), ALU64K(BPF_SUB, R6, 1),
	      JK(BPF_JSGT, R6, 0, -3), MOV64K(R0, 0), EXIT)),
	GRID("group-uniform", "barrier behind an exit of some items", DIVERGENT, 4, "gp_barrier|instruction 2",
	     (MOV64K(R1, 0), CALL(GPGPU_HELPER_local_id), JK(BPF_JNE, R0, 0, 1), EXIT, CALL(GPGPU_HELPER_barrier), MOV64K(R0, 0), EXIT),
	     (MOV64K(R1, 0), CALL(GPGPU_HELPER_local_id), JK(BPF_JNE, R0, 0, 1), MOV64K(R0, 0), CALL(GPGPU_HELPER_barrier), MOV64K(R0, 0), EXIT)),
	GRID("group-uniform", "barrier where memory says", DIVERGENT, 3, "gp_barrier|memory (instruction 1)",
	     (LDX(DW, R2, R1, 0), LDX(DW, R2, R2, 0), JK(BPF_JEQ, R2, 0, 1), CALL(GPGPU_HELPER_barrier), MOV64K(R0, 0), EXIT),
	     (LDX(DW, R2, R1, 0), LDX(DW, R2, R1, 16), JK(BPF_JEQ, R2, 0, 1), CALL(GPGPU_HELPER_barrier), MOV64K(R0, 0), EXIT)),
	GRID("group-uniform", "barrier where an atomic operation says", DIVERGENT, 5, "gp_barrier|memory (instruction 3)",
	     (MOV64K(R2, 1), LDLOCAL(R1, 0, 8), ATOMIC(DW, BPF_ADD | BPF_FETCH, R1, 0, R2), JK(BPF_JEQ, R2, 0, 1),
	      CALL(GPGPU_HELPER_barrier), MOV64K(R0, 0), EXIT),
	     (MOV64K(R2, 1), LDLOCAL(R1, 0, 8), ATOMIC(DW, BPF_ADD, R1, 0, R2), JK(BPF_JEQ, R2, 0, 1),
	      CALL(GPGPU_HELPER_barrier), MOV64K(R0, 0), EXIT)),
	GRID("group-uniform", "barrier on what was set behind a branch", DIVERGENT, 6, "gp_barrier|set behind the branch at instruction 3",
	     (MOV64K(R6, 0), MOV64K(R1, 0), CALL(GPGPU_HELPER_local_id), JK(BPF_JEQ, R0, 0, 1), MOV64K(R6, 1), JK(BPF_JEQ, R6, 0, 1),
	      CALL(GPGPU_HELPER_barrier), MOV64K(R0, 0), EXIT),
	     (MOV64K(R6, 0), MOV64K(R1, 0), CALL(GPGPU_HELPER_group_id), JK(BPF_JEQ, R0, 0, 1), MOV64K(R6, 1), JK(BPF_JEQ, R6, 0, 1),
	      CALL(GPGPU_HELPER_barrier), MOV64K(R0, 0), EXIT)),
	GRID("group-uniform", "barrier on a number from the stack", DIVERGENT, 5, "gp_barrier|gp_local_id (instruction 1)",
	     (MOV64K(R1, 0), CALL(GPGPU_HELPER_local_id), STX(DW, R10, -8, R0), LDX(DW, R6, R10, -8), JK(BPF_JEQ, R6, 0, 1),
	      CALL(GPGPU_HELPER_barrier), MOV64K(R0, 0), EXIT),
	     (MOV64K(R1, 0), CALL(GPGPU_HELPER_local_size), STX(DW, R10, -8, R0), LDX(DW, R6, R10, -8), JK(BPF_JEQ, R6, 0, 1),
	      CALL(GPGPU_HELPER_barrier), MOV64K(R0, 0), EXIT)),
	GRID("group-uniform", "barrier on a random number", DIVERGENT, 2, "gp_barrier|bpf_get_prandom_u32",
	     (CALL(BPF_FUNC_get_prandom_u32), JK(BPF_JEQ, R0, 0, 1), CALL(GPGPU_HELPER_barrier), MOV64K(R0, 0), EXIT),
	     (CALL(BPF_FUNC_get_prandom_u32), MOV64X(R1, R0), MOV64K(R2, 0), CALL(GPGPU_HELPER_broadcast), JK(BPF_JEQ, R0, 0, 1),
	      CALL(GPGPU_HELPER_barrier), MOV64K(R0, 0), EXIT)),
	GRID("group-uniform", "broadcast of different items' values", DIVERGENT, 4, "r2|gp_local_id|gp_shuffle",
	     (MOV64K(R1, 0), CALL(GPGPU_HELPER_local_id), MOV64X(R2, R0), MOV64K(R1, 1), CALL(GPGPU_HELPER_broadcast), EXIT),
	     (MOV64K(R1, 0), CALL(GPGPU_HELPER_local_id), MOV64X(R2, R0), MOV64K(R1, 1), CALL(GPGPU_HELPER_shuffle), EXIT)),
	GRID("group-function", "barrier in a function", DIVERGENT, 2, "gp_barrier|__always_inline", (CALL_LOCAL(1), EXIT, CALL(GPGPU_HELPER_barrier), MOV64K(R0, 0), EXIT),
	     (CALL_LOCAL(2), CALL(GPGPU_HELPER_barrier), EXIT, MOV64K(R0, 0), EXIT)),
	GRID("group-function", "barrier in a callback", DIVERGENT, 7, "gp_barrier",
	     (MOV64K(R1, 1), LDFUNC(R2, 5), MOV64K(R3, 0), MOV64K(R4, 0), CALL(BPF_FUNC_loop), EXIT, CALL(GPGPU_HELPER_barrier), MOV64K(R0, 0), EXIT),
	     (MOV64K(R1, 1), LDFUNC(R2, 6), MOV64K(R3, 0), MOV64K(R4, 0), CALL(BPF_FUNC_loop), CALL(GPGPU_HELPER_barrier), EXIT, MOV64K(R0, 0), EXIT)),
	GRID("group-operation", "operation that is none", HELPER_ARG, 2, "r2 is the number 14|0 to 13",
	     (MOV64K(R1, 1), MOV64K(R2, GP_NUM_OPS), CALL(GPGPU_HELPER_reduce), EXIT),
	     (MOV64K(R1, 1), MOV64K(R2, GP_NUM_OPS - 1), CALL(GPGPU_HELPER_reduce), EXIT)),
	GRID("group-operation", "operation that is not constant", HELPER_ARG, 2, "r2 is a number|a constant",
	     (LDX(DW, R2, R1, 16), MOV64K(R1, 1), CALL(GPGPU_HELPER_scan), EXIT),
	     (MOV64K(R2, 1), MOV64K(R1, 1), CALL(GPGPU_HELPER_scan), EXIT)),
	/* more of form */
	XDP("signed-move", "move with sign of 24 bits", INSN_FIELD, 1, "off is 24|8, 16, 32",
	    (MOV64K(R0, 0), MOVSX64(24, R0, R0), EXIT), (MOV64K(R0, 0), MOVSX64(32, R0, R0), EXIT)),
	XDP("signed-move", "32-bit move with sign of 32 bits", INSN_FIELD, 1, "off is 32|8, 16",
	    (MOV64K(R0, 0), MOVSX32(32, R0, R0), EXIT), (MOV64K(R0, 0), MOVSX32(16, R0, R0), EXIT)),
	XDP("ld64-second-slot", "second half of ld_imm64 with an opcode", INSN_FIELD, 0, "more than an immediate",
	    (INSN(BPF_LD | BPF_IMM | BPF_DW, R0, 0, 0, 0), MOV64K(R0, 0), EXIT), (LD64(R0, 0), EXIT)),
	XDP("ld64-second-slot", "map with an offset", INSN_FIELD, 0, "no offset",
	    (INSN(BPF_LD | BPF_IMM | BPF_DW, R1, BPF_PSEUDO_MAP_FD, 0, 0), INSN(0, 0, 0, 0, 8), MOV64K(R0, 0), EXIT),
	    (LDMAP(R1, 0), MOV64K(R0, 0), EXIT)),
	XDP("ld64-second-slot", "function's address with an offset", INSN_FIELD, 0, "must be 0",
	    (INSN(BPF_LD | BPF_IMM | BPF_DW, R2, BPF_PSEUDO_FUNC, 0, 3), INSN(0, 0, 0, 0, 8), MOV64K(R0, 0), EXIT,
	     MOV64K(R0, 0), EXIT),
	    (LDFUNC(R2, 3), MOV64K(R0, 0), EXIT, MOV64K(R0, 0), EXIT)),
	/* functions */
	XDP("call-in-program", "call behind the end", JUMP, 0, "instruction 2, which is outside",
	    (CALL_LOCAL(1), EXIT), (CALL_LOCAL(1), EXIT, MOV64K(R0, 0), EXIT)),
	XDP("call-in-program", "call into an ld_imm64", JUMP, 0, "second half",
	    (CALL_LOCAL(2), EXIT, LD64(R0, 0), EXIT), (CALL_LOCAL(1), EXIT, LD64(R0, 0), EXIT)),
	XDP("no-recursion", "the entry calls itself", CALL_DEPTH, 1, "recursion|entry",
	    (MOV64K(R0, 0), CALL_LOCAL(-2), EXIT), (MOV64K(R0, 0), CALL_LOCAL(1), EXIT, MOV64K(R0, 0), EXIT)),
	XDP("no-recursion", "function that loops over itself", CALL_DEPTH, 9, "recursion",
	    (MOV64K(R1, 1), LDFUNC(R2, 5), MOV64K(R3, 0), MOV64K(R4, 0), CALL(BPF_FUNC_loop), EXIT,
	     MOV64K(R1, 1), MOV64K(R0, 0), LDFUNC(R2, -3), MOV64K(R0, 0), EXIT),
	    (MOV64K(R1, 1), LDFUNC(R2, 5), MOV64K(R3, 0), MOV64K(R4, 0), CALL(BPF_FUNC_loop), EXIT,
	     MOV64K(R1, 1), MOV64K(R0, 0), LD64(R2, -3), MOV64K(R0, 0), EXIT)),
	/* callbacks */
	XDP("callback", "loop over a number", HELPER_ARG, 4, "r2 is the number 0|address of one function",
	    (MOV64K(R1, 1), MOV64K(R2, 0), MOV64K(R3, 0), MOV64K(R4, 0), CALL(BPF_FUNC_loop), EXIT),
	    (MOV64K(R1, 1), LDFUNC(R2, 5), MOV64K(R3, 0), MOV64K(R4, 0), CALL(BPF_FUNC_loop), EXIT, MOV64K(R0, 0), EXIT)),
	XDP("callback", "function's address from a caller", HELPER_ARG, 7, "r2 is a number|loaded in the function",
	    (LDFUNC(R2, 8), CALL_LOCAL(1), EXIT, MOV64K(R1, 1), MOV64K(R3, 0), MOV64K(R4, 0), CALL(BPF_FUNC_loop), EXIT,
	     MOV64K(R0, 0), MOV64K(R0, 0), EXIT),
	    (MOV64K(R2, 0), CALL_LOCAL(1), EXIT, MOV64K(R1, 1), LDFUNC(R2, 5), MOV64K(R3, 0), MOV64K(R4, 0),
	     CALL(BPF_FUNC_loop), EXIT, MOV64K(R0, 0), MOV64K(R0, 0), EXIT)),
	XDP("callback-result", "callback without a result", UNINITIALISED, 5, "instruction 7|r0",
	    (MOV64K(R1, 1), LDFUNC(R2, 5), MOV64K(R3, 0), MOV64K(R4, 0), CALL(BPF_FUNC_loop), EXIT, MOV64K(R1, 0), EXIT),
	    (MOV64K(R1, 1), LDFUNC(R2, 5), MOV64K(R3, 0), MOV64K(R4, 0), CALL(BPF_FUNC_loop), EXIT, MOV64K(R0, 0), EXIT)),
	XDP("callback-result", "callback that returns a pointer", POINTER, 5, "instruction 7|return 0 or 1",
	    (MOV64K(R1, 1), LDFUNC(R2, 5), MOV64K(R3, 0), MOV64K(R4, 0), CALL(BPF_FUNC_loop), EXIT, MOV64X(R0, R10), EXIT),
	    (MOV64K(R1, 1), LDFUNC(R2, 5), MOV64K(R3, 0), MOV64K(R4, 0), CALL(BPF_FUNC_loop), EXIT, MOV64X(R0, R1), EXIT)),
	XDP("initialised", "third argument of a callback", UNINITIALISED, 8, "r3 is uninitialised",
	    (MOV64K(R1, 1), LDFUNC(R2, 5), MOV64K(R3, 0), MOV64K(R4, 0), CALL(BPF_FUNC_loop), EXIT, MOV64K(R0, 0), ALU64X(BPF_ADD, R0, R3), EXIT),
	    (MOV64K(R1, 1), LDFUNC(R2, 5), MOV64K(R3, 0), MOV64K(R4, 0), CALL(BPF_FUNC_loop), EXIT, MOV64K(R0, 0), ALU64X(BPF_ADD, R0, R2), EXIT)),
	/* helpers by what the map is */
	XDP("map-type", "pop from a hash", MAP_REF, 4, "bpf_map_pop_elem|map 1|hash",
	    (LDMAP(R1, MAP_HASH), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -8), CALL(BPF_FUNC_map_pop_elem), MOV64K(R0, 0), EXIT),
	    (LDMAP(R1, MAP_QUEUE), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -8), CALL(BPF_FUNC_map_pop_elem), MOV64K(R0, 0), EXIT)),
	XDP("helper-number", "pointer as flags", HELPER_ARG, 6, "r4 is r10-8|takes a number",
	    (LDMAP(R1, MAP_HASH), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -8), MOV64X(R3, R2), MOV64X(R4, R2),
	     CALL(BPF_FUNC_map_update_elem), MOV64K(R0, 0), EXIT),
	    (LDMAP(R1, MAP_HASH), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -8), MOV64X(R3, R2), MOV64K(R4, 0),
	     CALL(BPF_FUNC_map_update_elem), MOV64K(R0, 0), EXIT)),
	XDP("tail-position", "tail call in the middle of a call", HELPER, 6, "caller goes on after it|main function",
	    (CALL_LOCAL(2), MOV64K(R0, 0), EXIT, LDMAP(R2, MAP_PROGS), MOV64K(R3, 0), CALL(BPF_FUNC_tail_call), MOV64K(R0, 0), EXIT),
	    (CALL_LOCAL(1), EXIT, LDMAP(R2, MAP_PROGS), MOV64K(R3, 0), CALL(BPF_FUNC_tail_call), MOV64K(R0, 0), EXIT)),
	XDP("helper-record", "number as a record", HELPER_ARG, 2, "r1 is the number 8|reserve",
	    (MOV64K(R1, 8), MOV64K(R2, 0), CALL(BPF_FUNC_ringbuf_discard), MOV64K(R0, 0), EXIT),
	    (LDMAP(R1, MAP_RING), MOV64K(R2, 8), MOV64K(R3, 0), CALL(BPF_FUNC_ringbuf_reserve), JK(BPF_JEQ, R0, 0, 3),
	     MOV64X(R1, R0), MOV64K(R2, 0), CALL(BPF_FUNC_ringbuf_discard), MOV64K(R0, 0), EXIT)),
};
/* clang-format on */

const uint32_t num_rules = sizeof(rules) / sizeof(*rules);

/* ------------------------------------------------------------ what is not in the instructions */

static void no_kind(struct gp_prog *prog)
{
	prog->kind = 77;
}

static void no_insns(struct gp_prog *prog)
{
	prog->num_insns = 0;
}

static void many_maps(struct gp_prog *prog)
{
	prog->num_maps = GP_MAX_PROG_MAPS + 1;
}

static void arguments_of_xdp(struct gp_prog *prog)
{
	prog->num_args = 1;
	prog->arg_kind[0] = VIRTIO_GPGPU_ARG_VALUE;
}

static void many_arguments(struct gp_prog *prog)
{
	prog->kind = VIRTIO_GPGPU_PROG_GPGPU;
	prog->num_args = VIRTIO_GPGPU_MAX_ARGS + 1;
}

static void odd_argument(struct gp_prog *prog)
{
	prog->kind = VIRTIO_GPGPU_PROG_GPGPU;
	prog->num_args = 1;
	prog->arg_kind[0] = 99;
}

static void long_key(struct gp_prog *prog)
{
	static struct gp_map_desc map;

	map = prog->maps[0];
	map.key_size = VIRTIO_GPGPU_MAX_KEY + 1;
	prog->maps = &map;
	prog->num_maps = 1;
}

static void value_behind_its_stride(struct gp_prog *prog)
{
	static struct gp_map_desc map;

	map = prog->maps[0];
	map.stride = map.value_size - 8;
	prog->maps = &map;
	prog->num_maps = 1;
}

/* ------------------------------------------------------------ programs that are too large to be written down */

#define ADD(insn) insns[n++] = (struct bpf_insn)insn

static uint32_t length(struct bpf_insn *insns, bool bad)
{
	uint32_t n = 0;

	while (n < GP_MAX_INSNS - 1u + bad)
		ADD(MOV64K(R0, 0));
	ADD(EXIT);
	return n;
}

static uint32_t call_depth(struct bpf_insn *insns, bool bad)
{
	uint32_t n = 0;

	for (int f = 1; f < 8 + bad; f++) {
		ADD(CALL_LOCAL(1));
		ADD(EXIT);
	}
	ADD(MOV64K(R0, 0));
	ADD(EXIT);
	return n;
}

/* The same, but that the last is called back. */
static uint32_t callback_depth(struct bpf_insn *insns, bool bad)
{
	uint32_t n = 0;

	for (int f = 1; f < 7 + bad; f++) {
		ADD(CALL_LOCAL(1));
		ADD(EXIT);
	}
	ADD(MOV64K(R1, 1));
	insns[n++] = (struct bpf_insn)INSN(BPF_LD | BPF_IMM | BPF_DW, R2, BPF_PSEUDO_FUNC, 0, 5);
	insns[n++] = (struct bpf_insn)INSN(0, 0, 0, 0, 0);
	ADD(MOV64K(R3, 0));
	ADD(MOV64K(R4, 0));
	ADD(CALL(BPF_FUNC_loop));
	ADD(EXIT);
	ADD(MOV64K(R0, 0));
	ADD(EXIT);
	return n;
}

static uint32_t functions(struct bpf_insn *insns, bool bad)
{
	uint32_t calls = 255 + bad, n = 0;

	for (uint32_t f = 0; f < calls; f++)
		ADD(CALL_LOCAL((int32_t)(calls - f + f * 2)));
	ADD(EXIT);
	for (uint32_t f = 0; f < calls; f++) {
		ADD(MOV64K(R0, 0));
		ADD(EXIT);
	}
	return n;
}

/*
 * A loop that moves the stack's slots up by one each turn, with many blocks: a pointer that is put into the first slot
 * becomes known in one more of them with each time that all blocks are looked at.
 */
static uint32_t joins(struct bpf_insn *insns, bool bad)
{
	int slots = bad ? 64 : 8, back;
	uint32_t n = 0, head;

	ADD(LDX(W, R6, R1, 0));
	ADD(MOV64K(R0, 0));
	head = n;
	for (int slot = slots - 1; slot > 0; slot--) {
		ADD(LDX(DW, R2, R10, -8 * slot));
		ADD(STX(DW, R10, -8 * slot - 8, R2));
	}
	ADD(STX(DW, R10, -8, R6));
	for (int block = 0; block < 4000; block++)
		ADD(JK(BPF_JEQ, R0, 1000 + block, 0));
	ADD(ALU64K(BPF_ADD, R0, 1));
	back = (int)head - (int)n - 1;
	ADD(JK(BPF_JLT, R0, 3, back));
	ADD(MOV64K(R0, 0));
	ADD(EXIT);
	return n;
}

#define NO_INSN UINT32_MAX

const struct special specials[] = {
	{ "program-kind", "kind that is none", VIRTIO_GPGPU_R_KIND, NO_INSN, "kind of program 77", no_kind,
	  NULL },
	{ "length", "no instruction", VIRTIO_GPGPU_R_INSN_LIMIT, NO_INSN, "0 instructions|1 to 16384",
	  no_insns, NULL },
	{ "length", "one too many", VIRTIO_GPGPU_R_INSN_LIMIT, NO_INSN, "16385 instructions", NULL, length },
	{ "maps", "too many maps", VIRTIO_GPGPU_R_MAP_REF, NO_INSN, "65 maps|64", many_maps, NULL },
	{ "map-sizes", "key that is too long", VIRTIO_GPGPU_R_MAP_REF, NO_INSN, "map 0|sizes", long_key,
	  NULL },
	{ "map-sizes", "values that overlap", VIRTIO_GPGPU_R_MAP_REF, NO_INSN, "map 0|sizes",
	  value_behind_its_stride, NULL },
	{ "arguments", "arguments of an XDP program", VIRTIO_GPGPU_R_ARGUMENT, NO_INSN, "1 arguments|0",
	  arguments_of_xdp, NULL },
	{ "arguments", "too many arguments", VIRTIO_GPGPU_R_ARGUMENT, NO_INSN, "17 arguments|16",
	  many_arguments, NULL },
	{ "arguments", "kind of an argument", VIRTIO_GPGPU_R_KIND, NO_INSN, "argument 0|99", odd_argument,
	  NULL },
	{ "call-depth", "nine functions deep", VIRTIO_GPGPU_R_CALL_DEPTH, 14, "8 functions deep", NULL,
	  call_depth },
	{ "call-depth", "eight and a callback", VIRTIO_GPGPU_R_CALL_DEPTH, 15, "8 functions deep|callbacks",
	  NULL, callback_depth },
	{ "functions", "257 functions", VIRTIO_GPGPU_R_INSN_LIMIT, 255, "256 functions", NULL, functions },
	{ "joins", "kinds that take too long to settle", VIRTIO_GPGPU_R_COMPILE_LIMIT, ANY_INSN,
	  "too many joins|split the program", NULL, joins },
};

const uint32_t num_specials = sizeof(specials) / sizeof(*specials);
