/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coverage.h - whether the vectors reach every instruction of RFC 9669 in every corner that is listed.
 */
#ifndef TESTS_BPF_COVERAGE_H
#define TESTS_BPF_COVERAGE_H

#include <stdint.h>
#include "interp.h"

/* coverage_trace() - note what one instruction reached; a trace of struct run. */
void coverage_trace(void *opaque, const struct interp_step *step);

/*
 * coverage_missing() - print, behind "# ", each row of the table that nothing reached.
 * @rows: out: how many there are
 *
 * Return: how many are missing.
 */
uint32_t coverage_missing(uint32_t *rows);

#endif
