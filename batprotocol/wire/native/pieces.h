/* Small pieces of memory, put, cleared and copied without calling anybody. */

#ifndef BATPROTOCOL_PIECES_H
#define BATPROTOCOL_PIECES_H

#include "engine.h"

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

#endif
