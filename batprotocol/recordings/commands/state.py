"""`batproto at`: the state of a run at a moment, as a readable tree."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from math import isfinite

from batprotocol.cli.terminal import Output, Piece, number_of, printable
from batprotocol.model import FinitePeriodNumber, Job, OneShot, TemporalTrigger, TimeUnit
from batprotocol.recordings import RunState
from batprotocol.recordings.commands.named_runs import opened
from batprotocol.wire.commands.tree import TreeNode, draw

__all__ = [
    "SHOWN",
    "at",
    "lines_of",
    "seconds",
]


SHOWN = 12
"""The number of things of a kind that are shown."""
CHARACTERS = 200
"""The number of characters of a host set that are shown."""


def lines_of(known: RunState, *, full: bool = False, time: float | None = None) -> list[TreeNode]:
    """The state as branches of a tree.

    Args:
        known: the state.
        full: show all of it, even if it is long.
        time: the simulated time of the state, in seconds. By default, the time that Batsim reported last.
    """
    most = None if full else SHOWN
    now = known.now if time is None else time
    free = f"{len(known.free_hosts)} of {number_of(known.host_count, 'host')}"
    nodes = [
        _branch(
            "queue",
            number_of(len(known.queue), "job"),
            (
                _line(job.job_id, f"waits for {seconds(now - job.submitted)}", f"asks for {_asks(job.job)}")
                for job in known.queue
            ),
            len(known.queue),
            most,
        ),
        _branch(
            "running",
            number_of(len(known.running), "job"),
            (
                _line(
                    job.job_id,
                    f"on {_cut(job.hosts, full)}",
                    f"for {seconds(now - job.started)}",
                    *([f"until {job.ends_by:.6g} at most"] if job.ends_by is not None else []),
                    *(["its kill was requested"] if job.kill_asked else []),
                )
                for job in known.running
            ),
            len(known.running),
            most,
        ),
        TreeNode(_titled("free", free if not known.free else f"{free}: {_cut(known.free, full)}"), []),
    ]
    for name, hosts in (
        ("asleep", known.asleep),
        ("switching on", known.switching_on),
        ("switching off", known.switching_off),
    ):
        if hosts:
            nodes.append(TreeNode(_titled(name, _cut(hosts, full)), []))
    if known.calls:
        calls = (
            _line(call.call_me_later_id, _when(call.when), *([f"fired {call.fired} times"] if call.fired else []))
            for call in known.calls
        )
        nodes.append(_branch("calls", f"{len(known.calls):,}", calls, len(known.calls), most))
    if known.probes:
        probes = (
            _line(
                probe.event.probe_id,
                f"{probe.event.metrics.name} {_when(probe.event.measurement_triggering_policy)}",
                f"{probe.emitted:,} emitted",
            )
            for probe in known.probes
        )
        nodes.append(_branch("probes", f"{len(known.probes):,}", probes, len(known.probes), most))
    if known.registered:
        profiles = (_line(name, type(profile).__name__) for name, profile in known.registered.items())
        nodes.append(
            _branch("registered profiles", f"{len(known.registered):,}", profiles, len(known.registered), most)
        )
    rest = "all static jobs are submitted" if known.all_submitted else "more may follow"
    over = f"{number_of(known.ended, 'job')}, {rest}"
    nodes.append(TreeNode(_titled("over", over), []))
    if known.lost_at is not None:
        nodes.append(TreeNode(_titled("lost", f"the messages from {known.lost_at} on could not be followed"), []))
    return nodes


def _cut(hosts: str, full: bool) -> str:
    """A host set, or the beginning of a long one."""
    return hosts if full or len(hosts) <= CHARACTERS else f"{hosts[:CHARACTERS]}..."


def seconds(value: float) -> str:
    """A number of seconds, with at most six digits."""
    return f"{value:,.6g} s"


def _asks(job: Job) -> str:
    limit = "" if job.walltime is None else f", {job.walltime:g} s at most"
    return f"{number_of(job.resource_request, 'host')}{limit}"


def _when(trigger: TemporalTrigger) -> str:
    unit = "ms" if trigger.time_unit is TimeUnit.Millisecond else "s"
    if isinstance(trigger, OneShot):
        return f"at {trigger.time} {unit}"
    mode = trigger.mode
    limit = f", {mode.nb_periods} times" if isinstance(mode, FinitePeriodNumber) else ""
    return f"every {trigger.period} {unit}{limit}"


def _titled(name: str, text: str) -> list[Piece]:
    return [("field", f"{name}:"), ("", f" {text}")]


def _line(name: str, *facts: str) -> list[Piece]:
    return [("string", printable(name)), ("", f" {', '.join(map(printable, facts))}")]


def _branch(name: str, text: str, lines: Iterable[list[Piece]], count: int, most: int | None) -> TreeNode:
    """A kind of thing, with a line for each thing, or for the first ones."""
    shown: Sequence[list[Piece]] = [line for number, line in enumerate(lines) if most is None or number < most]
    nodes = [TreeNode(line, []) for line in shown]
    if len(shown) < count:
        nodes.append(TreeNode([("detail", f"... {count - len(shown):,} more, which --full shows")], []))
    return TreeNode(_titled(name, text), nodes)


# The command


def at(path: str, time: float, output: Output, *, as_json: bool, full: bool) -> None:
    """Print what was known.

    Args:
        path: the run.
        time: in simulated seconds.
        output: where to.
        as_json: as JSON.
        full: all of it, however much that is.
    """
    with opened(path) as run:
        known = run.state_at(time)
        if run.missing:
            output.remark(path, run.missing)
    if as_json:
        output.json(json.dumps(known.to_json(), indent=2, ensure_ascii=False))
        return
    last = f"after message {known.number}, at {known.now:.9g} ({known.phase})" if known.number >= 0 else "nothing yet"
    title = [("file", printable(path)), ("", f" at {time:.9g}: {last}")]
    output.lines(
        draw(title, lines_of(known, full=full, time=time if isfinite(time) else None), output.guides, output.wrap_at)
    )
