/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow.c - order=flow: which packets must stay in order, and batches split accordingly.
 *
 * A flow is what addresses, protocol and ports say, behind up to two VLAN tags, over IPv4 or IPv6. Fragments
 * and other protocols go by addresses and protocol; what is not IP, by the Ethernet header. Packets with
 * the same hash go to the same part, and a part is run by one thread in order.
 *
 * The bytes lie in memory that the guest may change meanwhile, so a packet's headers are copied before they are
 * read: what is checked is what is used. A change can only put a packet into another part.
 *
 * Threads: any; touches nothing but its arguments.
 */
#include <string.h>
#include "job.h"

#define ETH_LEN	    14
#define TYPE_IPV4   0x0800
#define TYPE_IPV6   0x86dd
#define TYPE_VLAN   0x8100
#define TYPE_QINQ   0x88a8
#define PROTO_TCP   6
#define PROTO_UDP   17
#define MAX_HEADERS 96 /* Ethernet, two tags, the longest IPv4 header, ports */
#define PROTO_SCTP  132

static uint32_t mix(uint32_t hash, const uint8_t *bytes, uint32_t length)
{
	/* FNV-1a: short keys, and nobody gains by a collision but a slower batch of his own. */
	for (uint32_t i = 0; i < length; i++)
		hash = (hash ^ bytes[i]) * 0x01000193u;
	return hash;
}

static uint32_t finish(uint32_t hash)
{
	hash ^= hash >> 16;
	hash *= 0x85ebca6bu;
	return hash ^ hash >> 13;
}

static uint32_t be16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t mix_ports(uint32_t hash, uint8_t proto, const uint8_t *packet, uint32_t length, uint32_t at)
{
	if (proto != PROTO_TCP && proto != PROTO_UDP && proto != PROTO_SCTP)
		return hash;
	if (at > length || length - at < 4)
		return hash;
	return mix(hash, packet + at, 4);
}

/* @packet does not change. */
static uint32_t hash_headers(const uint8_t *packet, uint32_t length)
{
	uint32_t hash = 0x811c9dc5u, at = ETH_LEN, type;

	if (length < ETH_LEN)
		return finish(mix(hash, packet, length));
	type = be16(packet + 12);
	for (int tags = 0; tags < 2 && (type == TYPE_VLAN || type == TYPE_QINQ); tags++) {
		if (length - at < 4)
			break;
		type = be16(packet + at + 2);
		at += 4;
	}
	if (type == TYPE_IPV4 && length - at >= 20) {
		const uint8_t *ip = packet + at;
		uint32_t header = (ip[0] & 15u) * 4;
		uint8_t proto = ip[9];

		hash = mix(mix(hash, ip + 12, 8), &proto, 1);
		if (!(be16(ip + 6) & 0x3fff))
			hash = mix_ports(hash, proto, packet, length, at + header);
		return finish(hash);
	}
	if (type == TYPE_IPV6 && length - at >= 40) {
		const uint8_t *ip = packet + at;
		uint8_t proto = ip[6];

		hash = mix(mix(hash, ip + 8, 32), &proto, 1);
		return finish(mix_ports(hash, proto, packet, length, at + 40));
	}
	return finish(mix(hash, packet, ETH_LEN));
}

uint32_t gp_flow_hash(const uint8_t *packet, uint32_t length)
{
	uint8_t headers[MAX_HEADERS];

	length = MIN(length, MAX_HEADERS);
	memcpy(headers, packet, length);
	/* Or the compiler might read the packet itself again. */
	__asm__ volatile("" : : "r"(headers) : "memory");
	return hash_headers(headers, length);
}

void gp_flow_split(struct gp_job *job, uint32_t parts)
{
	uint32_t packets = (uint32_t)job->items;
	uint32_t *part_of = g_new(uint32_t, packets);

	job->order = g_new(uint32_t, packets);
	job->parts = g_new0(struct gp_part, parts);
	job->num_parts = parts;
	for (uint32_t i = 0; i < packets; i++) {
		const struct gp_packet_in *in = &job->in[i];
		const uint8_t *packet = job->env.slots + i * job->env.stride + in->data_off;

		part_of[i] = gp_flow_hash(packet, in->data_len) % parts;
		job->parts[part_of[i]].end++;
	}
	/* Counts to places: each part's packets follow those of the part before. */
	for (uint32_t p = 0, start = 0; p < parts; p++) {
		uint32_t count = job->parts[p].end;

		job->parts[p].next = job->parts[p].end = start;
		start += count;
	}
	for (uint32_t i = 0; i < packets; i++)
		job->order[job->parts[part_of[i]].end++] = i;
	g_free(part_of);
}
