// SPDX-License-Identifier: BSD-3-Clause
/*
 * helpers_maps.c - the helpers that take a map, after bpf-helpers(7) and the kernel's documentation of the map types.
 */
#include "gpgpu_bpf.h"
#include "priv.h"

#define REDIRECT_ACTION 3u /* bits of the flags that say what to return when there is no entry */
#define CURRENT_CPU	0xffffffffu
#define CONTEXT_SHIFT	32
#define CONTEXT_MASK	0xfffffull /* 20 bits: bytes of the packet that go along */
#define RING_WAKEUPS	3u /* BPF_RB_NO_WAKEUP, BPF_RB_FORCE_WAKEUP */

struct interp_map *interp_map_arg(struct machine *m, uint64_t pointer, uint32_t *index)
{
	uint64_t number = POINTER_REGION(pointer);

	if (number >= REGION_MAP && number < REGION_MAP + m->env->num_maps && pointer == POINTER(number, 0)) {
		*index = (uint32_t)(number - REGION_MAP);
		return m->env->maps[*index];
	}
	m->fault = VIRTIO_GPGPU_R_HELPER_ARG;
	return NULL;
}

static uint64_t error(int rc)
{
	return (uint64_t)(int64_t)rc;
}

static bool of_maps(const struct interp_map *map)
{
	return map->type == VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS || map->type == VIRTIO_GPGPU_MAP_HASH_OF_MAPS;
}

static void lookup(struct machine *m, struct interp_map *map, uint32_t index, uint64_t key_at, uint64_t cpu)
{
	const uint8_t *key = interp_mem(m, key_at, map->key_size, false);
	uint8_t *value;
	uint32_t inner;

	if (!key)
		return;
	m->reg[0] = 0;
	value = interp_map_lookup(map, key, (uint32_t)cpu);
	if (!value)
		return;
	if (of_maps(map)) {
		memcpy(&inner, value, 4);
		m->reg[0] = inner && inner <= m->env->num_maps ? POINTER(REGION_MAP + inner - 1, 0) : 0;
		return;
	}
	m->reg[0] = POINTER(REGION_VALUE + index, value - map->values);
}

static void update(struct machine *m, struct interp_map *map, const uint64_t *arg)
{
	const uint8_t *key = interp_mem(m, arg[1], map->key_size, false);
	const uint8_t *value = key ? interp_mem(m, arg[2], map->value_size, false) : NULL;

	if (value)
		m->reg[0] = error(interp_map_update(map, key, value, arg[3], m->env->cpu));
}

static void queue(struct machine *m, struct interp_map *map, uint32_t number, const uint64_t *arg)
{
	uint8_t *value = interp_mem(m, arg[1], map->value_size, number != BPF_FUNC_map_push_elem);

	if (!value)
		return;
	if (number == BPF_FUNC_map_push_elem)
		m->reg[0] = error(interp_map_push(map, value, arg[2]));
	else if (number == BPF_FUNC_map_pop_elem)
		m->reg[0] = error(interp_map_pop(map, value));
	else
		m->reg[0] = error(interp_map_peek(map, value));
}

static void redirect(struct machine *m, struct interp_map *map, const uint64_t *arg)
{
	uint32_t key = (uint32_t)arg[1], port;
	const uint8_t *value;

	/* To all entries of a map is not for this device. */
	if (arg[2] & ~(uint64_t)REDIRECT_ACTION) {
		m->reg[0] = XDP_ABORTED;
		return;
	}
	value = interp_map_lookup(map, &key, 0);
	port = 0;
	if (value)
		memcpy(&port, value, 4);
	/* 0 is no port, and no length of a CPU's queue. */
	if (!port) {
		m->reg[0] = arg[2] & REDIRECT_ACTION;
		return;
	}
	m->egress_port = map->type == VIRTIO_GPGPU_MAP_CPUMAP ? VIRTIO_GPGPU_EGRESS_CPU | key : port;
	m->reg[0] = XDP_REDIRECT;
}

/* ------------------------------------------------------------------ records */
static void output(struct machine *m, struct interp_map *map, uint64_t data, uint64_t size, uint64_t packet)
{
	const uint8_t *from = size ? interp_mem(m, data, size, false) : NULL;
	int64_t at;

	if (m->fault)
		return;
	at = interp_map_reserve(map, size + packet);
	if (at < 0) {
		m->reg[0] = error(map->type == VIRTIO_GPGPU_MAP_RINGBUF ? -EAGAIN : -ENOSPC);
		return;
	}
	if (size)
		memcpy(map->values + at, from, size);
	if (packet)
		memcpy(map->values + at + size, m->packet->slot + m->data, packet);
	interp_map_commit(map, (uint64_t)at, true);
	m->reg[0] = 0;
}

static void perf_output(struct machine *m, struct interp_map *map, const uint64_t *arg)
{
	uint64_t flags = arg[2], index = (uint32_t)flags;
	uint64_t packet = flags >> CONTEXT_SHIFT & CONTEXT_MASK;

	if (flags & ~((uint64_t)CURRENT_CPU | CONTEXT_MASK << CONTEXT_SHIFT)) {
		m->reg[0] = error(-EINVAL);
	} else if (packet > m->end - m->data) {
		m->reg[0] = error(-EFAULT);
	} else if (index != CURRENT_CPU && index >= map->max_entries) {
		m->reg[0] = error(-E2BIG);
	} else if (index != CURRENT_CPU && index != m->env->cpu) {
		m->reg[0] = error(-EOPNOTSUPP);
	} else {
		output(m, map, arg[3], arg[4], packet);
	}
}

static void ring_reserve(struct machine *m, struct interp_map *map, uint32_t index, const uint64_t *arg)
{
	int64_t at = arg[2] ? -1 : interp_map_reserve(map, arg[1]);

	m->reg[0] = at < 0 ? 0 : POINTER(REGION_VALUE + index, at);
}

static void ring_end(struct machine *m, uint64_t pointer, bool keep)
{
	uint64_t number = POINTER_REGION(pointer), offset = POINTER_OFFSET(pointer);

	if (number < REGION_VALUE || number >= REGION_VALUE + m->env->num_maps ||
	    !interp_map_commit(m->env->maps[number - REGION_VALUE], offset, keep))
		m->fault = VIRTIO_GPGPU_R_HELPER_ARG;
	m->reg[0] = 0;
}

/* Ring buffers that nobody reads yet. */
static void ring_query(struct machine *m, const struct interp_map *map, uint64_t flag)
{
	switch (flag) {
	case BPF_RB_AVAIL_DATA:
	case BPF_RB_PROD_POS:
		m->reg[0] = map->records_end;
		return;
	case BPF_RB_RING_SIZE:
		m->reg[0] = map->max_entries;
		return;
	default:
		m->reg[0] = 0;
	}
}

/* Helpers whose first argument is the map. */
static bool first_is_map(struct machine *m, uint32_t number, const uint64_t *arg)
{
	uint32_t index = 0;
	struct interp_map *map = interp_map_arg(m, arg[0], &index);
	const uint8_t *key;

	if (!map)
		return true;
	switch (number) {
	case BPF_FUNC_map_lookup_elem:
		lookup(m, map, index, arg[1], m->env->cpu);
		return true;
	case BPF_FUNC_map_lookup_percpu_elem:
		m->reg[0] = 0;
		if ((uint32_t)arg[2] < map->copies)
			lookup(m, map, index, arg[1], (uint32_t)arg[2]);
		return true;
	case BPF_FUNC_map_update_elem:
		update(m, map, arg);
		return true;
	case BPF_FUNC_map_delete_elem:
		key = interp_mem(m, arg[1], map->key_size, false);
		if (key)
			m->reg[0] = error(interp_map_delete(map, key));
		return true;
	case BPF_FUNC_map_push_elem:
	case BPF_FUNC_map_pop_elem:
	case BPF_FUNC_map_peek_elem:
		queue(m, map, number, arg);
		return true;
	case BPF_FUNC_redirect_map:
		redirect(m, map, arg);
		return true;
	case BPF_FUNC_ringbuf_output:
		if (arg[3] & ~(uint64_t)RING_WAKEUPS)
			m->reg[0] = error(-EINVAL);
		else
			output(m, map, arg[1], arg[2], 0);
		return true;
	case BPF_FUNC_ringbuf_reserve:
		ring_reserve(m, map, index, arg);
		return true;
	case BPF_FUNC_ringbuf_query:
		ring_query(m, map, arg[1]);
		return true;
	}
	return false;
}

bool interp_map_helper(struct machine *m, uint32_t number, const uint64_t *arg)
{
	uint32_t index;
	struct interp_map *map;

	switch (number) {
	case BPF_FUNC_redirect_map:
		if (!m->packet)
			return false;
		return first_is_map(m, number, arg);
	case BPF_FUNC_map_lookup_elem:
	case BPF_FUNC_map_lookup_percpu_elem:
	case BPF_FUNC_map_update_elem:
	case BPF_FUNC_map_delete_elem:
	case BPF_FUNC_map_push_elem:
	case BPF_FUNC_map_pop_elem:
	case BPF_FUNC_map_peek_elem:
	case BPF_FUNC_ringbuf_output:
	case BPF_FUNC_ringbuf_reserve:
	case BPF_FUNC_ringbuf_query:
		return first_is_map(m, number, arg);
	case BPF_FUNC_ringbuf_submit:
	case BPF_FUNC_ringbuf_discard:
		ring_end(m, arg[0], number == BPF_FUNC_ringbuf_submit);
		return true;
	case BPF_FUNC_perf_event_output:
		if (!m->packet)
			return false;
		map = interp_map_arg(m, arg[1], &index);
		if (map)
			perf_output(m, map, arg);
		return true;
	}
	return false;
}
