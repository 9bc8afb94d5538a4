/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_engine.c - packets per second of compiled XDP programs on one core, beside the host kernel's own JIT.
 *
 * How it works: an object is loaded into the kernel by libbpf; the very instructions that the kernel got are
 * handed to our compiler, and our maps are filled from the kernel's. Then both run the same packets: the
 * kernel by BPF_PROG_TEST_RUN with repeat, which runs one packet over and over; we the same way (all lanes
 * in one slot), and in batches of different packets, as the device gets them. Rounds of both alternate and
 * the best of each packet counts, since other load on the machine only ever adds time. Before that, every
 * verdict is compared. The kernel's time is what it says of itself (whole nanoseconds, rounded down): a call
 * of BPF_PROG_TEST_RUN costs tens of milliseconds besides.
 *
 * What the kernel's loop itself costs shows in the row of the program that only drops; the ratio is also
 * given with that taken off on the kernel's side only, which is the harder comparison.
 */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include "virtio_gpgpu.h"
#include "jit/jit.h"
#include "rt/maps.h"
#include "bench_packets.h"

enum {
	DISTINCT = 64,  /* packets that differ */
	REPEAT = 10000, /* runs of one packet in one go */
	SMALL = 256,  /* packets of a batch whose packets stay in the cache */
	BATCH = 16384,  /* packets of a batch larger than most caches */
	STRIDE = 2048,
	ROUNDS = 5,
	TRIES = 20,  /* batches in a round */
};

struct subject {
	const char *name, *file;
	void (*fill)(struct bpf_object *obj);
};

static const struct subject subjects[] = {
	{ "drop", "bench_drop.bpf.o", NULL },
	{ "firewall", "bench_firewall.bpf.o", bench_fill_firewall },
	{ "balancer", "bench_lb.bpf.o", bench_fill_lb },
};

/* One program on both sides. */
struct run {
	struct bpf_object *obj;
	int prog_fd;
	struct bpf_insn *insns;
	struct gp_map maps[GP_MAX_PROG_MAPS], *map_ptrs[GP_MAX_PROG_MAPS];
	struct gp_map_desc descs[GP_MAX_PROG_MAPS];
	int map_fds[GP_MAX_PROG_MAPS];
	uint32_t num_maps;
	struct gp_image *image;
};

static double kernel_loop_ns; /* of the program that only drops */

static __attribute__((format(printf, 1, 2), noreturn)) void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("bench_engine: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* Memory as compiled code wants it: a power-of-two window with nothing to be reached around it. */
static uint8_t *window(uint64_t size)
{
	uint64_t bytes = 4096;
	uint8_t *at;

	while (bytes < size)
		bytes *= 2;
	at = mmap(NULL, bytes + 2 * GP_GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED || mprotect(at + GP_GUARD, (size + 4095) & ~4095ull, PROT_READ | PROT_WRITE))
		die("no memory");
	return at + GP_GUARD;
}

/* ------------------------------------------------------------------ loading */

/* Our map of the kernel's shape and contents. Return: its index. */
static int add_map(struct run *r, int fd)
{
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info), n = r->num_maps;
	struct gp_map_desc *desc = &r->descs[n];
	uint8_t key[512], *value;

	for (uint32_t i = 0; i < n; i++)
		if (r->map_fds[i] == fd)
			return (int)i;
	if (n == GP_MAX_PROG_MAPS || bpf_map_get_info_by_fd(fd, &info, &len))
		die("map: %s", strerror(errno));
	*desc = (struct gp_map_desc){
		.type = info.type,
		.key_size = info.key_size,
		.value_size = info.value_size,
		.max_entries = info.max_entries,
		.flags = info.map_flags & BPF_F_RDONLY_PROG ? VIRTIO_GPGPU_MAP_F_RDONLY_PROG : 0,
	};
	if (gp_map_check(desc, 1))
		die("map %s: not a shape that we have", info.name);
	gp_map_layout(&r->maps[n], desc, window(desc->values_size), window(gp_map_index_bytes(desc)), 12345);
	value = calloc(1, info.value_size + 8);
	for (int err = bpf_map_get_next_key(fd, NULL, key); !err; err = bpf_map_get_next_key(fd, key, key)) {
		if (bpf_map_lookup_elem(fd, key, value))
			die("map %s: %s", info.name, strerror(errno));
		if (gp_map_update(&r->maps[n], key, value, BPF_ANY))
			die("map %s: our update failed", info.name);
	}
	free(value);
	r->map_ptrs[n] = &r->maps[n];
	r->map_fds[n] = fd;
	return (int)r->num_maps++;
}

static void load(struct run *r, const struct subject *s, const char *dir, struct gp_jit *jit)
{
	struct gp_prog prog = { .kind = VIRTIO_GPGPU_PROG_XDP, .flags = GP_PROG_ALONE };
	struct gp_verdict verdict;
	struct bpf_program *p;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, s->file);
	r->obj = bpf_object__open(path);
	if (!r->obj || bpf_object__load(r->obj))
		die("%s: the kernel does not load it: %s", path, strerror(errno));
	if (s->fill)
		s->fill(r->obj);
	p = bpf_object__next_program(r->obj, NULL);
	r->prog_fd = bpf_program__fd(p);
	prog.num_insns = (uint32_t)bpf_program__insn_cnt(p);
	r->insns = malloc(prog.num_insns * sizeof(*r->insns));
	memcpy(r->insns, bpf_program__insns(p), prog.num_insns * sizeof(*r->insns));
	for (uint32_t i = 0; i < prog.num_insns; i++) {
		struct bpf_insn *insn = &r->insns[i];

		if (insn->code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		if (insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE)
			insn->imm = add_map(r, insn->imm);
		i++;
	}
	prog.insns = r->insns;
	prog.maps = r->descs;
	prog.num_maps = r->num_maps;
	r->image = gp_jit_compile(jit, &prog, &verdict);
	if (!r->image)
		die("%s: our compiler refuses it at instruction %u: %s", path, verdict.insn, verdict.message);
	printf("%-10s %5u instructions, %6u bytes of code, compiled in %.1f ms (%.1f ms of CPU)\n", s->name,
	       prog.num_insns, r->image->code_bytes, (double)r->image->compile_ns / 1e6,
	       (double)r->image->cpu_ns / 1e6);
}

/* ------------------------------------------------------------------ running */

/* Return: nanoseconds of one run. */
static double run_kernel(const struct run *r, const struct bench_packet *p, int repeat, uint32_t *verdict)
{
	static uint8_t out[4096];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = p->data, .data_size_in = p->len, .data_out = out,
		    .data_size_out = sizeof(out), .repeat = repeat);

	if (bpf_prog_test_run_opts(r->prog_fd, &opts))
		die("BPF_PROG_TEST_RUN: %s", strerror(errno));
	*verdict = opts.retval;
	return opts.duration;
}

static uint32_t no_stop;
static struct gp_packet_in in[BATCH];
static struct gp_packet_out out[BATCH];
static uint8_t *slots;

/* Return: nanoseconds of one packet. */
static double run_ours(const struct run *r, uint64_t stride, uint64_t count)
{
	struct gp_thread thread = { .random = 1 };
	struct gp_env env = {
		.maps = (struct gp_map **)r->map_ptrs,
		.num_maps = r->num_maps,
		.slots = slots,
		.stride = stride,
		.fuel = 1 << 20,
		.stop = &no_stop,
	};
	gp_xdp_entry *entry;
	struct gp_faults faults = { 0 };
	void *code = (uint8_t *)r->image->code + r->image->entry;
	double start = now();

	memcpy(&entry, &code, sizeof(entry));
	if (entry(&env, &thread, in, out, 0, count, &faults) != count || faults.count)
		die("%lu faults, the first of reason %u at instruction %u", (unsigned long)faults.count,
		    faults.reason, faults.insn);
	return (now() - start) / (double)count;
}

static void place(uint64_t n, uint64_t stride, const struct bench_packet *p)
{
	memcpy(slots + n * stride + 256, p->data, p->len);
	in[n] = (struct gp_packet_in){ .data_off = 256, .data_len = p->len };
}

static double best(double a, double b)
{
	return a && a < b ? a : b;
}

static void compare(const struct run *r, const struct bench_packet *packets, const char *name)
{
	uint32_t verdicts[5] = { 0 }, theirs;

	for (int i = 0; i < DISTINCT; i++)
		place((uint64_t)i, STRIDE, &packets[i]);
	run_ours(r, STRIDE, DISTINCT);
	for (int i = 0; i < DISTINCT; i++) {
		run_kernel(r, &packets[i], 1, &theirs);
		if (theirs != out[i].verdict)
			die("%s, packet %d: the kernel says %u, we say %u", name, i, theirs, out[i].verdict);
		verdicts[theirs]++;
	}
	printf("%-10s verdicts equal: %u aborted, %u drop, %u pass, %u tx\n", name, verdicts[0], verdicts[1],
	       verdicts[2], verdicts[3]);
}

/* The best of a few batches of all packets in turn. */
static double run_batch(const struct run *r, const struct bench_packet *packets, uint64_t count)
{
	double time = 0;

	for (uint64_t i = 0; i < count; i++)
		place(i, STRIDE, &packets[i % DISTINCT]);
	for (int i = 0; i < TRIES; i++)
		time = best(time, run_ours(r, STRIDE, count));
	return time;
}

static double mean(const double *times)
{
	double sum = 0;

	for (int i = 0; i < DISTINCT; i++)
		sum += times[i];
	return sum / DISTINCT;
}

static void measure(const struct run *r, const struct bench_packet *packets, const char *name)
{
	double kernels[DISTINCT] = { 0 }, ours[DISTINCT] = { 0 }, kernel, hot, small = 0, big = 0;
	uint32_t verdict;

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < DISTINCT; i++) {
			kernels[i] = best(kernels[i], run_kernel(r, &packets[i], REPEAT, &verdict));
			for (int j = 0; j < REPEAT; j++)
				place((uint64_t)j, 0, &packets[i]);
			ours[i] = best(ours[i], run_ours(r, 0, REPEAT));
		}
		small = best(small, run_batch(r, packets, SMALL));
		big = best(big, run_batch(r, packets, BATCH));
	}
	kernel = mean(kernels);
	hot = mean(ours);
	if (!kernel_loop_ns)
		kernel_loop_ns = kernel;
	printf("%-10s %8.2f %8.2f %8.2f %8.2f | %7.2f %7.2f %7.2f | %7.2f\n", name, 1e3 / kernel, 1e3 / hot,
	       1e3 / small, 1e3 / big, kernel / hot, kernel / small, kernel / big,
	       (kernel - kernel_loop_ns) / hot);
}

static void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int main(int argc, char **argv)
{
	static struct run runs[sizeof(subjects) / sizeof(*subjects)];
	static struct bench_packet packets[DISTINCT];
	struct gp_jit_options options = { .fd = -1 };
	const size_t n = sizeof(subjects) / sizeof(*subjects);
	GError *error = NULL;
	struct gp_jit *jit;

	if (argc != 3)
		die("usage: bench_engine GPGPU-JIT OBJECT-FOLDER");
	options.program = argv[1];
	libbpf_set_print(NULL);
	jit = gp_jit_new(&options, &error);
	if (!jit)
		die("%s", error->message);
	slots = window((uint64_t)BATCH * STRIDE);
	bench_make_packets(packets, DISTINCT);
	pin();
	for (size_t i = 0; i < n; i++) {
		load(&runs[i], &subjects[i], argv[2], jit);
		compare(&runs[i], packets, subjects[i].name);
	}
	printf("\nMillion packets a second on one core, and how many times the kernel's rate:\n"
	       "kernel: its JIT, one packet over and over; hot: we the same; 256, 16k: batches of that many\n"
	       "packets, in slots of %d bytes; net: hot, with the kernel's own loop taken off its time\n\n"
	       "%-10s %8s %8s %8s %8s | %7s %7s %7s | %7s\n",
	       STRIDE, "program", "kernel", "hot", "256", "16k", "hot", "256", "16k", "net");
	for (size_t i = 0; i < n; i++)
		measure(&runs[i], packets, subjects[i].name);
	gp_jit_free(jit);
	return 0;
}
