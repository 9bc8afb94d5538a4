// SPDX-License-Identifier: BSD-3-Clause
/*
 * report.c - errors with the place in the user's source.
 *
 * Places come from the debug information that clang was told to make, so a function that was inlined is named where it
 * stands, not where it was called.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cc.h"

#define MAX_REPORTS 64 /* then it stops, as clang does */

static char *seen[MAX_REPORTS];
static unsigned int count;
static const char *input;
static char *input_path; /* without links and dots */

void report_input(const char *file)
{
	input = file;
	input_path = realpath(file, NULL);
}

/* Debug information has paths from where clang ran; the user's own file is named as the user did. */
static bool is_input(const char *folder, unsigned int folder_length, const char *file, unsigned int length)
{
	char *path;
	bool same;

	if (!input_path)
		return false;
	if (file[0] == '/' ? asprintf(&path, "%.*s", (int)length, file) < 0
			   : asprintf(&path, "%.*s/%.*s", (int)folder_length, folder, (int)length, file) < 0)
		die("out of memory");
	same = !strcmp(path, input_path);
	free(path);
	return same;
}

static void place(LLVMValueRef at, char *text, size_t size)
{
	unsigned int length = 0, folder_length = 0, line = at ? LLVMGetDebugLocLine(at) : 0, column = 0;
	const char *folder = NULL, *file = at && line ? LLVMGetDebugLocFilename(at, &length) : NULL;

	if (file)
		folder = LLVMGetDebugLocDirectory(at, &folder_length);
	if (file && is_input(folder, folder_length, file, length)) {
		file = input;
		length = (unsigned int)strlen(input);
	}
	if (at && LLVMIsAInstruction(at))
		column = LLVMGetDebugLocColumn(at);
	if (file && line && column)
		snprintf(text, size, "%.*s:%u:%u: ", (int)length, file, line, column);
	else if (file && line)
		snprintf(text, size, "%.*s:%u: ", (int)length, file, line);
	else
		snprintf(text, size, "gpgpu-cc: ");
}

void report(LLVMValueRef at, const char *format, ...)
{
	char line[1024];
	va_list ap;
	size_t n;

	/* An instruction that has no place of its own is at least in a function that has one. */
	if (at && LLVMIsAInstruction(at) && !LLVMGetDebugLocLine(at))
		at = LLVMGetBasicBlockParent(LLVMGetInstructionParent(at));
	place(at, line, sizeof(line) / 2);
	n = strlen(line);
	n += (size_t)snprintf(line + n, sizeof(line) - n, "error: ");
	va_start(ap, format);
	vsnprintf(line + n, sizeof(line) - n, format, ap);
	va_end(ap);
	for (unsigned int i = 0; i < count && i < MAX_REPORTS; i++)
		if (!strcmp(seen[i], line))
			return;
	if (count < MAX_REPORTS) {
		seen[count] = strdup(line);
		if (!seen[count])
			die("out of memory");
		fprintf(stderr, "%s\n", line);
	}
	count++;
}

unsigned int report_count(void)
{
	return count;
}

void die(const char *format, ...)
{
	va_list ap;

	fputs("gpgpu-cc: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}
