/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_kernel.c - the run-time library beside the kernel that runs this test: the same random calls to packet
 * helpers through BPF_PROG_TEST_RUN, the same random operations on hash maps and tries through bpf().
 *
 * Needs the right to call bpf(); without it the test is skipped and says so. Programs are built here,
 * instruction by instruction, so that nothing of our own stands between the helper and the kernel.
 */
#include <check.h>
#include <errno.h>
#include <glib.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "virtio_gpgpu.h"
#include "rt/maps.h"
#include "rt/rt.h"

static int sys_bpf(int cmd, union bpf_attr *attr)
{
	long r = syscall(__NR_bpf, cmd, attr, sizeof(*attr));

	return r < 0 ? -errno : (int)r;
}

static int map_create(uint32_t type, uint32_t key_size, uint32_t value_size, uint32_t max, uint32_t flags)
{
	union bpf_attr attr = { .map_type = type,
				.key_size = key_size,
				.value_size = value_size,
				.max_entries = max,
				.map_flags = flags };

	return sys_bpf(BPF_MAP_CREATE, &attr);
}

static int map_op(int cmd, int fd, const void *key, const void *value, uint64_t flags)
{
	union bpf_attr attr = {
		.map_fd = (uint32_t)fd, .key = (uintptr_t)key, .value = (uintptr_t)value, .flags = flags
	};

	return sys_bpf(cmd, &attr);
}

/* ----------------------------------------------------------------- programs */

struct code {
	struct bpf_insn insn[256];
	uint32_t n;
};

static void emit(struct code *c, uint8_t op, int dst, int src, int16_t off, int32_t imm)
{
	ck_assert_uint_lt(c->n, G_N_ELEMENTS(c->insn));
	c->insn[c->n++] = (struct bpf_insn){
		.code = op, .dst_reg = dst & 15, .src_reg = src & 15, .off = off, .imm = imm
	};
}

static void emit_mov(struct code *c, int dst, int32_t imm)
{
	emit(c, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm);
}

static void emit_copy(struct code *c, int dst, int src, int32_t add)
{
	emit(c, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
	if (add)
		emit(c, BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, add);
}

/* r7 = r7 * 31 + r0: all results in one number. */
static void emit_note(struct code *c)
{
	emit(c, BPF_ALU64 | BPF_MUL | BPF_K, 7, 0, 0, 31);
	emit(c, BPF_ALU64 | BPF_ADD | BPF_X, 7, 0, 0, 0);
}

static int load(struct code *c)
{
	static char log[65536];
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_XDP,
				.insns = (uintptr_t)c->insn,
				.insn_cnt = c->n,
				.license = (uintptr_t)"GPL",
				.log_buf = (uintptr_t)log,
				.log_size = sizeof(log),
				.log_level = 1 };
	int fd = sys_bpf(BPF_PROG_LOAD, &attr);

	ck_assert_msg(fd >= 0, "the kernel refuses a test program: %d\n%s", fd, log);
	return fd;
}

enum { SLOT = 4096, HEADROOM = 256, MAX_OUT = 4096 };

struct outcome {
	uint32_t ret, meta, len; /* len: metadata and packet */
	uint8_t data[MAX_OUT];
};

static void run_kernel(struct code *c, const uint8_t *in, uint32_t meta, uint32_t len, struct outcome *out)
{
	struct xdp_md md_in = { .data = meta, .data_end = meta + len }, md_out = { 0 };
	union bpf_attr attr = { 0 };
	int fd = load(c), err;

	attr.test.prog_fd = (uint32_t)fd;
	attr.test.data_in = (uintptr_t)in;
	attr.test.data_size_in = meta + len;
	attr.test.data_out = (uintptr_t)out->data;
	attr.test.data_size_out = MAX_OUT;
	attr.test.ctx_in = (uintptr_t)&md_in;
	attr.test.ctx_size_in = sizeof(md_in);
	attr.test.ctx_out = (uintptr_t)&md_out;
	attr.test.ctx_size_out = sizeof(md_out);
	attr.test.repeat = 1;
	err = sys_bpf(BPF_PROG_TEST_RUN, &attr);
	close(fd);
	ck_assert_int_eq(err, 0);
	out->ret = attr.test.retval;
	out->len = attr.test.data_size_out;
	out->meta = md_out.data;
}

static uint8_t slot[SLOT];
static struct gp_thread thread;
static struct gp_env env = { .slots = slot, .stride = SLOT };

static void same_outcome(const struct gp_lane *lane, uint64_t note, const struct outcome *k)
{
	ck_assert_uint_eq((uint32_t)note, k->ret);
	ck_assert_uint_eq(lane->data_off - lane->meta_off, k->meta);
	ck_assert_uint_eq(lane->data_end - lane->meta_off, k->len);
	ck_assert_mem_eq(slot + lane->meta_off, k->data, k->len);
}

static int32_t random_delta(void)
{
	static const int32_t odd[] = { -217, -216, -300, 3456, 3457, INT32_MAX, INT32_MIN, -4096, 4096 };
	int n = g_random_int_range(0, 8);

	if (n == 0)
		return odd[g_random_int_range(0, G_N_ELEMENTS(odd))];
	return n < 4 ? g_random_int_range(-60, 60) : g_random_int_range(-15, 15) * 4;
}

START_TEST(test_packets)
{
	static struct outcome k;
	uint8_t buf[64], in[1024];
	int round, i, j;

	for (round = 0; round < 400; round++) {
		uint32_t meta = (uint32_t)g_random_int_range(0, 5) * 4;
		uint32_t len = (uint32_t)g_random_int_range(14, 900);
		struct code c = { .n = 0 };
		struct gp_lane lane = { .env = &env,
					.thread = &thread,
					.base = slot,
					.data_off = HEADROOM,
					.data_end = HEADROOM + len,
					.meta_off = HEADROOM - meta };
		uint64_t note = 0;

		for (i = 0; i < (int)sizeof(in); i++)
			in[i] = (uint8_t)g_random_int();
		memset(slot, 0, sizeof(slot));
		memcpy(slot + HEADROOM - meta, in, meta + len);
		memset(buf, 0, sizeof(buf));

		emit_copy(&c, 6, 1, 0);
		emit_mov(&c, 7, 0);
		for (j = 8; j <= 64; j += 8)
			emit(&c, BPF_ST | BPF_MEM | BPF_DW, 10, 0, (int16_t)-j, 0);
		for (i = 0; i < 8; i++) {
			int what = g_random_int_range(0, 5);
			int32_t d = random_delta(), off = g_random_int_range(0, 4)
								  ? g_random_int_range(0, 200)
								  : g_random_int_range(0, 70000);
			uint32_t n = (uint32_t)g_random_int_range(1, 65);
			int64_t ret;

			emit_copy(&c, 1, 6, 0);
			if (what < 3) {
				emit_mov(&c, 2, d);
				emit(&c, BPF_JMP | BPF_CALL, 0, 0, 0,
				     what == 0	 ? BPF_FUNC_xdp_adjust_head
				     : what == 1 ? BPF_FUNC_xdp_adjust_tail
						 : BPF_FUNC_xdp_adjust_meta);
				ret = what == 0	  ? gp_helper_adjust_head(&lane, d)
				      : what == 1 ? gp_helper_adjust_tail(&lane, d)
						  : gp_helper_adjust_meta(&lane, d);
			} else {
				emit_mov(&c, 2, off);
				emit_copy(&c, 3, 10, -64);
				emit_mov(&c, 4, (int32_t)n);
				emit(&c, BPF_JMP | BPF_CALL, 0, 0, 0,
				     what == 3 ? BPF_FUNC_xdp_load_bytes : BPF_FUNC_xdp_store_bytes);
				ret = what == 3 ? gp_helper_load_bytes(&lane, (uint32_t)off, buf, n)
						: gp_helper_store_bytes(&lane, (uint32_t)off, buf, n);
			}
			note = note * 31 + (uint64_t)ret;
			emit_note(&c);
			if (what == 3 && ret) {
				/* What a failed load leaves in the buffer is open; both sides clear it. */
				for (j = 64; j > 64 - (int)((n + 7) & ~7u); j -= 8)
					emit(&c, BPF_ST | BPF_MEM | BPF_DW, 10, 0, (int16_t)-j, 0);
				memset(buf, 0, (n + 7) & ~7u);
			}
		}
		emit_copy(&c, 0, 7, 0);
		emit(&c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
		run_kernel(&c, in, meta, len, &k);
		same_outcome(&lane, note, &k);
	}
}
END_TEST

static bool kernel_folds_csum(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	uname(&u);
	sscanf(u.release, "%d.%d", &major, &minor);
	return major > 6 || (major == 6 && minor >= 13);
}

START_TEST(test_csum)
{
	static struct outcome k;
	struct gp_lane lane = { .env = &env, .thread = &thread };
	uint8_t data[1024], in[64] = { 0 };
	uint32_t key = 0;
	int fd = map_create(BPF_MAP_TYPE_ARRAY, 4, 1024, 1, 0), round, i;

	ck_assert_int_ge(fd, 0);
	for (round = 0; round < 400; round++) {
		uint32_t from = (uint32_t)g_random_int_range(0, round % 2 ? 12 : 80) * 4;
		uint32_t to = (uint32_t)g_random_int_range(0, round % 2 ? 12 : 80) * 4, seed = g_random_int();
		bool too_long = from + to > 512;
		struct code c = { .n = 0 };
		uint64_t ours;
		int jump;

		/* 6.13 lifted the limit. */
		if (too_long && kernel_folds_csum())
			continue;
		/* Zero sizes take a NULL: the verifier allows it. */
		if (round % 5 == 0)
			seed = round % 2 ? 0 : 0xffffffff;
		for (i = 0; i < 1024; i++)
			data[i] = round % 7 == 3 ? 0xff : round % 7 == 4 ? 0 : (uint8_t)g_random_int();
		ck_assert_int_eq(map_op(BPF_MAP_UPDATE_ELEM, fd, &key, data, 0), 0);
		emit(&c, BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0);
		emit(&c, BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, fd);
		emit(&c, 0, 0, 0, 0, 0);
		emit_copy(&c, 2, 10, -4);
		emit(&c, BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem);
		jump = (int)c.n;
		emit(&c, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0, 0);
		emit_copy(&c, 1, 0, 0);
		emit_copy(&c, 3, 0, 512);
		if (!from)
			emit_mov(&c, 1, 0);
		if (!to)
			emit_mov(&c, 3, 0);
		emit_mov(&c, 2, (int32_t)from);
		emit_mov(&c, 4, (int32_t)to);
		emit_mov(&c, 5, (int32_t)seed);
		emit(&c, BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_csum_diff);
		c.insn[jump].off = (int16_t)(c.n - (uint32_t)jump - 1);
		emit(&c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
		run_kernel(&c, in, 0, sizeof(in), &k);
		ours = (uint64_t)gp_helper_csum_diff(&lane, from ? data : NULL, from, to ? data + 512 : NULL,
						     to, seed);
		if (kernel_folds_csum())
			ck_assert_uint_eq(ours % 0xffff, k.ret % 0xffff);
		else
			ck_assert_uint_eq((uint32_t)ours, k.ret);
	}
	close(fd);
	if (kernel_folds_csum())
		puts("note: this kernel folds csum_diff to 16 bits; compared modulo 2^16 - 1");
}
END_TEST

/* --------------------------------------------------------------------- maps */

static void random_key(uint32_t type, uint8_t *key, uint32_t size)
{
	uint32_t i, bits = (uint32_t)g_random_int_range(0, (gint32)(size - 4) * 8 + 3);

	if (type == BPF_MAP_TYPE_HASH) {
		memset(key, 7, size);
		key[g_random_int() % size] = (uint8_t)(g_random_int() % 5);
		return;
	}
	memcpy(key, &bits, 4);
	for (i = 4; i < size; i++)
		key[i] = (uint8_t)(g_random_int() & g_random_int() & g_random_int());
}

/* A trie's order is the kernel's own; a hash map's is not. */
static void same_walk(uint32_t type, struct gp_map *map, int fd)
{
	uint8_t ours[512], theirs[512], value[8], other[8];
	int a = gp_map_next_key(map, NULL, ours), b = map_op(BPF_MAP_GET_NEXT_KEY, fd, NULL, theirs, 0);
	uint32_t n = 0, m = 0;

	if (type == BPF_MAP_TYPE_LPM_TRIE) {
		while (!a && !b) {
			ck_assert_mem_eq(ours, theirs, map->key_size);
			a = gp_map_next_key(map, ours, ours);
			b = map_op(BPF_MAP_GET_NEXT_KEY, fd, theirs, theirs, 0);
		}
		ck_assert_int_eq(a, b);
		return;
	}
	for (; !a; a = gp_map_next_key(map, ours, ours), n++) {
		ck_assert_int_eq(map_op(BPF_MAP_LOOKUP_ELEM, fd, ours, value, 0), 0);
		ck_assert_int_eq(gp_map_lookup(map, ours, other), 0);
		ck_assert_mem_eq(value, other, 8);
	}
	for (; !b; m++)
		b = map_op(BPF_MAP_GET_NEXT_KEY, fd, theirs, theirs, 0);
	ck_assert_uint_eq(n, m);
}

START_TEST(test_map)
{
	static const struct {
		uint32_t type, key_size, max;
	} rows[] = {
		{ BPF_MAP_TYPE_HASH, 4, 12 },	   { BPF_MAP_TYPE_HASH, 13, 30 },
		{ BPF_MAP_TYPE_HASH, 64, 40 },	   { BPF_MAP_TYPE_LPM_TRIE, 5, 20 },
		{ BPF_MAP_TYPE_LPM_TRIE, 8, 30 },  { BPF_MAP_TYPE_LPM_TRIE, 11, 30 },
		{ BPF_MAP_TYPE_LPM_TRIE, 20, 30 }, { BPF_MAP_TYPE_LPM_TRIE, 260, 30 },
	};
	uint32_t type = rows[_i].type, size = rows[_i].key_size, n;
	struct gp_map_desc desc = {
		.type = type, .key_size = size, .value_size = 8, .max_entries = rows[_i].max
	};
	int fd = map_create(type, size, 8, rows[_i].max,
			    type == BPF_MAP_TYPE_LPM_TRIE ? BPF_F_NO_PREALLOC : 0);
	struct gp_map map;
	void *values, *index;
	uint8_t key[260];

	ck_assert_int_ge(fd, 0);
	ck_assert_uint_eq(gp_map_check(&desc, 1), VIRTIO_GPGPU_R_NONE);
	values = calloc(1, desc.values_size);
	index = calloc(1, gp_map_index_bytes(&desc));
	gp_map_layout(&map, &desc, values, index, g_random_int());
	for (n = 0; n < 20000; n++) {
		int what = g_random_int_range(0, 9);
		uint64_t flags = (uint64_t)g_random_int_range(0, 4), ours = g_random_int(), theirs = ours;

		random_key(type, key, size);
		if (what < 4) {
			ck_assert_int_eq(gp_map_update(&map, key, &ours, flags),
					 map_op(BPF_MAP_UPDATE_ELEM, fd, key, &theirs, flags));
		} else if (what < 6) {
			ck_assert_int_eq(gp_map_delete(&map, key),
					 map_op(BPF_MAP_DELETE_ELEM, fd, key, NULL, 0));
		} else {
			ck_assert_int_eq(gp_map_lookup(&map, key, &ours),
					 map_op(BPF_MAP_LOOKUP_ELEM, fd, key, &theirs, 0));
			ck_assert_uint_eq(ours, theirs);
		}
		if (n % 500 == 0)
			same_walk(type, &map, fd);
	}
	same_walk(type, &map, fd);
	close(fd);
	free(values);
	free(index);
}
END_TEST

static bool may_load(void)
{
	struct bpf_insn code[2] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K }, { .code = BPF_JMP | BPF_EXIT } };
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_XDP,
				.insns = (uintptr_t)code,
				.insn_cnt = 2,
				.license = (uintptr_t)"GPL" };
	int fd = sys_bpf(BPF_PROG_LOAD, &attr);

	if (fd < 0) {
		printf("skipped: loading a program says %s; run as root\n", strerror(-fd));
		return false;
	}
	close(fd);
	return true;
}

int main(void)
{
	Suite *s = suite_create("kernel");
	TCase *t = tcase_create("kernel");
	SRunner *r;
	int failed, fd = map_create(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);

	if (fd < 0) {
		printf("skipped: bpf() says %s; run as root on a kernel with BPF\n", strerror(-fd));
		return 77;
	}
	close(fd);
	if (!may_load())
		return 77;
	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_packets);
	tcase_add_test(t, test_csum);
	tcase_add_loop_test(t, test_map, 0, 8);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
