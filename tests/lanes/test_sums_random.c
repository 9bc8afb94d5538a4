/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_sums_random.c - taking loads and stores for sums changes nothing where packets run one after the other.
 *
 * Random straight pieces of code that load, compute and store in one map, made so that many are nearly sums:
 * same and other places, through the same and through other pointers, used in between and afterwards, with jumps. Each
 * piece works on an element of its own and ends by storing its registers there. Compiled with sums and without
 * (GP_PROG_ALONE), the map must be the same afterwards.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "asm.h"
#include "virtio_gpgpu.h"
#include "bpf/sums.h"
#include "jit/jit.h"
#include "rt/maps.h"

enum { PIECES = 40, VALUE = 64, PLACES = 24, SEEDS = 12, MAX_PIECE = 64 };

static uint64_t state;
static struct bpf_insn insns[PIECES * (MAX_PIECE + 40) + 8];
static uint32_t num;
static struct gp_jit *jit;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 33) % below);
}

static void put(struct bpf_insn insn)
{
	insns[num++] = insn;
}

static const int sizes[] = { DW, DW, DW, W, W, H, B };

static int draw_size(void)
{
	return sizes[draw(7)];
}

/* r1 to r5 are numbers, r6 and r7 values of the map, r8 is one of them moved. */
static int number(void)
{
	return R1 + (int)draw(5);
}

static int pointer(void)
{
	return R6 + (int)draw(4) % 3;
}

static int place(void)
{
	return (int)draw(PLACES / 4) * 4;
}

static void alu(int dst)
{
	static const int ops[] = { BPF_ADD, BPF_ADD, BPF_ADD, BPF_SUB, BPF_OR,
				   BPF_AND, BPF_XOR, BPF_MOV, BPF_MUL };
	int op = ops[draw(9)], src = number();
	bool wide = draw(4);

	if (draw(2))
		put(wide ? ALU64K(op, dst, (int)draw(1000) - 500) : ALU32K(op, dst, (int)draw(1000) - 500));
	else
		put(wide ? ALU64X(op, dst, src) : ALU32X(op, dst, src));
}

static void any(void)
{
	switch (draw(8)) {
	case 0:
	case 1:
		put(LDX(draw_size(), number(), pointer(), place()));
		break;
	case 2:
		put(STX(draw_size(), pointer(), place(), number()));
		break;
	case 3:
		put(ST(draw_size(), pointer(), place(), (int)draw(100)));
		break;
	case 4:
		put(MOV64X(R8, draw(2) ? R6 : R7));
		put(ALU64K(BPF_ADD, R8, (int)draw(3) * 4));
		break;
	case 5:
		put(STX(DW, R10, -8 * (int)(2 + draw(3)), number()));
		break;
	default:
		alu(number());
	}
}

/* A load and a store that may be a sum, and what may be between. */
static void nearly_sum(void)
{
	static const int ops[] = { BPF_ADD, BPF_ADD, BPF_SUB, BPF_OR, BPF_AND, BPF_XOR };
	int size = draw_size(), p = pointer(), at = place(), r = number(), op = ops[draw(6)],
	    other = number();

	put(LDX(size, r, p, at));
	while (!draw(3))
		any();
	do {
		bool wide = size == DW || draw(2);

		if (other != r && !draw(3)) { /* the other way round */
			put(wide ? ALU64X(op, other, r) : ALU32X(op, other, r));
			r = other;
		} else if (draw(2)) {
			put(wide ? ALU64K(op, r, (int)draw(100)) : ALU32K(op, r, (int)draw(100)));
		} else if (!draw(4)) {
			int to = number();

			put(MOV64X(to, r));
			r = to;
		} else {
			put(wide ? ALU64X(op, r, number()) : ALU32X(op, r, number()));
		}
	} while (!draw(3));
	while (!draw(3))
		any();
	put(STX(draw(12) ? size : draw_size(), p, draw(12) ? at : place(), r));
}

static void look_up(int key, int to)
{
	put(ST(W, R10, -4, key));
	put(MOV64X(R2, R10));
	put(ALU64K(BPF_ADD, R2, -4));
	put(INSN(BPF_LD | BPF_IMM | BPF_DW, R1, BPF_PSEUDO_MAP_FD, 0, 0));
	put(INSN(0, 0, 0, 0, 0));
	put(CALL(BPF_FUNC_map_lookup_elem));
	put(JK(BPF_JNE, R0, 0, 2));
	put(MOV64K(R0, 0));
	put(EXIT);
	put(MOV64X(to, R0));
}

static void piece(int n)
{
	uint32_t start, jump = 0;

	look_up(n, R6);
	look_up(draw(2) ? n : (int)draw(PIECES), R7);
	put(MOV64X(R8, R6));
	for (int r = R1; r <= R5; r++)
		put(MOV64K(r, (int)draw(1u << 30)));
	start = num;
	while (num - start < 20) {
		if (!jump && !draw(6)) {
			jump = num;
			put(JK(draw(2) ? BPF_JGT : BPF_JSGT, number(), (int)draw(1u << 30), 0));
		}
		if (draw(2))
			nearly_sum();
		else
			any();
		if (jump && !draw(3)) {
			insns[jump].off = (int16_t)(num - jump - 1);
			jump = 0;
		}
		ck_assert_uint_lt(num - start, MAX_PIECE);
	}
	if (jump)
		insns[jump].off = (int16_t)(num - jump - 1);
	for (int r = R1; r <= R5; r++)
		put(STX(DW, R6, 24 + 8 * (r - R1), r));
}

static void make_program(int seed)
{
	state = (uint64_t)seed * 0x9e3779b97f4a7c15ull + 1;
	num = 0;
	for (int n = 0; n < PIECES; n++)
		piece(n);
	put(MOV64K(R0, 2));
	put(EXIT);
}

GP_CALLS_AN_IMAGE static void run(const struct gp_prog *prog, struct gp_map *map)
{
	static uint8_t slot[256] __attribute__((aligned(64)));
	const struct gp_packet_in in = { .data_off = 64, .data_len = 64 };
	struct gp_thread thread = { .random = 1 };
	struct gp_faults faults = { 0 };
	struct gp_verdict verdict = { 0 };
	struct gp_packet_out out;
	const uint32_t stop = 0;
	struct gp_env env = { .maps = &map,
			      .num_maps = 1,
			      .slots = slot,
			      .stride = sizeof(slot),
			      .fuel = 1 << 20,
			      .stop = &stop };
	struct gp_image *image = gp_jit_compile(jit, prog, &verdict);
	gp_xdp_entry *entry;

	ck_assert_msg(image != NULL, "%s", verdict.message);
	entry = (gp_xdp_entry *)((uintptr_t)image->code + image->entry);
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq(entry(&env, &thread, &in, &out, 0, 1, &faults), 1);
		ck_assert_uint_eq(out.verdict, XDP_PASS);
	}
	gp_image_unref(image);
}

START_TEST(same)
{
	struct gp_map_desc desc = {
		.type = VIRTIO_GPGPU_MAP_ARRAY, .key_size = 4, .value_size = VALUE, .max_entries = PIECES
	};
	struct gp_prog prog = { .kind = VIRTIO_GPGPU_PROG_XDP, .insns = insns, .maps = &desc, .num_maps = 1 };
	struct gp_sums_info info;
	struct gp_map maps[2];
	uint8_t *index[2];

	make_program(_i);
	prog.num_insns = num;
	ck_assert_uint_eq(gp_map_check(&desc, 1), 0);
	for (int n = 0; n < 2; n++) {
		uint8_t *values = aligned_alloc(4096, (desc.values_size + 4095) & ~4095ull);

		memset(values, 0, desc.values_size);
		index[n] = aligned_alloc(64, (gp_map_index_bytes(&desc) + 63) & ~63ull);
		memset(index[n], 0, gp_map_index_bytes(&desc));
		gp_map_layout(&maps[n], &desc, values, index[n], 1);
		for (uint32_t i = 0; i < PIECES * VALUE; i++)
			values[i] = (uint8_t)(i * 2654435761u >> 11);
		prog.flags = n ? GP_PROG_ALONE : 0;
		run(&prog, &maps[n]);
	}
	/* Or this says nothing. */
	ck_assert(gp_sums_of(&prog, &info));
	ck_assert_uint_gt(info.sums, PIECES / 4);
	ck_assert_uint_gt(info.others, PIECES);
	for (uint32_t i = 0; i < PIECES; i++)
		ck_assert_msg(!memcmp(maps[0].values + i * VALUE, maps[1].values + i * VALUE, VALUE),
			      "seed %d: piece %u differs", _i, i);
	for (int n = 0; n < 2; n++) {
		free(maps[n].values);
		free(index[n]);
	}
}
END_TEST

int main(void)
{
	const struct gp_jit_options options = { .program = getenv("GPGPU_JIT"), .fd = -1 };
	Suite *suite = suite_create("sums_random");
	TCase *tcase = tcase_create("sums_random");
	SRunner *runner;
	int failed;

	jit = gp_jit_new(&options, NULL);
	if (!jit)
		return EXIT_FAILURE;
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, same, 0, SEEDS);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	gp_jit_free(jit);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
