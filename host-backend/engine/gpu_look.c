/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_look.c - what programs have left for somebody to read, when the slice that ran them is about to be over.
 *
 * Ring buffers and the lines that a program printed lie in the GPU's memory, where lanes can reserve and count at its
 * speed. So one more launch asks each ring buffer whether there is something, those left out that the guest has been
 * told of already (records.c), and takes lines out.
 */
#include <string.h>
#include "gpu_priv.h"
#include "rt/log.h"

struct look {
	GArray *ops; /* struct gp_map_op */
	GPtrArray *of; /* for each, its map object or its program */
};

static void add_map(struct gpgpu_session *s, struct gp_map_object *map, void *opaque)
{
	struct gp_map_op op = { .kind = GP_MAP_OP_PENDING, .map = map->map };
	struct look *look = opaque;
	bool notified;

	pthread_mutex_lock(&s->records_lock);
	notified = map->notified;
	pthread_mutex_unlock(&s->records_lock);
	/* Several programs, and several maps of maps, may lead to the same. */
	if (notified || g_ptr_array_find(look->of, map, NULL))
		return;
	g_array_append_val(look->ops, op);
	g_ptr_array_add(look->of, map);
}

static void add_log(struct gp_program *prog, struct look *look)
{
	struct gp_map_op op = { .kind = GP_MAP_OP_LINES,
				.map = (struct gp_map *)(void *)prog->log,
				.count = GP_LOG_ENTRIES };

	g_array_append_val(look->ops, op);
	g_ptr_array_add(look->of, prog);
}

static struct gpu_launch *make_launch(struct gp_device *dev, struct look *look, uint32_t logs)
{
	uint64_t ops_bytes = look->ops->len * sizeof(struct gp_map_op);
	uint64_t text_bytes = gp_gpu_room(GP_LOG_ENTRIES * GP_LOG_TEXT);
	struct gpu_launch *launch =
		gp_gpu_launch_new(dev, GPU_LOOK, gp_gpu_room(ops_bytes) + logs * text_bytes);
	struct gp_map_op *ops;

	if (!launch)
		return NULL;
	ops = launch->ops = gp_gpu_take(launch->block, ops_bytes);
	launch->texts = g_new0(const char *, look->ops->len);
	memcpy(ops, look->ops->data, ops_bytes);
	for (uint32_t i = 0; i < look->ops->len; i++) {
		if (ops[i].kind != GP_MAP_OP_LINES)
			continue;
		ops[i].value = gp_gpu_take(launch->block, text_bytes);
		launch->texts[i] = (const char *)ops[i].value;
	}
	launch->args->ops = ops;
	launch->args->num_ops = look->ops->len;
	gp_gpu_launch_lanes(launch, 1);
	launch->looked_at = g_ptr_array_ref(look->of);
	return launch;
}

struct gpu_launch *gp_gpu_look(struct gp_device *dev, struct gpu_slice *slice)
{
	g_autoptr(GArray) ops = g_array_new(FALSE, FALSE, sizeof(struct gp_map_op));
	g_autoptr(GPtrArray) of = g_ptr_array_new();
	struct look look = { .ops = ops, .of = of };
	uint32_t logs = 0;

	for (guint i = 0; i < slice->progs->len; i++) {
		struct gp_program *prog = g_ptr_array_index(slice->progs, i);

		gp_records_each(slice->job->session, prog, add_map, &look);
		if (!prog->log)
			continue;
		add_log(prog, &look);
		logs++;
	}
	/* Without memory it is found when the next slice ends. */
	return ops->len ? make_launch(dev, &look, logs) : NULL;
}

void gp_gpu_looked(struct gpu_slice *slice, const struct gpu_launch *launch)
{
	struct gpgpu_session *s = slice->job->session;

	for (uint32_t i = 0; i < launch->looked_at->len; i++) {
		const struct gp_map_op *op = &launch->ops[i];
		const char *texts = launch->texts[i];
		void *of = g_ptr_array_index(launch->looked_at, i);
		uint32_t lines = gp_gpu_read(op->done);

		lines = MIN(lines, GP_LOG_ENTRIES);
		if (!texts && gp_gpu_read(op->result))
			gp_records_found(s, of);
		for (uint32_t line = 0; texts && line < lines; line++) {
			char text[GP_LOG_TEXT];

			memcpy(text, texts + (size_t)line * GP_LOG_TEXT, sizeof(text));
			text[sizeof(text) - 1] = 0;
			gp_prints_line(s, of, text);
		}
	}
}
