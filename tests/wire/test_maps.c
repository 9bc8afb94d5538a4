/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_maps.c - maps that hold more than bytes: programs and tail calls, maps in maps, records and their events, lines
 * for the log, routes; and commands that move many entries.
 *
 * What every field of these commands may be is test_form.c's; what single kinds of map do, tests/unit's.
 */
#include <string.h>
#include "fixture.h"

#define UPDATE	 VIRTIO_GPGPU_CMD_MAP_UPDATE
#define LOOKUP	 VIRTIO_GPGPU_CMD_MAP_LOOKUP
#define DELETE	 VIRTIO_GPGPU_CMD_MAP_DELETE
#define POP	 VIRTIO_GPGPU_CMD_MAP_POP
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A value of 4 bytes at a key of 4: programs, maps. */
static uint32_t set(uint32_t map, uint32_t key, uint32_t value)
{
	return wire_map_op(client, UPDATE, CTX, map, &key, 4, &value, 4, 0, NULL);
}

static uint32_t unset(uint32_t map, uint32_t key)
{
	return wire_map_op(client, DELETE, CTX, map, &key, 4, NULL, 0, 0, NULL);
}

static uint32_t get(uint32_t map, uint32_t key, uint32_t *value)
{
	struct wire_answer *a;
	uint32_t status = wire_map_op(client, LOOKUP, CTX, map, &key, 4, NULL, 0, 0, &a);

	if (!status)
		memcpy(value, a->resp->bytes + sizeof(a->resp->map_op), 4);
	wire_answer_free(a);
	return status;
}

static uint64_t get64(uint32_t map, uint32_t key)
{
	struct wire_answer *a;
	uint64_t value;

	check_ok(wire_map_op(client, LOOKUP, CTX, map, &key, 4, NULL, 0, 0, &a));
	memcpy(&value, a->resp->bytes + sizeof(a->resp->map_op), 8);
	wire_answer_free(a);
	return value;
}

static uint64_t memory(void)
{
	struct virtio_gpgpu_resp_stats stats;

	check_ok(wire_stats(client, &stats));
	return stats.memory;
}

static void load(uint32_t id, const struct bpf_insn *insns, size_t count)
{
	struct wire_answer *a;
	uint32_t status = load_prog(client, id, VIRTIO_GPGPU_PROG_XDP, insns, (uint32_t)count, NULL, 0, &a);

	ck_assert_msg(!status, "program %u: status %u, reason %u: %s", id, status, a->reason,
		      (char *)a->resp->prog.message);
	wire_answer_free(a);
}

#define LOAD(id, insns) load(id, insns, COUNT(insns))

static uint64_t start(uint32_t prog, uint32_t flags, uint32_t count)
{
	static struct virtio_gpgpu_packet_desc descs[1024];

	packet_slots(client, descs, count);
	return wire_packets(client, CTX, next_point(), flags, prog, BUF_SHM, 0, SLOT, descs, count);
}

static const struct virtio_gpgpu_packet_result *results(const struct wire_answer *a)
{
	return (const void *)(&a->resp->packets + 1);
}

static struct wire_answer *run(uint32_t prog, uint32_t count)
{
	struct wire_answer *a = wire_wait(client, start(prog, 0, count));

	check_ok(a->status);
	return a;
}

static uint32_t verdict_of(uint32_t prog)
{
	struct wire_answer *a = run(prog, 1);
	uint32_t verdict = results(a)->verdict;

	wire_answer_free(a);
	return verdict;
}

/* ------------------------------------------------------------------- tail calls */

/* Calls element @index of MAP_PROGS, and returns @else_ if there is none. */
static void load_caller(uint32_t id, int32_t index, int32_t else_)
{
	const struct bpf_insn insns[] = {
		LD_MAP(2, MAP_PROGS), MOV(3, index), CALL(BPF_FUNC_tail_call), MOV(0, else_), EXIT(),
	};

	LOAD(id, insns);
}

static void load_return(uint32_t id, int32_t verdict)
{
	const struct bpf_insn insns[] = { MOV(0, verdict), EXIT() };

	LOAD(id, insns);
}

START_TEST(tail_calls)
{
	struct wire_answer *a;
	uint32_t id;

	load_caller(10, 1, XDP_PASS);
	load_return(11, XDP_TX);
	ck_assert_uint_eq(verdict_of(10), XDP_PASS); /* empty */
	check_ok(set(MAP_PROGS, 1, 11));
	a = run(10, 64);
	for (int i = 0; i < 64; i++) {
		ck_assert_uint_eq(results(a)[i].verdict, XDP_TX);
		ck_assert_uint_eq(results(a)[i].fault, 0);
		ck_assert_uint_eq(results(a)[i].data_len, PACKET_LEN);
		ck_assert_uint_eq(results(a)[i].data_off, HEADROOM);
	}
	ck_assert_uint_eq(a->resp->job.fault_count, 0);
	ck_assert_uint_eq(a->resp->packets.verdicts[XDP_TX], 64);
	wire_answer_free(a);

	/* An id is what was given; of a program that has been destroyed nobody knows one, and it goes on working. */
	check_ok(get(MAP_PROGS, 1, &id));
	ck_assert_uint_eq(id, 11);
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_PROG_DESTROY, CTX, 11, NULL));
	check_ok(get(MAP_PROGS, 1, &id));
	ck_assert_uint_eq(id, 0);
	ck_assert_uint_eq(verdict_of(10), XDP_TX);
	check_ok(unset(MAP_PROGS, 1));
	check_status(unset(MAP_PROGS, 1), NOT_FOUND);
	check_status(get(MAP_PROGS, 1, &id), NOT_FOUND);
	ck_assert_uint_eq(verdict_of(10), XDP_PASS);
	load_caller(12, 4, XDP_DROP); /* past the end */
	ck_assert_uint_eq(verdict_of(12), XDP_DROP);
}
END_TEST

/* A program that calls itself 33 times returns to itself then, as in the kernel. */
START_TEST(tail_calls_are_counted)
{
	const struct bpf_insn count_and_call[] = {
		MOVR(6, 1),
		ST(BPF_W, 10, -4, 0),
		LD_MAP(1, MAP_ARRAY),
		MOVR(2, 10),
		ALU(BPF_ADD, 2, -4),
		CALL(BPF_FUNC_map_lookup_elem),
		JMP(BPF_JEQ, 0, 0, 3),
		LDX(BPF_DW, 1, 0, 0),
		ALU(BPF_ADD, 1, 1),
		STX(BPF_DW, 0, 1, 0),
		MOVR(1, 6),
		LD_MAP(2, MAP_PROGS),
		MOV(3, 0),
		CALL(BPF_FUNC_tail_call),
		MOV(0, XDP_TX),
		EXIT(),
	};

	LOAD(10, count_and_call);
	check_ok(set(MAP_PROGS, 0, 10));
	ck_assert_uint_eq(verdict_of(10), XDP_TX);
	ck_assert_uint_eq(get64(MAP_ARRAY, 0), 34);
	/* It and its array name each other: the array goes empty with its id, and then all of it goes. */
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_MAP_DESTROY, CTX, MAP_PROGS, NULL));
	ck_assert_uint_eq(verdict_of(10), XDP_TX);
	ck_assert_uint_eq(get64(MAP_ARRAY, 0), 35);
}
END_TEST

/* The packet goes on as it was left: moved, with another length, and what it says in it. */
START_TEST(tail_call_takes_the_packet)
{
	const struct bpf_insn moves[] = {
		MOVR(6, 1),
		MOV(2, 8),
		CALL(BPF_FUNC_xdp_adjust_head),
		MOVR(1, 6),
		LD_MAP(2, MAP_PROGS),
		MOV(3, 2),
		CALL(BPF_FUNC_tail_call),
		MOV(0, XDP_PASS),
		EXIT(),
	};
	/* The port by which it came, and a length, are in the verdict. */
	const struct bpf_insn checks[] = {
		MOVR(6, 1),
		LDX(BPF_W, 2, 6, 0),
		LDX(BPF_W, 3, 6, 4),
		MOVR(4, 2),
		ALU(BPF_ADD, 4, PACKET_LEN - 8),
		MOV(0, XDP_DROP),
		JMPR(BPF_JNE, 4, 3, 3),
		LDX(BPF_W, 1, 6, 12),
		JMP(BPF_JNE, 1, 7, 1),
		MOV(0, XDP_TX),
		EXIT(),
	};
	struct virtio_gpgpu_packet_desc descs[4];
	struct wire_answer *a;

	LOAD(10, moves);
	LOAD(11, checks);
	check_ok(set(MAP_PROGS, 2, 11));
	packet_slots(client, descs, 4);
	for (int i = 0; i < 4; i++)
		descs[i].ingress_port = 7;
	for (uint32_t flags = 0; flags <= 2; flags++) {
		a = wire_wait(client,
			      wire_packets(client, CTX, next_point(), flags, 10, BUF_SHM, 0, SLOT, descs, 4));
		check_ok(a->status);
		for (int i = 0; i < 4; i++) {
			ck_assert_uint_eq(results(a)[i].verdict, XDP_TX);
			ck_assert_uint_eq(results(a)[i].data_off, HEADROOM + 8);
			ck_assert_uint_eq(results(a)[i].data_len, PACKET_LEN - 8);
		}
		wire_answer_free(a);
	}
}
END_TEST

START_TEST(tail_call_to_a_fault)
{
	struct wire_answer *a;

	make_programs(client);
	load_caller(10, 0, XDP_PASS);
	check_ok(set(MAP_PROGS, 0, PROG_XDP_SPIN));
	a = run(10, 3);
	ck_assert_uint_eq(a->resp->job.fault_count, 3);
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq(results(a)[i].verdict, XDP_ABORTED);
		ck_assert_uint_eq(results(a)[i].fault, VIRTIO_GPGPU_R_OUT_OF_FUEL);
	}
	wire_answer_free(a);
}
END_TEST

START_TEST(what_program_arrays_take)
{
	uint32_t key = 0, value = PROG_PASS;
	struct wire_answer *a;

	make_programs(client);
	check_status(set(MAP_PROGS, 0, 4711), NOT_FOUND);
	check_status(set(MAP_PROGS, 0, 0), NOT_FOUND);
	check_status(set(MAP_PROGS, 0, PROG_ADD), INVALID); /* a kernel */
	check_status(set(MAP_PROGS, 4, PROG_PASS), LIMIT);
	check_status(set(MAP_PROGS, UINT32_MAX, PROG_PASS), LIMIT);
	check_status(wire_map_op(client, UPDATE, CTX, MAP_PROGS, &key, 4, &value, 4, BPF_NOEXIST, NULL),
		     INVALID);
	check_ok(wire_attach(client, true, OTHER_CTX, VIRTIO_GPGPU_OBJ_MAP, MAP_PROGS));
	check_status(wire_map_op(client, UPDATE, OTHER_CTX, MAP_PROGS, &key, 4, &value, 4, 0, &a),
		     PERMISSION);
	ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_PROG);
	wire_answer_free(a);
	check_ok(set(MAP_PROGS, 0, PROG_PASS));
	check_ok(set(MAP_PROGS, 0, PROG_COUNT));
}
END_TEST

/* Programs whose ids are gone count, too, while arrays keep them. */
START_TEST(programs_without_ids)
{
	const struct bpf_insn insns[] = { MOV(0, XDP_PASS), EXIT() };
	uint32_t kept = 0, status;

	check_ok(wire_map(client, CTX, 20, VIRTIO_GPGPU_MAP_PROG_ARRAY, 4, 4, 8192, 0));
	while (!(status = load_prog(client, 11, VIRTIO_GPGPU_PROG_XDP, insns, COUNT(insns), NULL, 0, NULL))) {
		check_ok(set(20, kept++, 11));
		check_ok(wire_id(client, VIRTIO_GPGPU_CMD_PROG_DESTROY, CTX, 11, NULL));
		ck_assert_uint_lt(kept, 8192);
	}
	check_status(status, LIMIT);
	check_ok(unset(20, 0));
	load_return(11, XDP_TX);
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_MAP_DESTROY, CTX, 20, NULL));
	load_return(12, XDP_TX);
	load_return(13, XDP_TX);
}
END_TEST

/* ------------------------------------------------------------------ maps in maps */

/* Adds 1 to element 0 of the map at key @key of @outer; XDP_DROP if there is none. */
static void load_inner_counter(uint32_t id, uint32_t outer, int32_t key)
{
	const struct bpf_insn insns[] = {
		ST(BPF_W, 10, -4, key),
		LD_MAP(1, (int32_t)outer),
		MOVR(2, 10),
		ALU(BPF_ADD, 2, -4),
		CALL(BPF_FUNC_map_lookup_elem),
		JMP(BPF_JEQ, 0, 0, 10),
		MOVR(1, 0),
		ST(BPF_W, 10, -4, 0),
		MOVR(2, 10),
		ALU(BPF_ADD, 2, -4),
		CALL(BPF_FUNC_map_lookup_elem),
		JMP(BPF_JEQ, 0, 0, 4),
		MOV(1, 1),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 0, 1, 0, BPF_ADD),
		MOV(0, XDP_PASS),
		EXIT(),
		MOV(0, XDP_DROP),
		EXIT(),
	};

	LOAD(id, insns);
}

START_TEST(maps_in_an_array)
{
	uint64_t before;
	uint32_t id;

	check_ok(wire_map(client, CTX, 20, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, 0));
	check_ok(wire_map(client, CTX, 21, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, 0));
	load_inner_counter(10, MAP_OUTER, 1);
	ck_assert_uint_eq(verdict_of(10), XDP_DROP);
	check_ok(set(MAP_OUTER, 1, 20));
	check_ok(set(MAP_OUTER, 3, 20));
	wire_answer_free(run(10, 100));
	ck_assert_uint_eq(get64(20, 0), 100);
	check_ok(set(MAP_OUTER, 1, 21));
	wire_answer_free(run(10, 10));
	ck_assert_uint_eq(get64(20, 0), 100);
	ck_assert_uint_eq(get64(21, 0), 10);
	check_ok(get(MAP_OUTER, 1, &id));
	ck_assert_uint_eq(id, 21);

	/* It lives on without its id while it is a value, and goes with that. */
	before = memory();
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_MAP_DESTROY, CTX, 21, NULL));
	ck_assert_uint_eq(memory(), before);
	check_ok(get(MAP_OUTER, 1, &id));
	ck_assert_uint_eq(id, 0);
	ck_assert_uint_eq(verdict_of(10), XDP_PASS);
	check_ok(unset(MAP_OUTER, 1));
	ck_assert_uint_lt(memory(), before);
	ck_assert_uint_eq(verdict_of(10), XDP_DROP);
	check_status(unset(MAP_OUTER, 1), NOT_FOUND);
	check_status(get(MAP_OUTER, 1, &id), NOT_FOUND);
}
END_TEST

START_TEST(maps_in_a_hash)
{
	uint32_t key = 5, id, value = 20;
	uint64_t before = memory();

	check_ok(wire_map(client, CTX, 20, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, 0));
	check_ok(wire_map_of(client, CTX, 21, VIRTIO_GPGPU_MAP_HASH_OF_MAPS, 4, 8, 20));
	load_inner_counter(10, 21, 5);
	ck_assert_uint_eq(verdict_of(10), XDP_DROP);
	check_ok(set(21, 5, 20));
	check_status(wire_map_op(client, UPDATE, CTX, 21, &key, 4, &value, 4, BPF_NOEXIST, NULL), EXISTS);
	wire_answer_free(run(10, 7));
	ck_assert_uint_eq(get64(20, 0), 7);
	check_ok(get(21, 5, &id));
	ck_assert_uint_eq(id, 20);
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_PROG_DESTROY, CTX, 10, NULL));
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_MAP_DESTROY, CTX, 20, NULL));
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_MAP_DESTROY, CTX, 21, NULL));
	ck_assert_uint_eq(memory(), before);
}
END_TEST

START_TEST(what_maps_of_maps_take)
{
	const struct {
		uint32_t type, key, value, entries, flags;
	} shapes[] = {
		{ VIRTIO_GPGPU_MAP_HASH, 4, 8, 4, 0 },
		{ VIRTIO_GPGPU_MAP_ARRAY, 4, 16, 4, 0 },
		{ VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 5, 0 },
		{ VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, VIRTIO_GPGPU_MAP_F_RDONLY_PROG },
		{ VIRTIO_GPGPU_MAP_RINGBUF, 0, 0, 4096, 0 },
	};

	for (uint32_t i = 0; i < COUNT(shapes); i++) {
		check_ok(wire_map(client, CTX, 20 + i, shapes[i].type, shapes[i].key, shapes[i].value,
				  shapes[i].entries, shapes[i].flags));
		check_status(set(MAP_OUTER, 0, 20 + i), INVALID);
	}
	check_status(set(MAP_OUTER, 0, 4711), NOT_FOUND);
	check_status(set(MAP_OUTER, 0, MAP_OTHER), PERMISSION);
	check_status(set(MAP_OUTER, 4, MAP_ARRAY), LIMIT);
	/* One level, no programs in it, and a template that the context has. */
	check_status(wire_map_of(client, CTX, 40, VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS, 4, 4, MAP_OUTER), INVALID);
	check_status(wire_map_of(client, CTX, 40, VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS, 4, 4, MAP_PROGS), INVALID);
	check_status(wire_map_of(client, CTX, 40, VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS, 4, 4, 0), INVALID);
	check_status(wire_map_of(client, CTX, 40, VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS, 4, 4, 4711), NOT_FOUND);
	check_status(wire_map_of(client, CTX, 40, VIRTIO_GPGPU_MAP_HASH_OF_MAPS, 4, 4, MAP_OTHER),
		     PERMISSION);
	check_ok(wire_map_of(client, CTX, 40, VIRTIO_GPGPU_MAP_HASH_OF_MAPS, 8, 4, MAP_HASH));
	/* A hash may have another number of entries than its template, as in the kernel. */
	check_ok(wire_map(client, CTX, 41, VIRTIO_GPGPU_MAP_HASH, 4, 8, 99, 0));
	check_ok(wire_map_op(client, UPDATE, CTX, 40, (uint64_t[]){ 1 }, 8, (uint32_t[]){ 41 }, 4, 0, NULL));
}
END_TEST

/* Values come and go while programs look at them; what they find is always a whole map. */
START_TEST(inner_maps_change_under_programs)
{
	uint64_t total = 0;

	check_ok(wire_map(client, CTX, 20, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, 0));
	load_inner_counter(10, MAP_OUTER, 0);
	for (int round = 0; round < 40; round++) {
		uint64_t ticket = start(10, 0, 1024);
		struct wire_answer *a;

		for (uint32_t i = 0; i < 8; i++) {
			check_ok(wire_map(client, CTX, 30 + i, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, 0));
			check_ok(set(MAP_OUTER, 0, 30 + i));
			check_ok(wire_id(client, VIRTIO_GPGPU_CMD_MAP_DESTROY, CTX, 30 + i, NULL));
		}
		check_ok(set(MAP_OUTER, 0, 20));
		a = wire_wait(client, ticket);
		check_ok(a->status);
		ck_assert_uint_eq(a->resp->job.fault_count, 0);
		total += a->resp->packets.verdicts[XDP_PASS];
		wire_answer_free(a);
	}
	ck_assert_uint_gt(total, 0);
	ck_assert_uint_le(get64(20, 0), total);
}
END_TEST

/*
 * A program that has kept the number of a value comes to the map by it as long as one that has looked the map up may
 * run, also if it starts later; the map waits for that one, too.
 */
START_TEST(kept_numbers_of_inner_maps)
{
	enum { VALUE = 1 << 16, ELEMENTS = 16 };
	const struct bpf_insn keep[] = {
		ST(BPF_W, 10, -4, 0),
		LD_MAP(1, 21),
		MOVR(2, 10),
		ALU(BPF_ADD, 2, -4),
		CALL(BPF_FUNC_map_lookup_elem),
		JMP(BPF_JEQ, 0, 0, 13),
		MOVR(1, 0),
		MOVR(2, 10),
		ALU(BPF_ADD, 2, -4),
		CALL(BPF_FUNC_map_lookup_elem),
		JMP(BPF_JEQ, 0, 0, 8),
		MOVR(6, 0),
		LD_MAP(1, MAP_ARRAY),
		MOVR(2, 10),
		ALU(BPF_ADD, 2, -4),
		CALL(BPF_FUNC_map_lookup_elem),
		JMP(BPF_JEQ, 0, 0, 1),
		STX(BPF_DW, 0, 6, 0),
		MOV(0, XDP_PASS),
		EXIT(),
	};
	/* Reads all of that map, again and again. */
	const struct bpf_insn use[] = {
		ST(BPF_W, 10, -4, 0),
		LD_MAP(1, 21),
		LD_MAP(1, MAP_ARRAY),
		MOVR(2, 10),
		ALU(BPF_ADD, 2, -4),
		CALL(BPF_FUNC_map_lookup_elem),
		JMP(BPF_JEQ, 0, 0, 25),
		LDX(BPF_DW, 6, 0, 0),
		ST(BPF_DW, 0, 8, 1),
		MOVR(8, 0),
		MOV(7, 0),
		MOVR(1, 6),
		MOV(2, VALUE * ELEMENTS),
		MOVR(3, 6),
		CALL(BPF_FUNC_strncmp),
		ALUR(BPF_ADD, 7, 0),
		MOVR(1, 6),
		MOV(2, VALUE * ELEMENTS - 1),
		MOVR(3, 6),
		CALL(BPF_FUNC_strncmp),
		ALUR(BPF_ADD, 7, 0),
		MOVR(1, 6),
		MOV(2, VALUE * ELEMENTS - 2),
		MOVR(3, 6),
		CALL(BPF_FUNC_strncmp),
		ALUR(BPF_ADD, 7, 0),
		MOVR(1, 6),
		MOV(2, VALUE * ELEMENTS - 3),
		MOVR(3, 6),
		CALL(BPF_FUNC_strncmp),
		ALUR(BPF_ADD, 7, 0),
		STX(BPF_DW, 8, 7, 16),
		MOV(0, XDP_PASS),
		EXIT(),
	};
	static uint8_t ones[VALUE];
	uint64_t before, user;
	struct wire_answer *a;

	memset(ones, 1, sizeof(ones));
	check_ok(wire_map(client, CTX, 20, VIRTIO_GPGPU_MAP_ARRAY, 4, VALUE, ELEMENTS, 0));
	check_ok(wire_map_of(client, CTX, 21, VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS, 4, 1, 20));
	for (uint32_t i = 0; i < ELEMENTS; i++)
		check_ok(wire_map_op(client, UPDATE, CTX, 20, &i, 4, ones, VALUE, 0, NULL));
	check_ok(set(21, 0, 20));
	LOAD(10, keep);
	LOAD(11, use);
	ck_assert_uint_eq(verdict_of(10), XDP_PASS);
	before = memory();
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_MAP_DESTROY, CTX, 20, NULL));

	user = start(11, 0, 256);
	while (!get64(MAP_ARRAY, 1))
		sleep_ms(1);
	check_ok(unset(21, 0));
	/* What is retired looks at what can go. */
	while (memory() == before)
		check_ok(set(MAP_OUTER, 0, MAP_ARRAY));
	a = wire_wait(client, user);
	check_ok(a->status);
	/* Once it is hidden there are faults, unless the job has ended before. */
	ck_assert_uint_eq(a->resp->packets.verdicts[XDP_PASS] + a->resp->job.fault_count, 256);
	wire_answer_free(a);
}
END_TEST

/* There are so many maps in maps, and no more; a slot that is free again is used again. */
START_TEST(many_inner_maps)
{
	const uint32_t slots = 16384, room = 1 << 15;
	uint32_t key = 0, left;

	check_ok(wire_map_of(client, CTX, 20, VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS, 4, room, MAP_ARRAY));
	/* The same map takes one slot, however often it is a value. */
	for (; key < slots + 100; key++)
		check_ok(set(20, key, MAP_ARRAY));
	for (left = 0; left < 64; left++) {
		check_ok(wire_map(client, CTX, 100 + left, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, 0));
		check_ok(set(20, left, 100 + left));
	}
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_MAP_DESTROY, CTX, 20, NULL));
	check_ok(set(MAP_OUTER, 0, 100));
}
END_TEST

/* ----------------------------------------------------------------------- records */

/* Writes 16 bytes to the ring: the packet's first 8, and a constant. */
static void load_writer(uint32_t id, uint32_t map)
{
	const struct bpf_insn insns[] = {
		LDX(BPF_W, 7, 1, 0),
		LDX(BPF_W, 8, 1, 4),
		MOVR(2, 7),
		ALU(BPF_ADD, 2, 8),
		JMPR(BPF_JGT, 2, 8, 10),
		LDX(BPF_DW, 3, 7, 0),
		STX(BPF_DW, 10, 3, -16),
		ST(BPF_DW, 10, -8, 99),
		LD_MAP(1, (int32_t)map),
		MOVR(2, 10),
		ALU(BPF_ADD, 2, -16),
		MOV(3, 16),
		MOV(4, 0),
		CALL(BPF_FUNC_ringbuf_output),
		JA(0),
		MOV(0, XDP_PASS),
		EXIT(),
	};

	LOAD(id, insns);
}

static struct wire_answer *read_map(uint32_t map, uint32_t max_bytes, size_t capacity)
{
	struct virtio_gpgpu_req_map_read r = { .id = map, .max_bytes = max_bytes };

	wire_hdr(&r, VIRTIO_GPGPU_CMD_MAP_READ, CTX, sizeof(r));
	return wire_call(client, GPGPU_QUEUE_CONTROL, &r, sizeof(r), capacity);
}

/* Return: records of a read that takes @max_bytes. */
static uint32_t read_records(uint32_t map, uint32_t max_bytes, uint64_t *dropped)
{
	struct wire_answer *a = read_map(map, max_bytes, 1 << 20);
	const uint8_t *at = a->resp->bytes + sizeof(a->resp->map_read);
	struct virtio_gpgpu_caps caps;
	uint32_t num;

	check_ok(a->status);
	check_ok(wire_caps(client, &caps));
	num = a->resp->map_read.num_records;
	*dropped = a->resp->map_read.dropped;
	ck_assert_uint_eq(a->resp->map_read.bytes, num * 24);
	ck_assert_uint_eq(a->length, sizeof(a->resp->map_read) + num * 24);
	for (uint32_t i = 0; i < num; i++, at += 24) {
		struct virtio_gpgpu_record head;
		uint64_t value;

		memcpy(&head, at, sizeof(head));
		memcpy(&value, at + 16, sizeof(value));
		ck_assert_uint_eq(head.size, 16);
		ck_assert_uint_lt(head.cpu, caps.num_cpus);
		ck_assert_uint_eq(value, 99);
	}
	wire_answer_free(a);
	return num;
}

START_TEST(records_and_events)
{
	uint64_t map, dropped;

	load_writer(10, MAP_RING);
	ck_assert_uint_eq(wire_events(client, &map), 0);
	wire_answer_free(run(10, 5));
	ck_assert_uint_eq(wire_events(client, &map), 1);
	ck_assert_uint_eq(map, MAP_RING);
	/* No more until it has been read empty. */
	wire_answer_free(run(10, 5));
	ck_assert_uint_eq(wire_events(client, &map), 1);
	ck_assert_uint_eq(read_records(MAP_RING, 3 * 24 + 8, &dropped), 3);
	wire_answer_free(run(10, 5));
	ck_assert_uint_eq(wire_events(client, &map), 1);
	ck_assert_uint_eq(read_records(MAP_RING, 1 << 20, &dropped), 12);
	ck_assert_uint_eq(dropped, 0);
	ck_assert_uint_eq(read_records(MAP_RING, 1 << 20, &dropped), 0);
	ck_assert_uint_eq(wire_events(client, &map), 1);
	wire_answer_free(run(10, 1));
	ck_assert_uint_eq(wire_events(client, &map), 2);
	ck_assert_uint_eq(read_records(MAP_RING, 1 << 20, &dropped), 1);
}
END_TEST

START_TEST(records_that_find_no_room)
{
	uint64_t map, dropped;
	uint32_t got;

	load_writer(10, MAP_RING);
	wire_answer_free(run(10, 1000));
	got = read_records(MAP_RING, 1 << 20, &dropped);
	ck_assert_uint_gt(got, 0);
	ck_assert_uint_le(got, 4096 / 24);
	ck_assert_uint_eq(got + dropped, 1000);
	ck_assert_uint_eq(wire_events(client, &map), 1);
}
END_TEST

/* A record that the response has no room for stays, and whoever asks is told so. */
START_TEST(records_and_little_room)
{
	struct wire_answer *a;
	uint64_t dropped;

	load_writer(10, MAP_RING);
	wire_answer_free(run(10, 2));
	a = read_map(MAP_RING, 16, 1 << 20);
	check_status(a->status, INVALID);
	ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_RESPONSE_SPACE);
	wire_answer_free(a);
	a = read_map(MAP_RING, 1 << 20, sizeof(a->resp->map_read) + 23);
	check_status(a->status, INVALID);
	wire_answer_free(a);
	a = read_map(MAP_RING, 1 << 20, sizeof(a->resp->map_read) + 24);
	check_ok(a->status);
	ck_assert_uint_eq(a->resp->map_read.num_records, 1);
	wire_answer_free(a);
	ck_assert_uint_eq(read_records(MAP_RING, 24, &dropped), 1);
}
END_TEST

/* Records of a program that was reached by a tail call, and of a map in a map. */
START_TEST(records_from_elsewhere)
{
	const struct bpf_insn through_outer[] = {
		ST(BPF_W, 10, -4, 1),
		LD_MAP(1, 21),
		MOVR(2, 10),
		ALU(BPF_ADD, 2, -4),
		CALL(BPF_FUNC_map_lookup_elem),
		JMP(BPF_JEQ, 0, 0, 8),
		MOVR(1, 0),
		ST(BPF_DW, 10, -8, 99),
		ST(BPF_DW, 10, -16, 1),
		MOVR(2, 10),
		ALU(BPF_ADD, 2, -16),
		MOV(3, 16),
		MOV(4, 0),
		CALL(BPF_FUNC_ringbuf_output),
		MOV(0, XDP_PASS),
		EXIT(),
	};
	uint64_t map, dropped;

	load_writer(10, MAP_RING);
	load_caller(11, 2, XDP_PASS);
	check_ok(set(MAP_PROGS, 2, 10));
	wire_answer_free(run(11, 4));
	ck_assert_uint_eq(wire_events(client, &map), 1);
	ck_assert_uint_eq(map, MAP_RING);
	ck_assert_uint_eq(read_records(MAP_RING, 1 << 20, &dropped), 4);

	check_ok(wire_map(client, CTX, 20, VIRTIO_GPGPU_MAP_RINGBUF, 0, 0, 4096, 0));
	check_ok(wire_map_of(client, CTX, 21, VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS, 4, 4, 20));
	check_ok(set(21, 1, 20));
	LOAD(12, through_outer);
	wire_answer_free(run(12, 3));
	ck_assert_uint_eq(wire_events(client, &map), 2);
	ck_assert_uint_eq(map, 20);
	ck_assert_uint_eq(read_records(20, 1 << 20, &dropped), 3);
}
END_TEST

/* -------------------------------------------------------------------------- lines */

START_TEST(printed_lines)
{
	static const char format[16] = "seen %d of %u";
	const struct bpf_insn prints[] = {
		INSN(BPF_LD | BPF_IMM | BPF_DW, 1, 0, 0, 0x6e656573), /* "seen" */
		INSN(0, 0, 0, 0, 0x20642520),
		STX(BPF_DW, 10, 1, -16),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 1, 0, 0, 0x2520666f), /* "of %" */
		INSN(0, 0, 0, 0, 0x75),
		STX(BPF_DW, 10, 1, -8),
		MOVR(1, 10),
		ALU(BPF_ADD, 1, -16),
		MOV(2, 14),
		MOV(3, -7),
		MOV(4, 12),
		CALL(BPF_FUNC_trace_printk),
		MOV(0, XDP_PASS),
		EXIT(),
	};
	char last[512];

	ck_assert_str_eq(format, "seen %d of %u");
	LOAD(10, prints);
	wire_answer_free(run(10, 1));
	ck_assert_uint_eq(wire_lines(client, last), 1);
	ck_assert_msg(strstr(last, "seen -7 of 12") != NULL, "%s", last);
	ck_assert_msg(strstr(last, "test: program '") == last, "%s", last);
	/* Few a second, however much is printed. */
	wire_answer_free(run(10, 1000));
	wire_answer_free(run(10, 1000));
	ck_assert_uint_le(wire_lines(client, last), 10 * 21);
}
END_TEST

/* ------------------------------------------------------------------------- routes */

/* bpf_fib_lookup() of 10.1.2.3; returns its answer plus 10 as an error, or redirects to what it found. */
static void load_router(uint32_t id)
{
	const struct bpf_insn insns[] = {
		MOVR(6, 1),
		ST(BPF_DW, 10, -64, 0),
		ST(BPF_DW, 10, -56, 0),
		ST(BPF_DW, 10, -48, 0),
		ST(BPF_DW, 10, -40, 0),
		ST(BPF_DW, 10, -32, 0),
		ST(BPF_DW, 10, -24, 0),
		ST(BPF_DW, 10, -16, 0),
		ST(BPF_DW, 10, -8, 0),
		ST(BPF_B, 10, -64, 2), /* family */
		ST(BPF_W, 10, -56, 1), /* ifindex */
		ST(BPF_W, 10, -32, 0x0302010a), /* ipv4_dst */
		MOVR(1, 6),
		MOVR(2, 10),
		ALU(BPF_ADD, 2, -64),
		MOV(3, 64),
		MOV(4, 0),
		CALL(BPF_FUNC_fib_lookup),
		JMP(BPF_JNE, 0, 0, 4),
		LDX(BPF_W, 1, 10, -56),
		MOV(2, 0),
		CALL(BPF_FUNC_redirect),
		EXIT(),
		MOV(0, XDP_DROP),
		EXIT(),
	};

	LOAD(id, insns);
}

static void set_route(uint32_t map, uint32_t ctx, uint32_t ifindex)
{
	struct virtio_gpgpu_fib_key key = { .prefixlen = 32 + 8,
					    .family = VIRTIO_GPGPU_FIB_INET,
					    .addr = { 10 } };
	struct virtio_gpgpu_fib_entry entry = { .ifindex = ifindex };

	check_ok(wire_map_op(client, UPDATE, ctx, map, &key, sizeof(key), &entry, sizeof(entry), 0, NULL));
}

START_TEST(routes)
{
	struct wire_answer *a;

	load_router(10); /* no routes when it was made */
	check_ok(wire_map(client, OTHER_CTX, 19, VIRTIO_GPGPU_MAP_FIB, 24, 32, 8, 0));
	set_route(19, OTHER_CTX, 77);
	load_router(11); /* another context's do not count */
	check_ok(wire_map(client, CTX, 20, VIRTIO_GPGPU_MAP_FIB, 24, 32, 8, 0));
	load_router(12);
	ck_assert_uint_eq(verdict_of(12), XDP_DROP);
	set_route(20, CTX, 5);
	a = run(12, 1);
	ck_assert_uint_eq(results(a)->verdict, XDP_REDIRECT);
	ck_assert_uint_eq(results(a)->egress_port, 5);
	wire_answer_free(a);
	ck_assert_uint_eq(verdict_of(10), XDP_DROP);
	ck_assert_uint_eq(verdict_of(11), XDP_DROP);
	/* The program keeps them. */
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_MAP_DESTROY, CTX, 20, NULL));
	ck_assert_uint_eq(verdict_of(12), XDP_REDIRECT);
}
END_TEST

/* --------------------------------------------------------------------- redirects */

START_TEST(redirects_by_map)
{
	const uint32_t types[] = { VIRTIO_GPGPU_MAP_DEVMAP, VIRTIO_GPGPU_MAP_DEVMAP_HASH,
				   VIRTIO_GPGPU_MAP_CPUMAP };

	for (uint32_t i = 0; i < COUNT(types); i++) {
		const struct bpf_insn insns[] = {
			LD_MAP(1, (int32_t)(20 + i)), MOV(2, 3), MOV(3, XDP_TX),
			CALL(BPF_FUNC_redirect_map),  EXIT(),
		};
		uint32_t key = 3;
		struct wire_answer *a;

		check_ok(wire_map(client, CTX, 20 + i, types[i], 4, 8, 4, 0));
		LOAD(10 + i, insns);
		ck_assert_uint_eq(verdict_of(10 + i), XDP_TX); /* there is none */
		check_ok(wire_map_op(client, UPDATE, CTX, 20 + i, &key, 4, (uint32_t[]){ 192, 0 }, 8, 0,
				     NULL));
		a = run(10 + i, 1);
		ck_assert_uint_eq(results(a)->verdict, XDP_REDIRECT);
		ck_assert_uint_eq(results(a)->egress_port,
				  types[i] == VIRTIO_GPGPU_MAP_CPUMAP ? VIRTIO_GPGPU_EGRESS_CPU | 3 : 192);
		wire_answer_free(a);
		/* A program behind the redirect is not run, so it is not taken. */
		check_status(wire_map_op(client, UPDATE, CTX, 20 + i, &key, 4, (uint32_t[]){ 192, 1 }, 8, 0,
					 NULL),
			     UNSUPPORTED);
		check_ok(wire_map_op(client, DELETE, CTX, 20 + i, &key, 4, NULL, 0, 0, NULL));
		ck_assert_uint_eq(verdict_of(10 + i), XDP_TX);
	}
}
END_TEST

/* ------------------------------------------------------------------ many entries */

struct entry {
	uint32_t key, pad;
	uint64_t value;
};

static uint32_t load_entries(uint32_t map, const struct entry *entries, uint32_t count, uint32_t flags,
			     uint32_t *taken)
{
	size_t length = sizeof(struct virtio_gpgpu_req_map_load) + count * sizeof(*entries);
	struct virtio_gpgpu_req_map_load *r = calloc(1, length);
	struct wire_answer *a;
	uint32_t status;

	r->id = map;
	r->count = count;
	r->op_flags = flags;
	memcpy(r + 1, entries, count * sizeof(*entries));
	wire_hdr(r, VIRTIO_GPGPU_CMD_MAP_LOAD, CTX, length);
	a = wire_call(client, GPGPU_QUEUE_CONTROL, r, length, 4096);
	status = a->status;
	*taken = a->resp->map_load.count;
	free(r);
	wire_answer_free(a);
	return status;
}

/* Return: the status; *count entries came. */
static uint32_t dump_entries(uint32_t map, const uint32_t *after, struct entry *entries, uint32_t max,
			     uint32_t *count)
{
	struct {
		struct virtio_gpgpu_req_map_dump r;
		uint64_t key;
	} r = { .r = { .id = map, .max_entries = max, .key_size = after ? 4 : 0 },
		.key = after ? *after : 0 };
	size_t length = after ? sizeof(r) : sizeof(r.r);
	struct wire_answer *a;
	uint32_t status;

	wire_hdr(&r, VIRTIO_GPGPU_CMD_MAP_DUMP, CTX, length);
	a = wire_call(client, GPGPU_QUEUE_CONTROL, &r, length, 1 << 20);
	status = a->status;
	*count = status ? 0 : a->resp->map_dump.count;
	if (!status) {
		ck_assert_uint_eq(a->length, sizeof(a->resp->map_dump) + *count * sizeof(*entries));
		memcpy(entries, a->resp->bytes + sizeof(a->resp->map_dump), *count * sizeof(*entries));
	}
	wire_answer_free(a);
	return status;
}

START_TEST(entries_in_bulk)
{
	enum { TOTAL = 20000 };
	static struct entry entries[TOTAL], got[VIRTIO_GPGPU_MAX_ENTRIES];
	static uint8_t seen[TOTAL];
	uint32_t taken, count, last, total = 0;

	for (uint32_t i = 0; i < TOTAL; i++)
		entries[i] = (struct entry){ .key = i, .value = 3 * i };
	check_ok(wire_map(client, CTX, 20, VIRTIO_GPGPU_MAP_HASH, 4, 8, TOTAL, 0));
	check_ok(load_entries(20, entries, 15000, BPF_ANY, &taken));
	ck_assert_uint_eq(taken, 15000);
	check_ok(load_entries(20, entries + 15000, TOTAL - 15000, BPF_NOEXIST, &taken));
	/* It stops at the first that does not go. */
	check_status(load_entries(20, entries + TOTAL - 3, 3, BPF_NOEXIST, &taken), EXISTS);
	ck_assert_uint_eq(taken, 0);
	check_ok(wire_map_op(client, DELETE, CTX, 20, &entries[7].key, 4, NULL, 0, 0, NULL));
	check_status(load_entries(20, entries + 7, 2, BPF_NOEXIST, &taken), EXISTS);
	ck_assert_uint_eq(taken, 1);

	check_ok(dump_entries(20, NULL, got, 16000, &count));
	while (count) {
		for (uint32_t i = 0; i < count; i++) {
			ck_assert_uint_lt(got[i].key, TOTAL);
			ck_assert_uint_eq(got[i].pad, 0);
			ck_assert_uint_eq(got[i].value, 3 * got[i].key);
			ck_assert_uint_eq(seen[got[i].key]++, 0);
		}
		total += count;
		last = got[count - 1].key;
		if (dump_entries(20, &last, got, 16000, &count))
			break;
	}
	ck_assert_uint_eq(total, TOTAL);
	check_status(dump_entries(20, &last, got, 1, &count), END);
	/* A frozen map takes nothing. */
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_MAP_FREEZE, CTX, 20, NULL));
	check_status(load_entries(20, entries, 1, 0, &taken), PERMISSION);
	check_status(wire_map_op(client, POP, CTX, 20, &entries[0].key, 4, NULL, 0, 0, NULL), PERMISSION);
}
END_TEST

/* Programs are replaced faster than slices end: what was replaced is kept meanwhile, but not without a limit. */
START_TEST(programs_replaced_in_bulk)
{
	enum { PROGS = 16384, LOADS = 200 };
	static struct entry entries[PROGS];
	uint32_t taken, waited = 0, id;
	uint64_t spinning;

	make_programs(client);
	load_return(11, XDP_TX);
	for (uint32_t i = 0; i < PROGS; i++)
		entries[i] = (struct entry){ .key = i, .value = 11 };
	check_ok(wire_map(client, CTX, 20, VIRTIO_GPGPU_MAP_PROG_ARRAY, 4, 4, PROGS, 0));
	check_ok(load_entries(20, entries, PROGS, BPF_ANY, &taken));
	spinning = spin(client, next_point_on(40), 1 << 30);
	for (uint32_t i = 0; i < LOADS; i++) {
		uint32_t status = load_entries(20, entries, PROGS, BPF_ANY, &taken);

		if (status)
			check_status(status, BUSY);
		waited += status != VIRTIO_GPGPU_S_OK;
	}
	/* How often it had to wait depends on how fast the slices are; but it gets on. */
	ck_assert_uint_lt(waited, LOADS);
	while (load_entries(20, entries, PROGS, BPF_ANY, &taken))
		sleep_ms(1);
	ck_assert(still_waits(spinning));
	/* One that has been refused changes nothing. */
	for (uint32_t i = 0; i < PROGS; i += 1111) {
		check_ok(get(20, i, &id));
		ck_assert_uint_eq(id, 11);
	}
}
END_TEST

/* ------------------------------------------------------------- maps without keys */

START_TEST(queues_and_filters)
{
	struct wire_answer *a;
	uint64_t value;

	check_ok(wire_map(client, CTX, 20, VIRTIO_GPGPU_MAP_QUEUE, 0, 8, 2, 0));
	for (value = 1; value <= 2; value++)
		check_ok(wire_map_op(client, UPDATE, CTX, 20, NULL, 0, &value, 8, 0, NULL));
	check_status(wire_map_op(client, UPDATE, CTX, 20, NULL, 0, &value, 8, 0, NULL), LIMIT);
	for (uint64_t want = 1; want <= 2; want++) {
		check_ok(wire_map_op(client, LOOKUP, CTX, 20, NULL, 0, NULL, 0, 0,
				     NULL)); /* does not take it */
		check_ok(wire_map_op(client, POP, CTX, 20, NULL, 0, NULL, 0, 0, &a));
		memcpy(&value, a->resp->bytes + sizeof(a->resp->map_op), 8);
		ck_assert_uint_eq(value, want);
		wire_answer_free(a);
	}
	check_status(wire_map_op(client, POP, CTX, 20, NULL, 0, NULL, 0, 0, NULL), NOT_FOUND);
	check_status(wire_map_op(client, DELETE, CTX, 20, NULL, 0, NULL, 0, 0, NULL), INVALID);
	check_status(wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_NEXT_KEY, CTX, 20, NULL, 0, NULL, 0, 0, NULL),
		     INVALID);

	check_ok(wire_map(client, CTX, 21, VIRTIO_GPGPU_MAP_BLOOM_FILTER, 0, 8, 100, 0));
	value = 42;
	check_status(wire_map_op(client, LOOKUP, CTX, 21, &value, 8, NULL, 0, 0, NULL), NOT_FOUND);
	check_ok(wire_map_op(client, UPDATE, CTX, 21, NULL, 0, &value, 8, 0, NULL));
	check_ok(wire_map_op(client, LOOKUP, CTX, 21, &value, 8, NULL, 0, 0, &a));
	ck_assert_uint_eq(a->resp->map_op.size, 0);
	wire_answer_free(a);
	check_status(wire_map_op(client, LOOKUP, CTX, 21, &value, 4, NULL, 0, 0, NULL), INVALID);
	check_status(wire_map_op(client, POP, CTX, 21, NULL, 0, NULL, 0, 0, NULL), INVALID);
}
END_TEST

/* Everything at once goes with a reset, and the memory with it. */
START_TEST(reset_with_everything)
{
	uint64_t dropped;

	load_writer(10, MAP_RING);
	load_caller(11, 0, XDP_PASS);
	load_inner_counter(12, MAP_OUTER, 0);
	check_ok(set(MAP_PROGS, 0, 11));
	check_ok(set(MAP_PROGS, 1, 12));
	check_ok(set(MAP_OUTER, 0, MAP_ARRAY));
	wire_answer_free(run(11, 10));
	wire_answer_free(run(12, 10));
	wire_answer_free(run(10, 10));
	ck_assert_uint_eq(read_records(MAP_RING, 100, &dropped), 4);
	gpgpu_session_reset(wire_session(client), 3, 2);
	ck_assert_uint_eq(memory(), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("maps");
	TCase *tc = tcase_create("maps");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup_objects, teardown);
	tcase_add_test(tc, tail_calls);
	tcase_add_test(tc, tail_calls_are_counted);
	tcase_add_test(tc, tail_call_takes_the_packet);
	tcase_add_test(tc, tail_call_to_a_fault);
	tcase_add_test(tc, what_program_arrays_take);
	tcase_add_test(tc, programs_without_ids);
	tcase_add_test(tc, maps_in_an_array);
	tcase_add_test(tc, maps_in_a_hash);
	tcase_add_test(tc, what_maps_of_maps_take);
	tcase_add_test(tc, inner_maps_change_under_programs);
	tcase_add_test(tc, kept_numbers_of_inner_maps);
	tcase_add_test(tc, many_inner_maps);
	tcase_add_test(tc, records_and_events);
	tcase_add_test(tc, records_that_find_no_room);
	tcase_add_test(tc, records_and_little_room);
	tcase_add_test(tc, records_from_elsewhere);
	tcase_add_test(tc, printed_lines);
	tcase_add_test(tc, routes);
	tcase_add_test(tc, redirects_by_map);
	tcase_add_test(tc, entries_in_bulk);
	tcase_add_test(tc, programs_replaced_in_bulk);
	tcase_add_test(tc, queues_and_filters);
	tcase_add_test(tc, reset_with_everything);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
