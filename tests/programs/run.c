// SPDX-License-Identifier: BSD-3-Clause
/*
 * run.c - see run.h.
 */
#include <check.h>
#include <errno.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "run.h"

#define MAX_CPUS 1024

const char *program_unavailable(void)
{
	static const struct bpf_insn pass[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "pass", "GPL", pass, 2, NULL);
	uint8_t bytes[64] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = bytes, .data_size_in = sizeof(bytes), .repeat = 1);

	libbpf_set_print(NULL);
	if (fd < 0)
		return "this machine does not let us load BPF programs";
	return bpf_prog_test_run_opts(fd, &run) ? "this machine does not run BPF programs on test data"
						: NULL;
}

void program_load(struct program *p, const char *name)
{
	struct bpf_program *prog = NULL;
	char path[512];

	snprintf(path, sizeof(path), "%s/xdp_%s.bpf.o", EXAMPLES, name);
	p->object = bpf_object__open_file(path, NULL);
	ck_assert_msg(p->object != NULL, "%s: %s", path, strerror(errno));
	ck_assert_msg(!bpf_object__load(p->object), "%s: the kernel refuses it", path);
	prog = bpf_object__next_program(p->object, NULL);
	while (prog && bpf_program__type(prog) != BPF_PROG_TYPE_XDP)
		prog = bpf_object__next_program(p->object, prog);
	ck_assert(prog != NULL);
	p->fd = bpf_program__fd(prog);
}

void program_free(struct program *p)
{
	bpf_object__close(p->object);
}

static int map_fd(const struct program *p, const char *map)
{
	int fd = bpf_object__find_map_fd_by_name(p->object, map);

	ck_assert_msg(fd >= 0, "no map '%s'", map);
	return fd;
}

void map_set(const struct program *p, const char *map, const void *key, const void *value)
{
	ck_assert_msg(!bpf_map_update_elem(map_fd(p, map), key, value, BPF_ANY), "%s: %s", map,
		      strerror(errno));
}

bool map_get(const struct program *p, const char *map, const void *key, void *value)
{
	return !bpf_map_lookup_elem(map_fd(p, map), key, value);
}

void map_remove(const struct program *p, const char *map, const void *key)
{
	ck_assert(!bpf_map_delete_elem(map_fd(p, map), key));
}

uint64_t map_count(const struct program *p, const char *map, uint32_t index)
{
	static struct {
		uint64_t packets, bytes;
	} values[MAX_CPUS];
	struct bpf_map *m = bpf_object__find_map_by_name(p->object, map);
	int cpus = libbpf_num_possible_cpus();
	uint64_t sum = 0;

	ck_assert(m != NULL && cpus > 0 && cpus <= MAX_CPUS);
	if (bpf_map__type(m) != BPF_MAP_TYPE_PERCPU_ARRAY)
		cpus = 1;
	ck_assert(map_get(p, map, &index, values));
	for (int i = 0; i < cpus; i++)
		sum += values[i].packets;
	return sum;
}

void program_run(const struct program *p, const void *bytes, size_t length, struct outcome *out)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = bytes, .data_size_in = (uint32_t)length,
		    .data_out = out->bytes, .data_size_out = sizeof(out->bytes), .repeat = 1);

	ck_assert_msg(!bpf_prog_test_run_opts(p->fd, &run), "BPF_PROG_TEST_RUN: %s", strerror(errno));
	out->verdict = run.retval;
	out->length = run.data_size_out;
}

/* ------------------------------------------------------------------- checking */

static uint32_t sum16(const uint8_t *p, size_t size, uint32_t sum)
{
	for (size_t i = 0; i < size; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static const char *transport_wrong(const uint8_t *p, size_t size, uint8_t proto, const uint8_t *addresses,
				   size_t addresses_size)
{
	uint32_t pseudo = sum16(addresses, addresses_size, 0) + proto + (uint32_t)size;

	switch (proto) {
	case IPPROTO_TCP:
		return size < 20			  ? "TCP is cut off"
		       : sum16(p, size, pseudo) != 0xffff ? "TCP's checksum"
							  : NULL;
	case IPPROTO_UDP:
		if (size < 8 || (size_t)(p[4] << 8 | p[5]) != size)
			return "UDP's length";
		if (!p[6] && !p[7])
			return addresses_size == 8 ? NULL : "UDP has no checksum";
		return sum16(p, size, pseudo) != 0xffff ? "UDP's checksum" : NULL;
	case IPPROTO_ICMP:
		return size < 8 ? "ICMP is cut off" : sum16(p, size, 0) != 0xffff ? "ICMP's checksum" : NULL;
	case IPPROTO_ICMPV6:
		return size < 8				  ? "ICMPv6 is cut off"
		       : sum16(p, size, pseudo) != 0xffff ? "ICMPv6's checksum"
							  : NULL;
	default:
		return NULL;
	}
}

const char *packet_wrong(const uint8_t *ip, size_t size)
{
	size_t header, total;

	if (size < 20)
		return "there is no IP header";
	if (ip[0] >> 4 == 4) {
		header = (size_t)(ip[0] & 15) * 4;
		total = (size_t)(ip[2] << 8 | ip[3]);
		if (header < 20 || total < header || total > size)
			return "IPv4's lengths";
		if (sum16(ip, header, 0) != 0xffff)
			return "IPv4's checksum";
		if ((ip[6] & 0x3f) || ip[7])
			return NULL;
		return transport_wrong(ip + header, total - header, ip[9], ip + 12, 8);
	}
	if (ip[0] >> 4 != 6 || size < 40)
		return "there is no IP header";
	total = 40u + (size_t)(ip[4] << 8 | ip[5]);
	if (total > size)
		return "IPv6's length";
	return transport_wrong(ip + 40, total - 40, ip[6], ip + 8, 32);
}
