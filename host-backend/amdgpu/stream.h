/* SPDX-License-Identifier: BSD-3-Clause */
/* stream.h - an indirect buffer while it is written, dword by dword; what does not fit is remembered and not written. */
#ifndef GPGPU_AMDGPU_STREAM_H
#define GPGPU_AMDGPU_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include "amdgpu/packets.h"

struct out {
	uint32_t *ib; /* room for GP_PACKETS_MAX dwords */
	uint32_t used;
	bool full;
};

static inline void put(struct out *out, uint32_t value)
{
	if (out->used < GP_PACKETS_MAX)
		out->ib[out->used++] = value;
	else
		out->full = true;
}

static inline void put64(struct out *out, uint64_t value)
{
	put(out, (uint32_t)value);
	put(out, (uint32_t)(value >> 32));
}

#endif
