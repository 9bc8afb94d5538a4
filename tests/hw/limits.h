/* SPDX-License-Identifier: BSD-3-Clause */
/* limits.h - between limits.c and its kernels. */
#ifndef HW_LIMITS_H
#define HW_LIMITS_H

#include <stdint.h>

#define LIMITS_GROUP 128u
#define LIMITS_TABLE (16u << 20) /* words of 4 bytes */

struct limits {
	uint8_t *packets;
	uint32_t *verdicts;
	const uint32_t *table;
	uint64_t *counters;
	uint32_t stride;
	uint32_t rewrite;
};

#endif
