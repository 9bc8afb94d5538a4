/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control.c - options, and what a test tells a running card: one grammar for both.
 *
 * The environment's AMDGPU_SIM holds commands with ';' between them, read when the first node is looked for;
 * amdgpu_sim_control() takes one at any time, and so does the named pipe, if there is one, which a thread reads.
 * Commands are rows of a table. README.md describes them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "card.h"

#define MAX_WORDS 6

/* The Nth call of an ioctl fails once. */
struct injection {
	unsigned int nr;
	uint32_t left;
	int error;
};

static struct injection injections[16];
static size_t num_injections;

/* A command for when some more jobs have been submitted. */
struct later {
	uint32_t left;
	char command[256];
};

static struct later laters[16];
static size_t num_laters;

struct name {
	const char *text;
	int value;
};

static const struct name ioctls[] = {
	{ "VERSION", _IOC_NR(DRM_IOCTL_VERSION) },
	{ "GET_CAP", _IOC_NR(DRM_IOCTL_GET_CAP) },
	{ "GEM_CLOSE", _IOC_NR(DRM_IOCTL_GEM_CLOSE) },
	{ "PRIME_HANDLE_TO_FD", _IOC_NR(DRM_IOCTL_PRIME_HANDLE_TO_FD) },
	{ "PRIME_FD_TO_HANDLE", _IOC_NR(DRM_IOCTL_PRIME_FD_TO_HANDLE) },
	{ "SYNCOBJ_CREATE", _IOC_NR(DRM_IOCTL_SYNCOBJ_CREATE) },
	{ "SYNCOBJ_DESTROY", _IOC_NR(DRM_IOCTL_SYNCOBJ_DESTROY) },
	{ "SYNCOBJ_WAIT", _IOC_NR(DRM_IOCTL_SYNCOBJ_WAIT) },
	{ "SYNCOBJ_TIMELINE_WAIT", _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT) },
	{ "SYNCOBJ_TIMELINE_SIGNAL", _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL) },
	{ "SYNCOBJ_QUERY", _IOC_NR(DRM_IOCTL_SYNCOBJ_QUERY) },
	{ "GEM_CREATE", DRM_COMMAND_BASE + DRM_AMDGPU_GEM_CREATE },
	{ "GEM_MMAP", DRM_COMMAND_BASE + DRM_AMDGPU_GEM_MMAP },
	{ "GEM_METADATA", DRM_COMMAND_BASE + DRM_AMDGPU_GEM_METADATA },
	{ "GEM_WAIT_IDLE", DRM_COMMAND_BASE + DRM_AMDGPU_GEM_WAIT_IDLE },
	{ "GEM_VA", DRM_COMMAND_BASE + DRM_AMDGPU_GEM_VA },
	{ "GEM_OP", DRM_COMMAND_BASE + DRM_AMDGPU_GEM_OP },
	{ "GEM_USERPTR", DRM_COMMAND_BASE + DRM_AMDGPU_GEM_USERPTR },
	{ "CTX", DRM_COMMAND_BASE + DRM_AMDGPU_CTX },
	{ "BO_LIST", DRM_COMMAND_BASE + DRM_AMDGPU_BO_LIST },
	{ "CS", DRM_COMMAND_BASE + DRM_AMDGPU_CS },
	{ "INFO", DRM_COMMAND_BASE + DRM_AMDGPU_INFO },
	{ "WAIT_CS", DRM_COMMAND_BASE + DRM_AMDGPU_WAIT_CS },
	{ "WAIT_FENCES", DRM_COMMAND_BASE + DRM_AMDGPU_WAIT_FENCES },
	{ "VM", DRM_COMMAND_BASE + DRM_AMDGPU_VM },
	{ "FENCE_TO_HANDLE", DRM_COMMAND_BASE + DRM_AMDGPU_FENCE_TO_HANDLE },
	{ "SCHED", DRM_COMMAND_BASE + DRM_AMDGPU_SCHED },
	{ "UDMABUF_CREATE", SIM_NR_UDMABUF },
	{ "open", SIM_NR_OPEN },
};

static const struct name errnos[] = {
	{ "EPERM", EPERM },   { "ENOENT", ENOENT },	    { "EINTR", EINTR },		{ "EIO", EIO },
	{ "EAGAIN", EAGAIN }, { "ENOMEM", ENOMEM },	    { "EACCES", EACCES },	{ "EFAULT", EFAULT },
	{ "EBUSY", EBUSY },   { "ENODEV", ENODEV },	    { "EINVAL", EINVAL },	{ "ENOSPC", ENOSPC },
	{ "ETIME", ETIME },   { "ECANCELED", ECANCELED },   { "ENODATA", ENODATA },	{ "EBADF", EBADF },
	{ "EBADFD", EBADFD }, { "EOPNOTSUPP", EOPNOTSUPP }, { "EHWPOISON", EHWPOISON }, { "EMFILE", EMFILE },
};

static int look_up(const struct name *names, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i].text, text))
			return names[i].value;
	return -1;
}

static bool number(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	if (errno || end == text)
		return false;
	switch (*end) {
	case 'G':
		*value <<= 10;
		/* fall through */
	case 'M':
		*value <<= 10;
		/* fall through */
	case 'K':
		*value <<= 10;
		end++;
		break;
	default:
		break;
	}
	return !*end;
}

static bool copy(char *to, size_t size, const char *from)
{
	return (size_t)snprintf(to, size, "%s", from) < size;
}

static bool on_off(const char *text, bool *value)
{
	if (strcmp(text, "on") && strcmp(text, "off"))
		return false;
	*value = !strcmp(text, "on");
	return true;
}

/* Each takes its arguments; @n of them. */
static bool set_node(char **a, int n)
{
	return copy(sim.options.node, sizeof(sim.options.node), a[0]);
}

static bool set_generation(char **a, int n)
{
	return copy(sim.options.generation, sizeof(sim.options.generation), a[0]);
}

static bool set_units(char **a, int n)
{
	return number(a[0], &sim.options.units) && sim.options.units;
}

static bool set_vram(char **a, int n)
{
	return number(a[0], &sim.options.vram) && sim.options.vram && !(sim.options.vram % SIM_PAGE);
}

static bool set_gtt(char **a, int n)
{
	return number(a[0], &sim.options.gtt) && sim.options.gtt && !(sim.options.gtt % SIM_PAGE);
}

static bool set_seed(char **a, int n)
{
	sim.options.changes++;
	return number(a[0], &sim.options.seed);
}

static bool set_instructions(char **a, int n)
{
	sim.options.changes++;
	return number(a[0], &sim.options.instructions);
}

static bool set_family(char **a, int n)
{
	return number(a[0], &sim.options.family) && number(a[1], &sim.options.revision) &&
	       sim.options.family && sim.options.family <= UINT32_MAX && sim.options.revision <= UINT32_MAX;
}

static bool set_driver(char **a, int n)
{
	return number(a[0], &sim.options.minor) && sim.options.minor < 1000 &&
	       (n < 2 || copy(sim.options.driver, sizeof(sim.options.driver), a[1]));
}

static bool set_poison(char **a, int n)
{
	return number(a[0], &sim.options.poison);
}

static bool set_timeout(char **a, int n)
{
	uint64_t ms;

	if (!number(a[0], &ms) || ms > 1000000000)
		return false;
	sim.options.timeout = (int64_t)ms * 1000000;
	pthread_cond_broadcast(&sim.changed);
	return true;
}

static bool set_clock(char **a, int n)
{
	uint64_t ns;

	if (!number(a[0], &ns) || !ns || ns > 1000000000)
		return false;
	sim.options.clock = ns;
	return true;
}

static bool set_caches(char **a, int n)
{
	bool all;

	if (!strcmp(a[0], "l1")) {
		sim.options.l1 = true;
		sim.options.l2 = false;
		return true;
	}
	if (!on_off(a[0], &all))
		return false;
	sim.options.l1 = sim.options.l2 = all;
	return true;
}

static bool set_list(char **a, int n)
{
	sim.options.list_strict = !strcmp(a[0], "strict");
	return sim.options.list_strict || !strcmp(a[0], "lax");
}

static bool set_recovery(char **a, int n)
{
	sim.options.hard = !strcmp(a[0], "hard");
	sim.options.ring_reset = !strcmp(a[0], "ring");
	if (n > 1 && strcmp(a[1], "vram-lost"))
		return false;
	sim.options.reset_loses = n > 1;
	return sim.options.hard || sim.options.ring_reset || !strcmp(a[0], "soft");
}

static bool fail(char **a, int n)
{
	int nr = look_up(ioctls, sizeof(ioctls) / sizeof(*ioctls), a[0]);
	int error = look_up(errnos, sizeof(errnos) / sizeof(*errnos), a[2]);
	uint64_t left;

	if (nr < 0 || error < 0 || !number(a[1], &left) || !left || left > UINT32_MAX ||
	    num_injections == sizeof(injections) / sizeof(*injections))
		return false;
	injections[num_injections++] = (struct injection){ (unsigned int)nr, (uint32_t)left, -error };
	return true;
}

static bool do_reset(char **a, int n)
{
	bool guilty = !strcmp(a[0], "guilty");

	if ((!guilty && strcmp(a[0], "innocent")) || (n > 1 && strcmp(a[1], "vram-lost")))
		return false;
	sim_ring_reset(guilty, n > 1);
	return true;
}

static bool do_unplug(char **a, int n)
{
	sim_ring_unplug();
	return true;
}

static bool do_hang(char **a, int n)
{
	sim.hang = true;
	return true;
}

static bool enomem(char **a, int n)
{
	uint64_t count;

	if (!number(a[0], &count) || count > UINT32_MAX)
		return false;
	sim.enomem = (uint32_t)count;
	return true;
}

static bool set_listen(char **a, int n)
{
	return copy(sim.options.listen, sizeof(sim.options.listen), a[0]);
}

static bool after(char **a, int n);

static bool set_capture(char **a, int n)
{
	return copy(sim.options.capture, sizeof(sim.options.capture), strcmp(a[0], "off") ? a[0] : "");
}

static bool set_statistics(char **a, int n)
{
	if (!strcmp(a[0], "now")) {
		sim_statistics();
		return true;
	}
	return copy(sim.options.statistics, sizeof(sim.options.statistics), a[0]);
}

static bool set_trace(char **a, int n)
{
	uint64_t lane = 0;

	sim.options.changes++;
	if (!strcmp(a[0], "off")) {
		sim.options.trace_packets = sim.options.trace_instructions = false;
		return true;
	}
	if (n < 2 || !copy(sim.options.trace, sizeof(sim.options.trace), a[1]))
		return false;
	if (!strcmp(a[0], "packets")) {
		sim.options.trace_packets = true;
		return true;
	}
	if (strcmp(a[0], "instructions") || (n > 2 && (!number(a[2], &lane) || lane > 63)))
		return false;
	sim.options.trace_instructions = true;
	sim.options.trace_lane = (uint32_t)lane;
	return true;
}

static const struct command {
	const char *word;
	int least, most; /* arguments */
	bool early; /* only before the card is there */
	bool (*run)(char **a, int n);
} commands[] = {
	{ "node", 1, 1, true, set_node },	 { "generation", 1, 1, true, set_generation },
	{ "units", 1, 1, true, set_units },	 { "vram", 1, 1, true, set_vram },
	{ "gtt", 1, 1, true, set_gtt },		 { "poison", 1, 1, false, set_poison },
	{ "seed", 1, 1, false, set_seed },	 { "instructions", 1, 1, false, set_instructions },
	{ "timeout", 1, 1, false, set_timeout }, { "caches", 1, 1, false, set_caches },
	{ "list", 1, 1, false, set_list },	 { "recovery", 1, 2, false, set_recovery },
	{ "fail", 3, 3, false, fail },		 { "reset", 1, 2, false, do_reset },
	{ "unplug", 0, 0, false, do_unplug },	 { "hang", 0, 0, false, do_hang },
	{ "enomem-cs", 1, 1, false, enomem },	 { "after", 2, MAX_WORDS - 1, false, after },
	{ "listen", 1, 1, true, set_listen },	 { "capture", 1, 1, false, set_capture },
	{ "trace", 1, 3, false, set_trace },	 { "statistics", 1, 1, false, set_statistics },
	{ "clock", 1, 1, false, set_clock },	 { "family", 2, 2, true, set_family },
	{ "driver", 1, 2, true, set_driver },
};

/* The command with the name @word that takes @n arguments, or NULL. */
static const struct command *find(const char *word, int n)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		const struct command *c = &commands[i];

		if (!strcmp(c->word, word))
			return n < c->least || n > c->most || (c->early && sim.started) ? NULL : c;
	}
	return NULL;
}

static bool after(char **a, int n)
{
	const struct command *c = find(a[1], n - 2);
	struct later later = { 0 };
	uint64_t left;
	size_t at = 0;

	if (!c || c->early || c->run == after || !number(a[0], &left) || !left || left > UINT32_MAX ||
	    num_laters == sizeof(laters) / sizeof(*laters))
		return false;
	later.left = (uint32_t)left;
	for (int i = 1; i < n; i++) {
		int length = snprintf(later.command + at, sizeof(later.command) - at, "%s ", a[i]);

		at += (size_t)length;
		if (at >= sizeof(later.command))
			return false;
	}
	laters[num_laters++] = later;
	return true;
}

static bool run_command(const char *text)
{
	char copied[512], *words[MAX_WORDS], *save = NULL;
	const struct command *c;
	int n = 0;

	if (!copy(copied, sizeof(copied), text))
		return false;
	for (char *w = strtok_r(copied, " \t\n", &save); w; w = strtok_r(NULL, " \t\n", &save)) {
		if (n == MAX_WORDS)
			return false;
		words[n++] = w;
	}
	if (!n)
		return true;
	c = find(words[0], n - 1);
	return c && c->run(words + 1, n - 1);
}

void sim_submitted(void)
{
	for (size_t i = 0; i < num_laters;) {
		struct later later = laters[i];

		if (--laters[i].left) {
			i++;
			continue;
		}
		laters[i] = laters[--num_laters];
		if (!run_command(later.command))
			sim_say("after: '%s' cannot be done now", later.command);
	}
}

bool sim_control(const char *command)
{
	bool ok;

	sim_options_read();
	pthread_mutex_lock(&sim.lock);
	ok = run_command(command);
	pthread_mutex_unlock(&sim.lock);
	if (!ok)
		sim_say("'%s' is not a command, or not now", command);
	return ok;
}

/* What comes through the pipe, line by line, until nobody can write to it any more, which is never. */
static void *listen_thread(void *opaque)
{
	int fd = *(int *)opaque;
	char line[512];
	size_t used = 0;

	for (;;) {
		ssize_t n = read(fd, line + used, sizeof(line) - 1 - used);
		char *end;

		if (n <= 0)
			return NULL;
		used += (size_t)n;
		line[used] = 0;
		while ((end = strchr(line, '\n'))) {
			*end++ = 0;
			sim_control(line);
			used -= (size_t)(end - line);
			memmove(line, end, used + 1);
		}
		if (used == sizeof(line) - 1)
			used = 0;
	}
}

int sim_listen(void)
{
	static pthread_t thread;
	static int fd;

	if (!*sim.options.listen)
		return 0;
	/* For writing, too: so it neither waits for a writer nor ends with the last one. */
	fd = open(sim.options.listen, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		int error = -errno;

		sim_say("%s cannot be listened to", sim.options.listen);
		return error;
	}
	return sim_thread_start(&thread, listen_thread, &fd);
}

static void read_environment(void)
{
	const char *text = getenv("AMDGPU_SIM");
	char *copied = text ? strdup(text) : NULL, *save = NULL;

	sim.options = (struct sim_options_card){ .node = "/dev/dri/renderD128",
						 .generation = "gfx900",
						 .poison = 64 << 20,
						 .timeout = 60000000000,
						 .clock = 200,
						 .minor = 59, /* Linux 6.12 */
						 .driver = "amdgpu",
						 .l1 = true,
						 .l2 = true,
						 .list_strict = true };
	for (char *c = copied ? strtok_r(copied, ";", &save) : NULL; c; c = strtok_r(NULL, ";", &save))
		if (!run_command(c)) {
			/* A test that did not get what it asked for must not go on. */
			sim_say("AMDGPU_SIM: '%s' is not a command", c);
			_exit(125);
		}
	free(copied);
}

void sim_options_read(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_environment);
}

int sim_injected(unsigned int nr)
{
	for (size_t i = 0; i < num_injections; i++) {
		struct injection in = injections[i];

		if (in.nr != nr)
			continue;
		if (--injections[i].left)
			continue;
		injections[i] = injections[--num_injections];
		return in.error;
	}
	return 0;
}

void sim_say(const char *format, ...)
{
	char line[512] = "amdgpu-sim: ";
	int used = (int)strlen(line);
	va_list args;

	va_start(args, format);
	vsnprintf(line + used, sizeof(line) - 1 - (size_t)used, format, args);
	va_end(args);
	strcat(line, "\n");
	/* Not by stdio: whoever calls may hold its lock, and may be locked in. */
	if (write(STDERR_FILENO, line, strlen(line)) < 0)
		return;
}
