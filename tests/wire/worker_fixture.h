/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * worker_fixture.h - a worker, the socket to it, a session.
 *
 * GPGPU_WORKER and GPGPU_JIT in the environment are the programs.
 */
#ifndef WORKER_FIXTURE_H
#define WORKER_FIXTURE_H

#include "fixture.h"

#define RING_SIZE (1u << 20)

extern int sock;
extern pid_t worker;
extern struct wire_client *c; /* session 1, or NULL */

void start_worker(void); /* and greet it */
void start_session(void); /* start_worker(), and c */
void stop_worker(void); /* close everything; it must end with status 0 */
void check_exit(int code); /* wait for the worker to end with this status */
void worker_lost(void); /* forget c without talking to the worker */
int plain(uint32_t type); /* a message without contents; Return: the ACK's error */
int reset(uint32_t generation);
void make_worker_objects(void); /* those that make_programs() and packets need */

#endif
