/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fixture.h - one program and what became of the last packet, for the tests of programs.
 */
#ifndef TESTS_PROGRAMS_FIXTURE_H
#define TESTS_PROGRAMS_FIXTURE_H

#include <check.h>
#include "run.h"

#define SECOND 1000000000ull

extern const uint32_t zero; /* key of maps of one entry */
extern struct program prog;
extern struct outcome out;

/* Sets the map `clock`, ns. */
void set_clock(uint64_t now);

/* An address of either family; IPv4's is followed by zeros to 16 bytes. */
void address(const char *text, void *to);

/* Runs `prog`; the result is in `out`. */
void run(const struct frame *f);

/* Ethernet and IP, of the family that @src is of. */
void ip_header(struct frame *f, const char *src, const char *dst, uint8_t proto);

/* Whole frames. */
struct frame udp_frame(const char *src, const char *dst, uint16_t sport, uint16_t dport);
struct frame tcp_frame(const char *src, const char *dst, uint16_t sport, uint16_t dport, uint32_t seq,
		       uint32_t ack, uint8_t flags);

/* Puts an ICMP echo behind IP and finishes the frame. */
void put_echo(struct frame *f, uint8_t type);

/* Four bytes of what came out. */
uint32_t word(size_t at);

/* Fails unless what came out is a sound packet behind @link bytes. */
void check_packet(size_t link);

#define ck_verdict(v) ck_assert_msg(out.verdict == (v), "verdict %u, not %u", out.verdict, (v))

/* The files' cases. */
void tunnel_cases(TCase *t);
void nat64_cases(TCase *t);
void filter_cases(TCase *t);

#endif
