# SPDX-License-Identifier: GPL-2.0-or-later
# The busy guest: the lab's Linux kernel, and one program as /init. lab.mk includes this file. Tests
# make the initramfs and the config (busy_guest in tests/lab/checks). The program is built without
# $(CFLAGS), which may contain sanitizers.

busy_dir = tests/guests/busy

$(busy_dir)/busy: $(busy_dir)/busy.c
	$(AM_V_GEN)$(MKDIR_P) $(busy_dir) && $(CC) -std=gnu11 -O2 -Wall -Wextra \
		-fno-omit-frame-pointer -static -pthread -o $@ $(srcdir)/$(busy_dir)/busy.c

noinst_DATA += $(busy_dir)/busy
CLEANFILES += $(busy_dir)/busy
EXTRA_DIST += $(busy_dir)/busy.c $(busy_dir)/busy.mk
