/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * generations.h - the AMD GPUs that programs can run on: one row per instruction set, one per chip.
 *
 * Whatever differs between generations is a column here, for the compiler (jit/target.c), the loader, the packets and
 * the tests alike. A new generation is a row. No AMD hardware was at hand: rows are from the sources named
 * at each group, and nothing in them was seen on silicon.
 *
 * Read from: LLVM 19 (AMDGPUUsage.rst: kernel descriptor, memory model; AMDGPUBaseInfo.cpp: granules), Linux 6.12
 * (soc15.c, nv.c, soc21.c, soc24.c: external revisions; gfx_v*.c, sdma_v*.c: packets), Mesa 24 (sid.h,
 * ac_gpu_info.c, radv's and radeonsi's compute dispatch).
 *
 * Memory. Mappings take the driver's default MTYPE (AMDGPU_VM_MTYPE_DEFAULT), but for what the CPU changes
 * meanwhile and the GPU only reads (memory.c: HOST_RO), which is not cached in the L2. By default local memory is then cached in
 * the L2, coherent between compute units by what the compiler emits for atomics and fences at device ("agent") scope;
 * system memory that is snooped is cached in the L2 on gfx9 too but for the GTT of a display-less driver
 * it may not be, so nothing rests on it: launches begin with an invalidate and end with a write-back
 * (acquire, and the driver's own end fence), and what changes meanwhile (*env.stop) is read at system scope.
 * Atomics at device scope are carried out in the L2 on every generation, of memory that it caches. So whatever lanes use
 * them on, the host's memory too, is mapped with the default, which is NC ("not coherent": cached) for local and system
 * memory on gfx9 to gfx12 (gmc_v9_0.c to gmc_v12_0.c: map_mtype, get_vm_pte). With UC they would be PCI Express's, which has
 * addition, swap and compare-and-swap only, where every bridge on the way passes them on: we have no such memory that can
 * be written. Nothing is at system scope but loads of the stop word.
 */
#ifndef GPGPU_AMDGPU_GENERATIONS_H
#define GPGPU_AMDGPU_GENERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ACQUIRE_MEM (0x58). */
enum gp_acquire {
	GP_ACQUIRE_GFX9, /* 6 dwords behind the header: CP_COHER_CNTL, size lo/hi, base lo/hi, poll interval */
	GP_ACQUIRE_GFX10, /* 7: 0, size lo/hi, base lo/hi, poll interval, GCR_CNTL */
};

/* SDMA linear copy (op 1, sub-op 0) and constant fill (op 11). */
enum gp_sdma {
	GP_SDMA_V4, /* gfx9: copy 7 dwords, byte count - 1 in 22 bits; fill 5, 22 bits */
	GP_SDMA_V5, /* gfx10.1: as V4 */
	GP_SDMA_V5_2, /* gfx10.3, gfx11: as V4, byte count - 1 in 30 bits */
	GP_SDMA_V7, /* gfx12: copy 8 dwords, the last one 0 (compression); 30 bits */
};

/* Where a wave finds its work-group number. */
enum gp_group_id {
	GP_GROUP_ID_SGPR, /* in the scalar register behind the user's (RSRC2.TGID_X_EN) */
	GP_GROUP_ID_TTMP, /* in ttmp9 (gfx12); the bit is set all the same */
};

struct gp_generation {
	const char *name; /* the compiler's: "gfx900" */
	const char *features; /* likewise, beside what the name says */
	uint16_t elf_flags; /* e_flags of its objects: the machine, and what was asked of XNACK and SRAMECC */
	uint8_t gfx; /* 9, 10, 11, 12 */
	uint8_t wave; /* lanes of a wave, as we use it */

	/* Registers. */
	uint8_t vgpr_code; /* RSRC1.VGPRS: VGPRs / this - 1 */
	uint8_t vgpr_alloc; /* in such steps they are allocated */
	uint16_t vgpr_total; /* of a SIMD, by lane */
	uint16_t vgpr_max; /* of a wave, accumulation registers included */
	uint8_t sgpr_code; /* RSRC1.SGPRS: SGPRs / this - 1; 0: the field is 0, a wave has them all */
	uint8_t sgpr_max; /* of a wave, that code can name */
	uint8_t waves; /* of a SIMD, at most */
	uint8_t simds; /* of a compute unit as the driver counts them */
	uint8_t queue_units; /* compute units that one queue reaches, at most; 0: all of the chip */

	/* Local memory and scratch. */
	uint32_t lds_max, lds_granule; /* bytes of a work group; RSRC2.LDS_SIZE counts granules */
	uint32_t scratch_max; /* bytes of a lane that the compiler makes use of */
	uint32_t scratch_unit; /* bytes: COMPUTE_TMPRING_SIZE.WAVESIZE counts in these, per wave */
	uint32_t scratch_waves_max, scratch_wavesize_max; /* fields WAVES (11:0), WAVESIZE (from bit 12) */
	bool scratch_waves_by_engine; /* WAVES is that of one shader engine, else of the chip */
	bool scratch_descriptor; /* user SGPRs begin with four words that say where scratch is (a buffer descriptor) */
	uint32_t scratch_word1; /* of it, beside the address's high 16 bits: SWIZZLE_ENABLE; word 2 is all ones */
	uint32_t scratch_word3; /* ADD_TID_ENABLE, INDEX_STRIDE of a wave; gfx10: FORMAT, RESOURCE_LEVEL, OOB_SELECT */
	bool flat_scratch_init; /* where the kernel asks for them: two more, behind kernarg's, with scratch's address */
	uint16_t scratch_base; /* register with its address >> 8 (and the next: high half); 0: none */

	/* Kernel descriptor: bits that our kernels may have set, beside which the loader refuses. */
	uint32_t rsrc1, rsrc2, rsrc3;
	uint16_t properties;
	bool user_sgpr_15; /* RSRC2.USER_SGPR is 15 whatever is used (a chip's fault); 2 are written all the same */
	enum gp_group_id group_id;

	/* Dispatch; registers as dwords behind 0x2c00 (SET_SH_REG). */
	uint16_t rsrc3_reg; /* COMPUTE_PGM_RSRC3; 0: there is none, and RSRC3 is 0 */
	uint32_t initiator; /* COMPUTE_DISPATCH_INITIATOR */
	uint16_t thread_mgmt[9]; /* COMPUTE_STATIC_THREAD_MGMT_SE*, one for each shader engine: all ones; 0 ends */
	bool thread_mgmt_index; /* by SET_SH_REG_INDEX (0x9b), index 3 */
	uint16_t zero[8]; /* registers that are to be 0; 0 ends */
	uint16_t interleave_reg,
		interleave; /* COMPUTE_DISPATCH_INTERLEAVE and its usual value; 0: there is none */

	/* Caches. */
	enum gp_acquire acquire;
	uint32_t acquire_cntl; /* CP_COHER_CNTL or GCR_CNTL: all that may be stale, all that may be dirty */

	enum gp_sdma sdma;
	uint32_t sdma_max; /* bytes of one copy or fill */
};

/* A chip, as the kernel driver tells it: DRM_AMDGPU_INFO's DEV_INFO. */
struct gp_chip {
	uint32_t family; /* AMDGPU_FAMILY_* */
	uint32_t rev_min, rev_end; /* external_rev: from, and the first behind */
	uint8_t ip[3]; /* GC version: HW_IP_INFO's of AMDGPU_HW_IP_COMPUTE (the third by ip_discovery_version) */
	const char *name; /* its own instruction set, for people: "gfx1032" */
	const char *title; /* the driver's name for it */
	const char *generation; /* whose code runs there */
};

/* gp_generations(), gp_chips() - the tables. @count: out: rows. */
const struct gp_generation *gp_generations(size_t *count);
const struct gp_chip *gp_chips(size_t *count);

/* gp_generation_find() - by name: a generation's or a chip's ("gfx1032" is gfx1030's). Return: NULL: there is none. */
const struct gp_generation *gp_generation_find(const char *name);

/* gp_chip_find() - Return: NULL: not one that we know. */
const struct gp_chip *gp_chip_find(uint32_t family, uint32_t external_rev);

/* gp_generation_waves() - waves of a SIMD that code with that many VGPRs leaves room for. */
uint32_t gp_generation_waves(const struct gp_generation *gen, uint32_t vgprs);

#endif
