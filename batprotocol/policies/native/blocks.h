/* The times of a profile, in blocks: how they are kept, changed and searched. It knows nothing of Python but memory. */

#ifndef BATPROTOCOL_PROFILE_BLOCKS_H
#define BATPROTOCOL_PROFILE_BLOCKS_H

#include <Python.h>

#include <float.h>
#include <math.h>
#include <string.h>

enum { LARGEST = 64 };

typedef struct {
    int count;
    long long added, lowest, highest;
    double times[LARGEST + 1];
    long long free[LARGEST + 1]; /* but for what was added to all */
} Block;

typedef struct {
    PyObject_HEAD
    Py_ssize_t count, room;
    Block **blocks; /* at least one, and none without times */
    double *firsts; /* the first time of each, so that looking for one touches few */
} Profile;

static void
look_over(Block *block)
{
    long long lowest = block->free[0], highest = lowest;
    for (int at = 1; at < block->count; at++) {
        long long free = block->free[at];
        lowest = free < lowest ? free : lowest;
        highest = free > highest ? free : highest;
    }
    block->lowest = lowest + block->added;
    block->highest = highest + block->added;
}

static void
add(Block *block, int first, int last, long long by)
{
    for (int at = first; at < last; at++) {
        block->free[at] += by;
    }
    look_over(block);
}

/* How many of these numbers, which ascend, are less than one, or equal to it if `with` says so. */
static Py_ssize_t
before(const double *numbers, Py_ssize_t count, double number, int with)
{
    Py_ssize_t low = 0, high = count;
    while (low < high) {
        Py_ssize_t middle = (low + high) / 2;
        if (numbers[middle] < number || (with && numbers[middle] == number)) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}

/* Room for one more block at a place. -1 with an exception if there is none. */
static Block *
insert_block(Profile *self, Py_ssize_t place)
{
    if (self->count == self->room) {
        Py_ssize_t room = self->room ? 2 * self->room : 4;
        Block **blocks = PyMem_Realloc(self->blocks, (size_t)room * sizeof *blocks);
        if (blocks) {
            self->blocks = blocks;
        }
        double *firsts = blocks ? PyMem_Realloc(self->firsts, (size_t)room * sizeof *firsts) : NULL;
        if (!firsts) {
            PyErr_NoMemory();
            return NULL;
        }
        self->firsts = firsts;
        self->room = room;
    }
    Block *block = PyMem_Malloc(sizeof *block);
    if (!block) {
        PyErr_NoMemory();
        return NULL;
    }
    size_t behind = (size_t)(self->count - place);
    memmove(self->blocks + place + 1, self->blocks + place, behind * sizeof *self->blocks);
    memmove(self->firsts + place + 1, self->firsts + place, behind * sizeof *self->firsts);
    self->blocks[place] = block;
    self->count++;
    *block = (Block){0};
    return block;
}

static void
delete_blocks(Profile *self, Py_ssize_t first, Py_ssize_t last)
{
    for (Py_ssize_t place = first; place < last; place++) {
        PyMem_Free(self->blocks[place]);
    }
    size_t behind = (size_t)(self->count - last);
    memmove(self->blocks + first, self->blocks + last, behind * sizeof *self->blocks);
    memmove(self->firsts + first, self->firsts + last, behind * sizeof *self->firsts);
    self->count -= last - first;
}

/* Let a time, which is not before the first one, be one at which the number may change. -1 with an exception. */
static int
cut(Profile *self, double time)
{
    Py_ssize_t number = before(self->firsts, self->count, time, 1) - 1;
    Block *block = self->blocks[number];
    int at = (int)before(block->times, block->count, time, 0);
    if (at < block->count && block->times[at] == time) {
        return 0;
    }
    if (block->count == LARGEST) {
        Block *rest = insert_block(self, number + 1);
        if (!rest) {
            return -1;
        }
        int half = LARGEST / 2;
        rest->count = block->count - half;
        rest->added = block->added;
        memcpy(rest->times, block->times + half, (size_t)rest->count * sizeof *rest->times);
        memcpy(rest->free, block->free + half, (size_t)rest->count * sizeof *rest->free);
        block->count = half;
        self->firsts[number + 1] = rest->times[0];
        look_over(rest);
        look_over(block);
        if (at > half) {
            block = rest;
            at -= half;
        }
    }
    size_t behind = (size_t)(block->count - at);
    memmove(block->times + at + 1, block->times + at, behind * sizeof *block->times);
    memmove(block->free + at + 1, block->free + at, behind * sizeof *block->free);
    block->times[at] = time;
    block->free[at] = block->free[at - 1];
    block->count++;
    return 0;
}

/* A time at which the number does not change any more is forgotten, but for the first one. */
static void
heal(Profile *self, double time)
{
    Py_ssize_t number = before(self->firsts, self->count, time, 1) - 1;
    Block *block = self->blocks[number];
    int at = (int)before(block->times, block->count, time, 0);
    if (number == 0 && at == 0) {
        return;
    }
    Block *last = at ? block : self->blocks[number - 1];
    if (last->free[at ? at - 1 : last->count - 1] + last->added != block->free[at] + block->added) {
        return;
    }
    if (block->count == 1) {
        delete_blocks(self, number, number + 1);
        return;
    }
    size_t behind = (size_t)(block->count - at - 1);
    memmove(block->times + at, block->times + at + 1, behind * sizeof *block->times);
    memmove(block->free + at, block->free + at + 1, behind * sizeof *block->free);
    block->count--;
    self->firsts[number] = block->times[0];
    look_over(block);
}

/* Looking for a gap */

/* A gap is looked for in one block: `begin` says since when enough are free, and is less than 0 if they are not. Gives
   when the gap begins, or a number below 0 if there is none yet.

   Most blocks are passed through here, and most jobs find nothing. Whether enough are free at a time is as good as
   random, so nothing branches on it: what was guessed wrong would cost more than all the rest. */
static double
pass_through(const Block *block, long long size, double seconds, double *begin)
{
    const double *times = block->times;
    const long long *free = block->free, needed = size - block->added;
    int at = 0, start = 0, count = block->count;
    if (*begin >= 0) {
        while (free[at] >= needed) { /* there is one that is less */
            at++;
        }
        if (times[at] - *begin >= seconds) {
            return *begin;
        }
        start = ++at;
    }
    if (times[count - 1] - times[0] < seconds) { /* no gap lies in here: it can only begin behind the last that is less */
        for (at = count; free[at - 1] >= needed; at--) {
        }
        *begin = at < count ? times[at] : -1.0;
        return -1.0;
    }
    for (; at < count; at++) {
        int missing = free[at] < needed;
        if (missing & (times[at] - times[start] >= seconds)) {
            return times[start];
        }
        start = missing ? at + 1 : start;
    }
    *begin = start < count ? times[start] : -1.0;
    return -1.0;
}

/* The same for a block in which the time lies before which a gap must begin. Gives infinity if it cannot any more. */
static double
pass_limit(const Block *block, long long size, double seconds, double limit, double begin)
{
    for (int at = 0; at < block->count; at++) {
        double time = block->times[at];
        int missing = block->free[at] + block->added < size;
        if (begin >= 0 && (time >= limit || (missing && time - begin >= seconds))) {
            return begin;
        }
        if (time >= limit) {
            return INFINITY;
        }
        begin = missing ? -1.0 : begin < 0 ? time : begin;
    }
    return begin < 0 ? INFINITY : begin;
}

static double
earliest_of(const Profile *self, long long size, double seconds, double limit)
{
    double begin = -1.0; /* since when enough are free */
    seconds = seconds > 0 ? seconds : DBL_MIN;
    for (Py_ssize_t number = 0; number < self->count; number++) {
        const Block *block = self->blocks[number];
        double last = block->times[block->count - 1];
        if (last >= limit) {
            return pass_limit(block, size, seconds, limit, begin);
        }
        if (block->lowest >= size) { /* enough in all of it */
            begin = begin < 0 ? block->times[0] : begin;
            if (last - begin >= seconds) {
                return begin;
            }
        }
        else if (begin >= 0 || block->highest >= size) {
            double found = pass_through(block, size, seconds, &begin);
            if (found >= 0) {
                return found;
            }
        }
    }
    return begin >= 0 ? begin : INFINITY;
}

#endif
