/* Which hosts have space for jobs of a kind from each time on, as bits: `OpenHosts` of site/state.py has the same in Python. */

#ifndef BATPROTOCOL_PROFILE_OPEN_HOSTS_H
#define BATPROTOCOL_PROFILE_OPEN_HOSTS_H

#include <stdint.h>

#include "futures.h"

enum { STEPS = 64, BITS = 64 };

typedef struct {
    int count;
    long long most; /* hosts that are open from one of the times on */
    double times[STEPS];
    long long open[STEPS];
    uint64_t bits[]; /* of each time, as many words as the hosts need */
} OpenBlock;

typedef struct {
    PyObject_HEAD
    Py_ssize_t count, room, words;
    OpenBlock **blocks; /* at least one, and none without times */
    double *firsts;
    PyObject *amount, *hosts, *places; /* the hosts in order, and the place of each */
    Wanted wanted;
    double short_until; /* the last time until which more is taken of a host than it has, as was seen */
    uint64_t *own, *kept, *closed, *opened; /* bits for an answer, or for a change */
} OpenHosts;

/* The hosts of a job whose own reservation does not count. */
typedef struct {
    const uint64_t *bits; /* NULL: none */
    double begin;
} Own;

static long long
bits_in(const uint64_t *bits, Py_ssize_t words)
{
    long long count = 0;
    for (Py_ssize_t word = 0; word < words; word++) {
        count += bits_in_word(bits[word]);
    }
    return count;
}

static uint64_t *
bits_of(const OpenHosts *self, OpenBlock *block, int at)
{
    return block->bits + (Py_ssize_t)at * self->words;
}

/* Blocks */

static int
insert_open_block(OpenHosts *self, Py_ssize_t place)
{
    if (self->count == self->room) {
        Py_ssize_t room = self->room ? 2 * self->room : 8;
        OpenBlock **blocks = PyMem_Realloc(self->blocks, (size_t)room * sizeof *blocks);
        self->blocks = blocks ? blocks : self->blocks;
        double *firsts = blocks ? PyMem_Realloc(self->firsts, (size_t)room * sizeof *firsts) : NULL;
        self->firsts = firsts ? firsts : self->firsts;
        if (!firsts) {
            PyErr_NoMemory();
            return -1;
        }
        self->room = room;
    }
    OpenBlock *block = PyMem_Calloc(1, sizeof *block + STEPS * (size_t)self->words * sizeof(uint64_t));
    if (!block) {
        PyErr_NoMemory();
        return -1;
    }
    memmove(self->blocks + place + 1, self->blocks + place, (size_t)(self->count - place) * sizeof *self->blocks);
    memmove(self->firsts + place + 1, self->firsts + place, (size_t)(self->count - place) * sizeof *self->firsts);
    self->blocks[place] = block;
    self->count++;
    return 0;
}

static void
remove_open_blocks(OpenHosts *self, Py_ssize_t place, Py_ssize_t number)
{
    for (Py_ssize_t each = place; each < place + number; each++) {
        PyMem_Free(self->blocks[each]);
    }
    self->count -= number;
    memmove(self->blocks + place, self->blocks + place + number, (size_t)(self->count - place) * sizeof *self->blocks);
    memmove(self->firsts + place, self->firsts + place + number, (size_t)(self->count - place) * sizeof *self->firsts);
}

static void
move_open_steps(const OpenHosts *self, OpenBlock *to, int at, OpenBlock *from, int first, int count)
{
    memmove(to->times + at, from->times + first, (size_t)count * sizeof *to->times);
    memmove(to->open + at, from->open + first, (size_t)count * sizeof *to->open);
    memmove(bits_of(self, to, at), bits_of(self, from, first), (size_t)(count * self->words) * sizeof(uint64_t));
}

static void
look_over_open(OpenBlock *block)
{
    block->most = 0;
    for (int at = 0; at < block->count; at++) {
        block->most = block->open[at] > block->most ? block->open[at] : block->most;
    }
}

/* The block and the place in it of the last time that is not later than one; the first time stands for all before. */
static Py_ssize_t
open_block_at(const OpenHosts *self, double time, int *at)
{
    Py_ssize_t low = 0, high = self->count - 1;
    while (low < high) {
        Py_ssize_t middle = (low + high + 1) / 2;
        if (self->firsts[middle] <= time) {
            low = middle;
        }
        else {
            high = middle - 1;
        }
    }
    const OpenBlock *block = self->blocks[low];
    int first = 0, last = block->count - 1;
    while (first < last) {
        int middle = (first + last + 1) / 2;
        if (block->times[middle] <= time) {
            first = middle;
        }
        else {
            last = middle - 1;
        }
    }
    *at = first;
    return low;
}

/* Add a time. -1 with an exception. */
static int
cut_open(OpenHosts *self, double time)
{
    int at;
    Py_ssize_t place = open_block_at(self, time, &at);
    OpenBlock *block = self->blocks[place];
    if (block->times[at] >= time) {
        return 0;
    }
    if (block->count == STEPS) {
        if (insert_open_block(self, place + 1) < 0) {
            return -1;
        }
        OpenBlock *next = self->blocks[place + 1];
        int half = STEPS / 2;
        move_open_steps(self, next, 0, block, half, STEPS - half);
        next->count = STEPS - half;
        block->count = half;
        look_over_open(next);
        look_over_open(block);
        self->firsts[place + 1] = next->times[0];
        if (at >= half) {
            block = next;
            at -= half;
        }
    }
    move_open_steps(self, block, at + 1, block, at, block->count - at);
    block->count++;
    block->times[at + 1] = time;
    return 0;
}

/* These hosts are open, or are not, from one time to another one. Times from which on nothing changes are forgotten. */
static int
set_open(OpenHosts *self, const uint64_t *bits, double begin, double end, int is_open)
{
    begin = begin > self->firsts[0] ? begin : self->firsts[0];
    if (!(begin < end) || !bits_in(bits, self->words)) {
        return 0;
    }
    if (cut_open(self, begin) < 0 || (end < INFINITY && cut_open(self, end) < 0)) {
        return -1;
    }
    int first, at;
    Py_ssize_t words = self->words, begins = open_block_at(self, begin, &first), place = begins;
    const uint64_t *before = NULL;
    if (place > 0) {
        before = bits_of(self, self->blocks[place - 1], self->blocks[place - 1]->count - 1);
    }
    for (int is_over = 0; !is_over && place < self->count; first = 0) {
        OpenBlock *block = self->blocks[place];
        int kept = 0;
        for (at = 0; at < block->count; at++) {
            uint64_t *own = bits_of(self, block, at);
            is_over |= block->times[at] >= end;
            if (at >= first && !is_over) {
                for (Py_ssize_t word = 0; word < words; word++) {
                    own[word] = is_open ? own[word] | bits[word] : own[word] & ~bits[word];
                }
                block->open[at] = bits_in(own, words);
            }
            if (before && !memcmp(before, own, (size_t)words * sizeof *own)) {
                continue;
            }
            if (kept != at) {
                move_open_steps(self, block, kept, block, at, 1);
            }
            before = bits_of(self, block, kept++);
        }
        block->count = kept;
        if (!kept) {
            remove_open_blocks(self, place, 1); /* `before` is in a block that remains: the first time is never forgotten */
            continue;
        }
        look_over_open(block);
        self->firsts[place++] = block->times[0];
    }
    return 0;
}

/* The type */

static void
dealloc_open(OpenHosts *self)
{
    if (self->count) {
        remove_open_blocks(self, 0, self->count);
    }
    PyMem_Free(self->blocks);
    PyMem_Free(self->firsts);
    PyMem_Free(self->own);
    Py_XDECREF(self->amount);
    Py_XDECREF(self->hosts);
    Py_XDECREF(self->places);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *
new_open(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
    PyObject *hosts, *amount;
    double now;
    char *known[] = {"hosts", "amount", "now", NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "OOd:OpenHosts", known, &hosts, &amount, &now)) {
        return NULL;
    }
    OpenHosts *self = (OpenHosts *)type->tp_alloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->amount = Py_NewRef(amount);
    PyObject *list = PySequence_List(hosts);
    self->places = PyDict_New();
    if (list && PyList_Sort(list) == 0) {
        self->hosts = PyList_AsTuple(list);
    }
    Py_XDECREF(list);
    Py_ssize_t count = self->hosts ? PyTuple_GET_SIZE(self->hosts) : 0;
    self->words = count ? (count + BITS - 1) / BITS : 1;
    self->own = PyMem_Calloc(4 * (size_t)self->words, sizeof *self->own);
    if (!self->own) {
        PyErr_NoMemory();
    }
    else {
        self->kept = self->own + self->words;
        self->closed = self->kept + self->words;
        self->opened = self->closed + self->words;
    }
    int failed = !self->hosts || !self->places || !self->own || wanted_of(self->amount, &self->wanted) < 0 ||
                 insert_open_block(self, 0) < 0;
    for (Py_ssize_t place = 0; !failed && place < count; place++) {
        PyObject *number = PyLong_FromSsize_t(place);
        failed = !number || PyDict_SetItem(self->places, PyTuple_GET_ITEM(self->hosts, place), number) < 0;
        Py_XDECREF(number);
    }
    if (failed) {
        Py_DECREF(self);
        return NULL;
    }
    self->blocks[0]->count = 1;
    self->blocks[0]->times[0] = self->firsts[0] = now;
    self->short_until = -INFINITY;
    return (PyObject *)self;
}

/* The place of a host; less than 0 if it is not one of these, or with an exception. */
static Py_ssize_t
place_of_host(const OpenHosts *self, PyObject *host)
{
    PyObject *place = PyDict_GetItemWithError(self->places, host);
    return place ? PyLong_AsSsize_t(place) : -1;
}

/* Changes */

/* Whether a step of a host has room for the jobs. Note it if more is taken of the host than it has. */
static int
has_room(OpenHosts *self, const Future *future, Py_ssize_t dimensions, Py_ssize_t step, double end)
{
    const long long *free = future->free + step * dimensions;
    if (is_short(free, dimensions)) {
        double until = time_after(future, step);
        until = until < end ? until : end;
        self->short_until = until > self->short_until ? until : self->short_until;
    }
    return suffices(&self->wanted, free, dimensions);
}

PyDoc_STRVAR(open_change_doc, "change(steps, hosts, begin, end, /)\n--\n\n"
                              "What is free on hosts is another amount from one time to another one.");

/* The amounts that are free on a host are others from one time to another one. Most have room, or have none, throughout:
   they are noted in `opened` or `closed`. -1 with an exception. */
static int
open_host_changes(OpenHosts *self, const Future *future, Py_ssize_t dimensions, Py_ssize_t place, double begin, double end)
{
    uint64_t bit = 1ULL << (place % BITS);
    Py_ssize_t step = future_at(future, begin);
    double since = begin;
    while (since < end) {
        int fits = has_room(self, future, dimensions, step, end);
        double until = INFINITY;
        while (++step < future->count) { /* as long as that does not change */
            until = future->times[step];
            int also = until < end ? has_room(self, future, dimensions, step, end) : !fits;
            if (also != fits) {
                break;
            }
            until = INFINITY;
        }
        until = until < end ? until : end;
        if (since == begin && until == end) { /* most do, so they change together */
            (fits ? self->opened : self->closed)[place / BITS] |= bit;
            break;
        }
        memset(self->kept, 0, (size_t)self->words * sizeof *self->kept);
        self->kept[place / BITS] = bit;
        if (set_open(self, self->kept, since, until, fits) < 0) {
            return -1;
        }
        since = until;
    }
    return 0;
}

/* The amounts that are free on some hosts, a list or a tuple, are others. -1 with an exception. */
static int
open_hosts_change(OpenHosts *self, const HostSteps *steps, PyObject *hosts, double begin, double end)
{
    begin = begin > self->firsts[0] ? begin : self->firsts[0];
    memset(self->opened, 0, (size_t)self->words * sizeof *self->opened);
    memset(self->closed, 0, (size_t)self->words * sizeof *self->closed);
    for (Py_ssize_t each = 0; begin < end && each < PySequence_Fast_GET_SIZE(hosts); each++) {
        PyObject *host = PySequence_Fast_GET_ITEM(hosts, each);
        Py_ssize_t place = place_of_host(self, host);
        if (place < 0 && !PyErr_Occurred()) {
            continue;
        }
        const Future *future = place < 0 ? NULL : future_of(steps, host);
        if (!future || open_host_changes(self, future, steps->dimensions, place, begin, end) < 0) {
            return -1;
        }
    }
    return set_open(self, self->opened, begin, end, 1) < 0 ? -1 : set_open(self, self->closed, begin, end, 0);
}

static PyObject *
open_change(OpenHosts *self, PyObject *const *arguments, Py_ssize_t count)
{
    double begin, end;
    if (expect("change", count, 4, 4) < 0 || as_time(arguments[2], &begin) < 0 || as_time(arguments[3], &end) < 0) {
        return NULL;
    }
    if (!Py_IS_TYPE(arguments[0], &host_steps_type)) {
        PyErr_SetString(PyExc_TypeError, "expected the steps of hosts");
        return NULL;
    }
    PyObject *hosts = PySequence_Fast(arguments[1], "expected hosts");
    int failed = !hosts || open_hosts_change(self, (const HostSteps *)arguments[0], hosts, begin, end) < 0;
    Py_XDECREF(hosts);
    if (failed) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(open_advance_doc, "advance(now, /)\n--\n\nThe past of a time does not matter any more.");

static PyObject *
open_advance(OpenHosts *self, PyObject *argument)
{
    double now;
    int at;
    if (as_time(argument, &now) < 0) {
        return NULL;
    }
    Py_ssize_t place = open_block_at(self, now, &at);
    if (place) {
        remove_open_blocks(self, 0, place);
    }
    OpenBlock *block = self->blocks[0];
    if (at) {
        move_open_steps(self, block, 0, block, at, block->count - at);
        block->count -= at;
        look_over_open(block);
    }
    if (block->times[0] < now) {
        block->times[0] = now;
    }
    self->firsts[0] = block->times[0];
    Py_RETURN_NONE;
}

/* Questions */

enum { CLOSED, OPEN, UNSURE };

/* Whether enough hosts are open from a time on: `kept` has them. The time is that at a place, or later in its step.
   UNSURE: that depends on how times are rounded. If it is CLOSED because few hosts are open at a later time, `skip` and
   `skip_at` are its place. */
static int
stay_open(OpenHosts *self, Py_ssize_t place, int at, double time, long long wanted, double seconds, Own own,
          Py_ssize_t *skip, int *skip_at)
{
    Py_ssize_t words = self->words;
    uint64_t *kept = self->kept;
    OpenBlock *block = self->blocks[place];
    const uint64_t *first = bits_of(self, block, at);
    int with = own.bits && time >= own.begin;
    for (Py_ssize_t word = 0; word < words; word++) {
        kept[word] = first[word] | (with ? own.bits[word] : 0);
    }
    *skip = -1;
    long long open = bits_in(kept, words);
    while (open >= wanted) {
        if (++at == block->count) {
            if (++place == self->count) {
                return OPEN;
            }
            block = self->blocks[place];
            at = 0;
        }
        double next = block->times[at];
        int lasts = next - seconds >= time, is_long = next - time >= seconds;
        if (lasts && is_long) {
            return OPEN;
        }
        const uint64_t *bits = bits_of(self, block, at);
        with = own.bits && next >= own.begin;
        uint64_t lost = 0;
        long long rest = 0;
        for (Py_ssize_t word = 0; word < words; word++) {
            uint64_t both = kept[word] & (bits[word] | (with ? own.bits[word] : 0));
            lost |= kept[word] ^ both;
            kept[word] = both;
            rest += bits_in_word(both);
        }
        if (lost && lasts != is_long) {
            return UNSURE;
        }
        open = rest;
        if (open < wanted && !with && block->open[at] < wanted) {
            *skip = place;
            *skip_at = at;
        }
    }
    return CLOSED;
}

/* The first time from `after` on and not later than `before` from which on enough hosts are open. `time` is that, or
   infinity. -1: not sure. Only times that are earlier than an own reservation count. */
static int
first_open(OpenHosts *self, long long wanted, double seconds, double after, double before, Own own, double *time)
{
    int at;
    Py_ssize_t place = open_block_at(self, after, &at);
    const OpenBlock *end = self->blocks[self->count - 1];
    double begin = after, last = end->times[end->count - 1];
    last = last > after ? last : after;
    *time = INFINITY;
    if (!(last - seconds < last)) {
        return -1; /* a host that is open until a time counts as open at it */
    }
    while (own.bits ? begin < own.begin : begin <= before) {
        OpenBlock *block = self->blocks[place];
        Py_ssize_t skip = -1;
        int skip_at = 0, found = CLOSED;
        if (block->most < wanted) {
            at = block->count - 1; /* go on behind all of it */
        }
        else if (block->open[at] >= wanted) {
            found = stay_open(self, place, at, begin, wanted, seconds, own, &skip, &skip_at);
        }
        if (found == UNSURE) {
            return -1;
        }
        if (found == OPEN) {
            *time = begin;
            return 0;
        }
        if (skip >= 0) {
            place = skip;
            at = skip_at;
        }
        if (++at >= self->blocks[place]->count) {
            if (++place == self->count) {
                return 0;
            }
            at = 0;
        }
        begin = self->blocks[place]->times[at];
    }
    return 0;
}

/* The first hosts of those in `kept`, as a list. */
static PyObject *
kept_hosts(const OpenHosts *self, Py_ssize_t most)
{
    PyObject *found = PyList_New(0);
    for (Py_ssize_t word = 0; found && word < self->words; word++) {
        for (uint64_t rest = self->kept[word]; rest && PyList_GET_SIZE(found) < most; rest &= rest - 1) {
            Py_ssize_t place = word * BITS + __builtin_ctzll(rest);
            if (PyList_Append(found, PyTuple_GET_ITEM(self->hosts, place)) < 0) {
                Py_CLEAR(found);
                break;
            }
        }
    }
    return found;
}

PyDoc_STRVAR(open_earliest_doc, "earliest(count, seconds, after, before, /)\n--\n\n"
                                "The first time from which on enough hosts are open, and all of them; None: not sure.");

static PyObject *
open_earliest(OpenHosts *self, PyObject *const *arguments, Py_ssize_t count)
{
    long long wanted;
    double seconds, after, before, time;
    if (expect("earliest", count, 4, 4) < 0 || as_number(arguments[0], &wanted) < 0 ||
        as_time(arguments[1], &seconds) < 0 || as_time(arguments[2], &after) < 0 ||
        as_time(arguments[3], &before) < 0) {
        return NULL;
    }
    if (first_open(self, wanted, seconds, after, before, (Own){0}, &time) < 0) {
        Py_RETURN_NONE;
    }
    if (time == INFINITY) {
        return Py_BuildValue("(d[])", time);
    }
    PyObject *hosts = kept_hosts(self, PY_SSIZE_T_MAX);
    return hosts ? Py_BuildValue("(dN)", time, hosts) : NULL;
}

enum { NOT_SURE, THERE, ELSEWHERE };

/* Where a reservation would be if it was made anew: THERE, where it is, or ELSEWHERE: at a time, on the first hosts of
   those in `kept`. -1 with an exception. */
static int
find_again(OpenHosts *self, PyObject *own_hosts, double begin, double end, double seconds, double after, double *time)
{
    memset(self->own, 0, (size_t)self->words * sizeof *self->own);
    PyObject *hosts = PySequence_Fast(own_hosts, "expected hosts");
    Py_ssize_t wanted = hosts ? PySequence_Fast_GET_SIZE(hosts) : 0, last = -1;
    int is_known = wanted > 0 && begin > after && self->short_until <= after && end - seconds >= begin && end - begin >= seconds;
    for (Py_ssize_t each = 0; is_known && each < wanted; each++) {
        Py_ssize_t place = place_of_host(self, PySequence_Fast_GET_ITEM(hosts, each));
        is_known = place > last; /* they are in order */
        last = place;
        if (is_known) {
            self->own[place / BITS] |= 1ULL << (place % BITS);
        }
    }
    Py_XDECREF(hosts);
    if (PyErr_Occurred()) {
        return -1;
    }
    Own own = {self->own, begin};
    if (!is_known || first_open(self, wanted, seconds, after, begin, own, time) < 0) {
        return NOT_SURE;
    }
    if (*time < INFINITY) {
        return ELSEWHERE;
    }
    int at, skip_at;
    Py_ssize_t skip, place = open_block_at(self, begin, &at);
    if (stay_open(self, place, at, begin, wanted, seconds, own, &skip, &skip_at) != OPEN) {
        return NOT_SURE;
    }
    *time = begin;
    for (Py_ssize_t word = 0; word <= last / BITS; word++) {
        uint64_t below = word < last / BITS ? ~0ULL : (1ULL << (last % BITS)) - 1;
        if (self->kept[word] & ~self->own[word] & below) {
            return ELSEWHERE;
        }
    }
    return THERE;
}

PyDoc_STRVAR(open_again_doc,
             "again(own, begin, end, seconds, after, /)\n--\n\n"
             "Where a reservation would be that is made anew: True: where it is. None: not sure.");

static PyObject *
open_again(OpenHosts *self, PyObject *const *arguments, Py_ssize_t count)
{
    double begin, end, seconds, after, time;
    if (expect("again", count, 5, 5) < 0 || as_time(arguments[1], &begin) < 0 || as_time(arguments[2], &end) < 0 ||
        as_time(arguments[3], &seconds) < 0 || as_time(arguments[4], &after) < 0) {
        return NULL;
    }
    int found = find_again(self, arguments[0], begin, end, seconds, after, &time);
    if (found < 0) {
        return NULL;
    }
    if (found == NOT_SURE) {
        Py_RETURN_NONE;
    }
    if (found == THERE) {
        Py_RETURN_TRUE;
    }
    PyObject *hosts = kept_hosts(self, PySequence_Size(arguments[0]));
    return hosts ? Py_BuildValue("(dN)", time, hosts) : NULL;
}

static PyMethodDef open_methods[] = {
    {"advance", (PyCFunction)open_advance, METH_O, open_advance_doc},
    {"again", FAST(open_again), open_again_doc},
    {"change", FAST(open_change), open_change_doc},
    {"earliest", FAST(open_earliest), open_earliest_doc},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject open_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "batprotocol.policies._profile.OpenHosts",
    .tp_doc = "Which hosts have space for jobs of a kind, from each time on.",
    .tp_basicsize = sizeof(OpenHosts),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = (destructor)dealloc_open,
    .tp_methods = open_methods,
    .tp_new = new_open,
};

#endif
