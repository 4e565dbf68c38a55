/* SPDX-License-Identifier: MIT */
#ifndef FLAME_JFR_POOLS_H
#define FLAME_JFR_POOLS_H
/*
 * The constant pools of one JFR chunk, and the stacks, frames and threads that they describe. An
 * entry is found by its id when it is needed; until then its bytes are only stepped over.
 */
#include "../core/converter.h"
#include "jfr_types.h"

/* The pools that matter, by the name of their type. */
enum jfr_role {
	JFR_STACKS,
	JFR_METHODS,
	JFR_CLASSES,
	JFR_SYMBOLS,
	JFR_STRINGS,
	JFR_THREADS,
	JFR_FRAME_TYPES,
	JFR_STATES,
	JFR_OBJECTS,
	JFR_NR_ROLES,
};

#define JFR_ROLE_FIELDS 4	/* most fields that are wanted of an entry */

/* How to read the pools of a chunk; belongs to its types. */
struct jfr_schema {
	struct jfr_types types;
	struct jfr_program *skips;	/* owned; a class each, made when it is needed */
	size_t nr_skips, room_skips;
	const struct jfr_class *classes[JFR_NR_ROLES];
	struct jfr_program programs[JFR_NR_ROLES];
	const struct jfr_field *fields[JFR_NR_ROLES][JFR_ROLE_FIELDS];
	struct jfr_program frame;	/* of an element of StackTrace.frames */
	uint16_t frame_slots[JFR_ROLE_FIELDS];	/* of varint i of a frame, where it is only varints */
	unsigned int frame_varints;	/* how many these are; 0: it is not */
};

/* Return: 0, FLAME_EFORMAT, FLAME_ENOMEM; to be released in any case. */
int jfr_schema_read(struct jfr_schema *schema, const unsigned char *bytes, size_t len);
void jfr_schema_release(struct jfr_schema *schema);

struct jfr_entry {
	const unsigned char *p, *end;	/* borrowed from the chunk */
	uint32_t row;			/* what it became, + 1; 0: not yet */
};

struct jfr_pool {
	struct idmap ids;
	struct jfr_entry *entries;
	size_t nr, room;
};

struct frame_kind;
#define JFR_KNOWN_KINDS 16

struct jfr_pools {
	struct jfr_schema *schema;	/* borrowed */
	const struct flame_read_options *options;	/* borrowed */
	struct flame_profile *profile;	/* borrowed */
	struct jfr_pool pools[JFR_NR_ROLES];
	bool has_default_state;		/* of threads: async-profiler has it */
	bool native_names;		/* async-profiler's: native frames are symbols, their classes are libraries */
	flame_frame *methods;		/* frames by method and kind */
	size_t room_methods;
	struct idmap lines;		/* frames by method, kind and line */
	flame_frame *frames;		/* of the stack that is being made, the leaf's first */
	flame_stack *stacks;
	size_t room_frames, room_stacks;
	char *text, *other, *name;	/* strings that are being read */
	size_t room_text, room_other, room_name;
	const struct frame_kind *kinds[JFR_KNOWN_KINDS];	/* by id, the usual ones */
	flame_frame unknown, truncated;
};

/* Forget the chunk before; @pools is zero at first. */
void jfr_pools_start(struct jfr_pools *pools, struct jfr_schema *schema, const struct flame_reader *rd);
void jfr_pools_release(struct jfr_pools *pools);
/*
 * Take the pools of a checkpoint's content behind its flags. What is known already stays: the last
 * checkpoint of a chunk comes first. Return: 0, FLAME_EFORMAT, FLAME_ENOMEM; what could be read is kept.
 */
int jfr_pools_add(struct jfr_pools *pools, struct jfr_cursor *c);
/* All checkpoints were added. */
void jfr_pools_ready(struct jfr_pools *pools);

bool jfr_pools_has(const struct jfr_pools *pools, enum jfr_role role, uint64_t id);
/* Make up to FLAME_PATHS stacks that have no root at once, so that jfr_pools_stack() finds them. */
void jfr_pools_stacks(struct jfr_pools *pools, const uint64_t *ids, size_t nr);
/* Return: the frames of stack @id on @root; the frame [unknown] where there are none. */
flame_stack jfr_pools_stack(struct jfr_pools *pools, uint64_t id, flame_stack root);
/* Return: the frame "[name tid=N]", and in *@task what is known of the thread. */
flame_frame jfr_pools_thread(struct jfr_pools *pools, uint64_t id, struct flame_task_info *task);
/* Return: the frame of a class as a leaf, "java.lang.String[]"; 0 where it is not known. */
flame_frame jfr_pools_class(struct jfr_pools *pools, uint64_t id, enum flame_kind kind);
/* Return: the frame of the class of an entry of jdk.types.OldObject, or 0. */
flame_frame jfr_pools_object(struct jfr_pools *pools, uint64_t id, enum flame_kind kind);
/* Return: the frame of a method as a leaf, or 0. */
flame_frame jfr_pools_method(struct jfr_pools *pools, uint64_t id, enum flame_kind kind);
/* The text of an event's field @field; valid until the next call; empty where there is none. */
struct flame_span jfr_pools_text(struct jfr_pools *pools, const struct jfr_field *field, struct jfr_value value,
				 const unsigned char *end);
/* The name of a thread's state, such as STATE_RUNNABLE; valid until the next call; empty where it is not known. */
struct flame_span jfr_pools_state(struct jfr_pools *pools, uint64_t id);

#endif
