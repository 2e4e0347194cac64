"""The formats that a capture is exported to, and the endings of their files. It must not know what is in them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import IO, Final, Literal, TypeAlias

from batprotocol._util.files import by_ending, whole
from batprotocol.errors import InputError
from batprotocol.recordings.exporting.chrome import write_chrome
from batprotocol.recordings.exporting.run import Run
from batprotocol.recordings.exporting.tables import write_events_csv, write_jobs_csv, write_jobs_parquet, write_parquet

__all__ = ["FORMATS", "TABLES", "RowKind", "export", "format_of", "writer_of"]

RowKind: TypeAlias = Literal["jobs", "events"]
"""The rows of a table: a row for each job, or a row for each event."""


def _perfetto(run: Run, file: IO[bytes]) -> None:
    from batprotocol.recordings.exporting.perfetto import write_perfetto  # which needs an extra

    write_perfetto(run, file)


FORMATS: Final[dict[str, Callable[[Run, IO[bytes]], None]]] = {
    "perfetto": _perfetto,
    "chrome": write_chrome,
    "jobs-csv": write_jobs_csv,
    "events-csv": write_events_csv,
    "jobs-parquet": write_jobs_parquet,
    "parquet": write_parquet,
}
"""The function that writes each format."""

_CSV: Final[dict[str, Callable[..., None]]] = {"jobs-csv": write_jobs_csv, "events-csv": write_events_csv}

TABLES: Final = frozenset(name for name in FORMATS if name.endswith(("csv", "parquet")))
"""The formats that have rows."""

_ENDINGS: Final[dict[str, tuple[str, ...]]] = {
    ".pftrace": ("perfetto",),
    ".json": ("chrome", "perfetto"),
    ".csv": ("jobs-csv", "events-csv"),
    ".parquet": ("jobs-parquet", "parquet"),
}
"""The formats of each ending; of two, the first is that with a row for each job."""


def format_of(path: str | os.PathLike[str], rows: RowKind = "jobs", to: str | None = None) -> str:
    """The format of a file, by the ending of its name.

    Args:
        path: the file.
        rows: the rows of a table.
        to: the name of the format. It is needed if no format has the ending. A `.json` of `perfetto` is `chrome`.

    Raises:
        InputError: the ending belongs to another format than `to`, or to none.

    >>> format_of("run.pftrace"), format_of("run.json"), format_of("run.csv", "events")
    ('perfetto', 'chrome', 'events-csv')
    """
    if to is None:
        formats = by_ending(path, _ENDINGS)
        return formats[-1] if rows == "events" and formats[0].startswith("jobs") else formats[0]
    formats = _ENDINGS.get(os.path.splitext(os.fspath(path))[1].lower(), (to,))
    if to not in formats:
        fitting = " or ".join(ending for ending, each in _ENDINGS.items() if to in each)
        raise InputError(f"the name of a file of {to} ends with {fitting}, got {os.fspath(path)!r}")
    return formats[0] if "chrome" in formats else to


def writer_of(format: str, *, guard: bool = False) -> Callable[[Run, IO[bytes]], None]:
    """The function that writes a format.

    Args:
        format: one of `FORMATS`.
        guard: whether an apostrophe is written before texts that a spreadsheet would compute as formulas.

    Raises:
        InputError: `guard` is set, and the format is not CSV.
    """
    if not guard:
        return FORMATS[format]
    if format not in _CSV:
        raise InputError(f"texts are guarded from spreadsheets in CSV only, got the format {format}")
    return partial(_CSV[format], guard=True)


def export(
    run: Run, path: str | os.PathLike[str], to: str | None = None, *, rows: RowKind = "jobs", guard: bool = False
) -> None:
    """Write a capture as a file for other programs. The file is written as a whole or not at all.

    Args:
        run: the capture.
        path: the file. An existing file is overwritten. Its ending selects the format: `.pftrace` for Perfetto, `.json`
            for Chrome's trace format, which Perfetto opens, too, `.csv` or `.parquet` for a table.
        to: one of `FORMATS`, for a file with another ending.
        rows: the rows of a table, `jobs` or `events`.
        guard: for CSV: whether an apostrophe is written before texts that a spreadsheet would compute as formulas.

    Raises:
        InputError: the ending belongs to no format, or to another one, or `guard` is set and the format is not CSV.
        CaptureError: `guard` is set, and the `jobs.csv` of the recording cannot be read.
        PackageMissing: the format needs a package that is not installed.
        OSError: the file cannot be written.
    """
    write = writer_of(format_of(path, rows, to), guard=guard)
    with whole(path) as file:
        write(run, file)
