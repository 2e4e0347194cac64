/* Lists, the table in which actions are found by their numbers, and looking up from what takes long. */

#include "actions.h"

#include <string.h>

enum { FEWEST = 8, MANY_STEPS = 1 << 20 };

int
make_room(void *items, Py_ssize_t count, Py_ssize_t *room, Py_ssize_t more, size_t size)
{
    if (count + more <= *room) {
        return 0;
    }
    void *before;
    memcpy(&before, items, sizeof before);
    Py_ssize_t wanted = *room ? 2 * *room : 2;
    wanted = wanted < count + more ? count + more : wanted;
    void *larger = wanted <= INT32_MAX ? PyMem_Realloc(before, (size_t)wanted * size) : NULL;
    if (!larger) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(items, &larger, sizeof larger);
    *room = wanted;
    return 0;
}

int
keep(ActionList *list, Action *action)
{
    if (make_room(&list->items, list->count, &list->room, 1, sizeof *list->items) < 0) {
        return -1;
    }
    list->items[list->count++] = action;
    return 0;
}

int
keep_int(IntList *list, int number)
{
    if (make_room(&list->items, list->count, &list->room, 1, sizeof *list->items) < 0) {
        return -1;
    }
    list->items[list->count++] = number;
    return 0;
}

/* So many more steps of something that can take long: from time to time, other threads get their turn, and what handlers
   of signals raise is raised here (-1). Nobody may have pointers into what others can change. */
int
look_up(Actions *self, Py_ssize_t steps)
{
    self->steps += steps;
    if (self->steps < MANY_STEPS) {
        return 0;
    }
    self->steps = 0;
    Py_BEGIN_ALLOW_THREADS
    Py_END_ALLOW_THREADS
    return PyErr_CheckSignals();
}

int
by_number(const void *one, const void *other)
{
    uint64_t first = (*(Action *const *)one)->number, second = (*(Action *const *)other)->number;
    return (first > second) - (first < second);
}

/* The table: open, with the next places free for those whose own is not. */

static inline Py_ssize_t
home_of(const Actions *self, uint64_t number)
{
    return (Py_ssize_t)((number * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (self->table_room - 1);
}

static void
enter(Actions *self, Action *action)
{
    Py_ssize_t place = home_of(self, action->number);
    while (self->table[place]) {
        place = (place + 1) & (self->table_room - 1);
    }
    self->table[place] = action;
}

static int
widen_table(Actions *self)
{
    Action **before = self->table;
    Py_ssize_t room = self->table_room;
    Action **larger = PyMem_Calloc((size_t)(room ? 2 * room : FEWEST), sizeof *larger);
    if (!larger) {
        PyErr_NoMemory();
        return -1;
    }
    self->table = larger;
    self->table_room = room ? 2 * room : FEWEST;
    for (Py_ssize_t index = 0; index < room; index++) {
        if (before[index]) {
            enter(self, before[index]);
        }
    }
    PyMem_Free(before);
    return 0;
}

static Py_ssize_t
place_of(const Actions *self, uint64_t number)
{
    if (!self->table_room) {
        return -1;
    }
    Py_ssize_t place = home_of(self, number);
    while (self->table[place] && self->table[place]->number != number) {
        place = (place + 1) & (self->table_room - 1);
    }
    return self->table[place] ? place : -1;
}

Action *
find_action(const Actions *self, uint64_t number)
{
    Py_ssize_t place = place_of(self, number);
    return place < 0 ? NULL : self->table[place];
}

/* Let nobody find it any more. Those behind it move up, where it kept them from their places. */
void
strike_out(Actions *self, uint64_t number)
{
    Py_ssize_t mask = self->table_room - 1, hole = place_of(self, number), place = hole;
    if (hole < 0) {
        return;
    }
    self->table[hole] = NULL;
    self->actions--;
    for (place = (place + 1) & mask; self->table[place]; place = (place + 1) & mask) {
        Py_ssize_t home = home_of(self, self->table[place]->number);
        if (((place - home) & mask) >= ((place - hole) & mask)) {
            self->table[hole] = self->table[place];
            self->table[place] = NULL;
            hole = place;
        }
    }
}

/* A new action, which is nowhere but in the table; NULL with MemoryError. */
Action *
new_action(Actions *self, uint64_t number, Demand *demand)
{
    if (2 * self->actions >= self->table_room && widen_table(self) < 0) {
        return NULL;
    }
    Action *action = PyMem_Calloc(1, sizeof *action);
    if (!action) {
        PyErr_NoMemory();
        return NULL;
    }
    action->number = number;
    action->demand = (Demand *)Py_XNewRef((PyObject *)demand);
    enter(self, action);
    self->actions++;
    return action;
}

/* An action that is nowhere else any more. */
void
forget_action(Actions *self, Action *action)
{
    strike_out(self, action->number);
    Py_XDECREF(action->demand);
    PyMem_Free(action);
}
