/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvptx.h - what is different where this library is compiled for an NVIDIA GPU; mem.h includes it there, as it includes
 * gpu.h for AMD's, and only there.
 *
 * Atomics are written as on the CPU: jit/ptx_atomics.c gives each its scope, the GPU, and its order.
 *
 * Locks. From sm_70 on each lane of a warp gets on by itself, also where another one of it spins: a lane that waits for
 * a lock of its neighbour's gets it. So gp_with_lock() asks nobody else whether the loop goes on. Its shape is as
 * elsewhere: within one turn a lane takes its lock, does what is to be done and lets go.
 */
#ifndef GPGPU_RT_NVPTX_H
#define GPGPU_RT_NVPTX_H

#include <stdbool.h>
#include <stdint.h>

/* Whether @x holds for a lane that others wait with: nobody waits. */
static inline __attribute__((always_inline)) bool gp_wave_any(bool x)
{
	return x;
}

/* What the host may change meanwhile: past all caches. */
static inline __attribute__((always_inline)) uint32_t gp_load_system(const uint32_t *p)
{
	uint32_t v;

	__asm__ volatile("{\n\t"
			 ".reg .u64 at;\n\t"
			 "cvta.to.global.u64 at, %1;\n\t"
			 "ld.relaxed.sys.global.u32 %0, [at];\n\t"
			 "}"
			 : "=r"(v)
			 : "l"(p));
	return v;
}

/* All lanes that came here together take the same turns, and meet behind each of them. */
#define gp_each_lane()                                                           \
	for (uint32_t gp_together = __nvvm_activemask(), gp_todo = gp_together,  \
		      gp_me = 1u << __nvvm_read_ptx_sreg_laneid();               \
	     gp_todo; gp_todo &= gp_todo - 1, __nvvm_bar_warp_sync(gp_together)) \
		if ((gp_todo & -gp_todo) == gp_me)

#endif
