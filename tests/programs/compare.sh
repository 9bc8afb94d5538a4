# shellcheck shell=sh
# SPDX-License-Identifier: BSD-3-Clause
#
# compare.sh - what gpgpu pkt and gpgpu-oracle --save made of one capture: are they the same? For scripts in
# the guest.

# same A B: are the files of lines the same; the first that differs goes to standard output
same() {
	cmp -s "$1" "$2" && return
	n=$(cmp "$1" "$2" 2>&1 | sed 's/.*line //')
	echo "kernel: $(sed -n "${n}p" "$1"); device: $(sed -n "${n}p" "$2")"
	return 1
}

# compare WHAT PATTERN DEVICE KERNEL: the device's files (DEVICE.results, .pcap, .maps) against the
# kernel's. WHAT and PATTERN are columns of the table `cases`.
compare() {
	what=$1 pattern=$2 device=$3 kernel=$4 r=0
	case $what in *r*)
		# verdict and length; ports and faults are the device's own
		cut -d ' ' -f 1-3 "$device.results" >"$device.r"
		cut -d ' ' -f 1-3 "$kernel.results" >"$kernel.r"
		same "$kernel.r" "$device.r" || r=1
	esac
	case $what in *b*)
		cmp "$kernel.pcap" "$device.pcap" || r=1
	esac
	# Constants that nobody reads are no map on the device.
	case $what in *m*)
		grep -Ev "^.rodata|$pattern" "$device.maps" | sort >"$device.m"
		grep -Ev "^.rodata|$pattern" "$kernel.maps" | sort >"$kernel.m"
		same "$kernel.m" "$device.m" || r=1
	esac
	return $r
}
