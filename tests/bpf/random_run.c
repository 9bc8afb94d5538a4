// SPDX-License-Identifier: BSD-3-Clause
/*
 * random_run.c - random programs on every target that this machine has, compared with the interpreter.
 *
 * How it works: the parent forks workers, one per CPU. Each opens the targets for itself (so each has an engine and a
 * compiler of its own) and takes the next seed from a counter in shared memory until all are done. A worker that finds
 * a difference minimises the program and prints it, one worker at a time. A worker that dies takes its seed's
 * number with it, and the parent says so.
 *
 * Seeds make the programs, so a run from a fixed seed is the same everywhere, however many workers it has.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "compare.h"

#define MAX_TARGETS  16
#define MAX_JOBS     64
#define MAX_REPORTED 5 /* differences that are minimised; more are counted */
#define FEW	     16 /* instructions of a minimised program, for --find */

static const char usage_text[] =
	"usage: random [OPTION...]\n"
	"  --seed N|fresh     first seed (1); fresh: from the clock\n"
	"  --count M          programs (1000); 0: for ever\n"
	"  --device NAME      a target, more than once for more; all that this machine has unless named\n"
	"  --jobs J           programs at a time; one per CPU\n"
	"  --find             each target must differ, and the program become small: proves the test\n"
	"  --show             print the programs, too\n"
	"  --without WHAT     maps, loop, tails or more: what a device does not have yet; more than once for more\n"
	"  --program HEX      this one instead, on the seed's input\n"
	"  --packets K        only the first K packets of the input\n";

struct tally {
	_Atomic uint64_t ran, refused, wrong, ordered;
	_Atomic uint32_t smallest; /* instructions of a minimised program */
	_Atomic uint64_t found_at; /* programs until the first difference */
};

static struct shared {
	_Atomic uint64_t next; /* program that nobody has taken */
	_Atomic uint64_t faults, kernels, unexpected, instructions;
	_Atomic uint32_t reported;
	_Atomic uint64_t current[MAX_JOBS]; /* seed + 1 that a worker is at, or 0 */
	struct tally tally[MAX_TARGETS];
} *shared;

static struct {
	uint64_t seed, count;
	uint32_t jobs, packets, without;
	bool find, show;
	struct bpf_insn *program;
	uint32_t num_program;
} options = { .seed = 1, .count = 1000 };

static const struct target *used[MAX_TARGETS];
static const char *why_not[MAX_TARGETS];
static uint32_t num_used;
static bool asked; /* targets by name: they get every program */
static int print_lock = -1;

static _Noreturn void usage(FILE *to)
{
	fputs(usage_text, to);
	fprintf(to, "targets:");
	for (uint32_t i = 0; i < num_targets; i++)
		fprintf(to, " %s", targets[i]->name);
	fprintf(to, "\n");
	exit(to == stderr ? 2 : 0);
}

/* ------------------------------------------------------------------ one program */
static void report(uint32_t t, struct random_case *made, const struct difference *difference)
{
	uint32_t left;

	if (atomic_fetch_add(&shared->reported, 1) >= MAX_REPORTED && !options.find)
		return;
	flock(print_lock, LOCK_EX);
	left = compare_report(used[t], made, difference);
	flock(print_lock, LOCK_UN);
	if (!shared->tally[t].smallest || left < shared->tally[t].smallest)
		shared->tally[t].smallest = left;
}

static void on_target(uint32_t t, struct random_case *made, const struct outcome *expected, uint64_t index)
{
	struct tally *tally = &shared->tally[t];
	struct difference difference = { 0 };

	if (used[t]->kernel && made->no_kernel)
		return;
	if (!options.program && !asked && used[t]->once_in > 1 && made->seed % used[t]->once_in)
		return;
	switch (compare(used[t], &made->run, expected, &difference)) {
	case COMPARE_SAME:
		tally->ran++;
		return;
	case COMPARE_REFUSED:
		tally->refused++;
		if (options.show || getenv("RANDOM_VERBOSE"))
			printf("# %s: %s: %s\n", used[t]->name, made->name, difference.message);
		return;
	case COMPARE_ORDER:
		tally->ordered++;
		return;
	case COMPARE_DIFFERENT:
		if (tally->wrong++ == 0)
			tally->found_at = index + 1;
		report(t, made, &difference);
		/* Minimising changed it. */
		random_make(made->seed, options.without, made);
	}
}

static void one_program(uint64_t index, struct random_case *made)
{
	struct outcome expected;

	random_make(options.seed + index, options.without, made);
	if (options.program) {
		memcpy(made->insns, options.program, options.num_program * sizeof(*made->insns));
		made->run.num_insns = options.num_program;
		made->no_kernel = false;
	}
	if (options.packets && options.packets < made->run.num_packets)
		made->run.num_packets = options.packets;
	if (options.show) {
		flock(print_lock, LOCK_EX);
		random_show(made);
		flock(print_lock, LOCK_UN);
	}
	target_interp.run(&made->run, &expected);
	if (expected.faults && !made->may_fault && !options.program) {
		flock(print_lock, LOCK_EX);
		printf("# FAIL %s: the interpreter faults: %u at instruction %u\n", made->name,
		       expected.fault, expected.fault_insn);
		random_show(made);
		flock(print_lock, LOCK_UN);
		shared->unexpected++;
	}
	shared->faults += expected.faults != 0;
	shared->kernels += made->run.kind == VIRTIO_GPGPU_PROG_GPGPU;
	shared->instructions += made->run.num_insns;
	for (uint32_t t = 0; t < num_used; t++)
		if (!why_not[t] && !(options.find && shared->tally[t].wrong))
			on_target(t, made, &expected, index);
	outcome_free(&expected);
}

static bool all_found(void)
{
	for (uint32_t t = 0; t < num_used; t++)
		if (!shared->tally[t].wrong)
			return false;
	return options.find;
}

static void work(uint32_t number)
{
	static struct random_case made;

	print_lock = open("/proc/self/exe", O_RDONLY | O_CLOEXEC); /* a lock belongs to an open file */
	for (uint32_t t = 0; t < num_used; t++)
		if (!why_not[t])
			why_not[t] = used[t]->open();
	for (;;) {
		uint64_t index = atomic_fetch_add(&shared->next, 1);

		if ((options.count && index >= options.count) || all_found())
			break;
		shared->current[number] = options.seed + index + 1;
		one_program(index, &made);
		shared->current[number] = 0;
		fflush(stdout);
	}
	for (uint32_t t = 0; t < num_used; t++)
		if (!why_not[t])
			used[t]->close();
	fflush(stdout);
	_exit(0);
}

/* ------------------------------------------------------------------ all of them */
/* Whether a target can be opened is asked in a process of its own, so that no fork has its threads. */
static void ask_targets(void)
{
	static char text[MAX_TARGETS][256];

	for (uint32_t t = 0; t < num_used; t++) {
		int fds[2];
		ssize_t n;
		pid_t pid;

		if (pipe(fds) || (pid = fork()) < 0) {
			perror("random");
			exit(2);
		}
		if (pid == 0) {
			const char *why = used[t]->open();

			if (why && write(fds[1], why, strnlen(why, 255)) < 0)
				_exit(1);
			if (!why)
				used[t]->close();
			_exit(0);
		}
		close(fds[1]);
		n = read(fds[0], text[t], sizeof(text[t]) - 1);
		close(fds[0]);
		waitpid(pid, NULL, 0);
		why_not[t] = n > 0 ? text[t] : NULL;
	}
}

/* Return: false if one of them died. */
static bool run_workers(void)
{
	pid_t pids[MAX_JOBS];
	bool good = true;

	fflush(stdout);
	for (uint32_t i = 0; i < options.jobs; i++) {
		pids[i] = fork();
		if (pids[i] < 0) {
			perror("random");
			exit(2);
		}
		if (pids[i] == 0)
			work(i);
	}
	for (uint32_t i = 0; i < options.jobs; i++) {
		int status;

		if (waitpid(pids[i], &status, 0) < 0)
			continue;
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			continue;
		good = false;
		printf("# FAIL a worker ended with %s %d at seed %" PRIu64 "\n",
		       WIFSIGNALED(status) ? "signal" : "status",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
		       shared->current[i] ? shared->current[i] - 1 : 0);
	}
	return good;
}

static bool tell(bool alive)
{
	uint64_t done = shared->next > options.count && options.count ? options.count : shared->next;
	bool failed = shared->unexpected > 0 || !alive;

	printf("# %" PRIu64 " programs, %" PRIu64 " of them kernels, %" PRIu64 " with faults, %" PRIu64
	       " instructions each\n",
	       done, shared->kernels, shared->faults, done ? shared->instructions / done : 0);
	printf("%s 1 - the generator's programs do not fault in the interpreter unless they may\n",
	       failed ? "not ok" : "ok");
	for (uint32_t t = 0; t < num_used; t++) {
		const struct tally *tally = &shared->tally[t];
		bool good = tally->wrong == 0 && tally->ran > 0;

		if (why_not[t]) {
			printf("ok %u - %s # SKIP %s\n", t + 2, used[t]->name, why_not[t]);
			continue;
		}
		if (options.find) {
			good = tally->wrong && tally->smallest && tally->smallest <= FEW;
			printf("%s %u - %s: found by program %" PRIu64 ", minimised to %u instructions\n",
			       good ? "ok" : "not ok", t + 2, used[t]->name, tally->found_at,
			       tally->smallest);
		} else {
			printf("%s %u - %s: %" PRIu64 " programs agree, %" PRIu64 " differ, %" PRIu64
			       " refused by it\n",
			       good ? "ok" : "not ok", t + 2, used[t]->name, tally->ran, tally->wrong,
			       tally->refused);
			if (tally->ordered)
				printf("# %s: %" PRIu64
				       " depend on the order of work items, which it has none of\n",
				       used[t]->name, tally->ordered);
		}
		failed |= !good;
	}
	printf("1..%u\n", num_used + 1);
	return !failed;
}

static void take_program(const char *hex)
{
	size_t bytes = strlen(hex) / 2;

	options.num_program = (uint32_t)(bytes / sizeof(*options.program));
	options.program = calloc(options.num_program + 1, sizeof(*options.program));
	if (options.num_program == 0 || options.num_program > RANDOM_MAX_INSNS || !options.program)
		usage(stderr);
	for (size_t i = 0; i < options.num_program * sizeof(*options.program); i++) {
		unsigned int byte;

		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			usage(stderr);
		((uint8_t *)options.program)[i] = (uint8_t)byte;
	}
}

static uint32_t feature(const char *name)
{
	for (uint32_t i = 0; i < RANDOM_FEATURES; i++)
		if (!strcmp(random_features[i], name))
			return 1u << i;
	usage(stderr);
}

static void parse(int argc, char **argv)
{
	static const struct option known[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "count", required_argument, NULL, 'c' },
		{ "device", required_argument, NULL, 'd' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "find", no_argument, NULL, 'f' },
		{ "show", no_argument, NULL, 'w' },
		{ "program", required_argument, NULL, 'p' },
		{ "packets", required_argument, NULL, 'k' },
		{ "without", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (c) {
		case 's':
			options.seed = strcmp(optarg, "fresh") ? strtoull(optarg, NULL, 0)
							       : (uint64_t)time(NULL) * 1000003;
			break;
		case 'c':
			options.count = strtoull(optarg, NULL, 0);
			break;
		case 'j':
			options.jobs = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'k':
			options.packets = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'd':
			if (num_used == MAX_TARGETS || !target_find(optarg))
				usage(stderr);
			used[num_used++] = target_find(optarg);
			asked = true;
			break;
		case 'o':
			options.without |= feature(optarg);
			break;
		case 'f':
			options.find = true;
			break;
		case 'w':
			options.show = true;
			break;
		case 'p':
			take_program(optarg);
			break;
		default:
			usage(c == 'h' ? stdout : stderr);
		}
	}
	if (optind != argc)
		usage(stderr);
}

static void use_default(void)
{
	for (uint32_t i = 1; i < num_targets; i++)
		if (options.find ? targets[i]->broken : !targets[i]->optional)
			used[num_used++] = targets[i];
}

int main(int argc, char **argv)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	bool alive;

	parse(argc, argv);
	if (num_used == 0)
		use_default();
	if (options.jobs == 0)
		options.jobs = cpus > 0 ? (uint32_t)cpus : 1;
	if (options.count && options.jobs > options.count)
		options.jobs = (uint32_t)options.count;
	if (options.jobs > MAX_JOBS)
		options.jobs = MAX_JOBS;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		abort();
	printf("# from seed %" PRIu64 " on\n", options.seed);
	ask_targets();
	alive = run_workers();
	return tell(alive) ? 0 : 1;
}
