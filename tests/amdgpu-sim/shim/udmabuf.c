/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * udmabuf.c - /dev/udmabuf, by drivers/dma-buf/udmabuf.c: memory files as dma-bufs, with the module's default limits.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "card/card.h"
#include "shim/shim.h"

#define LIST_LIMIT 1024u
#define SIZE_LIMIT (64ull << 20)

int sim_udmabuf_open(bool cloexec)
{
	int like = memfd_create("amdgpu-sim-udmabuf", MFD_CLOEXEC), fd;

	if (like < 0)
		return -errno;
	fd = sim_fd_new(SIM_FILE_UDMABUF, NULL, like, cloexec);
	close(like);
	return fd;
}

static int check(const struct udmabuf_create_item *item, struct sim_segment *segment)
{
	struct stat st;
	int seals;

	if ((item->offset | item->size) & (SIM_PAGE - 1))
		return -EINVAL;
	if (fstat((int)item->memfd, &st))
		return -EBADFD;
	seals = fcntl((int)item->memfd, F_GET_SEALS);
	if (seals < 0)
		return -EBADFD;
	if (!(seals & F_SEAL_SHRINK) || (seals & F_SEAL_WRITE))
		return -EINVAL;
	if (item->offset + item->size < item->offset || item->offset + item->size > (uint64_t)st.st_size)
		return -EINVAL;
	*segment =
		(struct sim_segment){ fcntl((int)item->memfd, F_DUPFD_CLOEXEC, 0), item->offset, item->size };
	return segment->file < 0 ? -errno : 0;
}

static int create(const struct udmabuf_create_item *items, uint32_t count, uint32_t flags)
{
	struct sim_segment *segments;
	struct sim_bo *bo = NULL;
	uint64_t size = 0;
	uint32_t done = 0;
	int error = 0;

	if (flags & ~(uint32_t)UDMABUF_FLAGS_CLOEXEC || !count)
		return -EINVAL;
	segments = calloc(count, sizeof(*segments));
	if (!segments)
		return -ENOMEM;
	for (; done < count && !error; done += !error) {
		size += items[done].size;
		error = size > SIZE_LIMIT || !items[done].size ? -EINVAL
							       : check(&items[done], &segments[done]);
	}
	if (!error) {
		bo = sim_bo_import(segments, count);
		error = bo ? sim_fd_new(SIM_FILE_DMABUF, bo, segments[0].file, flags & UDMABUF_FLAGS_CLOEXEC)
			   : -ENOMEM;
	}
	if (!bo)
		for (uint32_t i = 0; i < done; i++)
			close(segments[i].file);
	else if (error < 0)
		sim_bo_put(bo);
	free(segments);
	return error;
}

int sim_udmabuf_ioctl(unsigned long request, void *arg)
{
	const struct udmabuf_create *one = arg;
	const struct udmabuf_create_list *list = arg;
	struct udmabuf_create_item item;
	int error;

	pthread_mutex_lock(&sim.lock);
	error = sim_injected(SIM_NR_UDMABUF);
	pthread_mutex_unlock(&sim.lock);
	if (error)
		return error;
	switch (request) {
	case UDMABUF_CREATE:
		item = (struct udmabuf_create_item){ .memfd = one->memfd,
						     .offset = one->offset,
						     .size = one->size };
		return create(&item, 1, one->flags);
	case UDMABUF_CREATE_LIST:
		if (list->count > LIST_LIMIT)
			return -EINVAL;
		return create(list->list, list->count, list->flags);
	default:
		return -ENOTTY;
	}
}
