// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_random.c - input for the checks, the same every time, on a device and in tests without one.
 */
#include "check.h"

uint64_t next_random(uint64_t *state)
{
	/* splitmix64 */
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

float random_float(uint64_t *state)
{
	return (float)((double)(int64_t)next_random(state) / 9223372036854775808.0);
}

double random_double(uint64_t *state)
{
	return (double)(int64_t)next_random(state) / 9223372036854775808.0;
}

float random_unit(uint64_t *state)
{
	return (float)(next_random(state) >> 40) * 0x1p-24f;
}
