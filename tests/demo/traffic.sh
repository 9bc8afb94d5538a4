#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# traffic.sh OUT.pcap - record real traffic between two network namespaces of this machine.
#
# How it works: `left` and `right` are joined by a veth pair, with segmentation and checksum offloads off
# so that what is recorded is what a wire would carry. VLAN 7 and, inside it, a second tag 9 run over
# the same pair. Servers are real ones (dnsmasq, busybox httpd, iperf3); the recorder sits on the
# right-hand end. Everything is bounded in count and time; nothing leaves the two namespaces.
set -eu

out=${1:?usage: traffic.sh OUT.pcap [MINIMUM FRAMES]}
want=${2:-10000}
work=$(mktemp -d)
left="ip netns exec gp-left"
right="ip netns exec gp-right"
pids=""

cleanup() {
	for p in $pids; do kill "$p" 2>/dev/null || :; done
	wait 2>/dev/null || :
	ip netns del gp-left 2>/dev/null || :
	ip netns del gp-right 2>/dev/null || :
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

background() {
	"$@" >"$work/log.$1" 2>&1 &
	pids="$pids $!"
}

# try TEXT COMMAND...: traffic is for real, so a client that fails is an error
try() {
	what=$1
	shift
	if ! timeout 30 "$@" >"$work/out" 2>&1; then
		echo "traffic: $what failed: $(tail -n 1 "$work/out")" >&2
		exit 1
	fi
}

ip netns del gp-left 2>/dev/null || :
ip netns del gp-right 2>/dev/null || :
ip netns add gp-left
ip netns add gp-right
ip link add gp0 netns gp-left type veth peer name gp0 netns gp-right

side() {	# NAMESPACE NUMBER
	ns="ip netns exec $1"
	$ns sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 2>/dev/null || :
	$ns ethtool -K gp0 tso off gso off gro off tx off rx off sg off >/dev/null 2>&1
	ip -n "$1" link set lo up
	ip -n "$1" link set gp0 up
	ip -n "$1" link add link gp0 name gp0.7 type vlan id 7
	ip -n "$1" link set gp0.7 up
	ip -n "$1" link add link gp0.7 name gp0.7.9 type vlan id 9
	ip -n "$1" link set gp0.7.9 up
	ip -n "$1" addr add "10.7.0.$2/24" dev gp0
	ip -n "$1" addr add "fd00:7::$2/64" dev gp0 nodad
	ip -n "$1" addr add "10.7.7.$2/24" dev gp0.7
	ip -n "$1" addr add "fd00:77::$2/64" dev gp0.7 nodad
	ip -n "$1" addr add "10.7.9.$2/24" dev gp0.7.9
}
side gp-left 1
side gp-right 2

background $right tcpdump -i gp0 -s 0 -U -w "$work/cap.pcap" --immediate-mode
background $right dnsmasq --keep-in-foreground --no-resolv --no-hosts --conf-file=/dev/null \
	--pid-file="$work/dns.pid" --user=root --address=/example.test/10.7.0.2 \
	--address=/six.example.test/fd00:7::2 --txt-record=note.example.test,hello
mkdir "$work/www"
head -c 20000 /dev/urandom >"$work/www/small"
head -c 1500000 /dev/urandom >"$work/www/large"
background $right busybox httpd -f -h "$work/www" -p 80
background $right iperf3 -s -1 -p 5201
background $right iperf3 -s -1 -p 5202
background $right iperf3 -s -1 -p 5203
sleep 1

n=0
while [ $n -lt 20 ]; do
	try "DNS A" $left busybox nslookup -type=a "h$n.example.test" 10.7.0.2
	try "DNS AAAA" $left busybox nslookup -type=aaaa "h$n.six.example.test" 10.7.0.2
	try "HTTP over IPv4" $left busybox wget -q -O /dev/null http://10.7.0.2/small
	try "HTTP over IPv6" $left busybox wget -q -O /dev/null "http://[fd00:7::2]/small"
	n=$((n + 1))
done
try "HTTP over a VLAN" $left busybox wget -q -O /dev/null http://10.7.7.2/large
try "HTTP over IPv6 and a VLAN" $left busybox wget -q -O /dev/null "http://[fd00:77::2]/large"
try "HTTP over two VLAN tags" $left busybox wget -q -O /dev/null http://10.7.9.2/small
try "ping" $left ping -q -c 100 -i 0.005 10.7.0.2
try "ping over IPv6" $left ping -q -c 100 -i 0.005 fd00:7::2
try "ping over two VLAN tags" $left ping -q -c 20 -i 0.01 10.7.9.2
try "fragments" $left ping -q -c 40 -i 0.01 -s 4000 10.7.0.2
try "fragments over IPv6" $left ping -q -c 40 -i 0.01 -s 4000 fd00:7::2
try "bulk UDP" $left iperf3 -c 10.7.0.2 -p 5201 -u -b 20M -l 1000 -n 1500K
try "bulk UDP over IPv6" $left iperf3 -c fd00:7::2 -p 5202 -u -b 20M -l 400 -n 600K
# TCP last: its length makes up what is missing
try "bulk TCP" $left iperf3 -c 10.7.0.2 -p 5203 -n 8M
sleep 1

count=$(tcpdump -r "$work/cap.pcap" -nn 2>/dev/null | wc -l)
if [ "$count" -lt "$want" ]; then
	echo "traffic: recorded only $count frames, want $want" >&2
	exit 1
fi
mv "$work/cap.pcap" "$out"
echo "$count frames recorded between two namespaces"
