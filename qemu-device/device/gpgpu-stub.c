/*
 * QMP commands for virtio-gpgpu devices in a QEMU without them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-gpgpu.h"

GpgpuInfoList *qmp_query_gpgpu(Error **errp)
{
    return NULL;
}

void qmp_gpgpu_set_quota(const char *id, bool has_weight, uint32_t weight,
                         bool has_cap, uint32_t cap,
                         bool has_memory_limit, uint64_t memory_limit,
                         Error **errp)
{
    error_setg(errp, "no virtio-gpgpu device '%s'", id);
}
