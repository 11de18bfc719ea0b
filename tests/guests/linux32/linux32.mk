# SPDX-License-Identifier: GPL-2.0-or-later
# The guest linux32: Debian's kernel of 32 bits (686-pae), and two programs: /init and /cfi32. lab.mk
# includes this file. The lab fetches the kernel when a guest needs it. The programs are built without
# $(CFLAGS), which may contain sanitizers.

linux32_dir = tests/guests/linux32

linux32_configs = $(linux32_dir)/linux32-pvh.cfg

linux32_cc = $(CC) -std=gnu11 -m32 -O2 -Wall -Wextra -ffreestanding -fno-pic \
	-fno-stack-protector -fcf-protection=none -fno-optimize-sibling-calls -static -nostdlib

$(linux32_dir)/linux32: $(srcdir)/$(linux32_dir)/linux32.c $(srcdir)/$(linux32_dir)/program.h
	$(AM_V_GEN)$(MKDIR_P) $(linux32_dir) && $(linux32_cc) -fno-omit-frame-pointer \
		-mno-omit-leaf-frame-pointer -fno-asynchronous-unwind-tables -o $@ \
		$(srcdir)/$(linux32_dir)/linux32.c

$(linux32_dir)/cfi32: $(srcdir)/$(linux32_dir)/cfi32.c $(srcdir)/$(linux32_dir)/program.h
	$(AM_V_GEN)$(MKDIR_P) $(linux32_dir) && $(linux32_cc) -fomit-frame-pointer \
		-fasynchronous-unwind-tables -Wl,--eh-frame-hdr -o $@ \
		$(srcdir)/$(linux32_dir)/cfi32.c

$(linux32_dir)/linux32.initrd: $(linux32_dir)/linux32 $(linux32_dir)/cfi32 $(srcdir)/$(linux32_dir)/initrd
	$(AM_V_GEN)$(srcdir)/$(linux32_dir)/initrd init=$(linux32_dir)/linux32 \
		cfi32=$(linux32_dir)/cfi32 >$@.new && mv $@.new $@

$(linux32_configs): $(srcdir)/$(linux32_dir)/linux32.cfg.in $(srcdir)/$(linux32_dir)/linux32.mk
	$(AM_V_GEN)$(MKDIR_P) $(linux32_dir); \
	sed -e "s|@ramdisk@|$(abs_builddir)/$(linux32_dir)/linux32.initrd|" \
		$(srcdir)/$(linux32_dir)/linux32.cfg.in >$@.new && mv $@.new $@

linux32_programs = $(linux32_dir)/linux32 $(linux32_dir)/cfi32
noinst_DATA += $(linux32_programs) $(linux32_dir)/linux32.initrd $(linux32_configs)
CLEANFILES += $(linux32_programs) $(linux32_dir)/linux32.initrd $(linux32_configs)
EXTRA_DIST += $(linux32_dir)/linux32.c $(linux32_dir)/cfi32.c $(linux32_dir)/program.h \
	$(linux32_dir)/linux32.cfg.in $(linux32_dir)/linux32.mk \
	$(linux32_dir)/initrd
