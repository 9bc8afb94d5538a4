/* SPDX-License-Identifier: BSD-3-Clause */
/* test_driver.c - the driver's side: what libdrm finds, memory, address spaces, sharing, sync objects, by its rules. */
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "fixture.h"

static struct card card;

static int va_op(struct mem *m, uint64_t offset, uint64_t size, uint64_t va, uint64_t flags, uint32_t op)
{
	return amdgpu_bo_va_op_raw(card.dev, m ? m->bo : NULL, offset, size, va, flags, op);
}

START_TEST(test_devices)
{
	drmDevicePtr devices[4], device;
	struct stat st;
	char *name;
	int fd;

	card_open(&card, "gfx1030", NULL);
	ck_assert_int_eq(drmGetDevices2(0, devices, 4), 1);
	ck_assert_str_eq(devices[0]->nodes[DRM_NODE_RENDER], "/dev/dri/renderD128");
	ck_assert_int_eq(devices[0]->bustype, DRM_BUS_PCI);
	ck_assert_uint_eq(devices[0]->deviceinfo.pci->vendor_id, 0x1002);
	ck_assert_uint_eq(devices[0]->deviceinfo.pci->device_id, 0x73bf);
	ck_assert_uint_eq(devices[0]->businfo.pci->bus, 3);
	drmFreeDevices(devices, 1);
	ck_assert_int_eq(drmGetNodeTypeFromFd(card.fd), DRM_NODE_RENDER);
	ck_assert_int_eq(drmGetDevice2(card.fd, 0, &device), 0);
	drmFreeDevice(&device);
	name = drmGetPrimaryDeviceNameFromFd(card.fd);
	ck_assert_str_eq(name, "/dev/dri/card0");
	free(name);
	ck_assert_int_eq(fstat(card.fd, &st), 0);
	ck_assert(S_ISCHR(st.st_mode) && st.st_rdev == makedev(226, 128));
	fd = dup(card.fd);
	ck_assert_int_eq(drmGetNodeTypeFromFd(fd), DRM_NODE_RENDER);
	close(fd);
	ck_assert_int_lt(open("/dev/dri/card0", O_RDWR), 0);
	card_close(&card);
}
END_TEST

START_TEST(test_info)
{
	static const struct {
		const char *name;
		uint32_t family, wave, version;
	} rows[] = {
		{ "gfx900", 141, 64, 9 },   { "gfx906", 141, 64, 9 },	{ "gfx908", 141, 64, 9 },
		{ "gfx90a", 141, 64, 9 },   { "gfx942", 141, 64, 9 },	{ "gfx1010", 143, 32, 10 },
		{ "gfx1030", 143, 32, 10 }, { "gfx1032", 143, 32, 10 }, { "gfx1100", 145, 32, 11 },
		{ "gfx1101", 145, 32, 11 }, { "gfx1102", 145, 32, 11 }, { "gfx1200", 152, 32, 12 },
		{ "gfx1201", 152, 32, 12 },
	};
	struct drm_amdgpu_info_device dev;
	struct drm_amdgpu_memory_info memory;
	struct drm_amdgpu_info_hw_ip ip;
	uint32_t word, version, feature;
	uint64_t before, after;
	struct mem *m;

	card_open(&card, rows[_i].name, "vram 2G; gtt 1G");
	ck_assert_int_eq(amdgpu_query_info(card.dev, AMDGPU_INFO_DEV_INFO, sizeof(dev), &dev), 0);
	ck_assert_uint_eq(dev.family, rows[_i].family);
	ck_assert_uint_eq(dev.wave_front_size, rows[_i].wave);
	ck_assert_uint_eq(dev.virtual_address_max, 0x800000000000);
	ck_assert_uint_gt(dev.cu_active_number, 0);
	ck_assert_uint_eq(dev.gpu_counter_freq, 100000);
	ck_assert_int_eq(amdgpu_query_hw_ip_info(card.dev, AMDGPU_HW_IP_COMPUTE, 0, &ip), 0);
	ck_assert_uint_eq(ip.hw_ip_version_major, rows[_i].version);
	ck_assert_uint_eq(ip.available_rings, 0xf);
	ck_assert_int_eq(amdgpu_query_hw_ip_info(card.dev, AMDGPU_HW_IP_DMA, 0, &ip), 0);
	ck_assert_uint_ne(ip.available_rings, 0);
	ck_assert_int_eq(amdgpu_query_hw_ip_info(card.dev, AMDGPU_HW_IP_COMPUTE, 1, &ip), -EINVAL);
	ck_assert_int_eq(amdgpu_query_info(card.dev, AMDGPU_INFO_MEMORY, sizeof(memory), &memory), 0);
	ck_assert_uint_eq(memory.vram.total_heap_size, 2ull << 30);
	before = memory.vram.heap_usage;
	m = mem_new(&card, 1 << 20, AMDGPU_GEM_DOMAIN_VRAM, 0, RW);
	ck_assert_uint_ne(m->va, 0);
	ck_assert_int_eq(amdgpu_query_info(card.dev, AMDGPU_INFO_VRAM_USAGE, 8, &after), 0);
	ck_assert_uint_eq(after, before + (1 << 20));
	ck_assert_int_eq(amdgpu_query_firmware_version(card.dev, AMDGPU_INFO_FW_GFX_MEC, 0, 0, &version,
						       &feature),
			 0);
	ck_assert_uint_gt(version, 0);
	ck_assert_int_eq(amdgpu_query_sensor_info(card.dev, AMDGPU_INFO_SENSOR_GPU_TEMP, 4, &word), 0);
	ck_assert_int_eq(amdgpu_read_mm_registers(card.dev, 0x2004, 1, 0xffffffff, 0, &word), -EFAULT);
	ck_assert_int_eq(amdgpu_query_info(card.dev, AMDGPU_INFO_TIMESTAMP, 8, &before), 0);
	usleep(2000);
	ck_assert_int_eq(amdgpu_query_info(card.dev, AMDGPU_INFO_TIMESTAMP, 8, &after), 0);
	ck_assert_uint_ge(after - before, 200000); /* 2 ms of 100 MHz */
	ck_assert_int_eq(amdgpu_query_info(card.dev, 0x77, 4, &word), -EINVAL);
	card_close(&card);
}
END_TEST

static int create(uint64_t size, uint64_t domains, uint64_t flags)
{
	struct amdgpu_bo_alloc_request request = { size, PAGE, (uint32_t)domains, flags };
	amdgpu_bo_handle bo;
	int error = amdgpu_bo_alloc(card.dev, &request, &bo);

	if (!error)
		amdgpu_bo_free(bo);
	return error;
}

START_TEST(test_create)
{
	struct mem *a, *b, *c;
	union drm_amdgpu_gem_mmap map = { .in = { .handle = 12345 } };

	card_open(&card, "gfx900", "vram 16M; gtt 16M");
	ck_assert_int_eq(create(PAGE, AMDGPU_GEM_DOMAIN_VRAM, 1ull << 40), -EINVAL);
	ck_assert_int_eq(create(PAGE, AMDGPU_GEM_DOMAIN_VRAM, AMDGPU_GEM_CREATE_ENCRYPTED), -EINVAL);
	ck_assert_int_eq(create(PAGE, 0x80, 0), -EINVAL);
	ck_assert_int_eq(create(0, AMDGPU_GEM_DOMAIN_GTT, 0), -EINVAL);
	ck_assert_int_eq(create(1ull << 40, AMDGPU_GEM_DOMAIN_GTT, 0), -ENOMEM);
	ck_assert_int_eq(create(12 << 20, AMDGPU_GEM_DOMAIN_GTT, 0), 0);
	a = mem_new(&card, 12 << 20, AMDGPU_GEM_DOMAIN_GTT, 0, RW);
	ck_assert_int_eq(create(12 << 20, AMDGPU_GEM_DOMAIN_GTT, 0), -ENOMEM);
	/* What is fresh: system memory is zero, local memory another's unless it was asked for cleared. */
	b = mem_new(&card, 2 * PAGE, AMDGPU_GEM_DOMAIN_VRAM, 0, RW);
	c = mem_new(&card, 2 * PAGE, AMDGPU_GEM_DOMAIN_VRAM, AMDGPU_GEM_CREATE_VRAM_CLEARED, RW);
	ck_assert_uint_eq(a->cpu[1000], 0);
	ck_assert_uint_eq(b->cpu[1000], 0xdbdbdbdb);
	ck_assert_uint_eq(c->cpu[1000], 0);
	ck_assert_int_eq(drmIoctl(card.fd, DRM_IOCTL_AMDGPU_GEM_MMAP, &map), -1);
	ck_assert_int_eq(errno, ENOENT);
	card_close(&card);
}
END_TEST

START_TEST(test_va)
{
	struct mem *m;
	uint64_t va = 0x10000000;

	card_open(&card, "gfx900", NULL);
	m = mem_new(&card, 16 * PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, RW);
	ck_assert_int_eq(va_op(m, 0, 4 * PAGE, va, RW, AMDGPU_VA_OP_MAP), 0);
	/* overlap, alignment, beyond the buffer, reserved, hole, flags, operation */
	ck_assert_int_eq(va_op(m, 0, PAGE, va + 3 * PAGE, RW, AMDGPU_VA_OP_MAP), -EINVAL);
	ck_assert_int_eq(va_op(m, 0, 8 * PAGE, va - 4 * PAGE, RW, AMDGPU_VA_OP_MAP), -EINVAL);
	ck_assert_int_eq(va_op(m, 0, PAGE, va + 64 * PAGE + 256, RW, AMDGPU_VA_OP_MAP), -EINVAL);
	ck_assert_int_eq(va_op(m, 256, PAGE, va + 64 * PAGE, RW, AMDGPU_VA_OP_MAP), -EINVAL);
	ck_assert_int_eq(va_op(m, 0, 100, va + 64 * PAGE, RW, AMDGPU_VA_OP_MAP), -EINVAL);
	ck_assert_int_eq(va_op(m, PAGE, 16 * PAGE, va + 64 * PAGE, RW, AMDGPU_VA_OP_MAP), -EINVAL);
	ck_assert_int_eq(va_op(m, 0, PAGE, 0x1000, RW, AMDGPU_VA_OP_MAP), -EINVAL);
	ck_assert_int_eq(va_op(m, 0, PAGE, 0x800000000000, RW, AMDGPU_VA_OP_MAP), -EINVAL);
	ck_assert_int_eq(va_op(m, 0, PAGE, 0xffff800000000000, RW, AMDGPU_VA_OP_MAP), 0);
	ck_assert_int_eq(va_op(m, 0, PAGE, 0xfffffffffffff000, RW, AMDGPU_VA_OP_MAP), -EINVAL);
	/* what the driver keeps at the top: 4 MiB and two pages */
	ck_assert_int_eq(va_op(m, 0, PAGE, 0xffffffffffbfd000, RW, AMDGPU_VA_OP_MAP), 0);
	ck_assert_int_eq(va_op(m, 0, PAGE, 0xffffffffffbfe000, RW, AMDGPU_VA_OP_MAP), -EINVAL);
	ck_assert_int_eq(va_op(m, 0, PAGE, va + 64 * PAGE, 1u << 20, AMDGPU_VA_OP_MAP), -EINVAL);
	ck_assert_int_eq(va_op(m, 0, PAGE, va + 64 * PAGE, RW | AMDGPU_VM_PAGE_PRT, AMDGPU_VA_OP_MAP),
			 -EINVAL);
	ck_assert_int_eq(va_op(m, 0, PAGE, va + 64 * PAGE, RW, 9), -EINVAL);
	/* unmap by its first address only; replace splits; clear takes pieces */
	ck_assert_int_eq(va_op(m, 0, PAGE, va + PAGE, RW, AMDGPU_VA_OP_UNMAP), -ENOENT);
	ck_assert_int_eq(va_op(m, 8 * PAGE, PAGE, va + PAGE, RW, AMDGPU_VA_OP_REPLACE), 0);
	ck_assert_int_eq(va_op(m, 0, 4 * PAGE, va, RW, AMDGPU_VA_OP_UNMAP), 0);
	ck_assert_int_eq(va_op(m, 0, PAGE, va, RW, AMDGPU_VA_OP_UNMAP), -ENOENT);
	ck_assert_int_eq(va_op(m, 0, PAGE, va + PAGE, RW, AMDGPU_VA_OP_UNMAP), 0);
	ck_assert_int_eq(va_op(NULL, 0, 4 * PAGE, va, 0, AMDGPU_VA_OP_CLEAR), 0);
	ck_assert_int_eq(va_op(m, 0, PAGE, va + 2 * PAGE, RW, AMDGPU_VA_OP_MAP), 0);
	card_close(&card);
}
END_TEST

/* A stream writes through each kind of mapping, so that offset and split are what they should be. */
START_TEST(test_replace)
{
	struct stream s;
	struct mem *m;

	card_open(&card, "gfx900", NULL);
	m = mem_new(&card, 16 * PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, RW);
	ck_assert_int_eq(va_op(m, 10 * PAGE, PAGE, m->va + PAGE, RW, AMDGPU_VA_OP_REPLACE), 0);
	ck_assert_int_eq(va_op(NULL, 0, PAGE, m->va + 4 * PAGE, AMDGPU_VM_PAGE_PRT, AMDGPU_VA_OP_REPLACE), 0);
	s = stream_new(&card);
	for (uint32_t i = 0; i < 6; i++)
		put_write(&s, m->va + i * PAGE, 100 + i);
	ck_assert_int_eq(run(&card, &s), 0);
	ck_assert_uint_eq(m->cpu[0], 100);
	ck_assert_uint_eq(m->cpu[PAGE / 4], 0);
	ck_assert_uint_eq(m->cpu[10 * PAGE / 4], 101);
	ck_assert_uint_eq(m->cpu[2 * PAGE / 4], 102);
	ck_assert_uint_eq(m->cpu[4 * PAGE / 4], 0); /* PRT: dropped */
	ck_assert_uint_eq(m->cpu[5 * PAGE / 4], 105);
	card_close(&card);
}
END_TEST

static int userptr(void *at, uint64_t size, uint32_t flags, uint32_t *handle)
{
	struct drm_amdgpu_gem_userptr args = { (uintptr_t)at, size, flags, 0 };

	if (drmIoctl(card.fd, DRM_IOCTL_AMDGPU_GEM_USERPTR, &args))
		return -errno;
	*handle = args.handle;
	return 0;
}

START_TEST(test_userptr)
{
	const uint32_t full = AMDGPU_GEM_USERPTR_REGISTER | AMDGPU_GEM_USERPTR_VALIDATE;
	int fd = memfd_create("file", MFD_CLOEXEC);
	struct mem *mem;
	struct stream s;
	uint32_t handle;
	uint64_t offset;
	uint8_t *at, *of_file;
	union drm_amdgpu_gem_mmap map;

	card_open(&card, "gfx900", NULL);
	ck_assert_int_eq(ftruncate(fd, 4 * PAGE), 0);
	of_file = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	at = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_int_eq(userptr(at + 1, PAGE, full, &handle), -EINVAL);
	ck_assert_int_eq(userptr(at, PAGE + 1, full, &handle), -EINVAL);
	ck_assert_int_eq(userptr(at, 0, full, &handle), -EINVAL);
	ck_assert_int_eq(userptr(at, PAGE, full | 16, &handle), -EINVAL);
	ck_assert_int_eq(userptr(at, PAGE, 0, &handle), -EACCES);
	ck_assert_int_eq(userptr((void *)0x10000, PAGE, full, &handle), -EFAULT);
	ck_assert_int_eq(userptr(of_file, PAGE, full | AMDGPU_GEM_USERPTR_ANONONLY, &handle), -EPERM);
	ck_assert_int_eq(userptr(of_file, PAGE, full, &handle), 0);
	/* libdrm's own asks for anonymous memory */
	mem = &card.mem[card.count];
	ck_assert_int_eq(amdgpu_create_bo_from_user_mem(card.dev, at, 4 * PAGE, &mem->bo), 0);
	ck_assert_int_eq(amdgpu_bo_export(mem->bo, amdgpu_bo_handle_type_kms, &mem->handle), 0);
	card.count++;
	map = (union drm_amdgpu_gem_mmap){ .in = { .handle = mem->handle } };
	ck_assert_int_eq(drmIoctl(card.fd, DRM_IOCTL_AMDGPU_GEM_MMAP, &map), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(amdgpu_bo_export(mem->bo, amdgpu_bo_handle_type_dma_buf_fd, &handle), -EPERM);
	/* CPU and GPU by one address */
	offset = (uintptr_t)at;
	ck_assert_int_eq(va_op(mem, 0, 4 * PAGE, offset, RW, AMDGPU_VA_OP_MAP), 0);
	s = stream_new(&card);
	put_write(&s, offset + 3 * PAGE + 8, 0x77);
	ck_assert_int_eq(run(&card, &s), 0);
	ck_assert_uint_eq(at[3 * PAGE + 8], 0x77);
	/* pages that are gone */
	munmap(at, 4 * PAGE);
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, NULL), -EFAULT);
	card_close(&card);
}
END_TEST

/* munmap() of a user pointer's memory waits for the jobs that use it. */
START_TEST(test_userptr_unmap)
{
	struct mem *mem, *flag;
	struct stream s;
	uint64_t sequence;
	uint8_t *at;

	card_open(&card, "gfx900", NULL);
	at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mem = &card.mem[card.count];
	ck_assert_int_eq(amdgpu_create_bo_from_user_mem(card.dev, at, PAGE, &mem->bo), 0);
	ck_assert_int_eq(amdgpu_bo_export(mem->bo, amdgpu_bo_handle_type_kms, &mem->handle), 0);
	card.count++;
	ck_assert_int_eq(va_op(mem, 0, PAGE, (uintptr_t)at, RW, AMDGPU_VA_OP_MAP), 0);
	flag = mem_new(&card, PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, RW);
	s = stream_new(&card);
	/* many writes, so that it takes a while */
	for (uint32_t i = 0; i < 150; i++)
		put_write(&s, (uintptr_t)at + 4 * i, i);
	put_write(&s, flag->va, 1);
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, &sequence), 0);
	munmap(at, PAGE);
	ck_assert_uint_eq(*(volatile uint32_t *)flag->cpu, 1);
	ck_assert_int_eq(wait_for(&card, AMDGPU_HW_IP_COMPUTE, sequence, 0), 0);
	card_close(&card);
}
END_TEST

static int udmabuf(int dev, int memfd, uint64_t offset, uint64_t size)
{
	struct udmabuf_create create = { (uint32_t)memfd, UDMABUF_FLAGS_CLOEXEC, offset, size };
	int fd = ioctl(dev, UDMABUF_CREATE, &create);

	return fd < 0 ? -errno : fd;
}

START_TEST(test_udmabuf)
{
	struct amdgpu_bo_import_result result;
	int dev, memfd = memfd_create("region", MFD_CLOEXEC | MFD_ALLOW_SEALING), fd;
	struct mem *mem;
	struct stream s;
	uint8_t *ours;

	card_open(&card, "gfx900", NULL);
	dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(dev, 0);
	ck_assert_int_eq(ftruncate(memfd, 128 << 20), 0);
	ours = mmap(NULL, 128 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	ck_assert_int_eq(udmabuf(dev, memfd, 0, PAGE), -EINVAL); /* not sealed */
	ck_assert_int_eq(fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	ck_assert_int_eq(udmabuf(dev, memfd, 1, PAGE), -EINVAL);
	ck_assert_int_eq(udmabuf(dev, memfd, 128 << 20, PAGE), -EINVAL);
	ck_assert_int_eq(udmabuf(dev, memfd, 0, (64 << 20) + PAGE), -EINVAL);
	ck_assert_int_eq(udmabuf(dev, 0, 0, PAGE), -EBADFD);
	fd = udmabuf(dev, memfd, 8 * PAGE, 64 << 20);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(amdgpu_bo_import(card.dev, amdgpu_bo_handle_type_dma_buf_fd, (uint32_t)fd, &result),
			 0);
	ck_assert_uint_eq(result.alloc_size, 64 << 20);
	close(fd);
	mem = &card.mem[card.count++];
	mem->bo = result.buf_handle;
	ck_assert_int_eq(amdgpu_bo_export(mem->bo, amdgpu_bo_handle_type_kms, &mem->handle), 0);
	ck_assert_int_eq(va_op(mem, 0, 64 << 20, 0x40000000, RW, AMDGPU_VA_OP_MAP), 0);
	s = stream_new(&card);
	put_write(&s, 0x40000000 + 3 * PAGE + 4, 0xabcdef);
	ck_assert_int_eq(run(&card, &s), 0);
	ck_assert_uint_eq(*(uint32_t *)(void *)(ours + 11 * PAGE + 4), 0xabcdef);
	/* a memory file by itself is no dma-buf */
	ck_assert_int_lt(amdgpu_bo_import(card.dev, amdgpu_bo_handle_type_dma_buf_fd, (uint32_t)memfd,
					  &result),
			 0);
	ck_assert_int_eq(errno, EINVAL);
	card_close(&card);
}
END_TEST

START_TEST(test_udmabuf_list)
{
	uint64_t room[1 + 3 * 3] = { 0 };
	struct udmabuf_create_list *list = (void *)room;
	int dev, memfd = memfd_create("region", MFD_CLOEXEC | MFD_ALLOW_SEALING), fd;
	uint8_t *ours, *theirs;

	card_open(&card, "gfx900", NULL);
	dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(ftruncate(memfd, 1 << 20), 0);
	ck_assert_int_eq(fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	ours = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	list->flags = UDMABUF_FLAGS_CLOEXEC;
	for (uint32_t i = 0; i < 3; i++) {
		list->list[i] = (struct udmabuf_create_item){ (uint32_t)memfd, 0, (8 - 2 * i) * PAGE, PAGE };
		ours[list->list[i].offset] = (uint8_t)(i + 1);
	}
	list->count = 1025;
	ck_assert_int_eq(ioctl(dev, UDMABUF_CREATE_LIST, list), -1);
	list->count = 3;
	fd = ioctl(dev, UDMABUF_CREATE_LIST, list);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_END), 3 * PAGE);
	theirs = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(theirs, MAP_FAILED);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_uint_eq(theirs[i * PAGE], i + 1);
	theirs[PAGE + 5] = 99;
	ck_assert_uint_eq(ours[6 * PAGE + 5], 99);
	card_close(&card);
}
END_TEST

/* A job of a client that libdrm does not know: writes @value to @va. Return: 0, or the job's error. */
static int raw_job(int fd, uint32_t target, uint64_t va, uint32_t value)
{
	union drm_amdgpu_gem_create create = { .in = { PAGE, PAGE, AMDGPU_GEM_DOMAIN_GTT, 0 } };
	union drm_amdgpu_ctx ctx = { .in = { .op = AMDGPU_CTX_OP_ALLOC_CTX } };
	struct drm_amdgpu_gem_va map_va = {
		.operation = AMDGPU_VA_OP_MAP, .flags = RW, .va_address = 0x800000, .map_size = PAGE
	};
	struct drm_amdgpu_bo_list_entry entries[2] = { { target, 0 } };
	struct drm_amdgpu_bo_list_in list = { 0, 0, 2, sizeof(entries[0]), (uintptr_t)entries };
	struct drm_amdgpu_cs_chunk_ib ib = { .va_start = 0x800000,
					     .ib_bytes = 32,
					     .ip_type = AMDGPU_HW_IP_COMPUTE };
	struct drm_amdgpu_cs_chunk chunks[2] = {
		{ AMDGPU_CHUNK_ID_BO_HANDLES, sizeof(list) / 4, (uintptr_t)&list },
		{ AMDGPU_CHUNK_ID_IB, sizeof(ib) / 4, (uintptr_t)&ib },
	};
	uint64_t pointers[2] = { (uintptr_t)&chunks[0], (uintptr_t)&chunks[1] };
	union drm_amdgpu_cs cs = { .in = { .num_chunks = 2, .chunks = (uintptr_t)pointers } };
	const uint32_t words[8] = { PACKET(0x37, 4), 5u << 8 | 1u << 20, (uint32_t)va, (uint32_t)(va >> 32),
				    value,	     0xffff1000,	 0xffff1000,   0xffff1000 };
	union drm_amdgpu_gem_mmap offset = { 0 };
	union drm_amdgpu_wait_cs wait = { 0 };
	struct drm_gem_close gem = { 0 };
	uint32_t *cpu;
	int error;

	ck_assert_int_eq(drmIoctl(fd, DRM_IOCTL_AMDGPU_GEM_CREATE, &create), 0);
	gem.handle = offset.in.handle = entries[1].bo_handle = map_va.handle = create.out.handle;
	ck_assert_int_eq(drmIoctl(fd, DRM_IOCTL_AMDGPU_GEM_MMAP, &offset), 0);
	cpu = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset.out.addr_ptr);
	ck_assert_ptr_ne(cpu, MAP_FAILED);
	memcpy(cpu, words, sizeof(words));
	munmap(cpu, PAGE);
	ck_assert_int_eq(drmIoctl(fd, DRM_IOCTL_AMDGPU_GEM_VA, &map_va), 0);
	ck_assert_int_eq(drmIoctl(fd, DRM_IOCTL_AMDGPU_CTX, &ctx), 0);
	cs.in.ctx_id = ctx.out.alloc.ctx_id;
	wait.in.ctx_id = cs.in.ctx_id;
	ck_assert_int_eq(drmIoctl(fd, DRM_IOCTL_AMDGPU_CS, &cs), 0);
	wait.in.handle = cs.out.handle;
	wait.in.timeout = UINT64_MAX;
	wait.in.ip_type = AMDGPU_HW_IP_COMPUTE;
	error = drmIoctl(fd, DRM_IOCTL_AMDGPU_WAIT_CS, &wait) ? -errno : 0;
	ck_assert_int_eq(drmIoctl(fd, DRM_IOCTL_GEM_CLOSE, &gem), 0);
	return error;
}

/* Two nodes of one process: address spaces of their own, and a buffer that both have. */
START_TEST(test_two_clients)
{
	struct amdgpu_bo_import_result result;
	struct stream s, t;
	struct card other;
	struct mem *m, *n;
	uint32_t fd, again;
	uint8_t *map;

	card_open(&card, "gfx900", NULL);
	m = mem_new(&card, PAGE, AMDGPU_GEM_DOMAIN_VRAM, AMDGPU_GEM_CREATE_VRAM_CLEARED, RW);
	/* libdrm 2.4.114 has one device per GPU and process: the raw way in for a second */
	ck_assert_int_eq(amdgpu_bo_export(m->bo, amdgpu_bo_handle_type_dma_buf_fd, &fd), 0);
	map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	other.fd = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(drmPrimeFDToHandle(other.fd, (int)fd, &again), 0);
	{
		struct drm_amdgpu_gem_va va = { .handle = again,
						.operation = AMDGPU_VA_OP_MAP,
						.flags = RW,
						.va_address = 0x900000,
						.map_size = PAGE };
		union drm_amdgpu_ctx ctx = { .in = { .op = AMDGPU_CTX_OP_ALLOC_CTX } };

		ck_assert_int_eq(drmIoctl(other.fd, DRM_IOCTL_AMDGPU_GEM_VA, &va), 0);
		/* a context of one client is none of the other's */
		ck_assert_int_eq(drmIoctl(other.fd, DRM_IOCTL_AMDGPU_CTX, &ctx), 0);
		va.va_address = m->va;
		va.operation = AMDGPU_VA_OP_UNMAP;
		ck_assert_int_eq(drmIoctl(other.fd, DRM_IOCTL_AMDGPU_GEM_VA, &va), -1);
		ck_assert_int_eq(errno, ENOENT);
	}
	s = stream_new(&card);
	put_write(&s, m->va, 41);
	ck_assert_int_eq(run(&card, &s), 0);
	ck_assert_uint_eq(map[0], 41);
	/* what the other client has mapped is not there for this one */
	t = stream_new(&card);
	put_write(&t, 0x900000, 42);
	ck_assert_int_eq(run(&card, &t), -ETIME);
	ck_assert_uint_eq(map[0], 41);
	ck_assert_int_eq(raw_job(other.fd, again, 0x900000, 43), 0);
	ck_assert_uint_eq(map[0], 43);
	ck_assert_int_eq(raw_job(other.fd, again, m->va, 44), -ETIME);
	ck_assert_uint_eq(map[0], 43);
	/* importing one's own gives the handle that is there */
	ck_assert_int_eq(amdgpu_bo_import(card.dev, amdgpu_bo_handle_type_dma_buf_fd, fd, &result), 0);
	n = m;
	ck_assert_ptr_eq(result.buf_handle, n->bo);
	close(other.fd);
	close((int)fd);
}
END_TEST

START_TEST(test_syncobj)
{
	struct pollfd event = { .events = POLLIN };
	uint32_t a, b, first;
	uint64_t point, points[2];
	int fd;

	card_open(&card, "gfx900", NULL);
	ck_assert_int_eq(amdgpu_cs_create_syncobj(card.dev, &a), 0);
	ck_assert_int_eq(amdgpu_cs_create_syncobj2(card.dev, DRM_SYNCOBJ_CREATE_SIGNALED, &b), 0);
	ck_assert_int_eq(drmSyncobjWait(card.fd, &b, 1, 0, 0, &first), 0);
	/* nothing was submitted for it: an error, unless one waits for that too */
	ck_assert_int_eq(drmSyncobjWait(card.fd, &a, 1, 0, 0, &first), -EINVAL);
	ck_assert_int_eq(drmSyncobjWait(card.fd, &a, 1, 0, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT, &first),
			 -ETIME);
	ck_assert_int_eq(drmSyncobjSignal(card.fd, &a, 1), 0);
	ck_assert_int_eq(drmSyncobjWait(card.fd, &a, 1, 0, 0, &first), 0);
	ck_assert_int_eq(drmSyncobjReset(card.fd, &a, 1), 0);
	ck_assert_int_eq(drmSyncobjWait(card.fd, &a, 1, 0, 0, &first), -EINVAL);
	/* timelines */
	point = 5;
	ck_assert_int_eq(drmSyncobjTimelineSignal(card.fd, &a, &point, 1), 0);
	ck_assert_int_eq(drmSyncobjQuery(card.fd, &a, points, 1), 0);
	ck_assert_uint_eq(points[0], 5);
	point = 3;
	ck_assert_int_eq(drmSyncobjTimelineWait(card.fd, &a, &point, 1, 0, 0, &first), 0);
	point = 6;
	ck_assert_int_eq(drmSyncobjTimelineWait(card.fd, &a, &point, 1, 0, 0, &first), -EINVAL);
	ck_assert_int_eq(drmSyncobjTimelineWait(card.fd, &a, &point, 1, 0,
						DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT, &first),
			 -ETIME);
	/* transfer, descriptors */
	ck_assert_int_eq(drmSyncobjTransfer(card.fd, b, 9, a, 5, 0), 0);
	ck_assert_int_eq(drmSyncobjQuery(card.fd, &b, points, 1), 0);
	ck_assert_uint_eq(points[0], 9);
	ck_assert_int_eq(drmSyncobjHandleToFD(card.fd, a, &fd), 0);
	ck_assert_int_eq(drmSyncobjFDToHandle(card.fd, fd, &b), 0);
	close(fd);
	ck_assert_int_eq(drmSyncobjQuery(card.fd, &b, points, 1), 0);
	ck_assert_uint_eq(points[0], 5);
	ck_assert_int_eq(drmSyncobjExportSyncFile(card.fd, a, &event.fd), 0);
	ck_assert_int_eq(poll(&event, 1, 1000), 1);
	close(event.fd);
	ck_assert_int_eq(drmSyncobjDestroy(card.fd, a), 0);
	ck_assert_int_eq(drmSyncobjDestroy(card.fd, a), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(drmSyncobjWait(card.fd, &a, 1, 0, 0, &first), -ENOENT);
	card_close(&card);
}
END_TEST

/* A submission that waits for one point of a timeline and signals another. */
START_TEST(test_timeline_jobs)
{
	struct drm_amdgpu_cs_chunk_syncobj wait = { 0, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT, 7 },
					   signal = { 0, 0, 8 };
	struct drm_amdgpu_cs_chunk_ib ib = { .ip_type = AMDGPU_HW_IP_COMPUTE };
	struct drm_amdgpu_bo_list_entry entries[2];
	struct drm_amdgpu_bo_list_in list = { 0, 0, 2, sizeof(entries[0]), (uintptr_t)entries };
	struct drm_amdgpu_cs_chunk chunks[4] = {
		{ AMDGPU_CHUNK_ID_BO_HANDLES, sizeof(list) / 4, (uintptr_t)&list },
		{ AMDGPU_CHUNK_ID_IB, sizeof(ib) / 4, (uintptr_t)&ib },
		{ AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL, sizeof(signal) / 4, (uintptr_t)&signal },
		{ AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT, sizeof(wait) / 4, (uintptr_t)&wait },
	};
	uint32_t obj, first;
	uint64_t point = 6, sequence, eight = 8;
	struct stream s;
	struct mem *m;

	card_open(&card, "gfx900", NULL);
	m = mem_new(&card, PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, RW);
	s = stream_new(&card);
	put_write(&s, m->va, 1);
	while (s.n & 7)
		put(&s, 0xffff1000);
	ib.va_start = s.mem->va;
	ib.ib_bytes = s.n * 4;
	entries[0] = (struct drm_amdgpu_bo_list_entry){ m->handle, 0 };
	entries[1] = (struct drm_amdgpu_bo_list_entry){ s.mem->handle, 0 };
	ck_assert_int_eq(amdgpu_cs_create_syncobj(card.dev, &obj), 0);
	wait.handle = signal.handle = obj;
	ck_assert_int_eq(drmSyncobjTimelineSignal(card.fd, &obj, &point, 1), 0);
	/* point 7 is never submitted: without the flag an error at once */
	wait.flags = 0;
	ck_assert_int_eq(amdgpu_cs_submit_raw2(card.dev, card.ctx, 0, 4, chunks, &sequence), -EINVAL);
	wait.point = 6;
	ck_assert_int_eq(amdgpu_cs_submit_raw2(card.dev, card.ctx, 0, 4, chunks, &sequence), 0);
	ck_assert_int_eq(drmSyncobjTimelineWait(card.fd, &obj, &eight, 1, INT64_MAX, 0, &first), 0);
	ck_assert_uint_eq(m->cpu[0], 1);
	ck_assert_int_eq(drmSyncobjQuery(card.fd, &obj, &point, 1), 0);
	ck_assert_uint_eq(point, 8);
	/* a chunk that is not known, none that says where, a handle that is none */
	chunks[3].chunk_id = 0x77;
	ck_assert_int_eq(amdgpu_cs_submit_raw2(card.dev, card.ctx, 0, 4, chunks, &sequence), -EINVAL);
	ck_assert_int_eq(amdgpu_cs_submit_raw2(card.dev, card.ctx, 0, 1, chunks, &sequence), -EINVAL);
	/* two that signal, of one kind or of both */
	chunks[3] = chunks[2];
	ck_assert_int_eq(amdgpu_cs_submit_raw2(card.dev, card.ctx, 0, 4, chunks, &sequence), -EINVAL);
	chunks[3] = (struct drm_amdgpu_cs_chunk){ AMDGPU_CHUNK_ID_SYNCOBJ_OUT, 1, (uintptr_t)&obj };
	ck_assert_int_eq(amdgpu_cs_submit_raw2(card.dev, card.ctx, 0, 4, chunks, &sequence), -EINVAL);
	/* lists and IBs that are too short */
	chunks[0].length_dw--;
	ck_assert_int_eq(amdgpu_cs_submit_raw2(card.dev, card.ctx, 0, 3, chunks, &sequence), -EINVAL);
	chunks[0].length_dw++;
	chunks[1].length_dw--;
	ck_assert_int_eq(amdgpu_cs_submit_raw2(card.dev, card.ctx, 0, 3, chunks, &sequence), -EINVAL);
	chunks[1].length_dw++;
	signal.handle = 999;
	ck_assert_int_eq(amdgpu_cs_submit_raw2(card.dev, card.ctx, 0, 3, chunks, &sequence), -EINVAL);
	entries[0].bo_handle = 999;
	ck_assert_int_eq(amdgpu_cs_submit_raw2(card.dev, card.ctx, 0, 2, chunks, &sequence), -ENOENT);
	card_close(&card);
}
END_TEST

/* The user's fence, dependencies between queues, waiting for several. */
START_TEST(test_fences)
{
	struct amdgpu_cs_fence fences[2] = { 0 };
	struct amdgpu_cs_fence_info place;
	struct amdgpu_cs_ib_info ib = { 0 };
	struct amdgpu_cs_request request = { .ip_type = AMDGPU_HW_IP_COMPUTE,
					     .number_of_ibs = 1,
					     .ibs = &ib };
	amdgpu_bo_list_handle list;
	amdgpu_bo_handle bos[3];
	uint32_t status, first;
	struct mem *m, *f;
	struct stream s;

	card_open(&card, "gfx900", NULL);
	m = mem_new(&card, PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, RW);
	f = mem_new(&card, PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, RW);
	s = stream_new(&card);
	put_write(&s, m->va, 1);
	while (s.n & 7)
		put(&s, 0xffff1000);
	bos[0] = m->bo;
	bos[1] = f->bo;
	bos[2] = s.mem->bo;
	ck_assert_int_eq(amdgpu_bo_list_create(card.dev, 3, bos, NULL, &list), 0);
	request.resources = list;
	request.fence_info = (struct amdgpu_cs_fence_info){ f->bo, 3 };
	ib.ib_mc_address = s.mem->va;
	ib.size = s.n;
	place = request.fence_info;
	for (uint32_t i = 0; i < 2; i++) {
		request.ring = i;
		if (i) {
			request.number_of_dependencies = 1;
			request.dependencies = fences;
		}
		ck_assert_int_eq(amdgpu_cs_submit(card.ctx, 0, &request, 1), 0);
		fences[i] = (struct amdgpu_cs_fence){ .context = card.ctx,
						      .ip_type = AMDGPU_HW_IP_COMPUTE,
						      .ring = i,
						      .fence = request.seq_no };
	}
	ck_assert_int_eq(amdgpu_cs_wait_fences(fences, 2, true, 5 * SECOND, &status, &first), 0);
	ck_assert_uint_eq(status, 1);
	ck_assert_uint_eq(m->cpu[0], 1);
	ck_assert_uint_eq(((uint64_t *)(void *)f->cpu)[place.offset], 1);
	/* one that is not submitted yet */
	fences[0].fence = 99;
	ck_assert_int_eq(amdgpu_cs_query_fence_status(&fences[0], 0, 0, &status), -EINVAL);
	amdgpu_bo_list_destroy(list);
	card_close(&card);
}
END_TEST

static const struct {
	uint32_t ip, most;
} ib_limits[] = { { AMDGPU_HW_IP_COMPUTE, 125 }, { AMDGPU_HW_IP_DMA, 49 } };

/* IBs of one submission. */
START_TEST(test_ib_limit)
{
	struct drm_amdgpu_cs_chunk_ib ib = { .ip_type = ib_limits[_i].ip };
	struct drm_amdgpu_cs_chunk chunks[126];
	uint64_t sequence;
	struct stream s;

	card_open(&card, "gfx900", NULL);
	s = stream_new(&card);
	while (s.n < 8)
		put(&s, ib.ip_type == AMDGPU_HW_IP_DMA ? 0 : 0xffff1000);
	ib.va_start = s.mem->va;
	ib.ib_bytes = s.n * 4;
	for (uint32_t i = 0; i < 126; i++)
		chunks[i] =
			(struct drm_amdgpu_cs_chunk){ AMDGPU_CHUNK_ID_IB, sizeof(ib) / 4, (uintptr_t)&ib };
	ck_assert_int_eq(amdgpu_cs_submit_raw2(card.dev, card.ctx, 0, (int)ib_limits[_i].most + 1, chunks,
					       &sequence),
			 -EINVAL);
	ck_assert_int_eq(amdgpu_cs_submit_raw2(card.dev, card.ctx, 0, (int)ib_limits[_i].most, chunks,
					       &sequence),
			 0);
	card_close(&card);
}
END_TEST

/* Contexts: how many there can be, priorities, what the older of the two questions about resets says. */
START_TEST(test_contexts)
{
	static const int32_t priorities[] = { AMDGPU_CTX_PRIORITY_VERY_LOW, AMDGPU_CTX_PRIORITY_LOW,
					      AMDGPU_CTX_PRIORITY_NORMAL, 77 /* as "normal" */ };
	amdgpu_context_handle ctx, *many = calloc(4096, sizeof(*many));
	uint32_t state, hangs, count = 0;
	int error;

	card_open(&card, "gfx900", NULL);
	ck_assert_int_eq(amdgpu_cs_query_reset_state(card.ctx, &state, &hangs), 0);
	ck_assert_uint_eq(state, AMDGPU_CTX_NO_RESET);
	amdgpu_sim_control("reset innocent");
	ck_assert_int_eq(amdgpu_cs_query_reset_state(card.ctx, &state, &hangs), 0);
	ck_assert_uint_eq(state, AMDGPU_CTX_UNKNOWN_RESET);
	ck_assert_int_eq(amdgpu_cs_query_reset_state(card.ctx, &state, &hangs), 0);
	ck_assert_uint_eq(state, AMDGPU_CTX_NO_RESET);
	for (size_t i = 0; i < sizeof(priorities) / sizeof(*priorities); i++) {
		ck_assert_int_eq(amdgpu_cs_ctx_create2(card.dev, (uint32_t)priorities[i], &ctx), 0);
		amdgpu_cs_ctx_free(ctx);
	}
	/* one was made by card_open() */
	while (!(error = amdgpu_cs_ctx_create(card.dev, &many[count])))
		ck_assert_uint_lt(++count, 4096);
	ck_assert_int_eq(error, -ENOSPC);
	ck_assert_uint_eq(count, 4094);
	while (count)
		amdgpu_cs_ctx_free(many[--count]);
	free(many);
	card_close(&card);
}
END_TEST

/* ioctls that are none, and those that a render node refuses. */
START_TEST(test_refused)
{
	struct drm_auth auth = { 0 };
	char room[64] = { 0 };

	card_open(&card, "gfx900", NULL);
	ck_assert_int_eq(ioctl(card.fd, DRM_IOCTL_GET_MAGIC, &auth), -1);
	ck_assert_int_eq(errno, EACCES);
	ck_assert_int_eq(ioctl(card.fd, DRM_IOWR(0x9e, char[64]), room), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(ioctl(card.fd, _IOWR('x', 1, char[64]), room), -1);
	ck_assert_int_eq(errno, ENOTTY);
	card_close(&card);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("driver");
	TCase *tc = tcase_create("driver");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_devices);
	tcase_add_loop_test(tc, test_info, 0, 13);
	tcase_add_test(tc, test_create);
	tcase_add_test(tc, test_va);
	tcase_add_test(tc, test_replace);
	tcase_add_test(tc, test_userptr);
	tcase_add_test(tc, test_userptr_unmap);
	tcase_add_test(tc, test_udmabuf);
	tcase_add_test(tc, test_udmabuf_list);
	tcase_add_test(tc, test_two_clients);
	tcase_add_test(tc, test_syncobj);
	tcase_add_test(tc, test_timeline_jobs);
	tcase_add_test(tc, test_fences);
	tcase_add_loop_test(tc, test_ib_limit, 0, 2);
	tcase_add_test(tc, test_contexts);
	tcase_add_test(tc, test_refused);
	suite_add_tcase(suite, tc);
	return sim_main(suite, argv);
}
