# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/elf_file.h \
	include/xtop/loads.h \
	src/elf/elf_dynamic.c \
	src/elf/elf_file.c \
	src/elf/elf_inflate.c \
	src/elf/loads.c
