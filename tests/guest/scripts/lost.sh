#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The device is lost under load: its worker dies, it hangs, it is unplugged (`lost` on the host does it).
. /usr/lib/gpgpu/guest.sh

test=/usr/lib/gpgpu/tests/ioctl_test
load_driver || exit 1
LOSE='. /usr/lib/gpgpu/guest.sh; host_sync kill-worker' "$test" lost || exit 1
LOSE='. /usr/lib/gpgpu/guest.sh; host_sync stop-worker' "$test" hung || exit 1
LOSE='. /usr/lib/gpgpu/guest.sh; host_sync unplug' "$test" unplug || exit 1
rmmod virtio_gpgpu || exit 1
! dmesg | grep -E 'BUG|WARNING|Oops|Call Trace|refcount|leak|protection fault|not clean during takedown'
