/* Copies of a whole simulation: what changes is copied, what never does is shared.

   The twin of copying.py, which tells once for each class how its objects are copied (how_to_copy); here are the ways.
   Objects that were copied already are found by their addresses. What is not the library's own is left to copy.deepcopy,
   which then is told of all that was copied until then, and the other way round: so nothing is copied twice. */

#define PY_SSIZE_T_CLEAN
#include "../../native.h"
#include "table.h"
#include <structmember.h>

enum { SHARED, TUPLE, LIST, DICT, SET, DEQUE, OBJECT, STRUCT, WEAK, FOREIGN };

/* How classes are copied */

typedef struct {
    Py_ssize_t offset; /* of a slot; -1: it has a getter and a setter */
    PyGetSetDef *access;
} Field;

typedef struct {
    int how;
    int has_dict;
    Py_ssize_t count;
    Field fields[];
} Plan;

static Table plans; /* by class; they are kept, and so are their classes */
static PyObject *how_to_copy, *deepcopy, *deque_type;
static PyObject *append_name, *copy_name, *dict_name, *maxlen_name;

static int
read_field(PyObject *descriptor, Field *field)
{
    field->offset = -1;
    field->access = NULL;
    if (Py_TYPE(descriptor) == &PyMemberDescr_Type) {
        PyMemberDef *member = ((PyMemberDescrObject *)descriptor)->d_member;
        if (member->type == T_OBJECT_EX || member->type == T_OBJECT) {
            field->offset = member->offset;
            return 0;
        }
    }
    else if (Py_TYPE(descriptor) == &PyGetSetDescr_Type) {
        field->access = ((PyGetSetDescrObject *)descriptor)->d_getset;
        if (field->access->get && field->access->set) {
            return 0;
        }
    }
    PyErr_Format(PyExc_TypeError, "%R is no field that can be copied", descriptor);
    return -1;
}

static const Plan foreign = {FOREIGN, 0, 0};

static const Plan *
plan_of(PyTypeObject *type, int root)
{
    Plan *plan = find(&plans, type);
    if (plan) {
        return plan;
    }
    PyObject *told = PyObject_CallFunction(how_to_copy, "OO", (PyObject *)type, root ? Py_True : Py_False);
    int how, has_dict;
    PyObject *descriptors;
    if (!told || !PyArg_ParseTuple(told, "iO!p", &how, &PyTuple_Type, &descriptors, &has_dict)) {
        Py_XDECREF(told);
        return NULL;
    }
    if (how == FOREIGN) { /* whose classes come and go */
        Py_DECREF(told);
        return &foreign;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(descriptors);
    plan = PyMem_Malloc(sizeof *plan + (size_t)count * sizeof *plan->fields);
    if (!plan) {
        PyErr_NoMemory();
        goto failed;
    }
    plan->how = how;
    plan->has_dict = has_dict;
    plan->count = count;
    for (Py_ssize_t index = 0; index < count; index++) {
        if (read_field(PyTuple_GET_ITEM(descriptors, index), &plan->fields[index]) < 0) {
            goto failed;
        }
    }
    if (put(&plans, type, plan) < 0) {
        goto failed;
    }
    Py_INCREF(type);
    Py_DECREF(told);
    return plan;

failed:
    PyMem_Free(plan);
    Py_DECREF(told);
    return NULL;
}

/* Copying */

typedef struct {
    Table known;    /* the copy of each object, by the object; both are kept alive by `pairs` */
    PyObject *memo; /* copy.deepcopy's */
    PyObject **pairs;
    size_t count, room, told; /* of pairs; how many copy.deepcopy knows of */
    int has_asked;            /* whether copy.deepcopy has copied anything that may be met again */
} Copying;

static PyObject *copy_of(Copying *copying, PyObject *value);

/* Remember that `made` is the copy of `value`. */
static int
remember(Copying *copying, PyObject *value, PyObject *made)
{
    if (copying->count == copying->room) {
        size_t room = copying->room ? copying->room * 2 : 64;
        PyObject **pairs = PyMem_Realloc(copying->pairs, room * 2 * sizeof *pairs);
        if (!pairs) {
            PyErr_NoMemory();
            return -1;
        }
        copying->pairs = pairs;
        copying->room = room;
    }
    if (put(&copying->known, value, made) < 0) {
        return -1;
    }
    copying->pairs[2 * copying->count] = Py_NewRef(value);
    copying->pairs[2 * copying->count + 1] = Py_NewRef(made);
    copying->count++;
    return 0;
}

static PyObject *
copy_of_object(Copying *copying, PyObject *value, const Plan *plan)
{
    PyObject *made = NULL;
    if (plan->how == STRUCT) {
        made = PyObject_CallMethodNoArgs(value, copy_name);
    }
    else {
        PyObject *nothing = PyTuple_New(0);
        made = nothing ? Py_TYPE(value)->tp_new(Py_TYPE(value), nothing, NULL) : NULL;
        Py_XDECREF(nothing);
    }
    if (!made || remember(copying, value, made) < 0) {
        Py_XDECREF(made);
        return NULL;
    }
    for (Py_ssize_t index = 0; index < plan->count; index++) {
        const Field *field = &plan->fields[index];
        if (field->offset >= 0) {
            PyObject *old = *(PyObject **)((char *)value + field->offset);
            if (old) {
                Py_INCREF(old); /* what is copied may change who holds it */
                PyObject *new = copy_of(copying, old);
                Py_DECREF(old);
                if (!new) {
                    goto failed;
                }
                Py_XSETREF(*(PyObject **)((char *)made + field->offset), new);
            }
            continue;
        }
        PyObject *old = field->access->get(value, field->access->closure);
        if (!old) {
            if (!PyErr_ExceptionMatches(PyExc_AttributeError)) {
                goto failed;
            }
            PyErr_Clear(); /* not set yet */
            continue;
        }
        PyObject *new = copy_of(copying, old);
        Py_DECREF(old);
        int status = new ? field->access->set(made, new, field->access->closure) : -1;
        Py_XDECREF(new);
        if (status < 0) {
            goto failed;
        }
    }
    if (plan->has_dict) {
        PyObject *old = PyObject_GetAttr(value, dict_name), *new = NULL, *own = NULL;
        int status = -1;
        if (!old && PyErr_ExceptionMatches(PyExc_AttributeError)) {
            PyErr_Clear(); /* some compiled classes only say that they have one */
            status = 0;
        }
        else if (old && (new = copy_of(copying, old)) && (own = PyObject_GetAttr(made, dict_name))) {
            status = PyDict_Update(own, new);
        }
        Py_XDECREF(old);
        Py_XDECREF(new);
        Py_XDECREF(own);
        if (status < 0) {
            goto failed;
        }
    }
    return made;

failed:
    Py_DECREF(made);
    return NULL;
}

static PyObject *
copy_of_tuple(Copying *copying, PyObject *value)
{
    Py_ssize_t size = PyTuple_GET_SIZE(value);
    int same = 1;
    PyObject *items = PyTuple_New(size);
    for (Py_ssize_t index = 0; items && index < size; index++) {
        PyObject *item = PyTuple_GET_ITEM(value, index), *new = copy_of(copying, item);
        if (!new) {
            Py_CLEAR(items);
            break;
        }
        same &= new == item;
        PyTuple_SET_ITEM(items, index, new);
    }
    if (!items) {
        return NULL;
    }
    if (same) {
        Py_DECREF(items);
        return Py_NewRef(value);
    }
    PyObject *made = find(&copying->known, value); /* one that holds itself was copied meanwhile */
    if (made) {
        Py_DECREF(items);
        return Py_NewRef(made);
    }
    if (PyTuple_CheckExact(value)) {
        made = items;
    }
    else { /* a NamedTuple, whose own __new__ takes the items one by one */
        PyObject *arguments = PyTuple_Pack(1, items);
        made = arguments ? PyTuple_Type.tp_new(Py_TYPE(value), arguments, NULL) : NULL;
        Py_XDECREF(arguments);
        Py_DECREF(items);
    }
    if (made && remember(copying, value, made) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

static PyObject *
copy_of_list(Copying *copying, PyObject *value)
{
    PyObject *made = PyList_New(0);
    if (!made || remember(copying, value, made) < 0) {
        Py_XDECREF(made);
        return NULL;
    }
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(value); index++) {
        PyObject *item = Py_NewRef(PyList_GET_ITEM(value, index)), *new = copy_of(copying, item);
        Py_DECREF(item);
        int status = new ? PyList_Append(made, new) : -1;
        Py_XDECREF(new);
        if (status < 0) {
            Py_DECREF(made);
            return NULL;
        }
    }
    return made;
}

/* Sets and deques are filled by the items of a list; a set of unhashable copies is told by its own error. */
static PyObject *
copy_of_items(Copying *copying, PyObject *value, int how)
{
    PyObject *made = NULL, *items = PySequence_List(value);
    if (!items) {
        return NULL;
    }
    if (how == SET) {
        made = PySet_New(NULL);
    }
    else {
        PyObject *most = PyObject_GetAttr(value, maxlen_name);
        made = most ? PyObject_CallFunction(deque_type, "()O", most) : NULL;
        Py_XDECREF(most);
    }
    int status = made ? remember(copying, value, made) : -1;
    for (Py_ssize_t index = 0; status >= 0 && index < PyList_GET_SIZE(items); index++) {
        PyObject *new = copy_of(copying, PyList_GET_ITEM(items, index));
        if (!new) {
            status = -1;
        }
        else if (how == SET) {
            status = PySet_Add(made, new);
        }
        else {
            PyObject *nothing = PyObject_CallMethodOneArg(made, append_name, new);
            status = nothing ? 0 : -1;
            Py_XDECREF(nothing);
        }
        Py_XDECREF(new);
    }
    Py_DECREF(items);
    if (status < 0) {
        Py_CLEAR(made);
    }
    return made;
}

static PyObject *
copy_of_dict(Copying *copying, PyObject *value)
{
    PyObject *made = PyDict_New();
    if (!made || remember(copying, value, made) < 0) {
        Py_XDECREF(made);
        return NULL;
    }
    Py_ssize_t place = 0;
    PyObject *key, *item;
    while (PyDict_Next(value, &place, &key, &item)) {
        Py_INCREF(key);
        Py_INCREF(item);
        PyObject *new_key = copy_of(copying, key), *new = new_key ? copy_of(copying, item) : NULL;
        int status = new ? PyDict_SetItem(made, new_key, new) : -1;
        Py_DECREF(key);
        Py_DECREF(item);
        Py_XDECREF(new_key);
        Py_XDECREF(new);
        if (status < 0) {
            Py_DECREF(made);
            return NULL;
        }
    }
    return made;
}

/* Let copy.deepcopy do it. */
static PyObject *
copy_of_foreign(Copying *copying, PyObject *value)
{
    for (; copying->told < copying->count; copying->told++) {
        PyObject *address = PyLong_FromVoidPtr(copying->pairs[2 * copying->told]);
        int status = address ? PyDict_SetItem(copying->memo, address, copying->pairs[2 * copying->told + 1]) : -1;
        Py_XDECREF(address);
        if (status < 0) {
            return NULL;
        }
    }
    copying->has_asked = 1;
    return PyObject_CallFunctionObjArgs(deepcopy, value, copying->memo, NULL);
}

static PyObject *
copy_of(Copying *copying, PyObject *value)
{
    const Plan *plan = plan_of(Py_TYPE(value), 0);
    if (!plan) {
        return NULL;
    }
    if (plan->how == SHARED) {
        return Py_NewRef(value);
    }
    if (plan->how == WEAK) {
        Py_RETURN_NONE;
    }
    PyObject *made = find(&copying->known, value);
    if (made) {
        return Py_NewRef(made);
    }
    if (copying->has_asked) {
        PyObject *address = PyLong_FromVoidPtr(value);
        made = address ? PyDict_GetItemWithError(copying->memo, address) : NULL;
        Py_XDECREF(address);
        if (made || PyErr_Occurred()) {
            return Py_XNewRef(made);
        }
    }
    if (Py_EnterRecursiveCall(" while a simulation is copied")) {
        return NULL;
    }
    switch (plan->how) {
    case TUPLE:
        made = copy_of_tuple(copying, value);
        break;
    case LIST:
        made = copy_of_list(copying, value);
        break;
    case DICT:
        made = copy_of_dict(copying, value);
        break;
    case SET:
    case DEQUE:
        made = copy_of_items(copying, value, plan->how);
        break;
    case OBJECT:
    case STRUCT:
        made = copy_of_object(copying, value, plan);
        break;
    default:
        made = copy_of_foreign(copying, value);
    }
    Py_LeaveRecursiveCall();
    return made;
}

/* The module */

PyDoc_STRVAR(copied_doc, "copied($module, value, memo=None, /)\n--\n\nSee copying.copied.");

static PyObject *
copied(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    if (count < 1 || count > 2 || (count == 2 && arguments[1] != Py_None && !PyDict_Check(arguments[1]))) {
        PyErr_SetString(PyExc_TypeError, "expected a value, and a dict or None");
        return NULL;
    }
    if (!how_to_copy) {
        PyErr_SetString(PyExc_RuntimeError, "nothing was bound");
        return NULL;
    }
    if (!plan_of(Py_TYPE(arguments[0]), 1)) {
        return NULL;
    }
    Copying copying = {0};
    copying.memo = count == 2 && arguments[1] != Py_None ? Py_NewRef(arguments[1]) : PyDict_New();
    if (!copying.memo) {
        return NULL;
    }
    copying.has_asked = PyDict_GET_SIZE(copying.memo) > 0;
    PyObject *made = copy_of(&copying, arguments[0]);
    for (size_t index = 0; index < 2 * copying.count; index++) {
        Py_DECREF(copying.pairs[index]);
    }
    PyMem_Free(copying.pairs);
    PyMem_Free(copying.known.entries);
    Py_DECREF(copying.memo);
    return made;
}

PyDoc_STRVAR(bind_doc, "bind($module, how_to_copy, deepcopy, deque, /)\n--\n\n"
                       "Take the function how_to_copy, copy.deepcopy, and the class of deques.");

static PyObject *
bind(PyObject *module, PyObject *arguments)
{
    PyObject *how, *deep, *deque;
    if (!PyArg_ParseTuple(arguments, "OOO!:bind", &how, &deep, &PyType_Type, &deque)) {
        return NULL;
    }
    Py_XSETREF(how_to_copy, Py_NewRef(how));
    Py_XSETREF(deepcopy, Py_NewRef(deep));
    Py_XSETREF(deque_type, Py_NewRef(deque));
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"bind", bind, METH_VARARGS, bind_doc},
    {"copied", FAST(copied), copied_doc},
    {NULL, NULL, 0, NULL},
};

static int
populate(PyObject *module)
{
    if (!append_name) {
        append_name = PyUnicode_InternFromString("append");
        copy_name = PyUnicode_InternFromString("__copy__");
        maxlen_name = PyUnicode_InternFromString("maxlen");
        dict_name = PyUnicode_InternFromString("__dict__");
    }
    return append_name && copy_name && maxlen_name && dict_name ? 0 : -1;
}

NATIVE_MODULE("batprotocol.simulator", _copier, "native copies", populate, methods,
              "Copies of a whole simulation. Private: use copy.deepcopy.")
