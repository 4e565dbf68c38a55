/* SPDX-License-Identifier: MIT */
/*
 * slow - counts words, too slowly: the example of Documentation/guide.md.
 *
 *	cc -O2 -g -fno-omit-frame-pointer -o slow slow.c
 *	cc -O2 -g -fno-omit-frame-pointer -DFIXED -o fixed slow.c
 *
 * It looks words up in a list, one after the other; with -DFIXED in a table by their hash. Both sleep
 * now and then, in place of a disk.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NR_WORDS 6000
#define NR_SLOTS 16384	/* a power of two */
#define APART __attribute__((noinline))

struct word {
	char text[16];
	unsigned int count;
};

static struct word words[NR_SLOTS];

static APART unsigned int hash(const char *s)
{
	unsigned int h = 2166136261u;

	while (*s)
		h = (h ^ (unsigned char)*s++) * 16777619u;
	return h;
}

#ifdef FIXED
static APART struct word *find_word(const char *text)
{
	unsigned int at = hash(text) % NR_SLOTS;

	while (words[at].count && strcmp(words[at].text, text))
		at = (at + 1) % NR_SLOTS;
	return &words[at];
}
#else
static APART struct word *find_word(const char *text)
{
	unsigned int at = 0;

	while (words[at].count && strcmp(words[at].text, text))
		at++;
	return &words[at];
}
#endif

static APART void next_word(char *text)
{
	static unsigned int seed = 1;

	seed = seed * 1103515245 + 12345;
	snprintf(text, 16, "word%u", (seed >> 8) % NR_WORDS);
}

static APART void write_log(void)
{
	usleep(20000);
}

int main(int argc, char **argv)
{
	long nr = argc > 1 ? atol(argv[1]) : 200000;
	unsigned int sum = 0;

	for (long i = 0; i < nr; i++) {
		char text[16];
		struct word *w;

		next_word(text);
		w = find_word(text);
		strcpy(w->text, text);
		w->count++;
		sum += hash(text);
		if (i % (nr / 50 + 1) == 0)
			write_log();
	}
	printf("%u\n", sum);
	return 0;
}
