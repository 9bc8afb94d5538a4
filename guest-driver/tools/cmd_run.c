// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpgpu run - a compute kernel over a grid, its buffers from and to files.
 *
 * Every argument of the kernel is given by its name: NAME=NUMBER, NAME=f32:NUMBER where the kernel takes bits, NAME=@FILE (a buffer with the
 * file's bytes), NAME=+BYTES (a buffer of zeros), and NAME>@FILE to write a buffer out when the kernel has ended.
 * Nothing is written unless it ended well.
 */
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpgpu.h"
#include "tool.h"

struct argument {
	struct gpgpu_arg_info info;
	bool given;
	struct gpgpu_buffer *buffer;
	uint64_t size; /* bytes asked for; the buffer is larger */
	const char *out; /* file to write, or NULL */
};

static struct argument arguments[GPGPU_MAX_ARGS];
static struct gpgpu_arg values[GPGPU_MAX_ARGS];

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

static uint64_t parse_float(const char *name, const char *text, bool twice)
{
	union {
		double f;
		uint64_t bits;
	} d;
	union {
		float f;
		uint32_t bits;
	} s;
	char *end;

	d.f = strtod(text, &end);
	s.f = strtof(text, NULL);
	if (end == text || *end)
		die("argument '%s': '%s' is not a number", name, text);
	return twice ? d.bits : s.bits;
}

static uint64_t parse_value(const struct gpgpu_arg_info *info, const char *text)
{
	unsigned bits = info->size ? info->size * 8 : 64;
	uint64_t max = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
	char what[96];
	int64_t n;

	snprintf(what, sizeof(what), "argument '%.64s'", info->name);
	if (!strncmp(text, "f32:", 4))
		return parse_float(info->name, text + 4, false);
	if (!strncmp(text, "f64:", 4))
		return parse_float(info->name, text + 4, true);
	if (info->is_float)
		return parse_float(info->name, text, info->size == 8);
	if (text[0] != '-')
		return parse_number(text, 0, max, what);
	n = -(int64_t)parse_number(text + 1, 0, 1ull << (bits - 1), what);
	/* What is narrower than its slot is extended as its type says. */
	return info->is_signed ? (uint64_t)n : (uint64_t)n & max;
}

static void make_buffer(struct gpgpu_device *dev, struct argument *a, const void *bytes, uint64_t size)
{
	void *p;

	if (size == 0)
		die("argument '%s': a buffer of 0 bytes", a->info.name);
	if (gpgpu_buffer_create(dev, size, GPGPU_BUFFER_SHARED, &a->buffer) ||
	    gpgpu_buffer_map(a->buffer, &p))
		die("argument '%s': %s", a->info.name, gpgpu_error_message());
	a->size = size;
	if (bytes)
		memcpy(p, bytes, size);
	else
		memset(p, 0, size);
}

static void set_buffer(struct gpgpu_device *dev, struct argument *a, const char *text)
{
	size_t size;
	void *bytes;

	if (text[0] == '+') {
		make_buffer(dev, a, NULL, parse_number(text + 1, 1, UINT64_MAX, a->info.name));
	} else if (text[0] == '@') {
		bytes = read_whole(text + 1, &size);
		make_buffer(dev, a, bytes, size);
		free(bytes);
	} else {
		die("argument '%s' is a buffer: give %s=@FILE or %s=+BYTES", a->info.name, a->info.name,
		    a->info.name);
	}
}

static void set_argument(struct gpgpu_device *dev, struct gpgpu_program *prog, char *text)
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
		if (a->info.kind == GPGPU_ARG_VALUE)
			die("argument '%s' is a value and cannot be written to a file", text);
		if (*op++ != '@' || !*op)
			die("'%s>%s' is not of the form NAME>@FILE", text, op - 1);
		a->out = op;
		return;
	}
	if (a->given)
		die("argument '%s' is given twice", text);
	a->given = true;
	if (a->info.kind == GPGPU_ARG_VALUE)
		values[i].value = parse_value(&a->info, op);
	else
		set_buffer(dev, a, op);
	values[i].kind = a->info.kind;
	values[i].buffer = a->buffer;
	/* The kernel sees what was asked for, not the page's rest. */
	values[i].size = a->size;
}

static void write_outputs(uint32_t count)
{
	struct outfile *files[GPGPU_MAX_ARGS] = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		FILE *f;
		void *p;

		if (!arguments[i].out)
			continue;
		files[i] = outfile_open(arguments[i].out, &f);
		if (gpgpu_buffer_map(arguments[i].buffer, &p))
			die("%s", gpgpu_error_message());
		if (fwrite(p, 1, arguments[i].size, f) != arguments[i].size)
			die("%s: writing failed", arguments[i].out);
	}
	/* Either all of them or none, as far as a file system can. */
	for (uint32_t i = 0; i < count; i++) {
		if (files[i])
			outfile_commit(files[i]);
	}
}

static const char help[] =
	"usage: gpgpu run KERNEL.o[:NAME] --grid X[,Y[,Z]] [--group X[,Y[,Z]]] [--device NODE]\n"
	"                 [--timeout SECONDS] ARGUMENT...\n"
	"  NAME=NUMBER  NAME=f32:NUMBER  NAME=f64:NUMBER   a value\n"
	"  NAME=@FILE   NAME=+BYTES                        a buffer: a file's bytes, or zeros\n"
	"  NAME>@FILE                                      write a buffer to a file afterwards\n";

int cmd_run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "grid", required_argument, NULL, 'g' },   { "group", required_argument, NULL, 'w' },
		{ "device", required_argument, NULL, 'd' }, { "timeout", required_argument, NULL, 't' },
		{ "help", no_argument, NULL, 'h' },	    { 0 },
	};
	uint32_t grid[3] = { 0 }, group[3] = { 0 };
	const char *path = NULL;
	int64_t timeout = -1;
	struct gpgpu_program_info info;
	struct gpgpu_job_result result;
	struct gpgpu_program *prog;
	struct gpgpu_device *dev;
	struct gpgpu_object *obj;
	struct gpgpu_job *job;
	int c;

	while ((c = getopt_long(argc, argv, "g:w:d:t:h", options, NULL)) != -1) {
		switch (c) {
		case 'g':
			parse_dimensions(optarg, grid, "--grid");
			break;
		case 'w':
			parse_dimensions(optarg, group, "--group");
			break;
		case 'd':
			path = optarg;
			break;
		case 't':
			timeout = (int64_t)parse_number(optarg, 0, 1000000, "--timeout") * 1000000000;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return 1;
		}
	}
	if (optind >= argc)
		die("run: no kernel given; gpgpu run --help");
	if (!grid[0])
		die("run: --grid X[,Y[,Z]] is needed");
	dev = open_device(path);
	obj = load_program(dev, argv[optind], GPGPU_PROGRAM_KERNEL, &prog);
	gpgpu_program_get_info(prog, &info);
	for (uint32_t i = 0; i < info.num_args; i++)
		gpgpu_program_arg(prog, i, &arguments[i].info);
	for (int i = optind + 1; i < argc; i++)
		set_argument(dev, prog, argv[i]);
	for (uint32_t i = 0; i < info.num_args; i++) {
		if (!arguments[i].given)
			die("argument '%s' of kernel '%s' (a %s) is not given", arguments[i].info.name,
			    info.name, arguments[i].info.kind == GPGPU_ARG_VALUE ? "value" : "buffer");
	}
	if (gpgpu_dispatch(prog, grid, group[0] ? group : NULL, values, info.num_args, NULL, &job))
		die("%s", gpgpu_error_message());
	c = gpgpu_job_wait(job, timeout, &result, NULL, 0);
	if (c) {
		char *why = xstrdup(gpgpu_error_message());

		gpgpu_job_cancel(job);
		die("%s: %s", info.name, why);
	}
	write_outputs(info.num_args);
	printf("%s: %s work items, %.3f ms of device time, %.3f ms queued, compiled in %.1f ms\n", info.name,
	       grouped((uint64_t)grid[0] * grid[1] * grid[2]), (double)result.device_ns / 1e6,
	       (double)result.queued_ns / 1e6, (double)info.compile_ns / 1e6);
	gpgpu_job_destroy(job);
	for (uint32_t i = 0; i < info.num_args; i++)
		gpgpu_buffer_destroy(arguments[i].buffer);
	gpgpu_object_close(obj);
	gpgpu_close(dev);
	return 0;
}
