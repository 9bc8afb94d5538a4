// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpgpu-bpf check - is each program of an object accepted, and what does it cost?
 *
 * Each program is judged apart: a refused one does not keep the others from being looked at.
 */
#include <getopt.h>

#include "code.h"
#include "commands.h"
#include "listing.h"
#include "tool.h"

static const char help[] = "usage: gpgpu-bpf check [OPTIONS] PROG.o...\n"
			   "Exit status 0 if every program was accepted.\n"
			   "  --program NAME   only this one\n"
			   "  --device NAME    what is to run it (cpu)\n";

static struct {
	const char *device, *program;
} opt;

static void print_head(const struct loaded *l, const struct gpgpu_program_info *info, const char *verdict)
{
	printf("%s: %s (%s, %s instructions): %s\n", l->path, info->name,
	       info->kind == GPGPU_PROGRAM_XDP ? "xdp" : "gpgpu", grouped(info->num_insns), verdict);
}

/* Reasons about a program have the number of an instruction; others have a limit or an id there. */
static bool names_insn(const struct refusal *refusal)
{
	return refusal->status == VIRTIO_GPGPU_S_REJECTED && refusal->reason >= VIRTIO_GPGPU_R_OPCODE &&
	       refusal->reason != VIRTIO_GPGPU_R_COMPILER;
}

static void print_refused(const struct loaded *l, const struct loaded_program *p,
			  const struct refusal *refusal, const struct loaded_map *map)
{
	char text[1024];

	print_head(l, &p->info, "refused");
	if (map) {
		printf("  map '%s': %s\n", map->name, refusal_text(refusal));
		return;
	}
	printf("  %s\n", refusal_text(refusal));
	if (!names_insn(refusal))
		return;
	if (source_text(text, sizeof(text), p->prog, refusal->detail)[0])
		printf("  %s\n", text);
}

/* What is exact wherever packets run at once, and what may not be (docs/lanes.md). */
static void print_lanes(const struct gp_sums_info *lanes)
{
	if (!lanes->sums && !lanes->others)
		return;
	printf("  lanes:");
	if (lanes->sums)
		printf(" %u counter%s", lanes->sums, lanes->sums == 1 ? " is exact" : "s are exact");
	if (lanes->others)
		printf("%s %u other store%s to what lanes share, the first by instruction %u",
		       lanes->sums ? ";" : "", lanes->others, lanes->others == 1 ? "" : "s",
		       lanes->first_other);
	printf("\n");
}

static void print_accepted(const struct loaded *l, const struct loaded_program *p, struct gp_jit *jit)
{
	const struct virtio_gpgpu_caps *caps = session_caps(l->session);
	struct gp_sums_info lanes;
	struct gp_image *image = code_compile(jit, l, p, &lanes);

	print_head(l, &p->info, "accepted");
	printf("  %s: %s bytes of code, %s bytes of stack, %.1f ms to compile\n", (const char *)caps->target,
	       grouped(p->cost.code_bytes), grouped(image->frame_bytes), (double)image->cpu_ns / 1e6);
	print_lanes(&lanes);
	gp_image_unref(image);
}

static bool check(struct loaded *l, struct loaded_program *p, struct gp_jit *jit)
{
	const struct loaded_map *map;
	struct refusal refusal;

	if (load_one(l, p, &refusal, &map)) {
		print_refused(l, p, &refusal, map);
		return false;
	}
	print_accepted(l, p, jit);
	return true;
}

static int parse_options(int argc, char **argv, int *status)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "program", required_argument, NULL, 'p' },
		{ "entries", required_argument, NULL, 'e' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "d:p:h", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			opt.device = optarg;
			break;
		case 'p':
			opt.program = optarg;
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
	if (argc == optind)
		die("check: an object is needed; gpgpu-bpf check --help");
	return 0;
}

static bool check_object(struct session *session, struct gp_jit *jit, const char *path)
{
	struct loaded l;
	bool good = true;

	load_open(&l, session, path);
	if (opt.program)
		good = check(&l, load_find(&l, opt.program, 0), jit);
	for (uint32_t i = 0; !opt.program && i < l.num_programs; i++)
		good &= check(&l, &l.programs[i], jit);
	load_close(&l);
	session_clear(session); /* the next one has all of the memory */
	return good;
}

int cmd_check(int argc, char **argv)
{
	struct session_options options = { 0 };
	struct session *session;
	struct gp_jit *jit;
	bool good = true;
	int status;

	if (parse_options(argc, argv, &status))
		return status;
	options.device = opt.device;
	session = session_open(&options);
	jit = code_open(session);
	for (int i = optind; i < argc; i++)
		good &= check_object(session, jit, argv[i]);
	code_close(jit);
	session_close(session);
	return good ? 0 : 1;
}
