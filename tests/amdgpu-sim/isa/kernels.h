/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernels.h - functions of up to three 64-bit inputs, compiled for the CPU and for GPUs alike.
 *
 * The functions are rows in kernels.inc: name, type of the result (u integer, f single, d double, h half: those three
 * compare NaNs as equal), and the function's body over a, b, c (64 bits) with shorter views of them.
 * LLVM 19 gets -128 / -1 wrong for widened bytes on AMD GPUs, so that it is left out.
 */
#ifndef AMDGPU_SIM_KERNELS_H
#define AMDGPU_SIM_KERNELS_H

typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef short s16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
typedef _Float16 f16;

#define INLINE static inline __attribute__((always_inline))

INLINE float as_f(u64 x)
{
	u32 y = (u32)x;
	float f;

	__builtin_memcpy(&f, &y, 4);
	return f;
}

INLINE double as_d(u64 x)
{
	double f;

	__builtin_memcpy(&f, &x, 8);
	return f;
}

INLINE f16 as_h(u64 x)
{
	u16 y = (u16)x;
	f16 f;

	__builtin_memcpy(&f, &y, 2);
	return f;
}

INLINE u64 of_f(float f)
{
	u32 y;

	__builtin_memcpy(&y, &f, 4);
	return y;
}

INLINE u64 of_d(double f)
{
	u64 y;

	__builtin_memcpy(&y, &f, 8);
	return y;
}

INLINE u64 of_h(f16 f)
{
	u16 y;

	__builtin_memcpy(&y, &f, 2);
	return y;
}

#define A  (u32) a
#define B  (u32) b
#define C  (u32) c
#define SA (s32) a
#define SB (s32) b
#define SC (s32) c
#define LA (s64) a
#define LB (s64) b
#define FA as_f(a)
#define FB as_f(b)
#define FC as_f(c)
#define DA as_d(a)
#define DB as_d(b)
#define DC as_d(c)
#define HA as_h(a)
#define HB as_h(b)
#define HC as_h(c)

INLINE u64 collatz(u64 a, u64 b)
{
	u32 x = (u32)a & 0xffff, n = 0;

	while (x > 1 && n < 60) {
		x = x & 1 ? 3 * x + 1 : x / 2;
		n++;
	}
	return (u64)n << 32 | x;
}

INLINE u64 gcd(u64 a, u64 b)
{
	u32 x = (u32)a, y = (u32)b;

	while (y) {
		u32 t = x % y;

		x = y;
		y = t;
	}
	return x;
}

INLINE u64 bytes(u64 a, u64 b)
{
	u8 table[16];
	u64 r = 0;

	for (int i = 0; i < 8; i++) {
		table[i] = (u8)(a >> 8 * i);
		table[15 - i] = (u8)(b >> 8 * i);
	}
	for (int i = 0; i < 16; i++)
		r = r * 31 + table[(i * 7 + table[i]) & 15];
	return r;
}

INLINE u64 checksum(u64 a, u64 b, u64 c)
{
	u32 sum = 0;

	for (int i = 0; i < 4; i++)
		sum += (u32)(u16)(a >> 16 * i) + (u32)(u16)(b >> 16 * i) + (u32)(u16)(c >> 16 * i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (u16)~sum;
}

INLINE u64 branches(u64 a, u64 b, u64 c)
{
	u64 r = c;

	for (int i = 0; i < 5; i++) {
		switch ((a >> 3 * i) & 7) {
		case 0:
			r += b;
			break;
		case 1:
			r ^= b << (i + 1);
			break;
		case 2:
			if (r & 1)
				return r * 3;
			r = (r >> 1) + 7;
			break;
		case 3:
			r -= a;
			/* fall through */
		case 4:
			r = r << 13 | r >> 51;
			break;
		case 5:
			for (u64 k = 0; k < (b & 7); k++)
				r += k * r + i;
			break;
		default:
			r = ~r;
		}
	}
	return r;
}

INLINE u64 jhash(u64 a, u64 b, u64 c)
{
	u32 x = (u32)a, y = (u32)b, z = (u32)c;

#define ROL(v, n) ((v) << (n) | (v) >> (32 - (n)))
	x -= z, x ^= ROL(z, 4), z += y;
	y -= x, y ^= ROL(x, 6), x += z;
	z -= y, z ^= ROL(y, 8), y += x;
	x -= z, x ^= ROL(z, 16), z += y;
	y -= x, y ^= ROL(x, 19), x += z;
	z -= y, z ^= ROL(y, 4), y += x;
	return (u64)x << 32 ^ (u64)y << 16 ^ z;
}

INLINE s32 to_int(double x)
{
	return x >= -2147483648.0 && x <= 2147483647.0 ? (s32)x : 0;
}

INLINE u32 to_unsigned(double x)
{
	return x >= 0 && x <= 4294967295.0 ? (u32)x : 0;
}

INLINE s64 to_long(double x)
{
	return x >= -9.2e18 && x <= 9.2e18 ? (s64)x : 0;
}

INLINE u64 to_ulong(double x)
{
	return x >= 0 && x <= 1.8e19 ? (u64)x : 0;
}

#endif
