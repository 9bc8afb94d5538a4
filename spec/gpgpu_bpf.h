/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpgpu_bpf.h - what BPF programs for the virtio GPGPU device include.
 *
 * XDP programs need nothing from here: they use <linux/bpf.h> and <bpf/bpf_helpers.h> as ever. Compute
 * kernels get work-item ids and floating point. A kernel is a function in a section "gpgpu" (or
 * "gpgpu/name") that takes one pointer to a structure of its arguments, one 8-byte slot each: pointers are
 * buffers, everything else is a value:
 *
 *	struct saxpy_args {
 *		const __u32 *x;		// floats, as bit patterns
 *		__u32 *y;
 *		__u64 a;		// in a slot of 8 bytes, low half used
 *	};
 *
 *	SEC("gpgpu/saxpy") int saxpy(struct saxpy_args *arg)
 *	{
 *		__u64 i = gp_global_id(0);
 *
 *		arg->y[i] = gp_fma32(arg->a, arg->x[i], arg->y[i]);
 *		return 0;
 *	}
 *
 * gpgpu-cc(1) compiles kernels that use float and double themselves, and makes the calls below of them. Without it:
 * BPF has no floating point, so floats travel as bit patterns (__u32 for f32, __u64 for f64) and
 * arithmetic on them is a helper call that the host's compiler turns into one machine instruction.
 * Rules, the same on every device (docs/floats.md): IEEE 754 round to nearest even; nothing is contracted
 * (gp_fma32 is the only fused operation); denormals are kept; a NaN result is some quiet NaN; min and max
 * return the other operand when one is NaN; conversions to integers truncate and saturate, NaN becomes 0.
 * Functions (gp_exp32 and so on) have error bounds and give the same bits on every device.
 */
#ifndef GPGPU_BPF_H
#define GPGPU_BPF_H

#include <linux/types.h>

/*
 * X(name, number): helper numbers of PROG_GPGPU, beside the kernel's own.  Arguments and results are
 * 64-bit registers; f32 is the low half, the high half of a result is zero.
 */
#define GPGPU_HELPERS(X)				\
	/* work-item ids; argument: dimension 0..2 */	\
	X(global_id,	0x7001)				\
	X(global_size,	0x7002)				\
	X(local_id,	0x7003)				\
	X(local_size,	0x7004)				\
	X(group_id,	0x7005)				\
	X(num_groups,	0x7006)				\
	/* f32 */					\
	X(fadd32,	0x7010)				\
	X(fsub32,	0x7011)				\
	X(fmul32,	0x7012)				\
	X(fdiv32,	0x7013)				\
	X(fma32,	0x7014)				\
	X(sqrt32,	0x7015)				\
	X(fmin32,	0x7016)				\
	X(fmax32,	0x7017)				\
	X(flt32,	0x7018)	/* a < b: 1 or 0 */	\
	X(fle32,	0x7019)				\
	X(feq32,	0x701a)				\
	X(fabs32,	0x701b)				\
	X(floor32,	0x701c)				\
	X(ceil32,	0x701d)				\
	X(trunc32,	0x701e)				\
	X(rint32,	0x701f)				\
	/* f64 */					\
	X(fadd64,	0x7030)				\
	X(fsub64,	0x7031)				\
	X(fmul64,	0x7032)				\
	X(fdiv64,	0x7033)				\
	X(fma64,	0x7034)				\
	X(sqrt64,	0x7035)				\
	X(fmin64,	0x7036)				\
	X(fmax64,	0x7037)				\
	X(flt64,	0x7038)				\
	X(fle64,	0x7039)				\
	X(feq64,	0x703a)				\
	X(fabs64,	0x703b)				\
	X(floor64,	0x703c)				\
	X(ceil64,	0x703d)				\
	X(trunc64,	0x703e)				\
	X(rint64,	0x703f)				\
	/* conversions; s: signed 64-bit, u: unsigned 64-bit */	\
	X(f32_from_s,	0x7050)				\
	X(f32_from_u,	0x7051)				\
	X(f64_from_s,	0x7052)				\
	X(f64_from_u,	0x7053)				\
	X(s_from_f32,	0x7054)				\
	X(u_from_f32,	0x7055)				\
	X(s_from_f64,	0x7056)				\
	X(u_from_f64,	0x7057)				\
	X(f64_from_f32,	0x7058)				\
	X(f32_from_f64,	0x7059)				\
	/* to 32 bits: saturate there; results are extended by their sign, or not at all */	\
	X(s32_from_f32,	0x705a)				\
	X(u32_from_f32,	0x705b)				\
	X(s32_from_f64,	0x705c)				\
	X(u32_from_f64,	0x705d)				\
	/* f16: IEEE 754 half precision, the low 16 bits; only to be kept in memory */	\
	X(f32_from_f16,	0x705e)				\
	X(f16_from_f32,	0x705f)				\
	X(f16_from_f64,	0x7060)				\
	/* mathematics; docs/floats.md has the error bounds. f32 */	\
	X(rsqrt32,	0x7080)				\
	X(exp32,	0x7081)				\
	X(exp232,	0x7082)	/* 2 to the power of a */	\
	X(log32,	0x7083)				\
	X(log232,	0x7084)	/* to base 2 */		\
	X(sin32,	0x7085)				\
	X(cos32,	0x7086)				\
	X(pow32,	0x7087)				\
	X(fmod32,	0x7088)				\
	X(round32,	0x7089)	/* half away from zero */	\
	X(copysign32,	0x708a)				\
	/* f64 */					\
	X(rsqrt64,	0x70a0)				\
	X(exp64,	0x70a1)				\
	X(exp264,	0x70a2)				\
	X(log64,	0x70a3)				\
	X(log264,	0x70a4)				\
	X(sin64,	0x70a5)				\
	X(cos64,	0x70a6)				\
	X(pow64,	0x70a7)				\
	X(fmod64,	0x70a8)				\
	X(round64,	0x70a9)				\
	X(copysign64,	0x70aa)				\
	/* work groups: all items of the group come here, or none */	\
	X(barrier,	0x7100)				\
	X(broadcast,	0x7101)	/* value, item */	\
	X(shuffle,	0x7102)	/* value, item */	\
	X(reduce,	0x7103)	/* value, enum gp_op */	\
	X(scan,		0x7104)	/* value, enum gp_op */	\
	X(scan_before,	0x7105)	/* value, enum gp_op */	\
	/* atomic, at a place that others reach; return what was there */	\
	X(atomic_fadd32,	0x7110)			\
	X(atomic_fmin32,	0x7111)			\
	X(atomic_fmax32,	0x7112)			\
	X(atomic_fadd64,	0x7118)			\
	X(atomic_fmin64,	0x7119)			\
	X(atomic_fmax64,	0x711a)

#define GPGPU_HELPER_FIRST	0x7001
#define GPGPU_HELPER_LAST	0x711a

/* How reduce, scan and scan_before combine values: 64-bit numbers, or floats as bit patterns. */
enum gp_op {
	GP_ADD		= 0,
	GP_MIN_U	= 1,
	GP_MAX_U	= 2,
	GP_MIN_S	= 3,
	GP_MAX_S	= 4,
	GP_AND		= 5,
	GP_OR		= 6,
	GP_XOR		= 7,
	GP_FADD32	= 8,
	GP_FMIN32	= 9,
	GP_FMAX32	= 10,
	GP_FADD64	= 11,
	GP_FMIN64	= 12,
	GP_FMAX64	= 13,
	GP_NUM_OPS
};

#define GPGPU_HELPER_ENUM(name, number) GPGPU_HELPER_##name = number,
enum gpgpu_helper { GPGPU_HELPERS(GPGPU_HELPER_ENUM) };

#ifdef __bpf__

#define GP_ID(name) \
	static __u64 (*const gp_##name)(__u64 dimension) = (void *)GPGPU_HELPER_##name
#define GP_OP1(name, type) \
	static type (*const gp_##name)(type a) = (void *)GPGPU_HELPER_##name
#define GP_OP2(name, result, type) \
	static result (*const gp_##name)(type a, type b) = (void *)GPGPU_HELPER_##name
#define GP_OP3(name, type) \
	static type (*const gp_##name)(type a, type b, type c) = (void *)GPGPU_HELPER_##name
#define GP_CVT(name, result, type) \
	static result (*const gp_##name)(type a) = (void *)GPGPU_HELPER_##name

GP_ID(global_id);
GP_ID(global_size);
GP_ID(local_id);
GP_ID(local_size);
GP_ID(group_id);
GP_ID(num_groups);

#define GP_FLOAT(bits)					\
	GP_OP2(fadd##bits, __u##bits, __u##bits);	\
	GP_OP2(fsub##bits, __u##bits, __u##bits);	\
	GP_OP2(fmul##bits, __u##bits, __u##bits);	\
	GP_OP2(fdiv##bits, __u##bits, __u##bits);	\
	GP_OP3(fma##bits, __u##bits);			\
	GP_OP1(sqrt##bits, __u##bits);			\
	GP_OP2(fmin##bits, __u##bits, __u##bits);	\
	GP_OP2(fmax##bits, __u##bits, __u##bits);	\
	GP_OP2(flt##bits, __u64, __u##bits);		\
	GP_OP2(fle##bits, __u64, __u##bits);		\
	GP_OP2(feq##bits, __u64, __u##bits);		\
	GP_OP1(fabs##bits, __u##bits);			\
	GP_OP1(floor##bits, __u##bits);			\
	GP_OP1(ceil##bits, __u##bits);			\
	GP_OP1(trunc##bits, __u##bits);			\
	GP_OP1(rint##bits, __u##bits)

GP_FLOAT(32);
GP_FLOAT(64);

#define GP_MATH(bits)					\
	GP_OP1(rsqrt##bits, __u##bits);			\
	GP_OP1(exp##bits, __u##bits);			\
	GP_OP1(exp2##bits, __u##bits);			\
	GP_OP1(log##bits, __u##bits);			\
	GP_OP1(log2##bits, __u##bits);			\
	GP_OP1(sin##bits, __u##bits);			\
	GP_OP1(cos##bits, __u##bits);			\
	GP_OP2(pow##bits, __u##bits, __u##bits);	\
	GP_OP2(fmod##bits, __u##bits, __u##bits);	\
	GP_OP1(round##bits, __u##bits);			\
	GP_OP2(copysign##bits, __u##bits, __u##bits)

GP_MATH(32);
GP_MATH(64);

GP_CVT(f32_from_s, __u32, __s64);
GP_CVT(f32_from_u, __u32, __u64);
GP_CVT(f64_from_s, __u64, __s64);
GP_CVT(f64_from_u, __u64, __u64);
GP_CVT(s_from_f32, __s64, __u32);
GP_CVT(u_from_f32, __u64, __u32);
GP_CVT(s_from_f64, __s64, __u64);
GP_CVT(u_from_f64, __u64, __u64);
GP_CVT(f64_from_f32, __u64, __u32);
GP_CVT(f32_from_f64, __u32, __u64);
GP_CVT(s32_from_f32, __s32, __u32);
GP_CVT(u32_from_f32, __u32, __u32);
GP_CVT(s32_from_f64, __s32, __u64);
GP_CVT(u32_from_f64, __u32, __u64);
GP_CVT(f32_from_f16, __u32, __u16);
GP_CVT(f16_from_f32, __u16, __u32);
GP_CVT(f16_from_f64, __u16, __u64);

/*
 * Atomic operations on floats in buffers, map values and local memory, aligned to their size; sequentially consistent. They
 * return what was there before. Each is rounded once, as gp_fadd32 and the others; in which order items come is not defined,
 * so a sum of numbers that round may differ from run to run (docs/floats.md). Exchange and compare-and-exchange are those
 * of integers, on the bits.
 */
#define GP_ATOMIC(bits)									\
	static __u##bits (*const gp_atomic_fadd##bits)(__u##bits *at, __u##bits value) =	\
		(void *)GPGPU_HELPER_atomic_fadd##bits;					\
	static __u##bits (*const gp_atomic_fmin##bits)(__u##bits *at, __u##bits value) =	\
		(void *)GPGPU_HELPER_atomic_fmin##bits;					\
	static __u##bits (*const gp_atomic_fmax##bits)(__u##bits *at, __u##bits value) =	\
		(void *)GPGPU_HELPER_atomic_fmax##bits

GP_ATOMIC(32);
GP_ATOMIC(64);

/* The same for kernels that gpgpu-cc compiles: gp_atomic_add_float(&sum, x). */
#define GP_ATOMIC_OF(name, op, type, bits)							\
	static inline __attribute__((always_inline, unused)) type gp_atomic_##name(type *at, type value)	\
	{										\
		union {									\
			type f;								\
			__u##bits u;							\
		} v = { .f = value };							\
		v.u = gp_atomic_##op##bits((__u##bits *)(void *)at, v.u);		\
		return v.f;								\
	}

GP_ATOMIC_OF(add_float, fadd, float, 32)
GP_ATOMIC_OF(min_float, fmin, float, 32)
GP_ATOMIC_OF(max_float, fmax, float, 32)
GP_ATOMIC_OF(add_double, fadd, double, 64)
GP_ATOMIC_OF(min_double, fmin, double, 64)
GP_ATOMIC_OF(max_double, fmax, double, 64)

/* For members of a kernel's argument structure that are narrower than their slot: float a GP_SLOT; */
#define GP_SLOT __attribute__((aligned(8)))

/*
 * Work groups (docs/kernels.md). Where one item of a group calls one of these, all of its items must: the device refuses
 * programs in which that depends on what may differ between items. Convergent and noduplicate keep the compiler from making
 * it so.
 *
 * gp_barrier() - nobody goes on before all have come; what they stored before is seen behind it.
 * gp_broadcast() - the @value of one item, by its number in the group, the same @item for all.
 * gp_shuffle() - the @value of any item; 0 where there is none. Numbers count x fastest: gp_local_linear_id().
 * gp_reduce() - all values combined, by a constant of enum gp_op; floats in a fixed order, the same on every device.
 * gp_scan() - those of the items up to this one; gp_scan_before() - without this one's own.
 */
#define GP_TOGETHER extern __attribute__((convergent, noduplicate, section(".ksyms")))

GP_TOGETHER void gp_barrier(void);
GP_TOGETHER __u64 gp_broadcast(__u64 value, __u64 item);
GP_TOGETHER __u64 gp_shuffle(__u64 value, __u64 item);
GP_TOGETHER __u64 gp_reduce(__u64 value, __u64 op);
GP_TOGETHER __u64 gp_scan(__u64 value, __u64 op);
GP_TOGETHER __u64 gp_scan_before(__u64 value, __u64 op);

/*
 * Local memory: variables that the items of a group share, zero when the group starts. At file scope and not static, or the
 * compiler takes them for its own:
 *	GP_LOCAL __u32 tile[16][16];
 */
#define GP_LOCAL __attribute__((section(".bss.gpgpu.local")))

/* Number of the item in its group. */
static inline __attribute__((always_inline)) __u64 gp_local_linear_id(void)
{
	return (gp_local_id(2) * gp_local_size(1) + gp_local_id(1)) * gp_local_size(0) + gp_local_id(0);
}

/* Bit pattern of a floating-point constant; compiles to an immediate. */
#define GP_F32(c) (((union { float f; __u32 u; }){ .f = (c) }).u)
#define GP_F64(c) (((union { double f; __u64 u; }){ .f = (c) }).u)

#endif /* __bpf__ */
#endif
