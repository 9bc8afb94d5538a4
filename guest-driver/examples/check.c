// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpgpu-demo - runs the example kernels on a device and checks them against this machine's CPU.
 *
 *	gpgpu-demo [--device NODE] [--objects DIR] [all | NAME [FILE]]
 *
 * FILE is where mandelbrot and life leave a picture. Objects are looked for beside this program unless told otherwise.
 */
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static const struct {
	const char *name;
	void (*run)(struct gpgpu_device *dev, const char *out);
} checks[] = {
	{ "saxpy", check_saxpy },
	{ "sha256", check_sha256 },
	{ "matmul", check_matmul },
	{ "mandelbrot", check_mandelbrot },
	{ "histogram", check_histogram },
	{ "aes_gcm", check_aes_gcm },
	{ "life", check_life },
	/* kernels with work groups, which the CPU device runs */
	{ "matmul_tiled", check_matmul_tiled },
	{ "dot", check_dot },
	{ "scan", check_scan },
	{ "histogram_local", check_histogram_local },
	{ "bitonic", check_bitonic },
	{ "radix", check_radix },
#ifdef GPGPU_CC
	/* kernels in plain C, which gpgpu-cc has compiled */
	{ "nbody", check_nbody },
	{ "blackscholes", check_blackscholes },
	{ "conv2d", check_conv2d },
	{ "spmv", check_spmv },
	{ "matmul_f64", check_matmul_f64 },
	{ "fft", check_fft },
	{ "kmeans", check_kmeans },
#endif
};

#define NUM_CHECKS (sizeof(checks) / sizeof(checks[0]))

static char objects[PATH_MAX];

void fail(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("gpgpu-demo: ", stderr);
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
		fail("out of memory");
	return p;
}

struct kernel kernel_load(struct gpgpu_device *dev, const char *name)
{
	struct kernel k = { 0 };
	struct gpgpu_program_info info;
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s.bpf.o", objects, name);
	if (gpgpu_object_open(path, &k.obj) || gpgpu_object_load(k.obj, dev))
		fail("%s: %s", name, gpgpu_error_message());
	k.prog = gpgpu_object_program(k.obj, name);
	if (!k.prog)
		fail("%s: has no kernel '%s'", path, name);
	gpgpu_program_get_info(k.prog, &info);
	k.num_args = info.num_args;
	return k;
}

void *kernel_buffer(struct kernel *k, struct gpgpu_device *dev, const char *argument, uint64_t size)
{
	struct gpgpu_buffer *buf;
	void *p;

	if (gpgpu_buffer_create(dev, size, GPGPU_BUFFER_SHARED, &buf) || gpgpu_buffer_map(buf, &p) ||
	    gpgpu_arg_set_buffer(k->prog, k->args, argument, buf))
		fail("%s", gpgpu_error_message());
	return p;
}

void kernel_value(struct kernel *k, const char *argument, uint64_t value)
{
	if (gpgpu_arg_set_value(k->prog, k->args, argument, value))
		fail("%s", gpgpu_error_message());
}

void kernel_run(struct kernel *k, uint32_t x, uint32_t y, uint32_t z)
{
	kernel_run_group(k, (uint32_t[]){ x, y, z }, NULL);
}

void kernel_run_group(struct kernel *k, const uint32_t grid[3], const uint32_t group[3])
{
	struct gpgpu_job_result result;
	struct gpgpu_job *job;

	if (gpgpu_dispatch(k->prog, grid, group, k->args, k->num_args, NULL, &job) ||
	    gpgpu_job_wait(job, -1, &result, NULL, 0))
		fail("%s", gpgpu_error_message());
	k->device_ns = result.device_ns;
	gpgpu_job_destroy(job);
}

void kernel_free(struct kernel *k)
{
	for (uint32_t i = 0; i < k->num_args; i++)
		gpgpu_buffer_destroy(k->args[i].buffer);
	gpgpu_object_close(k->obj);
}

void passed(const char *name, const struct kernel *k, const char *format, ...)
{
	va_list ap;

	printf("%-11s ", name);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf(": equal to the CPU's, %.1f ms of device time\n", (double)k->device_ns / 1e6);
	fflush(stdout);
}

static void find_objects(void)
{
	char self[PATH_MAX] = "";
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	snprintf(objects, sizeof(objects), "%s", n > 0 ? dirname(self) : ".");
}

static void usage(FILE *to)
{
	fprintf(to, "usage: gpgpu-demo [--device NODE] [--objects DIR] [all | NAME [FILE]]\nNAME is one of");
	for (size_t i = 0; i < NUM_CHECKS; i++)
		fprintf(to, " %s", checks[i].name);
	fputc('\n', to);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "objects", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *path = NULL, *which;
	struct gpgpu_device *dev;
	int c, ran = 0;

	find_objects();
	while ((c = getopt_long(argc, argv, "d:o:h", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			path = optarg;
			break;
		case 'o':
			snprintf(objects, sizeof(objects), "%s", optarg);
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			return 1;
		}
	}
	which = optind < argc ? argv[optind] : "all";
	if (gpgpu_open(path, &dev))
		fail("%s", gpgpu_error_message());
	for (size_t i = 0; i < NUM_CHECKS; i++) {
		if (strcmp(which, "all") && strcmp(which, checks[i].name))
			continue;
		checks[i].run(dev, optind + 1 < argc ? argv[optind + 1] : NULL);
		ran++;
	}
	gpgpu_close(dev);
	if (!ran)
		fail("'%s' is no example", which);
	return 0;
}
