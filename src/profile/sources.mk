# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/annotation.h \
	include/xtop/batches.h \
	include/xtop/crash.h \
	include/xtop/frames.h \
	include/xtop/profile.h \
	include/xtop/resolver.h \
	include/xtop/sample_log.h \
	include/xtop/snapshot.h \
	src/profile/addresses.c \
	src/profile/addresses.h \
	include/xtop/wait_sites.h \
	src/profile/batches.c \
	src/profile/crash.c \
	src/profile/decay.h \
	src/profile/fold.c \
	src/profile/fold.h \
	src/profile/frames.c \
	src/profile/names.c \
	src/profile/names.h \
	src/profile/profile.c \
	src/profile/registers_text.h \
	src/profile/registers_text_x86.c \
	src/profile/resolver.c \
	src/profile/resolver_snapshots.c \
	src/profile/resolver_state.h \
	src/profile/sample_log.c \
	src/profile/seen_code.c \
	src/profile/seen_code.h \
	src/profile/snapshot.c \
	src/profile/translate.c \
	src/profile/wait_sites.c \
	src/profile/wait_locks.c \
	src/profile/wait_locks.h \
	src/profile/waits.c \
	src/profile/waits.h
