/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of static data; see data_names.h. */
#include "config.h"

#include "linux/kernel/data_names.h"

#include "linux/kernel/kernel_image.h"

void data_names_deinit(struct data_names *names)
{
	symtab_destroy(names->tab);
	*names = (struct data_names){ .guest = names->guest, .modules = names->modules };
}

static struct xtop_error *data_names_decode(struct data_names *names,
					    const struct kallsyms *kallsyms)
{
	struct symtab *tab = NULL;
	struct xtop_error *error = symtab_create(&tab);

	if (!error)
		symtab_set_work(tab, memory_work(names->guest->memory));
	if (!error)
		error = kallsyms_decode_data(kallsyms, names->guest->text_start,
					     names->guest->text_end, tab);
	if (!error)
		error = symtab_seal(tab);
	if (error)
		symtab_destroy(tab);
	else
		names->tab = tab;
	return error;
}

/* Reads the names from the guest. If memory is out, there are no names. */
static void data_names_read(struct data_names *names)
{
	struct kernel_image *image = kernel_image_open(names->guest->memory, names->guest->root);
	struct kallsyms *kallsyms = NULL;

	if (image && kernel_image_find_kallsyms(image, &kallsyms))
		error_destroy(data_names_decode(names, kallsyms));
	kallsyms_destroy(kallsyms);
	kernel_image_destroy(image);
}

bool data_names_find(struct data_names *names, uint64_t address, struct symtab_entry *entry)
{
	/* Static data lies in the kernel's image. */
	if (address < names->guest->text_start || address >= names->guest->text_end)
		return names->modules && modules_find_data(names->modules, address, entry);
	if (!names->is_read)
		data_names_read(names);
	names->is_read = true;
	return names->tab && symtab_find(names->tab, address, entry);
}
