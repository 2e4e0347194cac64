/* A host of decision components that are libraries: it does to them what Batsim does, as far as they can tell.

   host [OPTION...] LIBRARY INIT MESSAGES REPLIES

   MESSAGES holds what to say and REPLIES gets what is answered, the hello with its flags first, each behind its size (a
   uint32). The library is opened with Batsim's flags, and called on a stack of 16 KiB. Like Batsim, it does not survive
   that a function fails; its exit status is 3 then.

   --dlmopen        open the library in a name space of its own, as Batsim can be told to
   --plain          open it without RTLD_DEEPBIND, which AddressSanitizer does not have
   --threads        call it in one thread after the other
   --pause          before the last message, print "pause" and wait for a signal
   --handler        have a handler for SIGINT, as SimGrid has: it ends the process with exit status 5
   --repeat N       say the last message but one N times more, and print how many nanoseconds of the processor a call
                    takes, how many a call of an empty function does, and how many KiB the process has grown
   --clock          print how many nanoseconds of the processor all messages took, and how many by the clock on the wall */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK 16384u
#define PAGE 4096u

typedef uint8_t Init(const uint8_t *, uint32_t, uint32_t *, uint8_t **, uint32_t *);
typedef uint8_t Decide(const uint8_t *, uint32_t, uint8_t **, uint32_t *);
typedef uint8_t Deinit(void);

static Init *init;
static Decide *decide;
static Deinit *deinit;
static const char *text;
static FILE *messages, *replies;
static int threads, pausing, timed;
static long repeated;

static void *
opened(const char *path, int options, int own_space)
{
    void *library = own_space ? dlmopen(LM_ID_NEWLM, path, options) : dlopen(path, options);
    if (!library) {
        fprintf(stderr, "host: %s\n", dlerror());
        exit(2);
    }
    *(void **)&init = dlsym(library, "batsim_edc_init");
    *(void **)&decide = dlsym(library, "batsim_edc_take_decisions");
    *(void **)&deinit = dlsym(library, "batsim_edc_deinit");
    return library;
}

static void
expect(uint8_t status, const char *name)
{
    if (status) {
        fprintf(stderr, "host: %s failed: it returned %d\n", name, status);
        fflush(replies);
        _exit(3);
    }
}

/* The next message, or 0 bytes if there is none. The last one was freed then: nobody may have kept it. */
static uint32_t
next(uint8_t **message)
{
    uint32_t size = 0;
    free(*message);
    *message = NULL;
    if (fread(&size, sizeof size, 1, messages) != 1) {
        return 0;
    }
    *message = malloc(size);
    return fread(*message, 1, size, messages) == size ? size : 0;
}

static void
keep(const uint8_t *reply, uint32_t size)
{
    fwrite(&size, sizeof size, 1, replies);
    fwrite(reply, 1, size, replies);
}

static double
read_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double
now(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

static long
resident(void)
{
    long pages = 0, all;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        pages = fscanf(file, "%ld %ld", &all, &pages) == 2 ? pages : 0;
        fclose(file);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static uint8_t __attribute__((noinline))
empty(const uint8_t *message, uint32_t size, uint8_t **reply, uint32_t *reply_size)
{
    *reply = (uint8_t *)message;
    *reply_size = size;
    return 0;
}

static double
time_of(Decide *function, const uint8_t *message, uint32_t size, long times)
{
    uint8_t *reply;
    uint32_t reply_size;
    Decide *volatile called = function;
    double start = now();
    for (long each = 0; each < times; each++) {
        expect(called(message, size, &reply, &reply_size), "batsim_edc_take_decisions");
    }
    return (now() - start) / (double)times;
}

static void
repeat(const uint8_t *message, uint32_t size)
{
    time_of(decide, message, size, repeated / 10 + 1);
    long before = resident();
    double full = 0, none = 0;
    for (int round = 0; round < 10; round++) { /* in turns: whatever the machine does, it does to both */
        full += time_of(decide, message, size, repeated / 10) / 10;
        none += time_of(empty, message, size, repeated / 10) / 10;
    }
    printf("%.1f %.1f %ld\n", full, none, resident() - before);
    fflush(stdout);
}

typedef struct {
    const uint8_t *message;
    uint32_t size;
    uint8_t *reply;
    uint32_t reply_size;
    uint8_t status;
} Call;

static void *
in_thread(void *argument)
{
    Call *call = argument;
    call->status = decide(call->message, call->size, &call->reply, &call->reply_size);
    return NULL;
}

static void
ask(Call *call)
{
    pthread_t thread;
    pthread_attr_t attributes;
    if (!threads) {
        in_thread(call);
        return;
    }
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 4 * STACK);
    pthread_create(&thread, &attributes, in_thread, call);
    pthread_attr_destroy(&attributes);
    pthread_join(thread, NULL);
}

static void
play(void)
{
    uint8_t *reply = NULL, *message = NULL;
    uint32_t flags = 0, size = 0;
    uint8_t *given = malloc(strlen(text) ? strlen(text) : 1); /* without a NUL behind it */
    memcpy(given, text, strlen(text));
    expect(init(given, (uint32_t)strlen(text), &flags, &reply, &size), "batsim_edc_init");
    free(given);
    uint8_t *hello = malloc(size + sizeof flags);
    memcpy(hello, &flags, sizeof flags);
    memcpy(hello + sizeof flags, reply, size);
    keep(hello, size + (uint32_t)sizeof flags);
    free(hello);
    double start = now(), start_on_wall = read_clock(CLOCK_MONOTONIC);
    while ((size = next(&message)) > 0) {
        int here = fgetc(messages);
        int is_last = ungetc(here, messages) == EOF;
        if (is_last && pausing) {
            puts("pause");
            fflush(stdout);
            pause();
        }
        Call call = {.message = message, .size = size};
        ask(&call);
        expect(call.status, "batsim_edc_take_decisions");
        if (flags & 2 && call.reply[call.reply_size] && call.reply[call.reply_size - 1]) {
            fputs("host: a reply in JSON does not end with a NUL\n", stderr);
            _exit(4);
        }
        keep(call.reply, call.reply_size);
        if (repeated && !is_last) {
            long position = ftell(messages);
            uint32_t next_size;
            if (fread(&next_size, sizeof next_size, 1, messages) == 1 && fseek(messages, next_size, SEEK_CUR) == 0) {
                int after = fgetc(messages);
                fseek(messages, position, SEEK_SET);
                if (after == EOF) {
                    repeat(message, size);
                }
            }
        }
    }
    if (timed) {
        printf("%.0f %.0f\n", now() - start, read_clock(CLOCK_MONOTONIC) - start_on_wall);
        fflush(stdout);
    }
    expect(deinit(), "batsim_edc_deinit");
}

static void
on_interrupt(int number)
{
    _exit(number == SIGINT ? 5 : 6);
}

static ucontext_t here, actor;

int
main(int count, char **arguments)
{
    int options = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND, own_space = 0, at = 1;
    for (; at < count && strncmp(arguments[at], "--", 2) == 0; at++) {
        own_space |= strcmp(arguments[at], "--dlmopen") == 0;
        threads |= strcmp(arguments[at], "--threads") == 0;
        pausing |= strcmp(arguments[at], "--pause") == 0;
        timed |= strcmp(arguments[at], "--clock") == 0;
        if (strcmp(arguments[at], "--plain") == 0) {
            options &= ~RTLD_DEEPBIND;
        }
        if (strcmp(arguments[at], "--handler") == 0) {
            signal(SIGINT, on_interrupt);
        }
        if (strcmp(arguments[at], "--repeat") == 0) {
            repeated = atol(arguments[++at]);
        }
    }
    if (count - at != 4) {
        fputs("host: expected LIBRARY INIT MESSAGES REPLIES\n", stderr);
        return 2;
    }
    void *library = opened(arguments[at], options, own_space);
    text = arguments[at + 1];
    messages = fopen(arguments[at + 2], "rb");
    replies = fopen(arguments[at + 3], "wb");
    if (!init || !decide || !deinit || !messages || !replies) {
        perror("host");
        return 2;
    }
    /* Below the stack of an actor, there may be anything: here, there is what ends the process when it is touched. */
    char *stack = mmap(NULL, PAGE + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(stack, PAGE, PROT_NONE);
    getcontext(&actor);
    actor.uc_stack.ss_sp = stack + PAGE;
    actor.uc_stack.ss_size = STACK;
    actor.uc_link = &here;
    makecontext(&actor, play, 0);
    swapcontext(&here, &actor);
    fclose(replies);
    fclose(messages);
    dlclose(library);
    puts("host: closed"); /* Batsim goes on, too: it writes its files */
    return 0;
}
