// SPDX-License-Identifier: BSD-3-Clause
/*
 * matmul_tiled - C = A * B in f32 as in matmul, by groups of 16 by 16 items: each loads an element of either matrix to local
 * memory, and all use what all have loaded.
 *
 * Rows, columns and inner size may be any; the grid is rounded up to whole groups, and tiles are padded with zeros, which
 * change no sum's bits (a sum that is -0 becomes 0 only where there is nothing to add).
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "gpgpu_bpf.h"

#define TILE 16

struct matmul_tiled_args {
	const __u32 *a; /* rows * inner */
	const __u32 *b; /* inner * columns */
	__u32 *c; /* rows * columns */
	__u64 rows, inner, columns;
};

GP_LOCAL __u32 tile_a[TILE][TILE];
GP_LOCAL __u32 tile_b[TILE][TILE];

SEC("gpgpu/matmul_tiled")
int matmul_tiled(struct matmul_tiled_args *arg)
{
	__u64 x = gp_local_id(0) & (TILE - 1), y = gp_local_id(1) & (TILE - 1);
	__u64 column = gp_global_id(0), row = gp_global_id(1);
	__u64 inner = arg->inner, rows = arg->rows, columns = arg->columns;
	__u32 sum = 0;

	for (__u64 first = 0; first < inner; first += TILE) {
		__u64 left = inner - first;

		tile_a[y][x] = row < rows && x < left ? arg->a[row * inner + first + x] : 0;
		tile_b[y][x] = column < columns && y < left ? arg->b[(first + y) * columns + column] : 0;
		gp_barrier();
		if (left > TILE)
			left = TILE;
		for (__u64 k = 0; k < left; k++)
			sum = gp_fadd32(sum, gp_fmul32(tile_a[y][k & (TILE - 1)], tile_b[k & (TILE - 1)][x]));
		gp_barrier();
	}
	if (row < rows && column < columns)
		arg->c[row * columns + column] = sum;
	return 0;
}
