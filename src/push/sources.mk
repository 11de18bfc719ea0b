# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/push/pprof_fields.h \
	include/xtop/push/push.h \
	src/push/config_file.c \
	src/push/config_file.h \
	src/push/entry.c \
	src/push/entry.h \
	src/push/files.c \
	src/push/folder.c \
	src/push/folder.h \
	src/push/http.c \
	src/push/http.h \
	src/push/labels.c \
	src/push/labels.h \
	src/push/otlp.c \
	src/push/otlp.h \
	src/push/otlp_fields.h \
	src/push/sender_process.c \
	src/push/sender_process.h \
	src/push/push.c \
	src/push/pyroscope.c \
	src/push/pyroscope.h \
	src/push/queue.c \
	src/push/queue.h \
	src/push/retry.c \
	src/push/retry.h \
	src/push/stores.c \
	src/push/target.c \
	src/push/target.h \
	src/push/zip.c \
	src/push/zip.h
