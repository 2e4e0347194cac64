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
#define SIGNIFICANT 6  /* digits of `%g` */
#define TENFOLD 100000 /* a number of so many digits */

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
/* `whole + part` in units of `1 / units`, rounded once, half to even. The part is in [0,1[. */
static uint64_t
scaled(uint64_t whole, double part, uint64_t units)
{
    int exponent;
    uint64_t mantissa = (uint64_t)ldexp(frexp(part, &exponent), 53), found = whole * units;
    int shift = 53 - exponent;
    if (!mantissa || shift >= 127) { /* far less than half of a unit */
        return found;
    }
    unsigned __int128 product = (unsigned __int128)mantissa * units, half = (unsigned __int128)1 << (shift - 1);
    unsigned __int128 rest = product & ((half << 1) - 1);
    found += (uint64_t)(product >> shift);
    return found + (rest > half || (rest == half && (found & 1)));
}

static char *
put_fixed(char *at, double number)
{
    double size = fabs(number);
    if (!(size < LARGEST)) {
        return NULL;
    }
    uint64_t whole = (uint64_t)size, decimals = scaled(0, size - (double)whole, UNITS);
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

/* The first digits of a number, rounded once, half to even. */
static uint64_t
leading(uint64_t whole, double part, uint64_t divisor)
{
    uint64_t found = whole / divisor, rest = whole % divisor, half = divisor / 2;
    return found + (rest > half || (rest == half && (part > 0.0 || (found & 1))));
}

static char *
put_general(char *at, double number)
{
    if (!(number >= 1.0 && number < LARGEST)) {
        if (number != 0.0 || signbit(number)) {
            return NULL;
        }
        *at++ = '0';
        return at;
    }
    uint64_t whole = (uint64_t)number, power = 1; /* the power of ten that the number begins with */
    double part = number - (double)whole;
    int exponent = 0;
    while (whole / power >= 10) {
        power *= 10;
        exponent++;
    }
    uint64_t digits = power < TENFOLD ? scaled(whole, part, TENFOLD / power) : power > TENFOLD
                          ? leading(whole, part, power / TENFOLD) : scaled(whole, part, 1);
    if (digits == 10 * TENFOLD) {
        digits = TENFOLD;
        exponent++;
    }
    char text[SIGNIFICANT];
    int count = SIGNIFICANT, before = exponent < SIGNIFICANT ? exponent + 1 : 1;
    for (int place = SIGNIFICANT - 1; place >= 0; place--) {
        text[place] = (char)('0' + digits % 10);
        digits /= 10;
    }
    while (count > before && text[count - 1] == '0') {
        count--;
    }
    memcpy(at, text, (size_t)before);
    at += before;
    if (count > before) {
        *at++ = '.';
        memcpy(at, text + before, (size_t)(count - before));
        at += count - before;
    }
    if (exponent >= SIGNIFICANT) {
        memcpy(at, "e+", 2);
        at[2] = (char)('0' + exponent / 10);
        at[3] = (char)('0' + exponent % 10);
        at += 4;
    }
    return at;
}
#else
static char *
put_fixed(char *at, double number)
{
    return NULL;
}

static char *
put_general(char *at, double number)
{
    return NULL;
}
#endif

static char *
put_value(char *at, const char *end, char kind, PyObject *value)
{
    if (kind == 's' && !PyLong_CheckExact(value)) {
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
    if (kind == 'd' || kind == 's') {
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
