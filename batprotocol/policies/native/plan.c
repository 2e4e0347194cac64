/* The second loop of Slurm on whole nodes: the same as in loops.py and selection.py, to the last bit.

   `Plan` has the methods of `PlannedNodes`, and `run`, which plans jobs until one may start, or needs what is not here:
   Python looks at this job, and then calls `run` for those behind it. Sets of nodes come and go as whole numbers. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "../../native.h"
#include "parts.h"
#include "rows.h"

/* The plan */

static const long long MOST = 1LL << 52;

/* A run begins. What earlier ones have planned is kept, if they had the same nodes and a window as long. */
static int
begin_run(Plan *self, long long begin, long long end, PyObject *nodes)
{
    Word *set = scratch_of(self, ALL), *given = scratch_of(self, GIVEN);
    if (begin < -MOST || begin > MOST || end < -MOST || end > MOST) {
        PyErr_SetString(PyExc_ValueError, "expected times of less than 2^52 seconds");
        return -1;
    }
    if (set_from(nodes, given, self->words) < 0) {
        return -1;
    }
    if (!self->count || end - begin != self->end - self->begins[0] || memcmp(set, given, size_of(self->words))) {
        self->made_known = 0;
    }
    self->count = 1;
    self->begins[0] = begin;
    self->end = end;
    self->ahead = self->made_count = 0;
    self->serial = 0;
    memcpy(set, given, size_of(self->words));
    memcpy(set_of(self, 0), given, size_of(self->words));
    *size_at(self, 0) = (struct size){count_of(given, self->words), 0};
    return 0;
}

static PyObject *
new_plan(PyTypeObject *type, PyObject *arguments, PyObject *Py_UNUSED(names))
{
    long long begin, end, resolution;
    Py_ssize_t width;
    PyObject *nodes;
    if (!PyArg_ParseTuple(arguments, "LLOLn:Plan", &begin, &end, &nodes, &resolution, &width)) {
        return NULL;
    }
    if (resolution < 0 || resolution > MOST) {
        PyErr_SetString(PyExc_ValueError, "expected times of less than 2^52 seconds");
        return NULL;
    }
    Py_ssize_t words = words_for(width);
    Plan *self = words < 0 ? NULL : (Plan *)type->tp_alloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->words = words;
    self->resolution = resolution;
    self->scratch = PyMem_Calloc(SETS, size_of(words));
    self->runs = PyMem_Malloc((size_t)(32 * words + 1) * sizeof *self->runs);
    self->sorted = PyMem_Malloc((size_t)(32 * words + 1) * sizeof *self->sorted);
    self->lengths = PyMem_Malloc((size_t)(64 * words + 2) * sizeof *self->lengths);
    if (!self->scratch || !self->runs || !self->sorted || !self->lengths) {
        PyErr_NoMemory();
        Py_CLEAR(self);
    }
    else if (make_room(self, 64) < 0) {
        Py_CLEAR(self);
    }
    else if (begin_run(self, begin, end, nodes) < 0) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

PyDoc_STRVAR(begin_doc, "begin($self, begin, end, nodes, /)\n--\n\nA run begins: nothing is planned in it yet.");

static PyObject *
plan_begin(Plan *self, PyObject *arguments)
{
    long long begin, end;
    PyObject *nodes;
    if (!PyArg_ParseTuple(arguments, "LLO:begin", &begin, &end, &nodes) || begin_run(self, begin, end, nodes) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static void
free_plan(Plan *self)
{
    PyMem_Free(self->begins);
    PyMem_Free(self->slots);
    PyMem_Free(self->pool);
    PyMem_Free(self->sizes);
    PyMem_Free(self->scratch);
    PyMem_Free(self->runs);
    PyMem_Free(self->sorted);
    PyMem_Free(self->lengths);
    PyMem_Free(self->made);
    PyMem_Free(self->made_sets);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static Py_ssize_t
length_of(Plan *self)
{
    return self->count;
}

PyDoc_STRVAR(reserve_doc, "reserve($self, start, end, nodes, /)\n--\n\nPlan nodes for a job.");

static PyObject *
plan_reserve(Plan *self, PyObject *arguments)
{
    long long start, end;
    PyObject *nodes;
    Word *set = scratch_of(self, GIVEN);
    if (!PyArg_ParseTuple(arguments, "LLO:reserve", &start, &end, &nodes) || set_from(nodes, set, self->words) < 0 ||
        reserve(self, start, end, set) < 0 || note_made(self, start, end, set) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(second_begin_doc, "second_begin($self, /)\n--\n\nWhen the second part begins; infinity: there is one.");

static PyObject *
plan_second_begin(Plan *self, PyObject *Py_UNUSED(nothing))
{
    return PyFloat_FromDouble(self->count > 1 ? (double)self->begins[1] : INFINITY);
}

PyDoc_STRVAR(begin_after_doc, "begin_after($self, time, /)\n--\n\nWhen the first part after a time begins.");

static PyObject *
plan_begin_after(Plan *self, PyObject *arguments)
{
    long long time;
    return PyArg_ParseTuple(arguments, "L:begin_after", &time) ? PyFloat_FromDouble(begin_after(self, time)) : NULL;
}

PyDoc_STRVAR(overlaps_doc, "overlaps($self, start, end, nodes, /)\n--\n\nWhether some of the nodes are planned.");

static PyObject *
plan_overlaps(Plan *self, PyObject *arguments)
{
    long long start, end;
    PyObject *nodes;
    Word *set = scratch_of(self, GIVEN);
    if (!PyArg_ParseTuple(arguments, "LLO:overlaps", &start, &end, &nodes) || set_from(nodes, set, self->words) < 0) {
        return NULL;
    }
    return PyBool_FromLong(overlaps(self, start, end, set));
}

PyDoc_STRVAR(free_until_doc, "free_until($self, end, nodes, count, /)\n--\n\nWhether so many nodes are free so long.");

static PyObject *
plan_free_until(Plan *self, PyObject *arguments)
{
    long long end, count;
    PyObject *nodes;
    Word *set = scratch_of(self, GIVEN);
    if (!PyArg_ParseTuple(arguments, "LOL:free_until", &end, &nodes, &count) ||
        set_from(nodes, set, self->words) < 0) {
        return NULL;
    }
    return PyBool_FromLong(free_until(self, end, set, count));
}

PyDoc_STRVAR(usable_doc, "usable($self, start, end, nodes, /)\n--\n\nThe nodes that are free all the time, and when "
                         "others are free next; 0: never.");

static PyObject *
plan_usable(Plan *self, PyObject *arguments)
{
    long long start, end;
    PyObject *nodes;
    Word *set = scratch_of(self, GIVEN), *found = scratch_of(self, USABLE);
    if (!PyArg_ParseTuple(arguments, "LLO:usable", &start, &end, &nodes) || set_from(nodes, set, self->words) < 0) {
        return NULL;
    }
    long long later = usable_nodes(self, start, end, set, found);
    return Py_BuildValue("NL", number_of(found, self->words), later);
}

PyDoc_STRVAR(next_room_doc, "next_room($self, start, length, nodes, count, releases, /)\n--\n\nThe first time from "
                            "which on a job may start before others are free for it.");

static PyObject *
plan_next_room(Plan *self, PyObject *arguments)
{
    long long start, length, count;
    PyObject *nodes;
    Releases *releases;
    Word *set = scratch_of(self, GIVEN);
    if (!PyArg_ParseTuple(arguments, "LLOLO!:next_room", &start, &length, &nodes, &count, &releases_type, &releases) ||
        set_from(nodes, set, self->words) < 0) {
        return NULL;
    }
    if (releases->words != self->words) {
        PyErr_SetString(PyExc_ValueError, "expected releases of as many nodes");
        return NULL;
    }
    return PyLong_FromLongLong(next_room(self, start, length, set, count, releases));
}

/* The loop */

typedef struct {
    PyObject *owner, *entries;
    Releases *releases;
    long long now, epoch;
    int asks, orders, notes, is_single; /* what is asked of Python for each job: see `run` */
    double tests, starts, parts;        /* the most of each; 0: any number, but of tests */
    long long tested, started;
    int has_moved;
    double until;
} Loop;

/* The truth of what a method of the owner says about a job; -1 with an exception. */
static int
ask(PyObject *owner, PyObject *method, PyObject *job, PyObject *partition)
{
    PyObject *answer = PyObject_CallMethodObjArgs(owner, method, job, partition, NULL);
    int truth = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return truth;
}

/* Choose the nodes of a job from a set that has enough of them; 0 if they do not do, -1 with an exception. */
static int
choose(Plan *self, Loop *loop, PyObject *job, const Row *row, const Word *nodes, Word *chosen)
{
    if (!(row->flags & CHOOSES)) {
        best_fit(self, nodes, row->count, chosen);
        return 1;
    }
    PyObject *number = number_of(nodes, self->words);
    PyObject *found =
        number ? PyObject_CallMethodObjArgs(loop->owner, choose_name, job, row->partition, number, NULL) : NULL;
    int is_found = found && found != Py_None;
    int failed = !found || (is_found && set_from(found, chosen, self->words) < 0);
    Py_XDECREF(number);
    Py_XDECREF(found);
    return failed ? -1 : is_found;
}

/* When and where a job can start on these nodes: `earliest` of selection.py. 0: never, -1 with an exception. */
static int
earliest(Plan *self, Loop *loop, PyObject *job, const Row *row, const Word *nodes, int64_t late, int64_t *start,
         Word *chosen)
{
    const Releases *releases = loop->releases;
    Py_ssize_t words = self->words, low = 0, high = releases->count;
    Word *room = scratch_of(self, FITTING);
    both(room, nodes, releases->free, words);
    if (count_of(room, words) >= row->count) {
        int found = choose(self, loop, job, row, room, chosen);
        if (found) {
            *start = loop->now;
            return found;
        }
    }
    while (low < high) {
        Py_ssize_t middle = (low + high) / 2;
        if (count_both(nodes, releases->free + (middle + 1) * words, words) >= row->count) {
            high = middle;
        }
        else {
            low = middle + 1;
        }
    }
    if (late && low < releases->count &&
        releases->ends[low] > (double)(late > loop->now ? late : loop->now)) {
        *start = (int64_t)floor(releases->ends[low]);
        memset(chosen, 0, size_of(words)); /* nobody asks for the nodes */
        return 1;
    }
    for (; low < releases->count; low++) {
        both(room, nodes, releases->free + (low + 1) * words, words);
        if (count_of(room, words) < row->count) {
            continue;
        }
        int found = choose(self, loop, job, row, room, chosen);
        if (found) {
            double end = releases->ends[low];
            *start = end <= (double)loop->now ? loop->now + 1 : (int64_t)floor(end);
            return found;
        }
    }
    return 0;
}

static int64_t
rounded(const Plan *self, const Loop *loop, int64_t time)
{
    int64_t at = time + loop->epoch, over = self->resolution ? at % self->resolution : 0;
    return time - (over < 0 ? over + self->resolution : over);
}

static void
no_later(Loop *loop, double until)
{
    loop->until = until < loop->until ? until : loop->until;
}

/* A job has no plan as it could not start before a time: `_is_too_late` of loops.py. */
static void
too_late(const Plan *self, Loop *loop, int64_t time)
{
    int64_t until = time - self->end + loop->now - 1;
    no_later(loop, (double)(until > loop->now ? until : loop->now));
}

/* What the search for the plan of a job has found. */
typedef struct {
    int64_t start, first, last; /* of its plan, whose nodes are CHOSEN */
    double same;                /* the last second at which a search finds the same with the same `until` */
} Found;

enum { NO_PLAN = 0, STARTS = 1, HAS_PLAN = 2 };

/* Search the plan of a job: `_search` of loops.py. It may start now, has a plan or none; -1 with an exception. */
static int
search(Plan *self, Loop *loop, PyObject *job, const Row *row, int only_now, Found *plan)
{
    Py_ssize_t words = self->words;
    Word *usable = scratch_of(self, USABLE), *mine = scratch_of(self, MINE), *chosen = scratch_of(self, CHOSEN);
    int64_t now = loop->now, length = row->length, later = now;
    int misses = 0;
    both(mine, row->nodes, scratch_of(self, ASKED), words);
    double moves = begin_after(self, now + length) - (double)length - 1;
    if (row->flags & CHOOSES) {
        no_later(loop, moves);
    }
    for (;;) {
        int64_t begin = later, start;
        if (!only_now) {
            begin = next_room(self, begin, length, mine, row->count, loop->releases);
        }
        if (begin > self->end) {
            too_late(self, loop, begin);
            return NO_PLAN;
        }
        later = usable_nodes(self, begin, begin + length, mine, usable);
        int found = 0;
        if (count_of(usable, words) >= row->least) {
            found = earliest(self, loop, job, row, usable, only_now ? 0 : later, &start, chosen);
        }
        if (found < 0) {
            return -1;
        }
        if (later && !only_now && (!found || (start > later && begin <= now))) {
            continue; /* with fewer nodes, too */
        }
        if (begin <= now) {
            no_later(loop, moves);
        }
        if (!found) {
            return NO_PLAN;
        }
        loop->has_moved |= begin > start;
        start = begin > start ? begin : start;
        if (start <= now && share_some(chosen, scratch_of(self, COMPLETING), words)) {
            start = now + 1;
            later = 0;
        }
        if (start <= now + 1) {
            loop->until = (double)now;
        }
        plan->same = (double)(start - 2) < plan->same ? (double)(start - 2) : plan->same;
        if (start <= now) {
            return STARTS;
        }
        if (only_now) {
            return NO_PLAN;
        }
        if (later && start > later) {
            continue;
        }
        int64_t first = rounded(self, loop, start), last = rounded(self, loop, start + length);
        if (start > self->end) {
            too_late(self, loop, start);
            return NO_PLAN;
        }
        if (first >= self->end) {
            loop->until = (double)now;
        }
        if (overlaps(self, first, last, chosen)) {
            later = start > begin || !misses ? start : start + self->resolution;
            misses++;
            continue;
        }
        plan->start = start;
        plan->first = first;
        plan->last = last;
        return HAS_PLAN;
    }
}

/* Search the plan of a job, unless what an earlier search has found is still valid: the first steps of `_test`. */
static int
find(Plan *self, Loop *loop, PyObject *job, Row *row, int only_now, Found *plan)
{
    Word *chosen = scratch_of(self, CHOSEN);
    double until = loop->until, now = (double)loop->now;
    int moved = loop->has_moved, found, is_kept = self->footing && !only_now;
    if (is_kept && row->footing == self->footing && row->serial == self->serial && now <= row->until &&
        now <= row->same) {
        *plan = (Found){row->start, row->first, row->end, row->same};
        memcpy(chosen, row->chosen, size_of(self->words));
        found = row->has_plan ? HAS_PLAN : NO_PLAN;
        loop->has_moved |= row->has_moved;
        no_later(loop, row->until);
        return found;
    }
    loop->until = plan->same = INFINITY;
    loop->has_moved = 0;
    found = search(self, loop, job, row, only_now, plan);
    row->footing = 0;
    if (is_kept && (found == NO_PLAN || found == HAS_PLAN) && loop->until > now && plan->same > now) {
        row->footing = self->footing;
        row->serial = self->serial;
        row->has_plan = found == HAS_PLAN;
        row->start = row->has_plan ? plan->start : 0;
        row->first = row->has_plan ? plan->first : 0;
        row->end = row->has_plan ? plan->last : 0;
        row->until = loop->until;
        row->same = plan->same;
        row->has_moved = loop->has_moved;
        memcpy(row->chosen, chosen, size_of(self->words));
    }
    loop->has_moved |= moved;
    no_later(loop, until);
    return found;
}

/* Plan a job: `_plan` of loops.py. */
static int
keep(Plan *self, Loop *loop, PyObject *job, const Row *row, const Found *plan, double earlier)
{
    const Word *chosen = scratch_of(self, CHOSEN);
    if (!(loop->is_single && earlier != 0) && (reserve(self, plan->first, plan->last, chosen) < 0 ||
                                               note_made(self, plan->first, plan->last, chosen) < 0)) {
        return -1;
    }
    no_later(loop, (self->count > 1 ? (double)self->begins[1] : INFINITY) - 1);
    if (plan->last >= self->end) {
        no_later(loop, (double)(plan->last - self->end + loop->now - 1));
    }
    loop->has_moved |= share_some(chosen, scratch_of(self, OPEN), self->words);
    if ((loop->notes || row->flags & ASKS) &&
        ask(loop->owner, plans_name, job, row->partition) < 0) {
        return -1;
    }
    if (earlier == 0 || (double)plan->start < earlier) {
        PyObject *time = PyLong_FromLongLong(plan->start), *nodes = time ? number_of(chosen, self->words) : NULL;
        if (nodes) {
            set_field(job, PLANNED, time);
            set_field(job, PLANNED_NODES, nodes);
        }
        Py_XDECREF(time);
        Py_XDECREF(nodes);
        return nodes ? 0 : -1;
    }
    return 0;
}

/* Test a job: `_test` of loops.py. 1: it may start now, and nothing has changed; 0: it has a plan or none; -1. */
static int
test(Plan *self, Loop *loop, PyObject *job, Row *row)
{
    int only_now = loop->orders ? ask(loop->owner, is_not_reserved_name, job, row->partition) : 0;
    double earlier = PyFloat_AsDouble(job_field(job, PLANNED));
    if (only_now < 0 || (earlier == -1.0 && PyErr_Occurred())) {
        return -1;
    }
    Found plan = {0};
    int found = find(self, loop, job, row, only_now, &plan);
    if (found == HAS_PLAN) {
        return keep(self, loop, job, row, &plan, earlier);
    }
    if (found != NO_PLAN) {
        return found < 0 ? -1 : 1;
    }
    return row->flags & ASKS && ask(loop->owner, rejects_name, job, row->partition) < 0 ? -1 : 0;
}

/* Whether a job may start now, or a look at it has an effect: `_may_start` of loops.py. -1 with an exception. */
static int
may_start(Plan *self, Loop *loop, PyObject *entry, const Row *row)
{
    if (!(row->flags & PLAIN)) {
        PyObject *answer = PyObject_CallMethodObjArgs(loop->owner, may_start_name, entry, NULL);
        int truth = answer ? PyObject_IsTrue(answer) : -1;
        Py_XDECREF(answer);
        return truth;
    }
    Word *room = scratch_of(self, ROOM);
    both(room, row->nodes, scratch_of(self, OPEN), self->words);
    return count_of(room, self->words) >= row->least && free_until(self, loop->now + row->length, room, row->least);
}

enum { TO_THE_END = 0, NOT_PLAIN = 1, MAY_START = 2 };

/* Go on with the entries from `place` on; returns why it ends, with the place. -1 with an exception. */
static int
go_on(Plan *self, Loop *loop, Py_ssize_t *place)
{
    PyObject *entries = loop->entries, *entry, *job;
    for (; *place < PyList_GET_SIZE(entries); ++*place) {
        if (loop->has_moved) {
            self->ahead = self->ahead > *place ? self->ahead : *place;
            for (; self->ahead < PyList_GET_SIZE(entries); self->ahead++) {
                job = entry_at(entries, self->ahead, &entry);
                Row *row = job ? row_of(loop->owner, entry, job, self->words) : NULL;
                int may = row ? may_start(self, loop, entry, row) : -1;
                if (may < 0) {
                    return -1;
                }
                if (may) {
                    break;
                }
            }
            if (self->ahead >= PyList_GET_SIZE(entries)) {
                return TO_THE_END;
            }
        }
        job = entry_at(entries, *place, &entry);
        if (!job) {
            return -1;
        }
        PyObject *waits = job_field(job, WAITS_FOR_ROOM);
        if (job_field(job, STAGE) != pending || (waits != Py_False && (!waits || PyObject_IsTrue(waits)))) {
            continue;
        }
        if ((double)loop->tested >= loop->tests || (loop->starts != 0 && (double)loop->started >= loop->starts) ||
            (loop->parts != 0 && (double)self->count >= loop->parts)) {
            return TO_THE_END;
        }
        Row *row = row_of(loop->owner, entry, job, self->words);
        if (!row) {
            return -1;
        }
        if (!(row->flags & PLAIN)) {
            return NOT_PLAIN;
        }
        Py_INCREF(job);
        Py_INCREF(row);
        loop->tested++;
        int found = loop->asks || row->flags & ASKS ? ask(loop->owner, admits_name, job, row->partition) : 1;
        found = found > 0 ? test(self, loop, job, row) : found;
        Py_DECREF(job);
        Py_DECREF(row);
        if (found) {
            return found < 0 ? -1 : MAY_START;
        }
    }
    return TO_THE_END;
}

PyDoc_STRVAR(unplan_doc, "unplan($self, entries, /)\n--\n\nForget when jobs were planned.");

static PyObject *
plan_unplan(Plan *Py_UNUSED(self), PyObject *entries)
{
    if (!PyList_Check(entries)) {
        PyErr_SetString(PyExc_TypeError, "expected a list of entries");
        return NULL;
    }
    for (Py_ssize_t place = 0; place < PyList_GET_SIZE(entries); place++) {
        PyObject *entry, *job = entry_at(entries, place, &entry);
        if (!job) {
            return NULL;
        }
        if (job_field(job, PLANNED) != zero) {
            set_field(job, PLANNED, zero);
            set_field(job, PLANNED_NODES, zero);
        }
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(run_doc, "run($self, owner, entries, place, releases, nodes, completing, settings, state, footing, /)\n--\n\n"
                      "Go on with entries. Nodes: those that are neither down nor drained, and those that jobs are "
                      "leaving. Settings: now, epoch, whether to ask the owner for each job if it is admitted, if it "
                      "has no reservation, and to tell it what is planned, whether a job has one reservation; the most "
                      "tests, starts and parts. State: how many were tested and started, whether one has moved, "
                      "`until`. The result: why it ends (0: it is done, 1: a job for Python, 2: one that may start), "
                      "the place, and the state. Footing: the number of what the run stands on; 0: nothing is kept.");

static PyObject *
plan_run(Plan *self, PyObject *arguments)
{
    Loop loop;
    Py_ssize_t place, words = self->words;
    PyObject *nodes, *completing;
    if (!PyArg_ParseTuple(arguments, "OO!nO!OO(LLppppddd)(LLpd)L:run", &loop.owner, &PyList_Type, &loop.entries, &place,
                          &releases_type, &loop.releases, &nodes, &completing, &loop.now, &loop.epoch, &loop.asks,
                          &loop.orders, &loop.notes, &loop.is_single, &loop.tests, &loop.starts, &loop.parts,
                          &loop.tested, &loop.started, &loop.has_moved, &loop.until, &self->footing)) {
        return NULL;
    }
    if (place < 0 || loop.releases->words != words || !entry_type) {
        PyErr_SetString(PyExc_ValueError, "expected a place, and releases of as many nodes");
        return NULL;
    }
    if (set_from(nodes, scratch_of(self, ASKED), words) < 0 ||
        set_from(completing, scratch_of(self, COMPLETING), words) < 0) {
        return NULL;
    }
    both(scratch_of(self, OPEN), scratch_of(self, ASKED), loop.releases->free, words);
    int why = go_on(self, &loop, &place);
    return why < 0 ? NULL
                   : Py_BuildValue("in(LLNd)", why, place, loop.tested, loop.started, PyBool_FromLong(loop.has_moved),
                                   loop.until);
}

static PyMethodDef plan_methods[] = {
    {"begin", (PyCFunction)plan_begin, METH_VARARGS, begin_doc},
    {"reserve", (PyCFunction)plan_reserve, METH_VARARGS, reserve_doc},
    {"second_begin", (PyCFunction)plan_second_begin, METH_NOARGS, second_begin_doc},
    {"begin_after", (PyCFunction)plan_begin_after, METH_VARARGS, begin_after_doc},
    {"overlaps", (PyCFunction)plan_overlaps, METH_VARARGS, overlaps_doc},
    {"free_until", (PyCFunction)plan_free_until, METH_VARARGS, free_until_doc},
    {"usable", (PyCFunction)plan_usable, METH_VARARGS, usable_doc},
    {"next_room", (PyCFunction)plan_next_room, METH_VARARGS, next_room_doc},
    {"unplan", (PyCFunction)plan_unplan, METH_O, unplan_doc},
    {"run", (PyCFunction)plan_run, METH_VARARGS, run_doc},
    {"__reduce__", (PyCFunction)reduce_to_none, METH_NOARGS, nothing_doc},
    {NULL, NULL, 0, NULL},
};

static PySequenceMethods plan_sequence = {.sq_length = (lenfunc)length_of};

static PyTypeObject plan_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "batprotocol.policies._plan.Plan",
    .tp_doc = "The sets of nodes that are not planned for other jobs, from time to time.",
    .tp_basicsize = sizeof(Plan),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = new_plan,
    .tp_dealloc = (destructor)free_plan,
    .tp_as_sequence = &plan_sequence,
    .tp_methods = plan_methods,
};

/* The module */

/* Where objects of a class have a field of its __slots__; -1 with an exception. */
static Py_ssize_t
offset_of(PyTypeObject *type, const char *name)
{
    PyObject *found = PyObject_GetAttrString((PyObject *)type, name);
    Py_ssize_t offset = -1;
    if (found && Py_TYPE(found) == &PyMemberDescr_Type) {
        offset = ((PyMemberDescrObject *)found)->d_member->offset;
    }
    else if (found) {
        PyErr_Format(PyExc_ImportError, "expected %s among the __slots__ of %s", name, type->tp_name);
    }
    Py_XDECREF(found);
    return offset;
}

PyDoc_STRVAR(bind_doc, "bind(entry, job, pending, /)\n--\n\nThe classes of entries and jobs, and the stage of jobs that "
                       "wait.");

static PyObject *
bind(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyTypeObject *entries, *jobs;
    PyObject *stage;
    if (!PyArg_ParseTuple(arguments, "O!O!O:bind", &PyType_Type, &entries, &PyType_Type, &jobs, &stage)) {
        return NULL;
    }
    for (int which = 0; which < JOB_FIELDS; which++) {
        if ((job_offsets[which] = offset_of(jobs, job_names[which])) < 0) {
            return NULL;
        }
    }
    if ((job_offset = offset_of(entries, "job")) < 0 || (partition_offset = offset_of(entries, "partition")) < 0 ||
        (row_offset = offset_of(entries, "row")) < 0) {
        return NULL;
    }
    Py_INCREF(entries);
    Py_INCREF(jobs);
    Py_INCREF(stage);
    Py_XDECREF(entry_type);
    Py_XDECREF(job_type);
    Py_XDECREF(pending);
    entry_type = entries;
    job_type = jobs;
    pending = stage;
    Py_RETURN_NONE;
}

static int
populate(PyObject *module)
{
    const struct {
        PyObject **into;
        const char *text;
    } names[] = {
        {&to_bytes_name, "to_bytes"}, {&from_bytes_name, "from_bytes"}, {&little, "little"},
        {&row_name, "row_of"}, {&admits_name, "admits"}, {&is_not_reserved_name, "is_not_reserved"},
        {&choose_name, "choose"}, {&plans_name, "note_plan"}, {&rejects_name, "note_rejection"},
        {&may_start_name, "may_start"},
    };
    for (size_t each = 0; each < sizeof names / sizeof *names; each++) {
        if (!(*names[each].into = PyUnicode_InternFromString(names[each].text))) {
            return -1;
        }
    }
    zero = PyLong_FromLong(0);
    if (!zero || PyType_Ready(&row_type) < 0) {
        return -1;
    }
    return PyModule_AddType(module, &releases_type) < 0 ? -1 : PyModule_AddType(module, &plan_type);
}

static PyMethodDef functions[] = {
    {"bind", (PyCFunction)bind, METH_VARARGS, bind_doc},
    {NULL, NULL, 0, NULL},
};

NATIVE_MODULE("batprotocol.policies", _plan, "native plans", populate, functions,
              "Plans of Slurm's second loop. Private: use batprotocol.policies.slurm.")
