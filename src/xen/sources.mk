# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/xen/domctl.h \
	include/xtop/xen/foreign.h \
	include/xtop/xen/guest.h \
	include/xtop/xen/host_look.h \
	include/xtop/xen/trace_buffers.h \
	include/xtop/xen/xen.h
if WITH_XEN
libxtop_a_SOURCES += \
	src/xen/domains.c \
	src/xen/domctl.c \
	src/xen/domctl_abi.c \
	src/xen/domctl_abi.h \
	src/xen/foreign.c \
	src/xen/host_look.c \
	src/xen/place.c \
	src/xen/place.h \
	src/xen/public.h \
	src/xen/stop_area.c \
	src/xen/stop_area.h \
	src/xen/store.c \
	src/xen/trace_buffers.c \
	src/xen/store.h \
	src/xen/xen_control.c \
	src/xen/xen_control.h \
	src/xen/xen_log.c \
	src/xen/xen_log.h
if HOST_X86
libxtop_a_SOURCES += src/xen/guest_x86.c src/xen/guest_x86.h
else
libxtop_a_SOURCES += src/xen/guest_arm64.c src/xen/guest_arm64.h
endif
else
libxtop_a_SOURCES += src/xen/no_xen.c
endif
