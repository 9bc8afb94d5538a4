/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sched.h - who runs next on a device.
 *
 * The caller owns all structures and one lock around every call; the scheduler owns neither threads
 * nor a clock: `now` is passed in (nanoseconds, monotonic), so that tests run on a virtual one.
 * Tenants are sessions; queues are contexts of a session, and on a GPU one for its operations on maps; entries are jobs
 * that have work to hand out, and what waits of such operations.
 */
#ifndef GPGPU_SCHED_H
#define GPGPU_SCHED_H

#include <stdbool.h>
#include <stdint.h>
#include "list.h"

#define GP_SCHED_PERIOD_NS 20000000ull /* of the hard cap */
#define GP_SCHED_NO_CAP	   10000u

/* One of those that share: a tenant of the device, a queue of its tenant. */
struct gp_sched_flow {
	uint64_t start; /* virtual time at which its next slice starts */
	uint32_t running; /* slices that were picked and not settled */
	bool ready; /* it has entries */
	bool prompt; /* when it was last away, it was back soon */
	uint64_t visit; /* ns of the device that it has had since it was last back */
	uint64_t left; /* away: when the last of its slices was settled */
	uint64_t kept_ns; /* away: for how long the device was kept free for it */
	uint64_t think; /* ns: how long it usually is away, rather more */
};

struct gp_sched {
	uint64_t vtime; /* start tag of the tenant that was picked last */
	uint64_t quantum; /* ns: the longest slice that was planned so far */
	struct gp_sched_flow *kept_for; /* the device is kept free for it, since `kept`; or NULL */
	uint64_t kept;
	uint32_t servers; /* slices that can run at the same time */
	uint32_t running; /* slices that were picked and not settled: one after the other where there are more of them */
	uint32_t entries; /* in all queues, of any state */
	struct list tenants;
};

struct gp_sched_tenant {
	struct list link; /* in gp_sched.tenants */
	struct gp_sched_flow flow;
	uint32_t weight, cap;
	uint64_t vtime; /* of its queues */
	struct list queues; /* those that have entries */
	struct list away; /* those that have none and may soon be back */
	uint8_t state; /* enum in sched.c */
	bool passed; /* while one is picked */
	bool paused;
	bool throttled; /* out of budget, as of the last refill */
	int64_t budget; /* ns left of this period; negative: debt */
	uint64_t period_end;
	uint64_t since; /* when `state` was entered */
	uint64_t device_ns, waited_ns, throttled_ns;
};

struct gp_sched_queue {
	struct list link; /* in gp_sched_tenant.queues or .away, or nowhere */
	struct gp_sched_flow flow;
	struct gp_sched_tenant *tenant;
	struct list entries;
};

struct gp_sched_entry {
	struct list link; /* in gp_sched_queue.entries */
	struct gp_sched_queue *queue;
	uint64_t estimate; /* ns that its next slice will probably take */
	uint8_t kind; /* the caller's: what it is part of */
};

/* What was charged when a slice was picked, to be settled when it has ended. */
struct gp_sched_grant {
	struct gp_sched_queue *queue;
	uint64_t estimate; /* ns */
	uint64_t charged; /* the same in the tenant's virtual time */
};

void gp_sched_init(struct gp_sched *sched, uint32_t servers);

void gp_sched_tenant_add(struct gp_sched *sched, struct gp_sched_tenant *tenant, uint32_t weight,
			 uint32_t cap, uint64_t now);
/* The tenant must have no entries and no running slices. */
void gp_sched_tenant_remove(struct gp_sched *sched, struct gp_sched_tenant *tenant);
/* @weight: 1..10,000; @cap: 1..10,000. Holds from the next slice on. */
void gp_sched_tenant_quota(struct gp_sched *sched, struct gp_sched_tenant *tenant, uint32_t weight,
			   uint32_t cap, uint64_t now);
/* A paused tenant is not picked and does not wait. */
void gp_sched_tenant_pause(struct gp_sched *sched, struct gp_sched_tenant *tenant, bool paused, uint64_t now);
/* Brings waited_ns and throttled_ns up to date. */
void gp_sched_tenant_update(struct gp_sched *sched, struct gp_sched_tenant *tenant, uint64_t now);

void gp_sched_queue_init(struct gp_sched_queue *queue, struct gp_sched_tenant *tenant);
/* The queue must have no entries and no running slices. */
void gp_sched_queue_remove(struct gp_sched *sched, struct gp_sched_queue *queue);
void gp_sched_entry_init(struct gp_sched_entry *entry);

/* gp_sched_enqueue() - @entry has work. @front: before the others of its queue. */
void gp_sched_enqueue(struct gp_sched *sched, struct gp_sched_queue *queue, struct gp_sched_entry *entry,
		      bool front, uint64_t now);
/* gp_sched_dequeue() - @entry has no more work to hand out; nothing happens if it is in no queue. */
void gp_sched_dequeue(struct gp_sched *sched, struct gp_sched_entry *entry, uint64_t now);

/*
 * gp_sched_pick() - whose slice starts now.
 * @grant: out: to be given to gp_sched_settle() when the slice has ended.
 * @wake: out: with NULL returned, when to look again (a throttled tenant's next period, the end of the time for
 * which somebody is waited for), or UINT64_MAX: when a slice has been settled, or something enqueued.
 *
 * Return: an entry, which stays queued, or NULL.
 */
struct gp_sched_entry *gp_sched_pick(struct gp_sched *sched, uint64_t now, struct gp_sched_grant *grant,
				     uint64_t *wake);

/* gp_sched_settle() - a slice has ended and took @ns of device time. */
void gp_sched_settle(struct gp_sched *sched, const struct gp_sched_grant *grant, uint64_t ns, uint64_t now);

#endif
