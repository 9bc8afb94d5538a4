/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * prime.c - buffers as descriptors and back, by drm_prime.c and amdgpu_dma_buf.c.
 *
 * A descriptor of ours stands for a buffer in a table (shim/table.c). A real dma-buf, from another driver or another
 * process, is mapped and used as it is. Anything else is no dma-buf.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "card.h"
#include "shim/shim.h"

static int export(struct sim_client *client, struct drm_prime_handle *args)
{
	struct sim_bo *bo = sim_idr_find(&client->bos, args->handle);
	int like, fd;

	if (args->flags & ~(uint32_t)(DRM_CLOEXEC | DRM_RDWR))
		return -EINVAL;
	if (!bo)
		return -ENOENT;
	if (bo->kind == SIM_BO_USER || bo->owner || bo->kind == SIM_BO_ON_CHIP)
		return -EPERM;
	like = bo->kind == SIM_BO_IMPORT ? bo->segments[0].file : sim.file;
	fd = sim_fd_new(SIM_FILE_DMABUF, sim_bo_ref(bo), like, args->flags & DRM_CLOEXEC);
	if (fd < 0)
		sim_bo_put(bo);
	args->fd = fd;
	return fd < 0 ? fd : 0;
}

/* A real one: its inode has no type, unlike that of a memory file, and it has a size, unlike an eventfd's. */
static struct sim_bo *real(int fd)
{
	struct sim_segment segment = { 0 };
	struct sim_bo *bo;
	struct stat st;
	off_t size;

	if (fstat(fd, &st) || (st.st_mode & S_IFMT))
		return NULL;
	size = lseek(fd, 0, SEEK_END);
	if (size <= 0 || size & (off_t)(SIM_PAGE - 1))
		return NULL;
	segment.file = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	segment.size = (uint64_t)size;
	if (segment.file < 0)
		return NULL;
	bo = sim_bo_import(&segment, 1);
	if (!bo)
		close(segment.file);
	return bo;
}

static int import(struct sim_client *client, struct drm_prime_handle *args)
{
	struct sim_file *file = sim_fd_find(args->fd);
	struct sim_bo *bo;
	int error;

	if (file && file->kind == SIM_FILE_DMABUF)
		bo = sim_bo_ref(file->object);
	else
		bo = file ? NULL : real(args->fd);
	if (!bo) {
		sim_say("PRIME_FD_TO_HANDLE: %d is no dma-buf", args->fd);
		return fcntl(args->fd, F_GETFD) < 0 ? -EBADF : -EINVAL;
	}
	error = sim_handle_new(client, bo, &args->handle);
	sim_bo_put(bo);
	return error;
}

int sim_prime_ioctl(struct sim_client *client, unsigned int nr, void *arg)
{
	return nr == _IOC_NR(DRM_IOCTL_PRIME_HANDLE_TO_FD) ? export(client, arg) : import(client, arg);
}

/* Maps a part of a buffer's memory, as mmap() of its dma-buf would. */
void *sim_bo_mmap(const struct sim_bo *bo, void *at, size_t size, int prot, int flags, uint64_t offset)
{
	uint64_t done = 0, skip = offset;
	uint8_t *to;

	if (offset + size < offset || offset + size > ((bo->size + SIM_PAGE - 1) & ~(SIM_PAGE - 1))) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	if (bo->kind != SIM_BO_IMPORT)
		return sim_real_mmap(at, size, prot, flags, sim.file, (off_t)(bo->offset + offset));
	to = sim_real_mmap(at, size, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)), -1, 0);
	if (to == MAP_FAILED)
		return to;
	for (uint32_t i = 0; i < bo->num_segments && done < size; i++) {
		const struct sim_segment *s = &bo->segments[i];
		uint64_t n = s->size - (skip < s->size ? skip : s->size);

		if (n) {
			n = n < size - done ? n : size - done;
			if (sim_real_mmap(to + done, n, prot, MAP_SHARED | MAP_FIXED, s->file,
					  (off_t)(s->offset + skip)) == MAP_FAILED)
				return MAP_FAILED;
			done += n;
			skip = 0;
		} else {
			skip -= s->size;
		}
	}
	return to;
}
