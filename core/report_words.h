/* SPDX-License-Identifier: MIT */
#ifndef FLAME_REPORT_WORDS_H
#define FLAME_REPORT_WORDS_H
/* What writers of reports share: places, and names of things. */
#include "place.h"
#include "report.h"

/* Return: where the function of @frame is at that frame; name is the function's. */
struct flame_place flame_report_place(const struct flame_profile *p, flame_frame frame);
/* Return: "system call", "page faults"; static storage. */
const char *flame_report_entry_name(enum flame_kernel_entry entry);
/* Return: the same as a word for machines. */
const char *flame_report_entry_id(enum flame_kernel_entry entry);
/* Return: "on-cpu" and so on, "other" where the kind is not known. */
const char *flame_report_kind_id(enum flame_value_kind kind);

#endif
