/* A row becomes a job with one attempt, unless it is odd. */

#ifndef BATPROTOCOL_SACCT_ROW_H
#define BATPROTOCOL_SACCT_ROW_H

#include "texts.h"

/* Ids */

enum { MOST_TASK_DIGITS = 9, SHORT = 12 };

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

#endif
