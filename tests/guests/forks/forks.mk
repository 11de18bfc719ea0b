# SPDX-License-Identifier: GPL-2.0-or-later
# The forks guest: an xl config for every number of vCPUs. lab.mk includes this file.

forks_dir = tests/guests/forks
forks_configs = $(forks_dir)/forks1.cfg $(forks_dir)/forks2.cfg $(forks_dir)/forks4.cfg \
	$(forks_dir)/forks8.cfg $(forks_dir)/forks16.cfg $(forks_dir)/forks32.cfg

$(forks_configs): $(forks_dir)/forks.cfg.in $(srcdir)/$(forks_dir)/forks.mk
	$(AM_V_GEN)$(MKDIR_P) $(forks_dir); \
	name=`basename $@ .cfg`; \
	sed -e "s|@name@|$$name|" -e "s|@vcpus@|$${name#forks}|" \
		$(srcdir)/$(forks_dir)/forks.cfg.in >$@

noinst_DATA += $(forks_configs)
CLEANFILES += $(forks_configs)
EXTRA_DIST += $(forks_dir)/forks.cfg.in $(forks_dir)/forks.mk
