/* A whole simulation of jobs that only take time: the actors of `delays.py`, and of `queue.py` what they need. Each has
   the same name there, makes the same calls of the kernel in the same order, and with them the same rounds, so messages
   meet as they do there. What is outside is called in Python: the planner, the makers of jobs and demands, and whoever
   is told of ends and of the states of hosts. */

#include "kernel.h"

#define SOON 1e-5 /* the fewest seconds until a call */

static PyObject *hosts_name, *intervals_name, *is_over_name;

/* The hosts */

static void
become(Simulation *self, Py_ssize_t host, int computes)
{
    Pair *spent = self->is_computing[host] ? &self->computing_for[host] : &self->idle_for[host];
    *spent = plus(*spent, between(self->since[host], self->now));
    self->since[host] = self->now;
    if (self->is_computing[host] != computes) {
        self->is_computing[host] = (char)computes;
        self->idle -= computes ? 1 : -1;
        self->computing += computes ? 1 : -1;
    }
}

static void
begin_on(Simulation *self, Py_ssize_t host)
{
    if (++self->running[host] > 1) {
        self->shares_hosts = 1;
    }
    become(self, host, 1);
}

static void
end_on(Simulation *self, Py_ssize_t host)
{
    if (--self->running[host] == 0 && self->actions->is_corrected && self->is_computing[host]) {
        become(self, host, 0);
    }
}

/* Call a function for each host of intervals, which are a tuple of pairs, and return the first one; -1 with an exception. */
static Py_ssize_t
on_each(Simulation *self, PyObject *intervals, void (*function)(Simulation *, Py_ssize_t))
{
    Py_ssize_t first_host = -1;
    if (!PyTuple_Check(intervals)) {
        PyErr_SetString(PyExc_TypeError, "expected intervals of hosts");
        return -1;
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(intervals); index++) {
        Py_ssize_t first, last;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(intervals, index), "nn", &first, &last)) {
            return -1;
        }
        if (first < 0 || last >= self->actions->hosts) {
            PyErr_Format(PyExc_IndexError, "there is no host %zd", first < 0 ? first : last);
            return -1;
        }
        first_host = index ? first_host : first;
        for (Py_ssize_t host = first; host <= last; host++) {
            function(self, host);
        }
    }
    if (first_host < 0 && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_IndexError, "a job has no hosts");
    }
    return first_host;
}

static int
report_states(Simulation *self)
{
    if (self->states == Py_None) {
        return 0;
    }
    PyObject *found = PyObject_CallFunction(self->states, "dnn", self->now, self->idle, self->computing);
    Py_XDECREF(found);
    return found ? 0 : -1;
}

/* Runs */

static void
forget_run(Simulation *self, Run *run)
{
    if (run->before) {
        run->before->after = run->after;
    }
    else {
        self->runs = run->after;
    }
    if (run->after) {
        run->after->before = run->before;
    }
    Py_XDECREF(run->job);
    Py_XDECREF(run->intervals);
    PyMem_Free(run);
}

/* The run of a job, or the actor of a call, without one; NULL with MemoryError. */
static Run *
new_run(Simulation *self, PyObject *job, double seconds)
{
    Run *run = PyMem_Calloc(1, sizeof *run);
    if (!run) {
        PyErr_NoMemory();
        return NULL;
    }
    run->actor.kind = job ? RUN : CALLER;
    run->actor.host = MASTER;
    run->job = Py_XNewRef(job);
    run->seconds = seconds;
    run->after = self->runs;
    if (run->after) {
        run->after->before = run;
    }
    self->runs = run;
    return run;
}

static int
act_run(Simulation *self, Run *run)
{
    if (run->actor.step) {
        if (PyObject_SetAttr(run->job, is_over_name, Py_True) < 0) {
            return -1;
        }
        run->runtime = between(run->start, self->now);
        if (on_each(self, run->intervals, end_on) < 0 || report_states(self) < 0) {
            return -1;
        }
        return post(self, &run->actor, POST_AND_END, &self->server_mailbox, ENDS, run);
    }
    run->actor.step = 1;
    run->start = self->now;
    PyObject *hosts = PyObject_GetAttr(run->job, hosts_name);
    run->intervals = hosts ? PyObject_GetAttr(hosts, intervals_name) : NULL;
    Py_XDECREF(hosts);
    Py_ssize_t host = run->intervals ? on_each(self, run->intervals, begin_on) : -1;
    if (host < 0) {
        return -1;
    }
    run->actor.host = (int)host;
    return report_states(self) < 0 ? -1 : sleep_for(self, &run->actor, run->seconds);
}

static int
act_caller(Simulation *self, Run *call)
{
    double left = call->seconds - self->now;
    if (!call->actor.step++ && left > 0.0) {
        return sleep_for(self, &call->actor, left > SOON ? left : SOON);
    }
    return post(self, &call->actor, POST_AND_END, &self->server_mailbox, CALL_DUE, call);
}

/* The submitter */

/* The next job: its time, or -1 with an exception; 0 in `has` without one. */
static int
look_at_next(Simulation *self, double *time, int *has)
{
    if (!self->upcoming || (self->place == PyList_GET_SIZE(self->upcoming) && self->place)) {
        self->first += self->upcoming ? self->place : 0;
        PyObject *found = PyObject_CallFunction(self->batch, "n", self->first);
        Py_XSETREF(self->upcoming, found);
        self->place = 0;
        if (!found || !PyList_Check(found)) {
            if (found) {
                PyErr_SetString(PyExc_TypeError, "expected a list of jobs");
            }
            return -1;
        }
    }
    *has = self->place < PyList_GET_SIZE(self->upcoming);
    if (*has) {
        PyObject *item = PyList_GET_ITEM(self->upcoming, self->place);
        *time = PyTuple_Check(item) && PyTuple_GET_SIZE(item) ? PyFloat_AsDouble(PyTuple_GET_ITEM(item, 0)) : -1.0;
        if (PyErr_Occurred()) {
            return -1;
        }
    }
    return 0;
}

static int
act_submitter(Simulation *self, Actor *actor)
{
    enum { STARTING, WOKEN, GROUP_SENT };
    double time = 0.0;
    int has = 0;
    if (actor->step == STARTING) {
        actor->step = WOKEN;
        return post(self, actor, POST, &self->server_mailbox, STARTED, NULL);
    }
    if (look_at_next(self, &time, &has) < 0) {
        return -1;
    }
    if (actor->step == WOKEN) {
        self->woken = self->now;
        Py_XSETREF(self->group, PyList_New(0));
        while (self->group && has && (time <= self->woken || self->waited)) {
            if (PyList_Append(self->group, PyList_GET_ITEM(self->upcoming, self->place)) < 0) {
                return -1;
            }
            self->waited = 0;
            self->place++;
            if (look_at_next(self, &time, &has) < 0) {
                return -1;
            }
        }
        if (!self->group) {
            return -1;
        }
        if (PyList_GET_SIZE(self->group)) {
            actor->step = GROUP_SENT;
            return post(self, actor, POST, &self->server_mailbox, SUBMITTED, NULL);
        }
    }
    actor->step = WOKEN;
    if (has) {
        self->waited = 1;
        return sleep_for(self, actor, time - self->woken);
    }
    return post(self, actor, POST_AND_END, &self->server_mailbox, ALL_SUBMITTED, NULL);
}

/* The injector */

static int
act_injector(Simulation *self, Actor *actor)
{
    if (self->next < 0) {
        PyObject *jobs = self->news, *now = PyFloat_FromDouble(self->now);
        self->news = PyList_New(0);
        PyObject *arguments[] = {now, jobs};
        PyObject *found = now && self->news ? PyObject_Vectorcall(self->turn, arguments, 2, NULL) : NULL;
        Py_XDECREF(now);
        Py_XDECREF(jobs);
        Py_XSETREF(self->starting, found);
        if (!found || !PyList_Check(found)) {
            if (found) {
                PyErr_SetString(PyExc_TypeError, "expected a list of jobs that start");
            }
            return -1;
        }
        self->next = 0;
        PyObject *call = PyObject_CallNoArgs(self->call);
        self->next_call = call ? PyFloat_AsDouble(call) : -1.0;
        Py_XDECREF(call);
        if (PyErr_Occurred()) {
            return -1;
        }
    }
    if (self->next < PyList_GET_SIZE(self->starting)) {
        PyObject *job = PyList_GET_ITEM(self->starting, self->next++);
        return post(self, actor, POST, &self->server_mailbox, STARTS, job);
    }
    if (self->next_call <= DBL_MAX) {
        Run *call = new_run(self, NULL, ceil(self->next_call * 1000.0) / 1000.0);
        self->next_call = Py_HUGE_VAL;
        return call ? post(self, actor, POST, &self->server_mailbox, CALLS, call) : -1;
    }
    return post(self, actor, POST_AND_END, &self->server_mailbox, READY, NULL);
}

/* The server */

/* The seconds that a job runs, which its maker has put there; -1 with an exception. */
static double
seconds_of(PyObject *job)
{
    static PyObject *run_name;
    if (!run_name && !(run_name = PyUnicode_InternFromString("run"))) {
        return -1.0;
    }
    PyObject *found = PyObject_GetAttr(job, run_name);
    double seconds = found ? PyFloat_AsDouble(found) : -1.0;
    Py_XDECREF(found);
    return seconds;
}

static int
handle_end(Simulation *self, Run *run)
{
    self->has_news = 1;
    self->unfinished--;
    PyObject *found = PyList_Append(self->news, run->job) < 0
                          ? NULL
                          : PyObject_CallFunction(self->ended, "Oddd", run->job, run->start, run->runtime.high,
                                                  run->runtime.low);
    forget_run(self, run);
    Py_XDECREF(found);
    return found ? 0 : -1;
}

static int
handle_submitted(Simulation *self)
{
    self->has_news = 1;
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(self->group); index++) {
        PyObject *item = PyList_GET_ITEM(self->group, index);
        self->unfinished++;
        if (PyTuple_GET_SIZE(item) < 2 || PyList_Append(self->news, PyTuple_GET_ITEM(item, 1)) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Handle a message; 1 if the server waits for something, -1 with an exception. */
static int
handle_message(Simulation *self, Message message)
{
    double seconds;
    Run *run = message.what;
    PyObject *planner;
    switch (message.kind) {
    case STARTS:
        seconds = seconds_of(message.what);
        run = PyErr_Occurred() ? NULL : new_run(self, message.what, seconds);
        return !run || spawn(self, &self->server, &run->actor) < 0 ? -1 : 1;
    case ENDS:
        return handle_end(self, run);
    case CALLS:
        self->calls_left++;
        return spawn(self, &self->server, &run->actor) < 0 ? -1 : 1;
    case CALL_DUE:
        self->calls_left--;
        self->has_news = 1;
        forget_run(self, run);
        return 0;
    case READY:
        self->is_ready = 1;
        return 0;
    case SUBMITTED:
        return handle_submitted(self);
    case ALL_SUBMITTED:
        self->workloads_left = 0;
        self->has_news = 1;
        return 0;
    case STARTED:
        self->submitters_starting = 0;
        self->has_news = 1;
        planner = PyObject_CallNoArgs(self->begin);
        self->turn = planner ? PyObject_GetAttrString(planner, "turn") : NULL;
        self->call = self->turn ? PyObject_GetAttrString(planner, "call") : NULL;
        Py_XDECREF(planner);
        return self->call ? 0 : -1;
    default:
        return 0;
    }
}

static int
act_server(Simulation *self, Actor *actor)
{
    enum { BEGINNING, HANDLING, GOING_ON, LOOKING };
    if (actor->step == HANDLING) {
        actor->step = GOING_ON;
        int waits = handle_message(self, actor->message);
        if (waits) {
            return waits < 0 ? -1 : 0;
        }
    }
    else if (actor->step == BEGINNING) {
        actor->step = GOING_ON;
        return spawn(self, actor, &self->periodic);
    }
    if (self->is_ending) {
        self->is_over = 1;
        return 0;
    }
    if (self->is_ready && actor->step == GOING_ON) {
        actor->step = LOOKING;
        return call(self, actor, CALL);
    }
    if (self->is_ready && !self->server_mailbox.first && !self->submitters_starting) {
        if (self->has_news) {
            self->has_news = self->is_ready = 0;
            self->next = -1;
            return spawn(self, actor, &self->injector);
        }
        if (!self->unfinished && !self->workloads_left && !self->calls_left && !self->is_open) {
            self->is_ending = 1;
            return post(self, actor, POST, &self->periodic_mailbox, END_CALLS, NULL);
        }
    }
    actor->step = HANDLING;
    return call_mailbox(self, actor, RECEIVE, &self->server_mailbox, 1);
}

static int
act_periodic(Simulation *self, Actor *actor)
{
    return actor->step++ ? call_mailbox(self, actor, RECEIVE, &self->periodic_mailbox, 0) : call(self, actor, CALL);
}

static int
act(Simulation *self, Actor *actor)
{
    switch (actor->kind) {
    case RUN:
        return act_run(self, (Run *)actor);
    case CALLER:
        return act_caller(self, (Run *)actor);
    case SERVER:
        return act_server(self, actor);
    case INJECTOR:
        return act_injector(self, actor);
    case SUBMITTER:
        return act_submitter(self, actor);
    default:
        return act_periodic(self, actor);
    }
}

/* Steps */

static int
end(Simulation *self, Waited *waited)
{
    if (waited->kind == SLEEPER) {
        return add(&self->round, (Actor *)waited);
    }
    Transfer *transfer = (Transfer *)waited;
    transfer->is_done = 1;
    transfer->receiver->message = transfer->message;
    if ((transfer->first && add(&self->round, transfer->first) < 0) ||
        (transfer->second && add(&self->round, transfer->second) < 0)) {
        return -1;
    }
    drop_transfer(self, transfer);
    return 0;
}

/* Advance to the earliest end; 0 if nothing will ever end, -1 with an exception. */
static int
make_step(Simulation *self)
{
    Actions *actions = self->actions;
    if (look_up(actions, LOOKS) < 0 || (actions->changed.count && settle_all(actions, Py_None) < 0)) {
        return -1;
    }
    double seconds = next_step(actions, Py_HUGE_VAL);
    if (seconds > DBL_MAX) {
        return 0;
    }
    if (go_forward(actions, seconds) < 0) {
        return -1;
    }
    self->now += seconds;
    if (self->now > DBL_MAX) {
        return 0; /* the simulation cannot go on */
    }
    int failed = 0;
    for (Py_ssize_t index = 0; index < actions->ended.count; index++) {
        failed = failed || end(self, actions->ended.items[index]->owner) < 0;
    }
    dismiss_ended(actions);
    retire_all(actions);
    return failed ? -1 : 1;
}

/* Run until the end (1), or until nothing can happen any more (0); -1 with an exception. */
static int
run_all(Simulation *self)
{
    for (;;) {
        while (self->position < self->round.count) {
            Actor *actor = self->round.items[self->position++];
            if ((actor->call ? add(&self->calls, actor) : act(self, actor)) < 0) {
                return -1;
            }
            if (self->is_over) {
                return 1;
            }
        }
        for (Py_ssize_t index = 0; index < self->calls.count; index++) {
            if (handle(self, self->calls.items[index]) < 0) {
                return -1;
            }
        }
        ActorList round = self->round;
        round.count = self->calls.count = self->position = 0;
        self->round = self->ready;
        self->ready = round;
        int steps = self->round.count ? 1 : make_step(self);
        if (steps <= 0) {
            return steps;
        }
    }
}

/* The beginning and the end */

static int
make_hosts(Simulation *self)
{
    size_t hosts = (size_t)self->actions->hosts;
    self->is_computing = PyMem_Calloc(hosts + 1, sizeof *self->is_computing);
    self->running = PyMem_Calloc(hosts + 1, sizeof *self->running);
    self->since = PyMem_Calloc(hosts + 1, sizeof *self->since);
    self->idle_for = PyMem_Calloc(hosts + 1, sizeof *self->idle_for);
    self->computing_for = PyMem_Calloc(hosts + 1, sizeof *self->computing_for);
    self->demands = PyMem_Calloc(hosts + 1, sizeof(Demand *));
    self->news = PyList_New(0);
    if (!self->news || !self->is_computing || !self->running || !self->since || !self->idle_for ||
        !self->computing_for || !self->demands) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

static void
clear(Simulation *self)
{
    while (self->runs) {
        forget_run(self, self->runs);
    }
    free_transfers(self);
    PyObject *outside[] = {self->batch, self->begin, self->ended, self->states, self->demand, self->turn, self->call,
                           self->upcoming, self->group, self->news, self->starting};
    for (size_t index = 0; index < sizeof outside / sizeof *outside; index++) {
        Py_XDECREF(outside[index]);
    }
    for (Py_ssize_t host = 0; self->demands && host <= self->actions->hosts; host++) {
        Py_XDECREF(self->demands[host]);
    }
    void *memory[] = {self->round.items, self->ready.items, self->calls.items,  self->is_computing, self->running,
                      self->since,       self->idle_for,    self->computing_for, self->demands};
    for (size_t index = 0; index < sizeof memory / sizeof *memory; index++) {
        PyMem_Free(memory[index]);
    }
}

static PyObject *
pairs_of(const Pair *pairs, Py_ssize_t count)
{
    PyObject *made = PyList_New(count);
    for (Py_ssize_t index = 0; made && index < count; index++) {
        PyObject *pair = Py_BuildValue("dd", pairs[index].high, pairs[index].low);
        if (pair) {
            PyList_SET_ITEM(made, index, pair);
        }
        else {
            Py_CLEAR(made);
        }
    }
    return made;
}

static PyObject *
outcome(Simulation *self, int is_over)
{
    PyObject *idle = pairs_of(self->idle_for, self->actions->hosts);
    PyObject *computing = idle ? pairs_of(self->computing_for, self->actions->hosts) : NULL;
    PyObject *made = computing ? Py_BuildValue("OdnOOO", is_over ? Py_True : Py_False, self->now, self->unfinished,
                                               self->shares_hosts ? Py_True : Py_False, idle, computing)
                               : NULL;
    Py_XDECREF(idle);
    Py_XDECREF(computing);
    return made;
}

PyObject *
run_jobs(Actions *self, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "run_jobs() takes outside, idle, is_open and tells_states");
        return NULL;
    }
    if (self->actions || self->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "a simulation begins with nothing under way");
        return NULL;
    }
    if ((!hosts_name && !(hosts_name = PyUnicode_InternFromString("hosts"))) ||
        (!intervals_name && !(intervals_name = PyUnicode_InternFromString("intervals"))) ||
        (!is_over_name && !(is_over_name = PyUnicode_InternFromString("is_over")))) {
        return NULL;
    }
    Simulation simulation = {.actions = self, .submitters_starting = 1, .workloads_left = 1, .is_ready = 1};
    simulation.idle = PyLong_AsSsize_t(arguments[1]);
    simulation.is_open = (char)PyObject_IsTrue(arguments[2]);
    int tells = PyObject_IsTrue(arguments[3]);
    Actor *actors[] = {&simulation.submitter, &simulation.server, &simulation.injector, &simulation.periodic};
    int kinds[] = {SUBMITTER, SERVER, INJECTOR, PERIODIC};
    for (int index = 0; index < 4; index++) {
        *actors[index] = (Actor){.kind = kinds[index], .host = MASTER};
    }
    simulation.batch = PyObject_GetAttrString(arguments[0], "batch");
    simulation.begin = PyObject_GetAttrString(arguments[0], "begin");
    simulation.ended = PyObject_GetAttrString(arguments[0], "ended");
    simulation.demand = PyObject_GetAttrString(arguments[0], "demand");
    simulation.states = tells > 0 ? PyObject_GetAttrString(arguments[0], "states") : Py_NewRef(Py_None);
    PyObject *made = NULL;
    if (!PyErr_Occurred() && make_hosts(&simulation) == 0 && add(&simulation.ready, &simulation.submitter) == 0 &&
        add(&simulation.ready, &simulation.server) == 0) {
        int is_over = run_all(&simulation);
        made = is_over < 0 ? NULL : outcome(&simulation, is_over);
    }
    clear(&simulation);
    return made;
}
