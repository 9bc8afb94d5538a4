/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * capture.h - reading and writing captures of Ethernet frames.
 *
 * libpcap stays behind this header: its own struct bpf_insn and Linux's cannot be seen at once.
 */
#ifndef GPGPU_CAPTURE_H
#define GPGPU_CAPTURE_H

#include <stdint.h>
#include <stdio.h>

struct frame {
	uint64_t seconds, nanoseconds;
	uint32_t captured, length; /* bytes here, and bytes that it had on the wire */
	const uint8_t *bytes; /* valid until the next call */
};

struct capture {
	void *pcap;
	const char *path;
	uint64_t frames; /* read so far */
	uint64_t cut; /* of them captured only in part */
};

/* Dies if the file is missing, is no capture, or is one of something else than Ethernet. */
void capture_open(struct capture *c, const char *path);

/*
 * capture_next() - the next frame, or die if the file is damaged or cut short
 *
 * Return: 1, or 0 at the end.
 */
int capture_next(struct capture *c, struct frame *frame);
void capture_close(struct capture *c);

/* Starts a capture with nanoseconds in @f. */
void *capture_writer(FILE *f, const char *path);
void capture_write(void *writer, const struct frame *frame);

#endif
