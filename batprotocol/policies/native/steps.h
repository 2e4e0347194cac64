/* Values over time, as `Steps` of availability.py has them: lists of times and values, which are read and changed here.
   What is returned and changed is that of the same functions in Python. */

#ifndef BATPROTOCOL_PROFILE_STEPS_H
#define BATPROTOCOL_PROFILE_STEPS_H

#include "blocks.h"

static PyObject *times_name, *values_name; /* of the attributes of Steps */

/* The lists of times and values of the steps of a host: strong references. -1 with an exception. */
typedef struct {
    PyObject *times, *values;
} Lists;

static int
lists_of_steps(PyObject *steps, Lists *lists)
{
    lists->times = PyObject_GetAttr(steps, times_name);
    lists->values = lists->times ? PyObject_GetAttr(steps, values_name) : NULL;
    if (lists->values && PyList_CheckExact(lists->times) && PyList_CheckExact(lists->values) &&
        PyList_GET_SIZE(lists->times) == PyList_GET_SIZE(lists->values) && PyList_GET_SIZE(lists->times) > 0) {
        return 0;
    }
    if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_TypeError, "expected lists of as many times as values");
    }
    Py_CLEAR(lists->times);
    Py_CLEAR(lists->values);
    return -1;
}

static void
forget_lists(Lists *lists)
{
    Py_CLEAR(lists->times);
    Py_CLEAR(lists->values);
}

static double
time_at(PyObject *times, Py_ssize_t place)
{
    PyObject *time = PyList_GET_ITEM(times, place);
    return PyFloat_CheckExact(time) ? PyFloat_AS_DOUBLE(time) : PyFloat_AsDouble(time);
}

/* How many times are less than one, or equal to it if `with` says so. */
static Py_ssize_t
times_before(PyObject *times, double time, int with)
{
    Py_ssize_t low = 0, high = PyList_GET_SIZE(times);
    while (low < high) {
        Py_ssize_t middle = (low + high) / 2;
        double each = time_at(times, middle);
        if (each < time || (with && each == time)) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}

/* The place of the step at a time. */
static Py_ssize_t
place_of(PyObject *times, double time)
{
    Py_ssize_t place = times_before(times, time, 1) - 1;
    return place > 0 ? place : 0;
}

/* Amounts: tuples of whole numbers */

static PyObject *
sum_of(PyObject *one, PyObject *other)
{
    int overflows = 0, others = 0;
    long long a = PyLong_CheckExact(one) ? PyLong_AsLongLongAndOverflow(one, &overflows) : (overflows = 1, 0);
    long long b = PyLong_CheckExact(other) ? PyLong_AsLongLongAndOverflow(other, &others) : (others = 1, 0);
    if (!others && !b && PyLong_CheckExact(one)) {
        Py_INCREF(one);
        return one;
    }
    const long long most = LLONG_MAX / 2;
    if (overflows || others || a > most || a < -most || b > most || b < -most) {
        return PyNumber_Add(one, other);
    }
    return PyLong_FromLongLong(a + b);
}

/* A value with something added: a number, or an amount. */
static PyObject *
value_with(PyObject *value, PyObject *by)
{
    if (!PyTuple_CheckExact(by) || !PyTuple_CheckExact(value)) {
        return sum_of(value, by);
    }
    Py_ssize_t count = PyTuple_GET_SIZE(by), other = PyTuple_GET_SIZE(value);
    count = other < count ? other : count;
    PyObject *found = PyTuple_New(count);
    for (Py_ssize_t place = 0; found && place < count; place++) {
        PyObject *sum = sum_of(PyTuple_GET_ITEM(value, place), PyTuple_GET_ITEM(by, place));
        if (!sum) {
            Py_CLEAR(found);
            break;
        }
        PyTuple_SET_ITEM(found, place, sum);
    }
    return found;
}

/* Changes */

/* The place of a time, which is added if it is not there. -1 with an exception. */
static Py_ssize_t
cut_steps(const Lists *steps, double time, PyObject *object)
{
    if (time <= time_at(steps->times, 0)) {
        return 0;
    }
    Py_ssize_t place = times_before(steps->times, time, 0);
    if (place == PyList_GET_SIZE(steps->times) || time_at(steps->times, place) != time) {
        PyObject *value = PyList_GET_ITEM(steps->values, place - 1);
        if (PyList_Insert(steps->times, place, object) < 0 || PyList_Insert(steps->values, place, value) < 0) {
            return -1;
        }
    }
    return place;
}

/* The value of steps is another one from one time to another one; steps that become equal are one. -1 with an exception. */
static int
change_steps_by(const Lists *steps, PyObject *begin, PyObject *end, PyObject *by)
{
    double since = PyFloat_AsDouble(begin), until = PyFloat_AsDouble(end);
    if (PyErr_Occurred()) {
        return -1;
    }
    Py_ssize_t first = cut_steps(steps, since, begin);
    Py_ssize_t last = first < 0              ? -1
                      : until < INFINITY     ? cut_steps(steps, until, end)
                                             : PyList_GET_SIZE(steps->times);
    if (last < 0) {
        return -1;
    }
    for (Py_ssize_t place = first; place < last; place++) {
        PyObject *value = value_with(PyList_GET_ITEM(steps->values, place), by);
        if (!value || PyList_SetItem(steps->values, place, value) < 0) {
            return -1;
        }
    }
    Py_ssize_t count = PyList_GET_SIZE(steps->times), least = first > 1 ? first : 1;
    for (Py_ssize_t place = last < count - 1 ? last : count - 1; place >= least; place--) {
        int is_equal = PyObject_RichCompareBool(PyList_GET_ITEM(steps->values, place),
                                                PyList_GET_ITEM(steps->values, place - 1), Py_EQ);
        if (is_equal < 0 || (is_equal && (PyList_SetSlice(steps->times, place, place + 1, NULL) < 0 ||
                                          PyList_SetSlice(steps->values, place, place + 1, NULL) < 0))) {
            return -1;
        }
    }
    return 0;
}

/* What was before a time is forgotten, as `Steps.forget` does. -1 with an exception. */
static int
forget_steps(const Lists *steps, double now)
{
    Py_ssize_t place = times_before(steps->times, now, 1) - 1;
    return place > 0 && (PyList_SetSlice(steps->times, 1, place + 1, NULL) < 0 ||
                         PyList_SetSlice(steps->values, 0, place, NULL) < 0)
               ? -1
               : 0;
}

PyDoc_STRVAR(change_steps_doc, "change_steps(steps, begin, end, by, /)\n--\n\n"
                               "Add a number or an amount to a value over time from one time to another one.");

static PyObject *
change_steps(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Lists steps;
    if (expect("change_steps", count, 4, 4) < 0 || lists_of_steps(arguments[0], &steps) < 0) {
        return NULL;
    }
    int failed = change_steps_by(&steps, arguments[1], arguments[2], arguments[3]) < 0;
    forget_lists(&steps);
    if (failed) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(change_jobs_doc, "change_jobs(jobs, hosts, begin, end, by, now, /)\n--\n\n"
                              "Note more jobs on hosts, or fewer, from one time to another one.");

static PyObject *
change_jobs(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    double now;
    if (expect("change_jobs", count, 6, 6) < 0 || as_time(arguments[5], &now) < 0) {
        return NULL;
    }
    PyObject *hosts = PySequence_Fast(arguments[1], "expected hosts");
    for (Py_ssize_t at = 0; hosts && at < PySequence_Fast_GET_SIZE(hosts); at++) {
        PyObject *host = PySequence_Fast_GET_ITEM(hosts, at), *jobs = PyObject_GetItem(arguments[0], host);
        Lists steps = {NULL, NULL};
        int failed = !jobs || lists_of_steps(jobs, &steps) < 0 ||
                     change_steps_by(&steps, arguments[2], arguments[3], arguments[4]) < 0 ||
                     forget_steps(&steps, now) < 0;
        if (!failed && PyList_GET_SIZE(steps.times) == 1) {
            int has_jobs = PyObject_IsTrue(PyList_GET_ITEM(steps.values, 0));
            failed = has_jobs < 0 || (!has_jobs && PyObject_DelItem(arguments[0], host) < 0);
        }
        forget_lists(&steps);
        Py_XDECREF(jobs);
        if (failed) {
            break;
        }
    }
    Py_XDECREF(hosts);
    if (PyErr_Occurred()) {
        return NULL;
    }
    Py_RETURN_NONE;
}

#endif
