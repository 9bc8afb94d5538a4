// SPDX-License-Identifier: BSD-3-Clause
/*
 * matmul_f64 - C = A * B in f64, by groups of 16 by 16 items as matmul_tiled. In plain C, for gpgpu-cc.
 *
 * Rows, columns and inner size may be any; the grid is rounded up to whole groups, and what lies outside of the matrices is
 * neither loaded nor added.
 */
#include "gpgpu_bpf.h"

#define TILE 16

struct matmul_f64_args {
	const double *a; /* rows * inner */
	const double *b; /* inner * columns */
	double *c; /* rows * columns */
	__u64 rows, inner, columns;
};

GP_LOCAL double tile_a[TILE][TILE];
GP_LOCAL double tile_b[TILE][TILE];

__attribute__((section("gpgpu/matmul_f64"), used)) int matmul_f64(struct matmul_f64_args *arg)
{
	__u64 x = gp_local_id(0) & (TILE - 1), y = gp_local_id(1) & (TILE - 1);
	__u64 column = gp_global_id(0), row = gp_global_id(1);
	__u64 inner = arg->inner, rows = arg->rows, columns = arg->columns;
	double sum = 0;

	for (__u64 first = 0; first < inner; first += TILE) {
		__u64 left = inner - first;

		if (row < rows && x < left)
			tile_a[y][x] = arg->a[row * inner + first + x];
		if (column < columns && y < left)
			tile_b[y][x] = arg->b[(first + y) * columns + column];
		gp_barrier();
		if (left > TILE)
			left = TILE;
		for (__u64 k = 0; k < left; k++)
			sum += tile_a[y][k & (TILE - 1)] * tile_b[k & (TILE - 1)][x];
		gp_barrier();
	}
	if (row < rows && column < columns)
		arg->c[row * columns + column] = sum;
	return 0;
}
