// SPDX-License-Identifier: BSD-3-Clause
/*
 * shape.c - looks at the control flow of machine code.
 *
 * Locks. A lock word is taken by a 32-bit compare and swap, and let go of by a store to the same place. The lanes of a wave
 * run in step: in a loop that those leave which have got their lock, and only then let go of it, they wait for the others, who
 * wait for them. So from one attempt to the next there must be no way that does not pass the store. Where only lanes that
 * got the lock run, code is jumped over if there are none (s_cbranch_execz): those jumps are no such way, but where the
 * lanes leave a loop one by one.
 *
 * Fuel. Lanes burn their own, so what a burn takes it from is a vector register, compared by a vector instruction, in the
 * loop that it bounds; a scalar register would be the whole wave's, and memory would cost each turn a trip there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "shape.h"

static bool is(const char *text, const char *mnemonic)
{
	return !strncmp(text, mnemonic, strlen(mnemonic));
}

static bool is_branch(const char *text)
{
	return is(text, "s_cbranch_") || is(text, "s_branch");
}

struct shape_step *shape_steps(const struct gp_image *image, const struct listing_line *lines, size_t count)
{
	struct shape_step *steps = calloc(count + 1, sizeof(*steps));

	for (size_t i = 0; steps && i < count; i++) {
		int16_t dwords;
		int64_t to;

		steps[i] = (struct shape_step){ lines[i].text, -1 };
		if (!is_branch(lines[i].text))
			continue;
		memcpy(&dwords, (const uint8_t *)image->code + lines[i].at, sizeof(dwords));
		to = (int64_t)lines[i].at + 4 + (int64_t)dwords * 4;
		for (size_t n = 0; n < count; n++)
			if (lines[n].at == to)
				steps[i].target = (int)n;
	}
	return steps;
}

/* ------------------------------------------------------------------- locks */

/* Word @n of what is behind the mnemonic, with what follows the last one ("off offset:4 glc"). */
static const char *operand(const char *text, int n)
{
	const char *at = strchr(text, ' ');

	while (at && n-- > 0)
		at = strstr(at + 1, ", ");
	return at ? at + (*at == ',' ? 2 : 1) : "";
}

/* Whether two operands are alike; they end with ',' or with the text, a last one's flags for caches aside. */
static bool alike(const char *a, const char *b)
{
	size_t n = strcspn(a, ","), m = strcspn(b, ",");
	static const char *const flags[] = { " glc", " slc", " dlc", " sc0", " sc1", " th:", " scope:" };

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		const char *x = strstr(a, flags[i]), *y = strstr(b, flags[i]);

		if (x && (size_t)(x - a) < n)
			n = (size_t)(x - a);
		if (y && (size_t)(y - b) < m)
			m = (size_t)(y - b);
	}
	return n == m && !strncmp(a, b, n);
}

static bool takes(const char *text)
{
	return (is(text, "global_atomic_cmpswap ") || is(text, "global_atomic_cmpswap_b32 ")) &&
	       *operand(text, 3);
}

/* Whether @text stores to the word that @lock takes. */
static bool lets_go(const char *text, const char *lock)
{
	return (is(text, "global_store_dword ") || is(text, "global_store_b32 ")) &&
	       alike(operand(text, 0), operand(lock, 1)) && alike(operand(text, 2), operand(lock, 3));
}

/* Whether the jump at @i, for when no lanes are left, is out of a loop that they leave one by one. */
static bool leaves_loop(const struct shape_step *steps, int i)
{
	static const char *const ops[] = { "s_andn2_b64 exec", "s_andn2_b32 exec", "s_and_not1_b64 exec",
					   "s_and_not1_b32 exec" };

	for (int back = i - 1; back >= 0 && back > i - 4; back--)
		for (size_t n = 0; n < sizeof(ops) / sizeof(*ops); n++)
			if (is(steps[back].text, ops[n]))
				return true;
	return false;
}

/* Where a lane that has something to do may go from @i. Return: how many. */
static int ways(const struct shape_step *steps, int i, int to[2])
{
	const char *text = steps[i].text;
	int n = 0;

	if (is(text, "s_endpgm"))
		return 0;
	if (is(text, "s_cbranch_execz") && !leaves_loop(steps, i)) {
		to[n++] = i + 1;
	} else if (is(text, "s_branch") || (is(text, "s_cbranch_execnz") && steps[i].target > i)) {
		to[n++] = steps[i].target;
	} else {
		to[n++] = i + 1;
		if (is_branch(text))
			to[n++] = steps[i].target;
	}
	return n;
}

/* Whether there is a way from behind @from back to it that passes no store to its word; @passes: out: whether any does. */
static bool waits_first(const struct shape_step *steps, int count, int from, bool *passes)
{
	bool *seen = calloc((size_t)count, sizeof(*seen)), found = false;
	int *todo = calloc((size_t)count * 2 + 2, sizeof(*todo)), left = 0, to[2];

	if (!seen || !todo)
		abort();
	*passes = false;
	todo[left++] = from;
	while (left && !found) {
		int i = todo[--left], n = ways(steps, i, to);

		for (int w = 0; w < n && !found; w++) {
			if (to[w] == from)
				found = true;
			if (to[w] < 0 || to[w] >= count || seen[to[w]])
				continue;
			seen[to[w]] = true;
			if (lets_go(steps[to[w]].text, steps[from].text))
				*passes = true;
			else
				todo[left++] = to[w];
		}
	}
	free(seen);
	free(todo);
	return found;
}

const char *shape_locks(const struct shape_step *steps, int count, int *locks)
{
	*locks = 0;
	for (int i = 0; i < count; i++) {
		bool passes;

		if (!takes(steps[i].text))
			continue;
		++*locks;
		if (waits_first(steps, count, i, &passes))
			return "a lane that has the lock waits for those that have not";
		if (!passes)
			return "a lock that nothing lets go of";
	}
	return NULL;
}

/* -------------------------------------------------------------------- fuel */

/* Whether @text is an addition or subtraction of a constant that stays in a vector register. @reg: out: which. */
static bool burns(const char *text, char reg[16])
{
	static const char *const ops[] = { "v_add_co_u32", "v_sub_co_u32", "v_subrev_co_u32", "v_add_u32",
					   "v_sub_u32",	   "v_add_nc_u32", "v_sub_nc_u32",    "v_subrev_u32" };
	const char *to = operand(text, 0);
	size_t n = strcspn(to, ",");

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		if (!is(text, ops[i]) || *to != 'v' || n >= 8)
			continue;
		snprintf(reg, 16, "%.*s", (int)n, to);
		/* Read as well: "v_add_co_u32_e32 v6, vcc, -1, v6". */
		return strstr(to + n, reg) && (strstr(to + n, " -1") || strstr(to + n, " 1"));
	}
	return false;
}

/* Whether @text compares, lane by lane, a register that begins with @reg with a constant. */
static bool asks(const char *text, const char *reg)
{
	char pair[20];

	if (!is(text, "v_cmp"))
		return false;
	snprintf(pair, sizeof(pair), "v[%s:", reg + 1);
	return strstr(text, pair) || (strstr(text, reg) && !strstr(text, "_u64"));
}

const char *shape_fuel(const struct shape_step *steps, int count)
{
	for (int i = 0; i < count; i++)
		if (is(steps[i].text, "ds_") || is(steps[i].text, "scratch_") ||
		    is(steps[i].text, "buffer_load") || is(steps[i].text, "buffer_store"))
			return "it goes to local memory, or to scratch";
	for (int end = 0; end < count; end++) {
		if (!is_branch(steps[end].text) || steps[end].target < 0 || steps[end].target > end)
			continue;
		for (int i = steps[end].target; i < end; i++) {
			char reg[16];

			if (!burns(steps[i].text, reg))
				continue;
			for (int k = steps[end].target; k < end; k++)
				if (asks(steps[k].text, reg))
					return NULL;
		}
	}
	return "no loop takes something from a vector register, and asks each lane what is left there";
}
