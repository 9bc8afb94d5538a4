// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_aes_gcm.c - encrypted records and their tags against an implementation of another make.
 *
 * This one goes by the letter of FIPS 197 and SP 800-38D, byte by byte and bit by bit, and computes the substitution from its
 * definition, so that it shares neither code nor tables with the kernel. Two results are known beforehand.
 */
#include <string.h>

#include "check.h"

#define RECORDS	   300
#define MAX_LENGTH 1500
#define EXTRA	   13 /* as in TLS 1.2 */
#define ROUNDS	   10

static uint8_t box[256], schedule[(ROUNDS + 1) * 16];

static uint8_t times(uint8_t a, uint8_t b)
{
	uint8_t product = 0;

	for (; b; b >>= 1) {
		if (b & 1)
			product ^= a;
		a = (uint8_t)(a << 1 ^ (a & 0x80 ? 0x1b : 0));
	}
	return product;
}

static void make_box(void)
{
	for (int x = 0; x < 256; x++) {
		uint8_t inverse = 1, out = 0x63;

		/* x to the power of 254 */
		for (int bit = 7; bit >= 0; bit--) {
			inverse = times(inverse, inverse);
			if (254 >> bit & 1)
				inverse = times(inverse, (uint8_t)x);
		}
		for (int i = 0; i < 5; i++)
			out ^= (uint8_t)(inverse << i | inverse >> (8 - i));
		box[x] = out;
	}
}

static void expand_key(const uint8_t key[16])
{
	uint8_t constant = 1;

	memcpy(schedule, key, 16);
	for (size_t at = 16; at < sizeof(schedule); at += 4) {
		uint8_t word[4];

		memcpy(word, schedule + at - 4, 4);
		if (at % 16 == 0) {
			uint8_t first = word[0];

			for (int i = 0; i < 3; i++)
				word[i] = box[word[i + 1]];
			word[3] = box[first];
			word[0] ^= constant;
			constant = times(constant, 2);
		}
		for (size_t i = 0; i < 4; i++)
			schedule[at + i] = schedule[at + i - 16] ^ word[i];
	}
}

static void encrypt(uint8_t s[16])
{
	for (int round = 0; round <= ROUNDS; round++) {
		uint8_t t[16];

		if (round) {
			for (int i = 0; i < 16; i++) /* substitution, and rows shifted */
				t[i] = box[s[(i + i % 4 * 4) % 16]];
			for (int i = 0; i < 16; i++) {
				const uint8_t *c = t + i / 4 * 4;

				s[i] = round == ROUNDS
					       ? t[i]
					       : (uint8_t)(times(c[i % 4], 2) ^ times(c[(i + 1) % 4], 3) ^
							   c[(i + 2) % 4] ^ c[(i + 3) % 4]);
			}
		}
		for (int i = 0; i < 16; i++)
			s[i] ^= schedule[round * 16 + i];
	}
}

/* hash = (hash + block) * key, the first bit of a block being the lowest power. */
static void hash_block(uint8_t hash[16], const uint8_t key[16], const uint8_t *block, uint64_t length)
{
	uint8_t product[16] = { 0 }, v[16];

	for (uint64_t i = 0; i < length && i < 16; i++)
		hash[i] ^= block[i];
	memcpy(v, key, sizeof(v));
	for (int bit = 0; bit < 128; bit++) {
		int carry = v[15] & 1;

		if (hash[bit / 8] >> (7 - bit % 8) & 1)
			for (int i = 0; i < 16; i++)
				product[i] ^= v[i];
		for (int i = 15; i > 0; i--)
			v[i] = (uint8_t)(v[i] >> 1 | v[i - 1] << 7);
		v[0] = (uint8_t)(v[0] >> 1 ^ (carry ? 0xe1 : 0));
	}
	memcpy(hash, product, sizeof(product));
}

static void put_number(uint8_t *to, uint64_t x, int bytes)
{
	for (int i = 0; i < bytes; i++)
		to[i] = (uint8_t)(x >> (8 * (bytes - 1 - i)));
}

static void key_stream(const uint8_t *nonce, uint32_t count, uint8_t out[16])
{
	memcpy(out, nonce, 12);
	put_number(out + 12, count, 4);
	encrypt(out);
}

/* The text is encrypted in place. */
static void seal(const uint8_t *nonce, const uint8_t *extra, uint64_t extra_size, uint8_t *text,
		 uint64_t length, uint8_t tag[16])
{
	uint8_t key[16] = { 0 }, hash[16] = { 0 }, sizes[16], stream[16];

	encrypt(key);
	for (uint64_t at = 0; at < extra_size; at += 16)
		hash_block(hash, key, extra + at, extra_size - at);
	for (uint64_t at = 0; at < length; at += 16) {
		key_stream(nonce, (uint32_t)(at / 16 + 2), stream);
		for (uint64_t i = 0; i < 16 && at + i < length; i++)
			text[at + i] ^= stream[i];
		hash_block(hash, key, text + at, length - at);
	}
	put_number(sizes, extra_size * 8, 8);
	put_number(sizes + 8, length * 8, 8);
	hash_block(hash, key, sizes, 16);
	key_stream(nonce, 1, tag);
	for (int i = 0; i < 16; i++)
		tag[i] ^= hash[i];
}

/* Test cases 1 and 2 of GCM's specification: key, nonce and text are zeros. */
static void check_known(void)
{
	static const uint8_t tags[2][16] = {
		{ 0x58, 0xe2, 0xfc, 0xce, 0xfa, 0x7e, 0x30, 0x61, 0x36, 0x7f, 0x1d, 0x57, 0xa4, 0xe7, 0x45,
		  0x5a },
		{ 0xab, 0x6e, 0x47, 0xd4, 0x2c, 0xec, 0x13, 0xbd, 0xf5, 0x3a, 0x67, 0xb2, 0x12, 0x57, 0xbd,
		  0xdf },
	};
	static const uint8_t zeros[16];
	uint8_t text[16] = { 0 }, tag[16];

	expand_key(zeros);
	for (uint64_t i = 0; i < 2; i++) {
		seal(zeros, NULL, 0, text, i * 16, tag);
		if (memcmp(tag, tags[i], sizeof(tag)))
			fail("aes_gcm: the CPU's tag of test case %llu is wrong", (unsigned long long)i + 1);
	}
}

static uint64_t number(const uint8_t *from, int bytes)
{
	uint64_t x = 0;

	for (int i = 0; i < bytes; i++)
		x = x << 8 | from[i];
	return x;
}

void check_aes_gcm(struct gpgpu_device *dev, const char *out)
{
	struct kernel kernel = kernel_load(dev, "aes_gcm");
	uint32_t *keys = kernel_buffer(&kernel, dev, "round_keys", sizeof(schedule));
	uint64_t *hash_key = kernel_buffer(&kernel, dev, "hash_key", 16);
	uint64_t *offsets = kernel_buffer(&kernel, dev, "offsets", (RECORDS + 1) * sizeof(*offsets));
	uint8_t *nonces = kernel_buffer(&kernel, dev, "nonces", RECORDS * 12);
	uint8_t *extra = kernel_buffer(&kernel, dev, "extra", RECORDS * EXTRA);
	uint8_t *tags = kernel_buffer(&kernel, dev, "tags", RECORDS * 16), *data, *sealed;
	uint8_t key[16], block[16] = { 0 }, want[16];
	uint64_t random = 26;

	make_box();
	check_known();
	/* All lengths around whole blocks first, then any. */
	for (uint64_t i = 0; i < RECORDS; i++)
		offsets[i + 1] = offsets[i] + (i < 50 ? i : next_random(&random) % MAX_LENGTH);
	data = kernel_buffer(&kernel, dev, "data", offsets[RECORDS]);
	sealed = kernel_buffer(&kernel, dev, "out", offsets[RECORDS]);
	for (uint64_t i = 0; i < offsets[RECORDS]; i++)
		data[i] = (uint8_t)next_random(&random);
	for (int i = 0; i < RECORDS * 12; i++)
		nonces[i] = (uint8_t)next_random(&random);
	for (int i = 0; i < RECORDS * EXTRA; i++)
		extra[i] = (uint8_t)next_random(&random);
	put_number(key, next_random(&random), 8);
	put_number(key + 8, next_random(&random), 8);
	expand_key(key);
	encrypt(block);
	for (size_t i = 0; i < sizeof(schedule) / 4; i++)
		keys[i] = (uint32_t)number(schedule + i * 4, 4);
	hash_key[0] = number(block, 8);
	hash_key[1] = number(block + 8, 8);
	kernel_value(&kernel, "extra_size", EXTRA);
	kernel_run_group(&kernel, (uint32_t[]){ RECORDS, 1, 1 }, (uint32_t[]){ 64, 1, 1 });

	for (int i = 0; i < RECORDS; i++) {
		uint64_t at = offsets[i], length = offsets[i + 1] - at;

		seal(nonces + i * 12, extra + i * EXTRA, EXTRA, data + at, length, want);
		if (memcmp(data + at, sealed + at, length))
			fail("aes_gcm: record %d of %llu bytes: the text differs", i,
			     (unsigned long long)length);
		if (memcmp(want, tags + i * 16, sizeof(want)))
			fail("aes_gcm: record %d of %llu bytes: the tag differs", i,
			     (unsigned long long)length);
	}
	passed("aes_gcm", &kernel, "%d records, %llu bytes", RECORDS, (unsigned long long)offsets[RECORDS]);
	kernel_free(&kernel);
}
