# SPDX-License-Identifier: GPL-2.0-or-later
# The upcall guest and its xl config. lab.mk includes this file after tiny.mk. The guest is the tiny
# guest without graph.c, with files of its own instead.

upcall_dir = tests/guests/upcall
upcall_sources = $(upcall_dir)/upcall.c $(upcall_dir)/upcall.h $(upcall_dir)/entry.S

$(upcall_dir)/upcall-kernel: $(tiny_sources) $(tiny_timer) $(tiny_headers) $(upcall_sources)
	$(AM_V_GEN)$(MKDIR_P) $(upcall_dir) && $(tiny_link) -fno-omit-frame-pointer -o $@ \
		$(srcdir)/$(tiny_dir)/start.S $(srcdir)/$(tiny_dir)/boot.c \
		$(srcdir)/$(tiny_dir)/xen.c $(srcdir)/$(tiny_dir)/console.c \
		$(srcdir)/$(tiny_dir)/timer.c $(srcdir)/$(upcall_dir)/upcall.c $(srcdir)/$(upcall_dir)/entry.S

$(upcall_dir)/upcall.cfg: $(tiny_dir)/tiny.cfg.in $(srcdir)/$(upcall_dir)/upcall.mk
	$(AM_V_GEN)$(MKDIR_P) $(upcall_dir); \
	sed -e "s|@name@|upcall|" -e "s|@type@|pvh|" -e "s|@vcpus@|1|" -e "s|@extra@||" \
		-e "s|@kernel@|$(abs_builddir)/$(upcall_dir)/upcall-kernel|" \
		$(srcdir)/$(tiny_dir)/tiny.cfg.in >$@

noinst_DATA += $(upcall_dir)/upcall-kernel $(upcall_dir)/upcall.cfg
CLEANFILES += $(upcall_dir)/upcall-kernel $(upcall_dir)/upcall.cfg
EXTRA_DIST += $(upcall_sources) $(upcall_dir)/upcall.mk
