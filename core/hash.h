/* SPDX-License-Identifier: MIT */
#ifndef FLAME_HASH_H
#define FLAME_HASH_H
/*
 * Hashes for tables that live in memory: never written anywhere. Multiplying two 64-bit halves and
 * folding the 128-bit product mixes 16 bytes in a few cycles.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 m = (unsigned __int128)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static inline uint64_t hash_load64(const char *s)
{
	uint64_t v;

	memcpy(&v, s, sizeof(v));
	return v;
}

static inline uint64_t hash_load32(const char *s)
{
	uint32_t v;

	memcpy(&v, s, sizeof(v));
	return v;
}

#define HASH_A 0x9e3779b97f4a7c15ull
#define HASH_B 0xbf58476d1ce4e5b9ull
#define HASH_C 0x94d049bb133111ebull

/* Reads only bytes of the span: short ones as two overlapping words. */
static inline uint64_t hash_bytes(const char *s, size_t len)
{
	uint64_t h = len * HASH_C, g = HASH_B;

	while (len > 32) {
		h = hash_mix(hash_load64(s) ^ HASH_A, hash_load64(s + 8) ^ h);
		g = hash_mix(hash_load64(s + 16) ^ HASH_C, hash_load64(s + 24) ^ g);
		s += 32;
		len -= 32;
	}
	h ^= g;
	if (len > 16) {
		h = hash_mix(hash_load64(s) ^ HASH_A, hash_load64(s + 8) ^ h);
		s += len - 16;
		len = 16;
	}
	if (len >= 8)
		return hash_mix(hash_load64(s) ^ HASH_A, hash_load64(s + len - 8) ^ h ^ HASH_B);
	if (len >= 4)
		return hash_mix(hash_load32(s) ^ HASH_A, hash_load32(s + len - 4) ^ h ^ HASH_B);
	if (len)
		return hash_mix(((uint64_t)(unsigned char)s[0] << 16 | (uint64_t)(unsigned char)s[len / 2] << 8 |
				 (unsigned char)s[len - 1]) ^ HASH_A, h ^ HASH_B);
	return hash_mix(HASH_A, h ^ HASH_B);
}

static inline uint32_t hash_pair(uint32_t a, uint32_t b)
{
	return (uint32_t)(hash_mix((((uint64_t)a << 32) | b) ^ HASH_B, HASH_A) >> 16);
}

#endif
