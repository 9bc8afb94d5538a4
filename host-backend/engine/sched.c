/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sched.c - hierarchical start-time fair queueing on measured device time, with a hard cap.
 *
 * How it works: every tenant carries a virtual start tag. The runnable tenant with the smallest tag is
 * picked; its tag then grows by the slice's time divided by its weight. Since a slice's time is known
 * only when it has ended and several slices run at once, an estimate is charged when it is picked
 * and corrected when it is settled. Inside a tenant its queues (contexts) share in the same way, with equal
 * weights.
 *
 * The device's virtual time is the tag of the tenant picked last. A tenant that becomes runnable
 * (after idling, a pause, or being throttled) starts at the device's virtual time if its own tag lies
 * behind: idling earns no credit. Its tag is at most one slice per server ahead, so a tenant that
 * used an idle device is not punished for it either.
 *
 * Hard cap, after cpu.max: each period a tenant gets cap/10,000 of all servers' time. What it used too much (the
 * last slice of a period) is debt that the next periods pay, so that the cap holds on average however long a
 * slice is. What it did not use is kept for BURST_PERIODS, after cpu.max.burst: a host that is late in giving us
 * processors must not make the cap lower than it says.
 *
 * Tags are compared by the sign of their difference, so they may wrap around.
 *
 * Invariants: a queue is in its tenant's list exactly while it has entries; `entries` counts all queued
 * entries. Threads: any, under the caller's lock.
 */
#include "sched.h"

/* Virtual time per nanosecond at weight 1; a weight of 10,000 still counts single nanoseconds. */
#define WEIGHT_SCALE  10000ull

#define BURST_PERIODS 2 /* budget that may be saved up, beside the current period's */

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
	return !tenant->paused && !list_empty(&tenant->queues);
}

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
		tenant->state = tenant->running ? IDLE : WAITING;
}

/* No credit for the time in which it was not runnable. */
static void catch_up(struct gp_sched *sched, struct gp_sched_tenant *tenant)
{
	if (before(tenant->start, sched->vtime))
		tenant->start = sched->vtime;
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
	sched->vtime = 0;
	sched->servers = servers ? servers : 1;
	sched->entries = 0;
	list_init(&sched->tenants);
}

void gp_sched_tenant_add(struct gp_sched *sched, struct gp_sched_tenant *tenant, uint32_t weight,
			 uint32_t cap, uint64_t now)
{
	*tenant = (struct gp_sched_tenant){
		.weight = weight,
		.cap = cap,
		.start = sched->vtime,
		.since = now,
		.period_end = now + GP_SCHED_PERIOD_NS,
	};
	tenant->budget = quota_of(sched, tenant);
	list_init(&tenant->queues);
	list_add_tail(&sched->tenants, &tenant->link);
}

void gp_sched_tenant_remove(struct gp_sched *sched, struct gp_sched_tenant *tenant)
{
	(void)sched;
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
	queue->start = tenant->vtime;
}

void gp_sched_entry_init(struct gp_sched_entry *entry)
{
	list_init(&entry->link);
	entry->queue = NULL;
	entry->estimate = 0;
}

void gp_sched_enqueue(struct gp_sched *sched, struct gp_sched_queue *queue, struct gp_sched_entry *entry,
		      bool front, uint64_t now)
{
	struct gp_sched_tenant *tenant = queue->tenant;

	entry->queue = queue;
	sched->entries++;
	if (list_empty(&queue->entries)) {
		if (before(queue->start, tenant->vtime))
			queue->start = tenant->vtime;
		if (list_empty(&tenant->queues))
			catch_up(sched, tenant);
		list_add_tail(&tenant->queues, &queue->link);
	}
	if (front)
		list_add(&queue->entries, &entry->link);
	else
		list_add_tail(&queue->entries, &entry->link);
	if (tenant->state == IDLE)
		set_state(tenant, now);
}

void gp_sched_dequeue(struct gp_sched *sched, struct gp_sched_entry *entry, uint64_t now)
{
	struct gp_sched_queue *queue = entry->queue;

	if (list_empty(&entry->link))
		return;
	sched->entries--;
	list_del(&entry->link);
	if (!list_empty(&queue->entries))
		return;
	list_del(&queue->link);
	if (list_empty(&queue->tenant->queues))
		set_state(queue->tenant, now);
}

static struct gp_sched_queue *pick_queue(struct gp_sched_tenant *tenant)
{
	struct gp_sched_queue *best = NULL;
	struct list *pos;

	list_for_each(pos, &tenant->queues)
	{
		struct gp_sched_queue *queue = container_of(pos, struct gp_sched_queue, link);

		if (!best || before(queue->start, best->start))
			best = queue;
	}
	return best;
}

struct gp_sched_entry *gp_sched_pick(struct gp_sched *sched, uint64_t now, struct gp_sched_grant *grant,
				     uint64_t *wake)
{
	struct gp_sched_tenant *best = NULL;
	struct gp_sched_entry *entry;
	struct gp_sched_queue *queue;
	struct list *pos;

	*wake = UINT64_MAX;
	if (!sched->entries)
		return NULL;
	list_for_each(pos, &sched->tenants)
	{
		struct gp_sched_tenant *tenant = container_of(pos, struct gp_sched_tenant, link);

		if (!backlogged(tenant))
			continue;
		refill(sched, tenant, now);
		check_budget(tenant, now);
		if (tenant->throttled) {
			if (tenant->period_end < *wake)
				*wake = tenant->period_end;
		} else if (!best || before(tenant->start, best->start)) {
			best = tenant;
		}
	}
	if (!best)
		return NULL;

	queue = pick_queue(best);
	entry = container_of(queue->entries.next, struct gp_sched_entry, link);
	if (before(sched->vtime, best->start))
		sched->vtime = best->start;
	if (before(best->vtime, queue->start))
		best->vtime = queue->start;
	*grant = (struct gp_sched_grant){
		.queue = queue,
		.estimate = entry->estimate,
		.charged = entry->estimate * WEIGHT_SCALE / best->weight,
	};
	best->start += grant->charged;
	queue->start += entry->estimate;
	if (best->cap < GP_SCHED_NO_CAP)
		best->budget -= (int64_t)entry->estimate;
	best->running++;
	set_state(best, now);
	return entry;
}

void gp_sched_settle(struct gp_sched *sched, const struct gp_sched_grant *grant, uint64_t ns, uint64_t now)
{
	struct gp_sched_queue *queue = grant->queue;
	struct gp_sched_tenant *tenant = queue->tenant;

	queue->start += ns - grant->estimate;
	tenant->start += ns * WEIGHT_SCALE / tenant->weight - grant->charged;
	tenant->device_ns += ns;
	if (tenant->cap < GP_SCHED_NO_CAP) {
		tenant->budget += (int64_t)grant->estimate - (int64_t)ns;
		refill(sched, tenant, now);
	}
	tenant->running--;
	set_state(tenant, now);
}

void gp_sched_charge(struct gp_sched *sched, struct gp_sched_tenant *tenant, uint64_t ns, uint64_t now)
{
	/* One that was idle has no old credit to pay with. */
	catch_up(sched, tenant);
	tenant->start += ns * WEIGHT_SCALE / tenant->weight;
	tenant->device_ns += ns;
	if (tenant->cap < GP_SCHED_NO_CAP) {
		tenant->budget -= (int64_t)ns;
		refill(sched, tenant, now);
	}
}
