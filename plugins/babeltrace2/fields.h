/* SPDX-License-Identifier: MIT */
#ifndef FLAME_BT2_FIELDS_H
#define FLAME_BT2_FIELDS_H
/*
 * fields.h - fields of events by place. Names are compared once an event class; what is read of every
 * event is inlined, for then babeltrace2's own functions are all that is left.
 */
#include <babeltrace2/babeltrace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a field is. */
enum scope { SCOPE_NONE, SCOPE_PAYLOAD, SCOPE_SPECIFIC, SCOPE_COMMON };
#define IN_PAYLOAD (1u << SCOPE_PAYLOAD)
#define IN_SPECIFIC (1u << SCOPE_SPECIFIC)
#define IN_COMMON (1u << SCOPE_COMMON)
#define IN_CONTEXT (IN_SPECIFIC | IN_COMMON)
#define ANYWHERE (IN_PAYLOAD | IN_CONTEXT)

/* What is read of a field; others are as if they were not there. */
enum shape { SHAPE_NONE, SHAPE_UNSIGNED, SHAPE_SIGNED, SHAPE_TEXT, SHAPE_ARRAY, SHAPE_STRUCT, SHAPE_BLOB, SHAPE_OPTION };

/* Return: the structure of all fields in a scope; NULL where the event has none. */
typedef const bt_field *(*scope_borrow)(const bt_event *event);

struct field {
	enum scope scope;	/* SCOPE_NONE: there is none */
	enum shape shape;
	enum shape content;	/* of an option; else the shape itself */
	bool signed_items;	/* of an array of integers */
	uint64_t index;		/* in its structure */
	scope_borrow borrow;	/* that structure; NULL: there is none */
};

struct field field_find(const bt_event_class *class, const char *name, unsigned int scopes);
/* Return: NULL where there is none. */
const char *field_text(const bt_event *event, const struct field *f);
/* Copy the bytes of a BLOB, or of an array of numbers. Return: how many; 0 where there are none, or more than @room. */
size_t field_bytes(const bt_event *event, const struct field *f, uint8_t *bytes, size_t room);
/* The text of member @name of a structure. */
const char *field_member_text(const bt_event *event, const struct field *f, const char *name);

/* Return: NULL where there is none. */
static inline const bt_field *field_borrow(const bt_event *event, const struct field *f)
{
	const bt_field *all = f->borrow ? f->borrow(event) : NULL;

	return all ? bt_field_structure_borrow_member_field_by_index_const(all, f->index) : NULL;
}

/* Return: what an option holds, or NULL; any other field itself. */
static inline const bt_field *field_content(const bt_field *field, const struct field *f)
{
	return field && f->shape == SHAPE_OPTION ? bt_field_option_borrow_field_const(field) : field;
}

/* Return: false where the option holds no number. */
bool number_in_option(const bt_field *option, uint64_t *value);

/* Return: false where @field is no number; signed ones are sign-extended. */
static inline bool number_of(const bt_field *field, enum shape shape, uint64_t *value)
{
	if (shape == SHAPE_UNSIGNED)
		*value = bt_field_integer_unsigned_get_value(field);
	else if (shape == SHAPE_SIGNED)
		*value = (uint64_t)bt_field_integer_signed_get_value(field);
	else
		return shape == SHAPE_OPTION && number_in_option(field, value);
	return true;
}

/* Return: false where there is none. */
static inline bool field_number(const bt_event *event, const struct field *f, uint64_t *value)
{
	const bt_field *field = field_borrow(event, f);

	return field && number_of(field, f->shape, value);
}

/* What tells the thread: two numbers. */
struct ids {
	struct field pid, tid;
	scope_borrow both;	/* both are signed and in this structure, as with all tracers; NULL: they are not */
};

void ids_prepare(struct ids *ids);

/* To be called where @ids->both. */
static inline void ids_get_both(const bt_event *event, const struct ids *ids, int32_t *pid, int32_t *tid)
{
	const bt_field *all = ids->both(event);

	*tid = (int32_t)bt_field_integer_signed_get_value(
		bt_field_structure_borrow_member_field_by_index_const(all, ids->tid.index));
	*pid = (int32_t)bt_field_integer_signed_get_value(
		bt_field_structure_borrow_member_field_by_index_const(all, ids->pid.index));
}

/* Those that there are not stay as they were. */
static inline void ids_get(const bt_event *event, const struct ids *ids, int32_t *pid, int32_t *tid)
{
	uint64_t value;

	if (ids->both) {
		ids_get_both(event, ids, pid, tid);
		return;
	}
	if (field_number(event, &ids->tid, &value))
		*tid = (int32_t)value;
	if (field_number(event, &ids->pid, &value))
		*pid = (int32_t)value;
}

#endif
