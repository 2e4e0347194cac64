/* What the package's modules in C have in common: what is bound to them is one for the process, so they work in the main
   interpreter only. Others get ImportError, and with it what is in Python. A free-threaded Python turns its lock on when
   it imports one of them. */

#ifndef BATPROTOCOL_NATIVE_H
#define BATPROTOCOL_NATIVE_H

#include <Python.h>
#include <structmember.h>

#include <stdint.h>

/* 0 in the main interpreter, -1 with an exception in others. `what` is a plural. */
static inline int
expect_main_interpreter(const char *what)
{
#ifndef PYPY_VERSION
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_Format(PyExc_ImportError, "%s work in the main interpreter only", what);
        return -1;
    }
#endif
    return 0;
}

/* What says so, among the slots of a module. */
#if PY_VERSION_HEX >= 0x030C0000
#define MAIN_INTERPRETER_ONLY {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#else
#define MAIN_INTERPRETER_ONLY
#endif

/* Where an object has an attribute that is a slot, as `slot_offset` of its class says. */
#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

/* Where instances of a class have an attribute that is a slot, or -1 with an exception. */
static inline Py_ssize_t
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

/* How many bits of a word are 1. */
static inline int
bits_in_word(uint64_t word)
{
#if defined(__POPCNT__) || defined(__aarch64__)
    return __builtin_popcountll(word);
#else
    word -= (word >> 1) & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + ((word >> 2) & 0x3333333333333333u);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (int)((word * 0x0101010101010101u) >> 56);
#endif
}

/* How CPython declares a function that takes its arguments as an array, in a table of functions. */
#define FAST(function) (PyCFunction)(void (*)(void))function, METH_FASTCALL

/* The `populate` of a module that has functions only, and gets all else when it is bound. */
static inline int
populate_nothing(PyObject *Py_UNUSED(module))
{
    return 0;
}

/* The end of a module's file: it is `package.name`, has the functions of a table (or NULL), and when it is imported,
   `populate(module)` adds what else there is. `what` is a plural for all of it. */
#define NATIVE_MODULE(package, name, what, populate, functions, doc)                                                   \
    static int execute(PyObject *module)                                                                               \
    {                                                                                                                  \
        return expect_main_interpreter(what) < 0 ? -1 : populate(module);                                              \
    }                                                                                                                  \
                                                                                                                       \
    static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, MAIN_INTERPRETER_ONLY {0, NULL}};                       \
                                                                                                                       \
    static struct PyModuleDef definition = {                                                                           \
        PyModuleDef_HEAD_INIT, .m_name = package "." #name, .m_doc = doc, .m_methods = functions, .m_slots = slots,    \
    };                                                                                                                 \
                                                                                                                       \
    PyMODINIT_FUNC PyInit_##name(void) { return PyModuleDef_Init(&definition); }

#endif
