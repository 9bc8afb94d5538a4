// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs: BPF instructions on their way to the device.
 *
 * How it works: the instructions are copied from the user once. The map handles in them, which mean
 * something in this file only, are replaced by the device's ids; then they are put into a buffer of
 * their own, in the shared region where no user can see it, and the device is told. The buffer lives
 * until the device has answered. The program keeps the maps that it refers to.
 *
 * Nothing else about the instructions is looked at: the device decides what a program may be, and says
 * at which instruction it refused one.
 */
#include <linux/bpf.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/virtio_gpgpu_drm.h>

#include "bo.h"
#include "ctx.h"
#include "prog.h"

#define MAX_INSNS	131072U		/* 1 MiB; the device's own limit is in its capabilities */
#define MAX_MAPS	64U		/* maps that one program may refer to, as in the kernel */

struct vgpgpu_prog {
	struct vgpgpu_obj obj;
	unsigned int num_maps;
	struct vgpgpu_obj *maps[MAX_MAPS];	/* with a reference each */
};

static void prog_free(struct vgpgpu_obj *obj)
{
	struct vgpgpu_prog *prog = container_of(obj, struct vgpgpu_prog, obj);
	unsigned int i;

	for (i = 0; i < prog->num_maps; i++)
		vgpgpu_obj_put(prog->maps[i]);
	kfree(prog);
}

/* Adds a map to those that the program keeps. Return: the device's id of it, or -errno */
static int prog_add_map(struct vgpgpu_ctx *ctx, struct vgpgpu_prog *prog, u32 handle)
{
	struct vgpgpu_obj *map = vgpgpu_ctx_find(&ctx->maps, handle);
	unsigned int i;

	if (!map)
		return -ENOENT;
	for (i = 0; i < prog->num_maps; i++) {
		if (prog->maps[i] == map) {
			vgpgpu_obj_put(map);
			return prog->maps[i]->id;
		}
	}
	if (prog->num_maps == MAX_MAPS) {
		vgpgpu_obj_put(map);
		return -E2BIG;
	}
	prog->maps[prog->num_maps++] = map;
	return map->id;
}

/* Replaces map handles by ids. An ld_imm64 at the very end is left for the device to refuse. */
static int prog_translate(struct vgpgpu_ctx *ctx, struct vgpgpu_prog *prog, struct bpf_insn *insns,
			  u32 num, struct drm_virtio_gpgpu_result *result)
{
	u32 i;
	int ret;

	for (i = 0; i < num; i++) {
		struct bpf_insn *insn = &insns[i];

		if (insn->code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		if (insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE) {
			ret = prog_add_map(ctx, prog, insn->imm);
			if (ret < 0) {
				/* What the device would have said, had it known handles. */
				result->status = VIRTIO_GPGPU_S_REJECTED;
				result->reason = VIRTIO_GPGPU_R_MAP_REF;
				result->detail = i;
				return ret;
			}
			insn->imm = ret;
		}
		i++;	/* the second half */
	}
	return 0;
}

/* Sends the program; @args gets what came of it. */
static int prog_send(struct vgpgpu_ctx *ctx, struct vgpgpu_prog *prog, struct vgpgpu_buf *buf,
		     struct drm_virtio_gpgpu_prog_create *args)
{
	const struct virtio_gpgpu_resp_prog *resp;
	struct virtio_gpgpu_req_prog_create *req;
	struct vgpgpu_cmd *cmd;
	u32 n;
	int ret;

	cmd = vgpgpu_cmd_alloc(prog->obj.gdev, VIRTIO_GPGPU_CMD_PROG_CREATE, ctx->obj.id,
			       sizeof(*req), sizeof(*resp));
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	req = cmd->req.out;
	req->id = cpu_to_le32(prog->obj.id);
	req->kind = cpu_to_le32(args->kind);
	req->num_insns = cpu_to_le32(args->num_insns);
	req->insns_buffer = cpu_to_le32(buf->obj.id);
	req->num_args = cpu_to_le32(args->num_args);
	static_assert(sizeof(req->arg_kind) == sizeof(args->arg_kind));
	memcpy(req->arg_kind, args->arg_kind, sizeof(req->arg_kind));
	static_assert(sizeof(req->name) == sizeof(args->name));
	memcpy(req->name, args->name, sizeof(req->name));

	vgpgpu_obj_get(&prog->obj);
	vgpgpu_obj_get(&buf->obj);
	cmd->creates = &prog->obj;
	cmd->uses = &buf->obj;
	/* A compiler takes its time, and has a limit on it of its own. */
	cmd->req.timeout_ms = 4 * vgpgpu_control_timeout_ms;
	ret = vgpgpu_cmd_run(cmd, &args->result);
	if (ret == -EINTR)
		goto put;

	resp = cmd->req.in;
	if (cmd->req.in_len >= offsetofend(struct virtio_gpgpu_resp_prog, num_insns)) {
		args->compile_ns = le64_to_cpu(resp->compile_ns);
		args->code_bytes = le32_to_cpu(resp->code_bytes);
	}
	if (args->message && args->message_size) {
		/* The memory behind what the device wrote is zero. */
		n = strnlen(resp->message, sizeof(resp->message) - 1);
		n = min(n, args->message_size - 1);
		if (copy_to_user(u64_to_user_ptr(args->message), resp->message, n) ||
		    put_user(0, (char __user *)u64_to_user_ptr(args->message) + n))
			ret = -EFAULT;
	}
put:
	vgpgpu_cmd_put(cmd);
	return ret;
}

int vgpgpu_prog_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vgpgpu_device *gdev = to_vgpgpu(drm);
	struct drm_virtio_gpgpu_prog_create *args = data;
	struct vgpgpu_ctx *ctx = file->driver_priv;
	struct vgpgpu_prog *prog;
	struct bpf_insn *insns;
	struct vgpgpu_buf *buf;
	size_t bytes;
	int ret;

	memset(&args->result, 0, sizeof(args->result));
	if (args->pad || (args->flags & ~VIRTIO_GPGPU_PROG_F_BIG_ENDIAN) || !args->num_insns)
		return -EINVAL;
	if (args->flags & VIRTIO_GPGPU_PROG_F_BIG_ENDIAN || IS_ENABLED(CONFIG_CPU_BIG_ENDIAN))
		return -EOPNOTSUPP;
	if (args->num_insns > MAX_INSNS)
		return -E2BIG;
	ret = vgpgpu_ctx_get_ready(ctx, &args->result);
	if (ret)
		return ret;

	bytes = array_size(args->num_insns, sizeof(*insns));
	insns = kvmalloc(bytes, GFP_KERNEL_ACCOUNT);
	if (!insns)
		return -ENOMEM;
	if (copy_from_user(insns, u64_to_user_ptr(args->insns), bytes)) {
		ret = -EFAULT;
		goto free_insns;
	}

	prog = kzalloc(sizeof(*prog), GFP_KERNEL_ACCOUNT);
	ret = prog ? vgpgpu_obj_init(&prog->obj, gdev, ctx, VGPGPU_PROG, prog_free) : -ENOMEM;
	if (ret) {
		kfree(prog);
		goto free_insns;
	}
	ret = prog_translate(ctx, prog, insns, args->num_insns, &args->result);
	if (ret)
		goto put_prog;

	buf = vgpgpu_buf_create(ctx, DRM_VIRTIO_GPGPU_BO_SHM, PAGE_ALIGN(bytes), insns, bytes,
				&args->result);
	if (IS_ERR(buf)) {
		ret = PTR_ERR(buf);
		goto put_prog;
	}
	ret = prog_send(ctx, prog, buf, args);
	vgpgpu_obj_put(&buf->obj);
	if (!ret)
		ret = xa_alloc(&ctx->progs, &args->handle, &prog->obj, xa_limit_31b,
			       GFP_KERNEL_ACCOUNT);
put_prog:
	if (ret)
		vgpgpu_obj_put(&prog->obj);
free_insns:
	kvfree(insns);
	return ret;
}

int vgpgpu_prog_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_virtio_gpgpu_handle *args = data;
	struct vgpgpu_ctx *ctx = file->driver_priv;

	memset(&args->result, 0, sizeof(args->result));
	if (args->pad)
		return -EINVAL;
	return vgpgpu_ctx_destroy_handle(&ctx->progs, args->handle);
}
