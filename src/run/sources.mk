# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	src/run/addr2line.c \
	src/run/addr2line.h \
	src/run/commands.c \
	include/xtop/run/commands.h \
	src/run/comparison.c \
	src/run/comparison.h \
	src/run/crashed.c \
	src/run/crashed.h \
	src/run/results.c \
	src/run/results.h \
	src/run/session.c \
	include/xtop/run/session.h \
	src/run/source_lines.c \
	src/run/source_lines.h
