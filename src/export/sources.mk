# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/batch.h \
	include/xtop/export.h \
	src/export/batch.c \
	src/export/export.c \
	src/export/folded.c \
	src/export/stats.c \
	src/export/table.c
