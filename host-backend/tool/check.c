// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpgpu-bpf check - is each program of an object accepted, and what does it cost?
 *
 * Each program is judged apart: a refused one does not keep the others from being looked at.
 */
#include <getopt.h>

#include <glib.h>

#include "code.h"
#include "commands.h"
#include "listing.h"
#include "tool.h"

static const char help[] = "usage: gpgpu-bpf check [OPTIONS] PROG.o...\n"
			   "Exit status 0 if every program was accepted.\n"
			   "  --program NAME   only this one\n"
			   "  --device NAME    what is to run it: cpu, amdgpu[:NODE] or cuda[:NUMBER]\n"
			   "  --target NAME    also compile it for this GPU, as gfx1030; none is needed\n";

static struct {
	const char *device, *program, *target;
} opt;

/* Compilers: of the device, and of --target. */
static struct gp_jit *device_jit, *target_jit;

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

/* What a lane, and a wave, of a GPU takes; how many lanes run at once follows from the first. */
static void print_gpu_cost(const char *target, const struct gp_image *image)
{
	printf("  %s: %s bytes of code, %u VGPRs, %u SGPRs, %s bytes of scratch", target,
	       grouped(image->code_bytes), image->vgprs, image->sgprs, grouped(image->scratch_bytes));
	if (image->vgpr_spills || image->sgpr_spills)
		printf(", %u spilled", image->vgpr_spills + image->sgpr_spills);
	printf(", %.1f ms to compile\n", (double)image->cpu_ns / 1e6);
}

static void print_cost(const char *target, const struct gp_image *image)
{
	if (!g_str_equal(target, "x86_64")) {
		print_gpu_cost(target, image);
		return;
	}
	printf("  %s: %s bytes of code, %s bytes of stack, %.1f ms to compile\n", target,
	       grouped(image->code_bytes), grouped(image->frame_bytes), (double)image->cpu_ns / 1e6);
}

static void print_accepted(const struct loaded *l, const struct loaded_program *p)
{
	const struct virtio_gpgpu_caps *caps = session_caps(l->session);
	struct gp_sums_info lanes;
	struct gp_image *image = code_compile(device_jit, l, p, &lanes);

	print_head(l, &p->info, "accepted");
	print_cost((const char *)caps->target, image);
	gp_image_unref(image);
	if (target_jit) {
		image = code_compile(target_jit, l, p, NULL);
		print_cost(opt.target, image);
		gp_image_unref(image);
	}
	print_lanes(&lanes);
}

static bool check(struct loaded *l, struct loaded_program *p)
{
	const struct loaded_map *map;
	struct refusal refusal;

	if (load_one(l, p, &refusal, &map)) {
		print_refused(l, p, &refusal, map);
		return false;
	}
	print_accepted(l, p);
	return true;
}

static int parse_options(int argc, char **argv, int *status)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'd' }, { "program", required_argument, NULL, 'p' },
		{ "target", required_argument, NULL, 't' }, { "entries", required_argument, NULL, 'e' },
		{ "help", no_argument, NULL, 'h' },	    { 0 },
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
		case 't':
			opt.target = optarg;
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

static bool check_object(struct session *session, const char *path)
{
	struct loaded l;
	bool good = true;

	load_open(&l, session, path);
	if (opt.program)
		good = check(&l, load_find(&l, opt.program, 0));
	for (uint32_t i = 0; !opt.program && i < l.num_programs; i++)
		good &= check(&l, &l.programs[i]);
	load_close(&l);
	session_clear(session); /* the next one has all of the memory */
	return good;
}

int cmd_check(int argc, char **argv)
{
	struct session_options options = { 0 };
	struct session *session;
	bool good = true;
	int status;

	if (parse_options(argc, argv, &status))
		return status;
	options.device = opt.device;
	session = session_open(&options);
	device_jit = code_open(session, NULL);
	if (opt.target)
		target_jit = code_open(session, opt.target);
	for (int i = optind; i < argc; i++)
		good &= check_object(session, argv[i]);
	code_close(target_jit);
	code_close(device_jit);
	session_close(session);
	return good ? 0 : 1;
}
