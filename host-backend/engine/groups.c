/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * groups.c - the memory of a thread that runs group programs (rt/groups.c): what items leave between two phases, and
 * the group's local memory, which programs reach and so has guards (gp_window_alloc()).
 *
 * Made when a thread first needs it and kept. Pages of the former are taken as groups are larger and programs
 * keep more: a few hundred KiB as a rule, 5 MiB at most.
 */
#include <sys/mman.h>
#include "engine.h"

bool gp_group_ready(struct gpgpu_engine *engine, struct gp_thread *thread)
{
	void *group;

	if (thread->group)
		return true;
	group = mmap(NULL, sizeof(*thread->group), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (group == MAP_FAILED)
		return false;
	thread->local = gp_window_alloc(engine, GP_MAX_LOCAL, GP_MEM_DEVICE);
	if (!thread->local) {
		munmap(group, sizeof(*thread->group));
		return false;
	}
	thread->group = group;
	return true;
}

void gp_group_free(struct gpgpu_engine *engine, struct gp_thread *thread)
{
	if (!thread->group)
		return;
	munmap(thread->group, sizeof(*thread->group));
	gp_window_free(engine, thread->local, GP_MAX_LOCAL);
	thread->group = NULL;
	thread->local = NULL;
}
