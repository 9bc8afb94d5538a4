/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vm.c - address spaces, one per open node, by the rules of amdgpu_vm.c and amdgpu_gem_va_ioctl().
 *
 * Mappings lie in an array ordered by address and never overlap. A mapping holds its buffer. The rings keep pages they
 * have found (struct sim_exec); sim_vm.generation tells them to forget. An unmapped page faults at once:
 * on a card it does so once the page tables are written, which is before the ioctl returns.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "card.h"

/* Newer than the header of Debian 12. */
#define VM_PAGE_NOALLOC (1 << 9)

static void changed(struct sim_vm *vm)
{
	__atomic_add_fetch(&vm->generation, 1, __ATOMIC_RELEASE);
}

/* The first mapping that ends behind @va. */
static uint32_t first_behind(const struct sim_vm *vm, uint64_t va)
{
	uint32_t low = 0, high = vm->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (vm->map[middle].va + vm->map[middle].size <= va)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int make_room(struct sim_vm *vm, uint32_t more)
{
	struct sim_mapping *map;
	uint32_t room = vm->room ? vm->room : 64;

	while (room < vm->count + more)
		room *= 2;
	if (room == vm->room)
		return 0;
	map = realloc(vm->map, room * sizeof(*map));
	if (!map)
		return -ENOMEM;
	vm->map = map;
	vm->room = room;
	return 0;
}

/* Both with room made before. */
static void insert(struct sim_vm *vm, uint32_t index, const struct sim_mapping *mapping)
{
	memmove(vm->map + index + 1, vm->map + index, (vm->count - index) * sizeof(*vm->map));
	vm->map[index] = *mapping;
	vm->count++;
	if (mapping->bo)
		sim_bo_ref(mapping->bo);
}

static void delete(struct sim_vm *vm, uint32_t index)
{
	struct sim_bo *bo = vm->map[index].bo;

	vm->count--;
	memmove(vm->map + index, vm->map + index + 1, (vm->count - index) * sizeof(*vm->map));
	if (bo)
		sim_bo_put(bo);
}

static int check(const struct sim_bo *bo, uint64_t va, uint64_t offset, uint64_t size)
{
	if ((va | offset | size) & (SIM_PAGE - 1))
		return -EINVAL;
	if (va + size <= va || offset + size <= offset || va + size > SIM_VA_TOP)
		return -EINVAL;
	if (bo && offset + size > bo->size)
		return -EINVAL;
	return 0;
}

static void clear(struct sim_vm *vm, uint64_t va, uint64_t size)
{
	uint64_t end = va + size;
	uint32_t i = first_behind(vm, va);

	while (i < vm->count && vm->map[i].va < end) {
		struct sim_mapping old = vm->map[i];
		struct sim_mapping tail = old;

		if (old.va + old.size > end) {
			tail.offset += end - old.va;
			tail.size = old.va + old.size - end;
			tail.va = end;
			insert(vm, i + 1, &tail);
		}
		if (old.va < va) {
			vm->map[i].size = va - old.va;
			i++;
		} else {
			delete (vm, i);
		}
	}
	changed(vm);
}

int sim_vm_clear(struct sim_vm *vm, uint64_t va, uint64_t size)
{
	int error = check(NULL, va, 0, size);

	if (!error)
		error = make_room(vm, 2);
	if (!error)
		clear(vm, va, size);
	return error;
}

int sim_vm_map(struct sim_vm *vm, struct sim_bo *bo, uint64_t va, uint64_t offset, uint64_t size,
	       uint32_t flags, bool replace)
{
	struct sim_mapping mapping = { va, size, offset, bo, flags };
	int error = check(bo, va, offset, size);
	uint32_t i;

	if (!error)
		error = make_room(vm, 3);
	if (error)
		return error;
	if (replace)
		clear(vm, va, size);
	i = first_behind(vm, va);
	if (i < vm->count && vm->map[i].va < va + size) {
		sim_say("bo va %#llx-%#llx conflicts with %#llx-%#llx", (unsigned long long)va,
			(unsigned long long)(va + size), (unsigned long long)vm->map[i].va,
			(unsigned long long)(vm->map[i].va + vm->map[i].size));
		return -EINVAL;
	}
	insert(vm, i, &mapping);
	changed(vm);
	return 0;
}

int sim_vm_unmap(struct sim_vm *vm, const struct sim_bo *bo, uint64_t va)
{
	uint32_t i = first_behind(vm, va);

	if (i == vm->count || vm->map[i].va != va || vm->map[i].bo != bo)
		return -ENOENT;
	delete (vm, i);
	changed(vm);
	return 0;
}

void sim_vm_drop_bo(struct sim_vm *vm, const struct sim_bo *bo)
{
	for (uint32_t i = vm->count; i--;)
		if (vm->map[i].bo == bo)
			delete (vm, i);
	changed(vm);
}

void sim_vm_end(struct sim_vm *vm)
{
	while (vm->count)
		delete (vm, vm->count - 1);
	free(vm->map);
	vm->map = NULL;
	vm->room = 0;
}

bool sim_vm_find(struct sim_vm *vm, uint64_t va, struct sim_page *page)
{
	bool found = false;
	uint32_t i;

	va &= ~(SIM_PAGE - 1);
	/* Not canonical: no hole wraps. */
	if (va >= SIM_VA_HOLE && va < SIM_VA_HOLE_END)
		return false;
	va &= SIM_VA_MASK;
	pthread_mutex_lock(&sim.lock);
	i = first_behind(vm, va);
	if (i < vm->count && vm->map[i].va <= va) {
		const struct sim_mapping *m = &vm->map[i];

		page->flags = m->flags;
		page->bo = m->bo;
		page->host = m->bo ? m->bo->host + m->offset + (va - m->va) : NULL;
		found = true;
	}
	pthread_mutex_unlock(&sim.lock);
	return found;
}

int sim_va_ioctl(struct sim_client *client, void *arg)
{
	const uint32_t valid = AMDGPU_VM_DELAY_UPDATE | AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE |
			       AMDGPU_VM_PAGE_EXECUTABLE | AMDGPU_VM_MTYPE_MASK | VM_PAGE_NOALLOC;
	const uint32_t prt = AMDGPU_VM_DELAY_UPDATE | AMDGPU_VM_PAGE_PRT;
	struct drm_amdgpu_gem_va args = *(struct drm_amdgpu_gem_va *)arg;
	struct sim_vm *vm = &client->vm;
	struct sim_bo *bo = NULL;

	if (args.va_address < SIM_VA_BOTTOM) {
		sim_say("va_address %#llx is in reserved area %#llx", (unsigned long long)args.va_address,
			SIM_VA_BOTTOM);
		return -EINVAL;
	}
	if (args.va_address >= SIM_VA_HOLE && args.va_address < SIM_VA_HOLE_END) {
		sim_say("va_address %#llx is in the hole of the address space",
			(unsigned long long)args.va_address);
		return -EINVAL;
	}
	args.va_address &= SIM_VA_MASK;
	if (args.va_address > SIM_VA_TOP || args.map_size > SIM_VA_TOP - args.va_address)
		return -EINVAL;
	if ((args.flags & ~valid) && (args.flags & ~prt)) {
		sim_say("invalid flags combination %#x", args.flags);
		return -EINVAL;
	}
	if (args.operation < AMDGPU_VA_OP_MAP || args.operation > AMDGPU_VA_OP_REPLACE)
		return -EINVAL;
	if (args.operation != AMDGPU_VA_OP_CLEAR && !(args.flags & AMDGPU_VM_PAGE_PRT)) {
		bo = sim_idr_find(&client->bos, args.handle);
		if (!bo)
			return -ENOENT;
	}
	switch (args.operation) {
	case AMDGPU_VA_OP_MAP:
	case AMDGPU_VA_OP_REPLACE:
		return sim_vm_map(vm, bo, args.va_address, args.offset_in_bo, args.map_size, args.flags,
				  args.operation == AMDGPU_VA_OP_REPLACE);
	case AMDGPU_VA_OP_UNMAP:
		return sim_vm_unmap(vm, bo, args.va_address);
	default:
		return sim_vm_clear(vm, args.va_address, args.map_size);
	}
}
