# SPDX-License-Identifier: GPL-2.0-or-later
# The workload guest: an xl config for every combination. lab.mk includes this file. The lab makes
# the guest's image when a guest needs it (tests/lab/image).

workload_dir = tests/guests/workload

# A name has the type, 2, 4 or 8 for so many vCPUs, then what is special. PVH and PV guests start at the
# kernel's own entry. An HVM guest runs the kernel's decompressor, which chooses random addresses
# (KASLR).
if HOST_X86
workload_configs = \
	$(workload_dir)/workload-pvh.cfg $(workload_dir)/workload-pvh4.cfg \
	$(workload_dir)/workload-pv.cfg $(workload_dir)/workload-pv4.cfg \
	$(workload_dir)/workload-pvh-6.12.cfg $(workload_dir)/workload-pvh4-6.12.cfg \
	$(workload_dir)/workload-pv-6.12.cfg $(workload_dir)/workload-pv4-6.12.cfg \
	$(workload_dir)/workload-pvh-5.10.cfg $(workload_dir)/workload-pv-5.10.cfg \
	$(workload_dir)/workload-pvh-pti.cfg $(workload_dir)/workload-pvh-6.12-pti.cfg \
	$(workload_dir)/workload-hvm.cfg $(workload_dir)/workload-hvm4.cfg \
	$(workload_dir)/workload-hvm-pti.cfg $(workload_dir)/workload-hvm-6.12-pti.cfg \
	$(workload_dir)/workload-hvm-oops.cfg $(workload_dir)/workload-pvh-knot.cfg \
	$(workload_dir)/workload-pvh-jit.cfg $(workload_dir)/workload-pvh4-phases.cfg \
	$(workload_dir)/workload-pvh8-phases.cfg $(workload_dir)/workload-pvh-goes.cfg \
	$(workload_dir)/workload-pv-goes.cfg $(workload_dir)/workload-pvh-bare.cfg \
	$(workload_dir)/workload-pvh-i386.cfg $(workload_dir)/workload-pv-i386.cfg \
	$(workload_dir)/workload-pvh-waits.cfg $(workload_dir)/workload-pv-waits.cfg $(workload_dir)/workload-pv4-6.12-waits.cfg \
	$(workload_dir)/workload-pvh-5.10-waits.cfg $(workload_dir)/workload-pv2-waits.cfg \
	$(workload_dir)/workload-pvh4-newest-waits.cfg $(workload_dir)/workload-pv-newest-waits.cfg
else
workload_configs = $(workload_dir)/workload-pvh.cfg $(workload_dir)/workload-pvh4.cfg \
	$(workload_dir)/workload-pvh-waits.cfg $(workload_dir)/workload-pvh-goes.cfg \
	$(workload_dir)/workload-pvh-16k.cfg
endif

$(workload_configs): $(workload_dir)/workload.cfg.in $(srcdir)/$(workload_dir)/workload.mk
	$(AM_V_GEN)$(MKDIR_P) $(workload_dir); \
	name=`basename $@ .cfg`; type=pv vcpus=1 folder= words= needs=workload kernel=vmlinux; \
	case $$name in workload-pvh*) type=pvh ;; workload-hvm*) type=hvm kernel=vmlinuz ;; esac; \
	case $$name in *v4*|*h4*|*m4*) vcpus=4 ;; *h8*) vcpus=8 ;; *v2*) vcpus=2 ;; esac; \
	case $$name in *-6.12*) version=6.12 ;; *-5.10*) version=5.10 ;; *-newest*) version=newest ;; *-16k) version=16k ;; *) version= ;; esac; \
	if [ -n "$$version" ]; then folder=$$version/ needs="workload kernel-$$version"; fi; \
	case $$name in *-pti) words=" pti=on" ;; *-jit) words=" jit" ;; \
		*-phases) words=" phases" ;; *-goes) words=" goes" ;; *-bare) words=" bare" ;; *-waits) words=" waits" ;; \
		*-i386) words=" i386" ;; *-knot) words=" knot" ;; \
		*-oops) words=" oops sysrq_always_enabled" needs="$$needs kernel-debug" ;; esac; \
	sed -e "s|@name@|$$name|" -e "s|@type@|$$type|" -e "s|@vcpus@|$$vcpus|" \
		-e "s|@needs@|$$needs|" -e "s|@words@|$$words|" -e "s|@kernel@|$$folder$$kernel|" \
		-e "s|@ramdisk@|$${folder}workload/initrd|" \
		$(srcdir)/$(workload_dir)/workload.cfg.in >$@.new && \
	case $$type in hvm) printf '%s\n' '# limit: 480' \
		'# No display; the device model is needed only for the boot.' \
		'vga = "none"' 'vnc = 0' 'nographic = 1' >>$@.new ;; esac && \
	case $$vcpus in 8) echo '# limit: 480' >>$@.new ;; esac && \
	mv $@.new $@

noinst_DATA += $(workload_configs)
CLEANFILES += $(workload_configs)
EXTRA_DIST += $(workload_dir)/workload.cfg.in $(workload_dir)/workload.mk \
	$(workload_dir)/image $(workload_dir)/init $(workload_dir)/work.h $(workload_dir)/run.c \
	$(workload_dir)/user.c $(workload_dir)/kernel.c $(workload_dir)/shared.c \
	$(workload_dir)/work.c $(workload_dir)/names.cc $(workload_dir)/jit.c \
	$(workload_dir)/phases.c $(workload_dir)/bare.c $(workload_dir)/i386.c $(workload_dir)/waits.c $(workload_dir)/waits.h \
	$(workload_dir)/waits_holders.c $(workload_dir)/waits_sites.c \
	$(workload_dir)/locks_module.c $(workload_dir)/locks_module.h $(workload_dir)/oops_module.c $(workload_dir)/knot_module.c \
	$(workload_dir)/goes.mod $(workload_dir)/goes.c \
	$(workload_dir)/goes.go $(workload_dir)/goes.h \
	$(workload_dir)/tell.c
