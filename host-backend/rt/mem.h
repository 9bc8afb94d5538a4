/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mem.h - the few ways in which this library touches memory that others change meanwhile.
 *
 * Map memory is read and written by many threads at once, so it is accessed as relaxed atomic words: on the
 * machine these are plain moves. What a program's key or value points at (its stack, a packet in memory that
 * the guest writes, another map) is read once, word by word, and made opaque, so that no compiler
 * can read it a second time after a check.
 */
#ifndef GPGPU_RT_MEM_H
#define GPGPU_RT_MEM_H

#include <stdint.h>
#include <stdbool.h>
#include <string.h>
#if defined(__NVPTX__)
#include "rt/nvptx.h"
#elif defined(GP_RT_GPU)
#include "rt/gpu.h"
#endif

struct gp_map;

#define GP_ALWAYS      static inline __attribute__((always_inline))
#define gp_likely(x)   __builtin_expect(!!(x), 1)
#define gp_unlikely(x) __builtin_expect(!!(x), 0)

/* A value that the compiler knows nothing about, and cannot get again from where it came from. */
GP_ALWAYS uint64_t gp_opaque(uint64_t x)
{
#if defined(__AMDGCN__)
	__asm__("" : "+v"(x)); /* a register that has a value for each lane */
#elif defined(__NVPTX__)
	__asm__("" : "+l"(x));
#else
	__asm__("" : "+r"(x));
#endif
	return x;
}

/*
 * gp_if_room() - all ones where @room, as a signed number, is not negative, else 0.
 *
 * For what a branch has checked already: a processor that guesses the branch wrong still waits for this, and no
 * compiler can see that it says the same.
 */
GP_ALWAYS uint64_t gp_if_room(uint64_t room)
{
#if defined(GP_RT_GPU)
	return ~0ull; /* a GPU runs nothing ahead of a branch */
#else
	return gp_opaque(~(uint64_t)((int64_t)gp_opaque(room) >> 63));
#endif
}

GP_ALWAYS uint32_t gp_load32(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

GP_ALWAYS uint64_t gp_load64(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

GP_ALWAYS uint32_t gp_load32_acquire(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* An entry of a table of maps, which the engine may change; on a GPU not while a launch runs. */
GP_ALWAYS struct gp_map *gp_load_map(struct gp_map *const *p)
{
#if defined(GP_RT_GPU)
	return *p;
#else
	return __atomic_load_n(p, __ATOMIC_RELAXED);
#endif
}

GP_ALWAYS void gp_store32(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

GP_ALWAYS void gp_store64(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

GP_ALWAYS void gp_store32_release(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

GP_ALWAYS void gp_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__AMDGCN__)
	__builtin_amdgcn_s_sleep(1);
#elif defined(__NVPTX__)
	__asm__ volatile("nanosleep.u32 20;");
#endif
}

/* Bytes, rounded up to whole words. */
GP_ALWAYS uint32_t gp_words(uint32_t bytes)
{
	return (bytes + 7) / 8;
}

/* gp_get_tail() - the last @left bytes, less than 8, as a word; at most three loads where that is constant. */
GP_ALWAYS uint64_t gp_get_tail(const uint8_t *from, uint32_t left)
{
	uint32_t at = 0, v4 = 0;
	uint64_t v = 0;
	uint16_t v2 = 0;

	if (left & 4) {
		memcpy(&v4, from, 4);
		v = v4;
		at = 4;
	}
	if (left & 2) {
		memcpy(&v2, from + at, 2);
		v |= (uint64_t)v2 << (at * 8);
		at += 2;
	}
	if (left & 1)
		v |= (uint64_t)from[at] << (at * 8);
	return gp_opaque(v);
}

/* gp_get_word() - word @i of @size bytes at any address, zeros behind the end. Read once. */
GP_ALWAYS uint64_t gp_get_word(const uint8_t *from, uint32_t size, uint32_t i)
{
	uint32_t left = size - i * 8;
	uint64_t v;

	from += (uint64_t)i * 8;
	if (left < 8)
		return gp_get_tail(from, left);
	memcpy(&v, from, 8);
	return gp_opaque(v);
}

/*
 * gp_get_halves() - the same, for what a program has just put together on its stack.
 *
 * Clang's programs store such a key in pieces of 4 bytes and more, at multiples of 4. Read in those pieces it
 * can stay in registers even where keys of several shapes share a place; and where it is in memory, a
 * load that spans two younger stores would wait for both to leave the processor.
 */
GP_ALWAYS uint64_t gp_get_halves(const uint8_t *from, uint32_t size, uint32_t i)
{
	uint32_t left = size - i * 8, low, high;

	from += (uint64_t)i * 8;
	if (left < 8)
		return gp_get_tail(from, left);
	memcpy(&low, from, 4);
	memcpy(&high, from + 4, 4);
	return gp_opaque(low) | gp_opaque(high) << 32;
}

/* gp_copy_in() - @size bytes at any address to words of map memory; zeros to the end of the last word. */
GP_ALWAYS void gp_copy_in(uint8_t *to, const uint8_t *from, uint32_t size)
{
	uint64_t *word = (uint64_t *)(void *)to;
	uint32_t i, n = gp_words(size);

	for (i = 0; i < n; i++)
		gp_store64(word + i, gp_get_word(from, size, i));
}

/* gp_clear() - words of map memory. */
GP_ALWAYS void gp_clear(uint8_t *to, uint32_t size)
{
	uint64_t *word = (uint64_t *)(void *)to;
	uint32_t i, n = gp_words(size);

	for (i = 0; i < n; i++)
		gp_store64(word + i, 0);
}

/* gp_copy_out() - @size bytes of map memory to ordinary memory. */
GP_ALWAYS void gp_copy_out(uint8_t *to, const uint8_t *from, uint32_t size)
{
	const uint64_t *word = (const uint64_t *)(const void *)from;
	uint32_t i, n = gp_words(size);

	for (i = 0; i < n; i++) {
		uint64_t v = gp_load64(word + i);
		uint32_t left = size - i * 8;

		memcpy(to + (uint64_t)i * 8, &v, left < 8 ? left : 8);
	}
}

/*
 * A lock word: bit 0 is the lock, the rest counts what readers must notice (an element that left its place).
 * Readers hardly ever wait for it. Taking it gives up after a bound, since its holder's thread may not be
 * running: about half a second, many times what a busy host's scheduler takes a thread away for.
 */
#if defined(GP_RT_GPU)
#define GP_LOCK_SPINS (1u << 17) /* each takes a trip to the L2, or to the host's memory */
#else
#define GP_LOCK_SPINS (1u << 24)
#endif

GP_ALWAYS bool gp_lock(uint32_t *lock)
{
	uint32_t spins, old;

	for (spins = 0; spins < GP_LOCK_SPINS; spins++) {
		old = gp_load32(lock);
		if (!(old & 1) && __atomic_compare_exchange_n(lock, &old, old | 1, true, __ATOMIC_ACQUIRE,
							      __ATOMIC_RELAXED))
			return true;
		gp_pause();
	}
	return false;
}

/* gp_trylock() - without waiting. */
GP_ALWAYS bool gp_trylock(uint32_t *lock)
{
	uint32_t old = gp_load32(lock);

	return !(old & 1) &&
	       __atomic_compare_exchange_n(lock, &old, old | 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* gp_lock_bump() - readers that began before this read again. The lock stays taken. */
GP_ALWAYS void gp_lock_bump(uint32_t *lock)
{
	gp_store32_release(lock, gp_load32(lock) + 2);
	/* Before whatever the freed element is written with next. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

GP_ALWAYS void gp_unlock(uint32_t *lock)
{
	gp_store32_release(lock, gp_load32(lock) & ~1u);
}

/*
 * gp_with_lock() - in front of a statement that runs with the lock; it is not to be left but at its end.
 * @got: out, a bool: whether the lock was to be had, and so the statement ran.
 */
#if defined(GP_RT_GPU)
#define gp_with_lock(lock, got)                                                      \
	for (uint32_t gp_spins = ((got) = false), gp_want = 1; gp_wave_any(gp_want); \
	     gp_want &= ++gp_spins < GP_LOCK_SPINS, gp_pause())                      \
		for (bool gp_held = gp_want && gp_trylock(lock); gp_held;            \
		     gp_unlock(lock), gp_want = 0, (got) = true, gp_held = false)
#else
#define gp_with_lock(lock, got) \
	for (bool gp_held = (got) = gp_lock(lock); gp_held; gp_unlock(lock), gp_held = false)
#endif

/*
 * gp_each_lane() - in front of a statement that waits for what other lanes hold beside locks: on a GPU it runs for one lane of
 * a wave after the other. It is not to be left but at its end.
 */
#ifndef gp_each_lane
#define gp_each_lane()
#endif

GP_ALWAYS uint32_t gp_read_begin(const uint32_t *lock)
{
	return gp_load32_acquire(lock) | 1;
}

GP_ALWAYS bool gp_read_valid(const uint32_t *lock, uint32_t begin)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return (gp_load32(lock) | 1) == begin;
}

/* What walks count instead of their steps where the lock could not be had. */
#define GP_STEPS_WITHOUT_LOCK UINT32_MAX

/* How often a look-up starts over because elements left under its feet before it takes the lock. */
#define GP_READ_TRIES 16

#endif
