/*
 * virtio-gpgpu qtests: workers that die, hang, run already, or break the rules
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "virtio-gpgpu-cases.h"
#include "virtio-gpgpu-mock.h"

/* A lost worker -------------------------------------------------------------*/

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

static void wait_ready(Guest *guest)
{
    gint64 start = g_get_monotonic_time();
    bool ready = false;

    while (!ready) {
        QDict *row = query_gpgpu(guest, "gpgpu0");

        ready = !strcmp(qdict_get_str(row, "state"), "ready");
        qobject_unref(row);
        g_assert_cmpint(g_get_monotonic_time() - start, <, TIMEOUT_US);
        g_usleep(10 * 1000);
    }
}

/*
 * The same with a reset before it runs: the requests are forgotten, and the
 * next worker, which is fine, has nothing to do with them.
 */
static void check_lost_then_reset(uint64_t refused)
{
    Guest *guest = guest_start("q35", SMALL);
    Device *dev = device_new(guest, SLOT);
    Queue *q = &dev->queue[COMPUTE];
    HeldNop held;
    uint16_t used;
    uint64_t ring;
    pid_t pid;
    int i;

    dev->refused = refused;
    device_start(dev);
    for (i = 0; i < HELD; i++) {
        held = req_held(i + 1, i);
        device_post(dev, COMPUTE, &held, sizeof(held), SLOT_BYTES);
    }
    device_kick(dev, COMPUTE);
    check_alive(dev);
    qtest_qmp_assert_success(guest->qts, "{ 'execute': 'stop' }");
    ring = q->vq->used;
    used = qtest_readw(guest->qts, ring + 2);
    g_assert_cmpint(kill(worker_pid(guest), SIGKILL), ==, 0);
    qtest_qmp_eventwait(guest->qts, "GPGPU_DEVICE_LOST");
    wait_ready(guest);
    pid = worker_pid(guest);

    qtest_qmp_assert_success(guest->qts, "{ 'execute': 'system_reset' }");
    qtest_qmp_eventwait(guest->qts, "RESET");
    qtest_qmp_assert_success(guest->qts, "{ 'execute': 'cont' }");
    g_usleep(100 * 1000);
    g_assert_cmpint(qtest_readw(guest->qts, ring + 2), ==, used);
    g_assert_cmpint(worker_pid(guest), ==, pid);
    device_free(dev);
    dev = start_one(guest);
    g_assert_cmpint(device_generation(dev), ==, 2);
    check_alive(dev);
    stop_one(dev);
}

static void test_lost_then_reset(void)
{
    check_lost_then_reset(0);
    /* no features at all: the next worker is as it should be already */
    check_lost_then_reset(1ull << VIRTIO_GPGPU_F_PACKET |
                          1ull << VIRTIO_GPGPU_F_DEVICE_MEM);
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

/* QEMU's descriptors are not the worker's, though QEMU got them to keep. */
static void test_descriptors(void)
{
    g_autofree char *path = NULL;
    g_autofree char *target = NULL;
    int fds[2], fd;
    Guest *guest;
    int found = 0;

    /* for QEMU to inherit; a pipe is recognized by its number */
    g_assert_cmpint(pipe(fds), ==, 0);
    path = g_strdup_printf("/proc/self/fd/%d", fds[0]);
    target = g_file_read_link(path, NULL);
    g_assert_nonnull(target);
    guest = guest_start("q35", SMALL);
    for (fd = 0; fd < 256; fd++) {
        g_autofree char *link = g_strdup_printf("/proc/%d/fd/%d",
                                                (int)worker_pid(guest), fd);
        g_autofree char *is = g_file_read_link(link, NULL);

        found += is != NULL;
        g_assert_cmpstr(is, !=, target);
    }
    /* the check can see any at all */
    g_assert_cmpint(found, >=, 3);
    guest_stop(guest);
    close(fds[0]);
    close(fds[1]);
}

/* A worker that runs already ------------------------------------------------*/

/* Start a worker with @fd, if any, as descriptor 3. It ends with the test. */
static pid_t start_worker(const char *option, int fd)
{
    const char *worker = g_getenv("GPGPU_WORKER");
    pid_t pid = fork();

    g_assert_cmpint(pid, >=, 0);
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (fd >= 0) {
            dup2(fd, 3);
        }
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execl(worker, worker, "--threads=1", option, NULL);
        _exit(127);
    }
    return pid;
}

/* A worker that was started by somebody else; with @hang it is stopped. */
static void check_listening(bool hang)
{
    g_autofree char *dir = g_dir_make_tmp("gpgpu-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "worker", NULL);
    g_autofree char *listen = g_strdup_printf("--listen=%s", path);
    pid_t worker;
    Guest *guest;
    Device *dev;
    int status, i;

    if (!g_getenv("GPGPU_WORKER")) {
        g_test_skip("needs GPGPU_WORKER to start a worker");
        return;
    }
    worker = start_worker(listen, -1);
    for (i = 0; access(path, F_OK) < 0; i++) {
        g_assert_cmpint(i, <, 10000);
        g_usleep(1000);
    }
    guest = guest_start_raw("q35", "-sandbox on,spawn=deny -object "
                            "gpgpu-backend-cpu,id=gpu0,path=%s " SMALL, path);
    dev = start_one(guest);
    check_alive(dev);
    g_assert_cmpint(worker_pid(guest), ==, worker);
    check_bad_input(dev);
    if (hang) {
        /* it is not only left alone, with the memory, but ended */
        kill(worker, SIGSTOP);
        qtest_qmp_assert_success(guest->qts, "{ 'execute': 'stop' }");
        qtest_qmp_eventwait(guest->qts, "GPGPU_DEVICE_LOST");
        g_assert_cmpint(waitpid(worker, &status, WNOHANG), ==, worker);
        g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        stop_one(dev);
    } else {
        stop_one(dev);
        kill(worker, SIGTERM);
        waitpid(worker, &status, 0);
    }
    unlink(path);
    rmdir(dir);
}

static void test_sandbox(void)
{
    check_listening(false);
}

static void test_sandbox_hung(void)
{
    check_listening(true);
}

/*
 * fd=: the socket is handed over through the monitor, by name or in a set. Once
 * that worker is gone there is no other: the device says so and stays lost.
 */
static void check_passed_fd(bool in_set)
{
    Guest *guest = guest_start_raw("pc", "%s", "");
    struct virtio_gpgpu_req_caps caps = req_caps(1);
    Response response;
    int fds[2];
    pid_t pid;
    Device *dev;
    QDict *row;

    if (!g_getenv("GPGPU_WORKER")) {
        g_test_skip("needs GPGPU_WORKER to start a worker");
        guest_stop(guest);
        return;
    }
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds),
                    ==, 0);
    pid = start_worker("--fd=3", fds[1]);
    close(fds[1]);
    if (in_set) {
        qtest_qmp_fds_assert_success(guest->qts, &fds[0], 1,
            "{ 'execute': 'add-fd', 'arguments': { 'fdset-id': 1 } }");
    } else {
        qtest_qmp_fds_assert_success(guest->qts, &fds[0], 1,
            "{ 'execute': 'getfd', 'arguments': { 'fdname': 'worker' } }");
    }
    close(fds[0]);
    qtest_qmp_assert_success(guest->qts, "{ 'execute': 'object-add',"
        "'arguments': { 'qom-type': 'gpgpu-backend-cpu', 'id': 'gpu0',"
        "               'fd': %s } }", in_set ? "/dev/fdset/1" : "worker");
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
    if (in_set) {
        /* the device has given it back: the set goes with the last one */
        qtest_qmp_assert_success(guest->qts, "{ 'execute': 'remove-fd',"
                                 "'arguments': { 'fdset-id': 1 } }");
        row = qtest_qmp(guest->qts, "{ 'execute': 'query-fdsets' }");
        g_assert_true(qlist_empty(qdict_get_qlist(row, "return")));
        qobject_unref(row);
    }
    stop_one(dev);
}

static void test_passed_fd(void)
{
    check_passed_fd(false);
    check_passed_fd(true);
}

/* A worker that breaks the rules --------------------------------------------*/

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
    QDict *row;
    int i;

    /* what a worker says may go to a terminal */
    row = query_gpgpu(guest, "gpgpu0");
    g_assert_cmpstr(qdict_get_str(row, "device"), ==, "mo?[2Jck?");
    qobject_unref(row);
    device_post_events(dev, 4);
    device_call(dev, CONTROL, &hdr, sizeof(hdr), SLOT_BYTES, &response);
    /* of two answers the first may have been good */
    if (fault != MOCK_TAG_TWICE || response.status) {
        check_status(&response, VIRTIO_GPGPU_S_DEVICE_LOST,
                     VIRTIO_GPGPU_R_WORKER_DIED);
    }
    device_wait_event(dev, VIRTIO_GPGPU_EV_DEVICE_LOST);
    device_wait_event(dev, VIRTIO_GPGPU_EV_DEVICE_READY);
    g_assert_cmpint(device_generation(dev), ==, 2);
    /* often enough to go round the ring: padding to its end is no fault */
    for (i = 0; i < 20; i++) {
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

/* "stop" ends within its bound whatever the worker says meanwhile. */
static void check_flood_at_stop(MockFault fault, const char *more)
{
    g_autofree char *dir = g_dir_make_tmp("gpgpu-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "worker", NULL);
    Mock *mock = mock_start(path, fault);
    Guest *guest = guest_start_raw("q35", "-object iothread,id=io0 -object "
                                   "gpgpu-backend-cpu,id=gpu0,path=%s "
                                   SMALL "%s", path, more);
    Device *dev = start_one(guest);
    gint64 start = g_get_monotonic_time();

    qtest_qmp_assert_success(guest->qts, "{ 'execute': 'stop' }");
    g_assert_cmpint(g_get_monotonic_time() - start, <, 10 * G_USEC_PER_SEC);
    qtest_qmp_eventwait(guest->qts, "GPGPU_DEVICE_LOST");
    qtest_qmp_assert_success(guest->qts, "{ 'execute': 'cont' }");
    g_assert_cmpint(device_generation(dev), ==, 2);
    stop_one(dev);
    mock_stop(mock);
    unlink(path);
    rmdir(dir);
}

static void test_flood_at_stop(void)
{
    check_flood_at_stop(MOCK_EVENT_FLOOD, "");
    check_flood_at_stop(MOCK_ACK_FLOOD, "");
    check_flood_at_stop(MOCK_EVENT_FLOOD, ",iothread=io0");
}

const TestCase worker_cases[] = {
    { "worker-killed", test_worker_killed },
    { "worker-killed-iothread", test_worker_killed_iothread },
    { "worker-killed-while-stopped", test_worker_killed_while_stopped },
    { "worker-killed-then-reset", test_lost_then_reset },
    { "worker-hung", test_worker_hung },
    { "descriptors", test_descriptors },
    { "sandbox", test_sandbox },
    { "sandbox-hung", test_sandbox_hung },
    { "wrong-greeting", test_wrong_greeting },
    { "wrong-worker", test_wrong_worker },
    { "wrong-worker-iothread", test_wrong_worker_iothread },
    { "flood-at-stop", test_flood_at_stop },
    { "events", test_events },
    { "passed-fd", test_passed_fd },
    { }
};
