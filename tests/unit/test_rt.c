/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_rt.c - the run-time library without a compiler: packet helpers by the kernel's rules, csum_diff
 * against carry-by-carry addition, handles, the loops around a program, and the C library's stand-ins.
 */
#include <check.h>
#include <errno.h>
#include <glib.h>
#include <linux/bpf.h>
#include <string.h>
#include <time.h>
#include "virtio_gpgpu.h"
#include "rt/clock.h"
#include "rt/libc.h"
#include "rt/mem.h"
#include "rt/rt.h"

/* The "program": whatever a test wants to run. */
static int64_t (*program)(struct gp_lane *lane);

int64_t gp_prog(struct gp_lane *lane)
{
	return program(lane);
}

/* ------------------------------------------------------------------ packets */

enum { STRIDE = 4096, HEADROOM = 256 };

static uint8_t slot[STRIDE + 64];
static struct gp_thread thread;
static struct gp_env env = { .slots = slot, .stride = STRIDE, .fuel = 1000 };

static struct gp_lane packet(uint32_t off, uint32_t len, uint32_t meta)
{
	uint32_t i;

	for (i = 0; i < sizeof(slot); i++)
		slot[i] = (uint8_t)(i * 7 + 1);
	return (struct gp_lane){ .env = &env,
				 .thread = &thread,
				 .base = slot,
				 .fuel = 1000,
				 .data_off = off,
				 .data_end = off + len,
				 .meta_off = off - meta };
}

enum adjust { HEAD, TAIL, META };

static const struct adjust_row {
	enum adjust what;
	uint32_t stride, off, len, meta;
	int64_t delta;
	int ret;
} adjusts[] = {
	/* head: down to 40 bytes from the start, up to 14 bytes of packet */
	{ HEAD, 4096, 256, 64, 0, -216, 0 },
	{ HEAD, 4096, 256, 64, 0, -217, -EINVAL },
	{ HEAD, 4096, 256, 64, 0, 50, 0 },
	{ HEAD, 4096, 256, 64, 0, 51, -EINVAL },
	{ HEAD, 4096, 256, 64, 0, 0, 0 },
	{ HEAD, 4096, 256, 64, 0, INT32_MIN, -EINVAL },
	{ HEAD, 4096, 256, 64, 0, INT32_MAX, -EINVAL },
	/* only the low half of the register counts */
	{ HEAD, 4096, 256, 64, 0, 0x700000008, 0 },
	{ HEAD, 4096, 256, 64, 0, 0xffffffff, 0 },
	/* with metadata, which moves along */
	{ HEAD, 4096, 256, 64, 8, -208, 0 },
	{ HEAD, 4096, 256, 64, 8, -209, -EINVAL },
	{ HEAD, 4096, 256, 64, 12, 5, 0 },
	{ HEAD, 4096, 256, 64, 12, -5, 0 },
	/* less headroom than a frame has: may still shrink */
	{ HEAD, 128, 0, 64, 0, 4, 0 },
	{ HEAD, 128, 0, 64, 0, -1, -EINVAL },
	{ HEAD, 128, 4, 64, 4, 1, 0 },
	/* a packet shorter than a header cannot be moved into */
	{ HEAD, 4096, 256, 10, 0, 0, -EINVAL },
	/* tail: to 320 bytes from the end of a frame, down to 14 bytes */
	{ TAIL, 4096, 256, 64, 0, 3776 - 320, 0 },
	{ TAIL, 4096, 256, 64, 0, 3776 - 319, -EINVAL },
	{ TAIL, 4096, 256, 64, 0, -50, 0 },
	{ TAIL, 4096, 256, 64, 0, -51, -EINVAL },
	{ TAIL, 4096, 256, 64, 0, INT32_MAX, -EINVAL },
	{ TAIL, 4096, 256, 64, 0, INT32_MIN, -EINVAL },
	{ TAIL, 2048, 256, 64, 0, 1728 - 320, 0 },
	{ TAIL, 2048, 256, 64, 0, 1728 - 319, -EINVAL },
	/* a slot smaller than a frame is all the packet's */
	{ TAIL, 512, 256, 64, 0, 192, 0 },
	{ TAIL, 512, 256, 64, 0, 193, -EINVAL },
	{ TAIL, 4096, 256, 3800, 0, -1, 0 },
	/* metadata: words, up to 252 bytes, in the headroom */
	{ META, 4096, 256, 64, 0, -4, 0 },
	{ META, 4096, 256, 64, 0, -216, 0 },
	{ META, 4096, 256, 64, 0, -217, -EINVAL },
	{ META, 4096, 256, 64, 0, -220, -EINVAL },
	{ META, 4096, 256, 64, 0, -6, -EACCES },
	{ META, 4096, 512, 64, 0, -252, 0 },
	{ META, 4096, 512, 64, 0, -256, -EACCES },
	{ META, 4096, 256, 64, 8, 8, 0 },
	{ META, 4096, 256, 64, 8, 4, 0 },
	{ META, 4096, 256, 64, 8, 1, -EACCES },
	{ META, 4096, 256, 64, 8, 9, -EINVAL },
	{ META, 4096, 256, 64, 0, INT32_MIN, -EINVAL },
	{ META, 128, 8, 64, 8, 4, 0 },
};

START_TEST(test_adjust)
{
	const struct adjust_row *row = &adjusts[_i];
	struct gp_lane lane = packet(row->off, row->len, row->meta), before = lane;
	int32_t delta = (int32_t)row->delta;
	uint8_t old[sizeof(slot)];
	int64_t ret;
	uint32_t i;

	memcpy(old, slot, sizeof(old));
	env.stride = row->stride;
	ret = row->what == HEAD	  ? gp_helper_adjust_head(&lane, row->delta)
	      : row->what == TAIL ? gp_helper_adjust_tail(&lane, row->delta)
				  : gp_helper_adjust_meta(&lane, row->delta);
	env.stride = STRIDE;
	ck_assert_int_eq(ret, row->ret);
	if (ret) {
		ck_assert_mem_eq(&lane, &before, sizeof(lane));
		ck_assert_mem_eq(slot, old, sizeof(old));
		return;
	}
	ck_assert_int_eq(lane.data_off, (int64_t)before.data_off + (row->what == HEAD ? delta : 0));
	ck_assert_int_eq(lane.data_end, (int64_t)before.data_end + (row->what == TAIL ? delta : 0));
	ck_assert_int_eq(lane.meta_off, (int64_t)before.meta_off + (row->what != TAIL ? delta : 0));
	/* Metadata moves with the head, a grown tail is zeroed, all else stays as it was. */
	for (i = 0; i < sizeof(slot); i++) {
		uint8_t want = old[i];

		if (row->what == HEAD && i >= lane.meta_off && i < lane.data_off)
			want = old[i - (uint32_t)delta];
		if (row->what == TAIL && i >= before.data_end && i < lane.data_end)
			want = 0;
		if (slot[i] != want)
			ck_abort_msg("byte %u is %#x, not %#x", i, slot[i], want);
	}
}
END_TEST

START_TEST(test_bytes)
{
	static const struct {
		uint64_t off, len;
		int ret;
	} rows[] = {
		{ 0, 64, 0 },
		{ 63, 1, 0 },
		{ 10, 20, 0 },
		{ 64, 0, 0 },
		{ 0, 65, -EINVAL },
		{ 64, 1, -EINVAL },
		{ 65, 0, -EINVAL },
		{ 0xffff, 1, -EINVAL },
		{ 0x10000, 1, -EFAULT },
		{ 0, 0x10000, -EFAULT },
		{ UINT32_MAX, 2, -EFAULT },
		{ 1, UINT32_MAX, -EFAULT },
		{ 1ull << 32, 4, 0 },
	};
	uint8_t buf[64], old[sizeof(slot)];
	size_t n;

	for (n = 0; n < G_N_ELEMENTS(rows); n++) {
		struct gp_lane lane = packet(HEADROOM, 64, 0);
		uint32_t off = (uint32_t)rows[n].off, len = (uint32_t)rows[n].len;

		memset(buf, 0xee, sizeof(buf));
		ck_assert_int_eq(gp_helper_load_bytes(&lane, rows[n].off, buf, rows[n].len), rows[n].ret);
		if (rows[n].ret)
			ck_assert(buf[0] == 0xee && !memcmp(buf, buf + 1, sizeof(buf) - 1));
		else
			ck_assert(!memcmp(buf, slot + HEADROOM + off, len));
		memcpy(old, slot, sizeof(old));
		memset(buf, 0xdd, sizeof(buf));
		ck_assert_int_eq(gp_helper_store_bytes(&lane, rows[n].off, buf, rows[n].len), rows[n].ret);
		if (!rows[n].ret)
			memset(old + HEADROOM + off, 0xdd, len);
		ck_assert_mem_eq(slot, old, sizeof(old));
	}
}
END_TEST

START_TEST(test_redirect)
{
	struct gp_lane lane = packet(HEADROOM, 64, 0);

	ck_assert_uint_eq(gp_helper_redirect(&lane, 0x100000007, 0), XDP_REDIRECT);
	ck_assert_uint_eq(lane.egress_port, 7);
	ck_assert_uint_eq(gp_helper_redirect(&lane, 8, 1), XDP_ABORTED);
	ck_assert_uint_eq(lane.egress_port, 7);
}
END_TEST

/* -------------------------------------------------------------------- csum */

/* 64-bit words with the carry brought round, as the kernel's csum_partial does it on x86. */
static uint32_t csum_reference(const uint8_t *data, uint32_t len, uint32_t seed)
{
	uint64_t sum = seed, word;
	uint32_t i;

	for (i = 0; i < len; i += 8) {
		word = 0;
		memcpy(&word, data + i, len - i < 8 ? len - i : 8);
		sum += word;
		sum += sum < word;
	}
	return (uint32_t)((sum + (sum << 32 | sum >> 32)) >> 32);
}

START_TEST(test_csum_diff)
{
	uint8_t from[512], to[512], both[1024];
	struct gp_lane lane = packet(HEADROOM, 64, 0);
	uint32_t n, i, a, b, seed;

	for (n = 0; n < 200000; n++) {
		a = (uint32_t)g_random_int_range(0, 129) * 4;
		b = (uint32_t)g_random_int_range(0, 129 - (gint32)a / 4) * 4;
		for (i = 0; i < 512; i += 4) {
			uint32_t style = n % 4, x = style ? style == 1 ? 0 : 0xffffffff : g_random_int();
			uint32_t y = style ? style == 1 ? 0 : 0xffffffff : g_random_int();

			memcpy(from + i, &x, 4);
			memcpy(to + i, &y, 4);
		}
		seed = n % 3 ? n % 3 == 1 ? 0 : 0xffffffff : g_random_int();
		for (i = 0; i < a; i++)
			both[i] = (uint8_t)~from[i];
		memcpy(both + a, to, b);
		if (gp_helper_csum_diff(&lane, from, a, to, b, (uint64_t)seed | 5ull << 32) !=
		    csum_reference(both, a + b, seed))
			ck_abort_msg("from %u, to %u, seed %#x", a, b, seed);
	}
	ck_assert_int_eq(gp_helper_csum_diff(&lane, NULL, 0, NULL, 0, 77), 77);
	ck_assert_int_eq(gp_helper_csum_diff(&lane, from, 2, to, 4, 0), -EINVAL);
	ck_assert_int_eq(gp_helper_csum_diff(&lane, from, 4, to, 7, 0), -EINVAL);
	ck_assert_int_eq(gp_helper_csum_diff(&lane, from, 512, to, 4, 0), -EINVAL);
	ck_assert_int_eq(gp_helper_csum_diff(&lane, from, 0, to, 516, 0), -EINVAL);
	ck_assert_int_eq(gp_helper_csum_diff(&lane, from, UINT64_MAX - 3, to, 8, 0), -EINVAL);
	ck_assert_int_eq(gp_helper_csum_diff(&lane, from, 0xfffffffc, to, 8, 0), -EINVAL);
}
END_TEST

/* ------------------------------------------------------------------ handles */

static uint64_t handle(uint64_t region, uint64_t offset)
{
	return region << GP_REGION_SHIFT | offset;
}

START_TEST(test_region)
{
	uint8_t stack[64], arg0[32], values[48];
	struct gp_region args[3] = { { arg0, sizeof(arg0), 1 }, { NULL, 0, 0 }, { arg0, sizeof(arg0), 0 } };
	struct gp_map rw = { .values = values, .values_size = sizeof(values) }, ro = rw;
	struct gp_map *maps[2] = { &rw, &ro };
	struct gp_env e = {
		.args = args, .num_args = 3, .maps = maps, .num_maps = 2, .slots = slot, .stride = STRIDE
	};
	struct gp_lane lane = packet(HEADROOM, 64, 0);
	const struct {
		uint64_t region;
		uint8_t *base;
		uint64_t size;
		bool writable;
	} rows[] = {
		{ GP_REGION_STACK, stack, sizeof(stack), true },
		{ GP_REGION_PACKET, slot, HEADROOM + 64, true },
		{ GP_REGION_ARG0, arg0, sizeof(arg0), true },
		{ GP_REGION_ARG0 + 1, NULL, 0, false },
		{ GP_REGION_ARG0 + 2, arg0, sizeof(arg0), false },
		{ GP_REGION_ARG0 + 3, NULL, 0, false },
		{ GP_REGION_MAP0, values, sizeof(values), true },
		{ GP_REGION_MAP0 + 1, values, sizeof(values), false },
		{ GP_REGION_MAP0 + 2, NULL, 0, false },
		{ GP_REGION_NONE, NULL, 0, false },
		{ GP_REGION_CTX, NULL, 0, false },
		{ GP_REGION_MAPPTR0, NULL, 0, false },
		{ 0xffff, NULL, 0, false },
	};
	size_t n;

	lane.env = &e;
	ro.frozen = 1;
	gp_rt_set_stack(&lane, stack, sizeof(stack));
	for (n = 0; n < G_N_ELEMENTS(rows); n++) {
		uint64_t r = rows[n].region, size = rows[n].size;
		uint8_t *base = rows[n].base;

		ck_assert_ptr_eq(gp_rt_region(&lane, handle(r, 0), 1, 0), size ? base : NULL);
		ck_assert_ptr_eq(gp_rt_region(&lane, handle(r, 0), 1, 1), rows[n].writable ? base : NULL);
		ck_assert_ptr_null(gp_rt_region(&lane, handle(r, size), 1, 0));
		ck_assert_ptr_null(gp_rt_region(&lane, handle(r, GP_OFFSET_MASK), 1, 0));
		ck_assert_ptr_null(gp_rt_region(&lane, handle(r, GP_OFFSET_MASK), UINT32_MAX, 0));
		ck_assert_ptr_null(gp_rt_region(&lane, handle(r, 0), (uint32_t)size + 1, 0));
		if (!size)
			continue;
		ck_assert_ptr_eq(gp_rt_region(&lane, handle(r, 0), (uint32_t)size, 0), base);
		ck_assert_ptr_eq(gp_rt_region(&lane, handle(r, size - 8), 8, 0), base + size - 8);
		ck_assert_ptr_null(gp_rt_region(&lane, handle(r, size - 7), 8, 0));
	}
	ck_assert_ptr_eq(gp_rt_arg_base(&lane, 0), arg0);
	ck_assert_uint_eq(gp_rt_arg_size(&lane, 2), sizeof(arg0));
	ck_assert_uint_eq(gp_rt_arg_writable(&lane, 2), 0);
	ck_assert_uint_eq(gp_rt_arg_size(&lane, 3), 0);
	ck_assert_ptr_null(gp_rt_arg_base(&lane, UINT32_MAX));
}
END_TEST

/* -------------------------------------------------------------------- loops */

static int64_t prog_xdp(struct gp_lane *lane)
{
	uint32_t n = lane->ingress;

	ck_assert_uint_eq(lane->fuel, env.fuel);
	ck_assert_ptr_eq(lane->base, slot + (uint64_t)n * 64);
	ck_assert_uint_eq(lane->rx_queue, n + 1);
	lane->egress_port = n + 100;
	if (n == 5) {
		gp_rt_burn(lane, 2000);
		gp_rt_fault(lane, gp_fault(VIRTIO_GPGPU_R_OUT_OF_FUEL, 17));
		return XDP_PASS;
	}
	if (n == 6)
		return 0x7700000000 | XDP_DROP;
	if (n == 7)
		lane->data_off -= 4;
	return n;
}

START_TEST(test_loop_xdp)
{
	struct gp_packet_in in[10];
	struct gp_packet_out out[10];
	struct gp_faults faults = { 0 };
	uint32_t stop = 0, i;

	program = prog_xdp;
	env.stride = 64;
	env.stop = &stop;
	for (i = 0; i < 10; i++)
		in[i] = (struct gp_packet_in){ .data_off = 20,
					       .data_len = 30,
					       .meta_len = 8,
					       .rx_queue = (uint16_t)(i + 1),
					       .ingress_port = i };
	memset(out, 0xff, sizeof(out));
	ck_assert_uint_eq(gp_entry_xdp(&env, &thread, in, out, 2, 6, &faults), 6);
	ck_assert_uint_eq(out[1].verdict, UINT32_MAX);
	ck_assert_uint_eq(out[8].verdict, UINT32_MAX);
	for (i = 2; i < 8; i++) {
		uint32_t verdict = i == 5 || i == 7 ? XDP_ABORTED : i == 6 ? XDP_DROP : i;

		ck_assert_uint_eq(out[i].verdict, verdict);
		ck_assert_uint_eq(out[i].egress_port, verdict == XDP_REDIRECT ? i + 100 : 0);
		ck_assert_uint_eq(out[i].data_off, i == 7 ? 16 : 20);
		ck_assert_uint_eq(out[i].data_len, i == 7 ? 34 : 30);
		ck_assert_uint_eq(out[i].fault, i == 5 ? VIRTIO_GPGPU_R_OUT_OF_FUEL : 0);
		ck_assert_uint_eq(out[i].fault_insn, i == 5 ? 17 : 0);
		ck_assert_uint_eq(out[i].meta_len, i == 7 ? 4 : 8);
	}
	ck_assert_uint_eq(faults.count, 1);
	ck_assert_uint_eq(faults.first, 5);
	ck_assert_uint_eq(faults.reason, VIRTIO_GPGPU_R_OUT_OF_FUEL);
	ck_assert_uint_eq(faults.insn, 17);
	/* A second slice of the job goes on counting and keeps the first. */
	ck_assert_uint_eq(gp_entry_xdp(&env, &thread, in, out, 5, 1, &faults), 1);
	ck_assert_uint_eq(faults.count, 2);
	ck_assert_uint_eq(faults.first, 5);
	stop = 1;
	ck_assert_uint_eq(gp_entry_xdp(&env, &thread, in, out, 0, 10, &faults), 0);
	env.stride = STRIDE;
}
END_TEST

static struct {
	uint32_t at[3][3];
	uint8_t *seen;
	uint64_t item;
	uint32_t *stop;
} grid_run;
static const struct gp_grid grid = { { 5, 4, 3 }, { 2, 3, 1 } };

static int64_t prog_grid(struct gp_lane *lane)
{
	uint64_t i = grid_run.item++, x = i % 5, y = i / 5 % 4, z = i / 20;

	ck_assert_uint_eq(gp_helper_global_id(lane, 0), x);
	ck_assert_uint_eq(gp_helper_global_id(lane, 1), y);
	ck_assert_uint_eq(gp_helper_global_id(lane, 2), z);
	ck_assert_uint_eq(gp_helper_local_id(lane, 0), x % 2);
	ck_assert_uint_eq(gp_helper_local_id(lane, 1), y % 3);
	ck_assert_uint_eq(gp_helper_local_id(lane, 2), 0);
	ck_assert_uint_eq(gp_helper_group_id(lane, 0), x / 2);
	ck_assert_uint_eq(gp_helper_group_id(lane, 1), y / 3);
	ck_assert_uint_eq(gp_helper_group_id(lane, 2), z);
	ck_assert_uint_eq(gp_helper_global_size(lane, 0), 5);
	ck_assert_uint_eq(gp_helper_local_size(lane, 1), 3);
	ck_assert_uint_eq(gp_helper_num_groups(lane, 0), 3);
	ck_assert_uint_eq(gp_helper_num_groups(lane, 1), 2);
	ck_assert_uint_eq(gp_helper_num_groups(lane, 2), 3);
	ck_assert_uint_eq(gp_helper_global_id(lane, 3), 0);
	ck_assert_uint_eq(gp_helper_global_size(lane, UINT64_MAX), 1);
	ck_assert_uint_eq(gp_helper_num_groups(lane, 3), 1);
	if (i == 33)
		gp_rt_fault(lane, gp_fault(VIRTIO_GPGPU_R_OUT_OF_BOUNDS, 3));
	return 0;
}

static int64_t prog_stop(struct gp_lane *lane)
{
	*grid_run.stop = 1;
	return 0;
}

START_TEST(test_loop_grid)
{
	struct gp_grid big = { { 1u << 31, 1, 1 }, { 1, 1, 1 } };
	struct gp_faults faults = { 0 };
	uint32_t stop = 0, first;

	env.stop = &stop;
	program = prog_grid;
	/* Wherever a slice begins. */
	for (first = 0; first < 60; first++) {
		grid_run.item = first;
		faults = (struct gp_faults){ 0 };
		ck_assert_uint_eq(gp_entry_grid(&env, &thread, &grid, first, 60 - first, &faults),
				  60 - first);
		ck_assert_uint_eq(faults.count, first <= 33);
		if (faults.count)
			ck_assert_uint_eq(faults.first, 33);
	}
	program = prog_stop;
	grid_run.stop = &stop;
	ck_assert_uint_eq(gp_entry_grid(&env, &thread, &big, 0, 1u << 31, &faults), 1);
}
END_TEST

/* A lane's fuel comes in portions; a stop is seen where the next one is taken. */
START_TEST(test_fuel)
{
	struct gp_lane lane = packet(HEADROOM, 64, 0);
	uint8_t buf[64];
	uint32_t stop = GP_STOP_NONE;

	env.stop = &stop;
	lane.reserve = 100000;
	ck_assert_uint_eq(gp_rt_burn(&lane, 1001), 0);
	ck_assert_uint_eq(lane.fuel + lane.reserve, 101000 - 1001);
	ck_assert_uint_ge(lane.fuel, 1);
	/* More at once than any portion. */
	ck_assert_uint_eq(gp_rt_burn(&lane, 90000), 0);
	ck_assert_uint_eq(lane.fuel + lane.reserve, 11000 - 1001);
	ck_assert_uint_eq(gp_rt_burn(&lane, 11000 - 1001), 0);
	ck_assert_uint_eq(gp_rt_burn(&lane, 1), 1);

	lane.fuel = 10;
	lane.reserve = 100000;
	stop = GP_STOP_SOON;
	ck_assert_uint_eq(gp_rt_burn(&lane, 11), 0);
	lane.fuel = 10;
	stop = GP_STOP_NOW;
	ck_assert_uint_eq(gp_rt_burn(&lane, 10), 0);
	ck_assert_uint_eq(gp_rt_burn(&lane, 1), 1);
	ck_assert_uint_eq(lane.fuel + lane.reserve, 0);

	lane = packet(HEADROOM, 64, 0);
	gp_helper_load_bytes(&lane, 0, buf, 64);
	ck_assert_uint_eq(lane.fuel, 999);
	gp_helper_store_bytes(&lane, 0, buf, 64);
	ck_assert_uint_eq(lane.fuel, 998);
	gp_helper_adjust_tail(&lane, 640);
	ck_assert_uint_eq(lane.fuel, 988);

	/* Byte by byte is dear, and what there is no fuel for is not looked at: there is nothing at that address. */
	lane = packet(HEADROOM, 64, 0);
	ck_assert_int_eq(gp_helper_strncmp(&lane, slot, 64, handle(GP_REGION_PACKET, 0)), 0);
	ck_assert_uint_eq(lane.fuel, 992);
	lane.reserve = 1000;
	ck_assert_int_eq(gp_helper_strncmp(&lane, NULL, 1ull << 40, handle(GP_REGION_PACKET, 0)), 0);
	ck_assert_uint_eq(lane.fuel + lane.reserve, 0);
}
END_TEST

START_TEST(test_lane)
{
	struct gp_lane lane = packet(HEADROOM, 64, 0);
	struct timespec ts;
	struct gp_clock clock;
	uint64_t a, b, i, ones = 0, now;

	ck_assert_uint_eq(gp_rt_burn(&lane, 999), 0);
	ck_assert_uint_eq(gp_rt_burn(&lane, 1), 0);
	ck_assert_uint_eq(gp_rt_burn(&lane, 1), 1);
	ck_assert_uint_eq(gp_rt_burn(&lane, UINT64_MAX), 1);
	ck_assert_uint_eq(lane.fuel, 0);

	for (i = 0; i < 10000; i++) {
		a = gp_helper_prandom(&lane);
		ck_assert_uint_le(a, UINT32_MAX);
		ones += (uint64_t)__builtin_popcountll(a);
	}
	ck_assert_uint_gt(ones, 155000);
	ck_assert_uint_lt(ones, 165000);

	env.clock = NULL;
	ck_assert_uint_eq(gp_helper_ktime(&lane), 0);
	ck_assert_uint_eq(gp_helper_boot_time(&lane), 0);
	ck_assert_uint_eq(gp_helper_jiffies(&lane), 0);
	env.clock = &clock;
	gp_clock_read(&clock);
	a = gp_helper_ktime(&lane);
	for (i = 0; i < 100000; i++) {
		b = gp_helper_ktime(&lane);
		if (b < a)
			ck_abort_msg("time went back by %lu ns", a - b);
		a = b;
	}
	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	/* Not ahead; behind by no more than this thread may have lost its processor for. */
	ck_assert_uint_le(a, now + 1000000);
	ck_assert_uint_ge(a + 50000000, now);
	/* A clock that is a little behind the last one does not turn time back. */
	clock.ns -= 1000000;
	ck_assert_uint_ge(gp_helper_ktime(&lane), a);

	/* The others are that clock, seen otherwise; here it stands. */
	ck_assert_uint_eq(clock.boot % 1000000, 0);
	clock.mult = 0;
	clock.boot = 7000000;
	a = gp_helper_ktime(&lane);
	ck_assert_uint_eq(gp_helper_boot_time(&lane), a + 7000000);
	ck_assert_uint_eq(gp_helper_jiffies(&lane), a / 4000000);
	env.clock = NULL;
	ck_assert_uint_eq(gp_helper_numa_node(&lane), 0);
	ck_assert_uint_eq(gp_helper_buff_len(&lane), 64);
}
END_TEST

/* ---------------------------------------------------------------- stand-ins */

START_TEST(test_mem)
{
	uint8_t a[300], b[300];
	uint32_t n, i, from, to, len;

	for (n = 0; n < 5000; n++) {
		for (i = 0; i < 300; i++)
			a[i] = b[i] = (uint8_t)g_random_int();
		len = (uint32_t)g_random_int_range(0, 100);
		from = (uint32_t)g_random_int_range(0, 200);
		to = (uint32_t)g_random_int_range(0, 200);
		ck_assert_ptr_eq(gp_soft_memmove(a + to, a + from, len), a + to);
		memmove(b + to, b + from, len);
		ck_assert_mem_eq(a, b, 300);
		ck_assert_int_eq(gp_soft_memcmp(a + to, a + from, len) > 0,
				 memcmp(a + to, a + from, len) > 0);
		ck_assert_int_eq(gp_soft_memcmp(a + to, a + from, len) < 0,
				 memcmp(a + to, a + from, len) < 0);
		ck_assert_ptr_eq(gp_soft_memset(a + to, 0x1ff, len), a + to);
		memset(b + to, 0xff, len);
		ck_assert_mem_eq(a, b, 300);
		if (from + len <= to || to + len <= from) {
			ck_assert_ptr_eq(gp_soft_memcpy(a + to, a + from, len), a + to);
			ck_assert_mem_eq(a + to, b + from, len);
			memcpy(b, a, 300);
		}
	}
}
END_TEST

/* Suites of test_float.c, linked to this program. */
Suite *float_suite(void);

int main(void)
{
	Suite *s = suite_create("rt");
	TCase *t = tcase_create("rt");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, test_adjust, 0, G_N_ELEMENTS(adjusts));
	tcase_add_test(t, test_bytes);
	tcase_add_test(t, test_redirect);
	tcase_add_test(t, test_csum_diff);
	tcase_add_test(t, test_region);
	tcase_add_test(t, test_loop_xdp);
	tcase_add_test(t, test_loop_grid);
	tcase_add_test(t, test_fuel);
	tcase_add_test(t, test_lane);
	tcase_add_test(t, test_mem);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_add_suite(r, float_suite());
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
