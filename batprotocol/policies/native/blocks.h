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
    int levels;                  /* how many numbers of `longest` count; less than 0: it is to be computed */
    long long added, lowest, highest;
    double longest[LEVELS];      /* how long 2^level hosts are free at most, from a time of the block to another one */
    double times[LARGEST + 1];
    long long free[LARGEST + 1]; /* but for what was added to all */
} Block;

typedef struct {
    PyObject_HEAD
    Py_ssize_t count, room;
    Block **blocks; /* at least one, and none without times */
    double *firsts; /* the first time of each, so that looking for one touches few */
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
    block->levels = -1;
}

/* Compute how long hosts are free at most within a block. */
static void
look_for_gaps(Block *block)
{
    double since[LEVELS], *longest = block->longest;
    int level = 0, most = 0; /* enough are free for the levels below `level` */
    for (int at = 0; at < block->count; at++) {
        long long free = block->free[at] + block->added;
        double time = block->times[at];
        for (; level > 0 && free < 1LL << (level - 1); level--) {
            double length = time - since[level - 1];
            longest[level - 1] = length > longest[level - 1] ? length : longest[level - 1];
        }
        for (; level < LEVELS && free >= 1LL << level; level++) {
            since[level] = time;
            if (level == most) {
                longest[most++] = 0.0;
            }
        }
    }
    while (level-- > 0) { /* a gap of a larger size can end in here */
        double length = block->times[block->count - 1] - since[level];
        longest[level] = length > longest[level] ? length : longest[level];
    }
    block->levels = most;
}

/* The largest level of hosts, all of which a job of some size needs. */
static int
level_of(long long size)
{
    int level = 0;
    while (level + 1 < LEVELS && size >= 1LL << (level + 1)) {
        level++;
    }
    return level;
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
        int levels = block->levels;
        look_over(block);
        block->levels = by > 0 ? -1 : levels; /* if fewer are free, they are still the most */
    }
    else if (by > 0) {
        block->highest = highest + by > block->highest ? highest + by : block->highest;
        block->levels = -1;
    }
    else {
        block->lowest = lowest + by < block->lowest ? lowest + by : block->lowest;
    }
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

/* Where a time is. */
typedef struct {
    Py_ssize_t block;
    int at;
} Place;

static Place
find(const Profile *self, double time)
{
    Py_ssize_t number = before(self->firsts, self->count, time, 1) - 1;
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
    block->levels = behind ? block->levels : -1; /* else, the block has become longer */
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
        return;
    }
    size_t behind = (size_t)(block->count - at - 1);
    memmove(block->times + at, block->times + at + 1, behind * sizeof *block->times);
    memmove(block->free + at, block->free + at + 1, behind * sizeof *block->free);
    block->count--;
    if (!at) { /* else, another one of the block is equal */
        self->firsts[place.block] = block->times[0];
        look_over(block);
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
    add(self->blocks[from.block], from.at, from.block == to.block ? to.at : self->blocks[from.block]->count, by);
    for (Py_ssize_t number = from.block + 1; number < to.block; number++) {
        Block *block = self->blocks[number];
        block->added += by;
        block->lowest += by;
        block->highest += by;
        block->levels = by > 0 ? -1 : block->levels;
    }
    if (from.block < to.block && to.at) {
        add(self->blocks[to.block], 0, to.at, by);
    }
    if (end < INFINITY) {
        heal(self, to);
    }
    heal(self, from);
    return 0;
}

/* Looking for a gap */

/* A gap is looked for in one block: `begin` says since when enough are free, and is less than 0 if they are not. Gives
   when the gap begins, or a number below 0 if there is none yet.

   Most blocks are passed through here, and most jobs find nothing. Whether enough are free at a time is as good as
   random, so nothing branches on it: what was guessed wrong would cost more than all the rest. */
static double
pass_through(Block *block, long long size, int level, double seconds, double *begin)
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
    int is_too_short = times[count - 1] - times[0] < seconds;
    if (!is_too_short) {
        if (block->levels < 0) {
            look_for_gaps(block);
        }
        is_too_short = level >= block->levels || block->longest[level] < seconds;
    }
    if (is_too_short) { /* no gap lies in here: it can only begin behind the last that is less */
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
pass_limit(const Block *block, long long size, int level, double seconds, double limit, double begin)
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
    int is_too_short = times[count - 1] - times[start] < seconds;
    if (is_too_short || (block->levels >= 0 && (level >= block->levels || block->longest[level] < seconds))) {
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

static double
earliest_of(const Profile *self, long long size, double seconds, double limit)
{
    double begin = -1.0; /* since when enough are free */
    int level = level_of(size);
    seconds = seconds > 0 ? seconds : DBL_MIN;
    for (Py_ssize_t number = 0; number < self->count; number++) {
        Block *block = self->blocks[number];
        double last = block->times[block->count - 1];
        if (last >= limit) {
            return pass_limit(block, size, level, seconds, limit, begin);
        }
        if (block->lowest >= size) { /* enough in all of it */
            begin = begin < 0 ? block->times[0] : begin;
            if (last - begin >= seconds) {
                return begin;
            }
        }
        else if (begin >= 0 || block->highest >= size) {
            double found = pass_through(block, size, level, seconds, &begin);
            if (found >= 0) {
                return found;
            }
        }
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
