/*
 * Virtio GPGPU device: properties, configuration, and the device's life
 *
 * How it works: the device is transport. It owns the shared-memory region and
 * one session on a backend; what the guest asks for is done by the backend's
 * worker. This file has what is set up and torn down. The data path is in
 * virtio-gpgpu-queue.c, the choice of its thread in virtio-gpgpu-dataplane.c,
 * reset, stop and a lost worker in virtio-gpgpu-state.c.
 *
 * Invariants: after unplug, as after a reset or a stop, nothing writes the
 * guest's memory on the device's behalf: the worker says so within
 * GPGPU_ACK_TIMEOUT_MS, or it is ended (which QEMU cannot do to every worker
 * that it did not start: see gpgpu-backend.h).
 *
 * Threads: BQL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "hw/qdev-properties.h"
#include "hw/virtio/virtio-bus.h"
#include "migration/blocker.h"
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/memfd.h"
#include "qemu/units.h"
#include "qom/object_interfaces.h"
#include "system/runstate.h"
#include "virtio-gpgpu.h"
#include "trace.h"

#define SHM_SIZE_MIN    (1 * MiB)
#define SHM_SIZE_MAX    (64 * GiB)

static QTAILQ_HEAD(, VirtIOGpgpu) devices = QTAILQ_HEAD_INITIALIZER(devices);

/* Finding devices -----------------------------------------------------------*/

/* The transport's device: the one that the user named */
static DeviceState *gpgpu_proxy(VirtIOGpgpu *s)
{
    return qdev_get_parent_bus(DEVICE(s))->parent;
}

const char *virtio_gpgpu_id(VirtIOGpgpu *s)
{
    return gpgpu_proxy(s)->id;
}

void virtio_gpgpu_foreach(void (*fn)(VirtIOGpgpu *s, void *opaque),
                          void *opaque)
{
    VirtIOGpgpu *s;

    QTAILQ_FOREACH(s, &devices, next) {
        fn(s, opaque);
    }
}

VirtIOGpgpu *virtio_gpgpu_find(const char *id, Error **errp)
{
    Object *obj = id[0] == '/' ? object_resolve_path(id, NULL) : NULL;
    VirtIOGpgpu *s;

    QTAILQ_FOREACH(s, &devices, next) {
        if (obj ? obj == OBJECT(s) || obj == OBJECT(gpgpu_proxy(s)) :
                  !g_strcmp0(virtio_gpgpu_id(s), id)) {
            return s;
        }
    }
    error_setg(errp, "no virtio-gpgpu device '%s'", id);
    return NULL;
}

bool virtio_gpgpu_check_quota(const GpgpuQuota *quota, Error **errp)
{
    if (quota->weight < 1 || quota->weight > GPGPU_WEIGHT_MAX) {
        error_setg(errp, "property 'weight': %" PRIu32 " is not in 1..%d",
                   quota->weight, GPGPU_WEIGHT_MAX);
        return false;
    }
    if (quota->cap < 1 || quota->cap > GPGPU_CAP_NONE) {
        error_setg(errp, "property 'cap': %" PRIu32 " is not in 1..%d (in "
                   "1/10000 of the device)", quota->cap, GPGPU_CAP_NONE);
        return false;
    }
    if (!quota->memory_limit) {
        error_setg(errp, "property 'memory-limit': 0 bytes is not a limit");
        return false;
    }
    return true;
}

/* Virtio --------------------------------------------------------------------*/

static void virtio_gpgpu_get_config(VirtIODevice *vdev, uint8_t *data)
{
    VirtIOGpgpu *s = VIRTIO_GPGPU(vdev);
    struct virtio_gpgpu_config config = {
        .version = cpu_to_le32(VIRTIO_GPGPU_VERSION),
        .generation = cpu_to_le32(s->generation),
        .num_compute_queues = cpu_to_le16(s->num_compute_queues),
        .num_packet_queues = cpu_to_le16(s->num_packet_queues),
        .max_request = cpu_to_le32(GPGPU_MAX_REQUEST),
        .max_response = cpu_to_le32(GPGPU_MAX_RESPONSE),
    };

    memcpy(data, &config, sizeof(config));
}

static uint64_t virtio_gpgpu_get_features(VirtIODevice *vdev, uint64_t features,
                                          Error **errp)
{
    return features | VIRTIO_GPGPU(vdev)->host_features;
}

#define GPGPU_FEATURES  (1ULL << VIRTIO_GPGPU_F_PACKET |        \
                         1ULL << VIRTIO_GPGPU_F_DEVICE_MEM |    \
                         1ULL << VIRTIO_GPGPU_F_NET)

static void virtio_gpgpu_set_status(VirtIODevice *vdev, uint8_t status)
{
    VirtIOGpgpu *s = VIRTIO_GPGPU(vdev);

    if ((status & VIRTIO_CONFIG_S_DRIVER_OK) &&
        !(vdev->status & VIRTIO_CONFIG_S_DRIVER_OK) && !s->ctx) {
        virtio_gpgpu_reset_session(s, vdev->guest_features & GPGPU_FEATURES);
    }
}

static void virtio_gpgpu_reset(VirtIODevice *vdev)
{
    VirtIOGpgpu *s = VIRTIO_GPGPU(vdev);
    unsigned i;

    trace_virtio_gpgpu_reset(s);
    assert(!s->ctx);
    for (i = 0; i < s->num_queues; i++) {
        s->queues[i].disabled = false;
    }
    virtio_gpgpu_reset_session(s, 0);
    s->events_dropped = 0;
    s->lost_notify = false;
    s->ready_notify = false;
    s->data_missed = false;
}

/* Realize -------------------------------------------------------------------*/

void virtio_gpgpu_auto_queues(VirtIOGpgpu *s)
{
    if (s->num_packet_queues == VIRTIO_GPGPU_AUTO_QUEUES) {
        s->num_packet_queues = virtio_has_feature(s->host_features,
                                                  VIRTIO_GPGPU_F_PACKET);
    }
}

static bool gpgpu_check_properties(VirtIOGpgpu *s, Error **errp)
{
    if (s->num_compute_queues < 1 ||
        s->num_compute_queues > VIRTIO_GPGPU_MAX_QUEUES) {
        error_setg(errp, "property 'num-compute-queues': %u is not in 1..%d",
                   s->num_compute_queues, VIRTIO_GPGPU_MAX_QUEUES);
        return false;
    }
    virtio_gpgpu_auto_queues(s);
    if (s->num_packet_queues > VIRTIO_GPGPU_MAX_QUEUES) {
        error_setg(errp, "property 'num-packet-queues': %u is more than %d",
                   s->num_packet_queues, VIRTIO_GPGPU_MAX_QUEUES);
        return false;
    }
    if (!s->num_packet_queues) {
        virtio_clear_feature(&s->host_features, VIRTIO_GPGPU_F_PACKET);
    } else if (!virtio_has_feature(s->host_features, VIRTIO_GPGPU_F_PACKET)) {
        error_setg(errp, "property 'num-packet-queues': %u with packet=off",
                   s->num_packet_queues);
        return false;
    }
    if (s->queue_size < 2 || s->queue_size > VIRTQUEUE_MAX_SIZE ||
        !is_power_of_2(s->queue_size)) {
        error_setg(errp, "property 'queue-size': %u is not a power of 2 in "
                   "2..%d", s->queue_size, VIRTQUEUE_MAX_SIZE);
        return false;
    }
    if (s->shm_size < SHM_SIZE_MIN || s->shm_size > SHM_SIZE_MAX ||
        !is_power_of_2(s->shm_size)) {
        error_setg(errp, "property 'shm-size': %" PRIu64 " bytes is not a power"
                   " of 2 in 1 MiB..64 GiB", s->shm_size);
        return false;
    }
    return virtio_gpgpu_check_quota(&s->quota, errp) &&
           virtio_gpgpu_dataplane_check(s, errp);
}

static bool gpgpu_make_shm(VirtIOGpgpu *s, Error **errp)
{
    int fd = qemu_memfd_create("virtio-gpgpu-shm", s->shm_size, false, 0,
                               F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, errp);

    if (fd < 0) {
        error_prepend(errp, "property 'shm-size': ");
        return false;
    }
    /*
     * The transport's device owns it, since we are a part of that: whoever
     * still uses the memory after an unplug must keep alive what really holds
     * it.
     */
    if (!memory_region_init_ram_from_fd(&s->shm, OBJECT(gpgpu_proxy(s)),
                                        "virtio-gpgpu-shm", s->shm_size,
                                        RAM_SHARED | RAM_NORESERVE, fd, 0,
                                        errp)) {
        close(fd);
        return false;
    }
    return true;
}

/* Without gpgpu= the device has a backend of its own. */
static bool gpgpu_make_backend(VirtIOGpgpu *s, Error **errp)
{
    Object *obj = object_new(TYPE_GPGPU_BACKEND_CPU);

    object_property_add_child(OBJECT(s), "default-backend", obj);
    object_unref(obj);
    if (!user_creatable_complete(USER_CREATABLE(obj), errp)) {
        object_unparent(obj);
        return false;
    }
    s->backend = GPGPU_BACKEND(obj);
    s->default_backend = true;
    return true;
}

static void gpgpu_drop_backend(VirtIOGpgpu *s)
{
    if (s->default_backend) {
        s->default_backend = false;
        object_unparent(OBJECT(s->backend));
        s->backend = NULL;
    }
}

static bool gpgpu_open_session(VirtIOGpgpu *s, Error **errp)
{
    GpgpuSession *session = &s->session;
    const char *id = virtio_gpgpu_id(s);

    s->generation = 1;
    session->ops = &virtio_gpgpu_session_ops;
    session->opaque = s;
    session->shm_fd = memory_region_get_fd(&s->shm);
    session->shm_size = s->shm_size;
    session->features = 0;
    session->generation = s->generation;
    session->quota = s->quota;
    pstrcpy(session->name, sizeof(session->name), id ?: "virtio-gpgpu");
    return gpgpu_session_open(s->backend, session, errp);
}

static VirtIOGpgpuQueue *gpgpu_add_queue(VirtIOGpgpu *s, uint32_t kind)
{
    VirtIOGpgpuQueue *q = &s->queues[s->num_queues++];

    q->dev = s;
    q->kind = kind;
    q->vq = virtio_add_queue(VIRTIO_DEVICE(s), s->queue_size,
                             virtio_gpgpu_handle_output);
    return q;
}

static void gpgpu_add_queues(VirtIOGpgpu *s)
{
    unsigned i;

    s->queues = g_new0(VirtIOGpgpuQueue,
                       1 + s->num_compute_queues + s->num_packet_queues);
    s->num_queues = 0;
    gpgpu_add_queue(s, GPGPU_RING_CONTROL);
    s->event_vq = virtio_add_queue(VIRTIO_DEVICE(s), s->queue_size,
                                   virtio_gpgpu_handle_output);
    for (i = 0; i < s->num_compute_queues; i++) {
        gpgpu_add_queue(s, GPGPU_RING_COMPUTE);
    }
    for (i = 0; i < s->num_packet_queues; i++) {
        gpgpu_add_queue(s, GPGPU_RING_PACKET);
    }
    /* a queue that is reset leaves slots busy until the worker answers */
    s->num_slots = s->num_queues * VIRTQUEUE_MAX_SIZE;
    s->slots = g_new0(VirtIOGpgpuSlot, s->num_slots);
    s->free_slots = g_new(uint32_t, s->num_slots);
    virtio_gpgpu_init_slots(s);
}

static void virtio_gpgpu_realize(DeviceState *dev, Error **errp)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(dev);
    VirtIOGpgpu *s = VIRTIO_GPGPU(dev);

    if (!gpgpu_check_properties(s, errp)) {
        return;
    }
    error_setg(&s->migration_blocker, "virtio-gpgpu%s%s: its buffers, maps and "
               "programs live in the worker and cannot be migrated yet",
               virtio_gpgpu_id(s) ? " " : "", virtio_gpgpu_id(s) ?: "");
    if (migrate_add_blocker(&s->migration_blocker, errp) < 0) {
        return;
    }
    if (!s->backend && !gpgpu_make_backend(s, errp)) {
        goto fail_backend;
    }
    if (!gpgpu_make_shm(s, errp)) {
        goto fail;
    }
    if (!gpgpu_open_session(s, errp)) {
        goto fail;
    }

    virtio_init(vdev, VIRTIO_ID_GPGPU, sizeof(struct virtio_gpgpu_config));
    gpgpu_add_queues(s);
    s->ctx = NULL;
    s->running = runstate_is_running();
    s->online = true;
    s->lost = false;
    s->used = false;
    s->broken_bh = qemu_bh_new(virtio_gpgpu_broken, s);
    s->guard = &gpgpu_proxy(s)->mem_reentrancy_guard;
    virtio_gpgpu_attach_call(s);
    virtio_gpgpu_dataplane_init(s);
    /*
     * After virtio_init(), whose own handler then runs first when the VM
     * starts and last when it stops.
     */
    s->vm_state = qdev_add_vm_change_state_handler(
        dev, virtio_gpgpu_vm_state_change, s);
    QTAILQ_INSERT_TAIL(&devices, s, next);
    return;

fail:
    /* the memory region goes with the device, which is not coming to life */
    gpgpu_drop_backend(s);
fail_backend:
    migrate_del_blocker(&s->migration_blocker);
}

static void virtio_gpgpu_unrealize(DeviceState *dev)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(dev);
    VirtIOGpgpu *s = VIRTIO_GPGPU(dev);
    unsigned i;

    trace_virtio_gpgpu_unrealize(s);
    QTAILQ_REMOVE(&devices, s, next);
    qemu_del_vm_change_state_handler(s->vm_state);
    virtio_gpgpu_detach_requests(s, NULL);
    s->draining = true;
    s->running = false;
    virtio_gpgpu_detach_call(s);
    /* a worker that dies of this is no news to a guest that is rid of us */
    s->session.attached = false;
    gpgpu_session_close(&s->session);
    s->online = false;
    s->draining = false;
    qemu_bh_delete(s->broken_bh);

    for (i = 0; i < s->num_queues; i++) {
        virtio_delete_queue(s->queues[i].vq);
    }
    virtio_delete_queue(s->event_vq);
    virtio_cleanup(vdev);
    g_free(s->queues);
    g_free(s->slots);
    g_free(s->free_slots);
    virtio_gpgpu_dataplane_cleanup(s);
    gpgpu_drop_backend(s);
    migrate_del_blocker(&s->migration_blocker);
}

static const Property virtio_gpgpu_properties[] = {
    DEFINE_PROP_LINK("gpgpu", VirtIOGpgpu, backend, TYPE_GPGPU_BACKEND,
                     GpgpuBackend *),
    DEFINE_PROP_LINK("iothread", VirtIOGpgpu, iothread, TYPE_IOTHREAD,
                     IOThread *),
    DEFINE_PROP_UINT16("num-compute-queues", VirtIOGpgpu, num_compute_queues,
                       1),
    DEFINE_PROP_UINT16("num-packet-queues", VirtIOGpgpu, num_packet_queues,
                       VIRTIO_GPGPU_AUTO_QUEUES),
    DEFINE_PROP_UINT16("queue-size", VirtIOGpgpu, queue_size, 256),
    DEFINE_PROP_SIZE("shm-size", VirtIOGpgpu, shm_size, 256 * MiB),
    /* what the guest may take; all can be changed with gpgpu-set-quota */
    DEFINE_PROP_SIZE("memory-limit", VirtIOGpgpu, quota.memory_limit,
                     256 * MiB),
    DEFINE_PROP_UINT32("weight", VirtIOGpgpu, quota.weight,
                       GPGPU_WEIGHT_DEFAULT),
    DEFINE_PROP_UINT32("cap", VirtIOGpgpu, quota.cap, GPGPU_CAP_NONE),
    /* what a driver may rely on; 0: the engine's default */
    DEFINE_PROP_UINT32("max-contexts", VirtIOGpgpu, session.max_contexts, 0),
    DEFINE_PROP_UINT32("max-buffers", VirtIOGpgpu, session.max_buffers, 0),
    DEFINE_PROP_UINT32("max-maps", VirtIOGpgpu, session.max_maps, 0),
    DEFINE_PROP_UINT32("max-programs", VirtIOGpgpu, session.max_programs, 0),
    DEFINE_PROP_UINT32("max-jobs", VirtIOGpgpu, session.max_jobs, 0),
    DEFINE_PROP_UINT32("max-insns", VirtIOGpgpu, session.max_insns, 0),
    DEFINE_PROP_UINT32("max-batch", VirtIOGpgpu, session.max_batch, 0),
    DEFINE_PROP_UINT32("max-stride", VirtIOGpgpu, session.max_stride, 0),
    DEFINE_PROP_SIZE("max-buffer", VirtIOGpgpu, session.max_buffer, 0),
    DEFINE_PROP_SIZE("max-map", VirtIOGpgpu, session.max_map, 0),
    DEFINE_PROP_UINT64("fuel", VirtIOGpgpu, session.fuel, 0),
    /* features */
    DEFINE_PROP_BIT64("packet", VirtIOGpgpu, host_features,
                      VIRTIO_GPGPU_F_PACKET, true),
    DEFINE_PROP_BIT64("device-mem", VirtIOGpgpu, host_features,
                      VIRTIO_GPGPU_F_DEVICE_MEM, true),
};

static void virtio_gpgpu_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    VirtioDeviceClass *vdc = VIRTIO_DEVICE_CLASS(klass);

    device_class_set_props(dc, virtio_gpgpu_properties);
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
    vdc->realize = virtio_gpgpu_realize;
    vdc->unrealize = virtio_gpgpu_unrealize;
    vdc->get_config = virtio_gpgpu_get_config;
    vdc->get_features = virtio_gpgpu_get_features;
    vdc->set_status = virtio_gpgpu_set_status;
    vdc->reset = virtio_gpgpu_reset;
    vdc->queue_reset = virtio_gpgpu_queue_reset;
    vdc->queue_enable = virtio_gpgpu_queue_enable;
    vdc->start_ioeventfd = virtio_gpgpu_start_ioeventfd;
    vdc->stop_ioeventfd = virtio_gpgpu_stop_ioeventfd;
}

static const TypeInfo virtio_gpgpu_info = {
    .name = TYPE_VIRTIO_GPGPU,
    .parent = TYPE_VIRTIO_DEVICE,
    .instance_size = sizeof(VirtIOGpgpu),
    .class_init = virtio_gpgpu_class_init,
};

static void virtio_gpgpu_register_types(void)
{
    type_register_static(&virtio_gpgpu_info);
}

type_init(virtio_gpgpu_register_types)
