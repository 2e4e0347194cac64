/* What texts of a log were read as: those that come again are not read again. Of two that want one place, the later one
   has it. It knows nothing of logs. */

#ifndef BATPROTOCOL_SACCT_MEMO_H
#define BATPROTOCOL_SACCT_MEMO_H

#include <Python.h>

#include <stdint.h>
#include <string.h>

enum { LONGEST = 256, SHORTEST = 32 };

typedef struct {
    uint64_t hash;
    PyObject *value; /* NULL: the place is free */
    Py_ssize_t size;
    union {
        char near[SHORTEST]; /* a text of no more bytes, so that nothing else of the memory is touched */
        char *far;
    } text;
} Entry;

typedef struct {
    Entry *entries;    /* NULL until the first text */
    size_t places;     /* a power of two */
    const Entry *last; /* the one that was found last: texts often come again at once */
} Memo;

static uint64_t
hash_of(const char *text, Py_ssize_t size)
{
    const uint64_t odd = 0x9E3779B97F4A7C15u;
    uint64_t hash = (uint64_t)size * odd, piece;
    for (; size >= 8; text += 8, size -= 8) {
        memcpy(&piece, text, 8);
        hash = (hash ^ piece) * odd;
        hash ^= hash >> 29;
    }
    piece = 0;
    for (Py_ssize_t at = 0; at < size; at++) {
        piece = piece << 8 | (unsigned char)text[at];
    }
    hash = (hash ^ piece) * odd;
    return hash ^ hash >> 32;
}

static inline int
is_of(const Entry *entry, const char *text, Py_ssize_t size)
{
    return entry->size == size &&
           !memcmp(size > SHORTEST ? entry->text.far : entry->text.near, text, (size_t)size);
}

/* A new reference to what a text was read as, or NULL without an exception, and then its hash. */
static PyObject *
known(Memo *memo, const char *text, Py_ssize_t size, uint64_t *hash)
{
    if (memo->last && is_of(memo->last, text, size)) {
        return Py_NewRef(memo->last->value);
    }
    *hash = hash_of(text, size);
    if (!memo->entries) {
        return NULL;
    }
    const Entry *entry = &memo->entries[*hash & (memo->places - 1)];
    if (!entry->value || entry->hash != *hash || !is_of(entry, text, size)) {
        return NULL;
    }
    memo->last = entry;
    return Py_NewRef(entry->value);
}

static void
drop(Entry *entry)
{
    if (entry->value && entry->size > SHORTEST) {
        PyMem_Free(entry->text.far);
    }
    Py_CLEAR(entry->value);
}

/* Keep what a text was read as, if there is memory. */
static void
keep(Memo *memo, const char *text, Py_ssize_t size, uint64_t hash, PyObject *value)
{
    if (!memo->entries && !(memo->entries = PyMem_Calloc(memo->places, sizeof *memo->entries))) {
        return;
    }
    Entry *entry = &memo->entries[hash & (memo->places - 1)];
    char *far = size > SHORTEST ? PyMem_Malloc((size_t)size) : NULL;
    if (size > SHORTEST && !far) {
        return;
    }
    memo->last = NULL; /* it may be this one */
    drop(entry);
    if (far) {
        entry->text.far = far;
    }
    memcpy(far ? far : entry->text.near, text, (size_t)size);
    entry->hash = hash;
    entry->size = size;
    entry->value = Py_NewRef(value);
}

static void
forget(Memo *memo)
{
    memo->last = NULL;
    for (size_t place = 0; memo->entries && place < memo->places; place++) {
        drop(&memo->entries[place]);
    }
    PyMem_Free(memo->entries);
    memo->entries = NULL;
}

#endif
