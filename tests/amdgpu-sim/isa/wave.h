/* SPDX-License-Identifier: BSD-3-Clause */
/* wave.h - groups that are on the card, and how their waves begin. */
#ifndef AMDGPU_SIM_WAVE_H
#define AMDGPU_SIM_WAVE_H

#include "internal.h"

/* Places for groups; each has the memory for one. */
struct residence {
	unsigned int places;
	struct group *group;
	bool *used;
	bool *slots; /* of scratch */
	uint32_t slot_count, waves_per_group;
	void *registers;
};

/* isa_residence_open() - Return: false after a fault of the dispatch (or without memory). */
bool isa_residence_open(struct sim_machine *m, const struct sim_dispatch *d, struct residence *r);
void isa_residence_close(struct residence *r);

/* isa_group_start() - group number @at begins in @place. Return: false if it has to wait for scratch. */
bool isa_group_start(struct sim_machine *m, const struct sim_dispatch *d, struct residence *r,
		     unsigned int place, uint64_t at);
void isa_group_end(struct residence *r, unsigned int place);

#endif
