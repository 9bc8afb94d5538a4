/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_worker_bad.c - what makes no sense on the socket and in the ring: the worker says why and ends with
 * status 1, or refuses a session and goes on.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "worker_fixture.h"

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
	make_worker_objects();
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
	worker_lost();
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
		worker_lost();
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
	worker_lost();
	close(sock);
	check_exit(0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("worker_bad");
	TCase *tc = tcase_create("what makes no sense");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, bad_messages);
	tcase_add_test(tc, bad_sessions);
	tcase_add_test(tc, wrong_number_of_descriptors);
	tcase_add_test(tc, unknown_session);
	tcase_add_test(tc, broken_ring);
	tcase_add_test(tc, broken_head);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
