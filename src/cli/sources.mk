# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	src/cli/example.c \
	include/xtop/cli/example.h \
	src/cli/options.c \
	include/xtop/cli/options.h \
	src/cli/options_check.c \
	src/cli/options_check.h \
	src/cli/options_file.c \
	include/xtop/cli/options_file.h \
	src/cli/options_help.c \
	src/cli/options_table.c \
	src/cli/options_table.h
