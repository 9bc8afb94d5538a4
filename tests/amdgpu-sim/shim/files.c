/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.c - the paths that only exist for a program under the simulator: the node and its corner of sysfs.
 *
 * What libdrm looks at (drmGetDevices2(), drmGetNodeTypeFromFd(), drmGetPrimaryDeviceNameFromFd()): a table of paths,
 * each a text, a link, a directory or a device. The corner hides a real card's of the same numbers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "shim/shim.h"

#define MAJOR  226u
#define RENDER 128u
#define PCI    "0000:03:00.0"
#define DEVICE "/sys/devices/pci0000:00/" PCI

struct row {
	const char *path; /* behind a base */
	enum sim_path_kind kind;
	const char *text;
};

/* Behind /sys/dev/char/226:0, /sys/dev/char/226:128 and, for those in device/, DEVICE. */
static const struct row rows[] = {
	{ "", SIM_PATH_DIR, "dev\ndevice\nuevent\n" },
	{ "/device", SIM_PATH_DIR,
	  "drm\nvendor\ndevice\nrevision\nsubsystem_vendor\nsubsystem_device\nuevent\nconfig\n" },
	{ "/device/drm", SIM_PATH_DIR, "card0\nrenderD128\n" },
	{ "/device/drm/card0", SIM_PATH_DIR, "dev\n" },
	{ "/device/drm/renderD128", SIM_PATH_DIR, "dev\n" },
	{ "/device/subsystem", SIM_PATH_LINK, "../../../bus/pci" },
	{ "/device/driver", SIM_PATH_LINK, "../../../bus/pci/drivers/amdgpu" },
	{ "/device/vendor", SIM_PATH_TEXT, "0x1002\n" },
	{ "/device/device", SIM_PATH_TEXT, NULL },
	{ "/device/revision", SIM_PATH_TEXT, NULL },
	{ "/device/subsystem_vendor", SIM_PATH_TEXT, "0x1002\n" },
	{ "/device/subsystem_device", SIM_PATH_TEXT, "0x0001\n" },
	{ "/device/uevent", SIM_PATH_TEXT, "DRIVER=amdgpu\nPCI_SLOT_NAME=" PCI "\n" },
};

static struct sim_path in_sysfs(const char *path, const char *name, char *room, size_t size)
{
	struct sim_path found = { 0 };
	uint32_t device, revision;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (strcmp(rows[i].path, path))
			continue;
		found = (struct sim_path){ rows[i].kind, name, rows[i].text, 0 };
		if (!found.text) {
			sim_card_ids(&device, &revision);
			snprintf(room, size, "0x%04x\n", strcmp(path, "/device/device") ? revision : device);
			found.text = room;
		}
	}
	return found;
}

struct sim_path sim_path_find(const char *path, char *room, size_t size)
{
	static const char *const bases[] = { "/sys/dev/char/226:128", "/sys/dev/char/226:0" };
	struct sim_path none = { 0 };
	const char *node = sim_node_name();
	char behind[256];

	if (!path || *path != '/')
		return none;
	if (!strcmp(path, node))
		return (struct sim_path){ SIM_PATH_DEVICE, path, NULL, RENDER };
	if (!strcmp(path, "/dev/udmabuf"))
		return (struct sim_path){ SIM_PATH_DEVICE, path, NULL, 0 };
	if (!strcmp(path, "/dev/dri") || !strcmp(path, "/dev/dri/"))
		return (struct sim_path){ SIM_PATH_DIR, path, "card0\nrenderD128\n", 0 };
	if (!strcmp(path, "/dev/dri/card0"))
		return (struct sim_path){ SIM_PATH_DEVICE, path, NULL, 0 };
	for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++)
		if (!strncmp(path, bases[i], strlen(bases[i])) &&
		    (path[strlen(bases[i])] == '/' || !path[strlen(bases[i])]))
			return in_sysfs(path + strlen(bases[i]), path, room, size);
	if (!strncmp(path, DEVICE, strlen(DEVICE)) && strlen(path) < 200) {
		snprintf(behind, sizeof(behind), "/device%s", path + strlen(DEVICE));
		return in_sysfs(behind, path, room, size);
	}
	return none;
}

void sim_path_stat(const struct sim_path *path, mode_t *mode, dev_t *rdev)
{
	static const mode_t modes[] = { [SIM_PATH_TEXT] = S_IFREG | 0444,
					[SIM_PATH_LINK] = S_IFLNK | 0777,
					[SIM_PATH_DIR] = S_IFDIR | 0755,
					[SIM_PATH_DEVICE] = S_IFCHR | 0666 };

	*mode = modes[path->kind];
	*rdev = path->kind == SIM_PATH_DEVICE ? makedev(path->name[5] == 'u' ? 10 : MAJOR, path->minor) : 0;
}

int sim_path_open(const struct sim_path *path)
{
	int fd;

	if (path->kind == SIM_PATH_DIR)
		return -EISDIR;
	if (path->kind != SIM_PATH_TEXT)
		return -EACCES; /* card0: the primary node is its master's */
	fd = memfd_create("amdgpu-sim-sysfs", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, path->text, strlen(path->text)) < 0 || lseek(fd, 0, SEEK_SET) < 0) {
		close(fd);
		return -EIO;
	}
	return fd;
}
