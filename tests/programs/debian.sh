#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# debian.sh - the guest's half of tests/programs/debian. Every line of /job/list is an object, a program in
# it, and options for both tools; the program is tried on the device, and where it loads, it is compared on
# /job/sample.pcap with what the kernel makes of it. The host is told "result OBJECT PROGRAM OUTCOME".
. /usr/lib/gpgpu/guest.sh
. /usr/lib/gpgpu/programs/compare.sh

work=/tmp/debian
mkdir -p $work

# The last line that a tool said, less its own name and the object's.
said() {
	tail -n 1 $work/log | sed 's|^[a-z-]*: ||; s|^/job/[^ ]*: ||'
}

outcome() {	# OBJECT PROGRAM OPTIONS...
	object=/job/$1:$2
	shift 2
	rm -f $work/*
	if ! gpgpu pkt --quiet --order all "$@" --results $work/device.results --maps-out $work/device.maps \
		"$object" /job/sample.pcap $work/device.pcap >$work/log 2>&1; then
		echo "refused: $(said)"
	elif ! gpgpu-oracle "$@" --save $work/kernel "$object" /job/sample.pcap >$work/log 2>&1; then
		echo "loads; the kernel: $(said)"
	elif ! compare rbm '^rx_cnt' $work/device $work/kernel >$work/log 2>&1; then
		# The verdicts of a frame; which frame and how long it is are the capture's.
		head -n 1 $work/log | sed -e 's/^/differs: /' \
			-e 's/kernel: [0-9]* \([A-Z]*\) [0-9]*; device: [0-9]* \([A-Z]*\) .*/\1 in the kernel, \2 here/'
	else
		echo "runs"
	fi
}

load_driver || exit
while read -r object program options; do
	# An option's words have no blanks but in entries of maps, which are written with "~" for them.
	set --
	for word in $options; do
		set -- "$@" "$(echo "$word" | tr '~' ' ')"
	done
	host_sync "result $object $program $(outcome "$object" "$program" "$@" </dev/null)" >/dev/null
done </job/list
