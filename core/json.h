/* SPDX-License-Identifier: MIT */
#ifndef FLAME_JSON_H
#define FLAME_JSON_H
/*
 * json.h - a pull reader of JSON (RFC 8259). It gives one token at a time, so that a file of any
 * length is read in the memory of its longest string:
 *
 *     flame_json_init(&json, rd->input);
 *     while ((token = flame_json_next(&json)) == FLAME_JSON_KEY) {
 *             if (flame_json_is(&json, "samples"))
 *                     …
 *             else
 *                     flame_json_skip(&json);
 *     }
 *
 * The grammar is checked in full, but for values that are skipped: of these only the brackets, the ends of strings
 * and the absence of control bytes in strings.
 * Bytes of strings that are not UTF-8 pass as they are; profilers write such names.
 *
 * One value is a document. Behind it only blanks may follow, unless json->many was set: then documents may
 * follow each other, and each begins with the token of its value.
 */
#include <string.h>

#include "input.h"
#include "number.h"

#define FLAME_JSON_DEPTH 8192			/* nested arrays and objects */
#define FLAME_JSON_STRING_MAX ((size_t)8 << 20)	/* longest string that is not skipped, as written: 8 MiB */
#define FLAME_JSON_NUMBER_MAX 4096		/* longest number, as written */

enum flame_json_token {
	FLAME_JSON_ERROR,	/* error and offset tell what and where, cut whether the input ended early; it stays so */
	FLAME_JSON_END,		/* of the input, behind a document; also of an input without any */
	FLAME_JSON_OBJECT,	/* members follow, each a key and a value, then FLAME_JSON_OBJECT_END */
	FLAME_JSON_OBJECT_END,
	FLAME_JSON_ARRAY,
	FLAME_JSON_ARRAY_END,
	FLAME_JSON_KEY,		/* text: the member's name, decoded; its value follows */
	FLAME_JSON_STRING,	/* text: decoded to UTF-8; lone surrogates become U+FFFD */
	FLAME_JSON_NUMBER,	/* text: as written; flame_json_int(), flame_json_decimal(), flame_json_double() */
	FLAME_JSON_TRUE,
	FLAME_JSON_FALSE,
	FLAME_JSON_NULL,
};

struct flame_reader;

struct flame_json {
	struct flame_span text;		/* of keys, strings and numbers; valid until the next call */
	const char *error;		/* what is wrong (static storage), or NULL */
	uint64_t offset;		/* of the error, in bytes from the start of the (decoded) input */
	bool cut;			/* the error is that the input ends inside a document */
	bool many;			/* set it after init: several documents may follow each other */
	uint32_t depth;			/* open arrays and objects */
	/* The rest is the reader's own. */
	struct flame_input *in;
	struct flame_input memory;	/* of flame_json_init_span() */
	uint8_t state;
	bool started;			/* a document has begun */
	bool is_int;			/* the number is @integer */
	int64_t integer;
	char *buf;			/* owned; decoded text */
	size_t room;
	uint64_t objects[FLAME_JSON_DEPTH / 64];	/* a bit for each open bracket: it is an object */
};

/* Read from @in, which stays the caller's; it may be used again behind the last token that was read. */
void flame_json_init(struct flame_json *json, struct flame_input *in);
/* Read @text, which stays the caller's. @json must not be moved. */
void flame_json_init_span(struct flame_json *json, struct flame_span text);
void flame_json_release(struct flame_json *json);

enum flame_json_token flame_json_next(struct flame_json *json);

/*
 * Step over the value that is next: a member's behind its key, an element of an array, a document. Strings
 * may have any length.
 * Return: the token that it began with; FLAME_JSON_ARRAY_END, FLAME_JSON_OBJECT_END, FLAME_JSON_END where there is
 * no value, FLAME_JSON_ERROR.
 */
enum flame_json_token flame_json_skip(struct flame_json *json);
/* Behind the beginning of an array or object. Return: whether its end follows, which is not taken. */
bool flame_json_is_empty(struct flame_json *json);
/* Step over what is left of the innermost open array or object, and its end. Return: false after an error. */
bool flame_json_leave(struct flame_json *json);
/* Step over the rest of the value that began with @token: nothing, unless it opened something. */
bool flame_json_skip_rest(struct flame_json *json, enum flame_json_token token);

/* Return: true where the text of the last token is @word. */
static inline bool flame_json_is(const struct flame_json *json, const char *word)
{
	size_t len = strlen(word);

	return json->text.len == len && !memcmp(json->text.s, word, len);
}

/*
 * The fast way through an array of whole numbers, which is what most bytes of a profile are: takes those that come
 * next, as many as @to has room for, as long as they are plain and in the view.
 * Return: how many; 0 where flame_json_next() has to look at what comes next.
 */
size_t flame_json_ints(struct flame_json *json, int64_t *to, size_t room);
/* Return: true where the last number is whole (also 2.0, 1e3) and fits, with it in *@value. */
bool flame_json_int(const struct flame_json *json, int64_t *value);
/*
 * The last number as a decimal, exact as long as value and scale (18) allow, else rounded to the last place that
 * fits. Return: FLAME_NUMBER_OK, or FLAME_NUMBER_TOO_BIG where its whole part does not fit 64 bits.
 */
enum flame_number_result flame_json_decimal(const struct flame_json *json, struct flame_number *number);
/* Return: the last number, within one unit of its last binary place; infinite where it is too big. No locale. */
double flame_json_double(const struct flame_json *json);

/*
 * For a converter that met FLAME_JSON_ERROR: says what and where. @kept tells whether something was read before it.
 * Return: 0 with the reading marked as damaged where something was kept; else a failure after an error.
 */
int flame_json_report(const struct flame_json *json, struct flame_reader *rd, bool kept);

#endif
