/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * client.c - the engine's side: asks the compiler process, checks and maps what comes back.
 *
 * Each call makes a socket pair of its own and sends one end along (wire.h), so calls from several threads
 * share nothing but the sending, which is one message. A compiler that was spawned here and has died is
 * noticed when sending fails and started again once per call; one that was passed in as a descriptor
 * stays dead.
 *
 * Nothing in the answer is believed: the image must be sealed, so that it cannot change under us, and its
 * numbers must fit it. What the code does is the sandbox's business: it comes from LLVM fed with a hostile
 * program.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <virtio_gpgpu.h>
#include "jit/jit.h"
#include "jit/message.h"
#include "jit/wire.h"

/*
 * What a compile for the CPU may take. Under AddressSanitizer LLVM's many small allocations make it two to three times as
 * slow.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CPU_SECONDS 6
#endif
#endif
#ifndef CPU_SECONDS
#define CPU_SECONDS 2
#endif

struct gp_jit {
	pthread_mutex_t lock; /* of what follows */
	int fd; /* -1: dead */
	pid_t pid; /* -1: not ours */
	int stop[2]; /* a socket pair; what is written to the first says gp_jit_stop() */
	bool may_spawn;
	char *program, *target; /* @target: NULL or a GPU */
	uint32_t cpu_seconds;
	uint64_t memory;
};

static bool spawn(struct gp_jit *jit, GError **error)
{
	char *argv[] = { jit->program, (char *)"--fd", (char *)"3", NULL, NULL, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno), "socketpair: %s",
			    g_strerror(errno));
		return false;
	}
	if (jit->target) {
		argv[3] = (char *)"--target";
		argv[4] = jit->target;
	}
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pair[1], 3);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	err = posix_spawn(&jit->pid, jit->program, &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	close(pair[1]);
	if (err) {
		close(pair[0]);
		jit->pid = -1;
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(err), "cannot start compiler %s: %s",
			    jit->program, g_strerror(err));
		return false;
	}
	jit->fd = pair[0];
	return true;
}

static void bury(struct gp_jit *jit)
{
	if (jit->fd >= 0)
		close(jit->fd);
	jit->fd = -1;
	if (jit->pid > 0) {
		kill(jit->pid, SIGKILL);
		waitpid(jit->pid, NULL, 0);
	}
	jit->pid = -1;
}

struct gp_jit *gp_jit_new(const struct gp_jit_options *options, GError **error)
{
	struct gp_jit *jit = g_new0(struct gp_jit, 1);
	bool is_gpu = options->target && options->target[0];

	pthread_mutex_init(&jit->lock, NULL);
	jit->fd = -1;
	jit->pid = -1;
	/* Without descriptors nothing is ever readable. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, jit->stop))
		jit->stop[0] = jit->stop[1] = -1;
	jit->cpu_seconds = options->cpu_seconds ? options->cpu_seconds : is_gpu ? 20 : CPU_SECONDS;
	jit->memory = options->memory ? options->memory : 1ull << 30;
	if (!options->program) {
		jit->fd = options->fd;
		if (jit->fd < 0) {
			g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_BADF,
				    "a compiler needs a program or a descriptor");
			gp_jit_free(jit);
			return NULL;
		}
		return jit;
	}
	jit->program = g_strdup(options->program);
	if (is_gpu)
		jit->target = g_strdup(options->target);
	jit->may_spawn = true;
	if (!spawn(jit, error)) {
		gp_jit_free(jit);
		return NULL;
	}
	return jit;
}

void gp_jit_free(struct gp_jit *jit)
{
	if (!jit)
		return;
	bury(jit);
	for (int i = 0; i < 2; i++)
		if (jit->stop[i] >= 0)
			close(jit->stop[i]);
	pthread_mutex_destroy(&jit->lock);
	g_free(jit->program);
	g_free(jit->target);
	g_free(jit);
}

int gp_jit_pid(const struct gp_jit *jit)
{
	return jit->pid;
}

/* The descriptor stays readable, so that whoever waits for an answer waits no longer. */
void gp_jit_stop(struct gp_jit *jit)
{
	if (write(jit->stop[0], "", 1) != 1)
		return; /* without descriptors */
}

void gp_jit_no_respawn(struct gp_jit *jit)
{
	pthread_mutex_lock(&jit->lock);
	jit->may_spawn = false;
	pthread_mutex_unlock(&jit->lock);
}

static struct gp_image *refused(struct gp_verdict *verdict, uint32_t reason, const char *message)
{
	memset(verdict, 0, sizeof(*verdict));
	verdict->status = VIRTIO_GPGPU_S_REJECTED;
	verdict->reason = reason;
	snprintf(verdict->message, sizeof(verdict->message), "%s", message);
	return NULL;
}

static int serialise(const struct gp_prog *prog)
{
	struct gp_jit_prog head = { .kind = prog->kind,
				    .flags = prog->flags,
				    .num_insns = prog->num_insns,
				    .num_maps = prog->num_maps,
				    .num_args = prog->num_args };
	int fd = gp_memory_file("gpgpu-program", false);

	if (fd < 0)
		return -1;
	memcpy(head.arg_kind, prog->arg_kind, sizeof(head.arg_kind));
	if (gp_write_all(fd, &head, sizeof(head)) &&
	    gp_write_all(fd, prog->maps, prog->num_maps * sizeof(*prog->maps)) &&
	    gp_write_all(fd, prog->insns, prog->num_insns * sizeof(*prog->insns)))
		return fd;
	close(fd);
	return -1;
}

/* Sends the request to a compiler that lives. Return: false if there is none. */
static bool ask(struct gp_jit *jit, const struct gp_jit_request *request, const int fds[2])
{
	bool sent = false;

	pthread_mutex_lock(&jit->lock);
	for (int tries = 0; tries < 2 && !sent; tries++) {
		if (jit->fd < 0 && (!jit->may_spawn || !spawn(jit, NULL)))
			break;
		sent = gp_message_send(jit->fd, request, sizeof(*request), fds, 2) == sizeof(*request);
		if (!sent)
			bury(jit);
	}
	pthread_mutex_unlock(&jit->lock);
	return sent;
}

static struct gp_image *map_image(const struct gp_jit_reply *reply, int fd, struct gp_verdict *verdict)
{
	bool is_text = reply->kind == GP_IMAGE_PTX;
	struct gp_image *image;
	struct stat st;
	void *code;

	if (fd < 0 || reply->kind > GP_IMAGE_PTX || !reply->code_bytes ||
	    reply->code_bytes > GP_JIT_MAX_CODE || reply->entry >= reply->code_bytes ||
	    fcntl(fd, F_GET_SEALS) != GP_JIT_SEALS || fstat(fd, &st) ||
	    st.st_size != (off_t)reply->code_bytes)
		return refused(verdict, VIRTIO_GPGPU_R_COMPILER, "compiler: its image is not sound");
	code = mmap(NULL, reply->code_bytes, is_text ? PROT_READ : PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (code == MAP_FAILED)
		return refused(verdict, VIRTIO_GPGPU_R_HOST_MEMORY, "compiler: its image cannot be mapped");
	if (is_text && memchr(code, 0, reply->code_bytes) != (char *)code + reply->code_bytes - 1) {
		munmap(code, reply->code_bytes);
		return refused(verdict, VIRTIO_GPGPU_R_COMPILER, "compiler: its text has no end");
	}
	image = g_new0(struct gp_image, 1);
	image->code = code;
	image->kind = (enum gp_image_kind)reply->kind;
	image->map_bytes = reply->code_bytes;
	image->code_bytes = reply->code_bytes;
	image->entry = reply->entry;
	image->cpu_ns = reply->cpu_ns;
	image->vgprs = reply->vgprs;
	image->sgprs = reply->sgprs;
	image->vgpr_spills = reply->vgpr_spills;
	image->sgpr_spills = reply->sgpr_spills;
	image->scratch_bytes = reply->scratch_bytes;
	image->lds_bytes = reply->lds_bytes;
	image->refs = 1;
	return image;
}

/* Reads which code is of which instruction. Return: false if that is not sound. */
static bool read_lines(struct gp_image *image, const struct gp_jit_reply *reply, int fd)
{
	size_t size = reply->num_lines * sizeof(struct gp_line);
	struct stat st;

	/* Such a file is sealed against becoming executable as well. */
	if (fd < 0 || reply->num_lines > GP_JIT_MAX_LINES ||
	    (fcntl(fd, F_GET_SEALS) & GP_JIT_SEALS) != GP_JIT_SEALS || fstat(fd, &st) ||
	    st.st_size != (off_t)size)
		return false;
	image->lines = g_malloc(size);
	if (pread(fd, image->lines, size, 0) != (ssize_t)size)
		return false;
	for (uint32_t i = 0; i < reply->num_lines; i++)
		if (image->lines[i].offset > reply->code_bytes ||
		    (i && image->lines[i].offset < image->lines[i - 1].offset))
			return false;
	image->num_lines = reply->num_lines;
	image->frame_bytes = reply->frame_bytes;
	return true;
}

static bool wait_for(int fd, int stop, uint32_t seconds)
{
	struct pollfd p[2] = { { .fd = fd, .events = POLLIN }, { .fd = stop, .events = POLLIN } };
	int n;

	do {
		n = poll(p, 2, (int)seconds * 1000);
	} while (n < 0 && errno == EINTR);
	return n > 0 && p[0].revents;
}

static struct gp_image *answer(struct gp_jit *jit, int fd, uint32_t flags, struct gp_verdict *verdict)
{
	struct gp_image *image = NULL;
	struct gp_jit_reply reply;
	int files[2] = { -1, -1 };
	ssize_t n;

	/* The compiler keeps the limit itself; this is for one that is stuck. */
	if (!wait_for(fd, jit->stop[1], GP_JIT_WALL_SECONDS(jit->cpu_seconds) + 5))
		return refused(verdict, VIRTIO_GPGPU_R_COMPILE_LIMIT, "compiler: no answer in time");
	n = gp_message_receive(fd, &reply, sizeof(reply), files, 2);
	if (n <= 0) {
		refused(verdict, VIRTIO_GPGPU_R_COMPILER, "compiler: its process died");
	} else if (n != sizeof(reply) || reply.magic != GP_JIT_MAGIC ||
		   reply.verdict.status >= VIRTIO_GPGPU_S_COUNT) {
		refused(verdict, VIRTIO_GPGPU_R_COMPILER, "compiler: answered nonsense");
	} else {
		*verdict = reply.verdict;
		verdict->message[GP_MESSAGE - 1] = 0;
		if (verdict->status == VIRTIO_GPGPU_S_OK)
			image = map_image(&reply, files[0], verdict);
		if (image && (flags & GP_PROG_LINES) && !read_lines(image, &reply, files[1])) {
			gp_image_unref(image);
			image = refused(verdict, VIRTIO_GPGPU_R_COMPILER,
					"compiler: its table of lines is not sound");
		}
	}
	for (int i = 0; i < 2; i++)
		if (files[i] >= 0)
			close(files[i]);
	return image;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct gp_image *compile(struct gp_jit *jit, const struct gp_prog *prog, uint32_t kernel,
				struct gp_verdict *verdict)
{
	struct gp_jit_request request = { .magic = GP_JIT_MAGIC,
					  .version = GP_JIT_VERSION,
					  .kernel = kernel,
					  .cpu_seconds = jit->cpu_seconds,
					  .memory = jit->memory,
					  .size = gp_jit_prog_bytes(prog->num_maps, prog->num_insns) };
	struct gp_image *image = NULL;
	uint64_t start = now_ns();
	int program, pair[2], fds[2];
	bool sent;

	program = serialise(prog);
	if (program < 0)
		return refused(verdict, VIRTIO_GPGPU_R_HOST_MEMORY, "no memory for the compiler's input");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		close(program);
		return refused(verdict, VIRTIO_GPGPU_R_HOST_MEMORY, "no socket for the compiler's answer");
	}
	fds[0] = program;
	fds[1] = pair[1];
	sent = ask(jit, &request, fds);
	close(program);
	close(pair[1]);
	if (sent)
		image = answer(jit, pair[0], prog->flags, verdict);
	else
		refused(verdict, VIRTIO_GPGPU_R_COMPILER, "compiler: its process is gone");
	close(pair[0]);
	if (image)
		image->compile_ns = now_ns() - start;
	return image;
}

struct gp_image *gp_jit_compile(struct gp_jit *jit, const struct gp_prog *prog, struct gp_verdict *verdict)
{
	return compile(jit, prog, GP_JIT_PROGRAM, verdict);
}

struct gp_image *gp_jit_kernel(struct gp_jit *jit, enum gp_kernel kernel, struct gp_verdict *verdict)
{
	static const struct gp_prog none;

	return compile(jit, &none, kernel, verdict);
}

struct gp_image *gp_image_ref(struct gp_image *image)
{
	__atomic_add_fetch(&image->refs, 1, __ATOMIC_RELAXED);
	return image;
}

void gp_image_improve(struct gp_image *image, struct gp_image *better)
{
	__atomic_store_n(&image->better, better, __ATOMIC_RELEASE);
}

void gp_image_unref(struct gp_image *image)
{
	if (!image || __atomic_sub_fetch(&image->refs, 1, __ATOMIC_ACQ_REL))
		return;
	gp_image_unref(image->better);
	munmap(image->code, image->map_bytes);
	g_free(image->lines);
	g_free(image);
}
