/*
 * The wire format of virtio-gpgpu, for QEMU
 *
 * spec/virtio_gpgpu.h is shared with the guest driver and the engine and takes
 * __le32 and friends from <linux/types.h>. QEMU's standard headers define the
 * same names as macros, in whatever order files include them, so they are put
 * aside here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_VIRTIO_GPGPU_WIRE_H
#define HW_VIRTIO_GPGPU_WIRE_H

#pragma push_macro("__le16")
#pragma push_macro("__le32")
#pragma push_macro("__le64")
#pragma push_macro("__be16")
#pragma push_macro("__be32")
#pragma push_macro("__be64")
#undef __le16
#undef __le32
#undef __le64
#undef __be16
#undef __be32
#undef __be64
#include <linux/types.h>
#include "standard-headers/linux/virtio_gpgpu.h"
#pragma pop_macro("__le16")
#pragma pop_macro("__le32")
#pragma pop_macro("__le64")
#pragma pop_macro("__be16")
#pragma pop_macro("__be32")
#pragma pop_macro("__be64")

#endif
