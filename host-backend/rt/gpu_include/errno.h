/* SPDX-License-Identifier: BSD-3-Clause */
/* errno.h - for a GPU, which has no C library: the kernel's numbers. */
#include <linux/errno.h>
