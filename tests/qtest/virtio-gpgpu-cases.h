/*
 * virtio-gpgpu qtests: what the files with test cases share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TESTS_QTEST_VIRTIO_GPGPU_CASES_H
#define TESTS_QTEST_VIRTIO_GPGPU_CASES_H

#include "virtio-gpgpu-guest.h"

#define SLOT            4
#define DEVICE          "-device virtio-gpgpu-pci,id=gpgpu0,gpgpu=gpu0," \
                        "addr=04.0"
#define SMALL           DEVICE ",shm-size=1M"
#define WITH_IOTHREAD   "-object iothread,id=io0 " SMALL ",iothread=io0"
#define LOAD_SHM        (64 * MiB)
#define LOAD            DEVICE ",shm-size=64M"
#define HELD            8       /* requests that stay in flight */

typedef struct TestCase {
    const char *name;
    void (*fn)(void);
} TestCase;

/* Each ends with an empty one. */
extern const TestCase device_cases[];
extern const TestCase class_cases[];
extern const TestCase load_cases[];
extern const TestCase worker_cases[];
extern const TestCase operator_cases[];

/* The device of one guest, started; and both ended. */
Device *start_one(Guest *guest);
void stop_one(Device *dev);
/* Malformed requests of every kind are answered as they must be. */
void check_bad_input(Device *dev);
/* A command line ends with status 1 and a message with @words in it. */
void check_wrong(const char *args, const char *words);
pid_t worker_pid(Guest *guest);

#endif
