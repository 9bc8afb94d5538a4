// SPDX-License-Identifier: BSD-3-Clause
/*
 * ptx_scan.c - reads PTX line by line, as LLVM writes it: an instruction a line, the name of a function that is called on
 * the line behind the call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ptx_scan.h"

#define MAX_LABELS 65536
#define MAX_NAMES  256

struct reader {
	struct ptx_scan *scan;
	char line[512]; /* without white space at its ends */
	uint32_t labels[MAX_LABELS]; /* function << 20 | block, in the order of the text */
	size_t num_labels;
	char defined[MAX_NAMES][64], called[MAX_NAMES][64];
	size_t num_defined, num_called;
	bool names_callee; /* the next line does */
};

static bool has(const struct reader *r, const char *text)
{
	return strstr(r->line, text) != NULL;
}

static bool starts(const struct reader *r, const char *with)
{
	return !strncmp(r->line, with, strlen(with));
}

static void count(struct reader *r, unsigned int *counter, int what)
{
	if (!(*counter)++)
		snprintf(r->scan->first[what], sizeof(r->scan->first[what]), "%.90s", r->line);
}

static void read_access(struct reader *r)
{
	static const char *const spaces[] = { ".global", ".param", ".local", ".shared", ".const" };
	bool atomic = starts(r, "atom.") || starts(r, "red."), ordered, known = false;

	if (starts(r, "membar") || (starts(r, "fence.") && !has(r, ".gpu")))
		count(r, &r->scan->scopeless, PTX_SCOPELESS);
	if (!atomic && !starts(r, "ld.") && !starts(r, "st."))
		return;
	for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++)
		known |= has(r, spaces[i]);
	r->scan->global += has(r, ".global") && !has(r, ".nc");
	if (!known)
		count(r, &r->scan->generic, PTX_GENERIC);
	r->scan->bytes += has(r, ".global") && (has(r, ".u8") || has(r, ".b8") || has(r, ".s8"));
	ordered = has(r, ".relaxed") || has(r, ".acq") || has(r, ".release");
	if (starts(r, "ld.relaxed.sys.global.u32"))
		r->scan->system++;
	else if (has(r, ".volatile") || has(r, ".sys") || has(r, ".cta") || (ordered && !has(r, ".gpu")))
		count(r, &r->scan->scopeless, PTX_SCOPELESS);
}

/* Arithmetic in floating point: f16, f32, f64. */
static void read_float(struct reader *r)
{
	static const char *const rounded[] = {
		"add.", "sub.", "mul.", "mad.", "fma.", "div.", "sqrt.", "rcp."
	};

	if (has(r, ".approx") || has(r, ".ftz") || has(r, ".full")) {
		count(r, &r->scan->inexact, PTX_INEXACT);
		return;
	}
	if (!has(r, ".f16 ") && !has(r, ".f32 ") && !has(r, ".f64 "))
		return;
	for (size_t i = 0; i < sizeof(rounded) / sizeof(*rounded); i++)
		if (starts(r, rounded[i]) && has(r, ".rn"))
			r->scan->exact++;
		else if (starts(r, rounded[i]))
			count(r, &r->scan->inexact, PTX_INEXACT);
}

static void read_flow(struct reader *r)
{
	unsigned int function, block;
	const char *to = strstr(r->line, "$L__BB");

	if (!to || sscanf(to, "$L__BB%u_%u", &function, &block) != 2)
		return;
	if (to == r->line && strchr(to, ':')) {
		if (r->num_labels < MAX_LABELS)
			r->labels[r->num_labels++] = function << 20 | block;
		return;
	}
	for (size_t i = 0; i < r->num_labels; i++)
		if (r->labels[i] == (function << 20 | block)) {
			r->scan->loops++;
			return;
		}
}

/* The name in front of a comma, a bracket or the end. */
static void add_name(char names[MAX_NAMES][64], size_t *num, const char *from)
{
	size_t n = strcspn(from, ",( \t");

	if (*num < MAX_NAMES)
		snprintf(names[(*num)++], 64, "%.*s", (int)(n < 63 ? n : 63), from);
}

/* @rest: the text behind the line: a declaration ends with a semicolon before anything opens a body. */
static void read_function(struct reader *r, const char *rest)
{
	const char *name = r->line + strlen(".func"), *end = rest + strcspn(rest, "{;");

	if (strchr(name, '(') && strstr(name, ") ")) /* what it returns */
		name = strstr(name, ") ") + 1;
	name += strspn(name, " \t");
	if (*end != '{')
		return;
	r->scan->functions++;
	add_name(r->defined, &r->num_defined, name);
}

static void read_local(struct reader *r)
{
	const char *bytes = strchr(r->line, '[');
	unsigned int n = 0;

	if (bytes)
		sscanf(bytes, "[%u]", &n);
	if (!r->scan->local_bytes)
		snprintf(r->scan->first[PTX_LOCAL], sizeof(r->scan->first[PTX_LOCAL]), "%.90s", r->line);
	r->scan->local_bytes += n;
}

static void read_line(struct reader *r, const char *rest)
{
	unsigned int major, minor;

	if (r->names_callee) {
		r->names_callee = false;
		add_name(r->called, &r->num_called, r->line);
	}
	if (sscanf(r->line, ".version %u.%u", &major, &minor) == 2)
		r->scan->version = major * 10 + minor;
	else if (starts(r, ".target "))
		snprintf(r->scan->target, sizeof(r->scan->target), "%.31s", r->line + strlen(".target "));
	else if (has(r, ".entry "))
		r->scan->kernels++;
	else if (starts(r, ".func"))
		read_function(r, rest);
	else if (starts(r, ".local"))
		read_local(r);
	else if (starts(r, "call"))
		r->names_callee = true;
	read_access(r);
	read_float(r);
	read_flow(r);
}

static void find_undefined(struct reader *r)
{
	for (size_t i = 0; i < r->num_called; i++) {
		size_t d = 0;

		while (d < r->num_defined && strcmp(r->defined[d], r->called[i]))
			d++;
		if (d < r->num_defined)
			continue;
		snprintf(r->line, sizeof(r->line), "%s", r->called[i]);
		count(r, &r->scan->undefined, PTX_UNDEFINED);
	}
}

void ptx_scan(const struct gp_image *image, struct ptx_scan *scan)
{
	struct reader *r = calloc(1, sizeof(*r));
	const char *text = image->code, *end;

	if (!r)
		abort();
	*scan = (struct ptx_scan){ 0 };
	r->scan = scan;
	for (; *text; text = *end ? end + 1 : end) {
		size_t n;

		end = text + strcspn(text, "\n");
		text += strspn(text, " \t");
		if (text > end)
			continue;
		n = (size_t)(end - text);
		/* What is on condition. */
		if (n && *text == '@') {
			size_t skip = strcspn(text, " \t\n");

			text += skip + strspn(text + skip, " \t");
			n = (size_t)(end - text);
		}
		snprintf(r->line, sizeof(r->line), "%.*s", (int)(n < 511 ? n : 511), text);
		read_line(r, end);
	}
	find_undefined(r);
	free(r);
}
