/* Demands of executors and what they send to one another. */

#include "actions.h"

#include <string.h>

typedef struct {
    int resource, parts;
    double amount; /* the greatest of an executor's flops, or bytes over a link */
} Share;

typedef struct {
    Actions *actions;
    Py_ssize_t count;
    int *hosts;
    int *places; /* where each executor's share is; -1 if it computes nothing */
    double *flops;
    Share *shares; /* of what computes, then of links */
    Py_ssize_t used, room;
    int computing;
    uint64_t epoch;
    double latency, delayed, under_way;
    PyObject *path;
} Draft;

/* What there is of a resource: the place of its share, which is made if there is none; -1 with MemoryError. */
static int
share_of(Draft *draft, int resource)
{
    Resource *found = &draft->actions->resources[resource];
    if (found->seen != draft->epoch) {
        if (make_room(&draft->shares, draft->used, &draft->room, 1, sizeof *draft->shares) < 0) {
            return -1;
        }
        found->seen = draft->epoch;
        found->place = (int)draft->used;
        draft->shares[draft->used++] = (Share){resource, 0, 0.0};
    }
    return found->place;
}

static int
add_flops(Draft *draft)
{
    for (Py_ssize_t index = 0; index < draft->count; index++) {
        double amount = draft->flops[index];
        draft->places[index] = -1;
        if (amount > 0.0) {
            int place = draft->hosts[index] < 0 ? -1 : share_of(draft, draft->hosts[index]);
            if (place < 0) {
                if (!PyErr_Occurred()) {
                    PyErr_SetString(PyExc_IndexError, "the master computes nothing");
                }
                return -1;
            }
            draft->places[index] = place;
            Share *share = &draft->shares[place];
            share->parts++;
            share->amount = amount > share->amount ? amount : share->amount;
        }
    }
    draft->computing = (int)draft->used;
    return 0;
}

static int
add_transfer(Draft *draft, Py_ssize_t source, Py_ssize_t target, double amount)
{
    if (look_up(draft->actions, 1) < 0) {
        return -1;
    }
    if (!(amount > 0.0)) {
        return 0;
    }
    const Route *route = route_between(draft->actions, draft->hosts[source], draft->hosts[target], draft->path);
    if (!route) {
        return -1;
    }
    draft->latency = route->latency > draft->latency ? route->latency : draft->latency;
    double delayed = route->latency * amount;
    draft->delayed = delayed > draft->delayed ? delayed : draft->delayed;
    const int *links = draft->actions->routes.links.items + route->first;
    for (int index = 0; index < route->count; index++) {
        int place = share_of(draft, links[index]);
        if (place < 0) {
            return -1;
        }
        Share *share = &draft->shares[place];
        if (!draft->actions->resources[links[index]].is_fatpipe) {
            share->amount += amount;
        }
        else if (amount > share->amount) {
            share->amount = amount;
        }
        share->parts = 1;
    }
    return 0;
}

static int
add_equal(Draft *draft, double amount)
{
    for (Py_ssize_t source = 0; source < draft->count; source++) {
        for (Py_ssize_t target = 0; target < draft->count; target++) {
            if (source != target && add_transfer(draft, source, target, amount) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

static int
add_matrix(Draft *draft, PyObject *matrix)
{
    Py_buffer view;
    if (PyObject_GetBuffer(matrix, &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0) {
        return -1;
    }
    int result = -1;
    if (!view.format || strcmp(view.format, "d") != 0 ||
        view.len != draft->count * draft->count * (Py_ssize_t)sizeof(double)) {
        PyErr_SetString(PyExc_ValueError, "a matrix has a double for each pair of executors");
    }
    else {
        const double *amounts = view.buf;
        result = 0;
        for (Py_ssize_t place = 0; result == 0 && place < draft->count * draft->count; place++) {
            result = add_transfer(draft, place / draft->count, place % draft->count, amounts[place]);
        }
    }
    PyBuffer_Release(&view);
    return result;
}

static int
add_triples(Draft *draft, PyObject *transfers)
{
    PyObject *triples = PySequence_Fast(transfers, "transfers are a sequence");
    int result = triples ? 0 : -1;
    for (Py_ssize_t index = 0; result == 0 && index < PySequence_Fast_GET_SIZE(triples); index++) {
        PyObject *triple = Py_NewRef(PySequence_Fast_GET_ITEM(triples, index));
        Py_ssize_t source, target;
        double amount;
        if (!PyTuple_Check(triple)) {
            PyErr_SetString(PyExc_TypeError, "a transfer is a tuple of sender, receiver and bytes");
            result = -1;
        }
        else if (!PyArg_ParseTuple(triple, "nnd", &source, &target, &amount)) {
            result = -1;
        }
        else if (source < 0 || target < 0 || source >= draft->count || target >= draft->count) {
            PyErr_SetString(PyExc_IndexError, "there is no such executor");
            result = -1;
        }
        else {
            result = add_transfer(draft, source, target, amount);
        }
        Py_DECREF(triple);
    }
    Py_XDECREF(triples);
    return result;
}

static int
add_transfers(Draft *draft, PyObject *transfers)
{
    if (transfers == Py_None || draft->count < 2) {
        return 0;
    }
    if (PyFloat_Check(transfers)) {
        return add_equal(draft, PyFloat_AS_DOUBLE(transfers));
    }
    return PyMemoryView_Check(transfers) ? add_matrix(draft, transfers) : add_triples(draft, transfers);
}

static PyObject *
finished(Draft *draft)
{
    Py_ssize_t weights = 0;
    for (Py_ssize_t index = 0; index < draft->used; index++) {
        weights += draft->shares[index].parts;
    }
    Demand *demand = new_demand((int)draft->used, weights, draft->computing);
    if (!demand) {
        return NULL;
    }
    for (int index = 0; index < draft->used; index++) {
        const Share *share = &draft->shares[index];
        demand->resource[index] = share->resource;
        demand->first[index + 1] = demand->first[index] + share->parts;
        if (index < draft->computing) {
            demand->host[index] = share->resource;
            demand->flops[index] = share->amount;
            demand->executors += share->parts;
        }
        else {
            demand->weight[demand->first[index]] = share->amount;
        }
    }
    for (Py_ssize_t index = 0; index < draft->used; index++) {
        draft->shares[index].parts = demand->first[index]; /* where the next weight goes */
    }
    for (Py_ssize_t index = 0; index < draft->count; index++) {
        if (draft->places[index] >= 0) {
            demand->weight[draft->shares[draft->places[index]].parts++] = draft->flops[index];
        }
    }
    demand->network_bound = draft->delayed > 0.0 ? draft->under_way / (2.0 * draft->delayed) : Py_HUGE_VAL;
    demand->latency = draft->latency;
    complete_demand(demand);
    return (PyObject *)demand;
}

static int
read_executors(Draft *draft, PyObject *executors, PyObject *flops)
{
    for (Py_ssize_t index = 0; index < draft->count; index++) {
        long host = PyLong_AsLong(PyTuple_GET_ITEM(executors, index));
        draft->flops[index] = PyFloat_AsDouble(PyTuple_GET_ITEM(flops, index));
        if (PyErr_Occurred()) {
            return -1;
        }
        if (host < -1 || host >= draft->actions->hosts) {
            PyErr_Format(PyExc_IndexError, "there is no host %ld", host);
            return -1;
        }
        draft->hosts[index] = (int)host;
    }
    return 0;
}

static PyObject *
drafted(Draft *draft, PyObject *executors, PyObject *flops, PyObject *transfers)
{
    size_t count = (size_t)draft->count;
    draft->flops = PyMem_Malloc((count + 1) * (sizeof(double) + 2 * sizeof(int)));
    if (!draft->flops) {
        return PyErr_NoMemory();
    }
    draft->hosts = (int *)(draft->flops + count);
    draft->places = draft->hosts + count;
    int failed = read_executors(draft, executors, flops) < 0 || add_flops(draft) < 0 ||
                 add_transfers(draft, transfers) < 0;
    PyObject *demand = failed ? NULL : finished(draft);
    PyMem_Free(draft->flops);
    PyMem_Free(draft->shares);
    return demand;
}

PyObject *
demand_of(Actions *self, PyObject *executors, PyObject *flops, PyObject *transfers, double under_way, PyObject *path)
{
    PyObject *demand = NULL;
    executors = PySequence_Tuple(executors);
    flops = executors ? PySequence_Tuple(flops) : NULL;
    if (flops) {
        Draft draft = {.actions = self, .count = PyTuple_GET_SIZE(executors), .under_way = under_way, .path = path};
        draft.epoch = ++self->epoch;
        if (PyTuple_GET_SIZE(flops) == draft.count && draft.count < INT32_MAX) {
            demand = drafted(&draft, executors, flops, transfers);
        }
        else {
            PyErr_SetString(PyExc_ValueError, "each executor has its flops");
        }
    }
    Py_XDECREF(executors);
    Py_XDECREF(flops);
    return demand;
}
