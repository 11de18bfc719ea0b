# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/recording/recording.h \
	include/xtop/recording/replay.h \
	src/recording/chunks.c \
	src/recording/chunks.h \
	src/recording/format.h \
	src/recording/page_mirror.c \
	src/recording/page_mirror.h \
	src/recording/reader.c \
	src/recording/recorded_host.c \
	src/recording/recorded_memory.c \
	src/recording/recorded_sample.c \
	src/recording/replay.c \
	src/recording/recorded_symbols.c \
	src/recording/writer.c
