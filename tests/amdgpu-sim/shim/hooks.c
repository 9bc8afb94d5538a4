/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hooks.c - the C library's calls that a program under the simulator makes: those that concern the card are answered
 * here, all others go on to the library that would have had them.
 *
 * A node's descriptor is real (a memory file's), so most calls on it need no hook: read(), poll(), mmap() of the offsets
 * that GEM_MMAP gives. A child of fork() has no card: its threads stayed with the parent.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "card/card.h"
#include "shim/shim.h"

#define EXPORT __attribute__((visibility("default")))

/* The next definition of a function, looked up at its first call. */
#define NEXT(name)                     \
	static __typeof__(&name) next; \
                                       \
	if (!next)                     \
	*(void **)&next = dlsym(RTLD_NEXT, #name)

static bool forked;

static void in_child(void)
{
	forked = sim.started;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

__attribute__((destructor)) static void finish(void)
{
	if (!forked && sim.started)
		sim_statistics();
}

EXPORT bool amdgpu_sim_control(const char *command);

EXPORT bool amdgpu_sim_control(const char *command)
{
	return sim_control(command);
}

static int result(int value)
{
	if (value >= 0)
		return value;
	errno = -value;
	return -1;
}

/* Whether the path is ours; then *@fd is what open() returns. */
static bool open_ours(const char *path, int flags, int *fd)
{
	char room[64];
	struct sim_path found = sim_path_find(path, room, sizeof(room));

	if (found.kind == SIM_PATH_NONE || forked)
		return false;
	if (sim_is_node(path))
		*fd = result(sim_node_open(flags & O_CLOEXEC));
	else if (found.kind == SIM_PATH_DEVICE && !strcmp(path, "/dev/udmabuf"))
		*fd = result(sim_udmabuf_open(flags & O_CLOEXEC));
	else
		*fd = result(sim_path_open(&found));
	return true;
}

static mode_t mode_of(int flags, va_list args)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
}

#define OPEN(name)                                        \
	EXPORT int name(const char *path, int flags, ...) \
	{                                                 \
		va_list args;                             \
		mode_t mode;                              \
		int fd;                                   \
		NEXT(name);                               \
                                                          \
		va_start(args, flags);                    \
		mode = mode_of(flags, args);              \
		va_end(args);                             \
		if (open_ours(path, flags, &fd))          \
			return fd;                        \
		return next(path, flags, mode);           \
	}

#define OPENAT(name)                                               \
	EXPORT int name(int dir, const char *path, int flags, ...) \
	{                                                          \
		va_list args;                                      \
		mode_t mode;                                       \
		int fd;                                            \
		NEXT(name);                                        \
                                                                   \
		va_start(args, flags);                             \
		mode = mode_of(flags, args);                       \
		va_end(args);                                      \
		if (open_ours(path, flags, &fd))                   \
			return fd;                                 \
		return next(dir, path, flags, mode);               \
	}

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

/* What <fcntl.h> makes of open() in fortified programs. */
EXPORT int __open_2(const char *path, int flags);
EXPORT int __open64_2(const char *path, int flags);
EXPORT int __openat_2(int dir, const char *path, int flags);
EXPORT int __openat64_2(int dir, const char *path, int flags);

EXPORT int __open_2(const char *path, int flags)
{
	return open(path, flags);
}

EXPORT int __open64_2(const char *path, int flags)
{
	return open(path, flags);
}

EXPORT int __openat_2(int dir, const char *path, int flags)
{
	return openat(dir, path, flags);
}

EXPORT int __openat64_2(int dir, const char *path, int flags)
{
	return openat(dir, path, flags);
}

static FILE *fopen_ours(const char *path, bool *ours)
{
	int fd;

	*ours = open_ours(path, O_RDONLY | O_CLOEXEC, &fd);
	return *ours && fd >= 0 ? fdopen(fd, "r") : NULL;
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
	bool ours;
	FILE *file = fopen_ours(path, &ours);
	NEXT(fopen);

	return ours ? file : next(path, mode);
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
	bool ours;
	FILE *file = fopen_ours(path, &ours);
	NEXT(fopen64);

	return ours ? file : next(path, mode);
}

/* Both kinds of struct stat are one on 64-bit machines. */
static bool stat_ours(const char *path, bool follow, struct stat *st)
{
	char room[64];
	struct sim_path found = sim_path_find(path, room, sizeof(room));

	if (found.kind == SIM_PATH_NONE)
		return false;
	memset(st, 0, sizeof(*st));
	sim_path_stat(&found, &st->st_mode, &st->st_rdev);
	if (follow && found.kind == SIM_PATH_LINK)
		st->st_mode = S_IFDIR | 0755;
	st->st_nlink = 1;
	return true;
}

static void fstat_ours(int fd, struct stat *st)
{
	struct sim_file *file = sim_fd_find(fd);

	if (!file || (file->kind != SIM_FILE_NODE && file->kind != SIM_FILE_UDMABUF))
		return;
	st->st_mode = S_IFCHR | 0666;
	st->st_rdev = file->kind == SIM_FILE_NODE ? makedev(226, 128) : makedev(10, 125);
	st->st_size = 0;
}

#define STAT(name, type, follow)                                                        \
	EXPORT int name(const char *path, type *st)                                     \
	{                                                                               \
		NEXT(name);                                                             \
                                                                                        \
		return stat_ours(path, follow, (struct stat *)st) ? 0 : next(path, st); \
	}

#define FSTAT(name, type)                                  \
	EXPORT int name(int fd, type *st)                  \
	{                                                  \
		int error;                                 \
		NEXT(name);                                \
                                                           \
		error = next(fd, st);                      \
		if (!error)                                \
			fstat_ours(fd, (struct stat *)st); \
		return error;                              \
	}

#define FSTATAT(name, type)                                                             \
	EXPORT int name(int fd, const char *path, type *st, int flags)                  \
	{                                                                               \
		int error;                                                              \
		NEXT(name);                                                             \
                                                                                        \
		if (stat_ours(path, !(flags & AT_SYMLINK_NOFOLLOW), (struct stat *)st)) \
			return 0;                                                       \
		error = next(fd, path, st, flags);                                      \
		if (!error && (flags & AT_EMPTY_PATH) && !*path)                        \
			fstat_ours(fd, (struct stat *)st);                              \
		return error;                                                           \
	}

STAT(stat, struct stat, true)
STAT(stat64, struct stat64, true)
STAT(lstat, struct stat, false)
STAT(lstat64, struct stat64, false)
FSTAT(fstat, struct stat)
FSTAT(fstat64, struct stat64)
FSTATAT(fstatat, struct stat)
FSTATAT(fstatat64, struct stat64)

static bool access_ours(const char *path, int mode, int *error)
{
	char room[64];
	struct sim_path found = sim_path_find(path, room, sizeof(room));

	if (found.kind == SIM_PATH_NONE)
		return false;
	*error = mode & X_OK || (mode & W_OK && found.kind == SIM_PATH_TEXT) ? result(-EACCES) : 0;
	return true;
}

EXPORT int access(const char *path, int mode)
{
	int error;
	NEXT(access);

	return access_ours(path, mode, &error) ? error : next(path, mode);
}

EXPORT int faccessat(int dir, const char *path, int mode, int flags)
{
	int error;
	NEXT(faccessat);

	return access_ours(path, mode, &error) ? error : next(dir, path, mode, flags);
}

EXPORT ssize_t readlink(const char *path, char *to, size_t size)
{
	char room[64];
	struct sim_path found = sim_path_find(path, room, sizeof(room));
	size_t n;
	NEXT(readlink);

	if (found.kind == SIM_PATH_NONE)
		return next(path, to, size);
	if (found.kind != SIM_PATH_LINK)
		return result(-EINVAL);
	n = strlen(found.text);
	n = n < size ? n : size;
	memcpy(to, found.text, n);
	return (ssize_t)n;
}

EXPORT ssize_t __readlink_chk(const char *path, char *to, size_t size, size_t room);

EXPORT ssize_t __readlink_chk(const char *path, char *to, size_t size, size_t room)
{
	return readlink(path, to, size < room ? size : room);
}

/* Where a path of ours leads: links of sysfs are resolved by name. */
static const char *real_path(const char *path)
{
	char room[64];
	struct sim_path found = sim_path_find(path, room, sizeof(room));

	if (found.kind == SIM_PATH_NONE)
		return NULL;
	if (strstr(path, "/sys/dev/char/226:") == path && strlen(path) >= 7 &&
	    !strcmp(path + strlen(path) - 7, "/device"))
		return "/sys/devices/pci0000:00/0000:03:00.0";
	return path;
}

EXPORT char *realpath(const char *path, char *to)
{
	const char *ours = real_path(path);
	NEXT(realpath);

	if (!ours)
		return next(path, to);
	return to ? strcpy(to, ours) : strdup(ours);
}

EXPORT char *__realpath_chk(const char *path, char *to, size_t room);

EXPORT char *__realpath_chk(const char *path, char *to, size_t room)
{
	return realpath(path, to);
}

/* Directories of ours, open: in a list, since a DIR does not say whose it is. */
struct our_dir {
	struct our_dir *next;
	char names[256];
	const char *at;
	struct dirent entry; /* as struct stat: one with struct dirent64 on 64-bit machines */
};
_Static_assert(sizeof(struct dirent) == sizeof(struct dirent64), "entries of directories are of two kinds");

static struct our_dir *dirs;
static pthread_mutex_t dirs_lock = PTHREAD_MUTEX_INITIALIZER;

EXPORT DIR *opendir(const char *path)
{
	char room[64];
	struct sim_path found = sim_path_find(path, room, sizeof(room));
	struct our_dir *dir;
	NEXT(opendir);

	if (found.kind == SIM_PATH_NONE)
		return next(path);
	if (found.kind != SIM_PATH_DIR) {
		errno = ENOTDIR;
		return NULL;
	}
	dir = calloc(1, sizeof(*dir));
	if (!dir)
		return NULL;
	strncpy(dir->names, found.text, sizeof(dir->names) - 1);
	dir->at = dir->names;
	pthread_mutex_lock(&dirs_lock);
	dir->next = dirs;
	dirs = dir;
	pthread_mutex_unlock(&dirs_lock);
	return (DIR *)dir;
}

static struct our_dir *find_dir(const DIR *stream, bool take)
{
	struct our_dir *found = NULL;

	pthread_mutex_lock(&dirs_lock);
	for (struct our_dir **at = &dirs; *at; at = &(*at)->next)
		if ((DIR *)*at == stream) {
			found = *at;
			if (take)
				*at = found->next;
			break;
		}
	pthread_mutex_unlock(&dirs_lock);
	return found;
}

/* Return: the next entry, or NULL at the end. */
static struct dirent *next_entry(struct our_dir *dir)
{
	size_t n = strcspn(dir->at, "\n");

	if (!*dir->at)
		return NULL;
	memset(&dir->entry, 0, sizeof(dir->entry));
	dir->entry.d_ino = 1;
	memcpy(dir->entry.d_name, dir->at, n);
	dir->at += n + (dir->at[n] == '\n');
	return &dir->entry;
}

#define READDIR(name, type)                                          \
	EXPORT type *name(DIR *stream)                               \
	{                                                            \
		struct our_dir *dir = find_dir(stream, false);       \
		NEXT(name);                                          \
                                                                     \
		return dir ? (type *)next_entry(dir) : next(stream); \
	}

READDIR(readdir, struct dirent)
READDIR(readdir64, struct dirent64)

EXPORT int closedir(DIR *stream)
{
	struct our_dir *dir = find_dir(stream, true);
	NEXT(closedir);

	if (!dir)
		return next(stream);
	free(dir);
	return 0;
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	struct sim_file *file = sim_fd_find(fd);
	va_list args;
	void *arg;
	NEXT(ioctl);

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (!file)
		return next(fd, request, arg);
	if (forked)
		return result(-ENODEV);
	/* A filter of system calls is to judge it as it would with a card. The file itself knows no such call. */
	if (syscall(SYS_ioctl, fd, request, arg) && errno != ENOTTY && errno != EINVAL)
		return -1;
	switch (file->kind) {
	case SIM_FILE_NODE:
		return result(sim_node_ioctl(file->object, request, arg));
	case SIM_FILE_UDMABUF:
		return result(sim_udmabuf_ioctl(request, arg));
	default:
		sim_say("ioctl %#lx of a descriptor of ours is not modelled", request);
		return result(-ENOTTY);
	}
}

static void *mmap_ours(int fd, void *at, size_t size, int prot, int flags, off_t offset, bool *ours)
{
	struct sim_file *file = flags & MAP_ANONYMOUS ? NULL : sim_fd_find(fd);

	*ours = file && file->kind == SIM_FILE_DMABUF;
	return *ours ? sim_bo_mmap(file->object, at, size, prot, flags, (uint64_t)offset) : NULL;
}

EXPORT void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	bool ours;
	void *to = mmap_ours(fd, at, size, prot, flags, offset, &ours);
	NEXT(mmap);

	return ours ? to : next(at, size, prot, flags, fd, offset);
}

EXPORT void *mmap64(void *at, size_t size, int prot, int flags, int fd, off64_t offset)
{
	bool ours;
	void *to = mmap_ours(fd, at, size, prot, flags, offset, &ours);
	NEXT(mmap64);

	return ours ? to : next(at, size, prot, flags, fd, offset);
}

void *sim_real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, at, size, prot, flags, fd, offset);
}

int sim_real_munmap(void *at, size_t size)
{
	return (int)syscall(SYS_munmap, at, size);
}

EXPORT int munmap(void *at, size_t size)
{
	NEXT(munmap);

	/* As the driver's notifier: jobs that use a user's pages end before the pages go. */
	if (__atomic_load_n(&sim.user_bos, __ATOMIC_ACQUIRE) && !forked)
		sim_user_unmap((uintptr_t)at, size);
	return next(at, size);
}

static bool lseek_ours(int fd, off_t offset, int whence, off_t *to)
{
	struct sim_file *file = sim_fd_find(fd);

	if (!file || file->kind != SIM_FILE_DMABUF)
		return false;
	/* dma_buf_llseek(): only to the ends. */
	if (offset || (whence != SEEK_SET && whence != SEEK_END)) {
		*to = result(-EINVAL);
		return true;
	}
	*to = whence == SEEK_END ? (off_t)((struct sim_bo *)file->object)->size : 0;
	return true;
}

EXPORT off_t lseek(int fd, off_t offset, int whence)
{
	off_t to;
	NEXT(lseek);

	return lseek_ours(fd, offset, whence, &to) ? to : next(fd, offset, whence);
}

EXPORT off64_t lseek64(int fd, off64_t offset, int whence)
{
	off_t to;
	NEXT(lseek64);

	return lseek_ours(fd, offset, whence, &to) ? to : next(fd, offset, whence);
}

EXPORT int dup(int fd)
{
	int to;
	NEXT(dup);

	to = next(fd);
	sim_fd_dup(fd, to);
	return to;
}

EXPORT int dup2(int fd, int to)
{
	NEXT(dup2);

	if (fd != to) {
		sim_fd_close(to);
		to = next(fd, to);
		sim_fd_dup(fd, to);
		return to;
	}
	return next(fd, to);
}

EXPORT int dup3(int fd, int to, int flags)
{
	NEXT(dup3);

	if (fd != to)
		sim_fd_close(to);
	to = next(fd, to, flags);
	sim_fd_dup(fd, to);
	return to;
}

static int after_fcntl(int fd, int command, int value)
{
	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
		sim_fd_dup(fd, value);
	return value;
}

EXPORT int fcntl(int fd, int command, ...)
{
	va_list args;
	void *arg;
	NEXT(fcntl);

	va_start(args, command);
	arg = va_arg(args, void *);
	va_end(args);
	return after_fcntl(fd, command, next(fd, command, arg));
}

EXPORT int fcntl64(int fd, int command, ...)
{
	va_list args;
	void *arg;
	NEXT(fcntl64);

	va_start(args, command);
	arg = va_arg(args, void *);
	va_end(args);
	return after_fcntl(fd, command, next(fd, command, arg));
}

EXPORT int close(int fd)
{
	NEXT(close);

	if (!forked)
		sim_fd_close(fd);
	return next(fd);
}
