// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpgpu run - a compute kernel over a grid, for who has no program: its buffers from files, numbers and patterns, and to files.
 *
 * Every argument of the kernel is given by its name; gpgpu(1) has the forms. What can be found wrong without a device is found
 * before one is opened. Nothing is written unless the kernel ended well and, with --check, another device came to
 * the same bytes.
 */
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpgpu.h"
#include "run.h"
#include "tool.h"

#define MAX_OUTPUTS 16

struct argument {
	struct gpgpu_arg_info info;
	char where[96]; /* for messages */
	bool given;
	uint64_t value;
	void *bytes; /* that the buffer begins with; NULL: zeros */
	uint64_t size; /* bytes asked for; the buffer is larger */
};

/* The kernel on one device. */
struct instance {
	struct gpgpu_device *dev;
	struct gpgpu_caps caps;
	struct gpgpu_object *obj;
	struct gpgpu_program *prog;
	struct gpgpu_buffer *buffers[GPGPU_MAX_ARGS];
	struct gpgpu_arg values[GPGPU_MAX_ARGS];
	struct gpgpu_job_result result;
	uint64_t load_ns, fill_ns, run_ns;
};

static struct {
	uint32_t grid[3], group[3];
	const char *device, *check;
	bool want_check, want_times;
	int64_t timeout;
	uint64_t seed;
} options = { .timeout = -1, .seed = 1 };

static struct argument arguments[GPGPU_MAX_ARGS];
static uint32_t num_arguments;

static struct {
	struct output output;
	uint32_t argument;
} outputs[MAX_OUTPUTS];
static uint32_t num_outputs;

/* ---------------------------------------------------------------- what was asked for */

static void parse_dimensions(const char *text, uint32_t out[3], const char *what)
{
	char *copy = xstrdup(text), *save = NULL;
	int n = 0;

	out[0] = out[1] = out[2] = 1;
	for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		if (n == 3)
			die("%s: '%s' has more than three dimensions", what, text);
		out[n++] = (uint32_t)parse_number(p, 1, UINT32_MAX, what);
	}
	if (n == 0)
		die("%s: no number", what);
	free(copy);
}

static const struct element *element_type(const struct gpgpu_arg_info *info)
{
	return info->is_number ? element_of(info->size, info->is_signed, info->is_float) : NULL;
}

/* A value's slot: what is narrower is extended as its type says. "f32:" and "f64:" are for kernels that take bits. */
static uint64_t parse_value(const struct argument *a, const char *text)
{
	const struct element *type = element_prefix(&text, element_type(&a->info));
	unsigned shift = type ? 64 - type->size * 8 : 0;
	uint64_t bits = 0;

	if (!type)
		die("%s: a number of %u bytes: give its bits, u%u:NUMBER", a->where, a->info.size,
		    a->info.size * 8);
	if (type->size > a->info.size)
		die("%s: takes %u bytes, not %s", a->where, a->info.size, type->name);
	element_parse(a->where, type, text, strlen(text), &bits);
	return type->is_signed && !type->is_float ? (uint64_t)((int64_t)(bits << shift) >> shift) : bits;
}

static void add_output(const struct argument *a, const char *text)
{
	if (a->info.kind == GPGPU_ARG_VALUE)
		die("argument '%s' is a value and cannot be written to a file", a->info.name);
	if (num_outputs == MAX_OUTPUTS)
		die("at most %d files can be written", MAX_OUTPUTS);
	outputs[num_outputs].argument = (uint32_t)(a - arguments);
	outputs[num_outputs++].output = output_parse(a->where, element_type(&a->info), text);
}

static bool is_buffer_text(const char *text)
{
	return text[0] == '@' || text[0] == '+' || strpbrk(text, "*,:") || !strncmp(text, "text@", 5);
}

static void set_argument(const struct gpgpu_program *prog, char *text)
{
	char *op = strpbrk(text, "=>"), kind;
	struct argument *a;
	int i;

	if (!op || op == text)
		die("'%s' is not of the form NAME=VALUE or NAME>@FILE", text);
	kind = *op;
	*op++ = '\0';
	i = gpgpu_program_arg_index(prog, text);
	if (i < 0)
		die("%s", gpgpu_error_message());
	a = &arguments[i];
	if (kind == '>') {
		add_output(a, op);
		return;
	}
	if (a->given)
		die("argument '%s' is given twice", text);
	a->given = true;
	if (a->info.kind == GPGPU_ARG_VALUE)
		a->value = parse_value(a, op);
	else if (!is_buffer_text(op))
		die("argument '%s' is a buffer: give %s=@FILE, %s=+BYTES, %s=COUNT*NUMBER or %s=NUMBER,NUMBER...",
		    text, text, text, text, text);
	else
		a->bytes = input_make(a->where, element_type(&a->info), op, options.seed, &a->size);
}

static void read_arguments(const struct gpgpu_program *prog, int argc, char **argv)
{
	struct gpgpu_program_info info;

	gpgpu_program_get_info(prog, &info);
	num_arguments = info.num_args;
	for (uint32_t i = 0; i < num_arguments; i++) {
		struct argument *a = &arguments[i];

		gpgpu_program_arg(prog, i, &a->info);
		snprintf(a->where, sizeof(a->where), "argument '%.64s'", a->info.name);
	}
	for (int i = 0; i < argc; i++)
		set_argument(prog, argv[i]);
	for (uint32_t i = 0; i < num_arguments; i++) {
		if (!arguments[i].given)
			die("argument '%s' of kernel '%s' (a %s) is not given", arguments[i].info.name,
			    info.name, arguments[i].info.kind == GPGPU_ARG_VALUE ? "value" : "buffer");
	}
}

/* ---------------------------------------------------------------- running it */

static void fill_buffers(struct instance *in)
{
	for (uint32_t i = 0; i < num_arguments; i++) {
		struct argument *a = &arguments[i];
		void *p;

		in->values[i] =
			(struct gpgpu_arg){ .kind = a->info.kind, .value = a->value, .size = a->size };
		if (a->info.kind == GPGPU_ARG_VALUE)
			continue;
		if (gpgpu_buffer_create(in->dev, a->size, GPGPU_BUFFER_SHARED, &in->buffers[i]) ||
		    gpgpu_buffer_map(in->buffers[i], &p))
			die("%s: %s", a->where, gpgpu_error_message());
		if (a->bytes)
			memcpy(p, a->bytes, a->size);
		/* The kernel sees what was asked for, not the page's rest. */
		in->values[i].buffer = in->buffers[i];
	}
}

static void die_of_job(const struct instance *in, struct gpgpu_job *job, const char *why)
{
	struct gpgpu_program_info info;
	struct gpgpu_source source = { 0 };

	gpgpu_job_cancel(job);
	gpgpu_program_get_info(in->prog, &info);
	if (in->result.fault_count && !gpgpu_program_source(in->prog, in->result.fault_insn, &source) &&
	    source.file)
		die("%s: %s, %s:%u", info.name, why, source.file, source.line);
	die("%s: %s", info.name, why);
}

/* One line of standard error, with no command to the terminal that shows it. */
static int show_line(void *opaque, const uint32_t item[3], const char *text)
{
	size_t length = strlen(text);
	bool begins = true;

	(void)opaque;
	while (length && text[length - 1] == '\n')
		length--;
	for (size_t i = 0; i < length || begins; i++) {
		if (begins)
			fprintf(stderr, "[%u,%u,%u] ", item[0], item[1], item[2]);
		begins = i < length && text[i] == '\n';
		if (i < length)
			fputc(text[i] == '\n' || text[i] == '\t' || (unsigned char)text[i] >= ' ' ? text[i]
												  : '?',
			      stderr);
	}
	fputc('\n', stderr);
	return 0;
}

/* What the kernel has printed, and how much of it was lost. */
static void show_lines(const struct instance *in)
{
	uint64_t dropped;
	int r;

	while ((r = gpgpu_object_lines(in->obj, show_line, NULL, 0)) > 0)
		;
	if (r < 0)
		fprintf(stderr, "gpgpu: %s\n", gpgpu_error_message());
	dropped = gpgpu_object_lines_dropped(in->obj);
	if (dropped)
		fprintf(stderr, "gpgpu: %s lines more were printed than there was room for\n",
			grouped(dropped));
}

static void run_on(struct instance *in, const char *path)
{
	uint64_t start = now_ns(), loaded, filled;
	struct gpgpu_job *job;

	in->dev = open_device(path);
	if (gpgpu_get_caps(in->dev, &in->caps))
		die("%s", gpgpu_error_message());
	load_object(in->obj, in->prog, in->dev);
	loaded = now_ns();
	fill_buffers(in);
	filled = now_ns();
	if (gpgpu_dispatch(in->prog, options.grid, options.group[0] ? options.group : NULL, in->values,
			   num_arguments, NULL, &job))
		die("%s", gpgpu_error_message());
	if (gpgpu_job_wait(job, options.timeout, &in->result, NULL, 0)) {
		char *why = xstrdup(gpgpu_error_message());

		show_lines(in);
		die_of_job(in, job, why);
	}
	show_lines(in);
	gpgpu_job_destroy(job);
	in->load_ns = loaded - start;
	in->fill_ns = filled - loaded;
	in->run_ns = now_ns() - filled;
}

static void finish(struct instance *in)
{
	for (uint32_t i = 0; i < num_arguments; i++)
		gpgpu_buffer_destroy(in->buffers[i]);
	gpgpu_object_close(in->obj);
	gpgpu_close(in->dev);
}

static const uint8_t *bytes_of(const struct instance *in, uint32_t argument)
{
	void *p;

	if (gpgpu_buffer_map(in->buffers[argument], &p))
		die("%s", gpgpu_error_message());
	return p;
}

/* ---------------------------------------------------------------- checking it */

static bool is_cpu(const char *target)
{
	static const char *const gpus[] = { "gfx", "sm_" };

	for (size_t i = 0; i < ARRAY_SIZE(gpus); i++) {
		if (!strncmp(target, gpus[i], strlen(gpus[i])))
			return false;
	}
	return true;
}

/* Return: the path of a CPU device other than the one that was used, or die. */
static const char *find_cpu_device(const struct instance *used)
{
	static struct gpgpu_device_info infos[16];
	int n = gpgpu_enumerate(infos, ARRAY_SIZE(infos));

	for (int i = 0; i < n && i < (int)ARRAY_SIZE(infos); i++) {
		struct gpgpu_device *dev;
		struct gpgpu_caps caps;
		bool good;

		if (!infos[i].accessible || !strcmp(infos[i].path, gpgpu_device_path(used->dev)) ||
		    gpgpu_open(infos[i].path, &dev))
			continue;
		good = !gpgpu_get_caps(dev, &caps) && is_cpu(caps.target);
		gpgpu_close(dev);
		if (good)
			return infos[i].path;
	}
	if (is_cpu(used->caps.target))
		die("--check: %s is itself a CPU device, and there is no other; name one: --check=NODE",
		    gpgpu_device_path(used->dev));
	die("--check: there is no CPU device to compare with; name another device: --check=NODE");
}

static void compare(const struct instance *a, const struct instance *b)
{
	for (uint32_t i = 0; i < num_arguments; i++) {
		const struct element *type = element_type(&arguments[i].info), *byte = element_find("u8", 2);
		uint64_t first = 0, differ = 0, count;
		const uint8_t *pa, *pb;
		char ta[32], tb[32];

		if (arguments[i].info.kind == GPGPU_ARG_VALUE)
			continue;
		if (!type || arguments[i].size % type->size)
			type = byte;
		count = arguments[i].size / type->size;
		pa = bytes_of(a, i);
		pb = bytes_of(b, i);
		for (uint64_t e = 0; e < count; e++) {
			if (!memcmp(pa + e * type->size, pb + e * type->size, type->size))
				continue;
			if (!differ++)
				first = e;
		}
		if (differ)
			die("--check: argument '%s': %s of %s elements (%s) differ: number %llu is %s on %s (%s), "
			    "%s on %s (%s)",
			    arguments[i].info.name, grouped(differ), grouped(count), type->name,
			    (unsigned long long)first, element_print(type, pa + first * type->size, ta),
			    gpgpu_device_path(a->dev), a->caps.target,
			    element_print(type, pb + first * type->size, tb), gpgpu_device_path(b->dev),
			    b->caps.target);
	}
}

/* ---------------------------------------------------------------- what came of it */

static void write_outputs(const struct instance *in)
{
	struct outfile *files[MAX_OUTPUTS];

	for (uint32_t i = 0; i < num_outputs; i++) {
		const struct argument *a = &arguments[outputs[i].argument];
		FILE *f;

		files[i] = outfile_open(outputs[i].output.path, &f);
		output_write(a->where, &outputs[i].output, options.grid[0], bytes_of(in, outputs[i].argument),
			     a->size, f);
	}
	/* Either all of them or none, as far as a file system can. */
	for (uint32_t i = 0; i < num_outputs; i++)
		outfile_commit(files[i]);
}

static void print_phase(const char *name, uint64_t ns, const char *what)
{
	printf("  %-8s %10.3f ms  %s\n", name, (double)ns / 1e6, what);
}

static void print_result(const struct instance *in, const struct instance *other, uint64_t write_ns)
{
	struct gpgpu_program_info info;
	char text[96];

	gpgpu_program_get_info(in->prog, &info);
	printf("%s: %s work items, %.3f ms of device time, %.3f ms queued, compiled in %.1f ms\n", info.name,
	       grouped((uint64_t)options.grid[0] * options.grid[1] * options.grid[2]),
	       (double)in->result.device_ns / 1e6, (double)in->result.queued_ns / 1e6,
	       (double)info.compile_ns / 1e6);
	if (other)
		printf("checked: %s (%s) has the same bytes, in %.3f ms of device time\n",
		       gpgpu_device_path(other->dev), other->caps.target,
		       (double)other->result.device_ns / 1e6);
	if (!options.want_times)
		return;
	snprintf(text, sizeof(text), "open the device, compile (%.3f ms) and load",
		 (double)info.compile_ns / 1e6);
	print_phase("load", in->load_ns, text);
	print_phase("fill", in->fill_ns, "make the buffers and fill them");
	snprintf(text, sizeof(text), "submit and wait; on the device: %.3f ms queued, %.3f ms running",
		 (double)in->result.queued_ns / 1e6, (double)in->result.device_ns / 1e6);
	print_phase("run", in->run_ns, text);
	print_phase("write", write_ns, "write the results");
}

static const char help[] =
	"usage: gpgpu run KERNEL.o[:NAME] --grid X[,Y[,Z]] [--group X[,Y[,Z]]] [--device NODE]\n"
	"                 [--timeout SECONDS] [--check[=NODE]] [--times] [--seed N] ARGUMENT...\n"
	"  NAME=NUMBER  NAME=f32:NUMBER  NAME=f64:NUMBER   a value\n"
	"  NAME=@FILE   NAME=+BYTES                        a buffer: a file's bytes, or zeros\n"
	"  NAME=[TYPE:]NUMBER,NUMBER...                    numbers; TYPE: u8..u64, s8..s64, f32, f64\n"
	"  NAME=[TYPE:]text@FILE                           numbers in a text file\n"
	"  NAME=[TYPE:]COUNT*PATTERN                       NUMBER, ramp[:START[:STEP]], random[:LOW:HIGH]\n"
	"  NAME>[TYPE:][FORMAT[:WIDTH[:BLACK:WHITE]]]@FILE write a buffer to a file afterwards;\n"
	"                                                  FORMAT: raw, text, csv, pgm, png, png-rgb\n";

static int parse_options(int argc, char **argv)
{
	static const struct option table[] = {
		{ "grid", required_argument, NULL, 'g' },
		{ "group", required_argument, NULL, 'w' },
		{ "device", required_argument, NULL, 'd' },
		{ "timeout", required_argument, NULL, 't' },
		{ "check", optional_argument, NULL, 'c' },
		{ "times", no_argument, NULL, 'T' },
		{ "seed", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "g:w:d:t:s:Th", table, NULL)) != -1) {
		switch (c) {
		case 'g':
			parse_dimensions(optarg, options.grid, "--grid");
			break;
		case 'w':
			parse_dimensions(optarg, options.group, "--group");
			break;
		case 'd':
			options.device = optarg;
			break;
		case 't':
			options.timeout = (int64_t)parse_number(optarg, 0, 1000000, "--timeout") * 1000000000;
			break;
		case 'c':
			options.want_check = true;
			options.check = optarg;
			break;
		case 'T':
			options.want_times = true;
			break;
		case 's':
			options.seed = parse_number(optarg, 0, UINT64_MAX, "--seed");
			break;
		case 'h':
			fputs(help, stdout);
			exit(0);
		default:
			exit(1);
		}
	}
	return optind;
}

int cmd_run(int argc, char **argv)
{
	struct instance in = { 0 }, other = { 0 };
	int first = parse_options(argc, argv);
	uint64_t write_ns;
	char *again;

	if (first >= argc)
		die("run: no kernel given; gpgpu run --help");
	if (!options.grid[0])
		die("run: --grid X[,Y[,Z]] is needed");
	again = xstrdup(argv[first]);
	in.obj = open_program(argv[first], GPGPU_PROGRAM_KERNEL, &in.prog);
	read_arguments(in.prog, argc - first - 1, argv + first + 1);
	run_on(&in, options.device);
	if (options.want_check) {
		const char *path = options.check ? options.check : find_cpu_device(&in);

		other.obj = open_program(again, GPGPU_PROGRAM_KERNEL, &other.prog);
		run_on(&other, path);
		compare(&in, &other);
	}
	write_ns = now_ns();
	write_outputs(&in);
	write_ns = now_ns() - write_ns;
	print_result(&in, options.want_check ? &other : NULL, write_ns);
	finish(&in);
	if (options.want_check)
		finish(&other);
	for (uint32_t i = 0; i < num_arguments; i++)
		free(arguments[i].bytes);
	free(again);
	return 0;
}
