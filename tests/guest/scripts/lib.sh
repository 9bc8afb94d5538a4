#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# libgpgpu on a device, as an unprivileged user.
. /usr/lib/gpgpu/guest.sh

load_driver || exit 1
as_user /usr/lib/gpgpu/tests/lib_test /usr/lib/gpgpu/tests/objects
