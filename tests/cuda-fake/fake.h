/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake.h - a driver that is none: a libcuda.so.1 for tests of host-backend/cuda, found by LD_LIBRARY_PATH.
 *
 * How it works: it has the functions of cuda/driver.h and one card, with streams whose work a thread of each runs in order.
 * It assembles nothing and runs no PTX: text is looked over as far as its head goes, and says in a comment of its own
 * which image of this machine's code is meant, whose launches lanes.h of tests/gpu-mock runs (use.c writes such
 * text). The clock's kernel is known by the register that it reads.
 *
 * It is strict, and ends the process with a sentence where its caller does what the driver's reference forbids or what we
 * do not want done: calls without the context, things that it does not know or that are gone, memory that is let go of while
 * work that is queued needs it, the card's memory touched by the CPU, launches outside memory that is registered, anything left
 * when a context that is whole is destroyed. Memory comes full of garbage.
 *
 * What goes wrong with a real one can be asked for, by the plan. The plan and the counts are looked up in the library.
 */
#ifndef CUDA_FAKE_H
#define CUDA_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#define FAKE_TRACE 4096

struct fake_plan {
	/* The call with this number (from 1, counted since the plan was last all zeros) returns `error`; `sticky`: and all others. */
	uint32_t nth;
	/* Or this call, after `skip` of its kind. */
	char name[40];
	uint32_t skip;
	int error;
	bool sticky;
	int fault; /* the kernel that runs next ends the context with it */
	bool hang; /* kernels do not end */
	uint32_t delay_us; /* before each kernel and copy */
	uint32_t took_us; /* that each takes at least */
	int version; /* 0: 12000 */
	int devices; /* 0: 2; -1: none */
	int attribute, value; /* one that is asked for answers so; 0: none */
};

/* Of the library. fake_trace(): names of the calls since the last time, a blank behind each. */
#define FAKE_PLAN	"fake_plan"
#define FAKE_CALLS	"fake_calls"
#define FAKE_TAKE_TRACE "fake_take_trace"
typedef uint32_t fake_calls_fn(void); /* how many that `nth` counts */
typedef void fake_take_trace_fn(char text[FAKE_TRACE]);

/* A comment of a text: "//@run IMAGE KERNEL", the address of a struct gp_image or 0, and an enum gp_kernel. */
#define FAKE_RUN "//@run "
/* What the assembler does with the text: "//@hang", "//@die", "//@wrong" (an answer that is none). */
#define FAKE_HANG "//@hang"
#define FAKE_DIE  "//@die"

#endif
