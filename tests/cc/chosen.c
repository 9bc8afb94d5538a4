// SPDX-License-Identifier: BSD-3-Clause
/* chosen.c - what chosen.h says. */
#include <check.h>
#include <stdio.h>
#include "chosen.h"

struct gpgpu_object *object;
const struct target *chosen[MAX_TARGETS];
int num_chosen;

bool chosen_read(int argc, char **argv)
{
	if (argc < 2 || gpgpu_object_open(argv[1], &object)) {
		fprintf(stderr, "usage: %s OBJECT [TARGET...]; %s\n", argv[0], gpgpu_error_message());
		return false;
	}
	chosen[num_chosen++] = &target_jit;
	chosen[num_chosen++] = &target_interp;
	if (argc > 2)
		num_chosen = 0;
	for (int i = 2; i < argc && num_chosen < MAX_TARGETS; i++) {
		chosen[num_chosen++] = target_find(argv[i]);
		if (!chosen[num_chosen - 1]) {
			fprintf(stderr, "there is no target %s\n", argv[i]);
			return false;
		}
	}
	return true;
}

void chosen_open(void)
{
	for (int t = 0; t < num_chosen; t++) {
		const char *why = chosen[t]->open();

		ck_assert_msg(!why, "%s: %s", chosen[t]->name, why);
	}
}

void chosen_close(void)
{
	for (int t = 0; t < num_chosen; t++)
		chosen[t]->close();
}
