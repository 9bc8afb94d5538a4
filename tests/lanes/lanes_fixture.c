/* SPDX-License-Identifier: BSD-3-Clause */
/* lanes_fixture.c - see lanes_fixture.h. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lanes_fixture.h"
#include "races_insns.h"

#define SHM_SIZE    (8ull << 20)
#define CODE_OFFSET (7ull << 20)

/* One compiler for all tests: it takes its time to start. */
static int jit_socket = -1;

/* One engine for all tests of a process on $GPGPU_TEST_DEVICE, since a card's has to compile parts of its own first. */
static struct gpgpu_engine *card;

static void check_ok(uint32_t status)
{
	ck_assert_uint_eq(status, VIRTIO_GPGPU_S_OK);
}

static void make_objects(struct lanes *l)
{
	check_ok(wire_simple(l->client, VIRTIO_GPGPU_CMD_CTX_CREATE, CTX, NULL));
	check_ok(wire_buffer(l->client, CTX, BUF, VIRTIO_GPGPU_MEM_SHM, 0, SHM_SIZE));
	check_ok(wire_map(l->client, CTX, MAP_counters, VIRTIO_GPGPU_MAP_ARRAY, 4, sizeof(struct counters), 4,
			  0));
	check_ok(wire_map(l->client, CTX, MAP_percpu, VIRTIO_GPGPU_MAP_PERCPU_ARRAY, 4,
			  sizeof(struct counters), 4, 0));
	check_ok(wire_map(l->client, CTX, MAP_flows, VIRTIO_GPGPU_MAP_HASH, 4, sizeof(struct flow),
			  RACES_FLOWS, 0));
	check_ok(wire_map(l->client, CTX, MAP_wide, VIRTIO_GPGPU_MAP_ARRAY, 4, sizeof(struct wide), 1, 0));
	check_ok(wire_map(l->client, CTX, MAP_recent, VIRTIO_GPGPU_MAP_LRU_HASH, 4, 8, RACES_RECENT, 0));
	for (uint32_t i = 0; i < MAX_BATCH; i++) {
		struct packet *p = lanes_packet(l, i);

		l->descs[i] = (struct virtio_gpgpu_packet_desc){
			.data_off = HEADROOM,
			.data_len = PACKET_LEN,
			.ingress_port = 1,
		};
		p->proto = 0xb588; /* a type for experiments: the flow is the Ethernet header */
	}
}

void lanes_start(struct lanes *l, uint32_t threads, int64_t seed, bool plain_sums, uint64_t fuel)
{
	const char *device = getenv("GPGPU_TEST_DEVICE");
	struct gpgpu_engine_options options = {
		.device = device ? device : "cpu",
		.threads = threads,
		.jit_program = getenv("GPGPU_JIT"),
		.jit_fd = jit_socket >= 0 ? fcntl(jit_socket, F_DUPFD_CLOEXEC, 0) : -1,
		.interleave = seed >= 0,
		.interleave_seed = (uint64_t)seed,
		.plain_sums = plain_sums,
	};
	struct gpgpu_session_options session = {
		.name = "test",
		.features = 1 << VIRTIO_GPGPU_F_PACKET | 1 << VIRTIO_GPGPU_F_DEVICE_MEM,
		.generation = 1,
		.quota = { .memory_limit = 64 << 20 },
		.limits = { .fuel = fuel },
	};
	GError *error = NULL;

	memset(l, 0, sizeof(*l));
	l->worker_socket = -1;
	if (!device || !card)
		card = gpgpu_engine_new(&options, &error);
	l->engine = card;
	ck_assert_msg(l->engine != NULL, "%s", error ? error->message : "");
	l->client = wire_client_engine(l->engine, SHM_SIZE, &session);
	make_objects(l);
}

void lanes_start_worker(struct lanes *l, const char *seed)
{
	const char *args[] = {
		"--jit", getenv("GPGPU_JIT"), "--interleave", seed, "--log", "/dev/null", NULL
	};
	struct gpgpu_msg_welcome welcome;

	memset(l, 0, sizeof(*l));
	l->worker_socket = wire_spawn(getenv("GPGPU_WORKER"), &l->worker, args);
	ck_assert(wire_hello(l->worker_socket, &welcome));
	l->client = wire_client_worker(l->worker_socket, 1, SHM_SIZE, 1 << 20);
	make_objects(l);
}

void lanes_stop(struct lanes *l)
{
	int status;

	wire_client_free(l->client);
	if (l->engine != card || !getenv("GPGPU_TEST_DEVICE"))
		gpgpu_engine_free(l->engine);
	if (l->worker_socket < 0)
		return;
	close(l->worker_socket);
	ck_assert_int_eq(waitpid(l->worker, &status, 0), l->worker);
	ck_assert(WIFEXITED(status) && !WEXITSTATUS(status)); /* or its sandbox has killed it */
}

uint32_t lanes_load(struct lanes *l, const char *name, uint32_t kind, const struct bpf_insn *insns,
		    uint32_t count, const uint8_t *arg_kind, uint32_t num_args)
{
	struct wire_answer *a;
	uint32_t status = wire_prog(l->client, CTX, ++l->next_prog, kind, insns, count, BUF, CODE_OFFSET,
				    CODE_OFFSET, arg_kind, num_args, &a);

	ck_assert_msg(!status, "%s: status %u, reason %u: %s", name, status, a->reason,
		      (char *)a->resp->prog.message);
	wire_answer_free(a);
	return l->next_prog;
}

uint32_t lanes_prog(struct lanes *l, const char *name)
{
	size_t n = 0;

	while (strcmp(programs[n].name, name))
		ck_assert(++n < sizeof(programs) / sizeof(*programs));
	return lanes_load(l, name, VIRTIO_GPGPU_PROG_XDP, programs[n].insns, programs[n].count, NULL, 0);
}

struct packet *lanes_packet(struct lanes *l, uint32_t i)
{
	return (struct packet *)(wire_shm(l->client) + (uint64_t)i * SLOT + HEADROOM);
}

uint64_t lanes_submit(struct lanes *l, uint32_t prog, uint32_t count, uint32_t order)
{
	struct wire_point at = { .seq = ++l->seq };

	return wire_packets(l->client, CTX, at, order, prog, BUF, 0, SLOT, l->descs, count);
}

uint32_t lanes_wait(struct lanes *l, uint64_t ticket, uint32_t count)
{
	struct wire_answer *a = wire_wait(l->client, ticket);
	const struct virtio_gpgpu_packet_result *results = (const void *)(&a->resp->packets + 1);
	uint32_t status = a->status;

	memset(l->counts, 0, sizeof(l->counts));
	l->fault_count = (uint32_t)a->resp->job.fault_count;
	for (uint32_t i = 0; !status && i < count; i++) {
		l->verdicts[i] = (uint8_t)results[i].verdict;
		l->faults[i] = results[i].fault;
		l->fault_insns[i] = results[i].fault_insn;
		l->counts[l->verdicts[i]]++;
	}
	wire_answer_free(a);
	return status;
}

void lanes_run(struct lanes *l, uint32_t prog, uint32_t count, uint32_t order)
{
	check_ok(lanes_wait(l, lanes_submit(l, prog, count, order), count));
}

bool lanes_get(struct lanes *l, uint32_t map, uint32_t key, void *value, uint32_t size)
{
	struct wire_answer *a;
	uint32_t status =
		wire_map_op(l->client, VIRTIO_GPGPU_CMD_MAP_LOOKUP, CTX, map, &key, 4, NULL, 0, 0, &a);

	if (!status)
		memcpy(value, &a->resp->map_op + 1, size);
	wire_answer_free(a);
	return !status;
}

void lanes_set(struct lanes *l, uint32_t map, uint32_t key, const void *value, uint32_t size)
{
	check_ok(
		wire_map_op(l->client, VIRTIO_GPGPU_CMD_MAP_UPDATE, CTX, map, &key, 4, value, size, 0, NULL));
}

struct counters lanes_counters(struct lanes *l)
{
	struct counters c;

	ck_assert(lanes_get(l, MAP_counters, 0, &c, sizeof(c)));
	return c;
}

uint32_t lanes_num_cpus(struct lanes *l)
{
	struct virtio_gpgpu_caps caps;

	check_ok(wire_caps(l->client, &caps));
	return caps.num_cpus;
}

/* ------------------------------------------------------------- what most tests do */

struct lanes l;

void fill(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct packet *p = lanes_packet(&l, i);

		p->dst[3] = (uint8_t)((i * 2654435761u >> 16) % FLOWS);
		p->body.value = i + 1;
		p->body.out = UINT32_MAX;
		p->body.time = i / 20;
	}
}

static void make_flows(void)
{
	const struct flow flow = { .tokens = RACES_BURST };

	for (uint32_t i = 0; i < FLOWS; i++)
		lanes_set(&l, MAP_flows, i, &flow, sizeof(flow));
}

void start(int64_t seed, uint32_t count)
{
	lanes_start(&l, seed < 0 ? THREADS : 1, seed, false, 0);
	fill(count);
	make_flows();
}

struct counters run_one(int64_t seed, const char *name, uint32_t count, uint32_t order)
{
	struct counters c;

	start(seed, count);
	lanes_run(&l, lanes_prog(&l, name), count, order);
	c = lanes_counters(&l);
	lanes_stop(&l);
	return c;
}

void check_count(const struct counters *c, uint64_t count)
{
	ck_assert_uint_eq(c->packets, count);
	ck_assert_uint_eq(c->bytes, count * PACKET_LEN);
	ck_assert_uint_eq(c->small, count);
}

int lanes_main(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	pid_t pid;
	int failed;

	/* For a card the engine starts it, since it knows what for. */
	if (!getenv("GPGPU_TEST_DEVICE"))
		jit_socket = wire_spawn(getenv("GPGPU_JIT"), &pid, NULL);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
