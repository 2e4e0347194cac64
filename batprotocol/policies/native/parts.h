/* The plan of Slurm's backfill: parts of time, each with the set of nodes that are not planned for jobs. It knows
   nothing of Python but memory. What each function is for, is said in loops.py, where the same steps are in Python. */

#ifndef BATPROTOCOL_SLURM_PARTS_H
#define BATPROTOCOL_SLURM_PARTS_H

#include <Python.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef uint64_t Word; /* 64 nodes */

typedef struct {
    int first, length;
} Run; /* consecutive nodes */

typedef struct {
    PyObject_HEAD
    Py_ssize_t words; /* of a set */
    Py_ssize_t count; /* running jobs */
    double *ends;     /* when they end, in order */
    Word *free;       /* the nodes that are free before the first end, and after each one */
} Releases;

typedef struct {
    PyObject_HEAD
    Py_ssize_t words, count, room;
    int64_t end, resolution;
    int64_t *begins; /* of each part */
    Py_ssize_t *slots; /* the place of the set of each part in the pool; those behind the last part are unused */
    Word *pool;
    struct size *sizes; /* of the set of each part, at the same places as in the pool */
    Word *scratch; /* some sets for what is going on */
    Run *runs, *sorted;
    Py_ssize_t *lengths;
    Py_ssize_t ahead; /* the next job that may start now */
    /* The plans of the last run that are kept, those that this run has made so far first: `KeptPlans` of reservations.py */
    struct made *made;
    Word *made_sets;
    Py_ssize_t made_count, made_known, made_room;
    int64_t serial, serials; /* of the last plan of this run, and the last one that was given */
    long long footing;       /* the number of what the run stands on; 0: nothing is kept */
} Plan;

struct size {
    int64_t count; /* the nodes */
    int rises;     /* whether it has a node that the part before it lacks */
};

struct made {
    int64_t first, last, at, serial;
    int is_open; /* whether it lasts to the end of the window */
};

enum { ROOM, USABLE, MINE, CHOSEN, OPEN, COMPLETING, FITTING, ASKED, GIVEN, ALL, SETS };

/* Sets */

static inline int
lowest_bit(Word word) /* which is not 0 */
{
#ifdef __GNUC__
    return __builtin_ctzll(word);
#else
    return bits_in_word((word & (0 - word)) - 1);
#endif
}

static inline int64_t
count_of(const Word *set, Py_ssize_t words)
{
    int64_t count = 0;
    for (Py_ssize_t at = 0; at < words; at++) {
        count += bits_in_word(set[at]);
    }
    return count;
}

static inline int64_t
count_both(const Word *one, const Word *other, Py_ssize_t words)
{
    int64_t count = 0;
    for (Py_ssize_t at = 0; at < words; at++) {
        count += bits_in_word(one[at] & other[at]);
    }
    return count;
}

static inline void
both(Word *into, const Word *one, const Word *other, Py_ssize_t words)
{
    for (Py_ssize_t at = 0; at < words; at++) {
        into[at] = one[at] & other[at];
    }
}

static inline int
share_some(const Word *one, const Word *other, Py_ssize_t words)
{
    Word found = 0;
    for (Py_ssize_t at = 0; at < words; at++) {
        found |= one[at] & other[at];
    }
    return found != 0;
}

/* Whether one set has a node that the other one lacks. */
static inline int
exceeds(const Word *one, const Word *other, Py_ssize_t words)
{
    Word found = 0;
    for (Py_ssize_t at = 0; at < words; at++) {
        found |= one[at] & ~other[at];
    }
    return found != 0;
}

static inline size_t
size_of(Py_ssize_t words)
{
    return (size_t)words * sizeof(Word);
}

/* The runs of a set in order; returns how many there are. */
static Py_ssize_t
runs_of(const Word *set, Py_ssize_t words, Run *runs)
{
    Py_ssize_t count = 0;
    for (Py_ssize_t at = 0; at < words; at++) {
        Word left = set[at];
        int base = (int)at * 64;
        while (left) {
            int first = lowest_bit(left);
            Word above = ~(left >> first); /* its lowest bit is that behind the run, if the run ends in this word */
            int length = above ? lowest_bit(above) : 64;
            length = length > 64 - first ? 64 - first : length;
            if (count && runs[count - 1].first + runs[count - 1].length == base + first) {
                runs[count - 1].length += length;
            }
            else {
                runs[count++] = (Run){base + first, length};
            }
            left = first + length < 64 ? left & (~(Word)0 << (first + length)) : 0;
        }
    }
    return count;
}

static void
add_run(Word *set, int first, int64_t length)
{
    while (length > 0) {
        int shift = first % 64, most = 64 - shift;
        int part = length < most ? (int)length : most;
        set[first / 64] |= (part == 64 ? ~(Word)0 : (((Word)1 << part) - 1)) << shift;
        first += part;
        length -= part;
    }
}

/* The nodes that Slurm takes of a set that has enough: `best_fit` of cluster.py. */
static void
best_fit(Plan *self, const Word *set, int64_t wanted, Word *chosen)
{
    Run *runs = self->runs, *sorted = self->sorted, *best = NULL;
    Py_ssize_t count = runs_of(set, self->words, runs), longest = 0;
    memset(chosen, 0, size_of(self->words));
    for (Py_ssize_t at = 0; at < count; at++) {
        longest = runs[at].length > longest ? runs[at].length : longest;
        if (runs[at].length >= wanted && (!best || runs[at].length < best->length)) {
            best = &runs[at];
        }
    }
    if (!best) { /* long ones first, then by their first nodes */
        Py_ssize_t *starts = self->lengths;
        memset(starts, 0, (size_t)(longest + 2) * sizeof *starts);
        for (Py_ssize_t at = 0; at < count; at++) {
            starts[longest - runs[at].length + 1]++;
        }
        for (Py_ssize_t length = 1; length <= longest; length++) {
            starts[length] += starts[length - 1];
        }
        for (Py_ssize_t at = 0; at < count; at++) {
            sorted[starts[longest - runs[at].length]++] = runs[at];
        }
        Py_ssize_t at = 0;
        do {
            add_run(chosen, sorted[at].first, sorted[at].length);
            wanted -= sorted[at++].length;
        } while (at < count && sorted[at].length < wanted);
        for (; at < count && sorted[at].length >= wanted; at++) {
            if (!best || sorted[at].length < best->length) {
                best = &sorted[at];
            }
        }
    }
    if (best) {
        add_run(chosen, best->first, wanted);
    }
}

/* Parts */

static inline Word *
set_of(const Plan *self, Py_ssize_t place)
{
    return self->pool + self->slots[place] * self->words;
}

static inline struct size *
size_at(const Plan *self, Py_ssize_t place)
{
    return self->sizes + self->slots[place];
}

static inline Word *
scratch_of(const Plan *self, int which)
{
    return self->scratch + which * self->words;
}

/* How many parts begin before a time, or at it if `with` says so. */
static Py_ssize_t
begun(const Plan *self, int64_t time, int with)
{
    Py_ssize_t low = 0, high = self->count;
    while (low < high) {
        Py_ssize_t middle = (low + high) / 2;
        if (self->begins[middle] < time || (with && self->begins[middle] == time)) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}

static Py_ssize_t
place_of(const Plan *self, int64_t time)
{
    Py_ssize_t place = begun(self, time, 1) - 1;
    return place < 0 ? 0 : place;
}

static double
begin_after(const Plan *self, int64_t time)
{
    Py_ssize_t place = begun(self, time, 1);
    return place < self->count ? (double)self->begins[place] : INFINITY;
}

static int
make_room(Plan *self, Py_ssize_t room)
{
    int64_t *begins = PyMem_Realloc(self->begins, (size_t)room * sizeof *begins);
    self->begins = begins ? begins : self->begins;
    Py_ssize_t *slots = begins ? PyMem_Realloc(self->slots, (size_t)room * sizeof *slots) : NULL;
    self->slots = slots ? slots : self->slots;
    Word *pool = slots ? PyMem_Realloc(self->pool, (size_t)room * size_of(self->words)) : NULL;
    if (!pool) {
        PyErr_NoMemory();
        return -1;
    }
    self->pool = pool;
    struct size *sizes = PyMem_Realloc(self->sizes, (size_t)room * sizeof *sizes);
    if (!sizes) {
        PyErr_NoMemory();
        return -1;
    }
    self->sizes = sizes;
    for (Py_ssize_t slot = self->room; slot < room; slot++) {
        slots[slot] = slot;
    }
    self->room = room;
    return 0;
}

/* The place of the part that begins at a time, which is made if there is none; -1 without memory. */
static Py_ssize_t
cut(Plan *self, int64_t time)
{
    if (time <= self->begins[0]) {
        return 0;
    }
    Py_ssize_t place = begun(self, time, 0);
    if (place < self->count && self->begins[place] == time) {
        return place;
    }
    if (self->count == self->room && make_room(self, 2 * self->room) < 0) {
        return -1;
    }
    Py_ssize_t slot = self->slots[self->count];
    size_t behind = (size_t)(self->count - place);
    memmove(self->begins + place + 1, self->begins + place, behind * sizeof *self->begins);
    memmove(self->slots + place + 1, self->slots + place, behind * sizeof *self->slots);
    self->begins[place] = time;
    self->slots[place] = slot;
    self->count++;
    memcpy(set_of(self, place), set_of(self, place - 1), size_of(self->words));
    *size_at(self, place) = (struct size){size_at(self, place - 1)->count, 0};
    return place;
}

static void
drop(Plan *self, Py_ssize_t place)
{
    Py_ssize_t slot = self->slots[place];
    size_t behind = (size_t)(self->count - place - 1);
    memmove(self->begins + place, self->begins + place + 1, behind * sizeof *self->begins);
    memmove(self->slots + place, self->slots + place + 1, behind * sizeof *self->slots);
    self->slots[--self->count] = slot;
}

static int
reserve(Plan *self, int64_t start, int64_t end, const Word *nodes)
{
    end = end < start + self->resolution ? start + self->resolution : end;
    start = start < self->begins[0] ? self->begins[0] : start;
    if (start >= self->end) {
        return 0;
    }
    Py_ssize_t first = cut(self, start), last = first < 0 ? -1 : end < self->end ? cut(self, end) : self->count;
    if (last < 0) {
        return -1;
    }
    for (Py_ssize_t place = first; place < last; place++) {
        Word *set = set_of(self, place);
        for (Py_ssize_t at = 0; at < self->words; at++) {
            set[at] &= ~nodes[at];
        }
        size_at(self, place)->count = count_of(set, self->words);
    }
    for (Py_ssize_t place = first > 1 ? first : 1; place <= last && place < self->count; place++) {
        struct size *size = size_at(self, place);
        if (size->rises || place == last) { /* no others have more than the part before them */
            size->rises = exceeds(set_of(self, place), set_of(self, place - 1), self->words);
        }
    }
    for (Py_ssize_t place = last < self->count ? last : self->count - 1; place >= (first > 1 ? first : 1); place--) {
        if (!memcmp(set_of(self, place), set_of(self, place - 1), size_of(self->words))) {
            drop(self, place);
        }
    }
    return 0;
}

/* A run has made a plan: `KeptPlans.plan` of reservations.py. -1 without memory. */
static int
note_made(Plan *self, int64_t first, int64_t last, const Word *nodes)
{
    int64_t now = self->begins[0];
    last = last < first + self->resolution ? first + self->resolution : last;
    if (first >= self->end) {
        return 0;
    }
    if (self->made_count == self->made_room) {
        Py_ssize_t room = self->made_room ? 2 * self->made_room : 64;
        struct made *made = PyMem_Realloc(self->made, (size_t)room * sizeof *made);
        self->made = made ? made : self->made;
        Word *sets = made ? PyMem_Realloc(self->made_sets, (size_t)room * size_of(self->words)) : NULL;
        if (!sets) {
            PyErr_NoMemory();
            return -1;
        }
        self->made_sets = sets;
        self->made_room = room;
    }
    struct made *known = self->made + self->made_count;
    Word *set = self->made_sets + self->made_count * self->words;
    int is_open = last >= self->end;
    if (self->made_count == self->made_known || known->first != first || known->last != last ||
        known->is_open != is_open || memcmp(set, nodes, size_of(self->words)) || last <= now ||
        (known->at < first && first <= now)) {
        *known = (struct made){first, last, now, ++self->serials, is_open};
        memcpy(set, nodes, size_of(self->words));
        self->made_known = self->made_count + 1;
    }
    self->made_count++;
    self->serial = known->serial;
    return 0;
}

static int
overlaps(const Plan *self, int64_t start, int64_t end, const Word *nodes)
{
    for (Py_ssize_t place = place_of(self, start); place < self->count && self->begins[place] < end; place++) {
        int64_t until = place + 1 < self->count ? self->begins[place + 1] : self->end;
        if (until > start && exceeds(nodes, set_of(self, place), self->words)) {
            return 1;
        }
    }
    return 0;
}

/* `nodes` has those that are left afterwards. */
static int
free_until(const Plan *self, int64_t end, Word *nodes, int64_t count)
{
    for (Py_ssize_t place = 0; place < self->count && self->begins[place] <= end; place++) {
        both(nodes, nodes, set_of(self, place), self->words);
        if (count_of(nodes, self->words) < count) {
            return 0;
        }
    }
    return count_of(nodes, self->words) >= count;
}

/* The next time at which others are free, 0 if there is none; `usable` has the nodes that are free all the time. */
static int64_t
usable_nodes(const Plan *self, int64_t start, int64_t end, const Word *nodes, Word *usable)
{
    Py_ssize_t last = self->count - 1, words = self->words;
    int64_t later = 0;
    memcpy(usable, nodes, size_of(words));
    for (Py_ssize_t place = place_of(self, start); place <= last; place++) {
        if (self->begins[place] > end && later) {
            break;
        }
        const Word *part = set_of(self, place);
        if (place < last && !later && self->begins[place + 1] > start) {
            const Word *next = set_of(self, place + 1);
            Word more = 0;
            for (Py_ssize_t at = 0; at < words; at++) {
                more |= nodes[at] & next[at] & ~(usable[at] & part[at]);
            }
            later = more ? self->begins[place + 1] : 0;
        }
        if (self->begins[place] > end) {
            break;
        }
        both(usable, usable, part, words);
    }
    return later;
}

/* How many running jobs end before a time. */
static Py_ssize_t
ended(const Releases *releases, double time)
{
    Py_ssize_t low = 0, high = releases->count;
    while (low < high) {
        Py_ssize_t middle = (low + high) / 2;
        if (releases->ends[middle] < time) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}

/* Whether so many nodes of a set stay free from a part up to a time. The set loses the others. */
static int
lasts(const Plan *self, Word *room, Py_ssize_t first, int64_t end, int64_t count)
{
    if (count_of(room, self->words) < count) {
        return 0;
    }
    for (Py_ssize_t place = first; place < self->count && self->begins[place] <= end; place++) {
        both(room, room, set_of(self, place), self->words);
    }
    return count_of(room, self->words) >= count;
}

/* The same as `next_room` for a job that may have all nodes. Up to a part that rises, each has those of the next one. */
static int64_t
next_room_of_all(const Plan *self, int64_t start, int64_t length, int64_t count, const Releases *releases)
{
    Py_ssize_t words = self->words, last = self->count - 1, first = place_of(self, start);
    Word *room = scratch_of(self, ROOM);
    for (;;) {
        Py_ssize_t place = first;
        int64_t end = start + length;
        while (place < last && self->begins[place] <= end && !size_at(self, place + 1)->rises) {
            place++;
        }
        if (place == last || self->begins[place] > end) {
            return start;
        }
        first = place + 1;
        int64_t later = self->begins[first];
        if (size_at(self, place)->count >= count) {
            const Word *free = releases->free + ended(releases, (double)(later + 1)) * words;
            both(room, set_of(self, place), free, words);
            if (lasts(self, room, first, end, count)) {
                return start;
            }
        }
        start = later;
    }
}

static int64_t
next_room(const Plan *self, int64_t start, int64_t length, const Word *nodes, int64_t count, const Releases *releases)
{
    if (!exceeds(scratch_of(self, ALL), nodes, self->words)) {
        return next_room_of_all(self, start, length, count, releases);
    }
    Py_ssize_t words = self->words, last = self->count - 1, first = place_of(self, start);
    Word *room = scratch_of(self, ROOM);
    for (;;) {
        Py_ssize_t place = first;
        int64_t end = start + length;
        both(room, nodes, set_of(self, first), words);
        while (place < last && self->begins[place] <= end) {
            const Word *next = set_of(self, place + 1);
            Word more = 0;
            for (Py_ssize_t at = 0; at < words; at++) {
                more |= nodes[at] & next[at] & ~room[at];
            }
            if (more) {
                break;
            }
            both(room, nodes, next, words);
            place++;
        }
        if (place == last || self->begins[place] > end) {
            return start;
        }
        first = place + 1;
        int64_t later = self->begins[first];
        both(room, room, releases->free + ended(releases, (double)(later + 1)) * words, words);
        if (lasts(self, room, first, end, count)) {
            return start;
        }
        start = later;
    }
}

#endif
