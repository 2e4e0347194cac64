/* Getting memory for large messages, keeping it for the next one, and making bytes of what was written in it. */

#include "memory.h"

/* The memory that the last large message was written in, for the next one: to get fresh pages from the system for each
   takes far longer than to write them. It is nobody's while somebody writes in it, and nothing larger is kept. */
#define MOST_KEPT ((size_t)1 << 20)

static struct {
    uint8_t *data;
    size_t room;
} kept;

void
give_up(Writer *writer)
{
    uint8_t *data = writer->data == writer->first ? NULL : writer->data;
    if (data && writer->room <= MOST_KEPT && writer->room > kept.room) {
        uint8_t *smaller = kept.data;
        kept.data = data;
        kept.room = writer->room;
        data = smaller;
    }
    PyMem_Free(data);
}

int
grow(Writer *writer, size_t count)
{
    size_t room = writer->room;
    while (room - writer->size < count) {
        if (room > MAX_SIZE) {
            return 0;
        }
        room *= 2;
    }
    uint8_t *data;
    if (kept.room >= room) {
        data = kept.data;
        room = kept.room;
        kept.data = NULL;
        kept.room = 0;
    }
    else if (!(data = PyMem_Malloc(room))) {
        PyErr_NoMemory();
        return 0;
    }
    memcpy(data + room - writer->size, writer->data + writer->room - writer->size, writer->size);
    give_up(writer);
    writer->data = data;
    writer->room = room;
    return 1;
}

PyObject *
written(const Writer *writer)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)writer->size);
    if (!bytes) {
        return NULL;
    }
    char *at = PyBytes_AS_STRING(bytes);
    const uint8_t *end = writer->data + writer->room;
    size_t left = writer->size; /* what was written last comes first */
    for (int index = writer->gap_count; index--;) {
        const Gap *gap = &writer->gaps[index];
        memcpy(at, end - left, left - gap->place);
        at += left - gap->place;
        memcpy(at, gap->bytes, gap->count);
        at += gap->count;
        left = gap->place - gap->count;
    }
    memcpy(at, end - left, left);
    return bytes;
}
