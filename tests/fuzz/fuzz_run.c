// SPDX-License-Identifier: BSD-3-Clause
/*
 * fuzz_run.c - libFuzzer target: bytecode through the validator and the compiler, then run.
 *
 * How it works: an input is a header (kind, arguments, packet) and instructions. What the validator accepts is
 * compiled by gpgpu-jit (GPGPU_JIT names it) and run by tests/bpf/target_jit.c in this process. Generated code knows no
 * sanitizer; instead every region that a program may reach ends where an inaccessible page begins, and the bytes in front of it
 * are a pattern that must still be there afterwards (target_jit.c), so an access outside of its region is a
 * crash. Then the reference interpreter runs the same program, and both must have done the same: a result that depended on
 * an address, or on memory that was not the program's, would differ.
 *
 * Mutations are of instructions rather than of bytes, mostly: fields are changed to neighbours that mean something, instructions
 * moved, copied and removed, so that a good part of what comes out is still a program.
 *
 * Not compared: programs that ask for the time, a random number, or run out of fuel (whose unit is each runner's own), and those
 * that make numbers of pointers, which come out otherwise when the interpreter's pointers look otherwise.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../bpf/target.h"
#include "interp.h"

#define HEADER	  8
#define MAX_INSNS 1024
#define FUEL	  300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* ------------------------------------------------------------------ what a program finds */
static const uint8_t array_init[] = { 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2 };
static const uint8_t hash_init[] = {
	1, 0, 0, 0, 11, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 22, 0, 0, 0, 0, 0, 0, 0
};
static const uint8_t lpm_init[] = {
	8, 0, 0, 0, 10, 0, 0, 0, 8, 0, 0, 0, 16, 0, 0, 0, 10, 1, 0, 0, 16, 0, 0, 0
};
static const uint8_t data_init[4 + 40] = { 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };

/* In the order of the vectors', which are the first inputs; value sizes that do not fill a word or a page. */
#define SHAPE(kind, key, value, entries, ro, contents, count) \
	{ .type = VIRTIO_GPGPU_MAP_##kind,                    \
	  .key_size = (key),                                  \
	  .value_size = (value),                              \
	  .max_entries = (entries),                           \
	  .rdonly = (ro),                                     \
	  .init = (contents),                                 \
	  .num_init = (count) }
static const struct run_map maps[] = {
	SHAPE(ARRAY, 4, 8, 4, false, array_init, 2),	    SHAPE(HASH, 4, 8, 4, false, hash_init, 2),
	SHAPE(PERCPU_ARRAY, 4, 8, 4, false, array_init, 2), SHAPE(LPM_TRIE, 8, 4, 4, false, lpm_init, 2),
	SHAPE(ARRAY, 4, 40, 1, false, data_init, 1),	    SHAPE(ARRAY, 4, 40, 1, true, data_init, 1),
};
#define NUM_MAPS (sizeof(maps) / sizeof(maps[0]))

static uint8_t packet[RUN_MAX_LEN + 64];
static uint8_t buffer[72];

static void make_run(struct run *run, struct bpf_insn *insns, const uint8_t *data, size_t size)
{
	uint32_t len = 14 + (data[2] | data[3] << 8) % (RUN_MAX_LEN - 13);

	*run = (struct run){
		.name = "input", .insns = insns, .maps = maps, .num_maps = NUM_MAPS, .fuel = FUEL
	};
	run->kind = data[0] & 1 ? VIRTIO_GPGPU_PROG_GPGPU : VIRTIO_GPGPU_PROG_XDP;
	run->num_insns = (uint32_t)((size - HEADER) / sizeof(*insns));
	memcpy(insns, data + HEADER, run->num_insns * sizeof(*insns));
	if (run->kind == VIRTIO_GPGPU_PROG_XDP) {
		run->num_packets = 1 + data[1] % RUN_PACKETS;
		for (uint32_t i = 0; i < run->num_packets; i++)
			run->packets[i] = (struct run_packet){ .bytes = packet + i,
							       .len = len,
							       .meta_len = (uint16_t)(data[4] % 8 * 4),
							       .rx_queue = data[5],
							       .ingress_port = data[6] };
		return;
	}
	run->num_args = data[1] % 5;
	for (uint32_t i = 0; i < run->num_args; i++) {
		run->args[i] = (struct run_arg){ .kind = 1 + (data[4] >> i) % 3u,
						 .value = 0x0102030405060708ull * i };
		if (run->args[i].kind == VIRTIO_GPGPU_ARG_VALUE)
			continue;
		run->args[i].value = 0;
		run->args[i].init = buffer;
		run->args[i].size = 8 * (1 + data[5] % 8u);
	}
	for (int d = 0; d < 3; d++) {
		run->grid[d] = 1 + (data[6] >> 2 * d) % 3u;
		run->group[d] = 1;
	}
}

/* Helpers that answer each runner otherwise: time, random numbers, the processor's number. */
static bool own_answers(const struct run *run)
{
	static const int32_t numbers[] = { BPF_FUNC_ktime_get_ns,	 BPF_FUNC_get_prandom_u32,
					   BPF_FUNC_ktime_get_boot_ns,	 BPF_FUNC_jiffies64,
					   BPF_FUNC_ktime_get_coarse_ns, BPF_FUNC_trace_printk };

	for (uint32_t i = 0; i < run->num_insns; i++)
		for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
			if (run->insns[i].code == (BPF_JMP | BPF_CALL) && run->insns[i].imm == numbers[k])
				return true;
	return false;
}

static bool out_of_fuel(const struct outcome *outcome)
{
	if (outcome->fault == VIRTIO_GPGPU_R_OUT_OF_FUEL)
		return true;
	for (int i = 0; i < RUN_PACKETS; i++)
		if (outcome->packets[i].fault == VIRTIO_GPGPU_R_OUT_OF_FUEL)
			return true;
	return false;
}

static uint64_t ran, compared;

static void say_how_many(void)
{
	fprintf(stderr, "programs compiled and run: %llu, compared with the interpreter: %llu\n",
		(unsigned long long)ran, (unsigned long long)compared);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *why = target_jit.open();

	if (why) {
		fprintf(stderr, "fuzz_run: %s\n", why);
		exit(2);
	}
	for (size_t i = 0; i < sizeof(packet); i++)
		packet[i] = (uint8_t)(i * 7);
	for (size_t i = 0; i < sizeof(buffer); i++)
		buffer[i] = (uint8_t)(i * 5);
	atexit(say_how_many);
	return 0;
}

/* Whether the program does the same however pointers look, and what that is. */
static bool defined(const struct run *run, struct outcome *reference)
{
	static const struct interp_looks looks[] = { { .region = 0x4123, .offset = 0x2d2d2d2d28 },
						     { .compiled_numbers = true, .frame_gap = 512 } };
	struct outcome other;
	bool same = true;
	char why[256];

	interp_looks = (struct interp_looks){ 0 };
	target_interp.run(run, reference);
	if (own_answers(run) || out_of_fuel(reference) || interp_looks.numbers)
		return false;
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]) && same; i++) {
		interp_looks = looks[i];
		target_interp.run(run, &other);
		same = !outcome_diff(run, reference, &other, why);
		outcome_free(&other);
	}
	interp_looks = (struct interp_looks){ 0 };
	return same;
}

/*
 * A number where a map should be is no map to one, and out of bounds to the other. So is a pointer that a sum of more than
 * an offset's bits has made one to the context.
 */
static uint32_t kind_of_fault(uint32_t fault)
{
	return fault == VIRTIO_GPGPU_R_HELPER_ARG || fault == VIRTIO_GPGPU_R_CTX_ACCESS
		       ? (uint32_t)VIRTIO_GPGPU_R_OUT_OF_BOUNDS
		       : fault;
}

static void one_kind_of_fault(struct outcome *outcome)
{
	outcome->fault = kind_of_fault(outcome->fault);
	for (int i = 0; i < RUN_PACKETS; i++)
		outcome->packets[i].fault = (uint16_t)kind_of_fault(outcome->packets[i].fault);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bpf_insn insns[MAX_INSNS];
	struct outcome ours, reference;
	struct run run;
	char why[256];

	if (size < HEADER + sizeof(insns[0]) || size > HEADER + sizeof(insns))
		return 0;
	make_run(&run, insns, data, size);
	target_jit.run(&run, &ours);
	if (!ours.refused) {
		ran++;
		if (defined(&run, &reference) && !out_of_fuel(&ours)) {
			compared++;
			one_kind_of_fault(&ours);
			one_kind_of_fault(&reference);
			if (outcome_diff(&run, &ours, &reference, why)) {
				fprintf(stderr, "compiled and interpreted differ: %s\n", why);
				abort();
			}
		}
		outcome_free(&reference);
	}
	outcome_free(&ours);
	return 0;
}

/* ------------------------------------------------------------------ mutations */
static uint32_t random_state;

static uint32_t draw(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state % below;
}

/* Another instruction of the same class where that is possible: most changes are to be legal. */
static void change_code(struct bpf_insn *insn)
{
	static const uint8_t sizes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };
	static const int32_t atomics[] = {
		BPF_ADD,  BPF_OR,     BPF_AND, BPF_XOR, BPF_ADD | BPF_FETCH, BPF_OR | BPF_FETCH,
		BPF_XCHG, BPF_CMPXCHG
	};
	uint8_t class = BPF_CLASS(insn->code);

	switch (class) {
	case BPF_ALU:
	case BPF_ALU64:
		insn->code = (uint8_t)((draw(4) ? class : class ^ (BPF_ALU ^ BPF_ALU64)) | (insn->code & 8) |
				       draw(14) << 4);
		break;
	case BPF_JMP:
	case BPF_JMP32:
		if (BPF_OP(insn->code) != BPF_CALL && BPF_OP(insn->code) != BPF_EXIT)
			insn->code = (uint8_t)((draw(4) ? class : class ^ (BPF_JMP ^ BPF_JMP32)) |
					       (insn->code & 8) | draw(14) << 4);
		break;
	case BPF_STX:
		if (BPF_MODE(insn->code) == BPF_ATOMIC) {
			insn->imm = atomics[draw(8)];
			break;
		}
		/* fall through */
	case BPF_ST:
	case BPF_LDX:
		insn->code = (uint8_t)(class | BPF_MODE(insn->code) | sizes[draw(4)]);
		break;
	}
}

static void change_field(struct bpf_insn *insn)
{
	static const int32_t numbers[] = { 0,  1,  -1,	2,    4,   8,	14,	31,	   32,	     63,
					   64, -8, -16, -512, 255, 256, 0xffff, INT32_MAX, INT32_MIN };
	static const int32_t helpers[] = { 1, 2, 3, 5, 7, 8, 23, 28, 44, 54, 65, 189, 190 };

	switch (draw(8)) {
	case 0:
		insn->dst_reg = draw(11) & 15;
		break;
	case 1:
		insn->src_reg = draw(11) & 15;
		break;
	case 2:
		insn->off = (int16_t)(insn->off + (int)draw(17) - 8);
		break;
	case 3:
		insn->off = (int16_t)numbers[draw(17)];
		break;
	case 4:
		insn->imm = numbers[draw(sizeof(numbers) / sizeof(numbers[0]))];
		break;
	case 5:
		insn->imm = (int32_t)((uint32_t)insn->imm + draw(17) - 8);
		break;
	case 6:
		if (insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg)
			insn->imm = helpers[draw(sizeof(helpers) / sizeof(helpers[0]))];
		else if (insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->src_reg)
			insn->imm = (int32_t)draw(NUM_MAPS);
		else
			insn->code ^= 8; /* register or constant */
		break;
	default:
		change_code(insn);
	}
}

/* Moves what lies behind @at by one, up or down. */
static size_t insert_or_remove(struct bpf_insn *insns, size_t count, size_t max, size_t at)
{
	struct bpf_insn insn = insns[draw((uint32_t)count)];

	if (draw(2) && count > 1) {
		memmove(insns + at, insns + at + 1, (count - at - 1) * sizeof(insn));
		return count - 1;
	}
	if (count == max)
		return count;
	memmove(insns + at + 1, insns + at, (count - at) * sizeof(insn));
	insns[at] = insn;
	return count + 1;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	static struct bpf_insn insns[MAX_INSNS];
	size_t count, max = (max_size - HEADER) / sizeof(insns[0]);

	random_state = seed | 1;
	draw(2);
	if (size < HEADER + sizeof(insns[0]) || size > HEADER + sizeof(insns) ||
	    max_size <= HEADER + sizeof(insns[0]) || !draw(16))
		return LLVMFuzzerMutate(data, size, max_size);
	count = (size - HEADER) / sizeof(insns[0]);
	max = max < MAX_INSNS ? max : MAX_INSNS;
	memcpy(insns, data + HEADER, count * sizeof(insns[0]));
	for (uint32_t n = 1 + draw(3); n; n--) {
		size_t at = draw((uint32_t)count);

		if (!draw(12))
			data[draw(HEADER)] = (uint8_t)draw(256);
		else if (!draw(4))
			count = insert_or_remove(insns, count, max, at);
		else
			change_field(&insns[at]);
	}
	memcpy(data + HEADER, insns, count * sizeof(insns[0]));
	return HEADER + count * sizeof(insns[0]);
}
