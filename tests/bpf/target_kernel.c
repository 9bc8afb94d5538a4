// SPDX-License-Identifier: BSD-3-Clause
/*
 * target_kernel.c - runs on the kernel's own BPF, by BPF_PROG_TEST_RUN, where this machine lets us.
 *
 * XDP programs only. What the kernel does not tell (how far the packet's start moved, the port of a redirect)
 * is marked unknown in the outcome.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "kernel_btf.h"
#include "target.h"

#define LOG_BYTES (1u << 20)

static uint32_t possible_cpus;
static char log_text[LOG_BYTES];

static int bpf(int cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static uint64_t ptr(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static int load(const struct bpf_insn *insns, uint32_t num)
{
	static struct kernel_funcs funcs;
	union bpf_attr attr = { 0 };
	int btf = -1, fd;

	attr.prog_type = BPF_PROG_TYPE_XDP;
	attr.insns = ptr(insns);
	attr.insn_cnt = num;
	attr.license = ptr("GPL");
	if (kernel_needs_btf(insns, num)) {
		btf = kernel_load_btf(insns, num, &funcs);
		attr.prog_btf_fd = (uint32_t)btf;
		attr.func_info_rec_size = sizeof(funcs.info[0]);
		attr.func_info = ptr(funcs.info);
		attr.func_info_cnt = funcs.num;
	}
	fd = bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0 && errno != EPERM) {
		/* Again, for the reason. */
		attr.log_buf = ptr(log_text);
		attr.log_size = LOG_BYTES;
		attr.log_level = 1;
		log_text[0] = 0;
		fd = bpf(BPF_PROG_LOAD, &attr);
	}
	if (btf >= 0)
		close(btf);
	return fd;
}

static uint32_t count_cpus(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/possible", "r");
	unsigned int first = 0, last = 0;
	int n = file ? fscanf(file, "%u-%u", &first, &last) : 0;

	if (file)
		fclose(file);
	return n == 2 ? last + 1 : 1;
}

static const char *kernel_open(void)
{
	static const struct bpf_insn pass[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = { 0 };
	uint8_t packet[64] = { 0 };
	cpu_set_t cpus;
	int fd = load(pass, 2), rc;

	if (fd < 0)
		return "this machine does not let us load BPF programs";
	attr.test.prog_fd = (uint32_t)fd;
	attr.test.data_in = ptr(packet);
	attr.test.data_size_in = sizeof(packet);
	rc = bpf(BPF_PROG_TEST_RUN, &attr);
	close(fd);
	if (rc < 0)
		return "this machine does not let us run BPF programs";
	CPU_ZERO(&cpus);
	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0 || !CPU_ISSET(RUN_CPU, &cpus))
		return "the CPU cannot be chosen";
	possible_cpus = count_cpus();
	return NULL;
}

static void kernel_close(void)
{
}

/* ------------------------------------------------------------------ maps */
static uint32_t padded(uint32_t size)
{
	return (size + 7) & ~7u;
}

static uint32_t copies_of(const struct run_map *map)
{
	return run_map_percpu(map->type) ? possible_cpus : 1;
}

static int create(const struct run_map *from, const int *fds)
{
	union bpf_attr attr = { 0 };

	attr.map_type = from->type;
	attr.key_size = from->key_size;
	attr.value_size = from->value_size;
	attr.max_entries = from->max_entries;
	attr.map_flags = (from->type == VIRTIO_GPGPU_MAP_LPM_TRIE ? BPF_F_NO_PREALLOC : 0) |
			 (from->rdonly ? BPF_F_RDONLY_PROG : 0);
	if (run_map_of_maps(from->type))
		attr.inner_map_fd = (uint32_t)fds[from->inner];
	return bpf(BPF_MAP_CREATE, &attr);
}

/* Return: a descriptor, or -1. @fds: of the maps in front of this. */
static int make_map(const struct run_map *from, const int *fds)
{
	uint32_t record = from->key_size + from->value_size;
	uint8_t *values = calloc(copies_of(from), padded(from->value_size) + 8);
	union bpf_attr attr = { 0 };
	int fd = create(from, fds);

	for (uint32_t i = 0; fd >= 0 && i < from->num_init && from->type != VIRTIO_GPGPU_MAP_PROG_ARRAY;
	     i++) {
		const uint8_t *at = from->init + (size_t)i * record;
		uint32_t index;

		for (uint32_t cpu = 0; cpu < copies_of(from); cpu++)
			memcpy(values + (size_t)cpu * padded(from->value_size), at + from->key_size,
			       from->value_size);
		if (run_map_of_maps(from->type)) {
			memcpy(&index, values, 4);
			memcpy(values, &fds[index], 4);
		}
		memset(&attr, 0, sizeof(attr));
		attr.map_fd = (uint32_t)fd;
		attr.key = from->key_size ? ptr(at) : 0;
		attr.value = ptr(values);
		if (bpf(BPF_MAP_UPDATE_ELEM, &attr) < 0) {
			close(fd);
			fd = -1;
		}
	}
	free(values);
	if (fd >= 0 && from->rdonly) {
		memset(&attr, 0, sizeof(attr));
		attr.map_fd = (uint32_t)fd;
		if (bpf(BPF_MAP_FREEZE, &attr) < 0) {
			close(fd);
			fd = -1;
		}
	}
	return fd;
}

static void add_walked(struct outcome *outcome, const struct run_map *from, int fd)
{
	bool keyed = run_map_form(from->type) == RUN_MAP_KEYED, percpu = run_map_percpu(from->type);
	uint8_t *values = calloc(copies_of(from), padded(from->value_size)), key[512], next[512];
	size_t start = outcome->num_bytes;
	union bpf_attr attr = { 0 };

	attr.map_fd = (uint32_t)fd;
	attr.key = 0;
	attr.next_key = ptr(next);
	while (bpf(BPF_MAP_GET_NEXT_KEY, &attr) == 0) {
		memcpy(key, next, from->key_size);
		memset(&attr, 0, sizeof(attr));
		attr.map_fd = (uint32_t)fd;
		attr.key = ptr(key);
		attr.value = ptr(values);
		if (bpf(BPF_MAP_LOOKUP_ELEM, &attr) == 0) {
			if (keyed)
				outcome_add_key(outcome, from, key);
			outcome_add(outcome, values + (percpu ? RUN_CPU * padded(from->value_size) : 0),
				    from->value_size);
		}
		attr.next_key = ptr(next);
	}
	if (keyed)
		outcome_sort(outcome, start, from->key_size + from->value_size);
	free(values);
}

static void add_popped(struct outcome *outcome, const struct run_map *from, int fd)
{
	uint8_t *value = calloc(1, from->value_size);
	union bpf_attr attr = { 0 };

	attr.map_fd = (uint32_t)fd;
	attr.value = ptr(value);
	while (bpf(BPF_MAP_LOOKUP_AND_DELETE_ELEM, &attr) == 0)
		outcome_add(outcome, value, from->value_size);
	free(value);
}

/* The layout of a ring buffer is the kernel's interface: a page to write, a page to read, the data twice. */
static void add_ring(struct outcome *outcome, const struct run_map *from, int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = from->max_entries;
	uint64_t *consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), at, end;
	uint8_t *producer = mmap(NULL, page + 2 * size, PROT_READ, MAP_SHARED, fd, (off_t)page);

	if (consumer == MAP_FAILED || producer == MAP_FAILED) {
		outcome->no_records = true;
		return;
	}
	at = *consumer;
	memcpy(&end, producer, 8);
	while (at < end) {
		const uint8_t *record = producer + page + (at & (size - 1));
		uint32_t len;

		memcpy(&len, record, 4);
		if (!(len & (BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT)))
			outcome_add_record(outcome, record + BPF_RINGBUF_HDR_SZ, len);
		at += padded((len & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT)) + BPF_RINGBUF_HDR_SZ);
	}
	munmap(consumer, page);
	munmap(producer, page + 2 * size);
}

static void add_map(struct outcome *outcome, const struct run_map *from, int fd)
{
	switch (run_map_form(from->type)) {
	case RUN_MAP_VALUES:
	case RUN_MAP_KEYED:
		add_walked(outcome, from, fd);
		return;
	case RUN_MAP_POPPED:
		add_popped(outcome, from, fd);
		return;
	case RUN_MAP_RECORDS:
		if (from->type == VIRTIO_GPGPU_MAP_RINGBUF)
			add_ring(outcome, from, fd);
		else
			outcome->no_records = true;
		return;
	case RUN_MAP_NONE:
		return;
	}
}

/* ------------------------------------------------------------------ one run */
static void refuse(struct outcome *outcome, const char *why)
{
	size_t len = strlen(log_text), from;

	/* The last lines of the verifier's log say it. */
	from = len > 300 ? len - 300 : 0;
	outcome->refused = true;
	snprintf(outcome->message, sizeof(outcome->message), "%s: %s", why, log_text + from);
}

static int load_with_maps(const struct run *run, const struct bpf_insn *from, uint32_t num, const int *fds)
{
	struct bpf_insn *insns = malloc(num * sizeof(*insns));
	int fd;

	memcpy(insns, from, num * sizeof(*insns));
	for (uint32_t i = 0; i < num; i++) {
		if (insns[i].code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		if ((insns[i].src_reg == BPF_PSEUDO_MAP_FD || insns[i].src_reg == BPF_PSEUDO_MAP_VALUE) &&
		    (uint32_t)insns[i].imm < run->num_maps)
			insns[i].imm = fds[insns[i].imm];
		i++;
	}
	fd = load(insns, num);
	free(insns);
	return fd;
}

/* Puts the run's tails into its prog arrays. Return: false, and the outcome says so, if one is refused. */
static bool load_tails(const struct run *run, const int *fds, struct outcome *outcome)
{
	int tails[RUN_MAX_TAILS];
	uint32_t made;
	bool ok;

	for (made = 0; made < run->num_tails; made++) {
		tails[made] = load_with_maps(run, run->tails[made].insns, run->tails[made].num_insns, fds);
		if (tails[made] < 0)
			break;
	}
	ok = made == run->num_tails;
	if (!ok)
		refuse(outcome, "load of a tail");
	for (uint32_t m = 0; ok && m < run->num_maps; m++) {
		const struct run_map *map = &run->maps[m];

		for (uint32_t i = 0; map->type == VIRTIO_GPGPU_MAP_PROG_ARRAY && i < map->num_init; i++) {
			union bpf_attr attr = { 0 };
			uint32_t tail;

			memcpy(&tail, map->init + i * 8 + 4, 4);
			attr.map_fd = (uint32_t)fds[m];
			attr.key = ptr(map->init + i * 8);
			attr.value = ptr(&tails[tail]);
			if (bpf(BPF_MAP_UPDATE_ELEM, &attr) < 0)
				ok = false;
		}
	}
	if (!ok && !outcome->refused)
		refuse(outcome, "a prog array");
	while (made--)
		close(tails[made]);
	return ok;
}

/* So that per-CPU maps and helpers have one answer. Between runs this process goes where there is room. */
static void pin(bool one)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	for (uint32_t i = 0; i < possible_cpus && i < CPU_SETSIZE; i++)
		if (!one || i == RUN_CPU)
			CPU_SET(i, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

static bool run_loaded(const struct run_packet *packet, int fd, struct outcome *outcome,
		       struct outcome_packet *to)
{
	uint8_t out[4096 + 256] = { 0 };
	struct xdp_md in_md = { .data = packet->meta_len, .data_end = packet->meta_len + packet->len },
		      out_md = { 0 };
	union bpf_attr attr = { 0 };

	attr.test.prog_fd = (uint32_t)fd;
	attr.test.data_in = ptr(packet->bytes);
	attr.test.data_size_in = packet->meta_len + packet->len;
	attr.test.data_out = ptr(out);
	attr.test.data_size_out = sizeof(out);
	attr.test.ctx_in = ptr(&in_md);
	attr.test.ctx_size_in = sizeof(in_md);
	attr.test.ctx_out = ptr(&out_md);
	attr.test.ctx_size_out = sizeof(out_md);
	attr.test.repeat = 1;
	if (bpf(BPF_PROG_TEST_RUN, &attr) < 0) {
		snprintf(log_text, sizeof(log_text), "%s", strerror(errno));
		refuse(outcome, "test run");
		return false;
	}
	to->verdict = attr.test.retval > XDP_REDIRECT ? XDP_ABORTED : attr.test.retval;
	to->egress_port = OUTCOME_UNKNOWN;
	to->data_moved = OUTCOME_UNKNOWN;
	to->meta_len = (uint16_t)out_md.data;
	to->len = attr.test.data_size_out - out_md.data;
	outcome_add(outcome, out, attr.test.data_size_out);
	return true;
}

static void kernel_run(const struct run *run, struct outcome *outcome)
{
	int fds[RUN_MAX_MAPS], fd = -1;
	uint32_t made;

	memset(outcome, 0, sizeof(*outcome));
	log_text[0] = 0;
	pin(true);
	for (made = 0; made < run->num_maps; made++) {
		fds[made] = make_map(&run->maps[made], fds);
		if (fds[made] < 0)
			break;
	}
	if (made < run->num_maps) {
		refuse(outcome, "a map was refused");
	} else if (load_tails(run, fds, outcome)) {
		fd = load_with_maps(run, run->insns, run->num_insns, fds);
		if (fd < 0)
			refuse(outcome, "load");
		for (uint32_t i = 0; fd >= 0 && i < run->num_packets; i++)
			if (!run_loaded(&run->packets[i], fd, outcome, &outcome->packets[i]))
				break;
	}
	for (uint32_t i = 0; i < made; i++) {
		if (!outcome->refused)
			add_map(outcome, &run->maps[i], fds[i]);
		close(fds[i]);
	}
	if (fd >= 0)
		close(fd);
	pin(false);
}

const struct target target_kernel = { .name = "kernel",
				      .open = kernel_open,
				      .run = kernel_run,
				      .close = kernel_close,
				      .kernel = true };
