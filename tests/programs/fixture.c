// SPDX-License-Identifier: BSD-3-Clause
/*
 * fixture.c - see fixture.h.
 */
#include <arpa/inet.h>
#include <check.h>
#include <linux/bpf.h>
#include <net/ethernet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fixture.h"

struct clock {
	uint64_t now, step;
};

const uint32_t zero;
struct program prog;
struct outcome out;

void set_clock(uint64_t now)
{
	struct clock c = { now, 0 };

	map_set(&prog, "clock", &zero, &c);
}

void address(const char *text, void *to)
{
	memset(to, 0, 16);
	ck_assert(inet_pton(strchr(text, ':') ? AF_INET6 : AF_INET, text, to) == 1);
}

void run(const struct frame *f)
{
	program_run(&prog, f->bytes, f->length, &out);
}

void ip_header(struct frame *f, const char *src, const char *dst, uint8_t proto)
{
	if (strchr(src, ':')) {
		ethernet(f, ETHERTYPE_IPV6);
		ipv6(f, src, dst, proto);
	} else {
		ethernet(f, ETHERTYPE_IP);
		ipv4(f, src, dst, proto, 0);
	}
}

struct frame udp_frame(const char *src, const char *dst, uint16_t sport, uint16_t dport)
{
	struct frame f = { 0 };

	ip_header(&f, src, dst, IPPROTO_UDP);
	udp(&f, sport, dport);
	put_any(&f, 33);
	finish(&f);
	return f;
}

struct frame tcp_frame(const char *src, const char *dst, uint16_t sport, uint16_t dport, uint32_t seq,
		       uint32_t ack, uint8_t flags)
{
	struct frame f = { 0 };

	ip_header(&f, src, dst, IPPROTO_TCP);
	tcp(&f, sport, dport, seq, ack, flags);
	finish(&f);
	return f;
}

void check_packet(size_t link)
{
	const char *wrong = packet_wrong(out.bytes + link, out.length - link);

	ck_assert_msg(!wrong, "%s", wrong);
}

/* Four bytes of what came out. */
uint32_t word(size_t at)
{
	return (uint32_t)out.bytes[at] << 24 | (uint32_t)out.bytes[at + 1] << 16 |
	       (uint32_t)out.bytes[at + 2] << 8 | out.bytes[at + 3];
}

void put_echo(struct frame *f, uint8_t type)
{
	put16(f, (uint16_t)(type << 8));
	put16(f, 0);
	put32(f, 0x12340001);
	put_any(f, 21);
	finish(f);
}
