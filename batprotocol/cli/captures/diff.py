"""`batproto diff`: where two runs part, what each side knew then, and which jobs come to something else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from batprotocol.capture import Capture, Knowledge
from batprotocol.capture.comparing import (
    JobDifference,
    Parting,
    compare,
    differing_jobs,
    ignored_differences,
    job_differences,
)
from batprotocol.capture.entries import Entry
from batprotocol.capture.jobs import CapturedJob
from batprotocol.capture.meaning import TOLERANCE
from batprotocol.cli.captures.known import lines_of
from batprotocol.cli.messages.dump import print_frames
from batprotocol.cli.messages.tree import draw
from batprotocol.cli.named.runs import NamedRun, named, remark_on, tolerance_between
from batprotocol.cli.terminal.output import Output
from batprotocol.cli.terminal.text import Piece, number_of, printable
from batprotocol.errors import ProtocolError
from batprotocol.files import reason_of

__all__ = ["diff"]

ALIKE, DIFFERENT, TROUBLE = 0, 1, 2
"""Exit statuses, those of diff(1)."""
FIRST = 5
"""How many jobs are shown unless all are asked for."""


def diff(one: str, other: str, output: Output, *, tolerance: float | None, jobs: bool, quiet: bool, full: bool) -> int:
    """Compare two runs, and print where they part; the exit status.

    Args:
        one: the first run.
        other: the second run.
        output: where to.
        tolerance: how many seconds of simulated time times may differ; None: as usual for what they hold.
        jobs: print all jobs that differ.
        quiet: print nothing.
        full: show all that is known, however much that is.
    """
    try:
        first, second = named(one, [other]), named(other, [one])
        if not (first.has_messages and second.has_messages):
            return _schedules(first, second, output, tolerance, jobs=jobs, quiet=quiet)
        within = TOLERANCE if tolerance is None else tolerance
        with (
            first.conversation(from_its_beginning=False) as mine,
            second.conversation(from_its_beginning=False) as theirs,
        ):
            return _compared(mine, theirs, output, within, jobs=jobs, quiet=quiet, full=full)
    except ProtocolError as error:
        output.error(*_told(str(error)))
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        output.error(str(error.filename or one), reason_of(error))
    return TROUBLE


def _told(sentence: str) -> tuple[str, str]:
    name, _, reason = sentence.partition(": ")
    return (name, reason) if reason else ("diff", sentence)


def _compared(
    one: Capture, other: Capture, output: Output, tolerance: float, *, jobs: bool, quiet: bool, full: bool
) -> int:
    parting = compare(one, other, tolerance=tolerance)
    if quiet:
        return ALIKE if parting is None else DIFFERENT
    for run in (one, other):
        if run.missing:
            output.remark(run.path, run.missing)
    for each in ignored_differences(one, other):
        output.line(("detail", printable(f"left aside: {each}")))
    if parting is None:
        output.line(("good", "alike: "), ("file", printable(one.path)), ("", " and "), ("file", printable(other.path)))
        return ALIKE
    _show(parting, one.path, other.path, output, full)
    _show_jobs(job_differences(one, other, tolerance=tolerance), output, everything=jobs)
    return DIFFERENT


def _schedules(
    one: NamedRun, other: NamedRun, output: Output, tolerance: float | None, *, jobs: bool, quiet: bool
) -> int:
    """Compare what two runs came to, one of which has no messages at least."""
    from batprotocol.studies.comparing import compare as schedules_compared
    from batprotocol.studies.comparing.reported import as_reported

    mine, theirs = one.schedule(), other.schedule()
    within = tolerance_between(mine, theirs) if tolerance is None else tolerance
    found = schedules_compared(mine, theirs, tolerance=within)
    different = sorted(
        differing_jobs(map(as_reported, mine.jobs), map(as_reported, theirs.jobs), tolerance=within), key=_first_time
    )
    if quiet:
        return DIFFERENT if different else ALIKE
    without = " and ".join(run.given for run in (one, other) if not run.has_messages)
    output.remark(without, f"no messages are there: the schedules are compared, to {within:g} s")
    for schedule in (mine, theirs):
        remark_on(schedule, output)
    if not different:
        paths = [("file", printable(one.given)), ("", " and "), ("file", printable(other.given))]
        output.line(("good", "schedules alike: "), *paths)
        return ALIKE
    if found.parting is not None:
        output.line(("", printable(found.facts()[-1])))
    _show_jobs(different, output, everything=jobs)
    return DIFFERENT


def _first_time(found: JobDifference) -> float:
    """When a job first began, in one of the runs; of one that never did, when it was submitted."""
    both = [job for job in (found.one, found.other) if job is not None]
    return min(job.started if job.started is not None else job.submitted or 0.0 for job in both)


def _show(parting: Parting, one: str, other: str, output: Output, full: bool) -> None:
    output.line(("heading", f"They part in message {parting.number}"), ("", f": {printable(str(parting.difference))}"))
    found = [(one, parting.one), (other, parting.other)]
    print_frames([(_name(path, entry), entry.data) for path, entry in found if entry is not None], output)
    if parting.known == parting.known_in_other:
        _show_known("What was known before it", parting.known, output, full)
    else:
        _show_known(f"What was known before it in {one}", parting.known, output, full)
        _show_known(f"What was known before it in {other}", parting.known_in_other, output, full)


def _name(path: str, entry: Entry) -> str:
    return f"{path}/{entry.name}"


def _show_known(title: str, known: Knowledge, output: Output, full: bool) -> None:
    if not known.host_count:  # the simulation has not begun
        return
    head: list[Piece] = [("heading", printable(title)), ("", f" (at {known.now:.9g})")]
    output.lines(draw(head, lines_of(known, full=full), output.guides, output.wrap_at))


def _show_jobs(differences: Iterable[JobDifference], output: Output, *, everything: bool) -> None:
    """A line for each job, or for the first ones, and then how many differ in what."""
    counts: Counter[str] = Counter()
    number = 0
    for number, found in enumerate(differences, 1):
        if everything or number <= FIRST:
            output.line(("string", printable(found.job_id)), ("", f": {printable(_sentence(found))}"))
        counts.update(found.fields or ("in one run only",))
    if number > FIRST and not everything:
        output.line(("detail", f"... {number_of(number - FIRST, 'more job')}, which --jobs shows"))
    kinds = ", ".join(f"{count:,} {_word(name)}" for name, count in counts.most_common())
    verdict = f"{number_of(number, 'job')} differ{'s' if number == 1 else ''}"
    output.line(("heading", verdict if number else "No job differs"), ("", f": {kinds}" if kinds else ""))


def _word(field: str) -> str:
    return field if field.startswith("in ") else f"in {field}"


def _sentence(found: JobDifference) -> str:
    one, other = found.one, found.other
    if one is None or other is None:
        return "is in the second run only" if one is None else "is in the first run only"
    return ", ".join(f"{name} {_value(one, name)} and {_value(other, name)}" for name in found.fields)


def _value(job: CapturedJob, name: str) -> str:
    value = getattr(job, name)
    if value is None or value == "":
        return "nothing"
    return value.name if name == "state" else f"{value:.9g}" if isinstance(value, float) else str(value)
