// SPDX-License-Identifier: MIT
/*
 * fields.c - finding fields by name, which is done once an event class.
 */
#include <string.h>

#include "sink.h"

static const bt_field_class *scope_class(const bt_event_class *class, enum scope scope)
{
	switch (scope) {
	case SCOPE_PAYLOAD:
		return bt_event_class_borrow_payload_field_class_const(class);
	case SCOPE_SPECIFIC:
		return bt_event_class_borrow_specific_context_field_class_const(class);
	case SCOPE_COMMON:
		return bt_stream_class_borrow_event_common_context_field_class_const(
			bt_event_class_borrow_stream_class_const(class));
	case SCOPE_NONE:
		break;
	}
	return NULL;
}

static enum shape shape_of(const bt_field_class *class)
{
	bt_field_class_type type = bt_field_class_get_type(class);

	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		return SHAPE_UNSIGNED;
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		return SHAPE_SIGNED;
	if (type == BT_FIELD_CLASS_TYPE_STRING)
		return SHAPE_TEXT;
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ARRAY))
		return SHAPE_ARRAY;
#ifdef HAVE_BT2_MIP_1
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_BLOB))
		return SHAPE_BLOB;
#endif
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_OPTION))
		return SHAPE_OPTION;
	return type == BT_FIELD_CLASS_TYPE_STRUCTURE ? SHAPE_STRUCT : SHAPE_NONE;
}

/* Arrays are of use where they hold integers. */
static bool set_shape(struct field *f, const bt_field_class *class)
{
	f->shape = f->content = shape_of(class);
	if (f->shape == SHAPE_OPTION) {
		class = bt_field_class_option_borrow_field_class_const(class);
		f->content = shape_of(class);
	}
	if (f->content == SHAPE_ARRAY) {
		enum shape items = shape_of(bt_field_class_array_borrow_element_field_class_const(class));

		f->signed_items = items == SHAPE_SIGNED;
		return items == SHAPE_SIGNED || items == SHAPE_UNSIGNED;
	}
	return f->content != SHAPE_NONE && f->content != SHAPE_OPTION;
}

struct field field_find(const bt_event_class *class, const char *name, unsigned int scopes)
{
	static const scope_borrow borrow[] = {
		[SCOPE_PAYLOAD] = bt_event_borrow_payload_field_const,
		[SCOPE_SPECIFIC] = bt_event_borrow_specific_context_field_const,
		[SCOPE_COMMON] = bt_event_borrow_common_context_field_const,
	};
	struct field f = { 0 };

	for (enum scope scope = SCOPE_PAYLOAD; scope <= SCOPE_COMMON; scope++) {
		const bt_field_class *all = scopes & 1u << scope ? scope_class(class, scope) : NULL;
		uint64_t nr = all ? bt_field_class_structure_get_member_count(all) : 0;

		for (f.index = 0; f.index < nr; f.index++) {
			const bt_field_class_structure_member *m =
				bt_field_class_structure_borrow_member_by_index_const(all, f.index);

			if (strcmp(bt_field_class_structure_member_get_name(m), name) != 0)
				continue;
			if (set_shape(&f, bt_field_class_structure_member_borrow_field_class_const(m))) {
				f.scope = scope;
				f.borrow = borrow[scope];
				return f;
			}
		}
	}
	return (struct field){ 0 };
}

void ids_prepare(struct ids *ids)
{
	const struct field *pid = &ids->pid, *tid = &ids->tid;

	ids->both = pid->scope == tid->scope && pid->shape == SHAPE_SIGNED && tid->shape == SHAPE_SIGNED ? tid->borrow : NULL;
}

bool number_in_option(const bt_field *option, uint64_t *value)
{
	const bt_field *field = bt_field_option_borrow_field_const(option);

	if (!field)
		return false;
	if (bt_field_class_type_is(bt_field_get_class_type(field), BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		return number_of(field, SHAPE_UNSIGNED, value);
	return bt_field_class_type_is(bt_field_get_class_type(field), BT_FIELD_CLASS_TYPE_SIGNED_INTEGER) &&
	       number_of(field, SHAPE_SIGNED, value);
}

/* Fields are used again, and 2.0 leaves in an empty one what was there before. */
static const char *text_of(const bt_field *field)
{
	return bt_field_string_get_length(field) ? bt_field_string_get_value(field) : "";
}

const char *field_text(const bt_event *event, const struct field *f)
{
	const bt_field *field = f->scope && f->content == SHAPE_TEXT ? field_content(field_borrow(event, f), f) : NULL;

	return field ? text_of(field) : NULL;
}

size_t field_bytes(const bt_event *event, const struct field *f, uint8_t *bytes, size_t room)
{
	const bt_field *field = field_content(field_borrow(event, f), f);
	uint64_t nr = 0;

#ifdef HAVE_BT2_MIP_1
	if (field && f->content == SHAPE_BLOB) {
		nr = bt_field_blob_get_length(field);
		if (nr && nr <= room)
			memcpy(bytes, bt_field_blob_get_data_const(field), nr);
	}
#endif
	if (field && f->content == SHAPE_ARRAY && !f->signed_items) {
		nr = bt_field_array_get_length(field);
		for (uint64_t i = 0; nr <= room && i < nr; i++)
			bytes[i] = (uint8_t)bt_field_integer_unsigned_get_value(
				bt_field_array_borrow_element_field_by_index_const(field, i));
	}
	return nr <= room ? nr : 0;
}

const char *field_member_text(const bt_event *event, const struct field *f, const char *name)
{
	const bt_field *field = f->scope && f->content == SHAPE_STRUCT ? field_content(field_borrow(event, f), f) : NULL;

	if (field)
		field = bt_field_structure_borrow_member_field_by_name_const(field, name);
	if (!field || bt_field_get_class_type(field) != BT_FIELD_CLASS_TYPE_STRING)
		return NULL;
	return text_of(field);
}
