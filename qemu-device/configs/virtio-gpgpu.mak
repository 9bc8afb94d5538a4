# SPDX-License-Identifier: GPL-2.0-or-later
#
# The devices of our QEMU: two PC machines, what the guest tests need, and
# virtio-gpgpu itself. Everything else is left out, which halves the build.

CONFIG_Q35=y
CONFIG_I440FX=y
CONFIG_SERIAL_ISA=y
CONFIG_ISA_DEBUG=y

CONFIG_PCIE_PORT=y
CONFIG_IOH3420=y
CONFIG_VTD=y

CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_NET=y
CONFIG_VIRTIO_BLK=y
CONFIG_VIRTIO_SERIAL=y
CONFIG_VIRTIO_RNG=y
CONFIG_VIRTIO_IOMMU=y
CONFIG_VIRTIO_GPGPU=y
