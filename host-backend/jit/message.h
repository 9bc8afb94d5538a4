/* SPDX-License-Identifier: BSD-3-Clause */
/* message.h - messages with descriptors between processes of the host's part, and what goes along with them: memory files. */
#ifndef GPGPU_JIT_MESSAGE_H
#define GPGPU_JIT_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * gp_message_send() - send one message with descriptors. gp_message_try_send() - if there is room for it now.
 * gp_message_receive() - receive one; descriptors that do not come are -1, those that nobody expected are closed. One that is longer
 * than @size is an error (EMSGSIZE).
 *
 * Return: bytes, 0 at the end, or -1 with errno. By any thread.
 */
ssize_t gp_message_send(int fd, const void *bytes, size_t size, const int *fds, unsigned int num_fds);
ssize_t gp_message_try_send(int fd, const void *bytes, size_t size, const int *fds, unsigned int num_fds);
ssize_t gp_message_receive(int fd, void *bytes, size_t size, int *fds, unsigned int num_fds);

/* gp_memory_file() - an unlinked file in memory that can be sealed. Return: descriptor, or -1. */
int gp_memory_file(const char *name, bool executable);

/* gp_write_all() - all of it. */
bool gp_write_all(int fd, const void *bytes, size_t size);

#endif
