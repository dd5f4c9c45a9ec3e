#include "handle.h"

#include <stdlib.h>
#include <string.h>

PyObject *handle_error_type;

static void set_number(PyObject *object, const char *name, long value)
{
	PyObject *number = PyLong_FromLong(value);
	if (number)
		PyObject_SetAttrString(object, name, number);
	Py_DecRef(number);
}

PyObject *handle_raise(enum hfkv_status status, const struct hfkv_error *error)
{
	const char *text = error && error->text[0] ? error->text : hfkv_status_name(status);
	PyObject *exception = PyObject_CallFunction(handle_error_type, "s", text);
	if (!exception)
		return NULL;
	PyObject *name = PyUnicode_FromString(hfkv_status_name(status));
	if (name)
		PyObject_SetAttrString(exception, "name", name);
	Py_DecRef(name);
	set_number(exception, "status", (long)status);
	set_number(exception, "http_status", error ? error->http_status : 0);
	PyErr_SetObject(handle_error_type, exception);
	Py_DecRef(exception);
	return NULL;
}

int handle_arguments_parse(PyObject *positional, PyObject *named, struct handle_arguments *ret_arguments)
{
	static char *names[] = { "text", "format", "plugin_name", "chunk_bytes", "header_groups", "without_own_evictor",
				 "literal_token_refused", "endpoint", "token_env", "token_file", "ca_file", "timeout_ms", NULL };
	struct hfkv_open_options options = HFKV_OPEN_OPTIONS_INIT;
	const char *text, *format = "json";
	Py_ssize_t length;
	unsigned long long chunk_bytes = 0;
	unsigned int header_groups = 0;
	long long timeout_ms = 0;
	if (!PyArg_ParseTupleAndKeywords(positional, named, "s#|szKIppzzzzL", names, &text, &length, &format,
					 &options.plugin_name, &chunk_bytes, &header_groups, &options.without_own_evictor,
					 &options.literal_token_refused, &options.endpoint, &options.token_env,
					 &options.token_file, &options.ca_file, &timeout_ms))
		return -1;
	options.chunk_bytes = chunk_bytes;
	options.header_groups = header_groups;
	options.timeout_ms = timeout_ms;
	if (strcmp(format, "json") != 0 && strcmp(format, "yaml") != 0) {
		PyErr_SetString(PyExc_ValueError, "format must be 'json' or 'yaml'");
		return -1;
	}
	struct hfkv_error error = { 0 };
	struct hfkv_settings *settings = NULL;
	enum hfkv_status status = hfkv_settings_parse(format[0] == 'j' ? HFKV_SETTINGS_JSON : HFKV_SETTINGS_YAML, text,
						      (size_t)length, &settings, &error);
	if (status != HFKV_OK) {
		handle_raise(status, &error);
		return -1;
	}
	ret_arguments->settings = settings;
	ret_arguments->options = options;
	return 0;
}

void handle_arguments_done(struct handle_arguments *arguments)
{
	hfkv_settings_free(arguments->settings);
}

void handle_gate_init(struct handle_gate *gate)
{
	pthread_mutex_init(&gate->mutex, NULL);
	pthread_cond_init(&gate->is_idle, NULL);
	gate->inside = 0;
	gate->is_closed = 0;
	gate->is_done = 0;
}

void handle_gate_done(struct handle_gate *gate)
{
	pthread_mutex_destroy(&gate->mutex);
	pthread_cond_destroy(&gate->is_idle);
}

int handle_gate_enter(struct handle_gate *gate)
{
	pthread_mutex_lock(&gate->mutex);
	int is_closed = gate->is_closed;
	if (!is_closed)
		gate->inside++;
	pthread_mutex_unlock(&gate->mutex);
	if (!is_closed)
		return 0;
	PyErr_SetString(PyExc_ValueError, "closed");
	return -1;
}

void handle_gate_leave(struct handle_gate *gate)
{
	pthread_mutex_lock(&gate->mutex);
	if (--gate->inside == 0)
		pthread_cond_broadcast(&gate->is_idle);
	pthread_mutex_unlock(&gate->mutex);
}

int handle_gate_close(struct handle_gate *gate)
{
	pthread_mutex_lock(&gate->mutex);
	int is_first = !gate->is_closed;
	gate->is_closed = 1;
	while (is_first ? gate->inside : !gate->is_done)
		pthread_cond_wait(&gate->is_idle, &gate->mutex);
	pthread_mutex_unlock(&gate->mutex);
	return is_first;
}

void handle_gate_closed(struct handle_gate *gate)
{
	pthread_mutex_lock(&gate->mutex);
	gate->is_done = 1;
	pthread_cond_broadcast(&gate->is_idle);
	pthread_mutex_unlock(&gate->mutex);
}

static int key_list_grow(struct key_list *list)
{
	size_t capacity = list->capacity ? 2 * list->capacity : 256;
	char **keys = realloc(list->keys, capacity * sizeof(*keys));
	if (!keys)
		return -1;
	list->keys = keys;
	uint64_t *sizes = realloc(list->sizes, capacity * sizeof(*sizes));
	if (!sizes)
		return -1;
	list->sizes = sizes;
	list->capacity = capacity;
	return 0;
}

enum hfkv_status key_list_add(void *context, const char *key, uint64_t bytes)
{
	struct key_list *list = context;
	if (list->count == list->capacity && key_list_grow(list) < 0)
		return HFKV_NO_MEMORY;
	char *copy = strdup(key);
	if (!copy)
		return HFKV_NO_MEMORY;
	list->keys[list->count] = copy;
	list->sizes[list->count++] = bytes;
	return HFKV_OK;
}

PyObject *key_list_take(struct key_list *list)
{
	PyObject *result = PyList_New((Py_ssize_t)list->count);
	for (size_t i = 0; result && i < list->count; i++) {
		PyObject *pair = Py_BuildValue("(sK)", list->keys[i], (unsigned long long)list->sizes[i]);
		if (!pair || PyList_SetItem(result, (Py_ssize_t)i, pair) < 0) {
			Py_DecRef(result);
			result = NULL;
		}
	}
	key_list_done(list);
	return result;
}

void key_list_done(struct key_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->keys[i]);
	free(list->keys);
	free(list->sizes);
	*list = (struct key_list){ 0 };
}
