# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	src/run/addr2line.c \
	src/run/addr2line.h \
	src/run/commands.c \
	include/xtop/run/commands.h \
	src/run/comparison.c \
	src/run/comparison.h \
	src/run/crash_report.c \
	src/run/crash_report.h \
	src/run/results.c \
	src/run/results.h \
	src/run/session.c \
	include/xtop/run/session.h \
	src/run/annotation_sources.c \
	src/run/annotation_sources.h
