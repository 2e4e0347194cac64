/* Messages through a ROUTER socket with one call for each, where pyzmq takes one for each frame.

   libzmq is the one that pyzmq has loaded, found by `bind`, and so is the socket: who made it, closes it, sets its
   options and polls it is pyzmq. This only receives and sends. link.py has the same in Python, and says what it is for.
   What is declared here of libzmq has been so since its version 4.0. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "../../native.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

typedef union {
    unsigned char bytes[64];
    void *pointer;
} Frame;

enum { ZMQ_DONTWAIT = 1, ZMQ_SNDMORE = 2, ZMQ_SRCFD = 2 };

typedef struct {
    int (*init)(Frame *);
    int (*receive)(Frame *, void *, int);
    void *(*data)(Frame *);
    size_t (*size)(const Frame *);
    int (*more)(const Frame *);
    int (*get)(const Frame *, int);
    int (*close)(Frame *);
    int (*send)(void *, const void *, size_t, int);
    int (*error)(void);
} Functions;

static Functions libzmq;

static PyObject *error_class; /* zmq.ZMQError */

typedef struct {
    PyObject_HEAD
    PyObject *socket;
    void *handle; /* libzmq's own of this socket */
    char asked;
} Link;

static PyObject *
fail(int error)
{
    PyObject *exception = PyObject_CallFunction(error_class, "i", error);
    if (exception) {
        PyErr_SetObject(error_class, exception);
        Py_DECREF(exception);
    }
    return NULL;
}

/* Receiving */

/* The next frame: 1 if there is one, 0 if none came in time, -1 with an exception. */
static int
next_frame(Link *self, Frame *frame, int flags)
{
    for (;;) {
        int size;
        libzmq.init(frame);
        if (flags) {
            size = libzmq.receive(frame, self->handle, flags);
        }
        else {
            Py_BEGIN_ALLOW_THREADS;
            size = libzmq.receive(frame, self->handle, 0);
            Py_END_ALLOW_THREADS;
        }
        if (size >= 0) {
            return 1;
        }
        int error = libzmq.error();
        libzmq.close(frame);
        if (error == EAGAIN) {
            return 0;
        }
        if (error != EINTR) {
            fail(error);
            return -1;
        }
        if (PyErr_CheckSignals() < 0) {
            return -1;
        }
    }
}

static int
is_route(PyObject *route)
{
    if (!PyTuple_Check(route)) {
        return 0;
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(route); index++) {
        if (!PyBytes_Check(PyTuple_GET_ITEM(route, index))) {
            return 0;
        }
    }
    return 1;
}

static int
is_same(PyObject *part, const char *data, size_t size)
{
    return (size_t)PyBytes_GET_SIZE(part) == size && memcmp(PyBytes_AS_STRING(part), data, size) == 0;
}

PyDoc_STRVAR(receive_doc, "receive($self, route, flags, /)\n--\n\nThe next message.");

static PyObject *
receive(Link *self, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || !is_route(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "receive takes a route and flags");
        return NULL;
    }
    PyObject *route = arguments[0];
    long flags = PyLong_AsLong(arguments[1]);
    if (flags != 0 && flags != ZMQ_DONTWAIT) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "flags are 0 or zmq.NOBLOCK");
        }
        return NULL;
    }
    if (!self->handle) {
        return fail(ENOTSOCK);
    }
    Py_ssize_t along = 0, length = PyTuple_GET_SIZE(route);
    PyObject *parts = NULL; /* all frames, as soon as one of them is not what was expected */
    for (;;) {
        Frame frame;
        int found = next_frame(self, &frame, (int)flags);
        if (found <= 0) {
            Py_XDECREF(parts);
            return found < 0 ? NULL : Py_NewRef(Py_None);
        }
        self->asked = 1;
        flags = ZMQ_DONTWAIT; /* a message arrives as a whole */
        const char *data = libzmq.data(&frame);
        size_t size = libzmq.size(&frame);
        int more = libzmq.more(&frame);
        if (!parts && more && along < length && is_same(PyTuple_GET_ITEM(route, along), data, size)) {
            along++;
            libzmq.close(&frame);
            continue;
        }
        PyObject *part = PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
        if (part && !more && !parts && along && along == length) {
            libzmq.close(&frame);
            return part;
        }
        int connection = more ? -1 : libzmq.get(&frame, ZMQ_SRCFD);
        libzmq.close(&frame);
        if (part && !parts) {
            PyObject *before = PyTuple_GetSlice(route, 0, along);
            parts = before ? PySequence_List(before) : NULL;
            Py_XDECREF(before);
        }
        int wrong = !part || !parts || PyList_Append(parts, part) < 0;
        Py_XDECREF(part);
        if (wrong) {
            Py_XDECREF(parts);
            return NULL;
        }
        if (!more) {
            return connection < 0 ? Py_BuildValue("NO", parts, Py_None) : Py_BuildValue("Ni", parts, connection);
        }
    }
}

/* Sending */

static int
send_frame(Link *self, PyObject *part, int flags)
{
    const char *data = PyBytes_AS_STRING(part);
    size_t size = (size_t)PyBytes_GET_SIZE(part);
    while (libzmq.send(self->handle, data, size, flags) < 0) { /* a ROUTER never waits, so the lock is kept */
        int error = libzmq.error();
        if (error != EINTR) {
            fail(error);
            return -1;
        }
    }
    return 0;
}

PyDoc_STRVAR(send_doc, "send($self, route, data, /)\n--\n\nSend a message.");

static PyObject *
send(Link *self, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || !is_route(arguments[0]) || !PyBytes_Check(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "send takes a route and bytes");
        return NULL;
    }
    if (!self->handle) {
        return fail(ENOTSOCK);
    }
    PyObject *route = arguments[0];
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(route); index++) {
        if (send_frame(self, PyTuple_GET_ITEM(route, index), ZMQ_SNDMORE) < 0) {
            return NULL;
        }
    }
    if (send_frame(self, arguments[1], 0) < 0) {
        return NULL;
    }
    self->asked = 0;
    Py_RETURN_NONE;
}

/* The object */

PyDoc_STRVAR(close_doc, "close($self, /)\n--\n\nGive the socket up, before it is closed.");

static PyObject *
close_link(Link *self, PyObject *unused)
{
    self->handle = NULL;
    Py_CLEAR(self->socket);
    Py_RETURN_NONE;
}

static PyObject *
create(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    PyObject *socket;
    static char *names[] = {"", NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "O:Link", names, &socket)) {
        return NULL;
    }
    if (!libzmq.receive) {
        PyErr_SetString(PyExc_RuntimeError, "there is no libzmq before bind");
        return NULL;
    }
    PyObject *address = PyObject_GetAttrString(socket, "underlying");
    void *handle = address ? PyLong_AsVoidPtr(address) : NULL;
    Py_XDECREF(address);
    if (PyErr_Occurred()) {
        return NULL;
    }
    Link *self = (Link *)type->tp_alloc(type, 0);
    if (self) {
        self->handle = handle;
        self->socket = Py_NewRef(socket); /* it must not be closed because nobody else has it any more */
    }
    return (PyObject *)self;
}

static void
discard(Link *self)
{
    Py_XDECREF(self->socket);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef link_methods[] = {
    {"receive", (PyCFunction)(void (*)(void))receive, METH_FASTCALL, receive_doc},
    {"send", (PyCFunction)(void (*)(void))send, METH_FASTCALL, send_doc},
    {"close", (PyCFunction)close_link, METH_NOARGS, close_doc},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef link_members[] = {
    {"asked", T_BOOL, offsetof(Link, asked), 0, "Whether a message was received after which nothing was sent."},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject link_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "batprotocol._util.sockets._link.Link",
    .tp_doc = "Messages through a ROUTER socket.",
    .tp_basicsize = sizeof(Link),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = create,
    .tp_dealloc = (destructor)discard,
    .tp_methods = link_methods,
    .tp_members = link_members,
};

/* The module */

PyDoc_STRVAR(bind_doc, "bind($module, path, error, /)\n--\n\n"
                       "Find libzmq: the one of this library, which is loaded already. ImportError if it is not there.");

static PyObject *
bind(PyObject *module, PyObject *arguments)
{
    const char *path;
    PyObject *error;
    if (!PyArg_ParseTuple(arguments, "sO:bind", &path, &error)) {
        return NULL;
    }
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) {
        return PyErr_Format(PyExc_ImportError, "%s is no library that is loaded", path);
    }
    Functions found;
    const struct {
        const char *name;
        void *place;
    } wanted[] = {
        {"zmq_msg_init", &found.init}, {"zmq_msg_data", &found.data}, {"zmq_msg_size", &found.size},
        {"zmq_msg_more", &found.more}, {"zmq_msg_get", &found.get},   {"zmq_msg_close", &found.close},
        {"zmq_send", &found.send},     {"zmq_errno", &found.error},   {"zmq_msg_recv", &found.receive},
    };
    for (size_t index = 0; index < sizeof wanted / sizeof *wanted; index++) {
        void *function = dlsym(library, wanted[index].name);
        if (!function) {
            return PyErr_Format(PyExc_ImportError, "there is no %s in the libzmq of %s", wanted[index].name, path);
        }
        memcpy(wanted[index].place, &function, sizeof function);
    }
    libzmq = found;
    Py_XSETREF(error_class, Py_NewRef(error));
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"bind", bind, METH_VARARGS, bind_doc},
    {NULL, NULL, 0, NULL},
};

static int
populate(PyObject *module)
{
    return PyModule_AddType(module, &link_type);
}

NATIVE_MODULE("batprotocol._util.sockets", _link, "native links", populate, methods,
              "Messages through a ROUTER socket with one call for each. Private: use batprotocol._util.sockets.link.")
