"""An import: the jobs of logs, the machine that they ran on, and the files that are made of both.

It must not know formats, nor how results are shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import BinaryIO, Final

import msgspec

from batprotocol._util.files import by_ending
from batprotocol._util.tables import LeftOut
from batprotocol.errors import InputError
from batprotocol.simulator import Platform, Workload, described_platform, platform_xml
from batprotocol.sites.logs.anonymous import Anonymizer
from batprotocol.sites.logs.asking import Unit, unit_for
from batprotocol.sites.logs.checking import Numbers, numbers_of_log
from batprotocol.sites.logs.host_events import events_of
from batprotocol.sites.logs.jobs import LoggedJob
from batprotocol.sites.logs.platforms import MOST_HOSTS, SiteHost, platform_lines, read_hosts, smallest_hosts
from batprotocol.sites.logs.runs import Attempts
from batprotocol.sites.logs.surveys import Survey, survey_of
from batprotocol.sites.logs.tables import write_table
from batprotocol.sites.logs.windows import HostWindow, windows_of
from batprotocol.sites.logs.workloads import logged_workload, write_logged_workload
from batprotocol.workloads.host_events import HostEvent, Window

__all__ = ["OUTPUTS", "PLATFORMS", "Import"]

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
