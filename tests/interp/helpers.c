// SPDX-License-Identifier: BSD-3-Clause
/*
 * helpers.c - helper functions, after bpf-helpers(7) and gpgpu_bpf.h.
 *
 * A helper either sets R0 or faults the item: a range of memory that the program may not use is a fault, a
 * value that the helper does not accept is a negative errno in R0. R1-R5 are scratch afterwards and get
 * a pattern here, so that a program that reads them shows as a mismatch.
 */
#include "gpgpu_bpf.h"
#include "priv.h"

#define ETH_HLEN       14u
#define MAX_META       252u
#define MAX_DIFF       512u
#define MAX_COPY       0xffffu

#define MAX_ROUNDS     (8u << 20)
#define MAX_TAIL_CALLS 33u
#define FIB_SKIP_NEIGH 4u
#define FIB_FLAGS      7u /* DIRECT, OUTPUT, SKIP_NEIGH */

/*
 * One's complement sum of 32-bit words: what is taken away counts as its complement. Only the sum folded
 * to 16 bits is defined.
 */
static void csum_diff(struct machine *m, const uint64_t *arg)
{
	uint64_t from_size = (uint32_t)arg[1], to_size = (uint32_t)arg[3], sum = (uint32_t)arg[4];
	const uint8_t *from = NULL, *to = NULL;
	uint32_t word;

	if (from_size)
		from = interp_mem(m, arg[0], from_size, false);
	if (to_size)
		to = interp_mem(m, arg[2], to_size, false);
	if (m->fault)
		return;
	if (from_size % 4 || to_size % 4 || from_size + to_size > MAX_DIFF) {
		m->reg[0] = (uint64_t)-EINVAL;
		return;
	}
	for (uint64_t i = 0; i < from_size; i += 4) {
		memcpy(&word, from + i, 4);
		sum += (uint32_t)~word;
	}
	for (uint64_t i = 0; i < to_size; i += 4) {
		memcpy(&word, to + i, 4);
		sum += word;
	}
	while (sum >> 32)
		sum = (sum & 0xffffffff) + (sum >> 32);
	m->reg[0] = sum;
}

/* R1 of the packet helpers must be the context itself. */
static bool context_arg(struct machine *m, uint64_t pointer)
{
	if (pointer == POINTER(REGION_CONTEXT, 0) && m->packet)
		return true;
	m->fault = VIRTIO_GPGPU_R_HELPER_ARG;
	return false;
}

/* Positive: shrinks the packet's front. Metadata moves along. */
static int adjust_head(struct machine *m, int64_t delta)
{
	int64_t meta_len = (int64_t)m->data - m->meta, data = (int64_t)m->data + delta;

	if (data < meta_len || data > (int64_t)m->end - ETH_HLEN)
		return -EINVAL;
	memmove(m->packet->slot + data - meta_len, m->packet->slot + m->meta, (size_t)meta_len);
	m->data = (uint32_t)data;
	m->meta = (uint32_t)(data - meta_len);
	return 0;
}

/* Positive: grows the tail, with zeros. */
static int adjust_tail(struct machine *m, int64_t delta)
{
	int64_t end = (int64_t)m->end + delta;

	if (end > (int64_t)m->packet->stride || end < (int64_t)m->data + ETH_HLEN)
		return -EINVAL;
	if (delta > 0)
		memset(m->packet->slot + m->end, 0, (size_t)delta);
	m->end = (uint32_t)end;
	return 0;
}

static int adjust_meta(struct machine *m, int64_t delta)
{
	int64_t meta = (int64_t)m->meta + delta, len = (int64_t)m->data - meta;

	if (meta < 0 || len < 0)
		return -EINVAL;
	if (len % 4 || len > MAX_META)
		return -EACCES;
	m->meta = (uint32_t)meta;
	return 0;
}

static void packet_copy(struct machine *m, const uint64_t *arg, bool store)
{
	uint64_t offset = (uint32_t)arg[1], len = (uint32_t)arg[3];
	uint8_t *memory = interp_mem(m, arg[2], len, !store), *packet;

	if (!memory)
		return;
	if (offset > MAX_COPY || len > MAX_COPY) {
		m->reg[0] = (uint64_t)-EFAULT;
		return;
	}
	if (offset + len > m->end - m->data) {
		m->reg[0] = (uint64_t)-EINVAL;
		return;
	}
	packet = m->packet->slot + m->data + offset;
	memmove(store ? packet : memory, store ? memory : packet, len);
	m->reg[0] = 0;
}

static void packet_helper(struct machine *m, uint32_t number, const uint64_t *arg)
{
	int64_t delta = (int32_t)arg[1];

	if (!context_arg(m, arg[0]))
		return;
	switch (number) {
	case BPF_FUNC_xdp_adjust_head:
		m->reg[0] = (uint64_t)(int64_t)adjust_head(m, delta);
		return;
	case BPF_FUNC_xdp_adjust_tail:
		m->reg[0] = (uint64_t)(int64_t)adjust_tail(m, delta);
		return;
	case BPF_FUNC_xdp_adjust_meta:
		m->reg[0] = (uint64_t)(int64_t)adjust_meta(m, delta);
		return;
	case BPF_FUNC_xdp_load_bytes:
		packet_copy(m, arg, false);
		return;
	case BPF_FUNC_xdp_store_bytes:
		packet_copy(m, arg, true);
		return;
	}
}

static bool work_item(struct machine *m, uint32_t number, uint64_t dimension)
{
	const struct interp_grid *grid = m->grid;
	uint64_t *r = &m->reg[0];

	/* A dimension that is none has one item: its ids are 0 and its sizes 1. */
	bool one = dimension > 2;

	switch (number) {
	case GPGPU_HELPER_global_id:
		*r = one ? 0 : m->global[dimension];
		return true;
	case GPGPU_HELPER_global_size:
		*r = one ? 1 : grid->size[dimension];
		return true;
	case GPGPU_HELPER_local_id:
		*r = one ? 0 : m->global[dimension] % grid->group[dimension];
		return true;
	case GPGPU_HELPER_local_size:
		*r = one ? 1 : grid->group[dimension];
		return true;
	case GPGPU_HELPER_group_id:
		*r = one ? 0 : m->global[dimension] / grid->group[dimension];
		return true;
	case GPGPU_HELPER_num_groups:
		*r = one ? 1
			 : ((uint64_t)grid->size[dimension] + grid->group[dimension] - 1) /
				     grid->group[dimension];
		return true;
	}
	return false;
}

/* Compares as strcmp() does, at most @arg[1] bytes of the first; the second is a constant. */
static void compare_strings(struct machine *m, const uint64_t *arg)
{
	for (uint32_t i = 0; i < (uint32_t)arg[1]; i++) {
		const uint8_t *a = interp_mem(m, arg[0] + i, 1, false);
		const uint8_t *b = interp_mem(m, arg[2] + i, 1, false);

		if (!a || !b)
			return;
		if (*a != *b) {
			m->reg[0] = *a < *b ? (uint64_t)-1 : 1;
			return;
		}
		if (!*a)
			break;
	}
	m->reg[0] = 0;
}

/* R1 rounds at most, of the function R2 with the number of the round and R3; ends when it returns not 0. */
static void loop(struct machine *m, const uint64_t *arg)
{
	uint32_t rounds = (uint32_t)arg[0], i;

	if (POINTER_REGION(arg[1]) != REGION_FUNC) {
		m->fault = VIRTIO_GPGPU_R_HELPER_ARG;
		return;
	}
	if (arg[3]) {
		m->reg[0] = (uint64_t)-EINVAL;
		return;
	}
	if (rounds > MAX_ROUNDS) {
		m->reg[0] = (uint64_t)-E2BIG;
		return;
	}
	for (i = 0; i < rounds; i++) {
		uint64_t stop = interp_callback(m, (uint32_t)POINTER_OFFSET(arg[1]), i, arg[2]);

		if (m->fault)
			return;
		if (stop) {
			i++;
			break;
		}
	}
	m->reg[0] = i;
}

/* Why a route leads nowhere; 0 if it does not. */
static int64_t no_way(const struct virtio_gpgpu_fib_entry *entry)
{
	if (entry->flags & VIRTIO_GPGPU_FIB_F_BLACKHOLE)
		return BPF_FIB_LKUP_RET_BLACKHOLE;
	if (entry->flags & VIRTIO_GPGPU_FIB_F_UNREACHABLE)
		return BPF_FIB_LKUP_RET_UNREACHABLE;
	return entry->flags & VIRTIO_GPGPU_FIB_F_PROHIBIT ? BPF_FIB_LKUP_RET_PROHIBIT : 0;
}

/* What the kernel fills in, in its order. @query: of one whose packet is not too long has no MTU yet. */
static int64_t route(const struct virtio_gpgpu_fib_entry *entry, struct bpf_fib_lookup *query, uint64_t flags)
{
	int64_t why = no_way(entry);

	if (why)
		return why;
	if (entry->mtu && query->tot_len > entry->mtu) {
		query->mtu_result = (uint16_t)entry->mtu;
		return BPF_FIB_LKUP_RET_FRAG_NEEDED;
	}
	query->rt_metric = 0;
	query->ifindex = entry->ifindex;
	if (!(flags & FIB_SKIP_NEIGH)) {
		if (entry->flags & VIRTIO_GPGPU_FIB_F_NO_NEIGH)
			return BPF_FIB_LKUP_RET_NO_NEIGH;
		memcpy(query->smac, entry->smac, sizeof(query->smac));
		memcpy(query->dmac, entry->dmac, sizeof(query->dmac));
	}
	query->h_vlan_proto = 0;
	query->h_vlan_TCI = 0;
	if (entry->mtu)
		query->mtu_result = (uint16_t)entry->mtu;
	return BPF_FIB_LKUP_RET_SUCCESS;
}

static void fib_lookup(struct machine *m, const uint64_t *arg)
{
	uint8_t *at = interp_mem(m, arg[1], (uint32_t)arg[2], true);
	struct virtio_gpgpu_fib_key key = { 0 };
	struct virtio_gpgpu_fib_entry entry;
	struct bpf_fib_lookup query;
	const void *found;

	if (!at)
		return;
	if ((uint32_t)arg[2] < sizeof(query) || (uint32_t)arg[3] & ~FIB_FLAGS) {
		m->reg[0] = (uint64_t)-EINVAL;
		return;
	}
	memcpy(&query, at, sizeof(query));
	key.family = query.family;
	if (query.family == VIRTIO_GPGPU_FIB_INET) {
		key.prefixlen = 32 + 32;
		memcpy(key.addr, &query.ipv4_dst, 4);
	} else if (query.family == VIRTIO_GPGPU_FIB_INET6) {
		key.prefixlen = 32 + 128;
		memcpy(key.addr, query.ipv6_dst, 16);
	} else {
		m->reg[0] = (uint64_t)-EAFNOSUPPORT;
		return;
	}
	m->reg[0] = BPF_FIB_LKUP_RET_NOT_FWDED;
	found = m->env->fib ? interp_map_lookup(m->env->fib, &key, 0) : NULL;
	if (!found)
		return;
	memcpy(&entry, found, sizeof(entry));
	m->reg[0] = (uint64_t)route(&entry, &query, (uint32_t)arg[3]);
	memcpy(at, &query, sizeof(query));
}

static void tail_call(struct machine *m, const uint64_t *arg)
{
	uint32_t index, n = (uint32_t)arg[2];
	struct interp_map *map = interp_map_arg(m, arg[1], &index);
	const uint8_t *value;
	uint32_t tail;

	if (!map)
		return;
	m->reg[0] = (uint64_t)-ENOENT;
	value = interp_map_lookup(map, &n, 0);
	if (!value || m->tail_calls == MAX_TAIL_CALLS)
		return;
	memcpy(&tail, value, 4);
	if (tail == 0 || tail > m->env->num_tails)
		return;
	m->tail_calls++;
	m->tailed = true;
	interp_tail(m, &m->env->tails[tail - 1]);
}

/* A float at R1 becomes what a helper makes of it and R2; R0 is what it was. */
static bool float_atomic(struct machine *m, uint32_t number, const uint64_t *arg)
{
	static const struct {
		uint32_t number, makes, size;
	} table[] = {
		{ GPGPU_HELPER_atomic_fadd32, GPGPU_HELPER_fadd32, 4 },
		{ GPGPU_HELPER_atomic_fmin32, GPGPU_HELPER_fmin32, 4 },
		{ GPGPU_HELPER_atomic_fmax32, GPGPU_HELPER_fmax32, 4 },
		{ GPGPU_HELPER_atomic_fadd64, GPGPU_HELPER_fadd64, 8 },
		{ GPGPU_HELPER_atomic_fmin64, GPGPU_HELPER_fmin64, 8 },
		{ GPGPU_HELPER_atomic_fmax64, GPGPU_HELPER_fmax64, 8 },
	};
	uint64_t operands[2] = { 0, arg[1] }, made;
	uint8_t *at;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (table[i].number != number)
			continue;
		at = interp_mem(m, arg[0], table[i].size, true);
		if (!at)
			return true;
		if (arg[0] % table[i].size) {
			m->fault = VIRTIO_GPGPU_R_MISALIGNED;
			return true;
		}
		memcpy(&operands[0], at, table[i].size);
		interp_float(table[i].makes, operands, &made);
		memcpy(at, &made, table[i].size);
		m->reg[0] = operands[0];
		return true;
	}
	return false;
}

static void dispatch(struct machine *m, uint32_t number, const uint64_t *arg)
{
	if (interp_map_helper(m, number, arg))
		return;
	switch (number) {
	case BPF_FUNC_ktime_get_ns:
	case BPF_FUNC_ktime_get_boot_ns:
	case BPF_FUNC_ktime_get_coarse_ns:
	case BPF_FUNC_jiffies64:
		m->reg[0] = m->env->ktime_ns;
		return;
	case BPF_FUNC_get_numa_node_id:
		m->reg[0] = 0;
		return;
	case BPF_FUNC_loop:
		loop(m, arg);
		return;
	case BPF_FUNC_strncmp:
		compare_strings(m, arg);
		return;
	case BPF_FUNC_get_prandom_u32:
		m->reg[0] = m->env->random;
		return;
	case BPF_FUNC_get_smp_processor_id:
		m->reg[0] = m->env->cpu;
		return;
	case BPF_FUNC_csum_diff:
		csum_diff(m, arg);
		return;
	}
	if (m->packet) {
		switch (number) {
		case BPF_FUNC_redirect:
			m->reg[0] = arg[1] ? XDP_ABORTED : XDP_REDIRECT;
			if (!arg[1])
				m->egress_port = (uint32_t)arg[0];
			return;
		case BPF_FUNC_fib_lookup:
			if (context_arg(m, arg[0]))
				fib_lookup(m, arg);
			return;
		case BPF_FUNC_tail_call:
			if (context_arg(m, arg[0]))
				tail_call(m, arg);
			return;
		case BPF_FUNC_xdp_get_buff_len:
			if (context_arg(m, arg[0]))
				m->reg[0] = m->end - m->data;
			return;
		case BPF_FUNC_xdp_adjust_head:
		case BPF_FUNC_xdp_adjust_tail:
		case BPF_FUNC_xdp_adjust_meta:
		case BPF_FUNC_xdp_load_bytes:
		case BPF_FUNC_xdp_store_bytes:
			packet_helper(m, number, arg);
			return;
		}
	} else if (work_item(m, number, arg[0]) || interp_float(number, arg, &m->reg[0]) ||
		   float_atomic(m, number, arg)) {
		return;
	}
	m->fault = VIRTIO_GPGPU_R_HELPER;
}

void interp_call(struct machine *m, uint32_t number)
{
	uint64_t arg[5];

	memcpy(arg, &m->reg[1], sizeof(arg));
	if (number >= GPGPU_HELPER_barrier && number <= GPGPU_HELPER_scan_before) {
		m->wait = number; /* groups.c */
		m->give = arg[0];
		m->second = arg[1];
	} else {
		dispatch(m, number, arg);
	}
	if (m->tailed)
		return;
	for (int i = 1; i <= 5; i++)
		m->reg[i] = 0xdeadbeef00000000ull + (uint64_t)i;
}
