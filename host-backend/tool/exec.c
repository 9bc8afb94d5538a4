// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpgpu-bpf exec - run bare instructions: the plugin of test suites such as bpf_conformance.
 *
 * The contract: instructions come as hexadecimal digits on standard input, memory as hexadecimal digits in an
 * argument; the program starts with r1 the memory's address and r2 its length, both 0 without any; what it leaves in
 * r0 goes to standard output. A refusal or a fault is a line on standard error and status 1.
 *
 * No kind of program of the device starts like that. So the instructions become a function of a compute kernel
 * whose own few instructions load r1 and r2 from the kernel's arguments, call it, and store r0 to a buffer. That costs
 * one of the eight frames that calls may be deep. Numbers of instructions are the caller's in what is printed.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "gpgpu.h"
#include "listing.h"
#include "session.h"
#include "tool.h"

#define MAX_MEMORY  (1u << 20)
#define MAX_PROGRAM (16384 * sizeof(struct bpf_insn))

static const char help[] = "usage: gpgpu-bpf exec [--device NAME] [MEMORY] < INSTRUCTIONS\n"
			   "Both are hexadecimal digits, blanks between bytes are ignored. Prints r0.\n"
			   "  --device NAME   what is to run it: cpu, amdgpu[:NODE] or cuda[:NUMBER]\n";

/* -------------------------------------------------------------------- input */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Return: the bytes, @count of them, or die; @what names them. */
static uint8_t *parse_hex(const char *text, size_t length, size_t max, const char *what, size_t *count)
{
	uint8_t *bytes = xcalloc(length / 2 + 1, 1);
	size_t n = 0; /* digits */

	for (size_t i = 0; i < length; i++) {
		if (isspace((unsigned char)text[i]))
			continue;
		if (digit(text[i]) < 0) {
			if (isprint((unsigned char)text[i]))
				die("exec: %s: '%c' is not a hexadecimal digit", what, text[i]);
			die("exec: %s: byte 0x%02x is not a hexadecimal digit", what, (uint8_t)text[i]);
		}
		/* A blank inside a pair would hide a missing digit. */
		if (n % 2 && isspace((unsigned char)text[i - 1]))
			die("exec: %s: a byte has one digit", what);
		bytes[n / 2] = (uint8_t)(bytes[n / 2] << 4 | digit(text[i]));
		n++;
	}
	if (n % 2)
		die("exec: %s: an odd number of hexadecimal digits", what);
	if (n / 2 > max)
		die("exec: %s: %zu bytes, at most %zu", what, n / 2, max);
	*count = n / 2;
	return bytes;
}

static struct bpf_insn *read_program(size_t *count)
{
	size_t room = 4 * MAX_PROGRAM, n = 0, got, bytes;
	char *text = xcalloc(1, room);
	uint8_t *insns;

	while (n < room && (got = fread(text + n, 1, room - n, stdin)))
		n += got;
	if (ferror(stdin))
		die("exec: instructions: %s", strerror(errno));
	if (n == room)
		die("exec: instructions: over %zu characters", room - 1);
	insns = parse_hex(text, n, MAX_PROGRAM, "instructions", &bytes);
	free(text);
	if (!bytes)
		die("exec: instructions: none on standard input");
	if (bytes % sizeof(struct bpf_insn))
		die("exec: instructions: %zu bytes are not a whole number of instructions", bytes);
	*count = bytes / sizeof(struct bpf_insn);
	return (struct bpf_insn *)insns;
}

/* ------------------------------------------------------------------ wrapping */

enum { ARG_RESULT, ARG_LENGTH, ARG_MEMORY }; /* of the kernel; ARG_MEMORY only with some */

#define LOAD(dst, src, offset) \
	{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = (dst), .src_reg = (src), .off = (offset) }
#define MOVE_IMM(dst, value) { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (dst), .imm = (value) }

/* The kernel: its own instructions, then the program's. @own: out: how many are its own. */
static struct bpf_insn *wrap(const struct bpf_insn *insns, size_t count, bool has_memory, size_t *own)
{
	struct bpf_insn head[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 1 },
		MOVE_IMM(1, 0), /* replaced if there is memory */
		LOAD(2, 6, ARG_LENGTH * 8),
		{ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 4 },
		LOAD(1, 6, ARG_RESULT * 8),
		{ .code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = 1, .src_reg = 0 },
		MOVE_IMM(0, 0),
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct bpf_insn *all = xcalloc(ARRAY_SIZE(head) + count, sizeof(*all));

	if (has_memory)
		head[1] = (struct bpf_insn)LOAD(1, 6, ARG_MEMORY * 8);
	memcpy(all, head, sizeof(head));
	memcpy(all + ARRAY_SIZE(head), insns, count * sizeof(*insns));
	*own = ARRAY_SIZE(head);
	return all;
}

/*
 * Numbers in front of a message and behind the word "instruction" are those of the kernel's instructions: makes them
 * the program's.
 */
static void renumber(const char *text, size_t own, char *out, size_t size)
{
	static const char word[] = "instruction ";
	bool number = isdigit((unsigned char)*text);
	size_t used = 0;

	while (*text && used + 24 < size) {
		if (number && isdigit((unsigned char)*text)) {
			char *end;
			unsigned long n = strtoul(text, &end, 10);

			used += (size_t)snprintf(out + used, size - used, "%lu", n >= own ? n - own : n);
			text = end;
			number = false;
			continue;
		}
		number = !strncmp(text, word, strlen(word));
		for (size_t i = 0; i < (number ? strlen(word) : 1) && used + 1 < size; i++)
			out[used++] = *text++;
	}
	out[used] = '\0';
}

/* --------------------------------------------------------------------- run */

static void refused(const struct refusal *refusal, size_t own)
{
	const char *own_call = strstr(refusal->message, "call pc");
	char text[VIRTIO_GPGPU_MESSAGE + 128];

	/* A register that the program reads and that the call does not set is said of the call. */
	if (refusal->status == VIRTIO_GPGPU_S_REJECTED && refusal->detail < own && own_call &&
	    strchr(own_call, ':'))
		die("the program%s", strchr(own_call, ':'));
	renumber(refusal_text(refusal), own, text, sizeof(text));
	die("%s", text);
}

static void faulted(const struct refusal *refusal, uint32_t insn, size_t own, const struct bpf_insn *insns,
		    size_t count)
{
	char text[256];

	if (insn < own)
		die("the program: %s", gpgpu_reason_name(refusal->reason));
	insn -= (uint32_t)own;
	die("%u: %s: %s", insn, insn_text(text, sizeof(text), NULL, NULL, insns, count, insn),
	    gpgpu_reason_name(refusal->reason));
}

static uint64_t run(struct session *s, const struct bpf_insn *insns, size_t count, const uint8_t *memory,
		    size_t memory_size)
{
	static const uint8_t kinds[] = { VIRTIO_GPGPU_ARG_BUFFER, VIRTIO_GPGPU_ARG_VALUE,
					 VIRTIO_GPGPU_ARG_BUFFER };
	struct buffer result = session_buffer(s, sizeof(uint64_t)), buffer = { 0 };
	size_t own;
	struct bpf_insn *all = wrap(insns, count, memory_size > 0, &own);
	struct virtio_gpgpu_arg args[] = {
		[ARG_RESULT] = { .kind = kinds[0], .buffer = result.id, .size = sizeof(uint64_t) },
		[ARG_LENGTH] = { .kind = kinds[1], .value = memory_size },
		[ARG_MEMORY] = { .kind = kinds[2], .size = memory_size },
	};
	struct program_desc desc = {
		.name = "exec",
		.kind = VIRTIO_GPGPU_PROG_GPGPU,
		.insns = all,
		.num_insns = (uint32_t)(own + count),
		.num_args = memory_size ? 3 : 2,
		.arg_kind = kinds,
	};
	struct refusal refusal;
	struct job_result job;
	struct program_cost cost;
	uint64_t r0;
	uint32_t id;

	if (memory_size) {
		buffer = session_buffer(s, memory_size);
		memcpy(buffer.bytes, memory, memory_size);
		args[ARG_MEMORY].buffer = buffer.id;
	}
	if (session_program(s, &desc, &id, &cost, &refusal))
		refused(&refusal, own);
	if (session_dispatch(s, id, args, desc.num_args, &job, &refusal)) {
		if (refusal.status == VIRTIO_GPGPU_S_FAULT)
			faulted(&refusal, job.fault_insn, own, insns, count);
		refused(&refusal, own);
	}
	memcpy(&r0, result.bytes, sizeof(r0));
	free(all);
	return r0;
}

int cmd_exec(int argc, char **argv)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct session_options session = { .threads = 1, .shm_size = MAX_MEMORY + 65536 };
	size_t count, memory_size = 0;
	struct bpf_insn *insns;
	uint8_t *memory = NULL;
	struct session *s;
	int c;

	while ((c = getopt_long(argc, argv, "d:h", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			session.device = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return 1;
		}
	}
	if (argc - optind > 1)
		die("exec: one argument at most, the memory; gpgpu-bpf exec --help");
	if (optind < argc)
		memory = parse_hex(argv[optind], strlen(argv[optind]), MAX_MEMORY, "memory", &memory_size);
	insns = read_program(&count);
	s = session_open(&session);
	printf("0x%llx\n", (unsigned long long)run(s, insns, count, memory, memory_size));
	session_close(s);
	free(insns);
	free(memory);
	return 0;
}
