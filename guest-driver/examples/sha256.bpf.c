// SPDX-License-Identifier: BSD-3-Clause
/*
 * sha256 - SHA-256 (FIPS 180-4) of many messages at once; one work item hashes one message.
 *
 * Messages of any length lie one after the other. The rounds are unrolled so that the sixteen words of the
 * message schedule stay in registers or at known places of the stack; the constants are global data.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "gpgpu_bpf.h"

struct sha256_args {
	const __u8 *data; /* the messages */
	const __u64 *offsets; /* message i is data[offsets[i]] up to data[offsets[i + 1]] */
	__u8 *digests; /* 32 bytes each */
};

static const __u32 round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static __always_inline __u32 ror(__u32 x, int bits)
{
	return x >> bits | x << (32 - bits);
}

/* What fills the last blocks: the message, a one bit, zeros, and the length in bits. */
static __always_inline __u32 word_at(const __u8 *data, __u64 length, __u64 blocks, __u64 at)
{
	__u32 word = 0;

	if (at + 4 <= length)
		return (__u32)data[at] << 24 | (__u32)data[at + 1] << 16 | (__u32)data[at + 2] << 8 |
		       data[at + 3];
	if (at == blocks * 64 - 8)
		return (length * 8) >> 32;
	if (at == blocks * 64 - 4)
		return length * 8;
#pragma unroll
	for (int i = 0; i < 4; i++) {
		word <<= 8;
		if (at + i < length)
			word |= data[at + i];
		else if (at + i == length)
			word |= 0x80;
	}
	return word;
}

static __always_inline void compress(__u32 state[8], __u32 w[16])
{
	__u32 a = state[0], b = state[1], c = state[2], d = state[3];
	__u32 e = state[4], f = state[5], g = state[6], h = state[7];

	for (int t = 0; t < 64; t += 16) {
#pragma unroll
		for (int i = 0; i < 16; i++) {
			__u32 s1 = ror(e, 6) ^ ror(e, 11) ^ ror(e, 25);
			__u32 t1 = h + s1 + ((e & f) ^ (~e & g)) + round_constants[t + i] + w[i];
			__u32 s0 = ror(a, 2) ^ ror(a, 13) ^ ror(a, 22);
			__u32 t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));

			h = g;
			g = f;
			f = e;
			e = d + t1;
			d = c;
			c = b;
			b = a;
			a = t1 + t2;
			/* The word that round t + i + 16 needs takes the place of this round's. */
			t1 = w[(i + 1) % 16];
			t2 = w[(i + 14) % 16];
			w[i] += w[(i + 9) % 16] + (ror(t1, 7) ^ ror(t1, 18) ^ t1 >> 3) +
				(ror(t2, 17) ^ ror(t2, 19) ^ t2 >> 10);
		}
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
	state[5] += f;
	state[6] += g;
	state[7] += h;
}

SEC("gpgpu/sha256")
int sha256(struct sha256_args *arg)
{
	__u64 item = gp_global_id(0);
	__u64 start = arg->offsets[item], length = arg->offsets[item + 1] - start;
	__u64 blocks = (length + 9 + 63) / 64;
	const __u8 *data = arg->data + start;
	__u8 *digest = arg->digests + item * 32;
	__u32 state[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
			   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	__u32 w[16];

	for (__u64 block = 0; block < blocks; block++) {
#pragma unroll
		for (int i = 0; i < 16; i++)
			w[i] = word_at(data, length, blocks, block * 64 + i * 4);
		compress(state, w);
	}
#pragma unroll
	for (int i = 0; i < 8; i++) {
		digest[i * 4] = state[i] >> 24;
		digest[i * 4 + 1] = state[i] >> 16;
		digest[i * 4 + 2] = state[i] >> 8;
		digest[i * 4 + 3] = state[i];
	}
	return 0;
}
