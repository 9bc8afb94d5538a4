/* SPDX-License-Identifier: BSD-3-Clause */
/* generations.c - the tables; generations.h says what the columns are and where they were read. */
#include <string.h>
#include "amdgpu/generations.h"

/* COMPUTE_PGM_RSRC1: VGPRS 5:0, SGPRS 9:6, FLOAT_MODE 19:12, DX10_CLAMP 21, IEEE_MODE 23, gfx10+: WGP_MODE 29,
 * MEM_ORDERED 30, FWD_PROGRESS 31. Never PRIORITY, PRIV, DEBUG_MODE, BULKY, CDBG_USER. */
#define RSRC1_GFX9  0x00aff3ffu
#define RSRC1_GFX10 0xe0aff03fu
#define RSRC1_GFX12 0xe00ff03fu

/* COMPUTE_PGM_RSRC2: SCRATCH_EN 0, USER_SGPR 5:1, TGID_X_EN 7. LDS_SIZE is the loader's to fill in. */
#define RSRC2 0x000000bfu

/* gfx90a, gfx942: ACCUM_OFFSET 5:0. gfx11: INST_PREF_SIZE 9:4. gfx12: 11:4. */
#define RSRC3_ACCUM 0x0000003fu
#define RSRC3_GFX11 0x000003f0u
#define RSRC3_GFX12 0x00000ff0u

/* Kernel descriptor, bytes 56..57. */
#define PROP_SCRATCH	  (1u << 0)
#define PROP_KERNARG	  (1u << 3)
#define PROP_FLAT_SCRATCH (1u << 5)
#define PROP_WAVE32	  (1u << 10)

/* COMPUTE_SHADER_EN 0, FORCE_START_AT_000 2, ORDER_MODE 6 (gfx9), CS_W32_EN 15. */
#define START_GFX9  0x00000045u
#define START_GFX10 0x00008005u

/* TC and TCL1 invalidated, TC written back, both scalar caches invalidated. */
#define COHER_GFX9 0x28c40000u
/* GLI, GLM, GLK, GLV, GL1, GL2 invalidated; GLM, GL2 written back. gfx12 has no GLM. */
#define GCR_GFX10 0x0000c3b1u
#define GCR_GFX12 0x0000c381u

/* In whole blocks of 256 bytes. */
#define SDMA_22_BITS 0x003fff00u
#define SDMA_30_BITS 0x3fffff00u

/* EF_AMDGPU_FEATURE_* of AMDGPUUsage.rst, from version 4 on; the machine, EF_AMDGPU_MACH_*, is in the low 8 bits. */
#define XNACK_ANY   0x100u
#define XNACK_OFF   0x200u
#define SRAMECC_ANY 0x400u

/*
 * No code for page faults that are retried (XNACK), which takes registers and time: all that a launch reaches is mapped
 * before it, and for these chips the driver has retries off (Linux: amdgpu_gmc_noretry_set()).
 */
#define GFX9(cpu)                                                                                           \
	.name = cpu, .features = "-xnack", .gfx = 9, .wave = 64, .vgpr_code = 4, .vgpr_alloc = 4,           \
	.vgpr_total = 256, .vgpr_max = 256, .sgpr_code = 8, .sgpr_max = 102, .waves = 10, .simds = 4,       \
	.lds_max = 65536, .lds_granule = 512, .scratch_max = 131056, .scratch_unit = 1024,                  \
	.scratch_waves_max = 0xfff, .scratch_wavesize_max = 0x1fff, .scratch_descriptor = true,             \
	.scratch_word1 = 0x80000000u, .scratch_word3 = 0x00e00000u, .flat_scratch_init = true,              \
	.rsrc1 = RSRC1_GFX9, .rsrc2 = RSRC2, .properties = PROP_SCRATCH | PROP_KERNARG | PROP_FLAT_SCRATCH, \
	.initiator = START_GFX9, .thread_mgmt = { 0x216, 0x217, 0x219, 0x21a }, .acquire = GP_ACQUIRE_GFX9, \
	.acquire_cntl = COHER_GFX9, .sdma = GP_SDMA_V4, .sdma_max = SDMA_22_BITS

/*
 * Masks of compute units where a core has eight shader engines: Linux sets them for Arcturus and Aldebaran (gfx_v9_0.c,
 * gfx_v9_4_2.c: their GPRs' initialisation). Where they are: v9_structs.h has an MQD's dwords 39 to 42 for them, and dword n
 * is register 0x1ff + n here (23, _SE0, is 0x216). gc_9_4_3 has four engines in each of its cores, and other registers there
 * (0x227, COMPUTE_TG_CHUNK_SIZE).
 */
#define MASKS_SE0_TO_7 { 0x216, 0x217, 0x219, 0x21a, 0x226, 0x227, 0x228, 0x229 }

/* One register file for vector and accumulation registers. */
#define GFX90A(cpu)                                                                                 \
	GFX9(cpu), .vgpr_code = 8, .vgpr_alloc = 8, .vgpr_total = 512, .vgpr_max = 512, .waves = 8, \
		.rsrc3 = RSRC3_ACCUM, .rsrc3_reg = 0x22d

/* Waves of 32 lanes: half as many lanes take a wrong turn together, and registers are counted for them. */
#define GFX10(cpu)                                                                                           \
	.name = cpu, .features = "+wavefrontsize32,-wavefrontsize64", .gfx = 10, .wave = 32, .vgpr_code = 8, \
	.vgpr_alloc = 8, .vgpr_total = 1024, .vgpr_max = 256, .sgpr_max = 106, .waves = 20, .simds = 2,      \
	.lds_max = 65536, .lds_granule = 512, .scratch_max = 131056, .scratch_unit = 1024,                   \
	.scratch_waves_max = 0xfff, .scratch_wavesize_max = 0x1fff, .scratch_descriptor = true,              \
	.scratch_word1 = 0x80000000u, .scratch_word3 = 0x31c16000u, .flat_scratch_init = true,               \
	.rsrc1 = RSRC1_GFX10, .rsrc2 = RSRC2,                                                                \
	.properties = PROP_SCRATCH | PROP_KERNARG | PROP_FLAT_SCRATCH | PROP_WAVE32, .rsrc3_reg = 0x228,     \
	.initiator = START_GFX10, .thread_mgmt = { 0x216, 0x217, 0x219, 0x21a }, .thread_mgmt_index = true,  \
	.zero = { 0x224, 0x225, 0x226, 0x227, 0x22a, 0x27d }, .acquire = GP_ACQUIRE_GFX10,                   \
	.acquire_cntl = GCR_GFX10, .sdma = GP_SDMA_V5, .sdma_max = SDMA_22_BITS

/* Scratch has an address register of its own and needs no user SGPRs. */
#define GFX11(cpu)                                                                                           \
	GFX10(cpu), .gfx = 11, .waves = 16, .vgpr_alloc = 16, .scratch_unit = 256,                           \
		.scratch_wavesize_max = 0x7fff, .scratch_waves_by_engine = true,                             \
		.scratch_descriptor = false, .scratch_word1 = 0, .scratch_word3 = 0,                         \
		.flat_scratch_init = false, .scratch_base = 0x210, .properties = PROP_KERNARG | PROP_WAVE32, \
		.rsrc3 = RSRC3_GFX11,                                                                        \
		.thread_mgmt = { 0x216, 0x217, 0x219, 0x21a, 0x22b, 0x22c, 0x22d, 0x22e },                   \
		.thread_mgmt_index = false, .interleave_reg = 0x22f, .interleave = 64, .sdma = GP_SDMA_V5_2, \
		.sdma_max = SDMA_30_BITS

#define GFX12(cpu)                                                                                    \
	GFX11(cpu), .gfx = 12, .vgpr_alloc = 24, .vgpr_total = 1536, .scratch_wavesize_max = 0x3ffff, \
		.rsrc1 = RSRC1_GFX12, .rsrc3 = RSRC3_GFX12, .group_id = GP_GROUP_ID_TTMP,             \
		.acquire_cntl = GCR_GFX12, .sdma = GP_SDMA_V7

/* A later value for the same member is meant. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma clang diagnostic ignored "-Winitializer-overrides"
#endif
static const struct gp_generation generations[] = {
	{ GFX9("gfx900"), .elf_flags = 0x2c | XNACK_OFF },
	{ GFX9("gfx906"), .elf_flags = 0x2f | XNACK_OFF | SRAMECC_ANY },
	{ GFX9("gfx908"), .elf_flags = 0x30 | XNACK_OFF | SRAMECC_ANY, .thread_mgmt = MASKS_SE0_TO_7 },
	{ GFX90A("gfx90a"), .elf_flags = 0x3f | XNACK_OFF | SRAMECC_ANY, .thread_mgmt = MASKS_SE0_TO_7 },
	/*
	 * Scratch as gfx11 has it, but in units of gfx9. A ring of the driver's belongs to one of the chip's cores (XCC) of 40 units
	 * at most; that a dispatch uses several is for the queues of compute processes (KFD) only.
	 */
	{ GFX90A("gfx942"), .elf_flags = 0x4c | XNACK_OFF | SRAMECC_ANY, .queue_units = 40,
	  .scratch_descriptor = false, .scratch_word1 = 0, .scratch_word3 = 0, .flat_scratch_init = false,
	  .scratch_base = 0x210, .properties = PROP_KERNARG },
	/* Its driver may have retries on (amdgpu_gmc_noretry_set()), so its code does with both. */
	{ GFX10("gfx1010"), .elf_flags = 0x33 | XNACK_ANY },
	{ GFX10("gfx1030"), .elf_flags = 0x36, .waves = 16, .vgpr_alloc = 16, .sdma = GP_SDMA_V5_2,
	  .sdma_max = SDMA_30_BITS },
	{ GFX11("gfx1100"), .elf_flags = 0x41, .vgpr_alloc = 24, .vgpr_total = 1536, .user_sgpr_15 = true },
	{ GFX11("gfx1101"), .elf_flags = 0x46, .vgpr_alloc = 24, .vgpr_total = 1536 },
	{ GFX11("gfx1102"), .elf_flags = 0x47, .user_sgpr_15 = true },
	{ GFX12("gfx1200"), .elf_flags = 0x48 },
	{ GFX12("gfx1201"), .elf_flags = 0x4e },
};
#pragma GCC diagnostic pop

/* AMDGPU_FAMILY_* of amdgpu_drm.h: numbers, since older headers lack the newest. */
enum {
	FAMILY_AI = 141,
	FAMILY_NV = 143,
	FAMILY_VGH = 144,
	FAMILY_GC_11_0_0 = 145,
	FAMILY_YC = 146,
	FAMILY_GC_10_3_6 = 149,
	FAMILY_GC_10_3_7 = 151,
	FAMILY_GC_12_0_0 = 152,
};

/* Chips of one family with the same instructions run one generation's code (LLVM's generic targets say which). */
static const struct gp_chip chips[] = {
	{ FAMILY_AI, 0x01, 0x14, { 9, 0, 1 }, "gfx900", "Vega 10", "gfx900" },
	{ FAMILY_AI, 0x28, 0x32, { 9, 4, 0 }, "gfx906", "Vega 20", "gfx906" },
	{ FAMILY_AI, 0x32, 0x3c, { 9, 4, 1 }, "gfx908", "Arcturus", "gfx908" },
	{ FAMILY_AI, 0x3c, 0x46, { 9, 4, 2 }, "gfx90a", "Aldebaran", "gfx90a" },
	{ FAMILY_AI, 0x46, 0x50, { 9, 4, 3 }, "gfx942", "Aqua Vanjaram", "gfx942" },
	{ FAMILY_NV, 0x01, 0x0a, { 10, 1, 10 }, "gfx1010", "Navi 10", "gfx1010" },
	{ FAMILY_NV, 0x0a, 0x14, { 10, 1, 2 }, "gfx1011", "Navi 12", "gfx1010" },
	{ FAMILY_NV, 0x14, 0x28, { 10, 1, 1 }, "gfx1012", "Navi 14", "gfx1010" },
	{ FAMILY_NV, 0x84, 0x85, { 10, 1, 3 }, "gfx1013", "Cyan Skillfish", "gfx1010" },
	{ FAMILY_NV, 0x28, 0x32, { 10, 3, 0 }, "gfx1030", "Navi 21", "gfx1030" },
	{ FAMILY_NV, 0x32, 0x3c, { 10, 3, 2 }, "gfx1031", "Navi 22", "gfx1030" },
	{ FAMILY_NV, 0x3c, 0x46, { 10, 3, 4 }, "gfx1032", "Navi 23", "gfx1030" },
	{ FAMILY_VGH, 0x01, 0xff, { 10, 3, 1 }, "gfx1033", "Van Gogh", "gfx1030" },
	{ FAMILY_NV, 0x46, 0x50, { 10, 3, 5 }, "gfx1034", "Navi 24", "gfx1030" },
	{ FAMILY_YC, 0x01, 0xff, { 10, 3, 3 }, "gfx1035", "Rembrandt", "gfx1030" },
	{ FAMILY_GC_10_3_6, 0x01, 0xff, { 10, 3, 6 }, "gfx1036", "Raphael", "gfx1030" },
	{ FAMILY_GC_10_3_7, 0x01, 0xff, { 10, 3, 7 }, "gfx1036", "Mendocino", "gfx1030" },
	{ FAMILY_GC_11_0_0, 0x01, 0x10, { 11, 0, 0 }, "gfx1100", "Navi 31", "gfx1100" },
	{ FAMILY_GC_11_0_0, 0x20, 0xff, { 11, 0, 3 }, "gfx1101", "Navi 32", "gfx1101" },
	{ FAMILY_GC_11_0_0, 0x10, 0x20, { 11, 0, 2 }, "gfx1102", "Navi 33", "gfx1102" },
	{ FAMILY_GC_12_0_0, 0x40, 0x50, { 12, 0, 0 }, "gfx1200", "Navi 44", "gfx1200" },
	{ FAMILY_GC_12_0_0, 0x50, 0xff, { 12, 0, 1 }, "gfx1201", "Navi 48", "gfx1201" },
};

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

const struct gp_generation *gp_generations(size_t *count)
{
	*count = COUNT(generations);
	return generations;
}

const struct gp_chip *gp_chips(size_t *count)
{
	*count = COUNT(chips);
	return chips;
}

const struct gp_generation *gp_generation_find(const char *name)
{
	for (size_t i = 0; i < COUNT(generations); i++)
		if (!strcmp(generations[i].name, name))
			return &generations[i];
	for (size_t i = 0; i < COUNT(chips); i++)
		if (!strcmp(chips[i].name, name))
			return gp_generation_find(chips[i].generation);
	return NULL;
}

const struct gp_chip *gp_chip_find(uint32_t family, uint32_t external_rev)
{
	for (size_t i = 0; i < COUNT(chips); i++)
		if (chips[i].family == family && external_rev >= chips[i].rev_min &&
		    external_rev < chips[i].rev_end)
			return &chips[i];
	return NULL;
}

uint32_t gp_generation_waves(const struct gp_generation *gen, uint32_t vgprs)
{
	uint32_t step = gen->vgpr_alloc, each = vgprs ? (vgprs + step - 1) / step * step : step;
	uint32_t waves = gen->vgpr_total / each;

	return waves < gen->waves ? waves : gen->waves;
}
