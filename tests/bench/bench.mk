# SPDX-License-Identifier: GPL-2.0-or-later
# Benchmarks: `make bench` builds and runs them. The lab runs some of them, too, so these are always
# built.

bench_always = tests/bench/bench_copy tests/bench/bench_resolver
bench_on_demand = \
	tests/bench/bench_computed \
	tests/bench/bench_kernels \
	tests/bench/bench_key \
	tests/bench/bench_languages \
	tests/bench/bench_profile \
	tests/bench/bench_ring \
	tests/bench/bench_screen \
	tests/bench/bench_sleepers \
	tests/bench/bench_symbol \
	tests/bench/bench_unwind \
	tests/bench/bench_unwind_cfi \
	tests/bench/bench_unwind_recorded \
	tests/bench/compare_orc \
	tests/bench/push_hosts
noinst_PROGRAMS += $(bench_always)
EXTRA_PROGRAMS += $(bench_on_demand)
CLEANFILES += $(bench_on_demand)
tests_bench_bench_unwind_cfi_SOURCES = tests/bench/bench_unwind_cfi.c $(STACKS)

bench: $(bench_always) $(bench_on_demand)
	@export srcdir='$(srcdir)'; for program in $(bench_on_demand) $(bench_always); do \
		echo "== $$program"; ./$$program || exit; done
	@echo "== tests/bench/files"; $(srcdir)/tests/bench/files
.PHONY: bench
EXTRA_DIST += tests/bench/files

if WITH_XEN
noinst_PROGRAMS += tests/bench/attach tests/bench/first_screen tests/bench/floor tests/bench/tick \
	tests/bench/torn tests/bench/turns
tests_bench_first_screen_LDADD =
tests_bench_turns_LDADD =
tests_bench_floor_LDADD = $(XENCALL_LIBS)
endif
