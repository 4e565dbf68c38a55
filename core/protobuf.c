/* SPDX-License-Identifier: MIT */
/*
 * protobuf.c - fields of messages: varints, 4 and 8 bytes, and bytes with their length before them.
 */
#include "protobuf.h"

#include <string.h>

#include "table.h"

/* Reading. */

const char *flame_pb_long_varint(const char *at, const char *end, uint64_t *value)
{
	uint64_t v = 0;

	if (end - at > FLAME_PB_VARINT_MAX)
		end = at + FLAME_PB_VARINT_MAX;
	for (unsigned int shift = 0; at < end; shift += 7) {
		unsigned char c = (unsigned char)*at++;

		v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80)) {
			*value = v;
			return at;
		}
	}
	return NULL;
}

/* A varint that does not end before the bytes do may go on behind them; a longer one is none. */
static enum flame_pb_result no_varint(struct flame_pb *pb, const char *at)
{
	if (pb->end - at >= FLAME_PB_VARINT_MAX)
		return FLAME_PB_BAD;
	pb->want = (size_t)(pb->end - pb->at) + 1;
	return FLAME_PB_SHORT;
}

static enum flame_pb_result read_fixed(struct flame_pb *pb, const char **at, size_t size, uint64_t *value)
{
	if ((size_t)(pb->end - *at) < size) {
		pb->want = (size_t)(*at - pb->at) + size;
		return FLAME_PB_SHORT;
	}
	*value = 0;
	for (size_t i = size; i-- > 0;)
		*value = *value << 8 | (unsigned char)(*at)[i];
	*at += size;
	return FLAME_PB_FIELD;
}

static enum flame_pb_result read_bytes(struct flame_pb *pb, const char **at, struct flame_span *bytes)
{
	const char *start;
	uint64_t len;

	start = flame_pb_varint(*at, pb->end, &len);
	if (!start)
		return no_varint(pb, *at);
	if (len > (uint64_t)(pb->end - start)) {
		size_t before = (size_t)(start - pb->at);

		if (len > SIZE_MAX - before)
			return FLAME_PB_BAD;
		pb->want = before + (size_t)len;
		return FLAME_PB_SHORT;
	}
	*bytes = (struct flame_span){ start, (size_t)len };
	*at = start + len;
	return FLAME_PB_FIELD;
}

/* One tag and what follows it; of a group only the tag. */
static enum flame_pb_result read_field(struct flame_pb *pb, const char **at, struct flame_pb_field *field)
{
	const char *next;
	uint64_t tag;

	next = flame_pb_varint(*at, pb->end, &tag);
	if (!next)
		return no_varint(pb, *at);
	if (tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
		return FLAME_PB_BAD;
	*at = next;
	*field = (struct flame_pb_field){ .nr = (uint32_t)(tag >> 3), .wire = (enum flame_pb_wire)(tag & 7),
					  .bytes = { next, 0 } };
	switch (field->wire) {
	case FLAME_PB_VARINT:
		*at = flame_pb_varint(next, pb->end, &field->number);
		return *at ? FLAME_PB_FIELD : no_varint(pb, next);
	case FLAME_PB_FIXED64:
		return read_fixed(pb, at, 8, &field->number);
	case FLAME_PB_FIXED32:
		return read_fixed(pb, at, 4, &field->number);
	case FLAME_PB_BYTES:
		return read_bytes(pb, at, &field->bytes);
	case FLAME_PB_GROUP:
	case FLAME_PB_GROUP_END:
		return FLAME_PB_FIELD;
	default:
		return FLAME_PB_BAD;
	}
}

/* Step over a group, whose tag has been read: up to the end tag of the same number. */
static enum flame_pb_result skip_group(struct flame_pb *pb, const char **at, uint32_t nr)
{
	uint32_t open[FLAME_PB_GROUPS_MAX];
	size_t depth = 0;

	open[depth++] = nr;
	while (depth) {
		struct flame_pb_field field;
		enum flame_pb_result result = read_field(pb, at, &field);

		if (result != FLAME_PB_FIELD)
			return result;
		if (field.wire == FLAME_PB_GROUP) {
			if (depth == FLAME_PB_GROUPS_MAX)
				return FLAME_PB_BAD;
			open[depth++] = field.nr;
		} else if (field.wire == FLAME_PB_GROUP_END && open[--depth] != field.nr) {
			return FLAME_PB_BAD;
		}
	}
	return FLAME_PB_FIELD;
}

enum flame_pb_result flame_pb_next_any(struct flame_pb *pb, struct flame_pb_field *field)
{
	const char *at = pb->at, *behind;
	uint64_t number;

	/* A number with a tag of one byte. */
	if (pb->end - at >= 2 && !(at[0] & 0x87) && at[0] >= 8 && (behind = flame_pb_varint(at + 1, pb->end, &number))) {
		*field = (struct flame_pb_field){ (uint32_t)at[0] >> 3, FLAME_PB_VARINT, number, { at + 1, 0 } };
		pb->at = behind;
		return FLAME_PB_FIELD;
	}

	while (at < pb->end) {
		enum flame_pb_result result = read_field(pb, &at, field);

		if (result == FLAME_PB_FIELD && field->wire == FLAME_PB_GROUP)
			result = skip_group(pb, &at, field->nr);
		else if (result == FLAME_PB_FIELD && field->wire == FLAME_PB_GROUP_END)
			result = FLAME_PB_BAD;
		else if (result == FLAME_PB_FIELD) {
			pb->at = at;
			return FLAME_PB_FIELD;
		}
		if (result != FLAME_PB_FIELD)
			return result;
		pb->at = at;
	}
	return FLAME_PB_END;
}

bool flame_pb_next_number(const struct flame_pb_field *field, const char **at, uint64_t *value)
{
	const char *end = field->bytes.s + field->bytes.len;

	if (field->wire != FLAME_PB_BYTES) {
		if (*at)
			return false;
		*at = end;
		*value = field->number;
		return true;
	}
	if (!*at)
		*at = field->bytes.s;
	if (*at == end)
		return false;
	*at = flame_pb_varint(*at, end, value);
	return *at;
}

/* Writing. */

static bool reserve(struct flame_pb_out *out, size_t more)
{
	if (!out->failed && !array_reserve((void **)&out->bytes, &out->room, out->len + more, 1))
		out->failed = true;
	return !out->failed;
}

void flame_pb_put_varint(struct flame_pb_out *out, uint64_t value)
{
	if (!reserve(out, FLAME_PB_VARINT_MAX))
		return;
	for (; value >= 0x80; value >>= 7)
		out->bytes[out->len++] = (char)(value | 0x80);
	out->bytes[out->len++] = (char)value;
}

void flame_pb_put_number(struct flame_pb_out *out, uint32_t nr, uint64_t value)
{
	flame_pb_put_varint(out, (uint64_t)nr << 3 | FLAME_PB_VARINT);
	flame_pb_put_varint(out, value);
}

void flame_pb_put_bytes(struct flame_pb_out *out, uint32_t nr, struct flame_span bytes)
{
	flame_pb_put_varint(out, (uint64_t)nr << 3 | FLAME_PB_BYTES);
	flame_pb_put_varint(out, bytes.len);
	if (!bytes.len || !reserve(out, bytes.len))
		return;
	memcpy(out->bytes + out->len, bytes.s, bytes.len);
	out->len += bytes.len;
}

void flame_pb_put_message(struct flame_pb_out *out, uint32_t nr, struct flame_pb_out *message)
{
	flame_pb_put_bytes(out, nr, (struct flame_span){ message->bytes, message->len });
	out->failed |= message->failed;
	message->len = 0;
}
