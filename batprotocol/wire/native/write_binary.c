/* Values to flatbuffers, in the same bytes as the Python engine's.

   As in layout.py, a message is written from its end to its start: `size` is what has been written, and so the place of
   the piece that was written last, counted from the end. This file knows nothing of JSON. What is not exactly of a
   field's own type is left to the Python writer, which writes it after all or says what is wrong. */

#include "binding.h"
#include "memory.h"

static int write_table(Writer *writer, int number, PyObject *value, int depth);

static int
write_string(Writer *writer, PyObject *text)
{
    Py_ssize_t count;
    const char *bytes = NULL;
    if (PyUnicode_CheckExact(text) && PyUnicode_IS_COMPACT_ASCII(text)) { /* as nearly all are */
        bytes = (const char *)PyUnicode_1BYTE_DATA(text);
        count = PyUnicode_GET_LENGTH(text);
    }
    else if (PyUnicode_Check(text)) {
        bytes = PyUnicode_AsUTF8AndSize(text, &count);
    }
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

/* Write a vector of tables, or of strings (`number` -1). */
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
        fine = number < 0 ? write_string(writer, item) : write_table(writer, number, item, depth);
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
    fill(writer, at + 4, writer->size - 4, PyBytes_AS_STRING(bytes), count);
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

/* The number that an int is, if it is as small as most are: for these, calling Python takes longer than all else. */
static inline int
small_number(PyObject *number, long long *value)
{
#if defined(PYPY_VERSION)
    return 0;
#elif PY_VERSION_HEX >= 0x030C0000
    if (!PyUnstable_Long_IsCompact((PyLongObject *)number)) {
        return 0;
    }
    *value = PyUnstable_Long_CompactValue((PyLongObject *)number);
    return 1;
#else
    Py_ssize_t digits = Py_SIZE(number);
    if (digits != 0 && digits != 1) {
        return 0;
    }
    *value = digits ? (long long)((PyLongObject *)number)->ob_digit[0] : 0;
    return 1;
#endif
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
        long long number;
        if (!small_number(value, &number)) {
            number = PyLong_AsLongLong(value);
        }
        at[field->place] = (uint8_t)(int8_t)number;
        return number >= -128 && number <= 127;
    }
    case INT32: {
        if (!PyLong_CheckExact(value)) {
            return 0;
        }
        long long number;
        if (!small_number(value, &number)) {
            number = PyLong_AsLongLong(value);
        }
        put32(at + field->place, (uint32_t)(int32_t)number);
        return number >= INT32_MIN && number <= INT32_MAX && !(number == -1 && PyErr_Occurred());
    }
    case UINT32: {
        if (!PyLong_CheckExact(value)) {
            return 0;
        }
        long long number;
        if (!small_number(value, &number)) {
            number = PyLong_AsLongLong(value);
        }
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
        copy(at, VTABLES_[vtable].bytes, VTABLES_[vtable].size);
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
    Fields fields;
    const Py_ssize_t *slots = bound.slots[number];
    if (depth > MAX_DEPTH || !fields_of(number, value, &fields)) {
        return 0;
    }
    uint32_t places[MOST_FIELDS];
    uint8_t tags[MOST_FIELDS];
    int vtable = table->first_vtable, bit = 1;
    for (int index = 0; index < table->count; index++) {
        const Field *field = &table->fields[index];
        PyObject *child = SLOT(fields.start, slots[index]);
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
    clear(at, table->size);
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
        PyObject *child = SLOT(fields.start, slots[index]);
        if (!(field->optional && child == Py_None) && !write_scalar(at, field, child)) {
            return 0;
        }
    }
    return 1;
}

static int
write_message(Writer *writer, PyObject *message)
{
    if (!write_table(writer, ROOT, message, 1)) {
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
encode(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    int late;
    PyObject *message = message_of(arguments, count, names, &late);
    if (!message) {
        return NULL;
    }
    if (bound.done && Py_TYPE(message) == bound.classes[ROOT]) {
        Writer writer;
        start(&writer);
        PyObject *bytes = NULL;
        int fine = write_message(&writer, message) && (late || !has_late_event(message));
        if (fine) {
            bytes = written(&writer);
        }
        give_up(&writer);
        if (fine || out_of_memory()) {
            return bytes;
        }
    }
    return PyObject_CallFunctionObjArgs(bound.write_carefully, message, late ? Py_True : Py_False, NULL);
}
