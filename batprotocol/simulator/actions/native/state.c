/* Copies: the state as `PythonActions` has it, numbers as bytes. */

#include "actions.h"

#include <stdlib.h>
#include <string.h>

static PyObject *
doubles_of(const double *doubles, Py_ssize_t count)
{
    return PyBytes_FromStringAndSize((const char *)doubles, count * (Py_ssize_t)sizeof *doubles);
}

/* Nothing is under way any more. */
void
clear_actions(Actions *self)
{
    for (Py_ssize_t index = 0; index < self->table_room; index++) {
        if (self->table[index]) {
            Py_XDECREF(self->table[index]->demand);
            PyMem_Free(self->table[index]);
            self->table[index] = NULL;
        }
    }
    while (self->retiring.count) {
        forget_action(self, self->retiring.items[--self->retiring.count]);
    }
    self->actions = self->works.count = self->ended.count = 0;
    for (int index = 0; index < self->resource_count; index++) {
        self->resources[index].count = 0;
    }
    sleeps_free(&self->sleeps);
}

/* Resources */

static PyObject *
capacities_of(const Actions *self)
{
    PyObject *capacities = PyBytes_FromStringAndSize(NULL, self->resource_count * (Py_ssize_t)sizeof(double));
    for (int index = 0; capacities && index < self->resource_count; index++) {
        memcpy(PyBytes_AS_STRING(capacities) + (size_t)index * sizeof(double), &self->resources[index].capacity,
               sizeof(double));
    }
    return capacities;
}

static PyObject *
fatpipes_of(const Actions *self)
{
    PyObject *fatpipes = PyBytes_FromStringAndSize(NULL, self->resource_count);
    for (int index = 0; fatpipes && index < self->resource_count; index++) {
        PyBytes_AS_STRING(fatpipes)[index] = self->resources[index].is_fatpipe;
    }
    return fatpipes;
}

static PyObject *
changed_of(const Actions *self)
{
    PyObject *changed = PyList_New(self->changed.count);
    for (Py_ssize_t index = 0; changed && index < self->changed.count; index++) {
        PyObject *number = PyLong_FromLong(self->changed.items[index]);
        if (!number) {
            Py_CLEAR(changed);
            break;
        }
        PyList_SET_ITEM(changed, index, number);
    }
    return changed;
}

/* Actions */

/* All sleeps or all work, in the order of numbers; the caller frees it. NULL with MemoryError. */
static Action **
ordered(const Actions *self, int are_sleeps, Py_ssize_t *count)
{
    Action **found = PyMem_Malloc((size_t)(self->actions + 1) * sizeof *found);
    if (!found) {
        PyErr_NoMemory();
        return NULL;
    }
    *count = 0;
    for (Py_ssize_t index = 0; index < self->table_room; index++) {
        Action *action = self->table[index];
        if (action && (action->demand == NULL) == are_sleeps) {
            found[(*count)++] = action;
        }
    }
    if (*count) {
        qsort(found, (size_t)*count, sizeof *found, by_number);
    }
    return found;
}

/* Adds numbers and seconds of the sleeps to a state from `place` on. */
static int
add_sleeps(const Actions *self, PyObject *state, Py_ssize_t place)
{
    Py_ssize_t count;
    Action **found = ordered(self, 1, &count);
    if (!found) {
        return -1;
    }
    PyObject *numbers = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(int64_t));
    PyObject *seconds = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(double));
    for (Py_ssize_t index = 0; numbers && seconds && index < count; index++) {
        double left = sleep_left(found[index]);
        memcpy(PyBytes_AS_STRING(numbers) + (size_t)index * sizeof(int64_t), &found[index]->number, sizeof(int64_t));
        memcpy(PyBytes_AS_STRING(seconds) + (size_t)index * sizeof(double), &left, sizeof(double));
    }
    PyMem_Free(found);
    PyTuple_SET_ITEM(state, place, numbers);
    PyTuple_SET_ITEM(state, place + 1, seconds);
    return numbers && seconds ? 0 : -1;
}

static PyObject *
works_of(const Actions *self)
{
    Py_ssize_t count;
    Action **found = ordered(self, 0, &count);
    PyObject *works = found ? PyList_New(count) : NULL;
    for (Py_ssize_t index = 0; works && index < count; index++) {
        const Action *work = found[index];
        PyObject *told = Py_BuildValue("KOdddK", (unsigned long long)work->number, work->demand, work->latency,
                                       work->remains, work->rate, (unsigned long long)work->joined);
        if (!told) {
            Py_CLEAR(works);
            break;
        }
        PyList_SET_ITEM(works, index, told);
    }
    PyMem_Free(found);
    return works;
}

PyObject *
get_state(Actions *self, PyObject *unused)
{
    PyObject *state = PyTuple_New(11);
    if (!state) {
        return NULL;
    }
    PyTuple_SET_ITEM(state, 0, PyLong_FromUnsignedLongLong(self->next));
    PyTuple_SET_ITEM(state, 1, PyBool_FromLong(self->is_corrected));
    PyTuple_SET_ITEM(state, 2, capacities_of(self));
    PyTuple_SET_ITEM(state, 3, fatpipes_of(self));
    PyTuple_SET_ITEM(state, 4, doubles_of(self->speeds, self->hosts));
    PyTuple_SET_ITEM(state, 5, changed_of(self));
    add_sleeps(self, state, 6);
    PyTuple_SET_ITEM(state, 8, works_of(self));
    PyTuple_SET_ITEM(state, 9, PyFloat_FromDouble(self->sleeps.timing));
    PyTuple_SET_ITEM(state, 10, PyFloat_FromDouble(self->work_amount));
    if (PyErr_Occurred()) {
        Py_CLEAR(state);
    }
    return state;
}

PyObject *
reduce(Actions *self, PyObject *unused)
{
    PyObject *module = PyImport_ImportModule("batprotocol.simulator.actions.actions");
    PyObject *restored = module ? PyObject_GetAttrString(module, "restored") : NULL;
    PyObject *state = restored ? get_state(self, NULL) : NULL;
    Py_XDECREF(module);
    if (!state) {
        Py_XDECREF(restored);
        return NULL;
    }
    return Py_BuildValue("N()N", restored, state);
}

/* Back again */

static int
refuse(void)
{
    if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "this is no state of actions");
    }
    return -1;
}

static int
set_resources(Actions *self, PyObject *capacities, PyObject *fatpipes, PyObject *speeds, PyObject *changed)
{
    Py_ssize_t count = PyBytes_GET_SIZE(fatpipes), hosts = PyBytes_GET_SIZE(speeds) / (Py_ssize_t)sizeof(double);
    if (PyBytes_GET_SIZE(capacities) != count * (Py_ssize_t)sizeof(double) || hosts > count) {
        return refuse();
    }
    double *told = PyMem_Malloc((size_t)(hosts + 1) * sizeof *told);
    if (!told) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(told, PyBytes_AS_STRING(speeds), (size_t)hosts * sizeof *told);
    PyMem_Free(self->speeds);
    self->speeds = told;
    self->hosts = hosts;
    for (Py_ssize_t index = 0; index < count; index++) {
        double capacity;
        memcpy(&capacity, PyBytes_AS_STRING(capacities) + (size_t)index * sizeof capacity, sizeof capacity);
        if (add_resource(self, capacity, PyBytes_AS_STRING(fatpipes)[index] != 0) < 0) {
            return -1;
        }
    }
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(changed); index++) {
        long number = PyLong_AsLong(PyList_GET_ITEM(changed, index));
        if (number < 0 || number >= self->resource_count) {
            return refuse();
        }
        mark_changed(self, (int)number);
    }
    return 0;
}

static int
set_sleeps(Actions *self, PyObject *numbers, PyObject *seconds)
{
    Py_ssize_t count = PyBytes_GET_SIZE(numbers) / (Py_ssize_t)sizeof(int64_t);
    if (PyBytes_GET_SIZE(seconds) != count * (Py_ssize_t)sizeof(double)) {
        return refuse();
    }
    for (Py_ssize_t index = 0; index < count; index++) {
        uint64_t number;
        double left;
        memcpy(&number, PyBytes_AS_STRING(numbers) + (size_t)index * sizeof number, sizeof number);
        memcpy(&left, PyBytes_AS_STRING(seconds) + (size_t)index * sizeof left, sizeof left);
        if (number > self->next || left != left || find_action(self, number)) {
            return refuse();
        }
        Action *action = new_action(self, number, NULL);
        if (!action || sleeps_add(&self->sleeps, action, left) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Resources know who uses them in the order in which they joined. */
static int
by_joining(const void *one, const void *other)
{
    uint64_t first = (*(Action *const *)one)->joined, second = (*(Action *const *)other)->joined;
    return (first > second) - (first < second);
}

static int
join_again(Actions *self)
{
    Py_ssize_t count;
    Action **works = ordered(self, 0, &count);
    if (!works) {
        return -1;
    }
    if (count) {
        qsort(works, (size_t)count, sizeof *works, by_joining);
    }
    IntList changed = self->changed; /* this changes nothing */
    for (int index = 0; index < self->resource_count; index++) {
        self->resources[index].is_changed = 1;
    }
    int result = 0;
    for (Py_ssize_t index = 0; result == 0 && index < count; index++) {
        double rate = works[index]->rate;
        if (works[index]->joined) {
            result = join(self, works[index]);
        }
        works[index]->rate = rate;
    }
    for (int index = 0; index < self->resource_count; index++) {
        self->resources[index].is_changed = 0;
    }
    for (Py_ssize_t index = 0; index < changed.count; index++) {
        self->resources[changed.items[index]].is_changed = 1;
    }
    PyMem_Free(works);
    return result;
}

static int
set_works(Actions *self, PyObject *works)
{
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(works); index++) {
        unsigned long long number, joined;
        PyObject *demand;
        double latency, remains, rate;
        if (!PyTuple_Check(PyList_GET_ITEM(works, index)) ||
            !PyArg_ParseTuple(PyList_GET_ITEM(works, index), "KO!dddK", &number, &demand_type, &demand, &latency,
                              &remains, &rate, &joined) ||
            number > self->next || find_action(self, number) || !is_known(self, (Demand *)demand)) {
            return refuse();
        }
        Action *work = new_action(self, number, (Demand *)demand);
        if (!work) {
            return -1;
        }
        work->latency = latency;
        work->remains = remains;
        work->rate = rate;
        work->joined = joined;
        work->place = self->works.count;
        if (keep(&self->works, work) < 0) {
            return -1;
        }
    }
    return join_again(self);
}

PyObject *
set_state(Actions *self, PyObject *state)
{
    unsigned long long next;
    int is_corrected;
    double timing, work_amount;
    PyObject *capacities, *fatpipes, *speeds, *changed, *numbers, *seconds, *works;
    if (self->actions || self->resource_count || !PyTuple_Check(state) ||
        !PyArg_ParseTuple(state, "KpSSSO!SSO!dd", &next, &is_corrected, &capacities, &fatpipes, &speeds, &PyList_Type,
                          &changed, &numbers, &seconds, &PyList_Type, &works, &timing, &work_amount) ||
        !(timing > 0.0 && work_amount > 0.0)) {
        refuse();
        return NULL;
    }
    self->next = next;
    self->is_corrected = (char)is_corrected;
    set_precision(self, timing, work_amount);
    self->version = new_version();
    if (set_resources(self, capacities, fatpipes, speeds, changed) < 0 ||
        set_sleeps(self, numbers, seconds) < 0 || set_works(self, works) < 0) {
        clear_actions(self);
        return NULL;
    }
    Py_RETURN_NONE;
}

PyObject *
copy_of(Actions *self, PyObject *unused)
{
    PyObject *made = PyObject_CallFunction((PyObject *)&actions_type, "()()i", 0), *state = NULL, *done = NULL;
    if (made) {
        state = get_state(self, NULL);
        done = state ? set_state((Actions *)made, state) : NULL;
    }
    if (!done) {
        Py_CLEAR(made);
    }
    Py_XDECREF(state);
    Py_XDECREF(done);
    return made;
}
