# SPDX-License-Identifier: GPL-2.0-or-later
# Facts on which this depends: the pkg-config names of libraries on Debian 12 and 13, and the package
# that contains each. Of libcurl and libmicrohttpd only the headers
# are used: they are loaded when xtop runs. libiberty and
# Zydis have no pkg-config file. The headers of nanopb are in /usr/include on Debian 12, in
# /usr/include/nanopb on 13.

# XTOP_LIBRARY(VARIABLE, MODULE, DEBIAN-PACKAGE)
AC_DEFUN([XTOP_LIBRARY], [
  PKG_CHECK_MODULES([$1], [$2], [],
    [AC_MSG_ERROR([$2 is missing: on Debian, apt-get install $3])])])

# XTOP_OPTIONAL(VARIABLE, NAME, MODULE, WHAT-FOR): found, or not asked for by --without-NAME
AC_DEFUN([XTOP_OPTIONAL], [
  AC_ARG_WITH([$2], [AS_HELP_STRING([--without-$2], [do not read $4])], [], [with_$2=check])
  AS_IF([test "x$with_$2" != xno], [
    PKG_CHECK_MODULES([$1], [$3],
      [AC_DEFINE([HAVE_$1], [1], [Whether $3 is there, for $4])],
      [AS_IF([test "x$with_$2" = xyes], [AC_MSG_ERROR([$3 is missing])])
       with_$2=no])])
  AM_CONDITIONAL([WITH_$1], [test "x$with_$2" != xno])])

AC_DEFUN([XTOP_LIBRARIES], [
  AC_ARG_WITH([xen],
    [AS_HELP_STRING([--without-xen], [only replay recordings: needs no Xen libraries])],
    [], [with_xen=yes])
  AS_IF([test "x$with_xen" != xno], [
    XTOP_LIBRARY([XENCALL], [xencall], [libxen-dev])
    XTOP_LIBRARY([XENFOREIGNMEMORY], [xenforeignmemory], [libxen-dev])
    XTOP_LIBRARY([XENTOOLLOG], [xentoollog], [libxen-dev])])
  AM_CONDITIONAL([WITH_XEN], [test "x$with_xen" != xno])
  XTOP_LIBRARY([NCURSESW], [ncursesw], [libncurses-dev])
  XTOP_LIBRARY([LIBUNWIND], [libunwind-generic], [libunwind-dev])
  XTOP_LIBRARY([LIBELF], [libelf], [libelf-dev])
  XTOP_LIBRARY([LIBDW], [libdw], [libdw-dev])
  XTOP_LIBRARY([LIBLZMA], [liblzma], [liblzma-dev])
  XTOP_LIBRARY([LIBSECCOMP], [libseccomp], [libseccomp-dev])
  XTOP_LIBRARY([CAPSTONE], [capstone >= 4], [libcapstone-dev])
  XTOP_OPTIONAL([ZSTD], [zstd], [libzstd], [files that zstd has packed])
  XTOP_OPTIONAL([JANSSON], [jansson], [jansson], [speedscope's files])
  XTOP_LIBRARY([ZLIB], [zlib], [zlib1g-dev])
  XTOP_LIBRARY([LIBCURL], [libcurl >= 7.85], [libcurl4-openssl-dev])
  XTOP_LIBRARY([LIBMICROHTTPD], [libmicrohttpd >= 0.9.72], [libmicrohttpd-dev])
  AC_CHECK_HEADER([nanopb/pb_encode.h],
    [AC_DEFINE([HAVE_NANOPB_FOLDER], [1], [Whether the headers of nanopb are in <nanopb/>])],
    [AC_CHECK_HEADER([pb_encode.h], [],
      [AC_MSG_ERROR([pb_encode.h is missing: on Debian, apt-get install libnanopb-dev])])])
  AC_CHECK_LIB([protobuf-nanopb], [pb_encode_varint], [NANOPB_LIBS=-lprotobuf-nanopb],
    [AC_MSG_ERROR([libprotobuf-nanopb is missing: on Debian, apt-get install libnanopb-dev])])
  AC_SUBST([NANOPB_LIBS])
  AC_CHECK_HEADER([libiberty/demangle.h], [],
    [AC_MSG_ERROR([libiberty/demangle.h is missing: on Debian, apt-get install libiberty-dev])])
  AC_CHECK_LIB([iberty], [cplus_demangle], [IBERTY_LIBS=-liberty],
    [AC_MSG_ERROR([libiberty is missing: on Debian, apt-get install libiberty-dev])])
  AC_SUBST([IBERTY_LIBS])
  AC_CHECK_HEADER([Zydis/Zydis.h], [],
    [AC_MSG_ERROR([Zydis/Zydis.h is missing: on Debian, apt-get install libzydis-dev])])
  AC_CHECK_LIB([Zydis], [ZydisDecoderDecodeOperands], [ZYDIS_LIBS=-lZydis],
    [AC_MSG_ERROR([Zydis 4 is missing: on Debian, apt-get install libzydis-dev])])
  AC_SUBST([ZYDIS_LIBS])])
