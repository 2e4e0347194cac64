"""`batproto simulate`: a whole simulation with the embedded Batsim, and its results.

It selects the inputs, the scheduler and the outputs. The library simulates. Modules that few simulations need are
imported where they are needed.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from batprotocol._util.signals import Interrupts
from batprotocol._util.tables import LeftOut
from batprotocol.cli.parameters import other_protocol
from batprotocol.cli.terminal import Output, ProgressBar, printable, report_left_out
from batprotocol.edc.commands.scheduler import (
    allocations_of,
    attempts_of,
    cap_of,
    is_policy,
    load,
    telling_whose_fault,
    windows_of,
)
from batprotocol.errors import InputError
from batprotocol.model import FinalJobState, Message
from batprotocol.model.planned_jobs import HostPlanner, PlannedJob
from batprotocol.simulator import (
    EXAMPLE_PLATFORM,
    EXAMPLE_WORKLOAD,
    JobRow,
    Observer,
    Result,
    advice_on,
    named_workload,
    platform_for,
    read_platform,
    simulate,
    watched,
    write_real_execution,
)

if TYPE_CHECKING:
    from batprotocol.simulator import (
        DecisionComponent,
        ExternalEventList,
        Platform,
        Player,
        SimulationRecorder,
        Workload,
    )
    from batprotocol.simulator.commands.options import SimulateOptions
    from batprotocol.wire.reflection import Schema
    from batprotocol.workloads.requests import Allocated

__all__ = ["run"]

Scheduler: TypeAlias = "Player | DecisionComponent"


def run(options: SimulateOptions) -> int:
    """Simulate, print the results, and return the exit status."""
    logging.basicConfig(level=logging.INFO if options.verbose else logging.WARNING, format="%(name)s: %(message)s")
    output = Output()
    workloads = _workloads(options, output)
    typical = None
    if options.watts is not None:
        from batprotocol.workloads.described import parse_watts

        typical = parse_watts(options.watts)
    electricity = None
    if options.carbon is not None or options.price is not None or options.cap is not None:
        from batprotocol.workloads.commands.inputs import read_electricity

        electricity = read_electricity(options.carbon, options.price, options.cap, output)
        if not options.lazy:
            electricity.expect_until(max((each[len(each) - 1].time for each in workloads if len(each)), default=0.0))
    hosts = _machine(options, workloads, declared=options.energy and typical is None)
    typical_watts = ""
    if typical is not None:
        from batprotocol.workloads.described import with_watts

        typical_watts = typical.text if any(host.watts is None for host in hosts.hosts) else ""
        hosts = with_watts(hosts, typical)
    takes_policy = options.target is not None and is_policy(options.target)
    events: Sequence[str | ExternalEventList] = options.events
    if events and (options.skip_bad or takes_policy):  # other schedulers may read other keys
        events = _checked_events(options, len(hosts.computation_hosts), output)
    protocol = _other_protocol(options)
    prefix = None if options.output is None else os.path.join(options.output, "")
    with ExitStack() as stack:
        # It may wait without end, and must be stoppable also where SIGINT is inherited as ignored.
        stack.enter_context(stack.enter_context(Interrupts()).immediately())
        scheduler: Scheduler | None = None
        with telling_whose_fault(options.target or "the example"):
            scheduler = _scheduler(options, protocol, stack)
        if scheduler is None:  # it has been reported, and there is nothing to record
            return 1
        bar = stack.enter_context(output.progress())
        meter = _SimulationMeter(bar, sum(map(len, workloads)), _recorder(options, stack))
        began = time.perf_counter()
        result: Result | None = None
        with _telling_of_part(prefix), telling_whose_fault(options.target or "the example", options.record):
            if takes_policy and not options.lazy:
                from batprotocol.workloads.requests import check_requests

                check_requests((id, text, each.filename) for each in workloads for id, text in each.extra_data())
            result = simulate(
                hosts,
                workloads,
                watched(scheduler, meter),
                external_events=events,
                energy=options.energy,
                rules=options.rules,
                corrected=options.corrected,
                init=options.init,
                output=prefix,
                observers=[meter],
            )
        seconds = time.perf_counter() - began
        if meter.recorder is not None and result is not None:
            meter.recorder.result(result)
    if result is None:  # it is the scheduler's own fault, and has been reported
        return 1
    result.attempts, result.allocations = attempts_of(scheduler) or (), allocations_of(scheduler) or ()
    result.windows = windows_of(scheduler)
    cap = cap_of(scheduler) if electricity is None or electricity.cap is None else None
    if electricity is not None:
        result.electricity = electricity
    if cap is not None:
        from msgspec.structs import replace

        result.electricity = replace(result.electricity, cap=cap)
    result.typical_watts = typical_watts
    if takes_policy and options.workloads and options.platform is None and options.described is None:
        _remark_on_equal_hosts(result, options.workloads[0], output)
    if prefix is not None:
        _write_reports(prefix, scheduler, result)
        write_real_execution(prefix, edc_seconds=meter.scheduler_seconds, simulation_seconds=seconds)
    return _print(result, workloads, hosts, output, options)


# Inputs


def _workloads(options: SimulateOptions, output: Output) -> list[Workload]:
    found = [
        named_workload(
            path,
            name=f"w{number}",
            compositions=options.rules == "protocol",
            corrected=options.corrected,
            lazy=options.lazy,
        )
        for number, path in enumerate(options.workloads or ([] if options.events else [EXAMPLE_WORKLOAD]))
    ]
    for workload in found:
        for advice in advice_on(workload):
            output.remark(workload.filename, advice)
    for path, workload in zip(options.workloads, found, strict=False):  # the example has no path
        if "?" in path and not len(workload):
            output.remark(path, "it selects no job; change the words behind the ?")
    return found


def _machine(options: SimulateOptions, workloads: Sequence[Workload], *, declared: bool) -> Platform:
    """The platform: that of a file, described hosts, the example, or one as large as the workloads are made for.

    Args:
        options: the options.
        workloads: the workloads.
        declared: whether all hosts must declare their watts.
    """
    limits = [] if options.mmax is None else [options.mmax]
    if options.mmax_workload and workloads:
        limits.append(max(workload.resource_count for workload in workloads))
    most = min(limits, default=None)
    described = options.described
    if described is not None:
        from batprotocol.workloads.described import described_platform

        if re.fullmatch(r"\s*[0-9]{1,9}\s*", described):  # a number, and not the name of a host
            if not int(described):
                raise InputError("expected at least one host, got 0", "--hosts")
            described = f"n[0-{int(described) - 1}]"
        return described_platform(described, limit=min([options.host_limit, *limits]))
    if options.platform is None and options.workloads and not declared:
        return platform_for(workloads, mmax=most, host_limit=options.host_limit)
    if options.platform is None and options.workloads:
        raise InputError(
            "energy can only be measured on hosts with watts: name a platform with --platform, or give --watts"
        )
    return read_platform(
        options.platform or EXAMPLE_PLATFORM,
        roles=options.roles,
        master=options.master,
        mmax=most,
        energy=declared,
        host_limit=options.host_limit,
    )


def _checked_events(options: SimulateOptions, host_count: int, output: Output) -> list[ExternalEventList]:
    """The events of files, of which those of hosts are checked."""
    from batprotocol.workloads.host_events import read_host_events

    left_out = [LeftOut() for _ in options.events]
    counted = left_out if options.skip_bad else None
    found = read_host_events(options.events, host_count, left_out=counted, corrected=options.corrected)
    for path, skipped in zip(options.events, left_out, strict=True):
        report_left_out(output, path, skipped, "event")
    return found


@contextmanager
def _telling_of_part(prefix: str | None) -> Iterator[None]:
    """Say, if the simulation is interrupted, that its files are those of a part."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if prefix is not None and os.path.exists(f"{prefix}jobs.csv"):
            part = "the simulation was interrupted, and the files have the jobs that had ended until then"
            print(printable(f"batproto: {prefix}: {part}"), file=sys.stderr)
        raise


def _recorder(options: SimulateOptions, stack: ExitStack) -> SimulationRecorder | None:
    if options.record is None:
        return None
    from batprotocol.edc.recording import facts, fingerprint
    from batprotocol.simulator import SimulationRecorder

    inputs = [path for path in (options.platform, *options.workloads, *options.events) if path is not None]
    about = facts(
        scheduler=options.target or options.endpoint or options.library,
        format=options.format,
        rules=options.rules,
        init=options.init or None,
        **{f"input {number}": fingerprint(path) for number, path in enumerate(inputs)},
    )
    return stack.enter_context(SimulationRecorder(options.record, options.format, about))


def _other_protocol(options: SimulateOptions) -> str | Schema | None:
    """The protocol of a component at an endpoint, if it is not today's."""
    if options.protocol is None and options.schema is None:
        return None

    return other_protocol(options.protocol, options.schema)


def _scheduler(options: SimulateOptions, protocol: str | Schema | None, stack: ExitStack) -> Scheduler:
    """The decision component."""
    from batprotocol import simulator

    if options.endpoint is not None:
        if protocol is None:
            return stack.enter_context(simulator.connect(options.endpoint, timeout=options.timeout))
        from batprotocol.legacy.commands import OldProgram, old_scheduler, tell

        scheduler = old_scheduler(stack, OldProgram(options.endpoint, protocol, options.old), options.timeout)
        if not isinstance(protocol, str):
            stack.callback(tell, [scheduler.report])
        return scheduler
    if options.library is not None:
        return stack.enter_context(simulator.load_library(options.library))
    if options.target is None:
        from batprotocol.edc.commands.new import example_scheduler

        return example_scheduler()()
    return load(options.target)()


class _SimulationMeter(Observer):
    """Moves the progress bar, records the messages, and adds up the time of the decision component."""

    def __init__(self, bar: ProgressBar, jobs: int, recorder: SimulationRecorder | None) -> None:
        self.scheduler_seconds = 0.0
        self._began = 0.0
        self._bar = bar
        self.recorder = recorder
        self._jobs = max(jobs, 1)
        self._ended = 0

    def job_ended(self, row: JobRow) -> None:
        self._ended += 1

    def hello(self, init: str, message: Message) -> None:
        if self.recorder is not None:
            self.recorder.hello(init, message)

    @property
    def without_messages(self) -> Callable[[HostPlanner], HostPlanner] | None:
        """Times a planner; None: messages are recorded."""
        return None if self.recorder is not None else lambda planner: _TimedPlanner(planner, self)

    def decided(self, seconds: float) -> None:
        """The decision component has decided once, and took so long."""
        self.scheduler_seconds += seconds
        self._bar.at(min(self._ended / self._jobs, 1.0))

    def sent(self, message: Message) -> None:
        if self.recorder is not None:
            self.recorder.sent(message)
        self._began = time.perf_counter()

    def answered(self, reply: Message) -> None:
        self.decided(time.perf_counter() - self._began)
        if self.recorder is not None:
            self.recorder.answered(reply)


class _TimedPlanner(HostPlanner):
    """A planner whose time is added up."""

    def __init__(self, planner: HostPlanner, meter: _SimulationMeter) -> None:
        self._planner, self._meter = planner, meter

    def turn(self, now: float, jobs: list[PlannedJob]) -> list[PlannedJob]:
        began = time.perf_counter()
        found = self._planner.turn(now, jobs)
        self._meter.decided(time.perf_counter() - began)
        return found

    def call(self) -> float:
        return self._planner.call()


# Results


def _remark_on_equal_hosts(result: Result, workload: str, output: Output) -> None:
    """Say what to do if the hosts that are assumed have nothing of what the jobs ask for."""
    states = [job.final_state for job in result.jobs]
    if states and set(states) == {FinalJobState.REJECTED}:
        output.remark(
            workload,
            f"all of {len(states):,} jobs are rejected, as equal hosts lack what they ask for; give the platform that "
            "they were made for with -p, such as import writes",
        )


def _write_reports(prefix: str, scheduler: Scheduler, result: Result) -> None:
    """Write the amounts that jobs had of shared hosts, interrupted runs and events of hosts, if there are any."""
    from batprotocol.results.reports import PowerFile, write_allocations, write_failures, write_power

    allocations = allocations_of(scheduler)
    if allocations:
        write_allocations(f"{prefix}allocations.csv", allocations)
    write_failures(prefix, result.attempts, result.host_events)
    if result.measured_energy and result.cores:
        write_power(prefix, PowerFile(result.cores, result.typical_watts))


def _print(
    result: Result, workloads: Sequence[Workload], hosts: Platform, output: Output, options: SimulateOptions
) -> int:
    """Print the results, and return the exit status."""
    try:
        _print_all(result, workloads, hosts, output, options)
    except InputError as error:  # it could not be known before, and all else is
        from batprotocol.results.electricity import Electricity, TraceTooShort

        if not isinstance(error, TraceTooShort):
            raise
        output.remark("electricity", error.reason)
        result.electricity = Electricity()
        _print_all(result, workloads, hosts, output, options)
        return 1
    return 0 if result.is_complete else 1


def _print_all(
    result: Result, workloads: Sequence[Workload], hosts: Platform, output: Output, options: SimulateOptions
) -> None:
    groups = None
    if options.by is not None:
        groups = groups_of(result, options, workloads, result.allocations, hosts)
    if options.as_json:
        _print_json(result, workloads, output, options, groups)
        return
    _show(result, output, options)
    if options.by is not None and groups is not None:
        print_groups(output, options.by, groups, result.electricity.currency)


def _show(result: Result, output: Output, options: SimulateOptions) -> None:
    from rich.console import Console  # a simulation that shows nothing does not need it

    console = Console(file=sys.stdout)
    window = None
    if options.warm_up or options.cool_down:
        window = result.metrics(warm_up=options.warm_up, cool_down=options.cool_down)
    with console.capture() as captured:
        console.print(result.summary(window))
    text = "\n".join(line.rstrip() for line in captured.get().split("\n"))
    output.raw(text.encode(sys.stdout.encoding or "utf-8", "replace"))


def _print_json(
    result: Result,
    workloads: Sequence[Workload],
    output: Output,
    options: SimulateOptions,
    groups: Mapping[str, Mapping[str, float]] | None,
) -> None:
    users = {name: user for workload in workloads for name, user in workload.users().items()}
    found = result.metrics(users=users or None, warm_up=options.warm_up, cool_down=options.cool_down).flat()
    printed: dict[str, Any] = {
        "complete": result.is_complete,
        "hosts": result.host_count,
        "jobs": {state.name: count for state, count in result.counts.items()},
        "warm_up": options.warm_up,
        "cool_down": options.cool_down,
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


# Groups of jobs


_SHOWN: Final = (
    "nb_jobs",
    "nb_rejected",
    "mean_waiting_time",
    "mean_bounded_slowdown",
    "mean_turnaround_time",
    "utilisation",
    "memory_utilisation",
    "gpu_utilisation",
    "job_joules",
    "job_carbon_grams",
    "job_cost",
    "joules_per_core_hour",
    "grams_per_core_hour",
    "mean_workflow_makespan",
    "mean_workflow_stretch",
    "mean_workflow_efficiency",
)


def groups_of(
    result: Result,
    options: SimulateOptions,
    workloads: Sequence[Workload],
    allocations: Iterable[Allocated],
    platform: Platform,
) -> dict[str, dict[str, float]]:
    """The metrics of each group by their names, and of each workflow those of workflows."""
    from batprotocol.results.groups import workflow_means, workflow_results

    by = str(options.by)
    groups = result.grouped(by, workloads, allocations, warm_up=options.warm_up, cool_down=options.cool_down)
    found = {name: metrics.flat() for name, metrics in groups.items()}
    cores = platform.core_count
    for workload in workloads if by == "workflow" else ():
        for name, each in workflow_results(result.jobs, workload, cores=cores).items():
            if name in found:
                found[name] |= workflow_means([each])
    return found


def print_groups(output: Output, by: str, groups: Mapping[str, Mapping[str, float]], currency: str = "") -> None:
    """Print a row for each group."""
    from batprotocol._util.grids import Grid, GridEntry
    from batprotocol.cli.terminal import print_grid, printable
    from batprotocol.results.catalogue import metric_named, usual_unit

    shown = {
        name: usual_unit(metric_named(name, currency=currency), (metrics.get(name) for metrics in groups.values()))
        for name in _SHOWN
        if any(name in metrics for metrics in groups.values())
    }
    header = [by, *(metric.label_with_unit for metric, _ in shown.values())]
    rows = [
        [
            GridEntry(printable(name)),
            *(
                GridEntry(f"{metrics[each] / size:.4g}" if each in metrics else "-")
                for each, (_, size) in shown.items()
            ),
        ]
        for name, metrics in groups.items()
    ]
    output.line()
    print_grid(output, Grid(header, rows))
