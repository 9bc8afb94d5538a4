# shellcheck shell=sh
# SPDX-License-Identifier: BSD-3-Clause
#
# For scripts in the guest: . /usr/lib/gpgpu/guest.sh

# host_port NAME: the virtio-serial port of that name (out, sync), or nothing.
host_port() {
	for _p in /sys/class/virtio-ports/*; do
		if [ "$(cat "$_p/name" 2>/dev/null)" = "gpgpu.$1" ]; then
			echo "/dev/${_p##*/}"
			return
		fi
	done
}

# host_sync WORDS...: tells the host and waits for its answer, which goes to standard output.
# The status is not 0 if the host answers "fail" or nobody is there.
host_sync() {
	_port=$(host_port sync)
	[ -n "$_port" ] || return 1
	exec 7<>"$_port"
	echo "$*" >&7
	read -r _answer <&7
	exec 7>&-
	echo "$_answer"
	[ "${_answer%% *}" != fail ]
}

# load_driver: loads the module and waits until the accel node is there for group render.
load_driver() {
	modprobe virtio_gpgpu || return 1
	for _i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		if [ -c /dev/accel/accel0 ]; then
			chgrp render /dev/accel/accel* && chmod 660 /dev/accel/accel*
			return
		fi
		sleep 0.1
	done
	echo "no /dev/accel/accel0 after modprobe virtio_gpgpu" >&2
	return 1
}

# as_user COMMAND...: runs it as the unprivileged user, who is in group render.
as_user() {
	env HOME=/home/user USER=user \
		setpriv --reuid=1000 --regid=1000 --init-groups "$@"
}
