/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * virtio_gpgpu_drm.h - what user space and virtio_gpgpu.ko agree on (/dev/accel/accelN).
 *
 * An open file is a context: objects made through it go with it. Handles are per file: GEM handles for
 * buffers, small integers for maps, programs and jobs. Every failing ioctl that reached the device fills
 * `struct drm_virtio_gpgpu_result` with the device's status, reason and detail, besides returning
 * -errno. Reserved fields and unknown flags must be zero and are checked. Pointers are user addresses in a __u64.
 *
 * What the device says, and what an ioctl then returns (JOB_WAIT: of a job that has ended):
 *
 *	OK 0				NO_MEMORY -ENOMEM		FAULT -EIO
 *	INVALID -EINVAL			LIMIT -EDQUOT			CANCELLED -ECANCELED
 *	UNSUPPORTED -EOPNOTSUPP		LIMIT, map full -E2BIG		DEVICE_LOST -ENODEV
 *	NOT_FOUND, END -ENOENT		PERMISSION -EACCES		TIMEOUT -ETIMEDOUT
 *	EXISTS -EEXIST			REJECTED -EINVAL		BUSY -EBUSY
 *
 * Of the driver itself: -ENOENT for a handle that this file does not have, -EINVAL for a field that is
 * wrong, -EFAULT for a pointer, -E2BIG for what no request has room for, -ENODEV once the device was lost
 * or has gone: every file that was open then must be closed, one that is opened later works.
 */
#ifndef VIRTIO_GPGPU_DRM_H
#define VIRTIO_GPGPU_DRM_H

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* What the device said; numbers are those of the device specification (virtio_gpgpu.h). */
struct drm_virtio_gpgpu_result {
	__u32 status;
	__u32 reason;
	__u64 detail;
};

/* Copies up to `size` bytes of the capability record (struct virtio_gpgpu_caps) to `ptr`; out: size filled. */
struct drm_virtio_gpgpu_get_caps {
	__u64 ptr;
	__u32 size;
	__u32 generation;		/* out */
};

/* The device's counters, of all its users together: struct virtio_gpgpu_resp_stats, as above. */
struct drm_virtio_gpgpu_get_stats {
	__u64 ptr;
	__u32 size;
	__u32 pad;
};

#define DRM_VIRTIO_GPGPU_BO_SHM		1	/* mappable, in the shared region */
#define DRM_VIRTIO_GPGPU_BO_DEVICE	2	/* device memory, reached by copies only */

struct drm_virtio_gpgpu_bo_create {
	__u64 size;			/* in: bytes; out: rounded up to pages */
	__u32 mem;			/* DRM_VIRTIO_GPGPU_BO_* */
	__u32 handle;			/* out: GEM handle, freed with DRM_IOCTL_GEM_CLOSE */
	__u64 mmap_offset;		/* out: for mmap() of the node; 0 for device memory */
	struct drm_virtio_gpgpu_result result;
};

struct drm_virtio_gpgpu_map_create {
	__u32 type;
	__u32 key_size;
	__u32 value_size;
	__u32 max_entries;
	__u32 flags;
	__u32 handle;			/* out */
	__u8 name[16];
	struct drm_virtio_gpgpu_result result;
	__u32 inner;			/* *_OF_MAPS: a map of the shape that its values have; else 0 */
	__u32 pad;
};

/*
 * MAP_DESTROY, MAP_FREEZE, PROG_DESTROY, JOB_DESTROY, JOB_CANCEL. Destroying drops the handle; what is
 * still in use lives until it is not, and a job goes on. Cancelling a job cancels those before it on its
 * timeline, too; they end at the end of their slice. One that has ended already is no error.
 */
struct drm_virtio_gpgpu_handle {
	__u32 handle;
	__u32 pad;
	struct drm_virtio_gpgpu_result result;
};

#define DRM_VIRTIO_GPGPU_MAP_LOOKUP	1	/* -ENOENT if there is none */
#define DRM_VIRTIO_GPGPU_MAP_UPDATE	2
#define DRM_VIRTIO_GPGPU_MAP_DELETE	3
#define DRM_VIRTIO_GPGPU_MAP_NEXT_KEY	4	/* key 0: first; next key to `value`; -ENOENT at the end */
#define DRM_VIRTIO_GPGPU_MAP_POP	5	/* LOOKUP and DELETE in one; QUEUE, STACK, hash maps */

/*
 * Maps without keys (QUEUE, STACK, BLOOM_FILTER) take key 0. A LOOKUP in a BLOOM_FILTER reads `value` and
 * returns 0 or -ENOENT. What is written to a PROG_ARRAY or a map of maps is a handle of this file; what is
 * read is the device's id, or 0 if the handle was destroyed meanwhile.
 */
struct drm_virtio_gpgpu_map_op {
	__u32 handle;
	__u32 op;			/* DRM_VIRTIO_GPGPU_MAP_* */
	__u64 key;			/* user pointer, key_size bytes */
	__u64 value;			/* user pointer */
	__u32 value_size;		/* bytes at `value`; per-CPU maps: num_cpus values padded to 8 */
	__u32 flags;			/* UPDATE: BPF_ANY, BPF_NOEXIST, BPF_EXIST */
	struct drm_virtio_gpgpu_result result;
};

#define DRM_VIRTIO_GPGPU_MAP_DUMP	1
#define DRM_VIRTIO_GPGPU_MAP_LOAD	2

/*
 * Many entries at once, each a key padded to 8 and a value (as it travels) padded to 8, at most 16,384. A DUMP
 * goes on after `key` and fails with -ENOENT at the end; count is how many there is room for, and then how many
 * came. A LOAD that fails leaves in count how many entries were taken before.
 */
struct drm_virtio_gpgpu_map_bulk {
	__u32 handle;
	__u32 op;			/* DRM_VIRTIO_GPGPU_MAP_DUMP, _LOAD */
	__u64 key;			/* DUMP: user pointer, 0: from the first; LOAD: 0 */
	__u64 entries;			/* user pointer */
	__u32 count;			/* in and out */
	__u32 flags;			/* LOAD: BPF_ANY, BPF_NOEXIST, BPF_EXIST */
	struct drm_virtio_gpgpu_result result;
};

/*
 * Takes records out of a RINGBUF or PERF_EVENT_ARRAY, oldest first: each is struct virtio_gpgpu_record and its bytes,
 * padded to 8. poll() of the node says EPOLLIN while a map of this file may have records, EPOLLHUP once
 * the device was lost. A call that a signal interrupts leaves in timeout_ns what is left of the time.
 */
struct drm_virtio_gpgpu_map_read {
	__u32 handle;
	__u32 size;			/* bytes of room at `data`, at least 8 */
	__u64 data;			/* user pointer */
	__s64 timeout_ns;		/* relative; 0: do not wait, negative: no limit; -ETIME when it passes */
	__u32 bytes;			/* out: of records */
	__u32 num_records;		/* out */
	__u64 dropped;			/* out: records that found no room, since the map was made */
	struct drm_virtio_gpgpu_result result;
};

/*
 * Program creation. Map references in the instructions (ld_imm64, src_reg 1 or 2) carry map
 * handles of this file in their first imm; the driver puts the device's ids there.
 */
struct drm_virtio_gpgpu_prog_create {
	__u32 kind;			/* VIRTIO_GPGPU_PROG_* */
	__u32 num_insns;
	__u64 insns;			/* user pointer, num_insns * 8 bytes */
	__u32 num_args;
	__u32 flags;
	__u8 arg_kind[16];
	__u8 name[32];
	__u64 message;			/* user pointer or 0: why it was refused */
	__u32 message_size;
	__u32 handle;			/* out */
	__u64 compile_ns;		/* out */
	__u32 code_bytes;		/* out */
	__u32 pad;
	struct drm_virtio_gpgpu_result result;
};

struct drm_virtio_gpgpu_arg {
	__u32 kind;			/* VIRTIO_GPGPU_ARG_* */
	__u32 handle;			/* GEM handle, or 0 for a value */
	__u64 value;			/* value, or byte offset in the buffer */
	__u64 size;			/* bytes of the range; 0: to the buffer's end, or a value */
};

struct drm_virtio_gpgpu_packet_desc {	/* struct virtio_gpgpu_packet_desc, native endian */
	__u32 data_off;
	__u32 data_len;
	__u16 meta_len;
	__u16 rx_queue;
	__u32 ingress_port;
};

struct drm_virtio_gpgpu_packet_result {	/* struct virtio_gpgpu_packet_result, native endian */
	__u32 verdict;
	__u32 egress_port;
	__u32 data_off;
	__u32 data_len;
	__u16 meta_len;
	__u16 fault;
	__u32 fault_insn;
};

#define DRM_VIRTIO_GPGPU_JOB_NOP	1
#define DRM_VIRTIO_GPGPU_JOB_DISPATCH	2
#define DRM_VIRTIO_GPGPU_JOB_PACKETS	3
#define DRM_VIRTIO_GPGPU_JOB_COPY	4
#define DRM_VIRTIO_GPGPU_JOB_FILL	5

/*
 * Submits one job, waiting while too many are under way. Jobs on one timeline (0..15) run in order; jobs on different ones do not. The job starts
 * after every in-syncobj has signalled; the out-syncobj (or 0) gets the job's fence.
 */
struct drm_virtio_gpgpu_submit {
	__u32 type;			/* DRM_VIRTIO_GPGPU_JOB_* */
	__u32 flags;			/* PACKETS: VIRTIO_GPGPU_PACKETS_ORDER_* */
	__u32 timeline;
	__u32 queue;			/* queue of the kind, modulo their number */
	__u64 in_syncobjs;		/* user pointer to __u32 handles */
	__u32 num_in_syncobjs;		/* up to 64 */
	__u32 out_syncobj;
	__u32 job;			/* out: handle, to be destroyed with JOB_DESTROY */
	__u32 pad;
	union {
		struct {
			__u32 prog;
			__u32 num_args;
			__u64 args;	/* user pointer to struct drm_virtio_gpgpu_arg */
			__u32 grid[3];
			__u32 group[3];
		} dispatch;
		struct {
			__u32 prog;
			__u32 buffer;	/* GEM handle */
			__u64 offset;
			__u32 stride;
			__u32 num_packets;
			__u64 descs;	/* user pointer to struct drm_virtio_gpgpu_packet_desc */
		} packets;
		struct {
			__u32 dst;	/* GEM handles */
			__u32 src;	/* FILL: 0 */
			__u64 dst_offset;
			__u64 src_offset;
			__u64 size;
			__u32 pattern;
			__u32 pad;
		} copy;
		__u64 space[16];
	};
};

/*
 * Waits for a job and reads what came of it, as often as one likes. A call that a signal interrupts leaves in
 * timeout_ns what is left of the time. max_results must be 0 without results; num_results is what there is.
 */
struct drm_virtio_gpgpu_job_wait {
	__u32 job;
	__u32 pad;
	__s64 timeout_ns;		/* relative; 0: poll, negative: no limit; -ETIME when it passes */
	struct drm_virtio_gpgpu_result result;
	__u64 device_ns;		/* out, as struct virtio_gpgpu_resp_job */
	__u64 queued_ns;
	__u64 fault_count;
	__u32 fault_insn;
	__u32 slices;
	__u64 verdicts[5];		/* out, packets */
	__u64 bytes;
	__u64 results;			/* user pointer or 0: struct drm_virtio_gpgpu_packet_result */
	__u32 max_results;
	__u32 num_results;		/* out */
	/* out, CLOCK_MONOTONIC: when the driver took the job, sent it to the device (0: it did not), and had it back */
	__u64 taken_ns;
	__u64 sent_ns;
	__u64 ended_ns;
};

#define DRM_VIRTIO_GPGPU_GET_CAPS	0x00
#define DRM_VIRTIO_GPGPU_GET_STATS	0x01
#define DRM_VIRTIO_GPGPU_BO_CREATE	0x02
#define DRM_VIRTIO_GPGPU_MAP_CREATE	0x03
#define DRM_VIRTIO_GPGPU_MAP_DESTROY	0x04
#define DRM_VIRTIO_GPGPU_MAP_FREEZE	0x05
#define DRM_VIRTIO_GPGPU_MAP_OP		0x06
#define DRM_VIRTIO_GPGPU_PROG_CREATE	0x07
#define DRM_VIRTIO_GPGPU_PROG_DESTROY	0x08
#define DRM_VIRTIO_GPGPU_SUBMIT		0x09
#define DRM_VIRTIO_GPGPU_JOB_WAIT	0x0a
#define DRM_VIRTIO_GPGPU_JOB_CANCEL	0x0b
#define DRM_VIRTIO_GPGPU_JOB_DESTROY	0x0c
#define DRM_VIRTIO_GPGPU_MAP_BULK	0x0d
#define DRM_VIRTIO_GPGPU_MAP_READ	0x0e

#define DRM_VIRTIO_GPGPU_IO(dir, nr, type) \
	DRM_##dir(DRM_COMMAND_BASE + DRM_VIRTIO_GPGPU_##nr, struct drm_virtio_gpgpu_##type)

#define DRM_IOCTL_VIRTIO_GPGPU_GET_CAPS		DRM_VIRTIO_GPGPU_IO(IOWR, GET_CAPS, get_caps)
#define DRM_IOCTL_VIRTIO_GPGPU_GET_STATS	DRM_VIRTIO_GPGPU_IO(IOWR, GET_STATS, get_stats)
#define DRM_IOCTL_VIRTIO_GPGPU_BO_CREATE	DRM_VIRTIO_GPGPU_IO(IOWR, BO_CREATE, bo_create)
#define DRM_IOCTL_VIRTIO_GPGPU_MAP_CREATE	DRM_VIRTIO_GPGPU_IO(IOWR, MAP_CREATE, map_create)
#define DRM_IOCTL_VIRTIO_GPGPU_MAP_DESTROY	DRM_VIRTIO_GPGPU_IO(IOWR, MAP_DESTROY, handle)
#define DRM_IOCTL_VIRTIO_GPGPU_MAP_FREEZE	DRM_VIRTIO_GPGPU_IO(IOWR, MAP_FREEZE, handle)
#define DRM_IOCTL_VIRTIO_GPGPU_MAP_OP		DRM_VIRTIO_GPGPU_IO(IOWR, MAP_OP, map_op)
#define DRM_IOCTL_VIRTIO_GPGPU_PROG_CREATE	DRM_VIRTIO_GPGPU_IO(IOWR, PROG_CREATE, prog_create)
#define DRM_IOCTL_VIRTIO_GPGPU_PROG_DESTROY	DRM_VIRTIO_GPGPU_IO(IOWR, PROG_DESTROY, handle)
#define DRM_IOCTL_VIRTIO_GPGPU_SUBMIT		DRM_VIRTIO_GPGPU_IO(IOWR, SUBMIT, submit)
#define DRM_IOCTL_VIRTIO_GPGPU_JOB_WAIT		DRM_VIRTIO_GPGPU_IO(IOWR, JOB_WAIT, job_wait)
#define DRM_IOCTL_VIRTIO_GPGPU_JOB_CANCEL	DRM_VIRTIO_GPGPU_IO(IOWR, JOB_CANCEL, handle)
#define DRM_IOCTL_VIRTIO_GPGPU_JOB_DESTROY	DRM_VIRTIO_GPGPU_IO(IOWR, JOB_DESTROY, handle)
#define DRM_IOCTL_VIRTIO_GPGPU_MAP_BULK		DRM_VIRTIO_GPGPU_IO(IOWR, MAP_BULK, map_bulk)
#define DRM_IOCTL_VIRTIO_GPGPU_MAP_READ		DRM_VIRTIO_GPGPU_IO(IOWR, MAP_READ, map_read)

#if defined(__cplusplus)
}
#endif

#endif
