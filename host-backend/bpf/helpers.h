/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helpers.h - the helpers a program may call: a table with one row per helper (helpers.c).
 *
 * The validator and the translator read the same row, so that a helper is added by a row and a function of
 * the run-time library of the same name.
 */
#ifndef GPGPU_BPF_HELPERS_H
#define GPGPU_BPF_HELPERS_H

#include <stdbool.h>
#include <stdint.h>

#define GP_HELPER_ARGS 5

enum gp_helper_arg {
	GP_ARG_NONE = 0,
	GP_ARG_SCALAR,  /* passed as it is */
	GP_ARG_CTX,  /* the program's context; not passed on */
	GP_ARG_MAP,
	GP_ARG_KEY,  /* key_size bytes of the map argument, read */
	GP_ARG_VALUE,  /* value_size bytes of the map argument, read */
	GP_ARG_MEM_READ, /* as many bytes as the next argument says */
	GP_ARG_MEM_WRITE,
	GP_ARG_MEM_READ_NULL, /* may be NULL when the size is 0 */
	GP_ARG_SIZE,  /* of the argument before; passed on */
	GP_ARG_VALUE_OUT, /* value_size bytes of the map, written (a Bloom filter: read) */
	GP_ARG_RECORD,  /* what a GP_RET_RECORD helper returned; passed on as a handle */
	GP_ARG_STRING,  /* memory that ends at a NUL or with its region; passed on as a handle */
	GP_ARG_FUNC,  /* a function of the program: a constant (BPF_PSEUDO_FUNC) */
	GP_ARG_ANYTHING, /* a number or any pointer, as a handle */
	GP_ARG_OPTIONAL, /* the same, or nothing: 0 is passed where the register is uninitialised */
	GP_ARG_PLACE32, /* 4 bytes that others reach, written; aligned, which is checked when it runs */
	GP_ARG_PLACE64, /* 8 bytes, likewise */
};

enum gp_helper_ret {
	GP_RET_SCALAR = 0,
	GP_RET_VALUE,  /* a value of the map argument, or NULL */
	GP_RET_INNER,  /* an element of the map argument, which is a map of maps, or NULL */
	GP_RET_RECORD,  /* room in the map argument's values, or NULL */
};

struct gp_helper {
	int32_t number;
	uint32_t kinds; /* bit per VIRTIO_GPGPU_PROG_* that may call it */
	const char *name;  /* for people */
	const char *function;  /* of the run-time library */
	uint8_t args[GP_HELPER_ARGS]; /* enum gp_helper_arg */
	uint8_t ret;   /* enum gp_helper_ret; see gp_helper_returns() */
	bool by_map;   /* the function takes the map's constants, and has a form *_any that does not */
	uint32_t map_types; /* bit per VIRTIO_GPGPU_MAP_* that the map argument may be */
};

/* gp_helper_find() - the row of a helper. Return: NULL where there is none. */
const struct gp_helper *gp_helper_find(int32_t number);

/* gp_helper_kernel_name() - what Linux calls a helper number, or NULL. For messages. */
const char *gp_helper_kernel_name(int32_t number);

/* gp_helper_uses() - registers that a call reads, as a mask. gp_helper_needs() - those that must be initialised. */
uint32_t gp_helper_uses(const struct gp_helper *helper);
uint32_t gp_helper_needs(const struct gp_helper *helper);

/* gp_helper_writes() - whether the helper writes to what argument @arg, from 0 on, points at. */
bool gp_helper_writes(const struct gp_helper *helper, int arg);

/* gp_helper_map_reg() - the register of the map argument, or 0 where there is none. */
int gp_helper_map_reg(const struct gp_helper *helper);

/* gp_helper_map_ok() - whether the helper works on maps of that type (VIRTIO_GPGPU_MAP_*). */
bool gp_helper_map_ok(const struct gp_helper *helper, uint32_t map_type);

/* gp_helper_returns() - enum gp_helper_ret, for a map of that type. */
enum gp_helper_ret gp_helper_returns(const struct gp_helper *helper, uint32_t map_type);

/* gp_helper_refusal() - why a helper of the kernel's is not offered: a reason for people, or NULL. */
const char *gp_helper_refusal(int32_t number);

/* gp_map_type_name() - "hash", "lru_hash", ...; NULL for a type that there is not. */
const char *gp_map_type_name(uint32_t type);

#endif
