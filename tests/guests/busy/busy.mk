# SPDX-License-Identifier: GPL-2.0-or-later
# The busy guest: an xl config for every number of vCPUs. lab.mk includes this file.

busy_dir = tests/guests/busy
busy_configs = $(busy_dir)/busy1.cfg $(busy_dir)/busy2.cfg $(busy_dir)/busy4.cfg \
	$(busy_dir)/busy8.cfg $(busy_dir)/busy16.cfg $(busy_dir)/busy32.cfg

$(busy_configs): $(busy_dir)/busy.cfg.in $(srcdir)/$(busy_dir)/busy.mk
	$(AM_V_GEN)$(MKDIR_P) $(busy_dir); \
	name=`basename $@ .cfg`; \
	sed -e "s|@name@|$$name|" -e "s|@vcpus@|$${name#busy}|" \
		$(srcdir)/$(busy_dir)/busy.cfg.in >$@

noinst_DATA += $(busy_configs)
CLEANFILES += $(busy_configs)
EXTRA_DIST += $(busy_dir)/busy.cfg.in $(busy_dir)/busy.mk
