/* SPDX-License-Identifier: BSD-3-Clause */
/* assert.h - for a GPU, which has no C library: what is checked when compiling. */
#ifndef GPGPU_RT_GPU_ASSERT_H
#define GPGPU_RT_GPU_ASSERT_H

#define static_assert _Static_assert

#endif
