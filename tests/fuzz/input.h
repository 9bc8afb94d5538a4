/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input.h - a fuzzer's bytes as a source of decisions.
 *
 * Past its end it gives zeros, and every decision takes a zero for the sensible choice: so a prefix of an input is
 * an input, and a short one is a valid session.
 */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct input {
	const uint8_t *at, *end;
};

static inline size_t input_left(const struct input *in)
{
	return (size_t)(in->end - in->at);
}

static inline uint8_t input_byte(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static inline uint64_t input_bytes(struct input *in, int count)
{
	uint64_t value = 0;

	for (int i = 0; i < count; i++)
		value |= (uint64_t)input_byte(in) << 8 * i;
	return value;
}

/* A number that breaks things: ends of ranges, sign bits, what overflows when added or multiplied. */
static inline uint64_t input_strange(struct input *in)
{
	static const uint64_t numbers[] = {
		0,
		1,
		2,
		7,
		8,
		63,
		64,
		65,
		0xff,
		0x1000,
		0xffff,
		0x10000,
		0xffffff,
		0x1000000,
		0x7fffffff,
		0x80000000,
		0xffffffff,
		0x100000000,
		0xfffff000,
		0xffffffffffff,
		0x7fffffffffffffff,
		0x8000000000000000,
		0xfffffffffffff000,
		0xffffffffffffffff,
	};
	uint8_t c = input_byte(in);

	return c < sizeof(numbers) / sizeof(numbers[0]) ? numbers[c] : input_bytes(in, 8);
}

/* @usual plus 0..@spread - 1, mostly; @spread is at most 128. */
static inline uint64_t input_pick(struct input *in, uint64_t usual, uint8_t spread)
{
	uint8_t c = input_byte(in);

	return c < 0xe0 ? usual + c % spread : input_strange(in);
}

#endif
