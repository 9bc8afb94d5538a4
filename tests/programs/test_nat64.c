// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_nat64.c - xdp_nat64: a translation there and back is none, and a client gets what is for it.
 */
#include <arpa/inet.h>
#include <check.h>
#include <linux/bpf.h>
#include <net/ethernet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fixture.h"

struct nat64_settings {
	uint32_t prefix[3], pool;
	uint16_t first_port, num_ports;
	uint8_t dst_mac[6], src_mac[6];
	uint32_t mtu;
};

static void nat64_setup(void)
{
	struct nat64_settings s = { .first_port = 20000,
				    .num_ports = 16,
				    .dst_mac = { 2, 0, 0, 0, 7, 2 },
				    .src_mac = { 2, 0, 0, 0, 7, 1 } };
	uint32_t a6[4], a4[4];

	program_load(&prog, "nat64");
	set_clock(SECOND);
	inet_pton(AF_INET, "192.0.2.64", &s.pool);
	address("64:ff9b::", a6);
	memcpy(s.prefix, a6, sizeof(s.prefix));
	map_set(&prog, "settings", &zero, &s);
	/* Both ends are known on both sides, so that what came from one comes back to it. */
	for (int i = 1; i <= 2; i++) {
		address(i == 1 ? "10.0.0.1" : "10.0.0.2", a4);
		address(i == 1 ? "64:ff9b::10.0.0.1" : "64:ff9b::10.0.0.2", a6);
		map_set(&prog, "hosts4", a4, a6);
		map_set(&prog, "hosts6", a6, a4);
	}
}

/* Undoes a hop: time to live up by one, and IPv4's checksum. */
static void hop_back(uint8_t *ip)
{
	uint32_t sum = 0;

	ip[ip[0] >> 4 == 4 ? 8 : 7]++;
	if (ip[0] >> 4 == 6)
		return;
	ip[10] = ip[11] = 0;
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

static void nat64_there_and_back(const struct frame *f)
{
	uint8_t middle[MAX_FRAME + 64];
	size_t length;

	run(f);
	ck_verdict(XDP_TX);
	check_packet(14);
	ck_assert_int_ne(out.bytes[14] >> 4, f->bytes[14] >> 4);
	length = out.length;
	memcpy(middle, out.bytes, length);
	program_run(&prog, middle, length, &out);
	ck_verdict(XDP_TX);
	check_packet(14);
	hop_back(out.bytes + 14);
	hop_back(out.bytes + 14);
	ck_assert_uint_eq(out.length, f->length);
	for (size_t i = 0; i < f->length; i++)
		ck_assert_msg(out.bytes[i] == f->bytes[i], "byte %zu is 0x%02x, was 0x%02x", i, out.bytes[i],
			      f->bytes[i]);
}

START_TEST(nat64_round_trip)
{
	struct frame f;

	nat64_setup();
	for (int i = 0; i < 4; i++) {
		const char *src = i & 1 ? "64:ff9b::10.0.0.1" : "10.0.0.1";
		const char *dst = i & 1 ? "64:ff9b::10.0.0.2" : "10.0.0.2";

		f = (struct frame){ 0 };
		ip_header(&f, src, dst, i & 2 ? IPPROTO_TCP : IPPROTO_UDP);
		/* What IPv4 says and IPv6 has no word for: an id, and permission to fragment. */
		if (i & 1) {
			f.bytes[14] = 0x6a;
			f.bytes[15] = 0xb0;
			f.bytes[16] = f.bytes[17] = 0;
		} else {
			f.bytes[15] = 0xab;
			set16(&f, f.ip + 4, 0);
			set16(&f, f.ip + 6, 0x4000);
		}
		if (i & 2)
			tcp(&f, 1000, 80, 1, 2, 16);
		else
			udp(&f, 1000, 53);
		put_any(&f, 31);
		finish(&f);
		nat64_there_and_back(&f);

		f = (struct frame){ 0 };
		ip_header(&f, src, dst, i & 1 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
		if (i & 1) {
			set16(&f, f.ip, 0x6000);
			set16(&f, f.ip + 2, 0);
		} else {
			set16(&f, f.ip + 4, 0);
			set16(&f, f.ip + 6, 0x4000);
		}
		put_echo(&f, i & 1 ? (i & 2 ? 128 : 129) : (i & 2 ? 8 : 0));
		nat64_there_and_back(&f);
	}
	/* A fragment in the middle of a packet. */
	f = (struct frame){ 0 };
	ip_header(&f, "10.0.0.1", "10.0.0.2", IPPROTO_UDP);
	set16(&f, f.ip + 6, 0x2000 | 185);
	put_any(&f, 80);
	f.proto = 0;
	finish(&f);
	f.bytes[f.ip + 9] = IPPROTO_UDP;
	hop_back(f.bytes + 14);
	nat64_there_and_back(&f);
	program_free(&prog);
}
END_TEST

/* An error quotes a packet of the other protocol, and says the same there. */
START_TEST(nat64_errors)
{
	static const struct {
		uint16_t type_code4, type_code6;
		uint32_t rest4, rest6;
	} rows[] = {
		{ 0x0303, 0x0104, 0, 0 }, { 0x0301, 0x0100, 0, 0 },	  { 0x030a, 0x0101, 0, 0 },
		{ 0x0302, 0x0401, 0, 6 }, { 0x0304, 0x0200, 1400, 1420 }, { 0x0b00, 0x0300, 0, 0 },
		{ 0x0b01, 0x0301, 0, 0 },
	};
	struct frame f, quoted, client;
	const char *wrong;

	nat64_setup();
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(*rows); i++) {
		quoted = i & 1 ? tcp_frame("10.0.0.2", "10.0.0.1", 1000, 53, 1, 2, 16)
			       : udp_frame("10.0.0.2", "10.0.0.1", 1000, 53);
		quoted.bytes[quoted.ip + 4] = quoted.bytes[quoted.ip + 5] = 0;
		set16(&quoted, quoted.ip + 6, 0x4000);
		finish(&quoted);
		f = (struct frame){ 0 };
		ip_header(&f, "10.0.0.1", "10.0.0.2", IPPROTO_ICMP);
		set16(&f, f.ip + 4, 0);
		set16(&f, f.ip + 6, 0x4000);
		put16(&f, rows[i / 2].type_code4);
		put16(&f, 0);
		put32(&f, rows[i / 2].rest4);
		put(&f, quoted.bytes + 14, quoted.length - 14);
		finish(&f);
		run(&f);
		ck_verdict(XDP_TX);
		check_packet(14);
		ck_assert_uint_eq(word(54) >> 16, rows[i / 2].type_code6);
		ck_assert_uint_eq(word(58), rows[i / 2].rest6);
		/* Quoted TCP keeps its checksum. */
		wrong = packet_wrong(out.bytes + 62, out.length - 62);
		ck_assert_msg(!wrong || i & 1, "in the quoted packet: %s", wrong);
		nat64_there_and_back(&f);
	}
	/* One about a client of the pool's. */
	client = udp_frame("2001:db8::9", "64:ff9b::198.51.100.1", 3000, 53);
	run(&client);
	ck_verdict(XDP_TX);
	f = (struct frame){ 0 };
	ip_header(&f, "203.0.113.1", "192.0.2.64", IPPROTO_ICMP);
	put16(&f, 0x0303);
	put16(&f, 0);
	put32(&f, 0);
	put(&f, out.bytes + 14, out.length - 14);
	finish(&f);
	run(&f);
	ck_verdict(XDP_TX);
	check_packet(14);
	wrong = packet_wrong(out.bytes + 62, out.length - 62);
	ck_assert_msg(!wrong, "in the quoted packet: %s", wrong);
	/* It is the client's own, but for the hops that it made. */
	ck_assert(!memcmp(out.bytes + 62 + 8, client.bytes + 14 + 8, client.length - 14 - 8));
	program_free(&prog);
}
END_TEST

/* A client of many gets a port of the pool's, and what comes to it is the client's. */
START_TEST(nat64_bindings)
{
	uint16_t ports[16] = { 0 };
	unsigned refused = 0;

	nat64_setup();
	for (unsigned i = 0; i < 24; i++) {
		struct frame f = udp_frame("2001:db8::9", "64:ff9b::198.51.100.1", (uint16_t)(3000 + i), 53),
			     back;
		uint16_t port;

		run(&f);
		if (out.verdict == XDP_DROP) {
			refused++;
			continue;
		}
		ck_verdict(XDP_TX);
		check_packet(14);
		port = (uint16_t)(out.bytes[34] << 8 | out.bytes[35]);
		ck_assert_uint_ge(port, 20000);
		ck_assert_uint_lt(port, 20016);
		ck_assert_msg(!ports[port - 20000], "port %u is two clients'", port);
		ports[port - 20000] = (uint16_t)(3000 + i);
		/* The same client again: the same port. */
		run(&f);
		ck_assert_uint_eq((unsigned)(out.bytes[34] << 8 | out.bytes[35]), port);
		back = udp_frame("198.51.100.1", "192.0.2.64", 53, port);
		run(&back);
		ck_verdict(XDP_TX);
		check_packet(14);
		ck_assert(!memcmp(out.bytes + 22, f.bytes + 38, 16)); /* from whom it was sent to */
		ck_assert(!memcmp(out.bytes + 38, f.bytes + 22, 16));
		ck_assert_uint_eq((unsigned)(out.bytes[56] << 8 | out.bytes[57]), 3000 + i);
	}
	/* There are 16 ports for 24. */
	ck_assert_uint_ge(refused, 8);
	program_free(&prog);
}
END_TEST

void nat64_cases(TCase *t)
{
	tcase_add_test(t, nat64_round_trip);
	tcase_add_test(t, nat64_errors);
	tcase_add_test(t, nat64_bindings);
}
