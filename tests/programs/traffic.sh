#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# traffic.sh OUT.pcap FRAMES - records that many frames between two network namespaces of this
# machine.
#
# How it works: `left` and `right` are joined by a veth pair, with segmentation and checksum offloads off so
# that what is recorded is what a wire would carry. On the pair lie VLANs 7 and 7.9, VXLAN segments 42 (over
# IPv4) and 43 (over IPv6), and tunnels IPv4 in IPv4 and IPv4 in IPv6. Real servers (dnsmasq, busybox httpd,
# iperf3) answer real clients over each of them; `frames` adds what those do not send. The recorder sits on
# the right-hand end. Everything is bounded in count and time; nothing leaves the two namespaces. Segments
# are kept small, so that many frames make a small capture.
set -eu

out=${1:?usage: traffic.sh OUT.pcap FRAMES}
want=${2:?usage: traffic.sh OUT.pcap FRAMES}
here=$(dirname "$(readlink -f "$0")")
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
	name=$1
	shift
	"$@" >"$work/log.$name" 2>&1 &
	pids="$pids $!"
}

# try TEXT COMMAND...: traffic is for real, so a client that fails is an error
try() {
	what=$1
	shift
	if ! timeout 60 "$@" >"$work/out" 2>&1; then
		echo "traffic: $what failed: $(tail -n 1 "$work/out")" >&2
		exit 1
	fi
}

side() {	# NAMESPACE NUMBER PEER
	ns="ip netns exec $1"
	$ns sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 2>/dev/null || :
	$ns ethtool -K gp0 tso off gso off gro off tx off rx off sg off >/dev/null 2>&1
	ip -n "$1" link set lo up
	ip -n "$1" link set gp0 address "02:00:00:00:07:0$2"
	ip -n "$1" link set gp0 up
	ip -n "$1" addr add "10.7.0.$2/24" dev gp0
	ip -n "$1" addr add "fd00:7::$2/64" dev gp0 nodad
	ip -n "$1" link add link gp0 name gp0.7 type vlan id 7
	ip -n "$1" link add link gp0.7 name gp0.7.9 type vlan id 9
	ip -n "$1" link add vx42 type vxlan id 42 local "10.7.0.$2" remote "10.7.0.$3" dev gp0 dstport 4789
	ip -n "$1" link add vx43 type vxlan id 43 local "fd00:7::$2" remote "fd00:7::$3" dev gp0 dstport 4789
	ip -n "$1" link add ipip44 type ipip local "10.7.0.$2" remote "10.7.0.$3"
	ip -n "$1" link add ipip45 type ip6tnl mode ipip6 local "fd00:7::$2" remote "fd00:7::$3"
	# tunnels keep below the pair's MTU, so that nothing but what is meant to is fragmented
	for d in gp0.7 gp0.7.9 vx42 vx43 ipip44 ipip45; do
		ip -n "$1" link set $d mtu 1400 up
	done
	ip -n "$1" addr add "10.7.7.$2/24" dev gp0.7
	ip -n "$1" addr add "fd00:77::$2/64" dev gp0.7 nodad
	ip -n "$1" addr add "10.7.9.$2/24" dev gp0.7.9
	ip -n "$1" addr add "10.42.0.$2/24" dev vx42
	ip -n "$1" addr add "fd00:42::$2/64" dev vx42 nodad
	ip -n "$1" addr add "10.43.0.$2/24" dev vx43
	ip -n "$1" addr add "10.44.0.$2/24" dev ipip44
	ip -n "$1" addr add "10.45.0.$2/24" dev ipip45
}

ip netns del gp-left 2>/dev/null || :
ip netns del gp-right 2>/dev/null || :
ip netns add gp-left
ip netns add gp-right
ip link add gp0 netns gp-left type veth peer name gp0 netns gp-right
side gp-left 1 2
side gp-right 2 1
# The right-hand machine is also what a translator would make of itself.
ip -n gp-right addr add 64:ff9b::10.7.0.2/128 dev gp0 nodad
ip -n gp-left route add 64:ff9b::/96 dev gp0
ip -n gp-left addr add fd00:8::1/64 dev gp0 nodad
ip -n gp-right addr add fd00:8::2/64 dev gp0 nodad

background tcpdump $right tcpdump -i gp0 -s 2048 -B 131072 -c "$want" -w "$work/cap.pcap"
recorder=${pids##* }
background dns $right dnsmasq --keep-in-foreground --no-resolv --no-hosts --conf-file=/dev/null \
	--pid-file="$work/dns.pid" --user=root --address=/example.test/10.7.0.2 \
	--address=/six.example.test/fd00:7::2 --txt-record=note.example.test,hello
mkdir "$work/www"
head -c 20000 /dev/urandom >"$work/www/small"
head -c 1000000 /dev/urandom >"$work/www/large"
background httpd $right busybox httpd -f -h "$work/www" -p 80
background iperf3 $right iperf3 -s -p 5201
sleep 1

n=0
while [ $n -lt 20 ]; do
	try "DNS A" $left busybox nslookup -type=a "h$n.example.test" 10.7.0.2
	try "DNS AAAA" $left busybox nslookup -type=aaaa "h$n.six.example.test" 10.7.0.2
	try "HTTP over IPv4" $left busybox wget -q -O /dev/null http://10.7.0.2/small
	try "HTTP over IPv6" $left busybox wget -q -O /dev/null "http://[fd00:7::2]/small"
	try "HTTP to a translator's prefix" $left busybox wget -q -O /dev/null "http://[64:ff9b::10.7.0.2]/small"
	n=$((n + 1))
done
for host in 10.7.7.2 '[fd00:77::2]' 10.7.9.2 10.42.0.2 10.43.0.2 10.44.0.2 10.45.0.2; do
	try "HTTP to $host" $left busybox wget -q -O /dev/null "http://$host/large"
done
for host in 10.7.0.2 fd00:7::2 64:ff9b::10.7.0.2 10.7.9.2 10.42.0.2 fd00:42::2 10.43.0.2 10.44.0.2 \
	10.45.0.2; do
	try "ping $host" $left ping -q -c 100 -i 0.004 $host
done
for host in 10.7.0.2 fd00:7::2 64:ff9b::10.7.0.2 10.42.0.2; do
	try "fragments to $host" $left ping -q -c 50 -i 0.01 -s 4000 $host
done
# a port that nobody has: answers are ICMP errors that quote
for host in UDP4:10.7.0.2 'UDP6:[fd00:7::2]'; do
	n=0
	while [ $n -lt 5 ]; do
		echo x | timeout 5 $left socat -t 0.1 - "$host:9" 2>/dev/null || :
		n=$((n + 1))
	done
done
try "odd frames" $left "$here/frames" gp0
try "bulk UDP" $left iperf3 -c 10.7.0.2 -p 5201 -u -b 40M -l 200 -n 1200K
try "bulk UDP over IPv6" $left iperf3 -c fd00:7::2 -p 5201 -u -b 40M -l 200 -n 800K
try "bulk UDP over VXLAN" $left iperf3 -c 10.42.0.2 -p 5201 -u -b 40M -l 200 -n 600K
try "UDP in fragments" $left iperf3 -c 10.7.0.2 -p 5201 -u -b 40M -l 4000 -n 2M
try "bulk TCP over a VLAN" $left iperf3 -c 10.7.7.2 -p 5201 -M 536 -P 4 -n 2M
try "bulk TCP over VXLAN" $left iperf3 -c 10.43.0.2 -p 5201 -M 536 -P 4 -n 3M
try "bulk TCP to a translator's prefix" $left iperf3 -c 64:ff9b::10.7.0.2 -p 5201 -M 536 -P 4 -n 3M
try "bulk TCP over IPv6" $left iperf3 -c fd00:7::2 -p 5201 -M 536 -P 4 -n 4M
try "bulk TCP back" $left iperf3 -c 10.7.0.2 -p 5201 -M 536 -P 4 -R -n 3M
# The recorder ends at the number that was asked for. A machine that is busy with other things loses some
# frames on the way to it: TCP makes up what is missing.
finished() {
	grep -q '^[0-9]* packets captured' "$work/log.tcpdump"
}
n=0
while ! finished && [ $n -lt 12 ]; do
	try "bulk TCP" $left iperf3 -c 10.7.0.2 -p 5201 -M 536 -P 8 -n 4M
	n=$((n + 1))
done
finished || kill -INT "$recorder"
wait "$recorder" 2>/dev/null || :
count=$(sed -n 's/^\([0-9]*\) packets captured.*/\1/p' "$work/log.tcpdump")
if [ "${count:-0}" -lt "$want" ]; then
	echo "traffic: recorded only ${count:-no} frames, want $want" >&2
	exit 1
fi
mv "$work/cap.pcap" "$out"
echo "$count frames"
