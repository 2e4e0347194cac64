/* The interpreter: libpython is found when it is wanted, and each of its functions by its name.

   Only functions are used that have not changed since CPython 3.10, and of their arguments only what they promise. */

#define _GNU_SOURCE

#include "embedded.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int kind; /* 0 is success */
    const char *function;
    const char *message;
    int exit_status;
} Status; /* PyStatus */

/* A PyConfig has some 500 bytes, and grows a little with each version. */
#define CONFIGURATION_SIZE (16u << 10)

#define FUNCTIONS(F)                                                     \
    F(const char *, Py_GetVersion, (void))                               \
    F(int, Py_IsInitialized, (void))                                     \
    F(void, Py_DecRef, (object *))                                       \
    F(void, PyConfig_InitPythonConfig, (void *))                         \
    F(Status, PyConfig_SetBytesArgv, (void *, ssize_t, char *const *))   \
    F(Status, Py_InitializeFromConfig, (const void *))                   \
    F(void, PyConfig_Clear, (void *))                                    \
    F(void *, PyEval_SaveThread, (void))                                 \
    F(int, PyGILState_Ensure, (void))                                    \
    F(void, PyGILState_Release, (int))                                   \
    F(object *, PyImport_ImportModule, (const char *))                   \
    F(object *, PyObject_GetAttrString, (object *, const char *))        \
    F(object *, PyObject_CallFunctionObjArgs, (object *, ...))           \
    F(object *, PyBytes_FromStringAndSize, (const char *, ssize_t))      \
    F(int, PyBytes_AsStringAndSize, (object *, char **, ssize_t *))      \
    F(int, PyErr_ExceptionMatches, (object *))                           \
    F(void, PyErr_Clear, (void))                                         \
    F(void, PyErr_Print, (void))

#define FIELD(type, name, arguments) type(*name) arguments;
static struct {
    FUNCTIONS(FIELD)
} py;

static object **system_exit, **keyboard_interrupt;
static int found; /* the version, once all of the above were found */
static int started;
static int lock; /* what PyGILState_Release wants back */

int interpreter_is_anothers;

/* Python's functions, of the libpython with this handle. */
static int
look_up(void *handle)
{
    const char *missing = NULL;
#define LOOK_UP(type, name, arguments)                    \
    *(void **)&py.name = dlsym(handle, #name);            \
    missing = missing || py.name ? missing : #name;
    FUNCTIONS(LOOK_UP)
    system_exit = dlsym(handle, "PyExc_SystemExit");
    keyboard_interrupt = dlsym(handle, "PyExc_KeyboardInterrupt");
    if (missing || !system_exit || !keyboard_interrupt) {
        report("the libpython found is none of CPython 3.10 or later: it has no %s", missing ? missing : "exceptions");
        return 0;
    }
    return 1;
}

int
interpreter_find(const char *libpython)
{
    void *handle = RTLD_DEFAULT;
    if (found) {
        return found;
    }
    if (!dlsym(RTLD_DEFAULT, "Py_IsInitialized")) {
        /* Extension modules look for Python's symbols among the global ones. */
        handle = dlopen(libpython, RTLD_NOW | RTLD_GLOBAL);
        if (!handle) {
            report("Python's shared library cannot be loaded: %s", dlerror());
            report("has its Python been removed or changed? Install batprotocol again, or run `batproto library` again");
            return 0;
        }
    }
    if (!look_up(handle)) {
        return 0;
    }
    char *end;
    long major = strtol(py.Py_GetVersion(), &end, 10);
    found = (int)(100 * major + (*end == '.' ? strtol(end + 1, NULL, 10) : 0));
    interpreter_is_anothers = py.Py_IsInitialized();
    return found;
}

int
interpreter_start(const char *libpython, const char *executable)
{
    char *arguments[] = {(char *)executable, NULL};
    if (!interpreter_find(libpython)) {
        return 0;
    }
    if (started || interpreter_is_anothers) {
        return 1;
    }
    void *configuration = calloc(1, CONFIGURATION_SIZE);
    if (!configuration) {
        report("there is not enough memory to start Python");
        return 0;
    }
    signals_remember();
    py.PyConfig_InitPythonConfig(configuration);
    /* The name of the program is how Python finds the environment that it belongs to. */
    Status status = py.PyConfig_SetBytesArgv(configuration, 1, arguments);
    if (!status.kind) {
        status = py.Py_InitializeFromConfig(configuration);
    }
    py.PyConfig_Clear(configuration);
    free(configuration);
    signals_restore();
    if (status.kind) {
        report("Python cannot be started as %s: %s", executable, status.message ? status.message : "nobody knows why");
        return 0;
    }
    started = 1;
    py.PyEval_SaveThread(); /* Python's other threads go on whenever this library is not called */
    return 1;
}

void
interpreter_attach(void)
{
    lock = py.PyGILState_Ensure();
}

void
interpreter_detach(void)
{
    py.PyGILState_Release(lock);
}

object *
interpreter_import(const char *module)
{
    return py.PyImport_ImportModule(module);
}

object *
interpreter_attribute(object *owner, const char *name)
{
    return py.PyObject_GetAttrString(owner, name);
}

object *
interpreter_call(object *function, object *argument)
{
    return py.PyObject_CallFunctionObjArgs(function, argument, NULL);
}

object *
interpreter_bytes(const void *data, size_t size)
{
    return py.PyBytes_FromStringAndSize(data, (ssize_t)size);
}

int
interpreter_data(object *bytes, uint8_t **data, uint32_t *size)
{
    char *start;
    ssize_t length;
    if (py.PyBytes_AsStringAndSize(bytes, &start, &length)) {
        py.PyErr_Clear();
        return 0;
    }
    *data = (uint8_t *)start;
    *size = (uint32_t)length;
    return (ssize_t)*size == length;
}

void
interpreter_release(object *each)
{
    py.Py_DecRef(each); /* which does nothing for NULL */
}

void
interpreter_complain(void)
{
    /* PyErr_Print would do what SystemExit asks for. */
    if (py.PyErr_ExceptionMatches(*system_exit)) {
        py.PyErr_Clear();
        report("a SystemExit ended the scheduler");
    }
    else if (py.PyErr_ExceptionMatches(*keyboard_interrupt)) {
        py.PyErr_Clear();
        report("a KeyboardInterrupt ended the scheduler");
    }
    else {
        py.PyErr_Print();
    }
}
