/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_client.c - clients: what both kinds share, and the one that calls the engine directly.
 *
 * Answers come from engine threads (or from the ring, wire_ring.c) and are put on a list under `lock`; who waits
 * looks through it by ticket. Every submit is answered exactly once: a second answer to the same ticket
 * ends the test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "wire_internal.h"

void wire_fail(const char *what)
{
	fprintf(stderr, "wire client: %s\n", what);
	abort();
}

static void ticket_key(gint64 *key, uint64_t ticket)
{
	*key = (gint64)ticket;
}

void wire_answered(struct wire_client *c, uint64_t ticket, const void *response, size_t length,
		   const struct gpgpu_range *ranges, size_t num_ranges)
{
	struct wire_answer *a = calloc(1, sizeof(*a));
	size_t room = length > sizeof(*a->resp) ? length : sizeof(*a->resp);
	gint64 key;

	a->resp = calloc(1, room);
	if (length)
		memcpy(a->resp, response, length);
	a->length = length;
	if (length >= sizeof(a->resp->hdr)) {
		a->status = a->resp->hdr.status;
		a->reason = a->resp->hdr.reason;
		a->detail = a->resp->hdr.detail;
		if (a->resp->hdr.length != length)
			wire_fail("a response's length is not what was used");
	}
	if (num_ranges > GPGPU_MAX_RANGES)
		wire_fail("too many ranges");
	if (num_ranges)
		memcpy(a->ranges, ranges, num_ranges * sizeof(*ranges));
	a->num_ranges = num_ranges;
	ticket_key(&key, ticket);
	pthread_mutex_lock(&c->lock);
	if (g_hash_table_contains(c->answers, &key) || ticket >= c->next_ticket)
		wire_fail("a request was answered twice, or never made");
	g_hash_table_insert(c->answers, g_memdup2(&key, sizeof(key)), a);
	c->outstanding--;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

struct direct {
	struct wire_client *client;
	uint64_t ticket;
};

static void complete(void *opaque, const void *response, size_t length, const struct gpgpu_range *ranges,
		     size_t num_ranges)
{
	struct direct *d = opaque;

	wire_answered(d->client, d->ticket, response, length, ranges, num_ranges);
	free(d);
}

static void note_event(void *opaque, uint32_t type, uint32_t reason, uint64_t value)
{
	struct wire_client *c = opaque;

	pthread_mutex_lock(&c->lock);
	if (type == VIRTIO_GPGPU_EV_MAP_DATA) {
		c->events++;
		c->last_event = value;
	}
	pthread_mutex_unlock(&c->lock);
}

static void note_line(void *opaque, const char *line)
{
	struct wire_client *c = opaque;

	pthread_mutex_lock(&c->lock);
	c->lines++;
	g_strlcpy(c->last_line, line, sizeof(c->last_line));
	pthread_mutex_unlock(&c->lock);
}

uint32_t wire_events(struct wire_client *c, uint64_t *map)
{
	uint32_t events;

	pthread_mutex_lock(&c->lock);
	events = c->events;
	*map = c->last_event;
	pthread_mutex_unlock(&c->lock);
	return events;
}

uint32_t wire_lines(struct wire_client *c, char last[512])
{
	uint32_t lines;

	pthread_mutex_lock(&c->lock);
	lines = c->lines;
	g_strlcpy(last, c->last_line, 512);
	pthread_mutex_unlock(&c->lock);
	return lines;
}

struct wire_client *wire_client_new(void)
{
	struct wire_client *c = calloc(1, sizeof(*c));
	pthread_condattr_t attr;

	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->changed, &attr);
	pthread_condattr_destroy(&attr);
	c->answers =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, (GDestroyNotify)wire_answer_free);
	c->next_ticket = 1;
	return c;
}

struct wire_client *wire_client_engine(struct gpgpu_engine *engine, uint64_t shm_size,
				       const struct gpgpu_session_options *options)
{
	struct wire_client *c = wire_client_new();
	struct gpgpu_session_options o = { .name = "test", .features = 3, .generation = 1 };
	GError *error = NULL;

	if (options)
		o = *options;
	c->shm_size = shm_size;
	if (shm_size) {
		c->shm = mmap(NULL, shm_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (c->shm == MAP_FAILED)
			wire_fail("no memory");
	}
	if (!o.event) {
		o.event = note_event;
		o.log = note_line;
		o.event_opaque = c;
	}
	o.shm = c->shm;
	o.shm_size = shm_size;
	c->session = gpgpu_session_new(engine, &o, &error);
	if (!c->session)
		wire_fail(error->message);
	return c;
}

void wire_client_free(struct wire_client *c)
{
	if (c->link)
		wire_link_close(c);
	else
		gpgpu_session_free(c->session);
	if (c->session && c->outstanding)
		wire_fail("a request was never answered");
	if (c->shm)
		munmap(c->shm, c->shm_size);
	g_hash_table_destroy(c->answers);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

struct gpgpu_session *wire_session(struct wire_client *c)
{
	return c->session;
}

uint8_t *wire_shm(struct wire_client *c)
{
	return c->shm;
}

uint64_t wire_submit(struct wire_client *c, enum gpgpu_queue_kind queue, const void *request, size_t length,
		     size_t capacity)
{
	uint64_t ticket;

	pthread_mutex_lock(&c->lock);
	ticket = c->next_ticket++;
	c->outstanding++;
	pthread_mutex_unlock(&c->lock);
	if (c->link) {
		wire_link_submit(c, ticket, queue, request, length, capacity);
	} else {
		struct direct *d = malloc(sizeof(*d));
		/* In a block of exactly its size, so that a sanitizer sees who reads behind it. */
		void *copy = malloc(length);

		if (length)
			memcpy(copy, request, length);
		*d = (struct direct){ c, ticket };
		gpgpu_session_submit(c->session, queue, copy, length, capacity, complete, d);
		free(copy);
	}
	return ticket;
}

static struct wire_answer *take(struct wire_client *c, uint64_t ticket)
{
	gpointer key, value;
	gint64 want;

	ticket_key(&want, ticket);
	if (!g_hash_table_steal_extended(c->answers, &want, &key, &value))
		return NULL;
	g_free(key);
	return value;
}

struct wire_answer *wire_poll(struct wire_client *c, uint64_t ticket)
{
	struct wire_answer *a;

	if (c->link)
		wire_link_poll(c);
	pthread_mutex_lock(&c->lock);
	a = take(c, ticket);
	pthread_mutex_unlock(&c->lock);
	return a;
}

struct wire_answer *wire_wait(struct wire_client *c, uint64_t ticket)
{
	const char *timeout = getenv("GPGPU_TEST_TIMEOUT"); /* s */
	struct wire_answer *a;
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += timeout ? atoi(timeout) : WIRE_TIMEOUT_MS / 1000;
	if (c->link) {
		while (!(a = wire_poll(c, ticket)))
			wire_link_wait(c, &until);
		return a;
	}
	pthread_mutex_lock(&c->lock);
	while (!(a = take(c, ticket)))
		if (pthread_cond_timedwait(&c->changed, &c->lock, &until))
			wire_fail("no answer");
	pthread_mutex_unlock(&c->lock);
	return a;
}

struct wire_answer *wire_call(struct wire_client *c, enum gpgpu_queue_kind queue, const void *request,
			      size_t length, size_t capacity)
{
	return wire_wait(c, wire_submit(c, queue, request, length, capacity));
}

void wire_answer_free(struct wire_answer *a)
{
	if (!a)
		return;
	free(a->resp);
	free(a);
}

uint32_t wire_status(struct wire_client *c, uint64_t ticket)
{
	struct wire_answer *a = wire_wait(c, ticket);
	uint32_t status = a->status;

	wire_answer_free(a);
	return status;
}
