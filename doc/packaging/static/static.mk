# SPDX-License-Identifier: GPL-2.0-or-later
# make static builds one file that needs no shared library, no locale and no description of the
# terminal, and an archive with that file, the manual, completion and a script that installs them. On
# Debian, whose static archives it links; the sources of two libraries are downloaded. It needs
# binutils, dpkg, ncurses-bin, libc-bin and libbz2-dev besides what the program needs.
EXTRA_PROGRAMS += xtop-static
static_inputs = $(addprefix doc/packaging/static/,inside install prepare)
EXTRA_DIST += $(static_inputs)
static_file = xtop-$(VERSION)-$(host_cpu)
# Libraries are searched in the folder static first.
static_libraries = $(XTOP_LIBS) -lxenstore -lxentoollog -lxentoolcore -lcapstone -lbz2

xtop_static_SOURCES = src/main.c src/base/library_static.c
nodist_xtop_static_SOURCES = static/examples.c static/locale.S static/parts.c static/terminal_types.c
xtop_static_LDADD = libxtop.a $(static_libraries)
# Nothing in the file depends on where it was built.
xtop_static_LDFLAGS = $(AM_LDFLAGS) -static-pie -s -Wl,--gc-sections -Wl,--build-id=none \
	$(static_relocations) -Lstatic
if HOST_X86
# Relocations in a bit each: 2 MB less. Debian 12's linker knows that for x86 alone.
static_relocations = -Wl,-z,pack-relative-relocs
endif

static:
	CC="$(CC)" CPU=$(host_cpu) HOST=$(host_alias) $(srcdir)/doc/packaging/static/prepare static
	$(MAKE) $(AM_MAKEFLAGS) xtop-static
	rm -rf $(static_file) static/archive && mkdir -p static/archive/$(static_file)
	cp xtop-static static/archive/$(static_file)/xtop
	cp $(srcdir)/doc/xtop.1 $(srcdir)/COPYING $(srcdir)/doc/packaging/static/install \
		$(srcdir)/doc/packaging/completion/_xtop $(srcdir)/doc/packaging/completion/xtop.fish \
		static/archive/$(static_file)
	cp $(srcdir)/doc/packaging/completion/xtop static/archive/$(static_file)/xtop.bash
	mkdir static/archive/$(static_file)/example
	cp $(srcdir)/doc/example/*.xrec.xz static/archive/$(static_file)/example
	tar -c --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C static/archive $(static_file) | \
		xz -9e >$(static_file).tar.xz
	cp xtop-static $(static_file)
	@echo $(static_file).tar.xz $(static_file)
.PHONY: static
CLEANFILES += xtop-static $(static_file) $(static_file).tar.xz
clean-static:
	rm -rf static
.PHONY: clean-static
