/* The module of the native engine: what Python sees of it. How it works is written in engine.h. */

#include "binding.h"

PyDoc_STRVAR(decode_doc, "decode($module, data, /)\n--\n\nRead a message from a flatbuffer.");
PyDoc_STRVAR(encode_doc, "encode($module, message, /, *, allow_late_events=False)\n--\n\n"
                         "Write a message as a flatbuffer.");
PyDoc_STRVAR(decode_json_doc, "decode_json($module, data, /)\n--\n\n"
                              "Read a message from plain JSON; None if it is not plain, or wrong.");
PyDoc_STRVAR(encode_json_doc, "encode_json($module, message, /, *, allow_late_events=False)\n--\n\n"
                              "Write a message as JSON text; None if it cannot be written, or not simply.");
PyDoc_STRVAR(maker_doc, "maker($module, kind, /)\n--\n\n"
                        "What makes values of a class of all their fields, in the order of the schema, and of an event "
                        "of its timestamp at last. It looks at none of them.");
PyDoc_STRVAR(bind_doc, "bind($module, model, read_carefully, write_carefully, /)\n--\n\n"
                       "Tell the engine, once, the module that has the values, and who reads and writes what it "
                       "cannot.");

PyDoc_STRVAR(bind_builders_doc, "bind_builders($module, builder, hosts, spread, fill, /)\n--\n\n"
                                "Tell the engine, once, the classes of builders and of sets of hosts, and the "
                                "strategies of placement.");
PyDoc_STRVAR(new_builder_doc, "new_builder($module, kind, judge, now, is_finished, /)\n--\n\n"
                              "A builder without events.");
PyDoc_STRVAR(add_execution_doc, "add_execution($module, builder, job_id, hosts, placement, /)\n--\n\n"
                                "Add an ExecuteJobEvent; False, and nothing is done, if it is not as most are.");

/* How CPython declares functions that take keywords, which are of another type than the others. */
#define WITH_KEYWORDS(function) (PyCFunction)(void (*)(void))function, METH_FASTCALL | METH_KEYWORDS

static PyMethodDef methods[] = {
    {"decode", decode, METH_O, decode_doc},
    {"encode", WITH_KEYWORDS(encode), encode_doc},
    {"decode_json", decode_json, METH_O, decode_json_doc},
    {"encode_json", WITH_KEYWORDS(encode_json), encode_json_doc},
    {"maker", maker, METH_O, maker_doc},
    {"bind", bind, METH_VARARGS, bind_doc},
    {"bind_builders", bind_builders, METH_VARARGS, bind_builders_doc},
    {"new_builder", FAST(new_builder), new_builder_doc},
    {"add_execution", FAST(add_execution), add_execution_doc},
    {NULL, NULL, 0, NULL},
};

NATIVE_MODULE("batprotocol.wire", _native, "native engines", populate_nothing, methods,
              "The native engine of the binary format. Private: use batprotocol.wire.binary.")
