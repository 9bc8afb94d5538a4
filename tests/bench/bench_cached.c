/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_cached.c - how long PROG_CREATE takes for a program that the session has had before, from request to
 * answer, through the engine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bench_engine.h"
#include "wire_client.h"

#define SHM_BYTES (1ull << 20)
#define TURNS	  20

enum { CTX = 1, BUFFER = 1, PROG = 1 };

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* Return: milliseconds. The program is gone again afterwards. */
static double create(struct wire_client *c, const struct gp_prog *prog)
{
	double start = now_ms();
	struct wire_answer *a;
	uint32_t status =
		wire_prog(c, CTX, PROG, prog->kind, prog->insns, prog->num_insns, BUFFER, 0, 0, NULL, 0, &a);

	start = now_ms() - start;
	if (status)
		bench_die("a program of %u instructions: status %u: %s", prog->num_insns, status,
			  (char *)a->resp->prog.message);
	wire_answer_free(a);
	if (wire_id(c, VIRTIO_GPGPU_CMD_PROG_DESTROY, CTX, PROG, NULL))
		bench_die("a program is not destroyed");
	return start;
}

void bench_cached(const char *compiler)
{
	static const uint32_t sizes[] = { 500, 4000, 16384 };
	struct gpgpu_engine_options options = {
		.device = "cpu", .threads = 1, .jit_fd = -1, .jit_program = compiler
	};
	struct gpgpu_session_options session = { .name = "bench", .features = 1 << VIRTIO_GPGPU_F_PACKET };
	struct gpgpu_engine *engine;
	struct wire_client *c;
	GError *error = NULL;

	engine = gpgpu_engine_new(&options, &error);
	if (!engine)
		bench_die("%s", error->message);
	c = wire_client_engine(engine, SHM_BYTES, &session);
	if (wire_simple(c, VIRTIO_GPGPU_CMD_CTX_CREATE, CTX, NULL) ||
	    wire_buffer(c, CTX, BUFFER, VIRTIO_GPGPU_MEM_SHM, 0, SHM_BYTES))
		bench_die("no buffer");
	printf("\nThe same program again, from request to answer, ms:");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct gp_prog prog = bench_random(sizes[i]);
		double best = 0;

		create(c, &prog);
		for (int k = 0; k < TURNS; k++) {
			double ms = create(c, &prog);

			best = best && best < ms ? best : ms;
		}
		printf(" %.3f (%u instructions)", best, sizes[i]);
		free((void *)prog.insns);
	}
	putchar('\n');
	wire_client_free(c);
	gpgpu_engine_free(engine);
}
