# SPDX-License-Identifier: GPL-2.0-or-later
# Unit tests: one program for each source file. They print TAP. Each is linked with tests/support.

LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
AM_TESTS_ENVIRONMENT = top_srcdir='$(top_srcdir)' top_builddir='$(top_builddir)'; \
	export top_srcdir top_builddir;
# What tests/check compiles tests with, but not what they test.
tests/%.o: override CFLAGS += $(TEST_CFLAGS)
# Those that take longest begin first, here and in check_PROGRAMS. At the end `make -j` then waits for none of them.
TESTS = $(STEPPED_TESTS) $(QUICK_TESTS)
# Programs that run step by step, on another architecture or on an older Linux take 15 to 33 s of CPU
# time each. tests/check --quick leaves them out.
STEPPED_TESTS = tests/cli/old-linux tests/cli/cases tests/unwind/arm64 tests/unwind/protected tests/unwind/steps
QUICK_TESTS = tests/symbol/stubs tests/cli/metrics tests/cli/json tests/cli/push tests/cli/diff \
	$(check_PROGRAMS) tests/rules tests/cli/completion tests/cli/errors tests/cli/example tests/cli/libraries tests/cli/lines \
	tests/cli/profile tests/cli/replay tests/cli/rights tests/cli/service
LDADD = tests/support/libsupport.a libxtop.a $(XTOP_LIBS)

# Made-up guests, memory and tables. The lab's programs use some of them, too.
noinst_LIBRARIES += tests/support/libsupport.a
tests_support_libsupport_a_SOURCES = \
	tests/support/dump_memory.c \
	tests/support/fetched_file.c \
	tests/support/exported.h tests/support/fetched_file.h \
	tests/support/read_profile.h \
	tests/support/old_landlock.c \
	tests/support/old_landlock.h \
	tests/support/http_server.c \
	tests/support/live_memory.c \
	tests/support/live_process.c \
	tests/support/tape.c \
	tests/support/tape.h \
	tests/support/live_stack.c \
	tests/support/made_go_thread.c \
	tests/support/made_arm32.c \
	tests/support/made_arm32.h \
	tests/support/made_i386.c \
	tests/support/made_files.c \
	tests/support/made_linux.c \
	tests/support/made_memory.c \
	tests/support/made_module_i386.c \
	tests/support/made_process_i386.c \
	tests/support/made_task_i386.c \
	tests/support/make_btf.c \
	tests/support/make_go.c \
	tests/support/make_kallsyms.c \
	tests/support/memory_guest.c \
	tests/support/vt.c

# Files for the archive of `make dist`, besides the sources of programs.
EXTRA_DIST += tests/recordings/sizes $(addprefix tests/recordings/example/,make squeeze) tests/demo tests/check tests/analyze tests/mutants tests/hardware tests/packaging tests/packaging-rpm tests/static tests/push_service tests/cross tests/musl tests/support/unlimited.c tests/support/glibc_names.c tests/examples tests/rules \
	$(wildcard $(srcdir)/tests/*/*.h $(srcdir)/tests/*/*/*.h $(srcdir)/tests/*/*.golden $(srcdir)/tests/*/*/*.golden) \
	tests/readers/run tests/readers/work.go $(wildcard $(srcdir)/tests/readers/*.js) \
	$(addprefix tests/cli/,tap.sh cases completion diff errors example json libraries lines metrics old-linux profile push replay rights service) \
	$(wildcard $(srcdir)/tests/cases/*) tests/metrics/alerts.test.yml tests/push/profile.proto tests/push/otlp.proto tests/push/otlp_folded.awk \
	tests/language/Churn.java tests/language/Loops.java tests/language/Work.java tests/language/tapes tests/unwind/arm64 tests/unwind/protected tests/symbol/stubs tests/unwind/steps tests/unwind/steps_context.c tests/unwind/steps_ends.c tests/unwind/steps_work.c tests/unwind/steps_work.cc tests/unwind/steps_work.go tests/unwind/steps_work.rs tests/unwind/computed.sh tests/unwind/recorded/tiny-nofp.rec tests/unwind/recorded/tiny-nofp.elf

# The first two write recordings of made-up guests, on which tests/cli runs xtop; the third a profile
# in each format, which tests/readers opens with the programs that read them; the fourth what tests/cli
# compares with doc/waits.schema.json and doc/waits-diff.schema.json.
noinst_PROGRAMS += tests/recordings/record tests/recordings/workload tests/readers/profiles \
	tests/export/waits_lines

# What tests/unwind/steps runs programs by.
noinst_PROGRAMS += tests/unwind/step tests/unwind/step_arm64
tests_unwind_step_SOURCES = tests/unwind/step.c tests/unwind/step_shadow.c tests/unwind/step_shadow.h

# What tests/symbol/stubs asks for names.
noinst_PROGRAMS += tests/symbol/stub_names

# The server that tests/cli/push starts.
noinst_PROGRAMS += tests/push/server

# tests/cli/old-linux runs programs by the first; the second shows what the first refuses.
noinst_PROGRAMS += tests/support/old_linux tests/support/newer_calls
tests_support_old_linux_LDADD =
tests_support_newer_calls_LDADD =

# lines_of is for tests/lines/compare; inlined has the DWARF that tests read.
noinst_PROGRAMS += tests/lines/lines_of tests/lines/inlined
tests_lines_inlined_CFLAGS = -g -O2
tests_lines_inlined_LDADD =
EXTRA_DIST += tests/lines/compare tests/lines/programs tests/lines/words.cc tests/lines/words.rs tests/lines/lambda.cc \
	tests/bench/resolver_lines tests/unwind/live_text

# A clock that is made up replaces libc's, so it is no part of libsupport.a.
MADE_CLOCK = tests/support/made_clock.c tests/support/made_clock.h
tests_service_test_all_room_SOURCES = tests/service/test_all_room.c $(MADE_CLOCK)
tests_sample_test_weights_SOURCES = tests/sample/test_weights.c tests/sample/weights_guest.h $(MADE_CLOCK)
# The tests of the sampler share a guest in memory.
SAMPLER_FIXTURE = tests/sample/sampler_fixture.c tests/sample/sampler_fixture.h $(MADE_CLOCK)
tests_sample_test_sampler_SOURCES = tests/sample/test_sampler.c $(SAMPLER_FIXTURE)
tests_sample_test_sampler_budget_SOURCES = tests/sample/test_sampler_budget.c $(SAMPLER_FIXTURE)
tests_sample_test_sampler_life_SOURCES = tests/sample/test_sampler_life.c $(SAMPLER_FIXTURE)
tests_sample_test_sampler_linux_SOURCES = tests/sample/test_sampler_linux.c $(SAMPLER_FIXTURE)
tests_sample_test_sampler_ring_SOURCES = tests/sample/test_sampler_ring.c $(SAMPLER_FIXTURE)
tests_sample_test_sampler_waiting_SOURCES = tests/sample/test_sampler_waiting.c $(SAMPLER_FIXTURE)

# The tests of the broker share a made-up Xen.
BROKER_FIXTURE = tests/supervise/broker_fixture.c tests/supervise/broker_fixture.h
tests_supervise_test_broker_SOURCES = tests/supervise/test_broker.c $(BROKER_FIXTURE)
tests_supervise_test_broker_hostile_SOURCES = tests/supervise/test_broker_hostile.c $(BROKER_FIXTURE)
tests_supervise_test_broker_modes_SOURCES = tests/supervise/test_broker_modes.c $(BROKER_FIXTURE)
tests_supervise_test_starter_SOURCES = tests/supervise/test_starter.c $(BROKER_FIXTURE)
tests_supervise_test_broker_output_SOURCES = tests/supervise/test_broker_output.c $(BROKER_FIXTURE)

# Two tests compare the readers of ELF files.
ELF_CONTENTS = tests/elf/elf_contents.c tests/elf/elf_contents.h
tests_elf_test_elf_host_SOURCES = tests/elf/test_elf_host.c $(ELF_CONTENTS)
tests_elf_test_elf_host_refused_SOURCES = tests/elf/test_elf_host_refused.c $(ELF_CONTENTS)

# The tests of the guard share a made-up Xen and a sampler that ends in many ways.
GUARD_FIXTURE = tests/supervise/guard_fixture.c tests/supervise/guard_fixture.h
tests_supervise_test_guard_SOURCES = tests/supervise/test_guard.c $(GUARD_FIXTURE)
tests_supervise_test_guard_killed_SOURCES = tests/supervise/test_guard_killed.c $(GUARD_FIXTURE)
tests_supervise_test_guard_restarts_SOURCES = tests/supervise/test_guard_restarts.c $(GUARD_FIXTURE)
MADE_XEN = tests/pipeline/made_xen.c tests/pipeline/made_xen.h
tests_pipeline_test_pipeline_SOURCES = tests/pipeline/test_pipeline.c $(MADE_XEN)
tests_pipeline_test_kills_SOURCES = tests/pipeline/test_kills.c $(MADE_XEN)

# The tests of the sandbox share a child that tries one thing in it.
SANDBOX_FIXTURE = tests/supervise/sandbox_fixture.c tests/supervise/sandbox_fixture.h
tests_supervise_test_sandbox_SOURCES = tests/supervise/test_sandbox.c $(SANDBOX_FIXTURE)
tests_supervise_test_sandbox_allowed_SOURCES = tests/supervise/test_sandbox_allowed.c $(SANDBOX_FIXTURE)
tests_supervise_test_sandbox_status_SOURCES = tests/supervise/test_sandbox_status.c tests/supervise/enter_walls.h \
	$(SANDBOX_FIXTURE)

# test_seh_runs runs the functions of a PE image, one instruction at a time.
tests_windows_test_seh_runs_SOURCES = tests/windows/test_seh_runs.c tests/windows/steps.c
EXTRA_DIST += tests/windows/made.c tests/windows/made.dll

check_PROGRAMS = \
	tests/symbol/test_go_program \
	tests/screens/test_soak \
	tests/sample/test_weights \
	tests/push/test_push \
	tests/ui/test_terminal \
	tests/linux/kernel/test_kallsyms \
	tests/linux/kernel/test_kallsyms_damage \
	tests/pipeline/test_reattach \
	tests/screens/test_day
if WITH_XEN
check_PROGRAMS += \
	tests/xen/test_store \
	tests/supervise/test_broker \
	tests/supervise/test_broker_hostile \
	tests/supervise/test_broker_modes \
	tests/supervise/test_broker_output \
	tests/supervise/test_fetch \
	tests/supervise/test_guard \
	tests/supervise/test_guard_killed \
	tests/supervise/test_guard_restarts \
	tests/supervise/test_pause_record \
	tests/pipeline/test_pipeline \
	tests/pipeline/test_kills
endif
check_PROGRAMS += \
	tests/base/test_cache_folder \
	tests/base/test_clocks \
	tests/base/test_disk_room \
	tests/base/test_error \
	tests/base/test_fault \
	tests/base/test_hash \
	tests/base/test_heap \
	tests/base/test_inputs \
	tests/base/test_output \
	tests/base/test_output_named \
	tests/base/test_proto \
	tests/base/test_root_file \
	tests/base/test_shared_array \
	tests/base/test_sorted \
	tests/base/test_text \
	tests/base/test_unpack \
	tests/base/test_utf8 \
	tests/base/test_varint \
	tests/base/test_work \
	tests/memory/test_frame_cache \
	tests/memory/test_frame_cache_pages \
	tests/memory/test_mapped_pages \
	tests/memory/test_dump_memory \
	tests/memory/test_memory \
	tests/memory/test_walk_arm32 \
	tests/memory/test_walk_arm64 \
	tests/memory/test_walk_x86 \
	tests/language/test_churn \
	tests/language/test_crash_program \
	tests/language/test_java \
	tests/language/test_perl \
	tests/language/test_php \
	tests/language/test_python \
	tests/language/test_ruby \
	tests/language/test_recorded_lines \
	tests/language/test_source \
	tests/language/test_tapes \
	tests/language/test_v8 \
	tests/sample/test_budget \
	tests/sample/test_control \
	tests/sample/test_copy \
	tests/sample/test_copy_arm64 \
	tests/sample/test_copy_arm64_programs \
	tests/sample/test_copy_arm32 \
	tests/sample/test_copy_i386 \
	tests/sample/test_copy_go \
	tests/sample/test_copy_list \
	tests/sample/test_copy_linux \
	tests/sample/test_copy_linux_lies \
	tests/sample/test_copy_linux_switch \
	tests/sample/test_deadline \
	tests/sample/test_ring \
	tests/sample/test_run_time \
	tests/sample/test_takers \
	tests/sample/test_sample \
	tests/sample/test_sampler \
	tests/sample/test_sampler_budget \
	tests/sample/test_sampler_life \
	tests/sample/test_sampler_linux \
	tests/sample/test_sampler_ring \
	tests/sample/test_sampler_waiting \
	tests/sample/test_crash_sampler \
	tests/service/test_all_guests \
	tests/service/test_all_room \
	tests/service/test_host_budget \
	tests/metrics/test_metrics \
	tests/push/test_otlp \
	tests/push/test_queue \
	tests/supervise/test_helper_ends \
	tests/supervise/test_helper \
	tests/supervise/test_sender \
	tests/supervise/test_root_sandbox \
	tests/supervise/test_opener \
	tests/supervise/test_starter \
	tests/supervise/test_calls \
	tests/supervise/test_landlock \
	tests/supervise/test_sandbox \
	tests/supervise/test_sandbox_allowed \
	tests/supervise/test_sandbox_status \
	tests/supervise/test_caller \
	tests/supervise/test_line_server \
	tests/supervise/test_unpause \
	tests/elf/test_elf_class \
	tests/supervise/test_watch \
	tests/elf/test_elf_compressed \
	tests/elf/test_elf_host \
	tests/elf/test_elf_host_refused \
	tests/elf/test_elf_lines \
	tests/elf/test_elf_main \
	tests/elf/test_elf_package \
	tests/elf/test_elf_segments \
	tests/unwind/test_cfi \
	tests/unwind/test_cfi_entries \
	tests/unwind/test_cfi_steps \
	tests/unwind/test_cfi_arm64 \
	tests/unwind/test_call_targets \
	tests/unwind/test_call_targets_made \
	tests/unwind/test_computed_arm64 \
	tests/unwind/test_computed_bounds \
	tests/unwind/test_computed_parts \
	tests/unwind/test_computed_rows \
	tests/unwind/test_i386 \
	tests/unwind/test_instruction \
	tests/unwind/test_instruction_arm64 \
	tests/unwind/test_disassemble \
	tests/unwind/test_disassemble_arm64 \
	tests/unwind/test_fp \
	tests/unwind/test_eh_return \
	tests/unwind/test_entry_arm64 \
	tests/unwind/test_entry_jumps \
	tests/unwind/test_fp_i386 \
	tests/unwind/test_entry_arm32 \
	tests/unwind/test_exidx \
	tests/unwind/test_frames_arm32 \
	tests/unwind/test_fp_arm32 \
	tests/unwind/test_fp_arm64 \
	tests/unwind/test_links_arm32 \
	tests/unwind/test_go \
	tests/unwind/test_go_switch \
	tests/unwind/test_go_switch_arm64 \
	tests/unwind/test_orc \
	tests/unwind/test_orc_pack \
	tests/unwind/test_rows_of_functions \
	tests/unwind/test_unwind \
	tests/unwind/test_signal_frames \
	tests/unwind/test_unwind_special \
	tests/unwind/test_unwind_user \
	tests/unwind/test_way_out \
	tests/symbol/test_alias \
	tests/symbol/test_demangle \
	tests/symbol/test_elf_orc_x86 \
	tests/symbol/test_elf_symtab \
	tests/symbol/test_elf_tables \
	tests/symbol/test_debugdata \
	tests/symbol/test_hypercall_page \
	tests/symbol/test_image_elf \
	tests/symbol/test_image_parts \
	tests/symbol/test_nm \
	tests/symbol/test_space \
	tests/symbol/test_symbols \
	tests/symbol/test_symtab \
	tests/recording/test_page_mirror \
	tests/recording/test_recorded_memory \
	tests/recording/test_recording \
	tests/recording/test_recording_damage \
	tests/recording/test_recording_versions \
	tests/recording/test_replay \
	tests/recording/test_tables \
	tests/linux/kernel/test_arch_arm64 \
	tests/linux/kernel/test_btf \
	tests/linux/kernel/test_data_names \
	tests/linux/kernel/test_generated_code \
	tests/linux/kernel/test_guest_clock \
	tests/linux/kernel/test_hypercalls \
	tests/linux/kernel/test_kallsyms_probe \
	tests/linux/kernel/test_kernel_cache \
	tests/linux/kernel/test_kernel_image \
	tests/linux/kernel/test_kernel_image_i386 \
	tests/linux/kernel/test_kernel_log \
	tests/linux/kernel/test_kernel_types \
	tests/linux/kernel/test_layout \
	tests/linux/kernel/test_linux_attach \
	tests/linux/kernel/test_search \
	tests/linux/kernel/test_search_arm64 \
	tests/linux/kernel/test_search_arm32 \
	tests/linux/kernel/test_search_i386 \
	tests/linux/kernel/test_modules \
	tests/linux/kernel/test_modules_i386 \
	tests/linux/kernel/test_modules_limits \
	tests/linux/kernel/test_oops \
	tests/linux/process/test_code_pages \
	tests/linux/process/test_debug_files \
	tests/linux/process/test_dwz_files \
	tests/linux/process/test_guest_code \
	tests/linux/process/test_guest_file \
	tests/linux/process/test_cgroup \
	tests/linux/process/test_code_by_frame \
	tests/linux/process/test_code_file_sources \
	tests/linux/process/test_code_files \
	tests/linux/process/test_memory_budget \
	tests/linux/process/test_past_task \
	tests/linux/process/test_page_cache \
	tests/linux/process/test_page_sizes \
	tests/linux/process/test_path \
	tests/linux/process/test_script \
	tests/linux/process/test_jit_names \
	tests/linux/process/test_perf_map \
	tests/linux/process/test_process_layout \
	tests/linux/process/test_process_notes \
	tests/linux/process/test_process_code \
	tests/linux/process/test_processes \
	tests/linux/process/test_processes_retry \
	tests/linux/process/test_tasks \
	tests/linux/process/test_sleeper_arch \
	tests/linux/process/test_task_stacks \
	tests/linux/process/test_vmas \
	tests/linux/test_task_finder \
	tests/linux/test_lock_finder \
	tests/linux/test_lock_futex \
	tests/linux/test_lock_holders \
	tests/linux/test_lock_name \
	tests/linux/test_event_channels \
	tests/linux/test_kernel_debug_files \
	tests/linux/test_module_files \
	tests/linux/test_next_timer \
	tests/linux/test_sleepers \
	tests/linux/test_sleepers_i386 \
	tests/os/test_os \
	tests/windows/test_pe \
	tests/windows/test_seh \
	tests/windows/test_windows \
	tests/elf_kernel/test_elf_kernel \
	tests/profile/test_addresses \
	tests/profile/test_batches \
	tests/profile/test_crash \
	tests/profile/test_exits \
	tests/profile/test_exit_waits \
	tests/profile/test_frames \
	tests/profile/test_names \
	tests/profile/test_profile \
	tests/profile/test_registers_text \
	tests/profile/test_resolver \
	tests/profile/test_resolver_end \
	tests/profile/test_resolver_learning \
	tests/profile/test_exit_places \
	tests/profile/test_resolver_host \
	tests/profile/test_resolver_ahead \
	tests/profile/test_resolver_notes \
	tests/profile/test_resolver_thread \
	tests/profile/test_sample_log \
	tests/profile/test_annotated_lines \
	tests/profile/test_seen_code \
	tests/profile/test_snapshot \
	tests/profile/test_translate \
	tests/profile/test_unknown \
	tests/profile/test_wait_locks \
	tests/profile/test_wait_rows \
	tests/profile/test_wait_sites \
	tests/profile/test_wait_profile \
	tests/profile/test_wait_stacks \
	tests/profile/test_xen_rows \
	tests/import/test_formats \
	tests/import/test_labels_and_names \
	tests/import/test_import \
	tests/import/test_large \
	tests/import/test_strange \
	tests/query/test_call_tree \
	tests/query/test_columns \
	tests/query/test_counters \
	tests/query/test_exits_profile \
	tests/query/test_filter \
	tests/query/test_flame \
	tests/query/test_functions \
	tests/query/test_groups \
	tests/query/test_history \
	tests/query/test_history_exits \
	tests/query/test_hypercalls \
	tests/query/test_instructions \
	tests/query/test_interval \
	tests/query/test_margin \
	tests/query/test_line_expander \
	tests/query/test_locks \
	tests/query/test_takers_advice \
	tests/query/test_takers_sum \
	tests/query/test_neighbours \
	tests/query/test_pass_through \
	tests/query/test_selection \
	tests/query/test_waits \
	tests/query/test_weighted \
	tests/export/test_annotate \
	tests/export/test_batch \
	tests/export/test_folded \
	tests/export/test_perf \
	tests/export/test_picture \
	tests/export/test_pprof \
	tests/export/test_speedscope \
	tests/export/test_forged \
	tests/export/test_stats \
	tests/export/test_table \
	tests/export/test_waits \
	tests/ui/test_canvas \
	tests/ui/test_keys \
	tests/ui/test_rc \
	tests/ui/test_recent \
	tests/ui/test_shares \
	tests/screens/test_annotate \
	tests/screens/test_crash \
	tests/screens/test_sources \
	tests/screens/test_folded \
	tests/screens/test_host \
	tests/screens/test_hostile \
	tests/screens/test_pair \
	tests/screens/test_range \
	tests/screens/test_profile \
	tests/screens/test_prompts \
	tests/screens/test_replay_source \
	tests/screens/test_screens \
	tests/screens/test_throttled \
	tests/screens/test_values \
	tests/screens/test_views \
	tests/screens/test_waits \
	tests/screens/test_ways \
	tests/screens/test_domains \
	tests/screens/test_frozen \
	tests/screens/test_search \
	tests/lines/test_source_cache \
	tests/cli/test_hardened \
	tests/cli/test_option_lists \
	tests/cli/test_options
# With instructions of x86, its libunwind, kernels of the lab, or the registers that Xen gives there.
if HOST_X86
check_PROGRAMS += \
	tests/elf/test_elf_entries \
	tests/symbol/test_go_threads \
	tests/unwind/test_cfi_rows \
	tests/unwind/test_cfi_stacks \
	tests/unwind/test_computed \
	tests/unwind/test_dwarf \
	tests/unwind/test_first_code \
	tests/unwind/test_program_chains \
	tests/windows/test_seh_runs
if WITH_XEN
check_PROGRAMS += tests/xen/test_domctl tests/xen/test_domctl_stop
endif
else
if WITH_XEN
check_PROGRAMS += tests/xen/test_guest_arm64
endif
endif

DOMCTL_FIXTURE = tests/xen/domctl_fixture.c tests/xen/domctl_fixture.h
tests_xen_test_domctl_SOURCES = tests/xen/test_domctl.c $(DOMCTL_FIXTURE)
tests_xen_test_domctl_stop_SOURCES = tests/xen/test_domctl_stop.c $(DOMCTL_FIXTURE)

# Every release of Xen, with what its headers say of guests on this machine.
if WITH_XEN
check_PROGRAMS += tests/xen/test_domctl_abi tests/xen/test_foreign tests/xen/test_place
check_PROGRAMS += tests/xen/test_trace_buffers
endif
tests_xen_test_foreign_LDFLAGS = -Wl,--wrap=sysconf
tests_xen_test_domctl_abi_SOURCES = tests/xen/test_domctl_abi.c tests/xen/made_guest.h
if HOST_X86
tests_xen_test_domctl_abi_SOURCES += tests/xen/made_guest_x86.c
else
tests_xen_test_domctl_abi_SOURCES += tests/xen/made_guest_arm64.c
endif

# For test_store. Built without $(CFLAGS), because any build may load it.
tests/xen/made_store.so: tests/xen/made_store.c
	$(AM_V_GEN)$(MKDIR_P) tests/xen && $(CC) -std=gnu11 -O2 -Wall -Wextra -shared -fPIC -o $@ \
		$(srcdir)/tests/xen/made_store.c
check_DATA = tests/xen/made_store.so
EXTRA_DIST += tests/xen/made_store.c
CLEANFILES += tests/xen/made_store.so

# The lab runs this test, too, on its own recordings.
noinst_PROGRAMS += tests/unwind/test_cfi_recorded
if HOST_X86
TESTS += tests/unwind/test_cfi_recorded
endif

# Compiles the unit tests and links none: another compiler may warn of something.
check-objects: $(check_PROGRAMS:=.o)
.PHONY: check-objects

STACKS = tests/unwind/stacks.c
tests_unwind_test_computed_SOURCES = tests/unwind/test_computed.c $(STACKS)
tests_unwind_test_cfi_stacks_SOURCES = tests/unwind/test_cfi_stacks.c tests/unwind/work.S $(STACKS)
