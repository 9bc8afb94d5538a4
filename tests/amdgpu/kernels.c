/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernels.c - machine code for test_device.c, compiled by clang for each generation that the software card executes.
 *
 * The argument is the address of a struct args. KERNEL says which one it is: each object has one, and WAVE lanes are a
 * work group.
 */
typedef unsigned int u32;
typedef unsigned long u64;

struct args {
	u64 count;
	u32 *out;
	const u32 *in;
};

#define LANE  ((u64)__builtin_amdgcn_workgroup_id_x() * WAVE + __builtin_amdgcn_workitem_id_x())
#define ENTRY __attribute__((amdgpu_kernel, visibility("protected")))

#if KERNEL == 1
/* Out: in * 3 + lane. */
ENTRY void kernel(struct args *args)
{
	u64 lane = LANE;

	if (lane < args->count)
		args->out[lane] = args->in[lane] * 3 + (u32)lane;
}
#elif KERNEL == 2
/* Waits until the CPU writes to the first word of in. */
ENTRY void kernel(struct args *args)
{
	while (!__atomic_load_n(args->in, __ATOMIC_RELAXED))
		__builtin_amdgcn_s_sleep(1);
	args->out[LANE] = 1;
}
#else
/*
 * Out: 0 where scratch memory held nothing but zeroes and this launch's mark (count: waves take turns), and holds what a
 * lane writes to it.
 */
#define PRIVATE __attribute__((address_space(5)))

ENTRY void kernel(struct args *args)
{
	u32 room[64], mark = (u32)args->count;
	volatile PRIVATE u32 *mine = (volatile PRIVATE u32 *)room;
	u64 lane = LANE;
	u32 wrong = 0;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 64; i++) {
		u32 found = mine[i];

		wrong |= found != mark ? found : 0;
	}
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 64; i++)
		mine[i] = mark;
	args->out[lane] = wrong | (mine[lane % 64] ^ mark);
}
#endif
