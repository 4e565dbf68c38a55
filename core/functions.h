/* SPDX-License-Identifier: MIT */
#ifndef FLAME_FUNCTIONS_H
#define FLAME_FUNCTIONS_H
/*
 * functions.h - a profile as a tree of calls between functions, which is what a reading is made
 * from. Other than stacks:
 *
 *	a function is one, whatever lines of it were met;
 *	a function of the project that is on the stack already is not called anew but gone back to, so that
 *	recursion does not hide where time goes; so is one of a library, as long as no project code lies between;
 *	what runs below the kernel's entry is the kernel's;
 *	root frames that name a process or thread are no calls.
 */
#include "flame.h"
#include "kernel.h"
#include "owner.h"

struct flame_function {
	/* Spans of the profile's table, which must outlive them. */
	struct flame_span name, module, file;
	enum flame_code code;
	const char *why;	/* of the code; static storage */
	bool is_nameless;	/* code without a symbol */
	int64_t self, total;	/* total: recursion counts once */
	uint64_t hints;		/* bits of core/hints.h */
	flame_frame line;	/* frame of the profile at whose line most of self is; 0: none */
	uint32_t next;		/* with the same name and module */
	bool has_nodes;
};

/* A function, as called from a path of functions. Callers stand before what they call; node 0 is the root. */
struct flame_call {
	uint32_t function, caller;
	int64_t self, total;
	uint32_t entry_name;		/* call whose function names the system call; 0: none */
	uint8_t code;			/* enum flame_code: the function's, or the kernel's below its entry */
	uint8_t spent;			/* enum flame_code: what self counts as: a collector's memcpy() is garbage collection */
	uint8_t entry, work;		/* of the kernel: enum flame_kernel_entry, enum flame_kernel_work */
	bool has_user;			/* a function that is not the kernel's is on the way to the root, this one included */
	uint32_t owner;			/* the nearest project node on the way to the root, this one included; 0: none */
};

struct flame_functions {
	const struct flame_profile *profile;
	flame_type type;
	bool is_blocked;	/* values are times that nothing ran: the scheduler is no work then */
	struct flame_function *functions;	/* from 1 */
	size_t nr_functions, room_functions;
	struct flame_call *calls;
	size_t nr_calls, room_calls;
	uint32_t *of_frame;	/* the function of each frame of the profile */
	uint32_t *of_stack;	/* the call of each stack of the profile */
	int64_t *selves;	/* of each stack of the profile, idle ones left out */
	int64_t total;		/* without idle */
	int64_t idle;
};

/*
 * Read the samples of @p's @type, which measures @kind. Return: 0, FLAME_ENOMEM, FLAME_EOVERFLOW,
 * FLAME_EARG for negative values.
 */
int flame_functions_init(struct flame_functions *f, const struct flame_profile *p, flame_type type,
			 enum flame_value_kind kind, struct flame_owner *owner);
void flame_functions_release(struct flame_functions *f);

#endif
