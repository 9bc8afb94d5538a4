// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_programs.c - the XDP examples do what they say.
 *
 * Comparing a device with the kernel shows that both run a program alike, not that the program is any good.
 * That is what is shown here, in this machine's kernel: a packet that was put into a tunnel and taken out
 * is the packet that it was, a translation there and back is none, a cookie that is answered is right, a
 * flow keeps its server. Expected bytes are computed by other code than the programs' (bin/packets.c,
 * run.c).
 */
#include <arpa/inet.h>
#include <check.h>
#include <linux/bpf.h>
#include <net/ethernet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "run.h"

#define SECOND 1000000000ull

struct clock {
	uint64_t now, step;
};

static const uint32_t zero;
static struct program prog;
static struct outcome out;

static void set_clock(uint64_t now)
{
	struct clock c = { now, 0 };

	map_set(&prog, "clock", &zero, &c);
}

static void address(const char *text, void *to)
{
	memset(to, 0, 16);
	ck_assert(inet_pton(strchr(text, ':') ? AF_INET6 : AF_INET, text, to) == 1);
}

static void run(const struct frame *f)
{
	program_run(&prog, f->bytes, f->length, &out);
}

static void ip_header(struct frame *f, const char *src, const char *dst, uint8_t proto)
{
	if (strchr(src, ':')) {
		ethernet(f, ETHERTYPE_IPV6);
		ipv6(f, src, dst, proto);
	} else {
		ethernet(f, ETHERTYPE_IP);
		ipv4(f, src, dst, proto, 0);
	}
}

static struct frame udp_frame(const char *src, const char *dst, uint16_t sport, uint16_t dport)
{
	struct frame f = { 0 };

	ip_header(&f, src, dst, IPPROTO_UDP);
	udp(&f, sport, dport);
	put_any(&f, 33);
	finish(&f);
	return f;
}

static struct frame tcp_frame(const char *src, const char *dst, uint16_t sport, uint16_t dport, uint32_t seq,
			      uint32_t ack, uint8_t flags)
{
	struct frame f = { 0 };

	ip_header(&f, src, dst, IPPROTO_TCP);
	tcp(&f, sport, dport, seq, ack, flags);
	finish(&f);
	return f;
}

static void check_packet(size_t link)
{
	const char *wrong = packet_wrong(out.bytes + link, out.length - link);

	ck_assert_msg(!wrong, "%s", wrong);
}

/* Four bytes of what came out. */
static uint32_t word(size_t at)
{
	return (uint32_t)out.bytes[at] << 24 | (uint32_t)out.bytes[at + 1] << 16 |
	       (uint32_t)out.bytes[at + 2] << 8 | out.bytes[at + 3];
}

#define ck_verdict(v) ck_assert_msg(out.verdict == (v), "verdict %u, not %u", out.verdict, (v))

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

/* ---------------------------------------------------------------------- NAT64 */

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

static void put_echo(struct frame *f, uint8_t type)
{
	put16(f, (uint16_t)(type << 8));
	put16(f, 0);
	put32(f, 0x12340001);
	put_any(f, 21);
	finish(f);
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

int main(void)
{
	const char *why = program_unavailable();
	Suite *s = suite_create("programs");
	TCase *t = tcase_create("expected");
	SRunner *r;
	int failed;

	if (why) {
		printf("skipped: %s; run as root\n", why);
		return 77;
	}
	tcase_set_timeout(t, 60);
	tcase_add_test(t, vxlan_round_trip);
	tcase_add_test(t, vxlan_learns);
	tcase_add_test(t, nat64_round_trip);
	tcase_add_test(t, nat64_errors);
	tcase_add_test(t, nat64_bindings);
	tcase_add_test(t, syncookie_round_trip);
	tcase_add_test(t, katran_encapsulates);
	tcase_add_test(t, katran_keeps_flows);
	tcase_add_test(t, katran_icmp_errors);
	tcase_add_test(t, katran_answers_echoes);
	tcase_add_test(t, ddos_rates);
	tcase_add_test(t, ddos_lists);
	tcase_add_test(t, flows_counted);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
