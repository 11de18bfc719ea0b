/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions to the user on the bottom line: what to search for, the filter, a file to write,
 * figures. While there is a question (ui->question) all input is part of the answer.
 */
#ifndef UI_QUESTIONS_H
#define UI_QUESTIONS_H

#include "ui/state.h"

/* Asks what the request CODE needs to know. False: it needs nothing. */
bool question_ask(struct ui *ui, enum request_code code);
/* The input CODE goes to the prompt; when the answer is complete, it is carried out. */
void question_handle(struct ui *ui, uint32_t code);

/* SEARCH: NULL ends the search; the screen's from now on. */
void ui_set_search(struct ui *ui, struct filter *search);
void ui_clear_filter(struct ui *ui);

#endif
