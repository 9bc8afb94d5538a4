// SPDX-License-Identifier: BSD-3-Clause
/*
 * args.c - a kernel's arguments, by position or by name, checked against what its type information says.
 *
 * A value travels in a slot of 8 bytes: what is narrower is extended as its type says, a float is its bits. Programs that
 * were made from instructions alone have neither names nor types; their values are taken as they are.
 */
#include <stdio.h>
#include <string.h>

#include "internal.h"

int gpgpu_program_arg_index(const struct gpgpu_program *prog, const char *name)
{
	for (uint32_t i = 0; i < prog->num_args; i++) {
		if (prog->args[i].name && !strcmp(prog->args[i].name, name))
			return (int)i;
	}
	return gpgpu_fail(-ENOENT, "kernel '%.64s' has no argument '%.64s'", prog->name, name);
}

/* For messages: "argument 'x' of kernel 'f'". */
static const char *words(const struct gpgpu_program *prog, uint32_t index, char buffer[192])
{
	const char *name = prog->args[index].name;

	if (name && name[0])
		snprintf(buffer, 192, "argument '%.64s' of kernel '%.64s'", name, prog->name);
	else
		snprintf(buffer, 192, "argument %u of kernel '%.64s'", index, prog->name);
	return buffer;
}

static int check(const struct gpgpu_program *prog, uint32_t index, bool buffer)
{
	char text[192];

	if (index >= prog->num_args)
		return gpgpu_fail(-EINVAL, "kernel '%.64s' has no argument %u", prog->name, index);
	if (buffer == (prog->args[index].kind == GPGPU_ARG_VALUE))
		return gpgpu_fail(-EINVAL, "%s is a %s", words(prog, index, text),
				  buffer ? "value" : "buffer");
	return 0;
}

/* Return: position of the argument of that name, which is a buffer or a value, or a negative errno that was noted. */
static int find(const struct gpgpu_program *prog, const char *name, bool buffer)
{
	int i = gpgpu_program_arg_index(prog, name), r;

	if (i < 0)
		return i;
	r = check(prog, (uint32_t)i, buffer);
	return r ? r : i;
}

static void store(struct gpgpu_arg *arg, uint64_t value)
{
	*arg = (struct gpgpu_arg){ .kind = GPGPU_ARG_VALUE, .value = value };
}

/* The low bytes of a slot, extended as the type says. */
static uint64_t extend(const struct gpgpu_arg_desc *desc, uint64_t bits)
{
	unsigned shift = desc->size ? 64 - desc->size * 8 : 0;

	if (desc->is_signed && !desc->is_float)
		return (uint64_t)((int64_t)(bits << shift) >> shift);
	return bits << shift >> shift;
}

int gpgpu_arg_set_value(const struct gpgpu_program *prog, struct gpgpu_arg *args, const char *name,
			uint64_t value)
{
	int i = find(prog, name, false);
	const struct gpgpu_arg_desc *desc;
	unsigned shift;
	char text[192];

	if (i < 0)
		return i;
	desc = &prog->args[i];
	shift = desc->size ? 64 - desc->size * 8 : 0;
	/* A negative number may come extended, whatever the type says. */
	if (value << shift >> shift != value && (uint64_t)((int64_t)(value << shift) >> shift) != value)
		return gpgpu_fail(-ERANGE, "%s takes %u bytes, and %llu has more",
				  words(prog, (uint32_t)i, text), desc->size, (unsigned long long)value);
	store(&args[i], desc->is_float ? extend(desc, value) : value);
	return 0;
}

int gpgpu_arg_set(const struct gpgpu_program *prog, struct gpgpu_arg *args, uint32_t index, const void *value,
		  size_t size)
{
	int r = check(prog, index, false);
	uint64_t bits = 0;
	uint32_t want;
	char text[192];

	if (r)
		return r;
	want = prog->args[index].size ? prog->args[index].size : sizeof(bits);
	if (size != want)
		return gpgpu_fail(-EINVAL, "%s takes %u bytes, not %zu", words(prog, index, text), want,
				  size);
	memcpy(&bits, value, size);
	store(&args[index], extend(&prog->args[index], bits));
	return 0;
}

int gpgpu_arg_set_int(const struct gpgpu_program *prog, struct gpgpu_arg *args, const char *name,
		      int64_t value)
{
	int i = find(prog, name, false);
	const struct gpgpu_arg_desc *desc;
	char text[192];

	if (i < 0)
		return i;
	desc = &prog->args[i];
	if (desc->is_float)
		return gpgpu_fail(-EINVAL, "%s is a %s", words(prog, (uint32_t)i, text),
				  desc->size == 4 ? "float" : "double");
	/* Unsigned numbers of 8 bytes have their own call: here a negative one is taken for a mistake. */
	if (desc->is_number &&
	    (extend(desc, (uint64_t)value) != (uint64_t)value || (!desc->is_signed && value < 0)))
		return gpgpu_fail(-ERANGE, "%s is of %u bytes, %s, and cannot be %lld",
				  words(prog, (uint32_t)i, text), desc->size,
				  desc->is_signed ? "signed" : "unsigned", (long long)value);
	store(&args[i], (uint64_t)value);
	return 0;
}

int gpgpu_arg_set_double(const struct gpgpu_program *prog, struct gpgpu_arg *args, const char *name,
			 double value)
{
	int i = find(prog, name, false);
	const struct gpgpu_arg_desc *desc;
	float narrow = (float)value;
	uint64_t bits = 0;
	char text[192];

	if (i < 0)
		return i;
	desc = &prog->args[i];
	if (!desc->is_float || (desc->size != 4 && desc->size != 8))
		return gpgpu_fail(-EINVAL, "%s is neither a float nor a double",
				  words(prog, (uint32_t)i, text));
	memcpy(&bits, desc->size == 4 ? (void *)&narrow : (void *)&value, desc->size);
	store(&args[i], bits);
	return 0;
}

int gpgpu_arg_set_buffer(const struct gpgpu_program *prog, struct gpgpu_arg *args, const char *name,
			 struct gpgpu_buffer *buf)
{
	int i = find(prog, name, true);

	if (i < 0)
		return i;
	args[i] = (struct gpgpu_arg){ .kind = prog->args[i].kind, .buffer = buf };
	return 0;
}

int gpgpu_arg_set_range(const struct gpgpu_program *prog, struct gpgpu_arg *args, uint32_t index,
			struct gpgpu_buffer *buf, uint64_t offset, uint64_t size)
{
	int r = check(prog, index, true);
	char text[192];

	if (r)
		return r;
	if (offset % 8)
		return gpgpu_fail(-EINVAL, "%s: offset %llu is no multiple of 8", words(prog, index, text),
				  (unsigned long long)offset);
	if (offset >= buf->size || size > buf->size - offset)
		return gpgpu_fail(-EINVAL, "%s: bytes %llu to %llu are not within a buffer of %llu",
				  words(prog, index, text), (unsigned long long)offset,
				  (unsigned long long)(offset + size), (unsigned long long)buf->size);
	args[index] = (struct gpgpu_arg){
		.kind = prog->args[index].kind, .buffer = buf, .value = offset, .size = size
	};
	return 0;
}
