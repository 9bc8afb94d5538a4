/*
 * gpgpu-backend-cuda: run the work of virtio-gpgpu devices on an NVIDIA GPU
 *
 * How it works: the worker loads NVIDIA's driver library and makes a context
 * on the GPU, not QEMU, so that none of it comes near the guest's other
 * memory, and a fault of one guest's program ends that guest's worker alone.
 * What the worker finds, or why it cannot be used, it says when it starts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "gpgpu-backend.h"

OBJECT_DECLARE_SIMPLE_TYPE(GpgpuBackendCuda, GPGPU_BACKEND_CUDA)

struct GpgpuBackendCuda {
    GpgpuBackendWorker parent_obj;

    bool has_index;
    uint32_t index;             /* of the GPU, in the order of the bus; or */
    char *uuid;                 /* neither: the first that will do */
};

static void cuda_add_arguments(GpgpuBackendWorker *worker, GPtrArray *argv)
{
    GpgpuBackendCuda *gpu = GPGPU_BACKEND_CUDA(worker);

    if (gpu->uuid) {
        g_ptr_array_add(argv, g_strdup_printf("--device=cuda:%s", gpu->uuid));
    } else if (gpu->has_index) {
        g_ptr_array_add(argv, g_strdup_printf("--device=cuda:%" PRIu32,
                                              gpu->index));
    } else {
        g_ptr_array_add(argv, g_strdup("--device=cuda"));
    }
}

static const char *cuda_set_property(GpgpuBackendWorker *worker)
{
    GpgpuBackendCuda *gpu = GPGPU_BACKEND_CUDA(worker);

    return gpu->has_index ? "index" : gpu->uuid ? "uuid" : NULL;
}

static bool cuda_check(GpgpuBackendWorker *worker, Error **errp)
{
    GpgpuBackendCuda *gpu = GPGPU_BACKEND_CUDA(worker);

    if (gpu->has_index && gpu->uuid) {
        error_setg(errp, "properties 'index' and 'uuid' exclude each other");
        return false;
    }
    return true;
}

static void cuda_get_index(Object *obj, Visitor *v, const char *name,
                           void *opaque, Error **errp)
{
    visit_type_uint32(v, name, &GPGPU_BACKEND_CUDA(obj)->index, errp);
}

static void cuda_set_index(Object *obj, Visitor *v, const char *name,
                           void *opaque, Error **errp)
{
    GpgpuBackendCuda *gpu = GPGPU_BACKEND_CUDA(obj);
    uint32_t value;

    if (!gpgpu_backend_worker_may_set(obj, name, errp) ||
        !visit_type_uint32(v, name, &value, errp)) {
        return;
    }
    gpu->index = value;
    gpu->has_index = true;
}

static char *cuda_get_uuid(Object *obj, Error **errp)
{
    return g_strdup(GPGPU_BACKEND_CUDA(obj)->uuid);
}

static void cuda_set_uuid(Object *obj, const char *value, Error **errp)
{
    GpgpuBackendCuda *gpu = GPGPU_BACKEND_CUDA(obj);

    if (!gpgpu_backend_worker_may_set(obj, "uuid", errp)) {
        return;
    }
    /* The worker would take anything else for a number or an address. */
    if (!g_str_has_prefix(value, "GPU-")) {
        error_setg(errp, "property 'uuid' wants GPU-..., as nvidia-smi -L "
                   "shows it");
        return;
    }
    g_free(gpu->uuid);
    gpu->uuid = g_strdup(value);
}

static void gpgpu_backend_cuda_finalize(Object *obj)
{
    g_free(GPGPU_BACKEND_CUDA(obj)->uuid);
}

static void gpgpu_backend_cuda_class_init(ObjectClass *oc, void *data)
{
    GpgpuBackendWorkerClass *wc = GPGPU_BACKEND_WORKER_CLASS(oc);

    GPGPU_BACKEND_CLASS(oc)->device = "cuda";
    wc->add_arguments = cuda_add_arguments;
    wc->set_property = cuda_set_property;
    wc->check = cuda_check;

    object_class_property_add(oc, "index", "uint32", cuda_get_index,
                              cuda_set_index, NULL, NULL);
    object_class_property_set_description(oc, "index",
        "the GPU's number, in the order of the bus");
    object_class_property_add_str(oc, "uuid", cuda_get_uuid, cuda_set_uuid);
    object_class_property_set_description(oc, "uuid",
        "the GPU's UUID, as nvidia-smi -L shows it");
}

static const TypeInfo gpgpu_backend_cuda_info = {
    .name = TYPE_GPGPU_BACKEND_CUDA,
    .parent = TYPE_GPGPU_BACKEND_WORKER,
    .instance_size = sizeof(GpgpuBackendCuda),
    .instance_finalize = gpgpu_backend_cuda_finalize,
    .class_init = gpgpu_backend_cuda_class_init,
};

static void gpgpu_backend_cuda_register_types(void)
{
    type_register_static(&gpgpu_backend_cuda_info);
}

type_init(gpgpu_backend_cuda_register_types)
