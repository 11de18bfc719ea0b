# SPDX-License-Identifier: GPL-2.0-or-later
# Facts on which this depends: Xen's public headers describe the registers of the machine that they
# are compiled for, and Debian's libunwind unwinds code of that machine only. Everything else is
# compiled for all architectures, and chosen when xtop runs, by the guest.

AC_DEFUN([XTOP_HOST], [
  AC_CANONICAL_HOST
  AS_CASE([$host_cpu],
    [x86_64], [xtop_host=x86 xtop_arch=ARCH_X86],
    [aarch64], [xtop_host=arm64 xtop_arch=ARCH_ARM64],
    [AC_MSG_ERROR([xtop runs on x86_64 and aarch64, and this is $host_cpu])])
  AC_DEFINE_UNQUOTED([XEN_GUEST_HEADER], ["xen/guest_$xtop_host.h"],
    [What xen/ knows of the guests of this machine])
  AC_DEFINE_UNQUOTED([HOST_ARCH], [$xtop_arch], [enum guest_arch of this machine])
  AC_CHECK_TOOL([OBJCOPY], [objcopy])
  # For a guest of 32 bits on arm64 alone: clang makes code of every machine.
  AC_CHECK_PROG([CLANG], [clang], [clang])
  AM_CONDITIONAL([HAVE_CLANG], [test -n "$CLANG"])
  AM_CONDITIONAL([HOST_X86], [test $xtop_host = x86])])
