#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# guest.sh SIZE FRAMES [capture] - the guest's half of tests/programs/programs: the capture, then the cases.
#
# /dev/vda is the capture that an earlier run left, SIZE bytes; 0: none yet, so it is made (at least MINIMUM
# frames) and put there. Each case of the table `cases` runs on the device; what the kernel makes of the
# same capture with the same settings is computed beside that, once for each setting and somewhat ahead, and
# the files are compared. Every result is told to the host as "result NAME ok|fail TEXT".
. /usr/lib/gpgpu/guest.sh
. /usr/lib/gpgpu/programs/compare.sh

size=${1:?}
frames=${2:?}
only=${3:-} # "capture": the cases are another day's
here=/usr/lib/gpgpu
work=/tmp/programs
capture=$work/capture.pcap
failed=0
mkdir -p $work

report() {	# NAME ok|fail TEXT...
	[ "$2" = ok ] || failed=1
	host_sync "result $*" >/dev/null
}

get_capture() {
	if [ "$size" -gt 0 ]; then
		head -c "$size" /dev/vda >$capture && echo "kept from an earlier run"
		return
	fi
	for m in vxlan ipip ip6_tunnel; do
		modprobe $m || return
	done
	sh $here/programs/traffic.sh $capture "$frames" || return
	dd if=$capture of=/dev/vda bs=1M conv=notrunc 2>/dev/null && sync || return
	host_sync "size $(stat -c %s $capture)" >/dev/null
}

# Where the kernel's files are for a case: PROGRAM [MAP ENTRY].
reference() {
	echo "$work/kernel-$1-$(echo "$*" | sha256sum | cut -c 1-16)"
}

kernel() {	# TO PROGRAM [MAP ENTRY]
	to=$1 p=$2
	shift 2
	gpgpu-oracle --config "$here/$p.conf" ${1:+--map "$1" "$2"} --save "$to" "$here/xdp_$p.bpf.o" $capture
}

device() {	# PROGRAM ORDER TO [MAP ENTRY]
	p=$1 order=$2 to=$3
	shift 3
	gpgpu pkt --order "$order" --config "$here/$p.conf" ${1:+--map "$1" "$2"} --results "$to.results" \
		--maps-out "$to.maps" "$here/xdp_$p.bpf.o" $capture "$to.pcap"
}

# kernels: all that the cases need of the kernel, in their order, at most three ahead, since they are large.
kernels() {
	seen=
	while read -r program name order what pattern map entry; do
		case $program in '' | '#'*) continue ;; esac
		to=$(reference "$program" ${map:+"$map" "$entry"})
		case $seen in *"$to "*) continue ;; esac
		seen="$seen$to "
		while [ "$(cat $work/kernel-*.status 2>/dev/null | wc -l)" -ge 3 ]; do sleep 0.2; done
		kernel "$to" "$program" ${map:+"$map" "$entry"} >"$to.log" 2>&1 </dev/null
		echo $? >"$to.status"
	done <$here/programs/cases
}

run_case() {	# PROGRAM NAME ORDER WHAT PATTERN [MAP ENTRY]
	program=$1 order=$3 what=$4 pattern=$5
	shift 5
	reference=$(reference "$program" "$@")
	if [ "$program" != "$previous" ]; then
		rm -f "$work/kernel-$previous"-*
	fi
	rm -f $work/device.*
	device "$program" "$order" $work/device "$@" >$work/device.sum || return
	while [ ! -e "$reference.status" ]; do sleep 0.2; done
	if [ "$(cat "$reference.status")" != 0 ]; then
		tail -n 1 "$reference.log"
		return 1
	fi
	[ "$pattern" = - ] && pattern='^$'
	compare "$what" "$pattern" $work/device "$reference" || return
	# What was compared, in numbers: frames of each verdict, bytes, entries of maps.
	echo "$(awk '$1 ~ /^[A-Z]+$/ && $2 != 0 { print $2, $1 }' $work/device.sum | tr '\n' ' ')" \
		"- $(wc -c <"$reference.pcap") bytes, $(wc -l <"$reference.maps") map entries"
}

load_driver || exit
modprobe virtio_blk
[ -b /dev/vda ] || exit
if get_capture >$work/log 2>&1; then
	report capture ok "$(tail -n 1 $work/log), $(stat -c %s $capture) bytes"
else
	report capture fail "$(tail -n 1 $work/log)"
	exit 1
fi

[ "$only" = capture ] && exit
kernels &
previous=
while read -r program name order what pattern map entry; do
	case $program in '' | '#'*) continue ;; esac
	if run_case "$program" "$name" "$order" "$what" "$pattern" ${map:+"$map" "$entry"} >$work/log 2>&1 </dev/null; then
		report "$program-$name" ok "$(tail -n 1 $work/log)"
	else
		report "$program-$name" fail "$(head -c 300 $work/log | tr '\n' ' ')"
	fi
	previous=$program
done <$here/programs/cases
exit $failed
