// SPDX-License-Identifier: BSD-3-Clause
/* kernel_btf.c - see kernel_btf.h. Layout: a header, types, strings, after the kernel's documentation of BTF. */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/btf.h>
#include "kernel_btf.h"

enum { TYPE_INT = 1, TYPE_PROTO, TYPE_FIRST_FUNC };

struct blob {
	struct btf_header header;
	struct {
		struct btf_type type;
		uint32_t encoding;
	} integer;
	struct btf_type proto;
	struct btf_type funcs[KERNEL_MAX_FUNCS];
	char strings[16 + 4 * KERNEL_MAX_FUNCS];
};

static bool is_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
}

static bool is_reference(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->src_reg == BPF_PSEUDO_FUNC;
}

bool kernel_needs_btf(const struct bpf_insn *insns, uint32_t num)
{
	bool calls = false, tails = false;

	for (uint32_t i = 0; i < num; i++) {
		if (is_reference(&insns[i]))
			return true;
		calls |= is_call(&insns[i]);
		tails |= insns[i].code == (BPF_JMP | BPF_CALL) && insns[i].imm == BPF_FUNC_tail_call;
	}
	return calls && tails;
}

static int by_place(const void *a, const void *b)
{
	const struct bpf_func_info *x = a, *y = b;

	return x->insn_off < y->insn_off ? -1 : x->insn_off > y->insn_off;
}

static void add_func(struct kernel_funcs *funcs, uint32_t start)
{
	for (uint32_t i = 0; i < funcs->num; i++)
		if (funcs->info[i].insn_off == start)
			return;
	if (funcs->num < KERNEL_MAX_FUNCS)
		funcs->info[funcs->num++].insn_off = start;
}

static void find_funcs(const struct bpf_insn *insns, uint32_t num, struct kernel_funcs *funcs)
{
	memset(funcs, 0, sizeof(*funcs));
	add_func(funcs, 0);
	for (uint32_t i = 0; i < num; i++)
		if (is_call(&insns[i]) || is_reference(&insns[i]))
			add_func(funcs, (uint32_t)((int64_t)i + 1 + insns[i].imm));
	qsort(funcs->info, funcs->num, sizeof(funcs->info[0]), by_place);
	for (uint32_t i = 0; i < funcs->num; i++)
		funcs->info[i].type_id = TYPE_FIRST_FUNC + i;
}

int kernel_load_btf(const struct bpf_insn *insns, uint32_t num, struct kernel_funcs *funcs)
{
	static struct blob blob;
	static uint8_t flat[sizeof(blob)];
	union bpf_attr attr = { 0 };
	uint32_t types, strings = 5;

	find_funcs(insns, num, funcs);
	memset(&blob, 0, sizeof(blob));
	memcpy(blob.strings, "\0int", 5);
	blob.integer.type = (struct btf_type){ .name_off = 1, .info = BTF_KIND_INT << 24, .size = 4 };
	blob.integer.encoding = BTF_INT_SIGNED << 24 | 32;
	blob.proto = (struct btf_type){ .info = BTF_KIND_FUNC_PROTO << 24, .type = TYPE_INT };
	for (uint32_t i = 0; i < funcs->num; i++) {
		blob.funcs[i] = (struct btf_type){ .name_off = strings,
						   .info = BTF_KIND_FUNC << 24 | BTF_FUNC_STATIC,
						   .type = TYPE_PROTO };
		blob.strings[strings++] = 'f';
		blob.strings[strings++] = (char)('a' + i / 16);
		blob.strings[strings++] = (char)('a' + i % 16);
		strings++;
	}
	types = (uint32_t)(sizeof(blob.integer) + sizeof(blob.proto) + funcs->num * sizeof(blob.funcs[0]));
	blob.header = (struct btf_header){ .magic = BTF_MAGIC,
					   .version = BTF_VERSION,
					   .hdr_len = sizeof(blob.header),
					   .type_len = types,
					   .str_off = types,
					   .str_len = strings };
	memcpy(flat, &blob, sizeof(blob.header) + types);
	memcpy(flat + sizeof(blob.header) + types, blob.strings, strings);
	attr.btf = (uint64_t)(uintptr_t)flat;
	attr.btf_size = (uint32_t)sizeof(blob.header) + types + strings;
	return (int)syscall(SYS_bpf, BPF_BTF_LOAD, &attr, sizeof(attr));
}
