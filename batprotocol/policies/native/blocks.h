/* The times of a profile, in blocks: how they are kept, changed and searched. It knows nothing of Python but memory,
   exceptions and numbers. */

#ifndef BATPROTOCOL_PROFILE_BLOCKS_H
#define BATPROTOCOL_PROFILE_BLOCKS_H

#include <Python.h>

#include <float.h>
#include <math.h>
#include <string.h>

enum { LARGEST = 64, LEVELS = 24 };

typedef struct {
    int count;
    int levels;             /* of how many levels there are hosts, of which the following is known */
    int is_known;           /* whether it is up to date */
    int is_exact;           /* whether the bounds of the profile are, too */
    int bounded;            /* how many levels have a bound that is not less than 0 */
    long long added, lowest, highest;
    double longest[LEVELS]; /* how long 2^level hosts are free at most, from a time of the block on */
    double until[LEVELS];   /* until when they are free from the first time on; infinity: in all of the block */
    double since[LEVELS];   /* since when, where they are free at the last time; minus infinity: in all of the block */
    double times[LARGEST + 1];
    long long free[LARGEST + 1]; /* but for what was added to all */
} Block;

typedef struct {
    PyObject_HEAD
    Py_ssize_t count, room;
    Block **blocks; /* at least one, and none without times */
    double *firsts; /* the first time of each, so that looking for one touches few */
    float *bounds;  /* for each level a row of blocks: for how long hosts are free at most, here and since before */
    Py_ssize_t near; /* a block near which a time is looked for */
} Profile;

/* Arguments */

static int
as_time(PyObject *value, double *time)
{
    *time = PyFloat_AsDouble(value);
    return *time == -1.0 && PyErr_Occurred() ? -1 : 0;
}

static int
as_number(PyObject *value, long long *number)
{
    *number = PyLong_AsLongLong(value);
    return *number == -1 && PyErr_Occurred() ? -1 : 0;
}

static int
expect(const char *name, Py_ssize_t count, Py_ssize_t least, Py_ssize_t most)
{
    if (count < least || count > most) {
        PyErr_Format(PyExc_TypeError, "%s: expected %zd arguments, got %zd", name, most, count);
        return -1;
    }
    return 0;
}

static int
append_pair(PyObject *list, PyObject *pair)
{
    int failed = !pair || PyList_Append(list, pair) < 0;
    Py_XDECREF(pair);
    return failed ? -1 : 0;
}

/* Blocks */

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
    block->is_known = block->is_exact = 0;
}

/* Compute how long hosts are free at most from a time of a block on, which the next one follows at a time. */
static void
look_for_gaps(Block *block, double next)
{
    double *since = block->since, *longest = block->longest, first = block->times[0];
    int level = 0, most = 0; /* enough are free for the levels below `level` */
    for (int at = 0; at < block->count; at++) {
        long long free = block->free[at] + block->added;
        double time = block->times[at];
        for (; level > 0 && free < 1LL << (level - 1); level--) {
            double begin = since[level - 1], length = time - begin;
            longest[level - 1] = length > longest[level - 1] ? length : longest[level - 1];
            if (begin == first) {
                block->until[level - 1] = time;
            }
        }
        for (; level < LEVELS && free >= 1LL << level; level++) {
            since[level] = time;
            if (level == most) {
                longest[most++] = 0.0;
            }
        }
    }
    while (level-- > 0) {
        double length = next - since[level];
        longest[level] = length > longest[level] ? length : longest[level];
        if (since[level] == first) {
            since[level] = -INFINITY;
            block->until[level] = INFINITY;
        }
    }
    block->levels = most;
    block->is_known = 1;
}

/* Of how many levels there are hosts, if so many are free. */
static int
levels_of(long long free)
{
    int levels = 0;
    while (levels < LEVELS && free >= 1LL << levels) {
        levels++;
    }
    return levels;
}

/* Add to the numbers from a place on, before another one. */
static void
add(Block *block, int first, int last, long long by)
{
    if (first >= last) {
        return;
    }
    long long *free = block->free, lowest = free[first], highest = lowest;
    for (int at = first; at < last; at++) {
        lowest = free[at] < lowest ? free[at] : lowest;
        highest = free[at] > highest ? free[at] : highest;
        free[at] += by;
    }
    lowest += block->added;
    highest += block->added;
    if (by > 0 ? lowest == block->lowest : highest == block->highest) { /* another one may be that now */
        look_over(block);
    }
    else if (by > 0) {
        block->highest = highest + by > block->highest ? highest + by : block->highest;
    }
    else {
        block->lowest = lowest + by < block->lowest ? lowest + by : block->lowest;
    }
    block->is_known = block->is_exact = 0;
}

/* How many of these numbers, which ascend, are less than one, or equal to it if `with` says so. */
static inline Py_ssize_t
before(const double *numbers, Py_ssize_t count, double number, int with)
{
    Py_ssize_t low = 0; /* nothing branches on a comparison: what was guessed wrong would cost most */
    while (count > 1) {
        Py_ssize_t half = count / 2;
        double middle = numbers[low + half - 1];
        low += half & -(Py_ssize_t)((middle < number) | (with & (middle == number)));
        count -= half;
    }
    return low + (count && (numbers[low] < number || (with && numbers[low] == number)));
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
        self->firsts = firsts ? firsts : self->firsts;
        float *bounds = firsts ? PyMem_Malloc((size_t)room * LEVELS * sizeof *bounds) : NULL;
        if (!bounds) {
            PyErr_NoMemory();
            return NULL;
        }
        for (Py_ssize_t level = 0; level < LEVELS && self->count; level++) {
            memcpy(bounds + level * room, self->bounds + level * self->room, (size_t)self->count * sizeof *bounds);
        }
        PyMem_Free(self->bounds);
        self->bounds = bounds;
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
    for (Py_ssize_t level = 0; level < LEVELS; level++) {
        float *row = self->bounds + level * self->room + place;
        memmove(row + 1, row, behind * sizeof *row);
        row[0] = -1.0f;
    }
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
    for (Py_ssize_t level = 0; level < LEVELS; level++) {
        float *row = self->bounds + level * self->room;
        memmove(row + first, row + last, behind * sizeof *row);
    }
    self->count -= last - first;
}

/* Bounds

   The bound of a level and a block is no less than the time for which 2^level hosts are free from any time of the block
   on, and from any time on from which they are free until the begin of the block. Where fewer become free, bounds stay
   valid. Where more become free, they are infinite until a search comes by. */

static long long
first_free(const Block *block)
{
    return block->free[0] + block->added;
}

static long long
last_free(const Block *block)
{
    return block->free[block->count - 1] + block->added;
}

static void
loosen(Profile *self, Py_ssize_t number, int levels)
{
    Block *block = self->blocks[number];
    for (int level = 0; level < levels; level++) {
        self->bounds[level * self->room + number] = INFINITY;
    }
    block->is_exact = 0;
    block->bounded = levels > block->bounded ? levels : block->bounded;
}

/* More hosts may be free in a block than its bounds say. */
static void
loosen_around(Profile *self, Py_ssize_t number)
{
    const Block *block = self->blocks[number];
    loosen(self, number, levels_of(block->highest));
    if (number + 1 < self->count) {
        long long one = last_free(block), other = first_free(self->blocks[number + 1]);
        int levels = levels_of(one < other ? one : other);
        if (levels) {
            loosen(self, number + 1, levels);
        }
    }
}

/* The same for places of one block, before the second of which more are free. What is free before and behind them can be
   one gap with them now; it is looked for over a few places, else it is no longer than the bound. */
static void
loosen_within(Profile *self, Py_ssize_t number, int first, int last)
{
    enum { STEPS = 16 };
    Block *block = self->blocks[number], *next = number + 1 < self->count ? self->blocks[number + 1] : NULL;
    const Block *before = number ? self->blocks[number - 1] : NULL;
    const double end = next ? self->firsts[number + 1] : INFINITY;
    const double begin = block->times[first], until = last < block->count ? block->times[last] : end;
    long long most = block->free[first];
    for (int at = first + 1; at < last; at++) {
        most = block->free[at] > most ? block->free[at] : most;
    }
    int levels = levels_of(most + block->added), whole = levels_of(block->lowest), steps = STEPS;
    for (int level = levels - 1; level >= 0; level--) {
        long long needed = (1LL << level) - block->added;
        float *bound = self->bounds + level * self->room + number;
        double known = bound[0] > 0 ? bound[0] : 0.0, left = 0.0, right = known;
        int is_open = 1; /* whether it may go on in the next block */
        for (; first && steps && block->free[first - 1] >= needed; first--, steps--) {
        }
        if (first && steps) {
            left = begin - block->times[first];
        }
        else if (first || begin > block->times[0]) {
            left = known;
        }
        else if (before && last_free(before) >= 1LL << level) {
            left = bound[-1];
        }
        for (; last < block->count && steps && block->free[last] >= needed; last++, steps--) {
        }
        if (steps) {
            is_open = last == block->count;
            right = (is_open ? end : block->times[last]) - until;
        }
        double length = left + (until - begin) + right;
        if (level < whole || length > known) {
            bound[0] = level < whole ? INFINITY : (float)(length * 1.000001);
        }
        if (is_open && next && last_free(block) >= 1LL << level && first_free(next) >= 1LL << level) {
            double behind = bound[1] > 0 ? bound[1] : 0.0;
            bound[1] = (float)((left + (until - begin) + behind) * 1.000001);
            next->is_exact = 0;
            next->bounded = level < next->bounded ? next->bounded : level + 1;
        }
    }
    block->is_exact = 0;
    block->bounded = levels > block->bounded ? levels : block->bounded;
}

static void
look_again(Profile *self, Py_ssize_t number)
{
    Block *block = self->blocks[number];
    if (!block->is_known) {
        look_for_gaps(block, number + 1 < self->count ? self->firsts[number + 1] : INFINITY);
    }
}

/* Compute the bounds of a block. */
static void
tighten(Profile *self, Py_ssize_t number)
{
    Block *block = self->blocks[number];
    int shared = 0;
    look_again(self, number);
    if (number) {
        long long one = last_free(self->blocks[number - 1]), other = first_free(block);
        shared = levels_of(one < other ? one : other);
        if (shared) {
            look_again(self, number - 1);
        }
    }
    for (int level = 0; level < block->bounded || level < block->levels || level < shared; level++) {
        double most = level < block->levels ? block->longest[level] : -1.0;
        if (level < shared) {
            double across = block->until[level] - self->blocks[number - 1]->since[level];
            most = across > most ? across : most;
        }
        self->bounds[level * self->room + number] = (float)(most * 1.000001); /* not less, however it is rounded */
    }
    block->is_exact = 1;
    block->bounded = block->levels > shared ? block->levels : shared;
}

/* Where a time is. */
typedef struct {
    Py_ssize_t block;
    int at;
} Place;

/* The block in which a time lies that is not before the first one. */
static Py_ssize_t
find_block(Profile *self, double time)
{
    enum { STEPS = 4 };
    const double *firsts = self->firsts;
    Py_ssize_t number = self->near < self->count ? self->near : self->count - 1;
    int left = STEPS;
    while (left && firsts[number] > time) {
        number--;
        left--;
    }
    while (left && number + 1 < self->count && firsts[number + 1] <= time) {
        number++;
        left--;
    }
    number = left ? number : before(firsts, self->count, time, 1) - 1;
    self->near = number;
    return number;
}

static Place
find(Profile *self, double time)
{
    Py_ssize_t number = find_block(self, time);
    const Block *block = self->blocks[number];
    return (Place){number, (int)before(block->times, block->count, time, 0)};
}

/* Let a time, which is not before the first one, be one at which the number may change, and find it. 1 if a block was
   split, -1 with an exception. */
static int
cut(Profile *self, double time, Place *found)
{
    Place place = *found = find(self, time);
    Block *block = self->blocks[place.block];
    int at = place.at, is_split = block->count == LARGEST;
    if (at < block->count && block->times[at] == time) {
        return 0;
    }
    if (is_split) {
        Block *rest = insert_block(self, place.block + 1);
        if (!rest) {
            return -1;
        }
        int half = LARGEST / 2;
        rest->count = block->count - half;
        rest->added = block->added;
        memcpy(rest->times, block->times + half, (size_t)rest->count * sizeof *rest->times);
        memcpy(rest->free, block->free + half, (size_t)rest->count * sizeof *rest->free);
        block->count = half;
        self->firsts[place.block + 1] = rest->times[0];
        look_over(rest);
        look_over(block);
        loosen_around(self, place.block);
        loosen_around(self, place.block + 1);
        if (at > half) {
            block = rest;
            at -= half;
            *found = (Place){place.block + 1, at};
        }
    }
    size_t behind = (size_t)(block->count - at);
    memmove(block->times + at + 1, block->times + at, behind * sizeof *block->times);
    memmove(block->free + at + 1, block->free + at, behind * sizeof *block->free);
    block->times[at] = time;
    block->free[at] = block->free[at - 1];
    block->count++;
    return is_split;
}

/* A time at which the number does not change any more is forgotten, but for the first one. */
static void
heal(Profile *self, Place place)
{
    Block *block = self->blocks[place.block];
    int at = place.at;
    if (place.block == 0 && at == 0) {
        return;
    }
    Block *last = at ? block : self->blocks[place.block - 1];
    if (last->free[at ? at - 1 : last->count - 1] + last->added != block->free[at] + block->added) {
        return;
    }
    if (block->count == 1) {
        delete_blocks(self, place.block, place.block + 1);
        last->is_known = 0;
        loosen_around(self, place.block - 1);
        return;
    }
    size_t behind = (size_t)(block->count - at - 1);
    memmove(block->times + at, block->times + at + 1, behind * sizeof *block->times);
    memmove(block->free + at, block->free + at + 1, behind * sizeof *block->free);
    block->count--;
    if (!at) { /* else, another one of the block is equal */
        self->firsts[place.block] = block->times[0];
        look_over(block);
        last->is_known = 0;
        loosen_around(self, place.block - 1);
    }
}

/* So many more hosts are free from one time to another one. -1 with an exception. */
static int
change_by(Profile *self, double begin, double end, long long by)
{
    if (!(end > begin)) {
        return 0;
    }
    if (!(begin >= self->firsts[0])) {
        PyErr_SetString(PyExc_ValueError, "expected a time that is not before the first one");
        return -1;
    }
    Place from, to = {0, 0};
    int is_split = 0;
    if (cut(self, begin, &from) < 0 || (end < INFINITY && (is_split = cut(self, end, &to)) < 0)) {
        return -1;
    }
    from = is_split ? find(self, begin) : from;
    to = end < INFINITY ? to : (Place){self->count, 0};
    Block *only = from.block == to.block ? self->blocks[from.block] : NULL;
    add(self->blocks[from.block], from.at, only ? to.at : self->blocks[from.block]->count, by);
    for (Py_ssize_t number = from.block + 1; number < to.block; number++) {
        Block *block = self->blocks[number];
        block->added += by;
        block->lowest += by;
        block->highest += by;
        block->is_known = block->is_exact = 0;
    }
    if (from.block < to.block && to.at) {
        add(self->blocks[to.block], 0, to.at, by);
    }
    if (by > 0 && only) {
        loosen_within(self, from.block, from.at, to.at);
    }
    else if (by > 0) {
        for (Py_ssize_t number = from.block; number < to.block + (to.at > 0); number++) {
            loosen_around(self, number);
        }
    }
    if (end < INFINITY) {
        heal(self, to);
    }
    heal(self, from);
    return 0;
}

/* Looking for a gap */

/* Since when enough are free at the end of the block before one; a number below 0 if they are not. */
static double
begin_before(const Profile *self, Py_ssize_t number, long long size)
{
    double begin = -1.0;
    while (number-- > 0) {
        const Block *block = self->blocks[number];
        int at = block->count;
        long long needed = size - block->added;
        while (at > 0 && block->free[at - 1] >= needed) {
            at--;
        }
        begin = at < block->count ? block->times[at] : begin;
        if (at > 0) {
            return begin;
        }
    }
    return begin;
}

/* A gap is looked for in one block, in which enough are not free all the time: `begin` says since when they are, and is
   less than 0 if they are not. Gives when the gap begins, or a number below 0 if there is none yet.

   Whether enough are free at a time is as good as random, so nothing branches on it: what was guessed wrong would cost
   more than all the rest. */
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
pass_limit(const Block *block, long long size, double seconds, double limit, double begin, int is_too_short)
{
    if (begin < 0 && block->highest < size) {
        return INFINITY;
    }
    const double *times = block->times;
    const long long *free = block->free, needed = size - block->added;
    int start = 0, at, count = (int)before(times, block->count, limit, 0);
    if (begin >= 0) {
        for (at = 0; at < count && free[at] >= needed; at++) {
        }
        if (at == count || times[at] - begin >= seconds) {
            return begin;
        }
        start = at + 1;
    }
    if (block->highest < size || start >= count) {
        return INFINITY;
    }
    if (is_too_short || times[count - 1] - times[start] < seconds) {
        for (at = count; at > start && free[at - 1] >= needed; at--) { /* only one until the limit can be a gap */
        }
        return at < count ? times[at] : INFINITY;
    }
    for (at = start; at < count; at++) {
        int missing = free[at] < needed;
        if (missing & (times[at] - times[start] >= seconds)) {
            return times[start];
        }
        start = missing ? at + 1 : start;
    }
    return start < count ? times[start] : INFINITY;
}

/* The next block of a row, before another one, whose bound is no less than a time. */
static inline Py_ssize_t
next_block(const float *row, Py_ssize_t number, Py_ssize_t last, float seconds)
{
    enum { STEP = 16 };
    for (; number + STEP <= last; number += STEP) {
        int found = 0;
        for (int each = 0; each < STEP; each++) {
            found |= row[number + each] >= seconds;
        }
        if (found) {
            break;
        }
    }
    while (number < last && row[number] < seconds) {
        number++;
    }
    return number;
}

/* The first time from which on enough are free for long enough, or until the limit; infinity if there is none. */
static double
earliest_of(Profile *self, long long size, double seconds, double limit)
{
    double begin = -1.0; /* since when enough are free */
    seconds = seconds > 0 ? seconds : DBL_MIN;
    const int levels = levels_of(size);
    const float *row = levels ? self->bounds + (levels - 1) * self->room : NULL, least = (float)(seconds * 0.999999);
    Py_ssize_t last = self->count;
    if (limit < INFINITY) {
        last = limit > self->firsts[0] ? find_block(self, limit) : 0;
        last += self->firsts[last] < limit;
        if (last && self->blocks[last - 1]->times[self->blocks[last - 1]->count - 1] >= limit) {
            last--;
        }
    }
    for (Py_ssize_t number = 0; number < last; number++) {
        if (begin < 0) {
            number = row ? next_block(row, number, last, least) : number;
            if (number == last) {
                break;
            }
        }
        Block *block = self->blocks[number];
        if (row && begin < 0) {
            if (!block->is_exact) {
                tighten(self, number);
                if (row[number] < least) {
                    continue;
                }
            }
            begin = first_free(block) >= size ? begin_before(self, number, size) : begin;
        }
        if (block->lowest >= size) { /* enough in all of it */
            begin = begin < 0 ? block->times[0] : begin;
            if (block->times[block->count - 1] - begin >= seconds) {
                return begin;
            }
            continue;
        }
        double found = pass_through(block, size, seconds, &begin);
        if (found >= 0) {
            return found;
        }
    }
    const Block *block = last < self->count ? self->blocks[last] : NULL;
    if (row && begin < 0 && (!block || block->times[0] >= limit || first_free(block) >= size)) {
        begin = begin_before(self, last, size);
    }
    if (block) {
        return pass_limit(block, size, seconds, limit, begin, row && row[last] < least);
    }
    return begin >= 0 ? begin : INFINITY;
}

enum { GAPS = 64 };

typedef struct {
    long long hosts;
    double seconds;
} Gap;

/* The gaps from the first time of a profile on, many hosts first; their count, or -1 if they are too many. */
static int
gaps_at_once(const Profile *profile, long long most, Gap *gaps)
{
    int count = 0;
    double now = profile->firsts[0];
    for (Py_ssize_t number = 0; number < profile->count && most > 0; number++) {
        const Block *block = profile->blocks[number];
        for (int at = 0; block->lowest < most && at < block->count && most > 0; at++) {
            long long free = block->free[at] + block->added;
            if (free < most && block->times[at] > now) {
                if (count == GAPS - 1) {
                    return -1;
                }
                gaps[count++] = (Gap){most, block->times[at] - now};
            }
            most = free < most ? free : most;
        }
    }
    if (most > 0) {
        gaps[count++] = (Gap){most, INFINITY};
    }
    return count;
}

/* A time, rounded to the resolution as State.rounded does. */
static double
rounded(double time, double resolution)
{
    if (!(resolution > 0) || !(fabs(time) < 9007199254740992.0 * resolution)) {
        return time;
    }
    double steps = nearbyint(time / resolution) + 0.0; /* which is not -0 */
    if (resolution >= 1) {
        return steps * resolution;
    }
    double whole = nearbyint(1 / resolution), difference = fabs(whole * resolution - 1.0);
    return steps / (difference <= 1e-9 * fmax(fabs(whole * resolution), 1.0) ? whole : 1 / resolution);
}

#endif
