/* Which value stands for which table of the schema, and how it is made and taken apart.

   The schema has tables that no person needs: those that wrap a union or an enum because flatbuffers cannot nest
   unions, and the one that gives each event its timestamp. They are known here, so that to those who read and write
   every table is its fields. This knows no format. */

#ifndef BATPROTOCOL_BINDING_H
#define BATPROTOCOL_BINDING_H

#include "../../native.h"
#include "engine.h"

/* A class that stands for a table of a union, which has this tag there. */
typedef struct {
    PyTypeObject *class;
    int tag;
} Member;

/* The places of a union's members, of which most stay empty: a member is at the first place from place_of() on that was
   empty when it came, and behind the last place is the first. */
#define MEMBER_BITS 7
#define MEMBER_PLACES (1 << MEMBER_BITS)

static inline int
place_of(PyTypeObject *class)
{
    return (int)((uint64_t)(uintptr_t)class * 0x9E3779B97F4A7C15u >> (64 - MEMBER_BITS));
}

/* The values. This is filled once, by bind(), and never changes after but for enum members that come on demand. */
typedef struct {
    int done;
    PyTypeObject *classes[TABLE_COUNT];         /* NULL for the tables that no value stands for */
    uint8_t simple[TABLE_COUNT];                /* whether instances have their slots and nothing else */
    Py_ssize_t slots[TABLE_COUNT][MOST_FIELDS]; /* where each field is, seen from the start of all */
    Py_ssize_t timestamp;                       /* where every event has its timestamp */
    Py_ssize_t now, events;                     /* where a message has its time and its events */
    Member members[UNION_COUNT][MEMBER_PLACES]; /* the classes that stand for a union's tables, by place_of() */
    PyTypeObject *enums[ENUM_COUNT];
    PyObject *enum_members[ENUM_COUNT][256]; /* by number + 128 */
    PyTypeObject *doubles;
    Py_ssize_t doubles_slot;
    PyObject *read_carefully, *write_carefully;
} Bound;

extern Bound bound;

/* A new reference to the member of an enum; unknown numbers make one. */
PyObject *enum_member(int index, int number);

/* A new reference to the value of a field that is absent, or NULL without an exception if it is required. */
PyObject *absent(const Field *field);

/* A new vector of doubles that takes over a reference to its bytes, or NULL. */
PyObject *make_doubles(PyObject *bytes);

/* The fields of a table lie in the slots of the value that stands for it. Tables without a class have theirs loose, but
   in slots too: the field that a wrapper wraps, or an event's timestamp and the event. Either way,
   SLOT(fields.start, bound.slots[number][index]) is a field. */
typedef struct {
    void *start;
    PyObject *value; /* NULL if the table has no class */
    PyObject *loose[2];
} Fields;

/* Make room for the fields of a table, all of which are then to be filled in; 0 without memory. Values have no part in
   garbage collection and nothing but slots in them, which makes this short. An event gets its timestamp with its
   envelope. */
static inline int
new_fields(int number, Fields *fields)
{
    PyTypeObject *class = bound.classes[number];
    fields->value = NULL;
    fields->start = fields->loose;
    if (!class) {
        return 1;
    }
    PyObject *value;
    if (!bound.simple[number]) {
        value = class->tp_alloc(class, 0);
    }
    else if ((value = PyObject_Malloc((size_t)class->tp_basicsize))) {
        value = PyObject_Init(value, class);
    }
    else {
        PyErr_NoMemory();
    }
    if (!value) {
        return 0;
    }
    if (TABLES_[number].event) {
        SLOT(value, bound.timestamp) = NULL;
    }
    fields->start = fields->value = value;
    return 1;
}

/* An event with the timestamp of its envelope, of which it takes over the reference. */
static inline PyObject *
with_timestamp(PyObject *event, PyObject *timestamp)
{
    SLOT(event, bound.timestamp) = timestamp;
    return event;
}

/* The value that stands for a table whose fields are filled in, which it takes over. */
static inline PyObject *
value_of(int number, Fields *fields)
{
    if (fields->value) {
        return fields->value;
    }
    if (number != ENVELOPE) {
        return fields->loose[0];
    }
    return with_timestamp(fields->loose[1], fields->loose[0]);
}

/* A new value with these fields, to which it gets references, and of an event its timestamp; NULL without memory. */
static inline PyObject *
new_value(int number, PyObject *const *values, PyObject *timestamp)
{
    Fields fields;
    if (!new_fields(number, &fields)) {
        return NULL;
    }
    for (int index = 0; index < TABLES_[number].count; index++) {
        SLOT(fields.start, bound.slots[number][index]) = Py_NewRef(values[index]);
    }
    return timestamp ? with_timestamp(fields.value, Py_NewRef(timestamp)) : fields.value;
}

/* Give up the fields of a table of which only the first so many are filled in, perhaps with NULL. */
static inline void
drop_fields(int number, Fields *fields, int count)
{
    for (int index = 0; index < TABLES_[number].count; index++) {
        PyObject **field = &SLOT(fields->start, bound.slots[number][index]);
        if (index < count) {
            Py_XDECREF(*field);
        }
        *field = NULL;
    }
    Py_XDECREF(fields->value);
}

/* The tag of the table that a value stands for in a union, or 0. */
static inline int
tag_of(int index, PyObject *value)
{
    const Member *members = bound.members[index];
    int place = place_of(Py_TYPE(value));
    while (members[place].class && members[place].class != Py_TYPE(value)) {
        place = (place + 1) % MEMBER_PLACES;
    }
    return members[place].tag;
}

/* The fields of the table that a value stands for, borrowed; 0 if the value is of another class. A field is NULL if the
   value lacks it. */
static inline int
fields_of(int number, PyObject *value, Fields *fields)
{
    fields->start = value;
    if (bound.classes[number]) {
        return Py_TYPE(value) == bound.classes[number];
    }
    fields->start = fields->loose;
    fields->loose[0] = value;
    if (number == ENVELOPE) {
        fields->loose[0] = tag_of(EVENTS, value) ? SLOT(value, bound.timestamp) : NULL;
        fields->loose[1] = value;
    }
    return 1;
}

/* Whether an event of a message is later than it, as the rule time.after-now has it. It is asked only of messages that
   were written, so that each item is an event. */
static inline int
has_late_event(PyObject *message)
{
    PyObject *events = SLOT(message, bound.events);
    double now = PyFloat_AS_DOUBLE(SLOT(message, bound.now));
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(events); index++) {
        double timestamp = PyFloat_AS_DOUBLE(SLOT(PyTuple_GET_ITEM(events, index), bound.timestamp));
        if (!(timestamp <= now) && timestamp == timestamp) {
            return 1;
        }
    }
    return 0;
}

/* Take apart the arguments of the functions that write: the message, borrowed, and whether its events may be later than
   it. NULL with an exception if they are others. */
PyObject *message_of(PyObject *const *arguments, Py_ssize_t count, PyObject *names, int *late);

/* The function of the module that gives what makes values of a class. */
PyObject *maker(PyObject *module, PyObject *kind);

/* The function of the module that binds the engine, once, to the classes of the values. */
PyObject *bind(PyObject *module, PyObject *arguments);

/* The functions of the module for replies: what binds them to the classes of builders and of sets of hosts, what makes
   an empty builder, and what adds an ExecuteJobEvent, if it is as most of them are. */
PyObject *bind_builders(PyObject *module, PyObject *arguments);
PyObject *new_builder(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *add_execution(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

#endif
