# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	src/pipeline/pipeline.c \
	include/xtop/pipeline/pipeline.h \
	src/pipeline/pipelines.c \
	include/xtop/pipeline/pipelines.h \
	src/pipeline/reattach.c \
	src/pipeline/reattach.h \
	src/pipeline/replay_source.c \
	src/pipeline/replay_source.h
