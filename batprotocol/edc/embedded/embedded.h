/* A Python scheduler inside Batsim's process: what the files of this folder share.

   Batsim loads this library and calls its three functions (library.c). Each of them runs on a stack that is large
   enough for Python (stack.c), starts an interpreter from the libpython that the initialization data name (member.c,
   interpreter.c), and calls the Python half, guest.py, which knows the messages. While Python is at work, signals go to
   Python, else to Batsim (signals.c).

   The files stand one below the other: library.c calls all the others, interpreter.c calls signals.c and report.c, and
   these, like member.c and stack.c, call none.

   It needs nothing but libc: no header of Python when it is compiled, and no libpython before it is called. So one
   source, and even one library, serves all versions of CPython. It must not know what the messages hold. */

#ifndef BATPROTOCOL_EMBEDDED_H
#define BATPROTOCOL_EMBEDDED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What is visible is what Batsim looks up, and nothing else. */
#define EXPORTED __attribute__((visibility("default")))

/* report.c: messages for the user. */

/* Print one line on standard error. */
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* member.c: the initialization data are a JSON object whose values are strings. */

/* The value of a member, to be freed, or NULL if the data are no such object or do not have it. */
char *member(const uint8_t *data, size_t size, const char *name);

/* stack.c: running on a stack of one's own. */

/* Make the stack. Returns 0 if there is none. */
int stack_make(void);
/* From now on, run everything on a thread of its own. Returns 0 if there can be none. */
int stack_make_thread(void);
/* Call a function there, and wait until it returns. One at a time. */
void stack_run(void (*function)(void *), void *argument);

/* interpreter.c: Python. Its functions are called on the stack of one's own, those below `attach` attached. */

typedef struct object object; /* a PyObject, of which nobody but Python knows more */

/* Whether the running interpreter was there before, and belongs to somebody else. */
extern int interpreter_is_anothers;

/* Find libpython and start an interpreter, or find one that runs. Returns 0 after telling why not. */
int interpreter_start(const char *libpython, const char *executable);
/* The major and minor version of the libpython found, such as 313. */
int interpreter_find(const char *libpython);
void interpreter_attach(void);
void interpreter_detach(void);

object *interpreter_import(const char *module);
object *interpreter_attribute(object *owner, const char *name);
/* Call a function with one argument, or none if it is NULL. */
object *interpreter_call(object *function, object *argument);
object *interpreter_bytes(const void *data, size_t size);
/* What a bytes object holds, with a NUL behind it. Returns 0 if it is no bytes object. */
int interpreter_data(object *bytes, uint8_t **data, uint32_t *size);
void interpreter_release(object *each);
/* Tell of the exception that is raised, and forget it. */
void interpreter_complain(void);

/* signals.c: SIGINT and SIGTERM. */

/* Called before and after Python starts: what it does to the signals of Batsim's process is undone. */
void signals_remember(void);
void signals_restore(void);
/* Called when Python has handlers for SIGINT and SIGTERM: they are for what comes while Python is at work. */
void signals_catch(void);
/* Python is at work, or is not any more. */
void signals_working(int working);

#endif
