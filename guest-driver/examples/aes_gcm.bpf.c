// SPDX-License-Identifier: BSD-3-Clause
/*
 * aes_gcm - AES-128-GCM (NIST SP 800-38D) of many records at once, under one key; one work item encrypts one record.
 *
 * Records of any length lie one after the other, each with its own nonce of 12 bytes and up to 16 bytes of data that is only
 * authenticated. The host has expanded the key and encrypted the zero block (the key of GHASH). A table of 256 words does
 * the substitution and the mixing of columns together; GHASH multiplies without carries by ordinary multiplications of numbers
 * in which only every fourth bit is used, so that carries die out before they meet the next bit.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "gpgpu_bpf.h"

#define ROUNDS 10

struct aes_gcm_args {
	const __u32 *round_keys; /* 44 words, as numbers */
	const __u64 *hash_key; /* 2: the first and the second half of the block, as numbers */
	const __u8 *data; /* the records */
	const __u64 *offsets; /* record i is data[offsets[i]] up to data[offsets[i + 1]] */
	const __u8 *nonces; /* 12 bytes each */
	const __u8 *extra; /* extra_size bytes each: authenticated only */
	__u8 *out; /* as data */
	__u8 *tags; /* 16 bytes each */
	__u64 extra_size;
};

struct hash_state {
	__u64 key[3], key_reversed[3]; /* the halves, and their sum */
	__u64 high, low; /* the hash */
};

/* The substitute of a byte times 2, 1, 1 and 3, from the highest byte down. */
static const __u32 table[256] = {
	0xc66363a5, 0xf87c7c84, 0xee777799, 0xf67b7b8d, 0xfff2f20d, 0xd66b6bbd, 0xde6f6fb1, 0x91c5c554,
	0x60303050, 0x02010103, 0xce6767a9, 0x562b2b7d, 0xe7fefe19, 0xb5d7d762, 0x4dababe6, 0xec76769a,
	0x8fcaca45, 0x1f82829d, 0x89c9c940, 0xfa7d7d87, 0xeffafa15, 0xb25959eb, 0x8e4747c9, 0xfbf0f00b,
	0x41adadec, 0xb3d4d467, 0x5fa2a2fd, 0x45afafea, 0x239c9cbf, 0x53a4a4f7, 0xe4727296, 0x9bc0c05b,
	0x75b7b7c2, 0xe1fdfd1c, 0x3d9393ae, 0x4c26266a, 0x6c36365a, 0x7e3f3f41, 0xf5f7f702, 0x83cccc4f,
	0x6834345c, 0x51a5a5f4, 0xd1e5e534, 0xf9f1f108, 0xe2717193, 0xabd8d873, 0x62313153, 0x2a15153f,
	0x0804040c, 0x95c7c752, 0x46232365, 0x9dc3c35e, 0x30181828, 0x379696a1, 0x0a05050f, 0x2f9a9ab5,
	0x0e070709, 0x24121236, 0x1b80809b, 0xdfe2e23d, 0xcdebeb26, 0x4e272769, 0x7fb2b2cd, 0xea75759f,
	0x1209091b, 0x1d83839e, 0x582c2c74, 0x341a1a2e, 0x361b1b2d, 0xdc6e6eb2, 0xb45a5aee, 0x5ba0a0fb,
	0xa45252f6, 0x763b3b4d, 0xb7d6d661, 0x7db3b3ce, 0x5229297b, 0xdde3e33e, 0x5e2f2f71, 0x13848497,
	0xa65353f5, 0xb9d1d168, 0x00000000, 0xc1eded2c, 0x40202060, 0xe3fcfc1f, 0x79b1b1c8, 0xb65b5bed,
	0xd46a6abe, 0x8dcbcb46, 0x67bebed9, 0x7239394b, 0x944a4ade, 0x984c4cd4, 0xb05858e8, 0x85cfcf4a,
	0xbbd0d06b, 0xc5efef2a, 0x4faaaae5, 0xedfbfb16, 0x864343c5, 0x9a4d4dd7, 0x66333355, 0x11858594,
	0x8a4545cf, 0xe9f9f910, 0x04020206, 0xfe7f7f81, 0xa05050f0, 0x783c3c44, 0x259f9fba, 0x4ba8a8e3,
	0xa25151f3, 0x5da3a3fe, 0x804040c0, 0x058f8f8a, 0x3f9292ad, 0x219d9dbc, 0x70383848, 0xf1f5f504,
	0x63bcbcdf, 0x77b6b6c1, 0xafdada75, 0x42212163, 0x20101030, 0xe5ffff1a, 0xfdf3f30e, 0xbfd2d26d,
	0x81cdcd4c, 0x180c0c14, 0x26131335, 0xc3ecec2f, 0xbe5f5fe1, 0x359797a2, 0x884444cc, 0x2e171739,
	0x93c4c457, 0x55a7a7f2, 0xfc7e7e82, 0x7a3d3d47, 0xc86464ac, 0xba5d5de7, 0x3219192b, 0xe6737395,
	0xc06060a0, 0x19818198, 0x9e4f4fd1, 0xa3dcdc7f, 0x44222266, 0x542a2a7e, 0x3b9090ab, 0x0b888883,
	0x8c4646ca, 0xc7eeee29, 0x6bb8b8d3, 0x2814143c, 0xa7dede79, 0xbc5e5ee2, 0x160b0b1d, 0xaddbdb76,
	0xdbe0e03b, 0x64323256, 0x743a3a4e, 0x140a0a1e, 0x924949db, 0x0c06060a, 0x4824246c, 0xb85c5ce4,
	0x9fc2c25d, 0xbdd3d36e, 0x43acacef, 0xc46262a6, 0x399191a8, 0x319595a4, 0xd3e4e437, 0xf279798b,
	0xd5e7e732, 0x8bc8c843, 0x6e373759, 0xda6d6db7, 0x018d8d8c, 0xb1d5d564, 0x9c4e4ed2, 0x49a9a9e0,
	0xd86c6cb4, 0xac5656fa, 0xf3f4f407, 0xcfeaea25, 0xca6565af, 0xf47a7a8e, 0x47aeaee9, 0x10080818,
	0x6fbabad5, 0xf0787888, 0x4a25256f, 0x5c2e2e72, 0x381c1c24, 0x57a6a6f1, 0x73b4b4c7, 0x97c6c651,
	0xcbe8e823, 0xa1dddd7c, 0xe874749c, 0x3e1f1f21, 0x964b4bdd, 0x61bdbddc, 0x0d8b8b86, 0x0f8a8a85,
	0xe0707090, 0x7c3e3e42, 0x71b5b5c4, 0xcc6666aa, 0x904848d8, 0x06030305, 0xf7f6f601, 0x1c0e0e12,
	0xc26161a3, 0x6a35355f, 0xae5757f9, 0x69b9b9d0, 0x17868691, 0x99c1c158, 0x3a1d1d27, 0x279e9eb9,
	0xd9e1e138, 0xebf8f813, 0x2b9898b3, 0x22111133, 0xd26969bb, 0xa9d9d970, 0x078e8e89, 0x339494a7,
	0x2d9b9bb6, 0x3c1e1e22, 0x15878792, 0xc9e9e920, 0x87cece49, 0xaa5555ff, 0x50282878, 0xa5dfdf7a,
	0x038c8c8f, 0x59a1a1f8, 0x09898980, 0x1a0d0d17, 0x65bfbfda, 0xd7e6e631, 0x844242c6, 0xd06868b8,
	0x824141c3, 0x299999b0, 0x5a2d2d77, 0x1e0f0f11, 0x7bb0b0cb, 0xa85454fc, 0x6dbbbbd6, 0x2c16163a,
};

static __always_inline __u32 ror(__u32 x, int bits)
{
	return x >> bits | x << (32 - bits);
}

static __always_inline __u32 column(const __u32 s[4], int i)
{
	return table[s[i] >> 24] ^ ror(table[s[(i + 1) % 4] >> 16 & 0xff], 8) ^
	       ror(table[s[(i + 2) % 4] >> 8 & 0xff], 16) ^ ror(table[s[(i + 3) % 4] & 0xff], 24);
}

static __always_inline __u32 substitute(__u32 x)
{
	return table[x & 0xff] >> 8 & 0xff;
}

static __always_inline void encrypt(const __u32 *keys, __u32 s[4])
{
	__u32 t[4];

#pragma unroll
	for (int i = 0; i < 4; i++)
		s[i] ^= keys[i];
	for (int round = 1; round < ROUNDS; round++) {
#pragma unroll
		for (int i = 0; i < 4; i++)
			t[i] = column(s, i) ^ keys[round * 4 + i];
#pragma unroll
		for (int i = 0; i < 4; i++)
			s[i] = t[i];
	}
#pragma unroll
	for (int i = 0; i < 4; i++)
		t[i] = substitute(s[i] >> 24) << 24 | substitute(s[(i + 1) % 4] >> 16) << 16 |
		       substitute(s[(i + 2) % 4] >> 8) << 8 | substitute(s[(i + 3) % 4]);
#pragma unroll
	for (int i = 0; i < 4; i++)
		s[i] = t[i] ^ keys[ROUNDS * 4 + i];
}

/*
 * The low 64 bits of the product without carries, by classes of bits modulo 4: fewer than 16 ones meet in any place but the highest,
 * whose carry is not kept. A function of its own, or the compiler would run out of registers and stack.
 */
static __attribute__((noinline)) __u64 multiply_low(__u64 a, __u64 b)
{
	const __u64 every = 0x1111111111111111;
	__u64 product = 0;

#pragma unroll
	for (int i = 0; i < 4; i++) {
		__u64 sum = 0;

#pragma unroll
		for (int j = 0; j < 4; j++)
			sum ^= (a & every << j) * (b & every << ((i - j) & 3));
		product |= sum & every << i;
	}
	return product;
}

static __always_inline __u64 reverse(__u64 x)
{
	x = (x & 0x5555555555555555) << 1 | (x >> 1 & 0x5555555555555555);
	x = (x & 0x3333333333333333) << 2 | (x >> 2 & 0x3333333333333333);
	x = (x & 0x0f0f0f0f0f0f0f0f) << 4 | (x >> 4 & 0x0f0f0f0f0f0f0f0f);
	return __builtin_bswap64(x);
}

/*
 * hash = (hash + block) * key. GHASH has its bits in reverse, so a product of 255 bits lacks one bit at its low end; its low half is
 * the one that is folded, by x^128 = x^7 + x^2 + x + 1.
 */
static __always_inline void hash_block(struct hash_state *h, __u64 high, __u64 low)
{
	__u64 a[3] = { h->high ^ high, h->low ^ low, 0 }, lower[3], upper[3], v[4];

	a[2] = a[0] ^ a[1];
	/* Karatsuba: the halves' products, and that of their sums. The upper half of one is the lower of the reversed. */
#pragma unroll
	for (int i = 0; i < 3; i++) {
		lower[i] = multiply_low(a[i], h->key[i]);
		upper[i] = reverse(multiply_low(reverse(a[i]), h->key_reversed[i])) >> 1;
	}
	lower[2] ^= lower[0] ^ lower[1];
	upper[2] ^= upper[0] ^ upper[1];
	v[0] = upper[0];
	v[1] = lower[0] ^ upper[2];
	v[2] = lower[2] ^ upper[1];
	v[3] = lower[1];
	v[0] = v[0] << 1 | v[1] >> 63;
	v[1] = v[1] << 1 | v[2] >> 63;
	v[2] = v[2] << 1 | v[3] >> 63;
	v[3] <<= 1;
	v[1] ^= v[3] ^ v[3] >> 1 ^ v[3] >> 2 ^ v[3] >> 7;
	v[2] ^= v[3] << 63 ^ v[3] << 62 ^ v[3] << 57;
	h->high = v[0] ^ v[2] ^ v[2] >> 1 ^ v[2] >> 2 ^ v[2] >> 7;
	h->low = v[1] ^ v[2] << 63 ^ v[2] << 62 ^ v[2] << 57;
}

/* Eight bytes as a number, the first highest; those from @n on count as zeros. */
static __always_inline __u64 load_up_to(const __u8 *p, __u64 n)
{
	__u64 x = 0;

	for (__u64 i = 0; i < 8; i++)
		x = x << 8 | (i < n ? p[i] : 0);
	return x;
}

static __always_inline void store_up_to(__u8 *p, __u64 x, __u64 n)
{
	for (__u64 i = 0; i < 8 && i < n; i++)
		p[i] = x >> (56 - 8 * i);
}

static __always_inline void hash_init(struct hash_state *h, const __u64 *key)
{
	h->key[0] = key[0];
	h->key[1] = key[1];
	h->key[2] = key[0] ^ key[1];
#pragma unroll
	for (int i = 0; i < 3; i++)
		h->key_reversed[i] = reverse(h->key[i]);
	h->high = h->low = 0;
}

/* The key stream's block number @count; block 1 is the tag's. */
static __always_inline void key_stream(const __u32 *keys, __u64 nonce, __u32 nonce_end, __u32 count,
				       __u64 out[2])
{
	__u32 s[4] = { nonce >> 32, nonce, nonce_end, count };

	encrypt(keys, s);
	out[0] = (__u64)s[0] << 32 | s[1];
	out[1] = (__u64)s[2] << 32 | s[3];
}

SEC("gpgpu/aes_gcm")
int aes_gcm(struct aes_gcm_args *arg)
{
	__u64 item = gp_global_id(0), start = arg->offsets[item], length = arg->offsets[item + 1] - start;
	__u64 extra_size = arg->extra_size, nonce, stream[2];
	const __u8 *data = arg->data + start, *extra = arg->extra + item * extra_size;
	__u8 *out = arg->out + start, *tag = arg->tags + item * 16;
	const __u32 *keys = arg->round_keys;
	struct hash_state h;
	__u32 nonce_end;

	if (extra_size > 16)
		return 1;
	nonce = load_up_to(arg->nonces + item * 12, 8);
	nonce_end = load_up_to(arg->nonces + item * 12 + 8, 4) >> 32;
	hash_init(&h, arg->hash_key);
	if (extra_size)
		hash_block(&h, load_up_to(extra, extra_size),
			   extra_size > 8 ? load_up_to(extra + 8, extra_size - 8) : 0);
	for (__u64 at = 0; at < length; at += 16) {
		__u64 left = length - at, second = left > 8 ? left - 8 : 0;

		key_stream(keys, nonce, nonce_end, at / 16 + 2, stream);
		stream[0] ^= load_up_to(data + at, left);
		stream[1] ^= load_up_to(data + at + 8, second);
		store_up_to(out + at, stream[0], left);
		store_up_to(out + at + 8, stream[1], second);
		/* What is behind the record's end is not hashed. */
		if (left < 8)
			stream[0] &= ~0ull << (64 - 8 * left);
		if (second < 8)
			stream[1] = second ? stream[1] & ~0ull << (64 - 8 * second) : 0;
		hash_block(&h, stream[0], stream[1]);
	}
	hash_block(&h, extra_size * 8, length * 8);
	key_stream(keys, nonce, nonce_end, 1, stream);
	store_up_to(tag, stream[0] ^ h.high, 8);
	store_up_to(tag + 8, stream[1] ^ h.low, 8);
	return 0;
}
