#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# build-qemu.sh OUT DOWNLOADS [SOURCE]: builds QEMU 10.0 with our device in OUT.
#
# QEMU is not forked: OUT/src is QEMU's source (Debian's tarball in DOWNLOADS, checked against
# sources.sha256, or a copy of the unpacked tree SOURCE), plus patches/*.patch, plus the files
# that the table `links` names, which are symbolic links to ours. So an edit of a device file
# is built by ninja alone, in a second.
#
# A change of the patches does not need a new tree: the pristine text of every file that a
# patch ever touched is kept in OUT/pristine, the new text is made from it, and only the files
# that really differ are replaced, so that ninja rebuilds no more than it must.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
mkdir -p "$1"
out=$(cd "$1" && pwd)
downloads=$2
source=${3:-}
src=$out/src

die() {
	echo "error: build-qemu: $*" >&2
	exit 1
}

# One at a time: `make` and a developer's meson may meet here.
exec 9>"$out/.lock"
flock 9

# The source tree -----------------------------------------------------------------------

check_version() {
	[ -f "$1/VERSION" ] || die "$1 is not a QEMU source tree (it has no VERSION)"
	case $(cat "$1/VERSION") in
	10.0.*) ;;
	*) die "$1 is QEMU $(cat "$1/VERSION"); 10.0 is the version supported" ;;
	esac
}

if [ -n "$source" ]; then
	check_version "$source"
	identity="tree $source $(cat "$source/VERSION")"
else
	tarball=$(find "$downloads" -maxdepth 1 -name 'qemu_10.0.*.orig.tar.xz' | sort -V | tail -n 1)
	[ -n "$tarball" ] || die "no QEMU tarball in $downloads (make setup fetches it)"
	# The second table is set-up's: checksums from the archive's signed index.
	identity=$(cat "$here/sources.sha256" "$downloads/sources.sha256" 2>/dev/null |
		grep -F "  ${tarball##*/}" | head -n 1) || die "no checksum known for ${tarball##*/}"
fi

if [ "$(cat "$out/.unpacked" 2>/dev/null)" != "$identity" ]; then
	echo "unpacking ${tarball:-$source}"
	rm -rf "$src" "$out/build" "$out/pristine" "$out/.patched" "$out/.links" "$out/.unpacked"
	mkdir -p "$src"
	if [ -n "$source" ]; then
		cp -a "$source/." "$src/"
		rm -rf "$src/.git"
	else
		(cd "$downloads" && echo "$identity" | sha256sum --check --quiet -) ||
			die "${tarball##*/} is not what sources.sha256 says"
		tar -C "$src" --strip-components=1 --no-same-owner -xJf "$tarball"
	fi
	check_version "$src"
	# Debian takes edk2's images out of the tarball; with bzip2 installed meson
	# would still look for them.
	sed -i 's/unpack_edk2_blobs = bzip2.found()/unpack_edk2_blobs = false/' "$src/meson.build"
	echo "$identity" >"$out/.unpacked"
fi

# Patches -------------------------------------------------------------------------------

# The files that the patches on standard input change.
patched_files() {
	sed -n 's/^+++ b\/\([^	 ]*\).*/\1/p; s/^--- a\/\([^	 ]*\).*/\1/p' | sort -u
}

patches=$(find "$here/patches" -name '*.patch' 2>/dev/null | sort)
: >"$out/patches.new"
# shellcheck disable=SC2086 # a list of names without blanks
[ -z "$patches" ] || cat $patches >"$out/patches.new"

if ! cmp -s "$out/patches.new" "$out/.patched"; then
	echo "applying $(echo "$patches" | grep -c . || true) patches"
	stage=$out/stage
	rm -rf "$stage"
	mkdir -p "$stage" "$out/pristine"
	[ -f "$out/.patched" ] || : >"$out/.patched"
	cat "$out/.patched" "$out/patches.new" | patched_files >"$out/touched"
	while read -r f; do
		# First met: what is in the tree is still QEMU's own (or nothing).
		if ! grep -qxF "$f" "$out/pristine/.known" 2>/dev/null; then
			if [ -f "$src/$f" ]; then
				mkdir -p "$out/pristine/$(dirname "$f")"
				cp -p "$src/$f" "$out/pristine/$f"
			fi
			echo "$f" >>"$out/pristine/.known"
		fi
		if [ -f "$out/pristine/$f" ]; then
			mkdir -p "$stage/$(dirname "$f")"
			cp -p "$out/pristine/$f" "$stage/$f"
		fi
	done <"$out/touched"
	for p in $patches; do
		patch -d "$stage" -p1 -s -N --no-backup-if-mismatch <"$p" ||
			die "$p does not apply to QEMU $(cat "$src/VERSION")"
	done
	while read -r f; do
		if [ ! -f "$stage/$f" ]; then
			rm -f "$src/$f"
		elif ! cmp -s "$stage/$f" "$src/$f"; then
			mkdir -p "$src/$(dirname "$f")"
			# not -p: the time must be now, or ninja does not see it
			rm -f "$src/$f"
			cp "$stage/$f" "$src/$f"
		fi
	done <"$out/touched"
	rm -rf "$stage" "$out/touched"
	cp "$out/patches.new" "$out/.patched"
fi
rm -f "$out/patches.new"

# Our files -----------------------------------------------------------------------------

sed 's/#.*//' "$here/links" 2>/dev/null | awk 'NF == 2' >"$out/links.new" || true
if [ -f "$out/.links" ]; then
	while read -r _ to; do
		[ ! -L "$src/$to" ] || grep -q " $to\$\|	$to\$" "$out/links.new" || rm "$src/$to"
	done <"$out/.links"
fi
while read -r from to; do
	[ -e "$here/$from" ] || die "links names $from, which is not there"
	want=$(realpath --relative-to="$(dirname "$src/$to")" "$here/$from" 2>/dev/null || true)
	if [ "$(readlink "$src/$to" 2>/dev/null)" != "$want" ]; then
		mkdir -p "$(dirname "$src/$to")"
		ln -sfn "$(realpath --relative-to="$(dirname "$src/$to")" "$here/$from")" "$src/$to"
	fi
done <"$out/links.new"
mv "$out/links.new" "$out/.links"

# The device configuration is copied: without our Kconfig (a plain QEMU, to compare with) its
# last line would be an error.
mak=$src/configs/devices/x86_64-softmmu/virtio-gpgpu.mak
if grep -qs 'config VIRTIO_GPGPU' "$src/hw/virtio/Kconfig" "$src/hw/virtio/"*/Kconfig; then
	cp "$here/configs/virtio-gpgpu.mak" "$mak.new"
else
	grep -v '^CONFIG_VIRTIO_GPGPU' "$here/configs/virtio-gpgpu.mak" >"$mak.new"
fi
if cmp -s "$mak.new" "$mak"; then
	rm "$mak.new"
else
	mv "$mak.new" "$mak"
fi

# Configure and build -------------------------------------------------------------------

# The compiler cache lives in the build folder; a wrapper says so, so that a bare `ninja -C`
# finds it too.
mkdir -p "$out/build"
cat >"$out/cc.new" <<WRAP
#!/bin/sh
CCACHE_DIR='$(dirname "$out")/ccache' CCACHE_BASEDIR='$root' exec ccache cc "\$@"
WRAP
cmp -s "$out/cc.new" "$out/cc" || mv "$out/cc.new" "$out/cc"
rm -f "$out/cc.new"
chmod +x "$out/cc"

set -- --python=/usr/bin/python3 "--cc=$out/cc" --host-cc="$out/cc" \
	--target-list=x86_64-softmmu \
	--without-default-features --without-default-devices --with-devices-x86_64=virtio-gpgpu \
	--enable-system --enable-tcg --enable-kvm --enable-slirp --enable-fdt=system \
	--enable-vhost-user --enable-seccomp --enable-pixman --enable-werror \
	--disable-debug-info --extra-cflags=-g1 \
	--disable-download --disable-docs --disable-install-blobs \
	--firmwarepath=/usr/share/qemu:/usr/share/seabios

cd "$out/build"
if [ ! -f build.ninja ] || [ "$(cat "$out/.configured" 2>/dev/null)" != "$*" ]; then
	echo "configuring"
	rm -f "$out/.configured"
	../src/configure "$@"
	echo "$*" >"$out/.configured"
fi
# QEMU looks for the worker beside itself.
ln -sfn "$(dirname "$out")/host-backend/worker/gpgpu-worker" gpgpu-worker

targets=qemu-system-x86_64
ninja -t targets all | grep -q '^tests/qtest/virtio-gpgpu-test:' &&
	targets="$targets tests/qtest/virtio-gpgpu-test"
# shellcheck disable=SC2086 # a list of targets
exec ninja $targets
