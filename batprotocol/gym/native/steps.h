/* Who waits, who runs, and what happens next: the steps of play.c, which says what they are for. */

#ifndef BATPROTOCOL_GYM_STEPS_H
#define BATPROTOCOL_GYM_STEPS_H

#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {SUBMITTED, WALLTIMES, LASTS, SIZES, RANKS, TRIED, COLUMNS};
enum {QUEUE, END_JOBS, NEXT_JOBS, STARTED, FINISHED, ENDS, NEXT_ENDS, STARTS, LISTS};

#define NOTHING INT64_MIN
#define EXACT 9007199254740992.0

typedef union {
    int64_t number;
    double time;
} Word;

typedef struct {
    PyObject_HEAD
    const Word *columns[COLUMNS]; /* of the jobs of the episode; no ranks: NULL */
    Word *lists[LISTS];
    Word *words;
    Word *reach; /* how many hosts are free once so many jobs have ended; `see` counts them */
    long long first, count, hosts, free, next, waiting, running, started, finished;
    double now, resolution, per;
    int is_whole, is_busy;
    Py_buffer fixed[COLUMNS];
} Play;

/* Whether somebody types Ctrl-C meanwhile. Without Python's lock, it is taken for a moment now and then. */
typedef struct {
    PyThreadState *released;
    unsigned count;
} Pause;

static int
is_interrupted(Pause *pause)
{
    if (!pause->released) {
        return PyErr_CheckSignals() < 0;
    }
    if (++pause->count % 1024) {
        return 0;
    }
    PyEval_RestoreThread(pause->released);
    int found = PyErr_CheckSignals() < 0;
    pause->released = PyEval_SaveThread();
    return found;
}

static double
rounded(const Play *self, double time)
{
    if (self->is_whole || !(fabs(time) < EXACT * self->resolution)) {
        return time;
    }
    double steps = rint(time / self->resolution);
    return self->resolution >= 1 ? steps * self->resolution : steps / self->per;
}

static double
latest_end(const Play *self, int64_t job, double start)
{
    return rounded(self, start + self->columns[WALLTIMES][job].time);
}

static void
insert(Word *list, int64_t place, int64_t count, Word what)
{
    memmove(list + place + 1, list + place, (size_t)(count - place) * sizeof *list);
    list[place] = what;
}

static void
erase(Word *list, int64_t place, int64_t count)
{
    memmove(list + place, list + place + 1, (size_t)(count - place - 1) * sizeof *list);
}

/* The first place whose time is later, or, if `equal`, not earlier. */
static int64_t
place_of(const Word *times, int64_t count, double time, int equal)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (equal ? times[middle].time < time : times[middle].time <= time) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}

static int64_t
arrive(Play *self)
{
    int64_t job = self->next++, place = self->waiting;
    const Word *ranks = self->columns[RANKS];
    if (ranks) {
        int64_t low = 0;
        while (low < place) {
            int64_t middle = low + (place - low) / 2;
            if (ranks[self->lists[QUEUE][middle].number].number < ranks[job].number) {
                low = middle + 1;
            }
            else {
                place = middle;
            }
        }
    }
    insert(self->lists[QUEUE], place, self->waiting++, (Word){.number = job});
    return job;
}

static int64_t
take(Play *self, int64_t place)
{
    int64_t job = self->lists[QUEUE][place].number;
    erase(self->lists[QUEUE], place, self->waiting--);
    return job;
}

static void
start(Play *self, int64_t job)
{
    double end = latest_end(self, job, self->now), next = rounded(self, self->now + self->columns[LASTS][job].time);
    int64_t place = place_of(self->lists[ENDS], self->running, end, 0);
    insert(self->lists[ENDS], place, self->running, (Word){.time = end});
    insert(self->lists[END_JOBS], place, self->running, (Word){.number = job});
    place = place_of(self->lists[NEXT_ENDS], self->running, next, 0);
    insert(self->lists[NEXT_ENDS], place, self->running, (Word){.time = next});
    insert(self->lists[NEXT_JOBS], place, self->running++, (Word){.number = job});
    self->free -= self->columns[SIZES][job].number;
    self->lists[STARTS][job].time = self->now;
    self->lists[STARTED][self->started++].number = job;
}

static int64_t
advance(Play *self)
{
    if (self->next < self->count) {
        double time = self->columns[SUBMITTED][self->next].time;
        if (!self->running || time <= self->lists[NEXT_ENDS][0].time) {
            self->now = time;
            return arrive(self);
        }
    }
    else if (!self->running) {
        return NOTHING;
    }
    int64_t job = self->lists[NEXT_JOBS][0].number;
    self->now = self->lists[NEXT_ENDS][0].time;
    double end = latest_end(self, job, self->lists[STARTS][job].time);
    int64_t place = place_of(self->lists[ENDS], self->running, end, 1);
    while (self->lists[END_JOBS][place].number != job) {
        place++;
    }
    erase(self->lists[ENDS], place, self->running);
    erase(self->lists[END_JOBS], place, self->running);
    erase(self->lists[NEXT_ENDS], 0, self->running);
    erase(self->lists[NEXT_JOBS], 0, self->running--);
    self->free += self->columns[SIZES][job].number;
    self->lists[FINISHED][self->finished++].number = job;
    return -1 - job;
}

/* Backfilling, as in backfilling.py */

typedef struct {
    int64_t rank, job;
} Ranked;

static int
compare(const void *one, const void *other)
{
    int64_t first = ((const Ranked *)one)->rank, second = ((const Ranked *)other)->rank;
    return (first > second) - (first < second);
}

typedef struct {
    int is_easy, has_spare, is_strict, is_once;
    double latest;
    int64_t spare;
    Ranked *found; /* of as many as there are jobs */
} Rules;

static void
set_limits(const Play *self, int64_t job, Rules *rules)
{
    double latest = INFINITY, slack = self->resolution / 2;
    int64_t free = self->free, size = self->columns[SIZES][job].number;
    rules->latest = INFINITY;
    rules->spare = 0;
    if (!rules->is_easy) {
        return;
    }
    for (int64_t place = 0; place < self->running; place++) {
        double end = self->lists[ENDS][place].time;
        if (end > latest) {
            break;
        }
        free += self->columns[SIZES][self->lists[END_JOBS][place].number].number;
        if (free >= size && latest == INFINITY) {
            latest = (end > self->now ? end : self->now) + slack;
        }
    }
    if (rules->has_spare && latest < INFINITY) {
        rules->spare = free - size;
    }
    rules->latest = latest - slack + (rules->is_strict ? -slack : slack);
}

static int
may_start(const Play *self, int64_t job, const Rules *rules)
{
    int64_t size = self->columns[SIZES][job].number;
    return size <= self->free &&
           (self->columns[WALLTIMES][job].time <= rules->latest - self->now || size <= rules->spare);
}

static void
start_all(Play *self, Rules *rules)
{
    int64_t count = 0;
    for (int64_t place = 0; place < self->waiting; place++) {
        if (may_start(self, self->lists[QUEUE][place].number, rules)) {
            rules->found[count++].job = self->lists[QUEUE][place].number;
        }
    }
    if (self->columns[TRIED] && count > 1) {
        for (int64_t number = 0; number < count; number++) {
            rules->found[number].rank = self->columns[TRIED][rules->found[number].job].number;
        }
        qsort(rules->found, (size_t)count, sizeof *rules->found, compare);
    }
    for (int64_t number = 0; number < count; number++) {
        int64_t job = rules->found[number].job, place = 0;
        if (!may_start(self, job, rules)) {
            continue;
        }
        if (self->columns[WALLTIMES][job].time > rules->latest - self->now) {
            rules->spare -= self->columns[SIZES][job].number;
        }
        while (self->lists[QUEUE][place].number != job) {
            place++;
        }
        take(self, place);
        start(self, job);
    }
}

/* Let time go on until a job fits, and others start meanwhile. 0, or -1 if it never does, or with an exception, as in an
   episode of a million jobs that can take long enough for somebody to type Ctrl-C. */
static int
wait_for(Play *self, int64_t job, Rules *rules, Pause *pause)
{
    int64_t size = self->columns[SIZES][job].number;
    if (rules) {
        set_limits(self, job, rules);
        start_all(self, rules);
    }
    while (size > self->free) {
        int64_t event = advance(self);
        if (event == NOTHING || is_interrupted(pause)) {
            return -1;
        }
        if (!rules || size <= self->free) {
            continue;
        }
        if (rules->is_easy && !rules->is_once && event < 0) {
            set_limits(self, job, rules);
        }
        if (event < 0 || may_start(self, event, rules)) {
            start_all(self, rules);
        }
    }
    return 0;
}

#endif
