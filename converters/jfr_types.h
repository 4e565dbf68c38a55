/* SPDX-License-Identifier: MIT */
#ifndef FLAME_JFR_TYPES_H
#define FLAME_JFR_TYPES_H
/*
 * What the metadata event of a JFR chunk says of the chunk's types, and programs that step through
 * values of these types. Nothing here knows what an event means.
 */
#include "../core/flame.h"
#include "../core/idmap.h"

/* Longest nesting of metadata elements, and of structures inside structures. */
#define JFR_DEPTH_MAX 32
/* Steps of the program of one type, and fields that lead to it. */
#define JFR_STEPS_MAX 1024
#define JFR_FIELDS_MAX 16384

/* Bytes that are being read; once they are bad they stay so, and what is read is 0. */
struct jfr_cursor {
	const unsigned char *p, *end;
	bool bad;
};

/* Seven bits a byte, the lowest first; the ninth byte, if there is one, has eight. */
static inline uint64_t jfr_varint(struct jfr_cursor *c)
{
	const unsigned char *p = c->p;
	unsigned int most = c->end - p >= 9 ? 9 : (unsigned int)(c->end - p);
	uint64_t v = 0;

	if (most && p[0] < 0x80) {
		c->p++;
		return p[0];
	}
	for (unsigned int i = 0; i < most; i++) {
		v |= (uint64_t)(i < 8 ? p[i] & 0x7f : p[i]) << (7 * i);
		if (i == 8 || p[i] < 0x80) {
			c->p = p + i + 1;
			return v;
		}
	}
	c->bad = true;
	c->p = c->end;
	return 0;
}

static inline uint64_t jfr_load(const unsigned char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

#define JFR_HIGH_BITS 0x8080808080808080ull

/* A varint where 9 bytes can be read, without a branch on its length. Return: what is behind it. */
static inline const unsigned char *jfr_get_varint(const unsigned char *p, uint64_t *n)
{
	uint64_t word = jfr_load(p), ends = ~word & JFR_HIGH_BITS, high = 0;

	/* Only what is up to the first end, which has the lowest bit of ends; all where there is none. */
	word &= (ends ^ (ends - 1)) & ~JFR_HIGH_BITS;
	word = (word & 0x7f007f007f007f00ull) >> 1 | (word & 0x007f007f007f007full);
	word = (word & 0x3fff00003fff0000ull) >> 2 | (word & 0x00003fff00003fffull);
	word = (word & 0x0fffffff00000000ull) >> 4 | (word & 0x000000000fffffffull);
	if (!ends)
		high = (uint64_t)p[8] << 56;
	*n = word | high;
	return p + (ends ? (unsigned int)__builtin_ctzll(ends) / 8 + 1 : 9);
}

/* Step over @nr varints where 9 bytes each can be read. */
static inline const unsigned char *jfr_skip_some(const unsigned char *p, unsigned int nr)
{
	while (nr) {
		uint64_t ends = ~jfr_load(p) & JFR_HIGH_BITS;

		if (!ends) {
			p += 9;
			nr--;
			continue;
		}
		/* Up to the last of them that ends in these eight bytes. */
		for (uint64_t next; --nr && (next = ends & (ends - 1));)
			ends = next;
		p += (unsigned int)__builtin_ctzll(ends) / 8 + 1;
	}
	return p;
}

/* What a step found: a number, or where a string, an array or a structure begins. */
struct jfr_value {
	uint64_t n;
	const unsigned char *p;
};

enum jfr_step_code {
	JFR_END,
	JFR_SKIP,	/* n varints */
	JFR_GET,	/* a varint into the slot */
	JFR_BYTES,	/* n bytes */
	JFR_GET_BYTES,	/* n bytes, the highest first, into the slot */
	JFR_STRING,
	JFR_MARK,	/* the place into the slot; nothing is read */
	JFR_LOOP,	/* a count, and so often the n steps behind it */
	JFR_NEXT,
};

struct jfr_step {
	uint16_t code, slot, n;
};

/* Programs that only skip and get varints, at most so many, can be run faster. */
#define JFR_GETS_MAX 8

struct jfr_get {
	uint16_t skip, slot;	/* how many varints to skip, and where the next one goes */
};

struct jfr_program {
	struct jfr_step *steps;		/* owned; ends with JFR_END */
	size_t nr, room;
	struct jfr_get gets[JFR_GETS_MAX];
	unsigned int nr_gets;		/* 0: it is another one */
	unsigned int most;		/* bytes that it may take */
};

enum jfr_unit {
	JFR_UNIT_NONE,
	JFR_TICKS,
	JFR_NANOSECONDS,
	JFR_MICROSECONDS,
	JFR_MILLISECONDS,
	JFR_SECONDS,
};

struct jfr_field {
	struct flame_span name;
	uint64_t type;
	enum jfr_unit unit;
	bool array, pool;
};

struct jfr_class {
	uint64_t id;
	struct flame_span name;
	bool event;		/* says of itself that it is one */
	uint32_t first, nr;	/* fields */
};

struct jfr_types {
	unsigned char *bytes;	/* owned: the metadata; names lie in it or in text */
	size_t len, room_bytes;
	char *text;		/* owned: strings that had to be converted */
	size_t nr_text, room_text;
	struct flame_span *strings;
	size_t nr_strings, room_strings;
	struct jfr_class *classes;
	size_t nr_classes, room_classes;
	struct jfr_field *fields;
	size_t nr_fields, room_fields;
	struct idmap by_id;	/* class id -> index */
};

/*
 * Learn the types from the metadata event's content behind its id: the strings and the elements.
 * Return: 0, FLAME_EFORMAT or FLAME_ENOMEM; release in any case.
 */
int jfr_types_read(struct jfr_types *types, const unsigned char *bytes, size_t len);
void jfr_types_release(struct jfr_types *types);
/* Return: true where @types came from just these bytes. */
bool jfr_types_same(const struct jfr_types *types, const unsigned char *bytes, size_t len);

/* Return: NULL where there is none. */
const struct jfr_class *jfr_class_find(const struct jfr_types *types, const char *name);
const struct jfr_class *jfr_class_of_id(const struct jfr_types *types, uint64_t id);
const struct jfr_field *jfr_field_find(const struct jfr_types *types, const struct jfr_class *class, const char *name);

static inline bool span_is(struct flame_span s, const char *text)
{
	return s.len == strlen(text) && !memcmp(s.s, text, s.len);
}

/*
 * The program that steps through a value of @class and puts the fields called @names[i] into slot i;
 * of a type without fields, the value itself into slot 0. Names may be NULL. @whole: to the value's end, else to the last field that is wanted.
 * Return: 0, FLAME_EFORMAT where the type is not defined, nests too deep or is too large, FLAME_ENOMEM.
 */
int jfr_compile(struct jfr_program *program, const struct jfr_types *types, const struct jfr_class *class,
		const char *const *names, size_t nr_names, bool whole);
/* Step through. Return: false where the bytes end too early. @values is set where the program finds something. */
bool jfr_run(const struct jfr_program *program, struct jfr_cursor *c, struct jfr_value *values);
/*
 * The same where program->nr_gets says so and program->most + 8 bytes can be read, though these may be
 * of what comes behind: to be checked by where it ends. Return: where it ends.
 */
static inline const unsigned char *jfr_run_gets(const struct jfr_program *program, const unsigned char *p,
						struct jfr_value *values)
{
	for (unsigned int i = 0; i < program->nr_gets; i++) {
		const struct jfr_get *get = &program->gets[i];

		p = jfr_skip_some(p, get->skip);
		p = jfr_get_varint(p, &values[get->slot].n);
	}
	return p;
}
/* Step over @n varints. */
void jfr_skip_varints(struct jfr_cursor *c, uint64_t n);

enum jfr_text {
	JFR_TEXT_NULL,
	JFR_TEXT_POOL,	/* *@id in the pool of strings */
	JFR_TEXT_BYTES,	/* *@text: in the bytes, or in *@buf */
	JFR_TEXT_BAD,
};

/* Read a string: a byte that tells its encoding, and what that calls for. *@buf grows as needed. */
enum jfr_text jfr_text_read(struct jfr_cursor *c, struct flame_span *text, uint64_t *id, char **buf, size_t *room);

#endif
