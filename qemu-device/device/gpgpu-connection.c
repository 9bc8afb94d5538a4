/*
 * The connection between a GPGPU backend and its worker: messages and sessions
 *
 * How it works: messages go out in the caller's context and are answered by an
 * ACK with the same token. What must be finished before the VM may go on
 * (pause, reset, close, the first open) is waited for by polling the socket,
 * with a time limit; everything else is handled as it comes, by the main loop.
 *
 * Invariants: a message is taken apart only here. The worker is not trusted: a
 * message of the wrong size or an unknown type, an acknowledgement out of turn
 * or none in time end the connection (gpgpu_backend_lost()). After that no
 * session is open and the socket is closed.
 *
 * Threads: BQL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "gpgpu-backend.h"
#include "trace.h"

/* Messages handled before other work of the main loop gets its turn */
#define MESSAGES_PER_TURN   64
/* A dead worker needs a moment to become a zombie with an exit status */
#define EXIT_STATUS_WAIT_MS 50
/* Losses of a GPU that the worker survives are told so often */
#define GPU_WARN_MS         10000
/* Time for a killed one to be gone: then it cannot write memory any more */
#define KILL_WAIT_MS        1000

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD        77
#endif

/* Sending -------------------------------------------------------------------*/

static bool connection_send(GpgpuBackend *backend, struct gpgpu_msg *msg,
                            const int *fds, int num_fds, int timeout_ms,
                            Error **errp)
{
    union {
        char buf[CMSG_SPACE(sizeof(int) * 4)];
        struct cmsghdr align;
    } control;
    struct iovec iov = { .iov_base = msg, .iov_len = msg->size };
    struct msghdr hdr = { .msg_iov = &iov, .msg_iovlen = 1 };
    struct pollfd poll_out = { .fd = backend->fd, .events = POLLOUT };
    ssize_t ret;

    if (backend->fd < 0) {
        error_setg(errp, "there is no worker");
        return false;
    }
    if (num_fds) {
        struct cmsghdr *cmsg;

        memset(&control, 0, sizeof(control));
        hdr.msg_control = control.buf;
        hdr.msg_controllen = CMSG_SPACE(sizeof(int) * num_fds);
        cmsg = CMSG_FIRSTHDR(&hdr);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int) * num_fds);
        memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * num_fds);
    }
    do {
        ret = sendmsg(backend->fd, &hdr, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (ret < 0 && errno == EAGAIN && timeout_ms > 0) {
            if (RETRY_ON_EINTR(poll(&poll_out, 1, timeout_ms)) > 0) {
                errno = EINTR;
            }
            timeout_ms = 0;
        }
    } while (ret < 0 && errno == EINTR);
    if (ret < 0) {
        error_setg_errno(errp, errno, "cannot send to the worker");
        return false;
    }
    trace_gpgpu_connection_send(msg->session, msg->type, msg->token);
    return true;
}

static uint32_t connection_token(GpgpuBackend *backend)
{
    /* 0 means none */
    if (!++backend->next_token) {
        backend->next_token = 1;
    }
    return backend->next_token;
}

bool gpgpu_connection_send_open(GpgpuSession *session, Error **errp)
{
    GpgpuBackend *backend = session->backend;
    struct gpgpu_msg_open open = {
        .msg = {
            .type = GPGPU_MSG_OPEN,
            .size = sizeof(open),
            .session = session->id,
            .token = connection_token(backend),
        },
        .shm_size = session->shm_size,
        .ring_size = session->ring.file_size,
        .features = session->features,
        .generation = session->generation,
        .weight = session->quota.weight,
        .cap = session->quota.cap,
        .memory_limit = session->quota.memory_limit,
        .max_contexts = session->max_contexts,
        .max_buffers = session->max_buffers,
        .max_maps = session->max_maps,
        .max_programs = session->max_programs,
        .max_jobs = session->max_jobs,
        .max_insns = session->max_insns,
        .max_batch = session->max_batch,
        .max_stride = session->max_stride,
        .max_buffer = session->max_buffer,
        .max_map = session->max_map,
        .fuel = session->fuel,
    };
    int fds[4] = {
        session->shm_fd,
        session->ring.fd,
        event_notifier_get_fd(&session->kick),
        event_notifier_get_fd(&session->call),
    };

    pstrcpy(open.name, sizeof(open.name), session->name);
    session->open_token = open.msg.token;
    return connection_send(backend, &open.msg, fds, ARRAY_SIZE(fds),
                           GPGPU_ACK_TIMEOUT_MS, errp);
}

/* Receiving -----------------------------------------------------------------*/

static GpgpuSession *connection_session(GpgpuBackend *backend, uint32_t id)
{
    GpgpuSession *session;

    QTAILQ_FOREACH(session, &backend->sessions, next) {
        if (session->id == id) {
            return session;
        }
    }
    return NULL;
}

/* Take over a text of the worker's, for people: it may be anything. */
static void connection_text(char *to, size_t size, const char *from,
                            size_t from_size)
{
    size_t i;

    assert(size >= from_size);
    for (i = 0; i + 1 < from_size && from[i]; i++) {
        to[i] = g_ascii_isprint(from[i]) ? from[i] : '?';
    }
    to[i] = 0;
}

static void connection_ack(GpgpuBackend *backend,
                           const struct gpgpu_msg_ack *ack)
{
    GpgpuSession *session = connection_session(backend, ack->msg.session);
    uint32_t token = ack->msg.token;
    char message[sizeof(ack->message)];

    connection_text(message, sizeof(message), ack->message,
                    sizeof(ack->message));
    if (token && token == backend->wait_token) {
        backend->wait_token = 0;
        backend->wait_error = ack->error;
        pstrcpy(backend->wait_message, sizeof(backend->wait_message), message);
    }
    if (!session || !token) {
        return;
    }
    if (token == session->open_token) {
        session->open_token = 0;
        gpgpu_backend_opened(session, ack->error, message);
    } else if (token == session->quota_token) {
        /* once for each command: the log is not the worker's to fill */
        session->quota_token = 0;
        if (ack->error) {
            warn_report("gpgpu: %s: worker: %s", session->name, message);
        }
    }
}

static void connection_event(GpgpuBackend *backend,
                             const struct gpgpu_msg_event *event)
{
    GpgpuSession *session = connection_session(backend, event->msg.session);

    if (session && session->open) {
        session->ops->event(session->opaque, event->type, event->reason,
                            event->value);
    }
}

/*
 * A GPU was lost. Where that is its end the worker goes away, which tells the
 * devices; else requests were lost, and who has the log is told, now and then:
 * a guest can make that happen as often as it likes.
 */
static void connection_lost(GpgpuBackend *backend,
                            const struct gpgpu_msg_lost *lost)
{
    int64_t now = qemu_clock_get_ms(QEMU_CLOCK_REALTIME);
    char text[sizeof(lost->message)];

    connection_text(text, sizeof(text), lost->message, sizeof(lost->message));
    trace_gpgpu_connection_lost(lost->loss, lost->over, text);
    if (lost->over) {
        g_free(backend->gpu_reason);
        backend->gpu_reason = g_strdup(text);
        backend->gpu_loss = lost->loss;
    } else if (!backend->gpu_warned_ms ||
               now - backend->gpu_warned_ms > GPU_WARN_MS) {
        backend->gpu_warned_ms = now;
        warn_report("gpgpu: %s: %s; what it ran was lost",
                    object_get_canonical_path_component(OBJECT(backend)) ?:
                    "backend", text);
    }
}

static const char *connection_welcome(GpgpuBackend *backend,
                                      const struct gpgpu_msg_welcome *welcome)
{
    GpgpuBackendClass *class = GPGPU_BACKEND_GET_CLASS(backend);

    if (backend->state != GPGPU_BACKEND_GREETING) {
        return "worker sent WELCOME twice";
    }
    if (welcome->magic != GPGPU_CONNECTION_MAGIC ||
        welcome->version != GPGPU_CONNECTION_VERSION) {
        return "worker speaks another version of the protocol";
    }
    connection_text(backend->device, sizeof(backend->device), welcome->device,
                    sizeof(welcome->device));
    if (class->device && !g_str_has_prefix(backend->device, class->device)) {
        return "worker runs on another kind of device";
    }
    backend->threads = welcome->threads;
    backend->worker_pid = welcome->pid;
    gpgpu_backend_welcomed(backend);
    return NULL;
}

/*
 * Handle one message.
 * Returns: 1 if there was one, 0 if there is none, -1 if the worker is gone
 * (gpgpu_backend_lost() has been called).
 */
static int connection_receive(GpgpuBackend *backend)
{
    union {
        struct gpgpu_msg msg;
        struct gpgpu_msg_welcome welcome;
        struct gpgpu_msg_ack ack;
        struct gpgpu_msg_event event;
        struct gpgpu_msg_lost lost;
        char bytes[GPGPU_MSG_MAX];
    } in;
    const char *wrong = NULL;
    ssize_t size;

    if (backend->fd < 0) {
        return -1;
    }
    memset(&in, 0, sizeof(in));
    /* recv, not recvmsg: the kernel drops descriptors that come along */
    size = RETRY_ON_EINTR(recv(backend->fd, &in, sizeof(in),
                               MSG_DONTWAIT | MSG_TRUNC));
    if (size < 0 && errno == EAGAIN) {
        return 0;
    }
    if (size <= 0) {
        gpgpu_backend_lost(backend, size < 0 && errno != ECONNRESET ?
                           "connection broken" : "connection closed");
        return -1;
    }
    if (size < sizeof(in.msg) || in.msg.size != size || size > sizeof(in)) {
        wrong = "worker sent a message of a wrong size";
    } else if (backend->state == GPGPU_BACKEND_GREETING &&
               in.msg.type != GPGPU_MSG_WELCOME) {
        wrong = "worker did not answer HELLO with WELCOME";
    } else {
        trace_gpgpu_connection_receive(in.msg.session, in.msg.type,
                                       in.msg.token);
        switch (in.msg.type) {
        case GPGPU_MSG_WELCOME:
            wrong = size < sizeof(in.welcome) ?
                "worker sent a short WELCOME" :
                connection_welcome(backend, &in.welcome);
            break;
        case GPGPU_MSG_ACK:
            if (size < sizeof(in.ack)) {
                wrong = "worker sent a short ACK";
            } else {
                connection_ack(backend, &in.ack);
            }
            break;
        case GPGPU_MSG_EVENT:
            if (size < sizeof(in.event)) {
                wrong = "worker sent a short EVENT";
            } else {
                connection_event(backend, &in.event);
            }
            break;
        case GPGPU_MSG_LOST:
            if (size < sizeof(in.lost)) {
                wrong = "worker sent a short LOST";
            } else {
                connection_lost(backend, &in.lost);
            }
            break;
        default:
            wrong = "worker sent an unknown message";
        }
    }
    if (wrong) {
        gpgpu_backend_lost(backend, wrong);
        return -1;
    }
    return backend->fd < 0 ? -1 : 1;
}

static void connection_readable(void *opaque)
{
    GpgpuBackend *backend = opaque;
    int i;

    for (i = 0; i < MESSAGES_PER_TURN; i++) {
        if (connection_receive(backend) <= 0) {
            return;
        }
    }
}

/*
 * Handle messages until done(opaque). A worker that sends many of them gets no
 * more time than one that sends none.
 * Returns: false if the worker is gone, by itself or because time was up.
 */
bool gpgpu_connection_wait(GpgpuBackend *backend, bool (*done)(void *opaque),
                           void *opaque, int timeout_ms)
{
    int64_t deadline = g_get_monotonic_time() + timeout_ms * 1000LL;
    GpgpuSession *session;
    int ret;

    for (;;) {
        struct pollfd in;

        if (done(opaque)) {
            return true;
        }
        if (g_get_monotonic_time() >= deadline) {
            gpgpu_backend_lost(backend, "worker did not answer in time");
            return false;
        }
        ret = connection_receive(backend);
        if (ret < 0) {
            return false;
        }
        QTAILQ_FOREACH(session, &backend->sessions, next) {
            if (session->open) {
                session->ops->poll(session->opaque);
            }
        }
        if (!ret && backend->fd >= 0) {
            in = (struct pollfd) { .fd = backend->fd, .events = POLLIN };
            poll(&in, 1, 2);
        }
    }
}

static bool wait_token_done(void *opaque)
{
    GpgpuBackend *backend = opaque;

    return !backend->wait_token;
}

/*
 * Send a message about a session and wait for its ACK. A worker that refuses or
 * is late is given up. Returns: whether the worker did what it was told.
 */
static bool connection_command(GpgpuSession *session, struct gpgpu_msg *msg)
{
    GpgpuBackend *backend = session->backend;
    g_autofree char *text = NULL;
    Error *err = NULL;

    msg->session = session->id;
    msg->token = connection_token(backend);
    backend->wait_token = msg->token;
    if (!connection_send(backend, msg, NULL, 0, GPGPU_ACK_TIMEOUT_MS, &err)) {
        gpgpu_backend_lost(backend, error_get_pretty(err));
        error_free(err);
        return false;
    }
    if (!gpgpu_connection_wait(backend, wait_token_done, backend,
                               GPGPU_ACK_TIMEOUT_MS)) {
        return false;
    }
    if (backend->wait_error) {
        text = g_strdup_printf("worker failed: %s", backend->wait_message);
        gpgpu_backend_lost(backend, text);
        return false;
    }
    return true;
}

static bool connection_simple(GpgpuSession *session, enum gpgpu_msg_type type)
{
    struct gpgpu_msg msg = { .type = type, .size = sizeof(msg) };

    return connection_command(session, &msg);
}

/* What sessions ask for -----------------------------------------------------*/

void gpgpu_session_pause(GpgpuSession *session)
{
    if (session->open && !session->paused &&
        connection_simple(session, GPGPU_MSG_PAUSE)) {
        session->paused = true;
    }
}

void gpgpu_session_resume(GpgpuSession *session)
{
    if (session->open && session->paused &&
        connection_simple(session, GPGPU_MSG_RESUME)) {
        session->paused = false;
    }
}

void gpgpu_session_reset(GpgpuSession *session, uint64_t features)
{
    struct gpgpu_msg_reset reset = {
        .msg = { .type = GPGPU_MSG_RESET, .size = sizeof(reset) },
        .features = features,
        .generation = session->generation,
    };

    session->features = features;
    if (session->open) {
        connection_command(session, &reset.msg);
    }
}

bool gpgpu_session_set_quota(GpgpuSession *session, const GpgpuQuota *quota,
                             Error **errp)
{
    struct gpgpu_msg_quota msg = {
        .msg = {
            .type = GPGPU_MSG_QUOTA,
            .size = sizeof(msg),
            .session = session->id,
            .token = connection_token(session->backend),
        },
        .weight = quota->weight,
        .cap = quota->cap,
        .memory_limit = quota->memory_limit,
    };

    if (session->open &&
        !connection_send(session->backend, &msg.msg, NULL, 0, 0, errp)) {
        return false;
    }
    /* with no worker now, the next one gets it with OPEN */
    session->quota_token = session->open ? msg.msg.token : 0;
    session->quota = *quota;
    return true;
}

void gpgpu_session_close(GpgpuSession *session)
{
    GpgpuBackend *backend = session->backend;

    if (!backend) {
        return;
    }
    if (session->open) {
        connection_simple(session, GPGPU_MSG_CLOSE);
    } else if (session->open_token && backend->state == GPGPU_BACKEND_READY) {
        /* an OPEN is on its way: the worker must not keep the memory */
        connection_simple(session, GPGPU_MSG_CLOSE);
    }
    session->open = false;
    QTAILQ_REMOVE(&backend->sessions, session, next);
    timer_free(session->retry);
    session->retry = NULL;
    gpgpu_ring_destroy(&session->ring);
    event_notifier_cleanup(&session->kick);
    event_notifier_cleanup(&session->call);
    session->backend = NULL;
    object_unref(OBJECT(backend));
}

/* Start and end -------------------------------------------------------------*/

static char *connection_exit_reason(int status)
{
    if (WIFSIGNALED(status)) {
        return g_strdup_printf("worker killed by signal %d", WTERMSIG(status));
    }
    return g_strdup_printf("worker exited with status %d", WEXITSTATUS(status));
}

/*
 * There is one watch for each child as long as it lives: GLib may have reaped
 * it for this one already when a second is made, which then finds no child.
 */
static void connection_reaped(GPid pid, gint status, gpointer opaque)
{
    g_autofree GpgpuChild *child = opaque;
    g_autofree char *reason = connection_exit_reason(status);
    GpgpuBackend *backend = child->backend;

    trace_gpgpu_backend_reaped(pid, status);
    g_spawn_close_pid(pid);
    if (backend) {
        /* the socket did not tell: a child of its may still have it */
        backend->child = NULL;
        backend->pid = 0;
        gpgpu_backend_lost(backend, reason);
    }
}

/*
 * Who listened at the path that we connected to? Kept from now on, so that the
 * process is still that one when it is to be ended.
 */
static void connection_find_peer(GpgpuBackend *backend)
{
    struct ucred cred;
    socklen_t size = sizeof(cred);
    int fd = -1;

    backend->peer_pid = 0;
    if (getsockopt(backend->fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0 ||
        cred.pid <= 1) {
        return;
    }
    size = sizeof(fd);
    if (getsockopt(backend->fd, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) < 0) {
        /* Linux before 6.5 */
        fd = syscall(SYS_pidfd_open, cred.pid, 0);
    }
    if (fd >= 0) {
        qemu_set_cloexec(fd);
        backend->peer_pidfd = fd;
        backend->peer_pid = cred.pid;
    }
}

/*
 * A worker that was lost may only have closed its end, or hang, and still has
 * the guest's memory: end it if it is the process that listened (it says so,
 * and we know who did) and we may.
 */
static void connection_end_peer(GpgpuBackend *backend)
{
    struct pollfd ended = { .fd = backend->peer_pidfd, .events = POLLIN };

    if (backend->peer_pidfd < 0) {
        return;
    }
    if (!QTAILQ_EMPTY(&backend->sessions) &&
        backend->worker_pid == backend->peer_pid &&
        RETRY_ON_EINTR(poll(&ended, 1, EXIT_STATUS_WAIT_MS)) == 0) {
        if (syscall(SYS_pidfd_send_signal, backend->peer_pidfd, SIGKILL, NULL,
                    0) < 0) {
            warn_report("gpgpu: cannot end worker %d, which was lost: %s",
                        (int)backend->peer_pid, strerror(errno));
        } else {
            RETRY_ON_EINTR(poll(&ended, 1, KILL_WAIT_MS));
        }
    }
    close(backend->peer_pidfd);
    backend->peer_pidfd = -1;
}

bool gpgpu_connection_start(GpgpuBackend *backend, int fd, pid_t pid,
                            Error **errp)
{
    struct gpgpu_msg_hello hello = {
        .msg = {
            .type = GPGPU_MSG_HELLO,
            .size = sizeof(hello),
            .token = connection_token(backend),
        },
        .magic = GPGPU_CONNECTION_MAGIC,
        .version = GPGPU_CONNECTION_VERSION,
    };

    backend->fd = fd;
    backend->pid = pid;
    backend->worker_pid = 0;
    backend->wait_token = 0;
    backend->state = GPGPU_BACKEND_GREETING;
    backend->connected_ms = qemu_clock_get_ms(QEMU_CLOCK_REALTIME);
    if (pid) {
        backend->child = g_new0(GpgpuChild, 1);
        backend->child->backend = backend;
        g_child_watch_add(pid, connection_reaped, backend->child);
    } else if (backend->peer_listens) {
        connection_find_peer(backend);
    }
    qemu_set_fd_handler(fd, connection_readable, NULL, backend);
    return connection_send(backend, &hello.msg, NULL, 0, GPGPU_ACK_TIMEOUT_MS,
                           errp);
}

/*
 * Wait for a child's end without reaping it, which is the watch's business.
 * Returns: whether it ended.
 */
static bool connection_child_ended(pid_t pid, siginfo_t *info, int timeout_ms)
{
    do {
        info->si_pid = 0;
        if (waitid(P_PID, pid, info, WEXITED | WNOHANG | WNOWAIT) < 0) {
            return true;
        }
        if (info->si_pid == pid) {
            return true;
        }
        g_usleep(1000);
    } while (timeout_ms-- > 0);
    return false;
}

/*
 * Close the connection; a worker that we started is gone when this returns, and
 * so is one that listened at a path, if we know it and may end it.
 * Returns: @reason with what is known about the worker's end.
 */
char *gpgpu_connection_stop(GpgpuBackend *backend, const char *reason)
{
    char *text = g_strdup(reason);
    siginfo_t info;

    if (backend->fd >= 0) {
        qemu_set_fd_handler(backend->fd, NULL, NULL, NULL);
        /* not close(): it may be of a monitor's set */
        qemu_close(backend->fd);
        backend->fd = -1;
    }
    backend->wait_token = 0;
    if (!backend->pid) {
        connection_end_peer(backend);
        return text;
    }
    memset(&info, 0, sizeof(info));
    if (connection_child_ended(backend->pid, &info, EXIT_STATUS_WAIT_MS)) {
        if (info.si_pid && info.si_code == CLD_EXITED) {
            g_free(text);
            text = g_strdup_printf("worker exited with status %d",
                                   info.si_status);
        } else if (info.si_pid) {
            g_free(text);
            text = g_strdup_printf("worker killed by signal %d",
                                   info.si_status);
        }
    } else {
        kill(backend->pid, SIGKILL);
        connection_child_ended(backend->pid, &info, KILL_WAIT_MS);
    }
    /* reaped later; the backend may have another one, or be gone, by then */
    backend->child->backend = NULL;
    backend->child = NULL;
    backend->pid = 0;
    return text;
}
