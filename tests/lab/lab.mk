# SPDX-License-Identifier: GPL-2.0-or-later
# The lab: its scripts, the programs that run in its dom0, and its guests.

EXTRA_DIST += tests/lab/README tests/lab/lab tests/lab/packages tests/lab/image tests/lab/driver_image tests/lab/languages_image tests/lab/arm_kernels tests/lab/i386_kernels tests/lab/kernel_debug \
	tests/lab/systemd-packages \
	tests/lab/qemu tests/lab/boot tests/lab/setup tests/lab/dom0-init tests/lab/dom0-tests \
	tests/lab/checks tests/lab/picture tests/lab/fleet tests/lab/store tests/lab/live tests/lab/log tests/lab/linux-checks tests/lab/steal tests/lab/upcall tests/lab/vcpus-numbers \
	tests/lab/languages-checks tests/lab/phases-checks tests/lab/waits-checks tests/lab/locks-checks tests/lab/spinlock-checks tests/lab/exits-checks tests/lab/lock-looks tests/lab/looks tests/lab/kernel-looks tests/lab/linux32-looks tests/lab/inside.h tests/lab/inside_chain.h tests/lab/inside_waits.h \
	tests/lab/views tests/lab/other_xen.c \
	$(wildcard $(srcdir)/tests/lab/*.test $(srcdir)/tests/lab/*.awk) \
	$(wildcard $(srcdir)/tests/guests/driver/*) \
	$(wildcard $(srcdir)/tests/guests/languages/*) \
	$(wildcard $(srcdir)/tests/guests/stubdom/*) \
	$(wildcard $(srcdir)/tests/guests/web01/*) \
	$(wildcard $(srcdir)/tests/guests/web02/*) \
	tests/guests/linux32/linux32_arm.mk tests/guests/linux32/linux32_arm.cfg.in \
	tests/guests/tiny/start_arm32.S tests/guests/tiny/start_arm64.S tests/guests/tiny/xen_arm64.c tests/guests/tiny/tiny_arm64.mk

if WITH_XEN
if HOST_X86
include $(srcdir)/tests/guests/tiny/tiny.mk
include $(srcdir)/tests/guests/upcall/upcall.mk
include $(srcdir)/tests/guests/forks/forks.mk
include $(srcdir)/tests/guests/linux32/linux32.mk
else
include $(srcdir)/tests/guests/tiny/tiny_arm64.mk
include $(srcdir)/tests/guests/linux32/linux32_arm.mk
endif
include $(srcdir)/tests/guests/hostile/hostile.mk
include $(srcdir)/tests/guests/workload/workload.mk
include $(srcdir)/tests/guests/busy/busy.mk

noinst_PROGRAMS += tests/lab/clock_error tests/lab/flood tests/lab/follow tests/lab/inside tests/lab/kills \
	tests/lab/live_text tests/lab/trace_file tests/lab/traced tests/lab/walls

tests_lab_inside_SOURCES = tests/lab/inside.c tests/lab/inside_chain.c tests/lab/inside_layout.c \
	tests/lab/inside_processes.c tests/lab/inside_symbols.c tests/lab/inside_waits.c

# For LD_PRELOAD. Built without $(CFLAGS), because any build may load it.
tests/lab/other_xen.so: tests/lab/other_xen.c
	$(AM_V_GEN)$(MKDIR_P) tests/lab && $(CC) -std=gnu11 -O2 -Wall -Wextra -shared -fPIC -o $@ \
		$(srcdir)/tests/lab/other_xen.c -ldl
noinst_DATA += tests/lab/other_xen.so
CLEANFILES += tests/lab/other_xen.so
endif
