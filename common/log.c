#include "common/log.h"

#include "common/cleanup.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LOG_LINE_BYTES 2048

static const char *const level_names[] = { "error", "warning", "info", "debug" };

static atomic_int current_level = LOG_LEVEL_WARNING;
static atomic_bool as_json;
static void (*redirect)(void *, enum log_level, const char *);
static void *redirect_context;

void log_configure(struct log_settings settings)
{
	atomic_store(&current_level, (int)settings.level);
	atomic_store(&as_json, settings.json);
}

void log_redirect(void (*write_line)(void *, enum log_level, const char *), void *context)
{
	redirect = write_line;
	redirect_context = context;
}

bool log_enabled(enum log_level level)
{
	return (int)level <= atomic_load_explicit(&current_level, memory_order_relaxed);
}

bool log_level_parse(const char *text, enum log_level *ret_level)
{
	for (size_t i = 0; i < ARRAY_LENGTH(level_names); i++) {
		if (strcmp(text, level_names[i]) == 0) {
			*ret_level = (enum log_level)i;
			return true;
		}
	}
	return false;
}

static void format_time(char *text, size_t bytes)
{
	struct timespec now;
	struct tm parts;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &parts);
	size_t length = strftime(text, bytes, "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(text + length, bytes - length, ".%03ldZ", now.tv_nsec / 1000000);
}

static void write_json(enum log_level level, const char *time_text, const char *message)
{
	json_t *text = json_string(message);
	json_t *line = json_pack("{ss ss so}", "time", time_text, "level", level_names[level], "message",
				 text ? text : json_string("(a message that is not UTF-8)"));
	char *dumped = line ? json_dumps(line, JSON_COMPACT) : NULL;
	if (dumped)
		fprintf(stderr, "%s\n", dumped);
	free(dumped);
	json_decref(line);
}

/* A name from the network may hold control characters: they must not forge lines. */
static void make_one_line(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

static void write_line(enum log_level level, const char *format, va_list values) PRINTF_LIKE(2, 0);

static void write_line(enum log_level level, const char *format, va_list values)
{
	if (!log_enabled(level))
		return;
	char message[LOG_LINE_BYTES];
	vsnprintf(message, sizeof(message), format, values);
	make_one_line(message);
	if (redirect) {
		redirect(redirect_context, level, message);
		return;
	}
	char time_text[40];
	format_time(time_text, sizeof(time_text));
	if (atomic_load(&as_json))
		write_json(level, time_text, message);
	else
		fprintf(stderr, "%s hfkv %s: %s\n", time_text, level_names[level], message);
}

#define DEFINE_LOG(function, level)                                                                \
	void function(const char *format, ...)                                                     \
	{                                                                                          \
		va_list values;                                                                    \
		va_start(values, format);                                                          \
		write_line(level, format, values);                                                 \
		va_end(values);                                                                    \
	}

DEFINE_LOG(log_error, LOG_LEVEL_ERROR)
DEFINE_LOG(log_warning, LOG_LEVEL_WARNING)
DEFINE_LOG(log_info, LOG_LEVEL_INFO)
DEFINE_LOG(log_debug, LOG_LEVEL_DEBUG)
