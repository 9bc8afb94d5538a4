/* SPDX-License-Identifier: BSD-3-Clause */
/* worker_fixture.c - see worker_fixture.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "worker_fixture.h"

int sock = -1;
pid_t worker;
struct wire_client *c;

void start_worker(void)
{
	/* By hand on a card, too, whose driver the sandbox has to let do its work. */
	const char *named = getenv("GPGPU_TEST_DEVICE"), *device = named ? named : "cpu";
	const char *args[] = { "--jit",	    getenv("GPGPU_JIT"), "--threads", "2", "--log",
			       "/dev/null", "--device",		 device,      NULL };
	struct gpgpu_msg_welcome welcome;

	sock = wire_spawn(getenv("GPGPU_WORKER"), &worker, args);
	ck_assert(wire_hello(sock, &welcome));
	ck_assert_uint_eq(welcome.pid, (uint32_t)worker);
	ck_assert_uint_eq(welcome.threads, named ? 1 : 2);
	ck_assert_int_eq(strncmp(welcome.device, device, strcspn(device, ":")), 0);
}

void start_session(void)
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

void check_exit(int code)
{
	int status = wait_status();

	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), code);
}

/* The worker ends when QEMU goes, with status 0. */
void stop_worker(void)
{
	if (c)
		wire_client_free(c);
	c = NULL;
	close(sock);
	check_exit(0);
}

int plain(uint32_t type)
{
	struct gpgpu_msg msg;

	return wire_message(sock, type, 1, &msg, sizeof(msg));
}

int reset(uint32_t generation)
{
	struct gpgpu_msg_reset msg = { .features = 3, .generation = generation };

	return wire_message(sock, GPGPU_MSG_RESET, 1, &msg, sizeof(msg));
}

void worker_lost(void)
{
	wire_client_lost(c);
	wire_client_free(c);
	c = NULL;
}

void make_worker_objects(void)
{
	check_ok(wire_simple(c, VIRTIO_GPGPU_CMD_CTX_CREATE, CTX, NULL));
	check_ok(wire_buffer(c, CTX, BUF_SHM, VIRTIO_GPGPU_MEM_SHM, 0, SHM_SIZE));
	check_ok(wire_map(c, CTX, MAP_ARRAY, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, 0));
}
