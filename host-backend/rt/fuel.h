/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuel.h - what bounds the time that one lane takes.
 *
 * How it works: a unit stands for about 64 instructions or 64 bytes (jit/fuel.c weighs a program's loops and
 * functions, the helpers charge what they copy and walk). A lane has its fuel in portions: the fast path of
 * a burn only knows the portion at hand; where that does not suffice the next one is taken from the reserve,
 * which is also when *env->stop is looked at. So a lane ends soon after GP_STOP_NOW, wherever it is.
 *
 * A helper cannot end the program. It charges, and the program's next burn notices; the translator puts one
 * behind each call that may be expensive. A helper that moves as many bytes as it is told, which may be all of a
 * map or a buffer, does so only where there was fuel for it.
 */
#ifndef GPGPU_RT_FUEL_H
#define GPGPU_RT_FUEL_H

#include "clock.h"
#include "mem.h"
#include "rt.h"

#define GP_FUEL_PORTION	  16384
#define GP_BYTES_PER_FUEL 64 /* copied or cleared */
#define GP_STEPS_PER_FUEL 4 /* elements and nodes passed over on a walk */

/* Not atomic for the compiler's sake: it would order the program's other accesses around it. */
GP_ALWAYS uint32_t gp_stop_value(const struct gp_env *env)
{
#if defined(__NVPTX__)
	return gp_load_system((const uint32_t *)env->stop);
#elif defined(GP_RT_GPU)
	/* Past the GPU's caches. */
	return __scoped_atomic_load_n((const uint32_t *)env->stop, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
#else
	return *env->stop;
#endif
}

GP_ALWAYS uint64_t gp_first_portion(uint64_t fuel)
{
	return fuel < GP_FUEL_PORTION ? fuel : GP_FUEL_PORTION;
}

/* gp_late() - a launch also has a deadline, since lanes that go different ways take their turns (launch.h). */
GP_ALWAYS bool gp_late(const struct gp_lane *lane)
{
#if defined(GP_RT_GPU)
	return lane->deadline != UINT64_MAX && gp_ticks() > lane->deadline;
#else
	return false;
#endif
}

/* Return: whether the lane is out of fuel. */
GP_ALWAYS bool gp_burn(struct gp_lane *lane, uint64_t cost)
{
	uint64_t more = cost < GP_FUEL_PORTION ? GP_FUEL_PORTION : cost;

	if (gp_likely(lane->fuel >= cost)) {
		lane->fuel -= cost;
		return false;
	}
	if (more > lane->reserve)
		more = lane->reserve;
	if (lane->fuel + more < cost || gp_stop_value(lane->env) == GP_STOP_NOW || gp_late(lane)) {
		lane->fuel = lane->reserve = 0;
		return true;
	}
	lane->reserve -= more;
	lane->fuel = lane->fuel + more - cost;
	return false;
}

/* Return: whether there was that much; if not the lane has none left. */
GP_ALWAYS bool gp_charge(struct gp_lane *lane, uint64_t cost)
{
	uint64_t rest;

	if (gp_likely(cost <= lane->fuel)) {
		lane->fuel -= cost;
		return true;
	}
	rest = cost - lane->fuel;
	lane->fuel = 0;
	if (gp_unlikely(rest > lane->reserve)) {
		lane->reserve = 0;
		return false;
	}
	lane->reserve -= rest;
	return true;
}

GP_ALWAYS bool gp_charge_bytes(struct gp_lane *lane, uint64_t bytes)
{
	return gp_charge(lane, bytes / GP_BYTES_PER_FUEL);
}

GP_ALWAYS void gp_charge_steps(struct gp_lane *lane, uint32_t steps)
{
	if (gp_unlikely(steps == GP_STEPS_WITHOUT_LOCK))
		lane->fuel = lane->reserve = 0;
	else
		gp_charge(lane, steps / GP_STEPS_PER_FUEL);
}

#endif
