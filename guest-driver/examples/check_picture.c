// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_picture.c - what some checks leave to look at: PNG files.
 */
#include <png.h>

#include "check.h"

void write_picture(const char *path, const uint8_t *rgb, uint32_t width, uint32_t height)
{
	png_image image = {
		.version = PNG_IMAGE_VERSION, .width = width, .height = height, .format = PNG_FORMAT_RGB
	};

	if (!png_image_write_to_file(&image, path, 0, rgb, 0, NULL))
		fail("%s: %s", path, image.message);
}
