// SPDX-License-Identifier: BSD-3-Clause
/*
 * print_format.c - formats of printf() in kernels.
 *
 * C's, without what needs memory of the kernel's (%n, strings that are not constant), widths from arguments, long double and
 * wide characters. Widths and precisions are bounded, so that a line is.
 */
#include <string.h>
#include "print_format.h"

#define MAX_WIDTH 64

/* Digits, and no more than there may be. Return: false where it is too much. */
static bool number(const char **at, char *spec, size_t *n)
{
	uint32_t value = 0;

	while (**at >= '0' && **at <= '9') {
		value = value * 10 + (uint32_t)(**at - '0');
		if (value > MAX_WIDTH || *n + 1 >= PRINT_MAX_SPEC)
			return false;
		spec[(*n)++] = *(*at)++;
	}
	return true;
}

static const char *read_spec(const char **at, struct print_conversion *c)
{
	size_t n = 0;

	c->spec[n++] = '%';
	for (; **at && strchr("-+ #0", **at); (*at)++)
		if (!memchr(c->spec, **at, n)) /* each once */
			c->spec[n++] = **at;
	if (**at == '*')
		return "a width that is an argument";
	if (!number(at, c->spec, &n))
		return "a width over 64";
	if (**at == '.') {
		c->spec[n++] = *(*at)++;
		if (**at == '*')
			return "a precision that is an argument";
		if (!number(at, c->spec, &n))
			return "a precision over 64";
	}
	c->spec[n] = 0;
	return NULL;
}

static const char *read_length(const char **at, struct print_conversion *c)
{
	c->bytes = 4;
	if (**at == 'h') {
		c->bytes = 2;
		if (*++*at == 'h') {
			c->bytes = 1;
			++*at;
		}
	} else if (**at && strchr("lzjt", **at)) {
		c->bytes = 8;
		if (*(*at)++ == 'l' && **at == 'l')
			++*at;
	} else if (**at == 'L') {
		return "long double";
	}
	return NULL;
}

static const char *read_letter(const char **at, struct print_conversion *c, bool has_length)
{
	c->letter = **at;
	switch (c->letter) {
	case 'c':
	case 's':
	case 'p':
		if (has_length)
			return "a length at %c, %s or %p";
		c->kind = c->letter == 'c' ? PRINT_INTEGER : c->letter == 's' ? PRINT_TEXT : PRINT_POINTER;
		break;
	case 'd':
	case 'i':
	case 'u':
	case 'o':
	case 'x':
	case 'X':
		c->kind = PRINT_INTEGER;
		break;
	case 'e':
	case 'E':
	case 'f':
	case 'F':
	case 'g':
	case 'G':
	case 'a':
	case 'A':
		c->kind = PRINT_DOUBLE;
		break;
	case 'n':
		return "%n, which writes to memory";
	case 0:
		return "a % at the end";
	default:
		return "a conversion that is none of %d %i %u %o %x %X %c %s %p %e %f %g %a";
	}
	++*at;
	return NULL;
}

int print_next(const char **format, struct print_conversion *c, const char **why)
{
	const char *at = *format, *length;

	while (*at && (*at != '%' || at[1] == '%'))
		at += 1 + (*at == '%');
	if (!*at) {
		*format = at;
		return 0;
	}
	at++;
	*why = read_spec(&at, c);
	length = at;
	if (!*why)
		*why = read_length(&at, c);
	if (!*why)
		*why = read_letter(&at, c, at != length);
	*format = at;
	return *why ? -1 : 1;
}

int print_count(const char *format, const char **why)
{
	struct print_conversion c;
	int count = 0, r;

	while ((r = print_next(&format, &c, why)) > 0)
		count++;
	if (!r && count > PRINT_MAX_ARGS)
		*why = "over 12 arguments";
	return r || count > PRINT_MAX_ARGS ? -1 : count;
}
