# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/elf/elf.h \
	include/xtop/elf/elf_pages.h \
	include/xtop/elf/loads.h \
	src/elf/elf_class.c \
	src/elf/elf_debug.c \
	src/elf/elf_dynamic.c \
	src/elf/elf_file.c \
	src/elf/elf_guest.c \
	src/elf/elf_host.c \
	src/elf/elf_line_symbols.c \
	src/elf/elf_line_symbols.h \
	src/elf/elf_lines.c \
	src/elf/elf_machine.h \
	src/elf/elf_main.c \
	src/elf/elf_notes.c \
	src/elf/elf_pages.c \
	src/elf/elf_ranges.c \
	src/elf/elf_ranges.h \
	src/elf/elf_reader.h \
	src/elf/elf_segments.c \
	src/elf/elf_symbols.c \
	src/elf/elf_xz.c
