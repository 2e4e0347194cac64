"""A client that calls Slurm's commands."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from batprotocol.sites.slurm.client.answers import (
    NODE_FORMAT,
    QUEUE_FORMAT,
    read_limits,
    read_nodes,
    read_queue,
    read_submitted,
)
from batprotocol.sites.slurm.client.errors import SlurmAway, SlurmError
from batprotocol.sites.slurm.client.rows import Batch, Limits, SlurmJob, SlurmNode
from batprotocol.sites.slurm.client.runners import Runner

__all__ = ["SlurmCommands", "sbatch_words"]

AT_ONCE: Final = 500
"""How many jobs a command gets."""

PAUSE_SECONDS: Final = 0.5

_GONE: Final = re.compile(r"invalid job id|already (?:completing|completed)|job/step already", re.I)


class SlurmCommands:
    """Calls `squeue`, `sinfo`, `scontrol`, `sbatch` and `scancel`.

    Args:
        runner: runs them.
        timeout: how many seconds a call may take. Questions are asked again until then while slurmctld is away.
    """

    def __init__(self, runner: Runner, timeout: float = 30.0) -> None:
        self._runner = runner
        self._timeout = timeout

    def jobs(self) -> Sequence[SlurmJob]:
        mark = f"{secrets.token_hex(8)}="  # a name of several lines cannot look like the row of another job
        return [*read_queue(self._ask("squeue", "--me", "-h", "-r", "-t", "all", "-o", mark + QUEUE_FORMAT), mark)]

    def nodes(self, partition: str) -> Sequence[SlurmNode]:
        chosen = [f"--partition={partition}"] if partition else []
        return [*read_nodes(self._ask("sinfo", "-h", "-N", *chosen, "-o", NODE_FORMAT))]

    def limits(self, partition: str) -> Limits:
        config = self._ask("scontrol", "show", "config")
        if not partition:
            return read_limits(config, "")
        try:
            return read_limits(config, self._ask("scontrol", "-o", "show", "partition", partition))
        except SlurmAway:
            raise
        except SlurmError:
            return read_limits(config, None)

    def submit(self, batch: Batch) -> str:
        printed = self._runner.run(sbatch_words(batch), batch.script.encode(), timeout=self._timeout)
        return read_submitted(printed.decode("utf-8", "replace"))

    def cancel(self, ids: Iterable[str]) -> None:
        for some in _pieces(ids):
            self._order("scancel", "--quiet", *some)

    def signal(self, ids: Iterable[str], name: str) -> None:
        for some in _pieces(ids):
            self._order("scancel", "--quiet", "--batch", f"--signal={name}", *some)

    def _order(self, *words: str) -> None:
        try:
            self._runner.run(words, timeout=self._timeout)
        except SlurmAway:
            raise
        except SlurmError as error:
            if _GONE.search(error.reason) is None:
                raise

    def _ask(self, *words: str) -> str:
        """What a command prints that only asks. It is called again while slurmctld is away."""
        last = time.monotonic() + self._timeout
        while True:
            left = last - time.monotonic()
            try:
                return self._runner.run(words, timeout=max(left, 0.1)).decode("utf-8", "replace")
            except SlurmAway:
                if time.monotonic() + PAUSE_SECONDS >= last:
                    raise
                time.sleep(PAUSE_SECONDS)


def sbatch_words(batch: Batch) -> list[str]:
    """The command that submits a batch, with the script on its standard input.

    >>> sbatch_words(Batch(script="", name="a b", size=3, partition="be"))[1:4]
    ['--parsable', '--job-name=a b', '--array=0-2']
    """
    options = {
        "partition": batch.partition,
        "qos": batch.qos,
        "account": batch.account,
        "constraint": batch.constraint,
        "mem-per-cpu": "" if batch.whole_nodes else batch.memory,
        "comment": batch.comment,
    }
    return [
        "sbatch",
        "--parsable",
        f"--job-name={batch.name}",
        f"--array=0-{batch.size - 1}",
        f"--time={batch.minutes}",
        *([f"--nodes={batch.tasks}", "--exclusive"] if batch.whole_nodes else [f"--ntasks={batch.tasks}"]),
        *([] if batch.whole_nodes else [f"--cpus-per-task={batch.cores}"]),
        *([f"--nice={batch.nice}"] if batch.nice else []),
        *(f"--{name}={value}" for name, value in options.items() if value),
        *("--no-requeue", "--output=/dev/null", "--error=/dev/null", f"--chdir={batch.directory}"),
    ]


def _pieces(ids: Iterable[str]) -> Iterator[list[str]]:
    every = list(ids)
    for first in range(0, len(every), AT_ONCE):
        yield every[first : first + AT_ONCE]
