/* The replies of turns: how they are made, and how their most frequent event is added. Both do what the classes do in
   Python, where all is as nearly always. In all other cases they change nothing, and say so. */

#include "binding.h"

/* Bound once to the classes of builders and of sets of hosts. */
static struct {
    PyTypeObject *class;
    Py_ssize_t now, events, finished, judge;
    PyTypeObject *hosts;
    Py_ssize_t sent;
    PyObject *spread, *fill;
    int execution, allocation; /* tables */
} builders;

PyObject *
new_builder(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 4 || !builders.class || !PyType_Check(arguments[0]) ||
        !PyType_IsSubtype((PyTypeObject *)arguments[0], builders.class)) {
        PyErr_SetString(PyExc_TypeError, "a builder takes its class, its judge, its time, and whether it is finished");
        return NULL;
    }
    PyTypeObject *class = (PyTypeObject *)arguments[0];
    PyObject *events = PyList_New(0);
    PyObject *builder = events ? class->tp_alloc(class, 0) : NULL;
    if (!builder) {
        Py_XDECREF(events);
        return NULL;
    }
    SLOT(builder, builders.judge) = Py_NewRef(arguments[1]);
    SLOT(builder, builders.now) = Py_NewRef(arguments[2]);
    SLOT(builder, builders.finished) = Py_NewRef(arguments[3]);
    SLOT(builder, builders.events) = events;
    return builder;
}

/* Whether the arguments are those of nearly all calls: an id, hosts whose text is known to be good, and a strategy. */
static int
is_frequent(PyObject *builder, PyObject *job_id, PyObject *hosts, PyObject *placement)
{
    if (!builders.class || !PyObject_TypeCheck(builder, builders.class) || !PyUnicode_CheckExact(job_id) ||
        !Py_IS_TYPE(hosts, builders.hosts)) {
        return 0;
    }
    PyObject *sent = SLOT(hosts, builders.sent), *events = SLOT(builder, builders.events);
    return PyUnicode_IS_ASCII(job_id) && PyUnicode_GET_LENGTH(job_id) > 0 && sent && PyUnicode_CheckExact(sent) &&
           PyUnicode_GET_LENGTH(sent) > 0 && (placement == builders.spread || placement == builders.fill) &&
           SLOT(builder, builders.finished) == Py_False && SLOT(builder, builders.now) &&
           SLOT(builder, builders.judge) && events && PyList_CheckExact(events);
}

PyObject *
add_execution(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 4 || !is_frequent(arguments[0], arguments[1], arguments[2], arguments[3])) {
        Py_RETURN_FALSE;
    }
    PyObject *builder = arguments[0], *placed[2] = {SLOT(arguments[2], builders.sent), arguments[3]};
    PyObject *allocation = new_value(builders.allocation, placed, NULL);
    if (!allocation) {
        return NULL;
    }
    PyObject *fields[4] = {arguments[1], allocation, Py_None, Py_None};
    PyObject *event = new_value(builders.execution, fields, SLOT(builder, builders.now));
    Py_DECREF(allocation);
    if (!event) {
        return NULL;
    }
    PyObject *judge = Py_NewRef(SLOT(builder, builders.judge));
    PyObject *judged = judge == Py_None ? Py_NewRef(judge) : PyObject_CallOneArg(judge, event);
    Py_DECREF(judge);
    if (!judged) {
        Py_DECREF(event);
        return NULL;
    }
    Py_DECREF(judged);
    PyObject *events = Py_XNewRef(SLOT(builder, builders.events)); /* the judge is other code */
    int failed = events ? PyList_Append(events, event) < 0 : -1;
    if (!events) {
        PyErr_SetString(PyExc_AttributeError, "_events");
    }
    Py_XDECREF(events);
    Py_DECREF(event);
    if (failed) {
        return NULL;
    }
    Py_RETURN_TRUE;
}

/* The number of the table of a class, or -1 with an exception. */
static int
table_of(const char *name, int count, int is_event)
{
    for (int number = 0; number < TABLE_COUNT; number++) {
        const Table *table = &TABLES_[number];
        if (strcmp(table->name, name) == 0 && table->count == count && table->event == is_event) {
            return number;
        }
    }
    PyErr_Format(PyExc_RuntimeError, "the schema has another %s than the engine was made for", name);
    return -1;
}

PyObject *
bind_builders(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *class, *hosts, *spread, *fill;
    if (!PyArg_ParseTuple(arguments, "O!O!OO", &PyType_Type, &class, &PyType_Type, &hosts, &spread, &fill)) {
        return NULL;
    }
    if (!bound.done || builders.class) {
        PyErr_SetString(PyExc_RuntimeError, "builders are bound once, and after the values");
        return NULL;
    }
    PyTypeObject *type = (PyTypeObject *)class;
    if ((builders.now = slot_offset(type, "_now")) < 0 || (builders.events = slot_offset(type, "_events")) < 0 ||
        (builders.finished = slot_offset(type, "_finished")) < 0 ||
        (builders.judge = slot_offset(type, "_judge")) < 0 ||
        (builders.sent = slot_offset((PyTypeObject *)hosts, "_sent")) < 0 ||
        (builders.allocation = table_of("AllocationPlacement", 2, 0)) < 0 ||
        (builders.execution = table_of("ExecuteJobEvent", 4, 1)) < 0) {
        return NULL;
    }
    builders.hosts = (PyTypeObject *)Py_NewRef(hosts);
    builders.spread = Py_NewRef(spread);
    builders.fill = Py_NewRef(fill);
    builders.class = (PyTypeObject *)Py_NewRef(class);
    Py_RETURN_NONE;
}
