/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu.h - what is different where this library is compiled for a GPU; mem.h includes it there, and only there.
 *
 * Atomics. Maps, buffers and launches are shared by the lanes of one GPU, so device scope suffices, and makes
 * every operation one of the L2 cache; what the host changes meanwhile, *env.stop, is read at system scope (fuel.h).
 *
 * Locks. Lanes of one wave run in step: where they wait for one another's lock, the one that has it does not get on. So
 * gp_with_lock() is a loop that all lanes of a wave leave together: in each turn those that can have their lock take
 * it, do what is to be done, and let go of it, all within the turn. Whoever waits, waits for another wave, which
 * does get on. What makes it hold whatever the compiler does with the code: that the loop goes on is one question for
 * the whole wave, and asked behind the critical section.
 */
#ifndef GPGPU_RT_GPU_H
#define GPGPU_RT_GPU_H

#include <stdbool.h>
#include <stdint.h>

#define __atomic_load_n(p, order)	 __scoped_atomic_load_n(p, order, __MEMORY_SCOPE_DEVICE)
#define __atomic_store_n(p, v, order)	 __scoped_atomic_store_n(p, v, order, __MEMORY_SCOPE_DEVICE)
#define __atomic_exchange_n(p, v, order) __scoped_atomic_exchange_n(p, v, order, __MEMORY_SCOPE_DEVICE)
#define __atomic_fetch_add(p, v, order)	 __scoped_atomic_fetch_add(p, v, order, __MEMORY_SCOPE_DEVICE)
#define __atomic_fetch_and(p, v, order)	 __scoped_atomic_fetch_and(p, v, order, __MEMORY_SCOPE_DEVICE)
#define __atomic_fetch_or(p, v, order)	 __scoped_atomic_fetch_or(p, v, order, __MEMORY_SCOPE_DEVICE)
#define __atomic_fetch_xor(p, v, order)	 __scoped_atomic_fetch_xor(p, v, order, __MEMORY_SCOPE_DEVICE)
#define __atomic_fetch_min(p, v, order)	 __scoped_atomic_fetch_min(p, v, order, __MEMORY_SCOPE_DEVICE)
#define __atomic_thread_fence(order)	 __builtin_amdgcn_fence(order, "agent")
#define __atomic_compare_exchange_n(p, old, v, weak, order, failed) \
	__scoped_atomic_compare_exchange_n(p, old, v, weak, order, failed, __MEMORY_SCOPE_DEVICE)

/* This lane's number in its wave. */
static inline __attribute__((always_inline)) uint32_t gp_wave_lane(void)
{
	return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

/* Whether @x holds for one of the wave's lanes that are here; the same for all of them. */
static inline __attribute__((always_inline)) bool gp_wave_any(bool x)
{
	return __builtin_amdgcn_ballot_w64(x) != 0;
}

#define gp_each_lane()                                                                                      \
	for (uint64_t gp_todo = __builtin_amdgcn_ballot_w64(true), gp_me = 1ull << gp_wave_lane(); gp_todo; \
	     gp_todo &= gp_todo - 1)                                                                        \
		if ((gp_todo & -gp_todo) == gp_me)

#endif
