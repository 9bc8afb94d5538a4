// SPDX-License-Identifier: BSD-3-Clause
/*
 * error.c - what went wrong, for a person.
 *
 * One line and one device result per thread, written where the failure is seen and nowhere else, so that a
 * caller may ask later and other threads do not disturb it. The numbers of the device are put into words by two
 * tables; the second also says what the detail of a reason is.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "virtio_gpgpu.h"

static _Thread_local char last_message[512];
static _Thread_local struct gpgpu_result last_result;

/* clang-format off */
static const char *const status_names[VIRTIO_GPGPU_S_COUNT] = {
	[VIRTIO_GPGPU_S_OK]		= "no error",
	[VIRTIO_GPGPU_S_INVALID]	= "invalid request",
	[VIRTIO_GPGPU_S_UNSUPPORTED]	= "not supported by the device",
	[VIRTIO_GPGPU_S_NOT_FOUND]	= "not found",
	[VIRTIO_GPGPU_S_EXISTS]		= "exists already",
	[VIRTIO_GPGPU_S_BUSY]		= "in use, try again later",
	[VIRTIO_GPGPU_S_NO_MEMORY]	= "out of memory",
	[VIRTIO_GPGPU_S_LIMIT]		= "over a limit",
	[VIRTIO_GPGPU_S_PERMISSION]	= "not permitted",
	[VIRTIO_GPGPU_S_REJECTED]	= "program refused",
	[VIRTIO_GPGPU_S_FAULT]		= "a work item faulted",
	[VIRTIO_GPGPU_S_CANCELLED]	= "cancelled",
	[VIRTIO_GPGPU_S_DEVICE_LOST]	= "device lost",
	[VIRTIO_GPGPU_S_TIMEOUT]	= "the device did not answer in time",
	[VIRTIO_GPGPU_S_END]		= "no next key",
};
/* clang-format on */

#define REASON(r, text, detail) { VIRTIO_GPGPU_R_##r, text, detail }

/* clang-format off */
static const struct {
	uint32_t reason;
	const char *text;
	const char *detail;		/* what the detail is, or NULL if it says nothing */
} reasons[] = {
	REASON(NONE,		"no reason given", NULL),
	REASON(LENGTH,		"a length is wrong", "at byte"),
	REASON(TYPE,		"unknown command", NULL),
	REASON(FLAGS,		"unknown flag", NULL),
	REASON(RESERVED,	"a reserved field is not zero", "at byte"),
	REASON(QUEUE,		"wrong kind of queue", NULL),
	REASON(RESPONSE_SPACE,	"no room for the response", NULL),
	REASON(COUNT,		"a count is zero or too large", "value"),
	REASON(RANGE,		"outside the object", "offset"),
	REASON(ALIGN,		"not aligned", "value"),
	REASON(ID,		"invalid id", "id"),
	REASON(KIND,		"unknown kind", "value"),
	REASON(SIZE,		"size not allowed", "value"),
	REASON(FEATURE,		"feature not negotiated", NULL),
	REASON(SEQUENCE,	"sequence does not grow", NULL),
	REASON(CTX,		"no such context", "id"),
	REASON(BUFFER,		"no such buffer", "id"),
	REASON(MAP,		"no such map", "id"),
	REASON(PROG,		"no such program", "id"),
	REASON(KEY,		"key", NULL),
	REASON(FENCE,		"fence", NULL),
	REASON(ARGUMENT,	"argument does not fit the kernel", "argument"),
	REASON(FROZEN,		"map is read only", NULL),
	REASON(IN_USE,		"object is in use", "id"),
	REASON(PACKET,		"packet does not fit its slot", "packet"),
	REASON(INNER,		"map is not of the shape that this map of maps holds", "id"),
	REASON(MEMORY_LIMIT,	"over the device's memory limit", "bytes"),
	REASON(OBJECT_LIMIT,	"too many objects", "limit"),
	REASON(JOB_LIMIT,	"too many jobs in flight", "limit"),
	REASON(COMPILE_LIMIT,	"compiling takes too long or too much memory", NULL),
	REASON(INSN_LIMIT,	"too many instructions", "limit"),
	REASON(MAP_FULL,	"map is full", "entries"),
	REASON(HOST_MEMORY,	"the host is out of memory", NULL),
	REASON(OPCODE,		"unknown instruction", "instruction"),
	REASON(REGISTER,	"no such register, or r10 written", "instruction"),
	REASON(UNINITIALISED,	"register is read before it is written", "instruction"),
	REASON(JUMP,		"jump to nowhere", "instruction"),
	REASON(FALL_OFF,	"control runs off the end", "instruction"),
	REASON(CALL_DEPTH,	"calls too deep, or recursion", "instruction"),
	REASON(HELPER,		"helper is unknown or not for this kind of program", "instruction"),
	REASON(MAP_REF,		"map does not exist or does not fit the helper", "instruction"),
	REASON(CTX_ACCESS,	"context has no such field, or it cannot be written", "instruction"),
	REASON(INSN_FIELD,	"an unused field of the instruction is not zero", "instruction"),
	REASON(UNREACHABLE,	"instruction cannot be reached", "instruction"),
	REASON(IRREDUCIBLE,	"loop with two entries", "instruction"),
	REASON(HELPER_ARG,	"argument is not what the helper takes", "instruction"),
	REASON(STACK,		"over 512 bytes of stack", "instruction"),
	REASON(POINTER,		"arithmetic or store that a pointer does not allow", "instruction"),
	REASON(COMPILER,	"the compiler failed", NULL),
	REASON(OUT_OF_BOUNDS,	"access out of bounds", "item"),
	REASON(OUT_OF_FUEL,	"too many instructions executed", "item"),
	REASON(MISALIGNED,	"atomic on an unaligned address", "item"),
	REASON(DIVERGENT,	"not all work items of a group get there", "instruction"),
	REASON(LOCAL_MEMORY,	"local memory too large, or outside of it", "instruction"),
	REASON(WORKER_DIED,	"its worker died", NULL),
	REASON(RESET,		"it was reset", NULL),
	REASON(NO_WORKER,	"it has no worker", NULL),
};
/* clang-format on */

const char *gpgpu_error_message(void)
{
	return last_message[0] ? last_message : "no error";
}

void gpgpu_error_result(struct gpgpu_result *result)
{
	*result = last_result;
}

const char *gpgpu_status_name(uint32_t status)
{
	return status < VIRTIO_GPGPU_S_COUNT ? status_names[status] : "unknown status";
}

const char *gpgpu_reason_name(uint32_t reason)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (reasons[i].reason == reason)
			return reasons[i].text;
	}
	return "unknown reason";
}

static const char *detail_name(uint32_t reason)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (reasons[i].reason == reason)
			return reasons[i].detail;
	}
	return "detail";
}

/* File names, symbols and the device's words may hold anything; what is shown is one printable line. */
static void make_printable(char *s)
{
	for (; *s; s++) {
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = *s == '\n' && !s[1] ? '\0' : '?';
	}
}

int gpgpu_fail(int err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(last_message, sizeof(last_message), format, ap);
	va_end(ap);
	make_printable(last_message);
	memset(&last_result, 0, sizeof(last_result));
	return err;
}

int gpgpu_fail_device(int err, const char *what, const struct drm_virtio_gpgpu_result *result,
		      const char *message)
{
	char detail[64] = "";
	const char *name;

	if (!result || result->status == VIRTIO_GPGPU_S_OK) {
		if (message && message[0])
			return gpgpu_fail(err, "%s: %s", what, message);
		return gpgpu_fail(err, "%s: %s", what, strerror(-err));
	}
	name = detail_name(result->reason);
	if (name)
		snprintf(detail, sizeof(detail), " (%s %llu)", name, (unsigned long long)result->detail);
	if (message && message[0] && result->status == VIRTIO_GPGPU_S_REJECTED)
		gpgpu_fail(err, "%s: refused at instruction %llu: %s", what,
			   (unsigned long long)result->detail, message);
	else if (message && message[0])
		gpgpu_fail(err, "%s: %s: %s", what, gpgpu_status_name(result->status), message);
	else if (result->reason == VIRTIO_GPGPU_R_NONE)
		gpgpu_fail(err, "%s: %s", what, gpgpu_status_name(result->status));
	else
		gpgpu_fail(err, "%s: %s: %s%s", what, gpgpu_status_name(result->status),
			   gpgpu_reason_name(result->reason), detail);
	last_result = (struct gpgpu_result){ result->status, result->reason, result->detail };
	return err;
}
