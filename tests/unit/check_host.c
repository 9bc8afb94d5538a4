// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_host.c - the checks of the example kernels without a guest: what guest-driver/examples/check.c does on a device is done here
 * by a target of tests/bpf, on this machine: the compiler and its image (jit), or the whole engine (cpu).
 *
 *	check_host jit|cpu OBJECTS NAME...	as TAP
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "target.h"

#define FUEL	   (1ull << 32)
#define GROUP_FUEL (1ull << 20) /* of an item of a group */

static const struct target *target;
static const char *objects;
static void *buffers[GPGPU_MAX_ARGS]; /* of the kernel at hand */

static const struct {
	const char *name;
	void (*run)(struct gpgpu_device *dev, const char *out);
} checks[] = {
	{ "saxpy", check_saxpy },
	{ "matmul", check_matmul },
	{ "histogram", check_histogram },
	{ "mandelbrot", check_mandelbrot },
	{ "sha256", check_sha256 },
	{ "aes_gcm", check_aes_gcm },
	{ "life", check_life },
	{ "matmul_tiled", check_matmul_tiled },
	{ "dot", check_dot },
	{ "scan", check_scan },
	{ "histogram_local", check_histogram_local },
	{ "bitonic", check_bitonic },
	{ "radix", check_radix },
#ifdef GPGPU_CC
	{ "nbody", check_nbody },
	{ "conv2d", check_conv2d },
	{ "blackscholes", check_blackscholes },
	{ "spmv", check_spmv },
	{ "matmul_f64", check_matmul_f64 },
	{ "fft", check_fft },
	{ "kmeans", check_kmeans },
#endif
};

void fail(const char *format, ...)
{
	va_list ap;

	printf("Bail out! ");
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
	exit(1);
}

void *allocate(size_t count, size_t size)
{
	void *p = calloc(count, size);

	if (!p)
		fail("out of memory");
	return p;
}

static int argument(const struct kernel *k, const char *name)
{
	int i = gpgpu_program_arg_index(k->prog, name);

	if (i < 0)
		fail("%s", gpgpu_error_message());
	return i;
}

struct kernel kernel_load(struct gpgpu_device *dev, const char *name)
{
	struct kernel k = { 0 };
	struct gpgpu_program_info info;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.bpf.o", objects, name);
	if (gpgpu_object_open(path, &k.obj))
		fail("%s", gpgpu_error_message());
	k.prog = gpgpu_object_program(k.obj, name);
	if (!k.prog)
		fail("%s: no kernel", path);
	gpgpu_program_get_info(k.prog, &info);
	k.num_args = info.num_args;
	return k;
}

void *kernel_buffer(struct kernel *k, struct gpgpu_device *dev, const char *name, uint64_t size)
{
	int i = argument(k, name);

	k->args[i].size = size;
	buffers[i] = allocate(1, size);
	return buffers[i];
}

void kernel_value(struct kernel *k, const char *name, uint64_t value)
{
	k->args[argument(k, name)].value = value;
}

/* Constant data of the kernel. */
static uint32_t add_maps(struct gpgpu_object *obj, struct run_map maps[RUN_MAX_MAPS])
{
	struct gpgpu_map *map = NULL;
	uint32_t count = 0;

	while ((map = gpgpu_object_next_map(obj, map)) && count < RUN_MAX_MAPS) {
		struct gpgpu_map_info info;
		uint8_t *init;
		void *value;
		size_t size;

		gpgpu_map_get_info(map, &info);
		value = gpgpu_map_initial_value(map, &size);
		init = allocate(1, info.key_size + info.value_size);
		if (value)
			memcpy(init + info.key_size, value, size);
		maps[count++] = (struct run_map){ .type = info.type,
						  .key_size = info.key_size,
						  .value_size = info.value_size,
						  .max_entries = info.max_entries,
						  .init = init,
						  .num_init = 1 };
	}
	return count;
}

static void run_kernel(struct kernel *k, const uint32_t grid[3], const uint32_t group[3], uint64_t fuel)
{
	struct run_map maps[RUN_MAX_MAPS];
	struct outcome outcome = { 0 };
	size_t count = 0, at = 0;
	struct run run = { .name = "example",
			   .kind = VIRTIO_GPGPU_PROG_GPGPU,
			   .fuel = fuel,
			   .maps = maps,
			   .num_maps = add_maps(k->obj, maps),
			   .num_args = k->num_args };

	run.insns = gpgpu_program_insns(k->prog, &count);
	run.num_insns = (uint32_t)count;
	memcpy(run.grid, grid, sizeof(run.grid));
	memcpy(run.group, group, sizeof(run.group));
	for (uint32_t i = 0; i < k->num_args; i++) {
		struct gpgpu_arg_info info;

		gpgpu_program_arg(k->prog, i, &info);
		run.args[i] = (struct run_arg){ .kind = info.kind,
						.value = k->args[i].value,
						.init = buffers[i],
						.size = k->args[i].size };
	}
	target->run(&run, &outcome);
	if (outcome.refused || outcome.faults)
		fail("%s (fault %u at %u)", outcome.message, outcome.fault, outcome.fault_insn);
	for (uint32_t i = 0; i < k->num_args; i++) {
		if (at + k->args[i].size > outcome.num_bytes)
			fail("argument %u did not come back", i);
		if (buffers[i])
			memcpy(buffers[i], outcome.bytes + at, k->args[i].size);
		at += k->args[i].size;
	}
	outcome_free(&outcome);
	for (uint32_t m = 0; m < run.num_maps; m++)
		free((uint8_t *)(uintptr_t)maps[m].init);
}

void kernel_run(struct kernel *k, uint32_t x, uint32_t y, uint32_t z)
{
	run_kernel(k, (uint32_t[]){ x, y, z }, (uint32_t[]){ 1, 1, 1 }, FUEL);
}

void kernel_run_group(struct kernel *k, const uint32_t grid[3], const uint32_t group[3])
{
	run_kernel(k, grid, group, GROUP_FUEL);
}

void kernel_free(struct kernel *k)
{
	for (uint32_t i = 0; i < GPGPU_MAX_ARGS; i++) {
		free(buffers[i]);
		buffers[i] = NULL;
	}
	gpgpu_object_close(k->obj);
}

void passed(const char *name, const struct kernel *k, const char *format, ...)
{
	va_list ap;

	printf("# %s: ", name);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
}

int main(int argc, char **argv)
{
	const char *why;
	int done = 0;

	if (argc < 4)
		fail("usage: check_host jit|cpu OBJECTS NAME...");
	target = strcmp(argv[1], "cpu") ? &target_jit : &target_cpu;
	objects = argv[2];
	why = target->open();
	if (why)
		fail("%s: %s", target->name, why);
	for (int i = 3; i < argc; i++)
		for (size_t k = 0; k < sizeof(checks) / sizeof(*checks); k++) {
			if (strcmp(argv[i], checks[k].name))
				continue;
			checks[k].run(NULL, NULL);
			printf("ok %d - %s\n", ++done, argv[i]);
			fflush(stdout);
		}
	target->close();
	printf("1..%d\n", argc - 3);
	return done != argc - 3;
}
