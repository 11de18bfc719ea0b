/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions of x86-64 and i386 as text; see disassemble.h. Zydis decodes them. The text is that
 * of objdump 2.40 except for
 *
 *   (%rbp), which objdump writes as 0x0(%rbp), and (%esi) for 0x0(%esi,%eiz,1)
 *   prefixes without effect, which are left out (cs nop)
 *   string instructions, whose operands are left out
 *   vector comparisons by number, names of x87 instructions and of a few system instructions
 *
 * tests/unwind/test_disassemble compares both. Any thread; no state.
 */
#include "config.h"

#include "xtop/unwind/disassemble.h"

#include <Zydis/Zydis.h>
#include <stdio.h>
#include <string.h>

#include "unwind/instruction.h"

/* A decoded instruction, and the syntax in which it is printed. */
struct disassembled {
	ZydisDecodedInstruction head;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	enum code_syntax syntax;
};

static bool disassemble_decode(const struct code *code, struct disassembled *to)
{
	bool is_short = code->word_bytes == sizeof(uint32_t);
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder,
			 is_short ? ZYDIS_MACHINE_MODE_LEGACY_32 : ZYDIS_MACHINE_MODE_LONG_64,
			 is_short ? ZYDIS_STACK_WIDTH_32 : ZYDIS_STACK_WIDTH_64);
	return ZYAN_SUCCESS(
		ZydisDecoderDecodeFull(&decoder, code->bytes, code->n, &to->head, to->operands));
}

/* --- where control goes ----------------------------------------------------------------------- */

/* Uses the decoder for unwinding, which knows only 64-bit code. */
static struct code_step disassemble_step_64(const struct code *code)
{
	/* other flows are CODE_NEXT */
	static const uint8_t flows[] = { [INSTRUCTION_CALL] = CODE_CALL,
					 [INSTRUCTION_BRANCH] = CODE_BRANCH,
					 [INSTRUCTION_JUMP] = CODE_JUMP,
					 [INSTRUCTION_INDIRECT] = CODE_INDIRECT,
					 [INSTRUCTION_RETURN] = CODE_RETURN,
					 [INSTRUCTION_END] = CODE_RETURN };
	struct code_step step = { .length = 1, .flow = CODE_NEXT, .bad = true };
	struct instruction instruction;

	if (!instruction_x86_decode(code->bytes, code->n, code->address, &instruction))
		return step;
	step.bad = false;
	step.length = instruction.length;
	step.flow = flows[instruction.flow];
	if (step.flow == CODE_CALL || step.flow == CODE_JUMP || step.flow == CODE_BRANCH)
		step.target = instruction.target;
	return step;
}

static enum code_flow disassembled_flow(const struct disassembled *code)
{
	bool direct = code->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	switch (code->head.meta.category) {
	case ZYDIS_CATEGORY_CALL:
		return CODE_CALL;
	case ZYDIS_CATEGORY_COND_BR:
		return CODE_BRANCH;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return direct ? CODE_JUMP : CODE_INDIRECT;
	case ZYDIS_CATEGORY_RET:
		return CODE_RETURN;
	default:
		return CODE_NEXT;
	}
}

static struct code_step disassemble_step_32(const struct code *code)
{
	struct code_step step = { .length = 1, .flow = CODE_NEXT, .bad = true };
	struct disassembled decoded;
	ZyanU64 target;

	if (!disassemble_decode(code, &decoded))
		return step;
	step.bad = false;
	step.length = decoded.head.length;
	step.flow = disassembled_flow(&decoded);
	if (step.flow != CODE_NEXT && step.flow != CODE_RETURN &&
	    decoded.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	    ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&decoded.head, &decoded.operands[0],
						  code->address, &target)))
		step.target = (uint32_t)target;
	return step;
}

struct code_step disassemble_x86_step(const struct code *code)
{
	return code->word_bytes == sizeof(uint32_t) ? disassemble_step_32(code)
						    : disassemble_step_64(code);
}

/* --- GNU's names of instructions -------------------------------------------------------------- */

struct other_name {
	ZydisMnemonic mnemonic;
	const char *name, *att; /* names in Intel's and AT&T's syntax; att NULL: both are equal */
};

/*
 * Intel's manual has several names for one instruction, such as jz and je. Zydis uses one name, and
 * GNU's tools use another. For AT&T's own names, see the manual of GNU as, "AT&T Mnemonic versus
 * Intel Mnemonic".
 */
/* clang-format off */
static const struct other_name other_names[] = {
	{ ZYDIS_MNEMONIC_JZ, "je", NULL },       { ZYDIS_MNEMONIC_JNZ, "jne", NULL },
	{ ZYDIS_MNEMONIC_JNB, "jae", NULL },     { ZYDIS_MNEMONIC_JNBE, "ja", NULL },
	{ ZYDIS_MNEMONIC_JNL, "jge", NULL },     { ZYDIS_MNEMONIC_JNLE, "jg", NULL },
	{ ZYDIS_MNEMONIC_SETZ, "sete", NULL },   { ZYDIS_MNEMONIC_SETNZ, "setne", NULL },
	{ ZYDIS_MNEMONIC_SETNB, "setae", NULL }, { ZYDIS_MNEMONIC_SETNBE, "seta", NULL },
	{ ZYDIS_MNEMONIC_SETNL, "setge", NULL }, { ZYDIS_MNEMONIC_SETNLE, "setg", NULL },
	{ ZYDIS_MNEMONIC_CMOVZ, "cmove", NULL }, { ZYDIS_MNEMONIC_CMOVNZ, "cmovne", NULL },
	{ ZYDIS_MNEMONIC_CMOVNB, "cmovae", NULL },
	{ ZYDIS_MNEMONIC_CMOVNBE, "cmova", NULL },
	{ ZYDIS_MNEMONIC_CMOVNL, "cmovge", NULL },
	{ ZYDIS_MNEMONIC_CMOVNLE, "cmovg", NULL },
	{ ZYDIS_MNEMONIC_CBW, "cbw", "cbtw" },   { ZYDIS_MNEMONIC_CWDE, "cwde", "cwtl" },
	{ ZYDIS_MNEMONIC_CDQE, "cdqe", "cltq" }, { ZYDIS_MNEMONIC_CWD, "cwd", "cwtd" },
	{ ZYDIS_MNEMONIC_CDQ, "cdq", "cltd" },   { ZYDIS_MNEMONIC_CQO, "cqo", "cqto" },
	{ ZYDIS_MNEMONIC_UD1, "ud1", NULL },
};
/* clang-format on */

/* AT&T's letter for a size of BITS. */
static char disassemble_suffix(unsigned bits)
{
	return bits == 8 ? 'b' : bits == 16 ? 'w' : bits == 32 ? 'l' : 'q';
}

static bool disassembled_is_movabs(const struct disassembled *code)
{
	return code->head.mnemonic == ZYDIS_MNEMONIC_MOV &&
	       (code->head.raw.imm[0].size == 64 || code->head.raw.disp.size == 64);
}

/* Writes AT&T's name of an extension, which has both sizes, such as "movzbl". */
static void disassembled_name_extension(const struct disassembled *code, char name[32])
{
	bool sign = code->head.mnemonic != ZYDIS_MNEMONIC_MOVZX;

	snprintf(name, 32, "mov%c%c%c", sign ? 's' : 'z',
		 disassemble_suffix(code->operands[1].size),
		 disassemble_suffix(code->operands[0].size));
}

/* AT&T's letter for the size of the operand in memory; '\0' if there is none. */
static char disassembled_memory_suffix(const struct disassembled *code)
{
	for (unsigned i = 0; i < code->head.operand_count_visible; i++)
		if (code->operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			return disassemble_suffix(code->operands[i].size);
	return '\0';
}

/* Whether Zydis omits the suffix although no register operand tells the size. */
static bool disassembled_lacks_size(const struct disassembled *code)
{
	if (!disassembled_memory_suffix(code))
		return false;
	switch (code->head.mnemonic) {
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_NEG:
	case ZYDIS_MNEMONIC_NOT:
	case ZYDIS_MNEMONIC_MUL:
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV:
		return true;
	case ZYDIS_MNEMONIC_IMUL:
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
		return code->head.operand_count_visible == 1;
	case ZYDIS_MNEMONIC_CVTSI2SD:
	case ZYDIS_MNEMONIC_CVTSI2SS:
		return true;
	default:
		return false;
	}
}

/*
 * Whether the name needs no suffix because the operands tell the size. An operand is a vector or a
 * mask and the instruction is no conversion between sizes, or the instruction converts to an
 * integer in a register.
 */
static bool disassembled_is_vector(const struct disassembled *code, const char *name)
{
	if (strstr(name, "2si") || strstr(name, "2usi"))
		return true;
	if (strncmp(name, "cvtsi", 5) == 0 || strncmp(name, "vcvt", 4) == 0 ||
	    strncmp(name, "vfpclass", 8) == 0)
		return false;
	for (unsigned i = 0; i < code->head.operand_count_visible; i++) {
		const ZydisDecodedOperand *operand = &code->operands[i];

		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		switch (ZydisRegisterGetClass(operand->reg.value)) {
		case ZYDIS_REGCLASS_XMM:
		case ZYDIS_REGCLASS_YMM:
		case ZYDIS_REGCLASS_ZMM:
		case ZYDIS_REGCLASS_MASK:
			return true;
		default:
			break;
		}
	}
	return false;
}

/* Whether AT&T's syntax puts a star before the operand: indirect calls and jumps. */
static bool disassembled_has_star(const struct disassembled *code)
{
	return code->syntax == SYNTAX_ATT &&
	       (code->head.mnemonic == ZYDIS_MNEMONIC_CALL ||
		code->head.mnemonic == ZYDIS_MNEMONIC_JMP) &&
	       code->operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

/* Writes GNU's name of an instruction. WAS is Zydis's name, with a suffix in AT&T's syntax. */
static void disassembled_name(const struct disassembled *code, const char *was, char name[32])
{
	size_t n = strlen(was);
	bool att = code->syntax == SYNTAX_ATT;

	snprintf(name, 32, "%s", was);
	for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++)
		if (other_names[i].mnemonic == code->head.mnemonic)
			snprintf(name, 32, "%s", att && other_names[i].att ? other_names[i].att
									   : other_names[i].name);
	if (disassembled_is_movabs(code))
		snprintf(name, 32, "movabs");
	if (!att)
		return;
	switch (code->head.mnemonic) {
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		disassembled_name_extension(code, name);
		break;
	case ZYDIS_MNEMONIC_NOP:
		if (code->head.operand_count_visible)
			snprintf(name, 32, "nop%c", disassemble_suffix(code->head.operand_width));
		break;
	default:
		if (disassembled_is_vector(code, was)) /* no suffix */
			snprintf(name, 32, "%s", ZydisMnemonicGetString(code->head.mnemonic));
		else if (disassembled_lacks_size(code) &&
			 n == strlen(ZydisMnemonicGetString(code->head.mnemonic)))
			snprintf(name, 32, "%.30s%c", was, disassembled_memory_suffix(code));
	}
}

/* Writes Zydis's TEXT with GNU's name and objdump's layout, which has no blank after commas. */
static void disassembled_rewrite(const struct disassembled *code, const char *text,
				 char to[DISASSEMBLE_TEXT_BYTES])
{
	const char *mnemonic = ZydisMnemonicGetString(code->head.mnemonic);
	const char *at = mnemonic ? strstr(text, mnemonic) : NULL;
	char was[32] = "", name[32];
	size_t n = 0;

	if (!at) {
		snprintf(to, DISASSEMBLE_TEXT_BYTES, "%s", text);
		return;
	}
	snprintf(was, sizeof(was), "%.*s", (int)strcspn(at, " "), at);
	disassembled_name(code, was, name);
	n = (size_t)snprintf(to, DISASSEMBLE_TEXT_BYTES, "%.*s%s", (int)(at - text), text, name);
	at += strlen(was);
	if (*at) /* operands begin in a column of their own */
		n += (size_t)snprintf(to + n, DISASSEMBLE_TEXT_BYTES - n, "%*s",
				      n < 6 ? (int)(7 - n) : 1, "");
	at += *at == ' ';
	if (disassembled_has_star(code) && n + 1 < DISASSEMBLE_TEXT_BYTES)
		to[n++] = '*';
	for (; *at && n + 1 < DISASSEMBLE_TEXT_BYTES; at++)
		if (*at != '*' && (*at != ' ' || (at[-1] != ',' && at[1] != '{')))
			to[n++] = *at;
	to[n] = '\0';
}

static void disassemble_set_up(ZydisFormatter *formatter, enum code_syntax syntax)
{
	static const struct {
		ZydisFormatterProperty property;
		ZyanUPointer value;
	} properties[] = {
		{ ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE },
		{ ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED },
		{ ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE, ZYDIS_PADDING_DISABLED },
		{ ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED },
		{ ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED },
		{ ZYDIS_FORMATTER_PROP_IMM_SIGNEDNESS, ZYDIS_SIGNEDNESS_UNSIGNED },
		{ ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE },
	};

	ZydisFormatterInit(formatter, syntax == SYNTAX_ATT ? ZYDIS_FORMATTER_STYLE_ATT
							   : ZYDIS_FORMATTER_STYLE_INTEL);
	if (syntax == SYNTAX_INTEL)
		ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_FORCE_SIZE, ZYAN_TRUE);
	for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++)
		ZydisFormatterSetProperty(formatter, properties[i].property, properties[i].value);
}

/* Whether the second operand is not printed: a nop's register, or the 1 of a shift by one. */
static bool disassembled_hides_operand(const struct disassembled *code)
{
	bool shift = code->head.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
		     (code->head.opcode == 0xd0 || code->head.opcode == 0xd1);

	return code->head.operand_count_visible > 1 &&
	       (code->head.mnemonic == ZYDIS_MNEMONIC_NOP || shift);
}

void disassemble_x86_print(const struct code *code, enum code_syntax syntax,
			   char text[DISASSEMBLE_TEXT_BYTES])
{
	struct disassembled decoded = { .syntax = syntax };
	char raw[DISASSEMBLE_TEXT_BYTES];
	ZydisFormatter formatter;

	disassemble_set_up(&formatter, syntax);
	if (!disassemble_decode(code, &decoded)) {
		snprintf(text, DISASSEMBLE_TEXT_BYTES, "(bad)");
		return;
	}
	if (disassembled_hides_operand(&decoded))
		decoded.head.operand_count_visible = 1;
	if (ZYAN_FAILED(ZydisFormatterFormatInstruction(&formatter, &decoded.head,
							decoded.operands,
							decoded.head.operand_count_visible, raw,
							sizeof(raw), code->address, NULL)))
		snprintf(text, DISASSEMBLE_TEXT_BYTES, "(bad)");
	else if (decoded.head.length == 2 && code->bytes[0] == 0x66 && code->bytes[1] == 0x90)
		snprintf(text, DISASSEMBLE_TEXT_BYTES,
			 syntax == SYNTAX_ATT ? "xchg   %%ax,%%ax" : "xchg   ax,ax");
	else
		disassembled_rewrite(&decoded, raw, text);
}
