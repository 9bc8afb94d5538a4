// SPDX-License-Identifier: BSD-3-Clause
/*
 * fft - the discrete Fourier transform of many signals of a power of two of complex numbers, up to 2,048, in f32; a group
 * transforms one signal, in local memory. In plain C, for gpgpu-cc.
 *
 * Stockham's form: each stage reads one array and writes the other, in an order that needs no reversal of bits. The roots of
 * unity come in a buffer, so that they are as exact as f32 can be.
 */
#include "gpgpu_bpf.h"

#define MAX 2048

struct complex {
	float re, im;
};

struct fft_args {
	const struct complex *in; /* n for each group */
	struct complex *out;
	const struct complex *roots; /* n / 2: exp(-2 pi i k / n) */
	__u64 n;
};

GP_LOCAL struct complex work[2][MAX];

/* Butterfly number i of the stage that joins transforms of @half points to twice as many. */
static inline void butterfly(struct complex *from, struct complex *to, const struct complex *roots, __u64 i,
			     __u64 half, __u64 n)
{
	__u64 k = i & (half - 1), at = ((i - k) * 2 + k) & (MAX - 1);
	struct complex w = roots[k * (n / 2 / half)], a = from[i & (MAX - 1)],
		       b = from[(i + n / 2) & (MAX - 1)];
	float re = b.re * w.re - b.im * w.im, im = b.re * w.im + b.im * w.re;

	to[at] = (struct complex){ a.re + re, a.im + im };
	to[(at + half) & (MAX - 1)] = (struct complex){ a.re - re, a.im - im };
}

__attribute__((section("gpgpu/fft"), used)) int fft(struct fft_args *arg)
{
	__u64 n = arg->n, item = gp_local_id(0), size = gp_local_size(0), first = gp_group_id(0) * n;
	__u64 side = 0;

	if (n > MAX || n < 2)
		return 1;
	for (__u64 i = item; i < n; i += size)
		work[0][i & (MAX - 1)] = arg->in[first + i];
	gp_barrier();
	for (__u64 half = 1; half < n; half *= 2) {
		for (__u64 i = item; i < n / 2; i += size)
			butterfly(work[side], work[side ^ 1], arg->roots, i, half, n);
		gp_barrier();
		side ^= 1;
	}
	for (__u64 i = item; i < n; i += size)
		arg->out[first + i] = work[side][i & (MAX - 1)];
	return 0;
}
