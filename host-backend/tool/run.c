// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpgpu-bpf run - an XDP program on the frames of a capture, as gpgpu pkt runs it on a guest's device.
 *
 * There are two batches: while one runs, the other's results are written out and it is filled again. With --repeat
 * each batch is run that many times before its results count, on a fresh copy of its frames, which is for --time; maps
 * then have seen every frame that often. Output files appear when the last frame is through.
 */
#include <getopt.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "commands.h"
#include "listing.h"
#include "load.h"
#include "records.h"
#include "tool.h"

#define DEFAULT_BATCH	 1024
#define DEFAULT_STRIDE	 2048
#define DEFAULT_HEADROOM 256 /* XDP_PACKET_HEADROOM */
#define DEFAULT_PORT	 1
#define NUM_BATCHES	 2
#define MAX_DUMPS	 32

struct batch {
	struct buffer buffer;
	uint8_t *frames_in; /* a copy, to repeat from */
	struct virtio_gpgpu_packet_desc *packets;
	struct virtio_gpgpu_packet_result *results;
	struct frame *frames; /* as they came in; their bytes are gone */
	uint32_t count;
	bool running;
	uint64_t ticket;
};

static struct {
	const char *device, *program, *config, *results_path, *maps_path, *records_path;
	const char *dumps[MAX_DUMPS];
	size_t num_dumps;
	uint32_t batch, stride, headroom, flags, port, threads, repeat;
	uint64_t seed;
	bool interleave, time, quiet;
} opt = { .batch = DEFAULT_BATCH,
	  .stride = DEFAULT_STRIDE,
	  .headroom = DEFAULT_HEADROOM,
	  .port = DEFAULT_PORT,
	  .repeat = 1 };

static struct {
	uint64_t verdicts[NUM_VERDICTS], bytes[NUM_VERDICTS];
	uint64_t faults, batches, device_ns, runs;
	uint64_t fault_index; /* the first */
	struct virtio_gpgpu_packet_result fault;
} sum;

static struct capture capture;
static struct session *session;
static void *writer;
static struct loaded loaded;
static struct records records;
static FILE *results_file;
static uint64_t frames_out; /* frames whose results were written */

static size_t batch_bytes(const struct batch *b)
{
	return (size_t)b->count * opt.stride;
}

static void batch_init(struct batch *b)
{
	b->buffer = session_buffer(session, (uint64_t)opt.batch * opt.stride);
	b->packets = xcalloc(opt.batch, sizeof(*b->packets));
	b->results = xcalloc(opt.batch, sizeof(*b->results));
	b->frames = xcalloc(opt.batch, sizeof(*b->frames));
	if (opt.repeat > 1)
		b->frames_in = xcalloc(opt.batch, opt.stride);
}

static void batch_free(struct batch *b)
{
	free(b->packets);
	free(b->results);
	free(b->frames);
	free(b->frames_in);
}

/* Fills a batch from the capture; its count is 0 at the end. */
static void batch_read(struct batch *b)
{
	for (b->count = 0; b->count < opt.batch; b->count++) {
		struct frame *f = &b->frames[b->count];

		if (!capture_next(&capture, f))
			break;
		if (f->captured > opt.stride - opt.headroom)
			die("%s: frame %llu has %u bytes, a slot has room for %u: use --stride", capture.path,
			    (unsigned long long)capture.frames, f->captured, opt.stride - opt.headroom);
		if (f->captured < 14)
			die("%s: frame %llu has %u bytes, no Ethernet header", capture.path,
			    (unsigned long long)capture.frames, f->captured);
		memcpy(b->buffer.bytes + (size_t)b->count * opt.stride + opt.headroom, f->bytes, f->captured);
		b->packets[b->count] = (struct virtio_gpgpu_packet_desc){
			.data_off = opt.headroom,
			.data_len = f->captured,
			.ingress_port = opt.port,
		};
	}
	if (opt.repeat > 1)
		memcpy(b->frames_in, b->buffer.bytes, batch_bytes(b));
}

static void batch_submit(struct batch *b, uint32_t program)
{
	session_packets(session, program, &b->buffer, opt.stride, opt.flags, b->packets, b->count,
			&b->ticket);
	b->running = true;
}

static void batch_wait(struct batch *b)
{
	struct job_result result;
	struct refusal refusal;

	if (session_packets_wait(session, b->ticket, b->results, b->count, &result, &refusal))
		die("frames %llu to %llu: %s", (unsigned long long)frames_out + 1,
		    (unsigned long long)frames_out + b->count, refusal_text(&refusal));
	b->running = false;
	sum.batches++;
	sum.runs += b->count;
	sum.device_ns += result.device_ns;
	/* The next batch finds room. */
	if (records.to)
		records_read(&records, &loaded);
}

static void write_packet(const struct batch *b, uint32_t i)
{
	const struct virtio_gpgpu_packet_result *r = &b->results[i];
	struct frame f = b->frames[i];

	if (r->data_off > opt.stride || r->data_len > opt.stride - r->data_off)
		die("the device put frame %llu outside its slot", (unsigned long long)frames_out + 1);
	if (results_file)
		fprintf(results_file, "%llu %s %u %u %u\n", (unsigned long long)frames_out + 1,
			verdict_name(r->verdict), r->data_len, r->egress_port, r->fault);
	if (r->verdict < NUM_VERDICTS) {
		sum.verdicts[r->verdict]++;
		sum.bytes[r->verdict] += r->data_len;
	}
	if (r->fault && !sum.faults++) {
		sum.fault_index = frames_out + 1;
		sum.fault = *r;
	}
	frames_out++;
	if (r->verdict != XDP_PASS && r->verdict != XDP_TX && r->verdict != XDP_REDIRECT)
		return;
	/* What was not captured is still missing. */
	f.length = r->data_len + (f.length - f.captured);
	f.captured = r->data_len;
	f.bytes = b->buffer.bytes + (size_t)i * opt.stride + r->data_off;
	capture_write(writer, &f);
}

static void batch_finish(struct batch *b, uint32_t program)
{
	if (!b->running)
		return;
	batch_wait(b);
	for (uint32_t n = 1; n < opt.repeat; n++) {
		memcpy(b->buffer.bytes, b->frames_in, batch_bytes(b));
		batch_submit(b, program);
		batch_wait(b);
	}
	for (uint32_t i = 0; i < b->count; i++)
		write_packet(b, i);
}

static void run_batches(uint32_t program)
{
	struct batch batches[NUM_BATCHES] = { 0 };
	unsigned turn = 0;

	for (int i = 0; i < NUM_BATCHES; i++)
		batch_init(&batches[i]);
	for (;; turn = (turn + 1) % NUM_BATCHES) {
		struct batch *b = &batches[turn];

		batch_finish(b, program);
		batch_read(b);
		if (!b->count)
			break;
		batch_submit(b, program);
	}
	for (int i = 1; i < NUM_BATCHES; i++)
		batch_finish(&batches[(turn + (unsigned)i) % NUM_BATCHES], program);
	for (int i = 0; i < NUM_BATCHES; i++)
		batch_free(&batches[i]);
}

static void print_fault(const struct loaded_program *p)
{
	const struct bpf_insn *insns;
	char text[1024];
	size_t count;

	printf("%s packets faulted, the first is %s: %s at instruction %u\n", grouped(sum.faults),
	       grouped(sum.fault_index), gpgpu_reason_name(sum.fault.fault), sum.fault.fault_insn);
	insns = gpgpu_program_insns(p->prog, &count);
	if (sum.fault.fault_insn >= count)
		return;
	printf("  %u: %s\n", sum.fault.fault_insn,
	       insn_text(text, sizeof(text), &loaded, p->prog, insns, count, sum.fault.fault_insn));
	if (source_text(text, sizeof(text), p->prog, sum.fault.fault_insn)[0])
		printf("  %s\n", text);
}

static void print_sum(const struct loaded_program *p)
{
	uint64_t packets = 0, bytes = 0;

	printf("%-10s %14s %16s\n", "verdict", "packets", "bytes");
	for (uint32_t v = 0; v < NUM_VERDICTS; v++) {
		printf("%-10s %14s %16s\n", verdict_name(v), grouped(sum.verdicts[v]), grouped(sum.bytes[v]));
		packets += sum.verdicts[v];
		bytes += sum.bytes[v];
	}
	printf("%-10s %14s %16s\n", "total", grouped(packets), grouped(bytes));
	if (sum.faults)
		print_fault(p);
}

static void print_time(uint64_t wall_ns)
{
	double device = (double)sum.device_ns, runs = (double)sum.runs;

	printf("%s packets in %s batches of up to %s\n", grouped(sum.runs), grouped(sum.batches),
	       grouped(opt.batch));
	if (!sum.runs || !sum.device_ns)
		return;
	printf("device time %.3f ms: %.1f ns a packet, %s packets a second\n", device / 1e6, device / runs,
	       grouped((uint64_t)(runs * 1e9 / device)));
	printf("all in all %.3f ms\n", (double)wall_ns / 1e6);
}

static const char help[] =
	"usage: gpgpu-bpf run [OPTIONS] PROG.o IN.pcap OUT.pcap\n"
	"OUT.pcap gets the frames with XDP_PASS, XDP_TX and XDP_REDIRECT.\n"
	"  --program NAME      which program, if the object has several\n"
	"  --map-config FILE   set maps from a file of lines MAP KEY = VALUE, see gpgpu-bpf(1)\n"
	"  --entries NAME N    how many entries a map has, whatever the object says\n"
	"  --dump NAME         print a map afterwards\n"
	"  --maps-out FILE     write all maps to a file afterwards\n"
	"  --records FILE      write a line per record of ring buffers: map, CPU, bytes\n"
	"  --results FILE      write a line per frame: number, verdict, length, port, fault\n"
	"  --order any|flow|all   which frames of a batch run in order (any)\n"
	"  --interleave SEED   let the frames of a batch take turns at every access of shared memory\n"
	"  --batch N           frames of a batch (1024)\n"
	"  --stride N          bytes of a slot (2048); --headroom N in front of a frame (256)\n"
	"  --port N            port that frames come in by (1)\n"
	"  --repeat N          run each batch N times; --time prints rates\n"
	"  --device NAME       what is to run it: cpu, amdgpu[:NODE] or cuda[:NUMBER]; --threads N\n"
	"  --quiet\n";

static void set_order(const char *text)
{
	if (!strcmp(text, "flow"))
		opt.flags = VIRTIO_GPGPU_PACKETS_ORDER_FLOW;
	else if (!strcmp(text, "all"))
		opt.flags = VIRTIO_GPGPU_PACKETS_ORDER_ALL;
	else if (strcmp(text, "any"))
		die("--order: '%s' is none of any, flow and all", text);
}

/* Return: 0, or 1 when there is nothing to do but to exit with *status. */
static int parse_options(int argc, char **argv, int *status)
{
	enum {
		CONFIG = 256,
		DUMP,
		ENTRIES,
		RECORDS,
		MAPS,
		RESULTS,
		BATCH,
		STRIDE,
		HEADROOM,
		ORDER,
		PORT,
		THREADS,
		REPEAT,
		TIME,
		INTERLEAVE
	};
	static const struct option options[] = {
		{ "map-config", required_argument, NULL, CONFIG },
		{ "dump", required_argument, NULL, DUMP },
		{ "entries", required_argument, NULL, ENTRIES },
		{ "records", required_argument, NULL, RECORDS },
		{ "maps-out", required_argument, NULL, MAPS },
		{ "results", required_argument, NULL, RESULTS },
		{ "batch", required_argument, NULL, BATCH },
		{ "stride", required_argument, NULL, STRIDE },
		{ "headroom", required_argument, NULL, HEADROOM },
		{ "order", required_argument, NULL, ORDER },
		{ "port", required_argument, NULL, PORT },
		{ "threads", required_argument, NULL, THREADS },
		{ "repeat", required_argument, NULL, REPEAT },
		{ "time", no_argument, NULL, TIME },
		{ "interleave", required_argument, NULL, INTERLEAVE },
		{ "program", required_argument, NULL, 'p' },
		{ "device", required_argument, NULL, 'd' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "d:p:qh", options, NULL)) != -1) {
		switch (c) {
		case CONFIG:
			opt.config = optarg;
			break;
		case DUMP:
			if (opt.num_dumps == MAX_DUMPS)
				die("--dump: at most %u times", MAX_DUMPS);
			opt.dumps[opt.num_dumps++] = optarg;
			break;
		case ENTRIES:
			if (optind >= argc)
				die("--entries: NAME and a number are needed");
			map_entries_add(optarg, argv[optind++]);
			break;
		case RECORDS:
			opt.records_path = optarg;
			break;
		case MAPS:
			opt.maps_path = optarg;
			break;
		case RESULTS:
			opt.results_path = optarg;
			break;
		case BATCH:
			opt.batch = (uint32_t)parse_number(optarg, 1, VIRTIO_GPGPU_MAX_BATCH, "--batch");
			break;
		case STRIDE:
			opt.stride = (uint32_t)parse_number(optarg, 64, VIRTIO_GPGPU_MAX_STRIDE, "--stride");
			if (opt.stride % 64)
				die("--stride: %s is not a multiple of 64", optarg);
			break;
		case HEADROOM:
			opt.headroom =
				(uint32_t)parse_number(optarg, 0, VIRTIO_GPGPU_MAX_STRIDE, "--headroom");
			break;
		case ORDER:
			set_order(optarg);
			break;
		case PORT:
			opt.port = (uint32_t)parse_number(optarg, 0, UINT32_MAX, "--port");
			break;
		case THREADS:
			opt.threads = (uint32_t)parse_number(optarg, 1, 256, "--threads");
			break;
		case REPEAT:
			opt.repeat = (uint32_t)parse_number(optarg, 1, 1000000, "--repeat");
			break;
		case TIME:
			opt.time = true;
			break;
		case INTERLEAVE:
			opt.interleave = true;
			opt.seed = parse_number(optarg, 0, UINT64_MAX, "--interleave");
			break;
		case 'p':
			opt.program = optarg;
			break;
		case 'd':
			opt.device = optarg;
			break;
		case 'q':
			opt.quiet = true;
			break;
		case 'h':
			fputs(help, stdout);
			*status = 0;
			return 1;
		default:
			*status = 1;
			return 1;
		}
	}
	if (opt.headroom >= opt.stride)
		die("--headroom: %u is not below --stride %u", opt.headroom, opt.stride);
	if (argc - optind != 3)
		die("run: a program, a capture to read and one to write are needed; gpgpu-bpf run --help");
	return 0;
}

static void run_files(const struct loaded_program *p, const char *out_path)
{
	struct outfile *out, *results = NULL, *maps_out = NULL, *records_out = NULL;
	struct map_target *maps;
	FILE *out_file, *maps_file;
	size_t num_maps;
	uint64_t start;

	maps = load_targets(&loaded, &num_maps);
	if (opt.config)
		mapconfig_apply(opt.config, maps, num_maps);
	for (size_t i = 0; i < opt.num_dumps; i++)
		map_target_find("--dump", maps, num_maps, opt.dumps[i]);
	out = outfile_open(out_path, &out_file);
	writer = capture_writer(out_file, out_path);
	if (opt.results_path)
		results = outfile_open(opt.results_path, &results_file);
	if (opt.records_path)
		records_out = outfile_open(opt.records_path, &records.to);
	start = now_ns();
	run_batches(p->id);
	start = now_ns() - start;
	if (opt.maps_path) {
		maps_out = outfile_open(opt.maps_path, &maps_file);
		for (size_t i = 0; i < num_maps; i++)
			mapconfig_dump(maps_file, &maps[i]);
	}
	outfile_commit(out);
	if (results)
		outfile_commit(results);
	if (maps_out)
		outfile_commit(maps_out);
	if (records_out)
		outfile_commit(records_out);
	if (!opt.quiet)
		print_sum(p);
	if (opt.records_path && !opt.quiet)
		printf("%s records, %s more found no room\n", grouped(records.count),
		       grouped(records.dropped));
	if (opt.time)
		print_time(start);
	if (capture.cut)
		fprintf(stderr, "gpgpu-bpf: %s: %s frames were captured only in part\n", capture.path,
			grouped(capture.cut));
	for (size_t i = 0; i < opt.num_dumps; i++)
		mapconfig_dump(stdout, map_target_find("--dump", maps, num_maps, opt.dumps[i]));
	free(maps);
}

int cmd_run(int argc, char **argv)
{
	struct session_options options = { 0 };
	struct loaded_program *p;
	int status;

	if (parse_options(argc, argv, &status))
		return status;
	options.device = opt.device;
	options.threads = opt.threads;
	options.interleave = opt.interleave;
	options.seed = opt.seed;
	options.shm_size = NUM_BATCHES * (((uint64_t)opt.batch * opt.stride + 4095) & ~4095ull);
	capture_open(&capture, argv[optind + 1]);
	session = session_open(&options);
	load_open(&loaded, session, argv[optind]);
	p = load_find(&loaded, opt.program, GPGPU_PROGRAM_XDP);
	load_all(&loaded, p);
	run_files(p, argv[optind + 2]);
	capture_close(&capture);
	load_close(&loaded);
	session_close(session);
	return 0;
}
