/* What rewards and metrics add up of jobs, as rewards.py does: every sum is the same. */

#ifndef BATPROTOCOL_GYM_SUMS_H
#define BATPROTOCOL_GYM_SUMS_H

#include "steps.h"

#define MOST_PARTIALS 64
#define TAU 10.0

enum {NO_REWARD, BOUNDED_SLOWDOWN, WAITED, UTILISATION, REWARDS}; /* COUNTED of rewards.py; for the last one, areas */

static double
value_of(const Play *play, int kind, int64_t job, double start)
{
    double waited = start - play->columns[SUBMITTED][job].time, lasted = play->columns[LASTS][job].time;
    if (kind != BOUNDED_SLOWDOWN) {
        return kind == WAITED ? waited : (double)play->columns[SIZES][job].number * lasted;
    }
    double slowdown = (waited + lasted) / (lasted > TAU ? lasted : TAU);
    return slowdown > 1.0 ? slowdown : 1.0;
}

/* The sum of the values of the jobs that started last, rounded once, as `math.fsum` does: partial sums without errors. */
static double
sum_of_started(const Play *play, int kind, int64_t from)
{
    double partials[MOST_PARTIALS], sum = 0.0, error = 0.0;
    int count = 0;
    for (int64_t number = from; number < play->started; number++) {
        int64_t job = play->lists[STARTED][number].number;
        double value = value_of(play, kind, job, play->lists[STARTS][job].time);
        int kept = 0;
        for (int place = 0; place < count; place++) {
            double other = partials[place];
            double large = fabs(value) < fabs(other) ? other : value, small = fabs(value) < fabs(other) ? value : other;
            value = large + small;
            error = small - (value - large);
            if (error != 0.0) {
                partials[kept++] = error;
            }
        }
        count = kept < MOST_PARTIALS ? kept + 1 : kept; /* there are never as many of finite numbers */
        partials[count - 1] = value;
    }
    error = 0.0;
    while (count && error == 0.0) {
        double large = sum, small = partials[--count];
        sum = large + small;
        error = small - (sum - large);
    }
    if (count && ((error < 0.0 && partials[count - 1] < 0.0) || (error > 0.0 && partials[count - 1] > 0.0))) {
        double twice = 2.0 * error, larger = sum + twice; /* half a unit, and more behind it */
        if (twice == larger - sum) {
            sum = larger;
        }
    }
    return sum;
}

#endif
