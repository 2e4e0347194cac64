/* A table by address, for what was copied already and for classes. Keys are never removed. */

#ifndef BATPROTOCOL_COPYING_TABLE_H
#define BATPROTOCOL_COPYING_TABLE_H

#include <Python.h>

typedef struct {
    void *key;
    void *value;
} Entry;

typedef struct {
    Entry *entries;
    size_t room; /* a power of 2, or 0 */
    size_t count;
} Table;

static inline size_t
place_of(const Table *table, const void *key)
{
    size_t place = ((size_t)key >> 4) * (size_t)0x9E3779B97F4A7C15u >> 20;
    while (table->entries[place & (table->room - 1)].key && table->entries[place & (table->room - 1)].key != key) {
        place++;
    }
    return place & (table->room - 1);
}

static inline void *
find(const Table *table, const void *key)
{
    return table->room ? table->entries[place_of(table, key)].value : NULL;
}

static inline int
grow(Table *table)
{
    Table larger = {NULL, table->room ? table->room * 2 : 64, table->count};
    larger.entries = PyMem_Calloc(larger.room, sizeof *larger.entries);
    if (!larger.entries) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t place = 0; place < table->room; place++) {
        if (table->entries[place].key) {
            larger.entries[place_of(&larger, table->entries[place].key)] = table->entries[place];
        }
    }
    PyMem_Free(table->entries);
    *table = larger;
    return 0;
}

static inline int
put(Table *table, void *key, void *value)
{
    if ((table->count + 1) * 2 > table->room && grow(table) < 0) {
        return -1;
    }
    Entry *entry = &table->entries[place_of(table, key)];
    if (!entry->key) {
        entry->key = key;
        table->count++;
    }
    entry->value = value;
    return 0;
}

#endif
