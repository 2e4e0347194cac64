/* The class of actions, and the module. */

#include "actions.h"

#include "../../../native.h"

/* The object */

static int
read_doubles(PyObject *given, double **doubles, Py_ssize_t *count)
{
    PyObject *items = PySequence_Tuple(given);
    if (!items) {
        return -1;
    }
    *count = PyTuple_GET_SIZE(items);
    *doubles = PyMem_Malloc((size_t)(*count + 1) * sizeof **doubles);
    if (!*doubles) {
        PyErr_NoMemory();
    }
    for (Py_ssize_t index = 0; *doubles && index < *count && !PyErr_Occurred(); index++) {
        (*doubles)[index] = PyFloat_AsDouble(PyTuple_GET_ITEM(items, index));
    }
    Py_DECREF(items);
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *
create(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"capacities", "speeds", "corrected", "timing", "work_amount", NULL};
    PyObject *capacities, *speeds;
    int corrected;
    double timing = TIMING, work_amount = WORK_AMOUNT;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "OOp|dd:Actions", names, &capacities, &speeds, &corrected, &timing,
                                     &work_amount)) {
        return NULL;
    }
    Actions *self = (Actions *)type->tp_alloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->is_corrected = (char)corrected;
    set_precision(self, timing, work_amount);
    self->version = new_version();
    double *found = NULL;
    Py_ssize_t count = 0;
    if (!(timing > 0.0 && work_amount > 0.0)) {
        PyErr_SetString(PyExc_ValueError, "precision is > 0");
        Py_DECREF(self);
        return NULL;
    }
    int failed = read_doubles(speeds, &self->speeds, &self->hosts) < 0 || read_doubles(capacities, &found, &count) < 0;
    if (!failed && count != self->hosts) {
        PyErr_SetString(PyExc_ValueError, "each host has a capacity and a speed");
        failed = 1;
    }
    for (Py_ssize_t index = 0; !failed && index < count; index++) {
        failed = add_resource(self, found[index], 0) < 0;
    }
    PyMem_Free(found);
    if (failed) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void
discard(Actions *self)
{
    clear_actions(self);
    for (int index = 0; index < self->resource_count; index++) {
        PyMem_Free(self->resources[index].users);
    }
    PyMem_Free(self->resources);
    PyMem_Free(self->speeds);
    PyMem_Free(self->changed.items);
    PyMem_Free(self->near.items);
    PyMem_Free(self->alive.items);
    PyMem_Free(self->table);
    ActionList *lists[] = {&self->works, &self->ended, &self->retiring, &self->concerned, &self->growing};
    for (size_t index = 0; index < sizeof lists / sizeof *lists; index++) {
        PyMem_Free(lists[index]->items);
    }
    routes_free(&self->routes);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

PyTypeObject actions_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "batprotocol.simulator.actions._actions.Actions",
    .tp_doc = "Actions(capacities, speeds, corrected, timing=1e-9, work_amount=1e-5)\n--\n\nAll actions, and the hosts and links that they use.",
    .tp_basicsize = sizeof(Actions),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = create,
    .tp_dealloc = (destructor)discard,
    .tp_methods = actions_methods,
    .tp_getset = actions_attributes,
};

/* The module */

PyDoc_STRVAR(run_jobs_doc, "run_jobs($self, outside, idle, is_open, tells_states, /)\n--\n\n"
                           "Run a whole simulation of jobs that only take time, with nothing under way before.");

static PyMethodDef run_method = {"run_jobs", FAST(run_jobs), run_jobs_doc};

/* The method that uses the others is added to them here: `actions.c` knows nothing of whole simulations. */
static int
populate(PyObject *module)
{
    if (PyModule_AddType(module, &demand_type) < 0 || PyModule_AddType(module, &actions_type) < 0) {
        return -1;
    }
    PyObject *method = PyDescr_NewMethod(&actions_type, &run_method);
    int failed = !method || PyDict_SetItemString(actions_type.tp_dict, "run_jobs", method) < 0;
    Py_XDECREF(method);
    PyType_Modified(&actions_type);
    return failed ? -1 : 0;
}

NATIVE_MODULE("batprotocol.simulator.actions", _actions, "native actions", populate, NULL,
              "The actions of a simulation. Private: use batprotocol.simulator.")
