/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limits KERNELS.ptx - what an NVIDIA card does at most with batches of packets in the host's memory, by hand-written
 * kernels (limits_kernel.c) and the driver alone: nothing of the engine takes part. A table to hold the engine's figures against.
 *
 * Packets lie in page-locked memory of the host's, in four buffers, one for each of four streams, each of which gets a batch
 * after the other. In place: lanes read the host's memory. Copied: the driver copies the slots in, and out again.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "cuda/driver.h"
#include "limits.h"

#define STREAMS	  4
#define MOST	  65536u
#define RUN_NS	  60000000ull
#define LATENCIES 2000

enum path {
	TOGETHER,
	TOGETHER_REWRITE,
	COPY,
	ALONE,
	THERE,
};

static const char *const paths[] = {
	[TOGETHER] = "in place, verdict only",
	[TOGETHER_REWRITE] = "in place, rewritten, counted",
	[COPY] = "copied in, rewritten, copied out",
	[ALONE] = "in place, rewritten, a lane a packet",
	[THERE] = "in the card's memory, a lane a packet",
};

static const struct gp_cuda *cuda;
static CUfunction together, alone;
static CUstream streams[STREAMS];
static uint8_t *host[STREAMS];
static CUdeviceptr card[STREAMS];
static uint32_t *verdicts[STREAMS];
static volatile uint32_t *stamps;
static CUdeviceptr table, counters;

static void die(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	fprintf(stderr, "limits: ");
	vfprintf(stderr, format, list);
	fprintf(stderr, "\n");
	va_end(list);
	exit(1);
}

static void must(CUresult ret, const char *what)
{
	char text[160];

	if (ret)
		die("%s: %s", what, gp_cuda_text(cuda, ret, text));
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void *locked(size_t size)
{
	void *at =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (at == MAP_FAILED)
		die("no memory");
	must(cuda->cuMemHostRegister_v2(at, size, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
	     "locking memory");
	return at;
}

static CUdeviceptr on_card(size_t size)
{
	const CUmemLocation here = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };
	const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here };
	const CUmemAccessDesc access = { here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle handle;
	CUdeviceptr at;

	size = (size + (2u << 20) - 1) & ~(size_t)((2u << 20) - 1);
	must(cuda->cuMemAddressReserve(&at, size, 0, 0, 0), "addresses");
	must(cuda->cuMemCreate(&handle, size, &prop, 0), "the card's memory");
	must(cuda->cuMemMap(at, size, 0, handle, 0), "the card's memory");
	must(cuda->cuMemSetAccess(at, size, &access, 1), "the card's memory");
	return at;
}

static char *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "re");
	char *text = calloc(1, 1u << 20);

	if (!f || !text)
		die("%s: it cannot be read", path);
	*size = fread(text, 1, (1u << 20) - 1, f) + 1;
	fclose(f);
	return text;
}

static void set_up(const char *path)
{
	g_autoptr(GError) error = NULL;
	uint32_t state = 12345;
	CUmodule module;
	CUcontext context;
	uint32_t *words;
	size_t size;
	char *text = read_file(path, &size);

	cuda = gp_cuda_load(&error);
	if (!cuda)
		die("%s", error->message);
	must(cuda->cuCtxCreate_v2(&context, CU_CTX_MAP_HOST, 0), "a context");
	/* The driver assembles it here: it is ours. */
	must(cuda->cuModuleLoadData(&module, text), path);
	must(cuda->cuModuleGetFunction(&together, module, "limits_together"), "a kernel");
	must(cuda->cuModuleGetFunction(&alone, module, "limits_alone"), "a kernel");
	stamps = locked(STREAMS * 4096);
	table = on_card(LIMITS_TABLE * 4ul);
	counters = on_card(4096);
	words = locked(LIMITS_TABLE * 4ul);
	for (uint32_t i = 0; i < LIMITS_TABLE; i++)
		words[i] = state = state * 1664525 + 1013904223;
	for (int s = 0; s < STREAMS; s++) {
		must(cuda->cuStreamCreate(&streams[s], CU_STREAM_NON_BLOCKING), "a stream");
		host[s] = locked(MOST * 128ul);
		card[s] = on_card(MOST * 128ul);
		verdicts[s] = locked(MOST * 4ul);
		for (size_t i = 0; i < MOST * 128ul; i++)
			host[s][i] = (uint8_t)((state = state * 1664525 + 1013904223) >> 24);
	}
	must(cuda->cuMemcpyAsync(table, (uintptr_t)words, LIMITS_TABLE * 4ul, streams[0]), "the table");
	while (cuda->cuStreamQuery(streams[0]) == CUDA_ERROR_NOT_READY)
		;
	free(text);
}

static void launch(int s, enum path path, uint32_t batch, uint32_t stride, uint32_t stamp)
{
	bool copied = path == COPY;
	struct limits l = {
		.packets = path == COPY || path == THERE ? (uint8_t *)(uintptr_t)card[s] : host[s],
		.verdicts = verdicts[s],
		.table = (const uint32_t *)(uintptr_t)table,
		.counters = (uint64_t *)(uintptr_t)counters,
		.stride = stride,
		.rewrite = path != TOGETHER,
	};
	void *arguments[] = { &l };
	CUfunction kernel = path == ALONE || path == THERE ? alone : together;

	if (copied)
		must(cuda->cuMemcpyAsync(card[s], (uintptr_t)host[s], (size_t)batch * stride, streams[s]),
		     "a copy");
	must(cuda->cuLaunchKernel(kernel, batch / LIMITS_GROUP, 1, 1, LIMITS_GROUP, 1, 1, 0, streams[s],
				  arguments, NULL),
	     "a launch");
	if (copied)
		must(cuda->cuMemcpyAsync((uintptr_t)host[s], card[s], (size_t)batch * stride, streams[s]),
		     "a copy");
	must(cuda->cuStreamWriteValue32_v2(streams[s], (uintptr_t)&stamps[s * 1024], stamp,
					   CU_STREAM_WRITE_VALUE_DEFAULT),
	     "a stamp");
}

static void await(int s, uint32_t stamp)
{
	uint64_t until = now() + 20000000000ull;

	while (stamps[s * 1024] < stamp)
		if (now() > until)
			die("the card does not end what it runs: %d", cuda->cuStreamQuery(streams[s]));
}

static uint32_t stamp;

/* Millions of packets a second. */
static double rate(enum path path, uint32_t batch, uint32_t stride)
{
	uint64_t began, took = 0, done = 0;
	uint32_t depth = 4, last[STREAMS] = { 0 };

	for (int warm = 1; warm >= 0; warm--) {
		began = now();
		done = 0;
		do {
			for (uint32_t d = 0; d < depth; d++)
				for (int s = 0; s < STREAMS; s++)
					launch(s, path, batch, stride, last[s] = ++stamp);
			done += depth * STREAMS;
			/* No more in flight than that again. */
			for (int s = 0; s < STREAMS; s++)
				await(s, last[s] - (depth - 1) * STREAMS);
			took = now() - began;
		} while (took < (warm ? RUN_NS / 6 : RUN_NS));
		for (int s = 0; s < STREAMS; s++)
			await(s, last[s]);
		took = now() - began;
	}
	return (double)done * batch * 1e3 / (double)took;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void latency(uint32_t batch)
{
	static double us[LATENCIES];

	for (int i = 0; i < LATENCIES; i++) {
		uint64_t began = now();

		launch(0, TOGETHER_REWRITE, batch, 64, ++stamp);
		await(0, stamp);
		us[i] = (double)(now() - began) / 1e3;
	}
	qsort(us, LATENCIES, sizeof(us[0]), by_size);
	printf("%6u packets: %6.1f us median, %6.1f us p99\n", batch, us[LATENCIES / 2],
	       us[LATENCIES * 99 / 100]);
}

int main(int argc, char **argv)
{
	static const uint32_t batches[] = { 1024, 4096, 16384, 65536 }, strides[] = { 64, 128 };

	if (argc != 2)
		die("usage: limits KERNELS.ptx");
	set_up(argv[1]);
	printf("Mpps, %d streams      %24s", STREAMS, "slot");
	for (size_t b = 0; b < G_N_ELEMENTS(batches); b++)
		printf("%9u", batches[b]);
	printf("\n");
	for (int p = 0; p < (int)G_N_ELEMENTS(paths); p++) {
		for (size_t i = 0; i < G_N_ELEMENTS(strides); i++) {
			printf("%-40s %4u", paths[p], strides[i]);
			for (size_t b = 0; b < G_N_ELEMENTS(batches); b++)
				printf("%9.0f", rate((enum path)p, batches[b], strides[i]));
			printf("\n");
			fflush(stdout);
		}
	}
	printf("one batch from launch to end, in place, rewritten, slots of 64\n");
	for (size_t b = 0; b < 3; b++)
		latency(batches[b]);
	return 0;
}
