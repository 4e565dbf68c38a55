/* SPDX-License-Identifier: MIT */
#ifndef FLAME_PROTOBUF_H
#define FLAME_PROTOBUF_H
/*
 * Protocol buffers' wire format: a reader that takes a message apart field by field where it lies
 * in memory, and a writer. Several formats are made of it (pprof, Perfetto, OTLP), and each knows
 * its fields itself; here are only numbers and bytes.
 *
 * The reader copies and allocates nothing, and reads no byte behind the end. A nested message is
 * the bytes of its field, read with a reader of its own.
 */
#include <stdbool.h>
#include <stddef.h>

#include "flame.h"

#define FLAME_PB_VARINT_MAX 10	/* bytes of the longest varint */
#define FLAME_PB_GROUPS_MAX 64	/* groups within each other, which are only skipped */

enum flame_pb_wire {
	FLAME_PB_VARINT = 0,
	FLAME_PB_FIXED64 = 1,
	FLAME_PB_BYTES = 2,
	FLAME_PB_GROUP = 3,
	FLAME_PB_GROUP_END = 4,
	FLAME_PB_FIXED32 = 5,
};

/* What is left of a message. */
struct flame_pb {
	const char *at, *end;
	size_t want;	/* after FLAME_PB_SHORT: the field needs at least so many bytes from @at on */
};

struct flame_pb_field {
	uint32_t nr;
	enum flame_pb_wire wire;	/* FLAME_PB_GROUP never: groups are stepped over */
	uint64_t number;		/* of a varint or fixed; 0 for bytes */
	struct flame_span bytes;	/* of FLAME_PB_BYTES; else empty */
};

enum flame_pb_result {
	FLAME_PB_END,	/* nothing is left */
	FLAME_PB_FIELD,
	FLAME_PB_SHORT,	/* the bytes end within the field; the reader still stands before it */
	FLAME_PB_BAD,	/* not a message */
};

static inline struct flame_pb flame_pb(struct flame_span message)
{
	return (struct flame_pb){ message.s, message.s + message.len, 0 };
}

/* The rest of flame_pb_varint(), for numbers above 127. */
const char *flame_pb_long_varint(const char *at, const char *end, uint64_t *value);

/*
 * Read the varint at @at. Bits above the 64th are dropped, as by all readers; padding is allowed.
 * Return: where it ends; NULL where it does not end before @end or within FLAME_PB_VARINT_MAX bytes.
 */
static inline const char *flame_pb_varint(const char *at, const char *end, uint64_t *value)
{
	if (at < end && !(*at & 0x80)) {
		*value = (unsigned char)*at;
		return at + 1;
	}
	return flame_pb_long_varint(at, end, value);
}

/*
 * Read the varint that ends before @at, of those that @start begins with.
 * Return: where it begins; NULL where what ends there is none, or is longer than FLAME_PB_VARINT_MAX bytes.
 */
static inline const char *flame_pb_varint_before(const char *start, const char *at, uint64_t *value)
{
	const char *least = at - start > FLAME_PB_VARINT_MAX ? at - FLAME_PB_VARINT_MAX : start;
	uint64_t v;

	if (at == start || at[-1] & 0x80)
		return NULL;
	v = (unsigned char)*--at;
	while (at > least && at[-1] & 0x80)
		v = v << 7 | (*--at & 0x7f);
	*value = v;
	return at > start && at[-1] & 0x80 ? NULL : at;
}

/* The rest of flame_pb_next(), for other fields than those of some bytes. */
enum flame_pb_result flame_pb_next_any(struct flame_pb *pb, struct flame_pb_field *field);

/* Take the next field. @field is set only for FLAME_PB_FIELD. */
static inline enum flame_pb_result flame_pb_next(struct flame_pb *pb, struct flame_pb_field *field)
{
	const unsigned char *at = (const unsigned char *)pb->at;
	ptrdiff_t left = pb->end - pb->at, len, head = 2;

	/* A tag of one byte and a length of one or two. */
	if (left < 3 || (at[0] & 0x87) != FLAME_PB_BYTES || at[0] < 8)
		return flame_pb_next_any(pb, field);
	len = at[1];
	if (len > 0x7f) {
		len = (len & 0x7f) | (ptrdiff_t)at[2] << 7;
		head = 3;
	}
	if (at[head - 1] > 0x7f || len > left - head)
		return flame_pb_next_any(pb, field);
	*field = (struct flame_pb_field){ (uint32_t)at[0] >> 3, FLAME_PB_BYTES, 0, { pb->at + head, (size_t)len } };
	pb->at += head + len;
	return FLAME_PB_FIELD;
}

/*
 * A repeated number may come as one field each or packed into one field's bytes. Take the next of
 * @field's numbers; set *@at to NULL before the first.
 * Return: false behind the last one; then *@at is NULL if the bytes end within a number.
 */
bool flame_pb_next_number(const struct flame_pb_field *field, const char **at, uint64_t *value);

/* A message being written. Zero-initialise; free() bytes. */
struct flame_pb_out {
	char *bytes;
	size_t len, room;
	bool failed;	/* no memory: what was put since is missing */
};

void flame_pb_put_varint(struct flame_pb_out *out, uint64_t value);
/* A field with a number; also one that is 0. */
void flame_pb_put_number(struct flame_pb_out *out, uint32_t nr, uint64_t value);
/* A field with bytes: a string, a nested message, packed numbers. */
void flame_pb_put_bytes(struct flame_pb_out *out, uint32_t nr, struct flame_span bytes);
/* The same with what another writer holds, which is then empty. */
void flame_pb_put_message(struct flame_pb_out *out, uint32_t nr, struct flame_pb_out *message);

#endif
