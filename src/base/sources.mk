# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/build_id.h \
	include/xtop/bytes.h \
	include/xtop/cache_folder.h \
	include/xtop/cleanup.h \
	include/xtop/clock.h \
	include/xtop/clocks.h \
	include/xtop/error.h \
	include/xtop/fault.h \
	include/xtop/hash.h \
	include/xtop/heap.h \
	include/xtop/inputs.h \
	include/xtop/limit.h \
	include/xtop/output.h \
	include/xtop/registers_x86.h \
	include/xtop/restarts.h \
	include/xtop/text.h \
	include/xtop/types.h \
	include/xtop/utf8.h \
	include/xtop/vcpu_x86.h \
	include/xtop/vector.h \
	include/xtop/work.h \
	include/xtop/xdg.h \
	src/base/bytes.c \
	src/base/cache_folder.c \
	src/base/clocks.c \
	src/base/error.c \
	src/base/fault.c \
	src/base/hash.c \
	src/base/heap.c \
	src/base/inputs.c \
	src/base/output.c \
	src/base/output_named.c \
	src/base/text.c \
	src/base/text_marks.h \
	src/base/work.c
