/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions to the user on the bottom line: a search, the filter, a file to write, figures. While
 * there is a question (ui->question), all input is part of the answer.
 */
#ifndef UI_QUESTIONS_H
#define UI_QUESTIONS_H

#include "ui/state.h"

/* Asks the question of the request CODE. Returns false if the request has no question. */
bool question_ask(struct ui *ui, enum request_code code);
/* Passes the input CODE to the prompt, and acts on a complete answer. */
void question_handle(struct ui *ui, uint32_t code);

/* Takes over SEARCH; NULL ends the search. */
void ui_set_search(struct ui *ui, struct filter *search);
void ui_clear_filter(struct ui *ui);

#endif
