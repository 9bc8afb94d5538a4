// SPDX-License-Identifier: BSD-3-Clause
/*
 * interp.c - the loop: decode, memory, control flow (RFC 9669, sections 3 to 5).
 *
 * step() runs one instruction and moves the program counter; run() repeats it until the main function
 * returns or something is wrong. A fault ends the item where it stands: stores before it stay.
 */
#include "priv.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "alu.c and the users of interp_mem() assume a little-endian machine"
#endif

static void fault(struct machine *m, uint32_t reason)
{
	if (!m->fault)
		m->fault = reason;
}

/* ------------------------------------------------------------------ memory */
/* Numbers of maps, programs and ports are not memory. */
static bool has_memory(const struct interp_map *map)
{
	switch (map->type) {
	case VIRTIO_GPGPU_MAP_PROG_ARRAY:
	case VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS:
	case VIRTIO_GPGPU_MAP_HASH_OF_MAPS:
	case VIRTIO_GPGPU_MAP_PERF_EVENT_ARRAY:
	case VIRTIO_GPGPU_MAP_QUEUE:
	case VIRTIO_GPGPU_MAP_STACK:
	case VIRTIO_GPGPU_MAP_BLOOM_FILTER:
		return false;
	default:
		return true;
	}
}

struct interp_looks interp_looks;

static uint8_t *region(struct machine *m, uint32_t number, uint64_t *high, bool *writable)
{
	struct interp_map *map;

	*writable = true;
	if (number == REGION_STACK) {
		*high = sizeof(m->stack);
		return m->stack;
	}
	if (number == REGION_SLOT && m->packet) {
		*high = m->end; /* from the slot's start: the room in front of the packet is the item's too */
		return m->packet->slot;
	}
	if (number == REGION_LOCAL && m->local) {
		*high = m->local_size;
		return m->local;
	}
	if (number >= REGION_ARG && number < REGION_ARG + m->num_args && m->args[number - REGION_ARG].base) {
		*high = m->args[number - REGION_ARG].size;
		*writable = m->args[number - REGION_ARG].writable;
		return m->args[number - REGION_ARG].base;
	}
	if (number >= REGION_VALUE && number < REGION_VALUE + m->env->num_maps) {
		map = m->env->maps[number - REGION_VALUE];
		if (!has_memory(map))
			return NULL;
		*high = map->values_size;
		*writable = !map->rdonly;
		return map->values;
	}
	return NULL;
}

uint8_t *interp_mem(struct machine *m, uint64_t address, uint64_t size, bool write)
{
	uint64_t offset = POINTER_OFFSET(address), high;
	bool writable;
	uint8_t *base = region(m, (uint32_t)POINTER_REGION(address), &high, &writable);

	/* Above and below a frame lie others, in another order elsewhere; in front of a packet is room. */
	if (POINTER_REGION(address) == REGION_STACK) {
		uint64_t low = interp_looks.frame_gap ? 0 : FRAME_BYTES * MAX_FRAMES;
		bool in = offset >= low && offset < high && high - offset >= size &&
			  (high - offset - 1) % FRAME_STEP < FRAME_BYTES;

		/* Below the running function's lies what calls left behind. */
		interp_looks.numbers |= !in || offset < POINTER_OFFSET(m->reg[10]) - FRAME_BYTES;
		base = in ? base : NULL;
	} else if (POINTER_REGION(address) == REGION_SLOT && m->packet && offset < m->meta) {
		interp_looks.numbers = true;
	}
	if (!base || offset > high || high - offset < size || (write && !writable)) {
		fault(m, VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
		return NULL;
	}
	return base + offset;
}

static uint64_t context_xdp(struct machine *m, uint64_t offset, uint32_t size)
{
	if (size == 4) {
		switch (offset) {
		case offsetof(struct xdp_md, data):
			return POINTER(REGION_SLOT, m->data);
		case offsetof(struct xdp_md, data_end):
			return POINTER(REGION_SLOT, m->end);
		case offsetof(struct xdp_md, data_meta):
			return POINTER(REGION_SLOT, m->meta);
		case offsetof(struct xdp_md, ingress_ifindex):
			return m->packet->ingress_port;
		case offsetof(struct xdp_md, rx_queue_index):
			return m->packet->rx_queue;
		case 20: /* egress_ifindex, which older headers lack; there is none */
			return 0;
		}
	}
	fault(m, VIRTIO_GPGPU_R_CTX_ACCESS);
	return 0;
}

uint64_t interp_context(struct machine *m, uint64_t offset, uint32_t size)
{
	const struct interp_arg *arg;
	uint64_t value = 0;

	if (m->packet)
		return context_xdp(m, offset, size);
	if (offset % 8 + size > 8 || offset / 8 >= m->num_args) {
		fault(m, VIRTIO_GPGPU_R_CTX_ACCESS);
		return 0;
	}
	arg = &m->args[offset / 8];
	if (arg->base) {
		if (size == 8)
			return POINTER(REGION_ARG + offset / 8, 0);
		fault(m, VIRTIO_GPGPU_R_CTX_ACCESS);
		return 0;
	}
	memcpy(&value, (const uint8_t *)&arg->value + offset % 8, size);
	return value;
}

static const uint32_t size_of[4] = { [BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8 };

/* Which value of a map lies there; all are one where they lie alike for everybody. */
static uint64_t element(struct machine *m, uint64_t pointer)
{
	uint64_t number = POINTER_REGION(pointer) - REGION_VALUE;
	const struct interp_map *map;

	if (number >= m->env->num_maps)
		return 0;
	map = m->env->maps[number];
	if (map->type == VIRTIO_GPGPU_MAP_ARRAY || !map->value_size)
		return 0;
	return POINTER_OFFSET(pointer) / ((map->value_size + 7) & ~7u);
}

/* An access from a pointer to a value, by a displacement that leads to another one. */
static void leaves_value(struct machine *m, uint64_t pointer, int16_t off, uint32_t size)
{
	uint64_t at = pointer + (uint64_t)(int64_t)off;

	if (element(m, at) != element(m, pointer) || element(m, at + size - 1) != element(m, pointer))
		interp_looks.numbers = true;
}

static void load(struct machine *m, const struct bpf_insn *insn)
{
	uint32_t size = size_of[BPF_SIZE(insn->code) >> 3];
	uint64_t address = m->reg[insn->src_reg] + (uint64_t)(int64_t)insn->off, value = 0;
	bool sign = BPF_MODE(insn->code) == BPF_MEMSX;
	const uint8_t *at;

	if ((BPF_MODE(insn->code) != BPF_MEM && !sign) || (sign && size == 8)) {
		fault(m, VIRTIO_GPGPU_R_OPCODE);
		return;
	}
	if (POINTER_REGION(address) == REGION_CONTEXT) {
		value = interp_context(m, POINTER_OFFSET(address), size);
	} else {
		leaves_value(m, m->reg[insn->src_reg], insn->off, size);
		at = interp_mem(m, address, size, false);
		if (!at)
			return;
		memcpy(&value, at, size);
	}
	if (sign)
		value = (uint64_t)((int64_t)(value << (64 - 8 * size)) >> (64 - 8 * size));
	m->reg[insn->dst_reg] = value;
}

static uint64_t get(const uint8_t *at, uint32_t size)
{
	uint64_t value = 0;

	memcpy(&value, at, size);
	return value;
}

static void atomic(struct machine *m, const struct bpf_insn *insn)
{
	uint32_t size = size_of[BPF_SIZE(insn->code) >> 3];
	uint64_t address = m->reg[insn->dst_reg] + (uint64_t)(int64_t)insn->off;
	uint64_t src = m->reg[insn->src_reg], old, new;
	uint8_t *at;

	if (size < 4) {
		fault(m, VIRTIO_GPGPU_R_OPCODE);
		return;
	}
	leaves_value(m, m->reg[insn->dst_reg], insn->off, size);
	at = interp_mem(m, address, size, true);
	if (!at)
		return;
	if (address % size) {
		fault(m, VIRTIO_GPGPU_R_MISALIGNED);
		return;
	}
	old = get(at, size);
	switch (insn->imm) {
	case BPF_ADD:
	case BPF_ADD | BPF_FETCH:
		new = old + src;
		break;
	case BPF_OR:
	case BPF_OR | BPF_FETCH:
		new = old | src;
		break;
	case BPF_AND:
	case BPF_AND | BPF_FETCH:
		new = old &src;
		break;
	case BPF_XOR:
	case BPF_XOR | BPF_FETCH:
		new = old ^ src;
		break;
	case BPF_XCHG:
		new = src;
		break;
	case BPF_CMPXCHG:
		new = old == (size == 4 ? (uint32_t)m->reg[0] : m->reg[0]) ? src : old;
		break;
	default:
		fault(m, VIRTIO_GPGPU_R_OPCODE);
		return;
	}
	memcpy(at, &new, size);
	if (insn->imm == BPF_CMPXCHG)
		m->reg[0] = old;
	else if (insn->imm & BPF_FETCH)
		m->reg[insn->src_reg] = old;
}

static bool is_pointer(struct machine *m, uint64_t value)
{
	uint64_t number = POINTER_REGION(value), high;
	bool writable;

	return number == REGION_CONTEXT || (number >= REGION_MAP && number < REGION_MAP + m->env->num_maps) ||
	       (number <= UINT32_MAX && region(m, (uint32_t)number, &high, &writable));
}

/* Arithmetic and comparisons whose result depends on what pointers look like. */
static bool makes_numbers(struct machine *m, const struct bpf_insn *insn)
{
	bool jump = BPF_CLASS(insn->code) == BPF_JMP || BPF_CLASS(insn->code) == BPF_JMP32;
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64 || BPF_CLASS(insn->code) == BPF_JMP;
	uint64_t a = m->reg[insn->dst_reg],
		 b = BPF_SRC(insn->code) ? m->reg[insn->src_reg] : (uint64_t)insn->imm;
	bool pa = is_pointer(m, a), pb = BPF_SRC(insn->code) && is_pointer(m, b), both = pa && pb;
	bool same = both && POINTER_REGION(a) == POINTER_REGION(b);

	if (!jump && BPF_OP(insn->code) == BPF_MOV)
		return pb && (!wide || insn->off);
	if (!pa && !pb)
		return false;
	if (!wide || (jump && BPF_OP(insn->code) == BPF_JSET))
		return true;
	if (jump) /* with NULL, or of one region */
		return !same &&
		       !((BPF_OP(insn->code) == BPF_JEQ || BPF_OP(insn->code) == BPF_JNE) && (!a || !b));
	switch (BPF_OP(insn->code)) {
	case BPF_ADD:
		return both || element(m, a + b) != element(m, pa ? a : b);
	case BPF_SUB:
		return !pa || (both && !same) || (!pb && element(m, a - b) != element(m, a));
	default:
		return true;
	}
}

static void store(struct machine *m, const struct bpf_insn *insn)
{
	uint32_t size = size_of[BPF_SIZE(insn->code) >> 3];
	uint64_t value = (uint64_t)(int64_t)insn->imm;
	uint8_t *at;

	if (BPF_CLASS(insn->code) == BPF_STX) {
		if ((size < 8 || BPF_MODE(insn->code) == BPF_ATOMIC) && is_pointer(m, m->reg[insn->src_reg]))
			interp_looks.numbers = true;
		if (BPF_MODE(insn->code) == BPF_ATOMIC) {
			atomic(m, insn);
			return;
		}
		value = m->reg[insn->src_reg];
	}
	if (BPF_MODE(insn->code) != BPF_MEM) {
		fault(m, VIRTIO_GPGPU_R_OPCODE);
		return;
	}
	leaves_value(m, m->reg[insn->dst_reg], insn->off, size);
	at = interp_mem(m, m->reg[insn->dst_reg] + (uint64_t)(int64_t)insn->off, size, true);
	if (at)
		memcpy(at, &value, size);
}

/* ld_imm64; moves the program counter over its second half. */
static void load_imm64(struct machine *m, const struct bpf_insn *insn)
{
	uint32_t high, low = (uint32_t)insn->imm;

	if (insn->code != (BPF_LD | BPF_IMM | BPF_DW) || m->pc + 1 >= m->num_insns || insn[1].code) {
		fault(m, VIRTIO_GPGPU_R_OPCODE);
		return;
	}
	high = (uint32_t)insn[1].imm;
	switch (insn->src_reg) {
	case 0:
		m->reg[insn->dst_reg] = (uint64_t)high << 32 | low;
		m->pc++;
		return;
	case BPF_PSEUDO_MAP_FD:
	case BPF_PSEUDO_MAP_VALUE:
		if (low >= m->env->num_maps) {
			fault(m, VIRTIO_GPGPU_R_MAP_REF);
			return;
		}
		m->reg[insn->dst_reg] = insn->src_reg == BPF_PSEUDO_MAP_FD
						? POINTER(REGION_MAP + low, 0)
						: POINTER(REGION_VALUE + low, high);
		m->pc++;
		return;
	case VIRTIO_GPGPU_LD_LOCAL:
		m->reg[insn->dst_reg] = POINTER(REGION_LOCAL, low);
		m->pc++;
		return;
	case BPF_PSEUDO_FUNC:
		if ((int64_t)m->pc + 1 + (int32_t)low < 0 ||
		    m->pc + 1 + (int64_t)(int32_t)low >= m->num_insns) {
			fault(m, VIRTIO_GPGPU_R_JUMP);
			return;
		}
		m->reg[insn->dst_reg] = POINTER(REGION_FUNC, m->pc + 1 + (int64_t)(int32_t)low);
		m->pc++;
		return;
	}
	fault(m, VIRTIO_GPGPU_R_INSN_FIELD);
}

/* ------------------------------------------------------------------ control flow */
static bool burn(struct machine *m)
{
	if (m->fuel == 0) {
		fault(m, VIRTIO_GPGPU_R_OUT_OF_FUEL);
		return false;
	}
	m->fuel--;
	return true;
}

/* Goes to the instruction @distance after the next one. */
static void jump(struct machine *m, int64_t distance)
{
	int64_t target = (int64_t)m->pc + 1 + distance;

	if (target < 0 || target >= m->num_insns) {
		fault(m, VIRTIO_GPGPU_R_JUMP);
		return;
	}
	if (distance < 0 && !burn(m))
		return;
	m->pc = (uint32_t)target;
}

#define CALLEE_SAVED 0x3c0u /* R6-R9 */
#define ARGUMENTS    0x03eu /* R1-R5 */

/* Return: false with the machine's fault set if there are too many frames. */
static bool enter(struct machine *m, bool callback)
{
	struct frame *frame = &m->frame[m->depth];

	if (m->depth + 1 >= MAX_FRAMES) {
		fault(m, VIRTIO_GPGPU_R_CALL_DEPTH);
		return false;
	}
	if (!burn(m))
		return false;
	memcpy(frame->saved, &m->reg[6], sizeof(frame->saved));
	frame->written = m->written;
	frame->back = m->pc + 1;
	frame->callback = callback;
	m->depth++;
	m->reg[10] -= FRAME_STEP;
	if (m->env->strict)
		m->written &= ARGUMENTS | 1u << 10;
	return true;
}

static void call_local(struct machine *m, int32_t distance)
{
	if (!enter(m, false))
		return;
	m->fuel++; /* a call is not a back edge too, wherever its target lies */
	jump(m, distance);
}

/* Return: true when the main function or a callback returned. */
static bool leave(struct machine *m)
{
	struct frame *frame;

	if (m->depth == 0) {
		/* A verdict is a number. */
		interp_looks.numbers |= is_pointer(m, m->reg[0]);
		return true;
	}
	frame = &m->frame[--m->depth];
	memcpy(&m->reg[6], frame->saved, sizeof(frame->saved));
	if (m->env->strict)
		m->written = (frame->written & (CALLEE_SAVED | 1u << 10)) | 1u;
	m->reg[10] += FRAME_STEP;
	m->pc = frame->back;
	return frame->callback;
}

/* Return: true when the program has ended. */
static bool branch(struct machine *m, const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_JMP32;
	int taken;

	switch (BPF_OP(insn->code)) {
	case BPF_JA:
		jump(m, wide ? insn->imm : insn->off);
		return false;
	case BPF_EXIT:
		return leave(m);
	case BPF_CALL:
		if (insn->src_reg == BPF_PSEUDO_CALL) {
			call_local(m, insn->imm);
		} else if (insn->src_reg == 0) {
			interp_call(m, (uint32_t)insn->imm);
			if (m->env->strict)
				m->written = (m->written & ~(ARGUMENTS)) | 1u;
			if (m->tailed)
				m->written = m->env->strict ? 1u << 1 | 1u << 10 : UINT32_MAX;
			else if (!m->fault)
				m->pc++;
			m->tailed = false;
		} else {
			fault(m, VIRTIO_GPGPU_R_HELPER);
		}
		return false;
	}
	if (makes_numbers(m, insn))
		interp_looks.numbers = true;
	taken = interp_jump(insn, m->reg[insn->dst_reg], m->reg[insn->src_reg]);
	if (taken < 0)
		fault(m, VIRTIO_GPGPU_R_OPCODE);
	else
		jump(m, taken ? insn->off : 0);
	return false;
}

/* Registers that an instruction reads; arguments of helpers are left out. */
static uint32_t reads(const struct bpf_insn *insn)
{
	uint32_t dst = 1u << insn->dst_reg, src = 1u << insn->src_reg;
	bool reg = BPF_SRC(insn->code) == BPF_X;

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		if (BPF_OP(insn->code) == BPF_END)
			return dst;
		return (BPF_OP(insn->code) == BPF_MOV ? 0 : dst) | (reg ? src : 0);
	case BPF_LDX:
		return src;
	case BPF_ST:
		return dst;
	case BPF_STX:
		return dst | src | (BPF_MODE(insn->code) == BPF_ATOMIC && insn->imm == BPF_CMPXCHG);
	case BPF_JMP:
	case BPF_JMP32:
		if (BPF_OP(insn->code) == BPF_EXIT)
			return 1;
		if (BPF_OP(insn->code) == BPF_CALL || BPF_OP(insn->code) == BPF_JA)
			return 0;
		return dst | (reg ? src : 0);
	default:
		return 0;
	}
}

static uint32_t writes(const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
	case BPF_LDX:
	case BPF_LD:
		return 1u << insn->dst_reg;
	case BPF_STX:
		if (BPF_MODE(insn->code) != BPF_ATOMIC || !(insn->imm & BPF_FETCH))
			return 0;
		return insn->imm == BPF_CMPXCHG ? 1 : 1u << insn->src_reg;
	default:
		return 0;
	}
}

static bool step(struct machine *m)
{
	const struct bpf_insn *insn = &m->insns[m->pc];

	if (insn->dst_reg > 10 || (insn->src_reg > 10 && BPF_CLASS(insn->code) != BPF_LD)) {
		fault(m, VIRTIO_GPGPU_R_REGISTER);
		return false;
	}
	if (reads(insn) & ~m->written) {
		fault(m, VIRTIO_GPGPU_R_UNINITIALISED);
		return false;
	}
	m->written |= writes(insn);
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		if (makes_numbers(m, insn))
			interp_looks.numbers = true;
		if (!interp_alu(insn, m->reg[insn->dst_reg], m->reg[insn->src_reg], &m->reg[insn->dst_reg]))
			fault(m, VIRTIO_GPGPU_R_OPCODE);
		break;
	case BPF_LDX:
		load(m, insn);
		break;
	case BPF_ST:
	case BPF_STX:
		store(m, insn);
		break;
	case BPF_LD:
		load_imm64(m, insn);
		break;
	default:
		return branch(m, insn);
	}
	if (!m->fault)
		m->pc++;
	return false;
}

static enum interp_where where(const struct machine *m, uint64_t address)
{
	uint64_t number = POINTER_REGION(address);

	if (number == REGION_CONTEXT)
		return INTERP_CONTEXT;
	if (number == REGION_STACK)
		return INTERP_STACK;
	if (number == REGION_SLOT)
		return INTERP_PACKET;
	if (number >= REGION_VALUE && number < REGION_VALUE + m->env->num_maps)
		return INTERP_VALUE;
	if (number >= REGION_ARG && number < REGION_ARG + m->num_args)
		return INTERP_BUFFER;
	return INTERP_NOWHERE;
}

static bool traced_step(struct machine *m)
{
	const struct bpf_insn *insn = &m->insns[m->pc];
	uint8_t class = BPF_CLASS(insn->code);
	struct interp_step s = {
		.insn = insn,
		.dst = m->reg[insn->dst_reg % 11],
		.src = m->reg[insn->src_reg % 11],
		.r0 = m->reg[0],
		.pc = m->pc,
		.depth = m->depth + 1,
	};
	bool ended;

	if (class == BPF_LDX || class == BPF_ST || class == BPF_STX) {
		s.address = (class == BPF_LDX ? s.src : s.dst) + (uint64_t)(int64_t)insn->off;
		s.where = where(m, s.address);
		s.address &= (1ull << REGION_SHIFT) - 1;
	}
	ended = step(m);
	s.new_dst = m->reg[insn->dst_reg % 11];
	s.new_r0 = m->reg[0];
	s.new_pc = m->pc;
	if (!m->fault)
		m->env->trace(m->env->trace_opaque, &s);
	return ended;
}

/* Until the main function, or the callback that was entered last, returns. */
static void go_on(struct machine *m)
{
	for (;;) {
		if (m->pc >= m->num_insns) {
			fault(m, VIRTIO_GPGPU_R_FALL_OFF);
			break;
		}
		if (m->env->max_steps && m->env->steps == m->env->max_steps) {
			fault(m, VIRTIO_GPGPU_R_OUT_OF_FUEL);
			break;
		}
		m->env->steps++;
		if (m->env->trace ? traced_step(m) : step(m))
			break;
		if (m->fault || m->wait)
			break;
	}
}

uint64_t interp_callback(struct machine *m, uint32_t target, uint64_t r1, uint64_t r2)
{
	uint32_t back = m->pc;

	if (!enter(m, true))
		return 0;
	m->pc = target;
	m->reg[1] = r1;
	m->reg[2] = r2;
	if (m->env->strict)
		m->written = 1u << 1 | 1u << 2 | 1u << 10;
	go_on(m);
	m->pc = m->fault ? m->pc : back;
	return m->fault ? 0 : m->reg[0];
}

static void start(struct machine *m, const struct bpf_insn *insns, uint32_t num_insns)
{
	m->insns = insns;
	m->num_insns = num_insns;
	m->pc = 0;
	m->depth = 0;
	m->written = m->env->strict ? 1u << 1 | 1u << 10 : UINT32_MAX;
	memset(m->reg, 0, sizeof(m->reg));
	m->reg[1] = POINTER(REGION_CONTEXT, 0);
	m->reg[10] = POINTER(REGION_STACK, sizeof(m->stack));
}

void interp_tail(struct machine *m, const struct interp_tail *tail)
{
	/* Its own fuel and its own stack. */
	m->fuel = m->env->fuel;
	memset(m->stack, 0, sizeof(m->stack));
	start(m, tail->insns, tail->num_insns);
}

static void run(struct machine *m)
{
	m->fuel = m->env->fuel;
	m->env->steps = 0;
	start(m, m->env->insns, m->env->num_insns);
	go_on(m);
	for (uint32_t i = 0; i < m->env->num_maps; i++)
		if (m->env->maps[i])
			interp_map_discard_open(m->env->maps[i]);
}

static bool finish(const struct machine *m, struct interp_result *result)
{
	result->r0 = m->reg[0];
	if (m->fault) {
		result->fault = (uint16_t)m->fault;
		result->fault_insn = m->pc;
	}
	return !m->fault;
}

bool interp_xdp(struct interp_env *env, const struct interp_packet *packet, struct interp_result *result)
{
	static struct machine m;
	uint32_t verdict;

	memset(&m, 0, sizeof(m));
	memset(result, 0, sizeof(*result));
	m.env = env;
	m.packet = packet;
	m.data = packet->data_off;
	m.meta = packet->data_off - packet->meta_len;
	m.end = packet->data_off + packet->data_len;
	run(&m);
	verdict = (uint32_t)m.reg[0];
	result->verdict = m.fault || verdict > XDP_REDIRECT ? XDP_ABORTED : verdict;
	if (result->verdict == XDP_REDIRECT)
		result->egress_port = m.egress_port;
	result->data_off = m.data;
	result->data_len = m.end - m.data;
	result->meta_len = (uint16_t)(m.data - m.meta);
	return finish(&m, result);
}

void interp_begin(struct machine *m, struct interp_env *env, const struct interp_arg *args, uint32_t num_args,
		  const struct interp_grid *grid, uint64_t item)
{
	m->env = env;
	m->args = args;
	m->num_args = num_args;
	m->grid = grid;
	m->global[0] = item % grid->size[0];
	m->global[1] = item / grid->size[0] % grid->size[1];
	m->global[2] = item / grid->size[0] / grid->size[1];
	m->fuel = env->fuel;
	start(m, env->insns, env->num_insns);
}

void interp_go_on(struct machine *m)
{
	go_on(m);
	m->ended = !m->wait;
}

bool interp_item(struct interp_env *env, const struct interp_arg *args, uint32_t num_args,
		 const struct interp_grid *grid, uint64_t item, struct interp_result *result)
{
	static struct machine m;

	memset(&m, 0, sizeof(m));
	memset(result, 0, sizeof(*result));
	m.env = env;
	m.args = args;
	m.num_args = num_args;
	m.grid = grid;
	m.global[0] = item % grid->size[0];
	m.global[1] = item / grid->size[0] % grid->size[1];
	m.global[2] = item / grid->size[0] / grid->size[1];
	run(&m);
	return finish(&m, result);
}
