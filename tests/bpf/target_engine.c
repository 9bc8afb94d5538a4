// SPDX-License-Identifier: BSD-3-Clause
/*
 * target_engine.c - runs on a device of the engine, by requests of the wire protocol.
 *
 * One engine per process with one device thread, so that work items run in order and on CPU 0, and packets in order
 * because that is asked for; the GPU that is none (tests/gpu-mock) is asked for the same. One session
 * per run, which takes everything with it when it ends. The shared memory is one buffer: instructions, packet slots,
 * arguments. A device that the engine has is a line with DEVICE() at the end and a row of targets.c.
 *
 * The environment variable GPGPU_JIT names the compiler process.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "gpgpu-host.h"
#include "mock.h"
#include "target.h"

#define SHM_SIZE  (2u << 20)
#define AT_INSNS  0u
#define AT_SLOTS  (512u << 10)
#define AT_ARGS	  (1u << 20)
#define BUFFER	  1
#define CAPACITY  (128u << 10)
#define MAX_PAIR  (64u << 10)
#define MAX_STEPS 100000 /* of walking through a map, which a broken one might not end */

static uint8_t *shm; /* of the device that runs */
static uint32_t cpus; /* likewise */

/* ------------------------------------------------------------------ requests */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t done;
	bool answered;
	size_t length;
	_Alignas(8) uint8_t bytes[CAPACITY];
} answer = { .lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };

static void complete(void *opaque, const void *response, size_t length, const struct gpgpu_range *ranges,
		     size_t num_ranges)
{
	pthread_mutex_lock(&answer.lock);
	if (length > sizeof(answer.bytes) || answer.answered)
		abort();
	memcpy(answer.bytes, response, length);
	answer.length = length;
	answer.answered = true;
	pthread_cond_signal(&answer.done);
	pthread_mutex_unlock(&answer.lock);
}

/* Hands in a request whose header has no more than zeros, and waits. Return: the response, valid until the next. */
static const void *call(struct gpgpu_session *session, enum gpgpu_queue_kind queue, void *request,
			uint32_t type, size_t length)
{
	struct virtio_gpgpu_req_hdr *hdr = request;

	hdr->type = type;
	hdr->length = (uint32_t)length;
	answer.answered = false;
	gpgpu_session_submit(session, queue, request, length, CAPACITY, complete, NULL);
	pthread_mutex_lock(&answer.lock);
	while (!answer.answered)
		pthread_cond_wait(&answer.done, &answer.lock);
	pthread_mutex_unlock(&answer.lock);
	if (answer.length < sizeof(struct virtio_gpgpu_resp_hdr))
		abort();
	memset(answer.bytes + answer.length, 0,
	       sizeof(answer.bytes) - answer.length < 512 ? sizeof(answer.bytes) - answer.length : 512);
	return answer.bytes;
}

static uint32_t control(struct gpgpu_session *session, void *request, uint32_t type, size_t length)
{
	const struct virtio_gpgpu_resp_hdr *hdr = call(session, GPGPU_QUEUE_CONTROL, request, type, length);

	return hdr->status;
}

struct device {
	const char *device;
	bool one_step;
	struct gpgpu_engine *engine;
	uint8_t *shm;
	int fd; /* of the file that it is mapped from */
	uint32_t cpus; /* 0: not asked yet */
};

static const char *device_open(struct device *d)
{
	struct gpgpu_engine_options options = { .device = d->device,
						.threads = 1,
						.jit_program = getenv("GPGPU_JIT"),
						.jit_fd = -1,
						.one_step = d->one_step };
	g_autofree char *variable = g_strdup_printf("GPGPU_TEST_%s", d->device),
			*upper = g_ascii_strup(variable, -1);
	const char *which = getenv(upper);
	static char why[256], device[128];
	GError *error = NULL;

	/* Which of several cards: GPGPU_TEST_AMDGPU, GPGPU_TEST_CUDA, as the device takes it behind its colon. */
	if (which) {
		snprintf(device, sizeof(device), "%s:%s", d->device, which);
		options.device = device;
	}
	if (!options.jit_program)
		return "GPGPU_JIT does not name the compiler";
	gp_gpu_register(&gp_gpu_mock);
	gp_mock_plan = (struct gp_mock_plan){ .waves = 1, .cpus = 1, .in_order = true };
	d->engine = gpgpu_engine_new(&options, &error);
	if (!d->engine) {
		snprintf(why, sizeof(why), "%s", error ? error->message : "no reason given");
		g_clear_error(&error);
		return why;
	}
	d->fd = memfd_create("packets", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (d->fd < 0 || ftruncate(d->fd, SHM_SIZE) || fcntl(d->fd, F_ADD_SEALS, F_SEAL_SHRINK))
		abort();
	d->shm = mmap(NULL, SHM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd, 0);
	if (d->shm == MAP_FAILED)
		abort();
	return NULL;
}

static void device_close(struct device *d)
{
	gpgpu_engine_free(d->engine);
	d->engine = NULL;
	munmap(d->shm, SHM_SIZE);
	close(d->fd);
}

/* ------------------------------------------------------------------ maps. The id of map i is i + 1 */
static uint32_t pad8(uint32_t size)
{
	return (size + 7) & ~7u;
}

static bool make_map(struct gpgpu_session *session, const struct run *run, uint32_t i,
		     struct outcome *outcome)
{
	const struct run_map *map = &run->maps[i];
	struct virtio_gpgpu_req_map_create r = {
		.id = i + 1,
		.map_type = map->type,
		.key_size = map->key_size,
		.value_size = map->value_size,
		.max_entries = map->max_entries,
		.map_flags = map->rdonly ? VIRTIO_GPGPU_MAP_F_RDONLY_PROG : 0,
		.inner = run_map_of_maps(map->type) ? map->inner + 1 : 0,
	};
	const struct virtio_gpgpu_resp_hdr *hdr;

	hdr = call(session, GPGPU_QUEUE_CONTROL, &r, VIRTIO_GPGPU_CMD_MAP_CREATE, sizeof(r));
	if (!hdr->status)
		return true;
	outcome->refused = true;
	outcome->status = hdr->status;
	outcome->reason = hdr->reason;
	snprintf(outcome->message, sizeof(outcome->message), "map %u of type %u is refused", i, map->type);
	return false;
}

/* @key: NULL for none. @value: what travels. Return: the status. */
static uint32_t map_op(struct gpgpu_session *session, uint32_t type, uint32_t id, const void *key,
		       uint32_t key_size, const void *value, uint32_t value_size)
{
	static _Alignas(8) uint8_t bytes[sizeof(struct virtio_gpgpu_req_map_op) + MAX_PAIR];
	struct virtio_gpgpu_req_map_op *r = (void *)bytes;
	size_t length = sizeof(*r);

	memset(bytes, 0, sizeof(*r) + pad8(key_size) + pad8(value_size));
	r->id = id;
	if (key) {
		r->key_size = key_size;
		memcpy(bytes + length, key, key_size);
		length += pad8(key_size);
	}
	r->value_size = value_size;
	if (value_size)
		memcpy(bytes + length, value, value_size);
	length += pad8(value_size);
	return control(session, r, type, length);
}

static uint32_t num_cpus(struct gpgpu_session *session)
{
	struct virtio_gpgpu_req_caps r = { .version = VIRTIO_GPGPU_CAPS_VERSION };

	if (!cpus) {
		control(session, &r, VIRTIO_GPGPU_CMD_GET_CAPS, sizeof(r));
		cpus = ((const struct virtio_gpgpu_resp_caps *)(void *)answer.bytes)->caps.num_cpus;
	}
	return cpus;
}

static void fill_map(struct gpgpu_session *session, const struct run *run, uint32_t i)
{
	const struct run_map *map = &run->maps[i];
	uint32_t record = map->key_size + map->value_size, copies = 1, stride = map->value_size;
	uint8_t *value;

	if (run_map_percpu(map->type)) {
		copies = num_cpus(session);
		stride = pad8(map->value_size);
	}
	value = calloc(copies, stride + 8);
	for (uint32_t n = 0; n < map->num_init; n++) {
		const uint8_t *at = map->init + (size_t)n * record;
		uint32_t id;

		for (uint32_t cpu = 0; cpu < copies; cpu++)
			memcpy(value + (size_t)cpu * stride, at + map->key_size, map->value_size);
		if (run_map_of_maps(map->type) || map->type == VIRTIO_GPGPU_MAP_PROG_ARRAY) {
			/* Ids of maps are their indices + 1, those of tails theirs + 2. */
			memcpy(&id, value, 4);
			id += map->type == VIRTIO_GPGPU_MAP_PROG_ARRAY ? 2 : 1;
			memcpy(value, &id, 4);
		}
		map_op(session, VIRTIO_GPGPU_CMD_MAP_UPDATE, i + 1, map->key_size ? at : NULL, map->key_size,
		       value, copies * stride);
	}
	free(value);
	if (map->rdonly) {
		struct virtio_gpgpu_req_id r = { .id = i + 1 };

		control(session, &r, VIRTIO_GPGPU_CMD_MAP_FREEZE, sizeof(r));
	}
}

static const uint8_t *op_bytes(void)
{
	return answer.bytes + sizeof(struct virtio_gpgpu_resp_map_op);
}

static void add_walked(struct gpgpu_session *session, const struct run_map *map, uint32_t id,
		       struct outcome *outcome)
{
	bool keyed = run_map_form(map->type) == RUN_MAP_KEYED;
	uint8_t key[VIRTIO_GPGPU_MAX_KEY];
	size_t start = outcome->num_bytes;
	const void *from = NULL;
	uint32_t steps = 0;

	while (!map_op(session, VIRTIO_GPGPU_CMD_MAP_NEXT_KEY, id, from, map->key_size, NULL, 0) &&
	       steps++ < MAX_STEPS) {
		memcpy(key, op_bytes(), map->key_size);
		from = key;
		if (map_op(session, VIRTIO_GPGPU_CMD_MAP_LOOKUP, id, key, map->key_size, NULL, 0))
			continue;
		if (keyed)
			outcome_add_key(outcome, map, key);
		outcome_add(outcome,
			    op_bytes() + (run_map_percpu(map->type) ? RUN_CPU * pad8(map->value_size) : 0),
			    map->value_size);
	}
	if (keyed)
		outcome_sort(outcome, start, map->key_size + map->value_size);
}

static void add_popped(struct gpgpu_session *session, const struct run_map *map, uint32_t id,
		       struct outcome *outcome)
{
	uint32_t steps = 0;

	while (!map_op(session, VIRTIO_GPGPU_CMD_MAP_POP, id, NULL, 0, NULL, 0) && steps++ < MAX_STEPS)
		outcome_add(outcome, op_bytes(), map->value_size);
}

static void add_records(struct gpgpu_session *session, uint32_t id, struct outcome *outcome)
{
	const struct virtio_gpgpu_resp_map_read *resp = (const void *)answer.bytes;
	const uint8_t *at, *end;

	do {
		struct virtio_gpgpu_req_map_read r = { .id = id, .max_bytes = CAPACITY / 2 };

		if (control(session, &r, VIRTIO_GPGPU_CMD_MAP_READ, sizeof(r)))
			return;
		at = (const uint8_t *)(resp + 1);
		end = at + resp->bytes;
		if (resp->bytes > CAPACITY - sizeof(*resp))
			abort();
		for (uint32_t i = 0; i < resp->num_records; i++) {
			struct virtio_gpgpu_record record;

			if ((size_t)(end - at) < sizeof(record))
				abort();
			memcpy(&record, at, sizeof(record));
			at += sizeof(record);
			if (record.size > CAPACITY || (size_t)(end - at) < pad8(record.size))
				abort();
			outcome_add_record(outcome, at, record.size);
			at += pad8(record.size);
		}
	} while (resp->num_records);
}

static void add_map(struct gpgpu_session *session, const struct run *run, uint32_t i, struct outcome *outcome)
{
	switch (run_map_form(run->maps[i].type)) {
	case RUN_MAP_VALUES:
	case RUN_MAP_KEYED:
		add_walked(session, &run->maps[i], i + 1, outcome);
		return;
	case RUN_MAP_POPPED:
		add_popped(session, &run->maps[i], i + 1, outcome);
		return;
	case RUN_MAP_RECORDS:
		add_records(session, i + 1, outcome);
		return;
	case RUN_MAP_NONE:
		return;
	}
}

/* ------------------------------------------------------------------ programs. The id of the run's own is 1 */
static bool make_prog(struct gpgpu_session *session, const struct run *run, const struct bpf_insn *insns,
		      uint32_t num, uint32_t id, struct outcome *outcome)
{
	struct virtio_gpgpu_req_prog_create r = { .id = id,
						  .kind = run->kind,
						  .num_insns = num,
						  .insns_buffer = BUFFER,
						  .num_args = run->num_args,
						  .insns_offset = AT_INSNS };
	struct bpf_insn *to = (void *)(shm + AT_INSNS);
	const struct virtio_gpgpu_resp_prog *resp;

	if ((size_t)num * sizeof(*to) > AT_SLOTS)
		abort();
	memcpy(to, insns, num * sizeof(*to));
	for (uint32_t i = 0; i < num; i++) {
		if (to[i].code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		if (to[i].src_reg == BPF_PSEUDO_MAP_FD || to[i].src_reg == BPF_PSEUDO_MAP_VALUE)
			to[i].imm = (int32_t)((uint32_t)to[i].imm + 1);
		i++;
	}
	for (uint32_t i = 0; i < run->num_args; i++)
		r.arg_kind[i] = (uint8_t)run->args[i].kind;
	resp = call(session, GPGPU_QUEUE_CONTROL, &r, VIRTIO_GPGPU_CMD_PROG_CREATE, sizeof(r));
	if (!resp->hdr.status)
		return true;
	outcome->refused = true;
	outcome->status = resp->hdr.status;
	outcome->reason = resp->hdr.reason;
	outcome->insn = (uint32_t)resp->hdr.detail;
	snprintf(outcome->message, sizeof(outcome->message), "%.*s", VIRTIO_GPGPU_MESSAGE,
		 (const char *)resp->message);
	return false;
}

static void add_packet(const struct virtio_gpgpu_packet_result *result, const uint8_t *slot,
		       struct outcome *outcome, uint32_t i)
{
	if (result->data_off > RUN_STRIDE || result->data_len > RUN_STRIDE - result->data_off ||
	    result->meta_len > result->data_off)
		abort();
	outcome->packets[i] = (struct outcome_packet){ .verdict = result->verdict,
						       .egress_port = result->egress_port,
						       .data_moved = (int32_t)result->data_off - RUN_DATA_OFF,
						       .len = result->data_len,
						       .meta_len = result->meta_len,
						       .fault = result->fault };
	if (result->fault && !outcome->fault) {
		outcome->fault = result->fault;
		outcome->fault_insn = result->fault_insn;
	}
	outcome_add(outcome, slot + result->data_off - result->meta_len,
		    (size_t)result->meta_len + result->data_len);
}

static void run_packets(struct gpgpu_session *session, const struct run *run, struct outcome *outcome)
{
	struct {
		struct virtio_gpgpu_req_packets fixed;
		struct virtio_gpgpu_packet_desc descs[RUN_PACKETS];
	} r = { .fixed = { .hdr.flags = VIRTIO_GPGPU_PACKETS_ORDER_ALL,
			   .job.seq = 1,
			   .prog = 1,
			   .num_packets = run->num_packets,
			   .buffer = BUFFER,
			   .stride = RUN_STRIDE,
			   .offset = AT_SLOTS } };
	const struct virtio_gpgpu_resp_packets *resp;

	r.fixed.hdr.flags = VIRTIO_GPGPU_PACKETS_ORDER_ALL;
	memset(shm + AT_SLOTS, 0, run->num_packets * RUN_STRIDE);
	for (uint32_t i = 0; i < run->num_packets; i++) {
		const struct run_packet *packet = &run->packets[i];

		r.descs[i] = (struct virtio_gpgpu_packet_desc){ .data_off = RUN_DATA_OFF,
								.data_len = packet->len,
								.meta_len = packet->meta_len,
								.rx_queue = packet->rx_queue,
								.ingress_port = packet->ingress_port };
		memcpy(shm + AT_SLOTS + i * RUN_STRIDE + RUN_DATA_OFF - packet->meta_len, packet->bytes,
		       (size_t)packet->meta_len + packet->len);
	}
	resp = call(session, GPGPU_QUEUE_PACKET, &r, VIRTIO_GPGPU_CMD_PACKETS,
		    sizeof(r.fixed) + run->num_packets * sizeof(r.descs[0]));
	if (resp->job.hdr.status && resp->job.hdr.status != VIRTIO_GPGPU_S_FAULT) {
		printf("# %s: packets: status %u, reason %u\n", run->name, resp->job.hdr.status,
		       resp->job.hdr.reason);
		abort();
	}
	outcome->faults = resp->job.fault_count;
	for (uint32_t i = 0; i < run->num_packets; i++)
		add_packet((const struct virtio_gpgpu_packet_result *)(resp + 1) + i,
			   shm + AT_SLOTS + i * RUN_STRIDE, outcome, i);
}

static void run_grid(struct gpgpu_session *session, const struct run *run, struct outcome *outcome)
{
	struct {
		struct virtio_gpgpu_req_dispatch fixed;
		struct virtio_gpgpu_arg args[VIRTIO_GPGPU_MAX_ARGS];
	} r = { .fixed = { .job.seq = 1, .prog = 1, .num_args = run->num_args } };
	const struct virtio_gpgpu_resp_job *resp;
	uint64_t at = AT_ARGS;

	memcpy(r.fixed.grid, run->grid, sizeof(run->grid));
	memcpy(r.fixed.group, run->group, sizeof(run->group));
	for (uint32_t i = 0; i < run->num_args; i++) {
		r.args[i] =
			(struct virtio_gpgpu_arg){ .kind = run->args[i].kind, .value = run->args[i].value };
		if (run->args[i].kind == VIRTIO_GPGPU_ARG_VALUE)
			continue;
		r.args[i].buffer = BUFFER;
		r.args[i].value = at;
		r.args[i].size = run->args[i].size;
		if (at + run->args[i].size > SHM_SIZE)
			abort();
		memcpy(shm + at, run->args[i].init, run->args[i].size);
		at += (run->args[i].size + 4095) & ~4095ull;
	}
	resp = call(session, GPGPU_QUEUE_COMPUTE, &r, VIRTIO_GPGPU_CMD_DISPATCH,
		    sizeof(r.fixed) + run->num_args * sizeof(r.args[0]));
	if (resp->hdr.status && resp->hdr.status != VIRTIO_GPGPU_S_FAULT) {
		printf("# %s: grid: status %u, reason %u\n", run->name, resp->hdr.status, resp->hdr.reason);
		abort();
	}
	outcome->faults = resp->fault_count;
	if (resp->fault_count) {
		outcome->fault = resp->hdr.reason;
		outcome->fault_insn = resp->fault_insn;
	}
	for (uint32_t i = 0; i < run->num_args; i++)
		outcome_add(outcome, r.args[i].buffer ? shm + r.args[i].value : shm, run->args[i].size);
}

/* Return: false if the engine refuses a map or a program. */
static bool make_all(struct gpgpu_session *session, const struct run *run, struct outcome *outcome)
{
	for (uint32_t i = 0; i < run->num_maps; i++)
		if (!make_map(session, run, i, outcome))
			return false;
	for (uint32_t i = 0; i < run->num_tails; i++)
		if (!make_prog(session, run, run->tails[i].insns, run->tails[i].num_insns, i + 2, outcome))
			return false;
	for (uint32_t i = 0; i < run->num_maps; i++)
		fill_map(session, run, i);
	return make_prog(session, run, run->insns, run->num_insns, 1, outcome);
}

static void device_run(struct device *d, const struct run *run, struct outcome *outcome)
{
	struct gpgpu_session_options options = { .name = "test",
						 .shm = d->shm,
						 .shm_size = SHM_SIZE,
						 .shm_fd = d->fd,
						 .features = 1ull << VIRTIO_GPGPU_F_PACKET |
							     1ull << VIRTIO_GPGPU_F_DEVICE_MEM,
						 .generation = 1,
						 .limits.fuel = run->fuel };
	struct virtio_gpgpu_req_buffer_create buffer = { .id = BUFFER,
							 .mem = VIRTIO_GPGPU_MEM_SHM,
							 .size = SHM_SIZE };
	GError *error = NULL;
	struct gpgpu_session *session = gpgpu_session_new(d->engine, &options, &error);

	shm = d->shm;
	cpus = d->cpus;
	memset(outcome, 0, sizeof(*outcome));
	if (!session || control(session, &buffer, VIRTIO_GPGPU_CMD_BUFFER_CREATE, sizeof(buffer)))
		abort();
	if (make_all(session, run, outcome)) {
		if (run->kind == VIRTIO_GPGPU_PROG_XDP)
			run_packets(session, run, outcome);
		else
			run_grid(session, run, outcome);
		for (uint32_t i = 0; i < run->num_maps; i++)
			add_map(session, run, i, outcome);
	}
	d->cpus = cpus;
	gpgpu_session_free(session);
}

/* @id: of C, @title: for people, @what: the engine's name of it, @share: one in so many random programs */
#define DEVICE(id, title, what, step, share, asked)                              \
	static struct device device_##id = { .device = what, .one_step = step }; \
	static const char *open_##id(void)                                       \
	{                                                                        \
		return device_open(&device_##id);                                \
	}                                                                        \
	static void run_##id(const struct run *run, struct outcome *outcome)     \
	{                                                                        \
		device_run(&device_##id, run, outcome);                          \
	}                                                                        \
	static void close_##id(void)                                             \
	{                                                                        \
		device_close(&device_##id);                                      \
	}                                                                        \
	const struct target target_##id = { .name = title,                       \
					    .open = open_##id,                   \
					    .run = run_##id,                     \
					    .close = close_##id,                 \
					    .validates = true,                   \
					    .once_in = share,                    \
					    .optional = asked,                   \
					    .at_once = asked }

DEVICE(cpu, "cpu", "cpu", true, 1, false);
/* The code that larger programs start with, until the better is there. */
DEVICE(cpu_quick, "cpu-quick", "cpu", false, 8, false);
/* The engine's device for GPUs. */
DEVICE(mock, "mock", "mock", true, 4, false);
/* A card, or a software one; items and packets at once are in no order there. */
DEVICE(amdgpu, "amdgpu", "amdgpu", true, 1, true);
DEVICE(cuda, "cuda", "cuda", true, 1, true);
