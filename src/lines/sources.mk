# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	src/lines/source_cache.c \
	include/xtop/lines/source_cache.h
