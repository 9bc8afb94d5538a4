// SPDX-License-Identifier: BSD-3-Clause
/*
 * packets.c - see packets.h. SipHash is here a second time, after its paper, so that xdp_syncookie's is
 * checked.
 */
#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "packets.h"

static uint32_t state = 0x2545f491;

uint32_t any(void)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

/* ------------------------------------------------------------ putting together */

void put(struct frame *f, const void *bytes, size_t size)
{
	if (size > sizeof(f->bytes) - f->length) {
		fprintf(stderr, "packets: a frame of over %d bytes\n", MAX_FRAME);
		abort();
	}
	memcpy(f->bytes + f->length, bytes, size);
	f->length += size;
}

void put8(struct frame *f, uint8_t v)
{
	put(f, &v, 1);
}

void put16(struct frame *f, uint16_t v)
{
	v = htons(v);
	put(f, &v, 2);
}

void put32(struct frame *f, uint32_t v)
{
	v = htonl(v);
	put(f, &v, 4);
}

void put_any(struct frame *f, size_t size)
{
	for (size_t i = 0; i < size; i++)
		put8(f, (uint8_t)any());
}

void put_mac(struct frame *f, uint8_t last)
{
	const uint8_t mac[6] = { 2, 0, 0, 0, 7, last };

	put(f, mac, sizeof(mac));
}

/* From the left-hand machine to the right-hand one. */
void ethernet(struct frame *f, uint16_t proto)
{
	put_mac(f, 2);
	put_mac(f, 1);
	put16(f, proto);
}

void set16(struct frame *f, size_t at, uint16_t v)
{
	v = htons(v);
	memcpy(f->bytes + at, &v, 2);
}

static uint32_t sum16(const uint8_t *p, size_t size, uint32_t sum)
{
	for (size_t i = 0; i + 1 < size; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	return size & 1 ? sum + ((uint32_t)p[size - 1] << 8) : sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Options are no-operations and an end. */
void ipv4(struct frame *f, const char *src, const char *dst, uint8_t proto, size_t options)
{
	struct in_addr a;

	f->ip = f->length;
	f->proto = proto;
	put8(f, (uint8_t)(0x40 | (5 + options / 4)));
	put8(f, 0);
	put16(f, 0); /* length */
	put16(f, (uint16_t)any());
	put16(f, 0);
	put8(f, 64);
	put8(f, proto);
	put16(f, 0); /* checksum */
	inet_pton(AF_INET, src, &a);
	put(f, &a, 4);
	inet_pton(AF_INET, dst, &a);
	put(f, &a, 4);
	for (size_t i = 0; i < options; i++)
		put8(f, i + 1 < options);
	f->l4 = f->length;
}

void ipv6(struct frame *f, const char *src, const char *dst, uint8_t proto)
{
	struct in6_addr a;

	f->ip = f->length;
	f->proto = proto;
	put32(f, 0x60000000 | (any() & 0xfffff));
	put16(f, 0); /* length */
	put8(f, proto);
	put8(f, 64);
	inet_pton(AF_INET6, src, &a);
	put(f, &a, 16);
	inet_pton(AF_INET6, dst, &a);
	put(f, &a, 16);
	f->l4 = f->length;
}

/* An extension header of 8 * (@more + 1) bytes behind IPv6's header or another. */
void extension(struct frame *f, size_t next_at, uint8_t type, uint8_t more)
{
	uint8_t next = f->bytes[next_at];

	f->bytes[next_at] = type;
	put8(f, next);
	put8(f, more);
	for (int i = 0; i < 8 * (more + 1) - 2; i++)
		put8(f, 0);
	f->l4 = f->length;
}

void udp(struct frame *f, uint16_t sport, uint16_t dport)
{
	put16(f, sport);
	put16(f, dport);
	put16(f, 0); /* length */
	put16(f, 0); /* checksum */
}

void tcp(struct frame *f, uint16_t sport, uint16_t dport, uint32_t seq, uint32_t ack, uint8_t flags)
{
	bool syn = flags & 2;

	put16(f, sport);
	put16(f, dport);
	put32(f, seq);
	put32(f, ack);
	put8(f, syn ? 0x70 : 0x50);
	put8(f, flags);
	put16(f, 64240);
	put32(f, 0); /* checksum, urgent */
	if (syn) {
		put8(f, 1);
		put8(f, 1);
		put32(f, 0x020405b4); /* segments of 1460 bytes */
		put16(f, 0x0000);
	}
}

/* Fills in lengths and checksums of the IP header that was put last and of what is behind it. */
void finish(struct frame *f)
{
	bool v4 = f->bytes[f->ip] >> 4 == 4;
	size_t length = f->length - f->l4, header = f->l4 - f->ip, check = 0;
	uint32_t sum = 0;

	if (v4) {
		set16(f, f->ip + 2, (uint16_t)(header + length));
		set16(f, f->ip + 10, 0);
		set16(f, f->ip + 10, fold(sum16(f->bytes + f->ip, header, 0)));
	} else {
		set16(f, f->ip + 4, (uint16_t)(header - 40 + length));
	}
	switch (f->proto) {
	case IPPROTO_TCP:
		check = 16;
		break;
	case IPPROTO_UDP:
		check = 6;
		set16(f, f->l4 + 4, (uint16_t)length);
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		check = 2;
		break;
	default:
		return;
	}
	if (f->proto != IPPROTO_ICMP)
		sum = sum16(f->bytes + f->ip + (v4 ? 12 : 8), v4 ? 8 : 32, f->proto + (uint32_t)length);
	set16(f, f->l4 + check, 0);
	set16(f, f->l4 + check, fold(sum16(f->bytes + f->l4, length, sum)));
}

/* -------------------------------------------------------------------- cookies */

/* SipHash-2-4 after its paper, of bytes. */
static uint64_t load64(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 7; i >= 0; i--)
		v = v << 8 | p[i];
	return v;
}

static uint64_t rotl(uint64_t v, int n)
{
	return v << n | v >> (64 - n);
}

static void sip_rounds(uint64_t v[4], int count)
{
	while (count--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotl(v[1], 13) ^ v[0];
		v[3] = rotl(v[3], 16) ^ v[2];
		v[0] = rotl(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotl(v[1], 17) ^ v[2];
		v[3] = rotl(v[3], 21) ^ v[0];
		v[2] = rotl(v[2], 32);
	}
}

static uint64_t siphash(const uint8_t key[16], const uint8_t *in, size_t size)
{
	uint64_t k0 = load64(key), k1 = load64(key + 8), m;
	uint64_t v[4] = { k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
			  k1 ^ 0x7465646279746573 };
	uint8_t last[8] = { 0 };

	for (size_t at = 0; at + 8 <= size; at += 8) {
		m = load64(in + at);
		v[3] ^= m;
		sip_rounds(v, 2);
		v[0] ^= m;
	}
	memcpy(last, in + (size & ~7ull), size & 7);
	last[7] = (uint8_t)size;
	m = load64(last);
	v[3] ^= m;
	sip_rounds(v, 2);
	v[0] ^= m;
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint32_t cookie(const char *src, const char *dst, uint16_t sport, uint16_t dport, uint32_t isn,
		uint8_t minute, uint8_t mss)
{
	int family = strchr(src, ':') ? AF_INET6 : AF_INET;
	uint8_t key[16], in[48] = { 0 }, top = (uint8_t)((minute & 31) << 3 | mss);

	for (uint8_t i = 0; i < 16; i++)
		key[i] = i; /* as syncookie.conf */
	inet_pton(family, src, in);
	inet_pton(family, dst, in + 16);
	in[32] = (uint8_t)(sport >> 8);
	in[33] = (uint8_t)sport;
	in[34] = (uint8_t)(dport >> 8);
	in[35] = (uint8_t)dport;
	memcpy(in + 36, &isn, 4); /* in the machine's order */
	in[40] = top;
	return (uint32_t)top << 24 | (uint32_t)(siphash(key, in, sizeof(in)) & 0xffffff);
}
