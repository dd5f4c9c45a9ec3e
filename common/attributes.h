/*
 * Compiler attributes used across hfkv, under short names.
 */
#ifndef COMMON_ATTRIBUTES_H
#define COMMON_ATTRIBUTES_H

/* Every function that returns an enum hfkv_status carries this: ignoring one is a build error. */
#define MUST_CHECK __attribute__((warn_unused_result))

/* `text` is the 1-based index of the printf format argument, `values` that of the first value. */
#define PRINTF_LIKE(text, values) __attribute__((format(printf, text, values)))

/* For values that exist only to be asserted or to satisfy a signature. */
#define MAYBE_UNUSED __attribute__((unused))

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#endif
