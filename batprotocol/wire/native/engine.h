/* What the parts of the native engine share: the schema as data, and the values as Python has them.

   The engine fills and reads the slots of the values directly. It walks the same schema and writes the same bytes as the
   pure-Python codec; tools/ makes the data of the one (native_schema.h) and the code of the other from one description.
   Like the codec it knows only the right: whatever it stumbles over is read or written again by the careful Python code,
   which says what is wrong and where. Every check of the C++ library's verifier is made on the way. */

#ifndef BATPROTOCOL_ENGINE_H
#define BATPROTOCOL_ENGINE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if PY_VERSION_HEX < 0x030C0000
#include <structmember.h>
#endif

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the native engine is for little-endian machines; the pure-Python one serves all others"
#endif

#include "native_schema.h"

#define MAX_DEPTH 64
#define MAX_TABLES 1000000
#define MAX_SIZE 0x7fffffff

/* How many classes can stand for the tables of a union: a wrapper of a union stands for several. */
#define MOST_CLASSES (3 * MOST_MEMBERS)

/* The values. This is filled once, by bind(), and never changes after but for enum members that come on demand. */
typedef struct {
    int done;
    PyTypeObject *classes[TABLE_COUNT];           /* NULL for the tables that no value stands for */
    uint8_t simple[TABLE_COUNT];                  /* whether instances have their slots and nothing else */
    Py_ssize_t slots[TABLE_COUNT][MOST_FIELDS];   /* where a value has each field */
    Py_ssize_t timestamps[TABLE_COUNT];           /* where an event has its timestamp */
    PyTypeObject *members[UNION_COUNT][MOST_CLASSES]; /* the classes that stand for a union's tables */
    uint8_t tags[UNION_COUNT][MOST_CLASSES];          /* and the tag of each */
    int member_counts[UNION_COUNT];
    PyTypeObject *enums[ENUM_COUNT];
    PyObject *enum_members[ENUM_COUNT][256]; /* by number + 128 */
    PyTypeObject *doubles;
    Py_ssize_t doubles_slot;
    PyObject *read_carefully, *write_carefully;
} Bound;

extern Bound bound;

#ifdef __GNUC__
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

/* A new reference to the member of an enum; unknown numbers make one. */
PyObject *enum_member(int index, int number);

/* A new reference to the value of a field that is absent, or NULL without an exception if it is required. */
PyObject *absent(const Field *field);

/* A new vector of doubles that takes over a reference to its bytes, or NULL. */
PyObject *make_doubles(PyObject *bytes);

/* A new instance of a class, whose slots are still to be filled, all of them. Values have no part in garbage
   collection and nothing but slots in them, which makes this short. */
static inline PyObject *
new_value(int number)
{
    PyTypeObject *class = bound.classes[number];
    if (!bound.simple[number]) {
        return class->tp_alloc(class, 0);
    }
    PyObject *value = PyObject_Malloc((size_t)class->tp_basicsize);
    return value ? PyObject_Init(value, class) : PyErr_NoMemory();
}

/* Whether bytes are all ASCII. */
static inline int
is_ascii(const char *bytes, Py_ssize_t size)
{
    uint64_t word, all = 0;
    uint32_t first, last;
    if (size >= 8) {
        for (Py_ssize_t at = 0; at + 8 < size; at += 8) {
            memcpy(&word, bytes + at, 8);
            all |= word;
        }
        memcpy(&word, bytes + size - 8, 8);
        all |= word;
    }
    else if (size >= 4) {
        memcpy(&first, bytes, 4);
        memcpy(&last, bytes + size - 4, 4);
        all = first | last;
    }
    else if (size) {
        all = (unsigned char)bytes[0] | (unsigned char)bytes[size / 2] | (unsigned char)bytes[size - 1];
    }
    return !(all & 0x8080808080808080u);
}

/* A new string of these bytes, which must be UTF-8, or NULL. */
static inline PyObject *
make_string(const char *bytes, Py_ssize_t size)
{
    if (!is_ascii(bytes, size)) {
        return PyUnicode_DecodeUTF8(bytes, size, NULL);
    }
    PyObject *string = PyUnicode_New(size, 127);
    if (string && size) {
        memcpy(PyUnicode_1BYTE_DATA(string), bytes, (size_t)size);
    }
    return string;
}

/* The same, for texts that come again and again, as profile ids do: of those that were read last, which are at most so
   many and so short, there is one string for all. */
#define RECENT_STRINGS 256
#define RECENT_SIZE 16

typedef struct {
    uint64_t first, last; /* its first and last eight bytes (four, if it has less than eight), which are all of it */
    Py_ssize_t size;
    PyObject *string;
} Recent;

extern Recent recent_strings[RECENT_STRINGS];

static inline PyObject *
recurring_string(const char *bytes, Py_ssize_t size)
{
    uint64_t first = 0, last = 0;
    if (size < 4 || size > RECENT_SIZE) {
        return make_string(bytes, size);
    }
    if (size >= 8) {
        memcpy(&first, bytes, 8);
        memcpy(&last, bytes + size - 8, 8);
    }
    else {
        memcpy(&first, bytes, 4);
        memcpy(&last, bytes + size - 4, 4);
    }
    uint64_t hash = (first ^ (last << 7 | last >> 57)) * 0x9E3779B97F4A7C15u;
    Recent *recent = &recent_strings[hash >> 56];
    if (recent->first == first && recent->last == last && recent->size == size) {
        return Py_NewRef(recent->string);
    }
    PyObject *string = make_string(bytes, size);
    if (string) {
        PyObject *old = recent->string;
        *recent = (Recent){first, last, size, Py_NewRef(string)};
        Py_XDECREF(old);
    }
    return string;
}

/* Whether an exception is set that says something of this machine, not of the message; others are cleared. */
int out_of_memory(void);

/* The tag of the table that a value stands for in a union, or 0. */
static inline int
tag_of(int index, PyObject *value)
{
    PyTypeObject *class = Py_TYPE(value);
    for (int member = 0; member < bound.member_counts[index]; member++) {
        if (bound.members[index][member] == class) {
            return bound.tags[index][member];
        }
    }
    return 0;
}

/* The functions of the module. */
PyObject *decode(PyObject *module, PyObject *data);
PyObject *encode(PyObject *module, PyObject *message);
PyObject *decode_json(PyObject *module, PyObject *data);
PyObject *encode_json(PyObject *module, PyObject *message);

#endif
