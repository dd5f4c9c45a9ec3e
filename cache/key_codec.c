#include "cache/key_codec.h"

#include "common/cleanup.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DATA_SUFFIX       ".data"
#define DATA_SUFFIX_BYTES 5
#define SLASH_WORD        "-SEP-"
#define SLASH_WORD_BYTES  5
#define RANK_MARK         "0x"
#define RANK_MARK_BYTES   2
#define RANK_MIN_DIGITS   8
#define HASH_MAX_DIGITS   64

/* ---- fields of a key ---- */

/* One `@`-separated field, not terminated. */
struct field {
	const char *text;
	size_t length;
};

/* Field `index` of `key`, text NULL when there are fewer. */
static struct field key_field(const char *key, unsigned index)
{
	for (; index > 0; index--) {
		key = strchr(key, '@');
		if (!key)
			return (struct field){ NULL, 0 };
		key++;
	}
	return (struct field){ key, strcspn(key, "@") };
}

static unsigned key_field_count(const char *key)
{
	unsigned count = 1;
	for (; *key; key++)
		count += *key == '@';
	return count;
}

static bool is_lower_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_hex(char c)
{
	return is_lower_hex(c) || (c >= 'A' && c <= 'F');
}

/* What printf's %08x writes: 8 digits, or more without a leading zero. */
static bool is_rank(struct field field)
{
	if (!field.text || field.length < RANK_MIN_DIGITS ||
	    (field.length > RANK_MIN_DIGITS && field.text[0] == '0'))
		return false;
	for (size_t i = 0; i < field.length; i++)
		if (!is_lower_hex(field.text[i]))
			return false;
	return true;
}

static bool is_chunk_hash(struct field field)
{
	if (field.length > 0 && field.text[0] == '-')
		field = (struct field){ field.text + 1, field.length - 1 };
	if (field.length == 0 || field.length > HASH_MAX_DIGITS)
		return false;
	for (size_t i = 0; i < field.length; i++)
		if (!is_hex(field.text[i]))
			return false;
	return true;
}

static bool is_decimal(struct field field)
{
	for (size_t i = 0; i < field.length; i++)
		if (field.text[i] < '0' || field.text[i] > '9')
			return false;
	return field.length > 0;
}

static bool is_group(struct field field)
{
	for (size_t i = 0; i < field.length; i++)
		if (!is_hex(field.text[i]))
			return false;
	return field.length > 0;
}

/* Keys whose file name carries the 0x mark: all that have a rank where MP keys have it, salted or odd. */
static bool has_rank(const char *key)
{
	return is_rank(key_field(key, 1)) && key_field(key, 2).text;
}

static enum key_family mp_family(const char *key)
{
	switch (key_field_count(key)) {
	case 3: return is_chunk_hash(key_field(key, 2)) ? KEY_FAMILY_MP_OLD : KEY_FAMILY_OTHER;
	case 4:
	case 5:
		return is_group(key_field(key, 2)) && is_chunk_hash(key_field(key, 3)) ? KEY_FAMILY_MP
										       : KEY_FAMILY_OTHER;
	default: return KEY_FAMILY_OTHER;
	}
}

enum key_family key_family_of(const char *key)
{
	if (key_field(key, 0).length == 0)
		return KEY_FAMILY_OTHER;
	if (is_rank(key_field(key, 1)))
		return mp_family(key);
	bool fits = key_field_count(key) >= 5 && is_decimal(key_field(key, 1)) && is_decimal(key_field(key, 2)) &&
		    is_chunk_hash(key_field(key, 3)) && key_field(key, 4).length > 0;
	return fits ? KEY_FAMILY_NON_MP : KEY_FAMILY_OTHER;
}

/* ---- UTF-8 ---- */

/* Length of the well-formed UTF-8 character at `text`, 0 when there is none (Unicode 15, table 3-7). */
static size_t utf8_character_bytes(const unsigned char *text)
{
	unsigned char low = 0x80, high = 0xBF;
	size_t length;
	if (text[0] < 0x80)
		return 1;
	if (text[0] >= 0xC2 && text[0] <= 0xDF) {
		length = 2;
	} else if (text[0] >= 0xE0 && text[0] <= 0xEF) {
		length = 3;
		low = text[0] == 0xE0 ? 0xA0 : low;
		high = text[0] == 0xED ? 0x9F : high;
	} else if (text[0] >= 0xF0 && text[0] <= 0xF4) {
		length = 4;
		low = text[0] == 0xF0 ? 0x90 : low;
		high = text[0] == 0xF4 ? 0x8F : high;
	} else {
		return 0;
	}
	if (text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if (text[i] < 0x80 || text[i] > 0xBF)
			return 0;
	return length;
}

static bool is_utf8(const char *text)
{
	while (*text) {
		size_t length = utf8_character_bytes((const unsigned char *)text);
		if (length == 0)
			return false;
		text += length;
	}
	return true;
}

/* A key may be any text; "." and ".." would be object names that walk. */
static bool is_key(const char *key)
{
	return key[0] && strcmp(key, ".") != 0 && strcmp(key, "..") != 0 && is_utf8(key);
}

/* ---- object names ---- */

static bool is_unreserved(unsigned char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
	       c == '.' || c == '-' || c == '~';
}

static enum hfkv_status percent_encode(const char *key, char **ret_name)
{
	static const char digits[] = "0123456789ABCDEF";
	char *name = malloc(3 * strlen(key) + 1), *end = name;
	if (!name)
		return HFKV_NO_MEMORY;
	for (const unsigned char *c = (const unsigned char *)key; *c; c++) {
		if (is_unreserved(*c)) {
			*end++ = (char)*c;
			continue;
		}
		*end++ = '%';
		*end++ = digits[*c >> 4];
		*end++ = digits[*c & 15];
	}
	*end = '\0';
	*ret_name = name;
	return HFKV_OK;
}

/* The value of a digit that percent_encode writes, -1 for anything else. */
static int upper_hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Undoes percent_encode; INVALID for what percent_encode never writes. */
static enum hfkv_status percent_decode(const char *name, char **ret_key)
{
	CLEANUP(free_pointer) char *key = malloc(strlen(name) + 1);
	if (!key)
		return HFKV_NO_MEMORY;
	char *end = key;
	while (*name) {
		if (is_unreserved((unsigned char)*name)) {
			*end++ = *name++;
			continue;
		}
		int high = *name == '%' ? upper_hex_value(name[1]) : -1;
		int low = high >= 0 ? upper_hex_value(name[2]) : -1;
		if (low < 0)
			return HFKV_INVALID;
		unsigned char byte = (unsigned char)(high * 16 + low);
		if (byte == 0 || is_unreserved(byte))
			return HFKV_INVALID;
		*end++ = (char)byte;
		name += 3;
	}
	*end = '\0';
	*ret_key = TAKE_PTR(key);
	return HFKV_OK;
}

enum hfkv_status key_to_object_name(const char *key, char **ret_name)
{
	if (!is_key(key))
		return HFKV_INVALID;
	CLEANUP(free_pointer) char *name = NULL;
	enum hfkv_status status = percent_encode(key, &name);
	if (status != HFKV_OK)
		return status;
	if (strlen(name) > OBJECT_NAME_MAX_BYTES)
		return HFKV_OVERSIZE;
	*ret_name = TAKE_PTR(name);
	return HFKV_OK;
}

enum hfkv_status key_from_object_name(const char *name, char **ret_key)
{
	if (strlen(name) > OBJECT_NAME_MAX_BYTES)
		return HFKV_OVERSIZE;
	CLEANUP(free_pointer) char *key = NULL;
	enum hfkv_status status = percent_decode(name, &key);
	if (status != HFKV_OK)
		return status;
	if (!is_key(key))
		return HFKV_INVALID;
	*ret_key = TAKE_PTR(key);
	return HFKV_OK;
}

/* ---- file names ---- */

/* The plain form without suffix, as LMCache writes it. */
static enum hfkv_status plain_encode(const char *key, char **ret_stem)
{
	char *stem = malloc(SLASH_WORD_BYTES * strlen(key) + RANK_MARK_BYTES + 1), *end = stem;
	if (!stem)
		return HFKV_NO_MEMORY;
	const char *mark_at = has_rank(key) ? key_field(key, 1).text : NULL;
	for (; *key; key++) {
		if (key == mark_at)
			end = mempcpy(end, RANK_MARK, RANK_MARK_BYTES);
		if (*key == '/')
			end = mempcpy(end, SLASH_WORD, SLASH_WORD_BYTES);
		else
			*end++ = *key;
	}
	*end = '\0';
	*ret_stem = stem;
	return HFKV_OK;
}

static void restore_slashes(char *stem)
{
	char *to = stem;
	for (const char *from = stem; *from;) {
		bool is_slash = strncmp(from, SLASH_WORD, SLASH_WORD_BYTES) == 0;
		*to++ = is_slash ? '/' : *from;
		from += is_slash ? SLASH_WORD_BYTES : 1;
	}
	*to = '\0';
}

/* Undoes plain_encode in place. INVALID for an MP name without the 0x mark. */
static enum hfkv_status plain_decode(char *stem)
{
	restore_slashes(stem);
	if (has_rank(stem))
		return HFKV_INVALID;
	struct field second = key_field(stem, 1);
	if (!second.text || second.length < RANK_MARK_BYTES ||
	    strncmp(second.text, RANK_MARK, RANK_MARK_BYTES) != 0)
		return HFKV_OK;
	struct field rank = { second.text + RANK_MARK_BYTES, second.length - RANK_MARK_BYTES };
	if (is_rank(rank) && key_field(stem, 2).text)
		memmove(stem + (second.text - stem), rank.text, strlen(rank.text) + 1);
	return HFKV_OK;
}

/* Whether the plain form `stem` of `key` leads back to `key`. */
static bool plain_form_serves(const char *key, const char *stem)
{
	if (key[0] == '@')
		return false;
	CLEANUP(free_pointer) char *back = strdup(stem);
	return back && plain_decode(back) == HFKV_OK && strcmp(back, key) == 0;
}

static enum hfkv_status with_suffix(const char *before, const char *stem, char **ret_name)
{
	size_t length = strlen(before) + strlen(stem) + DATA_SUFFIX_BYTES;
	if (length > FILE_NAME_MAX_BYTES)
		return HFKV_OVERSIZE;
	char *name = malloc(length + 1);
	if (!name)
		return HFKV_NO_MEMORY;
	stpcpy(stpcpy(stpcpy(name, before), stem), DATA_SUFFIX);
	*ret_name = name;
	return HFKV_OK;
}

enum hfkv_status key_to_file_name(const char *key, char **ret_name)
{
	if (!is_key(key))
		return HFKV_INVALID;
	CLEANUP(free_pointer) char *stem = NULL;
	enum hfkv_status status = plain_encode(key, &stem);
	if (status != HFKV_OK)
		return status;
	if (plain_form_serves(key, stem))
		return with_suffix("", stem, ret_name);
	CLEANUP(free_pointer) char *encoded = NULL;
	status = percent_encode(key, &encoded);
	return status == HFKV_OK ? with_suffix("@", encoded, ret_name) : status;
}

static enum hfkv_status key_from_stem(char *stem, char **ret_key)
{
	if (stem[0] == '@')
		return percent_decode(stem + 1, ret_key);
	enum hfkv_status status = plain_decode(stem);
	if (status != HFKV_OK)
		return status;
	char *key = strdup(stem);
	if (!key)
		return HFKV_NO_MEMORY;
	*ret_key = key;
	return HFKV_OK;
}

enum hfkv_status key_from_file_name(const char *name, char **ret_key)
{
	if (strlen(name) > FILE_NAME_MAX_BYTES)
		return HFKV_OVERSIZE;
	if (!is_data_file_name(name))
		return HFKV_INVALID;
	CLEANUP(free_pointer) char *stem = strndup(name, strlen(name) - DATA_SUFFIX_BYTES);
	CLEANUP(free_pointer) char *key = NULL, *again = NULL;
	if (!stem)
		return HFKV_NO_MEMORY;
	enum hfkv_status status = key_from_stem(stem, &key);
	if (status != HFKV_OK)
		return status;
	/* The key's one name must be this one: an @-form where the plain form serves would be a second. */
	status = key_to_file_name(key, &again);
	if (status == HFKV_NO_MEMORY)
		return status;
	if (status != HFKV_OK || strcmp(again, name) != 0)
		return HFKV_INVALID;
	*ret_key = TAKE_PTR(key);
	return HFKV_OK;
}

bool is_data_file_name(const char *file_name)
{
	size_t length = strlen(file_name);
	return length > DATA_SUFFIX_BYTES && strcmp(file_name + length - DATA_SUFFIX_BYTES, DATA_SUFFIX) == 0;
}

/* ---- both steps ---- */

enum hfkv_status file_name_to_object_name(const char *file_name, char **ret_object_name)
{
	CLEANUP(free_pointer) char *key = NULL;
	enum hfkv_status status = key_from_file_name(file_name, &key);
	return status == HFKV_OK ? key_to_object_name(key, ret_object_name) : status;
}

enum hfkv_status object_name_to_file_name(const char *object_name, char **ret_file_name)
{
	CLEANUP(free_pointer) char *key = NULL;
	enum hfkv_status status = key_from_object_name(object_name, &key);
	return status == HFKV_OK ? key_to_file_name(key, ret_file_name) : status;
}
