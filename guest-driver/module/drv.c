// SPDX-License-Identifier: GPL-2.0-only
/*
 * virtio_gpgpu: the guest's driver of the virtio GPGPU device.
 *
 * How it works: the driver binds to the virtio device and registers a DRM device of the accel kind,
 * /dev/accel/accelN. This file has the device's life: probe, start, stop, reset, suspend, removal, and
 * the tables of ioctls and file operations. The rest, one file each: vq.c requests and virtqueues,
 * obj.c objects and control commands, ctx.c open files, bo.c buffers, map.c maps, prog.c programs,
 * job.c and timeline.c jobs, event.c events and the watchdog.
 *
 * Invariants: the device is running or it is not. While it is not, no request can be sent and every
 * request that was sent has been completed, so nothing ever waits for a device that is gone. Stopping
 * makes every context dead; what user space still has of it fails with -ENODEV until it is closed.
 *
 * Locks, outermost first: state_lock; a context's lock; caps_lock; mm_lock; cancel_lock; tl_lock; fences'
 * locks; slot_lock; a queue's lock; record_maps', then map_wait's (the event queue's interrupt takes them inside).
 */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>

#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/virtio_gpgpu_drm.h>

#include "bo.h"
#include "ctx.h"
#include "drv.h"
#include "event.h"
#include "job.h"
#include "map.h"
#include "obj.h"
#include "prog.h"
#include "vq.h"

struct workqueue_struct *vgpgpu_wq;

/* None of the driver's waits may be without end, and the watchdog looks once a second. */
static int set_timeout(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 1000, 3600000);
}

static const struct kernel_param_ops timeout_ops = {
	.set = set_timeout,
	.get = param_get_uint,
};

/* Above the 60 s after which the device ends a job by itself. */
unsigned int vgpgpu_job_timeout_ms = 90000;
module_param_cb(job_timeout_ms, &timeout_ops, &vgpgpu_job_timeout_ms, 0644);
__MODULE_PARM_TYPE(job_timeout_ms, "uint");
MODULE_PARM_DESC(job_timeout_ms,
		 "Cancel a job that has run for so long (1000 to 3600000, default 90000)");

unsigned int vgpgpu_control_timeout_ms = 30000;
module_param_cb(control_timeout_ms, &timeout_ops, &vgpgpu_control_timeout_ms, 0644);
__MODULE_PARM_TYPE(control_timeout_ms, "uint");
MODULE_PARM_DESC(control_timeout_ms,
		 "Reset a device that has not answered a command for so long (1000 to 3600000, default 30000)");

static int set_percent(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 1, 100);
}

static const struct kernel_param_ops percent_ops = {
	.set = set_percent,
	.get = param_get_uint,
};

unsigned int vgpgpu_shm_percent = 75;
module_param_cb(shm_percent, &percent_ops, &vgpgpu_shm_percent, 0644);
__MODULE_PARM_TYPE(shm_percent, "uint");
MODULE_PARM_DESC(shm_percent, "Percentage of the shared memory that one file may have (default 75)");

/* -------------------------------------------------------------------------------- start, stop, reset */

/* Any context. Generations only grow; whatever was made in an older one is gone. */
void vgpgpu_dev_saw_generation(struct vgpgpu_device *gdev, u32 generation)
{
	u32 old = READ_ONCE(gdev->generation);

	while (generation && (s32)(generation - old) > 0) {
		if (try_cmpxchg(&gdev->generation, &old, generation)) {
			WRITE_ONCE(gdev->caps_valid, false);
			wake_up_all(&gdev->map_wait);
			break;
		}
	}
}

/* Called with state_lock held; feature negotiation is over and DRIVER_OK is not set. */
int vgpgpu_dev_start(struct vgpgpu_device *gdev)
{
	u32 generation;
	int ret;

	lockdep_assert_held(&gdev->state_lock);
	ret = vgpgpu_queues_find(gdev);
	if (ret)
		return ret;
	virtio_cread_le(gdev->vdev, struct virtio_gpgpu_config, generation, &generation);
	vgpgpu_dev_saw_generation(gdev, generation);
	virtio_device_ready(gdev->vdev);
	vgpgpu_queues_enable(gdev);
	vgpgpu_events_fill(gdev);
	gdev->running = true;
	return 0;
}

/* Called with state_lock held. Ends everything that is under way; the device is reset. */
void vgpgpu_dev_stop(struct vgpgpu_device *gdev)
{
	lockdep_assert_held(&gdev->state_lock);
	if (!gdev->running)
		return;
	gdev->running = false;
	/* First, so that nothing that ends now is followed by more of its context. */
	WRITE_ONCE(gdev->resets, gdev->resets + 1);
	WRITE_ONCE(gdev->caps_valid, false);
	vgpgpu_queues_disable(gdev);
	virtio_reset_device(gdev->vdev);
	vgpgpu_queues_drop(gdev);
	wake_up_all(&gdev->map_wait);
}

/* The device does not answer, or asked for it: reset it and begin again. */
static void reset_work(struct work_struct *work)
{
	struct vgpgpu_device *gdev = container_of(work, struct vgpgpu_device, reset_work);
	struct virtio_device *vdev;
	int ret;

	mutex_lock(&gdev->state_lock);
	if (!gdev->running)
		goto unlock;
	vdev = gdev->vdev;
	dev_err(&vdev->dev, "resetting the device; open files have to be opened again\n");
	vgpgpu_dev_stop(gdev);

	virtio_add_status(vdev, VIRTIO_CONFIG_S_ACKNOWLEDGE);
	virtio_add_status(vdev, VIRTIO_CONFIG_S_DRIVER);
	ret = vdev->config->finalize_features(vdev);
	if (!ret) {
		virtio_add_status(vdev, VIRTIO_CONFIG_S_FEATURES_OK);
		if (!(vdev->config->get_status(vdev) & VIRTIO_CONFIG_S_FEATURES_OK))
			ret = -ENODEV;
	}
	if (!ret)
		ret = vgpgpu_dev_start(gdev);
	if (ret) {
		virtio_add_status(vdev, VIRTIO_CONFIG_S_FAILED);
		dev_err(&vdev->dev, "device did not come back: %d\n", ret);
	}
unlock:
	mutex_unlock(&gdev->state_lock);
}

/* -------------------------------------------------------------------------------------------- the node */

static const struct drm_ioctl_desc ioctls[] = {
	DRM_IOCTL_DEF_DRV(VIRTIO_GPGPU_GET_CAPS, vgpgpu_get_caps_ioctl, 0),
	DRM_IOCTL_DEF_DRV(VIRTIO_GPGPU_GET_STATS, vgpgpu_get_stats_ioctl, 0),
	DRM_IOCTL_DEF_DRV(VIRTIO_GPGPU_BO_CREATE, vgpgpu_bo_create_ioctl, 0),
	DRM_IOCTL_DEF_DRV(VIRTIO_GPGPU_MAP_CREATE, vgpgpu_map_create_ioctl, 0),
	DRM_IOCTL_DEF_DRV(VIRTIO_GPGPU_MAP_DESTROY, vgpgpu_map_destroy_ioctl, 0),
	DRM_IOCTL_DEF_DRV(VIRTIO_GPGPU_MAP_FREEZE, vgpgpu_map_freeze_ioctl, 0),
	DRM_IOCTL_DEF_DRV(VIRTIO_GPGPU_MAP_OP, vgpgpu_map_op_ioctl, 0),
	DRM_IOCTL_DEF_DRV(VIRTIO_GPGPU_PROG_CREATE, vgpgpu_prog_create_ioctl, 0),
	DRM_IOCTL_DEF_DRV(VIRTIO_GPGPU_PROG_DESTROY, vgpgpu_prog_destroy_ioctl, 0),
	DRM_IOCTL_DEF_DRV(VIRTIO_GPGPU_SUBMIT, vgpgpu_submit_ioctl, 0),
	DRM_IOCTL_DEF_DRV(VIRTIO_GPGPU_JOB_WAIT, vgpgpu_job_wait_ioctl, 0),
	DRM_IOCTL_DEF_DRV(VIRTIO_GPGPU_JOB_CANCEL, vgpgpu_job_cancel_ioctl, 0),
	DRM_IOCTL_DEF_DRV(VIRTIO_GPGPU_JOB_DESTROY, vgpgpu_job_destroy_ioctl, 0),
	DRM_IOCTL_DEF_DRV(VIRTIO_GPGPU_MAP_BULK, vgpgpu_map_bulk_ioctl, 0),
	DRM_IOCTL_DEF_DRV(VIRTIO_GPGPU_MAP_READ, vgpgpu_map_read_ioctl, 0),
};

static const struct file_operations fops = {
	.owner		= THIS_MODULE,
	.open		= accel_open,
	.release	= drm_release,
	.unlocked_ioctl	= drm_ioctl,
	.compat_ioctl	= drm_compat_ioctl,
	.poll		= vgpgpu_poll,
	.read		= drm_read,
	.llseek		= noop_llseek,
	.mmap		= drm_gem_mmap,
	.show_fdinfo	= drm_show_fdinfo,
	.fop_flags	= FOP_UNSIGNED_OFFSET,
};

static const struct drm_driver driver = {
	.driver_features = DRIVER_COMPUTE_ACCEL | DRIVER_GEM | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE,
	.open		= vgpgpu_ctx_open,
	.postclose	= vgpgpu_ctx_postclose,
	.show_fdinfo	= vgpgpu_ctx_show_fdinfo,
	.gem_prime_import = vgpgpu_gem_import,
	.ioctls		= ioctls,
	.num_ioctls	= ARRAY_SIZE(ioctls),
	.fops		= &fops,
	.name		= KBUILD_MODNAME,
	.desc		= "virtio GPGPU",
	.date		= "20261130",
	.major		= 1,
	.minor		= 0,
};

/* ------------------------------------------------------------------------------------ probe and removal */

static int read_config(struct vgpgpu_device *gdev)
{
	struct virtio_device *vdev = gdev->vdev;
	u16 num_compute, num_packet;
	u32 version;

	virtio_cread_le(vdev, struct virtio_gpgpu_config, version, &version);
	virtio_cread_le(vdev, struct virtio_gpgpu_config, num_compute_queues, &num_compute);
	virtio_cread_le(vdev, struct virtio_gpgpu_config, num_packet_queues, &num_packet);
	virtio_cread_le(vdev, struct virtio_gpgpu_config, max_request, &gdev->max_request);
	virtio_cread_le(vdev, struct virtio_gpgpu_config, max_response, &gdev->max_response);
	if (version != VIRTIO_GPGPU_VERSION) {
		dev_err(&vdev->dev, "device has version %u of the protocol, %u is needed\n",
			version, VIRTIO_GPGPU_VERSION);
		return -ENODEV;
	}
	if (!num_compute || num_compute > VIRTIO_GPGPU_MAX_QUEUES ||
	    num_packet > VIRTIO_GPGPU_MAX_QUEUES ||
	    gdev->max_request < sizeof(struct virtio_gpgpu_req_prog_create) ||
	    gdev->max_response < sizeof(struct virtio_gpgpu_resp_prog)) {
		dev_err(&vdev->dev, "implausible configuration: %u and %u queues, %u and %u bytes\n",
			num_compute, num_packet, gdev->max_request, gdev->max_response);
		return -EINVAL;
	}
	if (!virtio_has_feature(vdev, VIRTIO_GPGPU_F_PACKET))
		num_packet = 0;
	gdev->num_compute = num_compute;
	gdev->num_packet = num_packet;
	gdev->num_queues = VIRTIO_GPGPU_VQ_FIRST_JOB + num_compute + num_packet;
	return 0;
}

static int map_shm(struct vgpgpu_device *gdev)
{
	struct device *dev = &gdev->vdev->dev;
	struct virtio_shm_region region;

	if (!virtio_get_shm_region(gdev->vdev, &region, VIRTIO_GPGPU_SHM_ID) ||
	    region.len < PAGE_SIZE || !PAGE_ALIGNED(region.addr)) {
		dev_err(dev, "device has no shared memory\n");
		return -ENODEV;
	}
	region.len = round_down(region.len, PAGE_SIZE);
	if (!devm_request_mem_region(dev, region.addr, region.len, dev_name(dev))) {
		dev_err(dev, "shared memory at %#llx is in use\n", region.addr);
		return -EBUSY;
	}
	/* Ordinary memory of the host's, hence write-back. */
	gdev->shm = devm_memremap(dev, region.addr, region.len, MEMREMAP_WB);
	if (IS_ERR(gdev->shm)) {
		dev_err(dev, "cannot map %llu bytes of shared memory\n", region.len);
		return PTR_ERR(gdev->shm);
	}
	gdev->shm_phys = region.addr;
	gdev->shm_size = region.len;
	drm_mm_init(&gdev->mm, 0, region.len);
	return 0;
}

/* Runs when the last reference is gone: of the virtio device, the files, and what they left behind. */
static void dev_release(struct drm_device *drm, void *data)
{
	struct vgpgpu_device *gdev = to_vgpgpu(drm);
	unsigned int i;

	if (drm_mm_initialized(&gdev->mm))
		drm_mm_takedown(&gdev->mm);
	for (i = 0; i < VGPGPU_NUM_OBJECTS; i++)
		ida_destroy(&gdev->ids[i]);
	xa_destroy(&gdev->record_maps);
	mutex_destroy(&gdev->caps_lock);
	mutex_destroy(&gdev->state_lock);
}

static int dev_init(struct vgpgpu_device *gdev)
{
	unsigned int i;

	mutex_init(&gdev->state_lock);
	mutex_init(&gdev->caps_lock);
	spin_lock_init(&gdev->mm_lock);
	spin_lock_init(&gdev->slot_lock);
	init_waitqueue_head(&gdev->mm_wait);
	init_waitqueue_head(&gdev->slot_wait);
	init_waitqueue_head(&gdev->map_wait);
	xa_init_flags(&gdev->record_maps, XA_FLAGS_LOCK_IRQ);
	INIT_LIST_HEAD(&gdev->slot_queue);
	gdev->max_jobs = gdev->max_slots = 16;	/* until the capabilities are known */
	for (i = 0; i < VGPGPU_NUM_OBJECTS; i++)
		ida_init(&gdev->ids[i]);
	init_llist_head(&gdev->free_list);
	init_llist_head(&gdev->job_free_list);
	init_llist_head(&gdev->retry_list);
	INIT_WORK(&gdev->free_work, vgpgpu_obj_free_work);
	INIT_WORK(&gdev->job_free_work, vgpgpu_job_free_work);
	INIT_DELAYED_WORK(&gdev->retry_work, vgpgpu_obj_retry_work);
	INIT_WORK(&gdev->config_work, vgpgpu_config_work);
	INIT_WORK(&gdev->reset_work, reset_work);
	INIT_DELAYED_WORK(&gdev->watchdog, vgpgpu_watchdog_work);
	spin_lock_init(&gdev->cancel_lock);
	INIT_LIST_HEAD(&gdev->cancel_list);
	INIT_DELAYED_WORK(&gdev->cancel_work, vgpgpu_timeline_cancel_work);
	return drmm_add_action_or_reset(&gdev->drm, dev_release, NULL);
}

/* Stops the device for good; what waits for it has been woken when this returns. */
static void dev_shut_down(struct vgpgpu_device *gdev)
{
	mutex_lock(&gdev->state_lock);
	gdev->removed = true;
	vgpgpu_dev_stop(gdev);
	mutex_unlock(&gdev->state_lock);

	/* Nothing queues these any more: they are queued by a live device only. */
	cancel_delayed_work_sync(&gdev->watchdog);
	cancel_work_sync(&gdev->config_work);
	cancel_work_sync(&gdev->reset_work);
	vgpgpu_timeline_cancel_stop(gdev);
	cancel_delayed_work_sync(&gdev->retry_work);
	vgpgpu_obj_retry_work(&gdev->retry_work.work);
}

static int probe(struct virtio_device *vdev)
{
	struct virtio_gpgpu_caps caps;
	struct vgpgpu_device *gdev;
	int ret;

	gdev = devm_drm_dev_alloc(&vdev->dev, &driver, struct vgpgpu_device, drm);
	if (IS_ERR(gdev))
		return PTR_ERR(gdev);
	ret = dev_init(gdev);
	if (ret)
		return ret;
	gdev->vdev = vdev;
	vdev->priv = gdev;
	ret = read_config(gdev);
	if (!ret)
		ret = map_shm(gdev);
	if (!ret)
		ret = vgpgpu_queues_alloc(gdev);
	if (!ret)
		ret = vgpgpu_events_init(gdev);
	if (ret)
		return ret;

	mutex_lock(&gdev->state_lock);
	ret = vgpgpu_dev_start(gdev);
	mutex_unlock(&gdev->state_lock);
	if (ret)
		return ret;
	ret = vgpgpu_executioner_init(gdev);
	if (ret) {
		dev_shut_down(gdev);
		return ret;
	}

	/* A device whose worker is being restarted answers later. */
	ret = vgpgpu_caps_get(gdev, &caps);
	if (!ret)
		dev_info(&vdev->dev, "%.64s, target %.32s, %llu MiB shared, %u + %u queues\n",
			 caps.device_name, caps.target, gdev->shm_size >> 20, gdev->num_compute,
			 gdev->num_packet);
	else
		dev_warn(&vdev->dev, "device does not say what it can do: %d\n", ret);

	ret = drm_dev_register(&gdev->drm, 0);
	if (ret)
		dev_shut_down(gdev);
	return ret;
}

static void remove(struct virtio_device *vdev)
{
	struct vgpgpu_device *gdev = vdev->priv;

	/* First, so that whoever waits for the device inside a call is let go. */
	dev_shut_down(gdev);
	drm_dev_unplug(&gdev->drm);
}

static void config_changed(struct virtio_device *vdev)
{
	struct vgpgpu_device *gdev = vdev->priv;

	queue_work(vgpgpu_wq, &gdev->config_work);
}

/*
 * The device keeps nothing over a suspend that this driver could rely on, so it is treated as lost:
 * files that were open before have to be opened again.
 */
static int __maybe_unused freeze(struct virtio_device *vdev)
{
	struct vgpgpu_device *gdev = vdev->priv;

	mutex_lock(&gdev->state_lock);
	vgpgpu_dev_stop(gdev);
	mutex_unlock(&gdev->state_lock);
	return 0;
}

static int __maybe_unused restore(struct virtio_device *vdev)
{
	struct vgpgpu_device *gdev = vdev->priv;
	int ret;

	mutex_lock(&gdev->state_lock);
	ret = vgpgpu_dev_start(gdev);
	mutex_unlock(&gdev->state_lock);
	return ret;
}

static int validate(struct virtio_device *vdev)
{
	if (!virtio_has_feature(vdev, VIRTIO_F_VERSION_1)) {
		dev_err(&vdev->dev, "legacy devices do not exist\n");
		return -ENODEV;
	}
	return 0;
}

static const struct virtio_device_id id_table[] = {
	{ VIRTIO_ID_GPGPU, VIRTIO_DEV_ANY_ID },
	{ 0 },
};
MODULE_DEVICE_TABLE(virtio, id_table);

static const unsigned int features[] = {
	VIRTIO_GPGPU_F_PACKET,
	VIRTIO_GPGPU_F_DEVICE_MEM,
};

static struct virtio_driver virtio_driver = {
	.driver.name		= KBUILD_MODNAME,
	.id_table		= id_table,
	.feature_table		= features,
	.feature_table_size	= ARRAY_SIZE(features),
	.validate		= validate,
	.probe			= probe,
	.remove			= remove,
	.config_changed		= config_changed,
#ifdef CONFIG_PM_SLEEP
	.freeze			= freeze,
	.restore		= restore,
#endif
};

static int __init vgpgpu_init(void)
{
	int ret;

	vgpgpu_wq = alloc_workqueue(KBUILD_MODNAME, WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!vgpgpu_wq)
		return -ENOMEM;
	ret = register_virtio_driver(&virtio_driver);
	if (ret)
		destroy_workqueue(vgpgpu_wq);
	return ret;
}

static void __exit vgpgpu_exit(void)
{
	unregister_virtio_driver(&virtio_driver);
	/* A fence's callback, which runs with interrupts off, may just have used the queue. */
	synchronize_rcu();
	/* Also what is left of devices that went before: their objects are freed in there. */
	destroy_workqueue(vgpgpu_wq);
}

module_init(vgpgpu_init);
module_exit(vgpgpu_exit);

MODULE_DESCRIPTION("virtio GPGPU: compute and packet offload for guests");
MODULE_LICENSE("GPL");
