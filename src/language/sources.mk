# SPDX-License-Identifier: GPL-2.0-or-later
libxtop_a_SOURCES += \
	include/xtop/language/language.h \
	src/language/hotspot.c \
	src/language/hotspot.h \
	src/language/hotspot_bytecode.c \
	src/language/hotspot_code.c \
	src/language/hotspot_layout.c \
	src/language/hotspot_lines.c \
	src/language/language.c \
	src/language/language_ops.h \
	src/language/perl.c \
	src/language/php.c \
	src/language/python.c \
	src/language/python.h \
	src/language/python_lines.c \
	src/language/ruby.c \
	src/language/ruby_lines.c \
	src/language/ruby_names.c \
	src/language/ruby_objects.h \
	src/language/runtime_memory.c \
	src/language/v8.c \
	src/language/v8.h \
	src/language/v8_code.c \
	src/language/v8_lines.c \
	src/language/v8_names.c
