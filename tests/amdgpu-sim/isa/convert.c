/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convert.c - vector conversions between integers and floating point.
 *
 * To integers: out of range gives the nearest end, NaN gives zero.
 */
#include "lanes.h"
#include "float.h"

static uint32_t to_u32(double x)
{
	return isnan(x) || x <= 0 ? 0 : x >= 0x1p32 ? UINT32_MAX : (uint32_t)x;
}

static uint32_t to_i32(double x)
{
	return isnan(x) ? 0 : x <= -0x1p31 ? 0x80000000 : x >= 0x1p31 ? INT32_MAX : (uint32_t)(int32_t)x;
}

static uint32_t to_u16(double x)
{
	return isnan(x) || x <= 0 ? 0 : x >= 65535 ? UINT16_MAX : (uint32_t)x;
}

static uint32_t to_i16(double x)
{
	return isnan(x) ? 0 : (uint16_t)(x <= -32768 ? INT16_MIN : x >= 32767 ? INT16_MAX : (int32_t)x);
}

static uint32_t narrow(uint64_t x)
{
	return nan64(x) ? (uint32_t)(x >> 32 & 0x80000000) | 0x7fc00000 | (uint32_t)(x >> 29 & 0x7fffff)
			: b32((float)f64(x));
}

static uint64_t widen(uint32_t x)
{
	return nan32(x) ? (uint64_t)(x & 0x80000000) << 32 | 0x7ff8000000000000 |
				  (uint64_t)(x & 0x7fffff) << 29
			: b64((double)f32(x));
}

static uint32_t half(const struct wave *w, uint32_t x)
{
	return to16(f64(widen(x)), w->mode >> 2 & 3);
}

static uint32_t from_half(uint32_t x)
{
	return narrow(b64(from16(x)));
}

/* Four bits of two's complement in sixteenths. */
static float off_i4(uint32_t x)
{
	return (float)((int32_t)(x << 28) >> 28) / 16.0f;
}

static uint32_t norm16(double x, bool sign)
{
	if (isnan(x))
		return 0;
	if (sign)
		return to_i16(rint((x < -1 ? -1 : x > 1 ? 1 : x) * 32767));
	return to_u16(rint((x < 0 ? 0 : x > 1 ? 1 : x) * 65535));
}

static uint32_t pack_u8(float x, uint32_t byte, uint32_t into)
{
	uint32_t shift = 8 * (byte & 3);
	double r = isnan(x) || x <= 0 ? 0 : x >= 255 ? 255 : rint(x);

	return (into & ~(255u << shift)) | (uint32_t)r << shift;
}

#define FA  f32(A)
#define FB  f32(B)
#define DA  f64(AQ)
#define HA  from16(A)
#define R   b32
#define W   T_B32
#define F   T_F32
#define D   T_F64
#define H   T_F16
#define U16 T_B16
#define S16 T_I16
#define NO  T_NONE
/* clang-format off */
#define LIST(X) \
	X(v_cvt_f32_i32, U_ALL, 0, 0, F, W, NO, NO, R((float)SA)) \
	X(v_cvt_f32_u32, U_ALL, 0, 0, F, W, NO, NO, R((float)A)) \
	X(v_cvt_u32_f32, U_ALL, 0, 0, W, F, NO, NO, to_u32(FA)) \
	X(v_cvt_i32_f32, U_ALL, 0, 0, W, F, NO, NO, to_i32(FA)) \
	X(v_cvt_rpi_i32_f32, U_ALL, 0, 0, W, F, NO, NO, to_i32(floor((double)FA + 0.5))) \
	X(v_cvt_flr_i32_f32, U_ALL, 0, 0, W, F, NO, NO, to_i32(floor((double)FA))) \
	X(v_cvt_off_f32_i4, U_ALL, 0, 0, F, W, NO, NO, R(off_i4(A))) \
	X(v_cvt_f32_ubyte0, U_ALL, 0, 0, F, W, NO, NO, R((float)(A & 255))) \
	X(v_cvt_f32_ubyte1, U_ALL, 0, 0, F, W, NO, NO, R((float)(A >> 8 & 255))) \
	X(v_cvt_f32_ubyte2, U_ALL, 0, 0, F, W, NO, NO, R((float)(A >> 16 & 255))) \
	X(v_cvt_f32_ubyte3, U_ALL, 0, 0, F, W, NO, NO, R((float)(A >> 24))) \
	X(v_cvt_i32_f64, U_ALL, 0, 0, W, D, NO, NO, to_i32(DA)) \
	X(v_cvt_u32_f64, U_ALL, 0, 0, W, D, NO, NO, to_u32(DA)) \
	X(v_cvt_f32_f64, U_ALL, 0, 0, F, D, NO, NO, narrow(AQ)) \
	X(v_cvt_f32_f16, U_ALL, F_NO_DENORM, 0, F, H, NO, NO, from_half(A)) \
	X(v_cvt_f16_f32, U_ALL, 0, 0, H, F, NO, NO, half(w, A)) \
	X(v_cvt_f16_u16, U_ALL, 0, 0, H, U16, NO, NO, to16(A, w->mode >> 2 & 3)) \
	X(v_cvt_f16_i16, U_ALL, 0, 0, H, S16, NO, NO, to16(SA, w->mode >> 2 & 3)) \
	X(v_cvt_u16_f16, U_ALL, 0, 0, U16, H, NO, NO, to_u16(HA)) \
	X(v_cvt_i16_f16, U_ALL, 0, 0, S16, H, NO, NO, to_i16(HA)) \
	X(v_cvt_norm_i16_f16, U_ALL, 0, 0, S16, H, NO, NO, norm16(HA, true)) \
	X(v_cvt_norm_u16_f16, U_ALL, 0, 0, U16, H, NO, NO, norm16(HA, false)) \
	X(v_cvt_pkrtz_f16_f32, U_ALL, 0, 0, W, F, F, NO, to16(FA, 3) | to16(FB, 3) << 16) \
	X(v_cvt_pknorm_i16_f32, U_ALL, 0, 0, W, F, F, NO, norm16(FA, true) | norm16(FB, true) << 16) \
	X(v_cvt_pknorm_u16_f32, U_ALL, 0, 0, W, F, F, NO, norm16(FA, false) | norm16(FB, false) << 16) \
	X(v_cvt_pknorm_i16_f16, U_ALL, 0, 0, W, H, H, NO, norm16(HA, true) | norm16(from16(B), true) << 16) \
	X(v_cvt_pknorm_u16_f16, U_ALL, 0, 0, W, H, H, NO, norm16(HA, false) | norm16(from16(B), false) << 16) \
	X(v_cvt_pk_u8_f32, U_ALL, 0, 0, W, F, W, W, pack_u8(FA, B, C))
#define WIDE(X) \
	X(v_cvt_f64_i32, U_ALL, 0, 0, D, W, NO, NO, b64((double)SA)) \
	X(v_cvt_f64_u32, U_ALL, 0, 0, D, W, NO, NO, b64((double)A)) \
	X(v_cvt_f64_f32, U_ALL, 0, 0, D, F, NO, NO, widen(A))
/* clang-format on */
LIST(FUNCTION_W)
WIDE(FUNCTION_Q)

const struct sem isa_sem_convert[] = { LIST(VALU_ROW) WIDE(VALU_ROW) };
SEM_END(convert);
