/* The known word that a misspelt one most likely meant. Pure; any thread. */
#ifndef SRC_CONNECTOR_NEAREST_WORD_H
#define SRC_CONNECTOR_NEAREST_WORD_H

/* The entry of the NULL-terminated list with the least edit distance (insert, delete, replace, each 1) to
 * `word`; NULL when even that is further than half its length, so that nonsense gets no suggestion. */
const char *nearest_word(const char *word, const char *const *words);

#endif
