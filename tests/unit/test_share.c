/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_share.c - shares of clients that wait for one job before they send the next, on a virtual clock.
 *
 * How it works: a simulation of the scheduler with a device and clients. The device is a GPU's queue, which takes slices
 * up to two planned slices of time in advance and runs one after the other (device_gpu.c), or a number of processors.
 * A client has `depth` jobs; each is sent again `think` ns after its answer. No real time, and what is chance
 * comes from a fixed seed, so the results are the same on every machine.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "engine/sched.h"

#define US	    1000ull
#define MS	    1000000ull
#define SLICE	    (2 * MS)
#define MAX_DEPTH   4
#define MAX_CLIENTS 8
#define MAX_FLIGHT  64

struct job {
	struct client *client;
	struct gp_sched_entry entry;
	uint64_t at; /* when it is sent; UINT64_MAX: it was */
	uint64_t left; /* ns that have not been handed out */
	uint32_t running;
};

struct client {
	struct gp_sched_tenant *tenant;
	struct gp_sched_queue queue;
	uint64_t length, jitter, think; /* ns; `jitter`: a job may be so much longer */
	uint64_t on, off; /* it sends for `on` ns, then none for `off`; off 0: always */
	uint32_t depth;
	uint64_t served;
	struct job jobs[MAX_DEPTH];
};

struct slice {
	struct job *job;
	struct gp_sched_grant grant;
	uint64_t ns, end; /* end 0: it has not begun */
};

static struct gp_sched sched;
static struct gp_sched_tenant tenants[MAX_CLIENTS];
static struct client clients[MAX_CLIENTS];
static struct slice flight[MAX_FLIGHT];
static uint32_t num_clients, num_tenants, num_flight, processors;
static uint64_t now, began, busy, planned, seed;

static uint64_t chance(uint64_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return below ? (seed >> 33) % below : 0;
}

/* @cpus: 0: a GPU. */
static void start(uint32_t cpus)
{
	memset(tenants, 0, sizeof(tenants));
	memset(clients, 0, sizeof(clients));
	num_clients = num_tenants = num_flight = 0;
	processors = cpus;
	now = began = 1000 * MS;
	busy = planned = 0;
	seed = 1;
	gp_sched_init(&sched, cpus ? cpus : 1);
}

static struct gp_sched_tenant *tenant(uint32_t weight)
{
	struct gp_sched_tenant *t = &tenants[num_tenants++];

	gp_sched_tenant_add(&sched, t, weight, GP_SCHED_NO_CAP, now);
	return t;
}

static struct client *client(struct gp_sched_tenant *t, uint32_t depth, uint64_t length, uint64_t think)
{
	struct client *c = &clients[num_clients++];

	*c = (struct client){ .tenant = t, .length = length, .think = think, .depth = depth };
	gp_sched_queue_init(&c->queue, t);
	for (uint32_t i = 0; i < depth; i++) {
		c->jobs[i] = (struct job){ .client = c, .at = now + i };
		gp_sched_entry_init(&c->jobs[i].entry);
	}
	return c;
}

/* The next moment at which it may send. */
static uint64_t awake(const struct client *c, uint64_t at)
{
	uint64_t phase = c->off ? (at - began) % (c->on + c->off) : 0;

	return c->off && phase >= c->on ? at + c->on + c->off - phase : at;
}

static void set_estimate(struct job *job)
{
	job->entry.estimate = (job->left < SLICE ? job->left : SLICE) + 1;
}

static void send_jobs(void)
{
	for (uint32_t i = 0; i < num_clients; i++) {
		for (uint32_t n = 0; n < clients[i].depth; n++) {
			struct job *job = &clients[i].jobs[n];

			if (job->at > now)
				continue;
			job->at = UINT64_MAX;
			job->left = clients[i].length + chance(clients[i].jitter);
			set_estimate(job);
			gp_sched_enqueue(&sched, &clients[i].queue, &job->entry, false, now);
		}
	}
}

static bool has_room(void)
{
	if (processors)
		return num_flight < processors;
	return !planned || planned < 2 * SLICE;
}

/* Return: when to look again. */
static uint64_t fill(void)
{
	uint64_t wake = UINT64_MAX;

	while (has_room()) {
		struct slice *s = &flight[num_flight];
		struct gp_sched_entry *entry = gp_sched_pick(&sched, now, &s->grant, &wake);

		if (!entry)
			break;
		if (++num_flight == MAX_FLIGHT)
			ck_abort_msg("more in flight than any plan allows");
		s->job = container_of(entry, struct job, entry);
		s->ns = s->job->left < SLICE ? s->job->left : SLICE;
		s->end = 0;
		s->job->left -= s->ns;
		s->job->running++;
		planned += s->grant.estimate;
		if (s->job->left)
			set_estimate(s->job);
		else
			gp_sched_dequeue(&sched, entry, now);
	}
	for (uint32_t i = 0; i < num_flight && i < (processors ? processors : 1); i++)
		if (!flight[i].end)
			flight[i].end = now + flight[i].ns;
	return wake;
}

static void end_slice(uint32_t i)
{
	struct slice s = flight[i];
	struct client *c = s.job->client;

	num_flight--;
	memmove(&flight[i], &flight[i + 1], (num_flight - i) * sizeof(*flight));
	planned -= s.grant.estimate;
	busy += s.ns;
	c->served += s.ns;
	gp_sched_settle(&sched, &s.grant, s.ns, now);
	if (!--s.job->running && !s.job->left)
		s.job->at = awake(c, now + c->think);
}

static void run(uint64_t ns)
{
	uint64_t until = now + ns;

	while (now < until) {
		uint64_t next;

		send_jobs();
		next = fill();
		for (uint32_t i = 0; i < num_flight; i++)
			if (flight[i].end && flight[i].end < next)
				next = flight[i].end;
		for (uint32_t i = 0; i < num_clients; i++)
			for (uint32_t n = 0; n < clients[i].depth; n++)
				if (clients[i].jobs[n].at < next)
					next = clients[i].jobs[n].at;
		if (next <= now) /* not ck_assert(), which writes a file each time */
			ck_abort_msg("nothing is going to happen");
		now = next < until ? next : until;
		for (uint32_t i = 0; i < num_flight;) {
			if (flight[i].end && flight[i].end <= now)
				end_slice(i);
			else
				i++;
		}
	}
}

static double ratio(const struct client *a, const struct client *b)
{
	return (double)a->served / (double)b->served;
}

static void check_ratio(const struct client *a, const struct client *b, double wanted, double permille)
{
	double got = ratio(a, b);

	ck_assert_msg(got > wanted * (1 - permille / 1000) && got < wanted * (1 + permille / 1000),
		      "%.4f instead of %.4f", got, wanted);
}

/* Of the time since start(), of all processors. */
static void check_busy(double least)
{
	double got = (double)busy / (double)(now - began) / (processors ? processors : 1);

	ck_assert_msg(got >= least, "busy %.4f of the time instead of %.4f", got, least);
}

static const uint64_t lengths[] = { 200 * US, MS, 2 * MS, 3 * MS, 10 * MS, 50 * MS };
#define LENGTHS (sizeof(lengths) / sizeof(*lengths))

/* One job at a time each: the device is free only while the heavier one, whose turn it is, sends the next. */
START_TEST(chained)
{
	struct client *a, *b;

	start(0);
	a = client(tenant(300), 1, lengths[_i], lengths[_i] / 20);
	b = client(tenant(100), 1, lengths[_i], lengths[_i] / 20);
	run(5000 * MS);
	check_ratio(a, b, 3, 30);
	check_busy(0.95);
}
END_TEST

/* With equal weights there is always somebody's job, whatever the weights say otherwise: nothing is waited for. */
START_TEST(chained_equal)
{
	struct client *a, *b;

	start(0);
	a = client(tenant(100), 1, lengths[_i], lengths[_i] / 20);
	b = client(tenant(100), 1, lengths[_i], lengths[_i] / 20);
	a->jitter = b->jitter = lengths[_i] / 5;
	run(5000 * MS);
	check_ratio(a, b, 1, 30);
	check_busy(0.99);
}
END_TEST

START_TEST(deep)
{
	struct client *a, *b;

	start(0);
	a = client(tenant(300), 4, lengths[_i], lengths[_i] / 20);
	b = client(tenant(100), 4, lengths[_i], lengths[_i] / 20);
	run(5000 * MS);
	check_ratio(a, b, 3, 20);
	check_busy(0.999);
}
END_TEST

/* One that waits for each job beside one that does not, either way around. */
START_TEST(chained_and_deep)
{
	for (uint32_t deeper = 0; deeper < 2; deeper++) {
		struct client *a, *b;

		start(0);
		a = client(tenant(300), deeper ? 4 : 1, lengths[_i], lengths[_i] / 20);
		b = client(tenant(100), deeper ? 1 : 4, lengths[_i], lengths[_i] / 20);
		run(5000 * MS);
		check_ratio(a, b, 3, 30);
		check_busy(0.95);
	}
}
END_TEST

START_TEST(unlike_lengths)
{
	static const struct {
		uint64_t a, b;
		uint32_t weight;
	} rows[] = {
		{ 5 * MS, 500 * US, 100 }, { 500 * US, 5 * MS, 100 }, { 5 * MS, 500 * US, 300 },
		{ 500 * US, 5 * MS, 300 }, { 40 * MS, MS, 100 },      { MS, 40 * MS, 300 },
	};

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct client *a, *b;

		start(0);
		a = client(tenant(rows[i].weight), 1, rows[i].a, 20 * US);
		b = client(tenant(100), 1, rows[i].b, 20 * US);
		run(20000 * MS);
		check_ratio(a, b, rows[i].weight / 100.0, 50);
		check_busy(0.94);
	}
}
END_TEST

START_TEST(three)
{
	struct client *a, *b, *c;

	start(0);
	a = client(tenant(400), 1, MS, 30 * US);
	b = client(tenant(200), 1, 2 * MS, 40 * US);
	c = client(tenant(100), 1, 3 * MS, 50 * US);
	run(20000 * MS);
	check_ratio(a, b, 2, 50);
	check_ratio(b, c, 2, 50);
	check_busy(0.95);
}
END_TEST

START_TEST(contexts)
{
	struct gp_sched_tenant *t;
	struct client *a, *b, *c;

	start(0);
	t = tenant(100);
	a = client(t, 1, 5 * MS, 20 * US);
	b = client(t, 1, 500 * US, 20 * US);
	run(10000 * MS);
	check_ratio(a, b, 1, 50);
	check_busy(0.95);
	/* While one of its own is waited for, others may go on. */
	c = client(tenant(100), 4, MS, 0);
	a->served = b->served = 0;
	run(10000 * MS);
	ck_assert_uint_gt(a->served + b->served, 48 * c->served / 50);
	ck_assert_uint_lt(a->served + b->served, 52 * c->served / 50);
}
END_TEST

/*
 * A guest's operations on maps are one more context (engine/map_call.h): one slice of whatever waits, which is between one
 * operation and 64, and the next when those have been answered. Beside jobs they get their guest's weight and no more, and
 * less where those slices are shorter than the pause behind them.
 */
START_TEST(map_operations)
{
	static const uint32_t weights[] = { 20, 100, 300 };

	for (uint32_t i = 0; i < sizeof(weights) / sizeof(*weights); i++) {
		struct gp_sched_tenant *t;
		struct client *maps, *jobs, *own;

		start(0);
		t = tenant(weights[i]);
		maps = client(t, 1, 20 * US, 20 * US);
		maps->jitter = 63 * 20 * US;
		jobs = client(tenant(100), 4, 5 * MS, 0);
		run(10000 * MS);
		ck_assert_msg(ratio(maps, jobs) < 1.03 * weights[i] / 100, "%.4f", ratio(maps, jobs));
		ck_assert_msg(ratio(maps, jobs) > 0.55 * weights[i] / 100, "%.4f", ratio(maps, jobs));
		check_busy(0.9);
		/* Beside jobs of its own: half of what the guest has. */
		own = client(t, 2, 3 * MS, 0);
		maps->served = jobs->served = 0;
		run(10000 * MS);
		ck_assert_uint_gt((maps->served + own->served) * 100, jobs->served * weights[i] * 94 / 100);
		ck_assert_uint_lt((maps->served + own->served) * 100, jobs->served * weights[i] * 106 / 100);
		ck_assert_msg(ratio(maps, own) < 1.05 && ratio(maps, own) > 0.8, "%.4f", ratio(maps, own));
	}
}
END_TEST

/* Whoever was away gets its share from when it is back, and nothing for the time before. */
START_TEST(idle_periods)
{
	for (uint32_t depth = 1; depth <= 4; depth += 3) {
		struct client *a, *b;
		uint64_t from;

		start(0);
		a = client(tenant(300), depth, MS, 20 * US);
		b = client(tenant(100), depth, MS, 20 * US);
		a->on = 500 * MS;
		a->off = 500 * MS;
		for (int i = 0; i < 10; i++) {
			/* As many slices in advance as there are, and one, may be in the way. */
			from = now;
			a->served = b->served = 0;
			run(40 * MS);
			ck_assert_uint_gt(a->served, 25 * MS);
			ck_assert_uint_lt(a->served, 33 * MS);
			run(from + 500 * MS - now);
			check_ratio(a, b, 3, 30);
			b->served = 0;
			run(500 * MS);
			ck_assert_uint_gt(b->served, (depth == 1 ? 480 : 495) * MS);
		}
	}
}
END_TEST

/*
 * Whatever one does with the lengths of its jobs and of its pauses, it gets no more than its share, and the other, who
 * always has work, at least 8/9 of its own.
 */
START_TEST(nothing_to_win)
{
	static const uint64_t job_lengths[] = { US, 50 * US, MS, 2 * MS, 20 * MS, 60 * MS };
	static const double pauses[] = { 0, 0.05, 0.12, 0.3, 0.45, 0.499, 0.501, 0.8, 2 };
	struct client *a, *b;

	for (uint32_t i = 0; i < sizeof(job_lengths) / sizeof(*job_lengths); i++) {
		for (uint32_t n = 0; n < sizeof(pauses) / sizeof(*pauses); n++) {
			double all;

			start(0);
			a = client(tenant(100), 1, job_lengths[i],
				   (uint64_t)((double)job_lengths[i] * pauses[n]));
			b = client(tenant(100), 4, 2 * MS, 0);
			run(job_lengths[i] < MS ? 100 * MS : 3000 * MS);
			all = (double)(now - began);
			ck_assert_msg((double)a->served < 0.52 * all, "%u %u: %.3f", i, n,
				      (double)a->served / all);
			ck_assert_msg((double)b->served > 0.5 * 8 / 9 * all, "%u %u: %.3f", i, n,
				      (double)b->served / all);
		}
	}
	/* In time now and then, so that it is believed, and not in time else. */
	start(0);
	a = client(tenant(100), 1, MS, 400 * US);
	a->on = 5 * MS;
	a->off = 600 * US;
	b = client(tenant(100), 4, 2 * MS, 0);
	run(3000 * MS);
	ck_assert_uint_lt(a->served, 52 * (now - began) / 100);
	ck_assert_uint_gt(b->served, 8 * (now - began) / 18);
}
END_TEST

/* Nobody is waited for who would find a processor free. */
START_TEST(cpus)
{
	struct client *a, *b;

	start(2);
	a = client(tenant(300), 1, MS, 100 * US);
	b = client(tenant(100), 1, MS, 100 * US);
	run(1000 * MS);
	check_ratio(a, b, 1, 10);
	check_busy(0.9);
	/* What it could not have used is no credit: the other is not shut out when it has more to do. */
	a->depth = 2;
	a->jobs[1] = (struct job){ .client = a, .at = now };
	gp_sched_entry_init(&a->jobs[1].entry);
	a->served = b->served = 0;
	run(50 * MS);
	ck_assert_uint_gt(b->served, 15 * MS);

	/* One processor is as a GPU. */
	start(1);
	a = client(tenant(300), 1, MS, 20 * US);
	b = client(tenant(100), 1, MS, 20 * US);
	run(1000 * MS);
	check_ratio(a, b, 3, 30);
}
END_TEST

/* Capped, paused or gone, nobody is waited for. */
START_TEST(not_expected)
{
	struct client *a, *b;

	start(0);
	a = client(tenant(300), 1, MS, 20 * US);
	b = client(tenant(100), 4, MS, 20 * US);
	gp_sched_tenant_quota(&sched, a->tenant, 300, 1000, now);
	run(2000 * MS);
	ck_assert_uint_lt(a->served, 230 * MS);
	check_busy(0.98);
	gp_sched_tenant_quota(&sched, a->tenant, 300, GP_SCHED_NO_CAP, now);
	gp_sched_tenant_pause(&sched, a->tenant, true, now);
	b->served = 0;
	run(100 * MS);
	ck_assert_uint_gt(b->served, 97 * MS);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("share");
	TCase *tc = tcase_create("virtual clock");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, chained, 0, LENGTHS);
	tcase_add_loop_test(tc, chained_equal, 0, LENGTHS);
	tcase_add_loop_test(tc, deep, 0, LENGTHS);
	tcase_add_loop_test(tc, chained_and_deep, 0, LENGTHS);
	tcase_add_test(tc, unlike_lengths);
	tcase_add_test(tc, three);
	tcase_add_test(tc, contexts);
	tcase_add_test(tc, map_operations);
	tcase_add_test(tc, idle_periods);
	tcase_add_test(tc, nothing_to_win);
	tcase_add_test(tc, cpus);
	tcase_add_test(tc, not_expected);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
