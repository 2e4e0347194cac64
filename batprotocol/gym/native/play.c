/* The world of _world.py in C: who waits, who runs, what happens next, and what is backfilled meanwhile.

   The same steps in the same order, so that every number is the same; they are in steps.h. It knows numbers of jobs only:
   what these are of is known in Python. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "../../native.h"
#include "sight.h"
#include "steps.h"
#include "sums.h"
#include "vector.h"

/* What Python calls */

/* Whether no vector steps it without Python's lock at this moment. */
static int
expect_idle(const Play *self)
{
    if (self->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread steps this environment at this moment");
        return -1;
    }
    return 0;
}

static int
as_job(const Play *self, PyObject *value, int64_t *job)
{
    if (expect_idle(self) < 0) {
        return -1;
    }
    *job = PyLong_AsLongLong(value);
    if (*job == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (*job < 0 || *job >= self->count) {
        PyErr_Format(PyExc_IndexError, "expected the number of a job in [0, %lld), got %lld", self->count,
                     (long long)*job);
        return -1;
    }
    return 0;
}

PyDoc_STRVAR(advance_doc, "advance($self, /)\n--\n\nSee `World.advance`.");

static PyObject *
play_advance(Play *self, PyObject *Py_UNUSED(nothing))
{
    if (expect_idle(self) < 0) {
        return NULL;
    }
    int64_t event = advance(self);
    if (event == NOTHING) {
        Py_RETURN_NONE;
    }
    return PyLong_FromLongLong(event);
}

PyDoc_STRVAR(take_doc, "take($self, place, /)\n--\n\nSee `World.take`.");

static PyObject *
play_take(Play *self, PyObject *value)
{
    if (expect_idle(self) < 0) {
        return NULL;
    }
    int64_t place = PyLong_AsLongLong(value);
    if (place == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (place < 0 || place >= self->waiting) {
        PyErr_Format(PyExc_IndexError, "expected a place in a queue of %lld jobs, got %lld", self->waiting,
                     (long long)place);
        return NULL;
    }
    return PyLong_FromLongLong(take(self, place));
}

/* Whether a job can start: it has not started, and its hosts are free. */
static int
expect_startable(const Play *self, int64_t job, int fits)
{
    if (self->lists[STARTS][job].time != -1.0 || (fits && self->columns[SIZES][job].number > self->free)) {
        PyErr_SetString(PyExc_ValueError, "expected a job that has not started, and fits");
        return -1;
    }
    return 0;
}

PyDoc_STRVAR(start_doc, "start($self, job, /)\n--\n\nSee `World.start`.");

static PyObject *
play_start(Play *self, PyObject *value)
{
    int64_t job;
    if (as_job(self, value, &job) < 0 || expect_startable(self, job, 1) < 0) {
        return NULL;
    }
    start(self, job);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(wait_for_doc, "wait_for($self, job, rules, /)\n--\n\n"
                           "Let time go on until a job fits. Rules of backfilling: (easy, spare, strict, once) or None.");

static PyObject *
play_wait_for(Play *self, PyObject *arguments)
{
    PyObject *value, *given;
    int64_t job;
    Rules rules = {0};
    if (!PyArg_ParseTuple(arguments, "OO:wait_for", &value, &given) || as_job(self, value, &job) < 0 ||
        expect_startable(self, job, 0) < 0) {
        return NULL;
    }
    int backfills = given != Py_None;
    if (backfills) {
        if (!PyArg_ParseTuple(given, "pppp", &rules.is_easy, &rules.has_spare, &rules.is_strict, &rules.is_once)) {
            return NULL;
        }
        rules.found = PyMem_New(Ranked, self->count);
        if (!rules.found) {
            return PyErr_NoMemory();
        }
    }
    Pause pause = {0};
    self->is_busy = 1; /* what handles a signal must not step it */
    int failed = wait_for(self, job, backfills ? &rules : NULL, &pause);
    self->is_busy = 0;
    PyMem_Free(rules.found);
    if (failed && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "expected a job that fits once all others have ended");
    }
    if (failed) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(see_doc, "see($self, row, told, known, parts, layout, columns, /)\n--\n\n"
                      "Write what is seen, see `Sight`: layout is (max_queue, max_running, width, waited, until, fits), "
                      "the last one -1 if it is not told.");

/* Whether four buffers are as long as a layout says. */
static int
expect_lengths(const Play *self, const Sight *sight, const Py_buffer *buffers)
{
    long long times = sight->waited + sight->until, width = sight->width;
    int fits = sight->max_queue >= 1 && sight->max_queue < 1 << 24 && sight->max_running >= 0 &&
               sight->max_running < 1 << 24 && width >= 1 && width < 1 << 16 && sight->waited >= 0 &&
               sight->until >= 0 && times <= MOST_TIMES && sight->fits < width;
    for (long long time = 0; fits && time < times; time++) {
        fits = sight->columns[time] >= 0 && sight->columns[time] < width;
    }
    if (!fits || buffers[0].len != (sight->max_queue * width + sight->max_running * RUNNING + MACHINE) * 4 ||
        buffers[1].len != self->count * width * 4 || buffers[2].len != self->count * (2 + times) * 8 ||
        buffers[3].len != self->count * 4) {
        PyErr_SetString(PyExc_ValueError, "expected tables of as many jobs, and a row for the layout");
        return -1;
    }
    return 0;
}

static PyObject *
play_see(Play *self, PyObject *arguments)
{
    if (expect_idle(self) < 0) {
        return NULL;
    }
    PyObject *columns, *given[4];
    Sight sight;
    Py_buffer buffers[4];
    if (!PyArg_ParseTuple(arguments, "OOOO(LLLLLL)O!:see", &given[0], &given[1], &given[2], &given[3],
                          &sight.max_queue, &sight.max_running, &sight.width, &sight.waited, &sight.until, &sight.fits,
                          &PyTuple_Type, &columns)) {
        return NULL;
    }
    if (sight.waited < 0 || sight.until < 0 || PyTuple_GET_SIZE(columns) > MOST_TIMES ||
        PyTuple_GET_SIZE(columns) != sight.waited + sight.until) {
        PyErr_SetString(PyExc_ValueError, "expected a column for each time");
        return NULL;
    }
    for (Py_ssize_t time = 0; time < PyTuple_GET_SIZE(columns); time++) {
        sight.columns[time] = PyLong_AsLongLong(PyTuple_GET_ITEM(columns, time));
        if (sight.columns[time] == -1 && PyErr_Occurred()) {
            return NULL;
        }
    }
    int had = 0, failed = 0;
    while (had < 4 && !failed) {
        failed = PyObject_GetBuffer(given[had], &buffers[had], had ? PyBUF_SIMPLE : PyBUF_WRITABLE) < 0;
        had += !failed;
    }
    failed = failed || expect_lengths(self, &sight, buffers) < 0;
    if (!failed) {
        sight.row = buffers[0].buf;
        sight.told = buffers[1].buf;
        sight.known = buffers[2].buf;
        sight.parts = buffers[3].buf;
        see(self, &sight);
    }
    while (had) {
        PyBuffer_Release(&buffers[--had]);
    }
    if (failed) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(sums_doc, "sums($self, /)\n--\n\nSee `World.sums`.");

static PyObject *
play_sums(Play *self, PyObject *Py_UNUSED(nothing))
{
    double last = 0.0;
    if (expect_idle(self) < 0) {
        return NULL;
    }
    for (int64_t number = 0; number < self->started; number++) {
        int64_t job = self->lists[STARTED][number].number;
        double end = self->lists[STARTS][job].time + self->columns[LASTS][job].time;
        last = end > last ? end : last;
    }
    return Py_BuildValue("(dddd)", sum_of_started(self, BOUNDED_SLOWDOWN, 0), sum_of_started(self, WAITED, 0),
                         sum_of_started(self, UTILISATION, 0), last);
}

/* Lists, as bytes of eight for each member */

static PyObject *
list_of(const Play *self, int which, int64_t count)
{
    if (expect_idle(self) < 0) {
        return NULL;
    }
    return PyBytes_FromStringAndSize((const char *)self->lists[which], count * (Py_ssize_t)sizeof(Word));
}

PyDoc_STRVAR(queue_doc, "queue($self, limit, /)\n--\n\nThe first jobs of the queue, so many at most.");

static PyObject *
play_queue(Play *self, PyObject *value)
{
    int64_t limit = PyLong_AsLongLong(value);
    if (limit == -1 && PyErr_Occurred()) {
        return NULL;
    }
    return list_of(self, QUEUE, limit < 0 || limit > self->waiting ? self->waiting : limit);
}

/* Whether so many members of a list are jobs. */
static int
are_jobs(const Play *self, const char *list, int64_t count)
{
    for (int64_t place = 0; place < count; place++) {
        int64_t job = ((const Word *)list)[place].number;
        if (job < 0 || job >= self->count) {
            return 0;
        }
    }
    return 1;
}

PyDoc_STRVAR(set_queue_doc, "set_queue($self, jobs, /)\n--\n\nThe same jobs in another order.");

static PyObject *
play_set_queue(Play *self, PyObject *value)
{
    if (expect_idle(self) < 0) {
        return NULL;
    }
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(value, &data, &size) < 0) {
        return NULL;
    }
    if (size != self->waiting * (Py_ssize_t)sizeof(Word) || !are_jobs(self, data, self->waiting)) {
        PyErr_SetString(PyExc_ValueError, "expected the jobs of the queue in another order");
        return NULL;
    }
    memcpy(self->lists[QUEUE], data, (size_t)size);
    Py_RETURN_NONE;
}

static PyObject *
get_ends(Play *self, void *Py_UNUSED(closure))
{
    return list_of(self, ENDS, self->running);
}

static PyObject *
get_end_jobs(Play *self, void *Py_UNUSED(closure))
{
    return list_of(self, END_JOBS, self->running);
}

static PyObject *
get_started(Play *self, void *Py_UNUSED(closure))
{
    return list_of(self, STARTED, self->started);
}

static PyObject *
get_finished(Play *self, void *Py_UNUSED(closure))
{
    return list_of(self, FINISHED, self->finished);
}

static PyObject *
get_starts(Play *self, void *Py_UNUSED(closure))
{
    return list_of(self, STARTS, self->count);
}

/* Making, copying and pickling */

/* Take the columns of the jobs, of eight bytes for each, and memory for the lists. */
static int
settle(Play *self, PyObject *const *columns)
{
    if (self->count < 1 || self->first < 0) {
        PyErr_SetString(PyExc_ValueError, "expected at least one job");
        return -1;
    }
    for (int column = 0; column < COLUMNS; column++) {
        if (columns[column] == Py_None && column >= RANKS) {
            continue;
        }
        if (PyObject_GetBuffer(columns[column], &self->fixed[column], PyBUF_SIMPLE) < 0) {
            return -1;
        }
        if (self->fixed[column].len != self->count * (Py_ssize_t)sizeof(Word)) {
            PyErr_SetString(PyExc_ValueError, "expected columns of as many numbers as there are jobs");
            return -1;
        }
        self->columns[column] = self->fixed[column].buf;
    }
    self->words = PyMem_Calloc((size_t)(self->count * (LISTS + 1)), sizeof(Word));
    if (!self->words) {
        PyErr_NoMemory();
        return -1;
    }
    for (int list = 0; list < LISTS; list++) {
        self->lists[list] = self->words + list * self->count;
    }
    self->reach = self->words + LISTS * self->count;
    return 0;
}

static PyObject *
new_play(PyTypeObject *type, PyObject *arguments, PyObject *Py_UNUSED(names))
{
    PyObject *columns[COLUMNS];
    long long first, count, hosts;
    double resolution, per;
    int is_whole;
    if (!PyArg_ParseTuple(arguments, "(OOOOOO)LLLddp:Play", &columns[0], &columns[1], &columns[2], &columns[3],
                          &columns[4], &columns[5], &first, &count, &hosts, &resolution, &per, &is_whole)) {
        return NULL;
    }
    Play *self = (Play *)type->tp_alloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->first = first;
    self->count = count;
    self->hosts = self->free = hosts;
    self->resolution = resolution;
    self->per = per;
    self->is_whole = is_whole;
    if (settle(self, columns) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    for (int64_t job = 0; job < count; job++) {
        self->lists[STARTS][job].time = -1.0;
        if (self->columns[SIZES][job].number < 1 || self->columns[SIZES][job].number > hosts) {
            PyErr_SetString(PyExc_ValueError, "expected jobs that fit");
            Py_DECREF(self);
            return NULL;
        }
    }
    self->now = self->columns[SUBMITTED][0].time;
    return (PyObject *)self;
}

static void
dealloc(Play *self)
{
    for (int column = 0; column < COLUMNS; column++) {
        PyBuffer_Release(&self->fixed[column]);
    }
    PyMem_Free(self->words);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

PyDoc_STRVAR(copy_doc, "copy($self, /)\n--\n\nAnother one that goes on alike.");

static PyObject *
play_copy(Play *self, PyObject *Py_UNUSED(nothing))
{
    if (expect_idle(self) < 0) {
        return NULL;
    }
    Play *made = (Play *)Py_TYPE(self)->tp_alloc(Py_TYPE(self), 0);
    if (!made) {
        return NULL;
    }
    PyObject *columns[COLUMNS];
    for (int column = 0; column < COLUMNS; column++) {
        columns[column] = self->fixed[column].obj ? self->fixed[column].obj : Py_None;
    }
    made->first = self->first;
    made->count = self->count;
    made->hosts = self->hosts;
    if (settle(made, columns) < 0) {
        Py_DECREF(made);
        return NULL;
    }
    memcpy(made->words, self->words, (size_t)(self->count * LISTS) * sizeof(Word));
    made->free = self->free;
    made->next = self->next;
    made->waiting = self->waiting;
    made->running = self->running;
    made->started = self->started;
    made->finished = self->finished;
    made->now = self->now;
    made->resolution = self->resolution;
    made->per = self->per;
    made->is_whole = self->is_whole;
    return (PyObject *)made;
}

PyDoc_STRVAR(state_doc, "state($self, /)\n--\n\nAll that changes, for pickles.");

static PyObject *
play_state(Play *self, PyObject *Py_UNUSED(nothing))
{
    if (expect_idle(self) < 0) {
        return NULL;
    }
    return Py_BuildValue("(dLLLLLLy#)", self->now, self->free, self->next, self->waiting, self->running, self->started,
                         self->finished, (const char *)self->words,
                         self->count * LISTS * (Py_ssize_t)sizeof(Word));
}

PyDoc_STRVAR(set_state_doc, "set_state($self, state, /)\n--\n\nWhat `state` gave becomes the state.");

static PyObject *
play_set_state(Play *self, PyObject *state)
{
    if (expect_idle(self) < 0) {
        return NULL;
    }
    long long counts[6];
    double now;
    const char *data;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(state, "dLLLLLLy#", &now, &counts[0], &counts[1], &counts[2], &counts[3], &counts[4],
                          &counts[5], &data, &size)) {
        return NULL;
    }
    int fits = size == self->count * LISTS * (Py_ssize_t)sizeof(Word);
    for (int number = 1; number < 6; number++) {
        fits = fits && counts[number] >= 0 && counts[number] <= self->count;
    }
    if (!fits || !are_jobs(self, data, self->count * ENDS)) { /* the lists that are none of times */
        PyErr_SetString(PyExc_ValueError, "expected the state of as many jobs");
        return NULL;
    }
    memcpy(self->words, data, (size_t)size);
    self->now = now;
    self->free = counts[0];
    self->next = counts[1];
    self->waiting = counts[2];
    self->running = counts[3];
    self->started = counts[4];
    self->finished = counts[5];
    Py_RETURN_NONE;
}

/* The module */

static PyMemberDef members[] = {
    {"now", T_DOUBLE, offsetof(Play, now), READONLY, "The time, in seconds."},
    {"free", T_LONGLONG, offsetof(Play, free), READONLY, "How many hosts no job has."},
    {"next", T_LONGLONG, offsetof(Play, next), READONLY, "The job that comes next."},
    {"waiting", T_LONGLONG, offsetof(Play, waiting), READONLY, "How many jobs wait."},
    {"running", T_LONGLONG, offsetof(Play, running), READONLY, "How many jobs run."},
    {"begun", T_LONGLONG, offsetof(Play, started), READONLY, "How many jobs have started."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef getters[] = {
    {"ends", (getter)get_ends, NULL, "When the jobs that run end at the latest.", NULL},
    {"end_jobs", (getter)get_end_jobs, NULL, "Which jobs those are.", NULL},
    {"started", (getter)get_started, NULL, "The jobs that have started.", NULL},
    {"finished", (getter)get_finished, NULL, "The jobs that have ended.", NULL},
    {"starts", (getter)get_starts, NULL, "When each job has started, or -1.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"advance", (PyCFunction)play_advance, METH_NOARGS, advance_doc},
    {"take", (PyCFunction)play_take, METH_O, take_doc},
    {"start", (PyCFunction)play_start, METH_O, start_doc},
    {"wait_for", (PyCFunction)play_wait_for, METH_VARARGS, wait_for_doc},
    {"see", (PyCFunction)play_see, METH_VARARGS, see_doc},
    {"sums", (PyCFunction)play_sums, METH_NOARGS, sums_doc},
    {"queue", (PyCFunction)play_queue, METH_O, queue_doc},
    {"set_queue", (PyCFunction)play_set_queue, METH_O, set_queue_doc},
    {"copy", (PyCFunction)play_copy, METH_NOARGS, copy_doc},
    {"state", (PyCFunction)play_state, METH_NOARGS, state_doc},
    {"set_state", (PyCFunction)play_set_state, METH_O, set_state_doc},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject play_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "batprotocol.gym._play.Play",
    .tp_doc = "Who waits and who runs.",
    .tp_basicsize = sizeof(Play),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = new_play,
    .tp_dealloc = (destructor)dealloc,
    .tp_methods = methods,
    .tp_members = members,
    .tp_getset = getters,
};

static int
populate(PyObject *module)
{
    return PyModule_AddType(module, &play_type) < 0 ? -1 : PyModule_AddType(module, &vector_type);
}

NATIVE_MODULE("batprotocol.gym", _play, "native worlds", populate, NULL,
              "Worlds in which jobs only take time. Private: use batprotocol.gym.")
