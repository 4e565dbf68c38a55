/* SPDX-License-Identifier: MIT */
#ifndef FLAME_EVENT_H
#define FLAME_EVENT_H
/* Events by their names, and the options that choose samples by their time. */
#include "converter.h"

/*
 * The value type of samples of the Linux event @name, such as "cycles:u" or "cpu-clock:ppp".
 * @has_period: each is weighed by its period, else they are counted.
 */
flame_type flame_event_type(struct flame_profile *p, struct flame_span name, bool has_period);
/* Return: true where --time leaves out what was @ns nanoseconds after the first sample. */
bool flame_is_outside_time(const struct flame_read_options *options, int64_t ns);

#endif
