/* The rows of sacct that are as nearly all of them are become jobs here, many at a time. All others are left to Python.

   The twin of SacctRows in sacct_rows.py, which also reads the values: a text that was not met before is given to a
   reader in Python, and what it says is kept. A row is odd if anything about it is to be counted or told, or if it
   cannot be read. An odd row changes nothing here: Python reads it from its beginning. */

#define PY_SSIZE_T_CLEAN
#include "../../../../native.h"
#include "row.h"

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
    {"open", FAST(open_lines), open_doc},
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

/* The module */

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
