"""Decide by looking ahead: play each choice to the end with F4, and take the one that comes out best.

    python lookahead.py lublin_256.swf.gz --choices 8

This is the rollout algorithm (Bertsekas, Tsitsiklis and Wu, Journal of Heuristics 3, 1997) with a policy as the base.
The rollouts run the simulation itself, so they know when jobs will come and how long they will run. The figure shows
the gain of perfect knowledge; a scheduler of a real machine cannot reach it.
"""

from __future__ import annotations

import argparse
from statistics import fmean

import numpy as np

from batprotocol.gym import Batch, LogArrays, order_of
from batprotocol.policies import EASY, FCFS
from batprotocol.simulator import named_workload

STARTS = (1981, 2714, 2756, 3316, 4022, 4299, 5228, 7085, 7762, 8850)
"""The sequences of published tables."""
PUBLISHED = EASY(FCFS(), spare=False, strict=True, once=True)


def worth(env: Batch, action: int, base: str, depth: int) -> float:
    """The reward after an action, if the base policy decides the next ones."""
    reward, is_over = env.decide(action)
    while not is_over and depth:
        reward, is_over = env.decide(env.pick(base))
        depth -= 1
    return reward if is_over else env.value()


def best(env: Batch, base: str, choices: int, depth: int) -> int:
    """The action that is worth most, among those that the base policy likes best."""
    ranks = env.log.ranks(order_of(base))[np.array(env.world.queue[: env.max_queue]) + env.world.first]
    actions = ranks.argsort()[:choices].tolist()
    if len(actions) == 1:
        return int(actions[0])
    moment, worths = env.snapshot(), []
    for action in actions:
        worths.append(worth(env, action, base, depth))
        env.restore(moment)
    return int(actions[int(np.argmax(worths))])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("log", help="lublin_256.swf.gz")
    parser.add_argument("--base", default="f4", help="the policy that plays on")
    parser.add_argument("--choices", type=int, default=8, help="how many actions are tried")
    parser.add_argument("--depth", type=int, default=10**9, help="how many decisions the base policy plays on")
    parser.add_argument("--jobs", type=int, default=1024)
    parser.add_argument("--backfilling", action="store_true")
    parser.add_argument("--starts", type=int, nargs="+", default=STARTS)
    given = parser.parse_args()
    log = LogArrays(named_workload(f"{given.log}?jobs=0-&larger=yes&runtime-limits=yes"))
    env = Batch(log, jobs=given.jobs, max_queue=given.jobs, backfilling=PUBLISHED if given.backfilling else None)
    values = []
    for first in given.starts:
        env.begin_episode(options={"first": first})
        is_over = False
        while not is_over:
            reward, is_over = env.decide(best(env, given.base, given.choices, given.depth))
        values.append(-reward)
        print(f"{first:>6} {values[-1]:8.2f}", flush=True)
    print(f"  mean {fmean(values):8.2f}")


if __name__ == "__main__":
    main()
