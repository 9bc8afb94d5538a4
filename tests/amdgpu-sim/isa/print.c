/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * print.c - an instruction as LLVM's llvm-mc prints it.
 *
 * The row's shape gives the operands' order; what is printed behind them depends on the encoding. Numbers follow
 * LLVM: inline constants as numbers, literals in hexadecimal, immediates by instruction.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "internal.h"

struct out {
	char *text;
	size_t room, used;
	bool comma;
};

__attribute__((format(printf, 2, 3))) static void add(struct out *o, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(o->text + o->used, o->room - o->used, format, ap);
	va_end(ap);
	if (n > 0)
		o->used = o->used + (size_t)n < o->room ? o->used + (size_t)n : o->room - 1;
}

static void separate(struct out *o)
{
	add(o, o->comma ? ", " : " ");
	o->comma = true;
}

static void scalar_name(struct out *o, const struct uop *u, unsigned int code, unsigned int size)
{
	static const char *const pairs[][3] = { { "flat_scratch", "flat_scratch_lo", "flat_scratch_hi" },
						{ "xnack_mask", "xnack_mask_lo", "xnack_mask_hi" },
						{ "vcc", "vcc_lo", "vcc_hi" } };
	bool new = u->gfx == SIM_GFX1030;

	if (code == 124)
		add(o, "m0");
	else if (code == 125 && new)
		add(o, "null");
	else if (code >= 126)
		add(o, size == 2 ? "exec" : code == 126 ? "exec_lo" : "exec_hi");
	else if (code >= 108 && size == 1)
		add(o, "ttmp%u", code - 108);
	else if (code >= 108)
		add(o, "ttmp[%u:%u]", code - 108, code - 108 + size - 1);
	else if (code >= (new ? 106u : 102u) && size <= 2)
		add(o, "%s", pairs[(code - 102) / 2][size == 2 ? 0 : 1 + (code & 1)]);
	else if (size == 1)
		add(o, "s%u", code);
	else
		add(o, "s[%u:%u]", code, code + size - 1);
}

static void constant(struct out *o, const struct uop *u, const struct opd *d, unsigned int type)
{
	static const char *const reals[] = { "0.5",  "-0.5", "1.0",  "-1.0",	  "2.0",
					     "-2.0", "4.0",  "-4.0", "0.15915494" };

	if (d->literal) {
		static const uint32_t bits[] = { 0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
						 0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983 };
		bool half = type == T_F16 || type == T_B16 || type == T_I16;
		uint32_t value = u->word[u->size / 4 - 1];
		bool spelt = !half && type != T_F64 && !strchr(u->row->shape, 'L');

		/* what need not have been a literal is printed as if it were none */
		if (spelt && (value <= 64 || (value >= 0xfffffff0 && d->size == 1))) {
			add(o, "%d", (int32_t)value);
			return;
		}
		for (unsigned int i = 0; spelt && d->size == 1 && i < 9; i++)
			if (value == bits[i]) {
				add(o, "%s", reals[i]);
				return;
			}
		add(o, "0x%x",
		    half && u->enc != VOP3P && !strchr(u->row->shape, 'L') ? value & 0xffff : value);
	} else if (d->code <= 208) {
		add(o, "%d", d->code <= 192 ? d->code - 128 : 192 - d->code);
	} else if ((type == T_B16 || type == T_I16) && u->enc != VOP3P && d->code >= 240 &&
		   strncmp(u->row->name, "v_ldexp", 7)) {
		add(o, "0x%x", (unsigned int)isa_constant(u, d, type));
	} else if (d->code == 248 && d->size == 2 && !d->mask) {
		add(o, "0.15915494309189532");
	} else {
		add(o, "%s", reals[d->code - 240]);
	}
}

static void plain(struct out *o, const struct uop *u, const struct opd *d, unsigned int type)
{
	static const char *const special[] = { "src_shared_base", "src_shared_limit", "src_private_base",
					       "src_private_limit", "src_pops_exiting_wave_id" };

	switch (d->kind) {
	case OPD_VGPR:
		if (d->size == 1)
			add(o, "%c%u", d->acc ? 'a' : 'v', d->code);
		else
			add(o, "%c[%u:%u]", d->acc ? 'a' : 'v', d->code, d->code + d->size - 1);
		break;
	case OPD_SGPR:
	case OPD_NULL:
		scalar_name(o, u, d->code, d->size);
		break;
	case OPD_CONST:
		constant(o, u, d, type);
		break;
	case OPD_SPECIAL:
		add(o, "%s",
		    d->code <= 239   ? special[d->code - 235]
		    : d->code == 251 ? "src_vccz"
		    : d->code == 252 ? "src_execz"
				     : "src_scc");
		break;
	default:
		add(o, "off");
	}
}

static void source(struct out *o, const struct uop *u, unsigned int i)
{
	const struct opd *d = &u->src[i];
	unsigned int type = u->sem ? u->sem->s[i < 3 ? i : 2] : T_B32;
	bool neg = u->neg >> i & 1, abs = u->abs >> i & 1, sext = u->sext >> i & 1;

	separate(o);
	if (u->enc == VOP3P) {
		plain(o, u, d, type);
		return;
	}
	/* "-1" would be read as one number */
	add(o, "%s%s%s", neg ? d->kind == OPD_CONST && !abs ? "neg(" : "-" : "", abs ? "|" : "",
	    sext ? "sext(" : "");
	plain(o, u, d, type);
	add(o, "%s%s%s", sext ? ")" : "", abs ? "|" : "", neg && d->kind == OPD_CONST && !abs ? ")" : "");
}

static void operands(struct out *o, const struct uop *u)
{
	const char *at = u->row->shape;
	unsigned int next = 0;
	bool first = true;

	while (*at) {
		const char *end = strchr(at, ' ');

		if (!strncmp(at, "vcc", 3)) {
			const struct opd *d = first			  ? &u->dst
					      : u->sdst.kind && next == 0 ? &u->sdst
									  : &u->src[next++];

			separate(o);
			plain(o, u, d, T_MASK);
		} else if (*at == 'd' || *at == 'q') {
			separate(o);
			plain(o, u, u->dst.kind ? &u->dst : &u->src[0], T_B32);
		} else if (*at == 'p') {
			separate(o);
			plain(o, u, &u->sdst, T_B32);
		} else {
			source(o, u, next++);
		}
		first = false;
		at = end ? end + 1 : at + strlen(at);
	}
}

static void bits_of(struct out *o, const char *name, unsigned int bits, unsigned int n)
{
	add(o, " %s:[", name);
	for (unsigned int i = 0; i < n; i++)
		add(o, "%s%u", i ? "," : "", bits >> i & 1);
	add(o, "]");
}

static void vop3_tail(struct out *o, const struct uop *u)
{
	unsigned int n = 0;

	while (n < 3 && u->src[n].kind && !(u->sem && u->sem->flags & F_ACC && n == 2))
		n++;
	if (u->enc == VOP3P) {
		unsigned int all = (1u << n) - 1,
			     hi = strncmp(u->row->name, "v_accvgpr", 9) ? u->op_sel_hi & all : all;
		bool mix = strstr(u->row->name, "_mix") != NULL;

		if (u->op_sel & all)
			bits_of(o, "op_sel", u->op_sel, n);
		if (hi != (mix ? 0 : all))
			bits_of(o, "op_sel_hi", u->op_sel_hi, n);
		if (!mix && u->neg)
			bits_of(o, "neg_lo", u->neg, n);
		if (!mix && u->abs)
			bits_of(o, "neg_hi", u->abs, n);
	} else if (u->op_sel && !strncmp(u->row->name, "v_permlane", 10)) {
		bits_of(o, "op_sel", u->op_sel, 2);
	} else if (u->op_sel) {
		bits_of(o, "op_sel", (u->op_sel & ((1u << n) - 1)) | (u->op_sel >> 3 & 1) << n, n + 1);
	}
	if (u->clamp)
		add(o, " clamp");
	if (u->omod)
		add(o, u->omod == 1 ? " mul:2" : u->omod == 2 ? " mul:4" : " div:2");
}

static void sdwa_tail(struct out *o, const struct uop *u)
{
	static const char *const sel[] = { "BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
					   "WORD_0", "WORD_1", "DWORD",	 "7" };
	static const char *const unused[] = { "UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "3" };

	if (u->clamp)
		add(o, " clamp");
	if (u->omod)
		add(o, u->omod == 1 ? " mul:2" : u->omod == 2 ? " mul:4" : " div:2");
	if (u->enc != VOPC_SDWA)
		add(o, " dst_sel:%s dst_unused:%s", sel[u->sel[0]], unused[u->unused]);
	add(o, " src0_sel:%s", sel[u->sel[1]]);
	if (u->enc != VOP1_SDWA)
		add(o, " src1_sel:%s", sel[u->sel[2]]);
}

static void dpp_tail(struct out *o, const struct uop *u)
{
	unsigned int c = u->dpp_ctrl, n = c & 15;
	static const char *const whole[] = { "wave_shl:1", "wave_rol:1", "wave_shr:1", "wave_ror:1" };

	if (u->dpp == 8) {
		add(o, " dpp8:[");
		for (unsigned int i = 0; i < 8; i++)
			add(o, "%s%u", i ? "," : "", u->dpp8 >> 3 * i & 7);
		add(o, "]%s", (u->word[0] & 0x1ff) == 234 ? " fi:1" : "");
		return;
	}
	if (c < 0x100)
		add(o, " quad_perm:[%u,%u,%u,%u]", c & 3, c >> 2 & 3, c >> 4 & 3, c >> 6);
	else if (c < 0x130)
		add(o, " %s:%u", c < 0x110 ? "row_shl" : c < 0x120 ? "row_shr" : "row_ror", n);
	else if (c < 0x140)
		add(o, " %s", whole[(c - 0x130) / 4]);
	else if (c == 0x140 || c == 0x141)
		add(o, c == 0x140 ? " row_mirror" : " row_half_mirror");
	else if (c == 0x142 || c == 0x143)
		add(o, c == 0x142 ? " row_bcast:15" : " row_bcast:31");
	else
		add(o, " %s:%u",
		    u->gfx == SIM_GFX90A ? "row_newbcast"
		    : c < 0x160		 ? "row_share"
					 : "row_xmask",
		    n);
	add(o, " row_mask:0x%x bank_mask:0x%x%s%s", u->row_mask, u->bank_mask,
	    u->bound_ctrl ? " bound_ctrl:1" : "", u->fi ? " fi:1" : "");
}

static void cache_bits(struct out *o, const struct uop *u)
{
	add(o, "%s%s%s", u->glc ? " glc" : "", u->slc ? " slc" : "", u->dlc ? " dlc" : "");
}

static bool power_of_two(unsigned int x)
{
	return x && !(x & (x - 1));
}

/* The macros of ds_swizzle_b32's offset. */
static void swizzle(struct out *o, unsigned int imm)
{
	unsigned int and = imm & 31, or = imm >> 5 & 31, xor = imm >> 10 & 31, size = 32 - and;

	if (!imm)
		return;
	add(o, " offset:");
	if ((imm & 0xff00) == 0x8000) {
		add(o, "swizzle(QUAD_PERM,%u,%u,%u,%u)", imm & 3, imm >> 2 & 3, imm >> 4 & 3, imm >> 6 & 3);
	} else if (imm & 0x8000) {
		add(o, "%u", imm);
	} else if (and== 31 && !or &&power_of_two(xor)) {
		add(o, "swizzle(SWAP,%u)", xor);
	} else if (and== 31 && !or &&xor&&power_of_two(xor+1)) {
		add(o, "swizzle(REVERSE,%u)", xor+1);
	} else if (size > 1 && power_of_two(size) && or < size && !xor) {
		add(o, "swizzle(BROADCAST,%u,%u)", size, or);
	} else {
		add(o, "swizzle(BITMASK_PERM,\"");
		for (unsigned int bit = 16; bit; bit >>= 1) {
			unsigned int zero = (or ^xor) & bit, one = (((bit & and) | or) ^ xor) & bit;

			add(o, "%s", zero == one ? zero ? "1" : "0" : zero ? "i" : "p");
		}
		add(o, "\")");
	}
}

static void memory(struct out *o, const struct uop *u)
{
	const char *shape = u->row->shape;

	for (; *shape; shape += strcspn(shape, " "), shape += *shape == ' ') {
		if (*shape == 'd' && u->enc != MUBUF) {
			separate(o);
			plain(o, u, &u->dst, T_B32);
		} else if (*shape == 'A' || *shape == 'e' || *shape == 'f') {
			separate(o);
			plain(o, u, &u->src[*shape == 'A' ? 0 : *shape == 'e' ? 1 : 2], T_B32);
		}
	}
	if (u->enc == DS) {
		bool two = !strncmp(u->row->name, "ds_read2", 8) || !strncmp(u->row->name, "ds_write2", 9) ||
			   !strncmp(u->row->name, "ds_wrxchg2", 10);

		if (strstr(u->row->name, "swizzle")) {
			swizzle(o, u->imm);
		} else if (two) {
			if (u->imm & 255)
				add(o, " offset0:%u", u->imm & 255);
			if (u->imm >> 8)
				add(o, " offset1:%u", u->imm >> 8);
		} else if (u->imm) {
			add(o, " offset:%u", u->imm);
		}
		if (u->gds)
			add(o, " gds");
		return;
	}
	if (u->enc == GLOBAL || u->enc == GLOBAL_RTN || u->enc == SCRATCH) {
		separate(o);
		plain(o, u, &u->src[3], T_B32);
	}
	if (u->offset)
		add(o, " offset:%d", u->offset);
	cache_bits(o, u);
}

static void mubuf(struct out *o, const struct uop *u)
{
	if (!*u->row->shape)
		return;
	separate(o);
	plain(o, u, u->src[1].kind ? &u->src[1] : &u->dst, T_B32);
	separate(o);
	plain(o, u, &u->src[0], T_B32);
	separate(o);
	plain(o, u, &u->src[3], T_B32);
	separate(o);
	plain(o, u, &u->src[4], T_B32);
	add(o, "%s%s", u->idxen ? " idxen" : "", u->offen ? " offen" : "");
	if (u->offset)
		add(o, " offset:%d", u->offset);
	cache_bits(o, u);
}

static void smem(struct out *o, const struct uop *u)
{
	if (!*u->row->shape)
		return;
	if (strchr(u->row->shape, 'd')) {
		separate(o);
		plain(o, u, u->dst.kind ? &u->dst : &u->src[1], T_B32);
	}
	if (!u->src[3].kind)
		return;
	separate(o);
	plain(o, u, &u->src[3], T_B32);
	separate(o);
	if (u->src[4].kind) {
		plain(o, u, &u->src[4], T_B32);
		/* gfx9 has two bits that say what there is */
		if (u->offset || (u->gfx != SIM_GFX1030 && (u->word[0] >> 14 & 1) && (u->word[0] >> 17 & 1)))
			add(o, " offset:0x%x", u->offset & 0x1fffff);
	} else if (u->offset < 0) {
		add(o, "-0x%x", -u->offset);
	} else if (!u->offset && u->gfx == SIM_GFX1030) {
		add(o, "null");
	} else {
		add(o, "0x%x", u->offset);
	}
	cache_bits(o, u);
}

static void hwreg(struct out *o, const struct uop *u)
{
	static const char *const names[] = {
		[1] = "HW_REG_MODE",	      [2] = "HW_REG_STATUS",	    [3] = "HW_REG_TRAPSTS",
		[4] = "HW_REG_HW_ID",	      [5] = "HW_REG_GPR_ALLOC",	    [6] = "HW_REG_LDS_ALLOC",
		[7] = "HW_REG_IB_STS",	      [15] = "HW_REG_SH_MEM_BASES", [16] = "HW_REG_TBA_LO",
		[17] = "HW_REG_TBA_HI",	      [18] = "HW_REG_TMA_LO",	    [19] = "HW_REG_TMA_HI",
		[20] = "HW_REG_FLAT_SCR_LO",  [21] = "HW_REG_FLAT_SCR_HI",  [22] = "HW_REG_XNACK_MASK",
		[23] = "HW_REG_HW_ID1",	      [24] = "HW_REG_HW_ID2",	    [25] = "HW_REG_POPS_PACKER",
		[29] = "HW_REG_SHADER_CYCLES"
	};
	unsigned int id = u->imm & 63, at = u->imm >> 6 & 31, width = (u->imm >> 11) + 1u;
	bool new = u->gfx == SIM_GFX1030;
	bool known = id < sizeof(names) / sizeof(*names) && names[id] && (id < 20 || new) &&
		     !(id == 4 && new);

	separate(o);
	if (known)
		add(o, "hwreg(%s", names[id]);
	else
		add(o, "hwreg(%u", id);
	if (at || width != 32)
		add(o, ", %u, %u", at, width);
	add(o, ")");
}

static void sopk(struct out *o, const struct uop *u)
{
	const char *name = u->row->name;
	const struct opd *d = u->dst.kind ? &u->dst : &u->src[0];

	if (!strncmp(name, "s_setreg", 8)) {
		hwreg(o, u);
		separate(o);
		if (strstr(name, "imm32"))
			add(o, "0x%x", u->word[1]);
		else
			plain(o, u, d, T_B32);
		return;
	}
	if (strchr(u->row->shape, 'd')) {
		separate(o);
		plain(o, u, d, T_B32);
	}
	if (!strncmp(name, "s_getreg", 8)) {
		hwreg(o, u);
		return;
	}
	separate(o);
	if (strstr(name, "s_call") || strstr(name, "fork") || strstr(name, "subvector"))
		add(o, "%d", (int16_t)u->imm < 0 ? (int)u->imm : (int)u->imm);
	else
		add(o, "0x%x", u->imm);
}

static void waitcnt(struct out *o, const struct uop *u)
{
	unsigned int vm = (u->imm & 15) | (u->imm >> 14 & 3) << 4, exp = u->imm >> 4 & 7;
	bool new = u->gfx == SIM_GFX1030, any = false;
	unsigned int lgkm = u->imm >> 8 & (new ? 63 : 15), top = new ? 63 : 15;
	bool all = vm == 63 && exp == 7 && lgkm == top;

	if (vm != 63 || all) {
		add(o, " vmcnt(%u)", vm);
		any = true;
	}
	if (exp != 7 || all) {
		add(o, " expcnt(%u)", exp);
		any = true;
	}
	if (lgkm != top || all)
		add(o, " lgkmcnt(%u)", lgkm);
	(void)any;
}

static void sendmsg(struct out *o, const struct uop *u)
{
	static const char *const names[] = {
		[1] = "MSG_INTERRUPT",	  [4] = "MSG_SAVEWAVE",	       [5] = "MSG_STALL_WAVE_GEN",
		[6] = "MSG_HALT_WAVES",	  [7] = "MSG_ORDERED_PS_DONE", [9] = "MSG_GS_ALLOC_REQ",
		[10] = "MSG_GET_DOORBELL"
	};
	unsigned int id = u->imm & 15;

	if (id < sizeof(names) / sizeof(*names) && names[id] && u->imm == id)
		add(o, " sendmsg(%s)", names[id]);
	else
		add(o, " %u", u->imm);
}

static void gpr_idx(struct out *o, unsigned int bits)
{
	static const char *const names[] = { "SRC0", "SRC1", "SRC2", "DST" };
	const char *comma = "";

	if (bits > 15) {
		add(o, " 0x%x", bits);
		return;
	}
	add(o, " gpr_idx(");
	for (unsigned int i = 0; i < 4; i++) {
		if (!(bits >> i & 1))
			continue;
		add(o, "%s%s", comma, names[i]);
		comma = ",";
	}
	add(o, ")");
}

static void sopp(struct out *o, const struct uop *u)
{
	static const char *const hex[] = { "s_inst_prefetch", "s_clause", "s_round_mode",
					   "s_ttracedata_imm" };
	const char *name = u->row->name;

	if (!strcmp(name, "s_waitcnt")) {
		waitcnt(o, u);
		return;
	}
	if (!strncmp(name, "s_sendmsg", 9)) {
		sendmsg(o, u);
		return;
	}
	if (!strcmp(name, "s_endpgm")) {
		if (u->imm)
			add(o, " %u", u->imm);
		return;
	}
	for (unsigned int i = 0; i < 4; i++)
		if (!strcmp(name, hex[i])) {
			add(o, " 0x%x", u->imm);
			return;
		}
	if (!strcmp(name, "s_set_gpr_idx_mode"))
		gpr_idx(o, u->imm);
	else if (strchr(u->row->shape, 'i'))
		add(o, u->imm <= 64 || strstr(name, "branch") ? " %u" : " 0x%x", u->imm);
}

void isa_print(const struct uop *u, char *text, size_t room)
{
	struct out o = { .text = text, .room = room };

	if (!room)
		return;
	add(&o, "%s", u->row->name);
	switch (u->enc) {
	case SOPK:
		sopk(&o, u);
		break;
	case SOPP:
		sopp(&o, u);
		break;
	case SMEM:
		smem(&o, u);
		break;
	case MUBUF:
		mubuf(&o, u);
		break;
	case DS:
	case FLAT:
	case FLAT_RTN:
	case GLOBAL:
	case GLOBAL_RTN:
	case SCRATCH:
		memory(&o, u);
		break;
	default:
		operands(&o, u);
		if (!strcmp(u->row->name, "s_set_gpr_idx_on")) {
			add(&o, ",");
			gpr_idx(&o, u->word[0] >> 8 & 255);
		}
		if (u->enc == VOP3 || u->enc == VOP3P)
			vop3_tail(&o, u);
		else if (u->sdwa)
			sdwa_tail(&o, u);
		else if (u->dpp)
			dpp_tail(&o, u);
	}
}

static uint32_t decode(enum sim_gfx gfx, const uint8_t *code, size_t size, struct uop *u)
{
	uint32_t words[3];
	const char *why;

	memcpy(words, code, size < 12 ? size & ~3ull : 12);
	return isa_decode(gfx, gfx == SIM_GFX1030 ? 32 : 64, words, size / 4 < 3 ? size / 4 : 3, u, &why);
}

uint32_t sim_disassemble(enum sim_gfx gfx, const uint8_t *code, size_t size, uint64_t pc, char *text,
			 size_t room)
{
	struct uop u;
	uint32_t n = decode(gfx, code, size, &u);

	if (!n)
		return 0;
	u.pc = pc;
	if (u.enc >= SMEM && isa_memory_operands(&u))
		return 0;
	isa_print(&u, text, room);
	return n;
}

bool sim_executes(enum sim_gfx gfx, const uint8_t *code, size_t size)
{
	struct uop u;

	return decode(gfx, code, size, &u) && !isa_bind(&u);
}
