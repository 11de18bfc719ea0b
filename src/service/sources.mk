# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	src/service/all_batch.c \
	include/xtop/service/all_batch.h \
	src/service/all_guests.c \
	include/xtop/service/all_guests.h \
	src/service/delivery.c \
	include/xtop/service/delivery.h \
	src/service/host_budget.c \
	include/xtop/service/host_budget.h \
	src/service/host_share.c \
	include/xtop/service/host_share.h \
	src/service/metrics_collector.c \
	include/xtop/service/metrics_collector.h \
	src/service/metrics_functions.c \
	include/xtop/service/metrics_functions.h \
	src/service/publisher.c \
	include/xtop/service/publisher.h \
	src/service/push_interval.c \
	include/xtop/service/push_interval.h
