/* Plain JSON text to values.

   Plain is what Batsim and most writers write: to what json_tokens.h says of it, a union's type comes before the union,
   and every name is in the schema. What is not plain, or wrong, is left to the Python reader of the whole dialect. This
   file knows nothing of flatbuffers. */

#include "binding.h"
#include "json_tokens.h"

static PyObject *parse_table(Text *text, int number, int depth);

/* Whether a text that was read is this name; a size of -1 is no text. */
static inline int
is_name(const char *text, Py_ssize_t size, const char *name, uint8_t length)
{
    return size == length && !memcmp(text, name, length);
}

static PyObject *
parse_enum(Text *text, const Field *field)
{
    const char *start;
    Py_ssize_t size = plain_string(text, &start);
    const Enum *which = &ENUMS_[field->index];
    for (int index = 0; index < which->count; index++) {
        const EnumValue *value = &which->values[index];
        if (is_name(start, size, value->name, value->length)) {
            return enum_member(field->index, value->number);
        }
    }
    return NULL;
}

/* The tag of a union by name, or 0. */
static int
parse_tag(Text *text, const Union *which)
{
    const char *start;
    Py_ssize_t size = plain_string(text, &start);
    for (int tag = 1; tag <= which->count; tag++) {
        const Table *table = &TABLES_[which->members[tag - 1]];
        if (is_name(start, size, table->name, table->length)) {
            return tag;
        }
    }
    return 0;
}

/* A vector of strings, integers or tables as a tuple. */
static PyObject *
parse_items(Text *text, const Field *field, int depth)
{
    if (!expect(text, '[')) {
        return NULL;
    }
    PyObject *items = PyList_New(0);
    if (!items) {
        return NULL;
    }
    int more = peek(text) != ']';
    while (more) {
        PyObject *item = field->kind == STRINGS   ? parse_string(text, 0)
                         : field->kind == NUMBERS ? parse_integer(text, UINT32)
                                                  : parse_table(text, field->index, depth + 1);
        if (!item || PyList_Append(items, item) < 0) {
            Py_XDECREF(item);
            Py_DECREF(items);
            return NULL;
        }
        Py_DECREF(item);
        more = expect(text, ',');
    }
    PyObject *tuple = expect(text, ']') ? PyList_AsTuple(items) : NULL;
    Py_DECREF(items);
    return tuple;
}

static PyObject *
parse_doubles(Text *text)
{
    if (!expect(text, '[')) {
        return NULL;
    }
    size_t count = 0, room = 16;
    double few[16], *numbers = few;
    int fine = 1, more = peek(text) != ']';
    while (fine && more) {
        if (count == room) {
            double *grown = PyMem_Malloc(2 * room * sizeof *grown);
            if (!grown) {
                PyErr_NoMemory();
                fine = 0;
                break;
            }
            memcpy(grown, numbers, count * sizeof *grown);
            if (numbers != few) {
                PyMem_Free(numbers);
            }
            numbers = grown;
            room *= 2;
        }
        fine = parse_real(text, &numbers[count++]);
        more = fine && expect(text, ',');
    }
    fine = fine && expect(text, ']');
    PyObject *bytes = fine ? PyBytes_FromStringAndSize((const char *)numbers, (Py_ssize_t)(count * 8)) : NULL;
    if (numbers != few) {
        PyMem_Free(numbers);
    }
    return bytes ? make_doubles(bytes) : NULL;
}

static PyObject *
parse_value(Text *text, const Field *field, int depth, int tag)
{
    double number;
    switch (field->kind) {
    case BOOL:
        return word(text, "true") ? Py_NewRef(Py_True) : word(text, "false") ? Py_NewRef(Py_False) : NULL;
    case ENUM:
        return parse_enum(text, field);
    case INT32:
    case UINT32:
    case UINT64:
        return parse_integer(text, field->kind);
    case DOUBLE:
        if (field->optional && word(text, "null")) {
            return Py_NewRef(Py_None);
        }
        return parse_real(text, &number) ? PyFloat_FromDouble(number) : NULL;
    case STRING:
        return parse_string(text, field->recurs);
    case DOUBLES:
        return parse_doubles(text);
    case TABLE:
        return parse_table(text, field->index, depth + 1);
    case UNION:
        return tag ? parse_table(text, UNIONS_[field->index].members[tag - 1], depth + 1) : NULL;
    default:
        return parse_items(text, field, depth);
    }
}

/* Which field of a table a name is, starting to look at `next`, or -1; the tag of a union is that field plus `count`.
   */
static int
field_called(const Table *table, const char *name, Py_ssize_t size, int next)
{
    for (int step = 0; step < table->count; step++) {
        int index = next + step < table->count ? next + step : next + step - table->count;
        const Field *field = &table->fields[index];
        if (is_name(name, size, field->name, field->length)) {
            return index;
        }
        if (field->kind == UNION && is_name(name, size - 5, field->name, field->length) &&
            !memcmp(name + size - 5, "_type", 5)) {
            return index + table->count;
        }
    }
    return -1;
}

/* Read the members of an object up to its closing brace into the fields of a table. */
static int
parse_fields(Text *text, int number, int depth, void *start)
{
    const Table *table = &TABLES_[number];
    const Py_ssize_t *slots = bound.slots[number];
    uint8_t tags[MOST_FIELDS];
    int next = 0;
    for (int index = 0; index < table->count; index++) {
        SLOT(start, slots[index]) = NULL;
        tags[index] = 0;
    }
    if (!expect(text, '{')) {
        return 0;
    }
    int more = peek(text) != '}';
    while (more) {
        const char *name;
        Py_ssize_t size = plain_string(text, &name);
        int index = field_called(table, name, size, next);
        if (index < 0 || !expect(text, ':')) {
            return 0;
        }
        if (index >= table->count) {
            index -= table->count;
            if (tags[index] || !(tags[index] = (uint8_t)parse_tag(text, &UNIONS_[table->fields[index].index]))) {
                return 0;
            }
            next = index;
        }
        else {
            PyObject **field = &SLOT(start, slots[index]);
            if (*field || !(*field = parse_value(text, &table->fields[index], depth, tags[index]))) {
                return 0;
            }
            next = index + 1;
        }
        more = expect(text, ',');
    }
    return expect(text, '}');
}

static PyObject *
parse_table(Text *text, int number, int depth)
{
    const Table *table = &TABLES_[number];
    Fields fields;
    if (depth > MAX_DEPTH || !new_fields(number, &fields)) {
        return NULL;
    }
    int fine = parse_fields(text, number, depth, fields.start);
    for (int index = 0; fine && index < table->count; index++) {
        PyObject **field = &SLOT(fields.start, bound.slots[number][index]);
        fine = *field || (*field = absent(&table->fields[index]));
    }
    if (!fine) {
        drop_fields(number, &fields, table->count);
        return NULL;
    }
    return value_of(number, &fields);
}

static PyObject *
parse_message(Text *text)
{
    PyObject *message = parse_table(text, ROOT, 1);
    if (message && peek(text)) {
        Py_CLEAR(message);
    }
    return message;
}

PyObject *
decode_json(PyObject *module, PyObject *data)
{
    if (!PyBytes_Check(data) || !bound.done) {
        Py_RETURN_NONE;
    }
    const char *start = PyBytes_AS_STRING(data);
    size_t size = (size_t)PyBytes_GET_SIZE(data);
    const char *nul = memchr(start, 0, size);
    Text text = {start, nul ? nul : start + size};
    PyObject *message = parse_message(&text);
    if (message || out_of_memory()) {
        return message;
    }
    Py_RETURN_NONE;
}
