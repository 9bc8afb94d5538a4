/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dispatch.c - what DISPATCH_DIRECT checks before any wave starts, and starting them.
 *
 * The registers must have been set by the stream that dispatches, and their fields must be what the chip has. The waves
 * themselves are run by isa/.
 */
#include "card.h"

enum {
	START_X = 0x204,
	NUM_THREAD_X = 0x207,
	PGM_LO = 0x20c,
	PGM_HI = 0x20d,
	RSRC1 = 0x212,
	RSRC2 = 0x213,
	TMPRING = 0x218,
	RSRC3_GFX10 = 0x228,
	RSRC3_GFX90A = 0x22d,
	USER_DATA = 0x240,
};

/* COMPUTE_DISPATCH_INITIATOR. */
#define START_ENABLE   (1u << 0)
#define START_AT_000   (1u << 2)
#define START_ORDER    (1u << 6)
#define START_W32      (1u << 15)
#define START_FIELDS_9 (START_ENABLE | START_AT_000 | START_ORDER | 1u << 10 | 1u << 11)

#define LDS_UNIT       512u
#define LDS_MOST       65536u
#define SCRATCH_UNIT   1024u
#define WAVES_OF_CU    40u

static bool no(struct sim_exec *exec, const char *what, uint32_t value)
{
	return sim_trouble(exec, SIM_TROUBLE_RING, "DISPATCH_DIRECT: %s (%#x)", what, value);
}

static bool check_groups(struct sim_exec *exec, const uint32_t groups[3], struct sim_dispatch *d)
{
	uint64_t threads = 1;

	for (uint32_t i = 0; i < 3; i++) {
		d->groups[i] = groups[i];
		d->group_size[i] = exec->sh[NUM_THREAD_X + i] & 0xffff;
		if (!groups[i])
			return no(exec, "no groups in dimension", i);
		if (!d->group_size[i])
			return no(exec, "no threads of a group in dimension", i);
		if (exec->sh[NUM_THREAD_X + i] >> 16)
			return no(exec, "partial groups are not asked for by the initiator, NUM_THREAD", i);
		if (exec->sh[START_X + i])
			return no(exec, "START is not 0 though the initiator forces 0, dimension", i);
		threads *= d->group_size[i];
	}
	return threads <= 1024 ? true : no(exec, "threads of a group", (uint32_t)threads);
}

static bool check_registers(struct sim_exec *exec, struct sim_dispatch *d)
{
	bool gfx10 = sim.chip->pm4 == SIM_PM4_GFX10;
	uint32_t vgprs = ((d->rsrc1 & 0x3f) + 1) * (gfx10 && d->wave == 64	    ? 4
						    : gfx10 || d->gfx == SIM_GFX90A ? 8
										    : 4);
	uint32_t user = d->rsrc2 >> 1 & 0x1f;

	if (vgprs > (d->gfx == SIM_GFX90A ? 512 : 256))
		return no(exec, "VGPRs", vgprs);
	/* Priority above 0 is for the driver to give. */
	if (d->rsrc1 >> 10 & 3)
		return no(exec, "RSRC1.PRIORITY, RSRC1", d->rsrc1);
	if (user > 16)
		return no(exec, "RSRC2.USER_SGPR", user);
	for (uint32_t i = 0; i < 16; i++) {
		d->user_data[i] = exec->sh[USER_DATA + i];
		if (i < user && !sim_reg_is_set(exec, USER_DATA + i))
			return no(exec, "COMPUTE_USER_DATA that RSRC2.USER_SGPR counts was not set, number",
				  i);
	}
	if (d->rsrc2 >> 6 & 1)
		return no(exec, "RSRC2.TRAP_PRESENT without a trap handler, RSRC2", d->rsrc2);
	if ((d->rsrc2 >> 15 & 0x1ff) * LDS_UNIT > LDS_MOST)
		return no(exec, "RSRC2.LDS_SIZE, in 512 bytes", d->rsrc2 >> 15 & 0x1ff);
	/* A group's waves and their registers must fit into one compute unit. */
	if (d->gfx == SIM_GFX90A && ((d->rsrc3 & 0x3f) + 1) * 4 > vgprs)
		return no(exec, "RSRC3.ACCUM_OFFSET is behind the registers, RSRC3", d->rsrc3);
	return true;
}

static bool check_scratch(struct sim_exec *exec, struct sim_dispatch *d)
{
	uint32_t waves = exec->sh[TMPRING] & 0xfff, size = exec->sh[TMPRING] >> 12 & 0x1fff;
	uint32_t most = sim.chip->engines * sim.chip->arrays * sim.chip->units * WAVES_OF_CU;

	if (!(d->rsrc2 & 1))
		return true;
	if (!waves || !size)
		return no(exec, "RSRC2.SCRATCH_EN with an empty COMPUTE_TMPRING_SIZE", exec->sh[TMPRING]);
	if (waves > most)
		return no(exec, "COMPUTE_TMPRING_SIZE.WAVES is more than the chip holds", waves);
	/* Where it lies is said by the descriptor that comes first in the user's registers. */
	d->scratch = d->user_data[0] | (uint64_t)(d->user_data[1] & 0xffff) << 32;
	d->scratch_wave_bytes = size * SCRATCH_UNIT;
	d->scratch_waves = waves;
	return true;
}

static void trace_instruction(void *opaque, uint64_t wave, uint64_t pc, const char *text, uint64_t exec)
{
	sim_trace("wave %llu %#llx exec %#llx: %s\n", (unsigned long long)wave, (unsigned long long)pc,
		  (unsigned long long)exec, text);
}

static struct sim_machine *machine(struct sim_exec *exec)
{
	struct sim_client *client = exec->client;
	struct sim_options options = {
		.seed = sim.options.seed,
		.max_instructions = sim.options.instructions,
		.compute_units = SIM_UNITS,
		.stop = &exec->stop,
		.trace = sim.options.trace_instructions ? trace_instruction : NULL,
		.trace_lane = sim.options.trace_lane,
	};
	struct sim_memory ops;

	if (client->machine && client->machine_options == sim.options.changes)
		return client->machine;
	sim_machine_free(client->machine);
	sim_memory_ops(exec, &ops);
	client->machine = sim_machine_new(&ops, &options);
	client->machine_options = sim.options.changes;
	return client->machine;
}

void sim_code_forget(struct sim_exec *exec)
{
	if (exec->client->machine)
		sim_machine_forget(exec->client->machine);
}

bool sim_dispatch(struct sim_exec *exec, const uint32_t groups[3], uint32_t initiator)
{
	bool gfx10 = sim.chip->pm4 == SIM_PM4_GFX10;
	const char *missing = sim_reg_missing(exec);
	struct sim_dispatch d = { .gfx = sim.chip->gfx, .wave = initiator & START_W32 ? 32 : 64 };
	struct sim_counts counts = { 0 };
	struct sim_fault fault = { 0 };
	struct sim_machine *m;
	int64_t start;
	bool ok;

	if (!sim.chip->runs)
		return sim_trouble(exec, SIM_TROUBLE_RING, "DISPATCH_DIRECT: %s is not executable here",
				   sim.chip->name);
	if (missing)
		return sim_trouble(exec, SIM_TROUBLE_RING,
				   "DISPATCH_DIRECT: %s was not set by this stream, so it is what others left",
				   missing);
	if (initiator & ~(START_FIELDS_9 | (gfx10 ? START_W32 : 0)))
		return no(exec, "initiator has reserved bits, or asks for what is not modelled", initiator);
	if (!(initiator & START_ENABLE) || !(initiator & START_AT_000))
		return no(exec, "initiator lacks COMPUTE_SHADER_EN or FORCE_START_AT_000", initiator);
	d.code = (uint64_t)exec->sh[PGM_HI] << 40 | (uint64_t)exec->sh[PGM_LO] << 8;
	d.rsrc1 = exec->sh[RSRC1];
	d.rsrc2 = exec->sh[RSRC2];
	if (gfx10)
		d.rsrc3 = exec->sh[RSRC3_GFX10];
	else if (d.gfx == SIM_GFX90A)
		d.rsrc3 = exec->sh[RSRC3_GFX90A];
	if (!check_groups(exec, groups, &d) || !check_registers(exec, &d) || !check_scratch(exec, &d))
		return false;
	m = machine(exec);
	if (!m)
		return sim_trouble(exec, SIM_TROUBLE_RING, "no memory to run a dispatch");
	exec->dispatches++;
	exec->page_fault[0] = 0;
	start = sim_now();
	sim_clock_begin();
	ok = sim_run(m, &d, &counts, &fault);
	sim_clock_end();
	sim_count(exec, &d, &counts, sim_now() - start);
	if (ok)
		return true;
	return sim_trouble(exec, fault.kind == SIM_FAULT_DISPATCH ? SIM_TROUBLE_RING : SIM_TROUBLE_WAVES,
			   "%s; pc %#llx, va %#llx, group %u.%u.%u, wave %u, lane %u%s%s", fault.text,
			   (unsigned long long)fault.pc, (unsigned long long)fault.va, fault.group[0],
			   fault.group[1], fault.group[2], fault.wave, fault.lane,
			   *exec->page_fault ? "; " : "", exec->page_fault);
}
