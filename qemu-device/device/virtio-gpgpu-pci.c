/*
 * Virtio GPGPU PCI binding
 *
 * How it works: modern only. BAR 4 is the shared memory, as virtio-gpu does it:
 * MSI-X in BAR 1 and the registers in BAR 2 leave it a 64-bit prefetchable one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "hw/qdev-properties.h"
#include "hw/virtio/virtio-pci.h"
#include "qapi/error.h"
#include "qemu/module.h"
#include "virtio-gpgpu.h"

#define SHM_BAR 4

#define TYPE_VIRTIO_GPGPU_PCI "virtio-gpgpu-pci-base"
OBJECT_DECLARE_SIMPLE_TYPE(VirtIOGpgpuPCI, VIRTIO_GPGPU_PCI)

struct VirtIOGpgpuPCI {
    VirtIOPCIProxy parent_obj;
    VirtIOGpgpu vdev;
};

static const Property virtio_gpgpu_pci_properties[] = {
    DEFINE_PROP_BIT("ioeventfd", VirtIOPCIProxy, flags,
                    VIRTIO_PCI_FLAG_USE_IOEVENTFD_BIT, true),
    DEFINE_PROP_UINT32("vectors", VirtIOPCIProxy, nvectors,
                       DEV_NVECTORS_UNSPECIFIED),
};

static void virtio_gpgpu_pci_realize(VirtIOPCIProxy *vpci_dev, Error **errp)
{
    VirtIOGpgpuPCI *dev = VIRTIO_GPGPU_PCI(vpci_dev);
    VirtIOGpgpu *s = &dev->vdev;

    virtio_gpgpu_auto_queues(s);
    if (vpci_dev->nvectors == DEV_NVECTORS_UNSPECIFIED) {
        /* configuration, control, event, and one per job queue */
        vpci_dev->nvectors = 3 + s->num_compute_queues + s->num_packet_queues;
    }
    vpci_dev->msix_bar_idx = 1;
    vpci_dev->modern_mem_bar_idx = 2;
    virtio_pci_force_virtio_1(vpci_dev);
    if (!qdev_realize(DEVICE(s), BUS(&vpci_dev->bus), errp)) {
        return;
    }
    pci_register_bar(&vpci_dev->pci_dev, SHM_BAR,
                     PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_PREFETCH |
                     PCI_BASE_ADDRESS_MEM_TYPE_64, &s->shm);
    virtio_pci_add_shm_cap(vpci_dev, SHM_BAR, 0, s->shm_size,
                           VIRTIO_GPGPU_SHM_ID);
}

static void virtio_gpgpu_pci_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    VirtioPCIClass *k = VIRTIO_PCI_CLASS(klass);
    PCIDeviceClass *pcidev_k = PCI_DEVICE_CLASS(klass);

    dc->desc = "GPGPU: runs the guest's BPF programs on a share of the host";
    k->realize = virtio_gpgpu_pci_realize;
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
    device_class_set_props(dc, virtio_gpgpu_pci_properties);
    pcidev_k->class_id = VIRTIO_GPGPU_PCI_CLASS;
}

static void virtio_gpgpu_pci_init(Object *obj)
{
    VirtIOGpgpuPCI *dev = VIRTIO_GPGPU_PCI(obj);

    virtio_instance_init_common(obj, &dev->vdev, sizeof(dev->vdev),
                                TYPE_VIRTIO_GPGPU);
}

static const VirtioPCIDeviceTypeInfo virtio_gpgpu_pci_info = {
    .base_name = TYPE_VIRTIO_GPGPU_PCI,
    .non_transitional_name = "virtio-gpgpu-pci",
    .instance_size = sizeof(VirtIOGpgpuPCI),
    .instance_init = virtio_gpgpu_pci_init,
    .class_init = virtio_gpgpu_pci_class_init,
};

static void virtio_gpgpu_pci_register_types(void)
{
    virtio_pci_types_register(&virtio_gpgpu_pci_info);
}

type_init(virtio_gpgpu_pci_register_types)
