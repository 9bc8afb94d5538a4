// SPDX-License-Identifier: BSD-3-Clause
/*
 * session.c - requests of the wire protocol to an engine in this process; session.h says for whom.
 *
 * Answers come on the engine's threads: they are copied, put into a table by ticket under `lock`, and taken out by
 * who waits. Requests and answers are in host order, which is little endian wherever the engine runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpgpu-host.h"
#include "session.h"
#include "tool.h"

#define ANSWER_BYTES (64u << 10) /* room for what is no batch of packets */
#define INSN_BYTES   8u
#define GENERATION   1
#define FEATURES     (1u << VIRTIO_GPGPU_F_PACKET | 1u << VIRTIO_GPGPU_F_DEVICE_MEM)
#define MAX_INSNS    16384u /* of one program on any device */

struct answer {
	struct virtio_gpgpu_resp_hdr *hdr; /* and what follows it; NULL: no room for one */
	size_t length;
};

struct session {
	struct gpgpu_engine *engine;
	struct gpgpu_session *session;
	char *compiler;
	struct virtio_gpgpu_caps caps;
	uint8_t *shm;
	uint64_t shm_size, shm_used;
	uint32_t next_id;
	uint64_t next_seq;
	struct buffer insns; /* where programs are put for PROG_CREATE */
	GMutex lock;
	GCond changed;
	GHashTable *answers; /* by ticket */
	uint64_t next_ticket;
};

/* ---------------------------------------------------------------- transport */

struct waiting {
	struct session *session;
	uint64_t ticket;
};

static void complete(void *opaque, const void *response, size_t length, const struct gpgpu_range *ranges,
		     size_t num_ranges)
{
	struct waiting *w = opaque;
	struct session *s = w->session;
	struct answer *a = g_new0(struct answer, 1);

	a->length = length;
	a->hdr = length >= sizeof(*a->hdr) ? g_memdup2(response, length) : NULL;
	g_mutex_lock(&s->lock);
	g_hash_table_insert(s->answers, GSIZE_TO_POINTER(w->ticket), a);
	g_cond_broadcast(&s->changed);
	g_mutex_unlock(&s->lock);
	g_free(w);
}

static void answer_free(void *opaque)
{
	struct answer *a = opaque;

	g_free(a->hdr);
	g_free(a);
}

static uint64_t submit(struct session *s, enum gpgpu_queue_kind queue, void *request, uint32_t type,
		       size_t length, size_t room)
{
	struct virtio_gpgpu_req_hdr *hdr = request;
	struct waiting *w = g_new(struct waiting, 1);
	uint64_t ticket = ++s->next_ticket;

	hdr->type = type;
	hdr->length = (uint32_t)length;
	*w = (struct waiting){ s, ticket };
	gpgpu_session_submit(s->session, queue, request, length, room, complete, w);
	return ticket;
}

static struct answer *wait_for(struct session *s, uint64_t ticket)
{
	gpointer key = GSIZE_TO_POINTER(ticket), value;

	g_mutex_lock(&s->lock);
	while (!g_hash_table_steal_extended(s->answers, key, NULL, &value))
		g_cond_wait(&s->changed, &s->lock);
	g_mutex_unlock(&s->lock);
	return value;
}

/* Takes @a. Return: its status; the first @size bytes of it in @out. */
static uint32_t finish(struct answer *a, void *out, size_t size, struct refusal *refusal)
{
	uint32_t status;

	if (!a->hdr)
		die("the engine did not answer");
	memset(refusal, 0, sizeof(*refusal));
	refusal->status = status = a->hdr->status;
	refusal->reason = a->hdr->reason;
	refusal->detail = a->hdr->detail;
	if (out) {
		memset(out, 0, size);
		memcpy(out, a->hdr, MIN(size, a->length));
	}
	answer_free(a);
	return status;
}

static uint32_t control(struct session *s, void *request, uint32_t type, size_t length, void *out,
			size_t out_size, struct refusal *refusal)
{
	uint64_t ticket = submit(s, GPGPU_QUEUE_CONTROL, request, type, length,
				 out_size > ANSWER_BYTES ? out_size : ANSWER_BYTES);

	return finish(wait_for(s, ticket), out, out_size, refusal);
}

/* ------------------------------------------------------------------ opening */

/* gpgpu-jit as installed beside us, or as the build folder has it. */
static char *find_compiler(void)
{
	static const char *const places[] = { "../libexec/gpgpu", "../jit", "../../host-backend/jit" };
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *dir = self ? g_path_get_dirname(self) : NULL;
	const char *named = g_getenv("GPGPU_JIT");

	if (named)
		return g_strdup(named);
	for (size_t i = 0; dir && i < G_N_ELEMENTS(places); i++) {
		char *path = g_build_filename(dir, places[i], "gpgpu-jit", NULL);

		if (!access(path, X_OK))
			return path;
		g_free(path);
	}
	die("there is no compiler gpgpu-jit: set GPGPU_JIT to where it is");
}

static void get_caps(struct session *s)
{
	struct virtio_gpgpu_req_caps request = { .version = VIRTIO_GPGPU_CAPS_VERSION };
	struct virtio_gpgpu_resp_caps caps;
	struct refusal refusal;

	if (control(s, &request, VIRTIO_GPGPU_CMD_GET_CAPS, sizeof(request), &caps, sizeof(caps), &refusal))
		die("the device says nothing of itself: %s", refusal_text(&refusal));
	s->caps = caps.caps;
	s->caps.device_name[sizeof(s->caps.device_name) - 1] = '\0';
	s->caps.target[sizeof(s->caps.target) - 1] = '\0';
}

static uint64_t pages(uint64_t size)
{
	return (size + 4095) & ~4095ull;
}

/* What programs say by bpf_trace_printk(). */
static void show_line(void *opaque, const char *line)
{
	fprintf(stderr, "%s\n", line);
}

/* Why jobs are answered that the device was lost. */
static void show_loss(void *opaque, enum gpgpu_loss loss, bool over, const char *what)
{
	fprintf(stderr, "%s\n", what);
}

/* Memory that packets and arguments lie in; of a file where a GPU is to reach it in place, by udmabuf's rules. */
static void map_shm(struct session *s, bool gpu, int *fd)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;

	*fd = -1;
	if (gpu) {
		*fd = memfd_create("gpgpu-bpf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (*fd < 0 || ftruncate(*fd, (off_t)s->shm_size) || fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK))
			die("no memory: %s", strerror(errno));
		flags = MAP_SHARED;
	}
	s->shm = mmap(NULL, s->shm_size, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, *fd, 0);
	if (s->shm == MAP_FAILED)
		die("no memory: %s", strerror(errno));
}

struct session *session_open(const struct session_options *options)
{
	struct session *s = g_new0(struct session, 1);
	struct gpgpu_engine_options engine = {
		.device = options->device ? options->device : "cpu",
		.threads = options->threads,
		.jit_fd = -1,
		.one_step = true,
		.interleave = options->interleave,
		.interleave_seed = options->seed,
		.lost = show_loss,
	};
	struct gpgpu_session_options session = {
		.name = "gpgpu-bpf",
		.features = FEATURES,
		.generation = GENERATION,
		.log = show_line,
		.quota.memory_limit = options->memory ? options->memory : 4ull << 30,
	};
	GError *error = NULL;

	s->compiler = find_compiler();
	engine.jit_program = s->compiler;
	s->shm_size = pages(options->shm_size) + (uint64_t)MAX_INSNS * INSN_BYTES;
	map_shm(s, strcmp(engine.device, "cpu") != 0, &session.shm_fd);
	g_mutex_init(&s->lock);
	g_cond_init(&s->changed);
	s->answers = g_hash_table_new_full(NULL, NULL, NULL, answer_free);
	s->engine = gpgpu_engine_new(&engine, &error);
	if (!s->engine)
		die("%s", error->message);
	session.shm = s->shm;
	session.shm_size = s->shm_size;
	s->session = gpgpu_session_new(s->engine, &session, &error);
	if (session.shm_fd >= 0)
		close(session.shm_fd);
	if (!s->session)
		die("%s", error->message);
	get_caps(s);
	s->insns = session_buffer(s, (uint64_t)MAX_INSNS * INSN_BYTES);
	return s;
}

void session_clear(struct session *s)
{
	gpgpu_session_reset(s->session, FEATURES, GENERATION);
	s->shm_used = 0;
	s->insns = session_buffer(s, (uint64_t)MAX_INSNS * INSN_BYTES);
}

void session_close(struct session *s)
{
	gpgpu_session_free(s->session);
	gpgpu_engine_free(s->engine);
	munmap(s->shm, s->shm_size);
	g_hash_table_destroy(s->answers);
	g_cond_clear(&s->changed);
	g_mutex_clear(&s->lock);
	g_free(s->compiler);
	g_free(s);
}

const struct virtio_gpgpu_caps *session_caps(const struct session *s)
{
	return &s->caps;
}

const char *session_compiler(const struct session *s)
{
	return s->compiler;
}

/* ------------------------------------------------------------------ objects */

struct buffer session_buffer(struct session *s, uint64_t size)
{
	struct virtio_gpgpu_req_buffer_create request = {
		.id = ++s->next_id,
		.mem = VIRTIO_GPGPU_MEM_SHM,
		.offset = s->shm_used,
		.size = pages(size ? size : 1),
	};
	struct refusal refusal;

	if (request.size > s->shm_size - s->shm_used)
		die("no memory for a buffer of %llu bytes", (unsigned long long)size);
	s->shm_used += request.size;
	if (control(s, &request, VIRTIO_GPGPU_CMD_BUFFER_CREATE, sizeof(request), NULL, 0, &refusal))
		die("no buffer: %s", refusal_text(&refusal));
	return (struct buffer){ request.id, s->shm + request.offset, request.size };
}

uint32_t session_map(struct session *s, const struct virtio_gpgpu_req_map_create *shape, uint32_t *id,
		     struct refusal *refusal)
{
	struct virtio_gpgpu_req_map_create request = *shape;

	request.id = *id = ++s->next_id;
	return control(s, &request, VIRTIO_GPGPU_CMD_MAP_CREATE, sizeof(request), NULL, 0, refusal);
}

uint32_t session_map_freeze(struct session *s, uint32_t id, struct refusal *refusal)
{
	struct virtio_gpgpu_req_id request = { .id = id };

	return control(s, &request, VIRTIO_GPGPU_CMD_MAP_FREEZE, sizeof(request), NULL, 0, refusal);
}

static size_t padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

uint32_t session_map_op(struct session *s, uint32_t type, uint32_t id, const void *key, uint32_t key_size,
			const void *value, uint32_t value_size, void *out, size_t out_size,
			struct refusal *refusal)
{
	size_t key_bytes = key ? key_size : 0, value_bytes = value ? value_size : 0;
	size_t length = sizeof(struct virtio_gpgpu_req_map_op) + padded(key_bytes) + padded(value_bytes);
	size_t room = sizeof(struct virtio_gpgpu_resp_map_op) + padded(out_size);
	g_autofree struct virtio_gpgpu_req_map_op *request = g_malloc0(length);
	g_autofree struct virtio_gpgpu_resp_map_op *response = g_malloc0(room);
	uint8_t *at = (uint8_t *)(request + 1);
	uint32_t status;

	request->id = id;
	request->key_size = (uint32_t)key_bytes;
	request->value_size = (uint32_t)value_bytes;
	if (key_bytes)
		memcpy(at, key, key_bytes);
	if (value_bytes)
		memcpy(at + padded(key_bytes), value, value_bytes);
	status = control(s, request, type, length, response, room, refusal);
	if (!status && out)
		memcpy(out, response + 1, out_size);
	return status;
}

uint32_t session_map_read(struct session *s, uint32_t id, void *records, uint32_t size, uint32_t *used,
			  uint64_t *dropped, struct refusal *refusal)
{
	struct virtio_gpgpu_req_map_read request = { .id = id, .max_bytes = size };
	g_autofree struct virtio_gpgpu_resp_map_read *response = g_malloc0(sizeof(*response) + size);
	uint32_t status = control(s, &request, VIRTIO_GPGPU_CMD_MAP_READ, sizeof(request), response,
				  sizeof(*response) + size, refusal);

	*used = MIN(response->bytes, size);
	*dropped = response->dropped;
	memcpy(records, response + 1, *used);
	return status;
}

uint32_t session_program(struct session *s, const struct program_desc *desc, uint32_t *id,
			 struct program_cost *cost, struct refusal *refusal)
{
	struct virtio_gpgpu_req_prog_create request = {
		.id = ++s->next_id,
		.kind = desc->kind,
		.num_insns = desc->num_insns,
		.insns_buffer = s->insns.id,
		.num_args = desc->num_args,
	};
	struct virtio_gpgpu_resp_prog response;
	uint32_t status;

	*id = request.id;
	*cost = (struct program_cost){ 0 };
	if (desc->num_insns > MIN(s->caps.max_insns, MAX_INSNS)) {
		*refusal = (struct refusal){ .status = VIRTIO_GPGPU_S_LIMIT,
					     .reason = VIRTIO_GPGPU_R_INSN_LIMIT };
		snprintf(refusal->message, sizeof(refusal->message),
			 "%u instructions, the device takes %u; make the program smaller", desc->num_insns,
			 MIN(s->caps.max_insns, MAX_INSNS));
		return refusal->status;
	}
	if (desc->num_args)
		memcpy(request.arg_kind, desc->arg_kind, desc->num_args);
	memcpy(request.name, desc->name, strnlen(desc->name, sizeof(request.name) - 1));
	memcpy(s->insns.bytes, desc->insns, desc->num_insns * (size_t)INSN_BYTES);
	status = control(s, &request, VIRTIO_GPGPU_CMD_PROG_CREATE, sizeof(request), &response,
			 sizeof(response), refusal);
	memcpy(refusal->message, response.message, sizeof(refusal->message));
	refusal->message[sizeof(refusal->message) - 1] = '\0';
	cost->compile_ns = response.compile_ns;
	cost->code_bytes = response.code_bytes;
	return status;
}

/* --------------------------------------------------------------------- jobs */

static void set_job(struct session *s, struct virtio_gpgpu_job *job)
{
	job->seq = ++s->next_seq;
}

static void set_result(struct job_result *result, const struct virtio_gpgpu_resp_job *from)
{
	result->device_ns = from->device_ns;
	result->fault_count = from->fault_count;
	result->fault_insn = from->fault_insn;
}

uint32_t session_dispatch(struct session *s, uint32_t program, const struct virtio_gpgpu_arg *args,
			  uint32_t num_args, struct job_result *result, struct refusal *refusal)
{
	struct {
		struct virtio_gpgpu_req_dispatch head;
		struct virtio_gpgpu_arg args[VIRTIO_GPGPU_MAX_ARGS];
	} request = {
		.head = { .prog = program, .num_args = num_args, .grid = { 1, 1, 1 }, .group = { 1, 1, 1 } }
	};
	size_t length = sizeof(request.head) + num_args * sizeof(*args);
	struct virtio_gpgpu_resp_job response;
	uint32_t status;
	uint64_t ticket;

	set_job(s, &request.head.job);
	memcpy(request.args, args, num_args * sizeof(*args));
	ticket = submit(s, GPGPU_QUEUE_COMPUTE, &request, VIRTIO_GPGPU_CMD_DISPATCH, length, ANSWER_BYTES);
	status = finish(wait_for(s, ticket), &response, sizeof(response), refusal);
	set_result(result, &response);
	return status;
}

void session_packets(struct session *s, uint32_t program, const struct buffer *buffer, uint32_t stride,
		     uint32_t flags, const struct virtio_gpgpu_packet_desc *packets, uint32_t count,
		     uint64_t *ticket)
{
	size_t length = sizeof(struct virtio_gpgpu_req_packets) + count * sizeof(*packets);
	g_autofree struct virtio_gpgpu_req_packets *request = g_malloc0(length);

	request->hdr.flags = flags;
	request->prog = program;
	request->num_packets = count;
	request->buffer = buffer->id;
	request->stride = stride;
	set_job(s, &request->job);
	memcpy(request + 1, packets, count * sizeof(*packets));
	*ticket = submit(s, GPGPU_QUEUE_PACKET, request, VIRTIO_GPGPU_CMD_PACKETS, length,
			 sizeof(struct virtio_gpgpu_resp_packets) +
				 count * sizeof(struct virtio_gpgpu_packet_result));
}

uint32_t session_packets_wait(struct session *s, uint64_t ticket, struct virtio_gpgpu_packet_result *results,
			      uint32_t count, struct job_result *result, struct refusal *refusal)
{
	size_t size = sizeof(struct virtio_gpgpu_resp_packets) + count * sizeof(*results);
	g_autofree struct virtio_gpgpu_resp_packets *response = g_malloc0(size);
	uint32_t status = finish(wait_for(s, ticket), response, size, refusal);

	set_result(result, &response->job);
	memcpy(results, response + 1, count * sizeof(*results));
	return status;
}
