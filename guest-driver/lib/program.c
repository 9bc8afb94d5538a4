// SPDX-License-Identifier: BSD-3-Clause
/*
 * program.c - programs: handing instructions to the device and saying why it refused them.
 *
 * As with maps, a program of an object exists before its device side does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "gpgpu_bpf.h"
#include "virtio_gpgpu.h"

#define LOCAL_MEMORY 15 /* src_reg of an ld_imm64 that names local memory */

/* As the device finds it out: such a kernel is run by whole groups. */
static bool has_groups(const struct bpf_insn *insns, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (insns[i].code == (BPF_JMP | BPF_CALL) && !insns[i].src_reg &&
		    insns[i].imm >= GPGPU_HELPER_barrier && insns[i].imm <= GPGPU_HELPER_scan_before)
			return true;
		if (insns[i].code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		if (insns[i].src_reg == LOCAL_MEMORY)
			return true;
		i++;
	}
	return false;
}

int gpgpu_program_attach(struct gpgpu_program *prog, struct gpgpu_device *dev, const struct bpf_insn *insns,
			 uint32_t num_insns)
{
	char message[VIRTIO_GPGPU_MESSAGE] = "", what[96];
	struct drm_virtio_gpgpu_prog_create create = {
		.kind = prog->kind,
		.num_insns = num_insns,
		.insns = (uintptr_t)insns,
		.num_args = prog->num_args,
		.message = (uintptr_t)message,
		.message_size = sizeof(message),
	};
	int r;

	snprintf(what, sizeof(what), "program '%.64s'", prog->name);
	if (dev->max_insns && num_insns > dev->max_insns)
		return gpgpu_fail(-E2BIG, "%s: %u instructions, the device takes %u", what, num_insns,
				  dev->max_insns);
	for (uint32_t i = 0; i < prog->num_args; i++)
		create.arg_kind[i] = prog->args[i].kind;
	snprintf((char *)create.name, sizeof(create.name), "%.31s", prog->name);
	r = gpgpu_ioctl(dev, DRM_IOCTL_VIRTIO_GPGPU_PROG_CREATE, &create);
	if (r) {
		message[sizeof(message) - 1] = '\0';
		return gpgpu_fail_device(r, what, &create.result, message);
	}
	prog->handle = create.handle;
	prog->has_groups = prog->kind == GPGPU_PROGRAM_KERNEL && has_groups(insns, num_insns);
	prog->compile_ns = create.compile_ns;
	prog->code_bytes = create.code_bytes;
	prog->dev = gpgpu_device_get(dev);
	return 0;
}

void gpgpu_program_detach(struct gpgpu_program *prog)
{
	struct drm_virtio_gpgpu_handle destroy = { .handle = prog->handle };

	if (!prog->dev)
		return;
	gpgpu_ioctl(prog->dev, DRM_IOCTL_VIRTIO_GPGPU_PROG_DESTROY, &destroy);
	gpgpu_close(prog->dev);
	prog->dev = NULL;
	prog->handle = 0;
	prog->compile_ns = 0;
	prog->code_bytes = 0;
}

int gpgpu_program_create(struct gpgpu_device *dev, const struct gpgpu_program_desc *desc,
			 struct gpgpu_program **out)
{
	struct gpgpu_program *prog;
	int r;

	*out = NULL;
	if (desc->num_args > GPGPU_MAX_ARGS)
		return gpgpu_fail(-EINVAL, "program '%.64s': %u arguments, at most %u are possible",
				  desc->name ? desc->name : "", desc->num_args, GPGPU_MAX_ARGS);
	prog = calloc(1, sizeof(*prog));
	if (!prog)
		return gpgpu_fail(-ENOMEM, "out of memory");
	prog->name = strdup(desc->name ? desc->name : "");
	prog->kind = desc->kind;
	prog->num_args = desc->num_args;
	prog->num_insns = desc->num_insns;
	for (uint32_t i = 0; i < desc->num_args; i++)
		prog->args[i] = (struct gpgpu_arg_desc){ .kind = desc->arg_kind[i] };
	r = prog->name ? gpgpu_program_attach(prog, dev, desc->insns, desc->num_insns)
		       : gpgpu_fail(-ENOMEM, "out of memory");
	if (r) {
		free(prog->name);
		free(prog);
		return r;
	}
	*out = prog;
	return 0;
}

void gpgpu_program_get_info(const struct gpgpu_program *prog, struct gpgpu_program_info *info)
{
	*info = (struct gpgpu_program_info){
		.name = prog->name,
		.section = prog->section ? prog->section : "",
		.kind = prog->kind,
		.num_insns = prog->num_insns,
		.num_args = prog->num_args,
		.loaded = prog->dev != NULL,
		.compile_ns = prog->compile_ns,
		.code_bytes = prog->code_bytes,
	};
}

int gpgpu_program_arg(const struct gpgpu_program *prog, uint32_t index, struct gpgpu_arg_info *info)
{
	const struct gpgpu_arg_desc *arg;

	if (index >= prog->num_args)
		return gpgpu_fail(-EINVAL, "kernel '%.64s' has no argument %u", prog->name, index);
	arg = &prog->args[index];
	*info = (struct gpgpu_arg_info){
		.name = arg->name ? arg->name : "",
		.kind = arg->kind,
		.size = arg->size,
		.is_number = arg->is_number,
		.is_signed = arg->is_signed,
		.is_float = arg->is_float,
	};
	return 0;
}

const struct bpf_insn *gpgpu_program_insns(const struct gpgpu_program *prog, size_t *count)
{
	*count = prog->insns ? prog->num_insns : 0;
	return prog->insns;
}

void gpgpu_program_set_autoload(struct gpgpu_program *prog, bool autoload)
{
	prog->autoload = autoload;
}

void gpgpu_program_destroy(struct gpgpu_program *prog)
{
	if (!prog || prog->obj)
		return;
	gpgpu_program_detach(prog);
	free(prog->name);
	free(prog);
}

uint32_t gpgpu_program_handle(const struct gpgpu_program *prog)
{
	return prog->handle;
}
