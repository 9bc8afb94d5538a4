/* SPDX-License-Identifier: BSD-3-Clause */
/* fixture.c - see fixture.h. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "fixture.h"
#include "mock.h"
#include "use.h"

struct gpgpu_engine *engine;
struct wire_client *client;
gpgpu_lost_fn *engine_lost;

/* One compiler for all tests of a suite: it takes its time to start. */
static int jit_socket = -1;
static uint64_t next_seq[VIRTIO_GPGPU_MAX_TIMELINES];

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, (long)(ms % 1000) * 1000000 };

	nanosleep(&ts, NULL);
}

struct wire_point next_point_on(uint32_t timeline)
{
	return (struct wire_point){ .timeline = timeline, .seq = ++next_seq[timeline] };
}

struct wire_point next_point(void)
{
	static uint32_t turn;

	return next_point_on(turn++ % 32);
}

void setup_engine(uint32_t threads)
{
	struct gpgpu_engine_options options = {
		.device = gp_mock_use(),
		.threads = threads,
		.lost = engine_lost,
		.jit_program = getenv("GPGPU_JIT"),
		.jit_fd = jit_socket >= 0 ? fcntl(jit_socket, F_DUPFD_CLOEXEC, 0) : -1,
	};
	GError *error = NULL;

	gp_gpu_register(cuda_fake_ops());
	engine = gpgpu_engine_new(&options, &error);
	ck_assert_msg(engine != NULL, "%s", error ? error->message : "");
}

struct wire_client *new_client(uint32_t cap, uint32_t weight)
{
	struct gpgpu_session_options options = {
		.name = "test",
		.features = 1 << VIRTIO_GPGPU_F_PACKET | 1 << VIRTIO_GPGPU_F_DEVICE_MEM,
		.generation = 1,
		.quota = { .weight = weight, .cap = cap, .memory_limit = 64 << 20 },
	};

	return wire_client_engine(engine, SHM_SIZE, &options);
}

void setup(void)
{
	setup_engine(2);
	client = new_client(0, 0);
}

void teardown(void)
{
	wire_client_free(client);
	gpgpu_engine_free(engine);
}

void make_objects(struct wire_client *c)
{
	check_ok(wire_simple(c, VIRTIO_GPGPU_CMD_CTX_CREATE, CTX, NULL));
	check_ok(wire_simple(c, VIRTIO_GPGPU_CMD_CTX_CREATE, OTHER_CTX, NULL));
	check_ok(wire_buffer(c, CTX, BUF_SHM, VIRTIO_GPGPU_MEM_SHM, 0, SHM_SIZE));
	check_ok(wire_attach(c, true, OTHER_CTX, VIRTIO_GPGPU_OBJ_BUFFER, BUF_SHM));
	check_ok(wire_attach(c, true, 0, VIRTIO_GPGPU_OBJ_BUFFER, BUF_SHM));
	check_ok(wire_buffer(c, CTX, BUF_DEV, VIRTIO_GPGPU_MEM_DEVICE, 0, 1 << 20));
	check_ok(wire_buffer(c, OTHER_CTX, BUF_OTHER, VIRTIO_GPGPU_MEM_SHM, 4 << 20, 4096));
	check_ok(wire_map(c, CTX, MAP_HASH, VIRTIO_GPGPU_MAP_HASH, 4, 8, 16, 0));
	check_ok(wire_map(c, CTX, MAP_ARRAY, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, 0));
	check_ok(wire_map(c, OTHER_CTX, MAP_OTHER, VIRTIO_GPGPU_MAP_HASH, 4, 8, 16, 0));
	check_ok(wire_map(c, CTX, MAP_PERCPU, VIRTIO_GPGPU_MAP_PERCPU_ARRAY, 4, 8, 4, 0));
	check_ok(wire_map(c, CTX, MAP_LPM, VIRTIO_GPGPU_MAP_LPM_TRIE, 8, 8, 16, 0));
	check_ok(wire_map(c, CTX, MAP_RING, VIRTIO_GPGPU_MAP_RINGBUF, 0, 0, 4096, 0));
	check_ok(wire_map_of(c, CTX, MAP_OUTER, VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS, 4, 4, MAP_ARRAY));
	check_ok(wire_map(c, CTX, MAP_PROGS, VIRTIO_GPGPU_MAP_PROG_ARRAY, 4, 4, 4, 0));
}

void setup_objects(void)
{
	setup();
	make_objects(client);
}

uint32_t load_prog(struct wire_client *c, uint32_t id, uint32_t kind, const struct bpf_insn *insns,
		   uint32_t count, const uint8_t *arg_kind, uint32_t num_args, struct wire_answer **a)
{
	return wire_prog(c, CTX, id, kind, insns, count, BUF_SHM, CODE_OFFSET, CODE_OFFSET, arg_kind,
			 num_args, a);
}

static void load(struct wire_client *c, uint32_t id, uint32_t kind, const struct bpf_insn *insns,
		 uint32_t count, const uint8_t *arg_kind, uint32_t num_args)
{
	struct wire_answer *a;
	uint32_t status = load_prog(c, id, kind, insns, count, arg_kind, num_args, &a);

	ck_assert_msg(!status, "program %u: status %u, reason %u: %s", id, status, a->reason,
		      (char *)a->resp->prog.message);
	ck_assert_uint_eq(a->length, sizeof(struct virtio_gpgpu_resp_prog));
	ck_assert_uint_eq(a->resp->prog.num_insns, count);
	ck_assert_uint_gt(a->resp->prog.code_bytes, 0);
	wire_answer_free(a);
}

#define LOAD(c, id, kind, insns, args, n) \
	load(c, id, VIRTIO_GPGPU_PROG_##kind, insns, sizeof(insns) / sizeof(insns[0]), args, n)

void make_programs(struct wire_client *c)
{
	static const uint8_t buffer_value[] = { VIRTIO_GPGPU_ARG_BUFFER, VIRTIO_GPGPU_ARG_VALUE };
	const struct bpf_insn add[] = {
		MOVR(6, 1),
		MOV(1, 0),
		CALL(0x7001),
		LDX(BPF_DW, 7, 6, 0),
		LDX(BPF_DW, 2, 6, 8),
		MOVR(1, 0),
		ALU(BPF_LSH, 1, 3),
		ALUR(BPF_ADD, 7, 1),
		ALUR(BPF_ADD, 0, 2),
		STX(BPF_DW, 7, 0, 0),
		MOV(0, 0),
		EXIT(),
	};
	const struct bpf_insn pass[] = { MOV(0, XDP_PASS), EXIT() };
	const struct bpf_insn count[] = {
		LDX(BPF_W, 6, 1, 0),
		LDX(BPF_W, 7, 1, 4), /* data, data_end */
		MOV(0, XDP_ABORTED),
		MOVR(2, 6),
		ALU(BPF_ADD, 2, 28),
		JMPR(BPF_JGT, 2, 7, 13),
		LDX(BPF_B, 2, 6, 14),
		STX(BPF_W, 10, 2, -4),
		MOVR(2, 10),
		ALU(BPF_ADD, 2, -4),
		LD_MAP(1, MAP_ARRAY),
		CALL(1),
		JMP(BPF_JEQ, 0, 0, 4),
		LDX(BPF_DW, 3, 0, 0),
		STX(BPF_DW, 6, 3, 20),
		ALU(BPF_ADD, 3, 1),
		STX(BPF_DW, 0, 3, 0),
		MOV(0, XDP_DROP),
		EXIT(),
	};
	const struct bpf_insn spin[] = { MOV(1, 0), ALU(BPF_ADD, 1, 1), JMP(BPF_JNE, 1, -1, -2), MOV(0, 0),
					 EXIT() };
	const struct bpf_insn work[] = {
		LDX(BPF_DW, 3, 1, 0),	LDX(BPF_DW, 2, 1, 8), MOV(0, 1),
		ALU(BPF_MUL, 0, 5),	ALU(BPF_ADD, 0, 7),   ALU(BPF_SUB, 2, 1),
		JMP(BPF_JNE, 2, 0, -4), STX(BPF_DW, 3, 0, 0), EXIT(),
	};

	LOAD(c, PROG_ADD, GPGPU, add, buffer_value, 2);
	LOAD(c, PROG_PASS, XDP, pass, NULL, 0);
	LOAD(c, PROG_COUNT, XDP, count, NULL, 0);
	LOAD(c, PROG_SPIN, GPGPU, spin, NULL, 0);
	LOAD(c, PROG_WORK, GPGPU, work, buffer_value, 2);
	LOAD(c, PROG_XDP_SPIN, XDP, spin, NULL, 0);
}

void setup_programs(void)
{
	setup_objects();
	make_programs(client);
}

void packet_slots(struct wire_client *c, struct virtio_gpgpu_packet_desc *descs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint8_t *packet = wire_shm(c) + (uint64_t)i * SLOT + HEADROOM;

		descs[i] = (struct virtio_gpgpu_packet_desc){
			.data_off = HEADROOM,
			.data_len = PACKET_LEN,
			.ingress_port = 1,
		};
		memset(packet, 0, PACKET_LEN);
		packet[12] = 0x88; /* a type for experiments: the flow is the Ethernet header's */
		packet[13] = 0xb5;
	}
}

uint64_t dispatch_add(uint32_t ctx, struct wire_point at, uint32_t items, uint64_t offset, uint64_t value)
{
	struct virtio_gpgpu_arg args[] = {
		{ VIRTIO_GPGPU_ARG_BUFFER, BUF_SHM, offset, items * 8ull },
		{ VIRTIO_GPGPU_ARG_VALUE, 0, value, 0 },
	};

	return wire_dispatch(client, ctx, at, PROG_ADD, (uint32_t[]){ items, 1, 1 }, (uint32_t[]){ 64, 1, 1 },
			     args, 2);
}

uint64_t spin(struct wire_client *c, struct wire_point at, uint32_t items)
{
	return wire_dispatch(c, CTX, at, PROG_SPIN, (uint32_t[]){ items, 1, 1 }, (uint32_t[]){ 1, 1, 1 },
			     NULL, 0);
}

bool still_waits(uint64_t ticket)
{
	struct wire_answer *a = wire_poll(client, ticket);

	wire_answer_free(a);
	return !a;
}

uint32_t first_wrong(const uint64_t *out, uint32_t count, uint64_t value)
{
	uint32_t i = 0;

	while (i < count && out[i] == i + value)
		i++;
	return i;
}

static void start_jit(void)
{
	const char *program = getenv("GPGPU_JIT");
	pid_t pid;

	if (program)
		jit_socket = wire_spawn(program, &pid, NULL);
}

bool on_a_card(void)
{
	const char *device = gp_mock_use();

	return !strncmp(device, "amdgpu", 6) || !strcmp(device, "cuda") || !strncmp(device, "cuda:", 5);
}

int run_suite(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	/* For a card the engine starts it, since it knows what for. */
	if (!on_a_card())
		start_jit();
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
