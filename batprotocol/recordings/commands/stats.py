"""`batproto stats`: the statistics of a run."""

from __future__ import annotations

import json
import math

from batprotocol._util.distributions import Distribution
from batprotocol.cli.terminal import Output, Piece, number_of, printable
from batprotocol.recordings.commands.known import seconds
from batprotocol.recordings.commands.named_runs import NamedRun, named, remark_on
from batprotocol.recordings.statistics import (
    JobStatistics,
    RunStatistics,
    SideStatistics,
    statistics_of,
    statistics_of_jobs,
)
from batprotocol.wire.commands.tree import Node, draw

__all__ = ["stats"]


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
        nodes.append(Node(_fact("unreadable", number_of(found.unreadable, "message")), []))
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


def _side(name: str, side: SideStatistics) -> Node:
    nodes = [
        Node(
            _fact(
                "events",
                ", ".join(f"{count:,} {kind.removesuffix('Event')}" for kind, count in side.events.items()) or "none",
            ),
            [],
        )
    ]
    if side.messages:
        nodes.append(Node(_fact("size", _distributed(side.sizes, "bytes")), []))
    if side.seconds is None:
        nodes.append(Node(_fact("a turn", "unknown: the recording has no times of messages"), []))
    else:
        longest = [
            Node([("", f"{each.seconds * 1e3:,.3f} ms before message {each.number}{_moment(each.time)}")], [])
            for each in side.longest
        ]
        nodes.append(Node(_fact("a turn", _distributed(side.seconds, "ms", 1e3)), longest))
    title = f"{number_of(side.messages, 'message')}, {number_of(side.bytes, 'byte')}"
    return Node(_fact(name, title), nodes)


def _moment(time: float | None) -> str:
    return "" if time is None else f", at {time:.9g}"


def _distributed(values: Distribution, unit: str, factor: float = 1.0) -> str:
    names = (("mean", "mean"), ("median", "median"), ("p90", "90 %"), ("p99", "99 %"), ("max", "at most"))
    parts = (f"{text} {_number(getattr(values, name) * factor)}" for name, text in names)
    return f"{', '.join(parts)} {unit}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _jobs(jobs: JobStatistics, hosts: int | None) -> Node:
    states = ", ".join(f"{count:,} {_word(state)}" for state, count in jobs.ended.items())
    open_ones = f"{jobs.under_way:,} never ended" if jobs.under_way else ""
    nodes = []
    if not math.isnan(jobs.waiting.mean):
        waited = [
            Node([("string", printable(job.job_id)), ("", f" {seconds(job.waited or 0.0)}")], [])
            for job in jobs.longest_waiting
        ]
        ran = [
            Node([("string", printable(job.job_id)), ("", f" {seconds(job.ran or 0.0)} on {job.hosts}")], [])
            for job in jobs.longest_running
        ]
        nodes += [
            Node(_fact("waiting", _distributed(jobs.waiting, "s")), waited),
            Node(_fact("running", _distributed(jobs.running, "s")), ran),
            Node(_fact("makespan", seconds(jobs.makespan)), []),
        ]
    if jobs.utilisation is not None and hosts:
        what = " with jobs, as jobs share hosts" if jobs.shares_hosts else ""
        nodes.append(Node(_fact("utilisation", f"{jobs.utilisation:.1%} of {number_of(hosts, 'host')}{what}"), []))
    counts = ", ".join(part for part in (states, open_ones) if part)
    return Node(_fact("jobs", f"{jobs.count:,}" + (f" ({counts})" if counts else "")), nodes)


_WORDS = {
    "COMPLETED_SUCCESSFULLY": "succeeded",
    "COMPLETED_FAILED": "failed",
    "COMPLETED_WALLTIME_REACHED": "reached their walltime",
    "COMPLETED_KILLED": "killed",
    "REJECTED": "rejected",
}


def _word(state: str) -> str:
    return _WORDS.get(state, state)
