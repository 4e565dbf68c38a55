/* SPDX-License-Identifier: MIT */
/* meet.c - nanoseconds and microseconds are compared; nanoseconds and bytes are not. */
#define _GNU_SOURCE
#include "meet.h"

#include <string.h>

#include "diff.h"
#include "merge.h"
#include "span.h"
#include "units.h"

#define WAY_OUT "choose alike ones with --event, or compare samples with --count"

static const struct flame_type_info *info_of(const struct flame_met *m)
{
	return flame_type_get(m->profile, m->type);
}

static struct flame_span unit_of(const struct flame_met *m)
{
	return flame_string_get(m->profile, info_of(m)->unit);
}

static bool same(struct flame_span a, struct flame_span b)
{
	return a.len == b.len && !memcmp(a.s, b.s, a.len);
}

/* As it stands in a sentence behind "counts". */
static const char *word(const struct flame_met *m)
{
	struct flame_span unit = unit_of(m);

	return flame_unit_counts(unit) ? "samples or events" : unit.s;
}

static int convert(const struct flame_met *m, const struct flame_met *to, int64_t ratio, struct flame_diag *diag)
{
	flame_string unit;
	int err;

	if (ratio > 1)
		flame_diag_add(diag, FLAME_NOTE, "%s counts %.64s, %s %.64s: both are compared in %.64s", m->name,
			       unit_of(m).s, to->name, unit_of(to).s, unit_of(to).s);
	unit = flame_string_copy(m->profile, to->profile, info_of(to)->unit);
	err = flame_type_convert(m->profile, m->type, unit, ratio);
	if (err == FLAME_EOVERFLOW)
		flame_diag_add(diag, FLAME_ERROR, "%s has values too large to count in %.64s as %s does: "
			       "compare samples with --count", m->name, unit_of(to).s, to->name);
	return err;
}

/* Of another event it is not known that its values are the same. That they differ is said by who asks. */
static bool is_other_event(const struct flame_met *m, const struct flame_met *other)
{
	struct flame_span a = flame_string_get(m->profile, info_of(m)->name);
	struct flame_span b = flame_string_get(other->profile, info_of(other)->name);

	return a.len && b.len && !same(a, b);
}

/* @m has no unit, @other has one. */
static int take_unit(const struct flame_met *m, const struct flame_met *other, struct flame_diag *diag)
{
	struct flame_span unit = unit_of(other);

	if (flame_unit_counts(unit))
		return 0;
	if (flame_numbering_of(m->profile, m->type) == FLAME_NUMBERED_VALUES) {
		flame_diag_add(diag, FLAME_WARNING, "%s does not say what it counts and looks like numbers of samples, "
			       "while %s counts %.64s: only shares compare. If it counts %.64s too, put \"# unit: %.64s\" on its first line",
			       m->name, other->name, unit.s, unit.s, unit.s);
		return 0;
	}
	if (is_other_event(m, other))
		return 0;
	flame_diag_add(diag, FLAME_NOTE, "%s does not say what it counts: it is taken to be %.64s, as in %s", m->name, unit.s,
		       other->name);
	return convert(m, other, 1, diag);
}

static int meet_units(const struct flame_met *before, const struct flame_met *after, struct flame_diag *diag)
{
	struct flame_span a = unit_of(before), b = unit_of(after);
	int64_t finer_after = flame_unit_ratio(a, b), finer_before = flame_unit_ratio(b, a);

	if (!a.len && !b.len)
		return 0;
	if (!a.len || !b.len)
		return a.len ? take_unit(after, before, diag) : take_unit(before, after, diag);
	if (finer_after)
		return same(a, b) ? 0 : convert(before, after, finer_after, diag);
	if (finer_before)
		return convert(after, before, finer_before, diag);
	flame_diag_add(diag, FLAME_ERROR, "%s counts %.64s, %s %.64s: " WAY_OUT, before->name, word(before), after->name,
		       word(after));
	return FLAME_EARG;
}

/*
 * Time on a processor is not time off it, nor that on the clock. Where samples alone are compared, it is the user who
 * says so.
 */
static int check_kinds(const struct flame_met *before, const struct flame_met *after, bool count, struct flame_diag *diag)
{
	enum flame_value_kind a = info_of(before)->kind, b = info_of(after)->kind;

	if (!a || !b || a == b)
		return 0;
	flame_diag_add(diag, count ? FLAME_WARNING : FLAME_ERROR, "%s is %s, %s %s: %s", before->name,
		       flame_value_kind_name(a), after->name, flame_value_kind_name(b), count ? "what differs may be that, and not the code" : WAY_OUT);
	return count ? 0 : FLAME_EARG;
}

int flame_types_meet(const struct flame_met *before, const struct flame_met *after, bool count, struct flame_diag *diag)
{
	struct flame_span a, b;
	int err = check_kinds(before, after, count, diag);

	if (!err && !count)
		err = meet_units(before, after, diag);
	if (err)
		return err;
	a = flame_string_get(before->profile, info_of(before)->name);
	b = flame_string_get(after->profile, info_of(after)->name);
	if (a.len && b.len && !same(a, b))
		flame_diag_add(diag, FLAME_WARNING, "%s counts %.64s, %s %.64s", before->name, a.s, after->name, b.s);
	return 0;
}
