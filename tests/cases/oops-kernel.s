# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel of both oopses: each function has the size that they say, and the place inside.
	.text
	.macro function name, size_bytes
	.globl \name
	.type \name, @function
\name:
	nop
	.size \name, \size_bytes
	.skip 0xf, 0x90
	.endm

	.org 0x360, 0x90
	function alloc_p2m, 0x270
	hlt # the place in oops-two-addresses.txt
	.skip 0x25f, 0x90

	function _RNvXs_NtNtCs3yuwAp0waWO_6kernel4sync3arcINtB5_3ArcNtNtCs7yuwAp0waWO_11rust_binder7process7ProcessENtNtNtCsabcdefghi_4core3ops4drop4Drop4drop, 0x80
	hlt # the place in oops-long-symbol.txt
	.skip 0x6f, 0x90
