# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/import/code_names.h \
	include/xtop/import/import.h \
	src/import/builder.c \
	src/import/builder.h \
	src/import/code_names.c \
	src/import/folded_reader.c \
	src/import/foreign_formats.c \
	src/import/foreign_formats.h \
	src/import/gperftools_reader.c \
	src/import/import.c \
	src/import/perf_reader.c \
	src/import/pprof_labels.c \
	src/import/pprof_labels.h \
	src/import/pprof_reader.c \
	src/import/pprof_stream.c \
	src/import/pprof_stream.h \
	src/import/pprof_tables.c \
	src/import/pprof_tables.h \
	src/import/readers.h \
	src/import/source.c \
	src/import/source.h \
	src/import/text_lines.c \
	src/import/text_lines.h
if WITH_JANSSON
libxtop_a_SOURCES += src/import/speedscope_reader.c
else
libxtop_a_SOURCES += src/import/speedscope_none.c
endif
EXTRA_DIST += src/import/speedscope_reader.c src/import/speedscope_none.c
