/*
 * A small guest for the virtio-gpgpu qtests
 *
 * How it works: the transport is libqos's. The queues are driven here, since a
 * libqos queue never gives descriptors back: slot i of a queue owns descriptors
 * 2i (request) and 2i + 1 (response) and a page for each.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <sys/wait.h>
#include "qemu/bswap.h"
#include "qemu/host-utils.h"
#include "hw/pci/pci_regs.h"
#include "libqos/malloc-pc.h"
#include "libqos/pci-pc.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "standard-headers/linux/virtio_config.h"
#include "standard-headers/linux/virtio_pci.h"
#include "standard-headers/linux/virtio_ring.h"
#include "virtio-gpgpu-cases.h"

#define GPGPU_PCI_ID    (0x1040 + VIRTIO_ID_GPGPU)

/* The VM --------------------------------------------------------------------*/

const char *worker_option(void)
{
    static char *option;

    if (!option) {
        const char *worker = g_getenv("GPGPU_WORKER");

        option = worker ? g_strdup_printf(",worker=%s", worker) : g_strdup("");
    }
    return option;
}

static Guest *guest_start_with(const char *machine, const char *args)
{
    Guest *guest = g_new0(Guest, 1);

    guest->qts = qtest_initf("-M %s -m 256 -nodefaults -L /usr/share/seabios "
                             "-L /usr/share/qemu %s", machine, args);
    pc_alloc_init(&guest->alloc, guest->qts, ALLOC_NO_FLAGS);
    guest->bus = qpci_new_pc(guest->qts, &guest->alloc);
    return guest;
}

Guest *guest_start_raw(const char *machine, const char *format, ...)
{
    g_autofree char *args = NULL;
    va_list ap;

    va_start(ap, format);
    args = g_strdup_vprintf(format, ap);
    va_end(ap);
    return guest_start_with(machine, args);
}

Guest *guest_start(const char *machine, const char *format, ...)
{
    g_autofree char *more = NULL;
    g_autofree char *args = NULL;
    va_list ap;

    va_start(ap, format);
    more = g_strdup_vprintf(format, ap);
    va_end(ap);
    args = g_strdup_printf("-object gpgpu-backend-cpu,id=gpu0,threads=2%s %s",
                           worker_option(), more);
    return guest_start_with(machine, args);
}

void guest_stop(Guest *guest)
{
    qpci_free_pc(guest->bus);
    alloc_destroy(&guest->alloc);
    qtest_quit(guest->qts);
    g_free(guest);
}

QDict *query_gpgpu(Guest *guest, const char *id)
{
    QDict *answer = qtest_qmp(guest->qts, "{ 'execute': 'query-gpgpu' }");
    QList *list = qdict_get_qlist(answer, "return");
    QDict *found = NULL;
    QListEntry *entry;

    g_assert_nonnull(list);
    QLIST_FOREACH_ENTRY(list, entry) {
        QDict *row = qobject_to(QDict, qlist_entry_obj(entry));

        if (!strcmp(qdict_get_try_str(row, "id") ?: "", id)) {
            found = row;
            qobject_ref(found);
        }
    }
    qobject_unref(answer);
    g_assert_nonnull(found);
    return found;
}

/* The device ----------------------------------------------------------------*/

Device *device_new(Guest *guest, int slot)
{
    Device *dev = g_new0(Device, 1);
    QPCIAddress addr = { .devfn = QPCI_DEVFN(slot, 0) };

    dev->guest = guest;
    dev->pci = virtio_pci_new(guest->bus, &addr);
    g_assert_nonnull(dev->pci);
    dev->vdev = &dev->pci->vdev;
    g_assert_cmphex(qpci_config_readw(dev->pci->pdev, PCI_DEVICE_ID), ==,
                    GPGPU_PCI_ID);
    qvirtio_pci_device_enable(dev->pci);
    dev->shm = qpci_iomap(dev->pci->pdev, SHM_BAR, &dev->shm_size);
    return dev;
}

static void queue_start(Device *dev, int index)
{
    Queue *q = &dev->queue[index];
    Guest *guest = dev->guest;

    if (q->vq) {
        qvirtqueue_cleanup(dev->vdev->bus, q->vq, &guest->alloc);
    }
    if (!q->memory) {
        q->memory = guest_alloc(&guest->alloc, 2 * SLOTS * SLOT_BYTES);
    }
    q->vq = qvirtqueue_setup(dev->vdev, &guest->alloc, index);
    g_assert_cmpint(q->vq->size, >=, 2 * SLOTS);
    q->busy = 0;
    q->avail_idx = 0;
    q->used_idx = 0;
}

void device_start(Device *dev)
{
    uint64_t features;
    int i;

    qvirtio_start_device(dev->vdev);
    features = qvirtio_get_features(dev->vdev);
    features &= ~(QVIRTIO_F_BAD_FEATURE | 1ull << VIRTIO_RING_F_EVENT_IDX |
                  1ull << VIRTIO_F_RING_PACKED | dev->refused);
    qvirtio_set_features(dev->vdev, features);
    for (i = 0; i < NUM_QUEUES; i++) {
        queue_start(dev, i);
    }
    qvirtio_set_driver_ok(dev->vdev);
}

void device_reset(Device *dev)
{
    qvirtio_reset(dev->vdev);
}

void device_reset_queue(Device *dev, int queue)
{
    uint64_t reset = dev->pci->common_cfg_offset + VIRTIO_PCI_COMMON_Q_RESET;

    dev->vdev->bus->queue_select(dev->vdev, queue);
    qpci_io_writew(dev->pci->pdev, dev->pci->bar, reset, 1);
    g_assert_cmpint(qpci_io_readw(dev->pci->pdev, dev->pci->bar, reset), ==, 0);
}

void device_restart_queue(Device *dev, int queue)
{
    queue_start(dev, queue);
}

void device_free(Device *dev)
{
    int i;

    for (i = 0; i < NUM_QUEUES; i++) {
        if (dev->queue[i].vq) {
            qvirtqueue_cleanup(dev->vdev->bus, dev->queue[i].vq,
                               &dev->guest->alloc);
        }
    }
    qpci_iounmap(dev->pci->pdev, dev->shm);
    qvirtio_pci_device_disable(dev->pci);
    qvirtio_pci_destructor(&dev->pci->obj);
    g_free(dev->pci);
    g_free(dev);
}

uint32_t device_generation(Device *dev)
{
    return qvirtio_config_readl(dev->vdev,
                                offsetof(struct virtio_gpgpu_config,
                                         generation));
}

/* Queues --------------------------------------------------------------------*/

static uint64_t slot_request(Queue *q, int slot)
{
    return q->memory + slot * SLOT_BYTES;
}

static uint64_t slot_response(Queue *q, int slot)
{
    return q->memory + (SLOTS + slot) * SLOT_BYTES;
}

static void write_desc(Device *dev, Queue *q, int index, uint64_t addr,
                       uint32_t len, uint16_t flags, uint16_t next)
{
    struct vring_desc desc = {
        .addr = cpu_to_le64(addr + dev->iova_offset),
        .len = cpu_to_le32(len),
        .flags = cpu_to_le16(flags),
        .next = cpu_to_le16(next),
    };

    qtest_memwrite(dev->guest->qts, q->vq->desc + index * sizeof(desc), &desc,
                   sizeof(desc));
}

int device_post(Device *dev, int queue, const void *request, uint32_t length,
                uint32_t capacity)
{
    QTestState *qts = dev->guest->qts;
    Queue *q = &dev->queue[queue];
    int slot = ctz64(~q->busy);
    int first = length ? 2 * slot : 2 * slot + 1;

    g_assert_cmpint(slot, <, SLOTS);
    if (request) {
        g_assert_cmpint(length, <=, SLOT_BYTES);
        qtest_memwrite(qts, slot_request(q, slot), request, length);
    }
    q->busy |= 1ull << slot;
    write_desc(dev, q, 2 * slot, slot_request(q, slot), length,
               capacity ? VRING_DESC_F_NEXT : 0, 2 * slot + 1);
    write_desc(dev, q, 2 * slot + 1, slot_response(q, slot), capacity,
               VRING_DESC_F_WRITE, 0);
    qtest_writew(qts, q->vq->avail + 4 + 2 * (q->avail_idx % q->vq->size),
                 first);
    qtest_writew(qts, q->vq->avail + 2, ++q->avail_idx);
    return slot;
}

void device_post_iov(Device *dev, int queue, const Part *parts, int num)
{
    QTestState *qts = dev->guest->qts;
    Queue *q = &dev->queue[queue];
    int i;

    for (i = 0; i < num; i++) {
        write_desc(dev, q, i, parts[i].addr, parts[i].size,
                   (i + 1 < num ? VRING_DESC_F_NEXT : 0) |
                   (parts[i].write ? VRING_DESC_F_WRITE : 0), i + 1);
    }
    qtest_writew(qts, q->vq->avail + 4 + 2 * (q->avail_idx % q->vq->size), 0);
    qtest_writew(qts, q->vq->avail + 2, ++q->avail_idx);
}

uint64_t device_register(Device *dev, uint32_t offset)
{
    g_assert_false(dev->pci->bar.is_io);
    return dev->pci->bar.addr + dev->pci->common_cfg_offset + offset;
}

void device_wait_broken(Device *dev)
{
    gint64 start = g_get_monotonic_time();

    while (!(dev->vdev->bus->get_status(dev->vdev) &
             VIRTIO_CONFIG_S_NEEDS_RESET)) {
        g_assert_cmpint(g_get_monotonic_time() - start, <, TIMEOUT_US);
        g_usleep(100);
    }
}

void device_kick(Device *dev, int queue)
{
    dev->vdev->bus->virtqueue_kick(dev->vdev, dev->queue[queue].vq);
}

int device_poll(Device *dev, int queue, Response *response)
{
    QTestState *qts = dev->guest->qts;
    Queue *q = &dev->queue[queue];
    struct virtio_gpgpu_resp_hdr hdr;
    struct vring_used_elem used;
    int slot;

    if (qtest_readw(qts, q->vq->used + 2) == q->used_idx) {
        return -1;
    }
    qtest_memread(qts, q->vq->used + 4 +
                  (q->used_idx % q->vq->size) * sizeof(used), &used,
                  sizeof(used));
    q->used_idx++;
    slot = le32_to_cpu(used.id) / 2;
    g_assert_cmpint(slot, <, SLOTS);
    g_assert_true(q->busy & 1ull << slot);
    q->busy &= ~(1ull << slot);

    memset(response, 0, sizeof(*response));
    response->length = le32_to_cpu(used.len);
    g_assert_cmpint(response->length, <=, SLOT_BYTES);
    qtest_memread(qts, slot_response(q, slot), response->bytes,
                  response->length);
    if (queue != EVENT && response->length >= sizeof(hdr)) {
        memcpy(&hdr, response->bytes, sizeof(hdr));
        response->status = le32_to_cpu(hdr.status);
        response->reason = le32_to_cpu(hdr.reason);
        response->detail = le64_to_cpu(hdr.detail);
        response->cookie = le64_to_cpu(hdr.cookie);
        response->generation = le32_to_cpu(hdr.generation);
        /* the used length is the response's, exactly */
        g_assert_cmpint(le32_to_cpu(hdr.length), ==, response->length);
    }
    return slot;
}

int device_wait(Device *dev, int queue, Response *response)
{
    gint64 start = g_get_monotonic_time();
    int slot;

    for (;;) {
        slot = device_poll(dev, queue, response);
        if (slot >= 0) {
            return slot;
        }
        g_assert_cmpint(g_get_monotonic_time() - start, <, TIMEOUT_US);
        g_usleep(100);
    }
}

void device_call(Device *dev, int queue, const void *request, uint32_t length,
                 uint32_t capacity, Response *response)
{
    int slot = device_post(dev, queue, request, length, capacity);

    device_kick(dev, queue);
    g_assert_cmpint(device_wait(dev, queue, response), ==, slot);
}

void device_post_events(Device *dev, int count)
{
    while (count-- > 0) {
        device_post(dev, EVENT, NULL, 0, sizeof(struct virtio_gpgpu_event));
    }
    device_kick(dev, EVENT);
}

struct virtio_gpgpu_event device_wait_event(Device *dev, uint32_t type)
{
    struct virtio_gpgpu_event event;
    Response response;

    do {
        device_wait(dev, EVENT, &response);
        g_assert_cmpint(response.length, ==, sizeof(event));
        memcpy(&event, response.bytes, sizeof(event));
    } while (le32_to_cpu(event.type) != type);
    return event;
}

/* Requests ------------------------------------------------------------------*/

struct virtio_gpgpu_req_hdr req_hdr(uint32_t type, uint32_t length,
                                    uint64_t cookie)
{
    return (struct virtio_gpgpu_req_hdr) {
        .type = cpu_to_le32(type),
        .length = cpu_to_le32(length),
        .cookie = cpu_to_le64(cookie),
    };
}

struct virtio_gpgpu_req_caps req_caps(uint64_t cookie)
{
    return (struct virtio_gpgpu_req_caps) {
        .hdr = req_hdr(VIRTIO_GPGPU_CMD_GET_CAPS,
                       sizeof(struct virtio_gpgpu_req_caps), cookie),
        .version = cpu_to_le32(VIRTIO_GPGPU_CAPS_VERSION),
    };
}

struct virtio_gpgpu_req_nop req_nop(uint64_t seq, uint64_t cookie)
{
    return (struct virtio_gpgpu_req_nop) {
        .hdr = req_hdr(VIRTIO_GPGPU_CMD_NOP,
                       sizeof(struct virtio_gpgpu_req_nop), cookie),
        .job = { .timeline = cpu_to_le32(1), .seq = cpu_to_le64(seq) },
    };
}

HeldNop req_held(uint64_t seq, uint64_t cookie)
{
    HeldNop held = {
        .nop = req_nop(seq, cookie),
        .fence = {
            .timeline = cpu_to_le32(VIRTIO_GPGPU_MAX_TIMELINES - 1),
            .seq = cpu_to_le64(1000),
        },
    };

    held.nop.hdr.length = cpu_to_le32(sizeof(held));
    held.nop.job.timeline = cpu_to_le32(2);
    held.nop.job.num_fences = cpu_to_le32(1);
    return held;
}

struct virtio_gpgpu_req_buffer_create req_buffer(uint32_t id, uint64_t offset,
                                                 uint64_t size)
{
    return (struct virtio_gpgpu_req_buffer_create) {
        .hdr = req_hdr(VIRTIO_GPGPU_CMD_BUFFER_CREATE,
                       sizeof(struct virtio_gpgpu_req_buffer_create), id),
        .id = cpu_to_le32(id),
        .mem = cpu_to_le32(VIRTIO_GPGPU_MEM_SHM),
        .offset = cpu_to_le64(offset),
        .size = cpu_to_le64(size),
    };
}

struct virtio_gpgpu_req_copy req_fill(uint32_t buffer, uint64_t size,
                                      uint32_t pattern, uint64_t seq,
                                      uint64_t cookie)
{
    return (struct virtio_gpgpu_req_copy) {
        .hdr = req_hdr(VIRTIO_GPGPU_CMD_FILL,
                       sizeof(struct virtio_gpgpu_req_copy), cookie),
        .job = { .timeline = cpu_to_le32(3), .seq = cpu_to_le64(seq) },
        .dst = cpu_to_le32(buffer),
        .size = cpu_to_le64(size),
        .pattern = cpu_to_le32(pattern),
    };
}

/* Checks --------------------------------------------------------------------*/

void check_status(const Response *response, uint32_t status, uint32_t reason)
{
    g_assert_cmpint(response->length, >=, sizeof(struct virtio_gpgpu_resp_hdr));
    g_assert_cmpint(response->status, ==, status);
    g_assert_cmpint(response->reason, ==, reason);
}

void check_alive(Device *dev)
{
    struct virtio_gpgpu_req_caps caps = req_caps(0x1122334455667788);
    struct virtio_gpgpu_resp_caps answer;
    struct virtio_gpgpu_req_nop nop;
    Response response;
    static uint64_t seq;

    device_call(dev, CONTROL, &caps, sizeof(caps), SLOT_BYTES, &response);
    check_status(&response, VIRTIO_GPGPU_S_OK, VIRTIO_GPGPU_R_NONE);
    g_assert_cmphex(response.cookie, ==, 0x1122334455667788);
    g_assert_cmpint(response.generation, ==, device_generation(dev));
    g_assert_cmpint(response.length, ==, sizeof(answer));
    memcpy(&answer, response.bytes, sizeof(answer));
    g_assert_cmpint(le32_to_cpu(answer.caps.version), ==,
                    VIRTIO_GPGPU_CAPS_VERSION);
    g_assert_cmpint(le64_to_cpu(answer.caps.shm_size), ==, dev->shm_size);

    seq++;
    nop = req_nop(seq, seq);
    device_call(dev, COMPUTE, &nop, sizeof(nop), SLOT_BYTES, &response);
    check_status(&response, VIRTIO_GPGPU_S_OK, VIRTIO_GPGPU_R_NONE);
    g_assert_cmphex(response.cookie, ==, seq);
    g_assert_cmpint(response.length, ==, sizeof(struct virtio_gpgpu_resp_job));
}

Device *start_one(Guest *guest)
{
    Device *dev = device_new(guest, SLOT);

    device_start(dev);
    return dev;
}

void stop_one(Device *dev)
{
    Guest *guest = dev->guest;

    device_free(dev);
    guest_stop(guest);
}

pid_t worker_pid(Guest *guest)
{
    QDict *row = query_gpgpu(guest, "gpgpu0");
    pid_t pid = qdict_get_int(row, "worker-pid");

    qobject_unref(row);
    return pid;
}

/* A wrong command line ends with one line that names what is wrong. */
void check_wrong(const char *args, const char *words)
{
    const char *qemu = g_getenv("QTEST_QEMU_BINARY");
    g_autofree char *command = g_strdup_printf(
        "%s -M q35 -nodefaults -display none -accel qtest -L /usr/share/seabios"
        " -L /usr/share/qemu %s", qemu, args);
    g_autofree char *output = NULL;
    g_autoptr(GError) err = NULL;
    int status;

    g_spawn_command_line_sync(command, NULL, &output, &status, &err);
    g_assert_no_error(err);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 1);
    if (!strstr(output, words)) {
        g_test_message("'%s' is not in: %s", words, output);
        g_test_fail();
    }
}
