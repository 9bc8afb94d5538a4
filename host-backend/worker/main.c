/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpgpu-worker - the engine for one virtual machine, in a process of its own.
 *
 * How it works: QEMU starts it and passes a socket (--fd), or finds it at a path (--listen). It starts
 * the keeper of the compiler, the engine and its threads, closes its sandbox, and serves one connection. When
 * that ends so does the worker, so that nothing of one machine is left for another; --keep accepts the next one,
 * for tests and for a machine that QEMU is started for again and again.
 *
 * Exit status: 0 if the other side went away, 1 with one line in the log if something was wrong.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "worker.h"

/*
 * Of every thread. Programs run on all of them, in frames as large as the guest likes: 1.7 MiB for the worst of the
 * longest, if its compiler has the time. No frame reaches across the guard.
 */
#define STACK_BYTES (6u << 20)
#define GUARD_BYTES (2u << 20)

struct options {
	int fd, jit_fd;
	char *listen, *jit, *log, *device;
	int threads, slice_us;
	gint64 memory, interleave;
	gboolean keep;
};

static bool parse(int argc, char **argv, struct options *o, GError **error)
{
	const GOptionEntry entries[] = {
		{ "fd", 0, 0, G_OPTION_ARG_INT, &o->fd, "Serve this connected socket", "N" },
		{ "listen", 0, 0, G_OPTION_ARG_FILENAME, &o->listen, "Accept a connection here", "PATH" },
		{ "keep", 0, 0, G_OPTION_ARG_NONE, &o->keep, "With --listen: accept another one afterwards",
		  NULL },
		{ "device", 0, 0, G_OPTION_ARG_STRING, &o->device,
		  "What runs programs: cpu (default), or amdgpu, and behind a colon its render node or PCI address, or cuda, "
		  "likewise its number, UUID or PCI address",
		  "DEVICE" },
		{ "threads", 0, 0, G_OPTION_ARG_INT, &o->threads,
		  "Device threads (default: one per processor)", "N" },
		{ "slice-us", 0, 0, G_OPTION_ARG_INT, &o->slice_us,
		  "Planned length of a slice (default: 2000)", "N" },
		{ "interleave", 0, 0, G_OPTION_ARG_INT64, &o->interleave,
		  "To find races in programs: run packets and work items interleaved, by this seed (slow)",
		  "SEED" },
		{ "jit", 0, 0, G_OPTION_ARG_FILENAME, &o->jit,
		  "The compiler (default: gpgpu-jit beside this program)", "PATH" },
		{ "jit-fd", 0, 0, G_OPTION_ARG_INT, &o->jit_fd, "Socket to a running compiler", "N" },
		{ "memory", 0, 0, G_OPTION_ARG_INT64, &o->memory,
		  "Bytes of memory that the process may take (default: no limit)", "N" },
		{ "log", 0, 0, G_OPTION_ARG_FILENAME, &o->log, "Log here, not to standard error", "FILE" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	g_autoptr(GOptionContext) context = g_option_context_new("- run a virtio-gpgpu device for QEMU");

	*o = (struct options){ .fd = -1, .jit_fd = -1, .interleave = -1 };
	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, error))
		return false;
	if (argc > 1)
		g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, "unexpected '%s'", argv[1]);
	else if ((o->fd >= 0) == (o->listen != NULL))
		g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
				    "give either --fd or --listen");
	else if (o->threads < 0 || o->threads > 256 || o->slice_us < 0 || o->memory < 0)
		g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
				    "a number is out of bounds");
	else
		return true;
	return false;
}

/* What QEMU had open when it started this process, and did not mean for it. */
static void close_inherited(int fd, int jit_fd)
{
	unsigned int first = (unsigned int)fd + 1, keep = (unsigned int)jit_fd;
	int err;

	if (jit_fd > fd) {
		err = keep > first ? close_range(first, keep - 1, 0) : 0;
		first = keep + 1;
		if (err)
			die("cannot close what was inherited: %s", strerror(errno));
	}
	if (close_range(first, ~0u, 0))
		die("cannot close what was inherited: %s", strerror(errno));
}

/* gpgpu-jit beside this program. */
static char *find_jit(void)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *dir = self ? g_path_get_dirname(self) : NULL;
	char *path = dir ? g_build_filename(dir, "gpgpu-jit", NULL) : NULL;

	if (path && !access(path, X_OK))
		return path;
	g_free(path);
	/* As the build folder has it. */
	path = dir ? g_build_filename(dir, "..", "jit", "gpgpu-jit", NULL) : NULL;
	if (path && !access(path, X_OK))
		return path;
	g_free(path);
	return NULL;
}

static int listen_at(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct stat st;
	mode_t mask;

	if (fd < 0 || strlen(path) >= sizeof(addr.sun_path))
		die("cannot listen at %s: %s", path, fd < 0 ? strerror(errno) : "the path is too long");
	g_strlcpy(addr.sun_path, path, sizeof(addr.sun_path));
	/* What an earlier worker left behind; anything but a socket is not ours to remove. */
	if (!lstat(path, &st) && S_ISSOCK(st.st_mode))
		unlink(path);
	mask = umask(0177);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 1))
		die("cannot listen at %s: %s", path, strerror(errno));
	umask(mask);
	return fd;
}

static int accept_one(int fd)
{
	int connected;

	do {
		connected = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	} while (connected < 0 && errno == EINTR);
	if (connected < 0)
		die("cannot accept a connection: %s", strerror(errno));
	return connected;
}

/* Whatever limit the worker was started with. */
static bool set_stacks(void)
{
	pthread_attr_t attr;
	bool ok;

	pthread_attr_init(&attr);
	ok = !pthread_attr_setstacksize(&attr, STACK_BYTES) &&
	     !pthread_attr_setguardsize(&attr, GUARD_BYTES) && !pthread_setattr_default_np(&attr);
	pthread_attr_destroy(&attr);
	return ok;
}

static struct gpgpu_engine *make_engine(const struct options *o)
{
	g_autoptr(GError) error = NULL;
	struct gpgpu_engine *engine;
	struct gpgpu_engine_options options = {
		.device = o->device,
		.threads = (uint32_t)o->threads,
		.slice_us = (uint32_t)o->slice_us,
		.jit_fd = o->jit_fd,
		.interleave = o->interleave >= 0,
		.interleave_seed = (uint64_t)o->interleave,
		.lost = connection_lost,
	};
	static int control = -1;

	if (o->jit_fd < 0) {
		g_autofree char *jit = o->jit ? g_strdup(o->jit) : find_jit();

		if (!jit)
			die("there is no gpgpu-jit beside this program: give --jit");
		control = compiler_start(jit, &error);
		if (control < 0)
			die("%s", error->message);
		options.jit_connect = compiler_connect;
		options.jit_opaque = &control;
	}
	engine = gpgpu_engine_new(&options, &error);
	if (!engine)
		die("%s", error->message);
	return engine;
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	struct gpgpu_engine *engine;
	struct options o;
	int listening = -1, err;

	if (!parse(argc, argv, &o, &error))
		die("%s", error->message);
	if (o.fd >= 0)
		close_inherited(o.fd, o.jit_fd);
	err = log_open(o.log);
	if (err)
		die("cannot open %s: %s", o.log, strerror(-err));
	signal(SIGPIPE, SIG_IGN);
	/* Requests and responses of large batches come and go: from the heap, not from the kernel each time. */
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	if (o.fd >= 0) {
		/* Started by QEMU: no longer needed than it. */
		if (prctl(PR_SET_PDEATHSIG, SIGKILL))
			die("cannot ask to be ended with QEMU: %s", strerror(errno));
	} else {
		listening = listen_at(o.listen);
	}
	if (!set_stacks())
		die("cannot set the size of stacks");
	engine = make_engine(&o);
	if (o.device)
		log_line("%s", gpgpu_engine_device_name(engine));
	if (!sandbox_enter((uint64_t)o.memory, o.device, &error))
		die("%s", error->message);
	do {
		connection_serve(engine, listening >= 0 ? accept_one(listening) : o.fd);
	} while (listening >= 0 && o.keep);
	gpgpu_engine_free(engine);
	g_free(o.listen);
	g_free(o.jit);
	g_free(o.log);
	g_free(o.device);
	return 0;
}
