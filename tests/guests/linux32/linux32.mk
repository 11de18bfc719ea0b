# SPDX-License-Identifier: GPL-2.0-or-later
# The guest linux32: Debian's kernel of 32 bits (686-pae), and two programs: /init and /cfi32. lab.mk
# includes this file. The lab makes the initramfs (image) when a guest needs it, as it has modules of the
# kernel.

linux32_dir = tests/guests/linux32

linux32_configs = $(linux32_dir)/linux32-pvh.cfg

$(linux32_configs): $(srcdir)/$(linux32_dir)/linux32.cfg.in $(srcdir)/$(linux32_dir)/linux32.mk
	$(AM_V_GEN)$(MKDIR_P) $(linux32_dir) && cp $(srcdir)/$(linux32_dir)/linux32.cfg.in $@.new && mv $@.new $@

noinst_DATA += $(linux32_configs)
CLEANFILES += $(linux32_configs)
EXTRA_DIST += $(linux32_dir)/linux32.c $(linux32_dir)/cfi32.c $(linux32_dir)/program.h \
	$(linux32_dir)/linux32.cfg.in $(linux32_dir)/linux32.mk \
	$(linux32_dir)/initrd $(linux32_dir)/image
