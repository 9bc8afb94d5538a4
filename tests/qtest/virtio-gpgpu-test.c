/*
 * virtio-gpgpu qtests: the device model, with a real gpgpu-worker behind it
 *
 * How to run: QTEST_QEMU_BINARY=.../qemu-system-x86_64 GPGPU_WORKER=.../gpgpu-worker
 * virtio-gpgpu-test --tap. Without GPGPU_WORKER QEMU looks for it by itself.
 *
 * "Under load" means: requests held in flight by a fence that nobody reaches,
 * which is certain, and fills of the shared memory, which keep the worker
 * writing it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <sys/socket.h>
#include <sys/wait.h>
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "hw/pci/pci_regs.h"
#include "standard-headers/linux/virtio_config.h"
#include "virtio-gpgpu-guest.h"
#include "virtio-gpgpu-mock.h"

#define SLOT        4
#define DEVICE      "-device virtio-gpgpu-pci,id=gpgpu0,gpgpu=gpu0,addr=04.0"
#define SMALL       DEVICE ",shm-size=1M"
#define LOAD_SHM    (64 * MiB)
#define LOAD        DEVICE ",shm-size=64M"

static Device *start_one(Guest *guest)
{
    Device *dev = device_new(guest, SLOT);

    device_start(dev);
    return dev;
}

static void stop_one(Device *dev)
{
    Guest *guest = dev->guest;

    device_free(dev);
    guest_stop(guest);
}

/* What the device is --------------------------------------------------------*/

static void test_config(void)
{
    Guest *guest = guest_start("q35", SMALL ",num-compute-queues=3,"
                               "num-packet-queues=2,device-mem=off");
    Device *dev = device_new(guest, SLOT);
    struct virtio_gpgpu_config config;
    uint64_t features;
    uint8_t *bytes = (uint8_t *)&config;
    uint8_t cap = 0, type;
    bool found = false;
    size_t i;

    g_assert_cmphex(qpci_config_readw(dev->pci->pdev, PCI_CLASS_DEVICE), ==,
                    VIRTIO_GPGPU_PCI_CLASS);
    g_assert_cmphex(dev->shm_size, ==, 1 * MiB);

    /* the shared memory is announced, with its id and BAR */
    while ((cap = qpci_find_capability(dev->pci->pdev, PCI_CAP_ID_VNDR, cap))) {
        type = qpci_config_readb(dev->pci->pdev, cap + 3);
        if (type == 8 /* VIRTIO_PCI_CAP_SHARED_MEMORY_CFG */) {
            found = true;
            g_assert_cmpint(qpci_config_readb(dev->pci->pdev, cap + 4), ==, 4);
            g_assert_cmpint(qpci_config_readb(dev->pci->pdev, cap + 5), ==,
                            VIRTIO_GPGPU_SHM_ID);
            g_assert_cmphex(qpci_config_readl(dev->pci->pdev, cap + 12), ==,
                            1 * MiB);
        }
    }
    g_assert_true(found);

    qvirtio_start_device(dev->vdev);
    features = qvirtio_get_features(dev->vdev);
    g_assert_true(features & 1ull << VIRTIO_F_VERSION_1);
    g_assert_true(features & 1ull << VIRTIO_GPGPU_F_PACKET);
    g_assert_false(features & 1ull << VIRTIO_GPGPU_F_DEVICE_MEM);
    g_assert_false(features & 1ull << VIRTIO_GPGPU_F_NET);
    qvirtio_set_features(dev->vdev, features & ~QVIRTIO_F_BAD_FEATURE);

    for (i = 0; i < sizeof(config); i++) {
        bytes[i] = qvirtio_config_readb(dev->vdev, i);
    }
    g_assert_cmpint(le32_to_cpu(config.version), ==, VIRTIO_GPGPU_VERSION);
    g_assert_cmpint(le32_to_cpu(config.generation), ==, 1);
    g_assert_cmpint(le16_to_cpu(config.num_compute_queues), ==, 3);
    g_assert_cmpint(le16_to_cpu(config.num_packet_queues), ==, 2);
    g_assert_cmpint(le16_to_cpu(config.num_ports), ==, 0);
    g_assert_cmpint(le32_to_cpu(config.max_request), ==, 1 * MiB);
    g_assert_cmpint(le32_to_cpu(config.max_response), ==, 1 * MiB);
    stop_one(dev);
}

static void test_round_trip(void)
{
    Guest *guest = guest_start("q35", SMALL);
    Device *dev = start_one(guest);
    int i;

    for (i = 0; i < 100; i++) {
        check_alive(dev);
    }
    stop_one(dev);
}

/* The shared memory is one memory for guest, QEMU and worker. */
static void test_shared_memory(void)
{
    Guest *guest = guest_start("q35", SMALL);
    Device *dev = start_one(guest);
    struct virtio_gpgpu_req_buffer_create create = req_buffer(7, 64 * KiB,
                                                              64 * KiB);
    struct virtio_gpgpu_req_copy fill = req_fill(7, 64 * KiB, 0xfeedbeef, 1, 2);
    Response response;
    uint32_t words[2];

    qpci_memwrite(dev->pci->pdev, dev->shm, 64 * KiB - 4, "abc", 4);
    device_call(dev, CONTROL, &create, sizeof(create), SLOT_BYTES, &response);
    check_status(&response, VIRTIO_GPGPU_S_OK, 0);
    device_call(dev, COMPUTE, &fill, sizeof(fill), SLOT_BYTES, &response);
    check_status(&response, VIRTIO_GPGPU_S_OK, 0);
    qpci_memread(dev->pci->pdev, dev->shm, 64 * KiB - 4, words, sizeof(words));
    g_assert_cmpstr((char *)&words[0], ==, "abc");
    g_assert_cmphex(le32_to_cpu(words[1]), ==, 0xfeedbeef);
    qpci_memread(dev->pci->pdev, dev->shm, 128 * KiB - 4, words, sizeof(words));
    g_assert_cmphex(le32_to_cpu(words[0]), ==, 0xfeedbeef);
    g_assert_cmphex(words[1], ==, 0);
    stop_one(dev);
}

/* Malformed requests --------------------------------------------------------*/

static void check_bad_input(Device *dev)
{
    struct virtio_gpgpu_req_caps caps = req_caps(3);
    struct virtio_gpgpu_req_nop nop = req_nop(1, 4);
    struct virtio_gpgpu_req_hdr hdr;
    Response response;
    uint32_t length;
    int queue, slot;

    for (queue = CONTROL; queue < NUM_QUEUES; queue++) {
        if (queue == EVENT) {
            continue;
        }
        /* shorter than a header; none at all */
        for (length = 0; length < sizeof(hdr); length += 8) {
            device_call(dev, queue, &caps, length, SLOT_BYTES, &response);
            check_status(&response, VIRTIO_GPGPU_S_INVALID,
                         VIRTIO_GPGPU_R_LENGTH);
            g_assert_cmpint(response.length, ==,
                            sizeof(struct virtio_gpgpu_resp_hdr));
        }
        /* longer than anything (the descriptor covers memory beyond the slot) */
        device_call(dev, queue, NULL, 1 * MiB + 8, SLOT_BYTES, &response);
        check_status(&response, VIRTIO_GPGPU_S_INVALID, VIRTIO_GPGPU_R_LENGTH);

        /* no room for a response header: used length 0, nothing done */
        for (length = 0; length < sizeof(struct virtio_gpgpu_resp_hdr);
             length += 8) {
            device_call(dev, queue, &caps, sizeof(caps), length, &response);
            g_assert_cmpint(response.length, ==, 0);
        }

        /* unknown command */
        hdr = req_hdr(0xdead, sizeof(hdr), 5);
        device_call(dev, queue, &hdr, sizeof(hdr), SLOT_BYTES, &response);
        g_assert_cmpint(response.status, !=, VIRTIO_GPGPU_S_OK);
        g_assert_cmpint(response.cookie, ==, 5);
    }

    /* room for a header but not for the answer */
    device_call(dev, CONTROL, &caps, sizeof(caps),
                sizeof(struct virtio_gpgpu_resp_hdr), &response);
    check_status(&response, VIRTIO_GPGPU_S_INVALID,
                 VIRTIO_GPGPU_R_RESPONSE_SPACE);
    /* header says another length than the element has */
    caps.hdr.length = cpu_to_le32(sizeof(caps) + 8);
    device_call(dev, CONTROL, &caps, sizeof(caps), SLOT_BYTES, &response);
    check_status(&response, VIRTIO_GPGPU_S_INVALID, VIRTIO_GPGPU_R_LENGTH);
    caps = req_caps(3);
    caps.hdr.reserved = cpu_to_le64(1);
    device_call(dev, CONTROL, &caps, sizeof(caps), SLOT_BYTES, &response);
    check_status(&response, VIRTIO_GPGPU_S_INVALID, VIRTIO_GPGPU_R_RESERVED);
    /* right command, wrong queue */
    device_call(dev, CONTROL, &nop, sizeof(nop), SLOT_BYTES, &response);
    check_status(&response, VIRTIO_GPGPU_S_INVALID, VIRTIO_GPGPU_R_QUEUE);

    /* event elements that are too small for an event stay harmless */
    slot = device_post(dev, EVENT, NULL, 0, 8);
    device_kick(dev, EVENT);
    g_assert_cmpint(slot, >=, 0);
    check_alive(dev);
}

static void test_bad_input(void)
{
    Guest *guest = guest_start("q35", SMALL);
    Device *dev = start_one(guest);

    check_bad_input(dev);
    stop_one(dev);
}

/* Threads, IOMMU, several devices -------------------------------------------*/

#define WITH_IOTHREAD "-object iothread,id=io0 " SMALL ",iothread=io0"

static void test_iothread(void)
{
    Guest *guest = guest_start("q35", WITH_IOTHREAD);
    Device *dev = start_one(guest);
    int i;

    for (i = 0; i < 100; i++) {
        check_alive(dev);
    }
    check_bad_input(dev);
    device_reset(dev);
    device_start(dev);
    check_alive(dev);
    stop_one(dev);
}

static void test_no_ioeventfd(void)
{
    Guest *guest = guest_start("q35", SMALL ",ioeventfd=off");
    Device *dev = start_one(guest);

    check_alive(dev);
    check_bad_input(dev);
    stop_one(dev);
}

/* More than the ring holds at once: large requests wait for room, none is lost */
static void check_flood(Device *dev)
{
    struct virtio_gpgpu_req_hdr hdr = req_hdr(0xbeef, 1 * MiB, 9);
    uint64_t big = guest_alloc(&dev->guest->alloc, 1 * MiB);
    Queue *q = &dev->queue[COMPUTE];
    uint64_t memory = q->memory;
    Response response;
    int i;

    qtest_memset(dev->guest->qts, big, 0, 1 * MiB);
    qtest_memwrite(dev->guest->qts, big, &hdr, sizeof(hdr));
    for (i = 0; i < SLOTS; i++) {
        int slot;

        /* all share the request's bytes; each has its own response */
        slot = device_post(dev, COMPUTE, NULL, 1 * MiB, SLOT_BYTES);
        qtest_writeq(dev->guest->qts, q->vq->desc + 2 * slot * 16, big);
    }
    g_assert_cmphex(q->memory, ==, memory);
    device_kick(dev, COMPUTE);
    for (i = 0; i < SLOTS; i++) {
        device_wait(dev, COMPUTE, &response);
        g_assert_cmpint(response.cookie, ==, 9);
        g_assert_cmpint(response.status, !=, VIRTIO_GPGPU_S_OK);
    }
    guest_free(&dev->guest->alloc, big);
    check_alive(dev);
}

static void test_flood(void)
{
    Guest *guest = guest_start("q35", SMALL);
    Device *dev = start_one(guest);

    check_flood(dev);
    stop_one(dev);
}

static void test_flood_iothread(void)
{
    Guest *guest = guest_start("q35", WITH_IOTHREAD);
    Device *dev = start_one(guest);

    check_flood(dev);
    stop_one(dev);
}

static void test_two_devices(void)
{
    Guest *guest = guest_start("q35", SMALL " -device virtio-gpgpu-pci,"
                               "id=gpgpu1,gpgpu=gpu0,addr=05.0,shm-size=2M,"
                               "weight=300");
    Device *a = start_one(guest), *b = device_new(guest, 5);
    struct virtio_gpgpu_req_buffer_create create = req_buffer(1, 0, 4096);
    QDict *row_a, *row_b;
    Response response;

    device_start(b);
    check_alive(a);
    check_alive(b);
    /* ids are a device's own */
    device_call(a, CONTROL, &create, sizeof(create), SLOT_BYTES, &response);
    check_status(&response, VIRTIO_GPGPU_S_OK, 0);
    device_call(b, CONTROL, &create, sizeof(create), SLOT_BYTES, &response);
    check_status(&response, VIRTIO_GPGPU_S_OK, 0);

    row_a = query_gpgpu(guest, "gpgpu0");
    row_b = query_gpgpu(guest, "gpgpu1");
    g_assert_cmpint(qdict_get_int(row_a, "worker-pid"), ==,
                    qdict_get_int(row_b, "worker-pid"));
    g_assert_cmpstr(qdict_get_str(row_a, "backend"), ==, "/objects/gpu0");
    g_assert_cmpint(qdict_get_int(row_a, "weight"), ==, 100);
    g_assert_cmpint(qdict_get_int(row_b, "weight"), ==, 300);
    qobject_unref(row_a);
    qobject_unref(row_b);

    /* one's reset leaves the other alone */
    device_reset(a);
    device_call(b, CONTROL, &create, sizeof(create), SLOT_BYTES, &response);
    check_status(&response, VIRTIO_GPGPU_S_EXISTS, VIRTIO_GPGPU_R_BUFFER);
    check_alive(b);
    device_free(b);
    stop_one(a);
}

/* Intel's IOMMU: registers and tables */
#define VTD             0xfed90000ull
#define VTD_GCMD        0x18
#define VTD_GSTS        0x1c
#define VTD_RTADDR      0x20
#define GCMD_TE         (1u << 31)
#define GCMD_SRTP       (1u << 30)
#define PTE_RW          3ull
#define PTE_LARGE       (1ull << 7)
#define IOVA_OFFSET     (1 * GiB)

static uint64_t zeroed_page(Guest *guest)
{
    uint64_t page = guest_alloc(&guest->alloc, 4096);

    g_assert_cmphex(page & 4095, ==, 0);
    qtest_memset(guest->qts, page, 0, 4096);
    return page;
}

/*
 * Guest memory is visible at its own address (for the rings, which libqos
 * places) and 1 GiB above it; everything else is not.
 */
static void iommu_enable(Guest *guest)
{
    QTestState *qts = guest->qts;
    uint64_t root = zeroed_page(guest), context = zeroed_page(guest);
    uint64_t l4 = zeroed_page(guest), l3 = zeroed_page(guest);
    uint64_t l2 = zeroed_page(guest);
    int i;

    qtest_writeq(qts, root, context | 1);
    for (i = 0; i < 256; i++) {
        qtest_writeq(qts, context + 16 * i, l4 | 1);
        qtest_writeq(qts, context + 16 * i + 8, 2 | 1 << 8); /* 4 levels */
    }
    qtest_writeq(qts, l4, l3 | PTE_RW);
    qtest_writeq(qts, l3, l2 | PTE_RW);
    qtest_writeq(qts, l3 + 8, l2 | PTE_RW);
    for (i = 0; i < 128; i++) {
        qtest_writeq(qts, l2 + 8 * i, (uint64_t)i << 21 | PTE_RW | PTE_LARGE);
    }
    qtest_writeq(qts, VTD + VTD_RTADDR, root);
    qtest_writel(qts, VTD + VTD_GCMD, GCMD_SRTP);
    qtest_writel(qts, VTD + VTD_GCMD, GCMD_TE);
    g_assert_true(qtest_readl(qts, VTD + VTD_GSTS) & GCMD_TE);
}

static void check_iommu(const char *more)
{
    Guest *guest = guest_start("q35", "-device intel-iommu,intremap=off "
                               "%s -device virtio-gpgpu-pci,id=gpgpu0,"
                               "gpgpu=gpu0,addr=04.0,shm-size=1M,"
                               "iommu_platform=on%s",
                               *more ? "-object iothread,id=io0" : "", more);
    Device *dev = device_new(guest, SLOT);
    struct virtio_gpgpu_req_caps caps = req_caps(1);
    Response response;
    gint64 start;

    iommu_enable(guest);
    device_start(dev);
    g_assert_true(dev->vdev->features & 1ull << VIRTIO_F_ACCESS_PLATFORM);
    check_alive(dev);
    /* translated addresses work ... */
    dev->iova_offset = IOVA_OFFSET;
    check_alive(dev);
    check_bad_input(dev);
    /* ... and where nothing is mapped nothing is read: the queue is broken */
    dev->iova_offset = 2 * IOVA_OFFSET;
    device_post(dev, CONTROL, &caps, sizeof(caps), SLOT_BYTES);
    device_kick(dev, CONTROL);
    start = g_get_monotonic_time();
    while (!(dev->vdev->bus->get_status(dev->vdev) &
             VIRTIO_CONFIG_S_NEEDS_RESET)) {
        g_assert_cmpint(g_get_monotonic_time() - start, <, TIMEOUT_US);
    }
    g_assert_cmpint(device_poll(dev, CONTROL, &response), ==, -1);
    /* and a reset mends it */
    dev->iova_offset = 0;
    device_reset(dev);
    device_start(dev);
    check_alive(dev);
    stop_one(dev);
}

static void test_iommu(void)
{
    check_iommu("");
}

static void test_iommu_iothread(void)
{
    check_iommu(",iothread=io0");
}

/* Under load ----------------------------------------------------------------*/

#define HELD    8       /* requests that stay in flight */
#define FILLS   32

/* Start requests on a device with LOAD_SHM of shared memory. */
static void start_load(Device *dev)
{
    struct virtio_gpgpu_req_buffer_create create = req_buffer(1, 0, LOAD_SHM);
    struct virtio_gpgpu_req_copy fill;
    HeldNop held;
    Response response;
    int i;

    device_call(dev, CONTROL, &create, sizeof(create), SLOT_BYTES, &response);
    check_status(&response, VIRTIO_GPGPU_S_OK, 0);
    for (i = 0; i < HELD; i++) {
        held = req_held(i + 1, 1000 + i);
        device_post(dev, COMPUTE, &held, sizeof(held), SLOT_BYTES);
    }
    for (i = 0; i < FILLS; i++) {
        fill = req_fill(1, LOAD_SHM, 0x01010101u * (i + 1), i + 1, 2000 + i);
        device_post(dev, COMPUTE, &fill, sizeof(fill), SLOT_BYTES);
    }
    device_kick(dev, COMPUTE);
    /* it has begun */
    while (!qpci_io_readl(dev->pci->pdev, dev->shm, 0)) {
        g_usleep(100);
    }
}

#define SAMPLES     512

static void sample_shm(Device *dev, uint32_t *samples)
{
    int i;

    for (i = 0; i < SAMPLES; i++) {
        samples[i] = qpci_io_readl(dev->pci->pdev, dev->shm,
                                   i * (LOAD_SHM / SAMPLES));
    }
}

static void check_reset_under_load(const char *more)
{
    Guest *guest = guest_start("q35", "-object iothread,id=io0 " LOAD "%s",
                               more);
    Device *dev = start_one(guest);
    uint32_t before[SAMPLES], after[SAMPLES];
    uint16_t used;
    int i;

    for (i = 0; i < 3; i++) {
        Queue *q = &dev->queue[COMPUTE];

        start_load(dev);
        device_reset(dev);
        /* nothing is written from here on, neither rings nor shared memory */
        used = qtest_readw(guest->qts, q->vq->used + 2);
        sample_shm(dev, before);
        g_usleep(100 * 1000);
        sample_shm(dev, after);
        g_assert_cmpmem(before, sizeof(before), after, sizeof(after));
        g_assert_cmpint(qtest_readw(guest->qts, q->vq->used + 2), ==, used);

        qpci_memwrite(dev->pci->pdev, dev->shm, 0, "\0\0\0", 4);
        device_start(dev);
        check_alive(dev);
    }
    stop_one(dev);
}

static void test_reset_under_load(void)
{
    check_reset_under_load("");
}

static void test_reset_under_load_iothread(void)
{
    check_reset_under_load(",iothread=io0");
}

static void check_stop_under_load(const char *more)
{
    Guest *guest = guest_start("q35", "-object iothread,id=io0 " LOAD "%s",
                               more);
    Device *dev = start_one(guest);
    Queue *q = &dev->queue[COMPUTE];
    uint32_t before[SAMPLES], after[SAMPLES];
    uint16_t used;
    Response response;
    int done = 0, i;

    start_load(dev);
    for (i = 0; i < 3; i++) {
        gint64 start = g_get_monotonic_time();

        qtest_qmp_assert_success(guest->qts, "{ 'execute': 'stop' }");
        g_assert_cmpint(g_get_monotonic_time() - start, <, 10 * G_USEC_PER_SEC);
        used = qtest_readw(guest->qts, q->vq->used + 2);
        sample_shm(dev, before);
        g_usleep(100 * 1000);
        sample_shm(dev, after);
        g_assert_cmpmem(before, sizeof(before), after, sizeof(after));
        g_assert_cmpint(qtest_readw(guest->qts, q->vq->used + 2), ==, used);
        qtest_qmp_assert_success(guest->qts, "{ 'execute': 'cont' }");
        g_usleep(5 * 1000);
    }
    /* nothing got lost */
    while (done < FILLS) {
        device_wait(dev, COMPUTE, &response);
        check_status(&response, VIRTIO_GPGPU_S_OK, 0);
        g_assert_cmpint(response.cookie, >=, 2000);
        done++;
    }
    sample_shm(dev, after);
    for (i = 0; i < SAMPLES; i++) {
        g_assert_cmphex(after[i], ==, 0x01010101u * FILLS);
    }
    check_alive(dev);
    stop_one(dev);
}

static void test_stop_under_load(void)
{
    check_stop_under_load("");
}

static void test_stop_under_load_iothread(void)
{
    check_stop_under_load(",iothread=io0");
}

/* Reset while stopped, and requests put on the queue before "cont" */
static void test_reset_while_stopped(void)
{
    Guest *guest = guest_start("q35", LOAD);
    Device *dev = start_one(guest);

    start_load(dev);
    qtest_qmp_assert_success(guest->qts, "{ 'execute': 'stop' }");
    qtest_qmp_assert_success(guest->qts, "{ 'execute': 'system_reset' }");
    qtest_qmp_eventwait(guest->qts, "RESET");
    qtest_qmp_assert_success(guest->qts, "{ 'execute': 'cont' }");
    /* the reset took the BARs with it: find the device again */
    device_free(dev);
    dev = start_one(guest);
    g_assert_cmpint(device_generation(dev), ==, 1);
    check_alive(dev);
    stop_one(dev);
}

static void check_unplug(const char *more)
{
    Guest *guest = guest_start("pc", "-object iothread,id=io0 " LOAD "%s", more);
    Device *dev = start_one(guest);
    QDict *answer;

    start_load(dev);
    qpci_unplug_acpi_device_test(guest->qts, "gpgpu0", SLOT);
    /* the backend is free again, and the next device works */
    answer = qtest_qmp(guest->qts, "{ 'execute': 'query-gpgpu' }");
    g_assert_true(qlist_empty(qdict_get_qlist(answer, "return")));
    qobject_unref(answer);
    qtest_qmp_device_add(guest->qts, "virtio-gpgpu-pci", "gpgpu1",
                         "{ 'gpgpu': 'gpu0', 'addr': '05.0',"
                         "  'shm-size': 1048576 }");
    dev = device_new(guest, 5);
    device_start(dev);
    check_alive(dev);
    guest_stop(guest);
}

static void test_unplug_under_load(void)
{
    check_unplug("");
}

static void test_unplug_under_load_iothread(void)
{
    check_unplug(",iothread=io0");
}

/* A lost worker -------------------------------------------------------------*/

static pid_t worker_pid(Guest *guest)
{
    QDict *row = query_gpgpu(guest, "gpgpu0");
    pid_t pid = qdict_get_int(row, "worker-pid");

    qobject_unref(row);
    return pid;
}

static void check_lost(Guest *guest)
{
    Device *dev = start_one(guest);
    uint32_t generation = device_generation(dev), i;
    struct virtio_gpgpu_event event;
    QDict *qmp, *data;
    Response response;
    HeldNop held;
    pid_t pid;

    g_assert_cmpint(generation, ==, 1);
    device_post_events(dev, 8);
    for (i = 0; i < HELD; i++) {
        held = req_held(i + 1, 1000 + i);
        device_post(dev, COMPUTE, &held, sizeof(held), SLOT_BYTES);
    }
    device_kick(dev, COMPUTE);
    check_alive(dev);

    pid = worker_pid(guest);
    g_assert_cmpint(pid, >, 1);
    g_assert_cmpint(kill(pid, SIGKILL), ==, 0);

    /* every request is answered */
    for (i = 0; i < HELD; i++) {
        device_wait(dev, COMPUTE, &response);
        check_status(&response, VIRTIO_GPGPU_S_DEVICE_LOST,
                     VIRTIO_GPGPU_R_WORKER_DIED);
        g_assert_cmpint(response.cookie, >=, 1000);
        g_assert_cmpint(response.generation, ==, 2);
    }
    /* everybody is told */
    qmp = qtest_qmp_eventwait_ref(guest->qts, "GPGPU_DEVICE_LOST");
    data = qdict_get_qdict(qmp, "data");
    g_assert_cmpstr(qdict_get_str(data, "id"), ==, "gpgpu0");
    g_assert_cmpint(qdict_get_int(data, "generation"), ==, 2);
    g_assert_nonnull(strstr(qdict_get_str(data, "reason"), "signal 9") ?:
                     strstr(qdict_get_str(data, "reason"), "closed"));
    qobject_unref(qmp);
    event = device_wait_event(dev, VIRTIO_GPGPU_EV_DEVICE_LOST);
    g_assert_cmpint(le32_to_cpu(event.reason), ==, VIRTIO_GPGPU_R_WORKER_DIED);
    g_assert_cmpint(le64_to_cpu(event.value), ==, 2);
    qvirtio_wait_config_isr(dev->vdev, TIMEOUT_US);
    g_assert_cmpint(device_generation(dev), ==, 2);

    /* and it comes back, without the objects */
    event = device_wait_event(dev, VIRTIO_GPGPU_EV_DEVICE_READY);
    g_assert_cmpint(le64_to_cpu(event.value), ==, 2);
    check_alive(dev);
    g_assert_cmpint(worker_pid(guest), !=, pid);
    device_free(dev);
}

static void test_worker_killed(void)
{
    Guest *guest = guest_start("q35", SMALL);

    check_lost(guest);
    guest_stop(guest);
}

static void test_worker_killed_iothread(void)
{
    Guest *guest = guest_start("q35", WITH_IOTHREAD);

    check_lost(guest);
    guest_stop(guest);
}

/* A stopped VM learns of it when it runs again; its memory stays untouched. */
static void test_worker_killed_while_stopped(void)
{
    Guest *guest = guest_start("q35", SMALL);
    Device *dev = start_one(guest);
    Queue *q = &dev->queue[COMPUTE];
    HeldNop held = req_held(1, 77);
    Response response;
    uint16_t used;

    device_post(dev, COMPUTE, &held, sizeof(held), SLOT_BYTES);
    device_kick(dev, COMPUTE);
    check_alive(dev);
    qtest_qmp_assert_success(guest->qts, "{ 'execute': 'stop' }");
    used = qtest_readw(guest->qts, q->vq->used + 2);
    g_assert_cmpint(kill(worker_pid(guest), SIGKILL), ==, 0);
    qtest_qmp_eventwait(guest->qts, "GPGPU_DEVICE_LOST");
    g_usleep(300 * 1000);
    g_assert_cmpint(qtest_readw(guest->qts, q->vq->used + 2), ==, used);
    qtest_qmp_assert_success(guest->qts, "{ 'execute': 'cont' }");
    device_wait(dev, COMPUTE, &response);
    check_status(&response, VIRTIO_GPGPU_S_DEVICE_LOST,
                 VIRTIO_GPGPU_R_WORKER_DIED);
    g_assert_cmpint(response.cookie, ==, 77);
    g_assert_cmpint(device_generation(dev), ==, 2);
    check_alive(dev);
    stop_one(dev);
}

/* With a hung worker "stop" ends within its bound, by ending the worker. */
static void test_worker_hung(void)
{
    Guest *guest = guest_start("q35", SMALL);
    Device *dev = start_one(guest);
    gint64 start;
    pid_t pid;

    check_alive(dev);
    pid = worker_pid(guest);
    g_assert_cmpint(kill(pid, SIGSTOP), ==, 0);
    start = g_get_monotonic_time();
    qtest_qmp_assert_success(guest->qts, "{ 'execute': 'stop' }");
    g_assert_cmpint(g_get_monotonic_time() - start, <, 10 * G_USEC_PER_SEC);
    qtest_qmp_eventwait(guest->qts, "GPGPU_DEVICE_LOST");
    qtest_qmp_assert_success(guest->qts, "{ 'execute': 'cont' }");
    g_assert_cmpint(device_generation(dev), ==, 2);
    stop_one(dev);
}

/* Requests of a queue that is reset are forgotten; the others are not. */
static void check_queue_reset(const char *more)
{
    Guest *guest = guest_start("q35", "-object iothread,id=io0 " SMALL "%s",
                               more);
    Device *dev = start_one(guest);
    Queue *q = &dev->queue[COMPUTE];
    HeldNop held;
    Response response;
    uint16_t used;
    int i;

    for (i = 0; i < HELD; i++) {
        held = req_held(i + 1, i);
        device_post(dev, COMPUTE, &held, sizeof(held), SLOT_BYTES);
    }
    device_kick(dev, COMPUTE);
    check_alive(dev);
    device_reset_queue(dev, COMPUTE);
    used = qtest_readw(guest->qts, q->vq->used + 2);
    g_assert_cmpint(dev->queue[CONTROL].busy, ==, 0);
    device_restart_queue(dev, COMPUTE);
    check_alive(dev);
    g_assert_cmpint(used, ==, 1);
    /* an old request's answer does not come on the new queue */
    g_assert_cmpint(device_poll(dev, COMPUTE, &response), ==, -1);
    device_reset(dev);
    device_start(dev);
    check_alive(dev);
    stop_one(dev);
}

static void test_queue_reset(void)
{
    check_queue_reset("");
}

static void test_queue_reset_iothread(void)
{
    check_queue_reset(",iothread=io0");
}

/* Events that find no element are counted; the next one says how many. */
static void test_events(void)
{
    Guest *guest = guest_start("q35", SMALL);
    Device *dev = start_one(guest);
    struct virtio_gpgpu_event event;
    int i;

    for (i = 0; i < 3; i++) {
        qtest_qmp_assert_success(guest->qts, "{ 'execute': 'gpgpu-set-quota',"
            "'arguments': { 'id': 'gpgpu0', 'weight': %d } }", 10 + i);
    }
    /* the worker tells when it has them; a round trip is later than that */
    device_reset(dev);
    device_start(dev);
    for (i = 0; i < 3; i++) {
        qtest_qmp_assert_success(guest->qts, "{ 'execute': 'gpgpu-set-quota',"
            "'arguments': { 'id': 'gpgpu0', 'weight': %d } }", 20 + i);
    }
    for (i = 0; i < 100; i++) {
        check_alive(dev);
    }
    device_post_events(dev, 1);
    qtest_qmp_assert_success(guest->qts, "{ 'execute': 'gpgpu-set-quota',"
        "'arguments': { 'id': 'gpgpu0', 'memory-limit': 12345678 } }");
    event = device_wait_event(dev, VIRTIO_GPGPU_EV_QUOTA);
    g_assert_cmpint(le64_to_cpu(event.value), ==, 12345678);
    g_assert_cmpint(le64_to_cpu(event.dropped), ==, 3);
    g_assert_cmpint(le32_to_cpu(event.generation), ==, 1);
    stop_one(dev);
}

/* A worker that runs already ------------------------------------------------*/

static pid_t start_worker(const char *socket)
{
    const char *worker = g_getenv("GPGPU_WORKER");
    g_autofree char *listen = g_strdup_printf("--listen=%s", socket);
    char *argv[] = { (char *)worker, listen, (char *)"--threads=1",
                     (char *)"--keep", NULL };
    g_autoptr(GError) err = NULL;
    GPid pid;
    int i;

    g_spawn_async(NULL, argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid,
                  &err);
    g_assert_no_error(err);
    for (i = 0; access(socket, F_OK) < 0; i++) {
        g_assert_cmpint(i, <, 10000);
        g_usleep(1000);
    }
    return pid;
}

static void test_sandbox(void)
{
    g_autofree char *dir = g_dir_make_tmp("gpgpu-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "worker", NULL);
    pid_t worker;
    Guest *guest;
    Device *dev;

    if (!g_getenv("GPGPU_WORKER")) {
        g_test_skip("needs GPGPU_WORKER to start a worker");
        return;
    }
    worker = start_worker(path);
    guest = guest_start_raw("q35", "-sandbox on,spawn=deny -object "
                            "gpgpu-backend-cpu,id=gpu0,path=%s " SMALL, path);
    dev = start_one(guest);
    check_alive(dev);
    g_assert_cmpint(worker_pid(guest), ==, worker);
    check_bad_input(dev);
    stop_one(dev);
    kill(worker, SIGTERM);
    waitpid(worker, NULL, 0);
    unlink(path);
    rmdir(dir);
}

/*
 * fd=: the socket is handed over through the monitor. Once that worker is gone
 * there is no other: the device says so and stays lost.
 */
static void test_passed_fd(void)
{
    Guest *guest = guest_start_raw("pc", "%s", "");
    const char *program = g_getenv("GPGPU_WORKER");
    struct virtio_gpgpu_req_caps caps = req_caps(1);
    char *argv[] = { (char *)program, (char *)"--fd=3", NULL };
    Response response;
    int fds[2];
    pid_t pid;
    Device *dev;
    QDict *row;

    if (!program) {
        g_test_skip("needs GPGPU_WORKER to start a worker");
        guest_stop(guest);
        return;
    }
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds),
                    ==, 0);
    pid = fork();
    g_assert_cmpint(pid, >=, 0);
    if (!pid) {
        dup2(fds[1], 3);
        execv(program, argv);
        _exit(127);
    }
    close(fds[1]);
    qtest_qmp_fds_assert_success(guest->qts, &fds[0], 1,
        "{ 'execute': 'getfd', 'arguments': { 'fdname': 'worker' } }");
    close(fds[0]);
    qtest_qmp_assert_success(guest->qts, "{ 'execute': 'object-add',"
        "'arguments': { 'qom-type': 'gpgpu-backend-cpu', 'id': 'gpu0',"
        "               'fd': 'worker' } }");
    qtest_qmp_assert_success(guest->qts, "{ 'execute': 'device_add',"
        "'arguments': { 'driver': 'virtio-gpgpu-pci', 'id': 'gpgpu0',"
        "               'gpgpu': 'gpu0', 'addr': '04.0',"
        "               'shm-size': 1048576 } }");
    dev = start_one(guest);
    check_alive(dev);
    g_assert_cmpint(worker_pid(guest), ==, pid);

    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    qtest_qmp_eventwait(guest->qts, "GPGPU_DEVICE_LOST");
    row = query_gpgpu(guest, "gpgpu0");
    g_assert_cmpstr(qdict_get_str(row, "state"), ==, "failed");
    g_assert_cmpint(qdict_get_int(row, "generation"), ==, 2);
    qobject_unref(row);
    device_call(dev, CONTROL, &caps, sizeof(caps), SLOT_BYTES, &response);
    check_status(&response, VIRTIO_GPGPU_S_DEVICE_LOST,
                 VIRTIO_GPGPU_R_NO_WORKER);
    /* which is no reason not to be reset */
    device_reset(dev);
    device_start(dev);
    stop_one(dev);
}

/* A worker that breaks the rules --------------------------------------------*/

static void check_wrong(const char *args, const char *words);

/* The worker is given up, the request answered, and the next worker serves. */
static void check_mock_fault(const char *path, MockFault fault,
                             const char *more)
{
    Mock *mock = mock_start(path, fault);
    Guest *guest = guest_start_raw("q35", "-object iothread,id=io0 -object "
                                   "gpgpu-backend-cpu,id=gpu0,path=%s "
                                   SMALL "%s", path, more);
    Device *dev = start_one(guest);
    struct virtio_gpgpu_req_hdr hdr = req_hdr(VIRTIO_GPGPU_CMD_GET_STATS,
                                              sizeof(hdr), 5);
    Response response;

    device_post_events(dev, 4);
    device_call(dev, CONTROL, &hdr, sizeof(hdr), SLOT_BYTES, &response);
    if (fault == MOCK_PADDING) {
        check_status(&response, VIRTIO_GPGPU_S_OK, 0);
        g_assert_cmpint(device_generation(dev), ==, 1);
    } else {
        /* of two answers the first may have been good */
        if (fault != MOCK_TAG_TWICE || response.status) {
            check_status(&response, VIRTIO_GPGPU_S_DEVICE_LOST,
                         VIRTIO_GPGPU_R_WORKER_DIED);
        }
        device_wait_event(dev, VIRTIO_GPGPU_EV_DEVICE_LOST);
        device_wait_event(dev, VIRTIO_GPGPU_EV_DEVICE_READY);
        g_assert_cmpint(device_generation(dev), ==, 2);
        device_call(dev, CONTROL, &hdr, sizeof(hdr), SLOT_BYTES, &response);
        check_status(&response, VIRTIO_GPGPU_S_OK, 0);
    }
    g_assert_cmpint(response.cookie, ==, 5);
    stop_one(dev);
    mock_stop(mock);
}

static void check_mock_faults(const char *more)
{
    g_autofree char *dir = g_dir_make_tmp("gpgpu-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "worker", NULL);
    MockFault fault;

    for (fault = MOCK_UNKNOWN_MESSAGE; fault < MOCK__MAX; fault++) {
        g_test_message("fault %d", fault);
        check_mock_fault(path, fault, more);
    }
    unlink(path);
    rmdir(dir);
}

static void test_wrong_worker(void)
{
    check_mock_faults("");
}

static void test_wrong_worker_iothread(void)
{
    check_mock_faults(",iothread=io0");
}

static void test_wrong_greeting(void)
{
    static const struct {
        MockFault fault;
        const char *words;
    } cases[] = {
        { MOCK_WRONG_MAGIC, "another version" },
        { MOCK_WRONG_VERSION, "another version" },
        { MOCK_SHORT_WELCOME, "short WELCOME" },
        { MOCK_WRONG_SIZE, "wrong size" },
        { MOCK_NO_WELCOME, "did not answer HELLO" },
        { MOCK_REFUSE_OPEN, "it does not feel like it" },
        { MOCK_CLOSE_AT_OPEN, "connection closed" },
    };
    g_autofree char *dir = g_dir_make_tmp("gpgpu-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "worker", NULL);
    g_autofree char *args = g_strdup_printf(
        "-object gpgpu-backend-cpu,id=gpu0,path=%s " SMALL, path);
    size_t i;

    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        Mock *mock = mock_start(path, cases[i].fault);

        check_wrong(args, cases[i].words);
        mock_stop(mock);
    }
    unlink(path);
    rmdir(dir);
}

/* What people do ------------------------------------------------------------*/

static void test_quota(void)
{
    Guest *guest = guest_start("q35", SMALL ",weight=50,cap=5000,"
                               "memory-limit=8M");
    Device *dev = start_one(guest);
    struct virtio_gpgpu_req_hdr hdr = req_hdr(VIRTIO_GPGPU_CMD_GET_STATS,
                                              sizeof(hdr), 1);
    struct virtio_gpgpu_resp_stats stats;
    Response response;
    QDict *row, *answer;

    row = query_gpgpu(guest, "gpgpu0");
    g_assert_cmpint(qdict_get_int(row, "weight"), ==, 50);
    g_assert_cmpint(qdict_get_int(row, "cap"), ==, 5000);
    g_assert_cmpint(qdict_get_int(row, "memory-limit"), ==, 8 * MiB);
    g_assert_cmpstr(qdict_get_str(row, "state"), ==, "ready");
    g_assert_cmpint(qdict_get_int(row, "threads"), ==, 2);
    qobject_unref(row);

    /* what is left out stays */
    qtest_qmp_assert_success(guest->qts, "{ 'execute': 'gpgpu-set-quota',"
                             "'arguments': { 'id': 'gpgpu0', 'weight': 300 } }");
    row = query_gpgpu(guest, "gpgpu0");
    g_assert_cmpint(qdict_get_int(row, "weight"), ==, 300);
    g_assert_cmpint(qdict_get_int(row, "cap"), ==, 5000);
    qobject_unref(row);
    /* the guest sees it */
    device_call(dev, CONTROL, &hdr, sizeof(hdr), SLOT_BYTES, &response);
    check_status(&response, VIRTIO_GPGPU_S_OK, 0);
    memcpy(&stats, response.bytes, sizeof(stats));
    g_assert_cmpint(le32_to_cpu(stats.weight), ==, 300);
    g_assert_cmpint(le32_to_cpu(stats.cap), ==, 5000);
    g_assert_cmpint(le64_to_cpu(stats.memory_limit), ==, 8 * MiB);

    /* wrong values change nothing */
    answer = qtest_qmp_assert_failure_ref(guest->qts,
        "{ 'execute': 'gpgpu-set-quota', 'arguments': "
        "{ 'id': 'gpgpu0', 'weight': 7, 'cap': 10001 } }");
    g_assert_nonnull(strstr(qdict_get_str(answer, "desc"), "'cap'"));
    qobject_unref(answer);
    answer = qtest_qmp_assert_failure_ref(guest->qts,
        "{ 'execute': 'gpgpu-set-quota', 'arguments': "
        "{ 'id': 'nobody', 'weight': 7 } }");
    g_assert_nonnull(strstr(qdict_get_str(answer, "desc"), "nobody"));
    qobject_unref(answer);
    row = query_gpgpu(guest, "gpgpu0");
    g_assert_cmpint(qdict_get_int(row, "weight"), ==, 300);
    qobject_unref(row);
    stop_one(dev);
}

static void test_migration(void)
{
    Guest *guest = guest_start("q35", SMALL);
    g_autofree char *text = NULL;
    QDict *answer;

    answer = qtest_qmp_assert_failure_ref(guest->qts,
        "{ 'execute': 'migrate', 'arguments': { 'uri': 'exec:cat' } }");
    g_assert_nonnull(strstr(qdict_get_str(answer, "desc"),
                            "virtio-gpgpu gpgpu0: "));
    qobject_unref(answer);
    text = qtest_hmp(guest->qts, "savevm here");
    g_assert_nonnull(strstr(text, "virtio-gpgpu gpgpu0: "));
    guest_stop(guest);
}

/* HMP shows what QMP does. */
static void test_info(void)
{
    Guest *guest = guest_start("q35", SMALL ",weight=77");
    g_autofree char *text = qtest_hmp(guest->qts, "info gpgpu");

    g_assert_nonnull(strstr(text, "gpgpu0: ready, generation 1, "));
    g_assert_nonnull(strstr(text, "weight 77, cap 10000/10000, "));
    guest_stop(guest);
}

/* x-query-virtio-status knows the device and its features. */
static void test_virtio_status(void)
{
    Guest *guest = guest_start("q35", SMALL);
    Device *dev = start_one(guest);
    QDict *answer;

    answer = qtest_qmp(guest->qts, "{ 'execute': 'x-query-virtio-status',"
                       "'arguments': { 'path': "
                       "'/machine/peripheral/gpgpu0/virtio-backend' } }");
    g_assert_true(qdict_haskey(answer, "return"));
    qobject_unref(answer);
    stop_one(dev);
}

/* A wrong command line ends with one line that names what is wrong. */
static void check_wrong(const char *args, const char *words)
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

static void test_wrong_properties(void)
{
    static const struct {
        const char *args, *words;
    } cases[] = {
        { "weight=0", "'weight'" },
        { "weight=10001", "'weight'" },
        { "cap=0", "'cap'" },
        { "cap=10001", "'cap'" },
        { "memory-limit=0", "'memory-limit'" },
        { "queue-size=100", "'queue-size'" },
        { "queue-size=2048", "'queue-size'" },
        { "num-compute-queues=0", "'num-compute-queues'" },
        { "num-compute-queues=17", "'num-compute-queues'" },
        { "num-packet-queues=17", "'num-packet-queues'" },
        { "num-packet-queues=0", "'num-packet-queues'" },
        { "shm-size=3M", "'shm-size'" },
        { "shm-size=4k", "'shm-size'" },
        { "iothread=nobody", "nobody" },
        { "gpgpu=nobody", "nobody" },
    };
    static const struct {
        const char *args, *words;
    } backends[] = {
        { "worker=/nonexistent/worker", "'worker'" },
        { "worker=/bin/true", "worker exited with status 0" },
        { "path=/nonexistent/socket", "'path'" },
        { "path=/nonexistent/socket,fd=3", "'fd'" },
        { "path=/nonexistent/socket,threads=1", "'threads'" },
        { "fd=1", "'fd'" },
        { "fd=99", "'fd'" },
        { "threads=100000", "'threads'" },
    };
    g_autofree char *sandbox = NULL;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        g_autofree char *args = g_strdup_printf(
            "-object gpgpu-backend-cpu,id=gpu0%s "
            "-device virtio-gpgpu-pci,%s%s", worker_option(), cases[i].args,
            g_str_has_prefix(cases[i].args, "gpgpu=") ? "" : ",gpgpu=gpu0");

        check_wrong(args, cases[i].words);
    }
    for (i = 0; i < ARRAY_SIZE(backends); i++) {
        g_autofree char *args = g_strdup_printf(
            "-object gpgpu-backend-cpu,id=gpu0,%s", backends[i].args);

        check_wrong(args, backends[i].words);
    }
    sandbox = g_strdup_printf("-sandbox on,spawn=deny -object "
                              "gpgpu-backend-cpu,id=gpu0%s", worker_option());
    check_wrong(sandbox, "spawn=deny");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*fn)(void);
    } tests[] = {
        { "config", test_config },
        { "round-trip", test_round_trip },
        { "shared-memory", test_shared_memory },
        { "bad-input", test_bad_input },
        { "iothread", test_iothread },
        { "no-ioeventfd", test_no_ioeventfd },
        { "flood", test_flood },
        { "flood-iothread", test_flood_iothread },
        { "two-devices", test_two_devices },
        { "iommu", test_iommu },
        { "iommu-iothread", test_iommu_iothread },
        { "reset-under-load", test_reset_under_load },
        { "reset-under-load-iothread", test_reset_under_load_iothread },
        { "stop-under-load", test_stop_under_load },
        { "stop-under-load-iothread", test_stop_under_load_iothread },
        { "reset-while-stopped", test_reset_while_stopped },
        { "unplug-under-load", test_unplug_under_load },
        { "unplug-under-load-iothread", test_unplug_under_load_iothread },
        { "worker-killed", test_worker_killed },
        { "worker-killed-iothread", test_worker_killed_iothread },
        { "worker-killed-while-stopped", test_worker_killed_while_stopped },
        { "worker-hung", test_worker_hung },
        { "sandbox", test_sandbox },
        { "wrong-greeting", test_wrong_greeting },
        { "wrong-worker", test_wrong_worker },
        { "wrong-worker-iothread", test_wrong_worker_iothread },
        { "quota", test_quota },
        { "migration", test_migration },
        { "info", test_info },
        { "virtio-status", test_virtio_status },
        { "queue-reset", test_queue_reset },
        { "queue-reset-iothread", test_queue_reset_iothread },
        { "events", test_events },
        { "passed-fd", test_passed_fd },
        { "wrong-properties", test_wrong_properties },
    };
    size_t i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < ARRAY_SIZE(tests); i++) {
        g_autofree char *path = g_strdup_printf("virtio-gpgpu/%s",
                                                tests[i].name);

        qtest_add_func(path, tests[i].fn);
    }
    return g_test_run();
}
