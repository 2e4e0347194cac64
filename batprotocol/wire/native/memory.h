/* The memory that a message is written in, from its end to its start. What is written there, this does not know. */

#ifndef BATPROTOCOL_MEMORY_H
#define BATPROTOCOL_MEMORY_H

#include "engine.h"

/* A large vector of doubles: a gap in what is written, and what is to come there when all is copied into the bytes that
   the message becomes. So it is copied once. */
typedef struct {
    size_t place;
    const char *bytes;
    size_t count;
} Gap;

#define LARGE 1024
#define MOST_GAPS 8

typedef struct {
    uint8_t *data;
    size_t room, size;
    uint32_t vtables[VTABLE_COUNT];
    int gap_count;
    Gap gaps[MOST_GAPS];
    uint8_t first[4096];
} Writer;

/* Get so much more room that `count` more bytes fit in; 0 without memory or beyond what a flatbuffer can hold. */
int grow(Writer *writer, size_t count);

/* Give up the memory. */
void give_up(Writer *writer);

/* The bytes of what was written, or NULL without memory. */
PyObject *written(const Writer *writer);

/* Room for `count` more bytes: where they go, or NULL without memory or beyond what a flatbuffer can hold. */
static inline uint8_t *
take(Writer *writer, size_t count)
{
    if (count > writer->room - writer->size && !grow(writer, count)) {
        return NULL;
    }
    writer->size += count;
    return writer->data + writer->room - writer->size;
}

static inline void
put32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

/* Clear what is small, such as a table, and a multiple of four: memset() takes a tenth of all writing for that. */
static inline void
clear(uint8_t *at, size_t size)
{
    for (; size >= 16; at += 16, size -= 16) {
        memset(at, 0, 16);
    }
    if (size & 8) {
        memset(at, 0, 8);
        at += 8;
    }
    if (size & 4) {
        memset(at, 0, 4);
    }
}

/* Copy a vtable, whose size is a multiple of four. For as few bytes as that, what compilers make of a memcpy() of any
   size takes longer than all else that is done for a table. */
static inline void
copy(uint8_t *at, const char *bytes, size_t size)
{
    for (; size >= 16; at += 16, bytes += 16, size -= 16) {
        memcpy(at, bytes, 16);
    }
    if (size & 8) {
        memcpy(at, bytes, 8);
        at += 8;
        bytes += 8;
    }
    if (size & 4) {
        memcpy(at, bytes, 4);
    }
}

static inline void
start(Writer *writer)
{
    writer->data = writer->first;
    writer->room = sizeof writer->first;
    writer->size = 0;
    writer->gap_count = 0;
    clear((uint8_t *)writer->vtables, sizeof writer->vtables);
}

/* Put bytes at `at`, which is `place` bytes before the end: at once, or if they are many, when all is written. They are
   there until then, as the message is that they are of. */
static inline void
fill(Writer *writer, uint8_t *at, size_t place, const char *bytes, size_t count)
{
    if (count >= LARGE && writer->gap_count < MOST_GAPS) {
        writer->gaps[writer->gap_count++] = (Gap){place, bytes, count};
    }
    else {
        memcpy(at, bytes, count);
    }
}

#endif
