// SPDX-License-Identifier: BSD-3-Clause
/*
 * frames INTERFACE | FILE.pcap - sends, or writes, frames that a well-behaved machine does not, or not often.
 *
 * traffic.sh makes what two machines say to each other; this is the rest of what a program in front of a
 * network meets: floods from many addresses, handshakes with SYN cookies (computed here a second time),
 * ICMP errors that quote flows, options and extension headers, tunnels that are not quite right, headers
 * that are cut off or lie. All of it follows from one seed, so that it is the same every time.
 */
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "packets.h"

#define MINUTE 16 /* of the cookies, as the clock of syncookie.conf has it */

static int sock = -1;
static FILE *file; /* instead */
static struct sockaddr_ll to;
static uint64_t sent;

static void die(const char *what)
{
	fprintf(stderr, "frames: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void write_bytes(const uint8_t *bytes, size_t length)
{
	uint32_t head[4] = { 1, (uint32_t)sent, (uint32_t)length, (uint32_t)length };

	if (!fwrite(head, sizeof(head), 1, file) || !fwrite(bytes, length, 1, file))
		die("write");
}

static void send_bytes(const uint8_t *bytes, size_t length)
{
	if (file) {
		write_bytes(bytes, length);
		sent++;
		return;
	}
	while (sendto(sock, bytes, length, 0, (struct sockaddr *)&to, sizeof(to)) < 0) {
		if (errno != ENOBUFS)
			die("sendto");
		usleep(200);
	}
	/* The recorder gets time to empty its ring. */
	if (!(++sent % 64))
		usleep(1000);
}

static void finish_send(struct frame *f)
{
	finish(f);
	send_bytes(f->bytes, f->length);
}

/* -------------------------------------------------------------------- floods */

static void floods(void)
{
	char src[64];

	for (int i = 0; i < 4000; i++) {
		struct frame f = { 0 };
		uint32_t who = any();

		switch (i % 4) {
		case 0: /* connection requests from everywhere */
			snprintf(src, sizeof(src), "198.%u.%u.%u", 18 + (who >> 8 & 3), who >> 16 & 7,
				 who & 255);
			ethernet(&f, ETHERTYPE_IP);
			ipv4(&f, src, "10.7.0.2", IPPROTO_TCP, 0);
			tcp(&f, (uint16_t)(1024 + (who >> 20)), 80, any(), 0, 2);
			break;
		case 1: /* the same by IPv6, from a few networks */
			snprintf(src, sizeof(src), "2001:db8:%x::%x", who >> 8 & 15, who & 255);
			ethernet(&f, ETHERTYPE_IPV6);
			ipv6(&f, src, "fd00:7::2", IPPROTO_TCP);
			tcp(&f, (uint16_t)(1024 + (who >> 20)), 80, any(), 0, 2);
			break;
		case 2: /* UDP from a handful */
			snprintf(src, sizeof(src), "192.0.%u.%u", 2 + (who >> 8 & 1), who & 3);
			ethernet(&f, ETHERTYPE_IP);
			ipv4(&f, src, "10.7.0.2", IPPROTO_UDP, who & 64 ? 8 : 0);
			udp(&f, (uint16_t)who, (uint16_t)(who & 32 ? 53 : 1900));
			put_any(&f, who >> 24 & 127);
			break;
		default: /* segments of no connection */
			snprintf(src, sizeof(src), "100.64.0.%u", who & 15);
			ethernet(&f, ETHERTYPE_IP);
			ipv4(&f, src, "10.7.0.2", IPPROTO_TCP, 0);
			tcp(&f, (uint16_t)who, 443, any(), any(), (uint8_t)(who >> 16));
			break;
		}
		finish_send(&f);
	}
}

/* -------------------------------------------------------------------- cookies */

static void segment(const char *src, const char *dst, uint16_t sport, uint32_t seq, uint32_t ack,
		    uint8_t flags)
{
	struct frame f = { 0 };

	if (strchr(src, ':')) {
		ethernet(&f, ETHERTYPE_IPV6);
		ipv6(&f, src, dst, IPPROTO_TCP);
	} else {
		ethernet(&f, ETHERTYPE_IP);
		ipv4(&f, src, dst, IPPROTO_TCP, 0);
	}
	tcp(&f, sport, 80, seq, ack, flags);
	finish_send(&f);
}

/* Clients that are answered with cookies: every fourth of them gets it wrong. */
static void handshakes(void)
{
	char src[64];

	for (unsigned i = 0; i < 400; i++) {
		const char *dst = i & 1 ? "fd00:7::2" : "10.7.0.2";
		uint16_t sport = (uint16_t)(30000 + i);
		uint32_t isn = any(), c;

		if (i & 1)
			snprintf(src, sizeof(src), "2001:db8:5::%x", i);
		else
			snprintf(src, sizeof(src), "203.0.113.%u", i / 2);
		segment(src, dst, sport, isn, 0, 2);
		/* Two in eight are wrong: too old, and with a bit turned. */
		c = cookie(src, dst, sport, 80, isn, i % 8 == 3 ? MINUTE - 2 : MINUTE - (i & 2) / 2, 7);
		if (i % 8 == 6)
			c ^= 1u << (i % 24);
		segment(src, dst, sport, isn + 1, c + 1, 16);
		segment(src, dst, sport, isn + 77, 0, 2);
		segment(src, dst, sport, isn + 78, any(), 24);
	}
}

/* ----------------------------------------------------------------- ICMP errors */

static void errors(void)
{
	for (unsigned i = 0; i < 400; i++) {
		uint16_t port = (uint16_t)(40000 + i % 50);
		struct frame f = { 0 }, quoted = { 0 };

		/* The flow itself first, now and then, so that it is in tables. */
		if (i % 8 == 0) {
			ethernet(&f, ETHERTYPE_IP);
			ipv4(&f, "10.7.0.77", "10.7.0.2", IPPROTO_UDP, 0);
			udp(&f, port, 53);
			put_any(&f, 20);
			finish_send(&f);
			f = (struct frame){ 0 };
		}
		if (i & 1) {
			ipv6(&quoted, "fd00:7::2", "fd00:7::77", IPPROTO_UDP);
			udp(&quoted, 53, port);
			put_any(&quoted, 100);
			finish(&quoted);
			ethernet(&f, ETHERTYPE_IPV6);
			ipv6(&f, "fd00:7::1", "fd00:7::2", IPPROTO_ICMPV6);
			put8(&f, (uint8_t)(1 + i / 2 % 4)); /* unreachable, too big, time, parameter */
		} else {
			ipv4(&quoted, "10.7.0.2", i % 16 == 2 ? "10.7.0.78" : "10.7.0.77",
			     i % 32 == 4 ? IPPROTO_TCP : IPPROTO_UDP, i % 64 == 6 ? 8 : 0);
			udp(&quoted, 53, port);
			put_any(&quoted, i % 20);
			finish(&quoted);
			ethernet(&f, ETHERTYPE_IP);
			ipv4(&f, "10.7.0.1", "10.7.0.2", IPPROTO_ICMP, 0);
			put8(&f, i % 6 == 0 ? 11 : i % 6 == 2 ? 3 : 12);
		}
		put8(&f, i % 8 == 2 ? 4 : 0);
		put16(&f, 0);
		put32(&f, 1280);
		/* Some quote less than a header. */
		put(&f, quoted.bytes, i % 50 == 49 ? 16 : quoted.length);
		finish_send(&f);
	}
}

/* ------------------------------------------------------- options and extensions */

static void extensions(void)
{
	static const uint8_t types[] = { 0, 60, 43, 135, 44, 60 };

	for (unsigned i = 0; i < 600; i++) {
		unsigned count = i % 8;
		struct frame f = { 0 };
		size_t at;

		ethernet(&f, ETHERTYPE_IPV6);
		ipv6(&f, i & 1 ? "fd00:7::1" : "fd00:77::1", i % 3 ? "fd00:7::2" : "64:ff9b::10.7.0.2",
		     i & 8 ? IPPROTO_UDP : IPPROTO_TCP);
		at = f.ip + 6;
		/* Seven are more than anybody looks past. */
		for (unsigned n = 0; n < count; n++) {
			uint8_t type = types[(n + i) % sizeof(types)];
			size_t next = f.length;

			extension(&f, at, type, type == 44 ? 0 : (uint8_t)(n & 1));
			/* Fragments with an offset, or the first of several. */
			if (type == 44)
				set16(&f, next + 2, (uint16_t)(i & 64 ? 8 * (i & 63) : 1));
			at = next;
		}
		if (i & 8)
			udp(&f, (uint16_t)(5000 + i), 53);
		else
			tcp(&f, (uint16_t)(5000 + i), 80, any(), any(), (uint8_t)(i & 16 ? 2 : 16));
		put_any(&f, i % 40);
		finish_send(&f);
	}
	for (unsigned i = 0; i < 200; i++) {
		struct frame f = { 0 };

		ethernet(&f, ETHERTYPE_IP);
		ipv4(&f, "10.7.0.1", i & 1 ? "10.7.0.2" : "10.7.9.2", i & 2 ? IPPROTO_UDP : IPPROTO_TCP,
		     4 * (i % 11));
		if (i & 2)
			udp(&f, (uint16_t)(6000 + i), 53);
		else
			tcp(&f, (uint16_t)(6000 + i), 80, any(), 0, 2);
		put_any(&f, i % 32);
		finish_send(&f);
	}
}

/* -------------------------------------------------------------------- tunnels */

static void tunnels(void)
{
	for (unsigned i = 0; i < 400; i++) {
		struct frame f = { 0 }, inner = { 0 };
		size_t outer_ip, outer_l4;

		ethernet(&inner, i & 4 ? ETHERTYPE_IPV6 : ETHERTYPE_IP);
		inner.bytes[11] = (uint8_t)(16 + i % 40); /* senders to learn */
		if (i & 4)
			ipv6(&inner, "fd00:42::1", "fd00:42::2", IPPROTO_UDP);
		else
			ipv4(&inner, "10.42.0.1", "10.42.0.2", IPPROTO_UDP, 0);
		udp(&inner, (uint16_t)(7000 + i), 53);
		put_any(&inner, i % 60);
		finish(&inner);
		if (i & 1) {
			ethernet(&f, ETHERTYPE_IPV6);
			ipv6(&f, i & 2 ? "fd00:7::1" : "fd00:7::9", "fd00:7::2", IPPROTO_UDP);
		} else {
			ethernet(&f, ETHERTYPE_IP);
			ipv4(&f, i & 2 ? "10.7.0.1" : "10.7.0.9", "10.7.0.2", IPPROTO_UDP,
			     i % 64 == 2 ? 4 : 0);
		}
		outer_ip = f.ip;
		outer_l4 = f.l4;
		udp(&f, (uint16_t)(0xc000 + i), 4789);
		put32(&f, i % 40 == 5 ? 0 : 0x08000000); /* now and then without a VNI */
		put32(&f, (i % 3 == 0 ? 42 : i % 3 == 1 ? 43 : i % 30 == 2 ? 999 : 107) << 8);
		put(&f, inner.bytes, i % 25 == 7 ? 10 : inner.length);
		f.ip = outer_ip;
		f.l4 = outer_l4;
		finish_send(&f);
	}
}

/* To ports of the translator's pool, some of which clients have by then, and to its fixed hosts. */
static void translations(void)
{
	for (unsigned i = 0; i < 3000; i++) {
		uint16_t port = (uint16_t)(20000 + any() % 4096);
		struct frame f = { 0 };

		ethernet(&f, ETHERTYPE_IP);
		switch (i % 3) {
		case 0:
			ipv4(&f, "10.7.0.2", "10.7.64.1", IPPROTO_UDP, 0);
			udp(&f, 53, port);
			put_any(&f, i % 100);
			break;
		case 1:
			ipv4(&f, "10.7.0.2", "10.7.64.1", IPPROTO_TCP, i % 7 ? 0 : 12);
			tcp(&f, 80, port, any(), any(), 16);
			put_any(&f, i % 100);
			break;
		default:
			ipv4(&f, "10.7.0.2", i & 16 ? "10.7.64.1" : "10.7.9.2", IPPROTO_ICMP, 0);
			put16(&f, i & 32 ? 0 : 0x0800);
			put16(&f, 0);
			put16(&f, port);
			put16(&f, (uint16_t)i);
			put_any(&f, 2 * (i % 40));
			break;
		}
		finish(&f);
		if (i % 30 == 3)
			set16(&f, f.l4 + 6, 0); /* UDP without a checksum */
		if (i % 90 == 4)
			f.bytes[f.ip + 8] = 1; /* the end of its time */
		send_bytes(f.bytes, f.length);
	}
}

/* Clients of the translator: ports without end, of a few machines. */
static void clients(void)
{
	char src[64];

	for (unsigned i = 0; i < 2000; i++) {
		struct frame f = { 0 };

		snprintf(src, sizeof(src), "fd00:6::%x", 1 + i % 9);
		ethernet(&f, ETHERTYPE_IPV6);
		ipv6(&f, src, i % 5 ? "64:ff9b::10.7.0.2" : "64:ff9b::10.7.9.2",
		     i % 3 == 0	  ? IPPROTO_UDP
		     : i % 3 == 1 ? IPPROTO_TCP
				  : IPPROTO_ICMPV6);
		switch (i % 3) {
		case 0:
			udp(&f, (uint16_t)(1000 + i % 300), 53);
			break;
		case 1:
			tcp(&f, (uint16_t)(1000 + i % 300), 80, any(), any(), i & 16 ? 2 : 16);
			break;
		default:
			put16(&f, i & 32 ? 0x8100 : 0x8000);
			put16(&f, 0);
			put16(&f, (uint16_t)(i % 100));
			put16(&f, (uint16_t)i);
			break;
		}
		put_any(&f, i % 77);
		finish(&f);
		if (i % 90 == 4)
			f.bytes[f.ip + 7] = 1;
		send_bytes(f.bytes, f.length);
	}
}

/* ------------------------------------------------------------- broken in places */

/* Sound frames that are cut off anywhere, or have a byte of their headers changed. */
static void broken(void)
{
	for (unsigned i = 0; i < 3000; i++) {
		struct frame f = { 0 };
		size_t at;

		put_mac(&f, 2);
		put_mac(&f, 1);
		for (unsigned n = 0; n < i % 4; n++) {
			put16(&f, n ? 0x8100 : 0x88a8);
			put16(&f, (uint16_t)(7 + n));
		}
		if (i & 16) {
			put16(&f, ETHERTYPE_IPV6);
			ipv6(&f, "fd00:7::1", i & 32 ? "fd00:7::2" : "64:ff9b::10.7.0.2",
			     i & 64 ? IPPROTO_UDP : IPPROTO_TCP);
		} else {
			put16(&f, ETHERTYPE_IP);
			ipv4(&f, "10.7.0.1", "10.7.0.2", i & 64 ? IPPROTO_UDP : IPPROTO_TCP,
			     4 * (i / 64 % 4));
		}
		if (i & 64)
			udp(&f, (uint16_t)any(), i & 128 ? 4789 : 53);
		else
			tcp(&f, (uint16_t)any(), 80, any(), any(), (uint8_t)any());
		put_any(&f, 30);
		finish(&f);
		if (i & 1) {
			f.length = 14 + any() % (f.length - 14);
		} else {
			at = f.ip + any() % (f.length - 30 - f.ip);
			f.bytes[at] = (uint8_t)any();
		}
		send_bytes(f.bytes, f.length);
	}
}

static void open_interface(const char *name)
{
	sock = socket(AF_PACKET, SOCK_RAW, 0);
	if (sock < 0)
		die("socket");
	to.sll_family = AF_PACKET;
	to.sll_ifindex = (int)if_nametoindex(name);
	if (!to.sll_ifindex)
		die(name);
}

/* A capture of Ethernet, times in microseconds. */
static void open_file(const char *path)
{
	const uint32_t head[6] = { 0xa1b2c3d4, 4 << 16 | 2, 0, 0, 65535, 1 };

	file = fopen(path, "wb");
	if (!file || !fwrite(head, sizeof(head), 1, file))
		die(path);
}

int main(int argc, char **argv)
{
	size_t length = argc == 2 ? strlen(argv[1]) : 0;

	if (argc != 2) {
		fprintf(stderr, "usage: frames INTERFACE | FILE.pcap\n");
		return 1;
	}
	if (length > 5 && !strcmp(argv[1] + length - 5, ".pcap"))
		open_file(argv[1]);
	else
		open_interface(argv[1]);
	floods();
	handshakes();
	errors();
	extensions();
	tunnels();
	clients();
	translations();
	broken();
	if (file && fclose(file))
		die(argv[1]);
	printf("%llu frames\n", (unsigned long long)sent);
	return 0;
}
