// SPDX-License-Identifier: BSD-3-Clause
/*
 * misuse.c - kernels and callers that do what they should not: each time there is an error that says what, and the device goes on.
 * And what two users of a device see of each other: nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lib_test.h"

#define CONTEXTS 1000
#define SECRET	 0x5ec4e75e

static void is_alive(const char *after)
{
	struct gpgpu_job *job;

	ok(!finish(gpgpu_nop(dev, NULL, &job), &job), "the device goes on after %s", after);
}

/* Loads only one of the object's kernels. Return: 0 or negative errno. */
static int load_one(const char *name, struct gpgpu_object **obj, struct gpgpu_program **prog)
{
	struct gpgpu_program *p = NULL;
	char path[512];
	int r;

	snprintf(path, sizeof(path), "%s/misuse.bpf.o", folder);
	r = gpgpu_object_open(path, obj);
	if (r)
		return r;
	*prog = gpgpu_object_program(*obj, name);
	while ((p = gpgpu_object_next_program(*obj, p)))
		gpgpu_program_set_autoload(p, p == *prog);
	return gpgpu_object_load(*obj, dev);
}

static void is_refused(const char *name, const char *message, const char *what)
{
	struct gpgpu_object *obj = NULL;
	struct gpgpu_program *prog;

	is_error(load_one(name, &obj, &prog), -EINVAL, message, what);
	gpgpu_object_close(obj);
}

static void test_barriers(void)
{
	is_refused("branch", "gp_barrier is for all items of a group, and not all may get here",
		   "a barrier in a branch that not all items take");
	is_refused("turns", "gp_barrier is for all items of a group, and not all may get here",
		   "a barrier in a loop of as many turns as a buffer says");
	is_alive("barriers");
}

/* Runs a kernel of the object over a grid, in groups. Return: what waiting for it returned. */
static int run(const char *name, uint32_t items, uint32_t group, struct gpgpu_buffer *buf, uint64_t n,
	       struct gpgpu_job_result *result)
{
	struct gpgpu_arg args[2] = { 0 };
	struct gpgpu_object *obj;
	struct gpgpu_program *prog;
	struct gpgpu_job *job;
	int r = load_one(name, &obj, &prog);

	memset(result, 0, sizeof(*result));
	if (!r)
		r = gpgpu_arg_set_buffer(prog, args, "out", buf);
	if (!r)
		r = gpgpu_arg_set_value(prog, args, "n", n);
	if (!r)
		r = gpgpu_dispatch(prog, (uint32_t[]){ items, 1, 1 }, (uint32_t[]){ group, 1, 1 }, args, 2,
				   NULL, &job);
	if (!r) {
		r = gpgpu_job_wait(job, -1, result, NULL, 0);
		gpgpu_job_destroy(job);
	}
	gpgpu_object_close(obj);
	return r;
}

static void test_faults(void)
{
	static const struct {
		uint64_t n;
		const char *what;
	} outside[] = {
		{ 512, "behind a buffer's end" },
		{ (uint64_t)-2, "in front of its beginning" },
		{ 1ull << 40, "far away" },
		{ 1ull << 61, "where the offset does not fit 64 bits" },
		{ 0x7fffffffffffffff, "at the other end of the world" },
	};
	struct gpgpu_job_result result;
	struct gpgpu_buffer *buf, *next;
	uint64_t *out = make_buffer(4096, &buf), *beside = make_buffer(4096, &next);
	bool clean = true;

	for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++) {
		int r = run("outside", 1, 1, buf, outside[i].n, &result);

		/* 1 << 61 elements of 8 bytes are 0 bytes away. */
		if (outside[i].n << 3 == 0)
			ok(!r && out[0] == 0x5ec4e7, "a write %s", outside[i].what);
		else
			is_error(r, -EIO, "access out of bounds: 1 work items, the first is 0",
				 outside[i].what);
		out[0] = 0;
	}
	clean = all_bytes(out, 4096, 0) && all_bytes(beside, 4096, 0);
	ok(clean, "nothing was written anywhere");
	is_error(run("outside", 100, 1, buf, 500, &result), -EIO, "88 work items, the first is 12",
		 "who is inside writes, who is outside is counted");
	ok(result.fault_count == 88 && out[511] == 0x5ec4e7 && out[499] == 0, "in numbers as well");

	is_error(run("endless", 2, 1, buf, 1, &result), -EIO, "2 work items, the first is 0",
		 "a loop without an end");
	is_error(run("endless_together", 64, 64, buf, 1, &result), -EIO, "64 work items",
		 "one of a group, with a barrier in it");
	is_alive("faults");
	gpgpu_buffer_destroy(buf);
	gpgpu_buffer_destroy(next);
}

static void test_launches(void)
{
	struct gpgpu_job_result result;
	struct gpgpu_buffer *buf, *foreign;
	struct gpgpu_arg args[2] = { 0 };
	struct gpgpu_device *other;
	struct gpgpu_object *obj;
	struct gpgpu_program *prog;
	struct gpgpu_job *job;

	make_buffer(4096, &buf);
	is_error(run("write_on", caps.max_group + 1, caps.max_group + 1, buf, 1, &result), -EINVAL,
		 "work items, the device takes", "a group that is too large");
	is_error(run("endless_together", 100, 64, buf, 0, &result), -EINVAL,
		 "a grid of 100 x 1 x 1 is none of groups of 64 x 1 x 1", "groups that do not fill the grid");
	ok(!run("endless_together", 128, 64, buf, 0, &result), "and such that do");
	if (!ok(!load_one("write_on", &obj, &prog) && !gpgpu_open(NULL, &other) &&
			!gpgpu_buffer_create(other, 4096, GPGPU_BUFFER_SHARED, &foreign),
		"a buffer of another context"))
		return;
	gpgpu_arg_set_buffer(prog, args, "out", foreign);
	gpgpu_arg_set_int(prog, args, "n", 1);
	is_error(gpgpu_dispatch(prog, (uint32_t[]){ 1, 1, 1 }, NULL, args, 2, NULL, &job), -EINVAL,
		 "argument 0 (out) is another device's", "is no argument");
	args[0].kind = GPGPU_ARG_BUFFER_RO;
	is_error(gpgpu_dispatch(prog, (uint32_t[]){ 1, 1, 1 }, NULL, args, 2, NULL, &job), -EINVAL,
		 "argument 0 (out) is of another kind", "nor is one of another kind");
	gpgpu_buffer_destroy(foreign);
	gpgpu_close(other);
	gpgpu_object_close(obj);
	gpgpu_buffer_destroy(buf);
	is_alive("launches that were refused");
}

/* Everything that a job uses is let go of while it runs. */
static void test_freed(void)
{
	struct gpgpu_arg args[2] = { 0 };
	struct gpgpu_buffer *buf, *mine[8];
	struct gpgpu_object *obj;
	struct gpgpu_program *prog;
	struct gpgpu_job *job;
	bool clean = true;
	uint8_t *p[8];

	if (!ok(!load_one("write_on", &obj, &prog) &&
			!gpgpu_buffer_create(dev, 65536, GPGPU_BUFFER_SHARED, &buf),
		"a job that writes for a while"))
		return;
	gpgpu_arg_set_buffer(prog, args, "out", buf);
	gpgpu_arg_set_int(prog, args, "n", 1 << 20);
	ok(!gpgpu_dispatch(prog, (uint32_t[]){ 8192, 1, 1 }, NULL, args, 2, NULL, &job), "runs");
	gpgpu_buffer_destroy(buf);
	gpgpu_object_close(obj);
	for (int i = 0; i < 8; i++)
		p[i] = make_buffer(65536, &mine[i]);
	is_error(gpgpu_job_wait(job, 0, NULL, NULL, 0), -ETIME, "not ended yet",
		 "still, when its buffer and its kernel have been let go of");
	gpgpu_job_cancel(job);
	ok(gpgpu_job_wait(job, -1, NULL, NULL, 0) == -ECANCELED, "until it is cancelled");
	gpgpu_job_destroy(job);
	for (int i = 0; i < 8; i++) {
		clean &= all_bytes(p[i], 65536, 0);
		gpgpu_buffer_destroy(mine[i]);
	}
	ok(clean, "it did not write to what was made meanwhile");
	is_alive("that");
}

static void test_contexts(void)
{
	struct rlimit files;
	struct gpgpu_device *devices[CONTEXTS] = { 0 };
	struct gpgpu_buffer *buffers[CONTEXTS] = { 0 };
	int opened = 0, usable = 0, failed = 0, r = 0;
	struct gpgpu_result said = { 0 };
	struct gpgpu_job *job;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max < CONTEXTS + 64 ? files.rlim_max : CONTEXTS + 64;
	setrlimit(RLIMIT_NOFILE, &files);
	while (opened < CONTEXTS && !gpgpu_open(NULL, &devices[opened]))
		opened++;
	ok(opened == CONTEXTS, "the device is opened %d times", opened);
	for (int i = 0; i < opened; i++) {
		r = gpgpu_buffer_create(devices[i], 4096, GPGPU_BUFFER_SHARED, &buffers[i]);
		usable += !r;
		if (!r || failed++)
			continue;
		gpgpu_error_result(&said);
	}
	/* Others may have contexts as well; one is the kernel's. */
	ok(usable > 0 && usable < (int)caps.max_contexts && usable + failed == opened,
	   "of which %d get a context", usable);
	ok(!failed || (said.status && strcmp(gpgpu_status_name(said.status), "unknown status")),
	   "the others are told: %s", gpgpu_status_name(said.status));
	is_alive("many contexts");
	ok(!finish(gpgpu_nop(devices[0], NULL, &job), &job), "and so does each of them");
	for (int i = 0; i < opened; i++) {
		gpgpu_buffer_destroy(buffers[i]);
		gpgpu_close(devices[i]);
	}
	is_alive("they have gone");
}

/* One user fills a lot of memory and lets go of it; another one gets memory and looks. */
static void test_strangers(void)
{
	enum { BUFFERS = 8 };
	const uint64_t size = 1 << 20;
	struct gpgpu_device *user = NULL;
	struct gpgpu_buffer *bufs[2][BUFFERS];
	struct gpgpu_job *job;
	bool clean = true, filled = true;
	void *p;

	ok(!gpgpu_open(NULL, &user), "a user");
	for (int i = 0; i < 2 * BUFFERS; i++) {
		filled &= !gpgpu_buffer_create(user, size,
					       i < BUFFERS ? GPGPU_BUFFER_SHARED : GPGPU_BUFFER_DEVICE,
					       &bufs[i / BUFFERS][i % BUFFERS]) &&
			  !finish(gpgpu_fill(bufs[i / BUFFERS][i % BUFFERS], 0, size, SECRET, NULL, &job),
				  &job);
	}
	ok(filled, "has secrets in shared memory and in the device's");
	for (int i = 0; i < 2 * BUFFERS; i++)
		gpgpu_buffer_destroy(bufs[i / BUFFERS][i % BUFFERS]);
	gpgpu_close(user);
	for (int i = 0; i < 2 * BUFFERS; i++) {
		struct gpgpu_buffer **buf = &bufs[i / BUFFERS][i % BUFFERS];

		clean &= !gpgpu_buffer_create(dev, size,
					      i < BUFFERS ? GPGPU_BUFFER_SHARED : GPGPU_BUFFER_DEVICE, buf) &&
			 !gpgpu_buffer_map_range(*buf, 0, size, GPGPU_ACCESS_READ, &p) &&
			 all_bytes(p, size, 0) && !gpgpu_buffer_unmap(*buf, p);
	}
	ok(clean, "another one, who gets that memory, finds zeros");
	for (int i = 0; i < 2 * BUFFERS; i++)
		gpgpu_buffer_destroy(bufs[i / BUFFERS][i % BUFFERS]);
}

void test_misuse(void)
{
	test_barriers();
	test_faults();
	test_launches();
	test_freed();
	test_contexts();
	test_strangers();
}
