/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sched.c - hierarchical start-time fair queueing on measured device time, with a hard cap.
 *
 * How it works: every tenant carries a virtual start tag. The runnable tenant with the smallest tag is
 * picked; its tag then grows by the slice's time divided by its weight. Since a slice's time is known
 * only when it has ended and several slices run at once, an estimate is charged when it is picked
 * and corrected when it is settled. Inside a tenant its queues (contexts) share in the same way, with equal
 * weights. Both are flows.
 *
 * The device's virtual time is the tag of the tenant picked last. A tenant that becomes runnable
 * (after idling, a pause, or being throttled) starts at the device's virtual time if its own tag lies
 * behind: idling earns no credit. Its tag is at most one slice per server ahead, so a tenant that
 * used an idle device is not punished for it either.
 *
 * Those who come back: a flow with one job at a time has nothing queued whenever a slice of it ends, for as long as
 * its owner needs to see that and to send the next. Taking the next best then would make all such
 * flows take turns, whatever their weights. So:
 *  - Who is back in time keeps its tag: what it had not had yet is still due. In time is what it usually needs, but at most
 *    half of what it had of the device before it went, and MAX_WAIT_NS. What is due is at most one slice of somebody else's.
 *  - Nobody gets further ahead of it than by one slice while it runs or may still be back in time: rather the device is
 *    kept free. Up to one slice the others fill the gaps, so several flows that all have one job at a time still keep
 *    the device's queue filled. The device is kept free only for one that was in time when it was last away, and only
 *    where it would not find a server free anyway.
 *  - Of the time for which the device was kept free for it, what goes beyond an eighth of what it had before is charged
 *    to it as if it had used it. So whoever plays with this pays with its own share: the others get at least 8/9 of
 *    theirs.
 *
 * Hard cap, after cpu.max: each period a tenant gets cap/10,000 of all servers' time. What it used too much (the
 * last slice of a period) is debt that the next periods pay, so that the cap holds on average however long a
 * slice is. What it did not use is kept for BURST_PERIODS, after cpu.max.burst: a host that is late in giving us
 * processors must not make the cap lower than it says.
 *
 * Tags are compared by the sign of their difference, so they may wrap around.
 *
 * Invariants: a queue is in its tenant's list of queues exactly while it has entries, and then its flow and its tenant's are
 * ready; `entries` counts all queued entries. Threads: any, under the caller's lock.
 */
#include "sched.h"

/* Virtual time per nanosecond at weight 1; a weight of 10,000 still counts single nanoseconds. */
#define WEIGHT_SCALE  10000ull

#define BURST_PERIODS 2 /* budget that may be saved up, beside the current period's */

/* For a flow that may be back soon; the less of those that never take long. */
#define MAX_WAIT_NS 20000000ull
#define MIN_WAIT_NS 200000ull

enum tenant_state {
	IDLE,  /* nothing to run, or a slice of it runs */
	WAITING, /* runnable while others run */
	THROTTLED, /* runnable but for the cap */
};

static bool before(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0;
}

static bool backlogged(const struct gp_sched_tenant *tenant)
{
	return !tenant->paused && tenant->flow.ready;
}

static uint64_t scaled(uint64_t ns, uint32_t weight)
{
	return ns * WEIGHT_SCALE / weight;
}

/* ------------------------------------------------------------------- who comes back */

/* When a flow that is away is not waited for any more. */
static uint64_t last_moment(const struct gp_sched_flow *flow)
{
	uint64_t wait = 4 * flow->think;

	if (wait < MIN_WAIT_NS)
		wait = MIN_WAIT_NS;
	if (wait > MAX_WAIT_NS)
		wait = MAX_WAIT_NS;
	return flow->left + (wait < flow->visit / 2 ? wait : flow->visit / 2);
}

/* It has nothing queued, and it is likely to have soon. */
static bool expected(const struct gp_sched_flow *flow, uint64_t now)
{
	return !flow->ready && flow->prompt && (flow->running || now < last_moment(flow));
}

/* The device is not kept free any more, or for the time up to @now. */
static void end_keeping(struct gp_sched *sched, uint64_t now)
{
	struct gp_sched_flow *flow = sched->kept_for;

	if (!flow)
		return;
	if (now > last_moment(flow))
		now = last_moment(flow);
	if (now > sched->kept)
		flow->kept_ns += now - sched->kept;
	sched->kept_for = NULL;
}

/*
 * comes_back() - it has entries again.
 * @vtime: of its level; @due: how far its tag may lie behind that where it is in time.
 * Return: ns that it is to be charged, because the device was kept free for it.
 */
static uint64_t comes_back(struct gp_sched *sched, struct gp_sched_flow *flow, uint64_t vtime, uint64_t due,
			   uint64_t now)
{
	uint64_t ns = 0, had = flow->visit;

	if (sched->kept_for == flow)
		end_keeping(sched, now);
	flow->ready = true;
	if (flow->running) {
		flow->prompt = true;
	} else if (now != flow->left) { /* at the same moment: its job goes on */
		flow->prompt = now < last_moment(flow);
		flow->think -= flow->think / 8;
		if (now - flow->left < MAX_WAIT_NS && now - flow->left > flow->think)
			flow->think = now - flow->left;
		if (flow->kept_ns > had / 8)
			ns = flow->kept_ns - had / 8;
		flow->kept_ns = 0;
		flow->visit = 0;
		if (!flow->prompt)
			due = 0;
	}
	if (before(flow->start, vtime - due))
		flow->start = vtime - due;
	return ns;
}

static void goes(struct gp_sched_flow *flow, uint64_t now)
{
	flow->ready = false;
	if (!flow->running)
		flow->left = now;
}

static void settled(struct gp_sched_flow *flow, uint64_t ns, uint64_t now)
{
	flow->running--;
	flow->visit += ns;
	if (!flow->ready && !flow->running)
		flow->left = now;
}

/* Why nobody was picked. */
struct waiting {
	uint64_t wake;
	struct gp_sched_flow *flow; /* that is away and may be back soon; or NULL */
};

/*
 * is_due() - does @flow come before @other, which may be ahead by @slack, though it has nothing to run now?
 * @w: in and out.
 */
static bool is_due(const struct gp_sched *sched, struct gp_sched_flow *flow,
		   const struct gp_sched_flow *other, uint64_t slack, uint64_t now, struct waiting *w)
{
	if (!expected(flow, now) || !before(flow->start + slack, other->start))
		return false;
	/* With @other running it would find a free server. */
	if (sched->running - flow->running + 1 < sched->servers)
		return false;
	if (!flow->running) {
		w->flow = flow;
		if (last_moment(flow) < w->wake)
			w->wake = last_moment(flow);
	}
	return true;
}

/* How far behind a tenant's tag may be that comes back in time: one slice of the lightest of the others that are there. */
static uint64_t due_to(const struct gp_sched *sched, const struct gp_sched_tenant *tenant, uint64_t now)
{
	struct list *pos;
	uint64_t most = 0;

	list_for_each(pos, &sched->tenants)
	{
		const struct gp_sched_tenant *other = container_of(pos, struct gp_sched_tenant, link);
		uint64_t slice = scaled(sched->quantum, other->weight);

		if (other != tenant && slice > most &&
		    (backlogged(other) || other->flow.running || expected(&other->flow, now)))
			most = slice;
	}
	return most;
}

/* ---------------------------------------------------------------------- tenants */

static int64_t quota_of(const struct gp_sched *sched, const struct gp_sched_tenant *tenant)
{
	return (int64_t)(GP_SCHED_PERIOD_NS * sched->servers / GP_SCHED_NO_CAP * tenant->cap);
}

/* Adds the time since the last change to the counter of the state that ends, and enters the next. */
static void set_state(struct gp_sched_tenant *tenant, uint64_t now)
{
	uint64_t ns = now > tenant->since ? now - tenant->since : 0;

	if (tenant->state == WAITING)
		tenant->waited_ns += ns;
	else if (tenant->state == THROTTLED)
		tenant->throttled_ns += ns;
	tenant->since = now;
	if (!backlogged(tenant))
		tenant->state = IDLE;
	else if (tenant->throttled)
		tenant->state = THROTTLED;
	else
		tenant->state = tenant->flow.running ? IDLE : WAITING;
}

/* No credit for the time in which it was not runnable. */
static void catch_up(struct gp_sched *sched, struct gp_sched_tenant *tenant)
{
	if (before(tenant->flow.start, sched->vtime))
		tenant->flow.start = sched->vtime;
}

/* Pays in the budget of the periods that have begun since the last call. */
static void refill(struct gp_sched *sched, struct gp_sched_tenant *tenant, uint64_t now)
{
	int64_t quota = quota_of(sched, tenant), most = quota * (1 + BURST_PERIODS);
	uint64_t periods;

	if (tenant->cap >= GP_SCHED_NO_CAP || now < tenant->period_end)
		return;
	periods = (now - tenant->period_end) / GP_SCHED_PERIOD_NS + 1;
	tenant->period_end += periods * GP_SCHED_PERIOD_NS;
	if (tenant->budget >= most || periods > (uint64_t)(most - tenant->budget) / (uint64_t)quota)
		tenant->budget = most;
	else
		tenant->budget += (int64_t)periods * quota;
	if (tenant->throttled && tenant->budget > 0) {
		tenant->throttled = false;
		catch_up(sched, tenant);
		set_state(tenant, now);
	}
}

static void check_budget(struct gp_sched_tenant *tenant, uint64_t now)
{
	if (tenant->cap >= GP_SCHED_NO_CAP || tenant->throttled || tenant->budget > 0)
		return;
	tenant->throttled = true;
	set_state(tenant, now);
}

void gp_sched_init(struct gp_sched *sched, uint32_t servers)
{
	*sched = (struct gp_sched){ .servers = servers ? servers : 1 };
	list_init(&sched->tenants);
}

void gp_sched_tenant_add(struct gp_sched *sched, struct gp_sched_tenant *tenant, uint32_t weight,
			 uint32_t cap, uint64_t now)
{
	*tenant = (struct gp_sched_tenant){
		.weight = weight,
		.cap = cap,
		.flow.start = sched->vtime,
		.since = now,
		.period_end = now + GP_SCHED_PERIOD_NS,
	};
	tenant->budget = quota_of(sched, tenant);
	list_init(&tenant->queues);
	list_init(&tenant->away);
	list_add_tail(&sched->tenants, &tenant->link);
}

void gp_sched_tenant_remove(struct gp_sched *sched, struct gp_sched_tenant *tenant)
{
	if (sched->kept_for == &tenant->flow)
		sched->kept_for = NULL;
	list_del(&tenant->link);
}

void gp_sched_tenant_quota(struct gp_sched *sched, struct gp_sched_tenant *tenant, uint32_t weight,
			   uint32_t cap, uint64_t now)
{
	int64_t quota;

	refill(sched, tenant, now);
	if (tenant->cap >= GP_SCHED_NO_CAP && cap < GP_SCHED_NO_CAP) {
		/* Its budget was not kept while there was no cap: a fresh period. */
		tenant->cap = cap;
		tenant->budget = quota_of(sched, tenant);
		tenant->period_end = now + GP_SCHED_PERIOD_NS;
	}
	tenant->weight = weight;
	tenant->cap = cap;
	quota = quota_of(sched, tenant);
	if (tenant->budget > quota * (1 + BURST_PERIODS))
		tenant->budget = quota * (1 + BURST_PERIODS);
	if (tenant->throttled && cap >= GP_SCHED_NO_CAP) {
		tenant->throttled = false;
		catch_up(sched, tenant);
		set_state(tenant, now);
	}
}

void gp_sched_tenant_pause(struct gp_sched *sched, struct gp_sched_tenant *tenant, bool paused, uint64_t now)
{
	if (tenant->paused == paused)
		return;
	tenant->paused = paused;
	if (!paused)
		catch_up(sched, tenant);
	set_state(tenant, now);
}

void gp_sched_tenant_update(struct gp_sched *sched, struct gp_sched_tenant *tenant, uint64_t now)
{
	(void)sched;
	set_state(tenant, now);
}

void gp_sched_queue_init(struct gp_sched_queue *queue, struct gp_sched_tenant *tenant)
{
	list_init(&queue->link);
	list_init(&queue->entries);
	queue->tenant = tenant;
	queue->flow = (struct gp_sched_flow){ .start = tenant->vtime };
}

void gp_sched_queue_remove(struct gp_sched *sched, struct gp_sched_queue *queue)
{
	if (sched->kept_for == &queue->flow)
		sched->kept_for = NULL;
	list_del(&queue->link);
}

void gp_sched_entry_init(struct gp_sched_entry *entry)
{
	list_init(&entry->link);
	entry->queue = NULL;
	entry->estimate = 0;
	entry->kind = 0;
}

/* A queue that had no entries has some. */
static void queue_comes_back(struct gp_sched *sched, struct gp_sched_queue *queue, uint64_t now)
{
	struct gp_sched_tenant *tenant = queue->tenant;
	uint64_t ns = comes_back(sched, &queue->flow, tenant->vtime, sched->quantum, now), due;

	queue->flow.start += ns;
	if (list_empty(&tenant->queues)) {
		due = due_to(sched, tenant, now);
		ns += comes_back(sched, &tenant->flow, sched->vtime, due, now);
	}
	tenant->flow.start += scaled(ns, tenant->weight);
	list_del(&queue->link);
	list_add_tail(&tenant->queues, &queue->link);
}

void gp_sched_enqueue(struct gp_sched *sched, struct gp_sched_queue *queue, struct gp_sched_entry *entry,
		      bool front, uint64_t now)
{
	entry->queue = queue;
	sched->entries++;
	if (list_empty(&queue->entries))
		queue_comes_back(sched, queue, now);
	if (front)
		list_add(&queue->entries, &entry->link);
	else
		list_add_tail(&queue->entries, &entry->link);
	if (queue->tenant->state == IDLE)
		set_state(queue->tenant, now);
}

void gp_sched_dequeue(struct gp_sched *sched, struct gp_sched_entry *entry, uint64_t now)
{
	struct gp_sched_queue *queue = entry->queue;
	struct gp_sched_tenant *tenant;

	if (list_empty(&entry->link))
		return;
	sched->entries--;
	list_del(&entry->link);
	if (!list_empty(&queue->entries))
		return;
	tenant = queue->tenant;
	goes(&queue->flow, now);
	list_del(&queue->link);
	list_add_tail(&tenant->away, &queue->link);
	if (!list_empty(&tenant->queues))
		return;
	goes(&tenant->flow, now);
	set_state(tenant, now);
}

/* Return: the queue of @tenant that is next, or NULL while one is waited for. It has some. */
static struct gp_sched_queue *pick_queue(const struct gp_sched *sched, struct gp_sched_tenant *tenant,
					 uint64_t now, struct waiting *w)
{
	struct gp_sched_queue *best = NULL;
	struct list *pos, *next;

	list_for_each(pos, &tenant->queues)
	{
		struct gp_sched_queue *queue = container_of(pos, struct gp_sched_queue, link);

		if (!best || before(queue->flow.start, best->flow.start))
			best = queue;
	}
	list_for_each_safe(pos, next, &tenant->away)
	{
		struct gp_sched_queue *queue = container_of(pos, struct gp_sched_queue, link);

		if (is_due(sched, &queue->flow, &best->flow, sched->quantum, now, w))
			return NULL;
		if (!queue->flow.running && !expected(&queue->flow, now))
			list_del(&queue->link);
	}
	return best;
}

/* Is it some other tenant's turn, rather than @best's, though that has nothing to run now? */
static bool others_are_due(const struct gp_sched *sched, const struct gp_sched_tenant *best, uint64_t now,
			   struct waiting *w)
{
	uint64_t slack = scaled(sched->quantum, best->weight);
	struct list *pos;

	list_for_each(pos, &sched->tenants)
	{
		struct gp_sched_tenant *tenant = container_of(pos, struct gp_sched_tenant, link);

		/* It waits for a queue of its own, and then has a slice at once. */
		if (tenant->passed && before(tenant->flow.start + slack, best->flow.start))
			return true;
		if (tenant->paused || tenant->throttled ||
		    (tenant->cap < GP_SCHED_NO_CAP && tenant->budget <= 0))
			continue;
		if (is_due(sched, &tenant->flow, &best->flow, slack, now, w))
			return true;
	}
	return false;
}

/* The first of those that may run and were not passed over. */
static struct gp_sched_tenant *pick_tenant(struct gp_sched *sched, uint64_t now, struct waiting *w)
{
	struct gp_sched_tenant *best = NULL;
	struct list *pos;

	list_for_each(pos, &sched->tenants)
	{
		struct gp_sched_tenant *tenant = container_of(pos, struct gp_sched_tenant, link);

		if (!backlogged(tenant) || tenant->passed)
			continue;
		refill(sched, tenant, now);
		check_budget(tenant, now);
		if (tenant->throttled) {
			if (tenant->period_end < w->wake)
				w->wake = tenant->period_end;
		} else if (!best || before(tenant->flow.start, best->flow.start)) {
			best = tenant;
		}
	}
	return best;
}

/* Return: whose turn it is; NULL: nobody's now. */
static struct gp_sched_queue *pick_next(struct gp_sched *sched, uint64_t now, struct waiting *w)
{
	struct gp_sched_tenant *tenant;
	struct gp_sched_queue *queue;
	struct list *pos;

	list_for_each(pos, &sched->tenants) container_of(pos, struct gp_sched_tenant, link)->passed = false;
	while ((tenant = pick_tenant(sched, now, w))) {
		if (others_are_due(sched, tenant, now, w))
			return NULL;
		queue = pick_queue(sched, tenant, now, w);
		if (queue)
			return queue;
		tenant->passed = true;
	}
	return NULL;
}

static void grant_slice(struct gp_sched *sched, struct gp_sched_queue *queue, uint64_t estimate, uint64_t now,
			struct gp_sched_grant *grant)
{
	struct gp_sched_tenant *tenant = queue->tenant;

	if (before(sched->vtime, tenant->flow.start))
		sched->vtime = tenant->flow.start;
	if (before(tenant->vtime, queue->flow.start))
		tenant->vtime = queue->flow.start;
	if (sched->quantum < estimate)
		sched->quantum = estimate;
	*grant = (struct gp_sched_grant){
		.queue = queue,
		.estimate = estimate,
		.charged = scaled(estimate, tenant->weight),
	};
	tenant->flow.start += grant->charged;
	queue->flow.start += estimate;
	if (tenant->cap < GP_SCHED_NO_CAP)
		tenant->budget -= (int64_t)estimate;
	sched->running++;
	tenant->flow.running++;
	queue->flow.running++;
	set_state(tenant, now);
}

struct gp_sched_entry *gp_sched_pick(struct gp_sched *sched, uint64_t now, struct gp_sched_grant *grant,
				     uint64_t *wake)
{
	struct waiting w = { .wake = UINT64_MAX };
	struct gp_sched_entry *entry;
	struct gp_sched_queue *queue;

	*wake = UINT64_MAX;
	if (!sched->entries)
		return NULL;
	end_keeping(sched, now);
	queue = pick_next(sched, now, &w);
	if (queue) {
		entry = container_of(queue->entries.next, struct gp_sched_entry, link);
		grant_slice(sched, queue, entry->estimate, now, grant);
		return entry;
	}
	if (w.flow && sched->running < sched->servers) {
		sched->kept_for = w.flow;
		sched->kept = now;
	}
	*wake = w.wake;
	return NULL;
}

void gp_sched_settle(struct gp_sched *sched, const struct gp_sched_grant *grant, uint64_t ns, uint64_t now)
{
	struct gp_sched_queue *queue = grant->queue;
	struct gp_sched_tenant *tenant = queue->tenant;

	sched->running--;
	queue->flow.start += ns - grant->estimate;
	settled(&queue->flow, ns, now);
	tenant->flow.start += scaled(ns, tenant->weight) - grant->charged;
	settled(&tenant->flow, ns, now);
	tenant->device_ns += ns;
	if (tenant->cap < GP_SCHED_NO_CAP) {
		tenant->budget += (int64_t)grant->estimate - (int64_t)ns;
		refill(sched, tenant, now);
	}
	set_state(tenant, now);
}
