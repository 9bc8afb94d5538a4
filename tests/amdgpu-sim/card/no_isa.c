/* SPDX-License-Identifier: BSD-3-Clause */
/* no_isa.c - a build without isa/: everything works but waves, which fault. */
#include <stdio.h>
#include <stdlib.h>
#include "isa/isa.h"

struct sim_machine {
	int nothing;
};

struct sim_machine *sim_machine_new(const struct sim_memory *memory, const struct sim_options *options)
{
	return calloc(1, sizeof(struct sim_machine));
}

void sim_machine_free(struct sim_machine *machine)
{
	free(machine);
}

void sim_machine_forget(struct sim_machine *machine)
{
}

bool sim_run(struct sim_machine *machine, const struct sim_dispatch *dispatch, struct sim_counts *counts,
	     struct sim_fault *fault)
{
	fault->kind = SIM_FAULT_OPCODE;
	fault->pc = dispatch->code;
	snprintf(fault->text, sizeof(fault->text), "this build cannot execute instructions");
	return false;
}
