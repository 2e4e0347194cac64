/* The strings that were read last, so that texts that come again and again are made once. */

#include "texts.h"

/* At most so many are kept, and none that is longer. */
#define RECENT_STRINGS 256
#define RECENT_SIZE 16

typedef struct {
    uint64_t first, last; /* its first and last eight bytes (four, if it has less than eight), which are all of it */
    Py_ssize_t size;
    PyObject *string;
} Recent;

static Recent recent_strings[RECENT_STRINGS];

PyObject *
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
