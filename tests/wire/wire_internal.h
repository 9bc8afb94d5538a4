/* SPDX-License-Identifier: BSD-3-Clause */
/* wire_internal.h - between the files of the test client. */
#ifndef WIRE_INTERNAL_H
#define WIRE_INTERNAL_H

#include <glib.h>
#include <pthread.h>
#include "wire_client.h"

struct wire_link;

struct wire_client {
	struct gpgpu_session *session; /* or */
	struct wire_link *link;
	uint8_t *shm;
	uint64_t shm_size;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	GHashTable *answers;  /* by ticket, not yet taken */
	uint64_t next_ticket;
	uint64_t outstanding;
	uint32_t events; /* MAP_DATA that came, and of which map the last was */
	uint64_t last_event;
	uint32_t lines; /* for the log */
	char last_line[512];
};

struct wire_client *wire_client_new(void);
void wire_fail(const char *what) G_GNUC_NORETURN;
void wire_answered(struct wire_client *c, uint64_t ticket, const void *response, size_t length,
		   const struct gpgpu_range *ranges, size_t num_ranges);

/* wire_ring.c */
void wire_link_submit(struct wire_client *c, uint64_t ticket, enum gpgpu_queue_kind queue,
		      const void *request, size_t length, size_t capacity);
void wire_link_poll(struct wire_client *c);
void wire_link_wait(struct wire_client *c, const struct timespec *until);
void wire_link_close(struct wire_client *c);

#endif
