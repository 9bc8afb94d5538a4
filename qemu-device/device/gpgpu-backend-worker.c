/*
 * gpgpu-backend-worker: how backends of all kinds reach their gpgpu-worker
 *
 * How it works: three ways lead to a gpgpu-worker. By default one is started,
 * with a socket as descriptor 3. With path= or fd= it was started by somebody
 * else, which is what a QEMU that may not start processes needs. What the worker
 * is to run on, a subclass says, in arguments to the one that is started.
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

#define WORKER_PROGRAM  "gpgpu-worker"
#define WORKER_FD       3

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
static char *find_worker(GpgpuBackendWorker *self, Error **errp)
{
    g_autofree char *exe = NULL;
    g_autofree char *dir = NULL;
    g_autofree char *beside = NULL;
    g_autofree char *helper = NULL;

    if (self->worker) {
        if (access(self->worker, X_OK) < 0) {
            error_setg_errno(errp, errno, "property 'worker': cannot run '%s'",
                             self->worker);
            return NULL;
        }
        return g_strdup(self->worker);
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

static int dial_spawn(GpgpuBackendWorker *self, pid_t *pid, Error **errp)
{
    g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
    char *worker;
    int fds[2], ret;

    if (sandbox_denies_spawn()) {
        error_setg(errp, "-sandbox spawn=deny keeps QEMU from starting "
                   WORKER_PROGRAM ": start it before QEMU and set property "
                   "'path' or 'fd' of %s",
                   object_get_typename(OBJECT(self)));
        return -1;
    }
    worker = find_worker(self, errp);
    if (!worker) {
        return -1;
    }
    g_ptr_array_add(argv, worker);
    g_ptr_array_add(argv, g_strdup_printf("--fd=%d", WORKER_FD));
    if (GPGPU_BACKEND_WORKER_GET_CLASS(self)->add_arguments) {
        GPGPU_BACKEND_WORKER_GET_CLASS(self)->add_arguments(self, argv);
    }
    if (self->jit) {
        g_ptr_array_add(argv, g_strdup_printf("--jit=%s", self->jit));
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

static int dial_path(GpgpuBackendWorker *self, Error **errp)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    int fd;

    if (strlen(self->path) >= sizeof(addr.sun_path)) {
        error_setg(errp, "property 'path': longer than %zu bytes",
                   sizeof(addr.sun_path) - 1);
        return -1;
    }
    pstrcpy(addr.sun_path, sizeof(addr.sun_path), self->path);
    fd = qemu_socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (fd < 0) {
        error_setg_errno(errp, errno, "cannot make a socket");
        return -1;
    }
    /* not blocking: a listener with a full backlog must not stop the VM */
    if (!g_unix_set_fd_nonblocking(fd, true, NULL) ||
        connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
        error_setg_errno(errp, errno, "property 'path': no " WORKER_PROGRAM
                         " answers at '%s'", self->path);
        close(fd);
        return -1;
    }
    return fd;
}

static bool take_passed_fd(GpgpuBackendWorker *self, Error **errp)
{
    ERRP_GUARD();
    int type = 0;
    socklen_t len = sizeof(type);

    if (g_str_has_prefix(self->fd_name, "/dev/fdset/")) {
        self->passed_fd = qemu_open(self->fd_name, O_RDWR, errp);
    } else {
        self->passed_fd = monitor_fd_param(monitor_cur(), self->fd_name, errp);
    }
    if (self->passed_fd < 0) {
        error_prepend(errp, "property 'fd': ");
        return false;
    }
    if (getsockopt(self->passed_fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
        type != SOCK_SEQPACKET) {
        error_setg(errp, "property 'fd': '%s' is not a SOCK_SEQPACKET socket",
                   self->fd_name);
        return false;
    }
    qemu_set_cloexec(self->passed_fd);
    return true;
}

/* The class -----------------------------------------------------------------*/

static bool gpgpu_backend_worker_init(GpgpuBackend *backend, Error **errp)
{
    GpgpuBackendWorker *self = GPGPU_BACKEND_WORKER(backend);
    GpgpuBackendWorkerClass *wc = GPGPU_BACKEND_WORKER_GET_CLASS(self);

    if (self->path && self->fd_name) {
        error_setg(errp, "properties 'path' and 'fd' exclude each other");
        return false;
    }
    if (self->path || self->fd_name) {
        const char *other = self->worker ? "worker" : self->jit ? "jit" : NULL;

        if (!other && wc->set_property) {
            other = wc->set_property(self);
        }
        if (other) {
            error_setg(errp, "property '%s' is for a worker that QEMU starts; "
                       "with '%s' it runs already", other,
                       self->path ? "path" : "fd");
            return false;
        }
    }
    if (wc->check && !wc->check(self, errp)) {
        return false;
    }
    /* who made a socket that was passed says nothing about who has it */
    backend->peer_listens = self->path;
    return !self->fd_name || take_passed_fd(self, errp);
}

static int gpgpu_backend_worker_dial(GpgpuBackend *backend, pid_t *pid,
                                  Error **errp)
{
    GpgpuBackendWorker *self = GPGPU_BACKEND_WORKER(backend);
    int fd;

    if (self->path) {
        return dial_path(self, errp);
    }
    if (self->fd_name) {
        fd = self->passed_fd;
        self->passed_fd = -1;
        if (fd < 0) {
            error_setg(errp, "property 'fd': the worker behind it is gone");
        }
        return fd;
    }
    return dial_spawn(self, pid, errp);
}

static bool gpgpu_backend_worker_can_redial(GpgpuBackend *backend)
{
    return !GPGPU_BACKEND_WORKER(backend)->fd_name;
}

bool gpgpu_backend_worker_may_set(Object *obj, const char *name, Error **errp)
{
    if (GPGPU_BACKEND(obj)->state == GPGPU_BACKEND_CLOSED) {
        return true;
    }
    error_setg(errp, "property '%s' cannot be changed any more", name);
    return false;
}

/* String properties: QOM has no shorthand for them without class data */
#define STRING_PROPERTY(field, name)                                        \
static char *worker_get_##field(Object *obj, Error **errp)                     \
{                                                                           \
    return g_strdup(GPGPU_BACKEND_WORKER(obj)->field);                         \
}                                                                           \
                                                                            \
static void worker_set_##field(Object *obj, const char *value, Error **errp)   \
{                                                                           \
    GpgpuBackendWorker *self = GPGPU_BACKEND_WORKER(obj);                          \
                                                                            \
    if (!gpgpu_backend_worker_may_set(obj, name, errp)) {                   \
        return;                                                             \
    }                                                                       \
    g_free(self->field);                                                     \
    self->field = g_strdup(value);                                           \
}
STRING_PROPERTY(worker, "worker")
STRING_PROPERTY(jit, "jit")
STRING_PROPERTY(path, "path")
STRING_PROPERTY(fd_name, "fd")

static void gpgpu_backend_worker_instance_init(Object *obj)
{
    GPGPU_BACKEND_WORKER(obj)->passed_fd = -1;
}

static void gpgpu_backend_worker_finalize(Object *obj)
{
    GpgpuBackendWorker *self = GPGPU_BACKEND_WORKER(obj);

    if (self->passed_fd >= 0) {
        qemu_close(self->passed_fd);
    }
    g_free(self->worker);
    g_free(self->jit);
    g_free(self->path);
    g_free(self->fd_name);
}

static void gpgpu_backend_worker_class_init(ObjectClass *oc, void *data)
{
    GpgpuBackendClass *bc = GPGPU_BACKEND_CLASS(oc);

    bc->init = gpgpu_backend_worker_init;
    bc->dial = gpgpu_backend_worker_dial;
    bc->can_redial = gpgpu_backend_worker_can_redial;

    object_class_property_add_str(oc, "worker", worker_get_worker, worker_set_worker);
    object_class_property_set_description(oc, "worker",
        "path of the " WORKER_PROGRAM " program to start");
    object_class_property_add_str(oc, "jit", worker_get_jit, worker_set_jit);
    object_class_property_set_description(oc, "jit",
        "path of the gpgpu-jit program that the worker starts");
    object_class_property_add_str(oc, "path", worker_get_path, worker_set_path);
    object_class_property_set_description(oc, "path",
        "UNIX socket of a worker that runs already");
    object_class_property_add_str(oc, "fd", worker_get_fd_name, worker_set_fd_name);
    object_class_property_set_description(oc, "fd",
        "connected socket to a worker: number, monitor name or /dev/fdset/N");
}

static const TypeInfo gpgpu_backend_worker_info = {
    .name = TYPE_GPGPU_BACKEND_WORKER,
    .parent = TYPE_GPGPU_BACKEND,
    .abstract = true,
    .instance_size = sizeof(GpgpuBackendWorker),
    .class_size = sizeof(GpgpuBackendWorkerClass),
    .instance_init = gpgpu_backend_worker_instance_init,
    .instance_finalize = gpgpu_backend_worker_finalize,
    .class_init = gpgpu_backend_worker_class_init,
};

static void gpgpu_backend_worker_register_types(void)
{
    type_register_static(&gpgpu_backend_worker_info);
}

type_init(gpgpu_backend_worker_register_types)
