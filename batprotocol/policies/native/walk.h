/* The walk over the reservations of a site that may move forward: `python_keep` of site/plan.py has the same in Python. */

#ifndef BATPROTOCOL_PROFILE_WALK_H
#define BATPROTOCOL_PROFILE_WALK_H

#include "open_hosts.h"

/* What a plan gives for a walk, in this order. */
enum { HEADS, LOOKED, PLAIN, JOBS, FREED, KINDS, STEPS_OF_HOSTS, SEEN, MOVE, ALLOWED, GIVEN };

typedef struct {
    PyObject **given;
    PyObject *changes; /* how often the future of hosts has changed */
    double now, slack; /* times that differ by no more count as equal */
} Walk;

static struct {
    PyTypeObject *entry, *job, *kind;
    Py_ssize_t number, of_job, of_kind, expected, start, reserved, id, entries, amount, hosts;
} slots_of;

/* Where the parts of an entry are. -1 with an exception. */
static int
bind_walk(PyObject *entry)
{
    if (slots_of.entry == Py_TYPE(entry)) {
        return 0;
    }
    PyTypeObject *type = Py_TYPE(entry);
    slots_of.number = slot_offset(type, "number");
    slots_of.of_job = slots_of.number < 0 ? -1 : slot_offset(type, "job");
    slots_of.of_kind = slots_of.of_job < 0 ? -1 : slot_offset(type, "kind");
    slots_of.expected = slots_of.of_kind < 0 ? -1 : slot_offset(type, "expected");
    slots_of.start = slots_of.expected < 0 ? -1 : slot_offset(type, "start");
    slots_of.reserved = slots_of.start < 0 ? -1 : slot_offset(type, "reserved");
    if (slots_of.reserved < 0) {
        return -1;
    }
    PyObject *job = SLOT(entry, slots_of.of_job), *kind = SLOT(entry, slots_of.of_kind);
    if (!job || !kind) {
        PyErr_SetString(PyExc_AttributeError, "expected an entry with a job and a kind");
        return -1;
    }
    slots_of.id = slot_offset(Py_TYPE(job), "id");
    slots_of.entries = slots_of.id < 0 ? -1 : slot_offset(Py_TYPE(job), "entries");
    slots_of.amount = slots_of.entries < 0 ? -1 : slot_offset(Py_TYPE(kind), "amount");
    slots_of.hosts = slots_of.amount < 0 ? -1 : slot_offset(Py_TYPE(kind), "hosts");
    if (slots_of.hosts < 0) {
        return -1;
    }
    slots_of.job = (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(job));
    slots_of.kind = (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(kind));
    slots_of.entry = (PyTypeObject *)Py_NewRef((PyObject *)type);
    return 0;
}

/* Whether something was freed where an entry has its reservation, or where it could run earlier. -1 with an exception. */
static int
may_move_forward(const Walk *walk, PyObject *reserved, PyObject *kind, double seconds, double start)
{
    PyObject *freed = walk->given[FREED];
    if (!PySet_GET_SIZE(freed)) {
        return 0;
    }
    for (Py_ssize_t place = 0; place < PyList_GET_SIZE(reserved); place++) {
        int is_freed = PySet_Contains(freed, PyList_GET_ITEM(reserved, place));
        if (is_freed) {
            return is_freed;
        }
    }
    Wanted wanted;
    const HostSteps *steps = (const HostSteps *)walk->given[STEPS_OF_HOSTS];
    PyObject *host, *hosts = wanted_of(SLOT(kind, slots_of.amount), &wanted) < 0 ? NULL : PyObject_GetIter(freed);
    int found = hosts ? 0 : -1;
    while (found == 0 && (host = PyIter_Next(hosts))) {
        int is_one = PySet_Contains(SLOT(kind, slots_of.hosts), host);
        if (is_one > 0) {
            const Future *future = future_of(steps, host);
            found = future ? first_window(future, steps->dimensions, &wanted, seconds, walk->now, start) < start : -1;
        }
        found = is_one < 0 ? -1 : found;
        Py_DECREF(host);
    }
    Py_XDECREF(hosts);
    return PyErr_Occurred() ? -1 : found;
}

static int
add_all(PyObject *set, PyObject *list)
{
    for (Py_ssize_t place = 0; place < PyList_GET_SIZE(list); place++) {
        if (PySet_Add(set, PyList_GET_ITEM(list, place)) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The reservation of an entry stays, and counts as made anew: it comes last. -1 with an exception. */
static int
stays_there(const Walk *walk, PyObject *entry, PyObject *number, PyObject *reserved)
{
    PyObject *heads = walk->given[HEADS];
    if (add_all(walk->given[FREED], reserved) < 0 || PyDict_DelItem(heads, number) < 0 ||
        PyDict_SetItem(heads, number, entry) < 0) {
        return -1;
    }
    return PyDict_SetItem(walk->given[LOOKED], number, walk->changes);
}

/* Move the reservation of an entry. -1 with an exception. */
static int
moves_there(Walk *walk, PyObject *entry, double time, PyObject *hosts)
{
    PyObject *changes = hosts ? PyObject_CallFunction(walk->given[MOVE], "OdO", entry, time, hosts) : NULL;
    Py_XDECREF(hosts);
    if (!changes) {
        return -1;
    }
    Py_SETREF(walk->changes, changes);
    return 0;
}

/* An amount is added on hosts, a list, and kinds of jobs are told. -1 with an exception. */
static int
change_for_all(HostSteps *steps, PyObject *kinds, PyObject *hosts, double begin, double end, const long long *by,
               double now, PyObject *changed, PyObject *stale, long long changes)
{
    PyObject *kind, *open, *number = PyLong_FromLongLong(changes);
    int failed = !number;
    for (Py_ssize_t place = 0; !failed && place < PyList_GET_SIZE(hosts); place++) {
        PyObject *host = PyList_GET_ITEM(hosts, place);
        Future *future = future_of(steps, host);
        failed = !future;
        if (!failed) {
            future_begins_at(future, now, steps->dimensions);
        }
        if (!failed && end > future->times[0]) {
            failed = PyDict_SetItem(changed, host, number) < 0 || PySet_Add(stale, host) < 0 ||
                     change_future(future, begin, end, by, steps->dimensions) < 0;
        }
    }
    Py_XDECREF(number);
    for (Py_ssize_t at = 0; !failed && PyDict_Next(kinds, &at, &kind, &open);) {
        if (!Py_IS_TYPE(open, &open_type)) {
            PyErr_SetString(PyExc_TypeError, "expected the open hosts of each kind");
            return -1;
        }
        failed = open_hosts_change((OpenHosts *)open, steps, hosts, begin, end) < 0;
    }
    return failed ? -1 : 0;
}

PyDoc_STRVAR(move_amount_doc,
             "move_amount(steps, kinds, hosts, begin, others, start, seconds, amount, now, changed, stale, changes, /)\n--\n\n"
             "Give back an amount on hosts for some seconds, and take it on others at another time.");

static PyObject *
move_amount(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    double begin, start, seconds, now;
    long long amount[DIMENSIONS], taken[DIMENSIONS], changes;
    Py_ssize_t dimensions;
    if (expect("move_amount", count, 12, 12) < 0 || as_time(arguments[3], &begin) < 0 ||
        as_time(arguments[5], &start) < 0 || as_time(arguments[6], &seconds) < 0 ||
        whole_numbers(arguments[7], amount, &dimensions, NULL) < 0 || as_time(arguments[8], &now) < 0 ||
        as_number(arguments[11], &changes) < 0) {
        return NULL;
    }
    if (!Py_IS_TYPE(arguments[0], &host_steps_type) || !PyDict_CheckExact(arguments[1]) ||
        !PyList_CheckExact(arguments[2]) || !PyList_CheckExact(arguments[4]) || !PyDict_CheckExact(arguments[9]) ||
        !PySet_CheckExact(arguments[10]) || ((HostSteps *)arguments[0])->dimensions != dimensions) {
        PyErr_SetString(PyExc_TypeError, "expected the steps of hosts, and an amount of them");
        return NULL;
    }
    for (Py_ssize_t place = 0; place < dimensions; place++) {
        taken[place] = -amount[place];
    }
    HostSteps *steps = (HostSteps *)arguments[0];
    if (change_for_all(steps, arguments[1], arguments[2], begin, begin + seconds, amount, now, arguments[9],
                       arguments[10], changes + 1) < 0 ||
        change_for_all(steps, arguments[1], arguments[4], start, start + seconds, taken, now, arguments[9],
                       arguments[10], changes + 2) < 0) {
        return NULL;
    }
    return PyLong_FromLongLong(changes + 2);
}

enum { FAILED = -1, LEFT, DONE };

/* Keep or move the reservation of an entry. LEFT: that is not all, or not known. */
static int
keep_entry(Walk *walk, PyObject *entry)
{
    PyObject **given = walk->given;
    PyObject *number = SLOT(entry, slots_of.number), *job = SLOT(entry, slots_of.of_job);
    PyObject *kind = SLOT(entry, slots_of.of_kind), *reserved = SLOT(entry, slots_of.reserved);
    if (!number || !job || !kind || !reserved || !SLOT(entry, slots_of.start) || !SLOT(entry, slots_of.expected) ||
        !Py_IS_TYPE(job, slots_of.job) || !Py_IS_TYPE(kind, slots_of.kind) ||
        !SLOT(kind, slots_of.amount) || !SLOT(kind, slots_of.hosts) || !PyList_CheckExact(reserved)) {
        PyErr_SetString(PyExc_TypeError, "expected an entry of a site");
        return FAILED;
    }
    PyObject *id = SLOT(job, slots_of.id), *entries = SLOT(job, slots_of.entries);
    int is_waiting = id ? PyDict_Contains(given[JOBS], id) : 0;
    if (is_waiting <= 0) {
        return is_waiting < 0 ? FAILED : DONE; /* it has started */
    }
    int has_head = PyDict_Contains(given[HEADS], number);
    double start = PyFloat_AsDouble(SLOT(entry, slots_of.start));
    double expected = PyFloat_AsDouble(SLOT(entry, slots_of.expected));
    if (has_head <= 0 || PyErr_Occurred()) {
        return PyErr_Occurred() ? FAILED : LEFT;
    }
    if (start <= walk->now + walk->slack) {
        return LEFT;
    }
    if (given[ALLOWED] != Py_None) {
        PyObject *answer = PyObject_CallFunctionObjArgs(given[ALLOWED], entry, NULL);
        int is_allowed = answer ? PyObject_IsTrue(answer) : -1;
        Py_XDECREF(answer);
        if (is_allowed <= 0) {
            return is_allowed < 0 ? FAILED : LEFT;
        }
    }
    double seconds = expected - walk->slack > 0.0 ? expected - walk->slack : 0.0, time;
    int may = may_move_forward(walk, reserved, kind, seconds, start);
    if (may < 0 || (!may && PySet_Add(given[SEEN], number) < 0)) {
        return FAILED;
    }
    if (!may) {
        return DONE;
    }
    int is_plain = PySet_Contains(given[PLAIN], number);
    int is_known = is_plain > 0 ? PyDict_Contains(given[LOOKED], number) : is_plain;
    PyObject *open = is_known > 0 ? PyDict_GetItemWithError(given[KINDS], kind) : NULL;
    if (PyErr_Occurred()) {
        return FAILED;
    }
    if (!open || !Py_IS_TYPE(open, &open_type) || PyDict_GET_SIZE(given[HEADS]) == 1 || !entries ||
        !PyList_CheckExact(entries) || PyList_GET_SIZE(entries) != 1) {
        return LEFT;
    }
    OpenHosts *hosts = (OpenHosts *)open;
    int found = find_again(hosts, reserved, start, start + expected, seconds, walk->now, &time);
    if (found < 0) {
        return FAILED;
    }
    if (found == NOT_SURE || (found == ELSEWHERE && time <= walk->now + walk->slack)) {
        return LEFT;
    }
    int failed = PySet_Add(given[SEEN], number) < 0;
    if (!failed && found == THERE) {
        failed = stays_there(walk, entry, number, reserved) < 0;
    }
    else if (!failed) {
        failed = moves_there(walk, entry, time, kept_hosts(hosts, PyList_GET_SIZE(reserved))) < 0;
    }
    return failed ? FAILED : DONE;
}

PyDoc_STRVAR(keep_doc, "keep(entries, given, changes, now, slack, /)\n--\n\n"
                       "Keep and move reservations, up to the first entry for which that is not all.");

static PyObject *
keep(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Walk walk;
    PyObject *entry;
    if (expect("keep", count, 5, 5) < 0 || as_time(arguments[3], &walk.now) < 0 ||
        as_time(arguments[4], &walk.slack) < 0) {
        return NULL;
    }
    PyObject *given = arguments[1];
    if (!PyIter_Check(arguments[0]) || !PyTuple_Check(given) || PyTuple_GET_SIZE(given) != GIVEN) {
        PyErr_SetString(PyExc_TypeError, "expected entries that come, and what a plan gives");
        return NULL;
    }
    walk.given = ((PyTupleObject *)given)->ob_item;
    if (!PyDict_CheckExact(walk.given[HEADS]) || !PyDict_CheckExact(walk.given[LOOKED]) ||
        !PyDict_CheckExact(walk.given[JOBS]) || !PyDict_CheckExact(walk.given[KINDS]) ||
        !PySet_CheckExact(walk.given[PLAIN]) || !PySet_CheckExact(walk.given[FREED]) ||
        !PySet_CheckExact(walk.given[SEEN]) || !Py_IS_TYPE(walk.given[STEPS_OF_HOSTS], &host_steps_type)) {
        PyErr_SetString(PyExc_TypeError, "expected dictionaries, sets and the steps of hosts");
        return NULL;
    }
    walk.changes = Py_NewRef(arguments[2]);
    int state = DONE;
    while (state == DONE && (entry = PyIter_Next(arguments[0]))) {
        state = bind_walk(entry) < 0 ? FAILED : Py_IS_TYPE(entry, slots_of.entry) ? keep_entry(&walk, entry) : LEFT;
        if (state == LEFT) {
            Py_DECREF(walk.changes);
            return entry;
        }
        Py_DECREF(entry);
    }
    Py_DECREF(walk.changes);
    if (PyErr_Occurred()) {
        return NULL;
    }
    Py_RETURN_NONE;
}

#endif
