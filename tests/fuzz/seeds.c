// SPDX-License-Identifier: BSD-3-Clause
/*
 * seeds.c - writes the fuzzers' first inputs and a dictionary.
 *
 *	seeds DIRECTORY		DIRECTORY/KIND/NUMBER, DIRECTORY/KIND.dict
 *
 * For the validator and the compiler the programs of tests/bpf/vectors.c, for sessions what a well-behaved guest
 * does: the actions of fuzz_session.c with their zeros, which are its sensible choices. Objects are files that the
 * build has made; `run` puts them there. Dictionaries: instructions, numbers that limits are made of, names of sections.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "asm.h"
#include "vectors.h"
#include "virtio_gpgpu.h"

#define MAX_SEED    16384
#define MAX_PROGRAM 1024

struct seed {
	uint8_t bytes[MAX_SEED];
	size_t size;
};

static void put(struct seed *seed, const void *bytes, size_t size)
{
	if (size > MAX_SEED - seed->size)
		exit(2);
	memcpy(seed->bytes + seed->size, bytes, size);
	seed->size += size;
}

#define PUT(seed, ...) put(seed, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void save(const struct seed *seed, const char *directory, const char *kind, uint32_t number)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/%04u", directory, kind, number);
	file = fopen(path, "w");
	if (!file || fwrite(seed->bytes, 1, seed->size, file) != seed->size || fclose(file)) {
		perror(path);
		exit(1);
	}
}

static uint32_t program(const struct vector *vector, struct bpf_insn *insns)
{
	bool kernel = vector->kind == VECTOR_KERNEL;
	bool whole = vector->kind == VECTOR_VERDICT || vector->kind == VECTOR_REFUSED;
	uint32_t n = 0;

	if (!whole)
		insns[n++] = MOV64X(R9, R1);
	return n + asm_resolve(vector->insns, vector->num_insns, insns + n, MAX_PROGRAM - n,
			       kernel ? done_kernel : done_xdp,
			       whole	? 0
			       : kernel ? num_done_kernel
					: num_done_xdp);
}

static FILE *dictionary(const char *directory, const char *kind)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.dict", directory, kind);
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		exit(1);
	}
	return file;
}

static void entry(FILE *dict, const void *bytes, size_t size)
{
	fprintf(dict, "\"");
	for (size_t i = 0; i < size; i++)
		fprintf(dict, "\\x%02x", ((const uint8_t *)bytes)[i]);
	fprintf(dict, "\"\n");
}

/* ------------------------------------------------------------------ programs */
/* @kind: "validate", two bytes in front (fuzz_validate.c), or "program", eight (fuzz_run.c) */
static void program_seeds(const char *directory, const char *kind, size_t header)
{
	static struct bpf_insn insns[MAX_PROGRAM];
	FILE *dict = dictionary(directory, kind);

	for (uint32_t i = 0; i < num_vectors; i++) {
		struct seed seed = { .size = 0 };
		uint32_t n = program(&vectors[i], insns);

		if (header == 2)
			PUT(&seed, vectors[i].kind == VECTOR_KERNEL, 3);
		else
			PUT(&seed, vectors[i].kind == VECTOR_KERNEL, 3, VECTOR_LEN - 14, 0, 2, 7, 0, 0);
		put(&seed, insns, n * sizeof(insns[0]));
		save(&seed, directory, kind, i);
		/* One instruction of each program, with its neighbour, for the dictionary. */
		if (n >= 4)
			entry(dict, &insns[n / 2 - 1], 2 * sizeof(insns[0]));
	}
	fclose(dict);
}

/* ------------------------------------------------------------------ objects */
static void object_dictionary(const char *directory)
{
	static const char *const names[] = { "xdp",   "xdp/",	 "gpgpu",    "gpgpu/", ".maps",
					     "maps",  ".text",	 "license",  ".BTF",   ".rodata",
					     ".data", ".bss",	 ".BTF.ext", ".rel",   ".relxdp",
					     "GPL",   ".symtab", ".strtab",  ".ksyms", ".rodata.str1.1" };
	static const uint32_t types[] = { 1, 2, 3, 8, 9, 10, 17, 0x464c457f, 0x00f70001, 0xeb9f0001 };
	FILE *dict = dictionary(directory, "object");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		entry(dict, names[i], strlen(names[i]) + 1);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		entry(dict, &types[i], sizeof(types[0]));
	fclose(dict);
}

/* ------------------------------------------------------------------ sessions */
/* Kinds of requests.c, and actions of fuzz_session.c. Each request ends with 0: not distorted. */
enum {
	CTX = 0,
	ATTACH = 1,
	BUFFER = 2,
	BY_ID = 4,
	MAP = 5,
	MAP_OP = 7,
	PROG = 9,
	DISPATCH = 11,
	COPY = 13,
	NOP = 14,
	PACKETS = 15,
	CANCEL = 17,
	CAPS = 18,
	STATS = 19
};
enum {
	PUT_PROGRAM = 0xc0,
	SCRIBBLE = 0xc5,
	STOP = 0xc7,
	GO_ON = 0xc8,
	RESET = 0xc9,
	QUOTA = 0xca,
	CORK = 0xcb,
	SETTLE = 0xcc
};

static void set_up(struct seed *seed)
{
	PUT(seed, 0);   /* all features */
	PUT(seed, CAPS, 0, 0, 0);
	PUT(seed, CTX, 0, 0, 0); /* context 1 */
	for (uint8_t i = 0; i < 6; i++) {
		PUT(seed, BUFFER, 0, i, i == 5, 0, 0, 0); /* the last is device memory */
		PUT(seed, MAP, i, 0, 0, 0);
	}
}

/* Program @vector as id 1. */
static void make_program(struct seed *seed, uint32_t vector)
{
	PUT(seed, PUT_PROGRAM, (uint8_t)vector, (uint8_t)(vector >> 8), 0);
	PUT(seed, PROG, 0, 0, 0, 0, 0, 0);
	if (vectors[vector].kind == VECTOR_KERNEL)
		PUT(seed, 0);  /* three arguments */
	PUT(seed, 0, SETTLE);
}

/* 16 packets with program 1 from buffer 2, on timeline @timeline, with one fence if @fence. */
static void run_packets(struct seed *seed, uint8_t timeline, bool fence)
{
	PUT(seed, PACKETS, 0, 15, 1, 0, 0, 0, 0, timeline, 0, fence);
	if (fence)
		PUT(seed, 0, 0, 2);
	for (int i = 0; i < 8; i++)
		PUT(seed, 0, 0);
	PUT(seed, 0);
}

static void run_grid(struct seed *seed, uint8_t timeline)
{
	PUT(seed, DISPATCH, 0, 0, 7, 0, 3, 0, 1, 0, 0, timeline, 0, 0);
	PUT(seed, 1, 0, 0, 2, 0, 0, 0);
}

/* The wire's own numbers: types of commands and maps, and sizes at which something changes. */
static void session_dictionary(const char *directory)
{
	static const uint32_t numbers[] = { 0x100, 0x101, 0x102, 0x103,	   0x200,     3,  4,  5,
					    6,	   9,	  10,	 11,	   12,	      13, 14, 16,
					    22,	   23,	  25,	 27,	   30,	      31, 64, 512,
					    4096,  16384, 65536, 0x100000, 0x7fffffff };
	FILE *dict = dictionary(directory, "session");

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		entry(dict, &numbers[i], sizeof(numbers[0]));
	fclose(dict);
}

static void session_seeds(const char *directory)
{
	uint32_t number = 0;

	session_dictionary(directory);

	for (uint32_t i = 0; i < num_vectors; i++) {
		struct seed seed = { .size = 0 };

		if (vectors[i].kind == VECTOR_R0 && i % 8)
			continue;
		set_up(&seed);
		make_program(&seed, i);
		if (vectors[i].kind == VECTOR_KERNEL)
			run_grid(&seed, 0);
		else
			run_packets(&seed, 0, false);
		PUT(&seed, SETTLE, MAP_OP, 1, 0, 0, 0, 0, STATS, 0);
		PUT(&seed, BY_ID, 0, 0, 3, 0, SETTLE);
		save(&seed, directory, "session", number++);
	}
	/* Jobs of several timelines that wait for each other, stopped, changed, cancelled, reset. */
	for (int variant = 0; variant < 6; variant++) {
		struct seed seed = { .size = 0 };

		set_up(&seed);
		make_program(&seed, 60);
		for (uint8_t i = 0; i < 4; i++) {
			PUT(&seed, COPY, i & 1, 1, 2, 0, 0, 9, 0, i % 3, 0, 0, 0);
			PUT(&seed, NOP, 0, (uint8_t)((i + 1) % 3), 0, 1, 0, i % 3, 3, 0);
			run_packets(&seed, i % 3, variant & 1);
		}
		switch (variant) {
		case 0:
			PUT(&seed, STOP, SCRIBBLE, 0, 0, 1, 2, 3, GO_ON, SETTLE);
			break;
		case 1:
			PUT(&seed, CANCEL, 0, 0, 3, 0, CANCEL, 0, 1, 3, 0);
			break;
		case 2:
			PUT(&seed, RESET);
			break;
		case 3:
			PUT(&seed, QUOTA, 3, 1, 1, CORK, 1, NOP, 0, 0, 0, 0, 0, CAPS, 0, 0, 0, SETTLE);
			break;
		case 4:
			PUT(&seed, CTX, 0, 1, 0, SETTLE);
			break;
		default:
			PUT(&seed, STOP, RESET);
		}
		for (uint8_t i = 0; i < 6; i++)
			PUT(&seed, BY_ID, 0, i, i % 4, 0);
		save(&seed, directory, "session", number++);
	}
}

static void make_directory(const char *parent, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", parent, name);
	mkdir(path, 0777);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: seeds DIRECTORY\n");
		return 1;
	}
	mkdir(argv[1], 0777);
	make_directory(argv[1], "validate");
	make_directory(argv[1], "program");
	make_directory(argv[1], "session");
	make_directory(argv[1], "object");
	program_seeds(argv[1], "validate", 2);
	program_seeds(argv[1], "program", 8);
	session_seeds(argv[1]);
	object_dictionary(argv[1]);
	return 0;
}
