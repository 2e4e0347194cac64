/* The tokens of plain JSON text that take more than a few lines: strings with escapes, numbers and words. */

#include "json_tokens.h"
#include "texts.h"

/* The four hexadecimal digits at `at`, or -1. */
static int
hexadecimal(const char *at, const char *end)
{
    int code = 0;
    if (end - at < 4) {
        return -1;
    }
    for (int index = 0; index < 4; index++) {
        char digit = at[index];
        int value = digit >= '0' && digit <= '9'   ? digit - '0'
                    : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                    : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                                   : -1;
        if (value < 0) {
            return -1;
        }
        code = code * 16 + value;
    }
    return code;
}

/* The character of the escape at `at` (behind the backslash), or -1; `at` moves behind it. */
static int64_t
unescape(const char **at, const char *end)
{
    static const char letters[] = "\"\\/bfnrt", characters[] = "\"\\/\b\f\n\r\t";
    char letter = **at;
    const char *found = letter ? strchr(letters, letter) : NULL;
    *at += 1;
    if (found) {
        return characters[found - letters];
    }
    int64_t code = letter == 'u' ? hexadecimal(*at, end) : -1;
    *at += 4;
    if (code >= 0xD800 && code < 0xDC00) {
        int low = end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u' ? hexadecimal(*at + 2, end) : -1;
        *at += 6;
        return low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : -1;
    }
    return code >= 0xDC00 && code < 0xE000 ? -1 : code;
}

static char *
put_utf8(char *out, uint32_t code)
{
    if (code < 0x80) {
        *out++ = (char)code;
        return out;
    }
    if (code < 0x800) {
        *out++ = (char)(0xC0 | code >> 6);
    }
    else {
        if (code < 0x10000) {
            *out++ = (char)(0xE0 | code >> 12);
        }
        else {
            *out++ = (char)(0xF0 | code >> 18);
            *out++ = (char)(0x80 | (code >> 12 & 0x3F));
        }
        *out++ = (char)(0x80 | (code >> 6 & 0x3F));
    }
    *out++ = (char)(0x80 | (code & 0x3F));
    return out;
}

/* A string with escapes; the text stands on its opening quote. What an escape stands for is never longer than the
   escape itself. */
static PyObject *
escaped_string(Text *text)
{
    const char *at = text->at + 1, *close = at;
    while (close < text->end && *close != '"') {
        close += *close == '\\' ? 2 : 1;
    }
    if (close >= text->end) {
        return NULL;
    }
    char *buffer = PyMem_Malloc((size_t)(close - at) + 1), *out = buffer;
    if (!buffer) {
        return PyErr_NoMemory();
    }
    int64_t code = 0;
    while (code >= 0 && at < close) {
        if ((unsigned char)*at < ' ') {
            break;
        }
        if (*at != '\\') {
            *out++ = *at++;
            continue;
        }
        at++;
        code = unescape(&at, close);
        if (code >= 0) {
            out = put_utf8(out, (uint32_t)code);
        }
    }
    PyObject *string = code >= 0 && at == close ? PyUnicode_DecodeUTF8(buffer, out - buffer, NULL) : NULL;
    PyMem_Free(buffer);
    text->at = close + 1;
    return string;
}

PyObject *
parse_string(Text *text, int recurs)
{
    const char *start;
    if (peek(text) != '"') {
        return NULL;
    }
    const char *quote = text->at;
    Py_ssize_t size = plain_string(text, &start);
    if (size < 0) {
        text->at = quote;
        return escaped_string(text);
    }
    return recurs ? recurring_string(start, size) : make_string(start, size);
}

/* A number as JSON has it: where it ends, or NULL. `digits` and `scale` give it as an integer times a power of ten, if
   it has at most 19 digits (`exact`). */
static const char *
scan_number(Text *text, uint64_t *digits, int *scale, int *exact, int *integer)
{
    const char *at = text->at, *end = text->end;
    int count = 0, seen = 0;
    *digits = 0;
    *scale = 0;
    *integer = 1;
    if (at < end && *at == '-') {
        at++;
    }
    if (end - at > 1 && at[0] == '0' && at[1] >= '0' && at[1] <= '9') {
        return NULL;
    }
    for (; at < end && ((*at >= '0' && *at <= '9') || (*at == '.' && *integer)); at++) {
        if (*at == '.') {
            if (!seen) {
                return NULL;
            }
            *integer = 0;
            seen = 0;
            continue;
        }
        seen = 1;
        count += count || *at != '0';
        if (count <= 19) {
            *digits = *digits * 10 + (uint64_t)(*at - '0');
        }
        *scale -= !*integer;
    }
    *exact = count <= 19;
    if (!seen) {
        return NULL;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        int sign = 1, exponent = 0;
        *integer = 0;
        at++;
        if (at < end && (*at == '-' || *at == '+')) {
            sign = *at++ == '-' ? -1 : 1;
        }
        seen = 0;
        for (; at < end && *at >= '0' && *at <= '9'; at++) {
            seen = 1;
            exponent = exponent < 10000 ? exponent * 10 + (*at - '0') : exponent;
        }
        *scale += sign * exponent;
        if (!seen) {
            return NULL;
        }
    }
    return at;
}

int
parse_real(Text *text, double *value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    uint64_t digits;
    int scale, exact, integer;
    int negative = peek(text) == '-';
    const char *end = scan_number(text, &digits, &scale, &exact, &integer);
    if (!end) {
        return 0;
    }
    if (exact && digits <= (uint64_t)1 << 53 && scale >= -22 && scale <= 22) {
        /* Both are doubles, so one operation on them rounds once: right. */
        double magnitude = scale < 0 ? (double)digits / powers[-scale] : (double)digits * powers[scale];
        *value = negative ? -magnitude : magnitude;
    }
    else {
        char *stop;
        *value = PyOS_string_to_double(text->at, &stop, NULL);
        if (stop != end || PyErr_Occurred()) {
            return 0;
        }
    }
    text->at = end;
    return 1;
}

PyObject *
parse_integer(Text *text, int kind)
{
    uint64_t digits;
    int scale, exact, integer;
    int negative = peek(text) == '-';
    const char *end = scan_number(text, &digits, &scale, &exact, &integer);
    uint64_t most = kind == UINT64 ? UINT64_MAX : kind == UINT32 ? UINT32_MAX : INT32_MAX;
    if (!end || !exact || !integer || digits > most || (negative && kind != INT32)) {
        return NULL; /* nineteen digits do not overflow; what is longer, and the least int32, are not usual */
    }
    text->at = end;
    return negative ? PyLong_FromLongLong(-(long long)digits) : PyLong_FromUnsignedLongLong(digits);
}

int
word(Text *text, const char *wanted)
{
    size_t size = strlen(wanted);
    if (peek(text) != wanted[0] || (size_t)(text->end - text->at) < size || memcmp(text->at, wanted, size)) {
        return 0;
    }
    char next = (size_t)(text->end - text->at) > size ? text->at[size] : 0;
    if (next != ',' && next != '}' && next != ']' && next != ' ' && next != '\n' && next != '\r' && next != '\t') {
        return 0;
    }
    text->at += size;
    return 1;
}
