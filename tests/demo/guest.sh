#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The guest's half of the demo, started by tests/demo/demo: does the work, point by point, and
# reports each over the sync channel. A point is a function; its last line of output becomes the
# table's text, all of it is kept in /out/POINT.log.
. /usr/lib/gpgpu/guest.sh

here=/usr/lib/gpgpu
failed=0

# point NAME: runs the function p_NAME (dashes become underscores) and reports how it went.
point() {
	name=$1
	("p_$name") >"/out/$name.log" 2>&1
	status=$?
	cat "/out/$name.log"
	text=$(grep -v '^[[:space:]]*$' "/out/$name.log" | tail -n 1 | tr -s ' ' | tr -d '"\\')
	if [ $status = 0 ]; then
		host_sync "result $name ok $text" >/dev/null
	else
		host_sync "result $name fail ${text:-status $status}" >/dev/null
		failed=1
	fi
}

p_bind() {
	load_driver || return
	set -- /sys/class/accel/accel*
	echo "$# devices, $(uname -sr)"
}

# The first device in full; the second is of the same kind.
p_info() {
	gpgpu info >/tmp/info || return
	sed '/accel1$/,$d' /tmp/info
	echo "$(sed -n 's/^ *device *//p' /tmp/info | head -n 1); kernels for" \
		"$(sed -n 's/^ *target *//p' /tmp/info | head -n 1)"
}

p_user() {
	ls -l /dev/accel/accel0
	as_user gpgpu info >/dev/null || return
	echo "$(as_user id -un), in group $(as_user id -Gn | tr ' ' '\n' | grep render), reads it and runs the kernels below"
}

p_sha256() {
	as_user "$here/gpgpu-demo" --objects "$here" sha256
}

p_matmul() {
	as_user "$here/gpgpu-demo" --objects "$here" matmul
}

p_mandelbrot() {
	as_user "$here/gpgpu-demo" --objects "$here" mandelbrot /tmp/mandelbrot.png || return
	mv /tmp/mandelbrot.png /out/
}

p_histogram() {
	as_user "$here/gpgpu-demo" --objects "$here" histogram
}

p_traffic() {
	sh "$here/demo/traffic.sh" /out/traffic.pcap 10000
}

p_firewall() {
	"$here/packets.sh" firewall /out/traffic.pcap /out
}

p_balancer() {
	"$here/packets.sh" balancer /out/traffic.pcap /out
}

for p in bind info user sha256 matmul mandelbrot histogram traffic firewall balancer; do
	point $p
done

# Quota: both devices are kept busy while the host changes weights and measures.
gpgpu bench --device /dev/accel/accel0 --load &
a=$!
gpgpu bench --device /dev/accel/accel1 --load &
b=$!
host_sync quota >/dev/null || failed=1
kill $a $b 2>/dev/null
wait
exit $failed
