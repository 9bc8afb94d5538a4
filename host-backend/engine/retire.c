/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * retire.c - references that are dropped late, so that device threads need none of their own.
 *
 * A tail call finds its target in a program array, and a program finds maps in maps of maps, without any lock.
 * What the guest takes out of such a map is therefore kept until every slice that may have seen it has ended.
 *
 * How it works: slices are counted in one of two phases. What is retired waits on `fresh`; when no slice of the
 * other phase is left, everything on `waiting` can go, `fresh` becomes `waiting`, and slices that start from then
 * on count in the other phase. So a list waits for the slices that ran when it was filled, not for a moment in which
 * none runs, which a busy guest might never give.
 *
 * An element of a map of maps waits twice. It stays within reach of programs until those that have looked it up have
 * ended, and until then one that starts comes to it, too, by a number that it has kept. So it is hidden after the first
 * time and let go of, with its slot, after the second.
 *
 * Threads: lists under the session's lock, phases and counts under the engine's.
 */
#include "map.h"
#include "retire.h"

/* That may wait before more is taken out: a guest does that faster than slices end, and nothing else limits it. */
#define MAX_RETIRED 32768

struct retired {
	struct list link;
	struct gp_object *object;
	struct gp_map_object *outer; /* that it was an element of, with a reference, or NULL */
	bool inner, hidden;
};

void gp_retire_init(struct gpgpu_session *s)
{
	list_init(&s->retired_fresh);
	list_init(&s->retired_waiting);
}

/* What goes may retire what it held, which waits its own time. */
static void drop(struct gpgpu_session *s, struct list *list)
{
	struct list *link;

	while ((link = list_pop(list))) {
		struct retired *r = container_of(link, struct retired, link);

		if (r->outer && !r->hidden) {
			gp_inner_hide(r->outer, (struct gp_map_object *)r->object);
			r->hidden = true;
			list_add_tail(&s->retired_fresh, &r->link);
			continue;
		}
		if (r->inner)
			gp_inner_put(s, (struct gp_map_object *)r->object);
		gp_object_unref(r->object);
		if (r->outer)
			gp_object_unref(&r->outer->object);
		g_free(r);
		s->num_retired--;
	}
}

static void move(struct list *from, struct list *to)
{
	struct list *link;

	while ((link = list_pop(from)))
		list_add_tail(to, link);
}

/* Return: whether the slices that `waiting` waits for have ended; a new phase has begun then. */
static bool turn(struct gpgpu_session *s)
{
	bool over;

	pthread_mutex_lock(&s->engine->lock);
	over = !s->phase_slices[!s->phase];
	if (over)
		s->phase = !s->phase;
	pthread_mutex_unlock(&s->engine->lock);
	return over;
}

static bool nothing_waits(const struct gpgpu_session *s)
{
	return list_empty(&s->retired_fresh) && list_empty(&s->retired_waiting);
}

void gp_retire_run(struct gpgpu_session *s)
{
	struct list old;

	if (s->retiring)
		return;
	s->retiring = true;
	/* Where nothing runs, nothing is left: twice for each wait, and for what a map lets go of then. */
	for (int i = 0; i < 6 && !nothing_waits(s) && turn(s); i++) {
		list_init(&old);
		move(&s->retired_waiting, &old);
		move(&s->retired_fresh, &s->retired_waiting);
		drop(s, &old);
	}
	s->retiring = false;
}

bool gp_retire_full(struct gpgpu_session *s)
{
	if (s->num_retired >= MAX_RETIRED)
		gp_retire_run(s);
	return s->num_retired >= MAX_RETIRED;
}

void gp_retire_all(struct gpgpu_session *s)
{
	while (!nothing_waits(s))
		gp_retire_run(s);
}

static void retire(struct gpgpu_session *s, struct gp_object *object, struct gp_map_object *outer, bool inner)
{
	struct retired *r = g_new0(struct retired, 1);

	r->object = object;
	r->outer = outer;
	r->inner = inner;
	list_add_tail(&s->retired_fresh, &r->link);
	s->num_retired++;
	gp_retire_run(s);
}

void gp_retire(struct gpgpu_session *s, struct gp_object *object)
{
	retire(s, object, NULL, false);
}

void gp_retire_element(struct gpgpu_session *s, struct gp_map_object *outer, struct gp_map_object *inner)
{
	if (outer)
		gp_object_ref(&outer->object);
	retire(s, &inner->object, outer, true);
}

uint32_t gp_slice_begin(struct gpgpu_session *s)
{
	s->slices++;
	s->phase_slices[s->phase]++;
	return s->phase;
}

void gp_slice_end(struct gpgpu_session *s, uint32_t phase)
{
	s->slices--;
	s->phase_slices[phase]--;
}
