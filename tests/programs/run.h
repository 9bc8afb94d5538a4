/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run.h - one XDP object in this machine's kernel, packet by packet.
 */
#ifndef TESTS_PROGRAMS_RUN_H
#define TESTS_PROGRAMS_RUN_H

#include <stdbool.h>
#include "bin/packets.h"

struct bpf_object;

struct program {
	struct bpf_object *object;
	int fd;
};

/* What a packet became. */
struct outcome {
	uint32_t verdict;
	uint8_t bytes[4096];
	size_t length;
};

/* Return: NULL, or why this machine does not run BPF for us. */
const char *program_unavailable(void);

/* Loads xdp_NAME.bpf.o; a test fails if it cannot be. */
void program_load(struct program *p, const char *name);
void program_free(struct program *p);

/* Maps by name; a test fails where the kernel says no. The look-up returns whether there is such a key. */
void map_set(const struct program *p, const char *map, const void *key, const void *value);
bool map_get(const struct program *p, const char *map, const void *key, void *value);
void map_remove(const struct program *p, const char *map, const void *key);

/* Return: the sum over all CPUs of the packets of a `struct count`. */
uint64_t map_count(const struct program *p, const char *map, uint32_t index);

void program_run(const struct program *p, const void *bytes, size_t length, struct outcome *out);

/*
 * Checks an IP packet: lengths within @size, the header's checksum, and that of TCP, UDP or ICMP behind it
 * (also where it is a fragment: then only the header).
 *
 * Return: NULL, or what is wrong.
 */
const char *packet_wrong(const uint8_t *ip, size_t size);

#endif
