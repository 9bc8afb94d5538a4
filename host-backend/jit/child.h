/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * child.h - one compile, in a process of its own.
 */
#ifndef GPGPU_JIT_CHILD_H
#define GPGPU_JIT_CHILD_H

#include "jit/wire.h"

/* Exit statuses of a child; the zygote answers for one that could not. */
enum {
	GP_CHILD_ANSWERED = 0,
	GP_CHILD_NO_MEMORY = 3,
	GP_CHILD_NO_SANDBOX = 4,
	GP_CHILD_BAD_REQUEST = 5,
	GP_CHILD_SIGNAL = 128, /* + signal that it caught */
};

/* gp_child_run() - compile what @program holds and answer on @reply. Does not return. */
_Noreturn void gp_child_run(const struct gp_jit_request *request, int program, int reply);

/* gp_child_verdict() - what to say of a child that ended without an answer. @status: of waitpid(). */
void gp_child_verdict(int status, struct gp_verdict *verdict);

#endif
