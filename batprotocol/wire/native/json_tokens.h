/* The tokens of plain JSON text, as they are met from its start to its end.

   Plain is what Batsim and most writers write: double quotes, no comments. A function that does not find what it looks
   for gives 0, -1 or NULL, often without an exception, and the text is then not read any further. This knows strings
   and numbers, and neither the values nor what they are for. */

#ifndef BATPROTOCOL_JSON_TOKENS_H
#define BATPROTOCOL_JSON_TOKENS_H

#include "engine.h"

/* What is still to be read. */
typedef struct {
    const char *at, *end;
} Text;

/* The next character behind white space, or 0 at the end. */
static inline char
peek(Text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\n' || *text->at == '\r' || *text->at == '\t')) {
        text->at++;
    }
    return text->at < text->end ? *text->at : 0;
}

/* Whether the next character is this one; if so, the text moves on. */
static inline int
expect(Text *text, char character)
{
    if (peek(text) != character) {
        return 0;
    }
    text->at++;
    return 1;
}

/* A string without escapes: where it starts, and its size, or -1. */
static inline Py_ssize_t
plain_string(Text *text, const char **start)
{
    *start = text->at;
    if (!expect(text, '"')) {
        return -1;
    }
    const char *at = text->at;
    while (at < text->end && *at != '"' && *at != '\\' && (unsigned char)*at >= ' ') {
        at++;
    }
    *start = text->at;
    if (at >= text->end || *at != '"') {
        return -1;
    }
    text->at = at + 1;
    return at - *start;
}

/* A string, with escapes or without. `recurs` tells whether such texts come again and again. */
PyObject *parse_string(Text *text, int recurs);

/* A double; 0 if there is none. */
int parse_real(Text *text, double *value);

/* An integer in the range of this kind of field. */
PyObject *parse_integer(Text *text, int kind);

/* Whether the next word is this one; if so, the text moves on. */
int word(Text *text, const char *wanted);

#endif
