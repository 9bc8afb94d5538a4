/*
 * virtio-gpgpu qtests: the bugs that guest-facing device code has had
 *
 * How it works: each test sends one class of bad input through the device to a
 * real worker (tests/README.md has the list of classes, and where else they are
 * sent). Whatever was sent, the answer is a status and a reason, nothing that
 * was refused leaves anything behind, and afterwards the device still works.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/host-utils.h"
#include "qemu/units.h"
#include "hw/pci/pci_regs.h"
#include "standard-headers/linux/virtio_pci.h"
#include "standard-headers/linux/virtio_ring.h"
#include "virtio-gpgpu-cases.h"

#define SHM_BYTES       (1 * MiB)
#define CODE            (512 * KiB)     /* in the shared memory: programs */
#define MAX_INSNS       16384
#define CANARY          0xa5

/* Objects that device_objects() makes, all of context 1 but those of 2 */
enum {
    CTX = 1,
    OTHER_CTX,
    BUF_SHM = 1,                        /* all of the shared memory */
    BUF_OTHER,                          /* a page of it, of OTHER_CTX */
    BUF_DEVICE,                         /* 64 KiB */
    MAP_HASH = 1,                       /* 4 to 3 bytes, 16 elements */
    MAP_OTHER,                          /* of OTHER_CTX */
    MAP_RING,                           /* ring buffer of 4,096 bytes */
    PROG_STORE = 1,                     /* kernel: its buffer's word = 7 */
    PROG_SPIN,                          /* kernel without an end */
    PROG_PASS,                          /* XDP_PASS */
    NEW = 20,                           /* an id that nobody has */
    NOBODY = 50,                        /* another */
};

typedef union Request {
    struct virtio_gpgpu_req_hdr hdr;
    struct virtio_gpgpu_req_caps caps;
    struct virtio_gpgpu_req_ctx_attach attach;
    struct virtio_gpgpu_req_id id;
    struct virtio_gpgpu_req_buffer_create buffer;
    struct virtio_gpgpu_req_map_create map;
    struct {
        struct virtio_gpgpu_req_map_op op;
        uint8_t key[8], value[8];
    } map_op;
    struct {
        struct virtio_gpgpu_req_map_dump r;
        uint8_t key[8];
    } dump;
    struct {
        struct virtio_gpgpu_req_map_load r;
        uint8_t key[8], value[8];
    } load;
    struct virtio_gpgpu_req_map_read read;
    struct virtio_gpgpu_req_prog_create prog;
    struct virtio_gpgpu_req_job_cancel cancel;
    struct {
        struct virtio_gpgpu_req_hdr hdr;
        struct virtio_gpgpu_job job;
    } job;
    struct virtio_gpgpu_req_nop nop;
    struct virtio_gpgpu_req_copy copy;
    struct {
        struct virtio_gpgpu_req_dispatch r;
        struct virtio_gpgpu_arg arg;
    } dispatch;
    struct {
        struct virtio_gpgpu_req_packets r;
        struct virtio_gpgpu_packet_desc descs[2];
    } packets;
    uint8_t bytes[256];
} Request;

static uint64_t next_seq;

/* Requests that are right ---------------------------------------------------*/

static int queue_of(uint32_t type)
{
    return type >= VIRTIO_GPGPU_CMD_PACKETS ? PACKET :
           type >= VIRTIO_GPGPU_CMD_DISPATCH ? COMPUTE : CONTROL;
}

static uint32_t length_of(const Request *r)
{
    return le32_to_cpu(r->hdr.length);
}

/* Insns, little endian, as they lie in memory */
static uint64_t insn(uint8_t code, uint8_t dst, uint8_t src, int16_t off,
                     int32_t imm)
{
    return cpu_to_le64(code | dst << 8 | src << 12 |
                       (uint64_t)(uint16_t)off << 16 |
                       (uint64_t)(uint32_t)imm << 32);
}

#define MOV(dst, imm)   insn(0xb7, dst, 0, 0, imm)
#define EXIT            insn(0x95, 0, 0, 0, 0)

static Request request(uint32_t type, uint32_t length)
{
    Request r = { .hdr = req_hdr(type, length, 0xc0ffee) };

    r.hdr.ctx_id = cpu_to_le32(CTX);
    if (queue_of(type) != CONTROL) {
        r.job.job.timeline = cpu_to_le32(5);
        r.job.job.seq = cpu_to_le64(++next_seq);
    }
    return r;
}

static Request req_id(uint32_t type, uint32_t id)
{
    Request r = request(type, sizeof(r.id));

    r.id.id = cpu_to_le32(id);
    return r;
}

static Request req_prog(uint32_t id, uint32_t kind, uint32_t num_insns)
{
    Request r = request(VIRTIO_GPGPU_CMD_PROG_CREATE, sizeof(r.prog));

    r.prog.id = cpu_to_le32(id);
    r.prog.kind = cpu_to_le32(kind);
    r.prog.num_insns = cpu_to_le32(num_insns);
    r.prog.insns_buffer = cpu_to_le32(BUF_SHM);
    r.prog.insns_offset = cpu_to_le64(CODE);
    return r;
}

static Request req_dispatch(uint32_t prog, uint32_t items, bool arg)
{
    Request r = request(VIRTIO_GPGPU_CMD_DISPATCH, sizeof(r.dispatch.r) +
                        (arg ? sizeof(r.dispatch.arg) : 0));
    int i;

    r.dispatch.r.prog = cpu_to_le32(prog);
    r.dispatch.r.num_args = cpu_to_le32(arg);
    for (i = 0; i < 3; i++) {
        r.dispatch.r.grid[i] = cpu_to_le32(i ? 1 : items);
        r.dispatch.r.group[i] = cpu_to_le32(1);
    }
    r.dispatch.arg.kind = cpu_to_le32(VIRTIO_GPGPU_ARG_BUFFER);
    r.dispatch.arg.buffer = cpu_to_le32(BUF_DEVICE);
    r.dispatch.arg.size = cpu_to_le64(4096);
    return r;
}

static Request req_cancel(uint32_t timeline, uint64_t seq)
{
    Request r = request(VIRTIO_GPGPU_CMD_JOB_CANCEL, sizeof(r.cancel));

    r.cancel.timeline = cpu_to_le32(timeline);
    r.cancel.seq = cpu_to_le64(seq);
    return r;
}

/* A request of @type that the device would accept */
static Request good(uint32_t type)
{
    Request r;
    int i;

    switch (type) {
    case VIRTIO_GPGPU_CMD_GET_CAPS:
        r = request(type, sizeof(r.caps));
        r.caps.version = cpu_to_le32(VIRTIO_GPGPU_CAPS_VERSION);
        break;
    case VIRTIO_GPGPU_CMD_CTX_ATTACH:
    case VIRTIO_GPGPU_CMD_CTX_DETACH:
        r = request(type, sizeof(r.attach));
        r.hdr.ctx_id = cpu_to_le32(OTHER_CTX);
        r.attach.object = cpu_to_le32(VIRTIO_GPGPU_OBJ_MAP);
        r.attach.id = cpu_to_le32(MAP_HASH);
        break;
    case VIRTIO_GPGPU_CMD_BUFFER_CREATE:
        r = request(type, sizeof(r.buffer));
        r.buffer.id = cpu_to_le32(NEW);
        r.buffer.mem = cpu_to_le32(VIRTIO_GPGPU_MEM_DEVICE);
        r.buffer.size = cpu_to_le64(4096);
        break;
    case VIRTIO_GPGPU_CMD_MAP_CREATE:
        r = request(type, sizeof(r.map));
        r.map.id = cpu_to_le32(NEW);
        r.map.map_type = cpu_to_le32(VIRTIO_GPGPU_MAP_ARRAY);
        r.map.key_size = cpu_to_le32(4);
        r.map.value_size = cpu_to_le32(8);
        r.map.max_entries = cpu_to_le32(4);
        break;
    case VIRTIO_GPGPU_CMD_MAP_UPDATE:
        r = request(type, sizeof(r.map_op));
        r.map_op.op.id = cpu_to_le32(MAP_HASH);
        r.map_op.op.key_size = cpu_to_le32(4);
        r.map_op.op.value_size = cpu_to_le32(3);
        break;
    case VIRTIO_GPGPU_CMD_MAP_DUMP:
        r = request(type, sizeof(r.dump));
        r.dump.r.id = cpu_to_le32(MAP_HASH);
        r.dump.r.key_size = cpu_to_le32(4);
        r.dump.r.max_entries = cpu_to_le32(4);
        break;
    case VIRTIO_GPGPU_CMD_MAP_LOAD:
        r = request(type, sizeof(r.load));
        r.load.r.id = cpu_to_le32(MAP_HASH);
        r.load.r.count = cpu_to_le32(1);
        break;
    case VIRTIO_GPGPU_CMD_MAP_READ:
        r = request(type, sizeof(r.read));
        r.read.id = cpu_to_le32(MAP_RING);
        r.read.max_bytes = cpu_to_le32(1024);
        break;
    case VIRTIO_GPGPU_CMD_MAP_LOOKUP:
    case VIRTIO_GPGPU_CMD_MAP_DELETE:
    case VIRTIO_GPGPU_CMD_MAP_POP:
        r = request(type, sizeof(r.map_op) - 8);
        r.map_op.op.id = cpu_to_le32(MAP_HASH);
        r.map_op.op.key_size = cpu_to_le32(4);
        break;
    case VIRTIO_GPGPU_CMD_PROG_CREATE:
        return req_prog(NEW, VIRTIO_GPGPU_PROG_XDP, 2);
    case VIRTIO_GPGPU_CMD_DISPATCH:
        r = req_dispatch(PROG_STORE, 64, true);
        r.dispatch.r.grid[1] = r.dispatch.r.grid[2] = cpu_to_le32(64);
        return r;
    case VIRTIO_GPGPU_CMD_COPY:
    case VIRTIO_GPGPU_CMD_FILL:
        r = request(type, sizeof(r.copy));
        r.copy.dst = cpu_to_le32(BUF_SHM);
        r.copy.size = cpu_to_le64(4096);
        if (type == VIRTIO_GPGPU_CMD_COPY) {
            r.copy.src = cpu_to_le32(BUF_DEVICE);
        }
        break;
    case VIRTIO_GPGPU_CMD_NOP:
        return request(type, sizeof(r.nop));
    case VIRTIO_GPGPU_CMD_PACKETS:
        r = request(type, sizeof(r.packets));
        r.packets.r.prog = cpu_to_le32(PROG_PASS);
        r.packets.r.num_packets = cpu_to_le32(2);
        r.packets.r.buffer = cpu_to_le32(BUF_SHM);
        r.packets.r.stride = cpu_to_le32(128);
        for (i = 0; i < 2; i++) {
            r.packets.descs[i].data_off = cpu_to_le32(32);
            r.packets.descs[i].data_len = cpu_to_le32(64);
        }
        break;
    case VIRTIO_GPGPU_CMD_CTX_CREATE:
    case VIRTIO_GPGPU_CMD_CTX_DESTROY:
    case VIRTIO_GPGPU_CMD_GET_STATS:
        r = request(type, sizeof(r.hdr));
        break;
    default:
        return req_id(type, NOBODY);
    }
    return r;
}

static void send_request(Device *dev, const Request *r, Response *response)
{
    device_call(dev, queue_of(le32_to_cpu(r->hdr.type)), r, length_of(r),
                SLOT_BYTES, response);
    g_assert_cmphex(response->cookie, ==, 0xc0ffee);
}

static void expect(Device *dev, Request r, uint32_t status, uint32_t reason)
{
    Response response;

    send_request(dev, &r, &response);
    check_status(&response, status, reason);
}

static void expect_ok(Device *dev, Request r)
{
    expect(dev, r, VIRTIO_GPGPU_S_OK, VIRTIO_GPGPU_R_NONE);
}

/* Of the device's counters: memory in use */
static uint64_t memory_used(Device *dev)
{
    Request r = request(VIRTIO_GPGPU_CMD_GET_STATS, sizeof(r.hdr));
    struct virtio_gpgpu_resp_stats stats;
    Response response;

    r.hdr.ctx_id = 0;
    send_request(dev, &r, &response);
    check_status(&response, VIRTIO_GPGPU_S_OK, 0);
    g_assert_cmpint(response.length, ==, sizeof(stats));
    memcpy(&stats, response.bytes, sizeof(stats));
    return le64_to_cpu(stats.memory);
}

static void write_code(Device *dev, const uint64_t *insns, size_t num)
{
    qpci_memwrite(dev->pci->pdev, dev->shm, CODE, insns, num * sizeof(*insns));
}

static void device_objects(Device *dev)
{
    const uint64_t store[] = {
        insn(0x79, 2, 1, 0, 0), insn(0x7a, 2, 0, 0, 7), MOV(0, 0), EXIT,
    };
    const uint64_t spin[] = {
        MOV(1, 0), insn(0x07, 1, 0, 0, 1), insn(0x55, 1, 0, -2, -1), MOV(0, 0),
        EXIT,
    };
    const uint64_t pass[] = { MOV(0, 2), EXIT };
    Request r;
    int ctx;

    for (ctx = CTX; ctx <= OTHER_CTX; ctx++) {
        r = request(VIRTIO_GPGPU_CMD_CTX_CREATE, sizeof(r.hdr));
        r.hdr.ctx_id = cpu_to_le32(ctx);
        expect_ok(dev, r);
        r = request(VIRTIO_GPGPU_CMD_BUFFER_CREATE, sizeof(r.buffer));
        r.hdr.ctx_id = cpu_to_le32(ctx);
        r.buffer.id = cpu_to_le32(ctx == CTX ? BUF_SHM : BUF_OTHER);
        r.buffer.mem = cpu_to_le32(VIRTIO_GPGPU_MEM_SHM);
        r.buffer.size = cpu_to_le64(ctx == CTX ? SHM_BYTES : 4096);
        expect_ok(dev, r);
        r = request(VIRTIO_GPGPU_CMD_MAP_CREATE, sizeof(r.map));
        r.hdr.ctx_id = cpu_to_le32(ctx);
        r.map.id = cpu_to_le32(ctx == CTX ? MAP_HASH : MAP_OTHER);
        r.map.map_type = cpu_to_le32(VIRTIO_GPGPU_MAP_HASH);
        r.map.key_size = cpu_to_le32(4);
        r.map.value_size = cpu_to_le32(3);
        r.map.max_entries = cpu_to_le32(16);
        expect_ok(dev, r);
    }
    r = good(VIRTIO_GPGPU_CMD_MAP_CREATE);
    r.map.id = cpu_to_le32(MAP_RING);
    r.map.map_type = cpu_to_le32(VIRTIO_GPGPU_MAP_RINGBUF);
    r.map.key_size = r.map.value_size = 0;
    r.map.max_entries = cpu_to_le32(4096);
    expect_ok(dev, r);
    r = good(VIRTIO_GPGPU_CMD_BUFFER_CREATE);
    r.buffer.id = cpu_to_le32(BUF_DEVICE);
    r.buffer.size = cpu_to_le64(64 * KiB);
    expect_ok(dev, r);
    expect_ok(dev, good(VIRTIO_GPGPU_CMD_MAP_UPDATE));

    write_code(dev, store, ARRAY_SIZE(store));
    r = req_prog(PROG_STORE, VIRTIO_GPGPU_PROG_GPGPU, ARRAY_SIZE(store));
    r.prog.num_args = cpu_to_le32(1);
    r.prog.arg_kind[0] = VIRTIO_GPGPU_ARG_BUFFER;
    expect_ok(dev, r);
    write_code(dev, spin, ARRAY_SIZE(spin));
    expect_ok(dev, req_prog(PROG_SPIN, VIRTIO_GPGPU_PROG_GPGPU,
                            ARRAY_SIZE(spin)));
    write_code(dev, pass, ARRAY_SIZE(pass));
    expect_ok(dev, req_prog(PROG_PASS, VIRTIO_GPGPU_PROG_XDP,
                            ARRAY_SIZE(pass)));
}

static Device *start_with_objects(const char *args)
{
    Guest *guest = guest_start("q35", "%s", args);
    Device *dev = start_one(guest);

    device_objects(dev);
    return dev;
}

/* One field wrong at a time -------------------------------------------------*/

typedef struct Wrong {
    const char *what;
    uint32_t type;
    size_t offset, width;
    uint64_t value;
    uint32_t status, reason;
} Wrong;

#define W(cmd, member, val, st, re)                                         \
    { #cmd ": " #member " = " #val, VIRTIO_GPGPU_CMD_##cmd,                 \
      offsetof(Request, member), sizeof(((Request *)0)->member), val,       \
      VIRTIO_GPGPU_S_##st, VIRTIO_GPGPU_R_##re }

static const Wrong wrongs[] = {
    /* lengths of source and destination that do not agree */
    W(MAP_UPDATE, map_op.op.key_size, 8, INVALID, SIZE),
    W(MAP_UPDATE, map_op.op.value_size, 8, INVALID, SIZE),
    W(MAP_LOOKUP, map_op.op.key_size, 0, INVALID, SIZE),
    W(MAP_POP, map_op.op.value_size, 3, INVALID, SIZE),
    W(MAP_DUMP, dump.r.key_size, 8, INVALID, SIZE),
    W(MAP_DUMP, dump.r.key_size, 0, INVALID, LENGTH),
    W(MAP_LOAD, load.r.count, 2, INVALID, LENGTH),
    W(COPY, copy.size, 64 * KiB + 1, INVALID, RANGE),
    W(PACKETS, packets.r.num_packets, 1, INVALID, LENGTH),
    W(PACKETS, packets.r.num_packets, 3, INVALID, LENGTH),
    W(DISPATCH, dispatch.r.num_args, 0, INVALID, LENGTH),
    /* as much as the guest asks for */
    W(MAP_CREATE, map.key_size, UINT32_MAX, INVALID, SIZE),
    W(MAP_CREATE, map.value_size, UINT32_MAX, INVALID, SIZE),
    W(MAP_DUMP, dump.r.key_size, UINT32_MAX, INVALID, SIZE),
    W(MAP_DUMP, dump.r.max_entries, UINT32_MAX, INVALID, COUNT),
    W(MAP_LOAD, load.r.count, UINT32_MAX, INVALID, COUNT),
    W(NOP, nop.job.num_fences, UINT32_MAX, INVALID, COUNT),
    W(DISPATCH, dispatch.r.num_args, UINT32_MAX, INVALID, COUNT),
    W(PACKETS, packets.r.num_packets, UINT32_MAX, INVALID, COUNT),
    W(PROG_CREATE, prog.num_insns, UINT32_MAX, LIMIT, INSN_LIMIT),
    /* sums that overflow */
    W(COPY, copy.dst_offset, UINT64_MAX - 100, INVALID, RANGE),
    W(COPY, copy.src_offset, UINT64_MAX - 100, INVALID, RANGE),
    W(COPY, copy.size, UINT64_MAX, INVALID, RANGE),
    W(FILL, copy.dst_offset, UINT64_MAX - 3, INVALID, RANGE),
    W(PROG_CREATE, prog.insns_offset, UINT64_MAX - 7, INVALID, RANGE),
    W(DISPATCH, dispatch.arg.value, UINT64_MAX - 7, INVALID, ARGUMENT),
    W(DISPATCH, dispatch.arg.size, UINT64_MAX, INVALID, ARGUMENT),
    W(PACKETS, packets.r.offset, UINT64_MAX - 63, INVALID, RANGE),
    W(PACKETS, packets.descs[1].data_off, UINT32_MAX, INVALID, PACKET),
    W(PACKETS, packets.descs[1].data_len, UINT32_MAX, INVALID, PACKET),
    /* ids that nobody has */
    W(GET_STATS, hdr.ctx_id, NOBODY, NOT_FOUND, CTX),
    W(CTX_DESTROY, hdr.ctx_id, NOBODY, NOT_FOUND, CTX),
    W(NOP, hdr.ctx_id, UINT32_MAX, NOT_FOUND, CTX),
    W(CTX_ATTACH, attach.id, NOBODY, NOT_FOUND, MAP),
    W(BUFFER_DESTROY, id.id, NOBODY, NOT_FOUND, BUFFER),
    W(BUFFER_DESTROY, id.id, UINT32_MAX, NOT_FOUND, BUFFER),
    W(MAP_DESTROY, id.id, 0, NOT_FOUND, MAP),
    W(MAP_FREEZE, id.id, NOBODY, NOT_FOUND, MAP),
    W(MAP_LOOKUP, map_op.op.id, NOBODY, NOT_FOUND, MAP),
    W(MAP_DELETE, map_op.op.id, UINT32_MAX, NOT_FOUND, MAP),
    W(MAP_POP, map_op.op.id, NOBODY, NOT_FOUND, MAP),
    W(MAP_READ, read.id, NOBODY, NOT_FOUND, MAP),
    W(MAP_DUMP, dump.r.id, UINT32_MAX, NOT_FOUND, MAP),
    W(MAP_LOAD, load.r.id, NOBODY, NOT_FOUND, MAP),
    W(PROG_INFO, id.id, NOBODY, NOT_FOUND, PROG),
    W(PROG_DESTROY, id.id, UINT32_MAX, NOT_FOUND, PROG),
    W(PROG_CREATE, prog.insns_buffer, NOBODY, NOT_FOUND, BUFFER),
    W(COPY, copy.src, NOBODY, NOT_FOUND, BUFFER),
    W(DISPATCH, dispatch.r.prog, NOBODY, NOT_FOUND, PROG),
    W(DISPATCH, dispatch.arg.buffer, NOBODY, NOT_FOUND, BUFFER),
    W(PACKETS, packets.r.buffer, NOBODY, NOT_FOUND, BUFFER),
    /* another context's */
    W(BUFFER_DESTROY, id.id, BUF_OTHER, PERMISSION, BUFFER),
    W(MAP_LOOKUP, map_op.op.id, MAP_OTHER, PERMISSION, MAP),
    W(MAP_READ, read.id, MAP_OTHER, PERMISSION, MAP),
    W(MAP_LOAD, load.r.id, MAP_OTHER, PERMISSION, MAP),
    W(COPY, copy.dst, BUF_OTHER, PERMISSION, BUFFER),
    W(DISPATCH, dispatch.arg.buffer, BUF_OTHER, PERMISSION, BUFFER),
    W(PACKETS, packets.r.buffer, BUF_OTHER, PERMISSION, BUFFER),
    /* the wrong kind */
    W(DISPATCH, dispatch.r.prog, PROG_PASS, INVALID, KIND),
    W(PACKETS, packets.r.prog, PROG_STORE, INVALID, KIND),
    W(MAP_READ, read.id, MAP_HASH, INVALID, KIND),
    W(MAP_POP, map_op.op.id, MAP_RING, INVALID, KIND),
    W(MAP_DUMP, dump.r.id, MAP_RING, INVALID, KIND),
    W(MAP_CREATE, map.inner, MAP_HASH, INVALID, INNER),
    /* indices out of range */
    W(NOP, nop.job.timeline, 64, INVALID, ID),
    W(NOP, nop.job.timeline, UINT32_MAX, INVALID, ID),
    W(CTX_ATTACH, attach.object, 4, INVALID, KIND),
    W(MAP_CREATE, map.map_type, UINT32_MAX, INVALID, KIND),
    W(BUFFER_CREATE, buffer.mem, UINT32_MAX, INVALID, KIND),
    W(BUFFER_CREATE, buffer.id, VIRTIO_GPGPU_MAX_ID, INVALID, ID),
    /* products that overflow, and zero */
    W(DISPATCH, dispatch.r.grid[1], UINT32_MAX, INVALID, SIZE),
    W(DISPATCH, dispatch.r.grid[0], 0, INVALID, SIZE),
    W(DISPATCH, dispatch.r.group[0], 0, INVALID, SIZE),
    W(DISPATCH, dispatch.r.group[2], UINT32_MAX, INVALID, SIZE),
    W(PACKETS, packets.r.stride, 0, INVALID, SIZE),
    W(MAP_CREATE, map.max_entries, 0, INVALID, COUNT),
    /* reuse of an id in use */
    W(CTX_CREATE, hdr.ctx_id, CTX, EXISTS, CTX),
    W(BUFFER_CREATE, buffer.id, BUF_DEVICE, EXISTS, BUFFER),
    W(MAP_CREATE, map.id, MAP_OTHER, EXISTS, MAP),
    W(PROG_CREATE, prog.id, PROG_PASS, EXISTS, PROG),
    /* padding that is not zero */
    W(GET_CAPS, hdr.reserved, 1, INVALID, RESERVED),
    W(GET_CAPS, caps.reserved, 1ull << 31, INVALID, RESERVED),
    W(BUFFER_DESTROY, id.reserved, 1, INVALID, RESERVED),
    W(MAP_CREATE, map.name[15], 'x', INVALID, RESERVED),
    W(MAP_CREATE, map.reserved, 1, INVALID, RESERVED),
    W(MAP_DUMP, dump.r.reserved, 1, INVALID, RESERVED),
    W(MAP_DUMP, dump.key[7], 1, INVALID, RESERVED),
    W(MAP_LOAD, load.r.reserved, 1, INVALID, RESERVED),
    W(MAP_LOAD, load.key[4], 1, INVALID, RESERVED),
    W(MAP_LOAD, load.value[3], 1, INVALID, RESERVED),
    W(MAP_UPDATE, map_op.key[4], 1, INVALID, RESERVED),
    W(MAP_UPDATE, map_op.value[7], 1, INVALID, RESERVED),
    W(PROG_CREATE, prog.arg_kind[15], 1, INVALID, RESERVED),
    W(COPY, copy.reserved, 1, INVALID, RESERVED),
    W(FILL, copy.src_offset, 8, INVALID, RESERVED),
    W(GET_STATS, hdr.flags, 1u << 31, UNSUPPORTED, FLAGS),
    /* counts */
    W(MAP_DUMP, dump.r.max_entries, 0, INVALID, COUNT),
    W(MAP_LOAD, load.r.count, 0, INVALID, COUNT),
    W(MAP_READ, read.max_bytes, 7, INVALID, SIZE),
    W(NOP, nop.job.num_fences, 9, INVALID, COUNT),
    W(DISPATCH, dispatch.r.num_args, 17, INVALID, COUNT),
    W(PACKETS, packets.r.num_packets, 16385, INVALID, COUNT),
    W(PACKETS, packets.r.num_packets, 0, INVALID, COUNT),
    W(PROG_CREATE, prog.num_insns, 0, INVALID, COUNT),
    W(PROG_CREATE, prog.num_insns, MAX_INSNS + 1, LIMIT, INSN_LIMIT),
};

static void check_wrongs(Device *dev)
{
    uint64_t before = memory_used(dev);
    Response response;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(wrongs); i++) {
        const Wrong *w = &wrongs[i];
        Request r = good(w->type);

        switch (w->width) {
        case 1:
            r.bytes[w->offset] = w->value;
            break;
        case 4:
            stl_le_p(r.bytes + w->offset, w->value);
            break;
        default:
            g_assert_cmpint(w->width, ==, 8);
            stq_le_p(r.bytes + w->offset, w->value);
        }
        send_request(dev, &r, &response);
        if (response.status != w->status || response.reason != w->reason) {
            g_test_message("%s: status %u, reason %u instead of %u, %u",
                           w->what, response.status, response.reason,
                           w->status, w->reason);
            g_test_fail();
        }
    }
    g_assert_cmpint(memory_used(dev), ==, before);
    check_alive(dev);
}

static void test_wrong_fields(void)
{
    Device *dev = start_with_objects(SMALL);

    check_wrongs(dev);
    stop_one(dev);
}

static void test_wrong_fields_iothread(void)
{
    Device *dev = start_with_objects(WITH_IOTHREAD);

    check_wrongs(dev);
    stop_one(dev);
}

/* Run a program that leaves two records in MAP_RING. */
static void leave_records(Device *dev)
{
    Request r = good(VIRTIO_GPGPU_CMD_PACKETS);

    r.packets.r.prog = cpu_to_le32(NEW);
    expect_ok(dev, r);
}

static void check_records(Device *dev, uint32_t num)
{
    Request r = good(VIRTIO_GPGPU_CMD_MAP_READ);
    struct virtio_gpgpu_resp_map_read resp;
    Response response;

    send_request(dev, &r, &response);
    check_status(&response, VIRTIO_GPGPU_S_OK, VIRTIO_GPGPU_R_NONE);
    memcpy(&resp, response.bytes, sizeof(resp));
    g_assert_cmpint(le32_to_cpu(resp.num_records), ==, num);
    g_assert_cmpint(response.length, ==, sizeof(resp) + num * 16);
    g_assert_cmpint(ldl_le_p(response.bytes + sizeof(resp)), ==, num ? 8 : 0);
}

/* The guest is told of records; when it cannot be, then as soon as it can. */
static void check_map_data(const char *args)
{
    const uint64_t leave[] = {
        insn(0x7a, 10, 0, -8, 7), insn(0x18, 1, 1, 0, MAP_RING), 0,
        insn(0xbf, 2, 10, 0, 0), insn(0x07, 2, 0, 0, -8), MOV(3, 8), MOV(4, 0),
        insn(0x85, 0, 0, 0, 130), MOV(0, 2), EXIT,
    };
    Device *dev = start_with_objects(args);
    struct virtio_gpgpu_event event;
    int i;

    write_code(dev, leave, ARRAY_SIZE(leave));
    expect_ok(dev, req_prog(NEW, VIRTIO_GPGPU_PROG_XDP, ARRAY_SIZE(leave)));
    device_post_events(dev, 4);
    leave_records(dev);
    event = device_wait_event(dev, VIRTIO_GPGPU_EV_MAP_DATA);
    g_assert_cmpint(le64_to_cpu(event.value), ==, MAP_RING);
    g_assert_cmpint(le64_to_cpu(event.dropped), ==, 0);
    check_records(dev, 2);
    check_records(dev, 0);

    /* three that are left take three more; then there is no element */
    for (i = 0; i < 3; i++) {
        leave_records(dev);
        device_wait_event(dev, VIRTIO_GPGPU_EV_MAP_DATA);
        check_records(dev, 2);
    }
    leave_records(dev);
    check_records(dev, 2);
    leave_records(dev);
    /* the worker has sent both; what is asked now is answered behind them */
    for (i = 0; i < 3; i++) {
        qobject_unref(query_gpgpu(dev->guest, "gpgpu0"));
    }
    device_post_events(dev, 1);
    event = device_wait_event(dev, VIRTIO_GPGPU_EV_MAP_DATA);
    g_assert_cmpint(le64_to_cpu(event.value), ==, 0);
    g_assert_cmpint(le64_to_cpu(event.dropped), ==, 2);
    check_records(dev, 2);
    stop_one(dev);
}

static void test_map_data(void)
{
    check_map_data(SMALL);
}

static void test_map_data_iothread(void)
{
    check_map_data(WITH_IOTHREAD);
}

/* Allocation on the guest's word; the limit is the operator's. */
static void test_memory_limit(void)
{
    Device *dev = start_with_objects(SMALL ",memory-limit=16M");
    uint64_t before = memory_used(dev);
    Request r;

    r = good(VIRTIO_GPGPU_CMD_BUFFER_CREATE);
    r.buffer.size = cpu_to_le64(64 * MiB);
    expect(dev, r, VIRTIO_GPGPU_S_NO_MEMORY, VIRTIO_GPGPU_R_MEMORY_LIMIT);
    r = good(VIRTIO_GPGPU_CMD_MAP_CREATE);
    r.map.value_size = cpu_to_le32(1024);
    r.map.max_entries = cpu_to_le32(1 << 16);
    expect(dev, r, VIRTIO_GPGPU_S_NO_MEMORY, VIRTIO_GPGPU_R_MEMORY_LIMIT);
    /* 2^16 * 2^16, which is 0 in 32 bits */
    r.map.value_size = cpu_to_le32(1 << 16);
    expect(dev, r, VIRTIO_GPGPU_S_LIMIT, VIRTIO_GPGPU_R_SIZE);
    g_assert_cmpint(memory_used(dev), ==, before);
    check_alive(dev);
    stop_one(dev);
}

/* Services that were offered, but that the driver did not take */
static void test_not_negotiated(void)
{
    Guest *guest = guest_start("q35", SMALL);
    Device *dev = device_new(guest, SLOT);
    Request r;

    dev->refused = 1ull << VIRTIO_GPGPU_F_PACKET |
                   1ull << VIRTIO_GPGPU_F_DEVICE_MEM;
    device_start(dev);
    r = good(VIRTIO_GPGPU_CMD_CTX_CREATE);
    expect_ok(dev, r);
    expect(dev, good(VIRTIO_GPGPU_CMD_BUFFER_CREATE),
           VIRTIO_GPGPU_S_UNSUPPORTED, VIRTIO_GPGPU_R_FEATURE);
    r = good(VIRTIO_GPGPU_CMD_BUFFER_CREATE);
    r.buffer.id = cpu_to_le32(BUF_SHM);
    r.buffer.mem = cpu_to_le32(VIRTIO_GPGPU_MEM_SHM);
    r.buffer.size = cpu_to_le64(SHM_BYTES);
    expect_ok(dev, r);
    expect(dev, good(VIRTIO_GPGPU_CMD_PROG_CREATE),
           VIRTIO_GPGPU_S_UNSUPPORTED, VIRTIO_GPGPU_R_FEATURE);
    check_alive(dev);
    stop_one(dev);
}

/* Objects and their lives ---------------------------------------------------*/

static int worker_files(Device *dev)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/fd",
                                            (int)worker_pid(dev->guest));
    GDir *dir = g_dir_open(path, 0, NULL);
    int count = 0;

    g_assert_nonnull(dir);
    while (g_dir_read_name(dir)) {
        count++;
    }
    g_dir_close(dir);
    return count;
}

/* Made, shared and dropped again and again; every other time by a reset */
static void test_again_and_again(void)
{
    Device *dev = start_with_objects(SMALL);
    uint64_t before = memory_used(dev);
    int files = worker_files(dev);
    int i;

    for (i = 0; i < 200; i++) {
        expect_ok(dev, good(VIRTIO_GPGPU_CMD_CTX_ATTACH));
        expect(dev, good(VIRTIO_GPGPU_CMD_CTX_ATTACH), VIRTIO_GPGPU_S_EXISTS,
               VIRTIO_GPGPU_R_MAP);
        expect_ok(dev, good(VIRTIO_GPGPU_CMD_CTX_DETACH));
        expect(dev, good(VIRTIO_GPGPU_CMD_CTX_DETACH),
               VIRTIO_GPGPU_S_PERMISSION, VIRTIO_GPGPU_R_MAP);
        expect_ok(dev, good(VIRTIO_GPGPU_CMD_BUFFER_CREATE));
        expect_ok(dev, good(VIRTIO_GPGPU_CMD_MAP_CREATE));
        expect_ok(dev, good(VIRTIO_GPGPU_CMD_PROG_CREATE));
        if (i % 10) {
            expect_ok(dev, req_id(VIRTIO_GPGPU_CMD_BUFFER_DESTROY, NEW));
            expect_ok(dev, req_id(VIRTIO_GPGPU_CMD_MAP_DESTROY, NEW));
            expect_ok(dev, req_id(VIRTIO_GPGPU_CMD_PROG_DESTROY, NEW));
        } else {
            device_reset(dev);
            device_start(dev);
            g_assert_cmpint(memory_used(dev), ==, 0);
            device_objects(dev);
        }
    }
    g_assert_cmpint(memory_used(dev), ==, before);
    g_assert_cmpint(worker_files(dev), <=, files);
    check_alive(dev);
    stop_one(dev);
}

/* What was half built when it turned out to be wrong holds nothing. */
static void test_half_built(void)
{
    Device *dev = start_with_objects(SMALL);
    uint64_t before;
    Request r;
    int i;

    expect_ok(dev, good(VIRTIO_GPGPU_CMD_BUFFER_CREATE));
    before = memory_used(dev);
    for (i = 0; i < 100; i++) {
        /* the argument is good, what follows it is not */
        r = good(VIRTIO_GPGPU_CMD_DISPATCH);
        r.dispatch.arg.buffer = cpu_to_le32(NEW);
        r.dispatch.arg.value = cpu_to_le64(8);
        expect(dev, r, VIRTIO_GPGPU_S_INVALID, VIRTIO_GPGPU_R_ARGUMENT);
        r = good(VIRTIO_GPGPU_CMD_COPY);
        r.copy.dst = cpu_to_le32(NEW);
        r.copy.src = cpu_to_le32(NOBODY);
        expect(dev, r, VIRTIO_GPGPU_S_NOT_FOUND, VIRTIO_GPGPU_R_BUFFER);
        r = good(VIRTIO_GPGPU_CMD_PACKETS);
        r.packets.r.buffer = cpu_to_le32(NEW);
        r.packets.descs[1].meta_len = cpu_to_le16(6);
        expect(dev, r, VIRTIO_GPGPU_S_INVALID, VIRTIO_GPGPU_R_PACKET);
        r = good(VIRTIO_GPGPU_CMD_PROG_CREATE);
        r.prog.num_insns = cpu_to_le32(1);      /* runs off its end */
        expect(dev, r, VIRTIO_GPGPU_S_REJECTED, VIRTIO_GPGPU_R_FALL_OFF);
    }
    g_assert_cmpint(memory_used(dev), ==, before);
    /* nothing holds it: it goes at once */
    expect_ok(dev, req_id(VIRTIO_GPGPU_CMD_BUFFER_DESTROY, NEW));
    expect_ok(dev, good(VIRTIO_GPGPU_CMD_PROG_CREATE));
    check_alive(dev);
    stop_one(dev);
}

/* A job that stays until it is cancelled. Returns: its point on timeline 5 */
static uint64_t post_endless(Device *dev)
{
    Request r = req_dispatch(PROG_SPIN, UINT32_MAX, false);

    device_post(dev, COMPUTE, &r, length_of(&r), SLOT_BYTES);
    device_kick(dev, COMPUTE);
    return le64_to_cpu(r.job.job.seq);
}

/* What is in use stays; what is in the making has its id. */
static void test_in_use(void)
{
    Device *dev = start_with_objects(SMALL);
    Request r[2];
    Response response;
    uint64_t seq;
    int i, slot[2];

    seq = post_endless(dev);
    r[0] = good(VIRTIO_GPGPU_CMD_DISPATCH);     /* behind it */
    device_post(dev, COMPUTE, &r[0], length_of(&r[0]), SLOT_BYTES);
    device_kick(dev, COMPUTE);
    /* other queues are other orders: until the device has it */
    for (i = 0; i < 1000; i++) {
        Request destroy = req_id(VIRTIO_GPGPU_CMD_BUFFER_DESTROY, BUF_DEVICE);

        g_usleep(i ? 0 : 100 * 1000);
        send_request(dev, &destroy, &response);
        check_status(&response, VIRTIO_GPGPU_S_BUSY, VIRTIO_GPGPU_R_IN_USE);
    }
    expect(dev, good(VIRTIO_GPGPU_CMD_CTX_CREATE), VIRTIO_GPGPU_S_EXISTS,
           VIRTIO_GPGPU_R_CTX);
    expect_ok(dev, req_cancel(5, seq));
    device_wait(dev, COMPUTE, &response);
    check_status(&response, VIRTIO_GPGPU_S_CANCELLED,
                 VIRTIO_GPGPU_R_NONE);
    device_wait(dev, COMPUTE, &response);
    check_status(&response, VIRTIO_GPGPU_S_OK, 0);
    expect_ok(dev, req_id(VIRTIO_GPGPU_CMD_BUFFER_DESTROY, BUF_DEVICE));

    /* twice at once */
    for (i = 0; i < 2; i++) {
        r[i] = good(VIRTIO_GPGPU_CMD_PROG_CREATE);
        slot[i] = device_post(dev, CONTROL, &r[i], length_of(&r[i]),
                              SLOT_BYTES);
    }
    device_kick(dev, CONTROL);
    for (i = 0; i < 2; i++) {
        if (device_wait(dev, CONTROL, &response) == slot[0]) {
            check_status(&response, VIRTIO_GPGPU_S_OK, 0);
        } else {
            check_status(&response, VIRTIO_GPGPU_S_EXISTS, VIRTIO_GPGPU_R_PROG);
        }
    }
    expect_ok(dev, req_id(VIRTIO_GPGPU_CMD_PROG_DESTROY, NEW));
    expect_ok(dev, good(VIRTIO_GPGPU_CMD_PROG_CREATE));
    check_alive(dev);
    stop_one(dev);
}

/* Responses -----------------------------------------------------------------*/

static uint64_t response_address(Device *dev, int queue, int slot)
{
    return dev->queue[queue].memory + (SLOTS + slot) * SLOT_BYTES;
}

/*
 * Send @r with @capacity bytes for its response, which were CANARY before:
 * nothing but the response is written.
 */
static void send_with_canary(Device *dev, const Request *r, uint32_t capacity,
                             Response *response)
{
    int queue = queue_of(le32_to_cpu(r->hdr.type));
    QTestState *qts = dev->guest->qts;
    uint8_t bytes[SLOT_BYTES];
    int slot = ctz64(~dev->queue[queue].busy);
    uint32_t i;

    qtest_memset(qts, response_address(dev, queue, slot), CANARY, SLOT_BYTES);
    device_call(dev, queue, r, length_of(r), capacity, response);
    g_assert_cmpint(response->length, <=, capacity);
    qtest_memread(qts, response_address(dev, queue, slot), bytes,
                  sizeof(bytes));
    for (i = response->length; i < SLOT_BYTES; i++) {
        g_assert_cmphex(bytes[i], ==, CANARY);
    }
}

static void check_zero(const uint8_t *bytes, size_t from, size_t to)
{
    for (; from < to; from++) {
        g_assert_cmphex(bytes[from], ==, 0);
    }
}

/* Every byte of a response was meant; none is written beside it. */
static void test_response_bytes(void)
{
    static const uint32_t types[] = {
        VIRTIO_GPGPU_CMD_GET_CAPS, VIRTIO_GPGPU_CMD_GET_STATS,
        VIRTIO_GPGPU_CMD_MAP_LOOKUP, VIRTIO_GPGPU_CMD_PROG_CREATE,
        VIRTIO_GPGPU_CMD_DISPATCH, VIRTIO_GPGPU_CMD_PACKETS,
    };
    Device *dev = start_with_objects(SMALL);
    struct virtio_gpgpu_resp_prog prog;
    struct virtio_gpgpu_resp_caps caps;
    struct virtio_gpgpu_resp_map_op map_op;
    uint64_t falls = MOV(0, 2);
    Response response;
    uint32_t length;
    Request r;
    size_t i;

    r = good(VIRTIO_GPGPU_CMD_GET_CAPS);
    send_with_canary(dev, &r, SLOT_BYTES, &response);
    memcpy(&caps, response.bytes, sizeof(caps));
    check_zero(caps.caps.device_name, strlen((char *)caps.caps.device_name),
               sizeof(caps.caps.device_name));
    check_zero(caps.caps.target, strlen((char *)caps.caps.target),
               sizeof(caps.caps.target));
    g_assert_cmphex(caps.caps.reserved, ==, 0);
    /* a value of three bytes: the padding is zero */
    r = good(VIRTIO_GPGPU_CMD_MAP_LOOKUP);
    send_with_canary(dev, &r, SLOT_BYTES, &response);
    memcpy(&map_op, response.bytes, sizeof(map_op));
    g_assert_cmpint(le32_to_cpu(map_op.size), ==, 3);
    g_assert_cmphex(map_op.reserved, ==, 0);
    g_assert_cmpint(response.length, ==, sizeof(map_op) + 8);
    check_zero(response.bytes, sizeof(map_op), response.length);
    /* a message: zero behind its end */
    write_code(dev, &falls, 1);
    r = req_prog(NEW, VIRTIO_GPGPU_PROG_XDP, 1);
    send_with_canary(dev, &r, SLOT_BYTES, &response);
    check_status(&response, VIRTIO_GPGPU_S_REJECTED, VIRTIO_GPGPU_R_FALL_OFF);
    g_assert_cmpint(response.length, ==, sizeof(prog));
    memcpy(&prog, response.bytes, sizeof(prog));
    g_assert_cmpint(prog.message[0], !=, 0);
    check_zero(prog.message, strnlen((char *)prog.message,
                                     sizeof(prog.message) - 1),
               sizeof(prog.message));
    g_assert_cmpint(prog.code_bytes, ==, 0);

    /* rooms of every size: what does not fit is not written */
    for (i = 0; i < ARRAY_SIZE(types); i++) {
        for (length = 0; length < 160; length += 7) {
            r = good(types[i]);
            send_with_canary(dev, &r, length, &response);
            if (length >= sizeof(struct virtio_gpgpu_resp_hdr) &&
                response.length == sizeof(struct virtio_gpgpu_resp_hdr)) {
                check_status(&response, VIRTIO_GPGPU_S_INVALID,
                             VIRTIO_GPGPU_R_RESPONSE_SPACE);
            }
        }
    }
    check_alive(dev);
    stop_one(dev);
}

/* Elements ------------------------------------------------------------------*/

/* A request in pieces of one byte, its response in pieces of odd sizes */
static void check_pieces(Device *dev)
{
    Guest *guest = dev->guest;
    uint64_t page = guest_alloc(&guest->alloc, 4096);
    uint64_t room = page + 2048;
    struct virtio_gpgpu_req_caps caps = req_caps(77);
    struct virtio_gpgpu_resp_caps answer;
    Part parts[sizeof(caps) + 41];
    Queue *q = &dev->queue[CONTROL];
    size_t n, i, used;
    int round;

    qtest_memwrite(guest->qts, page, &caps, sizeof(caps));
    for (round = 0; round < 50; round++) {
        gint64 start = g_get_monotonic_time();

        for (n = 0; n < sizeof(caps); n++) {
            parts[n] = (Part) { page + n, 1, false };
        }
        for (i = 0, used = 0; i < 41; i++, n++) {
            parts[n] = (Part) { room + used, i % 13 + 1, true };
            used += i % 13 + 1;
        }
        g_assert_cmpint(used, >=, sizeof(answer));
        qtest_memset(guest->qts, room, CANARY, used);
        device_post_iov(dev, CONTROL, parts, n);
        device_kick(dev, CONTROL);
        while (qtest_readw(guest->qts, q->vq->used + 2) == q->used_idx) {
            g_assert_cmpint(g_get_monotonic_time() - start, <, TIMEOUT_US);
        }
        q->used_idx++;
        qtest_memread(guest->qts, room, &answer, sizeof(answer));
        g_assert_cmpint(le32_to_cpu(answer.hdr.status), ==, 0);
        g_assert_cmphex(le64_to_cpu(answer.hdr.cookie), ==, 77);
        g_assert_cmpint(le32_to_cpu(answer.hdr.length), ==, sizeof(answer));
        g_assert_cmpint(le32_to_cpu(answer.caps.version), ==, 1);
    }
    guest_free(&guest->alloc, page);
}

/*
 * Parts of requests that lie in registers go through the bounce buffer, of
 * which a device has 4 KiB: what is not given back is soon missed.
 */
static void check_bounce(Device *dev)
{
    Guest *guest = dev->guest;
    uint64_t page = guest_alloc(&guest->alloc, 4096);
    uint64_t registers = device_register(dev, 0);
    struct virtio_gpgpu_req_caps caps = req_caps(78);
    Part parts[] = {
        { page, sizeof(caps), false },
        { registers, 512, false },
        { page + 1024, 1024, true },
    };
    Queue *q = &dev->queue[CONTROL];
    struct virtio_gpgpu_resp_hdr answer;
    int round;

    qtest_memwrite(guest->qts, page, &caps, sizeof(caps));
    for (round = 0; round < 40; round++) {
        gint64 start = g_get_monotonic_time();

        device_post_iov(dev, CONTROL, parts, ARRAY_SIZE(parts));
        device_kick(dev, CONTROL);
        while (qtest_readw(guest->qts, q->vq->used + 2) == q->used_idx) {
            g_assert_cmpint(g_get_monotonic_time() - start, <, TIMEOUT_US);
        }
        q->used_idx++;
        qtest_memread(guest->qts, page + 1024, &answer, sizeof(answer));
        g_assert_cmpint(le32_to_cpu(answer.status), ==,
                        VIRTIO_GPGPU_S_INVALID);
        g_assert_cmpint(le32_to_cpu(answer.reason), ==, VIRTIO_GPGPU_R_LENGTH);
    }
    guest_free(&guest->alloc, page);
}

static void test_pieces(void)
{
    Device *dev = start_with_objects(SMALL);

    check_pieces(dev);
    check_bounce(dev);
    check_alive(dev);
    stop_one(dev);
}

static void test_pieces_iothread(void)
{
    Device *dev = start_with_objects(WITH_IOTHREAD);

    check_pieces(dev);
    check_bounce(dev);
    check_alive(dev);
    stop_one(dev);
}

/* Descriptors that are wrong themselves: the device wants a reset, no more. */
static void check_bad_elements(const char *args)
{
    enum { LOOP, OUTSIDE_NEXT, OUTSIDE_HEAD, INDIRECT_ODD, INDIRECT_NEST,
           INDIRECT_EMPTY, READ_AFTER_WRITE, AVAIL_JUMP, KINDS };
    Device *dev = start_with_objects(args);
    QTestState *qts = dev->guest->qts;
    uint64_t table = guest_alloc(&dev->guest->alloc, 4096);
    int kind;

    for (kind = 0; kind < KINDS; kind++) {
        Queue *q = &dev->queue[CONTROL];
        struct virtio_gpgpu_req_caps caps = req_caps(1);
        struct vring_desc desc;
        uint16_t head = 0;

        check_alive(dev);
        qtest_memwrite(qts, q->memory, &caps, sizeof(caps));
        desc = (struct vring_desc) {
            .addr = cpu_to_le64(q->memory),
            .len = cpu_to_le32(sizeof(caps)),
            .flags = cpu_to_le16(VRING_DESC_F_NEXT),
            .next = cpu_to_le16(kind == OUTSIDE_NEXT ? 0xffff : 0),
        };
        if (kind == READ_AFTER_WRITE) {
            desc.flags = cpu_to_le16(VRING_DESC_F_NEXT | VRING_DESC_F_WRITE);
            desc.next = cpu_to_le16(1);
        }
        if (kind >= INDIRECT_ODD && kind <= INDIRECT_EMPTY) {
            /* the table's own entry is indirect again */
            desc.flags = cpu_to_le16(VRING_DESC_F_INDIRECT);
            desc.addr = cpu_to_le64(table);
            desc.len = cpu_to_le32(16);
            qtest_memwrite(qts, table, &desc, sizeof(desc));
            if (kind != INDIRECT_NEST) {
                desc.len = cpu_to_le32(kind == INDIRECT_ODD ? 17 : 0);
            }
        }
        qtest_memwrite(qts, q->vq->desc, &desc, sizeof(desc));
        desc.flags = 0;
        desc.len = cpu_to_le32(8);
        qtest_memwrite(qts, q->vq->desc + 16, &desc, sizeof(desc));
        if (kind == OUTSIDE_HEAD) {
            head = q->vq->size;
        }
        qtest_writew(qts, q->vq->avail + 4 +
                     2 * (q->avail_idx % q->vq->size), head);
        qtest_writew(qts, q->vq->avail + 2, q->avail_idx +
                     (kind == AVAIL_JUMP ? q->vq->size + 1 : 1));
        device_kick(dev, CONTROL);
        if (kind == INDIRECT_NEST) {
            /* taken for an ordinary one, without room for a response */
            gint64 start = g_get_monotonic_time();

            while (qtest_readw(qts, q->vq->used + 2) == q->used_idx) {
                g_assert_cmpint(g_get_monotonic_time() - start, <, TIMEOUT_US);
            }
            g_assert_cmpint(qtest_readl(qts, q->vq->used + 4 + 8 *
                                        (q->used_idx % q->vq->size) + 4), ==,
                            0);
            q->used_idx++;
            q->avail_idx++;
            continue;
        }
        device_wait_broken(dev);
        device_reset(dev);
        device_start(dev);
    }
    check_alive(dev);
    guest_free(&dev->guest->alloc, table);
    stop_one(dev);
}

static void test_bad_elements(void)
{
    check_bad_elements(SMALL ",indirect_desc=on");
}

static void test_bad_elements_iothread(void)
{
    check_bad_elements(WITH_IOTHREAD ",indirect_desc=on");
}

/* Memory that changes underneath --------------------------------------------*/

/*
 * The request is rewritten, and so is the program, while the device reads them:
 * it saw one or the other or refused what was neither.
 */
static void test_changes_underneath(void)
{
    Device *dev = start_with_objects(WITH_IOTHREAD);
    uint64_t pass = MOV(0, 2), wrong = insn(0xff, 15, 15, -1, -1);
    QTestState *qts = dev->guest->qts;
    Response response;
    int i, k, slot;

    for (i = 0; i < 200; i++) {
        Request r = good(i % 2 ? VIRTIO_GPGPU_CMD_PROG_CREATE :
                         VIRTIO_GPGPU_CMD_MAP_UPDATE);
        Request other = r;
        uint64_t at;

        other.hdr.length = cpu_to_le32(UINT32_MAX);
        other.hdr.type = cpu_to_le32(VIRTIO_GPGPU_CMD_PROG_INFO);
        write_code(dev, &pass, 1);
        slot = device_post(dev, CONTROL, &r, length_of(&r), SLOT_BYTES);
        at = dev->queue[CONTROL].memory + slot * SLOT_BYTES;
        device_kick(dev, CONTROL);
        for (k = 0; k < 4; k++) {
            write_code(dev, k % 2 ? &pass : &wrong, 1);
            qtest_memwrite(qts, at, k % 2 ? &r : &other, length_of(&r));
        }
        g_assert_cmpint(device_wait(dev, CONTROL, &response), ==, slot);
        g_assert_cmpint(response.status, <, VIRTIO_GPGPU_S_COUNT);
        g_assert_cmphex(response.cookie, ==, 0xc0ffee);
        if (response.status != VIRTIO_GPGPU_S_OK) {
            g_assert_cmpint(response.reason, !=, VIRTIO_GPGPU_R_NONE);
        } else if (i % 2) {
            expect_ok(dev, req_id(VIRTIO_GPGPU_CMD_PROG_DESTROY, NEW));
        }
    }
    check_alive(dev);
    stop_one(dev);
}

/* Work without an end -------------------------------------------------------*/

/* Each waits for the next; the last lets them all go. */
static void test_long_chain(void)
{
    Device *dev = start_with_objects(SMALL);
    struct QEMU_PACKED {
        struct virtio_gpgpu_req_nop nop;
        struct virtio_gpgpu_fence fence;
    } r;
    Response response;
    int round, i;

    for (round = 1; round <= 3; round++) {
        for (i = 0; i < 60; i++) {
            r.nop = req_nop(round, i);
            r.nop.hdr.length = cpu_to_le32(sizeof(r));
            r.nop.hdr.ctx_id = cpu_to_le32(CTX);
            r.nop.job.timeline = cpu_to_le32(i);
            r.nop.job.num_fences = cpu_to_le32(1);
            r.fence.ctx_id = cpu_to_le32(CTX);
            r.fence.timeline = cpu_to_le32(i + 1);
            r.fence.seq = cpu_to_le64(round);
            device_post(dev, COMPUTE, &r, sizeof(r), SLOT_BYTES);
        }
        device_kick(dev, COMPUTE);
        r.nop = req_nop(round, 60);
        r.nop.hdr.ctx_id = cpu_to_le32(CTX);
        r.nop.job.timeline = cpu_to_le32(60);
        device_post(dev, COMPUTE, &r, sizeof(r.nop), SLOT_BYTES);
        device_kick(dev, COMPUTE);
        for (i = 0; i <= 60; i++) {
            device_wait(dev, COMPUTE, &response);
            check_status(&response, VIRTIO_GPGPU_S_OK, 0);
        }
    }
    check_alive(dev);
    stop_one(dev);
}

static void test_endless_kernel(void)
{
    Device *dev = start_with_objects(SMALL);
    Response response;
    uint64_t seq;
    int i;

    /* one item: its fuel ends */
    expect(dev, req_dispatch(PROG_SPIN, 1, false), VIRTIO_GPGPU_S_FAULT,
           VIRTIO_GPGPU_R_OUT_OF_FUEL);
    /* more than anyone waits for: cancelled; other contexts go on meanwhile */
    for (i = 0; i < 3; i++) {
        Request other = good(VIRTIO_GPGPU_CMD_FILL);
        int slot;

        seq = post_endless(dev);
        other.hdr.ctx_id = cpu_to_le32(OTHER_CTX);
        other.copy.dst = cpu_to_le32(BUF_OTHER);
        slot = device_post(dev, COMPUTE, &other, length_of(&other), SLOT_BYTES);
        device_kick(dev, COMPUTE);
        g_assert_cmpint(device_wait(dev, COMPUTE, &response), ==, slot);
        check_status(&response, VIRTIO_GPGPU_S_OK, 0);
        expect_ok(dev, req_cancel(5, seq));
        device_wait(dev, COMPUTE, &response);
        g_assert_cmpint(response.status, ==, VIRTIO_GPGPU_S_CANCELLED);
    }
    /* a reset ends it too */
    post_endless(dev);
    g_usleep(50 * 1000);
    device_reset(dev);
    device_start(dev);
    g_assert_cmpint(memory_used(dev), ==, 0);
    check_alive(dev);
    stop_one(dev);
}

/* As long as may be, and hard to compile: answered in bounded time */
static void test_long_program(void)
{
    Device *dev = start_with_objects(SMALL);
    g_autofree uint64_t *insns = g_new(uint64_t, MAX_INSNS);
    Request r = req_prog(NEW, VIRTIO_GPGPU_PROG_XDP, MAX_INSNS);
    gint64 start = g_get_monotonic_time();
    Response response;
    int i, slot;

    /* every second one jumps, so that all values meet everywhere */
    for (i = 0; i < 10; i++) {
        insns[i] = i ? insn(0xbf, i == 1 ? 0 : i, 1, 0, 0) :
                       insn(0x61, 1, 1, 12, 0);
    }
    for (; i < MAX_INSNS - 2; i += 2) {
        insns[i] = insn(0x2d, i / 2 % 10, i / 3 % 10,
                        i + 40 < MAX_INSNS ? i * 7 % 32 : 0, 0);
        insns[i + 1] = insn(0x0f, i / 2 % 10, i / 5 % 10, 0, 0);
    }
    insns[MAX_INSNS - 2] = MOV(0, 2);
    insns[MAX_INSNS - 1] = EXIT;
    write_code(dev, insns, MAX_INSNS);
    slot = device_post(dev, CONTROL, &r, length_of(&r), SLOT_BYTES);
    device_kick(dev, CONTROL);
    /* nobody waits for it but who asked */
    expect_ok(dev, good(VIRTIO_GPGPU_CMD_DISPATCH));
    expect_ok(dev, good(VIRTIO_GPGPU_CMD_PACKETS));
    g_assert_cmpint(device_wait(dev, CONTROL, &response), ==, slot);
    g_assert_cmpint(g_get_monotonic_time() - start, <, TIMEOUT_US);
    if (response.status != VIRTIO_GPGPU_S_OK) {
        g_test_message("%s", response.bytes +
                       offsetof(struct virtio_gpgpu_resp_prog, message));
        check_status(&response, VIRTIO_GPGPU_S_LIMIT,
                     VIRTIO_GPGPU_R_COMPILE_LIMIT);
    }
    check_alive(dev);
    stop_one(dev);
}

const TestCase class_cases[] = {
    { "wrong-fields", test_wrong_fields },
    { "wrong-fields-iothread", test_wrong_fields_iothread },
    { "map-data", test_map_data },
    { "map-data-iothread", test_map_data_iothread },
    { "memory-limit", test_memory_limit },
    { "not-negotiated", test_not_negotiated },
    { "again-and-again", test_again_and_again },
    { "half-built", test_half_built },
    { "in-use", test_in_use },
    { "response-bytes", test_response_bytes },
    { "pieces", test_pieces },
    { "pieces-iothread", test_pieces_iothread },
    { "bad-elements", test_bad_elements },
    { "bad-elements-iothread", test_bad_elements_iothread },
    { "changes-underneath", test_changes_underneath },
    { "long-chain", test_long_chain },
    { "endless-kernel", test_endless_kernel },
    { "long-program", test_long_program },
    { }
};
