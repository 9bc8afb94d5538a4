/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_patterns.c - patterns.bpf.c, compiled by clang for several versions of the instruction set, run here.
 *
 * test_patterns OBJECT...: each program of each object must be accepted and return XDP_PASS on the compiler and on the
 * interpreter, with the same packet and maps behind it.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gpgpu.h"
#include "target.h"

#define MAX_PATTERNS 256

struct pattern {
	const char *object;
	struct gpgpu_program *program;
	char name[64];
	struct run_map *maps;
	uint32_t num_maps;
};

static struct pattern patterns[MAX_PATTERNS];
static int num_patterns;

static void run(const struct pattern *p, const struct target *target, struct run *run,
		struct outcome *outcome)
{
	static uint8_t packet[64];
	size_t count;

	for (uint32_t i = 0; i < sizeof(packet); i++)
		packet[i] = (uint8_t)i;
	*run = (struct run){ .name = p->name,
			     .kind = VIRTIO_GPGPU_PROG_XDP,
			     .insns = gpgpu_program_insns(p->program, &count),
			     .maps = p->maps,
			     .num_maps = p->num_maps,
			     .fuel = 100000,
			     .packets = { { packet, sizeof(packet), 0, 3, 2 } },
			     .num_packets = 1 };
	run->num_insns = (uint32_t)count;
	memset(outcome, 0, sizeof(*outcome));
	target->run(run, outcome);
	ck_assert_msg(!outcome->refused, "%s in %s: %s refuses: %s", p->name, p->object, target->name,
		      outcome->message);
	ck_assert_msg(!outcome->faults, "%s in %s on %s: fault %u at %u", p->name, p->object, target->name,
		      outcome->fault, outcome->fault_insn);
	ck_assert_msg(outcome->packets[0].verdict == XDP_PASS, "%s in %s on %s: verdict %u", p->name,
		      p->object, target->name, outcome->packets[0].verdict);
}

START_TEST(test_pattern)
{
	struct outcome jit, interp;
	struct run what;
	char why[256];

	run(&patterns[_i], &target_interp, &what, &interp);
	run(&patterns[_i], &target_jit, &what, &jit);
	ck_assert_msg(!outcome_diff(&what, &interp, &jit, why), "%s in %s: %s", patterns[_i].name,
		      patterns[_i].object, why);
	outcome_free(&jit);
	outcome_free(&interp);
}
END_TEST

static uint32_t number_of(struct gpgpu_object *obj, const struct gpgpu_map *map)
{
	struct gpgpu_map *m = NULL;
	uint32_t number = 0;

	while ((m = gpgpu_object_next_map(obj, m)) && m != map)
		number++;
	return number;
}

/* What the object says a map of maps holds: keys and values of 4 bytes. */
static void add_elements(struct gpgpu_object *obj, struct gpgpu_map *map, struct run_map *to)
{
	struct gpgpu_declared declared;
	uint32_t *init = calloc(16, sizeof(*init));

	for (uint32_t i = 0; i < 8 && !gpgpu_map_declared(map, i, &declared); i++) {
		init[2 * i] = declared.key;
		init[2 * i + 1] = to->inner = number_of(obj, declared.map);
		to->num_init++;
	}
	to->init = (const uint8_t *)init;
}

static void add_object(const char *path)
{
	struct gpgpu_program *program = NULL;
	struct gpgpu_program_info info;
	struct gpgpu_map *map = NULL;
	struct gpgpu_object *obj;
	struct run_map *maps;
	uint32_t num_maps = 0;

	if (gpgpu_object_open(path, &obj)) {
		fprintf(stderr, "%s: %s\n", path, gpgpu_error_message());
		exit(2);
	}
	maps = calloc(RUN_MAX_MAPS, sizeof(*maps));
	while ((map = gpgpu_object_next_map(obj, map)) && num_maps < RUN_MAX_MAPS) {
		struct gpgpu_map_info shape;

		gpgpu_map_get_info(map, &shape);
		maps[num_maps] = (struct run_map){ .type = shape.type,
						   .key_size = shape.key_size,
						   .value_size = shape.value_size,
						   .max_entries = shape.max_entries };
		if (run_map_of_maps(shape.type))
			add_elements(obj, map, &maps[num_maps]);
		num_maps++;
	}
	while ((program = gpgpu_object_next_program(obj, program)) && num_patterns < MAX_PATTERNS) {
		struct pattern *p = &patterns[num_patterns++];

		gpgpu_program_get_info(program, &info);
		*p = (struct pattern){ strrchr(path, '/') ? strrchr(path, '/') + 1 : path, program, "", maps,
				       num_maps };
		snprintf(p->name, sizeof(p->name), "%s", info.name);
	}
}

static void open_jit(void)
{
	const char *why = target_jit.open();

	ck_assert_msg(!why, "%s", why);
}

static void close_jit(void)
{
	target_jit.close();
}

int main(int argc, char **argv)
{
	Suite *suite = suite_create("patterns");
	TCase *tcase = tcase_create("from C");
	SRunner *runner;
	int failed;

	for (int i = 1; i < argc; i++)
		add_object(argv[i]);
	if (num_patterns < argc - 1 || argc < 2) {
		fprintf(stderr, "usage: test_patterns OBJECT...\n");
		return 2;
	}
	tcase_add_unchecked_fixture(tcase, open_jit, close_jit);
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, test_pattern, 0, num_patterns);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
