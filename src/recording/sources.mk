# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/pages.h \
	include/xtop/recording.h \
	include/xtop/recording_format.h \
	include/xtop/replay.h \
	src/recording/pages.c \
	src/recording/reader.c \
	src/recording/recorded_memory.c \
	src/recording/replay.c \
	src/recording/writer.c
