/* The kernel of a simulation without messages: actors, their calls, and the messages between them, as `queue.py` has them.
   `delays.c` has what each actor does. */

#ifndef BATPROTOCOL_KERNEL_H
#define BATPROTOCOL_KERNEL_H

#include "../../../results/native/pairs.h"
#include "actions.h"

#include <string.h>

/* Actors, and their messages */

enum { MASTER = -1, LOOKS = 1 << 12 };
enum { SUBMITTER, SERVER, INJECTOR, RUN, CALLER, PERIODIC };
enum { STARTED, SUBMITTED, ALL_SUBMITTED, READY, STARTS, ENDS, CALLS, CALL_DUE, END_CALLS };
enum { NONE, POST, POST_AND_END, RECEIVE, SLEEP, SPAWN, CALL, DELIVER };

typedef struct Transfer Transfer;
typedef struct Actor Actor;

typedef struct {
    int kind;
    void *what; /* the job that starts, the run that ends, or the actor of a call */
} Message;

typedef struct {
    Transfer *first, *last; /* its inbox */
    Transfer *expected;
} Mailbox;

/* What an actor waits for: an action of `Actions` has it as its owner. */
typedef struct {
    enum { SLEEPER, TRANSFER } kind;
} Waited;

struct Actor {
    Waited waited;
    int kind, step, host, call;
    char finds; /* whether a mailbox is to be found by its name first */
    Mailbox *mailbox;
    Transfer *transfer;
    Message given, message; /* what it posts, and what it has received */
    double seconds;
    Actor *child;
};

/* One message, from the first half of its meeting to its delivery. */
struct Transfer {
    Waited waited;
    int uses; /* by those that have yet to look at it */
    char is_done;
    Message message;
    Actor *sender, *receiver, *first, *second;
    Transfer *next; /* in an inbox, or among those that are free */
};

typedef struct Run Run;

struct Run {
    Actor actor; /* the first field */
    PyObject *job, *intervals; /* NULL: it is the actor of a call */
    double start, seconds;     /* of a call: when it is due */
    Pair runtime;
    Run *before, *after; /* among all runs */
};

typedef struct {
    Actor **items;
    Py_ssize_t count, room;
} ActorList;

typedef struct {
    Actions *actions;
    PyObject *batch, *begin, *ended, *states, *demand, *turn, *call; /* functions outside */
    double now;
    ActorList round, ready, calls;
    Py_ssize_t position;
    Mailbox server_mailbox, periodic_mailbox;
    Actor submitter, server, injector, periodic;
    Transfer *free;
    Run *runs;
    /* The submitter */
    PyObject *upcoming, *group; /* a batch of jobs, and those that are being submitted */
    Py_ssize_t place, first;    /* in the batch, and of its first job */
    double woken;
    char waited;
    /* The server */
    PyObject *news, *starting; /* the jobs of the next turn, and those that start in this one */
    Py_ssize_t next;           /* of them */
    double next_call;          /* that the planner asks for, or infinity */
    Py_ssize_t unfinished, calls_left;
    char submitters_starting, workloads_left, is_open, is_ready, is_ending, has_news, is_over;
    /* The hosts */
    Py_ssize_t idle, computing;
    char shares_hosts;
    char *is_computing;
    int *running;
    double *since;
    Pair *idle_for, *computing_for;
    Demand **demands; /* of a message of each host, and behind them of the master */
} Simulation;

static int
add(ActorList *list, Actor *actor)
{
    if (make_room(&list->items, list->count, &list->room, 1, sizeof *list->items) < 0) {
        return -1;
    }
    list->items[list->count++] = actor;
    return 0;
}

/* What actors do: each of these waits, so the actor returns its value */

static int
call(Simulation *self, Actor *actor, int call)
{
    actor->call = call;
    return add(&self->calls, actor);
}

static int
call_mailbox(Simulation *self, Actor *actor, int kind, Mailbox *mailbox, int finds)
{
    actor->mailbox = mailbox;
    actor->finds = (char)finds;
    return call(self, actor, kind);
}

static int
post(Simulation *self, Actor *actor, int kind, Mailbox *mailbox, int message, void *what)
{
    actor->given = (Message){message, what};
    return call_mailbox(self, actor, kind, mailbox, 1);
}

static int
sleep_for(Simulation *self, Actor *actor, double seconds)
{
    actor->seconds = seconds;
    return call(self, actor, SLEEP);
}

static int
spawn(Simulation *self, Actor *actor, Actor *child)
{
    actor->child = child;
    return call(self, actor, SPAWN);
}

/* Kernel calls */

static Transfer *
new_transfer(Simulation *self)
{
    Transfer *transfer = self->free;
    if (transfer) {
        self->free = transfer->next;
    }
    else if (!(transfer = PyMem_Malloc(sizeof *transfer))) {
        PyErr_NoMemory();
        return NULL;
    }
    memset(transfer, 0, sizeof *transfer);
    transfer->waited.kind = TRANSFER;
    transfer->uses = 1;
    return transfer;
}

static void
drop_transfer(Simulation *self, Transfer *transfer)
{
    if (--transfer->uses == 0) {
        transfer->next = self->free;
        self->free = transfer;
    }
}

/* The demand of a message of a host, whose last one is the master; NULL with an exception. */
static Demand *
demand_from(Simulation *self, int host)
{
    Demand **place = &self->demands[host < 0 ? self->actions->hosts : host];
    if (!*place) {
        PyObject *found = PyObject_CallFunction(self->demand, "i", host);
        if (!found || Py_TYPE(found) != &demand_type || !is_known(self->actions, (Demand *)found)) {
            if (found) {
                PyErr_SetString(PyExc_TypeError, "expected the demand of a message");
            }
            Py_XDECREF(found);
            return NULL;
        }
        *place = (Demand *)found;
    }
    return *place;
}

static int
start_transfer(Simulation *self, Transfer *transfer)
{
    Demand *demand = demand_from(self, transfer->sender->host);
    Action *action = demand ? begin_work(self->actions, demand, demand->resources ? 1.0 : 0.0) : NULL;
    if (!action) {
        return -1;
    }
    action->owner = transfer;
    return 0;
}

static Transfer *
posted(Simulation *self, Actor *actor)
{
    Mailbox *mailbox = actor->mailbox;
    Transfer *transfer = mailbox->expected;
    if (!transfer) {
        transfer = new_transfer(self);
        if (!transfer) {
            return NULL;
        }
        *(mailbox->first ? &mailbox->last->next : &mailbox->first) = transfer;
        mailbox->last = transfer;
    }
    mailbox->expected = NULL;
    transfer->sender = actor;
    transfer->message = actor->given;
    if (transfer->receiver && start_transfer(self, transfer) < 0) {
        PyMem_Free(transfer);
        return NULL;
    }
    return transfer;
}

static int
deliver_next(Simulation *self, Actor *actor, Transfer *transfer)
{
    transfer->uses++;
    actor->transfer = transfer;
    actor->call = DELIVER;
    return add(&self->ready, actor);
}

static int
receive(Simulation *self, Actor *actor)
{
    Mailbox *mailbox = actor->mailbox;
    Transfer *transfer = mailbox->first;
    if (transfer) {
        mailbox->first = transfer->next;
        transfer->next = NULL;
        transfer->receiver = actor;
        if (start_transfer(self, transfer) < 0) {
            PyMem_Free(transfer);
            return -1;
        }
    }
    else {
        transfer = mailbox->expected = new_transfer(self);
        if (!transfer) {
            return -1;
        }
        transfer->receiver = actor;
    }
    return deliver_next(self, actor, transfer);
}

static int
deliver(Simulation *self, Actor *actor)
{
    Transfer *transfer = actor->transfer;
    int is_done = transfer->is_done;
    if (!is_done) {
        *(transfer->first ? &transfer->second : &transfer->first) = actor;
    }
    drop_transfer(self, transfer);
    return is_done ? add(&self->ready, actor) : 0;
}

static int
handle(Simulation *self, Actor *actor)
{
    int kind = actor->call;
    Action *action;
    Transfer *transfer;
    if (actor->finds) {
        actor->finds = 0;
        return add(&self->ready, actor);
    }
    actor->call = NONE;
    switch (kind) {
    case DELIVER:
        return deliver(self, actor);
    case RECEIVE:
        return receive(self, actor);
    case POST:
        transfer = posted(self, actor);
        return transfer ? deliver_next(self, actor, transfer) : -1;
    case POST_AND_END:
        return posted(self, actor) ? 0 : -1;
    case SLEEP:
        action = begin_sleep(self->actions, actor->seconds);
        if (action) {
            action->owner = actor;
        }
        return action ? 0 : -1;
    case SPAWN:
        actor->child->step = 0;
        return add(&self->ready, actor->child) < 0 ? -1 : add(&self->ready, actor);
    default:
        return add(&self->ready, actor);
    }
}

static void
free_inbox(Mailbox *mailbox)
{
    while (mailbox->first) {
        Transfer *next = mailbox->first->next;
        PyMem_Free(mailbox->first);
        mailbox->first = next;
    }
    PyMem_Free(mailbox->expected);
}

static void
free_transfers(Simulation *self)
{
    for (Py_ssize_t index = 0; index < self->actions->works.count; index++) { /* those that are on their way */
        PyMem_Free(self->actions->works.items[index]->owner);
        self->actions->works.items[index]->owner = NULL;
    }
    free_inbox(&self->server_mailbox);
    free_inbox(&self->periodic_mailbox);
    while (self->free) {
        Transfer *next = self->free->next;
        PyMem_Free(self->free);
        self->free = next;
    }
}

#endif
