/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sandbox.h - what a compiling child may do.
 */
#ifndef GPGPU_JIT_SANDBOX_H
#define GPGPU_JIT_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

/* gp_sandbox_prepare() - make the system call filter; once, in the zygote. Return: false with errno. */
bool gp_sandbox_prepare(void);

/*
 * gp_sandbox_enter() - give up everything but computing, memory and the descriptors that are open.
 * @cpu_seconds: CPU time; beyond it the kernel ends the process (SIGXCPU, then SIGKILL).
 * @memory: bytes of address space on top of what is mapped now.
 * @wall_seconds: SIGALRM ends the process after that.
 *
 * Return: false if any part failed; the caller then must not go on.
 */
bool gp_sandbox_enter(uint32_t cpu_seconds, uint64_t memory, uint32_t wall_seconds);

#endif
