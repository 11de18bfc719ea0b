# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/call_tree.h \
	include/xtop/columns.h \
	include/xtop/counters.h \
	include/xtop/filter.h \
	include/xtop/flame.h \
	include/xtop/functions.h \
	include/xtop/groups.h \
	include/xtop/history.h \
	include/xtop/neighbours.h \
	include/xtop/selection.h \
	include/xtop/weights.h \
	src/query/branches.c \
	src/query/branches.h \
	src/query/call_tree.c \
	src/query/columns.c \
	src/query/counters.c \
	src/query/filter.c \
	src/query/flame.c \
	src/query/functions.c \
	src/query/groups.c \
	src/query/history.c \
	src/query/neighbours.c \
	src/query/selection.c
