/* SPDX-License-Identifier: BSD-3-Clause */
/* harness.c - harness.h. */
#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "harness.h"
#include "object.h"

const struct gp_gpu_ops *const ops = &gp_gpu_amdgpu;
struct gp_gpu_info info;
struct gp_gpu *gpu;
static const char *objects;
static bool (*tell)(const char *command);

void harness_start(const char *directory)
{
	void *symbol = dlsym(RTLD_DEFAULT, "amdgpu_sim_control");

	/* On a real card these tests have no business: some reset it. */
	if (!symbol)
		g_error("the software card is not there: LD_PRELOAD");
	memcpy(&tell, &symbol, sizeof(symbol));
	objects = directory;
}

void control(const char *command)
{
	ck_assert_msg(tell(command), "%s", command);
}

void open_card(void)
{
	GError *error = NULL;

	gpu = ops->open(NULL, &info, &error);
	ck_assert_msg(gpu, "%s", error ? error->message : "no reason");
}

void close_card(void)
{
	if (gpu)
		ops->close(gpu);
	gpu = NULL;
}

struct gp_gpu_code *load(int kernel, char why[GP_MESSAGE])
{
	struct gp_gpu_code *code;
	struct gp_image image;
	char path[512];

	snprintf(path, sizeof(path), "%s/kernel%d-%s.o", objects, kernel, info.target);
	object_load(path, &image);
	code = ops->load(gpu, &image, why);
	object_free(&image);
	return code;
}

struct gp_gpu_code *must_load(int kernel)
{
	char why[GP_MESSAGE] = "";
	struct gp_gpu_code *code = load(kernel, why);

	ck_assert_msg(code, "%s", why);
	return code;
}

void *must_alloc(uint64_t size, enum gp_gpu_mem mem)
{
	void *at = ops->alloc(gpu, size, mem);

	ck_assert_ptr_nonnull(at);
	return at;
}

void fill_copy(struct copy *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		c->in[i] = i * 7 + 1;
	*c->args = (struct args){ c->count, c->out, c->in };
}

void make_copy(struct copy *c, uint32_t count)
{
	c->count = count;
	c->code = must_load(KERNEL_COPY);
	c->args = must_alloc(sizeof(*c->args), GP_GPU_MEM_HOST_RO);
	c->in = must_alloc(count * 4, GP_GPU_MEM_DEVICE);
	c->out = must_alloc(count * 4, GP_GPU_MEM_DEVICE);
	fill_copy(c);
}

void free_copy(struct copy *c)
{
	ops->free(gpu, c->args, sizeof(*c->args));
	ops->free(gpu, c->in, c->count * 4);
	ops->free(gpu, c->out, c->count * 4);
	ops->unload(gpu, c->code);
}

int launch(struct gp_gpu_code *code, const void *args, uint32_t lanes, uint64_t *ticket)
{
	return ops->launch(gpu, code, (uintptr_t)args, (lanes + info.wave - 1) / info.wave, info.wave, 1,
			   ticket);
}

int wait_one(struct gp_gpu_end *end)
{
	int n = 0;

	for (int i = 0; i < 200 && !n; i++)
		n = ops->wait(gpu, SECOND / 10, end, 1);
	return n;
}

bool right_copy(const struct copy *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->out[i] != c->in[i] * 3 + i)
			return false;
	return true;
}

void run_copy(struct copy *c)
{
	struct gp_gpu_end end;
	uint64_t ticket;

	memset(c->out, 0, c->count * 4);
	ck_assert_int_eq(launch(c->code, c->args, c->count, &ticket), 0);
	ck_assert_int_eq(wait_one(&end), 1);
	ck_assert_uint_eq(end.ticket, ticket);
	ck_assert_uint_gt(end.ns, 0);
	ck_assert_uint_lt(end.ns, 60 * SECOND);
	ck_assert(right_copy(c));
}

void make_gate(struct gate *g)
{
	g->code = must_load(KERNEL_GATE);
	g->args = must_alloc(sizeof(*g->args), GP_GPU_MEM_HOST_RO);
	g->word = must_alloc(4, GP_GPU_MEM_HOST_RO);
	g->out = must_alloc(64 * 4, GP_GPU_MEM_DEVICE);
	*g->args = (struct args){ 0, g->out, (const uint32_t *)g->word };
}

uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

void recovered(struct copy *c, bool contents)
{
	bool kept = !contents;

	ck_assert(ops->recover(gpu, &kept));
	ck_assert_int_eq(kept, contents);
	ck_assert_int_eq(ops->state(gpu), GP_GPU_OK);
	if (contents)
		for (uint32_t i = 0; i < c->count; i++)
			ck_assert_uint_eq(c->in[i], i * 7 + 1);
	else
		for (uint32_t i = 0; i < c->count; i++)
			ck_assert_uint_eq(c->in[i], 0);
	fill_copy(c);
	run_copy(c);
}
