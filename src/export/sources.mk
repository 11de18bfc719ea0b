# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/export/batch.h \
	include/xtop/export/export.h \
	include/xtop/export/metrics_text.h \
	src/export/annotation_text.c \
	src/export/crash_text.c \
	src/export/batch.c \
	src/export/diff_json.c \
	src/export/diff_table.c \
	src/export/export.c \
	src/export/folded.c \
	src/export/gzip.c \
	src/export/gzip.h \
	src/export/html.c \
	src/export/json.c \
	src/export/json.h \
	src/export/locks_table.c \
	src/export/metrics_text.c \
	src/export/measure.c \
	src/export/measure.h \
	src/export/notes.c \
	src/export/notes.h \
	src/export/perf.c \
	src/export/picture.c \
	src/export/picture.h \
	src/export/pprof.c \
	src/export/pprof_locations.c \
	src/export/pprof_locations.h \
	src/export/speedscope.c \
	src/export/stacks.c \
	src/export/stacks.h \
	src/export/stats.c \
	src/export/svg.c \
	src/export/table.c \
	src/export/table_json.c \
	src/export/table_rows.c \
	src/export/table_rows.h \
	src/export/host_json.h \
	src/export/exits_table.c \
	src/export/takers_table.c \
	src/export/waits_diff.c \
	src/export/waits_json.c \
	src/export/waits_table.c

# The script of flame graphs as lines of a C string, without indentation and comments.
src/export/flame_graph.inc: $(srcdir)/src/export/flame_graph.js
	$(AM_V_GEN)$(MKDIR_P) src/export && sed -e 's/^[[:blank:]]*//' -e '/^\/\//d' -e '/^$$/d' \
		-e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' $(srcdir)/src/export/flame_graph.js >$@
src/export/picture.$(OBJEXT): src/export/flame_graph.inc
CLEANFILES += src/export/flame_graph.inc
EXTRA_DIST += src/export/flame_graph.js
