/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects of the device (contexts, buffers, maps, programs), and synchronous control commands.
 */
#ifndef VGPGPU_OBJ_H
#define VGPGPU_OBJ_H

#include <linux/completion.h>
#include <linux/kref.h>

#include "drv.h"
#include "vq.h"

struct drm_virtio_gpgpu_result;
struct vgpgpu_ctx;

/* What every object of the device has; opens the structure of its kind. */
struct vgpgpu_obj {
	struct kref ref;		/* put in any context */
	enum vgpgpu_object kind;
	bool created;			/* the device has it */
	u32 id;
	struct vgpgpu_device *gdev;
	struct vgpgpu_ctx *ctx;		/* holds a reference, but for a context's own object */
	struct vgpgpu_req destroy;	/* made beforehand: getting rid of an object cannot fail */
	struct llist_node node;		/* of the device's free_list or retry_list */
	void (*free)(struct vgpgpu_obj *obj);	/* may sleep */
};

int vgpgpu_obj_init(struct vgpgpu_obj *obj, struct vgpgpu_device *gdev, struct vgpgpu_ctx *ctx,
		    enum vgpgpu_object kind, void (*free)(struct vgpgpu_obj *obj));
void vgpgpu_obj_put(struct vgpgpu_obj *obj);

static inline void vgpgpu_obj_get(struct vgpgpu_obj *obj)
{
	kref_get(&obj->ref);
}

void vgpgpu_obj_free_work(struct work_struct *work);
void vgpgpu_obj_retry_work(struct work_struct *work);

/* One control command. */
struct vgpgpu_cmd {
	struct vgpgpu_req req;
	struct kref ref;		/* one for the queue, one for the waiter */
	struct completion done;
	struct vgpgpu_device *gdev;
	struct vgpgpu_obj *creates;	/* has a reference; exists if the command succeeds */
	struct vgpgpu_obj *uses;	/* has a reference */
};

struct vgpgpu_cmd *vgpgpu_cmd_alloc(struct vgpgpu_device *gdev, u32 type, u32 ctx_id,
				    size_t out_len, size_t in_cap);
int vgpgpu_cmd_run(struct vgpgpu_cmd *cmd, struct drm_virtio_gpgpu_result *result);
void vgpgpu_cmd_post(struct vgpgpu_cmd *cmd);
void vgpgpu_cmd_put(struct vgpgpu_cmd *cmd);
int vgpgpu_cmd_id(struct vgpgpu_obj *obj, struct vgpgpu_ctx *ctx, u32 type,
		  struct drm_virtio_gpgpu_result *result);

int vgpgpu_errno(u32 status, u32 reason);

#endif
