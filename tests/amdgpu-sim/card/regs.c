/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * regs.c - compute registers that a stream may set (SET_SH_REG), which bits they have, and which a dispatch needs.
 *
 * What a stream has not set holds what another client of the queue left there. So a dispatch that relies on one is
 * wrong, however often it works: it is refused. From Linux' gc_9_0_sh_mask.h, gc_10_3_0_sh_mask.h, Mesa's register
 * tables. Numbers are dwords behind 0x2c00.
 */
#include "card.h"

#define G900 1 /* and gfx906 */
#define G90A 2
#define G10  4
#define G908 8
#define G9   (G900 | G908)
#define ALL  (G9 | G90A | G10)

struct reg {
	uint16_t number, count; /* a run of equal ones */
	const char *name;
	uint32_t bits;
	uint8_t has, needs;
};

static const struct reg regs[] = {
	{ 0x204, 3, "COMPUTE_START_{X,Y,Z}", 0xffffffff, ALL, ALL },
	{ 0x207, 3, "COMPUTE_NUM_THREAD_{X,Y,Z}", 0xffffffff, ALL, ALL },
	{ 0x20a, 1, "COMPUTE_PIPELINESTAT_ENABLE", 0x1, ALL, 0 },
	{ 0x20b, 1, "COMPUTE_PERFCOUNT_ENABLE", 0x1, ALL, 0 },
	{ 0x20c, 1, "COMPUTE_PGM_LO", 0xffffffff, ALL, ALL },
	{ 0x20d, 1, "COMPUTE_PGM_HI", 0xff, ALL, ALL },
	/* without PRIV, DEBUG_MODE, BULKY, CDBG_USER: not a user's */
	{ 0x212, 1, "COMPUTE_PGM_RSRC1", 0x04afffff, G9 | G90A, G9 | G90A },
	{ 0x212, 1, "COMPUTE_PGM_RSRC1", 0xe4affc3f, G10, G10 }, /* SGPRS is reserved */
	{ 0x213, 1, "COMPUTE_PGM_RSRC2", 0x7fffffff, ALL, ALL },
	{ 0x215, 1, "COMPUTE_RESOURCE_LIMITS", 0x7ffff3ff, ALL, ALL },
	{ 0x216, 2, "COMPUTE_STATIC_THREAD_MGMT_SE{0,1}", 0xffffffff, ALL, ALL },
	{ 0x218, 1, "COMPUTE_TMPRING_SIZE", 0x01ffffff, ALL, ALL },
	{ 0x219, 2, "COMPUTE_STATIC_THREAD_MGMT_SE{2,3}", 0xffffffff, ALL, ALL },
	{ 0x21b, 3, "COMPUTE_RESTART_{X,Y,Z}", 0xffffffff, ALL, 0 },
	{ 0x21e, 1, "COMPUTE_THREAD_TRACE_ENABLE", 0x1, ALL, 0 },
	{ 0x224, 4, "COMPUTE_USER_ACCUM_{0..3}", 0x7f, G10, G10 },
	/* by v9_structs.h: an MQD's dwords 39 to 42 */
	{ 0x226, 4, "COMPUTE_STATIC_THREAD_MGMT_SE{4..7}", 0xffffffff, G908 | G90A, G908 | G90A },
	{ 0x228, 1, "COMPUTE_PGM_RSRC3", 0xf, G10, G10 },
	{ 0x22a, 1, "COMPUTE_SHADER_CHKSUM", 0xffffffff, G10, G10 },
	{ 0x22d, 1, "COMPUTE_PGM_RSRC3", 0x1003f, G90A, G90A },
	{ 0x240, 16, "COMPUTE_USER_DATA_{0..15}", 0xffffffff, ALL,
	  0 }, /* as many as RSRC2 says: dispatch.c */
	{ 0x27d, 1, "COMPUTE_DISPATCH_TUNNEL", 0x7ff, G10, G10 },
};

static uint8_t generation(void)
{
	if (sim.chip->pm4 == SIM_PM4_GFX10)
		return G10;
	if (sim.chip->gfx == SIM_GFX90A)
		return G90A;
	return sim.chip->gfx == SIM_GFX908 ? G908 : G900;
}

bool sim_reg_is_set(const struct sim_exec *exec, uint32_t number)
{
	return exec->sh_set[number / 32] >> (number % 32) & 1;
}

bool sim_reg_set(struct sim_exec *exec, uint32_t number, uint32_t value)
{
	/* What others have is not in the table. */
	if (!sim.chip->runs && number < sizeof(exec->sh) / sizeof(*exec->sh))
		return true;
	for (size_t i = 0; i < sizeof(regs) / sizeof(*regs); i++) {
		const struct reg *reg = &regs[i];

		if (number < reg->number || number >= reg->number + reg->count || !(reg->has & generation()))
			continue;
		if (value & ~reg->bits)
			return sim_trouble(exec, SIM_TROUBLE_RING,
					   "SET_SH_REG: %s (%#x) = %#x has reserved bits %#x", reg->name,
					   number, value, value & ~reg->bits);
		exec->sh[number] = value;
		exec->sh_set[number / 32] |= 1u << (number % 32);
		return true;
	}
	return sim_trouble(exec, SIM_TROUBLE_RING,
			   "SET_SH_REG: %#x is no compute register of %s that a stream may set", number,
			   sim.chip->name);
}

const char *sim_reg_missing(const struct sim_exec *exec)
{
	for (size_t i = 0; i < sizeof(regs) / sizeof(*regs); i++)
		for (uint32_t n = 0; n < regs[i].count && (regs[i].needs & generation()); n++)
			if (!sim_reg_is_set(exec, regs[i].number + n))
				return regs[i].name;
	return NULL;
}
