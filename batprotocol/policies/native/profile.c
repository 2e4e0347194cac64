/* The profile of availability.py, and the reservations of backfilling.py in it, in C, the same to the last bit.

   What they are, is said there. The blocks and the steps on them are in blocks.h, the reservations in reserved.h, and
   the futures of single hosts in futures.h, steps.h and openings.h. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>

#include "../../native.h"
#include "blocks.h"
#include "openings.h"
#include "reserved.h"
#include "open_hosts.h"
#include "steps.h"
#include "walk.h"

/* Methods */

static int
append(Profile *self, double time, long long free)
{
    Block *block = self->count ? self->blocks[self->count - 1] : NULL;
    if (!block || block->count == LARGEST / 2) {
        block = insert_block(self, self->count);
        if (!block) {
            return -1;
        }
        self->firsts[self->count - 1] = time;
    }
    block->times[block->count] = time;
    block->free[block->count++] = free;
    return 0;
}

static int
fill(Profile *self, double now, long long free, PyObject *endings)
{
    if (append(self, now, free) < 0) {
        return -1;
    }
    PyObject *each, *all = endings ? PyObject_GetIter(endings) : NULL;
    if (endings && !all) {
        return -1;
    }
    double last = now;
    while (all && (each = PyIter_Next(all))) {
        double end;
        long long size;
        PyObject *pair = PySequence_Tuple(each);
        Py_DECREF(each);
        int failed = !pair || !PyArg_ParseTuple(pair, "dL", &end, &size);
        Py_XDECREF(pair);
        if (failed) {
            break;
        }
        free += size;
        if (end <= last) {
            Block *block = self->blocks[self->count - 1];
            block->free[block->count - 1] = free;
        }
        else if (end < INFINITY) {
            if (append(self, end, free) < 0) {
                break;
            }
            last = end;
        }
    }
    Py_XDECREF(all);
    for (Py_ssize_t number = 0; number < self->count; number++) {
        look_over(self->blocks[number]);
    }
    for (Py_ssize_t number = 0; number < self->count; number++) {
        loosen_around(self, number);
    }
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *
new_profile(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
    double now;
    long long free;
    PyObject *endings = NULL;
    char *known[] = {"now", "free", "endings", NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "dL|O:Profile", known, &now, &free, &endings)) {
        return NULL;
    }
    Profile *self = (Profile *)type->tp_alloc(type, 0);
    if (self && fill(self, now, free, endings) < 0) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void
dealloc(Profile *self)
{
    for (Py_ssize_t place = 0; place < self->count; place++) {
        PyMem_Free(self->blocks[place]);
    }
    PyMem_Free(self->blocks);
    PyMem_Free(self->firsts);
    PyMem_Free(self->bounds);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

PyDoc_STRVAR(advance_doc, "advance($self, now, /)\n--\n\nForget what was before a time.");

static PyObject *
advance(Profile *self, PyObject *value)
{
    double now;
    if (as_time(value, &now) < 0) {
        return NULL;
    }
    Py_ssize_t place = before(self->firsts, self->count, now, 1) - 1;
    if (place > 0) {
        delete_blocks(self, 0, place);
    }
    Block *block = self->blocks[0];
    int at = (int)before(block->times, block->count, now, 1) - 1;
    if (at > 0) {
        block->count -= at;
        memmove(block->times, block->times + at, (size_t)block->count * sizeof *block->times);
        memmove(block->free, block->free + at, (size_t)block->count * sizeof *block->free);
        look_over(block);
    }
    if (block->times[0] < now) {
        block->times[0] = now;
    }
    self->firsts[0] = block->times[0];
    Py_RETURN_NONE;
}

PyDoc_STRVAR(change_doc, "change($self, begin, end, by, /)\n--\n\n"
                         "So many more hosts are free from one time, which is not before the first, to another one.");

static PyObject *
change(Profile *self, PyObject *const *arguments, Py_ssize_t count)
{
    double begin, end;
    long long by;
    if (expect("change", count, 3, 3) < 0 || as_time(arguments[0], &begin) < 0 || as_time(arguments[1], &end) < 0 ||
        as_number(arguments[2], &by) < 0 || change_by(self, begin, end, by) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(earliest_doc, "earliest($self, size, seconds, before=math.inf, /)\n--\n\n"
                           "The first time from which on so many hosts are free for so long, or until `before`; else "
                           "infinity.");

static PyObject *
earliest(Profile *self, PyObject *const *arguments, Py_ssize_t count)
{
    long long size;
    double seconds, limit = INFINITY;
    if (expect("earliest", count, 2, 3) < 0 || as_number(arguments[0], &size) < 0 ||
        as_time(arguments[1], &seconds) < 0 || (count > 2 && as_time(arguments[2], &limit) < 0)) {
        return NULL;
    }
    return PyFloat_FromDouble(earliest_of(self, size, seconds, limit));
}

PyDoc_STRVAR(gaps_doc, "gaps($self, most, /)\n--\n\n"
                       "For how long hosts are free from the first time on: so many hosts for so many seconds, few for "
                       "long first.");

static PyObject *
gaps(Profile *self, PyObject *value)
{
    long long left;
    PyObject *steps = as_number(value, &left) < 0 ? NULL : PyList_New(0);
    double now = self->firsts[0];
    for (Py_ssize_t number = 0; steps && number < self->count && left > 0; number++) {
        const Block *block = self->blocks[number];
        for (int at = 0; block->lowest < left && at < block->count && left > 0; at++) {
            long long free = block->free[at] + block->added;
            if (free >= left) {
                continue;
            }
            double length = block->times[at] - now;
            if (length > 0 && append_pair(steps, Py_BuildValue("(Ld)", left, length)) < 0) {
                Py_CLEAR(steps);
                break;
            }
            left = free;
        }
    }
    if (steps && ((left > 0 && append_pair(steps, Py_BuildValue("(Ld)", left, INFINITY)) < 0) ||
                  PyList_Reverse(steps) < 0)) {
        Py_CLEAR(steps);
    }
    return steps;
}

/* Since when so many hosts are free, or how many more than before, as a list of pairs. */
static PyObject *
pairs(Profile *self, int differences)
{
    PyObject *list = PyList_New(0);
    long long last = 0;
    for (Py_ssize_t number = 0; list && number < self->count; number++) {
        const Block *block = self->blocks[number];
        for (int at = 0; list && at < block->count; at++) {
            long long free = block->free[at] + block->added;
            long long shown = differences ? free - last : free;
            last = free;
            if (append_pair(list, Py_BuildValue("(dL)", block->times[at], shown)) < 0) {
                Py_CLEAR(list);
            }
        }
    }
    return list;
}

static PyObject *
iterate(Profile *self)
{
    PyObject *list = pairs(self, 0);
    PyObject *iterator = list ? PyObject_GetIter(list) : NULL;
    Py_XDECREF(list);
    return iterator;
}

static PyObject *
reduce(Profile *self, PyObject *Py_UNUSED(nothing))
{
    PyObject *list = pairs(self, 1);
    if (!list) {
        return NULL;
    }
    PyObject *first = PyList_GET_ITEM(list, 0), *rest = PyList_GetSlice(list, 1, PyList_GET_SIZE(list));
    PyObject *made = rest ? Py_BuildValue("O(OON)", Py_TYPE(self), PyTuple_GET_ITEM(first, 0),
                                          PyTuple_GET_ITEM(first, 1), rest)
                          : NULL;
    Py_DECREF(list);
    return made;
}

/* The module */

static PyMethodDef profile_functions[] = {
    {"change_jobs", FAST(change_jobs), change_jobs_doc},
    {"change_steps", FAST(change_steps), change_steps_doc},
    {"closed_times", FAST(closed_times), closed_times_doc},
    {"keep", FAST(keep), keep_doc},
    {"move_amount", FAST(move_amount), move_amount_doc},
    {"pieces", FAST(pieces), pieces_doc},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef profile_methods[] = {
    {"advance", (PyCFunction)advance, METH_O, advance_doc},
    {"change", FAST(change), change_doc},
    {"earliest", FAST(earliest), earliest_doc},
    {"gaps", (PyCFunction)gaps, METH_O, gaps_doc},
    {"__reduce__", (PyCFunction)reduce, METH_NOARGS, "What copies and pickles are made of."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject profile_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "batprotocol.policies._profile.Profile",
    .tp_doc = "How many hosts are free from when on.",
    .tp_basicsize = sizeof(Profile),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = new_profile,
    .tp_dealloc = (destructor)dealloc,
    .tp_iter = (getiterfunc)iterate,
    .tp_methods = profile_methods,
};

static int
populate(PyObject *module)
{
    number_name = PyUnicode_InternFromString("number");
    times_name = PyUnicode_InternFromString("times");
    values_name = PyUnicode_InternFromString("values");
    reserved_type.tp_new = new_reserved;
    profile_of_reserved = &profile_type;
    if (!number_name || !times_name || !values_name || PyModule_AddType(module, &profile_type) < 0) {
        return -1;
    }
    if (PyModule_AddType(module, &reserved_type) < 0 || PyModule_AddType(module, &host_steps_type) < 0) {
        return -1;
    }
    return PyModule_AddType(module, &open_type);
}

NATIVE_MODULE("batprotocol.policies", _profile, "native profiles", populate, profile_functions,
              "Profiles of free hosts. Private: use batprotocol.policies.")
