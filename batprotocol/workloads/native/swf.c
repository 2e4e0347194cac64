/* Lines of the Standard Workload Format that are as plain as nearly all are: `swf.py` reads a file that has others. The
   columns are those that it would make, to the last bit. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "../../native.h"

enum { FIELDS = 18, DIGITS = 15, LONGEST = 1 << 16 };
enum { NUMBER, SUBMITTED, RUN = 3, ALLOCATED, REQUESTED = 7, WALLTIME, STATUS = 10, USER, GROUP, PRECEDING = 16, THINK_TIME };

#define MOST_RESOURCES 4294967295.0
#define UNKNOWN -1.0

/* A field: its text, and its value. */
typedef struct {
    const char *text;
    int length, is_whole;
    double value;
} Field;

typedef struct {
    PyObject *profiles, *texts; /* their numbers */
    int larger, limits;
    long long last; /* the job number before; -2: numbers do not ascend */
    Py_ssize_t lines, dependent, jobs, id_length, base;
    PyObject *ids, *ends, *times, *resources, *walltimes, *used, *extra, *comments;
} Block;

static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

static inline int
is_blank(char sign)
{
    return sign == ' ' || sign == '\t' || sign == '\r';
}

/* Read a number; NULL if it is none, or not a plain one. Up to 15 digits are a whole number below 2**53, and powers of ten
   up to 10**15 are doubles, so one division rounds as reading the text does. */
static const char *
read_field(const char *at, const char *end, Field *field)
{
    const char *begin = at;
    int is_negative = at < end && *at == '-', digits = 0, decimals = 0;
    uint64_t number = 0;
    at += is_negative;
    for (; at < end && *at >= '0' && *at <= '9'; at++, digits++) {
        number = 10 * number + (uint64_t)(*at - '0');
        if (digits == DIGITS) {
            return NULL;
        }
    }
    if (!digits) {
        return NULL;
    }
    field->is_whole = !(at < end && *at == '.');
    if (!field->is_whole) {
        for (at++; at < end && *at >= '0' && *at <= '9'; at++, decimals++) {
            number = 10 * number + (uint64_t)(*at - '0');
            if (digits + decimals == DIGITS) {
                return NULL;
            }
        }
    }
    if (at < end && !is_blank(*at)) {
        return NULL;
    }
    double value = (double)number / powers[decimals];
    field->text = begin;
    field->length = (int)(at - begin);
    field->value = is_negative ? -value : value;
    return at;
}

/* Whether it names another job: without zeros and points at both ends, it is neither empty nor "-1". */
static int
names_another(const Field *field)
{
    const char *begin = field->text, *end = begin + field->length;
    while (begin < end && (*begin == '0' || *begin == '.')) {
        begin++;
    }
    while (end > begin && (end[-1] == '0' || end[-1] == '.')) {
        end--;
    }
    return end > begin && !(end - begin == 2 && begin[0] == '-' && begin[1] == '1');
}

/* The number of a text, which gets the next one if it is new; -1 with an exception. */
static Py_ssize_t
number_of(PyObject *numbers, const char *text, Py_ssize_t length)
{
    PyObject *key = PyUnicode_FromStringAndSize(text, length);
    PyObject *known = key ? PyDict_GetItemWithError(numbers, key) : NULL;
    Py_ssize_t number = known ? PyLong_AsSsize_t(known) : -1;
    if (key && !known && !PyErr_Occurred()) {
        number = PyDict_GET_SIZE(numbers);
        PyObject *made = PyLong_FromSsize_t(number);
        if (!made || PyDict_SetItem(numbers, key, made) < 0) {
            number = -1;
        }
        Py_XDECREF(made);
    }
    Py_XDECREF(key);
    return number;
}

/* The number of the extra data, 0 without any; -1 with an exception. */
static Py_ssize_t
extra_of(Block *block, const Field *fields)
{
    char text[96];
    double user = fields[USER].value, group = fields[GROUP].value;
    int length = 0;
    if (user >= 0.0) {
        length += snprintf(text, sizeof text, "{\"user\":%lld", (long long)user);
    }
    if (group >= 0.0) {
        length += snprintf(text + length, sizeof text - (size_t)length, "%c\"group\":%lld", length ? ',' : '{',
                           (long long)group);
    }
    if (!length) {
        return 0;
    }
    text[length++] = '}';
    Py_ssize_t number = number_of(block->texts, text, length);
    return number < 0 ? -1 : number + 1;
}

#define COLUMN(type, bytes) ((type *)PyBytes_AS_STRING(bytes))

/* Take a job; 0 if it is for others to read or refuse, -1 with an exception. */
static int
take_job(Block *block, const Field *fields)
{
    double requested = fields[REQUESTED].value, allocated = fields[ALLOCATED].value, number = fields[NUMBER].value;
    double processors = requested;
    if (block->larger || requested <= 0.0) {
        processors = allocated > requested ? allocated : requested;
    }
    if (processors != floor(processors) || processors > MOST_RESOURCES || !fields[NUMBER].is_whole ||
        signbit(number) || fields[RUN].length > 32) {
        return 0;
    }
    block->lines++;
    if (fields[RUN].value <= 0.0 || processors <= 0.0) {
        return 1;
    }
    char name[48] = "delay";
    memcpy(name + 5, fields[RUN].text, (size_t)fields[RUN].length);
    Py_ssize_t profile = number_of(block->profiles, name, 5 + fields[RUN].length);
    Py_ssize_t extra = profile < 0 ? -1 : extra_of(block, fields);
    if (extra < 0) {
        return -1;
    }
    long long id = (long long)number;
    block->last = block->last > -2 && id > block->last ? id : -2;
    block->dependent += names_another(&fields[PRECEDING]) || names_another(&fields[THINK_TIME]);
    block->id_length += snprintf(PyBytes_AS_STRING(block->ids) + block->id_length, 24, "%lld", id);
    Py_ssize_t row = block->jobs++;
    double time = fields[SUBMITTED].value, walltime = fields[WALLTIME].value;
    COLUMN(uint64_t, block->ends)[row] = (uint64_t)(block->base + block->id_length);
    COLUMN(double, block->times)[row] = time == UNKNOWN ? 0.0 : time;
    COLUMN(uint32_t, block->resources)[row] = (uint32_t)processors;
    COLUMN(double, block->walltimes)[row] = walltime > 0.0 ? walltime : block->limits ? fields[RUN].value : UNKNOWN;
    COLUMN(uint32_t, block->used)[row] = (uint32_t)profile;
    COLUMN(uint32_t, block->extra)[row] = (uint32_t)extra;
    return 1;
}

/* Take a line; 0 if it is for others to read or refuse, -1 with an exception. */
static int
take_line(Block *block, const char *at, const char *end)
{
    Field fields[FIELDS];
    int count = 0;
    if (end - at >= LONGEST - 1) {
        return 0;
    }
    while (at < end && is_blank(*at)) {
        at++;
    }
    if (at < end && *at == ';') {
        PyObject *comment = PyBytes_FromStringAndSize(at, end - at);
        int failed = !comment || PyList_Append(block->comments, comment) < 0;
        Py_XDECREF(comment);
        return failed ? -1 : 1;
    }
    while (at < end) {
        if (count == FIELDS || !(at = read_field(at, end, &fields[count++]))) {
            return 0;
        }
        while (at < end && is_blank(*at)) {
            at++;
        }
    }
    if (!count) {
        return 1;
    }
    const Field *status = &fields[STATUS];
    int is_part = count == FIELDS && status->length == 1 && *status->text >= '2' && *status->text <= '4';
    return count < FIELDS || is_part ? 0 : take_job(block, fields);
}

static int
make_columns(Block *block, Py_ssize_t most)
{
    PyObject **columns[] = {&block->ends, &block->times, &block->walltimes, &block->resources, &block->used, &block->extra};
    size_t sizes[] = {8, 8, 8, 4, 4, 4};
    block->comments = PyList_New(0);
    block->ids = PyBytes_FromStringAndSize(NULL, 24 * most);
    for (int index = 0; index < 6; index++) {
        *columns[index] = PyBytes_FromStringAndSize(NULL, most * (Py_ssize_t)sizes[index]);
        if (!*columns[index]) {
            return -1;
        }
    }
    return block->comments && block->ids ? 0 : -1;
}

static PyObject *
outcome(Block *block)
{
    PyObject **wide[] = {&block->ends, &block->times, &block->walltimes};
    PyObject **narrow[] = {&block->resources, &block->used, &block->extra};
    for (int index = 0; index < 3; index++) {
        if (_PyBytes_Resize(wide[index], 8 * block->jobs) < 0 || _PyBytes_Resize(narrow[index], 4 * block->jobs) < 0) {
            return NULL;
        }
    }
    if (_PyBytes_Resize(&block->ids, block->id_length) < 0) {
        return NULL;
    }
    return Py_BuildValue("OnnL(OOOOOOO)", block->comments, block->lines, block->dependent, block->last, block->ids,
                         block->ends, block->times, block->resources, block->walltimes, block->used, block->extra);
}

PyDoc_STRVAR(read_doc,
             "read($module, lines, profiles, texts, last, base, larger, limits, /)\n--\n\n"
             "Read whole lines. Return the comments, the number of lines, that of dependent jobs, the last job number (-2\n"
             "if they do not ascend), and columns; or None, if a line is not plain. New profiles and texts get numbers.");

static PyObject *
read_lines(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Block block = {0};
    Py_buffer lines;
    if (!PyArg_ParseTuple(arguments, "y*O!O!Lnpp:read", &lines, &PyDict_Type, &block.profiles, &PyDict_Type, &block.texts,
                          &block.last, &block.base, &block.larger, &block.limits)) {
        return NULL;
    }
    const char *at = lines.buf, *end = at + lines.len;
    Py_ssize_t most = 1;
    for (const char *next = at; (next = memchr(next, '\n', (size_t)(end - next))); next++) {
        most++;
    }
    int taken = make_columns(&block, most) < 0 ? -1 : 1;
    while (taken > 0 && at < end) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        taken = take_line(&block, at, next ? next : end);
        at = next ? next + 1 : end;
    }
    PyObject *made = taken > 0 ? outcome(&block) : taken ? NULL : Py_NewRef(Py_None);
    PyBuffer_Release(&lines);
    PyObject *own[] = {block.comments, block.ids, block.ends, block.times, block.resources, block.walltimes, block.used, block.extra};
    for (size_t index = 0; index < sizeof own / sizeof *own; index++) {
        Py_XDECREF(own[index]);
    }
    return made;
}

static PyMethodDef functions[] = {
    {"read", read_lines, METH_VARARGS, read_doc},
    {NULL, NULL, 0, NULL},
};

NATIVE_MODULE("batprotocol.workloads", _swf, "native lines of logs", populate_nothing, functions,
              "Lines of the Standard Workload Format in C. Private: use batprotocol.workloads.")
