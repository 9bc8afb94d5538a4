// SPDX-License-Identifier: BSD-3-Clause
/*
 * header.bpf.c - kernels written with gpgpu_bpf.h as an author would, for test_header.c to run.
 *
 * `every` calls every helper once, so that each declaration meets the compiler.
 */
#include <linux/types.h>
#include "gpgpu_bpf.h"

#define SEC(name) __attribute__((section(name), used))

struct saxpy_args {
	const __u32 *x;
	__u32 *y;
	__u64 a;
};

SEC("gpgpu/saxpy") int saxpy(struct saxpy_args *arg)
{
	__u64 i = gp_global_id(0);

	arg->y[i] = gp_fma32(arg->a, arg->x[i], arg->y[i]);
	return 0;
}

struct every_args {
	__u64 *out;
};

#define OP1(name, x)	   (*out++ = gp_##name(x))
#define OP2(name, x, y)	   (*out++ = gp_##name(x, y))
#define OP3(name, x, y, z) (*out++ = gp_##name(x, y, z))

#define EVERY_FLOAT(bits, f)                    \
	OP2(fadd##bits, f(1.5), f(2.25));       \
	OP2(fsub##bits, f(1.5), f(2.25));       \
	OP2(fmul##bits, f(1.5), f(2.25));       \
	OP2(fdiv##bits, f(9.0), f(2.0));        \
	OP3(fma##bits, f(2.0), f(3.0), f(0.5)); \
	OP1(sqrt##bits, f(6.25));               \
	OP2(fmin##bits, f(1.5), f(-2.25));      \
	OP2(fmax##bits, f(1.5), f(-2.25));      \
	OP2(flt##bits, f(1.5), f(2.25));        \
	OP2(fle##bits, f(2.25), f(2.25));       \
	OP2(feq##bits, f(1.5), f(2.25));        \
	OP1(fabs##bits, f(-1.5));               \
	OP1(floor##bits, f(-1.5));              \
	OP1(ceil##bits, f(-1.5));               \
	OP1(trunc##bits, f(-1.5));              \
	OP1(rint##bits, f(2.5))

#define EVERY_MATH(bits, f)              \
	OP1(rsqrt##bits, f(4.0));        \
	OP1(exp##bits, f(0.0));          \
	OP1(exp2##bits, f(3.0));         \
	OP1(log##bits, f(1.0));          \
	OP1(log2##bits, f(8.0));         \
	OP1(sin##bits, f(0.0));          \
	OP1(cos##bits, f(0.0));          \
	OP2(pow##bits, f(2.0), f(3.0));  \
	OP2(fmod##bits, f(5.5), f(2.0)); \
	OP1(round##bits, f(2.5));        \
	OP2(copysign##bits, f(1.5), f(-2.0))

SEC("gpgpu/every") int every(struct every_args *arg)
{
	__u64 *out = arg->out;

	OP1(global_id, 0);
	OP1(global_size, 0);
	OP1(local_id, 0);
	OP1(local_size, 0);
	OP1(group_id, 0);
	OP1(num_groups, 0);
	EVERY_FLOAT(32, GP_F32);
	EVERY_FLOAT(64, GP_F64);
	OP1(f32_from_s, -7);
	OP1(f32_from_u, 7);
	OP1(f64_from_s, -7);
	OP1(f64_from_u, 7);
	OP1(s_from_f32, GP_F32(-7.75));
	OP1(u_from_f32, GP_F32(7.75));
	OP1(s_from_f64, GP_F64(-7.75));
	OP1(u_from_f64, GP_F64(7.75));
	OP1(f64_from_f32, GP_F32(0.5));
	OP1(f32_from_f64, GP_F64(0.5));
	OP1(s32_from_f32, GP_F32(-7.75));
	OP1(u32_from_f32, GP_F32(7.75));
	OP1(s32_from_f64, GP_F64(-7.75));
	OP1(u32_from_f64, GP_F64(7.75));
	OP1(f32_from_f16, 0x3800);
	OP1(f16_from_f32, GP_F32(0.5));
	OP1(f16_from_f64, GP_F64(0.5));
	EVERY_MATH(32, GP_F32);
	EVERY_MATH(64, GP_F64);
	return 0;
}
