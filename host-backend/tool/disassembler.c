// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpgpu-disasm - machine code to text, for gpgpu-bpf; by LLVM, which is why it is a process of its own.
 *
 * Reads standard input to its end, writes text to standard output (disassembler.h). Not for people.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include "disassembler.h"

#define MAX_INPUT (256u << 20)
#define INTEL	  1 /* variant of the assembly's syntax */

/* By the target's name in the capabilities. */
static const struct {
	const char *target, *triple;
} targets[] = {
	{ "x86_64", "x86_64-unknown-linux-gnu" },
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "gpgpu-disasm: %s\n", what);
	exit(1);
}

static uint8_t *read_all(size_t *size)
{
	size_t room = 1 << 16, n = 0, got;
	uint8_t *bytes = malloc(room);

	while (bytes && (got = fread(bytes + n, 1, room - n, stdin))) {
		n += got;
		if (n < room)
			continue;
		room *= 2;
		if (room > MAX_INPUT)
			die("too much input");
		bytes = realloc(bytes, room);
	}
	if (!bytes)
		die("out of memory");
	*size = n;
	return bytes;
}

/* Where a branch goes, as an address of the image. */
static const char *name_target(void *opaque, uint64_t value, uint64_t *type, uint64_t at, const char **name)
{
	static char text[32];
	bool branch = *type == LLVMDisassembler_ReferenceType_In_Branch;

	*type = LLVMDisassembler_ReferenceType_InOut_None;
	*name = NULL;
	if (!branch)
		return NULL;
	snprintf(text, sizeof(text), "%llx", (unsigned long long)value);
	return text;
}

static LLVMDisasmContextRef open_target(const char *target)
{
	LLVMDisasmContextRef context;

	LLVMInitializeX86TargetInfo();
	LLVMInitializeX86TargetMC();
	LLVMInitializeX86Disassembler();
	for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
		if (strncmp(target, targets[i].target, strlen(targets[i].target)))
			continue;
		context = LLVMCreateDisasm(targets[i].triple, NULL, 0, NULL, name_target);
		if (!context)
			die("LLVM does not know the target");
		LLVMSetDisasmOptions(context, LLVMDisassembler_Option_AsmPrinterVariant |
						      LLVMDisassembler_Option_PrintImmHex);
		return context;
	}
	die("unknown target");
}

static void print_range(LLVMDisasmContextRef context, uint8_t *code, const struct disasm_range *range)
{
	char text[256];

	for (uint32_t at = 0; at < range->size;) {
		uint8_t *from = code + range->offset + at;
		size_t size = LLVMDisasmInstruction(context, from, range->size - at, range->offset + at, text,
						    sizeof(text));

		if (!size) {
			snprintf(text, sizeof(text), "\t.byte 0x%02x", *from);
			size = 1;
		}
		for (char *c = text; *c; c++)
			if (*c == '\t')
				*c = ' ';
		printf("%u %6x: %s\n", range->insn, range->offset + at, text + strspn(text, " "));
		at += (uint32_t)size;
	}
}

int main(void)
{
	struct disasm_head head;
	const struct disasm_range *ranges;
	LLVMDisasmContextRef context;
	size_t size, ranges_bytes;
	uint8_t *input = read_all(&size), *code;

	if (size < sizeof(head))
		die("no input");
	memcpy(&head, input, sizeof(head));
	size -= sizeof(head);
	ranges_bytes = head.num_ranges * sizeof(*ranges);
	if (head.magic != DISASM_MAGIC || head.target[sizeof(head.target) - 1] || ranges_bytes > size ||
	    head.code_bytes != size - ranges_bytes)
		die("bad input");
	ranges = (const void *)(input + sizeof(head));
	code = input + sizeof(head) + ranges_bytes;
	context = open_target(head.target);
	for (uint32_t i = 0; i < head.num_ranges; i++) {
		if (ranges[i].offset > head.code_bytes || ranges[i].size > head.code_bytes - ranges[i].offset)
			die("a range outside the code");
		print_range(context, code, &ranges[i]);
	}
	LLVMDisasmDispose(context);
	free(input);
	if (fflush(stdout) || ferror(stdout))
		die("writing failed");
	return 0;
}
