# SPDX-License-Identifier: GPL-2.0-or-later
# The guest linux32: Debian's kernel of 32 bits (686-pae), and one program as /init. lab.mk includes
# this file. The lab fetches the kernel when a guest needs it. The program is built without $(CFLAGS),
# which may contain sanitizers.

linux32_dir = tests/guests/linux32

# linux32-hvm runs the kernel's decompressor, which moves the kernel (KASLR).
linux32_configs = $(linux32_dir)/linux32-pvh.cfg $(linux32_dir)/linux32-pvh2.cfg \
	$(linux32_dir)/linux32-pvh-pti.cfg $(linux32_dir)/linux32-hvm.cfg

$(linux32_dir)/linux32: $(srcdir)/$(linux32_dir)/linux32.c
	$(AM_V_GEN)$(MKDIR_P) $(linux32_dir) && $(CC) -std=gnu11 -m32 -O2 -Wall -Wextra \
		-ffreestanding -fno-pic -fno-stack-protector -fcf-protection=none \
		-fno-optimize-sibling-calls -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer \
		-fno-asynchronous-unwind-tables -static -nostdlib -o $@ \
		$(srcdir)/$(linux32_dir)/linux32.c

$(linux32_dir)/linux32.initrd: $(linux32_dir)/linux32
	$(AM_V_GEN)rm -rf $@.root && mkdir $@.root && cp $(linux32_dir)/linux32 $@.root/init && \
		(cd $@.root && echo init | cpio --quiet -o -H newc) >$@.new && \
		rm -rf $@.root && mv $@.new $@

$(linux32_configs): $(srcdir)/$(linux32_dir)/linux32.cfg.in $(srcdir)/$(linux32_dir)/linux32.mk
	$(AM_V_GEN)$(MKDIR_P) $(linux32_dir); \
	name=`basename $@ .cfg`; type=pvh vcpus=1 kernel=vmlinux words=; \
	case $$name in *-hvm*) type=hvm kernel=vmlinuz ;; esac; \
	case $$name in *-pvh2) vcpus=2 ;; esac; \
	case $$name in *-pti) words=pti=on ;; esac; \
	sed -e "s|@name@|$$name|" -e "s|@type@|$$type|" -e "s|@vcpus@|$$vcpus|" \
		-e "s|@kernel@|$$kernel|" -e "s|@words@|$$words|" \
		-e "s|@ramdisk@|$(abs_builddir)/$(linux32_dir)/linux32.initrd|" \
		$(srcdir)/$(linux32_dir)/linux32.cfg.in >$@.new && \
	case $$type in hvm) printf '%s\n' 'vga = "none"' 'vnc = 0' 'nographic = 1' >>$@.new ;; esac && \
	mv $@.new $@

noinst_DATA += $(linux32_dir)/linux32 $(linux32_dir)/linux32.initrd $(linux32_configs)
CLEANFILES += $(linux32_dir)/linux32 $(linux32_dir)/linux32.initrd $(linux32_configs)
EXTRA_DIST += $(linux32_dir)/linux32.c $(linux32_dir)/linux32.cfg.in $(linux32_dir)/linux32.mk
