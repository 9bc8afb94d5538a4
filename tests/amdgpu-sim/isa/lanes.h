/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lanes.h - how the tables of vector instructions are written: a list of rows, expanded once into functions over
 * all lanes and once into the table.
 *
 * A row: name, how undefined bits go through, flags, extra, type of the result, types of the sources, expression.
 * In the expression A B C are the sources of one lane, as unsigned 32 bits; SA SB SC signed; with Q (LQ) 64 bits.
 */
#ifndef AMDGPU_SIM_LANES_H
#define AMDGPU_SIM_LANES_H

#include "internal.h"

#define A     (s[0]->w[i])
#define B     (s[1]->w[i])
#define C     (s[2]->w[i])
#define SA    (s[0]->i[i])
#define SB    (s[1]->i[i])
#define SC    (s[2]->i[i])
#define AQ    (s[0]->q[i])
#define BQ    (s[1]->q[i])
#define CQ    (s[2]->q[i])
#define CLAMP (u->clamp)

#define LANES_OF(field, name, expression)                                                 \
	static void do_##name(struct wave *w, const struct uop *u, union val *restrict d, \
			      const union val *const s[3], uint32_t n, uint64_t exec)     \
	{                                                                                 \
		(void)w, (void)u, (void)exec, (void)s;                                    \
		n &= ~31u;                                                                \
		for (uint32_t i = 0; i < n; i++)                                          \
			d->field[i] = (expression);                                       \
	}

#define FUNCTION_W(name, undef, flags, extra, type, s0, s1, s2, expression) LANES_OF(w, name, expression)
#define FUNCTION_Q(name, undef, flags, extra, type, s0, s1, s2, expression) LANES_OF(q, name, expression)
#define VALU_ROW(name, undef, flags, extra, type, s0, s1, s2, expression)         \
	{                                                                         \
		#name, isa_run_valu, do_##name, NULL, NULL, type, { s0, s1, s2 }, \
		undef, C_VALU,	     flags,	0,    0,    extra                 \
	},

#endif
