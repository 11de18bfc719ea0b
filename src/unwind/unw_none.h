/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libunwind's accessors for features that xtop's address spaces do not have: tables made at run
 * time, floating-point registers, names, resuming a frame. See libunwind's
 * unw_create_addr_space(3). Only dwarf.c includes this, after <libunwind.h>. Any thread.
 */
#ifndef XTOP_UNWIND_UNW_NONE_H
#define XTOP_UNWIND_UNW_NONE_H

#include <libunwind.h>

static inline void unw_none_put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info,
					    void *argument)
{
	(void)space, (void)info, (void)argument;
}

static inline int unw_none_get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *address,
						  void *argument)
{
	(void)space, (void)address, (void)argument;
	return -UNW_ENOINFO;
}

static inline int unw_none_access_fpreg(unw_addr_space_t space, unw_regnum_t number,
					unw_fpreg_t *value, int write, void *argument)
{
	(void)space, (void)number, (void)value, (void)write, (void)argument;
	return -UNW_EBADREG;
}

static inline int unw_none_resume(unw_addr_space_t space, unw_cursor_t *cursor, void *argument)
{
	(void)space, (void)cursor, (void)argument;
	return -UNW_EINVAL;
}

static inline int unw_none_get_proc_name(unw_addr_space_t space, unw_word_t address, char *name,
					 size_t size, unw_word_t *offset, void *argument)
{
	(void)space, (void)address, (void)name, (void)size, (void)offset, (void)argument;
	return -UNW_ENOINFO;
}

#endif
