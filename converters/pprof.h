/* SPDX-License-Identifier: MIT */
#ifndef FLAME_PPROF_H
#define FLAME_PPROF_H
/*
 * What the parts of the converter pprof share: profile.proto (pprof_proto.c, pprof_bulk.c), the formats before it
 * (pprof_legacy.c, pprof_text.c), the frames that both make (pprof_frames.c), the writer
 * (pprof_write.c).
 */
#include "../core/cache.h"
#include "../core/converter.h"
#include "../core/feeder.h"
#include "../core/hash.h"
#include "../core/protobuf.h"

/* What is known of one frame; spans are empty, not NULL, where nothing is. */
struct pprof_place {
	struct flame_span name;
	struct flame_span module;	/* path of the mapped file */
	struct flame_span file;
	int64_t line;			/* 0: not known */
	uint64_t address;
	enum flame_kind kind;
};

/* Room for names being made. */
struct pprof_scratch {
	char *bytes;
	size_t room;
	bool shown;		/* names of functions are as they are shown, see PPROF_NAMES_COMMENT */
};

#define PPROF_SPAN(text) ((struct flame_span){ text, sizeof(text) - 1 })
#define PPROF_NOWHERE ((struct pprof_place){ { "", 0 }, { "", 0 }, { "", 0 }, 0, 0, FLAME_USER })

/*
 * Return: the row of the frame, named as the options say: the tidied name, else "[module]", else
 * the address. 0 without memory.
 */
flame_frame pprof_frame(struct flame_reader *rd, struct pprof_scratch *scratch, const struct pprof_place *place);
/* Return: the frame for a label's value or a thread's name; 0 without memory. */
flame_frame pprof_label_frame(struct flame_reader *rd, struct pprof_scratch *scratch, struct flame_span text);
/* Return: the row of the type; what it measures is told by its name. @name may be one that there is already. */
flame_type pprof_type(struct flame_reader *rd, struct flame_span name, struct flame_span unit);
/* The same of @kind. */
flame_type pprof_type_of_kind(struct flame_reader *rd, struct flame_span name, struct flame_span unit,
			      enum flame_value_kind kind);
/* Return: what values of a type called @name are of. */
enum flame_value_kind pprof_value_kind(struct flame_span name);
/* How pprof_write.c begins its comments, which are not for people. */
#define PPROF_OWN_COMMENT "fgtools:"
/* How it begins one that tells a type's kind where its name does not: "fgtools:kind wall time". */
#define PPROF_KIND_COMMENT "fgtools:kind "
/* The same for a type whose unit is not known, which pprof has no word for: "fgtools:unit unknown events". */
#define PPROF_UNIT_COMMENT "fgtools:unit unknown "
/* That names are as they were shown, where tidying would change some: "std::find(int)" of a format that keeps these. */
#define PPROF_NAMES_COMMENT "fgtools:names as shown"
#define PPROF_KIND_UNKNOWN "unknown"	/* where the name would tell one */

/* Of the message. */
#define PPROF_TYPES_MAX 64	/* sample types of one profile */
#define PPROF_LABELS_MAX 17	/* --label is given up to 16 times, and --threads is one more */
#define PPROF_FRAMES_AT_ONCE 4	/* of a location, which are copied whether it has so many or not */

struct pprof_location {
	uint64_t mapping, address;
	uint32_t first, nr;	/* lines; later frames */
};

struct pprof_label {
	struct flame_span bytes;
};

/* The sample at hand, and the one before it. */
struct pprof_sample {
	flame_frame *frames;	/* the leaf's first */
	size_t nr_frames, room_frames;
	struct flame_span ids;	/* packed locations that are not in @frames yet */
	bool whole;		/* these are all that it has */
	int64_t values[PPROF_TYPES_MAX];
	size_t nr_values;
	struct pprof_label *labels;
	size_t nr_labels, room_labels;
	const char *wanted[PPROF_LABELS_MAX];	/* labels that become root frames; NULL: the thread's */
	size_t nr_wanted;
	bool seen[PPROF_LABELS_MAX];
	char *text;
	size_t nr_text, room_text;
	char *key;
	size_t room_key;
};

struct pprof_index {
	uint64_t *ids;
	size_t nr, room;
	uint32_t *rows;		/* by id, or slots by its hash */
	uint64_t nr_rows;
	bool hashed;
};

/* Return: where @id's row is, or would be. */
static inline uint32_t *pprof_id_slot(const struct pprof_index *x, uint64_t id)
{
	uint64_t i;

	if (!x->hashed)
		return &x->rows[id];
	for (i = hash_mix(id ^ HASH_A, HASH_B) & (x->nr_rows - 1); x->rows[i] && x->ids[x->rows[i] - 1] != id;)
		i = (i + 1) & (x->nr_rows - 1);
	return &x->rows[i];
}

/* Return: the row behind that of @id; 0 for an id that is not there. */
static inline uint32_t pprof_find_id(const struct pprof_index *x, uint64_t id)
{
	if (!x->hashed)
		return id < x->nr_rows ? x->rows[id] : 0;
	return *pprof_id_slot(x, id);
}

struct pprof_strings {
	char *bytes;
	size_t nr_bytes, room_bytes;
	size_t *ends;
	size_t nr, room;
};

/* Whether it is worth looking for what came before. */
struct pprof_worth {
	uint32_t nr_tried, nr_found, nr_paused;	/* samples */
};

/* Stacks by the bytes of their locations: samples of one stack and different labels are most of a large profile. */
struct pprof_seen {
	struct flame_cache stacks;	/* the number that the feeder knows each by */
	uint32_t nr;			/* the last number */
	struct pprof_worth worth;
};

struct pprof_proto {
	struct pprof_strings strings;
	struct pprof_value_type *types;
	struct pprof_mapping *mappings;
	struct pprof_function *functions;
	struct pprof_location *locations;
	struct pprof_line *lines;
	uint64_t *comments;
	size_t nr_types, nr_mappings, nr_functions, nr_locations, nr_lines, nr_comments;
	size_t room_types, room_mappings, room_functions, room_locations, room_lines, room_comments;
	struct pprof_index mapping_index, function_index, location_index;
	char *bytes;		/* the fields of samples as they came; of a plain file all of it */
	bool whole;		/* that is it */
	size_t nr_bytes, room_bytes, nr_samples, nr_sample_bytes;
	uint32_t *starts;	/* of samples in bytes: of as many as it can be told for */
	size_t nr_starts, room_starts;
	uint64_t drop_frames, keep_frames, default_type, period_type, period_unit;
	int64_t time, duration, period;
	bool twice;		/* a second profile follows the first */

	/* While samples are looked at. */
	flame_frame *frames;	/* of all locations, the root's first of each */
	size_t nr_frames, room_frames;
	flame_type *type_rows;
	bool *is_count;		/* the type's unit is that */
	struct pprof_sample *sample;
	struct flame_feeder *feeder;
	struct pprof_seen seen;
	flame_frame *path;	/* of the sample at hand, the root's first */
	size_t room_path;
	struct pprof_scratch scratch;
};

int pprof_proto_read(struct flame_reader *rd, struct pprof_proto *p);
void pprof_proto_release(struct pprof_proto *p);
/* Add the sample in @message. Return: 0 or a failure. */
int pprof_sample_read(struct flame_reader *rd, struct pprof_proto *p, struct flame_span message);
/* Fill @rows with what a sample's @values add. Return: how many rows. */
size_t pprof_sample_rows(const struct pprof_proto *p, const int64_t *values, struct flame_sample *rows);
/* Return: true where hardly a stack comes twice, and they can be told apart by the locations alone. */
bool pprof_bulk_is_worth(const struct flame_reader *rd, const struct pprof_proto *p);
/* Add all samples. Return: 0, a failure, or FLAME_BULK_NOT with nothing done. */
int pprof_bulk_read(struct flame_reader *rd, struct pprof_proto *p);
int pprof_proto_probe(struct flame_span head);

/* Of the legacy formats: stacks of addresses until the memory map behind them is known. */
struct pprof_legacy {
	flame_type types[4];
	size_t nr_types;
	struct pprof_stack *stacks;
	uint64_t *addresses;
	struct pprof_map *maps;
	struct pprof_symbol *symbols;
	char *text;		/* that maps and symbols point into */
	size_t nr_stacks, nr_addresses, nr_maps, nr_symbols, nr_text;
	size_t room_stacks, room_addresses, room_maps, room_symbols, room_text;
	flame_frame *frames;	/* of the stack at hand, the leaf's first */
	size_t nr_frames, room_frames;
	struct pprof_scratch scratch;
};

int pprof_legacy_read(struct flame_reader *rd, struct pprof_legacy *l);
void pprof_legacy_release(struct pprof_legacy *l);
int pprof_legacy_probe(struct flame_span head);

int pprof_text_read(struct flame_reader *rd, struct pprof_legacy *l);
int pprof_text_probe(struct flame_span head);
/* Add the stack of @nr addresses from @first on (their values in the order of l->types). */
bool pprof_legacy_add(struct pprof_legacy *l, size_t first, const int64_t *values);
/* Add a sample of each type that has a value. */
int pprof_legacy_sample(struct flame_reader *rd, const struct pprof_legacy *l, flame_stack stack,
			const int64_t *values);
bool pprof_legacy_address(struct pprof_legacy *l, uint64_t address);
/* Read the lines of a memory map up to the end of the input, then give all stacks to the profile. @is_text: lines came before. */
int pprof_legacy_finish(struct flame_reader *rd, struct pprof_legacy *l, bool is_text);

int pprof_write(const struct flame_profile *p, const struct flame_write_options *options, FILE *out);

#endif
