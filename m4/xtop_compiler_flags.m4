# SPDX-License-Identifier: GPL-2.0-or-later
# Facts on which this depends: the sources are gnu11. gcc 12 and clang 14 accept all flags below.
# Other compilers may not, so each flag is tried. The accepted flags go into XTOP_CFLAGS and
# XTOP_LDFLAGS, never into CFLAGS, which belongs to the user.

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

dnl A loop of the shell: m4 would take the commas in these flags for separators.
AC_DEFUN([XTOP_TRY_LDFLAGS], [
  xtop_saved_cflags=$CFLAGS xtop_saved_ldflags=$LDFLAGS
  for flag in m4_bpatsubst([$1], ["]); do
    AC_MSG_CHECKING([whether $CC links with $flag])
    CFLAGS="$xtop_saved_cflags $XTOP_CFLAGS" LDFLAGS="$xtop_saved_ldflags -Werror $flag"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
      [AC_MSG_RESULT([yes]); XTOP_LDFLAGS="$XTOP_LDFLAGS $flag"], [AC_MSG_RESULT([no])])
  done
  CFLAGS=$xtop_saved_cflags LDFLAGS=$xtop_saved_ldflags])

AC_DEFUN([XTOP_COMPILER_FLAGS], [
  XTOP_CFLAGS="-std=gnu11 -Wall -Wextra"
  m4_foreach_w([flag], [-Wstrict-prototypes -Wmissing-prototypes -Wshadow -Wvla -Wpointer-arith
    -Wwrite-strings -Wundef -fstack-protector-strong -fstack-clash-protection -fcf-protection
    -fno-common -pthread], [XTOP_TRY_CFLAG(flag)])
  dnl Names of sources in messages of assert() do not depend on the folder of the build.
  XTOP_TRY_CFLAG([-fmacro-prefix-map=old=new])
  XTOP_CFLAGS=`echo "$XTOP_CFLAGS" | $SED 's|=old=new|=$(top_srcdir)/=|'`
  XTOP_LDFLAGS="-pthread"
  dnl Code runs at an address that nobody can predict. Tables of addresses are written once, at
  dnl start, and read-only afterwards.
  XTOP_TRY_CFLAG([-fPIE])
  XTOP_TRY_LDFLAGS(["-pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack"])
  AC_SUBST([XTOP_CFLAGS])
  AC_SUBST([XTOP_LDFLAGS])])
