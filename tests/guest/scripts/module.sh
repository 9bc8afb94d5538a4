#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The kernel module: every call of the node as an unprivileged user, then what only root can do to
# it: unloading it while it is in use, taking the device away, loading it again and again.
. /usr/lib/gpgpu/guest.sh

failed=0
check() {
	if "$@"; then
		echo "# $* passed"
	else
		echo "# $* failed"
		failed=1
	fi
}

quietly() {
	"$@" >/tmp/log || { grep -v '^ok' /tmp/log; return 1; }
}

test=/usr/lib/gpgpu/tests/ioctl_test
load_driver || exit 1

check as_user "$test"
check "$test" watchdog
[ ! -w /sys/power/pm_test ] || check "$test" suspend
check "$test" unbind

# While a file is open the module must refuse to go.
node=$(echo /dev/accel/accel*)
exec 9<>"$node"
rmmod virtio_gpgpu 2>/dev/null && { echo "# unloaded while in use"; failed=1; }
exec 9>&-
for _i in 1 2 3 4 5; do
	check rmmod virtio_gpgpu
	check modprobe virtio_gpgpu
	check quietly "$test" jobs
done
check rmmod virtio_gpgpu

# What the kernel itself objects to, whatever the test said.
if dmesg | grep -E 'BUG|WARNING|Oops|Call Trace|refcount|leak|protection fault|not clean during takedown'; then
	echo "# the kernel complained"
	failed=1
fi
exit $failed
