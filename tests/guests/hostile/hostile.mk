# SPDX-License-Identifier: GPL-2.0-or-later
# The hostile guest, and an xl config for every scenario. lab.mk includes this file after tiny.mk or
# tiny_arm64.mk. The guest is the tiny guest without graph.c, with files of its own instead.

hostile_dir = tests/guests/hostile
hostile_kernel = $(hostile_dir)/hostile
hostile_pvh = pvh-loops pvh-ladder pvh-edges pvh-wild pvh-change pvh-tables pvh-roots \
	pvh-linux-names pvh-linux-million pvh-linux-symbols pvh-linux-change
if HOST_X86
hostile_processor = hostile_x86.c
hostile_scenarios = $(hostile_pvh) pv-loops pv-ladder pv-edges pv-wild pv-change pv-foreign
hostile_boots = $(hostile_kernel)
else
hostile_processor = hostile_arm64.c
hostile_scenarios = $(hostile_pvh)
hostile_boots = $(hostile_kernel).image
endif
hostile_sources = $(hostile_dir)/hostile.c $(hostile_dir)/linux.c $(hostile_dir)/hostile.h
hostile_configs = $(hostile_scenarios:%=$(hostile_dir)/hostile-%.cfg)

$(hostile_kernel): $(tiny_sources) $(tiny_headers) $(hostile_sources) $(hostile_dir)/$(hostile_processor)
	$(AM_V_GEN)$(MKDIR_P) $(hostile_dir) && $(tiny_link) -fno-omit-frame-pointer -o $@ \
		$(tiny_boot_inputs) $(srcdir)/$(hostile_dir)/hostile.c \
		$(srcdir)/$(hostile_dir)/$(hostile_processor) $(srcdir)/$(hostile_dir)/linux.c

$(hostile_kernel).image: $(hostile_kernel)
	$(AM_V_GEN)$(OBJCOPY) -O binary $(hostile_kernel) $@

$(hostile_configs): $(tiny_dir)/tiny.cfg.in $(srcdir)/$(hostile_dir)/hostile.mk
	$(AM_V_GEN)$(MKDIR_P) $(hostile_dir); \
	name=`basename $@ .cfg`; type=pv scenario=$${name#hostile-pv-} vcpus=1; \
	case $$name in hostile-pvh-*) type=pvh scenario=$${name#hostile-pvh-} ;; esac; \
	case $$scenario in change|tables) vcpus=2 ;; esac; \
	sed -e "s|@name@|$$name|" -e "s|@type@|$$type|" -e "s|@vcpus@|$$vcpus|" \
		-e "s|memory = 16|memory = 32|" -e "s|@extra@|$$scenario|" \
		-e "s|@kernel@|$(abs_builddir)/$(hostile_boots)|" \
		$(srcdir)/$(tiny_dir)/tiny.cfg.in >$@

noinst_DATA += $(hostile_boots) $(hostile_configs)
CLEANFILES += $(hostile_kernel) $(hostile_kernel).image $(hostile_configs)
EXTRA_DIST += $(hostile_sources) $(hostile_dir)/hostile.mk $(hostile_dir)/hostile_x86.c \
	$(hostile_dir)/hostile_arm64.c
