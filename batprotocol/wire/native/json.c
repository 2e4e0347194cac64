/* Plain JSON to values and back.

   Plain is what Batsim and most writers write: double quotes, no comments, a union's type before the union. What is
   not plain, or wrong, is left to the Python reader of the whole dialect: the functions then return None. */

#include "engine.h"

/* Reading */

typedef struct {
    const char *at, *end;
} Text;

static PyObject *parse_table(Text *text, int number, int depth, PyObject *timestamp);

static inline char
peek(Text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\n' || *text->at == '\r' || *text->at == '\t')) {
        text->at++;
    }
    return text->at < text->end ? *text->at : 0;
}

static inline int
expect(Text *text, char character)
{
    if (peek(text) != character) {
        return 0;
    }
    text->at++;
    return 1;
}

/* A string without escapes: where it starts, and its size, or -1. `ascii` tells whether it is ASCII. */
static inline Py_ssize_t
plain_string(Text *text, const char **start, int *ascii)
{
    if (!expect(text, '"')) {
        return -1;
    }
    const char *at = text->at;
    unsigned char all = 0;
    while (at < text->end && *at != '"' && *at != '\\' && (unsigned char)*at >= ' ') {
        all |= (unsigned char)*at++;
    }
    *start = text->at;
    *ascii = all < 0x80;
    if (at >= text->end || *at != '"') {
        return -1;
    }
    text->at = at + 1;
    return at - *start;
}

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

/* A string with escapes; the text stands on its opening quote. What an escape stands for is never longer than itself. */
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

static PyObject *
parse_string(Text *text, int recurs)
{
    const char *start;
    int ascii;
    if (peek(text) != '"') {
        return NULL;
    }
    const char *quote = text->at;
    Py_ssize_t size = plain_string(text, &start, &ascii);
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

/* A double; 0 if there is none. */
static int
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

static PyObject *
parse_integer(Text *text, const Field *field)
{
    uint64_t digits;
    int scale, exact, integer;
    int negative = peek(text) == '-';
    const char *end = scan_number(text, &digits, &scale, &exact, &integer);
    uint64_t most = field->kind == UINT64 ? UINT64_MAX : field->kind == UINT32 ? UINT32_MAX : INT32_MAX;
    if (!end || !exact || !integer || digits > most || (negative && field->kind != INT32)) {
        return NULL; /* nineteen digits do not overflow; what is longer, and the least int32, are not usual */
    }
    text->at = end;
    return negative ? PyLong_FromLongLong(-(long long)digits) : PyLong_FromUnsignedLongLong(digits);
}

/* Whether the next word is this one. */
static int
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

static PyObject *
parse_enum(Text *text, const Field *field)
{
    const char *start;
    int ascii;
    Py_ssize_t size = plain_string(text, &start, &ascii);
    const Enum *which = &ENUMS_[field->index];
    for (int index = 0; size > 0 && index < which->count; index++) {
        if (!strncmp(which->values[index].name, start, (size_t)size) && !which->values[index].name[size]) {
            return enum_member(field->index, which->values[index].number);
        }
    }
    return NULL;
}

/* The tag of a union by name, or 0. */
static int
parse_tag(Text *text, const Union *which)
{
    const char *start;
    int ascii;
    Py_ssize_t size = plain_string(text, &start, &ascii);
    for (int tag = 1; size > 0 && tag <= which->count; tag++) {
        const char *name = TABLES_[which->members[tag - 1]].name;
        if (!strncmp(name, start, (size_t)size) && !name[size]) {
            return tag;
        }
    }
    return 0;
}

/* A vector as a list, with a function for each element, made a tuple. */
static PyObject *
parse_items(Text *text, const Field *field, int depth)
{
    if (!expect(text, '[')) {
        return NULL;
    }
    PyObject *items = PyList_New(0);
    if (!items) {
        return NULL;
    }
    static const Field number = {"", UINT32, 1, 0, 0, 0, 0, 0, 0, -1, 0, 0.0};
    int more = peek(text) != ']';
    while (more) {
        PyObject *item = field->kind == STRINGS   ? parse_string(text, 0)
                         : field->kind == NUMBERS ? parse_integer(text, &number)
                                                  : parse_table(text, field->index, depth + 1, NULL);
        if (!item || PyList_Append(items, item) < 0) {
            Py_XDECREF(item);
            Py_DECREF(items);
            return NULL;
        }
        Py_DECREF(item);
        more = expect(text, ',');
    }
    PyObject *tuple = expect(text, ']') ? PyList_AsTuple(items) : NULL;
    Py_DECREF(items);
    return tuple;
}

static PyObject *
parse_doubles(Text *text)
{
    if (!expect(text, '[')) {
        return NULL;
    }
    size_t count = 0, room = 16;
    double few[16], *numbers = few;
    int fine = 1, more = peek(text) != ']';
    while (fine && more) {
        if (count == room) {
            double *grown = PyMem_Malloc(2 * room * sizeof *grown);
            if (!grown) {
                PyErr_NoMemory();
                fine = 0;
                break;
            }
            memcpy(grown, numbers, count * sizeof *grown);
            if (numbers != few) {
                PyMem_Free(numbers);
            }
            numbers = grown;
            room *= 2;
        }
        fine = parse_real(text, &numbers[count++]);
        more = fine && expect(text, ',');
    }
    fine = fine && expect(text, ']');
    PyObject *bytes = fine ? PyBytes_FromStringAndSize((const char *)numbers, (Py_ssize_t)(count * 8)) : NULL;
    if (numbers != few) {
        PyMem_Free(numbers);
    }
    return bytes ? make_doubles(bytes) : NULL;
}

static PyObject *
parse_value(Text *text, const Field *field, int depth, int tag)
{
    double number;
    switch (field->kind) {
    case BOOL:
        return word(text, "true") ? Py_NewRef(Py_True) : word(text, "false") ? Py_NewRef(Py_False) : NULL;
    case ENUM:
        return parse_enum(text, field);
    case INT32:
    case UINT32:
    case UINT64:
        return parse_integer(text, field);
    case DOUBLE:
        if (field->optional && word(text, "null")) {
            return Py_NewRef(Py_None);
        }
        return parse_real(text, &number) ? PyFloat_FromDouble(number) : NULL;
    case STRING:
        return parse_string(text, field->recurs);
    case DOUBLES:
        return parse_doubles(text);
    case TABLE:
        return parse_table(text, field->index, depth + 1, NULL);
    case UNION:
        return tag ? parse_table(text, UNIONS_[field->index].members[tag - 1], depth + 1, NULL) : NULL;
    default:
        return parse_items(text, field, depth);
    }
}

/* Which field of a table a name is, starting to look at `next`; the tag of a union is that field plus `count`. -1: none. */
static int
field_called(const Table *table, const char *name, Py_ssize_t size, int next)
{
    for (int step = 0; step < table->count; step++) {
        int index = next + step < table->count ? next + step : next + step - table->count;
        const Field *field = &table->fields[index];
        size_t length = strlen(field->name);
        if ((size_t)size == length && !memcmp(field->name, name, length)) {
            return index;
        }
        if (field->kind == UNION && (size_t)size == length + 5 && !memcmp(field->name, name, length) &&
            !memcmp(name + length, "_type", 5)) {
            return index + table->count;
        }
    }
    return -1;
}

/* Read the fields of a table up to its closing brace into `values`: new references, NULL for those not given. */
static int
parse_fields(Text *text, const Table *table, int depth, PyObject **values)
{
    uint8_t tags[MOST_FIELDS] = {0};
    int next = 0;
    if (!expect(text, '{')) {
        return 0;
    }
    int more = peek(text) != '}';
    while (more) {
        const char *name;
        int ascii;
        Py_ssize_t size = plain_string(text, &name, &ascii);
        int index = size < 0 ? -1 : field_called(table, name, size, next);
        if (index < 0 || !expect(text, ':')) {
            return 0;
        }
        if (index >= table->count) {
            index -= table->count;
            if (tags[index] || !(tags[index] = (uint8_t)parse_tag(text, &UNIONS_[table->fields[index].index]))) {
                return 0;
            }
            next = index;
        }
        else {
            if (values[index] || !(values[index] = parse_value(text, &table->fields[index], depth, tags[index]))) {
                return 0;
            }
            next = index + 1;
        }
        more = expect(text, ',');
    }
    return expect(text, '}');
}

static PyObject *
parse_table(Text *text, int number, int depth, PyObject *timestamp)
{
    const Table *table = &TABLES_[number];
    PyObject *values[MOST_FIELDS] = {NULL}, *value = NULL;
    int fine = depth <= MAX_DEPTH && parse_fields(text, table, depth, values);
    for (int index = 0; fine && index < table->count; index++) {
        if (!values[index] && !(values[index] = absent(&table->fields[index]))) {
            fine = 0;
        }
    }
    if (fine && table->wrapper) {
        return values[0];
    }
    if (fine && (value = new_value(number))) {
        for (int index = 0; index < table->count; index++) {
            SLOT(value, bound.slots[number][index]) = values[index];
        }
        if (table->event) {
            SLOT(value, bound.timestamps[number]) = Py_NewRef(timestamp);
        }
        return value;
    }
    for (int index = 0; index < table->count; index++) {
        Py_XDECREF(values[index]);
    }
    return NULL;
}

/* The event of an envelope, whose fields must come in the order of the schema: that is the plain way. */
static PyObject *
parse_event(Text *text)
{
    const char *name;
    int ascii;
    double time = 0.0;
    if (!expect(text, '{')) {
        return NULL;
    }
    Py_ssize_t size = plain_string(text, &name, &ascii);
    if (size == 9 && !memcmp(name, "timestamp", 9)) {
        if (!expect(text, ':') || !parse_real(text, &time) || !expect(text, ',')) {
            return NULL;
        }
        size = plain_string(text, &name, &ascii);
    }
    if (size != 10 || memcmp(name, "event_type", 10) || !expect(text, ':')) {
        return NULL;
    }
    int tag = parse_tag(text, &UNIONS_[EVENTS]);
    if (!tag || !expect(text, ',') || plain_string(text, &name, &ascii) != 5 || memcmp(name, "event", 5) ||
        !expect(text, ':')) {
        return NULL;
    }
    PyObject *timestamp = PyFloat_FromDouble(time);
    PyObject *event = timestamp ? parse_table(text, UNIONS_[EVENTS].members[tag - 1], 3, timestamp) : NULL;
    Py_XDECREF(timestamp);
    if (event && !expect(text, '}')) {
        Py_CLEAR(event);
    }
    return event;
}

static PyObject *
parse_events(Text *text)
{
    PyObject *events = expect(text, '[') ? PyList_New(0) : NULL;
    int more = events && peek(text) != ']';
    while (more) {
        PyObject *event = parse_event(text);
        if (!event || PyList_Append(events, event) < 0) {
            Py_XDECREF(event);
            Py_DECREF(events);
            return NULL;
        }
        Py_DECREF(event);
        more = expect(text, ',');
    }
    PyObject *tuple = events && expect(text, ']') ? PyList_AsTuple(events) : NULL;
    Py_XDECREF(events);
    return tuple;
}

static PyObject *
parse_message(Text *text)
{
    const char *name;
    int ascii;
    double time = 0.0;
    if (!expect(text, '{')) {
        return NULL;
    }
    Py_ssize_t size = plain_string(text, &name, &ascii);
    if (size == 3 && !memcmp(name, "now", 3)) {
        if (!expect(text, ':') || !parse_real(text, &time) || !expect(text, ',')) {
            return NULL;
        }
        size = plain_string(text, &name, &ascii);
    }
    if (size != 6 || memcmp(name, "events", 6) || !expect(text, ':')) {
        return NULL;
    }
    PyObject *events = parse_events(text);
    PyObject *now = events && expect(text, '}') && !peek(text) ? PyFloat_FromDouble(time) : NULL;
    PyObject *message = now ? new_value(ROOT) : NULL;
    if (!message) {
        Py_XDECREF(events);
        Py_XDECREF(now);
        return NULL;
    }
    SLOT(message, bound.slots[ROOT][0]) = now;
    SLOT(message, bound.slots[ROOT][1]) = events;
    return message;
}

PyObject *
decode_json(PyObject *module, PyObject *data)
{
    if (!PyBytes_Check(data) || !bound.done) {
        Py_RETURN_NONE;
    }
    const char *start = PyBytes_AS_STRING(data);
    size_t size = (size_t)PyBytes_GET_SIZE(data);
    const char *nul = memchr(start, 0, size);
    Text text = {start, nul ? nul : start + size};
    PyObject *message = parse_message(&text);
    if (message || out_of_memory()) {
        return message;
    }
    Py_RETURN_NONE;
}

/* Writing */

/* `batprotocol.wire.json.MAX_TEXT`: longer texts are left to the Python writer, which may refuse them. */
#define MOST_TEXT ((size_t)1 << 28)

typedef struct {
    char *data;
    size_t size, room;
    char first[4096];
} Output;

static int
room_for(Output *output, size_t count)
{
    if (count <= output->room - output->size) {
        return 1;
    }
    size_t room = output->room;
    if (count > MOST_TEXT - output->size) {
        return 0; /* the Python writer tells whether this is too long */
    }
    while (room - output->size < count) {
        room *= 2;
    }
    char *data = output->data == output->first ? PyMem_Malloc(room) : PyMem_Realloc(output->data, room);
    if (!data) {
        PyErr_NoMemory();
        return 0;
    }
    if (output->data == output->first) {
        memcpy(data, output->first, output->size);
    }
    output->data = data;
    output->room = room;
    return 1;
}

static int
put(Output *output, const char *bytes, size_t count)
{
    if (!room_for(output, count)) {
        return 0;
    }
    memcpy(output->data + output->size, bytes, count);
    output->size += count;
    return 1;
}

#define PUT(output, literal) put(output, literal, sizeof literal - 1)

static int
print_integer(Output *output, uint64_t number, int negative)
{
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    if (negative) {
        digits[--at] = '-';
    }
    return put(output, digits + at, sizeof digits - at);
}

static int
print_real(Output *output, double value)
{
    if (value != value) {
        return PUT(output, "NaN");
    }
    if (value > 1.7976931348623157e308 || value < -1.7976931348623157e308) {
        return value > 0 ? PUT(output, "Infinity") : PUT(output, "-Infinity");
    }
    if (value > -1e15 && value < 1e15 && (double)(int64_t)value == value && (value != 0 || !signbit(value))) {
        int64_t whole = (int64_t)value;
        return print_integer(output, whole < 0 ? (uint64_t)-whole : (uint64_t)whole, whole < 0) && PUT(output, ".0");
    }
    char *text = PyOS_double_to_string(value, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
    if (!text) {
        return 0;
    }
    int fine = put(output, text, strlen(text));
    PyMem_Free(text);
    return fine;
}

static int
print_escape(Output *output, Py_UCS4 code)
{
    static const char hexadecimal[] = "0123456789abcdef";
    static const char letters[] = "\"\\\b\f\n\r\t", escapes[] = "\"\\bfnrt";
    const char *found = code && code < 128 ? strchr(letters, (int)code) : NULL;
    if (found) {
        char escape[2] = {'\\', escapes[found - letters]};
        return put(output, escape, 2);
    }
    if (code > 0xFFFF) {
        code -= 0x10000;
        return print_escape(output, 0xD800 + (code >> 10)) && print_escape(output, 0xDC00 + (code & 0x3FF));
    }
    char escape[6] = {'\\', 'u'};
    for (int digit = 0; digit < 4; digit++) {
        escape[2 + digit] = hexadecimal[code >> (12 - 4 * digit) & 15];
    }
    return put(output, escape, 6);
}

static int
print_string(Output *output, PyObject *string)
{
    if (!PyUnicode_Check(string) || !PUT(output, "\"")) {
        return 0;
    }
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(string) < 0) {
        return 0;
    }
#endif
    int kind = PyUnicode_KIND(string);
    const void *data = PyUnicode_DATA(string);
    Py_ssize_t size = PyUnicode_GET_LENGTH(string), start = 0;
    for (Py_ssize_t index = 0; index <= size; index++) {
        Py_UCS4 code = index < size ? PyUnicode_READ(kind, data, index) : 0;
        if (index < size && code >= ' ' && code != '"' && code != '\\' && code < 0x7F) {
            continue;
        }
        if (kind == PyUnicode_1BYTE_KIND) {
            if (!put(output, (const char *)data + start, (size_t)(index - start))) {
                return 0;
            }
        }
        else {
            for (; start < index; start++) {
                char plain = (char)PyUnicode_READ(kind, data, start);
                if (!put(output, &plain, 1)) {
                    return 0;
                }
            }
        }
        start = index + 1;
        if (index == size) {
            break;
        }
        if (code >= 0xD800 && code < 0xE000) {
            return 0; /* a lone surrogate is no text */
        }
        if (!print_escape(output, code)) {
            return 0;
        }
    }
    return PUT(output, "\"");
}

static int print_table(Output *output, int number, PyObject *value, int depth);

static int
print_enum(Output *output, int index, PyObject *value)
{
    if (Py_TYPE(value) != bound.enums[index]) {
        return 0;
    }
    long number = PyLong_AsLong(value);
    for (int at = 0; at < ENUMS_[index].count; at++) {
        if (ENUMS_[index].values[at].number == number) {
            const char *name = ENUMS_[index].values[at].name;
            return PUT(output, "\"") && put(output, name, strlen(name)) && PUT(output, "\"");
        }
    }
    return number >= -128 && number <= 127 &&
           print_integer(output, (uint64_t)(number < 0 ? -number : number), number < 0);
}

static int
print_number(Output *output, const Field *field, PyObject *value)
{
    if (!PyLong_CheckExact(value)) {
        return 0;
    }
    if (field->kind == UINT64) {
        unsigned long long number = PyLong_AsUnsignedLongLong(value);
        return !(number == (unsigned long long)-1 && PyErr_Occurred()) && print_integer(output, number, 0);
    }
    long long number = PyLong_AsLongLong(value);
    int fits = field->kind == INT32 ? number >= INT32_MIN && number <= INT32_MAX : number >= 0 && number <= UINT32_MAX;
    return fits && !(number == -1 && PyErr_Occurred()) &&
           print_integer(output, (uint64_t)(number < 0 ? -number : number), number < 0);
}

static int
print_doubles(Output *output, PyObject *vector)
{
    PyObject *bytes = Py_TYPE(vector) == bound.doubles ? SLOT(vector, bound.doubles_slot) : NULL;
    if (!bytes || !PyBytes_CheckExact(bytes) || !PUT(output, "[")) {
        return 0;
    }
    Py_ssize_t size = PyBytes_GET_SIZE(bytes);
    for (Py_ssize_t at = 0; at < size; at += 8) {
        double number;
        memcpy(&number, PyBytes_AS_STRING(bytes) + at, 8);
        if ((at && !PUT(output, ",")) || !print_real(output, number)) {
            return 0;
        }
    }
    return PUT(output, "]");
}

static int
print_items(Output *output, const Field *field, PyObject *items, int depth)
{
    static const Field number = {"", UINT32, 1, 0, 0, 0, 0, 0, 0, -1, 0, 0.0};
    if (!PyTuple_CheckExact(items) || !PUT(output, "[")) {
        return 0;
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(items); index++) {
        PyObject *item = PyTuple_GET_ITEM(items, index);
        if (index && !PUT(output, ",")) {
            return 0;
        }
        int fine = field->kind == STRINGS   ? print_string(output, item)
                   : field->kind == NUMBERS ? print_number(output, &number, item)
                                            : print_table(output, field->index, item, depth + 1);
        if (!fine) {
            return 0;
        }
    }
    return PUT(output, "]");
}

static int
print_value(Output *output, const Field *field, PyObject *value, int depth, int tag)
{
    switch (field->kind) {
    case BOOL:
        return value == Py_True ? PUT(output, "true") : value == Py_False && PUT(output, "false");
    case ENUM:
        return print_enum(output, field->index, value);
    case INT32:
    case UINT32:
    case UINT64:
        return print_number(output, field, value);
    case DOUBLE:
        if (field->optional && value == Py_None) {
            return PUT(output, "null");
        }
        return PyFloat_CheckExact(value) && print_real(output, PyFloat_AS_DOUBLE(value));
    case STRING:
        return print_string(output, value);
    case DOUBLES:
        return print_doubles(output, value);
    case TABLE:
        return print_table(output, field->index, value, depth + 1);
    case UNION:
        return print_table(output, UNIONS_[field->index].members[tag - 1], value, depth + 1);
    default:
        return print_items(output, field, value, depth);
    }
}

static int
print_key(Output *output, const char *name, const char *suffix, int *some)
{
    if ((*some && !PUT(output, ",")) || !PUT(output, "\"") || !put(output, name, strlen(name)) ||
        !put(output, suffix, strlen(suffix))) {
        return 0;
    }
    *some = 1;
    return PUT(output, "\": ");
}

static int
print_table(Output *output, int number, PyObject *value, int depth)
{
    const Table *table = &TABLES_[number];
    int some = 0;
    if (depth > MAX_DEPTH || (!table->wrapper && Py_TYPE(value) != bound.classes[number]) || !PUT(output, "{")) {
        return 0;
    }
    for (int index = 0; index < table->count; index++) {
        const Field *field = &table->fields[index];
        PyObject *child = table->wrapper ? value : SLOT(value, bound.slots[number][index]);
        if (!child) {
            return 0;
        }
        if (child == Py_None && !field->required && field->kind >= STRING) {
            continue;
        }
        int tag = 0;
        if (field->kind == UNION) {
            tag = tag_of(field->index, child);
            if (!tag || !print_key(output, field->name, "_type", &some)) {
                return 0;
            }
            const char *name = TABLES_[UNIONS_[field->index].members[tag - 1]].name;
            if (!PUT(output, "\"") || !put(output, name, strlen(name)) || !PUT(output, "\"")) {
                return 0;
            }
        }
        if (!print_key(output, field->name, "", &some) || !print_value(output, field, child, depth, tag)) {
            return 0;
        }
    }
    return PUT(output, "}");
}

static int
print_event(Output *output, PyObject *event)
{
    int tag = tag_of(EVENTS, event);
    if (!tag) {
        return 0;
    }
    int number = UNIONS_[EVENTS].members[tag - 1];
    PyObject *timestamp = SLOT(event, bound.timestamps[number]);
    const char *name = TABLES_[number].name;
    return timestamp && PyFloat_CheckExact(timestamp) && PUT(output, "{\"timestamp\": ") &&
           print_real(output, PyFloat_AS_DOUBLE(timestamp)) && PUT(output, ",\"event_type\": \"") &&
           put(output, name, strlen(name)) && PUT(output, "\",\"event\": ") && print_table(output, number, event, 3) &&
           PUT(output, "}");
}

static int
print_message(Output *output, PyObject *message)
{
    PyObject *now = SLOT(message, bound.slots[ROOT][0]), *events = SLOT(message, bound.slots[ROOT][1]);
    if (!now || !PyFloat_CheckExact(now) || !events || !PyTuple_CheckExact(events) || !PUT(output, "{\"now\": ") ||
        !print_real(output, PyFloat_AS_DOUBLE(now)) || !PUT(output, ",\"events\": [")) {
        return 0;
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(events); index++) {
        if ((index && !PUT(output, ",")) || !print_event(output, PyTuple_GET_ITEM(events, index))) {
            return 0;
        }
    }
    return PUT(output, "]}");
}

PyObject *
encode_json(PyObject *module, PyObject *message)
{
    if (!bound.done || Py_TYPE(message) != bound.classes[ROOT]) {
        Py_RETURN_NONE;
    }
    Output output;
    output.data = output.first;
    output.size = 0;
    output.room = sizeof output.first;
    PyObject *text = NULL;
    int fine = print_message(&output, message);
    if (fine && (text = PyUnicode_New((Py_ssize_t)output.size, 127))) {
        memcpy(PyUnicode_DATA(text), output.data, output.size);
    }
    if (output.data != output.first) {
        PyMem_Free(output.data);
    }
    if (fine || out_of_memory()) {
        return text;
    }
    Py_RETURN_NONE;
}
