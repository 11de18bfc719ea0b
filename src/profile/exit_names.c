/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of exits; see exit_names.h. Sources: AMD APM vol. 2 appendix C (SVM exit codes); Intel SDM
 * vol. 3 appendix C (VMX basic exit reasons); Xen 4.17 public/trace.h, public/xen.h (hypercalls).
 */
#include "config.h"

#include "xtop/profile/exit_names.h"

#include <stdio.h>

struct exit_word {
	uint32_t number;
	const char *word;
};

/* clang-format off */
static const struct exit_word svm_codes[] = {
	{ 0x60, "external interrupt" }, { 0x61, "NMI" },      { 0x62, "SMI" },
	{ 0x64, "interrupt window" },   { 0x65, "CR0 write" }, { 0x6e, "RDTSC" },
	{ 0x6f, "RDPMC" },              { 0x72, "CPUID" },    { 0x74, "IRET" },
	{ 0x76, "INVD" },               { 0x77, "PAUSE" },    { 0x78, "HLT" },
	{ 0x79, "INVLPG" },             { 0x7a, "INVLPGA" },  { 0x7b, "I/O port" },
	{ 0x7c, "MSR" },                { 0x7d, "task switch" }, { 0x7f, "shutdown" },
	{ 0x80, "VMRUN" },              { 0x81, "VMMCALL" },  { 0x87, "RDTSCP" },
	{ 0x88, "ICEBP" },              { 0x89, "WBINVD" },   { 0x8a, "MONITOR" },
	{ 0x8b, "MWAIT" },              { 0x8d, "XSETBV" },   { 0x400, "NPT fault" },
};

static const struct exit_word vmx_codes[] = {
	{ 0, "exception or NMI" }, { 1, "external interrupt" }, { 2, "triple fault" },
	{ 7, "interrupt window" }, { 8, "NMI window" },         { 9, "task switch" },
	{ 10, "CPUID" },           { 12, "HLT" },               { 13, "INVD" },
	{ 14, "INVLPG" },          { 15, "RDPMC" },             { 16, "RDTSC" },
	{ 18, "VMCALL" },          { 28, "control register" },  { 29, "debug register" },
	{ 30, "I/O port" },        { 31, "MSR read" },          { 32, "MSR write" },
	{ 36, "MWAIT" },           { 37, "monitor trap" },      { 39, "MONITOR" },
	{ 40, "PAUSE" },           { 43, "TPR below threshold" }, { 44, "APIC access" },
	{ 45, "virtualized EOI" }, { 48, "EPT fault" },         { 49, "EPT misconfiguration" },
	{ 51, "RDTSCP" },          { 52, "preemption timer" },  { 54, "WBINVD" },
	{ 55, "XSETBV" },          { 56, "APIC write" },
};

static const struct exit_word pv_events[] = {
	{ 0x201001, "hypercall" },         { 0x201003, "trap" },
	{ 0x201004, "page fault" },        { 0x201005, "forced invalid opcode" },
	{ 0x201006, "emulated instruction" }, { 0x201007, "4 GiB segment" },
	{ 0x201008, "FPU state" },         { 0x201009, "paging fixup" },
	{ 0x20100a, "GDT or LDT fault" },  { 0x20100b, "page-table write" },
	{ 0x20100c, "page-table write" },  { 0x20100d, "hypercall" },
};

/* Handlers whose record says more than the exit's code. That of HLT does not. */
static const struct exit_word handlers[] = {
	{ 0x82008, "CR read" },        { 0x82009, "CR write" },   { 0x8200c, "MSR read" },
	{ 0x8200d, "MSR write" },      { 0x8200e, "CPUID leaf" }, { 0x8200f, "external interrupt" },
	{ 0x82012, "VMMCALL" },        { 0x82016, "I/O port read" },
	{ 0x82017, "device memory read" },                        { 0x82023, "exception" },
	{ 0x82216, "I/O port write" }, { 0x82217, "device memory write" },
};

static const struct exit_word hypercalls[] = {
	{ 0, "set_trap_table" },      { 1, "mmu_update" },       { 2, "set_gdt" },
	{ 3, "stack_switch" },        { 4, "set_callbacks" },    { 5, "fpu_taskswitch" },
	{ 7, "platform_op" },         { 8, "set_debugreg" },     { 9, "get_debugreg" },
	{ 10, "update_descriptor" },  { 12, "memory_op" },       { 13, "multicall" },
	{ 14, "update_va_mapping" },  { 15, "set_timer_op" },    { 17, "xen_version" },
	{ 18, "console_io" },         { 20, "grant_table_op" },  { 21, "vm_assist" },
	{ 23, "iret" },               { 24, "vcpu_op" },         { 25, "set_segment_base" },
	{ 26, "mmuext_op" },          { 27, "xsm_op" },          { 28, "nmi_op" },
	{ 29, "sched_op" },           { 30, "callback_op" },     { 31, "xenoprof_op" },
	{ 32, "event_channel_op" },   { 33, "physdev_op" },      { 34, "hvm_op" },
	{ 35, "sysctl" },             { 36, "domctl" },          { 38, "tmem_op" },
	{ 39, "argo_op" },            { 40, "xenpmu_op" },       { 41, "dm_op" },
};

static const struct exit_word msrs[] = {
	{ 0x10, "TSC" },            { 0x1b, "APIC_BASE" },       { 0x3a, "FEATURE_CONTROL" },
	{ 0x3b, "TSC_ADJUST" },     { 0x48, "SPEC_CTRL" },       { 0x49, "PRED_CMD" },
	{ 0x6e0, "TSC_DEADLINE" },  { 0x808, "APIC_TPR" },       { 0x80b, "APIC_EOI" },
	{ 0x830, "APIC_ICR" },      { 0x832, "APIC_LVTT" },      { 0x838, "APIC_TMICT" },
	{ 0x839, "APIC_TMCCT" },    { 0x83f, "APIC_SELF_IPI" },  { 0x277, "PAT" },
	{ 0xc0000080, "EFER" },     { 0xc0000081, "STAR" },      { 0xc0000082, "LSTAR" },
	{ 0xc0000084, "SYSCALL_MASK" }, { 0xc0000100, "FS_BASE" }, { 0xc0000101, "GS_BASE" },
	{ 0xc0000102, "KERNEL_GS_BASE" }, { 0xc0000103, "TSC_AUX" },
};
/* clang-format on */

#define EXIT_FIND(words, number) exit_find(words, sizeof(words) / sizeof((words)[0]), number)

static const char *exit_find(const struct exit_word *words, size_t n, uint32_t number)
{
	for (size_t i = 0; i < n; i++)
		if (words[i].number == number)
			return words[i].word;
	return NULL;
}

bool exit_handler_has_name(uint32_t event)
{
	return EXIT_FIND(handlers, event);
}

static void exit_name_code(const struct exit_reason *reason, char text[EXIT_NAME_BYTES])
{
	static const char *const kinds[] = { "SVM exit", "VMX exit", "PV entry" };
	const char *name = reason->kind == EXIT_SVM   ? EXIT_FIND(svm_codes, reason->code)
			   : reason->kind == EXIT_VMX ? EXIT_FIND(vmx_codes, reason->code)
						      : EXIT_FIND(pv_events, reason->code);

	if (name)
		snprintf(text, EXIT_NAME_BYTES, "%s", name);
	else if (reason->kind == EXIT_SVM && reason->code < 0x20)
		snprintf(text, EXIT_NAME_BYTES, "CR%u %s", reason->code % 16,
			 reason->code < 0x10 ? "read" : "write");
	else if (reason->kind == EXIT_SVM && reason->code >= 0x40 && reason->code < 0x60)
		snprintf(text, EXIT_NAME_BYTES, "exception %u", reason->code - 0x40);
	else
		snprintf(text, EXIT_NAME_BYTES, "%s %#x", kinds[reason->kind % 3], reason->code);
}

/* The name of the detail: of an MSR, of a hypercall. NULL: it has none. */
static const char *exit_find_detail(const struct exit_reason *reason)
{
	if (reason->handler == 0x8200c || reason->handler == 0x8200d)
		return EXIT_FIND(msrs, reason->detail);
	if (reason->handler == 0x82012 || reason->code == 0x20100d)
		return EXIT_FIND(hypercalls, reason->detail);
	return NULL;
}

const char *exit_name(const struct exit_reason *reason, char text[EXIT_NAME_BYTES])
{
	const char *handler = EXIT_FIND(handlers, reason->handler);
	const char *detail;
	char base[EXIT_NAME_BYTES];

	if (handler)
		snprintf(base, sizeof(base), "%s", handler);
	else
		exit_name_code(reason, base);
	detail = reason->detail != EXIT_NO_DETAIL ? exit_find_detail(reason) : NULL;
	if (reason->detail == EXIT_NO_DETAIL)
		snprintf(text, EXIT_NAME_BYTES, "%s", base);
	else if (detail && reason->handler != 0x8200c && reason->handler != 0x8200d)
		snprintf(text, EXIT_NAME_BYTES, "%.30s %s", base, detail);
	else
		snprintf(text, EXIT_NAME_BYTES, "%.30s %#x%s%s", base, reason->detail,
			 detail ? " " : "", detail ? detail : "");
	return text;
}

struct exits_weight exits_sum(const struct exits_table *table, bool totals)
{
	struct exits_weight sum = { 0 };

	for (size_t i = 0; i < table->n_rows; i++) {
		const struct exits_weight *weight =
			exits_weight_of(&table->rows[i].live, &table->rows[i].total, totals);

		sum.count += weight->count;
		sum.ns += weight->ns;
	}
	return sum;
}

double exits_span_ns(const struct exits_table *table, bool totals)
{
	double span_ns = totals ? table->span_ns : table->live_span_ns;

	return span_ns > 1 ? span_ns : 1;
}
