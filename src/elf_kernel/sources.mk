# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	src/elf_kernel/elf_kernel.c \
	src/elf_kernel/header_finder.c \
	src/elf_kernel/header_finder.h
