/*
 * HMP command for virtio-gpgpu devices
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "monitor/hmp.h"
#include "monitor/monitor.h"
#include "qapi/qapi-commands-gpgpu.h"
#include "qobject/qdict.h"

void hmp_info_gpgpu(Monitor *mon, const QDict *qdict)
{
    g_autoptr(GpgpuInfoList) list = qmp_query_gpgpu(NULL);
    GpgpuInfoList *item;

    for (item = list; item; item = item->next) {
        GpgpuInfo *info = item->value;

        monitor_printf(mon, "%s: %s, generation %" PRIu32 ", %s\n",
                       info->id ?: info->qom_path,
                       GpgpuState_str(info->state), info->generation,
                       info->device);
        monitor_printf(mon, "  weight %" PRIu32 ", cap %" PRIu32 "/10000, "
                       "memory %" PRIu64 " of %" PRIu64 " bytes, at most %"
                       PRIu64 "\n", info->weight, info->cap, info->memory,
                       info->memory_limit, info->memory_max);
        monitor_printf(mon, "  device %" PRIu64 " ns, waited %" PRIu64
                       " ns, throttled %" PRIu64 " ns, jobs %" PRIu64
                       ", faults %" PRIu64 "\n", info->device_time,
                       info->waited_time, info->throttled_time, info->jobs,
                       info->faults);
        monitor_printf(mon, "  packets %" PRIu64 ", bytes %" PRIu64
                       " (aborted %" PRIu64 ", drop %" PRIu64 ", pass %" PRIu64
                       ", tx %" PRIu64 ", redirect %" PRIu64 ")\n",
                       info->packets, info->bytes, info->verdicts->aborted,
                       info->verdicts->drop, info->verdicts->pass,
                       info->verdicts->tx, info->verdicts->redirect);
    }
}
