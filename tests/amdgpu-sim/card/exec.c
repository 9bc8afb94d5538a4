/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exec.c - what a ring's thread works with: the job's address space, as the memory hubs see it.
 *
 * Pages that were found are kept in a small table and forgotten when the page tables change or another job begins. A
 * page whose buffer the job does not name may be anywhere on a card, so here it faults.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "card.h"

bool sim_trouble(struct sim_exec *exec, enum sim_trouble trouble, const char *format, ...)
{
	va_list args;

	if (exec->trouble != SIM_TROUBLE_NONE)
		return false;
	exec->trouble = trouble;
	va_start(args, format);
	vsnprintf(exec->why, sizeof(exec->why), format, args);
	va_end(args);
	sim_trace("trouble: %s\n", exec->why);
	return false;
}

struct sim_exec *sim_exec_new(enum sim_ring ring)
{
	struct sim_exec *exec =
		mmap(NULL, sizeof(*exec), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (exec == MAP_FAILED)
		return NULL;
	exec->ring = ring;
	exec->random = sim.options.seed * 2 + 0x9e3779b97f4a7c15;
	return exec;
}

static uint64_t next_random(struct sim_exec *exec)
{
	exec->random ^= exec->random << 13;
	exec->random ^= exec->random >> 7;
	exec->random ^= exec->random << 17;
	return exec->random;
}

static void forget_pages(struct sim_exec *exec)
{
	memset(exec->tlb, 0, sizeof(exec->tlb));
}

void sim_exec_begin(struct sim_exec *exec, struct sim_job *job)
{
	exec->job = job;
	if (exec->client != job->client) {
		/* Another address space: caches by virtual address are another's. */
		sim_l1_invalidate(exec);
		sim_k_invalidate(exec);
		exec->client = job->client;
	}
	/* SDMA goes around the caches of the compute units (gfx9; later ones are taken for the same). */
	exec->l1_on = sim.options.l1 && exec->ring == SIM_RING_COMPUTE;
	exec->l2_on = sim.options.l2 && exec->ring == SIM_RING_COMPUTE;
	exec->vm_generation = __atomic_load_n(&job->client->vm.generation, __ATOMIC_ACQUIRE);
	forget_pages(exec);
	exec->stop = 0;
	exec->dispatches = 0;
	exec->trouble = SIM_TROUBLE_NONE;
	exec->why[0] = 0;
	exec->page_fault[0] = 0;
	exec->fault_va = 0;
	for (size_t i = 0; i < sizeof(exec->sh) / sizeof(*exec->sh); i++)
		exec->sh[i] = (uint32_t)next_random(exec);
	memset(exec->sh_set, 0, sizeof(exec->sh_set));
}

void sim_exec_end(struct sim_exec *exec)
{
	bool keep = true;

	if (exec->ring != SIM_RING_COMPUTE)
		return;
	for (uint32_t i = 0; i < exec->job->num_ibs; i++)
		keep = keep && (exec->job->ibs[i].flags & AMDGPU_IB_FLAG_TC_WB_NOT_INVALIDATE);
	sim_l2_write_back(exec, 0, UINT64_MAX);
	/* gfx9's end fence invalidates the L2 and the vector caches; gfx10's writes back only. Scalar ones stay. */
	if (sim.chip->pm4 == SIM_PM4_GFX9 && !keep) {
		sim_l1_invalidate(exec);
		sim_l2_invalidate(exec, 0, UINT64_MAX);
	}
}

struct sim_tlb *sim_page_fault(struct sim_exec *exec, uint64_t va, uint32_t access, const char *why)
{
	exec->fault_va = va;
	snprintf(exec->page_fault, sizeof(exec->page_fault), "page fault, %s of %#llx: %s",
		 access & SIM_EXECUTE ? "fetch"
		 : access & SIM_WRITE ? "write"
				      : "read",
		 (unsigned long long)va, why);
	return NULL;
}

struct sim_tlb *sim_translate(struct sim_exec *exec, uint64_t va, uint32_t access)
{
	struct sim_vm *vm = &exec->client->vm;
	uint32_t generation = __atomic_load_n(&vm->generation, __ATOMIC_ACQUIRE);
	uint64_t page = va / SIM_PAGE;
	struct sim_tlb *tlb = &exec->tlb[page % SIM_TLB];
	struct sim_page found;

	if (generation != exec->vm_generation) {
		forget_pages(exec);
		exec->vm_generation = generation;
	}
	if (tlb->tag != page + 1) {
		if (!sim_vm_find(vm, va, &found))
			return sim_page_fault(exec, va, access, "nothing is mapped there");
		tlb->tag = page + 1;
		tlb->host = found.host;
		tlb->flags = found.flags;
		if (found.bo && found.bo->kind != SIM_BO_VRAM)
			tlb->flags |= SIM_PAGE_SYSTEM;
		/* A buffer of the user's read-only pages is never writeable, whatever its mapping says. */
		if (found.bo && (found.bo->user_flags & AMDGPU_GEM_USERPTR_READONLY))
			tlb->flags &= ~(uint32_t)AMDGPU_VM_PAGE_WRITEABLE;
		if (sim.options.list_strict && !sim_job_has(exec->job, found.bo))
			tlb->flags |= SIM_PAGE_FOREIGN;
	}
	if (tlb->flags & SIM_PAGE_FOREIGN)
		return sim_page_fault(exec, va, access, "its buffer is not in the job's list");
	if (access & SIM_EXECUTE) {
		if (!(tlb->flags & AMDGPU_VM_PAGE_EXECUTABLE))
			return sim_page_fault(exec, va, access, "not mapped executable");
		return tlb;
	}
	if ((access & SIM_READ) && !(tlb->flags & (AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_PRT)))
		return sim_page_fault(exec, va, access, "not mapped readable");
	if ((access & SIM_WRITE) && !(tlb->flags & (AMDGPU_VM_PAGE_WRITEABLE | AMDGPU_VM_PAGE_PRT)))
		return sim_page_fault(exec, va, access, "not mapped writeable");
	return tlb;
}
