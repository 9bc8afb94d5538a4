/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rewrite.h - what the XDP examples that change packets share: checksums, outer headers, counters, a clock.
 *
 * Headers are made on the stack and copied to the packet in one piece, after the one bounds check that the
 * kernel's verifier wants for it.
 */
#ifndef EXAMPLES_REWRITE_H
#define EXAMPLES_REWRITE_H

#include "packet.h"

#define OUTER_TTL 64

struct count {
	__u64 packets, bytes;
};

/*
 * The time that a program goes by is an element of a map, so that results can be had again: user space sets it.
 * A step that is not 0 moves it with each packet that asks, which depends on the order of packets.
 */
struct clock {
	__u64 now; /* ns */
	__u64 step; /* ns */
};

static __always_inline __u64 clock_now(void *map)
{
	__u32 zero = 0;
	struct clock *c = bpf_map_lookup_elem(map, &zero);

	if (!c)
		return 0;
	return c->step ? __sync_fetch_and_add(&c->now, c->step) : c->now;
}

/* For maps that all packets share. */
static __always_inline void count(void *map, __u32 index, __u64 bytes)
{
	struct count *c = bpf_map_lookup_elem(map, &index);

	if (!c)
		return;
	__sync_fetch_and_add(&c->packets, 1);
	__sync_fetch_and_add(&c->bytes, bytes);
}

/* For per-CPU maps: nobody else writes there. */
static __always_inline void count_cpu(void *map, __u32 index, __u64 bytes)
{
	struct count *c = bpf_map_lookup_elem(map, &index);

	if (!c)
		return;
	c->packets += 1;
	c->bytes += bytes;
}

/* A sum of 16-bit words in network order, as bpf_csum_diff() makes it, to the 16 bits of a header. */
static __always_inline __u16 checksum_fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* Of a header on the stack; its own field is 0 meanwhile. */
static __always_inline __u16 checksum(const void *data, __u32 size)
{
	return checksum_fold(bpf_csum_diff(0, 0, (__be32 *)data, size, 0));
}

static __always_inline __u32 rotate32(__u32 x, int bits)
{
	return x << bits | x >> (32 - bits);
}

/* A hash of words: multiply, rotate, and a finish that lets every bit reach all others (after MurmurHash3). */
static __always_inline __u32 hash_word(__u32 hash, __u32 word)
{
	word *= 0xcc9e2d51;
	word = rotate32(word, 15) * 0x1b873593;
	return rotate32(hash ^ word, 13) * 5 + 0xe6546b64;
}

static __always_inline __u32 hash_finish(__u32 hash)
{
	hash = (hash ^ hash >> 16) * 0x85ebca6b;
	hash = (hash ^ hash >> 13) * 0xc2b2ae35;
	return hash ^ hash >> 16;
}

/*
 * Copies a header between the stack or a map and a packet. Frames begin at even addresses and headers are of even
 * length, which the compiler does not know and would copy byte by byte.
 */
#define copy_header(to, from, size) \
	__builtin_memcpy(__builtin_assume_aligned(to, 2), __builtin_assume_aligned(from, 2), size)

static __always_inline void outer_ethernet(struct ethhdr *eth, const __u8 dst[ETH_ALEN],
					   const __u8 src[ETH_ALEN], __u16 proto)
{
	__builtin_memcpy(eth->h_dest, dst, ETH_ALEN);
	__builtin_memcpy(eth->h_source, src, ETH_ALEN);
	eth->h_proto = bpf_htons(proto);
}

/* @payload: bytes behind the header. */
static __always_inline void outer_ipv4(struct iphdr *ip, __u8 proto, __u16 payload, __be32 src, __be32 dst)
{
	*ip = (struct iphdr){
		.version = 4,
		.ihl = 5,
		.ttl = OUTER_TTL,
		.protocol = proto,
		.tot_len = bpf_htons(payload + sizeof(*ip)),
		.frag_off = bpf_htons(0x4000), /* don't fragment */
		.saddr = src,
		.daddr = dst,
	};
	ip->check = checksum(ip, sizeof(*ip));
}

static __always_inline void outer_ipv6(struct ipv6hdr *ip, __u8 proto, __u16 payload, const __be32 src[4],
				       const __be32 dst[4])
{
	*ip = (struct ipv6hdr){
		.version = 6,
		.payload_len = bpf_htons(payload),
		.nexthdr = proto,
		.hop_limit = OUTER_TTL,
	};
	__builtin_memcpy(&ip->saddr, src, sizeof(ip->saddr));
	__builtin_memcpy(&ip->daddr, dst, sizeof(ip->daddr));
}

/* Without a checksum, which tunnels may leave out over IPv6 as well (RFC 6935). */
static __always_inline void outer_udp(struct udphdr *udp, __u16 sport, __u16 dport, __u16 payload)
{
	*udp = (struct udphdr){
		.source = bpf_htons(sport),
		.dest = bpf_htons(dport),
		.len = bpf_htons(payload + sizeof(*udp)),
	};
}

#endif
