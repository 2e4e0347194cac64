/* Taking and giving back in C: a scheduler does both for each job, and Python's own calls cost more than what is done.

   The state is that of `Pool` in hosts.py, and the methods of PythonHosts work on it: whatever is unusual here, they do,
   and so they tell what is wrong. Usual is to take a few intervals, or what was taken before, and to give it back. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "../../native.h"
#include "intervals.h"

#include <string.h>

enum { MOST_INTERVALS = 32 };

typedef struct {
    PyObject_HEAD
    PyObject *free;  /* a bytearray: a byte for each host, 1 if it is free, and one more */
    PyObject *known; /* another, 1 if the host is known */
    Py_ssize_t room, size, first, row, row_from;
    char has_gaps;
} Pool;

static PyObject *frozen_class; /* FrozenHosts */
static PyObject *seen;         /* those that were read or written lately, by their intervals */
static PyObject *python_take, *python_take_contiguous, *python_take_these, *python_give_back;
static PyObject *intervals_name;

static int
is_sound(Pool *self)
{
    return frozen_class && self->free && PyByteArray_CheckExact(self->free) && self->first >= 0;
}

/* The method in Python, with what this one was called with. */
static PyObject *
in_python(PyObject *method, Pool *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (!method) {
        PyErr_SetString(PyExc_RuntimeError, "there are no pools before bind");
        return NULL;
    }
    Py_ssize_t all = count + (names ? PyTuple_GET_SIZE(names) : 0);
    PyObject *room[4], **stack = all < 4 ? room : PyMem_New(PyObject *, all + 1);
    if (!stack) {
        return PyErr_NoMemory();
    }
    stack[0] = (PyObject *)self;
    if (all) {
        memcpy(stack + 1, arguments, (size_t)all * sizeof *arguments);
    }
    PyObject *found = PyObject_Vectorcall(method, stack, (size_t)count + 1, names);
    if (stack != room) {
        PyMem_Free(stack);
    }
    return found;
}

/* Taking */

/* Where the first `missing` hosts are that are free: how many intervals, or -1 if there are too many of them. */
static int
look_up(Pool *self, Py_ssize_t missing, Interval *found)
{
    const char *free = PyByteArray_AS_STRING(self->free);
    Py_ssize_t size = PyByteArray_GET_SIZE(self->free), end = self->first;
    int count = 0;
    while (missing) {
        const char *begin = end < size ? memchr(free + end, 1, (size_t)(size - end)) : NULL;
        if (!begin || count == MOST_INTERVALS) {
            return -1;
        }
        Py_ssize_t first = begin - free;
        end = first + 1;
        missing--;
        while (missing && end < size && free[end] == 1) {
            end++;
            missing--;
        }
        found[count++] = (Interval){first, end - 1};
    }
    return count;
}

/* The set of these intervals: one that has its text already, if there is one. */
static PyObject *
frozen(const Interval *intervals, int count, PyObject *size)
{
    PyObject *all = tuple_of(intervals, count);
    if (!all) {
        return NULL;
    }
    PyObject *found = Py_XNewRef(PyDict_GetItemWithError(seen, all));
    if (!found && !PyErr_Occurred()) {
        found = PyObject_CallFunctionObjArgs(frozen_class, all, size, NULL);
    }
    Py_DECREF(all);
    return found;
}

static void
mark(Pool *self, const Interval *intervals, int count, int byte)
{
    for (int index = 0; is_sound(self) && index < count; index++) {
        Interval interval = intervals[index];
        if (interval.last < PyByteArray_GET_SIZE(self->free)) { /* whoever was let run meanwhile may have changed it */
            memset(PyByteArray_AS_STRING(self->free) + interval.first, byte, size_of(interval));
        }
    }
}

/* The hosts of these intervals, which are not free any more. `size` is the same number as `hosts`. */
static PyObject *
take_out(Pool *self, const Interval *intervals, int count, PyObject *size, Py_ssize_t hosts)
{
    mark(self, intervals, count, 0);
    PyObject *taken = frozen(intervals, count, size);
    if (taken) {
        self->size -= hosts;
    }
    else {
        mark(self, intervals, count, 1);
    }
    return taken;
}

PyDoc_STRVAR(take_doc, "take($self, /, count)\n"
                       "--\n"
                       "\n"
                       "Take the first free hosts.\n"
                       "\n"
                       "Args:\n"
                       "    count: the number of hosts, 0 to `len(self)`.\n"
                       "\n"
                       "Raises:\n"
                       "    HostsError: fewer hosts are free.");

static PyObject *
take(Pool *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    Interval found[MOST_INTERVALS];
    Py_ssize_t wanted = count == 1 && !names ? number(arguments[0]) : -1;
    int intervals = wanted < 0 || wanted > self->size || !is_sound(self) ? -1 : look_up(self, wanted, found);
    if (intervals < 0) {
        return in_python(python_take, self, arguments, count, names);
    }
    PyObject *hosts = take_out(self, found, intervals, arguments[0], wanted);
    if (hosts && intervals) {
        self->first = found[intervals - 1].last + 1;
    }
    return hosts;
}

/* Where the first row of so many free hosts is; -1 if there is none. */
static Py_ssize_t
row_of(Pool *self, Py_ssize_t count)
{
    const char *free = PyByteArray_AS_STRING(self->free);
    Py_ssize_t size = PyByteArray_GET_SIZE(self->free), end = count >= self->row ? self->row_from : self->first;
    while (end >= 0 && end + count <= size) {
        const char *begin = memchr(free + end, 1, (size_t)(size - end));
        if (!begin || count > size - (begin - free)) {
            return -1;
        }
        const char *gap = memchr(begin, 0, (size_t)count);
        if (!gap) {
            return begin - free;
        }
        end = gap + 1 - free;
    }
    return -1;
}

PyDoc_STRVAR(take_contiguous_doc, "take_contiguous($self, /, count)\n"
                                  "--\n"
                                  "\n"
                                  "Take the first free hosts in a row.\n"
                                  "\n"
                                  "Args:\n"
                                  "    count: the number of hosts, 0 to `len(self)`.\n"
                                  "\n"
                                  "Raises:\n"
                                  "    HostsError: no row of free hosts is long enough.\n"
                                  "\n"
                                  ">>> free = Hosts(\"0-2 4 6-9\")\n"
                                  ">>> free.take_contiguous(4), free.take_contiguous(2)\n"
                                  "(FrozenHosts('6-9'), FrozenHosts('0-1'))");

static PyObject *
take_contiguous(Pool *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    Py_ssize_t wanted = count == 1 && !names ? number(arguments[0]) : -1;
    Py_ssize_t first = wanted < 1 || wanted > self->size || !is_sound(self) ? -1 : row_of(self, wanted);
    if (first < 0) {
        return in_python(python_take_contiguous, self, arguments, count, names);
    }
    Interval found = {first, first + wanted - 1};
    PyObject *hosts = take_out(self, &found, 1, arguments[0], wanted);
    if (hosts) {
        self->row = wanted;
        self->row_from = first + wanted;
    }
    return hosts;
}

/* Certain hosts */

/* From this host on, some are free now that were not. */
static void
look_from(Pool *self, Py_ssize_t first)
{
    if (first < self->first) {
        self->first = first;
    }
    first -= self->row - 1;
    if (first < self->row_from) {
        self->row_from = first > 0 ? first : 0;
    }
}

/* How many hosts these intervals are; -1 if some of their bytes are `wrong`, or if that is not so easily told. */
static Py_ssize_t
count_in(Pool *self, PyObject *intervals, int wrong)
{
    if (!PyTuple_CheckExact(intervals)) {
        return -1;
    }
    const char *free = PyByteArray_AS_STRING(self->free);
    Py_ssize_t room = PyByteArray_GET_SIZE(self->free) - 1, hosts = 0, before = -1;
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(intervals); index++) {
        Interval interval = interval_at(intervals, index);
        if (interval.first <= before || interval.last >= room) {
            return -1;
        }
        if (memchr(free + interval.first, wrong, size_of(interval))) {
            return -1;
        }
        hosts += (Py_ssize_t)size_of(interval);
        before = interval.last;
    }
    return hosts;
}

/* Let all of these intervals, which are right, have this byte. */
static void
mark_all(Pool *self, PyObject *intervals, int byte)
{
    char *free = PyByteArray_AS_STRING(self->free);
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(intervals); index++) {
        Interval interval = interval_at(intervals, index);
        memset(free + interval.first, byte, size_of(interval));
    }
}

/* Let the hosts of the one argument, a FrozenHosts, have this byte, which none of them has: 1 if that is done, 0 if it is
   not so easily told, -1 with an exception. */
static int
turn(Pool *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names, int byte)
{
    if (count != 1 || names || !is_sound(self) || (PyObject *)Py_TYPE(arguments[0]) != frozen_class) {
        return 0;
    }
    if (byte && self->has_gaps) {
        return 0;
    }
    PyObject *intervals = PyObject_GetAttr(arguments[0], intervals_name);
    if (!intervals) {
        return -1;
    }
    Py_ssize_t hosts = count_in(self, intervals, byte);
    if (hosts > 0) {
        mark_all(self, intervals, byte);
        self->size += byte ? hosts : -hosts;
        if (byte) {
            look_from(self, interval_at(intervals, 0).first);
        }
    }
    Py_DECREF(intervals);
    return hosts >= 0;
}

PyDoc_STRVAR(take_these_doc, "take_these($self, /, hosts)\n"
                             "--\n"
                             "\n"
                             "Take certain hosts.\n"
                             "\n"
                             "Args:\n"
                             "    hosts: a host set. All its hosts must be free.\n"
                             "\n"
                             "Raises:\n"
                             "    HostsError: some of them are not free.\n"
                             "    HostSetError: this is not a host set.");

static PyObject *
take_these(Pool *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    int done = turn(self, arguments, count, names, 0);
    if (!done) {
        return in_python(python_take_these, self, arguments, count, names);
    }
    return done < 0 ? NULL : Py_NewRef(arguments[0]);
}

PyDoc_STRVAR(give_back_doc,
             "give_back($self, /, hosts)\n"
             "--\n"
             "\n"
             "Give back hosts that were taken, all hosts of a job or some of them.\n"
             "\n"
             "Args:\n"
             "    hosts: a host set. All its hosts must have been taken.\n"
             "\n"
             "Raises:\n"
             "    HostsError: some of them are free, or were never in this set.\n"
             "    HostSetError: this is not a host set.");

static PyObject *
give_back(Pool *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    int done = turn(self, arguments, count, names, 1);
    if (!done) {
        return in_python(python_give_back, self, arguments, count, names);
    }
    return done < 0 ? NULL : Py_NewRef(Py_None);
}

/* The object */

static Py_ssize_t
length(Pool *self)
{
    return self->size;
}

static PyObject *
create(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    Pool *self = (Pool *)type->tp_alloc(type, 0);
    if (self) {
        self->free = PyByteArray_FromStringAndSize("", 1);
        self->known = PyByteArray_FromStringAndSize("", 0);
        self->row = 1;
        if (!self->free || !self->known) {
            Py_CLEAR(self);
        }
    }
    return (PyObject *)self;
}

static void
discard(Pool *self)
{
    Py_XDECREF(self->free);
    Py_XDECREF(self->known);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef pool_methods[] = {
    {"take", (PyCFunction)(void (*)(void))take, METH_FASTCALL | METH_KEYWORDS, take_doc},
    {"take_contiguous", (PyCFunction)(void (*)(void))take_contiguous, METH_FASTCALL | METH_KEYWORDS,
     take_contiguous_doc},
    {"take_these", (PyCFunction)(void (*)(void))take_these, METH_FASTCALL | METH_KEYWORDS, take_these_doc},
    {"give_back", (PyCFunction)(void (*)(void))give_back, METH_FASTCALL | METH_KEYWORDS, give_back_doc},
    {NULL, NULL, 0, NULL},
};

/* What the Pool in Python has in its slots. */
static PyMemberDef pool_members[] = {
    {"_free", T_OBJECT_EX, offsetof(Pool, free), 0, NULL},
    {"_known", T_OBJECT_EX, offsetof(Pool, known), 0, NULL},
    {"_room", T_PYSSIZET, offsetof(Pool, room), 0, NULL},
    {"_size", T_PYSSIZET, offsetof(Pool, size), 0, NULL},
    {"_first", T_PYSSIZET, offsetof(Pool, first), 0, NULL},
    {"_row", T_PYSSIZET, offsetof(Pool, row), 0, NULL},
    {"_row_from", T_PYSSIZET, offsetof(Pool, row_from), 0, NULL},
    {"_has_gaps", T_BOOL, offsetof(Pool, has_gaps), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PySequenceMethods pool_as_sequence = {
    .sq_length = (lenfunc)length,
};

static PyTypeObject pool_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "batprotocol.model.free_hosts._pool.Pool",
    .tp_doc = "The state of Hosts.",
    .tp_basicsize = sizeof(Pool),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = create,
    .tp_dealloc = (destructor)discard,
    .tp_as_sequence = &pool_as_sequence,
    .tp_methods = pool_methods,
    .tp_members = pool_members,
};

/* The module */

PyDoc_STRVAR(bind_doc, "bind($module, frozen, seen, hosts, /)\n--\n\n"
                       "Take FrozenHosts, those that were seen lately by their intervals, and PythonHosts.");

static PyObject *
bind(PyObject *module, PyObject *arguments)
{
    PyObject *frozen, *lately, *hosts;
    if (!PyArg_ParseTuple(arguments, "O!O!O:bind", &PyType_Type, &frozen, &PyDict_Type, &lately, &hosts)) {
        return NULL;
    }
    const struct {
        const char *name;
        PyObject **method;
    } wanted[] = {
        {"take", &python_take},
        {"take_contiguous", &python_take_contiguous},
        {"take_these", &python_take_these},
        {"give_back", &python_give_back},
    };
    for (size_t index = 0; index < sizeof wanted / sizeof *wanted; index++) {
        PyObject *method = PyObject_GetAttrString(hosts, wanted[index].name);
        if (!method) {
            return NULL;
        }
        Py_XSETREF(*wanted[index].method, method);
    }
    Py_XSETREF(frozen_class, Py_NewRef(frozen));
    Py_XSETREF(seen, Py_NewRef(lately));
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"bind", bind, METH_VARARGS, bind_doc},
    {NULL, NULL, 0, NULL},
};

static int
populate(PyObject *module)
{
    if (!intervals_name) {
        intervals_name = PyUnicode_InternFromString("intervals");
    }
    return intervals_name ? PyModule_AddType(module, &pool_type) : -1;
}

NATIVE_MODULE("batprotocol.model.free_hosts", _pool, "native pools", populate, methods,
              "Taking hosts and giving them back. Private: use batprotocol.Hosts.")
