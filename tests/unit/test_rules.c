/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_rules.c - each rule of the validator: what breaks it is refused, the nearest legal program runs.
 *
 * The pair is the point: a validator that refuses everything, or for another reason, fails here. What is
 * refused must come with the reason, the instruction and the words that rules.c asks for; what is legal is
 * compiled, run, and must do what the interpreter does. docs/validator.md and the table must know the same rules.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rt/maps.h"
#include "rules.h"
#include "target.h"

#define CPUS 2

static const struct run_map shapes[NUM_MAPS] = {
	[MAP_ARRAY] = { .type = VIRTIO_GPGPU_MAP_ARRAY, .key_size = 4, .value_size = 16, .max_entries = 4 },
	[MAP_HASH] = { .type = VIRTIO_GPGPU_MAP_HASH, .key_size = 8, .value_size = 8, .max_entries = 4 },
	[MAP_RODATA] = { .type = VIRTIO_GPGPU_MAP_ARRAY,
			 .key_size = 4,
			 .value_size = 8,
			 .max_entries = 1,
			 .rdonly = true },
	[MAP_QUEUE] = { .type = VIRTIO_GPGPU_MAP_QUEUE, .value_size = 8, .max_entries = 4 },
	[MAP_PROGS] = { .type = VIRTIO_GPGPU_MAP_PROG_ARRAY,
			.key_size = 4,
			.value_size = 4,
			.max_entries = 4 },
	[MAP_RING] = { .type = VIRTIO_GPGPU_MAP_RINGBUF, .max_entries = 4096 },
};

static struct gp_map_desc maps[NUM_MAPS];

static void make_maps(void)
{
	for (uint32_t m = 0; m < NUM_MAPS; m++) {
		maps[m] = (struct gp_map_desc){ .type = shapes[m].type,
						.key_size = shapes[m].key_size,
						.value_size = shapes[m].value_size,
						.max_entries = shapes[m].max_entries,
						.flags = shapes[m].rdonly ? VIRTIO_GPGPU_MAP_F_RDONLY_PROG
									  : 0 };
		ck_assert_uint_eq(gp_map_check(&maps[m], CPUS), 0);
	}
}

static struct gp_prog program(uint32_t kind, const struct bpf_insn *insns, uint32_t count)
{
	struct gp_prog prog = {
		.kind = kind, .num_insns = count, .insns = insns, .num_maps = NUM_MAPS, .maps = maps
	};

	make_maps();
	if (kind == VIRTIO_GPGPU_PROG_GPGPU) {
		prog.num_args = 3;
		prog.arg_kind[0] = VIRTIO_GPGPU_ARG_BUFFER;
		prog.arg_kind[1] = VIRTIO_GPGPU_ARG_BUFFER_RO;
		prog.arg_kind[2] = VIRTIO_GPGPU_ARG_VALUE;
	}
	return prog;
}

static void refused(const char *name, const struct gp_prog *prog, uint32_t reason, uint32_t at,
		    const char *words)
{
	bool limit = reason == VIRTIO_GPGPU_R_INSN_LIMIT || reason == VIRTIO_GPGPU_R_COMPILE_LIMIT;
	struct gp_verdict verdict;
	char prefix[16], list[256], *word, *rest = list;

	ck_assert_msg(!gp_validate(prog, &verdict), "%s: accepted", name);
	ck_assert_msg(verdict.reason == reason, "%s: reason %u instead of %u (%s)", name, verdict.reason,
		      reason, verdict.message);
	ck_assert_msg(at == ANY_INSN || verdict.insn == at, "%s: instruction %u instead of %u (%s)", name,
		      verdict.insn, at, verdict.message);
	ck_assert_uint_eq(verdict.status, limit ? VIRTIO_GPGPU_S_LIMIT : VIRTIO_GPGPU_S_REJECTED);
	snprintf(prefix, sizeof(prefix), "%u: ", verdict.insn);
	ck_assert_msg(at == UINT32_MAX || !strncmp(verdict.message, prefix, strlen(prefix)),
		      "%s: does not begin with the instruction: %s", name, verdict.message);
	ck_assert_msg(strlen(verdict.message) < GP_MESSAGE - 1, "%s: cut off: %s", name, verdict.message);
	snprintf(list, sizeof(list), "%s", words);
	while ((word = strsep(&rest, "|")))
		ck_assert_msg(strstr(verdict.message, word), "%s: no \"%s\" in: %s", name, word,
			      verdict.message);
}

static void run(const char *name, const struct target *target, const struct gp_prog *prog, struct run *what,
		struct outcome *outcome)
{
	static uint8_t packet[64], zeros[64];

	*what = (struct run){ .name = name,
			      .kind = prog->kind,
			      .insns = prog->insns,
			      .num_insns = prog->num_insns,
			      .maps = shapes,
			      .num_maps = NUM_MAPS,
			      .fuel = 100000 };
	if (prog->kind == VIRTIO_GPGPU_PROG_XDP) {
		what->packets[0] = (struct run_packet){ packet, sizeof(packet), 0, 3, 2 };
		what->num_packets = 1;
	} else {
		what->num_args = prog->num_args;
		what->args[0] = (struct run_arg){ VIRTIO_GPGPU_ARG_BUFFER, 0, zeros, sizeof(zeros) };
		what->args[1] = (struct run_arg){ VIRTIO_GPGPU_ARG_BUFFER_RO, 0, zeros, sizeof(zeros) };
		what->args[2] = (struct run_arg){ VIRTIO_GPGPU_ARG_VALUE, 1, NULL, 0 };
		for (int d = 0; d < 3; d++)
			what->grid[d] = what->group[d] = 1;
	}
	memset(outcome, 0, sizeof(*outcome));
	target->run(what, outcome);
	ck_assert_msg(!outcome->refused, "%s: the legal one is refused by %s: %s", name, target->name,
		      outcome->message);
	ck_assert_msg(!outcome->faults, "%s on %s: fault %u at %u", name, target->name, outcome->fault,
		      outcome->fault_insn);
}

static void runs(const char *name, const struct gp_prog *prog)
{
	struct outcome jit, interp;
	struct gp_verdict verdict;
	struct run what;

	ck_assert_msg(gp_validate(prog, &verdict), "%s: the legal one is refused: %s", name, verdict.message);
	ck_assert_uint_eq(verdict.status, VIRTIO_GPGPU_S_OK);
	run(name, &target_jit, prog, &what, &jit);
	run(name, &target_interp, prog, &what, &interp);
	outcome_free(&jit);
	outcome_free(&interp);
}

START_TEST(test_rule)
{
	const struct rule *rule = &rules[_i];
	struct gp_prog bad = program(rule->kind, rule->bad.insns, rule->bad.count);
	struct gp_prog good = program(rule->kind, rule->good.insns, rule->good.count);

	refused(rule->name, &bad, rule->reason, rule->at, rule->words);
	runs(rule->name, &good);
}
END_TEST

START_TEST(test_special)
{
	static const struct bpf_insn least[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K },
						 { .code = BPF_JMP | BPF_EXIT } };
	struct bpf_insn *insns = calloc(GP_MAX_INSNS + 1, sizeof(*insns));
	const struct special *rule = &specials[_i];
	struct gp_prog prog = program(VIRTIO_GPGPU_PROG_XDP, least, 2);

	if (rule->make)
		prog = program(VIRTIO_GPGPU_PROG_XDP, insns, rule->make(insns, true));
	else
		rule->bend(&prog);
	refused(rule->name, &prog, rule->reason, rule->at, rule->words);
	prog = program(VIRTIO_GPGPU_PROG_XDP, least, 2);
	if (rule->make)
		prog = program(VIRTIO_GPGPU_PROG_XDP, insns, rule->make(insns, false));
	runs(rule->name, &prog);
	free(insns);
}
END_TEST

/* ------------------------------------------------------------ the page */

static bool tested(const char *id)
{
	for (uint32_t i = 0; i < num_rules; i++)
		if (!strcmp(rules[i].id, id))
			return true;
	for (uint32_t i = 0; i < num_specials; i++)
		if (!strcmp(specials[i].id, id))
			return true;
	return false;
}

static bool in_page(const char *page, const char *id)
{
	char row[80];

	snprintf(row, sizeof(row), "\n| `%s` |", id);
	return strstr(page, row);
}

START_TEST(test_page)
{
	const char *path = getenv("VALIDATOR_PAGE"), *row;
	static char page[1 << 16];
	uint32_t count = 0;
	FILE *file;

	ck_assert_msg(path && (file = fopen(path, "r")), "VALIDATOR_PAGE does not name docs/validator.md");
	page[fread(page, 1, sizeof(page) - 1, file)] = 0;
	fclose(file);
	for (row = page; (row = strstr(row, "\n| `"));) {
		char id[64];

		row += strlen("\n| `");
		snprintf(id, sizeof(id), "%.*s", (int)strcspn(row, "`"), row);
		ck_assert_msg(tested(id), "the page's rule '%s' has no test", id);
		count++;
	}
	ck_assert_uint_gt(count, 0);
	for (uint32_t i = 0; i < num_rules; i++)
		ck_assert_msg(in_page(page, rules[i].id), "rule '%s' is not in the page", rules[i].id);
	for (uint32_t i = 0; i < num_specials; i++)
		ck_assert_msg(in_page(page, specials[i].id), "rule '%s' is not in the page", specials[i].id);
}
END_TEST

static void open_jit(void)
{
	const char *why = target_jit.open();

	ck_assert_msg(!why, "%s", why);
}

static void close_jit(void)
{
	target_jit.close();
}

int main(void)
{
	Suite *suite = suite_create("rules");
	TCase *tcase = tcase_create("rules");
	SRunner *runner;
	int failed;

	/* One compiler for all: the tests run in one process. */
	tcase_add_unchecked_fixture(tcase, open_jit, close_jit);
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, test_rule, 0, (int)num_rules);
	tcase_add_loop_test(tcase, test_special, 0, (int)num_specials);
	tcase_add_test(tcase, test_page);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
