/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_engine.c - compiled XDP programs on one core, beside the host kernel's own JIT.
 *
 * How it works: each program is in the kernel and compiled by us (bench_load.c), with maps of the same contents, and gets
 * the same different frames, a sample of a capture. The kernel runs each of them by BPF_PROG_TEST_RUN with repeat, which
 * says how long one run took on average, in whole nanoseconds rounded down. We run batches: for the comparison of one
 * frame each, in as many slots, so that both sides see the same thing over and over; besides that, of all
 * frames in turn, as a device gets them, which a processor cannot foresee as well. Both run on the same core, in
 * rounds that alternate, and the best of each frame and batch counts: other load on the machine only ever adds
 * time. Before that, every verdict is compared.
 *
 * What a loop costs without a program is taken off on both sides: the time of a program that only drops. Programs that
 * change packets run between what again.h puts around them, and its time without a program is taken off. Where
 * what is left is less than 5 ns on either side it would be noise, and there is no ratio.
 *
 * Output: tables for people; bench reads those, too.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "bench_engine.h"
#include "rt/clock.h"

enum {
	MAX_DISTINCT = 1024,
	REPEAT = 10000, /* runs of one frame in one go in the kernel */
	SMALL = 256, /* packets of a batch that stays in the cache */
	BATCH = 16384, /* packets of a batch that is larger than most caches */
	REPEATS = 8, /* batches of one frame in a round */
	TRIES = 100, /* batches of SMALL different ones; of BATCH one in 10 */
};

#define LEAST_NS 5.0

static const struct subject subjects[] = {
	{ "drop", NULL, 0 }, /* first: nothing, on its own ... */
	{ "none", NULL, 1 }, /* ... and within again.h */
	{ "parse", NULL, 0 },	      { "count", NULL, 0 },
	{ "flows", "flows.conf", 0 }, { "firewall", "firewall.conf", 0 },
	{ "ddos", "ddos.conf", 0 },   { "syncookie", "syncookie.conf", 1 },
	{ "lb", "lb.conf", 1 },	      { "nat64", "nat64.conf", 1 },
	{ "vxlan", "vxlan.conf", 1 }, { "katran", "katran.conf", 1 },
};
enum { NUM_EMPTY = 2, NUM_SUBJECTS = sizeof(subjects) / sizeof(*subjects) };

static struct bench_packet packets[MAX_DISTINCT];
static uint32_t distinct = 128;
static int rounds = 3;
static bool left_out[NUM_SUBJECTS];
static uint32_t no_stop;
static struct gp_packet_in in[BATCH];
static struct gp_packet_out out[BATCH];
static uint8_t *slots;

void bench_die(const char *format, ...)
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

static double least(double a, double b)
{
	return a && a < b ? a : b;
}

/* Return: nanoseconds of one run. */
static double run_kernel(const struct bench_program *p, const struct bench_packet *packet, int repeat,
			 uint32_t *verdict)
{
	static uint8_t result[4096];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet->data, .data_size_in = packet->len,
		    .data_out = result, .data_size_out = sizeof(result), .repeat = repeat);

	if (bpf_prog_test_run_opts(p->fd, &opts))
		bench_die("BPF_PROG_TEST_RUN: %s", strerror(errno));
	*verdict = opts.retval;
	return opts.duration;
}

/* Return: nanoseconds of one packet of a batch. */
static double run_ours(const struct bench_program *p, const struct gp_image *image, uint64_t count)
{
	struct gp_thread thread = { .random = 1 };
	struct gp_clock clock;
	struct gp_env env = {
		.maps = (struct gp_map **)p->map_ptrs,
		.num_maps = p->prog.num_maps,
		.slots = slots,
		.stride = STRIDE,
		.fuel = 1 << 20,
		.stop = &no_stop,
		.clock = &clock,
	};
	void *code = (uint8_t *)image->code + image->entry;
	struct gp_faults faults = { 0 };
	gp_xdp_entry *entry;
	double start;

	gp_clock_read(&clock);
	memcpy(&entry, &code, sizeof(entry));
	start = now();
	if (entry(&env, &thread, in, out, 0, count, &faults) != count || faults.count)
		bench_die("%s: %lu faults, the first of reason %u at instruction %u", p->subject->name,
			  (unsigned long)faults.count, faults.reason, faults.insn);
	return (now() - start) / (double)count;
}

/* Frames @first, @first + 1, ... of @num, in turn. */
static void place(uint64_t count, uint32_t first, uint32_t num)
{
	for (uint64_t i = 0; i < count; i++) {
		const struct bench_packet *packet = &packets[first + i % num];

		memcpy(slots + i * STRIDE + FRONT, packet->data, packet->len);
		in[i] = (struct gp_packet_in){ .data_off = FRONT, .data_len = packet->len };
	}
}

static void compare(const struct bench_program *p)
{
	static const char *const names[] = { "aborted", "drop", "pass", "tx", "redirect" };
	uint32_t verdicts[5] = { 0 }, theirs;

	place(distinct, 0, distinct);
	run_ours(p, p->best, distinct);
	for (uint32_t i = 0; i < distinct; i++) {
		run_kernel(p, &packets[i], 1, &theirs);
		if (theirs != out[i].verdict)
			bench_die("%s, packet %u: the kernel says %u, we say %u", p->subject->name, i, theirs,
				  out[i].verdict);
		verdicts[theirs]++;
	}
	printf("%-10s", p->subject->name);
	for (int v = 0; v < 5; v++)
		printf(" %5u %s", verdicts[v], names[v]);
	putchar('\n');
}

/* --------------------------------------------------------------- compile time */

static struct gp_image *compile_best(struct gp_jit *jit, const struct gp_prog *prog, uint64_t *ns)
{
	struct gp_image *image = NULL;
	struct gp_verdict verdict;

	*ns = UINT64_MAX;
	for (int i = 0; i < 3; i++) {
		gp_image_unref(image);
		image = gp_jit_compile(jit, prog, &verdict);
		if (!image)
			return NULL;
		*ns = image->cpu_ns < *ns ? image->cpu_ns : *ns;
	}
	return image;
}

static void compile_row(struct gp_jit *jit, const char *name, struct gp_prog prog, uint32_t flags)
{
	struct gp_image *quick, *best;
	uint64_t quick_ns, best_ns;

	prog.flags = flags | GP_PROG_QUICK;
	quick = compile_best(jit, &prog, &quick_ns);
	prog.flags = flags;
	best = compile_best(jit, &prog, &best_ns);
	printf("%-16s %6u |", name, prog.num_insns);
	if (quick)
		printf(" %9.1f %8u |", (double)quick_ns / 1e6, quick->code_bytes);
	else
		printf(" %9s %8s |", "refused", "-");
	if (best)
		printf(" %9.1f %8u\n", (double)best_ns / 1e6, best->code_bytes);
	else
		printf(" %9s %8s\n", "refused", "-");
	gp_image_unref(quick);
	gp_image_unref(best);
}

static void compile_table(struct gp_jit *jit, struct bench_program *programs)
{
	static const uint32_t sizes[] = { 500, 4000, 16384 };
	char name[32];

	printf("\nCompile time, ms of CPU, and bytes of code: what the first answer takes, and the better code that\n"
	       "follows (programs of up to about 100 instructions get that at once)\n\n"
	       "%-16s %6s | %9s %8s | %9s %8s\n",
	       "program", "insns", "first", "bytes", "better", "bytes");
	for (int i = 0; i < NUM_SUBJECTS; i++)
		if (!left_out[i])
			compile_row(jit, subjects[i].name, programs[i].prog, GP_PROG_ALONE);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct gp_prog prog = bench_random(sizes[i]);

		snprintf(name, sizeof(name), "random %u", sizes[i]);
		compile_row(jit, name, prog, 0);
		free((void *)prog.insns);
	}
}

/* ------------------------------------------------------------------- run time */

struct times {
	double kernel, ours, unchecked; /* one frame, mean of all */
	double small, big; /* batches of all frames */
};

static void measure(const struct bench_program *p, struct times *t)
{
	static struct times each[MAX_DISTINCT];
	uint32_t verdict;

	memset(each, 0, sizeof(each));
	*t = (struct times){ 0 };
	for (int round = 0; round < rounds; round++) {
		for (uint32_t i = 0; i < distinct; i++) {
			struct times *e = &each[i];

			e->kernel = least(e->kernel, run_kernel(p, &packets[i], REPEAT, &verdict));
			place(SMALL, i, 1);
			for (int k = 0; k < REPEATS; k++) {
				e->ours = least(e->ours, run_ours(p, p->best, SMALL));
				e->unchecked = least(e->unchecked, run_ours(p, p->unchecked, SMALL));
			}
		}
		place(SMALL, 0, distinct);
		for (int i = 0; i < TRIES; i++)
			t->small = least(t->small, run_ours(p, p->best, SMALL));
		place(BATCH, 0, distinct);
		for (int i = 0; i < TRIES / 10; i++)
			t->big = least(t->big, run_ours(p, p->best, BATCH));
	}
	for (uint32_t i = 0; i < distinct; i++) {
		t->kernel += each[i].kernel / distinct;
		t->ours += each[i].ours / distinct;
		t->unchecked += each[i].unchecked / distinct;
	}
}

static void ratio_table(const struct times *times)
{
	double product = 1, contained = 1;
	int n = 0;

	printf("\nNanoseconds for a packet on one core, without what the loop around a program costs. kernel, ours: one\n"
	       "frame over and over, mean of all frames; mixed, 16k: all frames in turn, in batches of %d and %d.\n"
	       "ratio: times the kernel's rate. checks: ours over the same compiled without any check\n\n"
	       "%-10s %8s %8s %8s %8s | %7s %7s | %7s\n",
	       SMALL, BATCH, "program", "kernel", "ours", "mixed", "16k", "ratio", "mixed", "checks");
	for (int i = 0; i < NUM_SUBJECTS; i++) {
		const struct times *empty = &times[subjects[i].again], *t = &times[i];
		double kernel = t->kernel - empty->kernel, ours = t->ours - empty->ours;
		double small = t->small - empty->small, unchecked = t->unchecked - empty->unchecked;

		if (left_out[i])
			continue;
		if (i < NUM_EMPTY) {
			printf("%-10s %8.2f %8.2f %8.2f %8.2f | taken off below\n", subjects[i].name,
			       t->kernel, t->ours, t->small, t->big);
			continue;
		}
		printf("%-10s %8.2f %8.2f %8.2f %8.2f | ", subjects[i].name, kernel, ours, small,
		       t->big - empty->big);
		if (kernel < LEAST_NS || ours < LEAST_NS) {
			printf("less than %.0f ns\n", LEAST_NS);
			continue;
		}
		printf("%7.2f %7.2f | %7.2f\n", kernel / ours, kernel / small, ours / unchecked);
		product *= kernel / ours;
		contained *= ours / unchecked;
		n++;
	}
	if (n)
		printf("%-10s %35s | %7.2f %7s | %7.2f\n", "mean", "geometric", pow(product, 1.0 / n), "",
		       pow(contained, 1.0 / n));
}

static void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* The first choice leaves all others out, but for what is taken off. */
static void choose(const char *name)
{
	static bool chosen;

	for (int i = NUM_EMPTY; i < NUM_SUBJECTS; i++)
		if (!strcmp(subjects[i].name, name))
			left_out[i] = false;
		else if (!chosen)
			left_out[i] = true;
	chosen = true;
}

static const char usage[] = "usage: bench_engine [OPTION...] GPGPU-JIT UNCHECKED-JIT OBJECTS EXAMPLES\n"
			    "  --capture FILE   sample half of the frames from this capture\n"
			    "  --all            ... and not only half\n"
			    "  --frames N       different frames (128)\n"
			    "  --only WHAT      compile or run\n"
			    "  --program NAME   only this one; may be repeated\n"
			    "  --rounds N       (3)\n";

static struct gp_jit *start(const char *path)
{
	struct gp_jit_options options = { .program = path, .fd = -1, .cpu_seconds = 20 };
	GError *error = NULL;
	struct gp_jit *jit = gp_jit_new(&options, &error);

	if (!jit)
		bench_die("%s", error->message);
	return jit;
}

int main(int argc, char **argv)
{
	static struct bench_program programs[NUM_SUBJECTS];
	static struct times times[NUM_SUBJECTS];
	static const struct option options[] = { { "capture", required_argument, NULL, 'c' },
						 { "all", no_argument, NULL, 'a' },
						 { "frames", required_argument, NULL, 'f' },
						 { "only", required_argument, NULL, 'o' },
						 { "program", required_argument, NULL, 'p' },
						 { "rounds", required_argument, NULL, 'r' },
						 { 0 } };
	const char *capture = NULL, *only = "";
	struct gp_jit *jit, *unchecked;
	int c, whole = 0;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'c')
			capture = optarg;
		else if (c == 'a')
			whole = 1;
		else if (c == 'f')
			distinct = (uint32_t)atoi(optarg);
		else if (c == 'o')
			only = optarg;
		else if (c == 'p')
			choose(optarg);
		else if (c == 'r')
			rounds = atoi(optarg);
		else
			bench_die("%s", usage);
	}
	if (argc - optind != 4 || !distinct || distinct > MAX_DISTINCT)
		bench_die("%s", usage);
	libbpf_set_print(NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	jit = start(argv[optind]);
	unchecked = start(argv[optind + 1]);
	/* A loopback of our own, to attach the programs to (bench_load.c). */
	if (unshare(CLONE_NEWNET))
		fprintf(stderr, "bench_engine: no network namespace (%s): this takes longer\n",
			strerror(errno));
	slots = bench_window((uint64_t)BATCH * STRIDE);
	bench_sample(packets, distinct, capture, whole);
	pin();
	printf("%u different frames; verdicts, the same on both sides:\n", distinct);
	for (int i = 0; i < NUM_SUBJECTS; i++) {
		if (left_out[i])
			continue;
		bench_load(&programs[i], &subjects[i], argv[optind + 2], argv[optind + 3], jit, unchecked);
		compare(&programs[i]);
	}
	if (strcmp(only, "run")) {
		compile_table(jit, programs);
		bench_cached(argv[optind]);
	}
	if (strcmp(only, "compile")) {
		for (int i = 0; i < NUM_SUBJECTS; i++)
			if (!left_out[i])
				measure(&programs[i], &times[i]);
		ratio_table(times);
	}
	gp_jit_free(jit);
	gp_jit_free(unchecked);
	return 0;
}
