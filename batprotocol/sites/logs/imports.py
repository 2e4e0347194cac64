"""An import: the jobs of logs that a user wants, the machine that they ran on, and the files that are made of both."""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from math import inf
from typing import Any, BinaryIO, Final

import msgspec

from batprotocol._util.files import by_ending
from batprotocol._util.tables import LeftOut
from batprotocol._util.times import Clock, zone_of
from batprotocol.errors import InputError, shown
from batprotocol.simulator import Platform, Workload, described_platform, platform_xml
from batprotocol.sites.logs.checking import Numbers, numbers_of_log
from batprotocol.sites.logs.jobs import Attempts, LoggedJob
from batprotocol.sites.logs.platforms import MOST_HOSTS, SiteHost, platform_lines, read_hosts, smallest_hosts
from batprotocol.sites.logs.surveys import Survey, survey_of
from batprotocol.sites.logs.tables import write_table
from batprotocol.sites.logs.windows import HostWindow, events_of, windows_of
from batprotocol.sites.logs.workloads import Unit, logged_workload, unit_for, write_logged_workload
from batprotocol.workloads.host_events import HostEvent, Window

__all__ = [
    "KINDS",
    "OTHER_KINDS",
    "OUTPUTS",
    "PLATFORMS",
    "Anonymizer",
    "ChosenJobs",
    "Import",
    "moment",
    "random_key",
]


# Names: users, groups, accounts and names of jobs, always with the same other name for one key


KINDS: Final = ("user", "group", "account", "name")
"""The values that are replaced in any case."""

OTHER_KINDS: Final = ("partition", "qos", "reservation")
"""The values that are replaced on demand."""

_DIGITS: Final = 16
_SHORTEST_KEY: Final = 8
_MOST_KNOWN: Final = 200_000


def random_key() -> str:
    """A key that nobody can guess, of 32 digits."""
    return secrets.token_hex(16)


class Anonymizer:
    """Replaces names.

    Sixteen digits are 64 bits: among a million names of one kind, two have the same replacement with a probability of
    3e-8.

    Args:
        key: the key, at least eight characters. The same key always gives the same replacements.
        others: the values among `OTHER_KINDS` that are replaced, too.

    >>> Anonymizer("a secret of the site").replacement("user", "ada")
    'user-daa290733c2ff725'

    Raises:
        InputError: the key is too short, or a kind is unknown.
    """

    def __init__(self, key: str, others: Iterable[str] = ()) -> None:
        if len(key) < _SHORTEST_KEY:
            raise InputError(f"expected a key of at least {_SHORTEST_KEY} characters, got {len(key)}")
        self.kinds = (*KINDS, *dict.fromkeys(others))
        for kind in self.kinds[len(KINDS) :]:
            if kind not in OTHER_KINDS:
                raise InputError(f"expected one of {', '.join(OTHER_KINDS)}, got {kind!r}")
        self._key = key.encode()
        self._known: dict[tuple[str, str], str] = {}

    def replacement(self, kind: str, name: str) -> str:
        """The replacement of a name."""
        found = self._known.get((kind, name))
        if found is None:
            digest = hmac.digest(self._key, f"{kind}\0{name}".encode("utf-8", "surrogatepass"), "sha256")
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[kind, name] = f"{kind}-{digest.hex()[:_DIGITS]}"
        return found

    def job(self, job: LoggedJob) -> LoggedJob:
        """The job with replacements of its names. Several partitions with commas are replaced one by one."""
        changes: dict[str, Any] = {}
        for kind in self.kinds:
            value = getattr(job, kind)
            if value:
                parts = value.split(",") if kind == "partition" else [value]
                changes[kind] = ",".join(self.replacement(kind, part) for part in parts)
        return msgspec.structs.replace(job, **changes)

    def partitions(self, names: Iterable[str]) -> tuple[str, ...]:
        """The partitions of a host as jobs name them now."""
        if "partition" not in self.kinds:
            return tuple(names)
        return tuple(self.replacement("partition", name) for name in names)


# The jobs that a user wants: of several files, of a period, and without names


_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
EARLIER: Final = "the job was submitted before the period"
LATER: Final = "the job was submitted after the period"


class ChosenJobs:
    """The jobs of logs in a period, read anew in each iteration.

    Args:
        logs: the logs, in order. Each can be read more than once.
        begin: only jobs that were submitted at this moment or later, in seconds since 1970 (UTC).
        end: only jobs that were submitted before this moment.
        anonymizer: it replaces names; None: names are kept.
        left_out: where the first iteration counts jobs outside of the period.
    """

    def __init__(
        self,
        logs: Iterable[Iterable[LoggedJob]],
        *,
        begin: float = -inf,
        end: float = inf,
        anonymizer: Anonymizer | None = None,
        left_out: LeftOut | None = None,
    ) -> None:
        self._logs = list(logs)
        self._begin, self._end = begin, end
        self._anonymizer = anonymizer
        self._left_out = LeftOut() if left_out is None else left_out
        self._is_counted = False

    def __iter__(self) -> Iterator[LoggedJob]:
        left_out = LeftOut() if self._is_counted else self._left_out
        self._is_counted = True
        begin, end, anonymizer = self._begin, self._end, self._anonymizer
        for log in self._logs:
            for job in log:
                if begin <= job.first.submitted < end:
                    yield job if anonymizer is None else anonymizer.job(job)
                else:
                    left_out.row(EARLIER if job.first.submitted < begin else LATER, job.line)


def moment(text: str, zone: str | None = None) -> float:
    """A moment in seconds since 1970 (UTC): a day, a day with a time, or such seconds.

    Args:
        text: such as `2026-11-23`, `2026-11-23T22:33:19`, `2026-11-23T22:33:19+01:00`.
        zone: the zone of a moment that has none, such as `Europe/Paris`; None: UTC.

    >>> moment("2026-11-23"), moment("2026-11-23T00:00:00", "Europe/Paris")
    (1795392000.0, 1795388400.0)

    Raises:
        InputError: the text is not a moment, or there is no such zone.
    """
    clock = Clock(zone_of(zone))
    try:
        found = clock.at(f"{text}T00:00:00" if _DAY.fullmatch(text) else text)
    except ValueError:
        found = None
    if found is None:
        raise InputError(f"expected a moment such as 2026-11-23 or 2026-11-23T22:33:19, got {shown(text)}")
    return found


OUTPUTS: Final = {".json": "workload", ".parquet": "parquet", ".csv": "csv"}
"""The endings of files of jobs, with what is in such a file."""

PLATFORMS: Final = {".txt": "lines", ".xml": "xml"}
"""The endings of files of platforms, with what is in such a file."""


class Import:
    """The import of logs.

    Args:
        jobs: the jobs, which can be read more than once.
        nodes: a file with the nodes of the site, as `read_hosts` reads it; None: the smallest machine is made.
        attempts: which attempts of a job become jobs.
        unit: what jobs ask for; None: the log decides.
        priority: whether jobs keep the priority of the log.
        reservations: whether jobs keep the reservation of the log.
        anonymizer: the one that the jobs have passed, for the partitions of hosts.

    Attributes:
        left_out: the jobs and values that the workload does not have, once it was written.

    Raises:
        InputError: the jobs or the nodes cannot be read.
        OSError: a file cannot be read.
    """

    def __init__(
        self,
        jobs: Iterable[LoggedJob],
        *,
        nodes: str | os.PathLike[str] | None = None,
        attempts: Attempts = "last",
        unit: Unit | None = None,
        priority: bool = False,
        reservations: bool = False,
        anonymizer: Anonymizer | None = None,
    ) -> None:
        self._jobs = jobs
        self._attempts = attempts
        self._priority, self._reservations = priority, reservations
        self.left_out = LeftOut()
        given = None if nodes is None else read_hosts(nodes)
        self.survey: Survey = survey_of(jobs, attempts=attempts)
        self.has_nodes = given is not None
        self.unit: Unit = unit or unit_for(self.survey, None if given is None else _platform(given))
        self.hosts: Sequence[SiteHost] = smallest_hosts(self.survey, self.unit) if given is None else given
        if anonymizer is not None and given is not None:  # otherwise, the partitions are those of the jobs
            self.hosts = [
                msgspec.structs.replace(host, partitions=anonymizer.partitions(host.partitions)) for host in given
            ]

    @cached_property
    def platform(self) -> Platform:
        """The platform of the hosts."""
        return _platform(self.hosts)

    def workload(self) -> Workload:
        """The workload of the jobs, in memory. `skipped` is the number of the jobs that it leaves out."""
        made = logged_workload(
            self._jobs,
            platform=self.platform,
            survey=self.survey,
            unit=self.unit,
            attempts=self._attempts,
            priority=self._priority,
            reservations=self._reservations,
        )
        made.skipped = max(self.survey.rows - len(made), 0)
        return made

    def numbers(self) -> Numbers:
        """The log's own numbers: its utilisation and waiting times."""
        return numbers_of_log(self._jobs, self.platform, self.unit, self._attempts, awaited=self.survey.awaited)

    def windows(self) -> list[HostWindow]:
        """The windows of time in which the log shows hosts down or lent."""
        return windows_of(self._jobs, self.survey.first_submission)

    def events(self) -> list[tuple[float, HostEvent | Window]]:
        """The same windows as events of hosts with their times. Hosts and reservations that cannot are counted."""
        numbers = {host.name: host.id for host in self.platform.computation_hosts}
        return events_of(self.windows(), numbers, self.left_out)

    def write(self, file: BinaryIO, kind: str, *, guard: bool = False) -> int:
        """Write the jobs.

        Args:
            file: the file.
            kind: a value of `OUTPUTS`. A workload leaves out jobs that did not run, and a table those that could not be
                read back. `left_out` counts them.
            guard: for `csv`: whether an apostrophe is written before texts that a spreadsheet would compute as
                formulas.

        Returns:
            the number of jobs.

        Raises:
            PackageMissing: the package for Parquet is missing.
            OSError: the file cannot be written.
        """
        if kind != "workload":
            return write_table(file, self._jobs, kind, left_out=self.left_out, guard=guard)
        return write_logged_workload(
            file,
            self._jobs,
            platform=self.platform,
            survey=self.survey,
            unit=self.unit,
            attempts=self._attempts,
            priority=self._priority,
            reservations=self._reservations,
            left_out=self.left_out,
        )

    def platform_text(self, path: str) -> str:
        """The text of a file with the platform, by the ending of its name.

        Raises:
            InputError: the name has another ending, or there are no hosts.
        """
        kind = by_ending(path, PLATFORMS)
        if not self.hosts:
            raise InputError("there is no platform without hosts: no job of the log ran")
        return platform_xml(self.platform) if kind == "xml" else "".join(f"{line}\n" for line in self.lines)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of `described_platform`."""
        return platform_lines(self.hosts)


def _platform(hosts: Sequence[SiteHost]) -> Platform:
    if len(hosts) > MOST_HOSTS:
        raise InputError(f"the machine has {len(hosts):,} hosts, and the limit is {MOST_HOSTS:,}")
    return described_platform(platform_lines(hosts), limit=MOST_HOSTS)
