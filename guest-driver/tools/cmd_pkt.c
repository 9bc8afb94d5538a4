// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpgpu pkt - an XDP program on the frames of a capture.
 *
 * Frames go to the device in batches. There are two batches: while one runs, the other's results are written out
 * and it is filled again, so that neither the device nor this program waits for the other. Both are on one
 * timeline, so batches run in the capture's order even if frames inside a batch do not. The output files appear when the
 * last frame is through.
 */
#include <getopt.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "gpgpu.h"
#include "tool.h"

#define DEFAULT_BATCH	 1024
#define DEFAULT_STRIDE	 2048
#define DEFAULT_HEADROOM 256 /* XDP_PACKET_HEADROOM */
#define DEFAULT_PORT	 1 /* what BPF_PROG_TEST_RUN says in a namespace of its own: lo */
#define NUM_BATCHES	 2
#define MAX_DUMPS	 32

struct batch {
	struct gpgpu_buffer *buffer;
	uint8_t *bytes;
	struct gpgpu_packet *packets;
	struct gpgpu_packet_result *results;
	struct frame *frames; /* as they came in; their bytes are gone */
	uint32_t count;
	struct gpgpu_job *job; /* NULL: not running */
};

static struct {
	const char *device, *config, *results_path, *maps_path, *records_path;
	const char *dumps[MAX_DUMPS];
	char *entries[MAX_DUMPS][2]; /* map, entry */
	size_t num_dumps, num_entries;
	uint32_t batch, stride, headroom, flags, port;
	bool quiet;
} opt = { .batch = DEFAULT_BATCH,
	  .stride = DEFAULT_STRIDE,
	  .headroom = DEFAULT_HEADROOM,
	  .port = DEFAULT_PORT };

static struct {
	uint64_t verdicts[NUM_VERDICTS], bytes[NUM_VERDICTS];
	uint64_t faults, batches, device_ns;
	uint64_t fault_index; /* the first */
	uint64_t records;
	struct gpgpu_packet_result fault;
} sum;

static struct capture capture;
static void *writer;
static FILE *results_file, *records_file;
static const struct map_target *record_maps; /* all maps */
static size_t num_record_maps;
static uint64_t frames_out; /* frames whose results were written */

static void batch_init(struct batch *b, struct gpgpu_device *dev)
{
	void *p;

	if (gpgpu_buffer_create(dev, (uint64_t)opt.batch * opt.stride, GPGPU_BUFFER_SHARED, &b->buffer) ||
	    gpgpu_buffer_map(b->buffer, &p))
		die("%s", gpgpu_error_message());
	b->bytes = p;
	b->packets = xcalloc(opt.batch, sizeof(*b->packets));
	b->results = xcalloc(opt.batch, sizeof(*b->results));
	b->frames = xcalloc(opt.batch, sizeof(*b->frames));
}

static void batch_free(struct batch *b)
{
	gpgpu_buffer_destroy(b->buffer);
	free(b->packets);
	free(b->results);
	free(b->frames);
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
		memcpy(b->bytes + (size_t)b->count * opt.stride + opt.headroom, f->bytes, f->captured);
		b->packets[b->count] = (struct gpgpu_packet){
			.data_off = opt.headroom,
			.data_len = f->captured,
			.ingress_port = opt.port,
		};
	}
}

static void batch_submit(struct batch *b, struct gpgpu_program *prog)
{
	if (gpgpu_packets(prog, b->buffer, 0, opt.stride, b->packets, b->count, opt.flags, NULL, &b->job))
		die("%s", gpgpu_error_message());
}

static void write_packet(const struct batch *b, uint32_t i)
{
	const struct gpgpu_packet_result *r = &b->results[i];
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
	f.bytes = b->bytes + (size_t)i * opt.stride + r->data_off;
	capture_write(writer, &f);
}

static int write_record(void *name, uint32_t cpu, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	fprintf(records_file, "%s %u ", (const char *)name, cpu);
	for (size_t i = 0; i < size; i++)
		fprintf(records_file, "%02x", bytes[i]);
	fputc('\n', records_file);
	sum.records++;
	return 0;
}

static bool has_records(const struct map_target *t)
{
	return t->type == BPF_MAP_TYPE_RINGBUF || t->type == BPF_MAP_TYPE_PERF_EVENT_ARRAY;
}

/* Takes out what there is, so that the next batches find room. */
static void read_records(void)
{
	int r;

	for (size_t i = 0; records_file && i < num_record_maps; i++) {
		const struct map_target *t = &record_maps[i];

		if (!has_records(t))
			continue;
		do {
			r = gpgpu_map_read(t->map, write_record, (void *)(uintptr_t)t->name, 0);
		} while (r > 0);
		if (r < 0)
			die("%s", gpgpu_error_message());
	}
}

static void print_records(void)
{
	uint64_t dropped = 0;

	for (size_t i = 0; i < num_record_maps; i++) {
		if (has_records(&record_maps[i]))
			dropped += gpgpu_map_dropped(record_maps[i].map);
	}
	printf("%s records, %s more found no room\n", grouped(sum.records), grouped(dropped));
}

static void batch_finish(struct batch *b)
{
	struct gpgpu_job_result result;

	if (!b->job)
		return;
	if (gpgpu_job_wait(b->job, -1, &result, b->results, b->count))
		die("%s", gpgpu_error_message());
	gpgpu_job_destroy(b->job);
	b->job = NULL;
	sum.batches++;
	sum.device_ns += result.device_ns;
	for (uint32_t i = 0; i < b->count; i++)
		write_packet(b, i);
	read_records();
}

static void print_sum(void)
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
		printf("%s packets faulted, the first is %s: %s at instruction %u\n", grouped(sum.faults),
		       grouped(sum.fault_index), gpgpu_reason_name(sum.fault.fault), sum.fault.fault_insn);
	printf("%s packets in %s batches of up to %s, %.3f ms of device time (%s packets a second)\n",
	       grouped(packets), grouped(sum.batches), grouped(opt.batch), (double)sum.device_ns / 1e6,
	       grouped(sum.device_ns ? (uint64_t)((double)packets * 1e9 / (double)sum.device_ns) : 0));
}

static const char help[] =
	"usage: gpgpu pkt [OPTIONS] PROG.o[:NAME] IN.pcap OUT.pcap\n"
	"OUT.pcap gets the frames with XDP_PASS, XDP_TX and XDP_REDIRECT.\n"
	"  --config FILE       set maps from a file of lines MAP KEY = VALUE, see gpgpu(1)\n"
	"  --map NAME ENTRY    set one entry: 'KEY=VALUE'\n"
	"  --entries NAME N    entries that a map is to have, whatever its object says\n"
	"  --map-dump NAME     print a map afterwards\n"
	"  --maps-out FILE     write all maps to a file afterwards\n"
	"  --records FILE      write a line per record of ring buffers: map, CPU, bytes\n"
	"  --results FILE      write a line per frame: number, verdict, length, port, fault\n"
	"  --batch N           frames of a batch (1024)\n"
	"  --stride N          bytes of a slot (2048); --headroom N in front of a frame (256)\n"
	"  --order any|flow|all   which frames of a batch run in order (any)\n"
	"  --port N            port that frames come in by (1)\n"
	"  --device NODE       --quiet\n";

/* Return: 0, or 1 when there is nothing to do but to exit with *status. */
static int parse_options(int argc, char **argv, int *status)
{
	enum {
		CONFIG = 256,
		MAP,
		DUMP,
		MAPS,
		RECORDS,
		RESULTS,
		BATCH,
		STRIDE,
		HEADROOM,
		ORDER,
		PORT,
		ENTRIES
	};
	static const struct option options[] = {
		{ "config", required_argument, NULL, CONFIG },
		{ "map", required_argument, NULL, MAP },
		{ "map-dump", required_argument, NULL, DUMP },
		{ "maps-out", required_argument, NULL, MAPS },
		{ "records", required_argument, NULL, RECORDS },
		{ "results", required_argument, NULL, RESULTS },
		{ "batch", required_argument, NULL, BATCH },
		{ "stride", required_argument, NULL, STRIDE },
		{ "headroom", required_argument, NULL, HEADROOM },
		{ "order", required_argument, NULL, ORDER },
		{ "port", required_argument, NULL, PORT },
		{ "entries", required_argument, NULL, ENTRIES },
		{ "device", required_argument, NULL, 'd' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "d:qh", options, NULL)) != -1) {
		switch (c) {
		case CONFIG:
			opt.config = optarg;
			break;
		case MAP:
			if (optind >= argc || opt.num_entries == MAX_DUMPS)
				die("--map: NAME and KEY=VALUE are needed, at most %u times", MAX_DUMPS);
			opt.entries[opt.num_entries][0] = optarg;
			opt.entries[opt.num_entries++][1] = argv[optind++];
			break;
		case DUMP:
			if (opt.num_dumps == MAX_DUMPS)
				die("--map-dump: at most %u times", MAX_DUMPS);
			opt.dumps[opt.num_dumps++] = optarg;
			break;
		case MAPS:
			opt.maps_path = optarg;
			break;
		case RECORDS:
			opt.records_path = optarg;
			break;
		case RESULTS:
			opt.results_path = optarg;
			break;
		case BATCH:
			opt.batch = (uint32_t)parse_number(optarg, 1, 1u << 20, "--batch");
			break;
		case STRIDE:
			opt.stride = (uint32_t)parse_number(optarg, 64, 1u << 20, "--stride");
			if (opt.stride % 64)
				die("--stride: %s is not a multiple of 64", optarg);
			break;
		case HEADROOM:
			opt.headroom = (uint32_t)parse_number(optarg, 0, 1u << 20, "--headroom");
			break;
		case ORDER:
			if (!strcmp(optarg, "flow"))
				opt.flags = GPGPU_PACKETS_ORDER_FLOW;
			else if (!strcmp(optarg, "all"))
				opt.flags = GPGPU_PACKETS_ORDER_ALL;
			else if (strcmp(optarg, "any"))
				die("--order: '%s' is none of any, flow and all", optarg);
			break;
		case ENTRIES:
			if (optind >= argc)
				die("--entries: NAME and a number are needed");
			map_entries_add(optarg, argv[optind++]);
			break;
		case PORT:
			opt.port = (uint32_t)parse_number(optarg, 0, UINT32_MAX, "--port");
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
		die("pkt: a program, a capture to read and one to write are needed; gpgpu pkt --help");
	return 0;
}

static void check_limits(struct gpgpu_device *dev)
{
	struct gpgpu_caps caps;

	if (gpgpu_get_caps(dev, &caps))
		die("%s", gpgpu_error_message());
	if (caps.max_batch && opt.batch > caps.max_batch)
		die("--batch: %u is over the device's %u", opt.batch, caps.max_batch);
	if (caps.max_stride && opt.stride > caps.max_stride)
		die("--stride: %u is over the device's %u", opt.stride, caps.max_stride);
}

static void run_batches(struct gpgpu_device *dev, struct gpgpu_program *prog)
{
	struct batch batches[NUM_BATCHES] = { 0 };
	unsigned turn = 0;

	for (int i = 0; i < NUM_BATCHES; i++)
		batch_init(&batches[i], dev);
	for (;; turn = (turn + 1) % NUM_BATCHES) {
		struct batch *b = &batches[turn];

		batch_finish(b);
		batch_read(b);
		if (!b->count)
			break;
		batch_submit(b, prog);
	}
	for (int i = 1; i < NUM_BATCHES; i++)
		batch_finish(&batches[(turn + (unsigned)i) % NUM_BATCHES]);
	for (int i = 0; i < NUM_BATCHES; i++)
		batch_free(&batches[i]);
}

int cmd_pkt(int argc, char **argv)
{
	struct outfile *out, *results = NULL, *maps_out = NULL, *records = NULL;
	struct gpgpu_program *prog;
	struct map_target *maps;
	struct gpgpu_device *dev;
	struct gpgpu_object *obj;
	FILE *out_file, *maps_file;
	size_t num_maps;
	int status;

	if (parse_options(argc, argv, &status))
		return status;
	capture_open(&capture, argv[optind + 1]);
	dev = open_device(opt.device);
	check_limits(dev);
	obj = load_program(dev, argv[optind], GPGPU_PROGRAM_XDP, &prog);
	maps = device_maps(obj, dev, &num_maps);
	if (opt.config)
		mapconfig_apply(opt.config, maps, num_maps);
	for (size_t i = 0; i < opt.num_entries; i++)
		mapconfig_entry("--map", map_target_find("--map", maps, num_maps, opt.entries[i][0]),
				opt.entries[i][1]);
	for (size_t i = 0; i < opt.num_dumps; i++)
		map_target_find("--map-dump", maps, num_maps, opt.dumps[i]);

	out = outfile_open(argv[optind + 2], &out_file);
	writer = capture_writer(out_file, argv[optind + 2]);
	if (opt.results_path)
		results = outfile_open(opt.results_path, &results_file);
	if (opt.records_path)
		records = outfile_open(opt.records_path, &records_file);
	record_maps = maps;
	num_record_maps = num_maps;
	run_batches(dev, prog);
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
	if (records)
		outfile_commit(records);

	if (!opt.quiet)
		print_sum();
	if (!opt.quiet && opt.records_path)
		print_records();
	if (capture.cut)
		fprintf(stderr, "gpgpu: %s: %s frames were captured only in part\n", capture.path,
			grouped(capture.cut));
	for (size_t i = 0; i < opt.num_dumps; i++)
		mapconfig_dump(stdout, map_target_find("--map-dump", maps, num_maps, opt.dumps[i]));
	capture_close(&capture);
	free(maps);
	gpgpu_object_close(obj);
	gpgpu_close(dev);
	return 0;
}
