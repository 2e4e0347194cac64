/* The texts of a row, and what they are read as: classes, columns and their readers, times. */

#ifndef BATPROTOCOL_SACCT_TEXTS_H
#define BATPROTOCOL_SACCT_TEXTS_H

#define PY_SSIZE_T_CLEAN
#include "../../../../native.h"
#include "ids.h"
#include "memo.h"

/* The classes of jobs and attempts. Their instances have slots and nothing else. */

enum { ID, ATTEMPTS, HOST_COUNT, CORES, MEMORY, GRES, ASKED_HOSTS, ASKED_CORES, ASKED_MEMORY, ASKED_GRES, WALLTIME,
       NAME, USER, GROUP, ACCOUNT, PARTITION, QOS, CONSTRAINT, RESERVATION, PRIORITY, DEPENDENCY, ARRAY, NODELIST,
       EXCLUDE, EXCLUSIVE, PACKED, LINE, JOB_FIELDS };
static const char *const job_fields[JOB_FIELDS] = {
    "id", "attempts", "host_count", "cores", "memory", "gres", "requested_hosts", "requested_cores",
    "requested_memory", "requested_gres", "walltime", "name", "user", "group", "account", "partition", "qos",
    "constraint", "reservation", "priority", "dependency", "array", "nodelist", "exclude", "exclusive", "packed",
    "line",
};

enum { SUBMITTED, ELIGIBLE, STARTED, ENDED, STATE, HOSTS, SUSPENDED, EXIT_CODE, SIGNAL, ATTEMPT_FIELDS };
static const char *const attempt_fields[ATTEMPT_FIELDS] = {
    "submitted", "eligible", "started", "ended", "state", "hosts", "suspended", "exit_code", "signal",
};

typedef struct {
    PyObject *model; /* an instance, whose values others have unless they are given */
    Py_ssize_t slots;
    Py_ssize_t offsets[JOB_FIELDS];
} Class;

static int
bind_class(Class *class, PyObject *model, const char *const *names, int count)
{
    PyTypeObject *type = Py_TYPE(model);
    Py_ssize_t size = type->tp_basicsize - (Py_ssize_t)sizeof(PyObject);
    if ((type->tp_flags & Py_TPFLAGS_HAVE_GC) || type->tp_itemsize || size % (Py_ssize_t)sizeof(PyObject *)) {
        PyErr_Format(PyExc_TypeError, "%s has more than slots", type->tp_name);
        return -1;
    }
    class->slots = size / (Py_ssize_t)sizeof(PyObject *);
    for (int index = 0; index < count; index++) {
        if ((class->offsets[index] = slot_offset(type, names[index])) < 0) {
            return -1;
        }
    }
    class->model = Py_NewRef(model);
    return 0;
}

static PyObject *
new_value(const Class *class)
{
    PyTypeObject *type = Py_TYPE(class->model);
    PyObject *value = PyObject_Malloc((size_t)type->tp_basicsize);
    if (!value) {
        return PyErr_NoMemory();
    }
    PyObject_Init(value, type);
    PyObject **from = (PyObject **)(class->model + 1), **to = (PyObject **)(value + 1);
    for (Py_ssize_t slot = 0; slot < class->slots; slot++) {
        to[slot] = Py_XNewRef(from[slot]);
    }
    return value;
}

/* Give a value that was just made one of its fields, with a reference that it takes over. */
static inline void
set(const Class *class, PyObject *value, int field, PyObject *given)
{
    Py_XSETREF(SLOT(value, class->offsets[field]), given);
}

/* Texts with their readers. The order of the columns is that of _USED in sacct_rows.py. */

enum { AT_ID, AT_STATE, AT_CLUSTER, AT_SUBMIT, AT_ELIGIBLE, AT_START, AT_END, AT_ELAPSED, AT_SUSPENDED, AT_NODELIST,
       AT_EXITCODE, AT_ALLOCTRES, AT_REQTRES, AT_NNODES, AT_REQNODES, AT_ALLOCCPUS, AT_REQCPUS, AT_REQMEM,
       AT_TIMELIMIT, AT_TIMELIMITRAW, AT_PRIORITY, AT_SUBMITLINE, AT_JOBNAME, AT_USER, AT_GROUP, AT_ACCOUNT,
       AT_PARTITION, AT_QOS, AT_CONSTRAINTS, AT_RESERVATION, AT_KEY, COLUMNS };

enum { OF_STATE, OF_CODES, OF_AMOUNTS, OF_WALLTIME, OF_ELAPSED, OF_SUSPENDED, OF_NODES, OF_PRIORITY, OF_NO_TIME,
       READERS, OF_NAME = READERS, OF_USER, OF_GROUP, OF_ACCOUNT, OF_PARTITION, OF_QOS, OF_FEATURES, OF_RESERVATION,
       KINDS };

enum { MOST_TEXTS = 7 };
static const struct {
    int count;
    int columns[MOST_TEXTS];
} read_from[KINDS] = {
    [OF_STATE] = {1, {AT_STATE}},
    [OF_CODES] = {1, {AT_EXITCODE}},
    [OF_AMOUNTS] = {7, {AT_ALLOCTRES, AT_REQTRES, AT_NNODES, AT_REQNODES, AT_ALLOCCPUS, AT_REQCPUS, AT_REQMEM}},
    [OF_WALLTIME] = {2, {AT_TIMELIMIT, AT_TIMELIMITRAW}},
    [OF_ELAPSED] = {1, {AT_ELAPSED}},
    [OF_SUSPENDED] = {1, {AT_SUSPENDED}},
    [OF_NODES] = {1, {AT_NODELIST}},
    [OF_PRIORITY] = {1, {AT_PRIORITY}},
    [OF_NAME] = {1, {AT_JOBNAME}},
    [OF_USER] = {1, {AT_USER}},
    [OF_GROUP] = {1, {AT_GROUP}},
    [OF_ACCOUNT] = {1, {AT_ACCOUNT}},
    [OF_PARTITION] = {1, {AT_PARTITION}},
    [OF_QOS] = {1, {AT_QOS}},
    [OF_FEATURES] = {1, {AT_CONSTRAINTS}},
    [OF_RESERVATION] = {1, {AT_RESERVATION}},
};

/* What a state means for the times of an attempt. */
enum { WENT_ON = 1, IS_PENDING = 2, NEVER_STARTED = 4 };

enum { MOST_WIDTH = 512, HOURS = 2048, HOUR = 13, MOMENT = 19, MOST_KEPT_HOSTS = 64,
       PLACES = 4096, PLACES_OF_HOSTS = 16384 };

typedef struct {
    int64_t name; /* 0: the place is free */
    double begin;
} Hour;

typedef struct {
    PyObject_HEAD
    Class job, attempt;
    int width;
    char delimiter;
    int places[COLUMNS]; /* of the columns in a line; -1: the log does not have it */
    PyObject *readers[READERS], *hour_reader, *submission_reader;
    PyObject *repeated; /* a dictionary, whose keys are the ids that have several rows */
    uint8_t *marks;     /* a bit for each hash of such an id, and of some others: most ids need not be looked up */
    size_t bits;        /* a power of two */
    Memo memos[KINDS];
    Hour hours[HOURS];
    PyObject *lines; /* whole ones; NULL: none were opened */
    const char *bytes;
    Py_ssize_t size, place; /* where the next line begins; beyond the size, there is none */
    long long number;       /* of that line */
    int has_steps;
    double latest; /* submission so far */
    int is_sorted; /* whether all submissions were in order */
    PyObject *cluster;
    Text fields[MOST_WIDTH];
} Rows;

/* Reading texts. Readers return 1, 0 for a text that makes its row odd, or -1 with an exception. */

static Text
text_at(const Rows *self, int column)
{
    int place = self->places[column];
    return place < 0 ? (Text){"", 0} : self->fields[place];
}

static int
is_text(Text text, const char *other)
{
    return text.size == (Py_ssize_t)strlen(other) && !memcmp(text.begin, other, (size_t)text.size);
}

static int
are_same(Text one, Text two)
{
    return one.size == two.size && !memcmp(one.begin, two.begin, (size_t)one.size);
}

/* Call a reader. A ValueError is its way to say that the text is odd. */
static int
called(PyObject *reader, const Text *texts, int count, PyObject **value)
{
    PyObject *arguments[MOST_TEXTS] = {NULL};
    int failed = 0;
    for (int index = 0; index < count && !failed; index++) {
        failed = !(arguments[index] = string_of(texts[index]));
    }
    *value = failed ? NULL : PyObject_Vectorcall(reader, arguments, (size_t)count, NULL);
    for (int index = 0; index < count; index++) {
        Py_XDECREF(arguments[index]);
    }
    if (*value) {
        return 1;
    }
    if (failed || !PyErr_ExceptionMatches(PyExc_ValueError)) {
        return -1;
    }
    PyErr_Clear();
    return 0;
}

/* What the texts of a kind in this row are read as, as a new reference. */
static int
read_kind(Rows *self, int kind, PyObject **value)
{
    int count = read_from[kind].count;
    Text texts[MOST_TEXTS], whole = texts[0] = text_at(self, read_from[kind].columns[0]);
    char joined[LONGEST];
    if (kind >= READERS && !whole.size) {
        *value = Py_NewRef(Py_None);
        return 1;
    }
    if (count > 1) {
        Py_ssize_t size = 0;
        for (int index = 0; index < count; index++) {
            texts[index] = text_at(self, read_from[kind].columns[index]);
            if (size + texts[index].size < LONGEST) {
                memmove(joined + size, texts[index].begin, (size_t)texts[index].size);
                joined[size + texts[index].size] = self->delimiter;
            }
            size += texts[index].size + 1;
        }
        whole = (Text){joined, size};
    }
    int is_short = whole.size <= LONGEST;
    uint64_t hash = 0;
    if (is_short && (*value = known(&self->memos[kind], whole.begin, whole.size, &hash))) {
        return 1;
    }
    int done;
    if (kind < READERS) {
        done = called(self->readers[kind], texts, count, value);
    }
    else {
        done = (*value = string_of(whole)) ? 1 : -1;
    }
    if (done > 0 && is_short &&
        (kind != OF_NODES || (PyTuple_Check(*value) && PyTuple_GET_SIZE(*value) <= MOST_KEPT_HOSTS))) {
        keep(&self->memos[kind], whole.begin, whole.size, hash, *value);
    }
    return done;
}

/* Times */

typedef struct {
    int is_known;
    double at;
} Moment;

/* The begin of the hour that a text is in, which does not come twice. */
static int
hour_of(Rows *self, Text text, int64_t name, double *begin)
{
    Hour *hour = &self->hours[hash_of((const char *)&name, sizeof name) % HOURS];
    if (hour->name != name) {
        PyObject *value;
        int done = called(self->hour_reader, &text, 1, &value);
        if (done <= 0) {
            return done;
        }
        double found = PyFloat_AsDouble(value);
        Py_DECREF(value);
        if (found == -1.0 && PyErr_Occurred()) {
            return -1;
        }
        *hour = (Hour){name, found};
    }
    *begin = hour->begin;
    return 1;
}

/* A moment such as 2026-11-23T22:33:19, seconds since 1970, or none. */
static int
read_moment(Rows *self, Text text, Moment *moment)
{
    static const char pattern[] = "0000-00-00T00:00:00";
    *moment = (Moment){0, 0.0};
    if (text.size != MOMENT) {
        long long seconds = is_text(text, "0") ? -1 : digits(text, 11);
        if (seconds >= 0) {
            *moment = (Moment){1, (double)seconds};
            return 1;
        }
        PyObject *value = NULL;
        Memo *memo = &self->memos[OF_NO_TIME];
        if (text.size > LONGEST) {
            return 0;
        }
        uint64_t hash;
        int done = 1;
        if (!(value = known(memo, text.begin, text.size, &hash))) {
            done = called(self->readers[OF_NO_TIME], &text, 1, &value);
            if (done > 0) {
                keep(memo, text.begin, text.size, hash, value);
            }
        }
        Py_XDECREF(value);
        return done;
    }
    int64_t name = 1; /* and its digits: no hour is called 0 */
    int rest[6] = {0};
    for (int at = 0; at < MOMENT; at++) {
        char sign = text.begin[at];
        if (pattern[at] != '0') {
            if (sign != pattern[at]) {
                return 0;
            }
            continue;
        }
        unsigned digit = (unsigned char)sign - '0';
        if (digit > 9) {
            return 0;
        }
        if (at < HOUR) {
            name = name * 10 + digit;
        }
        else {
            rest[at - HOUR] = (int)digit;
        }
    }
    if (rest[1] > 5 || rest[4] > 5) {
        return 0;
    }
    double begin;
    int done = hour_of(self, text, name, &begin);
    if (done > 0) {
        *moment = (Moment){1, begin + (double)((rest[1] * 10 + rest[2]) * 60 + rest[4] * 10 + rest[5])};
    }
    return done;
}

static PyObject *
as_object(Moment moment)
{
    return moment.is_known ? PyFloat_FromDouble(moment.at) : Py_NewRef(Py_None);
}

#endif
