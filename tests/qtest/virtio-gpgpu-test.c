/*
 * virtio-gpgpu qtests: the device model, with a real gpgpu-worker behind it
 *
 * How to run: QTEST_QEMU_BINARY=.../qemu-system-x86_64
 * GPGPU_WORKER=.../gpgpu-worker virtio-gpgpu-test --tap. Without GPGPU_WORKER
 * QEMU looks for it by itself.
 *
 * This file has what the device is and does; under load, with a worker that is
 * lost or wrong, and what an operator does are in the files beside it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "qobject/qdict.h"
#include "hw/pci/pci_regs.h"
#include "standard-headers/linux/virtio_config.h"
#include "standard-headers/linux/virtio_pci.h"
#include "standard-headers/linux/virtio_ring.h"
#include "virtio-gpgpu-cases.h"

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

/* No packet queues, said in either way, means no packet feature. */
static void check_no_packets(const char *how)
{
    Guest *guest = guest_start("q35", SMALL ",%s", how);
    Device *dev = device_new(guest, SLOT);
    uint64_t features;

    qvirtio_start_device(dev->vdev);
    features = qvirtio_get_features(dev->vdev);
    g_assert_false(features & 1ull << VIRTIO_GPGPU_F_PACKET);
    qvirtio_set_features(dev->vdev, features & ~QVIRTIO_F_BAD_FEATURE);
    g_assert_cmpint(qvirtio_config_readw(dev->vdev,
                        offsetof(struct virtio_gpgpu_config,
                                 num_packet_queues)), ==, 0);
    g_assert_cmpint(qvirtio_config_readw(dev->vdev,
                        offsetof(struct virtio_gpgpu_config,
                                 num_compute_queues)), ==, 1);
    stop_one(dev);
}

static void test_no_packets(void)
{
    check_no_packets("packet=off");
    check_no_packets("num-packet-queues=0");
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

void check_bad_input(Device *dev)
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
        /* longer than anything (the descriptor goes beyond the slot) */
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

/*
 * DMA to the device's own registers: a response whose first byte, the status
 * "OK", would be written to the status register and mean "reset".
 */
static void check_dma_to_registers(const char *args)
{
    Guest *guest = guest_start("q35", "%s", args);
    Device *dev = start_one(guest);
    uint64_t status = device_register(dev, VIRTIO_PCI_COMMON_STATUS);
    uint64_t page = guest_alloc(&guest->alloc, 4096);
    struct virtio_gpgpu_req_caps caps = req_caps(1);
    Part request[] = {
        { page, sizeof(caps), false },
        { status, 1, true },
        { page + 2048, 2048, true },
    };
    Part event[] = { { status, 1, true }, { page + 2048, 2048, true } };
    int i;

    qtest_memwrite(guest->qts, page, &caps, sizeof(caps));
    for (i = 0; i < 3; i++) {
        check_alive(dev);
        device_post_iov(dev, CONTROL, request, ARRAY_SIZE(request));
        device_kick(dev, CONTROL);
        device_wait_broken(dev);
        device_reset(dev);
        device_start(dev);
    }
    /* the same where an event should go */
    check_alive(dev);
    device_post_iov(dev, EVENT, event, ARRAY_SIZE(event));
    qtest_qmp_assert_success(guest->qts, "{ 'execute': 'gpgpu-set-quota',"
                             "'arguments': { 'id': 'gpgpu0', 'weight': 9 } }");
    device_wait_broken(dev);
    device_reset(dev);
    device_start(dev);
    check_alive(dev);
    guest_free(&guest->alloc, page);
    stop_one(dev);
}

static void test_dma_to_registers(void)
{
    check_dma_to_registers(SMALL);
    check_dma_to_registers(SMALL ",ioeventfd=off");
}

static void test_dma_to_registers_iothread(void)
{
    check_dma_to_registers(WITH_IOTHREAD);
}

/* A queue that the driver makes larger than it was offered is not used. */
static void check_large_queue(const char *more)
{
    Guest *guest = guest_start("q35", "-object iothread,id=io0 " SMALL
                               ",queue-size=128,packed=on%s", more);
    Device *dev = start_one(guest);
    uint64_t size = dev->pci->common_cfg_offset + VIRTIO_PCI_COMMON_Q_SIZE;
    static const int queues[] = { COMPUTE, EVENT };
    size_t i;

    for (i = 0; i < ARRAY_SIZE(queues); i++) {
        check_alive(dev);
        device_post_events(dev, 1);
        dev->vdev->bus->queue_select(dev->vdev, queues[i]);
        g_assert_cmpint(qpci_io_readw(dev->pci->pdev, dev->pci->bar, size), ==,
                        128);
        qpci_io_writew(dev->pci->pdev, dev->pci->bar, size, 1024);
        device_kick(dev, COMPUTE);
        qtest_qmp_assert_success(guest->qts, "{ 'execute': 'gpgpu-set-quota',"
            "'arguments': { 'id': 'gpgpu0', 'weight': %d } }", (int)i + 1);
        device_wait_broken(dev);
        device_reset(dev);
        device_start(dev);
    }
    check_alive(dev);
    stop_one(dev);
}

static void test_large_queue(void)
{
    check_large_queue("");
}

static void test_large_queue_iothread(void)
{
    check_large_queue(",iothread=io0");
}

/* Enable the control queue, which must not be, with its used ring at @used. */
static void enable_with_used_ring(Device *dev, uint64_t used)
{
    qpci_io_writew(dev->pci->pdev, dev->pci->bar, dev->pci->common_cfg_offset +
                   VIRTIO_PCI_COMMON_Q_SELECT, CONTROL);
    qpci_io_writel(dev->pci->pdev, dev->pci->bar, dev->pci->common_cfg_offset +
                   VIRTIO_PCI_COMMON_Q_USEDLO, used);
    qpci_io_writel(dev->pci->pdev, dev->pci->bar, dev->pci->common_cfg_offset +
                   VIRTIO_PCI_COMMON_Q_USEDHI, used >> 32);
    qpci_io_writew(dev->pci->pdev, dev->pci->bar, dev->pci->common_cfg_offset +
                   VIRTIO_PCI_COMMON_Q_ENABLE, 1);
}

static void start_with_used_ring(Device *dev, uint64_t used)
{
    device_reset(dev);
    qvirtio_start_device(dev->vdev);
    qvirtio_set_features(dev->vdev, qvirtio_get_features(dev->vdev) &
                         ~(QVIRTIO_F_BAD_FEATURE |
                           1ull << VIRTIO_RING_F_EVENT_IDX));
    device_restart_queue(dev, CONTROL);
    enable_with_used_ring(dev, used);
    dev->vdev->bus->set_status(dev->vdev,
                               dev->vdev->bus->get_status(dev->vdev) |
                               VIRTIO_CONFIG_S_DRIVER_OK);
}

/* Place the control queue's used ring so that the first id, 0, is a status. */
static void start_with_ring_in_registers(Device *dev)
{
    start_with_used_ring(dev, device_register(dev,
                                              VIRTIO_PCI_COMMON_STATUS - 4));
}

static void test_ring_in_registers(void)
{
    Guest *guest = guest_start("q35", SMALL);
    Device *dev = start_one(guest);
    struct virtio_gpgpu_req_caps caps = req_caps(1);

    start_with_ring_in_registers(dev);
    device_post(dev, CONTROL, &caps, sizeof(caps), SLOT_BYTES);
    device_kick(dev, CONTROL);
    g_usleep(200 * 1000);
    /* nothing was reset, and nobody hurt */
    g_assert_true(dev->vdev->bus->get_status(dev->vdev) &
                  VIRTIO_CONFIG_S_DRIVER_OK);
    device_reset(dev);
    device_start(dev);
    check_alive(dev);
    stop_one(dev);
}

/* A ring that an iothread could not access is refused. */
static void test_ring_in_registers_iothread(void)
{
    Guest *guest = guest_start("q35", WITH_IOTHREAD);
    Device *dev = start_one(guest);

    start_with_ring_in_registers(dev);
    device_wait_broken(dev);
    device_reset(dev);
    device_start(dev);
    check_alive(dev);
    stop_one(dev);
}

/* The same once the device runs: the queue is enabled anew. */
static void test_ring_to_registers_iothread(void)
{
    Guest *guest = guest_start("q35", WITH_IOTHREAD);
    Device *dev = start_one(guest);

    check_alive(dev);
    device_reset_queue(dev, CONTROL);
    enable_with_used_ring(dev, device_register(dev,
                                               VIRTIO_PCI_COMMON_STATUS - 4));
    device_wait_broken(dev);
    device_reset(dev);
    device_start(dev);
    check_alive(dev);
    stop_one(dev);
}

/* Without the reset that the specification wants first, it stays as it was. */
static void test_ring_enabled_twice_iothread(void)
{
    Guest *guest = guest_start("q35", WITH_IOTHREAD);
    Device *dev = start_one(guest);
    int i;

    for (i = 0; i < 20; i++) {
        device_kick(dev, CONTROL);
        enable_with_used_ring(dev, device_register(dev,
                                                   VIRTIO_PCI_COMMON_STATUS -
                                                   4));
        device_kick(dev, CONTROL);
        if (i % 2) {
            check_alive(dev);
        }
        device_reset(dev);
        device_start(dev);
    }
    check_alive(dev);
    stop_one(dev);
}

/* A queue that was reset before the iothread got the queues (again). */
static void test_ring_enabled_late_iothread(void)
{
    Guest *guest = guest_start("q35", WITH_IOTHREAD);
    Device *dev = start_one(guest);
    uint8_t status;
    int i;

    for (i = 0; i < 20; i++) {
        check_alive(dev);
        device_reset_queue(dev, CONTROL);
        status = dev->vdev->bus->get_status(dev->vdev);
        dev->vdev->bus->set_status(dev->vdev,
                                   status & ~VIRTIO_CONFIG_S_DRIVER_OK);
        dev->vdev->bus->set_status(dev->vdev, status);
        device_kick(dev, CONTROL);
        enable_with_used_ring(dev, device_register(dev,
                                                   VIRTIO_PCI_COMMON_STATUS -
                                                   4));
        device_wait_broken(dev);
        device_kick(dev, CONTROL);
        device_reset(dev);
        device_start(dev);
    }
    check_alive(dev);
    stop_one(dev);
}

/* A ring in memory that the guest moves away while an iothread polls it. */
static void test_ring_moves_away_iothread(void)
{
    Guest *guest = guest_start("q35", WITH_IOTHREAD);
    Device *dev = start_one(guest);
    struct virtio_gpgpu_req_caps caps = req_caps(1);
    int bar = PCI_BASE_ADDRESS_0 + 4 * SHM_BAR;
    uint32_t low, i;

    for (i = 0; i < 20; i++) {
        start_with_used_ring(dev, dev->shm.addr);
        low = qpci_config_readl(dev->pci->pdev, bar);
        device_post(dev, CONTROL, &caps, sizeof(caps), SLOT_BYTES);
        device_kick(dev, CONTROL);
        g_usleep(i * 50);
        qpci_config_writel(dev->pci->pdev, bar, low + 0x10000000);
        device_wait_broken(dev);
        qpci_config_writel(dev->pci->pdev, bar, low);
    }
    device_reset(dev);
    device_start(dev);
    check_alive(dev);
    stop_one(dev);
}

/*
 * The same with a device that is broken already: the iothread does not handle
 * its queues, but still touches their rings when it begins and ends to poll.
 */
static void test_ring_of_broken_moves_away_iothread(void)
{
    Guest *guest = guest_start("q35", WITH_IOTHREAD);
    Device *dev = start_one(guest);
    uint64_t page = guest_alloc(&guest->alloc, 4096);
    struct virtio_gpgpu_req_caps caps = req_caps(1);
    Part bad[] = {
        { page, sizeof(caps), false },
        { device_register(dev, VIRTIO_PCI_COMMON_STATUS), 64, true },
    };
    int bar = PCI_BASE_ADDRESS_0 + 4 * SHM_BAR;
    uint32_t low, i, k;

    qtest_memwrite(guest->qts, page, &caps, sizeof(caps));
    for (i = 0; i < 50; i++) {
        start_with_used_ring(dev, dev->shm.addr);
        low = qpci_config_readl(dev->pci->pdev, bar);
        device_post_iov(dev, CONTROL, bad, ARRAY_SIZE(bad));
        device_kick(dev, CONTROL);
        device_wait_broken(dev);
        qpci_config_writel(dev->pci->pdev, bar, low + 0x10000000);
        for (k = 0; k < i; k++) {
            device_kick(dev, CONTROL);
        }
        device_reset(dev);
        qpci_config_writel(dev->pci->pdev, bar, low);
    }
    device_start(dev);
    check_alive(dev);
    guest_free(&guest->alloc, page);
    stop_one(dev);
}

/* Threads, IOMMU, several devices -------------------------------------------*/

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

/* More than the ring holds at once: requests wait for room, none is lost */
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
    device_wait_broken(dev);
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

const TestCase device_cases[] = {
    { "config", test_config },
    { "no-packets", test_no_packets },
    { "round-trip", test_round_trip },
    { "shared-memory", test_shared_memory },
    { "bad-input", test_bad_input },
    { "dma-to-registers", test_dma_to_registers },
    { "dma-to-registers-iothread", test_dma_to_registers_iothread },
    { "ring-in-registers", test_ring_in_registers },
    { "ring-in-registers-iothread", test_ring_in_registers_iothread },
    { "ring-to-registers-iothread", test_ring_to_registers_iothread },
    { "ring-enabled-twice-iothread", test_ring_enabled_twice_iothread },
    { "ring-enabled-late-iothread", test_ring_enabled_late_iothread },
    { "ring-moves-away-iothread", test_ring_moves_away_iothread },
    { "ring-of-broken-moves-away-iothread",
      test_ring_of_broken_moves_away_iothread },
    { "large-queue", test_large_queue },
    { "large-queue-iothread", test_large_queue_iothread },
    { "iothread", test_iothread },
    { "no-ioeventfd", test_no_ioeventfd },
    { "flood", test_flood },
    { "flood-iothread", test_flood_iothread },
    { "two-devices", test_two_devices },
    { "iommu", test_iommu },
    { "iommu-iothread", test_iommu_iothread },
    { }
};

int main(int argc, char **argv)
{
    static const TestCase *const all[] = {
        device_cases, class_cases, load_cases, worker_cases, operator_cases,
    };
    const TestCase *test;
    size_t i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < ARRAY_SIZE(all); i++) {
        for (test = all[i]; test->name; test++) {
            g_autofree char *path = g_strdup_printf("virtio-gpgpu/%s",
                                                    test->name);

            qtest_add_func(path, test->fn);
        }
    }
    return g_test_run();
}
