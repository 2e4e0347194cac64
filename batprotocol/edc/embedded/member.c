/* The initialization data, as far as is needed before there is a Python that reads the rest of them. */

#include "embedded.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const uint8_t *at, *end;
} Text;

static int
next(Text *text, char expected)
{
    while (text->at < text->end && (*text->at == ' ' || (*text->at >= '\t' && *text->at <= '\r'))) {
        text->at++;
    }
    if (text->at == text->end || *text->at != (uint8_t)expected) {
        return 0;
    }
    text->at++;
    return 1;
}

static int
hexadecimal(Text *text)
{
    int value = 0;
    if (text->end - text->at < 4) {
        return -1;
    }
    for (int digit = 0; digit < 4; digit++) {
        uint8_t c = *text->at++;
        int worth = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (worth < 0) {
            return -1;
        }
        value = value * 16 + worth;
    }
    return value;
}

/* An escape, as the bytes of UTF-8. Of characters beyond 16 bits, which have two escapes, each is one: paths are written
   without escapes. Returns 0 if it is none. */
static int
escape(Text *text, char **to)
{
    static const char escaped[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    uint8_t c = text->at < text->end ? *text->at++ : 0;
    const char *found = c ? strchr(escaped, c) : NULL;
    if (found) {
        *(*to)++ = meant[found - escaped];
        return 1;
    }
    int value = c == 'u' ? hexadecimal(text) : -1;
    if (value <= 0) { /* no NUL either: it would end the string */
        return 0;
    }
    if (value < 0x80) {
        *(*to)++ = (char)value;
    }
    else {
        if (value < 0x800) {
            *(*to)++ = (char)(0xC0 | value >> 6);
        }
        else {
            *(*to)++ = (char)(0xE0 | value >> 12);
            *(*to)++ = (char)(0x80 | (value >> 6 & 0x3F));
        }
        *(*to)++ = (char)(0x80 | (value & 0x3F));
    }
    return 1;
}

/* The next string, to be freed, or NULL. */
static char *
string(Text *text)
{
    char *value = next(text, '"') ? malloc((size_t)(text->end - text->at) + 1) : NULL;
    char *to = value;
    if (!value) {
        return NULL;
    }
    while (text->at < text->end) {
        uint8_t c = *text->at++;
        if (c == '"') {
            *to = 0;
            return value;
        }
        if (c == '\\' ? !escape(text, &to) : c < ' ') {
            break;
        }
        if (c != '\\') {
            *to++ = (char)c;
        }
    }
    free(value);
    return NULL;
}

char *
member(const uint8_t *data, size_t size, const char *name)
{
    Text text = {data, data + size};
    if (!next(&text, '{')) {
        return NULL;
    }
    do {
        char *found = string(&text);
        char *value = found && next(&text, ':') ? string(&text) : NULL;
        int wanted = value && strcmp(found, name) == 0;
        free(found);
        if (wanted || !value) {
            return value;
        }
        free(value);
    } while (next(&text, ','));
    return NULL;
}
