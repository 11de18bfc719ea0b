# SPDX-License-Identifier: GPL-2.0-or-later
# Facts on which this depends: -fsanitize=LIST names the sanitizers for gcc and clang, when they
# compile and when they link. thread excludes address. _FORTIFY_SOURCE hides string functions from
# AddressSanitizer, and it needs optimisation; so it is set only without sanitizers and without -O0.

AC_DEFUN([XTOP_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers=LIST],
      [build with -fsanitize=LIST (address,undefined or thread)])],
    [], [enable_sanitizers=no])
  AS_CASE([$enable_sanitizers],
    [no], [XTOP_CPPFLAGS="-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3"],
    [yes], [enable_sanitizers=address,undefined])
  AS_CASE(["$CFLAGS"], [*-O0*], [XTOP_CPPFLAGS=])
  AS_IF([test "x$enable_sanitizers" != xno], [
    XTOP_CPPFLAGS=-DSANITIZED
    XTOP_CFLAGS="$XTOP_CFLAGS -fsanitize=$enable_sanitizers"
    XTOP_CFLAGS="$XTOP_CFLAGS -fno-omit-frame-pointer -fno-sanitize-recover=all"
    XTOP_LDFLAGS="$XTOP_LDFLAGS -fsanitize=$enable_sanitizers"])
  AC_SUBST([XTOP_CPPFLAGS])])
