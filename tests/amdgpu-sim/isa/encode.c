/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * encode.c - see encode.h. Fields that the instruction has not stay zero; registers are drawn aligned, so that
 * most of what comes out is an instruction.
 */
#include <string.h>
#include "encode.h"

static uint32_t draw(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33) % below;
}

static bool has(const struct row *row, char letter)
{
	return strchr(row->shape, letter) != NULL;
}

static bool mod(const struct row *row, const char *name)
{
	return strstr(row->mods, name) != NULL;
}

static uint32_t scalar(uint64_t *seed)
{
	static const uint32_t special[] = { 106, 124, 126, 102, 104 };

	return draw(seed, 6) ? draw(seed, 23) * 4 : special[draw(seed, 3)];
}

static uint32_t vector(uint64_t *seed)
{
	return draw(seed, 54) * 4;
}

static uint32_t source(uint64_t *seed, bool literal)
{
	switch (draw(seed, 8)) {
	case 0:
		return 128 + draw(seed, 81);
	case 1:
		return 240 + draw(seed, 9);
	case 2:
		return literal ? 255 : 251 + draw(seed, 3);
	case 3:
	case 4:
		return scalar(seed);
	default:
		return 256 + vector(seed);
	}
}

static uint32_t scalar_source(uint64_t *seed)
{
	uint32_t x = source(seed, true);

	return x >= 256 ? 4 * draw(seed, 23) : x;
}

static unsigned int vop(const struct row *row, enum sim_gfx gfx, uint64_t *seed, uint32_t w[3])
{
	unsigned int plain = row->enc == VOP1_SDWA || row->enc == VOP1_DPP   ? VOP1
			     : row->enc == VOP2_SDWA || row->enc == VOP2_DPP ? VOP2
			     : row->enc == VOPC_SDWA			     ? VOPC
									     : row->enc;
	uint32_t head = plain == VOP1	? 0x7e000000u | (uint32_t)row->op << 9
			: plain == VOPC ? 0x7c000000u | (uint32_t)row->op << 17
					: (uint32_t)row->op << 25;

	if (plain != VOPC && has(row, 'd'))
		head |= vector(seed) << 17;
	if (plain == VOP1 && has(row, 'q'))
		head |= scalar(seed) << 17;
	if (plain != VOP1)
		head |= vector(seed) << 9;
	if (plain == row->enc) {
		uint32_t src = has(row, 'a') ? source(seed, !has(row, 'L')) : 0;

		w[0] = head | src;
		w[1] = draw(seed, 1u << 31);
		return src == 255 || has(row, 'L') ? 2 : 1;
	}
	if (row->enc == VOP1_DPP || row->enc == VOP2_DPP) {
		static const uint16_t controls[] = { 0x1b,  0xe4,  0x101, 0x11f, 0x125, 0x130, 0x134,
						     0x138, 0x13c, 0x140, 0x141, 0x142, 0x143 };
		bool eight = gfx == SIM_GFX1030 && draw(seed, 3) == 0;
		uint32_t control = controls[draw(seed, gfx == SIM_GFX1030 ? 5 : 13)];

		w[0] = head | (eight ? 233 : 250);
		w[1] = vector(seed);
		if (eight) {
			w[1] |= draw(seed, 1 << 24) << 8;
			return 2;
		}
		w[1] |= control << 8 | draw(seed, 2) << 19 | draw(seed, 256) << 24;
		w[1] |= (mod(row, "n0") ? draw(seed, 4) << 20 : 0) |
			(mod(row, "n1") ? draw(seed, 4) << 22 : 0);
		return 2;
	}
	w[0] = head | 249;
	w[1] = vector(seed) | draw(seed, 7) << 16;
	if (plain != VOP1)
		w[1] |= draw(seed, 7) << 24;
	if (plain != VOPC)
		w[1] |= draw(seed, 7) << 8 | draw(seed, 3) << 11;
	if (mod(row, "n0"))
		w[1] |= draw(seed, 4) << 20;
	if (mod(row, "n1"))
		w[1] |= draw(seed, 4) << 28;
	if (mod(row, "x0"))
		w[1] |= draw(seed, 2) << 19;
	if (mod(row, "x1"))
		w[1] |= draw(seed, 2) << 27;
	if (plain != VOPC && mod(row, "clamp"))
		w[1] |= draw(seed, 2) << 13;
	if (plain != VOPC && mod(row, "omod"))
		w[1] |= draw(seed, 4) << 14;
	return 2;
}

static unsigned int vop3(const struct row *row, enum sim_gfx gfx, uint64_t *seed, uint32_t w[3])
{
	bool new = gfx == SIM_GFX1030;
	static const char letters[] = "abc";
	static const char *const mods[][3] = { { "n0", "a0", "s0" },
					       { "n1", "a1", "s1" },
					       { "n2", "a2", "s2" } };

	w[0] = (row->enc == VOP3P ? new ? 0xcc000000u : 0xd3800000u
		: new		  ? 0xd4000000u
				  : 0xd0000000u) |
	       (uint32_t)row->op << 16;
	w[1] = 0;
	if (has(row, 'd'))
		w[0] |= vector(seed);
	else if (has(row, 'q'))
		w[0] |= scalar(seed);
	if (has(row, 'p'))
		w[0] |= scalar(seed) << 8;
	for (unsigned int i = 0; i < 3; i++) {
		uint32_t src;

		if (!has(row, letters[i]))
			continue;
		src = i == 2 && strstr(row->shape, "cm") ? scalar(seed)
		      : strstr(row->name, "lane")	 ? (i ? 4 * draw(seed, 20) : 256 + vector(seed))
							 : source(seed, false);
		w[1] |= src << 9 * i;
		if (mod(row, mods[i][0]) && !draw(seed, 3))
			w[1] |= 1u << (29 + i);
		if (mod(row, mods[i][1]) && !draw(seed, 3) && !has(row, 'p'))
			w[0] |= 1u << (8 + i);
		if (mod(row, mods[i][2]) && !draw(seed, 3) && !has(row, 'p'))
			w[0] |= 1u << (11 + i);
		if (row->enc == VOP3P && (strncmp(row->name, "v_accvgpr", 9) != 0) && draw(seed, 4)) {
			if (i < 2)
				w[1] |= 1u << (27 + i);
			else
				w[0] |= 1u << 14;
		}
	}
	if (mod(row, "clamp") && !draw(seed, 3))
		w[0] |= 1u << 15;
	if (mod(row, "omod") && row->enc == VOP3 && !draw(seed, 3))
		w[1] |= draw(seed, 4) << 27;
	return 2;
}

static unsigned int flat(const struct row *row, enum sim_gfx gfx, uint64_t *seed, uint32_t w[3])
{
	bool new = gfx == SIM_GFX1030;
	unsigned int seg = row->enc == SCRATCH ? 1 : row->enc == GLOBAL || row->enc == GLOBAL_RTN ? 2 : 0;
	uint32_t saddr = seg ? new ? 125 : 127 : 0;
	bool rtn = row->enc == FLAT_RTN || row->enc == GLOBAL_RTN, atomic = strstr(row->name, "atomic");

	if (seg && draw(seed, 2))
		saddr = draw(seed, 24) * 4;
	if (!seg)
		saddr = new ? 125 : 0;
	w[0] = 0xdc000000u | (uint32_t)row->op << 18 | seg << 14;
	w[0] |= rtn ? 1u << 16 : atomic ? 0 : draw(seed, 2) << 16;
	w[0] |= draw(seed, 2) << 17;
	if (seg || !new)
		w[0] |= draw(seed, new || !seg ? 2048 : 8192);
	w[1] = (has(row, 'A') ? vector(seed) : 0) | (has(row, 'e') ? vector(seed) << 8 : 0) | saddr << 16 |
	       (has(row, 'd') ? vector(seed) << 24 : 0);
	if (seg == 1 && saddr != 125 && saddr != 127)
		w[1] &= ~255u;
	return 2;
}

unsigned int encode_row(const struct row *row, enum sim_gfx gfx, uint64_t *seed, uint32_t w[3])
{
	bool new = gfx == SIM_GFX1030;
	uint32_t op = row->op;

	memset(w, 0, 12);
	switch (row->enc) {
	case SOP1:
		w[0] = 0xbe800000 | op << 8 | (has(row, 'd') ? scalar(seed) << 16 : 0) |
		       (has(row, 'a') ? scalar_source(seed) : 0);
		w[1] = draw(seed, 1u << 31);
		return has(row, 'a') && (w[0] & 255) == 255 ? 2 : 1;
	case SOP2:
	case SOPC: {
		uint32_t a = scalar_source(seed), b = scalar_source(seed);

		if (a == 255 && b == 255)
			b = 4;
		if (!strcmp(row->name, "s_set_gpr_idx_on"))
			b &= 15;
		w[0] = (row->enc == SOP2 ? 0x80000000 | op << 23 : 0xbf000000 | op << 16) | a | b << 8 |
		       (has(row, 'd') ? scalar(seed) << 16 : 0);
		w[1] = draw(seed, 1u << 31);
		return a == 255 || b == 255 ? 2 : 1;
	}
	case SOPK:
		w[0] = 0xb0000000 | op << 23 | (has(row, 'd') ? scalar(seed) << 16 : 0) | draw(seed, 0x10000);
		w[1] = draw(seed, 1u << 31);
		return has(row, 'L') ? 2 : 1;
	case SOPP:
		w[0] = 0xbf800000 | op << 16 | (has(row, 'i') ? draw(seed, 0x10000) : 0);
		return 1;
	case VOP3:
	case VOP3P:
		return vop3(row, gfx, seed, w);
	case SMEM:
		w[0] = (new ? 0xf4000000u : 0xc0020000u) | op << 18 |
		       (has(row, 'd') ? draw(seed, 5) * 16 << 6 : 0) |
		       (has(row, 'S') ? draw(seed, 20) * 2 : 0);
		w[1] = has(row, 'S') ? draw(seed, 1 << 20) : 0;
		if (has(row, 'd') && has(row, 'S') && draw(seed, 2))
			w[0] |= 1u << 16;
		if (!has(row, 'S'))
			w[0] &= ~0x20000u;
		if (new)
			w[1] |= (has(row, 'S') && draw(seed, 2) ? draw(seed, 100)
				 : has(row, 'S')		? 125u
								: 0)
				<< 25;
		else if (has(row, 'S') && !draw(seed, 3))
			w[0] &= ~0x20000u, w[1] = draw(seed, 100);
		return 2;
	case DS:
		w[0] = 0xd8000000 | op << (new ? 18 : 17) | (*row->shape ? draw(seed, 0x10000) : 0);
		w[1] = (has(row, 'A') ? vector(seed) : 0) | (has(row, 'e') ? vector(seed) << 8 : 0) |
		       (has(row, 'f') ? vector(seed) << 16 : 0) | (has(row, 'd') ? vector(seed) << 24 : 0);
		return 2;
	case FLAT:
	case FLAT_RTN:
	case GLOBAL:
	case GLOBAL_RTN:
	case SCRATCH:
		return flat(row, gfx, seed, w);
	case MUBUF:
		w[0] = 0xe0000000 | op << 18;
		if (has(row, 'd')) {
			w[0] |= draw(seed, 4096) | draw(seed, 8) << 12;
			w[1] = (w[0] & 0x3000 ? vector(seed) : 0) | vector(seed) << 8 | draw(seed, 20) << 16 |
			       scalar(seed) << 24;
		}
		return 2;
	default:
		return vop(row, gfx, seed, w);
	}
}
