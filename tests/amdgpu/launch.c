// SPDX-License-Identifier: BSD-3-Clause
/*
 * launch.c - the part of a device between an image and the simulated machine: registers as the kernel descriptor says,
 * scratch, and memory, which is this process's own: a lane's address is ours, so an access that goes astray is a crash or
 * what a sanitizer reports.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "launch.h"

/* Kernel descriptor. */
struct descriptor {
	uint32_t lds, scratch, kernarg, reserved0;
	int64_t code;
	uint8_t reserved1[20];
	uint32_t rsrc3, rsrc1, rsrc2;
	uint16_t properties, preload;
	uint32_t reserved2;
};
_Static_assert(sizeof(struct descriptor) == 64, "kernel descriptor");

enum { HAS_SCRATCH = 1 << 0, HAS_KERNARG = 1 << 3, HAS_FLAT_SCRATCH = 1 << 5, IS_WAVE32 = 1 << 10 };

#define MAX_WAVES 64 /* that have scratch at once */

static int mem_read(void *opaque, unsigned int cu, uint64_t va, void *to, uint32_t size, uint32_t flags)
{
	if (va < 4096)
		return 1;
	memcpy(to, (const void *)(uintptr_t)va, size);
	return 0;
}

static int mem_write(void *opaque, unsigned int cu, uint64_t va, const void *from, uint32_t size,
		     uint32_t flags)
{
	if (va < 4096)
		return 1;
	memcpy((void *)(uintptr_t)va, from, size);
	return 0;
}

static int mem_atomic(void *opaque, unsigned int cu, uint64_t va, enum sim_atomic op, uint32_t size,
		      uint64_t operand, uint64_t compare, uint64_t *old, uint32_t flags)
{
	uint64_t was = 0, now;

	if (va < 4096 || va % size)
		return 1;
	memcpy(&was, (const void *)(uintptr_t)va, size);
	now = sim_atomic_result(op, size, was, operand, compare);
	memcpy((void *)(uintptr_t)va, &now, size);
	*old = was;
	return 0;
}

static void mem_cache(void *opaque, unsigned int cu, enum sim_cache what)
{
}

static const struct sim_memory memory = { .read = mem_read,
					  .write = mem_write,
					  .atomic = mem_atomic,
					  .cache = mem_cache };

static const struct {
	const char *name;
	enum sim_gfx gfx;
} machines[] = {
	{ "gfx900", SIM_GFX900 }, { "gfx906", SIM_GFX906 },   { "gfx908", SIM_GFX908 },
	{ "gfx90a", SIM_GFX90A }, { "gfx1030", SIM_GFX1030 },
};

static bool find_machine(const struct gp_generation *gen, enum sim_gfx *gfx)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		if (strcmp(machines[i].name, gen->name))
			continue;
		*gfx = machines[i].gfx;
		return true;
	}
	return false;
}

bool launch_can(const struct gp_generation *gen)
{
	enum sim_gfx gfx;

	return find_machine(gen, &gfx);
}

static void put64(uint32_t *to, uint64_t v)
{
	to[0] = (uint32_t)v;
	to[1] = (uint32_t)(v >> 32);
}

/* User registers, in the order of the properties' bits. */
static void user_data(struct sim_dispatch *d, const struct gp_generation *gen, const struct descriptor *desc,
		      const uint64_t *kernarg)
{
	unsigned int n = 0;

	if (desc->properties & HAS_SCRATCH) {
		d->user_data[n] = (uint32_t)d->scratch;
		d->user_data[n + 1] = (uint32_t)(d->scratch >> 32 & 0xffff) | gen->scratch_word1;
		d->user_data[n + 2] = UINT32_MAX;
		d->user_data[n + 3] = gen->scratch_word3;
		n += 4;
	}
	if (desc->properties & HAS_KERNARG) {
		put64(&d->user_data[n], (uintptr_t)kernarg);
		n += 2;
	}
	if (desc->properties & HAS_FLAT_SCRATCH)
		put64(&d->user_data[n], d->scratch);
}

bool launch_run(const struct gp_generation *gen, const struct gp_image *image, struct gp_launch *launch,
		const struct sim_options *options, struct sim_counts *counts, char why[256])
{
	static const struct sim_options plain;
	struct sim_machine *machine = sim_machine_new(&memory, options ? options : &plain);
	struct descriptor desc;
	struct sim_dispatch d = { .wave = gen->wave };
	uint64_t kernarg = (uintptr_t)launch;
	struct sim_fault fault = { 0 };
	void *scratch = NULL;
	bool ok;

	memcpy(&desc, (const uint8_t *)image->code + image->entry, sizeof(desc));
	if (!find_machine(gen, &d.gfx) || !(desc.properties & IS_WAVE32) != (gen->wave == 64)) {
		snprintf(why, 256, "not for the simulator");
		sim_machine_free(machine);
		return false;
	}
	launch->group = gen->wave;
	d.code = (uintptr_t)image->code + image->entry + (uint64_t)desc.code;
	d.rsrc1 = desc.rsrc1;
	d.rsrc2 = desc.rsrc2;
	d.rsrc3 = desc.rsrc3;
	d.groups[0] = (uint32_t)((launch->count + gen->wave - 1) / gen->wave);
	d.groups[1] = d.groups[2] = 1;
	d.group_size[0] = gen->wave;
	d.group_size[1] = d.group_size[2] = 1;
	if (desc.scratch) {
		d.scratch_wave_bytes = (desc.scratch * gen->wave + gen->scratch_unit - 1) /
				       gen->scratch_unit * gen->scratch_unit;
		d.scratch_waves = MAX_WAVES;
		scratch = aligned_alloc(4096,
					((size_t)d.scratch_wave_bytes * MAX_WAVES + 4095) & ~(size_t)4095);
		if (!scratch)
			abort();
		/* What a wave finds there is not to matter. */
		memset(scratch, 0xa5, (size_t)d.scratch_wave_bytes * MAX_WAVES);
		d.scratch = (uintptr_t)scratch;
	}
	user_data(&d, gen, &desc, &kernarg);
	ok = sim_run(machine, &d, counts, &fault);
	if (!ok)
		snprintf(why, 256, "fault %d at %#llx (image + %#llx), va %#llx: %s", (int)fault.kind,
			 (unsigned long long)fault.pc,
			 (unsigned long long)(fault.pc - (uintptr_t)image->code),
			 (unsigned long long)fault.va, fault.text);
	sim_machine_free(machine);
	free(scratch);
	return ok;
}
