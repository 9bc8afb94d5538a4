/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * atomic_float.c - atomic operations on floats: compare and exchange of their bits until it holds.
 *
 * Why no instruction of the device, where there is one: the rules of docs/floats.md are the same on every device, and those
 * instructions have others. Some of AMD's generations flush denormals in atomic additions, as does NVIDIA's atom.add.f32 in
 * global memory; minima and maxima differ on NaNs and zeros; CPUs have none.
 *
 * Bounded: a turn that somebody else won burns fuel. An item that is out of it writes nothing, and faults at the burn that
 * the translator puts behind the call. On a wave all lanes that are left take their turns together; one of them wins
 * each place.
 */
#include "float.h"
#include "fuel.h"
#include "rt.h"

/* Memory of the lane's alone, where some hardware has no atomic operations. */
GP_ALWAYS bool gp_is_lanes_own(const uint8_t *at)
{
#if defined(__NVPTX__)
	return __nvvm_isspacep_local(at);
#else
	return false;
#endif
}

/* Only programs call these. */
#define GP_ATOMIC(name, bits)                                                                           \
	uint64_t gp_helper_atomic_##name##bits(struct gp_lane *lane, uint8_t *at, uint64_t value);      \
	GP_RT uint64_t gp_helper_atomic_##name##bits(struct gp_lane *lane, uint8_t *at, uint64_t value) \
	{                                                                                               \
		uint##bits##_t *place = (uint##bits##_t *)(void *)at, old, new;                         \
                                                                                                        \
		if (gp_is_lanes_own(at)) {                                                              \
			old = *place;                                                                   \
			*place = (uint##bits##_t)gp_helper_##name##bits(lane, old, value);              \
			return old;                                                                     \
		}                                                                                       \
		old = gp_load##bits(place);                                                             \
		do {                                                                                    \
			new = (uint##bits##_t)gp_helper_##name##bits(lane, old, value);                 \
			if (__atomic_compare_exchange_n(place, &old, new, false, __ATOMIC_SEQ_CST,      \
							__ATOMIC_RELAXED))                              \
				break;                                                                  \
		} while (!gp_burn(lane, 1));                                                            \
		return old;                                                                             \
	}

GP_ATOMIC(fadd, 32)
GP_ATOMIC(fmin, 32)
GP_ATOMIC(fmax, 32)
GP_ATOMIC(fadd, 64)
GP_ATOMIC(fmin, 64)
GP_ATOMIC(fmax, 64)
