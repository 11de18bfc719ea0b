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

# Another guest with one program, which exits to Xen. The build makes its initramfs, as it has no modules.
exits32_config = $(linux32_dir)/exits32-pvh.cfg

$(linux32_dir)/exits32: $(linux32_dir)/exits32.c $(linux32_dir)/program.h
	$(AM_V_GEN)$(MKDIR_P) $(linux32_dir) && $(CC) -std=gnu11 -m32 -O2 -Wall -Wextra -ffreestanding -fno-pic \
		-fno-stack-protector -fcf-protection=none -fno-optimize-sibling-calls -static -nostdlib \
		-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -Wl,--build-id \
		-o $@ $(srcdir)/$(linux32_dir)/exits32.c

$(linux32_dir)/exits32.initrd: $(linux32_dir)/exits32 $(srcdir)/$(linux32_dir)/initrd
	$(AM_V_GEN)$(srcdir)/$(linux32_dir)/initrd init=$(linux32_dir)/exits32 >$@.new && mv $@.new $@

$(exits32_config): $(linux32_dir)/linux32-pvh.cfg
	$(AM_V_GEN)sed -e 's/^# ready: .*/# ready: exits32: on/' -e 's/^# needs: .*/# needs: kernel-686-pae/' -e '/^# A Linux/d' \
		-e 's/^name = "linux32/name = "exits32/' \
		-e "s|^ramdisk = .*|ramdisk = \"$(abs_builddir)/$(linux32_dir)/exits32.initrd\"|" \
		$(linux32_dir)/linux32-pvh.cfg >$@.new && \
	mv $@.new $@

exits32_files = $(exits32_config) $(linux32_dir)/exits32 $(linux32_dir)/exits32.initrd
noinst_DATA += $(linux32_configs) $(exits32_files)
CLEANFILES += $(linux32_configs) $(exits32_files)
EXTRA_DIST += $(linux32_dir)/exits32.c $(linux32_dir)/linux32.c $(linux32_dir)/cfi32.c $(linux32_dir)/program.h \
	$(linux32_dir)/linux32.cfg.in $(linux32_dir)/linux32.mk \
	$(linux32_dir)/initrd $(linux32_dir)/image
