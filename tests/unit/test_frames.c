/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_frames.c - what of a function's frame lies in memory, and what may be in registers.
 *
 * An object whose address goes out of sight, or that is reached by a variable, does not keep the rest of the frame in
 * memory. That such programs do the right thing is for test_pointers.c to show.
 */
#include <check.h>
#include <stdlib.h>
#define ASM_TABLE
#include "asm.h"
#include "bpf/kinds.h"
#include "virtio_gpgpu.h"

static const struct gp_map_desc hash = { .type = VIRTIO_GPGPU_MAP_HASH,
					 .key_size = 8,
					 .value_size = 8,
					 .max_entries = 4,
					 .stride = 8,
					 .num_cpus = 1,
					 .num_buckets = 4,
					 .values_size = 32 };

/* clang-format off */
static const struct frame {
	const char *name;
	uint32_t memory, total; /* bytes: of the entry's frame, of all */
	const struct bpf_insn *insns;
	uint32_t count;
} frames[] = {
#define COUNT(...) (sizeof((const struct bpf_insn[]){ __VA_ARGS__ }) / sizeof(struct bpf_insn))
#define FRAME(name, memory, total, ...) \
	{ name, memory, total, (const struct bpf_insn[]){ __VA_ARGS__ }, COUNT(__VA_ARGS__) }
	FRAME("constant offsets", 0, 0, ST(DW, R10, -8, 1), STX(DW, R10, -512, R1), LDX(DW, R0, R10, -8), EXIT),
	FRAME("a key for a helper", 0, 0, ST(DW, R10, -8, 1), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -8),
	      LDMAP(R1, 0), CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 0), EXIT),
	FRAME("a variable index into 16 bytes", 16, 16, LDX(W, R3, R1, 12), ST(DW, R10, -8, 0),
	      ST(DW, R10, -16, 0), STX(DW, R10, -24, R1), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -16),
	      ALU64X(BPF_ADD, R2, R3), LDX(B, R0, R2, 0), EXIT),
	FRAME("an access over the border", 32, 32, LDX(W, R3, R1, 12), ST(DW, R10, -8, 0), ST(DW, R10, -20, 0),
	      STX(DW, R10, -32, R1), LDX(DW, R4, R10, -28), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -16),
	      ALU64X(BPF_ADD, R2, R3), LDX(B, R0, R2, 0), EXIT),
	FRAME("an object for a function", 8, 8, STX(DW, R10, -16, R1), ST(DW, R10, -8, 0), MOV64X(R1, R10),
	      ALU64K(BPF_ADD, R1, -8), CALL_LOCAL(1), EXIT, LDX(DW, R0, R1, 0), EXIT),
	FRAME("objects in two functions", 8, 24, ST(DW, R10, -8, 0), MOV64X(R1, R10), ALU64K(BPF_ADD, R1, -8),
	      CALL_LOCAL(1), EXIT, LDX(DW, R3, R1, 0), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -16),
	      ALU64X(BPF_ADD, R2, R3), LDX(B, R0, R2, 0), EXIT),
	FRAME("an object's end for a function that goes down", 512, 512, ST(DW, R10, -16, 0), MOV64X(R1, R10),
	      ALU64K(BPF_ADD, R1, -8), CALL_LOCAL(1), EXIT, LDX(DW, R0, R1, -8), EXIT),
	FRAME("the frame's end for a function", 512, 512, MOV64X(R1, R10), CALL_LOCAL(1), EXIT,
	      LDX(DW, R0, R1, -8), EXIT),
};
/* clang-format on */

START_TEST(test_frame)
{
	const struct frame *frame = &frames[_i];
	struct gp_prog prog = { .kind = VIRTIO_GPGPU_PROG_XDP,
				.num_insns = frame->count,
				.insns = frame->insns,
				.num_maps = 1,
				.maps = &hash };
	struct gp_verdict verdict;
	struct gp_kinds kinds;
	struct gp_cfg cfg;

	ck_assert_msg(gp_validate(&prog, &verdict), "%s: %s", frame->name, verdict.message);
	ck_assert(gp_cfg_build(&cfg, &prog, &verdict) && gp_kinds_analyse(&kinds, &prog, &cfg, &verdict));
	ck_assert_msg(kinds.funcs[0].memory == frame->memory && kinds.stack_bytes == frame->total,
		      "%s: %u of %u bytes instead of %u of %u", frame->name, kinds.funcs[0].memory,
		      kinds.stack_bytes, frame->memory, frame->total);
	gp_kinds_free(&kinds);
	gp_cfg_free(&cfg);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("frames");
	TCase *tcase = tcase_create("frames");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tcase, test_frame, 0, sizeof(frames) / sizeof(*frames));
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
