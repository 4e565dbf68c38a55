/* SPDX-License-Identifier: MIT */
/*
 * compare_json.c - what changed, for programs. The schema is in Documentation/fgdiff.1.adoc; members are
 * only ever added to it.
 */
#define _GNU_SOURCE
#include "compare_list.h"

#include <stdlib.h>
#include <string.h>

#include "json_write.h"
#include "units.h"

#define SCHEMA 1
#define PATHS_TOP 1000	/* each is spelt from the root: all of them could be the square of the input */

static void put_string(struct flame_span text, FILE *out)
{
	flame_json_write_string(out, text);
}

static void put_words(const char *text, FILE *out)
{
	put_string((struct flame_span){ text, strlen(text) }, out);
}

static void put_input(const char *key, const struct flame_compare_input *input, const struct flame_diff_side *side,
		      FILE *out)
{
	const struct flame_type_info *type = flame_type_get(input->profile, input->type);
	const struct flame_meta *meta = flame_meta_get(input->profile);

	fprintf(out, "  \"%s\": {\n    \"file\": ", key);
	put_words(input->name, out);
	fputs(",\n    \"event\": ", out);
	put_string(flame_string_get(input->profile, type->name), out);
	fputs(",\n    \"unit\": ", out);
	put_string(flame_string_get(input->profile, type->unit), out);
	fputs(",\n    \"kind\": ", out);
	put_words(flame_value_kind_name(type->kind), out);
	fputs(",\n    \"total\": ", out);
	compare_write_value(side->total, side->scale, out);
	fprintf(out, ",\n    \"samples\": %llu,\n    \"samples_by\": ", (unsigned long long)side->nr_samples);
	put_words(compare_numbering(side->numbering), out);
	fprintf(out, ",\n    \"duration_ns\": %llu,\n    \"frequency_hz\": %u\n  },\n",
		(unsigned long long)flame_meta_duration(input->profile), meta->frequency_hz);
}

static void put_warnings(const struct flame_compare_write_options *o, FILE *out)
{
	fputs("  \"warnings\": [", out);
	for (size_t i = 0; o->warnings && o->warnings[i]; i++) {
		fputs(i ? ",\n    " : "\n    ", out);
		put_words(o->warnings[i], out);
	}
	fputs(o->warnings && o->warnings[0] ? "\n  ],\n" : "],\n", out);
}

static void put_test(const struct flame_comparison *c, FILE *out)
{
	fputs("{ \"name\": ", out);
	put_words(flame_compare_test(&c->options), out);
	fprintf(out, ", \"interval\": \"Newcombe, each for itself\", \"confidence\": %g, \"dispersion\": %.6g, "
		"\"run_size\": %.6g, \"runs\": [%u, %u], \"changes\": %zu, \"tested\": %zu }",
		100 * c->options.confidence, c->options.dispersion, c->options.run_size, c->options.runs_before,
		c->options.runs_after, c->nr_changes, c->nr_tests);
}

static void put_change(const char *key, const struct flame_change *c, uint32_t scale, FILE *out)
{
	fprintf(out, "\"%s\": { \"before\": ", key);
	compare_write_value(c->before.value, scale, out);
	fputs(", \"after\": ", out);
	compare_write_value(c->after.value, scale, out);
	fputs(", \"delta\": ", out);
	compare_write_value(c->after.value - c->before.value, scale, out);
	fprintf(out, ", \"share_before\": %.4f, \"share_after\": %.4f, \"change\": %.4f, \"interval\": [%.4f, %.4f], ",
		100 * c->before.part.share, 100 * c->after.part.share, compare_points(flame_change_of_share(c), 4),
		compare_points(c->interval.low, 4), compare_points(c->interval.high, 4));
	fprintf(out, "\"p\": %.3g, \"p_corrected\": %.3g, \"significant\": %s }", c->test.p, c->test.adjusted,
		c->significant ? "true" : "false");
}

static void put_name(const struct compare_list *list, flame_frame frame, FILE *out)
{
	const struct flame_profile *p = list->diff->profile;
	const struct flame_frame_info *info = flame_frame_get(p, frame);
	struct flame_span name = flame_string_get(p, info->name);
	const char *suffix = flame_kind_suffix(info->kind);
	size_t len = strlen(suffix);
	char *text = *suffix ? malloc(name.len + len) : NULL;

	/* As folded text has it, so that frames that differ in this alone have different names. */
	if (text) {
		memcpy(text, name.s, name.len);
		memcpy(text + name.len, suffix, len);
		name = (struct flame_span){ text, name.len + len };
	}
	put_string(name.len ? name : (struct flame_span){ "[unknown]", 9 }, out);
	free(text);
}

static int put_path(const struct compare_list *list, uint32_t box, FILE *out)
{
	size_t nr;
	uint32_t *path = compare_list_path(list, box, &nr);

	if (!path)
		return FLAME_ENOMEM;
	fputs("\"path\": [", out);
	for (size_t i = 0; i < nr; i++) {
		fputs(i ? ", " : "", out);
		put_name(list, list->layout.boxes[path[i]].frame, out);
	}
	fputs("]", out);
	free(path);
	return 0;
}

static int put_item(const struct compare_list *list, const struct flame_compared *item, FILE *out)
{
	uint32_t scale = flame_type_get(list->diff->profile, list->diff->after.type)->scale;
	const char *state = compare_state(&item->total);
	int err = 0;

	fputs("{ ", out);
	if (list->is_paths) {
		err = put_path(list, item->row, out);
	} else {
		fputs("\"name\": ", out);
		put_name(list, item->row, out);
	}
	fprintf(out, ", \"state\": \"%s\", \"significant\": %s,\n      ", *state ? state : "both",
		is_changed(item) ? "true" : "false");
	put_change("total", &item->total, scale, out);
	fputs(",\n      ", out);
	put_change("self", &item->self, scale, out);
	fputs(" }", out);
	return err;
}

static int put_list(const struct compare_list *list, FILE *out)
{
	const char *key = list->is_paths ? "paths" : "functions";
	int err = 0;

	fprintf(out, ",\n  \"%stest\": ", list->is_paths ? "paths_" : "");
	put_test(&list->comparison, out);
	fprintf(out, ",\n  \"%s_left_out\": %zu,\n  \"%s\": [", key,
		list->nr_changed_out + list->nr_noise_out + list->nr_small, key);
	for (size_t i = 0; !err && i < list->nr_rows; i++) {
		fputs(i ? ",\n    " : "\n    ", out);
		err = put_item(list, &list->comparison.items[list->rows[i]], out);
	}
	fputs(list->nr_rows ? "\n  ]" : "]", out);
	return err;
}

static void put_head(const struct flame_diff *d, const struct flame_compare_write_options *o, FILE *out)
{
	fprintf(out, "{\n  \"format\": \"fgdiff\",\n  \"schema\": %d,\n", SCHEMA);
	put_input("before", &o->before, &d->before, out);
	put_input("after", &o->after, &d->after, out);
	put_warnings(o, out);
	fprintf(out, "  \"normalized\": %s", d->normalized ? "true" : "false");
}

int flame_compare_write_json(const struct flame_diff *d, const struct flame_compare_write_options *o, FILE *out)
{
	struct flame_compare_write_options of_paths = *o;
	struct compare_list functions, paths = { 0 };
	int err = compare_list_init(&functions, d, o, false);

	of_paths.top = o->top ? o->top : PATHS_TOP;

	/* Nothing is written before all is known. */
	if (!err && o->paths)
		err = compare_list_init(&paths, d, &of_paths, true);
	if (!err) {
		put_head(d, o, out);
		err = put_list(&functions, out);
	}
	if (!err && o->paths)
		err = put_list(&paths, out);
	if (!err)
		fputs("\n}\n", out);
	compare_list_release(&functions);
	compare_list_release(&paths);
	return err ? err : ferror(out) ? FLAME_EIO : 0;
}
