/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernels_main.c - gpgpu-kernels: compiles, when all of this is built, the kernels that are no program's (kernels.h), so
 * that no worker waits for that when it starts.
 *
 * A module is used up by one compile (emit.h), so each kernel is compiled by a child.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "jit/kernels.h"

static const uint8_t padding[8];

static bool write_record(FILE *to, enum gp_kernel kernel, const struct gp_code *code)
{
	struct gp_made_kernel head = {
		.kernel = kernel,
		.size = code->size,
		.entry = code->entry,
		.vgprs = code->vgprs,
		.sgprs = code->sgprs,
		.vgpr_spills = code->vgpr_spills,
		.sgpr_spills = code->sgpr_spills,
		.scratch_bytes = code->scratch_bytes,
		.lds_bytes = code->lds_bytes,
	};

	snprintf(head.target, sizeof(head.target), "%s", gp_emit_target());
	return fwrite(&head, sizeof(head), 1, to) == 1 && fwrite(code->bytes, code->size, 1, to) == 1 &&
	       (!(-code->size & 7u) || fwrite(padding, -code->size & 7u, 1, to) == 1) && !fflush(to);
}

/* Without LLVM's destructors, which take long and have nothing to save. */
static _Noreturn void compile(FILE *to, enum gp_kernel kernel)
{
	struct gp_verdict verdict = { 0 };
	struct gp_code code = { 0 };

	if (!gp_emit_kernel(kernel, &code, &verdict)) {
		fprintf(stderr, "gpgpu-kernels: %s: %s\n", gp_emit_target(), verdict.message);
		_exit(1);
	}
	if (!write_record(to, kernel, &code)) {
		perror("gpgpu-kernels");
		_exit(1);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *why;
	FILE *to;

	if (argc != 3) {
		fprintf(stderr, "usage: gpgpu-kernels TARGET OUTPUT\n");
		return 1;
	}
	why = gp_emit_init(argv[1]);
	to = why ? NULL : fopen(argv[2], "wb");
	if (!to) {
		fprintf(stderr, "gpgpu-kernels: %s: %s\n", argv[1], why ? why : "cannot write");
		return 1;
	}
	/* The children share the place in the file. */
	for (int kernel = GP_KERNEL_MAP_OPS; kernel <= GP_KERNEL_COPY; kernel++) {
		pid_t pid = fork();
		int status = 1;

		if (!pid)
			compile(to, kernel);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
			unlink(argv[2]);
			_exit(1);
		}
	}
	_exit(0);
}
