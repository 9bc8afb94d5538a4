/*
 * gpgpu-backend-cpu: run the work of virtio-gpgpu devices on host CPUs
 *
 * How it works: three ways lead to a gpgpu-worker. By default one is started,
 * with a socket as descriptor 3. With path= or fd= it was started by somebody
 * else, which is what a QEMU that may not start processes needs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "monitor/monitor.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/config-file.h"
#include "qemu/cutils.h"
#include "qemu/option.h"
#include "qemu/option_int.h"
#include "qemu/sockets.h"
#include "gpgpu-backend.h"
#include "trace.h"

OBJECT_DECLARE_SIMPLE_TYPE(GpgpuBackendCpu, GPGPU_BACKEND_CPU)

#define WORKER_PROGRAM  "gpgpu-worker"
#define WORKER_FD       3
#define THREADS_MAX     256

struct GpgpuBackendCpu {
    GpgpuBackend parent_obj;

    uint32_t threads;           /* 0: one per host CPU */
    char *worker;
    char *jit;
    char *path;
    char *fd_name;
    int passed_fd;              /* from fd=, until the first dial; or -1 */
};

/* Starting a worker ---------------------------------------------------------*/

/* Would the sandbox kill QEMU for starting a process? */
static bool sandbox_denies_spawn(void)
{
    QemuOptsList *list = qemu_find_opts_err("sandbox", NULL);
    QemuOpts *opts;

    if (!list) {
        return false;
    }
    QTAILQ_FOREACH(opts, &list->head, next) {
        if (qemu_opt_get_bool(opts, "enable", false) &&
            !g_strcmp0(qemu_opt_get(opts, "spawn"), "deny")) {
            return true;
        }
    }
    return false;
}

/* The worker's path: as given, beside QEMU, or where it is installed. */
static char *find_worker(GpgpuBackendCpu *cpu, Error **errp)
{
    g_autofree char *exe = NULL;
    g_autofree char *dir = NULL;
    g_autofree char *beside = NULL;
    g_autofree char *helper = NULL;

    if (cpu->worker) {
        if (access(cpu->worker, X_OK) < 0) {
            error_setg_errno(errp, errno, "property 'worker': cannot run '%s'",
                             cpu->worker);
            return NULL;
        }
        return g_strdup(cpu->worker);
    }
    exe = g_file_read_link("/proc/self/exe", NULL);
    dir = g_path_get_dirname(exe ?: CONFIG_BINDIR "/qemu");
    beside = g_build_filename(dir, WORKER_PROGRAM, NULL);
    if (access(beside, X_OK) == 0) {
        return g_steal_pointer(&beside);
    }
    helper = get_relocated_path(CONFIG_QEMU_HELPERDIR "/gpgpu/" WORKER_PROGRAM);
    if (access(helper, X_OK) == 0) {
        return g_steal_pointer(&helper);
    }
    error_setg(errp, "no " WORKER_PROGRAM " at '%s' or '%s': set property "
               "'worker' to its path", beside, helper);
    return NULL;
}

/*
 * Start @argv with @child_fd as WORKER_FD and signals as a shell would leave
 * them. Standard input and output may be a monitor's, so it gets neither; and
 * none of what QEMU inherited or opened without O_CLOEXEC: the worker is
 * trusted with nothing but its connection.
 */
static int spawn(char **argv, int child_fd, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, all;
    int ret;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, child_fd, WORKER_FD);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                     O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&actions, WORKER_FD + 1);
#endif
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK |
                             POSIX_SPAWN_SETSIGDEF);
    ret = posix_spawn(pid, argv[0], &actions, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return ret;
}

static int dial_spawn(GpgpuBackendCpu *cpu, pid_t *pid, Error **errp)
{
    g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
    char *worker;
    int fds[2], ret;

    if (sandbox_denies_spawn()) {
        error_setg(errp, "-sandbox spawn=deny keeps QEMU from starting "
                   WORKER_PROGRAM ": start it before QEMU and set property "
                   "'path' or 'fd' of " TYPE_GPGPU_BACKEND_CPU);
        return -1;
    }
    worker = find_worker(cpu, errp);
    if (!worker) {
        return -1;
    }
    g_ptr_array_add(argv, worker);
    g_ptr_array_add(argv, g_strdup_printf("--fd=%d", WORKER_FD));
    g_ptr_array_add(argv, g_strdup_printf("--threads=%" PRIu32, cpu->threads));
    if (cpu->jit) {
        g_ptr_array_add(argv, g_strdup_printf("--jit=%s", cpu->jit));
    }
    g_ptr_array_add(argv, NULL);

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0) {
        error_setg_errno(errp, errno, "cannot make a socket pair");
        return -1;
    }
    ret = spawn((char **)argv->pdata, fds[1], pid);
    close(fds[1]);
    if (ret) {
        error_setg_errno(errp, ret, "cannot start '%s'", worker);
        close(fds[0]);
        return -1;
    }
    return fds[0];
}

/* Reaching one that runs ----------------------------------------------------*/

static int dial_path(GpgpuBackendCpu *cpu, Error **errp)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    int fd;

    if (strlen(cpu->path) >= sizeof(addr.sun_path)) {
        error_setg(errp, "property 'path': longer than %zu bytes",
                   sizeof(addr.sun_path) - 1);
        return -1;
    }
    pstrcpy(addr.sun_path, sizeof(addr.sun_path), cpu->path);
    fd = qemu_socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (fd < 0) {
        error_setg_errno(errp, errno, "cannot make a socket");
        return -1;
    }
    /* not blocking: a listener with a full backlog must not stop the VM */
    if (!g_unix_set_fd_nonblocking(fd, true, NULL) ||
        connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
        error_setg_errno(errp, errno, "property 'path': no " WORKER_PROGRAM
                         " answers at '%s'", cpu->path);
        close(fd);
        return -1;
    }
    return fd;
}

static bool take_passed_fd(GpgpuBackendCpu *cpu, Error **errp)
{
    ERRP_GUARD();
    int type = 0;
    socklen_t len = sizeof(type);

    if (g_str_has_prefix(cpu->fd_name, "/dev/fdset/")) {
        cpu->passed_fd = qemu_open(cpu->fd_name, O_RDWR, errp);
    } else {
        cpu->passed_fd = monitor_fd_param(monitor_cur(), cpu->fd_name, errp);
    }
    if (cpu->passed_fd < 0) {
        error_prepend(errp, "property 'fd': ");
        return false;
    }
    if (getsockopt(cpu->passed_fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
        type != SOCK_SEQPACKET) {
        error_setg(errp, "property 'fd': '%s' is not a SOCK_SEQPACKET socket",
                   cpu->fd_name);
        return false;
    }
    qemu_set_cloexec(cpu->passed_fd);
    return true;
}

/* The class -----------------------------------------------------------------*/

static bool gpgpu_backend_cpu_init(GpgpuBackend *backend, Error **errp)
{
    GpgpuBackendCpu *cpu = GPGPU_BACKEND_CPU(backend);

    if (cpu->path && cpu->fd_name) {
        error_setg(errp, "properties 'path' and 'fd' exclude each other");
        return false;
    }
    if (cpu->path || cpu->fd_name) {
        const char *other = cpu->worker ? "worker" : cpu->jit ? "jit" :
                            cpu->threads ? "threads" : NULL;

        if (other) {
            error_setg(errp, "property '%s' is for a worker that QEMU starts; "
                       "with '%s' it runs already", other,
                       cpu->path ? "path" : "fd");
            return false;
        }
    }
    if (cpu->threads > THREADS_MAX) {
        error_setg(errp, "property 'threads': %" PRIu32 " is more than %d",
                   cpu->threads, THREADS_MAX);
        return false;
    }
    /* who made a socket that was passed says nothing about who has it */
    backend->peer_listens = cpu->path;
    return !cpu->fd_name || take_passed_fd(cpu, errp);
}

static int gpgpu_backend_cpu_dial(GpgpuBackend *backend, pid_t *pid,
                                  Error **errp)
{
    GpgpuBackendCpu *cpu = GPGPU_BACKEND_CPU(backend);
    int fd;

    if (cpu->path) {
        return dial_path(cpu, errp);
    }
    if (cpu->fd_name) {
        fd = cpu->passed_fd;
        cpu->passed_fd = -1;
        if (fd < 0) {
            error_setg(errp, "property 'fd': the worker behind it is gone");
        }
        return fd;
    }
    return dial_spawn(cpu, pid, errp);
}

static bool gpgpu_backend_cpu_can_redial(GpgpuBackend *backend)
{
    return !GPGPU_BACKEND_CPU(backend)->fd_name;
}

/* String properties: QOM has no shorthand for them without class data */
#define STRING_PROPERTY(field, name)                                        \
static char *cpu_get_##field(Object *obj, Error **errp)                     \
{                                                                           \
    return g_strdup(GPGPU_BACKEND_CPU(obj)->field);                         \
}                                                                           \
                                                                            \
static void cpu_set_##field(Object *obj, const char *value, Error **errp)   \
{                                                                           \
    GpgpuBackendCpu *cpu = GPGPU_BACKEND_CPU(obj);                          \
                                                                            \
    if (cpu->parent_obj.state != GPGPU_BACKEND_CLOSED) {                    \
        error_setg(errp, "property '" name "' cannot be changed any more"); \
        return;                                                             \
    }                                                                       \
    g_free(cpu->field);                                                     \
    cpu->field = g_strdup(value);                                           \
}
STRING_PROPERTY(worker, "worker")
STRING_PROPERTY(jit, "jit")
STRING_PROPERTY(path, "path")
STRING_PROPERTY(fd_name, "fd")

static void cpu_get_threads(Object *obj, Visitor *v, const char *name,
                            void *opaque, Error **errp)
{
    visit_type_uint32(v, name, &GPGPU_BACKEND_CPU(obj)->threads, errp);
}

static void cpu_set_threads(Object *obj, Visitor *v, const char *name,
                            void *opaque, Error **errp)
{
    GpgpuBackendCpu *cpu = GPGPU_BACKEND_CPU(obj);
    uint32_t threads;

    if (!visit_type_uint32(v, name, &threads, errp)) {
        return;
    }
    if (cpu->parent_obj.state != GPGPU_BACKEND_CLOSED) {
        error_setg(errp, "property 'threads' cannot be changed any more");
        return;
    }
    cpu->threads = threads;
}

static void gpgpu_backend_cpu_instance_init(Object *obj)
{
    GPGPU_BACKEND_CPU(obj)->passed_fd = -1;
}

static void gpgpu_backend_cpu_finalize(Object *obj)
{
    GpgpuBackendCpu *cpu = GPGPU_BACKEND_CPU(obj);

    if (cpu->passed_fd >= 0) {
        qemu_close(cpu->passed_fd);
    }
    g_free(cpu->worker);
    g_free(cpu->jit);
    g_free(cpu->path);
    g_free(cpu->fd_name);
}

static void gpgpu_backend_cpu_class_init(ObjectClass *oc, void *data)
{
    GpgpuBackendClass *bc = GPGPU_BACKEND_CLASS(oc);

    bc->init = gpgpu_backend_cpu_init;
    bc->dial = gpgpu_backend_cpu_dial;
    bc->can_redial = gpgpu_backend_cpu_can_redial;

    object_class_property_add(oc, "threads", "uint32", cpu_get_threads,
                              cpu_set_threads, NULL, NULL);
    object_class_property_set_description(oc, "threads",
        "threads that run the guests' programs; 0: one per host CPU");
    object_class_property_add_str(oc, "worker", cpu_get_worker, cpu_set_worker);
    object_class_property_set_description(oc, "worker",
        "path of the " WORKER_PROGRAM " program to start");
    object_class_property_add_str(oc, "jit", cpu_get_jit, cpu_set_jit);
    object_class_property_set_description(oc, "jit",
        "path of the gpgpu-jit program that the worker starts");
    object_class_property_add_str(oc, "path", cpu_get_path, cpu_set_path);
    object_class_property_set_description(oc, "path",
        "UNIX socket of a worker that runs already");
    object_class_property_add_str(oc, "fd", cpu_get_fd_name, cpu_set_fd_name);
    object_class_property_set_description(oc, "fd",
        "connected socket to a worker: number, monitor name or /dev/fdset/N");
}

static const TypeInfo gpgpu_backend_cpu_info = {
    .name = TYPE_GPGPU_BACKEND_CPU,
    .parent = TYPE_GPGPU_BACKEND,
    .instance_size = sizeof(GpgpuBackendCpu),
    .instance_init = gpgpu_backend_cpu_instance_init,
    .instance_finalize = gpgpu_backend_cpu_finalize,
    .class_init = gpgpu_backend_cpu_class_init,
};

static void gpgpu_backend_cpu_register_types(void)
{
    type_register_static(&gpgpu_backend_cpu_info);
}

type_init(gpgpu_backend_cpu_register_types)
