/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control.c - branches, the exec mask's own instructions, waiting, barriers, the wave's special registers, and
 * the end.
 */
#include "internal.h"

static void nothing(struct wave *w, const struct uop *u)
{
}

static uint64_t target_of(const struct uop *u)
{
	return u->pc + 4 + (uint64_t)((int64_t)(int16_t)u->imm * 4);
}

static void branch(struct wave *w, const struct uop *u)
{
	bool vccz = !(w->s[106] | (w->size == 64 ? w->s[107] : 0)), execz = !isa_exec(w), taken;

	switch (u->sem->kind) {
	case 0:
		taken = true;
		break;
	case 1:
		taken = !w->scc;
		break;
	case 2:
		taken = w->scc;
		break;
	case 3:
		taken = vccz;
		break;
	case 4:
		taken = !vccz;
		break;
	case 5:
		taken = execz;
		break;
	default:
		taken = !execz;
	}
	if (taken)
		isa_jump(w, target_of(u));
}

static void jump(struct wave *w, const struct uop *u)
{
	uint64_t to = isa_scalar(w, &u->src[0]), from = u->pc + u->size;

	switch (u->sem->kind) {
	case 0: /* s_getpc_b64 */
		isa_set_scalar(w, &u->dst, from);
		return;
	case 1: /* s_setpc_b64 */
		break;
	case 2: /* s_swappc_b64 */
		isa_set_scalar(w, &u->dst, from);
		break;
	default: /* s_call_b64 */
		isa_set_scalar(w, &u->dst, from);
		to = target_of(u);
	}
	isa_jump(w, to);
}

static void set_exec(struct wave *w, uint64_t value)
{
	w->s[126] = (uint32_t)value;
	if (w->size == 64)
		w->s[127] = (uint32_t)(value >> 32);
}

enum {
	SAVE_AND,
	SAVE_OR,
	SAVE_XOR,
	SAVE_ANDN2,
	SAVE_ORN2,
	SAVE_NAND,
	SAVE_NOR,
	SAVE_XNOR,
	SAVE_ANDN1,
	SAVE_ORN1,
	WREXEC_ANDN1,
	WREXEC_ANDN2
};

/* exec becomes a function of the source and exec; the destination gets exec as it was (or as it becomes). */
static void saveexec(struct wave *w, const struct uop *u)
{
	uint64_t a = isa_mask(w, &u->src[0]), exec = isa_exec(w), r;

	switch (u->sem->kind) {
	case SAVE_AND:
		r = a & exec;
		break;
	case SAVE_OR:
		r = a | exec;
		break;
	case SAVE_XOR:
		r = a ^ exec;
		break;
	case SAVE_ANDN2:
	case WREXEC_ANDN2:
		r = a & ~exec;
		break;
	case SAVE_ORN2:
		r = a | ~exec;
		break;
	case SAVE_NAND:
		r = ~(a & exec);
		break;
	case SAVE_NOR:
		r = ~(a | exec);
		break;
	case SAVE_XNOR:
		r = ~(a ^ exec);
		break;
	case SAVE_ANDN1:
	case WREXEC_ANDN1:
		r = ~a & exec;
		break;
	default:
		r = ~a | exec;
	}
	r &= isa_all(w);
	isa_set_scalar(w, &u->dst, u->sem->kind >= WREXEC_ANDN1 ? r : exec);
	set_exec(w, r);
	w->scc = r != 0;
	w->scc_undef = 0;
}

static void waitcnt(struct wave *w, const struct uop *u)
{
	uint32_t x = u->imm, vm, lgkm;

	vm = (x & 15) | (x >> 14 & 3) << 4;
	lgkm = x >> 8 & (u->gfx == SIM_GFX1030 ? 63 : 15);
	if (vm < 63)
		isa_wait(w, CNT_VM, vm);
	if (lgkm < (u->gfx == SIM_GFX1030 ? 63u : 15u))
		isa_wait(w, CNT_LGKM, lgkm);
}

static void waitcnt_one(struct wave *w, const struct uop *u)
{
	if (u->dst.kind != OPD_NULL) {
		isa_fault(w, SIM_FAULT_OPCODE, 0, -1, "a wait count in a register");
		return;
	}
	if (u->sem->kind < COUNTERS)
		isa_wait(w, u->sem->kind, u->imm);
}

static void barrier(struct wave *w, const struct uop *u)
{
	w->at_barrier = true;
}

static void endpgm(struct wave *w, const struct uop *u)
{
	w->ended = true;
}

static void trap(struct wave *w, const struct uop *u)
{
	isa_fault(w, SIM_FAULT_OPCODE, 0, -1, "trap %u with no handler", u->imm);
}

static void halt(struct wave *w, const struct uop *u)
{
	if (u->imm & 1)
		isa_fault(w, SIM_FAULT_WATCHDOG, 0, -1, "halted");
}

static void sendmsg(struct wave *w, const struct uop *u)
{
	unsigned int id = u->imm & 15;

	/* interrupt, save wave, dealloc: nobody listens; early primitives and the like need a graphics stage */
	if (id != 1)
		isa_fault(w, SIM_FAULT_OPCODE, 0, -1, "message %u from a compute wave", id);
}

/* Hardware registers that compute code can read; 0xffffffff mask: not there. */
static uint32_t *hwreg(struct wave *w, unsigned int id, uint32_t *room)
{
	*room = 0;
	switch (id) {
	case 1:
		return &w->mode;
	case 2: /* STATUS: scc, execz, vccz */
		*room = (w->scc & 1) | (uint32_t)!isa_exec(w) << 9 |
			(uint32_t)!(w->s[106] | (w->size == 64 ? w->s[107] : 0)) << 10;
		return room;
	case 3: /* TRAPSTS */
		return room;
	case 4: /* HW_ID: compute unit, wave in it */
		*room = (w->slot & 15) | (w->group->cu & 15) << 8;
		return room;
	case 5: /* GPR_ALLOC */
		*room = (w->vgprs / 4 - 1) << 8 | (w->sgprs / 16 - 1) << 24;
		return room;
	case 6: /* LDS_ALLOC */
		*room = w->group->lds_size / 512 << 12;
		return room;
	case 15: /* SH_MEM_BASES: private and shared, the upper 16 bits of each */
		*room = 0x1000 | 0x2000u << 16;
		return room;
	case 20: /* FLAT_SCR_LO, gfx10 */
		return w->dispatch->gfx == SIM_GFX1030 ? &w->flat[0] : NULL;
	case 21:
		return w->dispatch->gfx == SIM_GFX1030 ? &w->flat[1] : NULL;
	case 29: /* SHADER_CYCLES, gfx10.3 */
		*room = (uint32_t)isa_clock(w->m) & 0xfffff;
		return w->dispatch->gfx == SIM_GFX1030 ? room : NULL;
	default:
		return NULL;
	}
}

static void getreg(struct wave *w, const struct uop *u)
{
	unsigned int at = u->imm >> 6 & 31, width = (u->imm >> 11 & 31) + 1;
	uint32_t room, *reg = hwreg(w, u->imm & 63, &room);

	if (!reg) {
		isa_fault(w, SIM_FAULT_OPCODE, 0, -1, "hardware register %u", u->imm & 63);
		return;
	}
	isa_set_scalar(w, &u->dst, *reg >> at & (uint32_t)((1ull << width) - 1));
}

static void setreg(struct wave *w, const struct uop *u)
{
	unsigned int id = u->imm & 63, at = u->imm >> 6 & 31, width = (u->imm >> 11 & 31) + 1;
	uint32_t mask = (uint32_t)((1ull << width) - 1) << at, room, *reg = hwreg(w, id, &room);
	uint32_t value = (uint32_t)(u->sem->kind ? u->src[0].value : isa_scalar(w, &u->src[0]));

	if (!reg || reg == &room) {
		isa_fault(w, SIM_FAULT_OPCODE, 0, -1, "hardware register %u cannot be written", id);
		return;
	}
	*reg = (*reg & ~mask) | (value << at & mask);
}

static void mode_part(struct wave *w, const struct uop *u)
{
	unsigned int at = u->sem->kind; /* s_round_mode, s_denorm_mode */

	w->mode = (w->mode & ~(15u << at)) | (u->imm & 15u) << at;
}

static void gpr_idx(struct wave *w, const struct uop *u)
{
	switch (u->sem->kind) {
	case 0: /* s_set_gpr_idx_on: index into m0[7:0], what it applies to into m0[15:12] */
		w->s[124] = (w->s[124] & ~0xf0ffu) | (isa_scalar(w, &u->src[0]) & 0xff) |
			    (uint32_t)(u->word[0] >> 8 & 15) << 12;
		isa_shadow_set_scalar(w, &(struct opd){ .kind = OPD_SGPR, .size = 1, .code = 124 }, 0);
		w->gpr_idx = true;
		break;
	case 1:
		w->gpr_idx = false;
		break;
	case 2:
		w->s[124] = (w->s[124] & ~0xf000u) | (u->imm & 15u) << 12;
		break;
	default:
		w->s[124] = (w->s[124] & ~0xffu) | (isa_scalar(w, &u->src[0]) & 0xff);
	}
}

#define CONTROL(name, run, undef, class, flags, kind) \
	{ #name, run, NULL, NULL, NULL, 0, { 0 }, undef, class, flags, kind, 0, 0 }
#define BRANCH(name, kind, flags) CONTROL(name, branch, U_STRICT, C_BRANCH, flags, kind)
#define SAVEEXEC(name, kind)                                             \
	CONTROL(name##_b32, saveexec, U_SAVEEXEC, C_SALU, F_EXEC, kind), \
		CONTROL(name##_b64, saveexec, U_SAVEEXEC, C_SALU, F_EXEC, kind)
#define IGNORED(name) CONTROL(name, nothing, U_NONE, C_OTHER, 0, 0)

const struct sem isa_sem_control[] = {
	BRANCH(s_branch, 0, 0),
	BRANCH(s_cbranch_scc0, 1, F_SCC_IN),
	BRANCH(s_cbranch_scc1, 2, F_SCC_IN),
	BRANCH(s_cbranch_vccz, 3, F_VCC),
	BRANCH(s_cbranch_vccnz, 4, F_VCC),
	BRANCH(s_cbranch_execz, 5, 0),
	BRANCH(s_cbranch_execnz, 6, 0),
	CONTROL(s_getpc_b64, jump, U_STRICT, C_BRANCH, 0, 0),
	CONTROL(s_setpc_b64, jump, U_STRICT, C_BRANCH, 0, 1),
	CONTROL(s_swappc_b64, jump, U_STRICT, C_BRANCH, 0, 2),
	CONTROL(s_call_b64, jump, U_STRICT, C_BRANCH, 0, 3),
	SAVEEXEC(s_and_saveexec, SAVE_AND),
	SAVEEXEC(s_or_saveexec, SAVE_OR),
	SAVEEXEC(s_xor_saveexec, SAVE_XOR),
	SAVEEXEC(s_andn2_saveexec, SAVE_ANDN2),
	SAVEEXEC(s_orn2_saveexec, SAVE_ORN2),
	SAVEEXEC(s_nand_saveexec, SAVE_NAND),
	SAVEEXEC(s_nor_saveexec, SAVE_NOR),
	SAVEEXEC(s_xnor_saveexec, SAVE_XNOR),
	SAVEEXEC(s_andn1_saveexec, SAVE_ANDN1),
	SAVEEXEC(s_orn1_saveexec, SAVE_ORN1),
	SAVEEXEC(s_andn1_wrexec, WREXEC_ANDN1),
	SAVEEXEC(s_andn2_wrexec, WREXEC_ANDN2),
	CONTROL(s_waitcnt, waitcnt, U_NONE, C_OTHER, 0, 0),
	CONTROL(s_waitcnt_vmcnt, waitcnt_one, U_NONE, C_OTHER, 0, CNT_VM),
	CONTROL(s_waitcnt_lgkmcnt, waitcnt_one, U_NONE, C_OTHER, 0, CNT_LGKM),
	CONTROL(s_waitcnt_vscnt, waitcnt_one, U_NONE, C_OTHER, 0, CNT_VS),
	CONTROL(s_waitcnt_expcnt, waitcnt_one, U_NONE, C_OTHER, 0, COUNTERS),
	CONTROL(s_barrier, barrier, U_NONE, C_OTHER, 0, 0),
	CONTROL(s_endpgm, endpgm, U_NONE, C_OTHER, 0, 0),
	CONTROL(s_endpgm_saved, endpgm, U_NONE, C_OTHER, 0, 0),
	CONTROL(s_trap, trap, U_NONE, C_OTHER, 0, 0),
	CONTROL(s_sethalt, halt, U_NONE, C_OTHER, 0, 0),
	CONTROL(s_sendmsg, sendmsg, U_NONE, C_MESSAGE, 0, 0),
	CONTROL(s_getreg_b32, getreg, U_NONE, C_SALU, 0, 0),
	CONTROL(s_setreg_b32, setreg, U_STRICT, C_SALU, F_STORE, 0),
	CONTROL(s_setreg_imm32_b32, setreg, U_NONE, C_SALU, 0, 1),
	CONTROL(s_round_mode, mode_part, U_NONE, C_OTHER, 0, 0),
	CONTROL(s_denorm_mode, mode_part, U_NONE, C_OTHER, 0, 4),
	CONTROL(s_set_gpr_idx_on, gpr_idx, U_STRICT, C_SALU, 0, 0),
	CONTROL(s_set_gpr_idx_off, gpr_idx, U_NONE, C_SALU, 0, 1),
	CONTROL(s_set_gpr_idx_mode, gpr_idx, U_NONE, C_SALU, 0, 2),
	CONTROL(s_set_gpr_idx_idx, gpr_idx, U_STRICT, C_SALU, 0, 3),
	IGNORED(s_nop),
	IGNORED(s_sleep),
	IGNORED(s_wakeup),
	IGNORED(s_setprio),
	IGNORED(s_icache_inv),
	IGNORED(s_incperflevel),
	IGNORED(s_decperflevel),
	IGNORED(s_ttracedata),
	IGNORED(s_ttracedata_imm),
	IGNORED(s_inst_prefetch),
	IGNORED(s_clause),
	IGNORED(s_wait_idle),
	IGNORED(s_waitcnt_depctr),
	IGNORED(v_nop),
	IGNORED(v_pipeflush),
	IGNORED(v_clrexcp),
	IGNORED(ds_nop),
};
SEM_END(control);
