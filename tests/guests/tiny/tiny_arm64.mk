# SPDX-License-Identifier: GPL-2.0-or-later
# The tiny guest of arm64: tiny.mk for that architecture. lab.mk includes one of the two. The loader
# boots a Linux image, *.image; the ELF file beside it is for xtop's -k.

tiny_dir = tests/guests/tiny
tiny_kernels = $(tiny_dir)/tiny-fp $(tiny_dir)/tiny-nofp
tiny_images = $(tiny_kernels:=.image)
tiny_sources = $(tiny_dir)/start_arm64.S $(tiny_dir)/boot.c $(tiny_dir)/xen_arm64.c \
	$(tiny_dir)/console.c $(tiny_dir)/graph.c
tiny_headers = $(tiny_dir)/tiny.h $(tiny_dir)/long_division.h $(tiny_dir)/tiny_arm64.lds
tiny32_kernels = $(tiny_dir)/tiny32-fp $(tiny_dir)/tiny32-nofp
tiny_configs = \
	$(tiny_dir)/tiny-pvh.cfg $(tiny_dir)/tiny-pvh-nofp.cfg \
	$(tiny_dir)/tiny-pvh4.cfg $(tiny_dir)/tiny-pvh4-nofp.cfg \
	$(tiny_dir)/tiny-pvh-deep.cfg $(tiny_dir)/tiny-pvh-brief.cfg $(tiny_dir)/tiny-pvh-beat.cfg
tiny32_configs = $(tiny_dir)/tiny-pvh-arm32.cfg $(tiny_dir)/tiny-pvh-arm32-nofp.cfg

tiny_link = $(MKDIR_P) $(tiny_dir) && $(CC) -std=gnu11 -O2 -g -Wall -Wextra -ffreestanding \
	-fno-pic -no-pie -mgeneral-regs-only -fno-stack-protector \
	-fno-optimize-sibling-calls -fasynchronous-unwind-tables \
	-D__XEN_INTERFACE_VERSION__=0x00040e00 -DTINY_LOAD_OFFSET=0x100000 \
	-static -nostdlib -Wl,--build-id -Wl,--eh-frame-hdr \
	-Wl,-z,noexecstack -Wl,--fatal-warnings -Wl,-T,$(tiny_dir)/tiny_arm64.lds

# The same as tiny_sources, with $(srcdir), which a VPATH build needs.
tiny_boot_inputs = $(srcdir)/$(tiny_dir)/start_arm64.S $(srcdir)/$(tiny_dir)/boot.c \
	$(srcdir)/$(tiny_dir)/xen_arm64.c $(srcdir)/$(tiny_dir)/console.c
tiny_inputs = $(tiny_boot_inputs) $(srcdir)/$(tiny_dir)/graph.c

$(tiny_dir)/tiny_arm64.lds: $(tiny_dir)/tiny.lds
	$(AM_V_GEN)$(MKDIR_P) $(tiny_dir) && sed -e s/elf64-x86-64/elf64-littleaarch64/ \
		-e 's/ENTRY(pvh_start)/ENTRY(image_start)/' -e '/note\.Xen/d' \
		-e 's/{ \*(\.text /{ *(.head) *(.text /' \
		-e 's#^\(.*\)/DISCARD/#\timage_bytes = . - 0xffffffff80100000;\n&#' \
		$(srcdir)/$(tiny_dir)/tiny.lds >$@

$(tiny_dir)/tiny-fp: $(tiny_sources) $(tiny_headers)
	$(AM_V_GEN)$(tiny_link) -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer \
		-o $@ $(tiny_inputs)

$(tiny_dir)/tiny-nofp: $(tiny_sources) $(tiny_headers)
	$(AM_V_GEN)$(tiny_link) -fomit-frame-pointer -o $@ $(tiny_inputs)

$(tiny_dir)/tiny-fp.image: $(tiny_dir)/tiny-fp
	$(AM_V_GEN)$(OBJCOPY) -O binary $(tiny_dir)/tiny-fp $@
$(tiny_dir)/tiny-nofp.image: $(tiny_dir)/tiny-nofp
	$(AM_V_GEN)$(OBJCOPY) -O binary $(tiny_dir)/tiny-nofp $@

# 32 bits: a zImage, loaded 32 KiB behind the beginning of RAM. Only clang makes code of both sizes,
# and linkers do. Xen's headers are the sysroot's. tiny32-fp has frame pointers and no tables;
# tiny32-nofp has .debug_frame, and with -funwind-tables .ARM.exidx; main() saves lr, although it
# never returns. tiny32-exidx is the same file without .debug_frame.
tiny32_sources = $(tiny_dir)/start_arm32.S
tiny32_inputs = $(srcdir)/$(tiny_dir)/start_arm32.S $(filter-out %.S,$(tiny_inputs))
tiny32_cflags = --target=arm-none-eabi -march=armv7ve -marm -mfpu=none -mfloat-abi=soft -std=gnu11 \
	-O2 -Wall -Wextra -ffreestanding -fno-pic -fno-stack-protector \
	-fno-optimize-sibling-calls \
	-D__XEN_INTERFACE_VERSION__=0x00040e00 -DTINY_TWO_LEVELS -isystem $(tiny_dir)/include
tiny32_ldflags = -m armelf -static -nostdlib --build-id -z noexecstack --fatal-warnings \
	--defsym=__aeabi_unwind_cpp_pr0=0 --defsym=__aeabi_unwind_cpp_pr1=0 \
	-T $(tiny_dir)/tiny32.lds

$(tiny_dir)/tiny32.lds: $(tiny_dir)/tiny.lds
	$(AM_V_GEN)$(MKDIR_P) $(tiny_dir)/include && \
		ln -sfn "`$(CC) -print-sysroot | sed 's#^/$$##'`/usr/include/xen" $(tiny_dir)/include/xen && \
		sed -e s/elf64-x86-64/elf32-littlearm/ -e s/0xffffffff80100000/0xc0008000/ \
		-e s/0xffffffff80000000/0xc0000000/ -e 's/ENTRY(pvh_start)/ENTRY(image_start)/' \
		-e '/note\.Xen/d' -e 's/{ \*(\.text /{ *(.head) *(.text /' \
		-e 's/{ \*(\.bss \(.*\)}/{ bss_start = .; *(.bss \1. = ALIGN(4); bss_end = .; }/' \
		-e 's#^\(.*\)/DISCARD/#\timage_bytes = bss_start - 0xc0008000;\n&#' \
		$(srcdir)/$(tiny_dir)/tiny.lds >$@

$(tiny32_kernels): $(tiny_sources) $(tiny32_sources) $(tiny_headers) $(tiny_dir)/tiny32.lds
	$(AM_V_GEN)flags="-fno-omit-frame-pointer -fno-unwind-tables"; \
	case $@ in *-nofp) flags="-fomit-frame-pointer -funwind-tables -g" ;; esac; \
	for input in $(tiny32_inputs); do \
		$(CLANG) $(tiny32_cflags) $$flags -c -o $@.`basename $$input`.o $$input || exit; \
	done && `$(CC) -print-prog-name=ld` $(tiny32_ldflags) -o $@ $@.*.o && rm $@.*.o

$(tiny_dir)/tiny32-exidx: $(tiny_dir)/tiny32-nofp
	$(AM_V_GEN)$(OBJCOPY) --remove-section=.debug_frame $(tiny_dir)/tiny32-nofp $@

$(tiny_dir)/tiny32-fp.image: $(tiny_dir)/tiny32-fp
	$(AM_V_GEN)$(OBJCOPY) -O binary $(tiny_dir)/tiny32-fp $@
$(tiny_dir)/tiny32-nofp.image: $(tiny_dir)/tiny32-nofp
	$(AM_V_GEN)$(OBJCOPY) -O binary $(tiny_dir)/tiny32-nofp $@

# The lab's dom0 sees the build tree under the same path as this machine.
$(tiny_configs) $(tiny32_configs): $(tiny_dir)/tiny.cfg.in $(srcdir)/$(tiny_dir)/tiny_arm64.mk
	$(AM_V_GEN)$(MKDIR_P) $(tiny_dir); \
	name=`basename $@ .cfg`; vcpus=1 kernel=tiny-fp extra=; \
	case $$name in *pvh4*) vcpus=4 ;; esac; \
	case $$name in *-arm32) kernel=tiny32-fp ;; *-arm32-nofp) kernel=tiny32-nofp ;; \
		*-nofp) kernel=tiny-nofp ;; *-deep) extra=depth=200 ;; \
		*-brief) extra=rounds=10000 ;; *-beat) extra=beat=99 ;; esac; \
	sed -e "s|@name@|$$name|" -e "s|@type@|pvh|" -e "s|@vcpus@|$$vcpus|" \
		-e "s|@kernel@|$(abs_builddir)/$(tiny_dir)/$$kernel.image|" -e "s|@extra@|$$extra|" \
		$(srcdir)/$(tiny_dir)/tiny.cfg.in >$@

noinst_DATA += $(tiny_kernels) $(tiny_images) $(tiny_configs)
CLEANFILES += $(tiny_kernels) $(tiny_images) $(tiny_configs) $(tiny_dir)/tiny_arm64.lds
if HAVE_CLANG
noinst_DATA += $(tiny32_kernels) $(tiny_dir)/tiny32-exidx $(tiny32_kernels:=.image) \
	$(tiny32_configs)
CLEANFILES += $(tiny32_kernels) $(tiny_dir)/tiny32-exidx $(tiny32_kernels:=.image) $(tiny32_configs) $(tiny_dir)/tiny32.lds \
	$(tiny_dir)/include/xen
endif
