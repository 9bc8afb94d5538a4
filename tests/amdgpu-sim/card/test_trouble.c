/* SPDX-License-Identifier: BSD-3-Clause */
/* test_trouble.c - what goes wrong on purpose: injected errors, hangs, resets, a card that is pulled. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fixture.h"

static struct card card;

static struct stream nop_stream(void)
{
	struct stream s = stream_new(&card);

	put(&s, 0xffff1000);
	return s;
}

static uint64_t flags_of(amdgpu_context_handle ctx)
{
	uint64_t flags = ~0ull;

	ck_assert_int_eq(amdgpu_cs_query_reset_state2(ctx, &flags), 0);
	return flags;
}

static void new_context(void)
{
	amdgpu_cs_ctx_free(card.ctx);
	ck_assert_int_eq(amdgpu_cs_ctx_create(card.dev, &card.ctx), 0);
}

/* The Nth call fails, once. */
START_TEST(test_injected)
{
	struct amdgpu_bo_alloc_request request = { PAGE, PAGE, AMDGPU_GEM_DOMAIN_GTT, 0 };
	amdgpu_context_handle ctx;
	amdgpu_bo_handle bo;
	struct stream s;

	card_open(&card, "gfx900", "fail GEM_CREATE 2 ENOSPC; fail CTX 2 EBUSY");
	s = nop_stream(); /* creates one; card_open() made a context */
	ck_assert_int_eq(amdgpu_bo_alloc(card.dev, &request, &bo), -ENOSPC);
	ck_assert_int_eq(amdgpu_bo_alloc(card.dev, &request, &bo), 0);
	amdgpu_bo_free(bo);
	ck_assert_int_eq(amdgpu_cs_ctx_create(card.dev, &ctx), -EBUSY);
	ck_assert_int_eq(amdgpu_cs_ctx_create(card.dev, &ctx), 0);
	amdgpu_cs_ctx_free(ctx);
	amdgpu_sim_control("enomem-cs 2");
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, NULL), -ENOMEM);
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, NULL), -ENOMEM);
	ck_assert_int_eq(run(&card, &s), 0);
	amdgpu_sim_control("fail CS 1 EINTR");
	/* drmIoctl() tries again */
	ck_assert_int_eq(run(&card, &s), 0);
	card_close(&card);
}
END_TEST

START_TEST(test_hang)
{
	amdgpu_context_handle other;
	uint64_t sequence;
	struct stream s;

	card_open(&card, "gfx900", "timeout 100");
	s = nop_stream();
	ck_assert_int_eq(amdgpu_cs_ctx_create(card.dev, &other), 0);
	amdgpu_sim_control("hang");
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, &sequence), 0);
	ck_assert_int_eq(wait_for(&card, AMDGPU_HW_IP_COMPUTE, sequence, 0), 1);
	ck_assert_int_eq(wait_for(&card, AMDGPU_HW_IP_COMPUTE, sequence, 20 * SECOND), -ETIME);
	ck_assert_uint_eq(flags_of(card.ctx), AMDGPU_CTX_QUERY2_FLAGS_RESET | AMDGPU_CTX_QUERY2_FLAGS_GUILTY);
	ck_assert_uint_eq(flags_of(other), AMDGPU_CTX_QUERY2_FLAGS_RESET);
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, NULL), -ECANCELED);
	new_context();
	ck_assert_uint_eq(flags_of(card.ctx), 0);
	ck_assert_int_eq(run(&card, &s), 0);
	amdgpu_cs_ctx_free(other);
	card_close(&card);
}
END_TEST

/* What was queued behind the job that hung: the context's guilt says more than how that ended. */
START_TEST(test_hang_followed)
{
	uint64_t sequence, next;
	struct stream s;

	card_open(&card, "gfx900", "timeout 100");
	s = nop_stream();
	amdgpu_sim_control("hang");
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, &sequence), 0);
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, &next), 0);
	ck_assert_int_eq(wait_for(&card, AMDGPU_HW_IP_COMPUTE, sequence, 20 * SECOND), -ETIME);
	ck_assert_int_eq(wait_for(&card, AMDGPU_HW_IP_COMPUTE, next, 20 * SECOND), -ECANCELED);
	card_close(&card);
}
END_TEST

/* One ring is reset: nobody is guilty, the queue fails on, a new context works. */
START_TEST(test_ring_reset)
{
	uint64_t sequence, next;
	struct stream s;

	card_open(&card, "gfx900", "timeout 100;recovery ring");
	s = nop_stream();
	amdgpu_sim_control("hang");
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, &sequence), 0);
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, &next), 0);
	ck_assert_int_eq(wait_for(&card, AMDGPU_HW_IP_COMPUTE, sequence, 20 * SECOND), -ETIME);
	ck_assert_int_eq(wait_for(&card, AMDGPU_HW_IP_COMPUTE, next, 20 * SECOND), -ETIME);
	ck_assert_uint_eq(flags_of(card.ctx), AMDGPU_CTX_QUERY2_FLAGS_RESET);
	ck_assert_int_eq(run(&card, &s), -ETIME);
	new_context();
	ck_assert_uint_eq(flags_of(card.ctx), 0);
	ck_assert_int_eq(run(&card, &s), 0);
	card_close(&card);
}
END_TEST

START_TEST(test_innocent)
{
	uint64_t sequence, next;
	struct stream s;
	struct mem *m;

	card_open(&card, "gfx900", NULL);
	m = mem_new(&card, PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, RW);
	s = stream_new(&card);
	put_write(&s, m->va, 1);
	/* one that runs, and one behind it on the same queue */
	amdgpu_sim_control("hang");
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, &sequence), 0);
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, &next), 0);
	while (!__atomic_load_n(m->cpu, __ATOMIC_ACQUIRE))
		usleep(1000);
	amdgpu_sim_control("reset innocent");
	ck_assert_int_eq(wait_for(&card, AMDGPU_HW_IP_COMPUTE, sequence, 20 * SECOND), -ECANCELED);
	ck_assert_int_eq(wait_for(&card, AMDGPU_HW_IP_COMPUTE, next, 20 * SECOND), -ECANCELED);
	ck_assert_uint_eq(flags_of(card.ctx), AMDGPU_CTX_QUERY2_FLAGS_RESET);
	new_context();
	ck_assert_int_eq(run(&card, &s), 0);
	/* with nothing running it is only counted */
	amdgpu_sim_control("reset innocent");
	ck_assert_uint_eq(flags_of(card.ctx), AMDGPU_CTX_QUERY2_FLAGS_RESET);
	ck_assert_int_eq(run(&card, &s), 0);
	card_close(&card);
}
END_TEST

START_TEST(test_vram_lost)
{
	struct mem *local, *system;
	uint32_t losses = 0;
	uint64_t sequence;
	struct stream s;

	card_open(&card, "gfx900", NULL);
	local = mem_new(&card, PAGE, AMDGPU_GEM_DOMAIN_VRAM, AMDGPU_GEM_CREATE_VRAM_CLEARED, RW);
	system = mem_new(&card, PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, RW);
	local->cpu[0] = system->cpu[0] = 1234;
	s = nop_stream();
	amdgpu_sim_control("reset guilty vram-lost");
	ck_assert_uint_eq(local->cpu[0], 1234); /* the next job's fault */
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, &sequence), 0);
	ck_assert_int_eq(wait_for(&card, AMDGPU_HW_IP_COMPUTE, sequence, 20 * SECOND), -ETIME);
	ck_assert_uint_eq(flags_of(card.ctx), AMDGPU_CTX_QUERY2_FLAGS_RESET | AMDGPU_CTX_QUERY2_FLAGS_GUILTY |
						      AMDGPU_CTX_QUERY2_FLAGS_VRAMLOST);
	ck_assert_uint_eq(local->cpu[0], 0xdbdbdbdb);
	ck_assert_uint_eq(system->cpu[0], 1234);
	ck_assert_int_eq(amdgpu_query_info(card.dev, AMDGPU_INFO_VRAM_LOST_COUNTER, 4, &losses), 0);
	ck_assert_uint_eq(losses, 1);
	new_context();
	ck_assert_int_eq(run(&card, &s), 0);
	/* Somebody else's fault: a context from before is of no use, either. */
	amdgpu_sim_control("reset innocent vram-lost");
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, NULL), -ECANCELED);
	ck_assert_uint_eq(flags_of(card.ctx),
			  AMDGPU_CTX_QUERY2_FLAGS_RESET | AMDGPU_CTX_QUERY2_FLAGS_VRAMLOST);
	new_context();
	ck_assert_int_eq(run(&card, &s), 0);
	card_close(&card);
}
END_TEST

START_TEST(test_unplug)
{
	struct amdgpu_bo_alloc_request request = { PAGE, PAGE, AMDGPU_GEM_DOMAIN_GTT, 0 };
	amdgpu_bo_handle bo;
	struct stream s;
	struct mem *m;

	card_open(&card, "gfx900", NULL);
	m = mem_new(&card, PAGE, AMDGPU_GEM_DOMAIN_VRAM, 0, RW);
	s = nop_stream();
	ck_assert_int_eq(run(&card, &s), 0);
	amdgpu_sim_control("unplug");
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, NULL), -ENODEV);
	ck_assert_int_eq(amdgpu_bo_alloc(card.dev, &request, &bo), -ENODEV);
	m->cpu[0] = 1; /* mappings stay */
	ck_assert_int_lt(open("/dev/dri/renderD128", O_RDWR), 0);
	ck_assert_int_eq(errno, ENODEV);
}
END_TEST

/* Commands that wait for their turn. */
START_TEST(test_after)
{
	struct stream s;

	card_open(&card, "gfx900", "after 2 enomem-cs 1; after 4 reset guilty");
	s = nop_stream();
	ck_assert_int_eq(run(&card, &s), 0);
	ck_assert_int_eq(run(&card, &s), 0);
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, NULL), -ENOMEM);
	ck_assert_int_eq(run(&card, &s), 0);
	ck_assert_int_eq(run(&card, &s), -ETIME);
	new_context();
	ck_assert_int_eq(run(&card, &s), 0);
	card_close(&card);
}
END_TEST

/* Commands that come from another process. */
START_TEST(test_listen)
{
	char folder[] = "/tmp/amdgpu-sim-XXXXXX", path[64], commands[96];
	const char *said = "enomem-cs 1\nnonsense\nunplug\n";
	struct stream s;
	int fd, ret;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/commands", folder);
	snprintf(commands, sizeof(commands), "listen %s", path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	card_open(&card, "gfx900", commands);
	s = nop_stream();
	ck_assert_int_eq(run(&card, &s), 0);
	/* the card has it open */
	fd = open(path, O_WRONLY | O_NONBLOCK);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, said, 4), 4);
	usleep(10000);
	ck_assert_int_eq(write(fd, said + 4, strlen(said) - 4), (ssize_t)strlen(said) - 4);
	close(fd);
	do {
		ret = submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, NULL);
		usleep(1000);
	} while (!ret || ret == -ENOMEM);
	ck_assert_int_eq(ret, -ENODEV);
	unlink(path);
	rmdir(folder);
}
END_TEST

static struct stream endless(void)
{
	struct mem *code = programs(&card);
	struct launch l = {
		.code = program(code, P_LOOP), .groups = 1, .size = card.gfx10 ? 32 : 64, .user = 2
	};
	struct stream s = stream_new(&card);

	put_acquire(&s, card.gfx10);
	put_launch(&s, &card, &l);
	return s;
}

/* Waves that do not end: by time, by instructions, killed or reset. */
START_TEST(test_endless)
{
	static const struct {
		const char *commands;
		int error;
		uint64_t flags;
	} rows[] = {
		{ "timeout 50", -ENODATA, AMDGPU_CTX_QUERY2_FLAGS_RESET },
		{ "instructions 10000", -ENODATA, AMDGPU_CTX_QUERY2_FLAGS_RESET },
		{ "timeout 50; recovery hard", -ETIME,
		  AMDGPU_CTX_QUERY2_FLAGS_RESET | AMDGPU_CTX_QUERY2_FLAGS_GUILTY },
		{ "timeout 50; recovery hard vram-lost", -ETIME,
		  AMDGPU_CTX_QUERY2_FLAGS_RESET | AMDGPU_CTX_QUERY2_FLAGS_GUILTY |
			  AMDGPU_CTX_QUERY2_FLAGS_VRAMLOST },
	};
	struct stream s, nop;

	card_open(&card, _i & 1 ? "gfx1030" : "gfx900", rows[_i / 2].commands);
	s = endless();
	nop = nop_stream();
	ck_assert_int_eq(run(&card, &s), rows[_i / 2].error);
	ck_assert_uint_eq(flags_of(card.ctx), rows[_i / 2].flags);
	new_context();
	ck_assert_int_eq(run(&card, &nop), 0);
	card_close(&card);
}
END_TEST

/* One queue that takes its time does not keep another context's jobs from their turn. */
START_TEST(test_round)
{
	amdgpu_context_handle first;
	uint64_t sequences[4], sequence;
	struct stream s, nop;

	card_open(&card, "gfx900", "timeout 30");
	s = endless();
	nop = nop_stream();
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, &sequences[i]), 0);
	first = card.ctx;
	ck_assert_int_eq(amdgpu_cs_ctx_create(card.dev, &card.ctx), 0);
	ck_assert_int_eq(submit(&card, &nop, AMDGPU_HW_IP_COMPUTE, 0, &sequence), 0);
	ck_assert_int_eq(wait_for(&card, AMDGPU_HW_IP_COMPUTE, sequence, 20 * SECOND), 0);
	amdgpu_cs_ctx_free(card.ctx);
	card.ctx = first;
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_int_eq(wait_for(&card, AMDGPU_HW_IP_COMPUTE, sequences[i], 20 * SECOND), -ENODATA);
	card_close(&card);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("trouble");
	TCase *tc = tcase_create("trouble");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_injected);
	tcase_add_test(tc, test_hang);
	tcase_add_test(tc, test_hang_followed);
	tcase_add_test(tc, test_ring_reset);
	tcase_add_test(tc, test_innocent);
	tcase_add_test(tc, test_vram_lost);
	tcase_add_test(tc, test_unplug);
	tcase_add_test(tc, test_after);
	tcase_add_test(tc, test_listen);
	tcase_add_loop_test(tc, test_endless, 0, 8);
	tcase_add_test(tc, test_round);
	suite_add_tcase(suite, tc);
	return sim_main(suite, argv);
}
