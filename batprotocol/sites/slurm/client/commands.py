"""A client that calls Slurm's commands, and the readers of what they print, which skip lines that they cannot read."""

from __future__ import annotations

import math
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from batprotocol.errors import InputError
from batprotocol.sites.slurm.client.runners import CommandRunner
from batprotocol.sites.slurm.client.values import (
    JobBatch,
    ReportedJob,
    ReportedNode,
    SlurmAway,
    SlurmError,
    SlurmLimits,
)
from batprotocol.sites.slurm.texts import NOTHING, job_id, keyed, span

__all__ = [
    "NODE_FORMAT",
    "QUEUE_FORMAT",
    "SlurmCommands",
    "read_limits",
    "read_minutes",
    "read_nodes",
    "read_queue",
    "read_submitted",
    "sbatch_words",
]


QUEUE_FORMAT: Final = "%i|%T|%B|%r|%j"
"""The format of squeue. The name is last, as it may have any characters, also ends of lines."""

LONGEST_ID: Final = 10_000
"""How many characters at the end of a text are searched for an id."""

MOST_ROWS: Final = 100_000
"""How many jobs or nodes are read."""

NODE_FORMAT: Final = "%N|%T|%C"

_STATE: Final = re.compile(r"([a-z_]+)([*~#!%$@^+-]*)")
_CORES: Final = re.compile(r"([0-9]{1,18})/([0-9]{1,18})/([0-9]{1,18})/([0-9]{1,18})")
_SUBMITTED: Final = re.compile(r"([1-9][0-9]{0,18})(?:;[^\n]{0,200})?")
_KEY: Final = re.compile(r"(\w+) {0,100}= {0,100}([^\n]{0,1000})")


def read_queue(printed: str, mark: str = "") -> Iterator[ReportedJob]:
    """The jobs that `squeue -h -r -o MARK+QUEUE_FORMAT` prints.

    Args:
        printed: what it prints.
        mark: a text that no name of a job has. Each row begins with it, so a name with several lines is no further row.

    Raises:
        SlurmError: there are more than `MOST_ROWS`.

    >>> [*read_queue("12_3|RUNNING|n4|None|a|b\\nno job\\n")]
    [ReportedJob(id='12_3', name='a|b', state='RUNNING', reason='None', node='n4', task=3)]
    >>> [job.name for job in read_queue("=1|RUNNING|n4|None|a\\n2|RUNNING|n4|None|b\\n", "=")]
    ['a\\n2|RUNNING|n4|None|b']
    """
    for row in _rows(printed, mark):
        words = row.split("|", 4)
        id = job_id(words[0])
        if id is None or id.kind == "+" or len(words) < 5:
            continue
        text, state, node, reason, name = words
        index = id.part if id.kind else None
        yield ReportedJob(text, name, state, reason, "" if node in NOTHING else node, index)


def _rows(printed: str, mark: str = "") -> Iterator[str]:
    """The rows of a text. Each begins with a mark at the beginning of a line."""
    if mark and not printed.startswith(mark):
        _, found, printed = printed.partition(f"\n{mark}")
        printed = f"{mark}{printed}" if found else ""
    at, count = 0, 0
    while at < len(printed):
        end = printed.find(f"\n{mark}", at)
        row = printed[at + len(mark) : end if end >= 0 else len(printed)]
        yield row if end >= 0 else row.removesuffix("\n")
        at = end + 1 if end >= 0 else len(printed)
        count += 1
        if count > MOST_ROWS:
            raise SlurmError(f"expected at most {MOST_ROWS} rows of Slurm's commands, got more")


def read_nodes(printed: str) -> Iterator[ReportedNode]:
    """The nodes that `sinfo -h -N -o NODE_FORMAT` prints, each once.

    >>> [*read_nodes("n0|mixed|1/3/0/4\\nn1|down*|0/0/4/4\\n")][1]
    ReportedNode(name='n1', state='down', responds=False, allocated=0, idle=0, total=4)
    """
    seen = set()
    for line in _rows(printed):
        name, _, rest = line.partition("|")
        state, _, cores = rest.partition("|")
        is_state, is_cores = _STATE.fullmatch(state.strip()), _CORES.fullmatch(cores.strip())
        if not name or name in seen or is_state is None or is_cores is None:
            continue
        seen.add(name)
        allocated, idle, _, total = map(int, is_cores.groups())
        yield ReportedNode(name, is_state[1], "*" not in is_state[2], allocated, idle, total)


def read_submitted(printed: str) -> str:
    """The id that `sbatch --parsable` prints. It raises `SlurmError` if there is none.

    >>> read_submitted("a remark of the site\\n1234;cluster\\n")
    '1234'
    """
    for line in reversed(printed[-LONGEST_ID:].strip().split("\n")):
        found = _SUBMITTED.fullmatch(line.strip())
        if found is not None:
            return found[1]
    raise SlurmError(f"sbatch: expected the id of a job, got {printed[:60]!r}")


def read_limits(config: str, partition: str | None) -> SlurmLimits:
    """The limits in what `scontrol show config` and `scontrol -o show partition` print.

    Args:
        config: the configuration.
        partition: the partition; None: there is none of this name; "": nobody has asked.
    """
    keys = {found[1]: found[2].strip() for line in config.split("\n") if (found := _KEY.match(line))}
    size = keys.get("MaxArraySize", "")
    return SlurmLimits(
        array_size=int(size) if size.isdigit() and len(size) < 12 else 1001,
        whole_nodes=keys.get("SelectType", "") == "select/linear",
        longest=read_minutes(dict(keyed(partition or "")).get("MaxTime", "")),
        exists=partition is not None,
    )


def read_minutes(text: str) -> int | None:
    """A time in Slurm's notation, in whole minutes, rounded down; None for other texts, such as UNLIMITED.

    >>> read_minutes("1-02:00:00"), read_minutes("90"), read_minutes("00:01:30"), read_minutes("UNLIMITED")
    (1560, 90, 1, None)
    """
    try:
        seconds = span(text)
    except InputError:
        return None
    return None if math.isinf(seconds) else int(seconds // 60)


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

    def __init__(self, runner: CommandRunner, timeout: float = 30.0) -> None:
        self._runner = runner
        self._timeout = timeout

    def jobs(self) -> Sequence[ReportedJob]:
        mark = f"{secrets.token_hex(8)}="  # a name of several lines cannot look like the row of another job
        return [*read_queue(self._ask("squeue", "--me", "-h", "-r", "-t", "all", "-o", mark + QUEUE_FORMAT), mark)]

    def nodes(self, partition: str) -> Sequence[ReportedNode]:
        chosen = [f"--partition={partition}"] if partition else []
        return [*read_nodes(self._ask("sinfo", "-h", "-N", *chosen, "-o", NODE_FORMAT))]

    def limits(self, partition: str) -> SlurmLimits:
        config = self._ask("scontrol", "show", "config")
        if not partition:
            return read_limits(config, "")
        try:
            return read_limits(config, self._ask("scontrol", "-o", "show", "partition", partition))
        except SlurmAway:
            raise
        except SlurmError:
            return read_limits(config, None)

    def submit(self, batch: JobBatch) -> str:
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


def sbatch_words(batch: JobBatch) -> list[str]:
    """The command that submits a batch, with the script on its standard input.

    >>> sbatch_words(JobBatch(script="", name="a b", size=3, partition="be"))[1:4]
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
