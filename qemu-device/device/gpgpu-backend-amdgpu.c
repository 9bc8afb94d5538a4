/*
 * gpgpu-backend-amdgpu: run the work of virtio-gpgpu devices on an AMD GPU
 *
 * How it works: the worker opens the GPU, not QEMU, so that neither its driver
 * nor what it maps comes near the guest's other memory. Each worker has a
 * descriptor of the render node of its own, and with it a GPU address space.
 * What the worker finds there, or why it cannot be used, it says when it starts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "gpgpu-backend.h"

OBJECT_DECLARE_SIMPLE_TYPE(GpgpuBackendAmdgpu, GPGPU_BACKEND_AMDGPU)

struct GpgpuBackendAmdgpu {
    GpgpuBackendWorker parent_obj;

    char *node;                 /* of the GPU; or */
    char *address;              /* neither: the first that will do */
};

static void amdgpu_add_arguments(GpgpuBackendWorker *worker, GPtrArray *argv)
{
    GpgpuBackendAmdgpu *gpu = GPGPU_BACKEND_AMDGPU(worker);
    const char *where = gpu->node ?: gpu->address;

    g_ptr_array_add(argv, g_strdup_printf("--device=amdgpu%s%s",
                                          where ? ":" : "", where ?: ""));
}

static const char *amdgpu_set_property(GpgpuBackendWorker *worker)
{
    GpgpuBackendAmdgpu *gpu = GPGPU_BACKEND_AMDGPU(worker);

    return gpu->node ? "node" : gpu->address ? "address" : NULL;
}

static bool amdgpu_check(GpgpuBackendWorker *worker, Error **errp)
{
    GpgpuBackendAmdgpu *gpu = GPGPU_BACKEND_AMDGPU(worker);

    if (gpu->node && gpu->address) {
        error_setg(errp, "properties 'node' and 'address' exclude each other");
        return false;
    }
    return true;
}

/* String properties: QOM has no shorthand for them without class data */
#define STRING_PROPERTY(field)                                              \
static char *amdgpu_get_##field(Object *obj, Error **errp)                  \
{                                                                           \
    return g_strdup(GPGPU_BACKEND_AMDGPU(obj)->field);                      \
}                                                                           \
                                                                            \
static void amdgpu_set_##field(Object *obj, const char *value, Error **errp) \
{                                                                           \
    GpgpuBackendAmdgpu *gpu = GPGPU_BACKEND_AMDGPU(obj);                    \
                                                                            \
    if (!gpgpu_backend_worker_may_set(obj, #field, errp)) {                 \
        return;                                                             \
    }                                                                       \
    g_free(gpu->field);                                                     \
    gpu->field = g_strdup(value);                                           \
}
STRING_PROPERTY(node)
STRING_PROPERTY(address)

static void gpgpu_backend_amdgpu_finalize(Object *obj)
{
    GpgpuBackendAmdgpu *gpu = GPGPU_BACKEND_AMDGPU(obj);

    g_free(gpu->node);
    g_free(gpu->address);
}

static void gpgpu_backend_amdgpu_class_init(ObjectClass *oc, void *data)
{
    GpgpuBackendWorkerClass *wc = GPGPU_BACKEND_WORKER_CLASS(oc);

    GPGPU_BACKEND_CLASS(oc)->device = "amdgpu";
    wc->add_arguments = amdgpu_add_arguments;
    wc->set_property = amdgpu_set_property;
    wc->check = amdgpu_check;

    object_class_property_add_str(oc, "node", amdgpu_get_node, amdgpu_set_node);
    object_class_property_set_description(oc, "node",
        "the GPU's render node, as /dev/dri/renderD128");
    object_class_property_add_str(oc, "address", amdgpu_get_address,
                                  amdgpu_set_address);
    object_class_property_set_description(oc, "address",
        "the GPU's PCI address, as 0000:03:00.0");
}

static const TypeInfo gpgpu_backend_amdgpu_info = {
    .name = TYPE_GPGPU_BACKEND_AMDGPU,
    .parent = TYPE_GPGPU_BACKEND_WORKER,
    .instance_size = sizeof(GpgpuBackendAmdgpu),
    .instance_finalize = gpgpu_backend_amdgpu_finalize,
    .class_init = gpgpu_backend_amdgpu_class_init,
};

static void gpgpu_backend_amdgpu_register_types(void)
{
    type_register_static(&gpgpu_backend_amdgpu_info);
}

type_init(gpgpu_backend_amdgpu_register_types)
