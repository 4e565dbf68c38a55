/* SPDX-License-Identifier: MIT */
/*
 * heapprofile - V8's sampling heap profiles (.heapprofile):
 *
 *     {"head":{"callFrame":{"functionName":"(root)",…},"selfSize":0,"id":1,"children":[{…}]},
 *      "samples":[{"size":32784,"nodeId":7,"ordinal":1},…]}
 *
 * Written by node --heap-prof, the inspector of node and Chrome (HeapProfiler.stopSampling), and DevTools ("Allocation
 * sampling"). A node's selfSize is the bytes that it had allocated and that were still in use at the end.
 * Documentation/formats/heapprofile.md has the grammar and the versions seen. Not read: "samples", a
 * list of the same allocations, and of some that V8 made while it wrote the profile.
 */
#define _GNU_SOURCE
#include <string.h>

#include "v8.h"

struct state {
	struct flame_json json;
	struct v8_tree tree;
	bool has_head;
};

static int read_members(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);
	int err = 0;

	if (token != FLAME_JSON_OBJECT)
		return token == FLAME_JSON_ERROR ? FLAME_EDAMAGED :
						   flame_fail(rd, FLAME_EFORMAT, "not a .heapprofile: the JSON is no object");
	/* Of an inspector's answer the members of "result" and "profile" are taken as the file's own. */
	while (!err && token != FLAME_JSON_END && token != FLAME_JSON_ERROR) {
		token = flame_json_next(&st->json);
		if (token != FLAME_JSON_KEY)
			continue;
		if (flame_json_is(&st->json, "head")) {
			st->has_head = true;
			err = v8_tree_read(rd, &st->json, &st->tree);
		} else if (flame_json_is(&st->json, "profile") || flame_json_is(&st->json, "result")) {
			token = flame_json_next(&st->json);
			if (token != FLAME_JSON_OBJECT)
				err = flame_json_skip_rest(&st->json, token) ? 0 : FLAME_EDAMAGED;
		} else if (flame_json_skip(&st->json) == FLAME_JSON_ERROR) {
			err = FLAME_EDAMAGED;
		}
	}
	return token == FLAME_JSON_ERROR ? FLAME_EDAMAGED : err;
}

static int add_nodes(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_sample s = { .type = v8_type(rd, "inuse_space", "bytes", FLAME_VALUE_ALLOCATION) };
	int err = 0;

	for (uint32_t i = 1; !err && i < st->tree.nr; i++) {
		const struct v8_node *node = &st->tree.nodes[i];

		if (node->value < 0)
			err = flame_skip(rd, "a selfSize is below 0");
		if (node->value <= 0 || err)
			continue;
		s.value = node->value;
		err = v8_tree_stack(rd, &st->tree, i, &s.stack);
		if (node->role == V8_ROOT)
			s.stack = flame_stack_push(rd->profile, 0, node->frame);
		if (!err)
			err = flame_sample_add(rd->profile, &s);
	}
	return err;
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	int err, added;

	flame_json_init(&st->json, rd->input);
	err = read_members(rd);
	if (err && err != FLAME_EDAMAGED)
		return err;
	if (!err && !st->has_head)
		return flame_fail(rd, FLAME_EFORMAT, "not a .heapprofile: there is no \"head\"");
	added = add_nodes(rd);
	if (added)
		return added;
	return err ? flame_json_report(&st->json, rd, flame_nr_samples(rd->profile) > 0) : 0;
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	v8_tree_release(&st->tree);
	flame_json_release(&st->json);
}

static int probe(struct flame_span head)
{
	static const char *const keys[] = { "head", "result", "profile", NULL };
	uint32_t found = v8_top_keys(head, keys);
	bool size = memmem(head.s, head.len, "\"selfSize\"", 10), frame = memmem(head.s, head.len, "\"callFrame\"", 11);

	/* Old CPU profiles have a "head", too, but no call frames. */
	if (!size)
		return found & 1 && frame ? FLAME_SCORE_RECORD : FLAME_SCORE_NOT;
	return !found ? FLAME_SCORE_NOT : frame ? FLAME_SCORE_MAGIC : FLAME_SCORE_RECORD;
}

const struct flame_converter flame_heapprofile_converter = {
	.name = "heapprofile",
	.summary = "sampling heap profiles of V8 (node --heap-prof, DevTools), .heapprofile",
	.state_size = sizeof(struct state),
	.probe = probe,
	.read = read,
	.release = release,
};
