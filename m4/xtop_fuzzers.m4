# SPDX-License-Identifier: GPL-2.0-or-later
# Facts on which this depends: libFuzzer comes with clang. -fsanitize=fuzzer links it; the rest of a
# program is compiled with -fsanitize=fuzzer-no-link. On Debian the runtime library is in
# libclang-rt-VERSION-dev.

# Call this before AC_PROG_CC: only clang has libFuzzer.
AC_DEFUN([XTOP_FUZZERS_COMPILER], [
  AC_ARG_ENABLE([fuzzers],
    [AS_HELP_STRING([--enable-fuzzers],
      [build for `make fuzzers': with clang, libFuzzer and sanitizers])],
    [], [enable_fuzzers=no])
  AS_IF([test "x$enable_fuzzers" != xno && test "x$CC" = x], [CC=clang])])

AC_DEFUN([XTOP_FUZZERS], [
  FUZZER_LIBS=
  AS_IF([test "x$enable_fuzzers" != xno], [
    FUZZER_LIBS="-fsanitize=fuzzer"
    xtop_saved_cflags=$CFLAGS
    CFLAGS="$CFLAGS -fsanitize=fuzzer,address,undefined"
    AC_MSG_CHECKING([whether $CC has libFuzzer])
    AC_LINK_IFELSE([AC_LANG_SOURCE([[
        #include <stddef.h>
        int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
        {
          return size && bytes[0] == 1 ? -1 : 0;
        }]])],
      [AC_MSG_RESULT([yes])],
      [AC_MSG_RESULT([no])
       xtop_clang=`$CC -dumpversion 2>/dev/null | sed 's/\..*//'`
       AC_MSG_ERROR([--enable-fuzzers needs clang with libFuzzer: dnl
on Debian, apt-get install clang libclang-rt-$xtop_clang-dev])])
    CFLAGS=$xtop_saved_cflags
    # tests/fuzz/blocks.c
    for xtop_function in malloc calloc realloc reallocarray aligned_alloc free; do
      FUZZER_LIBS="$FUZZER_LIBS -Wl,--wrap=$xtop_function"
    done
    XTOP_CPPFLAGS=-DXTOP_SMALL_LIMITS # include/xtop/limit.h
    XTOP_CFLAGS="$XTOP_CFLAGS -fsanitize=fuzzer-no-link,address,undefined"
    XTOP_CFLAGS="$XTOP_CFLAGS -fno-omit-frame-pointer -fno-sanitize-recover=all"
    XTOP_LDFLAGS="$XTOP_LDFLAGS -fsanitize=address,undefined"])
  AM_CONDITIONAL([WITH_FUZZERS], [test "x$enable_fuzzers" != xno])
  AC_SUBST([FUZZER_LIBS])])
