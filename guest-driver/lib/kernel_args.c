// SPDX-License-Identifier: BSD-3-Clause
/*
 * kernel_args.c - what a compute kernel takes, read from its type information.
 *
 * A kernel is int f(struct args *). The device lays arguments out as one slot of 8 bytes each, so member n must
 * lie at byte 8 * n; that is checked here because a structure with two __u32 in a row compiles without a word and
 * would read garbage. Members that are pointers are buffers, read only if what they point to is const.
 */
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "internal.h"

#define MAX_STEPS 32 /* typedefs and qualifiers in a row; a cycle ends here */
#define SLOT_BITS 64

/* Return: the type behind typedefs and qualifiers, or NULL; *is_const is set if one of them was const. */
static const struct btf_type *resolve(const struct btf *btf, __u32 id, bool *is_const)
{
	for (int i = 0; i < MAX_STEPS; i++) {
		const struct btf_type *t = btf__type_by_id(btf, id);

		if (!t)
			return NULL;
		switch (btf_kind(t)) {
		case BTF_KIND_CONST:
			if (is_const)
				*is_const = true;
			break;
		case BTF_KIND_VOLATILE:
		case BTF_KIND_RESTRICT:
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_TYPE_TAG:
			break;
		default:
			return t;
		}
		id = t->type;
	}
	return NULL;
}

static int bad(const struct gpgpu_program *prog, const char *why)
{
	return gpgpu_fail(-EINVAL, "kernel '%.64s': %s", prog->name, why);
}

/* Return: the structure that the kernel's only parameter points to; NULL and *err 0 for one without any. */
static const struct btf_type *args_struct(const struct btf *btf, const struct gpgpu_program *prog, int *err)
{
	int id = btf__find_by_name_kind(btf, prog->name, BTF_KIND_FUNC);
	const struct btf_type *func = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;
	const struct btf_type *proto = func ? resolve(btf, func->type, NULL) : NULL;
	const struct btf_type *t;

	*err = 0;
	if (!proto || btf_kind(proto) != BTF_KIND_FUNC_PROTO) {
		*err = bad(prog, "no type information; compile with -g");
		return NULL;
	}
	if (btf_vlen(proto) == 0)
		return NULL;
	t = btf_vlen(proto) == 1 ? resolve(btf, btf_params(proto)[0].type, NULL) : NULL;
	if (t && btf_kind(t) == BTF_KIND_PTR) {
		t = resolve(btf, t->type, NULL);
		if (t && btf_kind(t) == BTF_KIND_STRUCT)
			return t;
	}
	*err = bad(prog, "takes something else than one pointer to a structure of its arguments");
	return NULL;
}

/* Return: whether it is a number of up to 8 bytes; which is then in @arg. */
static bool describe_number(const struct btf_type *t, struct gpgpu_arg_desc *arg)
{
	bool is_int = t && btf_kind(t) == BTF_KIND_INT, is_float = t && btf_kind(t) == BTF_KIND_FLOAT;
	bool is_enum = t && (btf_kind(t) == BTF_KIND_ENUM || btf_kind(t) == BTF_KIND_ENUM64);

	if ((!is_int && !is_float && !is_enum) || t->size == 0 || t->size > 8)
		return false;
	arg->is_number = true;
	arg->is_float = is_float;
	arg->is_signed = is_float ? true : is_int ? btf_int_encoding(t) & BTF_INT_SIGNED : btf_kflag(t);
	return true;
}

static int describe_value(const struct gpgpu_program *prog, const char *name, const struct btf_type *t,
			  struct gpgpu_arg_desc *arg)
{
	bool is_scalar = t && (btf_kind(t) == BTF_KIND_INT || btf_kind(t) == BTF_KIND_FLOAT ||
			       btf_kind(t) == BTF_KIND_ENUM || btf_kind(t) == BTF_KIND_ENUM64);

	if (!is_scalar)
		return gpgpu_fail(-EINVAL,
				  "kernel '%.64s': argument '%.64s' is neither a pointer nor a number",
				  prog->name, name);
	if (!describe_number(t, arg))
		return gpgpu_fail(-EINVAL,
				  "kernel '%.64s': argument '%.64s' has %u bytes, at most 8 are possible",
				  prog->name, name, t->size);
	arg->kind = GPGPU_ARG_VALUE;
	arg->size = t->size;
	return 0;
}

static void describe_buffer(const struct btf *btf, const struct btf_type *ptr, struct gpgpu_arg_desc *arg)
{
	bool is_const = false;
	const struct btf_type *t = ptr->type ? resolve(btf, ptr->type, &is_const) : NULL;
	__s64 size = t ? btf__resolve_size(btf, ptr->type) : 0;

	/* const void * resolves to nothing, but its const is seen on the way. */
	if (!t && ptr->type) {
		const struct btf_type *q = btf__type_by_id(btf, ptr->type);

		is_const = q && btf_kind(q) == BTF_KIND_CONST;
	}
	arg->kind = is_const ? GPGPU_ARG_BUFFER_RO : GPGPU_ARG_BUFFER;
	arg->size = size > 0 && size <= UINT32_MAX ? (uint32_t)size : 0;
	describe_number(t, arg);
}

static int describe_member(const struct btf *btf, struct gpgpu_program *prog, const struct btf_type *args,
			   uint32_t index)
{
	const struct btf_member *m = &btf_members(args)[index];
	const char *name = btf__name_by_offset(btf, m->name_off);
	const struct btf_type *t = resolve(btf, m->type, NULL);
	struct gpgpu_arg_desc *arg = &prog->args[index];

	if (!name)
		name = "";
	if (btf_member_bitfield_size(args, index))
		return gpgpu_fail(-EINVAL, "kernel '%.64s': argument '%.64s' is a bit field", prog->name,
				  name);
	if (btf_member_bit_offset(args, index) != index * SLOT_BITS)
		return gpgpu_fail(-EINVAL,
				  "kernel '%.64s': argument '%.64s' lies at byte %u, not %u: every "
				  "argument takes 8 bytes, mark it GP_SLOT",
				  prog->name, name, btf_member_bit_offset(args, index) / 8,
				  index * SLOT_BITS / 8);
	arg->name = strdup(name);
	if (!arg->name)
		return gpgpu_fail(-ENOMEM, "out of memory");
	if (t && btf_kind(t) == BTF_KIND_PTR) {
		describe_buffer(btf, t, arg);
		return 0;
	}
	return describe_value(prog, name, t, arg);
}

int gpgpu_kernel_args(const struct btf *btf, struct gpgpu_program *prog)
{
	const struct btf_type *args;
	int r;

	if (!btf)
		return bad(prog, "no type information; compile with -g");
	args = args_struct(btf, prog, &r);
	if (!args)
		return r;
	if (btf_vlen(args) > GPGPU_MAX_ARGS)
		return gpgpu_fail(-EINVAL, "kernel '%.64s': %u arguments, at most %u are possible",
				  prog->name, btf_vlen(args), GPGPU_MAX_ARGS);
	for (uint32_t i = 0; i < btf_vlen(args); i++) {
		prog->num_args = i + 1; /* so that what is described so far is freed */
		r = describe_member(btf, prog, args, i);
		if (r)
			return r;
	}
	return 0;
}
