/* SPDX-License-Identifier: BSD-3-Clause */
/* image.h - the kinds of images that the compiler makes (jit.h). */
#ifndef GPGPU_JIT_IMAGE_H
#define GPGPU_JIT_IMAGE_H

enum gp_image_kind {
	GP_IMAGE_CODE, /* machine code: of this machine, or of an AMD GPU with its kernel's descriptor */
	GP_IMAGE_PTX, /* text for NVIDIA's driver; its last byte is a NUL, and no other (ptx_targets.h) */
};

#endif
