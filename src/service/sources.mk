# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	src/service/all_batch.c \
	include/xtop/service/all_batch.h \
	src/service/all_guests.c \
	include/xtop/service/all_guests.h \
	src/service/host_budget.c \
	include/xtop/service/host_budget.h \
	src/service/host_share.c \
	include/xtop/service/host_share.h \
	src/service/meter.c \
	include/xtop/service/meter.h \
	src/service/meter_functions.c \
	include/xtop/service/meter_functions.h \
	src/service/pusher.c \
	include/xtop/service/pusher.h
