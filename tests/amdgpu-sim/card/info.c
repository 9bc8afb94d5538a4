/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info.c - DRM_AMDGPU_INFO, by amdgpu_kms.c: the answers that a compute program asks for.
 *
 * An answer is cut to the size that was asked for. What Debian 12's header does not know yet is appended here.
 */
#include <errno.h>
#include <string.h>
#include "card.h"

/* Newer than the header of Debian 12. */
#define INFO_MAX_IBS	 0x22
#define INFO_GPUVM_FAULT 0x23
#define VRAM_BLOCK	 (2ull << 20)

struct device_info {
	struct drm_amdgpu_info_device base;
	/* since Linux 6.2, 6.3, 6.4 */
	uint64_t min_engine_clock, min_memory_clock;
	uint32_t tcp_cache_size, num_sqc_per_wgp, sqc_data_cache_size, sqc_inst_cache_size;
	uint32_t gl1c_cache_size, gl2c_cache_size;
	uint64_t mall_size;
	uint32_t enabled_rb_pipes_mask_hi, shadow_size, shadow_alignment, csa_size, csa_alignment, pad;
};

struct vm_fault {
	uint64_t addr;
	uint32_t status, vmhub;
};

static int answer(const struct drm_amdgpu_info *in, const void *data, size_t size)
{
	memcpy((void *)(uintptr_t)in->return_pointer, data, in->return_size < size ? in->return_size : size);
	return 0;
}

static int answer_u64(const struct drm_amdgpu_info *in, uint64_t value)
{
	return answer(in, &value, sizeof(value));
}

static int answer_u32(const struct drm_amdgpu_info *in, uint32_t value)
{
	return answer(in, &value, sizeof(value));
}

static void device(struct device_info *info)
{
	const struct sim_chip *c = sim.chip;
	bool wide = c->ip[0] >= 10;

	memset(info, 0, sizeof(*info));
	info->base = (struct drm_amdgpu_info_device){
		.device_id = c->device_id,
		.chip_rev = c->external_rev & 0xf,
		.external_rev = c->external_rev,
		.pci_rev = c->pci_rev,
		.family = c->family,
		.num_shader_engines = c->engines,
		.num_shader_arrays_per_engine = c->arrays,
		.gpu_counter_freq = 100000,
		.max_engine_clock = c->mhz * 1000ull,
		.max_memory_clock = c->memory_mhz * 1000ull,
		.cu_active_number = c->engines * c->arrays * c->units,
		.enabled_rb_pipes_mask = 0xffff,
		.num_rb_pipes = 16,
		.num_hw_gfx_contexts = 8,
		.ids_flags = 0,
		.virtual_address_offset = SIM_VA_BOTTOM,
		.virtual_address_max = SIM_VA_HOLE,
		.virtual_address_alignment = 4096,
		.pte_fragment_size = 2 << 20,
		.gart_page_size = 4096,
		.vram_type = c->vram_type,
		.vram_bit_width = c->vram_bits,
		.gc_double_offchip_lds_buf = 1,
		.wave_front_size = c->wave,
		.num_shader_visible_vgprs = 256,
		.num_cu_per_sh = c->units,
		.num_tcc_blocks = 16,
		.gs_vgt_table_depth = 32,
		.gs_prim_buffer_depth = 1792,
		.max_gs_waves_per_vgt = 32,
		.high_va_offset = SIM_VA_HOLE_END,
		.high_va_max = 0xffffffffffe00000,
	};
	if (sim.options.family) {
		info->base.family = (uint32_t)sim.options.family;
		info->base.external_rev = (uint32_t)sim.options.revision;
	}
	for (uint32_t e = 0; e < c->engines; e++)
		for (uint32_t a = 0; a < c->arrays; a++) {
			uint32_t row = e % 4, column = e / 4 * c->arrays + a;

			if (column < 4)
				info->base.cu_bitmap[row][column] = (1u << c->units) - 1;
		}
	memcpy(info->base.cu_ao_bitmap, info->base.cu_bitmap, sizeof(info->base.cu_bitmap));
	info->min_engine_clock = 500000;
	info->min_memory_clock = 96000;
	info->tcp_cache_size = c->l1_kib;
	info->num_sqc_per_wgp = wide ? 1 : 0;
	info->sqc_data_cache_size = 16;
	info->sqc_inst_cache_size = 32;
	info->gl1c_cache_size = wide ? 128 : 0;
	info->gl2c_cache_size = c->l2_kib;
	info->mall_size = (uint64_t)c->mall_mib << 20;
}

static int hw_ip(const struct drm_amdgpu_info *in)
{
	const struct sim_chip *c = sim.chip;
	static const uint8_t sdma[][2] = {
		{ 4, 0 }, { 5, 0 }, { 6, 0 }, { 7, 0 }
	}; /* by the core's: 9, 10, 11, 12 */
	struct drm_amdgpu_info_hw_ip ip = { 0 };

	if (in->query_hw_ip.type >= AMDGPU_HW_IP_NUM || in->query_hw_ip.ip_instance)
		return -EINVAL;
	switch (in->query_hw_ip.type) {
	case AMDGPU_HW_IP_GFX: /* there, with no ring for anybody: see README.md */
	case AMDGPU_HW_IP_COMPUTE:
		ip.hw_ip_version_major = c->ip[0];
		ip.hw_ip_version_minor = c->ip[0] == 9 && c->ip[1] == 4 && c->ip[2] == 3 ? 4 : 0;
		ip.ib_start_alignment = 32;
		ip.ib_size_alignment = 32;
		ip.available_rings = in->query_hw_ip.type == AMDGPU_HW_IP_COMPUTE ? (1u << SIM_RING_COUNT) - 1
										  : 0;
		/* ip_discovery_version, since Linux 6.3 */
		ip._pad = (uint32_t)c->ip[0] << 16 | (uint32_t)c->ip[1] << 8 | c->ip[2];
		break;
	case AMDGPU_HW_IP_DMA:
		ip.hw_ip_version_major = sdma[c->ip[0] - 9][0];
		ip.hw_ip_version_minor = c->ip[0] == 10 && c->ip[1] == 3 ? 2 : sdma[c->ip[0] - 9][1];
		ip.ib_start_alignment = 256;
		ip.ib_size_alignment = 4;
		ip.available_rings = 3;
		ip._pad = ip.hw_ip_version_major << 16 | ip.hw_ip_version_minor << 8;
		break;
	default:
		break;
	}
	return answer(in, &ip, sizeof(ip));
}

static int registers(const struct drm_amdgpu_info *in)
{
	uint32_t values[128] = { 0 };

	if (!in->read_mmr_reg.count || in->read_mmr_reg.count > 128)
		return -EINVAL;
	/* Of those that the driver lets through only this one is asked for: GB_ADDR_CONFIG. */
	if (in->read_mmr_reg.dword_offset != 0x263e || in->read_mmr_reg.count != 1) {
		sim_say("INFO: register %#x is not allowed", in->read_mmr_reg.dword_offset);
		return -EFAULT;
	}
	values[0] = sim.chip->ip[0] >= 10 ? 0x00000444 : 0x2a114042;
	return answer(in, values, in->read_mmr_reg.count * 4);
}

static int memory(const struct drm_amdgpu_info *in)
{
	struct drm_amdgpu_memory_info info = { 0 };

	info.vram.total_heap_size = sim.vram;
	info.vram.usable_heap_size = sim.vram - VRAM_BLOCK;
	info.vram.heap_usage = sim_memory_used(true);
	info.vram.max_allocation = info.vram.usable_heap_size * 3 / 4;
	info.cpu_accessible_vram = info.vram;
	info.gtt.total_heap_size = sim.gtt;
	info.gtt.usable_heap_size = sim.gtt;
	info.gtt.heap_usage = sim_memory_used(false);
	info.gtt.max_allocation = sim.gtt * 3 / 4;
	return answer(in, &info, sizeof(info));
}

static int sensor(const struct drm_amdgpu_info *in)
{
	switch (in->sensor_info.type) {
	case AMDGPU_INFO_SENSOR_GFX_SCLK:
	case AMDGPU_INFO_SENSOR_STABLE_PSTATE_GFX_SCLK:
		return answer_u32(in, sim.chip->mhz);
	case AMDGPU_INFO_SENSOR_GFX_MCLK:
	case AMDGPU_INFO_SENSOR_STABLE_PSTATE_GFX_MCLK:
		return answer_u32(in, sim.chip->memory_mhz);
	case AMDGPU_INFO_SENSOR_GPU_TEMP:
		return answer_u32(in, 42000);
	case AMDGPU_INFO_SENSOR_GPU_LOAD:
		return answer_u32(in, 0);
	case AMDGPU_INFO_SENSOR_GPU_AVG_POWER:
		return answer_u32(in, 30);
	case AMDGPU_INFO_SENSOR_VDDGFX:
		return answer_u32(in, 800);
	default:
		return -EINVAL;
	}
}

static int firmware(const struct drm_amdgpu_info *in)
{
	struct drm_amdgpu_info_firmware fw = { 0 };

	switch (in->query_fw.fw_type) {
	case AMDGPU_INFO_FW_GFX_MEC:
		if (in->query_fw.index > 1)
			return -EINVAL;
		fw = (struct drm_amdgpu_info_firmware){ 469, 50 };
		break;
	case AMDGPU_INFO_FW_SDMA:
		if (in->query_fw.index > 1)
			return -EINVAL;
		fw = (struct drm_amdgpu_info_firmware){ 434, 50 };
		break;
	default:
		if (!in->query_fw.fw_type || in->query_fw.fw_type > AMDGPU_INFO_FW_TOC ||
		    in->query_fw.fw_type == 9)
			return -EINVAL;
	}
	return answer(in, &fw, sizeof(fw));
}

static int max_ibs(const struct drm_amdgpu_info *in)
{
	uint32_t most[AMDGPU_HW_IP_NUM] = { 0 };

	most[AMDGPU_HW_IP_COMPUTE] = sim_max_ibs(SIM_RING_COMPUTE);
	most[AMDGPU_HW_IP_DMA] = sim_max_ibs(SIM_RING_SDMA);
	return answer(in, most, sizeof(most));
}

int sim_info_ioctl(struct sim_client *client, void *arg)
{
	const struct drm_amdgpu_info *in = arg;
	struct device_info dev;
	struct vm_fault fault = { client->fault_va, client->fault_va ? 0x101031 : 0, 0 };
	struct drm_amdgpu_info_vram_gtt vram_gtt = { sim.vram - VRAM_BLOCK, sim.vram - VRAM_BLOCK, sim.gtt };
	uint32_t zeroes[32] = { 0 };

	if (!in->return_size || !in->return_pointer)
		return -EINVAL;
	switch (in->query) {
	case AMDGPU_INFO_ACCEL_WORKING:
		return answer_u32(in, 1);
	case AMDGPU_INFO_HW_IP_INFO:
		return hw_ip(in);
	case AMDGPU_INFO_HW_IP_COUNT:
		if (in->query_hw_ip.type >= AMDGPU_HW_IP_NUM)
			return -EINVAL;
		return answer_u32(in, in->query_hw_ip.type <= AMDGPU_HW_IP_DMA);
	case AMDGPU_INFO_TIMESTAMP:
		return answer_u64(in, sim_ticks());
	case AMDGPU_INFO_FW_VERSION:
		return firmware(in);
	case AMDGPU_INFO_NUM_BYTES_MOVED:
	case AMDGPU_INFO_NUM_EVICTIONS:
	case AMDGPU_INFO_NUM_VRAM_CPU_PAGE_FAULTS:
	case AMDGPU_INFO_RAS_ENABLED_FEATURES:
		return answer_u64(in, 0);
	case AMDGPU_INFO_VRAM_USAGE:
	case AMDGPU_INFO_VIS_VRAM_USAGE:
		return answer_u64(in, sim_memory_used(true));
	case AMDGPU_INFO_GTT_USAGE:
		return answer_u64(in, sim_memory_used(false));
	case AMDGPU_INFO_GDS_CONFIG:
		return answer(in, zeroes, sizeof(struct drm_amdgpu_info_gds));
	case AMDGPU_INFO_VRAM_GTT:
		return answer(in, &vram_gtt, sizeof(vram_gtt));
	case AMDGPU_INFO_MEMORY:
		return memory(in);
	case AMDGPU_INFO_READ_MMR_REG:
		return registers(in);
	case AMDGPU_INFO_DEV_INFO:
		device(&dev);
		return answer(in, &dev, sizeof(dev));
	case AMDGPU_INFO_SENSOR:
		return sensor(in);
	case AMDGPU_INFO_VRAM_LOST_COUNTER:
		return answer_u32(in, sim.vram_losses);
	case INFO_MAX_IBS:
		return max_ibs(in);
	case INFO_GPUVM_FAULT:
		return answer(in, &fault, sizeof(fault));
	case AMDGPU_INFO_VIDEO_CAPS: /* no such engine here */
	case AMDGPU_INFO_VBIOS: /* no card of a vendor's */
	default:
		sim_say("INFO: query %#x is not answered", in->query);
		return -EINVAL;
	}
}
