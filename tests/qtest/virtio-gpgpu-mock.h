/*
 * A gpgpu-worker that breaks the rules, for the virtio-gpgpu qtests
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TESTS_QTEST_VIRTIO_GPGPU_MOCK_H
#define TESTS_QTEST_VIRTIO_GPGPU_MOCK_H

/* What it does wrong, with its first connection only */
typedef enum MockFault {
    MOCK_GOOD,
    /* in the greeting: the object cannot be made */
    MOCK_WRONG_MAGIC,
    MOCK_WRONG_VERSION,
    MOCK_SHORT_WELCOME,
    MOCK_WRONG_SIZE,
    MOCK_NO_WELCOME,        /* an ACK instead */
    /* answering OPEN: the device cannot be made */
    MOCK_REFUSE_OPEN,
    MOCK_CLOSE_AT_OPEN,
    /* acknowledging PAUSE */
    MOCK_EVENT_FLOOD,       /* with events, as long as QEMU takes them */
    MOCK_ACK_FLOOD,         /* for something else */
    /* answering the first request, by message: device lost */
    MOCK_UNKNOWN_MESSAGE,
    MOCK_WELCOME_TWICE,
    MOCK_LONG_MESSAGE,
    MOCK_REFUSE_REOPEN,     /* it hangs up, and then refuses the next OPEN */
    /* the same in the ring */
    MOCK_SIZE_ZERO,
    MOCK_SIZE_UNALIGNED,
    MOCK_SIZE_BEYOND_TAIL,
    MOCK_SIZE_BEYOND_END,
    MOCK_KIND_UNKNOWN,
    MOCK_TAG_UNKNOWN,
    MOCK_TAG_OTHER_SERIAL,
    MOCK_TAG_TWICE,
    MOCK_LENGTH_OVER_RECORD,
    MOCK_LENGTH_OVER_CAPACITY,
    MOCK_LENGTH_HUGE,
    MOCK_RANGES_HUGE,
    MOCK_RANGES_OVER_RECORD,
    MOCK_RANGE_OUTSIDE,
    MOCK_RANGE_OVERFLOW,
    MOCK_TAIL_BACK,
    MOCK_TAIL_AHEAD,
    MOCK_TAIL_UNALIGNED,
    MOCK_PAD_SHORT,         /* not to the end */
    MOCK_PAD_FLOOD,         /* many such, as fast as QEMU takes them */
    MOCK__MAX,
} MockFault;

typedef struct Mock Mock;

/* Listen at @path in a thread of its own. */
Mock *mock_start(const char *path, MockFault fault);
void mock_stop(Mock *mock);

#endif
