/* What Slurm's second loop reads of Python: sets of nodes as whole numbers, the ends of running jobs, and the jobs that
   wait. */

#ifndef BATPROTOCOL_SLURM_ROWS_H
#define BATPROTOCOL_SLURM_ROWS_H

#include <Python.h>

#include "parts.h"

/* Sets as whole numbers */

static PyObject *to_bytes_name, *from_bytes_name, *little;

static int
set_from(PyObject *value, Word *set, Py_ssize_t words)
{
    if (!PyLong_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "expected a set of nodes as a whole number");
        return -1;
    }
    PyObject *size = PyLong_FromSsize_t(8 * words);
    PyObject *bytes = size ? PyObject_CallMethodObjArgs(value, to_bytes_name, size, little, NULL) : NULL;
    Py_XDECREF(size);
    if (!bytes) {
        return -1;
    }
    const unsigned char *from = (const unsigned char *)PyBytes_AS_STRING(bytes);
    for (Py_ssize_t at = 0; at < words; at++, from += 8) {
        Word word = 0;
        for (int byte = 7; byte >= 0; byte--) {
            word = word << 8 | from[byte];
        }
        set[at] = word;
    }
    Py_DECREF(bytes);
    return 0;
}

static PyObject *
number_of(const Word *set, Py_ssize_t words)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, 8 * words);
    if (!bytes) {
        return NULL;
    }
    unsigned char *into = (unsigned char *)PyBytes_AS_STRING(bytes);
    for (Py_ssize_t at = 0; at < words; at++) {
        for (int byte = 0; byte < 8; byte++) {
            *into++ = (unsigned char)(set[at] >> 8 * byte);
        }
    }
    PyObject *number = PyObject_CallMethodObjArgs((PyObject *)&PyLong_Type, from_bytes_name, bytes, little, NULL);
    Py_DECREF(bytes);
    return number;
}

static Py_ssize_t
words_for(Py_ssize_t width)
{
    if (width < 1 || width > 1 << 24) {
        PyErr_SetString(PyExc_ValueError, "expected 1 to 2^24 nodes");
        return -1;
    }
    return (width + 63) / 64;
}

PyDoc_STRVAR(nothing_doc, "A copy is None, and is made anew.");

static PyObject *
reduce_to_none(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(nothing))
{
    return Py_BuildValue("O()", (PyObject *)Py_TYPE(Py_None));
}

static PyMethodDef nothing_methods[] = {
    {"__reduce__", (PyCFunction)reduce_to_none, METH_NOARGS, nothing_doc},
    {NULL, NULL, 0, NULL},
};

/* The nodes that running jobs leave */

static PyTypeObject releases_type;

static int
fill_releases(Releases *self, PyObject *jobs, PyObject *free)
{
    self->ends = PyMem_Malloc((size_t)(self->count + 1) * sizeof *self->ends);
    self->free = PyMem_Malloc((size_t)(self->count + 1) * size_of(self->words));
    if (!self->ends || !self->free) {
        PyErr_NoMemory();
        return -1;
    }
    if (set_from(free, self->free, self->words) < 0) {
        return -1;
    }
    for (Py_ssize_t place = 0; place < self->count; place++) {
        double end;
        PyObject *number, *nodes;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(jobs, place), "dOO", &end, &number, &nodes)) {
            return -1;
        }
        if (!(fabs(end) < 1e15) || (place && end < self->ends[place - 1])) {
            PyErr_SetString(PyExc_ValueError, "expected jobs in the order of their ends, which are times");
            return -1;
        }
        Word *before = self->free + place * self->words, *after = before + self->words;
        if (set_from(nodes, after, self->words) < 0) {
            return -1;
        }
        for (Py_ssize_t at = 0; at < self->words; at++) {
            after[at] |= before[at];
        }
        self->ends[place] = end;
    }
    return 0;
}

static PyObject *
new_releases(PyTypeObject *type, PyObject *arguments, PyObject *Py_UNUSED(names))
{
    Py_ssize_t width;
    PyObject *jobs, *free;
    if (!PyArg_ParseTuple(arguments, "nO!O:Releases", &width, &PyList_Type, &jobs, &free)) {
        return NULL;
    }
    Py_ssize_t words = words_for(width);
    Releases *self = words < 0 ? NULL : (Releases *)type->tp_alloc(type, 0);
    if (self) {
        self->words = words;
        self->count = PyList_GET_SIZE(jobs);
        if (fill_releases(self, jobs, free) < 0) {
            Py_CLEAR(self);
        }
    }
    return (PyObject *)self;
}

static void
free_releases(Releases *self)
{
    PyMem_Free(self->ends);
    PyMem_Free(self->free);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyTypeObject releases_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "batprotocol.policies._plan.Releases",
    .tp_doc = "When running jobs end, and the nodes that are free then.",
    .tp_basicsize = sizeof(Releases),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = new_releases,
    .tp_dealloc = (destructor)free_releases,
    .tp_methods = nothing_methods,
};

/* Jobs: what `run` has to know of an entry, as long as what it was made of is the same */

static const char *const job_names[] = {
    "allowed", "limit", "time_min", "min_nodes", "max_nodes", "takes_least", "required", "tasks",
    "cpus_per_task", "is_contiguous", "reservation", "leaves", "licenses", "array", "stage", "waits_for_room",
    "planned", "planned_nodes",
};
enum { KEYS = 14, STAGE = 14, WAITS_FOR_ROOM, PLANNED, PLANNED_NODES, JOB_FIELDS };

static PyTypeObject *entry_type, *job_type;
static Py_ssize_t job_offsets[JOB_FIELDS], job_offset, partition_offset, row_offset;
static PyObject *pending, *zero;
static PyObject *row_name, *admits_name, *is_not_reserved_name, *choose_name, *plans_name, *rejects_name, *may_start_name;

enum { PLAIN = 1, ASKS = 2, CHOOSES = 4 };

typedef struct {
    PyObject_HEAD
    PyObject *keys[KEYS], *partition;
    long flags;
    int64_t least, count, length; /* nodes, those with what the partition wants, and seconds */
    Py_ssize_t words;
    Word *nodes;
    /* What the last search for its plan has found, and what that stands on: `KeptLook` of reservations.py */
    long long footing; /* 0: nothing is kept */
    int64_t serial, start, first, end;
    double until, same;
    int has_moved, has_plan;
    Word *chosen; /* behind the nodes */
} Row;

static void
free_row(Row *self)
{
    for (int key = 0; key < KEYS; key++) {
        Py_XDECREF(self->keys[key]);
    }
    Py_XDECREF(self->partition);
    PyMem_Free(self->nodes);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyTypeObject row_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "batprotocol.policies._plan.Row",
    .tp_doc = "An entry of the queue as the loop has it.",
    .tp_basicsize = sizeof(Row),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = (destructor)free_row,
    .tp_methods = nothing_methods,
};

static inline PyObject **
field(PyObject *object, Py_ssize_t offset)
{
    return (PyObject **)((char *)object + offset);
}

static inline PyObject *
job_field(PyObject *job, int which)
{
    return *field(job, job_offsets[which]);
}

static void
set_field(PyObject *job, int which, PyObject *value)
{
    PyObject **place = field(job, job_offsets[which]), *before = *place;
    Py_INCREF(value);
    *place = value;
    Py_XDECREF(before);
}

static Row *
new_row(PyObject *owner, PyObject *job, PyObject *partition, Py_ssize_t words)
{
    PyObject *nodes, *found = PyObject_CallMethodObjArgs(owner, row_name, job, partition, NULL);
    long long least, count, length;
    long flags;
    Row *row = NULL;
    if (found && PyArg_ParseTuple(found, "OLLLl", &nodes, &least, &count, &length, &flags)) {
        row = PyObject_New(Row, &row_type);
    }
    if (row) {
        for (int key = 0; key < KEYS; key++) {
            row->keys[key] = job_field(job, key);
            Py_XINCREF(row->keys[key]);
        }
        Py_INCREF(partition);
        row->partition = partition;
        row->flags = flags;
        row->least = least;
        row->count = count;
        row->length = length;
        row->words = words;
        row->footing = 0;
        row->nodes = PyMem_Malloc(2 * size_of(words));
        row->chosen = row->nodes + words;
        if (!row->nodes) {
            PyErr_NoMemory();
        }
        if (!row->nodes || set_from(nodes, row->nodes, words) < 0) {
            Py_CLEAR(row);
        }
    }
    Py_XDECREF(found);
    return row;
}

/* The job of a ranked entry of the queue; NULL with an exception if it is something else. */
static PyObject *
entry_at(PyObject *entries, Py_ssize_t place, PyObject **entry)
{
    PyObject *ranked = place < PyList_GET_SIZE(entries) ? PyList_GET_ITEM(entries, place) : NULL;
    if (ranked && PyTuple_Check(ranked) && PyTuple_GET_SIZE(ranked) == 3) {
        *entry = PyTuple_GET_ITEM(ranked, 2);
        if (PyObject_TypeCheck(*entry, entry_type)) {
            PyObject *job = *field(*entry, job_offset);
            if (job && PyObject_TypeCheck(job, job_type) && *field(*entry, partition_offset)) {
                return job;
            }
        }
    }
    PyErr_SetString(PyExc_TypeError, "expected the entries of a queue of Slurm");
    return NULL;
}

/* The row of an entry, which has it from then on; borrowed. */
static Row *
row_of(PyObject *owner, PyObject *entry, PyObject *job, Py_ssize_t words)
{
    PyObject *partition = *field(entry, partition_offset), **place = field(entry, row_offset);
    if (*place && Py_TYPE(*place) == &row_type) {
        Row *row = (Row *)*place;
        int is_same = row->partition == partition && row->words == words;
        for (int key = 0; is_same && key < KEYS; key++) {
            is_same = row->keys[key] == job_field(job, key);
        }
        if (is_same) {
            return row;
        }
    }
    Row *row = new_row(owner, job, partition, words);
    if (row) {
        PyObject *before = *place;
        *place = (PyObject *)row;
        Py_XDECREF(before);
    }
    return row;
}

#endif
