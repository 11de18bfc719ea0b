/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to recording/: the bytes of a recording, version 3, as writer.c writes and reader.c reads
 * them. doc/FORMATS describes the format for users. Little-endian; everything starts at a multiple
 * of 8.
 *
 *   file head              "XTOPREC\n", version, size of this head
 *   chunk head, payload    padded with zeros to 8
 *   chunk head, payload
 *   ...
 *
 *   INFO  struct recording_chunk_info     once, before the first SMPL
 *   SYMS  struct recording_chunk_symbols  one for each image, before the first SMPL
 *   TABL  an ELF file                     the unwind tables of the image in the SYMS before
 *   PAGE  struct recording_page, lines    a page of guest memory, as the next SMPL, POLL or WAIT
 *                                         reads it
 *   TIME  u64 ns                          what memory_now_ns() returned for the next SMPL, POLL or
 *                                         WAIT
 *   POLL  u64 ns                          when the resolver called os_poll()
 *   WAIT  u64 ns, u64 ns                  when the resolver called os_read_waits(), and the time
 *                                         between two passes
 *   CLCK  struct recording_clocks         what the clocks showed at one moment
 *   TRAC  struct recording_trace, bytes   what the resolver took of Xen's trace
 *   TAKE  struct takers_table             who takes the guest's CPUs, as a snapshot had it
 *   SMPL  struct sample (sample.h)        without stack bytes that nobody needs, and with the
 *                                         registers of INFO's machine only (recorded_sample.c)
 *   END   struct recording_chunk_end      last: without it the file was cut
 *
 * The format can grow without a new version. A reader skips chunks of an unknown type, unless
 * RECORDING_CHUNK_REQUIRED says that the samples mean nothing without them. A reader accepts heads
 * of INFO, SYMS and END that are longer than those it knows. Version 2 had no weights: each sample
 * counts as one tick. Version 1 also had no PAGE, TIME and POLL: names come from SYMS alone. Both
 * versions are read, too.
 *
 * A replay does what the resolver did, in the same order. It applies PAGE and TIME. Then it adds
 * the sample, or polls, and finds in memory what was there in the run.
 */
#ifndef RECORDING_FORMAT_H
#define RECORDING_FORMAT_H

#include <stddef.h>

#include "recording/page_mirror.h"
#include "xtop/base/limit.h"
#include "xtop/recording/recording.h"
#include "xtop/sample/sample.h"
#include "xtop/sample/takers.h"
#include "xtop/supervise/trace_source.h"
#include "xtop/symbol/symbol.h"

#define RECORDING_MAGIC "XTOPREC\n" /* no NUL; a text-mode copy changes the line end */
#define RECORDING_MAGIC_BYTES 8
#define RECORDING_VERSION 3
#define RECORDING_VERSION_NO_WEIGHT 2 /* the last version without sample.weight */
#define RECORDING_VERSION_NO_MEMORY 1 /* the last version without PAGE */
/* Numbers of ELF (e_machine). The samples have the registers of this machine. */
#define RECORDING_MACHINE_X86_64 62
#define RECORDING_MACHINE_ARM64  183

/* Types of chunks besides the notes of recording.h. */
#define RECORDING_INFO RECORDING_TYPE('I', 'N', 'F', 'O')
#define RECORDING_SYMBOLS RECORDING_TYPE('S', 'Y', 'M', 'S')
#define RECORDING_TABLES RECORDING_TYPE('T', 'A', 'B', 'L')
#define RECORDING_SAMPLE RECORDING_TYPE('S', 'M', 'P', 'L')
#define RECORDING_END RECORDING_TYPE('E', 'N', 'D', ' ')

/* Limits of what a reader accepts. */
#define RECORDING_MAX_HEAD_BYTES 4096
#define RECORDING_MAX_INFO_BYTES 65536
#define RECORDING_MAX_MODULE_BYTES 4096
#define RECORDING_MAX_IMAGES SYMBOLS_MAX_IMAGES
#define RECORDING_MAX_TABLES       64 /* images with tables; each takes a descriptor */
#define RECORDING_MAX_TABLES_BYTES (512ULL << 20)
#define RECORDING_MAX_SAMPLE_BYTES (sample_size_max(GUEST_MAX_VCPUS))
#define RECORDING_MAX_END_BYTES 4096
#define RECORDING_MAX_PAGE_BYTES (sizeof(struct recording_page) + GUEST_PAGE_SIZE)
#define RECORDING_MAX_TIME_BYTES 64
#define RECORDING_MAX_CLOCKS_BYTES 256
#define RECORDING_MAX_TRACE_BYTES  65536
#define RECORDING_MAX_TAKERS_BYTES 65536
/* Pages of guest memory that are kept at a time: 64 MiB. page_mirror.c makes room for more. */
#define RECORDING_MAX_PAGES LIMIT(16384, 64)
/* The largest SYMS has each symbol's start and end, and all names. */
#define RECORDING_MAX_SYMBOLS_BYTES (SYMTAB_MAX_SYMBOLS * 16ULL + SYMTAB_MAX_NAMES_BYTES + 65536)

/*
 * Size of what precedes the arrays in struct takers_table. The file has this struct as it is: a new
 * member needs a new type of chunk.
 */
#define RECORDING_TAKERS_BYTES offsetof(struct takers_table, takers)
_Static_assert(RECORDING_TAKERS_BYTES == 256 && sizeof(struct taker) == 128 &&
		       sizeof(struct taken_vcpu) == 128,
	       "doc/FORMATS 4.10");

struct recording_head {
	char magic[8];
	uint32_t version;
	uint32_t head_bytes; /* offset of the first chunk; a multiple of 8 */
};

enum recording_chunk_flag {
	RECORDING_CHUNK_REQUIRED = 1 << 0, /* a reader that does not know the type must stop */
};

struct recording_chunk {
	uint32_t type;
	uint32_t flags;      /* enum recording_chunk_flag; other bits are 0, and ignored */
	uint64_t size_bytes; /* size of the payload before padding */
};

struct recording_chunk_info {
	char domain[64]; /* NUL-terminated */
	char uuid[40];
	uint32_t domid;
	uint32_t guest_type; /* enum guest_type */
	uint32_t n_vcpus;    /* 1 .. GUEST_MAX_VCPUS */
	uint32_t machine;    /* RECORDING_MACHINE_... */
	double freq_hz;      /* IEEE 754 binary64 */
	uint64_t wallclock_s;
	uint32_t report; /* enum recording_report; the first version ends before it */
	uint32_t zero;   /* always 0 */
};
#define RECORDING_INFO_BYTES 136 /* size of INFO in the first version */

/*
 * The functions of an image. The parts come in this order, each padded to 8:
 *
 *   struct recording_symbol symbols[n_symbols]   ascending by start
 *   char module[module_bytes]
 *   u8 build_id[build_id_bytes]
 *   char strings[strings_bytes]                  the symbols' names in order, each with its NUL
 */
struct recording_symbol {
	uint64_t start;
	uint64_t end; /* first address after the function; above start */
};

struct recording_chunk_symbols {
	uint32_t head_bytes; /* size of this struct in the file; the symbols start after it */
	uint32_t n_symbols;
	uint32_t module_bytes; /* length of the module's name, counting the NUL */
	uint32_t build_id_bytes;
	uint64_t strings_bytes;
	uint64_t build_id_address; /* address of the build-id in the loaded image; 0: none */
};

/*
 * The head of a PAGE. The lines of the page that are new and were read follow, PAGE_LINE_BYTES
 * each, in ascending order. Other lines are unchanged, or changed and not read; they are zeros if
 * the page was not there before. A page without lines is not there any more.
 *
 * The guest runs while its memory is read, so a page that is read twice for one sample may have
 * changed in between. If the second read has found a change, this change and all later ones for
 * that sample take effect at the read number READ.
 */
struct recording_page {
	uint64_t frame;
	uint64_t lines; /* bit i: bytes [64 i, 64 i + 64) */
	uint64_t read;  /* number of the read since the last SMPL, POLL or WAIT; 0: at once */
};

/* Size of a sample's head up to RECORDING_VERSION_NO_WEIGHT: struct sample without its end. */
#define RECORDING_OLD_SAMPLE_BYTES offsetof(struct sample, weight)

struct recording_chunk_end {
	uint64_t n_samples; /* SMPL chunks in the file */
	/*
	 * Ticks without a sample, as in struct sampler_counts. 0 where an older file ends earlier.
	 */
	uint64_t missed, skipped_budget, waited, lost, refused;
};
#define RECORDING_END_BYTES 8 /* size of END in the first version */

static inline size_t recording_pad(size_t size_bytes)
{
	return (size_bytes + 7) & ~(size_t)7;
}

/* --- recorded_symbols.c ----------------------------------------------------------------------- */

/* Adds to SYMBOLS the image of a SYMS payload, which is padded to 8. Main's thread. */
struct xtop_error *recording_add_symbols(const char *payload, uint64_t size_bytes,
					 struct symbols *symbols);

/* --- recorded_host.c -------------------------------------------------------------------------- */

/* Whether the lengths in a payload of SIZE_BYTES, with or without its padding, are right. */
bool recorded_trace_check(const void *payload, size_t size_bytes);
bool recorded_takers_check(const void *payload, size_t size_bytes);

/* --- recorded_sample.c ------------------------------------------------------------------------ */

/* A sample in the form of a file or of memory. Begins as zeros; the next sample reuses BYTES. */
struct recorded_sample {
	char *bytes;
	size_t size_bytes, capacity;
};

/* The number by which a file names the machine of ARCH. */
uint32_t recording_machine(enum guest_arch arch);
/* Returns false if samples of MACHINE cannot be read. */
bool recording_find_arch(uint32_t machine, enum guest_arch *arch);
/* Bytes of a vCPU's registers in a file. */
size_t recording_registers_bytes(enum guest_arch arch);
/*
 * Builds the file's form of SAMPLE, which passed sample_check(), with what NEEDS says; NEEDS NULL:
 * all of it. Returns false if there is no memory.
 */
bool recorded_sample_encode(const struct sample *sample, const struct recording_needs *needs,
			    enum guest_arch arch, struct recorded_sample *to);

enum recorded_sample_result {
	RECORDED_SAMPLE_OK,
	RECORDED_SAMPLE_DAMAGED,
	RECORDED_SAMPLE_NO_MEMORY,
};

/*
 * Builds the memory's form of the payload of a SMPL, in a file of VERSION. The sample must still
 * pass sample_check().
 */
enum recorded_sample_result recorded_sample_decode(const char *bytes, size_t size_bytes,
						   uint32_t version, enum guest_arch arch,
						   struct recorded_sample *to);
void recorded_sample_deinit(struct recorded_sample *sample);

/* These sizes are the format: to change one takes a new version. */
_Static_assert(sizeof(struct recording_head) == 16, "file head");
_Static_assert(sizeof(struct recording_chunk) == 16, "chunk head");
_Static_assert(sizeof(struct recording_chunk_info) == 144, "INFO");
_Static_assert(offsetof(struct recording_chunk_info, report) == RECORDING_INFO_BYTES, "INFO");
_Static_assert(sizeof(struct recording_chunk_symbols) == 32, "SYMS");
_Static_assert(sizeof(struct recording_symbol) == 16, "symbol");
_Static_assert(sizeof(struct recording_chunk_end) == 48, "END");
_Static_assert(sizeof(struct recording_page) == 24, "PAGE");
_Static_assert(sizeof(struct recording_clocks) == 24, "CLCK");
_Static_assert(offsetof(struct registers, cr4) == REGISTERS_X86_BYTES - 8, "registers of x86");
_Static_assert(REGISTERS_X86_BYTES == 26 * 8 && REGISTERS_ARM64_BYTES == 41 * 8, "registers");
_Static_assert(sizeof(struct sample) == 32, "sample");
_Static_assert(RECORDING_OLD_SAMPLE_BYTES == 24, "sample of version 2");
_Static_assert(offsetof(struct sample_vcpu, regs) == 24, "vCPU");
_Static_assert(sizeof(struct sample_vcpu) == 24 + sizeof(struct registers), "vCPU in memory");
_Static_assert(sizeof(struct sample_stack) == 16, "stack");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "written and read as it lies in memory");

#endif
