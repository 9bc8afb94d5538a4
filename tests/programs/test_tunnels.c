// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_tunnels.c - xdp_vxlan and xdp_katran: what goes into a tunnel comes out of it, and goes where it should.
 */
#include <arpa/inet.h>
#include <check.h>
#include <linux/bpf.h>
#include <net/ethernet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fixture.h"

/* ---------------------------------------------------------------------- VXLAN */

struct vxlan_settings {
	uint32_t local4, local6[4];
	uint8_t dst_mac[6], src_mac[6];
	uint32_t overlay_port, local_port, mtu, flags;
};

struct vxlan_fdb {
	uint32_t vni;
	uint8_t mac[6];
	uint16_t pad;
};

struct vxlan_remote {
	uint32_t addr[4], flags;
};

static void vxlan_setup(const char *remote, uint32_t vlan, uint32_t vni)
{
	struct vxlan_settings s = {
		.dst_mac = { 2, 0, 0, 0, 9, 9 }, .overlay_port = 2, .local_port = 1, .flags = 1
	};
	struct vxlan_fdb key = { .vni = vni, .mac = { 2, 0, 0, 0, 7, 2 } };
	struct vxlan_remote to = { .flags = strchr(remote, ':') != NULL };
	struct {
		uint32_t addr[4], family;
	} local = { .family = to.flags ? ETHERTYPE_IPV6 : ETHERTYPE_IP };
	uint32_t one = 1;

	program_load(&prog, "vxlan");
	inet_pton(AF_INET, "192.0.2.1", &s.local4);
	inet_pton(AF_INET6, "2001:db8::1", s.local6);
	map_set(&prog, "settings", &zero, &s);
	map_set(&prog, "segments", &vlan, &vni);
	map_set(&prog, "vlans", &vni, &vlan);
	address(remote, to.addr);
	map_set(&prog, "fdb", &key, &to);
	address(remote, local.addr);
	map_set(&prog, "locals", &local, &one);
}

/* What goes into the tunnel comes out of it. The remote end is an address of ours. */
static void vxlan_there_and_back(const char *remote, uint16_t vlan, size_t outer)
{
	struct frame f = { 0 }, plain = udp_frame("10.0.0.1", "10.0.0.2", 1000, 2000);
	uint8_t tunneled[MAX_FRAME];
	size_t length;

	vxlan_setup(remote, vlan, 4711);
	put(&f, plain.bytes, 12);
	if (vlan) {
		put16(&f, ETHERTYPE_VLAN);
		put16(&f, vlan);
	}
	put(&f, plain.bytes + 12, plain.length - 12);
	run(&f);
	ck_verdict(XDP_REDIRECT);
	length = out.length;
	/* The tag goes, the rest of the frame is as it was. */
	ck_assert_uint_eq(length, plain.length + outer);
	ck_assert(!memcmp(out.bytes + outer, plain.bytes, plain.length));
	/* UDP of the tunnel has no checksum, so the header's and the lengths are checked. */
	if (outer == 50)
		check_packet(14);
	else
		ck_assert_uint_eq((size_t)(out.bytes[18] << 8 | out.bytes[19]), length - 14 - 40);
	ck_assert_uint_eq((uint32_t)(out.bytes[outer - 4] << 16 | out.bytes[outer - 3] << 8 |
				     out.bytes[outer - 2]),
			  4711);
	memcpy(tunneled, out.bytes, length);
	program_run(&prog, tunneled, length, &out);
	ck_verdict(XDP_REDIRECT);
	ck_assert_uint_eq(out.length, f.length);
	ck_assert(!memcmp(out.bytes, f.bytes, f.length));
	program_free(&prog);
}

START_TEST(vxlan_round_trip)
{
	vxlan_there_and_back("192.0.2.7", 0, 50);
	vxlan_there_and_back("192.0.2.7", 12, 50);
	vxlan_there_and_back("2001:db8::7", 0, 70);
	vxlan_there_and_back("2001:db8::7", 12, 70);
}
END_TEST

/* An answer goes to the end from which its receiver was heard. */
START_TEST(vxlan_learns)
{
	struct frame inner = udp_frame("10.0.0.9", "10.0.0.1", 7, 8), f = { 0 };
	uint32_t sender;
	size_t ip, l4;

	vxlan_setup("192.0.2.7", 0, 5);
	memcpy(inner.bytes + 6, "\x02\x11\x22\x33\x44\x55", 6);
	ip_header(&f, "198.51.100.77", "192.0.2.7", IPPROTO_UDP);
	ip = f.ip;
	l4 = f.l4;
	udp(&f, 50000, 4789);
	put32(&f, 0x08000000);
	put32(&f, 5 << 8);
	put(&f, inner.bytes, inner.length);
	f.ip = ip;
	f.l4 = l4;
	finish(&f);
	run(&f);
	ck_verdict(XDP_REDIRECT);
	inner = udp_frame("10.0.0.1", "10.0.0.9", 8, 7);
	memcpy(inner.bytes, "\x02\x11\x22\x33\x44\x55", 6);
	run(&inner);
	ck_verdict(XDP_REDIRECT);
	inet_pton(AF_INET, "198.51.100.77", &sender);
	ck_assert(!memcmp(out.bytes + 30, &sender, 4));
	/* Another segment knows nothing of it. */
	program_free(&prog);
}
END_TEST

/* --------------------------------------------------------------------- Katran */

struct katran_vip {
	uint32_t addr[4];
	uint16_t port, family;
	uint8_t proto, pad[3];
};

#define RING_SIZE 1021

static void katran_vip(const char *addr, uint16_t port, uint8_t proto, uint32_t number, uint32_t flags)
{
	struct katran_vip key = { .port = htons(port), .proto = proto };
	uint32_t vip[2] = { number, flags };

	key.family = strchr(addr, ':') ? ETHERTYPE_IPV6 : ETHERTYPE_IP;
	address(addr, key.addr);
	map_set(&prog, "vips", &key, vip);
}

static void katran_real(uint32_t number, const char *addr, uint32_t flags)
{
	struct {
		uint32_t addr[4], flags;
	} real = { .flags = flags };

	address(addr, real.addr);
	map_set(&prog, "reals", &number, &real);
}

static void katran_ring(uint32_t ring, uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < RING_SIZE; i++) {
		uint32_t place = ring * RING_SIZE + i, real = first + i % count;

		map_set(&prog, "rings", &place, &real);
	}
}

static void katran_setup(void)
{
	struct {
		uint8_t dst[6], src[6];
		uint32_t src4, src6[4];
	} hop = { { 2, 0, 0, 0, 9, 9 }, { 2, 0, 0, 0, 9, 1 }, 0, { 0 } };

	program_load(&prog, "katran");
	set_clock(SECOND);
	inet_pton(AF_INET, "172.16.0.1", &hop.src4);
	inet_pton(AF_INET6, "fd00:16::", hop.src6);
	map_set(&prog, "next_hop", &zero, &hop);
	katran_real(1, "10.99.0.1", 0);
	katran_real(2, "10.99.0.2", 2);
	katran_real(3, "fd00:99::3", 1);
	katran_real(4, "fd00:99::4", 3);
	katran_vip("10.0.0.80", 80, IPPROTO_TCP, 0, 0);
	katran_vip("10.0.0.80", 0, IPPROTO_UDP, 0, 0);
	katran_vip("10.0.0.80", 0, IPPROTO_ICMP, 0, 0);
	katran_vip("2001:db8::80", 0, IPPROTO_UDP, 1, 2);
	katran_vip("2001:db8::80", 0, IPPROTO_ICMPV6, 1, 0);
	katran_ring(0, 1, 4);
	katran_ring(1, 1, 4);
}

/* Return: the server that the outer header names, with the packet behind it being @f's. */
static int katran_server(const struct frame *f)
{
	bool v6 = out.bytes[12] == 0x86;
	size_t at = v6 ? 54 : 34;
	uint8_t proto = out.bytes[v6 ? 20 : 23];

	ck_verdict(XDP_TX);
	if (!v6)
		check_packet(14);
	if (proto == IPPROTO_UDP)
		at += 8;
	ck_assert_uint_eq(out.length - at, f->length - 14);
	ck_assert(!memcmp(out.bytes + at, f->bytes + 14, f->length - 14));
	ck_assert_uint_eq(proto, proto == IPPROTO_UDP	? IPPROTO_UDP
				 : f->bytes[12] == 0x86 ? IPPROTO_IPV6
							: IPPROTO_IPIP);
	return out.bytes[v6 ? 53 : 33];
}

START_TEST(katran_encapsulates)
{
	unsigned seen = 0;

	katran_setup();
	for (uint16_t port = 1; port < 200; port++) {
		struct frame f = udp_frame("198.51.100.1", "10.0.0.80", port, 53), g;

		run(&f);
		seen |= 1u << katran_server(&f);
		g = udp_frame("2001:db8::1", "2001:db8::80", port, 53);
		run(&g);
		seen |= 16u << katran_server(&g);
	}
	ck_assert_uint_eq(seen, (2 + 4 + 8 + 16) | 16 * (2 + 4 + 8 + 16));
	program_free(&prog);
}
END_TEST

/* The ring changes altogether: flows in the table stay, connection requests and UDP that was silent do not. */
START_TEST(katran_keeps_flows)
{
	struct frame f;
	int server;

	katran_setup();
	for (uint16_t port = 1; port < 50; port++) {
		f = tcp_frame("198.51.100.1", "10.0.0.80", port, 80, 1, 0, 2);
		run(&f);
		server = katran_server(&f);
		katran_real(5, "10.99.0.5", 0);
		katran_ring(0, 5, 1);
		f = tcp_frame("198.51.100.1", "10.0.0.80", port, 80, 1, 1, 16);
		run(&f);
		ck_assert_int_eq(katran_server(&f), server);
		katran_ring(0, 1, 4);
		f = udp_frame("198.51.100.1", "10.0.0.80", port, 53);
		run(&f);
		server = katran_server(&f);
		katran_ring(0, 5, 1);
		run(&f);
		ck_assert_int_eq(katran_server(&f), server);
		set_clock((port * 100ull) * SECOND);
		run(&f);
		ck_assert_int_eq(katran_server(&f), 5);
		katran_ring(0, 1, 4);
		port = (uint16_t)(port + 9);
	}
	program_free(&prog);
}
END_TEST

/* An error about a packet of the service's goes to the server that sent that. */
START_TEST(katran_icmp_errors)
{
	katran_setup();
	for (uint16_t port = 1; port < 100; port++) {
		bool v6 = port & 1;
		const char *client = v6 ? "2001:db8::1" : "198.51.100.1",
			   *vip = v6 ? "2001:db8::80" : "10.0.0.80";
		struct frame f = udp_frame(client, vip, port, 53), answer = udp_frame(vip, client, 53, port),
			     error = { 0 };
		int server;

		run(&f);
		server = katran_server(&f);
		/* From a router on the way, which has nothing to do with either. */
		ip_header(&error, v6 ? "2001:db8:9::1" : "203.0.113.1", vip,
			  v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
		put16(&error, v6 ? 0x0200 : 0x0304);
		put16(&error, 0);
		put32(&error, 1280);
		put(&error, answer.bytes + 14, answer.length - 14);
		finish(&error);
		run(&error);
		ck_assert_int_eq(katran_server(&error), server);
	}
	program_free(&prog);
}
END_TEST

START_TEST(katran_answers_echoes)
{
	katran_setup();
	for (int v6 = 0; v6 < 2; v6++) {
		struct frame f = { 0 };

		ip_header(&f, v6 ? "2001:db8::1" : "198.51.100.1", v6 ? "2001:db8::80" : "10.0.0.80",
			  v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
		put_echo(&f, v6 ? 128 : 8);
		run(&f);
		ck_verdict(XDP_TX);
		check_packet(14);
		ck_assert_uint_eq(out.length, f.length);
		ck_assert_uint_eq(out.bytes[f.l4], v6 ? 129 : 0);
		ck_assert(!memcmp(out.bytes + f.l4 + 4, f.bytes + f.l4 + 4, f.length - f.l4 - 4));
		ck_assert(!memcmp(out.bytes, f.bytes + 6, 6));
	}
	program_free(&prog);
}
END_TEST

void tunnel_cases(TCase *t)
{
	tcase_add_test(t, vxlan_round_trip);
	tcase_add_test(t, vxlan_learns);
	tcase_add_test(t, katran_encapsulates);
	tcase_add_test(t, katran_keeps_flows);
	tcase_add_test(t, katran_icmp_errors);
	tcase_add_test(t, katran_answers_echoes);
}
