/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helpers.h - the helpers a program may call: a table with one row per helper (helpers.c).
 *
 * The validator and the translator read the same row, so that a helper is added by a row and a function of
 * the run-time library of the same name.
 */
#ifndef GPGPU_BPF_HELPERS_H
#define GPGPU_BPF_HELPERS_H

#include <stdint.h>

#define GP_HELPER_ARGS 5

enum gp_helper_arg {
	GP_ARG_NONE = 0,
	GP_ARG_SCALAR,  /* passed as it is */
	GP_ARG_CTX,  /* the program's context; not passed on */
	GP_ARG_MAP,
	GP_ARG_KEY,  /* key_size bytes of the map of argument 1, read */
	GP_ARG_VALUE,  /* value_size bytes of the map of argument 1, read */
	GP_ARG_MEM_READ, /* as many bytes as the next argument says */
	GP_ARG_MEM_WRITE,
	GP_ARG_MEM_READ_NULL, /* may be NULL when the size is 0 */
	GP_ARG_SIZE,  /* of the argument before; passed on */
};

enum gp_helper_ret {
	GP_RET_SCALAR = 0,
	GP_RET_VALUE,  /* a value of the map of argument 1, or NULL */
};

struct gp_helper {
	int32_t number;
	uint32_t kinds; /* bit per VIRTIO_GPGPU_PROG_* that may call it */
	const char *name;  /* for people */
	const char *function;  /* of the run-time library */
	uint8_t args[GP_HELPER_ARGS]; /* enum gp_helper_arg */
	uint8_t ret;   /* enum gp_helper_ret */
};

/* gp_helper_find() - the row of a helper. Return: NULL where there is none. */
const struct gp_helper *gp_helper_find(int32_t number);

/* gp_helper_kernel_name() - what Linux calls a helper number, or NULL. For messages. */
const char *gp_helper_kernel_name(int32_t number);

/* gp_helper_uses() - registers that a call reads, as a mask. */
uint32_t gp_helper_uses(const struct gp_helper *helper);

#endif
