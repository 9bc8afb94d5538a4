/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_sched.c - the scheduler on a virtual clock: shares, caps, newcomers, idlers, contexts; and what a GPU's launches are
 * charged by two clocks.
 *
 * A small simulation: servers pick slices and end them at times that the test decides. No real time, so the
 * results are the same on every machine.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "engine/gpu_time.h"
#include "engine/sched.h"

#define MS	    1000000ull
#define MAX_SERVERS 4
#define MAX_LOADS   8

/* A queue that always has work, in slices of @slice ns (guessed as @guess), between @from and @to. */
struct load {
	struct gp_sched_tenant *tenant;
	struct gp_sched_queue queue;
	struct gp_sched_entry entry;
	uint64_t slice, guess, from, to;
	uint64_t served; /* ns */
};

struct server {
	struct load *load;
	struct gp_sched_grant grant;
	uint64_t end;
};

static struct gp_sched sched;
static struct gp_sched_tenant tenants[4];
static struct load loads[MAX_LOADS];
static struct server servers[MAX_SERVERS];
static unsigned int num_loads, num_servers;
static uint64_t now;

static void start(unsigned int count)
{
	memset(tenants, 0, sizeof(tenants));
	memset(loads, 0, sizeof(loads));
	memset(servers, 0, sizeof(servers));
	num_loads = 0;
	num_servers = count;
	now = 1000 * MS;
	gp_sched_init(&sched, count);
}

static struct gp_sched_tenant *tenant(unsigned int i, uint32_t weight, uint32_t cap)
{
	gp_sched_tenant_add(&sched, &tenants[i], weight, cap, now);
	return &tenants[i];
}

static struct load *load(struct gp_sched_tenant *t, uint64_t slice, uint64_t from, uint64_t to)
{
	struct load *l = &loads[num_loads++];

	l->tenant = t;
	l->slice = l->guess = slice;
	l->from = now + from;
	l->to = to == UINT64_MAX ? to : now + to;
	gp_sched_queue_init(&l->queue, t);
	gp_sched_entry_init(&l->entry);
	return l;
}

/* Loads come and go. */
static void update_loads(void)
{
	for (unsigned int i = 0; i < num_loads; i++) {
		struct load *l = &loads[i];
		bool on = now >= l->from && now < l->to, queued = !list_empty(&l->entry.link);

		l->entry.estimate = l->guess;
		if (on && !queued)
			gp_sched_enqueue(&sched, &l->queue, &l->entry, false, now);
		else if (!on && queued)
			gp_sched_dequeue(&sched, &l->entry, now);
	}
}

static void end_slices(void)
{
	for (unsigned int i = 0; i < num_servers; i++) {
		struct server *s = &servers[i];

		if (!s->load || s->end > now)
			continue;
		gp_sched_settle(&sched, &s->grant, s->load->slice, now);
		s->load->served += s->load->slice;
		s->load = NULL;
	}
}

/* The next moment at which something happens. */
static uint64_t fill_servers(uint64_t until)
{
	uint64_t next = until, wake = UINT64_MAX;

	for (unsigned int i = 0; i < num_servers; i++) {
		struct server *s = &servers[i];

		if (!s->load) {
			struct gp_sched_entry *entry = gp_sched_pick(&sched, now, &s->grant, &wake);

			if (entry) {
				s->load = container_of(entry, struct load, entry);
				s->end = now + s->load->slice;
			} else if (wake < next) {
				next = wake;
			}
		}
		if (s->load && s->end < next)
			next = s->end;
	}
	for (unsigned int i = 0; i < num_loads; i++) {
		if (loads[i].from > now && loads[i].from < next)
			next = loads[i].from;
		if (loads[i].to > now && loads[i].to < next)
			next = loads[i].to;
	}
	return next;
}

static void run(uint64_t ns)
{
	uint64_t until = now + ns;

	while (now < until) {
		uint64_t next;

		update_loads();
		next = fill_servers(until);
		ck_assert_uint_gt(next, now);
		now = next;
		end_slices();
	}
}

/* a : b = wanted : 1 within @permille. */
static void check_ratio(uint64_t a, uint64_t b, double wanted, double permille)
{
	double ratio = (double)a / (double)b;

	ck_assert_msg(ratio > wanted * (1 - permille / 1000) && ratio < wanted * (1 + permille / 1000),
		      "%.4f instead of %.4f", ratio, wanted);
}

START_TEST(weights)
{
	for (unsigned int n = 1; n <= MAX_SERVERS; n++) {
		start(n);
		struct load *a = load(tenant(0, 100, 10000), 2 * MS, 0, UINT64_MAX);
		struct load *b = load(tenant(1, 100, 10000), 3 * MS, 0, UINT64_MAX);
		uint64_t from_a, from_b;

		/* With as many servers as tenants have slices at a time everyone has his own. */
		load(&tenants[0], 2 * MS, 0, UINT64_MAX);
		load(&tenants[1], 3 * MS, 0, UINT64_MAX);
		run(10000 * MS);
		check_ratio(tenants[0].device_ns, tenants[1].device_ns, 1, 10);
		gp_sched_tenant_quota(&sched, &tenants[0], 300, 10000, now);
		from_a = tenants[0].device_ns;
		from_b = tenants[1].device_ns;
		run(20000 * MS);
		check_ratio(tenants[0].device_ns - from_a, tenants[1].device_ns - from_b, 3, 10);
		/* Work-conserving: no server was ever idle. */
		check_ratio(tenants[0].device_ns + tenants[1].device_ns, 30000 * MS * n, 1, 2);
		ck_assert_uint_gt(a->served, 0);
		ck_assert_uint_gt(b->served, 0);
	}
}
END_TEST

START_TEST(extreme_weights)
{
	start(1);
	load(tenant(0, 10000, 10000), MS, 0, UINT64_MAX);
	load(tenant(1, 1, 10000), MS, 0, UINT64_MAX);
	run(100000 * MS);
	ck_assert_uint_ge(tenants[1].device_ns, 5 * MS);
	ck_assert_uint_le(tenants[1].device_ns, 15 * MS);
}
END_TEST

/* Wrong guesses of how long a slice takes must not matter. */
START_TEST(estimates)
{
	for (unsigned int n = 1; n <= 2; n++) {
		start(n);
		load(tenant(0, 100, 10000), 5 * MS, 0, UINT64_MAX)->guess = 1;
		load(tenant(1, 100, 10000), MS / 10, 0, UINT64_MAX)->guess = 10 * MS;
		run(10000 * MS);
		check_ratio(tenants[0].device_ns, tenants[1].device_ns, 1, 20);
	}
}
END_TEST

START_TEST(cap)
{
	/* Slices shorter than the quota, about as long, and far longer. */
	static const uint64_t slices[] = { MS / 10, 2 * MS, 7 * MS, 150 * MS };

	for (unsigned int i = 0; i < sizeof(slices) / sizeof(slices[0]); i++) {
		for (unsigned int n = 1; n <= 2; n++) {
			start(n);
			/* Alone on the device. */
			load(tenant(0, 100, 2000), slices[i], 0, UINT64_MAX);
			load(&tenants[0], slices[i], 0, UINT64_MAX);
			run(20000 * MS);
			check_ratio(tenants[0].device_ns, 20000 * MS * n / 5, 1, 50);
			ck_assert_uint_gt(tenants[0].throttled_ns, 20000 * MS / 2);
			/* The rest goes to whoever comes. */
			load(tenant(1, 1, 10000), 2 * MS, 0, UINT64_MAX);
			load(&tenants[1], 2 * MS, 0, UINT64_MAX);
			run(20000 * MS);
			check_ratio(tenants[0].device_ns + tenants[1].device_ns,
				    20000 * MS * n + 20000 * MS * n / 5, 1, 50);
		}
	}
}
END_TEST

START_TEST(cap_changes)
{
	uint64_t from;

	start(1);
	load(tenant(0, 100, 10000), 2 * MS, 0, UINT64_MAX);
	run(1000 * MS);
	gp_sched_tenant_quota(&sched, &tenants[0], 100, 2000, now);
	from = tenants[0].device_ns;
	run(10000 * MS);
	check_ratio(tenants[0].device_ns - from, 2000 * MS, 1, 50);
	gp_sched_tenant_quota(&sched, &tenants[0], 100, 10000, now);
	from = tenants[0].device_ns;
	run(1000 * MS);
	check_ratio(tenants[0].device_ns - from, 1000 * MS, 1, 30);
}
END_TEST

/* One that comes later gets its share from then on, neither more nor less. */
START_TEST(newcomer)
{
	uint64_t from;

	start(1);
	load(tenant(0, 100, 10000), 2 * MS, 0, UINT64_MAX);
	run(5000 * MS);
	load(tenant(1, 100, 10000), 2 * MS, 0, UINT64_MAX);
	from = tenants[0].device_ns;
	run(100 * MS);
	check_ratio(tenants[0].device_ns - from, tenants[1].device_ns, 1, 100);
	run(900 * MS);
	check_ratio(tenants[0].device_ns - from, tenants[1].device_ns, 1, 10);
}
END_TEST

/* One that idled has saved nothing, and one that used the idle device owes nothing. */
START_TEST(idler)
{
	uint64_t from_a, from_b;

	start(1);
	load(tenant(0, 100, 10000), 2 * MS, 0, UINT64_MAX);
	load(tenant(1, 100, 10000), 2 * MS, 0, 1000 * MS);
	load(&tenants[1], 2 * MS, 9000 * MS, UINT64_MAX);
	run(9000 * MS);
	from_a = tenants[0].device_ns;
	from_b = tenants[1].device_ns;
	run(100 * MS);
	check_ratio(tenants[0].device_ns - from_a, tenants[1].device_ns - from_b, 1, 100);
}
END_TEST

START_TEST(paused)
{
	uint64_t from_a, from_b;

	start(1);
	load(tenant(0, 100, 10000), 2 * MS, 0, UINT64_MAX);
	load(tenant(1, 100, 10000), 2 * MS, 0, UINT64_MAX);
	run(100 * MS);
	gp_sched_tenant_pause(&sched, &tenants[1], true, now);
	run(10 * MS);
	from_a = tenants[0].device_ns;
	from_b = tenants[1].device_ns;
	run(1000 * MS);
	ck_assert_uint_eq(tenants[1].device_ns, from_b);
	check_ratio(tenants[0].device_ns - from_a, 1000 * MS, 1, 10);
	gp_sched_tenant_pause(&sched, &tenants[1], false, now);
	from_a = tenants[0].device_ns;
	run(1000 * MS);
	check_ratio(tenants[0].device_ns - from_a, tenants[1].device_ns - from_b, 1, 10);
}
END_TEST

/* Contexts of a tenant share its part equally, however many another tenant has. */
START_TEST(contexts)
{
	struct load *l[4];

	start(2);
	tenant(0, 100, 10000);
	tenant(1, 100, 10000);
	for (int i = 0; i < 3; i++)
		l[i] = load(&tenants[0], (uint64_t)(i + 1) * MS, 0, UINT64_MAX);
	l[3] = load(&tenants[1], 2 * MS, 0, UINT64_MAX);
	load(&tenants[1], 2 * MS, 0, UINT64_MAX);
	run(30000 * MS);
	check_ratio(l[0]->served, l[1]->served, 1, 10);
	check_ratio(l[1]->served, l[2]->served, 1, 10);
	check_ratio(tenants[0].device_ns, tenants[1].device_ns, 1, 10);
}
END_TEST

START_TEST(counters)
{
	start(1);
	load(tenant(0, 100, 10000), 2 * MS, 0, UINT64_MAX);
	load(tenant(1, 100, 10000), 2 * MS, 0, UINT64_MAX);
	run(1000 * MS);
	for (int i = 0; i < 2; i++) {
		gp_sched_tenant_update(&sched, &tenants[i], now);
		ck_assert_uint_eq(tenants[i].device_ns + tenants[i].waited_ns, 1000 * MS);
		ck_assert_uint_eq(tenants[i].throttled_ns, 0);
	}
}
END_TEST

START_TEST(empty)
{
	struct gp_sched_grant grant;
	uint64_t wake;

	start(1);
	ck_assert_ptr_null(gp_sched_pick(&sched, now, &grant, &wake));
	ck_assert_uint_eq(wake, UINT64_MAX);
	tenant(0, 100, 10000);
	ck_assert_ptr_null(gp_sched_pick(&sched, now, &grant, &wake));
	gp_sched_tenant_remove(&sched, &tenants[0]);
	ck_assert(list_empty(&sched.tenants));
}
END_TEST

/* Launches of a GPU: when each was queued and seen to have ended, what the GPU says, and what is charged. All in ms. */
struct launch_row {
	uint64_t queued, ended, said, charged;
	bool odd;
};

static void check_times(const struct launch_row *rows, size_t count)
{
	struct gp_gpu_times times = { 0 };
	uint64_t last = 0;

	for (size_t i = 0; i < count; i++) {
		const struct launch_row *r = &rows[i];
		uint64_t ns;

		if (r->queued >= last)
			gp_gpu_times_begin(&times, r->queued * MS);
		ns = gp_gpu_times_end(&times, r->queued * MS, r->said * MS, r->odd, r->ended * MS);
		ck_assert_msg(ns == r->charged * MS, "row %zu: %.3f", i, (double)ns / MS);
		last = r->ended;
	}
}

START_TEST(gpu_times)
{
	static const struct launch_row rows[] = {
		{ 10, 20, 8, 8, false }, /* honest */
		{ 20, 30, 15, 10, false }, /* no more than there was */
		{ 40, 80, 1, 5, false }, /* others' work took the rest, or it lies */
		{ 100, 140, 30, 30, false }, /* three in the queue; the second seen to have ended late */
		{ 101, 140, 5, 5, false },   { 102, 148, 9, 9, false },
		{ 103, 150, 100, 6, false }, /* what is left of 50 */
		{ 160, 200, 0, 40, true }, /* written over: everything ... */
		{ 210, 220, 1, 10, false }, /* ... and from then on */
		{ 230, 240, 20, 10, false }, { 231, 241, 1, 1, false },
		{ 250, 250, 5, 0, false }, /* a clock that stands still */
	};

	check_times(rows, sizeof(rows) / sizeof(*rows));
}
END_TEST

/* Whatever is said, all that is charged for is time that has gone by, and enough of it. */
START_TEST(gpu_times_lies)
{
	uint64_t at = 1000, seed = 1, charged = 0, busy = 0, end;
	struct gp_gpu_times times = { 0 };

	for (int i = 0; i < 100000; i++) {
		uint64_t took;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		took = seed >> 44;
		if (i % 7 == 0)
			at += 5000;
		if (i % 7 == 0)
			gp_gpu_times_begin(&times, at);
		end = at + took;
		charged += gp_gpu_times_end(&times, at, seed >> (seed & 63), false, end);
		busy += took;
		at = end;
	}
	ck_assert_uint_le(charged, busy);
	ck_assert_uint_ge(charged, busy / (GP_GPU_OTHERS + 1));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sched");
	TCase *tc = tcase_create("virtual clock");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, weights);
	tcase_add_test(tc, extreme_weights);
	tcase_add_test(tc, estimates);
	tcase_add_test(tc, cap);
	tcase_add_test(tc, cap_changes);
	tcase_add_test(tc, newcomer);
	tcase_add_test(tc, idler);
	tcase_add_test(tc, paused);
	tcase_add_test(tc, contexts);
	tcase_add_test(tc, counters);
	tcase_add_test(tc, empty);
	tcase_add_test(tc, gpu_times);
	tcase_add_test(tc, gpu_times_lies);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
