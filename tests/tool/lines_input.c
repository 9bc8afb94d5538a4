// SPDX-License-Identifier: BSD-3-Clause
/* Functions for test_lines.c to read the line table of: lines near, far, and beyond any program's. */
int near_lines(int n, volatile int *p);
int far_lines(int n, volatile int *p);

#line 7
int near_lines(int n, volatile int *p)
{
	*p = n;
	if (n > 3)
		*p = n + 1;
	return n;
}

#line 9000
__attribute__((section(".text.far"))) int far_lines(int n, volatile int *p)
{
	*p = n + 5;
#line 20000
	*p = n + 6;
	return *p;
}
