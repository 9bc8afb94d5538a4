/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernels.h - functions of up to three 64-bit inputs, compiled for the CPU and for GPUs alike.
 *
 * A row: name, type of the result (u integer, f single, d double, h half: those three compare NaNs as equal), and
 * the function's body over a, b, c (64 bits) with shorter views of them.
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

/* clang-format off */
#define KERNELS(X) \
	X(add32, u, A + B) X(sub32, u, A - B) X(mul32, u, A * B) X(mulhi, u, (u64)A * B >> 32) \
	X(smulhi, u, (u64)((s64)SA * SB) >> 32) X(add64, u, a + b) X(sub64, u, a - b) X(mul64, u, a * b) \
	X(mad64, u, (u64)A * B + c) X(smad64, u, (u64)((s64)SA * SB) + c) \
	X(div32, u, B ? A / B : 0) X(rem32, u, B ? A % B : 0) \
	X(sdiv32, u, SB && !(SA == -0x7fffffff - 1 && SB == -1) ? (u64)(SA / SB) : 0) \
	X(srem32, u, SB && !(SA == -0x7fffffff - 1 && SB == -1) ? (u64)(SA % SB) : 0) \
	X(div64, u, b ? a / b : 0) X(rem64, u, b ? a % b : 0) \
	X(sdiv64, u, LB && LB != -1 ? (u64)(LA / LB) : 0) X(srem64, u, LB && LB != -1 ? (u64)(LA % LB) : 0) \
	X(div7, u, a / 7) X(div1000, u, A / 1000) X(sdiv10, u, (u64)(LA / 10)) X(mod60, u, A % 60) \
	X(div16, u, (u16)b ? (u16)a / (u16)b : 0) X(sdiv8, u, (s8)b && (s8)b != -1 ? (u64)((s8)a / (s8)b) : 0) \
	X(shl32, u, A << (b & 31)) X(shr32, u, A >> (b & 31)) X(sar32, u, (u64)(SA >> (b & 31))) \
	X(shl64, u, a << (b & 63)) X(shr64, u, a >> (b & 63)) X(sar64, u, (u64)(LA >> (b & 63))) \
	X(rol32, u, A << (b & 31) | A >> (-b & 31)) X(rol64, u, a << (b & 63) | a >> (-b & 63)) \
	X(fsh, u, (u32)(((u64)A << 32 | B) >> (c & 31))) \
	X(clz32, u, A ? __builtin_clz(A) : 32) X(ctz32, u, A ? __builtin_ctz(A) : 32) \
	X(clz64, u, a ? __builtin_clzll(a) : 64) X(ctz64, u, a ? __builtin_ctzll(a) : 64) \
	X(pop32, u, __builtin_popcount(A)) X(pop64, u, __builtin_popcountll(a)) \
	X(bswap16, u, __builtin_bswap16((u16)a)) X(bswap32, u, __builtin_bswap32(A)) \
	X(bswap64, u, __builtin_bswap64(a)) \
	X(logic, u, (a & b) | (~a & c)) X(logic32, u, (A ^ B) | (B & C)) X(xnor, u, ~(A ^ B)) X(or3, u, A | B | C) \
	X(andor, u, (A & B) | C) X(xor3, u, A ^ B ^ C) X(lshladd, u, (A << 3) + B) X(addlshl, u, (u32)((A + B) << 5)) \
	X(add3, u, A + B + C) X(bfe, u, A >> 5 & 0x7f) X(sbfe, u, (u64)((s32)(A << 7) >> 20)) \
	X(min3, u, (A < B ? A : B) < C ? (A < B ? A : B) : C) X(smax, u, (u64)(SA > SB ? SA : SB)) \
	X(umin64, u, a < b ? a : b) X(smax64, u, (u64)(LA > LB ? LA : LB)) X(abs32, u, SA < 0 ? 0u - A : A) \
	X(clampi, u, (u64)(SA < -100 ? -100 : SA > 1000 ? 1000 : SA)) \
	X(cmp32, u, (A < B) | (SA < SB) << 1 | (A == B) << 2 | (A <= C) << 3 | (SA >= SC) << 4 | (A != C) << 5) \
	X(cmp64, u, (a < b) | (LA < LB) << 1 | (a == b) << 2 | (a <= c) << 3 | (LA > (s64)c) << 4 | (a != c) << 5) \
	X(cmp16, u, ((u16)a < (u16)b) | ((s16)a < (s16)b) << 1 | ((u16)a == (u16)b) << 2 | ((s16)a > 5) << 3) \
	X(select, u, A & 1 ? b : c) X(mul24, u, (A & 0xffffff) * (B & 0xffffff)) \
	X(smul24, u, (u64)(((s32)(A << 8) >> 8) * (s64)((s32)(B << 8) >> 8))) \
	X(add16, u, (u16)(a + b)) X(mul16, u, (u16)((u16)a * (u32)(u16)b)) X(shl16, u, (u16)((u16)a << (b & 15))) \
	X(sar16, u, (u16)((s16)a >> (b & 15))) X(mad16, u, (u16)((u16)a * (u32)(u16)b + (u16)c)) \
	X(add8, u, (u8)(a + b)) X(sext8, u, (u64)(s64)(s8)(a >> 8)) X(sext16, u, (u64)(s64)(s16)(a >> 16)) \
	X(pack16, u, (u64)(u16)a << 16 | (u16)(b >> 16)) X(pack8, u, (u32)(u8)a << 24 | (u8)(b >> 8) << 8 | (u8)(c >> 24)) \
	X(insert8, u, (a & ~0xff00ull) | (u64)(u8)b << 8) X(max16, u, (u16)((s16)a > (s16)b ? a : b)) \
	X(addc, u, a + b + (c < a)) X(usat, u, A + B < A ? 0xffffffff : A + B) X(ssub, u, A > B ? A - B : 0) \
	X(collatz, u, collatz(a, b)) X(gcd, u, gcd(a, b)) X(bytes, u, bytes(a, b)) X(checksum, u, checksum(a, b, c)) \
	X(branches, u, branches(a, b, c)) X(jhash, u, jhash(a, b, c)) \
	X(fadd, f, of_f(FA + FB)) X(fsub, f, of_f(FA - FB)) X(fmul, f, of_f(FA * FB)) X(fdiv, f, of_f(FA / FB)) \
	X(ffma, f, of_f(__builtin_fmaf(FA, FB, FC))) X(fmad, f, of_f(FA * FB + FC)) X(fneg, u, of_f(-FA)) \
	X(fabs, u, of_f(__builtin_fabsf(FA))) X(fsqrt, f, of_f(__builtin_sqrtf(FA))) X(frcp, f, of_f(1.0f / FA)) \
	X(ffloor, f, of_f(__builtin_floorf(FA))) X(fceil, f, of_f(__builtin_ceilf(FA))) \
	X(ftrunc, f, of_f(__builtin_truncf(FA))) X(frint, f, of_f(__builtin_rintf(FA))) \
	X(fmin, f, of_f(FA < FB ? FA : FB)) X(fmax, f, of_f(FA > FB ? FA : FB)) \
	X(fcmp, u, (FA < FB) | (FA <= FB) << 1 | (FA == FB) << 2 | (FA != FB) << 3 | (FA > FC) << 4 | (FA >= FC) << 5 | \
		__builtin_isunordered(FA, FB) << 6 | !(FA < FC) << 7 | __builtin_isnan(FA) << 8 | __builtin_isinf(FB) << 9) \
	X(fcvt, f, of_f((float)SA)) X(fcvtu, f, of_f((float)A)) X(fcvtl, f, of_f((float)LA)) X(fcvtul, f, of_f((float)a)) \
	X(ftoi, u, (u64)to_int((double)FA)) X(ftou, u, to_unsigned((double)FA)) X(fbyte, f, of_f((float)(u8)(A >> 16))) \
	X(fpoly, f, of_f(((FA * 0.5f + 1.0f) * FA - 2.0f) * FA + 4.0f)) \
	X(dadd, d, of_d(DA + DB)) X(dsub, d, of_d(DA - DB)) X(dmul, d, of_d(DA * DB)) X(ddiv, d, of_d(DA / DB)) \
	X(dfma, d, of_d(__builtin_fma(DA, DB, DC))) X(dsqrt, d, of_d(__builtin_sqrt(DA))) X(dneg, u, of_d(-DA)) \
	X(dfloor, d, of_d(__builtin_floor(DA))) X(dceil, d, of_d(__builtin_ceil(DA))) \
	X(dtrunc, d, of_d(__builtin_trunc(DA))) X(drint, d, of_d(__builtin_rint(DA))) \
	X(dmin, d, of_d(DA < DB ? DA : DB)) \
	X(dcmp, u, (DA < DB) | (DA <= DB) << 1 | (DA == DB) << 2 | (DA != DB) << 3 | (DA > DC) << 4 | !(DA >= DC) << 5 | \
		__builtin_isunordered(DA, DB) << 6) \
	X(dcvt, d, of_d((double)SA)) X(dcvtu, d, of_d((double)A)) X(dcvtl, d, of_d((double)LA)) \
	X(dcvtul, d, of_d((double)a)) X(dtof, f, of_f((float)DA)) X(ftod, d, of_d((double)FA)) \
	X(dtoi, u, (u64)to_int(DA)) X(dtou, u, to_unsigned(DA)) X(dtol, u, (u64)to_long(DA)) X(dtoul, u, to_ulong(DA)) \
	X(hadd, h, of_h((f16)(HA + HB))) X(hsub, h, of_h((f16)(HA - HB))) X(hmul, h, of_h((f16)(HA * HB))) \
	X(hdiv, h, of_h((f16)((float)HA / (float)HB))) X(htof, f, of_f((float)HA)) X(ftoh, h, of_h((f16)FA)) \
	X(hcmp, u, (HA < HB) | (HA <= HB) << 1 | (HA == HB) << 2 | (HA > HC) << 3) \
	X(hneg, h, of_h(-HA)) X(hpoly, h, of_h((f16)((f16)(HA * HB) + HC)))
/* clang-format on */

#endif
