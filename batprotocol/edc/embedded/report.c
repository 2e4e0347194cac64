/* Messages for the user, on standard error. Nothing here knows of the other files. */

#include "embedded.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void
report(const char *format, ...)
{
    char line[2048] = "batprotocol: ";
    size_t begun = strlen(line), room = sizeof line - 1 - begun;
    va_list values;
    va_start(values, format);
    int length = vsnprintf(line + begun, room, format, values);
    va_end(values);
    size_t written = length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1;
    line[begun + written] = '\n';
    ssize_t ignored = write(STDERR_FILENO, line, begun + written + 1);
    (void)ignored;
}
