/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layouts of kernels made by hand: members that moved or changed their names, in the form that each
 * version has (src/linux/kernel/layout.c cites the commits), at offsets of the test's own.
 */
#include "config.h"

#include "linux/kernel/layout.h"

#include <stdlib.h>

#include "tests/linux/kernel/kernel_structs.h"
#include "tests/support/make_btf.h"
#include "tests/support/tap.h"

struct expected {
	enum layout_member member;
	int32_t value;
};

static enum btf_result read_text(const char *text, struct layout *layout)
{
	struct make_btf *make = make_btf_create();
	enum btf_result result;
	uint8_t *blob;
	size_t bytes;

	make_btf_text(make, text);
	blob = make_btf_blob(make, &bytes);
	make_btf_destroy(make);
	result = layout_from_btf(blob, bytes, NULL, layout);
	free(blob);
	return result;
}

static void check_values(const char *what, const struct layout *layout,
			 const struct expected *expected, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		enum layout_member member = expected[i].member;

		check(layout->values[member] == expected[i].value,
		      "%s: member %zu of the list, of %s: %d (expected %d)", what, i,
		      layout_struct(member), layout->values[member], expected[i].value);
		if (layout_has(layout, member) != (expected[i].value >= 0))
			check(false, "layout_has() agrees with the member's value");
	}
}

#define CHECK_LAYOUT(what, text, ...)                                                              \
	do {                                                                                       \
		static const struct expected expected_[] = { __VA_ARGS__ };                        \
		struct layout layout_;                                                             \
		check(read_text(text, &layout_) == BTF_OK, "BTF is read: %s", what);               \
		check_values(what, &layout_, expected_, sizeof(expected_) / sizeof(*expected_));   \
	} while (0)

#define LIST "struct list_head 16 { ptr next @0; ptr prev @8; }"
#define LAYOUT_OLD_MODULE                                                                          \
	"struct module_layout 80 { ptr base @0; u32 size @8; u32 text_size @12; u32 ro_size @16; }"

static void test_5_2(void)
{
	CHECK_LAYOUT(
		"5.2",
		LIST LAYOUT_OLD_MODULE
		"struct task_struct 4000 { u64 state @16; ptr stack @24; ptr mm @1000;"
		"  u32 pid @1200; u32 self_exec_id @1500; u8 comm[16] @1600; }"
		"struct mm_struct 1100 { struct 1096 { ptr mmap @0; ptr pgd @80;"
		"  u32 map_count @100; } @0; u64 cpu_bitmap[0] @1096; }"
		"struct vm_area_struct 200 { u64 vm_start @0; u64 vm_end @8; ptr vm_next @16;"
		"  u64 vm_flags @80; }"
		"struct module 900 { u32 state @0; list_head list @8; u8 name[56] @24;"
		"  module_layout core_layout @320; module_layout init_layout @400; }"
		"struct timespec64 16 { u64 tv_sec @0; u64 tv_nsec @8; }"
		"struct inode 600 { timespec64 i_mtime @104; timespec64 i_ctime @120; }"
		"struct orc_entry 6 { u16 sp_offset @0; u16 bp_offset @2; u32 sp_reg @4.0:4;"
		"  u32 bp_reg @4.4:4; u32 type @4.8:2; u32 end @4.10:1; }"
		"struct pt_regs 168 { u64 ip @128; u64 cs @136; }",
		{ TASK_STACK, 24 }, { TASK_MM, 1000 }, { TASK_PID, 1200 }, { TASK_COMM, 1600 },
		{ TASK_SELF_EXEC_ID, 1500 }, { MM_MMAP, 0 }, { MM_MT, -1 }, { MM_PGD, 80 },
		{ MM_MAP_COUNT, 100 }, { MM_LOCK_SEQ, -1 }, { VMA_NEXT, 16 }, { VMA_FLAGS, 80 },
		{ MAPLE_ROOT, -1 }, { MODULE_CORE_BASE, 320 }, { MODULE_CORE_TEXT_SIZE, 332 },
		{ MODULE_MEM, -1 }, { INODE_MTIME_SEC, 104 }, { INODE_MTIME_NSEC, 112 },
		{ ORC_TYPE_BITS, 40 }, { ORC_TYPE_WIDTH, 2 }, { ORC_END_BITS, 42 },
		{ ORC_SIGNAL_BITS, -1 }, { FOLIO_INDEX, -1 }, { PT_REGS_SIZEOF, 168 },
		{ PCPU_HOT_CURRENT, -1 });
}

static void test_5_10(void)
{
	CHECK_LAYOUT("5.10",
		     LIST "struct bpf_ksym 300 { u64 start @0; u64 end @8; u8 name[128] @16;"
			  "  list_head lnode @144; u8 prog @256; }"
			  "struct page 64 { u64 flags @0; union 40 {"
			  "  struct 40 { list_head lru @0; ptr mapping @16; u64 index @24; } @0;"
			  "  struct 40 { u64 dma_addr @0; } @0; } @8; u32 _refcount @52; }",
		     { BPF_KSYM_NAME, 16 }, { BPF_KSYM_LIST, 144 }, { PAGE_SIZEOF, 64 },
		     { PAGE_INDEX, 32 }, { FOLIO_INDEX, -1 });
}

#define LAYOUT_MAPLE                                                                               \
	"struct maple_tree 16 { union 4 { u32 ma_lock @0; } @0; u32 ma_flags @4;"                  \
	"  ptr ma_root @8; }"                                                                      \
	"struct maple_range_64 256 { ptr parent @0; u64 pivot[15] @8; union 128 {"                 \
	"  ptr slot[16] @0; struct 128 { ptr pad[15] @0; u16 meta @120; } @0; } @128; }"           \
	"struct maple_arange_64 240 { ptr parent @0; u64 pivot[9] @8; ptr slot[10] @80;"           \
	"  u64 gap[10] @160; }"                                                                    \
	"struct maple_node 256 { union 256 { struct 256 { ptr parent @0; ptr slot[31] @8; } @0;"   \
	"  maple_range_64 mr64 @0; maple_arange_64 ma64 @0; } @0; }"

static void test_6_1(void)
{
	CHECK_LAYOUT(
		"6.1",
		LIST LAYOUT_MAPLE LAYOUT_OLD_MODULE
		"struct mm_struct 1100 { struct 1096 { maple_tree mm_mt @0; ptr pgd @72; } @0; }"
		"struct vm_area_struct 152 { u64 vm_start @0; u64 vm_end @8; u64 vm_flags @32;"
		"  ptr vm_file @112; }"
		"struct folio 128 { union 64 { struct 64 { u64 flags @0; ptr mapping @24;"
		"  u64 index @32; } @0; struct 64 { u64 flags @0; } page @0; } @0; }"
		"struct module 900 { module_layout core_layout @320; }",
		{ MM_MMAP, -1 }, { MM_MT, 0 }, { MM_PGD, 72 }, { MAPLE_ROOT, 8 },
		{ MAPLE_R64_PIVOT, 8 }, { MAPLE_R64_SLOT, 128 }, { MAPLE_A64_PIVOT, 8 },
		{ MAPLE_A64_SLOT, 80 }, { VMA_NEXT, -1 }, { VMA_FLAGS, 32 }, { FOLIO_INDEX, 32 },
		{ MODULE_CORE_BASE, 320 });
}

/* The unwind tables of 6.3 have two flags; those of before and after have only one. */
static void test_6_3(void)
{
	CHECK_LAYOUT(
		"6.3",
		"struct orc_entry 6 { u16 sp_offset @0; u16 bp_offset @2; u32 sp_reg @4.0:4;"
		"  u32 bp_reg @4.4:4; u32 type @4.8:2; u32 signal @4.10:1; u32 end @4.11:1; }"
		"struct pcpu_hot 64 { union 64 { struct 48 { ptr current_task @0;"
		"  u32 preempt_count @8; u32 cpu_number @12; u64 call_depth @16;"
		"  u64 top_of_stack @24; ptr hardirq_stack_ptr @32; } @0; u8 pad[64] @0; } @0; }"
		"struct vm_area_struct 152 { union 8 { const u64 vm_flags @0; u64 __vm_flags @0; }"
		"  @32; }",
		{ ORC_SP_REG_BITS, 32 }, { ORC_BP_REG_BITS, 36 }, { ORC_TYPE_BITS, 40 },
		{ ORC_TYPE_WIDTH, 2 }, { ORC_SIGNAL_BITS, 42 }, { ORC_END_BITS, 43 },
		{ PCPU_HOT_CURRENT, 0 }, { PCPU_HOT_TOP_OF_STACK, 24 },
		{ PCPU_HOT_HARDIRQ_STACK, 32 }, { VMA_FLAGS, 32 });
}

static void test_6_4(void)
{
	CHECK_LAYOUT("6.4",
		     "struct mod_tree_node 56 { ptr mod @0; }"
		     "struct module_memory 72 { ptr base @0; u32 size @8; mod_tree_node mtn @16; }"
		     "struct mod_arch_specific 24 { u32 num_orcs @0; ptr orc_unwind_ip @8;"
		     "  ptr orc_unwind @16; }"
		     "struct module 1100 { u8 name[56] @24; module_memory mem[7] @320;"
		     "  mod_arch_specific arch @824; u8 build_id[20] @1000; ptr kallsyms @900; }"
		     "struct orc_entry 6 { u32 type @4.8:3; u32 signal @4.11:1; }"
		     "struct mm_struct 1100 { struct 1096 { u32 mm_lock_seq @120; } @0; }",
		     { MODULE_CORE_BASE, -1 }, { MODULE_MEM, 320 }, { MODULE_MEM_BASE, 0 },
		     { MODULE_MEM_SIZE, 8 }, { MODULE_ORC_COUNT, 824 }, { MODULE_ORC_IP, 832 },
		     { MODULE_ORC, 840 }, { MODULE_KALLSYMS, 900 }, { ORC_TYPE_WIDTH, 3 },
		     { ORC_SIGNAL_BITS, 43 }, { ORC_END_BITS, -1 }, { MM_LOCK_SEQ, 120 });
}

static void test_6_12(void)
{
	CHECK_LAYOUT("6.7 and 6.12",
		     "struct path 16 { ptr mnt @0; ptr dentry @8; }"
		     "struct file 184 { u32 f_mode @12; path f_path @64; ptr f_mapping @24; }"
		     "struct backing_file 200 { file file @0;"
		     "  union 16 { path user_path @0; ptr p @0; } @184; }"
		     "struct inode 600 { u64 i_mtime_sec @104; u64 i_ctime_sec @112;"
		     "  u32 i_mtime_nsec @124; u32 i_ctime_nsec @128; }",
		     { FILE_PATH, 64 }, { FILE_MODE, 12 }, { BACKING_FILE_USER_PATH, 184 },
		     { PATH_DENTRY, 8 }, { INODE_MTIME_SEC, 104 }, { INODE_MTIME_NSEC, 124 });
	CHECK_LAYOUT("6.7",
		     "struct timespec64 16 { u64 tv_sec @0; u64 tv_nsec @8; }"
		     "struct inode 600 { timespec64 __i_mtime @104; timespec64 __i_ctime @120; }",
		     { INODE_MTIME_SEC, 104 }, { INODE_MTIME_NSEC, 112 });
}

static void test_6_16(void)
{
	CHECK_LAYOUT(
		"6.16 to 6.18",
		"struct path 16 { ptr mnt @0; ptr dentry @8; }"
		"struct qstr 16 { union 8 { struct 8 { u32 hash @0; u32 len @4; } @0;"
		"  u64 hash_len @0; } @0; ptr name @8; }"
		"struct file 192 { union 16 { const path f_path @0; path __f_path @0; } @80; }"
		"struct dentry 192 { ptr d_parent @24; union 16 { qstr __d_name @0;"
		"  const qstr d_name @0; } @32; ptr d_inode @48; }"
		"struct page 64 { u64 flags @0; union 40 { struct 40 { ptr mapping @16;"
		"  union 8 { u64 __folio_index @0; u64 share @0; } @24; } @0; } @8; }"
		"struct folio 256 { union 64 { struct 64 { union 8 { u64 index @0; u64 share @0; }"
		"  @32; } @0; page page @0; } @0; }"
		"struct bpf_ksym 700 { u8 name[512] @16; }",
		{ FILE_PATH, 80 }, { DENTRY_NAME, 40 }, { DENTRY_NAME_LEN, 36 },
		{ DENTRY_INODE, 48 }, { PAGE_INDEX, 32 }, { FOLIO_INDEX, 32 },
		{ BPF_KSYM_NAME, 16 }, { PCPU_HOT_CURRENT, -1 });
}

static void test_7(void)
{
	CHECK_LAYOUT(
		"7.x",
		"struct vma_flags_t 8 { u64 __vma_flags[1] @0; }"
		"struct vm_area_struct 256 { union 16 { struct 16 { u64 vm_start @0;"
		"  u64 vm_end @8; } @0; ptr vm_freeptr @0; } @0; union 8 { const u64 vm_flags @0;"
		"  vma_flags_t flags @0; } @32; }"
		"struct module_memory 72 { ptr base @0; u8 is_rox @8; u32 size @12; }"
		"struct module 1100 { module_memory mem[7] @320; }",
		{ VMA_START, 0 }, { VMA_END, 8 }, { VMA_FLAGS, 32 }, { MODULE_MEM, 320 },
		{ MODULE_MEM_SIZE, 12 });
	CHECK_LAYOUT("without vm_flags",
		     "struct vma_flags_t 16 { u64 __vma_flags[2] @0; }"
		     "struct vm_area_struct 256 { vma_flags_t flags @32; }",
		     { VMA_FLAGS, 32 });
}

/* Members that have a known name and cannot be the known member. */
static void test_refused(void)
{
	CHECK_LAYOUT(
		"not as expected",
		"struct task_struct 70000 { u64 pid @8; u32 tgid @16.0:8; ptr mm @65528;"
		"  ptr stack @65536; ptr real_parent @65537; u8 comm[8] @24; u32 flags @32.4:32; }"
		"struct xa_node 576 { u8 shift @0; ptr slots @40; }"
		"struct irq_stack 70000 { u8 stack[70000] @0; }"
		"struct page 0 { }"
		"struct xarray 16 { u8 xa_head @8; }",
		{ TASK_PID, -1 }, { TASK_TGID, -1 }, { TASK_MM, 65528 }, { TASK_STACK, 65536 },
		{ TASK_REAL_PARENT, -1 }, { TASK_COMM, -1 }, { TASK_FLAGS, -1 },
		{ XA_NODE_SHIFT, 0 }, { XA_NODE_SLOTS, 40 }, { IRQ_STACK_SIZEOF, -1 },
		{ PAGE_SIZEOF, -1 }, { XARRAY_HEAD, -1 });
}

/* Among structs with one name, the layout uses the struct with most of the members. */
static void test_same_names(void)
{
	CHECK_LAYOUT(
		"same names",
		"struct path 8 { u32 x @0; ptr mnt @40; }"
		"struct path 16 { ptr mnt @0; ptr dentry @8; }"
		"struct path 4 { u32 dentry @0; }"
		"struct pid 16 { u32 level @4; u8 numbers[16] @8; } struct pid 4 { u32 level @0; }",
		{ PATH_MNT, 0 }, { PATH_DENTRY, 8 }, { PID_LEVEL, 4 }, { PID_NUMBERS, 8 });
	CHECK_LAYOUT("of equal ones, the first",
		     "struct path 16 { ptr mnt @8; ptr dentry @16; }"
		     "struct path 16 { ptr mnt @0; ptr dentry @8; }",
		     { PATH_MNT, 8 }, { PATH_DENTRY, 16 });
}

static unsigned count_found(const struct layout *layout)
{
	unsigned found = 0;

	for (size_t i = 0; i < LAYOUT_MEMBERS; i++)
		found += layout_has(layout, i);
	return found;
}

/* --- two parts -------------------------------------------------------------------------------- */

/* A kernel's BTF that is read piece by piece. */
struct pieces {
	const uint8_t *blob;
	size_t bytes, n_read, broken; /* the first byte that cannot be read; SIZE_MAX: all can */
	uint8_t *copy;
};

static bool pieces_read(void *context, size_t from, size_t to)
{
	struct pieces *pieces = context;

	if (to > pieces->broken)
		return false;
	memcpy(pieces->copy + from, pieces->blob + from, to - from);
	pieces->n_read += to - from;
	return true;
}

static enum btf_result pieces_begin(struct pieces *pieces, struct layout *layout,
				    struct layout_reader **readerp)
{
	struct btf_source source = { .size_bytes = pieces->bytes,
				     .read = pieces_read,
				     .context = pieces };

	source.bytes = pieces->copy = calloc(1, pieces->bytes);
	pieces->n_read = 0;
	return layout_reader_begin(&source, (struct layout_hints){ .arm = false }, layout, readerp);
}

/* The blob of a kernel whose struct irq_info and maple_node are its last types. */
static uint8_t *make_kernel(size_t *bytes)
{
	static const char *const others[] = { "task_struct", "maple_tree", "irq_info", "pcpu_hot",
					      "xenbus_device", "tk_data", "maple_node",
					      "mount", "backing_file" };
	struct make_btf *make = make_btf_create();
	uint8_t *blob;

	make_btf_text(make, "struct maple_tree 16 { u32 lock @0; ptr ma_root @8; }"
			    "struct task_struct 100 { u8 comm[16] @64; u32 pid @80; }");
	add_structs(make, others, sizeof(others) / sizeof(others[0]));
	add_unknown(make, 3000);
	make_btf_text(make, LIST "struct irq_info 136 { list_head list @16; u32 evtchn @40; }"
				 "struct range64 256 { u64 pivot[15] @8; ptr slot[16] @128; }"
				 "struct arange64 256 { u64 pivot[8] @8; ptr slot[9] @72; }"
				 "union maple_node 256 { range64 mr64 @0; arange64 ma64 @0; }");
	blob = make_btf_blob(make, bytes);
	make_btf_destroy(make);
	return blob;
}

static void check_parts(struct pieces *pieces)
{
	const struct expected first[] = { { TASK_COMM, 64 },       { TASK_PID, 80 },
					  { IRQ_INFO_LIST, -1 },   { MAPLE_R64_PIVOT, 8 },
					  { MAPLE_R64_SLOT, 128 }, { MAPLE_A64_PIVOT, 8 },
					  { MAPLE_A64_SLOT, 80 },  { MOUNT_PARENT, 16 },
					  { MOUNT_MOUNTPOINT, 24 }, { MOUNT_MNT, 32 } };
	const struct expected rest[] = { { TASK_COMM, 64 },       { TASK_PID, 80 },
					 { IRQ_INFO_LIST, 16 },   { MAPLE_R64_PIVOT, 8 },
					 { MAPLE_R64_SLOT, 128 }, { MAPLE_A64_PIVOT, 8 },
					 { MAPLE_A64_SLOT, 72 },  { MOUNT_MNT, -1 } };
	struct layout_reader *reader;
	struct layout layout, whole;

	check(pieces_begin(pieces, &layout, &reader) == BTF_OK && reader && layout.partial,
	      "the last structs are not read at first");
	check(pieces->n_read * 4 < pieces->bytes, "less than a quarter was read: %zu of %zu bytes",
	      pieces->n_read, pieces->bytes);
	check(!layout_check(&layout), "a partial layout is not for another run");
	check_values("the first part", &layout, first, sizeof(first) / sizeof(*first));
	check(reader && layout_reader_end(reader, &layout) == BTF_OK && !layout.partial,
	      "the rest is read");
	check_values("the rest", &layout, rest, sizeof(rest) / sizeof(*rest));
	check(layout_from_btf(pieces->blob, pieces->bytes, NULL, &whole) == BTF_OK &&
		      memcmp(&whole, &layout, sizeof(whole)) == 0,
	      "both parts together give what the whole gives");
	layout_reader_destroy(reader);
	free(pieces->copy);
}

static void check_broken_parts(struct pieces *pieces)
{
	struct layout_reader *reader;
	struct layout layout, before;

	pieces->broken = 0;
	check(pieces_begin(pieces, &layout, &reader) == BTF_NONE && !reader && !layout.partial,
	      "nothing is known of types that cannot be read");
	free(pieces->copy);
	pieces->broken = SIZE_MAX;
	check(pieces_begin(pieces, &layout, &reader) == BTF_OK && reader, "the first part is read");
	before = layout;
	pieces->broken = 0;
	check(reader && layout_reader_end(reader, &layout) == BTF_NONE &&
		      memcmp(&layout, &before, sizeof(layout)) == 0,
	      "a rest that cannot be read leaves the layout as it was");
	pieces->broken = SIZE_MAX;
	check(reader && layout_reader_end(reader, &layout) == BTF_OK && !layout.partial,
	      "a rest that can be read later is read then");
	layout_reader_destroy(reader);
	free(pieces->copy);
}

static void test_parts(void)
{
	struct pieces pieces = { .broken = SIZE_MAX };
	uint8_t *blob = make_kernel(&pieces.bytes);

	pieces.blob = blob;
	check_parts(&pieces);
	check_broken_parts(&pieces);
	free(blob);
}

static void test_results(void)
{
	struct make_btf *make = make_btf_create();
	enum layout_member needed[] = { TASK_COMM, TASK_PID };
	struct layout layout, none;
	uint8_t *blob;
	size_t bytes;

	make_btf_text(make, "struct task_struct 100 { u8 comm[16] @64; }");
	make_btf_type(make, "new", 99, 0, 0);
	make_btf_text(make, "struct path 16 { ptr mnt @0; ptr dentry @8; }");
	blob = make_btf_blob(make, &bytes);
	make_btf_destroy(make);
	check(layout_from_btf(blob, bytes, NULL, &layout) == BTF_DAMAGED,
	      "a blob with an unknown kind counts as damaged");
	check(layout_offset(&layout, TASK_COMM) == 64, "the types before an unknown kind are read");
	check(!layout_has(&layout, PATH_MNT), "the types after an unknown kind are not read");
	check_u64(count_found(&layout), 1, "number of members before the unknown kind");
	check(layout_missing(&layout, needed, 2) == TASK_PID, "the first missing member is told");
	check(layout_missing(&layout, needed, 1) == LAYOUT_MEMBERS,
	      "LAYOUT_MEMBERS tells that no member is missing");
	check(layout_from_btf(blob, bytes - 1, NULL, &none) == BTF_NONE,
	      "a blob that is cut has no types");
	check_u64(count_found(&none), 0, "number of members in a blob that is cut");
	check(layout_from_btf(blob, 0, NULL, &none) == BTF_NONE, "a blob without bytes has no types");
	free(blob);

	check(layout_check(&layout) && layout_check(&none), "a new layout is valid");
	layout.version++;
	check(!layout_check(&layout), "a layout with the version of another table is invalid");
	layout.version--;
	layout.values[LAYOUT_MEMBERS - 1] = LAYOUT_MAX + 1;
	check(!layout_check(&layout), "a layout with a number that is too large is invalid");
	layout.values[LAYOUT_MEMBERS - 1] = -2;
	check(!layout_check(&layout), "a layout with a number that is too small is invalid");
	layout.values[LAYOUT_MEMBERS - 1] = LAYOUT_MAX;
	check(layout_check(&layout), "a layout with the largest number is valid");

	memset(&layout, 0, sizeof(layout));
	check(layout_has(&layout, TASK_COMM), "a layout with offset 0 is valid");
	layout_init(&layout);
	check(layout_check(&layout), "the layout of an unknown kernel is valid");
	check_u64(count_found(&layout), 0, "the layout of an unknown kernel has no members");
}

/* A member that was added to the enumeration and not to the table has no struct. */
static void test_table(void)
{
	unsigned empty = 0;

	for (unsigned i = 0; i < LAYOUT_MEMBERS; i++)
		empty += !layout_struct(i) || !*layout_struct(i);
	check_u64(empty, 0, "number of members without an entry");
	check_string(layout_struct(DENTRY_NAME), "dentry", "the struct of an entry is told");
}

int main(void)
{
	test_table();
	test_5_2();
	test_5_10();
	test_6_1();
	test_6_3();
	test_6_4();
	test_6_12();
	test_6_16();
	test_7();
	test_refused();
	test_same_names();
	test_results();
	test_parts();
	return tap_done();
}
