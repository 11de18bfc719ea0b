# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/symbol/image.h \
	include/xtop/symbol/pe.h \
	include/xtop/symbol/symbol.h \
	src/symbol/alias.c \
	src/symbol/alias.h \
	src/symbol/demangle.c \
	src/symbol/elf_code.c \
	src/symbol/elf_code.h \
	src/symbol/elf_frames.c \
	src/symbol/elf_frames.h \
	src/symbol/elf_go.c \
	src/symbol/elf_go.h \
	src/symbol/elf_go_text.c \
	src/symbol/elf_go_text.h \
	src/symbol/elf_orc_x86.c \
	src/symbol/elf_plt.c \
	src/symbol/elf_plt.h \
	src/symbol/elf_portions.c \
	src/symbol/elf_portions.h \
	src/symbol/elf_symtab.c \
	src/symbol/elf_symtab.h \
	src/symbol/elf_tables.c \
	src/symbol/elf_tables.h \
	src/symbol/image.c \
	src/symbol/image_elf.c \
	src/symbol/image_pe.c \
	src/symbol/image_parts.c \
	src/symbol/image_parts.h \
	src/symbol/late_names.c \
	src/symbol/late_names.h \
	src/symbol/nm.c \
	src/symbol/space.c \
	src/symbol/specials_x86.c \
	src/symbol/symbols.c \
	src/symbol/symtab.c
