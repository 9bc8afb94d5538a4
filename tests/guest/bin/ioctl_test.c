// SPDX-License-Identifier: BSD-3-Clause
/*
 * ioctl_test.c - every ioctl of /dev/accel/accelN, right and wrong, without the library. TAP.
 *
 *	ioctl_test [PART...]	as any user who may open the node; without a part all but these:
 *	ioctl_test watchdog	has jobs cancelled after a second; as root
 *	ioctl_test lost		runs the command $LOSE, which takes the worker from the device
 *	ioctl_test hung		runs the command $LOSE, after which the device does not answer; as root
 *	ioctl_test unplug	runs the command $LOSE, which takes the device away
 *	ioctl_test suspend	has the kernel suspend the device and resume it; as root
 *	ioctl_test unbind	takes the driver off the device; as root
 */
#include <string.h>

#include "node.h"

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "objects", test_objects },	 { "maps", test_maps_of_things }, { "programs", test_programs },
	{ "jobs", test_jobs },		 { "fences", test_fences },	  { "files", test_files },
	{ "processes", test_processes }, { "fuzz", test_fuzz },		  { "watchdog", test_watchdog },
	{ "lost", test_lost },		 { "hung", test_hung },		  { "unbind", test_unbind },
	{ "unplug", test_unplug },	 { "suspend", test_suspend },
};

int main(int argc, char **argv)
{
	test_caps();
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		bool wanted = argc == 1 && i < ARRAY_SIZE(parts) - 6;

		for (int a = 1; a < argc; a++)
			wanted |= !strcmp(argv[a], parts[i].name);
		if (wanted)
			parts[i].run();
	}
	return finish_tests();
}
