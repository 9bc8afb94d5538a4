// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_groups.c - the example kernels that have work groups, from C to result, without a guest: their own checks
 * (guest-driver/examples/check_groups.c), on the CPU device.
 *
 *	test_groups FOLDER [NAME]
 *
 * What the checks want of a device (check.h) is done here with a run of a target.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "target.h"

static const char *folder;
static const struct target *target = &target_cpu;

static const struct {
	const char *name;
	void (*run)(struct gpgpu_device *dev, const char *out);
} checks[] = {
	{ "matmul_tiled", check_matmul_tiled },	      { "dot", check_dot },	    { "scan", check_scan },
	{ "histogram_local", check_histogram_local }, { "bitonic", check_bitonic },
};

#define NUM_CHECKS (sizeof(checks) / sizeof(checks[0]))

void fail(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void *allocate(size_t count, size_t size)
{
	void *p = calloc(count, size);

	if (!p)
		abort();
	return p;
}

uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

struct kernel kernel_load(struct gpgpu_device *dev, const char *name)
{
	struct gpgpu_program_info info;
	struct kernel k = { 0 };
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.bpf.o", folder, name);
	if (gpgpu_object_open(path, &k.obj))
		fail("%s: %s", path, gpgpu_error_message());
	k.prog = gpgpu_object_program(k.obj, name);
	if (!k.prog)
		fail("%s: has no kernel '%s'", path, name);
	gpgpu_program_get_info(k.prog, &info);
	k.num_args = info.num_args;
	return k;
}

static struct gpgpu_arg *argument(struct kernel *k, const char *name)
{
	int i = gpgpu_program_arg_index(k->prog, name);

	if (i < 0)
		fail("%s", gpgpu_error_message());
	return &k->args[i];
}

/* A buffer is memory of ours: `value` is where. */
void *kernel_buffer(struct kernel *k, struct gpgpu_device *dev, const char *name, uint64_t size)
{
	struct gpgpu_arg *arg = argument(k, name);
	void *p = allocate(1, size);

	*arg = (struct gpgpu_arg){ .kind = GPGPU_ARG_BUFFER, .value = (uintptr_t)p, .size = size };
	return p;
}

void kernel_value(struct kernel *k, const char *name, uint64_t value)
{
	*argument(k, name) = (struct gpgpu_arg){ .kind = GPGPU_ARG_VALUE, .value = value };
}

void kernel_run_group(struct kernel *k, const uint32_t grid[3], const uint32_t group[3])
{
	size_t count, at = 0;
	struct run run = { .name = "example",
			   .kind = VIRTIO_GPGPU_PROG_GPGPU,
			   .insns = gpgpu_program_insns(k->prog, &count),
			   .num_args = k->num_args,
			   .fuel = 1 << 20 };
	struct outcome outcome;

	run.num_insns = (uint32_t)count;
	memcpy(run.grid, grid, sizeof(run.grid));
	memcpy(run.group, group, sizeof(run.group));
	for (uint32_t i = 0; i < k->num_args; i++) {
		struct gpgpu_arg_info info;

		gpgpu_program_arg(k->prog, i, &info);
		run.args[i].kind = info.kind;
		if (info.kind == GPGPU_ARG_VALUE) {
			run.args[i].value = k->args[i].value;
			continue;
		}
		run.args[i].init = (const uint8_t *)(uintptr_t)k->args[i].value;
		run.args[i].size = k->args[i].size;
	}
	memset(&outcome, 0, sizeof(outcome));
	target->run(&run, &outcome);
	if (outcome.refused)
		fail("refused: %s", outcome.message);
	if (outcome.faults)
		fail("%llu faults, the first is %u at %u", (unsigned long long)outcome.faults, outcome.fault,
		     outcome.fault_insn);
	for (uint32_t i = 0; i < k->num_args; i++) {
		if (k->args[i].kind == GPGPU_ARG_VALUE)
			continue;
		if (at + k->args[i].size > outcome.num_bytes)
			fail("argument %u did not come back", i);
		memcpy((void *)(uintptr_t)k->args[i].value, outcome.bytes + at, k->args[i].size);
		at += k->args[i].size;
	}
	outcome_free(&outcome);
}

void kernel_free(struct kernel *k)
{
	for (uint32_t i = 0; i < k->num_args; i++)
		if (k->args[i].kind != GPGPU_ARG_VALUE)
			free((void *)(uintptr_t)k->args[i].value);
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
	int n = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: test_groups FOLDER [NAME]\n");
		return 1;
	}
	folder = argv[1];
	why = target->open();
	if (why)
		fail("%s: %s", target->name, why);
	for (size_t i = 0; i < NUM_CHECKS; i++) {
		if (argc > 2 && strcmp(argv[2], checks[i].name))
			continue;
		checks[i].run(NULL, NULL);
		printf("ok %d - %s\n", ++n, checks[i].name);
	}
	target->close();
	printf("1..%d\n", n);
	return !n;
}
