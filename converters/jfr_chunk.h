/* SPDX-License-Identifier: MIT */
#ifndef FLAME_JFR_CHUNK_H
#define FLAME_JFR_CHUNK_H
/* The chunks of a JFR file, and the events of a chunk: where they are, not what they mean. */
#include "../core/converter.h"
#include "jfr_types.h"

#define JFR_HEADER 68
#define JFR_IMAGE_MAX ((uint64_t)32 << 20)	/* chunks up to this are read as a whole */
#define JFR_WINDOW ((size_t)1 << 20)		/* others in pieces of this: the longest event that is used */

struct jfr_chunk {
	unsigned char *image;	/* owned: the whole chunk, unless it is read from fd */
	size_t room;
	bool in_file;
	int fd;			/* borrowed, or the spool */
	bool spooled;		/* fd is our own */
	uint64_t base;		/* of the chunk in fd */
	uint64_t offset;	/* of the chunk in the input */
	uint64_t loaded;	/* what there is of it in the input */
	uint64_t size;		/* the same; of a damaged one up to where its events can be followed */
	uint64_t pools, metadata;	/* offsets that the header tells; 0: none */
	uint64_t start_ns, duration_ns, start_ticks, frequency;	/* duration 0: not told */
	bool damaged;		/* its end is missing, or it says that it is unfinished, or an event is broken */
	uint64_t broken_at;	/* an event is too small for its own header there; 0: none */
	unsigned char *window;	/* owned */
	unsigned char **blobs;	/* owned: events that were fetched from fd */
	size_t nr_blobs, room_blobs;
};

/* Whether @s begins like a file of JFR, and like a chunk of version 2. */
bool jfr_is_magic(struct flame_span s);
bool jfr_is_header(struct flame_span s);
/* Return: how long the finished chunk is that begins with @head; 0 where it does not tell. */
uint64_t jfr_chunk_length(struct flame_span head);

/*
 * Read the chunk whose header is the first JFR_HEADER bytes of the view of rd->input. @chunk is zero at
 * first, then what was read before. Return: 0, FLAME_EIO, FLAME_ENOMEM.
 */
int jfr_chunk_read(struct flame_reader *rd, struct jfr_chunk *chunk);
/* It is damaged: where it has swallowed the next chunk, as it was cut off, it ends there. */
void jfr_chunk_damaged(struct jfr_chunk *chunk);
/* The input goes on behind the chunk, or where in a damaged one another begins. Return: as above. */
int jfr_chunk_leave(struct flame_reader *rd, struct jfr_chunk *chunk);
void jfr_chunk_release(struct jfr_chunk *chunk);
/* Step over what is no chunk. Return: how many bytes these are. */
uint64_t jfr_skip_to_header(struct flame_reader *rd);

/* A way through a chunk's events, from the first. */
struct jfr_walker {
	const struct jfr_chunk *chunk;
	const unsigned char *buf;
	size_t pos, len;
	uint64_t at;		/* offset of buf[0] in the chunk */
	bool torn;		/* the last event is not whole */
	uint64_t broken_at;	/* an event is too small for its own header there; 0: none */
};

struct jfr_event {
	uint64_t at, size, type;
	struct jfr_cursor c;	/* behind the type; empty for events longer than JFR_WINDOW */
	size_t room;		/* bytes that can be read from c.p on */
	bool partial;		/* longer than JFR_WINDOW */
};

/* Return: 0 or FLAME_ENOMEM. */
int jfr_walk(struct jfr_walker *w, struct jfr_chunk *chunk);
/* Return: false at the end, and where the events cannot be followed any further. */
bool jfr_next(struct jfr_walker *w, struct jfr_event *e);
/*
 * The whole event at @at, which must be of @type, valid as long as the chunk.
 * Return: 0, FLAME_EFORMAT where there is none, FLAME_ENOMEM.
 */
int jfr_fetch(struct jfr_chunk *chunk, uint64_t at, uint64_t type, struct jfr_cursor *c);

#endif
