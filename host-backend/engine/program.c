/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * program.c - programs: from the guest's instructions to something that can be dispatched.
 *
 * PROG_CREATE copies the instructions out of the guest's memory once, replaces the ids of maps by indices into a
 * table of the maps that the program uses, and hands the copy to the compile threads. The id is taken from
 * then on; until the program is there its jobs are refused as busy.
 *
 * A program keeps its maps, also when their ids are destroyed. Its code is charged to the session.
 *
 * Threads: under the session's lock.
 */
#include <string.h>
#include "bpf/groups.h"
#include "compile.h"
#include "map.h"
#include "rt/log.h"

void gp_program_release(struct gp_program *prog)
{
	for (uint32_t i = 0; i < prog->num_maps; i++)
		gp_object_unref(&prog->map_objects[i]->object);
	if (prog->fib)
		gp_object_unref(&prog->fib->object);
	if (prog->object.session) {
		struct gpgpu_engine *engine = prog->object.session->engine;

		if (engine->ops->unload)
			engine->ops->unload(engine->device, prog);
		gp_table_free(engine, prog->log, sizeof(*prog->log));
	}
	g_free(prog->map_objects);
	g_free(prog->maps);
	if (prog->image)
		gp_image_unref(prog->image);
	if (prog->object.session)
		prog->object.session->num_programs--;
	g_free(prog);
}

#define OFF(member) offsetof(struct virtio_gpgpu_req_prog_create, member)

static struct gp_result check_args(const struct virtio_gpgpu_req_prog_create *r)
{
	uint32_t max = r->kind == VIRTIO_GPGPU_PROG_GPGPU ? VIRTIO_GPGPU_MAX_ARGS : 0;

	if (r->num_args > max)
		return GP_ERR(INVALID, COUNT, r->num_args);
	for (uint32_t i = 0; i < r->num_args; i++)
		if (r->arg_kind[i] < VIRTIO_GPGPU_ARG_VALUE || r->arg_kind[i] > VIRTIO_GPGPU_ARG_BUFFER_RO)
			return GP_ERR(INVALID, ARGUMENT, i);
	if (!gp_bytes_zero(r->arg_kind + r->num_args, VIRTIO_GPGPU_MAX_ARGS - r->num_args))
		return GP_ERR(INVALID, RESERVED, OFF(arg_kind));
	return GP_OK;
}

static struct gp_result check_create(struct gpgpu_session *s, const struct virtio_gpgpu_req_prog_create *r)
{
	struct gp_result result;

	if (r->kind != VIRTIO_GPGPU_PROG_XDP && r->kind != VIRTIO_GPGPU_PROG_GPGPU)
		return GP_ERR(INVALID, KIND, r->kind);
	if (r->kind == VIRTIO_GPGPU_PROG_XDP && !(s->features & 1 << VIRTIO_GPGPU_F_PACKET))
		return GP_ERR(UNSUPPORTED, FEATURE, 1 << VIRTIO_GPGPU_F_PACKET);
	if (r->prog_flags)
		return GP_ERR(UNSUPPORTED, FLAGS, r->prog_flags);
	if (!r->num_insns)
		return GP_ERR(INVALID, COUNT, 0);
	if (r->num_insns > s->limits.max_insns)
		return GP_ERR(LIMIT, INSN_LIMIT, s->limits.max_insns);
	if (r->insns_offset % sizeof(struct bpf_insn))
		return GP_ERR(INVALID, ALIGN, OFF(insns_offset));
	result = check_args(r);
	if (result.status)
		return result;
	if (!gp_padded(r->name, sizeof(r->name)))
		return GP_ERR(INVALID, RESERVED, OFF(name));
	/* Program arrays keep those whose ids are gone, each with a mapping of the process for its code. */
	if (s->num_programs >= 2 * s->limits.max_programs)
		return GP_ERR(LIMIT, OBJECT_LIMIT, s->limits.max_programs);
	return gp_object_new_check(s, VIRTIO_GPGPU_OBJ_PROG, r->id);
}

static struct gp_result groups_refused(const struct gp_program *prog, const struct gpgpu_engine *engine,
				       struct gp_verdict *verdict)
{
	if (!prog->grouped || !engine->lanes)
		return GP_OK;
	verdict->status = VIRTIO_GPGPU_S_REJECTED;
	verdict->reason = VIRTIO_GPGPU_R_HELPER;
	verdict->insn = 0;
	g_snprintf(verdict->message, sizeof(verdict->message),
		   "local memory, barriers and what items of a group exchange are not built for GPUs yet; the "
		   "CPU device has them");
	return GP_ERR(REJECTED, HELPER, 0);
}

static struct gp_result map_refused(struct gp_verdict *verdict, uint32_t insn, const char *format,
				    uint32_t value)
{
	verdict->status = VIRTIO_GPGPU_S_REJECTED;
	verdict->reason = VIRTIO_GPGPU_R_MAP_REF;
	verdict->insn = insn;
	g_snprintf(verdict->message, sizeof(verdict->message), format, insn, value);
	return GP_ERR(REJECTED, MAP_REF, insn);
}

/* Index of @map in the program, added if it is new; -1 if there are too many. */
static int map_index(struct gp_program *prog, struct gp_compile *compile, struct gp_map_object *map)
{
	for (uint32_t i = 0; i < prog->num_maps; i++)
		if (prog->map_objects[i] == map)
			return (int)i;
	if (prog->num_maps == GP_MAX_PROG_MAPS)
		return -1;
	gp_object_ref(&map->object);
	prog->map_objects[prog->num_maps] = map;
	prog->maps[prog->num_maps] = map->map;
	prog->has_records |= gp_map_has_records(map->desc.type) || gp_map_has_records(map->desc.inner.type);
	prog->per_cpu |= gp_map_has_copies(map->desc.type) || gp_map_has_copies(map->desc.inner.type);
	compile->maps[prog->num_maps] = map->desc;
	return (int)prog->num_maps++;
}

/* Ids of maps become indices. What else may be wrong with the instructions is the validator's to say. */
static struct gp_result resolve_maps(struct gpgpu_session *s, uint32_t ctx, struct gp_program *prog,
				     struct gp_compile *compile, struct gp_verdict *verdict)
{
	for (uint32_t i = 0; i < prog->num_insns; i++) {
		struct bpf_insn *insn = &compile->insns[i];
		struct gp_object *object;
		int index;

		if (insn->code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		i++; /* the other half */
		if (insn->src_reg != BPF_PSEUDO_MAP_FD && insn->src_reg != BPF_PSEUDO_MAP_VALUE)
			continue;
		if (gp_object_find(s, VIRTIO_GPGPU_OBJ_MAP, (uint32_t)insn->imm, ctx, &object).status)
			return map_refused(verdict, i - 1,
					   "instruction %u: the context has no map with id %u",
					   (uint32_t)insn->imm);
		index = map_index(prog, compile, (struct gp_map_object *)object);
		if (index < 0)
			return map_refused(verdict, i - 1, "instruction %u: more than %u maps in one program",
					   GP_MAX_PROG_MAPS);
		insn->imm = index;
	}
	return GP_OK;
}

/* The routes that the context has: the FIB map made last. */
static void find_fib(struct gpgpu_session *s, uint32_t ctx, struct gp_program *prog)
{
	struct list *pos, *next;

	list_for_each_safe(pos, next, &s->fibs)
	{
		struct gp_map_object *map = container_of(pos, struct gp_map_object, fib_link);

		if (!map->object.listed || !gp_object_attached(&map->object, ctx))
			continue;
		prog->fib = map;
		gp_object_ref(&map->object);
		return;
	}
}

/* Some helpers need something of the engine. */
static void prepare_helpers(struct gpgpu_session *s, uint32_t ctx, struct gp_program *prog,
			    const struct bpf_insn *insns)
{
	struct gp_group_needs groups;

	gp_group_find(insns, prog->num_insns, &groups);
	prog->grouped = groups.any;
	prog->local_bytes = groups.local_bytes;
	for (uint32_t i = 0; i < prog->num_insns; i++) {
		if (insns[i].code == (BPF_LD | BPF_IMM | BPF_DW)) {
			i++;
			continue;
		}
		if (insns[i].code != (BPF_JMP | BPF_CALL) || insns[i].src_reg)
			continue;
		if (insns[i].imm == BPF_FUNC_fib_lookup && !prog->fib)
			find_fib(s, ctx, prog);
		prog->prints |= insns[i].imm == BPF_FUNC_trace_printk;
		prog->tail_calls |= insns[i].imm == BPF_FUNC_tail_call;
	}
}

void gp_program_env(const struct gp_program *prog, struct gp_env *env)
{
	env->maps = prog->device_maps ? prog->device_maps : prog->maps;
	env->num_maps = prog->num_maps;
	env->fib = prog->fib ? prog->fib->map : NULL;
	env->log = prog->log;
	env->local_bytes = prog->local_bytes;
}

/* For people, of whom the guest is none: printable. */
static void copy_name(char name[32], const uint8_t *from)
{
	g_strlcpy(name, (const char *)from, 32);
	for (char *c = name; *c; c++)
		if (!g_ascii_isprint(*c))
			*c = '?';
}

static struct gp_program *new_program(const struct virtio_gpgpu_req_prog_create *r)
{
	struct gp_program *prog = g_new0(struct gp_program, 1);

	prog->kind = r->kind;
	prog->num_args = r->num_args;
	prog->num_insns = r->num_insns;
	memcpy(prog->arg_kind, r->arg_kind, sizeof(prog->arg_kind));
	copy_name(prog->name, r->name);
	prog->map_objects = g_new0(struct gp_map_object *, GP_MAX_PROG_MAPS);
	prog->maps = g_new0(struct gp_map *, GP_MAX_PROG_MAPS);
	return prog;
}

static void fill_response(struct gp_request *req, const struct gp_program *prog,
			  const struct gp_verdict *verdict)
{
	struct virtio_gpgpu_resp_prog *resp = gp_response(req, sizeof(*resp));

	resp->num_insns = prog->num_insns;
	if (prog->image) {
		resp->compile_ns = prog->compile_ns;
		resp->code_bytes = gp_image_best(prog->image)->code_bytes;
	}
	if (verdict)
		g_strlcpy((char *)resp->message, verdict->message, sizeof(resp->message));
}

/* Gives @prog what it needs to run, the reference to @image among it. Return: false, and why not. */
static bool make_ready(struct gpgpu_session *s, struct gp_program *prog, struct gp_image *image,
		       char why[GP_MESSAGE])
{
	struct gpgpu_engine *engine = s->engine;

	if (prog->prints) {
		prog->log = gp_table_alloc(engine, sizeof(*prog->log), GP_MEM_DEVICE);
		if (!prog->log) {
			g_strlcpy(why, "no memory for what it prints", GP_MESSAGE);
			return false;
		}
	}
	prog->image = image;
	if (!engine->ops->load || engine->ops->load(engine->device, prog, why))
		return true;
	prog->image = NULL;
	return false;
}

void gp_program_done(struct gp_compile *compile, struct gp_image *image, const struct gp_verdict *verdict,
		     struct list *done)
{
	struct gpgpu_session *s = compile->session;
	struct gp_program *prog = compile->program;
	struct gp_request *req = compile->req;
	struct gp_result result = { verdict->status, verdict->reason, verdict->insn };
	uint64_t bytes = (image ? gp_image_bytes(image) : 0) + (prog->prints ? sizeof(struct gp_log) : 0);
	struct gp_verdict refused;
	char why[GP_MESSAGE];

	compile->req = NULL;
	compile->program = NULL;
	list_del(&compile->link);
	gp_uncharge(s, prog->object.memory);
	prog->object.memory = 0;
	if (image && !prog->object.listed) {
		gp_image_unref(image);
		image = NULL;
		result = GP_ERR(CANCELLED, PROG, prog->object.id);
	} else if (image && !gp_charge(s, bytes)) {
		gp_image_unref(image);
		image = NULL;
		result = GP_ERR(NO_MEMORY, MEMORY_LIMIT, s->memory_limit);
	}
	if (image && !make_ready(s, prog, image, why)) {
		gp_image_unref(image);
		gp_uncharge(s, bytes);
		image = NULL;
		refused = (struct gp_verdict){ 0 };
		g_strlcpy(refused.message, why, sizeof(refused.message));
		verdict = &refused;
		result = GP_ERR(REJECTED, COMPILER, 0);
	}
	if (image) {
		prog->compile_ns = image->compile_ns;
		prog->object.memory = bytes;
		result = GP_OK;
	} else if (!result.status) {
		result = GP_ERR(REJECTED, COMPILER, 0);
	}
	fill_response(req, prog, verdict);
	if (!image) {
		if (result.status == VIRTIO_GPGPU_S_REJECTED)
			s->stats.rejected++;
		gp_object_remove(&prog->object);
	}
	gp_object_unref(&prog->object);
	gp_answer(s, req, result, done);
}

struct gp_result gp_cmd_prog_create(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				    struct list *done)
{
	const struct virtio_gpgpu_req_prog_create *r = (const void *)req->bytes;
	struct gp_verdict verdict = { 0 };
	struct gp_compile *compile;
	struct gp_object *object;
	struct gp_buffer *buffer;
	struct gp_program *prog;
	struct gp_image *image;
	struct gp_result result;
	uint64_t bytes;

	result = check_create(s, r);
	if (result.status)
		return result;
	result = gp_object_find(s, VIRTIO_GPGPU_OBJ_BUFFER, r->insns_buffer, ctx->id, &object);
	if (result.status)
		return result;
	buffer = (struct gp_buffer *)object;
	bytes = r->num_insns * sizeof(struct bpf_insn);
	if (!gp_range_ok(r->insns_offset, bytes, buffer->size))
		return GP_ERR(INVALID, RANGE, OFF(insns_offset));
	if (!gp_charge(s, bytes))
		return GP_ERR(NO_MEMORY, MEMORY_LIMIT, s->memory_limit);

	prog = new_program(r);
	compile = gp_compile_new(s, r->num_insns);
	memcpy(compile->insns, buffer->base + r->insns_offset, bytes);
	result = resolve_maps(s, ctx->id, prog, compile, &verdict);
	prepare_helpers(s, ctx->id, prog, compile->insns);
	if (!result.status)
		result = groups_refused(prog, s->engine, &verdict);
	if (result.status) {
		fill_response(req, prog, &verdict);
		s->stats.rejected++;
		gp_uncharge(s, bytes);
		gp_program_release(prog);
		gp_compile_free(compile);
		return result;
	}
	prog->object.memory = bytes;
	gp_object_add(s, &prog->object, VIRTIO_GPGPU_OBJ_PROG, r->id, ctx->id);
	s->num_programs++;

	compile->ctx = ctx;
	compile->req = req;
	/* It may lose its last context, and with it its place in the table, before it is compiled. */
	compile->program = (struct gp_program *)gp_object_ref(&prog->object);
	compile->prog.kind = r->kind;
	compile->prog.num_maps = prog->num_maps;
	compile->prog.num_args = r->num_args;
	memcpy(compile->prog.arg_kind, r->arg_kind, sizeof(compile->prog.arg_kind));
	gp_compile_key(compile);
	if (gp_compile_known(s, compile, &image, &verdict)) {
		gp_program_done(compile, image, &verdict, done);
		gp_compile_free(compile);
	} else {
		gp_compile_queue(compile);
	}
	return GP_PENDING;
}

struct gp_result gp_cmd_prog_destroy(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				     struct list *done)
{
	struct gp_object *object;
	struct gp_result result = gp_object_find_req(s, VIRTIO_GPGPU_OBJ_PROG, req, true, &object);

	if (result.status)
		return result;
	if (!((struct gp_program *)object)->image)
		return GP_ERR(BUSY, PROG, object->id);
	/* Jobs that run it keep it, without its id. */
	gp_object_remove(object);
	return GP_OK;
}

struct gp_result gp_cmd_prog_info(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				  struct list *done)
{
	struct gp_object *object;
	struct gp_result result = gp_object_find_req(s, VIRTIO_GPGPU_OBJ_PROG, req, false, &object);

	if (result.status)
		return result;
	if (!((struct gp_program *)object)->image)
		return GP_ERR(BUSY, PROG, object->id);
	fill_response(req, (struct gp_program *)object, NULL);
	return GP_OK;
}
