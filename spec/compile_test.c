/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compile_test.c - both headers where they are used: C11, GNU C, C++, and the wire header in the kernel.
 *
 * The static assertions of virtio_gpgpu.h are the test; meson.build compiles this file once a language.
 */
#include "virtio_gpgpu.h"
#ifndef __KERNEL__
#include "gpgpu_bpf.h"

#define CHECK(name, condition) typedef char name[(condition) ? 1 : -1]

CHECK(helpers_begin, GPGPU_HELPER_global_id == GPGPU_HELPER_FIRST);
CHECK(helpers_end, GPGPU_HELPER_atomic_fmax64 == GPGPU_HELPER_LAST);
CHECK(pci_id, 0x1040 + VIRTIO_ID_GPGPU <= 0x107f);
/* A range of statuses that a table can be indexed by. */
CHECK(statuses, VIRTIO_GPGPU_S_COUNT == VIRTIO_GPGPU_S_END + 1);

int main(void)
{
	return 0;
}
#endif
