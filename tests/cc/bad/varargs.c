// SPDX-License-Identifier: BSD-3-Clause
#include "gpgpu_bpf.h"
struct a {
	float *x;
};
/* refused: 'sum' takes a variable number of arguments: functions on devices have at most five */
static int __attribute__((noinline)) sum(int n, ...)
{
	__builtin_va_list ap;
	int s = 0;
	/* refused: a variable number of arguments: functions on devices have at most five */
	__builtin_va_start(ap, n);
	while (n--)
		/* refused: a variable number of arguments: functions on devices have at most five */
		s += __builtin_va_arg(ap, int);
	/* refused: a variable number of arguments: functions on devices have at most five */
	__builtin_va_end(ap);
	return s;
}
__attribute__((section("gpgpu/k"), used)) int k(struct a *a)
{
	a->x[0] = sum(2, 3, 4);
	return 0;
}
