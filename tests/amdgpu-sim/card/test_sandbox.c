/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_sandbox.c - everything that a worker does with a card once it has locked itself in, under the worker's own filter
 * (host-backend/worker/sandbox.c): a system call that it does not allow kills the test.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fixture.h"
#include "sanitized.h"
#include "worker.h"

void log_line(const char *format, ...)
{
	(void)format;
}

START_TEST(test_locked_in)
{
	struct card card;
	uint64_t sequence, point = 3, got = 0;
	struct mem *m, *user;
	uint32_t obj, first;
	struct launch l;
	struct stream s;
	uint32_t *at;

	card_open(&card, _i ? "gfx1030" : "gfx900", "statistics /dev/null; trace packets /dev/null");
	ck_assert(sandbox_enter(0, "amdgpu", NULL));
	m = mem_new(&card, 1 << 20, AMDGPU_GEM_DOMAIN_VRAM, 0, RW);
	at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	user = &card.mem[card.count];
	ck_assert_int_eq(amdgpu_create_bo_from_user_mem(card.dev, at, PAGE, &user->bo), 0);
	ck_assert_int_eq(amdgpu_bo_export(user->bo, amdgpu_bo_handle_type_kms, &user->handle), 0);
	card.count++;
	ck_assert_int_eq(amdgpu_bo_va_op_raw(card.dev, user->bo, 0, PAGE, (uintptr_t)at, RW,
					     AMDGPU_VA_OP_MAP),
			 0);
	l = (struct launch){
		.code = program(programs(&card), P_IDS), .groups = 4, .size = _i ? 32 : 64, .user = 2
	};
	l.data[0] = (uint32_t)(uintptr_t)at;
	l.data[1] = (uint32_t)((uintptr_t)at >> 32);
	s = stream_new(&card);
	put_acquire(&s, card.gfx10);
	put_launch(&s, &card, &l);
	put_write(&s, m->va, 77);
	ck_assert_int_eq(run(&card, &s), 0);
	ck_assert_uint_eq(at[100], 100);
	ck_assert_uint_eq(m->cpu[0], 77);
	/* a fault, a hang, and what comes after */
	amdgpu_sim_control("timeout 30");
	amdgpu_sim_control("hang");
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, &sequence), 0);
	ck_assert_int_eq(wait_for(&card, AMDGPU_HW_IP_COMPUTE, sequence, 20 * SECOND), -ETIME);
	amdgpu_cs_ctx_free(card.ctx);
	ck_assert_int_eq(amdgpu_cs_ctx_create(card.dev, &card.ctx), 0);
	ck_assert_int_eq(run(&card, &s), 0);
	ck_assert_int_eq(amdgpu_cs_create_syncobj(card.dev, &obj), 0);
	ck_assert_int_eq(drmSyncobjTimelineSignal(card.fd, &obj, &point, 1), 0);
	ck_assert_int_eq(drmSyncobjTimelineWait(card.fd, &obj, &point, 1, INT64_MAX, 0, &first), 0);
	ck_assert_int_eq(drmSyncobjQuery(card.fd, &obj, &got, 1), 0);
	ck_assert_uint_eq(got, 3);
	card_close(&card);
	munmap(at, PAGE);
	/* no other node any more, as with a card */
	if (!SANITIZED) {
		ck_assert_int_lt(open("/dev/dri/renderD128", O_RDWR), 0);
		ck_assert_int_eq(errno, EPERM);
	}
	/* Check's own end would be killed. */
	_exit(42);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("sandbox");
	TCase *tc = tcase_create("sandbox");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_exit_test(tc, test_locked_in, 42, 0, 2);
	suite_add_tcase(suite, tc);
	return sim_main(suite, argv);
}
