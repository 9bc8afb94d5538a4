/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_worker.c - gpgpu-worker from outside: socket, ring, descriptors, death.
 *
 * GPGPU_WORKER and GPGPU_JIT are the programs. A worker must answer what is right, end with status 1 on what
 * makes no sense, and survive the death of its compiler.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fixture.h"

#define RING_SIZE (1u << 20)

static int sock = -1;
static pid_t worker;
static struct wire_client *c;

static void start_worker(void)
{
	const char *args[] = { "--jit", getenv("GPGPU_JIT"), "--threads", "2", "--log", "/dev/null", NULL };
	struct gpgpu_msg_welcome welcome;

	sock = wire_spawn(getenv("GPGPU_WORKER"), &worker, args);
	ck_assert(wire_hello(sock, &welcome));
	ck_assert_uint_eq(welcome.pid, (uint32_t)worker);
	ck_assert_uint_eq(welcome.threads, 2);
	ck_assert_int_eq(strncmp(welcome.device, "cpu", 3), 0);
}

static void start_session(void)
{
	start_worker();
	c = wire_client_worker(sock, 1, SHM_SIZE, RING_SIZE);
}

static int wait_status(void)
{
	int status, tries;

	for (tries = 0; tries < 1000; tries++) {
		if (waitpid(worker, &status, WNOHANG) == worker)
			return status;
		sleep_ms(10);
	}
	ck_abort_msg("the worker does not end");
}

static void check_exit(int code)
{
	int status = wait_status();

	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), code);
}

/* The worker ends when QEMU goes, with status 0. */
static void stop_worker(void)
{
	if (c)
		wire_client_free(c);
	c = NULL;
	close(sock);
	check_exit(0);
}

static int plain(uint32_t type)
{
	struct gpgpu_msg msg;

	return wire_message(sock, type, 1, &msg, sizeof(msg));
}

static int reset(uint32_t generation)
{
	struct gpgpu_msg_reset msg = { .features = 3, .generation = generation };

	return wire_message(sock, GPGPU_MSG_RESET, 1, &msg, sizeof(msg));
}

/* Reads the counters as QEMU does. */
static struct gpgpu_ring_stats read_stats(void)
{
	struct gpgpu_ring_stats *from = &wire_ring(c)->stats, stats;
	uint32_t before, after;

	do {
		before = __atomic_load_n(&from->sequence, __ATOMIC_ACQUIRE);
		stats = *from;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		after = __atomic_load_n(&from->sequence, __ATOMIC_RELAXED);
	} while (before != after || before & 1);
	return stats;
}

static void make_objects(void)
{
	check_ok(wire_simple(c, VIRTIO_GPGPU_CMD_CTX_CREATE, CTX, NULL));
	check_ok(wire_buffer(c, CTX, BUF_SHM, VIRTIO_GPGPU_MEM_SHM, 0, SHM_SIZE));
	check_ok(wire_map(c, CTX, MAP_ARRAY, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, 0));
}

START_TEST(whole_path)
{
	static struct virtio_gpgpu_packet_desc descs[4096];
	struct gpgpu_ring_stats stats;
	struct wire_answer *a;

	start_session();
	make_objects();
	make_programs(c);
	packet_slots(c, descs, 4096);
	for (int i = 0; i < 50; i++) {
		a = wire_wait(c, wire_packets(c, CTX, next_point(), VIRTIO_GPGPU_PACKETS_ORDER_ALL,
					      PROG_COUNT, BUF_SHM, 0, SLOT, descs, 4096));
		check_ok(a->status);
		ck_assert_uint_eq(a->resp->packets.verdicts[XDP_DROP], 4096);
		ck_assert_uint_eq(a->num_ranges, 1);
		ck_assert_uint_eq(a->ranges[0].size, 4096 * SLOT);
		wire_answer_free(a);
	}
	check_ok(plain(GPGPU_MSG_PAUSE));
	stats = read_stats();
	ck_assert_uint_eq(stats.packets, 50 * 4096);
	ck_assert_uint_eq(stats.verdicts[XDP_DROP], 50 * 4096);
	ck_assert_uint_eq(stats.jobs, 50);
	ck_assert_uint_gt(stats.device_ns, 0);
	check_ok(plain(GPGPU_MSG_RESUME));
	stop_worker();
}
END_TEST

/* More requests at once than the ring holds, with responses larger than it holds: nobody is stuck. */
START_TEST(full_rings)
{
	static struct virtio_gpgpu_packet_desc descs[8192];
	uint64_t tickets[100];

	start_session();
	make_objects();
	make_programs(c);
	packet_slots(c, descs, 8192);
	for (int i = 0; i < 100; i++)
		tickets[i] = wire_packets(c, CTX, next_point(), 0, PROG_PASS, BUF_SHM, 0, SLOT, descs, 8192);
	for (int i = 0; i < 100; i++)
		check_ok(wire_status(c, tickets[i]));
	/* Many small ones, so that the positions wrap around at every alignment. */
	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < 100; i++)
			tickets[i] = wire_nop(c, CTX, next_point());
		for (int i = 0; i < 100; i++)
			check_ok(wire_status(c, tickets[i]));
	}
	stop_worker();
}
END_TEST

START_TEST(pause_and_resume)
{
	uint64_t ticket;
	struct wire_answer *a;

	start_session();
	make_objects();
	for (int i = 0; i < 20; i++) {
		check_ok(plain(GPGPU_MSG_PAUSE));
		ticket = wire_fill(c, CTX, next_point(), BUF_SHM, 0, 4096, (uint32_t)i);
		sleep_ms(5);
		a = wire_poll(c, ticket);
		ck_assert_ptr_null(a);
		check_ok(plain(GPGPU_MSG_RESUME));
		check_ok(wire_status(c, ticket));
		ck_assert_uint_eq(*(uint32_t *)wire_shm(c), (uint32_t)i);
	}
	stop_worker();
}
END_TEST

/* Requests that are still in the ring are answered too, paused or not. */
START_TEST(reset_answers_all)
{
	for (int paused = 0; paused < 2; paused++) {
		struct virtio_gpgpu_fence never = { .ctx_id = 0, .timeline = 63, .seq = 1 };
		uint64_t tickets[200];
		int cancelled = 0;

		start_session();
		make_objects();
		if (paused)
			check_ok(plain(GPGPU_MSG_PAUSE));
		for (uint32_t i = 0; i < 200; i++)
			tickets[i] = wire_nop(c, CTX, (struct wire_point){ i % 50, i + 1, &never, 1 });
		check_ok(reset(2));
		for (int i = 0; i < 200; i++) {
			struct wire_answer *a = wire_poll(c, tickets[i]);

			ck_assert_ptr_nonnull(a);
			ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_RESET);
			cancelled += a->status == VIRTIO_GPGPU_S_CANCELLED;
			wire_answer_free(a);
		}
		ck_assert_int_eq(cancelled, 200);
		if (paused)
			check_ok(plain(GPGPU_MSG_RESUME));
		make_objects();
		check_ok(wire_status(c, wire_nop(c, CTX, (struct wire_point){ 1, 1, NULL, 0 })));
		stop_worker();
	}
}
END_TEST

START_TEST(quota_message)
{
	struct gpgpu_msg_quota quota = { .weight = 300, .cap = 2000, .memory_limit = 1 << 20 };
	struct virtio_gpgpu_resp_stats stats;

	start_session();
	ck_assert_int_eq(wire_message(sock, GPGPU_MSG_QUOTA, 1, &quota, sizeof(quota)), 0);
	check_ok(wire_stats(c, &stats));
	ck_assert_uint_eq(stats.weight, 300);
	ck_assert_uint_eq(stats.cap, 2000);
	ck_assert_uint_eq(stats.memory_limit, 1 << 20);
	check_status(wire_buffer(c, 0, 1, VIRTIO_GPGPU_MEM_DEVICE, 0, 2 << 20), NO_MEMORY);
	stop_worker();
}
END_TEST

START_TEST(two_sessions)
{
	struct wire_client *second;

	start_session();
	second = wire_client_worker(sock, 2, SHM_SIZE, RING_SIZE);
	make_objects();
	/* Ids and memory are each session's own. */
	check_ok(wire_buffer(second, 0, BUF_SHM, VIRTIO_GPGPU_MEM_SHM, 0, SHM_SIZE));
	check_ok(wire_status(c, wire_fill(c, CTX, next_point(), BUF_SHM, 0, 4096, 1)));
	check_ok(wire_status(second, wire_fill(second, 0, next_point(), BUF_SHM, 0, 4096, 2)));
	ck_assert_uint_eq(*(uint32_t *)wire_shm(c), 1);
	ck_assert_uint_eq(*(uint32_t *)wire_shm(second), 2);
	wire_client_free(second);
	check_ok(wire_status(c, wire_nop(c, CTX, next_point())));
	stop_worker();
}
END_TEST

/* ---- what makes no sense ---- */

static void send_raw(const void *bytes, size_t size)
{
	ck_assert_int_eq(send(sock, bytes, size, MSG_NOSIGNAL), (ssize_t)size);
}

START_TEST(bad_messages)
{
	struct gpgpu_msg_hello hello = {
		.msg = { GPGPU_MSG_HELLO, sizeof(hello), 0, 1 },
		.magic = GPGPU_CONNECTION_MAGIC,
		.version = GPGPU_CONNECTION_VERSION,
	};
	struct gpgpu_msg_reset r = { .msg = { GPGPU_MSG_RESET, sizeof(r), 1, 1 } };
	uint8_t bytes[1024] = { 0 };

	for (int i = 0; i < 7; i++) {
		start_worker();
		switch (i) {
		case 0: /* unknown type */
			send_raw(&(struct gpgpu_msg){ 99, sizeof(struct gpgpu_msg), 1, 1 },
				 sizeof(struct gpgpu_msg));
			break;
		case 1: /* a type that only the worker sends */
			send_raw(&(struct gpgpu_msg){ GPGPU_MSG_ACK, sizeof(struct gpgpu_msg), 1, 1 },
				 sizeof(struct gpgpu_msg));
			break;
		case 2: /* too short for its type */
			send_raw(&r, sizeof(r) - 4);
			break;
		case 3: /* a size that is not true */
			r.msg.size = 4;
			send_raw(&r, sizeof(r));
			break;
		case 4: /* longer than any */
			send_raw(bytes, sizeof(bytes));
			break;
		case 5: /* hello again */
			send_raw(&hello, sizeof(hello));
			break;
		case 6: /* shorter than any */
			send_raw(bytes, 3);
			break;
		}
		check_exit(1);
		close(sock);
	}
}
END_TEST

/* Fills in OPEN with descriptors that are right. */
static void right_open(struct gpgpu_msg_open *msg, int fds[4])
{
	struct gpgpu_ring ring = {
		.magic = GPGPU_CONNECTION_MAGIC,
		.version = GPGPU_CONNECTION_VERSION,
		.req_offset = 4096,
		.req_size = RING_SIZE,
		.resp_offset = 4096 + RING_SIZE,
		.resp_size = RING_SIZE,
	};

	*msg = (struct gpgpu_msg_open){
		.msg.session = 1,
		.shm_size = SHM_SIZE,
		.ring_size = 4096 + 2 * RING_SIZE,
		.features = 3,
		.generation = 1,
	};
	fds[0] = wire_memfd("shm", SHM_SIZE);
	fds[1] = wire_memfd("ring", msg->ring_size);
	fds[2] = eventfd(0, EFD_CLOEXEC);
	fds[3] = eventfd(0, EFD_CLOEXEC);
	ck_assert_int_eq(pwrite(fds[1], &ring, sizeof(ring), 0), sizeof(ring));
}

static int unsealed(uint64_t size)
{
	int fd = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	return fd;
}

static void spoil_ring(int fd, size_t offset, uint64_t value)
{
	ck_assert_int_eq(pwrite(fd, &value, sizeof(value), (off_t)offset), sizeof(value));
}

#define RING_OFF(member) offsetof(struct gpgpu_ring, member)

/* Each is refused with a message, and the worker is there for the right one. */
START_TEST(bad_sessions)
{
	char message[128];
	struct gpgpu_msg_open msg;
	int fds[4], err;

	start_worker();
	for (int i = 0; i < 15; i++) {
		right_open(&msg, fds);
		switch (i) {
		case 0:
			msg.shm_size += 4096;
			break;
		case 1:
			msg.shm_size = UINT64_MAX & ~4095ull;
			break;
		case 2:
			msg.shm_size -= 100;
			break;
		case 3:
			msg.ring_size += 1;
			break;
		case 4:
			msg.ring_size = 64;
			break;
		case 5:
			close(fds[0]);
			fds[0] = unsealed(SHM_SIZE);
			break;
		case 6:
			close(fds[1]);
			fds[1] = unsealed(msg.ring_size);
			break;
		case 7:
			spoil_ring(fds[1], RING_OFF(magic), 0);
			break;
		case 8:
			spoil_ring(fds[1], RING_OFF(req_size), RING_SIZE - 8);
			break;
		case 9:
			spoil_ring(fds[1], RING_OFF(req_size), 2 * RING_SIZE);
			spoil_ring(fds[1], RING_OFF(req_offset), 8192);
			break;
		case 10:
			spoil_ring(fds[1], RING_OFF(resp_offset), UINT64_MAX - 7);
			break;
		case 11:
			spoil_ring(fds[1], RING_OFF(resp_offset), 8);
			break;
		case 12:
			spoil_ring(fds[1], RING_OFF(resp_size), 0);
			break;
		case 13:
			close(fds[0]);
			fds[0] = open("/dev/null", O_RDWR | O_CLOEXEC);
			break;
		case 14:
			close(fds[1]);
			fds[1] = dup(sock);
			break;
		}
		err = wire_send_open(sock, &msg, fds, 4, message);
		ck_assert_msg(err == -EINVAL, "case %d: %d", i, err);
		ck_assert_uint_gt(strnlen(message, sizeof(message)), 0);
		for (int f = 0; f < 4; f++)
			close(fds[f]);
	}
	c = wire_client_worker(sock, 1, SHM_SIZE, RING_SIZE);
	make_objects();
	stop_worker();
}
END_TEST

START_TEST(wrong_number_of_descriptors)
{
	struct gpgpu_msg_open msg;
	int fds[4];

	for (int n = 0; n < 4; n++) {
		start_worker();
		right_open(&msg, fds);
		ck_assert_int_eq(wire_send_open(sock, &msg, fds, n, NULL), -EPIPE);
		check_exit(1);
		close(sock);
		for (int f = 0; f < 4; f++)
			close(fds[f]);
	}
	start_session();
	right_open(&msg, fds);
	/* The session is open already. */
	ck_assert_int_eq(wire_send_open(sock, &msg, fds, 4, NULL), -EPIPE);
	check_exit(1);
	wire_client_lost(c);
	wire_client_free(c);
	c = NULL;
}
END_TEST

START_TEST(unknown_session)
{
	struct gpgpu_msg msg;

	start_session();
	ck_assert_int_eq(wire_message(sock, GPGPU_MSG_PAUSE, 7, &msg, sizeof(msg)), -ENOENT);
	ck_assert_int_eq(wire_message(sock, GPGPU_MSG_CLOSE, 7, &msg, sizeof(msg)), -ENOENT);
	check_ok(wire_stats(c, &(struct virtio_gpgpu_resp_stats){ 0 }));
	stop_worker();
}
END_TEST

static void kick(void)
{
	/* The client does not export its eventfd; a request that is right wakes the worker as well. */
	struct virtio_gpgpu_req_hdr r = { 0 };

	wire_hdr(&r, VIRTIO_GPGPU_CMD_GET_STATS, 0, sizeof(r));
	wire_submit(c, GPGPU_QUEUE_CONTROL, &r, sizeof(r), 4096);
}

/* Whatever QEMU (or who took it over) writes into the ring, the worker ends in order and does not crash. */
START_TEST(broken_ring)
{
	struct gpgpu_ring *ring;
	struct gpgpu_record *record;

	for (int i = 0; i < 10; i++) {
		start_session();
		ring = wire_ring(c);
		record = (void *)((uint8_t *)ring + ring->req_offset);
		*record = (struct gpgpu_record){
			.size = sizeof(*record) + 32,
			.kind = GPGPU_RING_CONTROL,
			.length = 32,
			.capacity = 4096,
		};
		switch (i) {
		case 0:
			record->size = 0;
			break;
		case 1:
			record->size = 12;
			break;
		case 2:
			record->size = UINT32_MAX & ~7u;
			break;
		case 3:
			record->length = 40;
			break;
		case 4:
			record->length = UINT32_MAX;
			break;
		case 5:
			record->kind = 77;
			break;
		case 6:
			record->kind = GPGPU_RING_RESPONSE;
			break;
		case 7:
			record->capacity = UINT32_MAX;
			break;
		case 8: /* a tail that is further ahead than the ring is long */
			__atomic_store_n(&ring->req.tail, 3ull * RING_SIZE, __ATOMIC_SEQ_CST);
			break;
		case 9: /* a tail behind the head */
			__atomic_store_n(&ring->req.tail, UINT64_MAX - 7, __ATOMIC_SEQ_CST);
			break;
		}
		if (i < 8)
			__atomic_store_n(&ring->req.tail, record->size ? sizeof(*record) + 32 : 64,
					 __ATOMIC_SEQ_CST);
		plain(GPGPU_MSG_RESUME); /* wakes it */
		check_exit(1);
		wire_client_lost(c);
		wire_client_free(c);
		c = NULL;
		close(sock);
	}
}
END_TEST

/* A response head that makes no sense only harms whoever wrote it. */
START_TEST(broken_head)
{
	start_session();
	__atomic_store_n(&wire_ring(c)->resp.head, 12345, __ATOMIC_SEQ_CST);
	kick();
	sleep_ms(50);
	ck_assert_int_eq(plain(GPGPU_MSG_PAUSE), 0);
	wire_client_lost(c);
	wire_client_free(c);
	c = NULL;
	close(sock);
	check_exit(0);
}
END_TEST

/* ---- death ---- */

START_TEST(qemu_dies)
{
	start_session();
	make_objects();
	make_programs(c);
	wire_dispatch(c, CTX, next_point(), PROG_SPIN, (uint32_t[]){ 1 << 30, 1, 1 }, (uint32_t[]){ 1, 1, 1 },
		      NULL, 0);
	sleep_ms(20);
	close(sock);
	check_exit(0);
	wire_client_lost(c);
	wire_client_free(c);
	c = NULL;
}
END_TEST

/* Every process of this name whose parent is @parent, or its child. */
static pid_t find_child(pid_t parent, const char *name)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	pid_t found = -1;

	while (found < 0 && (entry = readdir(dir))) {
		char path[300], line[256] = "", comm[64] = "";
		int pid, ppid;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%.20s/stat", entry->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fgets(line, sizeof(line), f) &&
		    sscanf(line, "%d (%63[^)]) %*c %d", &pid, comm, &ppid) == 3 && ppid == parent &&
		    !strcmp(comm, name))
			found = pid;
		fclose(f);
	}
	closedir(dir);
	return found;
}

/* Has it ended? Whether somebody has looked at its status is not ours to know. */
static bool is_gone(pid_t pid)
{
	char path[64], state = 'Z';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return true;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 'Z';
	fclose(f);
	return state == 'Z';
}

/* The compiler is killed again and again; that costs at most the program that is in it. */
START_TEST(compiler_dies)
{
	pid_t keeper, jit;

	start_session();
	make_objects();
	for (int i = 0; i < 5; i++) {
		/* A different program each time, so that it has to be compiled. */
		const struct bpf_insn prog[] = { MOV(0, i), ALU(BPF_ADD, 0, i * 7), EXIT() };
		struct wire_answer *a;
		uint32_t status;

		status = load_prog(c, 100 + (uint32_t)i, VIRTIO_GPGPU_PROG_XDP, prog, 3, NULL, 0, &a);
		ck_assert_msg(!status, "round %d: status %u reason %u: %s", i, status, a->reason,
			      (char *)a->resp->prog.message);
		wire_answer_free(a);
		keeper = find_child(worker, "gpgpu-keeper");
		ck_assert_int_gt(keeper, 0);
		jit = find_child(keeper, "gpgpu-jit");
		ck_assert_int_gt(jit, 0);
		kill(jit, SIGKILL);
	}
	stop_worker();
	/* Nothing is left behind. */
	for (int tries = 0; tries < 500 && !is_gone(keeper); tries++)
		sleep_ms(10);
	ck_assert(is_gone(keeper));
}
END_TEST

START_TEST(keeper_dies)
{
	const struct bpf_insn prog[] = { MOV(0, 1), EXIT() };
	struct wire_answer *a;
	pid_t keeper;

	start_session();
	make_objects();
	keeper = find_child(worker, "gpgpu-keeper");
	kill(keeper, SIGKILL);
	sleep_ms(100);
	check_status(load_prog(c, 100, VIRTIO_GPGPU_PROG_XDP, prog, 2, NULL, 0, &a), REJECTED);
	ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_COMPILER);
	wire_answer_free(a);
	/* The rest goes on. */
	check_ok(wire_status(c, wire_nop(c, CTX, next_point())));
	stop_worker();
}
END_TEST

/* --listen: one machine after the other with --keep; without it the worker ends with its first. */
START_TEST(listening)
{
	char path[64];
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	snprintf(path, sizeof(path), "/tmp/gpgpu-worker-test.%d", (int)getpid());
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	worker = fork();
	if (!worker) {
		execl(getenv("GPGPU_WORKER"), "gpgpu-worker", "--listen", path, "--keep", "--jit",
		      getenv("GPGPU_JIT"), "--log", "/dev/null", NULL);
		_exit(127);
	}
	for (int round = 0; round < 3; round++) {
		struct gpgpu_msg_welcome welcome;
		int tries = 0;

		sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		while (connect(sock, (struct sockaddr *)&addr, sizeof(addr))) {
			ck_assert_int_lt(tries++, 1000);
			sleep_ms(10);
		}
		ck_assert(wire_hello(sock, &welcome));
		c = wire_client_worker(sock, 1, SHM_SIZE, RING_SIZE);
		make_objects();
		wire_client_free(c);
		close(sock);
	}
	c = NULL;
	kill(worker, SIGKILL);
	waitpid(worker, NULL, 0);
	unlink(path);
}
END_TEST

START_TEST(bad_options)
{
	static const char *const args[][4] = {
		{ NULL },
		{ "--fd", "1", "--listen", "/tmp/x" },
		{ "--fd", "zero" },
		{ "--fd", "1", "extra" },
		{ "--listen", "/nonexistent/socket" },
		{ "--fd", "1", "--jit", "/nonexistent" },
		{ "--frobnicate" },
	};

	for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++) {
		worker = fork();
		if (!worker) {
			const char *argv[6] = { "gpgpu-worker" };

			for (int a = 0; a < 4; a++)
				argv[a + 1] = args[i][a];
			if (!freopen("/dev/null", "w", stderr))
				_exit(127);
			execv(getenv("GPGPU_WORKER"), (char **)argv);
			_exit(127);
		}
		check_exit(1);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("worker");
	TCase *tc = tcase_create("worker");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, whole_path);
	tcase_add_test(tc, full_rings);
	tcase_add_test(tc, pause_and_resume);
	tcase_add_test(tc, reset_answers_all);
	tcase_add_test(tc, quota_message);
	tcase_add_test(tc, two_sessions);
	tcase_add_test(tc, bad_messages);
	tcase_add_test(tc, bad_sessions);
	tcase_add_test(tc, wrong_number_of_descriptors);
	tcase_add_test(tc, unknown_session);
	tcase_add_test(tc, broken_ring);
	tcase_add_test(tc, broken_head);
	tcase_add_test(tc, qemu_dies);
	tcase_add_test(tc, compiler_dies);
	tcase_add_test(tc, keeper_dies);
	tcase_add_test(tc, listening);
	tcase_add_test(tc, bad_options);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
