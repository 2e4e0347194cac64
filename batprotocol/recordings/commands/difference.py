"""`batproto diff`: the first difference of two runs, and the jobs that differ. `batproto stats`: statistics of runs."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from batprotocol._util.distributions import Distribution
from batprotocol._util.files import reason_of
from batprotocol.cli.terminal import Output, Piece, number_of, printable
from batprotocol.edc.recording.entries import Entry
from batprotocol.errors import InputError, ProtocolError
from batprotocol.recordings import Capture, RunState
from batprotocol.recordings.canonical import TOLERANCE
from batprotocol.recordings.commands.named_runs import NamedRun, named, remark_on, tolerance_between, with_logs
from batprotocol.recordings.commands.state import lines_of, seconds
from batprotocol.recordings.comparison import (
    Divergence,
    JobDifference,
    compare,
    differing_jobs,
    ignored_differences,
    job_differences,
)
from batprotocol.recordings.statistics import (
    CapturedJob,
    JobStatistics,
    RunStatistics,
    SideStatistics,
    statistics_of,
    statistics_of_jobs,
)
from batprotocol.wire.commands.dump import print_frames
from batprotocol.wire.commands.tree import TreeNode, draw

if TYPE_CHECKING:
    from batprotocol.studies.comparing import Schedule
    from batprotocol.studies.comparing.pairs import Cause

__all__ = [
    "diff",
    "stats",
]


ALIKE, DIFFERENT, TROUBLE = 0, 1, 2
"""Exit statuses, those of diff(1)."""
_NONE: Final[Mapping[str, Cause]] = MappingProxyType({})
FIRST = 5
"""The number of jobs that are shown by default."""


def diff(
    one: str,
    other: str | None,
    output: Output,
    *,
    tolerance: float | None,
    jobs: bool,
    quiet: bool,
    full: bool,
    why: bool = False,
    zone: str | None = None,
    nodes: str | None = None,
) -> int:
    """Compare two runs, print their first difference, and return the exit status.

    Args:
        one: the first run.
        other: the second run. None: the first one is a recording of a Slurm, and the second one its replay.
        output: where to.
        tolerance: how many simulated seconds times may differ. None: the default for messages or for schedules.
        jobs: print all jobs that differ.
        quiet: print nothing.
        full: show the whole state, even if it is long.
        why: print the causes of the differences of two schedules; always if one of them is that of a log.
        zone: with a log: the zone of its times that have none; None: UTC.
        nodes: with a log: the file with the nodes of its machine; None: the nodes that jobs ran on.
    """
    try:
        if other is None:
            return _replayed(with_logs(one), output, tolerance, jobs=jobs, quiet=quiet)
        first = with_logs(one, [other], zone=zone, nodes=nodes)
        second = with_logs(other, [one], zone=zone, nodes=nodes)
        if why or not (first.has_messages and second.has_messages):
            silent = [run.given for run in (first, second) if not run.has_messages]
            without = " and ".join(silent)
            has = f"{'have' if len(silent) > 1 else 'has'} no messages: the" if silent else "the"
            about = without or one, f"{has} schedules are compared"
            both = first.schedule(), second.schedule()
            return _schedules(*both, about, output, tolerance, jobs=jobs, quiet=quiet, why=why, nodes=nodes)
        within = TOLERANCE if tolerance is None else tolerance
        with (
            first.conversation(from_its_beginning=False) as mine,
            second.conversation(from_its_beginning=False) as theirs,
        ):
            return _compared(mine, theirs, output, within, jobs=jobs, quiet=quiet, full=full)
    except ProtocolError as error:
        output.error(*_name_and_reason(str(error)))
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        output.error(str(error.filename or one), reason_of(error))
    return TROUBLE


def _name_and_reason(sentence: str) -> tuple[str, str]:
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
        output.line(("detail", printable(f"ignored: {each}")))
    if parting is None:
        output.line(("good", "alike: "), ("file", printable(one.path)), ("", " and "), ("file", printable(other.path)))
        return ALIKE
    _show(parting, one.path, other.path, output, full)
    _show_jobs(job_differences(one, other, tolerance=tolerance), output, everything=jobs)
    return DIFFERENT


def _expect_readable(run: NamedRun) -> None:
    """Read a run, so that the error names its broken part, and not the missing second run."""
    if not run.has_messages:
        run.schedule()
        return
    with run.conversation(from_its_beginning=False):
        pass


def _replayed(run: NamedRun, output: Output, tolerance: float | None, *, jobs: bool, quiet: bool) -> int:
    """Compare a recording of a Slurm with its replay, and count the starts that are equal."""
    if not run.is_of_slurm:
        _expect_readable(run)
        raise InputError(
            "expected a second run to compare with: only a recording of a Slurm has a replay", file=run.given
        )
    mine, theirs, verdict = run.replayed()
    about = run.given, "the policy slurm simulates the recorded jobs, and the schedules are compared"
    status = _schedules(mine, theirs, about, output, tolerance, jobs=jobs, quiet=quiet, why=True)
    if not quiet:
        output.line(("heading", "Agreement"), ("", f": {verdict.sentence()}"))
    return status


def _schedules(
    mine: Schedule,
    theirs: Schedule,
    about: tuple[str, str],
    output: Output,
    tolerance: float | None,
    *,
    jobs: bool,
    quiet: bool,
    why: bool,
    nodes: str | None = None,
) -> int:
    """Compare two schedules. `about` has the run of the first remark, and its sentence."""
    from batprotocol.studies.comparing import compare as schedules_compared
    from batprotocol.studies.comparing.pairs import causes_of
    from batprotocol.studies.comparing.schedules import as_reported

    within = tolerance_between(mine, theirs) if tolerance is None else tolerance
    found = schedules_compared(mine, theirs, tolerance=within)
    why = why or mine.is_logged or theirs.is_logged
    different = sorted(
        differing_jobs(map(as_reported, mine.jobs), map(as_reported, theirs.jobs), tolerance=within), key=_first_time
    )
    if quiet:
        return DIFFERENT if different else ALIKE
    output.remark(about[0], f"{about[1]}, with a tolerance of {within:g} s")
    for schedule in (mine, theirs):
        remark_on(schedule, output)
    for schedule in (mine, theirs):
        if schedule.is_logged and nodes is None and any("hosts" in each.fields for each in different):
            numbers = f"its {schedule.hosts:,} hosts are numbered in the order of their names"
            output.remark(schedule.name, f"{numbers}; if it was imported with --nodes, give this option here, too")
    if not different:
        names = [("file", printable(mine.name)), ("", " and "), ("file", printable(theirs.name))]
        output.line(("good", "schedules alike: "), *names)
        return ALIKE
    if found.parting is not None:
        output.line(("", printable(found.facts()[-1])))
    causes = causes_of(mine, theirs, tolerance=within) if why else {}
    _show_jobs(different, output, everything=jobs, causes=causes)
    _show_causes((causes[each.job_id] for each in different if each.job_id in causes), output)
    return DIFFERENT


def _show_causes(causes: Iterable[Cause], output: Output) -> None:
    """Print how many jobs differ by each kind of cause."""
    from batprotocol.studies.comparing.pairs import KINDS

    for kind, count in Counter(cause.kind for cause in causes).most_common():
        output.line(("heading", f"{kind:<11}"), ("", f" {number_of(count, 'job')}: {KINDS[kind]}"))


def _first_time(found: JobDifference) -> float:
    """The earlier start of a job in the two runs. If a run did not start it, its submission there."""
    both = [job for job in (found.one, found.other) if job is not None]
    return min(job.started if job.started is not None else job.submitted or 0.0 for job in both)


def _show(parting: Divergence, one: str, other: str, output: Output, full: bool) -> None:
    output.line(
        ("heading", f"First difference in message {parting.number}"), ("", f": {printable(str(parting.difference))}")
    )
    found = [(one, parting.one), (other, parting.other)]
    print_frames([(_name(path, entry), entry.data) for path, entry in found if entry is not None], output)
    if parting.known == parting.known_in_other:
        _show_known("Known before it", parting.known, output, full)
    else:
        _show_known(f"Known before it in {one}", parting.known, output, full)
        _show_known(f"Known before it in {other}", parting.known_in_other, output, full)


def _name(path: str, entry: Entry) -> str:
    return f"{path}/{entry.name}"


def _show_known(title: str, known: RunState, output: Output, full: bool) -> None:
    if not known.host_count:  # the simulation has not begun
        return
    head: list[Piece] = [("heading", printable(title)), ("", f" (at {known.now:.9g})")]
    output.lines(draw(head, lines_of(known, full=full), output.guides, output.wrap_at))


def _show_jobs(
    differences: Iterable[JobDifference],
    output: Output,
    *,
    everything: bool,
    causes: Mapping[str, Cause] = _NONE,
) -> None:
    """Print a line for each job, or for the first ones, and then how many jobs differ in each field."""
    counts: Counter[str] = Counter()
    number = 0
    for number, found in enumerate(differences, 1):
        if everything or number <= FIRST:
            output.line(("string", printable(found.job_id)), ("", f": {printable(_sentence(found))}"))
            if found.job_id in causes:
                cause = causes[found.job_id]
                output.line(("detail", f"  {cause.kind}: {printable(cause.sentence)}"))
        counts.update(found.fields or ("in one run only",))
    if number > FIRST and not everything:
        output.line(("detail", f"... {number_of(number - FIRST, 'more job')}, which --jobs shows"))
    kinds = ", ".join(f"{count:,} {_with_count(name)}" for name, count in counts.most_common())
    verdict = f"{number_of(number, 'job')} differ{'s' if number == 1 else ''}"
    output.line(("heading", verdict if number else "No job differs"), ("", f": {kinds}" if kinds else ""))


def _with_count(field: str) -> str:
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


# `batproto stats`: the statistics of a run.


def stats(path: str, output: Output, *, as_json: bool) -> None:
    """Print the statistics of a run, as a tree or as JSON."""
    given = named(path)
    if not given.has_messages:
        _show_schedule(given, output, as_json=as_json)
        return
    with given.conversation(from_its_beginning=False) as run:
        found = statistics_of(run)
        if run.missing:
            output.remark(path, run.missing)
    if as_json:
        output.json(json.dumps(found.to_json(), indent=2, ensure_ascii=False))
        return
    count = found.batsim.messages + found.edc.messages
    title = [("file", printable(path)), ("", f": {number_of(count, 'message')}, {_spans(found)}")]
    nodes = [_side("Batsim", found.batsim), _side("EDC", found.edc), _jobs(found.jobs, found.hosts)]
    if found.unreadable:
        nodes.append(TreeNode(_fact("unreadable", number_of(found.unreadable, "message")), []))
    output.lines(draw(title, nodes, output.guides, output.wrap_at))


def _show_schedule(given: NamedRun, output: Output, *, as_json: bool) -> None:
    """Print the statistics of a run that has jobs and no messages."""
    from batprotocol.studies.comparing.schedules import as_reported

    schedule = given.schedule()
    found = statistics_of_jobs(map(as_reported, schedule.jobs), schedule.hosts)
    remark_on(schedule, output)
    if as_json:
        output.json(json.dumps({"hosts": schedule.hosts, "jobs": found.to_json()}, indent=2, ensure_ascii=False))
        return
    title = [("file", printable(given.given)), ("", ": jobs only, no messages")]
    output.lines(draw(title, [_jobs(found, schedule.hosts)], output.guides, output.wrap_at))


def _spans(found: RunStatistics) -> str:
    spans = [f"{seconds(found.simulated)} simulated"]
    if found.seconds is not None:
        spans.append(f"{seconds(found.seconds)} of real time")
    return ", ".join(spans)


def _fact(name: str, text: str) -> list[Piece]:
    return [("field", f"{name}:"), ("", f" {text}")]


def _side(name: str, side: SideStatistics) -> TreeNode:
    nodes = [
        TreeNode(
            _fact(
                "events",
                ", ".join(f"{count:,} {kind.removesuffix('Event')}" for kind, count in side.events.items()) or "none",
            ),
            [],
        )
    ]
    if side.messages:
        nodes.append(TreeNode(_fact("size", _distributed(side.sizes, "bytes")), []))
    if side.seconds is None:
        nodes.append(TreeNode(_fact("a turn", "unknown: the recording has no times of messages"), []))
    else:
        longest = [
            TreeNode([("", f"{each.seconds * 1e3:,.3f} ms before message {each.number}{_moment(each.time)}")], [])
            for each in side.longest
        ]
        nodes.append(TreeNode(_fact("a turn", _distributed(side.seconds, "ms", 1e3)), longest))
    title = f"{number_of(side.messages, 'message')}, {number_of(side.bytes, 'byte')}"
    return TreeNode(_fact(name, title), nodes)


def _moment(time: float | None) -> str:
    return "" if time is None else f", at {time:.9g}"


def _distributed(values: Distribution, unit: str, factor: float = 1.0) -> str:
    names = (("mean", "mean"), ("median", "median"), ("p90", "90 %"), ("p99", "99 %"), ("max", "at most"))
    parts = (f"{text} {_number(getattr(values, name) * factor)}" for name, text in names)
    return f"{', '.join(parts)} {unit}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _jobs(jobs: JobStatistics, hosts: int | None) -> TreeNode:
    states = ", ".join(f"{count:,} {_word(state)}" for state, count in jobs.ended.items())
    open_ones = f"{jobs.under_way:,} never ended" if jobs.under_way else ""
    nodes = []
    if not math.isnan(jobs.waiting.mean):
        waited = [
            TreeNode([("string", printable(job.job_id)), ("", f" {seconds(job.waited or 0.0)}")], [])
            for job in jobs.longest_waiting
        ]
        ran = [
            TreeNode([("string", printable(job.job_id)), ("", f" {seconds(job.ran or 0.0)} on {job.hosts}")], [])
            for job in jobs.longest_running
        ]
        nodes += [
            TreeNode(_fact("waiting", _distributed(jobs.waiting, "s")), waited),
            TreeNode(_fact("running", _distributed(jobs.running, "s")), ran),
            TreeNode(_fact("makespan", seconds(jobs.makespan)), []),
        ]
    if jobs.utilisation is not None and hosts:
        what = " with jobs, as jobs share hosts" if jobs.shares_hosts else ""
        nodes.append(TreeNode(_fact("utilisation", f"{jobs.utilisation:.1%} of {number_of(hosts, 'host')}{what}"), []))
    counts = ", ".join(part for part in (states, open_ones) if part)
    return TreeNode(_fact("jobs", f"{jobs.count:,}" + (f" ({counts})" if counts else "")), nodes)


_WORDS = {
    "COMPLETED_SUCCESSFULLY": "succeeded",
    "COMPLETED_FAILED": "failed",
    "COMPLETED_WALLTIME_REACHED": "reached their walltime",
    "COMPLETED_KILLED": "killed",
    "REJECTED": "rejected",
}


def _word(state: str) -> str:
    return _WORDS.get(state, state)
