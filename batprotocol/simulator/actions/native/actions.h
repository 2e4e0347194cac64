/* All that is under way, in C: the state of `PythonActions`, in flat arrays of doubles.

   Every floating-point operation is one that the Python does, in the same order, so results are the same to the last
   bit. `sleeps.c` has time, `demand.c` and `draft.c` what work takes, `routes.c` the ways between hosts, `sharing.c` how
   fast work goes on, `table.c` the numbers of actions, `actions.c` methods, `delays.c` a whole simulation, `state.c` copies, `module.c` the class. */

#ifndef BATPROTOCOL_ACTIONS_H
#define BATPROTOCOL_ACTIONS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <float.h>
#include <stdint.h>

#if FLT_EVAL_METHOD != 0
#error "doubles are computed with more digits here, so results would differ"
#endif

#define TIMING 1e-9      /* a sleep or a latency with less left, in seconds, is over, unless a platform says otherwise */
#define WORK_AMOUNT 1e-5 /* so is a resource with less left; work is done with less of 1 left than their product */

/* What work takes of resources; `resource`, `first`, `most` and `weight` are parts of one block of memory. */
typedef struct {
    PyObject_HEAD
    int resources, computing, executors;
    double network_bound, latency;
    uint64_t version; /* of the speeds for which the rate is `rate`, if nothing is shared */
    double rate;
    int *resource;  /* what it uses */
    int *first;     /* where the weights for each begin, and one more */
    double *weight; /* what each part needs of it */
    double *most;   /* the greatest weight for each */
    int *host;      /* where it computes */
    double *flops;  /* the most that an executor computes there */
} Demand;

typedef struct Group Group;

typedef struct {
    uint64_t number;
    Demand *demand;   /* NULL: it sleeps */
    void *owner;      /* whoever waits for it, in `delays.c` */
    Py_ssize_t place; /* in the heap of its group, among the short sleeps, or among all work */
    union {
        struct {
            Group *group; /* NULL: it is short, or without an end */
            double left;  /* then: seconds */
        };
        struct {
            double latency, remains, rate, growth, bound, before;
            uint64_t joined, seen;
            char is_growing;
        };
    };
} Action;

typedef struct {
    Action **items;
    Py_ssize_t count, room;
} ActionList;

typedef struct {
    Group **groups; /* by their exponents */
    Py_ssize_t count, room;
    ActionList shorts, moved;
    double timing; /* with less left, they are over */
} Sleeps;

typedef struct {
    Action *work;
    int first, last; /* which of its weights */
} User;

/* What is shared: the cores of a host, or a link. */
typedef struct {
    double capacity, left, offer;
    User *users; /* in the order in which they joined */
    int count, room;
    int parts; /* of those that grow */
    char is_fatpipe, is_changed;
    uint64_t seen; /* when somebody went by last */
    int place;     /* where whoever that was has it */
} Resource;

typedef struct {
    int *items;
    Py_ssize_t count, room;
} IntList;

typedef struct {
    double latency;
    Py_ssize_t first;
    int count;
} Route;

typedef struct {
    uint64_t *keys; /* of both hosts; 0: nothing here */
    Route *routes;
    Py_ssize_t room, count;
    IntList links;
} Routes;

typedef struct {
    PyObject_HEAD
    char is_corrected, is_busy;
    uint64_t next, joined, epoch, version;
    Py_ssize_t steps; /* since it looked up last */
    Action **table; /* by their numbers */
    Py_ssize_t table_room, actions;
    Sleeps sleeps;
    double work_amount, work_left; /* with less left, a resource is used up, and work is done */
    ActionList works, ended, retiring, concerned, growing;
    double *speeds; /* of a core of each host */
    Py_ssize_t hosts;
    Resource *resources;
    int resource_count, resource_room;
    IntList changed, near, alive;
    Routes routes;
} Actions;

extern PyTypeObject demand_type, actions_type;
extern PyMethodDef actions_methods[];
extern PyGetSetDef actions_attributes[];

/* 0, or -1 with MemoryError: there is room for so many more. */
int make_room(void *items, Py_ssize_t count, Py_ssize_t *room, Py_ssize_t more, size_t size);
int keep(ActionList *list, Action *action);
int keep_int(IntList *list, int number);

/* Time. Those that can fail return -1 with an exception. */
int sleeps_add(Sleeps *sleeps, Action *sleep, double seconds);
void sleeps_remove(Sleeps *sleeps, Action *sleep);
double sleeps_earliest(const Sleeps *sleeps);
int sleeps_subtract(Sleeps *sleeps, double seconds, ActionList *ended);
double sleep_left(const Action *sleep);
void sleeps_free(Sleeps *sleeps);

/* Demands */
Demand *new_demand(int resources, Py_ssize_t weights, int computing);
void complete_demand(Demand *demand);
PyObject *demand_of(Actions *self, PyObject *executors, PyObject *flops, PyObject *transfers, double under_way,
                    PyObject *path);

/* Ways */
const Route *route_between(Actions *self, Py_ssize_t source, Py_ssize_t target, PyObject *path);
void routes_free(Routes *routes);

/* Resources */
int add_resource(Actions *self, double capacity, int is_fatpipe);
void mark_changed(Actions *self, int resource);
int join(Actions *self, Action *work);
void leave(Actions *self, Action *work);
int settle_all(Actions *self, PyObject *before);
double load_of(const Resource *resource);
uint64_t new_version(void);
void set_precision(Actions *self, double timing, double work_amount);

/* Actions; those that begin one return NULL with an exception, `go_forward` -1, and what it leaves is to be dismissed */
Action *begin_sleep(Actions *self, double seconds);
Action *begin_work(Actions *self, Demand *demand, double remains);
double next_step(const Actions *self, double most);
int go_forward(Actions *self, double seconds);
void dismiss_ended(Actions *self);
void retire_all(Actions *self);
Action *new_action(Actions *self, uint64_t number, Demand *demand);
void strike_out(Actions *self, uint64_t number);
Action *find_action(const Actions *self, uint64_t number);
void forget_action(Actions *self, Action *action);
int look_up(Actions *self, Py_ssize_t steps);
int by_number(const void *one, const void *other);

int is_known(const Actions *self, const Demand *demand);

/* Whole simulations */
PyObject *run_jobs(Actions *self, PyObject *const *arguments, Py_ssize_t count);

/* Copies */
void clear_actions(Actions *self);
PyObject *get_state(Actions *self, PyObject *unused);
PyObject *set_state(Actions *self, PyObject *state);
PyObject *reduce(Actions *self, PyObject *unused);
PyObject *copy_of(Actions *self, PyObject *unused);

#endif
