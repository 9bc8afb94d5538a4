/*
 * A gpgpu-worker that breaks the rules, for the virtio-gpgpu qtests
 *
 * How it works: a thread accepts connections, one after the other, and answers
 * messages and requests as simply as can be: every request gets a header with
 * status OK. On its first connection it commits one fault.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "hw/virtio/gpgpu-wire.h"
#include "hw/virtio/gpgpu-connection.h"
#include "virtio-gpgpu-mock.h"

#define MASK(mock)  ((mock)->ring->resp_size - 1)

/* Size of a good response's record: the ring has no room for 8 of them */
#define GOOD_RECORD (GPGPU_RING_SIZE / 8 + 8)

struct Mock {
    GThread *thread;
    MockFault fault;
    int listen_fd;
    int stop_fd;
    int fd;                     /* the connection */
    bool committed;             /* the fault has been */
    int opens;                  /* OPENs that have come */
    /* of the one session */
    struct gpgpu_ring *ring;
    size_t ring_size;
    int kick, call;
    uint64_t resp_tail;
    uint32_t session;
};

static bool has_fault(Mock *mock, MockFault fault)
{
    return !mock->committed && mock->fault == fault;
}

/* Messages ------------------------------------------------------------------*/

static void mock_send(Mock *mock, const void *msg, size_t size)
{
    /* QEMU may have hung up on us: that is what faults are for */
    if (send(mock->fd, msg, size, MSG_NOSIGNAL) < 0) {
        g_assert_true(errno == EPIPE || errno == ECONNRESET);
    }
}

static void mock_ack(Mock *mock, const struct gpgpu_msg *msg, int error,
                     const char *text)
{
    struct gpgpu_msg_ack ack = {
        .msg = { GPGPU_MSG_ACK, sizeof(ack), msg->session, msg->token },
        .error = error,
    };

    g_strlcpy(ack.message, text, sizeof(ack.message));
    mock_send(mock, &ack, sizeof(ack));
}

static void mock_welcome(Mock *mock)
{
    struct gpgpu_msg_welcome welcome = {
        .msg = { GPGPU_MSG_WELCOME, sizeof(welcome), 0, 0 },
        .magic = GPGPU_CONNECTION_MAGIC,
        .version = GPGPU_CONNECTION_VERSION,
        .threads = 1,
        .device = "mo\x1b[2Jck\n",
    };
    size_t size = sizeof(welcome);

    if (has_fault(mock, MOCK_WRONG_MAGIC)) {
        welcome.magic++;
    } else if (has_fault(mock, MOCK_WRONG_VERSION)) {
        welcome.version++;
    } else if (has_fault(mock, MOCK_SHORT_WELCOME)) {
        size = sizeof(welcome.msg) + 8;
        welcome.msg.size = size;
    } else if (has_fault(mock, MOCK_WRONG_SIZE)) {
        welcome.msg.size--;
    } else if (has_fault(mock, MOCK_NO_WELCOME)) {
        mock_ack(mock, &welcome.msg, 0, "");
        return;
    }
    mock_send(mock, &welcome, size);
}

static void mock_unmap(Mock *mock)
{
    if (mock->ring) {
        munmap(mock->ring, mock->ring_size);
        mock->ring = NULL;
        close(mock->kick);
        close(mock->call);
    }
}

static void mock_open(Mock *mock, const struct gpgpu_msg_open *open, int *fds)
{
    mock->opens++;
    if (has_fault(mock, MOCK_REFUSE_OPEN) ||
        (mock->fault == MOCK_REFUSE_REOPEN && mock->opens == 2)) {
        mock_ack(mock, &open->msg, -EINVAL, "it does not feel like it");
        return;
    }
    if (has_fault(mock, MOCK_CLOSE_AT_OPEN)) {
        shutdown(mock->fd, SHUT_RDWR);
        return;
    }
    mock_unmap(mock);
    mock->ring_size = open->ring_size;
    mock->ring = mmap(NULL, open->ring_size, PROT_READ | PROT_WRITE, MAP_SHARED,
                      fds[1], 0);
    g_assert_true(mock->ring != MAP_FAILED);
    mock->kick = dup(fds[2]);
    mock->call = dup(fds[3]);
    mock->session = open->msg.session;
    mock->resp_tail = 0;
    /* always to be kicked */
    qatomic_set_mb(&mock->ring->req.sleeping, 1);
    mock_ack(mock, &open->msg, 0, "");
}

/* Keep QEMU busy with good messages, but not for ever: the test is to fail. */
static void mock_flood(Mock *mock, const struct gpgpu_msg *pause)
{
    struct gpgpu_msg_event event = {
        .msg = { GPGPU_MSG_EVENT, sizeof(event), pause->session, 0 },
        .type = VIRTIO_GPGPU_EV_QUOTA,
    };
    struct gpgpu_msg_ack ack = {
        .msg = { GPGPU_MSG_ACK, sizeof(ack), pause->session, UINT32_MAX },
    };
    gint64 end = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;
    ssize_t ret;

    do {
        ret = mock->fault == MOCK_EVENT_FLOOD ?
            send(mock->fd, &event, sizeof(event), MSG_NOSIGNAL) :
            send(mock->fd, &ack, sizeof(ack), MSG_NOSIGNAL);
    } while (ret >= 0 && g_get_monotonic_time() < end);
}

/* Returns: false when the connection has ended. */
static bool mock_message(Mock *mock)
{
    union {
        struct gpgpu_msg msg;
        struct gpgpu_msg_open open;
        char bytes[GPGPU_MSG_MAX];
    } in;
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control;
    struct iovec iov = { .iov_base = &in, .iov_len = sizeof(in) };
    struct msghdr hdr = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };
    struct cmsghdr *cmsg;
    int fds[4], num_fds = 0, i;

    if (recvmsg(mock->fd, &hdr, MSG_CMSG_CLOEXEC) <= 0) {
        return false;
    }
    cmsg = CMSG_FIRSTHDR(&hdr);
    if (cmsg) {
        num_fds = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(cmsg), num_fds * sizeof(int));
    }
    switch (in.msg.type) {
    case GPGPU_MSG_HELLO:
        mock_welcome(mock);
        break;
    case GPGPU_MSG_OPEN:
        g_assert_cmpint(num_fds, ==, 4);
        mock_open(mock, &in.open, fds);
        break;
    case GPGPU_MSG_PAUSE:
        if (has_fault(mock, MOCK_EVENT_FLOOD) ||
            has_fault(mock, MOCK_ACK_FLOOD)) {
            mock_flood(mock, &in.msg);
        }
        mock_ack(mock, &in.msg, 0, "");
        break;
    default:
        mock_ack(mock, &in.msg, 0, "");
    }
    for (i = 0; i < num_fds; i++) {
        close(fds[i]);
    }
    return true;
}

/* The ring ------------------------------------------------------------------*/

static struct gpgpu_record *mock_room(Mock *mock, uint32_t size)
{
    uint8_t *data = (uint8_t *)mock->ring + mock->ring->resp_offset;
    uint32_t position = mock->resp_tail & MASK(mock);
    uint32_t to_end = mock->ring->resp_size - position;
    struct gpgpu_record *record = (struct gpgpu_record *)(data + position);

    if (to_end < size) {
        record->size = to_end;
        record->kind = GPGPU_RING_PAD;
        mock->resp_tail += to_end;
        record = (struct gpgpu_record *)data;
    }
    memset(record, 0, size);
    record->size = size;
    record->kind = GPGPU_RING_RESPONSE;
    mock->resp_tail += size;
    return record;
}

static void mock_publish(Mock *mock, uint64_t tail)
{
    uint64_t one = 1;

    qatomic_store_release(&mock->ring->resp.tail, tail);
    g_assert_cmpint(write(mock->call, &one, sizeof(one)), ==, sizeof(one));
}

/*
 * Keep the response ring full of padding while QEMU takes it, but not for ever:
 * the test is to fail.
 */
static void mock_pads(Mock *mock)
{
    struct gpgpu_ring_index *resp = &mock->ring->resp;
    gint64 end = g_get_monotonic_time() + 40 * G_USEC_PER_SEC;
    struct pollfd hung_up = { .fd = mock->fd, .events = POLLIN };
    struct gpgpu_record *record;

    do {
        uint64_t head = qatomic_load_acquire(&resp->head);

        while (mock->resp_tail - head < mock->ring->resp_size) {
            record = mock_room(mock, 8);
            record->kind = GPGPU_RING_PAD;
        }
        mock_publish(mock, mock->resp_tail);
    } while (g_get_monotonic_time() < end && !poll(&hung_up, 1, 0));
}

static void mock_answer_wrong(Mock *mock, const struct gpgpu_record *request)
{
    struct gpgpu_msg msg = { .size = sizeof(msg), .session = mock->session };
    char long_message[2 * GPGPU_MSG_MAX] = {};
    uint32_t size = sizeof(struct gpgpu_record) + 4 * sizeof(uint64_t) +
                    sizeof(struct virtio_gpgpu_resp_hdr);
    struct virtio_gpgpu_resp_hdr *resp;
    struct gpgpu_record *record;
    uint64_t *ranges, tail;

    if (mock->fault == MOCK_PAD_FLOOD) {
        mock_pads(mock);
        return;
    }
    if (mock->fault == MOCK_PAD_SHORT) {
        record = mock_room(mock, 8);
        record->kind = GPGPU_RING_PAD;
    }
    record = mock_room(mock, size);
    ranges = (uint64_t *)(record + 1);
    record->tag = request->tag;
    record->length = sizeof(struct virtio_gpgpu_resp_hdr);
    record->capacity = 2;
    ranges[1] = 4096;
    resp = (void *)(ranges + 4);
    resp->length = cpu_to_le32(sizeof(*resp));
    resp->cookie = ((struct virtio_gpgpu_req_hdr *)(request + 1))->cookie;
    tail = mock->resp_tail;

    switch (mock->fault) {
    case MOCK_UNKNOWN_MESSAGE:
        msg.type = 4711;
        mock_send(mock, &msg, sizeof(msg));
        return;
    case MOCK_WELCOME_TWICE:
        mock_welcome(mock);
        return;
    case MOCK_LONG_MESSAGE:
        msg.type = GPGPU_MSG_EVENT;
        msg.size = sizeof(long_message);
        memcpy(long_message, &msg, sizeof(msg));
        mock_send(mock, long_message, sizeof(long_message));
        return;
    case MOCK_REFUSE_REOPEN:
        shutdown(mock->fd, SHUT_RDWR);
        return;
    case MOCK_SIZE_ZERO:
        record->size = 0;
        break;
    case MOCK_SIZE_UNALIGNED:
        record->size -= 4;
        break;
    case MOCK_SIZE_BEYOND_TAIL:
        record->size += 8;
        break;
    case MOCK_SIZE_BEYOND_END:
        record->size = mock->ring->resp_size + 8;
        tail = mock->ring->resp_size + 8;
        break;
    case MOCK_KIND_UNKNOWN:
        record->kind = GPGPU_RING_CONTROL;
        break;
    case MOCK_TAG_UNKNOWN:
        record->tag ^= 0xffff;
        break;
    case MOCK_TAG_OTHER_SERIAL:
        record->tag ^= 1ull << 32;
        break;
    case MOCK_TAG_TWICE:
        memcpy(mock_room(mock, size), record, size);
        tail = mock->resp_tail;
        break;
    case MOCK_LENGTH_OVER_RECORD:
        record->length += 8;
        break;
    case MOCK_LENGTH_OVER_CAPACITY:
        record->length = 1 << 16;
        mock_room(mock, 1 << 16);
        record->size += 1 << 16;
        tail = mock->resp_tail;
        break;
    case MOCK_LENGTH_HUGE:
        record->length = UINT32_MAX;
        break;
    case MOCK_RANGES_HUGE:
        record->capacity = UINT32_MAX;
        break;
    case MOCK_RANGES_OVER_RECORD:
        record->capacity = GPGPU_MAX_RANGES;
        break;
    case MOCK_RANGE_OUTSIDE:
        ranges[0] = 1ull << 30;
        break;
    case MOCK_RANGE_OVERFLOW:
        ranges[0] = UINT64_MAX - 4095;
        ranges[1] = 8192;
        break;
    case MOCK_TAIL_BACK:
        tail = -8;
        break;
    case MOCK_TAIL_AHEAD:
        tail += mock->ring->resp_size;
        break;
    case MOCK_TAIL_UNALIGNED:
        tail -= 4;
        break;
    default:
        break;
    }
    mock_publish(mock, tail);
}

static void mock_answer(Mock *mock, const struct gpgpu_record *request)
{
    const struct virtio_gpgpu_req_hdr *req = (void *)(request + 1);
    struct virtio_gpgpu_resp_hdr *resp;
    struct gpgpu_record *record;

    if (!mock->committed && mock->fault >= MOCK_UNKNOWN_MESSAGE) {
        mock_answer_wrong(mock, request);
        mock->committed = true;
        return;
    }
    /* larger than it need be, so that the ring's end is soon met */
    record = mock_room(mock, GOOD_RECORD);
    record->tag = request->tag;
    record->length = sizeof(*resp);
    resp = (void *)(record + 1);
    resp->length = cpu_to_le32(sizeof(*resp));
    resp->cookie = req->cookie;
    mock_publish(mock, mock->resp_tail);
}

static void mock_requests(Mock *mock)
{
    struct gpgpu_ring *ring = mock->ring;
    uint64_t head = ring->req.head, count;
    struct gpgpu_record *record;

    g_assert_cmpint(read(mock->kick, &count, sizeof(count)), ==, sizeof(count));
    while (head != qatomic_load_acquire(&ring->req.tail)) {
        record = (void *)((uint8_t *)ring + ring->req_offset +
                          (head & (ring->req_size - 1)));
        if (record->kind != GPGPU_RING_PAD) {
            mock_answer(mock, record);
        }
        head += record->size;
        qatomic_store_release(&ring->req.head, head);
    }
}

/* The thread ----------------------------------------------------------------*/

static void mock_serve(Mock *mock)
{
    bool going = true;

    while (going) {
        struct pollfd fds[] = {
            { .fd = mock->fd, .events = POLLIN },
            { .fd = mock->ring ? mock->kick : -1, .events = POLLIN },
            { .fd = mock->stop_fd, .events = POLLIN },
        };

        g_assert_cmpint(poll(fds, ARRAY_SIZE(fds), -1), >, 0);
        if (fds[1].revents & POLLIN) {
            mock_requests(mock);
        }
        if (fds[0].revents) {
            going = mock_message(mock);
        }
        if (fds[2].revents) {
            going = false;
        }
    }
    mock_unmap(mock);
    close(mock->fd);
    /* one fault, whether or not there was an occasion for it */
    mock->committed = true;
}

static void *mock_thread(void *opaque)
{
    Mock *mock = opaque;

    for (;;) {
        struct pollfd fds[] = {
            { .fd = mock->listen_fd, .events = POLLIN },
            { .fd = mock->stop_fd, .events = POLLIN },
        };

        g_assert_cmpint(poll(fds, ARRAY_SIZE(fds), -1), >, 0);
        if (fds[1].revents) {
            return NULL;
        }
        mock->fd = accept4(mock->listen_fd, NULL, NULL, SOCK_CLOEXEC);
        g_assert_cmpint(mock->fd, >=, 0);
        mock_serve(mock);
    }
}

Mock *mock_start(const char *path, MockFault fault)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    Mock *mock = g_new0(Mock, 1);

    mock->fault = fault;
    mock->stop_fd = eventfd(0, EFD_CLOEXEC);
    mock->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    g_strlcpy(addr.sun_path, path, sizeof(addr.sun_path));
    unlink(path);
    g_assert_cmpint(bind(mock->listen_fd, (struct sockaddr *)&addr,
                         sizeof(addr)), ==, 0);
    g_assert_cmpint(listen(mock->listen_fd, 8), ==, 0);
    mock->thread = g_thread_new("mock", mock_thread, mock);
    return mock;
}

void mock_stop(Mock *mock)
{
    uint64_t one = 1;

    g_assert_cmpint(write(mock->stop_fd, &one, sizeof(one)), ==, sizeof(one));
    g_thread_join(mock->thread);
    close(mock->listen_fd);
    close(mock->stop_fd);
    g_free(mock);
}
