// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_filters.c - xdp_syncookie, xdp_ddos and xdp_flows: who gets through, and what is counted.
 */
#include <arpa/inet.h>
#include <check.h>
#include <linux/bpf.h>
#include <net/ethernet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fixture.h"

/* ---------------------------------------------------------------- SYN cookies */

static void syncookie_setup(uint64_t minute)
{
	struct {
		uint32_t addr[4];
		uint16_t port, family;
	} service = { .port = 0 };
	uint64_t key[2] = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };
	uint32_t one = 1;

	program_load(&prog, "syncookie");
	set_clock(minute * 60 * SECOND);
	map_set(&prog, "keys", &zero, key);
	address("10.0.0.80", service.addr);
	service.family = ETHERTYPE_IP;
	map_set(&prog, "services", &service, &one);
	address("2001:db8::80", service.addr);
	service.family = ETHERTYPE_IPV6;
	map_set(&prog, "services", &service, &one);
}

static void syncookie_handshake(const char *src, const char *dst)
{
	struct frame f = tcp_frame(src, dst, 1234, 80, 0xfffffff0, 0, 2);
	size_t l4 = strchr(src, ':') ? 54 : 34;
	uint32_t c = cookie(src, dst, 1234, 80, 0xfffffff0, 77 & 31, 7);

	syncookie_setup(77);
	run(&f);
	ck_verdict(XDP_TX);
	check_packet(14);
	ck_assert_uint_eq(out.length, l4 + 24);
	ck_assert_uint_eq(out.bytes[l4 + 13], 0x12);
	ck_assert_uint_eq(word(l4 + 4), c);
	ck_assert_uint_eq(word(l4 + 8), 0xfffffff1);
	ck_assert(!memcmp(out.bytes, f.bytes + 6, 6));

	/* A bit turned, and two minutes late, are wrong; nothing but the request is answered until it is right. */
	f = tcp_frame(src, dst, 1234, 80, 0xfffffff1, (c ^ 4) + 1, 16);
	run(&f);
	ck_verdict(XDP_DROP);
	f = tcp_frame(src, dst, 1234, 80, 0xfffffff1, c + 1, 16);
	set_clock(79 * 60 * SECOND);
	run(&f);
	ck_verdict(XDP_DROP);
	set_clock(78 * 60 * SECOND);
	run(&f);
	ck_verdict(XDP_TX);
	check_packet(14);
	ck_assert_uint_eq(out.bytes[l4 + 13] & 4, 4);
	ck_assert_uint_eq(word(l4 + 4), c + 1);
	/* Now it is known. */
	f = tcp_frame(src, dst, 1235, 80, 5, 0, 2);
	run(&f);
	ck_verdict(XDP_PASS);
	program_free(&prog);
}

START_TEST(syncookie_round_trip)
{
	syncookie_handshake("198.51.100.1", "10.0.0.80");
	syncookie_handshake("2001:db8::1", "2001:db8::80");
}
END_TEST

/* ----------------------------------------------------------------------- DDoS */

START_TEST(ddos_rates)
{
	uint64_t rate[2] = { 10, 5 }; /* a second; at once */
	uint32_t class_udp = 1;
	struct frame f = udp_frame("198.51.100.1", "10.0.0.2", 1, 2);
	unsigned passed;

	program_load(&prog, "ddos");
	map_set(&prog, "rates", &class_udp, rate);
	for (unsigned second = 1; second < 6; second++) {
		/* First a full bucket, then what came back in two tenths of a second, at last a full one again. */
		set_clock(1000 * SECOND + (second - 1) * SECOND / 5 + (second == 5 ? 100 * SECOND : 0));
		passed = 0;
		for (int i = 0; i < 20; i++) {
			run(&f);
			passed += out.verdict == XDP_PASS;
		}
		ck_assert_uint_eq(passed, second == 1 || second == 5 ? 5 : 2);
	}
	/* Another source has a bucket of its own. */
	f = udp_frame("198.51.100.2", "10.0.0.2", 1, 2);
	run(&f);
	ck_verdict(XDP_PASS);
	program_free(&prog);
}
END_TEST

START_TEST(ddos_lists)
{
	struct {
		uint32_t length;
		uint8_t addr[4];
	} wide = { 24, { 198, 51, 100, 0 } }, narrow = { 32, { 198, 51, 100, 7 } };
	uint32_t deny[2] = { 1, 1 }, allow[2] = { 2, 2 };
	struct frame f;

	program_load(&prog, "ddos");
	map_set(&prog, "lists4", &wide, deny);
	map_set(&prog, "lists4", &narrow, allow);
	f = udp_frame("198.51.100.1", "10.0.0.2", 1, 2);
	run(&f);
	ck_verdict(XDP_DROP);
	f = udp_frame("198.51.100.7", "10.0.0.2", 1, 2);
	run(&f);
	ck_verdict(XDP_PASS);
	ck_assert_uint_eq(map_count(&prog, "rule_counts", 1), 1);
	ck_assert_uint_eq(map_count(&prog, "rule_counts", 2), 1);
	program_free(&prog);
}
END_TEST

/* ---------------------------------------------------------------------- flows */

START_TEST(flows_counted)
{
	struct {
		uint32_t src[4], dst[4];
		uint16_t sport, dport, family;
		uint8_t proto, pad;
	} key = { .sport = htons(7), .dport = htons(80), .family = ETHERTYPE_IPV6, .proto = IPPROTO_TCP };
	uint64_t value[5], bytes = 0;
	struct frame f;

	program_load(&prog, "flows");
	for (unsigned i = 0; i < 10; i++) {
		set_clock((5 + i) * SECOND);
		f = tcp_frame("2001:db8::1", "2001:db8::2", 7, 80, i, 0, i ? (i == 9 ? 0x11 : 0x18) : 2);
		bytes += f.length;
		run(&f);
		ck_verdict(XDP_PASS);
	}
	address("2001:db8::1", key.src);
	address("2001:db8::2", key.dst);
	ck_assert(map_get(&prog, "flows", &key, value));
	ck_assert_uint_eq(value[0], 10);
	ck_assert_uint_eq(value[1], bytes);
	ck_assert_uint_eq(value[2], 5 * SECOND);
	ck_assert_uint_eq(value[3], 14 * SECOND);
	ck_assert_uint_eq(value[4], 0x1b);
	program_free(&prog);
}
END_TEST

void filter_cases(TCase *t)
{
	tcase_add_test(t, syncookie_round_trip);
	tcase_add_test(t, ddos_rates);
	tcase_add_test(t, ddos_lists);
	tcase_add_test(t, flows_counted);
}
