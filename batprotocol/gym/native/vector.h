/* Many worlds at a time, without Python's lock, for vector.py: the decisions of environments.py, the rewards of rewards.py,
   and what is seen then. Every number is the same as there. */

#ifndef BATPROTOCOL_GYM_VECTOR_H
#define BATPROTOCOL_GYM_VECTOR_H

#include "sight.h"
#include "sums.h"

#define MOST_RANKS 16

enum {BATCH, POLICIES, BACKFILL, KINDS};
enum {ALLOWED, NO_EVENT, EMPTY, TOO_LARGE, CANNOT_START}; /* REFUSALS of environments.py */
enum {FEATURES, KNOWN, PARTS, RANKINGS};
enum {REFUSED, WAITING, OVER, REPORT};
enum {COUNTED, SUM, LATEST, VALUE, WORTH};

static PyTypeObject play_type;

typedef struct {
    PyObject_HEAD
    int kind, only_fitting, can_wait, reward, is_each, backfills;
    Rules rules;
    Sight sight;
    long long rows, policies, orders, actions, order_columns[MOST_RANKS];
    Py_buffer tables[RANKINGS + 2 * MOST_RANKS]; /* of all jobs of the log; the rankings are of policies, then of orders */
    int held;
} Vector;

/* What a thread steps: a world, with memory of its own */
typedef struct {
    Play *play;
    int64_t action;
} Task;

typedef struct {
    const Vector *vector;
    Play *play;
    Rules rules; /* `found` has room for as many as there are jobs, or places of the queue */
    Pause pause;
} Turn;

static const int64_t *
ranking(const Turn *turn, long long number)
{
    return (const int64_t *)turn->vector->tables[RANKINGS + number].buf + turn->play->first;
}

static int64_t
size_of(const Play *play, int64_t job)
{
    return play->columns[SIZES][job].number;
}

static int64_t
seen_of(const Turn *turn)
{
    return turn->play->waiting < turn->vector->sight.max_queue ? turn->play->waiting : turn->vector->sight.max_queue;
}

/* Whether the job at a place of the queue may be chosen. */
static int
is_allowed(const Turn *turn, int64_t place)
{
    const Play *play = turn->play;
    int64_t job = play->lists[QUEUE][place].number;
    if (turn->vector->kind == BACKFILL) {
        return place && may_start(play, job, &turn->rules);
    }
    return !turn->vector->only_fitting || size_of(play, job) <= play->free;
}

/* The first place of the queue below a limit that may be chosen, or -1. */
static int64_t
first_allowed(Turn *turn, int64_t limit)
{
    if (turn->vector->kind == BACKFILL && limit) {
        set_limits(turn->play, turn->play->lists[QUEUE][0].number, &turn->rules);
    }
    for (int64_t place = 0; place < limit; place++) {
        if (is_allowed(turn, place)) {
            return place;
        }
    }
    return -1;
}

static int
is_due(Turn *turn, int *is_settled)
{
    Play *play = turn->play;
    if (turn->vector->kind == BACKFILL) {
        while (play->waiting && size_of(play, play->lists[QUEUE][0].number) <= play->free) {
            start(play, take(play, 0));
            *is_settled = 0;
        }
        if (*is_settled || !play->free) {
            *is_settled = 0;
            return 0;
        }
    }
    return first_allowed(turn, seen_of(turn)) >= 0;
}

/* 1 if the episode is over, 0 if there is a decision, -1 with an exception. */
static int
go_on(Turn *turn, int is_settled)
{
    Play *play = turn->play;
    while (play->started < play->count) {
        if (is_due(turn, &is_settled)) {
            return 0;
        }
        if (advance(play) == NOTHING) {
            break;
        }
        if (is_interrupted(&turn->pause)) {
            return -1;
        }
    }
    while (advance(play) != NOTHING) {
        if (is_interrupted(&turn->pause)) {
            return -1;
        }
    }
    return 1;
}

/* Start the job at a place of the queue, as soon as it fits. -1 with an exception, or without one if it never fits. */
static int
choose(Turn *turn, int64_t place)
{
    int64_t job = take(turn->play, place);
    if (size_of(turn->play, job) > turn->play->free &&
        wait_for(turn->play, job, turn->vector->backfills ? &turn->rules : NULL, &turn->pause) < 0) {
        return -1;
    }
    start(turn->play, job);
    return 0;
}

static int64_t
first_in_order(const Turn *turn, const int64_t *ranks)
{
    int64_t best = -1;
    for (int64_t place = 0; place < turn->play->waiting; place++) {
        int64_t rank = ranks[turn->play->lists[QUEUE][place].number];
        if (is_allowed(turn, place) && (best < 0 || rank < ranks[turn->play->lists[QUEUE][best].number])) {
            best = place;
        }
    }
    return best;
}

/* An action of Batch: the place of a job, or -1 to wait. What is not allowed is told, and something else is done. */
static int64_t
place_of_action(Turn *turn, int64_t action, int64_t *told)
{
    const Play *play = turn->play;
    int waits = action == turn->vector->sight.max_queue, goes_on = play->next < play->count || play->running;
    if (!waits && action < play->waiting && is_allowed(turn, action)) {
        return action;
    }
    if (waits && goes_on) {
        return -1;
    }
    told[REFUSED] = waits ? NO_EVENT : action < play->waiting ? TOO_LARGE : EMPTY;
    if (turn->vector->can_wait && goes_on) {
        return -1;
    }
    return first_allowed(turn, play->waiting);
}

/* 0, or -1 as `choose`. */
static int
act(Turn *turn, int64_t action, int64_t *told, int *is_settled)
{
    Play *play = turn->play;
    told[WAITING] = play->waiting;
    if (turn->vector->kind == BACKFILL) {
        first_allowed(turn, play->waiting); /* it sets the limits */
        if (action < seen_of(turn) && is_allowed(turn, action)) {
            start(play, take(play, action));
            return 0;
        }
        told[REFUSED] = action == turn->vector->sight.max_queue ? ALLOWED : CANNOT_START;
        *is_settled = 1;
        return 0;
    }
    int64_t place = turn->vector->kind == POLICIES ? first_in_order(turn, ranking(turn, action))
                                                   : place_of_action(turn, action, told);
    if (place < 0) {
        advance(play);
        return 0;
    }
    return choose(turn, place);
}

static void
write_mask(Turn *turn, int8_t *mask)
{
    const Play *play = turn->play;
    int64_t seen = seen_of(turn), actions = turn->vector->actions;
    int is_over = play->started == play->count;
    if (is_over || turn->vector->kind == POLICIES) {
        memset(mask, 1, (size_t)actions);
        return;
    }
    memset(mask, 0, (size_t)actions);
    if (turn->vector->kind == BATCH && !turn->vector->only_fitting) {
        memset(mask, 1, (size_t)seen);
        seen = 0;
    }
    for (int64_t place = first_allowed(turn, seen); place >= 0 && place < seen; place++) {
        mask[place] = (int8_t)is_allowed(turn, place);
    }
    if (turn->vector->kind == BACKFILL || (turn->vector->can_wait && (play->next < play->count || play->running))) {
        mask[actions - 1] = 1;
    }
}

/* Write what is seen, and the places of the jobs in orders. */
static void
look(Turn *turn, float *row)
{
    const Vector *vector = turn->vector;
    Play *play = turn->play;
    Sight sight = vector->sight;
    long long width = sight.width, times = sight.waited + sight.until;
    int64_t seen = seen_of(turn);
    sight.row = row;
    sight.told = (const float *)vector->tables[FEATURES].buf + play->first * width;
    sight.known = (const double *)vector->tables[KNOWN].buf + play->first * (2 + times);
    sight.parts = (const float *)vector->tables[PARTS].buf + play->first;
    see(play, &sight);
    for (long long order = 0; order < vector->orders; order++) {
        const int64_t *ranks = ranking(turn, vector->policies + order);
        Ranked *found = turn->rules.found;
        for (int64_t place = 0; place < seen; place++) {
            found[place] = (Ranked){ranks[play->lists[QUEUE][place].number], place};
        }
        qsort(found, (size_t)seen, sizeof *found, compare);
        for (int64_t rank = 0; rank < seen; rank++) {
            row[found[rank].job * width + vector->order_columns[order]] = (float)((double)rank / (double)seen);
        }
    }
}

/* Rewards */

/* The sum of the values of jobs of the queue, by pairs as numpy adds them. */
static double
sum_of_waiting(const Play *play, int kind, int64_t from, int64_t count)
{
    const Word *jobs = play->lists[QUEUE] + from;
    double sums[8] = {0.0}, sum;
    int64_t place = 0;
    if (count > 128) {
        int64_t half = count / 2 - count / 2 % 8;
        return sum_of_waiting(play, kind, from, half) + sum_of_waiting(play, kind, from + half, count - half);
    }
    for (; place < count - count % 8; place++) {
        sums[place % 8] += value_of(play, kind, jobs[place].number, play->now);
    }
    sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    for (; place < count; place++) {
        sum += value_of(play, kind, jobs[place].number, play->now);
    }
    return sum;
}

static double
value_until_now(const Play *play, int kind, double *worth)
{
    int64_t from = worth[COUNTED] >= 0 && worth[COUNTED] <= (double)play->started ? (int64_t)worth[COUNTED] : 0;
    if (kind == UTILISATION) {
        for (int64_t number = from; number < play->started; number++) {
            int64_t job = play->lists[STARTED][number].number;
            double lasted = play->columns[LASTS][job].time, end = play->lists[STARTS][job].time + lasted;
            worth[SUM] += (double)size_of(play, job) * lasted;
            worth[LATEST] = end > worth[LATEST] ? end : worth[LATEST];
        }
        worth[COUNTED] = (double)play->started;
        double passed = worth[LATEST] - play->columns[SUBMITTED][0].time;
        return passed > 0 ? worth[SUM] / ((double)play->hosts * passed) : 0.0;
    }
    if (play->started - from == play->count) {
        return -sum_of_started(play, kind, from) / (double)play->count;
    }
    if (play->started > from) {
        worth[SUM] += sum_of_started(play, kind, from);
        worth[COUNTED] = (double)play->started;
    }
    double total = worth[SUM];
    if (play->started < play->count && play->waiting) {
        total += sum_of_waiting(play, kind, 0, play->waiting);
    }
    return -total / (double)play->count;
}

/* One step of one world: 0, or -1 as `choose`. */
static int
step_one(Turn *turn, int64_t action, int64_t *told, double *worth)
{
    int is_settled = 0, is_over;
    told[REFUSED] = told[WAITING] = told[OVER] = 0;
    if (action < 0) {
        return 0;
    }
    if (turn->play->started < turn->play->count && act(turn, action, told, &is_settled) < 0) {
        return -1;
    }
    is_over = go_on(turn, is_settled);
    if (is_over < 0) {
        return -1;
    }
    told[OVER] = is_over;
    if (worth && (is_over || turn->vector->is_each)) {
        worth[VALUE] = value_until_now(turn->play, turn->vector->reward, worth);
    }
    return 0;
}

/* What Python calls */

/* Take an array of numbers of a format ("q", "d", "f", "b"), with these rows and columns (-1: it has none). */
static int
take_array(PyObject *given, Py_buffer *buffer, const char *name, char format, int is_written, Py_ssize_t rows,
           Py_ssize_t columns)
{
    if (PyObject_GetBuffer(given, buffer, PyBUF_ND | PyBUF_FORMAT | (is_written ? PyBUF_WRITABLE : 0)) < 0) {
        PyErr_Format(PyExc_ValueError, "expected %s as a contiguous%s array", name, is_written ? ", writable" : "");
        return -1;
    }
    const char *found = buffer->format ? buffer->format : "B";
    int is_format = found[0] == format || (format == 'q' && found[0] == 'l' && buffer->itemsize == 8);
    int is_shape = buffer->ndim == (columns < 0 ? 1 : 2) && buffer->shape[0] == rows &&
                   (columns < 0 || buffer->shape[1] == columns);
    if (is_format && !found[1] && is_shape) {
        return 0;
    }
    PyErr_Format(PyExc_ValueError, "expected %s as an array of the format %c with %zd rows and %zd columns (-1: none)",
                 name, format, rows, columns);
    PyBuffer_Release(buffer);
    return -1;
}

static void
vector_dealloc(Vector *self)
{
    while (self->held) {
        PyBuffer_Release(&self->tables[--self->held]);
    }
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* Take the tables of a log, with a row for each of its jobs. */
static int
take_tables(Vector *self, PyObject *const *tables, PyObject *policies, PyObject *orders)
{
    const Sight *sight = &self->sight;
    Py_ssize_t columns[RANKINGS] = {(Py_ssize_t)sight->width, (Py_ssize_t)(2 + sight->waited + sight->until), -1};
    for (; self->held < RANKINGS; self->held++) {
        if (take_array(tables[self->held], &self->tables[self->held], "a table of jobs", "fdf"[self->held], 0,
                       (Py_ssize_t)self->rows, columns[self->held]) < 0) {
            return -1;
        }
    }
    for (long long number = 0; number < self->policies + self->orders; number++, self->held++) {
        PyObject *ranks = number < self->policies ? PyTuple_GET_ITEM(policies, number)
                                                  : PyTuple_GET_ITEM(orders, number - self->policies);
        if (take_array(ranks, &self->tables[self->held], "ranks", 'q', 0, (Py_ssize_t)self->rows, -1) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Numbers of a tuple, each below a limit. */
static int
take_columns(PyObject *given, long long *columns, Py_ssize_t count, long long limit)
{
    if (PyTuple_GET_SIZE(given) != count) {
        PyErr_SetString(PyExc_ValueError, "expected a column for each");
        return -1;
    }
    for (Py_ssize_t place = 0; place < count; place++) {
        columns[place] = PyLong_AsLongLong(PyTuple_GET_ITEM(given, place));
        if (columns[place] < 0 || columns[place] >= limit) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "expected columns of observations");
            }
            return -1;
        }
    }
    return 0;
}

static PyObject *
new_vector(PyTypeObject *type, PyObject *arguments, PyObject *Py_UNUSED(names))
{
    PyObject *rules, *columns, *tables[RANKINGS], *policies, *orders, *places;
    Vector *self = (Vector *)type->tp_alloc(type, 0);
    Sight *sight = &self->sight;
    if (!self) {
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "ippO(ip)((LLLLLL)O!)(OOO)LO!O!O!:Vector", &self->kind, &self->only_fitting,
                          &self->can_wait, &rules, &self->reward, &self->is_each, &sight->max_queue, &sight->max_running,
                          &sight->width, &sight->waited, &sight->until, &sight->fits, &PyTuple_Type, &columns,
                          &tables[FEATURES], &tables[KNOWN], &tables[PARTS], &self->rows, &PyTuple_Type, &policies,
                          &PyTuple_Type, &orders, &PyTuple_Type, &places)) {
        goto failed;
    }
    self->policies = PyTuple_GET_SIZE(policies);
    self->orders = PyTuple_GET_SIZE(orders);
    self->backfills = rules != Py_None;
    if (self->backfills && !PyArg_ParseTuple(rules, "pppp", &self->rules.is_easy, &self->rules.has_spare,
                                             &self->rules.is_strict, &self->rules.is_once)) {
        goto failed;
    }
    if (self->kind < 0 || self->kind >= KINDS || self->reward < 0 || self->reward >= REWARDS || self->rows < 1 ||
        self->policies > MOST_RANKS || self->orders > MOST_RANKS || (self->kind == POLICIES) != (self->policies > 0) ||
        sight->max_queue < 1 || sight->max_queue >= 1 << 24 || sight->max_running < 0 ||
        sight->max_running >= 1 << 24 || sight->width < 1 || sight->width >= 1 << 16 || sight->waited < 0 ||
        sight->until < 0 || sight->waited > MOST_TIMES || sight->until > MOST_TIMES - sight->waited ||
        sight->fits < -1 || sight->fits >= sight->width) {
        PyErr_SetString(PyExc_ValueError, "expected a kind of environment, and a layout of observations");
        goto failed;
    }
    if (take_columns(columns, sight->columns, (Py_ssize_t)(sight->waited + sight->until), sight->width) < 0 ||
        take_columns(places, self->order_columns, (Py_ssize_t)self->orders, sight->width) < 0 ||
        take_tables(self, tables, policies, orders) < 0) {
        goto failed;
    }
    self->actions = self->kind == POLICIES ? self->policies : sight->max_queue + (self->can_wait || self->kind == BACKFILL);
    return (PyObject *)self;
failed:
    Py_DECREF(self);
    return NULL;
}

/* Take the worlds, which nobody else may step now, and their actions (-1, or no array: it is only looked at). */
static int
take_tasks(const Vector *self, PyObject *worlds, const Py_buffer *actions, Task *tasks)
{
    Py_ssize_t count = PyTuple_GET_SIZE(worlds), number = 0;
    for (; number < count; number++) {
        Play *play = (Play *)PyTuple_GET_ITEM(worlds, number);
        int64_t action = actions->obj ? ((const int64_t *)actions->buf)[number] : -1;
        if (!PyObject_TypeCheck((PyObject *)play, &play_type) || play->first > self->rows - play->count) {
            PyErr_SetString(PyExc_ValueError, "expected worlds of the log");
            break;
        }
        if (action < -1 || action >= self->actions) {
            PyErr_Format(PyExc_ValueError, "expected actions in [-1, %lld), got %lld", self->actions, (long long)action);
            break;
        }
        if (play->is_busy) {
            PyErr_SetString(PyExc_RuntimeError,
                            "another thread steps this environment at this moment, or it is there twice");
            break;
        }
        play->is_busy = 1;
        Py_INCREF(play);
        tasks[number] = (Task){play, action};
    }
    if (number == count) {
        return 0;
    }
    while (number--) {
        tasks[number].play->is_busy = 0;
        Py_DECREF(tasks[number].play);
    }
    return -1;
}

/* Step all tasks without Python's lock: how many are done, and of how many there is something to tell. */
static Py_ssize_t
step_all(const Vector *self, const Task *tasks, Py_ssize_t count, Ranked *found, const Py_buffer *arrays,
         Py_ssize_t *events)
{
    const Sight *sight = &self->sight;
    long long width = sight->max_queue * sight->width + sight->max_running * RUNNING + MACHINE;
    Turn turn = {.vector = self, .rules = self->rules};
    turn.rules.found = found;
    turn.rules.latest = INFINITY;
    Py_ssize_t number = 0;
    turn.pause.released = PyEval_SaveThread();
    for (; number < count; number++) {
        turn.play = tasks[number].play;
        int64_t none[REPORT], *told = arrays[3].obj ? (int64_t *)arrays[3].buf + number * REPORT : none;
        double *worth = arrays[4].obj ? (double *)arrays[4].buf + number * WORTH : NULL;
        if (step_one(&turn, tasks[number].action, told, worth) < 0 || is_interrupted(&turn.pause)) {
            break;
        }
        *events += told[REFUSED] || told[OVER];
        if (arrays[1].obj) {
            look(&turn, (float *)arrays[1].buf + number * width);
        }
        if (arrays[2].obj) {
            write_mask(&turn, (int8_t *)arrays[2].buf + number * self->actions);
        }
    }
    PyEval_RestoreThread(turn.pause.released);
    return number;
}

PyDoc_STRVAR(step_doc, "step($self, worlds, actions, rows, masks, told, worth, /)\n--\n\n"
                       "Step worlds, write what is seen (or None), and return of how many there is a report: see "
                       "`VectorEnvironment`.");

static PyObject *
vector_step(Vector *self, PyObject *arguments)
{
    static const char *const names[] = {"actions", "observations", "masks", "reports", "rewards"};
    PyObject *worlds, *given[5];
    if (!PyArg_ParseTuple(arguments, "O!OOOOO:step", &PyTuple_Type, &worlds, &given[0], &given[1], &given[2],
                          &given[3], &given[4])) {
        return NULL;
    }
    const Sight *sight = &self->sight;
    Py_ssize_t width = (Py_ssize_t)(sight->max_queue * sight->width + sight->max_running * RUNNING + MACHINE);
    Py_ssize_t count = PyTuple_GET_SIZE(worlds), room = (Py_ssize_t)sight->max_queue, done = -1, events = 0;
    Py_ssize_t columns[5] = {-1, width, (Py_ssize_t)self->actions, REPORT, WORTH};
    Py_buffer arrays[5] = {{0}};
    Task *tasks = NULL;
    Ranked *found = NULL;
    int array = 0;
    for (; array < 5; array++) {
        if (given[array] != Py_None && take_array(given[array], &arrays[array], names[array], "qfbqd"[array], array > 0,
                                                  count, columns[array]) < 0) {
            goto end;
        }
    }
    if (arrays[4].obj && !self->reward) {
        PyErr_SetString(PyExc_ValueError, "expected no rewards: the kind of reward is not known");
        goto end;
    }
    tasks = PyMem_New(Task, count + 1);
    if (!tasks || take_tasks(self, worlds, &arrays[0], tasks) < 0) {
        if (!tasks) {
            PyErr_NoMemory();
        }
        goto end;
    }
    for (Py_ssize_t number = 0; number < count; number++) {
        room = room > tasks[number].play->count ? room : (Py_ssize_t)tasks[number].play->count;
    }
    found = PyMem_New(Ranked, room);
    if (!found) {
        PyErr_NoMemory();
    }
    else {
        done = step_all(self, tasks, count, found, arrays, &events);
    }
    for (Py_ssize_t number = 0; number < count; number++) {
        tasks[number].play->is_busy = 0;
        Py_DECREF(tasks[number].play);
    }
    if (found && done < count && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "expected a job that fits once all others have ended");
    }
end:
    PyMem_Free(found);
    PyMem_Free(tasks);
    while (array--) {
        PyBuffer_Release(&arrays[array]);
    }
    if (done < 0 || done < count) {
        return NULL;
    }
    return PyLong_FromSsize_t(events);
}

static PyMethodDef vector_methods[] = {
    {"step", (PyCFunction)vector_step, METH_VARARGS, step_doc},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject vector_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "batprotocol.gym._play.Vector",
    .tp_doc = "What environments of one kind decide, see and reward.",
    .tp_basicsize = sizeof(Vector),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = new_vector,
    .tp_dealloc = (destructor)vector_dealloc,
    .tp_methods = vector_methods,
};

#endif
