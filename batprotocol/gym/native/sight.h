/* What an agent sees, as observations.py writes it, in C: every number is the same. */

#ifndef BATPROTOCOL_GYM_SIGHT_H
#define BATPROTOCOL_GYM_SIGHT_H

#include "steps.h"

#define MOST_TIMES 16
#define MACHINE 3
#define RUNNING 2
#define HOUR 3600.0
#define NEVER 1e300

typedef struct {
    long long max_queue, max_running, width, waited, until, fits;
    long long columns[MOST_TIMES];
    float *row;
    const float *told, *parts;
    const double *known;
} Sight;

/* When a job can start at the latest, in seconds from now on. */
static double
start_of(const Play *self, int64_t size)
{
    int64_t first = 0, count = self->running;
    if (size <= self->free) {
        return 0.0;
    }
    if (!count || self->reach[count - 1].number < size) {
        return NEVER;
    }
    while (count > 1) {
        int64_t half = count / 2;
        first += self->reach[first + half - 1].number < size ? half : 0;
        count -= half;
    }
    return self->lists[ENDS][first].time - self->now;
}

static void
see(Play *self, const Sight *sight)
{
    long long times = sight->waited + sight->until;
    long long seen = self->waiting < sight->max_queue ? self->waiting : sight->max_queue;
    long long running = self->running < sight->max_running ? self->running : sight->max_running;
    float *row = sight->row;
    int64_t free = self->free;
    for (long long place = 0; sight->until && place < self->running; place++) {
        free += self->columns[SIZES][self->lists[END_JOBS][place].number].number;
        self->reach[place].number = free;
    }
    for (long long place = 0; place < seen; place++, row += sight->width) {
        int64_t job = self->lists[QUEUE][place].number, size = self->columns[SIZES][job].number;
        const double *known = sight->known + job * (2 + times) + 2;
        const float *told = sight->told + job * sight->width;
        if (sight->width == 8) { /* as by default: no call */
            memcpy(row, told, 8 * sizeof *row);
        }
        else {
            memcpy(row, told, (size_t)sight->width * sizeof *row);
        }
        double waited = self->now - self->columns[SUBMITTED][job].time;
        for (long long time = 0; time < sight->waited; time++) {
            row[sight->columns[time]] = (float)(waited / (waited + known[time]));
        }
        double start = sight->until ? start_of(self, size) : 0.0;
        for (long long time = sight->waited; time < times; time++) {
            row[sight->columns[time]] = (float)(start / (start + known[time]));
        }
        if (sight->fits >= 0) {
            row[sight->fits] = size <= self->free;
        }
    }
    memset(row, 0, (size_t)((sight->max_queue - seen) * sight->width) * sizeof *row);
    row += (sight->max_queue - seen) * sight->width;
    for (long long place = 0; place < running; place++, row += RUNNING) {
        double left = self->lists[ENDS][place].time - self->now;
        row[0] = (float)(left / (left + HOUR));
        row[1] = sight->parts[self->lists[END_JOBS][place].number];
    }
    memset(row, 0, (size_t)((sight->max_running - running) * RUNNING) * sizeof *row);
    row += (sight->max_running - running) * RUNNING;
    long long beyond = self->waiting - seen;
    row[0] = (float)((double)self->free / (double)self->hosts);
    row[1] = (float)((double)beyond / (double)(beyond + sight->max_queue));
    row[2] = (float)((double)self->next / (double)self->count);
}

#endif
