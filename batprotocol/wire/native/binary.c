/* Flatbuffers to values and back. */

#include "engine.h"

/* How many times a message's own size its strings and vectors may add up to, shared ones counted anew: beyond, the
   careful reader, which reads what is shared once, takes over. */
#define SPARE 16

/* Reading */

typedef struct {
    const uint8_t *data;
    size_t size;
    size_t left; /* how many more bytes of strings and vectors may be read */
    int tables;
    double time;         /* the last time that was read, */
    PyObject *time_read; /* and what was made of it, which the message holds: most of its times are the same */
} Reader;

static PyObject *read_table(Reader *reader, int number, size_t position, int depth, PyObject *timestamp);

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
        PyObject *value = at ? read_table(reader, number, at, depth, NULL) : NULL;
        if (!value) {
            Py_CLEAR(tables);
            break;
        }
        PyTuple_SET_ITEM(tables, index, value);
    }
    return tables;
}

static PyObject *
read_doubles(Reader *reader, size_t position)
{
    Py_ssize_t count = count_of(reader, position, 8);
    if (count < 0) {
        return NULL;
    }
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)reader->data + position + 4, 8 * count);
    return bytes ? make_doubles(bytes) : NULL;
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
        return PyFloat_FromDouble(real(data + place));
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
        return read_table(reader, member, at, depth + 1, NULL);
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
   right. `timestamp` is that of an event. */
static PyObject *
read_table(Reader *reader, int number, size_t position, int depth, PyObject *timestamp)
{
    const Table *table = &TABLES_[number];
    size_t vtable = 0, entries = vtable_of(reader, position, &vtable);
    if (!entries || depth > MAX_DEPTH || ++reader->tables > MAX_TABLES) {
        return NULL;
    }
    if (table->wrapper) {
        return read_field(reader, &table->fields[0], position, vtable, entries, depth);
    }
    PyObject *value = new_value(number);
    if (!value) {
        return NULL;
    }
    if (table->event) {
        SLOT(value, bound.timestamps[number]) = Py_NewRef(timestamp);
    }
    const Py_ssize_t *slots = bound.slots[number];
    for (int index = 0; index < table->count; index++) {
        PyObject *field = read_field(reader, &table->fields[index], position, vtable, entries, depth);
        SLOT(value, slots[index]) = field;
        if (!field) {
            while (++index < table->count) {
                SLOT(value, slots[index]) = NULL;
            }
            Py_DECREF(value);
            return NULL;
        }
    }
    return value;
}

/* The time of an envelope or of the message. */
static PyObject *
read_time(Reader *reader, const Field *field, size_t position, size_t vtable, size_t entries)
{
    size_t inside = field->entry < entries ? u16(reader->data + vtable + field->entry) : 0;
    if (inside && position + inside + 8 <= reader->size) {
        const uint8_t *at = reader->data + position + inside;
        if (reader->time_read && !memcmp(at, &reader->time, 8)) {
            return Py_NewRef(reader->time_read);
        }
        reader->time = real(at);
    }
    reader->time_read = read_field(reader, field, position, vtable, entries, 1);
    if (!inside) {
        reader->time = 0.0;
    }
    return reader->time_read;
}

static PyObject *
read_event(Reader *reader, size_t position)
{
    const Table *table = &TABLES_[ENVELOPE];
    size_t vtable = 0, entries = vtable_of(reader, position, &vtable);
    if (!entries || ++reader->tables > MAX_TABLES) {
        return NULL;
    }
    const Field *event = &table->fields[1];
    size_t inside = event->entry < entries ? u16(reader->data + vtable + event->entry) : 0;
    size_t tag_inside = event->tag < entries ? u16(reader->data + vtable + event->tag) : 0;
    if (!inside || !tag_inside || position + inside + 4 > reader->size || position + tag_inside >= reader->size) {
        return NULL;
    }
    int tag = reader->data[position + tag_inside];
    size_t at = follow(reader, position + inside);
    if (!at || tag < 1 || tag > UNIONS_[EVENTS].count) {
        return NULL;
    }
    PyObject *timestamp = read_time(reader, &table->fields[0], position, vtable, entries);
    if (!timestamp) {
        return NULL;
    }
    PyObject *value = read_table(reader, UNIONS_[EVENTS].members[tag - 1], at, 3, timestamp);
    Py_DECREF(timestamp);
    return value;
}

static PyObject *
read_message(Reader *reader)
{
    const Table *table = &TABLES_[ROOT];
    size_t vtable = 0, entries, inside, at, position;
    if (reader->size < 4 || reader->size > MAX_SIZE || !(position = follow(reader, 0))) {
        return NULL;
    }
    reader->tables = 1;
    entries = vtable_of(reader, position, &vtable);
    inside = table->fields[1].entry < entries ? u16(reader->data + vtable + table->fields[1].entry) : 0;
    if (!inside || position + inside + 4 > reader->size || !(at = follow(reader, position + inside))) {
        return NULL;
    }
    PyObject *now = read_time(reader, &table->fields[0], position, vtable, entries);
    Py_ssize_t count = now ? count_of(reader, at, 4) : -1;
    PyObject *events = count < 0 ? NULL : PyTuple_New(count);
    for (Py_ssize_t index = 0; events && index < count; index++) {
        size_t event_at = follow(reader, at + 4 + 4 * (size_t)index);
        PyObject *event = event_at ? read_event(reader, event_at) : NULL;
        if (!event) {
            Py_CLEAR(events);
            break;
        }
        PyTuple_SET_ITEM(events, index, event);
    }
    PyObject *message = events ? new_value(ROOT) : NULL;
    if (!message) {
        Py_XDECREF(now);
        Py_XDECREF(events);
        return NULL;
    }
    SLOT(message, bound.slots[ROOT][0]) = now;
    SLOT(message, bound.slots[ROOT][1]) = events;
    return message;
}

PyObject *
decode(PyObject *module, PyObject *data)
{
    if (PyBytes_Check(data) && bound.done) {
        size_t size = (size_t)PyBytes_GET_SIZE(data);
        Reader reader = {(const uint8_t *)PyBytes_AS_STRING(data), size, SPARE * size, 0, 0.0, NULL};
        PyObject *message = read_message(&reader);
        if (message || out_of_memory()) {
            return message;
        }
    }
    return PyObject_CallOneArg(bound.read_carefully, data);
}

/* Writing. As in layout.py, a message is written from its end to its start: `size` is what has been written, and so the
   place of the piece that was written last, counted from the end. */

typedef struct {
    uint8_t *data;
    size_t room, size;
    uint32_t vtables[VTABLE_COUNT];
    uint8_t first[4096];
} Writer;

/* Room for `count` more bytes: where they go, or NULL without memory or beyond what a flatbuffer can hold. */
static inline uint8_t *
take(Writer *writer, size_t count)
{
    if (count > writer->room - writer->size) {
        size_t room = writer->room;
        while (room - writer->size < count) {
            if (room > MAX_SIZE) {
                return NULL;
            }
            room *= 2;
        }
        uint8_t *data = PyMem_Malloc(room);
        if (!data) {
            PyErr_NoMemory();
            return NULL;
        }
        memcpy(data + room - writer->size, writer->data + writer->room - writer->size, writer->size);
        if (writer->data != writer->first) {
            PyMem_Free(writer->data);
        }
        writer->data = data;
        writer->room = room;
    }
    writer->size += count;
    return writer->data + writer->room - writer->size;
}

static inline void
put32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

static int write_table(Writer *writer, int number, PyObject *value, int depth);

static int
write_string(Writer *writer, PyObject *text)
{
    Py_ssize_t count;
    const char *bytes = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &count) : NULL;
    if (!bytes || count > MAX_SIZE) {
        return 0;
    }
    size_t whole = ((size_t)count + 8) & ~(size_t)3;
    uint8_t *at = take(writer, whole);
    if (!at) {
        return 0;
    }
    put32(at + whole - 4, 0);
    put32(at, (uint32_t)count);
    memcpy(at + 4, bytes, (size_t)count);
    return 1;
}

static int
write_places(Writer *writer, const uint32_t *places, size_t count)
{
    uint8_t *at = take(writer, 4 * count + 4);
    if (!at) {
        return 0;
    }
    put32(at, (uint32_t)count);
    for (size_t index = 0; index < count; index++) {
        put32(at + 4 + 4 * index, (uint32_t)(writer->size - 4 - 4 * index) - places[index]);
    }
    return 1;
}

/* Write a vector of strings (`number` -1), of tables, or of the message's events (`number` ENVELOPE). */
static int write_envelope(Writer *writer, PyObject *event);

static int
write_offsets(Writer *writer, int number, PyObject *items, int depth)
{
    if (!PyTuple_CheckExact(items)) {
        return 0;
    }
    size_t count = (size_t)PyTuple_GET_SIZE(items);
    uint32_t few[64], *places = count <= 64 ? few : PyMem_Malloc(count * sizeof *places);
    if (!places) {
        PyErr_NoMemory();
        return 0;
    }
    int fine = 1;
    for (size_t index = 0; fine && index < count; index++) {
        PyObject *item = PyTuple_GET_ITEM(items, index);
        fine = number < 0            ? write_string(writer, item)
               : number == ENVELOPE ? write_envelope(writer, item)
                                    : write_table(writer, number, item, depth);
        places[index] = (uint32_t)writer->size;
    }
    fine = fine && write_places(writer, places, count);
    if (places != few) {
        PyMem_Free(places);
    }
    return fine;
}

static int
write_doubles(Writer *writer, PyObject *vector)
{
    PyObject *bytes = Py_TYPE(vector) == bound.doubles ? SLOT(vector, bound.doubles_slot) : NULL;
    if (!bytes || !PyBytes_CheckExact(bytes)) {
        return 0;
    }
    size_t count = (size_t)PyBytes_GET_SIZE(bytes);
    uint8_t *at;
    if (writer->size & 4) {
        if (!(at = take(writer, 4))) {
            return 0;
        }
        put32(at, 0);
    }
    at = take(writer, count + 4);
    if (!at) {
        return 0;
    }
    put32(at, (uint32_t)(count / 8));
    memcpy(at + 4, PyBytes_AS_STRING(bytes), count);
    return 1;
}

static int
write_numbers(Writer *writer, PyObject *numbers)
{
    if (!PyTuple_CheckExact(numbers)) {
        return 0;
    }
    size_t count = (size_t)PyTuple_GET_SIZE(numbers);
    uint8_t *at = take(writer, 4 * count + 4);
    if (!at) {
        return 0;
    }
    put32(at, (uint32_t)count);
    for (size_t index = 0; index < count; index++) {
        PyObject *number = PyTuple_GET_ITEM(numbers, index);
        long long value = PyLong_Check(number) ? PyLong_AsLongLong(number) : -1;
        if (value < 0 || value > UINT32_MAX) {
            return 0;
        }
        put32(at + 4 + 4 * index, (uint32_t)value);
    }
    return 1;
}

/* Write what a field's offset leads to. */
static int
write_child(Writer *writer, const Field *field, PyObject *value, int depth, uint8_t *tag)
{
    switch (field->kind) {
    case STRING:
        return write_string(writer, value);
    case STRINGS:
        return write_offsets(writer, -1, value, 0);
    case DOUBLES:
        return write_doubles(writer, value);
    case NUMBERS:
        return write_numbers(writer, value);
    case TABLES:
        return write_offsets(writer, field->index, value, depth + 1);
    case TABLE:
        return write_table(writer, field->index, value, depth + 1);
    default:
        *tag = (uint8_t)tag_of(field->index, value);
        return *tag && write_table(writer, UNIONS_[field->index].members[*tag - 1], value, depth + 1);
    }
}

/* Write a scalar into the table at `at`. What is not exactly of the field's own type is left to the careful way. */
static int
write_scalar(uint8_t *at, const Field *field, PyObject *value)
{
    switch (field->kind) {
    case BOOL:
        if (value != Py_True && value != Py_False) {
            return 0;
        }
        at[field->place] = value == Py_True;
        return 1;
    case ENUM: {
        if (Py_TYPE(value) != bound.enums[field->index]) {
            return 0;
        }
        long number = PyLong_AsLong(value);
        at[field->place] = (uint8_t)(int8_t)number;
        return number >= -128 && number <= 127;
    }
    case INT32: {
        if (!PyLong_CheckExact(value)) {
            return 0;
        }
        long long number = PyLong_AsLongLong(value);
        put32(at + field->place, (uint32_t)(int32_t)number);
        return number >= INT32_MIN && number <= INT32_MAX && !(number == -1 && PyErr_Occurred());
    }
    case UINT32: {
        if (!PyLong_CheckExact(value)) {
            return 0;
        }
        long long number = PyLong_AsLongLong(value);
        put32(at + field->place, (uint32_t)number);
        return number >= 0 && number <= UINT32_MAX;
    }
    case UINT64: {
        if (!PyLong_CheckExact(value)) {
            return 0;
        }
        unsigned long long number = PyLong_AsUnsignedLongLong(value);
        memcpy(at + field->place, &number, 8);
        return !(number == (unsigned long long)-1 && PyErr_Occurred());
    }
    default: {
        if (!PyFloat_Check(value)) {
            return 0;
        }
        double number = PyFloat_AS_DOUBLE(value);
        memcpy(at + field->place, &number, 8);
        return 1;
    }
    }
}

/* Make sure that a vtable is written, and that what comes next is aligned; where the vtable is, or 0. */
static inline uint32_t
prepare(Writer *writer, const Table *table, int vtable)
{
    if (!writer->vtables[vtable]) {
        uint8_t *at = take(writer, VTABLES_[vtable].size);
        if (!at) {
            return 0;
        }
        memcpy(at, VTABLES_[vtable].bytes, VTABLES_[vtable].size);
        writer->vtables[vtable] = (uint32_t)writer->size;
    }
    if (table->wide != 1 && (writer->size & 4) != table->wide) {
        uint8_t *at = take(writer, 4);
        if (!at) {
            return 0;
        }
        put32(at, 0);
    }
    return writer->vtables[vtable];
}

/* Write a value as the table that it stands for. */
static int
write_table(Writer *writer, int number, PyObject *value, int depth)
{
    const Table *table = &TABLES_[number];
    if (depth > MAX_DEPTH || (!table->wrapper && Py_TYPE(value) != bound.classes[number])) {
        return 0;
    }
    uint32_t places[MOST_FIELDS];
    uint8_t tags[MOST_FIELDS];
    int vtable = table->first_vtable, bit = 1;
    for (int index = 0; index < table->count; index++) {
        const Field *field = &table->fields[index];
        PyObject *child = table->wrapper ? value : SLOT(value, bound.slots[number][index]);
        places[index] = 0;
        if (!child) {
            return 0;
        }
        if (field->kind < STRING) {
            if (field->optional) {
                vtable += child != Py_None ? bit : 0;
                bit <<= 1;
            }
            continue;
        }
        if (child != Py_None || field->required) {
            if (!write_child(writer, field, child, depth, &tags[index])) {
                return 0;
            }
            places[index] = (uint32_t)writer->size;
        }
        if (!field->required) {
            vtable += places[index] ? bit : 0;
            bit <<= 1;
        }
    }
    uint32_t vtable_place = prepare(writer, table, vtable);
    uint8_t *at = vtable_place ? take(writer, table->size) : NULL;
    if (!at) {
        return 0;
    }
    memset(at, 0, table->size);
    put32(at, vtable_place - (uint32_t)writer->size);
    for (int index = 0; index < table->count; index++) {
        const Field *field = &table->fields[index];
        if (field->kind >= STRING) {
            if (places[index]) {
                put32(at + field->place, (uint32_t)writer->size - field->place - places[index]);
            }
            if (field->kind == UNION) {
                at[field->tag_place] = tags[index];
            }
            continue;
        }
        PyObject *child = table->wrapper ? value : SLOT(value, bound.slots[number][index]);
        if (!(field->optional && child == Py_None) && !write_scalar(at, field, child)) {
            return 0;
        }
    }
    return 1;
}

/* Write the fixed part of an envelope or of the message: a double, and the offset of what was written at `place`. */
static int
write_outer(Writer *writer, int number, PyObject *time, uint32_t place, int tag)
{
    const Table *table = &TABLES_[number];
    const Field *inner = &table->fields[1];
    uint32_t vtable = prepare(writer, table, table->first_vtable);
    uint8_t *at = vtable ? take(writer, table->size) : NULL;
    if (!at || !time) {
        return 0;
    }
    memset(at, 0, table->size);
    put32(at, vtable - (uint32_t)writer->size);
    put32(at + inner->place, (uint32_t)writer->size - inner->place - place);
    if (tag) {
        at[inner->tag_place] = (uint8_t)tag;
    }
    return write_scalar(at, &table->fields[0], time);
}

static int
write_envelope(Writer *writer, PyObject *event)
{
    int tag = tag_of(EVENTS, event);
    if (!tag) {
        return 0;
    }
    int number = UNIONS_[EVENTS].members[tag - 1];
    return write_table(writer, number, event, 3) &&
           write_outer(writer, ENVELOPE, SLOT(event, bound.timestamps[number]), (uint32_t)writer->size, tag);
}

static int
write_message(Writer *writer, PyObject *message)
{
    const Py_ssize_t *slots = bound.slots[ROOT];
    if (!SLOT(message, slots[1]) || !write_offsets(writer, ENVELOPE, SLOT(message, slots[1]), 0) ||
        !write_outer(writer, ROOT, SLOT(message, slots[0]), (uint32_t)writer->size, 0)) {
        return 0;
    }
    size_t place = writer->size, whole = (place + 11) & ~(size_t)7;
    uint8_t *at = take(writer, whole - place);
    if (!at || whole > MAX_SIZE) {
        return 0;
    }
    memset(at, 0, whole - place);
    put32(at, (uint32_t)(whole - place));
    return 1;
}

PyObject *
encode(PyObject *module, PyObject *message)
{
    if (bound.done && Py_TYPE(message) == bound.classes[ROOT]) {
        Writer writer;
        writer.data = writer.first;
        writer.room = sizeof writer.first;
        writer.size = 0;
        memset(writer.vtables, 0, sizeof writer.vtables);
        PyObject *bytes = NULL;
        int fine = write_message(&writer, message);
        if (fine) {
            bytes = PyBytes_FromStringAndSize(
                (const char *)writer.data + writer.room - writer.size, (Py_ssize_t)writer.size);
        }
        if (writer.data != writer.first) {
            PyMem_Free(writer.data);
        }
        if (fine || out_of_memory()) {
            return bytes;
        }
    }
    return PyObject_CallOneArg(bound.write_carefully, message);
}
