/*
 * QMP and HMP commands for virtio-gpgpu devices
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-gpgpu.h"
#include "virtio-gpgpu.h"

static GpgpuState gpgpu_state(VirtIOGpgpu *s)
{
    if (s->session.open) {
        return GPGPU_STATE_READY;
    }
    return s->session.backend->state == GPGPU_BACKEND_FAILED ?
        GPGPU_STATE_FAILED : GPGPU_STATE_LOST;
}

static void gpgpu_add_info(VirtIOGpgpu *s, void *opaque)
{
    GpgpuInfoList ***tail = opaque;
    GpgpuSession *session = &s->session;
    GpgpuBackend *backend = session->backend;
    GpgpuInfo *info = g_new0(GpgpuInfo, 1);
    struct gpgpu_ring_stats stats;

    gpgpu_session_stats(session, &stats);
    info->id = g_strdup(virtio_gpgpu_id(s));
    info->qom_path = object_get_canonical_path(OBJECT(s));
    info->backend = object_get_canonical_path(OBJECT(backend));
    info->device = g_strdup(backend->device);
    info->threads = backend->threads;
    info->state = gpgpu_state(s);
    info->generation = s->generation;
    info->has_worker_pid = session->open;
    info->worker_pid = backend->worker_pid;
    info->weight = session->quota.weight;
    info->cap = session->quota.cap;
    info->memory_limit = session->quota.memory_limit;
    info->memory = stats.memory;
    info->memory_max = stats.memory_max;
    info->shm_size = s->shm_size;
    info->device_time = stats.device_ns;
    info->waited_time = stats.waited_ns;
    info->throttled_time = stats.throttled_ns;
    info->jobs = stats.jobs;
    info->packets = stats.packets;
    info->bytes = stats.bytes;
    info->verdicts = g_new0(GpgpuVerdicts, 1);
    info->verdicts->aborted = stats.verdicts[0];
    info->verdicts->drop = stats.verdicts[1];
    info->verdicts->pass = stats.verdicts[2];
    info->verdicts->tx = stats.verdicts[3];
    info->verdicts->redirect = stats.verdicts[4];
    info->faults = stats.faults;
    info->compiles = stats.compiles;
    info->compile_time = stats.compile_ns;
    info->rejected = stats.rejected;
    QAPI_LIST_APPEND(*tail, info);
}

GpgpuInfoList *qmp_query_gpgpu(Error **errp)
{
    GpgpuInfoList *list = NULL, **tail = &list;

    virtio_gpgpu_foreach(gpgpu_add_info, &tail);
    return list;
}

void qmp_gpgpu_set_quota(const char *id, bool has_weight, uint32_t weight,
                         bool has_cap, uint32_t cap,
                         bool has_memory_limit, uint64_t memory_limit,
                         Error **errp)
{
    VirtIOGpgpu *s = virtio_gpgpu_find(id, errp);
    GpgpuQuota quota;

    if (!s) {
        return;
    }
    quota = s->session.quota;
    if (has_weight) {
        quota.weight = weight;
    }
    if (has_cap) {
        quota.cap = cap;
    }
    if (has_memory_limit) {
        quota.memory_limit = memory_limit;
    }
    if (virtio_gpgpu_check_quota(&quota, errp)) {
        gpgpu_session_set_quota(&s->session, &quota, errp);
    }
}
