# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/memory/frame_cache.h \
	include/xtop/memory/memory.h \
	include/xtop/memory/walk.h \
	src/memory/frame_cache.c \
	src/memory/live_memory.c \
	src/memory/mapped_pages.c \
	src/memory/mapped_pages.h \
	src/memory/memory.c \
	src/memory/memory_state.h \
	src/memory/memory_stretches.c \
	src/memory/walk.c \
	src/memory/walk_arm32.c \
	src/memory/walk_arm32.h \
	src/memory/walk_arm64.c \
	src/memory/walk_arm64.h \
	src/memory/walk_x86.c \
	src/memory/walk_x86.h
