/* SPDX-License-Identifier: MIT */
/*
 * jfr_pools.c - constant pools of JFR: StackTrace -> StackFrame -> Method -> Class -> Symbol, and
 * Thread. Ids are those of one chunk.
 *
 * The kinds of frames are told by the descriptions in the pool FrameType, because the JDK's numbers
 * and async-profiler's differ: 3 is a native method of Java there, and a function in C here.
 */
#define _GNU_SOURCE
#include "jfr_pools.h"

#include <stdio.h>
#include <stdlib.h>

#include "../core/table.h"

#define NAME_MAX_BYTES 65535	/* no class file holds a longer one */

enum { TRUNCATED, FRAMES };
enum { METHOD_CLASS, METHOD_NAME };
enum { OS_NAME, OS_ID, JAVA_NAME, JAVA_ID };
enum { FRAME_METHOD, FRAME_LINE, FRAME_BCI, FRAME_TYPE };

static const struct role {
	const char *type;
	const char *fields[JFR_ROLE_FIELDS];
} roles[JFR_NR_ROLES] = {
	[JFR_STACKS] = { "jdk.types.StackTrace", { [TRUNCATED] = "truncated", [FRAMES] = "frames" } },
	[JFR_METHODS] = { "jdk.types.Method", { [METHOD_CLASS] = "type", [METHOD_NAME] = "name" } },
	[JFR_CLASSES] = { "java.lang.Class", { "name" } },
	[JFR_SYMBOLS] = { "jdk.types.Symbol", { "string" } },
	[JFR_STRINGS] = { "java.lang.String", { NULL } },
	[JFR_THREADS] = { "java.lang.Thread", {
		[OS_NAME] = "osName", [OS_ID] = "osThreadId", [JAVA_NAME] = "javaName", [JAVA_ID] = "javaThreadId",
	} },
	[JFR_FRAME_TYPES] = { "jdk.types.FrameType", { "description" } },
	[JFR_STATES] = { "jdk.types.ThreadState", { "name" } },
	[JFR_OBJECTS] = { "jdk.types.OldObject", { "type" } },
};

static const char *const frame_fields[JFR_ROLE_FIELDS] = {
	[FRAME_METHOD] = "method", [FRAME_LINE] = "lineNumber", [FRAME_BCI] = "bytecodeIndex", [FRAME_TYPE] = "type",
};

/* Where frames are nothing but varints, as all producers write them, they need no program. */
static void plan_frame(struct jfr_schema *s)
{
	s->frame_varints = 0;
	for (size_t i = 0; i < s->frame.nr && s->frame.steps[i].code != JFR_END; i++) {
		const struct jfr_step *step = &s->frame.steps[i];

		if (step->code != JFR_GET || i == JFR_ROLE_FIELDS) {
			s->frame_varints = 0;
			return;
		}
		s->frame_slots[i] = step->slot;
		s->frame_varints++;
	}
}

static int compile_role(struct jfr_schema *s, enum jfr_role role)
{
	const struct jfr_class *class = s->classes[role];
	bool fields = roles[role].fields[0] != NULL;

	for (size_t i = 0; i < JFR_ROLE_FIELDS; i++)
		s->fields[role][i] = roles[role].fields[i] ? jfr_field_find(&s->types, class, roles[role].fields[i]) : NULL;
	return jfr_compile(&s->programs[role], &s->types, class, roles[role].fields, fields ? JFR_ROLE_FIELDS : 1, true);
}

int jfr_schema_read(struct jfr_schema *s, const unsigned char *bytes, size_t len)
{
	const struct jfr_class *frame = NULL;
	int err = jfr_types_read(&s->types, bytes, len);

	for (int role = 0; !err && role < JFR_NR_ROLES; role++) {
		s->classes[role] = jfr_class_find(&s->types, roles[role].type);
		if (s->classes[role])
			err = compile_role(s, (enum jfr_role)role);
	}
	if (!err && s->fields[JFR_STACKS][FRAMES])
		frame = jfr_class_of_id(&s->types, s->fields[JFR_STACKS][FRAMES]->type);
	if (!err && frame) {
		err = jfr_compile(&s->frame, &s->types, frame, frame_fields, JFR_ROLE_FIELDS, true);
		plan_frame(s);
	}
	return err;
}

static void release_program(struct jfr_program *program)
{
	free(program->steps);
	*program = (struct jfr_program){ 0 };
}

void jfr_schema_release(struct jfr_schema *s)
{
	for (size_t i = 0; i < s->nr_skips; i++)
		release_program(&s->skips[i]);
	free(s->skips);
	for (size_t i = 0; i < JFR_NR_ROLES; i++)
		release_program(&s->programs[i]);
	release_program(&s->frame);
	jfr_types_release(&s->types);
	*s = (struct jfr_schema){ 0 };
}

/* Return: the program that steps over an entry of @class, or NULL. */
static const struct jfr_program *skip_program(struct jfr_schema *s, const struct jfr_class *class)
{
	size_t i = (size_t)(class - s->types.classes);

	if (i >= s->nr_skips) {
		if (!array_reserve((void **)&s->skips, &s->room_skips, s->types.nr_classes, sizeof(*s->skips)))
			return NULL;
		memset(s->skips + s->nr_skips, 0, (s->types.nr_classes - s->nr_skips) * sizeof(*s->skips));
		s->nr_skips = s->types.nr_classes;
	}
	if (!s->skips[i].nr && jfr_compile(&s->skips[i], &s->types, class, NULL, 0, true)) {
		s->skips[i].nr = 0;
		return NULL;
	}
	return &s->skips[i];
}

void jfr_pools_start(struct jfr_pools *pools, struct jfr_schema *schema, const struct flame_reader *rd)
{
	for (size_t i = 0; i < JFR_NR_ROLES; i++) {
		idmap_clear(&pools->pools[i].ids);
		pools->pools[i].nr = 0;
	}
	idmap_clear(&pools->lines);
	pools->schema = schema;
	pools->options = rd->options;
	pools->profile = rd->profile;
	pools->native_names = pools->has_default_state = false;
}

void jfr_pools_release(struct jfr_pools *pools)
{
	for (size_t i = 0; i < JFR_NR_ROLES; i++) {
		idmap_release(&pools->pools[i].ids);
		free(pools->pools[i].entries);
	}
	idmap_release(&pools->lines);
	free(pools->methods);
	free(pools->frames);
	free(pools->stacks);
	free(pools->text);
	free(pools->other);
	free(pools->name);
	*pools = (struct jfr_pools){ 0 };
}

static int add_entries(struct jfr_pool *pool, const struct jfr_program *program, struct jfr_cursor *c, uint64_t nr)
{
	struct jfr_value values[JFR_ROLE_FIELDS];

	while (nr--) {
		uint64_t id = jfr_varint(c);
		struct jfr_entry entry = { .p = c->p };

		if (!jfr_run(program, c, values))
			return FLAME_EFORMAT;
		entry.end = c->p;
		if (!pool)
			continue;
		if (pool->nr >= UINT32_MAX - 1)
			return FLAME_EOVERFLOW;
		if (!array_reserve((void **)&pool->entries, &pool->room, pool->nr + 1, sizeof(*pool->entries)))
			return FLAME_ENOMEM;
		pool->entries[pool->nr] = entry;
		switch (idmap_add(&pool->ids, id, (uint32_t)pool->nr)) {
		case UINT32_MAX:
			return FLAME_ENOMEM;
		default:
			pool->nr += pool->ids.nr > pool->nr;
		}
	}
	return 0;
}

int jfr_pools_add(struct jfr_pools *pools, struct jfr_cursor *c)
{
	struct jfr_schema *s = pools->schema;
	uint64_t nr = jfr_varint(c);

	while (nr-- && !c->bad) {
		const struct jfr_class *class = jfr_class_of_id(&s->types, jfr_varint(c));
		const struct jfr_program *program = class ? skip_program(s, class) : NULL;
		struct jfr_pool *pool = NULL;
		uint64_t count = jfr_varint(c);
		int err;

		for (size_t i = 0; program && i < JFR_NR_ROLES; i++) {
			if (s->classes[i] == class)
				pool = &pools->pools[i];
		}
		if (!program && count)
			return FLAME_EFORMAT;
		err = program ? add_entries(pool, program, c, count) : 0;
		if (err)
			return err;
	}
	return c->bad ? FLAME_EFORMAT : 0;
}

static struct jfr_entry *find_entry(const struct jfr_pools *pools, enum jfr_role role, uint64_t id)
{
	uint32_t row;

	return idmap_get(&pools->pools[role].ids, id, &row) ? &pools->pools[role].entries[row] : NULL;
}

bool jfr_pools_has(const struct jfr_pools *pools, enum jfr_role role, uint64_t id)
{
	return find_entry(pools, role, id) != NULL;
}

/* Return: false where there is no such entry; fields that the type lacks are as they were. */
static bool get_entry(const struct jfr_pools *pools, enum jfr_role role, uint64_t id, struct jfr_value *values,
		      const unsigned char **end)
{
	const struct jfr_entry *entry = find_entry(pools, role, id);
	struct jfr_cursor c;

	if (!entry)
		return false;
	c = (struct jfr_cursor){ entry->p, entry->end, false };
	*end = entry->end;
	return jfr_run(&pools->schema->programs[role], &c, values);
}

/*
 * The text that @value of @field stands for, through pools of symbols and of strings.
 * Return: false where there is none. *@text is in the chunk or in *@buf.
 */
static bool get_text(const struct jfr_pools *pools, const struct jfr_field *field, struct jfr_value value,
		     const unsigned char *end, struct flame_span *text, char **buf, size_t *room)
{
	const struct jfr_schema *s = pools->schema;
	struct jfr_field string = { .pool = true };

	/* Symbol, its string, that in the pool of strings; a string that refers to itself ends here too. */
	for (int hops = 0; field && hops < 4; hops++) {
		const struct jfr_class *class = jfr_class_of_id(&s->types, field->type);
		bool symbol = class && class == s->classes[JFR_SYMBOLS];
		struct jfr_cursor c;

		if (!symbol && (!class || class != s->classes[JFR_STRINGS]))
			return false;
		if (field->pool && !get_entry(pools, symbol ? JFR_SYMBOLS : JFR_STRINGS, value.n, &value, &end))
			return false;
		/* Of two fields with one name it may be the other that is a text. */
		if (!value.p && (!symbol || !field->pool))
			return false;
		c = (struct jfr_cursor){ value.p, end, false };
		if (symbol) {
			if (!field->pool && !jfr_run(&s->programs[JFR_SYMBOLS], &c, &value))
				return false;
			field = s->fields[JFR_SYMBOLS][0];
			continue;
		}
		switch (jfr_text_read(&c, text, &value.n, buf, room)) {
		case JFR_TEXT_BYTES:
			if (text->len > NAME_MAX_BYTES)
				text->len = NAME_MAX_BYTES;
			return true;
		case JFR_TEXT_POOL:
			string.type = class->id;
			field = &string;
			continue;
		default:
			return false;
		}
	}
	return false;
}

struct flame_span jfr_pools_text(struct jfr_pools *pools, const struct jfr_field *field, struct jfr_value value,
				 const unsigned char *end)
{
	struct flame_span text;

	if (!get_text(pools, field, value, end, &text, &pools->text, &pools->room_text))
		text = (struct flame_span){ "", 0 };
	return text;
}

/* The first field of an entry, which is a text. */
static bool entry_text(struct jfr_pools *pools, enum jfr_role role, uint64_t id, struct flame_span *text, char **buf,
		       size_t *room)
{
	struct jfr_value values[JFR_ROLE_FIELDS] = { { 0 } };
	const unsigned char *end;

	return get_entry(pools, role, id, values, &end) &&
	       get_text(pools, pools->schema->fields[role][0], values[0], end, text, buf, room);
}

struct flame_span jfr_pools_state(struct jfr_pools *pools, uint64_t id)
{
	struct flame_span text;

	if (!entry_text(pools, JFR_STATES, id, &text, &pools->text, &pools->room_text))
		text = (struct flame_span){ "", 0 };
	return text;
}

struct frame_kind {
	const char *description;
	enum flame_kind kind;
	bool native;
};

/* Both producers' descriptions, by async-profiler's numbers. */
static const struct frame_kind frame_kinds[] = {
	{ "Interpreted", FLAME_INTERPRETED, false },
	{ "JIT compiled", FLAME_JIT, false },
	{ "Inlined", FLAME_JIT_INLINED, false },
	{ "Native", FLAME_USER, true },
	{ "C++", FLAME_USER, true },
	{ "Kernel", FLAME_KERNEL, true },
	{ "C1 compiled", FLAME_C1, false },
};

#define NR_FRAME_KINDS (sizeof(frame_kinds) / sizeof(*frame_kinds))

static const struct frame_kind *find_kind(struct jfr_pools *pools, uint64_t id)
{
	static const struct frame_kind other = { "", FLAME_USER, false };
	struct flame_span text;

	if (id < JFR_KNOWN_KINDS && pools->kinds[id])
		return pools->kinds[id];
	if (!entry_text(pools, JFR_FRAME_TYPES, id, &text, &pools->text, &pools->room_text))
		return id < NR_FRAME_KINDS ? &frame_kinds[id] : &other;
	for (size_t i = 0; i < NR_FRAME_KINDS; i++) {
		if (span_is(text, frame_kinds[i].description))
			return &frame_kinds[i];
	}
	return &other;
}

void jfr_pools_ready(struct jfr_pools *pools)
{
	const struct jfr_pool *types = &pools->pools[JFR_FRAME_TYPES], *states = &pools->pools[JFR_STATES];
	struct flame_frame_info unknown = { .name = flame_intern(pools->profile, "[unknown]", 9) };
	struct flame_frame_info truncated = { .name = flame_intern(pools->profile, "[truncated]", 11) };
	size_t nr = pools->pools[JFR_METHODS].nr * FLAME_NR_KINDS;

	pools->unknown = flame_frame_row(pools->profile, &unknown);
	pools->truncated = flame_frame_row(pools->profile, &truncated);
	for (size_t i = 0; types->ids.slots && i <= types->ids.mask; i++) {
		struct flame_span text;

		if (types->ids.slots[i].value &&
		    entry_text(pools, JFR_FRAME_TYPES, types->ids.slots[i].id, &text, &pools->text, &pools->room_text))
			pools->native_names |= span_is(text, "Kernel") || span_is(text, "C++");
	}
	for (size_t i = 0; states->ids.slots && i <= states->ids.mask; i++)
		pools->has_default_state |= states->ids.slots[i].value &&
					    span_is(jfr_pools_state(pools, states->ids.slots[i].id), "STATE_DEFAULT");
	memset(pools->kinds, 0, sizeof(pools->kinds));
	for (size_t i = 0; i < JFR_KNOWN_KINDS; i++)
		pools->kinds[i] = find_kind(pools, i);
	if (array_reserve((void **)&pools->methods, &pools->room_methods, nr, sizeof(*pools->methods)) && nr)
		memset(pools->methods, 0, nr * sizeof(*pools->methods));
	else
		pools->pools[JFR_METHODS].nr = 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Return: where the hexadecimal number at the end of @s starts, s.len where there is none. */
static size_t hex_start(struct flame_span s)
{
	size_t i = s.len;

	while (i && is_hex(s.s[i - 1]))
		i--;
	return i >= 1 && s.s[i - 1] == 'x' && i >= 2 && s.s[i - 2] == '0' ? i - 2 : i;
}

/*
 * What the JVM appends to the names of hidden classes: "/1172131546", "/0x00007f3334007a08",
 * ".0x00007f2544000a08", "+0x00007f3334007a08/1172131546".
 */
static struct flame_span cut_hidden(struct flame_span s)
{
	for (int i = 0; i < 2; i++) {
		size_t start = hex_start(s);

		if (start < 2 || start == s.len || !is_digit(s.s[start]) || !strchr("/.+", s.s[start - 1]))
			break;
		s.len = start - 1;
	}
	return s;
}

/* Names of classes that are generated at run time, which then get a number. */
static const char *const generated[] = {
	"$$Lambda", "$Proxy", "GeneratedMethodAccessor", "GeneratedConstructorAccessor", "GeneratedSerializationConstructorAccessor",
	"LambdaForm$MH", "LambdaForm$DMH", "LambdaForm$BMH", "ByCGLIB$$", "CGLIB$$",
};

static struct flame_span normalize(struct flame_span s)
{
	size_t digits;

	s = cut_hidden(s);
	digits = s.len;
	while (digits && is_hex(s.s[digits - 1]))
		digits--;
	for (size_t i = 0; i < sizeof(generated) / sizeof(*generated); i++) {
		size_t len = strlen(generated[i]);
		size_t end = digits && s.s[digits - 1] == '$' && generated[i][len - 1] != '$' ? digits - 1 : digits;

		if (digits < s.len && end >= len && !memcmp(s.s + end - len, generated[i], len)) {
			s.len = end;
			break;
		}
	}
	return s;
}

/*
 * The part behind the last package. A mark before a digit belongs to the name of a hidden class;
 * these names have dots between packages.
 */
static struct flame_span cut_package(struct flame_span s)
{
	for (size_t i = s.len; i-- > 0;) {
		if ((s.s[i] == '/' || s.s[i] == '.') && i + 1 < s.len && !is_digit(s.s[i + 1]))
			return (struct flame_span){ s.s + i + 1, s.len - i - 1 };
	}
	return s;
}

/* Room for @len more bytes and a number in the name. Return: false without memory. */
static bool name_room(struct jfr_pools *pools, size_t used, size_t len)
{
	return array_reserve((void **)&pools->name, &pools->room_name, used + len + 64, 1);
}

/* Append a class name as the options want it. Return: the name's new length. */
static size_t put_class(struct jfr_pools *pools, size_t len, struct flame_span class, bool dots)
{
	if (pools->options->normalize_names)
		class = normalize(class);
	if (pools->options->simple_names)
		class = cut_package(class);
	if (!name_room(pools, len, class.len))
		return len;
	memcpy(pools->name + len, class.s, class.len);
	for (size_t i = 0; dots && i < class.len; i++) {
		if (class.s[i] == '/')
			pools->name[len + i] = '.';
	}
	return len + class.len;
}

static flame_frame make_frame(struct jfr_pools *pools, size_t len, enum flame_kind kind, struct flame_span module,
			      uint64_t line)
{
	struct flame_frame_info info = {
		.name = flame_intern(pools->profile, pools->name, len),
		.module = flame_intern(pools->profile, module.s, module.len),
		.line = (uint32_t)line,
		.kind = kind,
	};

	return len ? flame_frame_row(pools->profile, &info) : pools->unknown;
}

static flame_frame name_method(struct jfr_pools *pools, uint64_t id, const struct frame_kind *kind, uint64_t line, char mark)
{
	struct jfr_value values[JFR_ROLE_FIELDS] = { { 0 } };
	struct flame_span class = { "", 0 }, name;
	const unsigned char *end;
	size_t len = 0;
	bool native = kind->native && pools->native_names;

	if (!get_entry(pools, JFR_METHODS, id, values, &end) ||
	    !get_text(pools, pools->schema->fields[JFR_METHODS][METHOD_NAME], values[METHOD_NAME], end, &name, &pools->text,
		      &pools->room_text) || !name.len)
		return pools->unknown;
	entry_text(pools, JFR_CLASSES, values[METHOD_CLASS].n, &class, &pools->other, &pools->room_other);
	if (class.len && !native) {
		len = put_class(pools, 0, class, pools->options->dot);
		if (!name_room(pools, len, 1))
			return 0;
		pools->name[len++] = '.';
	}
	if (!name_room(pools, len, name.len))
		return 0;
	memcpy(pools->name + len, name.s, name.len);
	len += name.len;
	if (mark && !pools->options->places)
		len += (size_t)sprintf(pools->name + len, "%c%llu", mark, (unsigned long long)line);
	return make_frame(pools, len, kind->kind, native ? class : (struct flame_span){ "", 0 }, mark == ':' ? line : 0);
}

/* What distinguishes frames of a method by the options: a line, a bytecode index, or nothing. */
static char frame_mark(const struct jfr_pools *pools, const struct jfr_value *values, uint64_t *line)
{
	*line = 0;
	if ((pools->options->lines || pools->options->places) && values[FRAME_LINE].n && values[FRAME_LINE].n < UINT32_MAX) {
		*line = values[FRAME_LINE].n;
		return ':';
	}
	if (pools->options->bci && values[FRAME_BCI].n && values[FRAME_BCI].n < UINT32_MAX) {
		*line = values[FRAME_BCI].n;
		return '@';
	}
	return '\0';
}

static flame_frame find_line_frame(struct jfr_pools *pools, uint32_t method, const struct jfr_value *values,
				   const struct frame_kind *kind, char mark, uint64_t line)
{
	uint64_t key = (uint64_t)method << 36 | (line & UINT32_MAX) << 4 | (uint64_t)(kind->kind & 15);
	uint32_t frame;

	/* Beyond 2^28 methods the key would not be unique: then nothing is remembered. */
	if (method >> 28)
		return name_method(pools, values[FRAME_METHOD].n, kind, line, mark);
	if (idmap_get(&pools->lines, key, &frame))
		return frame;
	frame = name_method(pools, values[FRAME_METHOD].n, kind, line, mark);
	idmap_add(&pools->lines, key, frame);
	return frame;
}

static flame_frame find_frame(struct jfr_pools *pools, const struct jfr_value *values)
{
	const struct jfr_pool *methods = &pools->pools[JFR_METHODS];
	const struct frame_kind *kind;
	uint32_t method;
	flame_frame *known;
	uint64_t line;
	char mark;

	if (!idmap_get(&methods->ids, values[FRAME_METHOD].n, &method) || method >= methods->nr)
		return pools->unknown;
	kind = find_kind(pools, values[FRAME_TYPE].n);
	mark = frame_mark(pools, values, &line);
	if (mark)
		return find_line_frame(pools, method, values, kind, mark, line);
	known = &pools->methods[method * (size_t)FLAME_NR_KINDS + kind->kind];
	if (!*known)
		*known = name_method(pools, values[FRAME_METHOD].n, kind, 0, '\0');
	return *known;
}

static bool read_frame(const struct jfr_schema *s, struct jfr_cursor *c, struct jfr_value *values)
{
	if (!s->frame_varints)
		return jfr_run(&s->frame, c, values);
	for (unsigned int i = 0; i < s->frame_varints; i++)
		values[s->frame_slots[i]].n = jfr_varint(c);
	return !c->bad;
}

/*
 * The frames of an entry behind the @used ones in pools->frames, the root's first.
 * Return: how many; 0 where there are none or no memory.
 */
static size_t read_frames(struct jfr_pools *pools, const struct jfr_value *stack, const unsigned char *end, size_t used)
{
	struct jfr_cursor c = { stack[FRAMES].p, end, !stack[FRAMES].p };
	struct jfr_value values[JFR_ROLE_FIELDS] = { { 0 } };
	uint64_t nr = c.bad ? 0 : jfr_varint(&c);
	size_t done = 0;

	/* Where the field is no array there are no frames; where it is, one takes a byte at least. */
	if (!nr || nr > (size_t)(c.end - c.p) || !pools->schema->frame.nr ||
	    !array_reserve((void **)&pools->frames, &pools->room_frames, used + (size_t)nr, sizeof(*pools->frames)) ||
	    !array_reserve((void **)&pools->stacks, &pools->room_stacks, used + (size_t)nr, sizeof(*pools->stacks)))
		return 0;
	while (done < nr && read_frame(pools->schema, &c, values)) {
		done++;
		pools->frames[used + nr - done] = find_frame(pools, values);
	}
	return done == nr ? done : 0;
}

/* The same for the entry of stack @id. */
static size_t find_frames(struct jfr_pools *pools, uint64_t id, bool *truncated, size_t used)
{
	struct jfr_value values[JFR_ROLE_FIELDS] = { { 0 } };
	const unsigned char *end;

	if (!pools->schema->fields[JFR_STACKS][FRAMES] || !get_entry(pools, JFR_STACKS, id, values, &end))
		return 0;
	*truncated = values[TRUNCATED].n;
	return read_frames(pools, values, end, used);
}

static flame_stack push_truncated(struct jfr_pools *pools, flame_stack root, bool truncated)
{
	return truncated ? flame_stack_push(pools->profile, root, pools->truncated) : root;
}

void jfr_pools_stacks(struct jfr_pools *pools, const uint64_t *ids, size_t nr)
{
	struct flame_path paths[FLAME_PATHS];
	struct jfr_entry *entries[FLAME_PATHS];
	size_t starts[FLAME_PATHS], used = 0, nr_paths = 0;

	for (size_t i = 0; i < nr; i++) {
		struct jfr_entry *entry = find_entry(pools, JFR_STACKS, ids[i]);
		bool truncated = false;
		size_t found = entry && !entry->row ? find_frames(pools, ids[i], &truncated, used) : 0;

		if (!found)
			continue;
		entries[nr_paths] = entry;
		starts[nr_paths] = used;
		paths[nr_paths++] = (struct flame_path){ .nr = found, .root = push_truncated(pools, 0, truncated) };
		used += found;
	}
	for (size_t i = 0; i < nr_paths; i++) {
		paths[i].frames = pools->frames + starts[i];
		paths[i].stacks = pools->stacks + starts[i];
	}
	flame_stack_push_paths(pools->profile, paths, nr_paths);
	for (size_t i = 0; i < nr_paths; i++)
		entries[i]->row = paths[i].stacks[paths[i].nr - 1] + 1;
}

flame_stack jfr_pools_stack(struct jfr_pools *pools, uint64_t id, flame_stack root)
{
	struct jfr_entry *entry = root ? NULL : find_entry(pools, JFR_STACKS, id);
	bool truncated = false;
	flame_stack stack;
	size_t nr;

	if (entry && entry->row)
		return entry->row - 1;
	nr = find_frames(pools, id, &truncated, 0);
	if (!nr)
		return flame_stack_push(pools->profile, root, pools->unknown);
	stack = push_truncated(pools, root, truncated);
	return flame_stack_push_all(pools->profile, stack, pools->frames, nr, pools->stacks);
}

flame_frame jfr_pools_thread(struct jfr_pools *pools, uint64_t id, struct flame_task_info *task)
{
	const struct jfr_field *const *fields = pools->schema->fields[JFR_THREADS];
	struct jfr_value values[JFR_ROLE_FIELDS] = { { 0 } };
	struct flame_span name = { "", 0 };
	const unsigned char *end;
	uint64_t tid = id;
	size_t len;

	if (get_entry(pools, JFR_THREADS, id, values, &end)) {
		if (!get_text(pools, fields[JAVA_NAME], values[JAVA_NAME], end, &name, &pools->text, &pools->room_text) ||
		    !name.len)
			get_text(pools, fields[OS_NAME], values[OS_NAME], end, &name, &pools->text, &pools->room_text);
		/* Virtual threads have no number with the operating system. */
		tid = values[OS_ID].n ? values[OS_ID].n : values[JAVA_ID].n ? values[JAVA_ID].n : id;
	}
	*task = (struct flame_task_info){ .pid = -1, .tid = tid <= INT32_MAX ? (int32_t)tid : -1 };
	task->comm = flame_intern(pools->profile, name.s, name.len);
	if (!name_room(pools, name.len, 8))
		return 0;
	len = (size_t)sprintf(pools->name, "[tid=%llu]", (unsigned long long)tid);
	/* async-profiler calls threads without a name just this. */
	if (name.len && (name.len != len || memcmp(name.s, pools->name, len)))
		len = (size_t)sprintf(pools->name, "[%.*s tid=%llu]", (int)name.len, name.s, (unsigned long long)tid);
	return make_frame(pools, len, FLAME_TASK, (struct flame_span){ "", 0 }, 0);
}

/* "[[Ljava/lang/String;" is "java.lang.String[][]", "[I" is "int[]". Return: the element's name. */
static struct flame_span element_name(struct flame_span s)
{
	static const struct { char letter; const char *name; } primitives[] = {
		{ 'B', "byte" }, { 'C', "char" }, { 'D', "double" }, { 'F', "float" }, { 'I', "int" },
		{ 'J', "long" }, { 'S', "short" }, { 'Z', "boolean" },
	};

	if (s.len > 2 && s.s[0] == 'L' && s.s[s.len - 1] == ';')
		return (struct flame_span){ s.s + 1, s.len - 2 };
	for (size_t i = 0; s.len == 1 && i < sizeof(primitives) / sizeof(*primitives); i++) {
		if (s.s[0] == primitives[i].letter)
			return (struct flame_span){ primitives[i].name, strlen(primitives[i].name) };
	}
	return s;
}

flame_frame jfr_pools_class(struct jfr_pools *pools, uint64_t id, enum flame_kind kind)
{
	struct flame_span name;
	size_t dimensions = 0, len;

	if (!entry_text(pools, JFR_CLASSES, id, &name, &pools->text, &pools->room_text) || !name.len)
		return 0;
	while (dimensions + 1 < name.len && name.s[dimensions] == '[')
		dimensions++;
	if (dimensions)
		name = element_name((struct flame_span){ name.s + dimensions, name.len - dimensions });
	len = put_class(pools, 0, name, true);
	if (!name_room(pools, len, 2 * dimensions))
		return 0;
	for (size_t i = 0; i < dimensions; i++) {
		pools->name[len++] = '[';
		pools->name[len++] = ']';
	}
	return make_frame(pools, len, kind, (struct flame_span){ "", 0 }, 0);
}

flame_frame jfr_pools_object(struct jfr_pools *pools, uint64_t id, enum flame_kind kind)
{
	struct jfr_value values[JFR_ROLE_FIELDS] = { { 0 } };
	const unsigned char *end;

	return get_entry(pools, JFR_OBJECTS, id, values, &end) ? jfr_pools_class(pools, values[0].n, kind) : 0;
}

flame_frame jfr_pools_method(struct jfr_pools *pools, uint64_t id, enum flame_kind kind)
{
	struct frame_kind java = { "", kind, false };

	return jfr_pools_has(pools, JFR_METHODS, id) ? name_method(pools, id, &java, 0, '\0') : 0;
}
