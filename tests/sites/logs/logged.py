"""Logged jobs for the tests of all that is made of logs.

A job is drawn from one number. So a log shrinks to few jobs, and hundreds of logs take no time.
"""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st

from batprotocol.sites.logs import Attempt, AttemptState, LoggedJob

__all__ = ["logged_job", "logs"]

HOSTS = [f"n{number}" for number in (*range(4), 10)]
STATES = list(AttemptState)
TEXTS = [None, None, "ada", "bob", "", "a,b", 'quote " comma ,', "w0!7", "é\n\r", "x" * 1200, " ", "null"]
GRES: list[tuple[tuple[str, int], ...]] = [(), (("gpu", 2),), (("gpu", 2), ("gpu:a100", 2)), (("odd name", 1),)]
DEPENDENCIES = [None, None, "afterok:1", "after:0?afterany:77", "singleton", "what:1"]


def _attempt(draw: Random) -> Attempt:
    """An attempt that ran, waited, or has times that cannot be."""
    submitted = 1.7e9 + draw.randrange(5000) / draw.choice([1, 10])
    started = submitted + draw.randrange(5000) / draw.choice([1, 10]) if draw.random() < 0.9 else None
    ended = (started or submitted) + draw.randrange(-1, 5000) / draw.choice([1, 10]) if draw.random() < 0.9 else None
    return Attempt(
        submitted=submitted,
        eligible=draw.choice([None, submitted]),
        started=started,
        ended=ended,
        state=draw.choice(STATES),
        hosts=tuple(draw.sample(HOSTS, draw.randrange(4))),
        suspended=draw.choice([0.0, 0.0, 3.0]),
        exit_code=draw.choice([None, 0, 3]),
        signal=draw.choice([None, 0, 9]),
    )


def logged_job(seed: int, line: int = 0) -> LoggedJob:
    """A logged job with any values. Some jobs have the same id."""
    draw = Random(seed)
    count = [None, 1, 2, 3, 64]
    memory = [None, 1, 2**30, 3 * 2**20 + 1]
    texts: dict[str, Any] = {
        name: draw.choice(TEXTS) for name in ("name", "user", "group", "account", "partition", "qos", "reservation")
    }
    return LoggedJob(
        id=draw.choice([str(seed), f"0_{seed}", "w0!1", "1"]),
        attempts=tuple(_attempt(draw) for _ in range(draw.choice([1, 1, 2, 3]))),
        host_count=draw.choice([1, 1, 2, 3]),
        cores=draw.choice(count),
        memory=draw.choice(memory),
        gres=draw.choice(GRES),
        requested_hosts=draw.choice(count),
        requested_cores=draw.choice(count),
        requested_memory=draw.choice(memory),
        requested_gres=draw.choice(GRES),
        walltime=draw.choice([None, 1.0, 60.0, 9e9]),
        constraint=draw.choice([None, "ib", "a&b", "&&"]),
        priority=draw.choice([None, 0, 9]),
        dependency=draw.choice(DEPENDENCIES),
        array=draw.choice([None, "0"]),
        exclusive=draw.choice([None, False, True]),
        packed=draw.choice([None, False, True]),
        line=line,
        **texts,
    )


def _log(seeds: list[int]) -> list[LoggedJob]:
    return [logged_job(seed, line) for line, seed in enumerate(seeds, 2)]


logs = st.lists(st.integers(0, 10_000), max_size=6).map(_log)
"""Logs of up to six jobs. A job may be in its log twice."""
