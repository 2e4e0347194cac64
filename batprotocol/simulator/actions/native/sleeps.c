/* Sleeps: from all of them, each step is subtracted, rounded as doubles are. `sleeps.py` says how that is done for all
   that have one exponent at once. Counts of units are kept modulo 2**64: those of one group differ by less than 2**53. */

#include "actions.h"

#include <math.h>
#include <string.h>

#define DIGITS 52
#define WHOLE 4503599627370496.0 /* 2**52: from here on, doubles are whole */

typedef struct {
    uint64_t units; /* that it would have, had the group lost nothing */
    Action *sleep;
} Entry;

struct Group {
    int exponent;
    double unit, scale;
    uint64_t least, lost;
    Entry *heap;
    Py_ssize_t count, room;
};

static inline int
is_less(const Entry *one, const Entry *other)
{
    return (int64_t)(one->units - other->units) < 0;
}

static inline void
put(Group *group, Py_ssize_t place, Entry entry)
{
    group->heap[place] = entry;
    entry.sleep->place = place;
}

static void
sift_up(Group *group, Py_ssize_t place, Entry entry)
{
    while (place) {
        Py_ssize_t above = (place - 1) / 2;
        if (!is_less(&entry, &group->heap[above])) {
            break;
        }
        put(group, place, group->heap[above]);
        place = above;
    }
    put(group, place, entry);
}

static void
sift_down(Group *group, Py_ssize_t place, Entry entry)
{
    for (;;) {
        Py_ssize_t below = 2 * place + 1;
        if (below >= group->count) {
            break;
        }
        if (below + 1 < group->count && is_less(&group->heap[below + 1], &group->heap[below])) {
            below++;
        }
        if (!is_less(&group->heap[below], &entry)) {
            break;
        }
        put(group, place, group->heap[below]);
        place = below;
    }
    put(group, place, entry);
}

static void
take_out(Group *group, Py_ssize_t place)
{
    Entry last = group->heap[--group->count];
    if (place == group->count) {
        return;
    }
    if (place && is_less(&last, &group->heap[(place - 1) / 2])) {
        sift_up(group, place, last);
    }
    else {
        sift_down(group, place, last);
    }
}

static inline double
left_in(const Group *group, uint64_t lost, uint64_t units)
{
    return (double)(int64_t)(units - lost) * group->unit;
}

/* The group of this exponent, which is made if there is none; NULL with MemoryError. */
static Group *
group_of(Sleeps *sleeps, int exponent)
{
    Py_ssize_t place = 0;
    while (place < sleeps->count && sleeps->groups[place]->exponent < exponent) {
        place++;
    }
    if (place < sleeps->count && sleeps->groups[place]->exponent == exponent) {
        return sleeps->groups[place];
    }
    Group *group = PyMem_Calloc(1, sizeof *group);
    if (!group || make_room(&sleeps->groups, sleeps->count, &sleeps->room, 1, sizeof *sleeps->groups) < 0) {
        PyMem_Free(group);
        PyErr_NoMemory();
        return NULL;
    }
    group->exponent = exponent;
    group->unit = ldexp(1.0, exponent - DIGITS);
    group->scale = ldexp(1.0, DIGITS - exponent);
    double least = sleeps->timing * group->scale;
    group->least = least >= WHOLE ? (uint64_t)least + 1 : (uint64_t)1 << DIGITS;
    memmove(sleeps->groups + place + 1, sleeps->groups + place,
            (size_t)(sleeps->count - place) * sizeof *sleeps->groups);
    sleeps->groups[place] = group;
    sleeps->count++;
    return group;
}

static void
group_free(Group *group)
{
    PyMem_Free(group->heap);
    PyMem_Free(group);
}

static void
drop_empty(Sleeps *sleeps)
{
    Py_ssize_t count = 0;
    for (Py_ssize_t index = 0; index < sleeps->count; index++) {
        Group *group = sleeps->groups[index];
        if (group->count) {
            sleeps->groups[count++] = group;
        }
        else {
            group_free(group);
        }
    }
    sleeps->count = count;
}

int
sleeps_add(Sleeps *sleeps, Action *sleep, double seconds)
{
    sleep->group = NULL;
    sleep->left = seconds;
    if (seconds < sleeps->timing) { /* it ends with the next step, however short that is */
        sleep->place = sleeps->shorts.count;
        return keep(&sleeps->shorts, sleep);
    }
    if (seconds > DBL_MAX) {
        return 0;
    }
    int exponent;
    frexp(seconds, &exponent);
    Group *group = group_of(sleeps, exponent - 1);
    if (!group || make_room(&group->heap, group->count, &group->room, 1, sizeof *group->heap) < 0) {
        return -1;
    }
    sleep->group = group;
    group->count++;
    sift_up(group, group->count - 1, (Entry){(uint64_t)(seconds * group->scale) + group->lost, sleep});
    return 0;
}

void
sleeps_remove(Sleeps *sleeps, Action *sleep)
{
    if (sleep->group) {
        take_out(sleep->group, sleep->place);
        if (!sleep->group->count) {
            drop_empty(sleeps);
        }
    }
    else if (sleep->left < sleeps->timing) {
        Action *last = sleeps->shorts.items[--sleeps->shorts.count];
        sleeps->shorts.items[sleep->place] = last;
        last->place = sleep->place;
    }
}

double
sleep_left(const Action *sleep)
{
    const Group *group = sleep->group;
    return group ? left_in(group, group->lost, group->heap[sleep->place].units) : sleep->left;
}

double
sleeps_earliest(const Sleeps *sleeps)
{
    double earliest = Py_HUGE_VAL;
    for (Py_ssize_t index = 0; index < sleeps->shorts.count; index++) {
        if (sleeps->shorts.items[index]->left < earliest) {
            earliest = sleeps->shorts.items[index]->left;
        }
    }
    if (!sleeps->shorts.count && sleeps->count) {
        const Group *group = sleeps->groups[0];
        earliest = left_in(group, group->lost, group->heap[0].units);
    }
    return earliest;
}

/* One that leaves its group: what it has left now is what it had, less the step. */
static int
move_out(Sleeps *sleeps, Group *group, Entry entry, uint64_t before, double seconds)
{
    entry.sleep->left = left_in(group, before, entry.units) - seconds;
    return keep(&sleeps->moved, entry.sleep);
}

static int
subtract_from(Sleeps *sleeps, Group *group, double seconds)
{
    double amount = seconds * group->scale;
    double whole = amount < WHOLE ? (amount + WHOLE) - WHOLE : amount;
    uint64_t before = group->lost;
    if (fabs(amount - whole) == 0.5 || !(amount < 2.0 * WHOLE)) { /* the last bit of each decides */
        for (Py_ssize_t index = 0; index < group->count; index++) {
            if (move_out(sleeps, group, group->heap[index], before, seconds) < 0) {
                return -1;
            }
        }
        group->count = 0;
        return 0;
    }
    group->lost = before + (uint64_t)whole;
    while (group->count && (int64_t)(group->heap[0].units - group->lost) <= (int64_t)group->least) {
        if (move_out(sleeps, group, group->heap[0], before, seconds) < 0) {
            return -1;
        }
        take_out(group, 0);
    }
    return 0;
}

int
sleeps_subtract(Sleeps *sleeps, double seconds, ActionList *ended)
{
    for (Py_ssize_t index = 0; index < sleeps->shorts.count; index++) {
        if (keep(ended, sleeps->shorts.items[index]) < 0) {
            return -1;
        }
    }
    sleeps->shorts.count = 0;
    sleeps->moved.count = 0;
    for (Py_ssize_t index = 0; seconds > 0.0 && index < sleeps->count; index++) {
        if (subtract_from(sleeps, sleeps->groups[index], seconds) < 0) {
            return -1;
        }
    }
    if (!sleeps->moved.count) {
        return 0;
    }
    for (Py_ssize_t index = 0; index < sleeps->moved.count; index++) {
        Action *sleep = sleeps->moved.items[index];
        if (sleep->left < sleeps->timing) {
            if (keep(ended, sleep) < 0) {
                return -1;
            }
        }
        else if (sleeps_add(sleeps, sleep, sleep->left) < 0) {
            return -1;
        }
    }
    drop_empty(sleeps);
    return 0;
}

void
sleeps_free(Sleeps *sleeps)
{
    for (Py_ssize_t index = 0; index < sleeps->count; index++) {
        group_free(sleeps->groups[index]);
    }
    PyMem_Free(sleeps->groups);
    PyMem_Free(sleeps->shorts.items);
    PyMem_Free(sleeps->moved.items);
    *sleeps = (Sleeps){.timing = sleeps->timing};
}
