/* SPDX-License-Identifier: MIT */
/*
 * convert.c - from a path to a profile: recognise the format, read it in slices where that is
 * possible, merge the slices in order.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "converter.h"
#include "diag.h"
#include "look.h"
#include "thread.h"

#define MAX_THREADS 64
#define MIN_SLICE ((uint64_t)4 << 20)	/* smaller slices cost more than they give */
#define SPLIT_WINDOW ((size_t)1 << 20)

struct slice {
	struct flame_reader rd;
	struct flame_input input;
	struct flame_diag diag;
	int err;
	pthread_t thread;
	bool started;
};

struct job {
	struct flame_input input;
	struct flame_reader rd;		/* the whole: prepare, join, finish */
	struct flame_profile *profile;
	struct flame_span head;
	char *head_copy;
	struct slice *slices;
	unsigned int nr_slices;
	size_t nr_before;		/* messages, before the slices are read */
};

const struct flame_converter *flame_converter_find(const char *name)
{
	for (size_t i = 0; flame_converters[i]; i++) {
		if (!strcmp(flame_converters[i]->name, name))
			return flame_converters[i];
	}
	return NULL;
}

static int probe(const struct flame_converter *c, struct flame_span head)
{
	return c->probe ? c->probe(head) : FLAME_SCORE_NOT;
}

/* Return: the converter with the highest score but @except; NULL where none or two equal ones answer. */
static const struct flame_converter *recognise(struct flame_span head, const struct flame_converter *except,
					       const struct flame_converter **tie)
{
	const struct flame_converter *best = NULL;
	int best_score = flame_look_report(head) ? FLAME_SCORE_MAGIC - 1 : FLAME_SCORE_NOT;

	*tie = NULL;
	for (size_t i = 0; flame_converters[i]; i++) {
		int score = flame_converters[i] == except ? FLAME_SCORE_NOT : probe(flame_converters[i], head);

		if (score && score == best_score)
			*tie = flame_converters[i];
		if (score <= best_score)
			continue;
		best = flame_converters[i];
		best_score = score;
		*tie = NULL;
	}
	return best;
}

/* Nothing but blank lines and comments. */
static bool is_blank_text(struct flame_span s)
{
	bool comment = false;

	for (size_t i = 0; i < s.len; i++) {
		if (s.s[i] == '\n')
			comment = false;
		else if (s.s[i] == '#')
			comment = true;
		else if (!comment && s.s[i] != ' ' && s.s[i] != '\t' && s.s[i] != '\r')
			return false;
	}
	return true;
}

static int unknown_format(struct job *job)
{
	if (is_blank_text(job->head)) {
		flame_diag_add(job->rd.diag, FLAME_ERROR, "there are no samples, only blank lines and comments");
		return FLAME_EEMPTY;
	}
	flame_diag_add(job->rd.diag, FLAME_ERROR, "cannot tell what this is; it looks like %s. --list-formats tells what can be read",
		       flame_look(job->head));
	return FLAME_EFORMAT;
}

static int choose_converter(struct job *job)
{
	const struct flame_converter *tie;
	const char *from = job->rd.options->from;

	job->rd.converter = from ? flame_converter_find(from) : recognise(job->head, NULL, &tie);
	if (job->rd.converter && !job->rd.converter->read) {
		flame_diag_add(job->rd.diag, FLAME_ERROR, "%s can be written, not read", from);
		return FLAME_EARG;
	}
	if (from && !job->rd.converter) {
		flame_diag_add(job->rd.diag, FLAME_ERROR, "unknown format '%s'; --list-formats tells which there are", from);
		return FLAME_EARG;
	}
	if (!job->rd.converter)
		return unknown_format(job);
	if (!from && tie) {
		flame_diag_add(job->rd.diag, FLAME_ERROR, "could be %s or %s; say which with --from",
			       job->rd.converter->name, tie->name);
		return FLAME_EFORMAT;
	}
	return 0;
}

static struct flame_profile *new_profile(const struct flame_reader *rd)
{
	struct flame_profile_options options = {
		.kinds = rd->options->kinds | rd->converter->kinds_written,
		.keep_line = rd->options->srcline || rd->options->places,
		.keep_module = rd->options->places,
		.keep_task = rd->options->keep_task,
		.ordered = rd->options->ordered,
		.count = rd->options->count && !rd->converter->counted,
		.sums = rd->converter->counted,
		.root = rd->options->root,
	};

	return flame_profile_new(&options);
}

unsigned int flame_thread_count(const struct flame_read_options *options)
{
	cpu_set_t set;
	unsigned int nr = options->threads_max;

	if (!nr && !sched_getaffinity(0, sizeof(set), &set))
		nr = (unsigned int)CPU_COUNT(&set);
	return nr < 1 ? 1 : nr > MAX_THREADS ? MAX_THREADS : nr;
}

/* Return: where the first record at or behind @at begins, below @end; @end where none does. */
static uint64_t find_record(struct job *job, char *window, uint64_t at, uint64_t end)
{
	while (at < end) {
		size_t want = end - at < SPLIT_WINDOW ? (size_t)(end - at) : SPLIT_WINDOW;
		ssize_t got = pread(job->input.fd, window, want, (off_t)at);
		size_t found;

		if (got <= 0)
			return end;
		found = job->rd.converter->split(&job->rd, (struct flame_span){ window, (size_t)got });
		if (found < (size_t)got)
			return at + found;
		/* A record may begin at the window's last line: look at it again with what follows. */
		at += (uint64_t)got > SPLIT_WINDOW / 2 ? SPLIT_WINDOW / 2 : (uint64_t)got;
	}
	return end;
}

static int add_slice(struct job *job, uint64_t from, uint64_t to)
{
	struct slice *s = &job->slices[job->nr_slices];
	int err;

	s->rd = job->rd;
	s->rd.diag = &s->diag;
	s->rd.input = &s->input;
	s->rd.state = calloc(1, job->rd.converter->state_size + 1);
	s->rd.profile = new_profile(&job->rd);
	err = s->rd.state && s->rd.profile ? flame_input_open_slice(&s->input, &job->input, from, to) : FLAME_ENOMEM;
	job->nr_slices++;
	if (s->rd.state)
		memcpy(s->rd.state, job->rd.state, job->rd.converter->state_size);
	return err;
}

static int make_slices(struct job *job, uint64_t size)
{
	uint64_t start = flame_input_offset(&job->input), most = (size - start) / MIN_SLICE + 1;
	unsigned int nr = flame_thread_count(job->rd.options);
	char *window = malloc(SPLIT_WINDOW);
	uint64_t from = start;
	int err = 0;

	if (nr > most)
		nr = (unsigned int)most;
	job->slices = calloc(nr, sizeof(*job->slices));
	if (!window || !job->slices)
		err = FLAME_ENOMEM;
	for (unsigned int i = 1; !err && i <= nr; i++) {
		uint64_t to = start + (size - start) / nr * i;

		to = i == nr ? size : find_record(job, window, to, size);
		if (to <= from && i < nr)
			continue;
		/* The last one reads on where the file has grown meanwhile. */
		err = add_slice(job, from, to == size ? UINT64_MAX : to);
		from = to;
		if (to == size)
			break;
	}
	free(window);
	return err;
}

static uint64_t piece_length(struct job *job, uint64_t at)
{
	char head[FLAME_PIECE_HEAD];
	ssize_t got = pread(job->input.fd, head, sizeof(head), (off_t)at);

	return got > 0 ? job->rd.converter->piece(&job->rd, (struct flame_span){ head, (size_t)got }) : 0;
}

/* Return: where the piece at @at ends; @size where it does not tell, or is followed by something else. */
static uint64_t piece_end(struct job *job, uint64_t at, uint64_t size)
{
	uint64_t len = piece_length(job, at);

	/* One that was cut off may claim to end within another. */
	return len && len < size - at && piece_length(job, at + len) ? at + len : size;
}

/* As many slices as threads, of whole pieces each, and of about the same size. */
static int make_piece_slices(struct job *job, uint64_t size)
{
	uint64_t start = flame_input_offset(&job->input), most = (size - start) / MIN_SLICE + 1;
	unsigned int nr = flame_thread_count(job->rd.options);
	uint64_t from = start, at = start;
	int err = 0;

	if (nr > most)
		nr = (unsigned int)most;
	job->slices = calloc(nr, sizeof(*job->slices));
	if (!job->slices)
		return FLAME_ENOMEM;
	while (!err && from < size && job->nr_slices < nr) {
		uint64_t target = start + (size - start) / nr * (job->nr_slices + 1);

		if (job->nr_slices + 1 == nr)
			at = size;
		while (at < target && at < size)
			at = piece_end(job, at, size);
		err = add_slice(job, from, at == size ? UINT64_MAX : at);
		from = at;
	}
	return err;
}

static void read_slice(struct slice *s)
{
	struct flame_reader *rd = &s->rd;

	s->err = rd->converter->read(rd);
	if (!s->err)
		s->err = flame_profile_error(rd->profile);
	if (rd->converter->release)
		rd->converter->release(rd);
	if (rd->input->nr_long && !s->err)
		s->err = flame_skip_at(rd, "a line is longer than 16 MiB (FLAME_VIEW_MAX)", rd->input->long_line,
				       rd->input->nr_long);
}

static void *slice_thread(void *arg)
{
	read_slice(arg);
	return NULL;
}

static void run_slices(struct job *job)
{
	for (unsigned int i = 1; i < job->nr_slices; i++)
		job->slices[i].started = flame_thread_start(&job->slices[i].thread, slice_thread, &job->slices[i]);
	for (unsigned int i = 0; i < job->nr_slices; i++) {
		if (job->slices[i].started)
			pthread_join(job->slices[i].thread, NULL);
		else
			read_slice(&job->slices[i]);
	}
}

/* What the input itself could not give. */
static int check_input(struct job *job, struct slice *s)
{
	const struct flame_input *in = &s->input;

	if (!in->error)
		return 0;
	if (in->error == FLAME_EDAMAGED) {
		s->diag.damaged = true;
		flame_diag_add(&s->diag, FLAME_WARNING, "%s; what came before is used", in->damage);
		return 0;
	}
	flame_diag_add(job->rd.diag, FLAME_ERROR, "cannot read: %s", strerror(in->os_error));
	return in->error;
}

/* How far the sum had come, and what else was to be told up to there, depends on the number of threads. */
static int fail_full(struct job *job)
{
	flame_diag_forget(job->rd.diag, job->nr_before);
	flame_diag_add(job->rd.diag, FLAME_ERROR, "the sum of the values does not fit 64 bits");
	return FLAME_EOVERFLOW;
}

static int join_slice(struct job *job, struct slice *s)
{
	const struct flame_converter *c = job->rd.converter;
	int err = s->err ? s->err : check_input(job, s);

	if (flame_profile_error(s->rd.profile) == FLAME_EOVERFLOW)
		return fail_full(job);
	flame_diag_join(job->rd.diag, &s->diag);
	if (!err && c->join)
		c->join(&job->rd, s->rd.state);
	if (err)
		return err;
	if (!job->profile) {
		job->profile = s->rd.profile;
		s->rd.profile = NULL;
		return 0;
	}
	err = flame_profile_merge(job->profile, s->rd.profile);
	flame_profile_free(s->rd.profile);
	s->rd.profile = NULL;
	return err == FLAME_EOVERFLOW ? fail_full(job) : err;
}

/* One slice that is the whole input: pipes, compressed files, formats without records to split at. */
static int make_whole(struct job *job)
{
	struct slice *s;

	job->slices = calloc(1, sizeof(*job->slices));
	if (!job->slices)
		return FLAME_ENOMEM;
	s = &job->slices[job->nr_slices++];
	s->rd = job->rd;
	s->rd.diag = &s->diag;
	s->input = job->input;
	job->input = (struct flame_input){ .fd = job->input.fd, .directory = -1 };
	s->rd.input = &s->input;
	s->rd.profile = new_profile(&job->rd);
	s->rd.state = calloc(1, job->rd.converter->state_size + 1);
	if (!s->rd.profile || !s->rd.state)
		return FLAME_ENOMEM;
	memcpy(s->rd.state, job->rd.state, job->rd.converter->state_size);
	return flame_thread_count(job->rd.options) > 1 ? flame_input_decode_ahead(&s->input) : 0;
}

static int no_samples(struct job *job)
{
	const struct flame_converter *tie, *other = NULL;

	if ((job->rd.options->time_from > 0 || job->rd.options->time_to > 0) &&
	    job->rd.converter->choices & FLAME_CHOICE_TIME) {
		flame_diag_add(job->rd.diag, FLAME_ERROR, "no samples in the time that --time gives");
		return FLAME_EEMPTY;
	}
	if (job->rd.options->state && job->rd.converter->choices & FLAME_CHOICE_STATE) {
		char *others = flame_diag_states(job->rd.diag);

		flame_diag_add(job->rd.diag, FLAME_ERROR, "no samples of threads in the state '%s' that --state gives%s",
			       job->rd.options->state, others ? others : "");
		free(others);
		return FLAME_EEMPTY;
	}
	if (job->rd.options->from)
		other = recognise(job->head, job->rd.converter, &tie);
	if (other && !tie)
		flame_diag_add(job->rd.diag, FLAME_ERROR, "no samples as %s; this looks like %s (%s): use --from %s",
			       job->rd.converter->name, other->name, other->summary, other->name);
	else if (job->rd.options->from && probe(job->rd.converter, job->head) == FLAME_SCORE_NOT)
		flame_diag_add(job->rd.diag, FLAME_ERROR, "no samples as %s; it looks like %s", job->rd.converter->name,
			       flame_look(job->head));
	else if (job->rd.diag->damaged)
		flame_diag_add(job->rd.diag, FLAME_ERROR, "read as %s (%s), but no sample in it is readable",
			       job->rd.converter->name, job->rd.converter->summary);
	else
		flame_diag_add(job->rd.diag, FLAME_ERROR,
			       "read as %s (%s), but there are no samples in it: was the recording too short, or the process idle?",
			       job->rd.converter->name, job->rd.converter->summary);
	return FLAME_EEMPTY;
}

static void note_names(struct flame_reader *rd)
{
	const struct flame_read_options *o = rd->options;
	const struct { bool asked; enum flame_choice choice; const char *name, *instead; } names[] = {
		{ o->simple_names, FLAME_CHOICE_SIMPLE, "simple-names", "" },
		{ o->dot, FLAME_CHOICE_JAVA, "dot", "" },
		/* A report asks for it in any case. */
		{ o->normalize_names && !o->places, FLAME_CHOICE_JAVA, "normalize-names", "; --strip-ids goes for all formats" },
		{ o->bci, FLAME_CHOICE_BCI, "bci", "" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (names[i].asked && !(rd->converter->choices & names[i].choice))
			flame_note(rd, "--%s changes nothing here: names of %s are taken as they are%s", names[i].name,
				   rd->converter->name, names[i].instead);
	}
}

/* An option that is ignored in silence would have its user believe that it was not. */
static void note_unheeded(struct flame_reader *rd)
{
	const struct flame_read_options *o = rd->options;
	const struct { bool asked; enum flame_choice choice; const char *name; } choices[] = {
		{ o->time_from > 0 || o->time_to > 0, FLAME_CHOICE_TIME, "time" },
		{ o->state, FLAME_CHOICE_STATE, "state" },
		{ o->profile, FLAME_CHOICE_PROFILE, "profile" },
		{ o->labels && o->labels[0], FLAME_CHOICE_LABEL, "label" },
		{ o->leak, FLAME_CHOICE_LEAK, "leak" },
		{ o->offcpu, FLAME_CHOICE_OFFCPU, "offcpu" },
		{ o->no_idle, FLAME_CHOICE_IDLE, "no-idle" },
	};

	for (size_t i = 0; i < sizeof(choices) / sizeof(*choices); i++) {
		if (choices[i].asked && !(rd->converter->choices & choices[i].choice))
			flame_note(rd, "--%s changes nothing here: %s holds nothing that it could choose by",
				   choices[i].name, rd->converter->name);
	}
	note_names(rd);
	if (o->count && rd->converter->counted)
		flame_note(rd, "--count changes nothing here: the values are counts already");
}

/* --from may have been wrong: then the converter's own complaint does not help. */
static void hint_format(struct job *job)
{
	const struct flame_converter *tie, *other;

	if (!job->rd.options->from || probe(job->rd.converter, job->head) != FLAME_SCORE_NOT)
		return;
	for (size_t i = 0; i < job->rd.diag->nr_messages; i++) {
		if (strstr(job->rd.diag->messages[i].text, "--from"))
			return;
	}
	other = recognise(job->head, job->rd.converter, &tie);
	if (other && !tie)
		flame_diag_add(job->rd.diag, FLAME_ERROR, "this looks like %s (%s): use --from %s", other->name, other->summary,
			       other->name);
}

static void release_slices(struct job *job)
{
	for (unsigned int i = 0; i < job->nr_slices; i++) {
		struct slice *s = &job->slices[i];

		flame_profile_free(s->rd.profile);
		free(s->rd.state);
		flame_diag_release(&s->diag);
		flame_input_close(&s->input);
		*s = (struct slice){ 0 };
	}
	job->nr_slices = 0;
}

/* Return: whether each slice has begun as the one before it ended. */
static bool are_even(const struct job *job)
{
	const struct flame_converter *c = job->rd.converter;

	for (unsigned int i = 1; c->goes_on && i < job->nr_slices; i++) {
		if (!c->goes_on(job->rd.state, job->slices[i - 1].rd.state))
			return false;
	}
	return true;
}

/* All of the input again, as one slice. */
static int read_again(struct job *job)
{
	int err;

	release_slices(job);
	err = add_slice(job, flame_input_offset(&job->input), UINT64_MAX);
	if (!err)
		run_slices(job);
	return err;
}

static int read_slices(struct job *job)
{
	const struct flame_converter *c = job->rd.converter;
	uint64_t size;
	bool sliced = (c->split || c->piece) && flame_input_can_slice(&job->input, &size) &&
		      size > flame_input_offset(&job->input);
	int err;

	job->rd.state = calloc(1, c->state_size + 1);
	err = job->rd.state ? 0 : FLAME_ENOMEM;
	note_unheeded(&job->rd);
	if (!err && c->prepare)
		err = c->prepare(&job->rd, job->head);
	if (!err)
		err = !sliced ? make_whole(job) : c->piece ? make_piece_slices(job, size) : make_slices(job, size);
	job->nr_before = job->rd.diag->nr_messages;
	if (!err)
		run_slices(job);
	if (!err && !are_even(job))
		err = read_again(job);
	for (unsigned int i = 0; !err && i < job->nr_slices; i++)
		err = join_slice(job, &job->slices[i]);
	if (!err && c->finish)
		err = c->finish(&job->rd, &job->profile);
	flame_diag_report_skips(job->rd.diag);
	if (!err && !flame_nr_samples(job->profile))
		return no_samples(job);
	if (!err && job->rd.options->state && c->choices & FLAME_CHOICE_STATE)
		flame_diag_report_states(job->rd.diag, job->rd.options->state);
	if (err)
		hint_format(job);
	return err;
}

/* Copy what the probes see, as the next read moves it. */
static int copy_head(struct job *job, size_t size)
{
	struct flame_span head = flame_peek(&job->input, size);
	char *copy;

	if (head.len > size)
		head.len = size;
	copy = realloc(job->head_copy, head.len);
	if (!copy)
		return FLAME_ENOMEM;
	memcpy(copy, head.s, head.len);
	job->head_copy = copy;
	job->head = (struct flame_span){ copy, head.len };
	return 0;
}

/* Where a single long name or text fills the head, nobody knows the format by it: look further. */
static int look_further(struct job *job)
{
	const struct flame_converter *tie;

	if (job->rd.options->from || job->head.len < FLAME_HEAD_SIZE || recognise(job->head, NULL, &tie))
		return 0;
	return copy_head(job, FLAME_HEAD_MAX);
}

static int read_input(struct job *job)
{
	struct flame_span head = flame_peek(&job->input, FLAME_HEAD_SIZE);
	int err;

	if (!head.len && job->input.error == FLAME_EDAMAGED) {
		flame_diag_add(job->rd.diag, FLAME_ERROR, "%s", job->input.damage);
		return FLAME_EDAMAGED;
	}
	if (!head.len && job->input.error) {
		flame_diag_add(job->rd.diag, FLAME_ERROR, "cannot read: %s", strerror(job->input.os_error));
		return FLAME_EIO;
	}
	if (!head.len) {
		flame_diag_add(job->rd.diag, FLAME_ERROR, "the input is empty (0 bytes): did the command that makes it fail?");
		return FLAME_EEMPTY;
	}
	err = copy_head(job, FLAME_HEAD_SIZE);
	if (!err)
		err = look_further(job);
	if (!err)
		err = choose_converter(job);
	return err ? err : read_slices(job);
}

static void release_job(struct job *job)
{
	free(job->head_copy);
	release_slices(job);
	free(job->slices);
	free(job->rd.state);
}

static void describe(struct flame_diag *diag, int err)
{
	for (size_t i = 0; i < diag->nr_messages; i++) {
		if (diag->messages[i].severity == FLAME_ERROR)
			return;
	}
	flame_diag_add(diag, FLAME_ERROR, "%s", flame_strerror(err));
}

/* A directory is read through the file in it that some format has there. Return: as flame_input_open(). */
static int open_input(struct job *job, const char *path, int *directory)
{
	const char *from = job->rd.options->from;
	int fd = -1, err;

	if (strcmp(path, "-"))
		*directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*directory < 0)
		return flame_input_open(&job->input, path);
	job->input = (struct flame_input){ .fd = -1, .directory = -1 };
	for (size_t i = 0; fd < 0 && flame_converters[i]; i++) {
		const struct flame_converter *c = flame_converters[i];

		if (c->directory_file && (!from || !strcmp(from, c->name)))
			fd = openat(*directory, c->directory_file, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0) {
		errno = EISDIR;
		return FLAME_EIO;
	}
	err = flame_input_open_fd(&job->input, fd, path);
	if (err)
		close(fd);
	job->input.directory = *directory;
	return err;
}

int flame_read(struct flame_profile **profile, const char *path, const struct flame_read_options *options,
	       struct flame_diag *diag)
{
	struct job job = { .rd = { .options = options, .diag = diag } };
	int directory = -1, err = open_input(&job, path, &directory), fd = job.input.fd;

	*profile = NULL;
	if (err && directory >= 0)
		close(directory);
	if (err) {
		flame_diag_add(diag, FLAME_ERROR, err == FLAME_EIO ? "cannot open: %s" : "%s",
			       err == FLAME_EIO ? strerror(errno) : flame_strerror(err));
		return err;
	}
	job.rd.input = &job.input;
	job.input.progress = options->progress;
	err = read_input(&job);
	release_job(&job);
	flame_input_close(&job.input);
	close(fd);
	if (directory >= 0)
		close(directory);
	if (err) {
		describe(diag, err);
		flame_profile_free(job.profile);
		return err;
	}
	flame_meta(job.profile)->format = flame_intern(job.profile, job.rd.converter->name, strlen(job.rd.converter->name));
	flame_meta(job.profile)->damaged |= diag->damaged;
	*profile = job.profile;
	return 0;
}
