#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# packets.sh PROGRAM CAPTURE [FOLDER] - runs one of the XDP examples (firewall, balancer, flows, ddos, katran,
# vxlan, syncookie, nat64) on a capture, once on the device and once in this machine's kernel, and compares:
# verdicts, bytes, maps. The last line is the result. What the device made of the capture stays in FOLDER
# (default: nowhere). Needs root, for the kernel's side.
set -eu

usage='usage: packets.sh PROGRAM CAPTURE [FOLDER]'
name=${1:?$usage}
capture=${2:?$usage}
here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=${3:-$work}

# What one packet leaves behind for the next needs them in order; the others' packets may run at once.
case $name in
firewall) program=firewall order=any ;;
balancer) program=lb order=any ;;
flows | ddos | katran | vxlan | syncookie | nat64) program=$name order=all ;;
*) echo "packets.sh: there is no program '$name'" >&2; exit 1 ;;
esac
object=xdp_$program.bpf.o config=$program.conf

gpgpu pkt --order $order --config "$here/$config" --results "$out/$name.results" --maps-out "$out/$name.maps" \
	"$here/$object" "$capture" "$out/$name.pcap"
gpgpu-oracle --config "$here/$config" --results "$out/$name.results" --maps "$out/$name.maps" \
	--out "$out/$name.pcap" "$here/$object" "$capture"
