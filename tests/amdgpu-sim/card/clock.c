/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.c - the card's clock: what time stamps, s_memrealtime, INFO's TIMESTAMP and the driver's timeout go by.
 *
 * While waves run it goes by what they execute, `clock` nanoseconds an instruction, and by nothing else. So a deadline
 * that code has by this clock comes after the same instruction each time, however busy the host's processors are, and
 * what is charged for a dispatch is the same as well. While none run it goes as the host's clock does: hence one
 * that hangs, or waits for memory that somebody has to write, runs into the timeout.
 *
 * It never goes backwards. How far it is from the host's clock changes with every dispatch, as if the card were in
 * another place when it comes back; whoever relates the two has to do so again from time to time.
 *
 * Threads: begin(), at() and end() by the one ring that runs waves; ns() by any.
 */
#include <pthread.h>
#include "card.h"

static struct {
	pthread_mutex_t lock;
	int64_t behind; /* the host's clock, while no waves run */
	bool driven; /* by waves, since ... */
	int64_t began;
	int64_t now; /* likewise: at the last look */
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int64_t locked_ns(void)
{
	return state.driven ? state.now : sim_now() - state.behind;
}

int64_t sim_clock_ns(void)
{
	int64_t ns;

	pthread_mutex_lock(&state.lock);
	ns = locked_ns();
	pthread_mutex_unlock(&state.lock);
	return ns;
}

uint64_t sim_ticks(void)
{
	return (uint64_t)sim_clock_ns() / 10;
}

void sim_clock_begin(void)
{
	pthread_mutex_lock(&state.lock);
	state.began = state.now = locked_ns();
	state.driven = true;
	pthread_mutex_unlock(&state.lock);
}

uint64_t sim_clock_at(uint64_t instructions)
{
	int64_t now;

	pthread_mutex_lock(&state.lock);
	now = state.began + (int64_t)(instructions * sim.options.clock);
	if (now > state.now)
		state.now = now;
	now = state.now;
	pthread_mutex_unlock(&state.lock);
	return (uint64_t)now;
}

void sim_clock_end(void)
{
	pthread_mutex_lock(&state.lock);
	state.behind = sim_now() - state.now;
	state.driven = false;
	pthread_mutex_unlock(&state.lock);
}
