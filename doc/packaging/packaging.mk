# SPDX-License-Identifier: GPL-2.0-or-later
# What is installed besides the program and its manual, and Debian packages.

# Completion for shells, in their usual folders below datadir. A system with other folders names
# them: make install zshcompletiondir=...
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
fishcompletiondir = $(datadir)/fish/vendor_completions.d
dist_bashcompletion_DATA = doc/packaging/completion/xtop
dist_zshcompletion_DATA = doc/packaging/completion/_xtop
dist_fishcompletion_DATA = doc/packaging/completion/xtop.fish

# Worked examples, for those who have no sources.
examplesdir = $(docdir)/examples
dist_examples_DATA = $(addprefix doc/examples/,README functions callers tree flame processes vcpus \
	overhead range baseline annotate waits locks crash domains pair exits neighbours java php)
# Rules and a dashboard for the metrics of --metrics.
metricsexamplesdir = $(examplesdir)/metrics
dist_metricsexamples_DATA = $(addprefix doc/examples/metrics/,alerts.yml dashboard.json prometheus.yml)

# The service of --all --push, which is not enabled. Where unit files lie: make install
# systemdunitdir=..., and nowhere if it is empty. Its options are a file in sysconfdir.
systemdunitdir = $(prefix)/lib/systemd/system
nodist_systemdunit_DATA = doc/packaging/systemd/xtop-push.service
pushconfdir = $(sysconfdir)/xtop
dist_pushconf_DATA = doc/packaging/systemd/push.conf
EXTRA_DIST += doc/packaging/systemd/xtop-push.service.in
CLEANFILES += doc/packaging/systemd/xtop-push.service

doc/packaging/systemd/xtop-push.service: doc/packaging/systemd/xtop-push.service.in Makefile
	@mkdir -p doc/packaging/systemd
	$(AM_V_GEN)sed -e 's|@bindir[@]|$(bindir)|; s|@sysconfdir[@]|$(sysconfdir)|' \
		$(srcdir)/doc/packaging/systemd/xtop-push.service.in >$@

packaging_debian = clean control copyright changelog rules source/format source/lintian-overrides \
	xtop.lintian-overrides tests/control tests/replay
EXTRA_DIST += $(addprefix doc/packaging/debian/,$(packaging_debian)) \
	doc/packaging/xtop.spec 	tests/recordings/tiny.xrec.xz tests/recordings/tiny.map

# make deb builds the packages xtop and xtop-dbgsym, and the source package, in the folder deb. It
# builds from the archive of make dist, so it fails if that archive lacks a file. It needs the packages
# dpkg-dev and debhelper, and those of Build-Depends. dpkg's variables work as always:
# DEB_BUILD_OPTIONS=nocheck leaves the tests out.
deb: dist
	rm -rf deb
	mkdir deb
	cp $(distdir).tar.xz deb/$(PACKAGE)_$(VERSION).orig.tar.xz
	cd deb && tar xf $(PACKAGE)_$(VERSION).orig.tar.xz
	cp -R $(srcdir)/doc/packaging/debian deb/$(distdir)/debian
	cd deb/$(distdir) && env -u MAKEFLAGS -u MAKELEVEL -u MAKEOVERRIDES dpkg-buildpackage -us -uc
	@ls deb/*.deb
.PHONY: deb

clean-local: clean-deb clean-static
clean-deb:
	rm -rf deb
.PHONY: clean-deb
