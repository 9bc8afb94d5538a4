// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_programs.c - the XDP examples do what they say.
 *
 * Comparing a device with the kernel shows that both run a program alike, not that the program is any good.
 * That is what is shown here, in this machine's kernel: a packet that was put into a tunnel and taken out
 * is the packet that it was, a translation there and back is none, a cookie that is answered is right, a
 * flow keeps its server. Expected bytes are computed by other code than the programs' (bin/packets.c,
 * run.c).
 */
#include <stdio.h>
#include "fixture.h"

int main(void)
{
	const char *why = program_unavailable();
	Suite *s = suite_create("programs");
	TCase *t = tcase_create("expected");
	SRunner *r;
	int failed;

	if (why) {
		printf("skipped: %s; run as root\n", why);
		return 77;
	}
	tcase_set_timeout(t, 60);
	tunnel_cases(t);
	nat64_cases(t);
	filter_cases(t);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
