/* The reservations of the jobs that wait, in the order of the queue: how they are kept and found. It knows nothing of
   Python but memory and the comparison of ranks. */

#ifndef BATPROTOCOL_PROFILE_RESERVED_H
#define BATPROTOCOL_PROFILE_RESERVED_H

#include "blocks.h"

enum { TOGETHER = 128 };

typedef struct JobBlock JobBlock;

typedef struct {
    long long number, size;
    double expected, start, end;
    int is_due;      /* its time has come, and that was said */
    PyObject *rank;  /* its place in the order; NULL: whoever compresses says the order */
    JobBlock *block; /* that it is in */
} Reserved;

/* Jobs that come one after the other. What a search looks at lies together. */
struct JobBlock {
    int count;
    int is_known; /* whether `next` is up to date */
    double next;  /* the first start of those that are not due */
    double starts[TOGETHER], seconds[TOGETHER];
    Py_ssize_t near[TOGETHER]; /* the block of the profile near which they start, perhaps */
    long long sizes[TOGETHER];
    Reserved *jobs[TOGETHER];
};

typedef struct {
    PyObject_HEAD
    Profile *profile;
    double resolution;
    Py_ssize_t count, room; /* of blocks */
    JobBlock **blocks;
    Py_ssize_t jobs, endless; /* how many jobs there are, and how many of them have no start */
    size_t slots;             /* of the table by number; 0 or a power of two, at least twice as many as jobs */
    Reserved **table;
} ReservedJobs;

/* By number */

static size_t
slot_of(const ReservedJobs *self, long long number)
{
    size_t mask = self->slots - 1, slot = (size_t)((unsigned long long)number * 0x9E3779B97F4A7C15ULL >> 20) & mask;
    while (self->table[slot] && self->table[slot]->number != number) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

static Reserved *
reserved_of(const ReservedJobs *self, long long number)
{
    return self->slots ? self->table[slot_of(self, number)] : NULL;
}

/* Room in the table for one more job. -1 with an exception if there is none. */
static int
widen(ReservedJobs *self)
{
    if ((size_t)self->jobs * 2 + 2 <= self->slots) {
        return 0;
    }
    size_t before = self->slots, slots = before ? 2 * before : 64;
    Reserved **table = PyMem_Calloc(slots, sizeof *table), **old = self->table;
    if (!table) {
        PyErr_NoMemory();
        return -1;
    }
    self->table = table;
    self->slots = slots;
    for (size_t slot = 0; slot < before; slot++) {
        if (old[slot]) {
            table[slot_of(self, old[slot]->number)] = old[slot];
        }
    }
    PyMem_Free(old);
    return 0;
}

static void
take_out_of_table(ReservedJobs *self, long long number)
{
    size_t mask = self->slots - 1, slot = slot_of(self, number);
    self->table[slot] = NULL;
    for (slot = (slot + 1) & mask; self->table[slot]; slot = (slot + 1) & mask) { /* those behind it may come nearer */
        Reserved *job = self->table[slot];
        self->table[slot] = NULL;
        self->table[slot_of(self, job->number)] = job;
    }
}

/* In order */

static JobBlock *
insert_job_block(ReservedJobs *self, Py_ssize_t place)
{
    if (self->count == self->room) {
        Py_ssize_t room = self->room ? 2 * self->room : 4;
        JobBlock **blocks = PyMem_Realloc(self->blocks, (size_t)room * sizeof *blocks);
        if (!blocks) {
            PyErr_NoMemory();
            return NULL;
        }
        self->blocks = blocks;
        self->room = room;
    }
    JobBlock *block = PyMem_Calloc(1, sizeof *block);
    if (!block) {
        PyErr_NoMemory();
        return NULL;
    }
    memmove(self->blocks + place + 1, self->blocks + place, (size_t)(self->count - place) * sizeof *self->blocks);
    self->blocks[place] = block;
    self->count++;
    return block;
}

/* Move the jobs of a block from a place on to another place of the same block, or of one that is empty. */
static void
move_jobs(JobBlock *to, int place, JobBlock *from, int first, int count)
{
    memmove(to->starts + place, from->starts + first, (size_t)count * sizeof *to->starts);
    memmove(to->seconds + place, from->seconds + first, (size_t)count * sizeof *to->seconds);
    memmove(to->sizes + place, from->sizes + first, (size_t)count * sizeof *to->sizes);
    memmove(to->near + place, from->near + first, (size_t)count * sizeof *to->near);
    memmove(to->jobs + place, from->jobs + first, (size_t)count * sizeof *to->jobs);
}

/* Whether a job comes before a rank. -1 with an exception. */
static int
comes_before(const Reserved *job, PyObject *rank)
{
    return job->rank ? PyObject_RichCompareBool(job->rank, rank, Py_LT) : 1;
}

/* Whether the last job of a block comes before a rank. -1 with an exception. */
static int
ends_before(const JobBlock *block, PyObject *rank)
{
    return comes_before(block->jobs[block->count - 1], rank);
}

/* Find the place of a rank: the block, which is split if it is full, and the place in it. -1 with an exception. */
static int
find_place(ReservedJobs *self, PyObject *rank, JobBlock **found, int *at)
{
    Py_ssize_t low = 0, high = self->count;
    int is_less = !rank || !high ? 1 : ends_before(self->blocks[high - 1], rank);
    if (is_less > 0) {
        low = high; /* as most jobs come last */
    }
    while (is_less >= 0 && low < high) {
        Py_ssize_t middle = (low + high) / 2;
        is_less = ends_before(self->blocks[middle], rank);
        low = is_less > 0 ? middle + 1 : low;
        high = is_less > 0 ? high : middle;
    }
    if (is_less < 0) {
        return -1;
    }
    if (low == self->count && low > 0) {
        low--;
    }
    JobBlock *block = self->count ? self->blocks[low] : insert_job_block(self, 0);
    if (block && block->count == TOGETHER) {
        int half = low == self->count - 1 ? TOGETHER * 7 / 8 : TOGETHER / 2;
        JobBlock *rest = insert_job_block(self, low + 1);
        if (!rest) {
            return -1;
        }
        rest->count = TOGETHER - half;
        block->count = half;
        move_jobs(rest, 0, block, half, rest->count);
        for (int place = 0; place < rest->count; place++) {
            rest->jobs[place]->block = rest;
        }
        block->is_known = rest->is_known = 0;
        is_less = rank ? ends_before(block, rank) : 1;
        if (is_less < 0) {
            return -1;
        }
        block = is_less ? rest : block;
    }
    if (!block) {
        return -1;
    }
    int from = rank ? 0 : block->count, to = block->count;
    while (from < to) {
        int middle = (from + to) / 2;
        is_less = comes_before(block->jobs[middle], rank);
        if (is_less < 0) {
            return -1;
        }
        from = is_less ? middle + 1 : from;
        to = is_less ? to : middle;
    }
    *found = block;
    *at = from;
    return 0;
}

static int
place_in_block(const Reserved *job)
{
    int at = 0;
    while (job->block->jobs[at] != job) {
        at++;
    }
    return at;
}

static void
free_job(Reserved *job)
{
    Py_XDECREF(job->rank);
    PyMem_Free(job);
}

/* Forget a job, whatever its reservation is. */
static void
take_out(ReservedJobs *self, Reserved *job)
{
    JobBlock *block = job->block;
    int at = place_in_block(job);
    take_out_of_table(self, job->number);
    block->count--;
    move_jobs(block, at, block, at + 1, block->count - at);
    block->is_known = 0;
    if (!block->count) {
        Py_ssize_t place = 0;
        while (self->blocks[place] != block) {
            place++;
        }
        self->count--;
        memmove(self->blocks + place, self->blocks + place + 1, (size_t)(self->count - place) * sizeof *self->blocks);
        PyMem_Free(block);
    }
    self->jobs--;
    self->endless -= job->start == INFINITY;
    free_job(job);
}

/* The first start of the jobs of a block that are not due. */
static double
next_of(JobBlock *block)
{
    if (!block->is_known) {
        block->next = INFINITY;
        for (int at = 0; at < block->count; at++) {
            if (block->starts[at] < block->next && !block->jobs[at]->is_due) {
                block->next = block->starts[at];
            }
        }
        block->is_known = 1;
    }
    return block->next;
}

/* Set the time of a reservation of the job at a place of a block. */
static void
set_times(ReservedJobs *self, JobBlock *block, int at, double start, double end)
{
    Reserved *job = block->jobs[at];
    self->endless += (start == INFINITY) - (job->start == INFINITY);
    job->start = block->starts[at] = start;
    job->end = end;
    job->is_due = 0;
    block->is_known = 0;
}

static int
by_start(const void *one, const void *other)
{
    const Reserved *a = *(Reserved *const *)one, *b = *(Reserved *const *)other;
    if (a->start != b->start) {
        return a->start < b->start ? -1 : 1;
    }
    return a->number < b->number ? -1 : a->number > b->number;
}

/* The type */

static PyTypeObject *profile_of_reserved;
static PyObject *number_name; /* of the attribute of jobs */

static PyObject *
new_reserved(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
    PyObject *profile;
    double resolution;
    char *known[] = {"profile", "resolution", NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "O!d:ReservedJobs", known, profile_of_reserved, &profile,
                                     &resolution)) {
        return NULL;
    }
    ReservedJobs *self = (ReservedJobs *)type->tp_alloc(type, 0);
    if (self) {
        Py_INCREF(profile);
        self->profile = (Profile *)profile;
        self->resolution = resolution;
    }
    return (PyObject *)self;
}

static void
dealloc_reserved(ReservedJobs *self)
{
    for (Py_ssize_t place = 0; place < self->count; place++) {
        for (int at = 0; at < self->blocks[place]->count; at++) {
            free_job(self->blocks[place]->jobs[at]);
        }
        PyMem_Free(self->blocks[place]);
    }
    PyMem_Free(self->blocks);
    PyMem_Free(self->table);
    Py_XDECREF(self->profile);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* The job of a number, or NULL with an exception. */
static Reserved *
known_job(const ReservedJobs *self, PyObject *number)
{
    long long value;
    if (as_number(number, &value) < 0) {
        return NULL;
    }
    Reserved *job = reserved_of(self, value);
    if (!job) {
        PyErr_SetObject(PyExc_KeyError, number);
    }
    return job;
}

static int
put(ReservedJobs *self, PyObject *rank, Reserved values)
{
    JobBlock *block;
    int at;
    if (reserved_of(self, values.number)) {
        PyErr_Format(PyExc_ValueError, "job %lld has a reservation already", values.number);
        return -1;
    }
    if (widen(self) < 0 || find_place(self, rank, &block, &at) < 0) {
        return -1;
    }
    Reserved *job = PyMem_Malloc(sizeof *job);
    if (!job) {
        PyErr_NoMemory();
        return -1;
    }
    *job = values;
    Py_XINCREF(rank);
    job->rank = rank;
    job->block = block;
    move_jobs(block, at + 1, block, at, block->count - at);
    block->count++;
    block->jobs[at] = job;
    block->starts[at] = job->start;
    block->seconds[at] = job->expected - self->resolution / 2;
    block->sizes[at] = job->size;
    block->near[at] = self->profile->near;
    block->is_known = 0;
    self->table[slot_of(self, job->number)] = job;
    self->jobs++;
    self->endless += job->start == INFINITY;
    return 0;
}

PyDoc_STRVAR(add_job_doc, "add($self, number, rank, size, expected, start, /)\n--\n\n"
                          "A job gets a reservation from a time on.");

static PyObject *
add_job(ReservedJobs *self, PyObject *const *arguments, Py_ssize_t count)
{
    Reserved job = {0};
    if (expect("add", count, 5, 5) < 0 || as_number(arguments[0], &job.number) < 0 ||
        as_number(arguments[2], &job.size) < 0 || as_time(arguments[3], &job.expected) < 0 ||
        as_time(arguments[4], &job.start) < 0) {
        return NULL;
    }
    job.end = rounded(job.start + job.expected, self->resolution);
    if (put(self, arguments[1] == Py_None ? NULL : arguments[1], job) < 0 ||
        change_by(self->profile, job.start, job.end, -job.size) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static int
release_job(ReservedJobs *self, const Reserved *job, double now)
{
    return change_by(self->profile, job->start > now ? job->start : now, job->end, job->size);
}

/* The job that starts, moves or is dropped, and the time: the arguments of three methods. NULL with an exception. */
static Reserved *
job_and_time(ReservedJobs *self, const char *name, PyObject *const *arguments, Py_ssize_t count, double *now)
{
    if (expect(name, count, 2, 2) < 0 || as_time(arguments[1], now) < 0) {
        return NULL;
    }
    return known_job(self, arguments[0]);
}

PyDoc_STRVAR(start_job_doc, "start($self, number, now, /)\n--\n\nA job starts, and has no reservation any more.");

static PyObject *
start_job(ReservedJobs *self, PyObject *const *arguments, Py_ssize_t count)
{
    double now;
    Reserved *job = job_and_time(self, "start", arguments, count, &now);
    if (!job) {
        return NULL;
    }
    if (job->start != now &&
        (release_job(self, job, now) < 0 ||
         change_by(self->profile, now, rounded(now + job->expected, self->resolution), -job->size) < 0)) {
        return NULL;
    }
    take_out(self, job);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(drop_job_doc, "drop($self, number, now, /)\n--\n\nA job will not start, and has no reservation any more.");

static PyObject *
drop_job(ReservedJobs *self, PyObject *const *arguments, Py_ssize_t count)
{
    double now;
    Reserved *job = job_and_time(self, "drop", arguments, count, &now);
    if (!job || release_job(self, job, now) < 0) {
        return NULL;
    }
    take_out(self, job);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(move_job_doc, "move($self, number, now, /)\n--\n\nMove the reservation of a job to now.");

static PyObject *
move_job(ReservedJobs *self, PyObject *const *arguments, Py_ssize_t count)
{
    double now;
    Reserved *job = job_and_time(self, "move", arguments, count, &now);
    if (!job || release_job(self, job, now) < 0) {
        return NULL;
    }
    double end = rounded(now + job->expected, self->resolution);
    set_times(self, job->block, place_in_block(job), now, end);
    if (change_by(self->profile, now, end, -job->size) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Compressing */

/* Move a reservation to the first time at which it fits now, if that is earlier. 1 if it moved, -1 with an exception. */
static int
move_forward(ReservedJobs *self, JobBlock *block, int at)
{
    long long size = block->sizes[at];
    self->profile->near = block->near[at];
    double before = block->starts[at], start = earliest_of(self->profile, size, block->seconds[at], before);
    block->near[at] = self->profile->near;
    if (!(start < before)) {
        return 0;
    }
    const Reserved *job = block->jobs[at];
    double end = rounded(start + job->expected, self->resolution);
    double until = end < before ? end : before, since = end < before ? before : end; /* between, they stay taken */
    if (change_by(self->profile, start, until, -size) < 0 || change_by(self->profile, since, job->end, size) < 0) {
        return -1;
    }
    set_times(self, block, at, start, end);
    return 1;
}

static int
compress_in_order(ReservedJobs *self, double now, Py_ssize_t most)
{
    int moved = 0;
    for (Py_ssize_t place = 0; place < self->count && most > 0; place++) {
        JobBlock *block = self->blocks[place];
        for (int at = 0; at < block->count && most-- > 0; at++) {
            int found = block->starts[at] > now ? move_forward(self, block, at) : 0;
            if (found < 0) {
                return -1;
            }
            moved |= found;
        }
    }
    return moved;
}

static int
compress_these(ReservedJobs *self, PyObject *jobs, double now, Py_ssize_t most)
{
    PyObject *iterator = PyObject_GetIter(jobs), *job;
    int moved = 0;
    while (iterator && most-- > 0 && (job = PyIter_Next(iterator))) {
        PyObject *number = PyObject_GetAttr(job, number_name);
        Reserved *reserved = number ? known_job(self, number) : NULL;
        int found = !reserved               ? -1
                    : reserved->start > now ? move_forward(self, reserved->block, place_in_block(reserved))
                                            : 0;
        Py_XDECREF(number);
        Py_DECREF(job);
        if (found < 0) {
            break;
        }
        moved |= found;
    }
    Py_XDECREF(iterator);
    return PyErr_Occurred() ? -1 : moved;
}

PyDoc_STRVAR(compress_doc, "compress($self, jobs, now, depth=None, /)\n--\n\n"
                           "Move each reservation to the first time at which it fits now; whether one moved.");

static PyObject *
compress(ReservedJobs *self, PyObject *const *arguments, Py_ssize_t count)
{
    double now;
    Py_ssize_t most = PY_SSIZE_T_MAX;
    if (expect("compress", count, 2, 3) < 0 || as_time(arguments[1], &now) < 0) {
        return NULL;
    }
    if (count > 2 && arguments[2] != Py_None) {
        most = PyNumber_AsSsize_t(arguments[2], NULL); /* a larger number is as good as the largest one */
        if (most == -1 && PyErr_Occurred()) {
            return NULL;
        }
    }
    int is_ranked = self->count && self->blocks[0]->jobs[0]->rank;
    int moved = is_ranked ? compress_in_order(self, now, most) : compress_these(self, arguments[0], now, most);
    return moved < 0 ? NULL : PyBool_FromLong(moved);
}

/* Questions */

PyDoc_STRVAR(may_start_doc, "may_start($self, hosts, seconds, slack, /)\n--\n\n"
                            "Whether a job that waits may fit into a gap that begins at the first time.");

static PyObject *
may_start(ReservedJobs *self, PyObject *const *arguments, Py_ssize_t count)
{
    long long hosts;
    double seconds, slack;
    Gap gaps[GAPS];
    if (expect("may_start", count, 3, 3) < 0 || as_number(arguments[0], &hosts) < 0 ||
        as_time(arguments[1], &seconds) < 0 || as_time(arguments[2], &slack) < 0) {
        return NULL;
    }
    int number = gaps_at_once(self->profile, hosts, gaps);
    if (number < 0) {
        Py_RETURN_TRUE;
    }
    for (Py_ssize_t place = 0; number && place < self->count; place++) {
        const JobBlock *block = self->blocks[place];
        for (int at = 0; at < block->count; at++) {
            long long size = block->sizes[at];
            if (size > gaps[0].hosts) {
                continue;
            }
            int last = 0; /* the longest gap of enough hosts */
            while (last + 1 < number && gaps[last + 1].hosts >= size) {
                last++;
            }
            double most = gaps[last].seconds < seconds ? gaps[last].seconds : seconds;
            if (block->jobs[at]->expected <= most + slack) {
                Py_RETURN_TRUE;
            }
        }
    }
    Py_RETURN_FALSE;
}

PyDoc_STRVAR(start_of_doc, "start_of($self, number, /)\n--\n\nThe time of a reservation.");

static PyObject *
start_of(ReservedJobs *self, PyObject *number)
{
    Reserved *job = known_job(self, number);
    return job ? PyFloat_FromDouble(job->start) : NULL;
}

PyDoc_STRVAR(next_start_doc, "next_start($self, /)\n--\n\nThe time of the first reservation that is not due yet.");

static double
first_start(ReservedJobs *self)
{
    double next = INFINITY;
    for (Py_ssize_t place = 0; place < self->count; place++) {
        double start = next_of(self->blocks[place]);
        next = start < next ? start : next;
    }
    return next;
}

static PyObject *
next_start(ReservedJobs *self, PyObject *Py_UNUSED(nothing))
{
    return PyFloat_FromDouble(first_start(self));
}

/* The numbers of some jobs, sorted by the times of their reservations; NULL with an exception. */
static PyObject *
numbers_of(Reserved **jobs, Py_ssize_t count)
{
    PyObject *numbers = PyList_New(count);
    qsort(jobs, (size_t)count, sizeof *jobs, by_start);
    for (Py_ssize_t place = 0; numbers && place < count; place++) {
        PyObject *number = PyLong_FromLongLong(jobs[place]->number);
        if (!number) {
            Py_CLEAR(numbers);
            break;
        }
        PyList_SET_ITEM(numbers, place, number);
    }
    return numbers;
}

PyDoc_STRVAR(due_doc, "due($self, until, /)\n--\n\n"
                      "The jobs whose time has come since the last question, the first reservation first.");

static PyObject *
due(ReservedJobs *self, PyObject *value)
{
    double until;
    if (as_time(value, &until) < 0) {
        return NULL;
    }
    if (!(first_start(self) <= until)) {
        return PyList_New(0);
    }
    Reserved **found = PyMem_Malloc((size_t)self->jobs * sizeof *found);
    if (!found) {
        return PyErr_NoMemory();
    }
    Py_ssize_t count = 0;
    for (Py_ssize_t place = 0; place < self->count; place++) {
        JobBlock *block = self->blocks[place];
        for (int at = 0; block->next <= until && at < block->count; at++) {
            if (block->starts[at] <= until && !block->jobs[at]->is_due) {
                block->jobs[at]->is_due = 1;
                block->is_known = 0;
                found[count++] = block->jobs[at];
            }
        }
    }
    PyObject *numbers = numbers_of(found, count);
    PyMem_Free(found);
    return numbers;
}

PyDoc_STRVAR(by_starts_doc, "by_starts($self, /)\n--\n\nThe numbers of all jobs, the first reservation first.");

static PyObject *
by_starts(ReservedJobs *self, PyObject *Py_UNUSED(nothing))
{
    Reserved **found = PyMem_Malloc((size_t)(self->jobs + 1) * sizeof *found);
    if (!found) {
        return PyErr_NoMemory();
    }
    Py_ssize_t count = 0;
    for (Py_ssize_t place = 0; place < self->count; place++) {
        JobBlock *block = self->blocks[place];
        memcpy(found + count, block->jobs, (size_t)block->count * sizeof *found);
        count += block->count;
    }
    PyObject *numbers = numbers_of(found, count);
    PyMem_Free(found);
    return numbers;
}

static int
contains(PyObject *self, PyObject *number)
{
    long long value;
    return as_number(number, &value) < 0 ? -1 : reserved_of((ReservedJobs *)self, value) != NULL;
}

static Py_ssize_t
length(PyObject *self)
{
    return ((ReservedJobs *)self)->jobs;
}

static PyObject *
is_endless(ReservedJobs *self, void *Py_UNUSED(nothing))
{
    return PyBool_FromLong(self->endless > 0);
}

/* Copies and pickles */

static PyObject *
reduce_reserved(ReservedJobs *self, PyObject *Py_UNUSED(nothing))
{
    PyObject *list = PyList_New(0);
    for (Py_ssize_t place = 0; list && place < self->count; place++) {
        JobBlock *block = self->blocks[place];
        for (int at = 0; list && at < block->count; at++) {
            const Reserved *job = block->jobs[at];
            if (append_pair(list, Py_BuildValue("(LOLdddi)", job->number, job->rank ? job->rank : Py_None, job->size,
                                                job->expected, job->start, job->end, job->is_due)) < 0) {
                Py_CLEAR(list);
            }
        }
    }
    return list ? Py_BuildValue("O(Od)N", Py_TYPE(self), self->profile, self->resolution, list) : NULL;
}

static PyObject *
set_state(ReservedJobs *self, PyObject *list)
{
    PyObject *iterator = PyObject_GetIter(list), *each;
    while (iterator && (each = PyIter_Next(iterator))) {
        Reserved job = {0};
        PyObject *rank;
        int failed = !PyArg_ParseTuple(each, "LOLdddi", &job.number, &rank, &job.size, &job.expected, &job.start,
                                       &job.end, &job.is_due) ||
                     put(self, rank == Py_None ? NULL : rank, job) < 0;
        Py_DECREF(each);
        if (failed) {
            break;
        }
    }
    Py_XDECREF(iterator);
    if (PyErr_Occurred()) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef reserved_methods[] = {
    {"add", FAST(add_job), add_job_doc},
    {"start", FAST(start_job), start_job_doc},
    {"drop", FAST(drop_job), drop_job_doc},
    {"move", FAST(move_job), move_job_doc},
    {"compress", FAST(compress), compress_doc},
    {"may_start", FAST(may_start), may_start_doc},
    {"start_of", (PyCFunction)start_of, METH_O, start_of_doc},
    {"next_start", (PyCFunction)next_start, METH_NOARGS, next_start_doc},
    {"due", (PyCFunction)due, METH_O, due_doc},
    {"by_starts", (PyCFunction)by_starts, METH_NOARGS, by_starts_doc},
    {"__reduce__", (PyCFunction)reduce_reserved, METH_NOARGS, "What copies and pickles are made of."},
    {"__setstate__", (PyCFunction)set_state, METH_O, "Take the jobs of another one."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef reserved_attributes[] = {
    {"is_endless", (getter)is_endless, NULL, "Whether a job has no time to start.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PySequenceMethods reserved_as_sequence = {.sq_length = length, .sq_contains = contains};

static PyTypeObject reserved_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "batprotocol.policies._profile.ReservedJobs",
    .tp_doc = "The reservations of the jobs that wait.",
    .tp_basicsize = sizeof(ReservedJobs),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = (destructor)dealloc_reserved,
    .tp_methods = reserved_methods,
    .tp_getset = reserved_attributes,
    .tp_as_sequence = &reserved_as_sequence,
};

#endif
