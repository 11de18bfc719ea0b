# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	src/lines/source_files.c \
	include/xtop/lines/source_files.h
