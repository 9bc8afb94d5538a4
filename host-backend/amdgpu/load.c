/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.c - images of machine code: checked, copied to memory that the GPU can read and execute, and nothing else.
 *
 * The compiler is a process of its own and what it returns is not believed: the kernel descriptor (64 bytes, AMDGPU
 * backend guide of LLVM, "Code Object V3+ Kernel Descriptor") says which registers and how much memory waves get, and
 * every field must be one that the generation has, that we set up, and that is within the limits. What code does is the
 * compiler's business to confine; what it is given is decided here.
 *
 * Local memory is refused: what is in it when a wave starts may be another process's, and nothing clears it yet.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "amdgpu/private.h"

#define DESCRIPTOR 64u
#define IMAGE_MAX  (64u << 20)
#define ALIGN	   256u /* of the first instruction */
#define TAIL	   256u /* bytes behind code that are fetched ahead, at most */
#define END_GFX9   0xbf810000u /* s_endpgm */
#define END_GFX11  0xbfb00000u

/* The descriptor, by offset. */
enum {
	AT_LDS = 0,
	AT_PRIVATE = 4,
	AT_KERNARG = 8,
	AT_RESERVED0 = 12, /* 4 bytes */
	AT_ENTRY = 16,
	AT_RESERVED1 = 24, /* 20 bytes */
	AT_RSRC3 = 44,
	AT_RSRC1 = 48,
	AT_RSRC2 = 52,
	AT_PROPERTIES = 56,
	AT_PRELOAD = 58,
	AT_RESERVED2 = 60, /* 4 bytes */
};

enum {
	PROP_SCRATCH = 1 << 0, /* four user SGPRs: a buffer descriptor of scratch memory */
	PROP_KERNARG = 1 << 3, /* two: the address of the argument */
	PROP_FLAT_SCRATCH = 1 << 5, /* two: the address of scratch memory */
	PROP_WAVE32 = 1 << 10,
};

#define RSRC1_SGPRS	 0x3c0u
#define RSRC2_SCRATCH_EN 1u

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint16_t get16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static bool is_zero(const uint8_t *at, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (at[i])
			return false;
	return true;
}

#define REFUSE(...)                                     \
	do {                                            \
		snprintf(why, GP_MESSAGE, __VA_ARGS__); \
		return false;                           \
	} while (0)

static bool check_registers(const struct gp_generation *gen, const struct gp_gpu_code *code,
			    uint64_t behind_entry, char why[GP_MESSAGE])
{
	uint32_t vgprs = ((code->rsrc1 & 0x3f) + 1) * gen->vgpr_code, sgprs, sgpr_limit, user = 0;

	if (code->rsrc1 & ~gen->rsrc1)
		REFUSE("kernel descriptor: RSRC1 has bits 0x%x, which %s kernels do not",
		       code->rsrc1 & ~gen->rsrc1, gen->name);
	if (vgprs > gen->vgpr_max)
		REFUSE("kernel descriptor: %u vector registers, a wave has %u", vgprs, gen->vgpr_max);
	if (gen->sgpr_code) {
		/* allocated in steps of two */
		sgprs = ((code->rsrc1 >> 6 & 0xf) / 2 + 1) * 2 * gen->sgpr_code;
		/* vcc, flat_scratch and xnack_mask lie behind those that code can name */
		sgpr_limit = (uint32_t)gp_round_up(gen->sgpr_max + 6u, 2u * gen->sgpr_code);
		if (sgprs > sgpr_limit)
			REFUSE("kernel descriptor: %u scalar registers, a wave has %u", sgprs, sgpr_limit);
	}
	if (code->rsrc2 & ~gen->rsrc2)
		REFUSE("kernel descriptor: RSRC2 has bits 0x%x, which %s kernels do not",
		       code->rsrc2 & ~gen->rsrc2, gen->name);
	if (!(code->rsrc2 & RSRC2_SCRATCH_EN) != !code->private_bytes)
		REFUSE("kernel descriptor: %u bytes of scratch memory, and it is %s", code->private_bytes,
		       code->rsrc2 & RSRC2_SCRATCH_EN ? "enabled" : "not enabled");
	if (!(code->rsrc2 >> 7 & 1))
		REFUSE("kernel descriptor: waves are not told their work group");
	if (code->properties & PROP_SCRATCH)
		user += 4;
	if (code->properties & PROP_KERNARG)
		user += 2;
	if (code->properties & PROP_FLAT_SCRATCH)
		user += 2;
	if ((code->rsrc2 >> 1 & 0x1f) != (gen->user_sgpr_15 ? 15 : user))
		REFUSE("kernel descriptor: %u user scalar registers, %u are set", code->rsrc2 >> 1 & 0x1f,
		       user);
	if (code->rsrc3 & ~gen->rsrc3)
		REFUSE("kernel descriptor: RSRC3 has bits 0x%x, which %s kernels do not",
		       code->rsrc3 & ~gen->rsrc3, gen->name);
	if (gen->gfx == 9 && gen->rsrc3 && ((code->rsrc3 & 0x3f) + 1) * 4 > vgprs)
		REFUSE("kernel descriptor: accumulation registers from %u, a wave has %u",
		       ((code->rsrc3 & 0x3f) + 1) * 4, vgprs);
	if (gen->gfx >= 11 && (uint64_t)(code->rsrc3 >> 4) * 128 > gp_round_up(behind_entry, 128))
		REFUSE("kernel descriptor: %u lines of code fetched ahead, there are %llu", code->rsrc3 >> 4,
		       (unsigned long long)gp_round_up(behind_entry, 128) / 128);
	return true;
}

bool gp_load_check(const struct gp_generation *gen, const uint8_t *image, uint32_t bytes, uint32_t entry,
		   struct gp_gpu_code *code, char why[GP_MESSAGE])
{
	uint64_t wave_bytes;
	const uint8_t *at;
	int64_t offset;
	uint32_t lds;

	if (!bytes || bytes > IMAGE_MAX)
		REFUSE("an image of %u bytes", bytes);
	if (entry % DESCRIPTOR || entry > bytes || bytes - entry < DESCRIPTOR)
		REFUSE("the kernel descriptor is said to be at 0x%x of %u bytes", entry, bytes);
	at = image + entry;

	lds = get32(at + AT_LDS);
	if (lds > gen->lds_max)
		REFUSE("kernel descriptor: %u bytes of local memory, a work group has %u", lds, gen->lds_max);
	if (lds)
		REFUSE("kernel descriptor: %u bytes of local memory, which nothing clears", lds);
	code->private_bytes = get32(at + AT_PRIVATE);
	if (code->private_bytes > gen->scratch_max)
		REFUSE("kernel descriptor: %u bytes of scratch memory for each lane, at most %u",
		       code->private_bytes, gen->scratch_max);
	wave_bytes = gp_round_up((uint64_t)code->private_bytes * gen->wave, gen->scratch_unit);
	if (wave_bytes / gen->scratch_unit > gen->scratch_wavesize_max)
		REFUSE("kernel descriptor: %u bytes of scratch memory for each lane are too many for a wave",
		       code->private_bytes);
	if (get32(at + AT_KERNARG) != sizeof(uint64_t))
		REFUSE("kernel descriptor: arguments of %u bytes, there are 8", get32(at + AT_KERNARG));
	if (!is_zero(at + AT_RESERVED0, 4) || !is_zero(at + AT_RESERVED1, 20) ||
	    !is_zero(at + AT_RESERVED2, 4))
		REFUSE("kernel descriptor: reserved bytes are set");
	if (get16(at + AT_PRELOAD))
		REFUSE("kernel descriptor: arguments are to be in registers");

	memcpy(&offset, at + AT_ENTRY, sizeof(offset));
	/* Also keeps the sum from overflowing. */
	if (offset < -(int64_t)bytes || offset > (int64_t)bytes)
		REFUSE("kernel descriptor: code begins outside the image");
	offset += entry;
	if (offset < 0 || offset > (int64_t)bytes - 4)
		REFUSE("kernel descriptor: code begins outside the image");
	if (offset % ALIGN)
		REFUSE("kernel descriptor: code begins at 0x%llx, not at a multiple of %u",
		       (unsigned long long)offset, ALIGN);
	if (offset < (int64_t)entry + DESCRIPTOR && offset + 4 > (int64_t)entry)
		REFUSE("kernel descriptor: code begins in it");

	code->properties = get16(at + AT_PROPERTIES);
	if (code->properties & ~gen->properties)
		REFUSE("kernel descriptor: properties 0x%x, which are not set up",
		       code->properties & ~gen->properties);
	if (!(code->properties & PROP_KERNARG))
		REFUSE("kernel descriptor: the argument is not asked for");
	if (!(code->properties & PROP_WAVE32) != (gen->wave != 32))
		REFUSE("kernel descriptor: waves of %u lanes, not of %u",
		       code->properties & PROP_WAVE32 ? 32 : 64, gen->wave);
	code->rsrc1 = get32(at + AT_RSRC1);
	/* LLVM counts scalar registers also where a wave has all of them, and the field must be 0. */
	if (!gen->sgpr_code)
		code->rsrc1 &= ~RSRC1_SGPRS;
	code->rsrc2 = get32(at + AT_RSRC2);
	code->rsrc3 = get32(at + AT_RSRC3);
	code->entry = (uint64_t)offset;
	return check_registers(gen, code, bytes - (uint64_t)offset, why);
}

/* write_code() - as the CPU, into memory that it can reach only meanwhile. */
static int write_code(struct gp_gpu *gpu, struct gp_gpu_code *code)
{
	uint32_t end = gpu->gen->gfx >= 11 ? END_GFX11 : END_GFX9;
	int ret = gp_bo_cpu_map(gpu, code->bo, 0, code->bo->size, code->range.base);

	if (ret)
		return ret;
	memcpy(code->range.base, code->copy, code->bytes);
	for (uint64_t at = gp_round_up(code->bytes, 4); at < code->bo->size; at += sizeof(end))
		memcpy(code->range.base + at, &end, sizeof(end));
	return gp_bo_cpu_hide(code->bo->size, code->range.base);
}

static void free_code(struct gp_gpu *gpu, struct gp_gpu_code *code)
{
	if (code->bo)
		gp_bo_free(gpu, code->bo);
	gp_range_release(&code->range);
	g_free(code->copy);
	g_free(code);
}

static int upload(struct gp_gpu *gpu, struct gp_gpu_code *code)
{
	uint64_t size = gp_round_up((uint64_t)code->bytes + TAIL, GP_GPU_PAGE);
	int ret;

	if (!gp_range_reserve(gpu, size, &code->range))
		return -ENOMEM;
	ret = gp_bo_new(gpu, size, AMDGPU_GEM_DOMAIN_VRAM,
			AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED | AMDGPU_GEM_CREATE_VRAM_CLEARED, &code->bo);
	if (ret == -ENOMEM)
		ret = gp_bo_new(gpu, size, AMDGPU_GEM_DOMAIN_GTT, 0, &code->bo);
	if (ret)
		return ret;
	ret = write_code(gpu, code);
	return ret ? ret
		   : gp_bo_map(gpu, code->bo, 0, code->bo->size, code->range.base,
			       AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_EXECUTABLE);
}

struct gp_gpu_code *gp_amdgpu_load(struct gp_gpu *gpu, const struct gp_image *image, char why[GP_MESSAGE])
{
	struct gp_gpu_code *code;
	int ret;

	if (image->code_bytes > IMAGE_MAX || image->code_bytes > image->map_bytes) {
		snprintf(why, GP_MESSAGE, "an image of %u bytes", image->code_bytes);
		return NULL;
	}
	code = g_new0(struct gp_gpu_code, 1);
	code->bytes = image->code_bytes;
	code->copy = g_memdup2(image->code, image->code_bytes);
	if (!gp_load_check(gpu->gen, code->copy, code->bytes, image->entry, code, why)) {
		free_code(gpu, code);
		return NULL;
	}
	ret = upload(gpu, code);
	if (ret) {
		snprintf(why, GP_MESSAGE, "no memory for code on the GPU: %s", strerror(-ret));
		free_code(gpu, code);
		return NULL;
	}
	code->entry += (uintptr_t)code->range.base;
	g_mutex_lock(&gpu->memory);
	g_ptr_array_add(gpu->codes, code);
	g_mutex_unlock(&gpu->memory);
	return code;
}

void gp_amdgpu_unload(struct gp_gpu *gpu, struct gp_gpu_code *code)
{
	if (!code)
		return;
	g_mutex_lock(&gpu->memory);
	g_ptr_array_remove_fast(gpu->codes, code);
	g_mutex_unlock(&gpu->memory);
	gp_bo_unmap(gpu, code->bo, 0, code->bo->size, code->range.base);
	free_code(gpu, code);
}

bool gp_load_again(struct gp_gpu *gpu)
{
	bool ok = true;

	g_mutex_lock(&gpu->memory);
	for (guint i = 0; i < gpu->codes->len && ok; i++)
		ok = !write_code(gpu, g_ptr_array_index(gpu->codes, i));
	g_mutex_unlock(&gpu->memory);
	return ok;
}

void gp_load_close(struct gp_gpu *gpu)
{
	for (guint i = 0; i < gpu->codes->len; i++)
		free_code(gpu, g_ptr_array_index(gpu->codes, i));
	g_ptr_array_set_size(gpu->codes, 0);
}
