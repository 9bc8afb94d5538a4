/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_worker_death.c - QEMU, the compiler and its keeper die; workers that are started before QEMU; options.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "worker_fixture.h"

START_TEST(qemu_dies)
{
	start_session();
	make_worker_objects();
	make_programs(c);
	wire_dispatch(c, CTX, next_point(), PROG_SPIN, (uint32_t[]){ 1 << 30, 1, 1 }, (uint32_t[]){ 1, 1, 1 },
		      NULL, 0);
	sleep_ms(20);
	close(sock);
	check_exit(0);
	worker_lost();
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
	make_worker_objects();
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
	pid_t keeper, jit = -1;

	start_session();
	make_worker_objects();
	keeper = find_child(worker, "gpgpu-keeper");
	/* It may still be about to become one. */
	for (int tries = 0; tries < 500 && jit < 0; tries++) {
		jit = find_child(keeper, "gpgpu-jit");
		sleep_ms(10);
	}
	ck_assert_int_gt(jit, 0);
	kill(keeper, SIGKILL);
	for (int tries = 0; tries < 500 && !is_gone(jit); tries++)
		sleep_ms(10);
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
		make_worker_objects();
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
	Suite *suite = suite_create("worker_death");
	TCase *tc = tcase_create("death");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, qemu_dies);
	tcase_add_test(tc, compiler_dies);
	tcase_add_test(tc, keeper_dies);
	tcase_add_test(tc, listening);
	tcase_add_test(tc, bad_options);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
