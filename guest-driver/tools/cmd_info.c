// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpgpu info - what devices there are, what they offer, their limits and counters.
 *
 * One table of facts per record feeds both forms of output, for people and as JSON.
 */
#include <getopt.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <string.h>

#include "gpgpu.h"
#include "tool.h"

#define MAX_DEVICES 64

enum unit { PLAIN, BYTES, NANOSECONDS, MICROSECONDS };

struct fact {
	const char *key, *text;
	enum unit unit;
	uint64_t value;
};

struct bit_name {
	uint32_t bit;
	const char *name;
};

static const struct bit_name map_types[] = {
	{ BPF_MAP_TYPE_HASH, "hash" },
	{ BPF_MAP_TYPE_ARRAY, "array" },
	{ BPF_MAP_TYPE_PROG_ARRAY, "prog_array" },
	{ BPF_MAP_TYPE_PERF_EVENT_ARRAY, "perf_event_array" },
	{ BPF_MAP_TYPE_PERCPU_HASH, "percpu_hash" },
	{ BPF_MAP_TYPE_PERCPU_ARRAY, "percpu_array" },
	{ BPF_MAP_TYPE_LRU_HASH, "lru_hash" },
	{ BPF_MAP_TYPE_LRU_PERCPU_HASH, "lru_percpu_hash" },
	{ BPF_MAP_TYPE_LPM_TRIE, "lpm_trie" },
	{ BPF_MAP_TYPE_ARRAY_OF_MAPS, "array_of_maps" },
	{ BPF_MAP_TYPE_HASH_OF_MAPS, "hash_of_maps" },
	{ BPF_MAP_TYPE_DEVMAP, "devmap" },
	{ BPF_MAP_TYPE_CPUMAP, "cpumap" },
	{ BPF_MAP_TYPE_QUEUE, "queue" },
	{ BPF_MAP_TYPE_STACK, "stack" },
	{ BPF_MAP_TYPE_DEVMAP_HASH, "devmap_hash" },
	{ BPF_MAP_TYPE_RINGBUF, "ringbuf" },
	{ BPF_MAP_TYPE_BLOOM_FILTER, "bloom_filter" },
	{ GPGPU_MAP_TYPE_FIB, "fib" },
};

static const struct bit_name prog_kinds[] = {
	{ GPGPU_PROGRAM_XDP, "xdp" },
	{ GPGPU_PROGRAM_KERNEL, "gpgpu" },
};

static void print_bits(uint32_t bits, const struct bit_name *names, size_t count, bool json)
{
	const char *comma = "";

	for (uint32_t bit = 0; bit < 32; bit++) {
		const char *name = NULL;

		if (!(bits & 1u << bit))
			continue;
		for (size_t i = 0; i < count; i++) {
			if (names[i].bit == bit)
				name = names[i].name;
		}
		if (name)
			printf(json ? "%s\"%s\"" : "%s%s", comma, name);
		else
			printf(json ? "%s\"%u\"" : "%s%u", comma, bit);
		comma = json ? ", " : " ";
	}
}

static void json_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < 0x20)
			printf("\\u%04x", *s);
		else
			putchar(*s);
	}
	putchar('"');
}

static void print_facts(const char *title, const struct fact *facts, size_t count, bool json)
{
	if (json)
		printf(",\n   \"%s\": {", title);
	else
		printf("  %s\n", title);
	for (size_t i = 0; i < count; i++) {
		uint64_t v = facts[i].value;

		if (json) {
			printf("%s\n    \"%s\": %" PRIu64, i ? "," : "", facts[i].key, v);
			continue;
		}
		printf("    %-34s", facts[i].text);
		switch (facts[i].unit) {
		case PLAIN:
			printf("%s\n", grouped(v));
			break;
		case BYTES:
			if (v >= 1024 * 1024)
				printf("%.1f MiB\n", (double)v / (1024 * 1024));
			else
				printf("%s bytes\n", grouped(v));
			break;
		case NANOSECONDS:
			printf("%.3f s\n", (double)v / 1e9);
			break;
		case MICROSECONDS:
			printf("%s us\n", grouped(v));
			break;
		}
	}
	if (json)
		printf("\n   }");
}

static void print_caps(const struct gpgpu_caps *c, bool json)
{
	const struct fact limits[] = {
		{ "memory", "memory for maps and programs", BYTES, c->memory_limit },
		{ "shared", "shared memory for buffers", BYTES, c->shm_size },
		{ "buffer", "one buffer", BYTES, c->max_buffer },
		{ "map", "one map", BYTES, c->max_map },
		{ "contexts", "contexts", PLAIN, c->max_contexts },
		{ "buffers", "buffers", PLAIN, c->max_buffers },
		{ "maps", "maps", PLAIN, c->max_maps },
		{ "programs", "programs", PLAIN, c->max_programs },
		{ "jobs", "jobs in flight", PLAIN, c->max_jobs },
		{ "insns", "instructions of a program", PLAIN, c->max_insns },
		{ "batch", "packets of a batch", PLAIN, c->max_batch },
		{ "stride", "bytes of a packet's slot", PLAIN, c->max_stride },
		{ "group", "work items of a group", PLAIN, c->max_group },
		{ "cpus", "values in a per-CPU map", PLAIN, c->num_cpus },
		{ "fuel", "back edges and calls of an item", PLAIN, c->fuel },
		{ "slice_us", "longest planned slice", MICROSECONDS, c->slice_us },
	};

	print_facts("limits", limits, ARRAY_SIZE(limits), json);
}

static void print_stats(const struct gpgpu_stats *s, bool json)
{
	const struct fact facts[] = {
		{ "device_ns", "device time used", NANOSECONDS, s->device_ns },
		{ "waited_ns", "waited for others", NANOSECONDS, s->waited_ns },
		{ "throttled_ns", "held by the hard cap", NANOSECONDS, s->throttled_ns },
		{ "jobs", "jobs", PLAIN, s->jobs },
		{ "packets", "packets", PLAIN, s->packets },
		{ "bytes", "bytes of packets", PLAIN, s->bytes },
		{ "aborted", "packets ABORTED", PLAIN, s->verdicts[0] },
		{ "drop", "packets DROP", PLAIN, s->verdicts[1] },
		{ "pass", "packets PASS", PLAIN, s->verdicts[2] },
		{ "tx", "packets TX", PLAIN, s->verdicts[3] },
		{ "redirect", "packets REDIRECT", PLAIN, s->verdicts[4] },
		{ "faults", "faults", PLAIN, s->faults },
		{ "memory", "memory now", BYTES, s->memory },
		{ "memory_max", "memory at most", BYTES, s->memory_max },
		{ "memory_limit", "memory limit", BYTES, s->memory_limit },
		{ "weight", "weight", PLAIN, s->weight },
		{ "cap", "hard cap, 1/10000 of the device", PLAIN, s->cap },
	};

	print_facts("counters", facts, ARRAY_SIZE(facts), json);
}

static void print_device(const struct gpgpu_device_info *info, bool json)
{
	struct gpgpu_device *dev = open_device(info->path);
	struct gpgpu_caps caps;
	struct gpgpu_stats stats;

	if (gpgpu_get_caps(dev, &caps) || gpgpu_get_stats(dev, &stats))
		die("%s", gpgpu_error_message());
	if (json) {
		printf("{\n   \"node\": ");
		json_string(info->path);
		printf(",\n   \"driver\": ");
		json_string(info->driver);
		printf(",\n   \"driver_version\": \"%u.%u\"", info->version_major, info->version_minor);
		printf(",\n   \"device\": ");
		json_string(caps.device_name);
		printf(",\n   \"target\": ");
		json_string(caps.target);
		printf(",\n   \"generation\": %u,\n   \"map_types\": [", caps.generation);
		print_bits(caps.map_types, map_types, ARRAY_SIZE(map_types), true);
		printf("],\n   \"program_kinds\": [");
		print_bits(caps.prog_kinds, prog_kinds, ARRAY_SIZE(prog_kinds), true);
		printf("]");
	} else {
		printf("%s\n", info->path);
		printf("  device      %s\n", caps.device_name);
		printf("  target      %s\n", caps.target);
		printf("  driver      %s %u.%u, generation %u\n", info->driver, info->version_major,
		       info->version_minor, caps.generation);
		printf("  programs    ");
		print_bits(caps.prog_kinds, prog_kinds, ARRAY_SIZE(prog_kinds), false);
		printf("\n  maps        ");
		print_bits(caps.map_types, map_types, ARRAY_SIZE(map_types), false);
		printf("\n");
	}
	print_caps(&caps, json);
	print_stats(&stats, json);
	if (json)
		printf("\n  }");
	gpgpu_close(dev);
}

int cmd_info(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "device", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct gpgpu_device_info infos[MAX_DEVICES];
	const char *only = NULL;
	bool json = false, first = true;
	int c, n;

	while ((c = getopt_long(argc, argv, "jd:h", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			json = true;
			break;
		case 'd':
			only = optarg;
			break;
		case 'h':
			printf("usage: gpgpu info [-j|--json] [--device NODE]\n");
			return 0;
		default:
			return 1;
		}
	}
	if (optind < argc)
		die("info: '%s' is too much", argv[optind]);
	if (only)
		gpgpu_close(open_device(only)); /* says what is wrong with it, if anything is */
	n = gpgpu_enumerate(infos, MAX_DEVICES);
	if (n > MAX_DEVICES)
		n = MAX_DEVICES;
	for (int i = 0; i < n; i++) {
		if (only && strcmp(only, infos[i].path))
			continue;
		if (!infos[i].accessible) {
			fprintf(stderr, "gpgpu: %s: permission denied: join the group that owns it\n",
				infos[i].path);
			continue;
		}
		if (json)
			printf(first ? "[\n  " : ",\n  ");
		else if (!first)
			printf("\n");
		print_device(&infos[i], json);
		first = false;
	}
	if (first)
		gpgpu_close(open_device(only)); /* dies, saying why */
	if (json)
		printf(first ? "[]\n" : "\n]\n");
	return first;
}
