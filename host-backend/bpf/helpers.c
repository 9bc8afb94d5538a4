/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helpers.c - the table of helpers.
 *
 * Numbers below 0x7000 are the kernel's (linux/bpf.h), those from there on are ours (gpgpu_bpf.h).
 */
#include <stddef.h>
#include <linux/bpf.h>
#include <gpgpu_bpf.h>
#include <virtio_gpgpu.h>
#include "bpf/helpers.h"

/* clang-format off */
#define XDP (1u << VIRTIO_GPGPU_PROG_XDP)
#define GRID (1u << VIRTIO_GPGPU_PROG_GPGPU)

#define S GP_ARG_SCALAR
#define CTX GP_ARG_CTX
#define MAP GP_ARG_MAP
#define KEY GP_ARG_KEY
#define VALUE GP_ARG_VALUE
#define OUT GP_ARG_VALUE_OUT
#define READ GP_ARG_MEM_READ
#define WRITE GP_ARG_MEM_WRITE
#define READ0 GP_ARG_MEM_READ_NULL
#define SIZE GP_ARG_SIZE
#define RECORD GP_ARG_RECORD
#define STRING GP_ARG_STRING
#define FUNC GP_ARG_FUNC
#define ANY GP_ARG_ANYTHING
#define MAYBE GP_ARG_OPTIONAL
#define P32 GP_ARG_PLACE32
#define P64 GP_ARG_PLACE64

/* Which maps a helper takes. */
#define T(type) (1u << VIRTIO_GPGPU_MAP_##type)
#define HASHES (T(HASH) | T(PERCPU_HASH) | T(LRU_HASH) | T(LRU_PERCPU_HASH))
#define PERCPU (T(PERCPU_ARRAY) | T(PERCPU_HASH) | T(LRU_PERCPU_HASH))
#define DATA (HASHES | T(ARRAY) | T(PERCPU_ARRAY) | T(LPM_TRIE))
#define OUTER (T(ARRAY_OF_MAPS) | T(HASH_OF_MAPS))
#define DEVS (T(DEVMAP) | T(DEVMAP_HASH))
#define QUEUES (T(QUEUE) | T(STACK))

/* The kernel's number and name, and ours. */
#define ROW(kernel, where, name, ret, by_map, types, ...)	\
	{ BPF_FUNC_##kernel, where, "bpf_" #kernel, "gp_helper_" #name, { __VA_ARGS__ }, ret, by_map, types }
#define KERNEL(kernel, where, name, ...)	\
	ROW(kernel, where, name, GP_RET_SCALAR, false, 0, __VA_ARGS__)
#define OURS(name, ...)	\
	{ GPGPU_HELPER_##name, GRID, "gp_" #name, "gp_helper_" #name, { __VA_ARGS__ }, GP_RET_SCALAR, false, 0 }
#define FLOAT(bits)					\
	OURS(fadd##bits, S, S), OURS(fsub##bits, S, S), OURS(fmul##bits, S, S),	\
	OURS(fdiv##bits, S, S), OURS(fma##bits, S, S, S), OURS(sqrt##bits, S),	\
	OURS(fmin##bits, S, S), OURS(fmax##bits, S, S), OURS(flt##bits, S, S),	\
	OURS(fle##bits, S, S), OURS(feq##bits, S, S), OURS(fabs##bits, S),	\
	OURS(floor##bits, S), OURS(ceil##bits, S), OURS(trunc##bits, S), OURS(rint##bits, S),	\
	OURS(rsqrt##bits, S), OURS(exp##bits, S), OURS(exp2##bits, S), OURS(log##bits, S),	\
	OURS(log2##bits, S), OURS(sin##bits, S), OURS(cos##bits, S), OURS(pow##bits, S, S),	\
	OURS(fmod##bits, S, S), OURS(round##bits, S), OURS(copysign##bits, S, S)

static const struct gp_helper helpers[] = {
	ROW(map_lookup_elem, XDP | GRID, map_lookup, GP_RET_VALUE, true, DATA | OUTER | DEVS, MAP, KEY),
	ROW(map_update_elem, XDP | GRID, map_update, GP_RET_SCALAR, true, DATA, MAP, KEY, VALUE, S),
	ROW(map_delete_elem, XDP | GRID, map_delete, GP_RET_SCALAR, true, DATA, MAP, KEY),
	ROW(map_lookup_percpu_elem, XDP | GRID, map_lookup_percpu, GP_RET_VALUE, true, PERCPU, MAP, KEY, S),
	ROW(map_push_elem, XDP | GRID, map_push, GP_RET_SCALAR, false, QUEUES | T(BLOOM_FILTER), MAP, VALUE, S),
	ROW(map_pop_elem, XDP | GRID, map_pop, GP_RET_SCALAR, false, QUEUES, MAP, OUT),
	ROW(map_peek_elem, XDP | GRID, map_peek, GP_RET_SCALAR, false, QUEUES | T(BLOOM_FILTER), MAP, OUT),
	ROW(redirect_map, XDP, redirect_map, GP_RET_SCALAR, true, DEVS | T(CPUMAP), MAP, S, S),
	ROW(tail_call, XDP, tail_call, GP_RET_SCALAR, false, T(PROG_ARRAY), CTX, MAP, S),
	ROW(ringbuf_output, XDP | GRID, ringbuf_output, GP_RET_SCALAR, false, T(RINGBUF), MAP, READ0, SIZE, S),
	ROW(ringbuf_reserve, XDP | GRID, ringbuf_reserve, GP_RET_RECORD, false, T(RINGBUF), MAP, S, S),
	KERNEL(ringbuf_submit, XDP | GRID, ringbuf_submit, RECORD, S),
	KERNEL(ringbuf_discard, XDP | GRID, ringbuf_discard, RECORD, S),
	ROW(ringbuf_query, XDP | GRID, ringbuf_query, GP_RET_SCALAR, false, T(RINGBUF), MAP, S),
	ROW(perf_event_output, XDP, perf_output, GP_RET_SCALAR, false, T(PERF_EVENT_ARRAY), CTX, MAP, S, READ0,
	    SIZE),
	KERNEL(ktime_get_ns, XDP | GRID, ktime, 0),
	KERNEL(ktime_get_boot_ns, XDP | GRID, boot_time, 0),
	KERNEL(ktime_get_coarse_ns, XDP | GRID, ktime, 0),
	KERNEL(jiffies64, XDP | GRID, jiffies, 0),
	KERNEL(get_prandom_u32, XDP | GRID, prandom, 0),
	KERNEL(get_smp_processor_id, XDP | GRID, cpu, 0),
	KERNEL(get_numa_node_id, XDP | GRID, numa_node, 0),
	KERNEL(strncmp, XDP | GRID, strncmp, READ, SIZE, STRING),
	KERNEL(trace_printk, XDP | GRID, trace, READ, SIZE, MAYBE, MAYBE, MAYBE),
	KERNEL(redirect, XDP, redirect, S, S),
	KERNEL(fib_lookup, XDP, fib_lookup, CTX, WRITE, SIZE, S),
	KERNEL(csum_diff, XDP, csum_diff, READ0, SIZE, READ0, SIZE, S),
	KERNEL(xdp_adjust_head, XDP, adjust_head, CTX, S),
	KERNEL(xdp_adjust_meta, XDP, adjust_meta, CTX, S),
	KERNEL(xdp_adjust_tail, XDP, adjust_tail, CTX, S),
	KERNEL(xdp_get_buff_len, XDP, buff_len, CTX),
	KERNEL(xdp_load_bytes, XDP, load_bytes, CTX, S, WRITE, SIZE),
	KERNEL(xdp_store_bytes, XDP, store_bytes, CTX, S, READ, SIZE),
	/* Translated rather than called (jit/callback.c). */
	{ BPF_FUNC_loop, XDP | GRID, "bpf_loop", NULL, { S, FUNC, ANY, S }, GP_RET_SCALAR, false, 0 },

	OURS(global_id, S), OURS(global_size, S), OURS(local_id, S), OURS(local_size, S),
	OURS(group_id, S), OURS(num_groups, S),
	FLOAT(32),
	FLOAT(64),
	OURS(f32_from_s, S), OURS(f32_from_u, S), OURS(f64_from_s, S), OURS(f64_from_u, S),
	OURS(s_from_f32, S), OURS(u_from_f32, S), OURS(s_from_f64, S), OURS(u_from_f64, S),
	OURS(f64_from_f32, S), OURS(f32_from_f64, S),
	OURS(s32_from_f32, S), OURS(u32_from_f32, S), OURS(s32_from_f64, S), OURS(u32_from_f64, S),
	OURS(f32_from_f16, S), OURS(f16_from_f32, S), OURS(f16_from_f64, S),
	/* Translated rather than called (jit/phases.c). */
	OURS(barrier, 0), OURS(broadcast, S, S), OURS(shuffle, S, S),
	OURS(reduce, S, S), OURS(scan, S, S), OURS(scan_before, S, S),
	OURS(atomic_fadd32, P32, S), OURS(atomic_fmin32, P32, S), OURS(atomic_fmax32, P32, S),
	OURS(atomic_fadd64, P64, S), OURS(atomic_fmin64, P64, S), OURS(atomic_fmax64, P64, S),
};

static const char lanes_lock[] = "lanes of one wave would wait for each other; use atomics",
		  no_timer[] = "a timer would run where no packet is; let the guest do at that time what is to be done",
		  no_cookie[] = "the secret of the guest's cookies stays in its kernel; make your own from a secret in a map",
		  no_kernel[] = "it reads or controls the kernel that a program runs in; on a device there is none";

/* Helpers that a program may well use, and why they are not to be had. */
static const struct {
	int32_t number;
	const char *why;
} refused[] = {
	{ BPF_FUNC_spin_lock, lanes_lock },
	{ BPF_FUNC_spin_unlock, lanes_lock },
	{ BPF_FUNC_for_each_map_elem, "a map changes while others run; keep what is to be walked in an array, and count" },
	{ BPF_FUNC_timer_init, no_timer },
	{ BPF_FUNC_timer_set_callback, no_timer },
	{ BPF_FUNC_timer_start, no_timer },
	{ BPF_FUNC_timer_cancel, no_timer },
	{ BPF_FUNC_kptr_xchg, "pointers to kernel objects do not exist on a device" },
	{ BPF_FUNC_dynptr_from_mem, "dynptrs are not built; use packet pointers, xdp_load_bytes and ringbuf_output" },
	{ BPF_FUNC_dynptr_read, "dynptrs are not built; use packet pointers or xdp_load_bytes" },
	{ BPF_FUNC_dynptr_write, "dynptrs are not built; use packet pointers or xdp_store_bytes" },
	{ BPF_FUNC_dynptr_data, "dynptrs are not built; use packet pointers" },
	{ BPF_FUNC_ringbuf_reserve_dynptr, "dynptrs are not built; use bpf_ringbuf_reserve or bpf_ringbuf_output" },
	{ BPF_FUNC_ringbuf_submit_dynptr, "dynptrs are not built; use bpf_ringbuf_submit" },
	{ BPF_FUNC_ringbuf_discard_dynptr, "dynptrs are not built; use bpf_ringbuf_discard" },
	{ BPF_FUNC_user_ringbuf_drain, "records only go from the device to the guest; use a queue" },
	{ BPF_FUNC_perf_event_read, no_kernel },
	{ BPF_FUNC_probe_read, no_kernel },
	{ BPF_FUNC_probe_read_kernel, no_kernel },
	{ BPF_FUNC_get_current_task, no_kernel },
	{ BPF_FUNC_get_current_pid_tgid, no_kernel },
	{ BPF_FUNC_get_current_comm, no_kernel },
	{ BPF_FUNC_sk_lookup_tcp, "the guest's sockets are not on the device" },
	{ BPF_FUNC_sk_lookup_udp, "the guest's sockets are not on the device" },
	{ BPF_FUNC_skc_lookup_tcp, "the guest's sockets are not on the device" },
	{ BPF_FUNC_sk_release, "the guest's sockets are not on the device" },
	{ BPF_FUNC_tcp_check_syncookie, no_cookie },
	{ BPF_FUNC_tcp_gen_syncookie, no_cookie },
	{ BPF_FUNC_tcp_raw_gen_syncookie_ipv4, no_cookie },
	{ BPF_FUNC_tcp_raw_gen_syncookie_ipv6, no_cookie },
	{ BPF_FUNC_tcp_raw_check_syncookie_ipv4, no_cookie },
	{ BPF_FUNC_tcp_raw_check_syncookie_ipv6, no_cookie },
	{ BPF_FUNC_check_mtu, "the guest's interfaces are not on the device; bpf_fib_lookup knows the MTU of a route" },
	{ BPF_FUNC_trace_vprintk, "use bpf_trace_printk with up to three arguments" },
	{ BPF_FUNC_snprintf, "strings are not made on the device; send the numbers in a record" },
};

static const struct {
	uint32_t type;
	const char *name;
} type_names[] = {
	{ VIRTIO_GPGPU_MAP_HASH, "hash" },
	{ VIRTIO_GPGPU_MAP_ARRAY, "array" },
	{ VIRTIO_GPGPU_MAP_PROG_ARRAY, "prog_array" },
	{ VIRTIO_GPGPU_MAP_PERF_EVENT_ARRAY, "perf_event_array" },
	{ VIRTIO_GPGPU_MAP_PERCPU_HASH, "percpu_hash" },
	{ VIRTIO_GPGPU_MAP_PERCPU_ARRAY, "percpu_array" },
	{ VIRTIO_GPGPU_MAP_LRU_HASH, "lru_hash" },
	{ VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH, "lru_percpu_hash" },
	{ VIRTIO_GPGPU_MAP_LPM_TRIE, "lpm_trie" },
	{ VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS, "array_of_maps" },
	{ VIRTIO_GPGPU_MAP_HASH_OF_MAPS, "hash_of_maps" },
	{ VIRTIO_GPGPU_MAP_DEVMAP, "devmap" },
	{ VIRTIO_GPGPU_MAP_CPUMAP, "cpumap" },
	{ VIRTIO_GPGPU_MAP_QUEUE, "queue" },
	{ VIRTIO_GPGPU_MAP_STACK, "stack" },
	{ VIRTIO_GPGPU_MAP_DEVMAP_HASH, "devmap_hash" },
	{ VIRTIO_GPGPU_MAP_RINGBUF, "ringbuf" },
	{ VIRTIO_GPGPU_MAP_BLOOM_FILTER, "bloom_filter" },
	{ VIRTIO_GPGPU_MAP_FIB, "fib" },
};
/* clang-format on */

const struct gp_helper *gp_helper_find(int32_t number)
{
	for (size_t i = 0; i < sizeof(helpers) / sizeof(*helpers); i++)
		if (helpers[i].number == number)
			return &helpers[i];
	return NULL;
}

const char *gp_helper_kernel_name(int32_t number)
{
	/* Newer headers pass the number too and separate the names themselves. */
#ifdef ___BPF_FUNC_MAPPER
#define NAME(name, number) #name,
	static const char *const names[] = { ___BPF_FUNC_MAPPER(NAME) };
#else
#define NAME(name) #name
	static const char *const names[] = { __BPF_FUNC_MAPPER(NAME) };
#endif
#undef NAME
	if (number <= 0 || (size_t)number >= sizeof(names) / sizeof(*names))
		return NULL;
	return names[number];
}

uint32_t gp_helper_uses(const struct gp_helper *helper)
{
	uint32_t mask = 0;

	for (int i = 0; i < GP_HELPER_ARGS && helper->args[i] != GP_ARG_NONE; i++)
		mask |= 2u << i;
	return mask;
}

uint32_t gp_helper_needs(const struct gp_helper *helper)
{
	uint32_t mask = gp_helper_uses(helper);

	for (int i = 0; i < GP_HELPER_ARGS; i++)
		if (helper->args[i] == GP_ARG_OPTIONAL)
			mask &= ~(2u << i);
	return mask;
}

bool gp_helper_writes(const struct gp_helper *helper, int arg)
{
	switch (helper->args[arg]) {
	case GP_ARG_MEM_WRITE:
	case GP_ARG_VALUE_OUT:
	case GP_ARG_PLACE32:
	case GP_ARG_PLACE64:
		return true;
	default:
		return false;
	}
}

int gp_helper_map_reg(const struct gp_helper *helper)
{
	for (int i = 0; i < GP_HELPER_ARGS; i++)
		if (helper->args[i] == GP_ARG_MAP)
			return i + 1;
	return 0;
}

bool gp_helper_map_ok(const struct gp_helper *helper, uint32_t map_type)
{
	return map_type < 32 && (helper->map_types & 1u << map_type);
}

enum gp_helper_ret gp_helper_returns(const struct gp_helper *helper, uint32_t map_type)
{
	if (helper->ret == GP_RET_VALUE && map_type < 32 && (OUTER & 1u << map_type))
		return GP_RET_INNER;
	return helper->ret;
}

const char *gp_helper_refusal(int32_t number)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (refused[i].number == number)
			return refused[i].why;
	return NULL;
}

const char *gp_map_type_name(uint32_t type)
{
	for (size_t i = 0; i < sizeof(type_names) / sizeof(*type_names); i++)
		if (type_names[i].type == type)
			return type_names[i].name;
	return NULL;
}
