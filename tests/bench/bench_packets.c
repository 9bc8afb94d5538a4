/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_packets.c - see bench_packets.h. Structures are those of the example programs. */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include "bench_packets.h"

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

void bench_make_packets(struct bench_packet *packets, int n)
{
	uint32_t state = 1;

	for (int i = 0; i < n; i++)
		make(&packets[i], &state);
}

static void put(struct bpf_object *obj, const char *name, const void *key, const void *value)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, name);

	if (!map || bpf_map_update_elem(bpf_map__fd(map), key, value, 0)) {
		fprintf(stderr, "bench_engine: cannot fill map %s\n", name);
		exit(1);
	}
}

struct rule {
	uint32_t action, id;
};

struct rule_key {
	uint32_t src[4], dst[4];
	uint16_t sport, dport, family;
	uint8_t proto, pad;
};

struct prefix {
	uint32_t length, addr[4];
};

void bench_fill_firewall(struct bpf_object *obj)
{
	const uint32_t settings[2] = { 1, 2 };
	uint32_t id = 8, key = 0;
	struct prefix p;
	struct rule r;

	put(obj, "settings", &key, settings);
	/* Sources that nobody here has, at many lengths, so that the tries have some depth. */
	for (uint32_t i = 0; i < 256; i++) {
		r = (struct rule){ 1, id++ };
		p = (struct prefix){ 16 + i % 17, { htonl(0x0b000000 | i << 16 | i << 8 | i) } };
		put(obj, "source4", &p, &r);
		p = (struct prefix){ 48 + i % 80, { htonl(0xfd000008), htonl(i << 24), htonl(i << 8), i } };
		put(obj, "source6", &p, &r);
	}
	/* A client network that may do anything: one packet in sixteen. */
	r = (struct rule){ 2, id++ };
	p = (struct prefix){ 22, { htonl(0x0a070400) } };
	put(obj, "source4", &p, &r);
	/* Exact rules for other flows, then one per service; what is left meets the rule of its protocol. */
	for (uint32_t i = 0; i < 500; i++) {
		struct rule_key k = { { htonl(0x0a080000 | i) },
				      { htonl(0x0a070002) },
				      htons((uint16_t)i),
				      htons(80),
				      0x800,
				      IPPROTO_TCP,
				      0 };

		r = (struct rule){ 1, id++ };
		put(obj, "rules", &k, &r);
	}
	for (uint32_t i = 0; i + 1 < NUM_PORTS; i++) {
		struct rule_key k = { .dst = { htonl(0x0a070002) },
				      .dport = htons(ports[i]),
				      .family = 0x800,
				      .proto = IPPROTO_TCP };

		r = (struct rule){ 2, id++ };
		put(obj, "rules", &k, &r);
		k.dst[0] = 0;
		k.proto = IPPROTO_UDP;
		r.id = id++;
		put(obj, "rules", &k, &r);
		k.family = 0x86dd;
		r.id = id++;
		put(obj, "rules", &k, &r);
	}
	for (uint32_t i = 0; i < 2; i++) {
		struct rule_key k = { .family = 0x86dd, .proto = i ? IPPROTO_TCP : IPPROTO_UDP };

		r = (struct rule){ 2, id++ };
		put(obj, "rules", &k, &r);
	}
}

struct vip_key {
	uint32_t addr[4];
	uint16_t port, family;
	uint8_t proto, pad[3];
};

struct real {
	uint32_t addr[4], flags;
};

struct next_hop {
	uint8_t dst_mac[6], src_mac[6];
	uint32_t src4, src6[4];
};

enum { RING = 127 };

void bench_fill_lb(struct bpf_object *obj)
{
	struct next_hop hop = {
		{ 2, 0, 0, 0, 0, 254 }, { 2, 0, 0, 0, 0, 1 }, htonl(0xac100000), { htonl(0xfd000016) }
	};
	uint32_t key = 0, number = 0;

	put(obj, "next_hop", &key, &hop);
	for (uint32_t i = 1; i < 200; i++) {
		struct real real = { { htonl(0x0a630000 | i) }, 0 };

		if (i % 3 == 0)
			real = (struct real){ { htonl(0xfd000099), 0, 0, htonl(i) }, 1 };
		put(obj, "reals", &i, &real);
	}
	/* Every port but the last has a service, of its own or that of its address. */
	for (uint32_t i = 0; i < 2 * NUM_PORTS; i++) {
		struct vip_key k = { .addr = { htonl(0x0a070002) },
				     .port = htons(ports[i / 2]),
				     .family = 0x800,
				     .proto = i % 2 ? IPPROTO_TCP : IPPROTO_UDP };
		uint32_t vip[2] = { number, 0 };

		if (i / 2 == NUM_PORTS - 1)
			k.port = 0;
		put(obj, "vips", &k, vip);
		if (i % 2) {
			k.family = 0x86dd;
			memset(k.addr, 0, sizeof(k.addr));
			k.addr[0] = htonl(0xfd000007);
			k.addr[3] = htonl(2);
			put(obj, "vips", &k, vip);
		}
		for (uint32_t j = 0; j < RING; j++) {
			uint32_t place = number * RING + j, real = 1 + (number * 7 + j * 13) % 199;

			put(obj, "rings", &place, &real);
		}
		number++;
	}
}
