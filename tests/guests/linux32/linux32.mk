# SPDX-License-Identifier: GPL-2.0-or-later
# The guest linux32: a kernel of 32 bits of Debian's, and two programs: /init and /cfi32. lab.mk includes
# this file. The lab makes the initramfs (image) when a guest needs it, as it has modules of the kernel.

linux32_dir = tests/guests/linux32

# A name has the type, and the kernel if it is not 6.1 with PAE. An HVM guest runs the kernel's
# decompressor, which chooses random addresses (KASLR).
linux32_configs = $(linux32_dir)/linux32-pvh.cfg $(linux32_dir)/linux32-hvm.cfg \
	$(linux32_dir)/linux32-hvm-686.cfg $(linux32_dir)/linux32-pvh-6.5.cfg

$(linux32_configs): $(srcdir)/$(linux32_dir)/linux32.cfg.in $(srcdir)/$(linux32_dir)/linux32.mk
	$(AM_V_GEN)$(MKDIR_P) $(linux32_dir); \
	name=`basename $@ .cfg`; type=pvh kernel=vmlinux limit=300; \
	case $$name in *-hvm*) type=hvm kernel=vmlinuz limit=480 ;; esac; \
	case $$name in *-686) version=686 needs=kernel-686 ;; *-6.5) version=6.5-686-pae needs=linux-6.5-686-pae ;; \
		*) version=686-pae needs=kernel-686-pae ;; esac; \
	sed -e "s|@name@|$$name|" -e "s|@type@|$$type|" -e "s|@kernel@|$$kernel|" -e "s|@limit@|$$limit|" \
		-e "s|@version@|$$version|g" -e "s|@needs@|$$needs|" \
		$(srcdir)/$(linux32_dir)/linux32.cfg.in >$@.new && \
	case $$type in hvm) printf '%s\n' '# No display; the device model is needed only for the boot.' \
		'vga = "none"' 'vnc = 0' 'nographic = 1' >>$@.new ;; esac && \
	mv $@.new $@

noinst_DATA += $(linux32_configs)
CLEANFILES += $(linux32_configs)
EXTRA_DIST += $(linux32_dir)/linux32.c $(linux32_dir)/cfi32.c $(linux32_dir)/program.h \
	$(linux32_dir)/linux32.cfg.in $(linux32_dir)/linux32.mk \
	$(linux32_dir)/initrd $(linux32_dir)/image
