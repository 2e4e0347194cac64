/* Taking hosts out of `Hosts` and giving them back, as a scheduler does for each job. The functions here do what the
   methods of the class do, where all is as nearly always: the hosts are a `FrozenHosts`, and none is refused. In all
   other cases they change nothing, and say so: then the methods do it in Python. */

#include "../../native.h"

/* Bound once to the classes. */
static struct {
    PyTypeObject *class, *frozen;
    Py_ssize_t free, room, has_gaps, size, first, row, row_from; /* slots of `Hosts` */
    Py_ssize_t intervals, count;                                 /* of `FrozenHosts` */
    PyObject *seen;
} hosts;

/* What a set has in its slots; `bytes` has `room` + 1 of them, so that each host has a next one. */
typedef struct {
    char *bytes;
    Py_ssize_t room, size, first;
} Free;

/* A number of a slot; -1 without an exception if it is none, or negative. */
static Py_ssize_t
number_in(PyObject *object, Py_ssize_t offset)
{
    PyObject *found = SLOT(object, offset);
    Py_ssize_t number = found && PyLong_CheckExact(found) ? PyLong_AsSsize_t(found) : -1;
    if (number < 0) {
        PyErr_Clear();
        return -1;
    }
    return number;
}

static int
set_number(PyObject *object, Py_ssize_t offset, Py_ssize_t number)
{
    PyObject *made = PyLong_FromSsize_t(number);
    if (!made) {
        return 0;
    }
    Py_XSETREF(SLOT(object, offset), made);
    return 1;
}

static int
read_free(PyObject *self, Free *found)
{
    PyObject *bytes = hosts.class && PyObject_TypeCheck(self, hosts.class) ? SLOT(self, hosts.free) : NULL;
    if (!bytes || !PyByteArray_CheckExact(bytes)) {
        return 0;
    }
    found->bytes = PyByteArray_AS_STRING(bytes);
    found->room = number_in(self, hosts.room);
    found->size = number_in(self, hosts.size);
    found->first = number_in(self, hosts.first);
    return found->room >= 0 && found->size >= 0 && found->first >= 0 && PyByteArray_GET_SIZE(bytes) == found->room + 1;
}

/* The set of these intervals that was seen recently, or a new one. */
static PyObject *
frozen_of(PyObject *intervals, PyObject *count)
{
    PyObject *seen = PyDict_GetItemWithError(hosts.seen, intervals);
    if (seen) {
        return Py_NewRef(seen);
    }
    PyObject *given[2] = {intervals, count};
    return PyErr_Occurred() ? NULL : PyObject_Vectorcall((PyObject *)hosts.frozen, given, 2, NULL);
}

static PyObject *
interval(Py_ssize_t first, Py_ssize_t last)
{
    PyObject *pair = PyTuple_New(2);
    PyObject *low = pair ? PyLong_FromSsize_t(first) : NULL, *high = low ? PyLong_FromSsize_t(last) : NULL;
    if (!high) {
        Py_XDECREF(low);
        Py_XDECREF(pair);
        return NULL;
    }
    PyTuple_SET_ITEM(pair, 0, low);
    PyTuple_SET_ITEM(pair, 1, high);
    return pair;
}

/* The first so many free hosts, as intervals; `end` is the host behind them. */
static PyObject *
first_intervals(const Free *found, Py_ssize_t missing, Py_ssize_t *end)
{
    PyObject *list = PyList_New(0);
    Py_ssize_t at = found->first;
    while (list && missing) {
        const char *first = at < found->room ? memchr(found->bytes + at, 1, (size_t)(found->room - at)) : NULL;
        Py_ssize_t begin = first ? first - found->bytes : -1;
        at = begin + 1;
        while (first && at < begin + missing && found->bytes[at] == 1) { /* behind the last host is a 0 */
            at++;
        }
        missing -= at - begin;
        PyObject *pair = first ? interval(begin, at - 1) : NULL;
        if (!pair || PyList_Append(list, pair) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(pair);
    }
    PyObject *intervals = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    *end = at;
    return intervals;
}

/* Set the bytes of all hosts of these intervals. */
static void
mark(char *bytes, PyObject *intervals, int byte)
{
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(intervals); index++) {
        PyObject *pair = PyTuple_GET_ITEM(intervals, index);
        Py_ssize_t first = PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 0));
        Py_ssize_t last = PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 1));
        memset(bytes + first, byte, (size_t)(last + 1 - first));
    }
}

static PyObject *
take(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    Free found;
    PyObject *self = arguments[0], *wanted = given == 2 ? arguments[1] : Py_None;
    Py_ssize_t count = PyLong_CheckExact(wanted) ? PyLong_AsSsize_t(wanted) : -1, end;
    PyErr_Clear(); /* of a number that is too large */
    if (count <= 0 || !read_free(self, &found) || count > found.size) {
        Py_RETURN_NONE;
    }
    PyObject *intervals = first_intervals(&found, count, &end);
    PyObject *frozen = intervals ? frozen_of(intervals, wanted) : NULL;
    if (frozen && !(set_number(self, hosts.first, end) && set_number(self, hosts.size, found.size - count))) {
        Py_CLEAR(frozen);
    }
    if (frozen) {
        mark(found.bytes, intervals, 0);
    }
    Py_XDECREF(intervals);
    return frozen;
}

/* Whether all hosts of these intervals have this byte; not, if the intervals are other than those of a set. */
static int
all_are(const Free *found, PyObject *intervals, int byte)
{
    if (!intervals || !PyTuple_CheckExact(intervals)) {
        return 0;
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(intervals); index++) {
        PyObject *pair = PyTuple_GET_ITEM(intervals, index);
        if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2 || !PyLong_CheckExact(PyTuple_GET_ITEM(pair, 0)) ||
            !PyLong_CheckExact(PyTuple_GET_ITEM(pair, 1))) {
            return 0;
        }
        Py_ssize_t first = PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 0));
        Py_ssize_t last = PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 1));
        if (PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
        if (first < 0 || first > last || last >= found->room ||
            memchr(found->bytes + first, !byte, (size_t)(last + 1 - first))) {
            return 0;
        }
    }
    return 1;
}

/* Whether these are hosts that can be marked here, as all of them have the other byte now. */
static int
can_mark(PyObject *self, PyObject *given, Free *found, int byte, Py_ssize_t *count)
{
    if (!Py_IS_TYPE(given, hosts.frozen) || !read_free(self, found) || SLOT(self, hosts.has_gaps) != Py_False) {
        return 0;
    }
    *count = number_in(given, hosts.count);
    return *count > 0 && all_are(found, SLOT(given, hosts.intervals), !byte);
}

static PyObject *
take_these(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    Free found;
    Py_ssize_t count;
    if (given != 2 || !can_mark(arguments[0], arguments[1], &found, 0, &count)) {
        Py_RETURN_FALSE;
    }
    if (!set_number(arguments[0], hosts.size, found.size - count)) {
        return NULL;
    }
    mark(found.bytes, SLOT(arguments[1], hosts.intervals), 0);
    Py_RETURN_TRUE;
}

static PyObject *
give_back(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    Free found;
    Py_ssize_t count;
    if (given != 2 || !can_mark(arguments[0], arguments[1], &found, 1, &count)) {
        Py_RETURN_FALSE;
    }
    PyObject *self = arguments[0], *intervals = SLOT(arguments[1], hosts.intervals);
    Py_ssize_t row = number_in(self, hosts.row), from = number_in(self, hosts.row_from);
    Py_ssize_t first = PyLong_AsSsize_t(PyTuple_GET_ITEM(PyTuple_GET_ITEM(intervals, 0), 0));
    /* The searches begin again at the hosts that become free. */
    if (first < found.first && !set_number(self, hosts.first, first)) {
        return NULL;
    }
    Py_ssize_t again = first - (row - 1);
    if (again < from && !set_number(self, hosts.row_from, again > 0 ? again : 0)) {
        return NULL;
    }
    if (!set_number(self, hosts.size, found.size + count)) {
        return NULL;
    }
    mark(found.bytes, intervals, 1);
    Py_RETURN_TRUE;
}

/* Where the slots are; 0 with an exception if there are none. */
static int
find_slots(PyTypeObject *class, PyTypeObject *frozen)
{
    return (hosts.free = slot_offset(class, "_free")) >= 0 && (hosts.room = slot_offset(class, "_room")) >= 0 &&
           (hosts.has_gaps = slot_offset(class, "_has_gaps")) >= 0 && (hosts.size = slot_offset(class, "_size")) >= 0 &&
           (hosts.first = slot_offset(class, "_first")) >= 0 && (hosts.row = slot_offset(class, "_row")) >= 0 &&
           (hosts.row_from = slot_offset(class, "_row_from")) >= 0 &&
           (hosts.intervals = slot_offset(frozen, "intervals")) >= 0 &&
           (hosts.count = slot_offset(frozen, "size")) >= 0;
}

static PyObject *
bind(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *class, *frozen, *seen;
    if (!PyArg_ParseTuple(arguments, "O!O!O!", &PyType_Type, &class, &PyType_Type, &frozen, &PyDict_Type, &seen)) {
        return NULL;
    }
    if (hosts.class) {
        PyErr_SetString(PyExc_RuntimeError, "it is bound already");
        return NULL;
    }
    if (!find_slots((PyTypeObject *)class, (PyTypeObject *)frozen)) {
        return NULL;
    }
    hosts.class = (PyTypeObject *)Py_NewRef(class);
    hosts.frozen = (PyTypeObject *)Py_NewRef(frozen);
    hosts.seen = Py_NewRef(seen);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(bind_doc, "bind($module, hosts, frozen_hosts, seen, /)\n--\n\n"
                       "Tell it, once, the classes of the sets, and the sets that were seen recently.");
PyDoc_STRVAR(take_doc, "take($module, hosts, count, /)\n--\n\nThe first free hosts, taken; None: left to Python.");
PyDoc_STRVAR(take_these_doc, "take_these($module, hosts, wanted, /)\n--\n\n"
                             "Take certain hosts; False: left to Python.");
PyDoc_STRVAR(give_back_doc, "give_back($module, hosts, given, /)\n--\n\n"
                            "Give back hosts that were taken; False: left to Python.");

static PyMethodDef functions[] = {
    {"bind", bind, METH_VARARGS, bind_doc},
    {"take", FAST(take), take_doc},
    {"take_these", FAST(take_these), take_these_doc},
    {"give_back", FAST(give_back), give_back_doc},
    {NULL, NULL, 0, NULL},
};

NATIVE_MODULE("batprotocol.model", _hosts, "native sets of hosts", populate_nothing, functions,
              "Sets of hosts in C. Private: use batprotocol.Hosts.")
