#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The device is lost under load: its worker dies, it hangs, it is unplugged (`lost` on the host does it).
. /usr/lib/gpgpu/guest.sh

test=/usr/lib/gpgpu/tests/ioctl_test
load_driver || exit 1
LOSE='. /usr/lib/gpgpu/guest.sh; host_sync kill-worker' "$test" lost || exit 1
LOSE='. /usr/lib/gpgpu/guest.sh; host_sync stop-worker' "$test" hung || exit 1

# Several users at work, whose tests fail of course, while workers die and the driver comes and goes.
work() {
	while [ ! -e /tmp/stop ]; do
		"$test" "$@" >/dev/null 2>&1
	done
}
for part in fuzz files jobs processes fences; do
	work $part &
done
for _i in 1 2 3 4 5; do
	sleep 1
	host_sync kill-worker
done
driver=/sys/bus/virtio/drivers/virtio_gpgpu
dev=$(basename "$driver"/virtio*)
for i in 1 3 5 7 9; do
	echo "$dev" >"$driver/unbind"
	sleep 0.2
	echo "$dev" >"$driver/bind"
	sleep 0.$i
done
touch /tmp/stop
wait
rmmod virtio_gpgpu || { sleep 5; rmmod virtio_gpgpu || exit 1; }
load_driver || exit 1
"$test" jobs fences files || exit 1

LOSE='. /usr/lib/gpgpu/guest.sh; host_sync unplug' "$test" unplug || exit 1
rmmod virtio_gpgpu || exit 1
! dmesg | grep -E 'BUG|WARNING|Oops|Call Trace|refcount|leak|protection fault|not clean during takedown'
