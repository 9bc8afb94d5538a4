#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# packets.sh firewall|balancer CAPTURE [FOLDER] - runs one of the XDP examples on a capture, once on the device
# and once in this machine's kernel, and compares: verdicts, bytes, maps. The last line is the result. What the
# device made of the capture stays in FOLDER (default: nowhere). Needs root, for the kernel's side.
set -eu

usage='usage: packets.sh firewall|balancer CAPTURE [FOLDER]'
name=${1:?$usage}
capture=${2:?$usage}
here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=${3:-$work}

case $name in
firewall) object=xdp_firewall.bpf.o config=firewall.conf ;;
balancer) object=xdp_lb.bpf.o config=lb.conf ;;
*) echo "packets.sh: '$name' is neither firewall nor balancer" >&2; exit 1 ;;
esac

gpgpu pkt --config "$here/$config" --results "$out/$name.results" --maps-out "$out/$name.maps" \
	"$here/$object" "$capture" "$out/$name.pcap"
gpgpu-oracle --config "$here/$config" --results "$out/$name.results" --maps "$out/$name.maps" \
	--out "$out/$name.pcap" "$here/$object" "$capture"
