#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Two devices on one AMD GPU that gets into trouble (`trouble` on the host sees to that): what users are told, and
# that everything works again afterwards. TAP.
. /usr/lib/gpgpu/guest.sh
. /usr/lib/gpgpu/tap.sh

here=/usr/lib/gpgpu
busy=$here/tests/objects/busy.bpf.o
first=/dev/accel/accel0
second=/dev/accel/accel1
long="--grid 16777216 rounds=200 out=+2048"
cd /tmp || exit 1

# host NAME WORDS...: what the host has to do, or finds right.
host() {
	name=$1
	shift
	host_sync "$@" >/tmp/log
	result $? "$name"
}

# compute NODE: a kernel's result, each word of it.
compute() {
	rm -f out
	gpgpu run --device "$1" "$busy:busy" --grid 256 rounds=100 out=+2048 'out>@out' || return
	[ "$(od -A n -t u8 -w8 -v out | tr -d ' ' | sort | uniq -c | tr -s ' ')" = " 256 101" ]
}

# packets NODE: the firewall, on a hundred frames that it drops, with the counters in its maps.
packets() {
	rm -f maps
	gpgpu pkt --device "$1" --quiet --config "$here/firewall.conf" --maps-out maps "$here/xdp_firewall.bpf.o" \
		in.pcap out.pcap || return
	grep -q '^counters 00000000 64000000000000007805000000000000$' maps
}

# ready: waits for another worker.
ready() {
	for _i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
		gpgpu info >/tmp/info 2>&1 && ! grep -q "No such device" /tmp/info && return
		sleep 1
	done
}

# all_works WHEN
all_works() {
	for node in $first $second; do
		works "$1: kernels on $node" compute $node
		works "$1: packets on $node" packets $node
	done
}

# under_load NAME TEXT WORDS...: the host does that while a kernel runs, and its user is told TEXT.
under_load() {
	name=$1 text=$2
	shift 2
	# shellcheck disable=SC2086
	gpgpu run --device $first "$busy:busy" $long >/tmp/run.log 2>&1 &
	pid=$!
	host_sync jobs >/tmp/log || echo "the kernel does not begin" >&2
	host_sync "$@" >/tmp/log
	result $? "$name: $*"
	wait $pid
	status=$?
	cp /tmp/run.log /tmp/log
	[ $status = 1 ] && [ "$(wc -l </tmp/log)" = 1 ] && grep -q -- "$text" /tmp/log
	result $? "$name: whose kernel ran is told"
}

frames 100 >in.pcap
load_driver || exit 1
all_works "before"

says "a kernel without an end" "too many instructions executed" \
	gpgpu run --device $first "$busy:endless" --grid 128 out=+8
host "a kernel without an end: no loss" same
all_works "after it"

# The card is reset and keeps its memory: who ran something is told, the worker goes on.
under_load "reset, guilty" "device lost: it was reset" sim reset guilty
all_works "after it"
under_load "reset, innocent" "device lost: it was reset" sim reset innocent
all_works "after it"
under_load "hang" "device lost: it was reset" hang
all_works "after it"
host "resets: no device was lost" same

# One device's user has the card reset again and again, the other's work goes on.
while [ ! -e /tmp/stop ]; do
	if compute $second >/tmp/second.log 2>&1; then
		echo good
	elif grep -q "device lost: it was reset" /tmp/second.log; then
		echo lost
	else
		cat /tmp/second.log
	fi
done >/tmp/neighbour &
neighbour=$!
for _i in 1 2 3; do
	under_load "neighbours" "device lost: it was reset" sim reset guilty
	had=$(grep -c good /tmp/neighbour)
	for _j in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		[ "$(grep -c good /tmp/neighbour)" -gt $((had + 1)) ] && break
		sleep 1
	done
	cp /tmp/neighbour /tmp/log
	[ "$(grep -c good /tmp/neighbour)" -gt $((had + 1)) ]
	result $? "neighbours: the other one goes on"
done
touch /tmp/stop
wait $neighbour
cp /tmp/neighbour /tmp/log
! grep -qvE '^(good|lost)$' /tmp/neighbour && [ "$(grep -c lost /tmp/neighbour)" -le 3 ]
result $? "neighbours: and lost at most what ran ($(grep -c good /tmp/neighbour) good, $(grep -c lost /tmp/neighbour) lost)"
host "neighbours: no device was lost" same

# What the card remembers is gone, or it does not come back: the worker is another then.
under_load "memory lost, innocent" "device lost: " sim reset innocent vram-lost
host "memory lost, innocent: the event" event innocent "its memory is lost"
ready
all_works "after it"
under_load "memory lost, guilty" "device lost: " sim reset guilty vram-lost
host "memory lost, guilty: the event" event guilty "its memory is lost"
ready
all_works "after it"
under_load "hang without a reset" "device lost: " sim hang
host "hang without a reset: the event" event guilty "does not end"
ready
all_works "after it"

under_load "unplugged" "device lost: " unplug
host "unplugged: the event" event gone "is gone"
says "unplugged: no kernels" "No such device" compute $first
says "unplugged: no packets" "No such device" packets $second
host "unplugged: QEMU is there" running
host "plugged in again" plug
ready
all_works "after it"
! dmesg | grep -E 'BUG|WARNING|Oops|Call Trace' >/tmp/log
result $? "the kernel has nothing to complain of"
plan
