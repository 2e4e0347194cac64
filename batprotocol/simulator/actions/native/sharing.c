/* How work shares hosts and links: the fair bottleneck of SimGrid's model of parallel tasks, as `sharing.py` has it.

   What changes concerns only the work that is connected with it over shared resources. */

#include "actions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ENOUGH = 1024 }; /* as in `rounds.py` */

static uint64_t versions;

/* A number of the speeds of one machine: a demand that several machines have knows for which its rate is. */
uint64_t
new_version(void)
{
    return ++versions;
}

void
set_precision(Actions *self, double timing, double work_amount)
{
    self->sleeps.timing = timing;
    self->work_amount = work_amount;
    self->work_left = work_amount * timing;
}

int
add_resource(Actions *self, double capacity, int is_fatpipe)
{
    Py_ssize_t room = self->resource_room;
    if (make_room(&self->resources, self->resource_count, &room, 1, sizeof *self->resources) < 0 ||
        make_room(&self->changed.items, self->resource_count, &self->changed.room, 1, sizeof(int)) < 0) {
        return -1;
    }
    self->resource_room = (int)room;
    self->resources[self->resource_count] = (Resource){.capacity = capacity, .is_fatpipe = (char)is_fatpipe};
    return self->resource_count++;
}

void
mark_changed(Actions *self, int resource)
{
    if (!self->resources[resource].is_changed) { /* there is room for all resources */
        self->resources[resource].is_changed = 1;
        self->changed.items[self->changed.count++] = resource;
    }
}

int
join(Actions *self, Action *work)
{
    const Demand *demand = work->demand;
    for (int index = 0; index < demand->resources; index++) {
        Resource *resource = &self->resources[demand->resource[index]];
        Py_ssize_t room = resource->room;
        if (make_room(&resource->users, resource->count, &room, 1, sizeof *resource->users) < 0) {
            return -1;
        }
        resource->room = (int)room;
    }
    for (int index = 0; index < demand->resources; index++) {
        Resource *resource = &self->resources[demand->resource[index]];
        resource->users[resource->count++] = (User){work, demand->first[index], demand->first[index + 1]};
        mark_changed(self, demand->resource[index]);
    }
    work->rate = 0.0;
    work->joined = ++self->joined;
    return 0;
}

void
leave(Actions *self, Action *work)
{
    if (!work->joined) {
        return;
    }
    work->joined = 0;
    for (int index = 0; index < work->demand->resources; index++) {
        Resource *resource = &self->resources[work->demand->resource[index]];
        int place = resource->count - 1;
        while (resource->users[place].work != work) {
            place--;
        }
        resource->count--;
        memmove(resource->users + place, resource->users + place + 1,
                (size_t)(resource->count - place) * sizeof *resource->users);
        mark_changed(self, work->demand->resource[index]);
    }
}

/* The newest first, as SimGrid adds. */
double
load_of(const Resource *resource)
{
    double total = 0.0;
    for (int index = resource->count - 1; index >= 0; index--) {
        const User *user = &resource->users[index];
        for (int part = user->last - 1; part >= user->first; part--) {
            total += user->work->demand->weight[part] * user->work->rate;
        }
    }
    return total;
}

/* Sharing out */

/* The greatest rate that there could be with all resources to oneself, as far as one part can tell. */
static double
bound_of(const Actions *self, const Demand *demand)
{
    double bound = demand->network_bound;
    if (bound == 0.0) { /* SimGrid takes it for none */
        return Py_HUGE_VAL;
    }
    for (int index = 0; index < demand->computing; index++) {
        double rate = self->speeds[demand->host[index]] / demand->flops[index];
        bound = rate < bound ? rate : bound;
    }
    for (int index = 0; self->is_corrected && index < demand->resources; index++) { /* of a FATPIPE, all get all */
        const Resource *resource = &self->resources[demand->resource[index]];
        double rate = resource->capacity / demand->most[index];
        bound = resource->is_fatpipe && rate < bound ? rate : bound;
    }
    return bound;
}

static void
stop_growing(Actions *self, Action *work)
{
    const Demand *demand = work->demand;
    work->is_growing = 0;
    for (int index = 0; index < demand->resources; index++) {
        self->resources[demand->resource[index]].parts -= demand->first[index + 1] - demand->first[index];
    }
}

static void
grow(Actions *self, Action *work)
{
    const Demand *demand = work->demand;
    double growth = Py_HUGE_VAL;
    for (int index = 0; index < demand->resources; index++) {
        double most = self->resources[demand->resource[index]].offer / demand->most[index];
        growth = most < growth ? most : growth;
    }
    if (work->bound < Py_HUGE_VAL && work->bound - work->rate < growth) {
        growth = work->bound - work->rate;
    }
    work->growth = growth;
    work->rate += growth;
    if (work->rate == work->bound) {
        stop_growing(self, work);
    }
}

/* Take what all have got from a resource; whether nothing is left of it. */
static int
is_used_up(Resource *resource, double least)
{
    double left = resource->left;
    if (resource->is_fatpipe) {
        double offer = resource->offer;
        for (int index = 0; index < resource->count; index++) {
            const User *user = &resource->users[index];
            for (int part = user->first; part < user->last; part++) {
                double taken = user->work->demand->weight[part] * user->work->growth;
                offer = taken < offer ? taken : offer;
            }
        }
        resource->offer = offer;
        left -= offer;
    }
    else {
        for (int index = resource->count; index-- && !(left < least);) {
            const User *user = &resource->users[index];
            double growth = user->work->growth;
            for (int part = user->last; part-- > user->first;) {
                left -= user->work->demand->weight[part] * growth;
                if (left < least) {
                    left = 0.0; /* and stays so, whatever else is taken */
                    break;
                }
            }
        }
    }
    resource->left = left < least ? 0.0 : left;
    return resource->left <= 0.0;
}

/* One round: all that grow are raised by what they are offered, those who came to their bounds or used up something stop.
   How many grow on; -1 with an exception. */
static Py_ssize_t
raise_all(Actions *self)
{
    Py_ssize_t steps = 0;
    ActionList *growing = &self->growing;
    IntList *alive = &self->alive;
    for (Py_ssize_t index = 0; index < alive->count; index++) {
        Resource *resource = &self->resources[alive->items[index]];
        if (!resource->parts) {
            resource->left = resource->offer = 0.0;
        }
        else {
            resource->offer = resource->is_fatpipe ? resource->left : resource->left / resource->parts;
        }
    }
    for (Py_ssize_t index = 0; index < growing->count; index++) {
        grow(self, growing->items[index]);
    }
    Py_ssize_t kept = 0, used_up = alive->count;
    for (Py_ssize_t index = 0; index < used_up;) { /* those that are used up go to the end */
        int number = alive->items[index];
        steps += self->resources[number].count;
        if (is_used_up(&self->resources[number], self->work_amount)) {
            alive->items[index] = alive->items[--used_up];
            alive->items[used_up] = number;
        }
        else {
            index++;
        }
    }
    for (Py_ssize_t index = used_up; index < alive->count; index++) {
        const Resource *resource = &self->resources[alive->items[index]];
        for (int user = 0; user < resource->count; user++) {
            if (resource->users[user].work->is_growing) {
                stop_growing(self, resource->users[user].work);
            }
        }
    }
    alive->count = used_up;
    for (Py_ssize_t index = 0; index < growing->count; index++) {
        if (growing->items[index]->is_growing) {
            growing->items[kept++] = growing->items[index];
        }
    }
    growing->count = kept;
    return look_up(self, steps) < 0 ? -1 : kept;
}

/* What `jump` takes: FATPIPEs and the work that grows on them alone; NULL: something else grows, or an exception. */
static PyObject *
jumping(Actions *self)
{
    for (Py_ssize_t index = 0; index < self->alive.count; index++) {
        Resource *resource = &self->resources[self->alive.items[index]];
        resource->place = (int)index;
        if (!resource->is_fatpipe) {
            return NULL;
        }
    }
    for (Py_ssize_t index = 0; index < self->growing.count; index++) {
        const Demand *demand = self->growing.items[index]->demand;
        const Resource *pipe = &self->resources[demand->resource[0]];
        double least = demand->most[0];
        for (int part = 0; part < demand->first[1]; part++) {
            least = demand->weight[part] < least ? demand->weight[part] : least;
        }
        if (demand->resources != 1 || pipe->offer * ENOUGH > pipe->left * least / demand->most[0]) {
            return NULL; /* it may be the one who got least */
        }
    }
    PyObject *pipes = PyList_New(self->alive.count), *works = PyList_New(self->growing.count);
    for (Py_ssize_t index = 0; pipes && works && index < self->alive.count; index++) {
        const Resource *resource = &self->resources[self->alive.items[index]];
        PyList_SET_ITEM(pipes, index, Py_BuildValue("dd", resource->left, resource->offer));
    }
    for (Py_ssize_t index = 0; pipes && works && index < self->growing.count; index++) {
        const Action *work = self->growing.items[index];
        int place = self->resources[work->demand->resource[0]].place;
        PyList_SET_ITEM(works, index, Py_BuildValue("iddd", place, work->demand->most[0], work->rate, work->bound));
    }
    if (PyErr_Occurred()) {
        Py_XDECREF(pipes);
        Py_XDECREF(works);
        return NULL;
    }
    return Py_BuildValue("NN", pipes, works);
}

/* Go over many rounds at once, where all that grow use a FATPIPE alone; 1: there is no end of rounds, -1: an exception. */
static int
jump(Actions *self)
{
    PyObject *arguments = jumping(self);
    if (!arguments) {
        return PyErr_Occurred() ? -1 : 0;
    }
    PyObject *module = PyImport_ImportModule("batprotocol.simulator.actions.sharing");
    PyObject *function = module ? PyObject_GetAttrString(module, "jump") : NULL;
    PyObject *found = function ? PyObject_CallObject(function, arguments) : NULL;
    PyObject *lefts, *rates;
    long long rounds = -1;
    int result = found && PyArg_ParseTuple(found, "LO!O!", &rounds, &PyList_Type, &lefts, &PyList_Type, &rates) ? 0 : -1;
    if (result == 0 && rounds > 0) {
        for (Py_ssize_t index = 0; index < self->alive.count; index++) {
            self->resources[self->alive.items[index]].left = PyFloat_AsDouble(PyList_GET_ITEM(lefts, index));
        }
        for (Py_ssize_t index = 0; index < self->growing.count; index++) {
            self->growing.items[index]->rate = PyFloat_AsDouble(PyList_GET_ITEM(rates, index));
        }
    }
    Py_XDECREF(found);
    Py_XDECREF(function);
    Py_XDECREF(module);
    Py_DECREF(arguments);
    return result == 0 && rounds < 0 ? 1 : result;
}

/* Find the rates of all work in `concerned` from `first` on, which uses the resources in `near`. */
static int
share_out(Actions *self, Py_ssize_t first)
{
    ActionList *concerned = &self->concerned, *growing = &self->growing;
    growing->count = self->alive.count = 0;
    for (Py_ssize_t index = first; index < concerned->count; index++) {
        Action *work = concerned->items[index];
        work->bound = bound_of(self, work->demand);
        work->rate = work->growth = 0.0;
        work->is_growing = 1;
        if (keep(growing, work) < 0) {
            return -1;
        }
    }
    for (Py_ssize_t index = 0; index < self->near.count; index++) {
        Resource *resource = &self->resources[self->near.items[index]];
        resource->left = resource->capacity;
        resource->parts = 0;
        for (int user = 0; user < resource->count; user++) {
            resource->parts += resource->users[user].last - resource->users[user].first;
        }
        if (self->is_corrected && resource->is_fatpipe) {
            resource->offer = Py_HUGE_VAL; /* it is a bound */
        }
        else if (resource->count && keep_int(&self->alive, self->near.items[index]) < 0) {
            return -1;
        }
    }
    for (int walked = 1;; walked = walked % ENOUGH + 1) {
        Py_ssize_t growing_on = raise_all(self);
        if (growing_on <= 0) {
            return growing_on < 0 ? -1 : 0;
        }
        for (Py_ssize_t index = first; self->is_corrected && index < concerned->count; index++) {
            if (!concerned->items[index]->is_growing) { /* else a resource goes on losing what it took last */
                concerned->items[index]->growth = 0.0;
            }
        }
        int is_endless = walked == ENOUGH ? jump(self) : 0;
        if (is_endless) {
            return is_endless < 0 ? -1 : 0;
        }
    }
}

/* Work that shares nothing has always the same rate, unless speeds change. */
static int
go_alone(Actions *self, Py_ssize_t first)
{
    Action *work = self->concerned.items[first];
    Demand *demand = work->demand;
    if (demand->version == self->version) {
        work->rate = demand->rate;
        return 0;
    }
    if (share_out(self, first) < 0) {
        return -1;
    }
    demand->version = self->version;
    demand->rate = work->rate;
    return 0;
}

/* All that is connected with a resource: work into `concerned`, resources into `near`. */
static int
connect(Actions *self, int resource)
{
    self->near.count = 0;
    self->resources[resource].seen = self->epoch;
    if (keep_int(&self->near, resource) < 0) {
        return -1;
    }
    for (Py_ssize_t place = 0; place < self->near.count; place++) {
        const Resource *at = &self->resources[self->near.items[place]];
        for (int user = 0; user < at->count; user++) {
            Action *work = at->users[user].work;
            if (work->seen == self->epoch) {
                continue;
            }
            work->seen = self->epoch;
            work->before = work->rate;
            if (keep(&self->concerned, work) < 0) {
                return -1;
            }
            for (int index = 0; index < work->demand->resources; index++) {
                Resource *other = &self->resources[work->demand->resource[index]];
                if (other->seen != self->epoch) {
                    other->seen = self->epoch;
                    if (keep_int(&self->near, work->demand->resource[index]) < 0) {
                        return -1;
                    }
                }
            }
        }
    }
    return 0;
}

/* Tell of the work whose rate has changed, while all has the rates from before. */
static int
tell(Actions *self, PyObject *before)
{
    ActionList *concerned = &self->concerned;
    int result = 0;
    if (concerned->count) {
        qsort(concerned->items, (size_t)concerned->count, sizeof *concerned->items, by_number);
    }
    for (Py_ssize_t index = 0; index < concerned->count; index++) {
        Action *work = concerned->items[index];
        double rate = work->rate;
        work->rate = work->before;
        work->before = rate;
    }
    for (Py_ssize_t index = 0; result == 0 && index < concerned->count; index++) {
        const Action *work = concerned->items[index];
        if (work->rate != work->before) {
            PyObject *told = PyObject_CallFunction(before, "K", (unsigned long long)work->number);
            result = told ? 0 : -1;
            Py_XDECREF(told);
        }
    }
    for (Py_ssize_t index = 0; index < concerned->count; index++) {
        concerned->items[index]->rate = concerned->items[index]->before;
    }
    return result;
}

static int
settle_changed(Actions *self)
{
    self->epoch++;
    self->concerned.count = 0;
    for (Py_ssize_t index = 0; index < self->changed.count; index++) {
        int number = self->changed.items[index];
        Resource *resource = &self->resources[number];
        resource->is_changed = 0;
        if (!resource->count || resource->seen == self->epoch) {
            continue;
        }
        Py_ssize_t first = self->concerned.count;
        if (connect(self, number) < 0) {
            return -1;
        }
        int alone = self->concerned.count == first + 1;
        if ((alone ? go_alone(self, first) : share_out(self, first)) < 0) {
            return -1;
        }
    }
    self->changed.count = 0;
    return 0;
}

int
settle_all(Actions *self, PyObject *before)
{
    self->is_busy = 1;
    int result = settle_changed(self);
    if (result == 0 && before != Py_None) {
        result = tell(self, before);
    }
    self->is_busy = 0;
    return result;
}
