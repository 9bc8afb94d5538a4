/*
 * virtio-gpgpu qtests: what an operator does, right and wrong
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "qobject/qdict.h"
#include "virtio-gpgpu-cases.h"

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
        { "num-packet-queues=2,packet=off", "'num-packet-queues'" },
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
        /* the last of two wins */
        g_autofree char *args = g_strdup_printf(
            "-object gpgpu-backend-cpu,id=gpu0%s "
            "-device virtio-gpgpu-pci,gpgpu=gpu0,%s", worker_option(),
            cases[i].args);

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

const TestCase operator_cases[] = {
    { "quota", test_quota },
    { "migration", test_migration },
    { "info", test_info },
    { "virtio-status", test_virtio_status },
    { "wrong-properties", test_wrong_properties },
    { }
};
