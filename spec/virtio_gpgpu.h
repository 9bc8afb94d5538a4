/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * virtio_gpgpu.h - wire format of the virtio GPGPU device.
 *
 * How it works: the driver places one request in the device-readable part of a virtqueue element and
 * room for one response in the device-writable part. Every request opens with struct
 * virtio_gpgpu_req_hdr, every response with struct virtio_gpgpu_resp_hdr. Bulk data never travels in an
 * element: it lies in buffers, which are ranges of the device's shared-memory region (id
 * VIRTIO_GPGPU_SHM_ID) or device memory. Event-queue elements are device-writable only.
 *
 * Invariants: all fields are little endian and naturally aligned; sizes, offsets and device addresses
 * have 64 bits; reserved fields are zero and are checked; the used length of a response is exact and
 * everything behind the fields that the response fills is zero. This file is the one place where the
 * virtio device id and every number of the protocol is named; spec/virtio-gpgpu.md is normative.
 */
#ifndef VIRTIO_GPGPU_WIRE_H
#define VIRTIO_GPGPU_WIRE_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/stddef.h>
#else
#include <assert.h>
#include <stddef.h>
#include <linux/types.h>
#endif

/* Not assigned by OASIS yet; 63 is the last id that PCI can express (0x1040 + 63 = 0x107f). */
#define VIRTIO_ID_GPGPU			63
#define VIRTIO_GPGPU_PCI_CLASS		0x1200	/* processing accelerator */
#define VIRTIO_GPGPU_VERSION		1

/* Shared memory region that buffers of kind SHM are ranges of. */
#define VIRTIO_GPGPU_SHM_ID		1

/* Feature bits. */
#define VIRTIO_GPGPU_F_PACKET		0	/* packet queues and XDP programs */
#define VIRTIO_GPGPU_F_DEVICE_MEM	1	/* buffers of kind VIRTIO_GPGPU_MEM_DEVICE */
#define VIRTIO_GPGPU_F_NET		2	/* network ports; reserved, not offered by version 1 */

/*
 * Virtqueue indices: control, event, num_compute_queues compute queues, num_packet_queues packet
 * queues, then two (receive, transmit) for each network port (none in version 1).
 */
#define VIRTIO_GPGPU_VQ_CONTROL		0
#define VIRTIO_GPGPU_VQ_EVENT		1
#define VIRTIO_GPGPU_VQ_FIRST_JOB	2
#define VIRTIO_GPGPU_MAX_QUEUES		16	/* of each kind, compute and packet */

/* Configuration space; read only for the driver. */
struct virtio_gpgpu_config {
	__le32 version;			/* VIRTIO_GPGPU_VERSION */
	__le32 generation;		/* grows by one each time the device was lost; starts at 1 */
	__le16 num_compute_queues;	/* 1..VIRTIO_GPGPU_MAX_QUEUES */
	__le16 num_packet_queues;	/* 0 without F_PACKET */
	__le16 num_ports;		/* 0 in version 1 */
	__le16 reserved;
	__le32 max_request;		/* bytes of the largest request, header included */
	__le32 max_response;		/* bytes of the largest response, header included */
};

/* Command types. The high byte says which queue takes them. */
enum virtio_gpgpu_cmd {
	/* control queue */
	VIRTIO_GPGPU_CMD_GET_CAPS	= 0x0001,
	VIRTIO_GPGPU_CMD_CTX_CREATE	= 0x0002,
	VIRTIO_GPGPU_CMD_CTX_DESTROY	= 0x0003,
	VIRTIO_GPGPU_CMD_CTX_ATTACH	= 0x0004,
	VIRTIO_GPGPU_CMD_CTX_DETACH	= 0x0005,
	VIRTIO_GPGPU_CMD_BUFFER_CREATE	= 0x0006,
	VIRTIO_GPGPU_CMD_BUFFER_DESTROY	= 0x0007,
	VIRTIO_GPGPU_CMD_MAP_CREATE	= 0x0008,
	VIRTIO_GPGPU_CMD_MAP_DESTROY	= 0x0009,
	VIRTIO_GPGPU_CMD_MAP_LOOKUP	= 0x000a,
	VIRTIO_GPGPU_CMD_MAP_UPDATE	= 0x000b,
	VIRTIO_GPGPU_CMD_MAP_DELETE	= 0x000c,
	VIRTIO_GPGPU_CMD_MAP_NEXT_KEY	= 0x000d,
	VIRTIO_GPGPU_CMD_MAP_FREEZE	= 0x000e,
	VIRTIO_GPGPU_CMD_PROG_CREATE	= 0x000f,
	VIRTIO_GPGPU_CMD_PROG_DESTROY	= 0x0010,
	VIRTIO_GPGPU_CMD_PROG_INFO	= 0x0011,
	VIRTIO_GPGPU_CMD_JOB_CANCEL	= 0x0012,
	VIRTIO_GPGPU_CMD_GET_STATS	= 0x0013,
	VIRTIO_GPGPU_CMD_MAP_POP	= 0x0014,
	VIRTIO_GPGPU_CMD_MAP_READ	= 0x0015,
	VIRTIO_GPGPU_CMD_MAP_DUMP	= 0x0016,
	VIRTIO_GPGPU_CMD_MAP_LOAD	= 0x0017,
	/* compute queues */
	VIRTIO_GPGPU_CMD_DISPATCH	= 0x0100,
	VIRTIO_GPGPU_CMD_COPY		= 0x0101,
	VIRTIO_GPGPU_CMD_FILL		= 0x0102,
	VIRTIO_GPGPU_CMD_NOP		= 0x0103,
	/* packet queues */
	VIRTIO_GPGPU_CMD_PACKETS	= 0x0200,
};

/* Every request opens with this. */
struct virtio_gpgpu_req_hdr {
	__le32 type;		/* enum virtio_gpgpu_cmd */
	__le32 flags;		/* 0; bits are per command and stated there */
	__le32 ctx_id;		/* context the command acts in; 0 is the kernel's own and always exists */
	__le32 length;		/* bytes of the whole request, this header included; exact */
	__le64 cookie;		/* driver's own, returned in the response */
	__le64 reserved;
};

/* Every response opens with this. */
struct virtio_gpgpu_resp_hdr {
	__le32 status;		/* enum virtio_gpgpu_status */
	__le32 reason;		/* enum virtio_gpgpu_reason */
	__le64 detail;		/* what the reason says: instruction, index, offset, ... */
	__le64 cookie;		/* the request's */
	__le32 length;		/* bytes of the whole response, this header included; the used length */
	__le32 generation;	/* device generation that answered */
};

enum virtio_gpgpu_status {
	VIRTIO_GPGPU_S_OK		= 0,
	VIRTIO_GPGPU_S_INVALID		= 1,	/* malformed request; reason names the field */
	VIRTIO_GPGPU_S_UNSUPPORTED	= 2,	/* command, flag or type not offered */
	VIRTIO_GPGPU_S_NOT_FOUND	= 3,	/* no such object, key or timeline point */
	VIRTIO_GPGPU_S_EXISTS		= 4,	/* id (or key, with BPF_NOEXIST) in use */
	VIRTIO_GPGPU_S_BUSY		= 5,	/* object in use, try again later */
	VIRTIO_GPGPU_S_NO_MEMORY	= 6,	/* over the memory limit, or the host has none */
	VIRTIO_GPGPU_S_LIMIT		= 7,	/* over another limit; reason names it */
	VIRTIO_GPGPU_S_PERMISSION	= 8,	/* object not attached to the context, or read only */
	VIRTIO_GPGPU_S_REJECTED		= 9,	/* program refused; detail is the instruction */
	VIRTIO_GPGPU_S_FAULT		= 10,	/* a work item faulted; detail is the first item */
	VIRTIO_GPGPU_S_CANCELLED	= 11,
	VIRTIO_GPGPU_S_DEVICE_LOST	= 12,
	VIRTIO_GPGPU_S_TIMEOUT		= 13,	/* device did not answer within its bound */
	VIRTIO_GPGPU_S_END		= 14,	/* no next key */
	VIRTIO_GPGPU_S_COUNT
};

/* Reasons: finer than the status, for a person. 0 with S_OK. */
enum virtio_gpgpu_reason {
	VIRTIO_GPGPU_R_NONE		= 0,
	/* of the request's form; detail: byte offset in the request, or the value */
	VIRTIO_GPGPU_R_LENGTH		= 1,
	VIRTIO_GPGPU_R_TYPE		= 2,
	VIRTIO_GPGPU_R_FLAGS		= 3,
	VIRTIO_GPGPU_R_RESERVED		= 4,
	VIRTIO_GPGPU_R_QUEUE		= 5,	/* command on the wrong kind of queue */
	VIRTIO_GPGPU_R_RESPONSE_SPACE	= 6,	/* no room for the response */
	VIRTIO_GPGPU_R_COUNT		= 7,	/* a count is zero or too large */
	VIRTIO_GPGPU_R_RANGE		= 8,	/* offset + size outside the object */
	VIRTIO_GPGPU_R_ALIGN		= 9,
	VIRTIO_GPGPU_R_ID		= 10,	/* id 0 or over the limit */
	VIRTIO_GPGPU_R_KIND		= 11,	/* unknown kind of memory, map, program or argument */
	VIRTIO_GPGPU_R_SIZE		= 12,	/* key, value, buffer or grid size not allowed */
	VIRTIO_GPGPU_R_FEATURE		= 13,	/* feature was not negotiated */
	VIRTIO_GPGPU_R_SEQUENCE		= 14,	/* timeline sequence does not grow */
	/* objects; detail: the id */
	VIRTIO_GPGPU_R_CTX		= 32,
	VIRTIO_GPGPU_R_BUFFER		= 33,
	VIRTIO_GPGPU_R_MAP		= 34,
	VIRTIO_GPGPU_R_PROG		= 35,
	VIRTIO_GPGPU_R_KEY		= 36,
	VIRTIO_GPGPU_R_FENCE		= 37,
	VIRTIO_GPGPU_R_ARGUMENT		= 38,	/* detail: argument number */
	VIRTIO_GPGPU_R_FROZEN		= 39,	/* map is read only */
	VIRTIO_GPGPU_R_IN_USE		= 40,
	VIRTIO_GPGPU_R_PACKET		= 41,	/* packet descriptor; detail: its index */
	VIRTIO_GPGPU_R_INNER		= 42,	/* map does not have the shape that a map of maps holds */
	/* limits; detail: the limit */
	VIRTIO_GPGPU_R_MEMORY_LIMIT	= 64,
	VIRTIO_GPGPU_R_OBJECT_LIMIT	= 65,
	VIRTIO_GPGPU_R_JOB_LIMIT	= 66,
	VIRTIO_GPGPU_R_COMPILE_LIMIT	= 67,	/* CPU seconds or memory of the compiler */
	VIRTIO_GPGPU_R_INSN_LIMIT	= 68,
	VIRTIO_GPGPU_R_MAP_FULL		= 69,
	VIRTIO_GPGPU_R_HOST_MEMORY	= 70,
	/* programs; detail: instruction number (S_REJECTED) or first faulting item (S_FAULT) */
	VIRTIO_GPGPU_R_OPCODE		= 96,
	VIRTIO_GPGPU_R_REGISTER		= 97,	/* no such register, or r10 written */
	VIRTIO_GPGPU_R_UNINITIALISED	= 98,	/* register read before it was written */
	VIRTIO_GPGPU_R_JUMP		= 99,	/* target outside, or into an ld_imm64 */
	VIRTIO_GPGPU_R_FALL_OFF		= 100,	/* control runs off the end */
	VIRTIO_GPGPU_R_CALL_DEPTH	= 101,	/* more than 8 frames, or recursion */
	VIRTIO_GPGPU_R_HELPER		= 102,	/* unknown helper, or not for this kind of program */
	VIRTIO_GPGPU_R_MAP_REF		= 103,	/* map that does not exist or does not fit the helper */
	VIRTIO_GPGPU_R_CTX_ACCESS	= 104,	/* context field that does not exist, or written */
	VIRTIO_GPGPU_R_INSN_FIELD	= 105,	/* an unused field is not zero */
	VIRTIO_GPGPU_R_UNREACHABLE	= 106,
	VIRTIO_GPGPU_R_IRREDUCIBLE	= 107,
	VIRTIO_GPGPU_R_HELPER_ARG	= 108,	/* argument kind or size not what the helper takes */
	VIRTIO_GPGPU_R_STACK		= 109,	/* outside of the frame's 512 bytes */
	VIRTIO_GPGPU_R_POINTER		= 110,	/* arithmetic or store that a pointer does not allow */
	VIRTIO_GPGPU_R_COMPILER		= 111,	/* the compiler failed; message has its words */
	VIRTIO_GPGPU_R_OUT_OF_BOUNDS	= 112,	/* run time: access outside its region, store to a read-only one */
	VIRTIO_GPGPU_R_OUT_OF_FUEL	= 113,	/* run time: too many instructions */
	VIRTIO_GPGPU_R_MISALIGNED	= 114,	/* run time: atomic on an unaligned address */
	VIRTIO_GPGPU_R_DIVERGENT	= 115,	/* barrier, reduction, ..: not every item of a group gets there */
	VIRTIO_GPGPU_R_LOCAL_MEMORY	= 116,	/* more than there is, or sizes that differ */
	/* device */
	VIRTIO_GPGPU_R_WORKER_DIED	= 128,
	VIRTIO_GPGPU_R_RESET		= 129,
	VIRTIO_GPGPU_R_NO_WORKER	= 130,
};

/* ------------------------------------------------------------------ GET_CAPS
 * Response: struct virtio_gpgpu_resp_caps. Records may grow at their end; `size` says how much is filled.
 */
#define VIRTIO_GPGPU_CAPS_VERSION	1

struct virtio_gpgpu_req_caps {
	struct virtio_gpgpu_req_hdr hdr;
	__le32 version;			/* record version wanted; VIRTIO_GPGPU_CAPS_VERSION */
	__le32 reserved;
};

struct virtio_gpgpu_caps {
	__le32 version;
	__le32 size;			/* bytes of this record */
	__u8 device_name[64];		/* for a person, NUL padded, e.g. "cpu: x86-64-v3, 2 threads" */
	__u8 target[32];		/* code generator target, e.g. "x86_64" */
	__le64 memory_limit;		/* bytes that maps, device buffers and programs may take */
	__le64 shm_size;		/* bytes of the shared-memory region */
	__le64 max_buffer;		/* bytes of one buffer */
	__le64 max_map;			/* bytes of one map, keys and values */
	__le32 max_contexts;
	__le32 max_buffers;
	__le32 max_maps;
	__le32 max_programs;
	__le32 max_jobs;		/* jobs in flight */
	__le32 max_insns;		/* instructions of one program */
	__le32 max_batch;		/* packets of one batch */
	__le32 max_stride;		/* bytes of one packet slot */
	__le32 max_args;		/* arguments of one kernel */
	__le32 max_fences;		/* in-fences of one job */
	__le32 max_group;		/* work items of one group */
	__le32 num_cpus;		/* copies a per-CPU map has */
	__le32 map_types;		/* bit per VIRTIO_GPGPU_MAP_* */
	__le32 prog_kinds;		/* bit per VIRTIO_GPGPU_PROG_* */
	__le64 fuel;			/* units that one work item or packet may burn */
	__le32 slice_us;		/* longest planned slice, microseconds */
	__le32 reserved;
};

struct virtio_gpgpu_resp_caps {
	struct virtio_gpgpu_resp_hdr hdr;
	struct virtio_gpgpu_caps caps;
};

/* ------------------------------------------------------------------ contexts
 * CTX_CREATE, CTX_DESTROY: header only; hdr.ctx_id names the context (not 0). Destroying a context
 * cancels its jobs and detaches its objects; objects live on while another context has them.
 * CTX_ATTACH, CTX_DETACH: the object may be used by hdr.ctx_id.  An object's creator is attached.
 */
enum virtio_gpgpu_object {
	VIRTIO_GPGPU_OBJ_BUFFER		= 1,
	VIRTIO_GPGPU_OBJ_MAP		= 2,
	VIRTIO_GPGPU_OBJ_PROG		= 3,
};

struct virtio_gpgpu_req_ctx_attach {
	struct virtio_gpgpu_req_hdr hdr;
	__le32 object;			/* enum virtio_gpgpu_object */
	__le32 id;
};

/* ------------------------------------------------------------------- buffers
 * Ids are device-wide, chosen by the driver, not 0, below VIRTIO_GPGPU_MAX_ID; an id may be used again
 * once the response to its DESTROY has arrived.  BUFFER_DESTROY while a job uses it: S_BUSY.
 */
#define VIRTIO_GPGPU_MAX_ID		(1u << 24)

enum virtio_gpgpu_mem {
	VIRTIO_GPGPU_MEM_SHM		= 1,	/* a range of the shared-memory region, 4,096-aligned */
	VIRTIO_GPGPU_MEM_DEVICE		= 2,	/* device memory; zeroed */
};

struct virtio_gpgpu_req_buffer_create {
	struct virtio_gpgpu_req_hdr hdr;
	__le32 id;
	__le32 mem;			/* enum virtio_gpgpu_mem */
	__le64 offset;			/* SHM: byte offset in the region; DEVICE: 0 */
	__le64 size;			/* bytes, not 0, multiple of 4,096 */
};

/* BUFFER_DESTROY, MAP_DESTROY, MAP_FREEZE, PROG_DESTROY, PROG_INFO */
struct virtio_gpgpu_req_id {
	struct virtio_gpgpu_req_hdr hdr;
	__le32 id;
	__le32 reserved;
};

/* ---------------------------------------------------------------------- maps
 * Keys and values travel in the request and the response, keys first, each padded with zeros to a
 * multiple of 8.  A per-CPU value is num_cpus values, each padded to 8.  Flags of MAP_UPDATE are BPF's:
 * BPF_ANY, BPF_NOEXIST, BPF_EXIST.  Values of a PROG_ARRAY are ids of programs, those of a map of maps ids of
 * maps.
 */
enum virtio_gpgpu_map_type {		/* bit numbers in caps.map_types; all but FIB as BPF_MAP_TYPE_* */
	VIRTIO_GPGPU_MAP_HASH			= 1,
	VIRTIO_GPGPU_MAP_ARRAY			= 2,
	VIRTIO_GPGPU_MAP_PROG_ARRAY		= 3,
	VIRTIO_GPGPU_MAP_PERF_EVENT_ARRAY	= 4,	/* one queue of records, whatever the key */
	VIRTIO_GPGPU_MAP_PERCPU_HASH		= 5,
	VIRTIO_GPGPU_MAP_PERCPU_ARRAY		= 6,
	VIRTIO_GPGPU_MAP_LRU_HASH		= 9,
	VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH	= 10,
	VIRTIO_GPGPU_MAP_LPM_TRIE		= 11,
	VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS		= 12,
	VIRTIO_GPGPU_MAP_HASH_OF_MAPS		= 13,
	VIRTIO_GPGPU_MAP_DEVMAP			= 14,
	VIRTIO_GPGPU_MAP_CPUMAP			= 16,
	VIRTIO_GPGPU_MAP_QUEUE			= 22,
	VIRTIO_GPGPU_MAP_STACK			= 23,
	VIRTIO_GPGPU_MAP_DEVMAP_HASH		= 25,
	VIRTIO_GPGPU_MAP_RINGBUF		= 27,
	VIRTIO_GPGPU_MAP_BLOOM_FILTER		= 30,
	VIRTIO_GPGPU_MAP_FIB			= 31,	/* routes that bpf_fib_lookup() answers from */
};

#define VIRTIO_GPGPU_MAP_F_RDONLY_PROG	(1u << 0)	/* programs may not write */
#define VIRTIO_GPGPU_MAX_KEY		512
#define VIRTIO_GPGPU_MAX_VALUE		(1u << 16)	/* an array of one element, for globals: max_request - 56 */

struct virtio_gpgpu_req_map_create {
	struct virtio_gpgpu_req_hdr hdr;
	__le32 id;
	__le32 map_type;		/* enum virtio_gpgpu_map_type */
	__le32 key_size;		/* bytes; 4 for arrays; 4 + 1..256 for LPM_TRIE */
	__le32 value_size;		/* bytes */
	__le32 max_entries;
	__le32 map_flags;		/* VIRTIO_GPGPU_MAP_F_* */
	__u8 name[16];			/* for a person, NUL padded */
	__le32 inner;			/* *_OF_MAPS: id of a map of the shape that its values have; else 0 */
	__le32 reserved;
};

struct virtio_gpgpu_req_map_op {	/* LOOKUP, UPDATE, DELETE, NEXT_KEY, POP */
	struct virtio_gpgpu_req_hdr hdr;
	__le32 id;
	__le32 key_size;		/* the map's; 0 for NEXT_KEY of the first */
	__le32 value_size;		/* UPDATE: bytes of the value as it travels; else 0 */
	__le32 op_flags;		/* UPDATE: BPF_ANY, BPF_NOEXIST, BPF_EXIST */
	/* key, padded to 8; UPDATE: then value, padded to 8 */
};

struct virtio_gpgpu_resp_map_op {	/* LOOKUP, POP: value; NEXT_KEY: key */
	struct virtio_gpgpu_resp_hdr hdr;
	__le32 size;			/* bytes that follow, before padding to 8 */
	__le32 reserved;
};

/* Many entries at once: each is its key, padded to 8, then its value, padded to 8. */
#define VIRTIO_GPGPU_MAX_ENTRIES	16384

struct virtio_gpgpu_req_map_dump {
	struct virtio_gpgpu_req_hdr hdr;
	__le32 id;
	__le32 key_size;		/* the map's: go on after the key that follows; 0: from the first */
	__le32 max_entries;		/* 1..VIRTIO_GPGPU_MAX_ENTRIES; the response's room counts, too */
	__le32 reserved;
	/* key, padded to 8 */
};

struct virtio_gpgpu_resp_map_dump {
	struct virtio_gpgpu_resp_hdr hdr;
	__le32 count;			/* entries that follow */
	__le32 reserved;
};

struct virtio_gpgpu_req_map_load {
	struct virtio_gpgpu_req_hdr hdr;
	__le32 id;
	__le32 count;			/* entries that follow, 1..VIRTIO_GPGPU_MAX_ENTRIES */
	__le32 op_flags;		/* as of MAP_UPDATE */
	__le32 reserved;
};

struct virtio_gpgpu_resp_map_load {
	struct virtio_gpgpu_resp_hdr hdr;	/* what became of entry `count`, if there is such */
	__le32 count;			/* entries taken, from the first */
	__le32 reserved;
};

/* MAP_READ: records of a RINGBUF or PERF_EVENT_ARRAY, oldest first, which are gone from it then. */
struct virtio_gpgpu_req_map_read {
	struct virtio_gpgpu_req_hdr hdr;
	__le32 id;
	__le32 max_bytes;		/* of records in the response, at least 8; its room counts, too */
};

struct virtio_gpgpu_resp_map_read {
	struct virtio_gpgpu_resp_hdr hdr;
	__le32 bytes;			/* of records that follow */
	__le32 num_records;
	__le64 dropped;			/* records that found no room, since the map was made */
};

struct virtio_gpgpu_record {
	__le32 size;			/* bytes that follow, before padding to 8 */
	__le32 cpu;			/* that the program ran on */
};

/* FIB: what key and value are.  Native to the program's world: addresses in network order. */
#define VIRTIO_GPGPU_FIB_INET		2	/* AF_INET */
#define VIRTIO_GPGPU_FIB_INET6		10	/* AF_INET6 */

struct virtio_gpgpu_fib_key {
	__le32 prefixlen;		/* bits of family and address that count: 32 + 0..32 or 0..128 */
	__le32 family;			/* VIRTIO_GPGPU_FIB_INET* */
	__u8 addr[16];			/* INET: the first 4, then zeros */
};

#define VIRTIO_GPGPU_FIB_F_NO_NEIGH	(1u << 0)	/* next hop is not resolved */
#define VIRTIO_GPGPU_FIB_F_BLACKHOLE	(1u << 1)
#define VIRTIO_GPGPU_FIB_F_UNREACHABLE	(1u << 2)
#define VIRTIO_GPGPU_FIB_F_PROHIBIT	(1u << 3)

struct virtio_gpgpu_fib_entry {
	__le32 ifindex;
	__le32 mtu;			/* 0: none */
	__u8 smac[6];
	__u8 dmac[6];
	__le32 flags;			/* VIRTIO_GPGPU_FIB_F_* */
	__le32 reserved[2];
};

/* ------------------------------------------------------------------ programs
 * The instructions lie in a buffer (num_insns * 8 bytes at insns_offset); they are copied before they
 * are read.  BPF_LD_IMM64 with src_reg 1 (map) or 2 (map value) carries the device-wide map id in its
 * first imm.  The answer may come after those of later control commands.
 */
enum virtio_gpgpu_prog_kind {		/* bit numbers in caps.prog_kinds */
	VIRTIO_GPGPU_PROG_XDP		= 1,
	VIRTIO_GPGPU_PROG_GPGPU		= 2,
};

#define VIRTIO_GPGPU_PROG_F_BIG_ENDIAN	(1u << 0)	/* instructions are big endian; not supported yet */
#define VIRTIO_GPGPU_MAX_ARGS		16
#define VIRTIO_GPGPU_LD_LOCAL		15	/* src_reg of ld_imm64: imm: offset in local memory; second: its size */
#define VIRTIO_GPGPU_MAX_LOCAL		65536	/* bytes of local memory of a group */

enum virtio_gpgpu_arg_kind {
	VIRTIO_GPGPU_ARG_VALUE		= 1,	/* 64-bit value; narrower ones zero- or sign-extended */
	VIRTIO_GPGPU_ARG_BUFFER		= 2,	/* buffer range, readable and writable */
	VIRTIO_GPGPU_ARG_BUFFER_RO	= 3,	/* buffer range, stores fault */
};

struct virtio_gpgpu_req_prog_create {
	struct virtio_gpgpu_req_hdr hdr;
	__le32 id;
	__le32 kind;			/* enum virtio_gpgpu_prog_kind */
	__le32 prog_flags;		/* VIRTIO_GPGPU_PROG_F_* */
	__le32 num_insns;		/* 8-byte instructions, ld_imm64 counts two */
	__le32 insns_buffer;		/* buffer id */
	__le32 num_args;		/* PROG_GPGPU: 0..VIRTIO_GPGPU_MAX_ARGS; else 0 */
	__le64 insns_offset;		/* bytes, multiple of 8 */
	__u8 arg_kind[VIRTIO_GPGPU_MAX_ARGS];	/* enum virtio_gpgpu_arg_kind; zero past num_args */
	__u8 name[32];			/* for a person, NUL padded */
};

#define VIRTIO_GPGPU_MESSAGE		256

struct virtio_gpgpu_resp_prog {		/* PROG_CREATE (also when it fails), PROG_INFO */
	struct virtio_gpgpu_resp_hdr hdr;
	__le64 compile_ns;		/* time that compiling took */
	__le32 code_bytes;		/* bytes of the target's code */
	__le32 num_insns;
	__u8 message[VIRTIO_GPGPU_MESSAGE];	/* why it was refused, NUL terminated */
};

/* ---------------------------------------------------------------------- jobs
 * A job request opens with struct virtio_gpgpu_job and goes on with num_fences fences. The job starts
 * once every fence has been reached and everything earlier on its own timeline has ended; it is then
 * itself the point (hdr.ctx_id, timeline, seq).  seq must grow on each timeline.  A fence on a point
 * that nobody has submitted yet holds the job until it is.
 */
#define VIRTIO_GPGPU_MAX_FENCES		8

struct virtio_gpgpu_fence {
	__le32 ctx_id;
	__le32 timeline;
	__le64 seq;
};

struct virtio_gpgpu_job {
	__le32 timeline;		/* below VIRTIO_GPGPU_MAX_TIMELINES */
	__le32 num_fences;		/* 0..VIRTIO_GPGPU_MAX_FENCES */
	__le64 seq;			/* not 0 */
};

#define VIRTIO_GPGPU_MAX_TIMELINES	64

struct virtio_gpgpu_resp_job {		/* every job's response opens with this */
	struct virtio_gpgpu_resp_hdr hdr;	/* S_FAULT: detail is the first faulting item */
	__le64 device_ns;		/* device time used */
	__le64 queued_ns;		/* from arrival to first slice */
	__le64 fault_count;		/* work items or packets that faulted */
	__le32 fault_insn;		/* instruction of the first fault */
	__le32 slices;
};

struct virtio_gpgpu_arg {
	__le32 kind;			/* enum virtio_gpgpu_arg_kind, the program's */
	__le32 buffer;			/* buffer id, or 0 for a value */
	__le64 value;			/* value, or byte offset in the buffer (multiple of 8) */
	__le64 size;			/* bytes of the range; 0 for a value */
};

struct virtio_gpgpu_req_dispatch {	/* then fences[num_fences], then args[num_args] */
	struct virtio_gpgpu_req_hdr hdr;
	struct virtio_gpgpu_job job;
	__le32 prog;
	__le32 num_args;		/* the program's */
	__le32 grid[3];			/* work items in each dimension, none 0 */
	__le32 group[3];		/* work items of a group in each dimension, none 0 */
};

struct virtio_gpgpu_req_copy {		/* then fences; also FILL, with `pattern` and no source */
	struct virtio_gpgpu_req_hdr hdr;
	struct virtio_gpgpu_job job;
	__le32 dst;
	__le32 src;			/* FILL: 0 */
	__le64 dst_offset;
	__le64 src_offset;		/* FILL: 0 */
	__le64 size;
	__le32 pattern;			/* FILL: repeated 32-bit pattern, size multiple of 4; COPY: 0 */
	__le32 reserved;
};

struct virtio_gpgpu_req_nop {		/* then fences; ends when its fences have been reached */
	struct virtio_gpgpu_req_hdr hdr;
	struct virtio_gpgpu_job job;
};

/* JOB_CANCEL: jobs of hdr.ctx_id on `timeline` up to and including `seq`, at the end of their slice. */
struct virtio_gpgpu_req_job_cancel {
	struct virtio_gpgpu_req_hdr hdr;
	__le32 timeline;
	__le32 reserved;
	__le64 seq;
};

/* ------------------------------------------------------------------- packets
 * One batch: num_packets slots of `stride` bytes each lie consecutively in `buffer` from `offset`; slot
 * i holds packet i.  Response: struct virtio_gpgpu_resp_packets, then num_packets results.
 */
#define VIRTIO_GPGPU_PACKETS_ORDER_FLOW	(1u << 0)	/* packets of one flow in order */
#define VIRTIO_GPGPU_PACKETS_ORDER_ALL	(1u << 1)	/* all packets in order */
#define VIRTIO_GPGPU_MAX_BATCH		16384
#define VIRTIO_GPGPU_MAX_STRIDE		65536

struct virtio_gpgpu_req_packets {	/* then fences, then descs[num_packets] */
	struct virtio_gpgpu_req_hdr hdr;	/* flags: VIRTIO_GPGPU_PACKETS_ORDER_* */
	struct virtio_gpgpu_job job;
	__le32 prog;
	__le32 num_packets;		/* 1..VIRTIO_GPGPU_MAX_BATCH */
	__le32 buffer;
	__le32 stride;			/* capacity of a slot; multiple of 64, up to MAX_STRIDE */
	__le64 offset;			/* of slot 0, multiple of 64 */
};

struct virtio_gpgpu_packet_desc {
	__le32 data_off;		/* headroom: where the packet starts in its slot */
	__le32 data_len;		/* bytes, at least 14 */
	__le16 meta_len;		/* metadata in front of the packet; multiple of 4, up to 252 */
	__le16 rx_queue;
	__le32 ingress_port;		/* xdp_md.ingress_ifindex */
};

#define VIRTIO_GPGPU_EGRESS_CPU		(1u << 31)	/* the rest is the CPU that a CPUMAP named */

struct virtio_gpgpu_packet_result {
	__le32 verdict;			/* XDP_ABORTED .. XDP_REDIRECT; any other return value: ABORTED */
	__le32 egress_port;		/* XDP_REDIRECT: ifindex or port asked for, or EGRESS_CPU | a CPU */
	__le32 data_off;		/* new start in the slot */
	__le32 data_len;		/* new length */
	__le16 meta_len;
	__le16 fault;			/* 0 or VIRTIO_GPGPU_R_OUT_OF_*, _R_MISALIGNED */
	__le32 fault_insn;
};

struct virtio_gpgpu_resp_packets {
	struct virtio_gpgpu_resp_job job;
	__le64 verdicts[5];		/* packets per verdict, XDP_ABORTED .. XDP_REDIRECT */
	__le64 bytes;			/* packet bytes that came in */
};

/* --------------------------------------------------------------------- stats
 * GET_STATS: header only.  This device's own counters since it was plugged.
 */
struct virtio_gpgpu_resp_stats {
	struct virtio_gpgpu_resp_hdr hdr;
	__le64 device_ns;
	__le64 waited_ns;		/* runnable, another tenant running */
	__le64 throttled_ns;		/* held by the hard cap */
	__le64 jobs;
	__le64 packets;
	__le64 bytes;
	__le64 verdicts[5];
	__le64 faults;
	__le64 memory;			/* bytes now */
	__le64 memory_max;		/* bytes at most */
	__le64 memory_limit;
	__le32 weight;			/* 1..10,000; 100 unless set */
	__le32 cap;			/* hard cap in 1/10,000 of the device; 10,000: none */
};

/* -------------------------------------------------------------------- events
 * The driver keeps device-writable elements of sizeof(struct virtio_gpgpu_event) on the event queue.
 * When there is none the event is dropped and counted; the next event that is delivered says how many
 * were lost since the last, and the driver then queries again what it cares about.
 */
enum virtio_gpgpu_event_type {
	VIRTIO_GPGPU_EV_DEVICE_LOST	= 1,	/* all objects are gone; value: new generation */
	VIRTIO_GPGPU_EV_DEVICE_READY	= 2,	/* value: generation that takes requests again */
	VIRTIO_GPGPU_EV_QUOTA		= 3,	/* weight, cap or memory limit changed; value: memory limit */
	VIRTIO_GPGPU_EV_MAP_DATA	= 4,	/* a map has records to read; value: its id, 0: it may be any */
};

struct virtio_gpgpu_event {
	__le32 type;
	__le32 reason;			/* enum virtio_gpgpu_reason */
	__le64 value;
	__le64 dropped;			/* events lost before this one, since the last delivered */
	__le32 generation;
	__le32 reserved;
};

/*
 * Every size and every offset, written out: a compiler that lays a structure out otherwise, or a change that
 * moves a member, does not build.
 */
#ifdef __cplusplus
#define VIRTIO_GPGPU_ASSERT static_assert
#else
#define VIRTIO_GPGPU_ASSERT _Static_assert
#endif
#define VIRTIO_GPGPU_SIZE(type, size)	\
	VIRTIO_GPGPU_ASSERT(sizeof(struct virtio_gpgpu_##type) == (size), "size of virtio_gpgpu_" #type)
#define VIRTIO_GPGPU_OFF(type, member, off)	\
	VIRTIO_GPGPU_ASSERT(offsetof(struct virtio_gpgpu_##type, member) == (off), #type "." #member)

VIRTIO_GPGPU_SIZE(config, 24);
VIRTIO_GPGPU_OFF(config, version, 0);
VIRTIO_GPGPU_OFF(config, generation, 4);
VIRTIO_GPGPU_OFF(config, num_compute_queues, 8);
VIRTIO_GPGPU_OFF(config, num_packet_queues, 10);
VIRTIO_GPGPU_OFF(config, num_ports, 12);
VIRTIO_GPGPU_OFF(config, reserved, 14);
VIRTIO_GPGPU_OFF(config, max_request, 16);
VIRTIO_GPGPU_OFF(config, max_response, 20);

VIRTIO_GPGPU_SIZE(req_hdr, 32);
VIRTIO_GPGPU_OFF(req_hdr, type, 0);
VIRTIO_GPGPU_OFF(req_hdr, flags, 4);
VIRTIO_GPGPU_OFF(req_hdr, ctx_id, 8);
VIRTIO_GPGPU_OFF(req_hdr, length, 12);
VIRTIO_GPGPU_OFF(req_hdr, cookie, 16);
VIRTIO_GPGPU_OFF(req_hdr, reserved, 24);

VIRTIO_GPGPU_SIZE(resp_hdr, 32);
VIRTIO_GPGPU_OFF(resp_hdr, status, 0);
VIRTIO_GPGPU_OFF(resp_hdr, reason, 4);
VIRTIO_GPGPU_OFF(resp_hdr, detail, 8);
VIRTIO_GPGPU_OFF(resp_hdr, cookie, 16);
VIRTIO_GPGPU_OFF(resp_hdr, length, 24);
VIRTIO_GPGPU_OFF(resp_hdr, generation, 28);

VIRTIO_GPGPU_SIZE(req_caps, 40);
VIRTIO_GPGPU_OFF(req_caps, hdr, 0);
VIRTIO_GPGPU_OFF(req_caps, version, 32);
VIRTIO_GPGPU_OFF(req_caps, reserved, 36);

VIRTIO_GPGPU_SIZE(caps, 208);
VIRTIO_GPGPU_OFF(caps, version, 0);
VIRTIO_GPGPU_OFF(caps, size, 4);
VIRTIO_GPGPU_OFF(caps, device_name, 8);
VIRTIO_GPGPU_OFF(caps, target, 72);
VIRTIO_GPGPU_OFF(caps, memory_limit, 104);
VIRTIO_GPGPU_OFF(caps, shm_size, 112);
VIRTIO_GPGPU_OFF(caps, max_buffer, 120);
VIRTIO_GPGPU_OFF(caps, max_map, 128);
VIRTIO_GPGPU_OFF(caps, max_contexts, 136);
VIRTIO_GPGPU_OFF(caps, max_buffers, 140);
VIRTIO_GPGPU_OFF(caps, max_maps, 144);
VIRTIO_GPGPU_OFF(caps, max_programs, 148);
VIRTIO_GPGPU_OFF(caps, max_jobs, 152);
VIRTIO_GPGPU_OFF(caps, max_insns, 156);
VIRTIO_GPGPU_OFF(caps, max_batch, 160);
VIRTIO_GPGPU_OFF(caps, max_stride, 164);
VIRTIO_GPGPU_OFF(caps, max_args, 168);
VIRTIO_GPGPU_OFF(caps, max_fences, 172);
VIRTIO_GPGPU_OFF(caps, max_group, 176);
VIRTIO_GPGPU_OFF(caps, num_cpus, 180);
VIRTIO_GPGPU_OFF(caps, map_types, 184);
VIRTIO_GPGPU_OFF(caps, prog_kinds, 188);
VIRTIO_GPGPU_OFF(caps, fuel, 192);
VIRTIO_GPGPU_OFF(caps, slice_us, 200);
VIRTIO_GPGPU_OFF(caps, reserved, 204);

VIRTIO_GPGPU_SIZE(resp_caps, 240);
VIRTIO_GPGPU_OFF(resp_caps, hdr, 0);
VIRTIO_GPGPU_OFF(resp_caps, caps, 32);

VIRTIO_GPGPU_SIZE(req_ctx_attach, 40);
VIRTIO_GPGPU_OFF(req_ctx_attach, hdr, 0);
VIRTIO_GPGPU_OFF(req_ctx_attach, object, 32);
VIRTIO_GPGPU_OFF(req_ctx_attach, id, 36);

VIRTIO_GPGPU_SIZE(req_buffer_create, 56);
VIRTIO_GPGPU_OFF(req_buffer_create, hdr, 0);
VIRTIO_GPGPU_OFF(req_buffer_create, id, 32);
VIRTIO_GPGPU_OFF(req_buffer_create, mem, 36);
VIRTIO_GPGPU_OFF(req_buffer_create, offset, 40);
VIRTIO_GPGPU_OFF(req_buffer_create, size, 48);

VIRTIO_GPGPU_SIZE(req_id, 40);
VIRTIO_GPGPU_OFF(req_id, hdr, 0);
VIRTIO_GPGPU_OFF(req_id, id, 32);
VIRTIO_GPGPU_OFF(req_id, reserved, 36);

VIRTIO_GPGPU_SIZE(req_map_create, 80);
VIRTIO_GPGPU_OFF(req_map_create, hdr, 0);
VIRTIO_GPGPU_OFF(req_map_create, id, 32);
VIRTIO_GPGPU_OFF(req_map_create, map_type, 36);
VIRTIO_GPGPU_OFF(req_map_create, key_size, 40);
VIRTIO_GPGPU_OFF(req_map_create, value_size, 44);
VIRTIO_GPGPU_OFF(req_map_create, max_entries, 48);
VIRTIO_GPGPU_OFF(req_map_create, map_flags, 52);
VIRTIO_GPGPU_OFF(req_map_create, name, 56);
VIRTIO_GPGPU_OFF(req_map_create, inner, 72);
VIRTIO_GPGPU_OFF(req_map_create, reserved, 76);

VIRTIO_GPGPU_SIZE(req_map_op, 48);
VIRTIO_GPGPU_OFF(req_map_op, hdr, 0);
VIRTIO_GPGPU_OFF(req_map_op, id, 32);
VIRTIO_GPGPU_OFF(req_map_op, key_size, 36);
VIRTIO_GPGPU_OFF(req_map_op, value_size, 40);
VIRTIO_GPGPU_OFF(req_map_op, op_flags, 44);

VIRTIO_GPGPU_SIZE(resp_map_op, 40);
VIRTIO_GPGPU_OFF(resp_map_op, hdr, 0);
VIRTIO_GPGPU_OFF(resp_map_op, size, 32);
VIRTIO_GPGPU_OFF(resp_map_op, reserved, 36);

VIRTIO_GPGPU_SIZE(req_map_dump, 48);
VIRTIO_GPGPU_OFF(req_map_dump, hdr, 0);
VIRTIO_GPGPU_OFF(req_map_dump, id, 32);
VIRTIO_GPGPU_OFF(req_map_dump, key_size, 36);
VIRTIO_GPGPU_OFF(req_map_dump, max_entries, 40);
VIRTIO_GPGPU_OFF(req_map_dump, reserved, 44);

VIRTIO_GPGPU_SIZE(resp_map_dump, 40);
VIRTIO_GPGPU_OFF(resp_map_dump, hdr, 0);
VIRTIO_GPGPU_OFF(resp_map_dump, count, 32);
VIRTIO_GPGPU_OFF(resp_map_dump, reserved, 36);

VIRTIO_GPGPU_SIZE(req_map_load, 48);
VIRTIO_GPGPU_OFF(req_map_load, hdr, 0);
VIRTIO_GPGPU_OFF(req_map_load, id, 32);
VIRTIO_GPGPU_OFF(req_map_load, count, 36);
VIRTIO_GPGPU_OFF(req_map_load, op_flags, 40);
VIRTIO_GPGPU_OFF(req_map_load, reserved, 44);

VIRTIO_GPGPU_SIZE(resp_map_load, 40);
VIRTIO_GPGPU_OFF(resp_map_load, hdr, 0);
VIRTIO_GPGPU_OFF(resp_map_load, count, 32);
VIRTIO_GPGPU_OFF(resp_map_load, reserved, 36);

VIRTIO_GPGPU_SIZE(req_map_read, 40);
VIRTIO_GPGPU_OFF(req_map_read, hdr, 0);
VIRTIO_GPGPU_OFF(req_map_read, id, 32);
VIRTIO_GPGPU_OFF(req_map_read, max_bytes, 36);

VIRTIO_GPGPU_SIZE(resp_map_read, 48);
VIRTIO_GPGPU_OFF(resp_map_read, hdr, 0);
VIRTIO_GPGPU_OFF(resp_map_read, bytes, 32);
VIRTIO_GPGPU_OFF(resp_map_read, num_records, 36);
VIRTIO_GPGPU_OFF(resp_map_read, dropped, 40);

VIRTIO_GPGPU_SIZE(record, 8);
VIRTIO_GPGPU_OFF(record, size, 0);
VIRTIO_GPGPU_OFF(record, cpu, 4);

VIRTIO_GPGPU_SIZE(fib_key, 24);
VIRTIO_GPGPU_OFF(fib_key, prefixlen, 0);
VIRTIO_GPGPU_OFF(fib_key, family, 4);
VIRTIO_GPGPU_OFF(fib_key, addr, 8);

VIRTIO_GPGPU_SIZE(fib_entry, 32);
VIRTIO_GPGPU_OFF(fib_entry, ifindex, 0);
VIRTIO_GPGPU_OFF(fib_entry, mtu, 4);
VIRTIO_GPGPU_OFF(fib_entry, smac, 8);
VIRTIO_GPGPU_OFF(fib_entry, dmac, 14);
VIRTIO_GPGPU_OFF(fib_entry, flags, 20);
VIRTIO_GPGPU_OFF(fib_entry, reserved, 24);

VIRTIO_GPGPU_SIZE(req_prog_create, 112);
VIRTIO_GPGPU_OFF(req_prog_create, hdr, 0);
VIRTIO_GPGPU_OFF(req_prog_create, id, 32);
VIRTIO_GPGPU_OFF(req_prog_create, kind, 36);
VIRTIO_GPGPU_OFF(req_prog_create, prog_flags, 40);
VIRTIO_GPGPU_OFF(req_prog_create, num_insns, 44);
VIRTIO_GPGPU_OFF(req_prog_create, insns_buffer, 48);
VIRTIO_GPGPU_OFF(req_prog_create, num_args, 52);
VIRTIO_GPGPU_OFF(req_prog_create, insns_offset, 56);
VIRTIO_GPGPU_OFF(req_prog_create, arg_kind, 64);
VIRTIO_GPGPU_OFF(req_prog_create, name, 80);

VIRTIO_GPGPU_SIZE(resp_prog, 304);
VIRTIO_GPGPU_OFF(resp_prog, hdr, 0);
VIRTIO_GPGPU_OFF(resp_prog, compile_ns, 32);
VIRTIO_GPGPU_OFF(resp_prog, code_bytes, 40);
VIRTIO_GPGPU_OFF(resp_prog, num_insns, 44);
VIRTIO_GPGPU_OFF(resp_prog, message, 48);

VIRTIO_GPGPU_SIZE(fence, 16);
VIRTIO_GPGPU_OFF(fence, ctx_id, 0);
VIRTIO_GPGPU_OFF(fence, timeline, 4);
VIRTIO_GPGPU_OFF(fence, seq, 8);

VIRTIO_GPGPU_SIZE(job, 16);
VIRTIO_GPGPU_OFF(job, timeline, 0);
VIRTIO_GPGPU_OFF(job, num_fences, 4);
VIRTIO_GPGPU_OFF(job, seq, 8);

VIRTIO_GPGPU_SIZE(resp_job, 64);
VIRTIO_GPGPU_OFF(resp_job, hdr, 0);
VIRTIO_GPGPU_OFF(resp_job, device_ns, 32);
VIRTIO_GPGPU_OFF(resp_job, queued_ns, 40);
VIRTIO_GPGPU_OFF(resp_job, fault_count, 48);
VIRTIO_GPGPU_OFF(resp_job, fault_insn, 56);
VIRTIO_GPGPU_OFF(resp_job, slices, 60);

VIRTIO_GPGPU_SIZE(arg, 24);
VIRTIO_GPGPU_OFF(arg, kind, 0);
VIRTIO_GPGPU_OFF(arg, buffer, 4);
VIRTIO_GPGPU_OFF(arg, value, 8);
VIRTIO_GPGPU_OFF(arg, size, 16);

VIRTIO_GPGPU_SIZE(req_dispatch, 80);
VIRTIO_GPGPU_OFF(req_dispatch, hdr, 0);
VIRTIO_GPGPU_OFF(req_dispatch, job, 32);
VIRTIO_GPGPU_OFF(req_dispatch, prog, 48);
VIRTIO_GPGPU_OFF(req_dispatch, num_args, 52);
VIRTIO_GPGPU_OFF(req_dispatch, grid, 56);
VIRTIO_GPGPU_OFF(req_dispatch, group, 68);

VIRTIO_GPGPU_SIZE(req_copy, 88);
VIRTIO_GPGPU_OFF(req_copy, hdr, 0);
VIRTIO_GPGPU_OFF(req_copy, job, 32);
VIRTIO_GPGPU_OFF(req_copy, dst, 48);
VIRTIO_GPGPU_OFF(req_copy, src, 52);
VIRTIO_GPGPU_OFF(req_copy, dst_offset, 56);
VIRTIO_GPGPU_OFF(req_copy, src_offset, 64);
VIRTIO_GPGPU_OFF(req_copy, size, 72);
VIRTIO_GPGPU_OFF(req_copy, pattern, 80);
VIRTIO_GPGPU_OFF(req_copy, reserved, 84);

VIRTIO_GPGPU_SIZE(req_nop, 48);
VIRTIO_GPGPU_OFF(req_nop, hdr, 0);
VIRTIO_GPGPU_OFF(req_nop, job, 32);

VIRTIO_GPGPU_SIZE(req_job_cancel, 48);
VIRTIO_GPGPU_OFF(req_job_cancel, hdr, 0);
VIRTIO_GPGPU_OFF(req_job_cancel, timeline, 32);
VIRTIO_GPGPU_OFF(req_job_cancel, reserved, 36);
VIRTIO_GPGPU_OFF(req_job_cancel, seq, 40);

VIRTIO_GPGPU_SIZE(req_packets, 72);
VIRTIO_GPGPU_OFF(req_packets, hdr, 0);
VIRTIO_GPGPU_OFF(req_packets, job, 32);
VIRTIO_GPGPU_OFF(req_packets, prog, 48);
VIRTIO_GPGPU_OFF(req_packets, num_packets, 52);
VIRTIO_GPGPU_OFF(req_packets, buffer, 56);
VIRTIO_GPGPU_OFF(req_packets, stride, 60);
VIRTIO_GPGPU_OFF(req_packets, offset, 64);

VIRTIO_GPGPU_SIZE(packet_desc, 16);
VIRTIO_GPGPU_OFF(packet_desc, data_off, 0);
VIRTIO_GPGPU_OFF(packet_desc, data_len, 4);
VIRTIO_GPGPU_OFF(packet_desc, meta_len, 8);
VIRTIO_GPGPU_OFF(packet_desc, rx_queue, 10);
VIRTIO_GPGPU_OFF(packet_desc, ingress_port, 12);

VIRTIO_GPGPU_SIZE(packet_result, 24);
VIRTIO_GPGPU_OFF(packet_result, verdict, 0);
VIRTIO_GPGPU_OFF(packet_result, egress_port, 4);
VIRTIO_GPGPU_OFF(packet_result, data_off, 8);
VIRTIO_GPGPU_OFF(packet_result, data_len, 12);
VIRTIO_GPGPU_OFF(packet_result, meta_len, 16);
VIRTIO_GPGPU_OFF(packet_result, fault, 18);
VIRTIO_GPGPU_OFF(packet_result, fault_insn, 20);

VIRTIO_GPGPU_SIZE(resp_packets, 112);
VIRTIO_GPGPU_OFF(resp_packets, job, 0);
VIRTIO_GPGPU_OFF(resp_packets, verdicts, 64);
VIRTIO_GPGPU_OFF(resp_packets, bytes, 104);

VIRTIO_GPGPU_SIZE(resp_stats, 160);
VIRTIO_GPGPU_OFF(resp_stats, hdr, 0);
VIRTIO_GPGPU_OFF(resp_stats, device_ns, 32);
VIRTIO_GPGPU_OFF(resp_stats, waited_ns, 40);
VIRTIO_GPGPU_OFF(resp_stats, throttled_ns, 48);
VIRTIO_GPGPU_OFF(resp_stats, jobs, 56);
VIRTIO_GPGPU_OFF(resp_stats, packets, 64);
VIRTIO_GPGPU_OFF(resp_stats, bytes, 72);
VIRTIO_GPGPU_OFF(resp_stats, verdicts, 80);
VIRTIO_GPGPU_OFF(resp_stats, faults, 120);
VIRTIO_GPGPU_OFF(resp_stats, memory, 128);
VIRTIO_GPGPU_OFF(resp_stats, memory_max, 136);
VIRTIO_GPGPU_OFF(resp_stats, memory_limit, 144);
VIRTIO_GPGPU_OFF(resp_stats, weight, 152);
VIRTIO_GPGPU_OFF(resp_stats, cap, 156);

VIRTIO_GPGPU_SIZE(event, 32);
VIRTIO_GPGPU_OFF(event, type, 0);
VIRTIO_GPGPU_OFF(event, reason, 4);
VIRTIO_GPGPU_OFF(event, value, 8);
VIRTIO_GPGPU_OFF(event, dropped, 16);
VIRTIO_GPGPU_OFF(event, generation, 24);
VIRTIO_GPGPU_OFF(event, reserved, 28);

#endif
