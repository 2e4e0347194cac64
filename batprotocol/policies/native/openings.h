/* When enough hosts have room for a job, and what they draw then: questions about the steps in futures.h and steps.h.
   The answers are those of the same functions in Python. */

#ifndef BATPROTOCOL_PROFILE_OPENINGS_H
#define BATPROTOCOL_PROFILE_OPENINGS_H

#include "futures.h"

/* When enough hosts have room */

typedef struct {
    double begin, last; /* the first and the last time to start */
    PyObject *host;     /* which whoever asks keeps */
    long long number;
} Opening;

typedef struct {
    Opening *all;
    Py_ssize_t count, room;
} Openings;

static int
add_opening(Openings *openings, double begin, double last, PyObject *host, long long number)
{
    if (openings->count == openings->room) {
        Py_ssize_t room = openings->room ? 2 * openings->room : 64;
        Opening *all = PyMem_Realloc(openings->all, (size_t)room * sizeof *all);
        if (!all) {
            PyErr_NoMemory();
            return -1;
        }
        openings->all = all;
        openings->room = room;
    }
    openings->all[openings->count++] = (Opening){begin, last, host, number};
    return 0;
}

/* When the amount that a job takes counts as free where it is taken. */
typedef struct {
    PyObject *hosts; /* NULL: nowhere */
    double begin, end;
} Without;

/* Add the intervals in which a job can start on a host, as `_windows` of site/futures.py does. An amount that counts as
   free where it is taken suffices there if nothing is short. */
static int
add_openings(Openings *openings, const Future *future, Py_ssize_t dimensions, const Wanted *wanted, double seconds,
             double after, double before, const Without *without)
{
    double begin = -1.0;
    Py_ssize_t place = future_at(future, after);
    double time = future->times[place], next;
    for (; time < INFINITY; time = next) {
        double step = time_after(future, place);
        int is_within = without && time >= without->begin && time < without->end;
        next = step;
        if (without && time < without->end) { /* only a part of a step can be within */
            double bound = is_within ? without->end : without->begin;
            next = bound < step ? bound : step;
        }
        if (begin < 0 && time > before) {
            return 0;
        }
        const long long *free = future->free + place * dimensions;
        if (is_within ? !is_short(free, dimensions) : suffices(wanted, free, dimensions)) {
            if (begin < 0) {
                begin = time > after ? time : after;
            }
            else if (time - seconds > before) { /* however long it lasts */
                break;
            }
        }
        else if (begin >= 0) {
            if (time - begin >= seconds &&
                add_opening(openings, begin, time - seconds, future->host, future->number) < 0) {
                return -1;
            }
            begin = -1.0;
        }
        place += next == step;
    }
    return begin >= 0 ? add_opening(openings, begin, INFINITY, future->host, future->number) : 0;
}

/* The first time from which on an amount is free on a host for long enough; infinity: none is known, as no time behind
   `before` is looked for. */
static double
first_window(const Future *future, Py_ssize_t dimensions, const Wanted *wanted, double seconds, double after, double before)
{
    double begin = -1.0;
    for (Py_ssize_t place = future_at(future, after); place < future->count; place++) {
        double time = future->times[place];
        if (begin < 0 && time > before) {
            return INFINITY;
        }
        if (suffices(wanted, future->free + place * dimensions, dimensions)) {
            begin = begin >= 0 ? begin : time > after ? time : after;
        }
        else if (begin >= 0) {
            if (time - begin >= seconds) {
                return begin;
            }
            begin = -1.0;
        }
    }
    return begin >= 0 ? begin : INFINITY;
}

PyDoc_STRVAR(steps_first_window_doc,
             "first_window(host, amount, seconds, after, before, /)\n--\n\n"
             "The first time from which on an amount is free on a host for long enough; infinity: none is known.");

static PyObject *
steps_first_window(HostSteps *self, PyObject *const *arguments, Py_ssize_t count)
{
    double seconds, after, before;
    Wanted wanted;
    if (expect("first_window", count, 5, 5) < 0 || wanted_of(arguments[1], &wanted) < 0 ||
        as_time(arguments[2], &seconds) < 0 || as_time(arguments[3], &after) < 0 ||
        as_time(arguments[4], &before) < 0) {
        return NULL;
    }
    const Future *future = future_of(self, arguments[0]);
    if (!future) {
        return NULL;
    }
    return PyFloat_FromDouble(first_window(future, self->dimensions, &wanted, seconds, after, before));
}

static int
by_begin(const void *one, const void *other)
{
    const Opening *a = one, *b = other;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static int
by_number(const void *one, const void *other)
{
    const Opening *a = one, *b = other;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int
by_time(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return a < b ? -1 : a > b;
}

/* The times of `also` after one time, and not after another one, sorted: their count, or -1 with an exception. */
static Py_ssize_t
other_times(PyObject *also, double after, double before, double **times)
{
    PyObject *all = PySequence_Fast(also, "expected times");
    Py_ssize_t count = 0;
    *times = all ? PyMem_Malloc(((size_t)PySequence_Fast_GET_SIZE(all) + 1) * sizeof **times) : NULL;
    if (!*times) {
        Py_XDECREF(all);
        if (all) {
            PyErr_NoMemory();
        }
        return -1;
    }
    for (Py_ssize_t place = 0; place < PySequence_Fast_GET_SIZE(all); place++) {
        double time;
        if (as_time(PySequence_Fast_GET_ITEM(all, place), &time) < 0) {
            count = -1;
            break;
        }
        if (after < time && time <= before) {
            (*times)[count++] = time;
        }
    }
    Py_DECREF(all);
    if (count > 0) {
        qsort(*times, (size_t)count, sizeof **times, by_time);
    }
    return count;
}

/* The numbers of hosts that are open, in order: a new list. It sorts the openings. */
static PyObject *
hosts_of(Opening *open, Py_ssize_t count)
{
    int is_sorted = 1;
    for (Py_ssize_t place = 1; is_sorted && place < count; place++) {
        is_sorted = open[place - 1].number <= open[place].number;
    }
    if (!is_sorted) {
        qsort(open, (size_t)count, sizeof *open, by_number);
    }
    PyObject *hosts = PyList_New(count);
    for (Py_ssize_t place = 0; hosts && place < count; place++) {
        Py_INCREF(open[place].host);
        PyList_SET_ITEM(hosts, place, open[place].host);
    }
    return hosts;
}

/* Whether what somebody asks is answered with yes, or without an objection; -1 with an exception. */
static int
allows(PyObject *may, double time)
{
    if (may == Py_None) {
        return 1;
    }
    PyObject *answer = PyObject_CallFunction(may, "d", time);
    int is_true = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return is_true;
}

static int
chooses(PyObject *choose, PyObject *hosts, double time)
{
    if (choose == Py_None) {
        return 1;
    }
    PyObject *answer = PyObject_CallFunction(choose, "Od", hosts, time);
    int is_some = answer ? answer != Py_None : -1;
    Py_XDECREF(answer);
    return is_some;
}

/* The first time at which enough are open and will do. `open` has room for all. */
static PyObject *
sweep(const Openings *openings, Opening *open, Py_ssize_t wanted, const double *others, Py_ssize_t count,
      PyObject *choose, PyObject *may)
{
    Py_ssize_t place = 0, next = 0, opened = 0;
    while (place < openings->count || next < count) {
        double time = place < openings->count ? openings->all[place].begin : INFINITY;
        while (next < count && others[next] <= time) {
            time = others[next++];
        }
        while (place < openings->count && openings->all[place].begin == time) {
            open[opened++] = openings->all[place++];
        }
        if (opened < wanted) {
            continue; /* also those whose time is over are not enough */
        }
        Py_ssize_t kept = 0;
        for (Py_ssize_t each = 0; each < opened; each++) {
            if (open[each].last >= time) {
                open[kept++] = open[each];
            }
        }
        opened = kept;
        int found = opened >= wanted ? allows(may, time) : 0;
        if (found > 0) {
            PyObject *hosts = hosts_of(open, opened);
            found = hosts ? chooses(choose, hosts, time) : -1;
            if (found > 0) {
                return Py_BuildValue("(dN)", time, hosts);
            }
            Py_XDECREF(hosts);
        }
        if (found < 0) {
            return NULL;
        }
    }
    return Py_BuildValue("(d[])", INFINITY);
}

PyDoc_STRVAR(steps_first_time_doc,
             "first_time(hosts, count, amount, seconds, after, choose, before, also, may, without=None, /)\n--\n\n"
             "The first time from which on enough hosts have enough free for long enough.");

static PyObject *
steps_first_time(HostSteps *self, PyObject *const *arguments, Py_ssize_t count)
{
    double seconds, after, before;
    long long wanted;
    Wanted amount;
    Without without = {0};
    if (expect("first_time", count, 9, 10) < 0 || as_number(arguments[1], &wanted) < 0 ||
        wanted_of(arguments[2], &amount) < 0 || as_time(arguments[3], &seconds) < 0 ||
        as_time(arguments[4], &after) < 0 || as_time(arguments[6], &before) < 0 ||
        (count > 9 && arguments[9] != Py_None &&
         !PyArg_ParseTuple(arguments[9], "Odd", &without.hosts, &without.begin, &without.end))) {
        return NULL;
    }
    double *others = NULL;
    Py_ssize_t more = other_times(arguments[7], after, before, &others);
    Openings openings = {0};
    PyObject *hosts = more < 0 ? NULL : PySequence_Tuple(arguments[0]), *found = NULL;
    for (Py_ssize_t place = 0; hosts && place < PyTuple_GET_SIZE(hosts); place++) {
        PyObject *host = PyTuple_GET_ITEM(hosts, place);
        int is_taken = without.hosts ? PySequence_Contains(without.hosts, host) : 0;
        const Future *future = is_taken < 0 ? NULL : future_of(self, host);
        if (!future || add_openings(&openings, future, self->dimensions, &amount, seconds, after, before,
                                    is_taken ? &without : NULL) < 0) {
            break;
        }
    }
    if (!PyErr_Occurred()) {
        if (openings.count) {
            qsort(openings.all, (size_t)openings.count, sizeof *openings.all, by_begin);
        }
        Opening *open = PyMem_Malloc(((size_t)openings.count + 1) * sizeof *open);
        found = open ? sweep(&openings, open, (Py_ssize_t)wanted, others, more, arguments[5], arguments[8])
                     : PyErr_NoMemory();
        PyMem_Free(open);
    }
    PyMem_Free(openings.all);
    PyMem_Free(others);
    Py_XDECREF(hosts);
    return found;
}

/* When too much is drawn */

PyDoc_STRVAR(closed_times_doc,
             "closed_times(steps, most, after, before, seconds, /)\n--\n\n"
             "Between which times nothing can begin for some seconds, as a value exceeds another one then.");

static PyObject *
closed_times(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    long long most;
    double after, before, seconds;
    Lists steps;
    if (expect("closed_times", count, 5, 5) < 0 || as_number(arguments[1], &most) < 0 ||
        as_time(arguments[2], &after) < 0 || as_time(arguments[3], &before) < 0 ||
        as_time(arguments[4], &seconds) < 0 || lists_of_steps(arguments[0], &steps) < 0) {
        return NULL;
    }
    PyObject *found = PyList_New(0);
    Py_ssize_t number = PyList_GET_SIZE(steps.times), place = place_of(steps.times, after);
    double begin = after, since = 0, until = 0;
    int is_open = 1, failed = !found;
    for (; !failed && begin < before; place++) {
        double next = place + 1 < number ? time_at(steps.times, place + 1) : INFINITY;
        long long taken;
        failed = as_number(PyList_GET_ITEM(steps.values, place), &taken) < 0;
        if (!failed && taken > most) {
            if (is_open || !(begin - seconds < until)) {
                failed = !is_open && append_pair(found, Py_BuildValue("(dd)", since, until)) < 0;
                since = begin - seconds;
                is_open = 0;
            }
            until = next < before ? next : before;
        }
        begin = next;
    }
    failed = failed || (!is_open && append_pair(found, Py_BuildValue("(dd)", since, until)) < 0);
    forget_lists(&steps);
    if (failed) {
        Py_CLEAR(found);
    }
    return found;
}

/* What hosts draw more with one more job */

enum { DIGIT = 1 << 20 };

/* What a host draws with some jobs: `draws` is asked if they are not all of the usual pace. -1 with an exception. */
static int
drawn_by(PyObject *draws, PyObject *host, long long increment, long long jobs, long long *drawn)
{
    if (!jobs) {
        *drawn = 0;
        return 0;
    }
    if (jobs < DIGIT) {
        *drawn = increment;
        return 0;
    }
    PyObject *found = PyObject_CallFunction(draws, "OL", host, jobs);
    int failed = !found || as_number(found, drawn) < 0;
    Py_XDECREF(found);
    return failed ? -1 : 0;
}

/* Add to a number that a dictionary has for an interval. */
static int
add_piece(PyObject *found, double since, double until, long long amount)
{
    PyObject *key = Py_BuildValue("(dd)", since, until), *known = key ? PyDict_GetItemWithError(found, key) : NULL;
    PyObject *more = key && !PyErr_Occurred() ? PyLong_FromLongLong(amount) : NULL;
    PyObject *sum = more && known ? PyNumber_Add(known, more) : more;
    int failed = !sum || PyDict_SetItem(found, key, sum) < 0;
    if (sum != more) {
        Py_XDECREF(sum);
    }
    Py_XDECREF(more);
    Py_XDECREF(key);
    return failed ? -1 : 0;
}

/* A piece that is not in the dictionary yet: hosts often have the same one. */
typedef struct {
    PyObject *found;
    double since, until;
    long long amount;
    int count;
} Pieces;

static int
flush_piece(Pieces *pieces)
{
    int failed = pieces->count && add_piece(pieces->found, pieces->since, pieces->until, pieces->amount) < 0;
    pieces->count = 0;
    pieces->amount = 0;
    return failed ? -1 : 0;
}

static int
note_piece(Pieces *pieces, double since, double until, long long amount)
{
    if (pieces->count && (pieces->since != since || pieces->until != until || pieces->count >= 1 << 16) &&
        flush_piece(pieces) < 0) {
        return -1;
    }
    pieces->since = since;
    pieces->until = until;
    pieces->amount += amount;
    pieces->count++;
    return 0;
}

/* The pieces of a host: as `Budget._pieces` has them. */
static int
pieces_of_host(Pieces *pieces, PyObject *host, const Lists *known, long long increment, double begin, double end,
               long long by, PyObject *draws)
{
    double since = begin, until = begin, first = begin;
    long long before = 0;
    Py_ssize_t place = known ? place_of(known->times, begin) : 0;
    while (first < end) {
        double after = INFINITY;
        long long jobs = 0, with, without;
        if (known) {
            if (as_number(PyList_GET_ITEM(known->values, place), &jobs) < 0) {
                return -1;
            }
            after = place + 1 < PyList_GET_SIZE(known->times) ? time_at(known->times, place + 1) : INFINITY;
        }
        if (drawn_by(draws, host, increment, jobs + by, &with) < 0 ||
            drawn_by(draws, host, increment, jobs, &without) < 0) {
            return -1;
        }
        if (with - without != before) {
            if (before && note_piece(pieces, since, until, before) < 0) {
                return -1;
            }
            since = first;
            before = with - without;
        }
        until = after < end ? after : end;
        first = after;
        place++;
    }
    return before ? note_piece(pieces, since, until, before) : 0;
}

PyDoc_STRVAR(pieces_doc, "pieces(jobs, hosts, begin, end, by, increments, draws, /)\n--\n\n"
                         "What hosts draw more with jobs more, by intervals in which that is the same.");

static PyObject *
pieces(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    double begin, end;
    long long by;
    if (expect("pieces", count, 7, 7) < 0 || as_time(arguments[2], &begin) < 0 || as_time(arguments[3], &end) < 0 ||
        as_number(arguments[4], &by) < 0) {
        return NULL;
    }
    Pieces pieces = {.found = PyDict_New()};
    PyObject *hosts = PySequence_Fast(arguments[1], "expected hosts");
    for (Py_ssize_t at = 0; pieces.found && hosts && begin < end && at < PySequence_Fast_GET_SIZE(hosts); at++) {
        PyObject *host = PySequence_Fast_GET_ITEM(hosts, at);
        PyObject *increment = PyObject_GetItem(arguments[5], host);
        PyObject *known = increment ? PyDict_GetItemWithError(arguments[0], host) : NULL;
        long long draws;
        Lists steps = {0};
        int failed = PyErr_Occurred() || as_number(increment, &draws) < 0 ||
                     (known && lists_of_steps(known, &steps) < 0) ||
                     pieces_of_host(&pieces, host, known ? &steps : NULL, draws, begin, end, by, arguments[6]) < 0;
        forget_lists(&steps);
        Py_XDECREF(increment);
        if (failed) {
            break;
        }
    }
    Py_XDECREF(hosts);
    if (PyErr_Occurred() || flush_piece(&pieces) < 0) {
        Py_CLEAR(pieces.found);
    }
    return pieces.found;
}

static PyMethodDef host_steps_methods[] = {
    {"change", FAST(steps_change), steps_change_doc},
    {"close", (PyCFunction)steps_close, METH_O, steps_close_doc},
    {"first_time", FAST(steps_first_time), steps_first_time_doc},
    {"first_window", FAST(steps_first_window), steps_first_window_doc},
    {"fits_before", FAST(steps_fits_before), steps_fits_before_doc},
    {"following", FAST(steps_following), steps_following_doc},
    {"leasts", FAST(steps_leasts), steps_leasts_doc},
    {"open", FAST(steps_open), steps_open_doc},
    {"until", FAST(steps_until), steps_until_doc},
    {"__reduce__", (PyCFunction)steps_reduce, METH_NOARGS, "What copies and pickles are made of."},
    {"__setstate__", (PyCFunction)steps_set_state, METH_O, "What a copy has."},
    {NULL, NULL, 0, NULL},
};

static PySequenceMethods host_steps_sequence = {.sq_length = (lenfunc)steps_length};

static PyTypeObject host_steps_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "batprotocol.policies._profile.HostSteps",
    .tp_doc = "The amounts that will be free on each host.",
    .tp_basicsize = sizeof(HostSteps),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = new_host_steps,
    .tp_dealloc = (destructor)dealloc_host_steps,
    .tp_iter = (getiterfunc)steps_iterate,
    .tp_as_sequence = &host_steps_sequence,
    .tp_methods = host_steps_methods,
};

#endif
