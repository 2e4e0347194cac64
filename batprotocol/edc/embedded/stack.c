/* Running on a stack of one's own: SimGrid's actors, which call this library, have as little as 16 KiB.

   Most of the time it is only the stack that changes: a call of a function, with another stack pointer. From CPython 3.14
   on, Python compares the stack pointer with the stack of the running thread, so it needs a thread of its own, which
   makes a call some microseconds longer. */

#include "embedded.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>

#define STACK_SIZE (16u << 20)
#define GUARD_SIZE (64u << 10) /* below the stack, so that what grows out of it ends the process, and at once */

typedef struct {
    void (*function)(void *);
    void *argument;
} Task;

static char *stack;
static Task task;

/* Calling a function on that stack. Nothing is left there when it returns, so nothing need be kept. */

#if defined(__x86_64__) && !defined(PORTABLE_STACK)

/* The frame pointer is forced, and %rbx is one of those that functions preserve: debuggers and unwinders get through. */
static __attribute__((noinline)) void
call_there(void)
{
    void *frame = __builtin_frame_address(0), *top = stack + STACK_SIZE;
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %[top], %%rsp\n\t"
                     "callq *%[function]\n\t"
                     "movq %%rbx, %%rsp"
                     : [top] "+r"(top), "+D"(task.argument)
                     : [function] "r"(task.function), "m"(frame)
                     : "rbx", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1",
                       "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
                       "xmm13", "xmm14", "xmm15");
}

#else

#include <ucontext.h>

static ucontext_t here, there;

static void
on_the_stack(void)
{
    task.function(task.argument);
}

static void
call_there(void)
{
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = STACK_SIZE;
    there.uc_link = &here;
    makecontext(&there, on_the_stack, 0);
    swapcontext(&here, &there);
}

#endif

int
stack_make(void)
{
    if (!stack) {
        char *memory = mmap(NULL, GUARD_SIZE + STACK_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            return 0;
        }
        if (mprotect(memory + GUARD_SIZE, STACK_SIZE, PROT_READ | PROT_WRITE)) {
            munmap(memory, GUARD_SIZE + STACK_SIZE);
            return 0;
        }
        stack = memory + GUARD_SIZE;
    }
    return 1;
}

/* A thread that runs one task after the other, as long as the process lives. */

static int has_thread;
static sem_t given, done;

static void
wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) && errno == EINTR) {
    }
}

static void *
serve(void *nothing)
{
    for (;;) {
        wait_for(&given);
        task.function(task.argument);
        sem_post(&done);
    }
    return nothing;
}

int
stack_make_thread(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    if (has_thread) {
        return 1;
    }
    if (sem_init(&given, 0, 0) || sem_init(&done, 0, 0) || pthread_attr_init(&attributes)) {
        return 0;
    }
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    has_thread = pthread_create(&thread, &attributes, serve, NULL) == 0;
    pthread_attr_destroy(&attributes);
    return has_thread;
}

void
stack_run(void (*function)(void *), void *argument)
{
    task.function = function;
    task.argument = argument;
    if (has_thread) {
        sem_post(&given);
        wait_for(&done);
    }
    else {
        call_there();
    }
}
