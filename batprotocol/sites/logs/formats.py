"""The formats of logs: one table with their names, how a file shows that it has one, and their readers.

A format is a module or a package beside this one with a function `read_...`. It is imported when it is needed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from typing import Final, NamedTuple, Protocol

from batprotocol._util.tables import LeftOut
from batprotocol.sites.logs.jobs import LoggedJob

__all__ = ["FORMATS", "LogFormat", "Reader"]


class Reader(Protocol):
    """A reader of a format. It streams: it keeps no more of the file than it must."""

    def __call__(
        self, path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None
    ) -> Iterator[LoggedJob]:
        """The jobs of a file, in its order.

        Args:
            path: the file, compressed by gzip or xz or not.
            left_out: where it counts what it leaves out.
            zone: the zone of times that have none, such as `Europe/Paris`; None: UTC.

        Raises:
            InputError: the file as a whole cannot be read: it has no header, or is not of this format.
            OSError: the file cannot be read.
        """


class LogFormat(NamedTuple):
    """A format of logs.

    Attributes:
        title: what it is, for lists.
        place: the module and the function of its reader, `module:function`.
        looks_like: regular expressions; a file whose first bytes one of them matches has the format.
        takes_fields: whether its reader takes `fields` and `delimiter`, the names of the columns of a file without
            header and the text between values.
    """

    title: str
    place: str
    looks_like: tuple[str, ...] = ()
    takes_fields: bool = False

    def reader(self) -> Reader:
        """The reader of the format."""
        module, _, function = self.place.partition(":")
        found: Reader = getattr(import_module(module), function)
        return found


_READY: Final = "batprotocol.sites.logs.columns.ready"

FORMATS: Final[dict[str, LogFormat]] = {
    "table": LogFormat(
        "a table that batproto import wrote, as Parquet or CSV",
        "batprotocol.sites.logs.tables:read_table",
        (r"(?:PAR1 )?id,(?:attempt,)?submitted,",),
    ),
    "pm100": LogFormat(
        "PM100: jobs of CINECA's Marconi100, as Parquet",
        f"{_READY}:read_pm100",
        (r"PAR1 [^\n]*num_cores_alloc",),
    ),
    "fugaku": LogFormat("F-DATA: jobs of Fugaku, as Parquet", f"{_READY}:read_fugaku", (r"PAR1 [^\n]*cnumat",)),
    "philly": LogFormat(
        "Philly: cluster_job_log of Microsoft's GPU clusters, as JSON",
        f"{_READY}:read_philly",
        (r'\s*\[?\s*\{\s*"status"\s*:\s*"[^"]*"\s*,\s*"vc"',),
    ),
    "helios": LogFormat(
        "Helios: cluster_log.csv of SenseTime's GPU clusters", f"{_READY}:read_helios", (r"job_id,user,vc,",)
    ),
    "alibaba-2020": LogFormat("Alibaba's cluster-trace-gpu-v2020: pai_task_table.csv", f"{_READY}:read_alibaba_2020"),
    "alibaba-2023": LogFormat(
        "Alibaba's cluster-trace-gpu-v2023: openb_pod_list_default.csv",
        f"{_READY}:read_alibaba_2023",
        (r"name,cpu_milli,memory_mib,",),
    ),
    "opendc": LogFormat(
        "OpenDC: tasks.parquet of a workload",
        f"{_READY}:read_opendc",
        (r"PAR1 (?=[^\n]*submission_time)(?=[^\n]*cpu_capacity)(?=[^\n]*mem_capacity)",),
    ),
    "elastisim": LogFormat(
        "ElastiSim: the jobs of a workload",
        "batprotocol.sites.logs.elastisim:read_elastisim",
        (r'\s*\{\s*"jobs"\s*:\s*\[\s*\{\s*"(?:type|submit_time|num_nodes(?:_min)?|application_model)"\s*:',),
    ),
    "sacct-json": LogFormat(
        "Slurm's sacct with --json",
        "batprotocol.sites.logs.slurm.records:read_sacct_json",
        (
            r'\s*\{\s*"meta"\s*:\s*\{\s*"(?:plugins?|client|command|slurm|Slurm)"\s*:',
            r'\s*\{\s*(?:"(?:errors|warnings)"\s*:\s*\[\s*\]\s*,\s*)*"jobs"\s*:\s*\[\s*\{\s*"account"\s*:',
            r'\s*\{\s*(?:"(?:errors|warnings)"\s*:\s*\[\s*\]\s*,\s*)*"jobs"\s*:\s*\[\s*\]\s*,\s*"meta"\s*:',
            r'\s*\[\s*\{\s*"account"\s*:',
        ),
    ),
    "pbs": LogFormat(
        "accounting records of PBS Pro, OpenPBS and Torque",
        "batprotocol.sites.logs.pbs:read_pbs",
        (r"[0-9]{2}/[0-9]{2}/[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2};[A-Za-z];",),
    ),
    "lsf": LogFormat(
        "LSF's lsb.acct",
        "batprotocol.sites.logs.managers.lsf:read_lsf",
        (r'"(?:JOB_FINISH|JOB_RESIZE|EVENT_ADRSV_FINISH)" "',),
    ),
    "oar": LogFormat(
        "OAR's oarstat -J, with -f, --sql or --gantt",
        "batprotocol.sites.logs.managers.oar:read_oar",
        (
            r'\s*\{\s*"[0-9]+"\s*:\s*\{\s*"[A-Za-z_]+"\s*:',
            r'\s*\{\s*"(?:jobs|dead_resources)"\s*:\s*\{\s*(?:\}|"[0-9]+"\s*:)',
        ),
    ),
    "cigri": LogFormat(
        "CiGri's table of jobs, as CSV with a header",
        f"{_READY}:read_cigri",
        (r"(?=[^\n]*campaign_id)(?=[^\n]*submission_time)(?:[a-z_]+,)*id,",),
    ),
    "gridstat": LogFormat(
        "CiGri's gridstat -j",
        "batprotocol.sites.logs.managers.cigri:read_gridstat",
        (r"(?:\$ gridstat -j [^\n]*\n)?id: ",),
    ),
    "flux": LogFormat(
        "Flux's flux jobs -a --json",
        "batprotocol.sites.logs.managers.flux:read_flux",
        (
            r'\s*\{\s*"jobs"\s*:\s*\[\s*\{\s*"(?:t_[a-z]+|duration|expiration|id)"\s*:',
            r'\s*(?:\{\s*"jobs"\s*:\s*)?\[\s*\{[^\0]{0,8000}?"t_submit"\s*:',
        ),
    ),
    "jobcomp": LogFormat(
        "Slurm's completion plugin jobcomp/filetxt",
        "batprotocol.sites.logs.slurm.completions:read_jobcomp",
        (r"JobId=[0-9]+ UserId=",),
    ),
    "sacct": LogFormat(
        "Slurm's sacct, with --parsable or with columns of a fixed width",
        "batprotocol.sites.logs.slurm.text:read_sacct",
        (r"\s*(?:[A-Za-z][A-Za-z0-9]*[^A-Za-z0-9\r\n]+)*JobID(?:Raw)?(?![A-Za-z0-9=])",),
        takes_fields=True,
    ),
}
"""The formats by their names, in the order in which a file is compared with them."""
