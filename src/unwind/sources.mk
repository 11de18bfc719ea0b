# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/cfi.h \
	include/xtop/orc.h \
	include/xtop/unwind.h \
	src/unwind/cfi.c \
	src/unwind/cfi_compile.c \
	src/unwind/cfi_entry.c \
	src/unwind/cfi_entry.h \
	src/unwind/cfi_program.c \
	src/unwind/cfi_program.h \
	src/unwind/cfi_table.h \
	src/unwind/cfi_x86.c \
	src/unwind/cfi_x86.h \
	src/unwind/cursor.c \
	src/unwind/cursor.h \
	src/unwind/cursor_x86.c \
	src/unwind/cursor_x86.h \
	src/unwind/dwarf.c \
	src/unwind/dwarf.h \
	src/unwind/dwarf_x86.h \
	src/unwind/entry.h \
	src/unwind/entry_x86.c \
	src/unwind/fp.h \
	src/unwind/fp_x86.c \
	src/unwind/mechanisms.h \
	src/unwind/orc.c \
	src/unwind/orc_entry_x86.c \
	src/unwind/orc_pack.c \
	src/unwind/orc_special_x86.c \
	src/unwind/orc_step_x86.c \
	src/unwind/orc_table.h \
	src/unwind/tables.c \
	src/unwind/unw_none.h \
	src/unwind/unwind.c
