// SPDX-License-Identifier: BSD-3-Clause
/*
 * mandelbrot - how many steps each point of a picture takes to leave the circle of radius 2, in f64.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "gpgpu_bpf.h"

struct mandelbrot_args {
	__u32 *steps; /* one per pixel, row by row */
	__u64 left, top; /* f64: the picture's corner */
	__u64 pixel; /* f64: width of a pixel */
	__u64 max_steps;
};

SEC("gpgpu/mandelbrot")
int mandelbrot(struct mandelbrot_args *arg)
{
	__u64 column = gp_global_id(0), row = gp_global_id(1);
	__u64 max_steps = arg->max_steps;
	__u64 cx = gp_fadd64(arg->left, gp_fmul64(gp_f64_from_u(column), arg->pixel));
	__u64 cy = gp_fsub64(arg->top, gp_fmul64(gp_f64_from_u(row), arg->pixel));
	__u64 x = 0, y = 0, n;

	for (n = 0; n < max_steps; n++) {
		__u64 xx = gp_fmul64(x, x), yy = gp_fmul64(y, y), xy = gp_fmul64(x, y);

		if (!gp_fle64(gp_fadd64(xx, yy), GP_F64(4.0)))
			break;
		x = gp_fadd64(gp_fsub64(xx, yy), cx);
		y = gp_fadd64(gp_fadd64(xy, xy), cy);
	}
	arg->steps[row * gp_global_size(0) + column] = n;
	return 0;
}
