/* Intervals of hosts, as Python has them: tuples of pairs of ints. */

#ifndef BATPROTOCOL_INTERVALS_H
#define BATPROTOCOL_INTERVALS_H

#include <Python.h>

typedef struct {
    Py_ssize_t first, last;
} Interval;

static inline size_t
size_of(Interval interval)
{
    return (size_t)(interval.last + 1 - interval.first);
}

/* A small int, not negative; or -1. */
static inline Py_ssize_t
number(PyObject *value)
{
    if (!PyLong_CheckExact(value)) {
        return -1;
    }
    int overflow;
    long long found = PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow || found < 0 || found > PY_SSIZE_T_MAX ? -1 : (Py_ssize_t)found;
}

/* The interval at a place of a tuple; if there is none, one that begins before the first host. */
static inline Interval
interval_at(PyObject *intervals, Py_ssize_t index)
{
    PyObject *pair = PyTuple_GET_ITEM(intervals, index);
    if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2) {
        return (Interval){-1, -1};
    }
    Interval found = {number(PyTuple_GET_ITEM(pair, 0)), number(PyTuple_GET_ITEM(pair, 1))};
    return found.last < found.first ? (Interval){-1, -1} : found;
}

/* These intervals as a tuple of pairs, or NULL with an exception. */
static inline PyObject *
tuple_of(const Interval *intervals, int count)
{
    PyObject *all = PyTuple_New(count);
    for (int index = 0; all && index < count; index++) {
        PyObject *interval = PyTuple_New(2);
        PyObject *first = interval ? PyLong_FromSsize_t(intervals[index].first) : NULL;
        PyObject *last = first ? PyLong_FromSsize_t(intervals[index].last) : NULL;
        if (!last) {
            Py_XDECREF(first);
            Py_XDECREF(interval);
            Py_CLEAR(all);
            break;
        }
        PyTuple_SET_ITEM(interval, 0, first);
        PyTuple_SET_ITEM(interval, 1, last);
        PyTuple_SET_ITEM(all, index, interval);
    }
    return all;
}

#endif
