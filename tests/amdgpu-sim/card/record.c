/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record.c - what is written down: traces, captured streams, statistics of dispatches.
 *
 * Files are opened when the first line is due, which a process that has locked itself in can no longer do: name
 * them in the environment, and they are opened with the node.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "card.h"

struct file {
	char path[256];
	int fd;
};

static struct file trace_file = { .fd = -1 }, capture_file = { .fd = -1 }, statistics_file = { .fd = -1 };
static struct sim_counts total;
static uint64_t dispatches, total_ns;

static int file_of(struct file *file, const char *path)
{
	if (!*path)
		return -1;
	if (strcmp(file->path, path)) {
		if (file->fd >= 0)
			close(file->fd);
		snprintf(file->path, sizeof(file->path), "%s", path);
		file->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
		if (file->fd < 0)
			sim_say("%s cannot be written", path);
	}
	return file->fd;
}

static void put(int fd, const char *text, int length)
{
	if (fd >= 0 && length > 0 && write(fd, text, (size_t)length) < 0)
		return;
}

void sim_records_open(void)
{
	file_of(&trace_file, sim.options.trace);
	file_of(&capture_file, sim.options.capture);
	file_of(&statistics_file, sim.options.statistics);
}

void sim_trace(const char *format, ...)
{
	int fd = file_of(&trace_file, sim.options.trace);
	char line[1024];
	va_list args;
	int n;

	if (fd < 0)
		return;
	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	put(fd, line, n < (int)sizeof(line) ? n : (int)sizeof(line) - 1);
}

/* "ib RING VA DWORDS FLAGS", then the dwords, eight a line. */
void sim_capture(struct sim_exec *exec, const struct sim_ib *ib)
{
	int fd = file_of(&capture_file, sim.options.capture);
	char line[128];

	if (fd < 0)
		return;
	put(fd, line,
	    snprintf(line, sizeof(line), "ib %s %#llx %u %#x\n",
		     exec->ring == SIM_RING_SDMA ? "sdma" : "compute", (unsigned long long)ib->va, ib->dwords,
		     ib->flags));
	for (uint32_t i = 0; i < ib->dwords; i += 8) {
		int n = 0;

		for (uint32_t j = i; j < i + 8 && j < ib->dwords; j++) {
			uint32_t word;

			if (sim_read(exec, ib->va + 4ull * j, &word, 4)) {
				put(fd, "unmapped\n", 9);
				return;
			}
			n += snprintf(line + n, sizeof(line) - (size_t)n, "%s%08x", j == i ? "" : " ", word);
		}
		line[n++] = '\n';
		put(fd, line, n);
	}
}

static void print(int fd, const char *what, const struct sim_counts *c, uint64_t ns)
{
	char line[640];
	int n = snprintf(
		line, sizeof(line),
		"%s ns=%llu valu=%llu salu=%llu vmem_load=%llu vmem_store=%llu vmem_atomic=%llu flat=%llu "
		"smem=%llu lds=%llu scratch=%llu branch=%llu message=%llu other=%llu lanes=%llu "
		"bytes_loaded=%llu bytes_stored=%llu\n",
		what, (unsigned long long)ns, (unsigned long long)c->valu, (unsigned long long)c->salu,
		(unsigned long long)c->vmem_load, (unsigned long long)c->vmem_store,
		(unsigned long long)c->vmem_atomic, (unsigned long long)c->flat, (unsigned long long)c->smem,
		(unsigned long long)c->lds, (unsigned long long)c->scratch, (unsigned long long)c->branch,
		(unsigned long long)c->message, (unsigned long long)c->other, (unsigned long long)c->lanes,
		(unsigned long long)c->bytes_loaded, (unsigned long long)c->bytes_stored);

	put(fd, line, n < (int)sizeof(line) ? n : (int)sizeof(line) - 1);
}

void sim_count(const struct sim_exec *exec, const struct sim_dispatch *dispatch,
	       const struct sim_counts *counts, int64_t ns)
{
	const uint64_t *from = (const uint64_t *)counts;
	uint64_t *to = (uint64_t *)&total;
	char what[128];

	for (size_t i = 0; i < sizeof(total) / 8; i++)
		to[i] += from[i];
	dispatches++;
	total_ns += (uint64_t)ns;
	snprintf(what, sizeof(what), "dispatch client=%u code=%#llx groups=%ux%ux%u size=%ux%ux%u",
		 exec->client->number, (unsigned long long)dispatch->code, dispatch->groups[0],
		 dispatch->groups[1], dispatch->groups[2], dispatch->group_size[0], dispatch->group_size[1],
		 dispatch->group_size[2]);
	print(file_of(&statistics_file, sim.options.statistics), what, counts, (uint64_t)ns);
}

void sim_statistics(void)
{
	char what[64];

	snprintf(what, sizeof(what), "total dispatches=%llu", (unsigned long long)dispatches);
	print(file_of(&statistics_file, sim.options.statistics), what, &total, total_ns);
}
