/*
 * GPGPU backends: the abstract class, sessions' life, and the worker's restart
 *
 * How it works: a backend connects when it is created, so that a wrong property
 * is an error then. When the worker is lost, every session is told; then the
 * backend dials again, at once if the last worker had lived for a while, else
 * with growing delays, and opens the sessions that are attached. A worker that
 * refuses one of them, which it may for want of memory, is asked again, with
 * growing delays too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qom/object_interfaces.h"
#include "gpgpu-backend.h"
#include "trace.h"

#define BACKOFF_MIN_MS      100
#define BACKOFF_MAX_MS      10000
/* A worker that lived this long is replaced without a delay */
#define BACKOFF_RESET_MS    10000

static void backend_redial(GpgpuBackend *backend, int64_t delay_ms)
{
    timer_mod(backend->timer,
              qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + delay_ms);
}

/* Dial once more after a failure, later and later. */
static void backend_redial_later(GpgpuBackend *backend)
{
    GpgpuBackendClass *bc = GPGPU_BACKEND_GET_CLASS(backend);

    if (!bc->can_redial(backend)) {
        backend->state = GPGPU_BACKEND_FAILED;
        timer_del(backend->timer);
        return;
    }
    backend->state = GPGPU_BACKEND_CLOSED;
    backend_redial(backend, backend->backoff_ms);
    backend->backoff_ms = MIN(MAX(backend->backoff_ms * 2, BACKOFF_MIN_MS),
                              BACKOFF_MAX_MS);
}

void gpgpu_backend_lost(GpgpuBackend *backend, const char *reason)
{
    g_autofree char *text = NULL;
    GpgpuSession *session, *next;
    uint32_t loss;

    if (backend->fd < 0) {
        return;
    }
    text = gpgpu_connection_stop(backend, reason);
    loss = backend->gpu_loss;
    if (backend->gpu_reason) {
        /* it has said so before it ended, and that is why */
        g_free(text);
        text = g_steal_pointer(&backend->gpu_reason);
    }
    backend->gpu_loss = GPGPU_MSG_LOSS_UNKNOWN;
    trace_gpgpu_backend_lost(text);
    g_free(backend->lost_reason);
    backend->lost_reason = g_strdup(text);
    if (qemu_clock_get_ms(QEMU_CLOCK_REALTIME) - backend->connected_ms >=
        BACKOFF_RESET_MS) {
        backend->backoff_ms = 0;
    }
    /* before the sessions: what they report must be true */
    backend_redial_later(backend);

    QTAILQ_FOREACH_SAFE(session, &backend->sessions, next, next) {
        bool was_open = session->open;
        struct gpgpu_ring_stats stats;

        if (was_open) {
            gpgpu_session_stats(session, &stats);
            session->stats_base = stats;
            /* memory went with the worker, the rest are sums */
            session->stats_base.memory = 0;
            memset(&session->stats_last, 0, sizeof(session->stats_last));
        }
        session->open = false;
        session->paused = false;
        session->open_token = 0;
        session->retry_ms = 0;
        timer_del(session->retry);
        if (was_open && session->attached) {
            session->ops->lost(session->opaque, text, loss);
        }
    }
}

/* Send OPEN for a session that is attached but not open. */
static bool backend_open(GpgpuSession *session, Error **errp)
{
    gpgpu_ring_destroy(&session->ring);
    if (!gpgpu_ring_init(&session->ring, errp)) {
        return false;
    }
    return gpgpu_connection_send_open(session, errp);
}

/* The worker answered HELLO. */
void gpgpu_backend_welcomed(GpgpuBackend *backend)
{
    GpgpuSession *session;
    Error *err = NULL;

    trace_gpgpu_backend_welcomed(backend->device, backend->worker_pid);
    backend->state = GPGPU_BACKEND_READY;
    if (QTAILQ_EMPTY(&backend->sessions)) {
        timer_del(backend->timer);
    } else {
        /* a worker that never answers OPEN */
        backend_redial(backend, GPGPU_CONNECT_TIMEOUT_MS);
    }
    QTAILQ_FOREACH(session, &backend->sessions, next) {
        if (!backend_open(session, &err)) {
            error_prepend(&err, "gpgpu: %s: ", session->name);
            warn_report_err(err);
            gpgpu_backend_lost(backend, "worker cannot be set up");
            return;
        }
    }
}

static bool backend_is_opening(GpgpuBackend *backend)
{
    GpgpuSession *session;

    QTAILQ_FOREACH(session, &backend->sessions, next) {
        if (session->open_token) {
            return true;
        }
    }
    return false;
}

/* Ask a worker once more that has refused. */
static void session_retry(void *opaque)
{
    GpgpuSession *session = opaque;
    GpgpuBackend *backend = session->backend;
    Error *err = NULL;

    if (backend->state != GPGPU_BACKEND_READY || session->open ||
        session->open_token) {
        return;
    }
    if (!timer_pending(backend->timer)) {
        backend_redial(backend, GPGPU_CONNECT_TIMEOUT_MS);
    }
    if (!backend_open(session, &err)) {
        error_prepend(&err, "gpgpu: %s: ", session->name);
        warn_report_err(err);
        gpgpu_backend_lost(backend, "worker cannot be set up");
    }
}

/* The worker answered OPEN. */
void gpgpu_backend_opened(GpgpuSession *session, int error, const char *message)
{
    if (!backend_is_opening(session->backend)) {
        timer_del(session->backend->timer);
    }
    trace_gpgpu_session_opened(session->id, session->name, error);
    session->open = !error;
    /* the first time the answer is gpgpu_session_open()'s business */
    if (session->attached && error) {
        if (!session->retry_ms) {
            warn_report("gpgpu: %s: worker refused, and will be asked again: "
                        "%s", session->name, message);
        }
        session->retry_ms = MIN(MAX(session->retry_ms * 2, BACKOFF_MIN_MS),
                                BACKOFF_MAX_MS);
        timer_mod(session->retry, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) +
                  session->retry_ms);
    } else if (session->attached) {
        session->retry_ms = 0;
        session->ops->ready(session->opaque);
    }
}

static bool session_answered(void *opaque)
{
    GpgpuSession *session = opaque;

    return !session->open_token;
}

static bool backend_is_ready(void *opaque)
{
    GpgpuBackend *backend = opaque;

    return backend->state == GPGPU_BACKEND_READY;
}

/* Dial; the rest happens as the worker answers. */
static bool backend_dial(GpgpuBackend *backend, Error **errp)
{
    GpgpuBackendClass *bc = GPGPU_BACKEND_GET_CLASS(backend);
    pid_t pid = 0;
    Error *err = NULL;
    int fd = bc->dial(backend, &pid, errp);

    if (fd < 0) {
        return false;
    }
    trace_gpgpu_backend_dialled(fd, pid);
    /* a worker that never says WELCOME */
    backend_redial(backend, GPGPU_CONNECT_TIMEOUT_MS);
    if (!gpgpu_connection_start(backend, fd, pid, &err)) {
        /* how it ended says more than that it cannot be written to */
        g_autofree char *text = gpgpu_connection_stop(backend,
                                                      error_get_pretty(err));

        error_free(err);
        error_setg(errp, "gpgpu-worker is of no use: %s", text);
        timer_del(backend->timer);
        backend->state = GPGPU_BACKEND_CLOSED;
        return false;
    }
    return true;
}

static void backend_timer(void *opaque)
{
    GpgpuBackend *backend = opaque;
    Error *err = NULL;

    if (backend->fd >= 0) {
        gpgpu_backend_lost(backend, "worker did not answer in time");
        return;
    }
    if (!backend_dial(backend, &err)) {
        trace_gpgpu_backend_dial_failed(error_get_pretty(err));
        error_free(err);
        backend_redial_later(backend);
    }
}

bool gpgpu_session_open(GpgpuBackend *backend, GpgpuSession *session,
                        Error **errp)
{
    Error *err = NULL;
    int ret;

    if (backend->state == GPGPU_BACKEND_FAILED) {
        error_setg(errp, "backend lost its worker and cannot reach another");
        return false;
    }
    if (backend->state == GPGPU_BACKEND_CLOSED &&
        !backend_dial(backend, errp)) {
        return false;
    }
    if (!gpgpu_connection_wait(backend, backend_is_ready, backend,
                               GPGPU_CONNECT_TIMEOUT_MS)) {
        error_setg(errp, "the backend has no worker: %s", backend->lost_reason);
        return false;
    }

    session->id = ++backend->next_session;
    session->attached = false;
    session->open = false;
    session->paused = false;
    session->open_token = 0;
    session->quota_token = 0;
    memset(&session->stats_base, 0, sizeof(session->stats_base));
    memset(&session->stats_last, 0, sizeof(session->stats_last));
    memset(&session->ring, 0, sizeof(session->ring));
    ret = event_notifier_init(&session->kick, 0);
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot make an event notifier");
        return false;
    }
    ret = event_notifier_init(&session->call, 0);
    if (ret < 0) {
        event_notifier_cleanup(&session->kick);
        error_setg_errno(errp, -ret, "cannot make an event notifier");
        return false;
    }
    session->retry = timer_new_ms(QEMU_CLOCK_REALTIME, session_retry, session);
    session->retry_ms = 0;
    session->backend = backend;
    object_ref(OBJECT(backend));
    QTAILQ_INSERT_TAIL(&backend->sessions, session, next);

    if (!backend_open(session, &err)) {
        error_propagate(errp, err);
    } else {
        backend->wait_token = session->open_token;
        if (!gpgpu_connection_wait(backend, session_answered, session,
                                   GPGPU_CONNECT_TIMEOUT_MS)) {
            error_setg(errp, "the backend lost its worker: %s",
                       backend->lost_reason);
        } else if (!session->open) {
            error_setg(errp, "worker refused the device: %s",
                       backend->wait_message);
        }
    }
    if (!session->open) {
        gpgpu_session_close(session);
        return false;
    }
    session->attached = true;
    return true;
}

/* The fields of struct gpgpu_ring_stats that are sums */
#define STATS_SUMS(X)                                                   \
    X(device_ns) X(waited_ns) X(throttled_ns) X(jobs) X(packets)        \
    X(bytes) X(verdicts[0]) X(verdicts[1]) X(verdicts[2])               \
    X(verdicts[3]) X(verdicts[4]) X(faults) X(compiles) X(compile_ns)   \
    X(rejected)

void gpgpu_session_stats(GpgpuSession *session, struct gpgpu_ring_stats *stats)
{
    if (session->open) {
        gpgpu_ring_stats(&session->ring, &session->stats_last);
    }
    *stats = session->stats_last;
#define ADD(field) stats->field += session->stats_base.field;
    STATS_SUMS(ADD)
#undef ADD
    stats->memory_max = MAX(stats->memory_max, session->stats_base.memory_max);
}

/* The object ----------------------------------------------------------------*/

static void gpgpu_backend_complete(UserCreatable *uc, Error **errp)
{
    GpgpuBackend *backend = GPGPU_BACKEND(uc);
    GpgpuBackendClass *bc = GPGPU_BACKEND_GET_CLASS(uc);

    if (!bc->init(backend, errp) || !backend_dial(backend, errp)) {
        return;
    }
    if (!gpgpu_connection_wait(backend, backend_is_ready, backend,
                               GPGPU_CONNECT_TIMEOUT_MS)) {
        error_setg(errp, "gpgpu-worker is of no use: %s", backend->lost_reason);
    }
}

static bool gpgpu_backend_can_be_deleted(UserCreatable *uc)
{
    return QTAILQ_EMPTY(&GPGPU_BACKEND(uc)->sessions);
}

static void gpgpu_backend_instance_init(Object *obj)
{
    GpgpuBackend *backend = GPGPU_BACKEND(obj);

    backend->fd = -1;
    backend->peer_pidfd = -1;
    backend->state = GPGPU_BACKEND_CLOSED;
    backend->timer = timer_new_ms(QEMU_CLOCK_REALTIME, backend_timer, backend);
    QTAILQ_INIT(&backend->sessions);
}

static void gpgpu_backend_finalize(Object *obj)
{
    GpgpuBackend *backend = GPGPU_BACKEND(obj);

    g_free(gpgpu_connection_stop(backend, ""));
    timer_free(backend->timer);
    g_free(backend->lost_reason);
    g_free(backend->gpu_reason);
}

static void gpgpu_backend_class_init(ObjectClass *oc, void *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(oc);

    ucc->complete = gpgpu_backend_complete;
    ucc->can_be_deleted = gpgpu_backend_can_be_deleted;
}

static const TypeInfo gpgpu_backend_info = {
    .name = TYPE_GPGPU_BACKEND,
    .parent = TYPE_OBJECT,
    .abstract = true,
    .instance_size = sizeof(GpgpuBackend),
    .instance_init = gpgpu_backend_instance_init,
    .instance_finalize = gpgpu_backend_finalize,
    .class_size = sizeof(GpgpuBackendClass),
    .class_init = gpgpu_backend_class_init,
    .interfaces = (InterfaceInfo[]) {
        { TYPE_USER_CREATABLE },
        { }
    },
};

static void gpgpu_backend_register_types(void)
{
    type_register_static(&gpgpu_backend_info);
}

type_init(gpgpu_backend_register_types)
