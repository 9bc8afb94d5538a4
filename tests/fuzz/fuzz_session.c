// SPDX-License-Identifier: BSD-3-Clause
/*
 * fuzz_session.c - libFuzzer target: whole wire sessions on the engine, without QEMU.
 *
 * How it works: an input is a list of actions on one session: a request (requests.c), a program put into
 * the shared memory (one of tests/bpf/vectors.c, with bytes changed), bytes of the shared memory changed under running
 * jobs, stop and continue, reset, a new quota. Programs are validated by the engine itself and "compiled" by
 * compiler_stub.c, or, in fuzz_session_jit, by the real gpgpu-jit that GPGPU_JIT names.
 *
 * Checked, besides what the sanitizers see: every request is answered exactly once, by a response that is well
 * formed, that fits, and that carries its cookie; ranges written lie in the shared memory; nothing comes while
 * stopped; a reset gives all memory back.
 *
 * Threads: the callbacks come on the engine's threads.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "asm.h"
#include "gpgpu-host.h"
#include "input.h"
#include "requests.h"
#undef MAP_STACK /* mmap()'s, here not used; the vectors have a map of that name */
#include "vectors.h"

#define MAX_ACTIONS 64
#define CORKED	    4 /* requests at once, at most */
#define MAX_PROGRAM 1024
#define FEATURES    ((1 << VIRTIO_GPGPU_F_PACKET) | (1 << VIRTIO_GPGPU_F_DEVICE_MEM))

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct pending {
	struct session *session;
	uint64_t cookie;
	size_t capacity;
	bool has_header, answered;
};

struct session {
	struct gpgpu_session *session;
	struct world world;
	uint32_t generation;
	bool stopped;
	uint32_t num_pending;
	struct pending pending[MAX_ACTIONS * CORKED];
};

static struct gpgpu_engine *engine;
static uint8_t *shm;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static uint32_t outstanding;
static bool verbose; /* FUZZ_VERBOSE is set: say what was asked and answered */

#define CHECK(condition)                                                                \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)

/* ------------------------------------------------------------------ answers */
static void check_response(const struct pending *p, const void *response, size_t length)
{
	struct virtio_gpgpu_resp_hdr hdr;

	CHECK(length <= p->capacity);
	if (!length)
		return;
	CHECK(response && length >= sizeof(hdr));
	memcpy(&hdr, response, sizeof(hdr));
	if (verbose)
		fprintf(stderr, "%llu: status %u, reason %u, detail %#llx\n", (unsigned long long)hdr.cookie,
			hdr.status, hdr.reason, (unsigned long long)hdr.detail);
	CHECK(hdr.length == length);
	CHECK(hdr.status < VIRTIO_GPGPU_S_COUNT);
	CHECK(hdr.status != VIRTIO_GPGPU_S_OK || hdr.reason == VIRTIO_GPGPU_R_NONE);
	CHECK(!p->has_header || hdr.cookie == p->cookie);
	CHECK(hdr.generation == p->session->generation);
}

static void complete(void *opaque, const void *response, size_t length, const struct gpgpu_range *ranges,
		     size_t num_ranges)
{
	struct pending *p = opaque;

	check_response(p, response, length);
	for (size_t i = 0; i < num_ranges; i++)
		CHECK(ranges[i].offset <= FUZZ_SHM && ranges[i].size <= FUZZ_SHM - ranges[i].offset);
	pthread_mutex_lock(&lock);
	CHECK(!p->answered);
	CHECK(!p->session->stopped);
	p->answered = true;
	outstanding--;
	pthread_cond_broadcast(&answered);
	pthread_mutex_unlock(&lock);
}

/* Waits a while for everything to be answered: what waits for a fence may take longer. */
static void settle(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 20 * 1000 * 1000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&lock);
	while (outstanding && pthread_cond_timedwait(&answered, &lock, &until) == 0)
		;
	pthread_mutex_unlock(&lock);
}

/* ------------------------------------------------------------------ actions */
static void submit(struct session *s, struct input *in, uint8_t which)
{
	static struct request request;
	struct pending *p = &s->pending[s->num_pending++];

	request_make(in, which, &s->world, &request);
	s->world.counter++;
	*p = (struct pending){ .session = s, .capacity = request.capacity };
	if (request.length >= sizeof(struct virtio_gpgpu_req_hdr)) {
		p->has_header = true;
		memcpy(&p->cookie, request.bytes + offsetof(struct virtio_gpgpu_req_hdr, cookie), 8);
	}
	if (verbose && p->has_header)
		fprintf(stderr, "%llu: command %#x on queue %u\n", (unsigned long long)p->cookie,
			((const struct virtio_gpgpu_req_hdr *)request.bytes)->type, request.queue);
	pthread_mutex_lock(&lock);
	outstanding++;
	pthread_mutex_unlock(&lock);
	gpgpu_session_submit(s->session, request.queue, request.bytes, request.length, request.capacity,
			     complete, p);
}

/* A program of the vectors at the start of buffer 1, with some bytes changed. */
static void put_program(struct session *s, struct input *in)
{
	static struct bpf_insn insns[MAX_PROGRAM];
	const struct vector *vector = &vectors[input_bytes(in, 2) % num_vectors];
	bool kernel = vector->kind == VECTOR_KERNEL;
	bool whole = vector->kind == VECTOR_VERDICT || vector->kind == VECTOR_REFUSED;
	uint8_t changes = input_byte(in);
	uint32_t n = 0;

	if (!whole)
		insns[n++] = MOV64X(R9, R1);
	n += asm_resolve(vector->insns, vector->num_insns, insns + n, MAX_PROGRAM - n,
			 kernel ? done_kernel : done_xdp,
			 whole	  ? 0
			 : kernel ? num_done_kernel
				  : num_done_xdp);
	for (uint32_t i = 0; i < n; i++) {
		if (insns[i].code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		if (insns[i].src_reg)
			insns[i].imm++; /* maps have ids from 1 on here */
		i++;
	}
	for (int i = 0; changes >= 0x80 && i < 1 + (changes & 3); i++)
		((uint8_t *)insns)[input_bytes(in, 2) % (n * sizeof(insns[0]))] = input_byte(in);
	memcpy(shm + FUZZ_BUFFER, insns, n * sizeof(insns[0]));
	s->world.num_insns = n;
	s->world.kind = kernel ? VIRTIO_GPGPU_PROG_GPGPU : VIRTIO_GPGPU_PROG_XDP;
}

/* As a guest that does not wait for answers. */
static void scribble(struct input *in)
{
	uint32_t at = (uint32_t)(FUZZ_BUFFER + input_bytes(in, 2) * 16);

	for (int i = 0; i < 8; i++)
		((volatile uint8_t *)shm)[at + (uint32_t)i] = input_byte(in);
}

static void stop(struct session *s)
{
	gpgpu_session_quiesce(s->session);
	pthread_mutex_lock(&lock);
	s->stopped = true;
	pthread_mutex_unlock(&lock);
}

static void go_on(struct session *s)
{
	pthread_mutex_lock(&lock);
	s->stopped = false;
	pthread_mutex_unlock(&lock);
	gpgpu_session_resume(s->session);
}

static void reset(struct session *s)
{
	struct gpgpu_stats stats;

	/* A reset answers everything, also when stopped. */
	pthread_mutex_lock(&lock);
	s->stopped = false;
	pthread_mutex_unlock(&lock);
	gpgpu_session_reset(s->session, FEATURES, s->generation);
	pthread_mutex_lock(&lock);
	CHECK(outstanding == 0);
	pthread_mutex_unlock(&lock);
	gpgpu_session_stats(s->session, &stats);
	CHECK(stats.memory == 0);
	gpgpu_session_resume(s->session);
}

static void quota(struct session *s, struct input *in)
{
	struct gpgpu_quota q = { .weight = (uint32_t)input_pick(in, 1, 100),
				 .cap = (uint32_t)input_pick(in, 9900, 101),
				 .memory_limit = input_pick(in, 1, 100) << 16 };

	gpgpu_session_set_quota(s->session, &q);
}

static void act(struct session *s, struct input *in)
{
	uint8_t what = input_byte(in);

	if (what < 0xc0) {
		submit(s, in, what);
		return;
	}
	switch (what & 15) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4:
		put_program(s, in);
		return;
	case 5:
	case 6:
		scribble(in);
		return;
	case 7:
		stop(s);
		return;
	case 8:
		go_on(s);
		return;
	case 9:
		reset(s);
		return;
	case 10:
		quota(s, in);
		return;
	case 11:
		/* As the thread that serves a ring does, also one that has not heard of a stop. */
		gpgpu_session_cork(s->session);
		for (int i = input_byte(in) % CORKED; i >= 0; i--)
			submit(s, in, input_byte(in));
		gpgpu_session_uncork(s->session);
		return;
	default:
		settle();
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct gpgpu_engine_options options = { .device = "cpu",
						.threads = 2,
						.slice_us = 200,
						.jit_fd = -1,
						.jit_program = getenv("GPGPU_JIT") };
	GError *error = NULL;

	verbose = getenv("FUZZ_VERBOSE") != NULL;
	if (!options.jit_program)
		options.jit_program = ""; /* compiler_stub.c wants no program */
	engine = gpgpu_engine_new(&options, &error);
	if (!engine) {
		fprintf(stderr, "%s\n", error->message);
		exit(1);
	}
	shm = mmap(NULL, FUZZ_SHM, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shm != MAP_FAILED);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	struct gpgpu_session_options options = { .name = "fuzz",
						 .shm = shm,
						 .shm_size = FUZZ_SHM,
						 .generation = 1,
						 .quota = { .memory_limit = 16 << 20 },
						 .limits = { .fuel = 2000, .max_jobs = 32 } };
	static struct session s;
	uint8_t features = input_byte(&in);

	memset(&s, 0, sizeof(s));
	memset(shm, 0, FUZZ_SHM / 4);
	options.features = features < 0xf0 ? FEATURES : features & 3;
	s.generation = options.generation;
	s.world.kind = VIRTIO_GPGPU_PROG_XDP;
	s.world.num_insns = 2;
	s.session = gpgpu_session_new(engine, &options, NULL);
	CHECK(s.session);
	for (int i = 0; i < MAX_ACTIONS && input_left(&in); i++)
		act(&s, &in);
	pthread_mutex_lock(&lock);
	s.stopped = false;
	pthread_mutex_unlock(&lock);
	gpgpu_session_free(s.session);
	pthread_mutex_lock(&lock);
	CHECK(outstanding == 0);
	pthread_mutex_unlock(&lock);
	return 0;
}
