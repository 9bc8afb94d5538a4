// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpgpu-oracle - what the running kernel makes of a capture with the same XDP object.
 *
 * The object is loaded into this machine's kernel by libbpf, its maps are set from the same text that gpgpu pkt
 * takes, and each frame goes through BPF_PROG_TEST_RUN. What gpgpu pkt wrote for the same capture (frames,
 * results, maps) is compared with that: every verdict, every length, every byte of what goes out, every map.
 * Nothing here touches a GPGPU device. Needs the right to load programs (root).
 */
#include <errno.h>
#include <getopt.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "capture.h"
#include "tool.h"
#include "virtio_gpgpu.h"

#define MAX_FRAME   3520 /* a page, less headroom and what the kernel keeps behind a frame */
#define MIN_FRAME   14 /* an Ethernet header */
#define MAX_ENTRIES 32
#define MAX_SHOWN   5 /* differences that are shown */

static struct {
	const char *config, *out, *results, *maps, *records, *save;
	char *entries[MAX_ENTRIES][2];
	size_t num_entries;
} opt;

static uint64_t differences;
static char libbpf_warning[512];

static int note_warning(enum libbpf_print_level level, const char *format, va_list ap)
{
	size_t used = strlen(libbpf_warning);

	/* The first warnings name the cause. */
	if (level == LIBBPF_WARN && used + 1 < sizeof(libbpf_warning)) {
		vsnprintf(libbpf_warning + used, sizeof(libbpf_warning) - used, format, ap);
		for (char *p = libbpf_warning; *p; p++) {
			if (*p == '\n')
				*p = ' ';
		}
	}
	return 0;
}

static void differs(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void differs(const char *format, ...)
{
	va_list ap;

	if (differences++ >= MAX_SHOWN)
		return;
	va_start(ap, format);
	fputs("gpgpu-oracle: ", stderr);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
}

/* -------------------------------------------------------------- kernel's side */

static int fd_of(void *map)
{
	return bpf_map__fd(map);
}

static int update(void *map, const void *key, const void *value, size_t size)
{
	return bpf_map_update_elem(fd_of(map), key, value, BPF_ANY) ? -errno : 0;
}

static int lookup(void *map, const void *key, void *value, size_t size)
{
	return bpf_map_lookup_elem(fd_of(map), key, value) ? -errno : 0;
}

static int next_key(void *map, const void *key, void *next)
{
	return bpf_map_get_next_key(fd_of(map), key, next) ? -errno : 0;
}

static int pop(void *map, void *value, size_t size)
{
	return bpf_map_lookup_and_delete_elem(fd_of(map), NULL, value) ? -errno : 0;
}

static struct bpf_object *object;

static uint32_t named(void *map, const char *name)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(object, name);
	struct bpf_map *other = bpf_object__find_map_by_name(object, name);
	int fd;

	if (bpf_map__type(map) == BPF_MAP_TYPE_PROG_ARRAY)
		fd = prog ? bpf_program__fd(prog) : 0;
	else
		fd = other ? bpf_map__fd(other) : 0;
	return fd > 0 ? (uint32_t)fd : 0;
}

static bool has_copies(enum bpf_map_type type)
{
	return type == BPF_MAP_TYPE_PERCPU_ARRAY || type == BPF_MAP_TYPE_PERCPU_HASH ||
	       type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

static int ignore(void *map, const void *key, const void *value, size_t size)
{
	return 0;
}

static const char *error(int err)
{
	return strerror(-err);
}

static struct map_target *kernel_maps(struct bpf_object *obj, size_t *count)
{
	struct map_target *targets;
	struct bpf_map *m;
	size_t n = 1;
	int cpus = libbpf_num_possible_cpus();

	object = obj;
	bpf_object__for_each_map(m, obj)
		n++;
	targets = xcalloc(n, sizeof(*targets));
	n = 0;
	bpf_object__for_each_map(m, obj) {
		enum bpf_map_type type = bpf_map__type(m);
		const char *name = bpf_map__name(m);
		bool percpu = has_copies(type);

		/* libbpf puts the object's name before ".rodata" and the like. */
		if (bpf_map__is_internal(m) && strchr(name, '.'))
			name = strchr(name, '.');
		targets[n++] = (struct map_target){
			.name = name,
			.key_size = bpf_map__key_size(m),
			.value_size = bpf_map__value_size(m),
			.copies = percpu ? (uint32_t)(cpus > 0 ? cpus : 1) : 0,
			.is_array = type == BPF_MAP_TYPE_ARRAY || type == BPF_MAP_TYPE_PERCPU_ARRAY,
			.type = type,
			.map = m,
			.update = update,
			.lookup = lookup,
			.next_key = next_key,
			.pop = pop,
			.named = named,
			.error = error,
		};
	}
	/* The kernel has routes of its own, which whoever runs this sets; a device's are passed over. */
	targets[n++] = (struct map_target){
		.name = ROUTES_MAP,
		.key_size = sizeof(struct virtio_gpgpu_fib_key),
		.value_size = sizeof(struct virtio_gpgpu_fib_entry),
		.update = ignore,
		.error = error,
	};
	*count = n;
	return targets;
}

static bool has_tail_calls(const struct bpf_object *obj)
{
	struct bpf_map *m;

	bpf_object__for_each_map(m, obj) {
		if (bpf_map__type(m) == BPF_MAP_TYPE_PROG_ARRAY)
			return true;
	}
	return false;
}

static struct bpf_object *load(char *spec, struct bpf_program **out)
{
	struct bpf_program *prog, *found = NULL;
	struct bpf_object *obj;
	const char *name;
	struct bpf_map *m;

	split_object(spec, &name);
	libbpf_set_print(note_warning);
	obj = bpf_object__open_file(spec, NULL);
	if (!obj)
		die("%s: %s", spec, libbpf_warning[0] ? libbpf_warning : strerror(errno));
	bpf_object__for_each_program(prog, obj) {
		bool wanted = name ? !strcmp(bpf_program__name(prog), name)
				   : bpf_program__type(prog) == BPF_PROG_TYPE_XDP;

		/* Where there are tail calls the others are their targets. */
		bpf_program__set_autoload(prog, wanted || (has_tail_calls(obj) &&
							   bpf_program__type(prog) == BPF_PROG_TYPE_XDP));
		if (wanted && found)
			die("%s: has several XDP programs, say which: %s:NAME", spec, spec);
		if (wanted)
			found = prog;
	}
	if (!found || bpf_program__type(found) != BPF_PROG_TYPE_XDP)
		die("%s: has no such XDP program", spec);
	bpf_object__for_each_map(m, obj) {
		uint32_t entries = map_entries_of(bpf_map__name(m));

		if (entries)
			bpf_map__set_max_entries(m, entries);
		/* A pinned map would outlive this run and be found by the next. */
		if (bpf_map__pin_path(m))
			bpf_map__set_pin_path(m, NULL);
	}
	if (bpf_object__load(obj))
		die("%s: the kernel refuses it: %s", spec, libbpf_warning);
	*out = found;
	return obj;
}

/* ----------------------------------------------------------------- comparing */

struct expected {
	FILE *results;
	struct capture out;
	bool has_out;
};

static void compare_result(struct expected *e, uint64_t number, uint32_t verdict, uint32_t length)
{
	unsigned long long n;
	unsigned len, port, fault;
	char name[16];

	if (!e->results)
		return;
	if (fscanf(e->results, "%llu %15s %u %u %u", &n, name, &len, &port, &fault) != 5)
		die("%s: ends before frame %llu or is damaged", opt.results, (unsigned long long)number);
	if (n != number)
		die("%s: has frame %llu where %llu is due", opt.results, n, (unsigned long long)number);
	if (strcmp(name, verdict_name(verdict)))
		differs("frame %llu: the device says %s, the kernel %s", n, name, verdict_name(verdict));
	else if (verdict >= XDP_PASS && len != length)
		differs("frame %llu: %u bytes from the device, %u from the kernel", n, len, length);
}

static void compare_bytes(struct expected *e, uint64_t number, const uint8_t *bytes, uint32_t length)
{
	struct frame f;
	uint32_t at = 0;

	if (!e->has_out)
		return;
	if (!capture_next(&e->out, &f)) {
		differs("frame %llu: %s ends before it", (unsigned long long)number, opt.out);
		return;
	}
	if (f.captured != length) {
		differs("frame %llu: %u bytes from the device, %u from the kernel",
			(unsigned long long)number, f.captured, length);
		return;
	}
	while (at < length && f.bytes[at] == bytes[at])
		at++;
	if (at < length)
		differs("frame %llu: byte %u is 0x%02x from the device, 0x%02x from the kernel",
			(unsigned long long)number, at, f.bytes[at], bytes[at]);
}

struct lines {
	char *text; /* cut into lines */
	char **line; /* sorted */
	size_t count;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct lines split_lines(char *text, size_t size)
{
	struct lines l = { .text = text };
	char *save = NULL;

	for (size_t i = 0; i < size; i++)
		l.count += text[i] == '\n';
	l.line = xcalloc(l.count + 1, sizeof(*l.line));
	l.count = 0;
	for (char *p = strtok_r(text, "\n", &save); p; p = strtok_r(NULL, "\n", &save)) {
		/* Constants cannot change, and those that nobody reads are no map on the device. */
		if (strncmp(p, ".rodata", 7))
			l.line[l.count++] = p;
	}
	qsort(l.line, l.count, sizeof(*l.line), by_text);
	return l;
}

static struct lines read_lines(const char *path)
{
	size_t size;
	char *bytes = read_whole(path, &size), *text = xcalloc(1, size + 1);

	memcpy(text, bytes, size);
	free(bytes);
	return split_lines(text, size);
}

/* Two sets of lines. Frees both. */
static void compare_lines(const char *what, struct lines *kernel, struct lines *device)
{
	size_t k = 0, d = 0;

	while (k < kernel->count || d < device->count) {
		int order = k == kernel->count	 ? 1
			    : d == device->count ? -1
						 : strcmp(kernel->line[k], device->line[d]);

		if (order < 0)
			differs("only in the kernel's %s: %s", what, kernel->line[k]);
		else if (order > 0)
			differs("only in the device's %s: %s", what, device->line[d]);
		k += order <= 0;
		d += order >= 0;
	}
	free(kernel->line);
	free(kernel->text);
	free(device->line);
	free(device->text);
}

/* Maps come in another order on either side, so entries are compared as sets. Return: entries of the kernel's. */
static uint64_t compare_maps(const struct map_target *maps, size_t count)
{
	struct lines kernel, device;
	size_t size;
	char *text;
	FILE *f;

	if (!opt.maps)
		return 0;
	f = open_memstream(&text, &size);
	if (!f)
		die("out of memory");
	for (size_t i = 0; i < count; i++)
		mapconfig_dump(f, &maps[i]);
	fclose(f);
	kernel = split_lines(text, size);
	device = read_lines(opt.maps);
	size = kernel.count;
	compare_lines("maps", &kernel, &device);
	return size;
}

/* ------------------------------------------------------------------- records */

/* What programs leave in ring buffers, in the form of gpgpu pkt's --records but for the CPU, which is anybody's. */
static struct {
	struct ring_buffer *ring;
	FILE *f;
	char *text;
	size_t size;
} records;

static int note_record(void *name, void *data, size_t size)
{
	const uint8_t *bytes = data;

	fprintf(records.f, "%s ", (const char *)name);
	for (size_t i = 0; i < size; i++)
		fprintf(records.f, "%02x", bytes[i]);
	fputc('\n', records.f);
	return 0;
}

static void records_start(struct bpf_object *obj)
{
	struct bpf_map *m;
	int err = 0;

	if (!opt.records)
		return;
	records.f = open_memstream(&records.text, &records.size);
	if (!records.f)
		die("out of memory");
	bpf_object__for_each_map(m, obj) {
		void *name = (void *)(uintptr_t)bpf_map__name(m);

		if (bpf_map__type(m) != BPF_MAP_TYPE_RINGBUF)
			continue;
		if (!records.ring) {
			records.ring = ring_buffer__new(bpf_map__fd(m), note_record, name, NULL);
			err = records.ring ? 0 : -errno;
		} else {
			err = ring_buffer__add(records.ring, bpf_map__fd(m), note_record, name);
		}
		if (err)
			die("map '%s': %s", bpf_map__name(m), strerror(-err));
	}
}

static void records_take(void)
{
	if (records.ring && ring_buffer__consume(records.ring) < 0)
		die("a ring buffer cannot be read");
}

/* "MAP CPU BYTES" without the CPU. Return: whether the map is a ring buffer, which is what was read here. */
static bool drop_cpu(char *line)
{
	char *cpu = strchr(line, ' '), *bytes = cpu ? strchr(cpu + 1, ' ') : NULL;
	struct bpf_map *map;

	if (!bytes)
		die("%s: is damaged: %s", opt.records, line);
	*cpu = '\0';
	map = bpf_object__find_map_by_name(object, line);
	*cpu = ' ';
	memmove(cpu, bytes, strlen(bytes) + 1);
	return map && bpf_map__type(map) == BPF_MAP_TYPE_RINGBUF;
}

/* Return: how many there are in the kernel's. */
static uint64_t compare_records(void)
{
	struct lines kernel, device;
	size_t count;

	if (!opt.records)
		return 0;
	fclose(records.f);
	ring_buffer__free(records.ring);
	kernel = split_lines(records.text, records.size);
	device = read_lines(opt.records);
	count = 0;
	for (size_t i = 0; i < device.count; i++) {
		if (drop_cpu(device.line[i]))
			device.line[count++] = device.line[i];
	}
	device.count = count;
	qsort(device.line, device.count, sizeof(*device.line), by_text);
	count = kernel.count;
	compare_lines("records", &kernel, &device);
	return count;
}

/* -------------------------------------------------------------------- saving */

/* What the kernel made of it, in the files and forms that gpgpu pkt writes: SAVE.pcap, .results and .maps. */
static struct {
	struct outfile *files[3];
	FILE *results, *maps;
	void *writer;
} saved;

static struct outfile *save_open(const char *suffix, FILE **f)
{
	char *path;

	/* The path is asked for again when the file is done. */
	if (asprintf(&path, "%s%s", opt.save, suffix) < 0)
		die("out of memory");
	return outfile_open(path, f);
}

static void save_start(void)
{
	FILE *f;

	if (!opt.save)
		return;
	saved.files[0] = save_open(".pcap", &f);
	saved.writer = capture_writer(f, opt.save);
	saved.files[1] = save_open(".results", &saved.results);
	saved.files[2] = save_open(".maps", &saved.maps);
}

static void save_frame(const struct frame *in, uint64_t number, uint32_t verdict, const uint8_t *bytes,
		       uint32_t length)
{
	struct frame f = *in;

	if (!opt.save)
		return;
	fprintf(saved.results, "%llu %s %u 0 0\n", (unsigned long long)number, verdict_name(verdict), length);
	if (verdict != XDP_PASS && verdict != XDP_TX && verdict != XDP_REDIRECT)
		return;
	f.length = length + (in->length - in->captured);
	f.captured = length;
	f.bytes = bytes;
	capture_write(saved.writer, &f);
}

static void save_end(const struct map_target *maps, size_t count)
{
	if (!opt.save)
		return;
	for (size_t i = 0; i < count; i++)
		mapconfig_dump(saved.maps, &maps[i]);
	for (size_t i = 0; i < ARRAY_SIZE(saved.files); i++)
		outfile_commit(saved.files[i]);
}

/* ------------------------------------------------------------------- running */

static uint32_t run_frame(int prog, const struct capture *in, const struct frame *f, uint8_t *out,
			  uint32_t *length)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = f->bytes, .data_size_in = f->captured, .data_out = out,
		    .data_size_out = MAX_FRAME + 512, .repeat = 1);

	if (f->captured < MIN_FRAME || f->captured > MAX_FRAME)
		die("%s: frame %llu has %u bytes, the kernel takes %u to %u", in->path,
		    (unsigned long long)in->frames, f->captured, MIN_FRAME, MAX_FRAME);
	if (bpf_prog_test_run_opts(prog, &run))
		die("%s: frame %llu: BPF_PROG_TEST_RUN: %s", in->path, (unsigned long long)in->frames,
		    strerror(errno));
	*length = run.data_size_out;
	return run.retval < NUM_VERDICTS ? run.retval : XDP_ABORTED;
}

static const char help[] =
	"usage: gpgpu-oracle [OPTIONS] PROG.o[:NAME] IN.pcap\n"
	"Runs the program in this machine's kernel and compares with what gpgpu pkt wrote:\n"
	"  --out FILE        its OUT.pcap\n"
	"  --results FILE    its --results\n"
	"  --maps FILE       its --maps-out\n"
	"  --records FILE    its --records, of ring buffers\n"
	"  --save PREFIX     write the kernel's side: PREFIX.pcap, PREFIX.results, PREFIX.maps\n"
	"  --config FILE, --map NAME ENTRY, --entries NAME N    as for gpgpu pkt\n";

static int parse_options(int argc, char **argv)
{
	enum { CONFIG = 256, MAP, OUT, RESULTS, RECORDS, MAPS, SAVE, ENTRIES };
	static const struct option options[] = {
		{ "config", required_argument, NULL, CONFIG },
		{ "map", required_argument, NULL, MAP },
		{ "out", required_argument, NULL, OUT },
		{ "results", required_argument, NULL, RESULTS },
		{ "maps", required_argument, NULL, MAPS },
		{ "records", required_argument, NULL, RECORDS },
		{ "save", required_argument, NULL, SAVE },
		{ "entries", required_argument, NULL, ENTRIES },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case CONFIG:
			opt.config = optarg;
			break;
		case MAP:
			if (optind >= argc || opt.num_entries == MAX_ENTRIES)
				die("--map: NAME and KEY=VALUE are needed, at most %u times", MAX_ENTRIES);
			opt.entries[opt.num_entries][0] = optarg;
			opt.entries[opt.num_entries++][1] = argv[optind++];
			break;
		case OUT:
			opt.out = optarg;
			break;
		case RESULTS:
			opt.results = optarg;
			break;
		case RECORDS:
			opt.records = optarg;
			break;
		case MAPS:
			opt.maps = optarg;
			break;
		case ENTRIES:
			if (optind >= argc)
				die("--entries: NAME and a number are needed");
			map_entries_add(optarg, argv[optind++]);
			break;
		case SAVE:
			opt.save = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			exit(0);
		default:
			exit(1);
		}
	}
	if (argc - optind != 2)
		die("a program and a capture are needed; gpgpu-oracle --help");
	return optind;
}

static void open_expected(struct expected *e)
{
	*e = (struct expected){ 0 };
	if (opt.results) {
		e->results = fopen(opt.results, "re");
		if (!e->results)
			die("%s: %s", opt.results, strerror(errno));
	}
	if (opt.out) {
		capture_open(&e->out, opt.out);
		e->has_out = true;
	}
}

/* Return: frames that go out. */
static uint64_t run_capture(int prog, struct capture *in, struct expected *e, uint64_t verdicts[NUM_VERDICTS])
{
	uint8_t *out = xcalloc(1, MAX_FRAME + 512);
	uint32_t length, verdict;
	uint64_t sent = 0;
	struct frame f;

	while (capture_next(in, &f)) {
		verdict = run_frame(prog, in, &f, out, &length);
		verdicts[verdict]++;
		records_take();
		compare_result(e, in->frames, verdict, length);
		save_frame(&f, in->frames, verdict, out, length);
		if (verdict < XDP_PASS)
			continue;
		compare_bytes(e, in->frames, out, length);
		sent++;
	}
	if (e->has_out && capture_next(&e->out, &f))
		differs("%s has frames that the kernel does not send", opt.out);
	if (e->results && fscanf(e->results, " %*c") != EOF)
		differs("%s has more frames than the capture", opt.results);
	free(out);
	return sent;
}

int main(int argc, char **argv)
{
	uint64_t verdicts[NUM_VERDICTS] = { 0 }, sent, entries, num_records;
	struct bpf_program *prog;
	struct map_target *maps;
	struct bpf_object *obj;
	struct expected expected;
	struct capture in;
	size_t num_maps;
	int at;

	tool_name = "gpgpu-oracle";
	at = parse_options(argc, argv);
	capture_open(&in, argv[at + 1]);
	open_expected(&expected);
	obj = load(argv[at], &prog);
	maps = kernel_maps(obj, &num_maps);
	if (opt.config)
		mapconfig_apply(opt.config, maps, num_maps);
	for (size_t i = 0; i < opt.num_entries; i++)
		mapconfig_entry("--map", map_target_find("--map", maps, num_maps, opt.entries[i][0]),
				opt.entries[i][1]);
	records_start(obj);
	save_start();
	sent = run_capture(bpf_program__fd(prog), &in, &expected, verdicts);
	save_end(maps, num_maps);
	entries = compare_maps(maps, num_maps);
	num_records = compare_records();
	free(maps);
	bpf_object__close(obj);
	capture_close(&in);
	if (expected.has_out)
		capture_close(&expected.out);
	if (expected.results)
		fclose(expected.results);

	for (uint32_t v = 0; v < NUM_VERDICTS; v++) {
		if (verdicts[v])
			printf("%-10s %14s\n", verdict_name(v), grouped(verdicts[v]));
	}
	if (differences)
		die("%s differences from what the kernel does with %s frames", grouped(differences),
		    grouped(in.frames));
	if (!opt.results && !opt.out && !opt.maps && !opt.records) {
		printf("%s frames, %s go out; nothing to compare with\n", grouped(in.frames), grouped(sent));
		return 0;
	}
	printf("%s frames", grouped(in.frames));
	if (opt.results)
		printf(", their verdicts");
	if (opt.out)
		printf(", every byte of the %s that go out", grouped(sent));
	if (opt.maps)
		printf(", %s map entries", grouped(entries));
	if (opt.records)
		printf(", %s records", grouped(num_records));
	printf(": equal to BPF_PROG_TEST_RUN\n");
	return 0;
}
