"""Measure the cost of a step of an environment, beside one of Gymnasium's CartPole-v1.

Agents choose at random among what is allowed, of the default log; observations are 128 x 8 numbers of the queue, 64 x 2
of running jobs, and 3, with their masks. The processor's time counts, new episodes included, in one interleaved run.
In vectors, it is that of a step of one of their environments. Jobs are those that start in a step of one environment:
with backfilling, several do.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time_ns
from typing import Any, NamedTuple

# Run as a script, it measures the installed batprotocol, or without one the source tree.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent))

from benchmark.tables import parser_for, table

__all__ = ["Measured", "main", "measure"]

CARTPOLE = "CartPole-v1"
VECTORS = (1, 16, 256)
TURNS = 4
KINDS: dict[str, dict[str, Any]] = {
    "blocking": {},
    "only what fits": {"choice": "fitting"},
    "EASY backfilling": {"backfilling": "easy"},
    "backfilling of published tables": {"backfilling": "easy=fcfs,no-spare,strict,once"},
}


class Measured(NamedTuple):
    """A step of one environment."""

    microseconds: float
    """Of the processor's time, the median."""
    jobs: float
    """How many jobs start in a step."""


class Player:
    """Steps that are drawn beforehand, so that drawing costs next to nothing."""

    def __init__(self, env: Any, choose: Callable[[Any, int], Any]) -> None:
        import numpy as np

        self.env, self._choose = env, choose
        self._drawn = np.random.default_rng(1).integers(0, 1 << 30, 4096).tolist()
        self.steps = self.episodes = 0
        env.reset(seed=1)

    def play(self, steps: int) -> float:
        """Microseconds a step."""
        env, choose, drawn = self.env, self._choose, self._drawn
        began = process_time_ns()
        for number in range(steps):
            over = env.step(choose(env, drawn[number % 4096]))[2]
            if over:
                env.reset()
                self.episodes += 1
        self.steps += steps
        return (process_time_ns() - began) / 1000 / steps


class VectorPlayer:
    """The same for several at a time. Only the steps are measured: actions are drawn from the masks between them."""

    def __init__(self, env: Any) -> None:
        import numpy as np

        self.env, self._random = env, np.random.default_rng(1)
        self.steps = self.episodes = 0  # these are not counted: many episodes end after the last step
        self._masks = env.reset(seed=1)[1]["action_mask"]

    def play(self, steps: int) -> float:
        """Microseconds a step of one environment."""
        count, passed, turns = self.env.num_envs, 0, max(steps // self.env.num_envs, TURNS)
        for _ in range(turns):
            keys = self._random.random(self._masks.shape) * self._masks
            actions = keys.argmax(axis=1)
            began = process_time_ns()
            infos = self.env.step(actions)[-1]
            passed += process_time_ns() - began
            self._masks = infos["action_mask"]
        self.steps += turns * count
        return passed / 1000 / (turns * count)


def measure(rounds: int, steps: int = 1000) -> dict[str, Measured]:
    """A step of each environment."""
    import gymnasium

    import batprotocol.gym  # noqa: F401  # Gymnasium knows them then

    def waiting(env: Any, drawn: int) -> int:
        inner = env.unwrapped
        if not inner.only_fitting:
            return drawn % min(max(inner.world.waiting, 1), inner.max_queue)
        places = inner.allowed().nonzero()[0]
        return int(places[drawn % len(places)])

    players: dict[str, Player | VectorPlayer] = {
        CARTPOLE: Player(gymnasium.make(CARTPOLE), lambda env, drawn: drawn & 1)
    }
    for name, options in KINDS.items():
        players[name] = Player(gymnasium.make("batprotocol/Batch-v0", jobs=1024, **options), waiting)
        for count in VECTORS:
            vector = gymnasium.make_vec("batprotocol/Batch-v0", num_envs=count, jobs=1024, **options)
            players[f"{name}, {count} in a vector"] = VectorPlayer(vector)
    samples: dict[str, list[float]] = {name: [] for name in players}
    for _ in range(rounds):
        for name, player in players.items():
            samples[name].append(player.play(steps))
    return {
        name: Measured(statistics.median(found), players[name].episodes * 1024 / max(players[name].steps, 1))
        for name, found in samples.items()
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_for(__doc__, quick="fewer rounds")
    given = parser.parse_args(arguments)
    found = measure(5 if given.quick else 21)
    base = found[CARTPOLE].microseconds
    rows = [["a step", "µs", "steps a second", f"against {CARTPOLE}", "jobs a step"]]
    for name, (time, jobs) in found.items():
        count = f"{jobs:.1f}" if jobs and name != CARTPOLE else ""
        rows.append([name, f"{time:.1f}", f"{1e6 / time:,.0f}", f"{time / base:.1f}x", count])
    print(f"Environments, random choices:\n\n{table(rows, given.markdown)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
