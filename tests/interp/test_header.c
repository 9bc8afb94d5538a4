// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_header.c - what clang makes of gpgpu_bpf.h, run on the interpreter.
 *
 *	test_header OBJECT	the object that header.bpf.c was compiled to
 */
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "gpgpu_bpf.h"
#include "interp.h"

#define FUEL 1000

static uint32_t cases;
static bool failed;

static void check(bool good, const char *name)
{
	printf("%s %u - %s\n", good ? "ok" : "not ok", ++cases, name);
	failed |= !good;
}

/* The instructions of section @name. Exits with a message if there is none. */
static void find(Elf *elf, const char *name, struct interp_env *env)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names = 0;

	elf_getshdrstrndx(elf, &names);
	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data = elf_getdata(section, NULL);

		if (!gelf_getshdr(section, &header) || strcmp(elf_strptr(elf, names, header.sh_name), name))
			continue;
		memset(env, 0, sizeof(*env));
		env->insns = data->d_buf;
		env->num_insns = (uint32_t)(data->d_size / sizeof(struct bpf_insn));
		env->fuel = FUEL;
		return;
	}
	printf("Bail out! no section %s\n", name);
	exit(1);
}

static void saxpy(Elf *elf)
{
	float x[4] = { 1, 2, 3, 4 }, y[4] = { 0.5f, 0.25f, -1, 100 }, a = 2.5f;
	struct interp_arg args[3] = { { (uint8_t *)x, sizeof(x), 0, false },
				      { (uint8_t *)y, sizeof(y), 0, true } };
	struct interp_grid grid = { { 4, 1, 1 }, { 2, 1, 1 } };
	struct interp_result result;
	struct interp_env env;
	bool good = true;

	memcpy(&args[2].value, &a, sizeof(a));
	find(elf, "gpgpu/saxpy", &env);
	for (uint64_t i = 0; i < 4; i++)
		good &= interp_item(&env, args, 3, &grid, i, &result);
	check(good && y[0] == 3 && y[1] == 5.25f && y[2] == 6.5f && y[3] == 110, "saxpy");
}

static uint64_t f32(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

static uint64_t f64(double f)
{
	uint64_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

/*
 * The last ones are looked at elsewhere: those of the group are functions that a loader makes helpers of
 * (tests/unit/check_host.c), atomic ones of floats need several items (tests/wire/test_atomics.c).
 */
#define ELSEWHERE (GPGPU_HELPER_scan_before - GPGPU_HELPER_barrier + 1 + 6)

static void every(Elf *elf)
{
	/* What work item 7 of 12 in groups of 5 sees. */
	static const uint64_t ids[] = { 7, 12, 2, 5, 1, 3 };
	static const double floats[] = { 3.75, -0.75, 3.375, 4.5, 6.5, 2.5, -2.25, 1.5,
					 1,    1,     0,     1.5, -2,  -1,  -1,	   2 };
	static const char *const names[] = {
#define NAME(name, number) #name,
		GPGPU_HELPERS(NAME)
	};
	const uint64_t conversions[] = { f32(-7),      f32(7), f64(-7),	 f64(7),   (uint64_t)-7, 7,
					 (uint64_t)-7, 7,      f64(0.5), f32(0.5), (uint64_t)-7, 7,
					 (uint64_t)-7, 7,      f32(0.5), 0x3800,   0x3800 };
	static const double functions[] = { 0.5, 1, 8, 0, 3, 0, 1, 8, 1.5, 3, -1.5 };
	uint64_t expect[128], out[128] = { 0 };
	struct interp_arg args[1] = { { (uint8_t *)out, sizeof(out), 0, true } };
	struct interp_grid grid = { { 12, 1, 1 }, { 5, 1, 1 } };
	struct interp_result result;
	struct interp_env env;
	uint32_t n = 0;

	for (int i = 0; i < 6; i++)
		expect[n++] = ids[i];
	/* Comparisons give integers. */
	for (int i = 0; i < 16; i++)
		expect[n++] = i >= 8 && i <= 10 ? (uint64_t)floats[i] : f32((float)floats[i]);
	for (int i = 0; i < 16; i++)
		expect[n++] = i >= 8 && i <= 10 ? (uint64_t)floats[i] : f64(floats[i]);
	for (int i = 0; i < 17; i++)
		expect[n++] = conversions[i];
	for (int i = 0; i < 11; i++)
		expect[n++] = f32((float)functions[i]);
	for (int i = 0; i < 11; i++)
		expect[n++] = f64(functions[i]);
	find(elf, "gpgpu/every", &env);
	check(interp_item(&env, args, 1, &grid, 7, &result), "every helper is callable");
	check(n + ELSEWHERE == sizeof(names) / sizeof(names[0]), "every helper is looked at");
	for (uint32_t i = 0; i < n; i++)
		check(out[i] == expect[i], names[i]);
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	if (!elf) {
		printf("Bail out! no object\n");
		return 1;
	}
	saxpy(elf);
	every(elf);
	elf_end(elf);
	close(fd);
	printf("1..%u\n", cases);
	return failed;
}
