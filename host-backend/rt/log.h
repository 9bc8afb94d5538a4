/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log.h - lines that programs print with bpf_trace_printk, on their way to the log.
 *
 * How it works: a bounded queue of lines, many writers (device threads), one reader at a time (the engine, after a
 * slice). A program's call formats into an entry of its own and is done: no lock, no system call. Where the
 * queue is full the line is dropped and counted. `turn` of an entry says whose it is: in round r of the
 * queue an entry is free at 2r and filled at 2r + 1.
 *
 * Lines hold printable ASCII and spaces only, so that a guest cannot play with a terminal that shows the log.
 */
#ifndef GPGPU_RT_LOG_H
#define GPGPU_RT_LOG_H

#include <stdint.h>

#define GP_LOG_ENTRIES 64
#define GP_LOG_TEXT    248

struct gp_log_entry {
	uint32_t turn;
	uint32_t length;
	char text[GP_LOG_TEXT];
};

/* All zeros: empty. */
struct gp_log {
	uint64_t head; /* lines written, ever */
	uint64_t tail; /* lines taken, ever; the reader's */
	uint64_t dropped;
	uint64_t reserved[5];
	struct gp_log_entry entries[GP_LOG_ENTRIES];
};

/*
 * gp_log_put() - format and add a line. Any thread.
 * @format: @size bytes, as bpf_trace_printk takes them: %d %i %u %x %X %c %p with l, ll, width, 0 and -.
 *
 * Return: the line's length, as the kernel has it (more than GP_LOG_TEXT - 1 is cut), or -EINVAL.
 */
int64_t gp_log_put(struct gp_log *log, const uint8_t *format, uint32_t size, uint64_t a, uint64_t b,
		   uint64_t c);

/*
 * gp_log_take() - take the oldest line out. Native only; one thread at a time.
 * @text: out: GP_LOG_TEXT bytes, NUL terminated, without a newline at the end.
 *
 * Return: its length, or -1 where there is none.
 */
int gp_log_take(struct gp_log *log, char *text);

#endif
