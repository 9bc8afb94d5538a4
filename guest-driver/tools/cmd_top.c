// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpgpu top - once a second, what devices did since the last time.
 */
#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "gpgpu.h"
#include "tool.h"

#define MAX_DEVICES 64

struct sample {
	struct gpgpu_device *dev;
	struct gpgpu_stats stats;
	uint64_t when;
};

static void take(struct sample *s)
{
	if (gpgpu_get_stats(s->dev, &s->stats))
		die("%s: %s", gpgpu_device_path(s->dev), gpgpu_error_message());
	s->when = now_ns();
}

static void print_device(struct sample *s)
{
	struct gpgpu_stats old = s->stats;
	uint64_t then = s->when;
	double seconds;

	take(s);
	seconds = (double)(s->when - then) / 1e9;
	/* Device time is added up over the device's threads: it may exceed 100 %. */
	printf("%-20s %7.1f%% %7.1f%% %7.1f%% %10.0f %12.0f %10.1f %6u\n", gpgpu_device_path(s->dev),
	       (double)(s->stats.device_ns - old.device_ns) / seconds / 1e7,
	       (double)(s->stats.waited_ns - old.waited_ns) / seconds / 1e7,
	       (double)(s->stats.throttled_ns - old.throttled_ns) / seconds / 1e7,
	       (double)(s->stats.jobs - old.jobs) / seconds,
	       (double)(s->stats.packets - old.packets) / seconds, (double)s->stats.memory / (1 << 20),
	       s->stats.weight);
}

int cmd_top(int argc, char **argv)
{
	static const struct option options[] = {
		{ "count", required_argument, NULL, 'n' },
		{ "interval", required_argument, NULL, 'i' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct gpgpu_device_info infos[MAX_DEVICES];
	struct sample samples[MAX_DEVICES];
	uint64_t rounds = UINT64_MAX;
	unsigned interval = 1;
	int c, n, open = 0;

	while ((c = getopt_long(argc, argv, "n:i:h", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			rounds = parse_number(optarg, 1, UINT64_MAX, "--count");
			break;
		case 'i':
			interval = (unsigned)parse_number(optarg, 1, 3600, "--interval");
			break;
		case 'h':
			printf("usage: gpgpu top [--count N] [--interval SECONDS]\n");
			return 0;
		default:
			return 1;
		}
	}
	n = gpgpu_enumerate(infos, MAX_DEVICES);
	for (int i = 0; i < n && i < MAX_DEVICES; i++) {
		if (!infos[i].accessible)
			continue;
		samples[open].dev = open_device(infos[i].path);
		take(&samples[open++]);
	}
	if (!open)
		gpgpu_close(open_device(NULL)); /* dies, saying why */
	for (uint64_t i = 0; i < rounds; i++) {
		sleep(interval);
		if (isatty(STDOUT_FILENO))
			printf("\033[H\033[2J");
		printf("%-20s %8s %8s %8s %10s %12s %10s %6s\n", "device", "busy", "waited", "capped",
		       "jobs/s", "packets/s", "memory MiB", "weight");
		for (int d = 0; d < open; d++)
			print_device(&samples[d]);
		fflush(stdout);
	}
	return 0;
}
