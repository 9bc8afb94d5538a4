/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare.c - v_cmp_* and v_cmpx_*: a bit per active lane, zero for the others.
 *
 * v_cmpx writes the exec mask as well; on gfx10 that is all it writes.
 */
#include "lanes.h"
#include "float.h"

void isa_run_compare(struct wave *w, const struct uop *u)
{
	union val room[2];
	const union val *s[3] = { isa_source(w, u, 0, &room[0]), isa_source(w, u, 1, &room[1]), NULL };
	uint64_t r = u->sem->compare(w, s, w->size) & isa_exec(w);

	isa_set_scalar(w, &u->dst, r);
	if (u->sem->flags & F_EXEC) {
		w->s[126] = (uint32_t)r;
		if (w->size == 64)
			w->s[127] = (uint32_t)(r >> 32);
	}
}

#define COMPARE(name, type, field, expression)                                             \
	static uint64_t do_##name(struct wave *w, const union val *const s[3], uint32_t n) \
	{                                                                                  \
		uint64_t r = 0;                                                            \
                                                                                           \
		(void)w;                                                                   \
		for (uint32_t i = 0; i < n; i++) {                                         \
			type a = s[0]->field[i], b = s[1]->field[i];                       \
                                                                                           \
			r |= (uint64_t)((expression) ? 1 : 0) << i;                        \
			(void)a, (void)b;                                                  \
		}                                                                          \
		return r;                                                                  \
	}

#define INTEGERS(X, suffix, type, field, t)       \
	X(f_##suffix, type, field, t, t, 0)       \
	X(lt_##suffix, type, field, t, t, a < b)  \
	X(eq_##suffix, type, field, t, t, a == b) \
	X(le_##suffix, type, field, t, t, a <= b) \
	X(gt_##suffix, type, field, t, t, a > b)  \
	X(ne_##suffix, type, field, t, t, a != b) \
	X(ge_##suffix, type, field, t, t, a >= b) \
	X(t_##suffix, type, field, t, t, 1)

#define REAL(x) (x)
#define HALF(x) from16(x)
#define REALS(X, suffix, type, field, t, V)                                                \
	X(f_##suffix, type, field, t, t, 0)                                                \
	X(lt_##suffix, type, field, t, t, V(a) < V(b))                                     \
	X(eq_##suffix, type, field, t, t, V(a) == V(b))                                    \
	X(le_##suffix, type, field, t, t, V(a) <= V(b))                                    \
	X(gt_##suffix, type, field, t, t, V(a) > V(b))                                     \
	X(lg_##suffix, type, field, t, t, isless(V(a), V(b)) || isgreater(V(a), V(b)))     \
	X(ge_##suffix, type, field, t, t, V(a) >= V(b))                                    \
	X(o_##suffix, type, field, t, t, !isunordered(V(a), V(b)))                         \
	X(u_##suffix, type, field, t, t, isunordered(V(a), V(b)))                          \
	X(nge_##suffix, type, field, t, t, !(V(a) >= V(b)))                                \
	X(nlg_##suffix, type, field, t, t, !(isless(V(a), V(b)) || isgreater(V(a), V(b)))) \
	X(ngt_##suffix, type, field, t, t, !(V(a) > V(b)))                                 \
	X(nle_##suffix, type, field, t, t, !(V(a) <= V(b)))                                \
	X(neq_##suffix, type, field, t, t, V(a) != V(b))                                   \
	X(nlt_##suffix, type, field, t, t, !(V(a) < V(b)))                                 \
	X(tru_##suffix, type, field, t, t, 1)

/* Classes: signalling and quiet NaN, -infinity, -normal, -denormal, -0, +0, +denormal, +normal, +infinity. */
static bool class_of(uint64_t x, unsigned int exponent, unsigned int mantissa, uint32_t mask)
{
	uint64_t m = x & ((1ull << mantissa) - 1), e = x >> mantissa & ((1u << exponent) - 1);
	bool sign = x >> (exponent + mantissa) & 1;
	unsigned int kind;

	if (e == (1u << exponent) - 1)
		kind = m ? (m >> (mantissa - 1) ? 1 : 0) : sign ? 2 : 9;
	else if (e)
		kind = sign ? 3 : 8;
	else if (m)
		kind = sign ? 4 : 7;
	else
		kind = sign ? 5 : 6;
	return mask >> kind & 1;
}

#define LIST(X)                                 \
	INTEGERS(X, i16, int32_t, i, T_I16)     \
	INTEGERS(X, u16, uint32_t, w, T_B16)    \
	INTEGERS(X, i32, int32_t, i, T_B32)     \
	INTEGERS(X, u32, uint32_t, w, T_B32)    \
	INTEGERS(X, i64, int64_t, l, T_B64)     \
	INTEGERS(X, u64, uint64_t, q, T_B64)    \
	REALS(X, f16, uint32_t, w, T_F16, HALF) \
	REALS(X, f32, float, f, T_F32, REAL)    \
	REALS(X, f64, double, d, T_F64, REAL)

#define DEFINE(name, type, field, t0, t1, expression) COMPARE(name, type, field, expression)
LIST(DEFINE)

static uint64_t class16(struct wave *w, const union val *const s[3], uint32_t n)
{
	uint64_t r = 0;

	for (uint32_t i = 0; i < n; i++)
		r |= (uint64_t)class_of(s[0]->w[i], 5, 10, s[1]->w[i]) << i;
	return r;
}

static uint64_t class32(struct wave *w, const union val *const s[3], uint32_t n)
{
	uint64_t r = 0;

	for (uint32_t i = 0; i < n; i++)
		r |= (uint64_t)class_of(s[0]->w[i], 8, 23, s[1]->w[i]) << i;
	return r;
}

static uint64_t class64(struct wave *w, const union val *const s[3], uint32_t n)
{
	uint64_t r = 0;

	for (uint32_t i = 0; i < n; i++)
		r |= (uint64_t)class_of(s[0]->q[i], 11, 52, s[1]->w[i]) << i;
	return r;
}

#define SEM(name, f, t0, t1, flags) \
	{ name, isa_run_compare, NULL, f, NULL, T_MASK, { t0, t1, 0 }, U_ALL, C_VALU, flags, 0, 0, 0 },
#define CMP(name, type, field, t0, t1, expression)  SEM("v_cmp_" #name, do_##name, t0, t1, 0)
#define CMPX(name, type, field, t0, t1, expression) SEM("v_cmpx_" #name, do_##name, t0, t1, F_EXEC)
#define CLASS(size)                                                            \
	SEM("v_cmp_class_f" #size, class##size, T_F##size, T_B32, F_NO_DENORM) \
	SEM("v_cmpx_class_f" #size, class##size, T_F##size, T_B32, F_NO_DENORM | F_EXEC)

const struct sem isa_sem_compare[] = { LIST(CMP) LIST(CMPX) CLASS(16) CLASS(32) CLASS(64) };
SEM_END(compare);
