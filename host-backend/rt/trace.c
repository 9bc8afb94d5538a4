/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace.c - bpf_trace_printk: formatting, and the queue of lines (log.h).
 *
 * The formats are the kernel's (kernel/trace/bpf_trace.c of 6.12) without those that read memory (%s, %pI4 and
 * such): -EINVAL. A pointer prints as the number that it is to the program, which is no address.
 */
#include <errno.h>
#include "fuel.h"
#include "log.h"
#include "rt.h"

#define GP_TRACE_ARGS	    3
#define GP_TRACE_COST	    16
#define GP_TRACE_MAX_WIDTH  64
#define GP_TRACE_MAX_FORMAT 1024

struct gp_text {
	char *at;
	uint32_t length; /* also of what did not fit */
};

static void gp_text_add(struct gp_text *text, char c)
{
	/* Nothing that a terminal would take for more than a character. */
	if (text->length < GP_LOG_TEXT - 1)
		text->at[text->length] = c >= ' ' && c <= '~' ? c : ' ';
	text->length++;
}

/* One conversion: what stands between % and its letter. */
struct gp_spec {
	bool zero, left, plus, space;
	uint32_t width, longs; /* how many l */
};

static void gp_text_number(struct gp_text *text, const struct gp_spec *spec, uint64_t value, uint32_t base,
			   bool upper, char sign)
{
	char digits[24];
	uint32_t n = 0, used, i;

	do {
		uint32_t d = (uint32_t)(value % base);

		digits[n++] = (char)(d < 10 ? '0' + d : (upper ? 'A' : 'a') + d - 10);
		value /= base;
	} while (value);
	used = n + (sign != 0);
	if (!spec->left && !spec->zero)
		for (i = used; i < spec->width; i++)
			gp_text_add(text, ' ');
	if (sign)
		gp_text_add(text, sign);
	if (!spec->left && spec->zero)
		for (i = used; i < spec->width; i++)
			gp_text_add(text, '0');
	while (n)
		gp_text_add(text, digits[--n]);
	if (spec->left)
		for (i = used; i < spec->width; i++)
			gp_text_add(text, ' ');
}

static void gp_text_signed(struct gp_text *text, const struct gp_spec *spec, int64_t value)
{
	char sign = value < 0 ? '-' : spec->plus ? '+' : spec->space ? ' ' : 0;

	gp_text_number(text, spec, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10, false, sign);
}

/* The conversion @letter of @value. Return: false where there is no such. */
static bool gp_text_convert(struct gp_text *text, const struct gp_spec *spec, char letter, uint64_t value)
{
	uint64_t narrow = spec->longs ? value : (uint32_t)value;
	struct gp_spec pointer = { .zero = true, .width = 16 };
	uint32_t i;

	switch (letter) {
	case 'd':
	case 'i':
		gp_text_signed(text, spec, spec->longs ? (int64_t)value : (int32_t)value);
		return true;
	case 'u':
		gp_text_number(text, spec, narrow, 10, false, 0);
		return true;
	case 'x':
		gp_text_number(text, spec, narrow, 16, false, 0);
		return true;
	case 'X':
		gp_text_number(text, spec, narrow, 16, true, 0);
		return true;
	case 'p':
		gp_text_number(text, &pointer, value, 16, false, 0);
		return !spec->longs;
	case 'c':
		for (i = 1; !spec->left && i < spec->width; i++)
			gp_text_add(text, ' ');
		gp_text_add(text, (char)value);
		for (i = 1; spec->left && i < spec->width; i++)
			gp_text_add(text, ' ');
		return !spec->longs;
	default:
		return false;
	}
}

/* Flags, width and length. Return: the letter's place. */
static uint32_t gp_spec_read(const uint8_t *format, uint32_t at, uint32_t size, struct gp_spec *spec)
{
	for (; at < size; at++) {
		if (format[at] == '0')
			spec->zero = true;
		else if (format[at] == '-')
			spec->left = true;
		else if (format[at] == '+')
			spec->plus = true;
		else if (format[at] == ' ')
			spec->space = true;
		else
			break;
	}
	for (; at < size && format[at] >= '0' && format[at] <= '9'; at++)
		if (spec->width <= GP_TRACE_MAX_WIDTH)
			spec->width = spec->width * 10 + (uint32_t)(format[at] - '0');
	if (spec->width > GP_TRACE_MAX_WIDTH)
		spec->width = GP_TRACE_MAX_WIDTH;
	for (; at < size && format[at] == 'l' && spec->longs < 2; at++)
		spec->longs++;
	return at;
}

/* Return: false for a format that is refused. @format is private to the caller and ends with a NUL. */
static bool gp_text_format(struct gp_text *text, const uint8_t *format, uint32_t size, const uint64_t *args)
{
	uint32_t at, used = 0;

	for (at = 0; at < size && format[at]; at++) {
		struct gp_spec spec = { 0 };

		if (format[at] > '~' || (format[at] < ' ' && (format[at] < '\t' || format[at] > '\r')))
			return false;
		if (format[at] != '%') {
			gp_text_add(text, (char)format[at]);
			continue;
		}
		at++;
		if (format[at] == '%') {
			gp_text_add(text, '%');
			continue;
		}
		at = gp_spec_read(format, at, size, &spec);
		if (used == GP_TRACE_ARGS || at >= size ||
		    !gp_text_convert(text, &spec, (char)format[at], args[used++]))
			return false;
		/* %pI4, %pS and their like are other things. */
		if (format[at] == 'p' && ((format[at + 1] | 32) >= 'a' && (format[at + 1] | 32) <= 'z'))
			return false;
	}
	return true;
}

/* Claim the entry at the head. Return: NULL where the queue is full. */
static struct gp_log_entry *gp_log_claim(struct gp_log *log, uint32_t *turn)
{
	uint64_t head = gp_load64(&log->head);
	uint32_t tries;

	for (tries = 0; tries < 4 * GP_LOG_ENTRIES; tries++) {
		struct gp_log_entry *entry = &log->entries[head % GP_LOG_ENTRIES];

		*turn = (uint32_t)(head / GP_LOG_ENTRIES * 2);
		if (gp_load32_acquire(&entry->turn) != *turn) {
			uint64_t now = gp_load64(&log->head);

			if (now == head)
				return NULL; /* not read yet */
			head = now;
			continue;
		}
		if (__atomic_compare_exchange_n(&log->head, &head, head + 1, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return entry;
	}
	return NULL;
}

int64_t gp_log_put(struct gp_log *log, const uint8_t *format, uint32_t size, uint64_t a, uint64_t b,
		   uint64_t c)
{
	uint64_t args[GP_TRACE_ARGS] = { a, b, c };
	uint8_t copy[GP_TRACE_MAX_FORMAT];
	char line[GP_LOG_TEXT];
	struct gp_text text = { line, 0 };
	struct gp_log_entry *entry;
	uint32_t turn, length, i;
	bool ended = false;

	if (!size || size > sizeof(copy))
		return -EINVAL;
	/* Others may write to it meanwhile. */
	for (i = 0; i < size; i++) {
		copy[i] = (uint8_t)gp_opaque(format[i]);
		ended |= !copy[i];
	}
	if (!ended || !gp_text_format(&text, copy, size, args))
		return -EINVAL;
	length = text.length < GP_LOG_TEXT ? text.length : GP_LOG_TEXT - 1;
	entry = log ? gp_log_claim(log, &turn) : NULL;
	if (entry) {
		memcpy(entry->text, line, length);
		entry->length = length;
		gp_store32_release(&entry->turn, turn + 1);
	} else if (log) {
		__atomic_fetch_add(&log->dropped, 1, __ATOMIC_RELAXED);
	}
	return text.length;
}

GP_RT int64_t gp_helper_trace(struct gp_lane *lane, const uint8_t *format, uint64_t size, uint64_t a,
			      uint64_t b, uint64_t c)
{
	if (size > GP_TRACE_MAX_FORMAT)
		return -EINVAL;
	gp_charge(lane, GP_TRACE_COST + size / 4);
	return gp_log_put(lane->env->log, format, (uint32_t)size, a, b, c);
}

#if !defined(GP_RT_BITCODE) || defined(GP_RT_GPU)
int gp_log_take(struct gp_log *log, char *text)
{
	struct gp_log_entry *entry = &log->entries[log->tail % GP_LOG_ENTRIES];
	uint32_t turn = (uint32_t)(log->tail / GP_LOG_ENTRIES * 2), length;

	if (gp_load32_acquire(&entry->turn) != turn + 1)
		return -1;
	length = entry->length < GP_LOG_TEXT ? entry->length : GP_LOG_TEXT - 1;
	memcpy(text, entry->text, length);
	while (length && text[length - 1] == ' ')
		length--;
	text[length] = 0;
	log->tail++;
	gp_store32_release(&entry->turn, turn + 2);
	return (int)length;
}
#endif
