// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpgpu bench - how fast a device answers, and a load to keep one busy.
 *
 * Each measurement runs for a fixed time and prints a rate or the median and 99th percentile of single runs. The
 * programs are a few instructions written here, so that no file is needed; --program takes an XDP program of
 * one's own for the packets. --load submits work without end, several jobs deep, until it is killed.
 */
#include <getopt.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "gpgpu.h"
#include "tool.h"

#define MAX_SAMPLES 65536
#define MAX_DEPTH   64
#define FRAME	    64 /* bytes of a packet that is made here */
#define STRIDE	    512
#define HEADROOM    256
#define LOAD_DEPTH  4 /* jobs in flight */
#define LOAD_JOB_NS 20000000 /* device time that one job of the load should take */
#define LOAD_LOOP   1000 /* steps of one work item */
#define LOAD_SLOTS  1024 /* results of items go to one of these */

static struct gpgpu_device *dev;
static double seconds = 1;
static bool json;
static const char *json_comma = "";

/* ------------------------------------------------------------------ programs */

#define INSN(op, d, s, o, i)  { .code = (op), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) }
#define MOV_IMM(d, i)	      INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOV_REG(d, s)	      INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ALU_IMM(op, d, i)     INSN(BPF_ALU64 | (op) | BPF_K, d, 0, 0, i)
#define ALU_REG(op, d, s)     INSN(BPF_ALU64 | (op) | BPF_X, d, s, 0, 0)
#define LOAD(size, d, s, o)   INSN(BPF_LDX | (size) | BPF_MEM, d, s, o, 0)
#define STORE(size, d, o, s)  INSN(BPF_STX | (size) | BPF_MEM, d, s, o, 0)
#define JUMP_IMM(op, d, i, o) INSN(BPF_JMP | (op) | BPF_K, d, 0, o, i)
#define JUMP_REG(op, d, s, o) INSN(BPF_JMP | (op) | BPF_X, d, s, o, 0)
#define CALL(n)		      INSN(BPF_JMP | BPF_CALL, 0, 0, 0, n)
#define EXIT()		      INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

#define GLOBAL_ID	      0x7001 /* gpgpu_bpf.h */

/* clang-format off */
/* Reads the Ethernet type; IPv4 passes. */
static const struct bpf_insn packet_insns[] = {
	LOAD(BPF_W, 2, 1, 0),
	LOAD(BPF_W, 3, 1, 4),
	MOV_IMM(0, XDP_DROP),
	MOV_REG(4, 2),
	ALU_IMM(BPF_ADD, 4, 14),
	JUMP_REG(BPF_JGT, 4, 3, 3),
	LOAD(BPF_H, 5, 2, 12),
	JUMP_IMM(BPF_JNE, 5, 0x0008, 1),
	MOV_IMM(0, XDP_PASS),
	EXIT(),
};
/* clang-format on */

/* struct { __u64 *out; }: a loop of xorshift from the item's number, the result to out[number % LOAD_SLOTS]. */
static const struct bpf_insn load_insns[] = {
	LOAD(BPF_DW, 6, 1, 0),
	MOV_IMM(1, 0),
	CALL(GLOBAL_ID),
	MOV_REG(7, 0),
	ALU_IMM(BPF_AND, 7, LOAD_SLOTS - 1),
	ALU_IMM(BPF_LSH, 7, 3),
	ALU_IMM(BPF_ADD, 0, 1),
	MOV_IMM(3, LOAD_LOOP),
	/* loop: */
	MOV_REG(2, 0),
	ALU_IMM(BPF_LSH, 2, 13),
	ALU_REG(BPF_XOR, 0, 2),
	MOV_REG(2, 0),
	ALU_IMM(BPF_RSH, 2, 7),
	ALU_REG(BPF_XOR, 0, 2),
	MOV_REG(2, 0),
	ALU_IMM(BPF_LSH, 2, 17),
	ALU_REG(BPF_XOR, 0, 2),
	ALU_IMM(BPF_SUB, 3, 1),
	JUMP_IMM(BPF_JNE, 3, 0, -11),
	ALU_REG(BPF_ADD, 6, 7),
	STORE(BPF_DW, 6, 0, 0),
	MOV_IMM(0, 0),
	EXIT(),
};

static const struct gpgpu_program_desc packet_program = {
	.name = "bench_packet",
	.kind = GPGPU_PROGRAM_XDP,
	.insns = packet_insns,
	.num_insns = ARRAY_SIZE(packet_insns),
};

static const struct gpgpu_program_desc load_program_desc = {
	.name = "bench_load",
	.kind = GPGPU_PROGRAM_KERNEL,
	.insns = load_insns,
	.num_insns = ARRAY_SIZE(load_insns),
	.num_args = 1,
	.arg_kind = { GPGPU_ARG_BUFFER },
};

static struct gpgpu_program *create(const struct gpgpu_program_desc *desc)
{
	struct gpgpu_program *prog;

	if (gpgpu_program_create(dev, desc, &prog))
		die("%s", gpgpu_error_message());
	return prog;
}

/* ------------------------------------------------------------------- results */

static void report(const char *key, const char *text, double value, const char *unit)
{
	if (json) {
		printf("%s\n \"%s\": %.3f", json_comma, key, value);
		json_comma = ",";
	} else {
		printf("  %-52s %14.1f %s\n", text, value, unit);
	}
	fflush(stdout);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* ---------------------------------------------------------------------- jobs */

/* Submits one job of a measurement. */
typedef struct gpgpu_job *(*submit_fn)(void *arg);

static void finish(struct gpgpu_job *job, struct gpgpu_job_result *result)
{
	if (gpgpu_job_wait(job, -1, result, NULL, 0))
		die("%s", gpgpu_error_message());
	gpgpu_job_destroy(job);
}

/* One at a time: how long each takes from submission to its end. */
static void latency(const char *key, const char *text, submit_fn submit, void *arg)
{
	static uint64_t samples[MAX_SAMPLES];
	uint64_t until = now_ns() + (uint64_t)(seconds * 1e9), start;
	char k[64], t[96];
	size_t n = 0;

	do {
		start = now_ns();
		finish(submit(arg), NULL);
		samples[n++] = now_ns() - start;
	} while (n < MAX_SAMPLES && now_ns() < until);
	qsort(samples, n, sizeof(*samples), by_value);
	snprintf(k, sizeof(k), "%s_median_us", key);
	snprintf(t, sizeof(t), "%s, median", text);
	report(k, t, (double)samples[n / 2] / 1e3, "us");
	snprintf(k, sizeof(k), "%s_p99_us", key);
	snprintf(t, sizeof(t), "%s, 99th percentile", text);
	report(k, t, (double)samples[n * 99 / 100] / 1e3, "us");
}

/* @depth in flight. Return: jobs a second; *device_ns: device time of all of them. */
static double rate(submit_fn submit, void *arg, unsigned depth, uint64_t *device_ns)
{
	struct gpgpu_job *jobs[MAX_DEPTH] = { 0 };
	uint64_t start = now_ns(), until = start + (uint64_t)(seconds * 1e9), done = 0;
	struct gpgpu_job_result result;
	unsigned turn = 0;
	bool more;

	*device_ns = 0;
	do {
		more = now_ns() < until;
		if (jobs[turn]) {
			finish(jobs[turn], &result);
			*device_ns += result.device_ns;
			done++;
		}
		jobs[turn] = more ? submit(arg) : NULL;
		turn = (turn + 1) % depth;
		if (!more) {
			unsigned left = 0;

			for (unsigned i = 0; i < depth; i++)
				left += jobs[i] != NULL;
			if (!left)
				break;
		}
	} while (true);
	return (double)done * 1e9 / (double)(now_ns() - start);
}

static struct gpgpu_job *submit_nop(void *arg)
{
	struct gpgpu_job *job;

	if (gpgpu_nop(dev, NULL, &job))
		die("%s", gpgpu_error_message());
	return job;
}

struct dispatch {
	struct gpgpu_program *prog;
	struct gpgpu_arg arg;
	struct gpgpu_submit where;
	uint32_t grid[3];
};

static struct gpgpu_job *submit_dispatch(void *arg)
{
	struct dispatch *d = arg;
	struct gpgpu_job *job;

	if (gpgpu_dispatch(d->prog, d->grid, NULL, &d->arg, 1, &d->where, &job))
		die("%s", gpgpu_error_message());
	return job;
}

struct packets {
	struct gpgpu_program *prog;
	struct gpgpu_buffer *buffer;
	struct gpgpu_packet *packets;
	uint32_t count;
};

static struct gpgpu_job *submit_packets(void *arg)
{
	struct packets *p = arg;
	struct gpgpu_job *job;

	if (gpgpu_packets(p->prog, p->buffer, 0, STRIDE, p->packets, p->count, 0, NULL, &job))
		die("%s", gpgpu_error_message());
	return job;
}

/* -------------------------------------------------------------- measurements */

static struct dispatch make_dispatch(uint32_t items)
{
	struct dispatch d = { .prog = create(&load_program_desc), .grid = { items, 1, 1 } };

	d.arg.kind = GPGPU_ARG_BUFFER;
	if (gpgpu_buffer_create(dev, LOAD_SLOTS * 8, GPGPU_BUFFER_SHARED, &d.arg.buffer))
		die("%s", gpgpu_error_message());
	return d;
}

static void free_dispatch(struct dispatch *d)
{
	gpgpu_program_destroy(d->prog);
	gpgpu_buffer_destroy(d->arg.buffer);
}

/* A small UDP packet, another flow in each slot. */
static void make_frame(uint8_t *f, uint32_t i)
{
	static const uint8_t head[] = {
		2, 0,  0,  0, 0, 1,  2, 0, 0, 0,  0, 2, 8, 0, 0x45, 0, 0,  FRAME - 14, 0,	   0, 0,
		0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 7, 0, 2, 0, 0,    0, 53, 0,	       FRAME - 34, 0, 0,
	};

	memset(f, 0, FRAME);
	memcpy(f, head, sizeof(head));
	f[27] = (uint8_t)(i >> 16);
	f[34] = (uint8_t)(i >> 8);
	f[35] = (uint8_t)i;
}

static void bench_packets(struct gpgpu_program *prog, uint32_t max_batch)
{
	struct packets p = { .prog = prog };
	uint8_t *bytes;
	void *ptr;

	if (gpgpu_buffer_create(dev, (uint64_t)max_batch * STRIDE, GPGPU_BUFFER_SHARED, &p.buffer) ||
	    gpgpu_buffer_map(p.buffer, &ptr))
		die("%s", gpgpu_error_message());
	bytes = ptr;
	p.packets = xcalloc(max_batch, sizeof(*p.packets));
	for (uint32_t i = 0; i < max_batch; i++) {
		make_frame(bytes + (size_t)i * STRIDE + HEADROOM, i);
		p.packets[i] =
			(struct gpgpu_packet){ .data_off = HEADROOM, .data_len = FRAME, .ingress_port = 1 };
	}
	for (p.count = 64; p.count <= max_batch; p.count *= 4) {
		uint64_t device_ns;
		char key[64], text[96];
		double r = rate(submit_packets, &p, 4, &device_ns) * p.count;

		snprintf(key, sizeof(key), "packets_%u", p.count);
		snprintf(text, sizeof(text), "packets, batches of %s, 4 in flight", grouped(p.count));
		report(key, text, r, "packets/s");
	}
	gpgpu_buffer_destroy(p.buffer);
	free(p.packets);
}

static void bench_compile(struct gpgpu_program *prog)
{
	struct gpgpu_program_info info;
	char text[96];

	gpgpu_program_get_info(prog, &info);
	snprintf(text, sizeof(text), "compiling '%.32s', %u instructions", info.name, info.num_insns);
	report("compile_ms", text, (double)info.compile_ns / 1e6, "ms");
}

static void bench(struct gpgpu_program *packet_prog)
{
	struct dispatch d = make_dispatch(64);
	uint64_t device_ns;
	struct gpgpu_caps caps;
	uint32_t max_batch;

	if (gpgpu_get_caps(dev, &caps))
		die("%s", gpgpu_error_message());
	if (!json)
		printf("%s: %s\n", gpgpu_device_path(dev), caps.device_name);
	latency("nop", "empty job, one at a time", submit_nop, NULL);
	report("nop_rate_16", "empty jobs, 16 in flight", rate(submit_nop, NULL, 16, &device_ns), "jobs/s");
	latency("dispatch", "64 work items, one dispatch at a time", submit_dispatch, &d);
	report("dispatch_rate_16", "64 work items, 16 dispatches in flight",
	       rate(submit_dispatch, &d, 16, &device_ns), "jobs/s");
	d.grid[0] = 65536;
	report("items_rate", "work items of 1,000 steps, 4 dispatches in flight",
	       rate(submit_dispatch, &d, 4, &device_ns) * 65536, "items/s");
	free_dispatch(&d);

	max_batch = caps.max_batch && caps.max_batch < 16384 ? caps.max_batch : 16384;
	while ((uint64_t)max_batch * STRIDE > caps.shm_size / 2 && max_batch > 64)
		max_batch /= 4;
	bench_packets(packet_prog, max_batch);
	bench_compile(packet_prog);
}

/* Keeps the device busy until killed; the size of a job follows what the device's time for it was. */
static void load_forever(void)
{
	struct dispatch d = make_dispatch(1024);
	struct gpgpu_job *jobs[LOAD_DEPTH] = { 0 };

	for (unsigned turn = 0;; turn = (turn + 1) % LOAD_DEPTH) {
		struct gpgpu_job_result result;

		if (jobs[turn]) {
			finish(jobs[turn], &result);
			if (result.device_ns < LOAD_JOB_NS / 2 && d.grid[0] < 1u << 24)
				d.grid[0] *= 2;
			else if (result.device_ns > LOAD_JOB_NS * 2 && d.grid[0] > 1024)
				d.grid[0] /= 2;
		}
		/* Each on a timeline of its own: behind one another only one would ask for the device. */
		d.where.timeline = turn;
		jobs[turn] = submit_dispatch(&d);
	}
}

int cmd_bench(int argc, char **argv)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'd' },  { "seconds", required_argument, NULL, 's' },
		{ "program", required_argument, NULL, 'p' }, { "config", required_argument, NULL, 'c' },
		{ "load", no_argument, NULL, 'l' },	     { "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },	     { 0 },
	};
	const char *path = NULL, *config = NULL;
	struct gpgpu_object *obj = NULL;
	struct gpgpu_program *prog;
	char *program = NULL;
	bool load = false;
	int c;

	while ((c = getopt_long(argc, argv, "d:s:p:c:ljh", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			path = optarg;
			break;
		case 's':
			seconds = (double)parse_number(optarg, 1, 3600, "--seconds");
			break;
		case 'p':
			program = optarg;
			break;
		case 'c':
			config = optarg;
			break;
		case 'l':
			load = true;
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			printf("usage: gpgpu bench [--device NODE] [--seconds N] [--program PROG.o[:NAME]]\n"
			       "                   [--config FILE] [-j|--json]\n"
			       "       gpgpu bench --load [--device NODE]   keep it busy until killed\n");
			return 0;
		default:
			return 1;
		}
	}
	if (optind < argc)
		die("bench: '%s' is too much", argv[optind]);
	if (config && !program)
		die("bench: --config needs --program");
	dev = open_device(path);
	if (load)
		load_forever();
	if (program) {
		struct map_target *maps;
		size_t num_maps;

		obj = load_program(dev, program, GPGPU_PROGRAM_XDP, &prog);
		maps = device_maps(obj, dev, &num_maps);
		if (config)
			mapconfig_apply(config, maps, num_maps);
		free(maps);
	} else {
		prog = create(&packet_program);
	}
	if (json)
		printf("{");
	bench(prog);
	if (json)
		printf("\n}\n");
	if (obj)
		gpgpu_object_close(obj);
	else
		gpgpu_program_destroy(prog);
	gpgpu_close(dev);
	return 0;
}
