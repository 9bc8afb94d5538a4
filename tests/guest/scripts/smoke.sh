#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The guest itself works: an unprivileged user, network namespaces, the tools that make
# traffic, files that reach the host.
. /usr/lib/gpgpu/guest.sh

set -e
[ "$(as_user id -un)" = user ]
as_user id -Gn | grep -qw render
ip netns add left
ip link add veth0 type veth peer name veth1 netns left
ip addr add 10.0.0.1/24 dev veth0
ip link set veth0 up
ip netns exec left ip addr add 10.0.0.2/24 dev veth1
ip netns exec left ip link set veth1 up
ping -q -c 1 -s 4000 10.0.0.2
bpftool version
ethtool -K veth0 tx off >/dev/null
echo "hello from the guest" >/out/hello
