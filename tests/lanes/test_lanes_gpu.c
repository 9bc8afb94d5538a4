/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_lanes_gpu.c - what docs/lanes.md promises, on a card: lanes of a wave at one time, waves in the order of a seed.
 *
 * Programs are unchanged ones of races.bpf.c. Counters are exact whatever the order; what is promised of order=flow and
 * order=all is as on the CPU device. Environment: GPGPU_TEST_DEVICE, and the software card preloaded (tests/amdgpu-sim).
 */
#include <stdio.h>
#include <string.h>
#include "lanes_fixture.h"

void amdgpu_sim_control(const char *command) __attribute__((weak));

enum { CARD_SEEDS = 4 };

/* @turn: the seed of the card's waves; 0: one after the other. */
static void start_card(int turn)
{
	char command[32];

	start(-1, FEW);
	ck_assert_msg(amdgpu_sim_control != NULL, "the software card is not there");
	snprintf(command, sizeof(command), "seed %d", turn);
	amdgpu_sim_control(command);
}

START_TEST(count)
{
	struct counters c;
	uint64_t tickets[3];
	uint32_t prog;

	start_card(_i);
	prog = lanes_prog(&l, "count");
	for (int i = 0; i < 3; i++)
		tickets[i] = lanes_submit(&l, prog, FEW, 0);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(lanes_wait(&l, tickets[i], FEW), VIRTIO_GPGPU_S_OK);
	c = lanes_counters(&l);
	check_count(&c, 3 * FEW);
	lanes_stop(&l);
}
END_TEST

/* `n = c->next++` gives every packet another number, and with order=all its own. */
START_TEST(numbers)
{
	bool seen[FEW] = { false };
	struct counters c = { 0 };
	uint32_t prog;

	start_card(_i);
	prog = lanes_prog(&l, "number");
	lanes_run(&l, prog, FEW, 0);
	for (uint32_t i = 0; i < FEW; i++) {
		uint32_t n = lanes_packet(&l, i)->body.out;

		ck_assert_uint_lt(n, FEW);
		ck_assert(!seen[n]);
		seen[n] = true;
	}
	lanes_set(&l, MAP_counters, 0, &c, sizeof(c));
	lanes_run(&l, prog, FEW, ALL);
	for (uint32_t i = 0; i < FEW; i++)
		ck_assert_uint_eq(lanes_packet(&l, i)->body.out, i);
	lanes_stop(&l);
}
END_TEST

/* Every lane of a wave reads before any of them writes: without an order what is no counter is lost, and with one not. */
START_TEST(no_sum)
{
	struct counters c = { 0 };
	uint32_t prog;

	start_card(_i);
	prog = lanes_prog(&l, "saturate");
	lanes_run(&l, prog, FEW, 0);
	ck_assert_uint_gt(lanes_counters(&l).packets, 0);
	ck_assert_uint_lt(lanes_counters(&l).packets, FEW);
	lanes_set(&l, MAP_counters, 0, &c, sizeof(c));
	lanes_run(&l, prog, FEW, ALL);
	ck_assert_uint_eq(lanes_counters(&l).packets, FEW);
	lanes_stop(&l);
}
END_TEST

/* Packets of a flow are one lane's with order=flow. */
START_TEST(by_flow)
{
	uint32_t expected[FLOWS] = { 0 };
	struct flow flow;

	start_card(_i);
	for (uint32_t i = 0; i < FEW; i++)
		expected[lanes_packet(&l, i)->dst[3]]++;
	lanes_run(&l, lanes_prog(&l, "saturate_flow"), FEW, FLOW);
	for (uint32_t i = 0; i < FLOWS; i++) {
		ck_assert(lanes_get(&l, MAP_flows, i, &flow, sizeof(flow)));
		ck_assert_uint_eq(flow.packets, expected[i]);
	}
	lanes_stop(&l);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lanes on a card");
	TCase *tcase = tcase_create("lanes");

	tcase_set_timeout(tcase, 300);
	tcase_add_loop_test(tcase, count, 0, CARD_SEEDS);
	tcase_add_loop_test(tcase, numbers, 0, CARD_SEEDS);
	tcase_add_loop_test(tcase, no_sum, 0, CARD_SEEDS);
	tcase_add_loop_test(tcase, by_flow, 0, CARD_SEEDS);
	suite_add_tcase(suite, tcase);
	return lanes_main(suite);
}
