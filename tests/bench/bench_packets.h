/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_packets.h - packets for the benchmark of the engine, and what the programs' maps hold. */
#ifndef BENCH_PACKETS_H
#define BENCH_PACKETS_H

#include <stdint.h>
#include <bpf/libbpf.h>

struct bench_packet {
	uint8_t data[1514];
	uint32_t len;
};

/*
 * bench_make_packets() - the same @n packets on every run: TCP and UDP over IPv4 (three of four) and IPv6,
 * now and then with a VLAN tag, to a handful of services, from many clients; 64 to 1,514 bytes.
 */
void bench_make_packets(struct bench_packet *packets, int n);

/* Rules and services that those packets meet; most of them the last one that is asked. */
void bench_fill_firewall(struct bpf_object *obj);
void bench_fill_lb(struct bpf_object *obj);

#endif
