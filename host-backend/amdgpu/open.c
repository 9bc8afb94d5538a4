/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open.c - finding a card, and saying what it is or why it will not do.
 *
 * A card is named by its render node or its PCI address; without a name the first that will do is taken, and where none
 * does the reasons of all are given. All that needs a path happens here, before the worker's sandbox closes: the
 * node, libdrm (and its table of names), /dev/udmabuf and its limit. Later there are system calls on open
 * descriptors and mmap() only.
 *
 * The node is opened anew: an open node is a GPU address space of its own, and libdrm from 2.4.123 is asked to not share its
 * device with whoever else in the process has one. Older ones share it within the process; addresses do not collide even
 * then (private.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "amdgpu/private.h"

#define FIRST_NODE	       128
#define LAST_NODE	       191
#define WANT_MAJOR	       3
#define WANT_MINOR	       38 /* AMDGPU_IB_FLAG_EMIT_MEM_SYNC, Linux 5.9 */
#define FENCE_ERRORS	       54 /* what became of a submission reaches its fence, Linux 6.5 */

#define FAIL(error, code, ...) g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_##code, __VA_ARGS__)

static uint64_t read_limit(void)
{
	char *text = NULL;
	uint64_t mib = 0;

	if (g_file_get_contents("/sys/module/udmabuf/parameters/size_limit_mb", &text, NULL, NULL))
		mib = g_ascii_strtoull(text, NULL, 10);
	g_free(text);
	return (mib && mib < 1 << 20 ? mib : 64) << 20;
}

/* check_driver() - before libdrm_amdgpu gets to see the node. @version: out: "3.57". */
static bool check_driver(const struct gp_drm *drm, int fd, char version[32], GError **error)
{
	drmVersionPtr driver = drm->drmGetVersion(fd);
	uint64_t timelines = 0;
	bool ok = false;

	if (!driver) {
		FAIL(error, NODEV, "no DRM driver answers");
		return false;
	}
	snprintf(version, 32, "%d.%d", driver->version_major, driver->version_minor);
	if (!driver->name || strcmp(driver->name, "amdgpu"))
		FAIL(error, NODEV, "not an AMD GPU: its driver is %s",
		     driver->name ? driver->name : "unknown");
	else if (driver->version_major != WANT_MAJOR || driver->version_minor < WANT_MINOR)
		FAIL(error, NOSYS,
		     "the kernel's amdgpu driver is version %s, %d.%d or newer is wanted (Linux 5.9)",
		     version, WANT_MAJOR, WANT_MINOR);
	else if (drm->drmGetCap(fd, DRM_CAP_SYNCOBJ_TIMELINE, &timelines) || !timelines)
		FAIL(error, NOSYS, "the kernel has no timeline sync objects");
	else
		ok = true;
	drm->drmFreeVersion(driver);
	return ok;
}

/* is_at() - whether the node is that of the PCI device. */
static bool is_at(const struct gp_drm *drm, int fd, const drmPciBusInfo *want)
{
	drmDevicePtr device;
	bool same;

	if (drm->drmGetDevice2(fd, 0, &device))
		return false;
	same = device->bustype == DRM_BUS_PCI && device->businfo.pci->domain == want->domain &&
	       device->businfo.pci->bus == want->bus && device->businfo.pci->dev == want->dev &&
	       device->businfo.pci->func == want->func;
	drm->drmFreeDevice(&device);
	return same;
}

static bool parse_pci(const char *text, drmPciBusInfo *pci)
{
	unsigned int domain = 0, bus, dev, func;
	int end = 0;

	if (sscanf(text, "%4x:%2x:%2x.%1x%n", &domain, &bus, &dev, &func, &end) != 4 || text[end]) {
		domain = 0;
		end = 0;
		if (sscanf(text, "%2x:%2x.%1x%n", &bus, &dev, &func, &end) != 3 || text[end])
			return false;
	}
	pci->domain = (uint16_t)domain;
	pci->bus = (uint8_t)bus;
	pci->dev = (uint8_t)dev;
	pci->func = (uint8_t)func;
	return true;
}

/* ask_copies() - whether there is an engine of copies. Without one, or where it cannot be asked, kernels copy. */
static void ask_copies(struct gp_gpu *gpu)
{
	struct drm_amdgpu_info_hw_ip ip = { 0 };

	if (!gpu->drm->amdgpu_query_hw_ip_info(gpu->device, AMDGPU_HW_IP_DMA, 0, &ip) && ip.available_rings &&
	    ip.ib_start_alignment <= 1024)
		gpu->sdma_align = CLAMP(ip.ib_size_alignment / 4, 8, 64);
}

/* ask_chip() - what kind of card it is. */
static bool ask_chip(struct gp_gpu *gpu, struct drm_amdgpu_info_device *dev, GError **error)
{
	struct drm_amdgpu_info_hw_ip ip = { 0 };
	int ret = gpu->drm->amdgpu_query_info(gpu->device, AMDGPU_INFO_DEV_INFO, sizeof(*dev), dev);

	if (ret) {
		FAIL(error, IO, "the driver does not say what card it is: %s", strerror(-ret));
		return false;
	}
	gpu->chip = gp_chip_find(dev->family, dev->external_rev);
	gpu->gen = gpu->chip ? gp_generation_find(gpu->chip->generation) : NULL;
	if (!gpu->gen) {
		FAIL(error, NODEV, "%s: its generation (family %u, revision 0x%x) is not supported",
		     gpu->drm->amdgpu_get_marketing_name(gpu->device)
			     ? gpu->drm->amdgpu_get_marketing_name(gpu->device)
			     : "an AMD GPU",
		     dev->family, dev->external_rev);
		return false;
	}
	ret = gpu->drm->amdgpu_query_hw_ip_info(gpu->device, AMDGPU_HW_IP_COMPUTE, 0, &ip);
	if (ret || !ip.available_rings) {
		FAIL(error, NODEV, "%s has no compute queue: %s", gpu->chip->title,
		     ret ? strerror(-ret) : "none is available");
		return false;
	}
	if (!dev->gpu_counter_freq || !dev->cu_active_number || !dev->num_shader_engines ||
	    dev->virtual_address_max <= dev->virtual_address_offset) {
		FAIL(error, IO,
		     "the driver says of %s that it has no clock, no compute units or no addresses",
		     gpu->chip->title);
		return false;
	}
	gpu->va_min = dev->virtual_address_offset;
	gpu->va_end = dev->virtual_address_max;
	gpu->tick_hz = (uint64_t)dev->gpu_counter_freq * 1000;
	gpu->units = dev->cu_active_number;
	if (gpu->gen->queue_units)
		gpu->units = MIN(gpu->units, gpu->gen->queue_units);
	gpu->engines = dev->num_shader_engines;
	gpu->ib_align = CLAMP(ip.ib_size_alignment / 4, 8, 64);
	ask_copies(gpu);
	return true;
}

static bool ask_memory(struct gp_gpu *gpu, uint64_t *vram, GError **error)
{
	struct drm_amdgpu_memory_info memory;
	int ret = gpu->drm->amdgpu_query_info(gpu->device, AMDGPU_INFO_MEMORY, sizeof(memory), &memory);

	if (ret) {
		FAIL(error, IO, "the driver does not say what memory %s has: %s", gpu->chip->title,
		     strerror(-ret));
		return false;
	}
	*vram = memory.vram.total_heap_size;
	gpu->visible = memory.cpu_accessible_vram.total_heap_size;
	return true;
}

static void describe(struct gp_gpu *gpu, const char *version, uint64_t vram, struct gp_gpu_info *info)
{
	const char *name = gpu->drm->amdgpu_get_marketing_name(gpu->device);
	bool large = vram >= 1u << 30;
	char *title;

	title = g_strdup_printf("amdgpu %s: %.32s, %s, %u %s", version, name ? name : gpu->chip->title,
				gpu->chip->name,
				(unsigned int)(large ? (vram + (1u << 29)) >> 30 : vram >> 20),
				large ? "GiB" : "MiB");
	g_strlcpy(info->title, title, sizeof(info->title));
	g_free(title);
	g_strlcpy(info->target, gpu->gen->name, sizeof(info->target));
	info->wave = gpu->gen->wave;
	info->waves = gpu->units * gpu->gen->simds * gpu->gen->waves;
	info->depth = GP_GPU_DEPTH;
	info->times = GP_PACKETS_TIMES;
	info->memory = vram;
	info->tick_hz = gpu->tick_hz;
}

static void gpu_close(struct gp_gpu *gpu)
{
	gp_queue_close(gpu);
	gp_share_close(gpu);
	gp_load_close(gpu);
	gp_memory_close(gpu);
	if (gpu->device)
		gpu->drm->amdgpu_device_deinitialize(gpu->device);
	if (gpu->udmabuf >= 0)
		close(gpu->udmabuf);
	g_hash_table_destroy(gpu->allocated);
	g_ptr_array_free(gpu->chunks, true);
	g_ptr_array_free(gpu->stuck, true);
	g_ptr_array_free(gpu->codes, true);
	g_ptr_array_free(gpu->shares, true);
	g_array_free(gpu->list, true);
	g_ptr_array_free(gpu->listed, true);
	g_mutex_clear(&gpu->memory);
	g_mutex_clear(&gpu->bos);
	g_mutex_clear(&gpu->queue);
	g_mutex_clear(&gpu->waking);
	g_free(gpu);
}

static struct gp_gpu *gpu_new(const struct gp_drm *drm)
{
	struct gp_gpu *gpu = g_new0(struct gp_gpu, 1);

	gpu->drm = drm;
	gpu->udmabuf = -1;
	gpu->allocated = g_hash_table_new(NULL, NULL);
	gpu->chunks = g_ptr_array_new();
	gpu->stuck = g_ptr_array_new();
	gpu->codes = g_ptr_array_new();
	gpu->shares = g_ptr_array_new();
	gpu->list = g_array_new(false, false, sizeof(struct drm_amdgpu_bo_list_entry));
	gpu->listed = g_ptr_array_new();
	g_mutex_init(&gpu->memory);
	g_mutex_init(&gpu->bos);
	g_mutex_init(&gpu->queue);
	g_mutex_init(&gpu->waking);
	return gpu;
}

/* set_up() - @fd: the node, which the library duplicates. */
static struct gp_gpu *set_up(const struct gp_drm *drm, int fd, struct gp_gpu_info *info, GError **error)
{
	struct drm_amdgpu_info_device dev = { 0 };
	const char *what = NULL;
	uint32_t major, minor;
	struct gp_gpu *gpu;
	char version[32];
	uint64_t vram;
	int ret;

	if (!check_driver(drm, fd, version, error))
		return NULL;
	gpu = gpu_new(drm);
	ret = drm->amdgpu_device_initialize2
		      ? drm->amdgpu_device_initialize2(fd, false, &major, &minor, &gpu->device)
		      : drm->amdgpu_device_initialize(fd, &major, &minor, &gpu->device);
	if (ret) {
		gpu->device = NULL;
		FAIL(error, IO, "libdrm cannot use the card: %s", strerror(-ret));
		goto fail;
	}
	gpu->fd = drm->amdgpu_device_get_fd(gpu->device);
	gpu->fence_errors = minor >= FENCE_ERRORS;
	if (!ask_chip(gpu, &dev, error) || !ask_memory(gpu, &vram, error))
		goto fail;
	gpu->udmabuf = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	gpu->udmabuf_max = read_limit();
	ret = gp_queue_open(gpu, &what);
	if (ret) {
		FAIL(error, IO, "%s: the driver gives no %s: %s", gpu->chip->title, what, strerror(-ret));
		goto fail;
	}
	describe(gpu, version, vram, info);
	return gpu;

fail:
	gpu_close(gpu);
	return NULL;
}

/* open_node() - @pci: only the card there, or NULL. Return: NULL; *@error stays NULL where the node is not the one. */
static struct gp_gpu *open_node(const struct gp_drm *drm, const char *path, const drmPciBusInfo *pci,
				struct gp_gpu_info *info, GError **error)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), saved = errno;
	GError *reason = NULL;
	struct gp_gpu *gpu = NULL;

	if (fd < 0) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(saved), "%s: %s%s", path,
			    strerror(saved),
			    saved == EACCES ? " (its group, usually render, may use it)" : "");
		return NULL;
	}
	if (!pci || is_at(drm, fd, pci))
		gpu = set_up(drm, fd, info, &reason);
	close(fd);
	if (reason)
		g_propagate_prefixed_error(error, reason, "%s: ", path);
	return gpu;
}

static struct gp_gpu *gpu_open(const char *where, struct gp_gpu_info *info, GError **error)
{
	const struct gp_drm *drm = gp_drm_load(error);
	drmPciBusInfo pci = { 0 };
	struct gp_gpu *gpu = NULL;
	GError *reason = NULL;
	GString *reasons;
	char path[64];

	if (!drm)
		return NULL;
	memset(info, 0, sizeof(*info));
	if (where && where[0] == '/')
		return open_node(drm, where, NULL, info, error);
	if (where && !parse_pci(where, &pci)) {
		FAIL(error, INVAL,
		     "'%s' is neither a render node (/dev/dri/renderD128) nor a PCI address (0000:03:00.0)",
		     where);
		return NULL;
	}
	reasons = g_string_new(NULL);
	for (int node = FIRST_NODE; node <= LAST_NODE && !gpu; node++) {
		snprintf(path, sizeof(path), "/dev/dri/renderD%d", node);
		gpu = open_node(drm, path, where ? &pci : NULL, info, &reason);
		if (reason && !g_error_matches(reason, G_FILE_ERROR, G_FILE_ERROR_NOENT))
			g_string_append_printf(reasons, "%s%s", reasons->len ? "; " : ": ", reason->message);
		g_clear_error(&reason);
	}
	if (!gpu)
		FAIL(error, NODEV, "no AMD GPU%s%s%s", where ? " at " : "", where ? where : "",
		     reasons->len ? reasons->str : ": there is no render node in /dev/dri");
	g_string_free(reasons, true);
	return gpu;
}

static bool gpu_ticks(struct gp_gpu *gpu, uint64_t *ticks)
{
	return !gpu->drm->amdgpu_query_info(gpu->device, AMDGPU_INFO_TIMESTAMP, sizeof(*ticks), ticks);
}

const struct gp_gpu_ops gp_gpu_amdgpu = {
	.name = "amdgpu",
	.open = gpu_open,
	.close = gpu_close,
	.alloc = gp_amdgpu_alloc,
	.free = gp_amdgpu_free,
	.share = gp_amdgpu_share,
	.unshare = gp_amdgpu_unshare,
	.reach = gp_amdgpu_reach,
	.unreach = gp_amdgpu_unreach,
	.load = gp_amdgpu_load,
	.unload = gp_amdgpu_unload,
	.launch = gp_amdgpu_launch,
	.copy = gp_amdgpu_copy,
	.wait = gp_amdgpu_wait,
	.wake = gp_amdgpu_wake,
	.ticks = gpu_ticks,
	.state = gp_amdgpu_state,
	.recover = gp_amdgpu_recover,
};
