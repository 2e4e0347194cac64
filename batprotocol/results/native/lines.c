/* Lines of result files: `format % values` in C for formats of `%s`, `%d`, `%f` and `%g`. Whatever is unusual is left to
   Python's own operator, so the text is always the same. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "../../native.h"

#define ROOM 1024    /* the characters of a line; a longer one is left to Python */
#define NUMBER 40    /* more than a number takes */
#define DECIMALS 6   /* those of `%f` */
#define UNITS 1000000
#define LARGEST 9e18 /* below it, the whole part of a double is an uint64_t */
#define SHORT 1000000 /* below it, `%g` writes a whole number with its digits */

static char *
put_whole(char *at, uint64_t number)
{
    char digits[24];
    int count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    while (count) {
        *at++ = digits[--count];
    }
    return at;
}

#ifdef __SIZEOF_INT128__
/* The decimals of a number in [0,1[, rounded once, half to even: `UNITS` if it is rounded up to 1. */
static uint64_t
decimals_of(double part)
{
    int exponent;
    uint64_t mantissa = (uint64_t)ldexp(frexp(part, &exponent), 53);
    int shift = 53 - exponent;
    if (!mantissa || shift >= 127) { /* far less than half of the last decimal */
        return 0;
    }
    unsigned __int128 product = (unsigned __int128)mantissa * UNITS, half = (unsigned __int128)1 << (shift - 1);
    uint64_t found = (uint64_t)(product >> shift);
    unsigned __int128 rest = product - ((unsigned __int128)found << shift);
    return found + (rest > half || (rest == half && (found & 1)));
}

static char *
put_fixed(char *at, double number)
{
    double size = fabs(number);
    if (!(size < LARGEST)) {
        return NULL;
    }
    uint64_t whole = (uint64_t)size, decimals = decimals_of(size - (double)whole);
    if (decimals == UNITS) {
        whole++;
        decimals = 0;
    }
    if (signbit(number)) {
        *at++ = '-';
    }
    at = put_whole(at, whole);
    *at++ = '.';
    for (int place = DECIMALS - 1; place >= 0; place--) {
        at[place] = (char)('0' + decimals % 10);
        decimals /= 10;
    }
    return at + DECIMALS;
}
#else
static char *
put_fixed(char *at, double number)
{
    return NULL;
}
#endif

static char *
put_general(char *at, double number)
{
    double size = fabs(number);
    if (!(size < SHORT) || size != floor(size) || signbit(number)) {
        return NULL;
    }
    return put_whole(at, (uint64_t)size);
}

static char *
put_value(char *at, const char *end, char kind, PyObject *value)
{
    if (kind == 's') {
        if (!PyUnicode_CheckExact(value) || !PyUnicode_IS_COMPACT_ASCII(value)) {
            return NULL;
        }
        Py_ssize_t length = PyUnicode_GET_LENGTH(value);
        if (length > end - at) {
            return NULL;
        }
        memcpy(at, PyUnicode_1BYTE_DATA(value), (size_t)length);
        return at + length;
    }
    if (end - at < NUMBER) {
        return NULL;
    }
    if (kind == 'd') {
        int overflow;
        long long number = PyLong_Check(value) ? PyLong_AsLongLongAndOverflow(value, &overflow) : -1;
        return number < 0 ? NULL : put_whole(at, (uint64_t)number);
    }
    if (!PyFloat_CheckExact(value)) {
        return NULL;
    }
    double number = PyFloat_AS_DOUBLE(value);
    return kind == 'f' ? put_fixed(at, number) : kind == 'g' ? put_general(at, number) : NULL;
}

/* The end of the text, or NULL: it is left to Python. */
static char *
fill_all(char *at, const char *end, const char *format, const char *behind, PyObject *values)
{
    Py_ssize_t used = 0, count = PyTuple_GET_SIZE(values);
    for (; format < behind; format++) {
        if (*format == '%') {
            if (++format == behind || used == count) {
                return NULL;
            }
            at = put_value(at, end, *format, PyTuple_GET_ITEM(values, used++));
            if (!at) {
                return NULL;
            }
        }
        else if (at < end) {
            *at++ = *format;
        }
        else {
            return NULL;
        }
    }
    return used == count ? at : NULL;
}

static PyObject *
fill(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || !PyUnicode_Check(arguments[0]) || !PyTuple_Check(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "fill() takes a format and a tuple");
        return NULL;
    }
    PyObject *format = arguments[0], *values = arguments[1];
    if (PyUnicode_IS_COMPACT_ASCII(format)) {
        char text[ROOM];
        const char *begin = (const char *)PyUnicode_1BYTE_DATA(format);
        char *at = fill_all(text, text + ROOM, begin, begin + PyUnicode_GET_LENGTH(format), values);
        PyObject *line = at ? PyUnicode_New(at - text, 127) : NULL;
        if (line) {
            memcpy(PyUnicode_1BYTE_DATA(line), text, (size_t)(at - text));
            return line;
        }
        if (at) {
            return NULL;
        }
    }
    return PyUnicode_Format(format, values);
}

PyDoc_STRVAR(fill_doc, "fill($module, format, values, /)\n--\n\nThe same as `format % values`.");

static PyMethodDef functions[] = {
    {"fill", FAST(fill), fill_doc},
    {NULL, NULL, 0, NULL},
};

NATIVE_MODULE("batprotocol.results", _lines, "native lines", populate_nothing, functions,
              "Lines of result files in C. Private: use batprotocol.results.")
