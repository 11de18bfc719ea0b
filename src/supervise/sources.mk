# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/broker.h \
	include/xtop/fetch.h \
	include/xtop/lines.h \
	include/xtop/sandbox.h \
	src/supervise/ask.c \
	src/supervise/ask.h \
	src/supervise/broker.c \
	src/supervise/broker.h \
	src/supervise/broker_wire.c \
	src/supervise/broker_wire.h \
	src/supervise/caller.c \
	src/supervise/caller.h \
	src/supervise/client.c \
	src/supervise/fetch.c \
	src/supervise/fetcher.c \
	src/supervise/fetcher.h \
	src/supervise/fetcher_walls.c \
	src/supervise/helper.c \
	src/supervise/helper.h \
	src/supervise/guard.c \
	src/supervise/guard.h \
	src/supervise/keeper.c \
	src/supervise/keeper.h \
	src/supervise/landlock.c \
	src/supervise/landlock.h \
	src/supervise/liner.c \
	src/supervise/liner.h \
	src/supervise/lines.c \
	src/supervise/opener.c \
	src/supervise/opener.h \
	src/supervise/pause_record.c \
	src/supervise/pause_record.h \
	src/supervise/sandbox.c \
	src/supervise/unpause.c \
	src/supervise/watch.c \
	src/supervise/watch.h
