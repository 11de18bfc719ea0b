# SPDX-License-Identifier: GPL-2.0-or-later
# The guest linux32 of arm64: Debian's kernel of 32 bits (armmp-lpae), and the two programs of
# linux32.mk. lab.mk includes one of the two files. Only clang makes code of 32 bits here, and arm64's
# linker links it (tiny_arm64.mk).

linux32_dir = tests/guests/linux32

linux32_cc = $(CLANG) --target=arm-linux-gnueabi -march=armv7-a -marm -mfloat-abi=soft -std=gnu11 -O2 \
	-Wall -Wextra -ffreestanding -fno-pic -fno-stack-protector -fno-optimize-sibling-calls
linux32_link = `$(CC) -print-prog-name=ld` -m armelf -static -nostdlib -z noexecstack -z separate-code \
	--defsym=__aeabi_unwind_cpp_pr0=0 --defsym=__aeabi_unwind_cpp_pr1=0

$(linux32_dir)/linux32: $(srcdir)/$(linux32_dir)/linux32.c $(srcdir)/$(linux32_dir)/program.h
	$(AM_V_GEN)$(MKDIR_P) $(linux32_dir) && $(linux32_cc) -fno-omit-frame-pointer \
		-mno-omit-leaf-frame-pointer -fno-unwind-tables -fno-asynchronous-unwind-tables -c -o $@.o \
		$(srcdir)/$(linux32_dir)/linux32.c && $(linux32_link) -o $@ $@.o && rm $@.o

$(linux32_dir)/cfi32: $(srcdir)/$(linux32_dir)/cfi32.c $(srcdir)/$(linux32_dir)/program.h
	$(AM_V_GEN)$(MKDIR_P) $(linux32_dir) && $(linux32_cc) -fomit-frame-pointer -funwind-tables -g -c -o $@.o \
		$(srcdir)/$(linux32_dir)/cfi32.c && $(linux32_link) -o $@ $@.o && rm $@.o

$(linux32_dir)/linux32.initrd: $(linux32_dir)/linux32 $(linux32_dir)/cfi32 $(srcdir)/$(linux32_dir)/initrd
	$(AM_V_GEN)$(srcdir)/$(linux32_dir)/initrd init=$(linux32_dir)/linux32 \
		cfi32=$(linux32_dir)/cfi32 >$@.new && mv $@.new $@

$(linux32_dir)/linux32-arm.cfg: $(srcdir)/$(linux32_dir)/linux32_arm.cfg.in
	$(AM_V_GEN)$(MKDIR_P) $(linux32_dir); \
	sed -e "s|@ramdisk@|$(abs_builddir)/$(linux32_dir)/linux32.initrd|" \
		$(srcdir)/$(linux32_dir)/linux32_arm.cfg.in >$@.new && mv $@.new $@

if HAVE_CLANG
linux32_files = $(linux32_dir)/linux32 $(linux32_dir)/cfi32 $(linux32_dir)/linux32.initrd \
	$(linux32_dir)/linux32-arm.cfg
noinst_DATA += $(linux32_files)
CLEANFILES += $(linux32_files)
endif
