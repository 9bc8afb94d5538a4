/* SPDX-License-Identifier: BSD-3-Clause */
/* private.h - between the files of the fake driver: fake.c (calls), memory.c (what is mapped), stream.c (what runs). */
#ifndef CUDA_FAKE_PRIVATE_H
#define CUDA_FAKE_PRIVATE_H

#include <glib.h>
#include <pthread.h>
#include "cuda/driver.h"
#include "fake.h"
#include "rt/launch.h"

struct gp_image;

enum thing {
	THING_MODULE = 1,
	THING_STREAM,
	THING_EVENT,
	THING_LINK,
};

struct CUmod_st {
	enum thing thing;
	const struct gp_image *image;
	enum gp_kernel kernel;
	bool clock; /* its kernel writes the clock */
	uint32_t queued; /* launches that have not run */
};

struct CUevent_st {
	enum thing thing;
	bool recorded, done;
	uint64_t ns;
};

struct CUlinkState_st {
	enum thing thing;
	char *text;
	size_t size;
	int sm;
	char *log;
	size_t log_size;
};

enum work_kind {
	WORK_KERNEL,
	WORK_RECORD,
	WORK_WRITE,
	WORK_COPY,
	WORK_FILL8,
	WORK_FILL32,
};

struct work {
	enum work_kind kind;
	CUmodule module; /* KERNEL */
	uint64_t arg;
	uint64_t lanes;
	CUevent event; /* RECORD */
	CUdeviceptr to, from;
	uint64_t count;
	uint32_t value;
};

struct CUstream_st {
	enum thing thing;
	pthread_t thread;
	GQueue work; /* struct work; the first may be running */
	bool quit;
};

extern struct fake_plan fake_plan;
extern pthread_mutex_t fake_lock; /* everything; dropped while something runs */
extern pthread_cond_t fake_cond;
extern int fake_poisoned; /* the error that has ended the context */

G_GNUC_NORETURN void fake_die(const char *what);
uint64_t fake_now(void);

/* stream.c; with fake_lock */
CUstream fake_stream_new(void);
void fake_stream_free(CUstream stream);
void fake_stream_add(CUstream stream, struct work work);

/* memory.c; with fake_lock */
enum fake_memory {
	FAKE_NOWHERE,
	FAKE_CARD,
	FAKE_HOST,
	FAKE_HOST_RO,
};

/* fake_where() - what [@at, @at + @size) lies in, all of it in one piece. */
enum fake_memory fake_where(uint64_t at, uint64_t size);
/* fake_card_open() - let the process, which is the card now, reach its memory; _close(): no longer. Nested. */
void fake_card_open(void);
void fake_card_close(void);
CUresult fake_reserve(CUdeviceptr *at, size_t size);
CUresult fake_unreserve(CUdeviceptr at, size_t size);
CUresult fake_create(CUmemGenericAllocationHandle *handle, size_t size);
CUresult fake_release(CUmemGenericAllocationHandle handle);
CUresult fake_map(CUdeviceptr at, size_t size, CUmemGenericAllocationHandle handle);
CUresult fake_unmap(CUdeviceptr at, size_t size);
CUresult fake_access(CUdeviceptr at, size_t size);
CUresult fake_register(void *at, size_t size, bool read_only);
CUresult fake_unregister(void *at);
CUresult fake_pointer(CUdeviceptr *device, void *at);
/* fake_memory_left() - what was not given back, or NULL. */
const char *fake_memory_left(void);
/* fake_work_uses() - does work that has not run yet touch [@at, @at + @size)? stream.c */
bool fake_work_uses(uint64_t at, uint64_t size);

#define FAKE_PAGE (2u << 20) /* granularity of the card's memory */

#endif
