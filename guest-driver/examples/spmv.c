// SPDX-License-Identifier: BSD-3-Clause
/*
 * spmv - y = A * x in f64 with a sparse matrix, one row per work item. In plain C, for gpgpu-cc.
 *
 * Compressed rows: the elements of row i, and the columns that they are in, lie at starts[i] up to starts[i + 1].
 */
#include "gpgpu_bpf.h"

struct spmv_args {
	const __u64 *starts; /* rows + 1 */
	const __u32 *columns;
	const double *elements;
	const double *x;
	double *y;
	__u64 rows;
};

__attribute__((section("gpgpu/spmv"), used)) int spmv(struct spmv_args *arg)
{
	__u64 row = gp_global_id(0), end;
	double sum = 0;

	if (row >= arg->rows)
		return 0;
	end = arg->starts[row + 1];
	for (__u64 i = arg->starts[row]; i < end; i++)
		sum += arg->elements[i] * arg->x[arg->columns[i]];
	arg->y[row] = sum;
	return 0;
}
