// SPDX-License-Identifier: BSD-3-Clause
/*
 * fuzz_elf.c - libFuzzer target: any bytes as an object file to libgpgpu.
 *
 * What opens is looked through as a tool would do it: programs with their instructions, arguments and source lines, maps
 * with their shapes, names and first values. Every byte that the library hands out is read, so that the sanitizers
 * see what lies behind. The library promises that instructions refer to maps that the object has, and that
 * arguments are found again by their names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bpf.h>
#include "gpgpu.h"

#define MAX_SOURCES 64 /* instructions whose source is asked for */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                                                                \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)

static volatile uint64_t sum;

static void read_bytes(const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sum += ((const uint8_t *)bytes)[i];
}

static void look_at_program(const struct gpgpu_program *prog, size_t num_maps)
{
	struct gpgpu_program_info info;
	struct gpgpu_arg_info arg;
	struct gpgpu_source source;
	const struct bpf_insn *insns;
	size_t count = 0;

	gpgpu_program_get_info(prog, &info);
	read_bytes(info.name, strlen(info.name));
	for (uint32_t i = 0; gpgpu_program_arg(prog, i, &arg) == 0; i++) {
		int index = gpgpu_program_arg_index(prog, arg.name);

		CHECK(!arg.name[0] || (index >= 0 && (uint32_t)index <= i));
		CHECK(i < 64);
	}
	insns = gpgpu_program_insns(prog, &count);
	if (!insns)
		return;
	for (size_t i = 0; i < count; i++) {
		sum += insns[i].code;
		if (insns[i].code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		if (insns[i].src_reg == BPF_PSEUDO_MAP_FD || insns[i].src_reg == BPF_PSEUDO_MAP_VALUE)
			CHECK((uint32_t)insns[i].imm < num_maps);
		i++;
	}
	for (size_t i = 0; i < count && i < MAX_SOURCES; i++) {
		if (gpgpu_program_source(prog, i, &source))
			continue;
		if (source.file)
			read_bytes(source.file, strlen(source.file));
		if (source.text)
			read_bytes(source.text, strlen(source.text));
		if (source.function)
			read_bytes(source.function, strlen(source.function));
		CHECK(source.function_start <= i);
	}
	CHECK(gpgpu_program_source(prog, count, &source) != 0);
}

static void look_at_map(struct gpgpu_map *map)
{
	struct gpgpu_map_info info;
	size_t size = 0;
	void *value;

	gpgpu_map_get_info(map, &info);
	read_bytes(&info, sizeof(info));
	read_bytes(gpgpu_map_name(map), strlen(gpgpu_map_name(map)));
	value = gpgpu_map_initial_value(map, &size);
	if (value)
		read_bytes(value, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpgpu_program *prog = NULL;
	struct gpgpu_object *obj = NULL;
	struct gpgpu_map *map = NULL;
	size_t num_maps = 0;
	uint8_t *copy = malloc(size + !size);
	int ret;

	/* Of exactly its size, so that a look behind its end is seen. */
	CHECK(copy);
	memcpy(copy, data, size);
	ret = gpgpu_object_open_memory(copy, size, "input", &obj);
	CHECK(ret <= 0 && (ret == 0) == (obj != NULL));
	CHECK(ret == 0 || gpgpu_error_message()[0]);
	if (obj) {
		while ((map = gpgpu_object_next_map(obj, map))) {
			look_at_map(map);
			num_maps++;
		}
		while ((prog = gpgpu_object_next_program(obj, prog)))
			look_at_program(prog, num_maps);
		gpgpu_object_close(obj);
	}
	free(copy);
	return 0;
}
