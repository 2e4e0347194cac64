/* The binding to the values: finding their classes and slots, once, and what does not come from a message: the members
   of enums and the values of absent fields. It knows the schema and Python, and no format. */

#include "binding.h"

Bound bound;

PyObject *
enum_member(int index, int number)
{
    PyObject **member = &bound.enum_members[index][number + 128];
    if (!*member) {
        /* Calling the class can run other Python code, and so another thread, which may have put the member here. */
        PyObject *made = PyObject_CallFunction((PyObject *)bound.enums[index], "i", number);
        if (!made) {
            return NULL;
        }
        if (*member) {
            Py_DECREF(made);
        }
        else {
            *member = made;
        }
    }
    return Py_NewRef(*member);
}

PyObject *
absent(const Field *field)
{
    if (field->required) {
        return NULL;
    }
    switch (field->kind) {
    case BOOL:
        return Py_NewRef(field->number ? Py_True : Py_False);
    case ENUM:
        return enum_member(field->index, (int)field->number);
    case INT32:
    case UINT32:
    case UINT64:
        return PyLong_FromLongLong(field->number);
    case DOUBLE:
        return field->optional ? Py_NewRef(Py_None) : PyFloat_FromDouble(field->real);
    default:
        return Py_NewRef(Py_None);
    }
}

PyObject *
make_doubles(PyObject *bytes)
{
    PyObject *doubles = bound.doubles->tp_alloc(bound.doubles, 0);
    if (!doubles) {
        Py_DECREF(bytes);
        return NULL;
    }
    SLOT(doubles, bound.doubles_slot) = bytes;
    return doubles;
}

static PyTypeObject *
class_called(PyObject *model, const char *name)
{
    PyObject *class = PyObject_GetAttrString(model, name);
    if (class && !PyType_Check(class)) {
        PyErr_Format(PyExc_TypeError, "%s is not a class", name);
        Py_CLEAR(class);
    }
    return (PyTypeObject *)class;
}

/* All events have their timestamp from one base class, and so in one slot. */
static int
bind_timestamp(PyTypeObject *event)
{
    Py_ssize_t offset = slot_offset(event, "timestamp");
    if (offset >= 0 && bound.timestamp && offset != bound.timestamp) {
        PyErr_Format(PyExc_TypeError, "%s has its timestamp in another slot than other events", event->tp_name);
        return 0;
    }
    bound.timestamp = offset;
    return offset >= 0;
}

static int
bind_tables(PyObject *model)
{
    bound.timestamp = bound.now = bound.events = 0;
    for (int number = 0; number < TABLE_COUNT; number++) {
        const Table *table = &TABLES_[number];
        if (table->wrapper || number == ENVELOPE) {
            for (int index = 0; index < table->count; index++) {
                bound.slots[number][index] = index * (Py_ssize_t)sizeof(PyObject *);
            }
            continue;
        }
        PyTypeObject *class = class_called(model, table->name);
        if (!class) {
            return 0;
        }
        Py_XSETREF(bound.classes[number], class);
        for (int index = 0; index < table->count; index++) {
            bound.slots[number][index] = slot_offset(class, table->fields[index].name);
            if (bound.slots[number][index] < 0) {
                return 0;
            }
        }
        size_t slots = (size_t)table->count + table->event;
        bound.simple[number] = !(class->tp_flags & Py_TPFLAGS_HAVE_GC) && !class->tp_itemsize &&
                               (size_t)class->tp_basicsize == sizeof(PyObject) + slots * sizeof(PyObject *);
        if (table->event && !bind_timestamp(class)) {
            return 0;
        }
    }
    PyTypeObject *message = bound.classes[ROOT];
    return (bound.now = slot_offset(message, "now")) >= 0 && (bound.events = slot_offset(message, "events")) >= 0;
}

/* Add the classes that stand for a table to those of a union: for a wrapper, the classes of what it wraps. `left` says
   how many more there may be: one place stays empty, so that every search ends. */
static int
bind_member(int index, int tag, int number, int *left)
{
    const Table *table = &TABLES_[number];
    const Field *inner = &table->fields[0];
    if (table->wrapper && inner->kind == UNION) {
        for (int member = 0; member < UNIONS_[inner->index].count; member++) {
            if (!bind_member(index, tag, UNIONS_[inner->index].members[member], left)) {
                return 0;
            }
        }
        return 1;
    }
    PyTypeObject *class = table->wrapper ? bound.enums[inner->index] : bound.classes[number];
    if (--*left < 1) {
        PyErr_SetString(PyExc_RuntimeError, "a union has more members than the engine was made for");
        return 0;
    }
    Member *members = bound.members[index];
    int place = place_of(class);
    while (members[place].class) {
        place = (place + 1) % MEMBER_PLACES;
    }
    members[place] = (Member){class, tag};
    return 1;
}

PyObject *
bind(PyObject *module, PyObject *arguments)
{
    PyObject *model, *read_carefully, *write_carefully;
    if (!PyArg_ParseTuple(arguments, "OOO", &model, &read_carefully, &write_carefully)) {
        return NULL;
    }
    if (bound.done) {
        PyErr_SetString(PyExc_RuntimeError, "the native engine is bound already");
        return NULL;
    }
    for (int index = 0; index < ENUM_COUNT; index++) {
        PyTypeObject *class = class_called(model, ENUMS_[index].name);
        if (!class) {
            return NULL;
        }
        Py_XSETREF(bound.enums[index], class);
    }
    PyTypeObject *doubles = class_called(model, "Doubles");
    if (!doubles) {
        return NULL;
    }
    Py_XSETREF(bound.doubles, doubles);
    if ((bound.doubles_slot = slot_offset(doubles, "_bytes")) < 0 || !bind_tables(model)) {
        return NULL;
    }
    memset(bound.members, 0, sizeof bound.members);
    for (int index = 0; index < UNION_COUNT; index++) {
        int left = MEMBER_PLACES;
        for (int tag = 1; tag <= UNIONS_[index].count; tag++) {
            if (!bind_member(index, tag, UNIONS_[index].members[tag - 1], &left)) {
                return NULL;
            }
        }
    }
    Py_XSETREF(bound.read_carefully, Py_NewRef(read_carefully));
    Py_XSETREF(bound.write_carefully, Py_NewRef(write_carefully));
    bound.done = 1;
    Py_RETURN_NONE;
}

PyObject *
message_of(PyObject *const *arguments, Py_ssize_t count, PyObject *names, int *late)
{
    *late = 0;
    if (count == 1 && !names) { /* as nearly always */
        return arguments[0];
    }
    if (count == 1 && PyTuple_GET_SIZE(names) == 1 &&
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "allow_late_events") == 0) {
        *late = PyObject_IsTrue(arguments[1]);
        return *late < 0 ? NULL : arguments[0];
    }
    PyErr_SetString(PyExc_TypeError, "expected a message, and perhaps allow_late_events by its name");
    return NULL;
}

/* Values made by Python code that knows their fields to be right */

static PyObject *
make(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    int number = (int)PyLong_AsLong(self);
    const Table *table = &TABLES_[number];
    if (count != table->count + table->event) {
        return PyErr_Format(PyExc_TypeError, "%s takes %d fields", table->name, table->count + table->event);
    }
    return new_value(number, arguments, table->event ? arguments[table->count] : NULL);
}

static PyMethodDef make_method = {"make", FAST(make), NULL};

PyObject *
maker(PyObject *module, PyObject *kind)
{
    for (int number = 0; number < TABLE_COUNT; number++) {
        if (kind == (PyObject *)bound.classes[number]) {
            PyObject *self = PyLong_FromLong(number);
            PyObject *function = self ? PyCFunction_New(&make_method, self) : NULL;
            Py_XDECREF(self);
            return function;
        }
    }
    return PyErr_Format(PyExc_TypeError, "%R stands for no table", kind);
}
