/* The ways between hosts, each of which Python is asked for once. */

#include "actions.h"

#include <string.h>

enum { FEWEST_ROUTES = 64, MOST_ROUTES = 1 << 20 };

/* Both hosts as one number above 0; the master is -1. */
static inline uint64_t
key_of(Py_ssize_t source, Py_ssize_t target)
{
    return ((uint64_t)(source + 1) << 32 | (uint64_t)(target + 1)) + 1;
}

static Py_ssize_t
place_of(const Routes *routes, uint64_t key)
{
    Py_ssize_t mask = routes->room - 1;
    Py_ssize_t place = (Py_ssize_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & mask;
    while (routes->keys[place] && routes->keys[place] != key) {
        place = (place + 1) & mask;
    }
    return place;
}

void
routes_free(Routes *routes)
{
    PyMem_Free(routes->keys);
    PyMem_Free(routes->routes);
    PyMem_Free(routes->links.items);
    memset(routes, 0, sizeof *routes);
}

static int
grow(Routes *routes)
{
    if (routes->count >= MOST_ROUTES) { /* memory stays bounded, whatever runs */
        routes_free(routes);
    }
    Routes larger = {.room = routes->room ? 2 * routes->room : FEWEST_ROUTES};
    larger.keys = PyMem_Calloc((size_t)larger.room, sizeof *larger.keys);
    larger.routes = PyMem_Calloc((size_t)larger.room, sizeof *larger.routes);
    if (!larger.keys || !larger.routes) {
        routes_free(&larger);
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t index = 0; index < routes->room; index++) {
        if (routes->keys[index]) {
            Py_ssize_t place = place_of(&larger, routes->keys[index]);
            larger.keys[place] = routes->keys[index];
            larger.routes[place] = routes->routes[index];
        }
    }
    larger.count = routes->count;
    larger.links = routes->links;
    routes->links = (IntList){NULL, 0, 0};
    routes_free(routes);
    *routes = larger;
    return 0;
}

/* What Python told: latency, and links as resources. */
static const Route *
remember(Actions *self, uint64_t key, PyObject *told)
{
    Routes *routes = &self->routes;
    PyObject *links = NULL;
    double latency;
    if (!PyArg_ParseTuple(told, "dO:path", &latency, &links)) {
        return NULL;
    }
    links = PySequence_Fast(links, "links are a sequence");
    if (!links) {
        return NULL;
    }
    Route route = {latency, routes->links.count, (int)PySequence_Fast_GET_SIZE(links)};
    for (Py_ssize_t index = 0; index < route.count; index++) {
        long link = PyLong_AsLong(PySequence_Fast_GET_ITEM(links, index));
        if (link < self->hosts || link >= self->resource_count) {
            if (!PyErr_Occurred()) {
                PyErr_Format(PyExc_IndexError, "there is no link %ld", link);
            }
            goto failed;
        }
        if (keep_int(&routes->links, (int)link) < 0) {
            goto failed;
        }
    }
    Py_DECREF(links);
    Py_ssize_t place = place_of(routes, key);
    routes->count += !routes->keys[place];
    routes->keys[place] = key;
    routes->routes[place] = route;
    return &routes->routes[place];
failed:
    Py_DECREF(links);
    routes->links.count = route.first;
    return NULL;
}

/* The way from a host to another, which is valid until the next call; NULL with an exception. */
const Route *
route_between(Actions *self, Py_ssize_t source, Py_ssize_t target, PyObject *path)
{
    uint64_t key = key_of(source, target);
    if (self->routes.room) {
        Py_ssize_t place = place_of(&self->routes, key);
        if (self->routes.keys[place]) {
            return &self->routes.routes[place];
        }
    }
    PyObject *told = PyObject_CallFunction(path, "nn", source, target);
    if (!told) {
        return NULL;
    }
    const Route *route = NULL;
    if (!PyTuple_Check(told)) {
        PyErr_SetString(PyExc_TypeError, "a path is a tuple of latency and links");
    }
    else if (2 * self->routes.count < self->routes.room || grow(&self->routes) == 0) {
        route = remember(self, key, told);
    }
    Py_DECREF(told);
    return route;
}
