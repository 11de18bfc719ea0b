# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/budget.h \
	include/xtop/control.h \
	include/xtop/go_stacks.h \
	include/xtop/ring.h \
	include/xtop/sample.h \
	include/xtop/sampler.h \
	src/sample/budget.c \
	src/sample/control.c \
	src/sample/copy.c \
	src/sample/copy.h \
	src/sample/deadline.c \
	src/sample/deadline.h \
	src/sample/lock_wait.c \
	src/sample/lock_wait.h \
	src/sample/per_cpu.c \
	src/sample/per_cpu.h \
	src/sample/pieces.c \
	src/sample/pieces.h \
	src/sample/plan.c \
	src/sample/plan.h \
	src/sample/ring.c \
	src/sample/run_time.c \
	src/sample/run_time.h \
	src/sample/sample.c \
	src/sample/sampler.c \
	src/sample/stacks.h \
	src/sample/stacks_arm64.c \
	src/sample/stacks_arm64.h \
	src/sample/stacks_go_x86.c \
	src/sample/stacks_i386.c \
	src/sample/stacks_i386.h \
	src/sample/stacks_x86.c \
	src/sample/stacks_x86.h \
	src/sample/still.c \
	src/sample/xen_clock.c \
	src/sample/xen_clock.h
