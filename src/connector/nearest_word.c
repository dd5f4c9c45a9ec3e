#include "src/connector/nearest_word.h"

#include <stddef.h>
#include <string.h>

#define WORD_MAX 64

static size_t smallest(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;
	return least < c ? least : c;
}

/* Levenshtein distance with one row of the table; both words have at most WORD_MAX bytes. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[WORD_MAX + 1];
	size_t b_length = strlen(b);
	for (size_t j = 0; j <= b_length; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t diagonal = row[0];
		row[0] = i + 1;
		for (size_t j = 0; j < b_length; j++) {
			size_t above = row[j + 1];
			row[j + 1] = smallest(above + 1, row[j] + 1, diagonal + (a[i] != b[j]));
			diagonal = above;
		}
	}
	return row[b_length];
}

const char *nearest_word(const char *word, const char *const *words)
{
	if (strlen(word) > WORD_MAX)
		return NULL;
	const char *nearest = NULL;
	size_t least = 0;
	for (; *words; words++) {
		if (strlen(*words) > WORD_MAX)
			continue;
		size_t distance = edit_distance(word, *words);
		if (!nearest || distance < least) {
			nearest = *words;
			least = distance;
		}
	}
	return nearest && least <= strlen(nearest) / 2 ? nearest : NULL;
}
