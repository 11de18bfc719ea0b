# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/cfi.h \
	include/xtop/code.h \
	include/xtop/disassemble.h \
	include/xtop/go.h \
	include/xtop/orc.h \
	include/xtop/seh.h \
	include/xtop/unwind.h \
	src/unwind/call_targets.h \
	src/unwind/call_targets_x86.c \
	src/unwind/cfi.c \
	src/unwind/cfi_arm64.c \
	src/unwind/cfi_arm64.h \
	src/unwind/cfi_builder.c \
	src/unwind/cfi_builder.h \
	src/unwind/cfi_compile.c \
	src/unwind/cfi_entry.c \
	src/unwind/cfi_entry.h \
	src/unwind/cfi_program.c \
	src/unwind/cfi_program.h \
	src/unwind/cfi_table.h \
	src/unwind/cfi_x86.c \
	src/unwind/cfi_x86.h \
	src/unwind/computed.c \
	src/unwind/computed.h \
	src/unwind/computed_flow.c \
	src/unwind/computed_flow.h \
	src/unwind/computed_rows.c \
	src/unwind/computed_rows.h \
	src/unwind/computed_state.c \
	src/unwind/computed_state.h \
	src/unwind/cursor.c \
	src/unwind/cursor.h \
	src/unwind/cursor_arm64.c \
	src/unwind/cursor_arm64.h \
	src/unwind/cursor_x86.c \
	src/unwind/cursor_x86.h \
	src/unwind/disassemble_x86.c \
	src/unwind/dwarf.h \
	src/unwind/entry.h \
	src/unwind/entry_arm64.c \
	src/unwind/entry_x86.c \
	src/unwind/flow.h \
	src/unwind/flow_code.c \
	src/unwind/flow_follow.c \
	src/unwind/flow_try.c \
	src/unwind/fp.h \
	src/unwind/fp_arm64.c \
	src/unwind/fp_i386.c \
	src/unwind/fp_x86.c \
	src/unwind/go.h \
	src/unwind/go_stacks_x86.c \
	src/unwind/go_switch.h \
	src/unwind/go_switch_x86.c \
	src/unwind/go_table.c \
	src/unwind/go_x86.c \
	src/unwind/instruction.h \
	src/unwind/instruction_common.h \
	src/unwind/instruction_common_x86.c \
	src/unwind/instruction_x86.c \
	src/unwind/mechanisms.h \
	src/unwind/orc.c \
	src/unwind/orc_entry_x86.c \
	src/unwind/orc_pack.c \
	src/unwind/orc_special_x86.c \
	src/unwind/orc_step_x86.c \
	src/unwind/orc_table.h \
	src/unwind/seh.c \
	src/unwind/seh.h \
	src/unwind/tables.c \
	src/unwind/unw_none.h \
	src/unwind/unwind.c
if HOST_X86
libxtop_a_SOURCES += src/unwind/dwarf.c src/unwind/dwarf_x86.h
else
libxtop_a_SOURCES += src/unwind/dwarf_none.c
endif
