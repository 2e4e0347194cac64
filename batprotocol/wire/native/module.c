/* The module of the native engine, and its binding to the values. */

#include "engine.h"

Bound bound;
Recent recent_strings[RECENT_STRINGS];

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

/* Whether an exception is set that says something of this machine, not of the message; others are cleared. */
int
out_of_memory(void)
{
    if (!PyErr_Occurred()) {
        return 0;
    }
    if (PyErr_ExceptionMatches(PyExc_MemoryError)) {
        return 1;
    }
    PyErr_Clear();
    return 0;
}

/* Binding to the values */

/* Where instances of a class have an attribute that is a slot, or -1 with an exception. */
static Py_ssize_t
slot_offset(PyTypeObject *class, const char *name)
{
    PyObject *descriptor = PyObject_GetAttrString((PyObject *)class, name);
    if (!descriptor) {
        return -1;
    }
    Py_ssize_t offset = -1;
    if (Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) {
        offset = ((PyMemberDescrObject *)descriptor)->d_member->offset;
    }
    else {
        PyErr_Format(PyExc_TypeError, "%s.%s is not a slot", class->tp_name, name);
    }
    Py_DECREF(descriptor);
    return offset;
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

static int
bind_tables(PyObject *model)
{
    for (int number = 0; number < TABLE_COUNT; number++) {
        const Table *table = &TABLES_[number];
        if (table->wrapper || number == ENVELOPE) {
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
        if (table->event && (bound.timestamps[number] = slot_offset(class, "timestamp")) < 0) {
            return 0;
        }
    }
    return 1;
}

/* Add the classes that stand for a table to those of a union: for a wrapper, the classes of what it wraps. */
static int
bind_member(int index, int tag, int number)
{
    const Table *table = &TABLES_[number];
    const Field *inner = &table->fields[0];
    if (table->wrapper && inner->kind == UNION) {
        for (int member = 0; member < UNIONS_[inner->index].count; member++) {
            if (!bind_member(index, tag, UNIONS_[inner->index].members[member])) {
                return 0;
            }
        }
        return 1;
    }
    int place = bound.member_counts[index]++;
    if (place >= MOST_CLASSES) {
        PyErr_SetString(PyExc_RuntimeError, "a union has more members than the engine was made for");
        return 0;
    }
    bound.members[index][place] = table->wrapper ? bound.enums[inner->index] : bound.classes[number];
    bound.tags[index][place] = (uint8_t)tag;
    return 1;
}

static PyObject *
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
    memset(bound.member_counts, 0, sizeof bound.member_counts);
    for (int index = 0; index < UNION_COUNT; index++) {
        for (int tag = 1; tag <= UNIONS_[index].count; tag++) {
            if (!bind_member(index, tag, UNIONS_[index].members[tag - 1])) {
                return NULL;
            }
        }
    }
    Py_XSETREF(bound.read_carefully, Py_NewRef(read_carefully));
    Py_XSETREF(bound.write_carefully, Py_NewRef(write_carefully));
    bound.done = 1;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(decode_doc, "decode($module, data, /)\n--\n\nRead a message from a flatbuffer.");
PyDoc_STRVAR(encode_doc, "encode($module, message, /)\n--\n\nWrite a message as a flatbuffer.");
PyDoc_STRVAR(decode_json_doc, "decode_json($module, data, /)\n--\n\n"
                              "Read a message from plain JSON; None if it is not plain, or wrong.");
PyDoc_STRVAR(encode_json_doc, "encode_json($module, message, /)\n--\n\n"
                              "Write a message as JSON text; None if it cannot be written, or not simply.");
PyDoc_STRVAR(bind_doc, "bind($module, model, read_carefully, write_carefully, /)\n--\n\n"
                       "Tell the engine, once, the module that has the values, and who reads and writes what it cannot.");

static PyMethodDef methods[] = {
    {"decode", decode, METH_O, decode_doc},
    {"encode", encode, METH_O, encode_doc},
    {"decode_json", decode_json, METH_O, decode_json_doc},
    {"encode_json", encode_json, METH_O, encode_json_doc},
    {"bind", bind, METH_VARARGS, bind_doc},
    {NULL, NULL, 0, NULL},
};

/* What is bound is one for the process, so the engine lives in the main interpreter alone; others get ImportError, and
   with it the pure-Python engine. A free-threaded Python turns its lock on when it imports this module. */
static int
execute(PyObject *module)
{
#ifndef PYPY_VERSION
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "the native engine works in the main interpreter only");
        return -1;
    }
#endif
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "batprotocol.wire._native",
    .m_doc = "The native engine of the binary format. Private: use batprotocol.wire.binary.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
