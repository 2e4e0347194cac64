/* The rows of sacct that are as nearly all of them are become jobs here, many at a time. All others are left to Python.

   The twin of SacctRows in sacct_rows.py, which also reads the values: a text that was not met before is given to a
   reader in Python, and what it says is kept. A row is odd if anything about it is to be counted or told, or if it
   cannot be read. An odd row changes nothing here: Python reads it from its beginning. */

#define PY_SSIZE_T_CLEAN
#include "../../../../native.h"
#include "memo.h"
#include <structmember.h>

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

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

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
        PyObject *descriptor = PyObject_GetAttrString((PyObject *)type, names[index]);
        if (!descriptor) {
            return -1;
        }
        if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) {
            PyErr_Format(PyExc_TypeError, "%s.%s is not a slot", type->tp_name, names[index]);
            Py_DECREF(descriptor);
            return -1;
        }
        class->offsets[index] = ((PyMemberDescrObject *)descriptor)->d_member->offset;
        Py_DECREF(descriptor);
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
    const char *begin;
    Py_ssize_t size;
} Text;

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

static PyObject *
string_of(Text text)
{
    return PyUnicode_DecodeUTF8(text.begin, text.size, "replace");
}

/* A number of so many digits and nothing else, or -1. */
static long long
digits(Text text, Py_ssize_t most)
{
    if (!text.size || text.size > most) {
        return -1;
    }
    long long number = 0;
    for (Py_ssize_t at = 0; at < text.size; at++) {
        unsigned digit = (unsigned char)text.begin[at] - '0';
        if (digit > 9) {
            return -1;
        }
        number = number * 10 + digit;
    }
    return number;
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

/* Ids */

enum { MOST_DIGITS = 10, MOST_TASK_DIGITS = 9, SHORT = 12 };

/* Whether an id is that of a job, of a task of an array, or of a component, and where its own number ends. */
static int
is_id(Text id, Py_ssize_t *end)
{
    Py_ssize_t at = 0;
    while (at < id.size && (unsigned char)id.begin[at] - (unsigned)'0' <= 9) {
        at++;
    }
    *end = at;
    if (!at || at > MOST_DIGITS) {
        return 0;
    }
    if (at == id.size) {
        return 1;
    }
    Text part = {id.begin + at + 1, id.size - at - 1};
    return (id.begin[at] == '_' || id.begin[at] == '+') && digits(part, MOST_TASK_DIGITS) >= 0;
}

/* Options of a submission: whether a command line may have one that is read. The marks are those of _MARK in
   sacct_columns.py. */
static int
has_mark(Text line)
{
    static const char *const marks[] = {"d", "C", "w", "x", "-dependency", "-constraint", "-nodelist", "-exclude",
                                        "-exclusive"};
    const char *at = line.begin, *end = line.begin + line.size;
    while ((at = memchr(at, '-', (size_t)(end - at)))) {
        at++;
        for (size_t mark = 0; mark < sizeof marks / sizeof *marks; mark++) {
            size_t size = strlen(marks[mark]);
            if ((size_t)(end - at) >= size && !memcmp(at, marks[mark], size)) {
                return 1;
            }
        }
    }
    return 0;
}

/* Whether a command line has the option with which a job has as many cores of each host. */
static int
is_equal(Text line)
{
    static const char option[] = "--ntasks-per-node";
    const size_t size = sizeof option - 1;
    const char *at = line.begin, *end = line.begin + line.size;
    while ((size_t)(end - at) >= size && (at = memchr(at, '-', (size_t)(end - at) - size + 1))) {
        if (!memcmp(at, option, size)) {
            return 1;
        }
        at++;
    }
    return 0;
}

/* Rows */

enum { HOSTS_OF, WAITING_OF, CORES_OF, MEMORY_OF, GRES_OF, ASKED_HOSTS_OF, ASKED_CORES_OF, ASKED_MEMORY_OF,
       ASKED_GRES_OF, AMOUNTS };
enum { DEPENDENCY_OF, CONSTRAINT_OF, EXCLUSIVE_OF, UNREAD_OF, NODELIST_OF, EXCLUDE_OF, OPTIONS };

typedef struct {
    Moment submitted, eligible, started, ended, elapsed;
    PyObject *values[KINDS];
    PyObject *options; /* of the submission; NULL: none */
    PyObject *attempt;
} Row;

static int
expect_tuple(PyObject *value, Py_ssize_t size)
{
    if (PyTuple_Check(value) && PyTuple_GET_SIZE(value) == size) {
        return 1;
    }
    PyErr_Format(PyExc_TypeError, "expected a tuple of %zd values, got %R", size, value);
    return -1;
}

/* Read the times of a row as its texts have them. */
static int
read_times(Rows *self, Row *row)
{
    Text submit = text_at(self, AT_SUBMIT), eligible = text_at(self, AT_ELIGIBLE);
    int done = read_moment(self, submit, &row->submitted);
    if (done > 0) {
        done = read_moment(self, text_at(self, AT_START), &row->started);
    }
    if (done > 0) {
        done = read_moment(self, text_at(self, AT_END), &row->ended);
    }
    if (done > 0) {
        row->eligible = row->submitted;
        if (!are_same(submit, eligible)) {
            done = read_moment(self, eligible, &row->eligible);
        }
    }
    return done > 0 && !row->submitted.is_known ? 0 : done;
}

static int
read_elapsed(Rows *self, Row *row)
{
    long long whole = digits(text_at(self, AT_ELAPSED), SHORT);
    row->elapsed = (Moment){1, (double)whole};
    if (whole >= 0) {
        return 1;
    }
    PyObject *value;
    int done = read_kind(self, OF_ELAPSED, &value);
    if (done > 0) {
        row->elapsed.is_known = value != Py_None;
        row->elapsed.at = value == Py_None ? 0.0 : PyFloat_AsDouble(value);
        Py_DECREF(value);
        done = PyErr_Occurred() ? -1 : 1;
    }
    return done;
}

/* Settle when a job started and ended, as SacctRows._attempt does. */
static int
settle(Row *row, long flags, double suspended, int has_nodes, int is_no_nodes)
{
    Moment *started = &row->started, *ended = &row->ended;
    const Moment *elapsed = &row->elapsed;
    if (flags & WENT_ON) {
        ended->is_known = 0;
        if (flags & IS_PENDING) {
            started->is_known = 0;
        }
    }
    int is_one = started->is_known == ended->is_known && (!started->is_known || started->at == ended->at);
    if (is_no_nodes || (!has_nodes && is_one && (flags & NEVER_STARTED))) {
        started->is_known = 0;
    }
    else if (!started->is_known && ended->is_known && elapsed->is_known && elapsed->at != 0.0) {
        *started = (Moment){1, ended->at - elapsed->at - suspended};
    }
    else if (started->is_known && !ended->is_known && !(flags & WENT_ON)) {
        if (!elapsed->is_known) {
            return 0;
        }
        *ended = (Moment){1, started->at + elapsed->at + suspended};
    }
    if (started->is_known && started->at < row->submitted.at) {
        return 0;
    }
    if (ended->is_known) {
        if (ended->at < (started->is_known ? started->at : row->submitted.at)) {
            return 0;
        }
        if (started->is_known && elapsed->is_known) {
            double missed = ended->at - started->at - suspended - elapsed->at;
            return -1.0 <= missed && missed <= 1.0;
        }
    }
    return 1;
}

static int
make_attempt(Rows *self, Row *row)
{
    PyObject **values = row->values;
    if (expect_tuple(values[OF_STATE], 2) < 0 || expect_tuple(values[OF_CODES], 2) < 0) {
        return -1;
    }
    long flags = PyLong_AsLong(PyTuple_GET_ITEM(values[OF_STATE], 1));
    double suspended = PyFloat_AsDouble(values[OF_SUSPENDED]);
    if (PyErr_Occurred()) {
        return -1;
    }
    int is_no_nodes = values[OF_NODES] == Py_None;
    if (!settle(row, flags, suspended, text_at(self, AT_NODELIST).size > 0, is_no_nodes)) {
        return 0;
    }
    PyObject *attempt = row->attempt = new_value(&self->attempt);
    PyObject *submitted = attempt ? as_object(row->submitted) : NULL;
    int is_same = row->eligible.is_known && row->eligible.at == row->submitted.at;
    PyObject *eligible = !submitted ? NULL : is_same ? Py_NewRef(submitted) : as_object(row->eligible);
    PyObject *started = eligible ? as_object(row->started) : NULL, *ended = started ? as_object(row->ended) : NULL;
    if (!ended) {
        Py_XDECREF(submitted);
        Py_XDECREF(eligible);
        Py_XDECREF(started);
        return -1;
    }
    set(&self->attempt, attempt, SUBMITTED, submitted);
    set(&self->attempt, attempt, ELIGIBLE, eligible);
    set(&self->attempt, attempt, STARTED, started);
    set(&self->attempt, attempt, ENDED, ended);
    set(&self->attempt, attempt, STATE, Py_NewRef(PyTuple_GET_ITEM(values[OF_STATE], 0)));
    if (row->started.is_known && !is_no_nodes) {
        set(&self->attempt, attempt, HOSTS, Py_NewRef(values[OF_NODES]));
    }
    set(&self->attempt, attempt, SUSPENDED, Py_NewRef(values[OF_SUSPENDED]));
    set(&self->attempt, attempt, EXIT_CODE, Py_NewRef(PyTuple_GET_ITEM(values[OF_CODES], 0)));
    set(&self->attempt, attempt, SIGNAL, Py_NewRef(PyTuple_GET_ITEM(values[OF_CODES], 1)));
    return 1;
}

/* The number of hosts of a job that has run: the first of these numbers that is neither missing nor 0. */
static PyObject *
hosts_of_run(PyObject *amounts, Py_ssize_t named)
{
    PyObject *given = PyTuple_GET_ITEM(amounts, HOSTS_OF), *asked = PyTuple_GET_ITEM(amounts, ASKED_HOSTS_OF);
    if (PyObject_IsTrue(given)) {
        return Py_NewRef(given);
    }
    if (named) {
        return PyLong_FromSsize_t(named);
    }
    return PyObject_IsTrue(asked) ? Py_NewRef(asked) : PyLong_FromLong(1);
}

/* Mark the hashes of the ids that have several rows. */
static int
mark_repeated(Rows *self)
{
    PyObject *id, *count;
    Py_ssize_t at = 0, size;
    for (self->bits = 1 << 12; self->bits / 16 < (size_t)PyDict_GET_SIZE(self->repeated); self->bits *= 2) {
    }
    if (!(self->marks = PyMem_Calloc(self->bits / 8, 1))) {
        PyErr_NoMemory();
        return -1;
    }
    while (PyDict_Next(self->repeated, &at, &id, &count)) {
        const char *text = PyUnicode_AsUTF8AndSize(id, &size);
        if (!text) {
            return -1;
        }
        uint64_t bit = hash_of(text, size) & (self->bits - 1);
        self->marks[bit / 8] |= (uint8_t)(1 << bit % 8);
    }
    return 0;
}

/* The id of this row if several rows have it, as a new reference; else NULL, perhaps with an exception. */
static PyObject *
repeated_id(const Rows *self)
{
    Text text = text_at(self, AT_KEY);
    uint64_t bit = hash_of(text.begin, text.size) & (self->bits - 1);
    if (!(self->marks[bit / 8] >> bit % 8 & 1)) {
        return NULL;
    }
    PyObject *id = string_of(text);
    if (id && PyDict_Contains(self->repeated, id) <= 0) {
        Py_CLEAR(id);
    }
    return id;
}

/* Whether the row is of another cluster than the one before. */
static int
is_elsewhere(const Rows *self)
{
    Text cluster = text_at(self, AT_CLUSTER), known = {NULL, 0};
    if (!cluster.size) {
        return 0;
    }
    known.begin = PyUnicode_AsUTF8AndSize(self->cluster, &known.size);
    return known.begin ? !are_same(cluster, known) : -1;
}

static int
read_values(Rows *self, Row *row)
{
    int done = is_elsewhere(self);
    if (done) {
        return done < 0 ? -1 : 0;
    }
    done = read_times(self, row);
    if (done > 0) {
        done = read_elapsed(self, row);
    }
    for (int kind = 0; kind < KINDS && done > 0; kind++) {
        long long whole;
        if (kind == OF_ELAPSED || kind == OF_NO_TIME) {
            continue;
        }
        if (kind == OF_PRIORITY && (whole = digits(text_at(self, AT_PRIORITY), SHORT)) >= 0) {
            done = (row->values[kind] = PyLong_FromLongLong(whole)) ? 1 : -1;
        }
        else {
            done = read_kind(self, kind, &row->values[kind]);
        }
    }
    Text submission = text_at(self, AT_SUBMITLINE);
    if (done > 0 && has_mark(submission)) {
        done = called(self->submission_reader, &submission, 1, &row->options);
        if (done > 0 && (done = expect_tuple(row->options, OPTIONS)) > 0) {
            done = PyTuple_GET_ITEM(row->options, UNREAD_OF) != Py_True;
        }
    }
    if (done > 0 && row->values[OF_NODES] != Py_None && !PyTuple_Check(row->values[OF_NODES])) {
        PyErr_Format(PyExc_TypeError, "expected names of hosts, got %R", row->values[OF_NODES]);
        return -1;
    }
    return done > 0 ? expect_tuple(row->values[OF_AMOUNTS], AMOUNTS) : done;
}

/* Fill in what stands for itself, and give up the references of the row. */
static void
set_texts(const Class *class, PyObject *job, Row *row)
{
    static const int fields[][2] = {{OF_WALLTIME, WALLTIME},   {OF_PRIORITY, PRIORITY},
                                    {OF_NAME, NAME},           {OF_USER, USER},
                                    {OF_GROUP, GROUP},         {OF_ACCOUNT, ACCOUNT},
                                    {OF_PARTITION, PARTITION}, {OF_QOS, QOS},
                                    {OF_FEATURES, CONSTRAINT}, {OF_RESERVATION, RESERVATION}};
    static const int options[][2] = {{DEPENDENCY_OF, DEPENDENCY},
                                     {EXCLUSIVE_OF, EXCLUSIVE},
                                     {NODELIST_OF, NODELIST},
                                     {EXCLUDE_OF, EXCLUDE}};
    static const int amounts[][2] = {{MEMORY_OF, MEMORY},
                                     {GRES_OF, GRES},
                                     {ASKED_HOSTS_OF, ASKED_HOSTS},
                                     {ASKED_CORES_OF, ASKED_CORES},
                                     {ASKED_MEMORY_OF, ASKED_MEMORY},
                                     {ASKED_GRES_OF, ASKED_GRES}};
    for (size_t at = 0; at < sizeof fields / sizeof *fields; at++) {
        set(class, job, fields[at][1], row->values[fields[at][0]]);
        row->values[fields[at][0]] = NULL;
    }
    for (size_t at = 0; at < sizeof amounts / sizeof *amounts; at++) {
        set(class, job, amounts[at][1], Py_NewRef(PyTuple_GET_ITEM(row->values[OF_AMOUNTS], amounts[at][0])));
    }
    if (row->options) {
        for (size_t at = 0; at < sizeof options / sizeof *options; at++) {
            set(class, job, options[at][1], Py_NewRef(PyTuple_GET_ITEM(row->options, options[at][0])));
        }
        if (SLOT(job, class->offsets[CONSTRAINT]) == Py_None) {
            set(class, job, CONSTRAINT, Py_NewRef(PyTuple_GET_ITEM(row->options, CONSTRAINT_OF)));
        }
    }
}

static PyObject *
make_job(Rows *self, Row *row, Text id, Py_ssize_t end)
{
    const Class *class = &self->job;
    int has_run = row->started.is_known;
    PyObject *amounts = row->values[OF_AMOUNTS], *job = new_value(class), *made[5] = {NULL};
    Py_ssize_t named = has_run && row->values[OF_NODES] != Py_None ? PyTuple_GET_SIZE(row->values[OF_NODES]) : 0;
    Text array = {id.begin, end};
    int is_task = end < id.size && id.begin[end] == '_';
    if (!job || !(made[0] = string_of(id)) || !(made[1] = PyTuple_Pack(1, row->attempt)) ||
        !(made[2] = has_run ? hosts_of_run(amounts, named) : Py_NewRef(PyTuple_GET_ITEM(amounts, WAITING_OF))) ||
        !(made[3] = PyLong_FromLongLong(self->number)) ||
        !(made[4] = is_task ? string_of(array) : Py_NewRef(Py_None))) {
        for (int index = 0; index < 5; index++) {
            Py_XDECREF(made[index]);
        }
        Py_XDECREF(job);
        return NULL;
    }
    set(class, job, ID, made[0]);
    set(class, job, ATTEMPTS, made[1]);
    set(class, job, HOST_COUNT, made[2]);
    set(class, job, LINE, made[3]);
    set(class, job, ARRAY, made[4]);
    if (has_run) {
        set(class, job, CORES, Py_NewRef(PyTuple_GET_ITEM(amounts, CORES_OF)));
    }
    set_texts(class, job, row);
    if (named > 1 && !is_equal(text_at(self, AT_SUBMITLINE))) {
        set(class, job, PACKED, Py_NewRef(Py_True));
    }
    return job;
}

/* The job of the row that the fields are of; NULL without an exception if the row is odd. */
static PyObject *
job_of_row(Rows *self)
{
    Row row = {0};
    Py_ssize_t end;
    Text id = text_at(self, AT_ID);
    PyObject *job = NULL;
    if (is_id(id, &end) && read_values(self, &row) > 0) {
        double submitted = row.submitted.at;
        if (make_attempt(self, &row) > 0 && (job = make_job(self, &row, id, end))) {
            self->is_sorted = self->is_sorted && submitted >= self->latest;
            self->latest = submitted;
        }
    }
    for (int kind = 0; kind < KINDS; kind++) {
        Py_XDECREF(row.values[kind]);
    }
    Py_XDECREF(row.options);
    Py_XDECREF(row.attempt);
    return job;
}

/* Lines */

/* Divide a line into fields. Whether it has as many as the header. */
static int
divide(Rows *self, Text line)
{
    const char *at = line.begin, *end = line.begin + line.size, *found;
    int count = 0;
    while ((found = memchr(at, self->delimiter, (size_t)(end - at)))) {
        if (count == self->width - 1) {
            return 0;
        }
        self->fields[count++] = (Text){at, found - at};
        at = found + 1;
    }
    if (count != self->width - 1) {
        return 0;
    }
    self->fields[count] = (Text){at, end - at};
    return 1;
}

static Text
next_line(const Rows *self)
{
    const char *begin = self->bytes + self->place;
    Py_ssize_t left = self->size - self->place;
    const char *end = memchr(begin, '\n', (size_t)left);
    return (Text){begin, end ? end - begin : left};
}

static void
advance(Rows *self, Text line)
{
    self->place += line.size + 1;
    self->number++;
}

static int
expect_lines(const Rows *self)
{
    if (!self->lines) {
        PyErr_SetString(PyExc_ValueError, "no lines were opened");
        return -1;
    }
    return 0;
}

PyDoc_STRVAR(open_doc, "open($self, lines, number, /)\n--\n\n"
                       "Take whole lines, with line ends between them, and the number of the first one.");

static PyObject *
open_lines(Rows *self, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || !PyBytes_Check(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "open: expected bytes and a number");
        return NULL;
    }
    long long number = PyLong_AsLongLong(arguments[1]);
    if (number == -1 && PyErr_Occurred()) {
        return NULL;
    }
    Py_XSETREF(self->lines, Py_NewRef(arguments[0]));
    self->bytes = PyBytes_AS_STRING(self->lines);
    self->size = PyBytes_GET_SIZE(self->lines);
    self->place = 0;
    self->number = number;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(read_doc, "read($self, /)\n--\n\n"
                       "The jobs of the next lines until one that is odd, or the end, and the numbers of those that are "
                       "steps. The first step of all is odd. A job whose id has several rows is the last one, and this "
                       "id comes with it; otherwise, that is None.");

static PyObject *
read_rows(Rows *self, PyObject *Py_UNUSED(nothing))
{
    PyObject *jobs = expect_lines(self) < 0 ? NULL : PyList_New(0), *steps = jobs ? PyList_New(0) : NULL;
    PyObject *repeated = NULL;
    int failed = !steps;
    while (!failed && !repeated && self->place <= self->size) {
        Text line = next_line(self);
        if (!divide(self, line)) {
            break;
        }
        Text id = text_at(self, AT_ID);
        PyObject *made, *list = jobs;
        if (memchr(id.begin, '.', (size_t)id.size)) {
            if (!self->has_steps) {
                self->has_steps = 1;
                break;
            }
            made = PyLong_FromLongLong(self->number);
            list = steps;
        }
        else {
            repeated = repeated_id(self);
            made = PyErr_Occurred() ? NULL : job_of_row(self);
        }
        if (!made) {
            Py_CLEAR(repeated);
            failed = PyErr_Occurred() != NULL;
            break;
        }
        failed = PyList_Append(list, made) < 0;
        Py_DECREF(made);
        advance(self, line);
    }
    PyObject *all = failed ? NULL : PyTuple_Pack(3, jobs, steps, repeated ? repeated : Py_None);
    Py_XDECREF(jobs);
    Py_XDECREF(steps);
    Py_XDECREF(repeated);
    return all;
}

PyDoc_STRVAR(line_doc, "line($self, /)\n--\n\n"
                       "The number of the next line, and the line, whatever it is; None at the end.");

static PyObject *
take_line(Rows *self, PyObject *Py_UNUSED(nothing))
{
    if (expect_lines(self) < 0) {
        return NULL;
    }
    if (self->place > self->size) {
        Py_RETURN_NONE;
    }
    Text line = next_line(self);
    PyObject *string = string_of(line), *pair = string ? Py_BuildValue("(LN)", self->number, string) : NULL;
    if (pair) {
        advance(self, line);
    }
    return pair;
}

PyDoc_STRVAR(seen_doc, "What rows of before say: the latest submission, or None if they are not in this order; and the "
                       "cluster.");

static PyObject *
get_seen(Rows *self, void *Py_UNUSED(closure))
{
    PyObject *latest = self->is_sorted ? PyFloat_FromDouble(self->latest) : Py_NewRef(Py_None);
    return latest ? Py_BuildValue("(NO)", latest, self->cluster) : NULL;
}

static int
set_seen(Rows *self, PyObject *value, void *Py_UNUSED(closure))
{
    PyObject *latest, *cluster;
    if (!value || !PyTuple_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "seen: expected a tuple");
        return -1;
    }
    if (!PyArg_ParseTuple(value, "OU", &latest, &cluster)) {
        return -1;
    }
    double number = latest == Py_None ? 0.0 : PyFloat_AsDouble(latest);
    if (number == -1.0 && PyErr_Occurred()) {
        return -1;
    }
    self->is_sorted = latest != Py_None;
    self->latest = number;
    Py_XSETREF(self->cluster, Py_NewRef(cluster));
    return 0;
}

/* The type */

static int
take_places(Rows *self, PyObject *places)
{
    if (expect_tuple(places, COLUMNS) < 0) {
        return -1;
    }
    for (int column = 0; column < COLUMNS; column++) {
        long place = PyLong_AsLong(PyTuple_GET_ITEM(places, column));
        if (place == -1 && PyErr_Occurred()) {
            return -1;
        }
        if (place < -1 || place >= self->width || (place < 0 && (column == AT_ID || column == AT_KEY))) {
            PyErr_Format(PyExc_ValueError, "column %d: expected a place of the row, got %ld", column, place);
            return -1;
        }
        self->places[column] = (int)place;
    }
    return 0;
}

static int
take_readers(Rows *self, PyObject *readers)
{
    if (expect_tuple(readers, READERS + 2) < 0) {
        return -1;
    }
    for (int index = 0; index < READERS; index++) {
        self->readers[index] = Py_NewRef(PyTuple_GET_ITEM(readers, index));
    }
    self->hour_reader = Py_NewRef(PyTuple_GET_ITEM(readers, READERS));
    self->submission_reader = Py_NewRef(PyTuple_GET_ITEM(readers, READERS + 1));
    return 0;
}

static void
dealloc(Rows *self)
{
    PyObject *owned[] = {self->job.model,       self->attempt.model, self->hour_reader,
                         self->submission_reader, self->repeated,    self->lines,    self->cluster};
    for (size_t at = 0; at < sizeof owned / sizeof *owned; at++) {
        Py_XDECREF(owned[at]);
    }
    for (int index = 0; index < READERS; index++) {
        Py_XDECREF(self->readers[index]);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        forget(&self->memos[kind]);
    }
    PyMem_Free(self->marks);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *
new_rows(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    PyObject *job, *attempt, *places, *readers, *repeated;
    int width, delimiter;
    if ((named && PyDict_GET_SIZE(named)) ||
        !PyArg_ParseTuple(arguments, "OOiCOOO!", &job, &attempt, &width, &delimiter, &places, &readers,
                          &PyDict_Type, &repeated)) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "Rows: expected no names of arguments");
    }
    if (width < 1 || width > MOST_WIDTH || delimiter < 1 || delimiter > 127 || delimiter == '\n') {
        return PyErr_Format(PyExc_ValueError, "Rows: expected 1 to %d columns and a delimiter of ASCII", MOST_WIDTH);
    }
    Rows *self = (Rows *)type->tp_alloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->width = width;
    self->delimiter = (char)delimiter;
    self->repeated = Py_NewRef(repeated);
    for (int kind = 0; kind < KINDS; kind++) {
        self->memos[kind].places = kind == OF_NODES ? PLACES_OF_HOSTS : PLACES;
    }
    self->is_sorted = 1;
    self->cluster = PyUnicode_FromString("");
    if (!self->cluster || bind_class(&self->job, job, job_fields, JOB_FIELDS) < 0 ||
        bind_class(&self->attempt, attempt, attempt_fields, ATTEMPT_FIELDS) < 0 || take_places(self, places) < 0 ||
        take_readers(self, readers) < 0 || mark_repeated(self) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyMethodDef rows_methods[] = {
    {"open", (PyCFunction)(void (*)(void))open_lines, METH_FASTCALL, open_doc},
    {"read", (PyCFunction)read_rows, METH_NOARGS, read_doc},
    {"line", (PyCFunction)take_line, METH_NOARGS, line_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef rows_properties[] = {
    {"seen", (getter)get_seen, (setter)set_seen, seen_doc, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject rows_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "batprotocol.sites.logs.managers._sacct.Rows",
    .tp_doc = "Makes jobs of rows that are not odd.",
    .tp_basicsize = sizeof(Rows),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = new_rows,
    .tp_dealloc = (destructor)dealloc,
    .tp_methods = rows_methods,
    .tp_getset = rows_properties,
};

/* Ids that come again */

enum { PAGE = 13, PAGE_BYTES = 1 << (PAGE - 3) };

/* The page of ids that begins with this one, which is made if there is none; NULL with an exception. */
static char *
page_of(PyObject *pages, long long number)
{
    PyObject *key = PyLong_FromLongLong(number >> PAGE);
    PyObject *page = key ? PyDict_GetItemWithError(pages, key) : NULL;
    if (key && !page && !PyErr_Occurred()) {
        char empty[PAGE_BYTES] = {0};
        page = PyByteArray_FromStringAndSize(empty, PAGE_BYTES);
        if (page && PyDict_SetItem(pages, key, page) < 0) {
            Py_CLEAR(page);
        }
        Py_XDECREF(page); /* the dictionary has it */
    }
    Py_XDECREF(key);
    if (page && (!PyByteArray_Check(page) || PyByteArray_GET_SIZE(page) != PAGE_BYTES)) {
        PyErr_SetString(PyExc_TypeError, "expected a page of bytes");
        return NULL;
    }
    return page ? PyByteArray_AS_STRING(page) : NULL;
}

/* Whether a text may be the id of a job that is no number, as job_id in sites/slurm/texts.py reads it. */
static int
may_be_id(Text text)
{
    if (text.size && (unsigned char)text.begin[0] >= 0x80) {
        return 1;
    }
    for (Py_ssize_t at = 0; at < text.size; at++) {
        unsigned char sign = (unsigned char)text.begin[at];
        if (sign < 0x80 && sign - (unsigned)'0' > 9 && sign != '_' && sign != '+') {
            return 0;
        }
    }
    return text.size > 0;
}

PyDoc_STRVAR(again_doc, "again(lines, delimiter, column, pages, /)\n--\n\n"
                        "The ids in a column of whole lines that came before, and those that are no numbers. The others "
                        "are kept in pages, as RepeatedIds has them. A line counts if its column has an end.");

static PyObject *
again(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *lines, *pages;
    int delimiter, column;
    if (!PyArg_ParseTuple(arguments, "SCiO!", &lines, &delimiter, &column, &PyDict_Type, &pages)) {
        return NULL;
    }
    const char *at = PyBytes_AS_STRING(lines), *end = at + PyBytes_GET_SIZE(lines);
    if (delimiter < 1 || delimiter > 127 || column < 0) {
        return PyErr_Format(PyExc_ValueError, "expected a delimiter of ASCII, and the place of a column");
    }
    PyObject *found = PyList_New(0);
    long long last = -1;
    char *page = NULL;
    while (found && at <= end) {
        const char *next = memchr(at, '\n', (size_t)(end - at)), *close;
        next = next ? next : end;
        for (int left = column; left && at; left--) {
            at = memchr(at, delimiter, (size_t)(next - at));
            at = at ? at + 1 : NULL;
        }
        close = at ? memchr(at, delimiter, (size_t)(next - at)) : NULL;
        Text id = {at, close ? close - at : 0};
        at = next + 1;
        long long number = close ? digits(id, MOST_DIGITS) : -1;
        int is_again = close && number < 0 && may_be_id(id);
        if (number >= 0) {
            if (number >> PAGE != last && !(page = page_of(pages, number))) {
                Py_CLEAR(found);
                break;
            }
            last = number >> PAGE;
            char *byte = page + (number >> 3 & (PAGE_BYTES - 1)), bit = (char)(1 << (number & 7));
            is_again = (*byte & bit) != 0;
            *byte |= bit;
        }
        if (is_again) {
            PyObject *string = string_of(id);
            if (!string || PyList_Append(found, string) < 0) {
                Py_CLEAR(found);
            }
            Py_XDECREF(string);
        }
    }
    return found;
}

static PyMethodDef functions[] = {
    {"again", again, METH_VARARGS, again_doc},
    {NULL, NULL, 0, NULL},
};

static int
populate(PyObject *module)
{
    return PyModule_AddType(module, &rows_type) < 0 ? -1 : PyModule_AddIntConstant(module, "MOST_WIDTH", MOST_WIDTH);
}

NATIVE_MODULE("batprotocol.sites.logs.managers", _sacct, "native rows of sacct", populate, functions,
              "Rows of sacct that are not odd. Private: use batprotocol.sites.logs.")
