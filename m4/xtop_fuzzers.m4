# SPDX-License-Identifier: GPL-2.0-or-later
# Facts on which this depends: libFuzzer comes with clang. -fsanitize=fuzzer links it; the rest of a
# program is compiled with -fsanitize=fuzzer-no-link. On Debian the runtime library is in
# libclang-rt-VERSION-dev. MemorySanitizer excludes AddressSanitizer. It takes what a library writes
# that was not compiled with it for uninitialised: tests/fuzz/border.c stands between. clang counts
# which lines run under -fprofile-instr-generate -fcoverage-mapping.

# Call this before AC_PROG_CC: only clang has libFuzzer.
AC_DEFUN([XTOP_FUZZERS_COMPILER], [
  AC_ARG_ENABLE([fuzzers],
    [AS_HELP_STRING([--enable-fuzzers=KIND],
      [build for `make fuzzers', with clang and libFuzzer. KIND: address (default), with
       AddressSanitizer and UBSan; memory, with MemorySanitizer; coverage, for
       tests/fuzz/coverage])],
    [], [enable_fuzzers=no])
  AS_IF([test "x$enable_fuzzers" = xyes], [enable_fuzzers=address])
  AS_IF([test "x$enable_fuzzers" != xno && test "x$CC" = x], [CC=clang])])

# XTOP_WRAP(FUNCTION...): calls of these functions go to __wrap_FUNCTION().
AC_DEFUN([XTOP_WRAP], [
  for xtop_function in $1; do
    FUZZER_LIBS="$FUZZER_LIBS -Wl,--wrap=$xtop_function"
  done])

AC_DEFUN([XTOP_FUZZERS], [
  FUZZER_LIBS=
  AS_CASE([$enable_fuzzers],
    [no], [],
    [address], [xtop_kind="-fsanitize=address,undefined"
      XTOP_WRAP([malloc calloc realloc reallocarray aligned_alloc free])], dnl tests/fuzz/blocks.c
    [memory], [xtop_kind="-fsanitize=memory -fsanitize-memory-track-origins"
      dnl tests/fuzz/border.c
      XTOP_WRAP([gelf_getphdr gelf_getshdr elf_getshdrstrndx elf_rawdata])
      XTOP_WRAP([lzma_code inflate])
      XTOP_WRAP([pb_decode_tag pb_decode_varint pb_make_string_substream])
      XTOP_WRAP([pb_istream_from_buffer])
      dnl libelf calls inflate(), too, so every program needs border.c
      FUZZER_LIBS="$FUZZER_LIBS -Wl,--undefined=__wrap_inflate"
      XTOP_WRAP([ZydisDecoderDecodeInstruction ZydisDecoderDecodeOperands])
      XTOP_WRAP([ZydisDecoderDecodeFull ZydisFormatterFormatInstruction])
      XTOP_WRAP([ZydisCalcAbsoluteAddress])
      XTOP_WRAP([rust_demangle_callback cplus_demangle_v3_callback dlang_demangle])
      XTOP_WRAP([_Ux86_64_create_addr_space _Ux86_64_get_reg])
      XTOP_WRAP([json_load_callback json_object_get json_array_get json_equal])
      XTOP_WRAP([json_string_value])],
    [coverage], [xtop_kind="-fprofile-instr-generate -fcoverage-mapping"],
    [AC_MSG_ERROR([--enable-fuzzers: '$enable_fuzzers' is not address, memory or coverage])])
  AS_IF([test "x$enable_fuzzers" != xno], [
    FUZZER_LIBS="$FUZZER_LIBS -fsanitize=fuzzer"
    xtop_saved_cflags=$CFLAGS
    CFLAGS="$CFLAGS -fsanitize=fuzzer $xtop_kind"
    AC_MSG_CHECKING([whether $CC has libFuzzer and $xtop_kind])
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
    XTOP_CPPFLAGS=-DXTOP_SMALL_LIMITS # include/xtop/base/limit.h
    XTOP_CFLAGS="$XTOP_CFLAGS -fsanitize=fuzzer-no-link $xtop_kind"
    XTOP_CFLAGS="$XTOP_CFLAGS -fno-omit-frame-pointer -fno-sanitize-recover=all"
    XTOP_LDFLAGS="$XTOP_LDFLAGS $xtop_kind"])
  AM_CONDITIONAL([WITH_FUZZERS], [test "x$enable_fuzzers" != xno])
  AM_CONDITIONAL([FUZZ_MEMORY], [test "x$enable_fuzzers" = xmemory])
  AC_SUBST([FUZZER_LIBS])])
