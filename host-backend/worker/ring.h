/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ring.h - the worker's end of a ring: it consumes requests and produces responses.
 *
 * The other side may write anything anywhere in the ring at any time. So positions are kept here and only
 * published there, what is read is read once, and every size is checked before it is used; a response is
 * written and never read back.
 */
#ifndef GPGPU_WORKER_RING_H
#define GPGPU_WORKER_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gpgpu-connection.h"
#include "gpgpu-host.h"

struct ring {
	struct gpgpu_ring *shared;
	size_t map_bytes;
	uint8_t *req, *resp;  /* the data areas */
	uint64_t req_size, resp_size;
	uint64_t req_head, resp_tail; /* the worker's own positions */
	int kick, call; /* eventfds: to the worker, to QEMU */
};

struct ring_request {
	uint32_t kind;   /* GPGPU_RING_CONTROL .. _PACKET */
	uint64_t tag;
	const void *bytes;  /* in the ring: may change until it is copied */
	uint32_t length, capacity;
	uint32_t size;   /* of the record */
};

enum ring_status { RING_EMPTY, RING_REQUEST, RING_BROKEN };

/* ring_map() - map and check @fd. Return: NULL, or what is wrong with it. Descriptors are not owned. */
const char *ring_map(struct ring *ring, int fd, uint64_t size, int kick, int call);
void ring_unmap(struct ring *ring);

/* ring_next() - look at the next request; it stays in the ring until ring_done(). */
enum ring_status ring_next(struct ring *ring, struct ring_request *req);
void ring_done(struct ring *ring, const struct ring_request *req);
/* ring_sleep() - announce that the worker will sleep. Return: false if there is a request after all. */
bool ring_sleep(struct ring *ring);
void ring_awake(struct ring *ring);

/* ring_respond() - Return: false if there is no room; the other side will kick once there is. */
bool ring_respond(struct ring *ring, uint64_t tag, const void *bytes, size_t length,
		  const struct gpgpu_range *ranges, size_t num_ranges);

void ring_publish(struct ring *ring, const struct gpgpu_stats *stats);

#endif
