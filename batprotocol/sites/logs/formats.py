"""The formats of logs: one table with their names, how a file shows that it has one, and their readers.

`read_log` finds the format of a file, and reads its jobs as often as they are needed. The module of a format is
imported when it is needed.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from types import TracebackType
from typing import Any, Final, NamedTuple

from batprotocol._util.deprecation import old_names
from batprotocol._util.files import naming
from batprotocol._util.tables import LeftOut
from batprotocol.errors import InputError, hint, shown
from batprotocol.sites.logs.jobs import LoggedJob, LogReader
from batprotocol.sites.logs.sources import PARQUET, opened, parquet_columns

__all__ = [
    "FORMATS",
    "STANDARD_INPUT",
    "Log",
    "LogFormat",
    "LogReader",
    "format_of",
    "is_logged",
    "read_log",
]


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

    def reader(self) -> LogReader:
        """The reader of the format."""
        module, _, function = self.place.partition(":")
        found: LogReader = getattr(import_module(module), function)
        return found


_READY: Final = "batprotocol.sites.logs.columns"

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
        "batprotocol.sites.logs.managers.elastisim:read_elastisim",
        (r'\s*\{\s*"jobs"\s*:\s*\[\s*\{\s*"(?:type|submit_time|num_nodes(?:_min)?|application_model)"\s*:',),
    ),
    "sacct-json": LogFormat(
        "Slurm's sacct with --json",
        "batprotocol.sites.logs.managers.sacct:read_sacct_json",
        (
            r'\s*\{\s*"meta"\s*:\s*\{\s*"(?:plugins?|client|command|slurm|Slurm)"\s*:',
            r'\s*\{\s*(?:"(?:errors|warnings)"\s*:\s*\[\s*\]\s*,\s*)*"jobs"\s*:\s*\[\s*\{\s*"account"\s*:',
            r'\s*\{\s*(?:"(?:errors|warnings)"\s*:\s*\[\s*\]\s*,\s*)*"jobs"\s*:\s*\[\s*\]\s*,\s*"meta"\s*:',
            r'\s*\[\s*\{\s*"account"\s*:',
        ),
    ),
    "pbs": LogFormat(
        "accounting records of PBS Pro, OpenPBS and Torque",
        "batprotocol.sites.logs.managers.pbs:read_pbs",
        (r"[0-9]{2}/[0-9]{2}/[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2};[A-Za-z];",),
    ),
    "lsf": LogFormat(
        "LSF's lsb.acct",
        "batprotocol.sites.logs.managers.lsf:read_lsf",
        (r'"(?:JOB_FINISH|JOB_RESIZE|EVENT_ADRSV_FINISH)" "',),
    ),
    "gridengine": LogFormat(
        "Grid Engine's accounting",
        "batprotocol.sites.logs.managers.gridengine:read_gridengine",
        (r"(?:#[^\n]*\n){0,20}(?:[^:\n]{0,300}:){5}[0-9]{1,10}:[^:\n]{0,300}:-?[0-9]{1,9}:(?:[0-9]{1,17}:){5}",),
    ),
    "qacct": LogFormat(
        "Grid Engine's qacct -j",
        "batprotocol.sites.logs.managers.gridengine:read_qacct",
        (r"={20,200}\s{1,9}(?:qname|jobnumber) ",),
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
        "batprotocol.sites.logs.managers.oar:read_gridstat",
        (r"(?:\$ gridstat -j [^\n]*\n)?id: ",),
    ),
    "flux": LogFormat(
        "Flux's flux jobs --json",
        "batprotocol.sites.logs.managers.flux:read_flux",
        (
            r'\s*\{\s*"jobs"\s*:\s*\[\s*\{\s*"(?:t_[a-z]+|duration|expiration|id)"\s*:',
            r'\s*(?:(?:\{\s*"jobs"\s*:\s*)?\[\s*)?\{\s*"[^\0]{0,8000}?"t_submit"\s*:',
        ),
    ),
    "jobcomp": LogFormat(
        "Slurm's completion plugin jobcomp/filetxt",
        "batprotocol.sites.logs.managers.sacct:read_jobcomp",
        (r"JobId=[0-9]+ UserId=",),
    ),
    "sacct": LogFormat(
        "Slurm's sacct, with --parsable or with columns of a fixed width",
        "batprotocol.sites.logs.managers.sacct:read_sacct",
        (r"\s*(?:[A-Za-z][A-Za-z0-9]*[^A-Za-z0-9\r\n]+)*JobID(?:Raw)?(?![A-Za-z0-9=])",),
        takes_fields=True,
    ),
}
"""The formats by their names, in the order in which a file is compared with them."""


# Opening


_BEGIN: Final = 1 << 16
"""The characters at the beginning of a file that show its format."""

STANDARD_INPUT: Final = "-"
"""The name of a log that is read from standard input."""


class Log:
    """A log, whose jobs are read from its file in each iteration.

    The first iteration counts the rows that it leaves out. A pipe, which can be read only once, is kept in a temporary
    file until the log is closed.

    Args:
        path: the file, or `-` for standard input.
        format: the name of a format in `FORMATS`, or a file of columns (`.toml`); None: the content shows it.
        zone: the zone of times that have none, such as `Europe/Paris`; None: UTC.
        left_out: where the reader counts what it leaves out.
        fields: the names of the columns, for a file of `sacct --noheader`; None: the file has a header.
        delimiter: the text between the values of sacct's rows; None: its header shows it, or it is `|`.

    Attributes:
        name: the file, for errors.
        format: the name of its format.
        left_out: what its reader left out.

    Raises:
        InputError: the format is not known, or has no fields.
        OSError: the file cannot be read.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,
        zone: str | None = None,
        left_out: LeftOut | None = None,
        *,
        fields: Sequence[str] | None = None,
        delimiter: str | None = None,
    ) -> None:
        self.name = "standard input" if path == STANDARD_INPUT else os.fspath(path)
        self.left_out = LeftOut() if left_out is None else left_out
        self._zone = zone
        self._is_counted = False
        self._kept = ExitStack()
        try:
            self._path = self._kept_path(path)
            layout = {"fields": fields, "delimiter": delimiter}
            given: dict[str, Any] = {name: value for name, value in layout.items() if value is not None}
            if given:
                format = _with_fields(format)
            self.format = format or format_of(self._path, self.name)
            reader: Callable[..., Iterator[LoggedJob]] = reader_of(self.format)
            self._reader = partial(reader, **given)
        except BaseException:
            self.close()
            raise

    def _kept_path(self, path: str | os.PathLike[str]) -> str | os.PathLike[str]:
        source = "/dev/stdin" if path == STANDARD_INPUT else path
        if stat.S_ISREG(os.stat(source).st_mode) and path != STANDARD_INPUT:
            return path
        copy = tempfile.NamedTemporaryFile(prefix="batproto-log-")  # noqa: SIM115  # it is closed with the log
        self._kept.enter_context(copy)
        with naming(self.name), open(source, "rb") as file:
            shutil.copyfileobj(file, copy)
        copy.flush()
        return copy.name

    def __iter__(self) -> Iterator[LoggedJob]:
        left_out = LeftOut() if self._is_counted else self.left_out
        self._is_counted = True
        try:
            yield from self._reader(self._path, left_out, zone=self._zone)
        except InputError as error:
            if error.file != os.fspath(self._path) or error.file == self.name:
                raise
            raise InputError(error.reason, error.path, file=self.name, line=error.line, column=error.column) from None

    def close(self) -> None:
        """Remove the temporary file, if there is one."""
        self._kept.close()

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_log(
    path: str | os.PathLike[str],
    format: str | None = None,
    zone: str | None = None,
    left_out: LeftOut | None = None,
    *,
    fields: Sequence[str] | None = None,
    delimiter: str | None = None,
) -> Log:
    """Open a log. The arguments are those of `Log`, which reads the jobs when you iterate over it.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("id,submitted,started,ended,user\\n7,0,5,9,ada\\n")
    ...     _ = file.seek(0)
    ...     [job.user for job in read_log(file.name)]
    ['ada']
    """
    return Log(path, format, zone, left_out, fields=fields, delimiter=delimiter)


def _with_fields(format: str | None) -> str:
    """The format of a log whose fields or delimiter are given; the one that takes them, if none is named."""
    able = [name for name, each in FORMATS.items() if each.takes_fields]
    if format is not None and format not in able:
        raise InputError(f"fields and a delimiter are for {', '.join(able)}, not for the format {shown(format)}")
    return format or able[0]


def format_of(path: str | os.PathLike[str], name: str = "") -> str:
    """The name of the format that the content of a file shows.

    Args:
        path: the file.
        name: its name in an error.

    Raises:
        InputError: no format of `FORMATS` begins like this.
        OSError: the file cannot be read.
    """
    with opened(path) as source:
        source.name = name or source.name
        begin = source.first()
        if begin.startswith(PARQUET):
            text = f"PAR1 {','.join(parquet_columns(source))}"
        else:
            text = begin[:_BEGIN].decode("utf-8-sig", "replace")
        for found, format in FORMATS.items():
            if any(re.match(pattern, text) for pattern in format.looks_like):
                return found
        raise InputError(
            f"expected a log in one of the formats {', '.join(FORMATS)}; name its format", file=source.name
        )


def is_logged(path: str | os.PathLike[str]) -> bool:
    """Whether the content of a file is that of a format of `FORMATS`; no if it cannot be read."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode) and bool(format_of(path))
    except (InputError, OSError):
        return False


def reader_of(format: str) -> LogReader:
    """The reader of a format, by its name, or by a file that describes the columns of a table.

    Raises:
        InputError: there is no such format, or the file cannot be used.
        OSError: the file cannot be read.
    """
    if format in FORMATS:
        return FORMATS[format].reader()
    if format.endswith(".toml"):
        from batprotocol.sites.logs.columns import read_by, read_mapping

        return partial(read_by, read_mapping(format))
    known = f"{', '.join(FORMATS)}, or a file of columns that ends with .toml"
    raise InputError(f"expected one of {known}, got {shown(format)}{hint(format, FORMATS)}")


__getattr__ = old_names(__name__, {"Reader": "LogReader"})
