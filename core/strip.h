/* SPDX-License-Identifier: MIT */
#ifndef FLAME_STRIP_H
#define FLAME_STRIP_H
#include "flame.h"

/* "lambda_0x7f00aa10" to "lambda_0x..."; @to has room for twice the name. Return: the length. */
size_t flame_strip_hex(char *to, struct flame_span name);

/*
 * What differs from run to run or from build to build in names of the same thing goes: hexadecimal numbers
 * (also without 0x, from 8 digits on), numbers of threads and processes (pool-N-thread-N), of clones (.cold, .isra.0,
 * .llvm.123, [clone .part.1]), of lambdas and generated classes, hashes of Rust, versions. @to has room
 * for twice the name and 16 bytes. Return: the length.
 */
size_t flame_strip_ids(char *to, struct flame_span name);

#endif
