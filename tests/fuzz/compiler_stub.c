// SPDX-License-Identifier: BSD-3-Clause
/*
 * compiler_stub.c - a compiler that takes no time, in the place of jit/client.c.
 *
 * Every valid program "compiles" to one of two functions that do by hand what generated code may do: read and write
 * packets and buffers within their bounds, use maps, fault, obey a stop. So the fuzzer spends its time in the
 * engine. One program in sixteen is refused.
 */
#include <string.h>
#include "jit/jit.h"
#include "rt/maps.h"
#include "virtio_gpgpu.h"

struct gp_jit {
	int unused;
};

static void use_maps(const struct gp_env *env, struct gp_thread *thread, uint64_t item)
{
	for (uint32_t i = 0; i < env->num_maps; i++) {
		uint8_t key[VIRTIO_GPGPU_MAX_KEY] = { (uint8_t)(item % 7) }, value[4096] = { 0 };

		if (gp_map_value_bytes(env->maps[i]) > sizeof(value))
			continue;
		thread->random = thread->random * 6364136223846793005u + 1442695040888963407u;
		if (env->maps[i]->frozen || thread->random >> 62)
			gp_map_lookup(env->maps[i], key, value);
		else if (thread->random >> 61 & 1)
			gp_map_update(env->maps[i], key, value, BPF_ANY);
		else
			gp_map_delete(env->maps[i], key);
	}
}

static uint64_t run_packets(const struct gp_env *env, struct gp_thread *thread, const struct gp_packet_in *in,
			    struct gp_packet_out *out, uint64_t first, uint64_t count,
			    struct gp_faults *faults)
{
	for (uint64_t i = first; i < first + count; i++) {
		uint8_t *data = env->slots + i * env->stride + in[i].data_off;

		if (*env->stop)
			return i - first;
		use_maps(env, thread, i);
		out[i] = (struct gp_packet_out){ .verdict = in[i].data_len % 5,
						 .data_off = in[i].data_off,
						 .data_len = in[i].data_len,
						 .meta_len = in[i].meta_len };
		/* First and last byte: a slot outside of its buffer would show. */
		data[0]++;
		data[in[i].data_len - 1]++;
		env->slots[i * env->stride]++;
		env->slots[i * env->stride + env->stride - 1]++;
		if (in[i].data_len % 5 == 0 && !faults->count++) {
			faults->first = i;
			faults->reason = VIRTIO_GPGPU_R_OUT_OF_BOUNDS;
		}
	}
	return count;
}

static uint64_t run_items(const struct gp_env *env, struct gp_thread *thread, const struct gp_grid *grid,
			  uint64_t first, uint64_t count, struct gp_faults *faults)
{
	for (uint64_t i = first; i < first + count; i++) {
		if (*env->stop)
			return i - first;
		use_maps(env, thread, i);
		for (uint32_t a = 0; a < env->num_args; a++) {
			const struct gp_region *region = &env->args[a];
			volatile uint8_t *base = region->base;

			if (!region->size)
				continue;
			if (region->writable)
				base[region->size - 1] = (uint8_t)i;
			else
				(void)base[region->size - 1];
		}
		if (i == 3 && !faults->count++) {
			faults->first = i;
			faults->reason = VIRTIO_GPGPU_R_OUT_OF_FUEL;
		}
	}
	return count;
}

struct gp_jit *gp_jit_new(const struct gp_jit_options *options, GError **error)
{
	return g_new0(struct gp_jit, 1);
}

void gp_jit_free(struct gp_jit *jit)
{
	g_free(jit);
}

void gp_jit_no_respawn(struct gp_jit *jit)
{
}

int gp_jit_pid(const struct gp_jit *jit)
{
	return -1;
}

struct gp_image *gp_jit_compile(struct gp_jit *jit, const struct gp_prog *prog, struct gp_verdict *verdict)
{
	struct gp_image *image;

	memset(verdict, 0, sizeof(*verdict));
	if (prog->num_insns % 16 == 15) {
		verdict->status = VIRTIO_GPGPU_S_LIMIT;
		verdict->reason = VIRTIO_GPGPU_R_COMPILE_LIMIT;
		g_strlcpy(verdict->message, "the stub does not like it", sizeof(verdict->message));
		return NULL;
	}
	image = g_new0(struct gp_image, 1);
	image->code = prog->kind == VIRTIO_GPGPU_PROG_XDP ? (void *)(uintptr_t)run_packets
							  : (void *)(uintptr_t)run_items;
	image->map_bytes = 4096;
	image->code_bytes = prog->num_insns * 8;
	image->refs = 1;
	return image;
}

struct gp_image *gp_jit_kernel(struct gp_jit *jit, enum gp_kernel kernel, struct gp_verdict *verdict)
{
	memset(verdict, 0, sizeof(*verdict));
	verdict->status = VIRTIO_GPGPU_S_UNSUPPORTED;
	g_strlcpy(verdict->message, "the stub compiles for the CPU", sizeof(verdict->message));
	return NULL;
}

struct gp_image *gp_image_ref(struct gp_image *image)
{
	__atomic_add_fetch(&image->refs, 1, __ATOMIC_RELAXED);
	return image;
}

void gp_image_improve(struct gp_image *image, struct gp_image *better)
{
	__atomic_store_n(&image->better, better, __ATOMIC_RELEASE);
}

void gp_jit_stop(struct gp_jit *jit)
{
}

void gp_image_unref(struct gp_image *image)
{
	if (!image || __atomic_sub_fetch(&image->refs, 1, __ATOMIC_ACQ_REL))
		return;
	gp_image_unref(image->better);
	g_free(image);
}
