/* The functions that Batsim calls: EDCs as libraries. They are on top of the other files, which embedded.h lists. */

#define _GNU_SOURCE

#include "embedded.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* From this version on, Python runs on a thread of its own. */
#ifndef FIRST_WITH_THREAD
#define FIRST_WITH_THREAD 314
#endif

#define GUEST "batprotocol.edc.embedded.guest"

typedef struct {
    const uint8_t *data; /* what Batsim says */
    uint32_t size;
    uint32_t flags; /* what it is answered */
    uint8_t *reply;
    uint32_t reply_size;
    char *libpython, *executable;
    int well;
} Call;

/* Bytes of a message: as many as sockets take (sockets/endpoints.py). */
static const uint32_t LARGEST = UINT32_C(1) << 28;

static object *guest, *decide; /* the scheduler with all that it needs, and its method for a message */
static object *said;           /* holds the last reply until the next call */

/* Whether this library may be what it is going to be. */
static int
may_stay(void)
{
    Dl_info own;
    void *handle;
    if (!dladdr((void *)may_stay, &own) || !(handle = dlopen(own.dli_fname, RTLD_LAZY | RTLD_NODELETE | RTLD_NOLOAD))) {
        return 1; /* it was linked, not loaded */
    }
    /* Closed, it would leave behind signal handlers, a thread and an interpreter, so it stays. */
#ifdef __GLIBC__ /* other systems have one name space */
    Lmid_t space = LM_ID_BASE;
    if (dlinfo(handle, RTLD_DI_LMID, &space) == 0 && space != LM_ID_BASE) {
        report("Python does not work in a name space of its own: leave out the option --edc-library-load-method dlmopen");
        return 0;
    }
#endif
    return 1;
}

static void
find(void *argument)
{
    Call *call = argument;
    if (guest) {
        report("there is a simulation already, and one process has one");
        return;
    }
    call->libpython = member(call->data, call->size, "libpython");
    call->executable = member(call->data, call->size, "python");
    if (!call->libpython || !call->executable) {
        report("the initialization data do not name a scheduler: expected those that `batproto library FILE:CLASS` prints");
        return;
    }
    if (may_stay()) {
        call->well = interpreter_find(call->libpython);
    }
}

/* The guest is made, and its hello is what Batsim is answered: the flags and the message. */
static int
begin(Call *call)
{
    uint8_t *frame;
    uint32_t size;
    object *module = interpreter_import(GUEST);
    if (module && !interpreter_is_anothers) {
        object *taken = interpreter_attribute(module, "take_over");
        interpreter_release(taken ? interpreter_call(taken, NULL) : NULL);
        interpreter_release(taken);
        signals_catch();
    }
    object *maker = module ? interpreter_attribute(module, "Guest") : NULL;
    object *init = maker ? interpreter_bytes(call->data, call->size) : NULL;
    object *made = init ? interpreter_call(maker, init) : NULL;
    object *hello = made ? interpreter_attribute(made, "hello") : NULL;
    object *method = hello ? interpreter_attribute(made, "decide") : NULL;
    interpreter_release(module);
    interpreter_release(maker);
    interpreter_release(init);
    if (!method) {
        interpreter_complain();
        if (!module) {
            report("its Python does not find batprotocol, or what that needs: has the environment been changed?");
        }
    }
    else if (interpreter_data(hello, &frame, &size) && size > sizeof call->flags) {
        memcpy(&call->flags, frame, sizeof call->flags);
        /* A copy, so that the message begins where messages do, and not behind a word. */
        said = interpreter_bytes(frame + sizeof call->flags, size - sizeof call->flags);
        if (said && interpreter_data(said, &call->reply, &call->reply_size)) {
            guest = made;
            decide = method;
            interpreter_release(hello);
            return 1;
        }
    }
    interpreter_release(hello);
    interpreter_release(method);
    interpreter_release(made);
    return 0;
}

static void
init(void *argument)
{
    Call *call = argument;
    call->well = interpreter_start(call->libpython, call->executable);
    if (call->well) {
        interpreter_attach();
        signals_working(1);
        call->well = begin(call);
        signals_working(0);
        interpreter_detach();
    }
}

static void
take_decisions(void *argument)
{
    Call *call = argument;
    interpreter_attach();
    signals_working(1);
    object *frame = interpreter_bytes(call->data, call->size);
    object *reply = frame ? interpreter_call(decide, frame) : NULL;
    interpreter_release(frame);
    if (!reply) {
        interpreter_complain();
    }
    else if (interpreter_data(reply, &call->reply, &call->reply_size)) {
        interpreter_release(said);
        said = reply;
        call->well = 1;
    }
    signals_working(0);
    interpreter_detach();
}

static void
deinit(void *argument)
{
    (void)argument;
    interpreter_attach();
    signals_working(1);
    object *end = interpreter_attribute(guest, "end");
    object *ended = end ? interpreter_call(end, NULL) : NULL;
    if (!ended) {
        interpreter_complain();
    }
    interpreter_release(ended);
    interpreter_release(end);
    interpreter_release(decide);
    interpreter_release(guest);
    interpreter_release(said);
    guest = decide = said = NULL;
    signals_working(0);
    interpreter_detach();
}

/* In somebody else's interpreter, the caller's stack is one that Python runs on already. */
static void
run(void (*function)(void *), void *argument)
{
    if (interpreter_is_anothers) {
        function(argument);
    }
    else {
        stack_run(function, argument);
    }
}

static int
fits(uint32_t size)
{
    if (size <= LARGEST) {
        return 1;
    }
    report("Batsim says %lu bytes at once, and at most %lu are read", (unsigned long)size, (unsigned long)LARGEST);
    return 0;
}

EXPORTED uint8_t
batsim_edc_init(const uint8_t *data, uint32_t size, uint32_t *flags, uint8_t **reply, uint32_t *reply_size)
{
    Call call = {.data = data, .size = size};
    if (!fits(size)) {
        return 1;
    }
    if (!stack_make()) {
        report("there is not enough memory for a stack");
        return 1;
    }
    run(find, &call);
    if (call.well >= FIRST_WITH_THREAD && !interpreter_is_anothers && !stack_make_thread()) {
        report("Python gets no thread to run on");
        call.well = 0;
    }
    if (call.well) {
        run(init, &call);
    }
    free(call.libpython);
    free(call.executable);
    *flags = call.flags;
    *reply = call.reply;
    *reply_size = call.reply_size;
    return !call.well;
}

EXPORTED uint8_t
batsim_edc_take_decisions(const uint8_t *data, uint32_t size, uint8_t **reply, uint32_t *reply_size)
{
    Call call = {.data = data, .size = size};
    if (guest && fits(size)) {
        run(take_decisions, &call);
    }
    *reply = call.reply;
    *reply_size = call.reply_size;
    return !call.well;
}

/* Batsim has not written all its files yet, and a failure would keep it from that: so there is none. */
EXPORTED uint8_t
batsim_edc_deinit(void)
{
    if (guest) {
        run(deinit, NULL);
    }
    return 0;
}
