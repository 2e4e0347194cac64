/* The amounts that will be free on each host, in steps: `HostSteps` of site/futures.py, which has the same in Python. */

#ifndef BATPROTOCOL_PROFILE_FUTURES_H
#define BATPROTOCOL_PROFILE_FUTURES_H

#include <stdint.h>

#include "steps.h"

enum { DIMENSIONS = 64 };

/* A host: the times from which on another amount is free, and these amounts, one after the other. */
typedef struct {
    PyObject *host; /* NULL: nobody knows this one any more */
    long long number;
    Py_ssize_t count, room;
    double *times;
    long long *free;
} Future;

typedef struct {
    PyObject_HEAD
    PyObject *places; /* of hosts */
    Future *all;
    Py_ssize_t count, room;
    Py_ssize_t dimensions; /* of an amount; -1: not known yet */
} HostSteps;

static PyTypeObject host_steps_type;

/* Amounts: tuples of whole numbers */

typedef struct {
    Py_ssize_t count;
    int never; /* whether it is more than any host has */
    long long numbers[DIMENSIONS];
} Wanted;

/* The numbers of an amount. Those that are too large for C are an error, or `never` if somebody only asks for them. */
static int
whole_numbers(PyObject *amount, long long *numbers, Py_ssize_t *count, int *never)
{
    if (!PyTuple_CheckExact(amount) || PyTuple_GET_SIZE(amount) > DIMENSIONS) {
        PyErr_SetString(PyExc_TypeError, "expected an amount: a tuple of whole numbers");
        return -1;
    }
    *count = PyTuple_GET_SIZE(amount);
    for (Py_ssize_t place = 0; place < *count; place++) {
        int overflows;
        numbers[place] = PyLong_AsLongLongAndOverflow(PyTuple_GET_ITEM(amount, place), &overflows);
        if (numbers[place] == -1 && PyErr_Occurred()) {
            return -1;
        }
        if (overflows) {
            if (!never) {
                PyErr_SetString(PyExc_OverflowError, "expected amounts that numbers of 64 bits can hold");
                return -1;
            }
            *never |= overflows > 0;
            numbers[place] = overflows > 0 ? LLONG_MAX : LLONG_MIN;
        }
    }
    return 0;
}

static int
wanted_of(PyObject *amount, Wanted *wanted)
{
    wanted->never = 0;
    return whole_numbers(amount, wanted->numbers, &wanted->count, &wanted->never);
}

static int
suffices(const Wanted *wanted, const long long *free, Py_ssize_t dimensions)
{
    Py_ssize_t count = wanted->count < dimensions ? wanted->count : dimensions;
    for (Py_ssize_t place = 0; place < count; place++) {
        if (wanted->numbers[place] > free[place]) {
            return 0;
        }
    }
    return !wanted->never;
}

/* Whether some number is less than 0. */
static int
is_short(const long long *free, Py_ssize_t dimensions)
{
    for (Py_ssize_t place = 0; place < dimensions; place++) {
        if (free[place] < 0) {
            return 1;
        }
    }
    return 0;
}

static PyObject *
amount_of(const long long *free, Py_ssize_t dimensions)
{
    PyObject *amount = PyTuple_New(dimensions);
    for (Py_ssize_t place = 0; amount && place < dimensions; place++) {
        PyObject *number = PyLong_FromLongLong(free[place]);
        if (!number) {
            Py_CLEAR(amount);
            break;
        }
        PyTuple_SET_ITEM(amount, place, number);
    }
    return amount;
}

/* Hosts and times */

/* Where a host is; NULL with an exception. */
static Future *
future_of(const HostSteps *self, PyObject *host)
{
    PyObject *place = PyDict_GetItemWithError(self->places, host);
    if (!place) {
        if (!PyErr_Occurred()) {
            PyErr_SetObject(PyExc_KeyError, host);
        }
        return NULL;
    }
    return self->all + PyLong_AsSsize_t(place);
}

/* How many times are less than one, or equal to it if `with` says so. */
static Py_ssize_t
future_before(const Future *future, double time, int with)
{
    Py_ssize_t low = 0, high = future->count;
    while (low < high) {
        Py_ssize_t middle = (low + high) / 2;
        double each = future->times[middle];
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
future_at(const Future *future, double time)
{
    Py_ssize_t place = future_before(future, time, 1) - 1;
    return place > 0 ? place : 0;
}

static double
time_after(const Future *future, Py_ssize_t place)
{
    return place + 1 < future->count ? future->times[place + 1] : INFINITY;
}

static void
forget_future(Future *future)
{
    PyMem_Free(future->times);
    PyMem_Free(future->free);
    Py_CLEAR(future->host);
    *future = (Future){0};
}

static int
future_with_room(Future *future, Py_ssize_t room, Py_ssize_t dimensions)
{
    if (room <= future->room) {
        return 0;
    }
    room += room / 2 + 4;
    double *times = PyMem_Realloc(future->times, (size_t)room * sizeof *times);
    future->times = times ? times : future->times;
    long long *free =
        times ? PyMem_Realloc(future->free, ((size_t)room * (size_t)dimensions + 1) * sizeof *free) : NULL;
    future->free = free ? free : future->free;
    if (!free) {
        PyErr_NoMemory();
        return -1;
    }
    future->room = room;
    return 0;
}

/* Remove steps from a place on. */
static void
cut_out(Future *future, Py_ssize_t place, Py_ssize_t number, Py_ssize_t dimensions)
{
    Py_ssize_t rest = future->count - place - number;
    memmove(future->times + place, future->times + place + number, (size_t)rest * sizeof *future->times);
    memmove(future->free + place * dimensions, future->free + (place + number) * dimensions,
            (size_t)(rest * dimensions) * sizeof *future->free);
    future->count -= number;
}

/* The place of a time, which is added if it is not there. There is room for it. */
static Py_ssize_t
cut_future(Future *future, double time, Py_ssize_t dimensions)
{
    if (time <= future->times[0]) {
        return 0;
    }
    Py_ssize_t place = future_before(future, time, 0);
    if (place == future->count || future->times[place] != time) {
        Py_ssize_t rest = future->count - place;
        memmove(future->times + place + 1, future->times + place, (size_t)rest * sizeof *future->times);
        memmove(future->free + place * dimensions, future->free + (place - 1) * dimensions,
                (size_t)((rest + 1) * dimensions) * sizeof *future->free);
        future->times[place] = time;
        future->count++;
    }
    return place;
}

/* Forget what was before a time. */
static void
future_begins_at(Future *future, double now, Py_ssize_t dimensions)
{
    if (future->times[0] < now) {
        Py_ssize_t place = future_before(future, now, 1) - 1;
        if (place > 0) {
            cut_out(future, 0, place, dimensions);
        }
        future->times[0] = now;
    }
}

/* Add an amount between two times, as `python_change_steps` does. -1 with an exception. */
static int
change_future(Future *future, double begin, double end, const long long *by, Py_ssize_t dimensions)
{
    if (future_with_room(future, future->count + 2, dimensions) < 0) {
        return -1;
    }
    Py_ssize_t first = cut_future(future, begin, dimensions);
    Py_ssize_t last = end < INFINITY ? cut_future(future, end, dimensions) : future->count;
    for (Py_ssize_t place = first; place < last; place++) {
        long long *free = future->free + place * dimensions;
        for (Py_ssize_t dimension = 0; dimension < dimensions; dimension++) {
            if (__builtin_add_overflow(free[dimension], by[dimension], &free[dimension])) {
                PyErr_SetString(PyExc_OverflowError, "expected amounts that numbers of 64 bits can hold");
                return -1;
            }
        }
    }
    Py_ssize_t place = last < future->count - 1 ? last : future->count - 1, least = first > 1 ? first : 1;
    for (; place >= least; place--) {
        long long *free = future->free + place * dimensions;
        if (!memcmp(free, free - dimensions, (size_t)dimensions * sizeof *free)) {
            cut_out(future, place, 1, dimensions);
        }
    }
    return 0;
}

/* The type */

static void
dealloc_host_steps(HostSteps *self)
{
    for (Py_ssize_t place = 0; place < self->count; place++) {
        forget_future(self->all + place);
    }
    PyMem_Free(self->all);
    Py_XDECREF(self->places);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *
new_host_steps(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
    char *known[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, names, ":HostSteps", known)) {
        return NULL;
    }
    HostSteps *self = (HostSteps *)type->tp_alloc(type, 0);
    if (self) {
        self->dimensions = -1;
        self->places = PyDict_New();
        if (!self->places) {
            Py_CLEAR(self);
        }
    }
    return (PyObject *)self;
}

/* A place for one more host; NULL with an exception. */
static Future *
new_future(HostSteps *self)
{
    for (Py_ssize_t place = self->count - PyDict_GET_SIZE(self->places) ? 0 : self->count; place < self->count; place++) {
        if (!self->all[place].host) {
            return self->all + place;
        }
    }
    if (self->count == self->room) {
        Py_ssize_t room = self->room ? 2 * self->room : 64;
        Future *all = PyMem_Realloc(self->all, (size_t)room * sizeof *all);
        if (!all) {
            PyErr_NoMemory();
            return NULL;
        }
        self->all = all;
        self->room = room;
    }
    self->all[self->count] = (Future){0};
    return self->all + self->count++;
}

static int
fill_future(HostSteps *self, Future *future, PyObject *times, PyObject *free)
{
    Py_ssize_t count = PyList_GET_SIZE(times);
    for (Py_ssize_t place = 0; place < count; place++) {
        long long numbers[DIMENSIONS];
        Py_ssize_t dimensions;
        double time;
        if (as_time(PyList_GET_ITEM(times, place), &time) < 0 ||
            whole_numbers(PyList_GET_ITEM(free, place), numbers, &dimensions, NULL) < 0) {
            return -1;
        }
        self->dimensions = self->dimensions < 0 ? dimensions : self->dimensions;
        if (self->dimensions != dimensions) {
            PyErr_SetString(PyExc_TypeError, "expected amounts of as many dimensions");
            return -1;
        }
        if (future_with_room(future, count, dimensions) < 0) {
            return -1;
        }
        future->times[place] = time;
        memcpy(future->free + place * dimensions, numbers, (size_t)dimensions * sizeof *numbers);
        future->count++;
    }
    return 0;
}

PyDoc_STRVAR(steps_open_doc, "open(host, times, free, /)\n--\n\nThere is one more host.");

static PyObject *
steps_open(HostSteps *self, PyObject *const *arguments, Py_ssize_t count)
{
    long long number;
    if (expect("open", count, 3, 3) < 0 || as_number(arguments[0], &number) < 0) {
        return NULL;
    }
    PyObject *times = arguments[1], *free = arguments[2];
    if (!PyList_CheckExact(times) || !PyList_CheckExact(free) || PyList_GET_SIZE(times) < 1 ||
        PyList_GET_SIZE(times) != PyList_GET_SIZE(free)) {
        PyErr_SetString(PyExc_TypeError, "expected lists of as many times as amounts");
        return NULL;
    }
    PyObject *known = PyDict_GetItemWithError(self->places, arguments[0]);
    if (!known && PyErr_Occurred()) {
        return NULL;
    }
    Future *future = known ? self->all + PyLong_AsSsize_t(known) : new_future(self);
    if (!future) {
        return NULL;
    }
    forget_future(future);
    Py_INCREF(arguments[0]);
    future->host = arguments[0];
    future->number = number;
    PyObject *place = PyLong_FromSsize_t(future - self->all);
    int failed = fill_future(self, future, times, free) < 0 || !place ||
                 PyDict_SetItem(self->places, arguments[0], place) < 0;
    Py_XDECREF(place);
    if (failed) {
        forget_future(future);
        if (known) {
            PyObject *type, *value, *trace;
            PyErr_Fetch(&type, &value, &trace);
            (void)PyDict_DelItem(self->places, arguments[0]);
            PyErr_Restore(type, value, trace);
        }
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(steps_close_doc, "close(host, /)\n--\n\nThis host is not there any more.");

static PyObject *
steps_close(HostSteps *self, PyObject *host)
{
    Future *future = future_of(self, host);
    if (!future || PyDict_DelItem(self->places, host) < 0) {
        return NULL;
    }
    forget_future(future);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(steps_change_doc, "change(hosts, begin, end, by, now, /)\n--\n\n"
                               "Add an amount on hosts from one time to another one; the hosts where it is not over.");

static PyObject *
steps_change(HostSteps *self, PyObject *const *arguments, Py_ssize_t count)
{
    double begin, end, now;
    long long by[DIMENSIONS];
    Py_ssize_t dimensions;
    if (expect("change", count, 5, 5) < 0 || as_time(arguments[1], &begin) < 0 || as_time(arguments[2], &end) < 0 ||
        whole_numbers(arguments[3], by, &dimensions, NULL) < 0 || as_time(arguments[4], &now) < 0) {
        return NULL;
    }
    PyObject *changed = PyList_New(0), *hosts = PySequence_Fast(arguments[0], "expected hosts");
    for (Py_ssize_t place = 0; changed && hosts && place < PySequence_Fast_GET_SIZE(hosts); place++) {
        PyObject *host = PySequence_Fast_GET_ITEM(hosts, place);
        Future *future = future_of(self, host);
        int failed = !future;
        if (!failed) {
            future_begins_at(future, now, self->dimensions);
        }
        if (!failed && end > future->times[0]) {
            if (dimensions != self->dimensions) {
                PyErr_SetString(PyExc_TypeError, "expected amounts of as many dimensions");
                failed = 1;
            }
            failed = failed || PyList_Append(changed, host) < 0 ||
                     change_future(future, begin, end, by, dimensions) < 0;
        }
        if (failed) {
            Py_CLEAR(changed);
        }
    }
    if (!hosts) {
        Py_CLEAR(changed);
    }
    Py_XDECREF(hosts);
    return changed;
}

PyDoc_STRVAR(steps_leasts_doc, "leasts(hosts, begin, end, /)\n--\n\n"
                               "The amount that is free on each of some hosts throughout an interval, by host.");

static PyObject *
steps_leasts(HostSteps *self, PyObject *const *arguments, Py_ssize_t count)
{
    double begin, end;
    if (expect("leasts", count, 3, 3) < 0 || as_time(arguments[1], &begin) < 0 || as_time(arguments[2], &end) < 0) {
        return NULL;
    }
    PyObject *found = PyDict_New(), *hosts = PySequence_Fast(arguments[0], "expected hosts"), *last_made = NULL;
    long long least[DIMENSIONS], last_least[DIMENSIONS];
    Py_ssize_t dimensions = self->dimensions;
    for (Py_ssize_t at = 0; found && hosts && at < PySequence_Fast_GET_SIZE(hosts); at++) {
        PyObject *host = PySequence_Fast_GET_ITEM(hosts, at);
        const Future *future = future_of(self, host);
        if (!future) {
            Py_CLEAR(found);
            break;
        }
        Py_ssize_t first = future_at(future, begin), last = future_before(future, end, 0);
        size_t size = (size_t)dimensions * sizeof *least;
        memcpy(least, future->free + first * dimensions, size);
        for (Py_ssize_t place = first + 1; place < last; place++) {
            for (Py_ssize_t dimension = 0; dimension < dimensions; dimension++) {
                long long each = future->free[place * dimensions + dimension];
                least[dimension] = each < least[dimension] ? each : least[dimension];
            }
        }
        if (!last_made || memcmp(least, last_least, size)) { /* hosts often have the same amount */
            Py_XDECREF(last_made);
            last_made = amount_of(least, dimensions);
            memcpy(last_least, least, size);
        }
        if (!last_made || PyDict_SetItem(found, host, last_made) < 0) {
            Py_CLEAR(found);
        }
    }
    if (!hosts) {
        Py_CLEAR(found);
    }
    Py_XDECREF(last_made);
    Py_XDECREF(hosts);
    return found;
}

PyDoc_STRVAR(steps_following_doc, "following(host, now, /)\n--\n\n"
                                  "The times from which on another amount is free on a host, and these amounts.");

static PyObject *
following(const Future *future, Py_ssize_t first, Py_ssize_t dimensions)
{
    PyObject *times = PyList_New(future->count - first), *free = times ? PyList_New(future->count - first) : NULL;
    for (Py_ssize_t place = first; free && place < future->count; place++) {
        PyObject *time = PyFloat_FromDouble(future->times[place]);
        PyObject *amount = time ? amount_of(future->free + place * dimensions, dimensions) : NULL;
        if (!amount) {
            Py_XDECREF(time);
            Py_CLEAR(free);
            break;
        }
        PyList_SET_ITEM(times, place - first, time);
        PyList_SET_ITEM(free, place - first, amount);
    }
    if (!free) {
        Py_XDECREF(times);
        return NULL;
    }
    return Py_BuildValue("(NN)", times, free);
}

static PyObject *
steps_following(HostSteps *self, PyObject *const *arguments, Py_ssize_t count)
{
    double now;
    if (expect("following", count, 2, 2) < 0 || as_time(arguments[1], &now) < 0) {
        return NULL;
    }
    const Future *future = future_of(self, arguments[0]);
    return future ? following(future, future_at(future, now), self->dimensions) : NULL;
}

PyDoc_STRVAR(steps_until_doc, "until(host, amount, now, /)\n--\n\n"
                              "The time until which an amount stays free on a host from now on.");

static PyObject *
steps_until(HostSteps *self, PyObject *const *arguments, Py_ssize_t count)
{
    double now;
    Wanted wanted;
    if (expect("until", count, 3, 3) < 0 || wanted_of(arguments[1], &wanted) < 0 || as_time(arguments[2], &now) < 0) {
        return NULL;
    }
    const Future *future = future_of(self, arguments[0]);
    if (!future) {
        return NULL;
    }
    double until = INFINITY;
    for (Py_ssize_t place = future_at(future, now); place < future->count; place++) {
        if (!suffices(&wanted, future->free + place * self->dimensions, self->dimensions)) {
            until = future->times[place];
            break;
        }
    }
    return PyFloat_FromDouble(until);
}

PyDoc_STRVAR(steps_fits_before_doc, "fits_before(host, amount, time, /)\n--\n\n"
                                    "Whether an amount is free on a host just before a time.");

static PyObject *
steps_fits_before(HostSteps *self, PyObject *const *arguments, Py_ssize_t count)
{
    double time;
    Wanted wanted;
    if (expect("fits_before", count, 3, 3) < 0 || wanted_of(arguments[1], &wanted) < 0 ||
        as_time(arguments[2], &time) < 0) {
        return NULL;
    }
    const Future *future = future_of(self, arguments[0]);
    if (!future) {
        return NULL;
    }
    Py_ssize_t place = future_before(future, time, 0) - 1;
    place = place > 0 ? place : 0;
    return PyBool_FromLong(suffices(&wanted, future->free + place * self->dimensions, self->dimensions));
}

static PyObject *
steps_iterate(HostSteps *self)
{
    return PyObject_GetIter(self->places);
}

static Py_ssize_t
steps_length(HostSteps *self)
{
    return PyDict_GET_SIZE(self->places);
}

static PyObject *
steps_reduce(HostSteps *self, PyObject *Py_UNUSED(nothing))
{
    PyObject *state = PyDict_New(), *host, *place;
    Py_ssize_t at = 0;
    while (state && PyDict_Next(self->places, &at, &host, &place)) {
        PyObject *steps = following(self->all + PyLong_AsSsize_t(place), 0, self->dimensions);
        if (!steps || PyDict_SetItem(state, host, steps) < 0) {
            Py_CLEAR(state);
        }
        Py_XDECREF(steps);
    }
    return state ? Py_BuildValue("O()N", Py_TYPE(self), state) : NULL;
}

static PyObject *
steps_set_state(HostSteps *self, PyObject *state)
{
    PyObject *host, *steps;
    Py_ssize_t at = 0;
    if (!PyDict_CheckExact(state)) {
        PyErr_SetString(PyExc_TypeError, "expected the steps of each host");
        return NULL;
    }
    while (PyDict_Next(state, &at, &host, &steps)) {
        if (!PyTuple_CheckExact(steps) || PyTuple_GET_SIZE(steps) != 2) {
            PyErr_SetString(PyExc_TypeError, "expected times and amounts");
            return NULL;
        }
        PyObject *given[] = {host, PyTuple_GET_ITEM(steps, 0), PyTuple_GET_ITEM(steps, 1)};
        PyObject *done = steps_open(self, given, 3);
        if (!done) {
            return NULL;
        }
        Py_DECREF(done);
    }
    Py_RETURN_NONE;
}

#endif
