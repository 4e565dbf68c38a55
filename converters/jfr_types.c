/* SPDX-License-Identifier: MIT */
/*
 * jfr_types.c - the types of a JFR chunk. The metadata event is a table of strings and a tree of
 * elements (root > metadata > class > field > annotation), each with attributes that are pairs of
 * numbers into that table. Structures are flattened into programs when a type is first needed, so
 * that reading a value neither looks names up nor recurses.
 */
#include "jfr_types.h"

#include <stdlib.h>

#include "../core/table.h"
#include "../core/utf8.h"

/* @nr UTF-16 units, a varint each. A surrogate without its other half becomes U+FFFD. */
static bool read_chars(struct jfr_cursor *c, uint64_t nr, struct flame_span *text, char **buf, size_t *room)
{
	uint32_t high = 0;
	size_t len = 0;

	/* A unit takes a byte at least, so this is no more than three times what is there. */
	if (nr > (size_t)(c->end - c->p) || !array_reserve((void **)buf, room, (size_t)nr * 3 + 4, 1) || !*buf)
		return false;
	for (uint64_t i = 0; i < nr; i++)
		len += utf16_put(&high, *buf + len, (uint32_t)jfr_varint(c) & 0xffff);
	len += utf16_end(&high, *buf + len);
	*text = (struct flame_span){ *buf, len };
	return !c->bad;
}

static bool read_latin1(struct jfr_cursor *c, uint64_t len, struct flame_span *text, char **buf, size_t *room)
{
	const unsigned char *p = c->p;
	size_t ascii = 0, n = 0;

	if (len > (size_t)(c->end - p))
		return false;
	c->p += len;
	while (ascii < len && p[ascii] < 0x80)
		ascii++;
	*text = (struct flame_span){ (const char *)p, (size_t)len };
	if (ascii == len)
		return true;
	if (!array_reserve((void **)buf, room, (size_t)len * 2, 1) || !*buf)
		return false;
	for (size_t i = 0; i < len; i++)
		n += utf8_put(*buf + n, p[i]);
	*text = (struct flame_span){ *buf, n };
	return true;
}

enum jfr_text jfr_text_read(struct jfr_cursor *c, struct flame_span *text, uint64_t *id, char **buf, size_t *room)
{
	unsigned int encoding = c->p < c->end ? *c->p++ : 6;
	uint64_t n = encoding >= 2 && encoding <= 5 ? jfr_varint(c) : 0;
	bool ok = !c->bad;

	*text = (struct flame_span){ "", 0 };
	switch (encoding) {
	case 0:
		return JFR_TEXT_NULL;
	case 1:
		return JFR_TEXT_BYTES;
	case 2:
		*id = n;
		return ok ? JFR_TEXT_POOL : JFR_TEXT_BAD;
	case 3:
		ok = ok && n <= (size_t)(c->end - c->p);
		if (ok)
			*text = (struct flame_span){ (const char *)c->p, (size_t)n };
		c->p += ok ? n : 0;
		break;
	case 4:
		ok = ok && read_chars(c, n, text, buf, room);
		break;
	case 5:
		ok = ok && read_latin1(c, n, text, buf, room);
		break;
	default:
		ok = false;
	}
	if (ok)
		return JFR_TEXT_BYTES;
	c->bad = true;
	return JFR_TEXT_BAD;
}

static void skip_string(struct jfr_cursor *c)
{
	unsigned int encoding = c->p < c->end ? *c->p++ : 6;
	uint64_t n = encoding >= 2 && encoding <= 5 ? jfr_varint(c) : 0;

	if (encoding == 4)
		jfr_skip_varints(c, n);
	else if (encoding > 5 || (encoding > 2 && n > (size_t)(c->end - c->p)))
		c->bad = true;
	else if (encoding > 2)
		c->p += n;
}

/*
 * A varint ends at its first byte without the high bit, so eight bytes tell at once how many end in
 * them. Each step begins at a varint, so one of nine bytes, whose last has no such bit, shows as
 * eight bytes without an end.
 */
void jfr_skip_varints(struct jfr_cursor *c, uint64_t n)
{
	while (n >= 8 && c->end - c->p >= 16) {
		uint64_t word = ~jfr_load(c->p) & JFR_HIGH_BITS;
		unsigned int ends;

		if (!word) {
			jfr_varint(c);
			n--;
			continue;
		}
		/* Up to the last end in the word; what is behind it is looked at again. */
		ends = (unsigned int)((word >> 7) * 0x0101010101010101ull >> 56);
		c->p += 8 - (unsigned int)__builtin_clzll(word) / 8;
		n -= ends;
	}
	while (n-- && !c->bad)
		jfr_varint(c);
}

void jfr_types_release(struct jfr_types *types)
{
	free(types->bytes);
	free(types->text);
	free(types->strings);
	free(types->classes);
	free(types->fields);
	idmap_release(&types->by_id);
	*types = (struct jfr_types){ 0 };
}

bool jfr_types_same(const struct jfr_types *types, const unsigned char *bytes, size_t len)
{
	return types->nr_classes && types->len == len && !memcmp(types->bytes, bytes, len);
}

/* Move a string that had to be converted to the types' own text, which is made once and never moves. */
static bool keep_text(struct jfr_types *t, struct flame_span *s)
{
	if (!t->text) {
		t->room_text = t->len * 3 + 1;	/* no conversion makes more of a byte */
		t->text = malloc(t->room_text);
	}
	if (!t->text || s->len > t->room_text - t->nr_text)
		return false;
	memcpy(t->text + t->nr_text, s->s, s->len);
	s->s = t->text + t->nr_text;
	t->nr_text += s->len;
	return true;
}

static int read_strings(struct jfr_types *t, struct jfr_cursor *c)
{
	uint64_t nr = jfr_varint(c), id;
	char *buf = NULL;
	size_t room = 0;
	bool ok = true;

	for (uint64_t i = 0; ok && i < nr && !c->bad; i++) {
		struct flame_span *s;

		ok = array_reserve((void **)&t->strings, &t->room_strings, t->nr_strings + 1, sizeof(*t->strings));
		if (!ok)
			break;
		s = &t->strings[t->nr_strings++];
		if (jfr_text_read(c, s, &id, &buf, &room) != JFR_TEXT_BYTES)
			*s = (struct flame_span){ "", 0 };
		if (buf && s->len && s->s == buf)
			ok = keep_text(t, s);
	}
	free(buf);
	return !ok ? FLAME_ENOMEM : c->bad ? FLAME_EFORMAT : 0;
}

enum element { OTHER, CLASS, FIELD, NR_ELEMENTS };

/* Attributes that matter, of whatever element. */
enum attribute { NAME, ID, TYPE, SUPER, POOL, DIMENSION, VALUE, NR_ATTRIBUTES };

struct element_reader {
	struct jfr_types *types;
	struct jfr_cursor *c;
	struct { uint64_t left; enum element element; } levels[JFR_DEPTH_MAX];
	unsigned int depth;
	struct flame_span attributes[NR_ATTRIBUTES];
};

static struct flame_span string_at(const struct jfr_types *t, uint64_t i)
{
	return i < t->nr_strings ? t->strings[i] : (struct flame_span){ "", 0 };
}

static void read_attributes(struct element_reader *r)
{
	static const char *const names[NR_ATTRIBUTES] = {
		[NAME] = "name", [ID] = "id", [TYPE] = "class", [SUPER] = "superType",
		[POOL] = "constantPool", [DIMENSION] = "dimension", [VALUE] = "value",
	};
	uint64_t nr = jfr_varint(r->c);

	for (size_t i = 0; i < NR_ATTRIBUTES; i++)
		r->attributes[i] = (struct flame_span){ "", 0 };
	while (nr-- && !r->c->bad) {
		struct flame_span key = string_at(r->types, jfr_varint(r->c));
		struct flame_span value = string_at(r->types, jfr_varint(r->c));

		for (size_t i = 0; i < NR_ATTRIBUTES; i++) {
			if (span_is(key, names[i]))
				r->attributes[i] = value;
		}
		if (span_is(key, "value-0"))
			r->attributes[VALUE] = value;
	}
}

static uint64_t decimal(struct flame_span s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s.len && s.s[i] >= '0' && s.s[i] <= '9'; i++)
		n = n * 10 + (uint64_t)(s.s[i] - '0');
	return n;
}

static bool add_class(struct element_reader *r)
{
	struct jfr_types *t = r->types;
	struct jfr_class class = {
		.id = decimal(r->attributes[ID]), .name = r->attributes[NAME],
		.event = span_is(r->attributes[SUPER], "jdk.jfr.Event"), .first = (uint32_t)t->nr_fields,
	};

	if (!array_reserve((void **)&t->classes, &t->room_classes, t->nr_classes + 1, sizeof(*t->classes)) ||
	    idmap_add(&t->by_id, class.id, (uint32_t)t->nr_classes) == UINT32_MAX)
		return false;
	t->classes[t->nr_classes++] = class;
	return true;
}

static bool add_field(struct element_reader *r)
{
	struct jfr_types *t = r->types;

	if (!array_reserve((void **)&t->fields, &t->room_fields, t->nr_fields + 1, sizeof(*t->fields)))
		return false;
	t->fields[t->nr_fields++] = (struct jfr_field){
		.name = r->attributes[NAME],
		.type = decimal(r->attributes[TYPE]),
		.pool = span_is(r->attributes[POOL], "true"),
		.array = decimal(r->attributes[DIMENSION]) > 0,
	};
	t->classes[t->nr_classes - 1].nr++;
	return true;
}

/* Among a field's annotations there may be one that tells the unit of its times. */
static void set_unit(struct element_reader *r)
{
	static const struct { const char *name; enum jfr_unit unit; } units[] = {
		{ "TICKS", JFR_TICKS }, { "NANOSECONDS", JFR_NANOSECONDS }, { "MICROSECONDS", JFR_MICROSECONDS },
		{ "MILLISECONDS", JFR_MILLISECONDS }, { "SECONDS", JFR_SECONDS },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (span_is(r->attributes[VALUE], units[i].name))
			r->types->fields[r->types->nr_fields - 1].unit = units[i].unit;
	}
}

/* Return: what the element is, a child of @parent; *@ok false without memory. */
static enum element take_element(struct element_reader *r, enum element parent, struct flame_span name, bool *ok)
{
	/* A class inside a class would tear the outer one's fields apart: nobody writes that. */
	if (span_is(name, "class") && parent == OTHER) {
		*ok = add_class(r);
		return CLASS;
	}
	if (span_is(name, "field") && parent == CLASS) {
		*ok = add_field(r);
		return FIELD;
	}
	if (parent == FIELD)
		set_unit(r);
	return parent == OTHER ? OTHER : NR_ELEMENTS;
}

static int read_elements(struct jfr_types *t, struct jfr_cursor *c)
{
	struct element_reader r = { .types = t, .c = c, .levels = { { 1, OTHER } }, .depth = 1 };
	bool ok = true;

	while (r.depth && !c->bad && ok) {
		enum element element = r.levels[r.depth - 1].element;
		struct flame_span name;
		uint64_t children;

		if (!r.levels[r.depth - 1].left--) {
			r.depth--;
			continue;
		}
		name = string_at(t, jfr_varint(c));
		read_attributes(&r);
		children = jfr_varint(c);
		if (c->bad)
			break;
		element = take_element(&r, element, name, &ok);
		if (r.depth == JFR_DEPTH_MAX)
			return FLAME_EFORMAT;
		r.levels[r.depth].left = children;
		r.levels[r.depth++].element = element;
	}
	return !ok ? FLAME_ENOMEM : c->bad ? FLAME_EFORMAT : 0;
}

int jfr_types_read(struct jfr_types *types, const unsigned char *bytes, size_t len)
{
	struct jfr_cursor c;
	int err;

	types->bytes = malloc(len + 1);
	if (!types->bytes)
		return FLAME_ENOMEM;
	memcpy(types->bytes, bytes, len);
	types->len = len;
	c = (struct jfr_cursor){ types->bytes, types->bytes + len, false };
	err = read_strings(types, &c);
	return err ? err : read_elements(types, &c);
}

const struct jfr_class *jfr_class_find(const struct jfr_types *types, const char *name)
{
	for (size_t i = 0; i < types->nr_classes; i++) {
		if (span_is(types->classes[i].name, name))
			return &types->classes[i];
	}
	return NULL;
}

const struct jfr_class *jfr_class_of_id(const struct jfr_types *types, uint64_t id)
{
	uint32_t i;

	return idmap_get(&types->by_id, id, &i) ? &types->classes[i] : NULL;
}

const struct jfr_field *jfr_field_find(const struct jfr_types *types, const struct jfr_class *class, const char *name)
{
	for (uint32_t i = 0; i < class->nr; i++) {
		if (span_is(types->fields[class->first + i].name, name))
			return &types->fields[class->first + i];
	}
	return NULL;
}

static const struct primitive {
	const char *name;
	enum jfr_step_code code;
	uint16_t n;
} primitives[] = {
	{ "boolean", JFR_BYTES, 1 }, { "byte", JFR_BYTES, 1 }, { "char", JFR_SKIP, 1 }, { "short", JFR_SKIP, 1 },
	{ "int", JFR_SKIP, 1 }, { "long", JFR_SKIP, 1 }, { "float", JFR_BYTES, 4 }, { "double", JFR_BYTES, 8 },
	{ "java.lang.String", JFR_STRING, 0 },
};

static const struct primitive *find_primitive(struct flame_span name)
{
	for (size_t i = 0; i < sizeof(primitives) / sizeof(*primitives); i++) {
		if (span_is(name, primitives[i].name))
			return &primitives[i];
	}
	return NULL;
}

/* A structure that is being flattened, up to field @next. */
struct flattening {
	const struct jfr_class *class;
	uint32_t next;
	size_t loop;		/* step that repeats it, + 1 */
};

struct compiler {
	struct jfr_program *program;
	const struct jfr_types *types;
	const char *const *names;
	size_t nr_names;
	struct flattening stack[JFR_DEPTH_MAX];
	unsigned int depth;
	unsigned int nr_fields;
	size_t wanted_end;	/* behind the last step that finds something */
};

#define NO_SLOT UINT16_MAX

static int add_step(struct compiler *k, enum jfr_step_code code, uint16_t slot, uint16_t n)
{
	struct jfr_program *p = k->program;
	struct jfr_step *last = p->nr ? &p->steps[p->nr - 1] : NULL;

	/* Steps next to each other that only skip are one. No step jumps between them: loops begin behind JFR_LOOP. */
	if (last && last->code == code && (code == JFR_SKIP || code == JFR_BYTES) && last->n < 1000) {
		last->n = (uint16_t)(last->n + n);
		return 0;
	}
	if (p->nr >= JFR_STEPS_MAX)
		return FLAME_EFORMAT;
	if (!array_reserve((void **)&p->steps, &p->room, p->nr + 1, sizeof(*p->steps)))
		return FLAME_ENOMEM;
	p->steps[p->nr++] = (struct jfr_step){ (uint16_t)code, slot, n };
	if (slot != NO_SLOT)
		k->wanted_end = p->nr;
	return 0;
}

static uint16_t find_slot(const struct compiler *k, struct flame_span name)
{
	for (size_t i = 0; k->depth == 1 && i < k->nr_names; i++) {
		if (k->names[i] && span_is(name, k->names[i]))
			return (uint16_t)i;
	}
	return NO_SLOT;
}

/* End the innermost structure, and the loop that repeats it. */
static int end_structure(struct compiler *k)
{
	struct flattening *f = &k->stack[--k->depth];
	struct jfr_step *loop;

	if (!f->loop)
		return 0;
	loop = &k->program->steps[f->loop - 1];
	if (k->program->nr == f->loop) {
		/* Elements of no bytes: as many of them as there may be, only their count is read. */
		*loop = (struct jfr_step){ JFR_SKIP, NO_SLOT, 1 };
		return 0;
	}
	loop->n = (uint16_t)(k->program->nr - f->loop + 1);
	return add_step(k, JFR_NEXT, NO_SLOT, 0);
}

static int push_structure(struct compiler *k, const struct jfr_class *class, size_t loop)
{
	if (k->depth == JFR_DEPTH_MAX)
		return FLAME_EFORMAT;
	k->stack[k->depth++] = (struct flattening){ class, 0, loop };
	return 0;
}

/* One value of @field, or one element of it where it is an array. */
static int add_value(struct compiler *k, const struct jfr_field *field, uint16_t slot)
{
	const struct jfr_class *class = jfr_class_of_id(k->types, field->type);
	const struct primitive *primitive;
	int err;

	if (field->pool)
		return add_step(k, slot == NO_SLOT ? JFR_SKIP : JFR_GET, slot, 1);
	if (!class)
		return FLAME_EFORMAT;
	primitive = find_primitive(class->name);
	if (!primitive) {
		err = slot == NO_SLOT ? 0 : add_step(k, JFR_MARK, slot, 0);
		return err ? err : push_structure(k, class, 0);
	}
	if (slot == NO_SLOT)
		return add_step(k, primitive->code, slot, primitive->n);
	if (primitive->code == JFR_STRING) {
		err = add_step(k, JFR_MARK, slot, 0);
		return err ? err : add_step(k, JFR_STRING, NO_SLOT, 0);
	}
	return add_step(k, primitive->code == JFR_SKIP ? JFR_GET : JFR_GET_BYTES, slot, primitive->n);
}

static int add_array(struct compiler *k, const struct jfr_field *field, uint16_t slot)
{
	const struct jfr_class *class = jfr_class_of_id(k->types, field->type);
	int err = slot == NO_SLOT ? 0 : add_step(k, JFR_MARK, slot, 0);
	size_t loop = k->program->nr + 1;

	if (!err)
		err = add_step(k, JFR_LOOP, NO_SLOT, 0);
	if (err)
		return err;
	if (!field->pool && class && !find_primitive(class->name))
		return push_structure(k, class, loop);
	err = add_value(k, field, NO_SLOT);
	if (err)
		return err;
	k->program->steps[loop - 1].n = (uint16_t)(k->program->nr - loop + 1);
	return add_step(k, JFR_NEXT, NO_SLOT, 0);
}

/* Whether the program is nothing but varints that are skipped or got. */
static void plan_gets(struct jfr_program *p)
{
	unsigned int skip = 0, nr = 0;

	p->nr_gets = p->most = 0;
	for (size_t i = 0; i < p->nr; i++) {
		const struct jfr_step *s = &p->steps[i];

		if (s->code == JFR_END && !skip)
			break;
		if ((s->code != JFR_SKIP && s->code != JFR_GET) || (s->code == JFR_GET && nr == JFR_GETS_MAX))
			return;
		p->most += 9 * (s->code == JFR_SKIP ? s->n : 1u);
		if (s->code == JFR_SKIP) {
			skip += s->n;
			continue;
		}
		p->gets[nr++] = (struct jfr_get){ (uint16_t)skip, s->slot };
		skip = 0;
	}
	p->nr_gets = nr;
}

int jfr_compile(struct jfr_program *program, const struct jfr_types *types, const struct jfr_class *class,
		const char *const *names, size_t nr_names, bool whole)
{
	struct compiler k = { .program = program, .types = types, .names = names, .nr_names = nr_names };
	struct jfr_field self = { .type = class->id };
	int err;

	program->nr = 0;
	if (find_primitive(class->name))
		err = add_value(&k, &self, nr_names ? 0 : NO_SLOT);
	else
		err = push_structure(&k, class, 0);
	while (!err && k.depth) {
		struct flattening *f = &k.stack[k.depth - 1];
		const struct jfr_field *field;
		uint16_t slot;

		if (f->next == f->class->nr) {
			err = end_structure(&k);
			continue;
		}
		/* Structures of structures of nothing take no steps, but may be very many. */
		if (++k.nr_fields > JFR_FIELDS_MAX)
			return FLAME_EFORMAT;
		field = &types->fields[f->class->first + f->next++];
		slot = find_slot(&k, field->name);
		err = field->array ? add_array(&k, field, slot) : add_value(&k, field, slot);
	}
	/* Only the outermost structure's fields are wanted, so this never falls inside a loop. */
	if (!err && !whole && program->nr > k.wanted_end)
		program->nr = k.wanted_end;
	if (!err)
		err = add_step(&k, JFR_END, NO_SLOT, 0);
	if (!err)
		plan_gets(program);
	return err;
}

struct loop {
	const struct jfr_step *first;
	uint64_t left;
};

static uint64_t read_bytes(struct jfr_cursor *c, unsigned int n)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < n; i++)
		v = v << 8 | c->p[i];
	c->p += n;
	return v;
}

/* Enter a loop; one over varints alone is skipped at once. Return: the step to go on with; NULL where it is bad. */
static const struct jfr_step *enter_loop(const struct jfr_step *s, struct jfr_cursor *c, struct loop *loops,
					 unsigned int *depth)
{
	uint64_t count = jfr_varint(c);

	if (count > (size_t)(c->end - c->p) || *depth == JFR_DEPTH_MAX) {
		/* Each element takes a byte at least. */
		c->bad = true;
		return NULL;
	}
	if (s[1].code == JFR_SKIP && s[2].code == JFR_NEXT) {
		jfr_skip_varints(c, count * s[1].n);
		return s + s->n + 1;
	}
	if (!count)
		return s + s->n + 1;
	loops[(*depth)++] = (struct loop){ s + 1, count };
	return s + 1;
}

bool jfr_run(const struct jfr_program *program, struct jfr_cursor *c, struct jfr_value *values)
{
	const struct jfr_step *s = program->steps;
	struct loop loops[JFR_DEPTH_MAX];
	unsigned int depth = 0;

	while (!c->bad) {
		switch ((enum jfr_step_code)s->code) {
		case JFR_END:
			return true;
		case JFR_SKIP:
			jfr_skip_varints(c, s->n);
			break;
		case JFR_GET:
			values[s->slot].n = jfr_varint(c);
			break;
		case JFR_BYTES:
		case JFR_GET_BYTES:
			if (s->n > c->end - c->p) {
				c->bad = true;
				return false;
			}
			if (s->code == JFR_GET_BYTES)
				values[s->slot].n = read_bytes(c, s->n);
			else
				c->p += s->n;
			break;
		case JFR_STRING:
			skip_string(c);
			break;
		case JFR_MARK:
			values[s->slot].p = c->p;
			break;
		case JFR_LOOP:
			s = enter_loop(s, c, loops, &depth);
			if (!s)
				return false;
			continue;
		case JFR_NEXT:
			/* Programs have no end of a loop outside of one. */
			if (!depth)
				return false;
			if (--loops[depth - 1].left) {
				s = loops[depth - 1].first;
				continue;
			}
			depth--;
			break;
		}
		s++;
	}
	return false;
}
