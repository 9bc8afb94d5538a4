// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include "gpgpu_bpf.h"
struct a {
	const char *s;
	int *x;
};
__attribute__((section("gpgpu/k"), used)) int k(struct a *a)
{
	printf("%*d\n", 5, a->x[0]); /* refused: printf: a width that is an argument */
	printf("%n\n", a->x); /* refused: printf: %n, which writes to memory */
	printf("%s\n", a->s); /* refused: printf: %s takes a string constant, which argument 2 is not */
	printf(a->s); /* refused: printf: the format is no string constant */
	printf("%d %d\n", a->x[0]); /* refused: printf: the format takes another number of arguments */
	printf("%d\n", 1.5 * a->x[0]); /* refused: printf: %d takes an integer, which argument 2 is not */
	printf("%d: %f\n", 1, a->x[0]); /* refused: printf: %f takes a double, which argument 3 is not */
	printf("%99d\n", a->x[0]); /* refused: printf: a width over 64 */
	printf("%k\n", a->x[0]); /* refused: printf: a conversion that is none of */
	printf("%d%d%d%d%d%d%d%d%d%d%d%d%d\n", /* refused: printf: over 12 arguments */
	       1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13);
	return 0;
}
