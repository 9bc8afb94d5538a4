// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_object.c - libgpgpu's reading of ELF objects, without a device.
 *
 * Three things are tested: that what is read is what is in the source (names, arguments, maps, global data), that a linked program
 * is one that the running kernel accepts and that gives what libbpf's own linking of the same file gives, and that
 * a damaged or wrong file is refused with a message and nothing worse. The kernel's part is left out, and said to
 * be, where bpf() is not permitted.
 */
#include <check.h>
#include <elf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "gpgpu.h"

#define PACKET 128
/* Of each object; the fuzzer of objects does more, for minutes, where there are sanitizers. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MUTATIONS 60
#endif
#endif
#ifndef MUTATIONS
#define MUTATIONS 150
#endif

static const char *objects = OBJECTS, *examples = EXAMPLES;

static const char *const good_objects[] = { "calls",  "data",	  "args",      "good_core",
					    "beside", "callback", "map_values" };
static const char *const example_names[] = { "histogram", "mandelbrot",	  "matmul", "saxpy",
					     "sha256",	  "xdp_firewall", "xdp_lb" };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *path_of(const char *folder, const char *name)
{
	static char path[1024];

	snprintf(path, sizeof(path), "%s/%s.bpf.o", folder, name);
	return path;
}

static struct gpgpu_object *open_good(const char *folder, const char *name)
{
	struct gpgpu_object *obj;
	int r = gpgpu_object_open(path_of(folder, name), &obj);

	ck_assert_msg(r == 0, "%s: %s", name, gpgpu_error_message());
	return obj;
}

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes;

	ck_assert_msg(f != NULL, "%s", path);
	fseek(f, 0, SEEK_END);
	*size = (size_t)ftell(f);
	rewind(f);
	bytes = malloc(*size + 1);
	ck_assert(bytes && fread(bytes, 1, *size, f) == *size);
	fclose(f);
	return bytes;
}

/* ------------------------------------------------------------ what was read */

START_TEST(args_of_every_kind)
{
	static const struct gpgpu_arg_info want[] = {
		{ "bytes", GPGPU_ARG_BUFFER_RO, 1, true, false, false },
		{ "out", GPGPU_ARG_BUFFER, 8, true, false, false },
		{ "number", GPGPU_ARG_VALUE, 4, true, true, false },
		{ "small", GPGPU_ARG_VALUE, 1, true, false, false },
		{ "mode", GPGPU_ARG_VALUE, 4, true, false, false },
		{ "hidden", GPGPU_ARG_BUFFER_RO, 4, true, false, false },
		{ "any", GPGPU_ARG_BUFFER, 0, false, false, false },
		{ "fixed", GPGPU_ARG_BUFFER_RO, 0, false, false, false },
		{ "careful", GPGPU_ARG_BUFFER_RO, 2, true, false, false },
		{ "scale", GPGPU_ARG_VALUE, 4, true, true, true },
		{ "fine", GPGPU_ARG_VALUE, 8, true, true, true },
		{ "floats", GPGPU_ARG_BUFFER_RO, 4, true, true, true },
		{ "self", GPGPU_ARG_BUFFER_RO, 104, false, false, false },
	};
	struct gpgpu_object *obj = open_good(objects, "args");
	struct gpgpu_program *prog = gpgpu_object_program(obj, "all_kinds");
	struct gpgpu_program_info info;
	struct gpgpu_arg_info got;
	struct gpgpu_arg args[COUNT(want)] = { 0 };

	ck_assert(prog != NULL);
	gpgpu_program_get_info(prog, &info);
	ck_assert_uint_eq(info.kind, GPGPU_PROGRAM_KERNEL);
	ck_assert_uint_eq(info.num_args, COUNT(want));
	ck_assert(!info.loaded);
	for (uint32_t i = 0; i < COUNT(want); i++) {
		ck_assert_int_eq(gpgpu_program_arg(prog, i, &got), 0);
		ck_assert_str_eq(got.name, want[i].name);
		ck_assert_msg(got.kind == want[i].kind, "%s", got.name);
		ck_assert_msg(got.size == want[i].size, "%s", got.name);
		ck_assert_msg(got.is_number == want[i].is_number, "%s", got.name);
		ck_assert_msg(got.is_signed == want[i].is_signed, "%s", got.name);
		ck_assert_msg(got.is_float == want[i].is_float, "%s", got.name);
		ck_assert_int_eq(gpgpu_program_arg_index(prog, want[i].name), (int)i);
	}
	ck_assert_int_eq(gpgpu_program_arg(prog, COUNT(want), &got), -EINVAL);
	ck_assert_int_eq(gpgpu_program_arg_index(prog, "nothing"), -ENOENT);
	ck_assert_int_eq(gpgpu_arg_set_value(prog, args, "number", 42), 0);
	ck_assert_uint_eq(args[2].value, 42);
	ck_assert_int_eq(gpgpu_arg_set_value(prog, args, "out", 42), -EINVAL);
	ck_assert_int_eq(gpgpu_arg_set_buffer(prog, args, "small", NULL), -EINVAL);

	prog = gpgpu_object_program(obj, "none");
	gpgpu_program_get_info(prog, &info);
	ck_assert_uint_eq(info.num_args, 0);
	ck_assert(gpgpu_object_program(obj, NULL) == NULL); /* there are two */
	gpgpu_object_close(obj);
}
END_TEST

static void says(int got, int want, const char *words)
{
	ck_assert_int_eq(got, want);
	ck_assert_msg(strstr(gpgpu_error_message(), words), "%s", gpgpu_error_message());
}

START_TEST(args_by_type)
{
	struct gpgpu_object *obj = open_good(objects, "args");
	struct gpgpu_program *prog = gpgpu_object_program(obj, "all_kinds");
	struct gpgpu_arg args[13] = { 0 };
	const int32_t minus = -5;
	const uint8_t byte = 250;
	const double d = -0.1;
	uint64_t bits;

	/* By position: exactly the type's bytes, extended as the type says. */
	ck_assert_int_eq(gpgpu_arg_set(prog, args, 2, &minus, sizeof(minus)), 0);
	ck_assert(args[2].kind == GPGPU_ARG_VALUE && args[2].value == (uint64_t)-5);
	ck_assert_int_eq(gpgpu_arg_set(prog, args, 3, &byte, 1), 0);
	ck_assert_uint_eq(args[3].value, 250);
	ck_assert_int_eq(gpgpu_arg_set(prog, args, 10, &d, sizeof(d)), 0);
	memcpy(&bits, &d, sizeof(bits));
	ck_assert_uint_eq(args[10].value, bits);
	says(gpgpu_arg_set(prog, args, 2, &d, sizeof(d)), -EINVAL,
	     "argument 'number' of kernel 'all_kinds' takes 4 bytes, not 8");
	says(gpgpu_arg_set(prog, args, 1, &d, sizeof(d)), -EINVAL,
	     "argument 'out' of kernel 'all_kinds' is a buffer");
	says(gpgpu_arg_set(prog, args, 13, &d, sizeof(d)), -EINVAL, "has no argument 13");

	/* By name: numbers that the type has. */
	ck_assert_int_eq(gpgpu_arg_set_int(prog, args, "number", INT32_MIN), 0);
	ck_assert_uint_eq(args[2].value, (uint64_t)INT32_MIN);
	says(gpgpu_arg_set_int(prog, args, "number", INT32_MAX + 1ll), -ERANGE,
	     "of 4 bytes, signed, and cannot be 2147483648");
	ck_assert_int_eq(gpgpu_arg_set_int(prog, args, "small", 255), 0);
	says(gpgpu_arg_set_int(prog, args, "small", 256), -ERANGE, "cannot be 256");
	says(gpgpu_arg_set_int(prog, args, "small", -1), -ERANGE, "unsigned, and cannot be -1");
	says(gpgpu_arg_set_int(prog, args, "scale", 1), -EINVAL, "is a float");
	says(gpgpu_arg_set_int(prog, args, "any", 1), -EINVAL, "is a buffer");
	says(gpgpu_arg_set_int(prog, args, "none", 1), -ENOENT, "no argument 'none'");
	ck_assert_int_eq(gpgpu_arg_set_double(prog, args, "scale", 0.1), 0);
	ck_assert_uint_eq(args[9].value, 0x3dcccccd);
	ck_assert_int_eq(gpgpu_arg_set_double(prog, args, "fine", d), 0);
	ck_assert_uint_eq(args[10].value, bits);
	says(gpgpu_arg_set_double(prog, args, "number", 1), -EINVAL, "neither a float nor a double");

	/* Bits: no more than the type has, but a negative number may come as one of 8 bytes. */
	ck_assert_int_eq(gpgpu_arg_set_value(prog, args, "scale", 0x40000000), 0);
	says(gpgpu_arg_set_value(prog, args, "scale", 0x4000000000000000), -ERANGE, "takes 4 bytes");
	ck_assert_int_eq(gpgpu_arg_set_value(prog, args, "number", (uint64_t)-7), 0);
	ck_assert_uint_eq(args[2].value, (uint64_t)-7);
	says(gpgpu_arg_set_value(prog, args, "small", 256), -ERANGE, "takes 1 bytes, and 256 has more");
	says(gpgpu_arg_set_range(prog, args, 2, NULL, 0, 0), -EINVAL, "is a value");
	gpgpu_object_close(obj);
}
END_TEST

START_TEST(maps_and_data)
{
	static const struct gpgpu_map_info want[] = {
		{ ".rodata", BPF_MAP_TYPE_ARRAY, 4, 4, 1, GPGPU_MAP_RDONLY_PROG, NULL },
		{ ".data", BPF_MAP_TYPE_ARRAY, 4, 4, 1, 0, NULL },
		{ ".data.own", BPF_MAP_TYPE_ARRAY, 4, 4, 1, 0, NULL },
		{ ".bss", BPF_MAP_TYPE_ARRAY, 4, 32, 1, 0, NULL },
		{ "per_cpu", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, 4, 0, NULL },
		{ "prefixes", BPF_MAP_TYPE_LPM_TRIE, 8, 12, 16, 0, NULL },
		{ "unused", BPF_MAP_TYPE_HASH, 8, 4, 32, 0, NULL },
		{ "constant", BPF_MAP_TYPE_ARRAY, 4, 4, 2, GPGPU_MAP_RDONLY_PROG, NULL },
	};
	struct gpgpu_object *obj = open_good(objects, "data");
	struct gpgpu_map *map = NULL;
	struct gpgpu_map_info got;
	uint32_t count = 0, value;
	size_t size;

	while ((map = gpgpu_object_next_map(obj, map)))
		count++;
	ck_assert_uint_eq(count, COUNT(want));
	for (uint32_t i = 0; i < COUNT(want); i++) {
		map = gpgpu_object_map(obj, want[i].name);
		ck_assert_msg(map != NULL, "%s", want[i].name);
		gpgpu_map_get_info(map, &got);
		ck_assert_msg(!memcmp(&got, &want[i], sizeof(got)), "%s", want[i].name);
	}
	memcpy(&value, gpgpu_map_initial_value(gpgpu_object_map(obj, ".rodata"), &size), 4);
	ck_assert_uint_eq(size, 4);
	ck_assert_uint_eq(value, 7);
	memcpy(&value, gpgpu_map_initial_value(gpgpu_object_map(obj, ".data"), &size), 4);
	ck_assert_uint_eq(value, 3);
	memcpy(&value, gpgpu_map_initial_value(gpgpu_object_map(obj, ".data.own"), &size), 4);
	ck_assert_uint_eq(value, 5);
	ck_assert(gpgpu_map_initial_value(gpgpu_object_map(obj, "per_cpu"), &size) == NULL);
	ck_assert_uint_eq(gpgpu_map_handle(gpgpu_object_map(obj, ".data")), 0);
	/* No device, no look-ups. */
	ck_assert_int_eq(gpgpu_map_lookup(gpgpu_object_map(obj, ".data"), &value, &value, 4), -ENODEV);
	gpgpu_object_close(obj);
}
END_TEST

/* Every reference to a map names one, every call goes to an instruction of the program. */
static void check_linked(struct gpgpu_object *obj, struct gpgpu_program *prog)
{
	struct gpgpu_program_info info;
	size_t count, num_maps = 0;
	const struct bpf_insn *insns = gpgpu_program_insns(prog, &count);
	struct gpgpu_map *map = NULL;

	gpgpu_program_get_info(prog, &info);
	ck_assert_uint_eq(count, info.num_insns);
	while ((map = gpgpu_object_next_map(obj, map)))
		num_maps++;
	for (size_t i = 0; i < count; i++) {
		const struct bpf_insn *insn = &insns[i];

		if (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL) {
			int64_t target = (int64_t)i + 1 + insn->imm;

			ck_assert_msg(target > 0 && target < (int64_t)count, "%s: call at %zu", info.name, i);
			/* What lies before a function's first instruction ends another. */
			ck_assert_msg(insns[target - 1].code == (BPF_JMP | BPF_EXIT) ||
					      BPF_CLASS(insns[target - 1].code) == BPF_JMP,
				      "%s: call at %zu", info.name, i);
		}
		if (insn->code == (BPF_LD | BPF_IMM | BPF_DW)) {
			ck_assert(i + 1 < count);
			ck_assert(insn->src_reg <= BPF_PSEUDO_MAP_VALUE || insn->src_reg == BPF_PSEUDO_FUNC);
			if (insn->src_reg == BPF_PSEUDO_FUNC)
				ck_assert(insn->imm >= -(int64_t)i &&
					  (int64_t)i + 1 + insn->imm < (int64_t)count);
			else if (insn->src_reg)
				ck_assert(insn->imm >= 0 && (size_t)insn->imm < num_maps);
			i++;
		}
	}
}

START_TEST(all_are_linked)
{
	bool example = (size_t)_i < COUNT(example_names);
	const char *name = example ? example_names[_i] : good_objects[(size_t)_i - COUNT(example_names)];
	struct gpgpu_object *obj = open_good(example ? examples : objects, name);
	struct gpgpu_program *prog = NULL;
	int programs = 0;

	while ((prog = gpgpu_object_next_program(obj, prog))) {
		check_linked(obj, prog);
		programs++;
	}
	ck_assert_int_gt(programs, 0);
	gpgpu_object_close(obj);
}
END_TEST

/* -------------------------------------------------- what the kernel makes of it */

static bool bpf_permitted(void)
{
	struct bpf_insn insns[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K }, { .code = BPF_JMP | BPF_EXIT } };
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "probe", "GPL", insns, 2, NULL);

	if (fd < 0) {
		printf("bpf() is not permitted here (%s): the kernel's part is left out\n", strerror(errno));
		return false;
	}
	close(fd);
	return true;
}

static uint32_t test_run(int prog, const uint8_t *packet, uint8_t *out, uint32_t *size)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = packet, .data_size_in = PACKET, .data_out = out,
		    .data_size_out = PACKET * 2);

	ck_assert_msg(bpf_prog_test_run_opts(prog, &run) == 0, "%s", strerror(errno));
	*size = run.data_size_out;
	return run.retval;
}

/* Makes a map of ours in the kernel. Return: its descriptor. */
static int make_kernel_map(struct gpgpu_map *map)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = 0);
	struct gpgpu_map_info info;
	const uint32_t zero = 0;
	const void *data;
	size_t size;
	int fd;

	gpgpu_map_get_info(map, &info);
	if (info.type == BPF_MAP_TYPE_LPM_TRIE)
		opts.map_flags = BPF_F_NO_PREALLOC;
	if (info.flags & GPGPU_MAP_RDONLY_PROG)
		opts.map_flags |= BPF_F_RDONLY_PROG;
	fd = bpf_map_create(info.type, NULL, info.key_size, info.value_size, info.max_entries, &opts);
	ck_assert_msg(fd >= 0, "%s: %s", gpgpu_map_name(map), strerror(errno));
	data = gpgpu_map_initial_value(map, &size);
	if (data)
		ck_assert_int_eq(bpf_map_update_elem(fd, &zero, data, BPF_ANY), 0);
	if (data && info.flags)
		ck_assert_int_eq(bpf_map_freeze(fd), 0);
	return fd;
}

/* Loads a program as we linked it, with maps of the kernel's in place of the device's. */
static int load_ours(struct gpgpu_program *prog, const int *map_fds)
{
	static char log[65536];
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .log_buf = log, .log_size = sizeof(log), .log_level = 1);
	const struct bpf_insn *linked;
	struct bpf_insn *insns;
	size_t count;
	int fd;

	linked = gpgpu_program_insns(prog, &count);
	insns = malloc(count * sizeof(*insns));
	ck_assert(insns != NULL);
	memcpy(insns, linked, count * sizeof(*insns));
	for (size_t i = 0; i < count; i++) {
		if (insns[i].code == (BPF_LD | BPF_IMM | BPF_DW)) {
			if (insns[i].src_reg)
				insns[i].imm = map_fds[insns[i].imm];
			i++;
		}
	}
	fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "ours", "GPL", insns, count, &opts);
	ck_assert_msg(fd >= 0, "%s: %s", strerror(errno), log);
	free(insns);
	return fd;
}

static void compare_with_libbpf(const char *folder, const char *name)
{
	struct gpgpu_object *obj = open_good(folder, name);
	struct bpf_object *theirs = bpf_object__open_file(path_of(folder, name), NULL);
	struct gpgpu_program *prog = NULL;
	struct gpgpu_map *map = NULL;
	uint8_t packet[PACKET], ours_out[PACKET * 2], theirs_out[PACKET * 2];
	int map_fds[64], num_maps = 0, compared = 0;

	ck_assert(theirs && bpf_object__load(theirs) == 0);
	while ((map = gpgpu_object_next_map(obj, map)))
		map_fds[num_maps++] = make_kernel_map(map);
	while ((prog = gpgpu_object_next_program(obj, prog))) {
		struct gpgpu_program_info info;
		uint32_t ours_size, theirs_size, seed = 1;
		int ours, other;

		gpgpu_program_get_info(prog, &info);
		ours = load_ours(prog, map_fds);
		other = bpf_program__fd(bpf_object__find_program_by_name(theirs, info.name));
		ck_assert_int_ge(other, 0);
		for (int round = 0; round < 200; round++) {
			for (int i = 0; i < PACKET; i++) {
				seed = seed * 1664525 + 1013904223;
				packet[i] = (uint8_t)(seed >> 24);
			}
			packet[12] = 8; /* IPv4 half of the time, so that some get further */
			packet[13] = 0;
			if (round & 1)
				packet[14] = 0x45;
			ck_assert_uint_eq(test_run(ours, packet, ours_out, &ours_size),
					  test_run(other, packet, theirs_out, &theirs_size));
			ck_assert_uint_eq(ours_size, theirs_size);
			ck_assert(!memcmp(ours_out, theirs_out, ours_size));
			compared++;
		}
		close(ours);
	}
	ck_assert_int_gt(compared, 0);
	while (num_maps)
		close(map_fds[--num_maps]);
	bpf_object__close(theirs);
	gpgpu_object_close(obj);
}

START_TEST(linked_as_libbpf_links)
{
	static const char *const names[] = { "calls", "data", "xdp_firewall", "xdp_lb" };

	if (bpf_permitted())
		compare_with_libbpf(_i < 2 ? objects : examples, names[_i]);
}
END_TEST

/* A function's address is what a call of it at the same place would jump to. */
START_TEST(function_addresses)
{
	struct gpgpu_object *obj = open_good(objects, "callback");
	struct gpgpu_program *prog = gpgpu_object_program(obj, "callback");
	const struct bpf_insn *insns;
	size_t count, seen[2], n = 0;

	insns = gpgpu_program_insns(prog, &count);
	for (size_t i = 0; i < count; i++) {
		if (insns[i].code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		ck_assert_uint_eq(insns[i].src_reg, BPF_PSEUDO_FUNC);
		ck_assert_uint_lt(n, 2);
		seen[n] = i + 1 + (size_t)insns[i].imm;
		ck_assert_uint_lt(seen[n], count);
		ck_assert_int_eq(insns[i + 1].imm, 0);
		n++;
		i++;
	}
	ck_assert_uint_eq(n, 2);
	ck_assert_uint_ne(seen[0], seen[1]);
	gpgpu_object_close(obj);
}
END_TEST

START_TEST(maps_of_all_kinds)
{
	static const struct gpgpu_map_info want[] = {
		{ "inner_a", BPF_MAP_TYPE_ARRAY, 4, 8, 2, 0, NULL },
		{ "inner_b", BPF_MAP_TYPE_ARRAY, 4, 8, 2, 0, NULL },
		{ "outer", BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, 4, 0, NULL },
		{ "lru", BPF_MAP_TYPE_LRU_HASH, 4, 8, 8, 0, NULL },
		{ "ring", BPF_MAP_TYPE_RINGBUF, 0, 0, 4096, 0, NULL },
		{ "perf", BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, 1, 0, NULL },
		{ "progs", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 8, 0, NULL },
	};
	struct gpgpu_object *obj = open_good(objects, "map_values");
	struct gpgpu_map_info got;
	uint64_t value;

	for (size_t i = 0; i < COUNT(want); i++) {
		struct gpgpu_map *map = gpgpu_object_map(obj, want[i].name);

		ck_assert_msg(map != NULL, "%s", want[i].name);
		gpgpu_map_get_info(map, &got);
		ck_assert_msg(!memcmp(&got, &want[i], sizeof(got)), "%s: %u %u %u %u %u", got.name, got.type,
			      got.key_size, got.value_size, got.max_entries, got.flags);
		/* Without a device every call is refused. */
		ck_assert_int_eq(gpgpu_map_pop(map, NULL, &value, 64), -ENODEV);
		ck_assert_int_eq(gpgpu_map_read(map, NULL, NULL, 0), -ENODEV);
		ck_assert_int_eq(gpgpu_map_dump(map, NULL, NULL, &(uint32_t){ 1 }), -ENODEV);
		ck_assert_int_eq(gpgpu_map_load(map, &value, &(uint32_t){ 1 }, 0), -ENODEV);
	}
	ck_assert_uint_eq(gpgpu_map_entry_bytes(gpgpu_object_map(obj, "lru")), 16);
	ck_assert_uint_eq(gpgpu_map_entry_bytes(gpgpu_object_map(obj, "ring")), 0);
	gpgpu_object_close(obj);
}
END_TEST

/* Each instruction is of a function, and of a line of it. */
START_TEST(source_lines)
{
	struct gpgpu_object *obj = open_good(objects, "calls");
	const struct gpgpu_program *prog = gpgpu_object_program(obj, "second");
	size_t count, of_program = 0, of_twice = 0, last_start = 0;
	struct gpgpu_source source;
	bool product = false;

	ck_assert_ptr_nonnull(prog);
	gpgpu_program_insns(prog, &count);
	for (size_t i = 0; i < count; i++) {
		ck_assert_msg(gpgpu_program_source(prog, i, &source) == 0, "%zu: %s", i,
			      gpgpu_error_message());
		ck_assert_ptr_nonnull(strstr(source.file, "calls.bpf.c"));
		ck_assert_uint_gt(source.line, 4);
		ck_assert_uint_lt(source.line, 30);
		ck_assert_uint_ge(source.function_start, last_start);
		ck_assert_uint_le(source.function_start, i);
		last_start = source.function_start;
		of_program += !strcmp(source.function, "second");
		of_twice += !strcmp(source.function, "twice");
		product |= !strcmp(source.function, "twice") && strstr(source.text, "return x * 2;");
	}
	ck_assert_uint_gt(of_program, 3);
	ck_assert_uint_gt(of_twice, 1);
	ck_assert(product);
	ck_assert_int_eq(gpgpu_program_source(prog, count, &source), -EINVAL);
	ck_assert_int_eq(gpgpu_program_source(prog, SIZE_MAX, &source), -EINVAL);
	ck_assert_ptr_null(source.function);
	gpgpu_object_close(obj);
}
END_TEST

START_TEST(declared_values)
{
	struct gpgpu_object *obj = open_good(objects, "map_values");
	struct gpgpu_map *outer = gpgpu_object_map(obj, "outer"), *progs = gpgpu_object_map(obj, "progs");
	struct gpgpu_declared value;
	struct gpgpu_map_info info;

	ck_assert_int_eq(gpgpu_map_inner(outer, &info), 0);
	ck_assert_uint_eq(info.type, BPF_MAP_TYPE_ARRAY);
	ck_assert_uint_eq(info.max_entries, 2);
	ck_assert_uint_eq(info.value_size, 8);
	ck_assert_int_eq(gpgpu_map_inner(progs, &info), -ENOENT);
	ck_assert_int_eq(gpgpu_map_declared(outer, 0, &value), 0);
	ck_assert_uint_eq(value.key, 1);
	ck_assert_ptr_eq(value.map, gpgpu_object_map(obj, "inner_a"));
	ck_assert_ptr_null(value.program);
	ck_assert_int_eq(gpgpu_map_declared(outer, 1, &value), 0);
	ck_assert_uint_eq(value.key, 3);
	ck_assert_ptr_eq(value.map, gpgpu_object_map(obj, "inner_b"));
	ck_assert_int_eq(gpgpu_map_declared(outer, 2, &value), -ENOENT);
	ck_assert_int_eq(gpgpu_map_declared(progs, 0, &value), 0);
	ck_assert_uint_eq(value.key, 2);
	ck_assert_ptr_eq(value.program, gpgpu_object_program(obj, "last"));
	ck_assert_ptr_null(value.map);
	ck_assert_int_eq(gpgpu_map_declared(gpgpu_object_map(obj, "lru"), 0, &value), -ENOENT);
	gpgpu_object_close(obj);
}
END_TEST

/* ------------------------------------------------------------------ bad files */

static const struct {
	const char *name, *message; /* a part of it */
	int err;
} bad_objects[] = {
	{ "bad_args_packed", "'height' lies at byte 4, not 8", -EINVAL },
	{ "bad_args_struct", "'pair' is neither a pointer nor a number", -EINVAL },
	{ "bad_args_two", "one pointer to a structure", -EINVAL },
	{ "bad_args_many", "17 arguments", -EINVAL },
	{ "bad_core", "asks the kernel about type 'some_type'", -EINVAL },
	{ "bad_data_pointer", "holds pointers", -EINVAL },
	{ "bad_extern", "'some_kernel_symbol', which only a kernel has", -EINVAL },
	{ "bad_kfunc", "'bpf_xdp_metadata_rx_hash', which is not in the file: a kernel function (kfunc)",
	  -EINVAL },
	{ "bad_local", "65540 bytes of local memory (GP_LOCAL), at most 65536", -E2BIG },
	{ "bad_map_flags", "map 'map' has flags 0x8", -EOPNOTSUPP },
	{ "bad_section", "'kprobe/do_nothing' is not for a device", -EINVAL },
};

START_TEST(refused_with_a_reason)
{
	struct gpgpu_object *obj = (void *)1;
	struct gpgpu_result result;
	int r = gpgpu_object_open(path_of(objects, bad_objects[_i].name), &obj);

	ck_assert_msg(r == bad_objects[_i].err, "%s: %d", bad_objects[_i].name, r);
	ck_assert(obj == NULL);
	ck_assert_msg(strstr(gpgpu_error_message(), bad_objects[_i].message) != NULL, "%s: %s",
		      bad_objects[_i].name, gpgpu_error_message());
	gpgpu_error_result(&result);
	ck_assert_uint_eq(result.status, 0);
}
END_TEST

static void refuse_bytes(const void *bytes, size_t size, const char *message)
{
	struct gpgpu_object *obj;

	ck_assert_int_eq(gpgpu_object_open_memory(bytes, size, "bytes", &obj), -EINVAL);
	ck_assert_msg(strstr(gpgpu_error_message(), message) != NULL, "%s", gpgpu_error_message());
}

START_TEST(not_such_a_file)
{
	struct gpgpu_object *obj;
	size_t size;
	uint8_t *bytes = read_file(path_of(examples, "saxpy"), &size), save;

	ck_assert_int_eq(gpgpu_object_open("/nowhere/at/all.o", &obj), -ENOENT);
	ck_assert_int_eq(gpgpu_object_open("/", &obj), -EINVAL);
	refuse_bytes("", 0, "not an ELF file");
	refuse_bytes("#!/bin/sh\nexit\n", 15, "not an ELF file");
	refuse_bytes(bytes, 20, "cut short");
	ck_assert_int_eq(gpgpu_object_open("/proc/self/exe", &obj), -EINVAL);
	ck_assert_msg(strstr(gpgpu_error_message(), "not a BPF object") != NULL, "%s", gpgpu_error_message());

	save = bytes[4];
	bytes[4] = 1;
	refuse_bytes(bytes, size, "not a 64-bit");
	bytes[4] = save;
	save = bytes[5];
	bytes[5] = 2;
	refuse_bytes(bytes, size, "big endian");
	bytes[5] = save;
	save = bytes[16];
	bytes[16] = 2;
	refuse_bytes(bytes, size, "not a relocatable");
	bytes[16] = save;
	ck_assert_int_eq(gpgpu_object_open_memory(bytes, size, "bytes", &obj), 0);
	gpgpu_object_close(obj);
	free(bytes);
}
END_TEST

/* Section headers stand last, so no beginning of a file is a whole one. */
START_TEST(cut_short)
{
	size_t size;
	uint8_t *bytes = read_file(path_of(examples, "xdp_lb"), &size);
	struct gpgpu_object *obj;

	for (size_t n = 0; n < size; n += n < 4096 ? 1 : 37) {
		/* A copy of the exact size, so that a sanitizer sees one byte too far. */
		uint8_t *part = malloc(n ? n : 1);

		memcpy(part, bytes, n);
		ck_assert_msg(gpgpu_object_open_memory(part, n, "part", &obj) == -EINVAL, "%zu bytes", n);
		free(part);
	}
	free(bytes);
}
END_TEST

/* For what is asked for each instruction: ck_assert() writes to a file, every time. */
#define must(expression)                                 \
	do {                                             \
		if (!(expression))                       \
			ck_abort_msg("%s", #expression); \
	} while (0)

/* Changed bytes: whatever comes, it is refused or it is an object whose parts are in bounds. */
START_TEST(damaged)
{
	bool example = (size_t)_i < COUNT(example_names);
	const char *name = example ? example_names[_i] : good_objects[(size_t)_i - COUNT(example_names)];
	size_t size;
	uint8_t *bytes = read_file(path_of(example ? examples : objects, name), &size);
	uint8_t *copy = malloc(size);
	uint64_t seed = 88172645463325252u + (uint64_t)_i;
	int accepted = 0;

	for (int round = 0; round < MUTATIONS; round++) {
		struct gpgpu_program *prog = NULL;
		struct gpgpu_object *obj;

		memcpy(copy, bytes, size);
		for (int k = 0; k <= round % 4; k++) {
			uint64_t at;

			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			/* Half of the changes go to the headers, which are the file's first and last bytes. */
			at = round & 1 ? seed % size : (size - 2048 + seed % (2048 + 64)) % size;
			copy[at] = (uint8_t)(round & 8 ? seed >> 40 : copy[at] ^ 1u << (seed >> 40 & 7));
		}
		if (gpgpu_object_open_memory(copy, size, "damaged", &obj)) {
			must(obj == NULL);
			must(strcmp(gpgpu_error_message(), "no error"));
			continue;
		}
		accepted++;
		while ((prog = gpgpu_object_next_program(obj, prog))) {
			struct gpgpu_map *map = NULL;
			const struct bpf_insn *insns;
			size_t count, maps = 0;

			while ((map = gpgpu_object_next_map(obj, map)))
				maps++;
			insns = gpgpu_program_insns(prog, &count);
			for (size_t i = 0; i < count; i++) {
				struct gpgpu_source source;

				if (!gpgpu_program_source(prog, i, &source))
					must(strlen(source.file) + strlen(source.text) < size);
				must(source.function && source.function_start <= i);
				if (insns[i].code != (BPF_LD | BPF_IMM | BPF_DW))
					continue;
				must(i + 1 < count);
				if (insns[i].src_reg == BPF_PSEUDO_FUNC)
					must((size_t)((int64_t)i + 1 + insns[i].imm) < count);
				else
					must(!insns[i].src_reg || (size_t)insns[i].imm < maps);
				i++;
			}
		}
		gpgpu_object_close(obj);
	}
	/* A changed constant or debug string harms nothing: if all were refused, nothing was tested. */
	ck_assert_int_gt(accepted, 0);
	ck_assert_int_lt(accepted, MUTATIONS);
	free(copy);
	free(bytes);
}
END_TEST

#define CHAIN 60000

/*
 * An object of one program: a chain of CHAIN functions of one instruction each, of which each calls the next with a
 * relocation, the last itself; and @num_bss sections of 32 MiB of zeros, which take no room in the file.
 */
static uint8_t *make_object(uint32_t num_bss, size_t *size)
{
	enum { NONE, STRINGS, SYMBOLS, CODE, RELOCS, BSS };
	static const char strings[] = "\0xdp\0.bss";
	const size_t num_sections = BSS + num_bss;
	struct {
		Elf64_Ehdr header;
		Elf64_Sym symbols[CHAIN];
		struct bpf_insn insns[CHAIN];
		Elf64_Rel relocs[CHAIN];
		char strings[sizeof(strings)];
		Elf64_Shdr sections[] __attribute__((aligned(8)));
	} *f;
	Elf64_Shdr *s;

	*size = sizeof(*f) + num_sections * sizeof(*s);
	f = calloc(1, *size);
	s = f->sections;
	f->header = (Elf64_Ehdr){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
					       EV_CURRENT },
				  .e_type = ET_REL,
				  .e_machine = 247,
				  .e_version = EV_CURRENT,
				  .e_ehsize = sizeof(f->header),
				  .e_shoff = sizeof(*f),
				  .e_shentsize = sizeof(*s),
				  .e_shnum = (Elf64_Half)num_sections,
				  .e_shstrndx = STRINGS };
	memcpy(f->strings, strings, sizeof(strings));
	s[STRINGS] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				   .sh_offset = (size_t)(f->strings - (char *)f),
				   .sh_size = sizeof(strings) };
	s[SYMBOLS] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
				   .sh_offset = (size_t)((char *)f->symbols - (char *)f),
				   .sh_size = sizeof(f->symbols),
				   .sh_link = STRINGS };
	s[CODE] = (Elf64_Shdr){ .sh_name = 1,
				.sh_type = SHT_PROGBITS,
				.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				.sh_offset = (size_t)((char *)f->insns - (char *)f),
				.sh_size = sizeof(f->insns) };
	s[RELOCS] = (Elf64_Shdr){ .sh_type = SHT_REL,
				  .sh_offset = (size_t)((char *)f->relocs - (char *)f),
				  .sh_size = sizeof(f->relocs),
				  .sh_link = SYMBOLS,
				  .sh_info = CODE };
	for (uint32_t i = 0; i < num_bss; i++)
		s[BSS + i] = (Elf64_Shdr){ .sh_name = 5,
					   .sh_type = SHT_NOBITS,
					   .sh_flags = SHF_ALLOC | SHF_WRITE,
					   .sh_size = 32u << 20 };
	for (uint32_t i = 0; i < CHAIN; i++) {
		f->symbols[i] = (Elf64_Sym){ .st_name = 1,
					     .st_info = ELF64_ST_INFO(i ? STB_LOCAL : STB_GLOBAL, STT_FUNC),
					     .st_shndx = CODE,
					     .st_value = i * sizeof(struct bpf_insn),
					     .st_size = sizeof(struct bpf_insn) };
		f->insns[i] = (struct bpf_insn){ .code = BPF_JMP | BPF_CALL,
						 .src_reg = BPF_PSEUDO_CALL,
						 .imm = -1 };
		f->relocs[CHAIN - 1 - i] =
			(Elf64_Rel){ .r_offset = i * sizeof(struct bpf_insn),
				     .r_info = ELF64_R_INFO(i + 1 < CHAIN ? i + 1 : i, 10) };
	}
	return (uint8_t *)f;
}

/* Linking takes no time that grows with the product of a file's numbers: this would take hours. */
START_TEST(many_functions)
{
	const struct bpf_insn *insns;
	struct gpgpu_object *obj;
	size_t size, count;
	uint8_t *bytes = make_object(0, &size);

	ck_assert_msg(!gpgpu_object_open_memory(bytes, size, "chain", &obj), "%s", gpgpu_error_message());
	insns = gpgpu_program_insns(gpgpu_object_program(obj, NULL), &count);
	ck_assert_uint_eq(count, CHAIN);
	for (size_t i = 0; i < count; i++)
		ck_assert_int_eq(insns[i].imm, i + 1 < count ? 0 : -1);
	gpgpu_object_close(obj);
	free(bytes);
}
END_TEST

/* Nor does memory: each program has its functions, and there may be many programs. */
START_TEST(many_programs)
{
	struct gpgpu_object *obj;
	size_t size;
	uint8_t *bytes = make_object(0, &size);
	Elf64_Sym *symbols = (Elf64_Sym *)(bytes + sizeof(Elf64_Ehdr));

	symbols[CHAIN - 5000].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	ck_assert_msg(!gpgpu_object_open_memory(bytes, size, "chain", &obj), "%s", gpgpu_error_message());
	gpgpu_object_close(obj);
	symbols[CHAIN - 10000].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	ck_assert_int_eq(gpgpu_object_open_memory(bytes, size, "chain", &obj), -E2BIG);
	ck_assert_msg(strstr(gpgpu_error_message(), "functions in all"), "%s", gpgpu_error_message());
	free(bytes);
}
END_TEST

/* An object whose lines come in @n pieces of one line each. Return: as gpgpu_object_open_memory(). */
static int open_with_pieces(uint32_t n)
{
	struct header {
		uint16_t magic;
		uint8_t version, flags;
		uint32_t hdr_len, func_off, func_len, line_off, line_len, core_off, core_len;
	} h;
	struct piece {
		uint32_t name, count, line[4];
	} piece = { .count = 1 };
	size_t size, room = sizeof(h) + 4 + n * sizeof(piece);
	uint8_t *bytes = read_file(path_of(objects, "calls"), &size), *at;
	struct gpgpu_object *obj;
	Elf64_Ehdr eh;
	Elf64_Shdr sh, names;
	int r;

	bytes = realloc(bytes, size + room);
	memcpy(&eh, bytes, sizeof(eh));
	memcpy(&names, bytes + eh.e_shoff + eh.e_shstrndx * sizeof(sh), sizeof(names));
	for (uint32_t i = 0;; i++) {
		ck_assert_uint_lt(i, eh.e_shnum);
		at = bytes + eh.e_shoff + i * sizeof(sh);
		memcpy(&sh, at, sizeof(sh));
		if (!strcmp((char *)bytes + names.sh_offset + sh.sh_name, ".BTF.ext"))
			break;
	}
	memcpy(&h, bytes + sh.sh_offset, sizeof(h));
	memcpy(&piece.name, bytes + sh.sh_offset + h.hdr_len + h.line_off + 4, sizeof(piece.name));
	sh.sh_offset = size;
	sh.sh_size = room;
	memcpy(at, &sh, sizeof(sh));
	h = (struct header){
		.magic = h.magic, .version = 1, .hdr_len = sizeof(h), .line_len = 4 + n * sizeof(piece)
	};
	at = bytes + size;
	memcpy(at, &h, sizeof(h));
	memcpy(at + sizeof(h), &(uint32_t){ sizeof(piece.line) }, 4);
	for (uint32_t i = 0; i < n; i++)
		memcpy(at + sizeof(h) + 4 + i * sizeof(piece), &piece, sizeof(piece));
	r = gpgpu_object_open_memory(bytes, size + room, "pieces", &obj);
	if (!r)
		gpgpu_object_close(obj);
	free(bytes);
	return r;
}

START_TEST(lines_in_pieces)
{
	ck_assert_msg(open_with_pieces(1000) == 0, "%s", gpgpu_error_message());
	ck_assert_int_eq(open_with_pieces(1000000), -E2BIG);
}
END_TEST

/* Memory for global data is bounded for the whole file, not for each section. */
START_TEST(much_global_data)
{
	struct gpgpu_object *obj;
	size_t size;
	uint8_t *bytes = make_object(2, &size);

	ck_assert_msg(!gpgpu_object_open_memory(bytes, size, "data", &obj), "%s", gpgpu_error_message());
	gpgpu_object_close(obj);
	free(bytes);
	bytes = make_object(3, &size);
	ck_assert_int_eq(gpgpu_object_open_memory(bytes, size, "data", &obj), -E2BIG);
	ck_assert_msg(strstr(gpgpu_error_message(), "global data") != NULL, "%s", gpgpu_error_message());
	free(bytes);
}
END_TEST

START_TEST(no_device)
{
	struct gpgpu_device *dev = (void *)1;

	ck_assert_int_eq(gpgpu_open("/dev/null", &dev), -ENODEV);
	ck_assert(dev == NULL);
	ck_assert(strstr(gpgpu_error_message(), "not a GPGPU device") != NULL);
	ck_assert_int_eq(gpgpu_open("/nowhere", &dev), -ENOENT);
	ck_assert_str_eq(gpgpu_status_name(9999), "unknown status");
	ck_assert_str_eq(gpgpu_reason_name(9999), "unknown reason");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("object");
	TCase *tc = tcase_create("object");
	const int all = COUNT(example_names) + COUNT(good_objects);
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 240);
	tcase_add_test(tc, args_of_every_kind);
	tcase_add_test(tc, args_by_type);
	tcase_add_test(tc, maps_and_data);
	tcase_add_test(tc, function_addresses);
	tcase_add_test(tc, maps_of_all_kinds);
	tcase_add_test(tc, source_lines);
	tcase_add_test(tc, declared_values);
	tcase_add_loop_test(tc, all_are_linked, 0, all);
	tcase_add_loop_test(tc, linked_as_libbpf_links, 0, 4);
	tcase_add_loop_test(tc, refused_with_a_reason, 0, COUNT(bad_objects));
	tcase_add_test(tc, not_such_a_file);
	tcase_add_test(tc, cut_short);
	tcase_add_loop_test(tc, damaged, 0, all);
	tcase_add_test(tc, many_functions);
	tcase_add_test(tc, many_programs);
	tcase_add_test(tc, lines_in_pieces);
	tcase_add_test(tc, much_global_data);
	tcase_add_test(tc, no_device);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
