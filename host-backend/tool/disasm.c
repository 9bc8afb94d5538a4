// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpgpu-bpf disasm - a program beside the code that was made of it.
 *
 * Left the instructions in the program's order, with source lines above them if the object has some; right what the
 * compiler says is each one's code. It says so by debug locations, one line per instruction (jit/lines.h), which LLVM
 * keeps up through its passes: an instruction's code may lie in several places, may be shared with another one's and then
 * be counted to either, or be gone. What is of no instruction, the loop over the packets and functions of the
 * run-time library that are called and not inlined, is not shown but counted.
 *
 * LLVM stays out of this process: a helper, gpgpu-disasm, turns code into text (disassembler.c).
 */
#include <errno.h>
#include <getopt.h>
#include <gio/gio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code.h"
#include "commands.h"
#include "disassembler.h"
#include "listing.h"
#include "tool.h"

#define LEFT 46 /* columns of the BPF side */

static const char help[] = "usage: gpgpu-bpf disasm [OPTIONS] PROG.o\n"
			   "  --program NAME   only this one (all)\n"
			   "  --entries NAME N how many entries a map has, whatever the object says\n"
			   "  --device NAME    what is to run it (cpu)\n"
			   "  --bpf            only the program, without code\n";

static struct {
	const char *device, *program;
	bool bpf_only;
} opt;

/* ---------------------------------------------------------- the other process */

static char *find_helper(void)
{
	static const char *const places[] = { ".", "../libexec/gpgpu" };
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *dir = self ? g_path_get_dirname(self) : NULL;

	for (size_t i = 0; dir && i < G_N_ELEMENTS(places); i++) {
		char *path = g_build_filename(dir, places[i], "gpgpu-disasm", NULL);

		if (!access(path, X_OK))
			return path;
		g_free(path);
	}
	die("disasm: there is no gpgpu-disasm beside this program");
}

/* Bytes of code that are of instructions. */
static uint32_t count_ranges(const struct gp_image *image, struct disasm_range *ranges, uint32_t *bytes)
{
	uint32_t n = 0;

	*bytes = 0;
	for (uint32_t i = 0; i < image->num_lines; i++) {
		uint32_t end = i + 1 < image->num_lines ? image->lines[i + 1].offset : image->code_bytes;

		if (image->lines[i].insn == GP_LINE_NONE || end == image->lines[i].offset)
			continue;
		*bytes += end - image->lines[i].offset;
		ranges[n++] = (struct disasm_range){
			.offset = image->lines[i].offset,
			.size = end - image->lines[i].offset,
			.insn = image->lines[i].insn,
		};
	}
	return n;
}

/* Return: the code's text, a line "INSN ADDRESS TEXT" each, in the order of addresses; free(). */
static char *disassemble(const struct session *s, const struct gp_image *image, uint32_t *bytes)
{
	struct disasm_range *ranges = xcalloc(image->num_lines + 1, sizeof(*ranges));
	struct disasm_head head = { .magic = DISASM_MAGIC, .code_bytes = image->code_bytes };
	g_autoptr(GSubprocess) process = NULL;
	g_autoptr(GError) error = NULL;
	g_autofree char *program = find_helper();
	GByteArray *input = g_byte_array_new();
	g_autoptr(GBytes) in = NULL, out = NULL;
	gsize size;

	head.num_ranges = count_ranges(image, ranges, bytes);
	snprintf(head.target, sizeof(head.target), "%s", (const char *)session_caps(s)->target);
	g_byte_array_append(input, (const void *)&head, sizeof(head));
	g_byte_array_append(input, (const void *)ranges, head.num_ranges * sizeof(*ranges));
	g_byte_array_append(input, image->code, image->code_bytes);
	in = g_byte_array_free_to_bytes(input);
	free(ranges);
	process = g_subprocess_new(G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE, &error,
				   program, NULL);
	if (!process || !g_subprocess_communicate(process, in, NULL, &out, NULL, &error))
		die("disasm: %s: %s", program, error->message);
	if (!g_subprocess_get_successful(process))
		die("disasm: %s failed", program);
	size = g_bytes_get_size(out);
	return g_strndup(g_bytes_get_data(out, NULL), size);
}

/* ------------------------------------------------------------------ printing */

/* By instruction: its lines of code, linked. */
struct line {
	const char *text;
	struct line *next;
};

static struct line **sort_lines(char *text, size_t count, struct line **all)
{
	struct line **first = xcalloc(count, sizeof(*first)), **last = xcalloc(count, sizeof(*last));
	size_t n = 0, at = 0;

	for (const char *c = text; *c; c++)
		n += *c == '\n';
	*all = xcalloc(n, sizeof(**all));
	for (char *next; *text && at < n; text = next, at++) {
		unsigned long insn = strtoul(text, &text, 10);

		next = strchr(text, '\n');
		*next++ = '\0';
		(*all)[at].text = text + 1;
		if (insn >= count)
			die("disasm: code of instruction %lu, there are %zu", insn, count);
		if (last[insn])
			last[insn]->next = &(*all)[at];
		else
			first[insn] = &(*all)[at];
		last[insn] = &(*all)[at];
	}
	free(last);
	return first;
}

static void print_program(const struct loaded *l, struct gpgpu_program *prog, struct line **code)
{
	char left[512], text[1024], before[1024] = "";
	struct gpgpu_source source;
	const struct bpf_insn *insns;
	size_t count;

	insns = gpgpu_program_insns(prog, &count);
	for (size_t i = 0; i < count; i += insn_is_wide(&insns[i]) ? 2 : 1) {
		int used;

		gpgpu_program_source(prog, i, &source);
		if (source.function && source.function_start == i)
			printf("\n%s:\n", source.function);
		if (strcmp(source_text(text, sizeof(text), prog, i), before)) {
			snprintf(before, sizeof(before), "%s", text);
			if (text[0])
				printf("; %s\n", text);
		}
		used = snprintf(left, sizeof(left), "%6zu: %s", i,
				insn_text(text, sizeof(text), l, prog, insns, count, i));
		if (!code || !code[i]) {
			printf("%s\n", left);
			continue;
		}
		/* What does not fit on the left gets a line of its own. */
		if (used >= LEFT)
			printf("%s\n%*s", left, LEFT, "");
		else
			printf("%-*s", LEFT, left);
		for (const struct line *line = code[i]; line; line = line->next)
			printf("%s\n%*s", line->text, line->next ? LEFT : 0, "");
	}
}

static bool disasm(struct loaded *l, struct loaded_program *p, struct gp_jit *jit)
{
	const struct loaded_map *map;
	struct line **code, *lines;
	struct gp_image *image;
	struct refusal refusal;
	uint32_t mapped;
	char *text;
	bool xdp;
	size_t count;

	if (load_one(l, p, &refusal, &map)) {
		printf("%s: refused: %s%s%s%s\n", p->info.name, map ? "map '" : "", map ? map->name : "",
		       map ? "': " : "", refusal_text(&refusal));
		if (!map)
			print_program(l, p->prog, NULL);
		return false;
	}
	gpgpu_program_insns(p->prog, &count);
	image = code_compile(jit, l, p, NULL);
	text = disassemble(l->session, image, &mapped);
	code = sort_lines(text, count, &lines);
	xdp = p->info.kind == GPGPU_PROGRAM_XDP;
	printf("%s (%s): %s instructions, %s bytes of code for %s\n", p->info.name, xdp ? "xdp" : "gpgpu",
	       grouped(count), grouped(image->code_bytes), (const char *)session_caps(l->session)->target);
	print_program(l, p->prog, code);
	printf("\n%s bytes are of these instructions, %s of the loop over %s and of the run-time library\n",
	       grouped(mapped), grouped(image->code_bytes - mapped), xdp ? "packets" : "work items");
	free(code);
	free(lines);
	g_free(text);
	gp_image_unref(image);
	return true;
}

static int parse_options(int argc, char **argv, int *status)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'd' }, { "program", required_argument, NULL, 'p' },
		{ "bpf", no_argument, NULL, 'b' },	    { "entries", required_argument, NULL, 'e' },
		{ "help", no_argument, NULL, 'h' },	    { 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "d:p:bh", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			opt.device = optarg;
			break;
		case 'p':
			opt.program = optarg;
			break;
		case 'b':
			opt.bpf_only = true;
			break;
		case 'e':
			if (optind >= argc)
				die("--entries: NAME and a number are needed");
			map_entries_add(optarg, argv[optind++]);
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
	if (argc - optind != 1)
		die("disasm: one object is needed; gpgpu-bpf disasm --help");
	return 0;
}

int cmd_disasm(int argc, char **argv)
{
	struct session_options options = { 0 };
	struct loaded_program *only = NULL;
	struct session *session;
	struct gp_jit *jit;
	struct loaded l;
	bool good = true;
	int status;

	if (parse_options(argc, argv, &status))
		return status;
	options.device = opt.device;
	session = session_open(&options);
	load_open(&l, session, argv[optind]);
	if (!opt.bpf_only && strcmp((const char *)session_caps(session)->target, "x86_64"))
		die("disasm: code of the cpu only; --bpf shows the program alone");
	jit = code_open(session, NULL);
	if (opt.program)
		only = load_find(&l, opt.program, 0);
	for (uint32_t i = 0; i < l.num_programs; i++) {
		if (only && &l.programs[i] != only)
			continue;
		if (i && !only)
			putchar('\n');
		if (opt.bpf_only)
			print_program(&l, l.programs[i].prog, NULL);
		else
			good &= disasm(&l, &l.programs[i], jit);
	}
	code_close(jit);
	load_close(&l);
	session_close(session);
	return good ? 0 : 1;
}
