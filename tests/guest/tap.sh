# shellcheck shell=sh
# SPDX-License-Identifier: BSD-3-Clause
#
# For scripts in the guest that report cases as TAP: . /usr/lib/gpgpu/tap.sh; at the end: plan
#
# /tmp/log has what the case's command printed, and is shown where it fails.
number=0
failed=0

# result STATUS NAME: reports a case.
result() {
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number $2"
	else
		echo "not ok $number $2"
		sed 's/^/# /' /tmp/log
		failed=1
	fi
}

# works NAME COMMAND...
works() {
	_name=$1
	shift
	"$@" >/tmp/log 2>&1
	result $? "$_name"
}

# says NAME TEXT COMMAND...: reports whether it ends with status 1 and one line that has TEXT.
says() {
	_name=$1 _text=$2
	shift 2
	"$@" >/tmp/log 2>&1
	[ $? = 1 ] && [ "$(wc -l </tmp/log)" = 1 ] && grep -qF -- "$_text" /tmp/log
	result $? "$_name"
}

# plan: the last line; the script ends, with status 0 if no case failed.
plan() {
	echo "1..$number"
	exit $failed
}

# frames N: N minimal Ethernet frames as a capture, IPv4 with a broken header, so that the firewall drops them.
frames() {
	printf '\324\303\262\241\002\000\004\000\000\000\000\000\000\000\000\000\000\000\001\000\001\000\000\000'
	_i=0
	while [ $_i -lt "$1" ]; do
		printf '\000\000\000\000\000\000\000\000\016\000\000\000\016\000\000\000'
		printf '\002\000\000\000\000\001\002\000\000\000\000\002\010\000'
		_i=$((_i + 1))
	done
}
