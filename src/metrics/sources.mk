# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/metrics/metrics.h \
	src/metrics/metrics.c \
	src/metrics/metrics_process.c \
	src/metrics/metrics_process.h \
	src/metrics/server.c \
	src/metrics/metrics_target.c \
	src/metrics/text_file.c
