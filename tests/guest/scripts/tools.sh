#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The gpgpu command on a device: what it computes, what it leaves behind when it fails, what it says. TAP.
. /usr/lib/gpgpu/guest.sh
. /usr/lib/gpgpu/tap.sh

here=/usr/lib/gpgpu
work=$(mktemp -d)
cd "$work" || exit 1

# refused NAME TEXT COMMAND...: status 1, one line that has TEXT, no file that was not there before.
refused() {
	name=$1 text=$2
	shift 2
	ls -A >/tmp/before
	"$@" >/tmp/log 2>&1
	status=$?
	ls -A >/tmp/after
	[ $status = 1 ] && [ "$(wc -l </tmp/log)" = 1 ] && grep -qF -- "$text" /tmp/log && cmp -s /tmp/before /tmp/after
	result $? "$name"
}

load_driver || exit 1

works "info" gpgpu info
works "info as JSON" gpgpu info -j
works "top" gpgpu top --count 1
printf '\000\000\200\077\000\000\000\100' >x
works "run" gpgpu run "$here/saxpy.bpf.o" --grid 2 x=@x y=+8 a=f32:3 'y>@y'
[ "$(od -A n -t x1 y)" = " 00 00 40 40 00 00 c0 40" ]
result $? "the file has 3 * 1 and 3 * 2"
works "run with a group and the kernel's name" \
	gpgpu run "$here/saxpy.bpf.o:saxpy" --grid 2,1,1 --group 2 x=@x y=@y a=f32:1 'y>@y'
[ "$(od -A n -t x1 y)" = " 00 00 80 40 00 00 00 41" ]
result $? "a file may be read and written"

works "run with numbers in, a table out, and times" \
	gpgpu run "$here/saxpy.bpf.o" --grid 4 x=f32:1,2,3,4 y=f32:4*0.5 a=f32:2 --times 'y>f32:csv:2@y.csv' 'y>f32:text@y.txt'
[ "$(cat y.csv)" = "2.5,4.5
6.5,8.5" ] && [ "$(wc -l <y.txt)" = 4 ]
result $? "both files have them"
[ "$(grep -Ec '^  (load|fill|run|write) +[0-9.]+ ms' /tmp/log)" = 4 ]
result $? "a line for each phase"
# A blinker turns: from a row to a column.
works "run to a picture, checked on another device" gpgpu run "$here/life.bpf.o" --grid 5,5 --check=/dev/accel/accel0 \
	from=0,0,0,0,0,0,0,0,0,0,0,1,1,1,0,0,0,0,0,0,0,0,0,0,0 to=+25 'to>pgm:5:0:1@life.pgm' 'to>csv@life.csv' \
	'to>png@life.png'
[ "$(tr '\n' ' ' <life.csv)" = "0,0,0,0,0 0,0,1,0,0 0,0,1,0,0 0,0,1,0,0 0,0,0,0,0 " ]
result $? "the blinker has turned"
[ "$(head -c 11 life.pgm | tr '\n' ' ')" = "P5 5 5 255 " ] && [ "$(od -A n -t u1 -j 18 -N 1 life.pgm | tr -d ' ')" = 255 ] &&
	[ "$(head -c 4 life.png | od -A n -c | tr -d ' ')" = '211PNG' ]
result $? "the pictures are pictures"
grep -q '^checked: /dev/accel/accel0 (.*) has the same bytes' /tmp/log
result $? "the check says with what"
refused "a check without another device" "is itself a CPU device, and there is no other" \
	gpgpu run "$here/life.bpf.o" --grid 2,2 --check from=4*1 to=+4 'to>@z'
# What a clock says is another thing each time.
refused "a check that finds a difference" "of 64 elements (u64) differ: number" \
	gpgpu run "$here/tests/objects/kernels.bpf.o:clock" --grid 64 --check=/dev/accel/accel0 out=+512 'out>@z'
refused "a picture that is not whole" "make no picture of width 3" \
	gpgpu run "$here/life.bpf.o" --grid 2,2 from=4*1 to=+4 'to>png:3@z'
refused "run without a kernel" "no kernel given" gpgpu run --grid 1
refused "run on a file that is missing" "No such file" gpgpu run nothing.o --grid 1
refused "run on a file that is no object" "not an ELF file" gpgpu run x --grid 1
refused "no such kernel" "has no program 'other'" gpgpu run "$here/saxpy.bpf.o:other" --grid 1
refused "an XDP program is no kernel" "has no compute kernel" gpgpu run "$here/xdp_lb.bpf.o" --grid 1
refused "an argument is missing" "'a' of kernel 'saxpy' (a value) is not given" \
	gpgpu run "$here/saxpy.bpf.o" --grid 2 x=@x y=+8
refused "an argument is unknown" "no argument 'z'" gpgpu run "$here/saxpy.bpf.o" --grid 2 z=1
refused "an argument is no number" "is not a number" gpgpu run "$here/saxpy.bpf.o" --grid 2 a=f32:x
refused "a buffer is given as a number" "is a buffer" gpgpu run "$here/saxpy.bpf.o" --grid 2 x=1
refused "a buffer's file is missing" "No such file" gpgpu run "$here/saxpy.bpf.o" --grid 2 x=@nothing
refused "a kernel that faults writes nothing" "access out of bounds: 98 work items, the first is 2 at instruction" \
	gpgpu run "$here/saxpy.bpf.o" --grid 100 x=@x y=+8 a=f32:1 'y>@z'
grep -q 'saxpy.bpf.c:[0-9][0-9]*$' /tmp/log
result $? "and names the line"
refused "a group that is too large" "a group of 65536 x 1 x 1 work items, the device takes" \
	gpgpu run "$here/saxpy.bpf.o" --grid 65536 --group 65536 x=@x y=+8 a=f32:1

frames 100 >in.pcap
works "pkt" gpgpu pkt --config "$here/firewall.conf" --results results --maps-out maps --batch 7 \
	"$here/xdp_firewall.bpf.o" in.pcap out.pcap
grep -Eq 'DROP +100 +1,400' /tmp/log
result $? "the table of verdicts"
[ "$(wc -l <results)" = 100 ] && [ "$(tail -n 1 results)" = "100 DROP 14 0 0" ]
result $? "a line for each frame"
grep -q '^counters 00000000 64000000000000007805000000000000$' maps
result $? "the counters are in the maps"
works "the kernel says the same" gpgpu-oracle --config "$here/firewall.conf" --results results --maps maps \
	--out out.pcap "$here/xdp_firewall.bpf.o" in.pcap
works "pkt with an entry of a map" gpgpu pkt --quiet --map settings 'u32:0=u32:2' --map-dump settings \
	"$here/xdp_firewall.bpf.o" in.pcap out.pcap
grep -qx 'settings 00000000 0200000000000000' /tmp/log
result $? "which is shown"
rm -f out.pcap

object=$here/tests/objects/map_values.bpf.o
works "pkt with tail calls, maps in maps and records" gpgpu pkt --records records --results results --maps-out maps \
	"$object:first" in.pcap out.pcap
grep -q '^200 records, 0 more found no room$' /tmp/log
result $? "which are counted"
[ "$(grep -c '^ring [0-9]* 0100000000000000$' records)" = 100 ]
result $? "and written"
works "the kernel leaves the same" gpgpu-oracle --records records --results results --maps maps --out out.pcap \
	"$object:first" in.pcap
works "a program by its name" gpgpu pkt --quiet --map progs 'u32:2 = first' --results results "$object:first" \
	in.pcap out.pcap
[ "$(grep -c ' PASS ' results)" = 100 ]
result $? "calls itself until it may not any more"
refused "a name that no program has" "holds programs, and 'nobody'" \
	gpgpu pkt --map progs 'u32:2=nobody' "$object:first" in.pcap other.pcap
rm -f out.pcap

head -c 500 in.pcap >cut.pcap
refused "a capture that is cut short" "frame 16: truncated" \
	gpgpu pkt "$here/xdp_firewall.bpf.o" cut.pcap out.pcap
refused "a capture that is none" "not a capture" gpgpu pkt "$here/xdp_firewall.bpf.o" x out.pcap
refused "a program for something else" "has no XDP program" gpgpu pkt "$here/saxpy.bpf.o" in.pcap out.pcap
refused "a map that is not there" "has no map 'nothing'" \
	gpgpu pkt --map nothing 'u32:0=u32:2' "$here/xdp_firewall.bpf.o" in.pcap out.pcap
refused "a key that is not in the map" "map 'settings'" \
	gpgpu pkt --map settings 'u32:9=u32:2' "$here/xdp_firewall.bpf.o" in.pcap out.pcap
refused "a batch that is too large" "over the device's" \
	gpgpu pkt --batch 1000000 "$here/xdp_firewall.bpf.o" in.pcap out.pcap
refused "frames that do not fit" "use --stride" \
	gpgpu pkt --stride 64 --headroom 60 "$here/xdp_firewall.bpf.o" in.pcap out.pcap
refused "an output that cannot be written" "No such file" \
	gpgpu pkt "$here/xdp_firewall.bpf.o" in.pcap nowhere/out.pcap
printf 'rules zero:40 = u32:1\nrules zero:41 = u32:1\n' >bad.conf
refused "a configuration that is wrong" "bad.conf:2: " \
	gpgpu pkt --config bad.conf "$here/xdp_firewall.bpf.o" in.pcap out.pcap

works "an unprivileged user" as_user gpgpu info
chmod 600 /dev/accel/accel0
refused "who is not in the group" "permission denied" as_user gpgpu run "$here/saxpy.bpf.o" --grid 1 \
	x=+4 y=+4 a=1
chmod 660 /dev/accel/accel0
rmmod virtio_gpgpu
refused "no driver, no device" "is the module virtio_gpgpu loaded?" gpgpu info
plan
