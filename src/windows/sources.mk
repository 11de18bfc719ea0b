# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	src/windows/pe_finder.c \
	src/windows/pe_finder.h \
	src/windows/windows.c
