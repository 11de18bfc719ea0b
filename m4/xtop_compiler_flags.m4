# SPDX-License-Identifier: GPL-2.0-or-later
# Facts this depends on: the sources are gnu11; gcc 12 and clang 14 take all flags below, an older or
# other compiler may not, so each is tried. What is found goes in XTOP_CFLAGS and XTOP_LDFLAGS, never in
# CFLAGS, which is the user's.

AC_DEFUN([XTOP_TRY_CFLAG], [
  AS_VAR_PUSHDEF([cache], [xtop_cv_cflag_$1])
  AC_CACHE_CHECK([whether $CC takes $1], [cache], [
    xtop_saved_cflags=$CFLAGS
    CFLAGS="$CFLAGS -Werror $1"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
      [AS_VAR_SET([cache], [yes])], [AS_VAR_SET([cache], [no])])
    CFLAGS=$xtop_saved_cflags])
  AS_VAR_IF([cache], [yes], [XTOP_CFLAGS="$XTOP_CFLAGS $1"])
  AS_VAR_POPDEF([cache])])

AC_DEFUN([XTOP_COMPILER_FLAGS], [
  XTOP_CFLAGS="-std=gnu11 -Wall -Wextra"
  m4_foreach_w([flag], [-Wstrict-prototypes -Wmissing-prototypes -Wshadow -Wvla -Wpointer-arith
    -Wwrite-strings -Wundef -fstack-protector-strong -fstack-clash-protection -fcf-protection
    -fno-common -pthread], [XTOP_TRY_CFLAG(flag)])
  XTOP_LDFLAGS="-pthread"
  AC_SUBST([XTOP_CFLAGS])
  AC_SUBST([XTOP_LDFLAGS])])
