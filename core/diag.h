/* SPDX-License-Identifier: MIT */
#ifndef FLAME_DIAG_H
#define FLAME_DIAG_H
/* The core's side of the diagnostics; converters see flame_fail(), flame_skip() and flame_note(). */
#include "converter.h"

struct flame_skip {
	const char *reason;	/* a constant string */
	uint64_t line;		/* of the first */
	uint64_t nr;
};

/* Move everything of @from behind what @diag holds. */
void flame_diag_join(struct flame_diag *diag, struct flame_diag *from);
/* flame_skip() for a record that began @lines before the current one. */
int flame_skip_before(struct flame_reader *rd, const char *reason, uint64_t lines);
/* The same for @nr records, the first at @line. */
int flame_skip_at(struct flame_reader *rd, const char *reason, uint64_t line, uint64_t nr);
/* Drop all messages but the first @nr, and what has been skipped. */
void flame_diag_forget(struct flame_diag *diag, size_t nr);
/* After reading with --state @list: tell what it lists that is not there. */
void flame_diag_report_states(struct flame_diag *diag, const char *list);
/* Return: "; there are: A, B" or "", of the states that --state does not list; owned by the caller; NULL without memory. */
char *flame_diag_states(const struct flame_diag *diag);
/* Turn the counted skips into one warning a reason. */
void flame_diag_report_skips(struct flame_diag *diag);

#endif
