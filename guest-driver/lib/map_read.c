// SPDX-License-Identifier: BSD-3-Clause
/*
 * map_read.c - records that programs leave in ring buffers and perf event arrays.
 *
 * Records are taken out of the device as many at a time as fit into a buffer, and handed over one by one. Those that
 * a callback does not want yet stay in the buffer for the next call. The device is trusted to say how long
 * a record is no more than anybody else: lengths are checked against what came.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "virtio_gpgpu.h"

#define ROOM (256u << 10)

/* Return: 0, also if nothing came in time, or a negative errno that was noted. */
static int fetch(struct gpgpu_map *map, int64_t timeout_ns)
{
	struct drm_virtio_gpgpu_map_read read = {
		.handle = map->handle,
		.size = ROOM,
		.timeout_ns = timeout_ns,
	};
	int r;

	if (!map->records)
		map->records = malloc(ROOM);
	if (!map->records)
		return gpgpu_fail(-ENOMEM, "out of memory");
	read.data = (uintptr_t)map->records;
	map->records_at = map->records_end = 0;
	r = gpgpu_ioctl(map->dev, DRM_IOCTL_VIRTIO_GPGPU_MAP_READ, &read);
	if (r == -ETIME) {
		map->dropped = read.dropped;
		return 0;
	}
	if (r)
		return gpgpu_fail_device(r, map->name, &read.result, NULL);
	map->records_end = read.bytes;
	map->dropped = read.dropped;
	return 0;
}

static bool next(struct gpgpu_map *map, struct virtio_gpgpu_record *record, const uint8_t **data)
{
	size_t left = map->records_end - map->records_at, room;

	if (left < sizeof(*record))
		return false;
	memcpy(record, map->records + map->records_at, sizeof(*record));
	room = ((size_t)record->size + 7) & ~(size_t)7;
	if (room > left - sizeof(*record))
		return false;
	*data = map->records + map->records_at + sizeof(*record);
	map->records_at += sizeof(*record) + room;
	return true;
}

int gpgpu_map_read(struct gpgpu_map *map, gpgpu_record_fn record, void *opaque, int64_t timeout_ns)
{
	struct virtio_gpgpu_record head;
	const uint8_t *data;
	int count = 0, r;

	if (!map->dev)
		return gpgpu_fail(-ENODEV, "map '%.64s' is not on a device: no loaded program uses it",
				  map->name);
	if (map->records_at == map->records_end) {
		r = fetch(map, timeout_ns);
		if (r)
			return r;
	}
	while (next(map, &head, &data)) {
		count++;
		r = record(opaque, head.cpu, data, head.size);
		if (r < 0)
			return r;
		if (r)
			return count;
	}
	if (map->records_at != map->records_end) {
		map->records_at = map->records_end = 0;
		return gpgpu_fail(-EPROTO, "map '%.64s': damaged records", map->name);
	}
	return count;
}

uint64_t gpgpu_map_dropped(const struct gpgpu_map *map)
{
	return map->dropped;
}
