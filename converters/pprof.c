/* SPDX-License-Identifier: MIT */
/*
 * pprof - profiles of pprof, in all formats that `go tool pprof` reads:
 *
 *     the protocol buffer message of profile.proto, gzipped or not
 *     gperftools' CPU profiles: binary words, then a memory map
 *     heap profile:      1:     4096 [  3474: 110980248] @ heapprofile
 *     goroutine profile: total 7
 *     --- contention:
 *
 * Written by Go's runtime/pprof and net/http/pprof (text with debug=1, debug=2), gperftools,
 * async-profiler's jfrconv, Rust's pprof crate, py-spy's and Datadog's exporters, and fgconv. Seen:
 * Go 1.15 to 1.27, gperftools 2.10, async-profiler 4.5. Not read: legacy CPU profiles of Java.
 */
#include "pprof.h"

struct state {
	struct pprof_proto proto;
	struct pprof_legacy legacy;
};

/* In the order of the readers below. */
enum variant { PROTO, LEGACY, TEXT, NR_VARIANTS };

static int probe_all(struct flame_span head, enum variant *best)
{
	int scores[NR_VARIANTS] = { pprof_proto_probe(head), pprof_legacy_probe(head), pprof_text_probe(head) };

	*best = PROTO;
	for (enum variant v = PROTO; v < NR_VARIANTS; v++) {
		if (scores[v] > scores[*best])
			*best = v;
	}
	return scores[*best];
}

static int probe(struct flame_span head)
{
	enum variant best;

	return probe_all(head, &best);
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span head = flame_peek(rd->input, FLAME_HEAD_SIZE);
	enum variant variant;

	if (head.len > FLAME_HEAD_SIZE)
		head.len = FLAME_HEAD_SIZE;
	probe_all(head, &variant);
	if (rd->options->time_from > 0 || rd->options->time_to > 0)
		flame_note(rd, "--time changes nothing here: the samples do not say when they were taken");
	switch (variant) {
	case LEGACY:
		return pprof_legacy_read(rd, &st->legacy);
	case TEXT:
		return pprof_text_read(rd, &st->legacy);
	default:
		return pprof_proto_read(rd, &st->proto);
	}
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	pprof_proto_release(&st->proto);
	pprof_legacy_release(&st->legacy);
}

const struct flame_converter flame_pprof_converter = {
	.name = "pprof",
	.summary = "pprof: profile.proto, gperftools' profiles, and the text of Go's",
	.choices = FLAME_CHOICE_TIME | FLAME_CHOICE_STATE | FLAME_CHOICE_LABEL,
	.state_size = sizeof(struct state),
	.probe = probe,
	.read = read,
	.release = release,
	.write = pprof_write,
};
