# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/unwind.h \
	src/unwind/cfi.c \
	src/unwind/cfi.h \
	src/unwind/cfi_compile.c \
	src/unwind/cfi_entry.c \
	src/unwind/cfi_entry.h \
	src/unwind/cfi_program.c \
	src/unwind/cfi_program.h \
	src/unwind/cfi_table.h \
	src/unwind/cursor.c \
	src/unwind/cursor.h \
	src/unwind/dwarf.c \
	src/unwind/dwarf.h \
	src/unwind/entry.c \
	src/unwind/entry.h \
	src/unwind/fp.c \
	src/unwind/fp.h \
	src/unwind/orc.c \
	src/unwind/orc.h \
	src/unwind/orc_pack.c \
	src/unwind/orc_step.c \
	src/unwind/orc_table.h \
	src/unwind/unw_none.h \
	src/unwind/unwind.c
