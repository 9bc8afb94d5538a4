#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# libgpgpu on a device, as an unprivileged user; and examples that the demonstration does not run.
. /usr/lib/gpgpu/guest.sh

load_driver || exit 1
as_user /usr/lib/gpgpu/tests/lib_test /usr/lib/gpgpu/tests/objects || exit 1
for name in life aes_gcm radix spmv fft kmeans matmul_f64; do
	# Those in plain C are there where gpgpu-cc is.
	[ ! -e "/usr/lib/gpgpu/$name.bpf.o" ] || as_user /usr/lib/gpgpu/gpgpu-demo "$name" || exit 1
done
