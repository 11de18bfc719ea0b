# SPDX-License-Identifier: GPL-2.0-or-later
# The hostile guest, and an xl config for every scenario. lab.mk includes this file after tiny.mk.
# The guest is the tiny guest without graph.c, with files of its own instead.

hostile_dir = tests/guests/hostile
hostile_kernel = $(hostile_dir)/hostile
hostile_sources = $(hostile_dir)/hostile.c $(hostile_dir)/linux.c $(hostile_dir)/hostile.h
hostile_scenarios = pvh-loops pvh-ladder pvh-edges pvh-wild pvh-change pvh-tables pvh-roots \
	pvh-linux-names pvh-linux-million pvh-linux-symbols pvh-linux-change \
	pv-loops pv-ladder pv-edges pv-wild pv-change pv-foreign
hostile_configs = $(hostile_scenarios:%=$(hostile_dir)/hostile-%.cfg)

$(hostile_kernel): $(tiny_sources) $(tiny_headers) $(hostile_sources)
	$(AM_V_GEN)$(MKDIR_P) $(hostile_dir) && $(tiny_link) -fno-omit-frame-pointer -o $@ \
		$(srcdir)/$(tiny_dir)/start.S $(srcdir)/$(tiny_dir)/boot.c \
		$(srcdir)/$(tiny_dir)/xen.c $(srcdir)/$(tiny_dir)/console.c \
		$(srcdir)/$(hostile_dir)/hostile.c $(srcdir)/$(hostile_dir)/linux.c

$(hostile_configs): $(tiny_dir)/tiny.cfg.in $(srcdir)/$(hostile_dir)/hostile.mk
	$(AM_V_GEN)$(MKDIR_P) $(hostile_dir); \
	name=`basename $@ .cfg`; type=pv scenario=$${name#hostile-pv-} vcpus=1; \
	case $$name in hostile-pvh-*) type=pvh scenario=$${name#hostile-pvh-} ;; esac; \
	case $$scenario in change|tables) vcpus=2 ;; esac; \
	sed -e "s|@name@|$$name|" -e "s|@type@|$$type|" -e "s|@vcpus@|$$vcpus|" \
		-e "s|memory = 16|memory = 32|" -e "s|@extra@|$$scenario|" \
		-e "s|@kernel@|$(abs_builddir)/$(hostile_kernel)|" \
		$(srcdir)/$(tiny_dir)/tiny.cfg.in >$@

noinst_DATA += $(hostile_kernel) $(hostile_configs)
CLEANFILES += $(hostile_kernel) $(hostile_configs)
EXTRA_DIST += $(hostile_sources) $(hostile_dir)/hostile.mk
