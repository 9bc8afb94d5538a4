/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_engine.h - what the files of the engine's benchmark share. */
#ifndef BENCH_ENGINE_H
#define BENCH_ENGINE_H

#include <stdint.h>
#include <bpf/libbpf.h>
#include "jit/jit.h"
#include "rt/abi.h"

enum {
	MAX_FRAME_BYTES = 1514,
	LEAST_FRAME_BYTES = 128, /* shorter ones are padded, for again.h */
	STRIDE = 2048, /* of a slot */
	FRONT = 256, /* bytes in front of a packet, as the kernel has them */
};

struct bench_packet {
	uint8_t data[MAX_FRAME_BYTES];
	uint32_t len;
};

struct subject {
	const char *name; /* bench_NAME.bpf.o, or the example xdp_NAME.bpf.o */
	const char *config; /* of its maps, among the examples; or NULL */
	int again; /* runs between what again.h puts around it */
};

/* One program on both sides. */
struct bench_program {
	const struct subject *subject;
	struct bpf_object *obj;
	int fd; /* the kernel's */
	struct bpf_insn *insns;
	struct gp_prog prog;
	struct gp_map maps[GP_MAX_PROG_MAPS], *map_ptrs[GP_MAX_PROG_MAPS];
	struct gp_map_desc descs[GP_MAX_PROG_MAPS];
	int map_fds[GP_MAX_PROG_MAPS];
	struct gp_image *quick, *best, *unchecked;
};

_Noreturn void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* bench_window() - @size bytes as compiled code wants them: with nothing to be reached around them. */
uint8_t *bench_window(uint64_t size);

/*
 * bench_sample() - @count different frames, every n-th of a capture, and of ordinary TCP and UDP from many clients
 * to the services of the examples' configurations where there is no capture or for the second half.
 * @path: of a capture, or NULL.
 */
void bench_sample(struct bench_packet *packets, uint32_t count, const char *path, int whole);

/* bench_load() - load @s into the kernel, fill its maps, make our copies of them, and compile it three times. */
void bench_load(struct bench_program *p, const struct subject *s, const char *objects, const char *examples,
		struct gp_jit *jit, struct gp_jit *unchecked);

/* bench_random() - a program of @num random instructions: arithmetic, forward jumps, packet accesses. */
struct gp_prog bench_random(uint32_t num);

/* bench_cached() - print how long a program takes that has been compiled before. @compiler: path. */
void bench_cached(const char *compiler);

#endif
