/* What all parts of the native engine stand on: Python, the schema as data, the limits, and what the module offers.
   This header knows neither values nor formats.

   The engine fills and reads the slots of the values directly. It walks the same schema and writes the same bytes as
   the pure-Python codec; tools/ makes the data of the one (native_schema.h) and the code of the other from one
   description. Like the codec it knows only the right: whatever it stumbles over is read or written again by the
   careful Python code, which says what is wrong and where. Every check of the C++ verifier is made on the way.

   module.c       what Python sees: decode and encode, decode_json and encode_json, bind
   read_binary.c, write_binary.c, read_json.c, write_json.c
                  one function of the module each, which walks the tables of the schema; they know nothing of each other
   json_tokens.c  strings, numbers and words of JSON, for read_json.c
   memory.c       what a message is written in, for write_binary.c
   binding.c      which value stands for which table, and how it is made and taken apart
   texts.c        strings of bytes that were read */

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

/* What follows, here and in the other headers, is shared by the engine's files and nobody else: without this, compilers
   make detours for names that another library might want to replace. */
#ifdef __GNUC__
#pragma GCC visibility push(hidden)
#endif

#define MAX_DEPTH 64
#define MAX_TABLES 1000000
#define MAX_SIZE 0x7fffffff

#ifdef __GNUC__
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

/* Whether an exception is set that says something of this machine, not of the message; others are cleared. */
static inline int
out_of_memory(void)
{
    if (!PyErr_Occurred()) {
        return 0;
    }
    if (PyErr_ExceptionMatches(PyExc_MemoryError)) {
        return 1;
    }
    PyErr_Clear();
    return 0;
}

/* The functions of the module, but for bind(), which binding.h has. */
PyObject *decode(PyObject *module, PyObject *data);
PyObject *encode(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names);
PyObject *decode_json(PyObject *module, PyObject *data);
PyObject *encode_json(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names);

#endif
