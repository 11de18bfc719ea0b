# SPDX-License-Identifier: GPL-2.0-or-later
# Facts on which this depends: the pkg-config names of libraries on Debian 12, and the package that
# contains each. libiberty has no pkg-config file. The name of libxenctrl is "xencontrol".

# XTOP_LIBRARY(VARIABLE, MODULE, DEBIAN-PACKAGE)
AC_DEFUN([XTOP_LIBRARY], [
  PKG_CHECK_MODULES([$1], [$2], [],
    [AC_MSG_ERROR([$2 is missing: on Debian, apt-get install $3])])])

AC_DEFUN([XTOP_LIBRARIES], [
  AC_ARG_WITH([xen],
    [AS_HELP_STRING([--without-xen], [only replay recordings: needs no Xen libraries])],
    [], [with_xen=yes])
  AS_IF([test "x$with_xen" != xno], [
    XTOP_LIBRARY([XENCONTROL], [xencontrol], [libxen-dev])
    XTOP_LIBRARY([XENCALL], [xencall], [libxen-dev])
    XTOP_LIBRARY([XENFOREIGNMEMORY], [xenforeignmemory], [libxen-dev])
    XTOP_LIBRARY([XENSTORE], [xenstore], [libxen-dev])
    XTOP_LIBRARY([XENTOOLLOG], [xentoollog], [libxen-dev])
    AC_DEFINE([WITH_XEN], [1], [Whether live guests can be sampled])])
  AM_CONDITIONAL([WITH_XEN], [test "x$with_xen" != xno])
  XTOP_LIBRARY([NCURSESW], [ncursesw], [libncurses-dev])
  XTOP_LIBRARY([LIBUNWIND], [libunwind-generic], [libunwind-dev])
  XTOP_LIBRARY([LIBELF], [libelf], [libelf-dev])
  XTOP_LIBRARY([LIBSECCOMP], [libseccomp], [libseccomp-dev])
  AC_CHECK_HEADER([libiberty/demangle.h], [],
    [AC_MSG_ERROR([libiberty/demangle.h is missing: on Debian, apt-get install libiberty-dev])])
  AC_CHECK_LIB([iberty], [cplus_demangle], [IBERTY_LIBS=-liberty],
    [AC_MSG_ERROR([libiberty is missing: on Debian, apt-get install libiberty-dev])])
  AC_SUBST([IBERTY_LIBS])])
