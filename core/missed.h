/* SPDX-License-Identifier: MIT */
#ifndef FLAME_MISSED_H
#define FLAME_MISSED_H
#include "converter.h"

/*
 * bcc's tools write "[Missed User Stack]" where a stack could not be kept. Warns of the part of @p that has such
 * frames; for converters' finish(). Return: 0 or FLAME_ENOMEM.
 */
int flame_warn_missed(struct flame_reader *rd, const struct flame_profile *p);

#endif
