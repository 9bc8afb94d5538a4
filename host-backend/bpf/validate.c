/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * validate.c - a program's form: the first of the four steps of gp_validate().
 *
 * 1. Form (this file): each instruction against its row in the table of opcodes: fields that must be
 *    zero, registers, immediates with few legal values, maps and helpers that exist. Whatever comes later may
 *    index by them.
 * 2. Control flow (cfg.c): jumps, functions, loops.
 * 3. Kinds (analyse.c, check.c): what registers hold.
 * 4. Work groups (uniform.c): what all items of a group have to do together.
 *
 * The first rule broken is reported, with the instruction disassembled (print.c). Runs in the engine, so that a
 * program is refused without a compiler, and again in the compiler, which trusts nobody.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <virtio_gpgpu.h>
#include "bpf/cfg.h"
#include "bpf/groups.h"
#include "bpf/helpers.h"
#include "bpf/kinds.h"
#include "bpf/opcodes.h"

bool gp_refuse(struct gp_verdict *verdict, const struct gp_prog *prog, uint32_t reason, uint32_t i,
	       const char *format, ...)
{
	char text[64] = "";
	va_list args;
	int n = 0;

	verdict->status = VIRTIO_GPGPU_S_REJECTED;
	if (reason == VIRTIO_GPGPU_R_INSN_LIMIT || reason == VIRTIO_GPGPU_R_COMPILE_LIMIT)
		verdict->status = VIRTIO_GPGPU_S_LIMIT;
	verdict->reason = reason;
	verdict->insn = i;
	if (i < prog->num_insns) {
		/* Half an ld_imm64 at the end has nothing to print. */
		bool whole = !gp_insn_is_ld_imm64(&prog->insns[i]) || i + 1 < prog->num_insns;

		n = snprintf(verdict->message, sizeof(verdict->message), "%u: %s%s", i,
			     whole ? gp_insn_print(text, sizeof(text), &prog->insns[i]) : "",
			     whole ? ": " : "");
	}
	va_start(args, format);
	vsnprintf(verdict->message + n, sizeof(verdict->message) - (size_t)n, format, args);
	va_end(args);
	return false;
}

static bool check_ld_imm64(const struct gp_prog *prog, uint32_t i, struct gp_verdict *verdict)
{
	static const char *const others[16] = {
		[3] = "BTF id of a kernel variable",
		[5] = "map by index",
		[6] = "map value by index",
	};
	const struct bpf_insn *insn = &prog->insns[i];
	const struct bpf_insn *tail = insn + 1;
	const struct gp_map_desc *map;

	if (i + 1 >= prog->num_insns)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_FALL_OFF, i,
				 "ld_imm64 takes two slots and the program ends after one");
	if (tail->code || tail->dst_reg || tail->src_reg || tail->off)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_INSN_FIELD, i,
				 "the second slot of ld_imm64 has more than an immediate");
	if (insn->src_reg == GP_LD_CONST)
		return true;
	if (insn->src_reg == GP_LD_FUNC) {
		if (tail->imm)
			return gp_refuse(
				verdict, prog, VIRTIO_GPGPU_R_INSN_FIELD, i,
				"the second slot of a function's address has an immediate; it must be 0");
		return true;
	}
	if (insn->src_reg == GP_LD_LOCAL)
		return gp_group_check_local(prog, i, verdict);
	if (insn->src_reg > GP_LD_MAP_VALUE)
		return gp_refuse(
			verdict, prog, VIRTIO_GPGPU_R_OPCODE, i,
			"ld_imm64 of %s is not supported; of numbers, maps, map values, functions and local memory it is",
			others[insn->src_reg] ? others[insn->src_reg] : "an unknown kind");
	if (insn->imm < 0 || (uint32_t)insn->imm >= prog->num_maps)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_MAP_REF, i,
				 "there is no map %d; the program has %u", insn->imm, prog->num_maps);
	if (insn->src_reg == GP_LD_MAP) {
		if (tail->imm)
			return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_INSN_FIELD, i,
					 "a reference to a map has no offset; this has one in its second slot");
		return true;
	}
	map = &prog->maps[insn->imm];
	if (map->type != VIRTIO_GPGPU_MAP_ARRAY)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_MAP_REF, i,
				 "map %d is not an array; only values of arrays have an address of their own",
				 insn->imm);
	if ((uint32_t)tail->imm >= map->value_size)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_MAP_REF, i,
				 "offset %u is behind a value of map %d, which has %u bytes",
				 (uint32_t)tail->imm, insn->imm, map->value_size);
	return true;
}

static bool check_helper(const struct gp_prog *prog, uint32_t i, struct gp_verdict *verdict)
{
	int32_t number = prog->insns[i].imm;
	const struct gp_helper *helper = gp_helper_find(number);
	const char *name = helper ? helper->name : gp_helper_kernel_name(number);
	const char *why = gp_helper_refusal(number);

	if (!helper)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_HELPER, i,
				 "helper %d (%s%s) is not offered here%s%s", number, name ? "bpf_" : "",
				 name ? name : "unknown", why ? ": " : "", why ? why : "");
	if (!(helper->kinds & 1u << prog->kind))
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_HELPER, i, "helper %s is only for %s", name,
				 helper->kinds & 1u << VIRTIO_GPGPU_PROG_XDP ? "XDP programs"
									     : "compute kernels");
	return true;
}

static bool atomic_exists(int32_t imm)
{
	switch (imm) {
	case BPF_ADD:
	case BPF_OR:
	case BPF_AND:
	case BPF_XOR:
	case BPF_ADD | BPF_FETCH:
	case BPF_OR | BPF_FETCH:
	case BPF_AND | BPF_FETCH:
	case BPF_XOR | BPF_FETCH:
	case BPF_XCHG:
	case BPF_CMPXCHG:
		return true;
	default:
		return false;
	}
}

/* Fields with a few legal values. */
static bool check_special(const struct gp_prog *prog, uint32_t i, uint16_t flags, struct gp_verdict *verdict)
{
	const struct bpf_insn *insn = &prog->insns[i];
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;

	if ((flags & GP_OP_SIGNED) && insn->off != 0 && insn->off != 1)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_INSN_FIELD, i,
				 "off is %d; it is 0 (unsigned) or 1 (signed)", insn->off);
	if ((flags & GP_OP_MOVSX) && insn->off != 0 && insn->off != 8 && insn->off != 16 &&
	    !(insn->off == 32 && wide))
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_INSN_FIELD, i,
				 "off is %d; it is 0 (a move) or the bits to extend from: 8, 16%s", insn->off,
				 wide ? ", 32" : "");
	if ((flags & GP_OP_END) && insn->imm != 16 && insn->imm != 32 && insn->imm != 64)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_INSN_FIELD, i,
				 "imm is %d; it is 16, 32 or 64 bits to swap", insn->imm);
	if ((flags & GP_OP_ATOMIC) && !atomic_exists(insn->imm))
		return gp_refuse(
			verdict, prog, VIRTIO_GPGPU_R_OPCODE, i,
			"there is no atomic operation 0x%x; there are add, or, and, xor, xchg, cmpxchg",
			(uint32_t)insn->imm);
	if (flags & GP_OP_LDIMM64)
		return check_ld_imm64(prog, i, verdict);
	if (!(flags & GP_OP_CALL))
		return true;
	if (insn->src_reg == GP_CALL_KFUNC)
		return gp_refuse(
			verdict, prog, VIRTIO_GPGPU_R_HELPER, i,
			"functions of the kernel (kfuncs, and with them open-coded iterators; this has BTF "
			"id %d) are not offered here; use a plain loop or bpf_loop(), or a helper",
			insn->imm);
	if (insn->src_reg > GP_CALL_KFUNC)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_INSN_FIELD, i,
				 "src_reg of a call is %d; it is 0 (a helper) or 1 (a function of the program)",
				 insn->src_reg);
	return insn->src_reg == GP_CALL_LOCAL || check_helper(prog, i, verdict);
}

static bool check_insn(const struct gp_prog *prog, uint32_t i, struct gp_verdict *verdict)
{
	const struct bpf_insn *insn = &prog->insns[i];
	uint16_t flags = gp_opcodes[insn->code].flags;
	const char *what = gp_opcode_unsupported(insn->code);
	bool dst = flags & (GP_OP_READ_DST | GP_OP_WRITE_DST);
	bool src = flags & GP_OP_READ_SRC;

	if (!gp_opcodes[insn->code].name)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_OPCODE, i, "%s%s",
				 what ? "not supported: " : "there is no such instruction", what ? what : "");
	if (insn->dst_reg > 10 || (src && insn->src_reg > 10))
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_REGISTER, i,
				 "there is no r%d; registers are r0 to r10",
				 insn->dst_reg > 10 ? insn->dst_reg : insn->src_reg);
	if ((flags & GP_OP_WRITE_DST) && insn->dst_reg == 10)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_REGISTER, i,
				 "r10 is the frame pointer and read only");
	if ((flags & GP_OP_ATOMIC) && (insn->imm & BPF_FETCH) && insn->imm != BPF_CMPXCHG &&
	    insn->src_reg == 10)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_REGISTER, i,
				 "r10 is the frame pointer and read only");
	if ((!dst && insn->dst_reg) || (!src && !(flags & (GP_OP_CALL | GP_OP_LDIMM64)) && insn->src_reg) ||
	    (!(flags & (GP_OP_OFF | GP_OP_SIGNED | GP_OP_MOVSX)) && insn->off) ||
	    (!(flags & (GP_OP_IMM | GP_OP_END | GP_OP_ATOMIC)) && insn->imm))
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_INSN_FIELD, i,
				 "a field that %s does not use is not 0", gp_opcodes[insn->code].name);
	return check_special(prog, i, flags, verdict);
}

/* What is not in the instructions. The engine has checked it against its objects; this guards the tables. */
static bool check_prog(const struct gp_prog *prog, struct gp_verdict *verdict)
{
	if (prog->kind != VIRTIO_GPGPU_PROG_XDP && prog->kind != VIRTIO_GPGPU_PROG_GPGPU)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_KIND, UINT32_MAX, "unknown kind of program %u",
				 prog->kind);
	if (!prog->num_insns || prog->num_insns > GP_MAX_INSNS)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_INSN_LIMIT, UINT32_MAX,
				 "%u instructions; 1 to %d are possible", prog->num_insns, GP_MAX_INSNS);
	if (prog->num_maps > GP_MAX_PROG_MAPS)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_MAP_REF, UINT32_MAX, "%u maps; at most %d",
				 prog->num_maps, GP_MAX_PROG_MAPS);
	if (prog->num_args > VIRTIO_GPGPU_MAX_ARGS || (prog->kind == VIRTIO_GPGPU_PROG_XDP && prog->num_args))
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_ARGUMENT, UINT32_MAX,
				 "%u arguments; at most %d", prog->num_args,
				 prog->kind == VIRTIO_GPGPU_PROG_XDP ? 0 : VIRTIO_GPGPU_MAX_ARGS);
	for (uint32_t n = 0; n < prog->num_args; n++)
		if (prog->arg_kind[n] < VIRTIO_GPGPU_ARG_VALUE ||
		    prog->arg_kind[n] > VIRTIO_GPGPU_ARG_BUFFER_RO)
			return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_KIND, UINT32_MAX,
					 "argument %u has unknown kind %u", n, prog->arg_kind[n]);
	for (uint32_t m = 0; m < prog->num_maps; m++) {
		const struct gp_map_desc *map = &prog->maps[m];

		if (map->key_size > VIRTIO_GPGPU_MAX_KEY || map->stride < map->value_size ||
		    map->stride % 8 || !map->max_entries || map->values_size > GP_OFFSET_MASK ||
		    (map->values_size && map->values_size < map->value_size))
			return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_MAP_REF, UINT32_MAX,
					 "map %u has impossible sizes", m);
	}
	return true;
}

bool gp_validate(const struct gp_prog *prog, struct gp_verdict *verdict)
{
	struct gp_kinds kinds = { 0 };
	struct gp_cfg cfg = { 0 };
	bool ok;

	memset(verdict, 0, sizeof(*verdict));
	if (!check_prog(prog, verdict))
		return false;
	for (uint32_t i = 0; i < prog->num_insns; i++) {
		if (!check_insn(prog, i, verdict))
			return false;
		i += gp_insn_is_ld_imm64(&prog->insns[i]);
	}
	ok = gp_cfg_build(&cfg, prog, verdict) && gp_kinds_analyse(&kinds, prog, &cfg, verdict) &&
	     gp_uniform_check(&kinds, verdict);
	gp_kinds_free(&kinds);
	gp_cfg_free(&cfg);
	return ok;
}
