/* Values to JSON text, as the standard library writes it with these separators: one line, ASCII.

   This file knows nothing of flatbuffers. What is not exactly of a field's own type is left to the Python writer. */

#include "binding.h"

/* `batprotocol.wire.json.MAX_TEXT`: longer texts are left to the Python writer, which may refuse them. */
#define MOST_TEXT ((size_t)1 << 28)

typedef struct {
    char *data;
    size_t size, room;
    char first[4096];
} Output;

static int
room_for(Output *output, size_t count)
{
    if (count <= output->room - output->size) {
        return 1;
    }
    size_t room = output->room;
    if (count > MOST_TEXT - output->size) {
        return 0; /* the Python writer tells whether this is too long */
    }
    while (room - output->size < count) {
        room *= 2;
    }
    char *data = output->data == output->first ? PyMem_Malloc(room) : PyMem_Realloc(output->data, room);
    if (!data) {
        PyErr_NoMemory();
        return 0;
    }
    if (output->data == output->first) {
        memcpy(data, output->first, output->size);
    }
    output->data = data;
    output->room = room;
    return 1;
}

static int
put(Output *output, const char *bytes, size_t count)
{
    if (!room_for(output, count)) {
        return 0;
    }
    memcpy(output->data + output->size, bytes, count);
    output->size += count;
    return 1;
}

#define PUT(output, literal) put(output, literal, sizeof literal - 1)

static int
print_integer(Output *output, uint64_t number, int negative)
{
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    if (negative) {
        digits[--at] = '-';
    }
    return put(output, digits + at, sizeof digits - at);
}

static int
print_real(Output *output, double value)
{
    if (value != value) {
        return PUT(output, "NaN");
    }
    if (value > 1.7976931348623157e308 || value < -1.7976931348623157e308) {
        return value > 0 ? PUT(output, "Infinity") : PUT(output, "-Infinity");
    }
    if (value > -1e15 && value < 1e15 && (double)(int64_t)value == value && (value != 0 || !signbit(value))) {
        int64_t whole = (int64_t)value;
        return print_integer(output, whole < 0 ? (uint64_t)-whole : (uint64_t)whole, whole < 0) && PUT(output, ".0");
    }
    char *text = PyOS_double_to_string(value, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
    if (!text) {
        return 0;
    }
    int fine = put(output, text, strlen(text));
    PyMem_Free(text);
    return fine;
}

static int
print_escape(Output *output, Py_UCS4 code)
{
    static const char hexadecimal[] = "0123456789abcdef";
    static const char letters[] = "\"\\\b\f\n\r\t", escapes[] = "\"\\bfnrt";
    const char *found = code && code < 128 ? strchr(letters, (int)code) : NULL;
    if (found) {
        char escape[2] = {'\\', escapes[found - letters]};
        return put(output, escape, 2);
    }
    if (code > 0xFFFF) {
        code -= 0x10000;
        return print_escape(output, 0xD800 + (code >> 10)) && print_escape(output, 0xDC00 + (code & 0x3FF));
    }
    char escape[6] = {'\\', 'u'};
    for (int digit = 0; digit < 4; digit++) {
        escape[2 + digit] = hexadecimal[code >> (12 - 4 * digit) & 15];
    }
    return put(output, escape, 6);
}

static int
print_string(Output *output, PyObject *string)
{
    if (!PyUnicode_Check(string) || !PUT(output, "\"")) {
        return 0;
    }
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(string) < 0) {
        return 0;
    }
#endif
    int kind = PyUnicode_KIND(string);
    const void *data = PyUnicode_DATA(string);
    Py_ssize_t size = PyUnicode_GET_LENGTH(string), start = 0;
    for (Py_ssize_t index = 0; index <= size; index++) {
        Py_UCS4 code = index < size ? PyUnicode_READ(kind, data, index) : 0;
        if (index < size && code >= ' ' && code != '"' && code != '\\' && code < 0x7F) {
            continue;
        }
        if (kind == PyUnicode_1BYTE_KIND) {
            if (!put(output, (const char *)data + start, (size_t)(index - start))) {
                return 0;
            }
        }
        else {
            for (; start < index; start++) {
                char plain = (char)PyUnicode_READ(kind, data, start);
                if (!put(output, &plain, 1)) {
                    return 0;
                }
            }
        }
        start = index + 1;
        if (index == size) {
            break;
        }
        if (code >= 0xD800 && code < 0xE000) {
            return 0; /* a lone surrogate is no text */
        }
        if (!print_escape(output, code)) {
            return 0;
        }
    }
    return PUT(output, "\"");
}

static int print_table(Output *output, int number, PyObject *value, int depth);

static int
print_name(Output *output, const char *name, size_t length)
{
    return PUT(output, "\"") && put(output, name, length) && PUT(output, "\"");
}

static int
print_enum(Output *output, int index, PyObject *value)
{
    if (Py_TYPE(value) != bound.enums[index]) {
        return 0;
    }
    long number = PyLong_AsLong(value);
    for (int at = 0; at < ENUMS_[index].count; at++) {
        const EnumValue *member = &ENUMS_[index].values[at];
        if (member->number == number) {
            return print_name(output, member->name, member->length);
        }
    }
    return number >= -128 && number <= 127 &&
           print_integer(output, (uint64_t)(number < 0 ? -number : number), number < 0);
}

static int
print_number(Output *output, int kind, PyObject *value)
{
    if (!PyLong_CheckExact(value)) {
        return 0;
    }
    if (kind == UINT64) {
        unsigned long long number = PyLong_AsUnsignedLongLong(value);
        return !(number == (unsigned long long)-1 && PyErr_Occurred()) && print_integer(output, number, 0);
    }
    long long number = PyLong_AsLongLong(value);
    int fits = kind == INT32 ? number >= INT32_MIN && number <= INT32_MAX : number >= 0 && number <= UINT32_MAX;
    return fits && !(number == -1 && PyErr_Occurred()) &&
           print_integer(output, (uint64_t)(number < 0 ? -number : number), number < 0);
}

static int
print_doubles(Output *output, PyObject *vector)
{
    PyObject *bytes = Py_TYPE(vector) == bound.doubles ? SLOT(vector, bound.doubles_slot) : NULL;
    if (!bytes || !PyBytes_CheckExact(bytes) || !PUT(output, "[")) {
        return 0;
    }
    Py_ssize_t size = PyBytes_GET_SIZE(bytes);
    for (Py_ssize_t at = 0; at < size; at += 8) {
        double number;
        memcpy(&number, PyBytes_AS_STRING(bytes) + at, 8);
        if ((at && !PUT(output, ",")) || !print_real(output, number)) {
            return 0;
        }
    }
    return PUT(output, "]");
}

static int
print_items(Output *output, const Field *field, PyObject *items, int depth)
{
    if (!PyTuple_CheckExact(items) || !PUT(output, "[")) {
        return 0;
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(items); index++) {
        PyObject *item = PyTuple_GET_ITEM(items, index);
        if (index && !PUT(output, ",")) {
            return 0;
        }
        int fine = field->kind == STRINGS   ? print_string(output, item)
                   : field->kind == NUMBERS ? print_number(output, UINT32, item)
                                            : print_table(output, field->index, item, depth + 1);
        if (!fine) {
            return 0;
        }
    }
    return PUT(output, "]");
}

static int
print_value(Output *output, const Field *field, PyObject *value, int depth, int tag)
{
    switch (field->kind) {
    case BOOL:
        return value == Py_True ? PUT(output, "true") : value == Py_False && PUT(output, "false");
    case ENUM:
        return print_enum(output, field->index, value);
    case INT32:
    case UINT32:
    case UINT64:
        return print_number(output, field->kind, value);
    case DOUBLE:
        if (field->optional && value == Py_None) {
            return PUT(output, "null");
        }
        return PyFloat_CheckExact(value) && print_real(output, PyFloat_AS_DOUBLE(value));
    case STRING:
        return print_string(output, value);
    case DOUBLES:
        return print_doubles(output, value);
    case TABLE:
        return print_table(output, field->index, value, depth + 1);
    case UNION:
        return print_table(output, UNIONS_[field->index].members[tag - 1], value, depth + 1);
    default:
        return print_items(output, field, value, depth);
    }
}

static int
print_key(Output *output, const Field *field, const char *suffix, int *some)
{
    if ((*some && !PUT(output, ",")) || !PUT(output, "\"") || !put(output, field->name, field->length) ||
        !put(output, suffix, strlen(suffix))) {
        return 0;
    }
    *some = 1;
    return PUT(output, "\": ");
}

static int
print_table(Output *output, int number, PyObject *value, int depth)
{
    const Table *table = &TABLES_[number];
    int some = 0;
    Fields fields;
    if (depth > MAX_DEPTH || !fields_of(number, value, &fields) || !PUT(output, "{")) {
        return 0;
    }
    for (int index = 0; index < table->count; index++) {
        const Field *field = &table->fields[index];
        PyObject *child = SLOT(fields.start, bound.slots[number][index]);
        if (!child) {
            return 0;
        }
        if (child == Py_None && !field->required && field->kind >= STRING) {
            continue;
        }
        int tag = 0;
        if (field->kind == UNION) {
            tag = tag_of(field->index, child);
            const Table *member = tag ? &TABLES_[UNIONS_[field->index].members[tag - 1]] : NULL;
            if (!member || !print_key(output, field, "_type", &some) ||
                !print_name(output, member->name, member->length)) {
                return 0;
            }
        }
        if (!print_key(output, field, "", &some) || !print_value(output, field, child, depth, tag)) {
            return 0;
        }
    }
    return PUT(output, "}");
}

PyObject *
encode_json(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    int late;
    PyObject *message = message_of(arguments, count, names, &late);
    if (!message) {
        return NULL;
    }
    if (!bound.done || Py_TYPE(message) != bound.classes[ROOT]) {
        Py_RETURN_NONE;
    }
    Output output;
    output.data = output.first;
    output.size = 0;
    output.room = sizeof output.first;
    PyObject *text = NULL;
    int fine = print_table(&output, ROOT, message, 1) && (late || !has_late_event(message));
    if (fine && (text = PyUnicode_New((Py_ssize_t)output.size, 127))) {
        memcpy(PyUnicode_DATA(text), output.data, output.size);
    }
    if (output.data != output.first) {
        PyMem_Free(output.data);
    }
    if (fine || out_of_memory()) {
        return text;
    }
    Py_RETURN_NONE;
}
