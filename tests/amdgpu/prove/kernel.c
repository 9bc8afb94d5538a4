// SPDX-License-Identifier: BSD-3-Clause
/* kernel.c - see kernel.h; by libgpgpu, whose header and the engine's do not go into one file. */
#include <stdlib.h>
#include <string.h>
#include "gpgpu.h"
#include "kernel.h"

static const char *read_maps(struct gpgpu_object *obj, struct kernel *kernel)
{
	struct gpgpu_map *map = NULL;

	while ((map = gpgpu_object_next_map(obj, map))) {
		struct kernel_map *to = &kernel->maps[kernel->num_maps];
		struct gpgpu_map_info info;
		const void *data;

		if (kernel->num_maps == KERNEL_MAX_MAPS)
			return "too many maps";
		gpgpu_map_get_info(map, &info);
		*to = (struct kernel_map){ info.type,	     info.key_size, info.value_size,
					   info.max_entries, NULL,	    0 };
		kernel->num_maps++;
		data = gpgpu_map_initial_value(map, &to->size);
		if (!data)
			continue;
		to->data = malloc(to->size + 1);
		if (!to->data)
			return "no memory";
		memcpy(to->data, data, to->size);
	}
	return NULL;
}

static const char *read_program(struct gpgpu_object *obj, struct kernel *kernel)
{
	const struct gpgpu_program *prog = gpgpu_object_next_program(obj, NULL);
	struct gpgpu_program_info info;
	struct gpgpu_arg_info arg;
	size_t count;

	if (!prog)
		return "no program";
	gpgpu_program_get_info(prog, &info);
	if (info.num_args > KERNEL_MAX_ARGS)
		return "too many arguments";
	kernel->num_args = info.num_args;
	for (uint32_t i = 0; i < info.num_args; i++) {
		gpgpu_program_arg(prog, i, &arg);
		kernel->arg_kind[i] = (uint8_t)arg.kind;
	}
	kernel->num_insns = info.num_insns;
	kernel->insns = calloc(info.num_insns, sizeof(*kernel->insns));
	if (!kernel->insns)
		return "no memory";
	memcpy(kernel->insns, gpgpu_program_insns(prog, &count), info.num_insns * sizeof(*kernel->insns));
	return NULL;
}

const char *kernel_read(const char *path, struct kernel *kernel)
{
	struct gpgpu_object *obj;
	const char *why;

	memset(kernel, 0, sizeof(*kernel));
	if (gpgpu_object_open(path, &obj))
		return gpgpu_error_message();
	why = read_maps(obj, kernel);
	if (!why)
		why = read_program(obj, kernel);
	gpgpu_object_close(obj);
	return why;
}

void kernel_free(struct kernel *kernel)
{
	for (uint32_t i = 0; i < kernel->num_maps; i++)
		free(kernel->maps[i].data);
	free(kernel->insns);
}
