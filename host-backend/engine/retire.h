/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * retire.h - what programs that run may still use is let go of once they have ended.
 */
#ifndef GPGPU_RETIRE_H
#define GPGPU_RETIRE_H

#include "engine.h"

struct gp_map_object;

void gp_retire_init(struct gpgpu_session *s);

/*
 * gp_retire() - drop a reference to @object once every slice that runs now has ended.
 * gp_retire_element() - the same of an element of a map of maps; @outer: that map, or NULL if it is going itself.
 * Session's lock. The object may be gone on return.
 */
void gp_retire(struct gpgpu_session *s, struct gp_object *object);
void gp_retire_element(struct gpgpu_session *s, struct gp_map_object *outer, struct gp_map_object *inner);

/* gp_retire_run() - drop what can be dropped by now. Session's lock. */
void gp_retire_run(struct gpgpu_session *s);

/* gp_retire_full() - Return: whether so much waits that the guest has to. Session's lock. */
bool gp_retire_full(struct gpgpu_session *s);

/* gp_retire_all() - drop everything. No slice runs. Session's lock. */
void gp_retire_all(struct gpgpu_session *s);

/*
 * gp_slice_begin() - a slice of @s starts; gp_slice_end() - it has ended. Engine's lock.
 * Return: what gp_slice_end() is to be told.
 */
uint32_t gp_slice_begin(struct gpgpu_session *s);
void gp_slice_end(struct gpgpu_session *s, uint32_t phase);

#endif
