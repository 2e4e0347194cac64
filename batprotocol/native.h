/* What the package's modules in C have in common: what is bound to them is one for the process, so they work in the main
   interpreter only. Others get ImportError, and with it what is in Python. A free-threaded Python turns its lock on when
   it imports one of them. */

#ifndef BATPROTOCOL_NATIVE_H
#define BATPROTOCOL_NATIVE_H

#include <Python.h>

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

#endif
