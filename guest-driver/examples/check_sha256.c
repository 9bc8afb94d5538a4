// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_sha256.c - the kernel's digests against an implementation of another make.
 *
 * This one follows FIPS 180-4 to the letter and computes the standard's constants from their definition (roots of
 * primes), so that it shares neither code nor tables with the kernel. Two digests are known beforehand.
 */
#include <string.h>

#include "check.h"

#define MESSAGES   2048
#define MAX_LENGTH 1000

__extension__ typedef unsigned __int128 u128;

static uint32_t k[64], h0[8];

/* Largest x with x^power <= p * 2^(32 * power); its low half is the fraction of the root. */
static uint32_t root_fraction(unsigned p, int power)
{
	uint64_t x = 0;

	for (int bit = 36; bit >= 0; bit--) {
		u128 y = x | 1ull << bit, z = y;

		for (int i = 1; i < power; i++)
			z *= y;
		if (z <= (u128)p << (32 * power))
			x = (uint64_t)y;
	}
	return (uint32_t)x;
}

static void compute_constants(void)
{
	int n = 0;

	for (unsigned p = 2; n < 64; p++) {
		unsigned d = 2;

		while (d * d <= p && p % d)
			d++;
		if (d * d <= p)
			continue;
		if (n < 8)
			h0[n] = root_fraction(p, 2);
		k[n++] = root_fraction(p, 3);
	}
}

static uint32_t rotr(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void block(uint32_t h[8], const uint8_t *m)
{
	uint32_t w[64], v[8];

	for (int t = 0; t < 16; t++)
		w[t] = (uint32_t)m[4 * t] << 24 | (uint32_t)m[4 * t + 1] << 16 | (uint32_t)m[4 * t + 2] << 8 |
		       m[4 * t + 3];
	for (int t = 16; t < 64; t++)
		w[t] = (rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ w[t - 2] >> 10) + w[t - 7] +
		       (rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ w[t - 15] >> 3) + w[t - 16];
	memcpy(v, h, sizeof(v));
	for (int t = 0; t < 64; t++) {
		uint32_t t1 = v[7] + (rotr(v[4], 6) ^ rotr(v[4], 11) ^ rotr(v[4], 25)) +
			      ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[t] + w[t];
		uint32_t t2 = (rotr(v[0], 2) ^ rotr(v[0], 13) ^ rotr(v[0], 22)) +
			      ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		h[i] += v[i];
}

static void digest(const uint8_t *message, uint64_t length, uint8_t out[32])
{
	uint8_t last[128] = { 0 };
	uint64_t whole = length / 64, rest = length % 64, padded = rest < 56 ? 64 : 128;
	uint32_t h[8];

	memcpy(h, h0, sizeof(h));
	for (uint64_t i = 0; i < whole; i++)
		block(h, message + i * 64);
	memcpy(last, message + whole * 64, rest);
	last[rest] = 0x80;
	for (int i = 0; i < 8; i++)
		last[padded - 1 - (unsigned)i] = (uint8_t)(length * 8 >> (8 * i));
	for (uint64_t i = 0; i < padded; i += 64)
		block(h, last + i);
	for (int i = 0; i < 32; i++)
		out[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}

/* From the standard's examples: of "abc" and of nothing. */
static const uint8_t known[2][32] = {
	{ 0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
	  0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad },
	{ 0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24,
	  0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55 },
};

void check_sha256(struct gpgpu_device *dev, const char *out)
{
	struct kernel kernel = kernel_load(dev, "sha256");
	uint64_t *offsets = kernel_buffer(&kernel, dev, "offsets", (MESSAGES + 1) * sizeof(*offsets));
	uint64_t random = 1, total, blocks = 0;
	uint8_t *data, *digests, want[32];

	/* Every length up to two blocks, so that all cases of padding occur, then any. */
	offsets[1] = 3;
	for (int i = 1; i < MESSAGES; i++)
		offsets[i + 1] =
			offsets[i] + (i <= 130 ? (uint64_t)i - 1 : next_random(&random) % MAX_LENGTH);
	total = offsets[MESSAGES];
	data = kernel_buffer(&kernel, dev, "data", total);
	digests = kernel_buffer(&kernel, dev, "digests", MESSAGES * 32);
	memcpy(data, "abc", 3);
	for (uint64_t i = 3; i < total; i++)
		data[i] = (uint8_t)next_random(&random);
	kernel_run(&kernel, MESSAGES, 1, 1);

	compute_constants();
	for (int i = 0; i < MESSAGES; i++) {
		uint64_t length = offsets[i + 1] - offsets[i];

		digest(data + offsets[i], length, want);
		if (i < 2 && memcmp(want, known[i], sizeof(want)))
			fail("sha256: the CPU's digest of message %d is wrong", i);
		if (memcmp(want, digests + i * 32, sizeof(want)))
			fail("sha256: message %d of %llu bytes: the digest differs", i,
			     (unsigned long long)length);
		blocks += (length + 9 + 63) / 64;
	}
	passed("sha256", &kernel, "%d messages in %llu blocks", MESSAGES, (unsigned long long)blocks);
	kernel_free(&kernel);
}
