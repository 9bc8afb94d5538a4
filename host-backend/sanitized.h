/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sanitized.h - SANITIZED: 1 in a build with the address or thread sanitizer, else 0.
 *
 * Their shadow memory needs more address space and more system calls than a sandbox gives. gcc and clang
 * say in different ways that they are there.
 */
#ifndef GPGPU_SANITIZED_H
#define GPGPU_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
