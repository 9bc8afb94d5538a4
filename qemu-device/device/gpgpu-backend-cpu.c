/*
 * gpgpu-backend-cpu: run the work of virtio-gpgpu devices on host CPUs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "gpgpu-backend.h"

OBJECT_DECLARE_SIMPLE_TYPE(GpgpuBackendCpu, GPGPU_BACKEND_CPU)

#define THREADS_MAX     256

struct GpgpuBackendCpu {
    GpgpuBackendWorker parent_obj;

    uint32_t threads;           /* 0: one per host CPU */
};

static void cpu_add_arguments(GpgpuBackendWorker *worker, GPtrArray *argv)
{
    g_ptr_array_add(argv, g_strdup_printf("--threads=%" PRIu32,
                                          GPGPU_BACKEND_CPU(worker)->threads));
}

static const char *cpu_set_property(GpgpuBackendWorker *worker)
{
    return GPGPU_BACKEND_CPU(worker)->threads ? "threads" : NULL;
}

static bool cpu_check(GpgpuBackendWorker *worker, Error **errp)
{
    GpgpuBackendCpu *cpu = GPGPU_BACKEND_CPU(worker);

    if (cpu->threads > THREADS_MAX) {
        error_setg(errp, "property 'threads': %" PRIu32 " is more than %d",
                   cpu->threads, THREADS_MAX);
        return false;
    }
    return true;
}

static void cpu_get_threads(Object *obj, Visitor *v, const char *name,
                            void *opaque, Error **errp)
{
    visit_type_uint32(v, name, &GPGPU_BACKEND_CPU(obj)->threads, errp);
}

static void cpu_set_threads(Object *obj, Visitor *v, const char *name,
                            void *opaque, Error **errp)
{
    GpgpuBackendCpu *cpu = GPGPU_BACKEND_CPU(obj);
    uint32_t threads;

    if (!visit_type_uint32(v, name, &threads, errp) ||
        !gpgpu_backend_worker_may_set(obj, "threads", errp)) {
        return;
    }
    cpu->threads = threads;
}

static void gpgpu_backend_cpu_class_init(ObjectClass *oc, void *data)
{
    GpgpuBackendWorkerClass *wc = GPGPU_BACKEND_WORKER_CLASS(oc);

    wc->add_arguments = cpu_add_arguments;
    wc->set_property = cpu_set_property;
    wc->check = cpu_check;

    object_class_property_add(oc, "threads", "uint32", cpu_get_threads,
                              cpu_set_threads, NULL, NULL);
    object_class_property_set_description(oc, "threads",
        "threads that run the guests' programs; 0: one per host CPU");
}

static const TypeInfo gpgpu_backend_cpu_info = {
    .name = TYPE_GPGPU_BACKEND_CPU,
    .parent = TYPE_GPGPU_BACKEND_WORKER,
    .instance_size = sizeof(GpgpuBackendCpu),
    .class_init = gpgpu_backend_cpu_class_init,
};

static void gpgpu_backend_cpu_register_types(void)
{
    type_register_static(&gpgpu_backend_cpu_info);
}

type_init(gpgpu_backend_cpu_register_types)
