/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_packets.c - the frames that are measured; see bench_engine.h. */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench_engine.h"
#include "capture.h"

static const uint16_t ports[] = { 80, 443, 53, 5201, 9999 };

enum { NUM_PORTS = 5 };

/* A generator of its own, so that packets do not depend on the C library. */
static uint32_t draw(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static void make(struct bench_packet *p, uint32_t *state)
{
	uint16_t port = htons(ports[draw(state) % NUM_PORTS]), client = htons((uint16_t)(draw(state) | 1024));
	uint8_t proto = draw(state) % 3 ? IPPROTO_TCP : IPPROTO_UDP, *at = p->data;
	struct ethhdr *eth = (void *)at;
	struct udphdr *l4;

	memset(p, 0, sizeof(*p));
	p->len = draw(state) % 2 ? 64 + draw(state) % 64 : 64 + draw(state) % 1450;
	memcpy(eth->h_dest, "\x02\0\0\0\0\x01", 6);
	memcpy(eth->h_source, "\x02\0\0\0\0\x02", 6);
	at += sizeof(*eth);
	if (draw(state) % 16 == 0) {
		eth->h_proto = htons(ETH_P_8021Q);
		memcpy(at, "\0\x05\x08\0", 4);
		at += 4;
	} else if (draw(state) % 4 == 0) {
		struct ipv6hdr *ip = (void *)at;

		eth->h_proto = htons(ETH_P_IPV6);
		ip->version = 6;
		ip->nexthdr = proto;
		ip->hop_limit = 64;
		ip->payload_len = htons((uint16_t)(p->len - sizeof(*eth) - sizeof(*ip)));
		inet_pton(AF_INET6, "fd00:7::2", &ip->daddr);
		inet_pton(AF_INET6, "fd00:7::", &ip->saddr);
		ip->saddr.s6_addr32[3] = htonl(draw(state));
		at += sizeof(*ip);
	} else {
		eth->h_proto = htons(ETH_P_IP);
	}
	if (eth->h_proto != htons(ETH_P_IPV6)) {
		struct iphdr *ip = (void *)at;

		ip->version = 4;
		ip->ihl = 5;
		ip->ttl = 64;
		ip->protocol = proto;
		ip->tot_len = htons((uint16_t)(p->len - (at - p->data)));
		ip->saddr = htonl(0x0a070000 | (draw(state) & 0x3fff));
		ip->daddr = htonl(0x0a070002);
		at += sizeof(*ip);
	}
	l4 = (void *)at;
	l4->source = client;
	l4->dest = port;
}

static uint32_t read_capture(struct bench_packet *packets, uint32_t count, const char *path)
{
	struct capture c;
	struct frame frame;
	uint64_t total, at = 0;
	uint32_t n = 0;

	capture_open(&c, path);
	while (capture_next(&c, &frame))
		;
	total = c.frames;
	capture_close(&c);
	capture_open(&c, path);
	while (n < count && capture_next(&c, &frame)) {
		if (at++ < total * n / count || frame.captured != frame.length || frame.captured < ETH_HLEN ||
		    frame.captured > MAX_FRAME_BYTES)
			continue;
		memset(&packets[n], 0, sizeof(packets[n]));
		packets[n].len = frame.captured;
		memcpy(packets[n++].data, frame.bytes, frame.captured);
	}
	capture_close(&c);
	return n;
}

void bench_sample(struct bench_packet *packets, uint32_t count, const char *path, int whole)
{
	uint32_t state = 1, n = path ? read_capture(packets, whole ? count : count / 2, path) : 0;

	for (; n < count; n++)
		make(&packets[n], &state);
	/* As Ethernet pads: behind what the IP header counts. */
	for (n = 0; n < count; n++)
		if (packets[n].len < LEAST_FRAME_BYTES)
			packets[n].len = LEAST_FRAME_BYTES;
}
