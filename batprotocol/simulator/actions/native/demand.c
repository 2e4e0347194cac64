/* What work takes of hosts and links: made once for equal work on equal hosts, and never changed. */

#include "actions.h"

#include <stddef.h>
#include <structmember.h>

/* A demand with room for so much in its one block; NULL with MemoryError. */
Demand *
new_demand(int resources, Py_ssize_t weights, int computing)
{
    Demand *demand = PyObject_New(Demand, &demand_type);
    if (!demand) {
        return NULL;
    }
    size_t doubles = (size_t)weights + (size_t)resources + (size_t)computing;
    size_t ints = 2 * (size_t)resources + 1 + (size_t)computing;
    demand->weight = PyMem_Calloc(1, doubles * sizeof(double) + ints * sizeof(int));
    if (!demand->weight) {
        Py_DECREF(demand);
        PyErr_NoMemory();
        return NULL;
    }
    demand->most = demand->weight + weights;
    demand->flops = demand->most + resources;
    demand->resource = (int *)(demand->flops + computing);
    demand->first = demand->resource + resources;
    demand->host = demand->first + resources + 1;
    demand->resources = resources;
    demand->computing = computing;
    demand->executors = 0;
    demand->version = 0;
    demand->rate = 0.0;
    return demand;
}

/* Whether a demand is of resources that exist. */
int
is_known(const Actions *self, const Demand *demand)
{
    for (int index = 0; index < demand->resources; index++) {
        if (demand->resource[index] >= self->resource_count) {
            return 0;
        }
    }
    for (int index = 0; index < demand->computing; index++) {
        if (demand->host[index] >= self->hosts) {
            return 0;
        }
    }
    return 1;
}

static void
demand_dealloc(Demand *demand)
{
    PyMem_Free(demand->weight);
    Py_TYPE(demand)->tp_free((PyObject *)demand);
}

/* What follows from the rest. */
void
complete_demand(Demand *demand)
{
    for (int index = 0; index < demand->resources; index++) {
        double most = demand->weight[demand->first[index]];
        for (int part = demand->first[index]; part < demand->first[index + 1]; part++) {
            most = demand->weight[part] > most ? demand->weight[part] : most;
        }
        demand->most[index] = most;
    }
}

/* From dictionaries, as copies and messages are made */

static int
as_int(PyObject *number)
{
    long found = PyLong_CheckExact(number) ? PyLong_AsLong(number) : -1;
    if (found < 0 || found > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "resources have numbers from 0 on");
        return -1;
    }
    return (int)found;
}

static double
as_double(PyObject *number)
{
    if (!PyFloat_CheckExact(number)) {
        PyErr_SetString(PyExc_TypeError, "weights are floats");
        return -1.0;
    }
    return PyFloat_AS_DOUBLE(number);
}

static int
read_weights(Demand *demand, PyObject *weights)
{
    PyObject *resource, *parts;
    Py_ssize_t place = 0;
    int index = 0, part = 0;
    while (PyDict_Next(weights, &place, &resource, &parts)) {
        demand->resource[index] = as_int(resource);
        for (Py_ssize_t each = 0; each < PyTuple_GET_SIZE(parts); each++) {
            demand->weight[part++] = as_double(PyTuple_GET_ITEM(parts, each));
        }
        if (PyErr_Occurred()) {
            return -1;
        }
        demand->first[++index] = part;
    }
    return 0;
}

static int
read_flops(Demand *demand, PyObject *flops)
{
    PyObject *host, *amount;
    Py_ssize_t place = 0;
    for (int index = 0; PyDict_Next(flops, &place, &host, &amount); index++) {
        demand->host[index] = as_int(host);
        demand->flops[index] = as_double(amount);
        if (PyErr_Occurred()) {
            return -1;
        }
        for (int each = 0; each < demand->resources; each++) {
            if (demand->resource[each] == demand->host[index]) {
                demand->executors += demand->first[each + 1] - demand->first[each];
            }
        }
    }
    return 0;
}

static PyObject *
demand_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"weights", "flops", "network_bound", "latency", NULL};
    PyObject *weights, *flops, *resource, *parts;
    double network_bound, latency;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "O!O!dd:Demand", names, &PyDict_Type, &weights, &PyDict_Type,
                                     &flops, &network_bound, &latency)) {
        return NULL;
    }
    Py_ssize_t place = 0, count = 0;
    while (PyDict_Next(weights, &place, &resource, &parts)) {
        if (!PyTuple_CheckExact(parts) || !PyTuple_GET_SIZE(parts)) {
            PyErr_SetString(PyExc_TypeError, "the weights for each resource are a tuple of some");
            return NULL;
        }
        count += PyTuple_GET_SIZE(parts);
    }
    if (count > INT32_MAX || PyDict_GET_SIZE(flops) > INT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "too much for one piece of work");
        return NULL;
    }
    Demand *demand = new_demand((int)PyDict_GET_SIZE(weights), count, (int)PyDict_GET_SIZE(flops));
    if (!demand) {
        return NULL;
    }
    demand->network_bound = network_bound;
    demand->latency = latency;
    if (read_weights(demand, weights) < 0 || read_flops(demand, flops) < 0) {
        Py_DECREF(demand);
        return NULL;
    }
    complete_demand(demand);
    return (PyObject *)demand;
}

/* What Python sees of it */

static PyObject *
get_weights(Demand *demand, void *unused)
{
    PyObject *weights = PyDict_New();
    for (int index = 0; weights && index < demand->resources; index++) {
        int first = demand->first[index], count = demand->first[index + 1] - first;
        PyObject *parts = PyTuple_New(count), *resource = PyLong_FromLong(demand->resource[index]);
        for (int part = 0; parts && part < count; part++) {
            PyObject *weight = PyFloat_FromDouble(demand->weight[first + part]);
            if (!weight) {
                Py_CLEAR(parts);
                break;
            }
            PyTuple_SET_ITEM(parts, part, weight);
        }
        if (!parts || !resource || PyDict_SetItem(weights, resource, parts) < 0) {
            Py_CLEAR(weights);
        }
        Py_XDECREF(parts);
        Py_XDECREF(resource);
    }
    return weights;
}

static PyObject *
get_flops(Demand *demand, void *unused)
{
    PyObject *flops = PyDict_New();
    for (int index = 0; flops && index < demand->computing; index++) {
        PyObject *host = PyLong_FromLong(demand->host[index]), *amount = PyFloat_FromDouble(demand->flops[index]);
        if (!host || !amount || PyDict_SetItem(flops, host, amount) < 0) {
            Py_CLEAR(flops);
        }
        Py_XDECREF(host);
        Py_XDECREF(amount);
    }
    return flops;
}

static PyObject *
get_is_empty(Demand *demand, void *unused)
{
    return PyBool_FromLong(!demand->resources);
}

static PyObject *
demand_reduce(Demand *demand, PyObject *unused)
{
    PyObject *module = PyImport_ImportModule("batprotocol.simulator.actions.demand");
    PyObject *made = module ? PyObject_GetAttrString(module, "restored") : NULL;
    PyObject *weights = made ? get_weights(demand, NULL) : NULL, *flops = weights ? get_flops(demand, NULL) : NULL;
    Py_XDECREF(module);
    if (!flops) {
        Py_XDECREF(made);
        Py_XDECREF(weights);
        return NULL;
    }
    return Py_BuildValue("N(NNdd)", made, weights, flops, demand->network_bound, demand->latency);
}

static PyObject *
demand_itself(PyObject *demand, PyObject *unused)
{
    return Py_NewRef(demand);
}

static PyGetSetDef demand_attributes[] = {
    {"weights", (getter)get_weights, NULL, "The use of each resource.", NULL},
    {"flops", (getter)get_flops, NULL, "The largest number of flops of an executor, by host.", NULL},
    {"is_empty", (getter)get_is_empty, NULL, "Whether the work uses no resource.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef demand_members[] = {
    {"network_bound", T_DOUBLE, offsetof(Demand, network_bound), READONLY, "The greatest rate of its transfers."},
    {"latency", T_DOUBLE, offsetof(Demand, latency), READONLY, "Seconds to wait before it begins."},
    {"executors", T_INT, offsetof(Demand, executors), READONLY, "The number of executors that compute."},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef demand_methods[] = {
    {"__reduce__", (PyCFunction)demand_reduce, METH_NOARGS, NULL},
    {"__copy__", demand_itself, METH_NOARGS, NULL},
    {"__deepcopy__", demand_itself, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject demand_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "batprotocol.simulator.actions._actions.Demand",
    .tp_doc = "Demand(weights, flops, network_bound, latency)\n--\n\nThe demand of work: its total use of hosts and links.",
    .tp_basicsize = sizeof(Demand),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = demand_new,
    .tp_dealloc = (destructor)demand_dealloc,
    .tp_getset = demand_attributes,
    .tp_members = demand_members,
    .tp_methods = demand_methods,
};
