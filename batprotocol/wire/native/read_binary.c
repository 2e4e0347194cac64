/* Flatbuffers to values: one walk through the bytes, which makes every check of the C++ library's verifier on its way.

   Nothing is trusted: an offset is followed only within the bytes, and every table, string and vector is counted. What
   is not right is left to the careful Python reader. This file knows nothing of JSON, nor what a message may say. */

#include "binding.h"
#include "texts.h"

/* How many times a message's own size its strings and vectors may add up to, shared ones counted anew: beyond, the
   careful reader, which reads what is shared once, takes over. */
#define SPARE 16

#define FEW_DOUBLES 8

typedef struct {
    const uint8_t *data;
    size_t size;
    size_t left; /* how many more bytes of strings and vectors may be read */
    int tables;
    double time;         /* the last time that was read, */
    PyObject *time_read; /* and what was made of it, which the message holds: most of its times are the same */
    const uint8_t *doubles;
    Py_ssize_t doubles_count;
    PyObject *doubles_read; /* the same of the last short vector of doubles: most hosts have the same speeds */
} Reader;

static PyObject *read_table(Reader *reader, int number, size_t position, int depth);

static inline uint16_t
u16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint32_t
u32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint64_t
u64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline double
real(const uint8_t *at)
{
    double value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Where the offset at `place` leads, with at least four bytes there, or 0. */
static inline size_t
follow(const Reader *reader, size_t place)
{
    uint32_t step = u32(reader->data + place);
    if (step == 0 || step > reader->size - place || reader->size - place - step < 4) {
        return 0;
    }
    return place + step;
}

/* The number of elements at `position`, if so many of that width are there, or -1. */
static inline Py_ssize_t
count_of(Reader *reader, size_t position, size_t width)
{
    size_t count = u32(reader->data + position);
    size_t room = reader->size - position - 4;
    if (count > room / width || count * width > reader->left) {
        return -1;
    }
    reader->left -= count * width;
    return (Py_ssize_t)count;
}

static inline PyObject *
read_string(Reader *reader, size_t position, int recurs)
{
    Py_ssize_t count = count_of(reader, position, 1);
    const char *text = (const char *)reader->data + position + 4;
    if (count < 0 || (size_t)count >= reader->size - position - 4 || text[count] != 0) {
        return NULL;
    }
    return recurs ? recurring_string(text, count) : make_string(text, count);
}

static PyObject *
read_strings(Reader *reader, size_t position)
{
    Py_ssize_t count = count_of(reader, position, 4);
    if (count < 0) {
        return NULL;
    }
    PyObject *strings = PyTuple_New(count);
    for (Py_ssize_t index = 0; strings && index < count; index++) {
        size_t at = follow(reader, position + 4 + 4 * (size_t)index);
        PyObject *text = at ? read_string(reader, at, 0) : NULL;
        if (!text) {
            Py_CLEAR(strings);
            break;
        }
        PyTuple_SET_ITEM(strings, index, text);
    }
    return strings;
}

static PyObject *
read_tables(Reader *reader, int number, size_t position, int depth)
{
    Py_ssize_t count = count_of(reader, position, 4);
    if (count < 0) {
        return NULL;
    }
    PyObject *tables = PyTuple_New(count);
    for (Py_ssize_t index = 0; tables && index < count; index++) {
        size_t at = follow(reader, position + 4 + 4 * (size_t)index);
        PyObject *value = at ? read_table(reader, number, at, depth) : NULL;
        if (!value) {
            Py_CLEAR(tables);
            break;
        }
        PyTuple_SET_ITEM(tables, index, value);
    }
    return tables;
}

static inline int
same_words(const uint8_t *some, const uint8_t *others, Py_ssize_t count)
{
    for (Py_ssize_t index = 0; index < count; index++) {
        if (u64(some + 8 * index) != u64(others + 8 * index)) {
            return 0;
        }
    }
    return 1;
}

static PyObject *
read_doubles(Reader *reader, size_t position)
{
    Py_ssize_t count = count_of(reader, position, 8);
    if (count < 0) {
        return NULL;
    }
    const uint8_t *at = reader->data + position + 4;
    int is_short = count <= FEW_DOUBLES;
    if (is_short && reader->doubles_read && reader->doubles_count == count && same_words(at, reader->doubles, count)) {
        return Py_NewRef(reader->doubles_read);
    }
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)at, 8 * count);
    PyObject *doubles = bytes ? make_doubles(bytes) : NULL;
    if (is_short && doubles) {
        reader->doubles = at;
        reader->doubles_count = count;
        reader->doubles_read = doubles;
    }
    return doubles;
}

static PyObject *
read_numbers(Reader *reader, size_t position)
{
    Py_ssize_t count = count_of(reader, position, 4);
    if (count < 0) {
        return NULL;
    }
    PyObject *numbers = PyTuple_New(count);
    for (Py_ssize_t index = 0; numbers && index < count; index++) {
        PyObject *number = PyLong_FromUnsignedLong(u32(reader->data + position + 4 + 4 * (size_t)index));
        if (!number) {
            Py_CLEAR(numbers);
            break;
        }
        PyTuple_SET_ITEM(numbers, index, number);
    }
    return numbers;
}

/* The time of the message or of an event. */
static PyObject *
read_time(Reader *reader, size_t place)
{
    const uint8_t *at = reader->data + place;
    if (reader->time_read && !memcmp(at, &reader->time, 8)) {
        return Py_NewRef(reader->time_read);
    }
    reader->time = real(at);
    return reader->time_read = PyFloat_FromDouble(reader->time);
}

static const uint8_t WIDTHS[] = {1, 1, 4, 4, 8, 8, 4, 4, 4, 4, 4, 4, 4}; /* by kind: what lies inside the table */

static ALWAYS_INLINE PyObject *
read_field(Reader *reader, const Field *field, size_t position, size_t vtable, size_t entries, int depth)
{
    const uint8_t *data = reader->data;
    size_t inside = field->entry < entries ? u16(data + vtable + field->entry) : 0;
    if (!inside) {
        return absent(field);
    }
    size_t place = position + inside;
    if (place > reader->size || reader->size - place < WIDTHS[field->kind]) {
        return NULL;
    }
    switch (field->kind) {
    case BOOL:
        return Py_NewRef(data[place] ? Py_True : Py_False);
    case ENUM:
        return enum_member(field->index, (int8_t)data[place]);
    case INT32:
        return PyLong_FromLong((int32_t)u32(data + place));
    case UINT32:
        return PyLong_FromUnsignedLong(u32(data + place));
    case UINT64:
        return PyLong_FromUnsignedLongLong(u64(data + place));
    case DOUBLE:
        return field->recurs ? read_time(reader, place) : PyFloat_FromDouble(real(data + place));
    default:
        break;
    }
    int member = field->index;
    if (field->kind == UNION) {
        size_t tag_inside = field->tag < entries ? u16(data + vtable + field->tag) : 0;
        if (!tag_inside || position + tag_inside >= reader->size) {
            return NULL;
        }
        const Union *which = &UNIONS_[field->index];
        int tag = data[position + tag_inside];
        if (tag < 1 || tag > which->count) {
            return NULL;
        }
        member = which->members[tag - 1];
    }
    size_t at = follow(reader, place);
    if (!at) {
        return NULL;
    }
    switch (field->kind) {
    case STRING:
        return read_string(reader, at, field->recurs);
    case STRINGS:
        return read_strings(reader, at);
    case DOUBLES:
        return read_doubles(reader, at);
    case NUMBERS:
        return read_numbers(reader, at);
    case TABLES:
        return read_tables(reader, member, at, depth + 1);
    default:
        return read_table(reader, member, at, depth + 1);
    }
}

/* Where a table's vtable is and how many bytes it has, or 0 if it is not right. */
static inline size_t
vtable_of(const Reader *reader, size_t position, size_t *vtable)
{
    int64_t at = (int64_t)position - (int32_t)u32(reader->data + position);
    if (at < 0 || (size_t)at > reader->size || reader->size - (size_t)at < 4) {
        return 0;
    }
    size_t entries = u16(reader->data + at);
    if (entries < 4 || entries % 2 || entries > reader->size - (size_t)at) {
        return 0;
    }
    *vtable = (size_t)at;
    return entries;
}

/* The value of the table at `position`, which has four bytes at least. NULL, often without an exception, if it is not
   right. */
static PyObject *
read_table(Reader *reader, int number, size_t position, int depth)
{
    const Table *table = &TABLES_[number];
    size_t vtable = 0, entries = vtable_of(reader, position, &vtable);
    if (!entries || depth > MAX_DEPTH || ++reader->tables > MAX_TABLES) {
        return NULL;
    }
    /* The tables that no value stands for could go the way of all others, as they do in JSON. But they are many, and
       this is faster by a twentieth: read in places of their own, they let processors foresee which kind of field
       comes. */
    if (table->wrapper) {
        return read_field(reader, &table->fields[0], position, vtable, entries, depth);
    }
    if (number == ENVELOPE) {
        PyObject *timestamp = read_field(reader, &table->fields[0], position, vtable, entries, depth);
        PyObject *event = timestamp ? read_field(reader, &table->fields[1], position, vtable, entries, depth) : NULL;
        if (!event) {
            Py_XDECREF(timestamp);
            return NULL;
        }
        return with_timestamp(event, timestamp);
    }
    Fields fields;
    if (!new_fields(number, &fields)) {
        return NULL;
    }
    const Py_ssize_t *slots = bound.slots[number];
    for (int index = 0; index < table->count; index++) {
        PyObject *field = read_field(reader, &table->fields[index], position, vtable, entries, depth);
        SLOT(fields.start, slots[index]) = field;
        if (!field) {
            drop_fields(number, &fields, index);
            return NULL;
        }
    }
    return value_of(number, &fields);
}

static PyObject *
read_message(Reader *reader)
{
    size_t position = reader->size < 4 || reader->size > MAX_SIZE ? 0 : follow(reader, 0);
    return position ? read_table(reader, ROOT, position, 1) : NULL;
}

PyObject *
decode(PyObject *module, PyObject *data)
{
    if (PyBytes_Check(data) && bound.done) {
        size_t size = (size_t)PyBytes_GET_SIZE(data);
        Reader reader = {(const uint8_t *)PyBytes_AS_STRING(data), size, SPARE * size, 0, 0.0, NULL, NULL, 0, NULL};
        PyObject *message = read_message(&reader);
        if (message || out_of_memory()) {
            return message;
        }
    }
    return PyObject_CallOneArg(bound.read_carefully, data);
}
