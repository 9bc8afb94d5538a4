/* SPDX-License-Identifier: BSD-3-Clause */
/* pm4.h - packets: between their table (pm4.c) and what they do (pm4_ops.c). */
#ifndef AMDGPU_SIM_PM4_H
#define AMDGPU_SIM_PM4_H

#include "card.h"

struct sim_stream {
	struct sim_exec *exec;
	uint64_t at, end; /* of the stream; a chain changes both */
	uint32_t header, count; /* of the packet; dwords behind the header */
	uint32_t *body;
};

struct sim_packet {
	uint32_t op;
	const char *name;
	uint32_t min, max; /* dwords behind the header */
	const uint32_t *bits; /* that each has; NULL: checked by run() */
	bool (*run)(struct sim_stream *s); /* NULL: nothing to do */
};

bool sim_pm4_acquire_9(struct sim_stream *s);
bool sim_pm4_acquire_10(struct sim_stream *s);
bool sim_pm4_chain(struct sim_stream *s);
bool sim_pm4_cond_exec(struct sim_stream *s);
bool sim_pm4_copy_data(struct sim_stream *s);
bool sim_pm4_dispatch(struct sim_stream *s);
bool sim_pm4_dma_data(struct sim_stream *s);
bool sim_pm4_event(struct sim_stream *s);
bool sim_pm4_release_9(struct sim_stream *s);
bool sim_pm4_release_10(struct sim_stream *s);
bool sim_pm4_set_sh(struct sim_stream *s);
bool sim_pm4_set_sh_index(struct sim_stream *s);
bool sim_pm4_wait(struct sim_stream *s);
bool sim_pm4_write_data(struct sim_stream *s);
void sim_mem_sync(struct sim_exec *exec); /* what EMIT_MEM_SYNC makes the driver do before the IB */

#endif
