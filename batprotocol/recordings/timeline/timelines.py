"""`Timeline`: the drawing of one run or several, and the page or figure that is made of it."""

from __future__ import annotations

import os
import re
import shlex
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

import msgspec

from batprotocol._util.files import by_ending, whole
from batprotocol.edc.recording.sources import JOBS, jobs_file
from batprotocol.errors import InputError
from batprotocol.model import FinalJobState
from batprotocol.recordings.captures import Capture
from batprotocol.recordings.timeline._sharing import shared
from batprotocol.recordings.timeline.packing import packed
from batprotocol.recordings.timeline.sources import Describe, read_conversation, read_tables
from batprotocol.recordings.timeline.values import (
    MOST_TEXTS,
    TimelineData,
    TimelineJob,
    absences_of,
    add_electricity,
    intervals_of,
    power_series,
)
from batprotocol.workloads.electricity import Trace

if TYPE_CHECKING:
    from batprotocol.recordings.timeline._figures import Colouring

__all__ = [
    "MOST_RUNS",
    "JobsCsvRow",
    "Timeline",
    "WithJobs",
    "kind_of",
    "parts",
    "timeline",
]


# Make one page of HTML of timelines, which needs no other files and no network.


MOST_RUNS: Final = 4
"""The greatest number of runs in a page, one above the other."""

_SHARING: Final = "sharing"
"""The script that only pages of runs with requests have; before `main`, which begins."""
_SCRIPTS: Final = ("data", "scales", "gantt", "lanes", "stage", "details", "moving", "pointing", "main")
_PLACE: Final = re.compile(r"@(POLICY|VERSION|TITLE|COLOUR|STYLE|DATA|SCRIPT)@")


def parts(timelines: Sequence[TimelineData], title: str = "", colour: str = "job") -> Iterator[str]:
    """The page, piece by piece, so that a large page need not be in memory at once.

    Args:
        timelines: the runs, which are drawn one above the other over the same time.
        title: its title; by default, the names of the runs.
        colour: the property that selects the colour of a job at first.
    """
    folder = files("batprotocol.recordings.timeline") / "page"
    more = [shared(timeline) for timeline in timelines]
    scripts = [*_SCRIPTS[:-1], _SHARING, _SCRIPTS[-1]] if any(each is not None for each in more) else _SCRIPTS
    style = (folder / "page.css").read_text("utf-8")
    sources = [(folder / f"{name}.js").read_text("utf-8") for name in scripts]
    colours = (folder / "colours.json").read_text("utf-8")
    script = "".join(['"use strict";\n(() => {\nconst COLOURS = ', colours, ";\n", "\n".join(sources), "})();\n"])
    words = {
        "POLICY": f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'",
        "VERSION": escape(_version()),
        "TITLE": escape(title or " and ".join(timeline.name for timeline in timelines))
        .encode("utf-8", "replace")
        .decode(),
        "COLOUR": escape(colour),
        "STYLE": style,
        "SCRIPT": script,
    }
    for number, part in enumerate(_PLACE.split((folder / "page.html").read_text("utf-8"))):
        if number % 2 == 0:
            yield part
        elif part == "DATA":
            for place, timeline in enumerate(timelines):
                yield from _data(timeline, place)
                if (packed_requests := more[place]) is not None:
                    yield _block("data-sharing", place, packed_requests)
        else:
            yield words[part]


def _data(timeline: TimelineData, place: int) -> Iterator[str]:
    """A run and its texts, as elements that a browser does not execute."""
    yield _block("data-run", place, packed(timeline))
    for number, block in enumerate(timeline.messages.blocks if timeline.messages is not None else ()):
        yield f'<script type="text/plain" id="text-{place}-{number}">{b64encode(block).decode()}</script>\n'


def _block(name: str, place: int, data: bytes) -> str:
    return f'<script type="text/plain" {name}="{place}">{b64encode(data).decode()}</script>\n'


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _version() -> str:
    try:
        return version("batprotocol")
    except PackageNotFoundError:  # run from a source tree
        return ""


_KINDS: Final = {".html": "page", ".pdf": "figure", ".svg": "figure", ".png": "figure"}
_HEIGHT = 640
"""The height of the page in a notebook, in pixels."""


def kind_of(path: str | os.PathLike[str]) -> str:
    """Whether a file of this name is a `page` or a `figure`.

    Raises:
        InputError: the file name has another ending.
    """
    return by_ending(path, _KINDS)


class Timeline:
    """One run, or several runs one above the other with the same time axis. A notebook shows the page.

    Args:
        runs: the runs.
        title: the title of the page; by default, the names of the runs.

    Raises:
        InputError: there is no run, or there are too many for a page.

    `one + other` has the runs of both.
    """

    def __init__(self, runs: Iterable[TimelineData], title: str = "") -> None:
        self.runs: Sequence[TimelineData] = tuple(runs)
        """The runs, from top to bottom."""
        self.title = title
        if not 1 <= len(self.runs) <= MOST_RUNS:
            raise InputError(f"a timeline has 1 to {MOST_RUNS} runs, got {len(self.runs)}")

    def __add__(self, other: Timeline) -> Timeline:
        if not isinstance(other, Timeline):
            return NotImplemented
        return Timeline([*self.runs, *other.runs], self.title or other.title)

    def html(self) -> str:
        """The page as a text."""
        return "".join(parts(self.runs, self.title))

    def save(self, path: str | os.PathLike[str], *, colour: Colouring = "job") -> None:
        """Write the page or a figure to a file.

        Args:
            path: the file. Its ending selects the kind: `.html` is the page; `.pdf`, `.svg` or `.png` is a figure.
            colour: the property that selects the colour of a job: `job`, `state`, `waiting` (how long it waited),
                `user`, `profile` or `workload`. Readers can change it in the page.

        Raises:
            InputError: the file has another ending.
            OSError: the file cannot be written.
            PackageMissing: it is a figure, and matplotlib is not installed.
        """
        if kind_of(path) == "page":
            with whole(path) as file:
                file.writelines(part.encode() for part in parts(self.runs, self.title, colour))
        else:
            from batprotocol.recordings.timeline._figures import save_figure

            save_figure(self.runs, path, colour)

    def figure(self, *, colour: Colouring = "job") -> Any:
        """The figure of matplotlib that `save` writes, to change it before it is written.

        Args:
            colour: see `save`.

        Raises:
            PackageMissing: matplotlib is not installed.
        """
        from batprotocol.recordings.timeline._figures import draw

        return draw(self.runs, colour)

    def _repr_html_(self) -> str:
        """The page in a separate frame, for notebooks."""
        frame = f"border:0;width:100%;height:{_HEIGHT}px"
        return f'<iframe sandbox="allow-scripts" style="{frame}" srcdoc="{escape(self.html())}"></iframe>'


# Make a timeline of any source: rows of jobs, results, files.


class JobsCsvRow(Protocol):
    """A row about a job, with the names of Batsim's jobs.csv. `batprotocol.simulator.JobRow` is one."""

    @property
    def job_id(self) -> str: ...

    @property
    def submission_time(self) -> float: ...

    @property
    def starting_time(self) -> float | None: ...

    @property
    def finish_time(self) -> float | None: ...

    @property
    def allocated_resources(self) -> str: ...

    @property
    def final_state(self) -> FinalJobState: ...


@runtime_checkable
class WithJobs(Protocol):
    """An object with rows of jobs, such as the `Result` of a simulation.

    It may have `host_count`, `host_events`, `energy_over_time` and `electricity`.
    """

    @property
    def jobs(self) -> Iterable[JobsCsvRow]: ...


def timeline(
    source: str | os.PathLike[str] | Capture | WithJobs | Iterable[JobsCsvRow],
    *,
    name: str = "",
    users: Mapping[str, object] | None = None,
    messages: int | None = MOST_TEXTS,
    describe: Describe | None = None,
    beside: str | os.PathLike[str] | None = None,
    carbon: Trace | None = None,
    price: Trace | None = None,
    cap: Trace | float | None = None,
) -> Timeline:
    """The timeline of a run: jobs on hosts over time, jobs that wait, free hosts, power, probes, messages.

    Args:
        source: a `Capture`, or its file; the `Result` of a simulation; rows of jobs; a jobs.csv of Batsim, or its
            folder.
        name: the name of the run; by default, the name of its file.
        users: the user of each job, by the full name of the job, such as `workload.users()`. Jobs can be coloured by
            their users. In a capture, the extra data of a job may name its user (`"user"` of an object in JSON).
        messages: the page keeps the texts of the first messages, up to this number; None: of all.
        describe: makes the text that the page shows for a message; by default, its JSON.
        beside: with rows of jobs: a folder with the other result files of Batsim, which are drawn, too.
        carbon: the carbon intensity over time, to be drawn; None: that of a `Result`, if it knows one.
        price: the price over time, as `carbon`.
        cap: the watts that are allowed, as `carbon`; they are drawn with the power.

    Raises:
        CaptureError: the file holds neither messages nor a table of jobs.
        InputError: the source is none of these, or it contains an invalid value.
        OSError: a file cannot be read.

    >>> timeline(result).save("run.html")  # doctest: +SKIP
    >>> (timeline("fcfs.tar.xz") + timeline("easy.tar.xz")).save("both.html")  # doctest: +SKIP
    """
    if isinstance(source, str | os.PathLike):
        table = jobs_file(source)
        if table is not None:
            data = read_tables(table, name)
        else:
            with Capture(source) as capture:
                data = _of_capture(capture, name, messages, describe)
    elif isinstance(source, Capture):
        data = _of_capture(source, name, messages, describe)
    elif isinstance(source, WithJobs):
        hosts = getattr(source, "host_count", None)
        shares = {each.job_id: each.share for each in getattr(source, "allocations", ())}
        jobs = [msgspec.structs.replace(job, share=shares.get(job.job_id)) for job in map(_job, source.jobs)]
        end = max((job.finished for job in jobs if job.finished is not None), default=0.0)
        away = absences_of(getattr(source, "host_events", ()), end)
        energy, known = getattr(source, "energy_over_time", None), getattr(source, "electricity", None)
        series = [power_series(energy)] if energy else []
        data = TimelineData(name or "simulation", jobs, hosts=hosts, off_duty=away, series=series)
        carbon, price = carbon or getattr(known, "carbon", None), price or getattr(known, "price", None)
        cap = getattr(known, "cap", None) if cap is None else cap
    elif isinstance(source, Iterable) and beside is not None:
        data = read_tables(os.path.join(beside, JOBS), name, map(_job, source))
    elif isinstance(source, Iterable):
        data = TimelineData(name or "jobs", map(_job, source))
    else:
        raise InputError(f"a timeline is made of a result, rows of jobs, or a file, got {type(source).__name__}")
    add_electricity(data, carbon=carbon, price=price, cap=cap)
    if users is not None:
        data.jobs = [_with_user(job, users.get(job.job_id, "")) for job in data.jobs]
    return Timeline([data])


def _of_capture(capture: Capture, name: str, messages: int | None, describe: Describe | None) -> TimelineData:
    path = capture.path.rstrip(os.sep)
    return read_conversation(
        capture,
        name or os.path.basename(path).split(".")[0] or path,
        most_texts=messages,
        describe=describe,
        hint=f"batproto dump {shlex.quote(path)} shows message {{number}}.",
    )


def _job(row: Any) -> TimelineJob:
    try:
        own, workload = row.job_id, getattr(row, "workload_name", "")
        job_id = f"{workload}!{own}" if workload and not own.startswith(f"{workload}!") else own
        return TimelineJob(
            job_id=job_id,
            submitted=row.submission_time,
            started=row.starting_time,
            finished=row.finish_time,
            hosts=intervals_of(row.allocated_resources, f"allocated_resources of {job_id}"),
            state=row.final_state,
            requested=getattr(row, "requested_number_of_resources", 0),
            walltime=getattr(row, "requested_time", None),
            profile=getattr(row, "profile", ""),
        )
    except AttributeError as error:
        raise InputError(f"{type(row).__name__} is not a row about a job: {error}") from None


def _with_user(job: TimelineJob, user: object) -> TimelineJob:
    return msgspec.structs.replace(job, user=str(user))
