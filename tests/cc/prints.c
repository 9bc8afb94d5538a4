// SPDX-License-Identifier: BSD-3-Clause
/* prints.c - kernels that print; test_prints.c says what is to come of it. */
#define GP_PRINTF_BYTES 4096
#include <stdio.h>
#include "gpgpu_bpf.h"

struct arguments {
	float *x;
	int *returned;
};

__attribute__((section("gpgpu/say"), used)) int say(struct arguments *arg)
{
	int i = (int)gp_global_id(0);
	float x = arg->x[i];

	arg->returned[i] = printf("item %d%%: %g %8.3f|%-6s|%c %lld %#x %hhu\n", i - 3, x, x / 4.0,
				  i & 1	  ? "odd"
				  : i & 2 ? "even"
					  : "four",
				  'A' + i, -5000000000ll * i, 255u + i, 250 + i);
	if (i == 3)
		printf("three\n");
	return 0;
}

/* 40 bytes of the buffer each. */
__attribute__((section("gpgpu/flood"), used)) int flood(struct arguments *arg)
{
	int i = (int)gp_global_id(0);

	arg->returned[i] = printf("%d\n", i);
	return 0;
}
