/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * again.h - makes a program that changes packets one that can run over and over on one packet.
 *
 * BPF_PROG_TEST_RUN with repeat does not put the packet back between two runs, so a program that wraps, translates
 * or answers would meet its own output. This keeps the first bytes, runs the program as a function, and puts length
 * and bytes back, on whatever machine it runs. What that costs is measured by again_none and taken off.
 *
 * To be included twice, before and behind the program. AGAIN_WORDS: 64-bit words that are kept and put back; frames are longer than that.
 * AGAIN_TAIL: the program changes the length at the end, not at the start. The program's own entry becomes run_once():
 *
 *     #include "again.h"
 *     #define katran(ctx) AGAIN_ENTRY(ctx)
 *     #include "xdp_katran.bpf.c"
 *     #include "again.h"
 */
#ifndef AGAIN_ENTRY
/* In front of it stands SEC("xdp") int. */
#define AGAIN_ENTRY(ctx) \
	unused(void);    \
	static __noinline int run_once(ctx)
#else
SEC("xdp")
int again(struct xdp_md *ctx)
{
	__u64 kept[AGAIN_WORDS], before, after;
	__u64 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	int i, r;

	before = (void *)end - (void *)data;
	if (data + AGAIN_WORDS > end)
		return XDP_ABORTED;
#pragma unroll
	for (i = 0; i < AGAIN_WORDS; i++)
		kept[i] = data[i];
	r = run_once(ctx);
	after = (__u64)ctx->data_end - (__u64)ctx->data;
	/* The kernel's verifier takes differences of pointers in 64 bits only. */
	asm volatile("" : "+r"(after));
#ifdef AGAIN_TAIL
	if (after != before && bpf_xdp_adjust_tail(ctx, (int)(before - after)))
		return XDP_ABORTED;
#else
	if (after != before && bpf_xdp_adjust_head(ctx, (int)(after - before)))
		return XDP_ABORTED;
#endif
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + AGAIN_WORDS > end)
		return XDP_ABORTED;
#pragma unroll
	for (i = 0; i < AGAIN_WORDS; i++)
		data[i] = kept[i];
	return r;
}
#endif
