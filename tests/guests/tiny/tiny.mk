# SPDX-License-Identifier: GPL-2.0-or-later
# The tiny guest: two kernels, each of which boots as PVH and as PV, and an xl config for every
# combination. lab.mk includes this file. The kernels are built without $(CFLAGS), which are for
# programs with a libc and may contain sanitizers.

tiny_dir = tests/guests/tiny
tiny_bare_kernels = $(tiny_dir)/tiny-bare2 $(tiny_dir)/tiny-bare3 $(tiny_dir)/tiny-bare2-cf \
	$(tiny_dir)/tiny-bare3-cf $(tiny_dir)/tiny-bare2-page $(tiny_dir)/tiny-bare2-late \
	$(tiny_dir)/tiny-bare2-late-fp
tiny_kernels = $(tiny_dir)/tiny-fp $(tiny_dir)/tiny-exits $(tiny_dir)/tiny-nofp $(tiny_dir)/tiny-noentry $(tiny_dir)/tiny-symbols $(tiny_bare_kernels) \
	$(tiny_dir)/tiny32-fp $(tiny_dir)/tiny32-nofp $(tiny_dir)/tiny32-pae
tiny_sources = $(tiny_dir)/start.S $(tiny_dir)/boot.c $(tiny_dir)/xen.c \
	$(tiny_dir)/console.c $(tiny_dir)/graph.c
tiny_timer = $(tiny_dir)/timer.c $(tiny_dir)/timer.h
tiny_headers = $(tiny_dir)/tiny.h $(tiny_dir)/long_division.h $(tiny_dir)/tiny.lds

# A name has the type, 4 for four vCPUs, then what is special.
tiny_configs = \
	$(tiny_dir)/tiny-pvh.cfg $(tiny_dir)/tiny-pvh-nofp.cfg \
	$(tiny_dir)/tiny-pvh4.cfg $(tiny_dir)/tiny-pvh4-nofp.cfg \
	$(tiny_dir)/tiny-pv.cfg $(tiny_dir)/tiny-pv-nofp.cfg \
	$(tiny_dir)/tiny-pv4.cfg $(tiny_dir)/tiny-pv4-nofp.cfg \
	$(tiny_dir)/tiny-pvh-deep.cfg $(tiny_dir)/tiny-pv-deep.cfg \
	$(tiny_dir)/tiny-pvh-idle.cfg $(tiny_dir)/tiny-pv-idle.cfg \
	$(tiny_dir)/tiny-pvh-bare2.cfg $(tiny_dir)/tiny-pvh-bare3.cfg \
	$(tiny_dir)/tiny-pvh-noentry.cfg $(tiny_dir)/tiny-pvh-bare2-cf.cfg $(tiny_dir)/tiny-pvh-bare3-cf.cfg \
	$(tiny_dir)/tiny-pvh-i386.cfg $(tiny_dir)/tiny-pvh-i386-nofp.cfg \
	$(tiny_dir)/tiny-pvh-i386-pae.cfg $(tiny_dir)/tiny-pvh-brief.cfg $(tiny_dir)/tiny-pvh-exits.cfg $(tiny_dir)/tiny-pvh-beat.cfg \
	$(tiny_dir)/tiny-pvh-bare2-page.cfg $(tiny_dir)/tiny-pv-bare2-page.cfg \
	$(tiny_dir)/tiny-pvh-bare2-late.cfg $(tiny_dir)/tiny-pvh-bare2-late-fp.cfg \
	$(tiny_dir)/tiny-pvh-symbols.cfg $(tiny_dir)/tiny-pv-symbols.cfg

tiny_cflags = -std=gnu11 -O2 -g -Wall -Wextra -ffreestanding \
	-fno-pic -mcmodel=kernel -mno-red-zone -mgeneral-regs-only \
	-fno-stack-protector -fcf-protection=none \
	-fno-optimize-sibling-calls -fasynchronous-unwind-tables \
	-D__XEN_INTERFACE_VERSION__=0x00040e00
tiny_ldflags = -static -nostdlib -Wl,--build-id -Wl,--eh-frame-hdr \
	-Wl,-z,noexecstack -Wl,--fatal-warnings
tiny_link = $(MKDIR_P) $(tiny_dir) && $(CC) $(tiny_cflags) $(tiny_ldflags) \
	-Wl,-T,$(srcdir)/$(tiny_dir)/tiny.lds

# The same as tiny_sources, with $(srcdir), which a VPATH build needs.
tiny_boot_inputs = $(srcdir)/$(tiny_dir)/start.S $(srcdir)/$(tiny_dir)/boot.c \
	$(srcdir)/$(tiny_dir)/xen.c $(srcdir)/$(tiny_dir)/console.c
tiny_inputs = $(tiny_boot_inputs) $(srcdir)/$(tiny_dir)/graph.c

$(tiny_dir)/tiny-fp: $(tiny_sources) $(tiny_headers)
	$(AM_V_GEN)$(tiny_link) -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer \
		-o $@ $(tiny_inputs)

# With another main().
$(tiny_dir)/tiny-exits: $(tiny_sources) $(tiny_timer) $(tiny_dir)/exits.c $(tiny_headers)
	$(AM_V_GEN)$(tiny_link) -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer \
		-o $@ $(tiny_boot_inputs) $(srcdir)/$(tiny_dir)/timer.c \
		$(srcdir)/$(tiny_dir)/exits.c

$(tiny_dir)/tiny-nofp: $(tiny_sources) $(tiny_headers)
	$(AM_V_GEN)$(tiny_link) -fomit-frame-pointer -o $@ $(tiny_inputs)

# The same, but the assembly that calls main() has no unwind table.
$(tiny_dir)/tiny-noentry: $(tiny_sources) $(tiny_headers)
	$(AM_V_GEN)$(MKDIR_P) $(tiny_dir) && sed '/\.cfi_/d' $(srcdir)/$(tiny_dir)/start.S >$@.S && \
		$(tiny_link) -fomit-frame-pointer -I$(srcdir)/$(tiny_dir) -o $@ $@.S \
		$(filter-out %.S,$(tiny_inputs)) && rm $@.S

# Xen's loader puts its symbols behind it in memory.
$(tiny_dir)/tiny-symbols: $(tiny_sources) $(tiny_headers)
	$(AM_V_GEN)$(tiny_link) -fomit-frame-pointer -DTINY_BSD_SYMTAB -o $@ $(tiny_inputs)

# Neither frame pointers nor unwind tables, not even those of assembly. The last -O counts; -cf has
# endbr64 where functions begin, -page a hypercall page. -late sets the stack pointer late in its entry.
tiny_bare = -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables \
	-Wl,--no-eh-frame-hdr
$(tiny_bare_kernels): $(tiny_sources) $(tiny_headers)
	$(AM_V_GEN)flags=; \
	case $@ in *-bare3*) flags=-O3 ;; esac; \
	case $@ in *-cf) flags="$$flags -fcf-protection=full" ;; \
		*-page) flags=-DTINY_HYPERCALL_PAGE ;; *-late) flags=-DTINY_LATE_STACK ;; \
		*-late-fp) flags="-DTINY_LATE_STACK -fno-omit-frame-pointer" ;; esac; \
	$(tiny_link) $(tiny_bare) $$flags -o $@.all $(tiny_inputs) && \
		objcopy -R .eh_frame -R .debug_frame $@.all $@ && rm $@.all

# 32 bits: two levels of page tables; tiny32-pae has PAE. There Xen under Debian's QEMU does not find the
# length of an instruction that it intercepts (tests/lab/qemu), so this kernel uses no service of Xen. All are without
# libgcc: there may be none of 32 bits.
tiny32_sources = $(tiny_dir)/start32.S $(tiny_dir)/xen32.c
tiny32_inputs = $(srcdir)/$(tiny_dir)/start32.S $(srcdir)/$(tiny_dir)/xen32.c \
	$(srcdir)/$(tiny_dir)/boot.c $(srcdir)/$(tiny_dir)/console.c $(srcdir)/$(tiny_dir)/graph.c
tiny32_cflags = $(filter-out -mcmodel=kernel -mno-red-zone,$(tiny_cflags)) -m32
tiny32_link = $(CC) $(tiny32_cflags) $(tiny_ldflags) -Wl,-T,$(tiny_dir)/tiny32.lds

$(tiny_dir)/tiny32.lds: $(tiny_dir)/tiny.lds
	$(AM_V_GEN)$(MKDIR_P) $(tiny_dir) && sed -e s/elf64-x86-64/elf32-i386/ \
		-e s/0xffffffff80/0xc00/ -e s/0xc00100000/0xc0100000/ -e s/0xc00000000/0xc0000000/ \
		$(srcdir)/$(tiny_dir)/tiny.lds >$@

$(tiny_dir)/tiny32-fp: $(tiny_sources) $(tiny32_sources) $(tiny_headers) $(tiny_dir)/tiny32.lds
	$(AM_V_GEN)$(tiny32_link) -fno-omit-frame-pointer -DTINY_TWO_LEVELS -o $@ $(tiny32_inputs)

$(tiny_dir)/tiny32-pae: $(tiny_sources) $(tiny32_sources) $(tiny_headers) $(tiny_dir)/tiny32.lds
	$(AM_V_GEN)$(tiny32_link) -fno-omit-frame-pointer -DTINY_ALONE -o $@ $(tiny32_inputs)

$(tiny_dir)/tiny32-nofp: $(tiny_sources) $(tiny32_sources) $(tiny_headers) $(tiny_dir)/tiny32.lds
	$(AM_V_GEN)$(tiny32_link) -fomit-frame-pointer -DTINY_TWO_LEVELS -o $@ $(tiny32_inputs)

# The lab's dom0 sees the build tree under the same path as this machine.
$(tiny_configs): $(tiny_dir)/tiny.cfg.in $(srcdir)/$(tiny_dir)/tiny.mk
	$(AM_V_GEN)$(MKDIR_P) $(tiny_dir); \
	name=`basename $@ .cfg`; type=pv vcpus=1 kernel=tiny-fp extra=; \
	case $$name in tiny-pvh*) type=pvh ;; esac; \
	case $$name in *pv4* | *pvh4*) vcpus=4 ;; esac; \
	case $$name in *-i386) kernel=tiny32-fp ;; *-i386-pae) kernel=tiny32-pae ;; \
		*-i386-nofp) kernel=tiny32-nofp ;; *-nofp) kernel=tiny-nofp ;; \
		*-bare* | *-noentry | *-symbols) kernel=tiny-$${name#tiny-pv*-} ;; *-deep) extra=depth=200 ;; \
		*-idle) extra=idle ;; *-brief) extra=rounds=10000 ;; \
		*-exits) kernel=tiny-exits extra=beat=1000 ;; *-beat) extra=beat=99 ;; esac; \
	case $$name in *-page) extra=ask ;; esac; \
	sed -e "s|@name@|$$name|" -e "s|@type@|$$type|" -e "s|@vcpus@|$$vcpus|" \
		-e "s|@kernel@|$(abs_builddir)/$(tiny_dir)/$$kernel|" -e "s|@extra@|$$extra|" \
		$(srcdir)/$(tiny_dir)/tiny.cfg.in >$@

noinst_DATA += $(tiny_kernels) $(tiny_configs)
CLEANFILES += $(tiny_kernels) $(tiny_configs) $(tiny_dir)/tiny32.lds
EXTRA_DIST += $(tiny_sources) $(tiny_timer) $(tiny_dir)/exits.c $(tiny32_sources) $(tiny_headers) $(tiny_dir)/tiny.cfg.in $(tiny_dir)/tiny.mk \
	$(tiny_dir)/expected
