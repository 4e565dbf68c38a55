/* SPDX-License-Identifier: MIT */
#ifndef FLAME_REPORT_CHANGE_H
#define FLAME_REPORT_CHANGE_H
#include "report.h"

/* Compare @r's first part with what was before. Return: 0 or FLAME_ENOMEM. */
int flame_report_find_changes(struct flame_report *r);

#endif
