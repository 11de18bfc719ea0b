# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/os/kernel_code.h \
	include/xtop/os/os.h \
	include/xtop/os/os_counts.h \
	include/xtop/os/os_events.h \
	include/xtop/os/os_locks.h \
	include/xtop/os/os_log.h \
	include/xtop/os/os_ops.h \
	include/xtop/os/os_waits.h \
	src/os/kernel_code.c \
	src/os/os.c
