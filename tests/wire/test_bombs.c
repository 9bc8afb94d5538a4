/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_bombs.c - programs that are made to be hard to compile; and code that gets better while it runs.
 *
 * Each bomb is the largest legal program of its kind. It ends in a program or in a refusal with words, and while it is
 * being compiled another device's programs and jobs complete.
 */
#include "fixture.h"
#include "mock.h"

#define MAX_BOMB 16384

static struct bpf_insn bomb[MAX_BOMB];
static uint32_t bomb_len;

static void add(struct bpf_insn insn)
{
	ck_assert_uint_lt(bomb_len, MAX_BOMB);
	bomb[bomb_len++] = insn;
}

static void add_map(int reg, int id)
{
	const struct bpf_insn pair[] = { LD_MAP(reg, id) };

	add(pair[0]);
	add(pair[1]);
}

/* The packet, checked: r6 data, r7 end. */
static void start_packet(void)
{
	bomb_len = 0;
	add(LDX(BPF_W, 6, 1, 0));
	add(LDX(BPF_W, 7, 1, 4));
	add(MOV(0, 2));
	add(MOV(9, 0));
}

static void finish(void)
{
	add(MOV(0, 2));
	add(EXIT());
}

/* Every access depends on the one before it, and each is checked twice. */
static void make_dependent_accesses(void)
{
	start_packet();
	while (bomb_len + 9 < MAX_BOMB) {
		add(MOVR(2, 6));
		add(ALUR(BPF_ADD, 2, 9));
		add(ALU(BPF_ADD, 2, 8));
		add(JMPR(BPF_JGT, 2, 7, 2));
		add(LDX(BPF_B, 9, 2, -8));
		add(STX(BPF_B, 2, 9, -1));
	}
	finish();
}

/* As many blocks as there can be: each instruction but one in two ends one. */
static void make_blocks(void)
{
	start_packet();
	for (uint32_t i = 0; bomb_len + 4 < MAX_BOMB; i++) {
		add(JMP(BPF_JGT, 9, (int)(i * 2654435761u >> 1),
			i % 5 == 0 && bomb_len + 12 < MAX_BOMB ? 7 : 1));
		add(ALU(i % 2 ? BPF_ADD : BPF_XOR, 9, (int)i));
	}
	finish();
}

/* Loops in loops, as deep as there is room for. */
static void make_nested_loops(void)
{
	uint32_t heads[4000], depth = 0;

	start_packet();
	while (depth < 4000) {
		heads[depth++] = bomb_len;
		add(ALU(BPF_ADD, 9, 1));
	}
	while (depth--) {
		add(JMP(BPF_JGT, 9, 100000, 1));
		add(JA((int16_t)((int)heads[depth] - (int)bomb_len - 1)));
	}
	finish();
}

static void make_lookups(void)
{
	start_packet();
	while (bomb_len + 12 < MAX_BOMB) {
		add(STX(BPF_W, 10, 9, -4));
		add(MOVR(2, 10));
		add(ALU(BPF_ADD, 2, -4));
		add_map(1, bomb_len / 8 % 2 ? MAP_HASH : MAP_LPM);
		if (bomb[bomb_len - 2].imm == MAP_LPM) { /* length, address */
			bomb[bomb_len - 5] = STX(BPF_DW, 10, 9, -8);
			bomb[bomb_len - 3] = ALU(BPF_ADD, 2, -8);
		}
		add(CALL(BPF_FUNC_map_lookup_elem));
		add(JMP(BPF_JEQ, 0, 0, 1));
		add(LDX(BPF_DW, 9, 0, 0));
	}
	finish();
}

/* Seven functions, each of which calls the next as often as it can: inlined it would be endless. */
static void make_calls(void)
{
	enum { DEPTH = 7, CALLS = 1000 };
	uint32_t starts[DEPTH + 1];

	start_packet();
	starts[0] = 0;
	for (uint32_t f = 0; f <= DEPTH; f++) {
		starts[f] = f ? bomb_len : 0;
		for (int i = 0; f < DEPTH && i < CALLS; i++) {
			add(MOV(1, i));
			add(INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0));
		}
		finish();
	}
	for (uint32_t f = 0; f < DEPTH; f++)
		for (uint32_t i = starts[f]; i < starts[f + 1]; i++)
			if (bomb[i].code == (BPF_JMP | BPF_CALL))
				bomb[i].imm = (int)starts[f + 1] - (int)i - 1;
}

static const struct {
	const char *name;
	void (*make)(void);
} bombs[] = {
	{ "dependent accesses", make_dependent_accesses },
	{ "blocks", make_blocks },
	{ "nested loops", make_nested_loops },
	{ "look-ups", make_lookups },
	{ "calls", make_calls },
};

static uint64_t submit(struct wire_client *c, uint32_t id, const struct bpf_insn *insns, uint32_t count)
{
	struct virtio_gpgpu_req_prog_create r = { .id = id,
						  .kind = VIRTIO_GPGPU_PROG_XDP,
						  .num_insns = count,
						  .insns_buffer = BUF_SHM,
						  .insns_offset = CODE_OFFSET };

	memcpy(wire_shm(c) + CODE_OFFSET, insns, count * sizeof(*insns));
	wire_hdr(&r, VIRTIO_GPGPU_CMD_PROG_CREATE, CTX, sizeof(r));
	return wire_submit(c, GPGPU_QUEUE_CONTROL, &r, sizeof(r), 4096);
}

START_TEST(ends_and_delays_nobody)
{
	const uint64_t *values;
	struct wire_client *other;
	struct wire_answer *a = NULL, *mine;
	uint32_t jobs = 0, programs = 0;
	uint64_t ticket;

	setup_programs();
	values = (const uint64_t *)(void *)wire_shm(client);
	other = new_client(0, 100);
	make_objects(other);
	bombs[_i].make();
	ticket = submit(other, 100, bomb, bomb_len);
	while (!a) {
		/* New each time, so that it has to be compiled. */
		const struct bpf_insn prog[] = { MOV(0, (int)programs), ALU(BPF_AND, 0, 1),
						 ALU(BPF_ADD, 0, 1), EXIT() };

		check_ok(wire_status(client, dispatch_add(CTX, next_point(), 64, 0, jobs)));
		ck_assert_uint_eq(first_wrong(values, 64, jobs), 64);
		check_ok(load_prog(client, 100 + programs % 2, VIRTIO_GPGPU_PROG_XDP, prog, 4, NULL, 0,
				   &mine));
		wire_answer_free(mine);
		check_ok(wire_id(client, VIRTIO_GPGPU_CMD_PROG_DESTROY, CTX, 100 + programs % 2, NULL));
		a = wire_poll(other, ticket);
		jobs++;
		programs++;
	}
	/* The first round may have been answered after the bomb, the others were not. */
	ck_assert_msg(jobs > 1, "%s: nothing else completed meanwhile", bombs[_i].name);
	if (a->status) {
		ck_assert_msg(a->status == VIRTIO_GPGPU_S_LIMIT || a->status == VIRTIO_GPGPU_S_REJECTED,
			      "%s: status %u", bombs[_i].name, a->status);
		ck_assert_msg(a->resp->prog.message[0], "%s: refused without a word", bombs[_i].name);
	} else {
		ck_assert_uint_gt(a->resp->prog.code_bytes, 0);
	}
	wire_answer_free(a);
	wire_client_free(other);
	teardown();
}
END_TEST

static void info(uint32_t id, struct virtio_gpgpu_resp_prog *resp)
{
	struct wire_answer *a;

	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_PROG_INFO, CTX, id, &a));
	*resp = a->resp->prog;
	wire_answer_free(a);
}

/*
 * A program that is not small is answered with quick code. Packets get the same verdicts from that and from what
 * replaces it, whether a batch runs before, while or after that happens; and it is charged and given back.
 */
START_TEST(gets_better)
{
	static struct virtio_gpgpu_packet_desc descs[64];
	struct virtio_gpgpu_resp_stats before, with, after;
	const struct virtio_gpgpu_packet_result *results;
	struct virtio_gpgpu_resp_prog first, now;
	struct wire_answer *a;

	setup_programs();
	check_ok(wire_stats(client, &before));
	start_packet();
	/* The verdict: whether the sum of the first bytes, many times over, is odd. */
	add(MOVR(2, 6));
	add(ALU(BPF_ADD, 2, 32));
	add(JMPR(BPF_JGT, 2, 7, 2 * 400));
	for (int i = 0; i < 400; i++) {
		add(LDX(BPF_B, 3, 6, (int16_t)(i % 32)));
		add(ALUR(BPF_ADD, 9, 3));
	}
	add(ALU(BPF_AND, 9, 1));
	add(ALU(BPF_ADD, 9, 1));
	add(MOVR(0, 9));
	add(EXIT());
	check_ok(load_prog(client, 100, VIRTIO_GPGPU_PROG_XDP, bomb, bomb_len, NULL, 0, &a));
	first = a->resp->prog;
	wire_answer_free(a);
	packet_slots(client, descs, 64);
	for (uint32_t i = 0; i < 64; i++)
		wire_shm(client)[i * SLOT + HEADROOM] = (uint8_t)(i * 37);
	for (int round = 0;; round++) {
		info(100, &now);
		a = wire_wait(client,
			      wire_packets(client, CTX, next_point(), 0, 100, BUF_SHM, 0, SLOT, descs, 64));
		check_ok(a->status);
		results = (const void *)(&a->resp->packets + 1);
		for (uint32_t i = 0; i < 64; i++) {
			const uint8_t *packet = wire_shm(client) + i * SLOT + HEADROOM;
			uint32_t sum = 0;

			for (int k = 0; k < 400; k++)
				sum += packet[k % 32];
			ck_assert_uint_eq(results[i].verdict, 1 + (sum & 1));
		}
		wire_answer_free(a);
		if (now.code_bytes != first.code_bytes)
			break;
		ck_assert_msg(round < 3000, "the code has not got better");
		sleep_ms(10);
	}
	ck_assert_uint_lt(now.code_bytes, first.code_bytes);
	check_ok(wire_stats(client, &with));
	ck_assert_uint_gt(with.memory, before.memory);
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_PROG_DESTROY, CTX, 100, NULL));
	check_ok(wire_stats(client, &after));
	ck_assert_uint_eq(after.memory, before.memory);
	teardown();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bombs");
	TCase *tc = tcase_create("compiler");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, ends_and_delays_nobody, 0, sizeof(bombs) / sizeof(*bombs));
	/* A GPU's code is made well at once. */
	if (!strcmp(gp_mock_use(), "cpu"))
		tcase_add_test(tc, gets_better);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
