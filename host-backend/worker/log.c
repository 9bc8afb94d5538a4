/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log.c - one line per event, to standard error or to a file that is opened before the sandbox closes.
 *
 * A line is one write(), so that lines of several threads and processes do not mix. Any thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "worker.h"

static int log_fd = STDERR_FILENO;

int log_open(const char *path)
{
	int fd;

	if (!path)
		return 0;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	log_fd = fd;
	return 0;
}

static void G_GNUC_PRINTF(1, 0) put(const char *format, va_list args)
{
	char line[512];
	int length = snprintf(line, sizeof(line), "gpgpu-worker[%d]: ", (int)getpid());

	vsnprintf(line + length, sizeof(line) - 1 - (size_t)length, format, args);
	length = (int)strlen(line);
	line[length++] = '\n';
	if (write(log_fd, line, (size_t)length) < 0)
		return;
}

int log_descriptor(void)
{
	return log_fd;
}

void log_line(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put(format, args);
	va_end(args);
}

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put(format, args);
	va_end(args);
	/* Not exit(): other threads still run, and nothing here needs to be put in order. */
	_exit(1);
}
