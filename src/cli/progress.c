#include "src/cli/progress.h"

#include "common/cleanup.h"
#include "common/clock.h"

#include <stdio.h>
#include <sys/ioctl.h>

#define REDRAW_MS       100
#define BAR_CELLS       24
#define BYTES_TEXT_SIZE 24

char *progress_format_bytes(uint64_t value, char *text, int bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	double scaled = (double)value;
	size_t unit = 0;
	for (; scaled >= 1000 && unit + 1 < ARRAY_LENGTH(units); unit++)
		scaled /= 1000;
	snprintf(text, (size_t)bytes, unit == 0 ? "%.0f %s" : "%.1f %s", scaled, units[unit]);
	return text;
}

void progress_begin(struct progress *progress, const char *what, uint64_t total_bytes)
{
	*progress = (struct progress){ .shown = isatty(STDERR_FILENO), .what = what, .total_bytes = total_bytes,
				       .started_at_ms = clock_now_ms() };
	pthread_mutex_init(&progress->mutex, NULL);
}

/* The first bytes tell nothing about the rest. */
static void format_left(double share_done, double seconds_gone, double seconds_left, char *text, size_t bytes)
{
	if (share_done < 0.005 && seconds_gone < 3)
		text[0] = '\0';
	else if (seconds_left < 120)
		snprintf(text, bytes, ", %.0f s left", seconds_left);
	else
		snprintf(text, bytes, ", %.0f min left", seconds_left / 60);
}

static size_t terminal_columns(void)
{
	struct winsize size;
	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

/* A line that wraps could not be drawn over: the bar goes first, then the line's end. */
static void print_fitting(const char *what, const char *bar, const char *numbers)
{
	size_t columns = terminal_columns();
	char line[160];
	int length = snprintf(line, sizeof(line), "%s [%s] %s", what, bar, numbers);
	if (length >= (int)columns)
		snprintf(line, sizeof(line), "%s %s", what, numbers);
	fprintf(stderr, "\r%.*s\033[K", (int)(columns - 1), line);
	fflush(stderr);
}

/* Lock held. */
static void draw(struct progress *progress, int64_t now_ms)
{
	char left_text[24], numbers[120], done[BYTES_TEXT_SIZE], total[BYTES_TEXT_SIZE], rate_text[BYTES_TEXT_SIZE], bar[BAR_CELLS + 1];
	double seconds = (double)(now_ms - progress->started_at_ms) / 1000;
	double rate = seconds > 0 ? (double)progress->done_bytes / seconds : 0;
	double share = progress->total_bytes ? (double)progress->done_bytes / (double)progress->total_bytes : 1;
	if (share > 1)
		share = 1;
	for (int i = 0; i < BAR_CELLS; i++)
		bar[i] = i < (int)(share * BAR_CELLS) ? '#' : '.';
	bar[BAR_CELLS] = '\0';
	progress_format_bytes(progress->done_bytes, done, sizeof(done));
	progress_format_bytes(progress->total_bytes, total, sizeof(total));
	progress_format_bytes((uint64_t)rate, rate_text, sizeof(rate_text));
	double left = rate > 0 ? (double)(progress->total_bytes - progress->done_bytes) / rate : 0;
	format_left(share, seconds, left, left_text, sizeof(left_text));
	snprintf(numbers, sizeof(numbers), "%s of %s, %s/s%s", done, total, rate_text, left_text);
	print_fitting(progress->what, bar, numbers);
	progress->drawn_at_ms = now_ms;
}

/* Lock held. */
static void set_done(struct progress *progress, uint64_t done_bytes)
{
	progress->done_bytes = done_bytes < progress->total_bytes ? done_bytes : progress->total_bytes;
	if (!progress->shown)
		return;
	int64_t now_ms = clock_now_ms();
	if (now_ms - progress->drawn_at_ms >= REDRAW_MS)
		draw(progress, now_ms);
}

bool progress_report(void *context, uint64_t bytes_done)
{
	struct progress *progress = context;
	SCOPED_LOCK(&progress->mutex);
	set_done(progress, bytes_done);
	return true;
}

void progress_add(struct progress *progress, uint64_t bytes)
{
	SCOPED_LOCK(&progress->mutex);
	set_done(progress, progress->done_bytes + bytes);
}

void progress_end(struct progress *progress)
{
	if (progress->shown && progress->drawn_at_ms)
		fputs("\r\033[K", stderr);
	pthread_mutex_destroy(&progress->mutex);
}
