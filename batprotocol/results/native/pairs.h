/* Numbers of 64 bits, as `arithmetic.py` has them: a double, and its remainder. No two operations may become one. */

#ifndef BATPROTOCOL_PAIRS_H
#define BATPROTOCOL_PAIRS_H

#include <math.h>

#define PAIR_BITS 9007199254740992.0
#define PAIR_LAST 0.000732421875
#define PAIR_HUGE 1e290

typedef struct {
    double high, low;
} Pair;

static inline Pair
rounded(double high, double rest)
{
    double near = high + rest, low = rest - (near - high);
    if (low == 0.0) {
        return (Pair){near, 0.0};
    }
    double scaled = near * (PAIR_BITS / 2.0 + 1.0), power = fabs(scaled - (1.0 - 1.0 / PAIR_BITS) * scaled);
    if (power == fabs(near) && (low < 0.0) == (near > 0.0)) {
        power /= 2.0;
    }
    double unit = power * PAIR_LAST;
    low = (low + unit) - unit;
    double nearest = near + low;
    return (Pair){nearest, low - (nearest - near)};
}

static inline Pair
plus(Pair one, Pair other)
{
    double added = one.high + other.high;
    if (!(fabs(added) < PAIR_HUGE)) {
        return (Pair){added, 0.0};
    }
    double part = added - one.high;
    double rest = (one.high - (added - part)) + (other.high - part) + (one.low + other.low);
    return rounded(added, rest);
}

static inline Pair
between(double start, double end)
{
    return plus((Pair){end, 0.0}, (Pair){-start, -0.0});
}

#endif
