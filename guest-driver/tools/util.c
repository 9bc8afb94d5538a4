// SPDX-License-Identifier: BSD-3-Clause
/*
 * util.c - small things that the commands share.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tool.h"

const char *tool_name = "gpgpu";
void (*on_death)(void);

void die(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "%s: ", tool_name);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	if (on_death)
		on_death();
	/* Not exit(): what is allocated half way is nobody's leak. */
	_exit(1);
}

void *xcalloc(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size ? size : 1);

	if (!p)
		die("out of memory");
	return p;
}

char *xstrdup(const char *s)
{
	char *p = strdup(s);

	if (!p)
		die("out of memory");
	return p;
}

uint64_t parse_number(const char *text, uint64_t min, uint64_t max, const char *what)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (end == text || *end || errno || text[0] == '-')
		die("%s: '%s' is not a number", what, text);
	if (n < min || n > max)
		die("%s: %s is not between %llu and %llu", what, text, (unsigned long long)min,
		    (unsigned long long)max);
	return n;
}

void split_object(char *spec, const char **name)
{
	char *colon = strrchr(spec, ':');
	struct stat st;

	*name = NULL;
	/* A file may have a colon in its name; if there is such a file it is meant. */
	if (!colon || stat(spec, &st) == 0)
		return;
	*colon = '\0';
	*name = colon + 1;
}

const char *grouped(uint64_t n)
{
	static char buffers[8][32];
	static unsigned next;
	char *out = buffers[next++ % 8], digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n), o = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			out[o++] = ',';
		out[o++] = digits[i];
	}
	out[o] = '\0';
	return out;
}

const char *verdict_name(uint32_t verdict)
{
	static const char *const names[NUM_VERDICTS] = { "ABORTED", "DROP", "PASS", "TX", "REDIRECT" };

	return verdict < NUM_VERDICTS ? names[verdict] : "?";
}

void *read_whole(const char *path, size_t *size)
{
	FILE *f = fopen(path, "re");
	uint8_t *bytes = NULL;
	size_t room = 0, n = 0, got;

	if (!f)
		die("%s: %s", path, strerror(errno));
	do {
		if (n == room) {
			room = room ? room * 2 : 65536;
			bytes = realloc(bytes, room);
			if (!bytes)
				die("%s: out of memory", path);
		}
		got = fread(bytes + n, 1, room - n, f);
		n += got;
	} while (got);
	if (ferror(f))
		die("%s: %s", path, strerror(errno));
	fclose(f);
	*size = n;
	return bytes;
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}
