/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decode.c - the fields of an instruction, by its encoding.
 *
 * Each encoding has a function that takes its fields apart; the row's shape says which of them are operands, and
 * of how many dwords. A field that has no meaning for the instruction has to be zero, as LLVM's disassembler
 * wants it: what it cannot print is no instruction here either.
 */
#include <string.h>
#include "rows.h"

struct fields {
	/* by letter of the shape: the code, as a source of nine bits (VGPRs from 256 on), or -1 */
	int of[128];
	bool vgpr[128];
};

static uint32_t bits(uint32_t word, unsigned int high, unsigned int low)
{
	return word >> low & (uint32_t)((1ull << (high - low + 1)) - 1);
}

static void put(struct fields *f, char letter, int code, bool vgpr)
{
	f->of[(unsigned char)letter] = code;
	f->vgpr[(unsigned char)letter] = vgpr;
}

static bool mod(const struct row *row, const char *name)
{
	return strstr(row->mods, name) != NULL;
}

/* Modifiers that are set though the instruction has no such. */
static bool mods_fit(const struct uop *u)
{
	static const char *const neg[] = { "n0", "n1", "n2" }, *const abs[] = { "a0", "a1", "a2" },
				 *const sel[] = { "s0", "s1", "s2", "sd" };

	for (unsigned int i = 0; i < 3; i++)
		if ((u->neg >> i & 1 && !mod(u->row, neg[i])) || (u->abs >> i & 1 && !mod(u->row, abs[i])))
			return false;
	for (unsigned int i = 0; i < 4 && u->enc == VOP3; i++)
		if (u->op_sel >> i & 1 && !mod(u->row, sel[i]))
			return false;
	return !(u->clamp && !mod(u->row, "clamp")) && !(u->omod && !mod(u->row, "omod"));
}

static unsigned int mask_dwords(const struct uop *u)
{
	return u->wave == 64 ? 2 : 1;
}

/* One operand from its field. */
static const char *operand(const struct uop *u, const struct fields *f, char letter, struct opd *o)
{
	int code = f->of[(unsigned char)letter];

	if (code < 0)
		return "an operand without a field";
	if (f->vgpr[(unsigned char)letter] || code >= 256) {
		o->kind = OPD_VGPR;
		o->code = (uint16_t)(code & 255);
		return o->code + o->size > 256 ? "a vector register beyond the last" : NULL;
	}
	o->code = (uint16_t)code;
	if (code < 128) {
		o->kind = u->gfx == SIM_GFX1030 && code == 125 ? OPD_NULL : OPD_SGPR;
		if (u->gfx != SIM_GFX1030 && code == 125)
			return "a reserved scalar register";
		if (o->size > 1 && code == 124)
			return "m0 and what is behind it";
		if (o->kind == OPD_SGPR && o->size > 1 && code & (o->size > 2 ? 3 : 1))
			return "a scalar register that is not aligned";
		if (code + o->size > 128)
			return "a scalar register beyond the last";
	} else if (code <= 208 || (code >= 240 && code <= 248)) {
		o->kind = OPD_CONST;
	} else if (code == 255) {
		o->kind = OPD_CONST;
		o->literal = 1;
	} else if ((code >= 235 && code <= 239) || (code >= 251 && code <= 253)) {
		o->kind = OPD_SPECIAL;
	} else {
		return "a reserved source";
	}
	return NULL;
}

/* Instructions that take registers of one kind only where the field could name more. */
static bool kinds_fit(const struct uop *u)
{
	static const char *const registers[] = { "s_setpc_b64", "s_cbranch_join", "s_rfe_b64",
						 "s_movrels_b32", "s_movrels_b64" };

	for (unsigned int i = 0; i < sizeof(registers) / sizeof(*registers); i++)
		if (u->src[0].kind != OPD_SGPR && !strcmp(u->row->name, registers[i]))
			return false;
	if (!strncmp(u->row->name, "v_writelane", 11))
		return u->src[0].kind != OPD_VGPR && u->src[1].kind != OPD_VGPR;
	if (!strncmp(u->row->name, "v_read", 6))
		return u->src[0].kind == OPD_VGPR && u->src[1].kind != OPD_VGPR;
	if (!strncmp(u->row->name, "v_movrels", 9) && u->enc == VOP3 && u->src[0].kind == OPD_SPECIAL)
		return true; /* printed by LLVM, refused when it is bound */
	if (!strcmp(u->row->name, "v_accvgpr_read_b32") && u->src[0].kind == OPD_SPECIAL)
		return true;
	if (!strncmp(u->row->name, "v_swap", 6) || !strncmp(u->row->name, "v_movrels", 9) ||
	    !strcmp(u->row->name, "v_accvgpr_read_b32") || !strcmp(u->row->name, "v_accvgpr_mov_b32"))
		return u->src[0].kind == OPD_VGPR;
	if (u->gfx == SIM_GFX908 && u->enc == MUBUF && u->glc) /* these give nothing back there */
		return !strstr(u->row->name, "atomic_add_f32") && !strstr(u->row->name, "atomic_pk");
	if (!strcmp(u->row->name, "v_mqsad_u32_u8"))
		return u->src[2].kind == OPD_VGPR || u->src[2].kind == OPD_SPECIAL;
	if (u->gfx == SIM_GFX90A && u->enc >= VOP1_DPP && u->enc <= VOP2_DPP &&
	    (u->dpp_ctrl & 0x1f0) != 0x150)
		return u->dst.size == 1 && u->src[0].size == 1;
	for (unsigned int i = 1; i < 3; i++)
		if (u->src[i].mask && u->src[i].code >= 126)
			return false;
	return true;
}

/* The operands that the row's shape names; sources of vector and scalar instructions in order. */
static const char *operands(struct uop *u, const struct fields *f)
{
	const char *at = u->row->shape, *why = NULL;
	bool first = true, memory = u->enc >= SMEM;

	while (*at && !why) {
		struct opd *o;
		char letter = *at;

		if (!strncmp(at, "vcc", 3)) {
			bool result = first || (u->enc != VOPC && u->enc != VOPC_SDWA && !u->sources);

			o = result ? (first ? &u->dst : &u->sdst) : &u->src[u->sources++];
			*o = (struct opd){
				.kind = OPD_SGPR, .size = (uint8_t)mask_dwords(u), .code = 106, .mask = 1
			};
			if (f->of['q'] >= 0 && first)
				o->code = (uint16_t)f->of['q'];
			at += 3;
		} else if (letter == 'i') {
			at++;
		} else if (letter == 'L') {
			u->src[u->sources++] =
				(struct opd){ .kind = OPD_CONST, .size = 1, .code = 255, .literal = 1 };
			at++;
		} else {
			struct opd fresh = { 0 };
			unsigned int size = 0;

			at++;
			if (*at == 'm') {
				size = mask_dwords(u);
				fresh.mask = 1;
				at++;
			}
			while (*at >= '0' && *at <= '9')
				size = size * 10 + (unsigned int)(*at++ - '0');
			if (*at == 'a') {
				fresh.acc = 1;
				at++;
			}
			fresh.size = (uint8_t)size;
			if (letter == 'd' || letter == 'q')
				o = &u->dst;
			else if (letter == 'p')
				o = &u->sdst;
			else if (!memory)
				o = &u->src[u->sources++];
			else
				o = &u->src[letter == 'A'   ? 0
					    : letter == 'e' ? 1
					    : letter == 'f' ? 2
					    : letter == 'O' ? 4
							    : 3];
			why = operand(u, f, letter, &fresh);
			*o = fresh;
		}
		while (*at == ' ')
			at++;
		first = false;
		if (u->sources > 4)
			return "too many operands";
	}
	return why;
}

/* Fields that are not named have to be zero. */
static bool unused_zero(const struct uop *u, char letter, uint32_t field)
{
	return !field || strchr(u->row->shape, letter);
}

static const char *scalar_fields(struct uop *u, struct fields *f, uint32_t w)
{
	switch (u->enc) {
	case SOP1:
		put(f, 'd', (int)bits(w, 22, 16), false);
		put(f, 'a', (int)bits(w, 7, 0), false);
		if (!unused_zero(u, 'd', bits(w, 22, 16)) || !unused_zero(u, 'a', bits(w, 7, 0)))
			return "a reserved field";
		break;
	case SOP2:
		put(f, 'd', (int)bits(w, 22, 16), false);
		/* fall through */
	case SOPC:
		put(f, 'a', (int)bits(w, 7, 0), false);
		put(f, 'b', (int)bits(w, 15, 8), false);
		break;
	case SOPK:
		put(f, 'd', (int)bits(w, 22, 16), false);
		u->imm = (uint16_t)w;
		break;
	default:
		u->imm = (uint16_t)w;
	}
	return NULL;
}

static void sdwa_fields(struct uop *u, struct fields *f, uint32_t x)
{
	u->sdwa = 1;
	put(f, 'a', (int)(bits(x, 7, 0) + (x >> 23 & 1 ? 0 : 256)), false);
	u->sel[1] = (uint8_t)bits(x, 18, 16);
	u->sel[2] = (uint8_t)bits(x, 26, 24);
	u->sext = (uint8_t)(bits(x, 19, 19) | bits(x, 27, 27) << 1);
	u->neg = (uint8_t)(bits(x, 20, 20) | bits(x, 28, 28) << 1);
	u->abs = (uint8_t)(bits(x, 21, 21) | bits(x, 29, 29) << 1);
	if (x >> 31)
		f->of['b'] &= 255;
	if (u->enc == VOPC_SDWA) {
		if (x >> 15 & 1)
			put(f, 'q', (int)bits(x, 14, 8), false);
		u->sel[0] = 6;
		return;
	}
	u->sel[0] = (uint8_t)bits(x, 10, 8);
	u->unused = (uint8_t)bits(x, 12, 11);
	u->clamp = (uint8_t)bits(x, 13, 13);
	u->omod = (uint8_t)bits(x, 15, 14);
}

static void dpp_fields(struct uop *u, struct fields *f, uint32_t x)
{
	u->dpp = 1;
	put(f, 'a', (int)bits(x, 7, 0) + 256, false);
	u->dpp_ctrl = (uint16_t)bits(x, 16, 8);
	u->fi = (uint8_t)bits(x, 18, 18);
	u->bound_ctrl = (uint8_t)bits(x, 19, 19);
	u->neg = (uint8_t)(bits(x, 20, 20) | bits(x, 22, 22) << 1);
	u->abs = (uint8_t)(bits(x, 21, 21) | bits(x, 23, 23) << 1);
	u->bank_mask = (uint8_t)bits(x, 27, 24);
	u->row_mask = (uint8_t)bits(x, 31, 28);
}

static const char *vector_fields(struct uop *u, struct fields *f, const uint32_t *w)
{
	put(f, 'a', (int)bits(w[0], 8, 0), false);
	put(f, 'b', (int)bits(w[0], 16, 9) + 256, false);
	put(f, 'd', (int)bits(w[0], 24, 17) + 256, false);
	if (u->enc == VOP1 || u->enc == VOP1_SDWA || u->enc == VOP1_DPP)
		put(f, 'q', (int)bits(w[0], 24, 17), false);
	if (u->dpp == 8) {
		put(f, 'a', (int)bits(w[1], 7, 0) + 256, false);
		u->dpp8 = w[1] >> 8;
		u->row_mask = u->bank_mask = 15;
	} else if (u->enc >= VOP1_SDWA && u->enc <= VOPC_SDWA) {
		sdwa_fields(u, f, w[1]);
	} else if (u->enc == VOP1_DPP || u->enc == VOP2_DPP) {
		dpp_fields(u, f, w[1]);
	} else if (!*u->row->shape && w[0] & 0x1fe01ff && u->enc == VOP1) {
		return "a reserved field";
	}
	return NULL;
}

static const char *vop3_fields(struct uop *u, struct fields *f, const uint32_t *w)
{
	bool sdst = strchr(u->row->shape, 'p') != NULL;

	put(f, 'd', (int)bits(w[0], 7, 0) + 256, false);
	put(f, 'q', (int)bits(w[0], 7, 0), false);
	put(f, 'a', (int)bits(w[1], 8, 0), false);
	put(f, 'b', (int)bits(w[1], 17, 9), false);
	put(f, 'c', (int)bits(w[1], 26, 18), false);
	u->clamp = (uint8_t)bits(w[0], 15, 15);
	u->neg = (uint8_t)bits(w[1], 31, 29);
	if (sdst) {
		put(f, 'p', (int)bits(w[0], 14, 8), false);
	} else {
		u->abs = (uint8_t)bits(w[0], 10, 8);
		u->op_sel = (uint8_t)bits(w[0], 14, 11);
	}
	if (u->enc == VOP3P) {
		u->op_sel = (uint8_t)bits(w[0], 13, 11);
		u->op_sel_hi = (uint8_t)(bits(w[1], 28, 27) | bits(w[0], 14, 14) << 2);
	} else {
		u->omod = (uint8_t)bits(w[1], 28, 27);
	}
	if (!unused_zero(u, 'a', bits(w[1], 8, 0)) || !unused_zero(u, 'b', bits(w[1], 17, 9)) ||
	    !unused_zero(u, 'c', bits(w[1], 26, 18)) ||
	    /* v_cmpx of gfx10 names exec, or nothing, there */
	    (!strchr(u->row->shape, 'd') && bits(w[0], 7, 0) != 126 &&
	     !unused_zero(u, 'q', bits(w[0], 7, 0))))
		return "a reserved field";
	return NULL;
}

static int32_t sign(uint32_t value, unsigned int width)
{
	return (int32_t)(value << (32 - width)) >> (32 - width);
}

static void smem_fields(struct uop *u, struct fields *f, const uint32_t *w)
{
	put(f, 'd', (int)bits(w[0], 12, 6), false);
	put(f, 'S', (int)bits(w[0], 5, 0) << 1, false);
	u->glc = (uint8_t)bits(w[0], 16, 16);
	u->offset = sign(bits(w[1], 20, 0), 21);
	u->src[4].kind = OPD_NONE;
	if (u->gfx == SIM_GFX1030) {
		u->dlc = (uint8_t)bits(w[0], 14, 14);
		if (bits(w[1], 31, 25) != 125)
			u->src[4] = (struct opd){ .kind = OPD_SGPR,
						  .size = 1,
						  .code = (uint16_t)bits(w[1], 31, 25) };
	} else if (bits(w[0], 14, 14)) { /* both a register and an immediate, or the register alone */
		u->src[4] = (struct opd){ .kind = OPD_SGPR, .size = 1, .code = (uint16_t)bits(w[1], 31, 25) };
		if (!bits(w[0], 17, 17))
			u->offset = 0;
	} else if (!bits(w[0], 17, 17)) { /* the register's number is in the field of the offset */
		u->src[4] = (struct opd){ .kind = OPD_SGPR, .size = 1, .code = (uint16_t)bits(w[1], 6, 0) };
		u->offset = 0;
	}
}

static void ds_fields(struct uop *u, struct fields *f, const uint32_t *w)
{
	put(f, 'A', (int)bits(w[1], 7, 0), true);
	put(f, 'e', (int)bits(w[1], 15, 8), true);
	put(f, 'f', (int)bits(w[1], 23, 16), true);
	put(f, 'd', (int)bits(w[1], 31, 24), true);
	u->imm = (uint16_t)w[0];
	u->gds = (uint8_t)(w[0] >> (u->gfx == SIM_GFX1030 ? 17 : 16) & 1);
}

static const char *flat_fields(struct uop *u, struct fields *f, const uint32_t *w)
{
	bool new = u->gfx == SIM_GFX1030;
	uint32_t saddr = bits(w[1], 22, 16);

	put(f, 'A', (int)bits(w[1], 7, 0), true);
	put(f, 'e', (int)bits(w[1], 15, 8), true);
	put(f, 'd', (int)bits(w[1], 31, 24), true);
	u->seg = (uint8_t)bits(w[0], 15, 14);
	u->glc = (uint8_t)bits(w[0], 16, 16);
	u->slc = (uint8_t)bits(w[0], 17, 17);
	u->lds = (uint8_t)bits(w[0], 13, 13);
	u->dlc = new ? (uint8_t)bits(w[0], 12, 12) : 0;
	u->offset = new ? sign(bits(w[0], 11, 0), 12) : sign(bits(w[0], 12, 0), 13);
	if (!u->seg) /* unsigned; gfx10.1 ignores it, gfx10.3 does not */
		u->offset = (int32_t)bits(w[0], new ? 10 : 11, 0);
	if (bits(w[1], 23, 23))
		return "an accumulation register as data";
	if (u->seg == 1 && new && saddr == 127)
		u->idxen = 1; /* no address at all */
	if (u->seg && saddr != 127 && !(new && saddr == 125)) {
		u->src[3] = (struct opd){ .kind = OPD_SGPR,
					  .size = u->seg == 2 ? 2 : 1,
					  .code = (uint16_t)saddr };
		if (saddr > 107)
			return "a scalar address that is no register";
	}
	return NULL;
}

static const char *mubuf_fields(struct uop *u, struct fields *f, const uint32_t *w)
{
	bool new = u->gfx == SIM_GFX1030;

	put(f, 'A', (int)bits(w[1], 7, 0), true);
	put(f, 'd', (int)bits(w[1], 15, 8), true);
	put(f, 'R', (int)bits(w[1], 20, 16) << 2, false);
	put(f, 'O', (int)bits(w[1], 31, 24), false);
	u->offset = (int32_t)bits(w[0], 11, 0);
	u->offen = (uint8_t)bits(w[0], 12, 12);
	u->idxen = (uint8_t)bits(w[0], 13, 13);
	u->glc = (uint8_t)bits(w[0], 14, 14);
	u->dlc = new ? (uint8_t)bits(w[0], 15, 15) : 0;
	u->lds = (uint8_t)bits(w[0], 16, 16);
	u->slc = (uint8_t)(new ? bits(w[1], 22, 22) : bits(w[0], 17, 17));
	u->tfe = (uint8_t)bits(w[1], 23, 23);
	if (strchr(u->row->shape, 'd') && (u->offen || u->idxen)) {
		u->src[0] = (struct opd){ .kind = OPD_VGPR,
					  .size = u->offen && u->idxen ? 2 : 1,
					  .code = (uint16_t)bits(w[1], 7, 0) };
	}
	return u->tfe || u->lds ? "a buffer instruction with tfe or lds" : NULL;
}

/* Which encoding and opcode; words of the instruction without a literal. */
static unsigned int classify(bool new, const uint32_t *w, unsigned int *enc, unsigned int *op, uint8_t *dpp)
{
	uint32_t x = w[0];

	if (!(x >> 31)) {
		unsigned int six = bits(x, 30, 25), src = bits(x, 8, 0), plain, sdwa, by;

		plain = six == 63 ? VOP1 : six == 62 ? VOPC : VOP2;
		sdwa = six == 63 ? VOP1_SDWA : six == 62 ? VOPC_SDWA : VOP2_SDWA;
		by = six == 63 ? VOP1_DPP : six == 62 ? ENCODINGS : VOP2_DPP;
		*op = six == 63 ? bits(x, 16, 9) : six == 62 ? bits(x, 24, 17) : six;
		*dpp = new && (src == 233 || src == 234) ? 8 : 0;
		*enc = src == 249 ? sdwa : src == 250 || *dpp ? by : plain;
		return *enc == plain ? 1 : 2;
	}
	if (x >> 30 == 2) {
		uint32_t top = x >> 23;

		*enc = top == 0x17d	? SOP1
		       : top == 0x17e	? SOPC
		       : top == 0x17f	? SOPP
		       : x >> 28 == 0xb ? SOPK
					: SOP2;
		*op = *enc == SOP1		     ? bits(x, 15, 8)
		      : *enc == SOPC || *enc == SOPP ? bits(x, 22, 16)
		      : *enc == SOPK		     ? bits(x, 27, 23)
						     : bits(x, 29, 23);
		return 1;
	}
	switch (x >> 26) {
	case 0x30:
		*enc = new ? ENCODINGS : SMEM;
		*op = bits(x, 25, 18);
		break;
	case 0x3d:
		*enc = new ? SMEM : ENCODINGS;
		*op = bits(x, 25, 18);
		break;
	case 0x33:
		*enc = new && !bits(x, 25, 23) ? VOP3P : ENCODINGS;
		*op = bits(x, 22, 16);
		break;
	case 0x34:
		*enc = new ? ENCODINGS : x >> 23 == 0x1a7 ? VOP3P : VOP3;
		*op = *enc == VOP3P ? bits(x, 22, 16) : bits(x, 25, 16);
		break;
	case 0x35:
		*enc = new ? VOP3 : ENCODINGS;
		*op = bits(x, 25, 16);
		break;
	case 0x36:
		*enc = DS;
		*op = new ? bits(x, 25, 18) : bits(x, 24, 17);
		break;
	case 0x37:
		*enc = bits(x, 15, 14) == 0 ? FLAT : bits(x, 15, 14) == 1 ? SCRATCH : GLOBAL;
		*op = bits(x, 24, 18);
		if (bits(x, 25, 25) || bits(x, 15, 14) == 3)
			*enc = ENCODINGS;
		break;
	case 0x38:
		*enc = MUBUF;
		*op = bits(x, 24, 18);
		if (bits(x, 25, 25))
			*enc = ENCODINGS;
		break;
	default:
		*enc = ENCODINGS;
	}
	return 2;
}

static const char *fields_of(struct uop *u, struct fields *f, const uint32_t *words)
{
	switch (u->enc) {
	case SOP1:
	case SOP2:
	case SOPK:
	case SOPC:
	case SOPP:
		return scalar_fields(u, f, words[0]);
	case VOP3:
	case VOP3P:
		return vop3_fields(u, f, words);
	case SMEM:
		smem_fields(u, f, words);
		return NULL;
	case DS:
		ds_fields(u, f, words);
		return NULL;
	case FLAT:
	case FLAT_RTN:
	case GLOBAL:
	case GLOBAL_RTN:
	case SCRATCH:
		return flat_fields(u, f, words);
	case MUBUF:
		return mubuf_fields(u, f, words);
	default:
		return vector_fields(u, f, words);
	}
}

uint32_t isa_decode(enum sim_gfx gfx, uint32_t wave, const uint32_t *words, size_t count, struct uop *u,
		    const char **why)
{
	unsigned int enc = ENCODINGS, op = 0, need;
	bool literal = false;
	struct fields f;

	*why = "no such instruction";
	memset(u, 0, sizeof(*u));
	memset(&f, 0, sizeof(f));
	memset(f.of, 0xff, sizeof(f.of));
	if (!count)
		return 0;
	need = classify(gfx == SIM_GFX1030, words, &enc, &op, &u->dpp);
	if (enc == ENCODINGS || count < need)
		return 0;
	if ((enc == FLAT || enc == GLOBAL) && words[0] >> 16 & 1 && isa_row(gfx, enc + 1, op))
		enc++;
	u->row = isa_row(gfx, enc, op);
	if (!u->row)
		return 0;
	u->enc = (uint8_t)enc;
	u->gfx = (uint8_t)gfx;
	u->wave = (uint8_t)wave;
	u->sem = isa_sem(u->row);
	*why = fields_of(u, &f, words);
	if (*why)
		return 0;
	*why = operands(u, &f);
	if (*why)
		return 0;
	for (int i = 0; i < 6; i++)
		literal = literal || u->src[i].literal;
	literal = literal || (u->enc == SOPK && !strcmp(u->row->name, "s_setreg_imm32_b32"));
	if (literal && u->enc == VOP3 && gfx != SIM_GFX1030) {
		*why = "a literal in VOP3";
		return 0;
	}
	if (!kinds_fit(u)) {
		*why = "an operand of the wrong kind";
		return 0;
	}
	if (!mods_fit(u)) {
		*why = "a modifier that the instruction has not";
		return 0;
	}
	u->size = (uint8_t)(4 * (need + (literal ? 1 : 0)));
	if (count * 4 < u->size)
		return 0;
	for (uint32_t i = 0; i < u->size / 4; i++)
		u->word[i] = words[i];
	for (int i = 0; i < 6 && literal; i++)
		if (u->src[i].literal)
			u->src[i].value = words[need];
	return u->size;
}
