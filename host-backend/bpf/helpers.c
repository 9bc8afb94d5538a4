/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helpers.c - the table of helpers.
 *
 * Numbers below 0x7000 are the kernel's (linux/bpf.h), those from there on are ours (gpgpu_bpf.h).
 */
#include <stddef.h>
#include <linux/bpf.h>
#include <gpgpu_bpf.h>
#include <virtio_gpgpu.h>
#include "bpf/helpers.h"

/* clang-format off */
#define XDP (1u << VIRTIO_GPGPU_PROG_XDP)
#define GRID (1u << VIRTIO_GPGPU_PROG_GPGPU)

#define S GP_ARG_SCALAR
#define CTX GP_ARG_CTX
#define MAP GP_ARG_MAP
#define KEY GP_ARG_KEY
#define VALUE GP_ARG_VALUE
#define READ GP_ARG_MEM_READ
#define WRITE GP_ARG_MEM_WRITE
#define READ0 GP_ARG_MEM_READ_NULL
#define SIZE GP_ARG_SIZE

/* The kernel's number and name, and ours. */
#define KERNEL(kernel, where, name, ...)	\
	{ BPF_FUNC_##kernel, where, "bpf_" #kernel, "gp_helper_" #name, { __VA_ARGS__ }, GP_RET_SCALAR }
#define OURS(name, ...)	\
	{ GPGPU_HELPER_##name, GRID, "gp_" #name, "gp_helper_" #name, { __VA_ARGS__ }, GP_RET_SCALAR }
#define FLOAT(bits)					\
	OURS(fadd##bits, S, S), OURS(fsub##bits, S, S), OURS(fmul##bits, S, S),	\
	OURS(fdiv##bits, S, S), OURS(fma##bits, S, S, S), OURS(sqrt##bits, S),	\
	OURS(fmin##bits, S, S), OURS(fmax##bits, S, S), OURS(flt##bits, S, S),	\
	OURS(fle##bits, S, S), OURS(feq##bits, S, S), OURS(fabs##bits, S),	\
	OURS(floor##bits, S), OURS(ceil##bits, S), OURS(trunc##bits, S), OURS(rint##bits, S)

static const struct gp_helper helpers[] = {
	{ BPF_FUNC_map_lookup_elem, XDP | GRID, "bpf_map_lookup_elem", "gp_helper_map_lookup",
	  { MAP, KEY }, GP_RET_VALUE },
	KERNEL(map_update_elem, XDP | GRID, map_update, MAP, KEY, VALUE, S),
	KERNEL(map_delete_elem, XDP | GRID, map_delete, MAP, KEY),
	KERNEL(ktime_get_ns, XDP | GRID, ktime, 0),
	KERNEL(get_prandom_u32, XDP | GRID, prandom, 0),
	KERNEL(get_smp_processor_id, XDP | GRID, cpu, 0),
	KERNEL(redirect, XDP, redirect, S, S),
	KERNEL(csum_diff, XDP, csum_diff, READ0, SIZE, READ0, SIZE, S),
	KERNEL(xdp_adjust_head, XDP, adjust_head, CTX, S),
	KERNEL(xdp_adjust_meta, XDP, adjust_meta, CTX, S),
	KERNEL(xdp_adjust_tail, XDP, adjust_tail, CTX, S),
	KERNEL(xdp_load_bytes, XDP, load_bytes, CTX, S, WRITE, SIZE),
	KERNEL(xdp_store_bytes, XDP, store_bytes, CTX, S, READ, SIZE),

	OURS(global_id, S), OURS(global_size, S), OURS(local_id, S), OURS(local_size, S),
	OURS(group_id, S), OURS(num_groups, S),
	FLOAT(32),
	FLOAT(64),
	OURS(f32_from_s, S), OURS(f32_from_u, S), OURS(f64_from_s, S), OURS(f64_from_u, S),
	OURS(s_from_f32, S), OURS(u_from_f32, S), OURS(s_from_f64, S), OURS(u_from_f64, S),
	OURS(f64_from_f32, S), OURS(f32_from_f64, S),
};
/* clang-format on */

const struct gp_helper *gp_helper_find(int32_t number)
{
	for (size_t i = 0; i < sizeof(helpers) / sizeof(*helpers); i++)
		if (helpers[i].number == number)
			return &helpers[i];
	return NULL;
}

const char *gp_helper_kernel_name(int32_t number)
{
	/* Newer headers pass the number too and separate the names themselves. */
#ifdef ___BPF_FUNC_MAPPER
#define NAME(name, number) #name,
	static const char *const names[] = { ___BPF_FUNC_MAPPER(NAME) };
#else
#define NAME(name) #name
	static const char *const names[] = { __BPF_FUNC_MAPPER(NAME) };
#endif
#undef NAME
	if (number <= 0 || (size_t)number >= sizeof(names) / sizeof(*names))
		return NULL;
	return names[number];
}

uint32_t gp_helper_uses(const struct gp_helper *helper)
{
	uint32_t mask = 0;

	for (int i = 0; i < GP_HELPER_ARGS && helper->args[i] != GP_ARG_NONE; i++)
		mask |= 2u << i;
	return mask;
}
