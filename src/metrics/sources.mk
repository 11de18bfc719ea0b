# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/metrics/metrics.h \
	src/metrics/metrics.c \
	src/metrics/process.c \
	src/metrics/process.h \
	src/metrics/server.c \
	src/metrics/target.c \
	src/metrics/text_file.c
