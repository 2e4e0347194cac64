/* The profile of profile.py in C, the same to the last bit: conservative backfilling asks it for each job that waits.

   What it is, is said there. The same blocks, and the same steps on them, are in blocks.h. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>

#include "../../native.h"
#include "blocks.h"

/* Arguments */

static int
as_time(PyObject *value, double *time)
{
    *time = PyFloat_AsDouble(value);
    return *time == -1.0 && PyErr_Occurred() ? -1 : 0;
}

static int
as_number(PyObject *value, long long *number)
{
    *number = PyLong_AsLongLong(value);
    return *number == -1 && PyErr_Occurred() ? -1 : 0;
}

static int
expect(const char *name, Py_ssize_t count, Py_ssize_t least, Py_ssize_t most)
{
    if (count < least || count > most) {
        PyErr_Format(PyExc_TypeError, "%s: expected %zd arguments, got %zd", name, most, count);
        return -1;
    }
    return 0;
}

/* Methods */

static int
append_pair(PyObject *list, PyObject *pair)
{
    int failed = !pair || PyList_Append(list, pair) < 0;
    Py_XDECREF(pair);
    return failed ? -1 : 0;
}

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

static int
change_by(Profile *self, double begin, double end, long long by)
{
    if (!(end > begin)) {
        return 0;
    }
    if (!(begin >= self->firsts[0])) {
        PyErr_SetString(PyExc_ValueError, "expected a time that is not before the first one");
        return -1;
    }
    if (cut(self, begin) < 0 || (end < INFINITY && cut(self, end) < 0)) {
        return -1;
    }
    Py_ssize_t first = before(self->firsts, self->count, begin, 1) - 1;
    Py_ssize_t last = before(self->firsts, self->count, end, 0) - 1;
    Block *one = self->blocks[first], *other = self->blocks[last];
    int start = (int)before(one->times, one->count, begin, 0);
    int stop = (int)before(other->times, other->count, end, 0);
    add(one, start, first == last ? stop : one->count, by);
    for (Py_ssize_t number = first + 1; number < last; number++) {
        Block *block = self->blocks[number];
        block->added += by;
        block->lowest += by;
        block->highest += by;
    }
    if (first != last) {
        add(other, 0, stop, by);
    }
    heal(self, begin);
    if (end < INFINITY) {
        heal(self, end);
    }
    return 0;
}

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

/* A number that a dictionary has for a job, as a double. */
static int
time_of(PyObject *times, PyObject *number, double *time)
{
    PyObject *value = PyDict_GetItemWithError(times, number);
    if (!value) {
        if (!PyErr_Occurred()) {
            PyErr_SetObject(PyExc_KeyError, number);
        }
        return -1;
    }
    return as_time(value, time);
}

/* A time, rounded to the resolution as State.rounded does. */
static double
rounded(double time, double resolution)
{
    if (!(resolution > 0) || !(fabs(time) < 9007199254740992.0 * resolution)) {
        return time;
    }
    double steps = nearbyint(time / resolution) + 0.0; /* which is not -0 */
    if (resolution >= 1) {
        return steps * resolution;
    }
    double whole = nearbyint(1 / resolution), difference = fabs(whole * resolution - 1.0);
    return steps / (difference <= 1e-9 * fmax(fabs(whole * resolution), 1.0) ? whole : 1 / resolution);
}

/* Set the times of a job that moves from one time to another one, and return whether that failed. */
static int
move(Profile *self, PyObject *number, long long size, double before, double start, double end,
     PyObject *const *arguments, PyObject *moved)
{
    PyObject *starts = arguments[1], *ends = arguments[2];
    double ended;
    if (time_of(ends, number, &ended) < 0 || change_by(self, before, ended, size) < 0 ||
        change_by(self, start, end, -size) < 0) {
        return -1;
    }
    PyObject *began = PyFloat_FromDouble(start), *ending = PyFloat_FromDouble(end);
    int failed = !began || !ending || PyDict_SetItem(starts, number, began) < 0 ||
                 PyDict_SetItem(ends, number, ending) < 0 || append_pair(moved, PyTuple_Pack(2, began, number)) < 0;
    Py_XDECREF(began);
    Py_XDECREF(ending);
    return failed ? -1 : 0;
}

/* The names of attributes of jobs. */
static PyObject *size_name, *expected_name, *number_name;

static int
attributes_of(PyObject *job, long long *size, double *expected)
{
    PyObject *hosts = PyObject_GetAttr(job, size_name), *seconds = PyObject_GetAttr(job, expected_name);
    int failed = !hosts || !seconds || as_number(hosts, size) < 0 || as_time(seconds, expected) < 0;
    Py_XDECREF(hosts);
    Py_XDECREF(seconds);
    return failed ? -1 : 0;
}

PyDoc_STRVAR(compress_doc, "compress($self, jobs, starts, ends, now, resolution, /)\n--\n\n"
                           "Move each reservation to the first time at which it fits now; the new starts, with the "
                           "numbers of the jobs.");

static PyObject *
compress(Profile *self, PyObject *const *arguments, Py_ssize_t count)
{
    double now, resolution;
    if (expect("compress", count, 5, 5) < 0 || as_time(arguments[3], &now) < 0 ||
        as_time(arguments[4], &resolution) < 0) {
        return NULL;
    }
    if (!PyDict_Check(arguments[1]) || !PyDict_Check(arguments[2])) {
        PyErr_SetString(PyExc_TypeError, "compress: expected dictionaries of starts and ends");
        return NULL;
    }
    PyObject *jobs = PyObject_GetIter(arguments[0]), *moved = jobs ? PyList_New(0) : NULL, *job;
    while (moved && (job = PyIter_Next(jobs))) {
        PyObject *number = PyObject_GetAttr(job, number_name);
        long long size;
        double expected, before, start;
        int failed = !number || time_of(arguments[1], number, &before) < 0;
        if (!failed && before > now) {
            failed = attributes_of(job, &size, &expected) < 0;
            start = failed ? before : earliest_of(self, size, expected - resolution / 2, before);
            failed = failed || (start < before && move(self, number, size, before, start,
                                                       rounded(start + expected, resolution), arguments, moved) < 0);
        }
        Py_XDECREF(number);
        Py_DECREF(job);
        if (failed) {
            break;
        }
    }
    Py_XDECREF(jobs);
    if (PyErr_Occurred()) {
        Py_CLEAR(moved);
    }
    return moved;
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

static PyMethodDef profile_methods[] = {
    {"advance", (PyCFunction)advance, METH_O, advance_doc},
    {"change", (PyCFunction)(void (*)(void))change, METH_FASTCALL, change_doc},
    {"earliest", (PyCFunction)(void (*)(void))earliest, METH_FASTCALL, earliest_doc},
    {"compress", (PyCFunction)(void (*)(void))compress, METH_FASTCALL, compress_doc},
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
    size_name = PyUnicode_InternFromString("size");
    expected_name = PyUnicode_InternFromString("expected");
    number_name = PyUnicode_InternFromString("number");
    if (!size_name || !expected_name || !number_name) {
        return -1;
    }
    return PyModule_AddType(module, &profile_type);
}

NATIVE_MODULE("batprotocol.policies", _profile, "native profiles", populate, NULL,
              "Profiles of free hosts. Private: use batprotocol.policies.")
