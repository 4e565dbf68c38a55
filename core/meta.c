/* SPDX-License-Identifier: MIT */
/*
 * meta.c - what is known of a recording. One table names the lines of folded text.
 */
#include "meta.h"

#include <string.h>

#include "merge.h"
#include "number.h"
#include "tables.h"
#include "utf8.h"

enum shape {
	STRING,
	WIDE,	/* uint64_t */
	SMALL,	/* uint32_t */
};

static const struct line {
	const char *key;
	enum shape shape;
	const char *unit;
	size_t offset;
} lines[] = {
	{ "tool", STRING, "", offsetof(struct flame_meta, tool) },
	{ "command", STRING, "", offsetof(struct flame_meta, command) },
	{ "host", STRING, "", offsetof(struct flame_meta, host) },
	{ "runtime", STRING, "", offsetof(struct flame_meta, runtime) },
	{ "added", STRING, "", offsetof(struct flame_meta, added) },
	{ "start", WIDE, "ns", offsetof(struct flame_meta, start_ns) },
	{ "duration", WIDE, "ns", offsetof(struct flame_meta, duration_ns) },
	{ "frequency", SMALL, "Hz", offsetof(struct flame_meta, frequency_hz) },
	{ "period", WIDE, "events", offsetof(struct flame_meta, period) },
	{ "depth", SMALL, "frames", offsetof(struct flame_meta, depth_max) },
	{ "processors", SMALL, "", offsetof(struct flame_meta, nr_cpus) },
	{ "throttled", WIDE, "times", offsetof(struct flame_meta, throttled) },
};

#define NR_LINES (sizeof(lines) / sizeof(*lines))

struct flame_meta *flame_meta(struct flame_profile *p)
{
	return &p->meta;
}

const struct flame_meta *flame_meta_get(const struct flame_profile *p)
{
	return &p->meta;
}

void flame_meta_time(struct flame_profile *p, uint64_t ns)
{
	if (ns && (!p->meta.first_ns || ns < p->meta.first_ns))
		p->meta.first_ns = ns;
	if (ns > p->meta.last_ns)
		p->meta.last_ns = ns;
}

void flame_meta_text(struct flame_profile *p, flame_string *row, struct flame_span text)
{
	if (!*row)
		*row = flame_intern(p, text.s, text.len);
}

void flame_meta_interval(struct flame_profile *p, double ns)
{
	double hz = 1e9 / ns;

	/* Not so that hostile or less than one a second would be anything but unknown. */
	if (!p->meta.frequency_hz && ns > 0 && hz < 1e9)
		p->meta.frequency_hz = (uint32_t)(hz + 0.5);
}

uint64_t flame_meta_duration(const struct flame_profile *p)
{
	return p->meta.duration_ns ? p->meta.duration_ns : p->meta.last_ns - p->meta.first_ns;
}

static uint64_t get(const struct flame_meta *meta, const struct line *line)
{
	const char *at = (const char *)meta + line->offset;

	return line->shape == WIDE ? *(const uint64_t *)(const void *)at : *(const uint32_t *)(const void *)at;
}

static void set(struct flame_meta *meta, const struct line *line, uint64_t value)
{
	char *at = (char *)meta + line->offset;

	if (line->shape == WIDE)
		*(uint64_t *)(void *)at = value;
	else if (value <= UINT32_MAX)
		*(uint32_t *)(void *)at = (uint32_t)value;
}

void flame_meta_copy(struct flame_profile *p, const struct flame_profile *from)
{
	for (size_t i = 0; i < NR_LINES; i++) {
		uint64_t value = get(&from->meta, &lines[i]);

		if (lines[i].offset == offsetof(struct flame_meta, throttled))
			p->meta.throttled += value;
		else if (value && !get(&p->meta, &lines[i]))
			set(&p->meta, &lines[i], lines[i].shape == STRING ?
				    flame_string_copy(p, from, (flame_string)value) : value);
	}
	if (!p->meta.format)
		p->meta.format = flame_string_copy(p, from, from->meta.format);
	p->meta.late += from->meta.late;
	p->meta.sampled_switches |= from->meta.sampled_switches;
	p->meta.damaged |= from->meta.damaged;
	flame_meta_time(p, from->meta.first_ns);
	flame_meta_time(p, from->meta.last_ns);
}

void flame_text_write(struct flame_span s, FILE *out)
{
	uint32_t code;

	for (size_t i = 0, n; i < s.len; i += n) {
		n = utf8_decode(s.s + i, s.len - i, &code);
		if (n == 1 && code == UTF8_REPLACEMENT)
			fputs("\xef\xbf\xbd", out);
		else if (utf8_is_shown(code))
			fwrite(s.s + i, 1, n, out);
		else
			putc('?', out);
	}
}

void flame_meta_write(const struct flame_profile *p, FILE *out)
{
	struct flame_meta meta = p->meta;

	meta.duration_ns = flame_meta_duration(p);
	for (size_t i = 0; i < NR_LINES; i++) {
		uint64_t value = get(&meta, &lines[i]);

		if (!value)
			continue;
		fprintf(out, "# %s: ", lines[i].key);
		if (lines[i].shape == STRING)
			flame_text_write(flame_string_get(p, (flame_string)value), out);
		else
			fprintf(out, "%llu%s%s", (unsigned long long)value, *lines[i].unit ? " " : "", lines[i].unit);
		putc('\n', out);
	}
	if (p->lost)
		fprintf(out, "# lost: %llu samples\n", (unsigned long long)p->lost);
}

/* Cut "# KEY: " off @line. */
static bool cut_key(struct flame_span *line, const char *key)
{
	size_t n = strlen(key);

	if (line->len < n + 4 || memcmp(line->s, "# ", 2) || memcmp(line->s + 2, key, n) ||
	    memcmp(line->s + 2 + n, ": ", 2))
		return false;
	line->s += n + 4;
	line->len -= n + 4;
	return true;
}

/* The number in front of its unit, 0 for none. */
static uint64_t parse_value(struct flame_span s)
{
	const char *blank = memchr(s.s, ' ', s.len);
	struct flame_number n;

	if (blank)
		s.len = (size_t)(blank - s.s);
	return flame_number_parse(s, &n) == FLAME_NUMBER_OK && !n.scale && n.value > 0 ? (uint64_t)n.value : 0;
}

bool flame_meta_parse(struct flame_profile *p, struct flame_span line)
{
	if (cut_key(&line, "samples")) {
		p->meta.nr_samples += parse_value(line);
		return true;
	}
	if (cut_key(&line, "lost")) {
		flame_lost_add(p, parse_value(line));
		return true;
	}
	for (size_t i = 0; i < NR_LINES; i++) {
		struct flame_span value = line;

		if (!cut_key(&value, lines[i].key))
			continue;
		if (!get(&p->meta, &lines[i]))
			set(&p->meta, &lines[i], lines[i].shape == STRING ?
				    flame_intern(p, value.s, value.len) : parse_value(value));
		return true;
	}
	return false;
}

void flame_samples_number(struct flame_profile *p, flame_type type)
{
	double total = 0, nr = (double)p->meta.nr_samples;

	for (size_t i = 0; i < p->nr_samples; i++)
		total += p->samples[i].type == type ? (double)p->samples[i].value : 0;
	p->meta.nr_samples = 0;
	if (nr < 1 || !(total > 0))
		return;
	for (size_t i = 0; i < p->nr_samples; i++) {
		struct flame_sample *s = &p->samples[i];
		double part = s->value > 0 ? (double)s->value / total * nr + 0.5 : 0;

		if (s->type == type)
			s->nr_samples = part >= 1 ? (uint64_t)part : 1;
	}
	p->options.sums = false;
}
