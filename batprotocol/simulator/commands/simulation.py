"""`batproto simulate`: a whole simulation with the embedded Batsim, and its results.

It selects the inputs, the scheduler and the outputs. The library simulates.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, TypeAlias

from msgspec.structs import replace

from batprotocol import simulator
from batprotocol._util.signals import Interrupts
from batprotocol._util.tables import LeftOut
from batprotocol.cli.parameters import other_protocol
from batprotocol.cli.terminal import Output, ProgressBar, report_left_out
from batprotocol.edc.commands.new import example_scheduler
from batprotocol.edc.commands.scheduler import allocations_of, attempts_of, cap_of, is_policy, load, telling_whose_fault
from batprotocol.edc.recording import facts, fingerprint
from batprotocol.errors import InputError
from batprotocol.model import FinalJobState, Message
from batprotocol.results.electricity import TraceTooShort
from batprotocol.results.reports import PowerFile, write_failures, write_power
from batprotocol.simulator import (
    EXAMPLE_PLATFORM,
    EXAMPLE_WORKLOAD,
    DecisionComponent,
    Electricity,
    ExternalEventList,
    JobRow,
    Observer,
    Platform,
    Player,
    Recorder,
    Result,
    Workload,
    advice_on,
    described_platform,
    named_workload,
    platform_for,
    read_platform,
    simulate,
    watched,
    write_allocations,
    write_real_execution,
)
from batprotocol.simulator.commands.groups import groups_of, print_groups
from batprotocol.wire.reflection import Schema
from batprotocol.workloads.commands.electricity import read_electricity
from batprotocol.workloads.described import parse_watts, with_watts
from batprotocol.workloads.host_events import read_host_events
from batprotocol.workloads.requests import check_requests

__all__ = ["run"]

Scheduler: TypeAlias = "Player | DecisionComponent"


def run(
    target: str | None,
    *,
    platform: str | None,
    described: str | None,
    workloads: Sequence[str],
    events: Sequence[str],
    output: str | None,
    record: str | None,
    format: str,
    endpoint: str | None,
    library: str | None,
    init: str,
    lazy: bool,
    energy: bool,
    rules: str,
    corrected: bool,
    roles: Sequence[tuple[str, str]],
    master: str,
    mmax: int | None,
    mmax_workload: bool,
    host_limit: int,
    verbose: bool,
    timeout: float | None = None,
    protocol: str | None = None,
    schema: str | None = None,
    warm_up: float = 0.0,
    cool_down: float = 0.0,
    by: str | None = None,
    as_json: bool = False,
    skip_bad: bool = False,
    watts: str | None = None,
    carbon: str | None = None,
    price: str | None = None,
    cap: str | None = None,
    **old: Any,
) -> int:
    """Simulate, print the results, and return the exit status.

    Args:
        target: the file and the class in it, `path/to/file.py:Class`; None is an example, unless `endpoint` or
            `library` is given.
        platform: the platform file; None is an example, or as many equal hosts as the workloads are made for.
        described: the hosts as `described_platform` takes them, instead of a platform file; or None.
        workloads: the workload files; none is an example.
        events: the files of external events.
        output: the folder for Batsim's result files, or None.
        record: the archive (`.tar.xz`) or folder for the messages, or None.
        format: the format of recorded messages, "binary" or "json".
        endpoint: the endpoint of a decision component, or None.
        library: a decision component in a shared library, or None.
        init: the initialization data.
        lazy: read sorted workloads when jobs are needed.
        energy: measure energy.
        rules: the rule set.
        corrected: correct behaviour of Batsim that looks unintended.
        roles: (host, role) pairs.
        master: the host that Batsim itself runs on.
        mmax: the maximum number of hosts to use.
        mmax_workload: use as many hosts as the workloads are made for.
        host_limit: the maximum number of hosts of a platform or workload.
        verbose: show all log messages of the scheduler.
        timeout: seconds to wait for each answer of the decision component at the endpoint, or None.
        protocol: the version of an older protocol at the endpoint, or None.
        schema: the schema of another version of the protocol at the endpoint, or None.
        warm_up: the share of the time of submissions that is not measured at its beginning.
        cool_down: the share that is not measured at its end.
        by: the way to group jobs, to print the metrics of each group; or None.
        as_json: print JSON.
        skip_bad: leave out bad events of hosts, and report their number.
        watts: the typical watts of hosts that declare none, or None.
        carbon: the name of the carbon intensity, or None.
        price: the name of the price, or None.
        cap: the watts, or the table of watts, that are allowed; or None.
        old: the options of older versions of Batsim; see `bridge.command`.
    """
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(name)s: %(message)s")
    console_output = Output()
    given = [
        named_workload(path, name=f"w{number}", compositions=rules == "protocol", corrected=corrected, lazy=lazy)
        for number, path in enumerate(workloads or ([] if events else [EXAMPLE_WORKLOAD]))
    ]
    for workload in given:
        for advice in advice_on(workload):
            console_output.remark(workload.filename, advice)
    for path, workload in zip(workloads, given, strict=False):  # the example has no path
        if "?" in path and not len(workload):
            console_output.remark(path, "it selects no job; change the words behind the ?")
    most = _fewest(mmax, mmax_workload, given)
    typical = None if watts is None else parse_watts(watts)
    electricity = read_electricity(carbon, price, cap, console_output)
    if not lazy:
        electricity.expect_until(max((each[len(each) - 1].time for each in given if len(each)), default=0.0))
    if described is not None:
        if re.fullmatch(r"\s*[0-9]{1,9}\s*", described):  # a number, and not the name of a host
            if not int(described):
                raise InputError("expected at least one host, got 0", "--hosts")
            described = f"n[0-{int(described) - 1}]"
        hosts = described_platform(described, limit=host_limit if most is None else min(most, host_limit))
    else:
        declared = energy and typical is None
        hosts = _platform(platform, given, bool(workloads), declared, roles, master, most, host_limit)
    given_watts = ""
    if typical is not None:
        given_watts = typical.text if any(host.watts is None for host in hosts.hosts) else ""
        hosts = with_watts(hosts, typical)
    lists: Sequence[str | ExternalEventList] = events
    if events and (skip_bad or (target is not None and is_policy(target))):  # other schedulers may read other keys
        lists = _checked(events, len(hosts.computation_hosts), skip_bad, corrected, console_output)
    other = other_protocol(protocol, schema)
    about = None
    if record is not None:
        inputs = [path for path in (platform, *workloads, *events) if path is not None]
        about = facts(
            scheduler=target or endpoint or library,
            format=format,
            rules=rules,
            init=init or None,
            **{f"input {number}": fingerprint(path) for number, path in enumerate(inputs)},
        )
    prefix = None if output is None else os.path.join(output, "")
    with ExitStack() as stack:
        # It may wait without end, and must be stoppable also where SIGINT is inherited as ignored.
        stack.enter_context(stack.enter_context(Interrupts()).immediately())
        bar = stack.enter_context(console_output.progress())
        recorder = None if record is None else stack.enter_context(Recorder(record, format, about))
        meter = _SimulationMeter(bar, sum(map(len, given)), recorder)
        began = time.perf_counter()
        result: Result | None = None
        with telling_whose_fault(target or "the example", record):
            scheduler = _scheduler(stack, target, endpoint, library, timeout, other, old)
            if target is not None and is_policy(target) and not lazy:  # other schedulers may read other keys
                check_requests((id, text, each.filename) for each in given for id, text in each.extra_data())
            result = simulate(
                hosts,
                given,
                watched(scheduler, meter),
                external_events=lists,
                energy=energy,
                rules=rules,
                corrected=corrected,
                init=init,
                output=prefix,
                observers=[meter],
            )
        seconds = time.perf_counter() - began
        if recorder is not None and result is not None:
            recorder.result(result)
    if result is None:  # it is the scheduler's own fault, and has been reported
        return 1
    result.attempts, result.allocations = attempts_of(scheduler) or (), allocations_of(scheduler) or ()
    if electricity.cap is None:
        electricity = replace(electricity, cap=cap_of(scheduler))
    result.electricity, result.typical_watts = electricity, given_watts
    if platform is None and described is None and workloads and target is not None and is_policy(target):
        _remark_on_equal_hosts(result, workloads[0], console_output)
    if prefix is not None:
        _write_reports(prefix, scheduler, result)
        write_real_execution(prefix, edc_seconds=meter.scheduler_seconds, simulation_seconds=seconds)
    try:
        _print(result, given, hosts, console_output, warm_up, cool_down, by, as_json)
    except TraceTooShort as error:  # it could not be known before, and all else is
        console_output.remark("electricity", error.reason)
        result.electricity = Electricity()
        _print(result, given, hosts, console_output, warm_up, cool_down, by, as_json)
        return 1
    return 0 if result.is_complete else 1


def _print(
    result: Result,
    workloads: Sequence[Workload],
    hosts: Platform,
    output: Output,
    warm_up: float,
    cool_down: float,
    by: str | None,
    as_json: bool,
) -> None:
    """Print the results."""
    groups = None
    if by is not None:
        groups = groups_of(result, by, workloads, result.allocations, hosts, warm_up=warm_up, cool_down=cool_down)
    if as_json:
        _print_json(result, workloads, output, warm_up, cool_down, groups)
    else:
        _show(result, output, warm_up, cool_down)
        if by is not None and groups is not None:
            print_groups(output, by, groups, result.electricity.currency)


def _remark_on_equal_hosts(result: Result, workload: str, output: Output) -> None:
    """Say what to do if the hosts that are assumed have nothing of what the jobs ask for."""
    states = [job.final_state for job in result.jobs]
    if states and set(states) == {FinalJobState.REJECTED}:
        output.remark(
            workload,
            f"all of {len(states):,} jobs are rejected, as equal hosts lack what they ask for; give the platform that "
            "they were made for with -p, such as import writes",
        )


def _fewest(mmax: int | None, mmax_workload: bool, workloads: Sequence[Workload]) -> int | None:
    """The maximum number of hosts to use, from `--mmax` and from the size of the workloads."""
    limits = [] if mmax is None else [mmax]
    if mmax_workload and workloads:
        limits.append(max(workload.resource_count for workload in workloads))
    return min(limits, default=None)


def _platform(
    path: str | None,
    workloads: Sequence[Workload],
    own_workloads: bool,
    energy: bool,
    roles: Sequence[tuple[str, str]],
    master: str,
    mmax: int | None,
    host_limit: int,
) -> Platform:
    """The platform of a file; without one, the example, or one as large as the workloads are made for."""
    if path is None and own_workloads and not energy:
        return platform_for(workloads, mmax=mmax, host_limit=host_limit)
    if path is None and own_workloads:
        raise InputError(
            "energy can only be measured on hosts with watts: name a platform with --platform, or give --watts"
        )
    return read_platform(
        path or EXAMPLE_PLATFORM, roles=roles, master=master, mmax=mmax, energy=energy, host_limit=host_limit
    )


def _checked(
    events: Sequence[str], host_count: int, skip_bad: bool, corrected: bool, output: Output
) -> list[ExternalEventList]:
    """The events of files, of which those of hosts are checked."""
    left_out = [LeftOut() for _ in events]
    found = read_host_events(events, host_count, left_out=left_out if skip_bad else None, corrected=corrected)
    for path, counted in zip(events, left_out, strict=True):
        report_left_out(output, path, counted, "event")
    return found


def _scheduler(
    stack: ExitStack,
    target: str | None,
    endpoint: str | None,
    library: str | None,
    timeout: float | None,
    protocol: str | Schema | None,
    old: Mapping[str, Any],
) -> Scheduler:
    """The decision component."""
    if endpoint is not None and protocol is not None:
        from batprotocol.legacy.commands import OldProgram, old_scheduler, tell

        scheduler = old_scheduler(stack, OldProgram(endpoint, protocol, old), timeout)
        if isinstance(protocol, Schema):
            stack.callback(tell, [scheduler.report])
        return scheduler
    if endpoint is not None:
        return stack.enter_context(simulator.connect(endpoint, timeout=timeout))
    if library is not None:
        return stack.enter_context(simulator.load_library(library))
    return example_scheduler()() if target is None else load(target)()


def _write_reports(prefix: str, scheduler: Scheduler, result: Result) -> None:
    """Write the amounts that jobs had of shared hosts, interrupted runs and events of hosts, if there are any."""
    allocations = allocations_of(scheduler)
    if allocations:
        write_allocations(f"{prefix}allocations.csv", allocations)
    write_failures(prefix, result.attempts, result.host_events)
    if result.measured_energy and result.cores:
        write_power(prefix, PowerFile(result.cores, result.typical_watts))


class _SimulationMeter(Observer):
    """Moves the progress bar, records the messages, and adds up the time of the decision component."""

    def __init__(self, bar: ProgressBar, jobs: int, recorder: Recorder | None) -> None:
        self.scheduler_seconds = 0.0
        self._began = 0.0
        self._bar = bar
        self._recorder = recorder
        self._jobs = max(jobs, 1)
        self._ended = 0

    def job_ended(self, row: JobRow) -> None:
        self._ended += 1

    def hello(self, init: str, message: Message) -> None:
        if self._recorder is not None:
            self._recorder.hello(init, message)

    def sent(self, message: Message) -> None:
        if self._recorder is not None:
            self._recorder.sent(message)
        self._began = time.perf_counter()

    def answered(self, reply: Message) -> None:
        self.scheduler_seconds += time.perf_counter() - self._began
        if self._recorder is not None:
            self._recorder.answered(reply)
        self._bar.at(min(self._ended / self._jobs, 1.0))


def _show(result: Result, output: Output, warm_up: float, cool_down: float) -> None:
    from rich.console import Console  # a simulation that shows nothing does not need it

    console = Console(file=sys.stdout)
    window = result.metrics(warm_up=warm_up, cool_down=cool_down) if warm_up or cool_down else None
    with console.capture() as captured:
        console.print(result.summary(window))
    text = "\n".join(line.rstrip() for line in captured.get().split("\n"))
    output.raw(text.encode(sys.stdout.encoding or "utf-8", "replace"))


def _print_json(
    result: Result,
    workloads: Sequence[Workload],
    output: Output,
    warm_up: float,
    cool_down: float,
    groups: Mapping[str, Mapping[str, float]] | None,
) -> None:
    users = {name: user for workload in workloads for name, user in workload.users().items()}
    found = result.metrics(users=users or None, warm_up=warm_up, cool_down=cool_down).flat()
    printed: dict[str, Any] = {
        "complete": result.is_complete,
        "hosts": result.host_count,
        "jobs": {state.name: count for state, count in result.counts.items()},
        "warm_up": warm_up,
        "cool_down": cool_down,
        "metrics": _finite(found),
    }
    if result.typical_watts:
        printed["watts"] = result.typical_watts
    if result.electricity.currency:
        printed["currency"] = result.electricity.currency
    if groups is not None:
        printed["groups"] = {name: _finite(metrics) for name, metrics in groups.items()}
    output.json(json.dumps(printed, indent=2))


def _finite(metrics: Mapping[str, float]) -> dict[str, float | None]:
    """The metrics as JSON can have them."""
    return {name: value if math.isfinite(value) else None for name, value in metrics.items()}
