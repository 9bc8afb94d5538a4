// SPDX-License-Identifier: BSD-3-Clause
/*
 * outfile.c - files that appear whole or not at all.
 *
 * A file is written under another name in the same folder and renamed when it is complete. What has not been
 * committed when the program exits is removed, signals that end it included.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool.h"

#define MAX_OUTFILES 16

struct outfile {
	const char *path;
	char *temp; /* NULL: written directly, or committed */
	FILE *stream;
};

static struct outfile outfiles[MAX_OUTFILES];
static size_t num_outfiles;

static void remove_unfinished(void)
{
	for (size_t i = 0; i < num_outfiles; i++) {
		if (outfiles[i].temp)
			unlink(outfiles[i].temp);
	}
}

static void on_signal(int sig)
{
	remove_unfinished(); /* unlink() may be called here */
	signal(sig, SIG_DFL);
	raise(sig);
}

struct outfile *outfile_open(const char *path, FILE **stream)
{
	struct outfile *out = &outfiles[num_outfiles];
	size_t size = strlen(path) + 8;
	struct stat st;
	mode_t mask;
	int fd;

	if (num_outfiles == MAX_OUTFILES)
		die("%s: too many output files", path);
	if (num_outfiles == 0) {
		on_death = remove_unfinished;
		atexit(remove_unfinished);
		signal(SIGINT, on_signal);
		signal(SIGTERM, on_signal);
		signal(SIGHUP, on_signal);
	}
	out->path = path;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		if (S_ISDIR(st.st_mode))
			die("%s: %s", path, strerror(EISDIR));
		out->stream = fopen(path, "we");
	} else {
		out->temp = xcalloc(1, size);
		snprintf(out->temp, size, "%s.XXXXXX", path);
		fd = mkstemp(out->temp);
		if (fd < 0) {
			free(out->temp);
			out->temp = NULL;
			die("%s: %s", path, strerror(errno));
		}
		num_outfiles++;
		mask = umask(0);
		umask(mask);
		fchmod(fd, 0666 & ~mask);
		out->stream = fdopen(fd, "w");
	}
	if (!out->stream)
		die("%s: %s", path, strerror(errno));
	if (!out->temp)
		num_outfiles++;
	*stream = out->stream;
	return out;
}

void outfile_commit(struct outfile *out)
{
	if (fflush(out->stream) || ferror(out->stream) || fclose(out->stream))
		die("%s: %s", out->path, strerror(errno));
	if (out->temp && rename(out->temp, out->path) < 0)
		die("%s: %s", out->path, strerror(errno));
	free(out->temp);
	out->temp = NULL;
}
