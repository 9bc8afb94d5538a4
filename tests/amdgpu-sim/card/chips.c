/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chips.c - the cards there are: one row each, as DEV_INFO and HW_IP_INFO tell them.
 *
 * From Linux 6.12 (soc15.c, nv.c, soc21.c, soc24.c: external revisions; amdgpu_drv.c: PCI ids; gfx_v*.c:
 * configurations). Not from the product's own table, which these are there to check.
 */
#include <string.h>
#include "card.h"

#define PM9   SIM_PM4_GFX9
#define PM10  SIM_PM4_GFX10
#define HBM   AMDGPU_VRAM_TYPE_HBM
#define GDDR6 AMDGPU_VRAM_TYPE_GDDR6

/*
 * First line: name, title; family, external revision, PCI id and revision; version of the core.
 * Second: packets, instructions, whether waves run here; lanes of a wave; engines, arrays, units; registers; memory: kind,
 * bits, MiB; MHz of core and memory; caches: vector and L2 in KiB, last in MiB.
 */
/* clang-format off */
const struct sim_chip sim_chips[] = {
	{ "gfx900", "AMD Radeon RX Vega", 141, 0x01, 0x687f, 0xc1, { 9, 0, 1 },
	  PM9, SIM_GFX900, true, 64, 4, 1, 16, 256, HBM, 2048, 8192, 1630, 945, 16, 4096, 0 },
	{ "gfx906", "AMD Radeon VII", 141, 0x28, 0x66af, 0xc1, { 9, 4, 0 },
	  PM9, SIM_GFX906, true, 64, 4, 1, 16, 256, HBM, 4096, 16384, 1800, 1000, 16, 4096, 0 },
	{ "gfx908", "AMD Instinct MI100", 141, 0x33, 0x738c, 0x01, { 9, 4, 1 },
	  PM9, SIM_GFX908, true, 64, 8, 1, 15, 256, HBM, 4096, 32768, 1502, 1200, 16, 8192, 0 },
	{ "gfx90a", "AMD Instinct MI210", 141, 0x3d, 0x740f, 0x02, { 9, 4, 2 },
	  PM9, SIM_GFX90A, true, 64, 8, 1, 13, 512, HBM, 4096, 65536, 1700, 1600, 16, 8192, 0 },
	{ "gfx942", "AMD Instinct MI300X", 141, 0x47, 0x74a1, 0x00, { 9, 4, 3 },
	  PM9, SIM_GFX90A, false, 64, 8, 4, 10, 512, HBM, 8192, 196608, 2100, 1300, 32, 4096, 256 },
	{ "gfx1010", "AMD Radeon RX 5700", 143, 0x02, 0x731f, 0xc1, { 10, 1, 10 },
	  PM10, SIM_GFX1030, false, 32, 2, 2, 10, 1024, GDDR6, 256, 8192, 1725, 875, 16, 4096, 0 },
	{ "gfx1030", "AMD Radeon RX 6800", 143, 0x28, 0x73bf, 0xc1, { 10, 3, 0 },
	  PM10, SIM_GFX1030, true, 32, 4, 2, 10, 1024, GDDR6, 256, 16384, 2475, 1000, 16, 4096, 128 },
	{ "gfx1032", "AMD Radeon RX 6600", 143, 0x3c, 0x73ff, 0xc7, { 10, 3, 4 },
	  PM10, SIM_GFX1030, true, 32, 2, 2, 8, 1024, GDDR6, 128, 8192, 2750, 875, 16, 2048, 32 },
	{ "gfx1100", "AMD Radeon RX 7900 XTX", 145, 0x02, 0x744c, 0xc8, { 11, 0, 0 },
	  PM10, SIM_GFX1030, false, 32, 6, 2, 8, 1536, GDDR6, 384, 24576, 2500, 1249, 32, 6144, 96 },
	{ "gfx1101", "AMD Radeon RX 7800 XT", 145, 0x21, 0x747e, 0xc8, { 11, 0, 3 },
	  PM10, SIM_GFX1030, false, 32, 3, 2, 10, 1536, GDDR6, 256, 16384, 2430, 1218, 32, 4096, 64 },
	{ "gfx1102", "AMD Radeon RX 7600", 145, 0x11, 0x7480, 0xcf, { 11, 0, 2 },
	  PM10, SIM_GFX1030, false, 32, 2, 2, 8, 1024, GDDR6, 128, 8192, 2655, 1124, 32, 2048, 32 },
	{ "gfx1200", "AMD Radeon RX 9060 XT", 152, 0x40, 0x7590, 0xc0, { 12, 0, 0 },
	  PM10, SIM_GFX1030, false, 32, 2, 2, 8, 1536, GDDR6, 128, 16384, 3130, 1259, 32, 4096, 32 },
	{ "gfx1201", "AMD Radeon RX 9070", 152, 0x50, 0x7550, 0xc0, { 12, 0, 1 },
	  PM10, SIM_GFX1030, false, 32, 4, 2, 8, 1536, GDDR6, 256, 16384, 2520, 1259, 32, 8192, 64 },
};
/* clang-format on */

const size_t sim_num_chips = sizeof(sim_chips) / sizeof(*sim_chips);

const struct sim_chip *sim_chip_find(const char *name)
{
	for (size_t i = 0; i < sim_num_chips; i++)
		if (!strcmp(sim_chips[i].name, name))
			return &sim_chips[i];
	return NULL;
}
