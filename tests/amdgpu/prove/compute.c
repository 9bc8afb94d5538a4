// SPDX-License-Identifier: BSD-3-Clause
/*
 * compute.c - the example kernels on a GPU and on the CPU device, as TAP: every byte of every argument is to be the same.
 *
 * One process, an engine for each device, a session on each with all kernels loaded. A case is a kernel with its sizes,
 * most of them no multiple of a wave of 64 or 32 lanes. Inputs are drawn, from the same numbers every time. Arguments lie
 * in the shared memory, or, in every second case, in the device's own, to where they are copied before and from where they
 * are copied after; bytes between them and around them are looked at as well.
 *
 * compute OBJECTS, the folder of the examples. Environment: GPGPU_TEST_DEVICE is the GPU's name; GPGPU_JIT the compiler.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gpgpu-host.h"
#include "kernel.h"
#include "wire_client.h"

#define SHM_SIZE  (16ull << 20)
#define AT_DATA	  (1ull << 20) /* in front of it: instructions */
#define DATA_SIZE (8ull << 20)
#define GAP	  72u /* bytes between arguments */
#define PATTERN	  0xc5
#define CTX	  1

enum { BUF_SHM = 1, BUF_DEV = 2 };

static const char *const kernels[] = { "saxpy", "matmul", "histogram", "mandelbrot", "sha256" };
#define NUM_KERNELS (sizeof(kernels) / sizeof(*kernels))

enum { SAXPY, MATMUL, HISTOGRAM, MANDELBROT, SHA256 };

struct arg {
	uint64_t value;
	uint8_t *bytes; /* NULL: a value */
	uint64_t size;
};

struct job {
	struct arg args[KERNEL_MAX_ARGS];
	uint32_t num_args;
	uint32_t grid[3], group[3];
	bool floats; /* results are f32, of which a NaN may be any */
};

struct device {
	const char *name;
	struct gpgpu_engine *engine;
	struct wire_client *client;
	uint8_t arg_kind[NUM_KERNELS][KERNEL_MAX_ARGS];
	uint64_t seq;
};

static _Noreturn void die(const char *what, const char *why)
{
	printf("Bail out! %s: %s\n", what, why);
	exit(1);
}

static void need(uint32_t status, const char *what)
{
	char text[32];

	snprintf(text, sizeof(text), "status %u", status);
	if (status)
		die(what, text);
}

static uint64_t draw(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1d;
}

static void *zeroed(uint64_t count, uint64_t size)
{
	void *at = calloc(count + !count, size);

	if (!at)
		die("memory", "there is none");
	return at;
}

/* ---------------------------------------------------------------------- devices */

/* Of one kernel; ids of its maps are @first and on. */
static void load(struct device *d, uint32_t kernel, const char *path, uint32_t first)
{
	struct kernel k;
	const char *why = kernel_read(path, &k);
	struct wire_answer *a;
	uint32_t zero = 0;

	if (why)
		die(path, why);
	for (uint32_t i = 0; i < k.num_maps; i++) {
		const struct kernel_map *map = &k.maps[i];

		need(wire_map(d->client, CTX, first + i, map->type, map->key_size, map->value_size,
			      map->max_entries, 0),
		     "map");
		if (map->data)
			need(wire_map_op(d->client, VIRTIO_GPGPU_CMD_MAP_UPDATE, CTX, first + i, &zero,
					 sizeof(zero), map->data, (uint32_t)map->size, 0, NULL),
			     "global data");
	}
	for (uint32_t i = 0; i < k.num_insns; i++)
		if (k.insns[i].code == (BPF_LD | BPF_IMM | BPF_DW)) {
			if (k.insns[i].src_reg)
				k.insns[i].imm += (int32_t)first;
			i++;
		}
	memcpy(d->arg_kind[kernel], k.arg_kind, sizeof(k.arg_kind));
	if (wire_prog(d->client, CTX, kernel + 1, VIRTIO_GPGPU_PROG_GPGPU, k.insns, k.num_insns, BUF_SHM, 0,
		      0, k.arg_kind, k.num_args, &a))
		die(kernels[kernel], (const char *)a->resp->prog.message);
	wire_answer_free(a);
	kernel_free(&k);
}

static void device_open(struct device *d, const char *folder)
{
	struct gpgpu_engine_options engine = { .device = d->name,
					       .threads = 2,
					       .jit_program = getenv("GPGPU_JIT"),
					       .jit_fd = -1,
					       .one_step = true };
	struct gpgpu_session_options session = { .name = "test",
						 .features = 1 << VIRTIO_GPGPU_F_DEVICE_MEM,
						 .generation = 1,
						 .quota = { .memory_limit = 256 << 20 } };
	GError *error = NULL;

	d->engine = gpgpu_engine_new(&engine, &error);
	if (!d->engine)
		die(d->name, error->message);
	d->client = wire_client_engine(d->engine, SHM_SIZE, &session);
	need(wire_simple(d->client, VIRTIO_GPGPU_CMD_CTX_CREATE, CTX, NULL), "context");
	need(wire_buffer(d->client, CTX, BUF_SHM, VIRTIO_GPGPU_MEM_SHM, 0, SHM_SIZE), "shared memory");
	need(wire_buffer(d->client, CTX, BUF_DEV, VIRTIO_GPGPU_MEM_DEVICE, 0, DATA_SIZE), "device memory");
	for (uint32_t i = 0; i < NUM_KERNELS; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s.bpf.o", folder, kernels[i]);
		load(d, i, path, 1 + i * KERNEL_MAX_MAPS);
	}
}

static void device_close(struct device *d)
{
	wire_client_free(d->client);
	gpgpu_engine_free(d->engine);
}

static struct wire_point next_point(struct device *d)
{
	return (struct wire_point){ .seq = ++d->seq };
}

/* Where argument @i lies, from the data's start; with num_args: the end. */
static uint64_t place(const struct job *job, uint32_t i)
{
	uint64_t at = GAP;

	for (uint32_t n = 0; n < i; n++)
		if (job->args[n].bytes)
			at += (job->args[n].size + 7) / 8 * 8 + GAP;
	return at;
}

/* Runs it. Return: the data with the gaps; *size bytes. */
static uint8_t *run(struct device *d, uint32_t kernel, const struct job *job, bool far, uint64_t *size)
{
	struct virtio_gpgpu_arg args[KERNEL_MAX_ARGS];
	uint8_t *data = wire_shm(d->client) + AT_DATA, *result;
	uint64_t end = place(job, job->num_args);

	if (end > DATA_SIZE)
		die(kernels[kernel], "too large");
	memset(data, PATTERN, end);
	for (uint32_t i = 0; i < job->num_args; i++) {
		const struct arg *arg = &job->args[i];
		uint64_t at = place(job, i);

		args[i] = (struct virtio_gpgpu_arg){ .kind = d->arg_kind[kernel][i], .value = arg->value };
		if (!arg->bytes)
			continue;
		memcpy(data + at, arg->bytes, arg->size);
		args[i].buffer = far ? BUF_DEV : BUF_SHM;
		args[i].value = far ? at : AT_DATA + at;
		args[i].size = arg->size;
	}
	if (far)
		need(wire_status(d->client,
				 wire_copy(d->client, CTX, next_point(d), BUF_DEV, 0, BUF_SHM, AT_DATA, end)),
		     "copy to the device");
	need(wire_status(d->client, wire_dispatch(d->client, CTX, next_point(d), kernel + 1, job->grid,
						  job->group, args, job->num_args)),
	     kernels[kernel]);
	if (far) {
		memset(data, 0, end);
		need(wire_status(d->client,
				 wire_copy(d->client, CTX, next_point(d), BUF_SHM, AT_DATA, BUF_DEV, 0, end)),
		     "copy from the device");
	}
	result = zeroed(end, 1);
	memcpy(result, data, end);
	*size = end;
	return result;
}

/* ------------------------------------------------------------------------- cases */

static void add_value(struct job *job, uint64_t value)
{
	job->args[job->num_args++] = (struct arg){ .value = value };
}

static void *add_buffer(struct job *job, uint64_t count, uint64_t size)
{
	struct arg *arg = &job->args[job->num_args++];

	*arg = (struct arg){ .bytes = zeroed(count, size), .size = count * size };
	return arg->bytes;
}

/* Any but infinities and NaNs, which a sum of them may still be; every other one of a size that fits the others'. */
static void draw_floats(uint32_t *to, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		do {
			to[i] = (uint32_t)draw();
		} while ((to[i] >> 23 & 255) == 255);
	for (uint64_t i = 0; i < count; i += 2)
		to[i] = (to[i] & 0x807fffff) | (uint32_t)(117 + draw() % 20) << 23;
}

static uint64_t f64_bits(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

/* @n: what a case says of its sizes. Arguments are in the order of each kernel's own. */
static void make_saxpy(struct job *job, const uint32_t n[3])
{
	uint32_t a;

	draw_floats(add_buffer(job, n[0], 4), n[0]);
	draw_floats(add_buffer(job, n[0], 4), n[0]);
	draw_floats(&a, 1);
	add_value(job, 0x3f000000 | (a & 0xffffff)); /* 0.5 to 2 */
	job->grid[0] = n[0];
	job->floats = true;
}

static void make_matmul(struct job *job, const uint32_t n[3])
{
	float *a = add_buffer(job, (uint64_t)n[0] * n[1], 4), *b = add_buffer(job, (uint64_t)n[1] * n[2], 4);

	for (uint32_t i = 0; i < n[0] * n[1]; i++)
		a[i] = (float)ldexp((double)(int64_t)draw(), (int)(draw() % 40) - 80);
	for (uint32_t i = 0; i < n[1] * n[2]; i++)
		b[i] = (float)ldexp((double)(int64_t)draw(), (int)(draw() % 40) - 80);
	add_buffer(job, (uint64_t)n[0] * n[2], 4);
	add_value(job, n[1]);
	job->grid[0] = n[2];
	job->grid[1] = n[0];
	job->floats = true;
}

/* Bytes, and those of a lane. Half of them are the same, so that lanes meet at one counter. */
static void make_histogram(struct job *job, const uint32_t n[3])
{
	uint8_t *data = add_buffer(job, n[0], 1);

	for (uint32_t i = 0; i < n[0]; i++)
		data[i] = draw() & 1 ? 42 : (uint8_t)(draw() >> 8);
	add_buffer(job, 256, 8);
	add_value(job, n[0]);
	add_value(job, n[1]);
	job->grid[0] = (n[0] + n[1] - 1) / n[1];
}

static void make_mandelbrot(struct job *job, const uint32_t n[3])
{
	add_buffer(job, (uint64_t)n[0] * n[1], 4);
	add_value(job, f64_bits(-2.1));
	add_value(job, f64_bits(1.3));
	add_value(job, f64_bits(2.8 / n[0]));
	add_value(job, n[2]);
	job->grid[0] = n[0];
	job->grid[1] = n[1];
}

/* Messages, of up to so many bytes; the first few are as long as is interesting. */
static void make_sha256(struct job *job, const uint32_t n[3])
{
	static const uint32_t lengths[] = { 0, 1, 55, 56, 63, 64, 65, 119, 120, 128 };
	uint64_t *offsets = zeroed(n[0] + 1u, 8);
	uint8_t *data;

	for (uint32_t i = 0; i < n[0]; i++)
		offsets[i + 1] = offsets[i] + (i < sizeof(lengths) / 4 ? lengths[i] : draw() % n[1]);
	data = add_buffer(job, offsets[n[0]] + 1, 1);
	for (uint64_t i = 0; i < offsets[n[0]]; i++)
		data[i] = (uint8_t)draw();
	memcpy(add_buffer(job, n[0] + 1u, 8), offsets, (n[0] + 1u) * 8);
	add_buffer(job, n[0], 32);
	job->grid[0] = n[0];
	free(offsets);
}

static const struct {
	uint32_t kernel, n[3], group;
} cases[] = {
	{ SAXPY, { 1 }, 1 },
	{ SAXPY, { 31 }, 1 },
	{ SAXPY, { 64 }, 64 },
	{ SAXPY, { 65 }, 1 },
	{ SAXPY, { 1000 }, 7 },
	{ SAXPY, { 8192 }, 256 },
	{ MATMUL, { 1, 1, 1 }, 1 },
	{ MATMUL, { 8, 16, 8 }, 8 },
	{ MATMUL, { 5, 33, 13 }, 1 },
	{ MATMUL, { 17, 9, 31 }, 4 },
	{ HISTOGRAM, { 1, 16 }, 1 },
	{ HISTOGRAM, { 2048, 32 }, 1 },
	{ HISTOGRAM, { 4099, 37 }, 1 },
	{ HISTOGRAM, { 3000, 3000 }, 1 },
	{ MANDELBROT, { 16, 8, 50 }, 16 },
	{ MANDELBROT, { 33, 7, 100 }, 1 },
	{ MANDELBROT, { 1, 67, 20 }, 1 },
	{ SHA256, { 1, 1 }, 1 },
	{ SHA256, { 64, 100 }, 32 },
	{ SHA256, { 77, 200 }, 1 },
};

static void make(struct job *job, uint32_t i)
{
	static void (*const makers[])(struct job *job, const uint32_t n[3]) = {
		[SAXPY] = make_saxpy,		[MATMUL] = make_matmul, [HISTOGRAM] = make_histogram,
		[MANDELBROT] = make_mandelbrot, [SHA256] = make_sha256,
	};

	*job = (struct job){ .grid = { 1, 1, 1 }, .group = { cases[i].group, 1, 1 } };
	makers[cases[i].kernel](job, cases[i].n);
}

static bool is_nan(const uint8_t *at)
{
	uint32_t bits;

	memcpy(&bits, at, sizeof(bits));
	return (bits & 0x7fffffff) > 0x7f800000;
}

/* Return: the first byte that differs, or @size. */
static uint64_t compare(const struct job *job, const uint8_t *a, const uint8_t *b, uint64_t size)
{
	for (uint64_t at = 0; at < size; at++) {
		if (a[at] == b[at])
			continue;
		if (job->floats && is_nan(a + at / 4 * 4) && is_nan(b + at / 4 * 4))
			continue;
		return at;
	}
	return size;
}

static bool one(struct device *cpu, struct device *gpu, uint32_t i)
{
	const uint32_t *n = cases[i].n;
	bool far = i & 1, changed = false;
	uint64_t size, other, at;
	uint8_t *want, *got;
	struct job job;

	make(&job, i);
	want = run(cpu, cases[i].kernel, &job, far, &size);
	got = run(gpu, cases[i].kernel, &job, far, &other);
	at = compare(&job, want, got, size);
	/* A kernel that does nothing would be the same everywhere. */
	for (uint32_t k = 0; k < job.num_args; k++)
		changed |= job.args[k].bytes &&
			   memcmp(want + place(&job, k), job.args[k].bytes, job.args[k].size);
	printf("%s %u - %s %u x %u x %u, groups of %u, %s\n", at < size || !changed ? "not ok" : "ok", i + 1,
	       kernels[cases[i].kernel], n[0], n[1], n[2], cases[i].group,
	       far ? "device memory" : "shared memory");
	if (at < size)
		printf("# byte %llu of %llu: %#x, the CPU's is %#x\n", (unsigned long long)at,
		       (unsigned long long)size, got[at], want[at]);
	if (!changed)
		printf("# the kernel has written nothing\n");
	fflush(stdout);
	for (uint32_t k = 0; k < job.num_args; k++)
		free(job.args[k].bytes);
	free(want);
	free(got);
	return at == size && changed;
}

int main(int argc, char **argv)
{
	struct device cpu = { .name = "cpu" }, gpu = { .name = getenv("GPGPU_TEST_DEVICE") };
	bool ok = true;

	if (argc != 2 || !gpu.name || !getenv("GPGPU_JIT")) {
		fprintf(stderr, "usage: compute OBJECTS, with GPGPU_TEST_DEVICE and GPGPU_JIT set\n");
		return 2;
	}
	printf("1..%zu\n", sizeof(cases) / sizeof(*cases));
	device_open(&cpu, argv[1]);
	device_open(&gpu, argv[1]);
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		ok &= one(&cpu, &gpu, i);
	device_close(&gpu);
	device_close(&cpu);
	return !ok;
}
