/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * worker.h - parts of gpgpu-worker: the socket, the links (one per session), the sandbox, the log.
 */
#ifndef GPGPU_WORKER_H
#define GPGPU_WORKER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include "gpgpu-connection.h"
#include "gpgpu-host.h"

/* log.c */

/* log_open() - log to @path from now on, to standard error if NULL. Return: 0 or negative errno. */
int log_open(const char *path);
int log_descriptor(void);
void log_line(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* die() - log one line and exit with status 1: the other side sees a lost device. Any thread. */
void die(const char *format, ...) G_GNUC_PRINTF(1, 2) G_GNUC_NORETURN;

/* link.c: a session and its ring */

struct link;

/*
 * link_open() - make a session of what QEMU sent.
 * @fds: shm, ring, kick, call; ownership passes in any case.
 * @event: as struct gpgpu_session_options.
 */
struct link *link_open(struct gpgpu_engine *engine, const struct gpgpu_msg_open *msg, int fds[4],
		       gpgpu_event_fn *event, void *event_opaque, GError **error);
void link_close(struct link *link);
void link_pause(struct link *link);
void link_resume(struct link *link);
void link_reset(struct link *link, uint64_t features, uint32_t generation);
void link_quota(struct link *link, const struct gpgpu_quota *quota);
/* link_publish() - write the counters into the ring. */
void link_publish(struct link *link);

/* connection.c */

/* connection_serve() - until the other side goes away; then every session is closed. */
void connection_serve(struct gpgpu_engine *engine, int fd);
/* connection_lost() - as gpgpu_engine_options.lost: tells QEMU, and ends the process where it is over. */
void connection_lost(void *opaque, enum gpgpu_loss loss, bool over, const char *what);

/* compiler.c: who restarts gpgpu-jit once the worker cannot start programs any more */

/*
 * compiler_start() - start the keeper of the compiler. Before the sandbox and before any thread.
 * @program: path of gpgpu-jit.
 * Return: the control socket to it, or -1 with @error set.
 */
int compiler_start(const char *program, GError **error);
/* compiler_connect() - as gpgpu_engine_options.jit_connect. @opaque: int *, the control socket. */
int compiler_connect(void *opaque, const char *target);

/* sandbox.c */

/*
 * sandbox_enter() - from here on: no new files, programs or network. @memory: RLIMIT_DATA, 0: none. @device: as
 * gpgpu_engine_options.device; what a GPU's driver is asked by stays possible.
 */
bool sandbox_enter(uint64_t memory, const char *device, GError **error);

#endif
