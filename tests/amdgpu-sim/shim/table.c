/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.c - which descriptors are ours. Looked up on every hooked call, so: an array by number, under its own lock, which
 * is never held while the card's is asked for. What was inherited or received from another process is not in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "shim/shim.h"

#define MAX_FD 65536

static struct sim_file *files[MAX_FD];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int sim_fd_new(enum sim_file_kind kind, void *object, int like, bool cloexec)
{
	struct sim_file *file = malloc(sizeof(*file));
	int fd;

	if (!file)
		return -ENOMEM;
	*file = (struct sim_file){ kind, 1, object };
	fd = fcntl(like, F_DUPFD_CLOEXEC, 3);
	if (fd >= 0 && !cloexec)
		fcntl(fd, F_SETFD, 0);
	if (fd < 0 || fd >= MAX_FD) {
		int error = fd < 0 ? errno : EMFILE;

		if (fd >= 0)
			close(fd);
		free(file);
		return -error;
	}
	__atomic_store_n(&files[fd], file, __ATOMIC_RELEASE);
	return fd;
}

struct sim_file *sim_fd_find(int fd)
{
	return fd >= 0 && fd < MAX_FD ? __atomic_load_n(&files[fd], __ATOMIC_ACQUIRE) : NULL;
}

void sim_fd_dup(int from, int to)
{
	struct sim_file *file = sim_fd_find(from);

	if (!file || to < 0 || to >= MAX_FD)
		return;
	pthread_mutex_lock(&lock);
	file->refs++;
	__atomic_store_n(&files[to], file, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

void sim_fd_close(int fd)
{
	struct sim_file *file = sim_fd_find(fd);
	bool last;

	if (!file)
		return;
	pthread_mutex_lock(&lock);
	__atomic_store_n(&files[fd], NULL, __ATOMIC_RELEASE);
	last = !--file->refs;
	pthread_mutex_unlock(&lock);
	if (last) {
		sim_file_release(file);
		free(file);
	}
}
