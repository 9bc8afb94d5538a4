/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_objects.c - contexts, buffers, maps and programs: who may use what, limits, memory, ids.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "sanitized.h"
#include "fixture.h"
#include "mock.h"

static uint64_t memory(void)
{
	struct virtio_gpgpu_resp_stats stats;

	check_ok(wire_stats(client, &stats));
	return stats.memory;
}

START_TEST(caps_say_it_all)
{
	struct virtio_gpgpu_caps caps;

	check_ok(wire_caps(client, &caps));
	ck_assert_uint_eq(caps.version, VIRTIO_GPGPU_CAPS_VERSION);
	ck_assert_uint_eq(caps.size, sizeof(caps));
	ck_assert(g_str_has_prefix((char *)caps.device_name, gp_mock_use()));
	ck_assert_str_eq((char *)caps.target, "x86_64");
	ck_assert_uint_eq(caps.memory_limit, 64 << 20);
	ck_assert_uint_eq(caps.shm_size, SHM_SIZE);
	ck_assert_uint_eq(caps.num_cpus, 2);
	ck_assert_uint_eq(caps.max_batch, VIRTIO_GPGPU_MAX_BATCH);
	ck_assert_uint_gt(caps.fuel, 1000);
	ck_assert_uint_gt(caps.slice_us, 0);
	ck_assert_uint_eq(caps.prog_kinds, 1u << VIRTIO_GPGPU_PROG_XDP | 1u << VIRTIO_GPGPU_PROG_GPGPU);
}
END_TEST

/* An object is its creator's until it is shared, and lives as long as somebody has it. */
START_TEST(sharing)
{
	uint64_t value = 5, before = memory();
	uint32_t key = 1;

	check_status(wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_UPDATE, OTHER_CTX, MAP_HASH, &key, 4, &value, 8,
				 0, NULL),
		     PERMISSION);
	check_ok(wire_attach(client, true, OTHER_CTX, VIRTIO_GPGPU_OBJ_MAP, MAP_HASH));
	check_status(wire_attach(client, true, OTHER_CTX, VIRTIO_GPGPU_OBJ_MAP, MAP_HASH), EXISTS);
	check_ok(wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_UPDATE, OTHER_CTX, MAP_HASH, &key, 4, &value, 8, 0,
			     NULL));
	/* With its maker gone the other still has it; what nobody has is gone too. */
	check_ok(wire_simple(client, VIRTIO_GPGPU_CMD_CTX_DESTROY, CTX, NULL));
	check_ok(wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_LOOKUP, OTHER_CTX, MAP_HASH, &key, 4, NULL, 0, 0,
			     NULL));
	check_status(wire_id(client, VIRTIO_GPGPU_CMD_MAP_DESTROY, 0, MAP_ARRAY, NULL), NOT_FOUND);
	check_status(wire_id(client, VIRTIO_GPGPU_CMD_BUFFER_DESTROY, 0, BUF_DEV, NULL), NOT_FOUND);
	ck_assert_uint_lt(memory(), before);
	check_ok(wire_attach(client, false, OTHER_CTX, VIRTIO_GPGPU_OBJ_MAP, MAP_HASH));
	check_status(wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_LOOKUP, OTHER_CTX, MAP_HASH, &key, 4, NULL, 0,
				 0, NULL),
		     PERMISSION);
	/* Nobody's, so context 0 takes it away. */
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_MAP_DESTROY, 0, MAP_HASH, NULL));
	check_ok(wire_simple(client, VIRTIO_GPGPU_CMD_CTX_DESTROY, OTHER_CTX, NULL));
	ck_assert_uint_eq(memory(), 0);
}
END_TEST

START_TEST(attach_again_and_again)
{
	for (int i = 0; i < 10000; i++) {
		check_ok(wire_attach(client, true, OTHER_CTX, VIRTIO_GPGPU_OBJ_MAP, MAP_HASH));
		check_ok(wire_attach(client, false, OTHER_CTX, VIRTIO_GPGPU_OBJ_MAP, MAP_HASH));
	}
	check_status(wire_attach(client, false, OTHER_CTX, VIRTIO_GPGPU_OBJ_MAP, MAP_HASH), PERMISSION);
}
END_TEST

START_TEST(make_and_destroy)
{
	uint64_t before = memory();

	for (uint32_t i = 0; i < 2000; i++) {
		check_ok(wire_buffer(client, CTX, 500, VIRTIO_GPGPU_MEM_DEVICE, 0, 4096 * (i % 10 + 1)));
		check_status(wire_buffer(client, CTX, 500, VIRTIO_GPGPU_MEM_DEVICE, 0, 4096), EXISTS);
		check_ok(wire_map(client, CTX, 500, VIRTIO_GPGPU_MAP_HASH, 4, 8, i + 1, 0));
		check_status(wire_map(client, CTX, 500, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 1, 0), EXISTS);
		check_ok(wire_simple(client, VIRTIO_GPGPU_CMD_CTX_CREATE, 500, NULL));
		check_ok(wire_id(client, VIRTIO_GPGPU_CMD_BUFFER_DESTROY, CTX, 500, NULL));
		check_ok(wire_id(client, VIRTIO_GPGPU_CMD_MAP_DESTROY, CTX, 500, NULL));
		check_ok(wire_simple(client, VIRTIO_GPGPU_CMD_CTX_DESTROY, 500, NULL));
		check_status(wire_id(client, VIRTIO_GPGPU_CMD_BUFFER_DESTROY, CTX, 500, NULL), NOT_FOUND);
	}
	ck_assert_uint_eq(memory(), before);
}
END_TEST

/* What was somebody's is zero for the next. */
START_TEST(device_memory_is_zero)
{
	memset(wire_shm(client) + (1 << 20), 0, 1 << 20);
	for (int i = 0; i < 20; i++) {
		check_ok(wire_buffer(client, CTX, 500, VIRTIO_GPGPU_MEM_DEVICE, 0, 1 << 20));
		check_ok(wire_status(client,
				     wire_copy(client, CTX, next_point_on(0), BUF_SHM, 0, 500, 0, 1 << 20)));
		ck_assert(!memcmp(wire_shm(client), wire_shm(client) + (1 << 20), 1 << 20));
		check_ok(wire_status(client,
				     wire_fill(client, CTX, next_point_on(0), 500, 0, 1 << 20, 0x5ec4e7)));
		check_ok(wire_id(client, VIRTIO_GPGPU_CMD_BUFFER_DESTROY, CTX, 500, NULL));
	}
}
END_TEST

START_TEST(memory_limit)
{
	struct gpgpu_quota quota = { .memory_limit = 8 << 20 };
	struct virtio_gpgpu_resp_stats stats;
	uint64_t before = memory();
	uint32_t made = 0;

	gpgpu_session_set_quota(wire_session(client), &quota);
	while (wire_buffer(client, CTX, 1000 + made, VIRTIO_GPGPU_MEM_DEVICE, 0, 1 << 20) ==
	       VIRTIO_GPGPU_S_OK)
		made++;
	ck_assert_uint_eq(made, ((8 << 20) - before) >> 20);
	check_status(wire_map(client, CTX, 999, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 1 << 20, 0), NO_MEMORY);
	check_status(wire_buffer(client, CTX, 999, VIRTIO_GPGPU_MEM_DEVICE, 0, 1ull << 30), NO_MEMORY);
	/* Shared memory is the guest's own. */
	check_ok(wire_buffer(client, CTX, 999, VIRTIO_GPGPU_MEM_SHM, 0, SHM_SIZE));
	/* Below what is in use already: nothing is taken away, nothing is added. */
	quota.memory_limit = 1 << 20;
	gpgpu_session_set_quota(wire_session(client), &quota);
	check_status(wire_buffer(client, CTX, 998, VIRTIO_GPGPU_MEM_DEVICE, 0, 4096), NO_MEMORY);
	for (uint32_t i = 0; i < made; i++)
		check_ok(wire_id(client, VIRTIO_GPGPU_CMD_BUFFER_DESTROY, CTX, 1000 + i, NULL));
	check_ok(wire_stats(client, &stats));
	ck_assert_uint_eq(stats.memory, before);
	ck_assert_uint_eq(stats.memory_max, before + ((uint64_t)made << 20));
}
END_TEST

/* Small objects, each of which costs the host more than its memory: refused before the host is out of mappings. */
START_TEST(many_small_buffers)
{
	struct gpgpu_session_options options = { .name = "small", .features = 3 };
	struct wire_client *c = wire_client_engine(engine, SHM_SIZE, &options);
	uint32_t made = 0;
	struct wire_answer *a;

	while (made < 30000 &&
	       wire_buffer(c, 0, 1 + made, VIRTIO_GPGPU_MEM_DEVICE, 0, 4096) == VIRTIO_GPGPU_S_OK)
		made++;
	ck_assert_uint_gt(made, 10000);
	ck_assert_uint_lt(made, 30000);
	check_status(wire_buffer(c, 0, 1 + made, VIRTIO_GPGPU_MEM_DEVICE, 0, 4096), NO_MEMORY);
	/* Jobs and programs go on, and what is given back can be had again. */
	check_ok(wire_status(c, wire_fill(c, 0, (struct wire_point){ 0, 1, NULL, 0 }, made, 0, 4096, 1)));
	check_ok(wire_id(c, VIRTIO_GPGPU_CMD_BUFFER_DESTROY, 0, made, &a));
	wire_answer_free(a);
	check_ok(wire_buffer(c, 0, made, VIRTIO_GPGPU_MEM_DEVICE, 0, 4096));
	wire_client_free(c);
	check_ok(wire_buffer(client, CTX, 500, VIRTIO_GPGPU_MEM_DEVICE, 0, 4096));
}
END_TEST

START_TEST(object_limits)
{
	struct gpgpu_session_options options = {
		.name = "limits",
		.features = 3,
		.limits = { .max_contexts = 4,
			    .max_buffers = 3,
			    .max_maps = 2,
			    .max_programs = 1,
			    .max_buffer = 8192,
			    .max_map = 4096,
			    .max_insns = 4 },
	};
	const struct bpf_insn pass[] = { MOV(0, 1), MOV(0, 2), MOV(0, 3), MOV(0, 2), EXIT() };
	struct wire_client *c = wire_client_engine(engine, SHM_SIZE, &options);
	struct virtio_gpgpu_caps caps;

	check_ok(wire_caps(c, &caps));
	ck_assert_uint_eq(caps.max_contexts, 4);
	ck_assert_uint_eq(caps.max_insns, 4);
	for (uint32_t i = 1; i < 4; i++)
		check_ok(wire_simple(c, VIRTIO_GPGPU_CMD_CTX_CREATE, i, NULL));
	check_status(wire_simple(c, VIRTIO_GPGPU_CMD_CTX_CREATE, 4, NULL), LIMIT);
	check_status(wire_buffer(c, 0, 1, VIRTIO_GPGPU_MEM_SHM, 0, 12288), LIMIT);
	for (uint32_t i = 1; i < 4; i++)
		check_ok(wire_buffer(c, 0, i, VIRTIO_GPGPU_MEM_SHM, 0, 8192));
	check_status(wire_buffer(c, 0, 4, VIRTIO_GPGPU_MEM_SHM, 0, 4096), LIMIT);
	check_ok(wire_id(c, VIRTIO_GPGPU_CMD_BUFFER_DESTROY, 0, 2, NULL));
	check_ok(wire_buffer(c, 0, 4, VIRTIO_GPGPU_MEM_SHM, 0, 4096));
	check_status(wire_map(c, 0, 1, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4096, 0), LIMIT);
	check_ok(wire_map(c, 0, 1, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, 0));
	check_ok(wire_map(c, 0, 2, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, 0));
	check_status(wire_map(c, 0, 3, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, 0), LIMIT);
	check_status(wire_prog(c, 0, 1, VIRTIO_GPGPU_PROG_XDP, pass, 5, 1, 0, 0, NULL, 0, NULL), LIMIT);
	check_ok(wire_prog(c, 0, 1, VIRTIO_GPGPU_PROG_XDP, pass + 3, 2, 1, 0, 0, NULL, 0, NULL));
	check_status(wire_prog(c, 0, 2, VIRTIO_GPGPU_PROG_XDP, pass + 3, 2, 1, 0, 0, NULL, 0, NULL), LIMIT);
	wire_client_free(c);
}
END_TEST

#define LOOKUP(id, key, size, a) \
	wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_LOOKUP, CTX, id, key, size, NULL, 0, 0, a)
#define UPDATE(id, key, size, value, value_size, flags) \
	wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_UPDATE, CTX, id, key, size, value, value_size, flags, NULL)
#define DELETE(id, key, size) \
	wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_DELETE, CTX, id, key, size, NULL, 0, 0, NULL)

START_TEST(hash_map)
{
	uint32_t key, seen = 0;
	struct wire_answer *a;
	const void *at = NULL;
	uint64_t value;

	for (key = 0; key < 16; key++) {
		value = key * 3;
		check_status(UPDATE(MAP_HASH, &key, 4, &value, 8, BPF_EXIST), NOT_FOUND);
		check_ok(UPDATE(MAP_HASH, &key, 4, &value, 8, BPF_NOEXIST));
		check_status(UPDATE(MAP_HASH, &key, 4, &value, 8, BPF_NOEXIST), EXISTS);
	}
	check_status(UPDATE(MAP_HASH, &key, 4, &value, 8, BPF_ANY), LIMIT);
	for (key = 0; key < 16; key++) {
		check_ok(LOOKUP(MAP_HASH, &key, 4, &a));
		ck_assert_uint_eq(a->length, sizeof(a->resp->map_op) + 8);
		ck_assert_uint_eq(a->resp->map_op.size, 8);
		memcpy(&value, &a->resp->map_op + 1, 8);
		ck_assert_uint_eq(value, key * 3);
		wire_answer_free(a);
	}
	while (wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_NEXT_KEY, CTX, MAP_HASH, at, 4, NULL, 0, 0, &a) ==
	       VIRTIO_GPGPU_S_OK) {
		ck_assert_uint_eq(a->resp->map_op.size, 4);
		memcpy(&key, &a->resp->map_op + 1, 4);
		ck_assert_uint_lt(key, 16);
		ck_assert(!(seen & 1u << key));
		seen |= 1u << key;
		at = &key;
		wire_answer_free(a);
	}
	check_status(a->status, END);
	ck_assert_uint_eq(a->length, sizeof(a->resp->hdr));
	wire_answer_free(a);
	ck_assert_uint_eq(seen, 0xffff);
	for (key = 0; key < 16; key++)
		check_ok(DELETE(MAP_HASH, &key, 4));
	key = 3;
	check_status(DELETE(MAP_HASH, &key, 4), NOT_FOUND);
	check_status(LOOKUP(MAP_HASH, &key, 4, NULL), NOT_FOUND);
	check_status(wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_NEXT_KEY, CTX, MAP_HASH, NULL, 0, NULL, 0, 0,
				 NULL),
		     END);
}
END_TEST

START_TEST(array_and_percpu)
{
	uint64_t value = 99, values[2] = { 7, 8 };
	struct wire_answer *a;
	uint32_t key;

	for (key = 0; key < 4; key++)
		check_ok(UPDATE(MAP_ARRAY, &key, 4, &value, 8, BPF_ANY));
	check_status(UPDATE(MAP_ARRAY, &key, 4, &value, 8, BPF_ANY), LIMIT);
	check_status(LOOKUP(MAP_ARRAY, &key, 4, NULL), NOT_FOUND);
	key = UINT32_MAX;
	check_status(UPDATE(MAP_ARRAY, &key, 4, &value, 8, BPF_ANY), LIMIT);
	key = 2;
	check_status(DELETE(MAP_ARRAY, &key, 4), INVALID);
	/* A value per CPU, each padded to 8. */
	check_status(UPDATE(MAP_PERCPU, &key, 4, &value, 8, BPF_ANY), INVALID);
	check_ok(UPDATE(MAP_PERCPU, &key, 4, values, 16, BPF_ANY));
	check_ok(LOOKUP(MAP_PERCPU, &key, 4, &a));
	ck_assert_uint_eq(a->resp->map_op.size, 16);
	ck_assert_mem_eq(&a->resp->map_op + 1, values, 16);
	wire_answer_free(a);
}
END_TEST

/* The largest global data is filled and read in one piece; what could not be filled is not made. */
START_TEST(largest_globals)
{
	enum { LARGEST = (1 << 20) - 56 };
	struct {
		struct virtio_gpgpu_req_map_op op;
		uint64_t key;
	} r = { .op = { .id = 500, .key_size = 4 } };
	static uint8_t value[LARGEST];
	struct wire_answer *a;
	uint32_t key = 0;

	check_status(wire_map(client, CTX, 500, VIRTIO_GPGPU_MAP_ARRAY, 4, LARGEST + 1, 1, 0), INVALID);
	check_status(wire_map(client, CTX, 500, VIRTIO_GPGPU_MAP_ARRAY, 4, LARGEST, 2, 0), INVALID);
	check_ok(wire_map(client, CTX, 500, VIRTIO_GPGPU_MAP_ARRAY, 4, LARGEST, 1, 0));
	for (uint32_t i = 0; i < LARGEST; i++)
		value[i] = (uint8_t)(i * 3 + i / 1000);
	check_ok(
		wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_UPDATE, CTX, 500, &key, 4, value, LARGEST, 0, NULL));
	wire_hdr(&r, VIRTIO_GPGPU_CMD_MAP_LOOKUP, CTX, sizeof(r));
	a = wire_call(client, GPGPU_QUEUE_CONTROL, &r, sizeof(r), 1 << 20);
	check_ok(a->status);
	ck_assert_uint_eq(a->resp->map_op.size, LARGEST);
	ck_assert_mem_eq(&a->resp->map_op + 1, value, LARGEST);
	wire_answer_free(a);
}
END_TEST

START_TEST(longest_prefix)
{
	static const struct {
		uint32_t bits;
		uint8_t addr[4];
		uint64_t value;
	} routes[] = { { 0, { 0 }, 1 }, { 8, { 10 }, 2 }, { 24, { 10, 1, 2 }, 3 } };
	static const struct {
		uint8_t addr[4];
		uint64_t value;
	} wanted[] = {
		{ { 1, 2, 3, 4 }, 1 }, { { 10, 9, 9, 9 }, 2 }, { { 10, 1, 2, 3 }, 3 }, { { 10, 1, 3, 3 }, 2 }
	};
	uint8_t key[8];

	for (size_t i = 0; i < 3; i++) {
		memcpy(key, &routes[i].bits, 4);
		memcpy(key + 4, routes[i].addr, 4);
		check_ok(UPDATE(MAP_LPM, key, 8, &routes[i].value, 8, BPF_ANY));
	}
	for (size_t i = 0; i < 4; i++) {
		uint32_t bits = 32;
		struct wire_answer *a;

		memcpy(key, &bits, 4);
		memcpy(key + 4, wanted[i].addr, 4);
		check_ok(LOOKUP(MAP_LPM, key, 8, &a));
		ck_assert_mem_eq(&a->resp->map_op + 1, &wanted[i].value, 8);
		wire_answer_free(a);
	}
}
END_TEST

START_TEST(frozen_map)
{
	uint64_t value = 1;
	uint32_t key = 1;

	check_ok(UPDATE(MAP_HASH, &key, 4, &value, 8, BPF_ANY));
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_MAP_FREEZE, CTX, MAP_HASH, NULL));
	check_status(UPDATE(MAP_HASH, &key, 4, &value, 8, BPF_ANY), PERMISSION);
	check_status(DELETE(MAP_HASH, &key, 4), PERMISSION);
	check_ok(LOOKUP(MAP_HASH, &key, 4, NULL));
	check_status(wire_id(client, VIRTIO_GPGPU_CMD_MAP_FREEZE, CTX, MAP_HASH, NULL), BUSY);
}
END_TEST

/* The map's values do not fit into the room for the answer. */
START_TEST(small_room)
{
	struct {
		struct virtio_gpgpu_req_map_op op;
		uint8_t key[8];
	} r = { .op = { .id = MAP_PERCPU, .key_size = 4 } };
	struct wire_answer *a;

	wire_hdr(&r, VIRTIO_GPGPU_CMD_MAP_LOOKUP, CTX, sizeof(r));
	for (size_t capacity = 32; capacity < 56; capacity++) {
		a = wire_call(client, GPGPU_QUEUE_CONTROL, &r, sizeof(r), capacity);
		check_status(a->status, INVALID);
		ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_RESPONSE_SPACE);
		ck_assert_uint_eq(a->length, 32);
		wire_answer_free(a);
	}
	a = wire_call(client, GPGPU_QUEUE_CONTROL, &r, sizeof(r), 56);
	check_ok(a->status);
	wire_answer_free(a);
}
END_TEST

/* ---- programs ---- */

static void check_refused(const struct bpf_insn *insns, uint32_t count, uint32_t reason, uint32_t insn)
{
	uint64_t before = memory();

	/* Twice: the second time it is remembered. */
	for (int i = 0; i < 2; i++) {
		struct wire_answer *a;

		check_status(load_prog(client, 100, VIRTIO_GPGPU_PROG_XDP, insns, count, NULL, 0, &a),
			     REJECTED);
		ck_assert_uint_eq(a->reason, reason);
		ck_assert_uint_eq(a->detail, insn);
		ck_assert_uint_eq(a->length, sizeof(a->resp->prog));
		ck_assert_uint_gt(strnlen((char *)a->resp->prog.message, VIRTIO_GPGPU_MESSAGE), 0);
		ck_assert_uint_lt(strnlen((char *)a->resp->prog.message, VIRTIO_GPGPU_MESSAGE),
				  VIRTIO_GPGPU_MESSAGE);
		wire_answer_free(a);
		check_status(wire_id(client, VIRTIO_GPGPU_CMD_PROG_INFO, CTX, 100, NULL), NOT_FOUND);
	}
	ck_assert_uint_eq(memory(), before);
}

START_TEST(refused_programs)
{
	const struct bpf_insn opcode[] = { MOV(0, 2), INSN(0xff, 0, 0, 0, 0), EXIT() };
	const struct bpf_insn reads[] = { MOVR(0, 3), EXIT() };
	const struct bpf_insn falls[] = { MOV(0, 2), MOV(1, 2) };
	const struct bpf_insn no_map[] = { LD_MAP(1, 4711), MOV(0, 2), EXIT() };
	const struct bpf_insn not_mine[] = { MOV(0, 2), LD_MAP(1, MAP_OTHER), EXIT() };
	const struct bpf_insn cut[] = { MOV(0, 2),
					INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, MAP_HASH) };
	struct wire_answer *a;

	check_refused(opcode, 3, VIRTIO_GPGPU_R_OPCODE, 1);
	check_refused(reads, 2, VIRTIO_GPGPU_R_UNINITIALISED, 0);
	check_refused(no_map, 4, VIRTIO_GPGPU_R_MAP_REF, 0);
	check_refused(not_mine, 4, VIRTIO_GPGPU_R_MAP_REF, 1);
	check_status(load_prog(client, 100, VIRTIO_GPGPU_PROG_XDP, falls, 2, NULL, 0, &a), REJECTED);
	wire_answer_free(a);
	check_status(load_prog(client, 100, VIRTIO_GPGPU_PROG_XDP, cut, 2, NULL, 0, &a), REJECTED);
	wire_answer_free(a);
}
END_TEST

START_TEST(too_many_maps)
{
	struct bpf_insn insns[65 * 2 + 2];
	struct wire_answer *a;
	uint32_t n = 0;

	for (uint32_t i = 0; i < 65; i++)
		check_ok(wire_map(client, CTX, 1000 + i, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 1, 0));
	for (int i = 0; i < 65; i++) {
		const struct bpf_insn ld[] = { LD_MAP(1, 1000 + i) };

		insns[n++] = ld[0];
		insns[n++] = ld[1];
	}
	insns[n++] = MOV(0, 2);
	insns[n++] = EXIT();
	check_status(load_prog(client, 100, VIRTIO_GPGPU_PROG_XDP, insns, n, NULL, 0, &a), REJECTED);
	ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_MAP_REF);
	ck_assert_uint_eq(a->detail, 128);
	wire_answer_free(a);
	check_ok(load_prog(client, 100, VIRTIO_GPGPU_PROG_XDP, insns + 2, n - 2, NULL, 0, NULL));
}
END_TEST

/* A program keeps its maps; another map may have the id meanwhile. */
START_TEST(program_keeps_maps)
{
	struct virtio_gpgpu_packet_desc desc;
	struct wire_answer *a;
	uint64_t before;

	make_programs(client);
	before = memory();
	packet_slots(client, &desc, 1);
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_MAP_DESTROY, CTX, MAP_ARRAY, NULL));
	ck_assert_uint_eq(memory(), before);
	check_ok(wire_map(client, CTX, MAP_ARRAY, VIRTIO_GPGPU_MAP_HASH, 4, 8, 4, 0));
	for (int i = 0; i < 3; i++) {
		uint64_t n;

		a = wire_wait(client, wire_packets(client, CTX, next_point_on(1), 0, PROG_COUNT, BUF_SHM, 0,
						   SLOT, &desc, 1));
		check_ok(a->status);
		memcpy(&n, wire_shm(client) + HEADROOM + 20, 8);
		ck_assert_uint_eq(n, (uint64_t)i);
		wire_answer_free(a);
	}
	before = memory();
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_PROG_DESTROY, CTX, PROG_COUNT, NULL));
	ck_assert_uint_lt(memory(), before);
}
END_TEST

START_TEST(program_info)
{
	struct gpgpu_stats stats;
	struct wire_answer *a;
	uint64_t compiles;

	make_programs(client);
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_PROG_INFO, CTX, PROG_ADD, &a));
	ck_assert_uint_eq(a->resp->prog.num_insns, 12);
	ck_assert_uint_gt(a->resp->prog.code_bytes, 0);
	ck_assert_uint_gt(a->resp->prog.compile_ns, 0);
	wire_answer_free(a);
	gpgpu_session_stats(wire_session(client), &stats);
	compiles = stats.compiles;
	ck_assert_uint_gt(compiles, 0);
	ck_assert_uint_gt(stats.compile_ns, 0);
	/* The same again is not compiled again, but for another session it is. */
	for (uint32_t id = PROG_ADD; id <= PROG_XDP_SPIN; id++)
		check_ok(wire_id(client, VIRTIO_GPGPU_CMD_PROG_DESTROY, CTX, id, NULL));
	make_programs(client);
	gpgpu_session_stats(wire_session(client), &stats);
	ck_assert_uint_eq(stats.compiles, compiles);
}
END_TEST

/* Many at once, of several sessions, one of which goes away meanwhile. */
START_TEST(compile_flood)
{
	struct wire_client *clients[3];
	uint64_t tickets[3][8];

	for (int k = 0; k < 3; k++) {
		clients[k] = new_client(0, 0);
		check_ok(wire_buffer(clients[k], 0, 1, VIRTIO_GPGPU_MEM_SHM, 0, SHM_SIZE));
		for (int i = 0; i < 8; i++) {
			const struct bpf_insn prog[] = { MOV(0, i), ALU(BPF_ADD, 0, 7), EXIT() };
			struct virtio_gpgpu_req_prog_create r = {
				.id = (uint32_t)i + 1,
				.kind = VIRTIO_GPGPU_PROG_XDP,
				.num_insns = 3,
				.insns_buffer = 1,
				.insns_offset = (uint64_t)i * 64,
			};

			memcpy(wire_shm(clients[k]) + i * 64, prog, sizeof(prog));
			wire_hdr(&r, VIRTIO_GPGPU_CMD_PROG_CREATE, 0, sizeof(r));
			tickets[k][i] = wire_submit(clients[k], GPGPU_QUEUE_CONTROL, &r, sizeof(r), 4096);
		}
	}
	/* Its program is in the making. */
	check_status(wire_id(clients[2], VIRTIO_GPGPU_CMD_PROG_DESTROY, 0, 8, NULL), BUSY);
	gpgpu_session_reset(wire_session(clients[1]), 3, 2);
	for (int i = 0; i < 8; i++) {
		uint32_t status = wire_status(clients[1], tickets[1][i]);

		ck_assert(status == VIRTIO_GPGPU_S_OK || status == VIRTIO_GPGPU_S_CANCELLED);
		check_ok(wire_status(clients[0], tickets[0][i]));
		check_ok(wire_status(clients[2], tickets[2][i]));
	}
	for (int k = 0; k < 3; k++)
		wire_client_free(clients[k]);
}
END_TEST

/* A program whose last context goes while it is being compiled. */
START_TEST(program_loses_its_contexts)
{
	for (uint32_t round = 0; round < 20; round++) {
		const struct bpf_insn prog[] = { MOV(0, (int32_t)round), ALU(BPF_ADD, 0, 11), EXIT() };
		struct virtio_gpgpu_req_prog_create r = {
			.id = 100,
			.kind = VIRTIO_GPGPU_PROG_XDP,
			.num_insns = 3,
			.insns_buffer = BUF_SHM,
		};
		uint64_t ticket;
		uint32_t status;

		check_ok(wire_simple(client, VIRTIO_GPGPU_CMD_CTX_CREATE, 200, NULL));
		memcpy(wire_shm(client), prog, sizeof(prog));
		wire_hdr(&r, VIRTIO_GPGPU_CMD_PROG_CREATE, CTX, sizeof(r));
		ticket = wire_submit(client, GPGPU_QUEUE_CONTROL, &r, sizeof(r), 4096);
		check_ok(wire_attach(client, true, 200, VIRTIO_GPGPU_OBJ_PROG, 100));
		check_ok(wire_attach(client, false, CTX, VIRTIO_GPGPU_OBJ_PROG, 100));
		check_ok(wire_simple(client, VIRTIO_GPGPU_CMD_CTX_DESTROY, 200, NULL));
		status = wire_status(client, ticket);
		ck_assert(status == VIRTIO_GPGPU_S_CANCELLED || status == VIRTIO_GPGPU_S_OK);
		check_status(wire_id(client, VIRTIO_GPGPU_CMD_PROG_INFO, 0, 100, NULL), NOT_FOUND);
	}
}
END_TEST

/* Memory of this process, without what is shared with clients. */
static uint64_t resident(void)
{
	unsigned long pages = 0, shared = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%*u %lu %lu", &pages, &shared), 2);
	fclose(f);
	return (uint64_t)(pages - shared) * 4096;
}

/*
 * Programs that are cancelled before it is their turn leave nothing behind, whether their context goes or the
 * device is reset. The compiler here never answers. A sanitizer keeps freed memory for a while, so there
 * the memory says nothing.
 */
START_TEST(cancelled_programs)
{
	enum { INSNS = 16384, PROGRAMS = 60, ROUNDS = 30 };
	static struct bpf_insn insns[INSNS];
	struct gpgpu_session_options session = { .name = "cancels", .features = 3 };
	struct gpgpu_engine_options options = { .device = "cpu", .threads = 1 };
	struct gpgpu_engine *slow;
	struct wire_client *c;
	uint64_t tickets[PROGRAMS], start;
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	options.jit_fd = pair[0];
	slow = gpgpu_engine_new(&options, NULL);
	ck_assert_ptr_nonnull(slow);
	c = wire_client_engine(slow, SHM_SIZE, &session);
	for (uint32_t i = 0; i < INSNS - 1; i++)
		insns[i] = MOV(0, XDP_PASS);
	insns[INSNS - 1] = EXIT();
	start = resident();
	for (uint32_t round = 0; round < ROUNDS; round++) {
		check_ok(wire_simple(c, VIRTIO_GPGPU_CMD_CTX_CREATE, 500, NULL));
		check_ok(wire_buffer(c, 500, 500, VIRTIO_GPGPU_MEM_SHM, CODE_OFFSET, sizeof(insns)));
		memcpy(wire_shm(c) + CODE_OFFSET, insns, sizeof(insns));
		for (uint32_t i = 0; i < PROGRAMS; i++) {
			struct virtio_gpgpu_req_prog_create r = {
				.id = 500 + i,
				.kind = VIRTIO_GPGPU_PROG_XDP,
				.num_insns = INSNS,
				.insns_buffer = 500,
			};

			wire_hdr(&r, VIRTIO_GPGPU_CMD_PROG_CREATE, 500, sizeof(r));
			tickets[i] = wire_submit(c, GPGPU_QUEUE_CONTROL, &r, sizeof(r), 4096);
		}
		if (round % 2)
			gpgpu_session_reset(wire_session(c), 3, 1);
		else
			check_ok(wire_simple(c, VIRTIO_GPGPU_CMD_CTX_DESTROY, 500, NULL));
		for (uint32_t i = 0; i < PROGRAMS; i++)
			check_status(wire_status(c, tickets[i]), CANCELLED);
	}
	if (!SANITIZED)
		ck_assert_uint_lt(resident(), start + (64 << 20));
	wire_client_free(c);
	close(pair[1]);
	gpgpu_engine_free(slow);
}
END_TEST

static int connect_once(void *opaque, const char *target)
{
	int *fd = opaque, connected = *fd;

	*fd = -1;
	return connected;
}

/* Programs of two devices are in the compiler at the same time. The one here takes both, and dies. */
START_TEST(compiles_overlap)
{
	const struct bpf_insn pass[] = { MOV(0, XDP_PASS), EXIT() };
	struct gpgpu_session_options session = { .name = "overlap", .features = 3 };
	struct virtio_gpgpu_req_prog_create r = {
		.id = 1, .kind = VIRTIO_GPGPU_PROG_XDP, .num_insns = 2, .insns_buffer = 1
	};
	struct gpgpu_engine_options options = { .device = "cpu", .threads = 1, .jit_fd = -1 };
	struct gpgpu_engine *two;
	struct wire_client *c[2];
	uint64_t tickets[2];
	int pair[2], held[16], num_held = 0;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	options.jit_connect = connect_once;
	options.jit_opaque = &pair[0];
	two = gpgpu_engine_new(&options, NULL);
	ck_assert_ptr_nonnull(two);
	wire_hdr(&r, VIRTIO_GPGPU_CMD_PROG_CREATE, 0, sizeof(r));
	for (int i = 0; i < 2; i++) {
		c[i] = wire_client_engine(two, SHM_SIZE, &session);
		check_ok(wire_buffer(c[i], 0, 1, VIRTIO_GPGPU_MEM_SHM, 0, SHM_SIZE));
		memcpy(wire_shm(c[i]), pass, sizeof(pass));
		tickets[i] = wire_submit(c[i], GPGPU_QUEUE_CONTROL, &r, sizeof(r), 4096);
	}
	for (int i = 0; i < 2; i++) {
		/* What is passed with it stays open, as in a compiler that is at work. */
		union {
			struct cmsghdr align;
			char bytes[256];
		} control;
		char bytes[4096];
		struct iovec iov = { bytes, sizeof(bytes) };
		struct msghdr msg = { .msg_iov = &iov,
				      .msg_iovlen = 1,
				      .msg_control = &control,
				      .msg_controllen = sizeof(control) };
		struct pollfd pfd = { .fd = pair[1], .events = POLLIN };

		ck_assert_int_eq(poll(&pfd, 1, 10000), 1);
		ck_assert_int_gt(recvmsg(pair[1], &msg, 0), 0);
		for (struct cmsghdr *at = CMSG_FIRSTHDR(&msg); at; at = CMSG_NXTHDR(&msg, at))
			for (size_t n = 0; CMSG_LEN((n + 1) * sizeof(int)) <= at->cmsg_len && num_held < 16;
			     n++)
				memcpy(&held[num_held++], CMSG_DATA(at) + n * sizeof(int), sizeof(int));
	}
	close(pair[1]);
	while (num_held)
		close(held[--num_held]);
	for (int i = 0; i < 2; i++) {
		check_status(wire_status(c[i], tickets[i]), REJECTED);
		wire_client_free(c[i]);
	}
	gpgpu_engine_free(two);
}
END_TEST

/* An engine for fuzzers and tests: programs are judged, and then refused. */
START_TEST(no_compiler)
{
	struct gpgpu_engine_options options = { .device = "cpu", .threads = 1, .jit_fd = -1 };
	const struct bpf_insn pass[] = { MOV(0, XDP_PASS), EXIT() };
	struct gpgpu_engine *bare = gpgpu_engine_new(&options, NULL);
	struct gpgpu_session_options session = { .name = "bare", .features = 3 };
	struct wire_client *c = wire_client_engine(bare, SHM_SIZE, &session);
	struct wire_answer *a;

	check_ok(wire_buffer(c, 0, 1, VIRTIO_GPGPU_MEM_SHM, 0, SHM_SIZE));
	check_status(wire_prog(c, 0, 1, VIRTIO_GPGPU_PROG_XDP, pass, 2, 1, 0, 0, NULL, 0, &a), REJECTED);
	ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_COMPILER);
	wire_answer_free(a);
	wire_client_free(c);
	gpgpu_engine_free(bare);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("objects");
	TCase *tc = tcase_create("objects");

	tcase_add_checked_fixture(tc, setup_objects, teardown);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, caps_say_it_all);
	tcase_add_test(tc, sharing);
	tcase_add_test(tc, attach_again_and_again);
	tcase_add_test(tc, make_and_destroy);
	tcase_add_test(tc, device_memory_is_zero);
	tcase_add_test(tc, memory_limit);
	tcase_add_test(tc, many_small_buffers);
	tcase_add_test(tc, object_limits);
	tcase_add_test(tc, hash_map);
	tcase_add_test(tc, array_and_percpu);
	tcase_add_test(tc, largest_globals);
	tcase_add_test(tc, longest_prefix);
	tcase_add_test(tc, frozen_map);
	tcase_add_test(tc, small_room);
	tcase_add_test(tc, refused_programs);
	tcase_add_test(tc, too_many_maps);
	tcase_add_test(tc, program_keeps_maps);
	tcase_add_test(tc, program_info);
	tcase_add_test(tc, compile_flood);
	tcase_add_test(tc, program_loses_its_contexts);
	tcase_add_test(tc, cancelled_programs);
	tcase_add_test(tc, compiles_overlap);
	tcase_add_test(tc, no_compiler);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
