/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic.c - what memory becomes by an atomic operation: for local memory, and for those who bring their own memory. */
#include "float.h"
#include "isa.h"

uint64_t sim_atomic_result(enum sim_atomic op, uint32_t size, uint64_t old, uint64_t operand,
			   uint64_t compare)
{
	int64_t a = size == 8 ? (int64_t)old : (int32_t)old,
		b = size == 8 ? (int64_t)operand : (int32_t)operand;

	switch (op) {
	case SIM_ATOMIC_SWAP:
		return operand;
	case SIM_ATOMIC_CMPSWAP:
		return old == compare ? operand : old;
	case SIM_ATOMIC_ADD:
		return old + operand;
	case SIM_ATOMIC_SUB:
		return old - operand;
	case SIM_ATOMIC_SMIN:
		return a < b ? old : operand;
	case SIM_ATOMIC_UMIN:
		return old < operand ? old : operand;
	case SIM_ATOMIC_SMAX:
		return a > b ? old : operand;
	case SIM_ATOMIC_UMAX:
		return old > operand ? old : operand;
	case SIM_ATOMIC_AND:
		return old & operand;
	case SIM_ATOMIC_OR:
		return old | operand;
	case SIM_ATOMIC_XOR:
		return old ^ operand;
	case SIM_ATOMIC_INC:
		return old >= operand ? 0 : old + 1;
	case SIM_ATOMIC_DEC:
		return old == 0 || old > operand ? operand : old - 1;
	case SIM_ATOMIC_ADD_F32:
		return b32(f32((uint32_t)old) + f32((uint32_t)operand));
	case SIM_ATOMIC_ADD_F64:
		return b64(f64(old) + f64(operand));
	}
	return old;
}
