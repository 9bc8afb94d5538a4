/*
 * virtio-gpgpu qtests: reset, stop and unplug under load
 *
 * "Under load" means: requests held in flight by a fence that nobody reaches,
 * which is certain, and fills of the shared memory, which keep the worker
 * writing it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "standard-headers/linux/virtio_config.h"
#include "virtio-gpgpu-cases.h"

/* Under load ----------------------------------------------------------------*/

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
    Guest *guest = guest_start("pc", "-object iothread,id=io0 " LOAD "%s",
                               more);
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

const TestCase load_cases[] = {
    { "reset-under-load", test_reset_under_load },
    { "reset-under-load-iothread", test_reset_under_load_iothread },
    { "stop-under-load", test_stop_under_load },
    { "stop-under-load-iothread", test_stop_under_load_iothread },
    { "reset-while-stopped", test_reset_while_stopped },
    { "unplug-under-load", test_unplug_under_load },
    { "unplug-under-load-iothread", test_unplug_under_load_iothread },
    { "queue-reset", test_queue_reset },
    { "queue-reset-iothread", test_queue_reset_iothread },
    { }
};
