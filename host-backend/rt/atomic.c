/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * atomic.c - a program's atomic operations, on GPUs only: with the scope that LLVM's C interface cannot say.
 *
 * All constants but the place and the values; one operation is left after inlining. Relaxed ones are for counters; the
 * others are sequentially consistent, as RFC 9669 has them.
 */
#include <linux/bpf.h>
#include "mem.h"
#include "rt.h"

/* Memory of the lane's alone: some hardware has no atomic operations there, and nobody needs them. */
static bool gp_is_own(const uint8_t *at)
{
#if defined(__NVPTX__)
	return __nvvm_isspacep_local(at);
#else
	return false;
#endif
}

#define GP_RMW(type, order)                                                         \
	switch (op) {                                                               \
	case BPF_ADD:                                                               \
		return __atomic_fetch_add((type *)(void *)at, (type)value, order);  \
	case BPF_OR:                                                                \
		return __atomic_fetch_or((type *)(void *)at, (type)value, order);   \
	case BPF_AND:                                                               \
		return __atomic_fetch_and((type *)(void *)at, (type)value, order);  \
	case BPF_XOR:                                                               \
		return __atomic_fetch_xor((type *)(void *)at, (type)value, order);  \
	default:                                                                    \
		return __atomic_exchange_n((type *)(void *)at, (type)value, order); \
	}

#define GP_ORDERED(type)                               \
	do {                                           \
		if (relaxed)                           \
			GP_RMW(type, __ATOMIC_RELAXED) \
		GP_RMW(type, __ATOMIC_SEQ_CST)         \
	} while (0)

GP_RT uint64_t gp_rt_atomic(uint8_t *at, uint64_t value, uint32_t op, uint32_t size, uint32_t relaxed)
{
	switch (size) {
	case 1:
		GP_ORDERED(uint8_t);
	case 2:
		GP_ORDERED(uint16_t);
	case 4:
		GP_ORDERED(uint32_t);
	default:
		GP_ORDERED(uint64_t);
	}
}

GP_RT uint64_t gp_rt_compare_exchange(uint8_t *at, uint64_t expected, uint64_t value, uint32_t size)
{
	if (size == 4) {
		uint32_t old = (uint32_t)expected;

		__atomic_compare_exchange_n((uint32_t *)(void *)at, &old, (uint32_t)value, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		return old;
	}
	__atomic_compare_exchange_n((uint64_t *)(void *)at, &expected, value, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return expected;
}

GP_ALWAYS uint64_t gp_own_load(const uint8_t *at, uint32_t size)
{
	uint64_t value = 0;

	memcpy(&value, at, size);
	return value;
}

GP_ALWAYS void gp_own_store(uint8_t *at, uint64_t value, uint32_t size)
{
	memcpy(at, &value, size);
}

GP_RT uint64_t gp_rt_atomic_any(uint8_t *at, uint64_t value, uint32_t op, uint32_t size, uint32_t relaxed)
{
	uint64_t old;

	if (!gp_is_own(at))
		return gp_rt_atomic(at, value, op, size, relaxed);
	old = gp_own_load(at, size);
	switch (op) {
	case BPF_ADD:
		value += old;
		break;
	case BPF_OR:
		value |= old;
		break;
	case BPF_AND:
		value &= old;
		break;
	case BPF_XOR:
		value ^= old;
		break;
	default:
		break;
	}
	gp_own_store(at, value, size);
	return old;
}

GP_RT uint64_t gp_rt_compare_exchange_any(uint8_t *at, uint64_t expected, uint64_t value, uint32_t size)
{
	uint64_t old;

	if (!gp_is_own(at))
		return gp_rt_compare_exchange(at, expected, value, size);
	old = gp_own_load(at, size);
	if (old == expected)
		gp_own_store(at, value, size);
	return old;
}
