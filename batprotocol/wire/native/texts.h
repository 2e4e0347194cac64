/* Strings made of bytes that were read. They may be of any format: this knows none, nor what a string is for. */

#ifndef BATPROTOCOL_TEXTS_H
#define BATPROTOCOL_TEXTS_H

#include "engine.h"

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

/* The same, for texts that come again and again, as profile ids do: those that were read last are one string for all.
   */
PyObject *recurring_string(const char *bytes, Py_ssize_t size);

#endif
