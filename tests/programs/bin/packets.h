/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packets.h - putting frames together, for the programs that make them.
 *
 * A frame is put together from the front; lengths and checksums are filled in from the back when it is whole.
 */
#ifndef TESTS_PROGRAMS_PACKETS_H
#define TESTS_PROGRAMS_PACKETS_H

#include <stddef.h>
#include <stdint.h>

#define MAX_FRAME 1514

struct frame {
	uint8_t bytes[MAX_FRAME];
	size_t length;
	size_t ip, l4; /* of the header that was put last */
	uint8_t proto;
};

/* A number out of a sequence that is always the same. */
uint32_t any(void);

void put(struct frame *f, const void *bytes, size_t size);
void put8(struct frame *f, uint8_t v);
void put16(struct frame *f, uint16_t v);
void put32(struct frame *f, uint32_t v);
void put_any(struct frame *f, size_t size);
void put_mac(struct frame *f, uint8_t last);

/* Writes over two bytes. */
void set16(struct frame *f, size_t at, uint16_t v);

/* From the left-hand machine to the right-hand one. */
void ethernet(struct frame *f, uint16_t proto);

/* @options: bytes of no-operations and an end. */
void ipv4(struct frame *f, const char *src, const char *dst, uint8_t proto, size_t options);
void ipv6(struct frame *f, const char *src, const char *dst, uint8_t proto);

/* An extension header of 8 * (@more + 1) bytes behind IPv6's header or another; @next_at: where that says what follows. */
void extension(struct frame *f, size_t next_at, uint8_t type, uint8_t more);
void udp(struct frame *f, uint16_t sport, uint16_t dport);

/* A request has an option that says segments of 1460 bytes. */
void tcp(struct frame *f, uint16_t sport, uint16_t dport, uint32_t seq, uint32_t ack, uint8_t flags);

/* Fills in lengths and checksums of the IP header that was put last and of what is behind it. */
void finish(struct frame *f);

/* What xdp_syncookie has to answer under the key of syncookie.conf; @mss: index of its table. */
uint32_t cookie(const char *src, const char *dst, uint16_t sport, uint16_t dport, uint32_t isn,
		uint8_t minute, uint8_t mss);

#endif
