// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_ends.c - everything ends, and is right: loops without an end, lanes of a wave that go different ways, and all lanes
 * of a wave at one place of a map.
 *
 * Lanes of a wave share one program counter. A lock that one of them holds while the others wait for it in the same loop
 * would never be let go of, and so would a list whose head the first to write it keeps from moving. Each test here has whole
 * waves meet in one place. The device is what GPGPU_TEST_DEVICE says; where it is the software AMD GPU, waves take turns
 * in the order of several seeds as well.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "engine/map.h"
#include "engine/object.h"
#include "fixture.h"
#include "rt/map_hash.h"

void amdgpu_sim_control(const char *command) __attribute__((weak));

#define FUEL  30000
#define LANES 192 /* three waves of 64, six of 32 */
#define SEEDS 4
#define PROG  50
#define MAP   50

/* r6: the packet, of which 64 bytes are there. */
#define HEAD                                                                                         \
	LDX(BPF_W, 6, 1, 0), LDX(BPF_W, 7, 1, 4), MOVR(2, 6), ALU(BPF_ADD, 2, 64), MOV(0, XDP_DROP), \
		JMPR(BPF_JLE, 2, 7, 1), EXIT(), MOV(8, 0)

/* What a program finds in its packet, and leaves there. */
struct body {
	uint64_t key, value;
	int64_t result;
	uint64_t out;
};

#define BODY   16 /* offset in the packet */
#define KEY    (BODY + 0)
#define VALUE  (BODY + 8)
#define RESULT (BODY + 16)
#define OUT    (BODY + 24)

static struct virtio_gpgpu_packet_desc descs[LANES];
static struct virtio_gpgpu_packet_result results[LANES];
static uint32_t faults;

static struct body *body(uint32_t i)
{
	return (struct body *)(void *)(wire_shm(client) + (uint64_t)i * SLOT + HEADROOM + BODY);
}

static void say_lost(void *opaque, enum gpgpu_loss loss, bool over, const char *what)
{
	fprintf(stderr, "%s\n", what);
}

/* @fuel: of a lane. @seed: waves in order for 0. */
static void start(uint64_t fuel, int seed)
{
	struct gpgpu_session_options options = {
		.name = "test",
		.features = 1 << VIRTIO_GPGPU_F_PACKET | 1 << VIRTIO_GPGPU_F_DEVICE_MEM,
		.generation = 1,
		.quota = { .memory_limit = 64 << 20 },
		.limits = { .fuel = fuel },
	};
	char command[32];

	/* One for all tests where they share a process: a card's has to compile parts of its own first. */
	engine_lost = say_lost;
	if (!engine)
		setup_engine(2);
	client = wire_client_engine(engine, SHM_SIZE, &options);
	check_ok(wire_simple(client, VIRTIO_GPGPU_CMD_CTX_CREATE, CTX, NULL));
	check_ok(wire_buffer(client, CTX, BUF_SHM, VIRTIO_GPGPU_MEM_SHM, 0, SHM_SIZE));
	packet_slots(client, descs, LANES);
	for (uint32_t i = 0; i < LANES; i++)
		*body(i) = (struct body){ .key = i, .value = 1000 + i, .result = -1, .out = UINT64_MAX };
	if (!amdgpu_sim_control)
		return;
	snprintf(command, sizeof(command), "seed %d", seed);
	amdgpu_sim_control(command);
}

static uint32_t load(const struct bpf_insn *insns, uint32_t count)
{
	static uint32_t id = PROG;
	struct wire_answer *a;
	uint32_t status = load_prog(client, ++id, VIRTIO_GPGPU_PROG_XDP, insns, count, NULL, 0, &a);

	ck_assert_msg(!status, "status %u, reason %u: %s", status, a->reason, (char *)a->resp->prog.message);
	wire_answer_free(a);
	return id;
}

#define LOAD(insns) load(insns, sizeof(insns) / sizeof(*(insns)))

static void run(uint32_t prog)
{
	struct wire_answer *a = wire_wait(client, wire_packets(client, CTX, next_point(), 0, prog, BUF_SHM, 0,
							       SLOT, descs, LANES));

	ck_assert_msg(a->status == VIRTIO_GPGPU_S_OK || a->status == VIRTIO_GPGPU_S_FAULT,
		      "status %u, reason %u", a->status, a->reason);
	memcpy(results, &a->resp->packets + 1, sizeof(results));
	faults = (uint32_t)a->resp->job.fault_count;
	wire_answer_free(a);
}

static void run_all_pass(uint32_t prog)
{
	run(prog);
	ck_assert_uint_eq(faults, 0);
	for (uint32_t i = 0; i < LANES; i++)
		ck_assert_uint_eq(results[i].verdict, XDP_PASS);
}

/* -------------------------------------------------------------------------- loops */

START_TEST(endless)
{
	const struct bpf_insn spin[] = { HEAD, ALU(BPF_ADD, 8, 1), STX(BPF_DW, 6, 8, OUT), JA(-3) };
	const struct bpf_insn pass[] = { HEAD, ST(BPF_DW, 6, OUT, 5), MOV(0, XDP_PASS), EXIT() };
	uint32_t id;

	start(FUEL, 0);
	id = LOAD(spin);
	run(id);
	ck_assert_uint_eq(faults, LANES);
	for (uint32_t i = 0; i < LANES; i++) {
		ck_assert_uint_eq(results[i].verdict, XDP_ABORTED);
		ck_assert_uint_eq(results[i].fault, VIRTIO_GPGPU_R_OUT_OF_FUEL);
		ck_assert_uint_gt(body(i)->out, FUEL / 20);
		ck_assert_uint_le(body(i)->out, 2 * FUEL);
	}
	run_all_pass(LOAD(pass));
	for (uint32_t i = 0; i < LANES; i++)
		ck_assert_uint_eq(body(i)->out, 5);
	wire_client_free(client);
}
END_TEST

/* Fuel for years: a GPU's clock ends it. */
START_TEST(deadline)
{
	const struct bpf_insn spin[] = { HEAD, ALU(BPF_ADD, 8, 1), STX(BPF_DW, 6, 8, OUT), JA(-3) };

	if (!amdgpu_sim_control)
		return;
	start(1ull << 50, 0);
	amdgpu_sim_control("clock 2000");
	run(LOAD(spin));
	amdgpu_sim_control("clock 200");
	ck_assert_uint_eq(faults, LANES);
	for (uint32_t i = 0; i < LANES; i++)
		ck_assert_uint_eq(results[i].fault, VIRTIO_GPGPU_R_OUT_OF_FUEL);
	wire_client_free(client);
}
END_TEST

/*
 * A job that is called off while it runs: its lanes see the word that says so, whatever the card has in its caches. Time
 * goes so slowly that no deadline ends them.
 */
START_TEST(stopped)
{
	const struct bpf_insn spin[] = { HEAD, ALU(BPF_ADD, 8, 1), STX(BPF_DW, 6, 8, OUT), JA(-3) };
	struct virtio_gpgpu_req_job_cancel r = { 0 };
	struct wire_point at = next_point();
	uint64_t ticket;
	uint32_t id;

	if (!amdgpu_sim_control)
		return;
	start(1ull << 50, 0);
	amdgpu_sim_control("clock 1");
	id = LOAD(spin);
	ticket = wire_packets(client, CTX, at, 0, id, BUF_SHM, 0, SLOT, descs, LANES);
	sleep_ms(300);
	ck_assert(still_waits(ticket));
	r.timeline = at.timeline;
	r.seq = at.seq;
	wire_hdr(&r, VIRTIO_GPGPU_CMD_JOB_CANCEL, CTX, sizeof(r));
	check_ok(wire_status(client, wire_submit(client, GPGPU_QUEUE_CONTROL, &r, sizeof(r), 4096)));
	check_status(wire_status(client, ticket), CANCELLED);
	amdgpu_sim_control("clock 200");
	wire_client_free(client);
}
END_TEST

/*
 * Loops in loops whose counts each lane has its own of, and every seventh never leaves the inner one; these end alone,
 * and the others are right.
 */
START_TEST(diverging)
{
	const struct bpf_insn loops[] = {
		HEAD,
		LDX(BPF_DW, 3, 6, KEY), /* turns of the outer loop */
		LDX(BPF_DW, 5, 6, VALUE), /* of the inner one; 0: no end */
		MOVR(4, 5), /* outer: */
		ALU(BPF_ADD, 8, 3), /* inner: */
		JMP(BPF_JEQ, 5, 0, -2),
		ALU(BPF_SUB, 4, 1),
		JMP(BPF_JNE, 4, 0, -4),
		ALU(BPF_MUL, 8, 7),
		ALU(BPF_SUB, 3, 1),
		JMP(BPF_JNE, 3, 0, -8),
		STX(BPF_DW, 6, 8, OUT),
		MOV(0, XDP_PASS),
		EXIT(),
	};

	start(FUEL, _i);
	for (uint32_t i = 0; i < LANES; i++) {
		body(i)->key = 1 + i * 5 % 23;
		body(i)->value = i % 7 == 3 ? 0 : 1 + i * 11 % 31;
	}
	run(LOAD(loops));
	for (uint32_t i = 0; i < LANES; i++) {
		uint64_t sum = 0;

		for (uint64_t outer = 0; outer < body(i)->key; outer++)
			sum = (sum + 3 * body(i)->value) * 7;
		ck_assert_uint_eq(results[i].verdict, i % 7 == 3 ? XDP_ABORTED : XDP_PASS);
		ck_assert_uint_eq(results[i].fault, i % 7 == 3 ? VIRTIO_GPGPU_R_OUT_OF_FUEL : 0);
		ck_assert_uint_eq(body(i)->out, i % 7 == 3 ? UINT64_MAX : sum);
	}
	wire_client_free(client);
}
END_TEST

/* --------------------------------------------------------------------------- maps */

/* A program that does one thing to the map: key and value of the packet, result to the packet. @flags: of an update. */
static uint32_t load_op(int helper, int flags)
{
	const struct bpf_insn op[] = {
		HEAD,
		LDX(BPF_DW, 2, 6, KEY),
		STX(BPF_DW, 10, 2, -8),
		LDX(BPF_DW, 2, 6, VALUE),
		STX(BPF_DW, 10, 2, -16),
		MOVR(2, 10),
		ALU(BPF_ADD, 2,
		    helper == BPF_FUNC_map_push_elem || helper == BPF_FUNC_map_pop_elem ? -16 : -8),
		MOVR(3, 10),
		ALU(BPF_ADD, 3, -16),
		MOV(4, flags),
		helper == BPF_FUNC_map_push_elem ? MOV(3, 0) : JA(0),
		LD_MAP(1, MAP),
		CALL(helper),
		STX(BPF_DW, 6, 0, RESULT),
		LDX(BPF_DW, 2, 10, -16),
		STX(BPF_DW, 6, 2, OUT),
		MOV(0, XDP_PASS),
		EXIT(),
	};

	return LOAD(op);
}

/* The value of the packet's key goes to the packet, result 0; or result 1. */
static uint32_t load_lookup(void)
{
	const struct bpf_insn lookup[] = {
		HEAD,
		LDX(BPF_DW, 2, 6, KEY),
		STX(BPF_DW, 10, 2, -8),
		MOVR(2, 10),
		ALU(BPF_ADD, 2, -8),
		LD_MAP(1, MAP),
		CALL(BPF_FUNC_map_lookup_elem),
		ST(BPF_DW, 6, RESULT, 1),
		JMP(BPF_JEQ, 0, 0, 3),
		LDX(BPF_DW, 2, 0, 0),
		STX(BPF_DW, 6, 2, OUT),
		ST(BPF_DW, 6, RESULT, 0),
		MOV(0, XDP_PASS),
		EXIT(),
	};

	return LOAD(lookup);
}

static void make_map(uint32_t type, uint32_t key_size, uint32_t entries)
{
	check_ok(wire_map(client, CTX, MAP, type, key_size, 8, entries, 0));
}

/* What the guest finds. Return: whether there is something. */
static bool get(uint64_t key, uint64_t *value)
{
	struct wire_answer *a;
	uint32_t status = wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_LOOKUP, CTX, MAP, &key, 8, NULL, 0, 0, &a);

	if (!status)
		memcpy(value, &a->resp->map_op + 1, sizeof(*value));
	wire_answer_free(a);
	return !status;
}

static uint32_t count_entries(void)
{
	uint32_t count = 0;
	uint64_t key;
	struct wire_answer *a;
	const void *from = NULL;

	while (!wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_NEXT_KEY, CTX, MAP, from, from ? 8 : 0, NULL, 0, 0,
			    &a)) {
		memcpy(&key, &a->resp->map_op + 1, sizeof(key));
		wire_answer_free(a);
		from = &key;
		ck_assert_uint_le(++count, LANES);
	}
	wire_answer_free(a);
	return count;
}

/* Keys that all fall into the bucket of the first, which only one who sees the map's secret seed can find. */
static void choose_keys(void)
{
	struct gpgpu_session *s = wire_session(client);
	const struct gp_map *map;
	struct gp_object *object;
	uint32_t *bucket = NULL, n = 0;

	pthread_mutex_lock(&s->lock);
	ck_assert_uint_eq(gp_object_find(s, VIRTIO_GPGPU_OBJ_MAP, MAP, CTX, &object).status, 0);
	map = ((struct gp_map_object *)(void *)object)->map;
	for (uint64_t key = 1; n < LANES; key++) {
		uint32_t *at = gp_hash_bucket(map, &key, 1, map->num_buckets);

		if (bucket && at != bucket)
			continue;
		bucket = at;
		body(n++)->key = key;
	}
	pthread_mutex_unlock(&s->lock);
}

static uint32_t count_results(int64_t result)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < LANES; i++)
		count += body(i)->result == result;
	return count;
}

static const uint32_t hashes[] = { VIRTIO_GPGPU_MAP_HASH, VIRTIO_GPGPU_MAP_LRU_HASH };

/* Different keys, one bucket: each is put there, found, taken away, and put there anew. */
static void one_bucket(uint32_t type, int seed)
{
	uint32_t update, delete, lookup;
	uint64_t value;

	start(FUEL * 10, seed);
	make_map(type, 8, type == VIRTIO_GPGPU_MAP_LRU_HASH ? LANES * 2 : LANES);
	choose_keys();
	update = load_op(BPF_FUNC_map_update_elem, BPF_NOEXIST);
	delete = load_op(BPF_FUNC_map_delete_elem, 0);
	lookup = load_lookup();
	for (int round = 0; round < 2; round++) {
		run_all_pass(update);
		ck_assert_uint_eq(count_results(0), LANES);
		run_all_pass(update);
		ck_assert_uint_eq(count_results(-EEXIST), LANES);
		run_all_pass(lookup);
		ck_assert_uint_eq(count_results(0), LANES);
		for (uint32_t i = 0; i < LANES; i++)
			ck_assert_uint_eq(body(i)->out, 1000 + i);
		if (round == 1)
			break;
		run_all_pass(delete);
		ck_assert_uint_eq(count_results(0), LANES);
		run_all_pass(lookup);
		ck_assert_uint_eq(count_results(1), LANES);
	}
	for (uint32_t i = 0; i < LANES; i += 37)
		ck_assert(get(body(i)->key, &value) && value == 1000 + i);
	ck_assert_uint_eq(count_entries(), LANES);
	wire_client_free(client);
}

START_TEST(hash_bucket)
{
	one_bucket(VIRTIO_GPGPU_MAP_HASH, _i);
}
END_TEST

START_TEST(lru_bucket)
{
	one_bucket(VIRTIO_GPGPU_MAP_LRU_HASH, _i);
}
END_TEST

/* One key: one of the lanes is first, and whose value is left was somebody's. */
START_TEST(one_key)
{
	uint32_t update;
	uint64_t value;

	for (int t = 0; t < 2; t++) {
		start(FUEL * 10, _i);
		make_map(hashes[t], 8, LANES);
		for (uint32_t i = 0; i < LANES; i++)
			body(i)->key = 77;
		update = load_op(BPF_FUNC_map_update_elem, BPF_NOEXIST);
		run_all_pass(update);
		ck_assert_uint_eq(count_results(0), 1);
		ck_assert_uint_eq(count_results(-EEXIST), LANES - 1);
		for (uint32_t i = 0; i < LANES; i++)
			ck_assert(body(i)->result || (get(77, &value) && value == 1000 + i));
		run_all_pass(load_op(BPF_FUNC_map_update_elem, BPF_ANY));
		ck_assert_uint_eq(count_results(0), LANES);
		ck_assert(get(77, &value) && value >= 1000 && value < 1000 + LANES);
		run_all_pass(load_op(BPF_FUNC_map_delete_elem, 0));
		ck_assert_uint_eq(count_results(0), 1);
		ck_assert_uint_eq(count_results(-ENOENT), LANES - 1);
		ck_assert_uint_eq(count_entries(), 0);
		wire_client_free(client);
	}
}
END_TEST

/* More keys than room, in one bucket. */
START_TEST(full)
{
	enum { ROOM = 20 };
	uint64_t value;

	start(FUEL * 10, _i);
	make_map(VIRTIO_GPGPU_MAP_HASH, 8, ROOM);
	choose_keys();
	run_all_pass(load_op(BPF_FUNC_map_update_elem, BPF_ANY));
	ck_assert_uint_eq(count_results(0), ROOM);
	ck_assert_uint_eq(count_results(-E2BIG), LANES - ROOM);
	for (uint32_t i = 0; i < LANES; i++)
		ck_assert(body(i)->result ? !get(body(i)->key, &value)
					  : get(body(i)->key, &value) && value == 1000 + i);
	ck_assert_uint_eq(count_entries(), ROOM);
	wire_client_free(client);
}
END_TEST

/* The same where what is old makes room: who is left differs, but those who are have their own values. */
START_TEST(evicting)
{
	enum { ROOM = 20 };
	uint64_t value;
	uint32_t left = 0;

	start(FUEL * 10, _i);
	make_map(VIRTIO_GPGPU_MAP_LRU_HASH, 8, ROOM);
	choose_keys();
	for (int round = 0; round < 3; round++)
		run_all_pass(load_op(BPF_FUNC_map_update_elem, BPF_ANY));
	for (uint32_t i = 0; i < LANES; i++) {
		/* All elements may be in others' hands at a time; the kernel says -ENOMEM then. */
		ck_assert(!body(i)->result || body(i)->result == -ENOMEM);
		if (!get(body(i)->key, &value))
			continue;
		ck_assert_uint_eq(value, 1000 + i);
		left++;
	}
	ck_assert_uint_gt(count_results(0), LANES / 2);
	ck_assert_uint_eq(left, count_entries());
	ck_assert_uint_gt(left, 0);
	ck_assert_uint_le(left, ROOM);
	wire_client_free(client);
}
END_TEST

/* What is pushed is popped once, by whoever; no more than there is room for. */
static void queue(uint32_t type, int seed)
{
	enum { ROOM = 100 };
	bool pushed[LANES], seen[LANES] = { false };

	start(FUEL * 10, seed);
	make_map(type, 0, ROOM);
	run_all_pass(load_op(BPF_FUNC_map_push_elem, 0));
	ck_assert_uint_eq(count_results(0), ROOM);
	ck_assert_uint_eq(count_results(-E2BIG), LANES - ROOM);
	for (uint32_t i = 0; i < LANES; i++)
		pushed[i] = !body(i)->result;
	run_all_pass(load_op(BPF_FUNC_map_pop_elem, 0));
	ck_assert_uint_eq(count_results(0), ROOM);
	ck_assert_uint_eq(count_results(-ENOENT), LANES - ROOM);
	for (uint32_t i = 0; i < LANES; i++) {
		uint64_t value = body(i)->out - 1000;

		if (body(i)->result)
			continue;
		ck_assert_uint_lt(value, LANES);
		ck_assert(pushed[value] && !seen[value]);
		seen[value] = true;
	}
	wire_client_free(client);
}

START_TEST(queue_and_stack)
{
	queue(VIRTIO_GPGPU_MAP_QUEUE, _i);
	queue(VIRTIO_GPGPU_MAP_STACK, _i);
}
END_TEST

/* Prefixes that lie below one another, all of them put into an empty trie at once. */
START_TEST(trie)
{
	uint64_t value;
	uint32_t update, lookup;

	start(FUEL * 10, _i);
	make_map(VIRTIO_GPGPU_MAP_LPM_TRIE, 8, LANES);
	for (uint32_t i = 0; i < LANES; i++) {
		uint8_t key[8] = { (uint8_t)(16 + i % 17), 0, 0, 0, 10, (uint8_t)i, 0x80, 1 };

		memcpy(&body(i)->key, key, sizeof(key));
	}
	update = load_op(BPF_FUNC_map_update_elem, BPF_NOEXIST);
	lookup = load_lookup();
	run_all_pass(update);
	ck_assert_uint_eq(count_results(0), LANES);
	run_all_pass(lookup);
	ck_assert_uint_eq(count_results(0), LANES);
	for (uint32_t i = 0; i < LANES; i++)
		ck_assert_uint_eq(body(i)->out, 1000 + i);
	ck_assert(get(body(5)->key, &value) && value == 1005);
	run_all_pass(load_op(BPF_FUNC_map_delete_elem, 0));
	ck_assert_uint_eq(count_results(0), LANES);
	run_all_pass(lookup);
	ck_assert_uint_eq(count_results(1), LANES);
	run_all_pass(update);
	ck_assert_uint_eq(count_results(0), LANES);
	wire_client_free(client);
}
END_TEST

int main(void)
{
	const struct {
		const char *name;
		const TTest *test;
		int seeds;
	} cases[] = {
		{ "endless", endless, 1 },
		{ "deadline", deadline, 1 },
		{ "stopped", stopped, 1 },
		{ "diverging", diverging, SEEDS },
		{ "hash_bucket", hash_bucket, SEEDS },
		{ "lru_bucket", lru_bucket, SEEDS },
		{ "one_key", one_key, SEEDS },
		{ "full", full, SEEDS },
		{ "evicting", evicting, SEEDS },
		{ "queue_and_stack", queue_and_stack, SEEDS },
		{ "trie", trie, SEEDS },
	};
	Suite *suite = suite_create("ends");

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		TCase *tcase = tcase_create(cases[i].name);

		tcase_set_timeout(tcase, 300);
		tcase_add_loop_test(tcase, cases[i].test, 0, cases[i].seeds);
		suite_add_tcase(suite, tcase);
	}
	return run_suite(suite);
}
