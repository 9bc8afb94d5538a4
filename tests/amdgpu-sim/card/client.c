/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * client.c - open nodes: which ioctls there are and who answers them, by drm_ioctl.c.
 *
 * Arguments are copied in, with zeroes behind what a caller knows of, and copied out, as the kernel does it. All run with
 * the lock, which is let go only where one waits. The card comes into being with the first open node, and with it all
 * threads and files that it will ever need, so that a process can lock itself in afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <linux/capability.h>
#include <unistd.h>
#include "card.h"
#include "shim/shim.h"

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

struct sim sim = { .lock = PTHREAD_MUTEX_INITIALIZER, .file = -1, .maps = -1 };

static int version(struct sim_client *client, void *arg);
static int get_cap(struct sim_client *client, void *arg);
static int vm(struct sim_client *client, void *arg);
static int refuse(struct sim_client *client, void *arg);

struct ioctl_row {
	unsigned int nr;
	size_t size; /* of the argument, as the kernel knows it */
	int (*one)(struct sim_client *client, void *arg);
	int (*of_kind)(struct sim_client *client, unsigned int nr, void *arg);
};

#define CORE(request, type, run)  { _IOC_NR(request), sizeof(type), run, NULL }
#define KIND(request, type, run)  { _IOC_NR(request), sizeof(type), NULL, run }
#define AMDGPU(number, type, run) { DRM_COMMAND_BASE + (number), sizeof(type), run, NULL }
#define AMDGPU_GEM(number, type)  { DRM_COMMAND_BASE + (number), sizeof(type), NULL, sim_gem_ioctl }
#define SYNCOBJ(request, type)	  KIND(request, type, sim_syncobj_ioctl)
#define SYNCOBJ_EVENTFD_NR	  0xcf

static const struct ioctl_row rows[] = {
	CORE(DRM_IOCTL_VERSION, struct drm_version, version),
	CORE(DRM_IOCTL_GET_CAP, struct drm_get_cap, get_cap),
	/* Those of a master, which nobody is on a render node. */
	CORE(DRM_IOCTL_GET_UNIQUE, struct drm_unique, refuse),
	CORE(DRM_IOCTL_GET_MAGIC, struct drm_auth, refuse),
	CORE(DRM_IOCTL_GET_CLIENT, struct drm_client, refuse),
	CORE(DRM_IOCTL_SET_VERSION, struct drm_set_version, refuse),
	CORE(DRM_IOCTL_SET_CLIENT_CAP, struct drm_set_client_cap, refuse),
	CORE(DRM_IOCTL_AUTH_MAGIC, struct drm_auth, refuse),
	KIND(DRM_IOCTL_GEM_CLOSE, struct drm_gem_close, sim_gem_ioctl),
	KIND(DRM_IOCTL_PRIME_HANDLE_TO_FD, struct drm_prime_handle, sim_prime_ioctl),
	KIND(DRM_IOCTL_PRIME_FD_TO_HANDLE, struct drm_prime_handle, sim_prime_ioctl),
	SYNCOBJ(DRM_IOCTL_SYNCOBJ_CREATE, struct drm_syncobj_create),
	SYNCOBJ(DRM_IOCTL_SYNCOBJ_DESTROY, struct drm_syncobj_destroy),
	SYNCOBJ(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, struct drm_syncobj_handle),
	SYNCOBJ(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, struct drm_syncobj_handle),
	SYNCOBJ(DRM_IOCTL_SYNCOBJ_WAIT, struct drm_syncobj_wait),
	SYNCOBJ(DRM_IOCTL_SYNCOBJ_RESET, struct drm_syncobj_array),
	SYNCOBJ(DRM_IOCTL_SYNCOBJ_SIGNAL, struct drm_syncobj_array),
	SYNCOBJ(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, struct drm_syncobj_timeline_wait),
	SYNCOBJ(DRM_IOCTL_SYNCOBJ_QUERY, struct drm_syncobj_timeline_array),
	SYNCOBJ(DRM_IOCTL_SYNCOBJ_TRANSFER, struct drm_syncobj_transfer),
	SYNCOBJ(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, struct drm_syncobj_timeline_array),
	{ SYNCOBJ_EVENTFD_NR, 24, NULL, sim_syncobj_ioctl },
	AMDGPU_GEM(DRM_AMDGPU_GEM_CREATE, union drm_amdgpu_gem_create),
	AMDGPU_GEM(DRM_AMDGPU_GEM_MMAP, union drm_amdgpu_gem_mmap),
	AMDGPU_GEM(DRM_AMDGPU_GEM_METADATA, struct drm_amdgpu_gem_metadata),
	AMDGPU_GEM(DRM_AMDGPU_GEM_WAIT_IDLE, union drm_amdgpu_gem_wait_idle),
	AMDGPU_GEM(DRM_AMDGPU_GEM_OP, struct drm_amdgpu_gem_op),
	AMDGPU_GEM(DRM_AMDGPU_GEM_USERPTR, struct drm_amdgpu_gem_userptr),
	AMDGPU(DRM_AMDGPU_CTX, union drm_amdgpu_ctx, sim_ctx_ioctl),
	AMDGPU(DRM_AMDGPU_BO_LIST, union drm_amdgpu_bo_list, sim_list_ioctl),
	AMDGPU(DRM_AMDGPU_CS, union drm_amdgpu_cs, sim_cs_ioctl),
	AMDGPU(DRM_AMDGPU_INFO, struct drm_amdgpu_info, sim_info_ioctl),
	AMDGPU(DRM_AMDGPU_GEM_VA, struct drm_amdgpu_gem_va, sim_va_ioctl),
	AMDGPU(DRM_AMDGPU_WAIT_CS, union drm_amdgpu_wait_cs, sim_wait_cs_ioctl),
	AMDGPU(DRM_AMDGPU_WAIT_FENCES, union drm_amdgpu_wait_fences, sim_wait_fences_ioctl),
	AMDGPU(DRM_AMDGPU_VM, union drm_amdgpu_vm, vm),
	AMDGPU(DRM_AMDGPU_FENCE_TO_HANDLE, union drm_amdgpu_fence_to_handle, sim_fence_to_handle_ioctl),
	AMDGPU(DRM_AMDGPU_SCHED, union drm_amdgpu_sched, sim_sched_ioctl),
};

static int refuse(struct sim_client *client, void *arg)
{
	return -EACCES;
}

static void give(char *to, size_t *length, const char *text)
{
	size_t n = strlen(text);

	if (to && *length)
		memcpy(to, text, *length < n ? *length : n);
	*length = n;
}

static int version(struct sim_client *client, void *arg)
{
	struct drm_version *v = arg;
	size_t name = v->name_len, date = v->date_len, desc = v->desc_len;

	v->version_major = 3;
	v->version_minor = (int)sim.options.minor;
	v->version_patchlevel = 0;
	give(v->name, &name, sim.options.driver);
	give(v->date, &date, "20150101");
	give(v->desc, &desc, "AMD GPU (simulated)");
	v->name_len = name;
	v->date_len = date;
	v->desc_len = desc;
	return 0;
}

static int get_cap(struct sim_client *client, void *arg)
{
	struct drm_get_cap *cap = arg;

	switch (cap->capability) {
	case DRM_CAP_PRIME:
		cap->value = DRM_PRIME_CAP_IMPORT | DRM_PRIME_CAP_EXPORT;
		return 0;
	case DRM_CAP_TIMESTAMP_MONOTONIC:
	case DRM_CAP_SYNCOBJ:
	case DRM_CAP_SYNCOBJ_TIMELINE:
		cap->value = 1;
		return 0;
	default:
		return -EOPNOTSUPP; /* a card without displays */
	}
}

static int vm(struct sim_client *client, void *arg)
{
	union drm_amdgpu_vm *args = arg;

	if (args->in.flags)
		return -EINVAL;
	switch (args->in.op) {
	case AMDGPU_VM_OP_RESERVE_VMID:
		client->vm.reserved_vmid = true;
		return 0;
	case AMDGPU_VM_OP_UNRESERVE_VMID:
		client->vm.reserved_vmid = false;
		return 0;
	default:
		return -EINVAL;
	}
}

int sim_node_ioctl(struct sim_client *client, unsigned long request, void *arg)
{
	uint64_t room[64] = { 0 };
	size_t given = _IOC_SIZE(request), size;
	unsigned int nr = _IOC_NR(request);
	const struct ioctl_row *row = NULL;
	int error;

	if (_IOC_TYPE(request) != DRM_IOCTL_BASE)
		return -ENOTTY;
	if (sim.unplugged)
		return -ENODEV;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (rows[i].nr == nr)
			row = &rows[i];
	if (!row) {
		sim_say("ioctl %#x is not one of the card's, or not modelled", nr);
		return -EINVAL;
	}
	size = given < row->size ? given : row->size;
	if (_IOC_DIR(request) & _IOC_WRITE)
		memcpy(room, arg, size);
	pthread_mutex_lock(&sim.lock);
	error = sim_injected(nr);
	if (!error)
		error = row->one ? row->one(client, room) : row->of_kind(client, nr, room);
	pthread_mutex_unlock(&sim.lock);
	if (_IOC_DIR(request) & _IOC_READ)
		memcpy(arg, room, size);
	return error;
}

static bool may_raise(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &header, data))
		return false;
	return data[0].effective >> CAP_SYS_NICE & 1;
}

static int start(void)
{
	static struct sim_chip smaller;
	pthread_condattr_t attr;
	uint64_t vram, gtt;
	int error;

	if (sim.started)
		return 0;
	sim_options_read();
	sim.chip = sim_chip_find(sim.options.generation);
	if (!sim.chip) {
		sim_say("there is no generation '%s' here", sim.options.generation);
		return -ENODEV;
	}
	if (sim.options.units && sim.options.units < sim.chip->units) {
		smaller = *sim.chip;
		smaller.units = (uint32_t)sim.options.units;
		sim.chip = &smaller;
	}
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&sim.changed, &attr);
	vram = sim.options.vram ? sim.options.vram : (uint64_t)sim.chip->vram_mib << 20;
	gtt = sim.options.gtt ? sim.options.gtt : 16ull << 30;
	sim_records_open();
	sim.maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	error = sim_memory_start(vram, gtt);
	if (!error)
		error = sim_ring_start();
	if (!error)
		error = sim_listen();
	sim.started = !error;
	return error;
}

int sim_node_open(bool cloexec)
{
	struct sim_client *client;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	/* Whoever cannot open a file any more cannot open this one. */
	if (fd < 0)
		return -errno;
	close(fd);
	client = calloc(1, sizeof(*client));
	if (!client)
		return -ENOMEM;
	pthread_mutex_lock(&sim.lock);
	fd = sim.unplugged ? -ENODEV : sim_injected(SIM_NR_OPEN);
	if (!fd)
		fd = start();
	if (!fd) {
		client->refs = 1;
		client->number = ++sim.clients;
		client->may_raise = may_raise();
		fd = sim_fd_new(SIM_FILE_NODE, client, sim.file, cloexec);
	}
	if (fd < 0)
		free(client);
	pthread_mutex_unlock(&sim.lock);
	return fd;
}

/* What the client named; jobs that it left behind keep the rest until they end. */
static void end(struct sim_client *client)
{
	for (uint32_t i = 1; i <= client->ctxs.size; i++) {
		struct sim_ctx *ctx = sim_idr_remove(&client->ctxs, i);

		if (ctx)
			sim_ctx_put(ctx);
	}
	for (uint32_t i = 1; i <= client->lists.size; i++) {
		struct sim_list *list = sim_idr_remove(&client->lists, i);

		if (list)
			sim_list_free(list);
		free(list);
	}
	for (uint32_t i = 1; i <= client->syncobjs.size; i++) {
		struct sim_syncobj *obj = sim_idr_remove(&client->syncobjs, i);

		if (obj)
			sim_syncobj_put(obj);
	}
	sim_client_put(client);
}

void sim_client_put(struct sim_client *client)
{
	if (--client->refs)
		return;
	sim_vm_end(&client->vm);
	for (uint32_t i = 1; i <= client->bos.size; i++) {
		struct sim_bo *bo = sim_idr_remove(&client->bos, i);

		if (bo)
			sim_bo_put(bo);
	}
	for (size_t i = 0; i < SIM_RINGS; i++)
		if (sim.exec[i] && sim.exec[i]->client == client)
			sim.exec[i]->client = NULL;
	sim_machine_free(client->machine);
	free(client->bos.slots);
	free(client->ctxs.slots);
	free(client->lists.slots);
	free(client->syncobjs.slots);
	free(client);
}

void sim_file_release(struct sim_file *file)
{
	pthread_mutex_lock(&sim.lock);
	switch (file->kind) {
	case SIM_FILE_NODE:
		end(file->object);
		break;
	case SIM_FILE_DMABUF:
		sim_bo_put(file->object);
		break;
	case SIM_FILE_SYNCOBJ:
		sim_syncobj_put(file->object);
		break;
	case SIM_FILE_SYNC:
		sim_fence_put(file->object);
		break;
	case SIM_FILE_UDMABUF:
		break;
	}
	pthread_mutex_unlock(&sim.lock);
}

const char *sim_node_name(void)
{
	sim_options_read();
	return sim.options.node;
}

bool sim_is_node(const char *path)
{
	return path && !strcmp(path, sim_node_name());
}

int sim_card_fd(void)
{
	return sim.file;
}

void sim_card_ids(uint32_t *device, uint32_t *revision)
{
	const struct sim_chip *chip;

	sim_options_read();
	chip = sim.chip ? sim.chip : sim_chip_find(sim.options.generation);
	*device = chip ? chip->device_id : 0;
	*revision = chip ? chip->pci_rev : 0;
}
