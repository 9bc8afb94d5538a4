/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shim.h - what stands between a program's C library and the card.
 *
 * hooks.c catches the calls, files.c has the paths that are not there, table.c knows which descriptors are ours.
 */
#ifndef AMDGPU_SIM_SHIM_H
#define AMDGPU_SIM_SHIM_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

struct sim_client;
struct sim_bo;
struct sim_syncobj;
struct sim_fence;

enum sim_file_kind { SIM_FILE_NODE, SIM_FILE_DMABUF, SIM_FILE_UDMABUF, SIM_FILE_SYNCOBJ, SIM_FILE_SYNC };

/* One open file; several descriptors may lead to it. */
struct sim_file {
	enum sim_file_kind kind;
	uint32_t refs;
	void *object; /* client, buffer, sync object, fence; a reference to it */
};

/*
 * sim_fd_new() - a descriptor for @object. @like: whose memory it shows when mapped (dup()ed), or -1 for none.
 * Return: the descriptor or -errno; @object's reference is taken over if it is not an error.
 */
int sim_fd_new(enum sim_file_kind kind, void *object, int like, bool cloexec);
struct sim_file *sim_fd_find(int fd);
void sim_fd_dup(int from, int to);
void sim_fd_close(int fd); /* before it is */

/* The card (card/client.c). */
bool sim_is_node(const char *path);
int sim_node_open(bool cloexec); /* the descriptor or -errno */
int sim_node_ioctl(struct sim_client *client, unsigned long request, void *arg); /* 0 or -errno */
void sim_file_release(struct sim_file *file);
int sim_card_fd(void);
void sim_card_ids(uint32_t *device, uint32_t *revision);
const char *sim_node_name(void);
void sim_user_unmap(uintptr_t at, size_t size);
void sim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* udmabuf (udmabuf.c). */
int sim_udmabuf_open(bool cloexec);
int sim_udmabuf_ioctl(unsigned long request, void *arg); /* the new descriptor or -errno */

/* Paths that only exist here (files.c). */
enum sim_path_kind { SIM_PATH_NONE, SIM_PATH_TEXT, SIM_PATH_LINK, SIM_PATH_DIR, SIM_PATH_DEVICE };

struct sim_path {
	enum sim_path_kind kind;
	const char *name;
	const char *text; /* contents, target, or names in the directory with a line end behind each */
	uint32_t minor; /* of a device */
};

/* sim_path_find() - Return: kind NONE: not ours. @room: where text is made. */
struct sim_path sim_path_find(const char *path, char *room, size_t size);
void sim_path_stat(const struct sim_path *path, mode_t *mode, dev_t *rdev);
int sim_path_open(const struct sim_path *path); /* a descriptor to read its text from, or -errno */

#endif
