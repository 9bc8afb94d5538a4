/*
 * GPGPU backends: what runs the work of virtio-gpgpu devices
 *
 * How it works: a backend is a user-creatable object that has one connection to
 * one worker process (gpgpu-connection.h). Each device opens a session on it.
 * A subclass only knows how to reach a worker. The worker may die at any time;
 * the backend then tells every session, gets a new worker and opens the
 * sessions again.
 *
 * Invariants: when a worker is lost it ends, before any session is told, if
 * QEMU started it, or if it is the process that listened at the path where QEMU
 * reached it and QEMU may signal it. Another one only loses its connection, and
 * what is said here of writing the guest's memory does not hold for it.
 *
 * Threads: all functions are called, and all callbacks come, with the BQL held
 * from the main loop or a vCPU. Only the ring and the notifiers of an open
 * session are used elsewhere, by the one AioContext that owns the device's
 * queues; `lost` must have stopped that use when it returns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_VIRTIO_GPGPU_BACKEND_H
#define HW_VIRTIO_GPGPU_BACKEND_H

#include "qemu/event_notifier.h"
#include "qemu/queue.h"
#include "qemu/timer.h"
#include "qom/object.h"
#include "gpgpu-ring.h"

#define TYPE_GPGPU_BACKEND "gpgpu-backend"
OBJECT_DECLARE_TYPE(GpgpuBackend, GpgpuBackendClass, GPGPU_BACKEND)

/* Abstract, too: reached as its properties say (gpgpu-backend-worker.c) */
#define TYPE_GPGPU_BACKEND_WORKER "gpgpu-backend-worker"
OBJECT_DECLARE_TYPE(GpgpuBackendWorker, GpgpuBackendWorkerClass,
                    GPGPU_BACKEND_WORKER)

#define TYPE_GPGPU_BACKEND_CPU "gpgpu-backend-cpu"
#define TYPE_GPGPU_BACKEND_AMDGPU "gpgpu-backend-amdgpu"
#define TYPE_GPGPU_BACKEND_CUDA "gpgpu-backend-cuda"

/*
 * How long the worker may take to acknowledge; then it counts as dead. A slice
 * is enough for a healthy one on an idle host; a busy host wants patience.
 */
#define GPGPU_ACK_TIMEOUT_MS        2000
/* The same for starting up: it loads the compiler. */
#define GPGPU_CONNECT_TIMEOUT_MS    10000

#define GPGPU_WEIGHT_DEFAULT        100
#define GPGPU_WEIGHT_MAX            10000
#define GPGPU_CAP_NONE              10000   /* in 1/10,000 of the device */

typedef struct GpgpuQuota {
    uint32_t weight;            /* 1..GPGPU_WEIGHT_MAX */
    uint32_t cap;               /* 1..GPGPU_CAP_NONE */
    uint64_t memory_limit;      /* bytes */
} GpgpuQuota;

typedef struct GpgpuSessionOps {
    /* The session was opened again on a new worker. */
    void (*ready)(void *opaque);
    /*
     * The worker is gone; when this returns nothing uses the ring any more.
     * @loss: enum gpgpu_msg_loss, of a GPU that was lost
     */
    void (*lost)(void *opaque, const char *reason, uint32_t loss);
    /* The worker has something to tell the guest. */
    void (*event)(void *opaque, uint32_t type, uint32_t reason, uint64_t value);
    /*
     * Called again and again while an acknowledgement is waited for: consume
     * responses if that is not another thread's business, so that the worker
     * never waits for room while QEMU waits for the worker.
     */
    void (*poll)(void *opaque);
} GpgpuSessionOps;

typedef struct GpgpuSession {
    /* Set by the device before gpgpu_session_open() */
    const GpgpuSessionOps *ops;
    void *opaque;
    char name[64];              /* for the worker's log */
    int shm_fd;
    uint64_t shm_size;
    uint64_t features;          /* negotiated, 1 << bit */
    uint32_t generation;
    GpgpuQuota quota;
    uint32_t max_contexts, max_buffers, max_maps, max_programs, max_jobs;
    uint32_t max_insns, max_batch, max_stride;
    uint64_t max_buffer, max_map, fuel;

    /* The backend's */
    GpgpuBackend *backend;      /* NULL: not attached */
    uint32_t id;
    bool attached;              /* it was open once: `ready` and `lost` apply */
    bool open;                  /* the worker knows it */
    bool paused;                /* ... and was told to stop */
    uint32_t open_token;        /* of an OPEN under way */
    uint32_t quota_token;       /* of the last QUOTA */
    QEMUTimer *retry;           /* OPEN again, which the worker refused */
    uint32_t retry_ms;          /* 0: it did not */
    GpgpuRing ring;
    EventNotifier kick;         /* wakes the worker */
    EventNotifier call;         /* wakes QEMU */
    struct gpgpu_ring_stats stats_base; /* sums of workers that died */
    struct gpgpu_ring_stats stats_last; /* last good copy of this worker's */
    QTAILQ_ENTRY(GpgpuSession) next;
} GpgpuSession;

typedef enum GpgpuBackendState {
    GPGPU_BACKEND_CLOSED,       /* no worker, none under way */
    GPGPU_BACKEND_GREETING,     /* connected, HELLO sent */
    GPGPU_BACKEND_READY,
    GPGPU_BACKEND_FAILED,       /* no worker, and never again */
} GpgpuBackendState;

/* A worker that we started, until it is reaped; it may outlive its backend. */
typedef struct GpgpuChild {
    GpgpuBackend *backend;      /* NULL: it is no longer of interest */
} GpgpuChild;

struct GpgpuBackend {
    Object parent_obj;

    GpgpuBackendState state;
    int fd;                     /* socket to the worker, or -1 */
    pid_t pid;                  /* of a worker that we started, or 0 */
    GpgpuChild *child;          /* ... which is watched with this */
    bool peer_listens;          /* the peer is who listened at a path */
    int peer_pidfd;             /* of that process, or -1 */
    pid_t peer_pid;
    char device[64];            /* from WELCOME */
    uint32_t threads;
    uint32_t worker_pid;
    uint32_t next_session;
    uint32_t next_token;
    /* The acknowledgement that gpgpu_backend_command() waits for */
    uint32_t wait_token;
    int32_t wait_error;
    char wait_message[128];
    /* Restart */
    QEMUTimer *timer;
    int64_t connected_ms;
    uint32_t backoff_ms;
    char *lost_reason;          /* of the last worker, or NULL */
    /* What this worker has said of its GPU */
    char *gpu_reason;           /* why it ends; or NULL */
    uint32_t gpu_loss;          /* enum gpgpu_msg_loss */
    int64_t gpu_warned_ms;      /* when a loss that it survived was last told */
    QTAILQ_HEAD(, GpgpuSession) sessions;
};

struct GpgpuBackendClass {
    ObjectClass parent_class;

    /* With what the worker's name of its device begins; NULL: any */
    const char *device;

    /* Check the properties. */
    bool (*init)(GpgpuBackend *backend, Error **errp);
    /*
     * Reach a worker. Returns: a connected socket, or -1; @pid: set if the
     * worker was started here, so that it is killed and reaped here.
     */
    int (*dial)(GpgpuBackend *backend, pid_t *pid, Error **errp);
    /* Is there any sense in calling dial a second time? */
    bool (*can_redial)(GpgpuBackend *backend);
};

struct GpgpuBackendWorker {
    GpgpuBackend parent_obj;

    char *worker;
    char *jit;
    char *path;
    char *fd_name;
    int passed_fd;              /* from fd=, until the first dial; or -1 */
};

struct GpgpuBackendWorkerClass {
    GpgpuBackendClass parent_class;

    /* Arguments to a worker that is started. */
    void (*add_arguments)(GpgpuBackendWorker *worker, GPtrArray *argv);
    /* The name of a property that is set and means only such a worker. */
    const char *(*set_property)(GpgpuBackendWorker *worker);
    /* Check the subclass's properties. */
    bool (*check)(GpgpuBackendWorker *worker, Error **errp);
};

/* gpgpu_backend_worker_may_set: for setters; not once there is a connection */
bool gpgpu_backend_worker_may_set(Object *obj, const char *name, Error **errp);

/**
 * gpgpu_session_open: attach a session to a backend and open it
 *
 * Waits for the worker's answer. On failure the session is not attached.
 */
bool gpgpu_session_open(GpgpuBackend *backend, GpgpuSession *session,
                        Error **errp);

/**
 * gpgpu_session_close: detach a session
 *
 * When it returns the worker does nothing any more on the session's behalf,
 * or the worker is gone.
 */
void gpgpu_session_close(GpgpuSession *session);

/**
 * gpgpu_session_pause: stop the session's jobs
 *
 * When it returns nothing of the guest's is written any more; if the worker
 * did not say so in time, it is gone and `lost` was called.
 */
void gpgpu_session_pause(GpgpuSession *session);
void gpgpu_session_resume(GpgpuSession *session);

/**
 * gpgpu_session_reset: destroy every object and answer every request
 *
 * @features: what the driver negotiated
 *
 * As gpgpu_session_pause() with a worker that does not obey.
 */
void gpgpu_session_reset(GpgpuSession *session, uint64_t features);

/* gpgpu_session_set_quota: does not wait for the worker */
bool gpgpu_session_set_quota(GpgpuSession *session, const GpgpuQuota *quota,
                             Error **errp);

/* gpgpu_session_stats: counters since the device was made, over all workers */
void gpgpu_session_stats(GpgpuSession *session, struct gpgpu_ring_stats *stats);

/* gpgpu_backend_lost: the worker died or misbehaved */
void gpgpu_backend_lost(GpgpuBackend *backend, const char *reason);

/* For gpgpu-connection.c and gpgpu-backend.c only */

bool gpgpu_connection_start(GpgpuBackend *backend, int fd, pid_t pid,
                            Error **errp);
char *gpgpu_connection_stop(GpgpuBackend *backend, const char *reason);
bool gpgpu_connection_send_open(GpgpuSession *session, Error **errp);
bool gpgpu_connection_wait(GpgpuBackend *backend, bool (*done)(void *opaque),
                           void *opaque, int timeout_ms);
void gpgpu_backend_welcomed(GpgpuBackend *backend);
void gpgpu_backend_opened(GpgpuSession *session, int error,
                          const char *message);

#endif
