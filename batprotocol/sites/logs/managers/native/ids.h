/* Texts of a log, and the ids in one of its columns that come again: the twin of RepeatedIds in rows.py. */

#ifndef BATPROTOCOL_SACCT_IDS_H
#define BATPROTOCOL_SACCT_IDS_H

#include <Python.h>

#include <string.h>

typedef struct {
    const char *begin;
    Py_ssize_t size;
} Text;

static PyObject *
string_of(Text text)
{
    return PyUnicode_DecodeUTF8(text.begin, text.size, "replace");
}

/* A number of so many digits and nothing else, or -1. */
static long long
digits(Text text, Py_ssize_t most)
{
    if (!text.size || text.size > most) {
        return -1;
    }
    long long number = 0;
    for (Py_ssize_t at = 0; at < text.size; at++) {
        unsigned digit = (unsigned char)text.begin[at] - '0';
        if (digit > 9) {
            return -1;
        }
        number = number * 10 + digit;
    }
    return number;
}

/* Ids that come again */

enum { MOST_DIGITS = 10, PAGE = 13, PAGE_BYTES = 1 << (PAGE - 3) };

/* The page of ids that begins with this one, which is made if there is none; NULL with an exception. */
static char *
page_of(PyObject *pages, long long number)
{
    PyObject *key = PyLong_FromLongLong(number >> PAGE);
    PyObject *page = key ? PyDict_GetItemWithError(pages, key) : NULL;
    if (key && !page && !PyErr_Occurred()) {
        char empty[PAGE_BYTES] = {0};
        page = PyByteArray_FromStringAndSize(empty, PAGE_BYTES);
        if (page && PyDict_SetItem(pages, key, page) < 0) {
            Py_CLEAR(page);
        }
        Py_XDECREF(page); /* the dictionary has it */
    }
    Py_XDECREF(key);
    if (page && (!PyByteArray_Check(page) || PyByteArray_GET_SIZE(page) != PAGE_BYTES)) {
        PyErr_SetString(PyExc_TypeError, "expected a page of bytes");
        return NULL;
    }
    return page ? PyByteArray_AS_STRING(page) : NULL;
}

/* Whether a text may be the id of a job that is no number, as job_id in sites/slurm/texts.py reads it. */
static int
may_be_id(Text text)
{
    if (text.size && (unsigned char)text.begin[0] >= 0x80) {
        return 1;
    }
    for (Py_ssize_t at = 0; at < text.size; at++) {
        unsigned char sign = (unsigned char)text.begin[at];
        if (sign < 0x80 && sign - (unsigned)'0' > 9 && sign != '_' && sign != '+') {
            return 0;
        }
    }
    return text.size > 0;
}

PyDoc_STRVAR(again_doc, "again(lines, delimiter, column, pages, /)\n--\n\n"
                        "The ids in a column of whole lines that came before, and those that are no numbers. The others "
                        "are kept in pages, as RepeatedIds has them. A line counts if its column has an end.");

static PyObject *
again(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *lines, *pages;
    int delimiter, column;
    if (!PyArg_ParseTuple(arguments, "SCiO!", &lines, &delimiter, &column, &PyDict_Type, &pages)) {
        return NULL;
    }
    const char *at = PyBytes_AS_STRING(lines), *end = at + PyBytes_GET_SIZE(lines);
    if (delimiter < 1 || delimiter > 127 || column < 0) {
        return PyErr_Format(PyExc_ValueError, "expected a delimiter of ASCII, and the place of a column");
    }
    PyObject *found = PyList_New(0);
    long long last = -1;
    char *page = NULL;
    while (found && at <= end) {
        const char *next = memchr(at, '\n', (size_t)(end - at)), *close;
        next = next ? next : end;
        for (int left = column; left && at; left--) {
            at = memchr(at, delimiter, (size_t)(next - at));
            at = at ? at + 1 : NULL;
        }
        close = at ? memchr(at, delimiter, (size_t)(next - at)) : NULL;
        Text id = {at, close ? close - at : 0};
        at = next + 1;
        long long number = close ? digits(id, MOST_DIGITS) : -1;
        int is_again = close && number < 0 && may_be_id(id);
        if (number >= 0) {
            if (number >> PAGE != last && !(page = page_of(pages, number))) {
                Py_CLEAR(found);
                break;
            }
            last = number >> PAGE;
            char *byte = page + (number >> 3 & (PAGE_BYTES - 1)), bit = (char)(1 << (number & 7));
            is_again = (*byte & bit) != 0;
            *byte |= bit;
        }
        if (is_again) {
            PyObject *string = string_of(id);
            if (!string || PyList_Append(found, string) < 0) {
                Py_CLEAR(found);
            }
            Py_XDECREF(string);
        }
    }
    return found;
}

#endif
