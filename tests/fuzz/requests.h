/* SPDX-License-Identifier: BSD-3-Clause */
/* requests.h - requests of the wire format, from decisions: valid skeletons, mostly. */
#ifndef TESTS_FUZZ_REQUESTS_H
#define TESTS_FUZZ_REQUESTS_H

#include "input.h"
#include "virtio_gpgpu.h"

#define FUZZ_SHM    (4u << 20)
#define FUZZ_IDS    6  /* usual ids are 1..FUZZ_IDS */
#define FUZZ_BUFFER 0x40000u /* usual buffers: id * FUZZ_BUFFER, so many bytes */
#define FUZZ_MAX    (640u << 10) /* bytes of a request here */

struct request {
	uint32_t queue; /* enum gpgpu_queue_kind */
	size_t length;  /* bytes that are handed in */
	size_t capacity;
	uint8_t bytes[FUZZ_MAX];
};

/* What a request may want to know of the session. */
struct world {
	uint64_t counter; /* grows with each request; cookies and sequence numbers come from it */
	uint32_t num_insns; /* of the program that was last put into the shared memory */
	uint32_t kind;  /* VIRTIO_GPGPU_PROG_* of it */
};

/* request_make() - one request of the kind that @which names (modulo their number), with fields by @in. */
void request_make(struct input *in, uint8_t which, const struct world *world, struct request *r);

#endif
