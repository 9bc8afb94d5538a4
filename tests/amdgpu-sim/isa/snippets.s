// SPDX-License-Identifier: BSD-3-Clause
// snippets.s - code that must fault, or gives a result that is known, for gfx900. s[0:1]: a page to read and write;
// v0: the lane. Each starts at 256 bytes, as the card wants it.
	.text
	.macro snippet name
	.p2align 8
	.globl \name
\name:
	.endm

	snippet f_memory
	v_mov_b32_e32 v1, 0x1000
	v_mov_b32_e32 v2, 0
	global_load_dword v3, v[1:2], off
	s_endpgm
	snippet f_memory_store
	v_lshlrev_b32_e32 v1, 8, v0
	global_store_dword v1, v0, s[0:1]
	s_endpgm
	snippet f_memory_scalar
	s_mov_b64 s[2:3], 64
	s_load_dword s4, s[2:3], 0x0
	s_endpgm
	snippet f_fetch
	s_mov_b64 s[2:3], 64
	s_setpc_b64 s[2:3]
	snippet f_opcode
	.long 0xffffffff
	snippet f_trap
	s_trap 2
	snippet f_register_beyond
	v_mov_b32_e32 v200, v0
	s_endpgm
	snippet f_register_scalar_beyond
	s_mov_b32 s90, 0
	s_endpgm
	snippet f_undefined_address
	v_lshlrev_b32_e32 v2, 2, v5
	global_load_dword v3, v2, s[0:1]
	s_endpgm
	snippet f_undefined_data
	v_lshlrev_b32_e32 v1, 2, v0
	v_add_u32_e32 v2, v5, v0
	global_store_dword v1, v2, s[0:1]
	s_endpgm
	snippet f_undefined_part
	v_lshlrev_b32_e32 v1, 2, v0
	v_and_b32_e32 v4, 0xffff0000, v7
	v_or_b32_sdwa v4, v4, v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:BYTE_0
	v_lshrrev_b32_e32 v2, 16, v4
	global_store_dword v1, v2, s[0:1] offset:512
	s_endpgm
	snippet f_undefined_branch
	s_cmp_eq_u32 s9, 0
	s_cbranch_scc1 1f
1:	s_endpgm
	snippet f_undefined_vcc
	v_cmp_eq_u32_e32 vcc, v4, v0
	s_cbranch_vccz 1f
1:	s_endpgm
	snippet f_undefined_exec
	v_cmp_eq_u32_e32 vcc, v4, v0
	s_and_saveexec_b64 s[2:3], vcc
	s_endpgm
	snippet f_undefined_exec_move
	s_mov_b64 exec, s[6:7]
	s_endpgm
	snippet f_undefined_lane
	v_readlane_b32 s2, v0, s9
	s_endpgm
	snippet f_lds_outside
	v_mov_b32_e32 v1, 0x1000
	ds_write_b32 v1, v0
	s_endpgm
	snippet f_lds_unwritten
	v_mov_b32_e32 v1, 16
	ds_read_b32 v2, v1
	s_endpgm
	snippet f_wait_scalar
	s_load_dword s4, s[0:1], 0x0
	s_add_u32 s4, s4, 1
	s_endpgm
	snippet f_wait_scalar_not_zero
	s_load_dword s4, s[0:1], 0x0
	s_load_dword s5, s[0:1], 0x4
	s_waitcnt lgkmcnt(1)
	s_add_u32 s4, s4, 1
	s_endpgm
	snippet f_wait_vector
	v_mov_b32_e32 v1, 0
	global_load_dword v2, v1, s[0:1]
	v_add_u32_e32 v2, 1, v2
	s_endpgm
	snippet f_wait_overwrite
	v_mov_b32_e32 v1, 0
	global_load_dword v2, v1, s[0:1]
	v_mov_b32_e32 v2, 1
	s_endpgm
	snippet f_wait_lds
	v_lshlrev_b32_e32 v1, 2, v0
	ds_write_b32 v1, v0
	ds_read_b32 v2, v1
	v_add_u32_e32 v2, 1, v2
	s_endpgm
	snippet f_nop_vmem
	v_readfirstlane_b32 s2, v0
	s_mov_b32 s3, 0
	v_mov_b32_e32 v1, 0
	global_load_dword v2, v1, s[2:3]
	s_endpgm
	snippet f_nop_lane
	v_readfirstlane_b32 s2, v0
	v_readlane_b32 s3, v0, s2
	s_endpgm
	snippet f_nop_fmas
	v_cmp_eq_u32_e32 vcc, 0, v0
	v_div_fmas_f32 v1, v0, v0, v0
	s_endpgm
	snippet f_nop_dpp
	v_mov_b32_e32 v1, v0
	v_mov_b32_dpp v2, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1
	s_endpgm
	snippet f_nop_setreg
	s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 1
	s_getreg_b32 s2, hwreg(HW_REG_MODE)
	s_endpgm
	snippet f_barrier
	v_readfirstlane_b32 s2, v0
	s_cmp_eq_u32 s2, 0
	s_cbranch_scc1 1f
	s_barrier
1:	s_endpgm
	snippet f_watchdog
1:	s_branch 1b

	// What must not fault, each beside one that does.
	snippet g_wait
	v_lshlrev_b32_e32 v1, 2, v0
	global_load_dword v2, v1, s[0:1]
	global_load_dword v3, v1, s[0:1] offset:256
	s_waitcnt vmcnt(1)
	v_add_u32_e32 v2, 1, v2
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v2, v2, v3
	global_store_dword v1, v2, s[0:1] offset:512
	s_endpgm
	snippet g_undefined_unused
	v_lshlrev_b32_e32 v1, 2, v0
	v_add_u32_e32 v3, v5, v6
	v_and_b32_e32 v4, 0xff00, v7
	v_or_b32_e32 v4, v4, v0
	v_and_b32_e32 v2, 0xff, v4
	global_store_dword v1, v2, s[0:1] offset:512
	s_endpgm
	snippet g_undefined_part
	v_lshlrev_b32_e32 v1, 2, v0
	v_and_b32_e32 v4, 0xffff0000, v7
	v_or_b32_sdwa v4, v4, v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:BYTE_0
	v_and_b32_e32 v2, 0xffff, v4
	global_store_dword v1, v2, s[0:1] offset:512
	s_endpgm
	snippet f_undefined_byte
	v_lshlrev_b32_e32 v1, 2, v0
	v_and_b32_e32 v4, 0xffff0000, v7
	v_or_b32_e32 v4, 0x300, v4
	v_mov_b32_e32 v5, 12
	v_lshrrev_b32_sdwa v2, v5, v4 dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD
	global_store_dword v1, v2, s[0:1] offset:512
	s_endpgm
	snippet g_undefined_byte
	v_lshlrev_b32_e32 v1, 2, v0
	v_and_b32_e32 v4, 0xffff0000, v7
	v_or_b32_e32 v4, 0x300, v4
	v_mov_b32_e32 v5, 8
	v_lshrrev_b32_sdwa v2, v5, v4 dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD
	global_store_dword v1, v2, s[0:1] offset:512
	s_endpgm
	snippet g_inactive
	v_cmp_gt_u32_e32 vcc, 8, v0
	s_and_saveexec_b64 s[2:3], vcc
	v_mov_b32_e32 v2, 7
	v_lshlrev_b32_e32 v1, 2, v0
	global_store_dword v1, v2, s[0:1] offset:512
	s_endpgm
	snippet g_nops
	v_readfirstlane_b32 s2, v0
	s_nop 3
	v_readlane_b32 s3, v0, s2
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_nop 3
	v_div_fmas_f32 v1, 0, 0, 1.0
	s_endpgm
	snippet g_index
	v_mov_b32_e32 v4, 40
	v_mov_b32_e32 v5, 50
	v_mov_b32_e32 v6, 60
	s_mov_b32 s2, 2
	s_set_gpr_idx_on s2, gpr_idx(SRC0)
	v_mov_b32_e32 v2, v4
	s_set_gpr_idx_off
	v_lshlrev_b32_e32 v1, 2, v0
	global_store_dword v1, v2, s[0:1] offset:512
	s_endpgm
	snippet g_mode
	s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1
	v_mov_b32_e32 v2, 0x33800000
	v_add_f32_e32 v2, 1.0, v2
	v_lshlrev_b32_e32 v1, 2, v0
	global_store_dword v1, v2, s[0:1] offset:512
	s_endpgm
	snippet g_flush
	s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0
	v_mov_b32_e32 v2, 0x00400000
	v_add_f32_e32 v2, v2, v2
	v_lshlrev_b32_e32 v1, 2, v0
	global_store_dword v1, v2, s[0:1] offset:512
	s_endpgm
