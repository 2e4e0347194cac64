/* SIGINT and SIGTERM, which end Batsim's process unless Batsim has handlers of its own.

   While Python is at work, the scheduler is interrupted, as it would be in a process of its own, and Batsim is told that
   it has failed. While Batsim is at work, nobody would notice for as long as it takes: the process ends as it would
   without this library, after a sentence. */

#include "embedded.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define CAUGHT 2
#define ALL 4

/* Python ignores the last two when it starts. That is for programs to decide, and this one is Batsim. */
static const int numbers[ALL] = {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ};
static struct sigaction before[ALL];
static void (*pythons[CAUGHT])(int);

static volatile sig_atomic_t is_working;
static pthread_t worker, home; /* who works, and who Python runs its handlers in */
static int has_home;

static void
say(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written;
}

static void
on_signal(int number)
{
    int error = errno;
    if (!is_working) {
        say("batprotocol: ");
        say(number == SIGINT ? "SIGINT" : "SIGTERM");
        say(" came while Batsim was at work, and ends it\n");
        signal(number, SIG_DFL);
        raise(number); /* once this handler has returned */
    }
    else if (pthread_equal(pthread_self(), worker)) {
        pythons[number == SIGINT ? 0 : 1](number);
    }
    else {
        pthread_kill(worker, number); /* what it waits for is to be interrupted; and Python is to be told once */
    }
    errno = error;
}

void
signals_remember(void)
{
    for (int each = 0; each < ALL; each++) {
        sigaction(numbers[each], NULL, &before[each]);
    }
    home = pthread_self();
    has_home = 1;
}

void
signals_restore(void)
{
    for (int each = CAUGHT; each < ALL; each++) {
        sigaction(numbers[each], &before[each], NULL);
    }
}

void
signals_catch(void)
{
    for (int each = 0; each < CAUGHT; each++) {
        struct sigaction action;
        sigaction(numbers[each], NULL, &action);
        if (before[each].sa_handler != SIG_DFL) { /* it is Batsim's own, or ignored by those who started Batsim */
            sigaction(numbers[each], &before[each], NULL);
        }
        else if (action.sa_handler != SIG_DFL && action.sa_handler != on_signal) {
            pythons[each] = action.sa_handler;
            action.sa_handler = on_signal;
            action.sa_flags = SA_ONSTACK; /* the stacks of actors are small */
            sigaction(numbers[each], &action, NULL);
        }
    }
    signals_working(1);
}

void
signals_working(int working)
{
    worker = pthread_self();
    is_working = working && has_home && pthread_equal(worker, home);
}
