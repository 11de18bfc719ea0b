# SPDX-License-Identifier: GPL-2.0-or-later
# Fuzzers: `make fuzzers` builds them after configure --enable-fuzzers, and tests/fuzz/run runs
# them. Each tests/fuzz/fuzz_NAME.c is a fuzzer; a new file needs no line here.

fuzz_names = $(patsubst $(srcdir)/%.c,%,$(wildcard $(srcdir)/tests/fuzz/fuzz_*.c))

# What fuzzers share, and what makes right tables for them to spoil. The latter is not looked at by
# the fuzzer, and therefore fast; MemorySanitizer has to see what it writes. libfuzz.a comes a second time, behind libxtop.a: a target that has
# no large block itself gets blocks.c through libxtop.a.
EXTRA_LIBRARIES = tests/fuzz/libfuzz.a tests/fuzz/libmade.a
tests_fuzz_libfuzz_a_SOURCES = tests/fuzz/guest.c
tests_fuzz_libmade_a_SOURCES = $(tests_support_libsupport_a_SOURCES)
if FUZZ_MEMORY
tests_fuzz_libfuzz_a_SOURCES += tests/fuzz/border.c
tests_fuzz_libmade_a_CFLAGS = $(AM_CFLAGS) -fno-sanitize=fuzzer-no-link
else
tests_fuzz_libfuzz_a_SOURCES += tests/fuzz/blocks.c
tests_fuzz_libmade_a_CFLAGS = $(AM_CFLAGS) -fno-sanitize=all
endif

# libfuzz.a is named twice, because it replaces malloc() and free() for the other libraries, too.
$(fuzz_names): %: $(srcdir)/%.c tests/fuzz/libfuzz.a tests/fuzz/libmade.a libxtop.a
	$(AM_V_CCLD)$(MKDIR_P) tests/fuzz && \
		$(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) \
		$(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -o $@ $< \
		tests/fuzz/libfuzz.a tests/fuzz/libmade.a libxtop.a tests/fuzz/libfuzz.a \
		$(XTOP_LIBS) $(FUZZER_LIBS)

fuzzers: $(fuzz_names)
if !WITH_FUZZERS
	@echo "run configure --enable-fuzzers first" >&2; false
endif
.PHONY: fuzzers
CLEANFILES += $(fuzz_names)
EXTRA_DIST += tests/fuzz/run tests/fuzz/coverage tests/fuzz/corpora tests/fuzz/corpus $(wildcard $(srcdir)/tests/fuzz/*.[ch])
