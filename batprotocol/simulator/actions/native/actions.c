/* The methods of actions, but for those that make copies. */

#include "../../../native.h"
#include "actions.h"

#include <math.h>
#include <stdlib.h>

static void
take_from_works(Actions *self, Action *work)
{
    Action *last = self->works.items[--self->works.count];
    self->works.items[work->place] = last;
    last->place = work->place;
}

/* Arguments */

static int
expect_idle(const Actions *self)
{
    if (self->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "nothing can begin or end while rates are found");
        return -1;
    }
    return 0;
}

static Action *
action_of(const Actions *self, PyObject *number)
{
    uint64_t wanted = PyLong_AsUnsignedLongLong(number);
    if (wanted == (uint64_t)-1 && PyErr_Occurred()) {
        return NULL;
    }
    Action *action = find_action(self, wanted);
    if (!action) {
        PyErr_SetObject(PyExc_KeyError, number);
    }
    return action;
}

static Resource *
resource_of(const Actions *self, PyObject *number)
{
    long wanted = PyLong_AsLong(number);
    if (wanted == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (wanted < 0 || wanted >= self->resource_count) {
        PyErr_Format(PyExc_IndexError, "there is no resource %ld", wanted);
        return NULL;
    }
    return &self->resources[wanted];
}

/* Resources */

PyDoc_STRVAR(add_link_doc, "add_link($self, capacity, is_fatpipe, /)\n--\n\n"
                           "Add a link, and return its number. Each transfer gets the whole capacity of a fatpipe.");

static PyObject *
add_link(Actions *self, PyObject *arguments)
{
    double capacity;
    int is_fatpipe;
    if (!PyArg_ParseTuple(arguments, "dp:add_link", &capacity, &is_fatpipe)) {
        return NULL;
    }
    int number = add_resource(self, capacity, is_fatpipe);
    return number < 0 ? NULL : PyLong_FromLong(number);
}

PyDoc_STRVAR(capacity_doc, "capacity($self, resource, /)\n--\n\nThe capacity of a resource, in flops or bytes per second.");

static PyObject *
capacity(Actions *self, PyObject *number)
{
    const Resource *resource = resource_of(self, number);
    return resource ? PyFloat_FromDouble(resource->capacity) : NULL;
}

PyDoc_STRVAR(load_doc, "load($self, resource, /)\n--\n\n"
                       "The total use of a resource per second, at the current rates.");

static PyObject *
load(Actions *self, PyObject *number)
{
    const Resource *resource = resource_of(self, number);
    return resource ? PyFloat_FromDouble(load_of(resource)) : NULL;
}

PyDoc_STRVAR(change_doc, "change($self, host, speed, capacity, /)\n--\n\n"
                         "Change the speed of a core of a host, and the capacity of all its cores.");

static PyObject *
change(Actions *self, PyObject *arguments)
{
    Py_ssize_t host;
    double speed, capacity;
    if (!PyArg_ParseTuple(arguments, "ndd:change", &host, &speed, &capacity) || expect_idle(self) < 0) {
        return NULL;
    }
    if (host < 0 || host >= self->hosts) {
        return PyErr_Format(PyExc_IndexError, "there is no host %zd", host);
    }
    mark_changed(self, (int)host);
    self->speeds[host] = speed;
    self->resources[host].capacity = capacity;
    self->version = new_version();
    Py_RETURN_NONE;
}

PyDoc_STRVAR(demand_doc, "demand($self, executors, flops, transfers, under_way, path, /)\n--\n\nThe demand of work.");

static PyObject *
demand(Actions *self, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 5) {
        PyErr_SetString(PyExc_TypeError, "demand() takes executors, flops, transfers, under_way and path");
        return NULL;
    }
    double under_way = PyFloat_AsDouble(arguments[3]);
    if (under_way == -1.0 && PyErr_Occurred()) {
        return NULL;
    }
    return demand_of(self, arguments[0], arguments[1], arguments[2], under_way, arguments[4]);
}

/* Actions */

PyDoc_STRVAR(sleep_doc, "sleep($self, seconds, /)\n--\n\n"
                        "Begin a sleep of more than 0 seconds, and return its number.");

Action *
begin_sleep(Actions *self, double seconds)
{
    if (isnan(seconds)) {
        PyErr_SetString(PyExc_ValueError, "expected seconds, got nan");
        return NULL;
    }
    Action *action = new_action(self, self->next + 1, NULL);
    if (!action) {
        return NULL;
    }
    if (sleeps_add(&self->sleeps, action, seconds) < 0) {
        forget_action(self, action);
        return NULL;
    }
    self->next++;
    return action;
}

static PyObject *
sleep_for(Actions *self, PyObject *given)
{
    double seconds = PyFloat_AsDouble(given);
    if ((seconds == -1.0 && PyErr_Occurred()) || expect_idle(self) < 0) {
        return NULL;
    }
    Action *action = begin_sleep(self, seconds);
    return action ? PyLong_FromUnsignedLongLong(action->number) : NULL;
}

PyDoc_STRVAR(work_doc, "work($self, demand, remains, /)\n--\n\n"
                       "Begin work of which `remains` of 1 is to be done, and return its number.");

Action *
begin_work(Actions *self, Demand *demand, double remains)
{
    Action *action = new_action(self, self->next + 1, demand);
    if (!action) {
        return NULL;
    }
    action->latency = demand->latency;
    action->remains = remains;
    if (!(action->latency > 0.0) && join(self, action) < 0) {
        forget_action(self, action);
        return NULL;
    }
    action->place = self->works.count;
    if (keep(&self->works, action) < 0) {
        leave(self, action);
        forget_action(self, action);
        return NULL;
    }
    if (!demand->resources && action->joined) {
        action->rate = 1.0;
    }
    self->next++;
    return action;
}

static PyObject *
work(Actions *self, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || Py_TYPE(arguments[0]) != &demand_type) {
        PyErr_SetString(PyExc_TypeError, "work() takes demand and remains");
        return NULL;
    }
    Demand *demand = (Demand *)arguments[0];
    double remains = PyFloat_AsDouble(arguments[1]);
    if ((remains == -1.0 && PyErr_Occurred()) || expect_idle(self) < 0) {
        return NULL;
    }
    if (!is_known(self, demand)) {
        PyErr_SetString(PyExc_IndexError, "this demand is of another machine");
        return NULL;
    }
    Action *action = begin_work(self, demand, remains);
    return action ? PyLong_FromUnsignedLongLong(action->number) : NULL;
}

PyDoc_STRVAR(cancel_doc, "cancel($self, number, /)\n--\n\nStop an action before its end.");

static PyObject *
cancel(Actions *self, PyObject *number)
{
    Action *action = action_of(self, number);
    if (!action || expect_idle(self) < 0) {
        return NULL;
    }
    if (action->demand) {
        take_from_works(self, action);
        leave(self, action);
    }
    else {
        sleeps_remove(&self->sleeps, action);
    }
    forget_action(self, action);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(remains_doc, "remains($self, number, /)\n--\n\nThe remaining part of work, in [0,1].");

static PyObject *
remains(Actions *self, PyObject *number)
{
    const Action *action = action_of(self, number);
    if (action && !action->demand) {
        PyErr_SetObject(PyExc_KeyError, number);
        return NULL;
    }
    return action ? PyFloat_FromDouble(action->remains) : NULL;
}

/* Time */

static PyObject *
get_is_settled(Actions *self, void *unused)
{
    return PyBool_FromLong(!self->changed.count);
}

PyDoc_STRVAR(settle_doc, "settle($self, before=None, /)\n--\n\n"
                         "Compute again the rates of all work that a change can affect.");

static PyObject *
settle(Actions *self, PyObject *const *arguments, Py_ssize_t count)
{
    if (count > 1) {
        PyErr_SetString(PyExc_TypeError, "settle() takes one argument or none");
        return NULL;
    }
    if (expect_idle(self) < 0 || (self->changed.count && settle_all(self, count ? arguments[0] : Py_None) < 0)) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(step_doc, "step($self, most, /)\n--\n\n"
                       "The seconds until the next end of an action or a latency, at most `most`.");

double
next_step(const Actions *self, double most)
{
    double earliest = sleeps_earliest(&self->sleeps), seconds = earliest < most ? earliest : most;
    for (Py_ssize_t index = 0; index < self->works.count; index++) {
        const Action *work = self->works.items[index];
        if (work->rate > 0.0) {
            double left = work->remains / work->rate;
            seconds = left < seconds ? left : seconds;
        }
        if (work->latency > 0.0 && work->latency < seconds) {
            seconds = work->latency;
        }
    }
    return seconds;
}

static PyObject *
step(Actions *self, PyObject *given)
{
    double most = PyFloat_AsDouble(given);
    return most == -1.0 && PyErr_Occurred() ? NULL : PyFloat_FromDouble(next_step(self, most));
}

/* Let those whose latency is over use their resources, in the order of their creation: the works are in none. */
static int
join_all(Actions *self)
{
    ActionList *joining = &self->concerned;
    if (joining->count > 1) {
        qsort(joining->items, (size_t)joining->count, sizeof *joining->items, by_number);
    }
    for (Py_ssize_t index = 0; index < joining->count; index++) {
        if (join(self, joining->items[index]) < 0) {
            return -1;
        }
    }
    joining->count = 0;
    return 0;
}

/* Let work go on; 1 if it has come to its end, -1 with MemoryError. */
static int
proceed(Actions *self, Action *work, double seconds)
{
    double rate = work->rate;
    if (work->latency > 0.0) {
        work->latency = work->latency > seconds ? work->latency - seconds : 0.0;
        if (work->latency < self->sleeps.timing) {
            work->latency = 0.0;
            if (keep(&self->concerned, work) < 0) {
                return -1;
            }
        }
    }
    work->remains -= rate * seconds;
    if (work->remains < self->work_left) {
        work->remains = 0.0;
        return work->latency <= 0.0;
    }
    return 0;
}

/* Those that have ended are in nobody's way any more, but for the resources that they use. */
void
dismiss_ended(Actions *self)
{
    for (Py_ssize_t index = 0; index < self->ended.count; index++) {
        Action *action = self->ended.items[index];
        if (action->demand) {
            self->retiring.items[self->retiring.count++] = action;
            take_from_works(self, action);
            strike_out(self, action->number);
        }
        else {
            forget_action(self, action);
        }
    }
    self->ended.count = 0;
}

static PyObject *
told_ended(Actions *self)
{
    ActionList *ended = &self->ended;
    PyObject *numbers = PyList_New(ended->count);
    for (Py_ssize_t index = 0; numbers && index < ended->count; index++) {
        PyObject *number = PyLong_FromUnsignedLongLong(ended->items[index]->number);
        if (number) {
            PyList_SET_ITEM(numbers, index, number);
        }
        else {
            Py_CLEAR(numbers);
        }
    }
    dismiss_ended(self);
    return numbers;
}

PyDoc_STRVAR(advance_doc, "advance($self, seconds, /)\n--\n\n"
                          "Make a step, and return the numbers of all actions that have ended, in order.");

/* Make a step. `self->ended` has what has ended, in order. */
int
go_forward(Actions *self, double seconds)
{
    ActionList *ended = &self->ended;
    ended->count = self->concerned.count = 0;
    if (sleeps_subtract(&self->sleeps, seconds, ended) < 0) {
        return -1;
    }
    for (Py_ssize_t index = 0; index < self->works.count; index++) {
        Action *work = self->works.items[index];
        int has_ended = proceed(self, work, seconds);
        if (has_ended < 0 || (has_ended && keep(ended, work) < 0)) {
            return -1;
        }
    }
    if (join_all(self) < 0 || make_room(&self->retiring.items, self->retiring.count, &self->retiring.room, ended->count,
                                        sizeof *ended->items) < 0) {
        return -1;
    }
    if (ended->count > 1) {
        qsort(ended->items, (size_t)ended->count, sizeof *ended->items, by_number);
    }
    return 0;
}

static PyObject *
make_step(Actions *self, double seconds)
{
    return go_forward(self, seconds) < 0 ? NULL : told_ended(self);
}

static PyObject *
advance(Actions *self, PyObject *given)
{
    double seconds = PyFloat_AsDouble(given);
    if ((seconds == -1.0 && PyErr_Occurred()) || expect_idle(self) < 0) {
        return NULL;
    }
    return make_step(self, seconds);
}

PyDoc_STRVAR(retire_doc, "retire($self, /)\n--\n\nRelease the resources of the work that ended in the last step.");

void
retire_all(Actions *self)
{
    while (self->retiring.count) {
        Action *work = self->retiring.items[--self->retiring.count];
        leave(self, work);
        forget_action(self, work);
    }
}

static PyObject *
retire(Actions *self, PyObject *unused)
{
    if (expect_idle(self) < 0) {
        return NULL;
    }
    retire_all(self);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(go_on_doc, "go_on($self, most, /)\n--\n\n"
                        "Settle, and make a step of at most `most`. Return its seconds, and what has ended.");

static PyObject *
go_on(Actions *self, PyObject *given)
{
    double most = PyFloat_AsDouble(given);
    if ((most == -1.0 && PyErr_Occurred()) || expect_idle(self) < 0 ||
        (self->changed.count && settle_all(self, Py_None) < 0)) {
        return NULL;
    }
    double seconds = next_step(self, most);
    PyObject *ended = seconds > DBL_MAX ? PyList_New(0) : make_step(self, seconds);
    retire_all(self);
    PyObject *length = ended ? PyFloat_FromDouble(seconds) : NULL, *made = length ? PyTuple_New(2) : NULL;
    if (!made) {
        Py_XDECREF(ended);
        Py_XDECREF(length);
        return NULL;
    }
    PyTuple_SET_ITEM(made, 0, length);
    PyTuple_SET_ITEM(made, 1, ended);
    return made;
}

PyMethodDef actions_methods[] = {
    {"add_link", (PyCFunction)add_link, METH_VARARGS, add_link_doc},
    {"capacity", (PyCFunction)capacity, METH_O, capacity_doc},
    {"change", (PyCFunction)change, METH_VARARGS, change_doc},
    {"load", (PyCFunction)load, METH_O, load_doc},
    {"demand", FAST(demand), demand_doc},
    {"sleep", (PyCFunction)sleep_for, METH_O, sleep_doc},
    {"work", FAST(work), work_doc},
    {"cancel", (PyCFunction)cancel, METH_O, cancel_doc},
    {"remains", (PyCFunction)remains, METH_O, remains_doc},
    {"settle", FAST(settle), settle_doc},
    {"step", (PyCFunction)step, METH_O, step_doc},
    {"advance", (PyCFunction)advance, METH_O, advance_doc},
    {"retire", (PyCFunction)retire, METH_NOARGS, retire_doc},
    {"go_on", (PyCFunction)go_on, METH_O, go_on_doc},
    {"__getstate__", (PyCFunction)get_state, METH_NOARGS, NULL},
    {"__setstate__", (PyCFunction)set_state, METH_O, NULL},
    {"__reduce__", (PyCFunction)reduce, METH_NOARGS, NULL},
    {"__copy__", (PyCFunction)copy_of, METH_NOARGS, NULL},
    {"__deepcopy__", (PyCFunction)copy_of, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

PyGetSetDef actions_attributes[] = {
    {"is_settled", (getter)get_is_settled, NULL, "Whether nothing has changed since `settle`.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
