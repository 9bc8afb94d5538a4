/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdp.c - helpers that change or read a packet.
 *
 * Rules and results are the kernel's (net/core/filter.c of 6.12, linear packets). A slot plays the part of a
 * frame: its first GP_HEAD_RESERVED bytes and, where it is as large as a frame, its last GP_TAIL_RESERVED
 * bytes are not to be had by growing, so that on slots of 4,096 bytes with 256 bytes of headroom
 * every call succeeds exactly where BPF_PROG_TEST_RUN lets it. A packet that came in with less
 * headroom or tailroom than that may still shrink.
 *
 * All offsets are below 2^17 and deltas are taken as 32 bits, so nothing here overflows 64. Accesses need no mask where
 * they are a constant away from the packet's start, or go through one that rests on its end: so where a branch
 * here is guessed wrong, both stay within the slot.
 */
#include <errno.h>
#include <linux/bpf.h>
#include "fuel.h"
#include "loops.h"
#include "mem.h"
#include "rt.h"
#include "slots.h"

/* net/core/filter.c: offset and length may not exceed this. */
#define GP_MAX_BYTES 0xffff

GP_ALWAYS int64_t gp_tail_limit(const struct gp_lane *lane)
{
	uint64_t stride = lane->env->stride;

	return stride >= GP_TAIL_MIN_STRIDE ? stride - GP_TAIL_RESERVED : stride;
}

/* On a GPU what comes out says at any time where the packet is. */
GP_ALWAYS void gp_moved(const struct gp_lane *lane)
{
#if defined(GP_RT_GPU)
	gp_put_place(lane, lane->out);
#endif
}

/* The metadata follows the packet's start; both areas are in words and may overlap. */
static void gp_move_meta(uint8_t *meta, int64_t delta, uint32_t len)
{
	uint32_t i, word;

	for (i = 0; i < len; i += 4) {
		uint32_t at = delta < 0 ? i : len - 4 - i;

		memcpy(&word, meta + at, 4);
		memcpy(meta + delta + at, &word, 4);
	}
}

GP_RT int64_t gp_helper_adjust_head(struct gp_lane *lane, int64_t delta)
{
	int64_t d = (int32_t)delta, data = (int64_t)lane->data_off + d;
	int64_t meta_len = lane->data_off - lane->meta_off;

	if (d < 0 && data < GP_HEAD_RESERVED + meta_len)
		return -EINVAL;
	if (data > (int64_t)lane->data_end - GP_ETH_HLEN)
		return -EINVAL;
	d &= (int64_t)(gp_if_room((uint64_t)(data - meta_len)) &
		       gp_if_room((uint64_t)(lane->data_end - data)));
	if (meta_len)
		gp_written(lane);
	gp_move_meta(lane->base + lane->meta_off, d, (uint32_t)meta_len);
	lane->meta_off = (uint32_t)(lane->meta_off + d);
	lane->data_off = (uint32_t)(lane->data_off + d);
	gp_moved(lane);
	return 0;
}

GP_RT int64_t gp_helper_adjust_tail(struct gp_lane *lane, int64_t delta)
{
	int64_t d = (int32_t)delta, end = (int64_t)lane->data_end + d;

	if (d > 0 && end > gp_tail_limit(lane))
		return -EINVAL;
	if (end < (int64_t)lane->data_off + GP_ETH_HLEN)
		return -EINVAL;
	d &= (int64_t)(gp_if_room(lane->env->stride - (uint64_t)end) &
		       gp_if_room((uint64_t)(end - lane->data_off)));
	if (d > 0) {
		gp_charge_bytes(lane, (uint64_t)d);
		memset(lane->base + lane->data_end, 0, (size_t)d);
		gp_written(lane);
	}
	lane->data_end = (uint32_t)(lane->data_end + d);
	gp_moved(lane);
	return 0;
}

GP_RT int64_t gp_helper_adjust_meta(struct gp_lane *lane, int64_t delta)
{
	int64_t d = (int32_t)delta, meta = (int64_t)lane->meta_off + d, len = lane->data_off - meta;

	if ((d < 0 && meta < GP_HEAD_RESERVED) || len < 0)
		return -EINVAL;
	if (len % 4 || len > GP_MAX_META)
		return -EACCES;
	d &= (int64_t)(gp_if_room((uint64_t)meta) & gp_if_room((uint64_t)len));
	lane->meta_off = (uint32_t)(lane->meta_off + d);
	gp_moved(lane);
	return 0;
}

/*
 * The packet's @len bytes from @offset, or NULL with the kernel's errno in *@err. *@bytes: how many to move.
 *
 * Where a branch here is guessed wrong it is none from the packet's start. A length that is constant stays so, and
 * may then reach over the packet's end, but not over the guard behind the slots.
 */
GP_ALWAYS uint8_t *gp_bytes(const struct gp_lane *lane, uint64_t offset, uint64_t len, uint64_t *bytes,
			    int64_t *err)
{
	uint64_t off = (uint32_t)offset, n = (uint32_t)len, size = lane->data_end - lane->data_off, keep;

	*err = -EFAULT;
	if (off > GP_MAX_BYTES || n > GP_MAX_BYTES)
		return NULL;
	*err = -EINVAL;
	if (off > size || n > size - off)
		return NULL;
	*err = 0;
	keep = gp_if_room(size - off - n);
	*bytes = __builtin_constant_p(len) ? n : n & keep;
	return lane->base + lane->data_off + (off & keep);
}

GP_RT int64_t gp_helper_load_bytes(struct gp_lane *lane, uint64_t offset, uint8_t *to, uint64_t len)
{
	uint64_t bytes;
	int64_t err;
	uint8_t *from = gp_bytes(lane, offset, len, &bytes, &err);

	if (from) {
		gp_charge_bytes(lane, bytes);
		memmove(to, from, bytes);
	}
	return err;
}

GP_RT int64_t gp_helper_store_bytes(struct gp_lane *lane, uint64_t offset, const uint8_t *from, uint64_t len)
{
	uint64_t bytes;
	int64_t err;
	uint8_t *to = gp_bytes(lane, offset, len, &bytes, &err);

	if (to) {
		gp_written(lane);
		gp_charge_bytes(lane, bytes);
		memmove(to, from, bytes);
	}
	return err;
}

/* The verdict and the port; where the packet goes is the guest's to do. */
GP_RT uint64_t gp_helper_redirect(struct gp_lane *lane, uint64_t ifindex, uint64_t flags)
{
	if (flags)
		return XDP_ABORTED;
	lane->egress_port = (uint32_t)ifindex;
	return XDP_REDIRECT;
}
