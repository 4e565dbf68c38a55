/* SPDX-License-Identifier: MIT */
/*
 * compare_table.c - what changed, as text for people:
 *
 *     Changed:
 *      before   after  change  95 % interval     self before   after  change  function
 *      40.00%  66.67%  +26.67  +9.31 to +41.87        40.00%  66.67%  +26.67  parent
 */
#define _GNU_SOURCE
#include "compare_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "meta.h"
#include "units.h"
#include "utf8.h"

/* Names reach a terminal. */
static void put_text(struct flame_span text, FILE *out)
{
	flame_text_write(text.len ? text : (struct flame_span){ "[unknown]", 9 }, out);
}

static void put_side(const char *what, const struct flame_diff_side *side, const struct flame_compare_input *input,
		     FILE *out)
{
	const char *countname = input->countname ? input->countname : "samples";
	struct flame_span unit = flame_string_get(input->profile, flame_type_get(input->profile, input->type)->unit);
	char amount[FLAME_AMOUNT_MAX];

	fprintf(out, "%s ", what);
	put_text((struct flame_span){ input->name, strlen(input->name) }, out);
	fputs(": ", out);
	compare_write_value(side->total, side->scale, out);
	fputc(' ', out);
	put_text((struct flame_span){ countname, strlen(countname) }, out);
	/* With --count these are samples, whatever their values measure. */
	if (!flame_profile_options(input->profile)->count && flame_amount(amount, side->total, side->scale, unit))
		fprintf(out, " = %s", amount);
	if (side->numbering == FLAME_NUMBERED && (side->scale || side->total != (int64_t)side->nr_samples))
		fprintf(out, " in %llu samples", (unsigned long long)side->nr_samples);
	else if (side->numbering == FLAME_NUMBERED_STACKS)
		fprintf(out, " in at least %llu samples", (unsigned long long)side->nr_samples);
	fputc('\n', out);
}

static void put_head(const struct flame_diff *d, const struct flame_compare_write_options *o, FILE *out)
{
	put_side("Before:", &d->before, &o->before, out);
	put_side("After: ", &d->after, &o->after, out);
	for (size_t i = 0; o->warnings && o->warnings[i]; i++) {
		fputs("Warning: ", out);
		put_text((struct flame_span){ o->warnings[i], strlen(o->warnings[i]) }, out);
		fputc('\n', out);
	}
}

static void put_test(const struct compare_list *list, FILE *out)
{
	const struct flame_comparison *c = &list->comparison;

	fprintf(out, "Test:   %s; %zu of %zu could tell something; confidence %g %%\n", flame_compare_test(&c->options),
		c->nr_tests, c->nr_changes, 100 * c->options.confidence);
	if (c->options.dispersion > 1)
		fprintf(out, "        variance taken as %.4g times that of independent samples\n", c->options.dispersion);
	if (!(c->options.run_size > 0))
		return;
	fprintf(out, "Runs:   %u before, %u after; besides sampling, they are taken to differ as samples of %g do "
		"(--run-size)\n", c->options.runs_before, c->options.runs_after, c->options.run_size);
	if (c->options.runs_before + c->options.runs_after == 2)
		fputs("        more of them, by --before FILE and --after FILE, tell whether they differ by more\n", out);
}

/* As folded text has it. */
static void put_name(const struct compare_list *list, flame_frame frame, FILE *out)
{
	const struct flame_frame_info *info = flame_frame_get(list->diff->profile, frame);

	put_text(flame_string_get(list->diff->profile, info->name), out);
	fputs(flame_kind_suffix(info->kind), out);
}

/* Path, root first. */
static int put_path(const struct compare_list *list, uint32_t box, FILE *out)
{
	size_t nr;
	uint32_t *path = compare_list_path(list, box, &nr);

	if (!path)
		return FLAME_ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		fputs(i ? ";" : "", out);
		put_name(list, list->layout.boxes[path[i]].frame, out);
	}
	free(path);
	return 0;
}

/* What stands before the name, from what goes first where lines are short to what stays. */
static const struct {
	unsigned int width;
	bool before, after, interval, self;
} layouts[] = {
	{ 78, true, true, true, true }, { 58, true, true, false, true }, { 29, true, true, false, false },
	{ 20, false, true, false, false }, { 11, false, false, false, false },
};

#define NR_LAYOUTS (sizeof(layouts) / sizeof(*layouts))
#define NAME_MIN 16	/* columns for a name, before something else goes */

static size_t choose_layout(const struct compare_list *list)
{
	unsigned int width = list->options->width;
	size_t i = 0;

	while (width && i + 1 < NR_LAYOUTS && layouts[i].width + NAME_MIN > width)
		i++;
	return i;
}

static void put_shares(const struct flame_change *c, size_t layout, FILE *out)
{
	if (layouts[layout].before)
		fprintf(out, "%7.2f%% ", 100 * c->before.part.share);
	if (layouts[layout].after)
		fprintf(out, "%7.2f%% ", 100 * c->after.part.share);
	fprintf(out, "%+8.2f", compare_points(flame_change_of_share(c), 2));
}

static int put_label(const struct compare_list *list, const struct flame_compared *item, FILE *out)
{
	int err = 0;

	if (list->is_paths)
		err = put_path(list, item->row, out);
	else
		put_name(list, item->row, out);
	if (*compare_state(&item->total))
		fprintf(out, " (%s)", compare_state(&item->total));
	return err;
}

/* Return: where the character begins that is @nr behind @text, which is UTF-8; @len where there are not so many. */
static size_t behind(const char *text, size_t len, size_t nr)
{
	size_t at = 0;

	while (at < len && nr--) {
		for (at++; at < len && utf8_is_tail((unsigned char)text[at]);)
			at++;
	}
	return at;
}

static size_t count_characters(const char *text, size_t len)
{
	size_t nr = 0;

	for (size_t i = 0; i < len; i++)
		nr += !utf8_is_tail((unsigned char)text[i]);
	return nr;
}

/* As put_label(), at most @width characters of it: what is too long loses its middle, as names differ at their ends. */
static int put_cut_label(const struct compare_list *list, const struct flame_compared *item, size_t width, FILE *out)
{
	char *text = NULL;
	size_t len = 0, nr;
	FILE *label = open_memstream(&text, &len);
	int err = label ? put_label(list, item, label) : FLAME_ENOMEM;

	if (label && fclose(label) && !err)
		err = FLAME_ENOMEM;
	nr = err ? 0 : count_characters(text, len);
	if (!err && nr <= width) {
		fwrite(text, 1, len, out);
	} else if (!err) {
		size_t head = (width - 2) / 2, tail = behind(text, len, nr - (width - 2 - head));

		fwrite(text, 1, behind(text, len, head), out);
		fputs("..", out);
		fwrite(text + tail, 1, len - tail, out);
	}
	free(text);
	return err;
}

/* The mark: what of the row changed more than chance would. */
static int put_row(const struct compare_list *list, const struct flame_compared *item, size_t layout, FILE *out)
{
	unsigned int width = list->options->width, used = layouts[layout].width;
	int err;

	put_shares(&item->total, layout, out);
	fputc(item->total.significant ? '*' : ' ', out);
	if (layouts[layout].interval)
		fprintf(out, " %+8.2f to %+7.2f", compare_points(item->total.interval.low, 2),
			compare_points(item->total.interval.high, 2));
	fputs("  ", out);
	if (layouts[layout].self) {
		put_shares(&item->self, layout, out);
		fprintf(out, "%c  ", item->self.significant ? '*' : ' ');
	}
	/* Less than this is no name. */
	err = width ? put_cut_label(list, item, width > used + 4 ? width - used : 4, out) : put_label(list, item, out);
	fputc('\n', out);
	return err;
}

static void put_titles(const struct compare_list *list, size_t layout, FILE *out)
{
	const char *name = list->is_paths ? "path" : "function";

	if (layouts[layout].interval)
		fprintf(out, "   total:                      %g %% interval of    self:\n"
			"  before    after   change   the change             before    after   change   %s\n", 100 * list->comparison.options.confidence, name);
	else if (layouts[layout].self)
		fprintf(out, "   total:                       self:\n"
			"  before    after   change     before    after   change   %s\n", name);
	else
		fprintf(out, "%s%s  change   %s\n", layouts[layout].before ? "  before " : "",
			layouts[layout].after ? "   after " : "", name);
}

static int put_rows(const struct compare_list *list, const char *title, size_t from, size_t to, size_t left_out,
		    FILE *out)
{
	size_t layout = choose_layout(list);
	int err = 0;

	fprintf(out, "\n%s:", title);
	if (from == to) {
		fputs(" nothing\n", out);
		return 0;
	}
	fputc('\n', out);
	put_titles(list, layout, out);
	for (size_t i = from; !err && i < to; i++)
		err = put_row(list, &list->comparison.items[list->rows[i]], layout, out);
	if (left_out)
		fprintf(out, "  and %zu more (--top)\n", left_out);
	return err;
}

static int put_list(const struct compare_list *list, FILE *out)
{
	int err;

	if (list->is_paths)
		fputs("\nPaths\n", out);
	put_test(list, out);
	err = put_rows(list, "Changed (* significantly)", 0, list->nr_changed, list->nr_changed_out, out);
	if (!err)
		err = put_rows(list, "Within noise", list->nr_changed, list->nr_rows, list->nr_noise_out, out);
	if (!err && list->nr_small)
		fprintf(out, "\n%zu below %g %% before and after (--min)\n", list->nr_small, list->options->min);
	return err;
}

int flame_compare_write_table(const struct flame_diff *d, const struct flame_compare_write_options *options, FILE *out)
{
	struct compare_list functions, paths = { 0 };
	int err = compare_list_init(&functions, d, options, false);

	/* Nothing is written before all is known. */
	if (!err && options->paths)
		err = compare_list_init(&paths, d, options, true);
	if (!err) {
		put_head(d, options, out);
		err = put_list(&functions, out);
	}
	if (!err && options->paths)
		err = put_list(&paths, out);
	compare_list_release(&functions);
	compare_list_release(&paths);
	return err ? err : ferror(out) ? FLAME_EIO : 0;
}
