#include "common/fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fault_begin(struct fault *fault, enum hfkv_status status)
{
	*fault = FAULT_NONE;
	fault->status = status;
}

enum hfkv_status fault_set(struct fault *fault, enum hfkv_status status, const char *format, ...)
{
	if (!fault)
		return status;
	fault_begin(fault, status);
	va_list values;
	va_start(values, format);
	vsnprintf(fault->text, sizeof(fault->text), format, values);
	va_end(values);
	return status;
}

enum hfkv_status fault_set_errno(struct fault *fault, int error_number, const char *format, ...)
{
	enum hfkv_status status = status_from_errno(error_number);
	if (!fault)
		return status;
	fault_begin(fault, status);
	fault->error_number = error_number;
	va_list values;
	va_start(values, format);
	int length = vsnprintf(fault->text, sizeof(fault->text), format, values);
	va_end(values);
	if (length >= 0 && (size_t)length < sizeof(fault->text))
		snprintf(fault->text + length, sizeof(fault->text) - (size_t)length, ": %s",
			 strerrordesc_np(error_number));
	return status;
}

void fault_add_context(struct fault *fault, const char *format, ...)
{
	if (!fault)
		return;
	char text[2 * FAULT_TEXT_BYTES];
	va_list values;
	va_start(values, format);
	int length = vsnprintf(text, FAULT_TEXT_BYTES, format, values);
	va_end(values);
	if (length < 0)
		return;
	if (length >= FAULT_TEXT_BYTES)
		length = FAULT_TEXT_BYTES - 1;
	snprintf(text + length, sizeof(text) - (size_t)length, ": %s", fault_text(fault, fault->status));
	memcpy(fault->text, text, sizeof(fault->text) - 1);
	fault->text[sizeof(fault->text) - 1] = '\0';
}

const char *fault_text(const struct fault *fault, enum hfkv_status status)
{
	return fault && fault->text[0] ? fault->text : hfkv_status_name(status);
}
